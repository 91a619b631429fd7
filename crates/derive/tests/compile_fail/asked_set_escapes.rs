//! What was found in one stopped heap means nothing in the next.

use heaphound::{Header, Heap, Managed, Slot};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    next: Slot<Node>,
}

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let node = m.alloc(NodeInit { next: None }).unwrap();
    let reached = m.ask(|heap| heap.reach(heap.id(node).unwrap()));
    m.ask(|heap| reached.contains(heap.id(node).unwrap()));
}
