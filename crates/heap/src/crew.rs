//! Threads that help with a collection or a trace.
//!
//! They live as long as one phase. A pool that is kept would save some microseconds a
//! collection, but whoever waits for a pool may be given other work meanwhile, and a
//! collection must run nothing but itself.

use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// Returns the number of cores that this process may use. To ask the system reads several files, so it is asked
/// once.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Calls `work` with 0 to `workers` − 1, each on a thread of its own, the first on
/// this one. `missing` is called for each thread that the system refused.
pub fn run<R: Send>(
    workers: usize,
    work: impl Fn(usize) -> R + Sync,
    missing: impl Fn(),
) -> Vec<R> {
    thread::scope(|scope| {
        let work = &work;
        let spawn = |index| {
            thread::Builder::new()
                .name(format!("heaphound-{index}"))
                .spawn_scoped(scope, move || work(index))
                .inspect_err(|_| missing())
                .ok()
        };
        let others: Vec<_> = (1..workers).filter_map(spawn).collect();
        let mine = catch_unwind(AssertUnwindSafe(|| work(0)));
        // All are joined before a panic goes on: how a scope waits is hidden from ThreadSanitizer.
        let others = others.into_iter().map(|other| other.join());
        let joined: Vec<_> = iter::once(mine).chain(others).collect();
        let result =
            |joined: thread::Result<R>| joined.unwrap_or_else(|panic| resume_unwind(panic));
        joined.into_iter().map(result).collect()
    })
}

/// Calls `work` with 0 to `workers` − 1, on that many threads or fewer, and returns the
/// results in that order.
pub fn run_all<R: Send>(workers: usize, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let some = |_| {
        let mut results = Vec::new();
        loop {
            let part = next.fetch_add(1, Relaxed);
            if part >= workers {
                return results;
            }
            results.push((part, work(part)));
        }
    };
    let mut results: Vec<(usize, R)> = run(workers, some, || ()).into_iter().flatten().collect();
    results.sort_by_key(|(part, _)| *part);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Maps all items, in any order, some on each of the workers.
pub fn map<T: Sync, R: Send>(workers: usize, items: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    const BATCH: usize = 64;
    let workers = workers.min(items.len().div_ceil(BATCH)).max(1);
    if workers == 1 {
        return items.iter().map(f).collect();
    }
    let next = AtomicUsize::new(0);
    let work = |_| {
        let mut results = Vec::new();
        loop {
            let start = next.fetch_add(BATCH, Relaxed);
            let Some(rest) = items.get(start..) else {
                return results;
            };
            results.extend(rest.iter().take(BATCH).map(&f));
        }
    };
    run(workers, work, || ()).into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_mapped_once() {
        for workers in [1, 2, 5] {
            for count in [0, 1, 63, 64, 65, 1000] {
                let items: Vec<usize> = (0..count).collect();
                let mut mapped = map(workers, &items, |item| item * 2);
                mapped.sort();
                assert_eq!(
                    mapped,
                    items.iter().map(|item| item * 2).collect::<Vec<_>>()
                );
            }
        }
    }
}
