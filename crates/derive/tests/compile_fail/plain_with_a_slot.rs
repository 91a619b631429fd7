//! Plain data has no references in it: what is copied out of an object must not refer to others.

use heaphound::{Plain, Slot, managed};

#[managed]
struct Node {
    next: Slot<Node>,
}

#[derive(Clone, Copy, Plain)]
struct Pair {
    number: u32,
    next: Slot<Node>,
}

fn main() {}
