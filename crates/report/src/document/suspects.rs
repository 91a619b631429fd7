//! What to look at first.

use heaphound_heap::finding::Finding;

use super::report::{put_findings, tone_of};
use super::{Cell, Document, Part, Table};
use crate::figures::{count, size};
use crate::suspects::{Suspect, Suspects};

pub(super) fn put(document: &mut Document, suspects: &Suspects, findings: &[Finding]) {
    let found = match suspects.list.len() {
        0 => "no suspects".to_string(),
        1 => "1 suspect".to_string(),
        many => format!("{many} suspects"),
    };
    document.headline(
        tone_of(findings),
        format!(
            "{found}: what retains {} or more",
            size(suspects.least_bytes)
        ),
    );
    document.fact("live", size(suspects.heap_bytes));
    document.fact("live objects", count(suspects.heap_objects));
    put_findings(document, findings);
    if suspects.list.is_empty() {
        return;
    }
    let mut table = Table::new([
        "suspect",
        "kind",
        "retained",
        "of all",
        "objects",
        "held through",
    ]);
    for it in &suspects.list {
        table.row([
            Cell::name(name(it)),
            Cell::Text(it.kind.into()),
            Cell::Count(it.retained_bytes),
            Cell::share(it.retained_bytes, suspects.heap_bytes),
            Cell::Count(it.retained_objects),
            it.through.clone().map_or(Cell::Empty, Cell::Name),
        ]);
    }
    document.section("Suspects").push(Part::Table(table));
    let section = document.section("What they retain, by class");
    section.push(Part::Table(contents(suspects)));
}

/// Returns the classes of what each suspect retains. A suspect may be a part of another, so that areas would show too much.
fn contents(suspects: &Suspects) -> Table {
    let mut table = Table::new(["suspect", "class", "bytes", "of the suspect", "objects"]);
    for suspect in &suspects.list {
        for it in &suspect.retains {
            table.row([
                Cell::Name(name(suspect)),
                Cell::name(&it.class),
                Cell::Count(it.bytes),
                Cell::share(it.bytes, suspect.retained_bytes),
                Cell::Count(it.objects),
            ]);
        }
    }
    table
}

fn name(suspect: &Suspect) -> String {
    match suspect.count {
        0 | 1 => suspect.name.clone(),
        many => format!("{} {}", count(many), suspect.name),
    }
}
