//! The programs of the papers, on our heap, each with its bug and without.
//!
//! What a program does depends on its options alone: random choices come from a generator
//! of its own, and assertions change nothing but what is reported.
//!
//! [`CASES`] pairs each bug with what is to be found. [`growing`] programs grow and should not;
//! [`steady`] ones do not, even if they seem to for a while.
//! [`unseen`] has more of both. [`leaking`] programs leak until they die of it.

pub mod bed;
mod btree;
pub mod db;
pub mod growing;
pub mod jbb;
pub mod leaking;
pub mod lives;
pub mod lusearch;
mod queue;
pub mod skeletal;
pub mod steady;
pub mod swapleak;
mod table;
pub mod unseen;

use std::sync::Arc;

use heaphound::finding::{Finding, Path};
use heaphound::{AssertionKind, Collector, Heap, HeapBuilder, Mutator, Reaction};

/// What a run did; the same with assertions and without.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Transactions, searches, swaps.
    pub operations: u64,
    /// Of what they read.
    pub checksum: u64,
}

impl Outcome {
    fn note(&mut self, value: u64) {
        self.operations += 1;
        self.checksum = self.checksum.rotate_left(5) ^ value;
    }
}

/// How large a program's heap is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    /// For a test: some thousand objects.
    Small,
    /// At least 200,000 live objects, and at least 12 full collections.
    Large,
}

/// A bug, and the findings of the assertions about it.
pub struct Case {
    /// What it is called in reports.
    pub name: &'static str,
    /// Whether it is one of the five of the paper.
    pub in_paper: bool,
    /// Runs the program, with the bug or repaired.
    pub run: fn(&mut Mutator<'_>, Size, bool) -> Outcome,
    /// The findings: kind, and path as [`outline`] gives it.
    pub findings: &'static [(&'static str, &'static str)],
}

/// The bugs.
pub const CASES: &[Case] = &[
    Case {
        name: "jbb: a customer's last order is kept when it is destroyed",
        in_paper: true,
        run: |m, size, bug| jbb::run(m, &last_order(size, bug, jbb::Assertions::DESTROYED)),
        findings: &[("asserted-dead", LAST_ORDER)],
    },
    Case {
        name: "jbb: a customer's last order is kept when it has left the order table",
        // The same bug, found in the paper's other way.
        in_paper: false,
        run: |m, size, bug| jbb::run(m, &last_order(size, bug, jbb::Assertions::MEASURED)),
        findings: &[("not-owned", LAST_ORDER)],
    },
    Case {
        name: "jbb: a local holds the company of the run before",
        in_paper: true,
        run: |m, size, bug| {
            jbb::run(
                m,
                &jbb::Options::of(size, bug.then_some(jbb::Bug::OldCompany)),
            )
        },
        findings: &[
            ("asserted-dead", "thread:main → Company"),
            ("too-many-instances", "thread:main → Company"),
        ],
    },
    Case {
        name: "jbb: delivered orders stay in the order table",
        in_paper: true,
        run: |m, size, bug| {
            jbb::run(
                m,
                &jbb::Options::of(size, bug.then_some(jbb::Bug::OrderTable)),
            )
        },
        findings: &[(
            "asserted-dead",
            "thread:main → Company .warehouses → Warehouse[] [] → Warehouse .districts → District[] [] → \
             District .order_table → LongBTree .root → LongBTreeNode .children → LongBTreeNode[] [] → \
             LongBTreeNode .values → Object[] [] → Order",
        )],
    },
    Case {
        name: "lusearch: every thread has a searcher of its own",
        in_paper: true,
        run: |m, size, bug| lusearch::run(m, &lusearch::Options::of(size, bug)),
        findings: &[(
            "too-many-instances",
            "static:threads → QueryThread[] [] → QueryThread .searcher → IndexSearcher",
        )],
    },
    Case {
        name: "SwapLeak: a swapped Rep refers to the object that it was made in",
        in_paper: true,
        run: |m, size, bug| swapleak::run(m, &swapleak::Options::of(size, bug)),
        findings: &[(
            "asserted-dead",
            "static:array → SArray .objects → SObject[] [] → SObject .rep → SObject$Rep .outer → SObject",
        )],
    },
    Case {
        name: "db: a deleted entry stays among the recent ones",
        in_paper: false,
        run: |m, size, bug| db::run(m, &db::Options::of(size, bug)),
        findings: &[
            (
                "asserted-dead",
                "static:recent → RecentEntries .entries → Entry[] [] → Entry",
            ),
            (
                "not-owned",
                "static:recent → RecentEntries .entries → Entry[] [] → Entry",
            ),
        ],
    },
];

const LAST_ORDER: &str = "thread:main → Company .warehouses → Warehouse[] [] → Warehouse .districts → \
     District[] [] → District .customers → Customer[] [] → Customer .last_order → Order";

fn last_order(size: Size, bug: bool, assertions: jbb::Assertions) -> jbb::Options {
    jbb::Options {
        assertions,
        ..jbb::Options::of(size, bug.then_some(jbb::Bug::LastOrder))
    }
}

impl Case {
    /// Runs it on a heap of its own. Returns what was found.
    pub fn find(&self, collector: Collector, size: Size, bug: bool) -> Vec<Finding> {
        let heap = builder(size).collector(collector).build().expect("a heap");
        keep_quiet(&heap);
        let mut m = heap.attach("main").expect("attached once");
        (self.run)(&mut m, size, bug);
        m.collect();
        heap.findings().into_iter().map(|it| it.finding).collect()
    }

    /// Returns whether these are the findings that the bug must give, and no others. A
    /// collection in the middle of a transaction may start nearer, from a local.
    pub fn is_found_by(&self, findings: &[Finding]) -> bool {
        let found: Vec<(&str, String)> = findings
            .iter()
            .filter_map(|it| Some((it.kind.as_str(), outline(&it.evidence.first()?.path))))
            .collect();
        let starts_nearer = |path: &str, expected: &str| {
            let way = path.split_once(" → ").map(|(_, way)| way);
            way.is_some_and(|way| expected.ends_with(way))
        };
        let is_expected = |(kind, path): &(&str, String)| {
            let mut expected = self.findings.iter().filter(|it| it.0 == *kind);
            expected.any(|it| starts_nearer(path, it.1))
        };
        let is_found = |&(kind, path): &(&str, &str)| found.contains(&(kind, path.into()));
        found.len() == findings.len()
            && found.iter().all(is_expected)
            && self.findings.iter().all(is_found)
    }
}

/// Keeps findings out of the log; [`Heap::findings`] has them all the same.
pub fn keep_quiet(heap: &Heap) {
    use AssertionKind::*;
    for kind in [Dead, Region, Instances, Volume, Unshared, OwnedBy] {
        heap.set_reaction(kind, Reaction::Call(Arc::new(|_| {})));
    }
}

/// Returns a heap that is collected whenever it has doubled.
pub fn builder(size: Size) -> HeapBuilder {
    let least = match size {
        Size::Small => 256 << 10,
        Size::Large => 4 << 20,
    };
    Heap::builder()
        .collector_threads(1)
        .max_bytes(1 << 30)
        .initial_bytes(least)
        .nursery_bytes(least)
        .growth(2.0)
}

/// Returns a path by classes and slots: without objects' numbers, indices, and what repeats.
pub fn outline(path: &Path) -> String {
    let mut steps: Vec<String> = Vec::new();
    for hop in &path.hops {
        let step = match hop.index {
            Some(_) => format!(" [] → {}", hop.to.class),
            None => format!(" .{} → {}", hop.slot, hop.to.class),
        };
        steps.push(step);
        for period in 1..=steps.len() / 2 {
            let (rest, last) = steps.split_at(steps.len() - period);
            if rest.ends_with(last) {
                steps.truncate(steps.len() - period);
                break;
            }
        }
    }
    let root = path.root.as_ref().map_or(String::new(), |root| {
        let root = root.to_string();
        let name = root.split('[').next().unwrap_or_default();
        format!("{name} → ")
    });
    format!("{root}{}{}", path.first.class, steps.concat())
}

/// Numbers that look random: xorshift.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below a limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }

    /// Returns a number below a limit, small ones more often.
    pub(crate) fn skewed(&mut self, limit: u64) -> u64 {
        let limit = 1 + self.below(limit);
        self.below(limit)
    }

    /// Returns an index below a length.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use heaphound::PlainData;
    use heaphound::root::RootKind;
    use heaphound::view::HeapView;

    use super::*;

    #[test]
    fn each_bug_is_found_with_its_path_and_the_repaired_program_is_silent() {
        for collector in [Collector::MarkSweep, Collector::Generational] {
            for case in CASES {
                let findings = case.find(collector, Size::Small, true);
                let outlines: Vec<_> = findings
                    .iter()
                    .map(|it| (&it.kind, it.evidence.first().map(|it| outline(&it.path))))
                    .collect();
                assert!(case.is_found_by(&findings), "{}: {outlines:#?}", case.name);
                let findings = case.find(collector, Size::Small, false);
                assert!(findings.is_empty(), "{}: {findings:#?}", case.name);
            }
        }
    }

    #[test]
    fn the_company_of_the_run_before_is_drag() {
        let findings = CASES[2].find(Collector::MarkSweep, Size::Small, true);
        let dead = findings
            .iter()
            .find(|it| it.kind == "asserted-dead")
            .unwrap();
        // A local holds it, and nothing else is shown.
        let path = &dead.evidence[0].path;
        let root = path.root.as_ref().map(|it| it.kind);
        assert_eq!(
            (root, path.length()),
            (Some(RootKind::ThreadStack), 0),
            "{path:?}"
        );
    }

    #[test]
    fn a_swapped_rep_leads_straight_to_the_object_that_it_was_made_in() {
        let case = CASES.iter().find(|it| it.name.starts_with("SwapLeak"));
        let findings = case.unwrap().find(Collector::MarkSweep, Size::Small, true);
        assert_eq!(findings[0].evidence[0].path.hops.len(), 4);
    }

    #[test]
    fn assertions_do_not_change_what_a_program_does() {
        let run = |assertions| {
            let heap = builder(Size::Small).build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let jbb = jbb::Options {
                assertions: match assertions {
                    true => jbb::Assertions::ALL,
                    false => jbb::Assertions::NONE,
                },
                ..jbb::Options::of(Size::Small, None)
            };
            let db = db::Options {
                assertions,
                ..db::Options::of(Size::Small, false)
            };
            let done = (jbb::run(&mut m, &jbb), db::run(&mut m, &db));
            (done, heap.findings().len())
        };
        assert_eq!(run(true), run(false));
    }

    /// Live objects at the end, classes that have instances, full collections.
    fn measure(run: impl FnOnce(&mut Mutator<'_>)) -> (usize, usize, u64) {
        let heap = builder(Size::Large).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        run(&mut m);
        let collections = heap.stats().full_collections;
        let snapshot = m.capture(PlainData::Omit);
        let classes = snapshot.objects().map(|it| snapshot.class_of(it));
        let classes: HashSet<_> = classes.collect();
        (snapshot.len(), classes.len(), collections)
    }

    #[test]
    fn large_programs_are_large_enough() {
        let sizes = [
            measure(|m| _ = jbb::run(m, &jbb::Options::of(Size::Large, None))),
            measure(|m| _ = db::run(m, &db::Options::of(Size::Large, false))),
            measure(|m| _ = lusearch::run(m, &lusearch::Options::of(Size::Large, false))),
        ];
        for (objects, classes, collections) in sizes {
            assert!(
                objects >= 200_000 && classes >= 20 && collections >= 12,
                "{sizes:?}"
            );
        }
        // The original has no more classes than these.
        let swaps = measure(|m| _ = swapleak::run(m, &swapleak::Options::of(Size::Large, false)));
        assert!(swaps.0 >= 200_000 && swaps.2 >= 12, "{swaps:?}");
        // The entries that the database owns are at least a twentieth of what lives.
        assert!(sizes[1].0 <= 20 * 15_000, "{sizes:?}");
    }
}
