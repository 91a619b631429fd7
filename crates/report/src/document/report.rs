//! Turns the report of a command into a document.

use heaphound_heap::finding::{Finding, Severity};

use super::{Document, Names, Part, Tone, answer, diff, dominators, growth, info, rules, shapes};
use super::{suspects, waste};
use crate::{About, Compared, Report};

/// Returns the report of a command as a document.
pub fn of_report(about: &About<'_>, report: &Report) -> Document {
    let mut document = Document::new(about.heap, format!("heaphound {}", about.command));
    if !about.notes.is_empty() {
        document
            .section("What is to be said of the file")
            .notes(about.notes);
    }
    put(&mut document, report);
    document
}

fn put(document: &mut Document, report: &Report) {
    match report {
        Report::Answer { answer, finding } => answer::put(document, answer, finding.as_deref()),
        Report::Info(info) => info::put(document, info),
        Report::Rules(rules) => rules::put(document, rules),
        Report::Growth { growth, findings } => growth::put(document, growth, findings),
        Report::Shapes { shapes, findings } => shapes::put(document, shapes, findings),
        Report::Dominators(tree) => dominators::put(document, tree),
        Report::Suspects { suspects, findings } => suspects::put(document, suspects, findings),
        Report::Diff(diff) => diff::put(document, diff),
        Report::Waste(waste) => waste::put(document, waste),
        Report::Summary { graph, .. } => {
            let section = document.section("Classes and the references between them");
            section.push(Part::Graph((**graph).clone()));
        }
        Report::Written(written) => {
            let text = format!("wrote {} ({})", written.file, written.format);
            document.headline(Tone::Plain, text);
        }
        Report::Explanation { text, .. } | Report::Formatted { text, .. } => {
            let section = document.section("Text");
            section.push(Part::Code(text.clone()));
        }
        Report::Bytes(_) => {}
        Report::Compared { report, baseline } => {
            put(document, report);
            put_baseline(document, baseline);
        }
    }
}

/// Puts how findings differ from those that are known.
fn put_baseline(document: &mut Document, baseline: &Compared) {
    let Compared {
        file, known, new, ..
    } = baseline;
    document.fact("known", known.to_string());
    document.fact("new", new.to_string());
    let section = document.section("Baseline");
    let text = format!("{known} known, {new} new ({file})");
    section.push(Part::Text(text));
    if !baseline.vanished.is_empty() {
        let listed = baseline.vanished.iter().map(|it| it.to_string());
        section.push(Part::Names(Names {
            listed: listed.collect(),
            left_out: 0,
        }));
    }
}

/// Puts findings into a section of their own, if there are any.
pub(super) fn put_findings(document: &mut Document, findings: &[Finding]) {
    if !findings.is_empty() {
        let section = document.section("Findings");
        section.push(Part::Findings(findings.to_vec()));
    }
}

/// Returns how bad the worst of some findings is.
pub(super) fn tone_of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Tone {
    let failures = findings.into_iter().filter(|it| it.is_failure());
    match failures.map(|it| it.severity).max() {
        Some(Severity::Error) => Tone::Bad,
        Some(Severity::Warning) => Tone::Warning,
        _ => Tone::Plain,
    }
}
