//! What a program could do without, and where it is.

use heaphound_heap::finding::Path;
use serde::Serialize;

/// What could be saved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Waste {
    /// Live objects.
    pub heap_objects: u64,
    /// The bytes that they take.
    pub heap_bytes: u64,
    /// Each sort of waste.
    pub sections: Vec<Section>,
}

/// A sort of waste, or of what is held.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Section {
    /// `duplicate-strings`, `empty-collections`, …
    pub kind: &'static str,
    /// The same for people.
    #[serde(skip)]
    pub title: &'static str,
    /// How many objects.
    pub objects: u64,
    /// How many bytes.
    pub bytes: u64,
    /// What it consists of, most bytes first.
    pub rows: Vec<Row>,
    /// Rows that are not listed.
    pub left_out: usize,
    /// Why nothing, or not everything, is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_known: Option<&'static str>,
}

/// A part of a section.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Row {
    /// A text, a class.
    pub what: String,
    /// How many objects there are of it, those that are needed included.
    pub objects: u64,
    /// The bytes that could be saved, or are held.
    pub bytes: u64,
    /// The slots that refer to them, most first.
    pub places: Vec<PlaceCount>,
    /// A path to one of them.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::json::path"
    )]
    pub example: Option<Path>,
}

/// A slot and how many references it holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PlaceCount {
    /// `Customer.country`
    pub slot: String,
    /// How many.
    pub references: u64,
}
