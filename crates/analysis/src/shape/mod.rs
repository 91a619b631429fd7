//! ShapeUp: recursive data structures, what is always true of them, and when it is not.
//!
//! 1. [`Backbones`] are found in a summary: classes whose objects refer to their like.
//! 2. At each full collection each of them gives a [`Measure`]: how many objects have how many
//!    references from and to their like, and what each slot holds.
//! 3. Learning: a [`Profile`] keeps what all measures of correct runs have in common. A
//!    degree that two objects at most have, always as many, is a *quirk*; any other is a range
//!    of percentages. Beside them stand exact linear [`Relation`]s: a singly linked list
//!    has one `next` fewer than nodes; and [`Matches`]: `prev` is the inverse of `next`.
//! 4. Testing: [`Profile::test`] tells how a measure differs.
//!
//! Elsewhere: what the structure looks like, in words (`words.rs`).

mod backbone;
mod degree;
mod matching;
mod measure;
mod metric;
mod modular;
mod offender;
mod profile;
mod relation;
mod violation;
mod words;

pub use backbone::{Backbone, Backbones, Leads};
pub use degree::{DegreeCounters, Degrees, Distribution, degrees, degrees_on};
pub use matching::{MatchCounters, Matches, matches, matches_on};
pub use measure::{Measure, measure, measure_view, measure_view_on};
pub use metric::{Metric, Percent};
pub use offender::{offenders, show_offenders};
pub use profile::{Invariants, Profile};
pub use relation::{Relation, Relations};
pub use violation::{Broken, Violation, findings};
pub use words::{Shape, shape_of};
