use heaphound::{Slot, managed};

#[managed]
#[repr(C)]
struct Node {
    next: Slot<Node>,
}

fn main() {}
