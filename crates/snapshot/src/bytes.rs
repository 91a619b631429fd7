//! Reads bytes from files, pipes and devices, some of which never end.

use std::io::{self, ErrorKind, Read};

use crate::memory::free_memory;
use crate::{Format, MAGIC};

/// How much of an input shows whether it can be a heap.
pub const SHOWS: u64 = 4096;

/// Reads all bytes.
///
/// # Errors
/// If they cannot be read, or if there are more than `most`.
pub fn read_at_most(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_on(from, &mut bytes, most)?;
    Ok(bytes)
}

/// Reads the bytes of a heap.
///
/// # Errors
/// If they cannot be read, if there are more than `most`, or if the first of them show that they are no
/// heap. Then the others are not read.
pub fn read_heap_bytes(mut from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.by_ref().take(SHOWS).read_to_end(&mut bytes)?;
    check_start(&bytes)?;
    read_on(from, &mut bytes, most)?;
    Ok(bytes)
}

/// Returns how many bytes a heap may have if nobody says so: half of the memory that is free.
pub fn most_heap_bytes() -> u64 {
    free_memory() / 2
}

/// Reads the rest of some bytes.
fn read_on(from: impl Read, bytes: &mut Vec<u8>, most: u64) -> io::Result<()> {
    let room = most.saturating_sub(bytes.len() as u64);
    from.take(room.saturating_add(1)).read_to_end(bytes)?;
    match bytes.len() as u64 <= most {
        true => Ok(()),
        false => Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it has more than {most} bytes"),
        )),
    }
}

/// Returns an error if bytes cannot be the first ones of a heap.
pub fn check_start(bytes: &[u8]) -> io::Result<()> {
    let message = "it is neither a dump, nor a binary heap, nor heap text";
    match may_be_heap(bytes) {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::InvalidData, message)),
    }
}

/// Returns whether bytes can be the first ones of a heap.
fn may_be_heap(bytes: &[u8]) -> bool {
    let is_text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(_) => true,
        // The last character may go on.
        Err(error) => error.error_len().is_none(),
    };
    match Format::from_bytes(bytes) {
        Format::Binary | Format::Hprof | Format::V8 => true,
        Format::Text => MAGIC.starts_with(bytes) || bytes[0] != 0 && is_text(bytes),
    }
}
