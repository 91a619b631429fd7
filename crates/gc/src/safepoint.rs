//! Stopping the world and starting it again.
//!
//! A mutator *runs* from when it attaches until it detaches, except while it waits at a
//! safepoint or is blocked. To stop the world is to ask for it (one flag, polled
//! at safepoints) and to wait until nobody runs. While the world is stopped nobody
//! begins to run, so the collector has the heap to itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use heaphound_heap::sync::{Condvar, Mutex};

/// The state of one heap's world.
#[derive(Default)]
pub(crate) struct Safepoints {
    state: Mutex<State>,
    changed: Condvar,
    stop: AtomicBool,
    /// Whether mutators are to notice at every safepoint that the program is halted.
    halted: AtomicBool,
}

#[derive(Default)]
struct State {
    running: usize,
    stopped: bool,
    /// The thread that stopped it.
    stopper: Option<ThreadId>,
}

impl Safepoints {
    /// Whether somebody wants the world to stop.
    #[inline]
    pub(crate) fn stop_requested(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Lets every mutator come to its next safepoint, from now on.
    pub(crate) fn halt(&self) {
        // Not while somebody lets the world run, who may have seen that it was not halted.
        let _state = self.state.lock().unwrap();
        self.halted.store(true, Relaxed);
        self.stop.store(true, Relaxed);
    }

    /// Whether it was this thread that stopped the world.
    pub(crate) fn is_stopped_by_me(&self) -> bool {
        self.state.lock().unwrap().stopper == Some(thread::current().id())
    }

    /// Begins to run, once the world does.
    pub(crate) fn enter(&self, runs: &AtomicBool) {
        let mut state = self.state.lock().unwrap();
        while state.stopped {
            state = self.changed.wait(state).unwrap();
        }
        state.running += 1;
        runs.store(true, Relaxed);
    }

    /// Ceases to run.
    pub(crate) fn leave(&self, runs: &AtomicBool) {
        let mut state = self.state.lock().unwrap();
        state.running -= 1;
        runs.store(false, Relaxed);
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until the world runs again, if it is being stopped.
    pub(crate) fn park(&self, runs: &AtomicBool) {
        self.leave(runs);
        self.enter(runs);
    }

    /// Stops the world on behalf of a running mutator; gives the time that took.
    /// `None` if another one did so first: then that has already been waited for.
    /// `stalled` is called each time `patience` passes without success.
    pub(crate) fn stop(
        &self,
        runs: &AtomicBool,
        patience: Duration,
        mut stalled: impl FnMut(Duration),
    ) -> Option<Duration> {
        let mut state = self.state.lock().unwrap();
        if state.stopped {
            drop(state);
            self.park(runs);
            return None;
        }
        let begin = Instant::now();
        state.stopped = true;
        state.stopper = Some(thread::current().id());
        self.stop.store(true, Relaxed);
        state.running -= 1;
        runs.store(false, Relaxed);
        let mut patience_ends = begin + patience;
        while state.running > 0 {
            let left = patience_ends.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // Said outside the lock: whoever listens may take its time.
                drop(state);
                // Nor may it end this: others wait for the world to run again.
                let _ = catch_unwind(AssertUnwindSafe(|| stalled(begin.elapsed())));
                patience_ends = Instant::now() + patience;
                state = self.state.lock().unwrap();
                continue;
            }
            state = self.changed.wait_timeout(state, left).unwrap().0;
        }
        Some(begin.elapsed())
    }

    /// Lets the world run again, the mutator that stopped it first.
    pub(crate) fn resume(&self, runs: &AtomicBool) {
        let mut state = self.state.lock().unwrap();
        state.stopped = false;
        state.stopper = None;
        self.stop.store(self.halted.load(Relaxed), Relaxed);
        state.running += 1;
        runs.store(true, Relaxed);
        drop(state);
        self.changed.notify_all();
    }
}
