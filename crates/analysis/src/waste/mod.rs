//! Waste: what a program could do without, and where it is.
//!
//! Each file looks for one sort of it among what lives: texts that are there more than once
//! (`texts.rs`), collections with nothing or little in them (`collections.rs`), numbers in boxes
//! (`boxes.rs`), arrays of one value (`arrays.rs`). `holdings.rs` tells what thread locals and class loaders
//! hold, which is not waste by itself but is often forgotten.
//!
//! How many bytes are *wasted* is what would be saved at least; what else hangs on it is not counted. A sort for which the
//! heap has no data is not known, and says so. Where wasted objects are is told by the slots that refer to them
//! (`places.rs`).

mod arrays;
mod boxes;
mod collections;
mod holdings;
mod places;
mod texts;

use heaphound_heap::snapshot::{ObjectId, Snapshot};

use crate::dominator::Dominators;

pub use places::PlaceCount;

/// A sort of waste, or of what is held.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its name for programs: `duplicate-strings`.
    pub kind: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// How many objects are wasted, in all rows.
    pub objects: u64,
    /// How many bytes.
    pub bytes: u64,
    /// What it consists of, most bytes first.
    pub rows: Vec<Row>,
    /// Rows that are not listed.
    pub left_out: usize,
    /// Why nothing, or not everything, is known.
    pub not_known: Option<&'static str>,
}

/// A part of a section.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is: a text, a class.
    pub what: String,
    /// How many objects there are of it, those that are needed included.
    pub objects: u64,
    /// The bytes that could be saved, or are held.
    pub bytes: u64,
    /// The slots that refer to them, most first.
    pub places: Vec<PlaceCount>,
    /// One of them.
    pub example: ObjectId,
}

/// What the heap would have to have.
const NO_VALUES: &str = "the file has no plain data";

/// The most places that are listed of a row.
const MOST_PLACES: usize = 3;

/// Returns all sorts of waste of a heap; of each, at most `most` rows.
pub fn waste(heap: &Snapshot, dominators: &Dominators, most: usize) -> Vec<Section> {
    let mut drafts = vec![
        texts::find(heap, dominators),
        collections::empty(heap, dominators),
        collections::sparse(heap, dominators),
        boxes::find(heap, dominators),
        arrays::find(heap, dominators),
        holdings::thread_locals(heap, dominators),
        holdings::class_loaders(heap, dominators),
    ];
    for draft in &mut drafts {
        let all = &mut draft.rows;
        all.sort_by(|a, b| (b.bytes, &a.what).cmp(&(a.bytes, &b.what)));
        draft.left_out = all.len().saturating_sub(most);
        all.truncate(most);
    }
    places::add(heap, dominators, &mut drafts);
    drafts.into_iter().map(Draft::finish).collect()
}

/// A section without its places.
struct Draft {
    kind: &'static str,
    title: &'static str,
    objects: u64,
    bytes: u64,
    rows: Vec<DraftRow>,
    left_out: usize,
    not_known: Option<&'static str>,
}

struct DraftRow {
    what: String,
    bytes: u64,
    members: Vec<ObjectId>,
    places: Vec<PlaceCount>,
}

impl Draft {
    fn new(kind: &'static str, title: &'static str) -> Self {
        Self {
            kind,
            title,
            objects: 0,
            bytes: 0,
            rows: Vec::new(),
            left_out: 0,
            not_known: None,
        }
    }

    /// Adds a row: what it is, the bytes that could be saved, how many objects these are, and all objects
    /// that it is about, at least one.
    fn add(&mut self, what: String, bytes: u64, wasted: usize, members: Vec<ObjectId>) {
        self.objects += wasted as u64;
        self.bytes = self.bytes.saturating_add(bytes);
        self.rows.push(DraftRow {
            what,
            bytes,
            members,
            places: Vec::new(),
        });
    }

    fn finish(self) -> Section {
        let row = |it: DraftRow| Row {
            what: it.what,
            objects: it.members.len() as u64,
            bytes: it.bytes,
            places: it.places,
            example: it.members[0],
        };
        Section {
            kind: self.kind,
            title: self.title,
            objects: self.objects,
            bytes: self.bytes,
            rows: self.rows.into_iter().map(row).collect(),
            left_out: self.left_out,
            not_known: self.not_known,
        }
    }
}

/// Adds up the bytes that objects take.
fn bytes_of(heap: &Snapshot, objects: &[ObjectId]) -> u64 {
    use heaphound_heap::view::HeapView;
    let bytes = objects.iter().map(|it| heap.bytes_of(*it) as u64);
    bytes.fold(0, u64::saturating_add)
}
