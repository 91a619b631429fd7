use heaphound::{Heap, Slot, managed};

#[managed]
struct Node {
    next: Slot<Node>,
}

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let node = m.alloc(NodeInit { next: None }).unwrap();
    m[node].next.set(0);
}
