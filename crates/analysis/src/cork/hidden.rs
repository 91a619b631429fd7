//! Why a class that has grown is not reported.

use std::fmt;

use heaphound_heap::ClassId;

/// A class that has grown and is not reported.
#[derive(Clone, PartialEq, Debug)]
pub struct Close {
    /// The class.
    pub class: ClassId,
    /// Its volume.
    pub volume_bytes: u64,
    /// What it has grown by, since it began to grow.
    pub grown_bytes: u64,
    /// The first condition that it does not meet.
    pub why: Hidden,
}

/// The condition that keeps a class out of the report.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Hidden {
    /// It has stopped growing, or has just not grown.
    NoNewHeight,
    /// It has fallen from a peak, and is not above that again.
    BelowPeak {
        /// The peak.
        peak_bytes: u64,
    },
    /// It has grown in too few steps, or for too few collections.
    FewSteps {
        /// Steps to a new height.
        steps: u32,
        /// Collections since it began to grow.
        phases: u32,
        /// How many steps are needed.
        needed: u32,
        /// How many collections are.
        patience: u32,
    },
    /// Most of its growth is one step: a spike.
    OneStep {
        /// The step.
        largest_bytes: u64,
        /// The growth.
        grown_bytes: u64,
    },
    /// It goes up and down by as much as it has grown.
    Noise,
    /// It grows more and more slowly, as a program does that warms up.
    SlowsDown,
    /// Its rank is not above the threshold.
    Rank {
        /// Its rank.
        rank: f64,
        /// The threshold.
        threshold: f64,
    },
    /// It has grown by too small a part of the heap.
    Insignificant {
        /// What it would have to grow by.
        needed_bytes: u64,
    },
}

impl Hidden {
    /// The word for it in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoNewHeight => "no-new-height",
            Self::BelowPeak { .. } => "below-peak",
            Self::FewSteps { .. } => "few-steps",
            Self::OneStep { .. } => "one-step",
            Self::Noise => "noise",
            Self::SlowsDown => "slows-down",
            Self::Rank { .. } => "rank",
            Self::Insignificant { .. } => "insignificant",
        }
    }
}

impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNewHeight => write!(f, "it did not grow to the last"),
            Self::BelowPeak { peak_bytes } => {
                write!(
                    f,
                    "it has fallen from {peak_bytes} bytes and is not clearly above them again"
                )
            }
            Self::FewSteps {
                steps,
                phases,
                needed,
                patience,
            } => write!(
                f,
                "it has grown {} over {}, and {needed} over {patience} are needed",
                times(*steps, "time"),
                times(*phases, "interval")
            ),
            Self::OneStep {
                largest_bytes,
                grown_bytes,
            } => write!(
                f,
                "{largest_bytes} of the {grown_bytes} bytes that it has grown by are one step"
            ),
            Self::Noise => write!(f, "it goes up and down by as much"),
            Self::SlowsDown => write!(f, "it grows more and more slowly"),
            Self::Rank { rank, threshold } => {
                write!(
                    f,
                    "its rank is {rank:.0}, and the threshold is {threshold:.0}"
                )
            }
            Self::Insignificant { needed_bytes } => {
                write!(
                    f,
                    "that is little of this heap: {needed_bytes} bytes are needed"
                )
            }
        }
    }
}

/// `1 time`, `2 times`
fn times(count: u32, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}
