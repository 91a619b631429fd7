//! The header: the first word of every object, and all its bits.
//!
//! | bits | field | used by |
//! |---|---|---|
//! | 0–19 | class; 0 marks a free run | everything |
//! | 20–22 | mark epoch: live if equal to the heap's | marking, sweeping |
//! | 23 | forwarded: the upper half is where the object went | nursery, compaction |
//! | 24–31 | visit epoch: a second visited mark | probes, owner scans, DeAL |
//! | 32 | doomed: dead because references were pruned | leak pruning |
//! | 33 | asserted unshared | GC assertions |
//! | 34 | tainted: hung on something that was pruned, too | leak pruning |
//! | 35 | asserted to be owned | GC assertions |
//! | 36 | pinned | compaction |
//! | 37–38 | identity hash: none, by address, stored behind the object | hashing |
//! | 39 | external memory is accounted to it | heap sizing |
//! | 40–42 | staleness: unused for about 2ᵏ collections | leak pruning |
//! | 43 | key of an ephemeron that waits for it | marking |
//! | 44–45 | references from its like that were met: 0, 1, 2, more | shapes |
//! | 46–48 | free | |
//! | 49–63 | allocation site, of an object that is a sample; else 0 | dynamic object sampling |
//!
//! A free run keeps its length in cells in bits 32–47 and the place of the next
//! run of its block, in granules from the block's start, in bits 48–63.
//!
//! While the world stands still, the word is loaded and stored whole. While the program runs, threads go to three parts of it,
//! each always in the same size, so that no access overlaps one of another size: the lower half, which nobody writes then
//! ([`Header::low`]); bits 32–39, which change one by one ([`Header::update_flags`]); and bits 40–47, of which only the staleness
//! is in use then, so that an object is fresh again by a plain store of one byte ([`Header::refresh`]). Whole words are
//! written then of what nobody else can reach: new objects, and free runs.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::raw::memory::address::Raw;

/// The first word of every managed object. A managed struct begins with one; only
/// the heap makes them, and so only the heap makes managed objects.
#[repr(transparent)]
pub struct Header(AtomicU64);

/// Says nothing: what it holds is the heap's.
impl std::fmt::Debug for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
}

/// A header's bits, taken out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word(pub(crate) u64);

const CLASS_BITS: u32 = 20;
const EPOCH_SHIFT: u32 = 20;
const EPOCH_MASK: u64 = 0b111 << EPOCH_SHIFT;
const FORWARDED: u64 = 1 << 23;
const VISIT_SHIFT: u32 = 24;
const VISIT_MASK: u64 = 0xff << VISIT_SHIFT;
const DOOMED: u64 = 1 << 32;
const UNSHARED: u64 = 1 << 33;
const TAINTED: u64 = 1 << 34;
const OWNEE: u64 = 1 << 35;
const EXTERNAL: u64 = 1 << 39;
/// Where the byte starts that changes bit by bit while the program runs.
const FLAGS_SHIFT: u32 = 32;
const STALENESS_SHIFT: u32 = 40;
const STALENESS_MASK: u64 = 0b111 << STALENESS_SHIFT;
const HASH_SHIFT: u32 = 37;
const HASH_MASK: u64 = 0b11 << HASH_SHIFT;
const PINNED: u64 = 1 << 36;
const KEY: u64 = 1 << 43;
const DEGREE_SHIFT: u32 = 44;
const DEGREE_MASK: u64 = 0b11 << DEGREE_SHIFT;
const SITE_SHIFT: u32 = 49;

/// An allocation site of a heap, by its number in the table (`sites.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SiteId(pub(crate) u16);

impl SiteId {
    /// Of an object that is no sample.
    pub(crate) const NONE: Self = Self(0);
    /// The most sites that one heap can tell apart.
    pub(crate) const MOST: usize = (1 << (64 - SITE_SHIFT)) - 1;
}

/// The most classes that one heap can have.
pub(crate) const MAX_CLASSES: usize = (1 << CLASS_BITS) - 1;

/// A generation of marks. An object whose header carries the heap's current
/// epoch is live; each full collection begins a new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Epoch(u64);

impl Epoch {
    pub(crate) const FIRST: Epoch = Epoch(1 << EPOCH_SHIFT);

    /// The next of seven epochs. All objects carry the current one when a new
    /// one begins (sweeping is finished by then), so that any two would do.
    pub(crate) fn next(self) -> Self {
        let number = self.0 >> EPOCH_SHIFT;
        Self((number % 7 + 1) << EPOCH_SHIFT)
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        debug_assert!(bits & EPOCH_MASK == bits && bits != 0);
        Self(bits)
    }
}

/// By how much an object grows staler.
#[derive(Clone, Copy)]
pub(crate) struct Growth(u64);

impl Growth {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ONE: Self = Self(1 << STALENESS_SHIFT);
}

/// Where an object's identity hash is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HashState {
    /// Nobody has asked for it.
    None,
    /// Computed from the address, which has not changed since.
    ByAddress,
    /// In the last granule of the object, where it was put when the object moved.
    Stored,
}

impl Header {
    #[inline]
    pub(crate) fn new(word: Word) -> Self {
        Self(AtomicU64::new(word.0))
    }

    /// The header of the object, or free run, that starts there.
    ///
    /// # Safety
    /// One starts there, in memory of a heap that outlives `'a`.
    #[inline]
    pub(crate) unsafe fn at<'a>(start: *mut u8) -> &'a Self {
        // SAFETY: the caller's promise; a header is an atomic word, so that sharing it
        // is always allowed.
        unsafe { &*start.cast::<Self>() }
    }

    /// The whole word. Not of an object that a thread may use meanwhile.
    #[inline]
    pub(crate) fn load(&self) -> Word {
        Word(self.0.load(Relaxed))
    }

    /// Bits 0–31, and no others.
    #[inline]
    pub(crate) fn low(&self) -> Word {
        const AT: usize = if cfg!(target_endian = "little") { 0 } else { 1 };
        // SAFETY: half of the header, which is accessed atomically only.
        let half = unsafe { &*(&raw const self.0).cast::<AtomicU32>().add(AT) };
        Word(half.load(Relaxed) as u64)
    }

    /// Bits 32–39, and no others.
    #[inline]
    pub(crate) fn flags(&self) -> Word {
        Word((self.byte::<FLAGS_SHIFT>().load(Relaxed) as u64) << FLAGS_SHIFT)
    }

    /// How stale the object is.
    #[inline]
    pub(crate) fn staleness(&self) -> u8 {
        let byte = self.byte::<STALENESS_SHIFT>().load(Relaxed);
        Word((byte as u64) << STALENESS_SHIFT).staleness()
    }

    /// The byte that starts at a bit.
    #[inline]
    fn byte<const SHIFT: u32>(&self) -> &AtomicU8 {
        let at = match cfg!(target_endian = "little") {
            true => SHIFT / 8,
            false => 7 - SHIFT / 8,
        };
        // SAFETY: a byte of the header, which is accessed atomically only.
        unsafe { &*(&raw const self.0).cast::<AtomicU8>().add(at as usize) }
    }

    /// Overwrites the header. For the allocator, and the collector while the
    /// world stands still.
    #[inline]
    pub(crate) fn store(&self, word: Word) {
        self.0.store(word.0, Relaxed);
    }

    /// Overwrites the header and tells what it was: exact even when several
    /// collector threads do it at once.
    #[inline]
    pub(crate) fn swap(&self, word: Word) -> Word {
        Word(self.0.swap(word.0, Relaxed))
    }

    /// The object is in use, while the program runs: other threads may change other bits, which this store does not touch.
    #[inline]
    pub(crate) fn refresh(&self) {
        const { assert!(STALENESS_SHIFT == FLAGS_SHIFT + 8 && HASH_MASK >> (FLAGS_SHIFT + 8) == 0) };
        self.byte::<STALENESS_SHIFT>().store(0, Relaxed);
    }

    /// Changes some of bits 32–39, while the program runs.
    pub(crate) fn update_flags(&self, f: impl Fn(Word) -> Word) {
        let change = |byte: u8| {
            let word = f(Word((byte as u64) << FLAGS_SHIFT));
            debug_assert!(word.0 & !(0xff << FLAGS_SHIFT) == 0);
            Some((word.0 >> FLAGS_SHIFT) as u8)
        };
        let byte = self.byte::<FLAGS_SHIFT>();
        let _ = byte.fetch_update(Relaxed, Relaxed, change);
    }

    /// Changes some bits while other collector threads may change others.
    pub(crate) fn update(&self, mut f: impl FnMut(Word) -> Word) -> Word {
        let before = self
            .0
            .fetch_update(Relaxed, Relaxed, |bits| Some(f(Word(bits)).0))
            .expect("the closure always answers");
        Word(before)
    }
}

impl Word {
    #[inline]
    pub(crate) fn object(class: u32, epoch: Epoch) -> Self {
        Self(class as u64 | epoch.0)
    }

    /// Where the object was allocated, if it is a sample.
    #[inline]
    pub(crate) fn site(self) -> SiteId {
        SiteId((self.0 >> SITE_SHIFT) as u16)
    }

    /// Makes a sample of an object that was none.
    #[inline]
    pub(crate) fn with_site(self, site: SiteId) -> Self {
        Self(self.0 | (site.0 as u64) << SITE_SHIFT)
    }

    /// The header of an object of the class that is no sample.
    #[inline]
    pub(crate) fn without_site(self) -> Self {
        Self(self.0 & ((1 << SITE_SHIFT) - 1))
    }

    /// How many references from its like have been met, 3 at most, since it was marked by a
    /// visitor that counts them.
    #[inline]
    pub(crate) fn degree(self) -> usize {
        ((self.0 & DEGREE_MASK) >> DEGREE_SHIFT) as usize
    }

    #[inline]
    pub(crate) fn with_degree(self, degree: usize) -> Self {
        Self(self.0 & !DEGREE_MASK | (degree as u64) << DEGREE_SHIFT)
    }

    /// A run of free cells, and where in its block the next one starts (0: none;
    /// a run at the very start of a block is never the next of another).
    pub(crate) fn free_run(cells: u16, next: u16) -> Self {
        Self((cells as u64) << 32 | (next as u64) << 48)
    }

    #[inline]
    pub(crate) fn class(self) -> u32 {
        (self.0 & ((1 << CLASS_BITS) - 1)) as u32
    }

    #[inline]
    pub(crate) fn is_free(self) -> bool {
        self.class() == 0
    }

    pub(crate) fn run_cells(self) -> u16 {
        (self.0 >> 32) as u16
    }

    pub(crate) fn next_run(self) -> u16 {
        (self.0 >> 48) as u16
    }

    #[inline]
    pub(crate) fn is_marked(self, epoch: Epoch) -> bool {
        self.0 & EPOCH_MASK == epoch.0
    }

    /// Marked, and so not doomed.
    #[inline]
    pub(crate) fn with_epoch(self, epoch: Epoch) -> Self {
        Self(self.0 & !(EPOCH_MASK | DOOMED) | epoch.0)
    }

    /// Whether the object is dead only because references were pruned.
    pub(crate) fn is_doomed(self) -> bool {
        self.0 & DOOMED != 0
    }

    pub(crate) fn doomed(self) -> Self {
        Self(self.0 | DOOMED)
    }

    /// Whether something that was pruned led to the object as well.
    pub(crate) fn is_tainted(self) -> bool {
        self.0 & TAINTED != 0
    }

    pub(crate) fn tainted(self) -> Self {
        Self(self.0 | TAINTED)
    }

    /// For about how long the object has not been used: 2ᵏ collections, 7 at most.
    #[inline]
    pub(crate) fn staleness(self) -> u8 {
        ((self.0 & STALENESS_MASK) >> STALENESS_SHIFT) as u8
    }

    #[inline]
    pub(crate) fn with_staleness(self, staleness: u8) -> Self {
        Self(self.0 & !STALENESS_MASK | (staleness as u64) << STALENESS_SHIFT)
    }

    /// Staler by so much.
    #[inline]
    pub(crate) fn grown(self, growth: Growth) -> Self {
        debug_assert!(self.staleness() as u64 + (growth.0 >> STALENESS_SHIFT) < 8);
        Self(self.0 + growth.0)
    }

    /// The visited mark of a trace other than the collector's, or a label.
    #[inline]
    pub(crate) fn visit(self) -> u8 {
        (self.0 >> VISIT_SHIFT) as u8
    }

    #[inline]
    pub(crate) fn with_visit(self, visit: u8) -> Self {
        Self(self.0 & !VISIT_MASK | (visit as u64) << VISIT_SHIFT)
    }

    #[inline]
    pub(crate) fn with_epoch_and_visit(self, epoch: Epoch, visit: u8) -> Self {
        let bits = epoch.0 | (visit as u64) << VISIT_SHIFT;
        Self(self.0 & !(EPOCH_MASK | VISIT_MASK | DOOMED) | bits)
    }

    #[inline]
    pub(crate) fn forwarded_to(self) -> Option<Raw> {
        (self.0 & FORWARDED != 0).then_some(Raw((self.0 >> 32) as u32))
    }

    #[inline]
    pub(crate) fn forwarding(class: u32, to: Raw) -> Self {
        Self(class as u64 | FORWARDED | (to.0 as u64) << 32)
    }

    #[inline]
    pub(crate) fn hash_state(self) -> HashState {
        match self.0 & HASH_MASK {
            0 => HashState::None,
            bits if bits == 1 << HASH_SHIFT => HashState::ByAddress,
            _ => HashState::Stored,
        }
    }

    pub(crate) fn with_hash_state(self, state: HashState) -> Self {
        let bits = match state {
            HashState::None => 0,
            HashState::ByAddress => 1,
            HashState::Stored => 2,
        };
        Self(self.0 & !HASH_MASK | bits << HASH_SHIFT)
    }

    pub(crate) fn is_pinned(self) -> bool {
        self.0 & PINNED != 0
    }

    pub(crate) fn with_pinned(self, on: bool) -> Self {
        self.with(PINNED, on)
    }

    /// Whether the object was asserted unshared.
    #[inline]
    pub(crate) fn is_unshared(self) -> bool {
        self.0 & UNSHARED != 0
    }

    pub(crate) fn with_unshared(self, on: bool) -> Self {
        self.with(UNSHARED, on)
    }

    /// Whether the object was asserted to be owned.
    #[inline]
    pub(crate) fn is_ownee(self) -> bool {
        self.0 & OWNEE != 0
    }

    pub(crate) fn with_ownee(self, on: bool) -> Self {
        self.with(OWNEE, on)
    }

    pub(crate) fn with_external(self, on: bool) -> Self {
        self.with(EXTERNAL, on)
    }

    /// Whether an ephemeron waits for this object to be marked.
    #[inline]
    pub(crate) fn is_awaited_key(self) -> bool {
        self.0 & KEY != 0
    }

    pub(crate) fn with_awaited_key(self, on: bool) -> Self {
        self.with(KEY, on)
    }

    fn with(self, bit: u64, on: bool) -> Self {
        Self(if on { self.0 | bit } else { self.0 & !bit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_go_round_without_ever_being_zero() {
        let mut epoch = Epoch::FIRST;
        for _ in 0..100 {
            assert_ne!(epoch.bits(), 0);
            assert_ne!(epoch, epoch.next());
            epoch = epoch.next();
        }
    }

    /// Each part of the word is where it is when the word is whole.
    #[test]
    fn parts_are_parts_of_the_word() {
        let word = Word::object(MAX_CLASSES as u32, Epoch::FIRST.next())
            .with_hash_state(HashState::Stored)
            .with_unshared(true)
            .with_staleness(5)
            .with_site(SiteId(SiteId::MOST as u16))
            .with_visit(0xa5);
        let header = Header::new(word);
        assert_eq!(header.low(), Word(word.0 & u32::MAX as u64));
        assert_eq!(header.flags(), Word(word.0 & 0xff << 32));
        assert_eq!(header.staleness(), 5);
        header.refresh();
        assert_eq!(header.load(), word.with_staleness(0));
        let changes: [fn(Word) -> Word; 5] = [
            |it| it.with_unshared(false),
            |it| it.with_ownee(true),
            |it| it.with_pinned(true),
            |it| it.with_external(true),
            |it| it.with_hash_state(HashState::ByAddress),
        ];
        let mut expected = word.with_staleness(0);
        for change in changes {
            header.update_flags(change);
            expected = change(expected);
            assert_eq!(header.load(), expected);
        }
        assert_eq!(expected.degree(), 0);
        assert!(!expected.is_awaited_key());
    }

    #[test]
    fn fields_do_not_overlap() {
        let epoch = Epoch::FIRST.next();
        let word = Word::object(MAX_CLASSES as u32, epoch)
            .with_hash_state(HashState::Stored)
            .with_pinned(true)
            .with_external(true)
            .with_awaited_key(true)
            .with_staleness(7)
            .with_degree(0)
            .with_site(SiteId(SiteId::MOST as u16))
            .with_visit(0xa5);
        assert_eq!((word.site().0 as usize, word.degree()), (SiteId::MOST, 0));
        assert_eq!(Word::object(1, epoch).with_degree(3).site(), SiteId::NONE);
        assert_eq!((word.visit(), word.staleness()), (0xa5, 7));
        assert!(!word.is_doomed() && word.doomed().is_doomed());
        assert!(!word.doomed().with_epoch(epoch).is_doomed());
        assert_eq!(word.with_staleness(0).staleness(), 0);
        assert_eq!(word.class(), MAX_CLASSES as u32);
        assert!(word.is_marked(epoch) && !word.is_marked(epoch.next()));
        assert_eq!(word.forwarded_to(), None);
        assert!(word.is_pinned() && word.is_awaited_key());
        let word = word.with_pinned(false).with_epoch(epoch.next());
        assert_eq!(word.hash_state(), HashState::Stored);
        assert!(word.is_marked(epoch.next()) && !word.is_pinned());
        let run = Word::free_run(2048, 4095);
        assert!(run.is_free());
        assert_eq!((run.run_cells(), run.next_run()), (2048, 4095));
        let gone = Word::forwarding(7, Raw(0xdead_beef));
        assert_eq!(gone.forwarded_to(), Some(Raw(0xdead_beef)));
        assert_eq!(gone.class(), 7);
    }
}
