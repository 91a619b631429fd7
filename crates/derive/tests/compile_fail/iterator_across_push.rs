use heaphound::collections::{GcVec, VecMut};
use heaphound::{Heap, managed};

#[managed]
struct Item {}

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let items = GcVec::new(&mut m).unwrap();
    let item = m.alloc(ItemInit {}).unwrap();
    for _ in m[items].iter() {
        items.push(&mut m, item).unwrap();
    }
}
