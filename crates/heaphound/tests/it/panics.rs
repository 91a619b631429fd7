//! Programs that go wrong: panics in user code, handles that outlive their heap,
//! scopes that are forgotten. The heap stays usable, or says clearly why not.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use heaphound::view::live_objects;
use heaphound::{Collector, Header, Heap, HeapBuilder, Managed, Mutator, Object, Slot};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
    next: Slot<Node>,
}

#[derive(Managed)]
#[repr(C)]
struct Fragile {
    header: Header,
    #[managed(owned)]
    bomb: Bomb,
    #[managed(owned)]
    bystander: Bystander,
}

/// More than fits into a block.
#[derive(Managed)]
#[repr(C)]
struct Large {
    header: Header,
    slots: [Slot<Object>; 4000],
}

/// Panics when dropped, if armed.
struct Bomb(bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0, "a bomb was dropped");
    }
}

/// Counts drops.
struct Bystander(Arc<AtomicUsize>);

impl Drop for Bystander {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn for_each_heap(f: impl Fn(HeapBuilder)) {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for zeal in [0, 2] {
            let builder = Heap::builder().max_bytes(64 << 20);
            f(builder.collector(collector).zeal(zeal).max_locals(4096));
        }
    }
}

/// Whether `f` panics; with what message.
fn panics(f: impl FnOnce()) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(f)).err()?;
    let text = payload.downcast_ref::<String>().cloned();
    let literal = payload.downcast_ref::<&str>().map(|it| it.to_string());
    Some(text.or(literal).unwrap_or_default())
}

fn node<'a>(m: &mut Mutator<'a>, value: u64) -> heaphound::Local<'a, Node> {
    m.alloc(NodeInit { value, next: None }).unwrap()
}

/// How many objects live.
fn live(m: &mut Mutator<'_>) -> usize {
    m.collect();
    m.inspect(|view| live_objects(view).len())
}

#[test]
fn a_panic_in_a_scope_lets_its_locals_go() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let kept = node(&mut m, 1);
        let message = panics(|| {
            let mut m = m.scope();
            node(&mut m, 2);
            let mut m = m.scope();
            node(&mut m, 3);
            panic!("in the middle");
        });
        assert_eq!(message.unwrap(), "in the middle");
        assert_eq!(live(&mut m), 1);
        assert_eq!(m[kept].value, 1);
        let after = node(&mut m, 4);
        assert_eq!(m[after].value, 4);
    });
}

#[test]
fn a_panic_in_scoped_leaves_the_outer_scope_as_it_was() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let message = panics(|| {
            let _ = m.scoped(|m| {
                node(m, 1);
                if m.name() == "main" {
                    panic!("in the middle");
                }
                m.alloc(NodeInit {
                    value: 2,
                    next: None,
                })
            });
        });
        assert!(message.is_some());
        assert_eq!(live(&mut m), 0);
    });
}

#[test]
fn a_panic_while_blocked_lets_the_mutator_run_again() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let kept = node(&mut m, 1);
        assert!(panics(|| m.blocked(|| panic!("while blocked"))).is_some());
        assert_eq!(live(&mut m), 1);
        assert_eq!(m[kept].value, 1);
    });
}

#[test]
fn a_mutator_that_is_attached_while_another_is_blocked_must_not_stay() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        // One that goes in time is welcome.
        let value = m.blocked(|| {
            let mut inner = heap.attach("inner").unwrap();
            let local = node(&mut inner, 7);
            inner[local].value
        });
        assert_eq!(value, 7);
        let message = panics(|| m.blocked(|| std::mem::forget(heap.attach("leaked").unwrap())));
        let message = message.unwrap();
        assert!(message.contains("`leaked` was attached while"), "{message}");
        // Both run now, on one thread: nobody waits for ever, and no object is lost.
        let kept = node(&mut m, 1);
        let message = panics(|| m.collect()).unwrap();
        assert!(message.contains("`leaked`"), "{message}");
        assert_eq!(m[kept].value, 1);
    });
}

#[test]
fn one_that_stays_because_of_a_panic_is_named_by_the_next_collection() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let hidden = std::cell::RefCell::new(None);
        let message = panics(|| {
            m.blocked(|| {
                *hidden.borrow_mut() = heap.attach("hidden").ok();
                panic!("in the middle");
            })
        });
        assert_eq!(message.unwrap(), "in the middle");
        let message = panics(|| m.collect()).unwrap();
        assert!(message.contains("`hidden`"), "{message}");
        // When it goes, all is well again.
        hidden.take();
        let kept = node(&mut m, 1);
        assert_eq!(live(&mut m), 1);
        assert_eq!(m[kept].value, 1);
    });
}

#[test]
fn a_panic_while_looking_at_the_heap_lets_the_world_run_again() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        node(&mut m, 1);
        assert!(panics(|| m.inspect(|_| panic!("while stopped"))).is_some());
        assert_eq!(live(&mut m), 1);
    });
}

#[test]
fn a_panic_in_one_finalizer_does_not_keep_the_others_from_running() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        for i in 0..10 {
            let mut m = m.scope();
            let node = node(&mut m, i);
            let runs = runs.clone();
            m.on_death(&m[node], move |m, it| {
                assert!(m[it].value % 2 == 0, "odd");
                m.alloc_str("finalizers may allocate").unwrap();
                runs.fetch_add(1, SeqCst);
            });
        }
        m.collect();
        assert_eq!(live(&mut m), 0);
        assert_eq!(runs.load(SeqCst), 5);
        assert_eq!(heap.stats().panicked_finalizers, 5);
    });
}

#[test]
fn a_panic_in_a_drop_does_not_keep_the_others_from_being_dropped() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let drops = Arc::new(AtomicUsize::new(0));
        for i in 0..10 {
            let mut m = m.scope();
            m.alloc(FragileInit {
                bomb: Bomb(i % 5 == 0),
                bystander: Bystander(drops.clone()),
            })
            .unwrap();
        }
        assert_eq!(live(&mut m), 0);
        assert_eq!(heap.stats().panicked_finalizers, 2);
        let whole = drops.load(SeqCst);
        assert!(whole >= 8, "{whole}");
        node(&mut m, 1);
        assert_eq!(live(&mut m), 1);
    });
}

#[test]
fn a_panic_in_a_drop_does_not_keep_a_heap_from_being_dropped() {
    let drops = Arc::new(AtomicUsize::new(0));
    let heap = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    for armed in [true, false, false] {
        m.alloc(FragileInit {
            bomb: Bomb(armed),
            bystander: Bystander(drops.clone()),
        })
        .unwrap();
    }
    drop(m);
    drop(heap);
    assert!(drops.load(SeqCst) >= 2);
}

#[test]
fn fields_behind_one_whose_drop_panics_are_dropped() {
    let drops = Arc::new(AtomicUsize::new(0));
    let heap = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    {
        let mut m = m.scope();
        m.alloc(FragileInit {
            bomb: Bomb(true),
            bystander: Bystander(drops.clone()),
        })
        .unwrap();
    }
    m.collect();
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn a_panic_about_a_panic_does_not_stop_finalization() {
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            panic!("a panic's payload was dropped");
        }
    }
    let heap = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    {
        let mut m = m.scope();
        let node = node(&mut m, 1);
        m.on_death(&m[node], |_, _| panic_any(Payload));
    }
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| m.collect())) {
        std::mem::forget(payload);
    }
    let runs = Arc::new(AtomicUsize::new(0));
    {
        let mut m = m.scope();
        let (node, runs) = (node(&mut m, 2), runs.clone());
        m.on_death(&m[node], move |_, _| {
            runs.fetch_add(1, SeqCst);
        });
    }
    m.collect();
    assert_eq!(runs.load(SeqCst), 1);
}

#[test]
fn a_refused_initial_value_leaves_no_object_behind() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let other_heap = Heap::builder().max_bytes(16 << 20).build().unwrap();
        let mut other = other_heap.attach("other").unwrap();
        let foreign = node(&mut other, 1);
        for _ in 0..5 {
            let small = panics(|| {
                let _ = m.alloc(NodeInit {
                    value: 1,
                    next: Some(foreign),
                });
            });
            assert!(small.unwrap().contains("another mutator"));
            let slots = [Some(foreign.upcast(&other)); 4000];
            let large = panics(|| {
                let _ = m.alloc(LargeInit { slots });
            });
            assert!(large.unwrap().contains("another mutator"));
            assert_eq!(live(&mut m), 0);
        }
        let large = m.alloc(LargeInit {
            slots: [None; 4000],
        });
        let (large, small) = (large.unwrap(), node(&mut m, 7));
        m[large].slots[3999].set(Some(m[small].as_object()));
        assert_eq!(live(&mut m), 2);
    });
}

#[test]
fn a_thread_that_panics_lets_a_waiting_collection_go_on() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            // Before the other one runs: it would wait at the barrier for ever if
            // this allocation had to stop it.
            let mut m = heap.attach("patient").unwrap();
            node(&mut m, 2);
            let stubborn = scope.spawn(|| {
                let mut m = heap.attach("stubborn").unwrap();
                node(&mut m, 1);
                both.wait();
                std::thread::sleep(Duration::from_millis(30));
                panic!("without ever passing a safepoint");
            });
            m.blocked(|| both.wait());
            assert_eq!(live(&mut m), 1);
            assert!(stubborn.join().is_err());
        });
    });
}

#[test]
fn a_thread_that_panics_lets_go_of_everything_it_held() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        m.blocked(|| {
            let outcome = std::thread::scope(|scope| {
                scope
                    .spawn(|| {
                        let mut m = heap.attach("worker").unwrap();
                        let held = node(&mut m, 1);
                        m.set_thread_object(Some(&m[held]));
                        let mut m = m.scope();
                        node(&mut m, 2);
                        panic!("in the middle");
                    })
                    .join()
            });
            assert!(outcome.is_err());
        });
        assert_eq!(live(&mut m), 0);
    });
}

#[test]
fn a_root_that_outlives_its_heap_does_nothing() {
    let heap = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let local = node(&mut m, 1);
    let (root, weak) = (m.root(&m[local]), m.weak(&m[local]));
    let (pinned, named) = (m.pin(local), m.static_root::<Node>("named"));
    drop(m);
    drop(heap);
    let copy = root.clone();
    drop(copy);
    drop(pinned);

    let other = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let m = other.attach("other").unwrap();
    let refused = "a handle of one heap was used with a mutator of another";
    let refuses = |f: &dyn Fn()| assert_eq!(panics(f).unwrap(), refused);
    refuses(&|| _ = m[&root].value);
    refuses(&|| _ = weak.get(&m));
    refuses(&|| _ = named.get(&m));
    refuses(&|| named.clear(&m));
}

#[test]
fn a_local_that_outlives_its_mutator_is_refused() {
    let heap = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let mut m = heap.attach("first").unwrap();
    let stale = node(&mut m, 1);
    drop(m);
    let mut m = heap.attach("second").unwrap();
    m.alloc_str("something of another class").unwrap();
    let message = panics(|| _ = m[stale].value);
    assert!(message.unwrap().contains("another mutator"));
}

#[test]
fn a_mutator_swapped_into_a_scope_cannot_answer_for_it() {
    let one = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let two = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let two: &'static Heap = Box::leak(Box::new(two));
    let mut m = one.attach("one").unwrap();
    m.alloc_str("something of another class").unwrap();
    let message = panics(|| {
        let _ = m.scoped(|m| {
            let mut swapped = two.attach("two").unwrap();
            std::mem::swap(m, &mut swapped);
            m.alloc(NodeInit {
                value: 1,
                next: None,
            })
        });
    });
    assert!(message.unwrap().contains("another mutator"));
}

#[test]
fn a_forgotten_scope_ends_with_the_one_around_it() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        {
            let mut outer = m.scope();
            let before = node(&mut outer, 1);
            let mut inner = outer.scope();
            node(&mut inner, 2);
            std::mem::forget(inner);
            assert_eq!(live(&mut outer), 2);
            let after = node(&mut outer, 3);
            assert_eq!(live(&mut outer), 3);
            assert_eq!((outer[before].value, outer[after].value), (1, 3));
        }
        assert_eq!(live(&mut m), 0);
    });
}

#[test]
fn a_forgotten_mutator_does_not_keep_its_heap_from_being_dropped() {
    let drops = Arc::new(AtomicUsize::new(0));
    let heap = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    m.alloc(FragileInit {
        bomb: Bomb(false),
        bystander: Bystander(drops.clone()),
    })
    .unwrap();
    std::mem::forget(m);
    drop(heap);
    assert!(drops.load(SeqCst) <= 1);
}

#[test]
fn too_many_locals_are_refused_with_advice() {
    let heap = Heap::builder()
        .max_bytes(16 << 20)
        .max_locals(100)
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let message = panics(|| {
        for i in 0.. {
            node(&mut m, i);
        }
    });
    assert!(message.unwrap().starts_with("more than 100 locals at once"));
    assert_eq!(live(&mut m), 100);
    drop(m);
    let mut m = heap.attach("main").unwrap();
    assert_eq!(live(&mut m), 0);
}

#[test]
fn mutators_of_the_same_name_are_told_apart() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut m = heap.attach("worker").unwrap();
                    node(&mut m, 1);
                    m.blocked(|| both.wait());
                    assert_eq!(live(&mut m), 2);
                    m.blocked(|| both.wait());
                });
            }
        });
    });
}

#[test]
fn both_finalizers_of_an_object_run_after_the_collection_that_finds_it_dead() {
    for_each_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let (sender, receiver) = channel();
        {
            let mut m = m.scope();
            let node = node(&mut m, 1);
            for name in ["first", "second"] {
                let sender = sender.clone();
                m.on_death(&m[node], move |_, _| sender.send(name).unwrap());
            }
        }
        m.collect();
        assert_eq!(receiver.try_iter().count(), 2);
    });
}
