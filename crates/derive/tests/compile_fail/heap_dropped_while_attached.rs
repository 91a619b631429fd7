//! A heap outlives its mutators.

use heaphound::Heap;

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    drop(heap);
    m.collect();
}
