//! While a scope is open, the one around it is not used.
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
    let mut scope = m.scope();
    m.alloc(NodeInit { value: 1, next: None }).unwrap();
    scope.alloc(NodeInit { value: 2, next: None }).unwrap();
}
