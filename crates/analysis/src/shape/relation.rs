//! Exact linear relations between what is counted of a structure.
//!
//! A measure gives a point: how many instances there are, how many of them nobody of their like
//! refers to (`in=0`: the heads of lists, the roots of trees), how many references each
//! slot holds (`.next`), and how many each slot of another class holds to them (`List.head`).
//! A relation is a sum of these that is 0 at every point that was learnt. Relations have
//! no constant term, so that what was learnt of one list holds of ten.
//!
//! All that must be kept of the points is a basis: a relation that holds for these holds
//! for all sums of them, and other points would have become part of the basis. Beside it stand a
//! few of the others, which confirm it. A point that comes again, because the program is
//! idle, does the same all over, or the same heap was learnt twice, proves nothing.
//!
//! First the relations that a person would look for are tried, slot by slot; then whatever
//! else depends on the rest, if it is simple. Roots are left out: they come and go.

use std::collections::BTreeMap;
use std::fmt;

#[cfg(feature = "export")]
use serde::{Deserialize, Serialize};

use super::Measure;
use super::modular::Echelon;

/// The counts of one measure, by name.
pub(super) type Point = BTreeMap<String, i64>;

/// A sum of counts that is always 0.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "export", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "export", serde(deny_unknown_fields))]
pub struct Relation {
    /// What is added up, and how many times.
    pub terms: BTreeMap<String, i64>,
    /// Set by a person who does not want it tested.
    #[cfg_attr(
        feature = "export",
        serde(default, skip_serializing_if = "std::ops::Not::not")
    )]
    pub ignored: bool,
}

/// The relations of one backbone, and what they were learnt from.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "export", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "export", serde(deny_unknown_fields))]
pub struct Relations {
    /// What holds.
    pub hold: Vec<Relation>,
    /// Points of which no one is a sum of others.
    basis: Vec<Point>,
    /// Points that are sums of these, no two alike, as many as are needed to believe what nobody
    /// would have looked for.
    confirming: Vec<Point>,
}

pub(super) const INSTANCES: &str = "instances";
pub(super) const HEADS: &str = "in=0";

/// Points that the obvious relations need to be believed.
const ENOUGH_POINTS: usize = 3;
/// Points that must have confirmed a relation which nobody would have looked for.
const ENOUGH_CONFIRMED: usize = 5;
/// A relation with more terms is an accident, or cannot be understood.
const MOST_TERMS: usize = 4;
/// With more counts, only the obvious relations are looked for.
const MOST_COUNTS: usize = 40;

/// The largest count that a heap can have, and the most times that one is added up: with these,
/// sums do not overflow.
#[cfg(feature = "export")]
const MOST_COUNTED: i64 = 1 << 48;
#[cfg(feature = "export")]
const MOST_TIMES: i64 = 1 << 20;

impl Relations {
    /// Whether all numbers can have been counted. The error says which cannot.
    #[cfg(feature = "export")]
    pub(super) fn check(&self) -> Result<(), String> {
        for point in self.basis.iter().chain(&self.confirming) {
            for (name, &count) in point {
                if !(0..=MOST_COUNTED).contains(&count) {
                    return Err(format!("{count} of {name} cannot have been counted"));
                }
            }
        }
        self.hold.iter().try_for_each(Relation::check)
    }

    /// Learns from a measure.
    pub(super) fn learn(&mut self, measure: &Measure) {
        self.add(point(measure));
        self.update();
    }

    /// Learns what another has learnt. What both have met counts once.
    pub(super) fn merge(&mut self, other: Self) {
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
        self.update();
    }

    fn add(&mut self, point: Point) {
        let again = self.basis.contains(&point) || self.confirming.contains(&point);
        if again || point.values().all(|&count| count == 0) {
            return;
        }
        let mut names: Vec<&str> = self.names();
        names.extend(point.keys().map(String::as_str));
        names.sort_unstable();
        names.dedup();
        let rows = self.basis.iter().map(|point| row(&names, point));
        let mut known = Echelon::new(names.len(), rows);
        if known.add(&row(&names, &point)) {
            self.basis.push(point);
            self.confirming.clear();
        } else if self.confirming.len() < ENOUGH_CONFIRMED {
            self.confirming.push(point);
        }
    }

    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .basis
            .iter()
            .flatten()
            .map(|it| it.0.as_str())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Looks for the relations that hold now. What a person has said about one stands.
    fn update(&mut self) {
        let mut found = self.find();
        for relation in &mut found {
            let before = self.hold.iter().find(|it| it.terms == relation.terms);
            relation.ignored = before.is_some_and(|it| it.ignored);
        }
        // Those that were ignored stay on the list, and so do those that a person has added,
        // unless they no longer hold.
        for relation in std::mem::take(&mut self.hold) {
            let known = found.iter().any(|it| it.terms == relation.terms);
            if !known && self.basis.iter().all(|point| relation.value(point) == 0) {
                found.push(relation);
            }
        }
        self.hold = found;
    }

    fn find(&self) -> Vec<Relation> {
        let mut names = self.names();
        if self.basis.len() + self.confirming.len() < ENOUGH_POINTS {
            return Vec::new();
        }
        // What relations are solved for comes last.
        let order = |name: &str| match name {
            INSTANCES => 0,
            HEADS => 2,
            name if name.starts_with('.') => 3,
            _ => 1,
        };
        names.sort_by_key(|name| (order(name), *name));
        let mut chosen: Vec<Relation> = Vec::new();
        let mut independent = Echelon::new(names.len(), std::iter::empty());
        let mut choose = |relation: Relation| {
            let holds = self.basis.iter().all(|point| relation.value(point) == 0);
            let new = holds && independent.add(&row(&names, &relation.terms));
            if new {
                chosen.push(relation);
            }
            holds
        };
        let never_heads = self.basis.iter().all(|it| count(it, HEADS) == 0);
        let holders = names.iter().filter(|name| order(name) == 1);
        let (elements, others): (Vec<&str>, Vec<&str>) =
            holders.partition(|name| name.ends_with("[*]"));
        let heads = Some(HEADS).filter(|_| !never_heads);
        // How many structures there are, perhaps.
        let structures: Vec<&str> = heads.into_iter().chain(elements).chain(others).collect();
        let slots: Vec<&str> = names.iter().filter(|it| order(it) == 3).copied().collect();
        let mut open = Vec::new();
        for &slot in &slots {
            let full = choose(Relation::new(&[(slot, 1), (INSTANCES, -1)]));
            let one_fewer =
                |structure: &&str| Relation::new(&[(slot, 1), (INSTANCES, -1), (structure, 1)]);
            if !full && !structures.iter().map(one_fewer).any(&mut choose) {
                open.push(slot);
            }
        }
        for (at, &a) in open.iter().enumerate() {
            for &b in &open[at + 1..] {
                let both = |structure: &&str| {
                    Relation::new(&[(a, 1), (b, 1), (INSTANCES, -1), (structure, 1)])
                };
                let _ = structures.iter().map(both).any(&mut choose)
                    || choose(Relation::new(&[(a, 1), (b, -1)]));
            }
        }
        if self.confirming.len() < ENOUGH_CONFIRMED || names.len() > MOST_COUNTS {
            return chosen;
        }
        let rows = self.basis.iter().map(|point| row(&names, point));
        let known = Echelon::new(names.len(), rows);
        for column in (0..names.len()).filter(|&column| order(names[column]) >= 2) {
            if let Some(relation) = solve(&known, &names, column)
                && relation.terms.len() <= MOST_TERMS
            {
                choose(relation);
            }
        }
        chosen
    }
}

/// What a column is the sum of, in whole numbers.
fn solve(known: &Echelon, names: &[&str], column: usize) -> Option<Relation> {
    let sum = known.sum(column)?;
    let factor = sum.iter().fold(1, |all, &(_, _, bottom)| lcm(all, bottom));
    let mut terms = vec![(names[column], factor)];
    terms.extend(
        sum.iter()
            .map(|&(at, top, bottom)| (names[at], -top * factor / bottom)),
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

fn row(names: &[&str], point: &Point) -> Vec<i64> {
    names.iter().map(|name| count(point, name)).collect()
}

fn count(point: &Point, name: &str) -> i64 {
    point.get(name).copied().unwrap_or(0)
}

/// What is counted of a structure, by name.
pub(super) fn point(measure: &Measure) -> Point {
    let mut point = Point::new();
    point.insert(INSTANCES.into(), measure.instances as i64);
    point.insert(HEADS.into(), measure.degrees.incoming[0] as i64);
    let slots = measure.slots.iter();
    point.extend(slots.map(|(slot, &count)| (format!(".{slot}"), count as i64)));
    let holders = measure.holders.iter();
    point.extend(holders.map(|(slot, &count)| (slot.clone(), count as i64)));
    point
}

impl Relation {
    /// Whether it can be added up.
    #[cfg(feature = "export")]
    pub(super) fn check(&self) -> Result<(), String> {
        for (name, &times) in &self.terms {
            if !(-MOST_TIMES..=MOST_TIMES).contains(&times) {
                return Err(format!("{times} times {name} is too much"));
            }
        }
        Ok(())
    }

    fn new(terms: &[(&str, i64)]) -> Self {
        Self::of(terms.iter().map(|&(name, times)| (name.into(), times)))
    }

    pub(super) fn of(terms: impl IntoIterator<Item = (String, i64)>) -> Self {
        let mut all = BTreeMap::new();
        for (name, times) in terms {
            *all.entry(name).or_insert(0) += times;
        }
        Self {
            terms: all,
            ignored: false,
        }
    }

    /// The sum at a point: 0 where the relation holds.
    pub(super) fn value(&self, point: &Point) -> i128 {
        let terms = self.terms.iter();
        terms
            .map(|(name, &times)| times as i128 * count(point, name) as i128)
            .sum()
    }
}

impl fmt::Display for Relation {
    /// `.next + List.head = instances`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |sign: i64| {
            let terms = self.terms.iter().filter(|it| it.1 * sign > 0);
            let terms: Vec<String> = terms
                .map(|(name, times)| match times.abs() {
                    1 => name.clone(),
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

    fn learnt(points: &[&[(&str, i64)]]) -> Relations {
        let mut relations = Relations::default();
        for point in points {
            relations.add(
                point
                    .iter()
                    .map(|&(name, n)| (name.to_string(), n))
                    .collect(),
            );
        }
        relations.update();
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
        let point = |n: i64| Point::from([(INSTANCES.into(), n), (".data".into(), n)]);
        let mut relations = Relations::default();
        for n in 1..5 {
            relations.add(point(n));
        }
        relations.update();
        relations.hold[0].ignored = true;
        let mut other = Relations::default();
        for n in 5..9 {
            other.add(point(n));
        }
        other.update();
        other.merge(relations.clone());
        assert_eq!(other.hold.len(), 1);
        assert!(other.hold[0].ignored);
        relations.add(point(77));
        relations.update();
        assert!(relations.hold[0].ignored);
    }
}
