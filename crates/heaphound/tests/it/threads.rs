//! Many threads that ask, capture, collect and take objects for themselves.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use heaphound::view::HeapView;
use heaphound::{
    Collector, Header, Heap, Managed, Mutator, PlainData, Probes, RefArray, Slot, WeakMap,
    WeakSlot, root::Part,
};
use heaphound_testkit::dice::Dice;

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    id: u64,
    a: Slot<Node>,
    b: Slot<Node>,
    weak: WeakSlot<Node>,
}

const SHARED: usize = 64;

fn check(node: &Node) {
    assert!(node.id < 1 << 40, "not a node");
    for slot in [&node.a, &node.b] {
        if let Ok(Some(next)) = slot.try_get() {
            assert!(next.id < 1 << 40, "not a node");
        }
    }
    if let Ok(Some(next)) = node.weak.try_get() {
        assert!(next.id < 1 << 40, "not a node");
    }
}

fn work(m: &mut Mutator<'_>, dice: &mut Dice, stop: &AtomicBool, unique: bool) {
    let shared = m.static_root::<RefArray<Node>>("shared");
    let maps = m.static_root::<WeakMap<Node, Node>>("map");
    let mut kept = Vec::new();
    while !stop.load(Relaxed) {
        let mut m = m.scope();
        m.safepoint();
        let array = m.local(shared.get(&m).unwrap());
        let mut locals = Vec::new();
        for _ in 0..dice.below(20) {
            let id = dice.below(1000) as u64;
            let pick = |dice: &mut Dice| {
                let it = m[array][dice.below(SHARED)].try_get().ok().flatten();
                it.map(|it| m.local(it))
            };
            let (a, b, weak) = (pick(dice), pick(dice), pick(dice));
            let new = m.alloc(NodeInit { id, a, b, weak }).unwrap();
            if let Ok(new) = m.try_get(new) {
                check(new);
                m[array][dice.below(SHARED)].set(Some(new));
            }
            locals.push(new);
        }
        for i in 0..SHARED {
            if let Ok(Some(it)) = m[array][i].try_get() {
                check(it);
                if dice.below(10) == 0 {
                    it.a.clear();
                }
            }
        }
        let subject = locals.first().copied();
        match dice.below(12) {
            0 => {
                let _ = subject.map(|it| m.is_shared(it));
            }
            1 => {
                let _ = subject.map(|it| m.thread_reach(it, &[it], Part::Both));
            }
            2 => {
                let snapshot = m.capture(PlainData::All);
                let probes = Probes::of(&snapshot).threads(2);
                // The others wait for their finalizers.
                assert!(probes.reach_all().len() <= snapshot.len());
            }
            3 => m.ask_and_collect(|heap| {
                if let Some(Ok(it)) = subject.map(|it| heap.id(it)) {
                    let _ = (
                        heap.is_thread_owned(it, Part::Both),
                        heap.is_unique_owner(it),
                        heap.pred(it),
                    );
                    kept.push(heap.view().root(it));
                }
                let _ = heap.reach_all();
            }),
            4 => {
                if let Some(it) = subject
                    && unique
                    && m.try_get(it).is_ok()
                {
                    // It may be too late.
                    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| m.unique(it)));
                }
            }
            5 => {
                if let Some(it) = subject
                    && m.try_get(it).is_ok()
                {
                    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        let map = m.local(maps.get(&m).unwrap());
                        m.weak_map_insert(map, it, it).unwrap();
                    }));
                }
            }
            6 => {
                if let Some(Ok(it)) = subject.map(|it| m.try_get(it)) {
                    m.set_thread_object(Some(it));
                }
            }
            7 => {
                kept.clear();
            }
            8 => {
                if let Some(it) = subject
                    && m.try_get(it).is_ok()
                {
                    let pin = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| m.pin(it)));
                    if let Ok(pin) = pin {
                        m.inspect(|view| {
                            if let Ok(id) = view.id(pin.root()) {
                                let _ = (view.name_of(id), view.bytes_of(id));
                            }
                        });
                    }
                }
            }
            9 => {
                if let Some(Ok(it)) = subject.map(|it| m.try_get(it)) {
                    m.on_death(it, |m, it| {
                        if let Ok(it) = m.try_get(it) {
                            check(it);
                        }
                        m.inspect(|view| view.for_each_root(|_, _| ()));
                    });
                }
            }
            _ => {}
        }
    }
}

fn run(collector: Collector, threads: usize, zeal: u32, unique: bool) {
    let heap = Heap::builder()
        .collector(collector)
        .collector_threads(threads)
        .invalidation(unique)
        .max_bytes(64 << 20)
        .nursery_bytes(64 << 10)
        .zeal(zeal)
        .build()
        .unwrap();
    {
        let mut m = heap.attach("first").unwrap();
        let array = m.alloc_refs::<Node>(SHARED).unwrap();
        m.static_root::<RefArray<Node>>("shared")
            .set(&m, Some(&m[array]));
        let map = m.alloc_weak_map::<Node, Node>().unwrap();
        m.static_root::<WeakMap<Node, Node>>("map")
            .set(&m, Some(&m[map]));
    }
    let stop = AtomicBool::new(false);
    let millis = std::env::var("MILLIS").map_or(500, |it| it.parse().unwrap());
    thread::scope(|scope| {
        for i in 0..4 {
            let (heap, stop) = (&heap, &stop);
            scope.spawn(move || {
                let mut m = heap.attach("worker").unwrap();
                work(&mut m, &mut Dice(i * 77 + zeal as u64), stop, unique);
            });
        }
        thread::sleep(Duration::from_millis(millis));
        stop.store(true, Relaxed);
    });
}

#[test]
fn many_threads_ask_at_once() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for (threads, zeal) in [(1, 0), (1, 7), (4, 0), (4, 50)] {
            for unique in [false, true] {
                run(collector, threads, zeal, unique);
            }
        }
    }
}
