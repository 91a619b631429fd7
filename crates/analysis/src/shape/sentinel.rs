//! Sentinels: what is true of all objects but one that stands for nothing.
//!
//! A tree may have an object that is meant where others have a null. Anybody may refer to it, so that nothing is the
//! inverse of anything, and no object but it is referred to too often. If it is left out, all is as in other trees. It is known
//! by who holds it: a slot of another class (`SearchTree.nil`), or a static. So after marking, the sums of a class are added up
//! once more, without what each such slot refers to: `except SearchTree.nil: by .left`.
//!
//! That costs as much as looking at the class again, and is done only where counting has seen that it may be so: slots lead to
//! their own class and have no inverse, some object has two referrers, and few objects may be left out. The sums are
//! added up only where most slots that have nothing lead there: at least three quarters as many references as there are objects.

use std::collections::{BTreeMap, BTreeSet};

use heaphound_heap::trace::Traceable;
use heaphound_heap::view::Place;
use heaphound_heap::{ClassId, FieldKind, RootKind};

use super::walks::slots_in_question;
use super::{Backbones, HashSum, Measure, Referrer, SumCounters};
use crate::slot::{SlotId, SlotIds, SlotName};
use crate::summary::Summary;

/// With more slots that may hold one, none is looked for.
const MOST_HOLDERS: usize = 4;

/// A class that may have sentinels.
pub(super) struct Suspect<O> {
    objects: Vec<O>,
    class: ClassId,
    /// Fields that lead to the class itself.
    slots: Vec<(SlotName, usize)>,
    /// What holds objects of the class: slots of others, with all objects that these hold.
    holders: Vec<(SlotName, Vec<O>)>,
    /// What may be left out.
    exceptions: Vec<(SlotName, BTreeSet<O>)>,
}

/// What is seen of the objects that are not left out.
enum Seen<'s, O> {
    Object(O),
    /// A slot of one refers to another.
    Own(&'s SlotName, O, O),
    /// A slot of another class refers to one.
    Other(&'s SlotName, O),
}

impl<O: Copy + Ord> Suspect<O> {
    /// Returns the class at a place of the list, if there may be sentinels among its objects. `instances` lists the live
    /// objects of a class.
    pub(super) fn find<T: Traceable<Object = O>>(
        view: &T,
        summary: &Summary,
        backbones: &Backbones,
        ids: &SlotIds,
        measures: &[Measure],
        place: usize,
        mut instances: impl FnMut(ClassId) -> Vec<O>,
    ) -> Option<Self> {
        let class = backbones.list()[place].class;
        let most = (measures[place].instances / 4).max(4);
        let may_be = |references: u64| (1..=most).contains(&references);
        let slots = slots_in_question(view, backbones, ids, measures, place);
        if slots.is_empty() {
            return None;
        }
        let fields: Vec<(SlotId, ClassId, usize)> = fields_to(view, summary, ids, class);
        let mut statics: BTreeMap<String, BTreeSet<O>> = BTreeMap::new();
        view.for_each_root(|root, object| {
            if root.kind == RootKind::Static && view.class_of(object) == class {
                statics.entry(root.to_string()).or_default().insert(object);
            }
        });
        statics.retain(|_, objects| may_be(objects.len() as u64));
        let holds = |slot: SlotId| -> u64 {
            let edges = summary.edges_of(slot).iter();
            edges
                .filter(|it| it.to == class)
                .map(|it| it.references)
                .sum()
        };
        let suspects = fields.iter().filter(|it| may_be(holds(it.0))).count() + statics.len();
        if suspects == 0 || fields.len() > MOST_HOLDERS || statics.len() > MOST_HOLDERS {
            return None;
        }
        let mut holders: Vec<(SlotName, Vec<O>)> = Vec::new();
        let mut exceptions: Vec<(SlotName, BTreeSet<O>)> = Vec::new();
        let mut last: Option<(ClassId, Vec<O>)> = None;
        for (slot, holder, field) in fields {
            let objects = match last.take() {
                Some((class, objects)) if class == holder => objects,
                _ => instances(holder),
            };
            let held = objects.iter().filter_map(|&it| view.slot(it, field));
            let held: Vec<O> = held.filter(|&it| view.class_of(it) == class).collect();
            last = Some((holder, objects));
            let name = ids.name_with_class(view.classes(), slot);
            if may_be(held.len() as u64) {
                exceptions.push((name.clone(), held.iter().copied().collect()));
            }
            holders.push((name, held));
        }
        let statics = statics.into_iter();
        exceptions.extend(statics.map(|(name, objects)| (name.as_str().into(), objects)));
        let first = ids.at(class, Place::Field(0)).0;
        let slots = slots.into_iter();
        let slots = slots.map(|it| (ids.own_name(view.classes(), it), (it.0 - first) as usize));
        let mut suspect = Self {
            objects: instances(class),
            class,
            slots: slots.collect(),
            holders,
            exceptions,
        };
        suspect.keep_hubs(view);
        (!suspect.exceptions.is_empty()).then_some(suspect)
    }

    /// Leaves only what so many objects refer to that it may be a sentinel.
    fn keep_hubs<T: Traceable<Object = O>>(&mut self, view: &T) {
        let exceptions = std::mem::take(&mut self.exceptions);
        let is_hub = |(_, left_out): &(SlotName, BTreeSet<O>)| {
            let targets = self.objects.iter().flat_map(|&it| {
                let slots = self.slots.iter();
                slots.filter_map(move |slot| view.slot(it, slot.1))
            });
            let references = targets.filter(|it| left_out.contains(it)).count();
            4 * references >= 3 * self.objects.len()
        };
        self.exceptions = exceptions.into_iter().filter(is_hub).collect();
    }

    fn read<T: Traceable<Object = O>>(
        &self,
        view: &T,
        left_out: &BTreeSet<O>,
        mut f: impl FnMut(Seen<'_, O>),
    ) {
        for &object in self.objects.iter().filter(|it| !left_out.contains(it)) {
            f(Seen::Object(object));
            for (name, field) in &self.slots {
                let to = view.slot(object, *field);
                if let Some(to) = to.filter(|it| view.class_of(*it) == self.class)
                    && !left_out.contains(&to)
                {
                    f(Seen::Own(name, object, to));
                }
            }
        }
        for (name, held) in &self.holders {
            let held = held.iter().filter(|it| !left_out.contains(it));
            held.for_each(|&it| f(Seen::Other(name, it)));
        }
    }

    /// Returns the sums without each of the exceptions. `number` is that of an object in other sums.
    pub(super) fn sums<T: Traceable<Object = O>>(
        &self,
        view: &T,
        number: impl Fn(O) -> u64,
    ) -> BTreeMap<HashSum, u64> {
        let mut all = BTreeMap::new();
        for (except, left_out) in &self.exceptions {
            // That they are nothing is known, too.
            let mut sums: BTreeMap<HashSum, u64> =
                self.terms().into_iter().map(|it| (it, 0)).collect();
            let mut add = |sum: HashSum, hash: u64| {
                let known = sums.entry(sum).or_default();
                *known = known.wrapping_add(hash);
            };
            self.read(view, left_out, |seen| match seen {
                Seen::Object(it) => add(HashSum::Objects, SumCounters::hash(number(it))),
                Seen::Own(slot, from, to) => {
                    let own = Referrer::Own(slot.clone());
                    let (from, to) = (number(from), number(to));
                    add(HashSum::Sources(slot.clone()), SumCounters::hash(from));
                    add(HashSum::Targets(own.clone()), SumCounters::hash(to));
                    let forth = SumCounters::hash_pair(from, to);
                    add(HashSum::Forward(own.clone()), forth);
                    add(HashSum::Backward(own), SumCounters::hash_pair(to, from));
                }
                Seen::Other(slot, to) => {
                    let other = Referrer::Other(slot.clone());
                    add(HashSum::Targets(other), SumCounters::hash(number(to)));
                }
            });
            let sums = sums.into_iter();
            all.extend(sums.map(|(sum, it)| (HashSum::Except(except.clone(), sum.into()), it)));
        }
        all
    }

    /// Returns all sums that there are without an exception.
    fn terms(&self) -> Vec<HashSum> {
        let mut terms = vec![HashSum::Objects];
        for (slot, _) in &self.slots {
            let own = || Referrer::Own(slot.clone());
            terms.push(HashSum::Sources(slot.clone()));
            terms.push(HashSum::Targets(own()));
            terms.push(HashSum::Forward(own()));
            terms.push(HashSum::Backward(own()));
        }
        let others = self.holders.iter();
        terms.extend(others.map(|it| HashSum::Targets(Referrer::Other(it.0.clone()))));
        terms
    }

    /// Returns the objects for which a sum of sums without an exception does not add up, and the pairs that it has too often or too
    /// rarely.
    pub(super) fn unmatched<T: Traceable<Object = O>>(
        &self,
        view: &T,
        terms: &BTreeMap<HashSum, i64>,
    ) -> (Vec<O>, Vec<(O, O)>) {
        let mut objects: BTreeMap<O, i64> = BTreeMap::new();
        let mut pairs: BTreeMap<(O, O), i64> = BTreeMap::new();
        for (except, left_out) in &self.exceptions {
            let times = |sum: HashSum| {
                let sum = HashSum::Except(except.clone(), sum.into());
                terms.get(&sum).copied().unwrap_or(0)
            };
            let mut object = |it, times| *objects.entry(it).or_default() += times;
            self.read(view, left_out, |seen| match seen {
                Seen::Object(it) => object(it, times(HashSum::Objects)),
                Seen::Own(slot, from, to) => {
                    let own = || Referrer::Own(slot.clone());
                    object(from, times(HashSum::Sources(slot.clone())));
                    object(to, times(HashSum::Targets(own())));
                    *pairs.entry((from, to)).or_default() += times(HashSum::Forward(own()));
                    *pairs.entry((to, from)).or_default() += times(HashSum::Backward(own()));
                }
                Seen::Other(slot, to) => {
                    object(to, times(HashSum::Targets(Referrer::Other(slot.clone()))));
                }
            });
        }
        objects.retain(|_, times| *times != 0);
        pairs.retain(|_, times| *times != 0);
        (objects.into_keys().collect(), pairs.into_keys().collect())
    }
}

/// Returns the fields of other classes that lead to a class, each with its class and its place in it, class by class.
fn fields_to<T: Traceable>(
    view: &T,
    summary: &Summary,
    ids: &SlotIds,
    class: ClassId,
) -> Vec<(SlotId, ClassId, usize)> {
    let others = summary.classes().map(|it| it.0).filter(|&it| it != class);
    let fields = others.flat_map(|holder| {
        let fields = (0..).zip(&view.class(holder).fields);
        let fields = fields.filter(|it| matches!(it.1.kind, FieldKind::Ref | FieldKind::Opt));
        fields.map(move |(at, _)| (ids.at(holder, Place::Field(at)), holder, at as usize))
    });
    let leads = |slot: SlotId| summary.edges_of(slot).iter().any(|edge| edge.to == class);
    fields.filter(|it| leads(it.0)).collect()
}
