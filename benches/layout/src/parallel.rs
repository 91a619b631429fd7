//! Marking with several threads: a pool of chunks under one lock.
//!
//! A marker that runs dry takes a chunk or waits; one that has plenty gives its
//! oldest entries when the pool is low. Marking ends when all wait.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex};

use crate::mark::{Marker, Sharing};
use crate::stack::MarkStack;
use crate::variant::Variant;

const CHUNK_ENTRIES: usize = 256;

pub struct Pool<E> {
    state: Mutex<PoolState<E>>,
    changed: Condvar,
    /// A hint outside the lock: fewer chunks than markers are in the pool.
    low: AtomicBool,
    markers: usize,
}

struct PoolState<E> {
    chunks: Vec<Box<[E]>>,
    waiting: usize,
}

impl<E> Pool<E> {
    pub fn new(markers: usize) -> Self {
        Pool {
            state: Mutex::new(PoolState {
                chunks: Vec::new(),
                waiting: 0,
            }),
            changed: Condvar::new(),
            low: AtomicBool::new(true),
            markers,
        }
    }
}

impl<E: Copy> Sharing<E> for Pool<E> {
    #[inline(always)]
    fn wants(&self, stack: &MarkStack<E>) -> bool {
        self.low.load(Relaxed) && stack.len() >= 2 * CHUNK_ENTRIES
    }

    #[cold]
    #[inline(never)]
    fn give(&self, mut stack: MarkStack<E>) -> MarkStack<E> {
        let chunk = stack.take_oldest(CHUNK_ENTRIES);
        let mut state = self.state.lock().expect("no marker panics");
        state.chunks.push(chunk);
        self.low.store(state.chunks.len() < self.markers, Relaxed);
        self.changed.notify_one();
        stack
    }

    #[cold]
    #[inline(never)]
    fn refill(&self, mut stack: MarkStack<E>) -> Option<MarkStack<E>> {
        let mut state = self.state.lock().expect("no marker panics");
        state.waiting += 1;
        loop {
            if let Some(chunk) = state.chunks.pop() {
                state.waiting -= 1;
                self.low.store(state.chunks.len() < self.markers, Relaxed);
                stack.append(&chunk);
                return Some(stack);
            }
            if state.waiting == self.markers {
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).expect("no marker panics");
        }
    }
}

/// Runs the markers to the end, one thread each. The first has the roots.
pub fn mark_together<V: Variant>(markers: &mut [Marker<'_, V>]) {
    let pool = Pool::new(markers.len());
    std::thread::scope(|scope| {
        for marker in markers {
            let pool = &pool;
            scope.spawn(move || marker.run(pool));
        }
    });
}
