//! Which object had which address when a heap was dumped.
//!
//! A dump's references are addresses, and a snapshot's are numbers: five million objects and twice as many
//! references make a hash table of them slow and large. Addresses of a heap lie close together, at multiples
//! of some power of two. So each possible address has a bit, 64 of them a word, and a word knows how many bits
//! are set before it: the number of an object is found with one look into memory, and the table takes about a
//! byte and a half an object. Words come in pages, for a heap has gaps; where addresses lie too far apart for that, they
//! are a sorted array.
//!
//! Objects that a dump lists in the order of their addresses need nothing else. For others, `order` has the
//! number of each object, by the rank of its address.

/// Finds objects by their addresses, and the other way round.
#[derive(Debug, Default)]
pub struct Addresses {
    /// The number of the object that was given first.
    base: u32,
    /// How many addresses were given.
    len: usize,
    /// Differences from it are multiples of `1 << shift`.
    least: u64,
    shift: u32,
    /// By page of addresses, which page of words; [`NONE`] if it is empty.
    directory: Vec<u32>,
    /// Which page of addresses a page of words stands for.
    pages: Vec<u32>,
    words: Vec<Word>,
    /// All addresses in order, where they are too far apart for bits.
    sorted: Vec<u64>,
    /// Where numbers are not in the order of addresses: the number at each rank.
    order: Vec<u32>,
    /// Objects that have an address of their own beside those: few, in any order.
    others: Vec<(u64, u32)>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Word {
    bits: u64,
    /// How many addresses lie before it.
    rank: u32,
}

/// An empty page.
const NONE: u32 = u32::MAX;
/// Words a page.
const WORDS: usize = 512;
/// Addresses a page, as a power of two.
const PAGE: u32 = 15;

impl Addresses {
    /// Numbers the objects at these addresses, given in pieces: the first one has the number `base`. Where an address
    /// comes twice, it is that of its first object.
    pub fn new(base: u32, pieces: &[Vec<u64>]) -> Self {
        let len = pieces.iter().map(Vec::len).sum();
        let mut table = Self {
            base,
            len,
            ..Self::default()
        };
        let all = || pieces.iter().flatten().copied();
        let Some(first) = all().next() else {
            return table;
        };
        let (mut is_sorted, mut bits) = (true, 0);
        let (mut least, mut most) = (first, first);
        let mut last = None;
        for piece in pieces {
            is_sorted &= piece.is_sorted_by(|a, b| a < b);
            is_sorted &= piece
                .first()
                .is_none_or(|it| last.is_none_or(|last| last < *it));
            last = piece.last().copied().or(last);
            for &address in piece {
                bits |= address ^ first;
                least = least.min(address);
                most = most.max(address);
            }
        }
        table.least = least;
        // All have the same bits below.
        table.shift = if bits == 0 { 0 } else { bits.trailing_zeros() };
        let by_rank: Vec<(u64, u32)> = match is_sorted {
            true => Vec::new(),
            false => {
                let mut pairs: Vec<_> = all().zip(base..).collect();
                pairs.sort();
                pairs.dedup_by_key(|pair| pair.0);
                pairs
            }
        };
        table.order = by_rank.iter().map(|&(_, number)| number).collect();
        let places = (most - least) >> table.shift;
        match is_sorted {
            true => table.fill(pieces, places),
            false => {
                let sorted = by_rank.iter().map(|it| it.0).collect();
                table.fill(&[sorted], places);
            }
        }
        table
    }

    /// Gives an object an address beside those: one that `new` was not given.
    pub fn push(&mut self, address: u64, number: u32) {
        self.others.push((address, number));
    }

    /// Takes addresses in ascending order.
    fn fill(&mut self, pieces: &[Vec<u64>], places: u64) {
        let len = match self.order.len() {
            0 => self.len,
            sorted => sorted,
        };
        // The table may take as much as a sorted array would, and a little.
        let most_bytes = 8 * len as u64 + (1 << 16);
        let page_bytes = (WORDS * size_of::<Word>()) as u64;
        let pages = (places >> PAGE) + 1;
        if pages * 4 > most_bytes {
            self.sorted = pieces.concat();
            return;
        }
        self.directory = vec![NONE; pages as usize];
        let (least, shift) = (self.least, self.shift);
        // The page of the address before, and where its words begin.
        let mut open = (u64::MAX, 0);
        for piece in pieces {
            for address in piece {
                let place = (address - least) >> shift;
                let page = place >> PAGE;
                if page != open.0 {
                    if (self.pages.len() as u64 + 1) * page_bytes > 2 * most_bytes {
                        (self.directory, self.pages, self.words) = Default::default();
                        self.sorted = pieces.concat();
                        return;
                    }
                    self.directory[page as usize] = self.pages.len() as u32;
                    self.pages.push(page as u32);
                    open = (page, self.words.len());
                    self.words.resize(open.1 + WORDS, Word::default());
                }
                self.words[open.1 + (place >> 6) as usize % WORDS].bits |= 1 << (place % 64);
            }
        }
        let mut rank = 0;
        for word in &mut self.words {
            word.rank = rank;
            rank += word.bits.count_ones();
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0 && self.others.is_empty()
    }

    /// The object at an address.
    #[inline]
    pub fn find(&self, address: u64) -> Option<u32> {
        match self.rank(address) {
            Some(rank) if self.order.is_empty() => Some(self.base + rank),
            Some(rank) => Some(self.order[rank as usize]),
            None => self.find_other(address),
        }
    }

    #[inline]
    fn rank(&self, address: u64) -> Option<u32> {
        if self.directory.is_empty() {
            let found = self.sorted.binary_search(&address);
            return found.ok().map(|rank| rank as u32);
        }
        let distance = address.wrapping_sub(self.least);
        let place = distance >> self.shift;
        let page = *self.directory.get((place >> PAGE) as usize)?;
        let at = (page as usize).wrapping_mul(WORDS) + (place >> 6) as usize % WORDS;
        let word = self.words.get(at)?;
        let bit = 1u64 << (place % 64);
        let is_there = word.bits & bit != 0 && place << self.shift == distance;
        is_there.then(|| word.rank + (word.bits & (bit - 1)).count_ones())
    }

    #[cold]
    fn find_other(&self, address: u64) -> Option<u32> {
        let found = self.others.binary_search_by_key(&address, |it| it.0);
        found.ok().map(|at| self.others[at].1)
    }

    /// Puts the addresses that were pushed in order, which `find` relies on.
    pub fn finish(&mut self) {
        self.others.sort();
        self.others.dedup_by_key(|it| it.0);
    }

    /// The address of an object, where it is known. Quick where the dump was in the order of addresses.
    pub fn of(&self, number: u32) -> Option<u64> {
        if let Some(other) = self.others.iter().find(|it| it.1 == number) {
            return Some(other.0);
        }
        let rank = match self.order.is_empty() {
            true => number.checked_sub(self.base)?,
            false => self.order.iter().position(|&it| it == number)? as u32,
        };
        if self.directory.is_empty() {
            return self.sorted.get(rank as usize).copied();
        }
        // Empty words have the rank of those behind them: the last that is not greater has the bit.
        let at = self.words.partition_point(|word| word.rank <= rank);
        let at = at.checked_sub(1)?;
        let mut bits = self.words[at].bits;
        for _ in 0..rank - self.words[at].rank {
            bits &= bits.wrapping_sub(1);
        }
        if bits == 0 {
            return None;
        }
        let page = self.pages[at / WORDS] as u64;
        let place = (page << PAGE) + (at % WORDS) as u64 * 64 + bits.trailing_zeros() as u64;
        Some(self.least + (place << self.shift))
    }

    /// Bytes of memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        self.directory.len() * 4
            + self.pages.len() * 4
            + self.words.len() * size_of::<Word>()
            + self.sorted.len() * 8
            + self.order.len() * 4
            + self.others.len() * 16
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Holds the table against a hash table.
    fn check(base: u32, pieces: &[Vec<u64>]) {
        let table = Addresses::new(base, pieces);
        let mut twin = HashMap::new();
        for (address, number) in pieces.iter().flatten().zip(base..) {
            twin.entry(*address).or_insert(number);
        }
        for (&address, &number) in &twin {
            assert_eq!(table.find(address), Some(number), "{address:#x}");
            assert_eq!(table.of(number), Some(address), "{number}");
            for near in [1, 8, 1 << 20, 1 << 40] {
                for near in [address.wrapping_sub(near), address.wrapping_add(near)] {
                    assert_eq!(table.find(near), twin.get(&near).copied(), "{near:#x}");
                }
            }
        }
        assert_eq!(table.of(base + twin.len() as u32 + 1000), None);
    }

    #[test]
    fn no_addresses_have_no_objects() {
        let table = Addresses::new(3, &[]);
        assert_eq!((table.find(0), table.of(3)), (None, None));
        check(3, &[vec![u64::MAX]]);
        check(0, &[vec![], vec![0, u64::MAX]]);
    }

    #[test]
    fn others_are_found_too() {
        let mut table = Addresses::new(2, &[vec![16, 32]]);
        table.push(80, 0);
        table.push(24, 1);
        table.finish();
        assert_eq!(table.find(80), Some(0));
        assert_eq!(table.find(24), Some(1));
        assert_eq!(table.find(32), Some(3));
        assert_eq!(table.of(1), Some(24));
        assert_eq!(table.of(2), Some(16));
    }

    proptest! {
        #[test]
        fn each_address_finds_its_object(
            steps in proptest::collection::vec((0u64..5000, any::<bool>()), 0..600),
            start in any::<u64>(),
            shift in 0u32..5,
            far in prop_oneof![Just(1u64), Just(1 << 16), Just(1 << 30)],
            shuffle in any::<bool>(),
        ) {
            let mut at = start >> 2 >> shift << shift;
            let mut all = Vec::new();
            for (step, is_far) in steps {
                at = at.wrapping_add(((step + 1) * if is_far { far } else { 1 }) << shift);
                all.push(at);
            }
            if shuffle {
                let middle = all.len() / 3;
                all.rotate_left(middle);
            }
            let pieces: Vec<Vec<u64>> = all.chunks(50).map(<[u64]>::to_vec).collect();
            check(7, &pieces);
        }
    }
}
