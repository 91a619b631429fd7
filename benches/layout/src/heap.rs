//! A heap built from the logical graph: blocks of equal cells in one region.
//!
//! Invariants, which the `SAFETY` notes of this crate refer to:
//!
//! 1. Blocks `0..block_count` lie at `base + block * BLOCK_BYTES`, inside the
//!    region, and each is divided into cells of `cell_bytes[block]` bytes, a
//!    multiple of 8 and at least 16. Block 0 holds no objects, so that no
//!    reference encodes to null.
//! 2. A non-null slot or root decodes to the start of a cell that holds an
//!    object.
//! 3. An object starts with a header whose class indexes `descriptors`; the
//!    words that its descriptor names, and no others, are slots. A reference
//!    array has a length word and that many slots after the header. All of it
//!    lies in the object's cell.
//! 4. Headers are accessed only as `AtomicU64` once the heap is built. Slots
//!    and lengths do not change.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::class::{
    CLASS_COUNT, Classes, Descriptor, FieldOrder, HEADER_BYTES, Layout, Role, ref_array_bytes,
};
use crate::graph::{Graph, NULL};
use crate::reference::Reference;
use crate::region::Region;

pub const BLOCK_BYTES: usize = 32 << 10;
const RESERVED_BYTES: usize = 2 << 30;

/// The header word: class in bits 0..20, mark epoch in 20..23, flags in 23..32,
/// and in 32..40 the number of references (used where they come first).
pub mod header {
    pub const CLASS_MASK: u64 = (1 << 20) - 1;
    pub const EPOCH_SHIFT: u32 = 20;
    pub const EPOCH_MASK: u64 = 7 << EPOCH_SHIFT;
    pub const REFS_SHIFT: u32 = 32;
    /// The reference count that stands for a reference array.
    pub const REFS_ARRAY: u64 = 0xFF;
}

pub struct Heap<R> {
    region: Region,
    pub descriptors: Vec<Descriptor>,
    pub roots: Vec<R>,
    pub block_count: usize,
    pub cell_bytes: Vec<u32>,
    /// Objects marked per block, where the mark loop counts them.
    pub block_live: Vec<AtomicU32>,
    /// Offset of the first free run of each block, as the last sweep left it.
    pub first_free_run: Vec<u32>,
    /// One bit per granule, where marks are kept aside.
    pub mark_bitmap: Vec<AtomicU64>,
    /// The epoch of marked objects, shifted into place. Never zero: dead
    /// objects keep epoch zero from one measurement to the next.
    pub epoch: u64,
    pub objects: usize,
    pub object_bytes: usize,
    pub live_objects: usize,
    pub live_edges: usize,
    pub live_bytes: usize,
}

impl<R: Reference> Heap<R> {
    pub fn build(
        graph: &Graph,
        placement: &[u32],
        classes: &Classes,
        order: FieldOrder,
        huge: bool,
    ) -> Self {
        let layouts: Vec<Layout> = (0..classes.len())
            .map(|c| Layout::new(classes.get(c as u16), R::BYTES, order))
            .collect();
        let region = Region::reserve(RESERVED_BYTES, huge);
        let base = region.base();

        let mut cells = CellAllocator::new();
        let mut offsets = vec![0usize; graph.objects()];
        let (mut object_bytes, mut live_bytes) = (0, 0);
        for &object in placement {
            let class = graph.classes[object as usize];
            let bytes = match classes.get(class).role {
                Role::RefArray => ref_array_bytes(graph.slots_of(object).len(), R::BYTES),
                _ => layouts[class as usize].bytes,
            };
            object_bytes += bytes;
            live_bytes += if graph.is_live(object) { bytes } else { 0 };
            offsets[object as usize] = cells.allocate(bytes);
        }
        let block_count = cells.cell_bytes.len();
        assert!(block_count * BLOCK_BYTES <= RESERVED_BYTES);

        for object in 0..graph.objects() as u32 {
            let class = graph.classes[object as usize];
            let layout = &layouts[class as usize];
            let slots = graph.slots_of(object);
            let is_array = layout.descriptor.is_ref_array();
            let refs = if is_array {
                header::REFS_ARRAY
            } else {
                slots.len() as u64
            };
            let start = base.wrapping_add(offsets[object as usize]);
            // SAFETY: the cell allocator established invariant 1 for the range
            // `start..start + bytes`, and the layout keeps every field in it.
            unsafe {
                start
                    .cast::<u64>()
                    .write(u64::from(class) | refs << header::REFS_SHIFT);
                if is_array && R::BYTES == 4 {
                    start
                        .add(HEADER_BYTES)
                        .cast::<u32>()
                        .write(slots.len() as u32);
                } else if is_array {
                    start
                        .add(HEADER_BYTES)
                        .cast::<u64>()
                        .write(slots.len() as u64);
                }
                for (slot, &target) in slots.iter().enumerate() {
                    let reference = match target {
                        NULL => R::NULL,
                        target => R::encode(offsets[target as usize], base),
                    };
                    let offset = if is_array {
                        HEADER_BYTES + R::BYTES * (1 + slot)
                    } else {
                        layout.slot_offsets[slot]
                    };
                    start.add(offset).cast::<R>().write(reference);
                }
            }
        }

        Heap {
            descriptors: layouts.iter().map(|layout| layout.descriptor).collect(),
            roots: graph
                .roots
                .iter()
                .map(|&root| R::encode(offsets[root as usize], base))
                .collect(),
            block_count,
            block_live: (0..block_count).map(|_| AtomicU32::new(0)).collect(),
            first_free_run: vec![0; block_count],
            mark_bitmap: (0..block_count * BLOCK_BYTES / 512)
                .map(|_| AtomicU64::new(0))
                .collect(),
            cell_bytes: cells.cell_bytes,
            epoch: 1 << header::EPOCH_SHIFT,
            objects: graph.objects(),
            object_bytes,
            live_objects: graph.live_objects,
            live_edges: graph.live_edges,
            live_bytes,
            region,
        }
    }

    pub fn base(&self) -> *mut u8 {
        self.region.base()
    }

    pub fn heap_bytes(&self) -> usize {
        self.block_count * BLOCK_BYTES
    }

    pub fn huge_bytes(&self) -> usize {
        self.region.huge_bytes()
    }

    /// Makes every marked object unmarked, by moving to the next epoch.
    pub fn advance_epoch(&mut self) {
        let next = self.epoch >> header::EPOCH_SHIFT;
        self.epoch = (next % 7 + 1) << header::EPOCH_SHIFT;
    }

    pub fn clear_bitmap(&mut self) {
        self.mark_bitmap
            .iter_mut()
            .for_each(|word| *word.get_mut() = 0);
    }

    pub fn clear_block_live(&mut self) {
        self.block_live
            .iter_mut()
            .for_each(|count| *count.get_mut() = 0);
    }

    /// Blocks in which the last counting trace marked every cell, and none.
    pub fn full_and_empty_blocks(&self) -> (usize, usize) {
        let full = |block: &usize| {
            self.block_live[*block].load(Relaxed) as usize
                == BLOCK_BYTES / self.cell_bytes[*block] as usize
        };
        let empty = |block: &usize| self.block_live[*block].load(Relaxed) == 0;
        (
            (1..self.block_count).filter(full).count(),
            (1..self.block_count).filter(empty).count(),
        )
    }
}

/// Hands out cells, from one current block per cell size.
struct CellAllocator {
    cell_bytes: Vec<u32>,
    /// Per cell size in granules: the next free offset and the block's end.
    current: Vec<(usize, usize)>,
}

impl CellAllocator {
    fn new() -> Self {
        // Block 0 stays empty.
        CellAllocator {
            cell_bytes: vec![BLOCK_BYTES as u32],
            current: vec![(0, 0); BLOCK_BYTES / 8 + 1],
        }
    }

    fn allocate(&mut self, bytes: usize) -> usize {
        let cell = cell_size(bytes);
        let (next, end) = self.current[cell / 8];
        let offset = if next + cell <= end {
            next
        } else {
            self.cell_bytes.push(cell as u32);
            (self.cell_bytes.len() - 1) * BLOCK_BYTES
        };
        let end = (offset / BLOCK_BYTES + 1) * BLOCK_BYTES;
        self.current[cell / 8] = (offset + cell, end);
        offset
    }
}

/// Every multiple of 8 up to 256 bytes, then sizes that divide a block well.
fn cell_size(bytes: usize) -> usize {
    if bytes <= 256 {
        bytes.next_multiple_of(8).max(16)
    } else {
        (BLOCK_BYTES / (BLOCK_BYTES / bytes)) & !7
    }
}

const _: () = assert!(
    CLASS_COUNT < 1 << 16,
    "a stack entry has 16 bits for a class"
);
