//! Tables: aligned rows of a name and some numbers.

use super::page::{Page, columns};
use super::{DIM, PLAIN};

/// A longer name gets a line that is not aligned. The other lines need not be as long.
const WIDEST_NAME: usize = 100;

/// Puts a table. One without rows says `none`.
pub fn put(page: &mut Page, titles: &[&str], rows: &[(String, Vec<String>)]) {
    let names = rows.iter().map(|(name, _)| columns(name));
    let names = names.filter(|width| *width <= WIDEST_NAME);
    let first = names.max().unwrap_or(0).max(columns(titles[0]));
    let column = |nth: usize| {
        let cells = rows.iter().map(|(_, cells)| columns(&cells[nth]));
        cells.max().unwrap_or(0).max(columns(titles[nth + 1]))
    };
    let widths: Vec<usize> = (0..titles.len() - 1).map(column).collect();
    let line = |name: &str, cells: &mut dyn Iterator<Item = &str>| {
        let mut line = format!("  {name}{}", blanks(first, name));
        for (cell, width) in cells.zip(&widths) {
            line.push_str(&format!("  {}{cell}", blanks(*width, cell)));
        }
        line
    };
    page.put(DIM, &line(titles[0], &mut titles[1..].iter().copied()));
    page.end();
    for (name, cells) in rows {
        page.put(PLAIN, &line(name, &mut cells.iter().map(String::as_str)));
        page.end();
    }
    if rows.is_empty() {
        page.put(PLAIN, "  none");
        page.end();
    }
}

/// Returns the blanks that fill a cell up. The standard library counts characters, not columns.
fn blanks(width: usize, text: &str) -> String {
    " ".repeat(width.saturating_sub(columns(text)))
}
