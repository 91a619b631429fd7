use heaphound::{Heap, Value};

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let text = heaphound::LocalValue::from(m.alloc_str("text").unwrap());
    let Value::Object(object) = text.get(&m) else {
        return;
    };
    m.collect();
    object.class();
}
