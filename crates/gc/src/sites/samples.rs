//! A list of samples that takes little memory.
//!
//! Survivors of one size are copied to places that lie one behind the other, and so most samples lie shortly behind the one before of the
//! same size. Each size has a list of its own, a *lane*, of differences, most of which take a byte. Lists are cut into pieces of equal
//! size, for a vector that grows has room for up to twice as much as is in it.

use crate::raw::Raw;
use crate::raw::SizeClass;
use crate::raw::marking::mark::{Ground, prefetch};

/// Samples.
pub(crate) struct Samples {
    /// Where the list of a lane is, plus 1; 0 if it has none.
    places: [u8; Lane::COUNT],
    lists: Vec<List>,
}

/// Samples of one size, or all that are large.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lane(u8);

impl Lane {
    const COUNT: usize = SizeClass::COUNT + 1;
    /// Of large objects.
    pub(crate) const LARGE: Self = Self(SizeClass::COUNT as u8);

    #[inline]
    pub(crate) fn of(size_class: SizeClass) -> Self {
        Self(size_class.0)
    }
}

#[derive(Default)]
struct List {
    /// None is empty.
    pieces: Vec<Piece>,
}

/// Bytes of a piece.
const PIECE: usize = 512;
/// The most that a difference takes: of 33 bits, six in the first and seven in each other.
const LONGEST: usize = 5;

/// Differences below this go forward and take one byte.
const NEAR: u8 = 192;
/// Bits of others in their first byte.
const FIRST_BITS: u32 = 6;

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
    #[inline]
    fn push(&mut self, raw: Raw) {
        let difference = i64::from(raw.0) - i64::from(self.last.0);
        self.last = raw;
        let length = usize::from(self.length);
        if (0..i64::from(NEAR)).contains(&difference) {
            self.bytes[length] = difference as u8;
            self.length += 1;
            return;
        }
        self.push_far(length, difference);
    }

    fn push_far(&mut self, mut length: usize, difference: i64) {
        // The sign comes last, so that what is near has few bits.
        let mut bits = (difference << 1 ^ difference >> 63) as u64;
        self.bytes[length] = NEAR | (bits as u8 % (1 << FIRST_BITS));
        bits >>= FIRST_BITS;
        loop {
            length += 1;
            let more = bits >= 1 << 7;
            self.bytes[length] = bits as u8 & 0x7f | u8::from(more) << 7;
            bits >>= 7;
            if !more {
                break;
            }
        }
        self.length = length as u16 + 1;
    }

    fn iter(&self) -> impl Iterator<Item = Raw> {
        let mut bytes = self.bytes[..usize::from(self.length)].iter();
        let mut last = 0_i64;
        std::iter::from_fn(move || {
            let first = *bytes.next()?;
            if first < NEAR {
                last += i64::from(first);
                return Some(Raw(last as u32));
            }
            let mut bits = u64::from(first % (1 << FIRST_BITS));
            let mut shift = FIRST_BITS;
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

impl List {
    #[inline]
    fn push(&mut self, raw: Raw) {
        match self.pieces.last_mut() {
            Some(last) if last.has_room() => last.push(raw),
            _ => {
                let mut piece = Piece::new();
                piece.push(raw);
                self.pieces.push(piece);
            }
        }
    }

    /// Makes the list anew, piece by piece, and frees those that it was.
    fn replace(&mut self, mut f: impl FnMut(&Piece, &mut Self)) {
        for piece in std::mem::take(&mut self.pieces) {
            f(&piece, self);
        }
    }
}

impl Samples {
    pub(crate) fn new() -> Self {
        Self {
            places: [0; Lane::COUNT],
            lists: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, lane: Lane, raw: Raw) {
        match self.places[usize::from(lane.0)].checked_sub(1) {
            Some(place) => self.lists[usize::from(place)].push(raw),
            None => self.push_first(lane, raw),
        }
    }

    #[cold]
    fn push_first(&mut self, lane: Lane, raw: Raw) {
        self.lists.push(List::default());
        self.places[usize::from(lane.0)] = self.lists.len() as u8;
        self.push(lane, raw);
    }

    /// Takes over all of others.
    pub(crate) fn append(&mut self, others: &Self) {
        for (lane, &place) in (0..).zip(&others.places) {
            let Some(place) = place.checked_sub(1) else {
                continue;
            };
            let pieces = &others.lists[usize::from(place)].pieces;
            for raw in pieces.iter().flat_map(Piece::iter) {
                self.push(Lane(lane), raw);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lists.iter().all(|it| it.pieces.is_empty())
    }

    /// Changes each, which keeps its size.
    pub(crate) fn update(&mut self, mut f: impl FnMut(Raw) -> Raw) {
        for list in &mut self.lists {
            list.replace(|piece, into| piece.iter().for_each(|raw| into.push(f(raw))));
        }
    }

    /// Keeps those of which `keep` says so. It is going to look at their headers.
    pub(crate) fn retain(&mut self, ground: Ground<'_>, keep: impl FnMut(Raw) -> bool) {
        self.retain_with(|raw| prefetch(ground.base.object(raw)), keep);
    }

    /// The same, where `ask` is told of each some time before.
    fn retain_with(&mut self, ask: impl Fn(Raw), mut keep: impl FnMut(Raw) -> bool) {
        let mut all = Vec::with_capacity(PIECE);
        for list in &mut self.lists {
            list.replace(|piece, into| {
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
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        let bytes =
            |list: &List| list.pieces.len() * PIECE + list.pieces.capacity() * size_of::<Piece>();
        size_of::<Self>()
            + self.lists.capacity() * size_of::<List>()
            + self.lists.iter().map(bytes).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(samples: &Samples) -> Vec<u32> {
        let pieces = samples.lists.iter().flat_map(|it| &it.pieces);
        let mut all: Vec<u32> = pieces.flat_map(Piece::iter).map(|it| it.0).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn a_list_of_differences_is_as_a_vector() {
        let (mut samples, mut twin) = (Samples::new(), Vec::new());
        for round in 1..60_u32 {
            // Now near each other, now anywhere.
            let factor = if round % 2 == 0 { 61 } else { 0x9e37_79b1 };
            for it in 0..round * 97 % 3001 {
                let raw = Raw(it.wrapping_mul(factor) ^ round);
                samples.push(Lane((it % 7 * round % 49) as u8), raw);
                twin.push(raw);
            }
            // Now a few die, now most.
            let dies = |raw: Raw| raw.0.is_multiple_of(1 + round % 5);
            samples.retain_with(|_| {}, |raw| !dies(raw));
            twin.retain(|raw| !dies(*raw));
            samples.update(|raw| Raw(raw.0 ^ round));
            twin.iter_mut().for_each(|raw| raw.0 ^= round);
            if round % 10 == 0 {
                let mut other = Samples::new();
                other.push(Lane::LARGE, Raw(round));
                other.append(&samples);
                twin.push(Raw(round));
                samples = other;
            }
            let mut expected: Vec<u32> = twin.iter().map(|raw| raw.0).collect();
            expected.sort_unstable();
            assert_eq!(all(&samples), expected);
            assert_eq!(samples.is_empty(), twin.is_empty());
            let most = twin.len() * LONGEST;
            let slack = Lane::COUNT * (2 * PIECE + 64);
            assert!(samples.memory_bytes() <= most / 8 * 9 + slack);
        }
        assert!(!twin.is_empty());
    }

    #[test]
    fn differences_of_any_size_come_back_in_order() {
        let mut at = vec![0, u32::MAX, 0, 1, u32::MAX];
        // Around each power of two, forward and back.
        for power in 0..32 {
            for near in [-2, -1, 0, 1, 2] {
                let difference = (1_i64 << power) + near;
                at.extend([1 << 31, ((1 << 31) + difference) as u32]);
                at.extend([1 << 31, ((1 << 31) - difference) as u32]);
            }
        }
        at.extend((0..400).flat_map(|it| [1000, 1000 + it]));
        let mut samples = Samples::new();
        at.iter().for_each(|&it| samples.push(Lane(3), Raw(it)));
        let pieces = samples.lists[0].pieces.iter();
        let back: Vec<u32> = pieces.flat_map(Piece::iter).map(|it| it.0).collect();
        assert_eq!(back, at);
    }

    #[test]
    fn what_is_near_takes_little_more_than_a_byte() {
        let mut samples = Samples::new();
        // One in 256 bytes, of four sizes in turn, each in blocks of its own.
        for it in 0..100_000 {
            let (lane, number) = (it % 4, it / 4);
            let block = number / 128 * 4 + lane;
            let at = block * 4096 + number % 128 * 32;
            samples.push(Lane(lane as u8), Raw(at));
        }
        let bytes = samples.memory_bytes() as f64 / 1e5;
        assert!(bytes < 1.2, "{bytes}");
    }
}
