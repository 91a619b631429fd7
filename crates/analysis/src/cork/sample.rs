//! Finds an object that shows the growth, with its path.

use std::cmp::Reverse;
use std::collections::HashMap;

use heaphound_heap::path::{Origin, Reached, Search, Trail};
use heaphound_heap::root::RootSet;
use heaphound_heap::trace::Traceable;
use heaphound_heap::{ClassId, ClassInfo};

use super::Candidate;
use crate::summary::live;

/// The most objects that are examined to find one whose path goes through the slice.
const MOST_LOOKED_AT: usize = 256;

/// Returns an object of a candidate's class, with its path from a root.
///
/// The root is not a local if there is another, because locals hold every new object as well.
/// Objects that the slice leads to are preferred, in the container that has most of them, by a
/// path along the slice; then short paths. `classes` are those with which the candidate was
/// found. The view's own may have other numbers.
pub fn sample<T: Traceable>(
    view: &T,
    candidate: &Candidate,
    classes: &[ClassInfo],
) -> Option<Trail<T::Object>> {
    // More than one class may have the name.
    let here = |class: ClassId| -> Vec<ClassId> {
        let name = &classes[class.0 as usize - 1].name;
        let same = view.classes().iter().filter(|it| it.name == *name);
        same.map(|it| it.id).collect()
    };
    let slice = &candidate.slice;
    let chain: Vec<Vec<ClassId>> = slice.chain.iter().map(|edge| here(edge.from)).collect();
    // Here the path through classes ends. Only objects show which holder is the cause.
    let ends: Vec<ClassId> = match slice.holders.is_empty() {
        true => chain.last().cloned().unwrap_or_default(),
        false => slice.holders.iter().flat_map(|it| here(it.from)).collect(),
    };
    let direct = chain.first().unwrap_or(&ends);
    let objects = looked_at(view, &here(candidate.class), direct);
    let search = |from: Origin<'_, T::Object>| {
        let search = Search { from, avoid: &[] };
        Reached::new(view, &mut view.visits(), &search, &objects)
    };
    let mut reached = search(Origin::Roots(RootSet::Lasting));
    if objects.iter().all(|&it| reached.order(it).is_none()) {
        reached = search(Origin::Roots(RootSet::All));
    }
    let containers = reached.carried(|before, object| match before {
        Some((holder, _)) if ends.contains(&view.class_of(holder)) => Some(object),
        before => before.and_then(|it| it.1),
    });
    let mut counts: HashMap<Option<T::Object>, usize> = HashMap::new();
    for &container in containers.values() {
        *counts.entry(container).or_default() += 1;
    }
    let found = objects
        .iter()
        .filter_map(|&object| Some((object, reached.order(object)?)));
    let (first, _) = found.clone().min_by_key(|it| it.1)?;
    let nearest = containers[&first];
    let fullest = found.clone().map(|it| containers[&it.0]);
    let fullest = fullest.max_by_key(|it| counts[it])?;
    // Many objects may lead into one structure. Then the first of them matters.
    let leads_to_most = |container: T::Object| {
        let reached = search(Origin::Objects(&[container]));
        let inside = objects.iter().filter(|&&it| reached.order(it).is_some());
        inside.count() >= counts[&fullest]
    };
    let shown = match nearest {
        Some(container) if nearest != fullest && leads_to_most(container) => nearest,
        _ => fullest,
    };
    let along = |object: T::Object| {
        let before = reached.back(object).skip(1).zip(&chain);
        let same = before.take_while(|(object, class)| class.contains(&view.class_of(*object)));
        same.count()
    };
    // Only one path is built: a path along a list may be as long as the heap.
    let (best, _) = found
        .filter(|it| containers[&it.0] == shown)
        .min_by_key(|&(object, order)| (Reverse(along(object)), order))?;
    reached.trail(best)
}

/// Returns objects of a class, old and new: those that objects of the holders' classes refer to,
/// or any if there are none.
fn looked_at<T: Traceable>(view: &T, class: &[ClassId], holders: &[ClassId]) -> Vec<T::Object> {
    let is = |object: T::Object, classes: &[ClassId]| classes.contains(&view.class_of(object));
    let all = live(view, 1);
    let mut objects = Vec::new();
    for &holder in all.iter().filter(|&&it| is(it, holders)) {
        view.for_each_target(holder, |to| objects.extend(is(to, class).then_some(to)));
    }
    if objects.is_empty() {
        // The holders lead to another class of a recursive structure.
        objects.extend(all.into_iter().filter(|&it| is(it, class)));
    }
    objects.sort_unstable();
    objects.dedup();
    let step = objects.len().div_ceil(MOST_LOOKED_AT).max(1);
    objects.into_iter().step_by(step).collect()
}
