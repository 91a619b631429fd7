//! The mature space: blocks of equal cells, and large objects.
//!
//! A block is cut into cells of one size class. Free cells form *runs*: the first
//! word of a run tells its length and where the next run of the block is, so that
//! a block can be walked from cell to cell and allocation inside a run is a
//! pointer bump. After marking, blocks are swept when somebody needs cells of their
//! size, one at a time; whoever takes a block from the lists has it to himself.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};

use heaphound_heap::sync::Mutex;

use crate::raw::memory::address::{Base, GRANULE, PAGE, REGION, Raw};
use crate::raw::memory::pages::{Pages, Use};
use crate::raw::memory::sizes::{BLOCK, SizeClass};
use crate::raw::objects::header::{Epoch, Word};
use heaphound_heap::crew;

/// Freed memory is filled with this in zeal mode. As a reference it points to
/// where no heap is committed.
pub(crate) const POISON: u8 = 0xdb;

/// A place to allocate cells from: the rest of a run, and the run after it.
///
/// A mutator's cursor takes samples: the run ends at the next byte of which a sample is to be taken, and
/// whoever needs the cell around it has to ask. Nobody else pays for that.
// A size that is a power of two: the fast path of allocation picks one of many.
#[repr(align(64))]
pub(crate) struct Cursor {
    pub(crate) next: Cell<usize>,
    /// The end of the run, or the byte that is aimed at, whichever comes first.
    pub(crate) limit: Cell<usize>,
    /// The end of the run.
    stop: Cell<usize>,
    /// Where the next sample is to be taken, if the run is long enough. `NEVER` where none is.
    aim: Cell<usize>,
    /// The next free run of the block, 0 if there is none.
    following: Cell<u32>,
}

/// No sample is taken.
const NEVER: usize = usize::MAX;

impl Default for Cursor {
    /// One that takes no samples.
    fn default() -> Self {
        Self::sampling(NEVER)
    }
}

impl Cursor {
    /// One that takes its first sample after that many bytes.
    pub(crate) fn sampling(until: usize) -> Self {
        Self {
            next: Cell::new(0),
            limit: Cell::new(0),
            stop: Cell::new(0),
            aim: Cell::new(until),
            following: Cell::new(0),
        }
    }

    /// Gives the cursor a run, by addresses. What is left of the last one is not allocated, and does not count.
    pub(crate) fn enter(&self, start: usize, end: usize) {
        let aim = match self.aim.get() {
            NEVER => NEVER,
            aim => start + (aim - self.next.get()),
        };
        self.next.set(start);
        self.stop.set(end);
        self.aim_at(aim);
    }

    /// Leaves the cursor without a run.
    pub(crate) fn clear(&self) {
        self.enter(0, 0);
        self.following.set(0);
    }

    /// Bytes until the end of the run.
    #[inline]
    pub(crate) fn rest(&self) -> usize {
        self.stop.get() - self.next.get()
    }

    #[inline]
    fn aim_at(&self, aim: usize) {
        self.aim.set(aim);
        self.limit.set(aim.min(self.stop.get()));
    }

    /// If a sample is to be taken of the next cell, and the run has room for it: aims at the next byte, which `next` finds
    /// given what was aimed at and the end of the cell.
    #[inline(always)]
    pub(crate) fn sample(
        &self,
        cell: usize,
        next: impl FnOnce(usize, usize) -> usize,
    ) -> Option<()> {
        let (aim, end) = (self.aim.get(), self.next.get() + cell);
        if end <= aim || end > self.stop.get() {
            return None;
        }
        self.aim_at(next(aim, end));
        Some(())
    }
}

/// Blocks and large objects of one heap.
pub(crate) struct Space {
    pub(crate) pages: Pages,
    base: Base,
    lists: [Mutex<Blocks>; SizeClass::COUNT],
    large: Mutex<Vec<u32>>,
    /// Pages in use may not exceed this many bytes.
    limit: AtomicUsize,
    /// Bytes handed out since the last full collection, in blocks and large objects.
    pub(crate) handed_out: AtomicUsize,
    /// A collection is due when that many have been.
    pub(crate) budget: AtomicUsize,
    /// Memory outside the heap that objects own.
    external: AtomicUsize,
    /// How much it has grown since the last full collection, shrinking not counted.
    external_growth: AtomicUsize,
    epoch: AtomicU64,
    poison: AtomicBool,
}

#[derive(Default)]
struct Blocks {
    all: Vec<u32>,
    unswept: Vec<u32>,
    /// Swept, with free cells.
    available: Vec<u32>,
}

/// How much a request for memory insists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Demand {
    /// Within the budget and the limit.
    Usual,
    /// A collection has just been made for this: within the limit.
    Collected,
    /// Objects that survived must go somewhere.
    Survivors,
}

/// Why no memory was handed out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// The budget is used up: collect first.
    CollectionDue,
    /// The heap is at its limit.
    Full,
}

/// What a sweep found.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Swept {
    pub(crate) live_cells: usize,
    pub(crate) live_bytes: usize,
}

impl Space {
    pub(crate) fn new(pages: Pages, base: Base, limit: usize, budget: usize) -> Self {
        Self {
            pages,
            base,
            lists: std::array::from_fn(|_| Mutex::default()),
            large: Mutex::default(),
            limit: AtomicUsize::new(limit),
            handed_out: AtomicUsize::new(0),
            budget: AtomicUsize::new(budget),
            external: AtomicUsize::new(0),
            external_growth: AtomicUsize::new(0),
            epoch: AtomicU64::new(Epoch::FIRST.bits()),
            poison: AtomicBool::new(false),
        }
    }

    pub(crate) fn set_poison(&self, on: bool) {
        self.poison.store(on, Relaxed);
    }

    pub(crate) fn poisons(&self) -> bool {
        self.poison.load(Relaxed)
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    pub(crate) fn external(&self) -> usize {
        self.external.load(Relaxed)
    }

    /// Changes the external memory of an object. More of it brings the next
    /// collection nearer, as if it had been allocated here.
    pub(crate) fn adjust_external(&self, before: usize, after: usize) {
        self.external.fetch_add(after, Relaxed);
        self.external.fetch_sub(before, Relaxed);
        let growth = after.saturating_sub(before);
        self.external_growth.fetch_add(growth, Relaxed);
    }

    /// Whether `bytes` more would exceed what may be used before the next
    /// collection.
    fn exceeds_budget(&self, bytes: usize) -> bool {
        let used = self
            .handed_out
            .load(Relaxed)
            .saturating_add(self.external_growth.load(Relaxed));
        used.saturating_add(bytes) > self.budget.load(Relaxed)
    }

    /// Whether that share of the budget is used up.
    pub(crate) fn is_budget_used(&self, share: f64) -> bool {
        let external = self.external_growth.load(Relaxed);
        let used = self.handed_out.load(Relaxed).saturating_add(external);
        used as f64 >= self.budget() as f64 * share
    }

    pub(crate) fn budget(&self) -> usize {
        self.budget.load(Relaxed)
    }

    /// Whether little is left below the limit.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.pages.used_bytes().saturating_add(self.external()) > self.limit() / 8 * 7
    }

    pub(crate) fn set_budget(&self, bytes: usize) {
        self.budget.store(bytes, Relaxed);
    }

    /// Whether the budget does not hold another `bytes`.
    pub(crate) fn is_over_budget(&self, bytes: usize) -> bool {
        self.exceeds_budget(bytes) || self.is_over_limit()
    }

    /// Whether `bytes` more can be used within the limit, whatever becomes of blocks that are not swept yet.
    pub(crate) fn holds(&self, bytes: usize) -> bool {
        let used = self.pages.used_bytes().saturating_add(self.external());
        used.saturating_add(bytes) <= self.limit()
    }

    /// Whether more is in use than the limit allows, as can happen when survivors had to
    /// go somewhere; or what is kept in reserve for them is gone.
    pub(crate) fn is_over_limit(&self) -> bool {
        !self.holds(0) || !self.pages.has_reserve()
    }

    pub(crate) fn epoch(&self) -> Epoch {
        Epoch::from_bits(self.epoch.load(Relaxed))
    }

    /// Begins a new epoch: from now on every object is unmarked. All blocks
    /// must be swept by now.
    pub(crate) fn begin_epoch(&self) -> Epoch {
        let epoch = self.epoch().next();
        self.epoch.store(epoch.bits(), Relaxed);
        epoch
    }

    /// Gives the cursor free cells of a size class.
    pub(crate) fn refill(
        &self,
        cursor: &Cursor,
        size_class: SizeClass,
        demand: Demand,
    ) -> Result<(), Refusal> {
        if demand != Demand::Survivors && self.pages.denies() {
            return Err(Refusal::Full);
        }
        if cursor.following.get() != 0 {
            let run = Raw(cursor.following.get());
            self.enter_run(cursor, run, size_class);
            return Ok(());
        }
        let block = self.take_block(size_class, demand)?;
        let record = self.pages.record(block);
        let first = record.first_run.load(Relaxed) as usize - 1;
        let free = record.free_cells.load(Relaxed) as usize * size_class.cell_bytes();
        self.handed_out.fetch_add(free, Relaxed);
        let run = Raw::from_offset(Pages::offset(block) + first * GRANULE);
        self.enter_run(cursor, run, size_class);
        Ok(())
    }

    fn enter_run(&self, cursor: &Cursor, run: Raw, size_class: SizeClass) {
        // SAFETY: a free run starts there (H6), and the block is this cursor's own.
        let word = unsafe { self.base.header(run) }.load();
        debug_assert!(word.is_free() && word.run_cells() > 0);
        let start = self.base.object(run).addr();
        let bytes = word.run_cells() as usize * size_class.cell_bytes();
        cursor.enter(start, start + bytes);
        let block = Pages::offset(self.pages.head(run.page()));
        cursor.following.set(match word.next_run() {
            0 => 0,
            next => Raw::from_offset(block + next as usize * GRANULE).0,
        });
    }

    /// Leaves the cursor a single cell: the rest of its run becomes a run of its
    /// own. So in zeal mode every allocation asks for more.
    pub(crate) fn leave_one_cell(&self, cursor: &Cursor, size_class: SizeClass) {
        let rest = cursor.next.get() + size_class.cell_bytes();
        let run = self.free_rest(cursor, rest, size_class);
        cursor.enter(cursor.next.get(), rest);
        cursor.following.set(run.0);
    }

    /// Makes what lies between an address and the end of the cursor's run a free run.
    /// Returns the first free run from there on, null if there is none.
    fn free_rest(&self, cursor: &Cursor, from: usize, size_class: SizeClass) -> Raw {
        let following = Raw(cursor.following.get());
        let end = cursor.next.get() + cursor.rest();
        let cells = (end - from) / size_class.cell_bytes();
        if cells == 0 {
            return following;
        }
        let run = Raw::from_offset(from & (REGION - 1));
        let block = Pages::offset(self.pages.head(run.page()));
        let after = match following {
            Raw::NULL => 0,
            run => ((run.offset() - block) / GRANULE) as u16,
        };
        // SAFETY: the rest of the run is this cursor's own.
        let header = unsafe { self.base.header(run) };
        header.store(Word::free_run(cells as u16, after));
        run
    }

    /// A block of the size class with free cells, which is the caller's from now on.
    fn take_block(&self, size_class: SizeClass, demand: Demand) -> Result<u32, Refusal> {
        if demand == Demand::Usual && self.exceeds_budget(1) {
            return Err(Refusal::CollectionDue);
        }
        loop {
            let mut blocks = self.lists[size_class.0 as usize].lock().unwrap();
            if let Some(block) = blocks.available.pop() {
                return Ok(block);
            }
            let Some(block) = blocks.unswept.pop() else {
                break;
            };
            drop(blocks);
            let swept = self.sweep_block(block);
            if swept.live_cells < size_class.cells_per_block() {
                return Ok(block);
            }
        }
        self.new_block(size_class, demand)
    }

    fn new_block(&self, size_class: SizeClass, demand: Demand) -> Result<u32, Refusal> {
        self.make_room(BLOCK, demand)?;
        let (block, dirty) = self
            .pages
            .take(
                (BLOCK / PAGE) as u32,
                Use::Block,
                demand == Demand::Survivors,
            )
            .ok_or(Refusal::Full)?;
        let offset = Pages::offset(block);
        if dirty {
            // SAFETY: the block is ours and holds no objects. Old data of another cell
            // size must not be taken for headers (H6).
            unsafe { self.base.at(offset).write_bytes(0, BLOCK) };
        }
        let record = self.pages.record(block);
        let cells = size_class.cells_per_block() as u16;
        record.size_class.store(size_class.0, Relaxed);
        record.first_run.store(1, Relaxed);
        record.free_cells.store(cells, Relaxed);
        // SAFETY: the block's first word is committed and ours.
        let header = unsafe { self.base.header(Raw::from_offset(offset)) };
        header.store(Word::free_run(cells, 0));
        let mut blocks = self.lists[size_class.0 as usize].lock().unwrap();
        blocks.all.push(block);
        Ok(block)
    }

    /// Sees to it that `bytes` more can be used within the limit.
    fn make_room(&self, bytes: usize, demand: Demand) -> Result<(), Refusal> {
        if demand == Demand::Survivors || self.holds(bytes) {
            return Ok(());
        }
        // Blocks that are empty but not yet swept would count against us.
        self.finish_sweep(1);
        match self.holds(bytes) {
            true => Ok(()),
            false => Err(Refusal::Full),
        }
    }

    /// Pages for a large object; the object's header is the caller's to write before
    /// the next safepoint.
    pub(crate) fn take_large(&self, bytes: usize, demand: Demand) -> Result<Raw, Refusal> {
        let rounded = bytes.next_multiple_of(PAGE);
        if demand != Demand::Survivors && self.pages.denies() {
            return Err(Refusal::Full);
        }
        if demand == Demand::Usual && self.exceeds_budget(rounded) {
            return Err(Refusal::CollectionDue);
        }
        self.make_room(rounded, demand)?;
        let pages = u32::try_from(rounded / PAGE).map_err(|_| Refusal::Full)?;
        let for_survivors = demand == Demand::Survivors;
        let taken = self.pages.take(pages, Use::Large, for_survivors);
        let (head, _) = taken.ok_or(Refusal::Full)?;
        self.handed_out.fetch_add(rounded, Relaxed);
        let raw = Raw::from_offset(Pages::offset(head));
        // Until its maker completes it, it is nothing: freed by the next collection.
        // SAFETY: the extent is committed and ours.
        unsafe { self.base.header(raw) }.store(Word(0));
        self.large.lock().unwrap().push(head);
        Ok(raw)
    }

    /// Ends a cursor's use of its run: what is left becomes a free run again, and the
    /// block is offered to others.
    pub(crate) fn retire(&self, cursor: &Cursor, size_class: SizeClass) {
        let first = self.free_rest(cursor, cursor.next.get(), size_class);
        cursor.clear();
        let cell = size_class.cell_bytes();
        if first.is_null() {
            return;
        }
        let block = self.pages.head(first.page());
        let start = Pages::offset(block);
        let mut free = 0;
        let mut run = first;
        loop {
            // SAFETY: the chain of free runs of a block that was ours.
            let word = unsafe { self.base.header(run) }.load();
            free += word.run_cells();
            match word.next_run() {
                0 => break,
                next => run = Raw::from_offset(start + next as usize * GRANULE),
            }
        }
        let record = self.pages.record(block);
        let place = (first.offset() - start) / GRANULE + 1;
        record.first_run.store(place as u16, Relaxed);
        record.free_cells.store(free, Relaxed);
        self.handed_out.fetch_sub(free as usize * cell, Relaxed);
        let mut blocks = self.lists[size_class.0 as usize].lock().unwrap();
        blocks.available.push(block);
    }

    /// After marking: large objects that died are freed at once, blocks are
    /// listed for sweeping. Returns bytes of large objects that live.
    pub(crate) fn begin_sweep(&self) {
        let epoch = self.epoch();
        self.large.lock().unwrap().retain(|&head| {
            let raw = Raw::from_offset(Pages::offset(head));
            // SAFETY: a large object starts at its extent.
            let live = unsafe { self.base.header(raw) }.load().is_marked(epoch);
            if !live {
                self.pages.give(head);
            }
            live
        });
        for blocks in &self.lists {
            let blocks = &mut *blocks.lock().unwrap();
            blocks.available.clear();
            blocks.unswept.clone_from(&blocks.all);
            // Taken from the end: low addresses first keeps the heap dense.
            blocks.unswept.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.handed_out.store(0, Relaxed);
        self.external_growth.store(0, Relaxed);
    }

    /// Sweeps everything that is still unswept. Blocks without live objects go
    /// back to the pages.
    pub(crate) fn finish_sweep(&self, threads: usize) {
        for size_class in SizeClass::all() {
            let list = &self.lists[size_class.0 as usize];
            let unswept = std::mem::take(&mut list.lock().unwrap().unswept);
            if unswept.is_empty() {
                continue;
            }
            let sweep = |&block: &u32| (block, self.sweep_block(block).live_cells);
            let mut swept = crew::map(threads, &unswept, sweep);
            swept.sort_unstable();
            let cells = size_class.cells_per_block();
            let (mut emptied, mut available) = (Vec::new(), Vec::new());
            for (block, live) in swept {
                if live == 0 {
                    emptied.push(block);
                } else if live < cells {
                    available.push(block);
                }
            }
            let mut blocks = list.lock().unwrap();
            available.reverse();
            blocks.available.append(&mut available);
            if !emptied.is_empty() {
                let gone: HashSet<u32> = emptied.iter().copied().collect();
                blocks.all.retain(|block| !gone.contains(block));
            }
            drop(blocks);
            // Only now that nobody lists them can they become something else.
            for block in emptied {
                self.pages.give(block);
            }
        }
    }

    /// Finds the dead cells of a block and chains its free runs.
    fn sweep_block(&self, block: u32) -> Swept {
        let record = self.pages.record(block);
        let size_class = SizeClass(record.size_class.load(Relaxed));
        let cell = size_class.cell_bytes();
        let epoch = self.epoch();
        let poison = self.poisons();
        let start = Pages::offset(block);
        let end = start + size_class.cells_per_block() * cell;
        let header = |offset: usize| {
            // SAFETY: every multiple of the cell size in a block is the start of a cell,
            // and the block is the sweeper's own.
            unsafe { self.base.header(Raw::from_offset(offset)) }
        };
        let mut swept = Swept::default();
        let (mut run, mut free_cells) = (None, 0u16);
        // The last finished run waits for the place of the one after it.
        let mut last: Option<(usize, u16)> = None;
        let mut first = 0;
        let mut offset = start;
        loop {
            let at_end = offset >= end;
            // The program may run, and use what lives.
            let word = if at_end {
                Word(0)
            } else {
                header(offset).low()
            };
            let live =
                at_end || !word.is_free() && word.is_marked(epoch) && word.forwarded_to().is_none();
            if live {
                if let Some(from) = run.take() {
                    let cells = ((offset - from) / cell) as u16;
                    let place = ((from - start) / GRANULE) as u16;
                    match last {
                        None => first = place + 1,
                        Some((at, cells)) => header(at).store(Word::free_run(cells, place)),
                    }
                    last = Some((from, cells));
                    free_cells += cells;
                }
                if at_end {
                    break;
                }
                swept.live_cells += 1;
                offset += cell;
            } else {
                run.get_or_insert(offset);
                let cells = if word.is_free() {
                    header(offset).load().run_cells().max(1)
                } else {
                    1
                };
                let bytes = cells as usize * cell;
                if poison {
                    // SAFETY: the cells are free and the block is ours. The headers become
                    // zero, so that nothing inside a run passes for an object.
                    unsafe {
                        self.base.at(offset).write_bytes(POISON, bytes);
                        for at in (offset..offset + bytes).step_by(cell) {
                            self.base.at(at).cast::<u64>().write(0);
                        }
                    }
                }
                offset += bytes;
            }
        }
        if let Some((at, cells)) = last {
            header(at).store(Word::free_run(cells, 0));
        }
        record.first_run.store(first, Relaxed);
        record.free_cells.store(free_cells, Relaxed);
        swept.live_bytes = swept.live_cells * cell;
        swept
    }

    /// Calls `f` with every object in blocks and large extents. Only while the
    /// world stands still and everything is swept.
    pub(crate) fn for_each_object(&self, mut f: impl FnMut(Raw)) {
        for size_class in SizeClass::all() {
            let all = self.blocks(size_class);
            for block in all {
                self.for_each_cell(block, &mut f);
            }
        }
        let large = self.large.lock().unwrap().clone();
        for head in large {
            let raw = Raw::from_offset(Pages::offset(head));
            // SAFETY: a large object starts at its extent.
            if !unsafe { self.base.header(raw) }.load().is_free() {
                f(raw);
            }
        }
    }

    /// Calls `f` with every object in a swept block.
    pub(crate) fn for_each_cell(&self, block: u32, f: &mut impl FnMut(Raw)) {
        let record = self.pages.record(block);
        let size_class = SizeClass(record.size_class.load(Relaxed));
        let cell = size_class.cell_bytes();
        let start = Pages::offset(block);
        let mut cells = 0;
        while cells < size_class.cells_per_block() {
            let raw = Raw::from_offset(start + cells * cell);
            // SAFETY: the start of a cell.
            let word = unsafe { self.base.header(raw) }.load();
            if word.is_free() {
                cells += word.run_cells().max(1) as usize;
            } else {
                f(raw);
                cells += 1;
            }
        }
    }

    /// All blocks of a size class.
    pub(crate) fn blocks(&self, size_class: SizeClass) -> Vec<u32> {
        self.lists[size_class.0 as usize]
            .lock()
            .unwrap()
            .all
            .clone()
    }

    /// Bytes of all blocks, and of all large objects' pages.
    pub(crate) fn extent_bytes(&self) -> (usize, usize) {
        let total = self.pages.used_bytes();
        let blocks: usize = self
            .lists
            .iter()
            .map(|blocks| blocks.lock().unwrap().all.len() * BLOCK)
            .sum();
        (blocks, total - blocks)
    }

    /// Sweeps one block again and lists it anew, or frees it if it is empty:
    /// after objects were moved out of it or into it.
    pub(crate) fn relist(&self, blocks_of: SizeClass) {
        let mut blocks = self.lists[blocks_of.0 as usize].lock().unwrap();
        blocks.available.clear();
        let all = std::mem::take(&mut blocks.all);
        for block in all {
            let live = self.sweep_block(block).live_cells;
            if live == 0 {
                self.pages.give(block);
                continue;
            }
            self.pages.set_usage(block, Use::Block);
            blocks.all.push(block);
            if live < blocks_of.cells_per_block() {
                blocks.available.push(block);
            }
        }
    }

    /// Offers only these blocks for allocation: where compaction puts objects.
    pub(crate) fn offer_only(&self, size_class: SizeClass, targets: Vec<u32>) {
        self.lists[size_class.0 as usize].lock().unwrap().available = targets;
    }

    /// The object that an offset lies in.
    pub(crate) fn object_around(&self, offset: usize) -> Raw {
        let head = self
            .pages
            .head(Raw::from_offset(offset & !(PAGE - 1)).page());
        let (start, record) = (Pages::offset(head), self.pages.record(head));
        let within = match record.usage() {
            Use::Large => 0,
            _ => {
                let cell = SizeClass(record.size_class.load(Relaxed)).cell_bytes();
                (offset - start) / cell * cell
            }
        };
        Raw::from_offset(start + within)
    }
}
