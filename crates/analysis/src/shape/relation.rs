//! Exact linear relations between what is counted of a structure.
//!
//! A measure gives a point, which has a number for each [`Count`]: the instances, those
//! that no other of them refers to (`in=0`: heads of lists, roots of trees), the references
//! of each slot (`.next`), and the references of each slot of another class (`List.head`).
//! A relation is a sum of these that is 0 at every point that was learnt. Relations have
//! no constant term, so that what was learnt from one list also holds for ten.
//!
//! It is enough to keep a basis of the points. A relation that holds for the basis holds for
//! all sums of it, and any other point would have become part of the basis. A few of the
//! other points are kept to confirm it. A point that was seen before proves nothing: the
//! program may be idle, or the same heap was learnt twice.
//!
//! First the relations that a person would look for are tried, slot by slot. Then any other
//! simple dependency is. Roots of the heap are not counted: they change all the time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

#[cfg(feature = "export")]
use serde::{Deserialize, Serialize};

use super::modular::Echelon;
use super::{Count, Measure, Referrer};
use crate::slot::SlotName;

/// The counts of one measure.
pub(super) type Point<T> = BTreeMap<T, i64>;

/// A sum that is always 0: of [`Count`]s, or of [`HashSum`](super::HashSum)s.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "export", derive(Serialize, Deserialize))]
#[cfg_attr(
    feature = "export",
    serde(deny_unknown_fields, bound(deserialize = "T: Deserialize<'de> + Ord"))
)]
pub struct Relation<T> {
    /// What is added up, and how many times.
    pub terms: BTreeMap<T, i64>,
    /// Set by a person who does not want it tested.
    #[cfg_attr(
        feature = "export",
        serde(default, skip_serializing_if = "std::ops::Not::not")
    )]
    pub ignored: bool,
}

/// The relations of one backbone, and what they were learnt from.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "export", derive(Serialize, Deserialize))]
#[cfg_attr(
    feature = "export",
    serde(deny_unknown_fields, bound(deserialize = "T: Deserialize<'de> + Ord"))
)]
pub struct Relations<T: Ord> {
    /// What holds.
    pub hold: Vec<Relation<T>>,
    /// All that was ever counted. Nothing else can be in a relation or in a point: it would be misspelt. Empty in
    /// profiles that were written before this was.
    #[cfg_attr(
        feature = "export",
        serde(default = "BTreeSet::new", skip_serializing_if = "BTreeSet::is_empty")
    )]
    counted: BTreeSet<T>,
    /// Points of which none is a sum of others.
    basis: Vec<Point<T>>,
    /// Different points that are sums of these: as many as are needed to believe a relation
    /// that is not an obvious one.
    confirming: Vec<Point<T>>,
}

impl<T: Ord> Default for Relations<T> {
    fn default() -> Self {
        Self {
            hold: Vec::new(),
            counted: BTreeSet::new(),
            basis: Vec::new(),
            confirming: Vec::new(),
        }
    }
}

/// What relations can be learnt about.
pub trait Learnable: Clone + Ord + fmt::Display {
    /// Returns the relations that hold at all points.
    fn find(learnt: &Relations<Self>) -> Vec<Relation<Self>>;
}

/// Points that an obvious relation needs to be believed.
pub(super) const ENOUGH_POINTS: usize = 3;
/// Points that must have confirmed any other relation.
const ENOUGH_CONFIRMED: usize = 5;
/// A relation with more terms is an accident, or too hard to understand.
const MOST_TERMS: usize = 4;
/// With more of them, pairs of slots are not tried.
const MOST_TRIED: usize = 100_000;
/// With more counts, only the obvious relations are looked for.
const MOST_COUNTS: usize = 40;

/// The largest count that a heap can have, and the largest factor of a term. Sums of these
/// do not overflow.
#[cfg(feature = "export")]
const MOST_COUNTED: i64 = 1 << 62;
#[cfg(feature = "export")]
const MOST_TIMES: i64 = 1 << 20;

impl<T: Learnable> Relations<T> {
    /// Checks that all numbers can have been counted. The error says which cannot.
    #[cfg(feature = "export")]
    pub(super) fn check(&self) -> Result<(), String> {
        for point in self.basis.iter().chain(&self.confirming) {
            for (name, &count) in point {
                if !(0..=MOST_COUNTED).contains(&count) {
                    return Err(format!("{count} of {name} cannot have been counted"));
                }
            }
        }
        self.hold.iter().try_for_each(Relation::check)?;
        // Something was renamed in a point alone, or what was added was not so.
        let broken = |it: &&Relation<T>| self.basis.iter().any(|point| it.value(point) != 0);
        match self.hold.iter().find(broken) {
            Some(relation) => Err(format!("`{relation}` does not hold of its own `basis`")),
            None => Ok(()),
        }
    }

    /// Returns something that a relation is about and that no point has, or that a point has and that was
    /// never counted.
    #[cfg(feature = "export")]
    pub(super) fn unknown_term(&self) -> Option<String> {
        let known = self.terms();
        let mut terms = self.hold.iter().flat_map(|it| it.terms.keys());
        let unknown = terms.find(|term| !known.is_empty() && !known.contains(term));
        let is_counted = |term: &&T| self.counted.is_empty() || self.counted.contains(term);
        let mut points = self.kept().flat_map(BTreeMap::keys);
        let unknown = unknown.or_else(|| points.find(|term| !is_counted(term)));
        unknown.map(|term| term.to_string())
    }

    /// Learns from a measure. Relations are looked for only if there is evidence enough, and if it or
    /// what was seen has changed.
    pub(super) fn learn(&mut self, point: Point<T>, is_evident: bool, is_news: bool) {
        if self.add(point) || is_news {
            self.update(is_evident);
        }
    }

    /// Returns how many different points have been seen, up to a limit.
    pub(super) fn points(&self) -> usize {
        self.basis.len() + self.confirming.len()
    }

    /// Returns how many points were sums of others.
    pub(super) fn confirmed(&self) -> usize {
        self.confirming.len()
    }

    /// Returns all points that are kept.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Point<T>> {
        self.basis.iter().chain(&self.confirming)
    }

    /// Returns points of which all others are sums.
    pub(super) fn basis(&self) -> &[Point<T>] {
        &self.basis
    }

    /// Learns what another has learnt. A point that both have seen counts once.
    pub(super) fn merge(&mut self, other: Self) {
        self.note_counted();
        self.counted.extend(other.counted);
        let confirming = std::mem::take(&mut self.confirming);
        let others = confirming.into_iter().chain(other.confirming);
        for point in other.basis.into_iter().chain(others) {
            self.add(point);
        }
        for theirs in other.hold {
            match self.hold.iter_mut().find(|it| it.terms == theirs.terms) {
                Some(ours) => ours.ignored |= theirs.ignored,
                None => self.hold.push(theirs),
            }
        }
    }

    /// Adds a point. Returns whether it says something new.
    fn add(&mut self, point: Point<T>) -> bool {
        let again = self.basis.contains(&point) || self.confirming.contains(&point);
        if again || point.values().all(|&count| count == 0) {
            return false;
        }
        self.note_counted();
        self.counted.extend(point.keys().cloned());
        let mut counts = self.terms();
        counts.extend(point.keys());
        counts.sort_unstable();
        counts.dedup();
        let rows = self.basis.iter().map(|point| row(&counts, point));
        let mut known = Echelon::new(counts.len(), rows);
        if known.add(&row(&counts, &point)) {
            self.basis.push(point);
            self.confirming.clear();
            return true;
        }
        let is_confirming = self.confirming.len() < ENOUGH_CONFIRMED;
        if is_confirming {
            self.confirming.push(point);
        }
        is_confirming
    }

    /// Makes up for what a profile that was written without it does not say.
    fn note_counted(&mut self) {
        if self.counted.is_empty() {
            self.counted = self.kept().flat_map(BTreeMap::keys).cloned().collect();
        }
    }

    /// Returns all that is counted in the basis, in order.
    pub(super) fn terms(&self) -> Vec<&T> {
        let mut counts: Vec<&T> = self.basis.iter().flat_map(BTreeMap::keys).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// Finds the relations that hold now. Those that a person ignored stay ignored.
    pub(super) fn update(&mut self, is_evident: bool) {
        let mut found = match is_evident {
            true => T::find(self),
            false => Vec::new(),
        };
        for relation in &mut found {
            let before = self.hold.iter().find(|it| it.terms == relation.terms);
            relation.ignored = before.is_some_and(|it| it.ignored);
        }
        // Those that a person has added stay on the list while they hold.
        for relation in std::mem::take(&mut self.hold) {
            let known = found.iter().any(|it| it.terms == relation.terms);
            if !known && self.basis.iter().all(|point| relation.value(point) == 0) {
                found.push(relation);
            }
        }
        self.hold = found;
    }
}

impl Learnable for Count {
    fn find(learnt: &Relations<Self>) -> Vec<Relation<Self>> {
        let mut counts = learnt.terms();
        if learnt.points() < ENOUGH_POINTS {
            return Vec::new();
        }
        // Relations are solved for what comes last.
        counts.sort_by_key(|count| (order(count), *count));
        let mut chosen: Vec<Relation<Count>> = Vec::new();
        let mut independent = Echelon::new(counts.len(), std::iter::empty());
        let mut choose = |relation: Relation<Count>| {
            // What never was may come with another size: a tree of one node has one that nobody refers to.
            if relation.terms.len() < 2 {
                return false;
            }
            let holds = learnt.basis.iter().all(|point| relation.value(point) == 0);
            let new = holds && independent.add(&row(&counts, &relation.terms));
            if new {
                chosen.push(relation);
            }
            holds
        };
        let never_heads = learnt.basis.iter().all(|it| number(it, &Count::Heads) == 0);
        let holders = counts.iter().copied();
        let holders = holders.filter(|count| order(count) == Order::Holder);
        let is_elements = |count: &&Count| matches!(count, Count::References(Referrer::Other(slot)) if slot.is_elements());
        let (elements, others): (Vec<&Count>, Vec<&Count>) = holders.partition(is_elements);
        let heads = Some(&Count::Heads).filter(|_| !never_heads);
        // What may be the number of structures.
        let structures: Vec<&Count> = heads.into_iter().chain(elements).chain(others).collect();
        let slots = counts.iter().copied();
        let slots: Vec<&Count> = slots.filter(|it| order(it) == Order::Slot).collect();
        let mut open = Vec::new();
        for &slot in &slots {
            let full = choose(Relation::new(&[(slot, 1), (&Count::Instances, -1)]));
            let one_fewer = |structure: &&Count| {
                Relation::new(&[(slot, 1), (&Count::Instances, -1), (structure, 1)])
            };
            if !full && !structures.iter().map(one_fewer).any(&mut choose) {
                open.push(slot);
            }
        }
        let pairs = open.len() * open.len() * structures.len();
        let few = if pairs > MOST_TRIED { 0 } else { open.len() };
        for (at, &a) in open[..few].iter().enumerate() {
            for &b in &open[at + 1..] {
                let both = |structure: &&Count| {
                    Relation::new(&[(a, 1), (b, 1), (&Count::Instances, -1), (structure, 1)])
                };
                let _ = structures.iter().map(both).any(&mut choose)
                    || choose(Relation::new(&[(a, 1), (b, -1)]));
            }
        }
        // Each object may be held by something else: by an array of all of them.
        for &holder in structures.iter().filter(|it| ***it != Count::Heads) {
            choose(Relation::new(&[(holder, 1), (&Count::Instances, -1)]));
        }
        if learnt.confirmed() < ENOUGH_CONFIRMED || counts.len() > MOST_COUNTS {
            return chosen;
        }
        let rows = learnt.basis.iter().map(|point| row(&counts, point));
        let known = Echelon::new(counts.len(), rows);
        for column in (0..counts.len()).filter(|&column| order(counts[column]) >= Order::Heads) {
            if let Some(relation) = solve(&known, &counts, column)
                && relation.terms.len() <= MOST_TERMS
            {
                choose(relation);
            }
        }
        chosen
    }
}

/// The order of the columns in which relations are solved.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Instances,
    Holder,
    Heads,
    Slot,
}

fn order(count: &Count) -> Order {
    match count {
        Count::Instances => Order::Instances,
        Count::Heads => Order::Heads,
        Count::References(Referrer::Other(_)) => Order::Holder,
        Count::References(Referrer::Own(_)) => Order::Slot,
    }
}

/// Returns a column as a sum of others, in whole numbers.
pub(super) fn solve<T: Learnable>(
    known: &Echelon,
    counts: &[&T],
    column: usize,
) -> Option<Relation<T>> {
    let sum = known.sum(column)?;
    let factor = sum.iter().fold(1, |all, &(_, _, bottom)| lcm(all, bottom));
    let mut terms = vec![(counts[column], factor)];
    terms.extend(
        sum.iter()
            .map(|&(at, top, bottom)| (counts[at], -top * factor / bottom)),
    );
    Some(Relation::new(&terms))
}

fn lcm(a: i64, b: i64) -> i64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

pub(super) fn row<T: Ord>(counts: &[&T], point: &Point<T>) -> Vec<i64> {
    counts.iter().map(|count| number(point, count)).collect()
}

/// Returns a count at a point.
pub(super) fn number<T: Ord>(point: &Point<T>, count: &T) -> i64 {
    point.get(count).copied().unwrap_or(0)
}

/// Returns what is counted of a structure.
pub(super) fn point(measure: &Measure) -> Point<Count> {
    let mut point = Point::new();
    point.insert(Count::Instances, measure.instances as i64);
    point.insert(Count::Heads, measure.degrees.incoming[0] as i64);
    let own = |(slot, &count): (&SlotName, &u64)| {
        (Count::References(Referrer::Own(slot.clone())), count as i64)
    };
    point.extend(measure.slots.iter().map(own));
    let other = |(slot, &count): (&SlotName, &u64)| {
        let referrer = Referrer::Other(slot.clone());
        (Count::References(referrer), count as i64)
    };
    point.extend(measure.holders.iter().map(other));
    point
}

impl<T: Clone + Ord + fmt::Display> Relation<T> {
    /// Checks that it can be added up.
    #[cfg(feature = "export")]
    pub(super) fn check(&self) -> Result<(), String> {
        for (name, &times) in &self.terms {
            if !(-MOST_TIMES..=MOST_TIMES).contains(&times) {
                return Err(format!("{times} times {name} is too much"));
            }
        }
        Ok(())
    }

    fn new(terms: &[(&T, i64)]) -> Self {
        Self::of(terms.iter().map(|&(term, times)| (term.clone(), times)))
    }

    pub(super) fn of(terms: impl IntoIterator<Item = (T, i64)>) -> Self {
        let mut all = BTreeMap::new();
        for (term, times) in terms {
            *all.entry(term).or_insert(0) += times;
        }
        Self {
            terms: all,
            ignored: false,
        }
    }

    /// Returns the sum at a point: 0 where the relation holds.
    pub(super) fn value(&self, point: &Point<T>) -> i128 {
        let terms = self.terms.iter();
        terms
            .map(|(count, &times)| times as i128 * number(point, count) as i128)
            .sum()
    }
}

impl<T: fmt::Display> fmt::Display for Relation<T> {
    /// `.next + List.head = instances`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |sign: i64| {
            let terms = self.terms.iter().filter(|it| it.1 * sign > 0);
            let terms: Vec<String> = terms
                .map(|(name, times)| match times.abs() {
                    1 => name.to_string(),
                    times => format!("{times}·{name}"),
                })
                .collect();
            match terms.is_empty() {
                true => "0".to_string(),
                false => terms.join(" + "),
            }
        };
        write!(f, "{} = {}", side(1), side(-1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSTANCES: &str = "instances";
    const HEADS: &str = "in=0";

    fn point(counts: &[(&str, i64)]) -> Point<Count> {
        let named = |&(name, n): &(&str, i64)| (name.parse().unwrap(), n);
        counts.iter().map(named).collect()
    }

    fn learnt(points: &[&[(&str, i64)]]) -> Relations<Count> {
        let mut relations = Relations::<Count>::default();
        for counts in points {
            relations.add(point(counts));
        }
        relations.update(true);
        relations
    }

    fn check(points: &[&[(&str, i64)]], expect: &[&str]) {
        let found: Vec<String> = learnt(points)
            .hold
            .iter()
            .map(|it| it.to_string())
            .collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn the_next_of_lists() {
        check(
            &[
                &[
                    (INSTANCES, 100),
                    (HEADS, 1),
                    (".next", 99),
                    ("List.head", 1),
                ],
                &[
                    (INSTANCES, 230),
                    (HEADS, 2),
                    (".next", 228),
                    ("List.head", 2),
                ],
                &[(INSTANCES, 17), (HEADS, 1), (".next", 16), ("List.head", 1)],
            ],
            &[".next + in=0 = instances"],
        );
    }

    #[test]
    fn too_few_points_prove_nothing() {
        check(&[&[(INSTANCES, 100), (HEADS, 1), (".next", 99)]], &[]);
    }

    #[test]
    fn what_nobody_looked_for_is_found_once_it_is_confirmed() {
        let point = |n: i64| {
            [
                (INSTANCES, 3 * n),
                (".a", n),
                (".b", n + n % 3),
                (".c", 2 * n),
            ]
        };
        let points: Vec<_> = (1..=9).map(point).collect();
        let points: Vec<&[(&str, i64)]> = points.iter().map(|it| it.as_slice()).collect();
        check(&points, &["3·.a = instances", "3·.c = 2·instances"]);
    }

    #[test]
    fn what_is_ignored_stays_so() {
        let point = |n: i64| point(&[(INSTANCES, n), (".data", n)]);
        let mut relations = Relations::<Count>::default();
        for n in 1..5 {
            relations.add(point(n));
        }
        relations.update(true);
        relations.hold[0].ignored = true;
        let mut other = Relations::<Count>::default();
        for n in 5..9 {
            other.add(point(n));
        }
        other.update(true);
        other.merge(relations.clone());
        other.update(true);
        assert_eq!(other.hold.len(), 1);
        assert!(other.hold[0].ignored);
        relations.add(point(77));
        relations.update(true);
        assert!(relations.hold[0].ignored);
    }
}
