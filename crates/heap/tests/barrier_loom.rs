//! The protocol of the read barrier of a heap that prunes leaks, under every schedule that loom can think of.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p heaphound-heap --test barrier_loom --release`
//!
//! A model: the same steps, with the same orderings, as the accessors of slots take in `gc` (`raw/objects/slot.rs`,
//! `raw/objects/barrier.rs`), on loom's atomics. A slot that a collection has tagged is read, written and compared
//! by several threads at once. No write is lost, nobody sees anything that was never written, what is seen is
//! complete, and whoever has read an object finds it fresh.
//!
//! All writes of one word have an order, by the coherence that Rust promises. Loom orders two of them only if one
//! thread knew of the other's or exchanged it; so plain writes are exchanges in the model.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::*};
use loom::thread;

const UNTOUCHED: u32 = 1 << 30;

/// A slot, and the objects 1 to 3: how stale they are, and a field of each.
struct Heap {
    slot: AtomicU32,
    staleness: [AtomicU32; 4],
    field: [AtomicU32; 4],
}

impl Heap {
    /// As a collection leaves it: the slot refers to object 1, untouched, and that is stale.
    fn new() -> Arc<Self> {
        Arc::new(Self {
            slot: AtomicU32::new(1 | UNTOUCHED),
            staleness: [0, 3, 3, 3].map(AtomicU32::new),
            field: [0, 11, 0, 0].map(AtomicU32::new),
        })
    }

    /// What the slot holds in the end.
    fn last(&self) -> u32 {
        self.slot.fetch_or(0, AcqRel)
    }

    fn touch(&self, found: u32) -> u32 {
        let target = found & !UNTOUCHED;
        let _ = self.slot.compare_exchange(found, target, Relaxed, Relaxed);
        let staleness = &self.staleness[target as usize];
        if staleness.load(Relaxed) > 0 {
            staleness.store(0, Relaxed);
        }
        target
    }

    fn get(&self) -> u32 {
        let found = self.slot.load(Acquire);
        let target = match found & UNTOUCHED {
            0 => found,
            _ => self.touch(found),
        };
        if target > 0 {
            let field = self.field[target as usize].load(Relaxed);
            assert_eq!(field, target * 11, "what is read is complete");
        }
        target
    }

    /// Makes a new object and writes it.
    fn set(&self, target: u32) {
        self.field[target as usize].store(target * 11, Relaxed);
        self.slot.swap(target, Release);
    }

    fn compare_and_set(&self, current: u32, new: u32) -> bool {
        self.field[new as usize].store(new * 11, Relaxed);
        loop {
            match self.slot.compare_exchange(current, new, AcqRel, Relaxed) {
                Ok(_) => return true,
                Err(found) if found & UNTOUCHED > 0 && found & !UNTOUCHED == current => {
                    self.touch(found);
                }
                Err(_) => return false,
            }
        }
    }
}

/// Under every schedule with at most three preemptions.
fn check(f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(f);
}

#[test]
fn readers_take_the_tag_away_once_and_see_the_object() {
    check(|| {
        let heap = Heap::new();
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let heap = heap.clone();
                thread::spawn(move || assert_eq!(heap.get(), 1))
            })
            .collect();
        assert_eq!(heap.get(), 1);
        readers.into_iter().for_each(|it| it.join().unwrap());
        assert_eq!(heap.last(), 1);
        assert_eq!(heap.staleness[1].load(Relaxed), 0);
    });
}

#[test]
fn a_write_is_not_lost_to_a_reader() {
    check(|| {
        let heap = Heap::new();
        let [writer, reader] = [heap.clone(), heap.clone()];
        let writer = thread::spawn(move || writer.set(2));
        let reader = thread::spawn(move || {
            let [first, second] = [reader.get(), reader.get()];
            assert!([1, 2].contains(&first) && [1, 2].contains(&second));
            assert!(first <= second, "the old reference does not come back");
        });
        writer.join().unwrap();
        assert_eq!(heap.last(), 2, "the write stays");
        reader.join().unwrap();
        assert_eq!(heap.get(), 2);
    });
}

#[test]
fn a_null_is_not_lost_to_a_reader() {
    check(|| {
        let heap = Heap::new();
        let [writer, reader] = [heap.clone(), heap.clone()];
        let writer = thread::spawn(move || writer.slot.swap(0, Release));
        let reader = thread::spawn(move || assert!(reader.get() < 2));
        writer.join().unwrap();
        reader.join().unwrap();
        assert_eq!(heap.last(), 0);
    });
}

#[test]
fn of_two_that_compare_and_set_one_succeeds() {
    check(|| {
        let heap = Heap::new();
        let others = [2, 3].map(|new| {
            let heap = heap.clone();
            thread::spawn(move || heap.compare_and_set(1, new))
        });
        let seen = heap.get();
        let done = others.map(|it| it.join().unwrap());
        let last = heap.last();
        assert!((1..4).contains(&seen));
        match done {
            [true, false] => assert_eq!(last, 2),
            [false, true] => assert_eq!(last, 3),
            _ => panic!("{done:?}: the slot was changed by nobody else"),
        }
    });
}

#[test]
fn compare_and_set_and_set_leave_one_of_their_values() {
    check(|| {
        let heap = Heap::new();
        let [writer, other] = [heap.clone(), heap.clone()];
        let writer = thread::spawn(move || writer.set(2));
        let other = thread::spawn(move || other.compare_and_set(1, 3));
        let seen = heap.get();
        writer.join().unwrap();
        let done = other.join().unwrap();
        assert!((1..4).contains(&seen) && (done || seen != 3));
        assert_eq!(
            heap.last(),
            2,
            "whoever compares comes before, or not at all"
        );
    });
}
