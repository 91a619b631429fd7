//! A borrowed reference is not held across a safepoint.
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
    let node = m.alloc(NodeInit { value: 1, next: None }).unwrap();
    let borrowed = &m[node];
    m.safepoint();
    println!("{}", borrowed.value);
}
