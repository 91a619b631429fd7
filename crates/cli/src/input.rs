//! Reads heaps and rule files, with errors that a person can act on.

use std::fs;
use std::io::Read;
use std::path::Path;

use heaphound_heap::snapshot::Snapshot;
use heaphound_snapshot::Format;

use crate::problem::Problem;
use crate::progress::Progress;

/// Reads the heap in a file, or from stdin if the file is called `-`.
pub fn read_heap(path: &Path, progress: &Progress) -> Result<Snapshot, Problem> {
    let name = path.display();
    if !is_stdin(path) && path.is_dir() {
        return Err(Problem::new(format!("{name} is a directory, not a heap")));
    }
    let bytes = read_bytes(path)?;
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
            Err(_) if Format::from_bytes(&bytes) == Format::Text => {
                Problem::new(format!("{name} is neither a binary heap nor heap text"))
            }
            _ => Problem::new(error.to_string()),
        })
}

/// Reads a file of rules.
pub fn read_rules(path: &Path) -> Result<String, Problem> {
    let bytes = fs::read(path).map_err(|error| Problem::cannot_read(path, &error))?;
    let not_text = |_| Problem::new(format!("{} is not text in UTF-8", path.display()));
    String::from_utf8(bytes).map_err(not_text)
}

/// Returns whether a file is called `-`.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads text from stdin.
pub fn read_stdin() -> Result<String, Problem> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Problem::cannot_read(Path::new("stdin"), &error))?;
    Ok(text)
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let read = match is_stdin(path) {
        true => std::io::stdin().read_to_end(&mut bytes).map(|_| bytes),
        false => fs::read(path),
    };
    read.map_err(|error| Problem::cannot_read(path, &error))
}
