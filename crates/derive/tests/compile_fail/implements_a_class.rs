//! A class implements interfaces, not classes.

use heaphound::{Header, Managed};

#[derive(Managed)]
#[repr(C)]
struct Base {
    header: Header,
}

#[derive(Managed)]
#[managed(implements(Base))]
#[repr(C)]
struct Sub {
    header: Header,
}

fn main() {}
