//! Which object and reference layout should the heap have?
//!
//! Builds one logical graph in several layouts and times marking and sweeping
//! with each choice, interleaved in one run. Every trace is checked against a
//! slow twin. `cargo run --release [-- --quick]`.

mod cases;
mod class;
mod graph;
mod heap;
mod mark;
mod parallel;
mod points_from;
mod reference;
mod region;
mod report;
mod rng;
mod stack;
mod sweep;
mod variant;

use cases::{Heaps, Sample};
use class::{CLASS_COUNT, Classes};
use graph::Graph;
use heap::Heap;
use reference::Reference;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (live_objects, rounds) = if quick { (500_000, 3) } else { (5_000_000, 11) };

    let classes = Classes::generate();
    let graph = Graph::generate(&classes, live_objects);
    println!(
        "{} live objects, {:.2} edges each, {} dead objects, {CLASS_COUNT} classes; {rounds} rounds",
        graph.live_objects,
        graph.live_edges as f64 / graph.live_objects as f64,
        graph.objects() - graph.live_objects,
    );
    let mut heaps = Heaps::build(&graph, &classes);
    drop(graph);
    print_size("4-byte references", &heaps.narrow);
    print_size("4-byte, small pages", &heaps.narrow_small_pages);
    print_size("4-byte, refs first", &heaps.narrow_refs_first);
    print_size("8-byte references", &heaps.wide);
    print_size("8-byte, small pages", &heaps.wide_small_pages);

    let cases = cases::cases();
    let mut samples: Vec<Vec<Sample>> = cases.iter().map(|_| Vec::new()).collect();
    for round in 0..=rounds {
        // Every other round goes backwards, so that no case always follows the
        // same one.
        let mut order: Vec<usize> = (0..cases.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for case in order {
            let sample = (cases[case].run)(&mut heaps);
            // The first round warms up.
            if round > 0 {
                samples[case].push(sample);
            }
        }
    }
    let (full, empty) = heaps.narrow.full_and_empty_blocks();
    println!(
        "{full} full and {empty} empty blocks of {}",
        heaps.narrow.block_count
    );
    report::print(&cases, &samples, heaps.narrow.live_objects);
}

fn print_size<R: Reference>(name: &str, heap: &Heap<R>) {
    println!(
        "  {name:<22} {:>6.1} MiB of blocks, {:.1} bytes per object, {:>3.0}% in huge pages",
        heap.heap_bytes() as f64 / (1 << 20) as f64,
        heap.object_bytes as f64 / heap.objects as f64,
        100.0 * heap.huge_bytes() as f64 / heap.heap_bytes() as f64,
    );
}
