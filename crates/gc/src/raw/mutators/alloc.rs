//! Allocation: from the bump of a pointer to the collection that makes room.
//!
//! A mutator allocates small objects from cursors: one for each size class, or one
//! for all of them where there is a nursery. When a cursor is used up it is
//! refilled, which is also where safepoints, zeal and collections happen, and where
//! samples are taken of what the program allocates where (`sites.rs`).

use std::panic::Location;

use heaphound_heap::ClassId;

use crate::collect::{Cause, Kind, Request};
use crate::error::OutOfMemory;
use crate::raw::memory::address::{CARD, GRANULE, Raw};
use crate::raw::memory::sizes::{MAX_SMALL, SizeClass};
use crate::raw::memory::space::{Cursor, Demand, Refusal};
use crate::raw::mutators::mutator::{Local, Mutator, MutatorShared};
use crate::raw::objects::header::{Header, Word};
use crate::raw::objects::layout::MAX_FIXED_BYTES;
use crate::raw::objects::object::{Descriptor, Filler, Init, Managed};
use crate::raw::objects::slot::mark_card;
use crate::sites::Site;
use crate::waits::{CalledOff, Loss};

impl MutatorShared {
    /// Where objects of a size class are allocated.
    #[inline(always)]
    fn cursor(&self, size_class: SizeClass) -> &Cursor {
        &self.cursors[(size_class.0 as usize + 1) & self.cursor_mask]
    }

    /// The number of a class, if this mutator has used it lately.
    #[inline(always)]
    fn cached_class(&self, descriptor: &'static Descriptor) -> Option<u32> {
        let (key, place) = cache_place(descriptor);
        let (cached, class) = self.class_cache[place].get();
        (cached == key).then_some(class)
    }

    /// Chooses where in a new run a sample is taken, if one is due: the run is cut there. Returns
    /// whether it is the object of `cell` bytes for which the run was taken.
    fn choose_sample(&self, cursor: &Cursor, cell: usize) -> bool {
        let rest = cursor.rest();
        if !self.is_sample_due(rest) {
            return false;
        }
        // Every byte with the same chance, or a program that allocates in turns would be
        // caught at the same turn again and again.
        let byte = self.random() as usize % rest / GRANULE * GRANULE;
        if byte >= cell {
            cursor.cut(byte);
        }
        byte < cell
    }

    /// Counts bytes that were given out. Returns whether it is time for a sample.
    fn is_sample_due(&self, bytes: usize) -> bool {
        let unsampled = self.unsampled.get() + bytes;
        let is_due = unsampled >= SAMPLE_BYTES;
        self.unsampled.set(if is_due { 0 } else { unsampled });
        is_due
    }

    /// Marsaglia's xorshift.
    fn random(&self) -> u32 {
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        self.random.set(random);
        random
    }
}

/// Bytes between two samples at least. A block and a chunk of the nursery have one each; runs
/// that are shorter share one, for taking it costs more than they do.
const SAMPLE_BYTES: usize = 16 << 10;

/// A size that has a size class: of a large struct some other one, for code that is
/// never reached but compiled all the same.
const fn small(bytes: usize) -> usize {
    if bytes <= MAX_SMALL { bytes } else { MAX_SMALL }
}

/// Entries of a mutator's class cache.
pub(in crate::raw) const CLASS_CACHE: usize = 1024;

/// A descriptor's key in the class cache, and its place there.
#[inline(always)]
fn cache_place(descriptor: &'static Descriptor) -> (usize, usize) {
    let key = (&raw const *descriptor).addr();
    (key, (key >> 4) % CLASS_CACHE)
}

impl<'a> Mutator<'a> {
    /// The number of a class in this heap, which gets it now if it has none.
    #[inline]
    pub(in crate::raw) fn class_of(&self, descriptor: &'static Descriptor, site: Site) -> u32 {
        match self.shared.cached_class(descriptor) {
            Some(class) => class,
            None => self.class_of_slow(descriptor, site),
        }
    }

    /// The number of a class of which nothing is allocated now. It does not go to the cache:
    /// where the first object is allocated would not be seen.
    pub(crate) fn known_class(&self, descriptor: &'static Descriptor) -> u32 {
        let class = self.heap.classes.of(descriptor);
        class.unwrap_or_else(|error| panic!("{error}")).0
    }

    #[cold]
    fn class_of_slow(&self, descriptor: &'static Descriptor, site: Site) -> u32 {
        let (key, place) = cache_place(descriptor);
        let in_region = cfg!(feature = "assertions") && self.shared.in_region();
        if in_region && let Some(class) = self.shared.noted_class(key) {
            return class;
        }
        let cache = &self.shared.class_cache;
        // What another class of the same place has displaced is in the place beside it.
        let beside = &cache[place ^ 1];
        if let (cached, class) = beside.get()
            && cached == key
            && !in_region
        {
            beside.swap(&cache[place]);
            return class;
        }
        let class = self.known_class(descriptor);
        let sites = &self.heap.classes.get(ClassId(class)).sites;
        // Classes that share a place in the cache are met over and over: that shows nothing new.
        if !sites.is_met() || cache[place].get().0 == 0 {
            sites.meet(site);
        }
        match in_region {
            // Not where the fast path would find it.
            true => self.shared.note_class(key, class),
            false => beside.set(cache[place].replace((key, class))),
        }
        class
    }

    /// Allocates an instance of a class.
    ///
    /// # Panics
    /// If a local in `init` belongs to another mutator.
    #[inline(always)]
    #[track_caller]
    pub fn alloc<I: Init>(&mut self, init: I) -> Result<Local<'a, I::Class>, OutOfMemory> {
        const {
            assert!(
                align_of::<I::Class>() <= 8,
                "a managed struct's alignment is at most 8"
            );
            assert!(
                size_of::<I::Class>() <= MAX_FIXED_BYTES,
                "a managed struct has at most 65,528 bytes"
            )
        };
        // A constant may have several addresses, one for each unit of compilation: the slow
        // path must remember the class under the one that is looked up here.
        let descriptor = I::Class::DESCRIPTOR;
        // The common case, without a call: a small object that owns nothing, of a
        // class that was used before, with room for it and for its local.
        if const { size_of::<I::Class>() <= MAX_SMALL && I::Class::DESCRIPTOR.drop.is_none() } {
            let shared = self.shared;
            let size_class = const { SizeClass::of(small(size_of::<I::Class>())) };
            let cursor = shared.cursor(size_class);
            let start = cursor.next.get();
            let end = start + size_class.cell_bytes();
            if let Some(class) = shared.cached_class(descriptor)
                && end <= cursor.limit.get()
                && shared.has_room_for(1)
            {
                let object = self.build(init, class);
                let at = std::ptr::with_exposed_provenance_mut::<I::Class>(start);
                // SAFETY: the run between `next` and `limit` is this mutator's own, and
                // nobody looks before `next` says that there is an object.
                unsafe { at.write(object) };
                cursor.next.set(end);
                return Ok(shared.push(Raw::of(at.cast())));
            }
        }
        self.alloc_slow(init, descriptor, Location::caller())
    }

    #[cold]
    #[inline(never)]
    fn alloc_slow<I: Init>(
        &mut self,
        init: I,
        descriptor: &'static Descriptor,
        site: Site,
    ) -> Result<Local<'a, I::Class>, OutOfMemory> {
        let class = self.class_of(descriptor, site);
        let place = self.reserve(size_of::<I::Class>(), class, site)?;
        // Still unclaimed here: if `build` panics, nothing has happened.
        let object = self.build(init, class);
        // SAFETY: `place` is free memory for this many bytes, and the claim below
        // makes it an object before anybody looks.
        unsafe { place.at.cast::<I::Class>().write(object) };
        let raw = self.claim(place);
        if cfg!(feature = "assertions") {
            self.shared.note(raw);
        }
        if const { I::Class::DESCRIPTOR.drop.is_some() } {
            self.shared.droppables.borrow_mut().push(raw);
        }
        Ok(self.shared.push(raw))
    }

    #[inline(always)]
    fn build<I: Init>(&self, init: I, class: u32) -> I::Class {
        let header = Header::new(Word::object(class, self.shared.epoch.get()));
        let filler = Filler {
            mutator: self.shared,
        };
        init.build(header, &filler)
    }

    /// Allocates an object that `write` then completes. `write` must initialise
    /// all of it but the header.
    #[inline]
    pub(crate) fn alloc_with<T: ?Sized>(
        &mut self,
        class: u32,
        bytes: usize,
        site: Site,
        write: impl FnOnce(*mut u8, &MutatorShared),
    ) -> Result<Local<'a, T>, OutOfMemory> {
        let place = self.reserve(bytes, class, site)?;
        write(place.at, self.shared);
        let header = Header::new(Word::object(class, self.shared.epoch.get()));
        // SAFETY: `place` is free memory, as in `alloc`.
        unsafe { place.at.cast::<Header>().write(header) };
        let raw = self.claim(place);
        if cfg!(feature = "assertions") {
            self.shared.note(raw);
        }
        Ok(self.shared.push(raw))
    }

    /// Finds room for an object; may collect. The room is not taken until `claim`.
    #[inline]
    fn reserve(&mut self, bytes: usize, class: u32, site: Site) -> Result<Place<'a>, OutOfMemory> {
        if bytes > MAX_SMALL {
            return self.reserve_large(bytes, class, site);
        }
        let size_class = SizeClass::of(bytes);
        let cell = size_class.cell_bytes();
        let cursor = self.shared.cursor(size_class);
        if cursor.next.get() + cell > cursor.limit.get() {
            return self.refill(size_class, class, site);
        }
        Ok(Place::next(cursor, cell))
    }

    #[inline]
    fn claim(&mut self, place: Place<'a>) -> Raw {
        let raw = Raw::of(place.at);
        if let Some((cursor, cell)) = place.cell {
            cursor.next.set(cursor.next.get() + cell);
        }
        if place.is_old {
            self.claim_old(raw);
        }
        raw
    }

    /// A new object that is old at once: all its cards are marked, for what it was
    /// filled with may be young.
    #[cold]
    fn claim_old(&self, raw: Raw) {
        if self.heap.generations.has_cards() {
            let end = raw.offset() + self.heap.space.footprint(raw);
            for card in raw.offset() / CARD..end.div_ceil(CARD) {
                mark_card(self.shared.base, card * CARD);
            }
        }
    }

    #[cold]
    fn reserve_large(
        &mut self,
        bytes: usize,
        class: u32,
        site: Site,
    ) -> Result<Place<'a>, OutOfMemory> {
        self.before_refill(bytes)?;
        let (mut tried, mut demand) = (None, Demand::Usual);
        loop {
            match self.heap.space.take_large(bytes, demand) {
                Ok(raw) => {
                    if self.shared.is_sample_due(bytes) {
                        self.sample(class, site);
                    }
                    return Ok(Place {
                        at: self.shared.base.object(raw),
                        cell: None,
                        is_old: true,
                    });
                }
                // Be it that nothing was collected: then the heap grows.
                Err(refusal) => {
                    let _ = self.collect_for(bytes, refusal, &mut tried)?;
                }
            }
            demand = Demand::Collected;
        }
    }

    /// Gets fresh room for the size class, collecting if need be.
    #[cold]
    fn refill(
        &mut self,
        size_class: SizeClass,
        class: u32,
        site: Site,
    ) -> Result<Place<'a>, OutOfMemory> {
        let cell = size_class.cell_bytes();
        let cursor = self.shared.cursor(size_class);
        if cursor.uncut() {
            self.sample(class, site);
            if cursor.rest() >= cell {
                return Ok(Place::next(cursor, cell));
            }
        }
        self.before_refill(cell)?;
        let (mut tried, mut demand) = (None, Demand::Usual);
        loop {
            // A finalizer that ran meanwhile may have found room.
            cursor.uncut();
            if cursor.rest() >= cell {
                return Ok(Place::next(cursor, cell));
            }
            let Err(mut refusal) = self.heap.refill(self.shared, size_class, demand) else {
                break;
            };
            // Where the nursery is full and is not to be collected, objects are old from the beginning.
            let is_young = self.heap.generations.has_cards() && refusal == Refusal::CollectionDue;
            let old = &self.shared.cursors[size_class.0 as usize + 1];
            if is_young && (old.rest() >= cell || demand == Demand::Collected) {
                match self.old_room(size_class) {
                    Ok(()) => return Ok(Place::next(old, cell).old()),
                    Err(full) => refusal = full,
                }
            }
            demand = match self.collect_for(cell, refusal, &mut tried)? {
                // What is young has been collected: there is room for what is young.
                Ok(()) if is_young => Demand::Usual,
                Ok(()) | Err(CalledOff) => Demand::Collected,
            };
        }
        if self.shared.choose_sample(cursor, cell) {
            self.sample(class, site);
        }
        Ok(Place::next(cursor, cell))
    }

    /// Sees to it that a mutator that otherwise allocates in the nursery has room in the mature space.
    fn old_room(&self, size_class: SizeClass) -> Result<(), Refusal> {
        let cursor = &self.shared.cursors[size_class.0 as usize + 1];
        if cursor.rest() >= size_class.cell_bytes() {
            return Ok(());
        }
        let space = &self.heap.space;
        space.refill(cursor, size_class, Demand::Collected)
    }

    /// Takes note of where an object is allocated, on behalf of all that are.
    #[cold]
    fn sample(&self, class: u32, site: Site) {
        self.heap.classes.get(ClassId(class)).sites.sample(site);
    }

    fn before_refill(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        self.safepoint();
        self.heap.halting_error(bytes)?;
        if let Some(every) = self.heap.config.zeal {
            let left = self.shared.zeal_countdown.get();
            if left == 0 {
                self.shared.zeal_countdown.set(every.get() - 1);
                // Alternate, so that both kinds of collection are tried.
                let kind = match self.heap.collections().is_multiple_of(4) {
                    true => Kind::Full,
                    false => Kind::Nursery,
                };
                let request = Request::new(kind, Cause::Zeal);
                // If it is called off, the next one will do.
                let _ = self.heap.collect_with(self.shared, request);
                self.heap.finish(self);
            } else {
                self.shared.zeal_countdown.set(left - 1);
            }
        }
        Ok(())
    }

    /// Collects because `bytes` were refused; an error once that has not helped. What it answers otherwise is
    /// whether the collection was called off: then the heap has to grow.
    fn collect_for(
        &mut self,
        bytes: usize,
        refusal: Refusal,
        tried: &mut Option<u64>,
    ) -> Result<Result<(), CalledOff>, OutOfMemory> {
        let kind = self.heap.generations.kind_for(bytes, refusal);
        if refusal == Refusal::Full {
            // Only a full collection that began after the first refusal counts.
            let before = tried.get_or_insert(self.heap.full_collections());
            if self.heap.full_collections() > *before + 1 {
                return self.prune_or_fail(bytes);
            }
        }
        let request = Request {
            bytes,
            loss: match refusal {
                Refusal::CollectionDue => Loss::Delay,
                Refusal::Full => Loss::Error,
            },
            ..Request::new(kind, Cause::Allocation)
        };
        let outcome = match self.heap.collect_with(self.shared, request) {
            Ok(outcome) => outcome,
            Err(CalledOff) if refusal == Refusal::Full => {
                return Err(self.heap.uncollected(bytes));
            }
            Err(CalledOff) => return Ok(Err(CalledOff)),
        };
        self.heap.finish(self);
        if outcome.over_limit {
            return self.prune_or_fail(bytes);
        }
        Ok(Ok(()))
    }

    /// Memory is exhausted: leak pruning may know what to do without.
    #[cold]
    fn prune_or_fail(&mut self, bytes: usize) -> Result<Result<(), CalledOff>, OutOfMemory> {
        match self.heap.prune_for(self, bytes)? {
            true => Ok(Ok(())),
            false => Err(self.heap.out_of_memory(self, bytes)),
        }
    }
}

/// Room for an object, found but not yet taken.
struct Place<'a> {
    at: *mut u8,
    /// Where a small object gets its cell, and the bytes of that.
    cell: Option<(&'a Cursor, usize)>,
    /// Whether the object is old from the beginning, in a heap that has generations.
    is_old: bool,
}

impl<'a> Place<'a> {
    /// The next cell of a cursor that has room for it.
    #[inline]
    fn next(cursor: &'a Cursor, cell: usize) -> Self {
        Self {
            at: std::ptr::with_exposed_provenance_mut(cursor.next.get()),
            cell: Some((cursor, cell)),
            is_old: false,
        }
    }

    fn old(self) -> Self {
        Self {
            is_old: true,
            ..self
        }
    }
}
