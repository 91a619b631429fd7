//! What heap summaries cost: the points-from graph at every full collection, what is kept of it,
//! and the field-wise graph with the degrees of recursive structures.
//!
//! The cost of a collection is measured on one heap, with and without counting in turn, so that
//! its place in memory is the same. With counting, a collection was counted before, and enough was
//! allocated since to rank what has changed; without, as much is allocated. The cost of a run is
//! measured on separate heaps, in turn.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heaphound::analysis::shape::Profile;
use heaphound::{
    Collector, Growth, GrowthWatch, Heap, Managed, Mutator, Reaction, ShapeWatch, Shapes,
    stats::Kind,
};

use crate::callgrind;
use crate::measure::{interleave, percent};
use crate::programs::{Size, builder, db, jbb};
use crate::report::Report;
use crate::{Failed, Options, Progress};

pub(crate) fn run(options: &Options, progress: Progress<'_>) -> Result<Report, Failed> {
    let mut report = Report::new("summaries");
    let (rounds, runs) = match options.quick {
        true => (15, 3),
        false => (101, 41),
    };
    collections(&mut report, Size::Large, rounds, progress);
    runs_of_programs(&mut report, Size::Large, runs, progress);
    progress("instructions");
    instructions(&mut report);
    progress("1,000 classes in 100 MB");
    space(&mut report, 1_000, 100_000_000);
    Ok(report)
}

fn quiet() -> Option<Reaction> {
    Some(Reaction::Call(Arc::new(|_| {})))
}

struct Program {
    name: &'static str,
    /// Builds its heap.
    settle: fn(&mut Mutator<'_>, Size),
    /// Does all of its work.
    run: fn(&mut Mutator<'_>, Size),
}

const PROGRAMS: [Program; 2] = [
    Program {
        name: "jbb",
        settle: |m, size| {
            jbb::settle(&mut m.scope(), &jbb::Options::of(size, None));
        },
        run: |m, size| {
            let options = jbb::Options {
                assertions: jbb::Assertions::NONE,
                ..jbb::Options::of(size, None)
            };
            jbb::run(m, &options);
        },
    },
    Program {
        name: "db",
        settle: |m, size| {
            db::settle(m, &db_options(size));
        },
        run: |m, size| {
            db::run(m, &db_options(size));
        },
    },
];

fn db_options(size: Size) -> db::Options {
    db::Options {
        assertions: false,
        ..db::Options::of(size, false)
    }
}

/// Returns a heap that is collected only on request.
fn quiet_heap() -> Heap {
    let heap = Heap::builder().collector_threads(1).initial_bytes(1 << 30);
    heap.build().expect("a heap")
}

/// Counts the instructions of a full collection, which do not depend on noise.
fn instructions(report: &mut Report) {
    for Program { name, .. } in PROGRAMS {
        let count = |watch| callgrind::instructions(&format!("collect-{watch}-{name}"));
        let (Some(plain), Some(growth), Some(shapes)) =
            (count("plain"), count("growth"), count("shapes"))
        else {
            return report.note("valgrind is not there, so that instructions were not counted");
        };
        report.note(format!(
            "{name}: {plain:.0} instructions a full collection, {:+.1} % with the points-from graph, {:+.1} % with shapes",
            percent(growth / plain),
            percent(shapes / plain)
        ));
    }
}

/// Does one of the things whose instructions are counted: full collections, or whole runs.
pub(crate) fn count(what: &str, times: usize) -> bool {
    count_at(Size::Large, what, times)
}

fn count_at(size: Size, what: &str, times: usize) -> bool {
    let parts: Vec<&str> = what.split('-').collect();
    let &[work, watch, name] = &parts[..] else {
        return false;
    };
    let watch = match watch {
        "plain" => Watch::Nothing,
        "growth" => Watch::Growth,
        "shapes" => Watch::Shapes,
        _ => return false,
    };
    let Some(program) = PROGRAMS.iter().find(|it| it.name == name) else {
        return false;
    };
    match work {
        "collect" => {
            let heap = quiet_heap();
            let mut m = heap.attach("main").expect("attached once");
            (program.settle)(&mut m, size);
            let _watched = watch.begin(&heap);
            // The first one learns what the others use. It is part of every count.
            for _ in 0..times + 1 {
                m.collect();
            }
        }
        "run" => (0..times).for_each(|_| {
            time(program, size, watch);
        }),
        _ => return false,
    }
    true
}

/// Full collections of two heaps, with and without.
fn collections(report: &mut Report, size: Size, rounds: usize, progress: Progress<'_>) {
    let mut worst = f64::MIN;
    for Program { name, settle, .. } in PROGRAMS {
        progress(&format!(
            "{name}: full collections, with the points-from graph and without"
        ));
        let heap = quiet_heap();
        let m = RefCell::new(heap.attach("main").expect("attached once"));
        settle(&mut m.borrow_mut(), size);
        m.borrow_mut().collect();
        let plain = || second_pause(&heap, &m);
        let watched = || {
            let watch = Growth::new().register(&heap, quiet());
            let pause = second_pause(&heap, &m);
            assert_eq!(watch.cork().collections(), 2);
            pause
        };
        let shaped = || {
            let watch = Shapes::learning(Profile::default()).register(&heap, quiet());
            let pause = second_pause(&heap, &m);
            drop(watch);
            pause
        };
        let taken = interleave(
            rounds,
            &mut [&mut { plain }, &mut { watched }, &mut { shaped }],
        );
        worst = worst.max(percent(taken.ratio(1, 0)));
        let (low, high) = taken.spread(1, 0);
        let objects = heap
            .stats()
            .history
            .back()
            .map_or(0, |it| it.marked_objects);
        report.note(format!(
            "{name}: {objects} objects, a full collection takes {:.2} ms, {:+.1} % with the points-from graph ({:+.1} to \
             {:+.1}), {:+.1} % with shapes; {rounds} rounds",
            taken.median(0) * 1e3,
            percent(taken.ratio(1, 0)),
            percent(low),
            percent(high),
            percent(taken.ratio(2, 0)),
        ));
    }
    report.lower("cpfg.gc_pct", Some(75.0), worst, "%");
}

/// Does two full collections, between which garbage of a tenth of the live bytes is allocated.
/// Returns the pause of the second.
fn second_pause(heap: &Heap, m: &RefCell<Mutator<'_>>) -> Duration {
    const CHUNK: usize = 16 << 10;
    let mut m = m.borrow_mut();
    m.collect();
    let last = || heap.stats().history.back().cloned().expect("just done");
    for _ in 0..(last().marked_bytes / 10).div_ceil(CHUNK) {
        m.scope().alloc_bytes(&[0; CHUNK]).expect("room");
    }
    m.collect();
    last().pause
}

/// What is watched in a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watch {
    Nothing,
    Growth,
    Shapes,
}

impl Watch {
    /// Watches while the returned handle is kept.
    fn begin(self, heap: &Heap) -> (Option<GrowthWatch>, Option<ShapeWatch>) {
        let growth = || Growth::new().register(heap, quiet());
        let shapes = || Shapes::learning(Profile::default()).register(heap, quiet());
        (
            (self == Watch::Growth).then(growth),
            (self == Watch::Shapes).then(shapes),
        )
    }
}

/// Whole runs on a generational heap, with and without.
fn runs_of_programs(report: &mut Report, size: Size, runs: usize, progress: Progress<'_>) {
    let (mut growth, mut shapes) = (f64::MIN, f64::MIN);
    for program in &PROGRAMS {
        let name = program.name;
        progress(&format!("{name}: whole runs on a generational heap"));
        let counted = RefCell::new((0, 0));
        let time = |watch: Watch| {
            let (time, collections) = time(program, size, watch);
            counted.replace(collections);
            time
        };
        let taken = interleave(
            runs,
            &mut [
                &mut || time(Watch::Nothing),
                &mut || time(Watch::Growth),
                &mut || time(Watch::Shapes),
            ],
        );
        growth = growth.max(percent(taken.ratio(1, 0)));
        shapes = shapes.max(percent(taken.ratio(2, 0)));
        let (full, nursery) = *counted.borrow();
        report.note(format!(
            "{name}: {:.0} ms a run, {full} full collections and {nursery} of the nursery; growth {}, shapes {}; {runs} runs",
            taken.median(0) * 1e3,
            taken.difference(1, 0, 2),
            taken.difference(2, 0, 2),
        ));
    }
    report.lower("cpfg.total_pct", Some(1.9), growth, "%");
    report.lower("cfsg.total_pct", Some(4.0), shapes, "%");
}

/// Runs a program on a generational heap. Returns how long it takes, and how many full and
/// nursery collections there were.
fn time(program: &Program, size: Size, watch: Watch) -> (Duration, (u64, usize)) {
    let heap = builder(size).collector(Collector::Generational);
    let heap = heap.build().expect("a heap");
    let watched = watch.begin(&heap);
    let mut m = heap.attach("main").expect("attached once");
    let begin = Instant::now();
    (program.run)(&mut m, size);
    let time = begin.elapsed();
    drop(watched);
    let stats = heap.stats();
    let nursery = stats.history.iter().filter(|it| it.kind == Kind::Nursery);
    (time, (stats.full_collections, nursery.count()))
}

/// What is kept between collections, of a heap with that many classes and bytes.
fn space(report: &mut Report, classes: usize, bytes: usize) {
    let heap = quiet_heap();
    let watch = Growth::new().register(&heap, quiet());
    let mut m = heap.attach("main").expect("attached once");
    let defined: Vec<_> = (0..classes)
        .map(|number| {
            let class = heap.define_class(format!("Class{number}"));
            let class = class.slot("a").slot("b").slot("c");
            class.define().expect("a class")
        })
        .collect();
    // About three edges a class in the points-from graph, as the paper counted.
    let objects = bytes / 24;
    let all = m.alloc_refs::<heaphound::Instance>(objects).expect("room");
    m.static_root("all").set(&m, Some(&m[all]));
    let grow = |m: &mut Mutator<'_>, from: usize, to: usize| {
        for number in from..to {
            let mut m = m.scope();
            let class = &defined[number % classes];
            let object = m.alloc_instance(class).expect("room");
            for slot in 0..3 {
                let target = number / classes * classes + (number * 7 + slot * 31) % classes;
                let target = m[all].get(target).and_then(heaphound::Slot::get);
                m[object][slot].set(target.map(|it| it.as_object()));
            }
            m[all][number].set(Some(&m[object]));
        }
    };
    grow(&mut m, 0, objects);
    // One class in five changes from collection to collection, and is remembered.
    for _ in 0..8 {
        m.collect();
        for number in 0..objects / 20 {
            if (number % classes).is_multiple_of(5) {
                m[all][number].clear();
            }
        }
    }
    m.collect();
    let summary = heap.summary().expect("just made");
    let current = summary.summary.memory_bytes();
    let kept = watch.memory_bytes() + current;
    let volume = summary.summary.volume_bytes();
    let percent = kept as f64 * 100.0 / volume as f64;
    report.lower("cpfg.space_pct", Some(0.145), percent, "%");
    report.note(format!(
        "space: {} classes, {} edges, {volume} bytes live: {kept} bytes are kept between collections, {current} of them the \
         current graph",
        summary.summary.classes().count(),
        summary.summary.points_from(&summary.slots).len(),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_that_are_counted_are_done() {
        for watch in ["plain", "growth", "shapes"] {
            assert!(count_at(Size::Small, &format!("collect-{watch}-db"), 1));
            assert!(count_at(Size::Small, &format!("run-{watch}-jbb"), 1));
        }
        assert!(!count_at(Size::Small, "collect-plain-nothing", 1));
    }

    #[test]
    fn all_figures_are_there() {
        let mut report = Report::new("summaries");
        collections(&mut report, Size::Small, 2, &mut |_| {});
        runs_of_programs(&mut report, Size::Small, 1, &mut |_| {});
        space(&mut report, 100, 1_000_000);
        let rows: Vec<&str> = report.rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(
            rows,
            [
                "cpfg.gc_pct",
                "cpfg.total_pct",
                "cfsg.total_pct",
                "cpfg.space_pct"
            ]
        );
    }
}
