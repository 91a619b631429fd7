//! Heaps in files: which format, reading and writing.
//!
//! Elsewhere: how files are replaced (`replace.rs`), inputs without end (`bytes.rs`).

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use heaphound_heap::snapshot::Snapshot;

use crate::bytes::{most_heap_bytes, read_heap_bytes};
use crate::replace::replace_file;
use crate::{BinaryError, MAGIC, Progress, TextErrors};
use crate::{read_binary, read_text, write_binary, write_text};

/// How a heap is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Heap text, for people: `.heap` or `.txt`.
    Text,
    /// The compact binary form: `.hhs`.
    Binary,
}

impl Format {
    /// Returns the format that a file's extension promises.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "heap" | "txt" => Some(Self::Text),
            "hhs" => Some(Self::Binary),
            _ => None,
        }
    }

    /// The format that a file's first bytes show. What is not binary is text.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        match bytes.starts_with(&MAGIC) {
            true => Self::Binary,
            false => Self::Text,
        }
    }
}

/// Why a heap could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// The file could not be read.
    Io(PathBuf, io::Error),
    /// The text has mistakes.
    Text(TextErrors),
    /// The bytes are not a heap.
    Binary(BinaryError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Text(errors) => errors.fmt(f),
            Self::Binary(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, error) => Some(error),
            _ => None,
        }
    }
}

/// Reads a heap of either format. Errors call it `name`; `progress` is called about
/// once a megabyte, with the bytes that are read and the bytes of all.
///
/// # Errors
/// If the bytes are not a heap.
pub fn read(bytes: &[u8], name: &str, progress: Progress<'_>) -> Result<Snapshot, ReadError> {
    match Format::from_bytes(bytes) {
        Format::Text => read_text(bytes, name, progress).map_err(ReadError::Text),
        Format::Binary => read_binary(bytes, name, progress).map_err(ReadError::Binary),
    }
}

/// Reads a file of either format.
///
/// # Errors
/// If it cannot be read, is not a heap, or has more bytes than half of the memory that is free.
pub fn read_file(path: impl AsRef<Path>, progress: Progress<'_>) -> Result<Snapshot, ReadError> {
    let path = path.as_ref();
    let bytes = File::open(path).and_then(|file| read_heap_bytes(file, most_heap_bytes()));
    let bytes = bytes.map_err(|error| ReadError::Io(path.into(), error))?;
    read(&bytes, &path.display().to_string(), progress)
}

/// Writes a heap to a file, as [`replace_file`] does. Returns how many bytes were written.
///
/// # Errors
/// If it cannot be written, or the heap does not fit the format. Then the old file stays.
pub fn write_file(
    path: impl AsRef<Path>,
    heap: &Snapshot,
    format: Format,
    progress: Progress<'_>,
) -> io::Result<u64> {
    replace_file(path, |file| write_into(file, heap, format, progress))
}

fn write_into(
    file: &File,
    heap: &Snapshot,
    format: Format,
    progress: Progress<'_>,
) -> io::Result<u64> {
    let mut out = Counted {
        out: BufWriter::new(file),
        bytes: 0,
    };
    match format {
        Format::Text => write_text(heap, &mut out, progress)?,
        Format::Binary => write_binary(heap, &mut out, progress)?,
    }
    out.flush()?;
    Ok(out.bytes)
}

/// Counts what it writes.
struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
