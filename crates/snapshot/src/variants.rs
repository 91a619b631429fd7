//! The variants of enums that come from files.
//!
//! A kind of plain data is copied into every field and value, and a live heap has its
//! variant names in the program text; so they are `&'static`. Those of a file are kept
//! for the life of the process, each list once.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// What is kept may take this much. Reading many hostile files, one after the other, does
/// no more harm than that; and a single one no more than its own size.
const MOST_BYTES: usize = 64 << 20;

/// A value of an enum takes a byte.
pub const MOST_VARIANTS: usize = 256;

#[derive(Default)]
struct Table {
    names: HashSet<&'static str>,
    lists: HashSet<&'static [&'static str]>,
    bytes: usize,
}

static TABLE: Mutex<Option<Table>> = Mutex::new(None);

/// These names, for the life of the process; nothing if the table is full.
pub fn intern(names: &[&str]) -> Option<&'static [&'static str]> {
    let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    let table = table.get_or_insert_default();
    let known: Option<Vec<&'static str>> = names
        .iter()
        .map(|&name| table.names.get(name).copied())
        .collect();
    if let Some(list) = known.and_then(|known| table.lists.get(known.as_slice())) {
        return Some(list);
    }
    let new = names.iter().filter(|&&name| !table.names.contains(name));
    let cost = size_of_val(names) + new.map(|name| name.len() + 32).sum::<usize>() + 32;
    if table.bytes + cost > MOST_BYTES {
        return None;
    }
    table.bytes += cost;
    let mut kept = Vec::with_capacity(names.len());
    for &name in names {
        let known = table.names.get(name).copied();
        kept.push(known.unwrap_or_else(|| {
            let name: &'static str = Box::leak(name.into());
            table.names.insert(name);
            name
        }));
    }
    let list: &'static [&'static str] = Box::leak(kept.into());
    table.lists.insert(list);
    Some(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_names_are_kept_once() {
        let first = intern(&["red", "green"]).unwrap();
        let again = intern(&["red", "green"]).unwrap();
        let other = intern(&["green", "red"]).unwrap();
        assert!(std::ptr::eq(first, again));
        assert!(std::ptr::eq(first[0], other[1]));
    }
}
