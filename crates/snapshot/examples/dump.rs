//! How fast a dump is read: `cargo run --release --example dump -- app.hprof [values] [THREADS]`

use std::time::Instant;

use heaphound_snapshot::{Input, ReadOptions, read_input};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("the name of a dump");
    let rest: Vec<String> = arguments.collect();
    let mut options = ReadOptions {
        values: rest.iter().any(|it| it == "values"),
        ..ReadOptions::default()
    };
    if let Some(threads) = rest.iter().find_map(|it| it.parse().ok()) {
        options.threads = threads;
    }
    let start = Instant::now();
    let input = Input::open(file.as_ref(), u64::MAX).expect("it can be read");
    let heap = read_input(input, &file, &options, &mut |_, _| {});
    let heap = heap.unwrap_or_else(|error| panic!("{error}"));
    let seconds = start.elapsed().as_secs_f64();
    let (objects, edges, values) = heap.memory_bytes();
    println!(
        "{seconds:.3} s, {} objects, {} edges, {} roots, memory: objects {objects}, edges {edges}, values {values}, addresses {}",
        heap.len(),
        heap.edges(),
        heap.roots().len(),
        heap.addresses().memory_bytes()
    );
    for note in heap.notes() {
        println!("note: {note}");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|it| it.starts_with("VmHWM"));
    println!("{}", peak.unwrap_or_default());
}
