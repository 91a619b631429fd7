//! Whether pretenuring pays: a sum without a heap, so that it can be simulated.
//!
//! What is saved is copying: the bytes of pretenured objects that would have survived, at what a copied byte costs
//! in this heap. What is paid is the slower allocation of all objects of the class; and of the
//! bytes that would not have survived, their part of the next full collection, which comes the earlier. What a byte costs is
//! measured, collection by collection.

use std::time::Duration;

/// What pretenuring has saved and cost.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub(crate) struct Spent {
    pub(crate) saved: Duration,
    pub(crate) cost: Duration,
}

impl Spent {
    pub(crate) fn add(&mut self, other: Self) {
        self.saved += other.saved;
        self.cost += other.cost;
    }

    pub(crate) fn loses(self) -> bool {
        self.cost > self.saved
    }
}

/// What things cost in this heap.
#[derive(Default, Debug)]
pub(crate) struct Governor {
    /// Nanoseconds that a copied byte takes.
    copy: Slope,
    /// Nanoseconds of full collections for a byte that is allocated in the mature space.
    mature: Mean,
    /// The same, as long as there was none.
    expected: f64,
    /// How it has done altogether.
    record: Record,
    /// Collections to go until it is tried again.
    pause: u32,
    /// How long the last pause was.
    last_pause: u32,
}

/// A mean in which what was lately counts more.
#[derive(Default, Debug)]
struct Mean {
    amount: f64,
    time: f64,
}

impl Mean {
    fn note(&mut self, amount: f64, time: Duration) {
        const KEPT: f64 = 0.9;
        self.amount = self.amount * KEPT + amount;
        self.time = self.time * KEPT + time.as_nanos() as f64;
    }

    fn each(&self) -> f64 {
        if self.amount > 0.0 {
            self.time / self.amount
        } else {
            0.0
        }
    }
}

/// How much longer something takes for each bit more of it, apart from what it takes anyhow: a line through what was
/// lately, by least squares.
#[derive(Default, Debug)]
struct Slope {
    count: f64,
    amount: f64,
    time: f64,
    squares: f64,
    products: f64,
}

impl Slope {
    fn note(&mut self, amount: f64, time: Duration) {
        const KEPT: f64 = 0.97;
        let time = time.as_nanos() as f64;
        for (sum, new) in [
            (&mut self.count, 1.0),
            (&mut self.amount, amount),
            (&mut self.time, time),
            (&mut self.squares, amount * amount),
            (&mut self.products, amount * time),
        ] {
            *sum = *sum * KEPT + new;
        }
    }

    fn each(&self) -> f64 {
        if self.amount <= 0.0 {
            return 0.0;
        }
        let most = (self.time / self.amount).min(MOST_COPY_NANOS);
        let spread = self.count * self.squares - self.amount * self.amount;
        // If it is always the same amount, nothing tells the two apart.
        if spread < 0.01 * self.amount * self.amount {
            return most / 2.0;
        }
        let slope = (self.count * self.products - self.amount * self.time) / spread;
        slope.clamp(0.0, most)
    }
}

/// Nanoseconds that a copied byte takes at most. Where hardly anything is copied, pauses tell nothing of copying.
const MOST_COPY_NANOS: f64 = 4.0;

/// Nanoseconds that an allocation in the mature space takes longer than one in the nursery, cards included.
const MATURE_NANOS: f64 = 5.0;

/// Nanoseconds that an allocation takes longer in the nursery if it goes there on the slow path.
const DETOUR_NANOS: f64 = 3.0;

/// What it takes to mark a byte, in times of what it takes to copy one.
const MARKED_BYTE: f64 = 0.5;

/// Collections before anything is switched off: what one of them took says little.
const PATIENCE: u32 = 4;

/// Bytes of an object, where only bytes are known. Most are small.
const OBJECT_BYTES: u64 = 40;

impl Governor {
    /// Whether a class would gain, as far as the last phase tells, if a site of it were pretenured, by what it has allocated and the part that
    /// survives: all others of the class would take the slow path.
    pub(crate) fn would_pay(&self, own_bytes: u64, survival: f64, other_bytes: u64) -> bool {
        let [own, others] = [own_bytes, other_bytes].map(|bytes| bytes / OBJECT_BYTES);
        !self.spent(own, own_bytes, survival, others).loses()
    }

    /// The nursery was collected.
    pub(crate) fn note_nursery(&mut self, copied_bytes: usize, time: Duration) {
        self.copy.note(copied_bytes as f64, time);
        self.pause = self.pause.saturating_sub(1);
    }

    /// Notes how many bytes there are in the mature space, and how many more bring a full collection. What the first one will take must
    /// be reckoned with before it comes: it marks what is there.
    pub(crate) fn expect_full(&mut self, bytes: usize, budget: usize) {
        self.expected = MARKED_BYTE * self.copy.each() * bytes as f64 / budget.max(1) as f64;
    }

    /// Notes how long a full collection took, and how many bytes had been handed out before it.
    pub(crate) fn note_full(&mut self, handed_out: usize, time: Duration) {
        self.mature.note(handed_out as f64, time);
    }

    /// What came of objects that were pretenured, of which a part would have survived, and of allocations that went
    /// the slow way for nothing.
    pub(crate) fn spent(&self, objects: u64, bytes: u64, survival: f64, detours: u64) -> Spent {
        let survival = survival.clamp(0.0, 1.0);
        let (lives, dies) = (bytes as f64 * survival, bytes as f64 * (1.0 - survival));
        let saved = lives * self.copy.each();
        let allocation = objects as f64 * MATURE_NANOS + detours as f64 * DETOUR_NANOS;
        let mature = match self.mature.amount > 0.0 {
            true => self.mature.each(),
            false => self.expected,
        };
        let cost = allocation + dies * mature;
        Spent {
            saved: Duration::from_nanos(saved as u64),
            cost: Duration::from_nanos(cost as u64),
        }
    }

    /// Looks at all sites together.
    pub(crate) fn note(&mut self, all: Spent) {
        self.record.note(all);
        if self.record.loses() {
            // The longer the more often it has lost.
            self.last_pause = (self.last_pause * 2).clamp(64, 1 << 16);
            self.pause = self.last_pause;
            self.record = Record::default();
        }
    }

    /// Whether nothing is to be pretenured for now.
    pub(crate) fn is_off(&self) -> bool {
        self.pause > 0
    }
}

/// How a site, a class with all its sites, or everything has done, with what was lately counting more.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Record {
    /// Collections that it is known from.
    count: u32,
    sum: Spent,
}

impl Record {
    pub(crate) fn note(&mut self, own: Spent) {
        if own == Spent::default() {
            return;
        }
        const KEPT: f64 = 0.8;
        self.count = self.count.saturating_add(1);
        self.sum = Spent {
            saved: self.sum.saved.mul_f64(KEPT) + own.saved,
            cost: self.sum.cost.mul_f64(KEPT) + own.cost,
        };
    }

    /// Whether it has cost more than it has saved.
    pub(crate) fn loses(self) -> bool {
        self.count >= PATIENCE && self.sum.loses()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A heap in which a copied byte takes a nanosecond, and one in the mature space half of it.
    fn governor() -> Governor {
        let mut governor = Governor::default();
        for round in 0..50 {
            // Whatever is copied, it takes a tenth of a millisecond to look for it.
            let copied = (round % 5) << 18;
            governor.note_nursery(copied, Duration::from_nanos(copied as u64 + 100_000));
            governor.note_full(1 << 24, Duration::from_nanos(1 << 23));
        }
        governor
    }

    #[test]
    fn what_survives_saves_and_what_does_not_costs() {
        let governor = governor();
        let all = governor.spent(1000, 64_000, 1.0, 0);
        assert!((63_999..=64_001).contains(&all.saved.as_nanos()));
        assert_eq!(all.cost.as_nanos(), 5_000);
        let none = governor.spent(1000, 64_000, 0.0, 0);
        assert_eq!((none.saved.as_nanos(), none.cost.as_nanos()), (0, 37_000));
        assert!(!all.loses() && none.loses());
        // All others of the class go the slow way.
        assert!(governor.spent(1000, 64_000, 1.0, 50_000).loses());
    }

    #[test]
    fn a_full_collection_is_reckoned_with_before_the_first() {
        let mut governor = Governor::default();
        for round in 0..50 {
            let copied = (round % 5) << 18;
            governor.note_nursery(copied, Duration::from_nanos(copied as u64 + 100_000));
        }
        let dies = |governor: &Governor| governor.spent(0, 1_000_000, 0.0, 0).cost.as_nanos();
        assert_eq!(dies(&governor), 0);
        // As much is there as will still come.
        governor.expect_full(1 << 24, 1 << 24);
        assert!((499_000..=501_000).contains(&dies(&governor)));
        governor.note_full(1 << 24, Duration::from_nanos(1 << 22));
        assert_eq!(dies(&governor), 250_000);
    }

    #[test]
    fn pauses_in_which_hardly_anything_is_copied_do_not_pass_for_savings() {
        let mut governor = Governor::default();
        for round in 0..20 {
            let copied = 1000 + round % 2 * 300;
            governor.note_nursery(copied, Duration::from_nanos(30 * copied as u64));
        }
        assert!(!governor.would_pay(1300, 1.0, 256 << 10));
    }

    #[test]
    fn a_site_among_many_of_its_class_would_not_pay() {
        let governor = governor();
        assert!(governor.would_pay(1 << 20, 0.9, 0));
        assert!(governor.would_pay(1 << 20, 0.9, 1 << 20));
        assert!(!governor.would_pay(1 << 20, 0.9, 10 << 20));
    }

    #[test]
    fn small_objects_that_are_quickly_copied_are_not_worth_it() {
        let mut quick = Governor::default();
        quick.note_nursery(1 << 20, Duration::from_nanos(1 << 19));
        assert_eq!(quick.copy.each(), 0.25, "half of it");
        assert!(quick.spent(1000, 16_000, 1.0, 0).loses());
        assert!(!quick.spent(1000, 160_000, 1.0, 0).loses());
    }

    #[test]
    fn what_costs_more_than_it_saves_over_four_collections_is_switched_off() {
        let governor = governor();
        let wins = governor.spent(10, 1000, 1.0, 0);
        let loses = governor.spent(10, 1000, 1.0, 400);
        assert!(!wins.loses() && loses.loses());
        let lost_after = |all: &[Spent]| {
            let mut record = Record::default();
            all.iter().position(|&it| {
                record.note(it);
                record.loses()
            })
        };
        let nothing = Spent::default();
        assert_eq!(lost_after(&[loses, loses, nothing, loses, loses]), Some(4));
        // One that was slow, because the machine did something else, is no reason; nor are small losses between wins.
        let slow = governor.spent(10, 1000, 1.0, 700);
        assert!(slow.cost > 2 * slow.saved);
        assert_eq!(lost_after(&[wins, wins, wins, slow, wins, wins]), None);
        assert_eq!(lost_after(&[wins, loses, wins, loses, wins, loses]), None);
        // What has won for long and loses now is switched off, too.
        let mut turns = vec![wins; 100];
        turns.extend([loses; 20]);
        let lost = lost_after(&turns).unwrap();
        assert!((100..115).contains(&lost), "{lost}");
    }

    #[test]
    fn all_is_off_for_longer_and_longer_while_it_goes_on_losing() {
        let mut governor = governor();
        let loses = governor.spent(10, 100, 0.0, 0);
        let mut pauses = Vec::new();
        for _ in 0..4 {
            for _ in 0..PATIENCE {
                assert!(!governor.is_off());
                governor.note(loses);
            }
            let mut pause = 0;
            while governor.is_off() {
                governor.note_nursery(1 << 20, Duration::from_nanos(1 << 20));
                pause += 1;
            }
            pauses.push(pause);
        }
        assert_eq!(pauses, [64, 128, 256, 512]);
    }
}
