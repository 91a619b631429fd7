//! A list of samples that takes little memory.
//!
//! Samples become old in the order in which the nursery's survivors are copied, and so most lie near the one before: the list has differences,
//! in as few bytes as they need. It is cut into pieces of equal size, for a vector that grows has room for up to twice as much as is in it.

use crate::raw::Raw;
use crate::raw::marking::mark::{Ground, prefetch};

/// Samples.
#[derive(Default)]
pub(crate) struct Samples {
    /// None is empty.
    pieces: Vec<Piece>,
}

/// Bytes of a piece.
const PIECE: usize = 2048;
/// The most that a difference takes: of 33 bits, seven in each.
const LONGEST: usize = 5;

/// How long before it is looked at a sample is asked for: most are not in the cache.
const AHEAD: usize = 12;

/// Some samples, each as the difference to the one before.
struct Piece {
    bytes: Box<[u8; PIECE]>,
    length: u16,
    last: Raw,
}

impl Piece {
    fn new() -> Self {
        Self {
            bytes: Box::new([0; PIECE]),
            length: 0,
            last: Raw::NULL,
        }
    }

    fn has_room(&self) -> bool {
        usize::from(self.length) + LONGEST <= PIECE
    }

    /// Adds a sample, for which there is room.
    fn push(&mut self, raw: Raw) {
        let difference = i64::from(raw.0) - i64::from(self.last.0);
        // The sign comes last, so that what is near has few bits.
        let mut bits = (difference << 1 ^ difference >> 63) as u64;
        let mut length = usize::from(self.length);
        while bits >= 1 << 7 {
            self.bytes[length] = bits as u8 | 1 << 7;
            bits >>= 7;
            length += 1;
        }
        self.bytes[length] = bits as u8;
        (self.length, self.last) = (length as u16 + 1, raw);
    }

    fn iter(&self) -> impl Iterator<Item = Raw> {
        let mut bytes = self.bytes[..usize::from(self.length)].iter();
        let mut last = 0_i64;
        std::iter::from_fn(move || {
            let (mut bits, mut shift) = (0_u64, 0);
            loop {
                let byte = *bytes.next()?;
                bits |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 1 << 7 {
                    break;
                }
            }
            last += (bits >> 1) as i64 ^ -((bits & 1) as i64);
            Some(Raw(last as u32))
        })
    }
}

impl Samples {
    pub(crate) fn push(&mut self, raw: Raw) {
        match self.pieces.last_mut() {
            Some(last) if last.has_room() => last.push(raw),
            _ => {
                let mut piece = Piece::new();
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
        self.pieces.iter().flat_map(Piece::iter)
    }

    /// Changes each.
    pub(crate) fn update(&mut self, mut f: impl FnMut(Raw) -> Raw) {
        self.replace(|piece, into| into.extend(piece.iter().map(&mut f)));
    }

    /// Keeps those of which `keep` says so. It is going to look at their headers.
    pub(crate) fn retain(&mut self, ground: Ground<'_>, keep: impl FnMut(Raw) -> bool) {
        self.retain_with(|raw| prefetch(ground.base.object(raw)), keep);
    }

    /// The same, where `ask` is told of each some time before.
    fn retain_with(&mut self, ask: impl Fn(Raw), mut keep: impl FnMut(Raw) -> bool) {
        let mut all = Vec::with_capacity(PIECE);
        self.replace(|piece, into| {
            all.clear();
            all.extend(piece.iter());
            for (i, &raw) in all.iter().enumerate() {
                if let Some(&ahead) = all.get(i + AHEAD) {
                    ask(ahead);
                }
                if keep(raw) {
                    into.push(raw);
                }
            }
        });
    }

    /// Makes the list anew, piece by piece, and frees those that it was.
    fn replace(&mut self, mut f: impl FnMut(&Piece, &mut Self)) {
        for piece in std::mem::take(&mut self.pieces) {
            f(&piece, self);
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.pieces.len() * PIECE + self.pieces.capacity() * size_of::<Piece>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_differences_is_as_a_vector() {
        let (mut samples, mut twin) = (Samples::default(), Vec::new());
        for round in 1..60_u32 {
            // Now near each other, now anywhere.
            let factor = if round % 2 == 0 { 61 } else { 0x9e37_79b1 };
            let new = (0..round * 97 % 3001).map(|it| Raw(it.wrapping_mul(factor) ^ round));
            samples.extend(new.clone());
            twin.extend(new);
            // Now a few die, now most.
            let dies = |raw: Raw| raw.0.is_multiple_of(1 + round % 5);
            samples.retain_with(|_| {}, |raw| !dies(raw));
            twin.retain(|raw| !dies(*raw));
            samples.update(|raw| Raw(raw.0 ^ round));
            twin.iter_mut().for_each(|raw| raw.0 ^= round);
            let all: Vec<u32> = samples.iter().map(|raw| raw.0).collect();
            assert_eq!(all, twin.iter().map(|raw| raw.0).collect::<Vec<_>>());
            assert_eq!(samples.is_empty(), twin.is_empty());
            let most = twin.len() * LONGEST;
            assert!(samples.memory_bytes() <= most / 8 * 9 + 3 * PIECE);
        }
        assert!(!twin.is_empty());
        let ends = [0, u32::MAX, 0, 1, u32::MAX].map(Raw);
        let mut samples = Samples::default();
        samples.extend(ends.into_iter());
        assert_eq!(samples.iter().collect::<Vec<_>>(), ends);
    }

    #[test]
    fn what_is_near_takes_little_more_than_two_bytes() {
        let mut samples = Samples::default();
        // One in 256 bytes, in four blocks in turn.
        let at = |it: u32| Raw(it % 4 * 4096 + it / 4 * 32);
        samples.extend((0..100_000).map(at));
        let bytes = samples.memory_bytes() as f64 / 1e5;
        assert!(bytes < 2.4, "{bytes}");
    }
}
