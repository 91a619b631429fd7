//! Pages of the mature space: which are free, which belong to what.
//!
//! Extents of pages are handed out best fit first and joined again when they come
//! back. Every page has a record that leads from any address to the block or large
//! object around it. Memory is committed as the frontier advances, and released
//! page by page when a collection finds more free than will be needed soon.
//!
//! In a heap with a nursery some pages are kept in reserve, committed, which only survivors get: as many as all
//! of the nursery may need. So an evacuation, which cannot be given up, never lacks room.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use heaphound_heap::sync::Mutex;

use crate::raw::memory::address::{Base, MATURE_START, NURSERY_START, PAGE, RECORDS_START};
use crate::raw::memory::os::Reservation;
use crate::raw::memory::sizes::{BLOCK, SizeClass};

/// What the pages of an extent are used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Use {
    Free = 0,
    /// A block of cells.
    Block = 1,
    /// A large object.
    Large = 2,
    /// A block whose live objects have been moved elsewhere.
    Evacuated = 3,
}

/// What is known of a page. All but `head` and `usage` is kept only in the record
/// of an extent's first page.
#[repr(C)]
pub(crate) struct PageRecord {
    head: AtomicU32,
    usage: AtomicU8,
    /// The size class of a block.
    pub(crate) size_class: AtomicU8,
    /// Where a block's first free run starts, in granules from the block, plus one.
    pub(crate) first_run: AtomicU16,
    /// Free cells in a swept block.
    pub(crate) free_cells: AtomicU16,
    spare: AtomicU16,
    /// Pages of the extent.
    pages: AtomicU32,
}

const COMMIT_STEP: usize = 4 << 20;

/// The pages of one heap's mature space.
pub(crate) struct Pages {
    memory: Reservation,
    base: Base,
    capacity: u32,
    /// Memory behind more pages than these is given back before new ones are used.
    most: u32,
    /// Pages that are kept for survivors.
    reserve: u32,
    /// For tests: how many demands for memory are granted before all are refused.
    grants: AtomicU64,
    free: Mutex<FreePages>,
    used: AtomicU32,
}

#[derive(Default)]
struct FreePages {
    /// Free extents: first page → pages, and whether they may hold old data.
    by_start: BTreeMap<u32, (u32, bool)>,
    by_length: BTreeSet<(u32, u32)>,
    /// Pages of free extents of which blocks can be made.
    whole: u32,
    /// Pages from here on were never used.
    frontier: u32,
    committed: u32,
    /// Pages up to here have memory behind them, though nobody may have used them.
    populated: u32,
}

impl Pages {
    /// Manages the part of a region behind `MATURE_START`.
    pub(crate) fn new(
        memory: Reservation,
        base: Base,
        capacity_bytes: usize,
        limit: usize,
        nursery_bytes: usize,
    ) -> std::io::Result<Self> {
        let capacity = (capacity_bytes / PAGE) as u32;
        let records = capacity as usize * size_of::<PageRecord>();
        memory.commit(RECORDS_START, records.next_multiple_of(PAGE))?;
        Ok(Self {
            memory,
            base,
            capacity,
            most: (limit / PAGE) as u32,
            reserve: survivors(nursery_bytes),
            grants: AtomicU64::new(u64::MAX),
            free: Mutex::default(),
            used: AtomicU32::new(0),
        })
    }

    /// Bytes in extents that are in use.
    pub(crate) fn used_bytes(&self) -> usize {
        self.used.load(Relaxed) as usize * PAGE
    }

    /// The record of a page.
    #[inline]
    pub(crate) fn record(&self, page: u32) -> &PageRecord {
        assert!(page < self.capacity);
        let at = self.base.at(RECORDS_START).cast::<PageRecord>();
        // SAFETY: the records of all pages are committed, zero is a valid record, and
        // all fields are atomics (H4).
        unsafe { &*at.add(page as usize) }
    }

    /// Where a page lies in the region.
    #[inline]
    pub(crate) fn offset(page: u32) -> usize {
        MATURE_START + page as usize * PAGE
    }

    /// The first page of the extent around a page.
    #[inline]
    pub(crate) fn head(&self, page: u32) -> u32 {
        self.record(page).head.load(Relaxed)
    }

    /// One more than the highest page ever used.
    pub(crate) fn frontier(&self) -> u32 {
        self.free.lock().unwrap().frontier
    }

    /// Whether a nursery that is filled now can be evacuated: its survivors will find room.
    pub(crate) fn has_reserve(&self) -> bool {
        let free = &mut *self.free.lock().unwrap();
        let more = self.reserve.saturating_sub(free.whole);
        self.commit_to(free, free.frontier + more).is_some()
    }

    /// For tests: from now on that many demands for memory are granted, and then none, until this is called again.
    /// Returns how many would still have been granted. `u64::MAX` is without end.
    pub(crate) fn grant(&self, demands: u64) -> u64 {
        self.grants.swap(demands, Relaxed)
    }

    /// Whether a demand for memory is refused, for a test.
    pub(crate) fn denies(&self) -> bool {
        let count = |left: u64| left.checked_sub(1);
        self.grants.load(Relaxed) != u64::MAX
            && self.grants.fetch_update(Relaxed, Relaxed, count).is_err()
    }

    /// Takes an extent of `count` pages. The second value says whether it may hold
    /// old data (else it is zero). `None` if no such extent is to be had, or not without what is kept in
    /// reserve and `for_survivors` is not said.
    pub(crate) fn take(&self, count: u32, usage: Use, for_survivors: bool) -> Option<(u32, bool)> {
        let mut free = self.free.lock().unwrap();
        let fitting = free.by_length.range((count, 0)..).next().copied();
        if !for_survivors {
            let (whole, frontier) = match fitting {
                Some((length, _)) => {
                    let rest = whole_pages(length - count);
                    (free.whole - whole_pages(length) + rest, free.frontier)
                }
                None => (free.whole, free.frontier.checked_add(count)?),
            };
            let more = self.reserve.saturating_sub(whole);
            self.commit_to(&mut free, frontier.checked_add(more)?)?;
        }
        let (start, dirty) = match fitting {
            Some((length, start)) => {
                let (_, dirty) = free.by_start[&start];
                free.remove(start, length);
                if length > count {
                    free.insert(start + count, length - count, dirty);
                }
                (start, dirty)
            }
            None => {
                // What is free but of no use here still takes memory.
                if self.used.load(Relaxed) + free.dirty() + count > self.most {
                    self.trim_free(&mut free, 0);
                }
                (self.advance(&mut free, count)?, false)
            }
        };
        drop(free);
        for page in start..start + count {
            let record = self.record(page);
            record.head.store(start, Relaxed);
            record.usage.store(usage as u8, Relaxed);
        }
        self.record(start).pages.store(count, Relaxed);
        self.used.fetch_add(count, Relaxed);
        Some((start, dirty))
    }

    fn advance(&self, free: &mut FreePages, count: u32) -> Option<u32> {
        let start = free.frontier;
        let end = self.commit_to(free, start.checked_add(count)?)?;
        free.frontier = end;
        Some(start)
    }

    /// Sees to it that pages up to `end` can be used.
    fn commit_to(&self, free: &mut FreePages, end: u32) -> Option<u32> {
        if end > self.capacity {
            return None;
        }
        if end > free.committed {
            let target = (end as usize * PAGE)
                .next_multiple_of(COMMIT_STEP)
                .min(self.capacity as usize * PAGE);
            let from = MATURE_START + free.committed as usize * PAGE;
            let bytes = MATURE_START + target - from;
            if self.denies() {
                return None;
            }
            // A refusal of memory is a heap without more pages.
            self.memory.commit(from, bytes).ok()?;
            self.memory.prefer_huge_pages(from, bytes);
            free.committed = (target / PAGE) as u32;
        }
        Some(end)
    }

    /// Has memory ready for the survivors of the next nursery collection, so that the
    /// world need not wait while the system finds and clears it.
    pub(crate) fn prepare(&self, bytes: usize) {
        let (from, to) = {
            let free = &mut *self.free.lock().unwrap();
            let wanted = ((bytes / PAGE) as u32).saturating_sub(free.dirty());
            if wanted == 0 || self.used.load(Relaxed) + wanted > self.most {
                return;
            }
            let Some(end) = self.commit_to(free, free.frontier + wanted) else {
                return;
            };
            let from = free.populated.max(free.frontier);
            free.populated = free.populated.max(end);
            (from, end)
        };
        if from < to {
            let bytes = (to - from) as usize * PAGE;
            self.memory.populate(Self::offset(from), bytes);
        }
    }

    /// Gives an extent back.
    pub(crate) fn give(&self, start: u32) {
        let count = self.record(start).pages.load(Relaxed);
        for page in start..start + count {
            self.record(page).usage.store(Use::Free as u8, Relaxed);
        }
        self.used.fetch_sub(count, Relaxed);
        let mut free = self.free.lock().unwrap();
        free.insert(start, count, true);
    }

    /// Returns the memory of the nursery to the system.
    pub(crate) fn release_nursery(&self, bytes: usize) {
        self.memory.release(NURSERY_START, bytes);
    }

    /// Returns the memory of free pages to the system, except for about `keep` bytes.
    pub(crate) fn trim(&self, keep: usize) {
        self.trim_free(&mut self.free.lock().unwrap(), keep);
    }

    fn trim_free(&self, free: &mut FreePages, keep: usize) {
        if keep == 0 && free.populated > free.frontier {
            // All that was never used: the system may have populated whole huge pages.
            let bytes = (free.committed - free.frontier) as usize * PAGE;
            self.memory.release(Self::offset(free.frontier), bytes);
            free.populated = free.frontier;
        }
        let mut kept = 0;
        for (&start, (length, dirty)) in &mut free.by_start {
            let bytes = *length as usize * PAGE;
            if !*dirty {
                continue;
            }
            if kept + bytes <= keep {
                kept += bytes;
                continue;
            }
            self.memory.release(Self::offset(start), bytes);
            *dirty = false;
        }
    }
}

/// Pages that the survivors of a nursery take at most. An object takes up to half as much again when it moves, for its
/// hash is then behind it, and twice as much if that makes it a large one; and of each size a block may
/// be almost empty.
fn survivors(nursery_bytes: usize) -> u32 {
    let blocks = match nursery_bytes {
        0 => 0,
        _ => SizeClass::COUNT + 1,
    };
    ((2 * nursery_bytes + blocks * BLOCK) / PAGE) as u32
}

/// Pages of an extent of which blocks can be made.
fn whole_pages(length: u32) -> u32 {
    const BLOCK_PAGES: u32 = (BLOCK / PAGE) as u32;
    length / BLOCK_PAGES * BLOCK_PAGES
}

impl FreePages {
    /// Free pages with memory behind them.
    fn dirty(&self) -> u32 {
        let extents = self.by_start.values();
        extents
            .filter(|(_, dirty)| *dirty)
            .map(|&(length, _)| length)
            .sum()
    }

    fn insert(&mut self, mut start: u32, mut length: u32, mut dirty: bool) {
        if let Some((&before, &(before_length, before_dirty))) =
            self.by_start.range(..start).next_back()
            && before + before_length == start
        {
            self.remove(before, before_length);
            start = before;
            length += before_length;
            dirty |= before_dirty;
        }
        if let Some(&(after_length, after_dirty)) = self.by_start.get(&(start + length)) {
            self.remove(start + length, after_length);
            length += after_length;
            dirty |= after_dirty;
        }
        self.by_start.insert(start, (length, dirty));
        self.by_length.insert((length, start));
        self.whole += whole_pages(length);
    }

    fn remove(&mut self, start: u32, length: u32) {
        self.by_start.remove(&start);
        self.by_length.remove(&(length, start));
        self.whole -= whole_pages(length);
    }
}

impl PageRecord {
    #[inline]
    pub(crate) fn usage(&self) -> Use {
        match self.usage.load(Relaxed) {
            0 => Use::Free,
            1 => Use::Block,
            2 => Use::Large,
            _ => Use::Evacuated,
        }
    }

    pub(crate) fn pages(&self) -> u32 {
        self.pages.load(Relaxed)
    }
}

impl Pages {
    /// Changes what all pages of an extent are used for.
    pub(crate) fn set_usage(&self, head: u32, usage: Use) {
        for page in head..head + self.record(head).pages() {
            self.record(page).usage.store(usage as u8, Relaxed);
        }
    }
}
