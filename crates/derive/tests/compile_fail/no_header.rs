//! A managed struct begins with a header.

use heaphound::Managed;

#[derive(Managed)]
#[repr(C)]
struct Node {
    value: u64,
    other: u64,
}

fn main() {}
