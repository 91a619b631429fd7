//! GCBench: trees of many sizes, most of which die soon, beside one that lives.
//!
//! After the benchmark of John Ellis, Pete Kovac and Hans Boehm. Checks: what a round allocates is dead when it ends,
//! and the tree that lives keeps its shape.

use heaphound::{
    Collector, Heap, Local, Mutator, OutOfMemory, PlainArray, Rules, Slot, Var, managed, testing,
};

const LONG_LIVED_DEPTH: u32 = 16;
const ARRAY: usize = 500_000;
const DEPTHS: std::ops::RangeInclusive<u32> = 4..=16;

#[managed]
struct Node {
    left: Slot<Node>,
    right: Slot<Node>,
    i: Var<u32>,
    j: Var<u32>,
}

fn node<'a>(
    m: &mut Mutator<'a>,
    left: Option<Local<'a, Node>>,
    right: Option<Local<'a, Node>>,
) -> Result<Local<'a, Node>, OutOfMemory> {
    m.alloc(NodeInit {
        left,
        right,
        i: 0,
        j: 0,
    })
}

/// Builds a tree from its leaves.
fn bottom_up<'a>(m: &mut Mutator<'a>, depth: u32) -> Result<Local<'a, Node>, OutOfMemory> {
    m.scoped(|m| {
        if depth == 0 {
            return node(m, None, None);
        }
        let left = bottom_up(m, depth - 1)?;
        let right = bottom_up(m, depth - 1)?;
        node(m, Some(left), Some(right))
    })
}

/// Builds a tree from its root, writing into what may be old by then.
fn top_down(m: &mut Mutator<'_>, depth: u32, root: Local<'_, Node>) -> Result<(), OutOfMemory> {
    if depth == 0 {
        return Ok(());
    }
    let mut m = m.scope();
    let (left, right) = (node(&mut m, None, None)?, node(&mut m, None, None)?);
    m[root].left.set(&m[left]);
    m[root].right.set(&m[right]);
    top_down(&mut m, depth - 1, left)?;
    top_down(&mut m, depth - 1, right)
}

fn size(depth: u32) -> usize {
    (1 << (depth + 1)) - 1
}

/// Builds trees of one depth, each way, until as many nodes were made as for every other depth.
fn trees(m: &mut Mutator<'_>, depth: u32) -> Result<usize, OutOfMemory> {
    let times = 2 * size(*DEPTHS.end()) / size(depth);
    for _ in 0..times {
        let mut m = m.scope();
        let root = node(&mut m, None, None)?;
        top_down(&mut m, depth, root)?;
        bottom_up(&mut m, depth)?;
    }
    Ok(times)
}

/// Runs the benchmark. Returns the number of trees.
pub fn run(m: &mut Mutator<'_>) -> Result<usize, OutOfMemory> {
    let mut m = m.scope();
    let lives = node(&mut m, None, None)?;
    top_down(&mut m, LONG_LIVED_DEPTH, lives)?;
    let array: Local<'_, PlainArray<f64>> = m.alloc_plain(ARRAY, 0.0)?;
    for at in 1..ARRAY / 2 {
        m[array][at].set(1.0 / at as f64);
    }
    let mut count = 0;
    for depth in DEPTHS.step_by(2) {
        count += 2 * trees(&mut m, depth)?;
    }
    assert!(m[lives].left.get().is_some() && m[array][1000].get() == 0.001);
    Ok(count)
}

#[allow(dead_code)] // Not in the benchmark.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let heap = Heap::builder().collector(collector).build()?;
        let mut m = heap.attach("main")?;
        let count = run(&mut m)?;
        // Nothing of a round is left.
        testing::assert_no_leaks(&mut m, |m| trees(m, 8).expect("room"));
        let lives = bottom_up(&mut m, 10)?;
        let shape = "assertion(forall Node x: (x.left == null) <-> (x.right == null));";
        let findings = Rules::new(shape).check(&mut m)?;
        assert!(findings.is_empty() && m[lives].left.get().is_some());
        let stats = heap.stats();
        let (full, nursery) = (stats.full_collections, stats.nursery_collections);
        println!("{collector:?}: {count} trees, {full} full and {nursery} nursery collections");
    }
    Ok(())
}
