//! The page around the parts.

use super::writer::Html;
use super::{bounds, chart, evidence, finding, graph, table, tree};
use crate::document::{Document, Names, Part, Section, Tone};
use crate::figures::count;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// What a browser compares the script with before it runs it. A test says when it must change.
const SCRIPT_HASH: &str = "sha256-exOnS63po/UoEOqkhbtI1HXTYl7ltxovJjmdr3/lCuA=";

/// Returns a document as a page.
pub fn put(document: &Document) -> String {
    let mut html = Html::default();
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    // No other script runs, whatever a name may have smuggled in, and nothing is loaded.
    html.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src '");
    html.raw(SCRIPT_HASH);
    html.raw("'; base-uri 'none'; form-action 'none'\">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.raw("<meta name=\"generator\" content=\"heaphound ")
        .raw(env!("CARGO_PKG_VERSION"))
        .raw("\">\n");
    html.raw("<title>");
    put_title(&mut html, document);
    html.raw("</title>\n<style>\n")
        .raw(STYLE)
        .raw("</style>\n</head>\n<body>\n<header>\n");
    put_header(&mut html, document);
    html.raw("</header>\n<main>\n");
    for (number, section) in document.sections.iter().enumerate() {
        put_section(&mut html, section, number);
    }
    html.raw("</main>\n<footer><p>Made by heaphound ")
        .raw(env!("CARGO_PKG_VERSION"));
    html.raw(". Everything is in this file.</p></footer>\n<script>")
        .raw(SCRIPT)
        .raw("</script>\n</body>\n</html>\n");
    html.finish()
}

fn put_title(html: &mut Html, document: &Document) {
    if !document.title.is_empty() {
        html.text(&document.title).raw(" – ");
    }
    html.text(&document.made_by);
}

fn put_header(html: &mut Html, document: &Document) {
    html.raw("<p class=\"made-by\">")
        .text(&document.made_by)
        .raw("</p>\n");
    if !document.title.is_empty() {
        html.raw("<h1>").text(&document.title).raw("</h1>\n");
    }
    if let Some(headline) = &document.headline {
        html.raw(match headline.tone {
            Tone::Plain => "<p class=\"headline\">",
            Tone::Good => "<p class=\"headline good\">",
            Tone::Warning => "<p class=\"headline warning\">",
            Tone::Bad => "<p class=\"headline bad\">",
        });
        html.lines(&headline.text).raw("</p>\n");
    }
    if !document.facts.is_empty() {
        html.raw("<dl class=\"facts\">");
        for fact in &document.facts {
            html.raw("<div><dt>").text(&fact.name).raw("</dt><dd>");
            html.text(&fact.value).raw("</dd></div>");
        }
        html.raw("</dl>\n");
    }
    if document.sections.len() > 2 {
        html.raw("<nav>");
        for (number, section) in document.sections.iter().enumerate() {
            html.raw("<a href=\"#s")
                .number(number + 1)
                .raw("\">")
                .text(&section.title)
                .raw("</a> ");
        }
        html.raw("</nav>\n");
    }
}

fn put_section(html: &mut Html, section: &Section, number: usize) {
    html.raw("<section id=\"s")
        .number(number + 1)
        .raw("\">\n<h2>")
        .text(&section.title)
        .raw("</h2>\n");
    let mut pictures = 0;
    for part in &section.parts {
        if matches!(
            part,
            Part::Chart(_) | Part::Graph(_) | Part::Treemap(_) | Part::Outline(_)
        ) {
            pictures += 1;
            if pictures > bounds::PICTURES {
                continue;
            }
        }
        put_part(html, part);
    }
    if let Some(left @ 1..) = pictures.checked_sub(bounds::PICTURES) {
        html.raw("<p class=\"more\">… and ")
            .number(left)
            .raw(" pictures more are not drawn</p>");
    }
    html.raw("</section>\n");
}

fn put_part(html: &mut Html, part: &Part) {
    match part {
        Part::Text(text) => {
            html.raw("<p>").text(text).raw("</p>\n");
        }
        Part::Note(note) => {
            html.raw("<p class=\"note\">").text(note).raw("</p>\n");
        }
        Part::Code(text) => {
            html.raw("<pre>").lines(text).raw("</pre>\n");
        }
        Part::Findings(findings) => finding::put(html, findings),
        Part::Evidence(evidence) => evidence::put_all(html, evidence),
        Part::Names(names) => put_names(html, names),
        Part::Table(table) => table::put(html, table),
        Part::Chart(chart) => chart::put(html, chart),
        Part::Graph(graph) => graph::put(html, graph),
        Part::Treemap(tree) => tree::put_areas(html, tree),
        Part::Outline(tree) => tree::put_outline(html, tree),
    }
}

fn put_names(html: &mut Html, names: &Names) {
    html.raw("<ul class=\"names\">");
    for name in names.listed.iter().take(bounds::NAMES) {
        html.raw("<li>").text(name).raw("</li>");
    }
    if names.listed.is_empty() && names.left_out == 0 {
        html.raw("<li class=\"s\">none</li>");
    }
    html.raw("</ul>");
    let hidden = names.listed.len().saturating_sub(bounds::NAMES) as u64;
    if hidden + names.left_out > 0 {
        html.raw("<p class=\"more\">… and ")
            .text(&count(hidden + names.left_out))
            .raw(" more</p>");
    }
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_policy_allows_the_script() {
        let hash = Sha256::digest(SCRIPT.as_bytes());
        assert_eq!(SCRIPT_HASH, format!("sha256-{}", base64(&hash)));
    }

    fn base64(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for three in bytes.chunks(3) {
            let mut word = [0; 3];
            word[..three.len()].copy_from_slice(three);
            let bits = u32::from_be_bytes([0, word[0], word[1], word[2]]);
            for digit in 0..4 {
                match digit <= three.len() {
                    true => text.push(char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63])),
                    false => text.push('='),
                }
            }
        }
        text
    }
}
