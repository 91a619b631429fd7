//! Heap text: a line a class, a thread, a root or an object.
//!
//! `docs/heap-text.md` describes the language. Reading takes two walks over the text. The
//! first finds the classes: those declared (`classes.rs`) or, in a sketch that declares
//! none, those that its use of objects implies (`infer.rs`). The second knows all
//! classes and gathers objects and edges (`load.rs`). Both follow the same grammar
//! (`grammar.rs`). Writing is in `write.rs`.

mod classes;
mod cursor;
mod grammar;
mod hash;
mod infer;
mod load;
mod mistake;
mod names;
mod write;

use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::Snapshot;
use heaphound_heap::{ClassInfo, FieldKind};

use crate::Progress;
use crate::budget::Budget;
use load::Loader;
use mistake::Mistakes;
pub use mistake::{Mistake, TextErrors};
pub use write::write_text;

/// Reads heap text. Errors call it `name`; `progress` is called about once a
/// megabyte how many bytes of how many are done.
///
/// # Errors
/// All mistakes in it, up to a hundred.
pub fn read_text(bytes: &[u8], name: &str, progress: Progress<'_>) -> Result<Snapshot, TextErrors> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => return Err(mistake::not_utf8(bytes, name)),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut mistakes = Mistakes::new(text, name);
    let mut budget = Budget::for_input(text.len());
    let declared = classes::declared(text, &mut mistakes, &mut budget);
    let schema = declared.unwrap_or_else(|| infer::classes_of(text));
    let mut loader = Loader::new(text, schema, budget);
    grammar::read(text, &mut loader, &mut mistakes, progress);
    let heap = loader.finish(&mut mistakes);
    mistakes.finish()?;
    // What is missing has been reported as a mistake already.
    heap.map_err(|malformed| mistake::elsewhere(malformed, name))
}

/// Returns what an object takes that does not say its size, but for its elements.
fn fixed_bytes(class: &ClassInfo) -> u64 {
    let header = if class.elements.is_some() { 12 } else { 8 };
    let fields = class.fields.iter().map(|field| match field.kind {
        FieldKind::Plain(kind) => kind.bytes() as u64,
        FieldKind::Owned => 0,
        _ => 4,
    });
    header + fields.sum::<u64>()
}

/// Returns the same with that many elements, rounded up.
fn default_bytes(fixed: u64, class: &ClassInfo, length: usize) -> u64 {
    let width = match class.elements {
        None => 0,
        Some(Elements::Refs) => 4,
        Some(Elements::Plain(kind)) => kind.bytes() as u64,
        Some(Elements::Text) => 1,
    };
    (fixed + width * length as u64).next_multiple_of(8)
}
