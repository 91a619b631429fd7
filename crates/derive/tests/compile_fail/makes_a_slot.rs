//! Nobody but the heap makes a slot.
use heaphound::{Header, Heap, Managed, Slot};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
    next: Slot<Node>,
}

fn main() {
    let _: Slot<Node> = Slot::default();
    let _: Slot<Node> = Slot::new(None);
}
