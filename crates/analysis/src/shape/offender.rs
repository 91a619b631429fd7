//! Offenders: the objects that cause a violation.

use std::collections::{BTreeMap, BTreeSet};

use heaphound_heap::ClassId;
use heaphound_heap::finding::{Evidence, Finding};
use heaphound_heap::path::{Reached, Search, named};
use heaphound_heap::trace::Traceable;

use super::{Backbone, Backbones, Broken, Count, HashSum, Referrer, Relation, Side, Violation};
use crate::slot::{SlotIds, SlotName};
use crate::summary::live;

/// The most objects that a finding shows for each thing that is wrong.
const MOST_OFFENDERS: usize = 3;
/// The most that it shows in all.
const MOST_SHOWN: usize = 8;

/// Adds objects that offend, with their paths, to a finding about one class.
pub fn show_offenders<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    violations: &[Violation],
    finding: &mut Finding,
) {
    let class = &finding.objects[0].class;
    let own = violations.iter().filter(|it| it.class == *class);
    let few = |it| offenders(view, backbones, it, MOST_OFFENDERS);
    let mut objects: Vec<T::Object> = own.flat_map(few).collect();
    objects.sort_unstable();
    objects.dedup();
    objects.truncate(MOST_SHOWN);
    let reached = Reached::new(view, &mut view.visits(), &Search::everywhere(), &objects);
    for object in objects {
        match reached.trail(object) {
            Some(trail) => {
                let path = trail.describe(view);
                finding.evidence.push(Evidence::example(path));
            }
            None => {
                let name = named(view, object).name;
                finding.notes.push(format!("about {name}"));
            }
        }
    }
}

/// Returns the objects that cause a violation, at most `limit`, in the order of the view.
///
/// - Too many have a degree: those that have it.
/// - A matching is broken: those that it lacks or has twice.
/// - A relation has too few references: those whose slots are null, unless many may be.
/// - It has too many: those that its slots refer to more than once, unless many may be shared.
pub fn offenders<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    violation: &Violation,
    limit: usize,
) -> Vec<T::Object> {
    let of_class = |class: ClassId| view.class(class).name == violation.class;
    let mut all = backbones.list().iter();
    let Some(&backbone) = all.find(|it| of_class(it.class)) else {
        return Vec::new();
    };
    let edges = Edges::of(view, backbones, backbone);
    let objects = |fits: &dyn Fn(&T::Object) -> bool| {
        let found = edges.objects.iter().filter(|object| fits(object));
        found.take(limit).copied().collect()
    };
    let count = |counts: &BTreeMap<T::Object, usize>, it: &T::Object| -> usize {
        counts.get(it).copied().unwrap_or(0)
    };
    match &violation.broken {
        // Those that have the degree are right.
        broken @ Broken::Degree { .. } if broken.is_too_few() => Vec::new(),
        Broken::Degree { degree, .. } => {
            let counts = match degree.side {
                Side::In => &edges.incoming,
                Side::Out => &edges.outgoing,
            };
            objects(&|it| degree.number.includes(count(counts, it)))
        }
        Broken::Match(relation) => {
            let odd = edges.unmatched(relation);
            objects(&|it| odd.contains(it))
        }
        Broken::Relation {
            relation, excess, ..
        } => {
            let referrers = relation.terms.keys().filter_map(|count| match count {
                Count::References(referrer) => Some(referrer),
                _ => None,
            });
            let referrers: BTreeSet<&Referrer> = referrers.collect();
            let off_by = excess.unsigned_abs();
            if violation.broken.is_too_few() {
                let is_full = |slot: &SlotName| referrers.contains(&Referrer::Own(slot.clone()));
                let full = edges.own.iter().filter(|(slot, ..)| is_full(slot));
                let full: BTreeSet<T::Object> = full.map(|&(_, from, _)| from).collect();
                // The ends of lists and the leaves of trees are right, and there are many.
                let null = (edges.objects.len() - full.len()) as u128;
                return match null <= 2 * off_by {
                    true => objects(&|it| !full.contains(it)),
                    false => Vec::new(),
                };
            }
            // Each reference too many leads to an object that has one already, or to another
            // structure. If more are shared than that, sharing is part of the structure.
            let times = edges.times(&referrers);
            let shared = edges.objects.iter().filter(|it| count(&times, it) > 1);
            match shared.count() as u128 <= off_by {
                true => objects(&|it| count(&times, it) > 1),
                false => Vec::new(),
            }
        }
    }
}

/// All edges from and to a backbone.
struct Edges<O> {
    /// All objects of the backbone, in order.
    objects: BTreeSet<O>,
    /// References from inside the structure, and to it, where there are any.
    incoming: BTreeMap<O, usize>,
    outgoing: BTreeMap<O, usize>,
    /// From the backbone: slot, from, to.
    own: Vec<(SlotName, O, O)>,
    /// To the backbone from others: slot, to.
    held: Vec<(SlotName, O)>,
}

impl<O: Copy + Ord> Edges<O> {
    fn of<T: Traceable<Object = O>>(view: &T, backbones: &Backbones, backbone: Backbone) -> Self {
        let ids = SlotIds::new(view.classes());
        let mut edges = Self {
            objects: BTreeSet::new(),
            incoming: BTreeMap::new(),
            outgoing: BTreeMap::new(),
            own: Vec::new(),
            held: Vec::new(),
        };
        for object in live(view, 1) {
            let class = view.class_of(object);
            let own = class == backbone.class;
            if own {
                edges.objects.insert(object);
            }
            view.for_each_strong_edge(object, |place, to| {
                let slot = ids.at(class, place);
                let to_class = view.class_of(to);
                let arrives = to_class == backbone.class;
                if arrives && backbones.raises(slot, to_class).is_some() {
                    *edges.incoming.entry(to).or_default() += 1;
                }
                if own {
                    let name = ids.own_name(view.classes(), slot);
                    edges.own.push((name, object, to));
                    if arrives || Some(to_class) == backbone.through {
                        *edges.outgoing.entry(object).or_default() += 1;
                    }
                } else if arrives {
                    let name = ids.name_with_class(view.classes(), slot);
                    edges.held.push((name, to));
                }
            });
        }
        edges
    }

    /// Returns how often slots refer to each object.
    fn times(&self, referrers: &BTreeSet<&Referrer>) -> BTreeMap<O, usize> {
        let own = self.own.iter();
        let own = own.map(|(slot, _, to)| (Referrer::Own(slot.clone()), *to));
        let held = self.held.iter();
        let held = held.map(|(slot, to)| (Referrer::Other(slot.clone()), *to));
        let mut times: BTreeMap<O, usize> = BTreeMap::new();
        for (_, to) in own.chain(held).filter(|it| referrers.contains(&it.0)) {
            *times.entry(to).or_default() += 1;
        }
        times
    }

    /// Returns the objects that a matching lacks or has twice. If it is about pairs, these
    /// are the sources.
    fn unmatched(&self, relation: &Relation<HashSum>) -> BTreeSet<O> {
        let mut targets = BTreeSet::new();
        let (mut forward, mut backward) = (BTreeSet::new(), BTreeSet::new());
        for term in relation.terms.keys() {
            match term {
                HashSum::Objects => {}
                HashSum::Targets(referrer) => drop(targets.insert(referrer)),
                HashSum::Forward(slot) => drop(forward.insert(slot)),
                HashSum::Backward(slot) => drop(backward.insert(slot)),
            }
        }
        if backward.is_empty() {
            let times = self.times(&targets);
            let odd = self.objects.iter().filter(|it| times.get(it) != Some(&1));
            return odd.copied().collect();
        }
        let edges_of = |slots: &BTreeSet<&SlotName>| {
            let edges = self.own.iter().filter(|(slot, ..)| slots.contains(slot));
            edges.map(|&(_, from, to)| (from, to)).collect::<Vec<_>>()
        };
        let forth: BTreeSet<(O, O)> = edges_of(&forward).into_iter().collect();
        let back = edges_of(&backward).into_iter().map(|(from, to)| (to, from));
        let back: BTreeSet<(O, O)> = back.collect();
        forth.symmetric_difference(&back).map(|it| it.0).collect()
    }
}
