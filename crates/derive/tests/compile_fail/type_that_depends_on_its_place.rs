//! `Self` is `LiarInit` where the struct is built, and `Liar` where it is described: a slot would be plain data.

use heaphound::{Header, Managed, Slot};

#[derive(Managed)]
#[repr(C)]
pub struct Node {
    header: Header,
}

#[repr(C)]
pub struct Liar {
    header: Header,
    slot: Slot<Node>,
}

pub trait Lie {
    type Is;
}

impl Lie for Liar {
    type Is = u32;
}

impl<'managed> Lie for LiarInit<'managed> {
    type Is = Slot<Node>;
}

heaphound::support::managed! {
    docs: "", pub class: Liar, init: LiarInit,
    impls: [], types: [],
    bounds: [], above: [Any, Up, <Any, Up>], above_bounds: [],
    init_impls: [<'managed>], init_types: [<'managed>],
    name: "Liar", arguments: [],
    first: header, superclass: [], interfaces: [],
    caption: [],
    fields: [{ docs: [], pub name: slot, text: "slot", stored: itself, type: <Self as Lie>::Is }]
}

fn main() {}
