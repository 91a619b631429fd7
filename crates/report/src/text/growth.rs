//! A series of snapshots, and how two of them differ.

use super::page::Page;
use super::table::{change, count, put as put_table};
use super::{BOLD, DIM, PLAIN};
use crate::growth::{Differences, Growth};

/// Puts a series of snapshots in which `growing` classes grow.
pub fn put(page: &mut Page, growth: &Growth, growing: usize) {
    if let Some(differences) = &growth.differences {
        put_differences(page, growth, differences);
        page.end();
    }
    let all = growth.snapshots.len();
    page.put(
        BOLD,
        &match growing {
            0 => format!("nothing grows in {all} snapshots"),
            1 => format!("1 class grows in {all} snapshots"),
            growing => format!("{growing} classes grow in {all} snapshots"),
        },
    );
    if let (Some(first), Some(last)) = (growth.snapshots.first(), growth.snapshots.last()) {
        page.put(
            PLAIN,
            &format!(
                ": from {} to {} live bytes",
                count(first.bytes),
                count(last.bytes)
            ),
        );
    }
    page.end();
}

fn put_differences(page: &mut Page, growth: &Growth, differences: &Differences) {
    let Differences { from, to, .. } = differences;
    let file = |number: &usize| &growth.snapshots[number - 1].file;
    page.put(BOLD, &format!("{} → {}", file(from), file(to)));
    page.end();
    let rows = differences.classes.iter().map(|class| {
        let cells = vec![
            count(class.bytes_before),
            count(class.bytes_after),
            change(class.bytes_before, class.bytes_after),
            count(class.objects_before),
            count(class.objects_after),
            change(class.objects_before, class.objects_after),
        ];
        (class.name.clone(), cells)
    });
    let titles = [
        "classes", "bytes", "then", "more", "objects", "then", "more",
    ];
    put_table(page, &titles, &rows.collect::<Vec<_>>());
    if differences.classes_left_out > 0 {
        let left = differences.classes_left_out;
        page.put(DIM, &format!("  … and {left} more"));
        page.end();
    }
}
