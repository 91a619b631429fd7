//! Reads heaps, rules and profiles, with errors that a person can act on.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use heaphound_heap::snapshot::Snapshot;
use heaphound_snapshot::{Format, most_heap_bytes, read_at_most, read_heap_bytes};

use crate::problem::Problem;
use crate::progress::Progress;

/// Rules and profiles are written by people. What is larger than this was not meant.
const MOST_TEXT_BYTES: u64 = 64 << 20;

/// The variable that says how many bytes a heap may have.
const MOST_HEAP_BYTES: &str = "HEAPHOUND_MAX_INPUT";

/// Reads the heap in a file, or from stdin if the file is called `-`.
pub fn read_heap(path: &Path, progress: &Progress) -> Result<Snapshot, Problem> {
    let name = path.display();
    if !is_stdin(path) && path.is_dir() {
        return Err(Problem::new(format!("{name} is a directory, not a heap")));
    }
    let not_heap = || Problem::new(format!("{name} is neither a binary heap nor heap text"));
    let most = most_bytes()?;
    let bytes = read(path, |from| read_heap_bytes(from, most));
    let bytes = bytes.map_err(|error| match error.kind() {
        ErrorKind::InvalidData => not_heap(),
        ErrorKind::FileTooLarge => Problem::cannot_read(path, &error)
            .hint(format!("set {MOST_HEAP_BYTES} to allow for more")),
        _ => Problem::cannot_read(path, &error),
    })?;
    if bytes.is_empty() {
        return Err(Problem::new(format!("{name} is empty, not a heap")));
    }
    let what = format!("reading {name}");
    progress
        .of_bytes(&what, |done| {
            heaphound_snapshot::read(&bytes, &name.to_string(), done)
        })
        .map_err(|error| match std::str::from_utf8(&bytes) {
            // It is not text, and does not start as the binary form does. To name a place in it
            // would not help.
            Err(_) if Format::from_bytes(&bytes) == Format::Text => not_heap(),
            _ => Problem::new(error.to_string()),
        })
}

/// Reads a text that a person wrote from a file, or from stdin if the file is called `-`.
pub fn read_text(path: &Path) -> Result<String, Problem> {
    let bytes = read(path, |from| read_at_most(from, MOST_TEXT_BYTES))
        .map_err(|error| Problem::cannot_read(path, &error))?;
    let not_text = |_| Problem::new(format!("{} is not text in UTF-8", path.display()));
    String::from_utf8(bytes).map_err(not_text)
}

/// Returns whether a file is called `-`.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

fn read(
    path: &Path,
    read: impl FnOnce(&mut dyn Read) -> io::Result<Vec<u8>>,
) -> io::Result<Vec<u8>> {
    match is_stdin(path) {
        true => read(&mut io::stdin()),
        false => read(&mut File::open(path)?),
    }
}

/// Returns how many bytes a heap may have.
fn most_bytes() -> Result<u64, Problem> {
    let Some(given) = std::env::var_os(MOST_HEAP_BYTES) else {
        return Ok(most_heap_bytes());
    };
    let number = given.to_str().and_then(|it| it.parse().ok());
    number.ok_or_else(|| {
        let given = given.to_string_lossy();
        Problem::new(format!(
            "{MOST_HEAP_BYTES} is `{given}`, not a number of bytes"
        ))
    })
}
