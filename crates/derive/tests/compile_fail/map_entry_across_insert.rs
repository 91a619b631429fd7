use heaphound::collections::{GcHashMap, MapMut};
use heaphound::{Heap, managed};

#[managed]
struct Item {}

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let map = GcHashMap::<u64, Item>::new(&mut m).unwrap();
    let item = m.alloc(ItemInit {}).unwrap();
    let found = m[map].get(&1);
    map.insert(&mut m, 2, item).unwrap();
    drop(found);
}
