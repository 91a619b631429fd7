//! Findings: one line each, to be opened.

use std::collections::HashMap;

use heaphound_heap::finding::{Finding, Severity};

use super::bounds;
use super::evidence::{put_all, put_object};
use super::writer::Html;

/// Puts findings, the worst first; those that are known come last.
pub fn put(html: &mut Html, findings: &[Finding]) {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|it| (it.known.is_some(), std::cmp::Reverse(it.severity)));
    if sorted.len() > 1 {
        html.raw("<p class=\"tools\" data-findings></p>");
    }
    if sorted.len() > bounds::FINDINGS {
        html.raw("<p class=\"more\">")
            .number(bounds::FINDINGS)
            .raw(" of ")
            .text(&crate::figures::count(sorted.len() as u64))
            .raw(" findings are shown, the worst first; <code>--json</code> has them all</p>");
    }
    let mut seen: HashMap<u64, usize> = HashMap::new();
    for (number, finding) in sorted.into_iter().take(bounds::FINDINGS).enumerate() {
        let print = finding.fingerprint();
        let nth = seen.entry(print.0).or_default();
        *nth += 1;
        let id = match nth {
            1 => format!("f-{print}"),
            nth => format!("f-{print}-{nth}"),
        };
        let open = number < bounds::OPEN_FINDINGS && finding.known.is_none();
        put_finding(html, finding, &id, open);
    }
}

fn put_finding(html: &mut Html, finding: &Finding, id: &str, open: bool) {
    html.raw("<details class=\"finding ")
        .raw(match (&finding.known, finding.severity) {
            (Some(_), _) => "known",
            (None, Severity::Note) => "note",
            (None, Severity::Warning) => "warning",
            (None, Severity::Error) => "error",
        });
    html.raw("\" id=\"")
        .text(id)
        .raw("\"")
        .raw(if open { " open>" } else { ">" });
    html.raw("<summary><span class=\"tag\">");
    if finding.known.is_some() {
        html.raw("known ");
    }
    html.text(&finding.severity.to_string())
        .raw("</span> <span class=\"message\">");
    html.text(&finding.message)
        .raw("</span> <span class=\"kind\">")
        .text(&finding.kind);
    html.raw("</span></summary>\n<div class=\"body\">");
    put_objects(html, finding);
    put_all(html, &finding.evidence);
    for note in &finding.notes {
        html.raw("<p class=\"note\">").text(note).raw("</p>");
    }
    html.raw("<dl class=\"meta\">");
    if let Some(known) = &finding.known {
        put_entry(html, "known", &known.to_string());
    }
    if let Some(place) = &finding.place {
        put_entry(html, "place", place);
    }
    if let Some(collection) = finding.collection {
        put_entry(html, "collection", &collection.to_string());
    }
    html.raw("<div><dt>fingerprint</dt><dd><a href=\"#")
        .text(id)
        .raw("\">");
    html.text(&finding.fingerprint().to_string())
        .raw("</a></dd></div></dl></div></details>\n");
}

fn put_objects(html: &mut Html, finding: &Finding) {
    // A path ends at the object that it is about.
    let is_shown = |name: &str| {
        finding
            .evidence
            .iter()
            .any(|it| it.path.last().name == name)
    };
    if finding.objects.iter().all(|it| is_shown(&it.name)) {
        return;
    }
    html.raw("<p class=\"objects\">");
    for (number, object) in finding.objects.iter().take(bounds::OBJECTS).enumerate() {
        if number > 0 {
            html.raw(" ");
        }
        put_object(html, object);
    }
    if let Some(left @ 1..) = finding.objects.len().checked_sub(bounds::OBJECTS) {
        html.raw(" <span class=\"s\">and ")
            .number(left)
            .raw(" more</span>");
    }
    html.raw("</p>");
}

fn put_entry(html: &mut Html, title: &'static str, text: &str) {
    html.raw("<div><dt>")
        .raw(title)
        .raw("</dt><dd>")
        .text(text)
        .raw("</dd></div>");
}
