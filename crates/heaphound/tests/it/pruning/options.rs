//! How a heap prunes, as its builder is told.

use std::collections::BTreeSet;

use heaphound::{
    Collector, Heap, HeapBuilder, Mutator, Object, OutOfMemory, Pruning, PruningPolicy,
    PruningState, RefArray,
};
use heaphound_testkit::dice::Dice;

use super::cut::eager;

const POLICIES: [PruningPolicy; 4] = [
    PruningPolicy::Patient,
    PruningPolicy::DataStructures,
    PruningPolicy::IndividualReferences,
    PruningPolicy::MostStale,
];

fn small(pruning: impl Into<Pruning>) -> HeapBuilder {
    Heap::builder()
        .max_bytes(4 << 20)
        .initial_bytes(256 << 10)
        .nursery_bytes(128 << 10)
        .pruning(pruning)
}

/// Puts another array in front of a list that nobody reads.
fn leak(m: &mut Mutator<'_>) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let root = m.static_root::<RefArray<Object>>("list");
    let node = m.alloc_refs::<Object>(500)?;
    m[node][0].set(root.get(&m).map(heaphound::Managed::as_object));
    root.set(&m, Some(&m[node]));
    Ok(())
}

/// The kinds of what was found.
fn kinds(m: &Mutator<'_>) -> BTreeSet<String> {
    m.findings()
        .into_iter()
        .map(|it| it.finding.kind.to_string())
        .collect()
}

#[test]
fn a_dry_run_prunes_nothing() {
    for policy in POLICIES {
        dry_run(policy, Collector::MarkSweep);
        dry_run(policy, Collector::Generational);
    }
}

fn dry_run(policy: PruningPolicy, collector: Collector) {
    let heap = small(Pruning::new().dry_run(true).policy(policy))
        .collector(collector)
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    while leak(&mut m).is_ok() {}
    assert_eq!(heap.pruned(), vec![]);
    let found = kinds(&m);
    assert!(
        found.contains("would-prune") && !found.contains("pruned"),
        "{policy:?}: {found:?}"
    );
    let mut at = m.static_root::<RefArray<Object>>("list").get(&m);
    let mut count = 0;
    while let Some(it) = at {
        count += 1;
        at = it[0].get().map(|it| it.downcast().unwrap());
    }
    assert!(count > 1000, "{count}: it is all there");
}

#[test]
fn the_first_refusal_can_be_had() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let heap = small(
            Pruning::new()
                .refuse_first(true)
                .when(heaphound::PruneWhen::Exhausted),
        );
        let heap = heap.collector(collector).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        while leak(&mut m).is_ok() {}
        assert_eq!(heap.pruned(), vec![], "it was refused first");
        for _ in 0..20_000 {
            leak(&mut m).unwrap();
        }
        assert!(!heap.pruned().is_empty());
        assert!(kinds(&m).contains("pruned"));
    }
}

#[test]
fn shares_are_from_0_to_1() {
    for (pruning, text) in [
        (Pruning::new().observe_above(1.5), "observe_above is 1.5"),
        (Pruning::new().select_above(-0.5), "select_above is -0.5"),
        (Pruning::new().select_above(f64::NAN), "select_above is NaN"),
    ] {
        let error = Heap::builder()
            .pruning(pruning)
            .build()
            .err()
            .unwrap()
            .to_string();
        assert_eq!(
            error,
            format!("cannot build the heap: {text}, but must be between 0 and 1")
        );
    }
    let most = Heap::builder().max_bytes(8 << 30).pruning(true).build();
    assert!(most.is_err(), "tags need bits of the address");
    assert!(
        Heap::builder()
            .max_bytes(8 << 30)
            .pruning(false)
            .build()
            .is_ok()
    );
}

/// A heap with many ways to stale structures, collected again and again.
fn choices(builder: HeapBuilder, seed: u64) -> Vec<String> {
    let heap = builder.build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let mut dice = Dice(seed);
    let classes: Vec<_> = (0..6)
        .map(|i| {
            let class = heap
                .define_class(format!("C{i}"))
                .slot("a")
                .slot("b")
                .slot("c");
            class.define().unwrap()
        })
        .collect();
    let roots = m.alloc_refs::<Object>(40).unwrap();
    let mut all = vec![];
    for i in 0..3000 {
        let mut inner = m.scope();
        let m = &mut inner;
        let made = m.alloc_instance(&classes[dice.below(6)]).unwrap();
        for slot in 0..3 {
            // Often to what others have, too.
            if let Some(to) = m[roots][dice.below(40)].get() {
                m[made][slot].set(Some(to));
            }
        }
        m[roots][dice.below(40)].set(Some(heaphound::Managed::as_object(&m[made])));
        if i % 60 == 59 {
            m.collect();
            all.push(format!("{:?} {:?}", heap.pruning_state(), heap.pruned()));
        }
    }
    for _ in 0..30 {
        m.collect();
        all.push(format!("{:?} {:?}", heap.pruning_state(), heap.pruned()));
    }
    assert!(!heap.pruned().is_empty());
    all
}

#[test]
fn one_thread_and_four_choose_the_same() {
    for policy in POLICIES {
        for collector in [Collector::MarkSweep, Collector::Generational] {
            for seed in 0..3 {
                let of = |threads| {
                    let builder = Heap::builder().max_bytes(64 << 20).initial_bytes(48 << 20);
                    let builder = builder.collector(collector).collector_threads(threads);
                    choices(builder.pruning(eager().policy(policy)), seed)
                };
                let (one, four) = (of(1), of(4));
                for (i, (one, four)) in one.iter().zip(&four).enumerate() {
                    assert_eq!(
                        one, four,
                        "{policy:?}, {collector:?}, seed {seed}, collection {i}"
                    );
                }
            }
        }
    }
}

/// All that is asked of a heap while it is collected.
fn answers(builder: HeapBuilder) -> String {
    let heap = builder.summaries(1).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let growth = heaphound::Growth::new().register(&heap, None);
    let shapes = heaphound::Shapes::learning(Default::default()).register(&heap, None);
    let mut answers = String::new();
    for i in 0..20 {
        for _ in 0..100 {
            leak(&mut m).unwrap();
        }
        let mut inner = m.scope();
        let list = inner.static_root::<RefArray<Object>>("list");
        let head = inner.local(list.get(&inner).unwrap());
        let summary = heap.summary().map(|it| format!("{:?}", it.summary));
        let owned = inner.is_object_owned(head, head);
        #[cfg(feature = "assertions")]
        if i == 10 {
            inner.assert_dead(head);
            inner.assert_instances::<RefArray<Object>>(5);
        }
        inner.collect();
        let found: Vec<_> = inner.findings().into_iter().map(|it| it.finding).collect();
        let (causes, measures) = (growth.causes(), shapes.measures());
        answers += &format!("{i}: {summary:?} {owned:?} {found:?} {causes:?} {measures:?}\n");
    }
    answers
}

#[test]
fn observing_and_selecting_change_no_answer() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for threads in [1, 3] {
            let builder = Heap::builder()
                .max_bytes(256 << 20)
                .collector(collector)
                .collector_threads(threads);
            let plain = answers(builder.clone());
            for state in [PruningState::Observe, PruningState::Select] {
                let with = answers(builder.clone().pruning(Pruning::new().force(state)));
                for (plain, with) in plain.lines().zip(with.lines()) {
                    assert_eq!(plain, with, "{state:?}");
                }
            }
        }
    }
}
