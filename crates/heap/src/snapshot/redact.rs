//! Heaps without their contents: what the program worked on is dropped, how the heap is built stays.
//!
//! What stays: classes, fields and the names of both, sizes, lengths, edges, roots and threads with their names. What goes:
//! the values of plain fields, the elements of plain arrays, the text of strings.

use super::{Snapshot, Values};
use crate::view::HeapView;

/// What was dropped from a heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Redacted {
    /// Objects of which something was known.
    pub objects: usize,
    /// The bytes that it took.
    pub bytes: u64,
}

impl Snapshot {
    /// Drops the contents of strings and plain data, and notes that. Lengths stay, where they are known.
    pub fn redact(&mut self) -> Redacted {
        let mut redacted = Redacted::default();
        let mut lengths = Vec::new();
        for object in self.objects() {
            let known = self.values.of(object).len();
            redacted.objects += usize::from(known > 0);
            redacted.bytes += known as u64;
            // So far it may be known by the elements alone.
            if let Some(length) = self.length_of(object).and_then(|it| u32::try_from(it).ok()) {
                lengths.push((object.0, length));
            }
        }
        self.lengths = lengths;
        self.values = Values::default();
        self.texts.clear();
        self.captions.clear();
        self.notes.push(format!(
            "redacted: the values of plain fields, the elements of plain arrays and the text of strings are not here \
             ({} objects had some, {} bytes); classes, sizes, lengths, edges and all names are as they were",
            redacted.objects, redacted.bytes
        ));
        redacted
    }
}
