//! *GC assertions*, section 3: the bugs that they find, and what checking costs.
//!
//! Collection time is the sum of the pauses of full collections. What is compared runs on
//! heaps of its own, in turn.

use std::time::{Duration, Instant};

use heaphound::{Collector, Header, Heap, Local, Managed, Mutator, Object, Slot, stats::Kind};

use crate::measure::median;
use crate::programs::{CASES, Outcome, Size, builder, db, jbb, keep_quiet, outline};
use crate::report::Report;
use crate::{Failed, Options, Progress, builds, callgrind};

/// A program whose time is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// The wholesale company.
    Jbb,
    /// The database with 15,000 owned entries.
    Db,
}

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// The pauses of full collections.
    pub gc: Duration,
    /// From the beginning to the end.
    pub total: Duration,
    /// Full collections.
    pub collections: u64,
    /// What was done.
    pub outcome: Outcome,
}

/// Runs a program once, at the size that figures are taken at.
pub fn cost(program: Program, assertions: bool) -> Cost {
    cost_at(program, Size::Large, assertions)
}

fn cost_at(program: Program, size: Size, assertions: bool) -> Cost {
    let heap = builder(size).build().expect("a heap");
    let mut m = heap.attach("main").expect("attached once");
    let begin = Instant::now();
    let outcome = match program {
        Program::Jbb => {
            let options = jbb::Options::of(size, None);
            let assertions = match assertions {
                true => jbb::Assertions::MEASURED,
                false => jbb::Assertions::NONE,
            };
            jbb::run(
                &mut m,
                &jbb::Options {
                    assertions,
                    ..options
                },
            )
        }
        Program::Db => {
            let options = db::Options::of(size, false);
            db::run(
                &mut m,
                &db::Options {
                    assertions,
                    ..options
                },
            )
        }
    };
    let total = begin.elapsed();
    assert!(heap.findings().is_empty(), "the program has no bug");
    let stats = heap.stats();
    let full = stats.history.iter().filter(|it| it.kind == Kind::Full);
    Cost {
        gc: full.map(|it| it.pause).sum(),
        total,
        collections: stats.full_collections,
        outcome,
    }
}

/// Ratios of times with something to times without it, round by round.
#[derive(Default)]
struct Ratios(Vec<f64>);

impl Ratios {
    fn note(&mut self, with: Duration, without: Duration) {
        self.0.push(with.as_secs_f64() / without.as_secs_f64());
    }

    fn percent(&self) -> f64 {
        (median(self.0.clone()) - 1.0) * 100.0
    }

    /// Returns where the middle half of them lies.
    fn spread(&self) -> String {
        let mut ratios = self.0.clone();
        ratios.sort_by(f64::total_cmp);
        let at = |quarter: usize| (ratios[ratios.len() * quarter / 4] - 1.0) * 100.0;
        format!("{:.1} to {:.1}", at(1), at(3))
    }
}

/// Does two things in turn, and once before to warm up. Neither is done twice in a row, because
/// the second time would find its memory in the cache.
fn in_turn<T>(
    rounds: usize,
    mut without: impl FnMut() -> T,
    mut with: impl FnMut() -> T,
    mut note: impl FnMut(T, T),
) {
    without();
    with();
    for _ in 0..rounds {
        let first = without();
        note(with(), first);
    }
}

pub(crate) fn run(options: &Options, progress: Progress<'_>) -> Result<Report, Failed> {
    let mut report = Report::new("assertions");
    let size = match options.quick {
        true => Size::Small,
        false => Size::Large,
    };
    bugs(&mut report, size, progress);
    let (rounds, runs) = match options.quick {
        true => (41, 9),
        false => (201, 25),
    };
    progress("one assertion of each kind that holds");
    let company = jbb::Options::of(Size::Large, None);
    let armed = pauses(&company, rounds, hold, expect_again);
    report.lower("assertions.armed.gc_pct", None, armed.percent(), "%");
    progress("100 violations that stand");
    let standing = pauses(&company, rounds, violate, |_| {});
    report.lower("assertions.standing.gc_pct", None, standing.percent(), "%");
    report.note(format!(
        "armed, standing: a company of {} warehouses, {rounds} rounds; half of the ratios lie between {} % and \
         between {} %",
        company.warehouses,
        armed.spread(),
        standing.spread()
    ));
    for (program, name, paper) in [
        (Program::Db, "db", (49.7, 1.0)),
        (Program::Jbb, "jbb", (15.3, 1.8)),
    ] {
        progress(&format!("{name}, with assertions and without"));
        let (mut gc, mut total, mut last) = (Ratios::default(), Ratios::default(), None);
        in_turn(
            runs,
            || cost(program, false),
            || cost(program, true),
            |with, without| {
                assert_eq!(with.outcome, without.outcome, "the same work");
                gc.note(with.gc, without.gc);
                total.note(with.total, without.total);
                last = Some((with, without));
            },
        );
        let id = |what| format!("assertions.{name}.{what}_pct");
        report.lower(&id("gc"), Some(paper.0), gc.percent(), "%");
        report.lower(&id("total"), Some(paper.1), total.percent(), "%");
        let (with, without) = last.expect("at least one run");
        report.note(format!(
            "{name}: {runs} runs of {} operations; the last one took {:.0} ms with assertions, {} full collections \
             {:.1} ms of them; {:.0} ms without, {} full collections {:.1} ms; half of the ratios lie between {} % \
             (collections) and {} % (all)",
            with.outcome.operations,
            with.total.as_secs_f64() * 1e3,
            with.collections,
            with.gc.as_secs_f64() * 1e3,
            without.total.as_secs_f64() * 1e3,
            without.collections,
            without.gc.as_secs_f64() * 1e3,
            gc.spread(),
            total.spread(),
        ));
    }
    progress("a path of depth 10 in a heap of 1 M objects");
    let million = jbb::Options {
        warehouses: 25,
        ..company
    };
    let (micros, objects) = path_micros(&million, if options.quick { 7 } else { 31 });
    report.lower("assertions.path_us", None, micros, "µs");
    report.note(format!(
        "path_us: how much longer a full collection of {objects} objects takes that reports an object at depth 10 \
         which was asserted dead; most of the heap is nearer to the roots and is searched before"
    ));
    if !options.quick {
        progress("instructions, counted by callgrind");
        instructions(&mut report);
    }
    match options.quick {
        true => {
            report.note("idle rows need a second build, and are left out when it must be quick")
        }
        false => {
            progress("the same program built without assertions");
            idle(&mut report, 15);
        }
    }
    Ok(report)
}

/// A program that asserts nothing, built with what checks assertions and without it.
fn idle(report: &mut Report, rounds: usize) {
    let builds = match builds::build("idle", "barrier") {
        Ok(builds) => builds,
        Err(why) => {
            return report.note(format!("idle rows were left out: {why}"));
        }
    };
    let seconds = |program: &std::path::Path| {
        let figures = builds::figures(program, &["jbb", "1"]).ok()?;
        let find = |name: &str| figures.iter().find(|it| it.0 == name).map(|it| it.1);
        Some((find("gc")?, find("total")?))
    };
    let (mut gc, mut total) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let (Some(without), Some(with)) = (seconds(&builds.without), seconds(&builds.with)) else {
            return report.note("idle rows were left out: the program failed");
        };
        if round > 0 {
            gc.push((with.0 / without.0 - 1.0) * 100.0);
            total.push((with.1 / without.1 - 1.0) * 100.0);
        }
    }
    report.lower("assertions.idle.gc_pct", Some(13.4), median(gc), "%");
    report.lower("assertions.idle.total_pct", Some(2.75), median(total), "%");
    report.note(format!(
        "idle: jbb without assertions, built with the feature and without it, in processes of their own, in turn, \
         {rounds} rounds"
    ));
}

/// Counts the instructions of a full collection, which do not depend on noise.
fn instructions(report: &mut Report) {
    let rows = [
        ("armed", "collect", "collect-armed"),
        ("standing", "collect", "collect-standing"),
        ("db", "collect-db", "collect-db-owned"),
    ];
    for (name, without, with) in rows {
        let counts = (
            callgrind::instructions(without),
            callgrind::instructions(with),
        );
        let (Some(without), Some(with)) = counts else {
            return report.note("valgrind is not there, so that instructions were not counted");
        };
        let id = format!("assertions.{name}.gc_instructions_pct");
        report.lower(&id, None, (with / without - 1.0) * 100.0, "%");
        report.note(format!(
            "{name}: {without:.0} instructions a full collection, {with:.0} with assertions"
        ));
    }
}

/// Does one of the things whose instructions are counted: full collections.
pub(crate) fn count(what: &str, times: usize) -> bool {
    count_at(Size::Large, what, times)
}

fn count_at(size: Size, what: &str, times: usize) -> bool {
    let heap = quiet_heap();
    let mut m = heap.attach("main").expect("attached once");
    let mut before: fn(&mut Mutator<'_>) = |_| {};
    match what {
        "collect" | "collect-armed" | "collect-standing" => {
            let mut m = m.scope();
            let customers = jbb::settle(&mut m, &jbb::Options::of(size, None));
            match what {
                "collect-armed" => {
                    before = expect_again;
                    hold(&mut m, &customers);
                }
                "collect-standing" => violate(&mut m, &customers),
                _ => {}
            }
        }
        "collect-db" | "collect-db-owned" => {
            let assertions = what == "collect-db-owned";
            let options = db::Options::of(size, false);
            db::settle(
                &mut m,
                &db::Options {
                    assertions,
                    ..options
                },
            );
        }
        _ => return false,
    }
    // The first one reports the findings. It is part of every count.
    m.collect();
    for _ in 0..times {
        before(&mut m);
        m.collect();
    }
    true
}

/// Finds the bugs, and nothing in the repaired programs.
fn bugs(report: &mut Report, size: Size, progress: Progress<'_>) {
    let mut found = 0;
    for case in CASES {
        progress(case.name);
        let findings = case.find(Collector::MarkSweep, size, true);
        let repaired = case.find(Collector::MarkSweep, size, false);
        let ok = case.is_found_by(&findings) && repaired.is_empty();
        found += (ok && case.in_paper) as usize;
        let (kind, way) = case.findings[0];
        let path = findings.iter().filter(|it| it.kind == kind);
        let path = path.flat_map(|it| it.evidence.first());
        let path = path.filter(|it| outline(&it.path) == way);
        let path = path.min_by_key(|it| it.path.hops.len());
        let how = match (ok, path) {
            (true, Some(evidence)) => format!("found; {}", evidence.path),
            _ => format!(
                "missed: {} findings, {} when repaired",
                findings.len(),
                repaired.len()
            ),
        };
        report.note(format!("{}: {how}", case.name));
    }
    report.higher("assertions.bugs_found", Some(5.0), found as f64, "of 5");
}

/// Compares the pauses of full collections of a company's heap: as it is, and after
/// `prepare`, with `before` ahead of each.
fn pauses(
    company: &jbb::Options,
    rounds: usize,
    prepare: for<'a> fn(&mut Mutator<'a>, &[Local<'a, Object>]),
    before: fn(&mut Mutator<'_>),
) -> Ratios {
    let mut ratios = Ratios::default();
    // Two pairs of heaps, built in different orders: where a heap lies in memory counts too.
    for with_first in [false, true] {
        let heaps = [0; 2].map(|_| quiet_heap());
        let [mut first, mut second] =
            [0, 1].map(|i| heaps[i].attach("main").expect("attached once"));
        for (m, prepared) in [(&mut first, with_first), (&mut second, !with_first)] {
            let mut m = m.scope();
            let customers = jbb::settle(&mut m, company);
            if prepared {
                prepare(&mut m, &customers);
            }
        }
        let (with, without) = match with_first {
            true => ((&heaps[0], &mut first), (&heaps[1], &mut second)),
            false => ((&heaps[1], &mut second), (&heaps[0], &mut first)),
        };
        in_turn(
            rounds.div_ceil(2),
            || pause(without.0, without.1),
            || {
                before(with.1);
                pause(with.0, with.1)
            },
            |with, without| ratios.note(with, without),
        );
    }
    ratios
}

fn quiet_heap() -> Heap {
    let heap = Heap::builder()
        .collector_threads(1)
        .initial_bytes(1 << 30)
        .build()
        .expect("a heap");
    keep_quiet(&heap);
    heap
}

/// Returns the pause of a full collection.
fn pause(heap: &Heap, m: &mut Mutator<'_>) -> Duration {
    m.collect();
    heap.stats()
        .history
        .back()
        .expect("one just took place")
        .pause
}

#[derive(Managed)]
#[repr(C)]
struct Link {
    header: Header,
    next: Slot<Link>,
}

/// Makes a chain that long in a static. Returns its last link.
fn chain<'a>(m: &mut Mutator<'a>, length: usize) -> Local<'a, Link> {
    let last = m.alloc(LinkInit { next: None }).expect("room");
    let mut first = last;
    for _ in 1..length {
        first = m.alloc(LinkInit { next: Some(first) }).expect("room");
    }
    m.static_root::<Link>("chain").set(m, Some(&m[first]));
    last
}

/// Makes one assertion of each kind that holds and stays registered.
fn hold<'a>(m: &mut Mutator<'a>, _: &[Local<'a, Object>]) {
    let last = chain(m, 3);
    m.assert_unshared(last);
    m.assert_owned_by(m.static_root::<Link>("chain"), last);
    m.assert_instances::<Link>(3);
    m.assert_volume::<Link>(1000);
}

/// Makes assertions that one collection decides: about an object and about a region.
fn expect_again(m: &mut Mutator<'_>) {
    let link = |m: &mut Mutator<'_>| {
        let mut m = m.scope();
        let link = m.alloc(LinkInit { next: None }).expect("room");
        m.assert_dead(link);
    };
    link(m);
    m.in_region(|m| {
        m.scope().alloc(LinkInit { next: None }).expect("room");
    });
}

/// Makes 100 assertions that do not hold: that objects are dead, unshared or owned.
fn violate<'a>(m: &mut Mutator<'a>, customers: &[Local<'a, Object>]) {
    let mut m = m.scope();
    let owner = chain(&mut m, 1);
    let shared = m.alloc_refs::<Object>(customers.len()).expect("room");
    m.static_root("shared").set(&m, Some(&m[shared]));
    for (number, &customer) in customers.iter().enumerate() {
        match number % 3 {
            0 => m.assert_dead(customer),
            1 => m.assert_owned_by(owner, customer),
            _ => {
                m[shared][number].set(Some(&m[customer]));
                m.assert_unshared(customer);
            }
        }
    }
}

/// Returns how many microseconds longer a collection takes that must report a path of depth 10;
/// and how many objects it marks.
fn path_micros(company: &jbb::Options, rounds: usize) -> (f64, usize) {
    let heap = quiet_heap();
    let mut m = heap.attach("main").expect("attached once");
    jbb::settle(&mut m.scope(), company);
    chain(&mut m.scope(), DEPTH - 1);
    let mut longer = Vec::new();
    for round in 0..=rounds {
        {
            let mut m = m.scope();
            let leaf = m.alloc(LinkInit { next: None }).expect("room");
            last_link(&m).next.set(Some(&m[leaf]));
            m.assert_dead(leaf);
        }
        let with = pause(&heap, &mut m).as_secs_f64();
        last_link(&m).next.clear();
        let without = pause(&heap, &mut m).as_secs_f64();
        if round > 0 {
            longer.push((with - without) * 1e6);
        }
    }
    let stats = heap.stats();
    let marked = stats.history.back().map_or(0, |it| it.marked_objects);
    (median(longer), marked)
}

/// Objects on the path whose search is timed.
const DEPTH: usize = 10;

/// Returns the link of the chain to which the next one is added.
fn last_link<'m>(m: &'m Mutator<'_>) -> &'m Link {
    let chain = m.static_root::<Link>("chain");
    let mut link = chain.get(m).expect("it was made");
    for _ in 2..DEPTH {
        link = link.next.get().expect("it is that long");
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;

    fn company() -> jbb::Options {
        jbb::Options::of(Size::Small, None)
    }

    #[test]
    fn what_is_held_is_silent_and_what_is_violated_stands() {
        type Prepare = for<'a> fn(&mut Mutator<'a>, &[Local<'a, Object>]);
        for (prepare, standing) in [(hold as Prepare, 0), (violate, 100)] {
            let heap = quiet_heap();
            let mut m = heap.attach("main").unwrap();
            {
                let mut m = m.scope();
                let customers = jbb::settle(&mut m, &company());
                prepare(&mut m, &customers);
            }
            for _ in 0..3 {
                expect_again(&mut m);
                m.collect();
            }
            let objects: usize = heap.findings().iter().map(|it| it.objects).sum();
            assert_eq!(objects, standing);
            assert!(heap.findings().iter().all(|it| it.collections == 3));
        }
    }

    #[test]
    fn the_timed_path_has_ten_objects() {
        let heap = quiet_heap();
        let mut m = heap.attach("main").unwrap();
        chain(&mut m.scope(), DEPTH - 1);
        {
            let mut m = m.scope();
            let leaf = m.alloc(LinkInit { next: None }).unwrap();
            last_link(&m).next.set(Some(&m[leaf]));
            m.assert_dead(leaf);
        }
        m.collect();
        let path = &heap.findings()[0].finding.evidence[0].path;
        assert_eq!(path.hops.len() + 1, DEPTH);
    }

    #[test]
    fn costs_are_taken_of_the_same_work() {
        for program in [Program::Jbb, Program::Db] {
            let [with, without] = [true, false].map(|it| cost_at(program, Size::Small, it));
            assert_eq!(with.outcome, without.outcome);
            assert!(with.collections > 0 && with.gc < with.total);
        }
        assert_eq!(pauses(&company(), 4, hold, expect_again).0.len(), 4);
        assert!(path_micros(&company(), 1).1 > 1000);
    }

    #[test]
    fn what_is_counted_can_be_done() {
        let counted = [
            "collect",
            "collect-armed",
            "collect-standing",
            "collect-db",
            "collect-db-owned",
        ];
        assert!(counted.iter().all(|what| count_at(Size::Small, what, 2)));
        assert!(!count("nothing", 1));
    }

    #[test]
    fn all_bugs_count() {
        let mut report = Report::new("assertions");
        bugs(&mut report, Size::Small, &mut |_| {});
        assert_eq!(report.rows[0].measured, 5.0, "{report}");
    }
}
