//! Reads heaps, rules and profiles, with errors that a person can act on.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use heaphound_heap::snapshot::Snapshot;
use heaphound_snapshot::{Format, Input, ReadOptions, most_heap_bytes, read_at_most, read_input};

use crate::problem::Problem;
use crate::progress::Progress;
use crate::threads::threads;

/// Rules and profiles are written by people. What is larger than this was not meant.
const MOST_TEXT_BYTES: u64 = 64 << 20;

/// The variable that says how many bytes a heap may have.
const MOST_HEAP_BYTES: &str = "HEAPHOUND_MAX_INPUT";

/// Reads the heap in a file, or from stdin if the file is called `-`. What its reader has to say of it goes to stderr.
pub fn read_heap(path: &Path, progress: &Progress) -> Result<Snapshot, Problem> {
    read_with(path, true, progress)
}

/// The same without the plain data of dumps, for whoever asks for classes and edges only.
pub fn read_edges(path: &Path, progress: &Progress) -> Result<Snapshot, Problem> {
    read_with(path, false, progress)
}

fn read_with(path: &Path, values: bool, progress: &Progress) -> Result<Snapshot, Problem> {
    let name = path.display();
    if !is_stdin(path) && path.is_dir() {
        return Err(Problem::new(format!("{name} is a directory, not a heap")));
    }
    let given = most_bytes()?;
    let most = given.unwrap_or_else(most_heap_bytes);
    let cannot = |error: io::Error| match error.kind() {
        ErrorKind::InvalidData => not_heap(path),
        ErrorKind::FileTooLarge => Problem::cannot_read(path, &error)
            .hint(format!("set {MOST_HEAP_BYTES} to allow for more")),
        _ => Problem::cannot_read(path, &error),
    };
    let open = || match is_stdin(path) {
        true => Input::stream(io::stdin(), most),
        false => Input::open(path, most),
    };
    let input = progress
        .of(&format!("opening {name}"), open)
        .map_err(cannot)?;
    if input.is_empty() {
        return Err(Problem::new(format!("{name} is empty, not a heap")));
    }
    let start = input.start(64).map_err(cannot)?;
    let format = Format::from_bytes(&start);
    // A dump is not kept in memory; what it takes is known when its reader starts.
    if input.len() > most && (given.is_some() || !matches!(format, Format::Hprof | Format::V8)) {
        let message = format!("it has more than {most} bytes");
        return Err(cannot(io::Error::new(ErrorKind::FileTooLarge, message)));
    }
    let options = ReadOptions {
        values,
        threads: threads(),
        ..ReadOptions::default()
    };
    let what = format!("reading {name}");
    let heap = progress.of_bytes(&what, |done| {
        read_input(input, &name.to_string(), &options, done)
    });
    let heap = heap.map_err(|error| Problem::new(error.to_string()))?;
    for note in heap.notes() {
        progress.remark(&format!("{name}: {note}"));
    }
    Ok(heap)
}

fn not_heap(path: &Path) -> Problem {
    let name = path.display();
    Problem::new(format!(
        "{name} is neither a dump, nor a binary heap, nor heap text"
    ))
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

/// Returns how many bytes a heap may have, if somebody said so.
fn most_bytes() -> Result<Option<u64>, Problem> {
    let Some(given) = std::env::var_os(MOST_HEAP_BYTES) else {
        return Ok(None);
    };
    let number = given.to_str().and_then(|it| it.parse().ok());
    number.map(Some).ok_or_else(|| {
        let given = given.to_string_lossy();
        Problem::new(format!(
            "{MOST_HEAP_BYTES} is `{given}`, not a number of bytes"
        ))
    })
}
