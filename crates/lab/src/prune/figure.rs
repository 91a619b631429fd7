//! Figure 1: reachable memory of EclipseDiff, with its leak, repaired, and with its leak pruned.

use std::fmt::Write;

use heaphound::PruningPolicy;

use super::{Plan, Run, live};
use crate::programs::Size;
use crate::programs::leaking::{LEAKING, Leaking};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
/// Room for what is written beside the axes.
const MARGIN: f64 = 56.0;

/// How many times the iterations of the plain run are drawn.
const TIMES: u64 = 8;

/// Returns the plot as SVG.
pub(super) fn draw(size: Size) -> String {
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
        ("leak", "#c0392b", &leak),
        ("leak, pruned", "#2471a3", &pruned),
        ("repaired", "#229954", &repaired),
    ];
    plot(program.heap_bytes(size), cap, &lines)
}

fn plot(heap_bytes: usize, cap: u64, lines: &[(&str, &str, &Run)]) -> String {
    let x = |iteration: u64| MARGIN + (WIDTH - 2.0 * MARGIN) * iteration as f64 / cap as f64;
    let y =
        |bytes: usize| HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * bytes as f64 / heap_bytes as f64;
    let (left, right, top, bottom) = (x(0), x(cap), y(heap_bytes), y(0));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>Reachable memory of EclipseDiff</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"black\"/>\n\
         <path d=\"M{left} {top}H{right}\" stroke=\"gray\" stroke-dasharray=\"4\"/>\n"
    );
    let mut text = |x: f64, y: f64, anchor: &str, words: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{words}</text>"
        );
    };
    for quarter in 0..=4 {
        let bytes = heap_bytes / 4 * quarter;
        let words = format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        text(left - 4.0, y(bytes) + 4.0, "end", &words);
        let iteration = cap / 4 * quarter as u64;
        text(
            x(iteration),
            bottom + 16.0,
            "middle",
            &iteration.to_string(),
        );
    }
    text((left + right) / 2.0, bottom + 34.0, "middle", "iterations");
    for (number, (name, color, run)) in lines.iter().enumerate() {
        let points = run.samples.iter();
        let points: Vec<String> = points
            .map(|it| format!("{:.1},{:.1}", x(it.iteration), y(it.reachable_bytes)))
            .collect();
        let (row, points) = (16.0 * number as f64, points.join(" "));
        let _ = writeln!(
            svg,
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>\n\
             <text x=\"{right:.0}\" y=\"{:.0}\" text-anchor=\"end\" fill=\"{color}\">{name}</text>",
            bottom - 40.0 + row,
        );
    }
    svg + "</svg>\n"
}
