//! How long dominators and retained sizes take on a large heap, and how much memory: a table of
//! strings, a linked list, a tree and an index that shares the strings, as in a Java program.
//!
//! `cargo run --release -p heaphound-analysis --example dominators [millions of objects] [rounds]`

use std::time::Instant;

use heaphound_analysis::dominator::{DominatorTree, Dominators};
use heaphound_analysis::retained::least_by_class;
use heaphound_heap::snapshot::{Columns, ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::HeapView;
use heaphound_heap::{ClassId, Root, RootKind};

fn main() {
    let mut args = std::env::args().skip(1);
    let mut number = |usual: usize| match args.next() {
        Some(text) => text.parse().expect("a whole number is wanted"),
        None => usual,
    };
    let (millions, rounds) = (number(5), number(5));
    let heap = program(millions * 1_000_000);
    println!(
        "{} objects, {} edges, {} MB resident",
        heap.len(),
        heap.edges(),
        resident_mb()
    );
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    for threads in [1, threads] {
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..rounds {
            let start = Instant::now();
            let dominators = Dominators::of(&heap, threads).unwrap();
            times.push(start.elapsed().as_secs_f64() * 1e3);
            assert_eq!(dominators.reached(), heap.len());
        }
        times.sort_by(f64::total_cmp);
        println!(
            "dominators and retained sizes, {threads} threads: {:.0} ms (median of {rounds}, from {:.0})",
            times[rounds / 2],
            times[0]
        );
    }
    let dominators = Dominators::of(&heap, threads).unwrap();
    let start = Instant::now();
    let tree = DominatorTree::of(&dominators);
    let by_class = least_by_class(&heap, &tree, threads);
    let ms = start.elapsed().as_secs_f64() * 1e3;
    println!("the tree and what classes retain: {ms:.0} ms");
    for (class, of_class) in heap.classes().iter().zip(by_class) {
        let bytes = of_class.retained_bytes;
        println!("  {:<12} {bytes:>12}", class.name);
    }
    println!("at most {} MB resident", most_resident_mb());
}

/// A heap of about that many objects.
fn program(objects: usize) -> Snapshot {
    let mut builder = SnapshotBuilder::default();
    let string = builder.add_class("String", None, &["value"]);
    let entry = builder.add_class("Entry", None, &["key", "value", "next"]);
    let item = builder.add_class("Item", None, &["value", "next", "prev"]);
    let branch = builder.add_class("Branch", None, &["left", "right", "parent", "name"]);
    let bytes = builder.add_class("byte[]", None, &[]);
    let table = builder.add_array_class("Object[]");
    let map = builder.add_class("Map", None, &["table"]);
    let classes = builder
        .finish()
        .expect("there are only classes")
        .classes()
        .to_vec();
    let mut heap = Heap {
        columns: Columns {
            classes,
            ..Columns::default()
        },
        seed: 1,
    };
    // Of ten objects, six are of the table (entry, key, its bytes, value, its bytes, and one of the
    // index), two of the list, two of the tree.
    let tenth = objects as u32 / 10;
    heap.object(map, &[1]);
    let first_entry = 2;
    let all: Vec<u32> = (0..tenth).map(|nth| first_entry + 5 * nth).collect();
    heap.object(table, &all);
    for nth in 0..tenth {
        let at = first_entry + 5 * nth;
        // Some are in a chain.
        let next = match nth % 4 {
            0 => Some(at + 5).filter(|_| nth + 1 < tenth),
            _ => None,
        };
        let mut targets = vec![at + 1, at + 3];
        targets.extend(next);
        heap.object(entry, &targets);
        heap.object(string, &[at + 2]);
        heap.object(bytes, &[]);
        heap.object(string, &[at + 4]);
        heap.object(bytes, &[]);
    }
    let keys: Vec<u32> = all.iter().map(|entry| entry + 1).collect();
    let index = heap.object(table, &keys);
    let mut random = Vec::new();
    for _ in 0..tenth {
        random.push(heap.pick(&keys));
    }
    let list = heap.columns.class_of.len() as u32;
    let items = 3 * tenth;
    for nth in 0..items {
        let at = list + nth;
        let next = (nth + 1 < items).then_some(at + 1);
        let previous = nth.checked_sub(1).map(|_| at - 1);
        let value = random[nth as usize % random.len()];
        let targets = [Some(value), next, previous].into_iter().flatten();
        heap.object(item, &targets.collect::<Vec<_>>());
    }
    let tree = heap.columns.class_of.len() as u32;
    let branches = 2 * tenth;
    for nth in 0..branches {
        let below = [2 * nth + 1, 2 * nth + 2];
        let mut targets: Vec<u32> = below.into_iter().filter(|&it| it < branches).collect();
        targets.iter_mut().for_each(|it| *it += tree);
        targets.extend((nth > 0).then(|| tree + (nth - 1) / 2));
        targets.push(random[(nth as usize * 7) % random.len()]);
        heap.object(branch, &targets);
    }
    for (name, object) in [("map", 0), ("index", index), ("list", list), ("tree", tree)] {
        let root = Root::new(RootKind::Static, name);
        heap.columns.roots.push((root, ObjectId(object)));
    }
    heap.columns.finish().expect("it fits together")
}

struct Heap {
    columns: Columns,
    seed: u64,
}

impl Heap {
    /// Adds an object whose first slots or elements refer to these.
    fn object(&mut self, class: ClassId, targets: &[u32]) -> u32 {
        let id = self.columns.push_object(class, 24 + 4 * targets.len());
        for (nth, &to) in targets.iter().enumerate() {
            self.columns.push_edge((nth > 0) as u32, to);
        }
        id.0
    }

    /// Returns one of some numbers.
    fn pick(&mut self, all: &[u32]) -> u32 {
        // Xorshift: repeatable, and no library is needed.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        all[self.seed as usize % all.len()]
    }
}

fn resident_mb() -> u64 {
    status("VmRSS:")
}

fn most_resident_mb() -> u64 {
    status("VmHWM:")
}

/// Returns a line of what the kernel knows of this process, in MB; 0 where there is no such file.
fn status(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|it| it.strip_prefix(line));
    let kb = found.and_then(|it| it.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kb.unwrap_or(0) / 1000
}
