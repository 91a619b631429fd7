//! A garbage collector that hunts heap bugs while it marks.
//!
//! ```
//! use heaphound::{Heap, Slot, Var, managed};
//!
//! #[managed]
//! struct Node {
//!     value: u64,
//!     visits: Var<u32>,
//!     next: Slot<Node>,
//! }
//!
//! let heap = Heap::builder().max_bytes(64 << 20).build()?;
//! let mut m = heap.attach("main")?;
//! let last = m.alloc(NodeInit { value: 2, visits: 0, next: None })?;
//! let first = m.alloc(NodeInit { value: 1, visits: 0, next: Some(last) })?;
//! m.collect();
//!
//! let mut sum = 0;
//! let mut node = Some(&m[first]);
//! while let Some(it) = node {
//!     it.visits.set(it.visits.get() + 1);
//!     sum += it.value;
//!     node = it.next.get();
//! }
//! assert_eq!(sum, 3);
//!
//! // Who owns what? The world is stopped while the questions are answered.
//! assert!(m.is_object_owned(first, last)?);
//! let (size, shared) = m.ask(|heap| {
//!     let (first, last) = (heap.id(first)?, heap.id(last)?);
//!     Ok::<_, heaphound::ProbeError>((heap.reach(first).len(), heap.is_shared(last)))
//! })?;
//! assert_eq!((size, shared), (2, false));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

// `#[managed]` writes this crate's name, here too.
extern crate self as heaphound;

pub mod collections;
mod expression;
mod growth;
#[cfg(feature = "report")]
pub mod report;
pub mod rules;
mod shapes;

pub use expression::{Evaluate, EvaluateError, evaluate};
pub use growth::{Growth, GrowthWatch};
/// Summaries of heaps, growth and shapes.
pub use heaphound_analysis as analysis;
/// DeAL and PHALANX expressions.
pub use heaphound_deal as deal;
pub use heaphound_derive::{Interface, Managed, Plain, deal, managed};
pub use heaphound_gc::{
    AllocationSite, Asking, AssertionKind, AttachError, BackSampling, BuildError, Bytes, Check,
    ClassBuilder, ClassError, ClassHandle, ClassShare, CollectionStats, Collector, Create,
    DynClass, DynInterface, Expect, Finalization, Header, Heap, HeapBuilder, HeapStats,
    HeapSummary, Instance, Interface, InterfaceBuilder, Invalidated, InvalidationOff, Local,
    LocalValue, Managed, MarkedHeap, Mutator, Object, ObjectId, OptionalReference, OutOfMemory,
    Pinned, Plain, PlainArray, PlainData, PlainPart, Pretenuring, PretenuringStats, ProgramSite,
    PruneWhen, Pruned, Pruning, PruningPolicy, PruningState, Reaction, Ref, RefArray, Reference,
    Region, Registration, Root, Sampling, SitePhase, Slot, Static, StoppedHeap, Str, Subject,
    TooManyClasses, Value, ValueSlot, Var, Weak, WeakMap, WeakSlot, keep,
};
pub use heaphound_heap::probe::{ProbeError, Probes};
pub use heaphound_heap::snapshot::Snapshot;
pub use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind};
pub use heaphound_heap::{
    assertion, fields, finding, overhead, path, probe, root, set, snapshot, trace, view,
};
/// Heaps as files.
pub use heaphound_snapshot as file;
#[doc(hidden)]
pub use rules::rule_traversals;
pub use rules::{Rules, RulesError, check_syntax};
pub use shapes::{ShapeWatch, Shapes};

/// What a [`Check`] of the program's own is made of, and what the heap knows of its findings.
pub mod check {
    pub use heaphound_gc::{Counted, Every, Found, Known, Listener, Needs};
}

/// What [`HeapStats`] and [`CollectionStats`] are about.
pub mod stats {
    pub use heaphound_gc::{Cause, Kind, Remark};
}

/// What the compiler knows of which class extends which.
pub mod classes {
    pub use heaphound_gc::{Above, Extends, Itself};
}

/// What [`keep`] makes of locals that leave their scope.
pub mod scope {
    pub use heaphound_gc::{Keep, Keepable, Kept, One};
}

/// For tests.
pub mod testing {
    use crate::Mutator;
    use crate::finding::Finding;

    /// Runs `f` and panics if an object that `f` allocated is still reachable afterwards, or if
    /// something does not hold that `f` has asserted. The
    /// message has the paths to such objects. It makes the collections that it needs, so every run
    /// has the same result.
    ///
    /// ```
    /// # use heaphound::{Heap, Slot, managed, testing};
    /// # #[managed] struct Node { next: Slot<Node> }
    /// # let heap = Heap::builder().build()?;
    /// # let mut m = heap.attach("main")?;
    /// # #[cfg(feature = "assertions")]
    /// testing::assert_no_leaks(&mut m, |m| {
    ///     let _forgotten = m.alloc(NodeInit { next: None }).unwrap();
    /// });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If an object is still reachable; if something was found that was not known before; if `f`
    /// panics.
    #[track_caller]
    pub fn assert_no_leaks<R>(m: &mut Mutator<'_>, f: impl FnOnce(&mut Mutator<'_>) -> R) -> R {
        let before = standing(m);
        let (result, leaks) = m.leaks_of(f);
        let mut found = standing(m);
        let known = |it: &Finding| {
            before
                .iter()
                .any(|one| one.fingerprint() == it.fingerprint())
        };
        found.retain(|it| !known(it));
        found.extend(leaks);
        panic_about(&found);
        result
    }

    /// Collects the whole heap, so that everything is checked that was asserted or registered, and
    /// panics if something was found, now or before, that still stands and is not suppressed.
    ///
    /// ```
    /// # use heaphound::{Heap, Slot, managed, testing};
    /// # #[managed] struct Node { next: Slot<Node> }
    /// # let heap = Heap::builder().build()?;
    /// # let mut m = heap.attach("main")?;
    /// # #[cfg(feature = "assertions")]
    /// {
    ///     let mut m = m.scope();
    ///     let node = m.alloc(NodeInit { next: None })?;
    ///     m.assert_dead(node);
    /// }
    /// testing::assert_no_findings(&mut m);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If there is such a finding. The message has them all.
    #[track_caller]
    pub fn assert_no_findings(m: &mut Mutator<'_>) {
        m.collect();
        panic_about(&standing(m));
    }

    /// The findings that stand and are not suppressed.
    fn standing(m: &Mutator<'_>) -> Vec<Finding> {
        let known = m.findings().into_iter();
        let standing = known.filter(|it| it.suppressed.is_none() && it.withdrawn.is_none());
        standing.map(|it| it.finding).collect()
    }

    #[track_caller]
    fn panic_about(findings: &[Finding]) {
        if !findings.is_empty() {
            let all: Vec<String> = findings.iter().map(Finding::to_string).collect();
            panic!("{}", all.join("\n"));
        }
    }
}

/// Chooses by the class of an object, first come, first served; subclasses count.
///
/// ```
/// use heaphound::{Heap, Managed, Str, managed, match_class};
///
/// #[managed]
/// struct Circle {
///     radius: u64,
/// }
///
/// let heap = Heap::builder().build()?;
/// let mut m = heap.attach("main")?;
/// let circle = m.alloc(CircleInit { radius: 3 })?.upcast(&m);
/// let width = match_class!(&m[circle], {
///     Str => |text| text.len() as u64,
///     Circle => |it| 2 * it.radius,
///     _ => 0,
/// });
/// assert_eq!(width, 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! match_class {
    (@arms $object:ident, _ => $otherwise:expr $(,)?) => { $otherwise };
    (@arms $object:ident, $class:ty => |$name:pat_param| $then:expr, $($rest:tt)+) => {
        if let ::core::option::Option::Some($name) = $object.downcast::<$class>() {
            $then
        } else {
            $crate::match_class!(@arms $object, $($rest)+)
        }
    };
    ($object:expr, { $($arms:tt)+ }) => {{
        let object = $crate::Managed::as_object($object).seen();
        $crate::match_class!(@arms object, $($arms)+)
    }};
}

/// The programs of the guide run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide.md")]
struct Guide;

/// So does the program of the page about checks.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/adding-a-check.md")]
struct AddingACheck;

/// Used by derived code only.
#[doc(hidden)]
pub mod support {
    // Derived code needs the macros; the others are here so that the compiler's messages can name them.
    pub use heaphound_gc::{
        Create, Descriptor, Field, Filler, Init, Interface, InterfaceDescriptor, Managed, Owned,
        managed, plain_data_enum, plain_enum, plain_struct,
    };
}
