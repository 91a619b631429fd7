//! Watching a program for growth: what Cork says at each of its full collections.

use std::sync::{Arc, Mutex};

use heaphound::finding::Finding;
use heaphound::view::HeapView;
use heaphound::{Collector, Heap, Inquiry, Mutator, Reaction, StoppedHeap};
use heaphound_analysis::cork::{self, Candidate, Cork, Options};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::summarize;

use crate::programs::{Size, builder};

/// What Cork said of a run.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// What it reported, full collection by full collection.
    pub reports: Vec<Vec<Growth>>,
    /// The volume of the heap at each.
    pub volumes: Vec<u64>,
}

/// A class that was reported.
#[derive(Clone, Debug)]
pub struct Growth {
    /// The class.
    pub class: String,
    /// The edges of its slice and of the way to what holds it: class, slot, class.
    pub edges: Vec<(String, String, String)>,
    /// All of it.
    pub finding: Finding,
}

impl Watched {
    /// The first full collection, counted from 1, that reported anything.
    pub fn first(&self) -> Option<usize> {
        let first = self.reports.iter().position(|report| !report.is_empty());
        first.map(|at| at + 1)
    }

    /// The classes that were ever reported, and in how many reports.
    pub fn classes(&self) -> Vec<(String, usize)> {
        let mut all: Vec<(String, usize)> = Vec::new();
        for growth in self.reports.iter().flatten() {
            match all.iter_mut().find(|it| it.0 == growth.class) {
                Some(it) => it.1 += 1,
                None => all.push((growth.class.clone(), 1)),
            }
        }
        all
    }

    /// The classes that were named in at least a quarter of the reports, as the paper counts.
    pub fn often(&self) -> Vec<String> {
        let all = self.reports.len();
        let often = self.classes().into_iter().filter(|it| it.1 * 4 >= all);
        often.map(|it| it.0).collect()
    }

    /// What was said last.
    pub fn last(&self) -> &[Growth] {
        self.reports.last().map_or(&[], Vec::as_slice)
    }
}

impl Growth {
    fn of(candidate: &Candidate, heap: &StoppedHeap<'_>, ids: &SlotIds, collection: u64) -> Self {
        let classes = heap.classes();
        let name = |class: heaphound::ClassId| heap.class(class).name.clone();
        let slice = &candidate.slice;
        let edges = slice.edges.iter().chain(&slice.chain);
        let edges = edges.flat_map(|edge| {
            edge.slots.iter().map(|slot| {
                let slot = ids.name(classes, slot.slot).to_string();
                (name(edge.from), slot, name(edge.class))
            })
        });
        Self {
            class: name(candidate.class),
            edges: edges.collect(),
            finding: cork::finding(candidate, classes, ids, Some(collection)),
        }
    }

    /// Whether the slice goes through a slot.
    pub fn goes_through(&self, (class, slot, to): (&str, &str, &str)) -> bool {
        let mut edges = self.edges.iter();
        edges.any(|it| (it.0.as_str(), it.1.as_str(), it.2.as_str()) == (class, slot, to))
    }
}

/// Asks at every full collection.
struct Watch {
    cork: Cork,
    told: Arc<Mutex<Watched>>,
}

impl Inquiry for Watch {
    fn ask(&mut self, heap: &StoppedHeap<'_>, _: usize) -> Vec<Finding> {
        let summary = summarize(heap);
        let ids = SlotIds::new(heap.classes());
        // What was allocated is not told here; only rates need it.
        self.cork.observe(&summary, &ids, 0);
        let candidates = self.cork.candidates(&summary, &ids);
        let number = self.cork.collections();
        let report = candidates.iter();
        let report = report.map(|it| Growth::of(it, heap, &ids, number)).collect();
        let mut told = self.told.lock().expect("nobody panics with it");
        told.reports.push(report);
        told.volumes.push(summary.volume_bytes());
        Vec::new()
    }
}

/// Runs a program on a heap of its own, and watches it.
pub fn watch(
    collector: Collector,
    size: Size,
    options: Options,
    run: impl FnOnce(&mut Mutator<'_>),
) -> Watched {
    let heap = builder(size).collector(collector).build().expect("a heap");
    let told = watch_heap(&heap, options);
    let mut m = heap.attach("main").expect("attached once");
    run(&mut m);
    drop(m);
    let told = told.lock().expect("nobody panics with it");
    told.clone()
}

/// Watches a heap for as long as it exists.
pub fn watch_heap(heap: &Heap, options: Options) -> Arc<Mutex<Watched>> {
    let told = Arc::new(Mutex::new(Watched::default()));
    let watch = Watch {
        cork: Cork::new(options),
        told: told.clone(),
    };
    let quiet = Reaction::Call(Arc::new(|_| {}));
    heap.inquire(Box::new(watch), Some(quiet)).keep();
    told
}
