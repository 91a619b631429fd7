//! The recursive data structures of the heap, measured at a full collection.
//!
//! Degrees are counted while the heap is marked (`raw/shaping.rs`), on the assumption that
//! backbones are those of earlier collections and that their slots lead where they did. When the
//! summary shows that they do not, as it does the first time, the assumptions change, and the heap is
//! marked again. A slot can change them twice at most, so that this becomes rare. Where degrees
//! cannot be counted while the heap is marked, all that lives is looked at, which takes several times
//! as long.

use heaphound_analysis::shape::{self, Backbones, Measure, degrees, matches};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::Summary;
use heaphound_heap::view::HeapView;

use crate::raw::StoppedHeap;
use crate::raw::marking::shape_counter::{Assumed, Shaping};

/// What workers have counted on assumptions.
pub(crate) struct Shaped<'h> {
    pub(crate) assumed: &'h Assumed,
    pub(crate) workers: Vec<Shaping<'h>>,
}

/// All backbones, measured.
pub(crate) struct Measured {
    pub(crate) backbones: Backbones,
    pub(crate) measures: Vec<Measure>,
    pub(crate) recounted: bool,
}

/// Measures all backbones, from what was counted if that agrees with the summary.
/// Answers, too, what is to be assumed the next time.
pub(crate) fn measure(
    view: &StoppedHeap<'_>,
    summary: &Summary,
    slots: &SlotIds,
    shaped: Option<Shaped<'_>>,
    assumed: &mut Backbones,
) -> Measured {
    let classes = view.classes();
    let now = Backbones::find(summary, classes, slots);
    let covers = |it: &Shaped<'_>| it.assumed.backbones.cover(&now, summary, slots);
    let counted = shaped.filter(covers);
    let recounted = counted.is_none();
    let (degrees, matches) = match counted {
        Some(shaped) => Shaping::merge(shaped.workers, shaped.assumed, &now),
        None => {
            assumed.learn(&now, summary, slots);
            (degrees(view, &now), matches(view, &now))
        }
    };
    let measures = shape::measure(summary, classes, slots, &now, &degrees, Some(&matches));
    Measured {
        backbones: now,
        measures,
        recounted,
    }
}
