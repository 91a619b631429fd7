//! The last line about suspects; each is a finding.

use super::page::Page;
use super::{BOLD, PLAIN};
use crate::figures::{count, percent};
use crate::suspects::Suspects;

/// Puts how many there are.
pub fn put(page: &mut Page, suspects: &Suspects) {
    let found = match suspects.list.len() {
        0 => "no suspects".to_string(),
        1 => "1 suspect".to_string(),
        many => format!("{many} suspects"),
    };
    page.put(BOLD, &found);
    let Suspects {
        heap_objects,
        heap_bytes,
        least_bytes,
        ..
    } = *suspects;
    let rest = format!(
        ": what retains {} bytes or more, {} of the {} bytes of {} live objects",
        count(least_bytes),
        percent(least_bytes, heap_bytes),
        count(heap_bytes),
        count(heap_objects)
    );
    page.put(PLAIN, &rest);
    page.end();
}
