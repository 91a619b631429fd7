//! Pretenuring: what is known to live long is allocated in the mature space, and is never copied there.
//!
//! Samples (`sites.rs`) tell of each site how much of what it allocates survives its first collection. After each
//! collection of the nursery the policy (`policy.rs`) looks at what the sites have allocated since the last one, and
//! the governor (`governor.rs`) at what pretenuring has saved and cost; both are functions without a heap.
//!
//! The fast path of allocation does not know its site, and is not made to. It knows its class from a cache; so a class
//! of which some site is pretenured is kept out of the cache, and all its allocations take the slow path, which knows the
//! site and looks where it is to allocate. Other classes are not concerned.
//!
//! A pretenured object is old when it is made. Where what it refers to is young, its cards are marked; mostly it is pretenured, too. If the
//! mature space has used up its budget, the object goes to the nursery after all, whose next collection is
//! then a full one.

mod governor;
mod policy;

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use crate::heap::HeapInner;
use crate::pretenuring::governor::{Governor, Record, Spent};
use crate::pretenuring::policy::{Decision, Standing};
use crate::raw::objects::header::SiteId;
use crate::sites::Row;

/// How sites are chosen whose objects are allocated in the mature space at once, because they live long
/// ([`HeapBuilder::pretenuring`](crate::HeapBuilder::pretenuring)). The parameters are those of table 4.1 of Jump's
/// thesis, and the constants those of table 4.2.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Pretenuring {
    /// The least samples of a site between two collections of the nursery that tell anything of it.
    pub min_samples: u32,
    /// The part of a site's bytes, from 0 to 1, of which more must survive. Above 1 nothing is ever pretenured.
    pub threshold: f64,
    /// How often a pretenured site allocates in the nursery again, to see whether it is still right.
    pub back: BackSampling,
    /// It does so after as many bytes as the decision was made on, times 2 to the power of this.
    pub shift: u32,
    /// With each collection, earlier confirmations count less: as many as they were, divided by 2 to the power of this.
    pub decay: u32,
    /// Whether what pretenuring saves is measured against what it costs, so that it is switched off, for a site, a
    /// class or altogether, where it loses.
    pub governor: bool,
    /// Decides at random.
    random: bool,
}

/// When a pretenured site is looked at again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackSampling {
    /// After as much as before.
    Constant,
    /// The longer the more often it was confirmed: twice, three times, four times as long.
    Linear,
    /// After twice as long each time.
    Exponential,
}

impl Pretenuring {
    /// 8 samples, 80 %, linear.
    pub const LBS80: Self = Self {
        min_samples: 8,
        threshold: 0.8,
        back: BackSampling::Linear,
        shift: 1,
        decay: 0,
        governor: true,
        random: false,
    };
    /// 4 samples, 80 %, exponential.
    pub const EBS80: Self = Self {
        min_samples: 4,
        threshold: 0.8,
        back: BackSampling::Exponential,
        shift: 4,
        decay: 0,
        governor: true,
        random: false,
    };
    /// 10 samples, 85 %, linear, with decay.
    pub const LBS85: Self = Self {
        min_samples: 10,
        threshold: 0.85,
        back: BackSampling::Linear,
        shift: 1,
        decay: 1,
        governor: true,
        random: false,
    };

    /// The same with another least number of samples.
    pub fn min_samples(self, min_samples: u32) -> Self {
        Self {
            min_samples,
            ..self
        }
    }

    /// The same with another threshold.
    pub fn threshold(self, threshold: f64) -> Self {
        Self { threshold, ..self }
    }

    /// The same with another way to look at sites again.
    pub fn back(self, back: BackSampling, shift: u32, decay: u32) -> Self {
        Self {
            back,
            shift,
            decay,
            ..self
        }
    }

    /// The same with or without the governor.
    pub fn governor(self, governor: bool) -> Self {
        Self { governor, ..self }
    }

    /// The same with decisions at random, for tests of the collector.
    #[doc(hidden)]
    pub fn at_random(self) -> Self {
        Self {
            random: true,
            governor: false,
            ..self
        }
    }

    /// Whether pretenuring a site would pay, given what else of its class is allocated.
    fn pays(&self, governor: &Governor, row: &Row, staying: &[u64]) -> bool {
        let (phase, others) = (&row.transient, staying[row.class.0 as usize]);
        let survival = self.survival(phase);
        survival.is_none_or(|it| governor.would_pay(phase.allocated_bytes, it, others))
    }

    /// What is wrong with it, if anything is.
    pub(crate) fn fault(&self) -> Option<String> {
        let Self {
            min_samples,
            threshold,
            shift,
            decay,
            ..
        } = *self;
        if threshold.is_nan() || threshold <= 0.0 {
            return Some(format!(
                "the threshold of pretenuring is {threshold}, but must be above 0"
            ));
        }
        if min_samples == 0 {
            return Some("pretenuring needs at least one sample of a site".into());
        }
        (shift > 16 || decay > 16).then(|| {
            format!("pretenuring shifts by {shift} and {decay}, but must do so by 16 at most")
        })
    }
}

impl Default for Pretenuring {
    fn default() -> Self {
        Self::LBS80
    }
}

/// What pretenuring has done so far.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct PretenuringStats {
    /// Objects that were allocated in the mature space.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sites that are pretenured now.
    pub sites: usize,
    /// How often it was decided to pretenure a site.
    pub decisions: u64,
    /// How often a site was looked at again and still was right.
    pub confirmed: u64,
    /// How often it was not, and the decision was reversed.
    pub reversed: u64,
    /// Sites that the governor has switched off.
    pub switched_off: usize,
    /// Whether the governor has switched all off.
    pub is_off: bool,
    /// Bytes that would have been copied.
    pub saved_bytes: u64,
    /// How long that would have taken.
    pub saved_time: Duration,
    /// What it has cost: slower allocation, and more that is dead in the mature space.
    pub cost_time: Duration,
}

/// What is kept of pretenuring from one collection to the next.
#[derive(Default)]
pub(crate) struct Pretenurer {
    governor: Governor,
    stats: PretenuringStats,
    /// By class: how all sites together have done.
    classes: Vec<Record>,
    /// For decisions at random.
    dice: u32,
}

/// What is kept of a site.
#[derive(Clone, Default)]
pub(crate) struct SiteState {
    pub(crate) standing: Standing,
    record: Record,
    /// Whether the governor has switched it off.
    is_off: bool,
    /// Bytes that had been pretenured at the last collection, and objects.
    before: (u64, u64),
    /// Allocations that took the slow path for nothing.
    pub(crate) detours: u64,
}

impl HeapInner {
    /// Decides after a collection of the nursery, which has copied that many bytes, where each site is to allocate.
    /// With the world stopped.
    pub(crate) fn choose_routes(&self, copied_bytes: usize, time: Duration) {
        let Some(options) = self.config.pretenuring else {
            return;
        };
        let mutators = self.mutators.lock().unwrap();
        let mut table = self.sites.0.lock().unwrap();
        let pretenurer = &mut *self.pretenurer.lock().unwrap();
        let Pretenurer {
            governor,
            stats,
            classes,
            dice,
        } = pretenurer;
        governor.note_nursery(copied_bytes, time);
        let handed_out = self.space.handed_out.load(Relaxed);
        governor.expect_full(handed_out, self.space.budget());
        classes.resize(self.classes.count() + 1, Record::default());
        let mut by_class = vec![Spent::default(); classes.len()];
        let mut all = Spent::default();
        for row in &mut table.rows {
            let spent = row.settle(governor, stats);
            by_class[row.class.0 as usize].add(spent);
            all.add(spent);
        }
        classes
            .iter_mut()
            .zip(by_class)
            .for_each(|(record, it)| record.note(it));
        governor.note(all);
        stats.saved_time += all.saved;
        stats.cost_time += all.cost;
        stats.is_off = options.governor && governor.is_off();
        // What would have to take the slow path if a site of the class were pretenured.
        let mut staying = vec![0; classes.len()];
        for row in &table.rows {
            let phase = &row.transient;
            let stays = options
                .survival(phase)
                .is_none_or(|it| it <= options.threshold);
            staying[row.class.0 as usize] += if stays { phase.allocated_bytes } else { 0 };
        }
        let mut changed = false;
        for (row, number) in table.rows.iter_mut().zip(1..) {
            let was = row.is_pretenured;
            let left = mutators
                .iter()
                .map(|it| it.sampler.left(SiteId(number)).get());
            // Nothing is left in any of them: the site has been in the nursery.
            let is_back = was && left.fold(i64::MAX, i64::min) <= 0;
            let loses = row.state.record.loses() || classes[row.class.0 as usize].loses();
            if options.governor && was && loses {
                row.state.is_off = true;
                stats.switched_off += 1;
            }
            let decision = match stats.is_off || row.state.is_off {
                true => {
                    row.state.standing = Standing::default();
                    Decision::Nursery
                }
                false if options.governor && !was && !options.pays(governor, row, &staying) => {
                    Decision::Stay
                }
                false if options.random => Decision::at_random(dice),
                false => options.decide(&mut row.state.standing, &row.transient, is_back),
            };
            match decision {
                Decision::Nursery => row.is_pretenured = false,
                Decision::Stay => continue,
                Decision::Mature { .. } => row.is_pretenured = true,
            }
            match (was, row.is_pretenured) {
                (false, true) => stats.decisions += 1,
                (true, true) => stats.confirmed += 1,
                (true, false) => stats.reversed += 1,
                (false, false) => continue,
            }
            changed |= was != row.is_pretenured;
            let bytes = match decision {
                Decision::Mature { bytes } => (bytes / mutators.len().max(1) as u64).max(1),
                _ => 0,
            };
            for shared in mutators.iter() {
                shared.sampler.left(SiteId(number)).set(bytes as i64);
            }
        }
        stats.sites = table.rows.iter().filter(|row| row.is_pretenured).count();
        if changed {
            self.classes
                .iter()
                .for_each(|class| class.set_routed(false));
            let pretenured = table.rows.iter().filter(|row| row.is_pretenured);
            pretenured.for_each(|row| self.classes.get(row.class).set_routed(true));
            mutators.iter().for_each(|shared| shared.forget_classes());
        }
        for shared in mutators.iter() {
            shared.sampler.routes.set(stats.sites > 0);
            shared.sampler.is_closed.set(false);
        }
        self.stats.lock().unwrap().pretenuring = *stats;
    }

    /// Notes how long a full collection took, and how many bytes of the mature space had been handed out before it. With the world stopped.
    ///
    /// It has seen what became of what was pretenured. If too little of a site lives, some of it may have died late; but there is
    /// reason to look at the site at once.
    pub(crate) fn note_full(&self, handed_out: usize, time: Duration) {
        let Some(options) = self.config.pretenuring else {
            return;
        };
        let mutators = self.mutators.lock().unwrap();
        let table = self.sites.0.lock().unwrap();
        for (row, number) in table.rows.iter().zip(1..) {
            let survival = options.survival(&row.born_old);
            if row.is_pretenured && survival.is_some_and(|it| it <= options.threshold) {
                let left = mutators.iter().map(|it| it.sampler.left(SiteId(number)));
                left.for_each(|it| it.set(0));
            }
        }
        let pretenurer = &mut *self.pretenurer.lock().unwrap();
        pretenurer.governor.note_full(handed_out, time);
    }
}

impl Row {
    /// What pretenuring the site has saved and cost since the last time.
    fn settle(&mut self, governor: &Governor, stats: &mut PretenuringStats) -> Spent {
        let now = (self.pretenured.samples, self.pretenured.bytes);
        let before = std::mem::replace(&mut self.state.before, now);
        let (objects, bytes) = (now.0 - before.0, now.1 - before.1);
        let detours = std::mem::take(&mut self.state.detours);
        if objects == 0 && detours == 0 {
            return Spent::default();
        }
        let survival = self.state.standing.survival();
        let spent = governor.spent(objects, bytes, survival, detours);
        stats.objects += objects;
        stats.bytes += bytes;
        stats.saved_bytes += (bytes as f64 * survival) as u64;
        if objects > 0 {
            self.state.record.note(spent);
        }
        spent
    }
}
