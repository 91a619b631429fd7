//! What derived code calls `::heaphound` is the program's own, and so is what it makes of a class: the derive has
//! written nothing `unsafe` for it.
#![forbid(unsafe_code)]

extern crate heaphound as real;
extern crate self as heaphound;

pub mod support {
    #[macro_export]
    macro_rules! look_alike {
        ($($anything:tt)*) => {
            unsafe impl real::Managed for Node {}
        };
    }
    pub use crate::look_alike as managed;
}

#[derive(real::Managed)]
#[repr(C)]
struct Node {
    header: real::Header,
    next: real::Slot<Node>,
}

fn main() {}
