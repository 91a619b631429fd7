//! Other people's garbage collectors and ours, side by side.
//!
//! The program is parent and child in one. MMTk allows one heap with one plan
//! per process, and a process that ran one workload has a used-up allocator and
//! warm page tables; so each measurement of (competitor, workload, collector
//! threads) runs in a fresh child process of this binary. The parent goes
//! through all of them once per round — interleaved, so that a disturbance of
//! the machine hits everyone — and reports medians over the rounds.
//!
//! To add a competitor, write a module with a list of [`Competitor`]s and name
//! it in [`COMPETITORS`].
//!
//! Elsewhere: what the workloads do (`workload.rs`), tables, JSON and the
//! description of the machine (`report.rs`), what is quoted of them (`headline.rs`), and that everybody
//! gets the same pages (`pages.rs`).

mod boa;
#[cfg(boehm)]
mod boehm;
mod dumpster;
mod gc_arena;
mod headline;
mod heaphound;
mod mmtk_peer;
mod pages;
mod report;
mod workload;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;

use pages::Pages;
use report::{Measurement, Report};
use workload::{Job, Mode, Outcome, Scale, Workload};

/// Everyone who takes part, ours first.
const COMPETITORS: &[&[Competitor]] = &[
    heaphound::COMPETITORS,
    mmtk_peer::COMPETITORS,
    gc_arena::COMPETITORS,
    boa::COMPETITORS,
    dumpster::COMPETITORS,
    #[cfg(boehm)]
    boehm::COMPETITORS,
];

/// Our own collectors, to which the others are compared.
pub const OURS: [&str; 2] = ["heaphound-marksweep", "heaphound-gen"];
/// Ours once more, with checks of every kind at each collection.
pub const ARMED: &str = "heaphound-armed";

/// A collector under measurement.
pub struct Competitor {
    pub name: &'static str,
    /// One line for the report: version, and how its settings were chosen.
    pub about: &'static str,
    pub supports: fn(&Job) -> bool,
    /// Runs in a process of its own that ends afterwards.
    pub run: fn(&Job) -> Outcome,
}

/// Measure garbage collectors of other people against ours.
///
/// Each measurement runs in a child process; competitors are interleaved round
/// by round and medians reported.
#[derive(Parser)]
#[command(name = "peers", version)]
struct Options {
    /// Small workloads and two rounds: checks that everything runs, in minutes.
    #[arg(long)]
    quick: bool,

    /// Only these workloads.
    #[arg(long, value_name = "WORKLOAD", value_delimiter = ',')]
    only: Vec<Workload>,

    /// Only these competitors.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    peers: Vec<String>,

    /// How often each measurement is repeated (5, with --quick 2).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,

    /// The pages that all competitors get.
    #[arg(long, value_name = "PAGES", default_value = "huge")]
    pages: Pages,

    /// Give up on a single measurement after this many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,

    /// Also write everything that was measured to this file. What is quoted is under `rows`, with
    /// `id` and `measured`.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Also write a page of documentation: what was run, where, and all tables.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    /// List competitors and workloads, and stop.
    #[arg(long)]
    list: bool,

    /// Run one measurement in this process: a competitor and a job.
    #[arg(long, hide = true, num_args = 2)]
    child: Option<Vec<String>>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(child) = &options.child {
        return run_child(&child[0], &child[1]);
    }
    let competitors: Vec<&Competitor> = COMPETITORS.iter().copied().flatten().collect();
    if options.list {
        list(&competitors);
        return ExitCode::SUCCESS;
    }
    for name in &options.peers {
        if !competitors.iter().any(|c| c.name == name) {
            eprintln!("error: there is no competitor '{name}'; --list shows them");
            return ExitCode::from(2);
        }
    }
    let competitors: Vec<&Competitor> = competitors
        .into_iter()
        .filter(|c| options.peers.is_empty() || options.peers.iter().any(|name| name == c.name))
        .collect();
    let workloads: Vec<Workload> = Workload::ALL
        .into_iter()
        .filter(|w| options.only.is_empty() || options.only.contains(w))
        .collect();
    let scale = if options.quick {
        Scale::Quick
    } else {
        Scale::Full
    };
    let rounds = options.rounds.unwrap_or(if options.quick { 2 } else { 5 });

    let mut report = Report::new(scale, rounds, options.pages, &competitors);
    print!("{}", report.heading());
    for workload in workloads {
        let mut measurements = plan(workload, scale, options.pages, &competitors);
        for round in 0..rounds {
            let all = measurements.len();
            for (done, measurement) in measurements.iter_mut().enumerate() {
                progress(&format!(
                    "{} round {}/{rounds}, {}/{all}: {}",
                    workload.name(),
                    round + 1,
                    done + 1,
                    measurement.competitor
                ));
                // One failure is enough; the next rounds would only take time.
                if measurement.failure.is_none() {
                    match measure(measurement, Duration::from_secs(options.timeout)) {
                        Ok(outcome) => measurement.outcomes.push(outcome),
                        Err(failure) => measurement.failure = Some(failure),
                    }
                }
            }
        }
        progress("");
        print!("{}", report.add(workload, measurements));
    }
    print!("{}", report.headline());
    let json = options.json.as_ref().map(|file| (file, report.json()));
    let page = options.page.as_ref().map(|file| (file, report.page()));
    for (file, text) in json.into_iter().chain(page) {
        if let Err(error) = std::fs::write(file, text) {
            eprintln!("error: {}: {error}", file.display());
            return ExitCode::from(2);
        }
    }
    if report.agrees() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// All measurements of a workload.
fn plan(
    workload: Workload,
    scale: Scale,
    pages: Pages,
    competitors: &[&Competitor],
) -> Vec<Measurement> {
    let modes: &[Mode] = match workload {
        Workload::BinaryTrees => &[Mode::Total, Mode::Pause],
        _ => &[Mode::Total],
    };
    let mut measurements = Vec::new();
    for &mode in modes {
        for &collector_threads in workload.collector_threads(mode) {
            for competitor in competitors {
                let job = Job {
                    workload,
                    scale,
                    mode,
                    collector_threads,
                    pages,
                };
                if (competitor.supports)(&job) {
                    measurements.push(Measurement::new(competitor.name, job));
                }
            }
        }
    }
    measurements
}

/// Runs one measurement in a child process.
fn measure(measurement: &Measurement, timeout: Duration) -> Result<Outcome, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let job = serde_json::to_string(&measurement.job).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    measurement.job.pages.prepare(&mut command);
    let mut child = command
        .args(["--child", measurement.competitor, &job])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let start = Instant::now();
    // A child writes one short line, which fits the pipe: it can end unread.
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if start.elapsed() > timeout => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("did not end within {} s", timeout.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let mut output = String::new();
    let mut errors = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout
            .read_to_string(&mut output)
            .map_err(|error| error.to_string())?;
    }
    if let Some(mut stderr) = child.stderr.take() {
        stderr
            .read_to_string(&mut errors)
            .map_err(|error| error.to_string())?;
    }
    if !status.success() {
        let reason = failure_reason(&errors);
        return Err(format!("{status}: {reason}"));
    }
    serde_json::from_str(&output).map_err(|error| format!("unreadable result: {error}"))
}

/// What a child that failed had to say: a panic's message, or the last line.
fn failure_reason(errors: &str) -> &str {
    let mut lines = errors.lines().filter(|line| !line.trim().is_empty());
    let last = lines.clone().next_back().unwrap_or("");
    lines
        .find(|line| line.contains("panicked at"))
        .and_then(|_| lines.next())
        .unwrap_or(last)
}

/// The child's side of [`measure`].
fn run_child(name: &str, job: &str) -> ExitCode {
    let competitor = COMPETITORS
        .iter()
        .copied()
        .flatten()
        .find(|c| c.name == name);
    let (Some(competitor), Ok(job)) = (competitor, serde_json::from_str::<Job>(job)) else {
        eprintln!("error: no such competitor or job");
        return ExitCode::from(2);
    };
    job.pages.settle();
    print_outcome_and_exit(&(competitor.run)(&job))
}

/// Ends the process, from whatever thread did the work.
pub fn print_outcome_and_exit(outcome: &Outcome) -> ! {
    println!(
        "{}",
        serde_json::to_string(outcome).expect("an outcome is plain data")
    );
    let _ = std::io::stdout().flush();
    // SAFETY: `_exit` ends the process without running destructors. Taking a
    // heap of millions of objects apart would only cost time, and some peers
    // cannot do it from a thread-local's destructor.
    unsafe { libc::_exit(0) }
}

fn list(competitors: &[&Competitor]) {
    println!("competitors:");
    for competitor in competitors {
        println!("  {:<20} {}", competitor.name, competitor.about);
    }
    println!("workloads:");
    for workload in Workload::ALL {
        println!(
            "  {:<20} {}",
            workload.name(),
            workload.describe(Scale::Full)
        );
    }
}

/// Shows where we are on one line of the terminal, which the next call replaces.
fn progress(text: &str) {
    use std::io::IsTerminal;
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let _ = write!(stderr, "\r\x1b[K{text}");
        let _ = stderr.flush();
    }
}
