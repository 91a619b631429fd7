//! What a class knows about its instances: names, slots, plain fields.

use crate::value::PlainKind;

/// A class of one heap. Ids are dense, start at 1 and are never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassId(pub u32);

/// How a field of an object is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    /// A reference that is never null.
    Ref,
    /// A reference or null.
    Opt,
    /// A reference that does not retain its target.
    Weak,
    /// A reference that retains its target while the object's weak slot
    /// still has its own: the value of an ephemeron.
    Dependent,
    /// Plain data, readable by name.
    Plain(PlainKind),
    /// Ordinary Rust memory, dropped with the object and opaque to us.
    Owned,
}

impl FieldKind {
    /// Whether the field is a slot: a place that holds a reference.
    pub const fn is_slot(self) -> bool {
        matches!(self, Self::Ref | Self::Opt | Self::Weak | Self::Dependent)
    }
}

/// One field of a class: a slot, plain data, or owned memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldInfo {
    /// The name as the program spells it; `name[i]` for an inline array.
    pub name: String,
    /// Bytes from the start of the object, header included.
    pub offset: u32,
    /// How it is stored.
    pub kind: FieldKind,
}

/// The elements of an array class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elements {
    /// Optional references.
    Refs,
    /// Plain data.
    Plain(PlainKind),
    /// The bytes of immutable UTF-8 text.
    Text,
}

/// What reports and queries know of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassInfo {
    /// The class's id in its heap.
    pub id: ClassId,
    /// Its name in reports.
    pub name: String,
    /// The class that it extends.
    pub superclass: Option<ClassId>,
    /// Fields in declaration order, inherited ones first.
    pub fields: Vec<FieldInfo>,
    /// What an array of this class holds, if it is one.
    pub elements: Option<Elements>,
}

impl ClassInfo {
    /// The fields that hold references, in declaration order.
    pub fn slots(&self) -> impl Iterator<Item = &FieldInfo> {
        self.fields.iter().filter(|field| field.kind.is_slot())
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&FieldInfo> {
        self.fields.iter().find(|field| field.name == name)
    }
}
