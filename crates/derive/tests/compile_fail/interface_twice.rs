//! An interface is named once.

use heaphound::{Header, Interface, Managed};

#[derive(Interface)]
struct Closeable;

#[derive(Managed)]
#[managed(implements(Closeable, Closeable))]
#[repr(C)]
struct Stream {
    header: Header,
}

fn main() {}
