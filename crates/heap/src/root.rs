//! Roots: where a trace starts, of which kind, by what name.

use std::fmt;

use crate::spelling::root_name;

/// What holds a root, in the order in which canonical traces take them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RootKind {
    /// A named global.
    Static,
    /// The object that stands for a thread.
    ThreadObject,
    /// A local in a scope of a thread.
    ThreadStack,
    /// A handle that lives outside any scope and belongs to no thread.
    Handle,
    /// Something else that the runtime holds on to.
    Other,
    /// An object that waits for its finalizer: kept, but not alive.
    Finalizer,
}

/// Which of a thread's roots are meant: PHALANX's three versions of a question about
/// threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Part {
    /// Its stack.
    Stack,
    /// Its thread object.
    Object,
    /// Both.
    #[default]
    Both,
}

/// Some of the roots of a heap. Objects that wait for their finalizers are never among
/// them: they are no more alive than what died beside them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RootSet<'a> {
    /// All of them.
    All,
    /// Those of one thread.
    Thread(&'a str, Part),
    /// All but those of one thread.
    AllBut(&'a str, Part),
    /// All but locals: what a stack holds is let go when a function returns.
    Lasting,
}

impl RootSet<'_> {
    /// Whether roots of that kind and name are among them.
    pub fn includes(self, kind: RootKind, name: &str) -> bool {
        let of_thread = |thread: &str, part| {
            let kind = match kind {
                RootKind::ThreadStack => Part::Stack,
                RootKind::ThreadObject => Part::Object,
                _ => return false,
            };
            name == thread && (part == Part::Both || part == kind)
        };
        kind != RootKind::Finalizer
            && match self {
                Self::All => true,
                Self::Thread(thread, part) => of_thread(thread, part),
                Self::AllBut(thread, part) => !of_thread(thread, part),
                Self::Lasting => kind != RootKind::ThreadStack,
            }
    }
}

/// A root and the name by which a person knows it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Root {
    /// What holds it.
    pub kind: RootKind,
    /// The static's or the thread's name, which no other thread of the view has; where
    /// a handle was made.
    pub name: String,
    /// Distinguishes roots of one kind and name: the local's place on the stack. Before the
    /// scope, for roots are ordered by it.
    pub index: u32,
    /// The scope that holds a stack root, by its place in the program.
    pub scope: Option<String>,
}

impl Root {
    /// The first root of that kind and name, of no particular scope.
    pub fn new(kind: RootKind, name: &str) -> Self {
        Self {
            kind,
            name: name.into(),
            scope: None,
            index: 0,
        }
    }
}

impl Root {
    /// What it is called where a root is asked for: `thread:main[2]`. No other root of a view is
    /// called so.
    pub fn short(&self) -> String {
        let (name, index) = (root_name(&self.name), self.index);
        match self.kind {
            RootKind::Static => format!("static:{name}"),
            RootKind::ThreadObject => format!("thread-object:{name}"),
            RootKind::ThreadStack => format!("thread:{name}[{index}]"),
            RootKind::Handle => format!("handle:{name}[{index}]"),
            RootKind::Other => format!("other:{name}[{index}]"),
            RootKind::Finalizer => format!("finalizer:{name}[{index}]"),
        }
    }
}

impl fmt::Display for Root {
    /// With the scope that holds it: `thread:main[2] @ src/main.rs:10:5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.short())?;
        match &self.scope {
            Some(scope) => write!(f, " @ {scope}"),
            None => Ok(()),
        }
    }
}
