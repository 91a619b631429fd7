//! What the log is told, and a log that panics.
//!
//! In a process of its own, one test after the other: `tracing` keeps for the whole process which
//! events somebody listens to, so that other threads change what is logged here.

use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use heaphound::{Header, Heap, Managed, Mutator, Slot};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Held by the one test that runs.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

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

/// A subscriber that does not like what it hears.
struct Grumbler(Arc<AtomicUsize>);

impl Subscriber for Grumbler {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, SeqCst);
        panic!("no more of this");
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn a_stall_names_the_mutator_that_causes_it() {
    let _alone = alone();
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

#[cfg(feature = "assertions")]
#[test]
fn what_could_not_be_forced_is_told_from_what_could() {
    let _alone = alone();
    use heaphound::{Collector, Reaction, Ref};

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
            m.expect().reaction(Reaction::ForceTrue).dead(cleared);
            // It dies itself, and cannot keep what it needs.
            m.alloc(HolderInit { needs: cleared })?;
            for name in ["first", "second"] {
                m.static_root(name).set(m, Some(&m[shared]));
            }
            m.expect().reaction(Reaction::ForceTrue).unshared(shared);
            let needed = list(m, 1);
            m.expect().reaction(Reaction::ForceTrue).dead(needed);
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

#[test]
fn a_log_that_panics_leaves_the_heap_usable() {
    let _alone = alone();
    let heap = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let kept = m.alloc_str("kept").unwrap();
    let events = Arc::new(AtomicUsize::new(0));
    tracing::subscriber::with_default(Grumbler(events.clone()), || {
        let collect = std::panic::AssertUnwindSafe(|| m.collect());
        assert!(std::panic::catch_unwind(collect).is_err());
    });
    assert!(events.load(SeqCst) > 0);
    m.collect();
    assert_eq!(&*m[kept], "kept");
    std::thread::scope(|scope| {
        let other = scope.spawn(|| heap.attach("other").unwrap().collect());
        m.blocked(|| other.join().unwrap());
    });
    assert_eq!(heap.stats().full_collections, 3);
}
