//! Compaction: gives back the memory of blocks that are mostly holes.
//!
//! After marking, within each size class, the live objects of the emptiest blocks
//! move into the holes of the fullest (all cells of a class are alike, so any hole
//! will do); what they leave behind tells where they went. Then every reference in
//! the heap is brought up to date in one walk over all objects. A block with a pinned object,
//! or with one whose identity hash is its address, is not emptied.
//!
//! Each size class still has a last block, which may hold a single object. In a small heap these are much of
//! all memory, so that in a full one they are emptied, too: into the holes of a larger class, where each object
//! takes a cell that is larger than it needs. Nothing but the block tells the size of a cell.

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

/// The blocks of one size class, with the live cells of each.
type Live = (SizeClass, Vec<(u32, usize)>);

/// What is moved out of the blocks of one size class.
#[derive(Debug)]
struct Move {
    size_class: SizeClass,
    sources: Vec<u32>,
    /// The free cells of its other blocks.
    holes: usize,
    /// The size class whose holes take what does not fit into these.
    beyond: Option<SizeClass>,
}

/// Decides what is moved, in the order in which it is to be done: what is moved into the holes of a size
/// class comes after what is moved within it, and nothing is moved twice.
fn plan(classes: &[Live], is_full: bool, can_move: impl Fn(u32) -> bool) -> Vec<Move> {
    let mut moves = Vec::new();
    // The holes that larger size classes will have, the largest first.
    let mut larger: Vec<(SizeClass, usize)> = Vec::new();
    for (size_class, live) in classes.iter().rev() {
        let cells = size_class.cells_per_block();
        let mut sources = choose_sources(live, cells, is_full);
        sources.retain(|&block| can_move(block));
        let sum = |sources: &[u32]| {
            let moved = live.iter().filter(|(block, _)| sources.contains(block));
            let moved: usize = moved.map(|&(_, live)| live).sum();
            let all: usize = live.iter().map(|&(_, live)| live).sum();
            (moved, (live.len() - sources.len()) * cells - (all - moved))
        };
        let (moved, holes) = sum(&sources);
        let mut within = Move {
            size_class: *size_class,
            sources,
            holes,
            beyond: None,
        };
        let others = live
            .iter()
            .filter(|(block, _)| !within.sources.contains(block));
        if is_full
            && let Some(&(last, _)) = others.min_by_key(|&&(block, live)| (live, block))
            && can_move(last)
        {
            let mut sources = within.sources.clone();
            sources.push(last);
            let (moved, holes) = sum(&sources);
            let rest = moved.saturating_sub(holes);
            if let Some((beyond, left)) = larger.iter_mut().rev().find(|(_, left)| *left >= rest) {
                *left -= rest;
                within.sources = sources;
                within.holes = holes;
                within.beyond = Some(*beyond);
            }
        }
        if within.beyond.is_none() {
            larger.push((*size_class, holes - moved));
        }
        if !within.sources.is_empty() {
            moves.push(within);
        }
    }
    moves
}

/// Moves objects out of sparse blocks. Returns how many bytes of blocks were to be
/// emptied. Everything must be marked and swept. References are stale until
/// [`update`] has seen all of them.
pub(crate) fn evacuate(ground: Ground<'_>, space: &Space, is_full: bool) -> usize {
    let live_cells = |size_class: SizeClass, block: u32| {
        let free = space.pages.record(block).free_cells.load(Relaxed);
        (block, size_class.cells_per_block() - free as usize)
    };
    let classes: Vec<Live> = SizeClass::all()
        .map(|size_class| {
            let blocks = space.blocks(size_class).into_iter();
            (
                size_class,
                blocks.map(|it| live_cells(size_class, it)).collect(),
            )
        })
        .collect();
    let moves = plan(&classes, is_full, |block| {
        all_can_move(ground, space, block)
    });
    for it in &moves {
        for &block in &it.sources {
            space.pages.set_usage(block, Use::Evacuated);
        }
        let targets = classes[it.size_class.0 as usize].1.iter();
        let targets = targets.filter(|&&(block, live)| {
            let is_source = space.pages.record(block).usage() != Use::Block;
            live < it.size_class.cells_per_block() && !is_source
        });
        space.offer_only(it.size_class, targets.map(|&(block, _)| block).collect());
        let (within, beyond) = (Cursor::default(), Cursor::default());
        let mut holes = it.holes;
        for &block in &it.sources {
            space.for_each_cell(block, &mut |raw| {
                let to = match it.beyond {
                    Some(larger) if holes == 0 => (&beyond, larger),
                    _ => (&within, it.size_class),
                };
                holes = holes.saturating_sub(1);
                move_out(ground, space, raw, it.size_class, to);
            });
        }
        space.retire(&within, it.size_class);
        if let Some(larger) = it.beyond {
            space.retire(&beyond, larger);
        }
    }
    moves.iter().map(|it| it.sources.len() * BLOCK).sum()
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

/// Moves an object from a cell of a size class to the next one of a cursor, whose cells may be larger.
fn move_out(
    ground: Ground<'_>,
    space: &Space,
    raw: Raw,
    from: SizeClass,
    (cursor, to): (&Cursor, SizeClass),
) {
    // SAFETY: an object in a swept block.
    let header = unsafe { ground.base.header(raw) };
    let word = header.load();
    if cursor.next.get() + to.cell_bytes() > cursor.limit.get() {
        // The holes suffice, but the last block taken may have been new.
        if space.refill(cursor, to, Demand::Survivors).is_err() {
            return;
        }
    }
    let at = cursor.next.get();
    cursor.next.set(at + to.cell_bytes());
    let to = Raw::from_offset(at & (crate::raw::memory::address::REGION - 1));
    // SAFETY: two different cells, of which the target is free and at least as large.
    unsafe {
        ground
            .base
            .object(to)
            .copy_from_nonoverlapping(ground.base.object(raw), from.cell_bytes());
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

    /// What is left of some blocks after some moves: the live cells of each block that is kept, by size class.
    fn after(classes: &[Live], moves: &[Move]) -> Vec<(SizeClass, usize, usize)> {
        let mut left: Vec<_> = classes
            .iter()
            .map(|(class, live)| {
                (
                    *class,
                    live.len(),
                    live.iter().map(|it| it.1).sum::<usize>(),
                )
            })
            .collect();
        for it in moves {
            let (class, blocks, cells) = &mut left[it.size_class.0 as usize];
            *blocks -= it.sources.len();
            let room = *blocks * class.cells_per_block();
            let rest = cells.saturating_sub(room);
            *cells -= rest;
            assert!(rest == 0 || it.beyond.is_some());
            if let Some(beyond) = it.beyond {
                assert!(beyond > it.size_class);
                left[beyond.0 as usize].2 += rest;
            }
        }
        left
    }

    #[test]
    fn a_full_heap_keeps_no_block_for_each_size() {
        // Three objects of each size, and a block that is half full.
        let mut classes: Vec<Live> = SizeClass::all()
            .map(|class| (class, vec![(class.0 as u32, 3)]))
            .collect();
        let half = classes[1].0.cells_per_block() / 2;
        classes[1].1.push((1000, half));
        let blocks =
            |moves: &[Move]| -> usize { after(&classes, moves).iter().map(|it| it.1).sum() };
        assert_eq!(blocks(&plan(&classes, false, |_| true)), SizeClass::COUNT);
        let full = plan(&classes, true, |_| true);
        assert!(blocks(&full) < SizeClass::COUNT / 2, "{full:?}");
        assert!(plan(&classes, true, |_| false).is_empty());
    }

    #[test]
    fn whatever_is_moved_fits_and_is_moved_once() {
        let mut seed = 1u64;
        let mut dice = |sides: usize| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) as usize % sides
        };
        for round in 0..2000 {
            let mut block = 0;
            let classes: Vec<Live> = SizeClass::all()
                .map(|class| {
                    let count = dice(5);
                    let live = (0..count).map(|_| {
                        block += 1;
                        let most = [3, class.cells_per_block()][dice(2)];
                        (block, 1 + dice(most.min(class.cells_per_block())))
                    });
                    (class, live.collect())
                })
                .collect();
            let moves = plan(&classes, round % 4 > 0, |block| {
                round % 3 == 0 || block % 5 > 0
            });
            for (class, blocks, cells) in after(&classes, &moves) {
                assert!(cells <= blocks * class.cells_per_block());
            }
            // What others are moved into is not emptied any more.
            for (nth, it) in moves.iter().enumerate() {
                if let Some(beyond) = it.beyond {
                    let later = moves[nth..].iter().any(|it| it.size_class == beyond);
                    let own = moves.iter().find(|it| it.size_class == beyond);
                    assert!(!later && own.is_none_or(|it| it.beyond.is_none()));
                }
            }
        }
    }
}
