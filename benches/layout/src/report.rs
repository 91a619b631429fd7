//! Medians over rounds, and ratios within a round.

use std::time::Duration;

use crate::cases::{Case, Sample};

/// Prints one table per question. `samples[case][round]`.
pub fn print(cases: &[Case], samples: &[Vec<Sample>], live_objects: usize) {
    let mut baseline = 0;
    for (i, case) in cases.iter().enumerate() {
        if i == 0 || cases[i - 1].question != case.question {
            baseline = i;
            println!("\n{}", case.question);
            println!(
                "  {:<34}{:>9}{:>8}{:>8}{:>8}{:>9}{:>8}{:>8}{:>11}",
                "",
                "mark ns/o",
                "ratio",
                "min",
                "ratio",
                "sweep ms",
                "m+s ms",
                "ratio",
                "duplicates"
            );
        }
        let rounds = &samples[i];
        let base = &samples[baseline];
        let marks = median(rounds.iter().map(mark_ms));
        let fastest = |rounds: &[Sample]| rounds.iter().map(mark_ms).fold(f64::INFINITY, f64::min);
        let ratio = median(
            rounds
                .iter()
                .zip(base)
                .map(|(sample, base)| mark_ms(sample) / mark_ms(base)),
        );
        let per_object = 1e6 / live_objects as f64;
        print!(
            "  {:<34}{:>9.2}{ratio:>8.3}{:>8.2}{:>8.3}",
            case.name,
            marks * per_object,
            fastest(rounds) * per_object,
            fastest(rounds) / fastest(base),
        );
        if rounds[0].sweep.is_some() {
            let sweep = median(rounds.iter().filter_map(|sample| sample.sweep).map(ms));
            let total = median(rounds.iter().map(total_ms));
            let ratio = median(
                rounds
                    .iter()
                    .zip(base)
                    .map(|(sample, base)| total_ms(sample) / total_ms(base)),
            );
            print!("{sweep:>9.1}{total:>8.1}{ratio:>8.3}");
        } else {
            print!("{:>25}", "");
        }
        let duplicates = median(rounds.iter().map(|sample| sample.duplicates as f64));
        if duplicates > 0.0 {
            print!("{duplicates:>11}");
        }
        println!();
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn mark_ms(sample: &Sample) -> f64 {
    ms(sample.mark)
}

fn total_ms(sample: &Sample) -> f64 {
    ms(sample.mark + sample.sweep.unwrap_or_default())
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    }
}
