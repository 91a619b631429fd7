//! Stopping the world and starting it again.
//!
//! A mutator *runs* from when it attaches until it detaches, except while it waits at a
//! safepoint or is blocked. To stop the world is to ask for it (one flag, polled
//! at safepoints) and to wait until nobody runs. While the world is stopped nobody
//! begins to run, so the collector has the heap to itself.
//!
//! Threads that use several heaps could wait for each other in circles. So who waits for whom is known
//! for all heaps at once, under one lock, and waits that would never end are called off: see `waits.rs`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, LazyLock};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use heaphound_heap::sync::{Condvar, Mutex, MutexGuard};

use crate::waits::{CalledOff, Loss, Need, Wait, WorldId, Worlds};

/// The worlds of all heaps.
static WORLDS: LazyLock<Mutex<Shared>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Shared {
    worlds: Worlds<ThreadId>,
    /// Wakes those who wait in a world.
    changed: HashMap<WorldId, Arc<Condvar>>,
}

/// The state of one heap's world.
pub(crate) struct Safepoints {
    world: WorldId,
    changed: Arc<Condvar>,
    stop: AtomicBool,
    /// Whether mutators are to notice at every safepoint that the program is halted.
    halted: AtomicBool,
}

/// What came of stopping the world.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It is stopped, and took so long.
    Stopped(Duration),
    /// Another thread has stopped it first. That has already been waited for.
    ByAnother,
    /// It runs: threads that use several heaps would have waited for each other for ever.
    CalledOff,
}

/// How a wait ended.
enum Waited {
    Fulfilled,
    TimedOut,
    CalledOff,
}

impl Default for Safepoints {
    fn default() -> Self {
        let changed = Arc::<Condvar>::default();
        let shared = &mut *WORLDS.lock().unwrap();
        let world = shared.worlds.add();
        shared.changed.insert(world, changed.clone());
        Self {
            world,
            changed,
            stop: AtomicBool::new(false),
            halted: AtomicBool::new(false),
        }
    }
}

impl Drop for Safepoints {
    fn drop(&mut self) {
        let shared = &mut *WORLDS.lock().unwrap();
        shared.worlds.remove(self.world);
        shared.changed.remove(&self.world);
    }
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
        let _shared = WORLDS.lock().unwrap();
        self.halted.store(true, Relaxed);
        self.stop.store(true, Relaxed);
    }

    /// Whether it was this thread that stopped the world.
    pub(crate) fn is_stopped_by_me(&self) -> bool {
        let stopper = WORLDS.lock().unwrap().worlds.stopper(self.world);
        stopper == Some(thread::current().id())
    }

    /// Begins to run, once the world does.
    pub(crate) fn enter(&self, runs: &AtomicBool) {
        let entered = self.enter_unless(runs, Loss::Never);
        entered.expect("this wait is not called off");
    }

    /// Begins to run, once the world does; for a thread that attaches.
    pub(crate) fn attach(&self, runs: &AtomicBool) -> Result<(), CalledOff> {
        self.enter_unless(runs, Loss::Attachment)
    }

    fn enter_unless(&self, runs: &AtomicBool, loss: Loss) -> Result<(), CalledOff> {
        let shared = WORLDS.lock().unwrap();
        let (mut shared, waited) = self.wait(shared, Need::ToRun, loss, None);
        if let Waited::CalledOff = waited {
            return Err(CalledOff);
        }
        shared.worlds.run(self.world, thread::current().id());
        runs.store(true, Relaxed);
        Ok(())
    }

    /// Ceases to run.
    pub(crate) fn leave(&self, runs: &AtomicBool) {
        let mut shared = WORLDS.lock().unwrap();
        shared.worlds.rest(self.world, thread::current().id());
        runs.store(false, Relaxed);
        drop(shared);
        self.changed.notify_all();
    }

    /// Waits until the world runs again, if it is being stopped.
    pub(crate) fn park(&self, runs: &AtomicBool) {
        self.leave(runs);
        self.enter(runs);
    }

    /// Stops the world on behalf of a running mutator. `stalled` is called each time `patience` passes without
    /// success. It runs no code of the program, which might wait in another heap while this world is half stopped.
    pub(crate) fn stop(
        &self,
        runs: &AtomicBool,
        loss: Loss,
        patience: Duration,
        mut stalled: impl FnMut(Duration),
    ) -> Stop {
        let mut shared = WORLDS.lock().unwrap();
        if shared.worlds.stopper(self.world).is_some() {
            drop(shared);
            self.park(runs);
            return Stop::ByAnother;
        }
        shared.worlds.begin_stop(self.world, thread::current().id());
        self.stop.store(true, Relaxed);
        runs.store(false, Relaxed);
        let begin = Instant::now();
        loop {
            let patience_ends = Instant::now().checked_add(patience);
            let (guard, waited) = self.wait(shared, Need::ToStop, loss, patience_ends);
            drop(guard);
            match waited {
                Waited::Fulfilled => return Stop::Stopped(begin.elapsed()),
                Waited::CalledOff => {
                    self.resume(runs);
                    return Stop::CalledOff;
                }
                Waited::TimedOut => stalled(begin.elapsed()),
            }
            shared = WORLDS.lock().unwrap();
        }
    }

    /// Lets the world run again, the mutator that stopped it first.
    pub(crate) fn resume(&self, runs: &AtomicBool) {
        let mut shared = WORLDS.lock().unwrap();
        shared.worlds.end_stop(self.world, thread::current().id());
        self.stop.store(self.halted.load(Relaxed), Relaxed);
        runs.store(true, Relaxed);
        drop(shared);
        self.changed.notify_all();
    }

    /// Waits, as long as it takes or until a time, unless it would be for ever.
    fn wait<'g>(
        &self,
        mut shared: MutexGuard<'g, Shared>,
        need: Need,
        loss: Loss,
        until: Option<Instant>,
    ) -> (MutexGuard<'g, Shared>, Waited) {
        let me = thread::current().id();
        let world = self.world;
        let wait = Wait { world, need, loss };
        if !shared.worlds.goes_on(wait) {
            return (shared, Waited::Fulfilled);
        }
        let mut woken = Vec::new();
        let begun = shared.worlds.begin_wait(me, wait, &mut woken);
        woken.iter().for_each(|it| shared.changed[it].notify_all());
        if let Err(CalledOff) = begun {
            return (shared, Waited::CalledOff);
        }
        let waited = loop {
            shared = match until {
                None => self.changed.wait(shared).unwrap(),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    self.changed.wait_timeout(shared, left).unwrap().0
                }
            };
            if !shared.worlds.goes_on(wait) {
                break Waited::Fulfilled;
            }
            if shared.worlds.is_called_off(me) {
                break Waited::CalledOff;
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                break Waited::TimedOut;
            }
        };
        shared.worlds.end_wait(me);
        (shared, waited)
    }
}
