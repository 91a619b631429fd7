//! GC assertions, kind by kind.
#![cfg(feature = "assertions")]

use std::sync::{Arc, Mutex};

use heaphound::finding::Finding;
use heaphound::{
    AssertionKind, Collector, Header, Heap, HeapBuilder, Local, Managed, Mutator, Reaction,
    RefArray, Slot,
};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    next: Slot<Node>,
    other: Slot<Node>,
}

#[derive(Managed)]
#[repr(C)]
struct Order {
    header: Header,
    number: u64,
    item: Slot<Node>,
}

fn on_every_heap(test: impl Fn(&Heap, &mut Mutator<'_>, &dyn Fn() -> Vec<Finding>)) {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for threads in [1, 4] {
            for zeal in [0, 3] {
                let heap = Heap::builder()
                    .collector(collector)
                    .collector_threads(threads)
                    .max_bytes(64 << 20)
                    .zeal(zeal)
                    .build()
                    .unwrap();
                let found: Arc<Mutex<Vec<Finding>>> = Arc::default();
                for kind in KINDS {
                    let found = found.clone();
                    heap.set_reaction(
                        kind,
                        Reaction::Call(Arc::new(move |finding| {
                            found.lock().unwrap().push(finding.clone());
                        })),
                    );
                }
                let mut m = heap.attach("main").unwrap();
                test(&heap, &mut m, &|| {
                    std::mem::take(&mut *found.lock().unwrap())
                });
            }
        }
    }
}

const KINDS: [AssertionKind; 6] = [
    AssertionKind::Dead,
    AssertionKind::Region,
    AssertionKind::Instances,
    AssertionKind::Volume,
    AssertionKind::Unshared,
    AssertionKind::OwnedBy,
];

#[test]
fn only_the_slots_that_count_share_an_object() {
    on_every_heap(|_, m, found| {
        // A list whose nodes point back: two references lead to each, one of them by `next`.
        let last = node(m, None);
        let middle = node(m, Some(last));
        let first = node(m, Some(middle));
        m[last].other.set(Some(&m[middle]));
        m[middle].other.set(Some(&m[first]));
        for it in [first, middle, last] {
            m.assert_unshared_by(it, &["next"]);
        }
        m.collect();
        assert_eq!(found(), []);
        let ring = node(m, Some(middle));
        m.collect();
        let told = found();
        assert_eq!(told.len(), 1, "{told:?}");
        let message = &told[0].message;
        assert!(
            message.ends_with("was asserted unshared, and 2 references by next lead to it"),
            "{message}"
        );
        assert_eq!(told[0].evidence.len(), 2);
        assert!(
            told[0].evidence.iter().all(|it| it
                .path
                .hops
                .last()
                .is_some_and(|it| it.slot == "next"))
        );
        // It stands, and is told once; when it holds again, a new violation is new.
        m.collect();
        assert_eq!(found(), []);
        m[ring].next.clear();
        m.collect();
        m.expect()
            .message("by both")
            .unshared_by(last, &["next", "other"]);
        m[ring].other.set(Some(&m[last]));
        m.collect();
        let told = found();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0]
                .message
                .contains("2 references by next, other lead to it"),
            "{:?}",
            told[0]
        );
    });
}

#[test]
fn elements_of_arrays_are_slots_of_a_name() {
    on_every_heap(|_, m, found| {
        let item = node(m, None);
        let order = node(m, Some(item));
        let array = m.alloc_refs::<Node>(3).unwrap();
        m[array][0].set(Some(&m[item]));
        m.assert_unshared_by(item, &["[]"]);
        m.collect();
        assert_eq!(found(), []);
        m[array][2].set(Some(&m[item]));
        m.collect();
        assert_eq!(found().len(), 1);
        assert!(m[order].next.get().is_some());
    });
}

#[test]
#[should_panic(expected = "unshared by some slots")]
fn no_slot_at_all_is_a_mistake() {
    let heap = Heap::builder().max_bytes(16 << 20).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let one = node(&mut m, None);
    m.assert_unshared_by(one, &[]);
}

fn node<'a>(m: &mut Mutator<'a>, next: Option<Local<'a, Node>>) -> Local<'a, Node> {
    m.alloc(NodeInit { next, other: None }).unwrap()
}

/// Paths of a finding, the numbers in objects' names and the scopes of locals taken out.
fn paths(finding: &Finding) -> Vec<String> {
    let paths = finding.evidence.iter().map(|it| it.path.to_string());
    let plain = |path: String| {
        let mut words: Vec<String> = path.split(' ').map(String::from).collect();
        if words[1] == "@" {
            words.drain(1..3);
        }
        for word in &mut words {
            if let Some(at) = word.find('#') {
                word.truncate(at);
            }
        }
        words.join(" ")
    };
    paths.map(plain).collect()
}

#[test]
fn what_was_asserted_dead_is_found_with_its_path() {
    on_every_heap(|_, m, found| {
        let list = node(m, None);
        m.static_root("list").set(m, Some(&m[list]));
        {
            let mut m = m.scope();
            let (leaked, gone) = (node(&mut m, None), node(&mut m, None));
            m[list].other.set(Some(&m[leaked]));
            m.assert_dead(leaked);
            m.expect().message("it is not needed").dead(gone);
        }
        m.collect();
        let findings = found();
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].kind, "asserted-dead");
        assert_eq!(paths(&findings[0]), ["static:list → Node .other → Node"]);
        // It stands, and is counted.
        m.collect();
        assert_eq!(found().len(), 0);
        m[list].other.clear();
        m.collect();
        assert_eq!(found().len(), 0);
    });
}

#[test]
fn repeats_are_counted_and_suppressed_findings_not_reported() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let kept = node(&mut m, None);
    m.static_root("kept").set(&m, Some(&m[kept]));
    m.assert_dead(kept);
    for _ in 0..5 {
        m.collect();
    }
    let known = heap.findings();
    assert_eq!(
        (known.len(), known[0].collections, known[0].objects),
        (1, 5, 1)
    );
    heap.suppress(known[0].finding.fingerprint(), "known since spring");
    m.collect();
    let known = heap.findings();
    assert_eq!(known[0].collections, 6);
    assert_eq!(known[0].suppressed.as_deref(), Some("known since spring"));
}

#[test]
fn what_only_a_stack_slot_holds_is_drag() {
    on_every_heap(|_, m, found| {
        let local = node(m, None);
        m.assert_dead(local);
        m.collect();
        let findings = found();
        assert!(
            findings[0]
                .message
                .ends_with("only a stack slot holds it (drag)")
        );
        assert_eq!(paths(&findings[0]), ["thread:main[0] → Node"]);
    });
}

#[test]
fn regions_nest() {
    on_every_heap(|heap, m, found| {
        let keep = m.alloc_refs::<Node>(2).unwrap();
        m.static_root::<RefArray<Node>>("keep")
            .set(m, Some(&m[keep]));
        m.start_region();
        {
            let mut m = m.scope();
            let outer = node(&mut m, None);
            m[keep][0].set(Some(&m[outer]));
            m.in_region(|m| {
                for i in 0..100 {
                    let mut m = m.scope();
                    let inner = node(&mut m, None);
                    let _text = m.alloc_str("text").unwrap();
                    if i == 50 {
                        m[keep][1].set(Some(&m[inner]));
                    }
                }
            });
            let _behind = node(&mut m, None);
        }
        m.collect();
        let findings = found();
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(paths(&findings[0]), ["static:keep → Node[] [1] → Node"]);
        m[keep][1].clear();
        m.assert_all_dead();
        m.collect();
        // Held in the same way as the one before, it is the same finding once more.
        assert_eq!(found().len(), 0);
        assert_eq!(heap.findings()[0].collections, 2);
    });
}

#[test]
fn instances_and_volume_are_limited() {
    on_every_heap(|_, m, found| {
        let mut list = None;
        for number in 0..5 {
            let item = Some(node(m, None));
            list = Some(m.alloc(OrderInit { number, item }).unwrap());
        }
        m.assert_instances::<Order>(5);
        m.assert_volume::<Order>(5 * 24);
        m.collect();
        assert_eq!(found().len(), 0);
        m.assert_instances::<Order>(3);
        m.assert_volume::<Order>(100);
        m.collect();
        let findings = found();
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert_eq!(
            findings.iter().map(|it| it.message.as_str()).min().unwrap(),
            "5 instances of Order live; the assertion allows 3"
        );
        assert_eq!(
            findings[0].evidence[0].shows.to_string(),
            "5 held like this"
        );
        let _ = list;
    });
}

#[test]
fn a_shared_object_is_found_with_both_ways() {
    on_every_heap(|heap, m, found| {
        let (a, b, shared) = (node(m, None), node(m, None), node(m, None));
        m.static_root("a").set(m, Some(&m[a]));
        m.static_root("b").set(m, Some(&m[b]));
        m[a].next.set(Some(&m[shared]));
        m.assert_unshared(shared);
        m.collect();
        // Locals do not count, nor handles.
        let _root = m.root(&m[shared]);
        m.collect();
        assert_eq!(found().len(), 0);
        m[b].other.set(Some(&m[shared]));
        m.collect();
        let findings = found();
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(
            paths(&findings[0]),
            [
                "static:a → Node .next → Node",
                "static:b → Node .other → Node"
            ]
        );
        // Two slots of one object are two, by the same classes and slots.
        m[b].other.clear();
        m.collect();
        assert_eq!(heap.findings()[0].collections, 1);
        m[a].other.set(Some(&m[shared]));
        m.collect();
        assert_eq!(heap.findings()[0].collections, 2);
    });
}

#[test]
fn an_ownee_that_left_its_owner_is_found() {
    on_every_heap(|_, m, found| {
        let (owner, cache) = (node(m, None), node(m, None));
        m.static_root("owner").set(m, Some(&m[owner]));
        m.static_root("cache").set(m, Some(&m[cache]));
        {
            let mut m = m.scope();
            let (first, second, third) =
                (node(&mut m, None), node(&mut m, None), node(&mut m, None));
            m[owner].next.set(Some(&m[first]));
            m[first].next.set(Some(&m[second]));
            m[second].next.set(Some(&m[third]));
            m[third].next.set(Some(&m[owner]));
            m[cache].next.set(Some(&m[third]));
            // A list that owns its nodes, which lie behind each other.
            for ownee in [first, second, third] {
                m.assert_owned_by(owner, ownee);
            }
        }
        m.collect();
        assert_eq!(found().len(), 0);
        m[owner].next.get().unwrap().next.clear();
        m.collect();
        let findings = found();
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(paths(&findings[0]), ["static:cache → Node .next → Node"]);
        assert!(findings[0].message.contains("not through"));
    });
}

#[test]
fn an_ownee_that_outlives_its_owner_is_found() {
    on_every_heap(|_, m, found| {
        let kept = node(m, None);
        {
            let mut m = m.scope();
            let owner = node(&mut m, Some(kept));
            let other = node(&mut m, None);
            m.assert_owned_by(owner, kept);
            // Another owner suffices, while it reaches it.
            m[other].next.set(Some(&m[kept]));
            m.static_root("other").set(&m, Some(&m[other]));
            m.assert_owned_by(other, kept);
        }
        m.collect();
        assert_eq!(found().len(), 0);
        m.static_root::<Node>("other").clear(m);
        m.collect();
        let findings = found();
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(
            findings[0].message.contains("has outlived"),
            "{}",
            findings[0].message
        );
        m.retract_owned_by(kept, kept);
    });
}

#[test]
fn a_halted_program_panics_at_its_next_safepoint() {
    let heap = Heap::builder().build().unwrap();
    heap.set_reaction(AssertionKind::Dead, Reaction::Halt);
    let mut m = heap.attach("main").unwrap();
    let kept = node(&mut m, None);
    m.assert_dead(kept);
    let halted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| m.collect()));
    assert!(halted.is_err());
    let halted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| m.safepoint()));
    assert!(halted.is_err());
}

#[test]
fn an_assertion_does_not_wait_for_ever_for_a_full_collection() {
    let wait = |builder: HeapBuilder| {
        let heap = builder.collector(Collector::Generational).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let kept = node(&mut m, None);
        m.assert_dead(kept);
        for _ in 0..10 {
            m.collect_nursery();
        }
        heap.stats().full_collections
    };
    assert_eq!(wait(Heap::builder().assertion_patience(8)), 1);
    assert_eq!(wait(Heap::builder().assertion_patience(0)), 0);
}

#[test]
#[cfg_attr(not(feature = "barrier"), ignore = "nothing is invalidated")]
fn a_forced_assertion_becomes_true() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for invalidation in [false, true] {
            let heap = Heap::builder()
                .collector(collector)
                .invalidation(invalidation)
                .zeal(5)
                .build()
                .unwrap();
            heap.set_reaction(AssertionKind::Dead, Reaction::ForceTrue);
            let mut m = heap.attach("main").unwrap();
            let (holder, array) = (node(&mut m, None), m.alloc_refs::<Node>(3).unwrap());
            let (weak, behind) = {
                let mut m = m.scope();
                let behind = node(&mut m, None);
                let doomed = node(&mut m, Some(behind));
                m[holder].next.set(Some(&m[doomed]));
                m[array][1].set(Some(&m[doomed]));
                m.static_root("doomed").set(&m, Some(&m[doomed]));
                m.assert_dead(doomed);
                (m.weak(&m[doomed]), m.weak(&m[behind]))
            };
            m.collect();
            assert!(m[holder].next.is_null() && m[array][1].is_null());
            assert!(weak.get(&m).is_none() && behind.get(&m).is_none());
            let note = &heap.findings()[0].finding;
            assert_eq!(note.kind, "asserted-dead");
            // What is not optional can only be invalidated.
            let held = node(&mut m, None);
            m.assert_dead(held);
            m.collect();
            assert_eq!(m.try_get(held).is_err(), invalidation);
        }
    }
}

#[test]
fn a_program_can_be_halted_by_errors() {
    let heap = Heap::builder().halt_with_errors(true).build().unwrap();
    heap.set_reaction(AssertionKind::Dead, Reaction::Halt);
    let mut m = heap.attach("main").unwrap();
    let kept = node(&mut m, None);
    m.assert_dead(kept);
    m.collect();
    let error = loop {
        let mut m = m.scope();
        match m.alloc_refs::<Node>(1000) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(error.halted().unwrap().contains("was asserted dead"));
    assert!(
        error
            .to_string()
            .starts_with("the program is halted: error: Node#")
    );
}

#[test]
fn a_test_fails_with_the_ways_that_lead_to_what_leaked() {
    use heaphound::testing::assert_no_leaks;
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let heap = Heap::builder().collector(collector).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let cache = m.alloc_refs::<Node>(10).unwrap();
        for _ in 0..3 {
            assert_no_leaks(&mut m, |m| {
                let _local = node(m, None);
            });
        }
        for _ in 0..3 {
            let (_, leaks) = m.leaks_of(|m| {
                for i in 0..10 {
                    let mut m = m.scope();
                    let item = node(&mut m, None);
                    m[cache][i].set(Some(&m[item]));
                }
            });
            let leaks = leaks.unwrap();
            assert_eq!(
                leaks.message,
                "10 objects allocated in the scope are still reachable"
            );
            assert_eq!(leaks.evidence[0].shows.to_string(), "10 held like this");
            assert_eq!(paths(&leaks), ["thread:main[0] → Node[] [0] → Node"]);
        }
    }
}
