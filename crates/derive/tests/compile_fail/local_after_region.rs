//! A local is not used after its region.
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
    let node;
    {
        let mut region = m.region();
        node = region.alloc(NodeInit { value: 1, next: None }).unwrap();
    }
    println!("{}", m[node].value);
}
