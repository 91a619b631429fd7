//! The README's first way in: a heap in a program, and what it says when a promise is broken.

use heaphound::{Growth, Heap, Slot, managed};

#[managed]
struct Node {
    value: u64,
    next: Slot<Node>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let heap = Heap::builder().max_bytes(64 << 20).pruning(true).build()?;
    let _watch = Growth::new().register(&heap, None); // tells what grows, by itself
    let mut m = heap.attach("main")?;
    let last = m.alloc(NodeInit {
        value: 2,
        next: None,
    })?;
    let first = m.alloc(NodeInit {
        value: 1,
        next: Some(last),
    })?;
    m[last].next.set(first); // A ring: no trouble for a collector.

    m.assert_dead(last); // "nothing leads to it any more": not true
    m.collect(); // prints the finding, with the path that proves it
    assert_eq!(m[first].next.get().unwrap().value, 2);
    assert_eq!(heap.findings().len(), 1);
    Ok(())
}
