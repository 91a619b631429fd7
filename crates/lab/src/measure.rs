//! Measuring: interleaved rounds, medians, ratios.

use std::time::{Duration, Instant};

/// The times of several things that were done in turn, round by round.
pub struct Rounds {
    times: Vec<Vec<f64>>,
}

/// Does several things in turn, `rounds` times over and once before to warm up. Each
/// answers how long it took, which may be less than the call.
pub fn interleave(rounds: usize, things: &mut [&mut dyn FnMut() -> Duration]) -> Rounds {
    let mut times = vec![Vec::new(); things.len()];
    for round in 0..=rounds {
        for (thing, times) in things.iter_mut().zip(&mut times) {
            let time = thing();
            if round > 0 {
                times.push(time.as_secs_f64());
            }
        }
    }
    Rounds { times }
}

impl Rounds {
    /// The median time of a thing, in seconds.
    pub fn median(&self, thing: usize) -> f64 {
        median(self.times[thing].clone())
    }

    /// The median of the ratios, taken round by round, of one thing's time to another's.
    pub fn ratio(&self, thing: usize, to: usize) -> f64 {
        let pairs = self.times[thing].iter().zip(&self.times[to]);
        median(pairs.map(|(a, b)| a / b).collect())
    }

    /// The middle half of those ratios: how sure the median is.
    pub fn spread(&self, thing: usize, to: usize) -> (f64, f64) {
        let pairs = self.times[thing].iter().zip(&self.times[to]);
        let mut ratios: Vec<f64> = pairs.map(|(a, b)| a / b).collect();
        ratios.sort_by(f64::total_cmp);
        (ratios[ratios.len() / 4], ratios[ratios.len() * 3 / 4])
    }
}

/// The median.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values[middle],
    }
}

/// How long something takes.
pub fn time(f: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    f();
    begin.elapsed()
}
