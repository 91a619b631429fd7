//! A part of an input, read through a buffer that moves over it.

use std::io;

use crate::input::Input;

/// How much is read at a time: what fits a core's own cache.
const BUFFER: usize = 256 << 10;

/// Reads a range of an input from its start to its end.
pub struct Window<'i> {
    input: &'i Input,
    buffer: Vec<u8>,
    /// Where in the input the buffer starts.
    start: u64,
    /// What of the buffer is done, and how much it holds.
    at: usize,
    filled: usize,
    end: u64,
}

impl<'i> Window<'i> {
    pub fn new(input: &'i Input) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            start: 0,
            at: 0,
            filled: 0,
            end: 0,
        }
    }

    /// Goes to a range of the input.
    pub fn go_to(&mut self, start: u64, end: u64) {
        self.start = start;
        self.at = 0;
        self.filled = 0;
        self.end = end;
    }

    /// Where in the input it is.
    pub fn position(&self) -> u64 {
        self.start + self.at as u64
    }

    /// How much of the range is left.
    pub fn left(&self) -> u64 {
        self.end.saturating_sub(self.position())
    }

    /// The next 32 bytes, if the buffer holds them: more than the head of any object.
    #[inline]
    pub fn head(&self) -> Option<&[u8; 32]> {
        self.buffer[..self.filled].get(self.at..)?.first_chunk()
    }

    /// The next bytes, which stay the next; None if there are fewer.
    #[inline]
    pub fn peek(&mut self, bytes: usize) -> io::Result<Option<&[u8]>> {
        if self.at + bytes > self.filled && !self.fill(bytes)? {
            return Ok(None);
        }
        Ok(self.buffer.get(self.at..self.at + bytes))
    }

    /// The next bytes; None if there are fewer.
    #[inline]
    pub fn take(&mut self, bytes: usize) -> io::Result<Option<&[u8]>> {
        if self.at + bytes > self.filled && !self.fill(bytes)? {
            return Ok(None);
        }
        let at = self.at;
        self.at += bytes;
        Ok(self.buffer.get(at..at + bytes))
    }

    /// Passes over bytes. Those that the buffer does not hold are not read.
    #[inline]
    pub fn skip(&mut self, bytes: u64) {
        // What is skipped lies within the range, so that this does not overflow.
        self.at += bytes as usize;
    }

    /// Reads on until the buffer holds at least `bytes` bytes. Returns false if the file has fewer.
    #[cold]
    fn fill(&mut self, bytes: usize) -> io::Result<bool> {
        let position = self.position();
        if bytes as u64 > self.left() {
            return Ok(false);
        }
        // A short record between long ones that are skipped needs no full buffer.
        let size = BUFFER.max(bytes).min(self.left() as usize);
        if self.buffer.len() < size {
            self.buffer.resize(size, 0);
        }
        let kept = self.filled.saturating_sub(self.at);
        self.buffer.copy_within(self.filled - kept..self.filled, 0);
        self.filled = kept;
        self.start = position;
        self.at = 0;
        let room = &mut self.buffer[kept..size];
        let some = self.input.read_at(position + kept as u64, room)?;
        self.filled += some;
        if self.filled < bytes {
            // The file has become shorter.
            self.end = self.start + self.filled as u64;
            return Ok(false);
        }
        Ok(true)
    }
}
