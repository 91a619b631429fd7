//! Bugs: one reference of a structure is changed, or two are swapped.

use std::collections::BTreeSet;

use super::kinds::{Kind, judge};
use super::model::Model;
use crate::programs::Random;

/// What was done to a reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    /// It is null.
    Null,
    /// It refers to the object that has it, or whose array has it.
    Itself,
    /// It refers to another object of the structure.
    Other,
    /// It refers to an object that belongs to no structure.
    Outside,
    /// It refers to what another reference refers to.
    Duplicate,
    /// It is swapped with another.
    Swap,
}

const CHANGES: [Change; 6] = [
    Change::Null,
    Change::Itself,
    Change::Other,
    Change::Outside,
    Change::Duplicate,
    Change::Swap,
];

/// A bug in a model.
pub(super) struct Bug {
    pub(super) model: Model,
    /// Whether references are wrong. If not, something is lost or out of order.
    pub(super) breaks_links: bool,
    /// Who may be blamed: who has the reference, what it referred to and refers to (of an
    /// array, its elements, too), and all that the judge calls broken.
    pub(super) guilty: BTreeSet<u32>,
}

/// Changes a reference at random. None if that leaves the structure as it is to its reader.
pub(super) fn insert(kind: &Kind, right: &Model, random: &mut Random) -> Option<Bug> {
    let mut model = right.clone();
    let all: Vec<u32> = right.reachable().into_iter().collect();
    let places = |wanted: &dyn Fn(u32, usize) -> bool| -> Vec<(u32, usize)> {
        let slots = all
            .iter()
            .flat_map(|&it| (0..right.slots(it).len()).map(move |at| (it, at)));
        slots.filter(|&(it, at)| wanted(it, at)).collect()
    };
    // As often a reference as a null.
    let full = random.index(4) > 0;
    let candidates = places(&|it, at| right.get(it, at).is_some() == full);
    let &(object, slot) = pick(&candidates, random)?;
    let allowed = right.targets(object, slot);
    let owner = all
        .iter()
        .copied()
        .find(|&it| right.slots(it).contains(&Some(object)));
    let old = right.get(object, slot);
    let change = CHANGES[random.index(CHANGES.len())];
    let mut guilty: BTreeSet<u32> = [Some(object), owner, old].into_iter().flatten().collect();
    let new = match change {
        Change::Null => None,
        Change::Itself => {
            let mut own = [Some(object), owner].into_iter().flatten();
            Some(own.find(|&it| allowed.contains(&right.class(it)))?)
        }
        Change::Other => {
            let others: Vec<u32> = all
                .iter()
                .copied()
                .filter(|&it| allowed.contains(&right.class(it)))
                .collect();
            Some(*pick(&others, random)?)
        }
        Change::Outside => {
            let like: Vec<u32> = all
                .iter()
                .copied()
                .filter(|&it| allowed.contains(&right.class(it)))
                .collect();
            let like = *pick(&like, random)?;
            // As a constructor leaves it: with arrays of its own, and all else null.
            let class = right.class(like);
            let outside = match right.slots(like).is_empty() {
                true => model.add(class),
                false => model.add_array(class, right.slots(like).len()),
            };
            for at in 0..right.slots(like).len() {
                let part = right.get(like, at);
                if let Some(part) = part.filter(|&it| right.is_array(it)) {
                    let array = model.add_array(right.class(part), right.slots(part).len());
                    model.set(outside, at, Some(array));
                }
            }
            Some(outside)
        }
        Change::Duplicate => {
            let others =
                places(&|it, at| right.targets(it, at) == allowed && right.get(it, at).is_some());
            let &(it, at) = pick(&others, random)?;
            right.get(it, at)
        }
        Change::Swap => {
            let others = places(&|it, at| right.targets(it, at) == allowed);
            let &(it, at) = pick(&others, random)?;
            let new = right.get(it, at);
            model.set(it, at, old);
            guilty.insert(it);
            guilty.extend(
                all.iter()
                    .copied()
                    .find(|&owner| right.slots(owner).contains(&Some(it))),
            );
            new
        }
    };
    model.set(object, slot, new);
    guilty.extend(new);
    // Who refers to an array refers to its elements.
    for array in [old, new].into_iter().flatten() {
        if model.is_array(array) {
            guilty.extend(model.slots(array).iter().flatten());
        }
    }
    let (before, after) = (judge(kind, right), judge(kind, &model));
    let breaks_links = !after.broken.is_empty();
    guilty.extend(after.broken);
    (breaks_links || before.content != after.content).then_some(Bug {
        model,
        breaks_links,
        guilty,
    })
}

fn pick<'a, T>(of: &'a [T], random: &mut Random) -> Option<&'a T> {
    match of.is_empty() {
        true => None,
        false => Some(&of[random.index(of.len())]),
    }
}
