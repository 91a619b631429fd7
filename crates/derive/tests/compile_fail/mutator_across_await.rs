//! A future that holds a mutator across an `.await` cannot move between threads.

use heaphound::Heap;

fn needs_send(_: impl Future + Send) {}

fn main() {
    let heap = Heap::builder().build().unwrap();
    needs_send(async {
        let mut m = heap.attach("main").unwrap();
        std::future::ready(()).await;
        m.collect();
    });
}
