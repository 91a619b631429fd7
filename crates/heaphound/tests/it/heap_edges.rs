//! Programs written to break the heap, each of which once did: odd options, errors
//! that are ignored, finalizers at bad moments, races, long chains.
//!
//! Elsewhere: what must not compile (`crates/derive/tests`), panics in user code
//! (`panics.rs`), random programs (`random_programs.rs`).

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use heaphound::{
    AttachError, Bytes, CollectionStats, Collector, Header, Heap, HeapBuilder, Managed, Mutator,
    Object, Slot, WeakSlot, stats::Cause,
};
use heaphound_testkit::dice::Dice;

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
    next: Slot<Node>,
}

#[derive(Managed)]
#[repr(C)]
struct Text {
    header: Header,
    text: String,
}

#[derive(Managed)]
#[repr(C)]
struct Watcher {
    header: Header,
    link: Slot<Link>,
    weak: WeakSlot<Watcher>,
}

/// Of another size than a watcher.
#[derive(Managed)]
#[repr(C)]
struct Link {
    header: Header,
    a: u64,
    b: u64,
    watcher: Slot<Watcher>,
}

#[expect(non_camel_case_types, reason = "classes named by keywords")]
mod keywords {
    use super::{Header, Managed, Node, Slot};

    #[derive(Managed)]
    #[repr(C)]
    pub struct r#struct {
        header: Header,
        pub r#type: u32,
        pub r#fn: Slot<Node>,
    }
}

/// Panics when dropped, after it has been counted.
struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        panic!("a bomb was dropped");
    }
}

fn node<'a>(m: &mut Mutator<'a>, value: u64) -> heaphound::Local<'a, Node> {
    m.alloc(NodeInit { value, next: None }).unwrap()
}

fn for_each_collector(f: impl Fn(HeapBuilder)) {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        f(Heap::builder().max_bytes(64 << 20).collector(collector));
    }
}

fn last_collection(heap: &Heap) -> CollectionStats {
    heap.stats().history.back().unwrap().clone()
}

#[test]
fn a_dead_object_that_is_not_swept_yet_does_not_disturb_a_nursery_collection() {
    const WATCHERS: usize = 20_000;
    let heap = Heap::builder()
        .max_bytes(256 << 20)
        .initial_bytes(1 << 20)
        .nursery_bytes(128 << 10)
        .collector(Collector::Generational)
        .collector_threads(1)
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let keep = m.alloc_refs::<Watcher>(WATCHERS).unwrap();
    let unset = || WatcherInit {
        link: None,
        weak: None,
    };
    for i in 0..WATCHERS {
        let mut m = m.scope();
        let watcher = m.alloc(unset()).unwrap();
        m[keep][i].set(Some(&m[watcher]));
    }
    m.collect();
    for i in (0..WATCHERS).step_by(2) {
        m[keep][i].clear();
    }
    // A collection that allocation brings about leaves blocks unswept.
    let before = heap.stats().full_collections;
    while heap.stats().full_collections == before {
        m.scope().alloc_bytes(&[0; 100_000]).unwrap();
    }
    assert!(
        heap.stats()
            .history
            .iter()
            .any(|it| it.cause == Cause::Allocation)
    );
    {
        let mut m = m.scope();
        let watcher = m.alloc(unset()).unwrap();
        let link = m
            .alloc(LinkInit {
                a: 1,
                b: 2,
                watcher: Some(watcher),
            })
            .unwrap();
        for i in (1..WATCHERS).step_by(2) {
            m[keep][i].get().unwrap().link.set(Some(&m[link]));
        }
    }
    m.collect_nursery();
    for i in (1..WATCHERS).step_by(2) {
        let watcher = m[keep][i].get().unwrap();
        let link = watcher.link.get().unwrap();
        assert_eq!((link.a, link.b), (1, 2));
        assert!(link.watcher.get().unwrap().link.is_null());
        assert!(watcher.weak.get().is_none());
    }
}

#[test]
fn assigning_to_an_upcast_local_leaves_the_first_one_alone() {
    for_each_collector(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let number = node(&mut m, 7);
        let text = m
            .alloc(TextInit {
                text: "hello".into(),
            })
            .unwrap();
        let any = text.upcast(&m);
        assert!(m[any].downcast::<Text>().is_some());
        m.set_local(any, m[number].as_object());
        m.collect();
        assert_eq!(m[any].downcast::<Node>().unwrap().value, 7);
        assert_eq!(m[text].text, "hello");
        assert_eq!(m[number].value, 7);
    });
}

#[test]
fn a_program_that_goes_on_after_running_out_of_memory_stays_within_bounds() {
    const MAX: usize = 1 << 20;
    const NURSERY: usize = 64 << 10;
    for_each_collector(|builder| {
        let builder = builder.max_bytes(MAX).nursery_bytes(NURSERY);
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let head = node(&mut m, 0);
        let mut errors = 0;
        while errors < 25 {
            let mut m = m.scope();
            match m.alloc(NodeInit {
                value: 1,
                next: Some(head),
            }) {
                Ok(new) => {
                    m[new].next.set(m[head].next.get());
                    m[head].next.set(Some(&m[new]));
                }
                Err(error) => {
                    assert_eq!(error.max_bytes(), MAX);
                    errors += 1;
                }
            }
            let bytes = heap.heap_bytes();
            assert!(bytes <= MAX + NURSERY, "{bytes} after {errors} errors");
        }
        // Once the list is let go, there is room again.
        m[head].next.clear();
        for i in 0..10_000 {
            node(&mut m.scope(), i);
        }
    });
}

#[test]
fn any_patience_with_slow_mutators_will_do() {
    for patience in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
        for_each_collector(|builder| {
            let heap = builder.stall_warning(patience).build().unwrap();
            let attached = Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut m = heap.attach("slow").unwrap();
                    attached.wait();
                    std::thread::sleep(Duration::from_millis(20));
                    m.safepoint();
                });
                attached.wait();
                heap.attach("main").unwrap().collect();
            });
            assert_eq!(heap.stats().full_collections, 1);
        });
    }
}

#[test]
fn external_memory_beyond_all_bounds_is_out_of_memory_and_nothing_worse() {
    for_each_collector(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let objects = [1, 2, 3].map(|i| node(&mut m, i));
        for object in objects {
            m.account_external(&m[object], usize::MAX);
        }
        m.collect();
        assert!(last_collection(&heap).external_bytes >= 1 << 40);
        let error = m.alloc_bytes(&[0; 1 << 20]).err().unwrap();
        assert!(error.to_string().contains(" external, at most "), "{error}");
        for object in objects {
            m.account_external(&m[object], 0);
        }
        m.collect();
        assert_eq!(last_collection(&heap).external_bytes, 0);
        m.alloc_bytes(&[0; 1 << 20]).unwrap();
    });
}

#[test]
fn external_memory_counts_neither_as_allocated_nor_as_freed() {
    for_each_collector(|builder| {
        let run = |external: usize| {
            let heap = builder.clone().build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let kept = m.alloc_bytes(b"hi").unwrap();
            {
                let mut m = m.scope();
                let dead = node(&mut m, 1);
                m.account_external(&m[dead], external);
                m.account_external(&m[kept], external);
            }
            m.collect();
            m.collect();
            let stats = heap.stats().history;
            let bytes = |it: &CollectionStats| (it.freed_bytes, it.used_bytes, it.allocated_bytes);
            let external = stats.back().unwrap().external_bytes;
            (stats.iter().map(bytes).collect::<Vec<_>>(), external)
        };
        let (without, none) = run(0);
        let (with, some) = run(1 << 30);
        assert_eq!((none, some), (0, 1 << 30));
        assert_eq!(with, without);
    });
}

/// Entries lost or doubled, or brought back after they were removed: finalizers ran while an entry was made, or while
/// the map grew, and used the same map.
#[test]
fn a_weak_map_is_whole_though_finalizers_use_it_while_it_grows() {
    const KEYS: usize = 120;
    for_each_collector(|builder| {
        for zeal in [1, 2, 5] {
            let heap = builder.clone().zeal(zeal).build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let map = m.alloc_weak_map::<Node, Node>().unwrap();
            let keys = m.alloc_refs::<Node>(KEYS).unwrap();
            for place in 0..KEYS {
                let mut m = m.scope();
                let key = node(&mut m, place as u64);
                m[keys][place].set(Some(&m[key]));
            }
            let shared = Arc::new((m.root(&m[map]), m.root(&m[keys])));
            let model: Arc<Mutex<BTreeMap<u64, u64>>> = Arc::default();
            let mut dice = Dice(zeal.into());
            for round in 0..600 {
                let mut m = m.scope();
                {
                    let mut m = m.scope();
                    let dying = node(&mut m, round);
                    let (shared, model) = (shared.clone(), model.clone());
                    let (place, removes) = (dice.below(KEYS), dice.below(3) == 0);
                    m.on_death(&m[dying], move |m, it| {
                        let mut m = m.scope();
                        let it = m.local(it);
                        let (map, keys) = (m.local(&m[&shared.0]), m.local(&m[&shared.1]));
                        let key = m.local(m[keys][place].get().unwrap());
                        if removes {
                            m[map].remove(&m[key]);
                            model.lock().unwrap().remove(&(place as u64));
                        } else {
                            m.weak_map_insert(map, key, it).unwrap();
                            model.lock().unwrap().insert(place as u64, m[it].value);
                        }
                    });
                }
                let place = dice.below(KEYS);
                let key = m.local(m[keys][place].get().unwrap());
                let value = node(&mut m, 1000 + round);
                m.weak_map_insert(map, key, value).unwrap();
                model.lock().unwrap().insert(place as u64, 1000 + round);
            }
            let mut entries = Vec::new();
            m[map].for_each(|key, value| entries.push((key.value, value.value)));
            entries.sort();
            let model: Vec<_> = model.lock().unwrap().clone().into_iter().collect();
            assert_eq!(entries, model, "zeal {zeal}");
        }
    });
}

#[test]
fn walks_over_a_weak_map_end_though_threads_rehashed_it_at_once() {
    // So many fill the map: the next key makes it grow.
    const KEYS: usize = 1 << 12;
    let builder = Heap::builder().max_bytes(256 << 20).initial_bytes(64 << 20);
    let heap = builder.build().unwrap();
    for _ in 0..100 {
        let (map, keys) = {
            let mut m = heap.attach("setup").unwrap();
            let map = m.alloc_weak_map::<Node, Node>().unwrap();
            let keys = m.alloc_refs::<Node>(KEYS + 2).unwrap();
            for i in 0..KEYS + 2 {
                let mut m = m.scope();
                let key = node(&mut m, i as u64);
                m[keys][i].set(Some(&m[key]));
                if i < KEYS {
                    m.weak_map_insert(map, key, key).unwrap();
                }
            }
            (m.root(&m[map]), m.root(&m[keys]))
        };
        let ready = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (heap, map, keys, ready) = (&heap, &map, &keys, &ready);
                scope.spawn(move || {
                    let mut m = heap.attach(format!("thread {thread}")).unwrap();
                    let (map, keys) = (m.local(&m[map]), m.local(&m[keys]));
                    let key = m.local(m[keys][KEYS + thread].get().unwrap());
                    // Not a barrier: waking takes longer than growing.
                    ready.fetch_add(1, SeqCst);
                    while ready.load(SeqCst) < 2 {
                        std::hint::spin_loop();
                    }
                    m.weak_map_insert(map, key, key).unwrap();
                });
            }
        });
        let m = heap.attach("check").unwrap();
        let mut entries = 0;
        // Out by unwinding, for otherwise a failure would not end.
        let walk = catch_unwind(AssertUnwindSafe(|| {
            m[&map].for_each(|key, value| {
                assert_eq!(key.value, value.value);
                entries += 1;
                if entries > KEYS + 2 {
                    resume_unwind(Box::new("a chain of the map is a cycle"));
                }
            });
        }));
        assert!(walk.is_ok(), "{entries} entries for {} keys", KEYS + 2);
        // Only what was inserted at the same time may be lost.
        assert!(entries >= KEYS, "{entries}");
        assert_eq!(m[&map].len(), entries);
    }
}

#[test]
fn large_objects_between_survivors_stay_within_the_limit() {
    const MAX: usize = 16 << 20;
    for_each_collector(|builder| {
        let builder = builder.max_bytes(MAX).initial_bytes(MAX);
        let heap = builder.nursery_bytes(256 << 10).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        // One object in 256 KiB stays, and cannot be moved.
        let small = m.alloc_refs::<Bytes>(64).unwrap();
        for i in 0..MAX / 1024 {
            let mut m = m.scope();
            let bytes = m.alloc_bytes(&[7; 1000]).unwrap();
            if i % 256 == 0 {
                m[bytes].as_object().identity_hash();
                m[small][i / 256].set(Some(&m[bytes]));
            }
            assert!(heap.heap_bytes() <= MAX);
        }
        let large = m.alloc_refs::<Bytes>(64).unwrap();
        let contents = vec![3; 300 << 10];
        for i in 0..64 {
            let mut m = m.scope();
            let Ok(bytes) = m.alloc_bytes(&contents) else {
                break;
            };
            m[large][i].set(Some(&m[bytes]));
            assert!(heap.heap_bytes() <= MAX);
        }
        assert!(m[large][30].get().is_some());
        assert!(m[small][63].get().is_some());
    });
}

#[test]
fn a_finalizer_waits_until_there_is_room_for_a_local() {
    for_each_collector(|builder| {
        for taken in [1, 2] {
            let heap = builder.clone().max_locals(2).build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let ran = Arc::new(AtomicUsize::new(0));
            {
                let mut m = m.scope();
                let dying = node(&mut m, 5);
                let ran = ran.clone();
                m.on_death(&m[dying], move |m, it| {
                    assert_eq!(m[it].value, 5);
                    ran.fetch_add(1, SeqCst);
                });
            }
            {
                let mut m = m.scope();
                for i in 0..taken {
                    node(&mut m, i);
                }
                m.collect();
                assert_eq!(ran.load(SeqCst), 0);
            }
            m.run_finalizers();
            m.collect();
            assert_eq!(ran.load(SeqCst), 1);
            assert_eq!(heap.stats().panicked_finalizers, 0);
        }
    });
}

#[test]
fn a_long_chain_of_ephemerons_is_no_slower_on_two_threads() {
    const LINKS: u64 = 20_000;
    let shortest_pause = |threads| {
        let heap = Heap::builder().collector_threads(threads).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let map = m.alloc_weak_map::<Node, Node>().unwrap();
        let first = node(&mut m, 0);
        let last = m.local(&m[first]);
        for value in 1..=LINKS {
            let mut m = m.scope();
            let next = node(&mut m, value);
            m.weak_map_insert(map, last, next).unwrap();
            m.set_local(last, &m[next]);
        }
        m.set_local(last, &m[first]);
        for _ in 0..3 {
            m.collect();
            assert_eq!(m[map].len(), LINKS as usize);
        }
        let stats = heap.stats();
        stats.history.iter().map(|it| it.pause).min().unwrap()
    };
    let (one, two) = (shortest_pause(1), shortest_pause(2));
    // Twice, and a little for other programs on the machine.
    assert!(
        two < one * 2 + Duration::from_millis(100),
        "{one:?}, {two:?}"
    );
    assert!(two < Duration::from_millis(1500), "{two:?}");
}

#[test]
fn a_limit_too_small_for_a_heap_is_refused() {
    for_each_collector(|builder| {
        let builder = builder.nursery_bytes(64 << 10);
        let error = builder.clone().max_bytes((1 << 20) - 1).build().err();
        let error = error.unwrap().to_string();
        let start = "cannot build the heap: max_bytes is 1048575, but must be between 1048576 and ";
        assert!(error.starts_with(start), "{error}");
        builder.max_bytes(1 << 20).build().unwrap();
    });
}

#[test]
fn small_objects_of_many_sizes_fit_into_the_smallest_heap() {
    for_each_collector(|builder| {
        let builder = builder.max_bytes(1 << 20).nursery_bytes(64 << 10);
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let keep = m.alloc_refs::<Bytes>(20).unwrap();
        for i in 0..2000 {
            let mut m = m.scope();
            let bytes = m.alloc_bytes(&vec![1; (i % 20 + 1) * 16]).unwrap();
            m[keep][i % 20].set(Some(&m[bytes]));
        }
    });
}

#[test]
fn raw_identifiers_are_named_without_their_prefix() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let object = m
        .alloc(keywords::structInit {
            r#type: 1,
            r#fn: None,
        })
        .unwrap();
    let class = m[object].as_object().class();
    assert!(!class.name.contains('#'), "{}", class.name);
    assert!(class.name.ends_with("struct"), "{}", class.name);
    assert!(class.field("type").is_some());
    assert!(class.field("fn").is_some());
}

#[test]
fn a_heap_is_dropped_whole_though_what_finalizers_hold_panics() {
    for_each_collector(|builder| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let heap = builder.build().unwrap();
        {
            let mut m = heap.attach("main").unwrap();
            for value in 0..3 {
                let object = node(&mut m, value);
                let bombs = [Bomb(dropped.clone()), Bomb(dropped.clone())];
                for bomb in bombs {
                    m.on_death(&m[object], move |_, _| {
                        let _bomb = &bomb;
                    });
                }
            }
        }
        drop(heap);
        assert_eq!(dropped.load(SeqCst), 6);
    });
}

#[test]
fn only_blocks_that_were_emptied_count_as_compacted() {
    const KEPT: usize = 60_000;
    let compacted = |hashed: bool| {
        let heap = Heap::builder().build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let keep = m.alloc_refs::<Node>(KEPT).unwrap();
        for i in 0..4 * KEPT {
            let mut m = m.scope();
            let new = node(&mut m, i as u64);
            if i % 4 == 0 {
                m[keep][i / 4].set(Some(&m[new]));
                if hashed {
                    m[new].as_object().identity_hash();
                }
            }
        }
        let before = heap.heap_bytes();
        m.collect();
        let compacted = last_collection(&heap).compacted_bytes;
        (compacted, heap.heap_bytes() < before)
    };
    // An object that was hashed by its address stays where it is.
    assert_eq!(compacted(true), (0, false));
    let (bytes, shrunk) = compacted(false);
    assert!(bytes > 1 << 20 && shrunk, "{bytes}");
}

#[test]
fn the_size_of_a_nursery_matters_only_where_there_is_one() {
    for bytes in [0, 1, 12_345, usize::MAX] {
        let builder = Heap::builder().max_bytes(16 << 20).nursery_bytes(bytes);
        let heap = builder.clone().build().unwrap();
        node(&mut heap.attach("main").unwrap(), 1);
        let error = builder.collector(Collector::Generational).build().err();
        let start = format!("cannot build the heap: nursery_bytes is {bytes}, but must be");
        let error = error.unwrap().to_string();
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn arrays_strings_and_instances_can_be_pinned() {
    fn check<T: Managed + ?Sized>(m: &mut Mutator<'_>, local: heaphound::Local<'_, T>) {
        let pinned = m.pin(local);
        for _ in 0..3 {
            m.collect_nursery();
            m.collect();
            let address = |object: &Object| (&raw const *object).addr();
            assert_eq!(address(m[local].as_object()), pinned.address());
            assert_eq!(address(m[pinned.root()].as_object()), pinned.address());
        }
    }
    for_each_collector(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let bytes = m.alloc_bytes(b"bytes").unwrap();
        let text = m.alloc_str("text").unwrap();
        let refs = m.alloc_refs::<Node>(3).unwrap();
        let class = heap.define_class("Pair").slot("left").define().unwrap();
        let instance = m.alloc_instance(&class).unwrap();
        check(&mut m, bytes);
        check(&mut m, text);
        check(&mut m, refs);
        check(&mut m, instance);
    });
}

#[test]
fn arrays_strings_and_instances_can_have_finalizers() {
    for_each_collector(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let (said, hear) = channel();
        let class = heap.define_class("Pair").slot("left").define().unwrap();
        {
            let mut m = m.scope();
            let bytes = m.alloc_bytes(b"bytes").unwrap();
            let text = m.alloc_str("text").unwrap();
            let refs = m.alloc_refs::<Node>(3).unwrap();
            let instance = m.alloc_instance(&class).unwrap();
            let say = said.clone();
            m.on_death(&m[bytes], move |m, it| {
                say.send(format!("{} bytes", m[it].to_vec().len())).unwrap();
            });
            let say = said.clone();
            m.on_death(&m[text], move |m, it| say.send(m[it].to_string()).unwrap());
            let say = said.clone();
            m.on_death(&m[refs], move |m, it| {
                say.send(format!("{} slots", m[it].len())).unwrap();
            });
            m.on_death(&m[instance], move |m, it| {
                said.send(m[it].as_object().class().name.to_string())
                    .unwrap();
            });
        }
        m.collect();
        let mut all: Vec<String> = hear.try_iter().collect();
        all.sort();
        assert_eq!(all, ["3 slots", "5 bytes", "Pair", "text"]);
    });
}

#[test]
fn room_that_a_finalizer_found_is_used_up_by_the_allocation_that_waited() {
    let heap = Heap::builder()
        .max_bytes(64 << 20)
        .initial_bytes(1 << 20)
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let place = Arc::new(AtomicUsize::new(0));
    {
        let mut m = m.scope();
        let dying = node(&mut m, 0);
        let place = place.clone();
        m.on_death(&m[dying], move |m, _| {
            let new = node(m, 1);
            place.store((&raw const m[new]).addr(), SeqCst);
        });
    }
    let address = loop {
        let mut m = m.scope();
        let new = node(&mut m, 2);
        if place.load(SeqCst) != 0 {
            break (&raw const m[new]).addr();
        }
    };
    assert_eq!(last_collection(&heap).cause, Cause::Allocation);
    assert_eq!(address, place.load(SeqCst) + size_of::<Node>());
}

#[test]
fn a_thread_cannot_attach_to_the_heap_that_it_inspects() {
    for_each_collector(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let error = m.inspect(|_| heap.attach("inner").err());
        assert_eq!(error, Some(AttachError::WorldStopped));
        node(&mut m, 1);
        m.collect();
    });
}
