//! The superclass comes first.

use heaphound::{Header, Managed};

#[derive(Managed)]
#[repr(C)]
struct Base {
    header: Header,
    value: u64,
}

#[derive(Managed)]
#[repr(C)]
struct Sub {
    header: Header,
    #[managed(superclass)]
    base: Base,
}

fn main() {}
