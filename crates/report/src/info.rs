//! What a heap consists of.

use serde::Serialize;

/// What a heap consists of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Info {
    /// All objects.
    pub total: Amount,
    /// Those that the roots reach.
    pub reachable: Amount,
    /// The others.
    pub unreachable: Amount,
    /// Edges of all strengths, those of garbage included.
    pub edges: usize,
    /// How many classes there are, with and without instances.
    pub class_count: usize,
    /// The first classes, in the order asked for. Classes without instances are not
    /// among them.
    pub classes: Vec<Class>,
    /// How exact the retained bytes of classes are: `least` or `exact`. They are not there if this is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retained: Option<&'static str>,
    /// Classes with instances that are not listed.
    pub classes_left_out: usize,
    /// Roots by kind; kinds without any are not there.
    pub roots: Vec<Roots>,
    /// Running threads.
    pub threads: Vec<Thread>,
}

/// Some objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Amount {
    /// How many.
    pub objects: usize,
    /// The bytes that they take.
    pub bytes: u64,
}

impl Amount {
    /// Adds an object. Saturates, for a file may claim any size.
    pub fn add(&mut self, bytes: u64) {
        self.objects += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The instances of a class.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Which one of several classes of that name it is, as several class loaders make.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_name: Option<SameName>,
    /// How many, garbage included.
    pub objects: usize,
    /// The bytes that they take.
    pub bytes: u64,
    /// How many the roots reach.
    pub reachable_objects: usize,
    /// The bytes that they retain together, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retained_bytes: Option<u64>,
}

/// One of several classes of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct SameName {
    /// Its number among them, from 1.
    pub nth: usize,
    /// How many of them have instances.
    pub of: usize,
}

/// Roots of a kind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Roots {
    /// `static`, `thread`, `thread-object`, `handle`, `other`, `finalizer`.
    pub kind: &'static str,
    /// How many.
    pub count: usize,
}

/// A running thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// How many roots its stack has.
    pub stack_roots: usize,
    /// The object that stands for it.
    pub object: Option<String>,
}
