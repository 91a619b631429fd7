//! Host variables that are missing, not used, bound twice, or nobody's.

use heaphound::{Header, Heap, Managed, Slot, deal};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    next: Slot<Node>,
}

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let list = m.alloc(NodeInit { next: None }).unwrap();
    let other = list;
    let _ = deal!(m, "forall Node x: reach[list](x) -> x.next != other.next", list);
    let _ = deal!(m, "forall Node x: reach[lst](x)", list);
    let _ = deal!(m, "forall Node list: list.next != Open", list);
    let _ = deal!(m, "forall Node x: reach[list](x)", list, list = other);
    let _ = deal!("forall Node x: reach[list](x)", list);
}
