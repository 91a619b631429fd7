//! Summaries of the heap, which full collections count while they mark.
//!
//! If a check needs a summary ([`Needs::summary`], [`Needs::shapes`]), or the heap was built to make one
//! at every n-th full collection, it is counted while the roots are marked
//! (`raw/marking/summary_counter.rs`): exactly the live objects and their edges; what only a
//! finalizer keeps is not alive.
//!
//! The degrees of recursive data structures are counted on the assumption that backbones are those of
//! earlier collections and that their slots lead where they did
//! (`raw/marking/shape_counter.rs`). When the summary shows that they do not, as it does the first time,
//! the assumptions change, and the heap is marked again. A slot can change them twice at most, so that
//! this becomes rare. Where degrees cannot be counted while the heap is marked, all that lives is
//! looked at, which takes several times as long.

use std::sync::Arc;

#[cfg(feature = "export")]
use heaphound_analysis::export::Picture;
use heaphound_analysis::shape::{self, Backbones, Measure, degrees, sums};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::Summary;
use heaphound_heap::ClassInfo;
use heaphound_heap::view::HeapView;

use crate::check::{Check, Graph, Needs};
use crate::collect::Live;
use crate::heap::{Heap, HeapInner};
use crate::marking::Marking;
use crate::raw::marking::counters::Setup;
use crate::raw::marking::mark::Ground;
use crate::raw::marking::shape_counter::{Assumed, Shaping};
use crate::raw::marking::summary_counter::Places;

/// The recursive data structures of a heap.
#[derive(Clone, Copy, Debug)]
pub struct Shapes<'o> {
    /// The classes that they are made of.
    pub backbones: &'o Backbones,
    /// What was counted of each, in the order of the backbones.
    pub measures: &'o [Measure],
    /// Whether the heap had to be looked at again, because it was not what earlier collections
    /// had shown.
    pub recounted: bool,
}

/// The summary of a full collection, with names.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HeapSummary {
    /// The collection's number, over both kinds.
    pub collection: u64,
    /// Bytes allocated since the heap was built.
    pub allocated_bytes: u64,
    /// Classes and the edges between them.
    pub summary: Arc<Summary>,
    /// The classes of the heap, by id, from 1.
    pub classes: Vec<ClassInfo>,
    /// The numbers of slots.
    pub slots: SlotIds,
}

impl HeapSummary {
    /// The class points-from graph, to be written as DOT, GraphML or JSON.
    #[cfg(feature = "export")]
    pub fn points_from(&self) -> Picture<'_> {
        Picture::points_from(&self.summary, &self.classes, &self.slots)
    }

    /// The class field-wise summary graph, to be written as DOT, GraphML or JSON.
    #[cfg(feature = "export")]
    pub fn field_wise(&self) -> Picture<'_> {
        Picture::field_wise(&self.summary, &self.classes, &self.slots)
    }

    /// The class of that name; of several, the first.
    pub fn class(&self, name: &str) -> Option<&ClassInfo> {
        self.classes.iter().find(|class| class.name == name)
    }
}

/// The summaries of a heap.
#[derive(Default)]
pub(crate) struct Summaries {
    /// Full collections since the heap was built.
    seen: u64,
    slots: SlotIds,
    /// What the next collection that looks at shapes is to assume.
    backbones: Backbones,
    current: Option<Current>,
}

/// The last summary.
struct Current {
    collection: u64,
    allocated_bytes: u64,
    summary: Arc<Summary>,
}

/// Makes a summary at every n-th full collection, if the heap was built for that.
pub(crate) struct SummaryCheck<'h>(pub(crate) &'h HeapInner);

impl Check for SummaryCheck<'_> {
    fn needs(&mut self) -> Needs {
        let mut summaries = self.0.summaries.lock().unwrap();
        summaries.seen += 1;
        let every = self.0.config.summaries;
        match every > 0 && summaries.seen.is_multiple_of(every.into()) {
            true => Needs::summary(),
            false => Needs::nothing(),
        }
    }
}

/// All backbones, measured.
pub(crate) struct Measured {
    backbones: Backbones,
    measures: Vec<Measure>,
    recounted: bool,
}

impl Measured {
    pub(crate) fn shapes(&self) -> Shapes<'_> {
        Shapes {
            backbones: &self.backbones,
            measures: &self.measures,
            recounted: self.recounted,
        }
    }
}

impl HeapInner {
    /// Returns what counters need to know before they begin.
    pub(crate) fn prepare_counting(&self, ground: Ground<'_>, needs: &Needs) -> Setup {
        let classes = self.classes.count();
        if needs.graph == Graph::Nothing {
            return Setup {
                classes,
                ..Setup::default()
            };
        }
        let mut summaries = self.summaries.lock().unwrap();
        let known = summaries.slots.classes();
        for class in self.classes.iter().skip(known) {
            summaries.slots.add(&class.info);
        }
        let shapes = needs.graph == Graph::Shapes;
        let assumed = || self.assume(ground, &summaries);
        Setup {
            classes,
            places: Places::new(ground, &summaries.slots),
            assumed: shapes.then(assumed).flatten(),
        }
    }

    fn assume(&self, ground: Ground<'_>, summaries: &Summaries) -> Option<Assumed> {
        let parallel = self.config.collector_threads > 1;
        Assumed::new(ground, &summaries.backbones, &summaries.slots, parallel)
    }

    /// The numbers of slots.
    pub(crate) fn slot_ids(&self) -> SlotIds {
        self.summaries.lock().unwrap().slots.clone()
    }

    /// Returns what is to be assumed instead, if the recursive data structures turn out not to be
    /// those that were, and can be counted while the heap is marked.
    pub(crate) fn correct_shapes(
        &self,
        ground: Ground<'_>,
        assumed: Option<&Assumed>,
        marking: &Marking<'_>,
    ) -> Option<Setup> {
        let (assumed, summary) = (assumed?, marking.counts.summary.as_ref()?);
        let summaries = &mut *self.summaries.lock().unwrap();
        let slots = &summaries.slots;
        let classes: Vec<ClassInfo> = self.classes.iter().map(|it| it.info.clone()).collect();
        let now = Backbones::find(summary, &classes, slots);
        let gave_up = marking.counts.shapings.iter().any(Shaping::gave_up);
        if !gave_up && assumed.backbones.cover(&now, summary, slots) {
            return None;
        }
        summaries.backbones.learn(&now, summary, &classes, slots);
        Some(Setup {
            classes: self.classes.count(),
            places: Places::new(ground, &summaries.slots),
            assumed: Some(self.assume(ground, summaries)?),
        })
    }

    /// Measures all backbones, from what was counted if that agrees with the summary. What is to be
    /// assumed the next time changes with it.
    pub(crate) fn measure_shapes(
        &self,
        summary: &Summary,
        slots: &SlotIds,
        counted: Option<(&Assumed, Vec<Shaping<'_>>)>,
        recounted: bool,
    ) -> Measured {
        let mut learned = std::mem::take(&mut self.summaries.lock().unwrap().backbones);
        let measured = self.with_marked(|view| {
            let classes = view.classes();
            let now = Backbones::find(summary, classes, slots);
            let counted = counted.filter(|(assumed, workers)| {
                let gave_up = workers.iter().any(Shaping::gave_up);
                !gave_up && assumed.backbones.cover(&now, summary, slots)
            });
            let recounted = recounted || counted.is_none();
            let (degrees, sums) = match counted {
                Some((assumed, workers)) => Shaping::merge(workers, assumed, &now),
                None => {
                    learned.learn(&now, summary, classes, slots);
                    (degrees(view, &now), sums(view, &now))
                }
            };
            let mut measures = shape::measure(summary, classes, slots, &now, &degrees, Some(&sums));
            shape::walk(view, &now, slots, &mut measures, |class| {
                let mut objects = Vec::new();
                view.for_each_live(|it| {
                    if view.class_of(it) == class {
                        objects.push(it);
                    }
                });
                objects
            });
            Measured {
                backbones: now,
                measures,
                recounted,
            }
        });
        self.summaries.lock().unwrap().backbones = learned;
        measured
    }

    /// Keeps the summary of a collection, if it made one, until the next.
    pub(crate) fn keep_summary(&self, live: &Live) {
        let Some(summary) = &live.summary else {
            return;
        };
        // Where each class is allocated next is worth knowing.
        for shared in self.mutators.lock().unwrap().iter() {
            shared.forget_classes();
        }
        self.summaries.lock().unwrap().current = Some(Current {
            collection: live.collection,
            allocated_bytes: live.allocated_bytes,
            summary: summary.clone(),
        });
    }
}

impl Heap {
    /// The last summary that a full collection has made: because of
    /// [`HeapBuilder::summaries`](crate::HeapBuilder::summaries), or because an observer wanted
    /// it. None if there was none yet.
    pub fn summary(&self) -> Option<HeapSummary> {
        let inner = self.inner();
        let summaries = inner.summaries.lock().unwrap();
        let current = summaries.current.as_ref()?;
        let classes = inner.classes.iter().take(summaries.slots.classes());
        Some(HeapSummary {
            collection: current.collection,
            allocated_bytes: current.allocated_bytes,
            summary: current.summary.clone(),
            classes: classes.map(|class| class.info.clone()).collect(),
            slots: summaries.slots.clone(),
        })
    }
}
