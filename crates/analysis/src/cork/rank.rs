//! The arithmetic of ranks: how sure we are that a volume grows without end.
//!
//! *Ratio ranking*: a volume that has not fallen by more than the decay factor is potentially
//! growing, and has been for p collections. When it grows to Q times what it was, p·(Q−1), in
//! percent, is added to its rank; when it shrinks by that factor, it is subtracted. A volume
//! that falls further starts anew.
//!
//! The published rank never falls on a plateau, so that whatever grew while a program started
//! is reported for good. Ours forgets: a class that no longer reaches new heights, within the
//! time that it has needed for them before, has stopped growing. And it remembers: a class
//! that has fallen from a peak (a saw-tooth) is not growing until it gets past that.

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

/// What became of a volume since the last collection.
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

/// An edge that has not grown for so many collections is forgotten. Containers grow by leaps
/// that lie further and further apart, so that this is more than a class is allowed.
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

    /// Slope ranking: `share` of the growth of the heap, over a window, is this one's.
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

    /// Forgets an edge that has long been quiet.
    pub(super) fn forget_if_quiet(&mut self) {
        if self.quiet > EDGE_MEMORY {
            *self = Self::new(self.volume_bytes);
        }
    }
}

/// What is remembered of a class beside its rank: since when it grows, and how steadily.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct History {
    /// The volume and the bytes allocated when it began to grow.
    pub(super) base_bytes: u64,
    pub(super) base_allocated: u64,
    /// All that it has gone up and down since.
    travelled_bytes: u64,
    /// The largest volume that counted as a new height.
    high_bytes: u64,
    /// Collections since.
    since_high: u16,
    /// The longest that it went without a new height and still grew on.
    gap: u16,
    /// The largest volume that it has fallen from, and for how many collections more that
    /// is remembered.
    peak_bytes: u64,
    peak_left: u16,
    /// Whether it grows, as far as we know.
    growing: bool,
    /// Whether it is in the report. It enters at a new height, and stays while it grows.
    pub(super) reported: bool,
}

/// New heights further apart than this are not one growth.
const LONGEST_GAP: u16 = 6;
/// A class may go without a new height for so many collections at least.
const LEAST_PATIENCE: u16 = 3;
/// What counts as a new height: this part of what it has usually grown by in the time since
/// the last. An approach to a plateau falls behind that.
const HEIGHT: f64 = 0.4;
/// A height is old after so many collections.
const OLD_HEIGHT: u16 = 24;
/// By how many times its usual change a class must have grown: noise, however long it lasts,
/// does not get that far.
const ABOVE_NOISE: f64 = 4.5;
/// A peak is remembered for so many times as long as it took to get there.
const PEAK_MEMORY: u16 = 4;
/// And for so many collections at least.
const LEAST_PEAK_MEMORY: u16 = 16;
/// How far above an old peak a class must be; teeth of a saw are not all alike.
const PAST_PEAK: f64 = 1.15;

impl History {
    pub(super) fn new(volume_bytes: u64, allocated_bytes: u64) -> Self {
        Self {
            base_bytes: volume_bytes,
            base_allocated: allocated_bytes,
            high_bytes: volume_bytes,
            // As long ago as makes no difference.
            since_high: LONGEST_GAP,
            gap: 1,
            ..Self::default()
        }
    }

    /// Whether there is nothing to remember: a new history would do as well.
    pub(super) fn is_idle(&self, volume_bytes: u64) -> bool {
        let quiet = !self.growing && !self.reported && self.since_high >= LONGEST_GAP;
        quiet && self.gap == 1 && self.peak_left == 0 && self.high_bytes == volume_bytes
    }

    /// Starts anew after `phases` of growth, from the volume that is left.
    pub(super) fn restart(&mut self, phases: u16, volume_bytes: u64, allocated_bytes: u64) {
        let old = match self.peak_left > 0 {
            true => self.peak_bytes,
            false => 0,
        };
        let peak_bytes = old.max(self.high_bytes);
        let peak_left = match self.high_bytes {
            // It was not there; there is nothing that it fell from just now.
            0 => 0,
            _ => phases.saturating_mul(PEAK_MEMORY).max(LEAST_PEAK_MEMORY),
        };
        *self = Self {
            peak_bytes,
            peak_left: peak_left.max(self.peak_left),
            ..Self::new(volume_bytes, allocated_bytes)
        };
    }

    /// Follows a class of which nothing is left.
    pub(super) fn wait(&mut self) {
        self.peak_left = self.peak_left.saturating_sub(1);
    }

    /// Whether it may enter the report.
    pub(super) fn enters(&self, rank: &Rank) -> bool {
        let grown = rank.volume_bytes.saturating_sub(self.base_bytes) as f64;
        let usual = self.travelled_bytes as f64 / rank.phases.max(1) as f64;
        self.growing && self.since_high == 0 && !self.below_peak() && grown >= ABOVE_NOISE * usual
    }

    /// Whether it may stay there.
    pub(super) fn stays(&self) -> bool {
        self.growing
    }

    fn below_peak(&self) -> bool {
        self.peak_left > 0 && (self.high_bytes as f64) < PAST_PEAK * self.peak_bytes as f64
    }

    /// Follows a class whose volume was `before` when `allocated_before` bytes had been
    /// allocated. Answers whether the rank that it has gathered still stands.
    pub(super) fn follow(&mut self, rank: &Rank, before: u64, allocated_before: u64) -> bool {
        let volume = rank.volume_bytes;
        self.peak_left = self.peak_left.saturating_sub(1);
        if !self.growing && volume > self.high_bytes {
            self.growing = true;
            self.base_bytes = before;
            self.base_allocated = allocated_before;
            self.travelled_bytes = volume.abs_diff(before);
            self.reach(volume);
            return true;
        }
        self.travelled_bytes += volume.abs_diff(before);
        if self.growing {
            let phases = rank.phases.saturating_sub(self.since_high + 1).max(1);
            let usual = self.high_bytes.saturating_sub(self.base_bytes) as f64 / phases as f64;
            let due = HEIGHT * usual * (self.since_high + 1) as f64;
            if volume as f64 > self.high_bytes as f64 + due {
                self.reach(volume);
                return true;
            }
        }
        self.since_high = self.since_high.saturating_add(1);
        if !self.growing && self.since_high >= OLD_HEIGHT {
            // It has come down little by little, and may grow again from there.
            self.high_bytes = volume;
            self.since_high = LONGEST_GAP;
        }
        let patience = (2 * self.gap).max(LEAST_PATIENCE);
        self.growing &= self.since_high <= patience;
        self.growing
    }

    fn reach(&mut self, volume: u64) {
        self.gap = match self.since_high {
            0 => self.gap.max(1),
            gap if gap < LONGEST_GAP => self.gap.max(gap + 1),
            _ => 1,
        };
        self.high_bytes = volume;
        self.since_high = 0;
    }
}
