//! Compaction: gives back the memory of blocks that are mostly holes.
//!
//! After marking, within each size class, the live objects of the emptiest blocks
//! move into the holes of the fullest (all cells of a class are alike, so any hole
//! will do); what they leave behind tells where they went. Then every reference in
//! the heap is brought up to date in one walk over all objects. A block with a pinned object,
//! or with one whose identity hash is its address, is not emptied.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::raw::marking::mark::Ground;
use crate::raw::memory::address::Raw;
use crate::raw::memory::pages::Use;
use crate::raw::memory::sizes::{BLOCK, SizeClass};
use crate::raw::memory::space::{Cursor, Demand, Space};
use crate::raw::objects::header::{HashState, Word};
use crate::raw::objects::layout::for_each_slot;

/// Which blocks of one size class to empty, given the live cells of each: enough
/// to leave the rest well filled, and none if that would gain little, unless the heap
/// `is_full`: then every block counts.
pub(crate) fn choose_sources(
    live: &[(u32, usize)],
    cells_per_block: usize,
    is_full: bool,
) -> Vec<u32> {
    let total: usize = live.iter().map(|&(_, cells)| cells).sum();
    let needed = total.div_ceil(cells_per_block);
    let gain = live.len() - needed.min(live.len());
    if gain * 5 < live.len() && !is_full {
        return Vec::new();
    }
    let mut by_live: Vec<_> = live.iter().map(|&(block, cells)| (cells, block)).collect();
    by_live.sort_unstable();
    by_live[..gain].iter().map(|&(_, block)| block).collect()
}

/// Moves objects out of sparse blocks. Returns how many bytes of blocks were to be
/// emptied. Everything must be marked and swept. References are stale until
/// [`update`] has seen all of them.
pub(crate) fn evacuate(ground: Ground<'_>, space: &Space, is_full: bool) -> usize {
    let mut emptied = 0;
    for size_class in SizeClass::all() {
        let cells = size_class.cells_per_block();
        let live: Vec<_> = space
            .blocks(size_class)
            .into_iter()
            .map(|block| {
                let free = space.pages.record(block).free_cells.load(Relaxed);
                (block, cells - free as usize)
            })
            .collect();
        let mut sources = choose_sources(&live, cells, is_full);
        sources.retain(|&block| all_can_move(ground, space, block));
        if sources.is_empty() {
            continue;
        }
        for &block in &sources {
            space.pages.set_usage(block, Use::Evacuated);
        }
        let targets = live
            .iter()
            .filter(|&&(block, live)| {
                live < cells && space.pages.record(block).usage() == Use::Block
            })
            .map(|&(block, _)| block);
        space.offer_only(size_class, targets.collect());
        let cursor = Cursor::default();
        for &block in &sources {
            space.for_each_cell(block, &mut |raw| {
                move_out(ground, space, raw, &cursor, size_class);
            });
        }
        space.retire(&cursor, size_class);
        emptied += sources.len() * BLOCK;
    }
    emptied
}

/// Whether nothing in a block is pinned or hashed by its address.
fn all_can_move(ground: Ground<'_>, space: &Space, block: u32) -> bool {
    let mut movable = true;
    space.for_each_cell(block, &mut |raw| {
        // SAFETY: an object in a swept block.
        let word = unsafe { ground.base.header(raw) }.load();
        movable &= !word.is_pinned() && word.hash_state() != HashState::ByAddress;
    });
    movable
}

fn move_out(ground: Ground<'_>, space: &Space, raw: Raw, cursor: &Cursor, size_class: SizeClass) {
    // SAFETY: an object in a swept block.
    let header = unsafe { ground.base.header(raw) };
    let word = header.load();
    let cell = size_class.cell_bytes();
    if cursor.next.get() + cell > cursor.limit.get() {
        // The holes suffice, but the last block taken may have been new.
        if space.refill(cursor, size_class, Demand::Survivors).is_err() {
            return;
        }
    }
    let at = cursor.next.get();
    cursor.next.set(at + cell);
    let to = Raw::from_offset(at & (crate::raw::memory::address::REGION - 1));
    // SAFETY: two different cells of the same size; the target is free.
    unsafe {
        ground
            .base
            .object(to)
            .copy_from_nonoverlapping(ground.base.object(raw), cell);
    }
    header.store(Word::forwarding(word.class(), to));
}

/// Where an object is now.
#[inline]
pub(crate) fn moved(ground: Ground<'_>, space: &Space, raw: Raw) -> Raw {
    if space.pages.record(raw.page()).usage() != Use::Evacuated {
        return raw;
    }
    // SAFETY: an object, or what it left behind.
    let word = unsafe { ground.base.header(raw) }.load();
    word.forwarded_to().unwrap_or(raw)
}

/// Updates a slot or root.
#[inline]
pub(crate) fn update(ground: Ground<'_>, space: &Space, slot: &AtomicU32) {
    let raw = ground.reach.read(slot);
    if ground.refers(raw) {
        ground.reach.redirect(slot, moved(ground, space, raw));
    }
}

/// Updates the slots of all objects.
pub(crate) fn update_objects(ground: Ground<'_>, space: &Space) {
    space.for_each_object(|raw| {
        // SAFETY: an object in the mature space, and nobody else looks.
        let word = unsafe { ground.base.header(raw) }.load();
        if word.forwarded_to().is_some() {
            return;
        }
        let trace = ground.traces[word.class() as usize];
        let object = ground.base.object(raw);
        // SAFETY: as above.
        unsafe {
            for_each_slot(ground.classes, trace, word.class(), object, |_, _, slot| {
                update(ground, space, slot);
            });
        }
    });
}

/// Frees the blocks that are empty now.
pub(crate) fn finish(space: &Space) {
    for size_class in SizeClass::all() {
        space.relist(size_class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_empty_blocks_are_halved() {
        let live: Vec<_> = (0..100).map(|block| (block, 50)).collect();
        assert_eq!(choose_sources(&live, 100, false).len(), 50);
    }

    #[test]
    fn the_emptiest_blocks_are_chosen() {
        let live = [(1, 90), (2, 10), (3, 95), (4, 5)];
        let mut sources = choose_sources(&live, 100, false);
        sources.sort();
        assert_eq!(sources, [2, 4]);
    }

    #[test]
    fn dense_blocks_are_left_alone() {
        let live: Vec<_> = (0..100).map(|block| (block, 95)).collect();
        assert!(choose_sources(&live, 100, false).is_empty());
        assert!(choose_sources(&[], 100, false).is_empty());
    }

    #[test]
    fn where_memory_is_full_dense_blocks_are_emptied_too() {
        let live: Vec<_> = (0..100).map(|block| (block, 95)).collect();
        assert_eq!(choose_sources(&live, 100, true).len(), 5);
        assert!(choose_sources(&[(1, 99), (2, 2)], 100, true).is_empty());
        assert!(choose_sources(&[], 100, true).is_empty());
    }
}
