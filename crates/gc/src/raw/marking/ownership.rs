//! Which ownees are not owned, once everything that lives is marked.
//!
//! Exact by definition: an ownee that lives is owned if an owner of it lives and reaches it. Each live
//! owner is traced with a visited mark of its own, first not beyond ownees, so that only what
//! lies between is touched twice; then, if some were missed, on from those that were met. What was
//! marked is unmarked after each owner, so that regions may overlap. All owners together may enter
//! a bounded number of objects; what could not be checked for that is reported.
//!
//! After Aftandilian and Guyer, *GC Assertions: Using the Garbage Collector to Check Heap
//! Properties* (PLDI 2009); where it differs from theirs is said in docs/assertions.md.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use heaphound_heap::trace::Visit;

use crate::assertions::tables::{Entry, Pair};
use crate::raw::marking::mark::{Decision, Ground, Start, Visitor, mark};
use crate::raw::marking::marker::VisitMark;
use crate::raw::marking::weak::{self, is_marked};
use crate::raw::memory::address::Raw;
use crate::raw::objects::header::Word;
use crate::raw::objects::layout::Trace;
use crate::raw::views::stopped::MarkedHeap;

/// What became of ownership assertions.
pub(crate) struct Ownership {
    /// Ownees that live and are not owned, with the site of their first assertion.
    pub(crate) unowned: Vec<Entry>,
    /// Ownees about which nothing is known, because it would have taken too long to find out.
    pub(crate) unchecked: HashSet<Raw>,
    /// The owner to begin with the next time.
    pub(crate) next: Raw,
}

impl MarkedHeap<'_> {
    /// Finds the ownees that are not owned. All live; pairs are sorted by owner; those of `from`
    /// and behind come first.
    pub(crate) fn check_owners(&self, pairs: &[Pair], from: Raw, mut budget: usize) -> Ownership {
        let ground = self.ground();
        self.reserve(2);
        // Marks are taken off again, so that the same two do for all owners.
        let marks = OwnerMarks {
            visit: self.fresh(),
            label: self.fresh(),
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
            false => self.heap.config.collector_threads,
        };
        let left = AtomicUsize::new(usize::MAX);
        let mut scans: Vec<Scan<'_, true>> = (0..workers)
            .map(|_| {
                Scan(Progress {
                    label,
                    left: &left,
                    // Not a share of it: who enters how much is chance, and what is found is not.
                    // An owner enters no object twice, so that all together hardly exceed it.
                    budget,
                    entered: Vec::new(),
                })
            })
            .collect();
        let owner = group[0].owner;
        // It is entered, though it may be somebody's ownee itself.
        let word = header(owner).load();
        header(owner).store(word.with_ownee(false));
        let marker = VisitMark::alone(visit);
        let mut met = self.scan(ground, marker, vec![owner], &mut scans);
        let entered = header(owner).load();
        header(owner).store(entered.with_ownee(word.is_ownee()));
        // Edges to ownees were set aside: each ownee that was met is marked, once.
        met.retain(|&raw| {
            let is_new = header(raw).load().visit() != visit.0;
            carry(raw, visit);
            is_new
        });
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
            let mut behind: Vec<_> = scans.into_iter().map(|it| Scan::<false>(it.0)).collect();
            self.scan(ground, marker, met, &mut behind);
            scans = behind.into_iter().map(|it| Scan(it.0)).collect();
            missed.retain(|pair| {
                let missed = header(pair.ownee).load().visit() == label.0;
                if missed {
                    carry(pair.ownee, Visit::default());
                }
                missed
            });
        }
        let mut entered = 0;
        for raw in scans.into_iter().flat_map(|scan| scan.0.entered) {
            entered += 1;
            carry(raw, Visit::default());
        }
        all_missed.append(&mut missed);
        Effort {
            objects: looked_at + entered,
            is_enough: entered < budget,
        }
    }

    /// Traces from some objects, and from the values of ephemerons whose keys live. Returns the
    /// targets of edges that were set aside.
    fn scan<const BETWEEN: bool>(
        &self,
        ground: Ground<'_>,
        marker: VisitMark<false>,
        starts: Vec<Raw>,
        scans: &mut Vec<Scan<'_, BETWEEN>>,
    ) -> Vec<Raw> {
        let mut starts: Vec<Start<()>> = starts.into_iter().map(Start::from).collect();
        let mut aside = Vec::new();
        while !starts.is_empty() && !is_over(scans) {
            let drained = mark(ground, marker, &starts, std::mem::take(scans));
            *scans = drained.visitors;
            aside.extend(drained.aside.into_iter().map(|it| it.to));
            starts.clear();
            self.add_values(ground, drained.marked.ephemerons, &mut starts);
        }
        aside
    }

    /// The values of ephemerons whose keys live.
    fn add_values(&self, ground: Ground<'_>, ephemerons: Vec<Raw>, starts: &mut Vec<Start<()>>) {
        for ephemeron in ephemerons {
            let key = weak::key(ground, ephemeron);
            if !key.is_null() && is_marked(ground, key) {
                weak::dependents(ground, ephemeron, &mut (), starts);
            }
        }
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

/// Watches the trace of an owner. `BETWEEN`: it does not go beyond ownees.
struct Scan<'s, const BETWEEN: bool>(Progress<'s>);

/// How far the trace of an owner has come, on one thread.
struct Progress<'s> {
    label: Visit,
    /// Ownees that are still to be met, by whomever.
    left: &'s AtomicUsize,
    budget: usize,
    entered: Vec<Raw>,
}

impl<const BETWEEN: bool> Visitor for Scan<'_, BETWEEN> {
    type Tag = ();
    type Edge = Start<()>;
    type Source = ();
    const READS: bool = false;
    const ARRIVALS: bool = false;
    const STOPS: bool = true;
    const DECIDES: bool = BETWEEN;

    #[inline]
    fn decide(&mut self, _: Start<()>, word: Word) -> Decision {
        match word.is_ownee() {
            true => Decision::SetAside,
            false => Decision::Follow,
        }
    }

    #[inline]
    fn object(&mut self, raw: Raw, word: Word, _: Trace, _: usize) {
        self.0.entered.push(raw);
        // One that carries its label is entered for the first time.
        if word.visit() == self.0.label.0 {
            self.0.left.fetch_sub(1, Relaxed);
        }
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.0.left.load(Relaxed) == 0 || self.0.entered.len() >= self.0.budget
    }
}

/// Whether all ownees were met, or too much was entered.
fn is_over<const BETWEEN: bool>(scans: &[Scan<'_, BETWEEN>]) -> bool {
    scans.iter().any(Scan::is_done)
}
