//! The meaning of a program stays: in a heap that prunes strictly it sees what it sees in one that never does,
//! until it reads a pruned reference.
//!
//! `HEAPHOUND_CASES` multiplies the number of programs.

use std::collections::HashSet;

use heaphound::{Collector, Heap, HeapBuilder, Object, Pruning, PruningPolicy};
use heaphound_testkit::cases::cases;
use heaphound_testkit::classes::Event;

use super::program::{Account, End, Plan, Saw, run};

const POLICIES: [PruningPolicy; 4] = [
    PruningPolicy::Patient,
    PruningPolicy::DataStructures,
    PruningPolicy::IndividualReferences,
    PruningPolicy::MostStale,
];

/// How closely two accounts must agree.
#[derive(Clone, Copy, PartialEq)]
enum Agreement {
    /// Both heaps collect at the same steps.
    Exact,
    /// Each collects when it likes; the one that never prunes whenever somebody looks.
    Loose,
}

/// What came of many programs.
#[derive(Default, Debug)]
struct Tally {
    programs: usize,
    /// Steps until the program's end, or until it read a pruned reference.
    steps: usize,
    /// References that were cut, in all programs.
    cut: usize,
    /// Something was pruned, and nobody missed it.
    unmissed: usize,
    /// Something was pruned, and read.
    missed: usize,
    out_of_memory: usize,
}

fn check_saw(plain: &Saw, pruned: &Saw, agreement: Agreement) -> bool {
    if plain == pruned {
        return true;
    }
    match (plain, pruned) {
        // A finalizer may be withheld.
        (Saw::Revived(_), Saw::Revived(None)) | (Saw::Met(_), Saw::Met(None)) => true,
        _ if agreement == Agreement::Exact => false,
        (Saw::Revived(_), Saw::Revived(_)) => true,
        // It is dead, but nobody knows.
        (Saw::Weak(None), Saw::Weak(Some(_))) => true,
        (Saw::Entries(plain), Saw::Entries(pruned)) => plain <= pruned,
        (Saw::EachEntry(plain), Saw::EachEntry(pruned)) => {
            plain.iter().all(|it| pruned.contains(it))
        }
        _ => false,
    }
}

/// Holds an account against that of a heap that never prunes.
fn check(plain: &Account, pruned: &Account, agreement: Agreement, what: &str, tally: &mut Tally) {
    assert_eq!(plain.end, End::Done, "{what}");
    let both = plain.saw.iter().zip(&pruned.saw);
    for (i, (plain, pruned)) in both.enumerate() {
        assert!(
            plain.0 == pruned.0 && check_saw(&plain.1, &pruned.1, agreement),
            "{what}: at {i}, {plain:?} without pruning, but {pruned:?}"
        );
    }
    assert!(pruned.saw.len() <= plain.saw.len(), "{what}");
    if pruned.end == End::Done {
        assert_eq!(pruned.saw.len(), plain.saw.len(), "{what}");
    }
    for &(step, event) in &pruned.events {
        let until = match agreement {
            Agreement::Exact => step,
            Agreement::Loose => usize::MAX,
        };
        assert!(
            plain.events.iter().any(|it| it.0 <= until && it.1 == event),
            "{what}: {event:?} at {step}, but not without pruning"
        );
    }
    if agreement == Agreement::Exact {
        let before = pruned
            .first_pruned
            .unwrap_or(usize::MAX)
            .min(pruned.end_step);
        for &(step, event) in &plain.events {
            assert!(
                step >= before || pruned.events.contains(&(step, event)),
                "{what}: {event:?} at {step} without pruning, and nothing was pruned before {before}"
            );
        }
    }
    tally.programs += 1;
    tally.steps += pruned.end_step.min(pruned.steps);
    tally.cut += pruned.cut;
    match pruned.end {
        End::Pruned => {
            assert!(pruned.first_pruned.is_some(), "{what}");
            tally.missed += 1;
        }
        End::OutOfMemory => tally.out_of_memory += 1,
        End::Done => tally.unmissed += pruned.first_pruned.is_some() as usize,
    }
}

/// Everything that has memory of its own was dropped once, when the heap is gone.
fn check_drops(mut account: Account, what: &str) {
    account.all_events.extend(account.log.take());
    let all = &account.all_events;
    let drops = all.iter().filter(|it| matches!(it, Event::Dropped(_)));
    assert_eq!(drops.count(), account.droppable, "{what}: drops");
    let distinct: HashSet<_> = all.iter().map(|it| format!("{it:?}")).collect();
    assert_eq!(
        distinct.len(),
        all.len(),
        "{what}: something happened twice"
    );
}

fn plan(seed: u64, steps: usize, mourns: bool) -> Plan {
    Plan {
        seed,
        steps,
        curious: [0, 200, 40, 15][seed as usize % 4],
        collects: 6,
        leaks: 400,
        settles: false,
        mourns,
        revives: true,
    }
}

fn seed(kind: u64, case: u32) -> u64 {
    kind << 40 | u64::from(case)
}

fn eager(policy: PruningPolicy) -> Pruning {
    Pruning::new()
        .every_collection_counts(true)
        .observe_above(0.0)
        .select_above(0.0)
        .policy(policy)
        .strict(true)
}

fn heap(collector: Collector, threads: usize) -> HeapBuilder {
    Heap::builder()
        .max_bytes(256 << 20)
        .initial_bytes(128 << 20)
        .collector(collector)
        .collector_threads(threads)
        .max_locals(4096)
}

/// Runs one program in both heaps.
fn check_twice(
    builder: &HeapBuilder,
    plain: &HeapBuilder,
    plan: Plan,
    agreement: Agreement,
    what: &str,
    tally: &mut Tally,
) {
    let revives = agreement == Agreement::Exact;
    let plan = Plan { revives, ..plan };
    let in_heap = |builder: HeapBuilder, plan| run(&builder.build().unwrap(), "main", plan, false);
    let settles = agreement == Agreement::Loose;
    let reference = in_heap(plain.clone(), Plan { settles, ..plan });
    let pruned = in_heap(builder.clone(), plan);
    check(&reference, &pruned, agreement, what, tally);
    check_drops(reference, what);
    check_drops(pruned, what);
}

/// That both kinds of programs were among those that were run, and that there was much to see.
fn check_tally(tally: &Tally, what: &str) {
    note(tally, what);
    assert!(tally.missed * 20 > tally.programs, "{tally:?}");
    assert!(tally.unmissed * 20 > tally.programs, "{tally:?}");
    assert!(tally.steps > tally.programs * 100, "{tally:?}");
}

/// Says what was seen, and that references were cut: several a program.
fn note(tally: &Tally, what: &str) {
    println!("{what}: {tally:?}");
    assert!(tally.cut > tally.programs * 3, "{tally:?}");
}

fn check_collector(collector: Collector, zeal: u32, mourns: bool, usual: u32) {
    let mut tally = Tally::default();
    for case in 0..cases(usual) {
        let (policy, threads) = (
            POLICIES[case as usize / 8 % 4],
            [1, 3][case as usize / 4 % 2],
        );
        let plain = heap(collector, threads).zeal(zeal);
        let builder = plain.clone().pruning(eager(policy));
        let plan = plan(
            seed(zeal.into(), case),
            if zeal == 1 { 150 } else { 400 },
            mourns,
        );
        let what = format!("{plan:?}, {collector:?}, {policy:?}, zeal {zeal}, {threads} threads");
        check_twice(&builder, &plain, plan, Agreement::Exact, &what, &mut tally);
    }
    let what = format!("{collector:?}, zeal {zeal}, mourns {mourns}");
    match zeal {
        0 => check_tally(&tally, &what),
        // Everything grows stale so fast that hardly anything is not missed.
        _ => {
            note(&tally, &what);
            assert!(tally.missed * 20 > tally.programs, "{tally:?}");
        }
    }
}

#[test]
fn mark_sweep_keeps_the_meaning() {
    check_collector(Collector::MarkSweep, 0, false, 160);
}

#[test]
fn generational_keeps_the_meaning() {
    check_collector(Collector::Generational, 0, false, 160);
}

#[test]
fn mark_sweep_with_zeal_keeps_the_meaning() {
    check_collector(Collector::MarkSweep, 1, false, 32);
    check_collector(Collector::MarkSweep, 3, false, 32);
}

#[test]
fn generational_with_zeal_keeps_the_meaning() {
    check_collector(Collector::Generational, 1, false, 32);
    check_collector(Collector::Generational, 3, false, 32);
}

#[test]
fn mark_sweep_keeps_the_meaning_of_death() {
    check_collector(Collector::MarkSweep, 0, true, 160);
    check_collector(Collector::MarkSweep, 1, true, 32);
    check_collector(Collector::MarkSweep, 3, true, 32);
}

#[test]
fn generational_keeps_the_meaning_of_death() {
    check_collector(Collector::Generational, 0, true, 160);
    check_collector(Collector::Generational, 1, true, 32);
    check_collector(Collector::Generational, 3, true, 32);
}

/// Heaps that are really full, and collect when they like.
fn check_small(mourns: bool) {
    let mut tally = Tally::default();
    for case in 0..cases(32) {
        let policy = POLICIES[case as usize / 8 % 4];
        let (collector, threads) = [
            (Collector::MarkSweep, 1),
            (Collector::Generational, 3),
            (Collector::MarkSweep, 3),
            (Collector::Generational, 1),
        ][case as usize / 4 % 4];
        let builder = heap(collector, threads)
            .max_bytes(4 << 20)
            .initial_bytes(256 << 10)
            .nursery_bytes(128 << 10)
            .pruning(Pruning::new().policy(policy).strict(true));
        let plan = Plan {
            collects: 0,
            leaks: 60_000,
            ..plan(seed(100, case), 1500, mourns)
        };
        let what = format!("{plan:?}, small, {collector:?}, {policy:?}, {threads} threads");
        let plain = heap(collector, threads);
        check_twice(&builder, &plain, plan, Agreement::Loose, &what, &mut tally);
    }
    check_tally(&tally, &format!("small, mourns {mourns}"));
}

#[test]
fn small_heaps_keep_the_meaning() {
    check_small(false);
}

#[test]
fn small_heaps_keep_the_meaning_of_death() {
    check_small(true);
}

/// Each thread has a part of the heap for itself, and there is one that they share.
fn check_together(collector: Collector, zeal: u32, mourns: bool, usual: u32) {
    let mut tally = Tally::default();
    for case in 0..cases(usual) {
        let (policy, threads) = (
            POLICIES[case as usize / 8 % 4],
            [1, 3][case as usize / 4 % 2],
        );
        let plain = heap(collector, threads).zeal(zeal).nursery_bytes(128 << 10);
        let plans = [0, 1, 2].map(|i| Plan {
            curious: [0, 200, 40, 15][case as usize % 4],
            collects: 20,
            revives: false,
            ..plan(seed(200 + i, case), 300, mourns)
        });
        let heap = plain.clone().pruning(eager(policy)).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let shared = m.static_root("shared");
        let array = m.alloc_refs::<Object>(16).unwrap();
        shared.set(&m, Some(&m[array]));
        let accounts: Vec<_> = m.blocked(|| {
            std::thread::scope(|scope| {
                let start = |(i, plan)| {
                    let heap = &heap;
                    scope.spawn(move || run(heap, &format!("t{i}"), plan, true))
                };
                let threads: Vec<_> = plans.into_iter().enumerate().map(start).collect();
                let joined = threads.into_iter().map(|it| it.join().unwrap());
                joined.collect()
            })
        });
        drop(m);
        drop(heap);
        for (i, (plan, mut account)) in plans.into_iter().zip(accounts).enumerate() {
            // They share a heap.
            if i > 0 {
                account.cut = 0;
            }
            let what = format!("{plan:?}, together, {collector:?}, {policy:?}, zeal {zeal}");
            let alone = plain.clone().build().unwrap();
            {
                let mut m = alone.attach("main").unwrap();
                let shared = m.static_root("shared");
                let array = m.alloc_refs::<Object>(16).unwrap();
                shared.set(&m, Some(&m[array]));
            }
            let settles = true;
            let reference = run(&alone, "t", Plan { settles, ..plan }, true);
            check(&reference, &account, Agreement::Loose, &what, &mut tally);
            check_drops(account, &what);
        }
    }
    note(
        &tally,
        &format!("together, {collector:?}, zeal {zeal}, mourns {mourns}"),
    );
    assert!(tally.missed * 20 > tally.programs, "{tally:?}");
    assert!(zeal > 0 || tally.unmissed > 0, "{tally:?}");
}

#[test]
fn threads_keep_the_meaning() {
    check_together(Collector::MarkSweep, 0, false, 24);
    check_together(Collector::Generational, 0, false, 24);
}

#[test]
fn threads_with_zeal_keep_the_meaning() {
    check_together(Collector::MarkSweep, 5, false, 8);
    check_together(Collector::Generational, 5, false, 8);
}

#[test]
fn threads_keep_the_meaning_of_death() {
    check_together(Collector::MarkSweep, 0, true, 24);
    check_together(Collector::Generational, 5, true, 8);
}
