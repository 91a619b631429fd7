//! What is printed and written: the machine, one table per figure, JSON.
//!
//! A row is a competitor with its number of collector threads; the number is
//! the median over the rounds, with the smallest and largest and the median of
//! processor time beside it. The last columns divide it by our own median with as many threads, or with one
//! where ours was not measured with as many. Above one, ours is better.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

use serde::Serialize;

use crate::headline::{Quoted, quote};
use crate::pages::Pages;
use crate::workload::{Figure, Job, Outcome, Scale, Workload};
use crate::{Competitor, OURS};

/// Everything measured so far.
#[derive(Serialize)]
pub struct Report {
    schema_version: u32,
    machine: Machine,
    scale: Scale,
    rounds: u32,
    pages: Pages,
    competitors: Vec<About>,
    /// What is quoted, when all is measured.
    rows: Vec<Quoted>,
    workloads: Vec<WorkloadReport>,
    /// All that was printed.
    #[serde(skip)]
    text: String,
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
pub struct Spread {
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

/// One line of a table.
#[derive(Serialize)]
pub struct Row {
    pub figure: Figure,
    pub competitor: &'static str,
    pub collector_threads: usize,
    #[serde(flatten)]
    pub spread: Spread,
    /// The median of processor time, where it was taken.
    cpu: Option<f64>,
    /// Median divided by ours, in the order of [`OURS`].
    ratio_to_ours: [Option<f64>; 2],
    /// Resident memory divided by the nominal live data.
    ratio_to_live: Option<f64>,
}

impl Report {
    pub fn new(scale: Scale, rounds: u32, pages: Pages, competitors: &[&Competitor]) -> Self {
        Report {
            schema_version: 2,
            machine: Machine::this(),
            scale,
            rounds,
            pages,
            competitors: competitors
                .iter()
                .map(|c| About {
                    name: c.name,
                    about: c.about,
                })
                .collect(),
            rows: Vec::new(),
            workloads: Vec::new(),
            text: String::new(),
        }
    }

    /// Returns what was measured where, and who takes part.
    pub fn heading(&mut self) -> String {
        let mut out = String::new();
        let machine = &self.machine;
        for (name, value) in [
            ("commit", machine.commit.clone()),
            ("cpu", format!("{}, {} cores", machine.cpu, machine.cores)),
            ("memory", format!("{} MiB", machine.memory_mib)),
            ("kernel", machine.kernel.clone()),
            (
                "thp",
                format!(
                    "{}, {}",
                    machine.transparent_hugepages,
                    self.pages.describe()
                ),
            ),
            (
                "load",
                format!(
                    "{} (1, 5, 15 minutes, before the start)",
                    machine.load_average
                ),
            ),
            ("rustc", machine.rustc.to_string()),
            ("rounds", self.rounds.to_string()),
        ] {
            line(&mut out, format_args!("{name:<8} {value}"));
        }
        line(&mut out, format_args!(""));
        for competitor in &self.competitors {
            line(
                &mut out,
                format_args!("{:<20} {}", competitor.name, competitor.about),
            );
        }
        if cfg!(not(boehm)) {
            let note = "note: Boehm's collector is left out: libgc-dev was not there at build time";
            line(&mut out, format_args!("{note}"));
        }
        for ours in OURS {
            if !self.competitors.iter().any(|c| c.name == ours) {
                let note = "does not take part, so there is no ratio to it";
                line(&mut out, format_args!("note: {ours} {note}"));
            }
        }
        self.text.push_str(&out);
        out
    }

    /// Takes the measurements of a workload and returns its tables.
    pub fn add(&mut self, workload: Workload, measurements: Vec<Measurement>) -> String {
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
        let mut out = String::new();
        let (name, what) = (workload.name(), &report.description);
        let heap_mib = report.heap_bytes >> 20;
        line(&mut out, format_args!("\n== {name}: {what}"));
        line(
            &mut out,
            format_args!("   heap of {heap_mib} MiB for those who take a size"),
        );
        report.put_tables(&mut out);
        if !report.agrees {
            let error = "ERROR: the checksums differ, so the work was not the same:";
            line(&mut out, format_args!("   {error}"));
            for (checksum, names) in &checksums {
                line(
                    &mut out,
                    format_args!("     {checksum:016x}  {}", names.join(", ")),
                );
            }
        }
        for measurement in &report.measurements {
            if let Some(failure) = &measurement.failure {
                let Job {
                    collector_threads,
                    mode,
                    ..
                } = measurement.job;
                let who = measurement.competitor;
                line(
                    &mut out,
                    format_args!(
                        "   FAILED: {who}, {collector_threads} collector threads, {mode:?}: {failure}"
                    ),
                );
            }
        }
        self.workloads.push(report);
        self.text.push_str(&out);
        out
    }

    /// Returns what is quoted of all that was measured.
    pub fn headline(&mut self) -> String {
        let tables = self.workloads.iter().map(|it| (it.workload, &it.rows[..]));
        self.rows = quote(&tables.collect::<Vec<_>>());
        let mut out = String::new();
        line(
            &mut out,
            format_args!("\n== what is quoted; a ratio above 1 is in our favour"),
        );
        for Quoted { id, measured, what } in &self.rows {
            line(
                &mut out,
                format_args!("   {id:<28} {measured:>6.2}  {what}"),
            );
        }
        self.text.push_str(&out);
        out
    }

    /// Whether every measurement succeeded with the same checksum.
    pub fn agrees(&self) -> bool {
        self.workloads.iter().all(|workload| {
            workload.agrees && workload.measurements.iter().all(|m| m.failure.is_none())
        })
    }

    pub fn json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("plain data");
        text + "\n"
    }

    /// Returns a page of documentation.
    pub fn page(&self) -> String {
        let mut page = String::from(
            "# Peers\n\nOther people's collectors and ours on the same workloads, with the same pages \
             (`benches/peers/README.md` says how to read the tables). This page was written by\n\n```sh\n",
        );
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let arguments = arguments.join(" ");
        line(
            &mut page,
            format_args!("cd benches/peers && cargo run --release -- {arguments}"),
        );
        let commit = &self.machine.commit;
        line(&mut page, format_args!("```\n\nat commit {commit}.\n"));
        line(
            &mut page,
            format_args!("| figure | measured | of |\n|---|---|---|"),
        );
        for Quoted { id, measured, what } in &self.rows {
            line(
                &mut page,
                format_args!("| `{id}` | {measured:.2} | {what} |"),
            );
        }
        line(&mut page, format_args!("\n```text\n{}```", self.text));
        page
    }
}

/// Adds a line. To write to a string cannot fail.
fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{text}");
}

impl WorkloadReport {
    fn put_tables(&self, out: &mut String) {
        let mut figures: Vec<Figure> = self.rows.iter().map(|row| row.figure).collect();
        figures.dedup();
        for figure in figures {
            let live = if figure == Figure::RssMib {
                "     ×live"
            } else {
                ""
            };
            line(out, format_args!("\n   {}", figure.title()));
            line(
                out,
                format_args!(
                    "   {:<20} {:>7} {:>10} {:>10} {:>10} {:>10} {:>11} {:>9}{live}",
                    "", "threads", "median", "min", "max", "cpu", "×marksweep", "×gen",
                ),
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
                line(
                    out,
                    format_args!(
                        "   {:<20} {:>7} {median:>10.1} {min:>10.1} {max:>10.1} {cpu:>10} {marksweep:>11} {:>9}{live}",
                        row.competitor, row.collector_threads, r#gen
                    ),
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
    /// Of the sources that were measured; with `-dirty` if they differed from it.
    commit: String,
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
            commit: commit(),
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

fn commit() -> String {
    let described = Command::new("git")
        .args([
            "describe",
            "--always",
            "--dirty",
            "--abbrev=12",
            "--exclude=*",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let described = described.ok().filter(|it| it.status.success());
    let text = described.and_then(|it| String::from_utf8(it.stdout).ok());
    text.map_or_else(|| "unknown".into(), |it| it.trim().to_string())
}
