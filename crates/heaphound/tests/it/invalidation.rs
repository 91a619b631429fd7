//! References that `unique` has invalidated: who may still do what with them.
#![cfg(feature = "barrier")]

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;

use heaphound::{
    Collector, Finalization, Header, Heap, HeapBuilder, Invalidated, InvalidationOff, Local,
    Managed, Mutator, Object, Ref, Slot, Str, WeakSlot,
};

use crate::panic_hook;

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
    next: Slot<Node>,
}

#[derive(Managed)]
#[repr(C)]
struct Holder {
    header: Header,
    always: Ref<Node>,
    maybe: Slot<Node>,
    weak: WeakSlot<Node>,
    several: [Slot<Node>; 2],
}

/// Counts its drops.
#[derive(Managed)]
#[repr(C)]
struct Mortal {
    header: Header,
    #[managed(owned)]
    drops: Counter,
}

struct Counter(Arc<AtomicUsize>);

impl Drop for Counter {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn for_each_heap(f: impl Fn(HeapBuilder)) {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for threads in [1, 2] {
            for zeal in [0, 1, 3] {
                f(Heap::builder()
                    .max_bytes(64 << 20)
                    .collector(collector)
                    .collector_threads(threads)
                    .invalidation(true)
                    .zeal(zeal));
            }
        }
    }
}

fn node<'a>(m: &mut Mutator<'a>, value: u64) -> Local<'a, Node> {
    m.alloc(NodeInit { value, next: None }).unwrap()
}

fn holder<'a>(m: &mut Mutator<'a>, node: Local<'_, Node>) -> Local<'a, Holder> {
    m.alloc(HolderInit {
        always: node,
        maybe: Some(node),
        weak: Some(node),
        several: [Some(node), None],
    })
    .unwrap()
}

/// The message of the panic that `f` ends with, and the line that is blamed.
#[track_caller]
fn panic_of<R>(f: impl FnOnce() -> R) -> (String, String) {
    panic_hook::install();
    let payload = catch_unwind(AssertUnwindSafe(f)).err().expect("a panic");
    (
        *payload.downcast().expect("a message"),
        panic_hook::take_place(),
    )
}

/// That `f` cannot read its reference, because of `unique` at that line of this file.
#[track_caller]
fn check_refused<R>(line: u32, f: impl FnOnce() -> R) {
    let (message, place) = panic_of(f);
    let file = file!();
    let start = format!("this reference to a Node was invalidated by `unique` at {file}:{line}:");
    assert!(message.starts_with(&start), "{message}");
    let here = Location::caller();
    assert!(
        place.starts_with(&format!("{file}:{}:", here.line())),
        "a reader at {here}, but {place} is blamed"
    );
}

#[test]
fn every_other_reference_is_refused_and_the_call_is_named() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let keep = node(&mut m, 7);
        let (copy, local) = (keep, m.local(&m[keep]));
        let object = keep.upcast(&m);
        let holder = holder(&mut m, keep);
        let array = m.alloc_refs::<Node>(5000).unwrap();
        m[array][0].set(Some(&m[keep]));
        m[array][4999].set(Some(&m[keep]));
        let class = heap.define_class("Dynamic").slot("it").define().unwrap();
        let instance = m.alloc_instance(&class).unwrap();
        m[instance][0].set(Some(m[keep].as_object()));
        let root = m.root(&m[keep]);
        let weak = m.weak(&m[keep]);
        let pinned = m.pin(keep);
        let global = m.static_root::<Node>("global");
        global.set(&m, Some(&m[keep]));
        m.set_thread_object(Some(&m[keep]));

        let line = line!() + 1;
        let count = m.unique(keep).unwrap();
        assert_eq!(count, 2 + 4 + 2 + 1 + 5);
        let check = |m: &Mutator<'_>| {
            assert_eq!((m[keep].value, m[copy].value), (7, 7));
            check_refused(line, || m[local].value);
            check_refused(line, || m[object].class());
            check_refused(line, || m[holder].always.get().value);
            check_refused(line, || m[holder].maybe.get().is_some());
            check_refused(line, || m[holder].weak.get().is_some());
            check_refused(line, || m[holder].several[0].get().is_some());
            check_refused(line, || m[array][0].get().is_some());
            check_refused(line, || m[array][4999].get().is_some());
            check_refused(line, || m[instance][0].get().is_some());
            check_refused(line, || m[&root].value);
            check_refused(line, || m[pinned.root()].value);
            check_refused(line, || weak.get(m).is_some());
            check_refused(line, || global.get(m).is_some());
            assert!(m[holder].several[1].get().is_none());
            assert!(m[array][1].get().is_none());
        };
        check(&m);
        m.collect_nursery();
        check(&m);
        for i in 0..50 {
            node(&mut m, i);
        }
        m.collect();
        m.collect();
        check(&m);
    });
}

#[test]
fn try_get_answers_with_an_error() {
    let heap = Heap::builder().invalidation(true).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let keep = node(&mut m, 1);
    let local = m.local(&m[keep]);
    let holder = holder(&mut m, keep);
    let (root, weak) = (m.root(&m[keep]), m.weak(&m[keep]));
    let global = m.static_root::<Node>("global");
    global.set(&m, Some(&m[keep]));

    assert_eq!(m.try_get(local).unwrap().value, 1);
    assert_eq!(m[holder].always.try_get().unwrap().value, 1);
    assert!(m[holder].maybe.try_get().unwrap().is_some());
    assert!(m[holder].weak.try_get().unwrap().is_some());
    assert!(m[holder].several[1].try_get().unwrap().is_none());
    assert_eq!(root.try_get(&m).unwrap().value, 1);
    assert!(weak.try_get(&m).unwrap().is_some());
    assert!(global.try_get(&m).unwrap().is_some());

    let line = line!() + 1;
    m.unique(keep).unwrap();
    let it = &m[holder];
    let errors: [Option<Invalidated>; 7] = [
        m.try_get(local).err(),
        it.always.try_get().err(),
        it.maybe.try_get().err(),
        it.weak.try_get().err(),
        root.try_get(&m).err(),
        weak.try_get(&m).err(),
        global.try_get(&m).err(),
    ];
    for error in errors {
        let error = error.unwrap();
        assert_eq!((error.by(), error.class()), ("unique", "Node"));
        assert_eq!(
            error.place().map(|place| (place.file(), place.line())),
            Some((file!(), line))
        );
    }
    assert_eq!(m.try_get(keep).unwrap().value, 1);
}

#[test]
fn an_invalidated_slot_is_not_null_and_can_be_set_again() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let keep = node(&mut m, 1);
        let holder = holder(&mut m, keep);
        let local = m.local(&m[keep]);
        let line = line!() + 1;
        m.unique(keep).unwrap();
        let (it, target) = (&m[holder], Some(&m[keep]));
        assert!(!it.maybe.is_null());
        assert!(!it.maybe.compare_and_set(target, None));
        assert!(!it.maybe.compare_and_set(None, target));
        check_refused(line, || it.maybe.get().is_some());
        it.maybe.set(target);
        it.weak.set(target);
        it.always.set(&m[keep]);
        m.set_local(local, &m[keep]);
        m.collect();
        let it = &m[holder];
        assert!(std::ptr::eq(it.maybe.get().unwrap(), &m[keep]));
        assert!(std::ptr::eq(it.weak.get().unwrap(), &m[keep]));
        assert!(std::ptr::eq(it.always.get(), &m[local]));
        let line = line!() + 1;
        assert_eq!(m.unique(keep).unwrap(), 4);
        check_refused(line, || m[holder].maybe.get().is_some());
    });
}

#[test]
fn copies_of_an_invalidated_reference_are_as_invalid() {
    let heap = Heap::builder().invalidation(true).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let keep = node(&mut m, 1);
    let local = m.local(&m[keep]);
    let array = m.alloc_refs::<Node>(4).unwrap();
    m[array][0].set(Some(&m[keep]));
    let line = line!() + 1;
    m.unique(keep).unwrap();
    m[array].copy_from(1, &m[array], 0..3);
    check_refused(line, || m[array][1].get().is_some());
    let upcast = local.upcast(&m);
    check_refused(line, || m[upcast].class());
    let filled = holder(&mut m, local);
    m.collect();
    check_refused(line, || m[filled].always.get().value);
    check_refused(line, || m.unique(local));
    check_refused(line, || m.pin(local).address());
}

#[test]
fn a_finalizer_that_waits_is_a_reference() {
    for_each_heap(|builder| {
        let heap = builder.finalization(Finalization::OnRequest);
        let heap = heap.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let [called, others] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        {
            let mut m = m.scope();
            let target = node(&mut m, 1);
            let holder = holder(&mut m, target);
            // Old objects are finalized in the order in which they were watched, the last one first: the
            // node still waits.
            m.collect();
            let count = called.clone();
            m.on_death(&m[target], move |_, _| {
                count.fetch_add(1, SeqCst);
            });
            let count = others.clone();
            m.on_death(&m[holder], move |m, it| {
                let keep = m.local(m[it].always.get());
                count.store(m.unique(keep).unwrap(), SeqCst);
            });
        }
        m.collect();
        m.run_finalizers();
        assert_eq!(others.load(SeqCst), 5, "four slots and the finalizer");
        assert_eq!(called.load(SeqCst), 0, "it would be another reference");
        for _ in 0..2 {
            m.collect();
            m.run_finalizers();
            assert_eq!(called.load(SeqCst), 1, "the next death is the last");
        }
    });
}

#[test]
fn an_invalidated_reference_retains_nothing() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let drops = Arc::new(AtomicUsize::new(0));
        let array = m.alloc_refs::<Mortal>(3).unwrap();
        let root = {
            let mut m = m.scope();
            let counter = Counter(drops.clone());
            let keep = m.alloc(MortalInit { drops: counter }).unwrap();
            m[array][1].set(Some(&m[keep]));
            let root = m.root(&m[keep]);
            assert_eq!(m.unique(keep).unwrap(), 2);
            m.collect();
            assert_eq!(drops.load(SeqCst), 0);
            root
        };
        m.collect();
        assert_eq!(drops.load(SeqCst), 1);
        let (error, same) = (m[array][1].try_get().err(), root.try_get(&m).err());
        assert!(error.is_some() && error == same);
    });
}

#[test]
fn the_heap_is_shown_with_references_that_were_invalidated() {
    let heap = Heap::builder().invalidation(true).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let keep = node(&mut m, 1);
    holder(&mut m, keep);
    m.unique(keep).unwrap();
    let mut text = Vec::new();
    let heap = m.capture(heaphound::PlainData::All);
    heaphound::file::write_text(&heap, &mut text, &mut |_, _| {}).unwrap();
    let text = String::from_utf8(text).unwrap();
    let objects = text.split_once("root").unwrap().1;
    let holder = "{ always -> cut, maybe -> cut, weak -weak-> cut, several[0] -> cut }";
    assert!(objects.contains(holder), "{text}");
    assert_eq!(heap.edges(), 0, "{text}");
}

#[test]
fn another_threads_references_are_invalidated_too() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let global_name = "handed over";
        std::thread::scope(|scope| {
            let (to_main, from_other) = channel();
            let (to_other, from_main) = channel::<u32>();
            let heap = &heap;
            scope.spawn(move || {
                let mut m = heap.attach("other").unwrap();
                let (local, own) = (node(&mut m, 5), node(&mut m, 6));
                m.set_thread_object(Some(&m[local]));
                let global = m.static_root::<Node>(global_name);
                global.set(&m, Some(&m[local]));
                let line = m.blocked(|| {
                    to_main.send(()).unwrap();
                    from_main.recv().unwrap()
                });
                check_refused(line, || m[local].value);
                check_refused(line, || global.get(&m).is_some());
                assert_eq!(m[own].value, 6);
            });
            let mut m = heap.attach("main").unwrap();
            m.blocked(|| from_other.recv().unwrap());
            let global = m.static_root::<Node>(global_name);
            let keep = m.local(global.get(&m).unwrap());
            let line = line!() + 1;
            assert_eq!(m.unique(keep).unwrap(), 3);
            to_other.send(line).unwrap();
            assert_eq!(m[keep].value, 5);
        });
    });
}

#[test]
fn a_weak_map_forgets_an_invalidated_key_and_refuses_an_invalidated_value() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let map = m.alloc_weak_map::<Node, Node>().unwrap();
        let keys: Vec<_> = (0..6).map(|i| node(&mut m, i)).collect();
        let value = node(&mut m, 100);
        for &key in &keys {
            m.weak_map_insert(map, key, value).unwrap();
        }
        let shared = node(&mut m, 101);
        m.weak_map_insert(map, keys[1], shared).unwrap();
        assert_eq!(m.unique(keys[0]).unwrap(), 1);
        assert_eq!((m[map].len(), m[map].get(&m[keys[0]]).is_none()), (5, true));
        let line = line!() + 1;
        assert_eq!(m.unique(shared).unwrap(), 1);
        check_refused(line, || m[map].get(&m[keys[1]]).is_some());
        check_refused(line, || m[map].for_each(|_, _| ()));
        assert_eq!(m[map].len(), 5);
        // The map grows, with the invalid value in it.
        for i in 0..50 {
            let key = node(&mut m, i);
            m.weak_map_insert(map, key, value).unwrap();
        }
        assert_eq!(m[map].len(), 55);
        check_refused(line, || m[map].get(&m[keys[1]]).is_some());
        assert_eq!(m[map].get(&m[keys[2]]).unwrap().value, 100);
        m.weak_map_insert(map, keys[1], value).unwrap();
        m.weak_map_insert(map, keys[0], value).unwrap();
        m.collect();
        assert_eq!(m[map].get(&m[keys[1]]).unwrap().value, 100);
        assert_eq!(m[map].len(), 56);
        assert!(m[map].remove(&m[keys[1]]));
    });
}

#[test]
fn with_the_pin_its_promise_goes() {
    let heap = Heap::builder()
        .max_bytes(64 << 20)
        .invalidation(true)
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    // One survivor in each of many blocks, so that compaction moves most.
    let survivors = m.alloc_refs::<Node>(500).unwrap();
    for i in 0..500 {
        let mut m = m.scope();
        let survivor = node(&mut m, i as u64);
        m[survivors][i].set(Some(&m[survivor]));
        for _ in 0..1000 {
            let mut m = m.scope();
            node(&mut m, 0);
        }
    }
    let pins: Vec<_> = (0..500)
        .map(|i| {
            let mut m = m.scope();
            let it = m.local(m[survivors][i].get().unwrap());
            m.pin(it)
        })
        .collect();
    m.collect();
    assert_eq!(heap.stats().history.back().unwrap().compacted_bytes, 0);
    for i in 0..500 {
        let mut m = m.scope();
        let it = m.local(m[survivors][i].get().unwrap());
        assert_eq!(m.unique(it).unwrap(), 2);
        m[survivors][i].set(Some(&m[it]));
    }
    m.collect();
    let moved = |i: usize| !std::ptr::eq(m[survivors][i].get().unwrap(), pins[i].as_ptr());
    assert!((0..500).filter(|&i| moved(i)).count() > 250);
    assert!((0..500).all(|i| m[survivors][i].get().unwrap().value == i as u64));
}

#[test]
fn an_object_that_awaits_its_finalizer_loses_its_references_too() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let keep = node(&mut m, 1);
        let seen = Arc::new(AtomicUsize::new(0));
        {
            let mut m = m.scope();
            let owner = node(&mut m, 2);
            m[owner].next.set(Some(&m[keep]));
            let seen = seen.clone();
            m.on_death(&m[owner], move |m, owner| {
                assert_eq!(m[owner].value, 2);
                assert!(m[owner].next.try_get().is_err());
                seen.fetch_add(1, SeqCst);
            });
        }
        // The owner is dead, but nobody knows yet.
        assert_eq!(m.unique(keep).unwrap(), 1);
        assert_eq!(seen.load(SeqCst), 1);
        assert_eq!(heap.stats().panicked_finalizers, 0);
    });
}

#[test]
fn the_dead_do_not_count() {
    let heap = Heap::builder().invalidation(true).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let keep = node(&mut m, 1);
    {
        let mut m = m.scope();
        holder(&mut m, keep);
        drop(m.root(&m[keep]));
    }
    assert_eq!(m.unique(keep).unwrap(), 0);
}

#[test]
fn objects_of_any_class_can_be_unique() {
    let heap = Heap::builder().invalidation(true).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let text = m.alloc_str("text").unwrap();
    let alias = m.local::<Str>(&m[text]);
    let object: Local<'_, Object> = text.upcast(&m);
    assert_eq!(m.unique(object).unwrap(), 2);
    let error = m.try_get(alias).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("this reference to a Str was invalidated by `unique` at "),
        "{error}"
    );
    assert_eq!(&**m[object].downcast::<Str>().unwrap(), "text");
}

#[test]
fn a_heap_says_that_it_was_not_built_for_it() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let keep = node(&mut m, 1);
    let alias = m.local(&m[keep]);
    assert_eq!(m.unique(keep), Err(InvalidationOff));
    assert_eq!(
        InvalidationOff.to_string(),
        "this heap cannot invalidate references: build it with `HeapBuilder::invalidation(true)`"
    );
    assert_eq!(m[alias].value, 1);
}

#[test]
fn a_heap_that_invalidates_has_at_most_seven_gib() {
    let build = |bytes, on| Heap::builder().max_bytes(bytes).invalidation(on).build();
    assert!(build(7 << 30, true).is_ok());
    assert_eq!(
        build(8 << 30, true).err().unwrap().to_string(),
        "cannot build the heap: max_bytes is 8589934592, but must be between 1048576 and \
         7516192768 in a heap that invalidates or prunes references"
    );
    assert!(build(16 << 30, false).is_ok());
}
