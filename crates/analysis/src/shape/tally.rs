//! Tallies: how often each outcome of a fact was seen, and how often it would have been by chance.
//!
//! A comparison has few outcomes: that one number is much less than another, less by one, the same, and so on. What was never seen
//! may be impossible, or rare, or nobody had the opportunity. So the same is asked about pairs that have
//! nothing to do with each other: the left side of one object and the right side of another. If these
//! have an outcome often, and those that belong together never, there is a reason.

use std::collections::BTreeSet;

#[cfg(feature = "export")]
use serde::{Deserialize, Serialize};

use super::SumCounters;
use super::fact::Comparison;

/// How many outcomes there are. Numbers: less by more than 1, by 1, the same, more by 1, by more than 1. Objects: others, the
/// same. Nothing: neither is, the second, the first, both. Null: it is not, it is. The last is none of these: a slot leads to the object itself.
pub(super) const OUTCOMES: usize = 6;

/// A slot leads to the object itself.
pub(super) const ITSELF: usize = 5;
/// What numbers may be.
const ORDERS: usize = 5;

/// So many left sides are kept to be compared with others.
const KEPT: usize = 64;
/// So many pairs are kept to be compared with those of other heaps, of facts with few.
const FEW: u64 = 8;
/// So many heaps are told from each other.
const MOST_HEAPS: usize = 16;

/// Chance has to have made an outcome so often that never was.
const BY_CHANCE: u64 = 64;
/// The same, if only one outcome was: two numbers are the same for a reason sooner than one is the larger one.
const ONLY_ONE: u64 = 24;
/// So many owners must have had something, in so many heaps, to believe that they always have.
const ENOUGH_OWNERS: u64 = 16;
const HEAPS_OF_OWNERS: usize = 8;
/// In so many heaps there has to have been an opportunity.
const ENOUGH_HEAPS: usize = 3;

/// What may be of two numbers.
struct Pattern {
    may: [bool; ORDERS],
    /// One may be larger, by any amount.
    is_order: bool,
}

/// The same.
const SAME: usize = 2;

/// What is believed of two numbers, the strictest first. Anything else would be by accident.
const PATTERNS: [Pattern; 8] = {
    const fn pattern(from: usize, to: usize, is_order: bool) -> Pattern {
        let mut may = [false; ORDERS];
        let mut at = from;
        while at <= to {
            may[at] = true;
            at += 1;
        }
        Pattern { may, is_order }
    }
    [
        pattern(1, 1, false),
        pattern(SAME, SAME, false),
        pattern(3, 3, false),
        pattern(0, 1, true),
        pattern(3, 4, true),
        // Subtrees of about the same height.
        pattern(1, 3, true),
        pattern(0, SAME, true),
        pattern(SAME, 4, true),
    ]
};

/// Returns the outcome of a comparison.
pub(super) fn outcome(comparison: Comparison, left: i64, right: i64) -> usize {
    match comparison {
        Comparison::Order | Comparison::Equality => {
            (left.saturating_sub(right).clamp(-2, 2) + 2) as usize
        }
        Comparison::Identity => (left == right) as usize,
        Comparison::Null => left as usize,
        Comparison::Nothing => (2 * left + right) as usize,
    }
}

/// Returns how many outcomes a comparison has.
fn outcomes(comparison: Comparison) -> usize {
    match comparison {
        Comparison::Order | Comparison::Equality => ORDERS,
        Comparison::Identity | Comparison::Null => 2,
        Comparison::Nothing => 4,
    }
}

/// What was seen of a fact in one heap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tally {
    pub(super) comparison: Comparison,
    /// How often each outcome was.
    pub(super) seen: [u64; OUTCOMES],
    /// How often it was of pairs that do not belong together.
    pub(super) chance: [u64; OUTCOMES],
    /// The pairs, if there are few.
    few: Vec<(i64, i64)>,
    /// What tells one heap from another.
    digest: u64,
    kept: Vec<i64>,
    /// Whether both sides are the same number of different objects. Then anybody's may be on either side.
    is_alike: bool,
}

impl Tally {
    pub(super) fn new(comparison: Comparison, is_alike: bool) -> Self {
        Self {
            comparison,
            seen: [0; OUTCOMES],
            chance: [0; OUTCOMES],
            few: Vec::new(),
            digest: 0,
            kept: Vec::new(),
            is_alike,
        }
    }

    fn count(&self) -> u64 {
        self.seen.iter().sum()
    }

    /// Adds a pair.
    pub(super) fn add(&mut self, left: i64, right: i64) {
        let count = self.count();
        // The same in each run, and yet no order that a program has.
        let dice = SumCounters::mix(count);
        if !self.kept.is_empty() {
            let other = self.kept[dice as usize % self.kept.len()];
            let chance = match self.is_alike {
                true => outcome(self.comparison, left, other),
                false => outcome(self.comparison, other, right),
            };
            self.chance[chance] += 1;
        }
        if self.kept.len() < KEPT {
            self.kept.push(left);
        } else {
            let at = (dice >> 8) % (count + 1);
            if let Some(kept) = self.kept.get_mut(at as usize) {
                *kept = left;
            }
        }
        self.seen[outcome(self.comparison, left, right)] += 1;
        // Objects have other numbers in other heaps, and in one whose objects have moved.
        if self.comparison != Comparison::Identity {
            let hash = SumCounters::hash_pair(left as u64, right as u64);
            self.digest = self.digest.wrapping_add(hash);
            if count < FEW {
                self.few.push((left, right));
            }
        }
    }

    /// Adds an object whose slot leads to itself.
    pub(super) fn add_itself(&mut self) {
        self.seen[ITSELF] += 1;
    }

    /// Returns whether all that could be seen was: nothing can be learnt of it any more.
    pub(super) fn is_exhausted(&self) -> bool {
        let possible = &self.seen[..outcomes(self.comparison)];
        possible.iter().all(|it| *it > 0)
    }

    /// Closes it. What was kept to compare with is of no use any more.
    pub(super) fn finish(mut self, objects: usize) -> Option<Self> {
        let count = self.count();
        self.kept = Vec::new();
        if count > FEW {
            self.few = Vec::new();
        }
        // Owners are few, and have nothing else that tells heaps apart.
        if self.comparison == Comparison::Null {
            self.digest = SumCounters::mix(objects as u64);
        }
        for it in self.seen {
            self.digest = SumCounters::mix(self.digest.wrapping_add(it));
        }
        (count > 0).then_some(self)
    }
}

/// What was learnt of a fact.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "export", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "export", serde(deny_unknown_fields))]
pub struct Evidence {
    /// What is believed now, in words: for whoever reads it.
    #[cfg_attr(
        feature = "export",
        serde(default, skip_serializing_if = "String::is_empty")
    )]
    believed: String,
    pub(super) comparison: Comparison,
    /// How often each outcome was.
    #[cfg_attr(feature = "export", serde(with = "words"))]
    seen: Counts,
    /// How often it would have been by chance.
    #[cfg_attr(feature = "export", serde(with = "words"))]
    chance: Counts,
    /// Different heaps, up to a limit.
    #[cfg_attr(feature = "export", serde(with = "words"))]
    heaps: Heaps,
    /// The pairs of the last heap, if there are few.
    #[cfg_attr(feature = "export", serde(default, with = "words"))]
    few: Pairs,
    /// Set by a person who does not want it tested.
    #[cfg_attr(
        feature = "export",
        serde(default, skip_serializing_if = "std::ops::Not::not")
    )]
    pub ignored: bool,
}

/// By outcome.
type Counts = [u64; OUTCOMES];
/// What tells heaps from each other.
type Heaps = BTreeSet<u64>;
/// Left and right sides.
type Pairs = Vec<(i64, i64)>;

/// Numbers in one line of a profile, which is to be read by people.
#[cfg(feature = "export")]
mod words {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{Counts, Heaps, Pairs};

    pub(super) trait Words: Sized {
        fn write(&self) -> String;
        fn read(text: &str) -> Option<Self>;
    }

    fn joined(words: impl Iterator<Item = String>) -> String {
        words.collect::<Vec<_>>().join(" ")
    }

    impl Words for Counts {
        fn write(&self) -> String {
            joined(self.iter().map(u64::to_string))
        }

        fn read(text: &str) -> Option<Self> {
            let words = text.split(' ').map(|it| it.parse().ok());
            words.collect::<Option<Vec<u64>>>()?.try_into().ok()
        }
    }

    impl Words for Heaps {
        fn write(&self) -> String {
            joined(self.iter().map(|it| format!("{it:x}")))
        }

        fn read(text: &str) -> Option<Self> {
            let words = text.split_whitespace();
            words.map(|it| u64::from_str_radix(it, 16).ok()).collect()
        }
    }

    impl Words for Pairs {
        fn write(&self) -> String {
            joined(self.iter().map(|(a, b)| format!("{a}:{b}")))
        }

        fn read(text: &str) -> Option<Self> {
            let pair = |word: &str| {
                let (a, b) = word.split_once(':')?;
                Some((a.parse().ok()?, b.parse().ok()?))
            };
            text.split_whitespace().map(pair).collect()
        }
    }

    pub(super) fn serialize<W: Words, S: Serializer>(it: &W, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&it.write())
    }

    pub(super) fn deserialize<'de, W: Words, D: Deserializer<'de>>(from: D) -> Result<W, D::Error> {
        let text = String::deserialize(from)?;
        W::read(&text).ok_or_else(|| D::Error::custom(format!("`{text}` are not such numbers")))
    }
}

impl Evidence {
    pub(super) fn new(comparison: Comparison) -> Self {
        Self {
            believed: String::new(),
            comparison,
            seen: [0; OUTCOMES],
            chance: [0; OUTCOMES],
            heaps: BTreeSet::new(),
            few: Vec::new(),
            ignored: false,
        }
    }

    /// Learns from a heap. One that was seen before proves nothing.
    pub(super) fn learn(&mut self, fact: &str, tally: &Tally) {
        add(&mut self.seen, &tally.seen);
        if !self.heaps.contains(&tally.digest) {
            if self.heaps.len() < MOST_HEAPS {
                self.heaps.insert(tally.digest);
            }
            add(&mut self.chance, &tally.chance);
            for &(_, right) in &tally.few {
                for &(other, _) in &self.few {
                    self.chance[outcome(tally.comparison, other, right)] += 1;
                }
            }
            self.few.clone_from(&tally.few);
        }
        self.update(fact);
    }

    /// Learns what another has learnt.
    pub(super) fn merge(&mut self, fact: &str, other: Self) {
        add(&mut self.seen, &other.seen);
        if !other.heaps.is_subset(&self.heaps) {
            add(&mut self.chance, &other.chance);
        }
        self.heaps.extend(other.heaps);
        while self.heaps.len() > MOST_HEAPS {
            self.heaps.pop_last();
        }
        self.few = other.few;
        self.ignored |= other.ignored;
        self.update(fact);
    }

    fn update(&mut self, fact: &str) {
        let never = self.never();
        self.believed = match never.contains(&true) {
            true => in_words(fact, self.comparison, &never),
            false => String::new(),
        };
    }

    /// Returns which outcomes must not be.
    pub(super) fn never(&self) -> [bool; OUTCOMES] {
        let comparison = self.comparison;
        let never = [false; OUTCOMES];
        let seen: [bool; OUTCOMES] = self.seen.map(|it| it > 0);
        if self.ignored || self.heaps.len() < ENOUGH_HEAPS || !seen[..ITSELF].contains(&true) {
            return never;
        }
        let by_chance = |never: &[bool; OUTCOMES]| -> u64 {
            let chance = self.chance.iter().zip(never);
            chance.filter(|it| *it.1).map(|it| it.0).sum()
        };
        let among = |outcomes: usize| -> [bool; OUTCOMES] {
            std::array::from_fn(|at| at < outcomes && !seen[at])
        };
        match comparison {
            Comparison::Identity => {
                let never = among(2);
                if by_chance(&never) >= ONLY_ONE {
                    return never;
                }
            }
            Comparison::Null => {
                if !seen[1] && self.seen[0] >= ENOUGH_OWNERS && self.heaps.len() >= HEAPS_OF_OWNERS
                {
                    return among(2);
                }
            }
            // Each of the others for itself: both null may be impossible, and one rare.
            Comparison::Nothing => {
                return std::array::from_fn(|at| {
                    at < 4 && !seen[at] && self.chance[at] >= BY_CHANCE
                });
            }
            Comparison::Order | Comparison::Equality => {
                for pattern in PATTERNS {
                    let needed = match pattern.is_order {
                        true => BY_CHANCE,
                        false => ONLY_ONE,
                    };
                    let fits = (0..ORDERS).all(|at| pattern.may[at] || !seen[at]);
                    let is_order = comparison == Comparison::Order;
                    let is_strict = pattern.is_order && !pattern.may[SAME];
                    if !fits
                        || pattern.is_order && !is_order
                        || is_strict && self.chance[SAME] < BY_CHANCE
                    {
                        continue;
                    }
                    let mut never: [bool; OUTCOMES] =
                        std::array::from_fn(|at| at < ORDERS && !pattern.may[at]);
                    if by_chance(&never) >= needed {
                        // What is in order has no rings. If the last refers to itself, that was seen.
                        never[ITSELF] = pattern.is_order && !seen[ITSELF];
                        return never;
                    }
                }
            }
        }
        never
    }

    /// Returns whether there is nothing more to learn.
    pub(super) fn is_refuted(&self) -> bool {
        let possible = &self.seen[..outcomes(self.comparison)];
        possible.iter().all(|it| *it > 0)
    }
}

fn add(to: &mut [u64; OUTCOMES], more: &[u64; OUTCOMES]) {
    for (it, more) in to.iter_mut().zip(more) {
        *it = it.saturating_add(*more);
    }
}

/// Returns in words what must not be, of a fact that is spelled so.
pub(super) fn in_words(fact: &str, comparison: Comparison, never: &[bool; OUTCOMES]) -> String {
    let between = match comparison {
        Comparison::Order | Comparison::Equality => " to ",
        Comparison::Identity | Comparison::Null => " is ",
        Comparison::Nothing => " or ",
    };
    // A name may contain this, too; then the words are less good, and still true.
    let (left, right) = fact.split_once(between).unwrap_or((fact, ""));
    match comparison {
        Comparison::Identity if never[0] => format!("{left} is {right}"),
        Comparison::Identity => format!("{left} is not {right}"),
        Comparison::Null => format!("{left} is not null"),
        Comparison::Nothing => {
            let of = [
                format!("not both: {left}, {right}"),
                format!("not {left} without {right}"),
                format!("not {right} without {left}"),
                format!("{left} or {right}"),
            ];
            let parts = of.into_iter().zip(never).filter(|it| *it.1);
            let parts: Vec<String> = parts.map(|it| it.0).collect();
            parts.join("; ")
        }
        Comparison::Order | Comparison::Equality => match never.map(|it| !it)[..ORDERS] {
            [true, true, false, false, false] => format!("{left} < {right}"),
            [true, true, true, false, false] => format!("{left} <= {right}"),
            [false, false, true, false, false] => format!("{left} = {right}"),
            [false, false, true, true, true] => format!("{left} >= {right}"),
            [false, false, false, true, true] => format!("{left} > {right}"),
            [false, true, false, false, false] => format!("{left} = {right} - 1"),
            [false, false, false, true, false] => format!("{left} = {right} + 1"),
            _ => format!("{left} differs from {right} by 1 at most"),
        },
    }
}

#[cfg(test)]
mod tests {
    use heaphound_testkit::dice::Dice;

    use super::*;

    /// Learns of so many heaps with so many pairs each.
    fn learn(
        comparison: Comparison,
        heaps: usize,
        pairs: usize,
        mut pair: impl FnMut() -> (i64, i64),
    ) -> Evidence {
        let mut known = Evidence::new(comparison);
        for _ in 0..heaps {
            let mut tally = Tally::new(comparison, false);
            let mut seen = [0; OUTCOMES];
            for _ in 0..pairs {
                let (left, right) = pair();
                tally.add(left, right);
                let at = match comparison {
                    Comparison::Nothing => 2 * left + right,
                    _ => (left - right).clamp(-2, 2) + 2,
                };
                seen[at as usize] += 1;
            }
            assert_eq!(tally.seen, seen);
            known.learn("a to b", &tally.finish(pairs).unwrap());
        }
        known
    }

    #[test]
    fn an_order_is_believed_and_chance_is_not() {
        let mut dice = Dice(3);
        let known = learn(Comparison::Order, 5, 200, || {
            let right = dice.below(1_000) as i64;
            (right - 1 - dice.below(5) as i64, right)
        });
        // That two are never the same would have to be seen of more.
        assert_eq!(known.believed, "a <= b");
        let known = learn(Comparison::Order, 5, 200, || {
            (dice.below(1_000) as i64, dice.below(1_000) as i64)
        });
        assert_eq!(known.believed, "");
        let known = learn(Comparison::Equality, 5, 200, || {
            let right = dice.below(9) as i64;
            (right + 1, right)
        });
        assert_eq!(known.believed, "a = b + 1");
    }

    #[test]
    fn what_had_no_opportunity_is_not_believed() {
        let mut dice = Dice(4);
        // All are the same, and so is what has nothing to do with them.
        let known = learn(Comparison::Equality, 5, 200, || (7, 7));
        assert_eq!(known.believed, "");
        // Too few heaps.
        let mut below = || {
            let right = dice.below(1_000) as i64;
            (right - 5, right)
        };
        let known = learn(Comparison::Order, ENOUGH_HEAPS - 1, 1_000, &mut below);
        assert_eq!(known.believed, "");
        // Too few pairs.
        let known = learn(Comparison::Order, 8, 10, &mut below);
        assert_eq!(known.believed, "");
    }

    #[test]
    fn one_of_two_is_believed_only_if_both_are_often_nothing() {
        let mut dice = Dice(5);
        let mut either = |often: usize| {
            learn(Comparison::Nothing, 5, 200, || {
                match (dice.below(often) == 0, dice.below(2) == 0) {
                    (true, _) => (1, 0),
                    (false, b) => (0, b.into()),
                }
            })
        };
        assert_eq!(either(4).never(), [false, false, false, true, false, false]);
        assert_eq!(either(60).never(), [false; OUTCOMES]);
    }

    #[test]
    fn chance_alone_is_hardly_ever_believed() {
        let mut dice = Dice(6);
        for comparison in [Comparison::Order, Comparison::Equality] {
            for end in [2, 5, 100] {
                for _ in 0..200 {
                    let known = learn(comparison, 4, 60, || {
                        (dice.below(end) as i64, dice.below(end) as i64)
                    });
                    assert_eq!(known.never(), [false; OUTCOMES], "{known:?}");
                }
            }
        }
    }
}
