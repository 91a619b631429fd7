//! What is measured: each question, and the variants that answer it.
//!
//! The first case of a question is what its other cases are compared with.

use std::time::{Duration, Instant};

use crate::class::{Classes, FieldOrder};
use crate::graph::Graph;
use crate::heap::Heap;
use crate::mark::{Alone, Marker};
use crate::parallel::mark_together;
use crate::reference::{Bare, Entry, Padded, Ref4, Ref4Tagged, Ref8, Sourced};
use crate::stack::MarkStack;
use crate::sweep::{Swept, Walk, sweep};
use crate::variant;
use crate::variant::{Claim, Describe, MarkState, Prefetch, Push, Variant};

pub struct Case {
    pub question: &'static str,
    pub name: &'static str,
    pub run: fn(&mut Heaps) -> Sample,
}

pub struct Sample {
    pub mark: Duration,
    pub sweep: Option<Duration>,
    /// Visits beyond one per live object.
    pub duplicates: usize,
}

/// The same graph, laid out in each way that a case needs.
pub struct Heaps {
    pub narrow: Heap<Ref4>,
    pub narrow_small_pages: Heap<Ref4>,
    pub narrow_refs_first: Heap<Ref4>,
    pub tagged: Heap<Ref4Tagged>,
    pub wide: Heap<Ref8>,
    pub wide_small_pages: Heap<Ref8>,
}

impl Heaps {
    pub fn build(graph: &Graph, classes: &Classes) -> Self {
        use FieldOrder::{Mixed, RefsFirst};
        let placement = &graph.placement();
        Heaps {
            narrow: Heap::build(graph, placement, classes, Mixed, true),
            narrow_small_pages: Heap::build(graph, placement, classes, Mixed, false),
            narrow_refs_first: Heap::build(graph, placement, classes, RefsFirst, true),
            tagged: Heap::build(graph, placement, classes, Mixed, true),
            wide: Heap::build(graph, placement, classes, Mixed, true),
            wide_small_pages: Heap::build(graph, placement, classes, Mixed, false),
        }
    }
}

variant!(Narrow: Ref4, Bare<Ref4>, {});
variant!(Tagged: Ref4Tagged, Bare<Ref4Tagged>, {});
variant!(Wide: Ref8, Bare<Ref8>, {});
variant!(NarrowBranch: Ref4, Bare<Ref4>, { PUSH: Push = Push::Branch });
variant!(Fifo0: Ref4, Bare<Ref4>, { FIFO: usize = 0 });
variant!(Fifo8: Ref4, Bare<Ref4>, { FIFO: usize = 8 });
variant!(Fifo32: Ref4, Bare<Ref4>, { FIFO: usize = 32 });
variant!(Fifo64: Ref4, Bare<Ref4>, { FIFO: usize = 64 });
variant!(Wide0: Ref8, Bare<Ref8>, { FIFO: usize = 0 });
variant!(Wide32: Ref8, Bare<Ref8>, { FIFO: usize = 32 });
variant!(Header8: Ref4, Bare<Ref4>, { FIFO: usize = 8, PREFETCH: Prefetch = Prefetch::Header });
variant!(Header16: Ref4, Bare<Ref4>, { PREFETCH: Prefetch = Prefetch::Header });
variant!(Header32: Ref4, Bare<Ref4>, { FIFO: usize = 32, PREFETCH: Prefetch = Prefetch::Header });
variant!(Header64: Ref4, Bare<Ref4>, { FIFO: usize = 64, PREFETCH: Prefetch = Prefetch::Header });
variant!(Ahead64: Ref4, Bare<Ref4>, { PREFETCH: Prefetch = Prefetch::AndAhead(64) });
variant!(SecondIfCrossing: Ref4, Bare<Ref4>, { PREFETCH: Prefetch = Prefetch::AndSecondIfCrossing });
variant!(WideHeader16: Ref8, Bare<Ref8>, { PREFETCH: Prefetch = Prefetch::Header });
variant!(SmallStack: Ref4, Bare<Ref4>, { HUGE_STACK: bool = false });
variant!(WideSmallStack: Ref8, Bare<Ref8>, { HUGE_STACK: bool = false });
variant!(Bitmap: Ref4, Bare<Ref4>, { MARK: MarkState = MarkState::Bitmap });
variant!(Swap: Ref4, Bare<Ref4>, { CLAIM: Claim = Claim::Exact });
variant!(CompareExchange: Ref4, Bare<Ref4>, { CLAIM: Claim = Claim::CompareExchange });
variant!(BitmapFetchOr: Ref4, Bare<Ref4>, { MARK: MarkState = MarkState::Bitmap, CLAIM: Claim = Claim::Exact });
variant!(TableCount: Ref4, Bare<Ref4>, { DESCRIBE: Describe = Describe::ClassTableCount });
variant!(HeaderCount: Ref4, Bare<Ref4>, { DESCRIBE: Describe = Describe::Header });
variant!(CountBytes: Ref4, Bare<Ref4>, { COUNT_BYTES: bool = true });
variant!(CountBlockLive: Ref4, Bare<Ref4>, { COUNT_BLOCK_LIVE: bool = true });
variant!(CountBoth: Ref4, Bare<Ref4>, { COUNT_BYTES: bool = true, COUNT_BLOCK_LIVE: bool = true });
variant!(WideEntry: Ref4, Padded, {});
variant!(Carried: Ref4, Sourced, {});
variant!(Pairs: Ref4, Sourced, { COUNT_PAIRS: bool = true });
variant!(WideCarried: Ref8, Sourced, {});
variant!(WidePairs: Ref8, Sourced, { COUNT_PAIRS: bool = true });

type Row = (&'static str, fn(&mut Heaps) -> Sample);

pub fn cases() -> Vec<Case> {
    use Walk::{EveryBlock, MixedBlocks};
    let groups: [(&'static str, &[Row]); 9] = [
        (
            "1 reference width (FIFO 16, huge pages)",
            &[
                ("4-byte references", |h| {
                    mark_and_sweep::<Narrow>(&mut h.narrow, EveryBlock)
                }),
                ("8-byte references", |h| {
                    mark_and_sweep::<Wide>(&mut h.wide, EveryBlock)
                }),
                ("4-byte, low 2 bits tags", |h| {
                    mark_and_sweep::<Tagged>(&mut h.tagged, EveryBlock)
                }),
                ("4-byte, branch on null", |h| {
                    mark::<NarrowBranch>(&mut h.narrow)
                }),
            ],
        ),
        (
            "2 FIFO and prefetch (4-byte unless said)",
            &[
                ("FIFO 16, header and 32 bytes on", |h| {
                    mark::<Narrow>(&mut h.narrow)
                }),
                ("FIFO 0, no prefetch", |h| mark::<Fifo0>(&mut h.narrow)),
                ("FIFO 8, header and 32 on", |h| mark::<Fifo8>(&mut h.narrow)),
                ("FIFO 32, header and 32 on", |h| {
                    mark::<Fifo32>(&mut h.narrow)
                }),
                ("FIFO 64, header and 32 on", |h| {
                    mark::<Fifo64>(&mut h.narrow)
                }),
                ("FIFO 16, header and 64 on", |h| {
                    mark::<Ahead64>(&mut h.narrow)
                }),
                ("FIFO 16, 2nd line if crossing", |h| {
                    mark::<SecondIfCrossing>(&mut h.narrow)
                }),
                ("FIFO 8, header line only", |h| {
                    mark::<Header8>(&mut h.narrow)
                }),
                ("FIFO 16, header line only", |h| {
                    mark::<Header16>(&mut h.narrow)
                }),
                ("FIFO 32, header line only", |h| {
                    mark::<Header32>(&mut h.narrow)
                }),
                ("FIFO 64, header line only", |h| {
                    mark::<Header64>(&mut h.narrow)
                }),
                ("8-byte, FIFO 0", |h| mark::<Wide0>(&mut h.wide)),
                ("8-byte, FIFO 16", |h| mark::<Wide>(&mut h.wide)),
                ("8-byte, FIFO 32", |h| mark::<Wide32>(&mut h.wide)),
                ("8-byte, FIFO 16, header line only", |h| {
                    mark::<WideHeader16>(&mut h.wide)
                }),
            ],
        ),
        (
            "3 huge pages (stack in huge pages unless said)",
            &[
                ("4-byte, huge", |h| {
                    mark_and_sweep::<Narrow>(&mut h.narrow, EveryBlock)
                }),
                ("4-byte, small", |h| {
                    mark_and_sweep::<Narrow>(&mut h.narrow_small_pages, EveryBlock)
                }),
                ("8-byte, huge", |h| {
                    mark_and_sweep::<Wide>(&mut h.wide, EveryBlock)
                }),
                ("8-byte, small", |h| {
                    mark_and_sweep::<Wide>(&mut h.wide_small_pages, EveryBlock)
                }),
                ("4-byte, huge, stack small", |h| {
                    mark::<SmallStack>(&mut h.narrow)
                }),
                ("4-byte, small, stack small", |h| {
                    mark::<SmallStack>(&mut h.narrow_small_pages)
                }),
                ("8-byte, huge, stack small", |h| {
                    mark::<WideSmallStack>(&mut h.wide)
                }),
                ("8-byte, small, stack small", |h| {
                    mark::<WideSmallStack>(&mut h.wide_small_pages)
                }),
                ("4-byte, small, FIFO 0", |h| {
                    mark::<Fifo0>(&mut h.narrow_small_pages)
                }),
                ("4-byte, small, FIFO 32", |h| {
                    mark::<Fifo32>(&mut h.narrow_small_pages)
                }),
                ("4-byte, small, FIFO 64", |h| {
                    mark::<Fifo64>(&mut h.narrow_small_pages)
                }),
            ],
        ),
        (
            "4 mark state",
            &[
                ("epoch in header", |h| {
                    mark_and_sweep::<Narrow>(&mut h.narrow, EveryBlock)
                }),
                ("side bitmap (with clearing)", |h| {
                    mark_and_sweep::<Bitmap>(&mut h.narrow, EveryBlock)
                }),
            ],
        ),
        (
            "5 two threads",
            &[
                ("1 thread, load+store", |h| mark::<Narrow>(&mut h.narrow)),
                ("1 thread, swap", |h| mark::<Swap>(&mut h.narrow)),
                ("2 threads, load+store", |h| {
                    mark_with_two::<Narrow>(&mut h.narrow)
                }),
                ("2 threads, swap", |h| mark_with_two::<Swap>(&mut h.narrow)),
                ("2 threads, compare_exchange", |h| {
                    mark_with_two::<CompareExchange>(&mut h.narrow)
                }),
                ("2 threads, bitmap fetch_or", |h| {
                    mark_with_two::<BitmapFetchOr>(&mut h.narrow)
                }),
            ],
        ),
        (
            "6 descriptor",
            &[
                ("class table, mixed fields", |h| {
                    mark::<Narrow>(&mut h.narrow)
                }),
                ("class table, refs first", |h| {
                    mark::<Narrow>(&mut h.narrow_refs_first)
                }),
                ("count in class table, refs first", |h| {
                    mark::<TableCount>(&mut h.narrow_refs_first)
                }),
                ("count in header, refs first", |h| {
                    mark::<HeaderCount>(&mut h.narrow_refs_first)
                }),
            ],
        ),
        (
            "7 counting while marking",
            &[
                ("nothing; sweep every block", |h| {
                    mark_and_sweep::<Narrow>(&mut h.narrow, EveryBlock)
                }),
                ("marked bytes", |h| mark::<CountBytes>(&mut h.narrow)),
                ("live per block; skip full/empty", |h| {
                    mark_and_sweep::<CountBlockLive>(&mut h.narrow, MixedBlocks)
                }),
                ("both; skip full/empty", |h| {
                    mark_and_sweep::<CountBoth>(&mut h.narrow, MixedBlocks)
                }),
            ],
        ),
        (
            "8 class pairs, 4-byte",
            &[
                ("idle", |h| mark::<Narrow>(&mut h.narrow)),
                ("8-byte entry, no class", |h| {
                    mark::<WideEntry>(&mut h.narrow)
                }),
                ("source class carried, unused", |h| {
                    mark::<Carried>(&mut h.narrow)
                }),
                ("pairs counted at dequeue", |h| mark::<Pairs>(&mut h.narrow)),
            ],
        ),
        (
            "8 class pairs, 8-byte",
            &[
                ("idle", |h| mark::<Wide>(&mut h.wide)),
                ("source class carried, unused", |h| {
                    mark::<WideCarried>(&mut h.wide)
                }),
                ("pairs counted at dequeue", |h| {
                    mark::<WidePairs>(&mut h.wide)
                }),
            ],
        ),
    ];
    let mut cases = Vec::new();
    for (question, rows) in groups {
        cases.extend(rows.iter().map(|&(name, run)| Case {
            question,
            name,
            run,
        }));
    }
    cases
}

/// More than the depth that the full-size graph reaches.
const STACK_ENTRIES: usize = 6 << 20;

fn warm_stack<V: Variant>() -> MarkStack<V::Entry> {
    MarkStack::warm(STACK_ENTRIES, V::Entry::NULL, V::HUGE_STACK)
}

fn mark<V: Variant>(heap: &mut Heap<V::Ref>) -> Sample {
    let stack = warm_stack::<V>();
    let start = Instant::now();
    prepare::<V>(heap);
    let mut marker = Marker::<V>::new(heap, stack);
    marker.push_roots();
    marker.run(&Alone);
    let mark = start.elapsed();
    check(&[marker]);
    Sample {
        mark,
        sweep: None,
        duplicates: 0,
    }
}

fn mark_and_sweep<V: Variant>(heap: &mut Heap<V::Ref>, walk: Walk) -> Sample {
    let marked = mark::<V>(heap);
    let start = Instant::now();
    let Swept { live_cells, .. } = sweep(heap, V::MARK, walk);
    let sweep = start.elapsed();
    assert_eq!(
        live_cells, heap.live_objects,
        "the sweep found other objects live than the trace"
    );
    Sample {
        sweep: Some(sweep),
        ..marked
    }
}

fn mark_with_two<V: Variant>(heap: &mut Heap<V::Ref>) -> Sample {
    let stacks = [warm_stack::<V>(), warm_stack::<V>()];
    let start = Instant::now();
    prepare::<V>(heap);
    let mut markers = stacks.map(|stack| Marker::<V>::new(heap, stack));
    markers[0].push_roots();
    mark_together(&mut markers);
    let mark = start.elapsed();
    let duplicates = check(&markers);
    Sample {
        mark,
        sweep: None,
        duplicates,
    }
}

/// Unmarks everything, in the way the variant marks.
fn prepare<V: Variant>(heap: &mut Heap<V::Ref>) {
    match V::MARK {
        MarkState::Epoch => heap.advance_epoch(),
        MarkState::Bitmap => heap.clear_bitmap(),
    }
    if V::COUNT_BLOCK_LIVE {
        heap.clear_block_live();
    }
}

/// Compares with the slow twin's count, and returns the duplicate visits.
fn check<V: Variant>(markers: &[Marker<'_, V>]) -> usize {
    let visits: usize = markers.iter().map(|marker| marker.visits).sum();
    let heap = markers[0].heap;
    let racing = markers.len() > 1 && V::CLAIM == Claim::Racy;
    assert!(
        visits == heap.live_objects || racing && visits > heap.live_objects,
        "{visits} visits"
    );
    if V::COUNT_PAIRS {
        let pairs: usize = markers.iter().map(|marker| marker.pairs.edges()).sum();
        assert_eq!(pairs, heap.live_edges + heap.roots.len());
    }
    if V::COUNT_BYTES {
        let bytes: usize = markers.iter().map(|marker| marker.bytes).sum();
        assert_eq!(bytes, heap.live_bytes);
    }
    visits - heap.live_objects
}
