use heaphound::{Header, Managed, Slot, Str};

#[derive(Managed)]
#[repr(C)]
struct Owned {
    header: Header,
    #[managed(caption)]
    title: String,
}

#[derive(Managed)]
#[repr(C)]
struct Twice {
    header: Header,
    #[managed(caption)]
    title: Slot<Str>,
    #[managed(caption)]
    number: u32,
}

fn main() {}
