//! References that were cut: who may still do what with them, and what becomes of those who knew the object.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use heaphound::{
    Collector, Header, Heap, HeapBuilder, Invalidated, Local, Managed, Mutator, Object, PlainData,
    Pruning, PruningState, Ref, RefArray, Slot, WeakSlot,
};
use heaphound_testkit::classes::{Event, Log, Tally};

use crate::panic_hook;

/// Holds what is read again and again, and what is not.
#[derive(Managed)]
#[repr(C)]
pub(super) struct Holder {
    header: Header,
    pub(super) stale: Slot<Thing>,
    pub(super) used: Slot<Thing>,
    pub(super) weak: WeakSlot<Thing>,
}

/// Is known by its number and by its death.
#[derive(Managed)]
#[repr(C)]
pub(super) struct Thing {
    header: Header,
    pub(super) number: u64,
    pub(super) next: Slot<Part>,
    #[managed(owned)]
    tally: Tally,
}

/// What things consist of.
#[derive(Managed)]
#[repr(C)]
pub(super) struct Part {
    header: Header,
    pub(super) number: u64,
    #[managed(owned)]
    tally: Tally,
}

/// A slot that is never null.
#[derive(Managed)]
#[repr(C)]
struct Anchor {
    header: Header,
    target: Ref<Thing>,
}

pub(super) fn eager() -> Pruning {
    Pruning::new()
        .every_collection_counts(true)
        .observe_above(0.0)
        .select_above(0.0)
}

pub(super) fn for_each_heap(pruning: Pruning, f: impl Fn(HeapBuilder)) {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for threads in [1, 3] {
            for zeal in [0, 1_000_000] {
                f(Heap::builder()
                    .max_bytes(64 << 20)
                    .collector(collector)
                    .collector_threads(threads)
                    .zeal(zeal)
                    .pruning(pruning));
            }
        }
    }
}

pub(super) fn thing<'a>(m: &mut Mutator<'a>, number: u64, log: &Log) -> Local<'a, Thing> {
    let tally = |object| Tally {
        object,
        log: log.clone(),
    };
    let part = m
        .alloc(PartInit {
            number: number + 1000,
            tally: tally(number as usize + 1000),
        })
        .unwrap();
    m.alloc(ThingInit {
        number,
        next: Some(part),
        tally: tally(number as usize),
    })
    .unwrap()
}

/// Collects until something has been pruned; `touch` is called before each collection.
pub(super) fn prune(heap: &Heap, m: &mut Mutator<'_>, touch: impl Fn(&mut Mutator<'_>)) {
    prune_from(heap, m, "", touch);
}

/// The same, of references that objects of a class have.
pub(super) fn prune_from(
    heap: &Heap,
    m: &mut Mutator<'_>,
    source: &str,
    touch: impl Fn(&mut Mutator<'_>),
) {
    let cut = || -> usize {
        let pruned = heap.pruned();
        let those = pruned.iter().filter(|it| it.source().contains(source));
        those.map(|it| it.references()).sum()
    };
    let before = cut();
    for _ in 0..200 {
        touch(m);
        m.collect();
        if cut() > before {
            return;
        }
    }
    panic!(
        "nothing was pruned: {:?} {:?}",
        heap.pruned(),
        heap.pruning_state()
    );
}

/// The message of the panic that `f` ends with.
#[track_caller]
pub(super) fn panic_of<R>(f: impl FnOnce() -> R) -> String {
    panic_hook::install();
    let payload = catch_unwind(AssertUnwindSafe(f)).err().expect("a panic");
    *payload.downcast().expect("a message")
}

#[track_caller]
pub(super) fn check_pruned<T>(read: Result<T, Invalidated>) -> Invalidated {
    let error = read.err().expect("it was pruned");
    assert!(error.pruned().is_some());
    error
}

pub(super) fn holder<'a>(m: &mut Mutator<'a>) -> Local<'a, Holder> {
    m.alloc(HolderInit {
        stale: None,
        used: None,
        weak: None,
    })
    .unwrap()
}

/// A thing that a stale slot refers to, and a static `second` as well, which is read all the time: to the part that the
/// thing has, or to the thing itself. Whether to cut the reference is the heap's choice, if something else holds the thing.
fn two_ways(m: &mut Mutator<'_>, log: &Log, through: bool) {
    let root = m.static_root::<Holder>("root");
    let second = m.static_root::<Object>("second");
    {
        let mut m = m.scope();
        let holder = holder(&mut m);
        let it = thing(&mut m, 1, log);
        m[holder].stale.set(Some(&m[it]));
        m[holder].weak.set(Some(&m[it]));
        root.set(&m, Some(&m[holder]));
        match through {
            true => second.set(&m, m[it].next.get().map(|it| it.as_object())),
            false => second.set(&m, Some(m[it].as_object())),
        }
    }
    for _ in 0..40 {
        assert!(second.get(m).is_some());
        m.collect();
    }
}

#[test]
fn what_hung_on_a_pruned_object_too_is_never_said_to_be_dead() {
    for_each_heap(eager().strict(true), |builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let log = Log::default();
        two_ways(&mut m, &log, true);
        let second = m.static_root::<Object>("second");
        let weak = m.weak(second.get(&m).unwrap());
        let dropped = log.clone();
        m.on_death(second.get(&m).unwrap(), move |_, _| {
            dropped.note(Event::Finalized(7));
        });
        assert!(!heap.pruned().is_empty());
        second.clear(&m);
        m.collect();
        m.collect();
        // Without pruning it would be alive: the holder has the thing, which has the part.
        assert_eq!(log.take(), vec![]);
        check_pruned(weak.try_get(&m));
    });
}

/// What is in use through another reference is not stale: nothing is cut while that is there. When it is gone the stale
/// reference is all that is left, and whatever is pruned then is not said to be dead.
#[test]
fn what_a_cut_reference_led_to_is_never_said_to_be_dead() {
    for_each_heap(eager().strict(true), |builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let log = Log::default();
        two_ways(&mut m, &log, false);
        let second = m.static_root::<Object>("second");
        let root = m.static_root::<Holder>("root");
        assert!(root.get(&m).unwrap().stale.try_get().is_ok());
        let weak = m.weak(second.get(&m).unwrap());
        second.clear(&m);
        m.collect();
        let holder = root.get(&m).unwrap();
        let it = holder.stale.get().unwrap();
        assert!(ptr::eq(it.as_object(), weak.get(&m).unwrap()));
        assert!(ptr::eq(it, holder.weak.get().unwrap()));
        prune_from(&heap, &mut m, "Holder", |_| {});
        let holder = root.get(&m).unwrap();
        check_pruned(holder.stale.try_get());
        check_pruned(weak.try_get(&m));
        check_pruned(holder.weak.try_get());
        m.collect();
        assert_eq!(log.take(), vec![]);
    });
}

/// A holder in the static `root` whose stale slot was cut, and whose other slot is read all the time.
pub(super) fn with_cut(heap: &Heap, m: &mut Mutator<'_>, log: &Log) {
    let root = m.static_root::<Holder>("root");
    {
        let mut m = m.scope();
        let holder = holder(&mut m);
        let [stale, used] = [1, 2].map(|number| thing(&mut m, number, log));
        m[holder].stale.set(Some(&m[stale]));
        m[holder].weak.set(Some(&m[stale]));
        m[holder].used.set(Some(&m[used]));
        root.set(&m, Some(&m[holder]));
    }
    prune_slot(heap, m, |m| {
        root.get(m).unwrap().stale.try_get().map(|_| ())
    });
}

/// Collects, and reads what the static `root` has in use, until a slot is cut. It is not looked at before
/// something was pruned, for that would be a use.
fn prune_slot(
    heap: &Heap,
    m: &mut Mutator<'_>,
    read: impl Fn(&Mutator<'_>) -> Result<(), Invalidated>,
) {
    let root = m.static_root::<Holder>("root");
    prune(heap, m, |m| {
        if let Some(it) = root.get(m).unwrap().used.get() {
            assert!(it.next.get().is_some());
        }
    });
    let error = check_pruned(read(m));
    assert!(error.pruned().unwrap().references() > 0);
}

pub(super) fn cut_holder<'m>(m: &'m Mutator<'_>) -> &'m Holder {
    m.static_root::<Holder>("root").get(m).unwrap()
}

#[test]
fn a_cut_slot_is_not_null_and_can_be_overwritten() {
    for strict in [false, true] {
        for_each_heap(eager().strict(strict), |builder| {
            let heap = builder.build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let log = Log::default();
            with_cut(&heap, &mut m, &log);
            let it = cut_holder(&m);
            let used = it.used.get();
            assert!(!it.stale.is_null());
            for (current, new) in [(None, None), (used, None), (None, used), (used, used)] {
                let text = panic_of(|| it.stale.compare_and_set(current, new));
                assert!(text.contains("was pruned"), "{text}");
            }
            let text = panic_of(|| it.stale.get().is_some());
            assert_eq!(text, check_pruned(it.stale.try_get()).to_string());
            m.collect_nursery();
            m.collect();
            let it = cut_holder(&m);
            check_pruned(it.stale.try_get());
            it.stale.set(it.used.get());
            it.weak.set(it.used.get());
            m.collect();
            let it = cut_holder(&m);
            assert!(ptr::eq(it.stale.get().unwrap(), it.used.get().unwrap()));
            assert!(ptr::eq(it.weak.get().unwrap(), it.used.get().unwrap()));
            it.stale.clear();
            assert!(it.stale.get().is_none() && it.stale.is_null());
            assert!(it.stale.compare_and_set(None, it.used.get()));
        });
    }
}

#[test]
fn drops_and_finalizers_of_what_was_pruned_run_unless_it_is_strict() {
    for strict in [false, true] {
        for_each_heap(eager().strict(strict), |builder| {
            let heap = builder.build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let log = Log::default();
            let root = m.static_root::<Holder>("root");
            let revived = m.static_root::<Thing>("revived");
            let weak = {
                let mut m = m.scope();
                let holder = holder(&mut m);
                let it = thing(&mut m, 1, &log);
                m[holder].stale.set(Some(&m[it]));
                m[holder].weak.set(Some(&m[it]));
                root.set(&m, Some(&m[holder]));
                m.account_external(&m[it], 5000);
                let (log, revived) = (log.clone(), revived.clone());
                m.on_death(&m[it], move |m, it| {
                    log.note(Event::Finalized(7));
                    assert_eq!(m[it].number, 1);
                    assert_eq!(m[it].next.get().unwrap().number, 1001);
                    revived.set(m, Some(&m[it]));
                });
                m.weak(&m[it])
            };
            prune(&heap, &mut m, |_| {});
            check_pruned(root.get(&m).unwrap().stale.try_get());
            let external = || heap.stats().history.back().unwrap().external_bytes;
            for _ in 0..3 {
                m.collect();
            }
            if strict {
                assert_eq!(log.take(), vec![]);
                assert!(revived.get(&m).is_none());
                // Nothing has freed it.
                assert_eq!(external(), 5000);
                check_pruned(weak.try_get(&m));
                check_pruned(root.get(&m).unwrap().weak.try_get());
                drop(m);
                drop(heap);
                let events = log.take();
                assert_eq!(events.len(), 2, "{events:?}");
                assert!(
                    events.contains(&Event::Dropped(1)) && events.contains(&Event::Dropped(1001))
                );
                return;
            }
            assert_eq!(log.take(), vec![Event::Finalized(7)]);
            assert!(weak.get(&m).is_none());
            assert!(root.get(&m).unwrap().weak.get().is_none());
            assert_eq!(external(), 5000);
            let it = revived.get(&m).unwrap();
            assert_eq!((it.number, it.next.get().unwrap().number), (1, 1001));
            // The reference that was cut stays so, whatever the object does.
            check_pruned(root.get(&m).unwrap().stale.try_get());
            revived.clear(&m);
            m.collect();
            let events = log.take();
            assert_eq!(events.len(), 2, "{events:?}");
            assert_eq!(external(), 0);
        });
    }
}

#[test]
fn a_finalizer_may_meet_a_cut_reference() {
    for_each_heap(eager().strict(true), |builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let log = Log::default();
        with_cut(&heap, &mut m, &log);
        let seen = log.clone();
        m.on_death(cut_holder(&m), move |m, it| {
            assert!(m[it].stale.try_get().is_err() && !m[it].stale.is_null());
            assert_eq!(m[it].used.get().unwrap().number, 2);
            seen.note(Event::Finalized(9));
        });
        m.static_root::<Holder>("root").clear(&m);
        m.collect();
        assert_eq!(heap.stats().panicked_finalizers, 0);
        assert_eq!(log.take(), vec![Event::Finalized(9)]);
        m.collect();
        let mut events = log.take();
        events.sort_by_key(|it| format!("{it:?}"));
        assert_eq!(events, vec![Event::Dropped(1002), Event::Dropped(2)]);
    });
}

#[test]
fn cut_references_in_arrays_are_copied_as_they_are() {
    for_each_heap(eager().strict(true), |builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let log = Log::default();
        let root = m.static_root::<RefArray<Thing>>("array");
        for len in [4, 5000] {
            {
                let mut m = m.scope();
                let array = m.alloc_refs::<Thing>(len).unwrap();
                let it = thing(&mut m, 1, &log);
                m[array][0].set(Some(&m[it]));
                m[array][len - 1].set(Some(&m[it]));
                root.set(&m, Some(&m[array]));
            }
            prune(&heap, &mut m, |_| {});
            let array = root.get(&m).unwrap();
            check_pruned(array[0].try_get());
            check_pruned(array[len - 1].try_get());
            assert!(array[1].get().is_none());
            array.copy_from(1, array, 0..2);
            check_pruned(array[1].try_get());
            assert!(array[2].get().is_none());
            let other = m.alloc_refs::<Thing>(3).unwrap();
            m[other].copy_from(2, root.get(&m).unwrap(), 1..2);
            m.collect_nursery();
            check_pruned(m[other][2].try_get());
            m.collect();
            check_pruned(m[other][2].try_get());
            check_pruned(root.get(&m).unwrap()[1].try_get());
            // A null over it is a null.
            m[other].copy_from(2, &m[other], 0..1);
            assert!(m[other][2].is_null() && m[other][2].get().is_none());
        }
    });
}

#[test]
fn cut_references_in_anchors_and_instances() {
    for_each_heap(eager(), |builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let log = Log::default();
        let root = m.static_root::<Object>("root");
        {
            let mut m = m.scope();
            let target = thing(&mut m, 1, &log);
            let anchor = m.alloc(AnchorInit { target }).unwrap();
            root.set(&m, Some(m[anchor].as_object()));
        }
        prune(&heap, &mut m, |_| {});
        let anchor = root.get(&m).unwrap().downcast::<Anchor>().unwrap();
        let error = check_pruned(anchor.target.try_get());
        assert_eq!((error.class(), error.by()), ("Thing", "leak pruning"));
        assert_eq!(panic_of(|| anchor.target.get().number), error.to_string());
        let fresh = thing(&mut m, 5, &log);
        let anchor = root.get(&m).unwrap().downcast::<Anchor>().unwrap();
        anchor.target.set(&m[fresh]);
        assert_eq!(anchor.target.get().number, 5);
        let class = heap
            .define_class("Dynamic")
            .slot("a")
            .slot("b")
            .define()
            .unwrap();
        {
            let mut m = m.scope();
            let instance = m.alloc_instance(&class).unwrap();
            let it = thing(&mut m, 2, &log);
            m[instance][1].set(Some(m[it].as_object()));
            root.set(&m, Some(m[instance].as_object()));
        }
        prune(&heap, &mut m, |_| {});
        let instance = root
            .get(&m)
            .unwrap()
            .downcast::<heaphound::Instance>()
            .unwrap();
        assert!(instance[0].get().is_none());
        let error = check_pruned(instance[1].try_get());
        assert_eq!(error.pruned().unwrap().source(), "Dynamic");
        assert!(!instance[1].is_null());
    });
}

#[test]
fn a_strict_map_does_not_forget_what_was_pruned() {
    for strict in [false, true] {
        for_each_heap(eager().strict(strict), |builder| {
            let heap = builder.build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let log = Log::default();
            let root = m.static_root::<Holder>("root");
            let map_root = m.static_root::<heaphound::WeakMap<Thing, Thing>>("map");
            {
                let mut m = m.scope();
                let holder = holder(&mut m);
                let [stale, used] = [1, 2].map(|number| thing(&mut m, number, &log));
                m[holder].stale.set(Some(&m[stale]));
                m[holder].used.set(Some(&m[used]));
                root.set(&m, Some(&m[holder]));
                let map = m.alloc_weak_map::<Thing, Thing>().unwrap();
                // A value of its own would make more hang on the entry than on the holder's reference.
                m.weak_map_insert(map, stale, used).unwrap();
                m.weak_map_insert(map, used, used).unwrap();
                map_root.set(&m, Some(&m[map]));
            }
            prune_from(&heap, &mut m, "Holder", |m| {
                let used = root.get(m).unwrap().used.get().unwrap();
                assert_eq!(map_root.get(m).unwrap().get(used).unwrap().number, 2);
            });
            check_pruned(root.get(&m).unwrap().stale.try_get());
            let used = root.get(&m).unwrap().used.get().unwrap();
            let map = map_root.get(&m).unwrap();
            assert_eq!(map.get(used).unwrap().number, 2);
            if !strict {
                assert_eq!(map.len(), 1);
                let mut keys = vec![];
                map.for_each(|key, value| keys.push((key.number, value.number)));
                assert_eq!(keys, vec![(2, 2)]);
                return;
            }
            assert!(panic_of(|| map.len()).contains("was pruned"));
            assert!(panic_of(|| map.is_empty()).contains("was pruned"));
            assert!(panic_of(|| map.for_each(|_, _| ())).contains("was pruned"));
            // It grows, and still does not forget.
            for number in 10..60 {
                let mut m = m.scope();
                let key = thing(&mut m, number, &log);
                let map = m.local(map_root.get(&m).unwrap());
                m.weak_map_insert(map, key, key).unwrap();
                assert_eq!(m[map].get(&m[key]).unwrap().number, number);
            }
            m.collect();
            let map = map_root.get(&m).unwrap();
            assert!(panic_of(|| map.len()).contains("was pruned"));
            let used = root.get(&m).unwrap().used.get().unwrap();
            assert!(map.remove(used) && !map.remove(used));
            assert!(map.get(used).is_none());
        });
    }
}

#[test]
fn a_value_that_was_pruned_is_an_error() {
    for_each_heap(eager(), |builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let log = Log::default();
        let [key_root, map_root] = ["key", "map"].map(|name| m.static_root::<Object>(name));
        {
            let mut m = m.scope();
            let [key, value] = [1, 2].map(|number| thing(&mut m, number, &log));
            let map = m.alloc_weak_map::<Thing, Thing>().unwrap();
            m.weak_map_insert(map, key, value).unwrap();
            key_root.set(&m, Some(m[key].as_object()));
            map_root.set(&m, Some(m[map].as_object()));
        }
        let all = |m: &Mutator<'_>| {
            let map = map_root
                .get(m)
                .unwrap()
                .downcast::<heaphound::WeakMap<Thing, Thing>>();
            let key = key_root.get(m).unwrap().downcast::<Thing>().unwrap();
            map.unwrap().get(key).is_some()
        };
        prune(&heap, &mut m, |_| {});
        assert!(panic_of(|| all(&m)).contains("was pruned"));
        m.collect();
        assert!(panic_of(|| all(&m)).contains("was pruned"));
        assert!(key_root.get(&m).is_some());
    });
}

#[test]
fn the_heap_is_shown_with_references_that_were_cut() {
    for_each_heap(eager().strict(true), |builder| {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let log = Log::default();
        with_cut(&heap, &mut m, &log);
        let shown = m.capture(PlainData::All);
        let mut text = Vec::new();
        heaphound::file::write_text(&shown, &mut text, &mut |_, _| {}).unwrap();
        let text = String::from_utf8(text).unwrap();
        let objects = text.split_once("root").unwrap().1;
        let cut = "stale -> cut, used -> Thing#";
        assert!(
            objects.contains(cut) && objects.contains("weak -weak-> cut"),
            "{text}"
        );
        use heaphound::view::HeapView;
        let edges = m.inspect(|view| {
            let mut edges = vec![];
            view.for_each_root(|_, object| {
                view.for_each_edge(object, |_, _, to| {
                    edges.push(view.class(view.class_of(to)).name.clone());
                });
            });
            edges
        });
        assert_eq!(edges, ["Thing"], "the one that is used");
        // Probes and assertions see what is there.
        {
            let mut m = m.scope();
            let used = m.local(cut_holder(&m).used.get().unwrap());
            let holder = m.local(cut_holder(&m));
            assert!(m.is_object_owned(holder, used).unwrap());
            #[cfg(feature = "assertions")]
            m.assert_unshared(used);
        }
        #[cfg(feature = "assertions")]
        m.assert_instances::<Thing>(1);
        m.collect();
        let kinds: Vec<_> = m.findings().into_iter().map(|it| it.finding.kind).collect();
        assert!(
            kinds
                .iter()
                .all(|it| ["pruned", "out-of-memory-averted"].contains(&&**it)),
            "{kinds:?}"
        );
    });
}

#[test]
fn the_error_tells_what_was_averted() {
    let heap = Heap::builder()
        .max_bytes(4 << 20)
        .initial_bytes(256 << 10)
        .collector_threads(1)
        .collector(Collector::MarkSweep)
        .pruning(true)
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let root = m.static_root::<RefArray<Object>>("list");
    while heap.pruned().is_empty() {
        let mut m = m.scope();
        let node = m.alloc_refs::<Object>(500).unwrap();
        m[node][0].set(root.get(&m).map(|it| it.as_object()));
        root.set(&m, Some(&m[node]));
    }
    // From the head on, until the cut.
    let mut at = root.get(&m).unwrap();
    let error = loop {
        match at[0].try_get() {
            Ok(next) => at = next.expect("there is a cut").downcast().unwrap(),
            Err(error) => break error,
        }
    };
    let pruned = error.pruned().unwrap();
    assert_eq!(pruned, &heap.pruned()[0]);
    assert_eq!((pruned.source(), pruned.target()), ("Object[]", "Object[]"));
    assert_eq!(pruned.to_string(), "Object[] -> Object[]");
    assert!(pruned.references() == 1 && pruned.times() == 1 && pruned.objects() > 10);
    assert!(pruned.bytes() >= pruned.objects() * 2000);
    let (first, last) = pruned.collections();
    assert!(first == last && first <= heap.stats().history.back().unwrap().number);
    let averted = pruned.averted().unwrap().to_string();
    assert_eq!(error.source().unwrap().to_string(), averted);
    assert!(
        averted.starts_with("out of memory") || averted.starts_with("memory is nearly full"),
        "{averted}"
    );
    assert_eq!(
        error.to_string(),
        format!(
            "this reference to a Object[] was pruned, as were 1 references Object[] -> Object[], in collections \
             {first} to {last}, which freed {} bytes; without that: {averted}",
            pruned.bytes()
        )
    );
    assert!(error.place().is_none());
    assert_ne!(heap.pruning_state(), PruningState::Inactive);
}
