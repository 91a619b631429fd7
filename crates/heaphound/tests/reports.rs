//! What a heap says about itself: statistics, stalls, and where memory went.

use std::fmt::Write;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use heaphound::{Collector, Header, Heap, Kind, Managed, Mutator, Slot};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

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

/// Keeps what is logged as lines of text.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

#[test]
fn a_stall_names_the_mutator_that_causes_it() {
    let lines = Lines::default();
    let heap = Heap::builder()
        .max_bytes(16 << 20)
        .stall_warning(Duration::from_millis(20))
        .build()
        .unwrap();
    let both = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _m = heap.attach("the busy one").unwrap();
            both.wait();
            std::thread::sleep(Duration::from_millis(150));
        });
        let mut m = heap.attach("the one that waits").unwrap();
        m.blocked(|| both.wait());
        tracing::subscriber::with_default(lines.clone(), || m.collect());
    });
    let lines = lines.0.lock().unwrap();
    let stalls: Vec<_> = lines.iter().filter(|it| it.contains("stall")).collect();
    assert!(!stalls.is_empty(), "{lines:#?}");
    for stall in stalls {
        assert!(stall.starts_with("WARN"), "{stall}");
        assert!(stall.contains("mutators=the busy one"), "{stall}");
        assert!(!stall.contains("waits"), "{stall}");
    }
    let last = heap.stats().history.back().unwrap().clone();
    assert!(last.time_to_safepoint >= Duration::from_millis(50));
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
                Ok(node) => m.assign(head, &m[node]),
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
        assert_eq!(second.to_string(), "thread:main[0]");
        use heaphound::{Value, view::HeapView};
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

#[cfg(feature = "assertions")]
#[test]
fn what_could_not_be_forced_is_told_from_what_could() {
    use heaphound::{Reaction, Ref};

    #[derive(Managed)]
    #[repr(C)]
    struct Holder {
        header: Header,
        needs: Ref<Node>,
    }

    for collector in [Collector::MarkSweep, Collector::Generational] {
        let lines = Lines::default();
        let heap = Heap::builder().collector(collector).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let kept = m.scoped(|m| {
            let (shared, cleared) = (list(m, 1), list(m, 1));
            let root = m.alloc(NodeInit {
                value: 0,
                next: Some(cleared),
            })?;
            m.static_root("list").set(m, Some(&m[root]));
            m.expecting().reaction(Reaction::ForceTrue).dead(cleared);
            // It dies itself, and cannot keep what it needs.
            m.alloc(HolderInit { needs: cleared })?;
            for name in ["first", "second"] {
                m.static_root(name).set(m, Some(&m[shared]));
            }
            m.expecting().reaction(Reaction::ForceTrue).unshared(shared);
            let needed = list(m, 1);
            m.expecting().reaction(Reaction::ForceTrue).dead(needed);
            m.alloc(HolderInit { needs: needed })
        });
        let kept = kept.unwrap();
        tracing::subscriber::with_default(lines.clone(), || m.collect());
        assert_eq!(m[kept].needs.get().value, 0);
        let notes: Vec<Vec<String>> = ["static:list", "thread:main", "static:first"]
            .into_iter()
            .map(|root| {
                let lines = lines.0.lock().unwrap();
                let told = lines.iter().find(|it| it.contains(root)).unwrap();
                let notes = told.lines().filter_map(|it| it.split_once("note: "));
                notes.map(|(_, note)| note.to_string()).collect()
            })
            .collect();
        let cleared = "all references to it were cleared or invalidated";
        let left =
            "some references could not be cleared, and the heap was not built to invalidate them";
        assert_eq!(notes, [vec![cleared], vec![left], vec![]]);
    }
}
