//! Summaries and shapes are exact whatever else a collection does: assertions that check, that
//! force what they say, inquiries, questions, finalizers, weak maps, other threads, compaction.
#![cfg(all(feature = "assertions", feature = "barrier"))]

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use heaphound::analysis::shape::{Measure, Profile, measure_view};
use heaphound::analysis::summary::summarize;
use heaphound::{
    AssertionKind, Check, Collector, Finalization, Growth, Header, Heap, HeapBuilder, Local,
    Managed, MarkedHeap, Mutator, Object, Reaction, RefArray, Registration, Rules, Shapes, Slot,
    StoppedHeap, Var, check::Counted, check::Found, check::Needs,
};
use heaphound_testkit::dice::Dice;

use crate::panic_hook;

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    number: Var<u64>,
    next: Slot<Node>,
    prev: Slot<Node>,
    any: Slot<Object>,
}

/// Measures whose sums tell only which of them are equal: they are of other numbers.
fn alike(mut measures: Vec<Measure>) -> Vec<Measure> {
    for measure in &mut measures {
        let all: Vec<u64> = measure.matches.values().copied().collect();
        for sum in measure.matches.values_mut() {
            *sum = all.iter().position(|it| it == sum).unwrap() as u64;
        }
    }
    measures
}

#[derive(Default)]
struct Seen {
    collections: usize,
    quick: usize,
    wrong: Vec<String>,
}

/// Compares what is counted with the view, at every collection.
struct Comparing(Arc<Mutex<Seen>>);

impl Check for Comparing {
    fn needs(&mut self) -> Needs {
        Needs::shapes()
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, it: &Counted<'_>, _: &mut Found<'_>) {
        let mut seen = self.0.lock().unwrap();
        seen.collections += 1;
        let twin = summarize(heap);
        if *it.summary.unwrap() != twin {
            let told = format!("{}: {:#?}\n{twin:#?}", it.collection, it.summary);
            seen.wrong.push(told);
        }
        let shapes = it.shapes.unwrap();
        seen.quick += !shapes.recounted as usize;
        let found = alike(shapes.measures.to_vec());
        let twins = alike(measure_view(heap));
        if found != twins {
            let told = format!("{}: {found:#?}\n{twins:#?}", it.collection);
            seen.wrong.push(told);
        }
    }
}

/// Panics when it looks.
struct Panicking;

impl Check for Panicking {
    fn needs(&mut self) -> Needs {
        Needs::summary()
    }

    fn conclude(&mut self, _: &MarkedHeap<'_>, _: &Counted<'_>, _: &mut Found<'_>) {
        panic!("an observer panics");
    }
}

/// Traces the whole heap before it is marked.
struct Tracing;

impl Check for Tracing {
    fn before(&mut self, heap: &StoppedHeap<'_>) {
        assert!(summarize(heap).objects() < u64::MAX);
    }
}

const NODES: usize = 60;

fn quiet() -> Reaction {
    Reaction::Call(Arc::new(|_| {}))
}

fn node<'a>(m: &mut Mutator<'a>, number: u64) -> Local<'a, Node> {
    let node = NodeInit {
        number,
        next: None,
        prev: None,
        any: None,
    };
    m.alloc(node).unwrap()
}

/// Something that a program may do.
fn act(m: &mut Mutator<'_>, all: Local<'_, RefArray<Node>>, dice: &mut Dice) {
    let mut m = m.scope();
    let at = dice.below(NODES);
    let other = dice.below(NODES);
    match dice.below(16) {
        0..=3 => {
            let new = node(&mut m, at as u64);
            m[all][at].set(Some(&m[new]));
        }
        4..=7 => {
            if let (Some(a), Some(b)) = (m[all][at].get(), m[all][other].get()) {
                a.next.set(Some(b));
                b.prev.set(Some(a));
            }
        }
        8 => {
            if let Some(a) = m[all][at].get() {
                let object = match dice.below(3) {
                    0 => Some(m[all].as_object()),
                    1 => m[all][other].get().map(Managed::as_object),
                    _ => None,
                };
                a.any.set(object);
            }
        }
        9 => m[all][at].clear(),
        10 => {
            if let Some(a) = m[all][at].get() {
                m.assert_unshared(m.local(a));
            }
        }
        11 => {
            if let Some(a) = m[all][at].get() {
                m.expect().reaction(Reaction::ForceTrue).dead(m.local(a));
            }
        }
        12 => {
            if let (Some(a), Some(b)) = (m[all][at].get(), m[all][other].get()) {
                m.assert_owned_by(m.local(a), m.local(b));
            }
        }
        13 => {
            m.assert_instances::<Node>(dice.below(NODES));
            m.assert_volume::<Node>(dice.below(NODES) * 32);
        }
        14 => {
            if let Some(a) = m[all][at].get() {
                m.on_death(a, |m, it| assert!(m[it].number.get() < NODES as u64));
            }
        }
        _ => {
            let key = m[all][at].get().map(|it| m.local(it));
            let value = m[all][other].get().map(|it| m.local(it));
            if let (Some(key), Some(value)) = (key, value) {
                let map = m.alloc_weak_map::<Node, Node>().unwrap();
                m.weak_map_insert(map, key, value).unwrap();
                m[key].any.set(Some(m[map].as_object()));
            }
        }
    }
}

/// Rules that ride on the marking, with relations and exclusions or without.
fn rules(
    heap: &Heap,
    m: &mut Mutator<'_>,
    all: Local<'_, RefArray<Node>>,
    dice: &mut Dice,
) -> Vec<Registration> {
    let texts = [
        "assertion(forall Node x: x.number < 1000)",
        "assertion(forall Node x: reach[a](x) -> x.next != x)",
        "assertion(exists Node x: reach[a/b](x) && x.prev != null)",
        "assertDisjoint(forall Node x: reach[a/b](x) || reach[b](x) || x.number < 1000)",
    ];
    let [a, b] = [0, 1].map(|number| node(m, number));
    m[a].next.set(Some(&m[b]));
    m[all][0].set(Some(&m[b]));
    let mut rules = Vec::new();
    for _ in 0..dice.below(4) {
        let text = texts[dice.below(texts.len())];
        let deal = Rules::new(text).bind(m, "a", a).bind(m, "b", b);
        rules.push(deal.register(heap, m, Some(quiet())).unwrap());
    }
    rules
}

fn check(builder: HeapBuilder, seed: u64) -> (usize, usize) {
    let heap = builder.build().unwrap();
    for kind in [
        AssertionKind::Dead,
        AssertionKind::Instances,
        AssertionKind::Volume,
        AssertionKind::Unshared,
        AssertionKind::OwnedBy,
    ] {
        heap.set_reaction(kind, quiet());
    }
    let dice = &mut Dice(seed);
    let seen = Arc::new(Mutex::new(Seen::default()));
    let comparing = Box::new(Comparing(seen.clone()));
    let mut watches = vec![heap.watch(comparing, Some(quiet()))];
    let growth = Growth::new().register(&heap, Some(quiet()));
    let shapes = Shapes::learning(Profile::default()).register(&heap, Some(quiet()));
    if dice.below(3) == 0 {
        watches.push(heap.watch(Box::new(Panicking), Some(quiet())));
    }
    if dice.below(3) == 0 {
        watches.push(heap.watch(Box::new(Tracing), Some(quiet())));
    }
    let (leave, left) = channel::<()>();
    std::thread::scope(|scope| {
        let heap = &heap;
        let (ready, is_ready) = channel();
        scope.spawn(move || {
            // Detached while it waits, and holds something.
            let mut m = heap.attach("other").unwrap();
            let own = node(&mut m, 0);
            let next = node(&mut m, 1);
            m[own].next.set(Some(&m[next]));
            ready.send(()).unwrap();
            m.blocked(|| left.recv().unwrap_err());
        });
        is_ready.recv().unwrap();
        let mut m = heap.attach("main").unwrap();
        let all = m.alloc_refs::<Node>(NODES).unwrap();
        let _rules = rules(heap, &mut m, all, &mut Dice(!seed));
        for round in 0..14 {
            for _ in 0..dice.below(60) {
                act(&mut m, all, dice);
            }
            match dice.below(6) {
                0 => {
                    let shared = m.ask_and_collect(|heap| heap.id(all).is_ok());
                    assert!(shared);
                }
                1 => {
                    let _ = m.is_shared(all).unwrap();
                    m.collect();
                }
                2 => {
                    m.collect_nursery();
                    m.collect();
                }
                _ => m.collect(),
            }
            let last = heap.summary().unwrap();
            let (twin, twins) = m.inspect(|view| (summarize(view), measure_view(view)));
            assert_eq!(*last.summary, twin, "seed {seed}, round {round}");
            let found = alike(shapes.measures());
            assert_eq!(found, alike(twins), "seed {seed}, round {round}");
            assert!(growth.cork().collections() > 0);
            m.run_finalizers();
        }
        drop(m);
        drop(leave);
    });
    drop(watches);
    let seen = seen.lock().unwrap();
    assert!(seen.wrong.is_empty(), "seed {seed}: {}", seen.wrong[0]);
    (seen.collections, seen.quick)
}

#[test]
fn whatever_else_a_collection_does_it_counts_right() {
    panic_hook::install();
    let (mut collections, mut quick) = (0, 0);
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for (threads, zeal, seeds) in [(1, 0, 120), (4, 0, 40), (1, 3, 20), (4, 7, 8)] {
            for seed in 0..seeds {
                let builder = Heap::builder()
                    .max_bytes(64 << 20)
                    .nursery_bytes(64 << 10)
                    .max_locals(4096)
                    .collector(collector)
                    .collector_threads(threads)
                    .finalization(Finalization::OnRequest)
                    .invalidation(true)
                    .zeal(zeal);
                let done = check(builder, seed);
                collections += done.0;
                quick += done.1;
            }
        }
    }
    assert!(quick * 4 > collections, "{quick} of {collections}");
}

#[test]
fn a_heap_that_is_full_is_counted_right_twice() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for threads in [1, 4] {
            let heap = Heap::builder()
                .max_bytes(2 << 20)
                .nursery_bytes(64 << 10)
                .collector(collector)
                .collector_threads(threads)
                .build()
                .unwrap();
            let seen = Arc::new(Mutex::new(Seen::default()));
            let watch = heap.watch(Box::new(Comparing(seen.clone())), Some(quiet()));
            let mut m = heap.attach("main").unwrap();
            m.assert_instances::<Node>(7);
            heap.set_reaction(AssertionKind::Instances, quiet());
            let first = node(&mut m, 0);
            let full = loop {
                let mut m = m.scope();
                let new = m.alloc(NodeInit {
                    number: 1,
                    next: m[first].next.get().map(|it| m.local(it)),
                    prev: None,
                    any: None,
                });
                match new {
                    Ok(new) => m[first].next.set(Some(&m[new])),
                    Err(full) => break full,
                }
            };
            let last = heap.summary().unwrap();
            let class = last.class("Node").unwrap().id;
            let total = last.summary.class(class);
            let share = &full.classes()[0];
            assert_eq!(share.class, "Node");
            assert_eq!(share.objects as u64, total.objects);
            assert_eq!(share.bytes as u64, total.volume_bytes);
            let seen = seen.lock().unwrap();
            assert!(seen.wrong.is_empty(), "{}", seen.wrong[0]);
            drop(watch);
        }
    }
}

#[test]
fn a_program_that_growth_halts_can_still_be_asked_why() {
    let heap = Heap::builder().build().unwrap();
    let growth = Growth::new().register(&heap, Some(Reaction::Halt));
    let mut m = heap.attach("main").unwrap();
    let first = node(&mut m, 0);
    let mut day = || {
        for _ in 0..200 {
            let mut m = m.scope();
            let next = m[first].next.get().map(|it| m.local(it));
            let new = node(&mut m, 1);
            m[new].next.set(next.map(|it| &m[it]));
            m[first].next.set(Some(&m[new]));
        }
        m.collect();
    };
    let halted = |day: &mut dyn FnMut()| {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(day));
        done.is_err()
    };
    let days = (1..20).find(|_| halted(&mut day));
    assert_eq!(days, Some(6));
    assert!(halted(&mut day), "it does not go on");
    assert_eq!(heap.findings().len(), 1);
    assert_eq!(growth.candidates()[0].objects, 1_201);
    let last = heap.summary().unwrap();
    assert_eq!(last.summary.volume_bytes(), 1_201 * 32);
}
