//! A series of snapshots, and how two of them differ.

use super::page::Page;
use super::table::put as put_table;
use super::{BOLD, DIM, PLAIN};
use crate::figures::{change, count};
use crate::growth::{Close, Differences, Growth};

/// Puts a series of snapshots in which `growing` structures grow.
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
            1 => format!("1 structure grows in {all} snapshots"),
            growing => format!("{growing} structures grow in {all} snapshots"),
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
    put_close(page, &growth.close);
}

/// How many classes are listed that are not reported.
const MOST_CLOSE: usize = 3;

/// Puts what has grown and is not reported, with what hides it.
fn put_close(page: &mut Page, close: &[Close]) {
    for it in close.iter().take(MOST_CLOSE) {
        let (before, after) = (it.bytes_before, it.bytes_after);
        let text = format!(
            "  close: {} grew from {} to {} bytes ({}), but {}",
            it.name,
            count(before),
            count(after),
            percent(before, after),
            it.reason
        );
        page.put(DIM, &text);
        page.end();
    }
    if let Some(left @ 1..) = close.len().checked_sub(MOST_CLOSE) {
        page.put(
            DIM,
            &format!("  … and {left} more that grew and are not reported"),
        );
        page.end();
    }
}

/// `+19 %`
fn percent(before: u64, after: u64) -> String {
    match before {
        0 => "new".into(),
        before => format!("+{:.0} %", (after as f64 / before as f64 - 1.0) * 100.0),
    }
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
