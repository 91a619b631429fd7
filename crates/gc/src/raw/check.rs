//! Checking GC assertions in a full collection.
//!
//! After Aftandilian and Guyer, *GC Assertions: Using the Garbage Collector to Check Heap
//! Properties* (PLDI 2009).
//!
//! An asserted object has an entry in a table, which follows it when it moves and goes when
//! it dies; no other object pays. When marking from the roots is done:
//!
//! - **dead**: an entry whose object is marked is a violation;
//! - **unshared**: arrivals at objects with the header's unshared bit were listed while
//!   marking ([`Checker`]); references from stacks and handles are taken off;
//! - **instances, volume**: counted while marking, by class;
//! - **owned by**: exact by definition: an ownee that lives is owned if an owner of it lives and
//!   reaches it. Each live owner is traced with a visited mark of its own, first not beyond
//!   its ownees, so that only what lies between is touched twice; then, if some were missed,
//!   on from those that were met. What was entered is unmarked after each owner, so that
//!   regions may overlap. All owners together may enter a bounded number of objects; what
//!   could not be checked for that is reported.
//!
//! This nominates; what is said about it, with paths, is decided by `assertions.rs`.

use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use heaphound_heap::root::RootSet;
use heaphound_heap::trace::{Filter, Visit};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, FieldKind};

use super::header::Word;
use super::mark::{Ground, Marker, Start, VisitMark, Visitor, mark};
use super::region::Raw;
use super::trace::for_each_slot;
use super::view::{ObjectId, StoppedHeap};
use super::weak::is_marked;
use crate::heap::HeapInner;

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
    fn follow(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>) -> bool;
}

impl Follows for Raw {
    fn is_young(&self) -> bool {
        Raw::is_young(*self)
    }

    fn follow(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>) -> bool {
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

    fn follow(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>) -> bool {
        self.raw.follow(now)
    }
}

impl Follows for Pair {
    fn is_young(&self) -> bool {
        self.owner.is_young() || self.ownee.is_young()
    }

    fn follow(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>) -> bool {
        if !self.owner.is_null() {
            self.owner = now(self.owner).unwrap_or(Raw::NULL);
        }
        self.ownee.follow(now)
    }
}

/// Entries; the young ones apart, so that a nursery collection need not look at all.
pub(crate) struct Table<E> {
    young: Vec<E>,
    pub(crate) old: Vec<E>,
}

impl<E> Default for Table<E> {
    fn default() -> Self {
        Self {
            young: Vec::new(),
            old: Vec::new(),
        }
    }
}

impl<E: Follows + PartialEq> Table<E> {
    pub(crate) fn push(&mut self, entry: E) {
        match entry.is_young() {
            true => self.young.push(entry),
            false => self.old.push(entry),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&E) -> bool) {
        self.young.retain(&mut keep);
        self.old.retain(&mut keep);
    }

    /// After a nursery collection: nothing is young any more.
    pub(crate) fn settle(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>) {
        let survivors = self.young.drain(..).filter_map(|mut entry| {
            let kept = entry.follow(now);
            kept.then_some(entry)
        });
        self.old.extend(survivors);
    }

    /// When all objects may have died or moved.
    pub(crate) fn follow(&mut self, now: &mut dyn FnMut(Raw) -> Option<Raw>) {
        self.old.retain_mut(|entry| entry.follow(now));
    }
}

/// What is counted while marking.
pub(crate) const NOTHING: u8 = 0;
/// Instances of few classes.
pub(crate) const FEW: u8 = 1;
/// Instances of all classes.
pub(crate) const ALL: u8 = 2;

/// Classes that are few.
const MOST_FEW: usize = 4;

/// What is counted and listed while marking, for assertions that need it.
pub(crate) struct Checker<const COUNTS: u8, const ARRIVES: bool> {
    few: [u32; MOST_FEW],
    few_counts: [(usize, usize); MOST_FEW],
    /// Objects and bytes of each class.
    classes: Vec<(usize, usize)>,
    /// Objects asserted unshared, as often as they were arrived at.
    arrived: Vec<Raw>,
}

impl<const COUNTS: u8, const ARRIVES: bool> Checker<COUNTS, ARRIVES> {
    /// For a heap with so many classes, of which these are to be counted.
    pub(crate) fn new(classes: usize, wanted: &[ClassId]) -> Self {
        // No object has class 0.
        let mut few = [0; MOST_FEW];
        for (place, class) in few.iter_mut().zip(wanted) {
            *place = class.0;
        }
        Self {
            few,
            few_counts: [(0, 0); MOST_FEW],
            classes: vec![(0, 0); if COUNTS == ALL { classes + 1 } else { 0 }],
            arrived: Vec::new(),
        }
    }
}

/// How to count the instances of these classes.
pub(crate) fn counting(wanted: &[ClassId]) -> u8 {
    match wanted.len() {
        0 => NOTHING,
        1..=MOST_FEW => FEW,
        _ => ALL,
    }
}

impl<const COUNTS: u8, const ARRIVES: bool> Visitor for Checker<COUNTS, ARRIVES> {
    type Tag = ();
    const READS: bool = false;
    const ARRIVALS: bool = ARRIVES;

    #[inline]
    fn object(&mut self, _: Raw, word: Word, bytes: usize) {
        let class = word.class();
        if COUNTS == FEW {
            for (wanted, count) in self.few.iter().zip(&mut self.few_counts) {
                if *wanted == class {
                    count.0 += 1;
                    count.1 += bytes;
                }
            }
        }
        if COUNTS == ALL {
            let count = &mut self.classes[class as usize];
            count.0 += 1;
            count.1 += bytes;
        }
    }

    #[inline]
    fn edge_arrived(&mut self, _: (), to: Raw, word: Word) {
        if ARRIVES && word.is_unshared() {
            self.arrived.push(to);
        }
    }
}

/// What marking has counted, all workers together.
#[derive(Default)]
pub(crate) struct Counted {
    /// Objects and bytes of each class that was counted.
    pub(crate) classes: Vec<(usize, usize)>,
    pub(crate) arrived: Vec<Raw>,
}

impl Counted {
    pub(crate) fn add<const C: u8, const A: bool>(&mut self, one: Checker<C, A>) {
        let few = one.few.iter().zip(one.few_counts).filter(|it| *it.0 != 0);
        let few = few.map(|(&class, count)| (class as usize, count));
        let all = one.classes.into_iter().enumerate();
        for (class, count) in few.chain(all) {
            if self.classes.len() <= class {
                self.classes.resize(class + 1, (0, 0));
            }
            self.classes[class].0 += count.0;
            self.classes[class].1 += count.1;
        }
        self.arrived.extend(one.arrived);
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
    /// How many references count against each object that was asserted unshared: slots
    /// and statics.
    pub(crate) fn count_sharing(&self, counted: &Counted) -> HashMap<Raw, usize> {
        let mut counts: HashMap<Raw, usize> = HashMap::new();
        for &raw in &counted.arrived {
            *counts.entry(raw).or_default() += 1;
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

    /// Finds the ownees that live and are not owned. Pairs are sorted by owner; those of `from`
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
        let header = |raw| {
            // SAFETY: live objects, for they are marked.
            unsafe { ground.base.header(raw) }
        };
        let mut unchecked = HashSet::new();
        let mut next = Raw::NULL;
        let groups = |pairs: &'_ [Pair]| -> Vec<std::ops::Range<usize>> {
            let mut at = 0;
            let lengths = pairs.chunk_by(|a, b| a.owner == b.owner).map(<[Pair]>::len);
            lengths
                .map(|length| {
                    at += length;
                    at - length..at
                })
                .collect()
        };
        let groups = groups(pairs);
        let first = groups.partition_point(|group| pairs[group.start].owner < from);
        for group in groups[first..].iter().chain(&groups[..first]) {
            let group = &pairs[group.clone()];
            // A pair whose owner has died says nothing for its ownee.
            if group[0].owner.is_null() {
                continue;
            }
            if budget == 0 {
                if next.is_null() {
                    next = group[0].owner;
                }
                unchecked.extend(group.iter().map(|pair| pair.ownee));
                continue;
            }
            let entered = self.reach_ownees(ground, marks, group, budget);
            if entered >= budget {
                next = group[0].owner;
                unchecked.extend(group.iter().map(|pair| pair.ownee));
            }
            budget -= entered.min(budget);
        }
        let is_unowned = |pair: &&Pair| !header(pair.ownee).load().is_owned();
        let unowned = pairs.iter().filter(is_unowned);
        let mut unowned: Vec<Entry> = unowned
            .map(|&Pair { ownee, site, .. }| Entry { site, raw: ownee })
            .collect();
        for pair in pairs {
            let word = header(pair.ownee).load();
            header(pair.ownee).store(word.with_owned(false));
        }
        unowned.retain(|entry| !unchecked.contains(&entry.raw));
        unowned.sort_unstable_by_key(|entry| (entry.raw, entry.site));
        unowned.dedup_by_key(|entry| entry.raw);
        Ownership {
            unowned,
            unchecked,
            next,
        }
    }

    /// Says in the headers of a group's ownees which their owner reaches; answers how many
    /// objects were entered to find out: at most `budget`, and then perhaps not all.
    fn reach_ownees(
        &self,
        ground: Ground<'_>,
        marks: OwnerMarks,
        group: &[Pair],
        budget: usize,
    ) -> usize {
        let OwnerMarks { visit, label } = marks;
        let header = |raw| {
            // SAFETY: live objects, for they are marked.
            unsafe { ground.base.header(raw) }
        };
        let carry = |raw, visit: Visit| header(raw).store(header(raw).load().with_visit(visit.0));
        let own = |raw| {
            let word = header(raw).load();
            header(raw).store(word.with_visit(0).with_owned(true));
        };
        // Sorted, so that pairs of the same two are neighbours.
        let mut ownees = 0;
        for same in group.chunk_by(|a, b| a.ownee == b.ownee) {
            ownees += 1;
            carry(same[0].ownee, label);
        }
        // A large region is worth waking the others for.
        let workers = match ownees < SHARED_SCAN {
            true => 1,
            false => self.config.collector_threads,
        };
        let left = AtomicUsize::new(usize::MAX);
        let mut scans: Vec<Scan<'_>> = (0..workers)
            .map(|_| Scan {
                label,
                left: &left,
                budget: budget / workers,
                entered: Vec::new(),
            })
            .collect();
        let between = VisitMark::<true> {
            visit,
            filter: Filter::SetAside(label),
            collection: None,
        };
        let mut met = self.scan(ground, between, vec![group[0].owner], &mut scans);
        // Each as often as it was arrived at; the first time it still has its label.
        met.retain(|&raw| {
            let first = header(raw).load().visit() == label.0;
            if first {
                own(raw);
            }
            first
        });
        if met.len() < ownees && !is_over(&scans) {
            // Some lie behind others: on from there.
            left.store(ownees - met.len(), Relaxed);
            let behind = VisitMark::<false> {
                visit,
                filter: Filter::Follow,
                collection: None,
            };
            self.scan(ground, behind, met, &mut scans);
        }
        let exhausted = scans.iter().any(|scan| scan.entered.len() >= scan.budget);
        let mut entered = 0;
        for raw in scans.into_iter().flat_map(|scan| scan.entered) {
            entered += 1;
            carry(raw, Visit::default());
        }
        // Those that have lost their label were entered.
        for same in group.chunk_by(|a, b| a.ownee == b.ownee) {
            let pair = same[0];
            match header(pair.ownee).load().visit() == label.0 {
                true => carry(pair.ownee, Visit::default()),
                false => own(pair.ownee),
            }
        }
        if exhausted { budget } else { entered }
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
            let key = super::weak::key(ground, ephemeron);
            if !key.is_null() && is_marked(ground, key) {
                super::weak::dependents(ground, ephemeron, &mut (), starts);
            }
        }
    }

    /// Clears or invalidates all references to some objects; answers how many had to be left
    /// as they are, because they are not optional and the heap cannot invalidate. Only in the
    /// middle of a collection.
    pub(crate) fn force_dead(
        &self,
        ground: Ground<'_>,
        objects: &[(Raw, &'static Location<'static>)],
    ) -> usize {
        let dead: HashMap<Raw, _> = objects.iter().copied().collect();
        let record = |raw: Raw| {
            // SAFETY: an object of the stopped heap.
            let class = unsafe { ground.base.header(raw) }.load().class();
            let name = &self.classes.get(ClassId(class)).info.name;
            self.add_invalidation("a failed assertion", dead[&raw], name)
        };
        let mut left = 0;
        let mut void = |cell: &AtomicU32| {
            let raw = Raw(cell.load(Relaxed));
            if !dead.contains_key(&raw) {
                return;
            }
            match self.config.invalidation {
                true => self.invalidate(cell, record(raw)),
                false => left += 1,
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
        self.for_each_root_cell(RootSet::All, &mut void);
        self.space.for_each_object(|raw| {
            // SAFETY: an object of the stopped heap.
            let word = unsafe { ground.base.header(raw) }.load();
            if !word.is_marked(ground.epoch) {
                return;
            }
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
                            Some((_, FieldKind::Ref)) => void(slot),
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

/// Ownees of one owner from which on its trace is shared among threads.
const SHARED_SCAN: usize = 1 << 15;

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
    const READS: bool = false;
    const ARRIVALS: bool = false;
    const STOPS: bool = true;

    #[inline]
    fn object(&mut self, raw: Raw, word: Word, _: usize) {
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

    /// The slots of marked objects that refer to each of these, up to some number.
    pub(crate) fn referrers(
        &self,
        objects: &[ObjectId<'v>],
    ) -> HashMap<ObjectId<'v>, Vec<(ObjectId<'v>, Place)>> {
        const MOST: usize = 64;
        let mut found: HashMap<_, Vec<_>> = objects.iter().map(|&it| (it, Vec::new())).collect();
        if found.is_empty() {
            return found;
        }
        let epoch = self.heap.space.epoch();
        self.heap.space.for_each_object(|raw| {
            // SAFETY: an object of the stopped heap.
            let word = unsafe { self.heap.base.header(raw) }.load();
            if !word.is_marked(epoch) {
                return;
            }
            let from = self.object(raw);
            self.for_each_strong_edge(from, |place, to| {
                if let Some(list) = found.get_mut(&to)
                    && list.len() < MOST
                {
                    list.push((from, place));
                }
            });
        });
        found.values_mut().for_each(|list| list.sort_unstable());
        found
    }
}
