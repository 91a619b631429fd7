//! Reading a heap, with errors that a person can act on.

use std::fs;
use std::io::Read;
use std::path::Path;

use heaphound_heap::snapshot::Snapshot;
use heaphound_snapshot::Format;

use crate::problem::Problem;
use crate::progress::Progress;

/// Reads the heap in a file, or from stdin if it is called `-`.
pub fn read(path: &Path, progress: &Progress) -> Result<Snapshot, Problem> {
    let name = path.display();
    let cannot = |error| Problem(format!("cannot read {name}: {error}"));
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(cannot)?;
        bytes
    } else if path.is_dir() {
        return Err(Problem(format!("{name} is a directory, not a heap")));
    } else {
        fs::read(path).map_err(cannot)?
    };
    if bytes.is_empty() {
        return Err(Problem(format!("{name} is empty, not a heap")));
    }
    let what = format!("reading {name}");
    progress
        .of_bytes(&what, |told| {
            heaphound_snapshot::read(&bytes, &name.to_string(), told)
        })
        .map_err(|error| match std::str::from_utf8(&bytes) {
            // Neither the mark of the binary form nor text: no place in it would help.
            Err(_) if Format::from_bytes(&bytes) == Format::Text => {
                Problem(format!("{name} is neither a binary heap nor heap text"))
            }
            _ => Problem(error.to_string()),
        })
}
