//! Checks that watch full collections: what they need, what they may see and keep, how rules, assertions
//! and summaries share one marking, and what the ledger knows of findings.
#![cfg(feature = "assertions")]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use heaphound::analysis::summary::summarize;
use heaphound::finding::{Finding, Severity};
use heaphound::view::{HeapView, live_objects};
use heaphound::{
    AssertionKind, Check, Collector, Header, Heap, HeapBuilder, Local, Managed, MarkedHeap,
    Mutator, Object, Reaction, Root, Rules, Slot, StoppedHeap, Weak, WeakSlot, check::Counted,
    check::Every, check::Found, check::Needs, rule_traversals, stats::Remark,
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

fn builders() -> Vec<HeapBuilder> {
    let mut all = Vec::new();
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for threads in [1, 4] {
            all.push(
                Heap::builder()
                    .collector(collector)
                    .collector_threads(threads)
                    .max_locals(4096),
            );
        }
    }
    all
}

fn quiet() -> Option<Reaction> {
    Some(Reaction::Call(Arc::new(|_| {})))
}

/// Needs something, and lets a function conclude.
struct Watching<F> {
    needs: Needs,
    conclude: F,
}

impl<F> Check for Watching<F>
where
    F: FnMut(&MarkedHeap<'_>, &Counted<'_>, &mut Found<'_>),
{
    fn needs(&mut self) -> Needs {
        self.needs.clone()
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, counted: &Counted<'_>, found: &mut Found<'_>) {
        (self.conclude)(heap, counted, found);
    }
}

fn watching<F>(needs: Needs, conclude: F) -> Box<Watching<F>>
where
    F: FnMut(&MarkedHeap<'_>, &Counted<'_>, &mut Found<'_>) + Send,
{
    Box::new(Watching { needs, conclude })
}

#[test]
fn a_check_counts_the_classes_that_it_needs() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        m.know_class::<Node>();
        let class = m.classes().iter().find(|it| it.name == "Node").unwrap().id;
        let counts: Arc<Mutex<Vec<(usize, usize)>>> = Arc::default();
        let seen = counts.clone();
        let conclude = move |_: &MarkedHeap<'_>, counted: &Counted<'_>, _: &mut Found<'_>| {
            assert!(counted.summary.is_none());
            seen.lock().unwrap().push(counted.instances(class));
        };
        let _watch = heap.watch(watching(Needs::instances([class]), conclude), None);
        let _kept: Vec<_> = (0..10).map(|number| node(&mut m, number)).collect();
        m.scope().alloc_str("of another class").unwrap();
        m.collect();
        let (objects, bytes) = counts.lock().unwrap()[0];
        assert_eq!((objects, bytes), (10, 10 * 24));
    }
}

/// Rules of many owners, assertions and summaries are served by one marking.
#[test]
fn rules_stay_in_the_marking_pass_beside_assertions_and_summaries() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let [first, shared] = [0, 1].map(|number| node(&mut m, number));
        let last = node(&mut m, 2);
        m[first].next.set(Some(&m[shared]));
        m[last].next.set(Some(&m[shared]));
        m[shared].next.clear();
        let texts = [
            "assertion(forall Node x: reach[a](x) -> x.number < 2)",
            "assertion(forall Node x: reach[a](x) -> x.next != x)",
            "assertion(forall Node x: x.number < 3)",
            "assertion(exists Node x: x.number == 2)",
        ];
        let mut rules = Vec::new();
        for text in texts {
            let deal = Rules::new(text).bind(&m, "a", first);
            rules.push(deal.register(&heap, &mut m, quiet()).unwrap());
        }
        let check = |summaries: bool, m: &mut Mutator<'_>| {
            m.collect();
            let stats = heap.stats();
            let last = stats.history.back().unwrap();
            assert_eq!(rule_traversals(&heap), 1);
            assert!(last.marked_by_checks > 0, "summaries: {summaries}");
            assert!(last.marked_by_checks <= last.marked_objects);
            assert_eq!(last.remarks, []);
        };
        check(false, &mut m);
        heap.set_reaction(AssertionKind::Unshared, Reaction::Call(Arc::new(|_| {})));
        m.assert_unshared(shared);
        m.assert_instances::<Node>(10);
        check(false, &mut m);
        let right = Arc::new(AtomicBool::new(false));
        let is_right = right.clone();
        let conclude = move |heap: &MarkedHeap<'_>, counted: &Counted<'_>, _: &mut Found<'_>| {
            is_right.store(*counted.summary.unwrap() == summarize(heap), Relaxed);
        };
        let _watch = heap.watch(watching(Needs::summary(), conclude), None);
        check(true, &mut m);
        assert!(right.load(Relaxed));
        let found = heap.findings();
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.finding.kind.as_str(), it.objects, it.collections))
            .collect();
        assert_eq!(found, [("asserted-unshared", 1, 2)]);
        // What breaks a `forall` is found in the same traversal.
        m[shared].next.set(Some(&m[shared]));
        m.collect();
        assert_eq!(rule_traversals(&heap), 1);
        assert_eq!(heap.findings().len(), 2);
    }
}

/// What a relation excludes is counted as often as it is referred to, not once for each phase.
#[test]
fn what_a_rule_excludes_is_shared_by_its_references_alone() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        heap.set_reaction(AssertionKind::Unshared, Reaction::Call(Arc::new(|_| {})));
        let mut m = heap.attach("main").unwrap();
        let [start, held] = [0, 1].map(|number| node(&mut m, number));
        m[start].next.set(Some(&m[held]));
        let text = "assertion(forall Node x: reach[a/b](x) -> x.number == 0)";
        let deal = Rules::new(text).bind(&m, "a", start).bind(&m, "b", held);
        let _rule = deal.register(&heap, &mut m, quiet()).unwrap();
        m.assert_unshared(held);
        for _ in 0..3 {
            m.collect();
        }
        assert!(heap.findings().is_empty(), "{:?}", heap.findings());
        let other = node(&mut m, 2);
        m[other].next.set(Some(&m[held]));
        m.collect();
        let found = heap.findings();
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .finding
                .message
                .ends_with("2 references lead to it")
        );
    }
}

/// After marking, nothing that is dead is shown, however it was held; what is kept of what is shown
/// stays.
#[test]
fn a_check_cannot_see_or_keep_what_the_collection_frees() {
    struct Keeping {
        weak: Weak<Object>,
        kept: Arc<Mutex<Vec<Root<Object>>>>,
    }

    impl Check for Keeping {
        fn conclude(&mut self, heap: &MarkedHeap<'_>, _: &Counted<'_>, _: &mut Found<'_>) {
            assert_eq!(heap.held_weakly(&self.weak), None);
            assert!(heap.labelled("dead").is_empty());
            let live = live_objects(heap);
            for &object in &live {
                heap.for_each_edge(object, |_, _, to| assert!(live.contains(&to)));
            }
            let mut kept = self.kept.lock().unwrap();
            kept.extend(live.iter().map(|&object| heap.root(object)));
        }
    }

    for builder in builders() {
        for zeal in [0, 1] {
            let heap = builder.clone().zeal(zeal).build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let holder = node(&mut m, 1);
            let kept: Arc<Mutex<Vec<Root<Object>>>> = Arc::default();
            let weak = {
                let mut m = m.scope();
                let dead = node(&mut m, 42);
                m[holder].weak.set(Some(&m[dead]));
                m.label(dead, "dead");
                m.weak_handle(dead).unwrap()
            };
            let check = Keeping {
                weak,
                kept: kept.clone(),
            };
            let watch = heap.watch(Box::new(check), None);
            m.collect();
            drop(watch);
            assert!(heap.findings().is_empty(), "the check panicked");
            for number in 0..200 {
                node(&mut m.scope(), number);
            }
            m.collect();
            let kept = std::mem::take(&mut *kept.lock().unwrap());
            let numbers: Vec<u64> = kept
                .iter()
                .filter_map(|root| m[root].downcast::<Node>())
                .map(|it| it.number)
                .collect();
            assert_eq!(numbers, [1]);
        }
    }
}

#[test]
fn what_no_longer_holds_is_withdrawn_and_may_come_back() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let it = node(&mut m, 1);
        let text = "assertion(forall Node x: x.next == null)";
        let _rule = Rules::new(text).register(&heap, &mut m, quiet()).unwrap();
        let known = || heap.findings().pop();
        m.collect();
        assert!(known().is_none());
        m[it].next.set(Some(&m[it]));
        m.collect();
        assert_eq!(known().unwrap().withdrawn, None);
        m[it].next.clear();
        m.collect();
        let withdrawn = known().unwrap();
        assert_eq!(withdrawn.collections, 1);
        assert_eq!(withdrawn.withdrawn, Some(heap.stats().history.len() as u64));
        m[it].next.set(Some(&m[it]));
        m.collect();
        let back = known().unwrap();
        assert_eq!((back.collections, back.withdrawn), (2, None));
        assert_eq!(heap.stats().announced_findings, 1);
        assert!(heap.stats().announced_bytes > 20);
    }
}

#[test]
fn an_assertion_that_came_true_is_withdrawn() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        heap.set_reaction(AssertionKind::Dead, Reaction::Call(Arc::new(|_| {})));
        let mut m = heap.attach("main").unwrap();
        let holder = node(&mut m, 0);
        {
            let mut m = m.scope();
            let dead = node(&mut m, 1);
            m[holder].next.set(Some(&m[dead]));
            m.assert_dead(dead);
        }
        m.collect();
        assert_eq!(heap.findings()[0].withdrawn, None);
        m[holder].next.clear();
        m.collect();
        assert!(heap.findings()[0].withdrawn.is_some());
    }
}

/// A finding that a check skipped to look for stands.
#[test]
fn a_check_that_does_not_look_withdraws_nothing() {
    let heap = Heap::builder().build().unwrap();
    let conclude = |_: &MarkedHeap<'_>, counted: &Counted<'_>, found: &mut Found<'_>| {
        if counted.collection < 3 {
            found.add(Finding::new("odd", Severity::Note, "something is odd"));
        }
    };
    let check = *watching(Needs::nothing(), conclude);
    let check = Every::nth(2.try_into().unwrap(), check);
    let _watch = heap.watch(Box::new(check), quiet());
    let mut m = heap.attach("main").unwrap();
    let mut withdrawn = Vec::new();
    for _ in 0..4 {
        m.collect();
        withdrawn.push(heap.findings().first().map(|it| it.withdrawn));
    }
    assert_eq!(withdrawn, [None, Some(None), Some(None), Some(Some(4))]);
}

#[test]
fn statistics_say_why_a_heap_was_marked_again() {
    struct Panicking;

    impl Check for Panicking {
        fn needs(&mut self) -> Needs {
            Needs::survey()
        }

        fn before(&mut self, heap: &StoppedHeap<'_>) {
            use heaphound::trace::{Phase, Traceable, Visits};
            struct Panics;

            impl heaphound::trace::Visitor<heaphound::ObjectId<'_>> for Panics {
                type Tag = ();

                fn object(&mut self, _: heaphound::ObjectId<'_>) {
                    panic!("on purpose");
                }
            }

            let mut visits = heap.visits();
            visits.reserve(1);
            let mut starts = Vec::new();
            heap.for_each_root(|_, object| starts.push(object));
            let mark = visits.fresh();
            let phase = Phase {
                starts,
                filter: Default::default(),
                mark,
            };
            heap.trace(&mut visits, &phase, vec![Panics]);
        }
    }

    let heap = Heap::builder().invalidation(true).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let it = node(&mut m, 7);
    let remarks = |heap: &Heap| heap.stats().history.back().unwrap().remarks.clone();
    m.collect();
    assert_eq!(remarks(&heap), []);
    let watch = heap.watch(Box::new(Panicking), quiet());
    m.collect();
    assert_eq!(remarks(&heap), [Remark::TraceCutShort]);
    assert_eq!(m[it].number, 7);
    drop(watch);
    let watch = heap.watch(watching(Needs::shapes(), |_, _, _| {}), None);
    let next = node(&mut m, 8);
    m[it].next.set(Some(&m[next]));
    m.collect();
    assert_eq!(remarks(&heap), [Remark::OtherShapes]);
    m.collect();
    assert_eq!(remarks(&heap), []);
    drop(watch);
    let dead = node(&mut m, 9);
    m.expect().reaction(Reaction::ForceTrue).dead(dead);
    m.collect();
    assert_eq!(remarks(&heap), [Remark::Forced]);
}

/// What objects own is dropped with the heap, whoever outlives it.
#[test]
fn a_registration_may_outlive_its_heap() {
    #[derive(Managed)]
    #[repr(C)]
    struct Owner {
        header: Header,
        #[managed(owned)]
        memory: Arc<()>,
    }

    let memory = Arc::new(());
    let heap = Heap::builder().build().unwrap();
    let watch = heap.watch(watching(Needs::nothing(), |_, _, _| {}), None);
    let mut m = heap.attach("main").unwrap();
    let it = m.alloc(OwnerInit {
        memory: memory.clone(),
    });
    it.unwrap();
    let text = "assertion(forall Owner x: x != null)";
    let rule = Rules::new(text).register(&heap, &mut m, None).unwrap();
    drop(m);
    drop(heap);
    assert_eq!(Arc::strong_count(&memory), 1);
    drop((watch, rule));
}
