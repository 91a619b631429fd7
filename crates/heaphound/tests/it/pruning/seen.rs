//! What others see of references that were cut: rules, files, shapes, growth, assertions, threads, other heaps.

use std::sync::{Arc, Mutex};

use heaphound::finding::Finding;
use heaphound::view::{HeapView, Place};
use heaphound::{
    Collector, Growth, Header, Heap, Managed, Mutator, Object, PlainData, Pruning, PruningState,
    Reaction, RefArray, Rules, Shapes, Slot,
};
use heaphound_testkit::classes::Log;

use super::cut::{
    Holder, Part, Thing, check_pruned, cut_holder, eager, for_each_heap, holder, panic_of, prune,
    prune_from, thing, with_cut,
};

/// What rules find that are checked now, and at a collection.
fn found(m: &mut Mutator<'_>, heap: &Heap, text: &str) -> Vec<String> {
    // It is in use, and stays.
    assert!(cut_holder(m).used.get().unwrap().next.get().is_some());
    let now = Rules::new(text).check(m).unwrap();
    let twin = Rules::new(text).interpreted().check(m).unwrap();
    let told = |it: &[Finding]| -> Vec<_> {
        it.iter()
            .map(|it| (it.kind.clone(), it.notes.clone()))
            .collect()
    };
    assert_eq!(told(&now), told(&twin), "{text}");
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let reaction = Reaction::Call(Arc::new(move |finding| {
        tell.lock().unwrap().push(finding.kind.clone());
    }));
    let registration = Rules::new(text).register(heap, m, Some(reaction)).unwrap();
    m.collect();
    drop(registration);
    let kinds: Vec<String> = now.into_iter().map(|it| it.kind).collect();
    assert_eq!(*told.lock().unwrap(), kinds, "{text}");
    kinds
}

#[test]
fn a_rule_does_not_take_what_was_cut_for_null() {
    for strict in [false, true] {
        for_each_heap(eager().strict(strict), |builder| {
            let heap = builder.build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let log = Log::default();
            with_cut(&heap, &mut m, &log);
            // Neither is known of the holder, which is therefore left out.
            for text in [
                "rule r: assertion(forall Holder x: x.stale == null)",
                "rule r: assertion(forall Holder x: x.stale != null)",
                "rule r: assertion(forall Holder x: x.stale.number == 17)",
                "rule r: assertion(!(exists Holder x: x.stale == null))",
            ] {
                assert_eq!(found(&mut m, &heap, text), [""; 0], "{text}");
            }
            // A witness may have been among what is gone.
            for text in [
                "rule r: assertion(exists Holder x: x.stale == null)",
                "rule r: assertion(exists Thing x: x.number == 17)",
            ] {
                assert_eq!(found(&mut m, &heap, text), ["not-checked"], "{text}");
            }
            let text = "rule r: assertion(forall Holder x: x.used == null)";
            assert_eq!(found(&mut m, &heap, text), ["r"]);
            let finding = Rules::new("assertion(forall Holder x: x.used == null)").check(&mut m);
            let notes = finding.unwrap().remove(0).notes;
            assert!(
                notes
                    .iter()
                    .any(|it| it.contains("leak pruning has cut references")),
                "{notes:?}"
            );
            let text = "assertion(forall Holder x: h.stale == null)";
            let finding = {
                let mut m = m.scope();
                let it = m.local(cut_holder(&m));
                Rules::new(text).bind(&m, "h", it).check(&mut m).unwrap()
            };
            assert_eq!(finding[0].kind, "not-checked");
            assert!(
                finding[0].message.contains("was pruned or invalidated"),
                "{}",
                finding[0].message
            );
            // What is written there instead can be read.
            cut_holder(&m).stale.clear();
            let text = "rule r: assertion(forall Holder x: x.stale != null)";
            assert_eq!(found(&mut m, &heap, text), ["r"]);
        });
    }
}

#[test]
fn a_written_heap_says_what_was_cut() {
    let path = std::env::temp_dir().join(format!("heaphound-cut-{}.hhs", std::process::id()));
    for_each_heap(eager(), |builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let log = Log::default();
        with_cut(&heap, &mut m, &log);
        let array = m.static_root::<RefArray<Thing>>("array");
        let holders = m.static_root::<RefArray<Holder>>("holders");
        {
            let mut m = m.scope();
            let it = m.alloc_refs::<Holder>(1000).unwrap();
            for at in 0..1000 {
                let mut m = m.scope();
                let holder = holder(&mut m);
                m[it][at].set(Some(&m[holder]));
            }
            holders.set(&m, Some(&m[it]));
            let it = m.alloc_refs::<Thing>(70_001).unwrap();
            let last = thing(&mut m, 7, &log);
            m[it][70_000].set(Some(&m[last]));
            array.set(&m, Some(&m[it]));
        }
        prune_from(&heap, &mut m, "Thing[]", |m| {
            assert!(cut_holder(m).used.get().unwrap().next.get().is_some());
            let holders = holders.get(m).unwrap();
            (0..1000).for_each(|at| assert!(holders[at].get().is_some()));
        });
        m.write_heap(&path, PlainData::All).unwrap();
        let written = heaphound::file::read_file(&path, &mut |_, _| {}).unwrap();
        let captured = m.capture(PlainData::Omit);
        for shown in [&written, &captured] {
            // The array's element, and the holder's slot.
            assert_eq!(shown.cut().len(), 2);
            let places: Vec<Place> = shown.objects().flat_map(|it| shown.cut_of(it)).collect();
            assert!(places.contains(&Place::Element(70_000)), "{places:?}");
            assert!(places.contains(&Place::Field(0)), "{places:?}");
        }
        m.inspect(|view| {
            let mut cut = 0;
            view.for_each_root(|_, object| {
                cut += view.is_cut(object, Place::Element(70_000)) as usize;
                cut += view.is_cut(object, Place::Field(0)) as usize;
                assert!(!view.is_cut(object, Place::Field(1)));
                assert!(!view.is_cut(object, Place::Element(70_001)));
            });
            assert_eq!(cut, 2);
        });
    });
    std::fs::remove_file(path).unwrap();
}

#[derive(Managed)]
#[repr(C)]
struct Link {
    header: Header,
    next: Slot<Link>,
    back: Slot<Link>,
    load: Slot<RefArray<Object>>,
}

/// Puts a link in front of a list whose links know each other in both directions.
fn add_link(m: &mut Mutator<'_>) {
    let mut m = m.scope();
    let head = m.static_root::<Link>("links");
    let load = m.alloc_refs::<Object>(50).unwrap();
    let link = m
        .alloc(LinkInit {
            next: None,
            back: None,
            load: Some(load),
        })
        .unwrap();
    if let Some(head) = head.get(&m) {
        m[link].next.set(Some(head));
        head.back.set(Some(&m[link]));
    }
    head.set(&m, Some(&m[link]));
}

#[test]
fn shapes_are_no_longer_judged_when_references_were_cut() {
    let learn = || {
        let heap = Heap::builder().build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let learning = Shapes::learning(Default::default()).register(&heap, None);
        for _ in 0..6 {
            (0..40).for_each(|_| add_link(&mut m));
            m.collect();
        }
        learning.profile()
    };
    let profile = learn();
    assert!(!profile.to_json().is_empty());
    for_each_heap(eager(), |builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let testing = Shapes::testing(profile.clone()).register(&heap, None);
        let learning = Shapes::learning(profile.clone()).register(&heap, None);
        (0..200).for_each(|_| add_link(&mut m));
        prune_from(&heap, &mut m, "Link", |_| {});
        let learnt = learning.profile();
        for _ in 0..3 {
            m.collect();
        }
        assert_eq!(testing.violations(), vec![]);
        assert_eq!(learning.profile(), learnt, "what is cut is not learnt");
        let kinds: Vec<String> = heap
            .findings()
            .into_iter()
            .map(|it| it.finding.kind)
            .collect();
        assert!(
            kinds.contains(&"shapes-not-checked".to_string()),
            "{kinds:?}"
        );
        assert!(!kinds.iter().any(|it| it == "shape"), "{kinds:?}");
    });
}

/// A leak that Cork reports is reported, pruned or not, and what was pruned is not taken for something else.
#[test]
fn growth_is_found_in_a_heap_that_prunes() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let heap = Heap::builder()
            .max_bytes(8 << 20)
            .initial_bytes(256 << 10)
            .nursery_bytes(128 << 10)
            .collector(collector)
            .pruning(true)
            .build()
            .unwrap();
        let mut m = heap.attach("main").unwrap();
        let growth = Growth::new().register(&heap, None);
        for _ in 0..100_000 {
            add_link(&mut m);
        }
        assert!(!heap.pruned().is_empty());
        assert!(growth.cork().occupancy().len() > 5);
        let found = heap.findings();
        let of = |kind: &str| found.iter().filter(|it| it.finding.kind == kind).count();
        assert!(of("growth") >= 1, "{found:?}");
        assert!(of("pruned") >= 1);
    }
}

/// What was owned through a reference that was cut may still be owned, as far as anybody knows.
#[cfg(feature = "assertions")]
#[test]
fn ownership_is_not_denied_because_a_reference_was_cut() {
    for_each_heap(eager(), |builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let log = Log::default();
        let root = m.static_root::<Holder>("root");
        let part = m.static_root::<Object>("part");
        {
            let mut m = m.scope();
            let holder = holder(&mut m);
            let it = thing(&mut m, 1, &log);
            m[holder].stale.set(Some(&m[it]));
            root.set(&m, Some(&m[holder]));
            part.set(&m, m[it].next.get().map(|it| it.as_object()));
            let owned = m.local(m[it].next.get().unwrap());
            m.assert_owned_by(holder, owned);
        }
        prune_from(&heap, &mut m, "Holder", |m| assert!(part.get(m).is_some()));
        m.collect();
        check_pruned(root.get(&m).unwrap().stale.try_get());
        let kinds: Vec<String> = heap
            .findings()
            .into_iter()
            .map(|it| it.finding.kind)
            .collect();
        assert!(
            kinds.contains(&"ownership-not-checked".to_string()),
            "{kinds:?}"
        );
        assert!(!kinds.contains(&"not-owned".to_string()), "{kinds:?}");
    });
}

/// What was asserted to be dead, and is there, is told before it can be stale; once it was pruned nothing more is said.
#[cfg(feature = "assertions")]
#[test]
fn what_ought_to_be_dead_is_told_before_it_is_pruned() {
    for strict in [false, true] {
        for_each_heap(eager().strict(strict), |builder| {
            let heap = builder.build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let log = Log::default();
            let root = m.static_root::<Holder>("root");
            {
                let mut m = m.scope();
                let holder = holder(&mut m);
                let it = thing(&mut m, 1, &log);
                m[holder].stale.set(Some(&m[it]));
                root.set(&m, Some(&m[holder]));
                m.assert_dead(it);
            }
            let dead = |heap: &Heap| {
                let found = heap.findings().into_iter();
                let mut found = found.filter(|it| it.finding.kind == "asserted-dead");
                let it = found.next();
                assert!(found.next().is_none());
                it
            };
            m.collect();
            assert!(dead(&heap).is_some());
            prune_from(&heap, &mut m, "Holder", |_| {});
            m.collect();
            check_pruned(root.get(&m).unwrap().stale.try_get());
            assert!(dead(&heap).is_some(), "it stays in the list");
        });
    }
}

/// What is asserted to be dead, and hangs on a reference that is cut by the very next collection, was reachable.
#[cfg(feature = "assertions")]
#[test]
fn what_ought_to_be_dead_is_told_though_it_is_pruned_at_once() {
    for strict in [false, true] {
        for_each_heap(eager().strict(strict), |builder| {
            let heap = builder.build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let log = Log::default();
            let root = m.static_root::<Holder>("root");
            let part = m.static_root::<Part>("part");
            {
                let mut m = m.scope();
                let holder = holder(&mut m);
                let it = thing(&mut m, 1, &log);
                m[holder].stale.set(Some(&m[it]));
                root.set(&m, Some(&m[holder]));
                part.set(&m, m[it].next.get());
            }
            let alone = m.static_root::<Part>("alone");
            {
                let mut m = m.scope();
                let it = thing(&mut m, 2, &log);
                alone.set(&m, m[it].next.get());
            }
            prune_from(&heap, &mut m, "Holder", |m| {
                // The next collection prunes.
                if heap.pruning_state() == PruningState::Select && part.get(m).is_some() {
                    for it in [&part, &alone] {
                        let m = m.scope();
                        let dead = m.local(it.get(&m).unwrap());
                        it.clear(&m);
                        m.assert_dead(dead);
                    }
                }
            });
            let told = |heap: &Heap| -> Vec<Finding> {
                let found = heap.findings().into_iter().map(|it| it.finding);
                found.filter(|it| it.kind == "asserted-dead").collect()
            };
            check_pruned(root.get(&m).unwrap().stale.try_get());
            let found = told(&heap);
            assert_eq!(found.len(), 1, "{found:?}: not of what is truly dead");
            let path = found[0].evidence[0].path.to_string();
            assert!(
                path.contains("static:root") && path.contains(".stale") && path.contains(".next"),
                "{path}"
            );
            assert!(
                found[0].notes.iter().any(|it| it.contains("leak pruning")),
                "{found:?}"
            );
            m.collect();
            assert_eq!(told(&heap).len(), 1);
        });
    }
}

#[test]
fn probes_follow_no_reference_that_was_cut() {
    for_each_heap(eager().strict(true), |builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let log = Log::default();
        let part = m.static_root::<Object>("part");
        let root = m.static_root::<Holder>("root");
        {
            let mut m = m.scope();
            let holder = holder(&mut m);
            let it = thing(&mut m, 1, &log);
            m[holder].stale.set(Some(&m[it]));
            root.set(&m, Some(&m[holder]));
            part.set(&m, m[it].next.get().map(|it| it.as_object()));
        }
        let ask = |m: &mut Mutator<'_>| {
            let mut m = m.scope();
            let holder = m.local(root.get(&m).unwrap());
            let part = m.local(part.get(&m).unwrap());
            (
                m.is_reachable(holder, part).unwrap(),
                m.is_shared(part).unwrap(),
            )
        };
        assert_eq!(ask(&mut m), (true, false));
        prune_from(&heap, &mut m, "Holder", |m| assert!(part.get(m).is_some()));
        assert_eq!(ask(&mut m), (false, false));
    });
}

/// Holders that move keep what was cut; and what is pruned beside objects that move is pruned.
#[test]
fn holders_that_move_keep_what_was_cut() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for threads in [1, 3] {
            let heap = Heap::builder()
                .max_bytes(64 << 20)
                .initial_bytes(32 << 20)
                .collector(collector)
                .collector_threads(threads)
                .pruning(eager().strict(true))
                .build()
                .unwrap();
            let mut m = heap.attach("main").unwrap();
            let log = Log::default();
            let all = m.static_root::<RefArray<Holder>>("all");
            const MANY: usize = 40_000;
            {
                let mut m = m.scope();
                let array = m.alloc_refs::<Holder>(MANY).unwrap();
                for at in 0..MANY {
                    let mut m = m.scope();
                    let holder = holder(&mut m);
                    m[array][at].set(Some(&m[holder]));
                    if at % 10 == 0 {
                        let it = thing(&mut m, at as u64, &log);
                        m[holder].stale.set(Some(&m[it]));
                        let used = thing(&mut m, at as u64 + 1, &log);
                        m[holder].used.set(Some(&m[used]));
                    }
                }
                all.set(&m, Some(&m[array]));
            }
            let read = |m: &Mutator<'_>| {
                let all = all.get(m).unwrap();
                for at in (0..MANY).step_by(10) {
                    let it = all[at].get().unwrap().used.get().unwrap();
                    assert_eq!(it.number, at as u64 + 1);
                    assert_eq!(it.next.get().unwrap().number, at as u64 + 1001);
                }
            };
            prune_from(&heap, &mut m, "Holder", |m| {
                read(m);
                let all = all.get(m).unwrap();
                (0..MANY).for_each(|at| assert!(all[at].get().is_some()));
            });
            // Most of what lives is dropped, so that the rest moves together.
            {
                let all = all.get(&m).unwrap();
                (0..MANY)
                    .filter(|at| at % 100 != 0)
                    .for_each(|at| all[at].clear());
            }
            let mut moved = 0;
            for _ in 0..6 {
                let first = all.get(&m).unwrap();
                (0..MANY).step_by(100).for_each(|at| {
                    assert!(first[at].get().unwrap().used.get().is_some());
                });
                m.collect();
                moved += heap.stats().history.back().unwrap().compacted_bytes;
            }
            assert!(moved > 0, "nothing has moved");
            let first = all.get(&m).unwrap();
            for at in (0..MANY).step_by(100) {
                let it = first[at].get().unwrap();
                check_pruned(it.stale.try_get());
                assert_eq!(it.used.get().unwrap().number, at as u64 + 1);
            }
        }
    }
}

#[test]
fn threads_that_read_the_same_cut_slot_all_get_the_error() {
    for_each_heap(eager(), |builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let log = Log::default();
        with_cut(&heap, &mut m, &log);
        m.blocked(|| {
            std::thread::scope(|scope| {
                for nth in 0..4 {
                    let heap = &heap;
                    scope.spawn(move || {
                        let mut m = heap.attach(format!("t{nth}")).unwrap();
                        for round in 0..200 {
                            let it = cut_holder(&m);
                            check_pruned(it.stale.try_get());
                            assert!(!it.stale.is_null());
                            if round == 100 {
                                let text = panic_of(|| it.stale.compare_and_set(None, None));
                                assert!(text.contains("was pruned"), "{text}");
                            }
                            m.safepoint();
                        }
                    });
                }
            });
        });
        // Of several that write, one wins, and all see a reference that is whole.
        m.blocked(|| {
            std::thread::scope(|scope| {
                for nth in 0..4 {
                    let heap = &heap;
                    scope.spawn(move || {
                        let mut m = heap.attach(format!("w{nth}")).unwrap();
                        for _ in 0..100 {
                            let it = cut_holder(&m);
                            if nth == 0 {
                                it.stale.set(it.used.get());
                            }
                            if let Ok(read) = it.stale.try_get() {
                                assert_eq!(read.unwrap().number, 2);
                            }
                            m.safepoint();
                        }
                    });
                }
            });
        });
        assert_eq!(cut_holder(&m).stale.get().unwrap().number, 2);
    });
}

#[test]
fn what_one_heap_prunes_is_none_of_anothers_business() {
    let heap = |pruning: Option<Pruning>| {
        let builder = Heap::builder().max_bytes(64 << 20);
        let builder = match pruning {
            Some(pruning) => builder.pruning(pruning),
            None => builder,
        };
        builder.build().unwrap()
    };
    let (one, other, third) = (heap(Some(eager())), heap(Some(eager())), heap(None));
    let log = Log::default();
    let mut m = one.attach("main").unwrap();
    with_cut(&one, &mut m, &log);
    for heap in [&other, &third] {
        let mut m = heap.attach("main").unwrap();
        let root = m.static_root::<Holder>("root");
        {
            let mut m = m.scope();
            let holder = holder(&mut m);
            let it = thing(&mut m, 1, &log);
            m[holder].stale.set(Some(&m[it]));
            root.set(&m, Some(&m[holder]));
        }
        m.collect();
        assert_eq!(root.get(&m).unwrap().stale.get().unwrap().number, 1);
        assert_eq!(heap.pruned(), vec![]);
        if std::ptr::eq(heap, &third) {
            continue;
        }
        prune(heap, &mut m, |_| {});
        check_pruned(root.get(&m).unwrap().stale.try_get());
    }
    check_pruned(cut_holder(&m).stale.try_get());
    assert!(!one.pruned().is_empty() && third.pruned().is_empty());
}

#[test]
fn receipts_go_where_the_program_wants_them() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let reaction = Reaction::Call(Arc::new(move |finding| {
        tell.lock().unwrap().push(finding.kind.clone());
    }));
    let heap = Heap::builder()
        .max_bytes(64 << 20)
        .pruning(eager())
        .pruning_reaction(reaction)
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let log = Log::default();
    with_cut(&heap, &mut m, &log);
    with_cut(&heap, &mut m, &log);
    let told = told.lock().unwrap().clone();
    assert_eq!(told[0], "out-of-memory-averted");
    let pruned = told.iter().filter(|it| *it == "pruned").count();
    assert_eq!(pruned, heap.pruned().len(), "{told:?}: each type once");
    assert_eq!(pruned + 1, told.len(), "{told:?}");
    assert_eq!(heap.findings().len(), told.len());
}
