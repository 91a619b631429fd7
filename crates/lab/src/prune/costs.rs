//! Section 5: what leak pruning costs programs that do not leak, with its states forced.

use std::time::Duration;

use heaphound::{Pruning, PruningState, stats::Kind};

use crate::measure::{geometric_mean, median, percent, thread_time};
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
    // Collections are on this thread, too.
    let begin = thread_time();
    let outcome = program.run(&mut m, size, &mut |_| {});
    let total = thread_time() - begin;
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
        true => report.note("off_pct needs other builds, and is left out when it must be quick"),
        false => {
            progress("the instructions of accessors without the barrier");
            off(report);
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

/// The instructions of programs that read references, built without the barrier, over those of accessors that have no test.
fn off(report: &mut Report) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/barrier.sh");
    let figures = match builds::figures("bash".as_ref(), &[script, "--code"]) {
        Ok(figures) => figures,
        Err(why) => return report.note(format!("off_pct was left out: {why}")),
    };
    let figure = |name: &str| figures.iter().find(|it| it.0 == name).map(|it| it.1);
    let (Some(same), Some(percent)) = (figure("off_same"), figure("off_pct")) else {
        return report.note("off_pct was left out: benches/barrier.sh has not said it");
    };
    report.lower("prune.off_pct", None, percent, "%");
    let same = match same == 1.0 {
        true => "they are the same, one by one",
        false => "they are not the same, one by one",
    };
    report.note(format!(
        "off_pct: instructions of three walks built without the feature `barrier`, over those of the same walks with accessors from \
         whose source the test was taken out; {same} (benches/barrier.sh --code)"
    ));
}
