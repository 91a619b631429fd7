//! Heaps in files: which format, reading and writing.
//!
//! Elsewhere: how files are replaced (`replace.rs`), inputs without end (`bytes.rs`), and where bytes come from (`input.rs`).

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::thread;

use heaphound_heap::snapshot::Snapshot;

use crate::hprof::is_hprof;
use crate::input::Input;
use crate::memory::{self, free_memory};
use crate::replace::replace_file;
use crate::{BinaryError, HprofError, MAGIC, Progress, TextErrors, V8Error};
use crate::{is_v8, read_binary, read_hprof, read_text, read_v8};
use crate::{write_binary, write_text, write_v8};

/// How a heap is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Heap text, for people: `.heap` or `.txt`.
    Text,
    /// The compact binary form: `.hhs`.
    Binary,
    /// The dump of a JVM, which is read and not written: `.hprof`.
    Hprof,
    /// V8's heap snapshot, for Chrome's tools: `.heapsnapshot`.
    V8,
}

impl Format {
    /// Returns the format that a file's extension promises.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "heap" | "txt" => Some(Self::Text),
            "hhs" => Some(Self::Binary),
            "hprof" => Some(Self::Hprof),
            "heapsnapshot" => Some(Self::V8),
            _ => None,
        }
    }

    /// The format that a file's first bytes show. What is nothing else is text.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        match bytes {
            _ if bytes.starts_with(&MAGIC) => Self::Binary,
            _ if is_hprof(bytes) => Self::Hprof,
            _ if is_v8(bytes) => Self::V8,
            _ => Self::Text,
        }
    }
}

/// Why a heap could not be read.
#[derive(Debug)]
pub enum ReadError {
    /// The file could not be read.
    Io(PathBuf, io::Error),
    /// It begins as heap text may, and is not text.
    NotHeap(PathBuf),
    /// The text has mistakes.
    Text(TextErrors),
    /// The bytes are not a heap.
    Binary(BinaryError),
    /// The text is not a heap snapshot.
    V8(V8Error),
    /// The bytes are not the dump of a JVM.
    Hprof(HprofError),
    /// Reading takes more memory than there is.
    TooLarge {
        /// What the heap was called.
        name: String,
        /// About how many bytes of memory reading would take.
        need: u64,
        /// How many there are.
        free: u64,
    },
}

impl From<HprofError> for ReadError {
    fn from(error: HprofError) -> Self {
        Self::Hprof(error)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::NotHeap(path) => {
                let name = path.display();
                write!(
                    f,
                    "{name} is neither a dump, nor a binary heap, nor heap text"
                )
            }
            Self::Text(errors) => errors.fmt(f),
            Self::Binary(error) => error.fmt(f),
            Self::Hprof(error) => error.fmt(f),
            Self::TooLarge { name, need, free } => {
                let megabytes = |bytes: u64| bytes.div_ceil(1 << 20);
                let (need, free) = (megabytes(*need), megabytes(*free));
                write!(
                    f,
                    "{name}: reading it takes about {need} MiB of memory, and {free} MiB are free"
                )
            }
            Self::V8(error) => error.fmt(f),
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

/// How a heap is read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Whether the plain data of dumps is kept: numbers, truths, and what strings and arrays hold. Heap text and the
    /// binary form always keep theirs.
    pub values: bool,
    /// How many threads may read.
    pub threads: usize,
    /// How many bytes of memory reading may take.
    pub most_memory: u64,
}

impl Default for ReadOptions {
    /// With values, on all cores, in as much memory as is free.
    fn default() -> Self {
        Self {
            values: true,
            threads: thread::available_parallelism().map_or(1, Into::into),
            most_memory: free_memory(),
        }
    }
}

/// Reads a heap of any format. Errors call it `name`; `progress` is called about
/// once a megabyte, with the bytes that are read and the bytes of all.
///
/// # Errors
/// If the bytes are not a heap.
pub fn read(bytes: &[u8], name: &str, progress: Progress<'_>) -> Result<Snapshot, ReadError> {
    match Format::from_bytes(bytes) {
        Format::Text => read_text(bytes, name, progress).map_err(ReadError::Text),
        Format::Binary => read_binary(bytes, name, progress).map_err(ReadError::Binary),
        Format::Hprof => {
            let input = Input::memory(bytes.to_vec());
            read_hprof(&input, name, &ReadOptions::default(), progress)
        }
        Format::V8 => {
            let options = ReadOptions::default();
            let read = read_v8(bytes, bytes.len() as u64, name, &options, progress);
            read.map_err(ReadError::V8)
        }
    }
}

/// Reads a heap of any format from where its bytes are.
///
/// # Errors
/// If they are not a heap, or reading them takes more memory than the options allow.
pub fn read_input(
    input: Input,
    name: &str,
    options: &ReadOptions,
    progress: Progress<'_>,
) -> Result<Snapshot, ReadError> {
    let io = |error| ReadError::Io(name.into(), error);
    match Format::from_bytes(&input.start(64).map_err(io)?) {
        Format::Hprof => read_hprof(&input, name, options, progress),
        Format::V8 => {
            // Node, edges and strings as they are in the file take less than what they are written in, and so does the heap.
            memory::check(name, input.len().saturating_mul(2), options)?;
            let read = read_v8(input.reader(0), input.len(), name, options, progress);
            read.map_err(ReadError::V8)
        }
        Format::Text | Format::Binary => {
            memory::check(name, input.len().saturating_mul(2), options)?;
            let bytes = input.into_bytes().map_err(io)?;
            if Format::from_bytes(&bytes) == Format::Text && std::str::from_utf8(&bytes).is_err() {
                return Err(ReadError::NotHeap(name.into()));
            }
            read(&bytes, name, progress)
        }
    }
}

/// Reads a file of any format, which may be packed with gzip.
///
/// # Errors
/// If it cannot be read, is not a heap, or takes more memory than is free.
pub fn read_file(path: impl AsRef<Path>, progress: Progress<'_>) -> Result<Snapshot, ReadError> {
    let path = path.as_ref();
    let input = Input::open(path, u64::MAX);
    let input = input.map_err(|error| ReadError::Io(path.into(), error))?;
    read_input(
        input,
        &path.display().to_string(),
        &ReadOptions::default(),
        progress,
    )
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
        Format::V8 => write_v8(heap, &mut out, progress)?,
        Format::Hprof => {
            let message = "dumps of JVMs are read, and not written";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
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
