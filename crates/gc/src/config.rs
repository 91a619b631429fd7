//! How a heap is built.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use crate::error::BuildError;
use crate::findings::Reaction;
use crate::heap::Heap;
use crate::pretenuring::Pretenuring;
use crate::pruning::Pruning;
use crate::raw::mutators::mutator::MAX_LOCALS;
use crate::raw::mutators::sampler::Interval;
use crate::raw::{MATURE_START, NURSERY_END, NURSERY_START, PAGE, REGION, TAGGED_REGION};
use crate::sampling::Sampling;

/// Which collector a heap has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Collector {
    /// Marks the whole heap each time. The default for checking: every collection
    /// sees everything.
    #[default]
    MarkSweep,
    /// A copying nursery in front of the mark-sweep space.
    Generational,
}

/// When finalizers and drops run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Finalization {
    /// Right after a collection, by the mutator that caused it.
    #[default]
    AfterCollection,
    /// When a mutator calls [`run_finalizers`](crate::Mutator::run_finalizers).
    OnRequest,
}

/// Bytes between two samples where the program wants none.
const COARSE: usize = 16 << 10;

#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) max_bytes: usize,
    pub(crate) initial_bytes: usize,
    pub(crate) collector: Collector,
    pub(crate) collector_threads: usize,
    pub(crate) nursery_bytes: usize,
    pub(crate) growth: f64,
    pub(crate) max_locals: usize,
    pub(crate) stall_warning: Duration,
    pub(crate) log: bool,
    pub(crate) zeal: Option<NonZeroU32>,
    pub(crate) finalization: Finalization,
    pub(crate) snapshot_on_oom: Option<PathBuf>,
    pub(crate) invalidation: bool,
    pub(crate) pruning: Option<Pruning>,
    pub(crate) pruning_reaction: Reaction,
    pub(crate) assertion_patience: Option<NonZeroU32>,
    pub(crate) halt_with_errors: bool,
    pub(crate) summaries: u32,
    pub(crate) sampling: Option<Sampling>,
    pub(crate) pretenuring: Option<Pretenuring>,
}

impl Config {
    /// Whether references carry tags.
    pub(crate) fn tags(&self) -> bool {
        self.invalidation || self.pruning.is_some()
    }

    /// How often samples are taken of what is allocated.
    pub(crate) fn how_sampled(&self) -> Sampling {
        let usual = match self.pretenuring {
            Some(_) => Sampling::default(),
            None => Sampling::every(COARSE),
        };
        self.sampling.unwrap_or(usual)
    }

    /// How many bytes lie between two samples.
    pub(crate) fn interval(&self) -> Interval {
        self.how_sampled().interval()
    }

    /// The part of the region that the heap can use.
    pub(crate) fn reach(&self) -> usize {
        if self.tags() { TAGGED_REGION } else { REGION }
    }
}

/// Options for a heap; [`HeapBuilder::build`] makes it.
#[derive(Clone, Debug)]
#[must_use]
pub struct HeapBuilder(Config);

impl HeapBuilder {
    pub(crate) fn new() -> Self {
        let threads = heaphound_heap::crew::cores();
        Self(Config {
            max_bytes: 4 << 30,
            initial_bytes: 16 << 20,
            collector: Collector::default(),
            collector_threads: threads.min(16),
            nursery_bytes: 4 << 20,
            growth: 2.0,
            max_locals: 1 << 18,
            stall_warning: Duration::from_millis(100),
            log: std::env::var_os("HEAPHOUND_LOG").is_some_and(|value| value != "0"),
            zeal: None,
            finalization: Finalization::default(),
            snapshot_on_oom: None,
            invalidation: false,
            pruning: None,
            pruning_reaction: Reaction::Log,
            assertion_patience: NonZeroU32::new(64),
            halt_with_errors: false,
            summaries: 0,
            sampling: None,
            pretenuring: None,
        })
    }

    /// The most memory that objects may take, free space between them and external
    /// memory included. 4 GiB unless said otherwise, 31 GiB at most. Collector
    /// metadata comes on top: about half a percent. Every size of object in use takes at
    /// least a block of 32 KiB, so that a heap of few MiB is better a little larger.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.0.max_bytes = bytes;
        self
    }

    /// Bytes to allocate before the first automatic collection; also the least
    /// between any two. 16 MiB unless said otherwise.
    pub fn initial_bytes(mut self, bytes: usize) -> Self {
        self.0.initial_bytes = bytes;
        self
    }

    /// The collector.
    pub fn collector(mut self, collector: Collector) -> Self {
        self.0.collector = collector;
        self
    }

    /// Threads that mark and sweep. All cores up to 16 unless said otherwise.
    pub fn collector_threads(mut self, threads: usize) -> Self {
        self.0.collector_threads = threads;
        self
    }

    /// Size of the nursery of a generational heap. 4 MiB unless said otherwise.
    pub fn nursery_bytes(mut self, bytes: usize) -> Self {
        self.0.nursery_bytes = bytes;
        self
    }

    /// How far the heap may grow between full collections: 2 (the default)
    /// collects when it has doubled since the last one.
    pub fn growth(mut self, factor: f64) -> Self {
        self.0.growth = factor;
        self
    }

    /// Locals that one mutator can have at once. 262,144 unless said otherwise.
    pub fn max_locals(mut self, locals: usize) -> Self {
        self.0.max_locals = locals;
        self
    }

    /// How long a collection waits for mutators before it names, in the log, those
    /// that it waits for. 100 ms unless said otherwise, a day at most.
    pub fn stall_warning(mut self, patience: Duration) -> Self {
        let (least, most) = (Duration::from_millis(1), Duration::from_secs(86_400));
        self.0.stall_warning = patience.clamp(least, most);
        self
    }

    /// Writes a line to standard error for each collection. On by default if the
    /// environment variable `HEAPHOUND_LOG` is set and not `0`.
    pub fn log(mut self, on: bool) -> Self {
        self.0.log = on;
        self
    }

    /// Zeal: collects at every n-th allocation, poisons freed memory, and verifies
    /// the heap around each collection. Slow, for tests.
    pub fn zeal(mut self, every: u32) -> Self {
        self.0.zeal = NonZeroU32::new(every);
        self
    }

    /// When finalizers and drops run.
    pub fn finalization(mut self, when: Finalization) -> Self {
        self.0.finalization = when;
        self
    }

    /// Writes the heap to this file, as text, when memory runs out.
    pub fn snapshot_on_out_of_memory(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.snapshot_on_oom = Some(path.into());
        self
    }

    /// Whether references can be invalidated, as [`unique`](crate::Mutator::unique) does.
    /// Such a heap has `max_bytes` of at most 7 GiB. Off unless said otherwise. Needs the
    /// cargo feature `barrier`, which is on by default and costs every reading of a
    /// reference one comparison.
    #[cfg(feature = "barrier")]
    pub fn invalidation(mut self, on: bool) -> Self {
        self.0.invalidation = on;
        self
    }

    /// Whether and how the heap prunes leaks: when memory is about to run out, references that
    /// nobody has read for long are cut, and what hung on them is freed. To read one is an error.
    /// Such a heap has `max_bytes` of at most 7 GiB. Off unless said otherwise; `true` stands for the defaults
    /// of [`Pruning`]. Needs the cargo feature `barrier`, as [`invalidation`](Self::invalidation) does.
    #[cfg(feature = "barrier")]
    pub fn pruning(mut self, how: impl Into<Pruning>) -> Self {
        let how = how.into();
        self.0.pruning = (how != Pruning::from(false)).then_some(how);
        self
    }

    /// What happens when leak pruning has something to tell: that memory would have run out, and what was pruned
    /// or would be. It is logged unless said otherwise.
    #[cfg(feature = "barrier")]
    pub fn pruning_reaction(mut self, reaction: Reaction) -> Self {
        self.0.pruning_reaction = reaction;
        self
    }

    /// How many nursery collections an assertion waits at most for a full one, which checks
    /// it: then one is made. 64 unless said otherwise; 0 lets them wait for ever.
    pub fn assertion_patience(mut self, collections: u32) -> Self {
        self.0.assertion_patience = NonZeroU32::new(collections);
        self
    }

    /// Whether a failed assertion that halts the program does so by refusing memory, an error
    /// that says why ([`OutOfMemory::halted`](crate::OutOfMemory::halted)), and not by a
    /// panic.
    pub fn halt_with_errors(mut self, on: bool) -> Self {
        self.0.halt_with_errors = on;
        self
    }

    /// Makes a summary of the heap at every n-th full collection
    /// ([`Heap::summary`]). 0, the default, makes none but those that checks
    /// ([`Heap::watch`]) need.
    pub fn summaries(mut self, every: u32) -> Self {
        self.0.summaries = every;
        self
    }

    /// How often samples are taken of what the program allocates where. Without it, one is taken for every 16 KiB, which
    /// cannot be measured.
    pub fn sampling(mut self, how: Sampling) -> Self {
        self.0.sampling = Some(how);
        self
    }

    /// Whether and how what lives long is allocated in the mature space at once, in a generational heap. Off unless said
    /// otherwise. It takes samples as [`Sampling::default`] does, unless [`sampling`](Self::sampling) says otherwise.
    pub fn pretenuring(mut self, how: Pretenuring) -> Self {
        self.0.pretenuring = Some(how);
        self
    }

    #[cfg(test)]
    pub(crate) fn into_config(self) -> Config {
        self.0
    }

    /// Builds the heap.
    pub fn build(self) -> Result<Heap, BuildError> {
        let config = &self.0;
        let fail = |what: String| Err(BuildError::Options(what));
        if let Some(fault) = config.pruning.as_ref().and_then(Pruning::fault) {
            return fail(fault);
        }
        if let Some(fault) = config.pretenuring.as_ref().and_then(Pretenuring::fault) {
            return fail(fault);
        }
        if config.pretenuring.is_some() && config.collector != Collector::Generational {
            return fail("pretenuring needs a nursery: the collector must be generational".into());
        }
        if let Some(fault) = config.sampling.as_ref().and_then(Sampling::fault) {
            return fail(fault);
        }
        let most = config.reach() - MATURE_START - (512 << 20);
        let least = 1 << 20;
        if !(least..=most).contains(&config.max_bytes) {
            let whose = match config.tags() {
                true => " in a heap that invalidates or prunes references",
                false => "",
            };
            return fail(format!(
                "max_bytes is {}, but must be between {least} and {most}{whose}",
                config.max_bytes
            ));
        }
        if config.collector_threads == 0 || config.collector_threads > 1024 {
            return fail("collector_threads must be between 1 and 1024".into());
        }
        if !(config.growth > 1.0 && config.growth <= 100.0) {
            return fail(format!(
                "growth is {}, but must be above 1 and at most 100",
                config.growth
            ));
        }
        if !(1..=MAX_LOCALS).contains(&config.max_locals) {
            return fail(format!("max_locals must be between 1 and {MAX_LOCALS}"));
        }
        if config.collector == Collector::Generational {
            let range = 64 << 10..=NURSERY_END - NURSERY_START;
            if !range.contains(&config.nursery_bytes) || !config.nursery_bytes.is_multiple_of(PAGE)
            {
                return fail(format!(
                    "nursery_bytes is {}, but must be a multiple of {PAGE} between {} and {}",
                    config.nursery_bytes,
                    range.start(),
                    range.end()
                ));
            }
            if config.nursery_bytes * 2 > config.max_bytes {
                return fail(format!(
                    "a nursery of {} bytes needs max_bytes of at least twice that, but it is {}",
                    config.nursery_bytes, config.max_bytes
                ));
            }
        }
        Heap::with(self.0)
    }
}
