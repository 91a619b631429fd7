//! Marking: the loop under measurement.
//!
//! Entries popped from the LIFO stack pass through a short FIFO. An object's
//! header is prefetched when its entry joins the FIFO and tested when it leaves,
//! by which time the line has arrived (Cher, Hosking and Vitek, "Software
//! prefetching for mark-sweep garbage collection", ASPLOS 2004).
//!
//! Elsewhere: what can be chosen (`variant.rs`), two threads (`parallel.rs`).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::class::{Descriptor, HEADER_BYTES};
use crate::heap::{BLOCK_BYTES, Heap, header};
use crate::points_from::PairCounts;
use crate::reference::{Entry, Reference};
use crate::stack::MarkStack;
use crate::variant::{Claim, Describe, MarkState, Prefetch, Push, Variant};

const LONGEST_FIFO: usize = 64;
/// Turns of the FIFO between offers to share.
const OFFER_EVERY: usize = 64;
const LINE_BYTES: usize = 64;

/// One marker: its stack, and what it has counted.
///
/// What the loop reads from the heap each time around is copied here: the
/// compiler cannot know that marking leaves the heap's own fields alone.
pub struct Marker<'h, V: Variant> {
    pub heap: &'h Heap<V::Ref>,
    base: *mut u8,
    epoch: u64,
    descriptors: &'h [Descriptor],
    pub stack: MarkStack<V::Entry>,
    pub pairs: PairCounts,
    pub visits: usize,
    pub bytes: usize,
}

// SAFETY: a marker refers to a heap whose headers are atomic and whose slots do
// not change (invariant 4); its `base` is only a copy of the heap's.
unsafe impl<V: Variant> Send for Marker<'_, V> {}

/// Where a marker gives and finds work beyond its own stack.
pub trait Sharing<E> {
    /// Whether to call `give`, asked often.
    fn wants(&self, stack: &MarkStack<E>) -> bool;
    fn give(&self, stack: MarkStack<E>) -> MarkStack<E>;
    /// Adds work to an empty stack. None when marking is over.
    fn refill(&self, stack: MarkStack<E>) -> Option<MarkStack<E>>;
}

/// No other markers.
pub struct Alone;

impl<E> Sharing<E> for Alone {
    #[inline(always)]
    fn wants(&self, _stack: &MarkStack<E>) -> bool {
        false
    }
    fn give(&self, stack: MarkStack<E>) -> MarkStack<E> {
        stack
    }
    fn refill(&self, _stack: MarkStack<E>) -> Option<MarkStack<E>> {
        None
    }
}

impl<'h, V: Variant> Marker<'h, V> {
    pub fn new(heap: &'h Heap<V::Ref>, stack: MarkStack<V::Entry>) -> Self {
        let pairs = PairCounts::new(if V::COUNT_PAIRS {
            heap.descriptors.len()
        } else {
            0
        });
        Marker {
            heap,
            base: heap.base(),
            epoch: heap.epoch,
            descriptors: &heap.descriptors,
            stack,
            pairs,
            visits: 0,
            bytes: 0,
        }
    }

    pub fn push_roots(&mut self) {
        for &root in &self.heap.roots {
            self.stack.push(V::Entry::new(root, 0));
        }
    }

    /// Marks until neither the stack nor `sharing` has work left.
    pub fn run(&mut self, sharing: &impl Sharing<V::Entry>) {
        let mut stack = std::mem::take(&mut self.stack);
        let mut fifo = Fifo::<V>::new();
        let mut turn = 0;
        loop {
            let entry = if let Some(popped) = stack.pop() {
                if V::FIFO == 0 {
                    popped
                } else {
                    self.prefetch(popped.reference());
                    let left = fifo.exchange(turn, popped);
                    turn += 1;
                    if left.reference().is_null() {
                        continue;
                    }
                    left
                }
            } else if let Some((left, next_turn)) = fifo.drain_one(turn) {
                turn = next_turn;
                left
            } else if let Some(refilled) = sharing.refill(stack) {
                stack = refilled;
                continue;
            } else {
                return;
            };
            self.visit(entry, &mut stack);
            if turn % OFFER_EVERY == 0 && sharing.wants(&stack) {
                stack = sharing.give(stack);
            }
        }
    }

    #[inline(always)]
    fn visit(&mut self, entry: V::Entry, stack: &mut MarkStack<V::Entry>) {
        let object = entry.reference().decode(self.base);
        // SAFETY: entries come from roots and slots, so this is an object
        // (invariant 2) with an atomic header (invariants 3 and 4).
        let word = unsafe { AtomicU64::from_ptr(object.cast()) };
        let found = word.load(Relaxed);
        let class = (found & header::CLASS_MASK) as u32;
        if V::COUNT_PAIRS {
            self.pairs.count(entry.source_class(), class);
        }
        if !self.claim(object, word, found) {
            return;
        }
        self.visits += 1;
        if V::COUNT_BLOCK_LIVE {
            let block = (object as usize - self.base as usize) / BLOCK_BYTES;
            // SAFETY: the object lies in one of the heap's blocks (invariant 1).
            let live = unsafe { self.heap.block_live.get_unchecked(block) };
            live.store(live.load(Relaxed) + 1, Relaxed);
        }
        match V::DESCRIBE {
            Describe::ClassTable => {
                // SAFETY: a header's class indexes the table (invariant 3).
                let descriptor = unsafe { *self.descriptors.get_unchecked(class as usize) };
                if descriptor.is_ref_array() {
                    self.scan_array(stack, object, class);
                } else {
                    if V::COUNT_BYTES {
                        self.bytes += descriptor.bytes();
                    }
                    self.scan_bitmap(stack, object, class, descriptor.bitmap());
                }
            }
            Describe::ClassTableCount => {
                // SAFETY: a header's class indexes the table (invariant 3).
                let descriptor = unsafe { *self.descriptors.get_unchecked(class as usize) };
                if descriptor.is_ref_array() {
                    self.scan_array(stack, object, class);
                } else {
                    stack.reserve(Descriptor::MAX_REFS);
                    let refs = descriptor.0.trailing_ones() as usize;
                    self.scan_consecutive(stack, object.wrapping_add(HEADER_BYTES), class, refs);
                }
            }
            Describe::Header => {
                let refs = found >> header::REFS_SHIFT & 0xFF;
                if refs == header::REFS_ARRAY {
                    self.scan_array(stack, object, class);
                } else {
                    stack.reserve(header::REFS_ARRAY as usize);
                    self.scan_consecutive(
                        stack,
                        object.wrapping_add(HEADER_BYTES),
                        class,
                        refs as usize,
                    );
                }
            }
        }
    }

    /// True when the object was unmarked and this marker has marked it.
    #[inline(always)]
    fn claim(&self, object: *mut u8, word: &AtomicU64, found: u64) -> bool {
        match V::MARK {
            MarkState::Epoch => {
                if found & header::EPOCH_MASK == self.epoch {
                    return false;
                }
                let marked = found & !header::EPOCH_MASK | self.epoch;
                match V::CLAIM {
                    Claim::Racy => {
                        word.store(marked, Relaxed);
                        true
                    }
                    Claim::Exact => word.swap(marked, Relaxed) & header::EPOCH_MASK != self.epoch,
                    // Only markers write headers now, so failure means "marked".
                    Claim::CompareExchange => word
                        .compare_exchange(found, marked, Relaxed, Relaxed)
                        .is_ok(),
                }
            }
            MarkState::Bitmap => {
                let granule = (object as usize - self.base as usize) / 8;
                // SAFETY: the bitmap has a bit for every granule of every block,
                // and the object lies in a block (invariant 1).
                let bits = unsafe { self.heap.mark_bitmap.get_unchecked(granule / 64) };
                let bit = 1 << (granule % 64);
                let seen = bits.load(Relaxed);
                if seen & bit != 0 {
                    return false;
                }
                match V::CLAIM {
                    Claim::Racy => {
                        bits.store(seen | bit, Relaxed);
                        true
                    }
                    Claim::Exact | Claim::CompareExchange => bits.fetch_or(bit, Relaxed) & bit == 0,
                }
            }
        }
    }

    #[inline(always)]
    fn scan_bitmap(
        &self,
        stack: &mut MarkStack<V::Entry>,
        object: *mut u8,
        class: u32,
        mut bitmap: u64,
    ) {
        stack.reserve(Descriptor::MAX_REFS);
        let words = object.wrapping_add(HEADER_BYTES).cast::<V::Ref>();
        while bitmap != 0 {
            let index = bitmap.trailing_zeros() as usize;
            bitmap &= bitmap - 1;
            // SAFETY: the descriptor names this word as a slot (invariant 3).
            let reference = unsafe { words.add(index).read() };
            self.push(stack, reference, class);
        }
    }

    #[inline(always)]
    fn scan_array(&mut self, stack: &mut MarkStack<V::Entry>, object: *mut u8, class: u32) {
        let length_word = object.wrapping_add(HEADER_BYTES);
        // SAFETY: a reference array has a length word as wide as a reference
        // after its header, whose low half is the length (invariant 3).
        let length = unsafe { length_word.cast::<u32>().read() } as usize;
        if V::COUNT_BYTES {
            self.bytes += crate::class::ref_array_bytes(length, V::Ref::BYTES);
        }
        stack.reserve(length);
        self.scan_consecutive(
            stack,
            length_word.wrapping_add(V::Ref::BYTES),
            class,
            length,
        );
    }

    /// Pushes `count` references from `first` on; the stack has room for them,
    /// and the object has that many slots there.
    #[inline(always)]
    fn scan_consecutive(
        &self,
        stack: &mut MarkStack<V::Entry>,
        first: *mut u8,
        class: u32,
        count: usize,
    ) {
        for index in 0..count {
            // SAFETY: the caller counted the slots as invariant 3 allows.
            let reference = unsafe { first.cast::<V::Ref>().add(index).read() };
            self.push(stack, reference, class);
        }
    }

    /// The scans above reserve room for each slot they offer.
    #[inline(always)]
    fn push(&self, stack: &mut MarkStack<V::Entry>, reference: V::Ref, class: u32) {
        let entry = V::Entry::new(reference, class);
        match V::PUSH {
            // SAFETY: see this function's doc.
            Push::Branchless => unsafe { stack.push_if(entry, !reference.is_null()) },
            Push::Branch => {
                if !reference.is_null() {
                    // SAFETY: see this function's doc.
                    unsafe { stack.push_if(entry, true) };
                }
            }
        }
    }

    #[inline(always)]
    fn prefetch(&self, reference: V::Ref) {
        let object = reference.decode(self.base);
        prefetch_line(object);
        let offset = object as usize - self.base as usize;
        match V::PREFETCH {
            Prefetch::Header => {}
            Prefetch::AndAhead(bytes) => prefetch_line(object.wrapping_add(bytes)),
            Prefetch::AndSecondIfCrossing => {
                // SAFETY: the object lies in one of the heap's blocks
                // (invariant 1).
                let cell =
                    unsafe { *self.heap.cell_bytes.get_unchecked(offset / BLOCK_BYTES) } as usize;
                if offset % LINE_BYTES + cell > LINE_BYTES {
                    prefetch_line(object.wrapping_add(LINE_BYTES));
                }
            }
        }
        if V::MARK == MarkState::Bitmap {
            prefetch_line(
                self.heap
                    .mark_bitmap
                    .as_ptr()
                    .wrapping_add(offset / 512)
                    .cast(),
            );
        }
    }
}

/// A ring of entries whose objects are on their way into the cache. Whose turn
/// it is stays with the caller, in a register.
struct Fifo<V: Variant> {
    ring: [V::Entry; LONGEST_FIFO],
}

impl<V: Variant> Fifo<V> {
    const MASK: usize = if V::FIFO == 0 { 0 } else { V::FIFO - 1 };

    fn new() -> Self {
        const { assert!(V::FIFO <= LONGEST_FIFO && (V::FIFO == 0 || V::FIFO.is_power_of_two())) };
        Fifo {
            ring: [V::Entry::NULL; LONGEST_FIFO],
        }
    }

    /// Puts `joining` in and takes the oldest out, which may be null.
    #[inline(always)]
    fn exchange(&mut self, turn: usize, joining: V::Entry) -> V::Entry {
        std::mem::replace(&mut self.ring[turn & Self::MASK], joining)
    }

    /// The oldest entry and the turn after it, when none are left to put in.
    #[inline(never)]
    fn drain_one(&mut self, turn: usize) -> Option<(V::Entry, usize)> {
        (turn..turn + V::FIFO).find_map(|turn| {
            let left = self.exchange(turn, V::Entry::NULL);
            (!left.reference().is_null()).then_some((left, turn + 1))
        })
    }
}

#[inline(always)]
fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is a hint without effect on memory.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
