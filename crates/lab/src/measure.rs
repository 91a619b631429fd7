//! Measuring: interleaved rounds, medians, ratios.

use std::time::{Duration, Instant};

/// The times of several things that were done in turn, round by round.
pub struct Rounds {
    times: Vec<Vec<f64>>,
}

/// Does several things in turn, `rounds` times and once before to warm up. Each returns how
/// long it took, which may be less than the call.
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
    /// Of times that were taken elsewhere, in seconds: for each thing those of all rounds.
    pub fn new(times: Vec<Vec<f64>>) -> Self {
        Self { times }
    }

    /// Returns how much longer a thing takes than another, as text: the median, and where the
    /// middle half lies. `+1.2 % (+0.9 to +1.4)`
    pub fn difference(&self, thing: usize, to: usize, digits: usize) -> String {
        let (low, high) = self.spread(thing, to);
        let [ratio, low, high] = [self.ratio(thing, to), low, high].map(percent);
        format!("{ratio:+.digits$} % ({low:+.digits$} to {high:+.digits$})")
    }

    /// Returns the median time of a thing, in seconds.
    pub fn median(&self, thing: usize) -> f64 {
        median(self.times[thing].clone())
    }

    /// Returns the median of the ratios, taken round by round, of one thing's time to
    /// another's.
    pub fn ratio(&self, thing: usize, to: usize) -> f64 {
        let pairs = self.times[thing].iter().zip(&self.times[to]);
        median(pairs.map(|(a, b)| a / b).collect())
    }

    /// Returns where the middle half of those ratios lies: how certain the median is.
    pub fn spread(&self, thing: usize, to: usize) -> (f64, f64) {
        let pairs = self.times[thing].iter().zip(&self.times[to]);
        let mut ratios: Vec<f64> = pairs.map(|(a, b)| a / b).collect();
        ratios.sort_by(f64::total_cmp);
        (ratios[ratios.len() / 4], ratios[ratios.len() * 3 / 4])
    }
}

/// Returns how much more a ratio is than 1, in percent.
pub fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

/// Returns the median.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values[middle],
    }
}

/// Returns how long something takes.
pub fn time(f: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    f();
    begin.elapsed()
}

/// Returns for how long this thread has had a processor so far. What other programs do in the meantime does not count,
/// so that differences are less than the noise of a machine that is not idle.
pub fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("it counts from zero")
}

/// Returns the geometric mean.
pub fn geometric_mean(ratios: &[f64]) -> f64 {
    let sum: f64 = ratios.iter().map(|it| it.ln()).sum();
    (sum / ratios.len() as f64).exp()
}
