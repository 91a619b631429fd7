//! Reports for people, on a terminal.
//!
//! The text has colours. The caller strips them where they are not wanted. Names come from
//! files that anybody may have written, so `page.rs` lets no control character through.

mod baseline;
mod diff;
mod dominators;
mod growth;
mod info;
mod page;
mod path;
mod rules;
mod shapes;
mod suspects;
mod table;
mod waste;

use anstyle::{AnsiColor, Style};
use heaphound_heap::finding::{Evidence, Finding, Known, Severity, Shows};

use crate::answer::{Answer, Kind, Members, Verdict};
use crate::{Report, Written};
use page::Page;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const PLAIN: Style = Style::new();

/// Returns a report as text for a terminal of that many columns. `heap` is the file that the
/// report is about.
pub fn report(heap: &str, report: &Report, width: usize) -> String {
    let mut page = Page::new(width);
    match report {
        Report::Answer { answer, finding } => {
            put_answer(&mut page, answer, finding.is_some());
            if let Some(finding) = finding {
                put_finding(&mut page, finding);
            }
        }
        Report::Info(info) => info::put(&mut page, heap, info),
        Report::Written(written) => put_written(&mut page, written),
        Report::Rules(rules) => rules::put(&mut page, rules),
        Report::Growth { growth, findings } => {
            put_findings(&mut page, findings);
            growth::put(&mut page, growth, findings.len());
        }
        Report::Shapes { shapes, findings } => {
            shapes::put(&mut page, heap, shapes);
            put_findings(&mut page, findings);
        }
        Report::Dominators(tree) => dominators::put(&mut page, heap, tree),
        Report::Suspects { suspects, findings } => {
            put_findings(&mut page, findings);
            suspects::put(&mut page, suspects);
        }
        Report::Diff(diff) => diff::put(&mut page, diff),
        Report::Waste(waste) => waste::put(&mut page, heap, waste),
        Report::Explanation { text, .. }
        | Report::Formatted { text, .. }
        | Report::Summary { dot: text, .. } => return text.clone(),
        Report::Bytes(bytes) => return String::from_utf8_lossy(bytes).into_owned(),
        Report::Compared { report, baseline } => {
            let mut text = self::report(heap, report, width);
            baseline::put(&mut page, baseline);
            text.push_str(&page.finish());
            return text;
        }
    }
    page.finish()
}

/// Returns a finding as text for a terminal of that many columns.
pub fn finding(finding: &Finding, width: usize) -> String {
    let mut page = Page::new(width);
    put_finding(&mut page, finding);
    page.finish()
}

/// Returns a finding as text without colours, with all that is known of it.
pub fn plain_finding(finding: &Finding, width: usize) -> String {
    let mut page = Page::plain(width);
    put_whole(&mut page, finding);
    page.finish()
}

/// Returns the message of a job that could not be done, as text.
pub fn error(message: &str) -> String {
    let mut page = Page::new(usize::MAX);
    page.put(style_of(Severity::Error), "error");
    page.put(BOLD, ": ");
    for line in message.lines() {
        page.put(PLAIN, line);
        page.end();
    }
    page.finish()
}

/// Puts an answer; in short, if a finding says the rest.
fn put_answer(page: &mut Page, answer: &Answer, in_short: bool) {
    match &answer.verdict {
        Verdict::Truth { yes, expected } => {
            let word = |yes: bool| if yes { "yes" } else { "no" };
            page.put(BOLD, word(*yes));
            match in_short {
                true => page.put(DIM, &format!(" (expected {})", word(*expected))),
                false => page.put(PLAIN, &format!(": {}", answer.message)),
            }
            page.end();
        }
        // There is none, and the finding says so.
        Verdict::Set { members, .. } if in_short && members.of == Kind::Paths => {}
        Verdict::Set { members, expected } => {
            page.put(BOLD, &answer.message);
            if let Some(expected) = expected.filter(|_| in_short) {
                page.put(DIM, &format!(" (expected {})", expected.word()));
            }
            page.end();
            // The evidence shows the others, each with its path.
            if matches!(members.of, Kind::Objects | Kind::References) {
                put_members(page, members);
            }
        }
        Verdict::Value => {
            page.put(BOLD, &answer.message);
            page.end();
        }
    }
    if !in_short {
        put_evidence(page, &answer.evidence);
        put_notes(page, &answer.notes);
    }
}

fn put_members(page: &mut Page, members: &Members) {
    for member in &members.listed {
        page.put(PLAIN, &format!("  {member}"));
        page.end();
    }
    if members.left_out() > 0 {
        page.put(DIM, &format!("  … and {} more", members.left_out()));
        page.end();
    }
}

fn put_findings(page: &mut Page, findings: &[Finding]) {
    for finding in findings {
        put_finding(page, finding);
    }
}

fn put_finding(page: &mut Page, finding: &Finding) {
    match &finding.known {
        Some(known) => put_known(page, finding, known),
        None => put_whole(page, finding),
    }
}

/// Puts a finding that is known, in short: nobody has to look at it.
fn put_known(page: &mut Page, finding: &Finding, known: &Known) {
    page.put(
        DIM,
        &format!("known {}[{}]", finding.severity, finding.kind),
    );
    page.put(PLAIN, &format!(": {}", finding.message));
    page.end();
    put_entry(page, "known", &known.to_string());
    put_entry(page, "fingerprint", &finding.fingerprint().to_string());
}

fn put_whole(page: &mut Page, finding: &Finding) {
    let style = style_of(finding.severity);
    page.put(style, &format!("{}[{}]", finding.severity, finding.kind));
    page.put(BOLD, &format!(": {}", finding.message));
    page.end();
    let names: Vec<String> = finding.objects.iter().map(|it| it.to_string()).collect();
    put_entry(page, "objects", &names.join(", "));
    put_evidence(page, &finding.evidence);
    put_notes(page, &finding.notes);
    put_entry(page, "place", finding.place.as_deref().unwrap_or_default());
    if let Some(collection) = finding.collection {
        put_entry(page, "collection", &collection.to_string());
    }
    put_entry(page, "fingerprint", &finding.fingerprint().to_string());
}

/// Puts a line with a title, unless the text is empty.
fn put_entry(page: &mut Page, title: &str, text: &str) {
    if !text.is_empty() {
        page.put(DIM, &format!("  {title}: "));
        page.put(PLAIN, text);
        page.end();
    }
}

fn put_evidence(page: &mut Page, evidence: &[Evidence]) {
    for Evidence { shows, path } in evidence {
        let mut indent = 2;
        if *shows != Shows::Way {
            page.put(PLAIN, &format!("  {shows}:"));
            page.end();
            indent = 4;
        }
        path::put(page, path, indent);
    }
}

fn put_notes(page: &mut Page, notes: &[String]) {
    for note in notes {
        put_entry(page, "note", note);
    }
}

fn put_written(page: &mut Page, written: &Written) {
    let Written {
        file,
        format,
        objects,
        edges,
        file_bytes,
        notes,
    } = written;
    page.put(
        PLAIN,
        &format!("wrote {file} ({format}, {file_bytes} bytes): {objects} objects, {edges} edges"),
    );
    page.end();
    put_notes(page, notes);
}

fn style_of(severity: Severity) -> Style {
    let color = match severity {
        Severity::Note => AnsiColor::Cyan,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Error => AnsiColor::Red,
    };
    color.on_default().bold()
}
