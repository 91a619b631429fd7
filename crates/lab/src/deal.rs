//! DeAL, section 5: what evaluating assertions costs a collection.
//!
//! A plain full collection and one that checks are done in turn, of the same heap: where it
//! lies in memory is the same for both. Collection time is the pause, with one collector thread.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use heaphound::{Header, Heap, Managed, Mutator, Registration, Rules, rules::When, stats::Kind};

use crate::measure::{interleave, median, percent};
use crate::programs::skeletal::{self, Layout, SKELETONS, Shape, Skeleton};
use crate::programs::{Size, builder, db, jbb, lusearch};
use crate::report::Report;
use crate::{Failed, Options, Progress, callgrind};

pub(crate) fn run(options: &Options, progress: Progress<'_>) -> Result<Report, Failed> {
    let mut report = Report::new("deal");
    let sizes = match options.quick {
        true => [(10_000, 9), (100_000, 5), (1_000_000, 3)],
        false => [(10_000, 101), (100_000, 51), (1_000_000, 15)],
    };
    micro(&mut report, &sizes, progress);
    let rounds = if options.quick { 2 } else { 15 };
    generic(&mut report, Size::Large, rounds, progress);
    progress("jbb, with removed orders asserted dead and without");
    removed_orders(&mut report, Size::Large, rounds);
    if !options.quick {
        progress("instructions, counted by callgrind");
        instructions(&mut report);
    }
    Ok(report)
}

/// What an assertion costs on its skeletal program.
struct Micro {
    name: &'static str,
    layout: Layout,
    objects: usize,
    /// The pause with the assertion to that without.
    ratio: f64,
    /// Where the middle half of the ratios lies.
    spread: (f64, f64),
    /// The plain pause, in seconds.
    plain: f64,
    /// How much longer it takes with the assertion, in seconds.
    longer: f64,
    /// The pause with the assertion interpreted to that with it compiled, if that was asked.
    interpreted: Option<f64>,
}

impl Micro {
    fn measure(skeleton: &Skeleton, shape: &Shape, rounds: usize, interpret: bool) -> Self {
        let heap = heap();
        let m = &mut heap.attach("main").expect("attached once");
        let compiled = skeleton.build(m, shape);
        let interpreted = skeleton.assertion(m).interpreted();
        let m = RefCell::new(m);
        let check = |mut assertion: Rules| {
            let (heap, m) = (&heap, &m);
            move || {
                let findings = assertion.check(&mut m.borrow_mut());
                assert!(findings.expect("it is well formed").is_empty(), "it holds");
                last_pause(heap)
            }
        };
        let mut things: Vec<Box<dyn FnMut() -> Duration>> = vec![
            Box::new(|| pause(&heap, &mut m.borrow_mut())),
            Box::new(check(compiled)),
        ];
        if interpret {
            things.push(Box::new(check(interpreted)));
        }
        let mut things: Vec<&mut dyn FnMut() -> Duration> =
            things.iter_mut().map(|it| &mut **it as _).collect();
        let taken = interleave(rounds, &mut things);
        Self {
            name: skeleton.name,
            layout: shape.layout,
            objects: shape.objects,
            ratio: taken.ratio(1, 0),
            spread: taken.spread(1, 0),
            plain: taken.median(0),
            longer: (taken.ratio(1, 0) - 1.0) * taken.median(0),
            interpreted: interpret.then(|| taken.ratio(2, 1)),
        }
    }
}

/// The example assertions on their skeletal programs.
fn micro(report: &mut Report, sizes: &[(usize, usize)], progress: Progress<'_>) {
    let mut all = Vec::new();
    // At a middle size, for interpreting takes long.
    let interpreted = sizes[sizes.len() / 2].0;
    for &(objects, rounds) in sizes {
        for layout in [Layout::Sequential, Layout::Shuffled] {
            progress(&format!("{objects} objects, {}", layout.name()));
            let shape = Shape {
                objects,
                layout,
                broken: false,
            };
            let each = SKELETONS.iter();
            let interpret = objects == interpreted;
            all.extend(each.map(|it| Micro::measure(it, &shape, rounds, interpret)));
        }
    }
    let largest = sizes.last().expect("some size").0;
    let of = |layout: Layout| {
        all.iter()
            .filter(move |it| it.objects == largest && it.layout == layout)
    };
    let large = || of(Layout::Sequential).chain(of(Layout::Shuffled));
    let mean = geomean(large().map(|it| it.ratio));
    let worst = large().max_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let worst = worst.expect("some assertion");
    report.lower("deal.micro.geomean_pct", Some(25.0), percent(mean), "%");
    report.lower(
        "deal.micro.worst_pct",
        Some(65.0),
        percent(worst.ratio),
        "%",
    );
    for layout in [Layout::Sequential, Layout::Shuffled] {
        let id = |what: &str| format!("deal.micro.{what}.{}", layout.name());
        let mean = geomean(of(layout).map(|it| it.ratio));
        report.lower(&id("geomean_pct"), None, percent(mean), "%");
        let longer = of(layout).map(|it| it.longer / it.objects as f64 * 1e9);
        let count = of(layout).count() as f64;
        report.lower(
            &id("ns_per_object"),
            None,
            longer.sum::<f64>() / count,
            "ns",
        );
    }
    let ratios = all.iter().filter_map(|it| it.interpreted);
    report.higher("deal.compiled_vs_interp", None, geomean(ratios), "×");
    report.note(format!(
        "micro: geometric mean and worst ({}, {}) of {} assertions in two layouts, {largest} objects; the paper's \
         worst are 60 to 70 %. ns_per_object: how much longer a collection takes that checks, the mean of all \
         assertions. compiled_vs_interp: the pause of a collection that interprets formulas to that of one that \
         compiles them, {interpreted} objects",
        worst.name,
        worst.layout.name(),
        SKELETONS.len()
    ));
    for skeleton in SKELETONS {
        let of = all.iter().filter(|it| it.name == skeleton.name);
        let figures: Vec<String> = of
            .map(|it| {
                format!(
                    "{} {}: {:+.1} % ({:+.1} to {:+.1}) of {:.2} ms",
                    it.objects,
                    it.layout.name(),
                    percent(it.ratio),
                    percent(it.spread.0),
                    percent(it.spread.1),
                    it.plain * 1e3
                )
            })
            .collect();
        report.note(format!("{}: {}", skeleton.name, figures.join("; ")));
    }
}

/// An assertion that says nothing about the program (section 5.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Generic {
    /// There is no object of a class that nothing uses.
    InstanceOf,
    /// That, and two traversals that must not meet.
    Disjoint,
}

/// The class that nothing uses.
#[derive(Managed)]
#[repr(C)]
struct Unused {
    header: Header,
}

/// Where the first of two traversals begins and ends.
#[derive(Managed)]
#[repr(C)]
struct Marker {
    header: Header,
}

impl Generic {
    fn register(self, heap: &Heap, m: &mut Mutator<'_>) -> Registration {
        m.know_class::<Unused>();
        let assertion = match self {
            Self::InstanceOf => Rules::new("assertion(forall x: !(x instanceof Unused))"),
            // All but the marker is of the second traversal.
            Self::Disjoint => {
                let mut m = m.scope();
                let marker = m.alloc(MarkerInit {}).expect("room");
                let text = "assertDisjoint(forall x: !(x instanceof Unused) && \
                            !(reach[marker](x) && reach[/marker](x)))";
                Rules::new(text).bind(&m, "marker", marker)
            }
        };
        assertion
            .register(heap, m, None)
            .expect("it is well formed")
    }
}

/// A program, at a size, that asserts nothing of its own.
type Program = fn(&mut Mutator<'_>, Size);

/// The larger programs.
const PROGRAMS: &[(&str, Program)] = &[
    ("jbb", |m, size| {
        let options = jbb::Options::of(size, None);
        let assertions = jbb::Assertions::NONE;
        jbb::run(
            m,
            &jbb::Options {
                assertions,
                ..options
            },
        );
    }),
    ("db", |m, size| {
        let options = db::Options::of(size, false);
        db::run(
            m,
            &db::Options {
                assertions: false,
                ..options
            },
        );
    }),
    ("lusearch", |m, size| {
        let options = lusearch::Options::of(size, false);
        lusearch::run(
            m,
            &lusearch::Options {
                assertions: false,
                ..options
            },
        );
    }),
];

/// Returns the pauses of full collections of a run.
fn gc_time(program: Program, size: Size, generic: Option<Generic>) -> Duration {
    let heap = builder(size).build().expect("a heap");
    let mut m = heap.attach("main").expect("attached once");
    let registered = generic.map(|it| it.register(&heap, &mut m));
    program(&mut m, size);
    assert!(heap.findings().is_empty(), "nothing uses the class");
    drop(registered);
    full_pauses(&heap)
}

/// Generic assertions at the collections of larger programs.
fn generic(report: &mut Report, size: Size, rounds: usize, progress: Progress<'_>) {
    let (mut instance_of, mut disjoint) = (Vec::new(), Vec::new());
    for &(name, program) in PROGRAMS {
        progress(&format!("{name}, with generic assertions and without"));
        let taken = interleave(
            rounds,
            &mut [
                &mut || gc_time(program, size, None),
                &mut || gc_time(program, size, Some(Generic::InstanceOf)),
                &mut || gc_time(program, size, Some(Generic::Disjoint)),
            ],
        );
        instance_of.push(taken.ratio(1, 0));
        disjoint.push(taken.ratio(2, 0));
        report.note(format!(
            "{name}: full collections take {:.1} ms in all, instanceof {}, disjoint {}; {rounds} runs",
            taken.median(0) * 1e3,
            taken.difference(1, 0, 1),
            taken.difference(2, 0, 1)
        ));
    }
    let mut row = |id: &str, paper, ratios: Vec<f64>| {
        let mean = geomean(ratios.into_iter());
        report.lower(id, Some(paper), percent(mean), "%");
    };
    row("deal.instanceof.gc_pct", 9.1, instance_of);
    row("deal.disjoint.gc_pct", 12.0, disjoint);
}

/// Section 5.4: no order is alive that has left its table. The status is `jbb::REMOVED`.
const REMOVED_ORDERS: &str = "assertion(forall Order x: x.status != 2)";
/// The assertion is checked once in this many times that it is encountered.
const CHECKED_EVERY: u64 = 5;
/// How often a company destroys an order table, where the assertion stands.
const CLEARED: usize = 25;

/// A run of a company that destroys order tables.
struct Cleared {
    total: Duration,
    gc: Duration,
    collections: u64,
    /// How often the assertion was checked, and did not hold.
    checked: usize,
    failed: usize,
}

fn clear_tables(size: Size, bug: Option<jbb::Bug>, asserts: bool) -> Cleared {
    let heap = builder(size).build().expect("a heap");
    let mut m = heap.attach("main").expect("attached once");
    let options = jbb::Options::of(size, bug);
    let options = jbb::Options {
        assertions: jbb::Assertions::NONE,
        clear_every: Some(options.transactions / CLEARED),
        ..options
    };
    let mut assertion = Rules::named("removed orders", REMOVED_ORDERS);
    let (mut checked, mut failed) = (0, 0);
    let begin = Instant::now();
    jbb::run_and_tell(&mut m, &options, &mut |m| {
        if asserts {
            let findings = assertion.check_when_due(m, When::Every(CHECKED_EVERY));
            let findings = findings.expect("it is well formed");
            checked += findings.is_some() as usize;
            failed += findings.is_some_and(|it| !it.is_empty()) as usize;
        }
    });
    Cleared {
        total: begin.elapsed(),
        gc: full_pauses(&heap),
        collections: heap.stats().full_collections,
        checked,
        failed,
    }
}

/// The bug of section 5.4, and what looking for it costs a run without it.
fn removed_orders(report: &mut Report, size: Size, rounds: usize) {
    let buggy = clear_tables(size, Some(jbb::Bug::LastOrder), true);
    let runs = [false, true].map(|asserts| {
        let runs = RefCell::new(Vec::new());
        (asserts, runs)
    });
    let run = |(asserts, runs): &(bool, RefCell<Vec<Cleared>>)| {
        let run = clear_tables(size, None, *asserts);
        let total = run.total;
        runs.borrow_mut().push(run);
        total
    };
    let taken = interleave(rounds, &mut [&mut || run(&runs[0]), &mut || run(&runs[1])]);
    let [without, with] = runs.map(|(_, runs)| runs.into_inner());
    let silent = with.iter().all(|it| it.failed == 0);
    let found = buggy.failed > 0 && silent;
    report.higher("deal.jbb.bugs_found", Some(1.0), f64::from(found), "of 1");
    let total = percent(taken.ratio(1, 0));
    report.lower("deal.jbb.total_pct", Some(6.1), total, "%");
    let (low, high) = taken.spread(1, 0);
    let gc = |runs: &[Cleared]| median(runs.iter().map(|it| it.gc.as_secs_f64() * 1e3).collect());
    report.note(format!(
        "jbb: of {} checks {} fail with the bug, {} without; {:.0} ms a run, {} full collections {:.1} ms of them; \
         {:.0} ms with the assertion, {} full collections {:.1} ms; {rounds} runs, half of the ratios lie between \
         {:+.1} and {:+.1} %. The paper: 2.85 collections, and 12.7 with the assertion",
        buggy.checked,
        buggy.failed,
        with.iter().map(|it| it.failed).sum::<usize>(),
        taken.median(0) * 1e3,
        without[0].collections,
        gc(&without),
        taken.median(1) * 1e3,
        with[0].collections,
        gc(&with),
        percent(low),
        percent(high),
    ));
}

/// Counts the instructions of a full collection, which do not depend on noise.
fn instructions(report: &mut Report) {
    let mut ratios = Vec::new();
    let mut each = Vec::new();
    for skeleton in SKELETONS {
        let count = |what: String| callgrind::instructions(&what);
        let without = count(format!("deal-{}-plain", skeleton.name));
        let with = count(format!("deal-{}", skeleton.name));
        let (Some(without), Some(with)) = (without, with) else {
            return report.note("valgrind is not there, so that instructions were not counted");
        };
        ratios.push(with / without);
        let objects = COUNTED as f64;
        each.push(format!(
            "{} {:.1} and {:.1}",
            skeleton.name,
            without / objects,
            with / objects
        ));
    }
    let mean = geomean(ratios.into_iter());
    report.lower("deal.micro.instructions_pct", None, percent(mean), "%");
    report.note(format!(
        "instructions per object of a collection without and with the assertion: {}",
        each.join(", ")
    ));
}

/// Objects of a heap whose collections are counted.
const COUNTED: usize = 100_000;

/// Does one of the things whose instructions are counted: full collections of a skeletal
/// program, `deal-sorted` with its assertion and `deal-sorted-plain` without.
pub(crate) fn count(what: &str, times: usize) -> bool {
    count_at(COUNTED, what, times)
}

fn count_at(objects: usize, what: &str, times: usize) -> bool {
    let Some(name) = what.strip_prefix("deal-") else {
        return false;
    };
    let plain = name.strip_suffix("-plain");
    let Some(skeleton) = skeletal::find(plain.unwrap_or(name)) else {
        return false;
    };
    let heap = heap();
    let mut m = heap.attach("main").expect("attached once");
    let shape = Shape {
        objects,
        layout: Layout::Sequential,
        broken: false,
    };
    let mut assertion = skeleton.build(&mut m, &shape);
    // The first one frees what it was built with.
    m.collect();
    for _ in 0..times {
        match plain {
            Some(_) => m.collect(),
            None => assert!(assertion.check(&mut m).is_ok_and(|it| it.is_empty())),
        }
    }
    true
}

/// Returns a heap that is collected only on request.
fn heap() -> Heap {
    let builder = Heap::builder().collector_threads(1);
    builder.initial_bytes(1 << 30).build().expect("a heap")
}

/// Returns the pause of a plain full collection.
fn pause(heap: &Heap, m: &mut Mutator<'_>) -> Duration {
    m.collect();
    last_pause(heap)
}

fn last_pause(heap: &Heap) -> Duration {
    let stats = heap.stats();
    stats.history.back().expect("one just took place").pause
}

fn full_pauses(heap: &Heap) -> Duration {
    let stats = heap.stats();
    let full = stats.history.iter().filter(|it| it.kind == Kind::Full);
    full.map(|it| it.pause).sum()
}

fn geomean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = ratios.fold((0, 0.0), |(count, sum), it| (count + 1, sum + it.ln()));
    (sum / f64::from(count)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(report: &Report) -> Vec<&str> {
        report.rows.iter().map(|it| it.id.as_str()).collect()
    }

    #[test]
    fn all_assertions_are_measured_at_all_sizes() {
        let mut report = Report::new("deal");
        micro(&mut report, &[(100, 3), (200, 3)], &mut |_| {});
        assert_eq!(
            rows(&report),
            [
                "deal.micro.geomean_pct",
                "deal.micro.worst_pct",
                "deal.micro.geomean_pct.sequential",
                "deal.micro.ns_per_object.sequential",
                "deal.micro.geomean_pct.shuffled",
                "deal.micro.ns_per_object.shuffled",
                "deal.compiled_vs_interp",
            ]
        );
        assert_eq!(report.notes.len(), 1 + SKELETONS.len());
    }

    #[test]
    fn generic_assertions_are_silent_and_measured() {
        let mut report = Report::new("deal");
        generic(&mut report, Size::Small, 1, &mut |_| {});
        assert_eq!(
            rows(&report),
            ["deal.instanceof.gc_pct", "deal.disjoint.gc_pct"]
        );
    }

    #[test]
    fn a_removed_order_that_its_customer_keeps_is_found() {
        assert!(REMOVED_ORDERS.contains(&format!("!= {})", jbb::REMOVED)));
        let mut report = Report::new("deal");
        removed_orders(&mut report, Size::Small, 1);
        assert_eq!(rows(&report), ["deal.jbb.bugs_found", "deal.jbb.total_pct"]);
        assert_eq!(report.rows[0].measured, 1.0, "{report}");
        let checked = clear_tables(Size::Small, None, true).checked;
        // Three companies.
        assert_eq!(checked, 3 * CLEARED / CHECKED_EVERY as usize);
    }

    #[test]
    fn what_is_counted_can_be_done() {
        for skeleton in SKELETONS {
            assert!(count_at(100, &format!("deal-{}", skeleton.name), 2));
            assert!(count_at(100, &format!("deal-{}-plain", skeleton.name), 2));
        }
        assert!(!count("deal-nothing", 1) && !count("nothing", 1));
    }

    #[test]
    fn a_geometric_mean() {
        assert!((geomean([1.0, 4.0].into_iter()) - 2.0).abs() < 1e-9);
    }
}
