//! How findings differ from those that are known: what has vanished, then how many there are.

use super::page::Page;
use super::{BOLD, put_notes};
use crate::Compared;

pub fn put(page: &mut Page, baseline: &Compared) {
    let vanished: Vec<String> = baseline.vanished.iter().map(|it| it.to_string()).collect();
    if baseline.removed.is_none() {
        put_notes(page, &vanished);
    }
    let Compared {
        file, known, new, ..
    } = baseline;
    let mut line = format!("{known} known, {new} new");
    if !vanished.is_empty() {
        line.push_str(&format!(", {} not found", vanished.len()));
    }
    line.push_str(&format!(" ({file})"));
    page.put(BOLD, &line);
    page.end();
    let changes = [("added", baseline.added), ("removed", baseline.removed)];
    for (word, count) in changes {
        if let Some(count) = count.filter(|it| *it > 0) {
            page.put(BOLD, &format!("{word} {count}: {file}"));
            page.end();
        }
    }
}
