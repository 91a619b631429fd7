//! Four mutators that do everything at once, for a while.
//!
//! Five seconds unless `HEAPHOUND_SOAK_SECONDS` says otherwise. Each thread comes and
//! goes, builds and changes structures that carry their own checksums, and looks at
//! what the others share. At the end everything has been dropped and finalized once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use heaphound::{
    Bytes, Collector, Header, Heap, Local, Managed, Mutator, OutOfMemory, RefArray, Root, Slot,
    Var, WeakMap, WeakSlot,
};
use heaphound_testkit::dice::Dice;

/// A search tree whose nodes know the sum below them.
#[derive(Managed)]
#[repr(C)]
struct Tree {
    header: Header,
    key: u64,
    sum: Var<u64>,
    left: Slot<Tree>,
    right: Slot<Tree>,
}

/// Owns memory, knows a tree, and watches another one.
#[derive(Managed)]
#[repr(C)]
struct Record {
    header: Header,
    text: String,
    #[managed(owned)]
    count: Count,
    tree: Slot<Tree>,
    watched: WeakSlot<Tree>,
    next: Slot<Record>,
}

/// Counts how many there are.
struct Count(Arc<Tally>);

impl Count {
    fn new(tally: &Arc<Tally>) -> Self {
        tally.made.fetch_add(1, Relaxed);
        Self(tally.clone())
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, Relaxed);
    }
}

#[derive(Default)]
struct Tally {
    made: AtomicUsize,
    dropped: AtomicUsize,
    registered: AtomicUsize,
    finalized: AtomicUsize,
}

/// What all threads share.
struct World {
    heap: Heap,
    tally: Arc<Tally>,
    end: Instant,
}

/// Random enough, and the same every time.
type Made<'a, T> = Result<Local<'a, T>, OutOfMemory>;

/// A tree of that depth, with its sums.
fn tree<'a>(m: &mut Mutator<'a>, depth: u64, key: u64) -> Made<'a, Tree> {
    m.scoped(|m| {
        let (mut left, mut right) = (None, None);
        if depth > 0 {
            left = Some(tree(m, depth - 1, 2 * key)?);
            right = Some(tree(m, depth - 1, 2 * key + 1)?);
        }
        let below = |it: Option<Local<'_, Tree>>| it.map_or(0, |it| m[it].sum.get());
        let sum = key.wrapping_add(below(left)).wrapping_add(below(right));
        m.alloc(TreeInit {
            key,
            sum,
            left,
            right,
        })
    })
}

/// Sums a tree, and checks the sums on the way.
fn check_tree(tree: &Tree) -> u64 {
    let below = |slot: &Slot<Tree>| slot.get().map_or(0, check_tree);
    let sum = tree.key.wrapping_add(below(&tree.left));
    let sum = sum.wrapping_add(below(&tree.right));
    assert_eq!(sum, tree.sum.get(), "a tree's sum");
    sum
}

/// Checks a chain of records; answers how long it is.
fn check_records(first: Option<&Record>) -> usize {
    let mut count = 0;
    let mut next = first;
    while let Some(record) = next {
        let tree = record.tree.get().expect("a record has a tree");
        assert_eq!(record.text, format!("record of {}", tree.key));
        check_tree(tree);
        if let Some(watched) = record.watched.get() {
            check_tree(watched);
        }
        count += 1;
        next = record.next.get();
    }
    count
}

impl World {
    /// A thread's life: attach, work for a while, detach, again.
    fn live(&self, name: &str, mut dice: Dice, shared: &Root<RefArray<Tree>>) {
        while Instant::now() < self.end {
            let mut m = self.heap.attach(name).unwrap();
            let map = m.alloc_weak_map::<Tree, Record>().unwrap();
            let records = m.static_root::<Record>(name);
            for _ in 0..dice.below(60) {
                self.round(&mut m.scope(), &mut dice, shared, map, name);
            }
            assert_eq!(m.name(), name);
            check_records(records.get(&m));
            if dice.below(3) == 0 {
                records.clear(&m);
            }
        }
    }

    fn round(
        &self,
        m: &mut Mutator<'_>,
        dice: &mut Dice,
        shared: &Root<RefArray<Tree>>,
        map: Local<'_, WeakMap<Tree, Record>>,
        name: &str,
    ) {
        let (depth, key) = (dice.below(7) as u64, dice.below(1 << 30) as u64);
        let tree = tree(m, depth, key).unwrap();
        match dice.below(12) {
            0..=2 => self.add_record(m, tree, name),
            3 => self.exchange(m, dice, shared, tree),
            4 => self.remember(m, map, tree),
            5 => self.watch(m, tree),
            6 => large(m, dice),
            7 => m.blocked(|| std::thread::sleep(Duration::from_micros(dice.below(300) as u64))),
            8 if dice.below(4) == 0 => m.collect(),
            9 if dice.below(2) == 0 => m.collect_nursery(),
            10 => {
                let pinned = m.pin(tree);
                m.collect_nursery();
                assert_eq!(pinned.as_ptr(), &raw const m[tree]);
            }
            _ => m.safepoint(),
        }
        check_tree(&m[tree]);
    }

    /// Puts a record before the thread's own, and now and then drops the old ones.
    fn add_record(&self, m: &mut Mutator<'_>, tree: Local<'_, Tree>, name: &str) {
        let records = m.static_root::<Record>(name);
        let next = records.get(m).map(|it| m.local(it));
        let record = m
            .alloc(RecordInit {
                text: format!("record of {}", m[tree].key),
                count: Count::new(&self.tally),
                tree: Some(tree),
                watched: Some(tree),
                next,
            })
            .unwrap();
        records.set(m, Some(&m[record]));
        if check_records(records.get(m)) > 20 {
            m[record].next.clear();
        }
    }

    /// Swaps a shared tree for one of its own; checks what the others left there.
    fn exchange(
        &self,
        m: &mut Mutator<'_>,
        dice: &mut Dice,
        shared: &Root<RefArray<Tree>>,
        tree: Local<'_, Tree>,
    ) {
        let slots = &m[shared];
        let slot = &slots[dice.below(slots.len())];
        let before = slot.get();
        before.map(check_tree);
        match dice.below(3) {
            0 => slot.set(Some(&m[tree])),
            1 => _ = slot.compare_and_set(before, Some(&m[tree])),
            _ => slot.clear(),
        }
        let other = &slots[dice.below(slots.len())];
        other.get().map(check_tree);
    }

    /// Maps a tree to a record that refers back to it.
    fn remember(
        &self,
        m: &mut Mutator<'_>,
        map: Local<'_, WeakMap<Tree, Record>>,
        tree: Local<'_, Tree>,
    ) {
        let record = m
            .alloc(RecordInit {
                text: format!("record of {}", m[tree].key),
                count: Count::new(&self.tally),
                tree: Some(tree),
                watched: None,
                next: None,
            })
            .unwrap();
        m.weak_map_insert(map, tree, record).unwrap();
        m.collect_nursery();
        assert!(std::ptr::eq(m[map].get(&m[tree]).unwrap(), &m[record]));
        m[map].for_each(|key, record| {
            assert!(std::ptr::eq(record.tree.get().unwrap(), key));
            check_tree(key);
        });
    }

    /// Registers a finalizer that checks the tree once more.
    fn watch(&self, m: &mut Mutator<'_>, tree: Local<'_, Tree>) {
        let hash = m[tree].as_object().identity_hash();
        let tally = self.tally.clone();
        tally.registered.fetch_add(1, Relaxed);
        m.on_death(&m[tree], move |m, tree| {
            check_tree(&m[tree]);
            assert_eq!(m[tree].as_object().identity_hash(), hash);
            tally.finalized.fetch_add(1, Relaxed);
        });
        let weak = m.weak(&m[tree]);
        m.collect_nursery();
        assert!(std::ptr::eq(weak.get(m).unwrap(), &m[tree]));
        assert_eq!(m[tree].as_object().identity_hash(), hash);
    }
}

/// Fills large arrays and reads them back.
fn large(m: &mut Mutator<'_>, dice: &mut Dice) {
    let seed = dice.below(256) as u8;
    let pattern: Vec<u8> = (0..20_000).map(|i| (i as u8).wrapping_mul(seed)).collect();
    let bytes: Local<'_, Bytes> = m.alloc_bytes(&pattern).unwrap();
    let trees = m.alloc_refs::<Tree>(5000).unwrap();
    for i in 0..20 {
        let mut m = m.scope();
        let leaf = tree(&mut m, 1, i).unwrap();
        m[trees][i as usize * 250].set(Some(&m[leaf]));
    }
    assert_eq!(m[bytes].to_vec(), pattern);
    let found = m[trees].iter().filter_map(Slot::get);
    let keys = found.inspect(|it| _ = check_tree(it)).map(|it| it.key);
    assert!(keys.eq(0..20));
}

fn soak(collector: Collector) {
    let seconds = std::env::var("HEAPHOUND_SOAK_SECONDS").map_or(5, |text| {
        text.parse()
            .expect("HEAPHOUND_SOAK_SECONDS is a whole number")
    });
    let heap = Heap::builder()
        .max_bytes(64 << 20)
        .initial_bytes(1 << 20)
        .nursery_bytes(256 << 10)
        .collector(collector)
        .collector_threads(2)
        .build()
        .unwrap();
    let world = World {
        heap,
        tally: Arc::default(),
        end: Instant::now() + Duration::from_secs(seconds),
    };
    let mut m = world.heap.attach("main").unwrap();
    let shared = m.alloc_refs::<Tree>(3000).unwrap();
    let shared = m.root(&m[shared]);
    let threads = 4;
    m.blocked(|| {
        std::thread::scope(|scope| {
            for i in 1..=threads {
                let (world, shared) = (&world, &shared);
                let dice = Dice(0x9e37_79b9 * i);
                scope.spawn(move || world.live(&format!("thread {i}"), dice, shared));
            }
        });
    });
    for slot in m[&shared].iter() {
        slot.get().map(check_tree);
        slot.clear();
    }
    for i in 1..=threads {
        let records = m.static_root::<Record>(&format!("thread {i}"));
        records.clear(&m);
    }
    m.collect();
    m.collect();
    let count = |counter: &AtomicUsize| counter.load(Relaxed);
    let tally = &world.tally;
    assert!(count(&tally.made) > 0);
    assert_eq!(count(&tally.made), count(&tally.dropped), "records dropped");
    assert_eq!(
        count(&tally.registered),
        count(&tally.finalized),
        "trees finalized"
    );
    let stats = world.heap.stats();
    assert_eq!(stats.panicked_finalizers, 0);
    // The array alone is left.
    assert_eq!(stats.history.back().unwrap().marked_objects, 1);
    eprintln!(
        "{collector:?}: {} full and {} nursery collections, {} records, {} finalizers, longest pause {:?}",
        stats.full_collections,
        stats.nursery_collections,
        count(&tally.made),
        count(&tally.registered),
        stats.longest_pause
    );
}

#[test]
fn a_mark_sweep_heap_stands_everything_at_once() {
    soak(Collector::MarkSweep);
}

#[test]
fn a_generational_heap_stands_everything_at_once() {
    soak(Collector::Generational);
}
