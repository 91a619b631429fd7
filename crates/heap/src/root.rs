//! Roots: where a trace starts, of which kind, by what name.

use std::fmt;

/// What holds a root, in the order in which canonical traces take them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RootKind {
    /// A named global.
    Static,
    /// The object that stands for a thread.
    ThreadObject,
    /// A local in a scope of a thread.
    ThreadStack,
    /// A handle that lives outside any scope and belongs to no thread.
    Handle,
    /// An object that waits for its finalizer.
    Finalizer,
}

/// A root and the name by which a person knows it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Root {
    /// What holds it.
    pub kind: RootKind,
    /// The static's or the thread's name; where a handle was made.
    pub name: String,
    /// The scope that holds a stack root, by its place in the program.
    pub scope: Option<String>,
    /// Tells apart roots of one kind and name: the local's place on the stack.
    pub index: u32,
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, index, .. } = self;
        match self.kind {
            RootKind::Static => write!(f, "static:{name}"),
            RootKind::ThreadObject => write!(f, "thread-object:{name}"),
            RootKind::ThreadStack => write!(f, "thread:{name}[{index}]"),
            RootKind::Handle => write!(f, "handle:{name}[{index}]"),
            RootKind::Finalizer => write!(f, "finalizer:{name}[{index}]"),
        }
    }
}
