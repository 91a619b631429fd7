//! Probes of the live heap: each stops the world, is answered, and lets it run again.
//!
//! What they mean is said at [`Probes`]. The asking thread is the one whose mutator is
//! used. Several are answered on the same heap by [`Mutator::ask`].

use std::io;
use std::ops::Deref;
use std::path::Path;

use heaphound_heap::probe::{ProbeError, Probes};
use heaphound_heap::root::Part;
use heaphound_snapshot::{Format, write_file};

use crate::raw::{Mutator, ObjectId, PlainData, StoppedHeap, Subject};
use crate::waits::{CalledOff, Loss};

/// A stopped heap that questions are asked of: [`Probes`], and the way from locals and
/// handles to the objects that they speak of.
pub struct Asking<'p, 'v> {
    probes: Probes<'p, StoppedHeap<'v>>,
}

impl<'p, 'v> Asking<'p, 'v> {
    fn new(view: &'p StoppedHeap<'v>, threads: usize) -> Self {
        let probes = Probes::of(view).threads(threads);
        let asker = view.asker().expect("a mutator stopped the heap");
        let probes = probes.ask_as(asker).expect("it is one of the threads");
        Self { probes }
    }

    /// The object that a local or a handle refers to.
    ///
    /// # Errors
    /// If there is none, or it belongs to another heap or mutator.
    pub fn id(&self, subject: impl Subject) -> Result<ObjectId<'v>, ProbeError> {
        self.probes.view().id(subject)
    }

    /// The objects that several locals or handles refer to.
    ///
    /// # Errors
    /// As for [`Asking::id`].
    pub fn ids(&self, subjects: &[impl Subject]) -> Result<Vec<ObjectId<'v>>, ProbeError> {
        subjects.iter().map(|subject| self.id(subject)).collect()
    }
}

impl<'p, 'v> Deref for Asking<'p, 'v> {
    type Target = Probes<'p, StoppedHeap<'v>>;

    fn deref(&self) -> &Self::Target {
        &self.probes
    }
}

impl Mutator<'_> {
    /// Stops the world and asks: all questions see the same heap.
    pub fn ask<R>(&mut self, f: impl for<'p, 'v> FnOnce(&Asking<'p, 'v>) -> R) -> R {
        let threads = self.heap.config.collector_threads;
        self.inspect(|view| f(&Asking::new(view, threads)))
    }

    /// Asks, and then collects the heap: what was traced to answer need not be marked
    /// again, if it was traced from the roots or from what is held by them. Probes
    /// that do so do not stop as soon as they might.
    pub fn ask_and_collect<R>(&mut self, f: impl for<'p, 'v> FnOnce(&Asking<'p, 'v>) -> R) -> R {
        let threads = self.heap.config.collector_threads;
        self.inspect_and_collect(|view| f(&Asking::new(view, threads)))
    }

    /// Captures the live heap and writes it to a file, for the `heaphound` command or for a
    /// person: in the compact binary form if its name ends in `.hhs`, for Chrome's tools if it ends in `.heapsnapshot`, else as
    /// heap text.
    ///
    /// # Errors
    /// If the file cannot be written; one that was there is then as it was. If threads that use several heaps would
    /// wait for each other for ever; see [`Mutator::blocked`].
    pub fn write_heap(&mut self, path: impl AsRef<Path>, plain: PlainData) -> io::Result<()> {
        let path = path.as_ref();
        let threads = self.heap.config.collector_threads;
        let captured = self.try_inspect(Loss::Error, |view| view.capture(&plain, threads));
        let deadlock =
            |called_off: CalledOff| io::Error::new(io::ErrorKind::Deadlock, called_off.to_string());
        let snapshot = captured.map_err(deadlock)?;
        let format = Format::from_path(path).unwrap_or(Format::Text);
        // Others may collect while the file is written.
        self.blocked(|| write_file(path, &snapshot, format, &mut |_, _| {}))?;
        Ok(())
    }

    /// Whether some reachable object has an edge to this one.
    ///
    /// # Errors
    /// As all probes: if a reference is null, or of another heap or mutator.
    pub fn is_heap(&mut self, object: impl Subject) -> Result<bool, ProbeError> {
        self.ask(|heap| Ok(heap.is_heap(heap.id(object)?)))
    }

    /// Whether two or more reachable objects have edges to this one.
    ///
    /// # Errors
    /// As [`Mutator::is_heap`].
    pub fn is_shared(&mut self, object: impl Subject) -> Result<bool, ProbeError> {
        self.ask(|heap| Ok(heap.is_shared(heap.id(object)?)))
    }

    /// Whether `to` is reachable from `from`.
    ///
    /// # Errors
    /// As [`Mutator::is_heap`].
    pub fn is_reachable(
        &mut self,
        from: impl Subject,
        to: impl Subject,
    ) -> Result<bool, ProbeError> {
        self.ask(|heap| Ok(heap.is_reachable(heap.id(from)?, heap.id(to)?)))
    }

    /// Whether no object is reachable from both.
    ///
    /// # Errors
    /// As [`Mutator::is_heap`].
    pub fn is_disjoint(&mut self, a: impl Subject, b: impl Subject) -> Result<bool, ProbeError> {
        self.ask(|heap| Ok(heap.is_disjoint(heap.id(a)?, heap.id(b)?)))
    }

    /// Whether an object dominates all that it reaches.
    ///
    /// # Errors
    /// As [`Mutator::is_heap`].
    pub fn is_unique_owner(&mut self, object: impl Subject) -> Result<bool, ProbeError> {
        self.ask(|heap| Ok(heap.is_unique_owner(heap.id(object)?)))
    }

    /// Whether every path from `from` to `to` meets one of `cut`.
    ///
    /// # Errors
    /// As [`Mutator::is_heap`].
    pub fn reach_through(
        &mut self,
        from: impl Subject,
        cut: &[impl Subject],
        to: impl Subject,
    ) -> Result<bool, ProbeError> {
        self.ask(|heap| Ok(heap.reach_through(heap.id(from)?, &heap.ids(cut)?, heap.id(to)?)))
    }

    /// Whether a path leads from `owner` to `object`, and every path from a root to
    /// `object` passes `owner` or this thread's stack.
    ///
    /// # Errors
    /// As [`Mutator::is_heap`].
    pub fn is_object_owned(
        &mut self,
        owner: impl Subject,
        object: impl Subject,
    ) -> Result<bool, ProbeError> {
        self.ask(|heap| Ok(heap.is_object_owned(heap.id(owner)?, heap.id(object)?)))
    }

    /// Whether this thread reaches an object and nobody else does.
    ///
    /// # Errors
    /// As [`Mutator::is_heap`].
    pub fn is_thread_owned(&mut self, object: impl Subject) -> Result<bool, ProbeError> {
        self.ask(|heap| heap.is_thread_owned(heap.id(object)?, Part::Both))
    }

    /// Whether this thread's stack reaches an object and nothing else does.
    ///
    /// # Errors
    /// As [`Mutator::is_heap`].
    pub fn is_thread_stack_owned(&mut self, object: impl Subject) -> Result<bool, ProbeError> {
        self.ask(|heap| heap.is_thread_owned(heap.id(object)?, Part::Stack))
    }

    /// Whether this thread's object dominates an object.
    ///
    /// # Errors
    /// As [`Mutator::is_heap`]; or if this thread has no thread object.
    pub fn is_thread_object_owned(&mut self, object: impl Subject) -> Result<bool, ProbeError> {
        self.ask(|heap| heap.is_thread_owned(heap.id(object)?, Part::Object))
    }

    /// The names of the threads that reach an object by a path on which none of `avoid`
    /// lies.
    ///
    /// # Errors
    /// As [`Mutator::is_heap`].
    pub fn thread_reach(
        &mut self,
        object: impl Subject,
        avoid: &[impl Subject],
        part: Part,
    ) -> Result<Vec<String>, ProbeError> {
        self.ask(|heap| Ok(heap.thread_reach(heap.id(object)?, &heap.ids(avoid)?, part)))
    }

    /// How many reachable objects have an edge to this one.
    ///
    /// # Errors
    /// As [`Mutator::is_heap`].
    pub fn pred_count(&mut self, object: impl Subject) -> Result<usize, ProbeError> {
        self.ask(|heap| Ok(heap.pred(heap.id(object)?).len()))
    }
}
