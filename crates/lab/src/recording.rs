//! Records a program's summaries, so that Cork can examine the same run with several options.
//!
//! A [`Recording`] has the summary of each full collection. [`Recording::examine`] returns what
//! Cork reports at each of them.

use std::sync::{Arc, Mutex};

use heaphound::analysis::cork::{Candidate, Cause, Cork, Options, SliceEdge};
use heaphound::analysis::slot::SlotIds;
use heaphound::analysis::summary::Summary;
use heaphound::finding::{Finding, Path};
use heaphound::view::HeapView;
use heaphound::{
    Check, ClassId, ClassInfo, Collector, MarkedHeap, Mutator, Reaction, check::Counted,
    check::Found, check::Needs,
};

use crate::programs::{Size, builder};

/// Why the lock of a recording can be taken.
const UNPOISONED: &str = "nothing panics while it holds the lock";

/// The summaries of a run.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The classes, when all were known.
    pub classes: Vec<ClassInfo>,
    /// Of each full collection: what lived, and what had been allocated until then.
    pub collections: Vec<(Summary, u64)>,
    /// What the detector reported while it ran, with objects.
    pub findings: Vec<Finding>,
    /// The causes that stood at the end.
    pub causes: Vec<Cause>,
    /// Full collections at which it counted containers.
    pub censuses: u64,
}

/// What Cork reported about a run.
#[derive(Clone, Debug, Default)]
pub struct Examined {
    /// What it reported, full collection by full collection.
    pub reports: Vec<Vec<Growth>>,
}

/// A class that was reported.
#[derive(Clone, Debug)]
pub struct Growth {
    /// The class.
    pub class: String,
    /// The edges of the path to what holds it: class, slot, class.
    pub path: Vec<(String, String, String)>,
    /// The same, and those of its slice and of the holders where the path ends.
    pub edges: Vec<(String, String, String)>,
}

impl Recording {
    /// Runs a program on a heap of its own, and records it.
    pub fn of(collector: Collector, size: Size, run: impl FnOnce(&mut Mutator<'_>)) -> Self {
        let heap = builder(size).collector(collector).build().expect("a heap");
        let recording = Arc::new(Mutex::new(Self::default()));
        let quiet = Reaction::Call(Arc::new(|_| {}));
        let observed = heap.watch(Box::new(Recorder(recording.clone())), Some(quiet));
        let found = recording.clone();
        let keep = move |finding: &Finding| {
            let mut recording = found.lock().expect(UNPOISONED);
            recording.findings.push(finding.clone());
        };
        let growth = heaphound::Growth::new().register(&heap, Some(Reaction::Call(Arc::new(keep))));
        let mut m = heap.attach("main").expect("attached once");
        run(&mut m);
        drop(m);
        let mut recording = std::mem::take(&mut *recording.lock().expect(UNPOISONED));
        (recording.causes, recording.censuses) = (growth.causes(), growth.censuses());
        drop((observed, growth));
        recording
    }

    /// Returns what Cork reports at each collection.
    pub fn examine(&self, options: Options) -> Examined {
        let ids = SlotIds::new(&self.classes);
        let mut cork = Cork::new(options);
        let reports = self.collections.iter().map(|(summary, allocated)| {
            cork.observe(summary, &ids, *allocated);
            let found = cork.candidates(summary, &ids);
            let growth = |it| Growth::of(it, &self.classes, &ids);
            found.iter().map(growth).collect()
        });
        Examined {
            reports: reports.collect(),
        }
    }

    /// Returns whether a class grows in a cause that stood at the end.
    pub fn blames(&self, class: &str, slot: (&str, &str, &str)) -> bool {
        let name = |id: ClassId| &self.classes[id.0 as usize - 1].name;
        let mut causes = self.causes.iter();
        causes.any(|cause| {
            let mut classes = cause.classes.iter();
            classes.any(|it| name(it.0) == class) && goes_through(&cause.example, slot)
        })
    }

    /// Returns the volume of the heap at each collection.
    pub fn volumes(&self) -> impl Iterator<Item = u64> + '_ {
        self.collections.iter().map(|it| it.0.volume_bytes())
    }
}

impl Examined {
    /// Returns the first full collection, counted from 1, that reported a class.
    pub fn first(&self, class: &str) -> Option<usize> {
        let named = |report: &Vec<Growth>| report.iter().any(|it| it.class == class);
        let first = self.reports.iter().position(named);
        first.map(|at| at + 1)
    }

    /// Returns the classes that were ever reported, and in how many reports.
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

    /// Returns the classes that were named in at least a quarter of the reports, as the paper
    /// counts.
    pub fn often(&self) -> Vec<String> {
        let all = self.reports.len();
        let often = self.classes().into_iter().filter(|it| it.1 * 4 >= all);
        often.map(|it| it.0).collect()
    }

    /// Returns the last report.
    pub fn last(&self) -> &[Growth] {
        self.reports.last().map_or(&[], Vec::as_slice)
    }
}

impl Growth {
    fn of(candidate: &Candidate, classes: &[ClassInfo], ids: &SlotIds) -> Self {
        let name = |class: ClassId| classes[class.0 as usize - 1].name.clone();
        let slice = &candidate.slice;
        let named = |edge: &SliceEdge| -> Vec<(String, String, String)> {
            let slots = edge.slots.iter().map(|slot| {
                let slot = ids.name(classes, slot.slot).to_string();
                (name(edge.from), slot, name(edge.class))
            });
            slots.collect()
        };
        let edges = slice.edges.iter().chain(&slice.chain).chain(&slice.holders);
        Self {
            class: name(candidate.class),
            path: slice.chain.iter().flat_map(named).collect(),
            edges: edges.flat_map(named).collect(),
        }
    }

    /// Returns whether the slice goes through a slot.
    pub fn goes_through(&self, slot: (&str, &str, &str)) -> bool {
        has(&self.edges, slot)
    }

    /// Returns whether the reported path does.
    pub fn leads_through(&self, slot: (&str, &str, &str)) -> bool {
        has(&self.path, slot)
    }
}

/// Returns whether a path goes through a slot.
pub fn goes_through(path: &Path, (from, slot, to): (&str, &str, &str)) -> bool {
    let before = path.hops.iter().map(|hop| &hop.to);
    let mut hops = std::iter::once(&path.first).chain(before).zip(&path.hops);
    hops.any(|(it, hop)| it.class == from && hop.slot == slot && hop.to.class == to)
}

fn has(edges: &[(String, String, String)], (class, slot, to): (&str, &str, &str)) -> bool {
    let mut edges = edges.iter();
    edges.any(|it| (it.0.as_str(), it.1.as_str(), it.2.as_str()) == (class, slot, to))
}

/// Keeps the summary of every full collection.
struct Recorder(Arc<Mutex<Recording>>);

impl Check for Recorder {
    fn needs(&mut self) -> Needs {
        Needs::summary()
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, counted: &Counted<'_>, _: &mut Found<'_>) {
        let Some(summary) = counted.summary else {
            return;
        };
        let mut recording = self.0.lock().expect(UNPOISONED);
        recording.classes = heap.classes().to_vec();
        let collection = (summary.clone(), counted.allocated_bytes);
        recording.collections.push(collection);
    }
}
