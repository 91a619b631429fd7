//! Offenders: the objects that a violation is about.

use std::collections::BTreeMap;

use heaphound_heap::ClassId;
use heaphound_heap::trace::Traceable;

use super::{Backbones, Broken, Violation};
use crate::slot::SlotIds;
use crate::summary::live;

/// Objects that a violation is about, at most `limit`, in the order of the view: those that
/// have the degree in question; for a relation with too few references, those whose slot is
/// null; with too many, those that more than one refers to.
pub fn offenders<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    violation: &Violation,
    limit: usize,
) -> Vec<T::Object> {
    let ids = SlotIds::new(view.classes());
    let of_class = |class: ClassId| view.class(class).name == violation.class;
    let mut all = backbones.list().iter();
    let Some(backbone) = all.find(|it| of_class(it.class)) else {
        return Vec::new();
    };
    let mut incoming: BTreeMap<T::Object, usize> = BTreeMap::new();
    let mut outgoing: BTreeMap<T::Object, usize> = BTreeMap::new();
    let mut held: BTreeMap<T::Object, Vec<String>> = BTreeMap::new();
    for object in live(view, 1) {
        let class = view.class_of(object);
        let own = class == backbone.class;
        if own {
            incoming.entry(object).or_default();
            outgoing.entry(object).or_default();
        }
        view.for_each_strong_edge(object, |place, to| {
            let slot = ids.at(class, place);
            let to_class = view.class_of(to);
            if to_class == backbone.class && backbones.raises(slot, to_class).is_some() {
                *incoming.entry(to).or_default() += 1;
            }
            if own {
                let name = ids.name(view.classes(), slot);
                held.entry(object).or_default().push(format!(".{name}"));
                if to_class == class || Some(to_class) == backbone.through {
                    *outgoing.entry(object).or_default() += 1;
                }
            }
        });
    }
    let has = |count: usize, degree: &str| match degree {
        "=0" => count == 0,
        "=1" => count == 1,
        "=2" => count == 2,
        _ => count > 2,
    };
    let objects = |fits: &dyn Fn(&T::Object) -> bool| {
        let found = incoming.keys().filter(|object| fits(object));
        found.take(limit).copied().collect()
    };
    match &violation.broken {
        Broken::Degree(name) => match (name.strip_prefix("in"), name.strip_prefix("out")) {
            (Some(degree), _) => objects(&|it| has(incoming[it], degree)),
            (_, Some(degree)) => objects(&|it| has(outgoing[it], degree)),
            _ => Vec::new(),
        },
        Broken::Relation(relation) => {
            let shared: Vec<T::Object> = objects(&|it| incoming[it] > 1);
            let slots = relation.terms.keys().filter(|name| name.starts_with('.'));
            let slots: Vec<&String> = slots.collect();
            let lacks = |it: &T::Object| {
                let held = held.get(it);
                let has = |slot: &&String| held.is_some_and(|held| held.contains(slot));
                !slots.iter().any(has)
            };
            match violation.found.ends_with("more") && !shared.is_empty() {
                true => shared,
                false => objects(&lacks),
            }
        }
    }
}
