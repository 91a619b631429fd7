//! Probes of the live heap.

use heaphound::path::{Origin, Search};
use heaphound::root::RootSet;
use heaphound::{
    Collector, Header, Heap, HeapBuilder, Managed, Mutator, PlainData, ProbeError, RefArray, Slot,
    WeakSlot, root::Part,
};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    next: Slot<Node>,
    other: Slot<Node>,
    weak: WeakSlot<Node>,
}

/// Runs a test on each kind of heap.
fn on_every_heap(test: impl Fn(HeapBuilder)) {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for threads in [1, 4] {
            let builder = Heap::builder()
                .collector(collector)
                .collector_threads(threads)
                .max_bytes(64 << 20);
            test(builder.clone());
            test(builder.zeal(3));
        }
    }
}

fn node<'a>(m: &mut Mutator<'a>) -> heaphound::Local<'a, Node> {
    m.alloc(NodeInit {
        next: None,
        other: None,
        weak: None,
    })
    .unwrap()
}

#[test]
fn every_probe_can_be_asked_of_a_live_heap() {
    on_every_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let (a, b, c) = (node(&mut m), node(&mut m), node(&mut m));
        m[a].next.set(Some(&m[c]));
        assert!(m.is_heap(c).unwrap() && !m.is_heap(a).unwrap());
        assert!(!m.is_shared(c).unwrap());
        assert!(m.is_reachable(a, c).unwrap() && !m.is_reachable(c, a).unwrap());
        assert!(m.is_disjoint(a, b).unwrap());
        assert!(m.is_unique_owner(a).unwrap());
        assert!(m.is_object_owned(a, c).unwrap());
        m[b].next.set(Some(&m[c]));
        m[b].other.set(Some(&m[c]));
        assert!(m.is_shared(c).unwrap());
        assert_eq!(m.pred_count(c).unwrap(), 2);
        assert!(!m.is_disjoint(a, b).unwrap());
        // Only this thread's stack leads to them, which does not count.
        assert!(m.is_unique_owner(a).unwrap());
        assert!(!m.reach_through(a, &[b], c).unwrap());
        assert!(m.reach_through(a, &[c], c).unwrap());
        assert!(m.is_thread_owned(c).unwrap());
        assert!(m.is_thread_stack_owned(c).unwrap());
        assert_eq!(
            m.is_thread_object_owned(c),
            Err(ProbeError::NoThreadObject("main".into()))
        );
        m.set_thread_object(Some(&m[a]));
        assert!(m.is_thread_object_owned(c).unwrap());
        assert!(!m.is_thread_stack_owned(c).unwrap());
        m.static_root("b").set(&m, Some(&m[b]));
        assert!(!m.is_unique_owner(a).unwrap());
        assert!(!m.is_thread_owned(c).unwrap());
        assert_eq!(
            m.thread_reach(c, &[a, b], Part::Both).unwrap(),
            ["main"],
            "the local"
        );
        assert_eq!(m.thread_reach(c, &[a, b], Part::Object).unwrap(), [""; 0]);
    });
}

#[test]
fn mistakes_are_errors() {
    let (heap, other) = (
        Heap::builder().build().unwrap(),
        Heap::builder().build().unwrap(),
    );
    let mut m = heap.attach("main").unwrap();
    let mut n = other.attach("main").unwrap();
    let (mine, theirs) = (node(&mut m), node(&mut n));
    assert_eq!(m.is_shared(theirs), Err(ProbeError::Foreign));
    assert_eq!(m.is_disjoint(mine, theirs), Err(ProbeError::Foreign));
    let root = n.root(&n[theirs]);
    assert_eq!(m.is_heap(&root), Err(ProbeError::Foreign));
    assert_eq!(
        m.is_heap(None::<&heaphound::Root<Node>>),
        Err(ProbeError::Null)
    );
    assert_eq!(
        m.is_heap(m.static_root::<Node>("nothing")),
        Err(ProbeError::Null)
    );
    assert_eq!(
        m.ask(|heap| heap.stack("nobody").map(|set| set.len())),
        Err(ProbeError::UnknownThread("nobody".into()))
    );
}

#[test]
fn marks_may_run_out_any_number_of_times() {
    on_every_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let (a, b) = (node(&mut m), node(&mut m));
        m[a].next.set(Some(&m[b]));
        m.ask(|heap| {
            let (a, b) = (heap.id(a).unwrap(), heap.id(b).unwrap());
            for _ in 0..400 {
                assert!(heap.dom(a, b) && !heap.dom(b, a));
                assert_eq!(heap.reach(a).len(), 2);
            }
        });
        for _ in 0..40 {
            let _garbage = node(&mut m.scope());
            assert!(m.is_reachable(a, b).unwrap());
        }
    });
}

#[test]
fn asking_can_be_part_of_a_collection() {
    on_every_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let (a, b, c, d) = (node(&mut m), node(&mut m), node(&mut m), node(&mut m));
        m[a].next.set(Some(&m[b]));
        m[b].next.set(Some(&m[c]));
        m[c].next.set(Some(&m[d]));
        let inner = {
            let mut m = m.scope();
            let inner = node(&mut m);
            m[d].next.set(Some(&m[inner]));
            m[d].weak.set(Some(&m[inner]));
            m.weak(&m[inner])
        };
        let dead = {
            let mut m = m.scope();
            let dead = node(&mut m);
            m[a].weak.set(Some(&m[dead]));
            m.weak(&m[dead])
        };
        let collections = heap.stats().full_collections;
        m.ask_and_collect(|heap| {
            let [a, b, c, d] = [a, b, c, d].map(|it| heap.id(it).unwrap());
            assert!(heap.dom(a, d) && !heap.is_shared(c));
            // What is avoided is only reachable behind what is marked.
            assert_eq!(heap.reach_avoiding(&[a], &[c]).len(), 2);
            let inner = heap.id(&inner).unwrap();
            assert!(heap.reach_through(a, &[inner], inner));
            assert!(heap.is_unique_owner(b));
            if let Ok(dead) = heap.id(&dead) {
                assert!(!heap.is_heap(dead));
                assert_eq!(heap.reach(dead).len(), 1);
            }
        });
        assert!(heap.stats().full_collections > collections);
        assert!(dead.get(&m).is_none());
        assert!(m[a].weak.get().is_none());
        let inner = inner.get(&m).expect("it is held");
        assert!(std::ptr::eq(m[d].next.get().unwrap(), inner));
    });
}

#[test]
fn a_panic_while_asking_does_not_harm_the_collection() {
    let heap = Heap::builder().zeal(1000).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let (a, b) = (node(&mut m), node(&mut m));
    m[a].next.set(Some(&m[b]));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        m.ask_and_collect(|heap| {
            assert!(heap.is_reachable(heap.id(a).unwrap(), heap.id(b).unwrap()));
            panic!("on purpose");
        })
    }));
    assert!(panicked.is_err());
    m.collect();
    assert!(m.is_reachable(a, b).unwrap());
}

#[test]
fn values_of_a_weak_map_are_reached_while_their_keys_live() {
    on_every_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let map = m.alloc_weak_map::<Node, Node>().unwrap();
        let (key, value) = (node(&mut m), node(&mut m));
        m.weak_map_insert(map, key, value).unwrap();
        assert!(m.is_reachable(map, value).unwrap());
        assert!(m.is_heap(value).unwrap());
    });
}

#[test]
fn a_capture_answers_as_the_heap_did() {
    on_every_heap(|builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let array = m.alloc_refs::<Node>(70_000).unwrap();
        let (a, b) = (node(&mut m), node(&mut m));
        m[a].next.set(Some(&m[b]));
        m[array][3].set(Some(&m[a]));
        m[array][69_999].set(Some(&m[b]));
        m.static_root::<RefArray<Node>>("array")
            .set(&m, Some(&m[array]));
        let snapshot = m.capture(PlainData::Omit);
        use heaphound::view::HeapView;
        let probes = heaphound::Probes::of(&snapshot).ask_as("main").unwrap();
        let (_, array) = snapshot.roots()[0].clone();
        assert_eq!(snapshot.length_of(array), Some(70_000));
        let live = probes.reach_all();
        assert_eq!(live.len(), 3);
        let b = live.iter().find(|&it| probes.is_shared(it)).unwrap();
        let search = Search {
            from: Origin::Roots(RootSet::AllBut("main", Part::Both)),
            avoid: &[],
        };
        let path = probes.path(&search, b).unwrap();
        let text = path.describe(&snapshot).to_string();
        assert!(
            text.contains("static:array → Node[]#") && text.contains(" [69999] → Node#"),
            "{text}"
        );
    });
}

/// The time of marking is taken from when the questions have been answered.
#[test]
fn what_was_traced_to_answer_is_not_marked_again() {
    let heap = Heap::builder().collector_threads(1).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let list = m.alloc_refs::<Node>(200_000).unwrap();
    for i in 0..200_000 {
        let mut m = m.scope();
        let it = node(&mut m);
        m[list][i].set(Some(&m[it]));
    }
    let marking = |heap: &Heap| heap.stats().history.back().unwrap().mark_time;
    let (mut alone, mut after) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        m.collect();
        alone.push(marking(&heap));
        let live = m.ask_and_collect(|heap| heap.reach_all().len());
        assert_eq!(live, 200_001);
        after.push(marking(&heap));
    }
    let (alone, after) = (alone.iter().min().unwrap(), after.iter().min().unwrap());
    assert!(
        *after * 4 < *alone,
        "{after:?} after a probe, {alone:?} without"
    );
}
