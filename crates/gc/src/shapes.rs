//! The recursive data structures of the heap, measured.

use heaphound_analysis::shape::{Backbones, Measure, degrees, matches, measure as describe};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::Summary;
use heaphound_heap::view::HeapView;

use crate::raw::StoppedHeap;

/// Measures all backbones by looking at the heap again.
pub(crate) fn measure(
    view: &StoppedHeap<'_>,
    summary: &Summary,
    slots: &SlotIds,
) -> (Backbones, Vec<Measure>) {
    let classes = view.classes();
    let backbones = Backbones::find(summary, classes, slots);
    let degrees = degrees(view, &backbones);
    let matches = matches(view, &backbones);
    let measures = describe(
        summary,
        classes,
        slots,
        &backbones,
        &degrees,
        Some(&matches),
    );
    (backbones, measures)
}
