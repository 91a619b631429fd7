//! What happens to the dead: owned memory is dropped, finalizers are called, both
//! after the world runs again.
//!
//! An object with owned fields is moved out of the heap, byte for byte, by the
//! collection that finds it dead, so that its cell is free at once and the drop sees no
//! managed memory. An object with a finalizer lives on as a root until the
//! finalizer has run.

use std::cell::Cell;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::config::Finalization;
use crate::heap::HeapInner;
use crate::panics::panics;
use crate::raw::marking::mark::Ground;
use crate::raw::memory::address::Raw;
use crate::raw::mutators::mutator::{Local, Mutator};
use crate::raw::objects::object::{Managed, Object};

/// What a program wants done when an object has died.
pub(crate) type Finalizer =
    Box<dyn for<'m> FnOnce(&mut Mutator<'m>, Local<'m, Object>) + Send + 'static>;

/// A dead object with owned fields, out of the heap.
pub(crate) struct Remains {
    bytes: Box<[u64]>,
    drop: unsafe fn(*mut u8),
}

impl Remains {
    /// Moves a dead object out.
    pub(crate) fn take(ground: Ground<'_>, raw: Raw) -> Option<Self> {
        // SAFETY: dead, but neither swept nor overwritten yet.
        let word = unsafe { ground.base.header(raw) }.load();
        let class = ground.classes.get(heaphound_heap::ClassId(word.class()));
        let drop = class.drop?;
        let from = ground.base.object(raw);
        // SAFETY: as above.
        let bytes = unsafe { class.trace.bytes(from) };
        let mut copy = vec![0u64; bytes / 8].into_boxed_slice();
        // SAFETY: both are `bytes` long and apart; the object is a plain move away
        // from its cell, which is never read again.
        unsafe {
            copy.as_mut_ptr()
                .cast::<u8>()
                .copy_from_nonoverlapping(from, bytes)
        };
        Some(Self { bytes: copy, drop })
    }
}

impl Drop for Remains {
    fn drop(&mut self) {
        // SAFETY: the bytes are an object whose owned fields nobody has dropped, in
        // memory of the same alignment.
        unsafe { (self.drop)(self.bytes.as_mut_ptr().cast()) }
    }
}

/// Work for after the collection.
#[derive(Default)]
pub(crate) struct Pending {
    pub(crate) remains: Vec<Remains>,
    /// Objects that wait for their finalizers: roots.
    pub(crate) finalizers: Vec<(AtomicU32, Finalizer)>,
}

/// Objects that the heap must look after when they die; the young ones apart, so
/// that a nursery collection need not look at all of them.
#[derive(Default)]
pub(crate) struct Watched {
    pub(crate) young: WatchList,
    pub(crate) old: WatchList,
}

impl Watched {
    fn list(&mut self, raw: Raw) -> &mut WatchList {
        if raw.is_young() {
            &mut self.young
        } else {
            &mut self.old
        }
    }
}

/// Objects to look after, by what is to be done.
#[derive(Default)]
pub(crate) struct WatchList {
    /// Objects with owned fields.
    pub(crate) droppables: Vec<Raw>,
    pub(crate) finalizers: Vec<(Raw, Finalizer)>,
    /// External bytes of objects.
    pub(crate) externals: std::collections::HashMap<Raw, usize>,
}

impl HeapInner {
    /// Moves a mutator's list of new droppable objects to the heap's.
    pub(crate) fn take_droppables(&self, shared: &crate::raw::mutators::mutator::MutatorShared) {
        let mut own = shared.droppables.borrow_mut();
        if !own.is_empty() {
            let mut watched = self.watched.lock().unwrap();
            own.drain(..)
                .for_each(|raw| watched.list(raw).droppables.push(raw));
        }
    }

    /// Runs what is pending, unless this mutator is in the middle of doing so.
    pub(crate) fn finish(&self, mutator: &mut Mutator<'_>) {
        if self.config.finalization == Finalization::AfterCollection {
            mutator.run_finalizers();
        }
        self.check_halted();
    }

    /// Drops the owned memory of every object, as the heap itself is dropped.
    pub(crate) fn drop_all(&mut self) {
        let watched = std::mem::take(self.watched.get_mut().unwrap());
        let pending = std::mem::take(&mut self.pending.get_mut().unwrap().finalizers);
        let pending = pending.into_iter().map(|(_, finalizer)| finalizer);
        let others = [watched.young.finalizers, watched.old.finalizers];
        let others = others.into_iter().flatten().map(|(_, finalizer)| finalizer);
        for finalizer in pending.chain(others) {
            panics(|| drop(finalizer));
        }
        let withheld = std::mem::take(self.pruning.withheld.get_mut().unwrap());
        for finalizer in withheld.finalizers {
            panics(|| drop(finalizer));
        }
        let mut remains = std::mem::take(&mut self.pending.get_mut().unwrap().remains);
        remains.extend(withheld.remains);
        drop_each(remains);
        for raw in [watched.young.droppables, watched.old.droppables].concat() {
            // SAFETY: the object has not been found dead, so its owned fields are
            // whole; no mutator is left to see them.
            let header = unsafe { self.base.header(raw) }.load();
            let class = self.classes.get(heaphound_heap::ClassId(header.class()));
            if let Some(drop) = class.drop {
                let object = self.base.object(raw);
                // SAFETY: as above.
                panics(|| unsafe { drop(object) });
            }
        }
    }
}

/// Drops each. Returns how many panicked.
fn drop_each(remains: Vec<Remains>) -> u64 {
    let mut panicked = 0;
    for one in remains {
        panicked += panics(|| drop(one)) as u64;
    }
    panicked
}

impl Mutator<'_> {
    /// Calls `f` with the object after a collection has found it unreachable. The
    /// object is alive again for the call, and for as long as the call makes it.
    ///
    /// # Panics
    /// If the object belongs to another heap.
    #[track_caller]
    pub fn on_death<T: Managed + ?Sized>(
        &self,
        object: &T,
        f: impl for<'m> FnOnce(&mut Mutator<'m>, Local<'m, T>) + Send + 'static,
    ) {
        let raw = self.own(object);
        let finalizer: Finalizer = Box::new(move |mutator, local| {
            let raw = mutator.shared.local_raw(local);
            // SAFETY: the object was a `T` when this was registered, and still is.
            let local = unsafe { mutator.local_at(raw) };
            f(mutator, local);
        });
        let mut watched = self.heap.watched.lock().unwrap();
        watched.list(raw).finalizers.push((raw, finalizer));
    }

    /// Runs the drops and finalizers that are pending. One that panics is logged and
    /// counted; the others still run.
    pub fn run_finalizers(&mut self) {
        struct Done<'m>(&'m Cell<bool>);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.set(false);
            }
        }
        if self.shared.runs_finalizers.replace(true) {
            return;
        }
        let _done = Done(&self.shared.runs_finalizers);
        let heap = self.heap;
        let mut panicked = 0;
        loop {
            let remains = std::mem::take(&mut heap.pending.lock().unwrap().remains);
            if !remains.is_empty() {
                panicked += self.blocked(|| drop_each(remains));
                continue;
            }
            if !self.shared.has_room_for(2) {
                // Without a local to show it the object, a finalizer cannot run. It
                // waits for a time when there is room.
                break;
            }
            let Some((cell, finalizer)) = heap.pending.lock().unwrap().finalizers.pop() else {
                break;
            };
            let mut scope = self.scope();
            // SAFETY: pending objects are roots, so this one is alive; no safepoint
            // lies between taking it off the list and making it a local.
            let local = unsafe { scope.local_at(Raw(cell.load(Relaxed))) };
            panicked += panics(|| finalizer(&mut scope, local)) as u64;
        }
        if panicked > 0 {
            heap.stats.lock().unwrap().panicked_finalizers += panicked;
            tracing::error!(heap = heap.id, panicked, "finalizers or drops panicked");
        }
    }

    /// Accounts memory outside the heap to an object that owns it, instead of what was
    /// accounted before: it counts towards collections and towards `max_bytes` for as
    /// long as the object lives. At most 1 TiB is counted for one object.
    ///
    /// # Panics
    /// If the object belongs to another heap.
    #[track_caller]
    pub fn account_external<T: Managed + ?Sized>(&self, object: &T, bytes: usize) {
        let raw = self.own(object);
        let bytes = bytes.min(1 << 40);
        let mut watched = self.heap.watched.lock().unwrap();
        let before = match bytes {
            0 => watched.list(raw).externals.remove(&raw),
            _ => watched.list(raw).externals.insert(raw, bytes),
        };
        drop(watched);
        object
            .as_object()
            .header()
            .update_flags(|word| word.with_external(bytes > 0));
        self.heap.space.adjust_external(before.unwrap_or(0), bytes);
    }
}
