//! The fields of an object of any of the [`crate::classes`], by number.

use heaphound::{Bytes, Instance, Object, Ref, Slot, Str, WeakSlot};

use crate::classes::{Anchor, Leaf, Map, Owner, Pair, Refs, Special, Wide};

/// A slot that retains.
pub enum Strong<'m> {
    /// May be null.
    Slot(&'m Slot<Object>),
    /// Is never null.
    Ref(&'m Ref<Object>),
}

impl<'m> Strong<'m> {
    /// What the slot refers to.
    pub fn get(&self) -> Option<&'m Object> {
        match self {
            Self::Slot(slot) => slot.get(),
            Self::Ref(slot) => Some(slot.get()),
        }
    }

    /// Makes it refer to something else; a slot that cannot be null is not made so.
    pub fn set(&self, target: Option<&Object>) {
        match (self, target) {
            (Self::Slot(slot), _) => slot.set(target),
            (Self::Ref(slot), Some(target)) => slot.set(target),
            (Self::Ref(_), None) => {}
        }
    }
}

/// The strong slots of an object, in the order of its fields.
pub fn strong_slots(object: &Object) -> Vec<Strong<'_>> {
    fn all(slots: &[Slot<Object>]) -> Vec<Strong<'_>> {
        slots.iter().map(Strong::Slot).collect()
    }
    if let Some(it) = object.downcast::<Special>() {
        let Pair { left, right, .. } = &it.pair;
        vec![
            Strong::Slot(left),
            Strong::Slot(right),
            Strong::Slot(&it.extra),
        ]
    } else if let Some(it) = object.downcast::<Pair>() {
        vec![Strong::Slot(&it.left), Strong::Slot(&it.right)]
    } else if let Some(it) = object.downcast::<Wide>() {
        all(&it.slots)
    } else if let Some(it) = object.downcast::<Owner>() {
        vec![Strong::Slot(&it.strong)]
    } else if let Some(it) = object.downcast::<Anchor>() {
        vec![Strong::Ref(&it.target), Strong::Slot(&it.other)]
    } else if let Some(it) = object.downcast::<Refs>() {
        all(it)
    } else if let Some(it) = object.downcast::<Instance>() {
        all(it)
    } else {
        Vec::new()
    }
}

/// The weak slot of an object that has one.
pub fn weak_slot(object: &Object) -> Option<&WeakSlot<Object>> {
    Some(&object.downcast::<Owner>()?.weak)
}

/// The number that an object holds, if its class has one.
pub fn value(object: &Object) -> Option<u64> {
    if let Some(it) = object.downcast::<Leaf>() {
        Some(it.value.get())
    } else if let Some(it) = object.downcast::<Pair>() {
        Some(it.value.get())
    } else if let Some(it) = object.downcast::<Wide>() {
        Some(it.value.get())
    } else if let Some(it) = object.downcast::<Owner>() {
        Some(it.value.get())
    } else if let Some(it) = object.downcast::<Anchor>() {
        Some(it.value.get())
    } else {
        Some(object.downcast::<Instance>()?.plain(0))
    }
}

/// Changes the number that an object holds, if its class has one.
pub fn set_value(object: &Object, value: u64) {
    if let Some(it) = object.downcast::<Leaf>() {
        it.value.set(value);
    } else if let Some(it) = object.downcast::<Pair>() {
        it.value.set(value);
    } else if let Some(it) = object.downcast::<Wide>() {
        it.value.set(value);
    } else if let Some(it) = object.downcast::<Owner>() {
        it.value.set(value);
    } else if let Some(it) = object.downcast::<Anchor>() {
        it.value.set(value);
    } else if let Some(it) = object.downcast::<Instance>() {
        it.set_plain(0, value);
    }
}

/// The bytes that an object holds, if it is made of them: text, byte arrays, owned
/// names.
pub fn bytes(object: &Object) -> Vec<u8> {
    if let Some(it) = object.downcast::<Str>() {
        it.as_bytes().to_vec()
    } else if let Some(it) = object.downcast::<Bytes>() {
        it.to_vec()
    } else if let Some(it) = object.downcast::<Owner>() {
        it.name.clone().into_bytes()
    } else {
        Vec::new()
    }
}

/// The object as a weak map.
pub fn map(object: &Object) -> Option<&Map> {
    object.downcast()
}
