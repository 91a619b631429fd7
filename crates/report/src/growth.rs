//! How a heap changes from snapshot to snapshot.

use serde::Serialize;

use crate::document::Graph;

/// A series of snapshots.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Growth {
    /// Each, oldest first.
    pub snapshots: Vec<Snapshot>,
    /// What the classes that are reported took in each snapshot.
    #[serde(skip)]
    pub courses: Vec<Course>,
    /// What holds the growth of each class that is reported, as graphs.
    #[serde(skip)]
    pub slices: Vec<Graph>,
    /// Classes that have grown and are not reported, what has grown most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub close: Vec<Close>,
    /// How two of them differ, if that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differences: Option<Differences>,
}

/// One snapshot of a series.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Snapshot {
    /// Its file.
    pub file: String,
    /// Live objects.
    pub objects: u64,
    /// The bytes that they take.
    pub bytes: u64,
}

/// What a class took in each snapshot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Course {
    /// Its name.
    pub class: String,
    /// The bytes of its live objects, in the order of the snapshots.
    pub bytes: Vec<u64>,
}

/// A class that has grown and is not reported.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Close {
    /// Its name.
    pub name: String,
    /// Its bytes when it began to grow.
    pub bytes_before: u64,
    /// Its bytes at the end.
    pub bytes_after: u64,
    /// The condition that it does not meet, as a word.
    pub hidden_by: &'static str,
    /// The same as a sentence, with the threshold.
    pub reason: String,
}

/// How two snapshots differ.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Differences {
    /// The earlier one, by its place in the series, from 1.
    pub from: usize,
    /// The later one.
    pub to: usize,
    /// The classes that differ, what has grown most first.
    pub classes: Vec<Difference>,
    /// Classes that differ and are not listed.
    pub classes_left_out: usize,
}

/// A class that has grown or shrunk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// Live objects before.
    pub objects_before: u64,
    /// Live objects after.
    pub objects_after: u64,
    /// Their bytes before.
    pub bytes_before: u64,
    /// Their bytes after.
    pub bytes_after: u64,
}
