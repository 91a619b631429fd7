//! Threads that use several heaps: nobody waits for ever, and nothing moves or dies that somebody holds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use heaphound::{AttachError, Collector, Header, Heap, HeapBuilder, Local, Managed, Mutator, Slot};
use heaphound_testkit::dice::Dice;

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    id: u64,
    next: Slot<Node>,
}

/// Fails if `f` has not come to its end after a minute.
fn in_time(f: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let thread = thread::spawn(move || {
        f();
        let _ = done.send(());
    });
    match is_done.recv_timeout(Duration::from_secs(60)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("threads wait for each other for ever"),
        _ => thread.join().unwrap(),
    }
}

const COLLECTORS: [Collector; 2] = [Collector::MarkSweep, Collector::Generational];

fn small(collector: Collector) -> HeapBuilder {
    Heap::builder()
        .collector(collector)
        .max_bytes(64 << 20)
        .initial_bytes(256 << 10)
        .nursery_bytes(256 << 10)
        .collector_threads(1)
}

fn heaps(count: usize, build: impl Fn() -> HeapBuilder) -> Vec<Heap> {
    (0..count).map(|_| build().build().unwrap()).collect()
}

/// Puts a node before a list and cuts it to ten nodes.
fn push<'m>(m: &mut Mutator<'m>, list: Local<'m, Node>, id: u64) {
    let mut inner = m.scope();
    let next = Some(list);
    let new = inner.alloc(NodeInit { id, next }).unwrap();
    inner.set_local(list, &inner[new]);
    let mut node = &inner[list];
    for back in 0..10 {
        assert_eq!(node.id, id.saturating_sub(back));
        match node.next.get() {
            Some(next) => node = next,
            None => return,
        }
    }
    node.next.clear();
}

/// Allocates now in this heap, now in that one.
fn only_allocate(heaps: &[Heap], dice: &mut Dice, rounds: usize) {
    let mut mutators: Vec<_> = heaps.iter().map(|it| it.attach("").unwrap()).collect();
    let mut lists: Vec<_> = mutators
        .iter_mut()
        .map(|m| (m.alloc(NodeInit { id: 0, next: None }).unwrap(), 0))
        .collect();
    for _ in 0..rounds {
        let heap = dice.below(heaps.len());
        let (list, id) = &mut lists[heap];
        for _ in 0..dice.below(300) {
            *id += 1;
            push(&mut mutators[heap], *list, *id);
        }
    }
}

fn all_allocate(threads: usize, heaps: Vec<Heap>, rounds: usize) {
    thread::scope(|scope| {
        for seed in 0..threads as u64 {
            let heaps = &heaps;
            scope.spawn(move || only_allocate(heaps, &mut Dice(seed), rounds));
        }
    });
    let collections = |it: &Heap| it.stats().full_collections + it.stats().nursery_collections;
    assert!(heaps.iter().all(|it| collections(it) > 0));
}

#[test]
fn two_threads_that_only_allocate_in_two_heaps_go_on() {
    for collector in COLLECTORS {
        in_time(move || all_allocate(2, heaps(2, || small(collector)), 1500));
    }
}

#[test]
fn many_threads_that_only_allocate_in_several_heaps_go_on() {
    for collector in COLLECTORS {
        in_time(move || all_allocate(6, heaps(3, || small(collector)), 300));
    }
}

#[test]
fn threads_that_only_allocate_in_zealous_heaps_go_on() {
    for collector in COLLECTORS {
        in_time(move || all_allocate(3, heaps(3, || small(collector).zeal(7)), 20));
    }
}

/// Each thread reads an object of one heap before and after it allocates in another: the borrow checker
/// allows it, so nothing may move meanwhile.
#[test]
fn what_is_held_of_one_heap_stays_while_another_allocates() {
    for (collector, zeal) in COLLECTORS
        .into_iter()
        .flat_map(|it| [(it, false), (it, true)])
    {
        in_time(move || {
            let build = || match zeal {
                true => small(collector).zeal(5),
                false => small(collector),
            };
            let heaps = heaps(2, build);
            let rounds = if zeal { 300 } else { 20_000 };
            thread::scope(|scope| {
                for turn in 0..4 {
                    let [held, used] = if turn % 2 == 0 { [0, 1] } else { [1, 0] };
                    let (held, used) = (&heaps[held], &heaps[used]);
                    scope.spawn(move || {
                        let mut held = held.attach("").unwrap();
                        let mut used = used.attach("").unwrap();
                        let list = used.alloc(NodeInit { id: 0, next: None }).unwrap();
                        for id in 0..rounds {
                            let mut held = held.scope();
                            let next = held.alloc(NodeInit { id, next: None }).unwrap();
                            let next = Some(next);
                            let node = held.alloc(NodeInit { id, next }).unwrap();
                            let node = &held[node];
                            let next = node.next.get().unwrap();
                            for more in 1..5 {
                                push(&mut used, list, 4 * id + more);
                            }
                            assert_eq!((node.id, next.id), (id, id));
                        }
                    });
                }
            });
        });
    }
}

#[test]
fn what_programs_ask_for_panics_rather_than_wait_for_ever() {
    for collector in COLLECTORS {
        in_time(move || {
            let heaps = heaps(3, || small(collector));
            let panics = AtomicUsize::new(0);
            let barrier = Barrier::new(3);
            thread::scope(|scope| {
                for first in 0..3 {
                    let (heaps, panics, barrier) = (&heaps, &panics, &barrier);
                    scope.spawn(move || {
                        let mut mutators: Vec<_> =
                            heaps.iter().map(|it| it.attach("").unwrap()).collect();
                        barrier.wait();
                        let asked = catch_unwind(AssertUnwindSafe(|| {
                            mutators[first].collect();
                            mutators[first].inspect(|_| ());
                        }));
                        if let Err(panic) = asked {
                            let what = panic.downcast::<String>().unwrap();
                            assert!(what.contains("`Mutator::blocked`"), "{what}");
                            panics.fetch_add(1, Relaxed);
                        }
                        // All of it again, as the panic says. Nobody may wait at the barrier as a mutator that runs
                        // before all others have asked: whoever asks late would wait for it.
                        drop(mutators);
                        barrier.wait();
                        let mut mutators: Vec<_> =
                            heaps.iter().map(|it| it.attach("").unwrap()).collect();
                        barrier.wait();
                        let [a, b, c] = &mut mutators[..] else {
                            unreachable!()
                        };
                        for _ in 0..20 {
                            match first {
                                0 => b.blocked(|| c.blocked(|| a.collect())),
                                1 => c.blocked(|| a.blocked(|| b.inspect(|_| ()))),
                                _ => a.blocked(|| b.blocked(|| c.collect())),
                            }
                        }
                    });
                }
            });
            // At least one went through.
            assert!(panics.into_inner() < 3);
        });
    }
}

/// Waits until a thread waits to stop a heap's world: those who pass safepoints are held there.
fn wait_until(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(30));
        thread::yield_now();
    }
}

#[test]
fn an_allocation_gives_way_to_a_collection_that_the_program_asked_for() {
    for collector in COLLECTORS {
        in_time(move || {
            let heaps = heaps(2, || small(collector));
            let collected = AtomicBool::new(false);
            let ready = Barrier::new(2);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut a = heaps[0].attach("asks").unwrap();
                    let mut b = heaps[1].attach("asks").unwrap();
                    ready.wait();
                    a.collect();
                    collected.store(true, Relaxed);
                    b.safepoint();
                });
                let mut a = heaps[0].attach("allocates").unwrap();
                let mut b = heaps[1].attach("allocates").unwrap();
                let list = b.alloc(NodeInit { id: 0, next: None }).unwrap();
                ready.wait();
                // More than there is room for without a collection, and less than the limit.
                let mut id = 0;
                wait_until(|| {
                    for _ in 0..10_000 {
                        id += 1;
                        push(&mut b, list, id);
                    }
                    heaps[1].stats().put_off_collections > 0
                });
                assert!(!collected.load(Relaxed));
                drop(a.scope());
                a.safepoint();
                wait_until(|| {
                    a.safepoint();
                    collected.load(Relaxed)
                });
            });
        });
    }
}

#[test]
fn an_allocation_that_cannot_do_without_a_collection_says_why_there_was_none() {
    for collector in COLLECTORS {
        in_time(move || {
            let heaps = heaps(2, || small(collector).max_bytes(4 << 20));
            let ready = Barrier::new(2);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut a = heaps[0].attach("asks").unwrap();
                    let _b = heaps[1].attach("asks").unwrap();
                    ready.wait();
                    a.collect();
                });
                let a = heaps[0].attach("allocates").unwrap();
                let mut b = heaps[1].attach("allocates").unwrap();
                ready.wait();
                let error = loop {
                    let mut b = b.scope();
                    if let Err(error) = b.alloc(NodeInit { id: 1, next: None }) {
                        break error.to_string();
                    }
                };
                assert!(error.contains("cannot be collected"), "{error}");
                assert!(error.contains("`Mutator::blocked`"), "{error}");
                // The other one collects, and then there is room.
                drop(a);
                wait_until(|| heaps[0].stats().full_collections > 0);
                for _ in 0..100_000 {
                    let mut b = b.scope();
                    b.alloc(NodeInit { id: 1, next: None }).unwrap();
                }
            });
        });
    }
}

#[test]
fn attaching_fails_rather_than_wait_for_ever() {
    in_time(|| {
        let heaps = heaps(2, Heap::builder);
        let both = Barrier::new(2);
        let refused = AtomicUsize::new(0);
        thread::scope(|scope| {
            for turn in 0..2 {
                let (heaps, both, refused) = (&heaps, &both, &refused);
                scope.spawn(move || {
                    let mut m = heaps[turn].attach("").unwrap();
                    m.inspect(|_| {
                        both.wait();
                        match heaps[1 - turn].attach("") {
                            Ok(_) => {}
                            Err(AttachError::Deadlock) => {
                                refused.fetch_add(1, Relaxed);
                            }
                            Err(error) => panic!("{error}"),
                        }
                    });
                });
            }
        });
        assert_eq!(refused.into_inner(), 1);
    });
}

/// Anything, by many threads, to several heaps.
#[test]
fn whatever_threads_do_to_several_heaps_they_come_to_an_end() {
    for (collector, zeal) in COLLECTORS
        .into_iter()
        .flat_map(|it| [(it, false), (it, true)])
    {
        in_time(move || {
            let build = || match zeal {
                true => small(collector).zeal(20),
                false => small(collector),
            };
            let heaps = heaps(3, build);
            thread::scope(|scope| {
                for seed in 0..6 {
                    let heaps = &heaps;
                    let rounds = if zeal { 15 } else { 60 };
                    scope.spawn(move || {
                        let dice = &mut Dice(seed);
                        let mut mutators = attach(heaps, dice);
                        for _ in 0..rounds {
                            let done = AssertUnwindSafe(|| anything(heaps, &mut mutators, dice, 3));
                            if let Err(panic) = catch_unwind(done) {
                                let what = panic.downcast_ref::<String>();
                                let is_deadlock = |it: &String| it.contains("for ever");
                                assert!(what.is_some_and(is_deadlock), "{what:?}");
                            }
                            if dice.below(10) == 0 {
                                drop(mutators);
                                mutators = attach(heaps, dice);
                            }
                        }
                    });
                }
            });
        });
    }
}

fn attach<'h>(heaps: &'h [Heap], dice: &mut Dice) -> Vec<Mutator<'h>> {
    let some = heaps.iter().filter(|_| dice.below(4) > 0);
    some.filter_map(|it| it.attach("").ok()).collect()
}

fn anything(heaps: &[Heap], mutators: &mut Vec<Mutator<'_>>, dice: &mut Dice, depth: usize) {
    if mutators.is_empty() {
        return;
    }
    let mut m = mutators.swap_remove(dice.below(mutators.len()));
    match dice.below(if depth == 0 { 4 } else { 7 }) {
        0 | 1 => {
            let mut m = m.scope();
            let list = m.alloc(NodeInit { id: 0, next: None }).unwrap();
            for id in 1..dice.below(3000) as u64 {
                push(&mut m, list, id);
            }
        }
        2 => m.safepoint(),
        3 => m.collect(),
        4 => m.blocked(|| anything(heaps, mutators, dice, depth - 1)),
        5 => m.inspect(|_| anything(heaps, mutators, dice, depth - 1)),
        _ => {
            let other = &heaps[dice.below(heaps.len())];
            let _other = other.attach("");
            anything(heaps, mutators, dice, depth - 1);
        }
    }
    mutators.push(m);
}
