//! ShapeUp: recursive data structures, what is always true of them, and when it is not.
//!
//! 1. [`Backbones`] are found in a summary: classes whose objects refer to objects of the
//!    same class, directly or through one other class.
//! 2. Each full collection gives a [`Measure`] of each backbone: how many objects have how
//!    many references from and to other objects of the structure, and what each slot holds.
//! 3. Learning: a [`Profile`] keeps what all measures of correct runs have in common. A
//!    degree that always the same number of objects have, at most two, is a *quirk*; any
//!    other is a range of percentages. There are also exact linear [`Relation`]s of counts, such as
//!    "a singly linked list has one `next` fewer than nodes", and of [`Sums`] of hashes, such as
//!    "`prev` is the inverse of `next`". What only a walk
//!    through many objects can tell is added to these sums: that chains end (`walks.rs`).
//! 4. Testing: [`Profile::test`] returns how a measure differs from the profile.
//!
//! Names of what is counted are in `count.rs`; which kind of structure it looks like is
//! decided in `classify.rs`.

mod backbone;
mod classify;
mod count;
mod degree;
mod fact;
mod facts;
mod matching;
mod measure;
mod metric;
mod modular;
mod offender;
mod profile;
mod relation;
mod slots;
mod sums;
mod tally;
mod violation;
mod walks;

pub use backbone::{Backbone, Backbones, Leads, Role};
pub use classify::{Shape, shape_of};
pub use count::{Count, Degree, HashSum, Number, Referrer, Side};
pub use degree::{DegreeCounters, Degrees, Distribution, degrees, degrees_on};
pub use fact::Comparison;
pub use measure::{
    Measure, measure, measure_facts, measure_facts_on, measure_view, measure_view_on,
};
pub use metric::{Metric, Percent};
pub use offender::{extent, offenders, show_offenders, shown};
pub use profile::{Invariants, Profile};
pub use relation::{Relation, Relations};
pub use sums::{Link, SumCounters, Sums, Trait, sums, sums_on};
pub use tally::{Evidence, Tally};
pub use violation::{Broken, Violation, findings};
pub use walks::walk;
