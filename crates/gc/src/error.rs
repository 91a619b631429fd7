//! What can go wrong, as values.

use std::fmt;
use std::panic::Location;
use std::path::PathBuf;
use std::sync::Arc;

use crate::pruning::Pruned;
use crate::waits::CalledOff;

/// Errors are shown by `{:?}` as by `{}`: what `main` returns, and what `unwrap` panics with, is printed so.
macro_rules! shown_as_messages {
    ($($error:ty),*) => {$(
        impl fmt::Debug for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}
shown_as_messages!(
    BuildError,
    AttachError,
    OutOfMemory,
    Invalidated,
    InvalidationOff,
    crate::ClassError,
    crate::TooManyClasses
);

/// A heap could not be built.
#[non_exhaustive]
pub enum BuildError {
    /// The options do not go together.
    Options(String),
    /// The system refused address space or memory.
    System(std::io::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Options(what) => write!(f, "cannot build the heap: {what}"),
            Self::System(error) => {
                write!(f, "cannot reserve address space for the heap: {error}")
            }
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Options(_) => None,
            Self::System(error) => Some(error),
        }
    }
}

/// A thread could not attach to a heap.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttachError {
    /// The thread has a mutator of this heap already, of this name, and it is not
    /// blocked: the two would wait for each other.
    AlreadyAttached(String),
    /// The thread has stopped the world, to inspect the heap, and would wait for
    /// itself.
    WorldStopped,
    /// The world of the heap is stopped by a thread that waits, over other threads and heaps, for this
    /// one. See [`Mutator::blocked`](crate::Mutator::blocked).
    Deadlock,
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyAttached(name) => {
                write!(
                    f,
                    "this thread is already attached to the heap, as `{name}`"
                )
            }
            Self::WorldStopped => f.write_str("this thread is inspecting the stopped heap"),
            Self::Deadlock => CalledOff.fmt(f),
        }
    }
}

impl std::error::Error for AttachError {}

/// How much of the heap a class holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassShare {
    /// The class's name.
    pub class: String,
    /// Live instances.
    pub objects: usize,
    /// Their bytes.
    pub bytes: usize,
}

/// Memory was asked for beyond `max_bytes`, and a full collection has not helped.
#[derive(Clone, PartialEq, Eq)]
pub struct OutOfMemory(pub(crate) Box<Shortage>);

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Shortage {
    pub(crate) asked_bytes: usize,
    pub(crate) live_bytes: usize,
    pub(crate) external_bytes: usize,
    pub(crate) max_bytes: usize,
    pub(crate) classes: Vec<ClassShare>,
    pub(crate) snapshot: Option<Result<PathBuf, String>>,
    /// Why, if not because live objects take all there is.
    pub(crate) reason: Option<Reason>,
}

/// Why there is no memory though there might be some.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// The program is halted, by an assertion that found this.
    Halted(String),
    /// Threads that use several heaps would have waited for each other for ever.
    Uncollected,
    /// Little is left, and leak pruning did not wait for the rest to go.
    NearlyFull,
    /// An array has more elements than any can have.
    TooLong { length: usize, most: usize },
}

impl OutOfMemory {
    /// An error that is not about what lives.
    pub(crate) fn because(asked_bytes: usize, max_bytes: usize, reason: Reason) -> Self {
        Self(Box::new(Shortage {
            asked_bytes,
            live_bytes: 0,
            external_bytes: 0,
            max_bytes,
            classes: Vec::new(),
            snapshot: None,
            reason: Some(reason),
        }))
    }

    /// Bytes that were asked for.
    pub fn asked_bytes(&self) -> usize {
        self.0.asked_bytes
    }

    /// Bytes of live objects.
    pub fn live_bytes(&self) -> usize {
        self.0.live_bytes
    }

    /// The heap's limit.
    pub fn max_bytes(&self) -> usize {
        self.0.max_bytes
    }

    /// The classes that hold most, largest first.
    pub fn classes(&self) -> &[ClassShare] {
        &self.0.classes
    }

    /// Why the program is halted, if that is why there is no memory: what the assertion that
    /// failed found.
    pub fn halted(&self) -> Option<&str> {
        match &self.0.reason {
            Some(Reason::Halted(why)) => Some(why),
            _ => None,
        }
    }

    /// Where the heap was written, if it was told to be: the file, or why not.
    pub fn snapshot(&self) -> Option<Result<&PathBuf, &str>> {
        let snapshot = self.0.snapshot.as_ref()?;
        Some(snapshot.as_ref().map_err(String::as_str))
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shortage {
            asked_bytes,
            live_bytes,
            external_bytes,
            max_bytes,
            classes,
            snapshot,
            reason,
        } = &*self.0;
        match reason {
            None => write!(
                f,
                "out of memory: {asked_bytes} bytes asked, {live_bytes} bytes live"
            )?,
            Some(Reason::NearlyFull) => {
                write!(f, "memory is nearly full: {live_bytes} bytes live")?;
            }
            Some(Reason::Halted(why)) => return write!(f, "the program is halted: {why}"),
            Some(Reason::TooLong { length, most }) => {
                return write!(f, "an array of {length} elements: the longest has {most}");
            }
            Some(Reason::Uncollected) => {
                return write!(
                    f,
                    "out of memory: {asked_bytes} bytes asked, at most {max_bytes} allowed, and the heap \
                     cannot be collected: {CalledOff}"
                );
            }
        }
        if *external_bytes > 0 {
            write!(f, " and {external_bytes} external")?;
        }
        write!(f, ", at most {max_bytes} allowed")?;
        for (i, share) in classes.iter().enumerate() {
            let ClassShare {
                class,
                objects,
                bytes,
            } = share;
            let lead = if i == 0 { "; most in" } else { "," };
            write!(f, "{lead} {class} ({objects} objects, {bytes} bytes)")?;
        }
        match snapshot {
            Some(Ok(path)) => write!(f, "; the heap was written to {}", path.display()),
            Some(Err(why)) => write!(f, "; the heap could not be written: {why}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for OutOfMemory {}

/// The reference was invalidated: it refers to no object any more.
#[derive(Clone, PartialEq, Eq)]
pub struct Invalidated {
    pub(crate) class: Arc<str>,
    pub(crate) reason: Why,
}

/// Why a reference was invalidated.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// The program asked for it.
    Program {
        by: &'static str,
        place: &'static Location<'static>,
    },
    /// Leak pruning cut it.
    Pruned(Box<Pruned>),
}

impl Invalidated {
    /// What invalidated it, as the program calls it: `unique`.
    pub fn by(&self) -> &'static str {
        match &self.reason {
            Why::Program { by, .. } => by,
            Why::Pruned(_) => "leak pruning",
        }
    }

    /// Where the program asked for it, if it did.
    pub fn place(&self) -> Option<&'static Location<'static>> {
        match &self.reason {
            Why::Program { place, .. } => Some(place),
            Why::Pruned(_) => None,
        }
    }

    /// What leak pruning has cut, if it cut this reference: all of the same type.
    pub fn pruned(&self) -> Option<&Pruned> {
        match &self.reason {
            Why::Program { .. } => None,
            Why::Pruned(pruned) => Some(pruned),
        }
    }

    /// The class of the object that it referred to.
    pub fn class(&self) -> &str {
        &self.class
    }
}

impl fmt::Display for Invalidated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = &self.class;
        match &self.reason {
            Why::Program { by, place } => write!(
                f,
                "this reference to a {class} was invalidated by `{by}` at {place}"
            ),
            Why::Pruned(pruned) => {
                let (first, last) = pruned.collections();
                write!(
                    f,
                    "this reference to a {class} was pruned, as were {} references {pruned}, in collections \
                     {first} to {last}, which freed {} bytes",
                    pruned.references(),
                    pruned.bytes()
                )?;
                match pruned.averted() {
                    Some(averted) => write!(f, "; without that: {averted}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for Invalidated {
    /// The error that was averted by pruning.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.pruned()?.averted()?)
    }
}

impl From<Pruned> for Invalidated {
    fn from(pruned: Pruned) -> Self {
        Self {
            class: pruned.target().into(),
            reason: Why::Pruned(Box::new(pruned)),
        }
    }
}

/// References cannot be invalidated in a heap that was not built for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct InvalidationOff;

impl fmt::Display for InvalidationOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "this heap cannot invalidate references: build it with `HeapBuilder::invalidation(true)`",
        )
    }
}

impl std::error::Error for InvalidationOff {}
