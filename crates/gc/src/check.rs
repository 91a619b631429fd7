//! Whatever watches full collections: one interface for GC assertions, rules, summaries, growth, shapes
//! and for what a program adds.
//!
//! A full collection asks each [`Check`] what it [`Needs`], lets it look at the heap *before* it
//! marks, marks, counting what all of them need in one loop, and lets each *conclude*. What they
//! find goes into the ledger (`findings.rs`).
//!
//! Checks are taken out of their list while a collection runs, so that they may use the heap that they
//! watch: ask for its findings, register others, or drop a registration, their own included. A check
//! that panics does not take the heap with it; that it panicked is a finding.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::Summary;
use heaphound_heap::ClassId;
use heaphound_heap::finding::{Finding, Severity};

use crate::findings::{Found, Listener, Reaction};
use crate::heap::{Heap, HeapInner};
use crate::marking::Sifted;
use crate::raw::{MarkedHeap, Mesh, Raw, StoppedHeap};
use crate::summaries::Shapes;

/// Something that watches full collections.
pub trait Check {
    /// Returns what is to be counted at the full collection that begins now. Called once for each.
    fn needs(&mut self) -> Needs {
        Needs::nothing()
    }

    /// Looks at the heap before it is marked. What it surveys, or traces while nothing is counted,
    /// need not be marked again.
    fn before(&mut self, heap: &StoppedHeap<'_>) {
        let _ = heap;
    }

    /// Looks at what lives, and at what was counted; adds what it has found. The program stands
    /// still meanwhile, and what is dead has not been freed yet.
    fn conclude(&mut self, heap: &MarkedHeap<'_>, counted: &Counted<'_>, found: &mut Found<'_>) {
        let _ = (heap, counted, found);
    }
}

/// A check that looks at every n-th full collection only.
pub struct Every<C> {
    check: C,
    every: NonZeroU32,
    seen: u64,
}

impl<C: Check> Every<C> {
    /// Lets a check look at every n-th full collection.
    pub fn nth(every: NonZeroU32, check: C) -> Self {
        Self {
            check,
            every,
            seen: 0,
        }
    }

    fn looks(&self) -> bool {
        self.seen.is_multiple_of(self.every.get().into())
    }
}

impl<C: Check> Check for Every<C> {
    fn needs(&mut self) -> Needs {
        self.seen += 1;
        match self.looks() {
            true => self.check.needs(),
            false => Needs::nothing(),
        }
    }

    fn before(&mut self, heap: &StoppedHeap<'_>) {
        if self.looks() {
            self.check.before(heap);
        }
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, counted: &Counted<'_>, found: &mut Found<'_>) {
        match self.looks() {
            true => self.check.conclude(heap, counted, found),
            false => found.skip(),
        }
    }
}

/// What a check needs of a full collection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    pub(crate) instances: Instances,
    /// Whether arrivals at objects that were asserted unshared are listed.
    pub(crate) sharing: bool,
    pub(crate) graph: Graph,
    /// Whether [`Check::before`] surveys the heap.
    pub(crate) survey: bool,
    /// What is to be known of objects that nobody uses.
    pub(crate) stale: Option<Stale>,
}

/// What leak pruning needs of a full collection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stale {
    /// Which of those that count this collection is, if it does: objects grow staler.
    pub(crate) nth: Option<u64>,
    /// Which references are set aside, and what for.
    pub(crate) sift: Option<(Sift, Mesh)>,
}

/// What becomes of stale references.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sift {
    /// What hangs on them is measured, and no more is said of them.
    Weigh,
    /// The same; and where they are, how many, and how stale.
    Measure,
    /// They are cut.
    Cut,
}

/// The classes whose instances are counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Instances {
    #[default]
    OfNone,
    /// In order, each once.
    Of(Vec<ClassId>),
    OfAll,
}

/// How much of the graph of classes is counted. Each includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Graph {
    #[default]
    Nothing,
    Summary,
    Shapes,
}

impl Needs {
    /// Nothing is counted.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// The live objects and bytes of some classes: [`Counted::instances`].
    pub fn instances(classes: impl IntoIterator<Item = ClassId>) -> Self {
        let mut classes: Vec<ClassId> = classes.into_iter().collect();
        classes.sort_unstable();
        classes.dedup();
        Self {
            instances: match classes.is_empty() {
                true => Instances::OfNone,
                false => Instances::Of(classes),
            },
            ..Self::default()
        }
    }

    /// The live objects and bytes of every class: [`Counted::instances`].
    pub fn all_instances() -> Self {
        Self {
            instances: Instances::OfAll,
            ..Self::default()
        }
    }

    /// Classes and the edges between them: [`Counted::summary`].
    pub fn summary() -> Self {
        Self {
            graph: Graph::Summary,
            ..Self::default()
        }
    }

    /// As [`Needs::summary`]; and the recursive data structures, with the degrees of their
    /// objects: [`Counted::shapes`].
    pub fn shapes() -> Self {
        Self {
            graph: Graph::Shapes,
            ..Self::default()
        }
    }

    /// [`Check::before`] surveys the heap, which is then part of marking it.
    pub fn survey() -> Self {
        Self {
            survey: true,
            ..Self::default()
        }
    }

    /// Objects that nobody uses grow staler, or are looked for: [`Counted::sifted`].
    pub(crate) fn staleness(stale: Stale) -> Self {
        Self {
            stale: Some(stale),
            ..Self::default()
        }
    }

    /// What both need.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.instances = match (self.instances, other.instances) {
            (Instances::OfAll, _) | (_, Instances::OfAll) => Instances::OfAll,
            (Instances::OfNone, it) | (it, Instances::OfNone) => it,
            (Instances::Of(mut some), Instances::Of(others)) => {
                some.extend(others);
                some.sort_unstable();
                some.dedup();
                Instances::Of(some)
            }
        };
        self.sharing |= other.sharing;
        self.graph = self.graph.max(other.graph);
        self.survey |= other.survey;
        self.stale = self.stale.or(other.stale);
        self
    }
}

/// What a full collection has counted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Counted<'c> {
    /// The collection's number, over both kinds.
    pub collection: u64,
    /// Bytes allocated since the heap was built.
    pub allocated_bytes: u64,
    /// Live objects.
    pub objects: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Classes and the edges between them, if anybody needed them.
    pub summary: Option<&'c Summary>,
    /// The numbers of slots in the summary. They stay as they are for as long as the heap exists.
    pub slots: &'c SlotIds,
    /// The recursive data structures, if anybody needed them.
    pub shapes: Option<Shapes<'c>>,
    /// Objects and bytes by class, as far as they were counted.
    pub(crate) classes: &'c [(usize, usize)],
    /// Objects asserted unshared, as often as they were met again.
    pub(crate) again: &'c [Raw],
    /// Those of them that were started from, as often as they were: roots are no references.
    pub(crate) started: &'c [Raw],
    /// The stale references, if leak pruning looked for them.
    pub(crate) sifted: Option<&'c Sifted>,
}

impl Counted<'_> {
    /// The live objects of a class, and their bytes. Of a class that nobody needed it is zero.
    pub fn instances(&self, class: ClassId) -> (usize, usize) {
        let count = self.classes.get(class.0 as usize);
        count.copied().unwrap_or_default()
    }
}

/// The checks that a program has registered with a heap.
#[derive(Default)]
pub(crate) struct Checks {
    last: u64,
    all: Vec<Registered>,
    /// Whether a collection has taken them.
    taken: bool,
    /// The numbers of those that were dropped meanwhile.
    gone: Vec<u64>,
    companions: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

struct Registered {
    number: u64,
    check: Box<dyn Check + Send>,
    listener: Listener,
    /// Hears that the check panicked.
    panics: Listener,
}

/// Something that is registered with a heap until this is dropped.
#[must_use = "dropped, it is no longer registered"]
pub struct Registration {
    end: Option<Box<dyn FnOnce() + Send>>,
}

impl Registration {
    /// Calls `end` when it is dropped, unless it is kept.
    pub fn new(end: impl FnOnce() + Send + 'static) -> Self {
        Self {
            end: Some(Box::new(end)),
        }
    }

    /// Leaves it registered for as long as the heap exists.
    pub fn keep(mut self) {
        self.end = None;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            end();
        }
    }
}

impl Heap {
    /// Lets a check watch all full collections from now on. A finding that is new to it is logged,
    /// unless there is another reaction; one that stands is counted ([`Heap::findings`]).
    pub fn watch(&self, check: Box<dyn Check + Send>, reaction: Option<Reaction>) -> Registration {
        let reaction = reaction.unwrap_or_default();
        let (listener, panics) = (Listener::new(reaction.clone()), Listener::new(reaction));
        let (checks, ledger) = (&self.inner().checks, &self.inner().ledger);
        let mut all = checks.lock().unwrap();
        all.last += 1;
        let number = all.last;
        let ids = [listener.id(), panics.id()];
        all.all.push(Registered {
            number,
            check,
            listener,
            panics,
        });
        drop(all);
        // Not the heap itself: it must be dropped whole, whoever outlives it.
        let (checks, ledger) = (Arc::downgrade(checks), Arc::downgrade(ledger));
        Registration::new(move || {
            // What the check owns is dropped with nothing locked.
            let gone = checks.upgrade().map(|it| it.lock().unwrap().remove(number));
            drop(gone);
            if let Some(ledger) = ledger.upgrade() {
                let mut ledger = ledger.lock().unwrap();
                ids.into_iter().for_each(|id| ledger.forget(id));
            }
        })
    }

    /// Something of which a heap has one: made when it is first asked for. A check that serves many
    /// who register one by one keeps them there.
    pub fn companion<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let key = TypeId::of::<T>();
        let checks = &self.inner().checks;
        let made = checks.lock().unwrap().companions.get(&key).cloned();
        // Made with nothing locked. If another thread was quicker, its own counts.
        let made = made.unwrap_or_else(|| {
            let new: Arc<dyn Any + Send + Sync> = Arc::new(make());
            let mut checks = checks.lock().unwrap();
            let kept = checks.companions.entry(key);
            let kept = kept.or_insert_with(|| new.clone()).clone();
            // What is not kept is dropped with nothing locked, too.
            drop(checks);
            drop(new);
            kept
        });
        made.downcast().expect("it is kept under its type")
    }
}

impl Checks {
    /// Takes out a check; it and its listeners are to be dropped when nothing is locked.
    fn remove(&mut self, number: u64) -> Option<Registered> {
        let place = self.all.iter().position(|it| it.number == number);
        let gone = place.map(|place| self.all.remove(place));
        if gone.is_none() && self.taken {
            self.gone.push(number);
        }
        gone
    }
}

/// The checks of one full collection: the heap's own, then those that are registered, in their
/// order, and last that of whoever asked for the collection.
pub(crate) struct RunningChecks<'h, 'r> {
    heap: &'h HeapInner,
    own: Vec<(Box<dyn Check + 'h>, Listener)>,
    registered: Vec<Registered>,
    request: Option<&'r mut dyn Check>,
    /// The listeners of those that panicked before they concluded.
    panicked: Vec<u64>,
}

impl<'h, 'r> RunningChecks<'h, 'r> {
    /// Takes all checks out of their list.
    pub(crate) fn take(
        heap: &'h HeapInner,
        own: Vec<(Box<dyn Check + 'h>, Listener)>,
        request: Option<&'r mut dyn Check>,
    ) -> Self {
        let mut checks = heap.checks.lock().unwrap();
        checks.taken = true;
        Self {
            heap,
            own,
            registered: std::mem::take(&mut checks.all),
            request,
            panicked: Vec::new(),
        }
    }

    /// Returns what all of them need together.
    pub(crate) fn needs(&mut self) -> Needs {
        let mut all = Needs::nothing();
        for (check, _) in &mut self.own {
            all = all.and(check.needs());
        }
        for it in &mut self.registered {
            match unharmed(|| it.check.needs()) {
                Some(needs) => all = all.and(needs),
                None => self.panicked.push(it.listener.id()),
            }
        }
        match &mut self.request {
            Some(check) => all.and(check.needs()),
            None => all,
        }
    }

    /// Whether anybody may want to look before the heap is marked.
    pub(crate) fn look_before(&self) -> bool {
        !self.registered.is_empty() || self.request.is_some()
    }

    /// Lets them look at the heap before it is marked: first whoever asked for the collection, with
    /// the view that is his.
    pub(crate) fn before(&mut self, request: &StoppedHeap<'_>, others: &StoppedHeap<'_>) {
        if let Some(check) = &mut self.request {
            check.before(request);
        }
        for it in &mut self.registered {
            if unharmed(|| it.check.before(others)).is_none() {
                self.panicked.push(it.listener.id());
            }
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.own.len() + self.registered.len() + self.request.is_some() as usize
    }

    /// Lets one of them conclude. Returns what it has found.
    pub(crate) fn conclude(
        &mut self,
        number: usize,
        heap: &MarkedHeap<'_>,
        counted: &Counted<'_>,
    ) -> Found<'h> {
        let found = |listener: &Listener| Found::new(&self.heap.ledger, listener.clone());
        if let Some((check, listener)) = self.own.get_mut(number) {
            let mut found = found(listener);
            check.conclude(heap, counted, &mut found);
            return found;
        }
        let Some(it) = self.registered.get_mut(number - self.own.len()) else {
            let mut found = found(&Listener::new(Reaction::Log));
            if let Some(check) = &mut self.request {
                check.conclude(heap, counted, &mut found);
            }
            return found;
        };
        let mut found = found(&it.listener);
        let concluded = unharmed(|| it.check.conclude(heap, counted, &mut found));
        let panicked = concluded.is_none() || self.panicked.contains(&it.listener.id());
        if panicked {
            found.skip_all();
            found.add_for(&it.panics, check_panicked());
        }
        found.looked_for(&it.panics);
        found
    }

    /// Puts the checks back into their list, with those that were added meanwhile.
    pub(crate) fn put_back(self) {
        let mut checks = self.heap.checks.lock().unwrap();
        checks.taken = false;
        let gone = std::mem::take(&mut checks.gone);
        let all = self.registered.into_iter();
        let (gone, mut all): (Vec<_>, Vec<_>) = all.partition(|it| gone.contains(&it.number));
        all.append(&mut checks.all);
        checks.all = all;
        drop(checks);
        for check in gone {
            // What it found after it was dropped is forgotten, too.
            let mut ledger = self.heap.ledger.lock().unwrap();
            ledger.forget(check.listener.id());
            ledger.forget(check.panics.id());
            drop(ledger);
            unharmed(|| drop(check));
        }
    }
}

/// Runs what may panic. What it panics with is forgotten: to drop it may panic, too.
fn unharmed<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => Some(result),
        Err(panic) => {
            std::mem::forget(panic);
            None
        }
    }
}

fn check_panicked() -> Finding {
    Finding::new(
        "check-panicked",
        Severity::Error,
        "a check that watches full collections panicked",
    )
}
