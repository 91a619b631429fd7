//! Sharing the work of a parallel trace, and knowing when it is over.
//!
//! Every worker traces from a stack of its own. One that runs dry takes a
//! *bundle* of work from the pool; one that has plenty gives a bundle away, but
//! only while somebody is hungry, so that an even trace shares nothing and pays
//! one relaxed load. The trace is over when all workers are hungry at once and the
//! pool is empty: a worker that could still make work is, by definition, not hungry.

use crate::sync::{AtomicUsize, Condvar, Mutex, Ordering};

/// Bundles of work in transit between the workers of one trace.
pub struct Pool<W> {
    state: Mutex<State<W>>,
    changed: Condvar,
    /// How many workers wait for a bundle: a hint that may be stale. The truth is
    /// in `state`.
    hungry: AtomicUsize,
}

struct State<W> {
    workers: usize,
    bundles: Vec<W>,
    waiting: usize,
    over: bool,
}

impl<W> Pool<W> {
    /// A pool for that many workers, each of which must call [`Pool::take`] until
    /// it returns `None`.
    pub fn new(workers: usize) -> Self {
        Self {
            state: Mutex::new(State {
                workers,
                bundles: Vec::new(),
                waiting: 0,
                over: false,
            }),
            changed: Condvar::new(),
            hungry: AtomicUsize::new(0),
        }
    }

    /// Whether a bundle given now would probably be taken at once.
    #[inline]
    pub fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed) > 0
    }

    /// Gives work away. Called by a worker during the trace, or before it starts.
    pub fn give(&self, bundle: W) {
        let mut state = self.state.lock().expect("no worker panics here");
        if !state.over {
            state.bundles.push(bundle);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// One of the workers that were planned for does not come: nobody waits for it.
    pub fn do_without_one(&self) {
        let mut state = self.state.lock().expect("no worker panics here");
        state.workers -= 1;
        drop(state);
        self.changed.notify_all();
    }

    /// A worker panics: nobody gets any more work.
    pub fn abandon(&self) {
        let mut state = self.state.lock().expect("no worker panics here");
        state.over = true;
        state.bundles.clear();
        drop(state);
        self.changed.notify_all();
    }

    /// What a worker holds while it works: if it panics, the others do not wait for it.
    pub fn guard(&self) -> Guard<'_, W> {
        Guard(self)
    }

    /// Work for a worker that has none left; `None` once the trace is over.
    pub fn take(&self) -> Option<W> {
        let mut state = self.state.lock().expect("no worker panics here");
        if let Some(bundle) = state.bundles.pop() {
            return Some(bundle);
        }
        state.waiting += 1;
        self.hungry.store(state.waiting, Ordering::Relaxed);
        loop {
            if state.over || state.waiting == state.workers {
                // Everybody waits and nothing is in transit: nobody can make work
                // any more. (Bundles are looked at first on every round.)
                state.over = true;
                drop(state);
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).expect("no worker panics here");
            if let Some(bundle) = state.bundles.pop() {
                state.waiting -= 1;
                self.hungry.store(state.waiting, Ordering::Relaxed);
                return Some(bundle);
            }
        }
    }
}

/// See [`Pool::guard`].
pub struct Guard<'p, W>(&'p Pool<W>);

impl<W> Drop for Guard<'_, W> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abandon();
        }
    }
}
