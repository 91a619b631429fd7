//! The region's first word, which leads from any address in it to the heap, and the
//! coming and going of mutators.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use std::thread::ThreadId;

use crate::error::AttachError;
use crate::heap::{Heap, HeapInner};
use crate::raw::memory::address::Base;
use crate::raw::memory::sizes::SizeClass;
use crate::raw::mutators::mutator::{Mutator, MutatorShared};
use crate::waits::CalledOff;

impl HeapInner {
    /// Lets every address of the region lead here.
    pub(crate) fn publish(heap: &Arc<HeapInner>) {
        let place = heap.base.at(0).cast::<*mut HeapInner>();
        // SAFETY: the region's first page is committed and only used for this.
        let place = unsafe { AtomicPtr::from_ptr(place) };
        place.store(Arc::as_ptr(heap).cast_mut(), Release);
    }

    /// The heap of a region.
    ///
    /// # Safety
    /// The region belongs to a heap that outlives `'a`.
    #[inline]
    pub(crate) unsafe fn of<'a>(base: Base) -> &'a HeapInner {
        // SAFETY: `publish` was called when the heap was built, and the heap stays where it is.
        unsafe { &*AtomicPtr::from_ptr(base.at(0).cast::<*mut HeapInner>()).load(Acquire) }
    }

    /// The name of a thread's mutator that runs, if there is one.
    pub(crate) fn mutator_of(&self, thread: ThreadId) -> Option<String> {
        let mutators = self.mutators.lock().unwrap();
        let mut own = mutators.iter().filter(|other| other.thread == thread);
        own.find(|other| other.runs.load(Relaxed))
            .map(|other| other.name.clone())
    }

    /// The name of another mutator that runs on the thread of this one, if there is one.
    pub(crate) fn rival_of(&self, shared: &MutatorShared) -> Option<String> {
        let mutators = self.mutators.lock().unwrap();
        let others = mutators.iter().filter(|it| !std::ptr::eq(&***it, shared));
        let mut own = others.filter(|other| other.thread == shared.thread);
        own.find(|other| other.runs.load(Relaxed))
            .map(|other| other.name.clone())
    }

    /// Ends a mutator's time: its room goes back, its name off the list.
    pub(crate) fn detach(&self, shared: &MutatorShared) {
        for size_class in SizeClass::all() {
            let cursor = &shared.cursors[size_class.0 as usize + 1];
            self.space.retire(cursor, size_class);
        }
        self.take_droppables(shared);
        self.gather_samples(shared);
        // Off the list before ceasing to run: a collection sees either a mutator
        // that it must wait for, or none.
        let mut mutators = self.mutators.lock().unwrap();
        let place = mutators
            .iter()
            .position(|other| std::ptr::eq(&**other, shared))
            .expect("a mutator is listed until it detaches");
        mutators.swap_remove(place);
        drop(mutators);
        self.safepoints.leave(&shared.runs);
    }
}

impl Heap {
    /// Attaches this thread to the heap under a name, until the mutator is dropped.
    ///
    /// A mutator that is leaked (`mem::forget`) is never stopped for, and so keeps
    /// every later collection waiting.
    #[track_caller]
    pub fn attach(&self, name: impl Into<String>) -> Result<Mutator<'_>, AttachError> {
        let place = Location::caller();
        let heap = self.inner();
        // Before anything is looked at: it is the caller's code, which may attach this thread itself.
        let name = name.into();
        if heap.safepoints.is_stopped_by_me() {
            return Err(AttachError::WorldStopped);
        }
        let thread = std::thread::current().id();
        if let Some(rival) = heap.mutator_of(thread) {
            return Err(AttachError::AlreadyAttached(rival));
        }
        let shared = Arc::new(MutatorShared::new(heap, name, heap.config.max_locals));
        let entered = heap.safepoints.attach(&shared.runs);
        entered.map_err(|CalledOff| AttachError::Deadlock)?;
        // What it copied of the heap's state before it ran may be out of date.
        shared.set_epoch(heap.space.epoch());
        heap.mutators.lock().unwrap().push(shared.clone());
        // SAFETY: listed until `detach`, which the mutator's drop calls; it runs, on
        // this thread.
        Ok(unsafe { Mutator::new(heap, shared, place) })
    }
}
