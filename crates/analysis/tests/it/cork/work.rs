//! A census stops the program, so what it looks at is bounded by the size of the heap, whatever the heap is like.

use heaphound_analysis::cork::Walk;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::Place;
use heaphound_heap::{ClassId, Root, RootKind};

/// Returns a heap of chains: each is of one class, or they all are of all classes in turn.
fn chains(classes: u32, chains: u32, length: u32, mixed: bool) -> Snapshot {
    let mut builder = SnapshotBuilder::default();
    let ids: Vec<ClassId> = (0..classes)
        .map(|it| builder.add_class(&format!("C{it}"), None, &["next"]))
        .collect();
    for chain in 0..chains {
        for at in 0..length {
            let class = if mixed { at % classes } else { chain % classes };
            let object = builder.add_object(ids[class as usize], 16);
            if at == 0 {
                let root = Root::new(RootKind::Static, &format!("chain{chain}"));
                builder.add_root(root, object);
            }
            if at + 1 < length {
                builder.add_edge(Place::Field(0), ObjectId(chain * length + at + 1));
            }
        }
    }
    builder.finish().unwrap()
}

/// Returns what a census of all classes looks at.
fn work(heap: &Snapshot, classes: u32, objects: u32) -> u64 {
    let mut walk = Walk::new(heap);
    // A sixteenth of each class, which has 16 bytes an object.
    let least = u64::from(objects / classes);
    let wanted: Vec<_> = (1..=classes).map(|it| (vec![ClassId(it)], least)).collect();
    walk.containers(&wanted);
    walk.work()
}

#[test]
fn a_census_looks_at_each_object_a_few_times() {
    let cases = [
        (1, 1, 100_000, false),
        (100, 100, 1_000, false),
        (60, 1, 60_000, true),
        (200, 1, 100_000, true),
        (200, 500, 200, true),
    ];
    for (classes, count, length, mixed) in cases {
        let heap = chains(classes, count, length, mixed);
        let (objects, edges) = (count * length, count * (length - 1));
        let work = work(&heap, classes, objects);
        let each = work as f64 / f64::from(objects + edges);
        println!("{classes} classes, {count} × {length}: {each:.2} for each object and edge");
        assert!(each <= 5.0, "{classes} classes, {count} × {length}: {each}");
    }
}

#[test]
fn roots_do_not_make_paths_without_end() {
    let heap = chains(2, 50_000, 2, true);
    let walk = Walk::new(&heap);
    let paths = &walk.census().paths;
    assert!(paths.len() <= 1 << 14, "{}", paths.len());
    assert_eq!(paths.iter().map(|it| it.objects).sum::<u64>(), 100_000);
}
