//! The pool under every schedule that loom can think of.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p heaphound-heap --test pool_loom --release`
//!
//! A binary of its own, because it is built with `--cfg loom` and nothing else is.
//!
//! Loom itself reports a worker that waits for ever as a deadlock, so that each
//! model that ends also shows that no wake-up is lost.
#![cfg(loom)]

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use heaphound_heap::pool::Pool;
use loom::sync::Arc;

/// What a worker does with the halves that a unit falls into.
#[derive(Clone, Copy)]
enum Sharing {
    /// Gives one away if somebody is hungry, as the collector does.
    WhenHungry,
    /// Gives one away always.
    Always,
}

/// How often each unit was done. Loom need not know of it: nobody decides by it.
type Seen = std::sync::Arc<Vec<AtomicU32>>;

/// Works until the trace is over. Units are numbers: `n` leads to `2n` and `2n + 1`.
fn work(pool: &Pool<Vec<usize>>, mut stack: Vec<usize>, seen: &Seen, sharing: Sharing) {
    loop {
        while let Some(unit) = stack.pop() {
            seen[unit].fetch_add(1, SeqCst);
            if 2 * unit + 1 >= seen.len() {
                continue;
            }
            stack.push(2 * unit);
            let share = match sharing {
                Sharing::WhenHungry => pool.is_hungry(),
                Sharing::Always => true,
            };
            match share {
                true => pool.give(vec![2 * unit + 1]),
                false => stack.push(2 * unit + 1),
            }
        }
        match pool.take() {
            Some(bundle) => stack = bundle,
            None => return,
        }
    }
}

/// Lets that many workers do that many units, under every schedule with at most that
/// many preemptions. The first worker begins with all of the work, or it is in the pool.
fn check(workers: usize, units: usize, sharing: Sharing, preemptions: usize) {
    for in_pool in [false, true] {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let pool = Arc::new(Pool::new(workers));
            let seen: Seen = Seen::new((0..=units).map(|_| AtomicU32::new(0)).collect());
            let mut start = if units > 0 { vec![1] } else { vec![] };
            if in_pool {
                pool.give(std::mem::take(&mut start));
            }
            let others: Vec<_> = (1..workers)
                .map(|_| {
                    let (pool, seen) = (pool.clone(), seen.clone());
                    loom::thread::spawn(move || work(&pool, vec![], &seen, sharing))
                })
                .collect();
            work(&pool, start, &seen, sharing);
            for other in others {
                other.join().unwrap();
            }
            for (unit, times) in seen.iter().enumerate().skip(1) {
                assert_eq!(times.load(SeqCst), 1, "unit {unit} is done once");
            }
        });
    }
}

#[test]
fn two_workers_share_when_one_is_hungry() {
    check(2, 7, Sharing::WhenHungry, 5);
}

#[test]
fn two_workers_that_always_share_do_every_unit_once() {
    check(2, 7, Sharing::Always, 5);
}

#[test]
fn two_workers_without_work_end() {
    check(2, 0, Sharing::Always, 8);
}

#[test]
fn three_workers_share_when_one_is_hungry() {
    check(3, 3, Sharing::WhenHungry, 3);
}

#[test]
fn three_workers_that_always_share_do_every_unit_once() {
    check(3, 3, Sharing::Always, 3);
    check(3, 7, Sharing::Always, 2);
}

#[test]
fn three_workers_without_work_end() {
    check(3, 0, Sharing::Always, 4);
}
