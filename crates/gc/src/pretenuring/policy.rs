//! Which sites are pretenured: decisions without a heap, so that they can be simulated.

use crate::pretenuring::{BackSampling, Pretenuring};
use crate::sites::SitePhase;

/// What was decided about a site, and on what grounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    /// None while the site allocates in the nursery.
    mature: Option<Mature>,
    /// What the site has allocated in the nursery since it came back to it, if it is to be looked at again.
    back: SitePhase,
    survival: f64,
    /// What it has allocated in the nursery, with what was lately counting more.
    history: History,
    /// Phases in a row in which enough survived.
    good: u32,
    /// How often it was found to be wrong.
    reversed: u32,
}

/// Samples and bytes of several phases.
#[derive(Clone, Debug, Default)]
struct History {
    samples: f64,
    allocated: f64,
    survived: f64,
}

impl History {
    fn note(&mut self, phase: &SitePhase) {
        const KEPT: f64 = 0.75;
        for (sum, new) in [
            (&mut self.samples, phase.samples),
            (&mut self.allocated, phase.allocated_bytes),
            (&mut self.survived, phase.survived_bytes),
        ] {
            *sum = *sum * KEPT + new as f64;
        }
    }

    /// The least part that survives by what the samples tell: in nineteen of twenty cases it is more (Wilson's bound). Few samples
    /// of a site that makes what lives and what does not agree by chance now and then.
    fn at_least(&self) -> f64 {
        const DOUBT: f64 = 1.645 * 1.645;
        if self.samples <= 0.0 || self.allocated <= 0.0 {
            return 0.0;
        }
        let part = (self.survived / self.allocated).min(1.0);
        let spread = (part * (1.0 - part) + DOUBT / (4.0 * self.samples)) * DOUBT / self.samples;
        let middle = part + DOUBT / (2.0 * self.samples);
        (middle - spread.sqrt()) / (1.0 + DOUBT / self.samples)
    }
}

#[derive(Clone, Debug)]
struct Mature {
    /// Bytes that the decision was made on.
    grounds: u64,
    /// How often it was confirmed.
    confirmed: u32,
}

/// Where a site is to allocate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// Where it does.
    Stay,
    /// In the nursery.
    Nursery,
    /// In the mature space, for that many bytes.
    Mature { bytes: u64 },
}

impl Decision {
    /// Any, for tests.
    pub(super) fn at_random(dice: &mut u32) -> Self {
        *dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match *dice >> 30 {
            0 => Self::Nursery,
            1 => Self::Stay,
            _ => Self::Mature {
                bytes: u64::from(*dice >> 14 & 0xffff),
            },
        }
    }
}

/// Confirmations that are counted.
const MOST_CONFIRMED: u32 = 20;

/// Times that a site was wrong that are counted.
const MOST_DISTRUST: u32 = 6;

impl Standing {
    /// The part that survived when it was last looked at.
    pub(crate) fn survival(&self) -> f64 {
        self.survival
    }
}

impl Pretenuring {
    /// Decides about a site after a phase, in which it has allocated that in the nursery. `is_back`: it is pretenured, and its
    /// bytes are used up.
    pub(super) fn decide(
        &self,
        standing: &mut Standing,
        phase: &SitePhase,
        is_back: bool,
    ) -> Decision {
        let Some(mature) = &mut standing.mature else {
            standing.history.note(phase);
            let (enough, survival) = self.look(phase);
            // A site that is now like this and now like that would be wrong half of the time.
            let is_in_doubt = self.governor && standing.history.at_least() <= self.threshold;
            if enough {
                let is_good = survival > self.threshold;
                standing.good = if is_good { standing.good + 1 } else { 0 };
            }
            // Each time that it was wrong, it takes twice as long to be believed.
            let wait = 1 << standing.reversed.min(MOST_DISTRUST);
            let must_wait = self.governor && standing.good < wait;
            if !enough || survival <= self.threshold || is_in_doubt || must_wait {
                return Decision::Stay;
            }
            let grounds = phase.allocated_bytes;
            standing.survival = survival;
            standing.mature = Some(Mature {
                grounds,
                confirmed: 0,
            });
            return Decision::Mature {
                bytes: grounds << self.shift,
            };
        };
        mature.confirmed >>= self.decay;
        if !is_back {
            return Decision::Stay;
        }
        let back = &mut standing.back;
        back.samples += phase.samples;
        back.allocated_bytes += phase.allocated_bytes;
        back.survived_samples += phase.survived_samples;
        back.survived_bytes += phase.survived_bytes;
        let (enough, survival) = self.look(back);
        if !enough {
            return Decision::Stay;
        }
        *back = SitePhase::default();
        standing.survival = survival;
        standing.history.note(phase);
        if survival <= self.threshold {
            standing.mature = None;
            (standing.good, standing.reversed) = (0, standing.reversed + 1);
            return Decision::Nursery;
        }
        mature.confirmed = (mature.confirmed + 1).min(MOST_CONFIRMED);
        let times = match self.back {
            BackSampling::Constant => 1,
            BackSampling::Linear => 1 + u64::from(mature.confirmed),
            BackSampling::Exponential => 1 << mature.confirmed,
        };
        let bytes = (mature.grounds << self.shift).saturating_mul(times);
        // What a mutator has left is signed.
        Decision::Mature {
            bytes: bytes.min(1 << 60),
        }
    }

    /// The part that survived of a phase, if it has shown enough.
    pub(super) fn survival(&self, phase: &SitePhase) -> Option<f64> {
        let (enough, survival) = self.look(phase);
        enough.then_some(survival)
    }

    /// Whether a phase has shown enough, and which part has survived.
    fn look(&self, phase: &SitePhase) -> (bool, f64) {
        let enough = phase.samples >= u64::from(self.min_samples) && phase.allocated_bytes > 0;
        let survival = phase.survived_bytes as f64 / phase.allocated_bytes as f64;
        (enough, survival)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KB: u64 = 1 << 10;

    fn phase(samples: u64, survive: f64) -> SitePhase {
        SitePhase {
            samples,
            allocated_bytes: samples * KB,
            survived_samples: (samples as f64 * survive) as u64,
            survived_bytes: (samples as f64 * survive * KB as f64) as u64,
        }
    }

    /// A site that allocates `rate` bytes a phase, of which a part survives that depends on the phase. Returns in which
    /// phases it allocated in the mature space, as bytes.
    fn simulate(
        policy: Pretenuring,
        rate: u64,
        phases: usize,
        survive: impl Fn(usize) -> f64,
    ) -> Vec<u64> {
        let mut standing = Standing::default();
        let mut left = 0;
        (0..phases)
            .map(|number| {
                let mature = rate.min(left);
                left -= mature;
                let seen = phase((rate - mature) / KB, survive(number));
                match policy.decide(&mut standing, &seen, left == 0) {
                    Decision::Stay => {}
                    Decision::Nursery => left = 0,
                    Decision::Mature { bytes } => left = bytes,
                }
                mature
            })
            .collect()
    }

    #[test]
    fn a_site_whose_objects_survive_is_pretenured_and_one_whose_do_not_is_not() {
        for policy in [Pretenuring::LBS80, Pretenuring::EBS80, Pretenuring::LBS85] {
            let lives = simulate(policy, 100 * KB, 100, |_| 0.95);
            assert_eq!(lives[0], 0, "nothing is known at first");
            let all: u64 = lives.iter().sum();
            assert!(all > 66 * 100 * KB, "{all}");
            let dies = simulate(policy, 100 * KB, 100, |_| 0.5);
            assert_eq!(dies.iter().sum::<u64>(), 0);
            let edge = simulate(policy, 100 * KB, 100, |_| policy.threshold);
            assert_eq!(
                edge.iter().sum::<u64>(),
                0,
                "more than the threshold must survive"
            );
        }
    }

    #[test]
    fn few_samples_decide_nothing() {
        for policy in [Pretenuring::LBS80, Pretenuring::EBS80, Pretenuring::LBS85] {
            let few = u64::from(policy.min_samples) - 1;
            assert_eq!(
                simulate(policy, few * KB, 50, |_| 1.0).iter().sum::<u64>(),
                0
            );
            assert!(
                simulate(policy, (few + 1) * KB, 50, |_| 1.0)
                    .iter()
                    .sum::<u64>()
                    > 0
            );
        }
    }

    #[test]
    fn above_one_nothing_is_pretenured() {
        let policy = Pretenuring::LBS80.threshold(1.01);
        assert_eq!(
            simulate(policy, 100 * KB, 50, |_| 1.0).iter().sum::<u64>(),
            0
        );
    }

    #[test]
    fn constant_looks_again_most_often_and_exponential_least() {
        let by = |back| {
            let policy = Pretenuring::LBS80.back(back, 1, 0);
            let mature = simulate(policy, 100 * KB, 1000, |_| 1.0);
            mature.iter().filter(|&&bytes| bytes < 100 * KB).count()
        };
        let [constant, linear, exponential] = [
            BackSampling::Constant,
            BackSampling::Linear,
            BackSampling::Exponential,
        ]
        .map(by);
        assert!(
            constant > linear && linear > exponential,
            "{constant} {linear} {exponential}"
        );
        // Every third phase; about the square root of a thousand; about its logarithm.
        assert!((300..=350).contains(&constant), "{constant}");
        assert!((25..=50).contains(&linear), "{linear}");
        assert!((6..=12).contains(&exponential), "{exponential}");
    }

    #[test]
    fn a_change_is_noticed_when_the_site_is_looked_at_again() {
        for policy in [Pretenuring::LBS80, Pretenuring::EBS80, Pretenuring::LBS85] {
            // From phase 20 on all dies.
            let mature = simulate(
                policy,
                100 * KB,
                400,
                |number| if number < 20 { 1.0 } else { 0.0 },
            );
            let last = mature.iter().rposition(|&bytes| bytes > 0).unwrap();
            // What was left when it changed is at most what is set in the twentieth phase.
            let most = match policy.back {
                BackSampling::Linear => 20 + (1 + 20) * 2,
                _ => 20 + 32 * 16,
            };
            assert!(last < most, "{last} of {most}");
            assert!(mature[last + 1..].iter().all(|&bytes| bytes == 0));
        }
    }

    #[test]
    fn with_a_governor_a_site_that_changes_all_the_time_is_left_alone() {
        let changes = |number: usize| if number.is_multiple_of(2) { 1.0 } else { 0.1 };
        let all = |governor: bool| {
            let policy = Pretenuring::LBS80.governor(governor);
            simulate(policy, 100 * KB, 400, changes).iter().sum::<u64>()
        };
        assert!(
            all(true) < all(false) / 10,
            "{} and {}",
            all(true),
            all(false)
        );
        // One that has changed for good is believed after a while.
        let policy = Pretenuring::LBS80;
        let later = simulate(
            policy,
            100 * KB,
            100,
            |number| if number < 20 { 0.0 } else { 1.0 },
        );
        assert!(later[..20].iter().all(|&bytes| bytes == 0));
        assert!(later[28..].iter().sum::<u64>() > 50 * 100 * KB);
    }

    #[test]
    fn with_a_governor_a_site_that_was_wrong_is_believed_later_each_time() {
        // Twelve phases of what lives, and then twelve of what dies, over and over.
        let changes = |number: usize| {
            if (number / 12).is_multiple_of(2) {
                1.0
            } else {
                0.0
            }
        };
        let wrong = |governor: bool| {
            let policy = Pretenuring::LBS80.governor(governor);
            let mature = simulate(policy, 100 * KB, 1000, changes);
            let dies = mature.iter().enumerate().filter(|it| changes(it.0) == 0.0);
            let late = dies.clone().filter(|it| it.0 >= 200);
            let sum =
                |all: &mut dyn Iterator<Item = (usize, &u64)>| all.map(|it| it.1).sum::<u64>();
            (sum(&mut dies.clone()), sum(&mut late.clone()))
        };
        let (with, late) = wrong(true);
        let (without, _) = wrong(false);
        assert!(with < without / 8, "{with} and {without}");
        assert_eq!(late, 0, "twelve phases are not enough any more");
    }

    #[test]
    fn with_a_governor_a_mixed_site_of_few_samples_is_hardly_ever_taken_for_another() {
        // Each object of three in five lives: now and then more than the threshold of a few samples do.
        let wrong = |governor: bool| {
            let policy = Pretenuring::LBS80.governor(governor);
            let mut dice = 1_u64;
            let mut live = |samples: u64| {
                let lives = (0..samples).filter(|_| {
                    dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    dice >> 32 < (1 << 32) / 5 * 3
                });
                lives.count() as f64 / samples as f64
            };
            let decided = (0..400).filter(|site| {
                let samples = 8 + site % 4;
                let mut standing = Standing::default();
                (0..30).any(|_| {
                    let seen = phase(samples, live(samples));
                    policy.decide(&mut standing, &seen, false) != Decision::Stay
                })
            });
            decided.count()
        };
        assert!(wrong(false) > 300, "{}", wrong(false));
        assert!(wrong(true) < 20, "{}", wrong(true));
    }

    #[test]
    fn decay_makes_it_look_sooner() {
        let looks = |decay| {
            let policy = Pretenuring::LBS80.back(BackSampling::Linear, 1, decay);
            let mature = simulate(policy, 100 * KB, 1000, |_| 1.0);
            mature.iter().filter(|&&bytes| bytes < 100 * KB).count()
        };
        assert!(looks(1) > 2 * looks(0), "{} and {}", looks(1), looks(0));
    }
}
