//! How many random cases a test runs, and how it runs them.

use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};

/// Returns that number, times `HEAPHOUND_CASES` if that is set.
///
/// # Panics
/// If it is no whole number.
pub fn cases(usual: u32) -> u32 {
    let factor = std::env::var("HEAPHOUND_CASES").map_or(1, |text| {
        text.parse().expect("HEAPHOUND_CASES is a whole number")
    });
    usual * factor
}

/// Returns how to run that number of [`cases`]: nothing is written, and simpler failures are looked for.
pub fn config(usual: u32) -> ProptestConfig {
    ProptestConfig {
        cases: cases(usual),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    }
}

/// Checks random values, as many as [`cases`] says.
///
/// # Panics
/// If one of them fails, with the simplest that does.
pub fn check<S: Strategy>(usual: u32, strategy: &S, f: impl Fn(&S::Value) -> TestCaseResult) {
    let result = TestRunner::new(config(usual)).run(strategy, |value| f(&value));
    if let Err(error) = result {
        panic!("{error}");
    }
}
