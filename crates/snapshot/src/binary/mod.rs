//! The compact binary form: sections of variable-length numbers, and a checksum.
//!
//! `docs/heap-binary.md` describes the layout. Here are the constants that reader and writer
//! share.

mod read;
mod write;

use std::fmt;

pub use read::read_binary;
pub use write::write_binary;

/// What a file begins with; its version follows.
pub const MAGIC: [u8; 7] = *b"HHSNAP\0";
/// The version that is written. Version 1, which has no interfaces, is read too.
const VERSION: u8 = 2;
/// The first version with interfaces.
const WITH_INTERFACES: u8 = 2;

/// What the bytes of a section are. All but objects and what comes behind them come
/// once; those may be split between two objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
enum Section {
    End,
    Strings,
    Classes,
    Threads,
    Roots,
    Objects,
    Lengths,
    Numbers,
    Values,
    Captions,
    Cut,
    Notes,
    Told,
    Lacks,
}

impl Section {
    const ALL: [Self; 14] = [
        Self::End,
        Self::Strings,
        Self::Classes,
        Self::Threads,
        Self::Roots,
        Self::Objects,
        Self::Lengths,
        Self::Numbers,
        Self::Values,
        Self::Captions,
        Self::Cut,
        Self::Notes,
        Self::Told,
        Self::Lacks,
    ];
}

/// Why bytes are not a heap, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BinaryError {
    /// What the bytes were called.
    pub name: String,
    /// The byte, counted from 0.
    pub at: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for BinaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: at byte {}: {}", self.name, self.at, self.message)
    }
}

impl std::error::Error for BinaryError {}

/// FNV-1a over words of eight bytes rather than single ones: as good against accidents,
/// and eight times as fast.
struct Checksum {
    hash: u64,
    part: [u8; 8],
    bytes: u64,
}

impl Checksum {
    fn new() -> Self {
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            part: [0; 8],
            bytes: 0,
        }
    }

    fn word(&mut self, word: [u8; 8]) {
        self.hash = (self.hash ^ u64::from_le_bytes(word)).wrapping_mul(0x0100_0000_01b3);
        // The product carries upwards only.
        self.hash ^= self.hash >> 32;
    }

    fn add(&mut self, mut bytes: &[u8]) {
        let filled = (self.bytes % 8) as usize;
        self.bytes += bytes.len() as u64;
        if filled > 0 {
            let (head, rest) = bytes.split_at(bytes.len().min(8 - filled));
            self.part[filled..filled + head.len()].copy_from_slice(head);
            bytes = rest;
            if filled + head.len() < 8 {
                return;
            }
            self.word(self.part);
        }
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.word(word.try_into().expect("eight bytes"));
        }
        let rest = words.remainder();
        self.part[..rest.len()].copy_from_slice(rest);
    }

    fn finish(mut self) -> u64 {
        let filled = (self.bytes % 8) as usize;
        self.part[filled..].fill(0);
        self.word(self.part);
        self.word(self.bytes.to_le_bytes());
        self.hash
    }
}

/// Returns the checksum of some bytes, for tests that change them.
#[doc(hidden)]
pub fn checksum(bytes: &[u8]) -> u64 {
    let mut checksum = Checksum::new();
    checksum.add(bytes);
    checksum.finish()
}

/// Small numbers of either sign as small numbers.
fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
