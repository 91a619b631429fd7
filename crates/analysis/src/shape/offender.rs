//! Offenders: the objects that cause a violation.

use std::collections::{BTreeMap, BTreeSet};

use heaphound_heap::ClassId;
use heaphound_heap::finding::{Evidence, Finding};
use heaphound_heap::path::{Reached, Search, named};
use heaphound_heap::trace::Traceable;

use super::facts::LaterFacts;
use super::{
    Backbones, Broken, Count, Degree, HashSum, Metric, Referrer, Relation, Side, Violation,
};
use super::{sums, walks};
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
    let own: Vec<&Violation> = own.collect();
    let mut objects = shown(view, backbones, &own);
    objects.truncate(MOST_SHOWN);
    if objects.is_empty() {
        let note = format!("somewhere in the objects of {class}: none of them differs for itself");
        finding.notes.push(note);
        return;
    }
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

/// Returns objects that cause some of the violations of a class, a few for each. A ring is shown only if nothing else
/// is: who comes into it need not be wrong where others certainly are.
pub fn shown<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    violations: &[&Violation],
) -> Vec<T::Object> {
    let facts = LaterFacts::new(view, backbones);
    let few = |it: &&Violation| offenders_of(view, backbones, &facts, it, MOST_OFFENDERS);
    let (rings, others): (Vec<&Violation>, Vec<&Violation>) =
        violations.iter().partition(|it| it.broken.is_ring());
    let mut objects: Vec<T::Object> = others.iter().flat_map(few).collect();
    if objects.is_empty() {
        objects = rings.iter().flat_map(few).collect();
    }
    objects.sort_unstable();
    objects.dedup();
    objects
}

/// Returns how many objects of a class differ from what was true of each of them.
pub fn extent<T: Traceable>(view: &T, backbones: &Backbones, violations: &[Violation]) -> usize {
    let facts = LaterFacts::new(view, backbones);
    let differ = |it| offenders_of(view, backbones, &facts, it, usize::MAX);
    let objects: BTreeSet<T::Object> = violations.iter().flat_map(differ).collect();
    objects.len()
}

/// Returns the objects that cause a violation, at most `limit`. Only those that themselves differ from
/// what is true of every object:
///
/// - No object has a degree: those that have it.
/// - A matching is broken: those for which it does not hold; of pairs, first those that are in
///   most of them; of what is beside each other, those that have most to do with them; of chains that must end, those
///   where one comes into a ring.
/// - Each object's slot refers to something: those whose slot is null.
/// - A fact is not so: those of which it is not.
///
/// Of anything else there are objects that are right and look the same. None of them is shown.
pub fn offenders<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    violation: &Violation,
    limit: usize,
) -> Vec<T::Object> {
    let facts = LaterFacts::new(view, backbones);
    offenders_of(view, backbones, &facts, violation, limit)
}

fn offenders_of<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    facts: &LaterFacts<'_, T>,
    violation: &Violation,
    limit: usize,
) -> Vec<T::Object> {
    let of_class = |class: ClassId| view.class(class).name == violation.class;
    let mut all = backbones.list().iter();
    let Some(place) = all.position(|it| of_class(it.class)) else {
        return Vec::new();
    };
    let mut found: Vec<T::Object> = match &violation.broken {
        Broken::Degree {
            degree,
            expected: Metric::Quirk(0),
            ..
        } => having(view, backbones, place, *degree),
        Broken::Degree { .. } => Vec::new(),
        Broken::Fact { fact, never, .. } => {
            return facts.get().breaking(place, fact, never, limit);
        }
        Broken::Match { relation, .. } if relation.terms.keys().any(HashSum::is_of_pairs) => {
            let (pairs, seen_by) = sums::unmatched(view, backbones, place, &relation.terms);
            let is_beside =
                |it: &HashSum| matches!(it, HashSum::Beside(_) | HashSum::BesideBack(_));
            return match relation.terms.keys().any(is_beside) {
                true => most_involved(&pairs, &seen_by, limit),
                false => most_common(pairs, limit),
            };
        }
        Broken::Match { relation, .. } => {
            let defects = sums::defects(view, backbones, place, &relation.terms);
            let walked = walks::in_relation(view, backbones, place, relation);
            defects.into_keys().chain(walked).collect()
        }
        Broken::Relation { relation, .. } => match full_slot(relation) {
            Some(slot) => {
                let terms = [(HashSum::Objects, 1), (HashSum::Sources(slot.clone()), -1)];
                let defects = sums::defects(view, backbones, place, &terms.into());
                let null = defects.into_iter().filter(|it| it.1 > 0);
                null.map(|it| it.0).collect()
            }
            None => Vec::new(),
        },
    };
    found.truncate(limit);
    found
}

/// Returns the slot of which a relation says that all objects have it.
pub(super) fn full_slot(relation: &Relation<Count>) -> Option<&SlotName> {
    let mut slots = relation.terms.keys().filter_map(|count| match count {
        Count::References(Referrer::Own(slot)) if !slot.is_elements() => Some(slot),
        _ => None,
    });
    let slot = slots.next()?;
    let own = Count::References(Referrer::Own(slot.clone()));
    let expected = Relation::of([(own, 1), (Count::Instances, -1)]);
    (expected.terms == relation.terms).then_some(slot)
}

/// Returns the objects that have a degree, in order.
fn having<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    place: usize,
    degree: Degree,
) -> Vec<T::Object> {
    let ids = SlotIds::new(view.classes());
    let own = &backbones.list()[place];
    let mut counts: BTreeMap<T::Object, usize> = BTreeMap::new();
    for object in live(view, 1) {
        let class = view.class_of(object);
        if class == own.class {
            counts.entry(object).or_default();
        }
        view.for_each_strong_edge(object, |at, to| {
            let to_class = view.class_of(to);
            let counted = match degree.side {
                Side::In => {
                    let raised = backbones.raises(ids.at(class, at), to_class);
                    Some(to).filter(|_| raised == Some(place))
                }
                Side::Out => {
                    let inside = class == own.class && backbones.is_outgoing(own, to_class);
                    Some(object).filter(|_| inside)
                }
            };
            if let Some(it) = counted {
                *counts.entry(it).or_default() += 1;
            }
        });
    }
    let having = counts.into_iter().filter(|it| degree.number.includes(it.1));
    having.map(|it| it.0).collect()
}

/// Returns the objects that most of these pairs are about and that have most of them in their slots: whoever has another
/// owner than its neighbours, not the neighbours. Whoever is in one pair alone may be right, and the other one wrong.
fn most_involved<O: Copy + Ord>(pairs: &[(O, O)], seen_by: &[O], limit: usize) -> Vec<O> {
    let mut times: BTreeMap<O, [usize; 2]> = BTreeMap::new();
    for object in pairs.iter().flat_map(|&(a, b)| [a, b]) {
        times.entry(object).or_default()[0] += 1;
    }
    for &object in seen_by {
        times.entry(object).or_default()[1] += 1;
    }
    times.retain(|_, &mut [about, by]| about > 1 && by > 0);
    let involved = |&[about, by]: &[usize; 2]| about + 2 * by;
    let most = times.values().map(involved).max();
    let shown = times.iter().filter(|it| Some(involved(it.1)) == most);
    shown.map(|it| *it.0).take(limit).collect()
}

/// Returns the objects of pairs, those first that are in most of them.
fn most_common<O: Copy + Ord>(pairs: Vec<(O, O)>, limit: usize) -> Vec<O> {
    let mut times: BTreeMap<O, usize> = BTreeMap::new();
    for (a, b) in pairs {
        *times.entry(a).or_default() += 1;
        *times.entry(b).or_default() += 1;
    }
    let mut all: Vec<(O, usize)> = times.into_iter().collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.1));
    all.into_iter().take(limit).map(|it| it.0).collect()
}
