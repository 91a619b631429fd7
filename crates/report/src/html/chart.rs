//! Lines over an axis, drawn by `plotters`.
//!
//! Its colours stand for the page's own: the style replaces each by one that fits a light or a dark page. The legend is
//! HTML, so that names are set as all text is.

use plotters::prelude::*;

use super::bounds;
use super::writer::{Html, escaped};
use crate::document::{Chart, Line, Unit};
use crate::figures::{count, unit_of};

const SIZE: (u32, u32) = (920, 320);

/// What the style replaces: axes and ticks, lines behind, words, a limit.
const AXIS: RGBColor = RGBColor(1, 0, 1);
const GRID: RGBColor = RGBColor(1, 0, 2);
const WORDS: RGBColor = RGBColor(1, 0, 3);
const LIMIT: RGBColor = RGBColor(1, 0, 4);
/// The colours of lines. The style has as many.
const LINES: [RGBColor; bounds::LINES] = [
    RGBColor(2, 0, 1),
    RGBColor(2, 0, 2),
    RGBColor(2, 0, 3),
    RGBColor(2, 0, 4),
    RGBColor(2, 0, 5),
    RGBColor(2, 0, 6),
];
/// What they are on white, where there is no style.
const ON_WHITE: [(RGBColor, &str); 10] = [
    (AXIS, "#555555"),
    (GRID, "#DDDDDD"),
    (WORDS, "#333333"),
    (LIMIT, "#B3261E"),
    (LINES[0], "#2F5FBB"),
    (LINES[1], "#B4561B"),
    (LINES[2], "#2E7D4F"),
    (LINES[3], "#8A3FA0"),
    (LINES[4], "#8A6D00"),
    (LINES[5], "#00778A"),
];

/// Puts a chart. One without points says so.
pub fn put(html: &mut Html, chart: &Chart) {
    html.raw("<figure class=\"picture\"><figcaption>")
        .text(&chart.title)
        .raw("</figcaption>");
    match drawn(chart) {
        Some(svg) => {
            html.raw("<div class=\"scroll chart\">");
            let label = escaped(&chart.title);
            let start = format!("<svg role=\"img\" aria-label=\"{label}\" ");
            html.drawn(&svg.replacen("<svg ", &start, 1));
            html.raw("</div><ul class=\"legend\">");
            for (number, line) in chart.lines.iter().take(bounds::LINES).enumerate() {
                html.raw("<li class=\"k")
                    .number(number + 1)
                    .raw("\">")
                    .text(&line.name)
                    .raw("</li>");
            }
            if let Some((name, _)) = &chart.limit {
                html.raw("<li class=\"limit\">").text(name).raw("</li>");
            }
            if let Some(left @ 1..) = chart.lines.len().checked_sub(bounds::LINES) {
                html.raw("<li class=\"more\">… and ")
                    .number(left)
                    .raw(" more</li>");
            }
            html.raw("</ul>")
        }
        None => html.raw("<p class=\"s\">There is nothing to draw.</p>"),
    };
    html.raw("</figure>\n");
}

/// Returns a chart as a file of its own, with its title and its legend in it.
pub fn alone(chart: &Chart) -> String {
    let mut svg = drawn(chart)
        .unwrap_or_else(|| "<svg xmlns=\"http://www.w3.org/2000/svg\">\n</svg>\n".into());
    for (stands_for, color) in ON_WHITE {
        svg = svg.replace(&hex(stands_for), color);
    }
    let mut words = format!(
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <g font-family=\"sans-serif\" font-size=\"13\">\n\
         <text x=\"{}\" y=\"16\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>\n",
        SIZE.0 / 2,
        escaped(&chart.title)
    );
    for (number, line) in chart.lines.iter().take(bounds::LINES).enumerate() {
        let (y, color) = (44 + 17 * number, ON_WHITE[4 + number].1);
        let name = escaped(&line.name);
        words += &format!(
            "<text x=\"{}\" y=\"{y}\" text-anchor=\"end\" fill=\"{color}\">{name}</text>\n",
            SIZE.0 - 24
        );
    }
    words += "</g>\n";
    // What is white must be behind all else.
    let behind = svg.find(">\n").map_or(0, |it| it + 2);
    svg.insert_str(behind, &words);
    svg
}

fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// Returns the lines and the axes as SVG, if there is anything to draw.
fn drawn(chart: &Chart) -> Option<String> {
    let lines = chart.lines.iter().take(bounds::LINES);
    let lines: Vec<Vec<(f64, f64)>> = lines.map(thinned).collect();
    let points = || lines.iter().flatten();
    points().next()?;
    let limit = chart
        .limit
        .as_ref()
        .map(|it| it.1)
        .filter(|it| it.is_finite());
    let least = points().map(|it| it.0).fold(f64::INFINITY, f64::min);
    let most = points().map(|it| it.0).fold(f64::NEG_INFINITY, f64::max);
    // Chart without width: one point is drawn in its middle.
    let (least, most) = match most > least {
        true => (least, most),
        false => (least - 0.5, most + 0.5),
    };
    let highest = points().map(|it| it.1).chain(limit).fold(0.0, f64::max);
    let highest = if highest > 0.0 { highest } else { 1.0 };
    let x = Scale::of(chart.x.unit, most);
    let y = Scale::of(chart.y.unit, highest);
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
    let mut plot = ChartBuilder::on(&area)
        .margin_top(24)
        .margin_right(24)
        .margin_bottom(4)
        .x_label_area_size(44)
        .y_label_area_size(76)
        .build_cartesian_2d(least / x.size..most / x.size, 0.0..highest * 1.05 / y.size)
        .ok()?;
    let words = || ("sans-serif", 13).into_font().color(&WORDS);
    plot.configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(AXIS)
        .label_style(words())
        .axis_desc_style(words())
        .x_desc(x.title(&chart.x.title))
        .y_desc(y.title(&chart.y.title))
        .x_labels(8)
        .y_labels(6)
        .x_label_formatter(&|value| tick(*value))
        .y_label_formatter(&|value| tick(*value))
        .draw()
        .ok()?;
    if let Some(limit) = limit {
        let ends = [least, most].map(|it| (it / x.size, limit / y.size));
        plot.draw_series(LineSeries::new(ends, LIMIT.stroke_width(1)))
            .ok()?;
    }
    for ((line, color), told) in lines.iter().zip(LINES).zip(&chart.lines) {
        let points: Vec<(f64, f64)> = line
            .iter()
            .map(|it| (it.0 / x.size, it.1 / y.size))
            .collect();
        if points.len() <= FEW {
            let dots = points.iter().map(|it| Circle::new(*it, 3, color.filled()));
            plot.draw_series(dots).ok()?;
        }
        if let (true, Some(end)) = (told.breaks_off, points.last()) {
            let cross = Cross::new(*end, 6, color.stroke_width(2));
            plot.draw_series([cross]).ok()?;
        }
        plot.draw_series(LineSeries::new(points, color.stroke_width(2)))
            .ok()?;
    }
    drop(plot);
    area.present().ok()?;
    drop(area);
    Some(svg)
}

/// Points up to this number are drawn as dots, too.
const FEW: usize = 24;

/// In what an axis counts.
struct Scale {
    size: f64,
    unit: Option<&'static str>,
}

impl Scale {
    /// Returns a unit of which round numbers are round, for numbers up to `most`.
    fn of(unit: Unit, most: f64) -> Self {
        match unit {
            Unit::Bytes => {
                let (unit, size) = unit_of(most as u64);
                let (size, unit) = (size as f64, Some(unit));
                Self { size, unit }
            }
            Unit::Count => Self {
                size: 1.0,
                unit: None,
            },
        }
    }

    fn title(&self, title: &str) -> String {
        match self.unit {
            Some(unit) => format!("{title} ({unit})"),
            None => title.into(),
        }
    }
}

/// Returns a number beside an axis.
fn tick(value: f64) -> String {
    match value.abs() {
        many if many >= 1000.0 => count(value.max(0.0).round() as u64),
        _ => {
            let text = format!("{value:.2}");
            text.trim_end_matches('0').trim_end_matches('.').into()
        }
    }
}

/// Returns the points of a line, or the lowest and the highest of each stretch if there are many.
fn thinned(line: &Line) -> Vec<(f64, f64)> {
    let is_finite = |it: &&(f64, f64)| it.0.is_finite() && it.1.is_finite();
    let points: Vec<(f64, f64)> = line.points.iter().filter(is_finite).copied().collect();
    if points.len() <= bounds::POINTS {
        return points;
    }
    let stretch = points.len().div_ceil(bounds::POINTS / 2);
    let mut kept = Vec::new();
    for points in points.chunks(stretch) {
        let by = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let mut ends: Vec<(f64, f64)> = points.iter().min_by(by).into_iter().copied().collect();
        ends.extend(points.iter().max_by(by));
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.dedup();
        kept.append(&mut ends);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Axis;

    fn chart(points: Vec<(f64, f64)>) -> Chart {
        Chart {
            title: "<live>".into(),
            x: Axis::count("collection"),
            y: Axis::bytes("live"),
            lines: vec![Line {
                name: "a & b".into(),
                points,
                breaks_off: true,
            }],
            limit: Some(("the heap".into(), 4096.0)),
        }
    }

    #[test]
    fn charts_are_well_formed_whatever_the_points_are() {
        let odd = [
            vec![],
            vec![(1.0, 2.0)],
            vec![(0.0, 0.0), (1.0, 0.0)],
            vec![(f64::NAN, 1.0), (1.0, f64::INFINITY)],
            vec![(0.0, 1e18), (1e15, 1e19)],
            (0..100_000)
                .map(|it| (f64::from(it), f64::from(it % 977)))
                .collect(),
        ];
        for points in odd {
            let svg = alone(&chart(points));
            assert!(svg.len() < 100_000, "{}", svg.len());
            roxmltree::Document::parse(&svg).expect("well formed");
            let mut html = Html::default();
            put(&mut html, &chart(vec![(0.0, 1.0), (2.0, 3.0)]));
            let html = html.finish();
            assert!(html.contains("&lt;live&gt;") && html.contains("a &amp; b"));
        }
    }

    #[test]
    fn thinning_keeps_the_lowest_and_the_highest() {
        let mut points: Vec<(f64, f64)> = (0..50_000).map(|it| (f64::from(it), 5.0)).collect();
        points[12_345].1 = 99.0;
        points[23_456].1 = 1.0;
        let line = Line {
            name: String::new(),
            points,
            breaks_off: false,
        };
        let kept = thinned(&line);
        assert!(kept.len() <= bounds::POINTS);
        assert!(kept.contains(&(12_345.0, 99.0)) && kept.contains(&(23_456.0, 1.0)));
    }
}
