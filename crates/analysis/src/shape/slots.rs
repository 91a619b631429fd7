//! What slots are called where structures are counted.
//!
//! A class with very many slots is a dictionary: JavaScript objects whose keys are words of a program's data. Its slots are
//! not told from each other, so that work and memory do not depend on how many there are, and a profile does
//! not either.

use heaphound_heap::ClassInfo;

use crate::slot::{SlotId, SlotIds, SlotName};

/// A class with more fields is a dictionary.
const MOST_SLOTS: usize = 64;

/// Returns whether a class has so many fields that they are keys of a dictionary rather than slots of a structure.
pub(super) fn is_dictionary(class: &ClassInfo) -> bool {
    class.fields.len() > MOST_SLOTS
}

/// Returns the class of a slot, if it is a dictionary.
fn dictionary<'c>(ids: &SlotIds, classes: &'c [ClassInfo], slot: SlotId) -> Option<&'c ClassInfo> {
    let class = &classes[ids.class_of(slot)?.0 as usize - 1];
    is_dictionary(class).then_some(class)
}

/// Returns the name of a slot as its own class has it.
pub(super) fn own_name(ids: &SlotIds, classes: &[ClassInfo], slot: SlotId) -> SlotName {
    match dictionary(ids, classes, slot) {
        Some(_) => SlotName::any(None),
        None => ids.own_name(classes, slot),
    }
}

/// Returns the name of a slot as others have it.
pub(super) fn name_with_class(ids: &SlotIds, classes: &[ClassInfo], slot: SlotId) -> SlotName {
    match dictionary(ids, classes, slot) {
        Some(class) => SlotName::any(Some(&class.name)),
        None => ids.name_with_class(classes, slot),
    }
}
