//! Checks that are used in ways that were not thought of: what a review found.
#![cfg(feature = "assertions")]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use heaphound::finding::{Finding, Severity};
use heaphound::view::HeapView;
use heaphound::{
    Check, Finalization, Header, Heap, Local, Managed, MarkedHeap, Mutator, Object, Reaction,
    Registration, Root, Rules, Slot, StoppedHeap, Weak, WeakSlot, check::Counted, check::Found,
    check::Listener,
};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    number: u64,
    next: Slot<Node>,
    weak: WeakSlot<Node>,
}

fn node<'a>(m: &mut Mutator<'a>, number: u64) -> Local<'a, Node> {
    let init = NodeInit {
        number,
        next: None,
        weak: None,
    };
    m.alloc(init).unwrap()
}

fn quiet() -> Option<Reaction> {
    Some(Reaction::Call(Arc::new(|_| {})))
}

fn odd() -> Finding {
    Finding::new("odd", Severity::Note, "something is odd")
}

struct Before<F>(F);

impl<F: FnMut(&StoppedHeap<'_>)> Check for Before<F> {
    fn before(&mut self, heap: &StoppedHeap<'_>) {
        (self.0)(heap);
    }
}

fn before<F: FnMut(&StoppedHeap<'_>) + Send>(f: F) -> Box<Before<F>> {
    Box::new(Before(f))
}

struct Conclude<F>(F);

impl<F: FnMut(&MarkedHeap<'_>, &Counted<'_>, &mut Found<'_>)> Check for Conclude<F> {
    fn conclude(&mut self, heap: &MarkedHeap<'_>, counted: &Counted<'_>, found: &mut Found<'_>) {
        (self.0)(heap, counted, found);
    }
}

fn conclude<F>(f: F) -> Box<Conclude<F>>
where
    F: FnMut(&MarkedHeap<'_>, &Counted<'_>, &mut Found<'_>) + Send,
{
    Box::new(Conclude(f))
}

/// Use after free: a survey (here: of a rule) forgets the ephemerons whose keys it takes for dead.
/// A check that looks after it makes such a key live, with a root; the value is freed all the same.
#[test]
fn a_key_that_a_check_keeps_keeps_its_value() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let map = m.alloc_weak_map::<Node, Node>().unwrap();
    let text = "assertion(forall Node x: x.number < 100)";
    let _rule = Rules::new(text).register(&heap, &mut m, quiet()).unwrap();
    let weak: Weak<Object> = {
        let mut m = m.scope();
        let (key, value) = (node(&mut m, 1), node(&mut m, 2));
        m.weak_map_insert(map, key, value).unwrap();
        m.weak_handle(key).unwrap()
    };
    let kept: Arc<Mutex<Option<Root<Object>>>> = Arc::default();
    let keep = kept.clone();
    let watch = heap.watch(
        before(move |heap| {
            *keep.lock().unwrap() = heap.held_weakly(&weak).map(|it| heap.root(it));
        }),
        quiet(),
    );
    m.collect();
    drop(watch);
    for _ in 0..1000 {
        node(&mut m.scope(), 77);
    }
    let kept = kept.lock().unwrap().take().unwrap();
    let key = m[&kept].downcast::<Node>().unwrap();
    assert_eq!(key.number, 1);
    assert_eq!(m[map].get(key).map(|it| it.number), Some(2));
}

/// Questions that are asked before marking find ephemerons of their own: those of the collection, which rules have
/// begun to mark, must not take note of that.
#[test]
fn questions_before_marking_leave_ephemerons_to_the_collection() {
    const CHAIN: u64 = 20;
    for threads in [1, 4] {
        for zeal in [0, 1] {
            let builder = Heap::builder().collector_threads(threads).zeal(zeal);
            let heap = builder.build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let map = m.alloc_weak_map::<Node, Node>().unwrap();
            let first = node(&mut m, 0);
            // The last link first, so that no look at the map finds all of the chain.
            {
                let mut m = m.scope();
                let mut links: Vec<_> = (1..CHAIN).map(|number| node(&mut m, number)).collect();
                links.insert(0, first);
                for pair in links.windows(2).rev() {
                    m.weak_map_insert(map, pair[0], pair[1]).unwrap();
                }
                let (garbage, value) = (node(&mut m, 500), node(&mut m, 501));
                m.weak_map_insert(map, garbage, value).unwrap();
            }
            let text = "assertion(forall Node x: reach[m](x) -> x.number < 100)";
            let rule = || Rules::new(text).bind(&m, "m", map);
            let rules = [rule(), rule()];
            let rules = rules.map(|it| it.register(&heap, &mut m, quiet()).unwrap());
            let asks = |heap: &StoppedHeap<'_>| {
                let probes = heaphound::Probes::of(heap);
                assert!(probes.reach_all().len() as u64 > CHAIN);
            };
            let watches = [0, 1].map(|_| heap.watch(before(asks), quiet()));
            for _ in 0..3 {
                m.inspect_and_collect(asks);
                m.collect();
                assert_eq!(m[map].len() as u64, CHAIN - 1);
                let mut key = &m[first];
                for number in 1..CHAIN {
                    key = m[map].get(key).expect("its key lives");
                    assert_eq!(key.number, number);
                }
            }
            assert!(heap.findings().is_empty(), "{:?}", heap.findings());
            drop((watches, rules));
        }
    }
}

/// Use after free: what waits for its finalizer is shown in `conclude`, but its weak slots have not been
/// settled yet: they lead to what the collection frees, and that can be given a root.
#[test]
fn a_check_cannot_keep_what_only_a_pending_object_refers_to_weakly() {
    let heap = Heap::builder()
        .finalization(Finalization::OnRequest)
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    {
        let mut m = m.scope();
        let target = node(&mut m, 42);
        {
            let mut m = m.scope();
            let pending = node(&mut m, 1);
            m[pending].weak.set(Some(&m[target]));
            m.on_death(&m[pending], |_, _| {});
        }
        m.collect();
    }
    let kept: Arc<Mutex<Vec<Root<Object>>>> = Arc::default();
    let keep = kept.clone();
    let watch = heap.watch(
        conclude(move |heap, _, _| {
            let mut seen = Vec::new();
            heap.for_each_root(|_, pending| {
                heap.for_each_edge(pending, |_, _, to| seen.push(to));
            });
            let seen = seen.into_iter().map(|it| heap.root(it));
            keep.lock().unwrap().extend(seen);
        }),
        quiet(),
    );
    m.collect();
    drop(watch);
    for _ in 0..1000 {
        node(&mut m.scope(), 77);
    }
    // Either it is not shown, or it stays.
    for root in kept.lock().unwrap().drain(..) {
        assert_eq!(m[&root].downcast::<Node>().map(|it| it.number), Some(42));
    }
}

/// Withdrawn wrongly: of two listeners that one check serves, one no longer makes a finding and the other
/// makes it now. Whether it stands depends on the order of a hash set.
#[test]
fn a_finding_that_passes_from_one_listener_to_another_stands() {
    for _ in 0..20 {
        let heap = Heap::builder().build().unwrap();
        let listeners = [0, 1].map(|_| Listener::new(quiet().unwrap()));
        let mut turn = 0;
        let _watch = heap.watch(
            conclude(move |_, _, found| {
                listeners.iter().for_each(|it| found.looked_for(it));
                found.add_for(&listeners[turn % 2], odd());
                turn += 1;
            }),
            quiet(),
        );
        let mut m = heap.attach("main").unwrap();
        for _ in 0..4 {
            m.collect();
            assert_eq!(heap.findings()[0].withdrawn, None);
        }
    }
}

/// The same with rules: two owners register the same text about different objects.
#[test]
fn a_rule_that_fails_for_another_owner_is_not_withdrawn() {
    for _ in 0..20 {
        let heap = Heap::builder().build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let nodes = [0, 0].map(|number| node(&mut m, number));
        let others = [0, 0].map(|number| node(&mut m, number));
        let text = "assertion(forall Node x: reach[a](x) -> x.next == null)";
        let _rules = nodes.map(|it| {
            let deal = Rules::new(text).bind(&m, "a", it);
            deal.register(&heap, &mut m, quiet()).unwrap()
        });
        for turn in 0..4 {
            for index in 0..2 {
                let next = (turn % 2 == index).then_some(others[index]);
                m[nodes[index]].next.set(next.map(|it| &m[it]));
            }
            m.collect();
            let found = heap.findings();
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].withdrawn, None);
        }
    }
}

/// A check whose registration is dropped while it concludes is forgotten before what it found is noted:
/// that stands for ever, and the ledger grows.
#[test]
fn what_a_check_found_that_ended_itself_does_not_stand_for_ever() {
    let heap = Heap::builder().build().unwrap();
    let own: Arc<Mutex<Option<Registration>>> = Arc::default();
    let ends = own.clone();
    let watch = heap.watch(
        conclude(move |_, _, found| {
            found.add(odd());
            drop(ends.lock().unwrap().take());
        }),
        quiet(),
    );
    *own.lock().unwrap() = Some(watch);
    let _other = heap.watch(
        conclude(move |_, counted, found| {
            if counted.collection < 3 {
                found.add(odd());
            }
        }),
        quiet(),
    );
    let mut m = heap.attach("main").unwrap();
    for _ in 0..4 {
        m.collect();
    }
    assert_eq!(heap.findings()[0].collections, 2);
    assert_eq!(heap.findings()[0].withdrawn, Some(3));
}

/// That a check panicked is never withdrawn, though it does not panic any more: what is skipped
/// includes the finding itself.
#[test]
fn that_a_check_panicked_is_withdrawn_when_it_no_longer_does() {
    let heap = Heap::builder().build().unwrap();
    let panics = Arc::new(AtomicBool::new(true));
    let does = panics.clone();
    let _watch = heap.watch(
        conclude(move |_, _, _| assert!(!does.load(Relaxed), "on purpose")),
        quiet(),
    );
    let mut m = heap.attach("main").unwrap();
    m.collect();
    assert_eq!(heap.findings()[0].finding.kind, "check-panicked");
    panics.store(false, Relaxed);
    m.collect();
    assert_eq!(heap.findings()[0].collections, 1);
    assert_eq!(heap.findings()[0].withdrawn, Some(2));
}

/// Wrong answer: a phase that starts from an object that is no root does not mark for the collection,
/// and the next one, which does, enters the same objects again, as if they were in no relation.
#[test]
fn what_a_relation_from_a_field_reaches_is_not_entered_again() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let first = node(&mut m, 1);
    {
        let mut m = m.scope();
        let [second, third] = [2, 2].map(|number| node(&mut m, number));
        m[first].next.set(Some(&m[second]));
        m[second].next.set(Some(&m[third]));
    }
    let text = "assertion(exists Node x: !reach[a.next](x) && x.number == 2)";
    let mut deal = Rules::new(text).bind(&m, "a", first);
    assert_eq!(deal.check(&mut m).unwrap().len(), 1);
}

/// The same: `assertDisjoint` does not notice that an object is in both relations, if the first one
/// starts from a field and the second from a root.
#[test]
fn relations_of_which_one_starts_from_a_field_are_not_disjoint() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let [a, b] = [1, 2].map(|number| node(&mut m, number));
    {
        let mut m = m.scope();
        let [middle, shared] = [3, 4].map(|number| node(&mut m, number));
        m[a].next.set(Some(&m[middle]));
        m[middle].next.set(Some(&m[shared]));
        m[b].next.set(Some(&m[shared]));
    }
    let text = "assertDisjoint(forall Node x: reach[a.next](x) || reach[b](x) || x.number < 9)";
    let mut deal = Rules::new(text).bind(&m, "a", a).bind(&m, "b", b);
    assert_eq!(deal.check(&mut m).unwrap().len(), 1);
}

/// A check that panics withdraws what its other listeners were told: only its own is silent.
#[test]
fn a_check_that_panics_withdraws_nothing() {
    let heap = Heap::builder().build().unwrap();
    let listener = Listener::new(quiet().unwrap());
    let _watch = heap.watch(
        conclude(move |_, counted, found| {
            found.looked_for(&listener);
            assert!(counted.collection == 1, "on purpose");
            found.add_for(&listener, odd());
        }),
        quiet(),
    );
    let mut m = heap.attach("main").unwrap();
    m.collect();
    m.collect();
    let found = heap.findings();
    let odd = found.iter().find(|it| it.finding.kind == "odd").unwrap();
    assert_eq!(odd.withdrawn, None);
}

/// A panic in `Heap::companion` poisons the list of checks: the next collection aborts the process.
/// (Something that registers another companion, or a check, in there waits for itself for ever.)
#[test]
fn a_companion_whose_maker_panics_leaves_the_heap_usable() {
    let heap = Heap::builder().build().unwrap();
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        heap.companion::<u8>(|| panic!("on purpose"));
    }));
    assert!(made.is_err());
    // A collection here aborts the process.
    let _watch = heap.watch(conclude(|_, _, _| {}), quiet());
}

/// What a dropped rule's reaction owns is kept until the next full collection, so that a program that
/// registers and drops rules needs more and more memory until then.
#[test]
fn a_dropped_rule_keeps_nothing() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    m.know_class::<Node>();
    let owned = Arc::new(());
    for _ in 0..100 {
        let captured = owned.clone();
        let reaction = Reaction::Call(Arc::new(move |_| drop(captured.clone())));
        let deal = Rules::new("assertion(forall Node x: x.number < 100)");
        drop(deal.register(&heap, &mut m, Some(reaction)).unwrap());
    }
    assert_eq!(Arc::strong_count(&owned), 1);
}
