//! Checking GC assertions in a full collection.
//!
//! After Aftandilian and Guyer, *GC Assertions: Using the Garbage Collector to Check Heap
//! Properties* (PLDI 2009).
//!
//! An asserted object has an entry in a table, which follows it when it moves and goes when
//! it dies; no other object pays. When marking from the roots is done:
//!
//! - **dead**: an entry whose object is marked is a violation;
//! - **unshared**: edges that led again to a marked object whose header has the unshared bit
//!   were listed while marking ([`Checker`]); references from stacks and handles are taken off;
//! - **instances, volume**: counted while marking, where the trace word of the class says so;
//! - **owned by**: exact by definition: an ownee that lives is owned if an owner of it lives and
//!   reaches it. Each live owner is traced with a visited mark of its own, first not beyond
//!   ownees, so that only what lies between is touched twice; then, if some were missed,
//!   on from those that were met. What was marked is unmarked after each owner, so that
//!   regions may overlap. All owners together may enter a bounded number of objects; what
//!   could not be checked for that is reported.
//!
//! This nominates; what is said about it, with paths, is decided by `heaphound_heap::assertion`.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use heaphound_heap::root::RootSet;
use heaphound_heap::trace::{Filter, Visit};
use heaphound_heap::{ClassId, FieldKind};

use crate::assertions::Forced;
use crate::heap::HeapInner;
use crate::raw::marking::mark::{Ground, Start, Visitor, mark};
use crate::raw::marking::marker::{Look, Marker, VisitMark};
use crate::raw::marking::weak::is_marked;
use crate::raw::memory::address::Raw;
use crate::raw::objects::header::Word;
use crate::raw::objects::layout::{Trace, for_each_slot};
use crate::raw::views::stopped::{ObjectId, StoppedHeap};

/// Where and how an assertion was made, by its place in the list.
pub(crate) type SiteId = u32;

/// An asserted object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Entry {
    pub(crate) site: SiteId,
    pub(crate) raw: Raw,
}

/// An object and the one that is to own it; null once that has died.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Pair {
    pub(crate) owner: Raw,
    pub(crate) ownee: Raw,
    pub(crate) site: SiteId,
}

/// What refers to objects without keeping them.
pub(crate) trait Follows {
    fn is_young(&self) -> bool;

    /// Follows its objects to where they are now; answers whether it is still of use.
    fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) -> bool;

    /// Takes out of a list what is there twice.
    fn dedup(list: &mut Vec<Self>)
    where
        Self: Ord + Sized,
    {
        list.sort_unstable();
        list.dedup();
    }
}

impl Follows for Raw {
    fn is_young(&self) -> bool {
        Raw::is_young(*self)
    }

    fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) -> bool {
        match now(*self) {
            Some(raw) => *self = raw,
            None => return false,
        }
        true
    }
}

impl Follows for Entry {
    fn is_young(&self) -> bool {
        self.raw.is_young()
    }

    fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) -> bool {
        self.raw.follow(now)
    }
}

impl Follows for Pair {
    fn is_young(&self) -> bool {
        self.owner.is_young() || self.ownee.is_young()
    }

    fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) -> bool {
        if !self.owner.is_null() {
            self.owner = now(self.owner).unwrap_or(Raw::NULL);
        }
        self.ownee.follow(now)
    }

    fn dedup(list: &mut Vec<Self>) {
        resolve(list);
    }
}

/// Entries; the young ones apart, so that a nursery collection need not look at all.
pub(crate) struct Table<E> {
    young: Vec<E>,
    pub(crate) old: Vec<E>,
    /// Something was added to the old ones, or they have moved, since they were last sorted.
    changed: bool,
}

impl<E> Default for Table<E> {
    fn default() -> Self {
        Self {
            young: Vec::new(),
            old: Vec::new(),
            changed: false,
        }
    }
}

impl<E: Follows + Ord> Table<E> {
    /// As [`push`](Self::push); what is said again and again is kept a few times at most.
    pub(crate) fn add(&mut self, entry: E) {
        let list = match entry.is_young() {
            true => &mut self.young,
            false => &mut self.old,
        };
        if list.len() == list.capacity() {
            make_room(list);
        }
        self.push(entry);
    }

    pub(crate) fn push(&mut self, entry: E) {
        match entry.is_young() {
            true => self.young.push(entry),
            false => {
                self.old.push(entry);
                self.changed = true;
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// After a nursery collection: nothing is young any more.
    pub(crate) fn settle(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        let survivors = self.young.drain(..).filter_map(|mut entry| {
            let kept = entry.follow(now);
            kept.then_some(entry)
        });
        self.old.extend(survivors);
        self.changed = true;
    }

    /// When all objects may have died or moved.
    pub(crate) fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        self.old.retain_mut(|entry| entry.follow(now));
        self.changed = true;
    }
}

/// Forgets what is there twice; then half of the list is free, so that this is seldom needed.
#[cold]
fn make_room<E: Follows + Ord>(list: &mut Vec<E>) {
    E::dedup(list);
    list.reserve(list.len().max(8));
}

impl Table<Pair> {
    /// After a nursery collection, as other tables; but what was taken back is gone before
    /// it cannot be told any more by whom it was owned.
    pub(crate) fn settle_pairs(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        resolve(&mut self.young);
        self.settle(now);
    }

    /// Before they are checked: sorted by owner, each once, without what was taken back, and
    /// without the dead.
    pub(crate) fn prepare(&mut self, is_live: impl Fn(Raw) -> bool) {
        // First, for most that were added since the last time may be dead.
        self.old.retain(|pair| is_live(pair.ownee));
        if std::mem::take(&mut self.changed) {
            resolve(&mut self.old);
        }
        let mut orphans = false;
        for group in self.old.chunk_by_mut(|a, b| a.owner == b.owner) {
            if !group[0].owner.is_null() && !is_live(group[0].owner) {
                // The dead own nothing.
                group.iter_mut().for_each(|pair| pair.owner = Raw::NULL);
                orphans = true;
            }
        }
        if orphans {
            sort_pairs(&mut self.old);
        }
    }
}

/// The site of a pair that takes back what was asserted of the same two before.
pub(crate) const TAKEN_BACK: SiteId = SiteId::MAX;

fn sort_pairs(pairs: &mut [Pair]) {
    let key = |pair: &Pair| (pair.owner, pair.ownee);
    if !pairs.is_sorted_by_key(key) {
        // Stable: what was said later comes later.
        pairs.sort_by_key(key);
    }
}

/// Turns all that was ever said about pairs into what holds: each once, with its first site.
fn resolve(pairs: &mut Vec<Pair>) {
    sort_pairs(pairs);
    let mut kept: usize = 0;
    for next in 0..pairs.len() {
        let pair = pairs[next];
        let same = kept
            .checked_sub(1)
            .filter(|&last| (pairs[last].owner, pairs[last].ownee) == (pair.owner, pair.ownee));
        match same {
            Some(last) if pair.site == TAKEN_BACK => pairs[last].site = TAKEN_BACK,
            Some(last) if pairs[last].site == TAKEN_BACK => pairs[last] = pair,
            Some(_) => {}
            None => {
                pairs[kept] = pair;
                kept += 1;
            }
        }
    }
    pairs.truncate(kept);
    pairs.retain(|pair| pair.site != TAKEN_BACK);
}

/// What is counted and listed while marking, for assertions that need it. `ALL` counts the
/// instances of all classes, else those of watched ones are; `AGAIN` lists arrivals.
pub(crate) struct Checker<const ALL: bool, const AGAIN: bool> {
    /// Objects and bytes of each class.
    classes: Vec<(usize, usize)>,
    /// Objects asserted unshared, as often as they were met again.
    again: Vec<Raw>,
}

impl<const ALL: bool, const AGAIN: bool> Checker<ALL, AGAIN> {
    /// For a heap with so many classes.
    pub(crate) fn new(classes: usize) -> Self {
        Self {
            classes: vec![(0, 0); classes + 1],
            again: Vec::new(),
        }
    }

    #[cold]
    #[inline(never)]
    fn met_unshared(&mut self, to: Raw) {
        self.again.push(to);
    }
}

impl<const ALL: bool, const AGAIN: bool> Visitor for Checker<ALL, AGAIN> {
    type Tag = ();
    type Edge = Start<()>;
    type Source = ();
    const READS: bool = false;
    const ARRIVALS: bool = false;
    const WATCHES: bool = !ALL;
    const MEETS: bool = AGAIN;

    #[inline]
    fn object(&mut self, _: Raw, word: Word, _: Trace, bytes: usize) {
        if ALL {
            self.watched(ClassId(word.class()), bytes);
        }
    }

    #[inline]
    fn watched(&mut self, class: ClassId, bytes: usize) {
        let count = &mut self.classes[class.0 as usize];
        count.0 += 1;
        count.1 += bytes;
    }

    #[inline]
    fn met(&mut self, to: Raw, word: Word) {
        if word.is_unshared() {
            self.met_unshared(to);
        }
    }
}

/// What marking has counted, all workers together.
#[derive(Default)]
pub(crate) struct Counted {
    /// Objects and bytes of each class that was counted.
    pub(crate) classes: Vec<(usize, usize)>,
    pub(crate) again: Vec<Raw>,
}

impl Counted {
    pub(crate) fn add<const ALL: bool, const AGAIN: bool>(&mut self, one: Checker<ALL, AGAIN>) {
        self.add_counts(one.classes, one.again);
    }

    /// Adds what a worker has counted of each class, and listed.
    pub(crate) fn add_counts(&mut self, classes: Vec<(usize, usize)>, again: Vec<Raw>) {
        if self.classes.len() < classes.len() {
            self.classes.resize(classes.len(), (0, 0));
        }
        for (all, count) in self.classes.iter_mut().zip(classes) {
            all.0 += count.0;
            all.1 += count.1;
        }
        self.again.extend(again);
    }
}

/// What became of ownership assertions.
pub(crate) struct Ownership {
    /// Ownees that live and are not owned, with the site of their first assertion.
    pub(crate) unowned: Vec<Entry>,
    /// Ownees about which nothing is known, because it would have taken too long to find out.
    pub(crate) unchecked: HashSet<Raw>,
    /// The owner to begin with the next time.
    pub(crate) next: Raw,
}

impl HeapInner {
    /// How many references count against those objects asserted unshared that were met more
    /// than once: slots and statics.
    pub(crate) fn count_sharing(&self, counted: &Counted) -> HashMap<Raw, usize> {
        let mut counts: HashMap<Raw, usize> = HashMap::new();
        if counted.again.is_empty() {
            return counts;
        }
        for &raw in &counted.again {
            *counts.entry(raw).or_insert(1) += 1;
        }
        // Roots arrive like edges. Only statics among them count.
        let mut take_off = |cell: &AtomicU32| {
            if let Some(count) = counts.get_mut(&Raw(cell.load(Relaxed))) {
                *count -= 1;
            }
        };
        self.for_each_root_cell(RootSet::All, &mut take_off);
        for (_, cell) in self.handles.statics.lock().unwrap().values() {
            if let Some(count) = counts.get_mut(&Raw(cell.raw.load(Relaxed))) {
                *count += 1;
            }
        }
        counts
    }

    /// Finds the ownees that are not owned. All live; pairs are sorted by owner; those of `from`
    /// and behind come first.
    pub(crate) fn check_owners(
        &self,
        ground: Ground<'_>,
        pairs: &[Pair],
        from: Raw,
        mut budget: usize,
    ) -> Ownership {
        // SAFETY: called by the collection, with the world stopped.
        let view = unsafe { StoppedHeap::new(self, None) };
        view.reserve(2);
        // Marks are taken off again, so that the same two do for all owners.
        let marks = OwnerMarks {
            visit: view.fresh(),
            label: view.fresh(),
        };
        // Pairs whose owner was not seen to reach the ownee.
        let mut missed: Vec<Pair> = Vec::new();
        let mut unchecked = HashSet::new();
        let mut next = Raw::NULL;
        let groups: Vec<&[Pair]> = pairs.chunk_by(|a, b| a.owner == b.owner).collect();
        let first = groups.partition_point(|group| group[0].owner < from);
        for group in groups[first..].iter().chain(&groups[..first]) {
            // A pair whose owner has died says nothing for its ownee.
            if group[0].owner.is_null() {
                missed.extend_from_slice(group);
                continue;
            }
            let before = missed.len();
            let effort = match budget {
                0 => {
                    missed.extend_from_slice(group);
                    Effort::default()
                }
                _ => self.reach_ownees(ground, marks, group, budget, &mut missed),
            };
            if !effort.is_enough && missed.len() > before {
                if next.is_null() {
                    next = group[0].owner;
                }
                unchecked.extend(missed[before..].iter().map(|pair| pair.ownee));
            }
            budget = budget.saturating_sub(effort.objects);
        }
        // Any owner will do.
        if groups.len() > 1 && !missed.is_empty() {
            missed.sort_unstable();
            let asked: HashSet<Raw> = missed.iter().map(|pair| pair.ownee).collect();
            let other = pairs.iter().filter(|pair| asked.contains(&pair.ownee));
            let other = other.filter(|pair| missed.binary_search(pair).is_err());
            let owned: HashSet<Raw> = other.map(|pair| pair.ownee).collect();
            missed.retain(|pair| !owned.contains(&pair.ownee));
            unchecked.retain(|ownee| !owned.contains(ownee));
        }
        let mut unowned: Vec<Entry> = missed
            .into_iter()
            .map(|Pair { ownee, site, .. }| Entry { site, raw: ownee })
            .collect();
        unowned.retain(|entry| !unchecked.contains(&entry.raw));
        unowned.sort_unstable_by_key(|entry| (entry.raw, entry.site));
        unowned.dedup_by_key(|entry| entry.raw);
        Ownership {
            unowned,
            unchecked,
            next,
        }
    }

    /// Adds the pairs of a group whose owner was not seen to reach the ownee to `all_missed`. If
    /// `budget` objects were entered, it may yet do so.
    fn reach_ownees(
        &self,
        ground: Ground<'_>,
        marks: OwnerMarks,
        group: &[Pair],
        budget: usize,
        all_missed: &mut Vec<Pair>,
    ) -> Effort {
        let OwnerMarks { visit, label } = marks;
        let header = |raw| {
            // SAFETY: live objects, for they are marked.
            unsafe { ground.base.header(raw) }
        };
        let carry = |raw, visit: Visit| header(raw).store(header(raw).load().with_visit(visit.0));
        // A large region is worth waking the others for.
        let workers = match group.len() < SHARED_SCAN {
            true => 1,
            false => self.config.collector_threads,
        };
        let left = AtomicUsize::new(usize::MAX);
        let mut scans: Vec<Scan<'_>> = (0..workers)
            .map(|_| Scan {
                label,
                left: &left,
                // Not a share of it: who enters how much is chance, and what is found is not.
                // An owner enters no object twice, so that all together hardly exceed it.
                budget,
                entered: Vec::new(),
            })
            .collect();
        let owner = group[0].owner;
        // It is entered, though it may be somebody's ownee itself.
        let word = header(owner).load();
        header(owner).store(word.with_ownee(false));
        let met = self.scan(ground, Between(visit), vec![owner], &mut scans);
        let entered = header(owner).load();
        header(owner).store(entered.with_ownee(word.is_ownee()));
        // Unmarked as they are looked at: most often nothing else was met.
        let mut own = 0;
        let mut missed = Vec::new();
        for pair in group {
            let word = header(pair.ownee).load();
            match word.visit() == visit.0 {
                true => {
                    header(pair.ownee).store(word.with_visit(0));
                    // The owner itself was entered, not met.
                    own += (pair.ownee != owner) as usize;
                }
                false => missed.push(*pair),
            }
        }
        let is_rest = own != met.len();
        if is_rest || !missed.is_empty() {
            met.iter().for_each(|&raw| carry(raw, Visit::default()));
        }
        let looked_at = met.len();
        if !missed.is_empty() && !is_over(&scans) {
            // Some lie behind others: on from there.
            missed.iter().for_each(|pair| carry(pair.ownee, label));
            left.store(missed.len(), Relaxed);
            let behind = VisitMark::<false> {
                visit,
                filter: Filter::Follow,
                collection: None,
            };
            self.scan(ground, behind, met, &mut scans);
            missed.retain(|pair| {
                let missed = header(pair.ownee).load().visit() == label.0;
                if missed {
                    carry(pair.ownee, Visit::default());
                }
                missed
            });
        }
        let mut entered = 0;
        for raw in scans.into_iter().flat_map(|scan| scan.entered) {
            entered += 1;
            carry(raw, Visit::default());
        }
        all_missed.append(&mut missed);
        Effort {
            objects: looked_at + entered,
            is_enough: entered < budget,
        }
    }

    /// Traces from some objects, and from the values of ephemerons whose keys live; answers
    /// what was set aside.
    fn scan<'s, M: Marker>(
        &self,
        ground: Ground<'_>,
        marker: M,
        starts: Vec<Raw>,
        scans: &mut Vec<Scan<'s>>,
    ) -> Vec<Raw> {
        let mut starts: Vec<Start<()>> = starts.into_iter().map(Start::from).collect();
        let mut aside = Vec::new();
        while !starts.is_empty() && !is_over(scans) {
            let (marked, back) = mark(ground, marker, &starts, std::mem::take(scans));
            *scans = back;
            aside.extend(marked.aside);
            starts.clear();
            self.add_values(ground, marked.ephemerons, &mut starts);
        }
        aside
    }

    /// The values of ephemerons whose keys live.
    fn add_values(&self, ground: Ground<'_>, ephemerons: Vec<Raw>, starts: &mut Vec<Start<()>>) {
        for ephemeron in ephemerons {
            let key = crate::raw::marking::weak::key(ground, ephemeron);
            if !key.is_null() && is_marked(ground, key) {
                crate::raw::marking::weak::dependents(ground, ephemeron, &mut (), starts);
            }
        }
    }

    /// Clears or invalidates all references to some objects; answers those that had to be left
    /// as they are, because they are not optional and the heap cannot invalidate: from which
    /// object, or null for a root, to which. Only in the middle of a collection.
    pub(crate) fn force_dead(&self, ground: Ground<'_>, objects: &[Forced]) -> Vec<(Raw, Raw)> {
        let dead: HashMap<Raw, _> = objects.iter().map(|it| (it.raw, it.place)).collect();
        let record = |raw: Raw| {
            // SAFETY: an object of the stopped heap.
            let class = unsafe { ground.base.header(raw) }.load().class();
            let name = &self.classes.get(ClassId(class)).info.name;
            self.add_invalidation("a failed assertion", dead[&raw], name)
        };
        let mut left = Vec::new();
        let mut void = |from: Raw, cell: &AtomicU32| {
            let raw = Raw(cell.load(Relaxed));
            if !dead.contains_key(&raw) {
                return;
            }
            match self.config.invalidation {
                true => self.invalidate(cell, record(raw)),
                false => left.push((from, raw)),
            }
        };
        let clear = |cell: &AtomicU32| {
            if dead.contains_key(&Raw(cell.load(Relaxed))) {
                cell.store(0, Relaxed);
            }
        };
        for (_, cell) in self.handles.statics.lock().unwrap().values() {
            clear(&cell.raw);
        }
        for shared in self.mutators.lock().unwrap().iter() {
            clear(&shared.thread_object);
        }
        self.for_each_root_cell(RootSet::All, |cell| void(Raw::NULL, cell));
        // In the dead, too: finalizers may bring them back.
        self.space.for_each_object(|raw| {
            // SAFETY: an object of the stopped heap.
            let word = unsafe { ground.base.header(raw) }.load();
            let class = self.classes.get(ClassId(word.class()));
            let object = ground.base.object(raw);
            // SAFETY: as above.
            unsafe {
                for_each_slot(
                    &self.classes,
                    class.trace,
                    word.class(),
                    object,
                    |offset, _, slot| {
                        let mut slots = class.slots.iter();
                        let kind = slots.find(|(at, _)| *at as usize == offset);
                        match kind {
                            Some((_, FieldKind::Ref)) => void(raw, slot),
                            _ => clear(slot),
                        }
                    },
                );
            }
        });
        left
    }

    /// Looks at the heap in the middle of a collection: what is marked is alive.
    pub(crate) fn inspect_marked<R>(&self, f: impl for<'v> FnOnce(&StoppedHeap<'v>) -> R) -> R {
        // SAFETY: called by the collection, with the world stopped.
        f(&unsafe { StoppedHeap::new(self, None) })
    }

    /// The live instances of a class, or of its subclasses too, up to `limit`, in the order of
    /// addresses.
    pub(crate) fn live_instances(
        &self,
        ground: Ground<'_>,
        is_one: &dyn Fn(ClassId) -> bool,
        limit: usize,
    ) -> Vec<Raw> {
        let mut found = Vec::new();
        if limit == 0 {
            return found;
        }
        self.space.for_each_object(|raw| {
            // SAFETY: an object of the stopped heap.
            let word = unsafe { ground.base.header(raw) }.load();
            if found.len() < limit && word.is_marked(ground.epoch) && is_one(ClassId(word.class()))
            {
                found.push(raw);
            }
        });
        found.sort_unstable();
        found
    }
}

/// What ownees carry, and what is entered on the way to them.
#[derive(Clone, Copy)]
struct OwnerMarks {
    visit: Visit,
    label: Visit,
}

/// What it took to follow an owner.
#[derive(Default)]
struct Effort {
    /// Objects that were looked at.
    objects: usize,
    /// Whether they are all that there are.
    is_enough: bool,
}

/// Ownees of one owner from which on its trace is shared among threads.
const SHARED_SCAN: usize = 1 << 15;

/// The mark of what an owner reaches, not beyond ownees.
#[derive(Clone, Copy)]
struct Between(Visit);

impl Marker for Between {
    #[inline]
    fn look(self, word: Word) -> Look {
        match word.visit() == self.0.0 {
            true => Look::Old,
            false if word.is_ownee() => Look::Last,
            false => Look::New,
        }
    }

    #[inline]
    fn mark(self, word: Word) -> Word {
        word.with_visit(self.0.0)
    }

    #[inline]
    fn counts(self, _: Word) -> bool {
        true
    }
}

/// Watches the trace of an owner.
struct Scan<'s> {
    label: Visit,
    /// Ownees that are still to be met, by whomever.
    left: &'s AtomicUsize,
    budget: usize,
    entered: Vec<Raw>,
}

impl Visitor for Scan<'_> {
    type Tag = ();
    type Edge = Start<()>;
    type Source = ();
    const READS: bool = false;
    const ARRIVALS: bool = false;
    const STOPS: bool = true;

    #[inline]
    fn object(&mut self, raw: Raw, word: Word, _: Trace, _: usize) {
        self.entered.push(raw);
        // One that carries its label is entered for the first time.
        if word.visit() == self.label.0 {
            self.left.fetch_sub(1, Relaxed);
        }
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.left.load(Relaxed) == 0 || self.entered.len() >= self.budget
    }
}

/// Whether all ownees were met, or too much was entered.
fn is_over(scans: &[Scan<'_>]) -> bool {
    scans.iter().any(Scan::is_done)
}

impl<'v> StoppedHeap<'v> {
    /// An object that a collection has marked.
    pub(crate) fn object(&self, raw: Raw) -> ObjectId<'v> {
        ObjectId(raw, self.brand)
    }

    /// Where an object is.
    pub(crate) fn raw(&self, object: ObjectId<'v>) -> Raw {
        object.0
    }
}
