//! A mutator stays on its thread.

use heaphound::Heap;

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || m.collect());
    });
}
