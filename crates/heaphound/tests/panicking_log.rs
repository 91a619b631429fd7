//! A log subscriber that panics. In a process of its own, because subscribers of other
//! threads change what is logged here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use heaphound::Heap;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

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
fn a_log_that_panics_leaves_the_heap_usable() {
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
