//! Dynamic object sampling, sections 3.2 and 4.2: what it costs to know where survivors come from, and how right
//! that knowledge is.
//!
//! Time is compared on heaps of three times what lives, with a nursery of 4 MB, with sampling and without. Accuracy is
//! that of sites' survival against a run in which all objects are tagged, on a heap that is never full; see
//! [`lifetimes`](crate::lifetimes).

use heaphound::{HeapBuilder, Sampling};
use heaphound_report::document::Section;

use crate::lifetimes::{Accuracy, accuracy};
use crate::measure::{geometric_mean, percent};
use crate::programs::lives::{PROGRAMS, Program};
use crate::report::Report;
use crate::runs::{self, Run, Setting, Variant};
use crate::{Failed, Options, Progress, callgrind};

/// Intervals that have rows of their own.
const SHOWN: [usize; 3] = [256, 512, 4096];

/// How much is done.
struct Plan {
    scale: usize,
    nursery_bytes: usize,
    rounds: usize,
    intervals: &'static [usize],
    /// Whether instructions are counted.
    counts: bool,
}

const FULL: Plan = Plan {
    scale: 100,
    nursery_bytes: 4 << 20,
    rounds: 9,
    intervals: &[32, 64, 128, 256, 512, 1024, 2048, 4096],
    counts: true,
};

// Nursery and heap keep their proportions.
const QUICK: Plan = Plan {
    scale: 25,
    nursery_bytes: 1 << 20,
    rounds: 3,
    intervals: &SHOWN,
    counts: false,
};

pub(crate) fn run(options: &Options, progress: Progress<'_>) -> Result<Report, Failed> {
    let plan = if options.quick { &QUICK } else { &FULL };
    let mut report = measure(plan, progress)?;
    if options.pictures {
        for program in PROGRAMS {
            progress(&format!("pictures of {}", program.name));
            report.sections.extend(pictures(program, plan)?);
        }
    }
    Ok(report)
}

/// Returns pictures of a run with the default interval, on a heap of three times what lives.
fn pictures(program: &Program, plan: &Plan) -> Result<[Section; 2], Failed> {
    let roomy = Setting::roomy(plan.scale, plan.nursery_bytes);
    let setting = roomy.times(3.0, runs::live_bytes(program, plan.scale)?);
    runs::pictures(program, setting, &|it| it.sampling(Sampling::default()))
}

fn measure(plan: &Plan, progress: Progress<'_>) -> Result<Report, Failed> {
    let mut report = Report::new("sampling");
    let found = PROGRAMS.iter().map(|program| {
        progress(program.name);
        Found::of(program, plan)
    });
    let found = found.collect::<Result<Vec<_>, Failed>>()?;
    for interval in SHOWN {
        let at = plan.at(interval);
        let total = Worst::of(&found, |it| it.ratios[at]);
        let id = format!("sampling.{interval}.total_pct");
        let paper = (interval < 1024).then_some(3.0);
        report.lower(&id, paper, percent(total.mean), "%");
    }
    let at = plan.at(256);
    let space = Worst::of(&found, |it| it.spaces[at]);
    report.lower(
        "sampling.256.space_pct",
        Some(1.6),
        space.worst * 100.0,
        "%",
    );
    let right = Worst::of(&found, |it| it.accuracy.bytes);
    report.higher("sampling.accuracy_pct", Some(94.0), right.mean * 100.0, "%");
    let by_objects = Worst::of(&found, |it| it.accuracy.objects);
    let id = "sampling.accuracy_objects_pct";
    report.higher(id, None, by_objects.mean * 100.0, "%");
    report.note(format!(
        "total_pct: the geometric mean over {} programs, medians of {} rounds; space_pct: the most of any program ({}); \
         accuracy_pct: at the default interval of {} bytes, the mean over programs, by bytes, the least {:.1} ({}); \
         accuracy_objects_pct: the same by objects, the least {:.1} ({})",
        found.len(),
        plan.rounds,
        space.name,
        default_interval(),
        right.least * 100.0,
        right.least_name,
        by_objects.least * 100.0,
        by_objects.least_name,
    ));
    report.note(table(plan, &found));
    for found in &found {
        report.note(found.describe(plan));
    }
    if plan.counts {
        instructions(&mut report, progress);
    }
    Ok(report)
}

impl Plan {
    /// Returns the place of an interval.
    fn at(&self, interval: usize) -> usize {
        let place = self.intervals.iter().position(|it| *it == interval);
        place.expect("a plan has the intervals that are shown")
    }
}

/// Returns the interval of the default sampling, in bytes.
fn default_interval() -> usize {
    let mut all = FULL.intervals.iter();
    let default = all.find(|it| Sampling::every(**it) == Sampling::default());
    *default.expect("the default is one of these")
}

/// What was found of a program.
struct Found {
    program: &'static Program,
    live_bytes: usize,
    /// Without sampling: seconds, and how it was collected.
    seconds: f64,
    plain: Run,
    survival: f64,
    sites: usize,
    /// Of the default sampling.
    accuracy: Accuracy,
    /// For each interval: time and space, compared with none, and accuracy.
    ratios: Vec<f64>,
    spreads: Vec<String>,
    spaces: Vec<f64>,
    accuracies: Vec<Accuracy>,
}

impl Found {
    fn of(program: &'static Program, plan: &Plan) -> Result<Self, Failed> {
        let live_bytes = runs::live_bytes(program, plan.scale)?;
        let roomy = Setting::roomy(plan.scale, plan.nursery_bytes);
        let tagged =
            |sampling: Sampling| runs::run(program, roomy, &|builder| builder.sampling(sampling));
        let exact = tagged(Sampling::exact())?;
        let default = tagged(Sampling::default())?;
        let at_interval = |&interval: &usize| tagged(Sampling::every(interval));
        let sampled = plan.intervals.iter().map(at_interval);
        let sampled = sampled.collect::<Result<Vec<_>, _>>()?;

        let variants: Vec<Box<dyn Fn(HeapBuilder) -> HeapBuilder>> = {
            let every = |&interval: &usize| -> Box<dyn Fn(HeapBuilder) -> HeapBuilder> {
                Box::new(move |builder| builder.sampling(Sampling::every(interval)))
            };
            plan.intervals.iter().map(every).collect()
        };
        let plain: Variant<'_> = &|builder| builder;
        let variants: Vec<Variant<'_>> = std::iter::once(plain)
            .chain(variants.iter().map(|it| &**it))
            .collect();
        let setting = roomy.times(3.0, live_bytes);
        let mut compared = runs::compare(program, setting, plan.rounds, &variants)?;
        let places = 1..variants.len();
        Ok(Self {
            program,
            live_bytes,
            seconds: compared.total.median(0),
            survival: survival(&exact),
            sites: exact.sites.len(),
            accuracy: accuracy(&exact.sites, &default.sites),
            ratios: places
                .clone()
                .map(|at| compared.total.ratio(at, 0))
                .collect(),
            spreads: places
                .clone()
                .map(|at| compared.total.difference(at, 0, 2))
                .collect(),
            spaces: compared.last[places].iter().map(space).collect(),
            accuracies: sampled
                .iter()
                .map(|it| accuracy(&exact.sites, &it.sites))
                .collect(),
            plain: compared.last.swap_remove(0),
        })
    }

    fn describe(&self, plan: &Plan) -> String {
        let intervals = plan.intervals.iter().zip(&self.spreads);
        let spreads = intervals.map(|(interval, spread)| format!("{interval}: {spread}"));
        format!(
            "{} ({}): {:.1} MB live, {:.1} % of bytes survive their first nursery collection (thesis: {}), {} sites; {:.0} ms \
             without sampling, {} nursery and {} full collections; by interval {}",
            self.program.name,
            self.program.about,
            self.live_bytes as f64 / 1e6,
            self.survival * 100.0,
            self.program.survival_pct,
            self.sites,
            self.seconds * 1e3,
            self.plain.stats.nursery_collections,
            self.plain.stats.full_collections,
            spreads.collect::<Vec<_>>().join(", "),
        )
    }
}

/// Returns the share of bytes that survived, over all sites.
fn survival(run: &Run) -> f64 {
    let sites = || run.sites.iter();
    let survived: f64 = sites()
        .map(|it| it.survival.unwrap_or(0.0) * it.bytes as f64)
        .sum();
    survived / sites().map(|it| it.bytes as f64).sum::<f64>()
}

/// Returns what sampling takes when the run ends, as a share of the heap at its largest.
fn space(run: &Run) -> f64 {
    let heap = run.stats.history.iter().map(|it| it.heap_bytes).max();
    run.sampling_bytes as f64 / heap.unwrap_or(0).max(1) as f64
}

/// A figure over all programs.
struct Worst {
    mean: f64,
    worst: f64,
    name: &'static str,
    least: f64,
    least_name: &'static str,
}

impl Worst {
    fn of(found: &[Found], of: impl Fn(&Found) -> f64) -> Self {
        let figures: Vec<(f64, &str)> = found.iter().map(|it| (of(it), it.program.name)).collect();
        let most = figures
            .iter()
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .expect("some programs");
        let least = figures
            .iter()
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .expect("some programs");
        let values: Vec<f64> = figures.iter().map(|it| it.0.max(1e-9)).collect();
        Self {
            mean: geometric_mean(&values),
            worst: most.0,
            name: most.1,
            least: least.0,
            least_name: least.1,
        }
    }
}

/// Cost and accuracy by interval, from which the default is chosen: the largest that is right.
fn table(plan: &Plan, found: &[Found]) -> String {
    let mut table = format!(
        "{:>8} {:>8} {:>20} {:>9} {:>20} {:>9} {:>20} {:>7}\n",
        "interval", "total %", "worst", "bytes %", "least", "objects %", "least", "space %"
    );
    for (at, interval) in plan.intervals.iter().enumerate() {
        let total = Worst::of(found, |it| it.ratios[at]);
        let bytes = Worst::of(found, |it| it.accuracies[at].bytes);
        let objects = Worst::of(found, |it| it.accuracies[at].objects);
        let space = Worst::of(found, |it| it.spaces[at]);
        table += &format!(
            "{interval:>8} {:>+8.2} {:>20} {:>9.2} {:>20} {:>9.2} {:>20} {:>7.3}\n",
            percent(total.mean),
            format!("{:+.2} {}", percent(total.worst), total.name),
            bytes.mean * 100.0,
            format!("{:.2} {}", bytes.least * 100.0, bytes.least_name),
            objects.mean * 100.0,
            format!("{:.2} {}", objects.least * 100.0, objects.least_name),
            space.worst * 100.0,
        );
    }
    table + "interval in bytes; total: how much longer runs take; bytes, objects: accuracy by both"
}

/// Of a program whose instructions are counted, which is slow.
const COUNTED_SCALE: usize = 4;

/// Counts the instructions of whole runs, which do not depend on noise.
fn instructions(report: &mut Report, progress: Progress<'_>) {
    let mut ratios = [const { Vec::new() }; SHOWN.len()];
    for program in PROGRAMS {
        progress(&format!("instructions of {}", program.name));
        let count =
            |what: &str| callgrind::instructions(&format!("sampled-{what}-{}", program.name));
        let plain = count("none");
        for (ratios, interval) in ratios.iter_mut().zip(SHOWN) {
            let (Some(plain), Some(with)) = (plain, count(&interval.to_string())) else {
                return report.note("valgrind is not there, so that instructions were not counted");
            };
            ratios.push(with / plain);
        }
    }
    for (ratios, interval) in ratios.iter().zip(SHOWN) {
        let id = format!("sampling.{interval}.instructions_pct");
        report.lower(&id, None, percent(geometric_mean(ratios)), "%");
    }
    report.note(format!(
        "instructions_pct: the geometric mean over programs of what whole runs execute, at scale {COUNTED_SCALE}"
    ));
}

/// Does a run whose instructions are counted.
pub(crate) fn count(what: &str, times: usize) -> bool {
    let parts: Vec<&str> = what.split('-').collect();
    let &["sampled", interval, name] = &parts[..] else {
        return false;
    };
    let program = PROGRAMS.iter().find(|it| it.name == name);
    let interval = interval.parse().ok();
    let sampled = |builder: HeapBuilder| match interval {
        Some(interval) => builder.sampling(Sampling::every(interval)),
        None => builder,
    };
    let setting = Setting::roomy(COUNTED_SCALE, 4 << 20);
    program.is_some_and(|program| runs::repeat(program, setting, &sampled, times))
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
            ..QUICK
        };
        let report = measure(&plan, &mut |_| {}).unwrap();
        let rows: Vec<&str> = report.rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(
            rows,
            [
                "sampling.256.total_pct",
                "sampling.512.total_pct",
                "sampling.4096.total_pct",
                "sampling.256.space_pct",
                "sampling.accuracy_pct",
                "sampling.accuracy_objects_pct",
            ]
        );
        let measured = |id: &str| {
            report
                .rows
                .iter()
                .find(|row| row.id == id)
                .unwrap()
                .measured
        };
        let accuracy = measured("sampling.accuracy_pct");
        assert!((50.0..=100.0).contains(&accuracy), "{accuracy}");
        assert!(measured("sampling.256.space_pct") < 20.0);
    }

    #[test]
    fn exact_counting_agrees_with_itself() {
        let setting = Setting::roomy(1, 256 << 10);
        for program in PROGRAMS {
            let exact = || {
                runs::run(program, setting, &|builder| {
                    builder.sampling(Sampling::exact())
                })
            };
            let (one, other) = (exact().unwrap(), exact().unwrap());
            let right = accuracy(&one.sites, &other.sites);
            assert_eq!((right.bytes, right.objects), (1.0, 1.0), "{}", program.name);
            assert!(one.sites.len() > 5, "{}: {:?}", program.name, one.sites);
        }
    }

    #[test]
    fn runs_that_are_counted_are_done() {
        assert!(count("sampled-none-jess", 1) && count("sampled-256-jess", 1));
        assert!(!count("sampled-256-nothing", 1) && !count("run-plain-db", 1));
    }
}
