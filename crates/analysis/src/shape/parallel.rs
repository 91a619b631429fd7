//! Parallel arrays: `rows[i]` has the neighbours of `nodes[i]`.
//!
//! An object that has several arrays may mean one thing by the same place in each: the keys and the values of a
//! table, the nodes of a graph and the neighbours of each. No object says so, and nothing that is counted of single
//! references can. So the arrays of such objects are read side by side after marking:
//!
//! - how long each array is, and which of its places are filled;
//! - in two arrays of the same length, what is at the same place of both, as a pair: `beside Graph.nodes[i]&first[i]`;
//! - if that is an array in its turn, its elements: `beside Graph.nodes[i]&rows[i][*]`. Where these pairs are the
//!   same the other way round, the graph has each edge twice.
//!
//! Pairs are like those of slots, so that one can be the inverse of the other. Arrays are read as often as they are
//! referred to, which must not be often, and all in all not much more than all arrays of the heap. Arrays whose length is not that of
//! another of the same object are not read.

use std::collections::BTreeMap;

use heaphound_heap::class::Elements;
use heaphound_heap::trace::Traceable;
use heaphound_heap::view::Place;
use heaphound_heap::{ClassId, ClassInfo, FieldKind};

use super::backbone::reads_arrays;
use super::sums::leads;
use super::{Backbones, HashSum, Referrer, SumCounters};
use crate::slot::{SlotId, SlotIds, SlotName};
use crate::summary::Summary;

/// With more arrays there are too many pairs of them.
const MOST_ARRAYS: usize = 4;

/// A class whose objects have several arrays, of which some are about a structure.
pub(super) struct Group {
    pub(super) class: ClassId,
    /// The backbone that the sums are told with, by its place in the list.
    pub(super) place: usize,
    arrays: Vec<Array>,
    /// How many elements may be read.
    budget: u64,
}

struct Array {
    field: usize,
    /// With the class.
    name: SlotName,
    own_name: SlotName,
}

/// Something that is seen of an object with several arrays.
pub(super) enum Beside<'g, O> {
    /// The array of a slot is so long.
    Length(&'g SlotName, u64),
    /// It has something at a place.
    Filled(&'g SlotName, u64),
    /// It has so many places that have nothing.
    Nulls(&'g SlotName, u64),
    /// What is at the same place of two arrays, or in the array there.
    Pair(SlotName, O, O),
}

impl Group {
    /// Returns all of a heap.
    pub(super) fn find(
        summary: &Summary,
        classes: &[ClassInfo],
        ids: &SlotIds,
        backbones: &Backbones,
    ) -> Vec<Self> {
        let ordinary = summary.classes().map(|it| it.0);
        let ordinary = ordinary.filter(|it| classes[it.0 as usize - 1].elements.is_none());
        let group = |class| Self::of(class, summary, classes, ids, backbones);
        ordinary.filter_map(group).collect()
    }

    fn of(
        class: ClassId,
        summary: &Summary,
        classes: &[ClassInfo],
        ids: &SlotIds,
        backbones: &Backbones,
    ) -> Option<Self> {
        let fields = (0..).zip(&classes[class.0 as usize - 1].fields);
        let fields =
            fields.filter(|(_, field)| matches!(field.kind, FieldKind::Ref | FieldKind::Opt));
        let slots = fields.map(|(at, _)| (at, ids.at(class, Place::Field(at))));
        let slots = slots.filter(|it| reads_arrays(summary, classes, it.1).1);
        let slots: Vec<(u32, SlotId)> = slots.collect();
        if !(2..=MOST_ARRAYS).contains(&slots.len()) {
            return None;
        }
        let arrays = slots.iter().flat_map(|it| summary.edges_of(it.1));
        let about = arrays.flat_map(|edge| {
            let elements = summary.edges_of(ids.at(edge.to, Place::Element(0)));
            std::iter::once(edge.to).chain(elements.iter().map(|it| it.to))
        });
        let mut families = about.filter(|&it| backbones.looks_at(it));
        let family = families.find_map(|it| backbones.place(it))?;
        let family = backbones.list()[family].family;
        let mut places = 0..backbones.list().len();
        let place = places
            .find(|&at| backbones.list()[at].family == family && leads(at, backbones, classes))?;
        let array = |&(at, slot): &(u32, SlotId)| Array {
            field: at as usize,
            name: ids.name_with_class(classes, slot),
            own_name: ids.own_name(classes, slot),
        };
        Some(Self {
            class,
            place,
            arrays: slots.iter().map(array).collect(),
            budget: backbones.most_read_beside(),
        })
    }

    /// Calls `f` with all that is seen of these objects. Returns whether it is all: not if too much had to be read.
    pub(super) fn read<T: Traceable>(
        &self,
        view: &T,
        objects: &[T::Object],
        mut f: impl FnMut(T::Object, Beside<'_, T::Object>),
    ) -> bool {
        let mut left = self.budget;
        let mut elements: Vec<Vec<Option<T::Object>>> = vec![Vec::new(); self.arrays.len()];
        for &object in objects {
            let found = self.arrays.iter().map(|it| {
                let array = view.slot(object, it.field)?;
                is_array(view, array).then(|| (array, view.length_of(array).unwrap_or(0)))
            });
            let found: Vec<Option<(T::Object, usize)>> = found.collect();
            let has_twin = |at: usize| {
                let mut others = (0..found.len()).filter(|&it| it != at);
                found[at].is_some_and(|(_, length)| {
                    others.any(|it| found[it].is_some_and(|other| other.1 == length))
                })
            };
            for (at, array) in self.arrays.iter().enumerate() {
                elements[at].clear();
                let Some((it, length)) = found[at] else {
                    continue;
                };
                f(object, Beside::Length(&array.name, length as u64));
                if !has_twin(at) {
                    continue;
                }
                if !take(&mut left, length) {
                    return false;
                }
                elements[at].resize(length, None);
                let mut filled = 0;
                view.for_each_strong_edge(it, |place, to| {
                    if let Place::Element(index) = place {
                        elements[at][index as usize] = Some(to);
                        f(object, Beside::Filled(&array.name, index.into()));
                        filled += 1;
                    }
                });
                f(object, Beside::Nulls(&array.name, length as u64 - filled));
            }
            for a in 0..found.len() {
                for b in 0..found.len() {
                    let is_pair = a != b && !elements[a].is_empty();
                    if is_pair && elements[a].len() == elements[b].len() {
                        let pairs = elements[a].iter().zip(&elements[b]);
                        let pairs = pairs.filter_map(|(x, y)| Some(((*x)?, (*y)?)));
                        for (x, y) in pairs {
                            if !self.pair(view, [a, b], x, y, &mut left, &mut |name, x, y| {
                                f(object, Beside::Pair(name, x, y));
                            }) {
                                return false;
                            }
                        }
                    }
                }
            }
        }
        true
    }

    /// Calls `f` with what is at the same place of two arrays. Of two that have arrays there it is not told which
    /// is which.
    fn pair<T: Traceable>(
        &self,
        view: &T,
        [a, b]: [usize; 2],
        x: T::Object,
        y: T::Object,
        left: &mut u64,
        f: &mut dyn FnMut(SlotName, T::Object, T::Object),
    ) -> bool {
        match [x, y].map(|it| is_array(view, it)) {
            [false, false] if a < b => f(self.name(a, b), x, y),
            [false, true] => {
                if !take(left, view.length_of(y).unwrap_or(0)) {
                    return false;
                }
                let name = self.name(a, b).elements();
                view.for_each_strong_edge(y, |place, to| {
                    if let Place::Element(_) = place {
                        f(name.clone(), x, to);
                    }
                });
            }
            _ => {}
        }
        true
    }

    /// `Graph.nodes[i]&rows[i]`
    fn name(&self, a: usize, b: usize) -> SlotName {
        let [a, b] = [&self.arrays[a].name, &self.arrays[b].own_name];
        a.by_index().beside(&b.by_index())
    }

    /// Returns the sums of these objects; none if too much had to be read. `number` is that of the objects in other
    /// sums.
    pub(super) fn sums<T: Traceable>(
        &self,
        view: &T,
        objects: &[T::Object],
        number: impl Fn(T::Object) -> u64,
    ) -> Option<BTreeMap<HashSum, u64>> {
        let mut places: BTreeMap<SlotName, [u64; 3]> = BTreeMap::new();
        // That they are nothing is known, too.
        for array in &self.arrays {
            places.insert(array.name.clone(), [0; 3]);
        }
        let mut pairs: BTreeMap<SlotName, [u64; 2]> = BTreeMap::new();
        let is_all = self.read(view, objects, |object, seen| {
            // Another hash than that of the object itself.
            let own = !number(object);
            let mut add = |name: &SlotName, which: usize, hash: u64| {
                if let Some(sums) = places.get_mut(name) {
                    sums[which] = sums[which].wrapping_add(hash);
                }
            };
            match seen {
                Beside::Length(name, it) => add(name, 0, SumCounters::hash(own).wrapping_mul(it)),
                Beside::Filled(name, at) => add(name, 1, SumCounters::hash_pair(own, at)),
                Beside::Nulls(name, it) => add(name, 2, SumCounters::hash(own).wrapping_mul(it)),
                Beside::Pair(name, x, y) => {
                    let [forth, back] = pairs.entry(name).or_default();
                    let (x, y) = (number(x), number(y));
                    *forth = forth.wrapping_add(SumCounters::hash_pair(x, y));
                    *back = back.wrapping_add(SumCounters::hash_pair(y, x));
                }
            }
        });
        let mut sums = BTreeMap::new();
        for (name, [length, filled, nulls]) in places {
            sums.insert(HashSum::Lengths(name.clone()), length);
            sums.insert(HashSum::Filled(name.clone()), filled);
            sums.insert(HashSum::Nulls(name), nulls);
        }
        for (name, [forth, back]) in pairs {
            let name = Referrer::Other(name);
            sums.insert(HashSum::Beside(name.clone()), forth);
            sums.insert(HashSum::BesideBack(name), back);
        }
        is_all.then_some(sums)
    }

    /// Returns the objects for which a sum of sums does not add up.
    pub(super) fn defects<T: Traceable>(
        &self,
        view: &T,
        objects: &[T::Object],
        terms: &BTreeMap<HashSum, i64>,
    ) -> Vec<T::Object> {
        let mut found: BTreeMap<(T::Object, Option<u64>), i64> = BTreeMap::new();
        let times_of = |sum: HashSum| terms.get(&sum).copied().unwrap_or(0);
        self.read(view, objects, |object, seen| {
            let (at, times) = match seen {
                Beside::Length(name, it) => {
                    (None, times_of(HashSum::Lengths(name.clone())) * it as i64)
                }
                Beside::Filled(name, at) => (Some(at), times_of(HashSum::Filled(name.clone()))),
                Beside::Nulls(name, it) => {
                    (None, times_of(HashSum::Nulls(name.clone())) * it as i64)
                }
                Beside::Pair(..) => return,
            };
            *found.entry((object, at)).or_default() += times;
        });
        found.retain(|_, times| *times != 0);
        let mut objects: Vec<T::Object> = found.into_keys().map(|it| it.0).collect();
        objects.dedup();
        objects
    }
}

/// Takes so many from what is left, if there are so many.
fn take(left: &mut u64, count: usize) -> bool {
    let enough = *left >= count as u64;
    *left = left.saturating_sub(count as u64);
    enough
}

fn is_array<T: Traceable>(view: &T, object: T::Object) -> bool {
    view.class(view.class_of(object)).elements == Some(Elements::Refs)
}

#[cfg(test)]
mod tests {
    use heaphound_heap::snapshot::{ObjectId, SnapshotBuilder};
    use heaphound_heap::view::HeapView;
    use heaphound_heap::{Root, RootKind};
    use heaphound_testkit::dice::Dice;

    use super::*;

    /// Reads random holders of three arrays, whose elements are nodes, nulls and arrays of nodes.
    #[test]
    fn what_is_seen_is_what_places_say() {
        let dice = &mut Dice(21);
        let mut seen_in_all = 0;
        for _ in 0..500 {
            let mut builder = SnapshotBuilder::default();
            let node = builder.add_class("Node", None, &["data"]);
            let array = builder.add_array_class("Object[]");
            let holder = builder.add_class("Holder", None, &["a", "b", "c"]);
            let mut count = 0;
            let add = |builder: &mut SnapshotBuilder, elements: &[Option<u32>]| {
                builder.add_object(array, 16 + 8 * elements.len());
                builder.set_length(elements.len() as u32);
                for (at, to) in (0..).zip(elements) {
                    to.iter()
                        .for_each(|&it| builder.add_edge(Place::Element(at), ObjectId(it)));
                }
            };
            // Nodes 0 to 3, then arrays of them.
            let mut rows: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for _ in 0..4 {
                builder.add_object(node, 16);
            }
            count += 4;
            for _ in 0..3 {
                let row: Vec<u32> = (0..dice.below(4)).map(|_| dice.below(4) as u32).collect();
                let elements: Vec<Option<u32>> = row.iter().copied().map(Some).collect();
                add(&mut builder, &elements);
                rows.insert(count, row);
                count += 1;
            }
            let mut holders = Vec::new();
            for _ in 0..1 + dice.below(3) {
                let mut arrays = [const { None }; 3];
                for array in &mut arrays {
                    if dice.below(5) > 0 {
                        let length = 2 + dice.below(2);
                        let any = |_| Some(dice.below(8) as u32).filter(|&it| it < 7);
                        let elements: Vec<Option<u32>> = (0..length).map(any).collect();
                        add(&mut builder, &elements);
                        *array = Some((count, elements));
                        count += 1;
                    }
                }
                builder.add_object(holder, 40);
                for (at, array) in (0..).zip(&arrays) {
                    if let Some((id, _)) = array {
                        builder.add_edge(Place::Field(at), ObjectId(*id));
                    }
                }
                builder.add_root(Root::new(RootKind::Static, "all"), ObjectId(count));
                holders.push((count, arrays.map(|it| it.map(|it| it.1))));
                count += 1;
            }
            let heap = builder.finish().unwrap();
            let ids = SlotIds::new(heap.classes());
            let slot = |at: usize| Array {
                field: at,
                name: ids.name_with_class(heap.classes(), ids.at(holder, Place::Field(at as u32))),
                own_name: ids.own_name(heap.classes(), ids.at(holder, Place::Field(at as u32))),
            };
            let group = Group {
                class: holder,
                place: 0,
                arrays: (0..3).map(slot).collect(),
                budget: 10_000,
            };
            let objects: Vec<ObjectId> = holders.iter().map(|it| ObjectId(it.0)).collect();
            let mut seen = Vec::new();
            let is_all = group.read(&heap, &objects, |object, it| {
                seen.push(match it {
                    Beside::Length(name, it) => format!("{object:?} {name} long {it}"),
                    Beside::Filled(name, at) => format!("{object:?} {name} has {at}"),
                    Beside::Nulls(name, it) => format!("{object:?} {name} lacks {it}"),
                    Beside::Pair(name, x, y) => format!("{object:?} {name}: {} {}", x.0, y.0),
                });
            });
            assert!(is_all);
            let mut twin = Vec::new();
            let letters = ["a", "b", "c"];
            for (id, arrays) in &holders {
                let object = ObjectId(*id);
                for (a, one) in arrays.iter().enumerate() {
                    let Some(one) = one else { continue };
                    let name = letters[a];
                    twin.push(format!("{object:?} Holder.{name} long {}", one.len()));
                    let like = |b: &usize| {
                        *b != a && arrays[*b].as_ref().is_some_and(|it| it.len() == one.len())
                    };
                    let others: Vec<usize> = (0..3).filter(like).collect();
                    if others.is_empty() {
                        continue;
                    }
                    let filled = (0..one.len()).filter(|&it| one[it].is_some());
                    twin.extend(
                        filled
                            .clone()
                            .map(|at| format!("{object:?} Holder.{name} has {at}")),
                    );
                    let nulls = one.len() - filled.count();
                    twin.push(format!("{object:?} Holder.{name} lacks {nulls}"));
                    for b in others {
                        for (x, y) in one.iter().zip(arrays[b].as_ref().unwrap()) {
                            let (Some(x), Some(y)) = (x, y) else { continue };
                            let pair = format!("{object:?} Holder.{name}[i]&{}[i]", letters[b]);
                            match (rows.get(x), rows.get(y)) {
                                (None, None) if a < b => twin.push(format!("{pair}: {x} {y}")),
                                (None, Some(row)) => {
                                    twin.extend(row.iter().map(|y| format!("{pair}[*]: {x} {y}")));
                                }
                                _ => {}
                            }
                        }
                    }
                }
            }
            seen.sort_unstable();
            twin.sort_unstable();
            assert_eq!(seen, twin);
            seen_in_all += seen.iter().filter(|it| it.contains("[i]")).count();
            let small = Group { budget: 1, ..group };
            let reads = seen.iter().any(|it| it.contains("lacks"));
            assert_eq!(
                small.sums(&heap, &objects, |it| it.0.into()).is_none(),
                reads
            );
        }
        assert!(seen_in_all > 500, "{seen_in_all}");
    }
}
