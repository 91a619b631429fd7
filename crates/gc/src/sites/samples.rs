//! A list of samples that takes little more memory than they need.
//!
//! A vector that grows has room for up to twice as much as is in it. Here are pieces of equal size instead, of which only those that lost
//! some of theirs, and the last, have room.

use crate::raw::Raw;
use crate::raw::marking::mark::{Ground, prefetch};

/// Samples.
#[derive(Default)]
pub(crate) struct Samples {
    /// Each has room for [`PIECE`], and none is empty.
    pieces: Vec<Vec<Raw>>,
}

/// Samples of a piece.
const PIECE: usize = 1024;

/// How long before it is looked at a sample is asked for: most are not in the cache.
const AHEAD: usize = 12;

impl Samples {
    pub(crate) fn push(&mut self, raw: Raw) {
        match self.pieces.last_mut() {
            Some(last) if last.len() < PIECE => last.push(raw),
            _ => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(raw);
                self.pieces.push(piece);
            }
        }
    }

    pub(crate) fn extend(&mut self, samples: impl Iterator<Item = Raw>) {
        samples.for_each(|raw| self.push(raw));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Raw> {
        self.pieces.iter().flatten().copied()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Raw> {
        self.pieces.iter_mut().flatten()
    }

    /// Keeps those of which `keep` says so. It is going to look at their headers.
    pub(crate) fn retain(&mut self, ground: Ground<'_>, keep: impl FnMut(Raw) -> bool) {
        self.retain_with(|raw| prefetch(ground.base.object(raw)), keep);
    }

    /// The same, where `ask` is told of each some time before.
    fn retain_with(&mut self, ask: impl Fn(Raw), mut keep: impl FnMut(Raw) -> bool) {
        let (mut kept, mut room) = (0, 0);
        for piece in &mut self.pieces {
            let mut length = 0;
            for i in 0..piece.len() {
                if let Some(&ahead) = piece.get(i + AHEAD) {
                    ask(ahead);
                }
                let raw = piece[i];
                if keep(raw) {
                    piece[length] = raw;
                    length += 1;
                }
            }
            piece.truncate(length);
            kept += length;
            room += PIECE;
        }
        self.pieces.retain(|piece| !piece.is_empty());
        if kept < room / 16 * 15 {
            let all = std::mem::take(self);
            self.extend(all.pieces.into_iter().flatten());
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        let pieces = self.pieces.iter().map(Vec::capacity).sum::<usize>();
        pieces * size_of::<Raw>() + self.pieces.capacity() * size_of::<Vec<Raw>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_in_pieces_is_as_a_vector_and_takes_hardly_more_than_its_samples() {
        let (mut samples, mut twin) = (Samples::default(), Vec::new());
        for round in 1..60u32 {
            let new = (0..round * 97 % 3001).map(|it| Raw(it * 61 + round));
            samples.extend(new.clone());
            twin.extend(new);
            // Now a few die, now most.
            let dies = |raw: Raw| raw.0.is_multiple_of(1 + round % 5);
            samples.retain_with(|_| {}, |raw| !dies(raw));
            twin.retain(|raw| !dies(*raw));
            for raw in samples.iter_mut().chain(&mut twin) {
                raw.0 ^= round;
            }
            let all: Vec<u32> = samples.iter().map(|raw| raw.0).collect();
            assert_eq!(all, twin.iter().map(|raw| raw.0).collect::<Vec<_>>());
            assert_eq!(samples.is_empty(), twin.is_empty());
            let least = twin.len() * size_of::<Raw>();
            assert!(samples.memory_bytes() <= least / 8 * 9 + 3 * PIECE * size_of::<Raw>());
        }
        assert!(!twin.is_empty());
    }
}
