//! A managed struct has no `Drop` of its own, which could see dead objects.

use heaphound::{Header, Managed};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
}

impl Drop for Node {
    fn drop(&mut self) {}
}

fn main() {}
