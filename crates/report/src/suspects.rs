//! What a person should look at first. The findings beside it tell the same in words, with paths.

use serde::Serialize;

/// The suspects of a heap.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Suspects {
    /// Live objects.
    pub heap_objects: u64,
    /// The bytes that they take.
    pub heap_bytes: u64,
    /// The bytes from which on something was suspected.
    pub least_bytes: u64,
    /// What retains most first, in the order of the findings.
    pub list: Vec<Suspect>,
}

/// Something that retains much.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Suspect {
    /// `accumulation`, `group` or `stack`.
    pub kind: &'static str,
    /// The object, the class or the thread.
    pub name: String,
    /// How many objects of the class; 1 for others.
    pub count: u64,
    /// The bytes that it retains.
    pub retained_bytes: u64,
    /// How many objects these are.
    pub retained_objects: u64,
    /// Through what the program holds it.
    pub through: Option<String>,
    /// The classes of what it holds directly, with what that retains.
    pub holds: Vec<Filling>,
    /// The classes of all that it retains, with what these objects take.
    pub retains: Vec<Filling>,
}

/// Objects of a class.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Filling {
    /// The class.
    pub class: String,
    /// How many.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}
