use heaphound::{Heap, Local, OutOfMemory, Slot, keep, managed};

#[managed]
struct Node {
    next: Slot<Node>,
}

fn main() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let mut escaped: Option<Local<'_, Node>> = None;
    m.scoped_with(|m| {
        let node = m.alloc(NodeInit { next: None })?;
        escaped = Some(node);
        Ok::<_, OutOfMemory>(keep(node))
    })
    .unwrap();
}
