//! What callers do with GC assertions by mistake, very often, or all at once.
#![cfg(feature = "assertions")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use heaphound::finding::Finding;
use heaphound::{
    AssertionKind, Collector, Header, Heap, HeapBuilder, Local, Managed, Mutator, Object, Reaction,
    Ref, RefArray, Slot,
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
struct Holder {
    header: Header,
    needs: Ref<Node>,
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

fn node<'a>(m: &mut Mutator<'a>, id: u64) -> Local<'a, Node> {
    let (next, other) = (None, None);
    m.alloc(NodeInit { id, next, other }).unwrap()
}

fn global<'a>(m: &mut Mutator<'a>, name: &str) -> Local<'a, Node> {
    let node = node(m, 0);
    m.static_root(name).set(m, Some(&m[node]));
    node
}

/// A reaction that notes what was found.
fn noting() -> (Reaction, Arc<Mutex<Vec<Finding>>>) {
    let found: Arc<Mutex<Vec<Finding>>> = Arc::default();
    let all = found.clone();
    let call = move |finding: &Finding| all.lock().unwrap().push(finding.clone());
    (Reaction::Call(Arc::new(call)), found)
}

fn wrong(m: &Mutator<'_>, kind: AssertionKind) -> Vec<u64> {
    let all = m.violations().into_iter().filter(|it| it.0 == kind);
    let id = |object: &Object| object.downcast::<Node>().unwrap().id;
    let mut ids: Vec<u64> = all.map(|it| id(it.1.get(m).unwrap())).collect();
    ids.sort_unstable();
    ids
}

fn leak<'a>(m: &mut Mutator<'a>, list: Local<'_, Node>, id: u64) {
    let m = &mut m.scope();
    let new = node(m, id);
    let rest = m[list].next.get().map(|it| m.local(it));
    m[new].next.set(rest.map(|it| &m[it]));
    m[list].next.set(Some(&m[new]));
}

#[test]
fn a_region_ends_with_its_closure_though_others_were_left_open_in_it() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let list = global(&mut m, "list");
        m.in_region(|m| {
            leak(m, list, 1);
            m.start_region();
            leak(m, list, 2);
        });
        leak(&mut m, list, 3);
        m.collect();
        assert_eq!(wrong(&m, AssertionKind::Region), [1, 2]);
        let end = catch_unwind(AssertUnwindSafe(|| m.assert_all_dead()));
        assert!(end.is_err(), "no region is open any more");
        // Nor if it panics.
        let panics = AssertUnwindSafe(|| {
            m.in_region(|m| {
                m.start_region();
                resume_unwind(Box::new("stop"));
            })
        });
        assert!(catch_unwind(panics).is_err());
        let end = catch_unwind(AssertUnwindSafe(|| m.assert_all_dead()));
        assert!(end.is_err(), "no region is open any more");
    }
}

#[test]
fn a_region_that_was_ended_inside_its_closure_leaves_the_outer_ones_alone() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let list = global(&mut m, "list");
        m.start_region();
        leak(&mut m, list, 1);
        m.in_region(|m| {
            leak(m, list, 2);
            m.assert_all_dead();
        });
        m.collect();
        assert_eq!(wrong(&m, AssertionKind::Region), [2]);
        m.assert_all_dead();
        m.collect();
        assert_eq!(wrong(&m, AssertionKind::Region), [1, 2]);
    }
}

#[test]
fn leaks_are_found_though_regions_were_left_open() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let list = global(&mut m, "list");
        let (_, leaks) = m.leaks_of(|m| {
            leak(m, list, 1);
            m.start_region();
            leak(m, list, 2);
        });
        let message = "2 objects allocated in the scope are still reachable";
        assert_eq!(leaks.unwrap().message, message);
    }
}

#[test]
fn leaks_are_found_though_the_region_was_ended() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let list = global(&mut m, "list");
        let ends = AssertUnwindSafe(|| {
            m.leaks_of(|m| {
                leak(m, list, 1);
                m.start_region();
                m.assert_all_dead();
                m.assert_all_dead();
                leak(m, list, 2);
            })
        });
        // Either it is found, or the mistake is said.
        let said = catch_unwind(ends).map_or(true, |(_, leaks)| leaks.is_some());
        assert!(said);
    }
}

#[test]
fn what_a_scope_leaks_was_also_allocated_in_the_region_around_it() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let list = global(&mut m, "list");
        m.start_region();
        assert!(m.leaks_of(|m| leak(m, list, 1)).1.is_some());
        m.assert_all_dead();
        m.collect();
        assert_eq!(wrong(&m, AssertionKind::Region), [1]);
    }
}

#[test]
fn every_kind_of_root_has_a_path() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let (_root, _pin) = {
            let m = &mut m.scope();
            let all = [1, 2, 3, 4].map(|id| node(m, id));
            all.iter().for_each(|&it| m.assert_dead(it));
            m.set_thread_object(Some(&m[all[0]]));
            m.static_root("it").set(m, Some(&m[all[1]]));
            (m.root(&m[all[2]]), m.pin(all[3]))
        };
        m.collect();
        assert_eq!(wrong(&m, AssertionKind::Dead), [1, 2, 3, 4]);
    }
}

#[test]
#[cfg_attr(not(feature = "barrier"), ignore = "nothing is invalidated")]
fn references_that_are_needed_are_invalidated_by_force() {
    for builder in builders() {
        let heap = builder.invalidation(true).build().unwrap();
        heap.set_reaction(AssertionKind::Dead, Reaction::ForceTrue);
        let mut m = heap.attach("main").unwrap();
        let (holder, local, root, pinned, weak) = {
            let local = node(&mut m, 1);
            let holder = m.alloc(HolderInit { needs: local }).unwrap();
            let root = m.root(&m[local]);
            let weak = m.weak(&m[local]);
            let pinned = m.pin(local);
            m.set_thread_object(Some(&m[local]));
            m.assert_dead(local);
            (holder, local, root, pinned, weak)
        };
        m.collect();
        assert!(m.try_get(local).is_err());
        assert!(root.try_get(&m).is_err());
        assert!(pinned.root().try_get(&m).is_err());
        assert!(weak.get(&m).is_none());
        assert!(m[holder].needs.try_get().is_err());
        assert!(catch_unwind(AssertUnwindSafe(|| m[holder].needs.get().id)).is_err());
        // What was invalidated can be asserted about: it holds of nothing.
        m.assert_dead(local);
        m.assert_unshared(&root);
        m.retract_owned_by(local, &root);
        let owns = catch_unwind(AssertUnwindSafe(|| m.assert_owned_by(local, holder)));
        assert!(owns.is_err());
        m.collect();
        assert_eq!(m.violations().len(), 0);
        drop(pinned);
        let _copy = m.alloc(HolderInit { needs: local });
        m.collect();
    }
}

#[test]
#[cfg_attr(not(feature = "barrier"), ignore = "nothing is invalidated")]
fn what_ephemerons_hold_is_found_and_forced() {
    for builder in builders() {
        let heap = builder.invalidation(true).build().unwrap();
        let (note, found) = noting();
        let mut m = heap.attach("main").unwrap();
        let map = m.alloc_weak_map::<Node, Node>().unwrap();
        let [key, other] = [1, 2].map(|id| node(&mut m, id));
        {
            let m = &mut m.scope();
            let value = node(m, 3);
            m.weak_map_insert(map, key, value).unwrap();
            m.expect().reaction(note.clone()).dead(value);
            let value = node(m, 4);
            m.weak_map_insert(map, other, value).unwrap();
            m.expect().reaction(Reaction::ForceTrue).dead(value);
        }
        m.collect();
        let messages = found.lock().unwrap();
        assert_eq!(messages.len(), 1);
        assert!(m[map].get(&m[key]).is_some());
        assert!(m[map].get(&m[other]).is_none());
        drop(messages);
        // A key that is to die takes its value with it.
        m.expect().reaction(Reaction::ForceTrue).dead(key);
        m.collect();
        assert!(m.try_get(key).is_err());
        assert_eq!(m[map].len(), 0);
        m.collect();
        assert_eq!(m.violations().len(), 0);
        for id in 0..100 {
            let m = &mut m.scope();
            let new = node(m, id);
            m.weak_map_insert(map, new, new).unwrap();
        }
    }
}

#[test]
fn what_a_slot_holds_besides_is_not_drag() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let (note, found) = noting();
        heap.set_reaction(AssertionKind::Dead, note);
        let mut m = heap.attach("main").unwrap();
        let list = global(&mut m, "list");
        let held = node(&mut m, 1);
        leak(&mut m, list, 3);
        let last = m[list].next.get().unwrap();
        last.other.set(Some(&m[held]));
        m.assert_dead(held);
        m.collect();
        let found = found.lock().unwrap();
        assert!(!found[0].message.contains("(drag)"), "{}", found[0]);
    }
}

#[test]
fn all_is_told_though_a_callback_panics() {
    for builder in builders() {
        let heap = builder.halt_with_errors(true).build().unwrap();
        let (note, found) = noting();
        let call = |_: &Finding| resume_unwind(Box::new("stop"));
        let stop = Reaction::Call(Arc::new(call));
        let mut m = heap.attach("main").unwrap();
        let list = global(&mut m, "list");
        let held = node(&mut m, 1);
        m[list].next.set(Some(&m[held]));
        m[list].other.set(Some(&m[held]));
        m.expect().reaction(stop).dead(held);
        m.expect().reaction(note).unshared(held);
        m.expect().reaction(Reaction::Halt).instances::<Node>(0);
        let collect = catch_unwind(AssertUnwindSafe(|| m.collect()));
        assert!(collect.is_err());
        assert_eq!(found.lock().unwrap().len(), 1);
        let error = m.alloc_refs::<Node>(100_000).err().unwrap();
        assert!(error.halted().is_some());
    }
}

#[test]
fn a_finding_is_told_once_to_each_reaction() {
    for builder in builders() {
        let heap = builder.zeal(0).build().unwrap();
        let (note, found) = noting();
        let mut m = heap.attach("main").unwrap();
        let list = global(&mut m, "list");
        for id in 0..1000 {
            leak(&mut m, list, id);
            let new = m[list].next.get().unwrap();
            let new = m.local(new);
            m.expect().reaction(note.clone()).dead(new);
        }
        m.collect();
        assert_eq!(found.lock().unwrap().len(), 1);
        assert_eq!(heap.findings()[0].objects, 1000);
    }
}

#[test]
fn ownership_is_taken_back_in_linear_time() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let heap = Heap::builder().collector(collector);
        let heap = heap.max_locals(1 << 20).max_bytes(512 << 20).build();
        let heap = heap.unwrap();
        let mut m = heap.attach("main").unwrap();
        let owner = m.alloc_refs::<Node>(200_000).unwrap();
        let mut all = Vec::new();
        for i in 0..200_000 {
            let new = node(&mut m, i as u64);
            m[owner][i].set(Some(&m[new]));
            all.push(new);
        }
        let begin = Instant::now();
        for &new in &all {
            m.assert_owned_by(owner, new);
        }
        for (i, &new) in all.iter().enumerate() {
            m.retract_owned_by(owner, new);
            m[owner][i].clear();
            if i % 2 == 0 {
                m.assert_owned_by(owner, new);
                m.retract_owned_by(owner, new);
            }
            if i % 40_000 == 39_999 {
                m.collect();
            }
        }
        assert!(begin.elapsed() < Duration::from_secs(10));
        m.collect();
        assert_eq!(m.violations().len(), 0);
        m.assert_owned_by(owner, all[7]);
        m.retract_owned_by(owner, all[7]);
        m.assert_owned_by(owner, all[7]);
        m.assert_owned_by(owner, all[8]);
        m.retract_owned_by(owner, all[8]);
        m.collect();
        assert_eq!(wrong(&m, AssertionKind::OwnedBy), [7]);
    }
}

#[test]
fn large_overlapping_owners_are_checked_alike_by_any_number_of_threads() {
    const OWNEES: usize = 40_000;
    const BETWEEN: usize = 300_000;
    for threads in [1, 4] {
        for _ in 0..3 {
            let heap = Heap::builder().collector_threads(threads);
            let heap = heap.max_bytes(1 << 30).max_locals(1 << 20).build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let chain = node(&mut m, 0);
            // A list of 300,000 nodes, which one thread alone can follow, and ownees behind.
            for id in 0..BETWEEN {
                leak(&mut m, chain, id as u64);
            }
            let array = m.alloc_refs::<Node>(OWNEES + 1).unwrap();
            m[array][OWNEES].set(Some(&m[chain]));
            let mut ownees = Vec::new();
            for i in 0..OWNEES {
                let new = node(&mut m, i as u64);
                m[array][i].set(Some(&m[new]));
                ownees.push(new);
            }
            let mut owners = Vec::new();
            for _ in 0..3 {
                let owner = m.alloc_refs::<RefArray<Node>>(1).unwrap();
                m[owner][0].set(Some(&m[array]));
                m.expect().all_owned_by(owner, &ownees);
                owners.push(owner);
            }
            m.collect();
            let kinds: Vec<String> = heap
                .findings()
                .into_iter()
                .map(|it| it.finding.to_string())
                .collect();
            assert_eq!(kinds, [] as [&str; 0], "{threads} threads");
        }
    }
}

#[test]
fn an_ownee_that_one_owner_has_is_checked_though_time_runs_out_for_others() {
    let heap = Heap::builder().max_bytes(1 << 30).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let list = node(&mut m, 0);
    let ownee = node(&mut m, 1);
    m[list].next.set(Some(&m[ownee]));
    for id in 0..300_000 {
        leak(&mut m, list, id);
    }
    for id in 0..10 {
        let owner = node(&mut m, id);
        m[owner].next.set(Some(&m[list]));
        m.assert_owned_by(owner, ownee);
    }
    m.collect();
    let findings: Vec<_> = heap
        .findings()
        .into_iter()
        .map(|it| it.finding.to_string())
        .collect();
    assert_eq!(findings, [] as [&str; 0]);
}

#[test]
fn what_a_static_holds_is_not_called_drag() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let (note, found) = noting();
        heap.set_reaction(AssertionKind::Dead, note);
        let mut m = heap.attach("main").unwrap();
        {
            let m = &mut m.scope();
            let first = global(m, "kept");
            m.assert_dead(first);
        }
        let second = node(&mut m, 2);
        m.assert_dead(second);
        m.collect();
        let found = found.lock().unwrap();
        let drag: Vec<bool> = found
            .iter()
            .map(|it| it.message.contains("(drag)"))
            .collect();
        let stack: Vec<bool> = found
            .iter()
            .map(|it| it.evidence[0].path.to_string().starts_with("thread:"))
            .collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(drag, stack);
        for finding in &*found {
            assert_eq!(finding.objects.len(), 1);
        }
    }
}

#[test]
fn what_only_a_stack_slot_holds_is_drag_though_it_is_referred_to_by_its_own_parts() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let (note, found) = noting();
        heap.set_reaction(AssertionKind::Dead, note);
        let mut m = heap.attach("main").unwrap();
        let company = node(&mut m, 1);
        {
            let m = &mut m.scope();
            let warehouse = node(m, 2);
            m[company].next.set(Some(&m[warehouse]));
            m[warehouse].other.set(Some(&m[company]));
            m[warehouse].next.set(Some(&m[warehouse]));
        }
        m.assert_dead(company);
        m.collect();
        let found = found.lock().unwrap();
        assert!(found[0].message.contains("(drag)"), "{}", found[0]);
    }
}

#[test]
fn the_end_of_a_region_may_have_a_message_and_a_reaction() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let (note, found) = noting();
        let mut m = heap.attach("main").unwrap();
        let list = global(&mut m, "list");
        m.start_region();
        leak(&mut m, list, 1);
        let expecting = m.expect().message("after the request");
        expecting.reaction(note).all_dead();
        m.collect();
        let found = found.lock().unwrap();
        assert!(
            found[0]
                .message
                .ends_with("is reachable: after the request")
        );
        assert!(found[0].place.as_ref().unwrap().contains(file!()));
        assert_eq!(wrong(&m, AssertionKind::Region), [1]);
    }
}

#[test]
#[cfg_attr(not(feature = "barrier"), ignore = "nothing is invalidated")]
fn what_a_dying_object_holds_is_forced_dead_all_the_same() {
    for builder in builders() {
        let heap = builder.invalidation(true).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let list = global(&mut m, "list");
        let weak = {
            let m = &mut m.scope();
            let (dying, held) = (node(m, 1), node(m, 2));
            m[dying].next.set(Some(&m[held]));
            m[list].next.set(Some(&m[held]));
            m.expect().reaction(Reaction::ForceTrue).dead(held);
            m.on_death(&m[dying], |m, dying| {
                let back = m.static_root("back");
                back.set(m, Some(&m[dying]));
            });
            m.weak(&m[held])
        };
        m.collect();
        m.collect();
        assert!(m[list].next.is_null());
        assert!(weak.get(&m).is_none());
        let back = m.static_root::<Node>("back");
        assert!(back.get(&m).unwrap().next.is_null());
    }
}

#[test]
fn two_limits_of_one_class_do_not_count_its_instances_twice() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let _kept = [node(&mut m, 1), node(&mut m, 2)];
        m.assert_instances::<Node>(1);
        m.assert_instances::<Node>(0);
        m.collect();
        m.collect();
        for known in heap.findings() {
            assert_eq!(known.objects, 2, "{}", known.finding);
        }
    }
}

#[test]
fn limits_of_a_class_and_of_its_superclass_are_two_findings() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let (note, found) = noting();
        heap.set_reaction(AssertionKind::Instances, note);
        let mut m = heap.attach("main").unwrap();
        let _kept = [node(&mut m, 1), node(&mut m, 2)];
        m.assert_instances::<Node>(1);
        m.expect().subclasses(true).instances::<Object>(0);
        m.collect();
        let mut messages: Vec<_> = found
            .lock()
            .unwrap()
            .iter()
            .map(|it| it.message.clone())
            .collect();
        messages.sort_unstable();
        assert_eq!(
            messages,
            [
                "2 instances of Node live; the assertion allows 1",
                "2 instances of Object and its subclasses live; the assertion allows 0"
            ]
        );
        for known in heap.findings() {
            assert_eq!(known.objects, 2);
        }
    }
}

#[test]
fn a_region_may_be_a_guard() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let (note, found) = noting();
        heap.set_reaction(AssertionKind::Region, note);
        let mut m = heap.attach("main").unwrap();
        let list = global(&mut m, "list");
        let line;
        {
            let mut m = m.region();
            leak(&mut m, list, 1);
            let held = node(&mut m, 2);
            assert_eq!(m[held].id, 2);
            {
                line = line!() + 1;
                let mut m = m.region();
                leak(&mut m, list, 3);
                m.start_region();
                leak(&mut m, list, 4);
            }
            leak(&mut m, list, 5);
        }
        leak(&mut m, list, 6);
        m.collect();
        assert_eq!(wrong(&m, AssertionKind::Region), [1, 3, 4, 5]);
        let found = found.lock().unwrap();
        // It ended first.
        let place = found[0].place.as_ref().unwrap();
        assert!(
            place.starts_with(&format!("{}:{line}:", file!())),
            "{place}"
        );
    }
}

#[test]
fn a_region_that_panics_or_was_ended_by_hand_asserts_nothing_more() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let list = global(&mut m, "list");
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut m = m.region();
            leak(&mut m, list, 1);
            m.start_region();
            leak(&mut m, list, 2);
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        leak(&mut m, list, 3);
        {
            let mut m = m.region();
            leak(&mut m, list, 4);
            m.expect().message("by hand").all_dead();
            leak(&mut m, list, 5);
        }
        leak(&mut m, list, 6);
        m.collect();
        assert_eq!(wrong(&m, AssertionKind::Region), [4]);
        let ended = catch_unwind(AssertUnwindSafe(|| m.assert_all_dead()));
        assert!(ended.is_err(), "no region is left open");
    }
}

#[test]
fn a_region_in_a_destructor_that_runs_while_there_is_a_panic_asserts() {
    struct Finish<'m, 'a>(&'m mut Mutator<'a>);
    impl Drop for Finish<'_, '_> {
        fn drop(&mut self) {
            let list = global(self.0, "list");
            leak(&mut self.0.region(), list, 1);
        }
    }
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _finish = Finish(&mut m);
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    m.collect();
    assert_eq!(wrong(&m, AssertionKind::Region), [1]);
}

#[test]
fn only_a_reaction_of_its_own_fires_again_for_new_objects() {
    for builder in builders() {
        let heap = builder.build().unwrap();
        let (usual, all) = noting();
        let (own, some) = noting();
        heap.set_reaction(AssertionKind::Dead, usual);
        let mut m = heap.attach("main").unwrap();
        for id in 0..3 {
            let new = node(&mut m, id);
            m.assert_dead(new);
            let held = m.alloc_refs::<Node>(1).unwrap();
            m.expect().reaction(own.clone()).dead(held);
            m.collect();
            m.collect();
        }
        assert_eq!(all.lock().unwrap().len(), 1);
        assert_eq!(some.lock().unwrap().len(), 3);
    }
}
