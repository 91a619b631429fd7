//! How two heaps differ, in tables.

use super::page::Page;
use super::table::put as put_table;
use super::{BOLD, DIM, PLAIN, put_notes};
use crate::diff::Diff;
use crate::figures::{change, count};

/// Puts how two heaps differ.
pub fn put(page: &mut Page, diff: &Diff) {
    let (before, after) = (&diff.before, &diff.after);
    page.put(BOLD, &format!("{} → {}", before.file, after.file));
    page.end();
    let row = |title: &str, before: u64, after: u64| {
        let cells = vec![count(before), count(after), change(before, after)];
        (title.to_string(), cells)
    };
    let rows = [
        row("objects", before.objects, after.objects),
        row("bytes", before.bytes, after.bytes),
    ];
    put_table(page, &["live", "before", "after", "more"], &rows);
    page.end();
    let rows = diff.classes.iter().map(|it| {
        let cells = vec![
            count(it.objects_after),
            change(it.objects_before, it.objects_after),
            count(it.bytes_after),
            change(it.bytes_before, it.bytes_after),
            count(it.retained_after),
            change(it.retained_before, it.retained_after),
        ];
        (it.name.clone(), cells)
    });
    let titles = [
        "classes", "objects", "more", "bytes", "more", "retained", "more",
    ];
    put_table(page, &titles, &rows.collect::<Vec<_>>());
    if diff.classes_left_out > 0 {
        page.put(DIM, &format!("  … and {} more", diff.classes_left_out));
        page.end();
    }
    if let Some(new) = &diff.new {
        page.end();
        let title = format!(
            "new objects ({}, {} bytes)",
            count(new.objects),
            count(new.bytes)
        );
        let rows = new.listed.iter().map(|it| {
            let name = match &it.caption {
                Some(caption) => format!("{} ({caption})", it.name),
                None => it.name.clone(),
            };
            (name, vec![count(it.retained_bytes)])
        });
        put_table(page, &[&title, "retained"], &rows.collect::<Vec<_>>());
        if new.left_out > 0 {
            page.put(DIM, &format!("  … and {} more", count(new.left_out)));
            page.end();
        }
    }
    if diff.classes.is_empty() {
        page.put(PLAIN, "  no class differs");
        page.end();
    }
    put_notes(page, &diff.notes);
}
