//! What leaves a scope must not borrow from it.

use heaphound::{Heap, OutOfMemory, keep};

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let text = m.scoped_with(|m| {
        let text = m.alloc_str("text")?;
        Ok::<_, OutOfMemory>(keep(&m[text][..]))
    });
    let _ = text;
}
