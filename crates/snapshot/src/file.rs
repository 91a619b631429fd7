//! Files: which format, reading, and writing without losing what was there.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use heaphound_heap::snapshot::Snapshot;

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
/// once a megabyte how many bytes of how many are done.
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
/// If it cannot be read, or is not a heap.
pub fn read_file(path: impl AsRef<Path>, progress: Progress<'_>) -> Result<Snapshot, ReadError> {
    let path = path.as_ref();
    let bytes = fs::read(path).map_err(|error| ReadError::Io(path.into(), error))?;
    read(&bytes, &path.display().to_string(), progress)
}

/// Writes a heap to a file, as [`replace_file`] does. Returns how many bytes were written.
///
/// # Errors
/// If it cannot be written, or the heap not in that format; then what was there still is.
pub fn write_file(
    path: impl AsRef<Path>,
    heap: &Snapshot,
    format: Format,
    progress: Progress<'_>,
) -> io::Result<u64> {
    replace_file(path, |file| write_into(file, heap, format, progress))
}

/// Writes a file. It is complete before it takes the place of one that was there, whose
/// permissions it gets. A link stays one: what it leads to is written. A device or a pipe is
/// not replaced, but written into. Returns what `write` returns.
///
/// # Errors
/// If it cannot be written; then what was there still is.
pub fn replace_file<R>(
    path: impl AsRef<Path>,
    write: impl FnOnce(&File) -> io::Result<R>,
) -> io::Result<R> {
    let path = path.as_ref();
    let there = fs::metadata(path).ok();
    if there
        .as_ref()
        .is_some_and(|it| !it.is_file() && !it.is_dir())
    {
        let device = OpenOptions::new().write(true).open(path)?;
        return write(&device);
    }
    let path = &behind_links(path);
    let beside = beside(path)?;
    let replace = || {
        let file = File::create_new(&beside)?;
        let result = write(&file)?;
        if let Some(there) = &there {
            file.set_permissions(there.permissions())?;
        }
        // Renamed before its bytes are on the disk, a crash could leave an empty file.
        file.sync_all()?;
        drop(file);
        fs::rename(&beside, path)?;
        Ok(result)
    };
    let done: io::Result<R> = replace();
    if done
        .as_ref()
        .is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists)
    {
        let _ = fs::remove_file(&beside);
    }
    done
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

/// Returns the target of a path that may be a link. The target need not exist.
fn behind_links(path: &Path) -> PathBuf {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&path) else {
            break;
        };
        path.pop();
        path.push(next);
    }
    path
}

/// Returns a name in the same directory that no other process uses.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}.part", std::process::id()));
    Ok(path.with_file_name(hidden))
}
