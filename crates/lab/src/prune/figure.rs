//! Figure 1: reachable memory of EclipseDiff, with its leak, repaired, and with its leak pruned.

use heaphound::report::receipts;
use heaphound::{Pruned, PruningPolicy};
use heaphound_report::document::{Axis, Chart, Line, Part, Section};

use super::{End, Plan, Run, live};
use crate::programs::Size;
use crate::programs::leaking::{LEAKING, Leaking};

/// How many times the iterations of the plain run are drawn.
const TIMES: u64 = 8;

/// The plot, and what was pruned.
pub(super) struct Figure {
    pub chart: Chart,
    pruned: Vec<Pruned>,
}

impl Figure {
    /// Returns it for a page.
    pub fn sections(self) -> [Section; 2] {
        let plot = Section {
            title: "figure 1".into(),
            parts: vec![Part::Chart(self.chart)],
        };
        [plot, receipts(&self.pruned)]
    }
}

/// Runs EclipseDiff three times.
pub(super) fn draw(size: Size) -> Figure {
    let eclipse = |it: &&Leaking| it.id == "eclipsediff";
    let program = LEAKING.iter().find(eclipse).expect("it is one of them");
    let leak = live(program, Plan::new(size, None, u64::MAX));
    let cap = leak.iterations * TIMES;
    let pruned = live(program, Plan::new(size, Some(PruningPolicy::Patient), cap));
    let repaired = Plan {
        leak: false,
        ..Plan::new(size, None, cap)
    };
    let repaired = live(program, repaired);
    let lines = [
        ("leak", &leak),
        ("leak, pruned", &pruned),
        ("repaired", &repaired),
    ];
    let limit = program.heap_bytes(size) as f64;
    Figure {
        chart: Chart {
            title: "Reachable memory of EclipseDiff, as the last full collection found it".into(),
            x: Axis::count("iterations"),
            y: Axis::bytes("reachable"),
            lines: lines.map(|(name, run)| line(name, run)).to_vec(),
            limit: Some(("the heap".into(), limit)),
        },
        pruned: pruned.pruned,
    }
}

fn line(name: &str, run: &Run) -> Line {
    let points = run.samples.iter();
    Line {
        name: name.into(),
        points: points
            .map(|it| (it.iteration as f64, it.reachable_bytes as f64))
            .collect(),
        breaks_off: matches!(run.end, End::Died(_)),
    }
}
