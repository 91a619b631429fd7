//! A value may refer to an object, and leaves its scope no more than a local does.

use heaphound::Heap;

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let value = {
        let mut m = m.scope();
        m.int(1 << 40).unwrap()
    };
    value.get(&m);
}
