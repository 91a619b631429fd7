//! The tree of dominators of a heap, or a part of it.

use serde::Serialize;

/// The tree of dominators, or what an object dominates.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Dominators {
    /// Live objects.
    pub heap_objects: u64,
    /// The bytes that they take.
    pub heap_bytes: u64,
    /// `object` or `class`: what a node stands for.
    pub by: &'static str,
    /// The object whose dominated objects these are, and its dominators, nearest first; empty for the
    /// whole heap.
    pub from: Vec<String>,
    /// What is dominated directly.
    pub nodes: Vec<Node>,
    /// What is not listed beside them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<Rest>,
}

/// An object, or all objects of one class with the same dominators above.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Node {
    /// The object's name, or the class's.
    pub name: String,
    /// What tells the object from others of its class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caption: Option<String>,
    /// The slot of the node above that refers to it, if one does directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// How many objects it stands for.
    pub count: u64,
    /// The bytes that they take themselves.
    pub bytes: u64,
    /// The bytes that they retain.
    pub retained_bytes: u64,
    /// How many objects they retain, themselves included.
    pub retained_objects: u64,
    /// What they dominate directly, as far as it was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<Node>,
    /// What is not listed beside that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<Rest>,
}

/// What is not listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Rest {
    /// How many nodes.
    pub nodes: u64,
    /// The bytes that they retain.
    pub retained_bytes: u64,
}
