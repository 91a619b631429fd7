//! Walks: what cannot be seen by counting what each object refers to.
//!
//! In a union-find structure the parents of a node lead to a root, which is its own parent. If a root gets one of its
//! own descendants for a parent, no count changes, and whoever looks for the root goes round for ever: a **ring**. If it
//! gets a node of another structure, no count changes either: it has become a **stray**, which refers to an object that
//! is held by another holder than itself.
//!
//! So references are followed, after marking. Along one slot each object has one successor at most, and every object is
//! entered once. It costs as much as looking at the class again, and is done only where it may find what nothing
//! else does:
//!
//! - Some object of the class has two referrers. Where none has, a ring is one that nothing of the structure leads
//!   into, and heads are missing.
//! - No other slot is the inverse of this one, as in doubly linked lists and trees with parents: no
//!   single reference can close a ring there and leave the slots inverse.
//! - For strays: each object is held exactly once by the elements of arrays, of which there are several. Whether these
//!   arrays have gaps is seen on the way: who is removed from one of them may be gone, and leaves a null behind.

use std::collections::BTreeSet;

use heaphound_heap::trace::{Traceable, Visits};
use heaphound_heap::view::Place;
use heaphound_heap::{ClassId, FieldKind};

use super::sums::number;
use super::{Backbones, HashSum, Measure, Referrer, Relation, Role, SumCounters};
use super::{matching, measure_view};
use crate::slot::{SlotId, SlotIds};
use crate::summary::live;

/// Adds sums of objects that are on rings, and of strays, to each measure of a view, for slots where they are
/// looked for. `instances` lists the live objects of a class.
pub fn walk<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    ids: &SlotIds,
    measures: &mut [Measure],
    mut instances: impl FnMut(ClassId) -> Vec<T::Object>,
) {
    for place in 0..measures.len() {
        let slots = slots_in_question(view, backbones, ids, measures, place);
        if slots.is_empty() {
            continue;
        }
        let class = backbones.list()[place].class;
        let objects = instances(class);
        let holders = holding_all(view, ids, &measures[place]).map(&mut instances);
        let mut add = |sum: HashSum, objects: Vec<T::Object>| {
            let hashes = objects.into_iter();
            // Collectors hash addresses. So that no other sum is ever the same, here or there, this is another hash.
            let hashes = hashes.map(|it| SumCounters::hash(!number(it)));
            // Two slots may have the same name.
            let all = measures[place].matches.entry(sum).or_default();
            *all = hashes.fold(*all, u64::wrapping_add);
        };
        for slot in slots {
            let along = Along::new(view, class, slot, ids);
            let name = || ids.own_name(view.classes(), slot);
            let rings = along.rings(&objects).into_iter().flatten();
            add(HashSum::Rings(name()), rings.collect());
            if let Some(holders) = holders.as_ref().filter(|it| it.len() > 1) {
                add(HashSum::Strays(name()), along.strays(holders));
            }
        }
        if let Some(holders) = holders {
            let gaps = holders.into_iter().filter(|&it| has_gap(view, it));
            add(HashSum::HolderGaps, gaps.collect());
        }
    }
}

/// Returns the slots of a class that are followed.
fn slots_in_question<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    ids: &SlotIds,
    measures: &[Measure],
    place: usize,
) -> Vec<SlotId> {
    let own = &backbones.list()[place];
    let measure = &measures[place];
    let [_, _, twice, more] = measure.degrees.incoming;
    let is_asked = own.role == Role::Backbone && measure.dictionary.is_none();
    if !is_asked || twice + more == 0 || measure.matches.is_empty() {
        return Vec::new();
    }
    // Sums of pairs are in the measure of one class of each family.
    let list = backbones.list().iter().zip(measures);
    let family = list.filter(|(it, _)| it.family == own.family);
    let family: Vec<&Measure> = family.map(|it| it.1).collect();
    let fields = (0..).zip(&view.class(own.class).fields);
    let fields = fields.filter(|it| matches!(it.1.kind, FieldKind::Ref | FieldKind::Opt));
    let slots = fields.map(|(at, _)| ids.at(own.class, Place::Field(at)));
    let is_recursive = |slot: &SlotId| {
        let name = ids.own_name(view.classes(), *slot);
        measure.recursive.contains_key(&name)
    };
    if family.iter().any(|it| matching::leads_back(it)) {
        return Vec::new();
    }
    let has_inverse = |slot: &SlotId| {
        let own = ids.own_name(view.classes(), *slot);
        let full = ids.name_with_class(view.classes(), *slot);
        let mut family = family.iter();
        family.any(|it| matching::has_inverse(it, &own, &full))
    };
    slots
        .filter(|slot| is_recursive(slot) && !has_inverse(slot))
        .collect()
}

/// Returns a class of arrays, outside of the structure, whose elements are all its objects, each once.
fn holding_all<T: Traceable>(view: &T, ids: &SlotIds, measure: &Measure) -> Option<ClassId> {
    let all = measure.matches.get(&HashSum::Objects)?;
    let held = |name| {
        measure
            .matches
            .get(&HashSum::Targets(Referrer::Other(name)))
    };
    let holders = measure.holders.keys();
    let mut holders = holders.filter(|it| it.is_elements() && held((*it).clone()) == Some(all));
    let holder = holders.next()?;
    let mut classes = (1..=ids.classes() as u32).map(ClassId);
    classes.find(|&class| {
        let elements = ids.at(class, Place::Element(0));
        view.class(class).elements.is_some()
            && ids.name_with_class(view.classes(), elements) == *holder
    })
}

/// Returns whether an array has a null before an element.
fn has_gap<T: Traceable>(view: &T, array: T::Object) -> bool {
    let (mut elements, mut end) = (0, 0);
    view.for_each_strong_edge(array, |at, _| {
        if let Place::Element(index) = at {
            elements += 1;
            end = end.max(index + 1);
        }
    });
    elements < end
}

/// Returns the objects that a relation says do not exist: on rings, strays, or arrays with gaps.
pub(super) fn in_relation<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    place: usize,
    relation: &Relation<HashSum>,
) -> Vec<T::Object> {
    let ids = SlotIds::new(view.classes());
    let class = backbones.list()[place].class;
    let mut found = Vec::new();
    for slot in ids.of(class) {
        let name = ids.own_name(view.classes(), slot);
        let [rings, strays] = [HashSum::Rings(name.clone()), HashSum::Strays(name)];
        let along = Along::new(view, class, slot, &ids);
        if relation.terms.contains_key(&rings) {
            found.extend(along.entries(&instances(view, class)));
        }
        if relation.terms.contains_key(&strays) {
            found.extend(along.strays(&holders_of(view, class, &ids)));
        }
    }
    if relation.terms.contains_key(&HashSum::HolderGaps) {
        let mut holders = holders_of(view, class, &ids);
        holders.retain(|&it| has_gap(view, it));
        found.extend(holders);
    }
    found
}

/// Returns the arrays that hold each object of a class once.
fn holders_of<T: Traceable>(view: &T, class: ClassId, ids: &SlotIds) -> Vec<T::Object> {
    let measures = measure_view(view);
    let name = &view.class(class).name;
    let measure = measures.iter().find(|it| it.class == *name);
    let holder = measure.and_then(|it| holding_all(view, ids, it));
    let holders = holder.map(|it| instances(view, it));
    holders.unwrap_or_default()
}

/// Returns the live objects of a class.
pub(super) fn instances<T: Traceable>(view: &T, class: ClassId) -> Vec<T::Object> {
    let mut objects = live(view, 1);
    objects.retain(|&it| view.class_of(it) == class);
    objects
}

/// Chains of objects of a class along a slot.
struct Along<'v, T> {
    view: &'v T,
    class: ClassId,
    field: usize,
}

impl<'v, T: Traceable> Along<'v, T> {
    fn new(view: &'v T, class: ClassId, slot: SlotId, ids: &SlotIds) -> Self {
        let field = slot.0 - ids.at(class, Place::Field(0)).0;
        Self {
            view,
            class,
            field: field as usize,
        }
    }

    /// Returns what comes after an object: none if the chain ends, at null, at another class, or at an object that
    /// refers to itself.
    fn next(&self, object: T::Object) -> Option<T::Object> {
        let to = self.view.slot(object, self.field)?;
        (to != object && self.view.class_of(to) == self.class).then_some(to)
    }

    /// Returns the rings, given all objects of the class.
    fn rings(&self, objects: &[T::Object]) -> Vec<Vec<T::Object>> {
        let mut visits = self.view.visits();
        visits.reserve(2);
        let [gray, black] = [visits.fresh(), visits.fresh()];
        let mut rings = Vec::new();
        for &start in objects {
            let mut end = Some(start);
            while let Some(at) = end
                && visits.get(at) != black
                && visits.set(at, gray)
            {
                end = self.next(at);
            }
            // What is gray was entered by this walk.
            if let Some(first) = end.filter(|&at| visits.get(at) == gray) {
                let mut ring = vec![first];
                let mut at = first;
                while let Some(next) = self.next(at).filter(|&it| it != first) {
                    ring.push(next);
                    at = next;
                }
                rings.push(ring);
            }
            let mut at = Some(start);
            while let Some(object) = at.filter(|&it| visits.get(it) == gray) {
                visits.set(object, black);
                at = self.next(object);
            }
        }
        rings
    }

    /// Returns the objects of rings that others lead to: where one comes in. Most of a ring may be right; of one that
    /// nobody leads to, and that has more than two objects, nothing is known.
    fn entries(&self, objects: &[T::Object]) -> Vec<T::Object> {
        let rings = self.rings(objects);
        let ringed: BTreeSet<T::Object> = rings.iter().flatten().copied().collect();
        let outside = objects.iter().filter(|it| !ringed.contains(it));
        let entries = outside.filter_map(|&it| self.next(it));
        let mut found: BTreeSet<T::Object> = entries.filter(|it| ringed.contains(it)).collect();
        found.extend(rings.into_iter().filter(|it| it.len() == 2).flatten());
        found.into_iter().collect()
    }

    /// Returns the objects that refer to one with another holder, given arrays that hold each of them once.
    fn strays(&self, holders: &[T::Object]) -> Vec<T::Object> {
        let mut visits = self.view.visits();
        visits.reserve(2);
        let [gray, black] = [visits.fresh(), visits.fresh()];
        let mut strays = Vec::new();
        let mut held = Vec::new();
        for &holder in holders {
            held.clear();
            self.view
                .for_each_target(holder, |object| held.push(object));
            held.retain(|&it| self.view.class_of(it) == self.class);
            for &object in &held {
                visits.set(object, gray);
            }
            let is_elsewhere = |&to: &T::Object| visits.get(to) != gray;
            let leads_out = |&it: &T::Object| self.next(it).is_some_and(|to| is_elsewhere(&to));
            strays.extend(held.iter().copied().filter(leads_out));
            for &object in &held {
                visits.set(object, black);
            }
        }
        strays
    }
}

#[cfg(test)]
mod tests {
    use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
    use heaphound_heap::view::HeapView;
    use heaphound_heap::{Root, RootKind};
    use heaphound_testkit::dice::Dice;

    use super::*;

    /// A heap of nodes that refer to any other or to none, and the arrays that hold them.
    struct Random {
        heap: Snapshot,
        nodes: Vec<ObjectId>,
        arrays: Vec<ObjectId>,
        next: Vec<Option<usize>>,
        array_of: Vec<usize>,
    }

    fn random(dice: &mut Dice) -> Random {
        let n = 1 + dice.below(30);
        let most = 1 + dice.below(n + 3);
        let next = |_| Some(dice.below(n + most)).filter(|&it| it < n);
        let next: Vec<Option<usize>> = (0..n).map(next).collect();
        let count = 1 + dice.below(4);
        let array_of: Vec<usize> = (0..n).map(|_| dice.below(count)).collect();
        let mut builder = SnapshotBuilder::default();
        let node = builder.add_class("Node", None, &["other", "next"]);
        let array = builder.add_array_class("Node[]");
        let ids: Vec<ObjectId> = (0..(n + count) as u32).map(ObjectId).collect();
        for next in &next {
            builder.add_object(node, 16);
            if let Some(next) = *next {
                builder.add_edge(Place::Field(1), ids[next]);
            }
        }
        for at in 0..count {
            let own: Vec<usize> = (0..n).filter(|&it| array_of[it] == at).collect();
            builder.add_object(array, 16 + 4 * own.len());
            builder.set_length(own.len() as u32);
            for (place, &node) in (0..).zip(&own) {
                builder.add_edge(Place::Element(place), ids[node]);
            }
            builder.add_root(Root::new(RootKind::Static, "all"), ids[n + at]);
        }
        Random {
            heap: builder.finish().unwrap(),
            nodes: ids[..n].to_vec(),
            arrays: ids[n..].to_vec(),
            next,
            array_of,
        }
    }

    /// Follows each object for as many steps as there are objects.
    fn is_on_ring(next: &[Option<usize>], start: usize) -> bool {
        let mut at = start;
        next[start] != Some(start)
            && next.iter().any(|_| {
                at = next[at].unwrap_or(at);
                at == start && next[start].is_some()
            })
    }

    #[test]
    fn rings_and_strays_are_those_that_following_each_object_finds() {
        let dice = &mut Dice(14);
        let mut seen = [0; 3];
        for _ in 0..2_000 {
            let it = random(dice);
            let ids = SlotIds::new(it.heap.classes());
            let class = it.heap.class_of(it.nodes[0]);
            let along = Along::new(&it.heap, class, ids.at(class, Place::Field(1)), &ids);
            let of = |is_one: &dyn Fn(usize) -> bool| -> Vec<ObjectId> {
                let nodes = (0..it.nodes.len()).filter(|&at| is_one(at));
                nodes.map(|at| it.nodes[at]).collect()
            };
            let rings = along.rings(&it.nodes);
            let mut ringed: Vec<ObjectId> = rings.iter().flatten().copied().collect();
            ringed.sort_unstable();
            assert_eq!(ringed, of(&|at| is_on_ring(&it.next, at)));
            for ring in &rings {
                let next = |at: usize| it.next[ring[at].0 as usize];
                let after = |at: usize| ring[(at + 1) % ring.len()].0 as usize;
                assert!((0..ring.len()).all(|at| next(at) == Some(after(at))));
            }
            let mut strays = along.strays(&it.arrays);
            strays.sort_unstable();
            let is_stray = |at: usize| {
                let to = it.next[at].filter(|&to| to != at);
                to.is_some_and(|to| it.array_of[to] != it.array_of[at])
            };
            assert_eq!(strays, of(&is_stray));
            let entries = along.entries(&it.nodes);
            assert!(entries.iter().all(|entry| ringed.contains(entry)));
            seen[0] += rings.len();
            seen[1] += strays.len();
            seen[2] += entries.len();
        }
        assert!(seen.iter().all(|&it| it > 100), "{seen:?}");
    }
}
