//! Reads references, over and over, and prints nanoseconds a reading: the least of several
//! rounds for a list, a tree and an array. Built with and without the feature
//! `barrier`, it shows what the test for invalidated references costs; see
//! `benches/barrier.sh`.

use std::hint::black_box;
use std::time::Instant;

use heaphound::{Header, Heap, Local, Managed, Mutator, RefArray, Slot};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
    left: Slot<Node>,
    right: Slot<Node>,
}

/// Few enough objects that they stay in the cache, so that instructions count.
const NODES: usize = 1 << 12;
const ROUNDS: usize = 15;
const WALKS: usize = 400;

fn main() {
    let heap = Heap::builder().build().expect("memory");
    let mut m = heap.attach("main").expect("attached once");
    let (list, tree) = (list(&mut m), tree(&mut m, NODES.ilog2()));
    let array = array(&mut m);
    let time = |walk: &dyn Fn() -> u64| {
        let mut least = f64::MAX;
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            for _ in 0..WALKS {
                black_box(walk());
            }
            least = least.min(begin.elapsed().as_secs_f64());
        }
        least * 1e9 / (WALKS * NODES) as f64
    };
    let (list, tree, array) = (&m[list], &m[tree], &m[array]);
    println!(
        "list {:.4} tree {:.4} array {:.4}",
        time(&|| walk_list(list)),
        time(&|| walk_tree(tree)),
        time(&|| walk_array(array))
    );
}

fn node<'a>(m: &mut Mutator<'a>, left: Option<Local<'a, Node>>) -> Local<'a, Node> {
    m.alloc(NodeInit {
        value: 1,
        left,
        right: None,
    })
    .expect("memory")
}

fn list<'a>(m: &mut Mutator<'a>) -> Local<'a, Node> {
    let mut first = node(m, None);
    for _ in 1..NODES {
        first = node(m, Some(first));
    }
    first
}

fn tree<'a>(m: &mut Mutator<'a>, depth: u32) -> Local<'a, Node> {
    let top = node(m, None);
    if depth > 1 {
        for side in 0..2 {
            let below = tree(m, depth - 1);
            let slot = [&m[top].left, &m[top].right][side];
            slot.set(Some(&m[below]));
        }
    }
    top
}

fn array<'a>(m: &mut Mutator<'a>) -> Local<'a, RefArray<Node>> {
    let array = m.alloc_refs(NODES).expect("memory");
    for i in 0..NODES {
        let one = node(m, None);
        m[array][i].set(Some(&m[one]));
    }
    array
}

#[inline(never)]
fn walk_list(first: &Node) -> u64 {
    let (mut sum, mut next) = (0, Some(first));
    while let Some(node) = next {
        sum += node.value;
        next = node.left.get();
    }
    sum
}

#[inline(never)]
fn walk_tree(top: &Node) -> u64 {
    let below = [&top.left, &top.right];
    let sums = below.map(|slot| slot.get().map_or(0, walk_tree));
    top.value + sums[0] + sums[1]
}

#[inline(never)]
fn walk_array(array: &RefArray<Node>) -> u64 {
    let nodes = array.iter().filter_map(|slot| slot.get());
    nodes.map(|node| node.value).sum()
}
