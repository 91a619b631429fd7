//! Texts that are there more than once.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;

use super::{Draft, NO_VALUES};
use crate::dominator::Dominators;

/// The most characters of a text that are shown.
const MOST_CHARS: usize = 60;

/// Finds texts that several objects have. All but one of them are wasted, each with what it alone retains: the array
/// in which it has its text, if it shares that with no other.
pub fn find(heap: &Snapshot, dominators: &Dominators) -> Draft {
    let mut draft = Draft::new("duplicate-strings", "duplicate strings");
    let is_text: Vec<bool> = heap
        .classes()
        .iter()
        .map(|class| class.elements == Some(Elements::Text))
        .collect();
    if !is_text.contains(&true) {
        return draft;
    }
    // Texts are told apart by hash first, so that they need not all be in memory at once.
    let hasher = FixedState::default();
    let mut by_hash: HashMap<u64, Vec<ObjectId>, FixedState> = HashMap::default();
    let (mut known, mut unknown) = (0_u64, 0_u64);
    for object in dominators.objects() {
        if !is_text[heap.class_of(object).0 as usize - 1] {
            continue;
        }
        match heap.whole_text_of(object) {
            Some(text) => {
                known += 1;
                by_hash
                    .entry(hasher.hash_one(&text))
                    .or_default()
                    .push(object);
            }
            None => unknown += 1,
        }
    }
    if unknown > 0 {
        draft.not_known = Some(match known {
            0 => NO_VALUES,
            _ => "the file does not have all texts",
        });
    }
    for objects in by_hash.into_values().filter(|it| it.len() > 1) {
        let mut by_text: HashMap<String, Vec<ObjectId>> = HashMap::new();
        for object in objects {
            if let Some(text) = heap.text_of(object) {
                by_text.entry(text).or_default().push(object);
            }
        }
        for (text, mut objects) in by_text {
            if objects.len() < 2 {
                continue;
            }
            objects.sort_unstable();
            let retained = objects.iter().map(|it| dominators.retained_bytes(*it));
            let largest = retained.clone().max().unwrap_or(0);
            let bytes = retained.fold(0, u64::saturating_add) - largest;
            draft.add(shown(&text), bytes, objects.len() - 1, objects);
        }
    }
    draft
}

/// A text in quotes, shortened.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(MOST_CHARS).collect();
    match start.len() == text.len() {
        true => format!("{start:?}"),
        false => format!("{start:?}… ({} characters)", text.chars().count()),
    }
}
