//! The pool under real threads: every unit is done once, and everybody comes home.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use heaphound_heap::pool::Pool;

/// Numbers 1.. as a tree: `n` leads to `2n` and `2n + 1`, up to a limit.
fn work(pool: &Pool<Vec<usize>>, mut stack: Vec<usize>, seen: &[AtomicU32]) {
    loop {
        while let Some(unit) = stack.pop() {
            seen[unit].fetch_add(1, Relaxed);
            let next = [2 * unit, 2 * unit + 1];
            stack.extend(next.into_iter().filter(|&it| it < seen.len()));
            if stack.len() > 1 && pool.is_hungry() {
                let newer = stack.split_off(stack.len() / 2);
                pool.give(std::mem::replace(&mut stack, newer));
            }
        }
        match pool.take() {
            Some(bundle) => stack = bundle,
            None => return,
        }
    }
}

fn check(workers: usize, units: usize) {
    let pool = Pool::new(workers);
    let seen: Vec<_> = (0..=units).map(|_| AtomicU32::new(0)).collect();
    std::thread::scope(|scope| {
        for i in 0..workers {
            let start = if i == 0 && units > 0 { vec![1] } else { vec![] };
            let (pool, seen) = (&pool, &seen);
            scope.spawn(move || work(pool, start, seen));
        }
    });
    assert!(seen[1..].iter().all(|times| times.load(Relaxed) == 1));
}

#[test]
fn every_unit_is_done_once_however_many_workers() {
    for workers in [1, 2, 3, 4, 8] {
        check(workers, 100_000);
    }
}

#[test]
fn a_trace_of_little_work_ends_every_time() {
    for round in 0..500 {
        check(2 + round % 3, round % 6);
    }
}

#[test]
fn a_trace_without_work_ends() {
    check(4, 0);
}

#[test]
fn nobody_is_hungry_before_somebody_asks() {
    let pool = Pool::<()>::new(2);
    assert!(!pool.is_hungry());
    pool.give(());
    assert_eq!(pool.take(), Some(()));
    assert!(!pool.is_hungry());
}
