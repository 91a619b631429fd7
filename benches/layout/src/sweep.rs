//! Sweeping: every block's cells are walked, and runs of dead cells chained.
//!
//! A run's length and successor are kept in the second word of its first cell.
//! Headers stay as they are, so that each measurement sweeps the same heap.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::heap::{BLOCK_BYTES, Heap, header};
use crate::reference::Reference;
use crate::variant::MarkState;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    EveryBlock,
    /// Neither full nor empty ones, according to the counts of the mark loop.
    MixedBlocks,
}

#[derive(Default, Debug, PartialEq, Eq, Clone, Copy)]
pub struct Swept {
    pub live_cells: usize,
    pub free_bytes: usize,
    pub runs: usize,
}

pub fn sweep<R: Reference>(heap: &mut Heap<R>, marks: MarkState, walk: Walk) -> Swept {
    match marks {
        MarkState::Epoch => sweep_with(heap, walk, |heap, offset| {
            // SAFETY: `offset` is a cell of one of the heap's blocks, of at
            // least 8 bytes (invariant 1); free cells have a zero header.
            let word = unsafe { AtomicU64::from_ptr(heap.base().add(offset).cast()) };
            word.load(Relaxed) & header::EPOCH_MASK == heap.epoch
        }),
        MarkState::Bitmap => sweep_with(heap, walk, |heap, offset| {
            heap.mark_bitmap[offset / 512].load(Relaxed) >> (offset / 8 % 64) & 1 != 0
        }),
    }
}

fn sweep_with<R: Reference>(
    heap: &mut Heap<R>,
    walk: Walk,
    is_live: impl Fn(&Heap<R>, usize) -> bool,
) -> Swept {
    let mut swept = Swept::default();
    for block in 1..heap.block_count {
        let cell_bytes = heap.cell_bytes[block] as usize;
        let cells = BLOCK_BYTES / cell_bytes;
        let start = block * BLOCK_BYTES;
        let end = start + cells * cell_bytes;
        if walk == Walk::MixedBlocks {
            let live = heap.block_live[block].load(Relaxed) as usize;
            if live == cells {
                heap.first_free_run[block] = 0;
                swept.live_cells += cells;
                continue;
            }
            if live == 0 {
                heap.first_free_run[block] = free_run(heap, start, end, 0);
                swept.free_bytes += end - start;
                swept.runs += 1;
                continue;
            }
        }
        let mut last_run = 0;
        let mut run_start = None;
        let mut offset = start;
        while offset < end {
            if is_live(heap, offset) {
                swept.live_cells += 1;
                if let Some(run) = run_start.take() {
                    last_run = free_run(heap, run, offset, last_run);
                    swept.free_bytes += offset - run;
                    swept.runs += 1;
                }
            } else if run_start.is_none() {
                run_start = Some(offset);
            }
            offset += cell_bytes;
        }
        if let Some(run) = run_start {
            last_run = free_run(heap, run, end, last_run);
            swept.free_bytes += end - run;
            swept.runs += 1;
        }
        heap.first_free_run[block] = last_run;
    }
    swept
}

/// Records the dead cells `from..to` in front of the run `next`. A run is named
/// by the granule it starts at.
#[inline(always)]
fn free_run<R: Reference>(heap: &Heap<R>, from: usize, to: usize, next: u32) -> u32 {
    // SAFETY: a cell has at least 16 bytes (invariant 1), and no live slot is
    // among those of a dead one.
    unsafe {
        heap.base()
            .add(from + 8)
            .cast::<u64>()
            .write((to - from) as u64 | u64::from(next) << 32)
    };
    (from / 8) as u32
}
