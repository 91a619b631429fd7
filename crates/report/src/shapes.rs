//! The recursive data structures of a heap, and how they compare with a profile.

use std::collections::BTreeMap;

use serde::Serialize;

/// The recursive data structures of a heap.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Shapes {
    /// The bytes of all live objects.
    pub heap_bytes: u64,
    /// Each kind of structure, the largest first.
    pub structures: Vec<Structure>,
    /// The profile that was written, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learnt: Option<Learnt>,
    /// The profile that was compared with, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tested: Option<Tested>,
}

/// All structures of one class together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Structure {
    /// The class that they are made of.
    pub class: String,
    /// The class between two objects of it, if there is one.
    pub through: Option<String>,
    /// How many slots the class has, if they are too many to be told from each other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dictionary: Option<usize>,
    /// What they look like: `singly linked list`.
    pub looks_like: String,
    /// Objects of the class.
    pub objects: u64,
    /// The bytes of the structures.
    pub bytes: u64,
    /// How many objects have 0, 1, 2 and more references from inside.
    pub incoming: [u64; 4],
    /// The same for references to inside.
    pub outgoing: [u64; 4],
    /// How many references each slot of the class holds.
    pub slots: BTreeMap<String, u64>,
}

/// A profile that was written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Learnt {
    /// Its file.
    pub profile: String,
    /// Kinds of structures in it.
    pub structures: usize,
    /// Whether it was added to a profile that existed.
    pub merged: bool,
}

/// A profile that was compared with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Tested {
    /// Its file.
    pub profile: String,
    /// Kinds of structures of the heap that are in it.
    pub structures: usize,
    /// Kinds of structures of the heap that are not, and were not tested.
    pub unknown: Vec<String>,
    /// Kinds of structures in it that the heap has none of, and that were not tested.
    pub absent: Vec<String>,
}
