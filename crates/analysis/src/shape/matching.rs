//! Matchings: which objects refer to which, reduced to sums of hashes.
//!
//! Counts cannot detect that a tree has lost one child and has another twice. Sums of hashes
//! can: if the sum of h(target) over all references of `left`, `right` and `Tree.root` is the
//! sum of h(object) over all nodes, each node is referred to exactly once. If the sum of
//! h(source, target) over `left` and `right` is the sum of h(target, source) over `parent`,
//! each is the inverse of the other. Sums wrap. Only whether two are equal matters, and that
//! depends neither on the order in which a collector visits edges nor on addresses.
//!
//! Source and target are known when a slot is read, before the target is touched. Whether a
//! holder's reference leads to a backbone is known only when it arrives.

use std::collections::BTreeMap;
use std::collections::hash_map::{DefaultHasher, HashMap};
use std::hash::{BuildHasherDefault, Hash, Hasher};

use heaphound_heap::ClassInfo;
use heaphound_heap::trace::Traceable;

use super::{Backbones, HashSum, Leads, Measure, Referrer, Relation};
use crate::slot::{SlotId, SlotIds, SlotName};
use crate::summary::{live, on_threads};

/// The sums of one worker.
#[derive(Clone, Debug, Default)]
pub struct MatchCounters {
    /// Over all objects, by backbone.
    objects: Vec<u64>,
    /// By slot and the backbone that it leads to.
    targets: HashMap<(SlotId, u32), u64, BuildHasherDefault<Mixer>>,
    /// By slot of a backbone: over (source, target) and over (target, source).
    pairs: HashMap<SlotId, (u64, u64), BuildHasherDefault<Mixer>>,
}

/// The sums of all workers together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Matches {
    objects: Vec<u64>,
    targets: BTreeMap<(SlotId, u32), u64>,
    pairs: BTreeMap<SlotId, (u64, u64)>,
}

impl MatchCounters {
    /// Returns counters for that many backbones.
    pub fn new(backbones: usize) -> Self {
        Self {
            objects: vec![0; backbones],
            ..Self::default()
        }
    }

    /// Adds an object of a backbone, the first time it is seen. Its number must be unique.
    #[inline]
    pub fn object(&mut self, backbone: usize, object: u64) {
        let sum = &mut self.objects[backbone];
        *sum = sum.wrapping_add(mix(object));
    }

    /// Adds an edge that arrives at an object of a backbone.
    #[inline]
    pub fn arrived(&mut self, slot: SlotId, backbone: usize, to: u64) {
        let sum = self.targets.entry((slot, backbone as u32)).or_default();
        *sum = sum.wrapping_add(mix(to));
    }

    /// Adds an edge of a slot that leads inside ([`Leads::Inside`]).
    #[inline]
    pub fn read(&mut self, slot: SlotId, from: u64, to: u64) {
        let (forth, back) = self.pairs.entry(slot).or_default();
        *forth = forth.wrapping_add(mix_pair(from, to));
        *back = back.wrapping_add(mix_pair(to, from));
    }

    /// Adds a sum over objects of a backbone: of [`MatchCounters::hash`].
    pub fn add_objects(&mut self, backbone: usize, sum: u64) {
        let known = &mut self.objects[backbone];
        *known = known.wrapping_add(sum);
    }

    /// Adds a sum over edges that arrived: of [`MatchCounters::hash`] of their targets.
    pub fn add_arrived(&mut self, slot: SlotId, backbone: usize, sum: u64) {
        let known = self.targets.entry((slot, backbone as u32)).or_default();
        *known = known.wrapping_add(sum);
    }

    /// Adds sums over edges that were read: of [`MatchCounters::hash_pair`] of source and
    /// target, and of target and source.
    pub fn add_read(&mut self, slot: SlotId, forth: u64, back: u64) {
        let known = self.pairs.entry(slot).or_default();
        *known = (known.0.wrapping_add(forth), known.1.wrapping_add(back));
    }

    /// Calls `f` with the sums over edges that arrived: slot, backbone and sum.
    pub fn for_each_arrived(&self, mut f: impl FnMut(SlotId, usize, u64)) {
        for (&(slot, backbone), &sum) in &self.targets {
            f(slot, backbone as usize, sum);
        }
    }

    /// Returns the hash of an object.
    #[inline]
    pub fn hash(object: u64) -> u64 {
        mix(object)
    }

    /// Returns the hash of two objects.
    #[inline]
    pub fn hash_pair(a: u64, b: u64) -> u64 {
        mix_pair(a, b)
    }

    /// Returns the sums of all workers together.
    pub fn merge(workers: impl IntoIterator<Item = Self>) -> Matches {
        let mut all = Matches::default();
        for worker in workers {
            let count = all.objects.len().max(worker.objects.len());
            all.objects.resize(count, 0);
            for (sum, it) in all.objects.iter_mut().zip(&worker.objects) {
                *sum = sum.wrapping_add(*it);
            }
            for (key, it) in worker.targets {
                let sum = all.targets.entry(key).or_default();
                *sum = sum.wrapping_add(it);
            }
            for (slot, (forth, back)) in worker.pairs {
                let sum = all.pairs.entry(slot).or_default();
                *sum = (sum.0.wrapping_add(forth), sum.1.wrapping_add(back));
            }
        }
        all
    }
}

/// Returns the sums of a view, added up on this thread.
pub fn matches<T: Traceable>(view: &T, backbones: &Backbones) -> Matches {
    let ids = SlotIds::new(view.classes());
    MatchCounters::merge([look(view, &ids, backbones, &live(view, 1))])
}

/// Returns the sums of a view that can be shared, added up on several threads.
pub fn matches_on<T: Traceable + Sync>(view: &T, backbones: &Backbones, threads: usize) -> Matches {
    let ids = SlotIds::new(view.classes());
    let objects = live(view, threads);
    let look = |objects: &[T::Object]| look(view, &ids, backbones, objects);
    MatchCounters::merge(on_threads(&objects, threads, look))
}

fn look<T: Traceable>(
    view: &T,
    ids: &SlotIds,
    backbones: &Backbones,
    objects: &[T::Object],
) -> MatchCounters {
    let mut counters = MatchCounters::new(backbones.list().len());
    let number = |object: T::Object| {
        // The same in every process, unlike that of a map.
        let mut hasher = DefaultHasher::new();
        object.hash(&mut hasher);
        hasher.finish()
    };
    for &object in objects {
        let class = view.class_of(object);
        if let Some(place) = backbones.place(class) {
            counters.object(place, number(object));
        }
        view.for_each_strong_edge(object, |place, to| {
            let slot = ids.at(class, place);
            if let Some(backbone) = backbones.place(view.class_of(to)) {
                counters.arrived(slot, backbone, number(to));
            }
            if backbones.leads(slot) == Leads::Inside {
                counters.read(slot, number(object), number(to));
            }
        });
    }
    counters
}

impl Matches {
    /// Returns the sums of one backbone.
    pub(super) fn of_backbone(
        &self,
        place: usize,
        backbones: &Backbones,
        classes: &[ClassInfo],
        ids: &SlotIds,
    ) -> BTreeMap<HashSum, u64> {
        let class = backbones.list()[place].class;
        let mut sums = BTreeMap::new();
        let all = self.objects.get(place).copied().unwrap_or(0);
        sums.insert(HashSum::Objects, all);
        let targets = self.targets.iter();
        for (&(slot, _), &sum) in targets.filter(|(key, _)| key.1 as usize == place) {
            let referrer = match ids.class_of(slot) == Some(class) {
                true => Referrer::Own(ids.own_name(classes, slot)),
                false => Referrer::Other(ids.name_with_class(classes, slot)),
            };
            // Two classes may have the same name, and so may their slots.
            let known: &mut u64 = sums.entry(HashSum::Targets(referrer)).or_default();
            *known = known.wrapping_add(sum);
        }
        let pairs = self.pairs.iter();
        for (&slot, &(forth, back)) in pairs.filter(|it| ids.class_of(*it.0) == Some(class)) {
            let name = ids.own_name(classes, slot);
            sums.insert(HashSum::Forward(name.clone()), forth);
            sums.insert(HashSum::Backward(name), back);
        }
        sums
    }
}

/// With more slots or holders, not all are tried.
const MOST_SLOTS: usize = 6;

/// Returns the matchings that hold in a measure: sums that are equal.
pub(super) fn find(measure: &Measure) -> Vec<Relation<HashSum>> {
    let slots: Vec<&SlotName> = measure.recursive.keys().collect();
    let slots = &slots[..slots.len().min(MOST_SLOTS)];
    let others = |but: usize| -> Vec<&SlotName> {
        let others = slots.iter().enumerate().filter(|(at, _)| *at != but);
        others.map(|(_, slot)| *slot).collect()
    };
    // One slot, all but one, all.
    let mut groups: Vec<Vec<&SlotName>> = slots.iter().map(|slot| vec![*slot]).collect();
    groups.extend((0..slots.len()).map(others));
    groups.push(slots.to_vec());
    groups.retain(|group| !group.is_empty());
    groups.sort_by_key(|group| group.len());
    groups.dedup();
    let holders = measure.holders.keys().take(MOST_SLOTS);
    let mut found: Vec<Relation<HashSum>> = Vec::new();
    let mut keep = |relation: Relation<HashSum>| {
        let new = holds(&relation, measure) && !found.contains(&relation);
        if new {
            found.push(relation);
        }
    };
    let targets = |referrer| (HashSum::Targets(referrer), 1);
    for group in &groups {
        let group_targets = || {
            group
                .iter()
                .map(|&slot| targets(Referrer::Own(slot.clone())))
        };
        for holder in holders.clone().map(Some).chain([None]) {
            let held = holder.map(|holder| targets(Referrer::Other(holder.clone())));
            let terms = group_targets().chain(held);
            keep(Relation::of(terms.chain([(HashSum::Objects, -1)])));
        }
        for &slot in slots.iter().filter(|slot| !group.contains(slot)) {
            // If two are each other's inverse, one relation is enough.
            if group.len() > 1 || group[0] < slot {
                let forth = group.iter().map(|&it| (HashSum::Forward(it.clone()), 1));
                let back = (HashSum::Backward(slot.clone()), -1);
                keep(Relation::of(forth.chain([back])));
            }
        }
    }
    found
}

/// Returns whether the sums of a measure are equal. A sum that is not there is 0.
pub(super) fn holds(relation: &Relation<HashSum>, measure: &Measure) -> bool {
    let sum = relation.terms.iter().fold(0u64, |all, (term, &times)| {
        let value = measure.matches.get(term).copied().unwrap_or(0);
        all.wrapping_add(value.wrapping_mul(times as u64))
    });
    sum == 0
}

/// Returns whether one slot of the structure is the inverse of all others together.
pub(super) fn leads_back(measure: &Measure) -> bool {
    let slots = || measure.recursive.keys();
    let sum = |sum: HashSum| measure.matches.get(&sum).copied();
    slots().any(|up| {
        let down = slots().filter(|slot| *slot != up);
        let down = down.map(|slot| sum(HashSum::Forward(slot.clone())));
        let down = down.reduce(|a, b| Some(a?.wrapping_add(b?))).flatten();
        down.is_some_and(|it| Some(it) == sum(HashSum::Backward(up.clone())))
    })
}

#[inline]
fn mix_pair(a: u64, b: u64) -> u64 {
    mix(mix(a).wrapping_add(b))
}

/// The last step of splitmix64: every bit of the result depends on every bit given.
#[inline]
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Hashes slots. They are small numbers, which no input can choose in order to collide.
#[derive(Clone, Copy, Debug, Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte as u32));
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.0 = (self.0.rotate_left(32) ^ value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
