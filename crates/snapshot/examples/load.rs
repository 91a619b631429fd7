//! How fast heaps are written and read: `cargo run --release --example load -- 1000000`

use std::time::Instant;

use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::Place;
use heaphound_heap::{Root, RootKind};
use heaphound_snapshot::{read_binary, read_text, write_binary, write_text};

fn main() {
    let objects = std::env::args().nth(1).and_then(|it| it.parse().ok());
    let objects = objects.unwrap_or(1_000_000);
    let heap = heap(objects);
    println!("{objects} objects, {} edges", heap.edges());
    let mut text = Vec::new();
    let mut binary = Vec::new();
    let quiet = &mut |_, _| {};
    measure("write text", objects, || {
        text.clear();
        write_text(&heap, &mut text, quiet).expect("memory does not fail");
        text.len()
    });
    measure("read text", objects, || {
        read_text(&text, "text", quiet).expect("it was written so");
        text.len()
    });
    measure("write binary", objects, || {
        binary.clear();
        write_binary(&heap, &mut binary, quiet).expect("memory does not fail");
        binary.len()
    });
    measure("read binary", objects, || {
        read_binary(&binary, "binary", quiet).expect("it was written so");
        binary.len()
    });
    // What the aim says of a typical heap: 8 bytes an object and 4 an edge.
    let aim = 8 * objects as usize + 4 * heap.edges();
    println!(
        "binary: {} bytes, {:.2} of 8 an object and 4 an edge",
        binary.len(),
        binary.len() as f64 / aim as f64
    );
}

fn measure(what: &str, objects: u32, mut work: impl FnMut() -> usize) {
    let mut best = f64::MAX;
    let mut bytes = 0;
    for _ in 0..3 {
        let start = Instant::now();
        bytes = work();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let megabytes = bytes as f64 / 1e6;
    println!(
        "{what:13} {best:.3} s, {megabytes:.1} MB, {:.0} MB/s, {:.1} M objects/s",
        megabytes / best,
        objects as f64 / best / 1e6
    );
}

/// Nodes of a few classes, with a near target, and far ones all over the heap.
fn heap(objects: u32) -> Snapshot {
    let mut builder = SnapshotBuilder::default();
    let classes = [
        builder.add_class("Customer", None, &["name", "orders"]),
        builder.add_class("Order", None, &["customer", "next", "items"]),
        builder.add_class("java.util.HashMap$Node", None, &["key", "value", "next"]),
    ];
    let mut seed = 1u64;
    let mut random = |below: u32| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as u32
    };
    for id in 0..objects {
        let class = random(3) as usize;
        builder.add_object(classes[class], if class == 0 { 16 } else { 24 });
        let near = (id + 1 + random(100)) % objects;
        builder.add_edge(Place::Field(0), ObjectId(near));
        builder.add_edge(Place::Field(1), ObjectId(random(objects)));
        if class > 0 {
            builder.add_edge(Place::Field(2), ObjectId(random(objects)));
        }
    }
    builder.add_root(Root::new(RootKind::Static, "all"), ObjectId(0));
    builder.finish().expect("the heap is well formed")
}
