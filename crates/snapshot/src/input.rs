//! Where a reader finds its bytes: a file by positioned reads, or bytes in memory.
//!
//! A stream (a pipe, stdin, what a gzip file holds) is read to its end first: into memory while it is
//! small, and then into a file without a name, which goes when the input does. So readers can look at
//! any place, from several threads, and a dump needs no memory for its own bytes.
//!
//! Files are not mapped. The pages of a mapping would count as ours, and it would need `unsafe`; and a file that becomes
//! shorter while it is read ends early, where a mapping would end the process.
//!
//! Elsewhere: what the bytes are (`file.rs`), how many they may be (`bytes.rs`).

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::bytes::{SHOWS, check_start};

/// Bytes that can be read from any place.
#[derive(Debug)]
pub struct Input {
    from: From,
    bytes: u64,
}

#[derive(Debug)]
enum From {
    File(File),
    Memory(Vec<u8>),
}

/// A stream with more bytes than this goes to a file.
const MOST_IN_MEMORY: usize = 256 << 20;

/// How a gzip file begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

impl Input {
    /// Opens a file. A gzip file gives what it holds, and a pipe or a device what comes out of it: no more bytes than
    /// `most`. A file that is neither can have more.
    ///
    /// # Errors
    /// If it cannot be read, has too many bytes, or does not begin as a heap does.
    pub fn open(path: &Path, most: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Self::stream(file, most);
        }
        let input = Self {
            bytes: about.len(),
            from: From::File(file),
        };
        input.unpacked(most)
    }

    /// Reads a stream to its end.
    ///
    /// # Errors
    /// If it cannot be read, if there are more bytes than `most`, or if the first of them show that they are no heap. Then
    /// the others are not read.
    pub fn stream(from: impl Read, most: u64) -> io::Result<Self> {
        Self::spool(from, most)?.unpacked(most)
    }

    /// Takes bytes that are in memory. Those of a gzip file stay what they are.
    pub fn memory(bytes: Vec<u8>) -> Self {
        Self {
            bytes: bytes.len() as u64,
            from: From::Memory(bytes),
        }
    }

    /// How many bytes there are.
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Reads bytes from a place until the buffer is full or they end. Returns how many there were.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn read_at(&self, mut at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let file = match &self.from {
            From::Memory(bytes) => {
                let start = usize::try_from(at).unwrap_or(bytes.len()).min(bytes.len());
                let some = buffer.len().min(bytes.len() - start);
                buffer[..some].copy_from_slice(&bytes[start..start + some]);
                return Ok(some);
            }
            From::File(file) => file,
        };
        let mut done = 0;
        while done < buffer.len() {
            match file.read_at(&mut buffer[done..], at) {
                Ok(0) => break,
                Ok(some) => {
                    done += some;
                    at += some as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// The first bytes, up to that many.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn start(&self, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; most.min(usize::try_from(self.bytes).unwrap_or(most))];
        let some = self.read_at(0, &mut bytes)?;
        bytes.truncate(some);
        Ok(bytes)
    }

    /// Reads from a place on, as a stream.
    pub fn reader(&self, at: u64) -> InputReader<'_> {
        InputReader { input: self, at }
    }

    /// All bytes, in memory.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn into_bytes(self) -> io::Result<Vec<u8>> {
        match self.from {
            From::Memory(bytes) => Ok(bytes),
            From::File(_) => {
                let mut bytes = Vec::new();
                self.reader(0).read_to_end(&mut bytes)?;
                Ok(bytes)
            }
        }
    }

    /// What a gzip file holds; anything else as it is.
    fn unpacked(self, most: u64) -> io::Result<Self> {
        let start = self.start(SHOWS as usize)?;
        if !start.starts_with(&GZIP) {
            check_start(&start)?;
            return Ok(self);
        }
        let packed = io::BufReader::with_capacity(256 << 10, self.reader(0));
        let unpacked = Self::spool(MultiGzDecoder::new(packed), most)?;
        check_start(&unpacked.start(SHOWS as usize)?)?;
        Ok(unpacked)
    }

    /// Reads a stream to its end. One that breaks off within a gzip file ends there, for a dump that was cut short
    /// is worth reading.
    fn spool(mut from: impl Read, most: u64) -> io::Result<Self> {
        let mut memory = Vec::new();
        let mut file: Option<File> = None;
        let mut bytes = 0u64;
        let mut buffer = vec![0; 256 << 10];
        let mut is_checked = false;
        loop {
            let some = match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(some) => some,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && bytes > 0 => break,
                Err(error) => return Err(error),
            };
            bytes += some as u64;
            if bytes > most {
                return Err(too_large(most));
            }
            let new = &buffer[..some];
            if !is_checked && memory.len() + some >= SHOWS as usize {
                let mut start = memory.clone();
                start.extend_from_slice(new);
                start.truncate(SHOWS as usize);
                if !start.starts_with(&GZIP) {
                    check_start(&start)?;
                }
                is_checked = true;
            }
            match &mut file {
                Some(file) => file.write_all(new)?,
                None if memory.len() + some <= MOST_IN_MEMORY => memory.extend_from_slice(new),
                None => {
                    let mut spool = tempfile::tempfile()?;
                    spool.write_all(&memory)?;
                    spool.write_all(new)?;
                    memory = Vec::new();
                    file = Some(spool);
                }
            }
        }
        let from = file.map_or_else(|| From::Memory(memory), From::File);
        Ok(Self { from, bytes })
    }
}

fn too_large(most: u64) -> io::Error {
    let message = format!("it has more than {most} bytes");
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}

/// Reads an [`Input`] as a stream.
#[derive(Debug)]
pub struct InputReader<'i> {
    input: &'i Input,
    at: u64,
}

impl Read for InputReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let some = self.input.read_at(self.at, buffer)?;
        self.at += some as u64;
        Ok(some)
    }
}
