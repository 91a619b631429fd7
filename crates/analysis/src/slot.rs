//! Slots by number and by name.
//!
//! A mark loop knows an edge's slot when it reads it, and the class of its target only when
//! it gets there. In between it carries a [`SlotId`]: four bytes that stand for the class and
//! the slot of the source. All elements of an array are one slot. A [`SlotName`] means the
//! same from run to run.

use std::fmt;

use heaphound_heap::view::Place;
use heaphound_heap::{ClassId, ClassInfo};

/// A slot of a class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SlotId(pub u32);

impl SlotId {
    /// Not a slot: the start of an edge from a root.
    pub const ROOT: Self = Self(0);
}

/// The numbers of all slots of all classes.
///
/// Classes that are added later get numbers behind those of the others, so that a number
/// means the same for as long as the heap lives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotIds {
    /// The number of each class's first field, by class id, and where the last one's end. A class
    /// has a number for each field and one more for its elements.
    first: Vec<u32>,
}

impl Default for SlotIds {
    fn default() -> Self {
        Self { first: vec![1, 1] }
    }
}

impl SlotIds {
    /// The numbers for these classes.
    pub fn new(classes: &[ClassInfo]) -> Self {
        let mut ids = Self::default();
        ids.grow(classes);
        ids
    }

    /// Adds the classes that are not known yet: those behind the first [`SlotIds::classes`].
    ///
    /// # Panics
    /// If there are more than four billion slots.
    pub fn grow(&mut self, classes: &[ClassInfo]) {
        for class in &classes[self.classes().min(classes.len())..] {
            self.add(class);
        }
    }

    /// Adds the next class.
    ///
    /// # Panics
    /// If there are more than four billion slots.
    pub fn add(&mut self, class: &ClassInfo) {
        let end = self.end() as usize + class.fields.len() + 1;
        let end = u32::try_from(end).expect("slots can be counted");
        self.first.push(end);
    }

    /// Returns how many classes are known.
    pub fn classes(&self) -> usize {
        self.first.len() - 2
    }

    /// Returns the number behind the last.
    pub fn end(&self) -> u32 {
        self.first[self.first.len() - 1]
    }

    /// Returns a slot by its place in its object.
    pub fn at(&self, class: ClassId, place: Place) -> SlotId {
        match place {
            Place::Field(field) => SlotId(self.first[class.0 as usize] + field),
            Place::Element(_) => SlotId(self.first[class.0 as usize + 1] - 1),
        }
    }

    /// Returns the class that has a slot; none for a root.
    pub fn class_of(&self, slot: SlotId) -> Option<ClassId> {
        let after = self.first.partition_point(|&first| first <= slot.0);
        (slot != SlotId::ROOT).then(|| ClassId(after as u32 - 1))
    }

    /// Returns all slots of a class, its elements last.
    pub fn of(&self, class: ClassId) -> impl Iterator<Item = SlotId> + use<> {
        let at = class.0 as usize;
        (self.first[at]..self.first[at + 1]).map(SlotId)
    }

    /// Returns whether a slot is the elements of an array.
    fn is_elements(&self, slot: SlotId) -> bool {
        let class = self.class_of(slot);
        class.is_some_and(|class| slot.0 + 1 == self.first[class.0 as usize + 1])
    }

    /// Returns the slot's own name.
    pub fn own_name(&self, classes: &[ClassInfo], slot: SlotId) -> SlotName {
        SlotName {
            text: self.name(classes, slot).into(),
            is_elements: self.is_elements(slot),
        }
    }

    /// Returns the slot's name with its class.
    pub fn name_with_class(&self, classes: &[ClassInfo], slot: SlotId) -> SlotName {
        SlotName {
            text: self.full_name(classes, slot),
            is_elements: self.is_elements(slot),
        }
    }

    /// Returns the slot's own name as text: `next`, or `[*]` for the elements of an array.
    pub fn name<'c>(&self, classes: &'c [ClassInfo], slot: SlotId) -> &'c str {
        let Some(class) = self.class_of(slot) else {
            return "root";
        };
        let field = slot.0 - self.first[class.0 as usize];
        match classes[class.0 as usize - 1].fields.get(field as usize) {
            Some(field) => &field.name,
            None => ELEMENTS,
        }
    }

    /// Returns the slot's name with its class as text: `Node.next`, `Node[][*]`.
    pub fn full_name(&self, classes: &[ClassInfo], slot: SlotId) -> String {
        let name = self.name(classes, slot);
        let Some(class) = self.class_of(slot) else {
            return name.into();
        };
        let class = &classes[class.0 as usize - 1].name;
        match self.is_elements(slot) {
            true => format!("{class}{name}"),
            false => format!("{class}.{name}"),
        }
    }
}

/// A slot by name: `next` or `[*]`, with its class `Node.next` or `Node[][*]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SlotName {
    text: String,
    is_elements: bool,
}

/// The name of the elements of an array.
const ELEMENTS: &str = "[*]";

impl SlotName {
    /// Returns whether the slot is the elements of an array.
    pub fn is_elements(&self) -> bool {
        self.is_elements
    }

    /// Returns the name of the elements of the arrays that this slot refers to.
    pub(crate) fn elements(&self) -> Self {
        Self {
            text: format!("{}{ELEMENTS}", self.text),
            is_elements: true,
        }
    }

    /// Returns the name of the first elements of the arrays that this slot refers to.
    pub(crate) fn first(&self) -> Self {
        Self {
            text: format!("{}[0]", self.text),
            is_elements: false,
        }
    }

    /// Returns the name of any slot of a class.
    pub(crate) fn any(class: Option<&str>) -> Self {
        let text = class.map_or_else(|| "*".to_string(), |class| format!("{class}.*"));
        Self {
            text,
            is_elements: false,
        }
    }

    /// Returns whether it is the name of the first elements of arrays.
    pub(crate) fn is_first(&self) -> bool {
        !self.is_elements && self.text.ends_with("[0]")
    }

    /// Returns the name of this slot and another of the same object, together.
    pub(crate) fn beside(&self, other: &Self) -> Self {
        Self {
            text: format!("{}&{}", self.text, other.text),
            is_elements: false,
        }
    }
}

impl fmt::Display for SlotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<&str> for SlotName {
    fn from(text: &str) -> Self {
        Self {
            text: text.into(),
            is_elements: text.ends_with(ELEMENTS),
        }
    }
}

/// The numbers of slots by their offsets, which is what a collector knows of them.
#[derive(Clone, Debug)]
pub struct SlotOffsets {
    /// By class id: where its words start in `slots`, and how many it has, less one.
    rows: Vec<(u32, u32)>,
    slots: Vec<SlotId>,
}

/// Bytes that a slot takes at least.
const WORD: usize = 4;

impl SlotOffsets {
    /// A table for these classes. What lies behind the last field of an array class is its
    /// elements.
    pub fn new(classes: &[ClassInfo], ids: &SlotIds) -> Self {
        let mut rows = vec![(0, 0)];
        let mut slots = vec![SlotId::ROOT];
        for class in classes {
            let start = slots.len();
            for (i, field) in class.fields.iter().enumerate() {
                if field.kind.is_slot() {
                    let at = start + field.offset as usize / WORD;
                    slots.resize(slots.len().max(at + 1), SlotId::ROOT);
                    slots[at] = ids.at(class.id, Place::Field(i as u32));
                }
            }
            slots.push(ids.at(class.id, Place::Element(0)));
            rows.push((start as u32, (slots.len() - start - 1) as u32));
        }
        Self { rows, slots }
    }

    /// Returns the slot at an offset from the start of an object, header included.
    #[inline]
    pub fn at(&self, class: u32, offset: usize) -> SlotId {
        let (start, last) = self.rows[class as usize];
        self.slots[start as usize + (offset / WORD).min(last as usize)]
    }

    /// Bytes of memory that the table takes.
    pub fn memory_bytes(&self) -> usize {
        self.rows.len() * size_of::<(u32, u32)>() + self.slots.len() * size_of::<SlotId>()
    }
}

#[cfg(test)]
mod tests {
    use heaphound_heap::snapshot::SnapshotBuilder;
    use heaphound_heap::view::HeapView;

    use super::*;

    #[test]
    fn a_slot_has_one_number_by_place_and_by_offset() {
        let mut builder = SnapshotBuilder::default();
        let list = builder.add_class("List", None, &["head", "tail"]);
        let array = builder.add_array_class("Node[]");
        let empty = builder.add_class("Empty", None, &[]);
        let node = builder.add_class("Node", None, &["next"]);
        let heap = builder.finish().unwrap();
        let classes = heap.classes();
        let mut ids = SlotIds::new(&classes[..2]);
        let tail = ids.at(list, Place::Field(1));
        ids.grow(classes);
        assert_eq!(ids, SlotIds::new(classes));
        assert_eq!(ids.at(list, Place::Field(1)), tail);
        let offsets = SlotOffsets::new(classes, &ids);
        for (class, place, offset, name) in [
            (list, Place::Field(0), 8, "List.head"),
            (list, Place::Field(1), 12, "List.tail"),
            (array, Place::Element(0), 16, "Node[][*]"),
            (array, Place::Element(7), 44, "Node[][*]"),
            (node, Place::Field(0), 8, "Node.next"),
        ] {
            let slot = ids.at(class, place);
            assert_eq!(ids.full_name(classes, slot), name);
            assert_eq!(offsets.at(class.0, offset), slot);
            assert_eq!(ids.class_of(slot), Some(class));
        }
        assert_eq!(ids.of(empty).count(), 1);
        assert_eq!(ids.class_of(SlotId::ROOT), None);
    }
}
