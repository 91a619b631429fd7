//! Summaries of live heaps, counted while they are marked, are those of their views.
//!
//! `HEAPHOUND_CASES` multiplies the number of random programs.

use std::sync::{Arc, Mutex};

use heaphound::analysis::shape::{HashSum, Profile, measure_view};
use heaphound::analysis::summary::{Summary, summarize};
use heaphound::{
    Check, Collector, Finalization, Growth, Header, Heap, HeapBuilder, Instance, Managed,
    MarkedHeap, Mutator, Object, RefArray, Shapes, Slot, StoppedHeap, Var, check::Counted,
    check::Found, check::Needs,
};
use heaphound_testkit::cases::config;
use heaphound_testkit::{Setting, programs, run_attached};
use proptest::test_runner::TestRunner;

/// Compares each summary with the view's, and keeps what differs.
struct Comparing {
    wants: Needs,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    collections: usize,
    edges: usize,
    backbones: usize,
    /// Collections with backbones whose degrees were counted while they were marked.
    quick: usize,
    /// Slots along which rings were looked for.
    walked: usize,
    wrong: Vec<String>,
}

impl Check for Comparing {
    fn needs(&mut self) -> Needs {
        self.wants.clone()
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, it: &Counted<'_>, _: &mut Found<'_>) {
        let mut seen = self.seen.lock().unwrap();
        seen.collections += 1;
        seen.edges += it.summary.unwrap().edges().len();
        let twin = summarize(heap);
        if *it.summary.unwrap() != twin {
            let what = format!("{}: {:#?}\n{twin:#?}", it.collection, it.summary);
            seen.wrong.push(what);
        }
        if let Some(shapes) = it.shapes {
            let mut found = shapes.measures.to_vec();
            let mut twins = measure_view(heap);
            seen.backbones += found.len();
            let sums = found.iter().flat_map(|it| it.matches.keys());
            seen.walked += sums.filter(|it| matches!(it, HashSum::Rings(_))).count();
            seen.quick += (!shapes.recounted && !found.is_empty()) as usize;
            for measure in found.iter_mut().chain(&mut twins) {
                // The sums are of other numbers; which of them are equal is the same.
                let all: Vec<u64> = measure.matches.values().copied().collect();
                for sum in measure.matches.values_mut() {
                    *sum = all.iter().position(|it| it == sum).unwrap() as u64;
                }
            }
            if found != twins {
                seen.wrong.push(format!("{found:#?}\n{twins:#?}"));
            }
        }
    }
}

/// An inquiry that traces the whole heap before it is marked.
struct Tracing;

impl Check for Tracing {
    fn before(&mut self, heap: &StoppedHeap<'_>) {
        assert!(heap.collector_threads() > 0 && summarize(heap).edges().len() < usize::MAX);
    }
}

fn builder(collector: Collector, threads: usize) -> HeapBuilder {
    Heap::builder()
        .max_bytes(64 << 20)
        .nursery_bytes(64 << 10)
        .collector(collector)
        .collector_threads(threads)
        .max_locals(4096)
}

/// Runs random programs, each collection of which is compared.
fn check(usual: u32, builder: HeapBuilder, zeal: u32, wants: Needs, inquires: bool) {
    let all = Arc::new(Mutex::new(Seen::default()));
    let result = TestRunner::new(config(usual)).run(&programs(120), |program| {
        let heap = builder.clone().zeal(zeal).build().unwrap();
        let seen = all.clone();
        let watch = heap.watch(
            Box::new(Comparing {
                wants: wants.clone(),
                seen,
            }),
            None,
        );
        let inquiry = inquires.then(|| heap.watch(Box::new(Tracing), None));
        let setting = Setting {
            // The nursery is so small that litter fills it.
            collects_by_itself: true,
            exact_finalization: zeal > 0,
            shared: None,
        };
        let afterlife = run_attached(&heap, "main", setting, &program);
        afterlife.check();
        drop((watch, inquiry));
        assert!(heap.findings().is_empty(), "an observer panicked");
        let wrong = std::mem::take(&mut all.lock().unwrap().wrong);
        assert!(wrong.is_empty(), "{}", wrong[0]);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let all = all.lock().unwrap();
    // Most programs are short; but not all of them.
    let Seen {
        collections, edges, ..
    } = *all;
    assert!(collections as u32 >= usual && edges > 100, "{edges} edges");
    let shapes = wants == Needs::shapes();
    assert!(!shapes || all.backbones > 10 && all.quick > 5);
    // Few programs have parents that are worth following.
    assert!(!shapes || usual < 100 || all.walked > 0);
}

const BOTH: [Collector; 2] = [Collector::MarkSweep, Collector::Generational];

#[test]
fn summaries_of_random_programs_are_those_of_their_views() {
    for collector in BOTH {
        for threads in [1, 4] {
            let builder = builder(collector, threads);
            check(150, builder.clone(), 0, Needs::summary(), false);
            check(40, builder, 5, Needs::summary(), false);
        }
    }
}

#[test]
fn what_inquiries_have_marked_is_counted_too() {
    for collector in BOTH {
        check(100, builder(collector, 2), 0, Needs::summary(), true);
    }
}

#[test]
fn shapes_of_random_programs_are_those_of_their_views() {
    for collector in BOTH {
        for threads in [1, 4] {
            let builder = builder(collector, threads);
            check(150, builder.clone(), 0, Needs::shapes(), false);
            check(30, builder, 5, Needs::shapes(), true);
        }
    }
}

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    number: u32,
    next: Slot<Node>,
    any: Slot<Object>,
}

fn node(m: &mut Mutator<'_>, array: heaphound::Local<'_, RefArray<Node>>, at: usize) {
    let mut m = m.scope();
    let node = m.alloc(NodeInit {
        number: at as u32,
        next: None,
        any: None,
    });
    let node = node.unwrap();
    m[array][at].set(Some(&m[node]));
}

/// A large heap, in which workers meet: shared objects, long arrays, slots that lead anywhere.
#[test]
fn a_large_heap_is_counted_alike_by_one_and_by_four() {
    const COUNT: usize = 30_000;
    let summary = |collector, threads| -> Summary {
        let builder = builder(collector, threads).summaries(1);
        let heap = builder.build().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let wants = Needs::shapes();
        let comparing = Comparing {
            wants,
            seen: seen.clone(),
        };
        let _watch = heap.watch(Box::new(comparing), None);
        let mut m = heap.attach("main").unwrap();
        let array = m.alloc_refs::<Node>(COUNT).unwrap();
        for at in 0..COUNT {
            node(&mut m, array, at);
        }
        let text = m.alloc_str("so long").unwrap();
        for round in 0..4 {
            for at in 0..COUNT {
                let other = |step: usize| m[array][(at * step + round) % COUNT].get();
                let it = m[array][at].get().unwrap();
                it.next.set(other(7));
                match at % 5 {
                    0 => it.any.set(Some(m[text].as_object())),
                    1 => it.any.set(Some(m[array].as_object())),
                    2 => it.any.set(other(3).map(Managed::as_object)),
                    _ => it.any.clear(),
                }
                assert!(it.number < COUNT as u32);
            }
            m.collect();
            let kept = heap.summary().unwrap();
            let after = m.inspect(|view| summarize(view));
            assert_eq!(*kept.summary, after);
        }
        let seen = seen.lock().unwrap();
        assert!(seen.wrong.is_empty(), "{}", seen.wrong[0]);
        // The nodes, and the array that only they refer to.
        assert_eq!((seen.collections, seen.backbones, seen.quick), (4, 8, 3));
        m.inspect(|view| summarize(view))
    };
    let one = summary(Collector::MarkSweep, 1);
    assert_eq!(one, summary(Collector::MarkSweep, 4));
    assert_eq!(one, summary(Collector::Generational, 1));
    assert_eq!(one, summary(Collector::Generational, 4));
}

/// Nodes whose parents lead to a root, in several arrays: rings and strays are looked for on the live heap as in its view,
/// and none is seen where there is none.
#[test]
fn parents_of_a_live_heap_are_followed_as_in_its_view() {
    const COUNT: usize = 200;
    for collector in BOTH {
        for threads in [1, 4] {
            let heap = builder(collector, threads).build().unwrap();
            let seen = Arc::new(Mutex::new(Seen::default()));
            let comparing = Comparing {
                wants: Needs::shapes(),
                seen: seen.clone(),
            };
            let _watch = heap.watch(Box::new(comparing), None);
            let shapes = Shapes::testing(Profile::default()).register(&heap, None);
            let mut m = heap.attach("main").unwrap();
            let arrays = [(); 3].map(|_| m.alloc_refs::<Node>(COUNT).unwrap());
            for array in arrays {
                for at in 0..COUNT {
                    node(&mut m, array, at);
                    let parent = m[array][at / 2].get();
                    m[array][at].get().unwrap().next.set(parent);
                }
            }
            let walked = |m: &mut Mutator<'_>| {
                m.collect();
                let measures = shapes.measures();
                let of = |sum: &str| measures[0].matches[&sum.parse().unwrap()];
                [of("rings of .next"), of("strays of .next")].map(|sum| sum > 0)
            };
            assert_eq!(walked(&mut m), [false, false]);
            let [own, other] = [arrays[0], arrays[1]];
            m[own][0].get().unwrap().next.set(m[own][77].get());
            assert_eq!(walked(&mut m), [true, false]);
            m[own][0].get().unwrap().next.set(m[other][77].get());
            assert_eq!(walked(&mut m), [false, true]);
            let seen = seen.lock().unwrap();
            assert!(seen.wrong.is_empty(), "{}", seen.wrong[0]);
            assert_eq!(seen.collections, 3);
        }
    }
}

#[derive(Managed)]
#[repr(C)]
struct Through {
    header: Header,
    all: Slot<RefArray<Object>>,
}

/// Objects that went through an array to their like are gone. The array lives on, and what it refers to belonged to their
/// structure: its elements no longer count as references of that.
#[test]
fn an_array_that_outlives_those_who_went_through_it_raises_no_degree() {
    for collector in BOTH {
        let heap = builder(collector, 1).build().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let comparing = Comparing {
            wants: Needs::shapes(),
            seen: seen.clone(),
        };
        let _watch = heap.watch(Box::new(comparing), None);
        let mut m = heap.attach("main").unwrap();
        let array = m.alloc_refs::<Object>(4).unwrap();
        let mut before = None;
        for at in 0..3 {
            let number = at as u32;
            let (next, any) = (before, None);
            let node = m.alloc(NodeInit { number, next, any }).unwrap();
            m[array][at].set(Some(m[node].as_object()));
            before = Some(node);
        }
        {
            let mut m = m.scope();
            let through = m.alloc(ThroughInit { all: Some(array) }).unwrap();
            m[array][3].set(Some(m[through].as_object()));
        }
        m.collect();
        m.collect();
        m[array][3].clear();
        m.collect();
        m.collect();
        let seen = seen.lock().unwrap();
        assert!(seen.wrong.is_empty(), "{}", seen.wrong[0]);
        assert_eq!(
            (seen.collections, seen.quick),
            (4, 2),
            "counted while marking"
        );
    }
}

/// So many classes that most edges do not fit the tables of the mark loop.
#[test]
fn ten_thousand_classes_are_counted() {
    const CLASSES: usize = 10_000;
    for threads in [1, 4] {
        let heap = builder(Collector::MarkSweep, threads).build().unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let comparing = Comparing {
            wants: Needs::shapes(),
            seen: seen.clone(),
        };
        let _watch = heap.watch(Box::new(comparing), None);
        let growth = Growth::new().register(&heap, None);
        let define = |number| {
            let class = heap.define_class(format!("Class{number}"));
            class.slot("a").slot("b").slot("c").define().unwrap()
        };
        let classes: Vec<_> = (0..CLASSES).map(define).collect();
        let mut m = heap.attach("main").unwrap();
        let all = m.alloc_refs::<Instance>(3 * CLASSES).unwrap();
        for at in 0..3 * CLASSES {
            let mut m = m.scope();
            let object = m.alloc_instance(&classes[at % CLASSES]).unwrap();
            for slot in 0..3 {
                let target = m[all][(at * 7 + slot * 31) % (at + 1)].get();
                m[object][slot].set(target.map(|it| it.as_object()));
            }
            m[all][at].set(Some(&m[object]));
        }
        for _ in 0..3 {
            m.collect();
            let kept = heap.summary().unwrap();
            assert_eq!(*kept.summary, m.inspect(|view| summarize(view)));
            assert!(kept.summary.edges().len() > 2 * CLASSES);
        }
        assert!(growth.candidates().is_empty());
        let seen = seen.lock().unwrap();
        assert!(seen.wrong.is_empty(), "{}", seen.wrong[0]);
    }
}

#[derive(Managed)]
#[repr(C)]
struct Late {
    header: Header,
    words: Var<u64>,
}

#[test]
fn a_class_that_comes_late_or_goes_is_counted_while_it_is_there() {
    for collector in BOTH {
        let heap = builder(collector, 1).summaries(2).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        m.collect();
        assert!(heap.summary().is_none(), "only every second");
        let kept = m.alloc_refs::<Object>(3).unwrap();
        m.collect();
        let before = heap.summary().unwrap();
        assert!(before.class("Late").is_none());
        for at in 0..3 {
            let mut m = m.scope();
            let late = m.alloc(LateInit { words: 0 }).unwrap();
            m[kept][at].set(Some(m[late].as_object()));
        }
        m.collect();
        assert_eq!(heap.summary().unwrap().collection, before.collection);
        m.collect();
        let there = heap.summary().unwrap();
        let class = there.class("Late").unwrap().id;
        let total = there.summary.class(class);
        assert_eq!((total.objects, total.volume_bytes), (3, 48));
        // What was numbered before has kept its number.
        let array = before
            .class("Object[]")
            .or(before.class("RefArray<Object>"));
        let array = array.expect("arrays have a class").id;
        assert_eq!(before.slots.of(array).next(), there.slots.of(array).next());
        (0..3).for_each(|at| m[kept][at].clear());
        m.collect();
        m.collect();
        let gone = heap.summary().unwrap();
        assert_eq!(gone.summary.class(class).objects, 0);
        assert!(gone.class("Late").is_some(), "it may come back");
        assert_eq!(gone.summary.differences(&there.summary)[0].class, class);
    }
}

#[test]
fn what_only_a_finalizer_keeps_is_not_alive() {
    for collector in BOTH {
        let builder = builder(collector, 1).finalization(Finalization::OnRequest);
        let heap = builder.summaries(1).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let map = m.alloc_weak_map::<Late, Late>().unwrap();
        {
            let mut m = m.scope();
            let key = m.alloc(LateInit { words: 1 }).unwrap();
            let value = m.alloc(LateInit { words: 2 }).unwrap();
            m.weak_map_insert(map, key, value).unwrap();
            m.on_death(&m[key], |m, key| assert_eq!(m[key].words.get(), 1));
        }
        for finalized in [false, true] {
            m.collect();
            let kept = heap.summary().unwrap();
            assert_eq!(*kept.summary, m.inspect(|view| summarize(view)));
            let late = kept.summary.class(kept.class("Late").unwrap().id);
            assert_eq!(late.objects, 0, "finalized: {finalized}");
            m.run_finalizers();
        }
        assert_eq!(heap.stats().panicked_finalizers, 0);
    }
}
