//! Section 5: what leak pruning costs programs that do not leak, with its states forced.

use std::time::{Duration, Instant};

use heaphound::{Kind, Pruning, PruningState};

use crate::measure::{median, percent};
use crate::programs::steady::{STEADY, Steady};
use crate::programs::{Size, builder};
use crate::report::Report;
use crate::{Progress, builds};

/// What is compared: no pruning, and two states.
const VARIANTS: [Option<PruningState>; 3] = [
    None,
    Some(PruningState::Observe),
    Some(PruningState::Select),
];

/// What a run took.
#[derive(Clone, Copy)]
struct Cost {
    gc: Duration,
    total: Duration,
    checksum: u64,
}

fn cost(program: &Steady, size: Size, state: Option<PruningState>) -> Cost {
    let builder = match state {
        Some(state) => builder(size).pruning(Pruning::new().force(state)),
        None => builder(size),
    };
    let heap = builder.build().expect("a heap");
    let mut m = heap.attach("main").expect("attached once");
    let begin = Instant::now();
    let outcome = program.run(&mut m, size, &mut |_| {});
    let total = begin.elapsed();
    let stats = heap.stats();
    let full = stats.history.iter().filter(|it| it.kind == Kind::Full);
    Cost {
        gc: full.map(|it| it.pause).sum(),
        total,
        checksum: outcome.checksum,
    }
}

pub(super) fn measure(report: &mut Report, quick: bool, progress: Progress<'_>) {
    let (size, rounds) = match quick {
        true => (Size::Small, 5),
        false => (Size::Large, 11),
    };
    let mut all = [const { Vec::new() }; 4];
    for program in STEADY {
        progress(&format!("{}: states forced", program.name));
        let ratios = ratios(program, size, rounds);
        let [observe_gc, select_gc, observe, select] = ratios.map(percent);
        report.note(format!(
            "{}: full collections take {observe_gc:+.1} % in OBSERVE and {select_gc:+.1} % in SELECT, the whole run \
             {observe:+.1} % and {select:+.1} %; medians of {rounds} rounds",
            program.name
        ));
        for (all, ratio) in all.iter_mut().zip(ratios) {
            all.push(ratio);
        }
    }
    let [observe_gc, select_gc, _, select] = all.map(|it| percent(geometric_mean(&it)));
    report.lower("prune.observe.gc_pct", Some(5.0), observe_gc, "%");
    report.lower("prune.select.gc_pct", Some(14.0), select_gc, "%");
    report.lower("prune.barrier_pct", Some(5.0), select, "%");
    report.note(
        "states forced: the geometric mean over programs that do not leak, as the paper's; barrier_pct: of the whole run \
         in SELECT, with its collections",
    );
    match quick {
        true => {
            report.note("compiled_pct needs a second build, and is left out when it must be quick")
        }
        false => {
            progress("the same program built without the barrier");
            compiled(report, rounds);
        }
    }
}

/// Returns the medians of the ratios to the plain heap: collections in both states, and runs in both.
fn ratios(program: &Steady, size: Size, rounds: usize) -> [f64; 4] {
    let mut ratios = [const { Vec::new() }; 4];
    for round in 0..=rounds {
        let [plain, observe, select] = VARIANTS.map(|it| cost(program, size, it));
        let same = |it: Cost| it.checksum == plain.checksum;
        assert!(same(observe) && same(select), "the same work");
        let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
        let these = [
            ratio(observe.gc, plain.gc),
            ratio(select.gc, plain.gc),
            ratio(observe.total, plain.total),
            ratio(select.total, plain.total),
        ];
        // The first warms up.
        if round > 0 {
            for (all, it) in ratios.iter_mut().zip(these) {
                all.push(it);
            }
        }
    }
    ratios.map(median)
}

fn geometric_mean(ratios: &[f64]) -> f64 {
    let sum: f64 = ratios.iter().map(|it| it.ln()).sum();
    (sum / ratios.len() as f64).exp()
}

/// A program on a heap that does not prune, built with the barrier and without it.
fn compiled(report: &mut Report, rounds: usize) {
    let builds = match builds::build("idle", "assertions") {
        Ok(builds) => builds,
        Err(why) => return report.note(format!("compiled_pct was left out: {why}")),
    };
    let seconds = |program: &std::path::Path| {
        let figures = builds::figures(program, &["jbb", "1"]).ok()?;
        figures.iter().find(|it| it.0 == "total").map(|it| it.1)
    };
    let mut ratios = Vec::new();
    for round in 0..=rounds {
        let (Some(without), Some(with)) = (seconds(&builds.without), seconds(&builds.with)) else {
            return report.note("compiled_pct was left out: the program failed");
        };
        if round > 0 {
            ratios.push(with / without);
        }
    }
    report.lower("prune.compiled_pct", None, percent(median(ratios)), "%");
    report.note(
        "compiled_pct: jbb on a heap that does not prune, built with the feature `barrier` over the same built without it. \
         Without it accessors contain no test, so that there is nothing to measure",
    );
}
