//! GC assertions: what a program or a rule file expects of a heap.
//!
//! What counts as a violation, and what is said about it, is the same for a live heap and for a
//! written one. Here are the kinds of assertions and what a violation is; what breaks assertions
//! on a view ([`violations`]); and the findings that say so ([`describe`], [`describe_class`]).
//!
//! After Aftandilian and Guyer, *GC Assertions: Using the Garbage Collector to Check Heap
//! Properties* (PLDI 2009).
//!
//! Elsewhere: how a collection finds violations while it marks (crate `gc`), which assertions
//! a rule file states (crate `deal`).

mod description;
mod slots;
mod violations;

use crate::class::ClassId;

pub use self::description::{
    Described, Description, NotChecked, Stated, describe, describe_by, describe_class,
    never_checked, not_checked, paths_to,
};
pub use self::slots::Slots;
pub use self::violations::{Assertion, MOST_KEPT, Outcome, Target, violations};

/// What is asserted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AssertionKind {
    /// The object is unreachable.
    Dead,
    /// What the thread allocated in a region is unreachable.
    Region,
    /// A class has at most this number of instances.
    Instances,
    /// The instances of a class take at most this number of bytes.
    Volume,
    /// At most one slot or static refers to the object.
    Unshared,
    /// If the object is reachable, then also through its owner.
    OwnedBy,
}

impl AssertionKind {
    /// How many kinds there are.
    pub const COUNT: usize = 6;

    /// The kind of the findings that say it failed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dead => "asserted-dead",
            Self::Region => "region-not-dead",
            Self::Instances => "too-many-instances",
            Self::Volume => "too-much-volume",
            Self::Unshared => "asserted-unshared",
            Self::OwnedBy => "not-owned",
        }
    }
}

/// An object that an assertion is wrong about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Violation<O> {
    /// What is wrong with it.
    pub breach: Breach,
    /// Which assertion it breaks: a number of the caller's.
    pub assertion: u32,
    /// The object.
    pub object: O,
}

/// What is wrong with an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Breach {
    /// It was asserted dead and is reachable.
    Dead,
    /// It was allocated in a region that was asserted dead, and is reachable.
    Region,
    /// It was asserted unshared, and several references lead to it.
    Shared {
        /// How many strong slots and statics refer to it.
        references: usize,
    },
    /// It is reachable, and from no owner.
    NotOwned {
        /// Whether an owner of it is reachable.
        owner_lives: bool,
    },
}

impl Breach {
    /// The kind of the assertion that is broken.
    pub fn kind(self) -> AssertionKind {
        match self {
            Self::Dead => AssertionKind::Dead,
            Self::Region => AssertionKind::Region,
            Self::Shared { .. } => AssertionKind::Unshared,
            Self::NotOwned { .. } => AssertionKind::OwnedBy,
        }
    }
}

/// A class whose instances exceed what an assertion allows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Excess<O> {
    /// What is limited.
    pub limit: Limit,
    /// The class.
    pub class: ClassId,
    /// Whether it has subclasses whose instances count too.
    pub subclasses: bool,
    /// How many instances live, or how many bytes they take.
    pub amount: u64,
    /// How many instances live.
    pub instances: usize,
    /// Some of the instances, in order.
    pub sample: Vec<O>,
}

/// How much of a class an assertion allows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Limit {
    /// At most this number of instances.
    Instances(u64),
    /// At most this number of bytes.
    Volume(u64),
}

impl Limit {
    /// The kind of the assertion that states it.
    pub fn kind(self) -> AssertionKind {
        match self {
            Self::Instances(_) => AssertionKind::Instances,
            Self::Volume(_) => AssertionKind::Volume,
        }
    }
}
