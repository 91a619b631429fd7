//! The choices a mark loop is compiled for.
//!
//! Everything is a constant, so an unused choice leaves no instruction behind.

use crate::reference::{Entry, Reference};

/// Which lines of an object are prefetched when its entry joins the FIFO.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Prefetch {
    Header,
    /// Also the line that many bytes on, whatever the object's size.
    AndAhead(usize),
    /// Also the second line, when the block's cell size says that there is one.
    AndSecondIfCrossing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MarkState {
    Epoch,
    Bitmap,
}

/// How a marker makes an unmarked object its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Load, then store: two threads may both visit the object.
    Racy,
    /// Load, then an exact read-modify-write: `swap` on a header, `fetch_or` on
    /// a bitmap.
    Exact,
    /// Load, then `compare_exchange` on the header.
    CompareExchange,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Describe {
    ClassTable,
    /// Only the number of references; needs `FieldOrder::RefsFirst`.
    ClassTableCount,
    /// The header's reference count; needs `FieldOrder::RefsFirst`.
    Header,
}

/// How a slot that may be null joins the stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Push {
    Branch,
    /// Always written, and kept by moving the top or not.
    Branchless,
}

pub trait Variant: 'static {
    type Ref: Reference;
    type Entry: Entry<Self::Ref>;
    /// A power of two up to 64, or zero for no FIFO and no prefetch.
    const FIFO: usize = 16;
    const PREFETCH: Prefetch = Prefetch::AndAhead(32);
    const MARK: MarkState = MarkState::Epoch;
    const CLAIM: Claim = Claim::Racy;
    const DESCRIBE: Describe = Describe::ClassTable;
    const PUSH: Push = Push::Branchless;
    /// Whether the mark stack asks for huge pages.
    const HUGE_STACK: bool = true;
    const COUNT_BYTES: bool = false;
    const COUNT_BLOCK_LIVE: bool = false;
    /// Count (source class, target class) per edge; needs `Sourced` entries.
    const COUNT_PAIRS: bool = false;
}

/// Declares a variant: `variant!(Name: Ref4, Bare<Ref4>, { FIFO: usize = 8 })`.
#[macro_export]
macro_rules! variant {
    ($name:ident: $reference:ty, $entry:ty, { $($constant:ident: $kind:ty = $value:expr),* $(,)? }) => {
        struct $name;
        impl $crate::variant::Variant for $name {
            type Ref = $reference;
            type Entry = $entry;
            $(const $constant: $kind = $value;)*
        }
    };
}
