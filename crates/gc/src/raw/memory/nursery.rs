//! The nursery: where small objects begin, and how the survivors leave it.
//!
//! Mutators take chunks of the nursery and bump a pointer in them. When it is full,
//! everything in it that is reachable from a root or from a marked card of the mature
//! space is copied there, all at once; then the nursery is empty. The write
//! barrier ([`crate::raw::objects::slot`]) has marked the cards of old slots that refer to young
//! objects. Weak slots are settled after the strong copy; a dependent slot
//! counts as strong here and is judged by the next full collection.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use heaphound_heap::FieldKind;

use crate::raw::marking::mark::{Ground, prefetch};
use crate::raw::memory::address::{
    CARD, CARDS_START, MARKED_PAGES_START, MATURE_START, NURSERY_START, PAGE, Raw,
};
use crate::raw::memory::pages::{Pages, Use};
use crate::raw::memory::sizes::{MAX_SMALL, SizeClass};
use crate::raw::memory::space::{Cursor, Demand, POISON, Space};
use crate::raw::mutators::sampler::Promoted;
use crate::raw::objects::header::{HashState, SiteId, Word};
use crate::raw::objects::layout::{ELEMENTS_OFFSET, Slots, array_len, for_each_slot, slot_at};

/// The nursery's bounds and what is left of it.
pub(crate) struct Nursery {
    end: usize,
    top: AtomicUsize,
    chunk: usize,
}

impl Nursery {
    /// A nursery of `bytes`, from [`NURSERY_START`], which must be committed.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            end: NURSERY_START + bytes,
            top: AtomicUsize::new(NURSERY_START),
            chunk: (bytes / 64).clamp(MAX_SMALL, 64 << 10),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.end - NURSERY_START
    }

    pub(crate) fn used(&self) -> usize {
        self.top.load(Relaxed) - NURSERY_START
    }

    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunk
    }

    /// Takes `chunk` bytes, or what is left if that is at least `need`.
    pub(crate) fn take(&self, chunk: usize, need: usize) -> Option<(usize, usize)> {
        let mut end = 0;
        let start = self
            .top
            .fetch_update(Relaxed, Relaxed, |top| {
                end = (top + chunk.max(need)).min(self.end);
                (end - top >= need).then_some(end)
            })
            .ok()?;
        Some((start, end))
    }

    fn reset(&self) {
        self.top.store(NURSERY_START, Relaxed);
    }
}

/// Slots between asking the cache for a header and copying the object. Must be a
/// power of two.
const QUEUE: usize = 16;

/// Cards that wait for their lines. Must be a power of two.
const CARDS_AHEAD: usize = 8;

/// Copies an object, word by word where that is quicker than to call a routine that
/// first finds out how.
///
/// # Safety
/// Both places have that many bytes, a multiple of 8, and do not overlap.
#[inline(always)]
unsafe fn copy_object(from: *const u8, to: *mut u8, bytes: usize) {
    if bytes > 128 {
        // SAFETY: the caller's promise.
        unsafe { to.copy_from_nonoverlapping(from, bytes) };
        return;
    }
    for i in 0..bytes / 8 {
        // SAFETY: the caller's promise. Volatile, or the compiler finds that this is
        // a copy and calls the routine.
        unsafe {
            let word = from.cast::<u64>().add(i).read_volatile();
            to.cast::<u64>().add(i).write(word);
        }
    }
}

const SURVIVORS_FIT: &str =
    "survivors fit: room for a whole nursery is in reserve before it is filled (see `pages.rs`)";

/// One evacuation of the nursery.
pub(crate) struct Evacuation<'h> {
    ground: Ground<'h>,
    space: &'h Space,
    nursery: &'h Nursery,
    cursors: &'h [Cursor],
    /// How a young address becomes a hash in this cycle.
    hash: &'h dyn Fn(Raw) -> u32,
    /// Copied, slots not yet read.
    gray: Vec<Raw>,
    /// Slots that refer to young objects whose headers are on their way to the
    /// cache; null where there is none.
    queue: [*const AtomicU32; QUEUE],
    place: usize,
    /// Objects outside the nursery whose weak slots may refer into it.
    weak: Vec<Raw>,
    /// Samples among the copies.
    pub(crate) samples: Vec<Promoted>,
    pub(crate) objects: usize,
    pub(crate) bytes: usize,
}

impl<'h> Evacuation<'h> {
    pub(crate) fn new(
        ground: Ground<'h>,
        space: &'h Space,
        nursery: &'h Nursery,
        cursors: &'h [Cursor],
        hash: &'h dyn Fn(Raw) -> u32,
    ) -> Self {
        Self {
            ground,
            space,
            nursery,
            cursors,
            hash,
            gray: Vec::new(),
            queue: [std::ptr::null(); QUEUE],
            place: 0,
            weak: Vec::new(),
            samples: Vec::new(),
            objects: 0,
            bytes: 0,
        }
    }

    /// Updates a slot or root that keeps its target alive: by the end of the next
    /// [`drain`](Self::drain), until when it must stay where it is.
    #[inline(always)]
    pub(crate) fn strong(&mut self, slot: &AtomicU32) {
        let raw = Raw(slot.load(Relaxed));
        if !raw.is_null() && raw.is_young() {
            prefetch(self.ground.base.object(raw));
            let before = std::mem::replace(&mut self.queue[self.place % QUEUE], slot);
            self.place += 1;
            self.update(before);
        }
    }

    /// Copies what a queued slot refers to and updates it.
    #[inline(always)]
    fn update(&mut self, slot: *const AtomicU32) {
        // SAFETY: null, or a slot or root that was queued; roots and objects stay in
        // place while the nursery is evacuated, except for young objects, whose slots
        // are never queued.
        if let Some(slot) = unsafe { slot.as_ref() } {
            // A slot can be queued twice: a copy may lie on a card still to be read.
            let raw = Raw(slot.load(Relaxed));
            if raw.is_young() {
                slot.store(self.copy(raw).0, Relaxed);
            }
        }
    }

    /// Where a reference leads after the evacuation; `None` if its target died.
    pub(crate) fn survivor(&self, raw: Raw) -> Option<Raw> {
        if !raw.is_young() {
            return Some(raw);
        }
        // SAFETY: a nursery object, in memory that is not reused before `finish`.
        unsafe { self.ground.base.header(raw) }
            .load()
            .forwarded_to()
    }

    /// Copies a young object out, unless that has been done.
    #[inline]
    pub(crate) fn copy(&mut self, raw: Raw) -> Raw {
        let base = self.ground.base;
        // SAFETY: a live nursery object.
        let header = unsafe { base.header(raw) };
        let word = header.load();
        if let Some(to) = word.forwarded_to() {
            return to;
        }
        let from = base.object(raw);
        // SAFETY: a live object of that class.
        let bytes = unsafe { self.ground.traces[word.class() as usize].bytes(from) };
        let mut new = word.with_epoch(self.ground.epoch);
        let hashed = word.hash_state() == HashState::ByAddress;
        let to = self.room(bytes + if hashed { 8 } else { 0 });
        let target = base.object(to);
        // SAFETY: `room` gave that many bytes in the mature space, which does not
        // overlap the nursery.
        unsafe { copy_object(from, target, bytes) };
        if hashed {
            new = new.with_hash_state(HashState::Stored);
            // SAFETY: a granule behind the object was asked for.
            unsafe { target.add(bytes).cast::<u32>().write((self.hash)(raw)) };
        }
        // SAFETY: the copy's first word.
        unsafe { base.header(to) }.store(new);
        header.store(Word::forwarding(word.class(), to));
        self.objects += 1;
        self.bytes += bytes;
        self.gray.push(to);
        if word.site() != SiteId::NONE {
            self.samples.push(Promoted {
                raw: to,
                site: word.site(),
                size_class: SizeClass::of(bytes),
            });
        }
        to
    }

    #[inline(always)]
    fn room(&self, bytes: usize) -> Raw {
        if bytes > MAX_SMALL {
            return self.large_room(bytes);
        }
        let size_class = SizeClass::of(bytes);
        let cursor = &self.cursors[size_class.0 as usize];
        if cursor.next.get() + size_class.cell_bytes() > cursor.limit.get() {
            self.refill(cursor, size_class);
        }
        let at = cursor.next.get();
        cursor.next.set(at + size_class.cell_bytes());
        Raw::from_offset(at & (crate::raw::memory::address::REGION - 1))
    }

    #[cold]
    #[inline(never)]
    fn large_room(&self, bytes: usize) -> Raw {
        let taken = self.space.take_large(bytes, Demand::Survivors);
        taken.expect(SURVIVORS_FIT)
    }

    #[cold]
    #[inline(never)]
    fn refill(&self, cursor: &Cursor, size_class: SizeClass) {
        let refilled = self.space.refill(cursor, size_class, Demand::Survivors);
        refilled.expect(SURVIVORS_FIT);
    }

    /// Reads the slots of everything copied so far, copying what they refer to.
    pub(crate) fn drain(&mut self) {
        loop {
            while let Some(raw) = self.gray.pop() {
                self.read_all_slots(raw);
            }
            let queue = std::mem::replace(&mut self.queue, [std::ptr::null(); QUEUE]);
            for slot in queue {
                self.update(slot);
            }
            if self.gray.is_empty() {
                return;
            }
        }
    }

    #[inline(always)]
    fn read_all_slots(&mut self, raw: Raw) {
        // SAFETY: a fresh copy in the mature space.
        let word = unsafe { self.ground.base.header(raw) }.load();
        let object = self.ground.base.object(raw);
        match self.ground.traces[word.class() as usize].slots() {
            Slots::None => {}
            Slots::Bitmap(mut bits) => {
                while bits != 0 {
                    let offset = 8 + 4 * bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    // SAFETY: the bitmap says that a slot is there.
                    self.strong(unsafe { slot_at(object, offset) });
                }
            }
            Slots::Array | Slots::Listed => self.read_slots(raw, word, 0, usize::MAX),
        }
    }

    /// Reads the slots of an object outside the nursery that lie between two
    /// offsets of the region.
    fn read_slots(&mut self, raw: Raw, word: Word, from: usize, to: usize) {
        let Ground {
            base,
            traces,
            classes,
            ..
        } = self.ground;
        let trace = traces[word.class() as usize];
        let object = base.object(raw);
        let mut weak = false;
        if trace.slots() == Slots::Array {
            // Of a long array only the part that was written is read.
            // SAFETY: a live array.
            let len = unsafe { array_len(object) };
            let first = raw.offset() + ELEMENTS_OFFSET;
            let start = from.saturating_sub(first).div_ceil(4);
            let end = to.saturating_sub(first).div_ceil(4).min(len);
            for i in start..end {
                // SAFETY: an element of the array.
                self.strong(unsafe { slot_at(object, ELEMENTS_OFFSET + 4 * i) });
            }
            return;
        }
        // SAFETY: an object of that class; or a dead one that has not been swept, whose
        // memory is as it was and holds no young references (H6).
        unsafe {
            for_each_slot(
                classes,
                trace,
                word.class(),
                object,
                |offset, kind, slot| {
                    if !(from..to).contains(&(raw.offset() + offset)) {
                        return;
                    }
                    match kind {
                        FieldKind::Weak => {
                            // A dead object that has not been swept yet may have null here,
                            // but nothing young (H6); it must not be remembered.
                            let target = Raw(slot.load(Relaxed));
                            weak |= !target.is_null() && target.is_young();
                        }
                        _ => self.strong(slot),
                    }
                },
            );
        }
        if weak {
            self.weak.push(raw);
        }
    }

    /// Reads the old slots whose cards are marked, and clears the marks.
    pub(crate) fn read_cards(&mut self) {
        let last = Pages::offset(self.space.pages.frontier()) / PAGE;
        // Cards whose line has been asked for; 0 where there is none.
        let mut ahead = [0; CARDS_AHEAD];
        let mut count = 0;
        let pages = MATURE_START / PAGE..last.next_multiple_of(8);
        self.take_marks(MARKED_PAGES_START, pages, |this, page| {
            let cards = page * PAGE / CARD..(page + 1) * PAGE / CARD;
            this.take_marks(CARDS_START, cards, |this, card| {
                prefetch(this.ground.base.at(card * CARD));
                let before = std::mem::replace(&mut ahead[count % CARDS_AHEAD], card);
                count += 1;
                if before != 0 {
                    this.read_card(before * CARD);
                }
            });
        });
        for card in ahead.into_iter().filter(|&card| card != 0) {
            self.read_card(card * CARD);
        }
    }

    /// Calls `f` with the places of a table of bytes that are marked, eight of which are looked at at once, and clears the marks.
    #[inline(always)]
    fn take_marks(
        &mut self,
        table: usize,
        places: std::ops::Range<usize>,
        mut f: impl FnMut(&mut Self, usize),
    ) {
        for group in places.step_by(8) {
            // SAFETY: the tables are committed up to the end of the mature space, and a
            // group of eight is aligned because pages are, and the end of what was committed is.
            let word = unsafe { AtomicU64::from_ptr(self.ground.base.at(table + group).cast()) };
            let mut marks = word.load(Relaxed);
            if marks == 0 {
                continue;
            }
            word.store(0, Relaxed);
            while marks != 0 {
                let place = marks.trailing_zeros() / 8;
                marks &= !(0xff << (8 * place));
                // The lowest byte comes first in memory, or last.
                let place = match cfg!(target_endian = "little") {
                    true => place,
                    false => 7 - place,
                };
                f(self, group + place as usize);
            }
        }
    }

    fn read_card(&mut self, start: usize) {
        let end = start + CARD;
        let page = ((start - MATURE_START) / PAGE) as u32;
        let head = self.space.pages.head(page);
        let record = self.space.pages.record(head);
        let extent = Pages::offset(head);
        let mut visit = |offset: usize| {
            let raw = Raw::from_offset(offset);
            // SAFETY: the start of a cell or of a large object.
            let word = unsafe { self.ground.base.header(raw) }.load();
            if !word.is_free() && word.forwarded_to().is_none() {
                self.read_slots(raw, word, start, end);
            }
        };
        match record.usage() {
            Use::Block => {
                let size_class = SizeClass(record.size_class.load(Relaxed));
                let cell = size_class.cell_bytes();
                let cells = size_class.cells_per_block();
                let first = (start - extent) / cell;
                let last = (end - extent).div_ceil(cell).min(cells);
                for i in first..last {
                    visit(extent + i * cell);
                }
            }
            Use::Large => visit(extent),
            Use::Free | Use::Evacuated => {}
        }
    }

    /// Settles the weak slots met so far: survivors are followed, the dead forgotten.
    pub(crate) fn settle_weak(&mut self) {
        for holder in std::mem::take(&mut self.weak) {
            let mut cleared = false;
            crate::raw::marking::weak::for_each_slot(self.ground, holder, |_, slot, kind| {
                let raw = Raw(slot.load(Relaxed));
                if kind == FieldKind::Weak && !raw.is_null() && raw.is_young() {
                    let to = self.survivor(raw);
                    cleared |= to.is_none();
                    slot.store(to.unwrap_or(Raw::NULL).0, Relaxed);
                }
            });
            if cleared {
                crate::raw::marking::weak::for_each_slot(self.ground, holder, |_, slot, kind| {
                    if kind == FieldKind::Dependent {
                        slot.store(0, Relaxed);
                    }
                });
            }
        }
    }

    /// Empties the nursery, and gives its memory back if it is not needed soon.
    /// Nothing may refer into it any more.
    pub(crate) fn finish(self, release: bool) {
        if self.space.poisons() {
            let bytes = self.nursery.used();
            // SAFETY: everything that survived has been copied out.
            unsafe {
                self.ground
                    .base
                    .at(NURSERY_START)
                    .write_bytes(POISON, bytes)
            };
        }
        if release {
            self.space.pages.release_nursery(self.nursery.bytes());
        }
        self.nursery.reset();
    }
}
