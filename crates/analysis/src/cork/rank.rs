//! The arithmetic of ranks: how likely a volume grows without end.
//!
//! *Ratio ranking*: a volume that has not fallen by more than the decay factor is potentially
//! growing, and has been for p collections. When it grows to Q times what it was, p·(Q−1), in
//! percent, is added to its rank; when it shrinks by that factor, it is subtracted. A volume
//! that falls further starts again.
//!
//! The published rank never falls on a plateau, so that what grew while a program started is
//! reported for ever. Ours forgets: a class has stopped growing if it takes longer for a new
//! height than it has before. And it remembers: a class that has fallen from a peak
//! (a saw-tooth) is not growing until it is above that peak.
//!
//! A leak grows at a steady rate, while a program that warms up slows down: a class whose
//! growth slows down is not reported. There are two clocks, and it is enough to be steady by one: what
//! the program allocates, if that is known, since collections are more frequent when a heap is full; and
//! collections, since a program that copies or searches all that it keeps, in every round, allocates more
//! and more for the same work.
//!
//! Evidence is monotone: a class grows in steps, each to a new height. Growth that consists of one
//! large step is a spike, however small steps surround it; an average over all of them would make a
//! trend of it.

use super::hidden::Hidden;

/// The rank of a class or an edge.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Rank {
    pub(super) volume_bytes: u64,
    pub(super) rank: f32,
    /// Collections in a row in which it was potentially growing.
    pub(super) phases: u16,
    /// Collections since it last grew.
    pub(super) quiet: u16,
}

/// How a volume has changed since the last collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// It was not there before.
    New,
    Grew,
    /// It is the same, or has shrunk by no more than the decay factor.
    Held,
    /// It has shrunk further.
    Fell,
}

/// The part of its volume that a class may lose and still be growing, as it was published.
pub(super) const DECAY: f64 = 0.15;

/// An edge that has not grown for this many collections is forgotten. Containers grow in steps
/// that are further and further apart, so this is more than a class is allowed.
const EDGE_MEMORY: u16 = 16;

impl Rank {
    pub(super) fn new(volume_bytes: u64) -> Self {
        Self {
            volume_bytes,
            ..Self::default()
        }
    }

    /// Ratio ranking.
    pub(super) fn ratio(&mut self, volume_bytes: u64, decay: f64) -> Change {
        let before = std::mem::replace(&mut self.volume_bytes, volume_bytes);
        let (old, new) = (before as f64, volume_bytes as f64);
        if before == 0 {
            *self = Self::new(volume_bytes);
            return Change::New;
        }
        if new <= (1.0 - decay) * old {
            *self = Self::new(volume_bytes);
            return Change::Fell;
        }
        self.phases = self.phases.saturating_add(1);
        let growth = self.phases as f64 * (new.max(old) / new.min(old) - 1.0) * 100.0;
        match volume_bytes > before {
            true => {
                self.rank += growth as f32;
                self.quiet = 0;
                Change::Grew
            }
            false => {
                self.rank -= growth as f32;
                self.quiet = self.quiet.saturating_add(1);
                Change::Held
            }
        }
    }

    /// Slope ranking. `share` is its part of the growth of the heap over a window.
    pub(super) fn slope(&mut self, volume_bytes: u64, share: f64) -> Change {
        let before = std::mem::replace(&mut self.volume_bytes, volume_bytes);
        if before == 0 || volume_bytes == 0 {
            *self = Self::new(volume_bytes);
            return match before {
                0 => Change::New,
                _ => Change::Fell,
            };
        }
        // Growing more often than shrinking, or not growing at all.
        let change = match volume_bytes > before {
            true => {
                self.phases = self.phases.saturating_add(1);
                self.quiet = 0;
                Change::Grew
            }
            false => {
                let shrank = volume_bytes < before;
                self.phases = self.phases.saturating_sub(shrank as u16);
                self.quiet = self.quiet.saturating_add(1);
                Change::Held
            }
        };
        self.rank += (self.phases as f64 * share) as f32;
        change
    }

    /// Returns the ratio rank of something that had these volumes, oldest first.
    pub(super) fn of(volumes: &[u64], decay: f64) -> f64 {
        let mut rank = Self::default();
        for &volume in volumes {
            rank.ratio(volume, decay);
        }
        rank.rank.into()
    }

    /// Forgets an edge that has not grown for long. Returns whether it did.
    pub(super) fn forget_if_quiet(&mut self) -> bool {
        let quiet = self.quiet > EDGE_MEMORY;
        if quiet {
            *self = Self::new(self.volume_bytes);
        }
        quiet
    }
}

/// What is remembered about a class in addition to its rank: since when it grows, and how
/// steadily.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct History {
    /// The volume and the time when it began to grow.
    pub(super) base_bytes: u64,
    pub(super) base_time: Time,
    /// The height that it had before: the depth of a dip is no growth.
    like_bytes: u64,
    /// How it has grown since, by each clock.
    courses: [Course; 2],
    /// The sum of all its changes since, up and down.
    travelled_bytes: f32,
    /// The last new height, and how long after the beginning that was.
    high_bytes: u64,
    high_time: [f32; 2],
    /// Steps to a new height since it began to grow, and the largest of them.
    pub(super) steps: u16,
    pub(super) largest_bytes: u64,
    /// Collections since the last new height.
    since_high: u16,
    /// The most collections that were between two new heights.
    gap: u16,
    /// The largest volume that it has fallen from, and for how many collections more that
    /// is remembered.
    peak_bytes: u64,
    peak_left: u16,
    /// Whether it is growing now.
    growing: bool,
    /// Whether it is in the report. It enters at a new height, and stays while it grows.
    pub(super) reported: bool,
}

/// New heights further apart than this are not one growth.
const LONGEST_GAP: u16 = 6;
/// A class may always be without a new height for this many collections.
const LEAST_PATIENCE: u16 = 3;
/// A new height must be above the last one by this part of the usual growth in that time. The
/// approach to a plateau does not reach that.
const HEIGHT: f64 = 0.4;
/// A height is old after this many collections.
const OLD_HEIGHT: u16 = 24;
/// How many times its usual change a class must have grown by, for each collection that it must
/// have been growing. Noise does not reach that, however long it lasts.
const ABOVE_NOISE: f64 = 0.9;
/// The most collections for which that is required.
const MOST_ABOVE_NOISE: u32 = 5;
/// A peak is remembered for this many times as long as it took to reach it.
const PEAK_MEMORY: u16 = 4;
/// The fewest collections for which a peak is remembered.
const LEAST_PEAK_MEMORY: u16 = 16;
/// How far above an old peak a class must be, since the peaks of a saw-tooth differ.
const PAST_PEAK: f64 = 1.15;

/// To enter the report, the second half of a growth must be at least this part of the first.
/// Otherwise it is slowing down.
const STEADY: f64 = 0.85;
/// To stay there, it must be at least this part. It is less, so that noise does not make a class
/// enter and leave.
const STILL_STEADY: f64 = 0.6;

/// The fewest steps that are a growth, unless less patience is asked for.
pub(super) const FEWEST_STEPS: u32 = 3;
/// All steps but the largest must be at least this part of a growth. When a volume doubles with each
/// step they are almost half of it.
const BESIDE_LARGEST: f64 = 0.25;

/// A moment of a program, by two clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Time {
    /// Bytes that it had allocated; the number of collections, if that is not known.
    pub(super) allocated_bytes: u64,
    /// Collections.
    pub(super) collections: u64,
}

impl Time {
    /// Returns the time of the next collection, when that much has been allocated, 0 if that is not known.
    pub(super) fn next(self, allocated_bytes: u64) -> Self {
        let collections = self.collections + 1;
        Self {
            allocated_bytes: match allocated_bytes {
                0 => collections,
                known => known,
            },
            collections,
        }
    }

    /// Returns the time that has gone by, by each clock.
    fn since(self, earlier: Self) -> [f32; 2] {
        [
            self.allocated_bytes.saturating_sub(earlier.allocated_bytes) as f32,
            self.collections.saturating_sub(earlier.collections) as f32,
        ]
    }
}

impl History {
    pub(super) fn new(volume_bytes: u64, time: Time) -> Self {
        Self {
            base_bytes: volume_bytes,
            base_time: time,
            high_bytes: volume_bytes,
            // Long ago.
            since_high: LONGEST_GAP,
            gap: 1,
            ..Self::default()
        }
    }

    /// Returns whether it has nothing to remember, so that a new history would be the same.
    pub(super) fn is_idle(&self, volume_bytes: u64) -> bool {
        let quiet = !self.growing && !self.reported && self.since_high >= LONGEST_GAP;
        quiet && self.gap == 1 && self.peak_left == 0 && self.high_bytes == volume_bytes
    }

    /// Starts again after `phases` of growth, from the volume that is left.
    pub(super) fn restart(&mut self, phases: u16, volume_bytes: u64, time: Time) {
        let old = match self.peak_left > 0 {
            true => self.peak_bytes,
            false => 0,
        };
        let peak_bytes = old.max(self.high_bytes);
        let peak_left = match self.high_bytes {
            // It was not there before, so it has not fallen from anything.
            0 => 0,
            _ => phases.saturating_mul(PEAK_MEMORY).max(LEAST_PEAK_MEMORY),
        };
        *self = Self {
            peak_bytes,
            peak_left: peak_left.max(self.peak_left),
            ..Self::new(volume_bytes, time)
        };
    }

    /// Updates the history of a class without objects.
    pub(super) fn wait(&mut self) {
        self.peak_left = self.peak_left.saturating_sub(1);
    }

    /// Returns why it may not enter the report after so many collections of patience; none if it
    /// may.
    pub(super) fn keeps_out(&self, rank: &Rank, patience: u32) -> Option<Hidden> {
        let grown = rank.volume_bytes.saturating_sub(self.base_bytes) as f64;
        let usual = self.travelled_bytes as f64 / rank.phases.max(1) as f64;
        let above_noise = ABOVE_NOISE * patience.min(MOST_ABOVE_NOISE) as f64;
        let needed = patience.min(FEWEST_STEPS);
        let reached = self.high_bytes.saturating_sub(self.base_bytes);
        let largest = self.largest_bytes as f64;
        if !self.growing {
            return Some(Hidden::NoNewHeight);
        }
        if self.below_peak() {
            return Some(Hidden::BelowPeak {
                peak_bytes: self.peak_bytes,
            });
        }
        if (rank.phases as u32) < patience || (self.steps as u32) < needed {
            return Some(Hidden::FewSteps {
                steps: self.steps.into(),
                phases: rank.phases.into(),
                needed,
                patience,
            });
        }
        if reached as f64 - largest < BESIDE_LARGEST * reached as f64 {
            return Some(Hidden::OneStep {
                largest_bytes: self.largest_bytes,
                grown_bytes: reached,
            });
        }
        if grown < above_noise * usual {
            return Some(Hidden::Noise);
        }
        if !self.is_steady(STEADY) {
            return Some(Hidden::SlowsDown);
        }
        (self.since_high > 0).then_some(Hidden::NoNewHeight)
    }

    /// Returns whether it may stay there.
    pub(super) fn stays(&self) -> bool {
        self.growing && self.is_steady(STILL_STEADY)
    }

    /// Returns what a class of that volume has grown by, between like points: since it began, and beyond
    /// the peak that it has fallen from.
    pub(super) fn grown_bytes(&self, volume_bytes: u64) -> u64 {
        let peak = match self.peak_left > 0 {
            true => self.peak_bytes,
            false => 0,
        };
        volume_bytes.saturating_sub(self.base_bytes.max(self.like_bytes).max(peak))
    }

    /// Returns whether it is growing, steadily or not.
    pub(super) fn is_growing(&self) -> bool {
        self.growing
    }

    fn is_steady(&self, part: f64) -> bool {
        let grown = self.high_bytes.saturating_sub(self.base_bytes);
        let mut clocks = self.courses.iter().zip(self.high_time);
        clocks.any(|(course, time)| course.is_steady((time, grown as f32), part))
    }

    fn below_peak(&self) -> bool {
        self.peak_left > 0 && (self.high_bytes as f64) < PAST_PEAK * self.peak_bytes as f64
    }

    /// Updates the history of a class whose volume was `before` at the time `then`. Returns
    /// whether its rank is still valid.
    pub(super) fn follow(&mut self, rank: &Rank, before: u64, then: Time, now: Time) -> bool {
        let volume = rank.volume_bytes;
        self.peak_left = self.peak_left.saturating_sub(1);
        if !self.growing && volume > self.high_bytes {
            self.growing = true;
            self.base_bytes = before;
            self.like_bytes = self.high_bytes;
            self.base_time = then;
            self.travelled_bytes = volume.abs_diff(before) as f32;
            self.courses = Default::default();
            (self.steps, self.largest_bytes) = (0, 0);
            self.high_bytes = before;
            self.reach(volume, now);
            return true;
        }
        self.travelled_bytes += volume.abs_diff(before) as f32;
        if self.growing {
            let grown = self.high_bytes.saturating_sub(self.base_bytes) as f64;
            let times = self.high_time.into_iter().zip(self.time(now));
            let due =
                times.map(|(high, now)| HEIGHT * grown * ((now - high) / high.max(1.0)) as f64);
            let due = due.fold(f64::INFINITY, f64::min);
            if volume as f64 > self.high_bytes as f64 + due {
                self.reach(volume, now);
                return true;
            }
            let grown = volume as f64 - self.base_bytes as f64;
            self.push(self.time(now), grown as f32);
        }
        self.since_high = self.since_high.saturating_add(1);
        if !self.growing && self.since_high >= OLD_HEIGHT {
            // It has fallen slowly, and may grow again from there.
            self.high_bytes = volume;
            self.since_high = LONGEST_GAP;
        }
        let patience = (2 * self.gap).max(LEAST_PATIENCE);
        self.growing &= self.since_high <= patience;
        self.growing
    }

    fn reach(&mut self, volume: u64, now: Time) {
        self.gap = match self.since_high {
            0 => self.gap.max(1),
            gap if gap < LONGEST_GAP => self.gap.max(gap + 1),
            _ => 1,
        };
        self.steps = self.steps.saturating_add(1);
        let step = volume.saturating_sub(self.high_bytes);
        self.largest_bytes = self.largest_bytes.max(step);
        self.high_bytes = volume;
        self.high_time = self.time(now);
        self.since_high = 0;
        let grown = volume.saturating_sub(self.base_bytes);
        self.push(self.high_time, grown as f32);
    }

    fn push(&mut self, times: [f32; 2], grown: f32) {
        for (course, time) in self.courses.iter_mut().zip(times) {
            course.push(time, grown);
        }
    }

    /// Returns the time since it began to grow.
    fn time(&self, now: Time) -> [f32; 2] {
        now.since(self.base_time)
    }
}

/// How much a volume has grown, over time: a few points from beginning to end.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Course {
    /// Time and growth since it began, oldest first, every `1 << thinned`th of them.
    points: [(f32, f32); POINTS],
    count: u8,
    thinned: u8,
    seen: u16,
}

/// Enough to see a bend.
const POINTS: usize = 6;

impl Course {
    fn push(&mut self, time: f32, grown: f32) {
        if self.seen.is_multiple_of(1 << self.thinned.min(15)) {
            if self.count as usize == POINTS {
                for kept in 0..POINTS / 2 {
                    self.points[kept] = self.points[2 * kept];
                }
                self.count = POINTS as u8 / 2;
                self.thinned += 1;
            }
            // The distance may just have changed.
            if self.seen.is_multiple_of(1 << self.thinned.min(15)) {
                self.points[self.count as usize] = (time, grown);
                self.count += 1;
            }
        }
        self.seen = self.seen.saturating_add(1);
    }

    /// Returns whether it has grown in the second half of the time, which ends now, about as
    /// much as in the first.
    fn is_steady(&self, now: (f32, f32), part: f64) -> bool {
        let (time, grown) = now;
        let first = self.at(time / 2.0, now);
        (grown - first) as f64 >= part * first as f64
    }

    /// Returns what it had grown by at a time, between two points on a straight line.
    fn at(&self, time: f32, now: (f32, f32)) -> f32 {
        let points = &self.points[..self.count as usize];
        let after = points.partition_point(|it| it.0 < time);
        let (t0, g0) = after.checked_sub(1).map_or((0.0, 0.0), |at| points[at]);
        let (t1, g1) = points.get(after).copied().unwrap_or(now);
        match t1 > t0 {
            true => g0 + (g1 - g0) * (time - t0) / (t1 - t0),
            false => g1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_course_of_any_length_remembers_its_first_half() {
        for count in 2..300 {
            let mut course = Course::default();
            for time in 1..=count {
                course.push(time as f32, (3 * time) as f32);
            }
            let half = count as f32 / 2.0;
            let now = (count as f32, 3.0 * count as f32);
            assert!((course.at(half, now) - 3.0 * half).abs() < 0.01, "{count}");
            assert!(course.is_steady(now, STEADY));
        }
    }

    #[test]
    fn a_bend_is_seen_soon_and_late() {
        for count in 6..300 {
            let mut course = Course::default();
            for time in 1..=count {
                course.push(time as f32, (time as f32).powf(0.6));
            }
            let time = count as f32;
            assert!(!course.is_steady((time, time.powf(0.6)), STEADY), "{count}");
        }
    }
}
