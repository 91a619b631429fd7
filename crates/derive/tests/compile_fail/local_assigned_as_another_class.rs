//! A local keeps its class: it cannot be assigned an object of another.

use heaphound::{Header, Heap, Managed};

#[derive(Managed)]
#[repr(C)]
struct Number {
    header: Header,
    value: u64,
}

#[derive(Managed)]
#[repr(C)]
struct Text {
    header: Header,
    text: String,
}

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let number = m.alloc(NumberInit { value: 1 }).unwrap();
    let text = m.alloc(TextInit { text: "".into() }).unwrap();
    m.set_local(text, m[number].as_object());
}
