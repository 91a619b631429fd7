//! Shares pieces of work among threads.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// Calls `work` with 0 to `pieces` − 1, each once, from several threads that each have a state of their own. Returns
/// what it returned, in that order. The caller's thread works too, and calls `between` after each
/// of its pieces.
pub fn share<S, R: Send>(
    threads: usize,
    pieces: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> R + Sync,
    mut between: impl FnMut(),
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || Some(next.fetch_add(1, Relaxed)).filter(|&nth| nth < pieces);
    let help = || {
        let mut state = state();
        let mut done = Vec::new();
        while let Some(nth) = take() {
            done.push((nth, work(&mut state, nth)));
        }
        done
    };
    let mut results = thread::scope(|scope| {
        let spawn = |_| {
            let builder = thread::Builder::new().name("heaphound-reader".into());
            // Without a thread that the system refuses, the others do its share.
            builder.spawn_scoped(scope, help).ok()
        };
        let helpers = threads.min(pieces).saturating_sub(1);
        let helpers: Vec<_> = (0..helpers).filter_map(spawn).collect();
        let mut mine = state();
        let mut done = Vec::new();
        while let Some(nth) = take() {
            done.push((nth, work(&mut mine, nth)));
            between();
        }
        for helper in helpers {
            match helper.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    results.sort_unstable_by_key(|(nth, _)| *nth);
    results.into_iter().map(|(_, result)| result).collect()
}
