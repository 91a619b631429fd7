//! An interface has no fields and no parameters.

use heaphound::Interface;

#[derive(Interface)]
struct Closeable {
    open: bool,
}

#[derive(Interface)]
struct Comparable<T>;

#[derive(Interface)]
#[interface(implements(Closeable))]
struct Serializable;

fn main() {}
