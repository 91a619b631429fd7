//! Random rules about random heaps, of which one prunes and the other does not: what is said not to hold of the first does not
//! hold of the second either.
//!
//! The other way round need not be: what breaks a rule may have been pruned.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use heaphound::finding::Finding;
use heaphound::{
    Collector, Heap, Mutator, Object, PruningPolicy, Reaction, Rules, RulesError, Weak,
};
use heaphound_testkit::access::{self, Strong};
use heaphound_testkit::cases::config;
use heaphound_testkit::deal::generate::{self, HeapPlan, Kind};
use heaphound_testkit::dice::Dice;
use heaphound_testkit::load::{Loaded, load};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::cut::eager;
use crate::rules::live::set_variant;

/// What is said of a text about a heap in which some things were read and others were not. None if the text does not fit.
fn judged(heap: &Heap, plan: &HeapPlan, text: &str, seed: u64) -> Option<Vec<Finding>> {
    let mut m = heap.attach("t0").unwrap();
    let loaded = load(heap, &mut m, &plan.build(), set_variant);
    let hosts: Vec<(&str, Option<Weak<Object>>)> = generate::HOSTS
        .iter()
        .map(|name| (*name, plan.host(name).map(|it| loaded.object(it).clone())))
        .collect();
    let snapshot = plan.build();
    for object in snapshot.objects() {
        for label in generate::LABELS {
            if plan.label(object, label) {
                m.label(loaded.object(object), label);
            }
        }
    }
    let mut dice = Dice(seed);
    for _ in 0..2 + seed % 9 {
        wander(&mut m, &loaded, &mut dice);
        m.collect();
    }
    let mut rules = Rules::new(text);
    for (name, object) in &hosts {
        rules = rules.bind_weak(&m, name, object);
    }
    match rules.check(&mut m) {
        Ok(findings) => Some(findings),
        Err(RulesError::Text(_)) => None,
        Err(wrong) => panic!("{text}: {wrong}"),
    }
}

/// Reads some slots, from what is held directly on.
fn wander(m: &mut Mutator<'_>, loaded: &Loaded, dice: &mut Dice) {
    if loaded.kept.is_empty() {
        return;
    }
    for _ in 0..dice.below(4) {
        let mut at = &m[&loaded.kept[dice.below(loaded.kept.len())]];
        for _ in 0..dice.below(4) {
            let slots = access::strong_slots(at);
            if slots.is_empty() {
                break;
            }
            let next = match &slots[dice.below(slots.len())] {
                Strong::Slot(slot) => slot.try_get(),
                Strong::Ref(slot) => slot.try_get().map(Some),
            };
            match next {
                Ok(Some(next)) => at = next,
                _ => break,
            }
        }
    }
}

fn check(kind: Kind, usual: u32) {
    const POLICIES: [PruningPolicy; 3] = [
        PruningPolicy::Patient,
        PruningPolicy::IndividualReferences,
        PruningPolicy::MostStale,
    ];
    let heaps = generate::heaps().prop_map(HeapPlan::whole);
    let drawn = (heaps, generate::texts(kind), any::<u64>());
    let [cut, broken] = [const { AtomicUsize::new(0) }; 2];
    let run = TestRunner::new(config(usual)).run(&drawn, |(plan, text, seed)| {
        let collector = [Collector::MarkSweep, Collector::Generational][(seed >> 8) as usize % 2];
        let plain = Heap::builder().collector(collector).log(false);
        let pruning = eager()
            .policy(POLICIES[(seed >> 16) as usize % 3])
            .strict(seed >> 24 & 1 == 0);
        let quiet = Reaction::Call(Arc::new(|_| {}));
        let pruned = plain.clone().pruning(pruning).pruning_reaction(quiet);
        let (plain, pruned) = (plain.build().unwrap(), pruned.build().unwrap());
        let (Some(right), Some(found)) = (
            judged(&plain, &plan, &text, seed),
            judged(&pruned, &plan, &text, seed),
        ) else {
            return Ok(());
        };
        cut.fetch_add(!pruned.pruned().is_empty() as usize, Relaxed);
        if found.iter().all(|it| it.kind == "not-checked") || pruned.pruned().is_empty() {
            return Ok(());
        }
        broken.fetch_add(1, Relaxed);
        prop_assert!(
            !right.is_empty(),
            "{}: {:#?}, but it holds without pruning; cut: {:?}",
            text,
            found,
            pruned.pruned()
        );
        Ok(())
    });
    run.unwrap_or_else(|wrong| panic!("{wrong}"));
    println!("{cut:?} heaps with cuts, {broken:?} of their rules do not hold");
    assert!(cut.into_inner() > 10 && broken.into_inner() > 3);
}

#[test]
fn an_assertion_that_fails_when_references_were_cut_fails_without() {
    check(Kind::Assertion, 300);
}

#[test]
fn a_formula_that_fails_when_references_were_cut_fails_without() {
    check(Kind::Formula, 300);
}
