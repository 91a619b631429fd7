//! Waste, a table for each sort.

use super::page::Page;
use super::table::put as put_table;
use super::{BOLD, DIM, PLAIN, path};
use crate::figures::{count, percent};
use crate::waste::{PlaceCount, Row, Section, Waste};

/// Puts all sorts of waste.
pub fn put(page: &mut Page, heap: &str, waste: &Waste) {
    let (objects, bytes) = (count(waste.heap_objects), count(waste.heap_bytes));
    page.put(BOLD, heap);
    page.put(PLAIN, &format!(": {objects} live objects, {bytes} bytes"));
    page.end();
    for section in &waste.sections {
        page.end();
        put_section(page, section, waste.heap_bytes);
    }
}

fn put_section(page: &mut Page, section: &Section, heap_bytes: u64) {
    page.put(BOLD, section.title);
    let is_all_unknown = section.rows.is_empty() && section.not_known.is_some();
    match section.rows.is_empty() {
        true if is_all_unknown => {}
        true => page.put(PLAIN, ": none"),
        false => page.put(
            PLAIN,
            &format!(
                ": {} objects, {} bytes, {} of the heap",
                count(section.objects),
                count(section.bytes),
                percent(section.bytes, heap_bytes)
            ),
        ),
    }
    if let Some(why) = section.not_known {
        let so_far = if is_all_unknown {
            ": not known"
        } else {
            "; not all is known"
        };
        page.put(DIM, &format!("{so_far}: {why}"));
    }
    page.end();
    if section.rows.is_empty() {
        return;
    }
    let rows = section.rows.iter().map(|row| {
        let cells = vec![count(row.bytes), count(row.objects), places(&row.places)];
        (row.what.clone(), cells)
    });
    put_table(
        page,
        &["", "bytes", "objects", "where"],
        &rows.collect::<Vec<_>>(),
    );
    if section.left_out > 0 {
        page.put(
            DIM,
            &format!("  … and {} more", count(section.left_out as u64)),
        );
        page.end();
    }
    let shown = section
        .rows
        .iter()
        .find_map(|row: &Row| row.example.as_ref());
    if let Some(example) = shown {
        page.put(DIM, "  for example:");
        page.end();
        path::put(page, example, 4);
    }
}

/// `Customer.country (12)`
fn places(places: &[PlaceCount]) -> String {
    let shown = places.iter().map(|it| match it.references {
        1 => it.slot.clone(),
        many => format!("{} ({})", it.slot, count(many)),
    });
    shown.collect::<Vec<_>>().join(", ")
}
