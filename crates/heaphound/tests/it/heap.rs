//! The heap as a program sees it: what is kept, what goes, and when.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use heaphound::{
    Bytes, Collector, Header, Heap, HeapBuilder, Managed, Mutator, Object, Ref, Slot, Str, WeakSlot,
};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
    next: Slot<Node>,
    other: Slot<Node>,
}

#[derive(Managed)]
#[repr(C)]
struct Owner {
    header: Header,
    name: String,
    #[managed(owned)]
    drops: Counter,
    node: Ref<Node>,
    weak: WeakSlot<Node>,
}

struct Counter(Arc<AtomicUsize>);

impl Drop for Counter {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Every kind of heap that a test should hold for.
fn for_each_heap(f: impl Fn(HeapBuilder)) {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for threads in [1, 2] {
            for zeal in [0, 1, 3] {
                f(Heap::builder()
                    .max_bytes(64 << 20)
                    .collector(collector)
                    .collector_threads(threads)
                    .zeal(zeal));
            }
        }
    }
}

fn list<'a>(m: &mut Mutator<'a>, len: u64) -> heaphound::Local<'a, Node> {
    m.scoped(|m| {
        let mut head = m.alloc(NodeInit {
            value: 0,
            next: None,
            other: None,
        })?;
        for value in 1..len {
            head = m.alloc(NodeInit {
                value,
                next: Some(head),
                other: None,
            })?;
        }
        Ok::<_, heaphound::OutOfMemory>(head)
    })
    .unwrap()
}

fn values(node: &Node) -> Vec<u64> {
    let mut all = vec![node.value];
    let mut at = node;
    while let Some(next) = at.next.get() {
        all.push(next.value);
        at = next;
    }
    all
}

#[test]
fn what_is_reachable_stays_and_keeps_its_contents() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let head = list(&mut m, 500);
        let expected: Vec<u64> = (0..500).rev().collect();
        for _ in 0..3 {
            m.collect();
            assert_eq!(values(&m[head]), expected);
            m.collect_nursery();
            assert_eq!(values(&m[head]), expected);
        }
        let live = heap.stats().history.back().unwrap().used_bytes;
        assert!(live >= 500 * 24);
    });
}

#[test]
fn garbage_is_freed() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        {
            let mut m = m.scope();
            list(&mut m, 300);
        }
        m.collect();
        let stats = heap.stats();
        let full = stats
            .history
            .iter()
            .rfind(|it| it.kind == heaphound::stats::Kind::Full);
        assert_eq!(full.unwrap().marked_objects, 0);
        assert_eq!(heap.stats().history.back().unwrap().used_bytes, 0);
    });
}

#[test]
fn owned_memory_is_dropped_after_the_collection_that_finds_it_dead() {
    for_each_heap(|builder| {
        let drops = Arc::new(AtomicUsize::new(0));
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let outer;
        {
            let mut m = m.scope();
            for i in 0..50 {
                let node = list(&mut m, 2);
                m.alloc(OwnerInit {
                    name: format!("owner {i}"),
                    drops: Counter(drops.clone()),
                    node,
                    weak: Some(node),
                })
                .unwrap();
            }
            let node = list(&mut m, 2);
            let kept = m
                .alloc(OwnerInit {
                    name: "kept".into(),
                    drops: Counter(drops.clone()),
                    node,
                    weak: None,
                })
                .unwrap();
            let root = m.root(&m[kept]);
            drop(m);
            outer = root;
        }
        m.collect();
        assert_eq!(drops.load(SeqCst), 50);
        assert_eq!(m[&outer].name, "kept");
        assert_eq!(m[&outer].node.get().next.get().unwrap().value, 0);
        drop(outer);
        m.collect();
        assert_eq!(drops.load(SeqCst), 51);
        drop(m);
        drop(heap);
        assert_eq!(drops.load(SeqCst), 51);
    });
}

#[test]
fn dropping_a_heap_drops_what_its_objects_own() {
    let drops = Arc::new(AtomicUsize::new(0));
    let one = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let two = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let mut m2 = two.attach("two").unwrap();
    let kept = list(&mut m2, 10);
    {
        let mut m1 = one.attach("one").unwrap();
        let node = list(&mut m1, 1);
        m1.alloc(OwnerInit {
            name: String::new(),
            drops: Counter(drops.clone()),
            node,
            weak: None,
        })
        .unwrap();
    }
    drop(one);
    assert_eq!(drops.load(SeqCst), 1);
    m2.collect();
    assert_eq!(values(&m2[kept]).len(), 10);
}

#[test]
fn weak_references_do_not_retain() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let kept = list(&mut m, 1);
        let (weak_kept, weak_gone) = {
            let mut m = m.scope();
            let gone = list(&mut m, 1);
            (m.weak(&m[kept]), m.weak(&m[gone]))
        };
        let drops = Counter(Arc::default());
        let holder = {
            let gone = list(&mut m, 1);
            let holder = m
                .alloc(OwnerInit {
                    name: String::new(),
                    drops,
                    node: kept,
                    weak: Some(gone),
                })
                .unwrap();
            m.set_local(gone, &m[kept]);
            holder
        };
        m.collect();
        assert!(weak_gone.get(&m).is_none());
        assert_eq!(weak_kept.get(&m).unwrap().value, 0);
        assert!(m[holder].weak.get().is_none());
        m[holder].weak.set(Some(&m[kept]));
        m.collect();
        m.collect_nursery();
        assert!(m[holder].weak.get().is_some());
    });
}

#[test]
fn a_weak_map_forgets_dead_keys_even_if_values_refer_to_them() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let map = m.alloc_weak_map::<Node, Node>().unwrap();
        let kept = m.alloc_refs::<Node>(10).unwrap();
        for i in 0..40 {
            let mut m = m.scope();
            let key = list(&mut m, 1);
            // The value keeps its key alive, if anybody keeps the value.
            let value = m
                .alloc(NodeInit {
                    value: i,
                    next: Some(key),
                    other: None,
                })
                .unwrap();
            m.weak_map_insert(map, key, value).unwrap();
            if i % 4 == 0 {
                m[kept][i as usize / 4].set(Some(&m[key]));
            }
        }
        m.collect();
        assert_eq!(m[map].len(), 10);
        for (i, slot) in m[kept].iter().enumerate() {
            let value = m[map].get(slot.get().unwrap()).unwrap();
            assert_eq!(value.value, i as u64 * 4);
        }
        assert!(m[map].remove(m[kept][0].get().unwrap()));
        assert_eq!(m[map].len(), 9);
    });
}

#[test]
fn a_chain_of_ephemerons_lives_by_its_first_key() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let map = m.alloc_weak_map::<Node, Node>().unwrap();
        let first = list(&mut m, 1);
        {
            let mut m = m.scope();
            let mut key = first;
            for _ in 0..30 {
                let value = list(&mut m, 1);
                m.weak_map_insert(map, key, value).unwrap();
                key = value;
            }
        }
        m.collect();
        assert_eq!(m[map].len(), 30);
        let other = list(&mut m, 1);
        m.set_local(first, &m[other]);
        m.collect();
        assert!(m[map].is_empty());
    });
}

#[test]
fn finalizers_run_once_and_may_bring_the_object_back() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let saved = m.static_root::<Node>("saved");
        let runs = Arc::new(AtomicUsize::new(0));
        {
            let mut m = m.scope();
            let node = list(&mut m, 3);
            let (runs, saved) = (runs.clone(), saved.clone());
            m.on_death(&m[node], move |m, node| {
                runs.fetch_add(1, SeqCst);
                saved.set(m, Some(&m[node]));
            });
            let panics = list(&mut m, 1);
            m.on_death(&m[panics], |_, _| panic!("a finalizer may panic"));
        }
        m.collect();
        assert_eq!(runs.load(SeqCst), 1);
        assert_eq!(values(saved.get(&m).unwrap()), [2, 1, 0]);
        saved.clear(&m);
        m.collect();
        m.collect();
        assert_eq!(runs.load(SeqCst), 1);
        assert_eq!(heap.stats().panicked_finalizers, 1);
        assert_eq!(heap.stats().history.back().unwrap().marked_objects, 0);
    });
}

#[test]
fn an_identity_hash_survives_moving() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let nodes = m.alloc_refs::<Node>(100).unwrap();
        let mut hashes = Vec::new();
        for i in 0..100 {
            let mut m = m.scope();
            let node = list(&mut m, 1);
            m[nodes][i].set(Some(&m[node]));
            hashes.push(m[node].as_object().identity_hash());
        }
        for _ in 0..3 {
            m.collect();
            for (slot, hash) in m[nodes].iter().zip(&hashes) {
                assert_eq!(slot.get().unwrap().as_object().identity_hash(), *hash);
            }
        }
        hashes.sort();
        hashes.dedup();
        assert!(hashes.len() > 90);
    });
}

#[test]
fn arrays_and_strings_hold_what_they_were_given() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let text = m.alloc_str("Grüße, heap").unwrap();
        let bytes = m.alloc_bytes(&[1, 2, 3]).unwrap();
        let big = m.alloc_plain::<f64>(5000, 1.5).unwrap();
        let refs = m.alloc_refs::<Object>(3000).unwrap();
        m[refs][0].set(Some(m[text].as_object()));
        m[refs][2999].set(Some(m[bytes].as_object()));
        m.collect();
        let mut m = m;
        for i in 1..20 {
            let mut m = m.scope();
            let young = m.alloc_str(&i.to_string()).unwrap();
            m[refs][i].set(Some(m[young].as_object()));
        }
        m.collect_nursery();
        assert_eq!(&*m[text], "Grüße, heap");
        assert_eq!(m[bytes].to_vec(), [1, 2, 3]);
        assert!(m[big].iter().all(|value| value.get() == 1.5));
        assert_eq!(
            &**m[refs][0].get().unwrap().downcast::<Str>().unwrap(),
            "Grüße, heap"
        );
        assert!(m[refs][0].get().unwrap().downcast::<Bytes>().is_none());
        assert_eq!(
            m[refs][2999]
                .get()
                .unwrap()
                .downcast::<Bytes>()
                .unwrap()
                .len(),
            3
        );
        for i in 1..20 {
            let text = m[refs][i].get().unwrap().downcast::<Str>().unwrap();
            assert_eq!(&**text, i.to_string());
        }
        let copy = m.alloc_refs::<Object>(3000).unwrap();
        m[copy].copy_from(1, &m[refs], 0..2999);
        m[copy].copy_from(0, &m[copy], 1..3000);
        m.collect();
        for i in 0..2999 {
            let same = |a: &Object, b: &Object| std::ptr::eq(a, b);
            match (m[copy][i].get(), m[refs][i].get()) {
                (Some(a), Some(b)) => assert!(same(a, b)),
                (a, b) => assert!(a.is_none() && b.is_none()),
            }
        }
    });
}

#[test]
fn running_out_of_memory_is_an_error_that_says_who_holds_it() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let heap = Heap::builder()
            .max_bytes(8 << 20)
            .nursery_bytes(1 << 20)
            .collector(collector)
            .build()
            .unwrap();
        let mut m = heap.attach("main").unwrap();
        let head = list(&mut m, 1);
        let error = loop {
            let mut m = m.scope();
            match m.alloc(NodeInit {
                value: 7,
                next: Some(head),
                other: None,
            }) {
                Ok(node) => m.set_local(head, &m[node]),
                Err(error) => break error,
            }
        };
        assert_eq!(error.classes()[0].class, "Node");
        assert!(error.live_bytes() > 4 << 20, "{error}");
        assert!(error.live_bytes() <= 8 << 20, "{error}");
        let message = error.to_string();
        assert!(
            message.starts_with("out of memory: 24 bytes asked, "),
            "{message}"
        );
        // The heap is usable, and what is let go can be used again.
        m[head].next.clear();
        let long = list(&mut m, 50_000);
        assert_eq!(values(&m[long]).len(), 50_000);
        let error = m.alloc_refs::<Node>(usize::MAX).err().unwrap();
        assert!(error.asked_bytes() > 8 << 20);
    }
}

#[test]
fn a_churned_heap_gives_holes_back() {
    let heap = Heap::builder().max_bytes(256 << 20).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let all = m.alloc_refs::<Node>(200_000).unwrap();
    for i in 0..200_000 {
        let mut m = m.scope();
        let node = list(&mut m, 1);
        m[all][i].set(Some(&m[node]));
    }
    for i in (0..200_000).filter(|i| i % 7 != 0) {
        m[all][i].clear();
    }
    m.collect();
    let stats = heap.stats();
    let last = stats.history.back().unwrap();
    assert!(last.compacted_bytes > 0);
    assert!(last.heap_bytes * 2 < last.marked_bytes * 3, "{last}");
    assert!(m[all].iter().step_by(7).all(|slot| slot.get().is_some()));
}

#[test]
fn several_threads_share_a_heap() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let shared = m.alloc_refs::<Node>(4).unwrap();
        let count = m.alloc_plain::<u64>(1, 0).unwrap();
        let (shared, count) = (m.root(&m[shared]), m.root(&m[count]));
        m.blocked(|| {
            std::thread::scope(|scope| {
                for t in 0..4 {
                    let (heap, shared, count) = (&heap, shared.clone(), count.clone());
                    scope.spawn(move || {
                        let mut m = heap.attach(format!("worker {t}")).unwrap();
                        for _ in 0..20 {
                            let mut m = m.scope();
                            let node = list(&mut m, 10);
                            m[&shared][t].set(Some(&m[node]));
                            m[&count][0].update(|n| n + 1);
                            assert_eq!(values(&m[node]).len(), 10);
                        }
                    });
                }
            });
        });
        m.collect();
        assert_eq!(m[&count][0].get(), 80);
        for slot in m[&shared].iter() {
            assert_eq!(values(slot.get().unwrap()).len(), 10);
        }
    });
}

#[test]
#[should_panic(expected = "objects cannot be shared between heaps")]
fn a_reference_of_another_heap_is_refused() {
    let one = Heap::builder().build().unwrap();
    let two = Heap::builder().build().unwrap();
    let (mut m1, mut m2) = (one.attach("one").unwrap(), two.attach("two").unwrap());
    let (a, b) = (list(&mut m1, 1), list(&mut m2, 1));
    m1[a].next.set(Some(&m2[b]));
}

#[test]
#[should_panic(expected = "another mutator")]
fn a_local_of_another_mutator_is_refused() {
    let one = Heap::builder().build().unwrap();
    let two = Heap::builder().build().unwrap();
    let (mut m1, m2) = (one.attach("one").unwrap(), two.attach("two").unwrap());
    let a = list(&mut m1, 1);
    let _ = m2[a].value;
}

#[test]
fn a_thread_attaches_once() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("first").unwrap();
    let error = heap.attach("second").err().unwrap();
    assert_eq!(
        error.to_string(),
        "this thread is already attached to the heap, as `first`"
    );
    m.blocked(|| {
        heap.attach("second").unwrap().collect();
    });
}

#[test]
fn external_memory_brings_collections_nearer() {
    let heap = Heap::builder().max_bytes(64 << 20).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    for _ in 0..200 {
        let mut m = m.scope();
        let node = list(&mut m, 1);
        m.account_external(&m[node], 1 << 20);
        list(&mut m, 2000);
    }
    let stats = heap.stats();
    assert!(stats.full_collections >= 4, "{}", stats.full_collections);
    assert!(stats.history.iter().all(|it| it.external_bytes <= 64 << 20));
}

#[test]
fn a_pinned_object_stays_where_it_is() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let node = list(&mut m, 1);
        let pinned = m.pin(node);
        for _ in 0..4 {
            m.collect();
            assert_eq!(pinned.as_ptr(), &raw const m[pinned.root()]);
            assert_eq!(pinned.as_ptr(), &raw const m[node]);
        }
    });
}
