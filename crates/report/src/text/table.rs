//! Tables: aligned rows of a name and some numbers.

use super::page::Page;
use super::{DIM, PLAIN};

/// Puts a table. One without rows says `none`.
pub fn put(page: &mut Page, titles: &[&str], rows: &[(String, Vec<String>)]) {
    let width = |text: &str| text.chars().count();
    let names = rows.iter().map(|(name, _)| width(name));
    let first = names.max().unwrap_or(0).max(width(titles[0]));
    let column = |nth: usize| {
        let cells = rows.iter().map(|(_, cells)| width(&cells[nth]));
        cells.max().unwrap_or(0).max(width(titles[nth + 1]))
    };
    let widths: Vec<usize> = (0..titles.len() - 1).map(column).collect();
    let line = |name: &str, cells: &mut dyn Iterator<Item = &str>| {
        let mut line = format!("  {name:first$}");
        for (cell, width) in cells.zip(&widths) {
            line.push_str(&format!("  {cell:>width$}"));
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

/// `1234567` as `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns how much more there is after than before: `+1,234`, `-5`.
pub fn change(before: u64, after: u64) -> String {
    match after >= before {
        true => format!("+{}", count(after - before)),
        false => format!("-{}", count(before - after)),
    }
}
