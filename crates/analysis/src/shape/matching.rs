//! Matchings: sums of hashes that always add up to nothing, so that something is true of each object.
//!
//! First the simplest are tried, of two to four sums; then those that a person would look for
//! in a tree of many slots; then, if enough has been seen, whatever else depends on the rest. A
//! matching that follows from others is left out.

use super::modular::Echelon;
use super::relation::{ENOUGH_POINTS, Learnable, Point, Relations, number, row, solve};
use super::{HashSum, Measure, Referrer, Relation};
use crate::slot::SlotName;

/// With more sums, fewer are tried together.
const MOST_IN_FOURS: usize = 20;
const MOST_IN_THREES: usize = 40;
const MOST_SUMS: usize = 200;
/// A matching with more sums is hard to understand.
const MOST_TERMS: usize = 12;
/// Points that must have confirmed a matching that nobody would look for.
const ENOUGH_CONFIRMED: usize = 3;
/// Objects that a matching must have been true of, in all points together. Of a few it may be by accident.
const ENOUGH_OBJECTS: i64 = 48;
/// Objects whose arrays must have had a first element, if all had one.
const ENOUGH_FIRSTS: i64 = 512;
/// What an object adds to a sum of hashes of 31 bits, on average.
const OF_AN_OBJECT: i64 = 1 << 30;

impl Learnable for HashSum {
    fn find(learnt: &Relations<Self>) -> Vec<Relation<Self>> {
        let (pairs, sums): (Vec<&Self>, Vec<&Self>) = learnt
            .terms()
            .into_iter()
            .partition(|term| term.is_of_pairs());
        let mut found = search(learnt, sums);
        found.extend(search(learnt, pairs));
        found
    }
}

/// Returns matchings of some of these sums, of which none follows from the others.
fn search(learnt: &Relations<HashSum>, mut terms: Vec<&HashSum>) -> Vec<Relation<HashSum>> {
    let points = learnt.basis();
    let is_never = |term: &&HashSum| points.iter().all(|point| number(point, term) == 0);
    let never = terms.iter().copied().filter(is_never);
    // Other things that never were may come with other sizes.
    let never = never.filter(|term| match term {
        HashSum::Gaps(_) => true,
        HashSum::Rings(slot) | HashSum::Strays(slot) => has_chains(learnt, term, Some(slot)),
        HashSum::HolderGaps => has_chains(learnt, term, None),
        _ => false,
    });
    let mut chosen: Vec<_> = never
        .map(|term| Relation::of([(term.clone(), 1)]))
        .collect();
    terms.retain(|term| !is_never(term) && !term.is_walked());
    if terms.len() > MOST_SUMS || points.is_empty() {
        return chosen;
    }
    let mut independent = Echelon::new(terms.len(), std::iter::empty());
    let mut choose = |mut relation: Relation<HashSum>| {
        if compares_lengths_with_objects(&relation) || !is_seen_to_differ(learnt, &relation) {
            return;
        }
        let is_back = |it: &&HashSum| matches!(it, HashSum::Backward(_));
        if 2 * relation.terms.keys().filter(is_back).count() > relation.terms.len() {
            relation.terms = mirrored(&relation.terms);
        }
        // So that it reads `… = all`, and `by … = back by …`.
        let right = relation.terms.iter().find(|it| it.0.is_right());
        if right.is_some_and(|it| *it.1 > 0) {
            relation
                .terms
                .values_mut()
                .for_each(|times| *times = -*times);
        }
        if independent.add(&row(&terms, &relation.terms)) {
            // If each pair is there the other way round, too, that says the same.
            independent.add(&row(&terms, &mirrored(&relation.terms)));
            // What is not believed is not believed as a part of something else either.
            if is_supported(learnt, &relation) {
                chosen.push(relation);
            }
        }
    };
    let rows: Vec<Vec<i64>> = points.iter().map(|point| row(&terms, point)).collect();
    let most = match terms.len() {
        count if count <= MOST_IN_FOURS => 4,
        count if count <= MOST_IN_THREES => 3,
        _ => 2,
    };
    for size in 2..=most {
        for_each_sum(terms.len(), size, &mut |sum| {
            let value = |row: &Vec<i64>| -> i128 {
                let parts = sum
                    .iter()
                    .map(|&(at, times)| row[at] as i128 * times as i128);
                parts.sum()
            };
            if rows.iter().all(|row| value(row) == 0) {
                choose(Relation::of(
                    sum.iter().map(|&(at, times)| (terms[at].clone(), times)),
                ));
            }
        });
    }
    for relation in of_all_slots(&terms) {
        if points.iter().all(|point| relation.value(point) == 0) {
            choose(relation);
        }
    }
    if learnt.confirmed() >= ENOUGH_CONFIRMED {
        let known = Echelon::new(terms.len(), rows.iter().cloned());
        for column in 0..terms.len() {
            let solved = solve(&known, &terms, column);
            let solved = solved.filter(|it| it.terms.len() <= MOST_TERMS);
            if let Some(relation) = solved
                && points.iter().all(|point| relation.value(point) == 0)
            {
                choose(relation);
            }
        }
    }
    chosen
}

/// Returns whether a length stands for a number of objects: all arrays that were seen are of one length, and a head
/// that has none yet would break it.
fn compares_lengths_with_objects(relation: &Relation<HashSum>) -> bool {
    let is_length = |it: &HashSum| matches!(it, HashSum::Length(_) | HashSum::HeadLength(_));
    relation.terms.keys().any(is_length) && relation.terms.values().any(|it| it.abs() != 1)
}

/// Returns whether a matching about gaps, or about the first elements of arrays, was seen where they might have been null. Where most
/// have one, those that have none may have it in common by chance that they are the first of their chain.
fn is_seen_to_differ(learnt: &Relations<HashSum>, relation: &Relation<HashSum>) -> bool {
    let is_gap = |it: &&HashSum| matches!(it, HashSum::Gaps(_));
    let mut gaps = relation.terms.keys().filter(is_gap);
    // Nor is it known of a few gaps what they have to do with anything else.
    let are_few = |term: &HashSum| {
        let gaps = learnt.kept().map(|it| number(it, term) / OF_AN_OBJECT);
        gaps.sum::<i64>() < ENOUGH_OBJECTS
    };
    if gaps.any(are_few) {
        return false;
    }
    let is_first = |it: &&HashSum| matches!(it, HashSum::Sources(slot) if slot.is_first());
    let mut firsts = relation.terms.keys().filter(is_first);
    firsts.all(|term| {
        let lack = |point: &Point<HashSum>| {
            (number(point, &HashSum::Objects) - number(point, term)) / OF_AN_OBJECT
        };
        let lacking: i64 = learnt.kept().map(lack).sum();
        let objects = learnt.kept().map(|it| number(it, term) / OF_AN_OBJECT);
        match lacking {
            0 => objects.sum::<i64>() >= ENOUGH_FIRSTS,
            _ => lacking >= ENOUGH_OBJECTS,
        }
    })
}

/// Returns whether a matching was seen often enough to be believed: at every point, or of many objects. Some of what it
/// is about may be rare, and where there is none of it the matching says nothing.
fn is_supported(learnt: &Relations<HashSum>, relation: &Relation<HashSum>) -> bool {
    let most = |point: &Point<HashSum>| {
        let sums = relation.terms.keys().map(|term| number(point, term));
        sums.max().unwrap_or(0)
    };
    let sums: Vec<i64> = learnt.kept().map(most).filter(|&it| it > 0).collect();
    let objects: i64 = sums.iter().map(|it| it / OF_AN_OBJECT).sum();
    let is_everywhere = sums.len() == learnt.points();
    sums.len() >= ENOUGH_POINTS && (is_everywhere || objects >= ENOUGH_OBJECTS)
}

/// Returns whether there were enough objects where rings, strays or gaps were looked for: if along a slot, such
/// that refer to others.
fn has_chains(learnt: &Relations<HashSum>, walked: &HashSum, slot: Option<&SlotName>) -> bool {
    let looked = learnt.kept().filter(|point| point.contains_key(walked));
    let chained = looked.map(|point| {
        let sum = |of: HashSum| number(point, &of);
        let sum = match slot {
            Some(slot) => sum(HashSum::Sources(slot.clone())) - sum(HashSum::Itself(slot.clone())),
            None => sum(HashSum::Objects),
        };
        sum / OF_AN_OBJECT
    });
    let chained: Vec<i64> = chained.filter(|&it| it > 0).collect();
    chained.len() >= ENOUGH_POINTS && chained.iter().sum::<i64>() >= ENOUGH_OBJECTS
}

/// Returns whether a matching says that a slot of each object refers to something, and no more than so many do not.
pub(super) fn is_of_nulls(relation: &Relation<HashSum>, excess: i128, most: u64) -> bool {
    let mut terms = relation.terms.iter();
    let is_of_nulls = matches!(
        (terms.next(), terms.next(), terms.next()),
        (
            Some((HashSum::Objects, -1)),
            Some((HashSum::Sources(_), 1)),
            None
        )
    );
    // A hash is less than twice what it is on average.
    is_of_nulls && excess.unsigned_abs() < 2 * (OF_AN_OBJECT as u128) * u128::from(most)
}

/// Returns the same about pairs the other way round.
fn mirrored(terms: &Point<HashSum>) -> Point<HashSum> {
    let mirrored = |(term, &times): (&HashSum, &i64)| {
        let term = match term.clone() {
            HashSum::Forward(slot) => HashSum::Backward(slot),
            HashSum::Backward(slot) => HashSum::Forward(slot),
            HashSum::Beside(slots) => HashSum::BesideBack(slots),
            HashSum::BesideBack(slots) => HashSum::Beside(slots),
            other => other,
        };
        (term, times)
    };
    terms.iter().map(mirrored).collect()
}

/// Calls `f` with all sums of `size` of `count` terms, each added or subtracted, the first added.
fn for_each_sum(count: usize, size: usize, f: &mut impl FnMut(&[(usize, i64)])) {
    fn next(
        count: usize,
        size: usize,
        sum: &mut Vec<(usize, i64)>,
        f: &mut impl FnMut(&[(usize, i64)]),
    ) {
        if sum.len() == size {
            return f(sum);
        }
        let start = sum.last().map_or(0, |it| it.0 + 1);
        for at in start..count {
            for times in [1, -1] {
                if !sum.is_empty() || times == 1 {
                    sum.push((at, times));
                    next(count, size, sum, f);
                    sum.pop();
                }
            }
        }
    }
    next(count, size, &mut Vec::new(), f);
}

/// Returns what may be true of a tree of many slots: each object is referred to once by them and
/// another; one slot is the inverse of all others.
fn of_all_slots(terms: &[&HashSum]) -> Vec<Relation<HashSum>> {
    let own = |term: &&&HashSum| matches!(term, HashSum::Targets(Referrer::Own(_)));
    let other = |term: &&&HashSum| matches!(term, HashSum::Targets(Referrer::Other(_)));
    let is_forth = |term: &&&HashSum| matches!(term, HashSum::Forward(_));
    let all: Vec<&HashSum> = terms.iter().filter(own).copied().collect();
    let mut found = Vec::new();
    let mut groups = vec![all.clone()];
    groups.extend((0..all.len()).map(|but| {
        let mut group = all.clone();
        group.remove(but);
        group
    }));
    for group in groups.iter().filter(|group| !group.is_empty()) {
        for holder in terms.iter().filter(other).map(Some).chain([None]) {
            let sum = group.iter().chain(holder).map(|&term| (term.clone(), 1));
            // Of crossed lists, each object is in two.
            for times in [1, 2] {
                let all = [(HashSum::Objects, -times)];
                found.push(Relation::of(sum.clone().chain(all)));
            }
        }
    }
    let forth: Vec<&HashSum> = terms.iter().filter(is_forth).copied().collect();
    for back in terms {
        if let HashSum::Backward(slot) = back {
            let down = forth
                .iter()
                .filter(|it| **it != &HashSum::Forward(slot.clone()));
            let down = down.map(|&it| (it.clone(), 1));
            found.push(Relation::of(down.chain([((*back).clone(), -1)])));
        }
    }
    found
}

/// Returns what is added up of a structure.
pub(super) fn point(measure: &Measure) -> Point<HashSum> {
    let sums = measure.matches.iter();
    sums.map(|(sum, &value)| (sum.clone(), value as i64))
        .collect()
}

/// Returns whether all that a matching is about was looked at: the classes of its slots are still
/// part of the structure, and the arrays of its slots were read.
pub(super) fn is_measured(relation: &Relation<HashSum>, measure: &Measure) -> bool {
    let is_member = |slot: &str| {
        let array = slot
            .strip_suffix("[*]")
            .is_some_and(|it| measure.members.contains(it));
        let class = slot.rsplit_once('.').map(|it| it.0);
        array || class.is_some_and(|class| measure.members.contains(class))
    };
    let is_read = |slot: &str| {
        let array = slot.strip_suffix("[*]").or(slot.strip_suffix("[0]"));
        !measure.unread.contains(array.unwrap_or(slot))
    };
    let own = |slot: &SlotName| format!("{}.{slot}", measure.class);
    let full = |referrer: &Referrer| match referrer {
        Referrer::Own(slot) => own(slot),
        Referrer::Other(slot) => slot.to_string(),
    };
    relation.terms.keys().all(|term| match term {
        HashSum::Objects | HashSum::Heads => true,
        HashSum::Forward(slot)
        | HashSum::Backward(slot)
        | HashSum::Beside(slot)
        | HashSum::BesideBack(slot) => {
            let is_own = matches!(slot, Referrer::Own(_));
            is_read(&full(slot)) && (is_own || is_member(&full(slot)))
        }
        HashSum::Targets(slot) => is_read(&full(slot)),
        HashSum::Sources(slot)
        | HashSum::Itself(slot)
        | HashSum::Length(slot)
        | HashSum::HeadLength(slot)
        | HashSum::Gaps(slot) => is_read(&own(slot)),
        HashSum::Rings(_) | HashSum::Strays(_) | HashSum::HolderGaps => {
            measure.matches.contains_key(term)
        }
    })
}

/// Returns whether a slot is the inverse of another.
/// The slot's name is given as its own class has it, and as others have it.
pub(super) fn has_inverse(measure: &Measure, own: &SlotName, full: &SlotName) -> bool {
    let sums = &measure.matches;
    let [own, full] = [Referrer::Own(own.clone()), Referrer::Other(full.clone())];
    let forth = [own, full].into_iter().map(HashSum::Forward);
    let Some(forth) = forth.filter_map(|it| sums.get(&it)).next() else {
        return false;
    };
    let is_back =
        |(sum, value): (&HashSum, &u64)| matches!(sum, HashSum::Backward(_)) && value == forth;
    sums.iter().any(is_back)
}

/// Returns whether one slot of the structure is the inverse of all others together.
pub(super) fn leads_back(measure: &Measure) -> bool {
    let sums = &measure.matches;
    let forth = || {
        sums.iter().filter_map(|(sum, &value)| match sum {
            HashSum::Forward(slot) => Some((slot, value)),
            _ => None,
        })
    };
    let all = forth().fold(0u64, |all, it| all.wrapping_add(it.1));
    forth().count() > 1
        && forth().any(|(up, value)| {
            let back = sums.get(&HashSum::Backward(up.clone()));
            back == Some(&all.wrapping_sub(value))
        })
}
