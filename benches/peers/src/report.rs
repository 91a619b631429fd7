//! What is printed and written: the machine, one table per figure, JSON.
//!
//! A row is a competitor with its number of collector threads; the number is
//! the median over the rounds, with the smallest and largest and the median of
//! processor time beside it. The last columns divide it by our own median with as many threads, or with one
//! where ours was not measured with as many. Above one, ours is better.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::workload::{Figure, Job, Outcome, Scale, Workload};
use crate::{Competitor, OURS};

/// Everything measured so far.
#[derive(Serialize)]
pub struct Report {
    schema_version: u32,
    machine: Machine,
    scale: Scale,
    rounds: u32,
    huge_pages: bool,
    competitors: Vec<About>,
    workloads: Vec<WorkloadReport>,
}

/// One competitor on one job, over all rounds.
#[derive(Serialize)]
pub struct Measurement {
    pub competitor: &'static str,
    #[serde(flatten)]
    pub job: Job,
    pub outcomes: Vec<Outcome>,
    pub failure: Option<String>,
}

impl Measurement {
    pub fn new(competitor: &'static str, job: Job) -> Self {
        Measurement {
            competitor,
            job,
            outcomes: Vec::new(),
            failure: None,
        }
    }

    fn spread(&self, figure: Figure) -> Option<Spread> {
        let mut values: Vec<f64> = self
            .outcomes
            .iter()
            .flat_map(|outcome| &outcome.figures)
            .filter(|(f, _)| *f == figure)
            .map(|(_, value)| *value)
            .collect();
        values.sort_by(f64::total_cmp);
        Some(Spread {
            min: *values.first()?,
            median: median(&values),
            max: *values.last()?,
        })
    }
}

#[derive(Serialize)]
struct About {
    name: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct WorkloadReport {
    workload: Workload,
    description: String,
    heap_bytes: usize,
    /// Whether all checksums were the same.
    agrees: bool,
    rows: Vec<Row>,
    measurements: Vec<Measurement>,
}

#[derive(Clone, Copy, Serialize)]
struct Spread {
    min: f64,
    median: f64,
    max: f64,
}

/// One line of a table.
#[derive(Serialize)]
struct Row {
    figure: Figure,
    competitor: &'static str,
    collector_threads: usize,
    #[serde(flatten)]
    spread: Spread,
    /// The median of processor time, where it was taken.
    cpu: Option<f64>,
    /// Median divided by ours, in the order of [`OURS`].
    ratio_to_ours: [Option<f64>; 2],
    /// Resident memory divided by the nominal live data.
    ratio_to_live: Option<f64>,
}

impl Report {
    pub fn new(scale: Scale, rounds: u32, huge_pages: bool, competitors: &[&Competitor]) -> Self {
        Report {
            schema_version: 1,
            machine: Machine::this(),
            scale,
            rounds,
            huge_pages,
            competitors: competitors
                .iter()
                .map(|c| About {
                    name: c.name,
                    about: c.about,
                })
                .collect(),
            workloads: Vec::new(),
        }
    }

    pub fn print_heading(&self) {
        let machine = &self.machine;
        println!("cpu      {}, {} cores", machine.cpu, machine.cores);
        println!("memory   {} MiB", machine.memory_mib);
        println!("kernel   {}", machine.kernel);
        let asked = if self.huge_pages {
            "asked for"
        } else {
            "not asked for by the peers"
        };
        println!("thp      {}, {asked}", machine.transparent_hugepages);
        println!(
            "load     {} (1, 5, 15 minutes, before the start)",
            machine.load_average
        );
        println!("rustc    {}", machine.rustc);
        println!("rounds   {}", self.rounds);
        println!();
        for competitor in &self.competitors {
            println!("{:<20} {}", competitor.name, competitor.about);
        }
        if cfg!(not(boehm)) {
            println!("note: Boehm's collector is left out: libgc-dev was not there at build time");
        }
        for ours in OURS {
            if !self.competitors.iter().any(|c| c.name == ours) {
                println!("note: {ours} does not take part, so there is no ratio to it");
            }
        }
    }

    /// Takes the measurements of a workload and prints its tables.
    pub fn add(&mut self, workload: Workload, measurements: Vec<Measurement>) {
        // The work is the same for any thread count and mode, so there is one
        // checksum for the whole workload.
        let mut checksums: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for measurement in &measurements {
            for outcome in &measurement.outcomes {
                let names = checksums.entry(outcome.checksum).or_default();
                if !names.contains(&measurement.competitor) {
                    names.push(measurement.competitor);
                }
            }
        }
        let report = WorkloadReport {
            workload,
            description: workload.describe(self.scale),
            heap_bytes: workload.heap_bytes(self.scale),
            agrees: checksums.len() <= 1,
            rows: rows(&measurements),
            measurements,
        };
        println!();
        println!("== {}: {}", workload.name(), report.description);
        println!(
            "   heap of {} MiB for those who take a size",
            report.heap_bytes >> 20
        );
        report.print_tables();
        if !report.agrees {
            println!("   ERROR: the checksums differ, so the work was not the same:");
            for (checksum, names) in &checksums {
                println!("     {checksum:016x}  {}", names.join(", "));
            }
        }
        for measurement in &report.measurements {
            if let Some(failure) = &measurement.failure {
                println!(
                    "   FAILED: {}, {} collector threads, {:?}: {failure}",
                    measurement.competitor, measurement.job.collector_threads, measurement.job.mode
                );
            }
        }
        self.workloads.push(report);
    }

    /// Whether every measurement succeeded with the same checksum.
    pub fn agrees(&self) -> bool {
        self.workloads.iter().all(|workload| {
            workload.agrees && workload.measurements.iter().all(|m| m.failure.is_none())
        })
    }

    pub fn write_json(&self, file: &Path) -> std::io::Result<()> {
        let mut text = serde_json::to_string_pretty(self).map_err(std::io::Error::other)?;
        text.push('\n');
        std::fs::write(file, text)
    }
}

impl WorkloadReport {
    fn print_tables(&self) {
        let mut figures: Vec<Figure> = self.rows.iter().map(|row| row.figure).collect();
        figures.dedup();
        for figure in figures {
            println!();
            println!("   {}", figure.title());
            println!(
                "   {:<20} {:>7} {:>10} {:>10} {:>10} {:>10} {:>11} {:>9}{}",
                "",
                "threads",
                "median",
                "min",
                "max",
                "cpu",
                "×marksweep",
                "×gen",
                if figure == Figure::RssMib {
                    "     ×live"
                } else {
                    ""
                }
            );
            for row in self.rows.iter().filter(|row| row.figure == figure) {
                let Spread { min, median, max } = row.spread;
                let [marksweep, r#gen] = row.ratio_to_ours.map(|ratio| {
                    ratio.map_or_else(|| "–".to_string(), |ratio| format!("{ratio:.2}"))
                });
                let cpu = row
                    .cpu
                    .map_or_else(|| "–".to_string(), |cpu| format!("{cpu:.1}"));
                let live = row
                    .ratio_to_live
                    .map_or_else(String::new, |ratio| format!("{ratio:>10.2}"));
                println!(
                    "   {:<20} {:>7} {median:>10.1} {min:>10.1} {max:>10.1} {cpu:>10} {marksweep:>11} {:>9}{live}",
                    row.competitor, row.collector_threads, r#gen
                );
            }
        }
    }
}

/// All lines of a workload's tables, figure by figure.
fn rows(measurements: &[Measurement]) -> Vec<Row> {
    let mut rows = Vec::new();
    for figure in [
        Figure::FullMs,
        Figure::QuarterGarbageMs,
        Figure::TotalMs,
        Figure::LongestPauseMs,
        Figure::NurseryPauseMs,
        Figure::RssMib,
    ] {
        for measurement in measurements {
            let Some(spread) = measurement.spread(figure) else {
                continue;
            };
            let threads = measurement.job.collector_threads;
            let live = (figure == Figure::RssMib)
                .then(|| measurement.spread(Figure::NominalLiveMib))
                .flatten();
            rows.push(Row {
                figure,
                competitor: measurement.competitor,
                collector_threads: threads,
                spread,
                cpu: figure
                    .cpu()
                    .and_then(|cpu| measurement.spread(cpu))
                    .map(|cpu| cpu.median),
                ratio_to_ours: OURS.map(|ours| {
                    let with = |threads: usize| {
                        measurements
                            .iter()
                            .filter(|m| m.competitor == ours && m.job.collector_threads == threads)
                            .find_map(|m| m.spread(figure))
                    };
                    let ours = with(threads).or_else(|| with(1))?;
                    Some(spread.median / ours.median)
                }),
                ratio_to_live: live.map(|live| spread.median / live.median),
            });
        }
    }
    rows
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    }
}

/// What the numbers were measured on.
#[derive(Serialize)]
struct Machine {
    cpu: String,
    cores: usize,
    memory_mib: u64,
    kernel: String,
    transparent_hugepages: String,
    load_average: String,
    rustc: &'static str,
}

impl Machine {
    fn this() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        // The value of the first line that starts with `key` and a colon.
        let value = |text: &str, key: &str| {
            text.lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.trim() == key)
                .map_or_else(
                    || "unknown".to_string(),
                    |(_, value)| value.trim().to_string(),
                )
        };
        let memory = value(&read("/proc/meminfo"), "MemTotal");
        let memory_kib: u64 = memory
            .split_whitespace()
            .next()
            .and_then(|number| number.parse().ok())
            .unwrap_or(0);
        let load = read("/proc/loadavg");
        Machine {
            cpu: value(&read("/proc/cpuinfo"), "model name"),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_mib: memory_kib >> 10,
            kernel: format!(
                "{} {}",
                read("/proc/sys/kernel/ostype").trim(),
                read("/proc/sys/kernel/osrelease").trim()
            ),
            transparent_hugepages: read("/sys/kernel/mm/transparent_hugepage/enabled")
                .trim()
                .to_string(),
            load_average: load
                .split_whitespace()
                .take(3)
                .collect::<Vec<_>>()
                .join(" "),
            rustc: env!("PEERS_RUSTC"),
        }
    }
}
