//! How two heaps differ.

use super::{Cell, Document, Part, Table};
use crate::diff::Diff;
use crate::figures::{change, count, size};

pub(super) fn put(document: &mut Document, diff: &Diff) {
    let (before, after) = (&diff.before, &diff.after);
    document.title = format!("{} → {}", before.file, after.file);
    document.fact("live before", size(before.bytes));
    document.fact("live after", size(after.bytes));
    document.fact("bytes", change(before.bytes, after.bytes));
    document.fact("objects", change(before.objects, after.objects));
    let mut table = Table::new([
        "class",
        "objects",
        "more",
        "bytes",
        "more",
        "retained ≥",
        "more",
    ]);
    for it in &diff.classes {
        table.row([
            Cell::name(&it.name),
            Cell::Count(it.objects_after),
            Cell::Change(it.objects_before, it.objects_after),
            Cell::Count(it.bytes_after),
            Cell::Change(it.bytes_before, it.bytes_after),
            Cell::Count(it.retained_after),
            Cell::Change(it.retained_before, it.retained_after),
        ]);
    }
    table.left_out = diff.classes_left_out as u64;
    let section = document.section("Classes that differ");
    match diff.classes.is_empty() {
        true => section.push(Part::Text("No class differs.".into())),
        false => section.push(Part::Table(table)),
    }
    if let Some(new) = &diff.new {
        let section = document.section("New objects");
        let (objects, bytes) = (count(new.objects), size(new.bytes));
        section.push(Part::Text(format!("{objects} objects, {bytes}.")));
        let mut table = Table::new(["object", "retained", "caption"]);
        for it in &new.listed {
            table.row([
                Cell::name(&it.name),
                Cell::Count(it.retained_bytes),
                it.caption.clone().map_or(Cell::Empty, Cell::Text),
            ]);
        }
        table.left_out = new.left_out;
        section.push(Part::Table(table));
    }
    if !diff.notes.is_empty() {
        document.section("Notes").notes(&diff.notes);
    }
}
