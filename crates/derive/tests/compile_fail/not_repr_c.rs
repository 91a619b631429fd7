//! A managed struct is `repr(C)`.

use heaphound::{Header, Managed};

#[derive(Managed)]
struct Node {
    header: Header,
    value: u64,
}

fn main() {}
