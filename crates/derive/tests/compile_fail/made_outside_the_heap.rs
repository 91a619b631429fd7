//! Nobody but the heap makes a managed object.

use heaphound::{Header, Managed};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
}

fn main() {
    let _node = Node {
        header: Header::default(),
        value: 1,
    };
}
