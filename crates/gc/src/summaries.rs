//! Summaries of the heap, made while a full collection marks, and who is told of them.
//!
//! Before it marks, a full collection asks the [`Observer`]s what they want to know this time.
//! If anybody wants a summary, it is counted while the roots are marked (`raw/summing.rs`):
//! exactly the live objects and their edges; what only a finalizer keeps is not alive. When
//! all is marked, and before anything is freed, the observers look at it, and at the
//! stopped heap, if they want to show objects. What they find is told as what assertions find is.
//!
//! A collection that counts does not use what inquiries have marked, for that was marked
//! without counting.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

#[cfg(feature = "export")]
use heaphound_analysis::export::Picture;
use heaphound_analysis::shape::{Backbones, Measure};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::Summary;
use heaphound_heap::ClassInfo;
use heaphound_heap::finding::{Finding, Fingerprint};
use heaphound_heap::view::HeapView;

use crate::assertions::Reaction;
use crate::heap::{Heap, HeapInner};
use crate::inquiry::{Found, Registration, panicked};
use crate::raw::StoppedHeap;
use crate::raw::marking::mark::Ground;
use crate::raw::marking::shape_counter::Assumed;
use crate::raw::marking::summary_counter::Summed;
use crate::shapes::{Shaped, measure};

/// Somebody who looks at the summaries of full collections.
pub trait Observer: Send {
    /// What is to be counted at the full collection that begins now. Asked once for each.
    fn wants(&mut self) -> Wants;

    /// Looks at what was counted; answers what is to be told. Called if something was wanted.
    /// The program stands still meanwhile, and what is dead has not been freed yet.
    fn observe(&mut self, heap: &StoppedHeap<'_>, seen: &Observed<'_>) -> Vec<Finding>;
}

/// What an observer wants to know of a full collection. Each includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Wants {
    /// Nothing this time.
    #[default]
    Nothing,
    /// Classes and the edges between them.
    Summary,
    /// The recursive data structures, too, with the degrees of their objects.
    Shapes,
}

/// What a full collection has counted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Observed<'o> {
    /// The collection's number, over both kinds.
    pub collection: u64,
    /// Bytes allocated since the heap was built.
    pub allocated_bytes: u64,
    /// Classes and the edges between them.
    pub summary: &'o Summary,
    /// The numbers of slots. They stay as they are for as long as the heap exists.
    pub slots: &'o SlotIds,
    /// The recursive data structures, if anybody wanted them.
    pub shapes: Option<Shapes<'o>>,
}

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
    observers: Vec<Registered>,
    /// Whether a collection talks to the observers: it has them meanwhile, for they may register
    /// others, let go of some, or ask for the last summary.
    talking: bool,
    /// The numbers of those that were let go meanwhile.
    gone: Vec<u64>,
    /// Full collections since the heap was built.
    seen: u64,
    /// What the collection that runs has to count.
    due: Wants,
    slots: SlotIds,
    /// What the next collection that looks at shapes is to assume.
    backbones: Backbones,
    current: Option<Current>,
}

/// What a collection is to count.
pub(crate) struct Plan {
    wants: Wants,
    pub(crate) slots: SlotIds,
    /// For shapes, if they can be counted while the heap is marked.
    pub(crate) assumed: Option<Assumed>,
    /// Whether another was tried before it, and had assumed what was not so.
    corrected: bool,
}

struct Registered {
    number: u64,
    observer: Box<dyn Observer>,
    reaction: Option<Reaction>,
    wants: Wants,
    /// What it has found before.
    told: HashSet<Fingerprint>,
}

/// The last summary.
struct Current {
    collection: u64,
    allocated_bytes: u64,
    summary: Arc<Summary>,
}

impl Summaries {
    /// What the collection that runs has to count.
    pub(crate) fn due(&self) -> Wants {
        self.due
    }

    /// Takes out an observer; what is answered is to be dropped when nothing is locked.
    pub(crate) fn remove(&mut self, number: u64) -> Option<Box<dyn Observer>> {
        let place = self.observers.iter().position(|it| it.number == number);
        let gone = place.map(|place| self.observers.remove(place).observer);
        if gone.is_none() && self.talking {
            self.gone.push(number);
        }
        gone
    }
}

impl Heap {
    /// Tells an observer of full collections from now on, as often as it wants. A finding that
    /// is new is logged, unless there is another reaction; one that stands is counted
    /// ([`Heap::findings`]).
    pub fn observe(&self, observer: Box<dyn Observer>, reaction: Option<Reaction>) -> Registration {
        let registration = Registration::next(self.shared());
        let mut summaries = self.inner().summaries.lock().unwrap();
        summaries.observers.push(Registered {
            number: registration.number(),
            observer,
            reaction,
            wants: Wants::Nothing,
            told: HashSet::new(),
        });
        registration
    }

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

impl HeapInner {
    /// Called when a full collection begins. Answers what is to be counted, if anything is.
    pub(crate) fn prepare_summary(
        &self,
        ground: Ground<'_>,
        found: &mut Vec<Found>,
    ) -> Option<Plan> {
        let mut due = Wants::Nothing;
        self.with_observers(|observers| {
            for registered in observers {
                let observer = &mut registered.observer;
                let asked = catch_unwind(AssertUnwindSafe(|| observer.wants()));
                registered.wants = asked.unwrap_or_else(|panic| {
                    std::mem::forget(panic);
                    let reaction = registered.reaction.clone().unwrap_or_default();
                    let finding = panicked();
                    found.push(Found {
                        is_new: registered.told.insert(finding.fingerprint()),
                        reaction,
                        finding,
                    });
                    Wants::Nothing
                });
                due = due.max(registered.wants);
            }
        });
        let mut summaries = self.summaries.lock().unwrap();
        summaries.seen += 1;
        let every = self.config.summaries;
        if every > 0 && summaries.seen.is_multiple_of(every.into()) {
            due = due.max(Wants::Summary);
        }
        summaries.due = due;
        if due == Wants::Nothing {
            return None;
        }
        let known = summaries.slots.classes();
        for class in self.classes.iter().skip(known) {
            summaries.slots.add(&class.info);
        }
        let slots = summaries.slots.clone();
        let parallel = self.config.collector_threads > 1;
        let shapes = due == Wants::Shapes;
        let assumed = || Assumed::new(ground, &summaries.backbones, &slots, parallel);
        Some(Plan {
            wants: due,
            assumed: shapes.then(assumed).flatten(),
            slots,
            corrected: false,
        })
    }

    /// What is to be counted instead, if the recursive data structures turn out not to be those that
    /// were assumed, and can be counted while the heap is marked.
    pub(crate) fn correct_summary(
        &self,
        ground: Ground<'_>,
        plan: &Plan,
        summary: &Summary,
    ) -> Option<Plan> {
        let assumed = plan.assumed.as_ref()?;
        let slots = &plan.slots;
        let now = self.inspect_marked(|view| Backbones::find(summary, view.classes(), slots));
        if assumed.backbones.cover(&now, summary, slots) {
            return None;
        }
        let mut summaries = self.summaries.lock().unwrap();
        summaries.backbones.learn(&now, summary, slots);
        let parallel = self.config.collector_threads > 1;
        Some(Plan {
            wants: plan.wants,
            assumed: Some(Assumed::new(ground, &summaries.backbones, slots, parallel)?),
            slots: slots.clone(),
            corrected: true,
        })
    }

    /// Keeps a summary and tells the observers. Called by a full collection, when all that
    /// lives is marked, with nothing locked that an observer may ask for.
    pub(crate) fn observe_summary(
        &self,
        plan: &Plan,
        summed: Summed<'_>,
        allocated_bytes: u64,
        found: &mut Vec<Found>,
    ) {
        let collection = self.collections();
        let mut assumed = {
            let mut summaries = self.summaries.lock().unwrap();
            summaries.due = Wants::Nothing;
            std::mem::take(&mut summaries.backbones)
        };
        let summary = Arc::new(summed.summary);
        let slots = &plan.slots;
        let workers = summed.shapings;
        let shaped = plan.assumed.as_ref();
        let shaped = shaped.map(|assumed| Shaped { assumed, workers });
        self.inspect_marked(|view| {
            let wanted = plan.wants == Wants::Shapes;
            let shapes = wanted.then(|| measure(view, &summary, slots, shaped, &mut assumed));
            let seen = Observed {
                collection,
                allocated_bytes,
                summary: &summary,
                slots,
                shapes: shapes.as_ref().map(|it| Shapes {
                    backbones: &it.backbones,
                    measures: &it.measures,
                    recounted: it.recounted || plan.corrected,
                }),
            };
            self.with_observers(|observers| {
                for registered in observers {
                    if registered.wants == Wants::Nothing {
                        continue;
                    }
                    let observer = &mut registered.observer;
                    // An observer that panics must not take the heap with it, nor must what it
                    // panics with when that is dropped.
                    let asked = catch_unwind(AssertUnwindSafe(|| observer.observe(view, &seen)));
                    let findings = asked.unwrap_or_else(|panic| {
                        std::mem::forget(panic);
                        vec![panicked()]
                    });
                    let reaction = registered.reaction.clone().unwrap_or_default();
                    found.extend(findings.into_iter().map(|finding| Found {
                        is_new: registered.told.insert(finding.fingerprint()),
                        reaction: reaction.clone(),
                        finding,
                    }));
                }
            });
        });
        // Where each class is allocated next is worth knowing.
        for shared in self.mutators.lock().unwrap().iter() {
            shared.forget_classes();
        }
        let mut summaries = self.summaries.lock().unwrap();
        summaries.backbones = assumed;
        summaries.current = Some(Current {
            collection,
            allocated_bytes,
            summary,
        });
    }

    /// Talks to the observers with nothing locked.
    fn with_observers(&self, talk: impl FnOnce(&mut Vec<Registered>)) {
        let mut all = {
            let mut summaries = self.summaries.lock().unwrap();
            summaries.talking = true;
            std::mem::take(&mut summaries.observers)
        };
        talk(&mut all);
        let mut summaries = self.summaries.lock().unwrap();
        summaries.talking = false;
        let gone = std::mem::take(&mut summaries.gone);
        let (gone, mut all): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|it| gone.contains(&it.number));
        all.append(&mut summaries.observers);
        summaries.observers = all;
        drop(summaries);
        for observer in gone {
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(observer)));
            dropped.unwrap_or_else(std::mem::forget);
        }
    }
}
