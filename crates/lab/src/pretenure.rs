//! Dynamic pretenuring, section 4.3: what it saves where sites' objects live long, and what it costs where they do not.
//!
//! Programs run in heaps of 1.5 to 4 times what lives, with a nursery of 4 MB, with pretenuring and without it. Accuracy and
//! coverage are measured as the thesis does, in a heap that is never full, so that a mistake costs nothing else; how, is in
//! [`lifetimes`](crate::lifetimes).

use heaphound::{HeapBuilder, Pretenuring, Sampling};

use crate::lifetimes::{Decisions, decisions};
use crate::measure::{geometric_mean, percent};
use crate::programs::lives::{PROGRAMS, Program};
use crate::report::Report;
use crate::runs::{self, Compared, Run, Setting};
use crate::{Failed, Options, Progress, callgrind};

/// How much is done.
struct Plan {
    scale: usize,
    nursery_bytes: usize,
    rounds: usize,
    /// Sizes of heaps, as multiples of what lives, the tightest first.
    factors: &'static [f64],
    /// Whether instructions are counted.
    counts: bool,
}

const FULL: Plan = Plan {
    scale: 100,
    nursery_bytes: 4 << 20,
    rounds: 11,
    factors: &[1.5, 2.0, 2.5, 3.0, 4.0],
    counts: true,
};

// Nursery and heap keep their proportions.
const QUICK: Plan = Plan {
    scale: 25,
    nursery_bytes: 1 << 20,
    rounds: 3,
    factors: &[1.5, 4.0],
    counts: false,
};

/// The program that is to become faster.
const FASTER: &str = "javac";
/// The heap in which the mechanism is measured that pretenures nothing.
const MECHANISM_FACTOR: f64 = 3.0;

pub(crate) fn run(options: &Options, progress: Progress<'_>) -> Result<Report, Failed> {
    let plan = if options.quick { &QUICK } else { &FULL };
    measure(plan, progress)
}

fn measure(plan: &Plan, progress: Progress<'_>) -> Result<Report, Failed> {
    let mut report = Report::new("pretenure");
    let found = PROGRAMS
        .iter()
        .map(|program| Found::of(program, plan, progress));
    let found = found.collect::<Result<Vec<_>, Failed>>()?;
    times(&mut report, plan, &found);
    for found in &found {
        found.judge(&mut report);
    }
    for found in &found {
        found.describe(&mut report, plan);
    }
    progress("presets");
    presets(&mut report, plan, &found)?;
    if plan.counts {
        instructions(&mut report, progress);
    }
    Ok(report)
}

/// The figures of time.
fn times(report: &mut Report, plan: &Plan, found: &[Found]) {
    let is_faster = |it: &&Found| it.program.name == FASTER;
    let javac = found.iter().find(is_faster).expect("it is a program");
    let totals = javac.totals();
    let id = |figure: &str| format!("pretenure.{FASTER}.{figure}");
    report.lower(&id("tight_total_pct"), Some(-9.0), percent(totals[0]), "%");
    let mean = percent(geometric_mean(&totals));
    report.lower(&id("total_pct"), Some(-3.0), mean, "%");
    let best = javac.gc_factors().into_iter().fold(0.0, f64::max);
    report.higher(&id("gc_factor"), Some(2.5), best, "×");

    let others = || found.iter().filter(|it| !is_faster(it));
    let sizes = |it: &Found| it.totals().into_iter().zip(plan.factors);
    let all = others().flat_map(|it| sizes(it).map(move |at| (at, it.program.name)));
    let worst = all.max_by(|a, b| a.0.0.total_cmp(&b.0.0));
    let ((ratio, factor), worst) = worst.expect("other programs");
    report.lower("pretenure.others.worst_pct", None, percent(ratio), "%");
    let all: Vec<f64> = others().flat_map(Found::totals).collect();
    let mean = percent(geometric_mean(&all));
    report.lower("pretenure.others.mean_pct", None, mean, "%");
    let mechanism: Vec<f64> = found
        .iter()
        .map(|it| it.mechanism.total.ratio(1, 0))
        .collect();
    let mean = percent(geometric_mean(&mechanism));
    report.lower("pretenure.mechanism_pct", Some(2.0), mean, "%");
    report.note(format!(
        "medians of {} rounds in turn, against no pretenuring and no sampling but the usual. tight: a heap of {} times what \
         lives; total_pct: the geometric mean over {:?}; gc_factor: the best of these, of pauses by the clock, which other programs on the machine make longer; worst_pct: the worst of all others \
         at any size, here {} at {factor}; mechanism_pct: with a threshold above 100 %, the geometric mean over all programs at \
         {MECHANISM_FACTOR} times",
        plan.rounds, plan.factors[0], plan.factors, worst,
    ));
}

/// What was found of a program.
struct Found {
    program: &'static Program,
    live_bytes: usize,
    decisions: Decisions,
    /// Without and with pretenuring, at each size.
    sizes: Vec<Compared>,
    /// Without, and with a threshold that nothing reaches.
    mechanism: Compared,
}

fn plain(builder: HeapBuilder) -> HeapBuilder {
    builder
}

fn pretenuring(builder: HeapBuilder) -> HeapBuilder {
    builder.pretenuring(Pretenuring::default())
}

/// Pretenuring that samples and tests, and never does it.
fn mechanism(builder: HeapBuilder) -> HeapBuilder {
    builder.pretenuring(Pretenuring::default().threshold(1.1))
}

impl Found {
    fn of(program: &'static Program, plan: &Plan, progress: Progress<'_>) -> Result<Self, Failed> {
        progress(program.name);
        let live_bytes = runs::live_bytes(program, plan.scale)?;
        let roomy = Setting::roomy(plan.scale, plan.nursery_bytes);
        let exact = runs::run(program, roomy, &|builder| {
            builder.sampling(Sampling::exact())
        })?;
        let decided = runs::run(program, roomy, &pretenuring)?;
        let compare = |factor: &f64| {
            progress(&format!("{} in {factor} times what lives", program.name));
            let setting = roomy.times(*factor, live_bytes);
            runs::compare(program, setting, plan.rounds, &[&plain, &pretenuring])
        };
        let sizes = plan.factors.iter().map(compare);
        let setting = roomy.times(MECHANISM_FACTOR, live_bytes);
        let sizes = sizes.collect::<Result<_, _>>()?;
        Ok(Self {
            program,
            live_bytes,
            decisions: decisions(&exact.sites, &decided.sites),
            sizes,
            mechanism: runs::compare(program, setting, plan.rounds, &[&plain, &mechanism])?,
        })
    }

    /// How much longer runs take, at each size.
    fn totals(&self) -> Vec<f64> {
        self.sizes.iter().map(|it| it.total.ratio(1, 0)).collect()
    }

    /// How much less collections take, at each size.
    fn gc_factors(&self) -> Vec<f64> {
        self.sizes.iter().map(|it| it.gc.ratio(0, 1)).collect()
    }

    fn judge(&self, report: &mut Report) {
        let Decisions {
            accuracy,
            coverage,
            pretenured_bytes,
        } = self.decisions;
        let name = self.program.name;
        let papers = match name {
            "javac" => (Some(80.0), Some(43.0)),
            "db" => (Some(66.0), None),
            "pseudojbb" => (Some(50.0), None),
            _ => (None, None),
        };
        let id = format!("pretenure.{name}.accuracy_pct");
        // Nothing that was decided is wrong.
        report.higher(&id, papers.0, accuracy.unwrap_or(1.0) * 100.0, "%");
        let id = format!("pretenure.{name}.coverage_pct");
        report.higher(&id, papers.1, coverage * 100.0, "%");
        report.note(match accuracy {
            Some(accuracy) => format!(
                "{name}: {:.1} MB were pretenured in a heap that is never full, {:.1} % of them long-lived",
                pretenured_bytes as f64 / 1e6,
                accuracy * 100.0
            ),
            None => format!("{name}: nothing was pretenured in a heap that is never full"),
        });
    }

    fn describe(&self, report: &mut Report, plan: &Plan) {
        let name = self.program.name;
        let mut table = format!(
            "{name} ({}): {:.1} MB live\n{:>5} {:>9} {:>28} {:>12} {:>6} {:>6}  pretenuring\n",
            self.program.about,
            self.live_bytes as f64 / 1e6,
            "heap",
            "ms",
            "with pretenuring",
            "gc ms",
            "with",
            "factor"
        );
        for (compared, factor) in self.sizes.iter().zip(plan.factors) {
            table += &format!(
                "{factor:>4}× {:>9.1} {:>28} {:>12.1} {:>6.1} {:>6.2}  {}\n",
                compared.total.median(0) * 1e3,
                compared.total.difference(1, 0, 2),
                compared.gc.median(0) * 1e3,
                compared.gc.median(1) * 1e3,
                compared.gc.ratio(0, 1),
                decided(&compared.last[0], &compared.last[1]),
            );
        }
        table += &format!(
            "mechanism alone: {}",
            self.mechanism.total.difference(1, 0, 2)
        );
        report.note(table);
    }
}

/// Returns what pretenuring did in a run.
fn decided(plain: &Run, run: &Run) -> String {
    let stats = &run.stats.pretenuring;
    let collections = |it: &Run| (it.stats.nursery_collections, it.stats.full_collections);
    let (nursery, full) = collections(run);
    let (nursery_before, full_before) = collections(plain);
    format!(
        "{} sites, {:.1} MB, {} decisions, {} confirmed, {} reversed, {} sites switched off{}; {nursery} nursery and \
         {full} full collections instead of {nursery_before} and {full_before}",
        stats.sites,
        stats.bytes as f64 / 1e6,
        stats.decisions,
        stats.confirmed,
        stats.reversed,
        stats.switched_off,
        if stats.is_off { ", all off" } else { "" },
    )
}

/// The presets of table 4.2, without the governor, on the program that is to become faster.
fn presets(report: &mut Report, plan: &Plan, found: &[Found]) -> Result<(), Failed> {
    let javac = found
        .iter()
        .find(|it| it.program.name == FASTER)
        .expect("it is a program");
    let lbs80 = |builder: HeapBuilder| builder.pretenuring(Pretenuring::LBS80.governor(false));
    let ebs80 = |builder: HeapBuilder| builder.pretenuring(Pretenuring::EBS80.governor(false));
    let lbs85 = |builder: HeapBuilder| builder.pretenuring(Pretenuring::LBS85.governor(false));
    let roomy = Setting::roomy(plan.scale, plan.nursery_bytes);
    let setting = roomy.times(plan.factors[0], javac.live_bytes);
    let rounds = plan.rounds.div_ceil(3);
    let variants: [runs::Variant<'_>; 4] = [&plain, &lbs80, &ebs80, &lbs85];
    let compared = runs::compare(javac.program, setting, rounds, &variants)?;
    let lines = ["80LBS", "80EBS", "85LBS"]
        .into_iter()
        .zip(1..)
        .map(|(name, at)| {
            format!(
                "{name} {}, collections {:.2} times less: {}",
                compared.total.difference(at, 0, 2),
                compared.gc.ratio(0, at),
                decided(&compared.last[0], &compared.last[at]),
            )
        });
    report.note(format!(
        "presets without the governor, {FASTER} in a heap of {} times what lives, {rounds} rounds:\n{}",
        plan.factors[0],
        lines.collect::<Vec<_>>().join("\n")
    ));
    Ok(())
}

/// Of a program whose instructions are counted, which is slow.
const COUNTED_SCALE: usize = 4;
/// Of its nursery, which keeps its proportion.
const COUNTED_NURSERY_BYTES: usize = 256 << 10;

/// Counts the instructions of whole runs, which do not depend on noise.
fn instructions(report: &mut Report, progress: Progress<'_>) {
    let mut ratios = Vec::new();
    let mut lines = Vec::new();
    for program in PROGRAMS {
        progress(&format!("instructions of {}", program.name));
        let count =
            |what: &str| callgrind::instructions(&format!("pretenured-{what}-{}", program.name));
        let (Some(plain), Some(never), Some(with)) =
            (count("none"), count("never"), count("default"))
        else {
            return report.note("valgrind is not there, so that instructions were not counted");
        };
        ratios.push(never / plain);
        let [never, with] = [never, with].map(|it| percent(it / plain));
        lines.push(format!("{} {never:+.2} and {with:+.2} %", program.name));
    }
    let mean = percent(geometric_mean(&ratios));
    report.lower("pretenure.mechanism.instructions_pct", None, mean, "%");
    report.note(format!(
        "instructions of whole runs at scale {COUNTED_SCALE}, with the mechanism alone and with pretenuring: {}",
        lines.join(", ")
    ));
}

/// Does a run whose instructions are counted.
pub(crate) fn count(what: &str, times: usize) -> bool {
    let parts: Vec<&str> = what.split('-').collect();
    let &["pretenured", variant, name] = &parts[..] else {
        return false;
    };
    let variant = match variant {
        "none" => plain,
        "never" => mechanism,
        "default" => pretenuring,
        _ => return false,
    };
    let program = PROGRAMS.iter().find(|it| it.name == name);
    let setting = Setting::roomy(COUNTED_SCALE, COUNTED_NURSERY_BYTES);
    program.is_some_and(|program| runs::repeat(program, setting, &variant, times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_figures_are_there() {
        let plan = Plan {
            scale: 1,
            nursery_bytes: 256 << 10,
            rounds: 1,
            factors: &[2.0],
            ..QUICK
        };
        let report = measure(&plan, &mut |_| {}).unwrap();
        let rows: Vec<&str> = report.rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(
            rows,
            [
                "pretenure.javac.tight_total_pct",
                "pretenure.javac.total_pct",
                "pretenure.javac.gc_factor",
                "pretenure.others.worst_pct",
                "pretenure.others.mean_pct",
                "pretenure.mechanism_pct",
                "pretenure.javac.accuracy_pct",
                "pretenure.javac.coverage_pct",
                "pretenure.jess.accuracy_pct",
                "pretenure.jess.coverage_pct",
                "pretenure.db.accuracy_pct",
                "pretenure.db.coverage_pct",
                "pretenure.pseudojbb.accuracy_pct",
                "pretenure.pseudojbb.coverage_pct",
                "pretenure.mtrt.accuracy_pct",
                "pretenure.mtrt.coverage_pct",
            ]
        );
        let shares = report.rows.iter().filter(|row| row.id.contains("a"));
        let shares =
            shares.filter(|row| row.id.ends_with("racy_pct") || row.id.ends_with("age_pct"));
        for row in shares {
            assert!((0.0..=100.0).contains(&row.measured), "{row:?}");
        }
    }

    #[test]
    fn whatever_lives_without_pretenuring_lives_with_it() {
        let how: [(&str, Pretenuring); 5] = [
            ("default", Pretenuring::default()),
            ("80LBS", Pretenuring::LBS80.governor(false)),
            ("80EBS", Pretenuring::EBS80.governor(false)),
            // Whatever survives a little, for long.
            ("bold", Pretenuring::EBS80.threshold(0.05).governor(false)),
            ("random", Pretenuring::LBS80.at_random()),
        ];
        let mut lived = 0;
        for program in PROGRAMS {
            let small: &[f64] = &[1.2, 1.35, 1.5, 2.0, 3.0, 4.0];
            // Larger ones take long.
            let large: &[f64] = &[1.5, 2.0];
            for (scale, nursery_bytes, factors) in [(5, 128 << 10, small), (20, 256 << 10, large)] {
                let live_bytes = runs::live_bytes(program, scale).unwrap();
                for &factor in factors {
                    let setting = Setting {
                        heap_bytes: (live_bytes as f64 * factor) as usize,
                        ..Setting::roomy(scale, nursery_bytes)
                    };
                    let Ok(expected) = runs::run(program, setting, &plain) else {
                        continue;
                    };
                    lived += 1;
                    for (name, how) in how {
                        let run = runs::run(program, setting, &|it| it.pretenuring(how));
                        let run = run.unwrap_or_else(|error| {
                            panic!("{factor} times, nursery {nursery_bytes}, {name}: {error}")
                        });
                        assert_eq!(run.checksum, expected.checksum, "{}", program.name);
                    }
                }
            }
        }
        // Of 40. The others have no room for the nursery, or are too small without pretenuring as well.
        assert!(lived >= 15, "{lived}");
    }

    #[test]
    fn the_mechanism_alone_pretenures_nothing() {
        let setting = Setting::roomy(1, 256 << 10);
        for program in PROGRAMS {
            let run = runs::run(program, setting, &mechanism).unwrap();
            assert_eq!(run.stats.pretenuring.bytes, 0, "{}", program.name);
        }
    }

    #[test]
    fn runs_that_are_counted_are_done() {
        assert!(count("pretenured-never-jess", 1) && count("pretenured-default-jess", 1));
        assert!(!count("pretenured-never-nothing", 1) && !count("sampled-256-jess", 1));
    }
}
