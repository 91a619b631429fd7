//! Leak pruning: a program that leaks goes on in bounded memory, and is never told anything wrong.
//!
//! What is reachable but will never be used again is a leak. When memory is about to run out, leak pruning
//! guesses what that is, cuts the references to it, and lets the collector free it. To read a reference
//! that was cut is an error; it happens only where the program would already have died for want of memory.
//!
//! 1. **Staleness** (`raw/marking/marker.rs`, `raw/objects/barrier.rs`). Objects grow staler with
//!    each full collection that allocation causes, and are fresh again when a reference to them is read.
//!    A use of a stale object is remembered, by the classes at both ends of the reference: [`Uses`].
//! 2. **State** (`machine.rs`). How full the heap was after the last collection says whether to
//!    observe, to select or to prune.
//! 3. **Select** (`raw/marking/sieve.rs`). Marking sets aside references to objects that are much staler
//!    than any that was used again, and then finds out how much hangs on them alone, by type. The policy
//!    (`policy.rs`) chooses.
//! 4. **Prune**. Marking sets aside what was chosen, and it is cut: the slots become invalid references,
//!    whose record says what was pruned. What hung on them is not marked, and so is freed.
//!
//! As all checks do, it says what it needs of a collection, and concludes: [`PruningCheck`].

mod machine;
mod policy;
mod receipt;

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use heaphound_heap::ClassId;
use heaphound_heap::sync::Mutex;

use crate::check::{Check, Counted, Needs, Sift, Stale};
use crate::collect::{Cause, Kind, Request};
use crate::error::{ClassShare, OutOfMemory, Reason, Shortage};
use crate::findings::{Found, Listener};
use crate::heap::{Heap, HeapInner};
use crate::marking::Sifted;
use crate::raw::marking::finalize::{Finalizer, Remains};
use crate::raw::marking::mark::Ground;
use crate::raw::marking::weak::is_doomed;
use crate::raw::{EdgeType, MarkedHeap, Mutator, Raw, StoppedHeap};
use machine::Situation;
pub use machine::{PruneWhen, PruningState};
pub use policy::PruningPolicy;
use policy::{Candidate, Candidates, Choice, Uses};
pub use receipt::Pruned;

/// How a heap prunes leaks; see [`HeapBuilder::pruning`](crate::HeapBuilder::pruning).
///
/// `true` stands for the defaults.
#[derive(Clone, Copy, PartialEq, Debug)]
#[must_use]
pub struct Pruning {
    observe_above: f64,
    select_above: f64,
    when: PruneWhen,
    policy: PruningPolicy,
    strict: bool,
    dry_run: bool,
    refuses_first: bool,
    every_collection: bool,
    forced: Option<PruningState>,
}

impl Default for Pruning {
    fn default() -> Self {
        Self {
            observe_above: 0.5,
            select_above: 0.9,
            when: PruneWhen::default(),
            policy: PruningPolicy::default(),
            strict: false,
            dry_run: false,
            refuses_first: false,
            every_collection: false,
            forced: None,
        }
    }
}

impl Pruning {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How full the heap must be, after a full collection, before anything is observed: 0.5 unless said otherwise.
    pub fn observe_above(mut self, fullness: f64) -> Self {
        self.observe_above = fullness;
        self
    }

    /// How full the heap must be before anything is chosen to be pruned: 0.9 unless said otherwise.
    pub fn select_above(mut self, fullness: f64) -> Self {
        self.select_above = fullness;
        self
    }

    /// When to prune what was chosen.
    pub fn when(mut self, when: PruneWhen) -> Self {
        self.when = when;
        self
    }

    /// How to choose what is pruned.
    pub fn policy(mut self, policy: PruningPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Whether what is pruned leaves no trace: weak references and weak-map entries whose objects were pruned
    /// are errors to read, too, and not dead; finalizers and drops of pruned objects do not run
    /// before the heap itself is dropped, and so free nothing. Off unless said otherwise: then
    /// the program sees pruned objects die.
    pub fn strict(mut self, on: bool) -> Self {
        self.strict = on;
        self
    }

    /// Whether what would be pruned is only reported.
    pub fn dry_run(mut self, on: bool) -> Self {
        self.dry_run = on;
        self
    }

    /// Whether the first allocation that exhausts memory is refused, for a program that knows what to
    /// do then. Later ones prune. Off unless said otherwise: the first is told as a warning.
    pub fn refuse_first(mut self, on: bool) -> Self {
        self.refuses_first = on;
        self
    }

    /// Whether all full collections count, not only those that allocation causes. For tests.
    pub fn every_collection_counts(mut self, on: bool) -> Self {
        self.every_collection = on;
        self
    }

    /// Keeps leak pruning in one state, whatever memory there is. For measurements.
    pub fn force(mut self, state: PruningState) -> Self {
        self.forced = Some(state);
        self
    }

    /// From which fullness on objects are observed, if that depends on it.
    pub(crate) fn observed_from(&self) -> Option<f64> {
        self.forced.is_none().then_some(self.observe_above)
    }

    /// What is wrong with the options, if anything is.
    pub(crate) fn fault(&self) -> Option<String> {
        let shares = [
            ("observe_above", self.observe_above),
            ("select_above", self.select_above),
        ];
        let bad = shares
            .into_iter()
            .find(|(_, share)| !(0.0..=1.0).contains(share));
        bad.map(|(name, share)| format!("{name} is {share}, but must be between 0 and 1"))
    }
}

/// On with the defaults, or off.
impl From<bool> for Pruning {
    fn from(on: bool) -> Self {
        match on {
            true => Self::default(),
            false => Self::default().force(PruningState::Inactive),
        }
    }
}

/// What a heap knows for leak pruning.
#[derive(Default)]
pub(crate) struct PruningTable {
    /// How full the heap was after the last full collection, as the bits of a number.
    fullness: AtomicU64,
    uses: Mutex<Uses>,
    noted: Noted,
    /// The collections that have counted.
    counted: AtomicU64,
    progress: Mutex<Progress>,
    pub(crate) withheld: Mutex<Withheld>,
    tainted: Mutex<Vec<Raw>>,
    /// Who is told; always the same, so that nothing is told twice.
    listener: OnceLock<Listener>,
}

/// Uses that were noted since the last collection that counts, some of them: a program comes back to many stale
/// objects of a type at once, and to note it again tells nothing new.
struct Noted([AtomicU64; 64]);

impl Default for Noted {
    fn default() -> Self {
        Self([const { AtomicU64::new(0) }; 64])
    }
}

impl Noted {
    /// Notes a use. Returns whether it may not have been noted before.
    fn is_new(&self, edge: EdgeType, staleness: u8) -> bool {
        let key = (edge.0 as u64) << 32 | (edge.1 as u64) << 4 | staleness as u64;
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = &self.0[(hash >> (u64::BITS - self.0.len().ilog2())) as usize];
        let is_new = place.load(Relaxed) != key;
        if is_new {
            place.store(key, Relaxed);
        }
        is_new
    }

    /// Only while the world is stopped.
    fn forget(&self) {
        self.0.iter().for_each(|it| it.store(0, Relaxed));
    }
}

#[derive(Default)]
struct Progress {
    state: PruningState,
    /// What an allocation that was refused wants of the next collection.
    urgent: Option<PruningState>,
    choice: Option<Choice>,
    /// What had been allocated when objects last grew staler.
    aged_at: u64,
    /// How often nothing was found while memory was exhausted.
    despair: u8,
    /// How many collections have looked for something to choose, and how many have cut something.
    looked: u64,
    cut: u64,
    averted: Option<OutOfMemory>,
    /// Whether that was told.
    warned: bool,
    /// Whether memory has been exhausted, and not only been nearly full.
    exhausted: bool,
    records: BTreeMap<EdgeType, u32>,
    pruned: BTreeMap<EdgeType, Pruned>,
    /// The record of what this collection has pruned.
    doomed: Option<u32>,
    /// What was chosen from.
    #[cfg(test)]
    candidates: Candidates,
}

impl PruningTable {
    /// A reference was used whose target was so stale.
    pub(crate) fn note_use(&self, edge: EdgeType, staleness: u8) {
        if self.noted.is_new(edge, staleness) {
            let now = self.counted.load(Relaxed);
            self.uses.lock().unwrap().note(edge, staleness, now);
        }
    }

    pub(crate) fn note_fullness(&self, fullness: f64) {
        self.fullness.store(fullness.to_bits(), Relaxed);
    }

    /// The record of the references of a type that are pruned.
    pub(crate) fn record(&self, heap: &HeapInner, edge: EdgeType) -> u32 {
        let mut progress = self.progress.lock().unwrap();
        let record = *progress.records.entry(edge).or_insert_with(|| {
            let [source, target] = heap.class_names(edge);
            heap.add_pruning(Pruned::nothing_yet(source, target))
        });
        progress.doomed.get_or_insert(record);
        record
    }

    /// Objects that can also be reached from what was pruned, were it there. If they die one day, they are
    /// not to be taken for dead.
    pub(crate) fn add_tainted(&self, objects: Vec<Raw>) {
        self.tainted.lock().unwrap().extend(objects);
    }

    /// Takes those out that do not live. They are pruned, in effect, by this collection.
    pub(crate) fn take_dead_tainted(&self, lives: impl Fn(Raw) -> bool) -> Vec<Raw> {
        let mut tainted = self.tainted.lock().unwrap();
        let dead: Vec<Raw> = tainted.extract_if(.., |raw| !lives(*raw)).collect();
        if !dead.is_empty() {
            let mut progress = self.progress.lock().unwrap();
            let first = progress.records.values().next().copied();
            progress.doomed = progress.doomed.or(first);
        }
        dead
    }

    /// Objects have moved.
    pub(crate) fn follow(&self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        let mut tainted = self.tainted.lock().unwrap();
        *tainted = tainted.iter().filter_map(|&raw| now(raw)).collect();
    }

    /// The record of what this collection has pruned.
    pub(crate) fn doomed(&self) -> Option<u32> {
        self.progress.lock().unwrap().doomed
    }
}

/// Leak pruning as one of the checks of a full collection.
pub(crate) struct PruningCheck<'h> {
    heap: &'h HeapInner,
    options: Pruning,
    cause: Cause,
    /// Bytes allocated since the heap was built.
    allocated_bytes: u64,
    state: PruningState,
}

impl<'h> PruningCheck<'h> {
    /// For a collection, if the heap prunes.
    pub(crate) fn new(heap: &'h HeapInner, cause: Cause, allocated_bytes: u64) -> Option<Self> {
        Some(Self {
            heap,
            options: heap.config.pruning?,
            cause,
            allocated_bytes,
            state: PruningState::Inactive,
        })
    }

    /// The state for this collection, and whether objects grow staler in it.
    fn step(&self, progress: &mut Progress) -> (PruningState, bool) {
        let options = self.options;
        if let Some(urgent) = progress.urgent.take() {
            return (urgent, false);
        }
        if let Some(forced) = options.forced {
            return (forced, forced != PruningState::Inactive);
        }
        if self.cause != Cause::Allocation && !options.every_collection {
            return (PruningState::Inactive, false);
        }
        let fullness = f64::from_bits(self.heap.pruning.fullness.load(Relaxed));
        progress.state = progress.state.next(Situation {
            fullness,
            observe_above: options.observe_above,
            select_above: options.select_above,
            when: options.when,
            exhausted: progress.exhausted,
            chosen: progress.choice.is_some() && !options.dry_run,
        });
        // The program must have had time to use something.
        let least = crate::policy::least_observed(&self.heap.config) as u64;
        let is_due = self.allocated_bytes >= progress.aged_at + least || options.every_collection;
        let ages = progress.state != PruningState::Inactive && is_due;
        if ages {
            progress.aged_at = self.allocated_bytes;
        }
        (progress.state, ages)
    }
}

/// Whether the n-th collection that counts, or one that does not, is worth looking for candidates, which are stale by two or more. At an
/// odd one objects grow from 0 to 1 only: nothing becomes a candidate, and what had been one was found at the collection before.
/// What another reference held until now is found at the next. One that does not count comes where memory is short.
fn staler_by_two(nth: Option<u64>) -> bool {
    const { assert!(policy::MARGIN == 2) };
    nth.is_none_or(|nth| nth.is_multiple_of(2))
}

impl Check for PruningCheck<'_> {
    fn needs(&mut self) -> Needs {
        let table = &self.heap.pruning;
        let mut progress = table.progress.lock().unwrap();
        progress.doomed = None;
        let (state, ages) = self.step(&mut progress);
        self.state = state;
        let nth = ages.then(|| table.counted.fetch_add(1, Relaxed) + 1);
        if nth.is_some() {
            table.noted.forget();
        }
        let sift = match state {
            PruningState::Select if staler_by_two(nth) => {
                let now = table.counted.load(Relaxed);
                let uses = table.uses.lock().unwrap();
                let policy = self.options.policy;
                let (sift, mesh) = match (self.options.dry_run, progress.choice) {
                    // What was chosen last time would be cut now. Other choices are by type, and say so at once.
                    (true, Some(choice @ Choice::Level(_))) => (Sift::Measure, choice.mesh()),
                    // It tells where they are.
                    (true, _) => (Sift::Measure, policy.mesh(&uses, now, progress.despair)),
                    (false, _) => (policy.sift(), policy.mesh(&uses, now, progress.despair)),
                };
                Some((sift, mesh))
            }
            PruningState::Prune => {
                let choice = progress.choice.take();
                choice.map(|it| (Sift::Cut, it.mesh()))
            }
            _ => None,
        };
        match nth.is_some() || sift.is_some() {
            true => Needs::staleness(Stale { nth, sift }),
            false => Needs::nothing(),
        }
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, counted: &Counted<'_>, found: &mut Found<'_>) {
        // What was pruned stays pruned.
        found.skip();
        let Some(sifted) = counted.sifted else {
            return;
        };
        match self.state {
            PruningState::Prune => self.conclude_pruning(heap, counted, sifted, found),
            _ => self.choose(heap, counted, sifted, found),
        }
    }
}

impl PruningCheck<'_> {
    fn choose(
        &self,
        heap: &MarkedHeap<'_>,
        counted: &Counted<'_>,
        sifted: &Sifted,
        found: &mut Found<'_>,
    ) {
        let candidates = Candidates {
            types: sifted.types.iter().map(Candidate::from).collect(),
            stalest: sifted.stalest,
        };
        let choice = self.options.policy.choose(&candidates);
        let mut progress = self.heap.pruning.progress.lock().unwrap();
        progress.choice = choice;
        progress.looked += 1;
        #[cfg(test)]
        progress.candidates.clone_from(&candidates);
        drop(progress);
        if !self.options.dry_run {
            return;
        }
        for it in &sifted.types {
            match choice {
                Some(Choice::Level(_)) => {}
                Some(Choice::Type { edge, .. }) if edge == it.edge => {}
                _ => continue,
            }
            let [source, target] = self.heap.class_names(it.edge);
            let mut pruned = Pruned::nothing_yet(source, target);
            pruned.add(it, counted.collection);
            receipt::would_prune(heap, &pruned, it, found);
        }
    }

    fn conclude_pruning(
        &self,
        heap: &MarkedHeap<'_>,
        counted: &Counted<'_>,
        sifted: &Sifted,
        found: &mut Found<'_>,
    ) {
        let mut progress = self.heap.pruning.progress.lock().unwrap();
        let progress = &mut *progress;
        if sifted.types.is_empty() {
            return;
        }
        progress.cut += 1;
        let nearly_full = || self.heap.nearly_full(counted);
        let averted = progress.averted.get_or_insert_with(nearly_full);
        if !std::mem::replace(&mut progress.warned, true) {
            found.add(receipt::warning(averted));
        }
        for it in &sifted.types {
            let [source, target] = self.heap.class_names(it.edge);
            let nothing = || Pruned::nothing_yet(source, target);
            let pruned = progress.pruned.entry(it.edge).or_insert_with(nothing);
            pruned.averted.clone_from(&progress.averted);
            pruned.add(it, counted.collection);
            self.heap
                .update_pruning(progress.records[&it.edge], pruned.clone());
            receipt::pruned(heap, pruned, it, found);
        }
    }
}

impl From<&crate::marking::SiftedType> for Candidate {
    fn from(it: &crate::marking::SiftedType) -> Self {
        Self {
            edge: it.edge,
            from: it.from,
            bytes: it.bytes,
            own_bytes: it.own_bytes.unwrap_or(0),
        }
    }
}

impl Heap {
    /// What leak pruning has pruned so far, by the type of the references; what has freed most first.
    pub fn pruned(&self) -> Vec<Pruned> {
        let progress = self.inner().pruning.progress.lock().unwrap();
        let mut all: Vec<Pruned> = progress.pruned.values().cloned().collect();
        all.sort_by_key(|it| std::cmp::Reverse(it.bytes()));
        all
    }

    /// What leak pruning did at the last full collection that counted.
    pub fn pruning_state(&self) -> PruningState {
        let inner = self.inner();
        let forced = inner.config.pruning.and_then(|it| it.forced);
        forced.unwrap_or_else(|| inner.pruning.progress.lock().unwrap().state)
    }

    /// How many types of references have been used while their targets were stale.
    pub fn stale_uses(&self) -> usize {
        self.inner().pruning.uses.lock().unwrap().len()
    }
}

impl<S> StoppedHeap<'_, S> {
    /// Whether leak pruning has cut references of this heap: then some objects are missing that would be there
    /// without it, and others are held by fewer references.
    pub fn was_pruned(&self) -> bool {
        let progress = self.heap().pruning.progress.lock().unwrap();
        !progress.records.is_empty()
    }
}

/// What is to be done for the dead, and is not done for what was pruned.
#[derive(Default)]
pub(crate) struct Withheld {
    /// Dropped as the heap is.
    pub(crate) remains: Vec<Remains>,
    /// Never called.
    pub(crate) finalizers: Vec<Finalizer>,
}

impl HeapInner {
    /// Who is told of what is pruned.
    pub(crate) fn pruning_listener(&self) -> Listener {
        let new = || Listener::new(self.config.pruning_reaction.clone());
        self.pruning.listener.get_or_init(new).clone()
    }

    /// What weak references to objects become that this collection has pruned, if they are not to be taken for
    /// dead.
    pub(crate) fn pruned_instead_of_dead(&self) -> Option<Raw> {
        let doomed = self.is_strict().then(|| self.pruning.doomed()).flatten();
        doomed.map(Raw::invalid)
    }

    /// Whether what is pruned is not to be taken for dead.
    pub(crate) fn is_strict(&self) -> bool {
        self.config.pruning.is_some_and(|it| it.strict)
    }

    /// Sees to it that no finalizer is called of what was pruned.
    pub(crate) fn withhold_finalizers(&self, ground: Ground<'_>) {
        let watched = &mut self.watched.lock().unwrap().old;
        let mut withheld = self.pruning.withheld.lock().unwrap();
        let doomed = watched
            .finalizers
            .extract_if(.., |(raw, _)| is_doomed(ground, *raw));
        let doomed = doomed.map(|(_, finalizer)| finalizer);
        withheld.finalizers.extend(doomed);
    }

    /// Moves what was pruned and owns memory out of the heap, to be dropped with it: until then its external memory remains
    /// in use, too. Not before finalizers have been found a second life: what they lead to stays whole.
    pub(crate) fn withhold_remains(&self, ground: Ground<'_>) {
        let watched = &mut self.watched.lock().unwrap().old;
        let mut withheld = self.pruning.withheld.lock().unwrap();
        let doomed = |raw: &Raw| is_doomed(ground, *raw);
        let remains = watched.droppables.extract_if(.., |raw| doomed(raw));
        let remains = remains.filter_map(|raw| Remains::take(ground, raw));
        withheld.remains.extend(remains);
        watched.externals.retain(|raw, _| !doomed(raw));
    }

    fn class_names(&self, edge: EdgeType) -> [&str; 2] {
        [edge.0, edge.1].map(|id| &*self.classes.get(ClassId(id)).info.name)
    }

    /// How full the heap is, by the measure by which an allocation is refused: after a complete sweep
    /// exactly, else as far as it is known.
    pub(crate) fn fullness(&self, live_bytes: usize, is_swept: bool) -> f64 {
        let used = match is_swept {
            true => self.space.pages.used_bytes(),
            false => live_bytes,
        };
        used.saturating_add(self.space.external()) as f64 / self.space.limit() as f64
    }

    /// Prunes until something was freed, because an allocation is refused. Returns whether it is worth another try;
    /// the error, if the program is to be told.
    pub(crate) fn prune_for(
        &self,
        mutator: &mut Mutator<'_>,
        bytes: usize,
    ) -> Result<bool, OutOfMemory> {
        let Some(options) = self.config.pruning else {
            return Ok(false);
        };
        if options.forced.is_some() {
            return Ok(false);
        }
        let is_first = self.note_exhausted(mutator, bytes);
        if is_first && options.refuses_first {
            return Ok(false);
        }
        if options.dry_run {
            // What would be cut is told at the latest now. One policy needs a look to find out what to look for.
            for _ in 0..if is_first { 2 } else { 0 } {
                self.collect_urgently(mutator, PruningState::Select)?;
            }
            return Ok(false);
        }
        let lock = || self.pruning.progress.lock().unwrap();
        lock().despair = 0;
        let shared = mutator.shared;
        let seen_cuts = &shared.seen_cuts;
        loop {
            let looked = lock().looked;
            self.collect_urgently(mutator, PruningState::Select)?;
            let mut progress = lock();
            if progress.choice.is_some() {
                break;
            }
            if progress.cut > seen_cuts.replace(progress.cut) {
                // Another thread's memory was exhausted, too, and what was cut for it has not been tried.
                drop(progress);
                self.finish(mutator);
                return Ok(true);
            }
            if progress.looked == looked {
                // The collection has done what another thread wanted.
                continue;
            }
            if progress.despair >= options.policy.patience() {
                return Ok(false);
            }
            progress.despair += 1;
        }
        self.collect_urgently(mutator, PruningState::Prune)?;
        seen_cuts.set(lock().cut);
        self.finish(mutator);
        Ok(true)
    }

    /// Remembers that memory was exhausted. Returns whether it was for the first time.
    fn note_exhausted(&self, mutator: &mut Mutator<'_>, bytes: usize) -> bool {
        if self.pruning.progress.lock().unwrap().exhausted {
            return false;
        }
        let error = self.shortage(mutator, bytes);
        tracing::warn!(heap = self.id, "leak pruning averts: {error}");
        let mut progress = self.pruning.progress.lock().unwrap();
        progress.averted.get_or_insert(error);
        progress.exhausted = true;
        true
    }

    fn collect_urgently(
        &self,
        mutator: &mut Mutator<'_>,
        state: PruningState,
    ) -> Result<(), OutOfMemory> {
        self.pruning.progress.lock().unwrap().urgent = Some(state);
        let request = Request {
            loss: crate::waits::Loss::Error,
            ..Request::new(Kind::Full, Cause::OutOfMemory)
        };
        let collected = self.collect_with(mutator.shared, request);
        // It has taken place, and has taken what was urgent: this, or what another thread has wanted since.
        if collected.is_err() {
            self.pruning.progress.lock().unwrap().urgent = None;
            return Err(self.uncollected(0));
        }
        Ok(())
    }

    /// The error that would have come, had nothing been pruned when memory was nearly full.
    fn nearly_full(&self, counted: &Counted<'_>) -> OutOfMemory {
        OutOfMemory(Box::new(Shortage {
            asked_bytes: 0,
            live_bytes: counted.bytes,
            external_bytes: self.space.external(),
            max_bytes: self.config.max_bytes,
            classes: self.largest_classes(counted),
            snapshot: None,
            reason: Some(Reason::NearlyFull),
        }))
    }

    /// The classes that hold most, largest first.
    pub(crate) fn largest_classes(&self, counted: &Counted<'_>) -> Vec<ClassShare> {
        let classes = (1..=self.classes.count() as u32).map(ClassId);
        let shares = classes.map(|id| {
            let (objects, bytes) = counted.instances(id);
            let class = self.classes.get(id).info.name.clone();
            ClassShare {
                class,
                objects,
                bytes,
            }
        });
        let mut shares: Vec<_> = shares.filter(|it| it.objects > 0).collect();
        shares.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.class.cmp(&b.class)));
        shares.truncate(5);
        shares
    }
}

#[cfg(test)]
mod tests;
