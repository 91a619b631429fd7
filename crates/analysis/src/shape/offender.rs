//! Offenders: the objects that a violation is about.

use std::collections::{BTreeMap, BTreeSet};

use heaphound_heap::ClassId;
use heaphound_heap::finding::{Evidence, Finding};
use heaphound_heap::path::{Reached, Search, named};
use heaphound_heap::trace::Traceable;

use super::{Backbone, Backbones, Broken, Relation, Violation, matching};
use crate::slot::SlotIds;
use crate::summary::live;

/// Objects that a finding shows, for each thing that is wrong.
const MOST_OFFENDERS: usize = 3;
/// And all together.
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

/// Objects that a violation is about, at most `limit`, in the order of the view: those that
/// have a degree that too many have; those that a matching leaves over or has twice; for a
/// relation with too few references, those whose slots are null, unless most of them may be;
/// with too many, those that its slots refer to more than once, unless that is usual.
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
    let has = |count: usize, degree: &str| match degree {
        "=0" => count == 0,
        "=1" => count == 1,
        "=2" => count == 2,
        _ => count > 2,
    };
    let objects = |fits: &dyn Fn(&T::Object) -> bool| {
        let found = edges.objects.iter().filter(|object| fits(object));
        found.take(limit).copied().collect()
    };
    let count = |counts: &BTreeMap<T::Object, usize>, it: &T::Object| -> usize {
        counts.get(it).copied().unwrap_or(0)
    };
    match &violation.broken {
        // Those that have it are right; the others show where they are too many.
        Broken::Degree(_) if violation.fewer => Vec::new(),
        Broken::Degree(name) => match (name.strip_prefix("in"), name.strip_prefix("out")) {
            (Some(degree), _) => objects(&|it| has(count(&edges.incoming, it), degree)),
            (_, Some(degree)) => objects(&|it| has(count(&edges.outgoing, it), degree)),
            _ => Vec::new(),
        },
        Broken::Match(relation) => {
            let odd = edges.unmatched(relation);
            objects(&|it| odd.contains(it))
        }
        Broken::Relation(relation) => {
            let own = |slot: &str| relation.terms.contains_key(slot);
            let full: BTreeSet<T::Object> = edges
                .own
                .iter()
                .filter(|(slot, ..)| own(slot))
                .map(|&(_, from, _)| from)
                .collect();
            if violation.fewer {
                // The ends of lists and the leaves of trees are right, and mostly many.
                let null = (edges.objects.len() - full.len()) as u64;
                return match null <= 2 * violation.count {
                    true => objects(&|it| !full.contains(it)),
                    false => Vec::new(),
                };
            }
            // So many references too many lead to so many objects that have one already, or to
            // others: if more are shared, that is how the structure is made.
            let parts: Vec<&str> = relation.terms.keys().map(String::as_str).collect();
            let times = edges.times(&parts);
            let shared = edges.objects.iter().filter(|it| count(&times, it) > 1);
            match shared.count() as u64 <= violation.count {
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
    /// From the backbone: `.next`, from, to.
    own: Vec<(String, O, O)>,
    /// To the backbone from others: `List.head`, to.
    held: Vec<(String, O)>,
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
                    let name = ids.name(view.classes(), slot);
                    edges.own.push((format!(".{name}"), object, to));
                    if arrives || Some(to_class) == backbone.through {
                        *edges.outgoing.entry(object).or_default() += 1;
                    }
                } else if arrives {
                    let name = ids.full_name(view.classes(), slot);
                    edges.held.push((name, to));
                }
            });
        }
        edges
    }

    /// How often slots refer to each object.
    fn times(&self, slots: &[&str]) -> BTreeMap<O, usize> {
        let own = self.own.iter().map(|(slot, _, to)| (slot, *to));
        let held = self.held.iter().map(|(slot, to)| (slot, *to));
        let mut times: BTreeMap<O, usize> = BTreeMap::new();
        for (_, to) in own
            .chain(held)
            .filter(|(slot, _)| slots.contains(&slot.as_str()))
        {
            *times.entry(to).or_default() += 1;
        }
        times
    }

    /// The objects that a matching leaves over or has twice; of pairs, where they start.
    fn unmatched(&self, relation: &Relation) -> BTreeSet<O> {
        let parts = matching::Parts::of(relation);
        if parts.back.is_empty() {
            let times = self.times(&parts.to);
            let odd = self.objects.iter().filter(|it| times.get(it) != Some(&1));
            return odd.copied().collect();
        }
        let pairs = |slots: &[&str], swap: bool| -> BTreeSet<(O, O)> {
            let edges = self.own.iter();
            let edges = edges.filter(|(slot, ..)| slots.contains(&slot.as_str()));
            let pair = |&(_, from, to): &(String, O, O)| match swap {
                true => (to, from),
                false => (from, to),
            };
            edges.map(pair).collect()
        };
        let forth = pairs(&parts.forth, false);
        let back = pairs(&parts.back, true);
        forth.symmetric_difference(&back).map(|it| it.0).collect()
    }
}
