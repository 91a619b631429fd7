//! Growth, by simulation of volumes that no constant was chosen by: noise with a memory, waves,
//! rings that fill, vocabularies, heaps that are nearly full.

use heaphound_analysis::cork::{Cork, Options};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::{ClassTotal, Summary};

/// A number between -1 and 1 that depends on both.
fn noise(seed: u64, i: u64) -> f64 {
    let mut z = (seed * 7_368_787 + i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Noise of which a part stays from collection to collection.
fn lasting(seed: u64, part: f64, count: usize) -> Vec<f64> {
    let mut at = 0.0;
    let step = |i| {
        at = part * at + (1.0 - part) * 2.0 * noise(seed, i);
        at
    };
    (0..count as u64).map(step).collect()
}

/// The collections, counted from 1, that report a class, given its volume and what has been
/// allocated at each. Another class has 10 MB.
fn reported_at(points: impl IntoIterator<Item = (f64, f64)>) -> Vec<u64> {
    let mut cork = Cork::new(Options::default());
    let ids = SlotIds::default();
    let mut found = Vec::new();
    for (i, (volume, allocated)) in (1..).zip(points) {
        let total = |volume: f64| ClassTotal {
            objects: (volume / 16.0) as u64,
            volume_bytes: volume as u64,
            roots: 0,
        };
        let classes = vec![ClassTotal::default(), total(volume), total(10e6)];
        let summary = Summary::new(classes, Vec::new());
        cork.observe(&summary, &ids, allocated as u64);
        if !cork.candidates(&summary, &ids).is_empty() {
            found.push(i);
        }
    }
    found
}

/// The same for a heap that is collected after every 100 MB.
fn reported(volumes: impl IntoIterator<Item = f64>) -> Vec<u64> {
    let allocated = (1..).map(|i| 1e8 * i as f64);
    reported_at(volumes.into_iter().zip(allocated))
}

#[test]
fn noise_that_lasts_is_no_growth() {
    let (mut runs, mut reports) = (0, 0);
    for seed in 0..100 {
        for part in [0.5, 0.8, 0.9] {
            let wobble = lasting(seed, part, 80);
            let found = reported(wobble.iter().map(|it| 4e6 * (1.0 + 0.3 * it)));
            assert!(found.len() < 80 / 4, "seed {seed}, {part}: {found:?}");
            runs += 80;
            reports += found.len();
        }
    }
    // By chance, and rarely.
    assert!(reports * 50 < runs, "{reports} of {runs}");
}

#[test]
fn a_vocabulary_slackens_for_ever() {
    for power in [0.3, 0.5, 0.6, 0.7] {
        let found = reported((1..=80).map(|i| 1e6 * f64::from(i).powf(power)));
        assert!(found.is_empty(), "{power}: {found:?}");
    }
    let found = reported((1..=80).map(|i| 2e6 * f64::from(i).ln_1p()));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn what_is_loaded_when_it_is_first_used_warms_up() {
    for seed in 0..20 {
        for time in [4.0, 6.0, 9.0, 12.0] {
            let volume = |i: u64| {
                let loaded = 1.0 - (-(i as f64) / time).exp();
                6e6 * loaded * (1.0 + 0.01 * noise(seed, i))
            };
            let found = reported((1..=60).map(volume));
            assert!(found.len() < 60 / 4, "seed {seed}, {time}: {found:?}");
        }
    }
}

#[test]
fn a_warm_up_of_many_collections_leaves_the_report_when_it_slackens() {
    // One that takes a hundred collections cannot be told from a leak while it lasts.
    for seed in 100..120 {
        for time in [15.0, 20.0] {
            let volume = |i: u64| {
                let loaded = 1.0 - (-(i as f64) / time).exp();
                6e6 * loaded * (1.0 + 0.01 * noise(seed, i))
            };
            let found = reported((1..=150).map(volume));
            assert!(found.len() < 150 / 4, "seed {seed}, {time}: {found:?}");
        }
    }
}

#[test]
fn a_ring_that_fills_is_reported_while_it_does_and_then_forgotten() {
    for length in 3..=12 {
        let found = reported((1..=60).map(|i| 5e5 * i.min(length) as f64));
        let most = (length as usize).saturating_sub(5) + 3;
        assert!(found.len() <= most, "{length}: {found:?}");
        assert!(found.iter().all(|&it| it <= length as u64 + 3));
    }
}

#[test]
fn an_s_shaped_start_is_soon_over() {
    for steep in [0.5, 0.8, 1.2] {
        let volume = |i: u32| 5e6 / (1.0 + (-steep * (f64::from(i) - 8.0)).exp());
        let found = reported((1..=80).map(volume));
        assert!(found.len() < 80 / 4, "{steep}: {found:?}");
    }
}

#[test]
fn days_and_nights_are_no_growth() {
    for seed in 0..20 {
        for period in [8.0, 12.0, 20.0, 30.0] {
            let volume = |i: u64| {
                let day = 1.0 - 0.8 * (i as f64 / period * std::f64::consts::TAU).cos();
                3e6 * day * (1.0 + 0.05 * noise(seed, i))
            };
            let found = reported((1..=120).map(volume));
            assert!(found.len() < 120 / 4, "seed {seed}, {period}: {found:?}");
        }
    }
}

#[test]
fn a_leak_is_seen_through_days_and_nights() {
    for seed in 0..20 {
        let volume = |i: u64| {
            let day = 1.0 - 0.2 * (i as f64 / 10.0 * std::f64::consts::TAU).cos();
            (2e6 * day + 3e5 * i as f64) * (1.0 + 0.02 * noise(seed, i))
        };
        let found = reported((1..=60).map(volume));
        // After three days at the latest.
        assert!(found.first().is_some_and(|&it| it <= 30), "{found:?}");
        assert!(found.len() >= 60 / 4, "seed {seed}: {found:?}");
    }
}

#[test]
fn a_leak_under_lasting_noise_is_found() {
    for seed in 0..50 {
        let wobble = lasting(seed, 0.8, 60);
        let volume = |i: usize| (1e6 + 2e5 * i as f64) * (1.0 + 0.05 * wobble[i]);
        let found = reported((0..60).map(volume));
        assert!(
            found.first().is_some_and(|&it| it <= 20),
            "{seed}: {found:?}"
        );
        assert!(found.len() >= 30, "seed {seed}: {found:?}");
    }
}

#[test]
fn a_leak_in_a_heap_that_gets_full_is_reported_until_the_end() {
    // A twentieth of what is allocated stays; a heap of 60 MB is collected when it is full, so
    // that collections come faster and faster.
    let (mut volume, mut allocated) = (1e6, 0.0);
    let mut points = Vec::new();
    while points.len() < 60 {
        let free = 60e6 - 10e6 - volume;
        allocated += free;
        volume += free / 20.0;
        points.push((volume, allocated));
    }
    let found = reported_at(points);
    assert_eq!(found.first(), Some(&6), "{found:?}");
    assert_eq!(found.last(), Some(&60), "{found:?}");
}

#[test]
fn collections_that_follow_closely_are_one() {
    // A cache of 1 MB fills while 3 MB are allocated, and is collected every 10 KB: 300 times,
    // but what was allocated meanwhile is less than a third of the heap.
    let volume = |i: u64| (i as f64 * 1e6 / 300.0).min(1e6);
    let points = (1..=2_000).map(|i| (volume(i), 1e4 * i as f64));
    let found = reported_at(points);
    assert!(found.is_empty(), "{found:?}");
}
