//! When to collect: decisions without a heap, so that they can be simulated.

use crate::config::Config;
use crate::raw::memory::sizes::BLOCK;

/// Bytes that may be handed out before the next full collection, given what lives
/// now: the heap grows by the configured factor, but not beyond its limit.
pub(crate) fn next_budget(config: &Config, live_bytes: usize) -> usize {
    let grown = (live_bytes as f64 * (config.growth - 1.0)) as usize;
    // Near the limit there must still be something to hand out; whether the
    // memory is there is for the space to say.
    let least = config.initial_bytes.min(config.max_bytes / 64);
    let room = config.max_bytes.saturating_sub(live_bytes).max(least);
    grown.max(config.initial_bytes).min(room)
}

/// As [`next_budget`], for a heap whose leaks are pruned. How stale objects are is known in collections, so
/// that a heap that fills up must see some before it is full: one when so much is in use that it is to
/// be observed, and from then on one with each quarter of what is left. One that does not grow needs none.
pub(crate) fn observed_budget(
    config: &Config,
    observe_above: f64,
    live_bytes: usize,
    grows: bool,
) -> usize {
    let budget = next_budget(config, live_bytes);
    if !grows {
        return budget;
    }
    let until_observed = (config.max_bytes as f64 * observe_above) as usize;
    let until_observed = until_observed.saturating_sub(live_bytes);
    let room = config.max_bytes.saturating_sub(live_bytes);
    budget.min(until_observed.max(room / 4).max(least_observed(config)))
}

/// What must have been allocated between two collections that tell something of the program: nearly full heaps
/// are collected several times in a row.
pub(crate) fn least_observed(config: &Config) -> usize {
    config.max_bytes / 32
}

/// Whether what lives grows.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Trend {
    /// What had been allocated, and what lived, when it was last looked at.
    allocated_bytes: u64,
    live_bytes: usize,
    grows: bool,
}

impl Trend {
    /// Looks at it after a full collection. It grows if more than a sixteenth of what was allocated lives. That
    /// less lives than before says nothing: something was pruned, or is over.
    pub(crate) fn grows(
        &mut self,
        config: &Config,
        allocated_bytes: u64,
        live_bytes: usize,
    ) -> bool {
        let new = allocated_bytes - self.allocated_bytes;
        if new < least_observed(config) as u64 {
            return self.grows;
        }
        if let Some(more) = live_bytes.checked_sub(self.live_bytes) {
            self.grows = more as u64 > new / 16;
        }
        (self.allocated_bytes, self.live_bytes) = (allocated_bytes, live_bytes);
        self.grows
    }
}

/// Whether to move objects together: at least a third of the blocks' memory is
/// holes, and it is worth the walk; or there is no memory left without the holes, be they ever so few.
pub(crate) fn should_compact(block_bytes: usize, live_small_bytes: usize, is_full: bool) -> bool {
    let holes = block_bytes.saturating_sub(live_small_bytes);
    match is_full {
        true => holes >= BLOCK,
        false => holes > 1 << 20 && holes * 3 > block_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Heap;

    fn config() -> Config {
        let mut config = Heap::builder().into_config();
        config.max_bytes = 1000 << 20;
        config.initial_bytes = 10 << 20;
        config.growth = 2.0;
        config
    }

    #[test]
    fn the_heap_doubles_between_collections() {
        assert_eq!(next_budget(&config(), 100 << 20), 100 << 20);
    }

    #[test]
    fn a_small_heap_is_not_collected_all_the_time() {
        assert_eq!(next_budget(&config(), 1000), 10 << 20);
    }

    #[test]
    fn the_budget_never_leads_beyond_the_limit_by_more_than_a_little() {
        for live in (0..1100).map(|mib| mib << 20) {
            let budget = next_budget(&config(), live);
            assert!(budget >= 10 << 20);
            assert!(live + budget <= 1000 << 20 || budget == 10 << 20);
        }
    }

    #[test]
    fn a_leak_is_observed_before_memory_is_full() {
        let config = config();
        // Everything that is allocated leaks.
        for start in (10..500).step_by(7) {
            let (mut live, mut collections) = (start << 20, 0);
            while live < 900 << 20 {
                collections += (live > 450 << 20) as usize;
                live += observed_budget(&config, 0.5, live, true);
            }
            assert!((5..20).contains(&collections), "{start}: {collections}");
        }
        // Nothing leaks.
        let live = 600 << 20;
        assert_eq!(
            observed_budget(&config, 0.5, live, false),
            next_budget(&config, live)
        );
    }

    #[test]
    fn what_grows_goes_on_growing_though_something_was_freed() {
        let config = config();
        let mut trend = Trend::default();
        let mut at =
            |allocated: u64, live: usize| trend.grows(&config, allocated << 20, live << 20);
        assert!(at(500, 400));
        // Too soon, pruned, grown again, steady.
        assert!(at(501, 400) && at(600, 300) && at(700, 350));
        assert!(!at(800, 351) && !at(810, 360));
    }

    #[test]
    fn a_steady_program_settles_at_growth_minus_one_collections_per_live_volume() {
        // 100 MiB live, allocating garbage: one collection per 100 MiB.
        let mut collections = 0;
        let mut left = next_budget(&config(), 100 << 20);
        for _ in 0..1000 {
            if left < 1 << 20 {
                collections += 1;
                left = next_budget(&config(), 100 << 20);
            }
            left -= 1 << 20;
        }
        assert_eq!(collections, 9);
    }

    #[test]
    fn half_empty_blocks_are_worth_compacting() {
        assert!(should_compact(100 << 20, 50 << 20, false));
        assert!(!should_compact(100 << 20, 80 << 20, false));
        assert!(should_compact(100 << 20, 80 << 20, true));
        assert!(!should_compact(1 << 20, 0, false));
    }

    #[test]
    fn where_memory_is_full_each_block_counts() {
        assert!(should_compact(1 << 20, 0, true));
        assert!(should_compact(BLOCK, 0, true));
        assert!(!should_compact(BLOCK, 1, true));
    }
}
