//! When to collect: decisions without a heap, so that they can be simulated.

use crate::config::Config;

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

/// Whether to move objects together: at least a third of the blocks' memory is
/// holes, and it is worth the walk.
pub(crate) fn should_compact(block_bytes: usize, live_small_bytes: usize) -> bool {
    let holes = block_bytes.saturating_sub(live_small_bytes);
    holes > 1 << 20 && holes * 3 > block_bytes
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
        assert!(should_compact(100 << 20, 50 << 20));
        assert!(!should_compact(100 << 20, 80 << 20));
        assert!(!should_compact(1 << 20, 0));
    }
}
