//! Allocation: from the bump of a pointer to the collection that makes room.
//!
//! A mutator allocates small objects from cursors: one for each size class, or one
//! for all of them where there is a nursery. When a cursor is used up it is
//! refilled, which is also where safepoints, zeal and collections happen. Before that it may stop where a sample
//! is to be taken of what the program allocates where (`sampler.rs`).

use std::panic::Location;
use std::sync::atomic::Ordering::Relaxed;

use heaphound_heap::ClassId;

use crate::collect::{Cause, Kind, Request};
use crate::error::OutOfMemory;
use crate::heap::HeapInner;
use crate::raw::memory::address::Raw;
use crate::raw::memory::sizes::{MAX_SMALL, SizeClass};
use crate::raw::memory::space::{Cursor, Demand, Refusal};
use crate::raw::mutators::mutator::{Local, Mutator, MutatorShared};
use crate::raw::objects::header::{Epoch, Header, SiteId, Word};
use crate::raw::objects::layout::{MAX_FIXED_BYTES, for_each_slot};
use crate::raw::objects::object::{Descriptor, Filler, Init, Managed};
use crate::raw::objects::slot::record;
use crate::sites::Site;
use crate::waits::{CalledOff, Loss};

impl MutatorShared {
    /// Where objects of a size class are allocated.
    #[inline(always)]
    fn cursor(&self, size_class: SizeClass) -> &Cursor {
        &self.cursors[(size_class.0 as usize + 1) & self.cursor_mask]
    }

    /// The header of a new object of a class, if this mutator has used the class lately.
    #[inline(always)]
    fn cached_word(&self, descriptor: &'static Descriptor) -> Option<Word> {
        let (key, place) = cache_place(descriptor);
        let (cached, word) = self.class_cache[place].get();
        (cached == key).then_some(word)
    }

    /// A new epoch: headers that are in the cache say so.
    pub(crate) fn set_epoch(&self, epoch: Epoch) {
        if self.epoch.replace(epoch) == epoch {
            return;
        }
        for place in &self.class_cache {
            let (key, word) = place.get();
            place.set((key, word.with_epoch(epoch)));
        }
        self.sampler.set_epoch(epoch);
    }

    /// Where a small object of a generational heap goes for which the fast path has not found a cell, and its header: if a sample is due,
    /// or if some site of its class is pretenured. None if there is no room for it or for its local, or if the class or the site is
    /// not known: then the general way does it.
    ///
    /// One function for all classes, and short: it is run once for every sample. The object is still to be made, which may panic; until then
    /// nothing has happened but that something was counted.
    #[cold]
    #[inline(never)]
    fn other_cell(
        &self,
        descriptor: &'static Descriptor,
        cell: usize,
        site: Site,
    ) -> Option<(&Cursor, Word)> {
        if !self.has_room_for(1) {
            return None;
        }
        let (key, sampler) = (cache_place(descriptor).0, &self.sampler);
        let Some(quick) = sampler.quick(site, key) else {
            return self.unusual_cell(descriptor, cell, site);
        };
        let found = quick.key.get();
        if found == key {
            let cursor = &self.cursors[0];
            let word = sampler.take_quick(cursor, cell, quick)?;
            return Some((cursor, word));
        }
        match found == routed(key) {
            true => self.routed_cell(cell, quick.word.get()),
            false => self.unusual_cell(descriptor, cell, site),
        }
    }

    /// As [`other_cell`](Self::other_cell), at a site where nothing was sampled or pretenured lately.
    #[cold]
    #[inline(never)]
    fn unusual_cell(
        &self,
        descriptor: &'static Descriptor,
        cell: usize,
        site: Site,
    ) -> Option<(&Cursor, Word)> {
        if self.cursor_mask != 0 {
            return None;
        }
        let (key, place) = cache_place(descriptor);
        let (sampler, cursor) = (&self.sampler, &self.cursors[0]);
        let (cached, word) = self.class_cache[place].get();
        let is_routed = cached == routed(key);
        if cached != key && !is_routed {
            return None;
        }
        let word = word.with_site(sampler.known_site(site, word.class())?);
        let quick = sampler.note_quick(site, cached, word, SizeClass::of(cell))?;
        match is_routed {
            true => self.routed_cell(cell, word),
            false => Some((cursor, sampler.take_quick(cursor, cell, quick)?)),
        }
    }

    /// As [`other_cell`](Self::other_cell), of a class of which some site is pretenured, given the header of a sample.
    #[inline]
    fn routed_cell(&self, cell: usize, word: Word) -> Option<(&Cursor, Word)> {
        let (sampler, id) = (&self.sampler, word.site());
        let is_mature = sampler.is_mature(id);
        let cursor = match is_mature {
            true => &self.cursors[SizeClass::of(cell).0 as usize + 1],
            false => &self.cursors[0],
        };
        if cursor.next.get() + cell > cursor.limit.get() {
            return None;
        }
        if is_mature {
            sampler.note_mature(id, cell);
        } else {
            sampler.note_detour(id);
        }
        Some((cursor, word.without_site()))
    }
}

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

/// The key of a class of which some site is pretenured. The fast path does not know it.
#[inline(always)]
fn routed(key: usize) -> usize {
    key | 1
}

impl<'a> Mutator<'a> {
    /// The number of a class in this heap, which gets it now if it has none.
    #[inline]
    pub(in crate::raw) fn class_of(&self, descriptor: &'static Descriptor, site: Site) -> u32 {
        match self.shared.cached_word(descriptor) {
            Some(word) => word.class(),
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
        let cache = &self.shared.class_cache;
        let routed = routed(key);
        if let (cached, word) = cache[place].get()
            && cached == routed
        {
            return word.class();
        }
        let in_region = cfg!(feature = "assertions") && self.shared.in_region();
        if in_region && let Some(class) = self.shared.noted_class(key) {
            return class;
        }
        // What another class of the same place has displaced is in the place beside it.
        let beside = &cache[place ^ 1];
        if let (cached, word) = beside.get()
            && (cached == key || cached == routed)
            && !in_region
        {
            beside.swap(&cache[place]);
            return word.class();
        }
        let class = self.known_class(descriptor);
        let (is_met, is_routed) = {
            let class = self.heap.classes.get(ClassId(class));
            (class.is_met(), class.is_routed())
        };
        // Classes that share a place in the cache are met over and over: that shows nothing new.
        if !is_met || cache[place].get().0 == 0 {
            self.heap
                .meet_site(self.shared.sampler.program.get(), site, class);
        }
        let word = Word::object(class, self.shared.epoch.get());
        match in_region {
            // Not where the fast path would find it.
            true => self.shared.note_class(key, class),
            false if is_routed => beside.set(cache[place].replace((routed, word))),
            false => beside.set(cache[place].replace((key, word))),
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
        if const { size_of::<I::Class>() <= MAX_SMALL && I::Class::DESCRIPTOR.drop.is_none() } {
            let shared = self.shared;
            let size_class = const { SizeClass::of(small(size_of::<I::Class>())) };
            let cell = const { SizeClass::of(small(size_of::<I::Class>())).cell_bytes() };
            let usual = shared.cursor(size_class);
            let height = shared.height();
            let next = usual.next.get();
            // The common case, without a call: a small object that owns nothing, of a
            // class that was used before, with room for it and for its local.
            let word = if let Some(word) = shared.cached_word(descriptor)
                && next + cell <= usual.limit.get()
                && shared.holds_one_more(height)
            {
                word
            } else {
                match shared.other_cell(descriptor, cell, Location::caller()) {
                    Some((cursor, word)) if std::ptr::eq(cursor, usual) => word,
                    Some((cursor, word)) => {
                        return Ok(alloc_old(self.heap, shared, Apart(init), word, cursor));
                    }
                    None => {
                        return alloc_slow(
                            self.heap,
                            shared,
                            Apart(init),
                            descriptor,
                            Location::caller(),
                        );
                    }
                }
            };
            let object = self.build(init, word);
            let at = std::ptr::with_exposed_provenance_mut::<I::Class>(next);
            // SAFETY: the run between `next` and `limit` is this mutator's own, and
            // nobody looks before `next` says that there is an object.
            unsafe { at.write(object) };
            usual.next.set(next + cell);
            // SAFETY: there was room on the stack, here or in `other_cell`, and no local has been made since.
            return Ok(unsafe { shared.push_at(height, Raw::of(at.cast())) });
        }
        alloc_slow(
            self.heap,
            self.shared,
            Apart(init),
            descriptor,
            Location::caller(),
        )
    }

    /// In a heap without a nursery: makes the next cell of a size class a sample, if one is due there. An object is about to be allocated in it, of a class
    /// that the fast path knows, at a site that was sampled lately, and there is room for its local. Where anything of that is
    /// not so, the general way does it.
    #[inline(never)]
    fn sample_next(&self, size_class: SizeClass, class: u32, site: Site) -> Option<SiteId> {
        let shared = self.shared;
        let (sampler, cursor) = (&shared.sampler, shared.cursor(size_class));
        let cell = size_class.cell_bytes();
        if shared.cursor_mask == 0 || !shared.has_room_for(1) {
            return None;
        }
        let id = sampler.known_site(site, class)?;
        cursor.sample(cell, |at, end| sampler.next(at, end))?;
        sampler.tally(id).old.add(sampler.weight(size_class));
        Some(id)
    }

    /// Allocates a small object in the next cell of a cursor, which has room for it.
    #[inline(always)]
    fn alloc_next<I: Init>(&mut self, init: I, word: Word, cursor: &Cursor) -> Raw {
        let cell = const { SizeClass::of(small(size_of::<I::Class>())).cell_bytes() };
        let object = self.build(init, word);
        let at = std::ptr::with_exposed_provenance_mut::<I::Class>(cursor.next.get());
        // SAFETY: as in `alloc`.
        unsafe { at.write(object) };
        cursor.next.set(cursor.next.get() + cell);
        Raw::of(at.cast())
    }

    /// Allocates an object by the general way.
    fn alloc_anyhow<I: Init>(
        &mut self,
        init: I,
        descriptor: &'static Descriptor,
        site: Site,
    ) -> Result<Local<'a, I::Class>, OutOfMemory> {
        let shared = self.shared;
        if const { size_of::<I::Class>() <= MAX_SMALL && I::Class::DESCRIPTOR.drop.is_none() } {
            let size_class = const { SizeClass::of(small(size_of::<I::Class>())) };
            if let Some(word) = shared.cached_word(descriptor)
                && let Some(id) = self.sample_next(size_class, word.class(), site)
            {
                let cursor = shared.cursor(size_class);
                let raw = self.alloc_next(init, word.with_site(id), cursor);
                shared.sampler.born_old.borrow_mut().push(raw);
                return Ok(shared.push(raw));
            }
        }
        let class = self.class_of(descriptor, site);
        let place = self.reserve(size_of::<I::Class>(), class, site)?;
        // Still unclaimed here: if `build` panics, nothing has happened.
        let object = self.build(init, self.word(class, &place));
        // SAFETY: `place` is free memory for this many bytes, and the claim below
        // makes it an object before anybody looks.
        unsafe { place.at.cast::<I::Class>().write(object) };
        let is_old = place.is_old;
        let raw = self.claim(place);
        if is_old && self.heap.generations.has_cards() {
            self.heap.record_new(raw);
        }
        if cfg!(feature = "assertions") {
            self.shared.note(raw);
        }
        if const { I::Class::DESCRIPTOR.drop.is_some() } {
            self.shared.droppables.borrow_mut().push(raw);
        }
        Ok(self.shared.push(raw))
    }

    #[inline(always)]
    fn build<I: Init>(&self, init: I, word: Word) -> I::Class {
        let header = Header::new(word);
        let filler = Filler {
            mutator: self.shared,
        };
        init.build(header, &filler)
    }

    /// Allocates an object that `write` then completes. `write` must initialise
    /// all of it but the header, and references are null: nobody looks whether they are to young objects.
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
        let header = Header::new(self.word(class, &place));
        // SAFETY: `place` is free memory, as in `alloc`.
        unsafe { place.at.cast::<Header>().write(header) };
        let raw = self.claim(place);
        if cfg!(feature = "assertions") {
            self.shared.note(raw);
        }
        Ok(self.shared.push(raw))
    }

    /// The header of a new object.
    #[inline]
    fn word(&self, class: u32, place: &Place<'_>) -> Word {
        Word::object(class, self.shared.epoch.get()).with_site(place.site)
    }

    /// Finds room for an object; may collect. The room is not taken until `claim`.
    #[inline]
    fn reserve(&mut self, bytes: usize, class: u32, site: Site) -> Result<Place<'a>, OutOfMemory> {
        if bytes > MAX_SMALL {
            return self.reserve_large(bytes, class, site);
        }
        let size_class = SizeClass::of(bytes);
        if self.shared.sampler.routes.get()
            && let Some(place) = self.pretenured(size_class, class, site)
        {
            return Ok(place);
        }
        let cell = size_class.cell_bytes();
        let cursor = self.shared.cursor(size_class);
        if cursor.next.get() + cell <= cursor.limit.get() {
            return Ok(Place::next(cursor, cell));
        }
        match self.take(cursor, size_class, class, site) {
            Some(place) => Ok(place),
            None => self.refill(size_class, class, site),
        }
    }

    /// Room in the mature space, if the site is pretenured and there is any within the budget. Otherwise the object goes
    /// to the nursery, and so do all others until its next collection, which is a full one if the budget is used up.
    #[inline]
    fn pretenured(&self, size_class: SizeClass, class: u32, site: Site) -> Option<Place<'a>> {
        let sampler = &self.shared.sampler;
        let find = |program, context| self.heap.find_site(program, context, site, class);
        let id = sampler.site(site, class, find);
        if !sampler.is_mature(id) {
            sampler.note_detour(id);
            return None;
        }
        let cell = size_class.cell_bytes();
        let cursor = &self.shared.cursors[size_class.0 as usize + 1];
        if cursor.rest() < cell {
            let space = &self.heap.space;
            if space.refill(cursor, size_class, Demand::Usual).is_err() {
                sampler.is_closed.set(true);
                return None;
            }
        }
        sampler.note_mature(id, cell);
        let place = self.take(cursor, size_class, class, site);
        place.map(Place::old)
    }

    #[inline]
    fn claim(&mut self, place: Place<'a>) -> Raw {
        let raw = Raw::of(place.at);
        if let Some((cursor, cell)) = place.cell {
            cursor.next.set(cursor.next.get() + cell);
        }
        if place.site != SiteId::NONE && !raw.is_young() {
            self.shared.sampler.born_old.borrow_mut().push(raw);
        }
        raw
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
                    // Each is a sample, and stands for itself.
                    let site = self.sample(bytes as u64, class, site, false);
                    return Ok(Place {
                        at: self.shared.base.object(raw),
                        cell: None,
                        is_old: true,
                        site,
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
        self.before_refill(cell)?;
        let (mut tried, mut demand) = (None, Demand::Usual);
        loop {
            // A finalizer that ran meanwhile may have found room.
            if let Some(place) = self.take(cursor, size_class, class, site) {
                return Ok(place);
            }
            let Err(mut refusal) = self.heap.refill(self.shared, size_class, demand) else {
                continue;
            };
            // Where the nursery is full and is not to be collected, objects are old from the beginning.
            let is_young = self.heap.generations.has_cards() && refusal == Refusal::CollectionDue;
            let old = &self.shared.cursors[size_class.0 as usize + 1];
            // Room that was found for what is pretenured is no reason not to collect.
            let has_old = old.rest() >= cell && !self.shared.sampler.routes.get();
            if is_young && (has_old || demand == Demand::Collected) {
                match self.old_room(size_class) {
                    Ok(()) => {
                        let place = self.take(old, size_class, class, site);
                        return Ok(place.expect("there is room").old());
                    }
                    Err(full) => refusal = full,
                }
            }
            demand = match self.collect_for(cell, refusal, &mut tried)? {
                // What is young has been collected: there is room for what is young.
                Ok(()) if is_young => Demand::Usual,
                Ok(()) | Err(CalledOff) => Demand::Collected,
            };
        }
    }

    /// The next cell of a cursor, if it has room for it: a sample, if one is due.
    fn take(
        &self,
        cursor: &'a Cursor,
        size_class: SizeClass,
        class: u32,
        site: Site,
    ) -> Option<Place<'a>> {
        let cell = size_class.cell_bytes();
        if cursor.rest() < cell {
            return None;
        }
        let mut place = Place::next(cursor, cell);
        let sampler = &self.shared.sampler;
        let sampled = cursor.sample(cell, |at, end| sampler.next(at, end));
        if sampled.is_some() {
            let is_young = std::ptr::eq(cursor, &self.shared.cursors[0]);
            place.site = self.sample(sampler.weight(size_class), class, site, is_young);
        }
        Some(place)
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

    /// Makes a sample of an object that is about to be allocated, which stands for so many bytes.
    #[inline]
    fn sample(&self, weight: u64, class: u32, site: Site, is_young: bool) -> SiteId {
        let sampler = &self.shared.sampler;
        let find = |program, context| self.heap.find_site(program, context, site, class);
        let id = sampler.site(site, class, find);
        let tally = sampler.tally(id);
        let count = if is_young { &tally.young } else { &tally.old };
        count.add(weight);
        id
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

impl HeapInner {
    /// Marks the cards of those slots of a new object that refer to young ones, where it is old when it is made. What is pretenured is mostly
    /// made of what is pretenured, too: then the next collection of the nursery need not look at it.
    fn record_new(&self, raw: Raw) {
        // SAFETY: an object that has just been made.
        let class = unsafe { self.base.header(raw) }.load().class();
        let (trace, object) = (
            self.classes.get(ClassId(class)).trace,
            self.base.object(raw),
        );
        // SAFETY: as above, and nobody else knows it yet.
        unsafe {
            for_each_slot(&self.classes, trace, class, object, |_, _, slot| {
                record(slot, Raw(slot.load(Relaxed)));
            });
        }
    }
}

/// Moves the values of an instance to where a call finds them. Passed as they are they would be in memory from the beginning,
/// also where no call follows.
struct Apart<I>(I);

/// Allocates an object by the general way. Not a method: a mutator whose address is passed on would have to be in memory, where on the
/// fast path it need not be.
#[cold]
#[inline(never)]
fn alloc_slow<'a, I: Init>(
    heap: &'a HeapInner,
    shared: &'a MutatorShared,
    init: Apart<I>,
    descriptor: &'static Descriptor,
    site: Site,
) -> Result<Local<'a, I::Class>, OutOfMemory> {
    // SAFETY: the caller is in a scope of that mutator, on its thread.
    let mut mutator = unsafe { Mutator::in_same_scope(heap, shared) };
    mutator.alloc_anyhow(init.0, descriptor, site)
}

/// Allocates a small object in the mature space, where there is room for it and for its local: its site is pretenured. Not a method,
/// for the same reason.
#[cold]
#[inline(never)]
fn alloc_old<'a, I: Init>(
    heap: &'a HeapInner,
    shared: &'a MutatorShared,
    init: Apart<I>,
    word: Word,
    cursor: &Cursor,
) -> Local<'a, I::Class> {
    // SAFETY: the caller is in a scope of that mutator, on its thread.
    let mut mutator = unsafe { Mutator::in_same_scope(heap, shared) };
    let raw = mutator.alloc_next(init.0, word, cursor);
    heap.record_new(raw);
    shared.push(raw)
}

/// Room for an object, found but not yet taken.
struct Place<'a> {
    at: *mut u8,
    /// Where a small object gets its cell, and the bytes of that.
    cell: Option<(&'a Cursor, usize)>,
    /// Whether the object is old from the beginning, in a heap that has generations.
    is_old: bool,
    /// Its site, if it is to be a sample.
    site: SiteId,
}

impl<'a> Place<'a> {
    /// The next cell of a cursor that has room for it.
    #[inline]
    fn next(cursor: &'a Cursor, cell: usize) -> Self {
        Self {
            at: std::ptr::with_exposed_provenance_mut(cursor.next.get()),
            cell: Some((cursor, cell)),
            is_old: false,
            site: SiteId::NONE,
        }
    }

    fn old(self) -> Self {
        Self {
            is_old: true,
            ..self
        }
    }
}
