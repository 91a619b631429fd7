//! How two heaps differ.

use serde::Serialize;

/// How two heaps differ.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Diff {
    /// The earlier one.
    pub before: Total,
    /// The later one.
    pub after: Total,
    /// The classes that differ, in the order asked for.
    pub classes: Vec<Class>,
    /// Classes that differ and are not listed.
    pub classes_left_out: usize,
    /// Objects of the later one that the earlier one does not have, where names are stable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<New>,
    /// Remarks.
    pub notes: Vec<String>,
}

/// A heap as a whole.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Total {
    /// Its file.
    pub file: String,
    /// Live objects.
    pub objects: u64,
    /// The bytes that they take.
    pub bytes: u64,
}

/// A class that differs. What it retains is the least that its instances retain together.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Class {
    pub name: String,
    pub objects_before: u64,
    pub objects_after: u64,
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub retained_before: u64,
    pub retained_after: u64,
}

/// Objects that are new.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct New {
    /// How many.
    pub objects: u64,
    /// The bytes that they take.
    pub bytes: u64,
    /// The first of them, what retains most first.
    pub listed: Vec<NewObject>,
    /// How many are not listed.
    pub left_out: u64,
}

/// An object that is new.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NewObject {
    /// Its name.
    pub name: String,
    /// What tells it from others of its class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caption: Option<String>,
    /// The bytes that it retains.
    pub retained_bytes: u64,
}
