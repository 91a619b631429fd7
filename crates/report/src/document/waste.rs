//! What a program could do without.

use super::{Cell, Document, Part, Table};
use crate::figures::{count, percent, size};
use crate::waste::{PlaceCount, Section, Waste};

pub(super) fn put(document: &mut Document, waste: &Waste) {
    document.fact("live", size(waste.heap_bytes));
    document.fact("live objects", count(waste.heap_objects));
    let mut table = Table::new(["sort", "bytes", "of the heap", "objects"]);
    for it in waste.sections.iter().filter(|it| !it.rows.is_empty()) {
        table.row([
            Cell::Text(it.title.into()),
            Cell::Count(it.bytes),
            Cell::share(it.bytes, waste.heap_bytes),
            Cell::Count(it.objects),
        ]);
    }
    let section = document.section("Sorts of waste");
    match table.rows.is_empty() {
        true => section.push(Part::Text("Nothing was found.".into())),
        false => section.push(Part::Table(table)),
    }
    for it in &waste.sections {
        put_section(document, it, waste.heap_bytes);
    }
}

fn put_section(document: &mut Document, waste: &Section, heap_bytes: u64) {
    let mut title = waste.title.to_string();
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let section = document.section(title);
    let is_empty = waste.rows.is_empty();
    match (is_empty, waste.not_known) {
        (true, None) => section.push(Part::Text("None.".into())),
        (true, Some(why)) => section.push(Part::Note(format!("not known: {why}"))),
        (false, why) => {
            let (objects, bytes) = (count(waste.objects), size(waste.bytes));
            let share = percent(waste.bytes, heap_bytes);
            section.push(Part::Text(format!(
                "{objects} objects, {bytes}, {share} of the heap."
            )));
            if let Some(why) = why {
                section.push(Part::Note(format!("not all is known: {why}")));
            }
        }
    }
    if is_empty {
        return;
    }
    let mut table = Table::new(["what", "bytes", "objects", "where", "for example"]);
    for it in &waste.rows {
        let example = it.example.clone().map(|it| Cell::Path(Box::new(it)));
        table.row([
            Cell::name(&it.what),
            Cell::Count(it.bytes),
            Cell::Count(it.objects),
            Cell::Name(places(&it.places)),
            example.unwrap_or(Cell::Empty),
        ]);
    }
    table.left_out = waste.left_out as u64;
    section.push(Part::Table(table));
}

/// `Customer.country (12)`
fn places(places: &[PlaceCount]) -> String {
    let shown = places.iter().map(|it| match it.references {
        1 => it.slot.clone(),
        many => format!("{} ({})", it.slot, count(many)),
    });
    shown.collect::<Vec<_>>().join(", ")
}
