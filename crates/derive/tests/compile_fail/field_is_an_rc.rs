//! Owned memory is `Send` and `Sync`.

use std::rc::Rc;

use heaphound::{Header, Managed};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    #[managed(owned)]
    value: Rc<u32>,
}

fn main() {}
