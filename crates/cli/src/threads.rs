//! How many threads work: `--threads`, or one for each core.

use std::sync::OnceLock;
use std::thread;

static GIVEN: OnceLock<usize> = OnceLock::new();

/// Sets the number for all work, if one was given.
pub fn choose(given: Option<u16>) {
    if let Some(given) = given {
        GIVEN.get_or_init(|| given.into());
    }
}

/// Returns how many threads may work.
pub fn threads() -> usize {
    match GIVEN.get() {
        Some(given) => *given,
        None => thread::available_parallelism().map_or(1, usize::from),
    }
}
