//! Plain data that changes is a `Var`, not a `Cell`.

use heaphound::{Header, Managed};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: std::cell::Cell<u32>,
}

fn main() {}
