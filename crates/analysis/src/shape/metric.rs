//! What was learnt about one of the eight degrees.

#[cfg(feature = "export")]
use serde::{Deserialize, Serialize};

/// How many objects of a backbone have a degree, in all that was learnt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "export", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "export", serde(rename_all = "lowercase"))]
pub enum Metric {
    /// Always this many, at most two.
    Quirk(u64),
    /// At least and at most this part of all objects.
    Range(Percent, Percent),
}

/// A part of a whole, in percent with four decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Percent(pub u32);

/// The most objects that a quirk may have.
const MOST_IN_A_QUIRK: u64 = 2;
/// All of it.
const WHOLE: u64 = 1_000_000;

/// How far outside of its range a part may lie, in standard deviations. The ranges of a
/// random structure depend on the sizes that were seen. Quirks and relations are exact.
const DEVIATIONS: f64 = 4.0;

/// A range that is wider says nothing. What may be a quarter of all objects and nine tenths of them may be all but
/// one: how the structure came about decides.
const WIDEST: f64 = 0.5;

impl Metric {
    /// Returns the metric of one measure.
    pub(super) fn of(count: u64, instances: u64) -> Self {
        match count <= MOST_IN_A_QUIRK {
            true => Self::Quirk(count),
            false => Self::Range(
                Percent::floor(count, instances),
                Percent::ceil(count, instances),
            ),
        }
    }

    /// Returns the metric that covers two, each learnt at sizes from a least to a most.
    pub(super) fn with(self, sizes: (u64, u64), other: Self, other_sizes: (u64, u64)) -> Self {
        if self == other && matches!(self, Self::Quirk(_)) {
            return self;
        }
        let (a, b) = self.range(sizes);
        let (c, d) = other.range(other_sizes);
        Self::Range(a.min(c), b.max(d))
    }

    fn range(self, (least, most): (u64, u64)) -> (Percent, Percent) {
        match self {
            Self::Quirk(count) => (Percent::floor(count, most), Percent::ceil(count, least)),
            Self::Range(min, max) => (min, max),
        }
    }

    /// Returns how many of that many objects there may be, at most.
    pub(super) fn most(self, instances: u64) -> u64 {
        match self {
            Self::Quirk(count) => count,
            Self::Range(_, max) => (max.part() * instances as f64).ceil() as u64,
        }
    }

    /// Returns whether more objects than `count` were expected.
    pub(super) fn exceeds(self, count: u64, instances: u64) -> bool {
        match self {
            Self::Quirk(expected) => count < expected,
            Self::Range(min, _) => (count as f64) < min.part() * instances as f64,
        }
    }

    /// Returns whether `count` of all objects agree with what was learnt.
    pub(super) fn allows(self, count: u64, instances: u64) -> bool {
        match self {
            Self::Quirk(expected) => count == expected,
            Self::Range(min, max) => {
                let (count, all) = (count as f64, instances as f64);
                let slack = |part: f64| {
                    MOST_IN_A_QUIRK as f64
                        + DEVIATIONS * (all * part * (1.0 - part)).max(0.0).sqrt()
                };
                let (min, max) = (min.part(), max.part());
                let (least, most) = (min * all - slack(min), max * all + slack(max));
                max - min > WIDEST || (least..=most).contains(&count)
            }
        }
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Quirk(1) => f.write_str("1 object"),
            Self::Quirk(count) => write!(f, "{count} objects"),
            Self::Range(min, max) => write!(f, "{min} to {max} %"),
        }
    }
}

impl Percent {
    /// Returns `count` as a part of all, rounded down.
    pub fn floor(count: u64, all: u64) -> Self {
        let parts = count as u128 * WHOLE as u128 / all.max(1) as u128;
        Self(parts.min(WHOLE as u128) as u32)
    }

    /// Returns `count` as a part of all, rounded up.
    pub fn ceil(count: u64, all: u64) -> Self {
        let parts = (count as u128 * WHOLE as u128).div_ceil(all.max(1) as u128);
        Self(parts.min(WHOLE as u128) as u32)
    }

    fn part(self) -> f64 {
        self.0 as f64 / WHOLE as f64
    }
}

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2}", self.0 as f64 / 10_000.0)
    }
}

#[cfg(feature = "export")]
impl Serialize for Percent {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 10_000.0)
    }
}

#[cfg(feature = "export")]
impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let percent = f64::deserialize(deserializer)?;
        match (0.0..=100.0).contains(&percent) {
            true => Ok(Self((percent * 10_000.0).round() as u32)),
            false => Err(serde::de::Error::custom(format!(
                "{percent} is not a percentage"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quirk_stays_one_while_it_does_not_change() {
        let one = Metric::of(1, 100);
        assert_eq!(one.with((100, 100), Metric::of(1, 50), (50, 50)), one);
        let both = one.with((100, 200), Metric::of(0, 400), (400, 400));
        assert_eq!(both, Metric::Range(Percent(0), Percent(10_000)));
    }

    #[test]
    fn a_range_covers_what_was_seen() {
        let few = Metric::of(50, 100);
        let more = few.with((100, 100), Metric::of(601, 1_000), (1_000, 1_000));
        assert_eq!(more, Metric::Range(Percent(500_000), Percent(601_000)));
        assert!(more.allows(5_000, 10_000) && more.allows(6_010, 10_000));
        assert!(!more.allows(4_700, 10_000) && !more.allows(6_300, 10_000));
    }

    /// As a forest of parents had it that was made by other unions than those that were learnt.
    #[test]
    fn what_may_be_little_or_much_may_be_all() {
        let wide = Metric::Range(Percent(256_400), Percent(929_300));
        assert!(wide.allows(1_850, 1_870) && wide.allows(1_870, 1_870));
        let narrow = Metric::Range(Percent(556_400), Percent(929_300));
        assert!(!narrow.allows(1_850, 1_870));
    }

    #[test]
    #[cfg(feature = "export")]
    fn a_percentage_survives_json() {
        for parts in (0..=WHOLE as u32).step_by(77) {
            let text = serde_json::to_string(&Percent(parts)).unwrap();
            assert_eq!(serde_json::from_str::<Percent>(&text).unwrap().0, parts);
        }
        assert!(serde_json::from_str::<Percent>("101").is_err());
    }
}
