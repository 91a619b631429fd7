//! Questions that are asked of the heap at every full collection.
//!
//! They are asked before it is marked, of a view that is part of the collection: what they trace
//! need not be marked again. What they find is told as what assertions find is.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;

use heaphound_heap::finding::{Finding, Fingerprint, Severity};

use crate::assertions::Reaction;
use crate::heap::{Heap, HeapInner};
use crate::raw::StoppedHeap;

/// A question that is asked at every full collection.
pub trait Inquiry: Send {
    /// Looks at the heap; answers what is to be told. The program stands still meanwhile.
    fn ask(&mut self, heap: &StoppedHeap<'_>, threads: usize) -> Vec<Finding>;
}

/// The questions of a heap.
#[derive(Default)]
pub(crate) struct Inquiries {
    last: u64,
    all: Vec<Registered>,
    /// Whether a collection asks: it has them meanwhile, for they may register others, or let
    /// go of some.
    asking: bool,
    /// The numbers of those that were let go meanwhile.
    gone: Vec<u64>,
}

struct Registered {
    number: u64,
    inquiry: Box<dyn Inquiry>,
    reaction: Option<Reaction>,
    /// What it has been told of.
    told: HashSet<Fingerprint>,
}

/// What a question has found.
pub(crate) struct Found {
    pub(crate) finding: Finding,
    pub(crate) reaction: Reaction,
    /// Whether it has not found it before. Another question may have: two that ask the same of
    /// different objects find the same, and whoever asks wants to be told.
    pub(crate) is_new: bool,
}

/// A question that is being asked, or an observer that is being told, until this is dropped.
#[must_use = "dropped, it is no longer asked"]
pub struct Registration {
    heap: Weak<HeapInner>,
    number: u64,
}

impl Registration {
    /// Another one, for somebody who asks or observes.
    pub(crate) fn next(heap: &std::sync::Arc<HeapInner>) -> Self {
        let mut inquiries = heap.inquiries.lock().unwrap();
        inquiries.last += 1;
        Self {
            heap: std::sync::Arc::downgrade(heap),
            number: inquiries.last,
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Lets it be asked for as long as the heap exists.
    pub fn keep(mut self) {
        self.heap = Weak::new();
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(heap) = self.heap.upgrade() {
            let mut inquiries = heap.inquiries.lock().unwrap();
            let place = inquiries.all.iter().position(|it| it.number == self.number);
            let gone = place.map(|place| inquiries.all.remove(place));
            if gone.is_none() && inquiries.asking {
                inquiries.gone.push(self.number);
            }
            // What it owns is dropped with nothing locked.
            drop(inquiries);
            drop(gone);
            let observer = heap.summaries.lock().unwrap().remove(self.number);
            drop(observer);
        }
    }
}

impl Heap {
    /// Asks a question at every full collection from now on. A finding that is new to it is logged,
    /// unless there is another reaction; one that stands is counted
    /// ([`Heap::findings`]).
    pub fn inquire(&self, inquiry: Box<dyn Inquiry>, reaction: Option<Reaction>) -> Registration {
        let registration = Registration::next(self.shared());
        let mut inquiries = self.inner().inquiries.lock().unwrap();
        inquiries.all.push(Registered {
            number: registration.number,
            inquiry,
            reaction,
            told: HashSet::new(),
        });
        registration
    }
}

impl HeapInner {
    /// Whether there is anything to ask.
    pub(crate) fn has_inquiries(&self) -> bool {
        !self.inquiries.lock().unwrap().all.is_empty()
    }

    /// Asks all questions and adds what they find. Called by a full collection, before it marks.
    pub(crate) fn ask_inquiries(&self, view: &StoppedHeap<'_>, found: &mut Vec<Found>) {
        let threads = self.config.collector_threads;
        let mut all = {
            let mut inquiries = self.inquiries.lock().unwrap();
            inquiries.asking = true;
            std::mem::take(&mut inquiries.all)
        };
        for registered in &mut all {
            let inquiry = &mut registered.inquiry;
            // A question that panics must not take the heap with it, nor must what it panics
            // with when that is dropped.
            let asked = catch_unwind(AssertUnwindSafe(|| inquiry.ask(view, threads)));
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
        let mut inquiries = self.inquiries.lock().unwrap();
        inquiries.asking = false;
        let gone = std::mem::take(&mut inquiries.gone);
        let (gone, mut all): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|it| gone.contains(&it.number));
        all.append(&mut inquiries.all);
        inquiries.all = all;
        drop(inquiries);
        for inquiry in gone {
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(inquiry)));
            dropped.unwrap_or_else(std::mem::forget);
        }
    }
}

pub(crate) fn panicked() -> Finding {
    Finding::new(
        "inquiry-panicked",
        Severity::Error,
        "a question that was to be asked of the heap panicked",
    )
}

impl crate::raw::Mutator<'_> {
    /// How many threads collect.
    pub fn collector_threads(&self) -> usize {
        self.heap.config.collector_threads
    }

    /// The classes that the heap has by now: those of which something was allocated or said.
    pub fn classes(&self) -> Vec<heaphound_heap::ClassInfo> {
        let classes = self.heap.classes.iter();
        classes.map(|class| class.info.clone()).collect()
    }

    /// Makes a class known to the heap before anything of it is allocated, so that rules can
    /// speak of it.
    pub fn know_class<T: crate::raw::Managed + ?Sized>(&self) {
        self.known_class(T::DESCRIPTOR);
    }

    /// Whether this share of what may be allocated until the next full collection has been:
    /// 0 of it always has.
    pub fn is_collection_due(&self, share: f64) -> bool {
        self.heap.space.is_budget_used(share)
    }
}
