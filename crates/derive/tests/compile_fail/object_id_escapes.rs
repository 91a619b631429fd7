//! An object of the stopped heap is not remembered beyond it.

use heaphound::Heap;
use heaphound::view::live_objects;

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let _objects = m.inspect(|view| live_objects(view));
}
