//! Figure 1: reachable memory of EclipseDiff, with its leak, repaired, and with its leak pruned.

use heaphound::PruningPolicy;

use super::{End, Plan, Run, live};
use crate::programs::Size;
use crate::programs::leaking::{LEAKING, Leaking};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
/// Room for what is written beside the axes.
const LEFT: f64 = 72.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 56.0;

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
    let x = |iteration: u64| LEFT + (WIDTH - LEFT - RIGHT) * iteration as f64 / cap as f64;
    let y =
        |bytes: usize| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * bytes as f64 / heap_bytes as f64;
    let (left, right, top, bottom) = (x(0), x(cap), y(heap_bytes), y(0));
    let title = "Reachable memory of EclipseDiff, as the last full collection found it";
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{title}</title>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"black\"/>\n\
         <path d=\"M{left} {top}H{right}\" stroke=\"gray\" stroke-dasharray=\"4\"/>\n"
    );
    let mut add = |element: String| svg.extend([&element, "\n"]);
    let text = |x: f64, y: f64, anchor: &str, words: &str| {
        format!("<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{words}</text>")
    };
    add(text((left + right) / 2.0, 20.0, "middle", title));
    for quarter in 0..=4 {
        let bytes = heap_bytes / 4 * quarter;
        let words = format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20));
        add(text(left - 8.0, y(bytes) + 4.0, "end", &words));
        add(format!(
            "<path d=\"M{left} {0:.1}h-4\" stroke=\"black\"/>",
            y(bytes)
        ));
    }
    for iteration in (0..=cap).step_by(round_step(cap) as usize) {
        let at = x(iteration);
        add(text(at, bottom + 18.0, "middle", &iteration.to_string()));
        add(format!(
            "<path d=\"M{at:.1} {bottom}v4\" stroke=\"black\"/>"
        ));
    }
    add(text(
        (left + right) / 2.0,
        bottom + 38.0,
        "middle",
        "iterations",
    ));
    for (number, (name, color, run)) in lines.iter().enumerate() {
        let points = run.samples.iter();
        let points: Vec<String> = points
            .map(|it| format!("{:.1},{:.1}", x(it.iteration), y(it.reachable_bytes)))
            .collect();
        let (row, points) = (16.0 * number as f64, points.join(" "));
        add(format!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.5\"/>\n\
             <text x=\"{right:.0}\" y=\"{:.0}\" text-anchor=\"end\" fill=\"{color}\">{name}</text>",
            bottom - 40.0 + row,
        ));
        if let (End::Died(_), Some(last)) = (run.end, run.samples.last()) {
            let (x, y) = (x(last.iteration), y(last.reachable_bytes));
            add(format!(
                "<path d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\" stroke=\"{color}\" stroke-width=\"2\"/>",
                x - 4.0,
                y - 4.0
            ));
        }
    }
    svg + "</svg>\n"
}

/// Returns a round number of which about five make up a length: 1, 2 or 5, and zeros.
fn round_step(length: u64) -> u64 {
    let tens = 10u64.pow((length / 5).max(1).ilog10());
    let steps = [1, 2, 5].map(|it| it * tens);
    let largest = steps.into_iter().rev().find(|it| it * 5 <= length);
    largest.unwrap_or(1)
}

#[cfg(test)]
#[test]
fn ticks_are_round() {
    let steps = [1, 7, 40, 1160, 9999].map(round_step);
    assert_eq!(steps, [1, 1, 5, 200, 1000]);
}
