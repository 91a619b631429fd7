//! Taking samples of what a mutator allocates, and where.
//!
//! Of every so many bytes one is chosen, at random, and the object that has it becomes a sample: its header
//! names its allocation site from then on. The run that a cursor allocates from ends at that byte
//! ([`Cursor`](crate::raw::memory::space::Cursor)), so that the fast path of allocation finds no room and
//! the slow one takes the sample: between two samples nothing is any different.
//!
//! An object is the likelier to be chosen the larger it is. So a sample stands for more than itself, and
//! [`Weights`] say for how many bytes: then sums over samples are fair estimates of sums over all
//! objects.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::raw::marking::mark::Ground;
use crate::raw::memory::address::Raw;
use crate::raw::memory::sizes::{MAX_SMALL, SizeClass};
use crate::raw::memory::space::Cursor;
use crate::raw::objects::header::{Epoch, SiteId, Word};
use crate::sampling::Sampling;
use crate::sites::Site;
use crate::sites::context::Context;
use crate::sites::samples::Lane;

/// How many bytes lie between two samples: this many on average, half of it at least, and at most half as many more.
/// The interval is never the same twice, or it could keep in step with a program that allocates in turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Interval(u32);

impl Interval {
    /// Every object is a sample.
    pub(crate) const EXACT: Self = Self(0);

    pub(crate) const fn new(bytes: u32) -> Self {
        Self(bytes)
    }

    /// Bytes between two samples, on average.
    pub(crate) fn bytes(self) -> u32 {
        self.0
    }

    /// A distance between two samples, given a random number.
    fn distance(self, random: u32) -> u32 {
        self.0 / 2 + ((random as u64 * self.0 as u64) >> 32) as u32
    }

    /// For how many bytes a sample stands whose cell has that many.
    fn weight(self, cell: usize) -> u64 {
        if cell <= self.0 as usize / 2 {
            return self.0.into();
        }
        let (interval, cell) = (self.0 as f64, cell as f64);
        // The chance that one of the chosen bytes is in the cell: no two are nearer than half an interval.
        let chance = match cell / interval {
            part if part < 1.5 => part - (part - 0.5).powi(2) / 2.0,
            _ => return cell as u64,
        };
        (cell / chance) as u64
    }
}

/// For how many bytes a sample stands, by size class.
pub(crate) struct Weights([u64; SizeClass::COUNT]);

impl Weights {
    pub(crate) fn new(interval: Interval) -> Self {
        Self(std::array::from_fn(|class| {
            interval.weight(SizeClass(class as u8).cell_bytes())
        }))
    }

    #[inline]
    pub(crate) fn of(&self, size_class: SizeClass) -> u64 {
        self.0[size_class.0 as usize]
    }

    /// What counts of a sample, which lives or was not swept since it died.
    #[inline]
    pub(crate) fn weigh(&self, ground: Ground<'_>, sample: Raw) -> Weighed {
        // SAFETY: an object that is still as it was.
        let word = unsafe { ground.base.header(sample) }.load();
        let object = ground.base.object(sample);
        // SAFETY: as above.
        let bytes = unsafe { ground.traces[word.class() as usize].bytes(object) };
        let (lane, weight) = match bytes <= MAX_SMALL {
            true => {
                let size_class = SizeClass::of(bytes);
                (Lane::of(size_class), self.of(size_class))
            }
            // Every large object is a sample, and so stands for itself, however long the interval is.
            false => (Lane::LARGE, bytes as u64),
        };
        Weighed {
            site: word.site(),
            lane,
            weight,
        }
    }
}

/// What counts of a sample.
pub(crate) struct Weighed {
    pub(crate) site: SiteId,
    pub(crate) lane: Lane,
    /// For how many bytes it stands.
    pub(crate) weight: u64,
}

/// A sample that has survived the nursery: where it is now, and what is needed to count it, which the evacuation has at hand.
#[derive(Clone, Copy)]
pub(crate) struct Promoted {
    pub(crate) raw: Raw,
    pub(crate) site: SiteId,
    pub(crate) size_class: SizeClass,
}

/// Samples that one mutator has taken at one site since the last collection.
#[derive(Default)]
pub(crate) struct Tally {
    /// In the nursery.
    pub(crate) young: Count,
    /// In the mature space.
    pub(crate) old: Count,
    /// Bytes that were allocated in the mature space because the site is pretenured: all of them, not samples.
    pub(crate) pretenured: Count,
    /// Allocations in the nursery that took the slow path because another site of the class is pretenured.
    pub(crate) detours: AtomicU32,
    /// For how many bytes a sample stands that is counted in [`Quick`]. All are of one size.
    quick_weight: AtomicU64,
}

/// Counted by one thread, and read by others at any time.
#[derive(Default)]
pub(crate) struct Count {
    objects: AtomicU32,
    bytes: AtomicU64,
}

impl Count {
    #[inline]
    pub(crate) fn add(&self, bytes: u64) {
        self.add_all(1, bytes);
    }

    #[inline]
    fn add_all(&self, objects: u32, bytes: u64) {
        let (objects_before, bytes_before) = self.get();
        self.objects
            .store(objects_before.wrapping_add(objects), Relaxed);
        self.bytes.store(bytes_before.wrapping_add(bytes), Relaxed);
    }

    /// Objects and bytes.
    #[inline]
    pub(crate) fn get(&self) -> (u32, u64) {
        (self.objects.load(Relaxed), self.bytes.load(Relaxed))
    }

    /// As [`get`](Self::get), and begins anew. By the thread that counts, or while the world is stopped.
    pub(crate) fn take(&self) -> (u32, u64) {
        let counted = self.get();
        self.objects.store(0, Relaxed);
        self.bytes.store(0, Relaxed);
        counted
    }
}

/// A site at which a sample was taken lately, of a class that the fast path of allocation knows: all that the next sample there needs, in
/// half a line of the cache.
#[repr(align(32))]
pub(crate) struct Quick {
    /// Where it is in the program. 0 if there is none.
    place: Cell<usize>,
    /// The key of the class: it tells whether some site of the class is pretenured.
    pub(crate) key: Cell<usize>,
    /// The header of a sample.
    pub(crate) word: Cell<Word>,
    /// The number of the site in the upper bits, and how many samples were taken since the last collection. In one word, for
    /// other threads may ask at any time.
    taken: AtomicU64,
}

impl Quick {
    /// Bits of `taken` that count.
    const COUNT_BITS: u32 = 48;

    /// None.
    fn none() -> Self {
        Self {
            place: Cell::new(0),
            key: Cell::new(0),
            word: Cell::new(Word(0)),
            taken: AtomicU64::new(0),
        }
    }

    /// Which site, and how many samples.
    fn taken(&self) -> (SiteId, u32) {
        let taken = self.taken.load(Relaxed);
        (SiteId((taken >> Self::COUNT_BITS) as u16), taken as u32)
    }

    /// Remembers a site instead, of which nothing has been counted.
    fn begin(&self, place: usize, key: usize, word: Word) {
        self.place.set(place);
        self.key.set(key);
        self.word.set(word);
        self.restart(word.site());
    }

    /// Nothing has been counted of a site.
    fn restart(&self, site: SiteId) {
        let site = u64::from(site.0);
        self.taken.store(site << Self::COUNT_BITS, Relaxed);
    }
}

/// What a mutator needs to take samples.
pub(crate) struct Sampler {
    interval: Interval,
    /// The state of a small random generator.
    random: Cell<u32>,
    /// The number of the [site](crate::ProgramSite) that a language runtime has set, 0 if none.
    pub(crate) program: Cell<u32>,
    /// How many calls a site is told apart by.
    calls: usize,
    weights: Weights,
    /// Sites at which samples were taken lately, of classes that the fast path knows.
    quick: [Quick; QUICK],
    /// The sites that it has sampled lately, by where they are and by class.
    cache: [Cell<(usize, u32, SiteId)>; CACHE],
    /// By site; takes no memory where there are none.
    tallies: Box<[Tally; SITES]>,
    /// Samples in the mature space, since the last collection.
    pub(crate) born_old: RefCell<Vec<Raw>>,
    /// Whether any site is pretenured.
    pub(crate) routes: Cell<bool>,
    /// Whether the mature space has refused something since the last collection, so that nothing is pretenured until the next.
    pub(crate) is_closed: Cell<bool>,
    /// By site: how many bytes are still to be allocated in the mature space.
    left: Box<[Cell<i64>; SITES]>,
}

/// Sites that a mutator remembers.
const CACHE: usize = 512;

/// Sites that it remembers with all that a sample needs.
const QUICK: usize = 256;

/// Keys of sites differ by multiples of this: it is the alignment of a place in the program.
const SITE_STEP: usize = align_of::<std::panic::Location<'static>>();

/// Keys of classes differ by this at least, but for the bit that says that some site is pretenured.
const DESCRIPTOR_STEP: usize = 16;

/// Sites that have a number, and 0.
const SITES: usize = SiteId::MOST + 1;

/// The place in the cache of a site.
#[inline]
fn place_of(key: usize, class: u32) -> usize {
    (key / SITE_STEP).wrapping_add(class as usize) % CACHE
}

impl Sampler {
    pub(crate) fn new(sampling: Sampling, seed: u32) -> Self {
        let sampler = Self {
            interval: sampling.interval(),
            random: Cell::new(seed),
            program: Cell::new(0),
            calls: sampling.calls(),
            weights: Weights::new(sampling.interval()),
            quick: std::array::from_fn(|_| Quick::none()),
            cache: std::array::from_fn(|_| Cell::new((0, 0, SiteId::NONE))),
            // SAFETY: zero is a valid tally.
            tallies: unsafe { Box::new_zeroed().assume_init() },
            born_old: RefCell::default(),
            routes: Cell::new(false),
            is_closed: Cell::new(false),
            // SAFETY: zero is a valid number.
            left: unsafe { Box::new_zeroed().assume_init() },
        };
        // Seeds that are near have numbers that are near at first.
        (0..8).for_each(|_| _ = sampler.random());
        sampler
    }

    /// Bytes until the first sample.
    pub(crate) fn first(&self) -> usize {
        ((self.random() as u64 * self.interval.0 as u64) >> 32) as usize
    }

    /// Where the next sample is to be taken, given where the last was, in a cell that ends there.
    #[inline(always)]
    pub(crate) fn next(&self, mut at: usize, end: usize) -> usize {
        loop {
            at += self.distance();
            if at >= end {
                return at;
            }
            // Another byte of the same cell is chosen, or all are.
            if self.interval == Interval::EXACT {
                return end;
            }
        }
    }

    #[inline(always)]
    fn distance(&self) -> usize {
        self.interval.distance(self.random()) as usize
    }

    /// A congruential generator, of which the upper bits matter. It need not be better than that: it is to get a program out of step.
    #[inline(always)]
    fn random(&self) -> u32 {
        let random = self.random.get().wrapping_mul(1_664_525);
        let random = random.wrapping_add(1_013_904_223);
        self.random.set(random);
        random
    }

    /// Returns the number of a site, which `find` knows if this mutator does not. It gets the number of the site that a
    /// language runtime has set.
    #[inline]
    pub(crate) fn site(
        &self,
        at: Site,
        class: u32,
        find: impl FnOnce(u32, Context) -> SiteId,
    ) -> SiteId {
        let program = self.program.get();
        let key = match program {
            0 => std::ptr::from_ref(at).addr(),
            // Odd, as no address is.
            number => number as usize * SITE_STEP + 1,
        };
        if self.calls > 0 {
            let context = Context::here(self.calls);
            return self.site_of(key ^ context.key(), class, |_| find(program, context));
        }
        self.site_of(key, class, |()| find(program, Context::default()))
    }

    /// Returns the number of a site, if this mutator knows it and the site is all that matters.
    #[inline]
    pub(crate) fn known_site(&self, at: Site, class: u32) -> Option<SiteId> {
        if self.program.get() != 0 || self.calls > 0 {
            return None;
        }
        let key = std::ptr::from_ref(at).addr();
        let (cached, of, id) = self.cache[place_of(key, class)].get();
        (cached == key && of == class).then_some(id)
    }

    /// What is remembered of a place in the program and a class: the key under which it was [noted](Self::note_quick), and the header of a
    /// sample. None if it is something else, or if a language runtime says where the program is.
    #[inline(always)]
    pub(crate) fn quick(&self, at: Site, key: usize) -> Option<&Quick> {
        let quick = self.quick_place(at, key);
        let is_known = quick.place.get() == std::ptr::from_ref(at).addr();
        (is_known && self.program.get() == 0).then_some(quick)
    }

    /// Takes a sample of the next cell of a cursor, if one is due there: aims at the next one, counts this one and returns its header.
    #[inline(always)]
    pub(crate) fn take_quick(&self, cursor: &Cursor, cell: usize, quick: &Quick) -> Option<Word> {
        cursor.sample(cell, |at, end| self.next(at, end))?;
        let taken = quick.taken.load(Relaxed);
        quick.taken.store(taken.wrapping_add(1), Relaxed);
        Some(quick.word.get())
    }

    /// From now on, [`quick`](Self::quick) finds a site. None if it has no number of its own: objects of many sizes may share it.
    pub(crate) fn note_quick(
        &self,
        at: Site,
        key: usize,
        word: Word,
        size_class: SizeClass,
    ) -> Option<&Quick> {
        if usize::from(word.site().0) == SiteId::MOST {
            return None;
        }
        let quick = self.quick_place(at, key);
        self.count_quick(quick);
        let weight = &self.tally(word.site()).quick_weight;
        weight.store(self.weight(size_class), Relaxed);
        quick.begin(std::ptr::from_ref(at).addr(), key, word);
        Some(quick)
    }

    #[inline(always)]
    fn quick_place(&self, at: Site, key: usize) -> &Quick {
        let place = std::ptr::from_ref(at).addr() / SITE_STEP;
        &self.quick[place.wrapping_add(key / DESCRIPTOR_STEP) % QUICK]
    }

    /// Adds what was counted beside a site to its tally.
    fn count_quick(&self, quick: &Quick) {
        let (site, samples) = quick.taken();
        if samples > 0 {
            quick.restart(site);
            let tally = self.tally(site);
            let weight = tally.quick_weight.load(Relaxed);
            tally.young.add_all(samples, u64::from(samples) * weight);
        }
    }

    /// Sees to it that tallies have all that was counted. By the mutator itself, or while the world is stopped.
    pub(crate) fn settle_quick(&self) {
        self.quick.iter().for_each(|it| self.count_quick(it));
    }

    /// Calls `f` with each site that has samples which are not in its tally yet: how many, and their bytes. While the mutator
    /// runs, it may be off by those that it takes meanwhile.
    pub(crate) fn for_each_quick(&self, mut f: impl FnMut(SiteId, (u32, u64))) {
        for (site, samples) in self.quick.iter().map(Quick::taken) {
            if samples > 0 {
                let weight = self.tally(site).quick_weight.load(Relaxed);
                f(site, (samples, u64::from(samples) * weight));
            }
        }
    }

    /// The fast path knows no class any more.
    pub(crate) fn forget_classes(&self) {
        self.settle_quick();
        self.quick.iter().for_each(|it| it.begin(0, 0, Word(0)));
    }

    /// A new epoch: headers say so.
    pub(crate) fn set_epoch(&self, epoch: Epoch) {
        for quick in &self.quick {
            quick.word.set(quick.word.get().with_epoch(epoch));
        }
    }

    /// An object was allocated in the mature space because its site is pretenured.
    #[inline]
    pub(crate) fn note_mature(&self, site: SiteId, cell: usize) {
        let left = self.left(site);
        left.set(left.get() - cell as i64);
        self.tally(site).pretenured.add(cell as u64);
    }

    /// An object of a class of which another site is pretenured was allocated in the nursery.
    #[inline]
    pub(crate) fn note_detour(&self, site: SiteId) {
        let detours = &self.tally(site).detours;
        detours.store(detours.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// As [`site`](Self::site), by what tells it apart from others.
    #[inline]
    fn site_of(&self, key: usize, class: u32, find: impl FnOnce(()) -> SiteId) -> SiteId {
        let place = place_of(key, class);
        let (own, beside) = (&self.cache[place], &self.cache[place ^ 1]);
        let is_it = |(cached, of, _)| cached == key && of == class;
        if is_it(own.get()) {
            return own.get().2;
        }
        // What another site has displaced is beside it.
        if is_it(beside.get()) {
            own.swap(beside);
            return own.get().2;
        }
        let id = find(());
        beside.set(own.replace((key, class, id)));
        id
    }

    /// Whether a site allocates in the mature space now.
    #[inline]
    pub(crate) fn is_mature(&self, site: SiteId) -> bool {
        self.left(site).get() > 0 && !self.is_closed.get()
    }

    /// How many bytes of a site are still to be allocated in the mature space; none if it allocates in the nursery.
    #[inline]
    pub(crate) fn left(&self, site: SiteId) -> &Cell<i64> {
        &self.left[site.0 as usize % SITES]
    }

    #[inline]
    pub(crate) fn tally(&self, site: SiteId) -> &Tally {
        &self.tallies[site.0 as usize % SITES]
    }

    /// For how many bytes a sample of a size class stands.
    #[inline]
    pub(crate) fn weight(&self, size_class: SizeClass) -> u64 {
        self.weights.of(size_class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a sample is taken of the next cell.
    fn takes(cursor: &Cursor, sampler: &Sampler, size: usize) -> bool {
        let taken = cursor.sample(size, |at, end| sampler.next(at, end));
        taken.is_some()
    }

    /// Allocates cells of the given sizes, in turn, from runs of a length, and returns for each size how many bytes
    /// were allocated and how many its samples stand for.
    fn simulate(interval: u32, sizes: &[usize], run: usize, rounds: usize) -> Vec<(u64, u64)> {
        let sampling = Sampling::every(interval as usize);
        let interval = sampling.interval();
        let sampler = Sampler::new(sampling, 7);
        let cursor = Cursor::sampling(sampler.first());
        let mut all = vec![(0, 0); sizes.len()];
        for _ in 0..rounds {
            for (&size, all) in sizes.iter().zip(&mut all) {
                if cursor.rest() < size {
                    cursor.enter(0, run);
                }
                all.0 += size as u64;
                if takes(&cursor, &sampler, size) {
                    all.1 += interval.weight(size);
                }
                assert!(cursor.next.get() + size <= cursor.limit.get());
                cursor.next.set(cursor.next.get() + size);
            }
        }
        all
    }

    #[test]
    fn samples_stand_for_what_is_allocated_whatever_its_size() {
        for interval in [32, 64, 256, 512, 1024, 4096, 16384] {
            // The sizes are multiples of the interval, or go with it in some other simple way: no reason to be wrong.
            for sizes in [
                &[16, 32, 48, 256, 8192][..],
                &[32, 32],
                &[24, 4096],
                &[256, 512, 1024, 2048],
            ] {
                for run in [16 << 10, 64 << 10, 1 << 20] {
                    let sum: usize = sizes.iter().sum();
                    let rounds = (4000 * interval as usize / sum).max(20_000);
                    for (size, (all, sampled)) in
                        sizes.iter().zip(simulate(interval, sizes, run, rounds))
                    {
                        let samples = all as f64 / interval.max(*size as u32) as f64;
                        let error = (sampled as f64 / all as f64 - 1.0).abs();
                        let allowed = 6.0 / samples.sqrt();
                        assert!(
                            error < allowed,
                            "{size} of {sizes:?} every {interval} in {run}: {error} > {allowed}"
                        );
                    }
                }
            }
        }
    }

    /// As if there were one endless run: whatever runs there are, the same bytes of what is allocated are chosen.
    #[test]
    fn where_runs_end_changes_no_sample() {
        for interval in [32, 256, 4096] {
            let [own, twin] = [(); 2].map(|()| Sampler::new(Sampling::every(interval), 5));
            let cursor = Cursor::sampling(own.first());
            let (mut chosen, mut allocated) = (twin.first(), 0);
            let mut taken = 0;
            for round in 0..100_000_usize {
                let size = 16 + round * 7919 % 61 * 8;
                if cursor.rest() < size {
                    cursor.enter(8 + round % 1000 * 8, 9_000 + round * 104_729 % 30_000 * 8);
                }
                allocated += size;
                let hits = chosen < allocated;
                while chosen < allocated {
                    chosen += twin.interval.distance(twin.random()) as usize;
                }
                assert_eq!(takes(&cursor, &own, size), hits);
                taken += usize::from(hits);
                cursor.next.set(cursor.next.get() + size);
                let left = (chosen - allocated).min(cursor.rest());
                assert_eq!(cursor.limit.get() - cursor.next.get(), left);
            }
            assert!(taken > 1000, "{taken}");
        }
    }

    #[test]
    fn large_objects_are_sampled_more_often_as_they_should() {
        let sampler = Sampler::new(Sampling::every(256), 3);
        let cursor = Cursor::sampling(sampler.first());
        let mut hits = [0, 0];
        for round in 0..100_000 {
            let (size, hit) = [(16, 0), (128, 1)][round % 2];
            if cursor.rest() < size {
                cursor.enter(0, 32 << 10);
            }
            hits[hit] += u32::from(takes(&cursor, &sampler, size));
            cursor.next.set(cursor.next.get() + size);
        }
        let ratio = f64::from(hits[1]) / f64::from(hits[0]);
        assert!((7.4..8.6).contains(&ratio), "{hits:?}");
    }

    #[test]
    fn in_exact_mode_every_object_is_a_sample_and_stands_for_itself() {
        let sampler = Sampler::new(Sampling::exact(), 1);
        let cursor = Cursor::sampling(sampler.first());
        for round in 0..1000 {
            let size = 16 + 8 * (round % 5);
            if cursor.rest() < size {
                cursor.enter(0, 4096);
            }
            assert!(takes(&cursor, &sampler, size));
            assert_eq!(sampler.weight(SizeClass::of(size)), size as u64);
            cursor.next.set(cursor.next.get() + size);
        }
    }

    #[test]
    fn a_cursor_that_takes_no_samples_has_all_its_run() {
        let cursor = Cursor::default();
        for _ in 0..10 {
            cursor.enter(8, 1 << 30);
            assert_eq!(cursor.rest(), (1 << 30) - 8);
            assert_eq!(cursor.limit.get(), 1 << 30);
            assert!(cursor.sample(16, |_, _| unreachable!()).is_none());
            cursor.next.set(1 << 20);
        }
    }
}
