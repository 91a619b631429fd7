//! ShapeUp, section 6.4: errors that are inserted into recursive structures and found, and alarms
//! that correct ones raise.
//!
//! A profile is learnt of each kind of structure from correct ones of many sizes. Then others
//! are tested: correct ones of other sizes, and large ones with errors.
//!
//! Structures that the paper does not have, and single errors, in snapshots and on the live heap:
//! `judge`.

use std::thread;

use heaphound::analysis::shape::{Broken, Measure, Metric, Profile, measure_view};

use crate::judge::{self, Where};
use crate::programs::Random;
use crate::report::Report;
use crate::structures::{Error, KINDS, Kind, Structure};
use crate::{Failed, Options, Progress};

/// How much is tried.
struct Trials {
    /// Correct structures that are learnt, and as many others that are tested.
    correct: u64,
    /// The smallest and the largest.
    sizes: (u64, u64),
    /// Nodes of structures with errors.
    nodes: usize,
    /// Runs for each cell of table 6.7; of errors that are always the same, a tenth.
    runs: u64,
}

/// How many errors are inserted.
const COUNTS: [usize; 8] = [1, 2, 3, 4, 5, 10, 50, 100];

pub(crate) fn run(options: &Options, progress: Progress<'_>) -> Result<Report, Failed> {
    let trials = match options.quick {
        true => Trials {
            correct: 40,
            sizes: (100, 10_000),
            nodes: 10_000,
            runs: 5,
        },
        false => Trials {
            correct: 1_000,
            sizes: (100, 100_000),
            nodes: 100_000,
            runs: 100,
        },
    };
    let mut report = run_with(&trials, progress);
    let (correct, bugs) = match options.quick {
        true => (100, 50),
        false => (1_000, 500),
    };
    for (place, part) in [(Where::Snapshots, 1), (Where::LiveHeap, 5)] {
        let trials = judge::Trials {
            learnt: 60,
            correct: correct / part,
            bugs: bugs / part,
            seed: 0,
        };
        judge::run(&trials, place, &mut report, progress)?;
    }
    report.note(
        "single: one reference of a structure that was made by inserting and deleting is changed at random, and it counts if \
         somebody who knows the structure calls its references wrong; over floor: how much the kind that does worst is above what it must reach, \
         which is less where bugs cannot be seen by counting; alarms: heaps of other correct structures; shown \
         right: objects of findings whose reference was changed, to or from which it leads, or that are called \
         wrong; what is only lost or out of order cannot be seen by counting references",
    );
    Ok(report)
}

fn run_with(trials: &Trials, progress: Progress<'_>) -> Report {
    let mut report = Report::new("shapeup");
    let (mut alarms, mut tested) = (0, 0);
    let (mut worst, mut cells) = (100.0f64, 0);
    for kind in KINDS {
        progress(&format!("{}: learning", kind.name));
        let mut profile = Profile::default();
        for measures in measure_all(0..trials.correct, |seed| correct(kind, trials, seed)) {
            profile.learn(&measures);
        }
        progress(&format!("{}: correct ones", kind.name));
        let others = trials.correct..2 * trials.correct;
        let mut raised = Vec::new();
        for measures in measure_all(others, |seed| correct(kind, trials, seed)) {
            tested += 1;
            let violations = profile.test(&measures);
            alarms += !violations.is_empty() as usize;
            raised.extend(violations);
        }
        if let Some(first) = raised.first() {
            let broken = &first.broken;
            report.note(format!(
                "{}: false alarms, the first {broken}: expected {}, found {}",
                kind.name,
                broken.expected(),
                broken.found(),
            ));
        }
        for error in kind.errors {
            progress(&format!("{}: {}", kind.name, error.name));
            let detected = errors(kind, error, trials, &profile);
            worst = detected.cells.iter().copied().fold(worst, f64::min);
            cells += detected.cells.len();
            report.note(format!("{}, {}: {detected}", kind.name, error.name));
        }
    }
    report.higher("shapeup.detected_min_pct", Some(99.0), worst, "%");
    report.lower(
        "shapeup.false_pct",
        None,
        alarms as f64 * 100.0 / tested as f64,
        "%",
    );
    report.note(format!(
        "detected: {cells} cells of table 6.7, {} nodes, {} runs each ({} of those that are always the same); \
         all nodes are held by an array too, since what an error makes unreachable cannot be found (nor does the paper \
         insert such errors); \
         false: {alarms} of {tested} correct structures of {} to {} nodes, as many small as large, each kind trained on {} \
         others",
        trials.nodes,
        trials.runs,
        (trials.runs / 10).max(1),
        trials.sizes.0,
        trials.sizes.1,
        trials.correct,
    ));
    report
}

fn correct(kind: &Kind, trials: &Trials, seed: u64) -> Structure {
    let mut random = Random::new(2 * seed + 1);
    let (least, most) = trials.sizes;
    // As many of one order of magnitude as of another: small ones are the harder.
    let spread = random.below(1 << 20) as f64 / (1 << 20) as f64;
    let nodes = least as f64 * (most as f64 / least as f64).powf(spread);
    (kind.make)(nodes as usize, &mut random)
}

/// A row of table 6.7.
struct Detected {
    /// Percent of runs in which the errors were noticed, by how many there were.
    cells: Vec<f64>,
    /// Whether it was by something that is always the same, a range, a match.
    by_quirk: bool,
    by_range: bool,
    by_relation: bool,
    by_match: bool,
}

impl std::fmt::Display for Detected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cells: Vec<String> = self.cells.iter().map(|it| format!("{it}")).collect();
        write!(f, "{} %; by", cells.join(" "))?;
        let by = [
            (self.by_quirk, "quirks"),
            (self.by_range, "ranges"),
            (self.by_relation, "relations"),
            (self.by_match, "matches"),
        ];
        let by: Vec<&str> = by.iter().filter(|it| it.0).map(|it| it.1).collect();
        write!(f, " {}", by.join(", "))
    }
}

fn errors(kind: &Kind, error: &Error, trials: &Trials, profile: &Profile) -> Detected {
    let (counts, runs) = match error.single {
        true => (&COUNTS[..1], (trials.runs / 10).max(1)),
        false => (&COUNTS[..], trials.runs),
    };
    let mut detected = Detected {
        cells: Vec::new(),
        by_quirk: false,
        by_range: false,
        by_relation: false,
        by_match: false,
    };
    for &count in counts {
        let wrong = |seed: u64| {
            let mut random = Random::new(1_000_003 * count as u64 + 2 * seed + 1);
            let mut structure = (kind.make)(trials.nodes, &mut random);
            (0..count).for_each(|_| (error.insert)(&mut structure, &mut random));
            structure
        };
        let mut noticed = 0;
        for measures in measure_all(0..runs, wrong) {
            let violations = profile.test(&measures);
            noticed += !violations.is_empty() as usize;
            for violation in violations {
                match violation.broken {
                    Broken::Degree { expected, .. } => match expected {
                        Metric::Quirk(_) => detected.by_quirk = true,
                        Metric::Range(..) => detected.by_range = true,
                    },
                    Broken::Relation { .. } => detected.by_relation = true,
                    Broken::Match { .. } | Broken::Fact { .. } => detected.by_match = true,
                }
            }
        }
        detected.cells.push(noticed as f64 * 100.0 / runs as f64);
    }
    detected
}

/// Measures the structure of each seed, on all cores; in the order of the seeds.
fn measure_all(
    seeds: std::ops::Range<u64>,
    make: impl Fn(u64) -> Structure + Sync,
) -> Vec<Vec<Measure>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let seeds: Vec<u64> = seeds.collect();
    let share = seeds.len().div_ceil(threads).max(1);
    let make = &make;
    thread::scope(|scope| {
        let parts: Vec<_> = seeds
            .chunks(share)
            .map(|part| {
                let measure = |seed: &u64| measure_view(&make(*seed).heap());
                scope.spawn(move || part.iter().map(measure).collect::<Vec<_>>())
            })
            .collect();
        let parts = parts.into_iter().map(|part| part.join().expect("no panic"));
        parts.flatten().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_noticed_and_correct_structures_raise_no_alarm() {
        let trials = Trials {
            correct: 30,
            sizes: (100, 2_000),
            nodes: 1_000,
            runs: 5,
        };
        let report = run_with(&trials, &mut |_| {});
        let rows: Vec<(&str, f64)> = report
            .rows
            .iter()
            .map(|row| (row.id.as_str(), row.measured))
            .collect();
        let expected = [
            ("shapeup.detected_min_pct", 100.0),
            ("shapeup.false_pct", 0.0),
        ];
        assert_eq!(rows, expected, "{report}");
    }
}
