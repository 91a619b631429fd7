//! What a heap says about itself: statistics, and where memory went.
//!
//! Elsewhere: what it tells the log (`../log.rs`).

use std::sync::Barrier;

use heaphound::{Collector, Header, Heap, Managed, Mutator, Slot, stats::Kind};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
    next: Slot<Node>,
}

fn list<'a>(m: &mut Mutator<'a>, len: u64) -> heaphound::Local<'a, Node> {
    m.scoped(|m| {
        let mut head = m.alloc(NodeInit {
            value: 0,
            next: None,
        })?;
        for value in 1..len {
            let next = Some(head);
            head = m.alloc(NodeInit { value, next })?;
        }
        Ok::<_, heaphound::OutOfMemory>(head)
    })
    .unwrap()
}

#[test]
fn a_blocked_mutator_stalls_nobody() {
    let heap = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let both = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut m = heap.attach("blocked").unwrap();
            m.blocked(|| {
                both.wait();
                both.wait();
            });
        });
        let mut m = heap.attach("main").unwrap();
        m.blocked(|| both.wait());
        m.collect();
        m.blocked(|| both.wait());
    });
    assert_eq!(heap.stats().full_collections, 1);
}

#[test]
fn statistics_add_up() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let heap = Heap::builder()
            .max_bytes(64 << 20)
            .initial_bytes(1 << 20)
            .nursery_bytes(256 << 10)
            .collector(collector)
            .build()
            .unwrap();
        let mut m = heap.attach("main").unwrap();
        let kept = list(&mut m, 1000);
        for _ in 0..300 {
            let mut m = m.scope();
            list(&mut m, 1000);
        }
        m.collect();
        assert_eq!(m[kept].value, 999);
        let stats = heap.stats();
        let all = &stats.history;
        let of = |kind| all.iter().filter(|it| it.kind == kind).count() as u64;
        assert_eq!(of(Kind::Full), stats.full_collections);
        assert_eq!(of(Kind::Nursery), stats.nursery_collections);
        assert!(all.len() >= 5, "{}", all.len());
        assert_eq!(stats.total_pause, all.iter().map(|it| it.pause).sum());
        assert_eq!(
            stats.longest_pause,
            all.iter().map(|it| it.pause).max().unwrap()
        );
        for (i, it) in all.iter().enumerate() {
            assert_eq!(it.number, i as u64 + 1);
            assert!(it.pause >= it.time_to_safepoint, "{it}");
            assert!(it.used_bytes <= it.heap_bytes, "{it}");
            assert!(it.marked_bytes <= it.heap_bytes, "{it}");
        }
        let allocated: Vec<_> = all.iter().map(|it| it.allocated_bytes).collect();
        assert!(allocated.is_sorted(), "{allocated:?}");
        let last = all.back().unwrap();
        assert_eq!(last.marked_objects, 1000);
        assert_eq!(last.marked_bytes, 24_000);
        // 301 lists of 1000 nodes of 24 bytes, and some room that was not used up.
        let exact = 301 * 24_000;
        assert!((exact..exact * 5 / 4).contains(&last.allocated_bytes));
        let freed: usize = all.iter().map(|it| it.freed_bytes).sum();
        assert!((exact * 3 / 4..exact * 5 / 4).contains(&(freed as u64)));
    }
}

#[test]
fn running_out_of_memory_leaves_a_picture_of_the_heap() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let name = format!("heaphound-oom-{}-{collector:?}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let heap = Heap::builder()
            .max_bytes(1 << 20)
            .nursery_bytes(64 << 10)
            .initial_bytes(1 << 20)
            .collector(collector)
            .snapshot_on_out_of_memory(&path)
            .build()
            .unwrap();
        let mut m = heap.attach("main").unwrap();
        let head = list(&mut m, 1);
        let named = m.static_root::<Node>("orders");
        named.set(&m, Some(&m[head]));
        let error = loop {
            let mut m = m.scope();
            let next = Some(head);
            match m.alloc(NodeInit { value: 7, next }) {
                Ok(node) => m.set_local(head, &m[node]),
                Err(error) => break error,
            }
        };
        let objects = error.classes()[0].objects;
        let heap = heaphound::file::read_file(error.snapshot().unwrap().unwrap(), &mut |_, _| {});
        std::fs::remove_file(&path).unwrap();
        let heap = heap.unwrap();
        assert_eq!(heap.len(), objects);
        let [(first, named), (second, head)] = heap.roots() else {
            panic!("two roots: {:?}", heap.roots());
        };
        assert_eq!(first.to_string(), "static:orders");
        assert_eq!(second.short(), "thread:main[0]");
        use heaphound::{view::HeapView, view::Value};
        assert_eq!(heap.plain_value(*named, 0), Some(Value::Unsigned(0)));
        assert_eq!(heap.plain_value(*head, 0), Some(Value::Unsigned(7)));
        assert!(error.to_string().ends_with(&path.display().to_string()));
    }
}

#[test]
fn a_snapshot_that_cannot_be_written_says_why() {
    let heap = Heap::builder()
        .max_bytes(1 << 20)
        .snapshot_on_out_of_memory("/nonexistent/heap.txt")
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let error = m.alloc_refs::<Node>(1 << 20).err().unwrap();
    assert!(error.snapshot().unwrap().is_err());
    let message = error.to_string();
    assert!(message.contains("could not be written"), "{message}");
}
