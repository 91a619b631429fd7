//! What a weak handle gives is borrowed from the mutator.
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
    let weak = m.weak(&m[node]);
    let borrowed = weak.get(&m);
    m.collect();
    println!("{}", borrowed.is_some());
}
