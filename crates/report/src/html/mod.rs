//! Reports as one HTML file that needs nothing else.
//!
//! The file has its style and its script in it, loads nothing, and can be read with scripts switched off: what opens and closes are the
//! browser's own `details`, and tables come sorted. Names are from files that anybody may have written, so that text
//! gets in through [`writer`] alone, which escapes it; a policy in the file allows its own script and no
//! other. Everything has a bound ([`bounds`]), and what is left out is said.
//!
//! Elsewhere: what is shown (`document`). Lines are drawn by `plotters`, graphs are placed by `layers.rs`.

mod bounds;
mod chart;
mod evidence;
mod finding;
mod graph;
mod layers;
mod page;
mod table;
mod tree;
mod writer;

use crate::document::{Document, Tone, of_report};
use crate::{About, Report};

/// Returns a report of a command as an HTML file.
pub fn report(about: &About<'_>, report: &Report) -> String {
    document(&of_report(about, report))
}

/// Returns the error of a command that could not do its job, as an HTML file.
pub fn error(about: &About<'_>, message: &str) -> String {
    let mut said = Document::new(about.heap, format!("heaphound {}", about.command));
    said.headline(Tone::Bad, message);
    document(&said)
}

/// Returns a document as an HTML file.
pub fn document(document: &Document) -> String {
    page::put(document)
}

/// Returns a chart as an SVG file of its own, on white.
pub fn chart_svg(chart: &crate::document::Chart) -> String {
    chart::alone(chart)
}
