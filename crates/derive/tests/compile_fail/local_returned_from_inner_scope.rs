//! `scoped` answers a local of its own scope, not of one inside it.
use heaphound::{Header, Heap, Managed, Slot};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
    next: Slot<Node>,
}

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let _ = m.scoped(|m| {
        let mut inner = m.scope();
        inner.alloc(NodeInit { value: 1, next: None })
    });
}
