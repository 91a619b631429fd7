use heaphound::collections::GcHashMap;
use heaphound::{Heap, managed};

#[managed]
struct Item {}

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    GcHashMap::<String, Item>::new(&mut m).unwrap();
}
