//! GC assertions where they are easy to get wrong: owners that die, nest or overlap, objects
//! that move or whose memory is used again, very many of something.
#![cfg(feature = "assertions")]

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use expect_test::expect;
use heaphound::deal::bind::Binder;
use heaphound::deal::check::{Scope, compile};
use heaphound::deal::evaluate::{Evaluation, Judged};
use heaphound::deal::verdict::Verdict;
use heaphound::finding::{Evidence, Finding};
use heaphound::view::HeapView;
use heaphound::{
    AssertionKind, Collector, Header, Heap, HeapBuilder, Local, Managed, Mutator, Object,
    PlainData, Reaction, RefArray, Root, Slot, Weak,
};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    id: u64,
    next: Slot<Node>,
    other: Slot<Node>,
}

#[derive(Managed)]
#[repr(C)]
struct Order {
    header: Header,
    number: u64,
}

const KINDS: [AssertionKind; 6] = [
    AssertionKind::Dead,
    AssertionKind::Region,
    AssertionKind::Instances,
    AssertionKind::Volume,
    AssertionKind::Unshared,
    AssertionKind::OwnedBy,
];

/// What was found since it was last asked.
struct Found(Arc<Mutex<Vec<Finding>>>);

impl Found {
    fn listen(heap: &Heap) -> Self {
        let found: Arc<Mutex<Vec<Finding>>> = Arc::default();
        for kind in KINDS {
            let found = found.clone();
            let call = move |finding: &Finding| found.lock().unwrap().push(finding.clone());
            heap.set_reaction(kind, Reaction::Call(Arc::new(call)));
        }
        Self(found)
    }

    fn take(&self) -> Vec<Finding> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn builders() -> Vec<HeapBuilder> {
    let mut builders = Vec::new();
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for threads in [1, 4] {
            for zeal in [0, 3] {
                let builder = Heap::builder().collector(collector);
                let builder = builder.collector_threads(threads).zeal(zeal);
                builders.push(builder.max_bytes(256 << 20));
            }
        }
    }
    builders
}

fn on_every_heap(test: impl Fn(&mut Mutator<'_>, &Found)) {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let found = Found::listen(&heap);
        test(&mut heap.attach("main").unwrap(), &found);
    }
}

/// The same without zeal, for what takes long with it.
fn on_large_heaps(mut test: impl FnMut(&Heap, &mut Mutator<'_>, &Found)) {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for threads in [1, 4] {
            let builder = Heap::builder().collector(collector);
            let heap = builder.collector_threads(threads).max_bytes(512 << 20);
            let heap = heap.build().unwrap();
            let found = Found::listen(&heap);
            test(&heap, &mut heap.attach("main").unwrap(), &found);
        }
    }
}

fn node<'a>(m: &mut Mutator<'a>, id: u64) -> Local<'a, Node> {
    let (next, other) = (None, None);
    m.alloc(NodeInit { id, next, other }).unwrap()
}

/// A node that a static holds.
fn global<'a>(m: &mut Mutator<'a>, name: &str) -> Local<'a, Node> {
    let node = node(m, 0);
    m.static_root(name).set(m, Some(&m[node]));
    node
}

fn set(
    m: &Mutator<'_>,
    slot: impl Fn(&Node) -> &Slot<Node>,
    of: Local<'_, Node>,
    to: Local<'_, Node>,
) {
    slot(&m[of]).set(Some(&m[to]));
}

fn next(node: &Node) -> &Slot<Node> {
    &node.next
}

fn other(node: &Node) -> &Slot<Node> {
    &node.other
}

/// The numbers of the nodes that assertions of a kind are wrong about.
fn wrong(m: &Mutator<'_>, kind: AssertionKind) -> Vec<u64> {
    let violations = m.violations();
    let of_kind = violations.iter().filter(|it| it.0 == kind);
    let id = |weak: &Weak<Object>| Some(weak.get(m)?.downcast::<Node>()?.id);
    let mut ids: Vec<u64> = of_kind.map(|it| id(&it.1).expect("a node")).collect();
    ids.sort_unstable();
    ids
}

#[track_caller]
fn collect_and_expect(m: &mut Mutator<'_>, kind: AssertionKind, ids: &[u64]) {
    m.collect();
    assert_eq!(wrong(m, kind), ids);
}

// Owners.

#[test]
fn an_owner_that_nothing_reaches_owns_nothing_and_is_freed() {
    on_every_heap(|m, found| {
        let root = global(m, "root");
        let gone = {
            let m = &mut m.scope();
            let (owner, ownee) = (node(m, 1), node(m, 2));
            set(m, next, owner, ownee);
            set(m, next, root, ownee);
            m.assert_owned_by(owner, ownee);
            m.weak(&m[owner])
        };
        collect_and_expect(m, AssertionKind::OwnedBy, &[2]);
        assert!(gone.get(m).is_none());
        let findings = found.take();
        assert_eq!(findings.len(), 1);
        assert!(findings[0].message.contains("outlived"), "{}", findings[0]);
        // Once said, it stands until the ownee dies.
        collect_and_expect(m, AssertionKind::OwnedBy, &[2]);
        assert_eq!(found.take(), []);
        m[root].next.clear();
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
    });
}

#[test]
fn dead_owners_and_ownees_that_hold_each_other_are_freed() {
    on_every_heap(|m, found| {
        let gone = {
            let m = &mut m.scope();
            let (owner, ownee) = (node(m, 1), node(m, 2));
            set(m, next, owner, ownee);
            set(m, next, ownee, owner);
            m.assert_owned_by(owner, ownee);
            m.assert_owned_by(ownee, owner);
            [m.weak(&m[owner]), m.weak(&m[ownee])]
        };
        m.collect();
        assert!(gone.iter().all(|it| it.get(m).is_none()));
        assert_eq!(found.take(), []);
    });
}

#[test]
fn an_owner_that_dies_first_leaves_its_ownee_unowned() {
    on_every_heap(|m, _| {
        let (keeper, root) = (global(m, "keeper"), global(m, "root"));
        {
            let m = &mut m.scope();
            let (owner, ownee) = (node(m, 1), node(m, 2));
            set(m, next, keeper, owner);
            set(m, next, owner, ownee);
            set(m, next, root, ownee);
            m.assert_owned_by(owner, ownee);
        }
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
        m[keeper].next.clear();
        collect_and_expect(m, AssertionKind::OwnedBy, &[2]);
        // A new owner takes over.
        let ownee = m[root].next.get().map(|it| m.local(it)).unwrap();
        m.assert_owned_by(root, ownee);
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
    });
}

#[test]
fn an_ownee_of_two_owners_needs_one() {
    on_every_heap(|m, _| {
        let [a, b, root] = ["a", "b", "root"].map(|name| global(m, name));
        {
            let m = &mut m.scope();
            let ownee = node(m, 1);
            for from in [a, b, root] {
                set(m, next, from, ownee);
            }
            m.assert_owned_by(a, ownee);
            m.assert_owned_by(b, ownee);
        }
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
        m[a].next.clear();
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
        m[b].next.clear();
        collect_and_expect(m, AssertionKind::OwnedBy, &[1]);
        let ownee = m[root].next.get().map(|it| m.local(it)).unwrap();
        set(m, other, b, ownee);
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
        // Taken back, the one that is left does not reach it.
        m.retract_owned_by(b, ownee);
        collect_and_expect(m, AssertionKind::OwnedBy, &[1]);
        m.retract_owned_by(a, ownee);
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
    });
}

#[test]
fn an_owner_within_another_owner_answers_for_its_own() {
    on_every_heap(|m, _| {
        let outer = global(m, "outer");
        let (inner, leaf) = (node(m, 1), node(m, 2));
        set(m, next, outer, inner);
        set(m, next, inner, leaf);
        m.assert_owned_by(outer, inner);
        m.assert_owned_by(inner, leaf);
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
        // The outer one reaches the leaf, but does not own it.
        set(m, other, outer, leaf);
        m[inner].next.clear();
        collect_and_expect(m, AssertionKind::OwnedBy, &[2]);
        m.assert_owned_by(outer, leaf);
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
        // Through the inner one, which is an ownee on the way.
        m[outer].other.clear();
        set(m, other, inner, leaf);
        m.retract_owned_by(inner, leaf);
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
    });
}

#[test]
fn cycles_through_an_owner_do_not_matter() {
    on_every_heap(|m, _| {
        let owner = global(m, "owner");
        let (a, b, c) = (node(m, 1), node(m, 2), node(m, 3));
        set(m, next, owner, a);
        set(m, next, a, owner);
        set(m, other, a, b);
        set(m, next, b, a);
        set(m, other, b, owner);
        for ownee in [a, b, c] {
            m.assert_owned_by(owner, ownee);
        }
        set(m, next, c, owner);
        // The last one reaches its owner, not the other way round.
        collect_and_expect(m, AssertionKind::OwnedBy, &[3]);
        set(m, other, owner, c);
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
    });
}

#[test]
fn an_object_may_own_itself_and_its_owner() {
    on_every_heap(|m, _| {
        let owner = global(m, "owner");
        let ownee = node(m, 1);
        m.assert_owned_by(ownee, ownee);
        m.assert_owned_by(owner, owner);
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
        m.retract_owned_by(ownee, ownee);
        m.assert_owned_by(owner, ownee);
        m.assert_owned_by(ownee, owner);
        // One of them owns itself, too.
        collect_and_expect(m, AssertionKind::OwnedBy, &[1]);
        m.retract_owned_by(owner, owner);
        collect_and_expect(m, AssertionKind::OwnedBy, &[0, 1]);
        set(m, next, owner, ownee);
        set(m, next, ownee, owner);
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
    });
}

#[test]
fn a_pair_that_was_asserted_twice_is_taken_back_once() {
    on_every_heap(|m, _| {
        let (owner, ownee) = (node(m, 1), node(m, 2));
        m.assert_owned_by(owner, ownee);
        m.collect_nursery();
        m.expect().message("again").owned_by(owner, ownee);
        collect_and_expect(m, AssertionKind::OwnedBy, &[2]);
        m.retract_owned_by(owner, ownee);
        collect_and_expect(m, AssertionKind::OwnedBy, &[]);
    });
}

#[test]
fn what_was_taken_back_no_longer_stands() {
    on_every_heap(|m, found| {
        let (a, b, owner) = (global(m, "a"), global(m, "b"), global(m, "owner"));
        {
            let m = &mut m.scope();
            let ownee = node(m, 1);
            set(m, next, a, ownee);
            m.assert_owned_by(owner, ownee);
        }
        collect_and_expect(m, AssertionKind::OwnedBy, &[1]);
        assert_eq!(found.take().len(), 1);
        {
            let m = &mut m.scope();
            let ownee = m[a].next.get().map(|it| m.local(it)).unwrap();
            m.retract_owned_by(owner, ownee);
        }
        m.collect();
        let ownee = m[a].next.get().map(|it| m.root(it)).unwrap();
        m[a].next.clear();
        m[b].other.set(Some(&m[&ownee]));
        m.assert_owned_by(owner, &ownee);
        drop(ownee);
        m.collect();
        // Said again and held in another way, it is found again.
        assert_eq!(found.take().len(), 1);
        assert_eq!(wrong(m, AssertionKind::OwnedBy), [1]);
    });
}

/// A list, and many owners that each reach all of it. Looking from one after the other
/// takes a thousand million steps.
fn overlapping_owners<'a>(
    m: &mut Mutator<'a>,
    leaves: impl Fn(usize) -> bool,
) -> Local<'a, RefArray<Node>> {
    const OWNERS: usize = 5_000;
    const SHARED: u64 = 200_000;
    let all = m.alloc_refs::<Node>(2 * OWNERS).unwrap();
    let m = &mut m.scope();
    let head = node(m, 0);
    for id in 1..SHARED {
        let m = &mut m.scope();
        let new = node(m, id);
        set(m, next, new, head);
        m.set_local(head, &m[new]);
    }
    for at in 0..OWNERS {
        let m = &mut m.scope();
        let (owner, ownee) = (node(m, 0), node(m, at as u64));
        set(m, next, owner, head);
        if !leaves(at) {
            set(m, other, owner, ownee);
        }
        m[all][2 * at].set(Some(&m[owner]));
        m[all][2 * at + 1].set(Some(&m[ownee]));
        m.assert_owned_by(owner, ownee);
    }
    all
}

fn is_limit_said(heap: &Heap) -> bool {
    let known = heap.findings();
    let mut kinds = known.iter().map(|it| it.finding.kind.as_str());
    kinds.any(|kind| kind == "ownership-not-checked")
}

#[test]
fn thousands_of_owners_of_one_large_structure_take_a_bounded_time() {
    for leaves in [|_| true, |at| at % 2 == 0] {
        on_large_heaps(|heap, m, _| {
            overlapping_owners(m, leaves);
            let start = Instant::now();
            m.collect();
            let time = start.elapsed();
            assert!(time < Duration::from_secs(10), "{time:?}");
            let left = (0..5_000).filter(|&at| leaves(at)).count();
            let found = wrong(m, AssertionKind::OwnedBy);
            assert!(found.iter().all(|&at| leaves(at as usize)));
            assert!(found.len() == left || is_limit_said(heap));
        });
    }
}

#[test]
fn a_limit_that_hides_the_only_violation_is_said() {
    on_large_heaps(|heap, m, _| {
        overlapping_owners(m, |at| at == 4_999);
        m.collect();
        let found = wrong(m, AssertionKind::OwnedBy);
        assert!(found == [4_999] || is_limit_said(heap), "{found:?}");
    });
}

#[test]
fn what_a_limit_leaves_out_is_checked_by_later_collections() {
    on_large_heaps(|_, m, _| {
        overlapping_owners(m, |_| true);
        m.collect();
        let first = m.violations().len();
        m.collect();
        m.collect();
        let now = m.violations().len();
        assert!(first == 5_000 || now > first, "{now} of 5000, still");
    });
}

// Lives of objects.

#[test]
fn assertions_die_with_their_objects_though_the_memory_is_used_again() {
    on_every_heap(|m, found| {
        let all = m.alloc_refs::<Node>(400).unwrap();
        for _ in 0..3 {
            {
                let m = &mut m.scope();
                let owner = node(m, 0);
                for _ in 0..50 {
                    let (dead, unshared, ownee) = (node(m, 0), node(m, 0), node(m, 0));
                    m.assert_dead(dead);
                    m.assert_unshared(unshared);
                    m.assert_owned_by(owner, ownee);
                }
            }
            m.collect();
            // A zealous heap has found them while locals held them.
            found.take();
            // These lie where the others did, or near.
            for at in 0..200 {
                let m = &mut m.scope();
                let new = node(m, 0);
                m[all][at].set(Some(&m[new]));
                m[all][at + 200].set(Some(&m[new]));
            }
            m.collect();
            assert_eq!(found.take(), []);
            assert_eq!(m.violations().len(), 0);
            (0..400).for_each(|at| m[all][at].clear());
        }
    });
}

#[test]
fn assertions_follow_objects_that_move() {
    // Without the holes, nothing would be moved.
    for builder in builders() {
        let heap = builder.zeal(0).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let m = &mut m;
        const COUNT: usize = 100_000;
        let all = m.alloc_refs::<Node>(COUNT).unwrap();
        m.start_region();
        for at in 0..COUNT {
            let m = &mut m.scope();
            let new = node(m, at as u64);
            m[all][at].set(Some(&m[new]));
            if at % 1000 == 0 {
                m.assert_unshared(new);
                m.assert_dead(new);
                m.assert_owned_by(new, new);
            }
        }
        m.assert_all_dead();
        m.collect_nursery();
        for at in (0..COUNT).filter(|at| at % 200 > 0) {
            m[all][at].clear();
        }
        let kept: Vec<u64> = (0..COUNT as u64).step_by(200).collect();
        let asserted: Vec<u64> = (0..COUNT as u64).step_by(1000).collect();
        let mut compacted = 0;
        for _ in 0..3 {
            collect_and_expect(m, AssertionKind::Region, &kept);
            assert_eq!(wrong(m, AssertionKind::Dead), asserted);
            assert!(wrong(m, AssertionKind::Unshared).is_empty());
            assert!(wrong(m, AssertionKind::OwnedBy).is_empty());
            compacted += heap
                .stats()
                .history
                .back()
                .map_or(0, |it| it.compacted_bytes);
        }
        assert!(compacted > 0, "nothing moved");
        // The array has slots for more.
        for at in (0..COUNT).step_by(1000) {
            let kept = m[all][at].get();
            m[all][at + 1].set(kept);
        }
        m.collect();
        assert_eq!(wrong(m, AssertionKind::Unshared), asserted);
    }
}

#[test]
fn assertions_about_young_and_old_objects_are_checked_alike() {
    on_every_heap(|m, _| {
        let old = node(m, 1);
        m.collect();
        let young = node(m, 2);
        for object in [old, young] {
            m.assert_dead(object);
            m.assert_unshared(object);
        }
        m.assert_owned_by(old, young);
        m.assert_owned_by(young, old);
        m.collect_nursery();
        collect_and_expect(m, AssertionKind::Dead, &[1, 2]);
        assert_eq!(wrong(m, AssertionKind::OwnedBy), [1, 2]);
        assert!(wrong(m, AssertionKind::Unshared).is_empty());
        let newest = node(m, 3);
        set(m, next, newest, old);
        set(m, other, newest, old);
        set(m, next, old, young);
        collect_and_expect(m, AssertionKind::Unshared, &[1]);
        assert_eq!(wrong(m, AssertionKind::OwnedBy), [1]);
    });
}

#[test]
fn an_assertion_about_nothing_holds() {
    on_every_heap(|m, found| {
        let gone = {
            let m = &mut m.scope();
            let gone = node(m, 1);
            m.weak(&m[gone])
        };
        m.collect();
        m.assert_dead(&gone);
        m.assert_unshared(&gone);
        m.assert_dead(None::<Local<'_, Node>>);
        m.collect();
        assert_eq!(found.take(), []);
    });
}

// Very many.

#[test]
fn ten_thousand_regions_are_checked() {
    on_large_heaps(|_, m, found| {
        let keeper = global(m, "keeper");
        for region in 0..10_000 {
            m.in_region(|m| {
                for at in 0..3 {
                    let m = &mut m.scope();
                    let new = node(m, region);
                    if region % 1000 == 999 && at == 1 {
                        let before = m[keeper].next.get().map(|it| m.local(it));
                        m[new].next.set(before.map(|it| &m[it]));
                        set(m, next, keeper, new);
                    }
                }
            });
        }
        let expected: Vec<u64> = (999..10_000).step_by(1000).collect();
        collect_and_expect(m, AssertionKind::Region, &expected);
        assert_eq!(found.take().len(), 1);
    });
}

#[test]
fn regions_may_be_open_within_ten_thousand_others() {
    on_large_heaps(|_, m, found| {
        let keeper = global(m, "keeper");
        let start = Instant::now();
        for id in 1..=10_000 {
            m.start_region();
            if id % 1000 == 0 {
                let m = &mut m.scope();
                let new = node(m, id);
                let before = m[keeper].next.get().map(|it| m.local(it));
                m[new].next.set(before.map(|it| &m[it]));
                set(m, next, keeper, new);
            }
        }
        for _ in 0..10_000 {
            m.assert_all_dead();
        }
        let expected: Vec<u64> = (1000..=10_000).step_by(1000).collect();
        collect_and_expect(m, AssertionKind::Region, &expected);
        assert_eq!(found.take().len(), 1);
        let time = start.elapsed();
        assert!(time < Duration::from_secs(5), "{time:?}");
    });
}

#[test]
fn ten_thousand_leaks_of_one_list_are_one_finding() {
    on_large_heaps(|heap, m, found| {
        let keeper = global(m, "keeper");
        for id in 0..10_000 {
            let m = &mut m.scope();
            let new = node(m, id);
            let before = m[keeper].next.get().map(|it| m.local(it));
            m[new].next.set(before.map(|it| &m[it]));
            set(m, next, keeper, new);
            m.assert_dead(new);
        }
        for collection in 1..=12 {
            let start = Instant::now();
            m.collect();
            let time = start.elapsed();
            assert!(time < Duration::from_secs(2), "{time:?}");
            let new = found.take();
            assert_eq!(new.len(), usize::from(collection == 1));
            let known = heap.findings();
            assert_eq!((known.len(), known[0].collections), (1, collection));
            // Not all are looked for at once, and that is said.
            let more = new.iter().flat_map(|it| &it.notes);
            let more = more.filter(|note| note.contains("more violations")).count();
            assert_eq!(more > 0, collection == 1 && known[0].objects < 10_000);
        }
        assert_eq!(heap.findings()[0].objects, 10_000);
        m[keeper].next.clear();
        m.collect();
        assert_eq!(m.violations().len(), 0);
    });
}

#[test]
fn very_many_messages_do_not_make_asserting_slow() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let start = Instant::now();
    for number in 0..50_000 {
        let m = &mut m.scope();
        let order = m.alloc(OrderInit { number }).unwrap();
        m.expect()
            .message(format!("order {number} was delivered"))
            .dead(order);
    }
    let time = start.elapsed();
    assert!(time < Duration::from_secs(2), "{time:?}");
    // Nor is each of them told if nobody checks them.
    let unchecked = heap.unchecked_assertions();
    assert_eq!(unchecked.len(), 1);
    assert!(unchecked[0].message.contains("50000 times"));
    assert!(unchecked[0].message.contains("order 0 was delivered"));
}

// Classes.

/// A generic place, as a function that sets up a pool for any class has.
fn at_most_one<T: Managed>(m: &Mutator<'_>) {
    m.assert_instances::<T>(1);
}

#[test]
fn one_place_may_limit_several_classes() {
    on_every_heap(|m, _| {
        at_most_one::<Node>(m);
        at_most_one::<Order>(m);
        let _nodes = [node(m, 1), node(m, 2)];
        m.collect();
        let wrong = m.class_violations();
        let node = (AssertionKind::Instances, "Node".to_string(), false, 1);
        assert_eq!(wrong, [node]);
    });
}

#[test]
fn a_limit_that_holds_again_may_be_broken_again() {
    on_every_heap(|m, _| {
        m.assert_instances::<Order>(1);
        let held = m.alloc(OrderInit { number: 1 }).unwrap();
        for _ in 0..3 {
            {
                let m = &mut m.scope();
                let _more = m.alloc(OrderInit { number: 2 }).unwrap();
                m.collect();
                assert_eq!(m.class_violations().len(), 1);
            }
            m.collect();
            assert_eq!(m.class_violations(), []);
        }
        assert_eq!(m[held].number, 1);
    });
}

#[test]
fn everything_is_an_object() {
    on_every_heap(|m, _| {
        m.expect().subclasses(true).instances::<Object>(1);
        let held = (node(m, 1), m.alloc(OrderInit { number: 1 }).unwrap());
        m.collect();
        assert_eq!(m.class_violations().len(), 1);
        let _ = held;
    });
}

// Reactions.

#[test]
fn each_assertion_has_its_own_reaction() {
    on_every_heap(|m, _| {
        let called: Arc<Mutex<Vec<&str>>> = Arc::default();
        let call = |name: &'static str| {
            let called = called.clone();
            Reaction::Call(Arc::new(move |_| called.lock().unwrap().push(name)))
        };
        // Held in the same way, so that they are one finding.
        let [a, b, c] = [1, 2, 3].map(|id| node(m, id));
        m.expect().reaction(call("a")).dead(a);
        m.expect().reaction(call("b")).dead(b);
        m.collect();
        let mut now = std::mem::take(&mut *called.lock().unwrap());
        now.sort_unstable();
        assert_eq!(now, ["a", "b"]);
        m.expect().reaction(call("c")).dead(c);
        m.collect();
        assert_eq!(*called.lock().unwrap(), ["c"]);
    });
}

#[test]
fn a_callback_may_use_the_heap() {
    for builder in builders() {
        let heap = Arc::new(builder.build().unwrap());
        let (same, (done, is_done)) = (Arc::downgrade(&heap), std::sync::mpsc::channel());
        let call = move |finding: &Finding| {
            let heap = same.upgrade().unwrap();
            assert_eq!(heap.findings().len(), 1);
            heap.suppress(finding.fingerprint(), "it is known");
            done.send(heap.stats().full_collections).unwrap();
        };
        heap.set_reaction(AssertionKind::Dead, Reaction::Call(Arc::new(call)));
        let shared = heap.clone();
        thread::spawn(move || {
            let mut m = shared.attach("main").unwrap();
            let held = node(&mut m, 1);
            m.assert_dead(held);
            m.collect();
        });
        let waited = is_done.recv_timeout(Duration::from_secs(120));
        assert!(waited.is_ok(), "the callback waits for ever");
        assert!(heap.findings()[0].suppressed.is_some());
    }
}

#[test]
fn a_callback_that_panics_does_no_harm() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let call = |_: &Finding| std::panic::resume_unwind(Box::new("stop"));
        heap.set_reaction(AssertionKind::Dead, Reaction::Call(Arc::new(call)));
        let mut m = heap.attach("main").unwrap();
        let (held, other) = (node(&mut m, 1), node(&mut m, 2));
        m.assert_dead(held);
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| m.collect()));
        m.assert_owned_by(held, other);
        m.collect();
        assert_eq!(wrong(&m, AssertionKind::Dead), [1]);
        assert_eq!(wrong(&m, AssertionKind::OwnedBy), [2]);
    }
}

#[test]
fn what_another_heap_has_cannot_be_asserted() {
    let (heap, strange) = (
        Heap::builder().build().unwrap(),
        Heap::builder().build().unwrap(),
    );
    let foreign = {
        let mut m = strange.attach("main").unwrap();
        let foreign = node(&mut m, 1);
        m.root(&m[foreign])
    };
    let mut m = heap.attach("main").unwrap();
    let own = node(&mut m, 1);
    type Assert = fn(&Mutator<'_>, Local<'_, Node>, &Root<Node>);
    let all: [Assert; 4] = [
        |m, _, foreign| m.assert_dead(foreign),
        |m, _, foreign| m.assert_unshared(foreign),
        |m, own, foreign| m.assert_owned_by(own, foreign),
        |m, own, foreign| m.assert_owned_by(foreign, own),
    ];
    for assert in all {
        let assert = std::panic::AssertUnwindSafe(|| assert(&m, own, &foreign));
        assert!(std::panic::catch_unwind(assert).is_err());
    }
    m.collect();
    assert_eq!(m.violations().len(), 0);
}

// Threads.

#[test]
fn several_threads_assert_at_once() {
    const THREADS: u64 = 4;
    const EACH: u64 = 500;
    for builder in builders() {
        // Zeal at every third allocation of all threads takes too long.
        let heap = &builder.zeal(0).nursery_bytes(64 << 10).build().unwrap();
        let roots: Vec<Vec<Root<Node>>> = thread::scope(|scope| {
            let run = |number: u64| {
                let mut m = heap.attach(format!("worker {number}")).unwrap();
                let m = &mut m;
                let mut roots = Vec::new();
                let owner = node(m, 0);
                m.start_region();
                for at in 0..EACH {
                    let m = &mut m.scope();
                    let new = node(m, number * EACH + at);
                    match at % 4 {
                        0 => m.assert_dead(new),
                        1 => m.assert_unshared(new),
                        2 => m.expect().message(format!("{at}")).owned_by(owner, new),
                        _ => {}
                    }
                    set(m, next, new, new);
                    set(m, other, new, new);
                    if at < 100 {
                        roots.push(m.root(&m[new]));
                    }
                    if at % 100 == 99 {
                        m.assert_all_dead();
                        m.start_region();
                    }
                    if at % 250 == 0 {
                        m.collect();
                    }
                }
                roots
            };
            let threads: Vec<_> = (0..THREADS)
                .map(|it| scope.spawn(move || run(it)))
                .collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let mut m = heap.attach("main").unwrap();
        m.collect();
        let expected = |keep: fn(u64) -> bool| -> Vec<u64> {
            let all = (0..THREADS).flat_map(|thread| {
                let kept = (0..100).filter(move |&at| keep(at));
                kept.map(move |at| thread * EACH + at)
            });
            all.collect()
        };
        assert_eq!(wrong(&m, AssertionKind::Dead), expected(|at| at % 4 == 0));
        assert_eq!(
            wrong(&m, AssertionKind::Unshared),
            expected(|at| at % 4 == 1)
        );
        assert_eq!(
            wrong(&m, AssertionKind::OwnedBy),
            expected(|at| at % 4 == 2)
        );
        assert_eq!(wrong(&m, AssertionKind::Region), expected(|_| true));
        drop(roots);
        m.collect();
        assert_eq!(m.violations().len(), 0);
    }
}

#[test]
fn a_thread_may_end_while_its_region_is_open() {
    on_every_heap(|m, found| {
        let heap = Heap::builder().build().unwrap();
        {
            let mut m = heap.attach("other").unwrap();
            m.start_region();
            node(&mut m, 1);
        }
        heap.attach("third").unwrap().collect();
        let kept = m.in_region(|m| {
            let kept = node(m, 1);
            m.root(&m[kept])
        });
        m.collect();
        assert_eq!(wrong(m, AssertionKind::Region), [1]);
        assert_eq!(found.take().len(), 1);
        drop(kept);
    });
}

#[test]
fn a_region_that_panics_asserts_nothing() {
    on_every_heap(|m, found| {
        m.start_region();
        let panics = std::panic::AssertUnwindSafe(|| {
            m.in_region(|m| {
                let kept = node(m, 1);
                std::mem::forget(m.root(&m[kept]));
                std::panic::resume_unwind(Box::new("stop"));
            });
        });
        assert!(std::panic::catch_unwind(panics).is_err());
        m.collect();
        assert_eq!(found.take(), []);
        // The region around it is open still, and has what was made in it.
        m.assert_all_dead();
        collect_and_expect(m, AssertionKind::Region, &[1]);
    });
}

// Questions.

#[test]
fn a_collection_that_answers_questions_checks_all_kinds() {
    on_every_heap(|m, found| {
        violate_all(m);
        let live = m.ask_and_collect(|heap| heap.reach_all().len());
        assert_eq!(live, 8);
        let kinds = |findings: &[Finding]| {
            let mut kinds: Vec<String> = findings.iter().map(|it| it.kind.clone()).collect();
            kinds.sort();
            kinds
        };
        let all = [
            "asserted-dead",
            "asserted-unshared",
            "not-owned",
            "region-not-dead",
            "too-many-instances",
            "too-much-volume",
        ];
        assert_eq!(kinds(&found.take()), all);
        assert_eq!(m.violations().len(), 4);
        // Also if there is nothing to count, so that marks are shared with the question.
        m.ask_and_collect(|heap| heap.reach_all().len());
        assert_eq!(m.violations().len(), 4);
    });
    on_every_heap(|m, found| {
        let (owner, ownee) = (node(m, 1), node(m, 2));
        m.assert_dead(owner);
        m.assert_owned_by(owner, ownee);
        m.ask_and_collect(|heap| {
            let id = heap.id(ownee).unwrap();
            (heap.reach_all().len(), heap.reach(id).len())
        });
        assert_eq!(wrong(m, AssertionKind::Dead), [1]);
        assert_eq!(wrong(m, AssertionKind::OwnedBy), [2]);
        assert_eq!(found.take().len(), 2);
    });
}

/// A heap of eight objects in which an assertion of each kind is wrong.
fn violate_all(m: &mut Mutator<'_>) {
    let keeper = global(m, "keeper");
    let list = m.alloc_refs::<Order>(2).unwrap();
    m.static_root::<RefArray<Order>>("orders")
        .set(m, Some(&m[list]));
    m.start_region();
    {
        let m = &mut m.scope();
        let kept = node(m, 1);
        set(m, next, keeper, kept);
    }
    m.assert_all_dead();
    let m = &mut m.scope();
    let kept = m[keeper].next.get().map(|it| m.local(it)).unwrap();
    let (dead, shared, left) = (node(m, 2), node(m, 3), node(m, 4));
    set(m, next, kept, dead);
    m.expect().message("the session has ended").dead(dead);
    set(m, next, dead, shared);
    set(m, other, dead, shared);
    m.assert_unshared(shared);
    set(m, other, keeper, left);
    m.assert_owned_by(kept, left);
    for number in 0..2 {
        let order = m.alloc(OrderInit { number }).unwrap();
        m[list][number as usize].set(Some(&m[order]));
    }
    m.assert_instances::<Order>(1);
    m.assert_volume::<Order>(20);
}

// Texts.

#[test]
fn findings_of_each_kind_say_what_is_wrong_and_where() {
    let mut texts: Vec<String> = Vec::new();
    on_large_heaps(|_, m, found| {
        violate_all(m);
        m.collect();
        let all = found.take();
        let all: Vec<String> = all.iter().map(|it| plain(&it.to_string())).collect();
        texts.push(all.join("\n"));
    });
    texts.dedup();
    assert_eq!(texts.len(), 1, "the same from every heap");
    expect![[r#"
        error: Node#… was asserted dead and is reachable: the session has ended [asserted-dead]
          static:keeper → Node#… .next → Node#… .next → Node#…
          at crates/heaphound/tests/it/assertions/cases.rs
        error: Node#… was allocated in a region that was asserted dead, and is reachable [region-not-dead]
          static:keeper → Node#… .next → Node#…
          at crates/heaphound/tests/it/assertions/cases.rs
        error: Node#… was asserted unshared, and 2 references lead to it [asserted-unshared]
          static:keeper → Node#… .next → Node#… .next → Node#… .next → Node#…
          static:keeper → Node#… .next → Node#… .next → Node#… .other → Node#…
          at crates/heaphound/tests/it/assertions/cases.rs
        error: Node#… is reachable, but not through the object that was asserted to own it [not-owned]
          static:keeper → Node#… .other → Node#…
          at crates/heaphound/tests/it/assertions/cases.rs
        error: 2 instances of Order live; the assertion allows 1 [too-many-instances]
          2 held like this: static:orders → Order[]#… [0] → Order#…
          at crates/heaphound/tests/it/assertions/cases.rs
        error: instances of Order take 32 bytes; the assertion allows 20 [too-much-volume]
          2 held like this: static:orders → Order[]#… [0] → Order#…
          at crates/heaphound/tests/it/assertions/cases.rs"#]].assert_eq(&texts[0]);
}

#[test]
fn rules_about_a_written_heap_find_the_same_and_say_it_alike() {
    let rules = "
        rule dead: dead(static:keeper.next.next);
        rule unshared: unshared(static:keeper.next.next.next);
        rule owned: owned_by(static:keeper.next, static:keeper.other);
        rule instances: instances(only Order) <= 1;
        rule volume: volume(only Order) <= 20 bytes";
    on_large_heaps(|_, m, found| {
        violate_all(m);
        m.collect();
        let heap = m.capture(PlainData::Omit);
        let resolved = compile("it", rules, &Scope::new(heap.classes())).unwrap();
        let bindings = Binder::of(&heap).bind(&resolved).unwrap();
        let judged = Evaluation::new(&heap, &resolved, rules, &bindings).run();
        let live: Vec<Finding> = found.take();
        // Rules have no regions.
        let live: Vec<_> = live
            .iter()
            .filter(|it| it.kind != "region-not-dead")
            .collect();
        assert_eq!(judged.len(), live.len());
        for (Judged { verdict, .. }, live) in judged.into_iter().zip(live) {
            let Verdict::Fails(finding) = verdict else {
                panic!("{verdict:?}");
            };
            let message = live.message.replace(": the session has ended", "");
            let notes = finding.notes.iter().map(|it| plain(it));
            assert!(notes.eq([plain(&message)]), "{live}\n{finding}");
            assert_eq!(finding.class, live.class);
            let texts = |it: &Finding| {
                let evidence = it.evidence.iter();
                let text = |it: &Evidence| format!("{} {}", it.shows, it.path);
                evidence.map(|it| plain(&text(it))).collect::<Vec<_>>()
            };
            assert_eq!(texts(&finding), texts(live));
        }
    });
}

/// A text without the numbers of objects and the lines of this file.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            '#' => {
                while rest.next_if(char::is_ascii_digit).is_some() {}
                plain.push_str("#…");
            }
            ':' if rest.peek().is_some_and(char::is_ascii_digit) => {
                while rest.next_if(char::is_ascii_digit).is_some() {}
            }
            _ => plain.push(char),
        }
    }
    plain
}
