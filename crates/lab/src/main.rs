//! `heaphound-lab`: runs the papers' experiments. `heaphound lab` starts it.
//!
//! A program of its own, so that whoever asks heaps in files does not have to build the live heap and
//! the papers' programs.
#![forbid(unsafe_code)]

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use heaphound::file::replace_file;
use heaphound_heap::nearest::near;
use heaphound_lab::overview::{self, Ran};
use heaphound_lab::{EXPERIMENTS, Experiment, Options, Report, find, page};
use heaphound_report::{About, html, json};

/// Run the papers' experiments on our heap and print their figures beside ours.
///
/// Without a name, lists the experiments. An experiment compares variants in one run, in turn, and
/// gives ratios of medians. Run it on a machine that does nothing else.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The experiment; `all` runs all of them and prints one table.
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Take less than a minute, with smaller heaps and fewer rounds.
    #[arg(long)]
    quick: bool,

    /// Print one JSON document instead of text.
    #[arg(long)]
    json: bool,

    /// Measure only what it costs programs that have nothing to find; `prune` can.
    #[arg(long)]
    costs: bool,

    /// Draw the experiment's plot into this file, as SVG; `prune` has one.
    #[arg(long, value_name = "FILE")]
    svg: Option<std::path::PathBuf>,

    /// Write a page for a browser into this file, with pictures where the experiment has some.
    #[arg(long, value_name = "FILE")]
    html: Option<std::path::PathBuf>,

    /// Write the table of `all` into this file, in Markdown, with the machine and the reasons for what is not reached.
    #[arg(long, value_name = "FILE")]
    page: Option<std::path::PathBuf>,

    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,

    /// Do a piece of work whose instructions another process counts.
    #[arg(long, hide = true)]
    count: Option<String>,

    /// How often to do it.
    #[arg(long, hide = true, default_value_t = 1)]
    times: usize,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let (text, problem) = run(&args).unwrap_or_else(|problem| {
        let text = match args.json {
            true => json::error(&About::new("lab", ""), &problem),
            false => String::new(),
        };
        (text, Some(problem))
    });
    let problem = problem.or(print(&text).err());
    match problem {
        None => ExitCode::SUCCESS,
        Some(problem) => {
            eprintln!("error: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Returns what is to be printed and what went wrong beside it, or why there is nothing.
fn run(args: &Args) -> Result<(String, Option<String>), String> {
    if let Some(what) = &args.count {
        return match heaphound_lab::count(what, args.times) {
            true => Ok((String::new(), None)),
            false => Err(format!("nobody counts `{what}`")),
        };
    }
    let Some(name) = &args.name else {
        return Ok((list(args.json), None));
    };
    let experiments: Vec<_> = match name.as_str() {
        "all" => EXPERIMENTS.iter().collect(),
        name => find(name).into_iter().collect(),
    };
    if experiments.is_empty() {
        let known = EXPERIMENTS.iter().map(|it| (it.name, it.name));
        let meant = near(name, known, 1).pop();
        let hint = meant.map(|meant| format!("\n  did you mean `{meant}`?"));
        return Err(format!(
            "no experiment is called `{name}`{}",
            hint.unwrap_or_default()
        ));
    }
    let options = Options {
        quick: args.quick,
        costs: args.costs,
        svg: args.svg.clone(),
        pictures: args.html.is_some(),
    };
    let is_all = name == "all";
    let mut all = Vec::new();
    for experiment in experiments {
        let mut say = |what: &str| {
            if !args.quiet {
                eprintln!("{}: {what} …", experiment.name);
            }
        };
        let start = Instant::now();
        let report = (experiment.run)(&options, &mut say);
        let report = report.map_err(|error| format!("experiment `{}`: {error}", experiment.name));
        // The others may tell something all the same.
        let report = match report {
            Err(why) if !is_all => return Err(why),
            report => report,
        };
        all.push(Ran {
            experiment,
            report,
            seconds: start.elapsed().as_secs_f64(),
        });
        // After each: what is known stays, even if somebody stops the rest.
        if let Some(file) = &args.page {
            let quick = if args.quick { " --quick" } else { "" };
            let command = format!("heaphound lab {name}{quick}");
            write(file, &overview::page(&all, &command))?;
        }
    }
    let reports: Vec<Report> = all.iter().filter_map(|it| it.report.clone().ok()).collect();
    if let Some(file) = &args.html {
        write(file, &html::document(&page::document(&reports)))?;
    }
    let documents = || reports.iter().map(Report::to_json).collect::<Vec<_>>();
    let text = match (args.json, &reports[..]) {
        (true, [report]) => format!("{}\n", report.to_json()),
        (true, _) => format!("[{}]\n", documents().join(",\n")),
        (false, [report]) if !is_all => report.to_string(),
        (false, _) => overview::text(&all),
    };
    let failed = all.iter().find_map(|it| it.report.as_ref().err());
    Ok((text, failed.cloned()))
}

/// Writes a file in one step.
fn write(file: &Path, text: &str) -> Result<(), String> {
    let written = replace_file(file, |mut out| out.write_all(text.as_bytes()));
    written.map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Prints. Nobody who listens to the end is no error.
fn print(text: &str) -> Result<(), String> {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(format!("cannot write to stdout: {error}"))
        }
        _ => Ok(()),
    }
}

fn list(as_json: bool) -> String {
    let line = |it: &Experiment| format!("{:<12} {}\n", it.name, it.about);
    let name = |it: &Experiment| format!("{:?}", it.name);
    match as_json {
        true => {
            let names: Vec<String> = EXPERIMENTS.iter().map(name).collect();
            format!("{{\"experiments\": [{}]}}\n", names.join(", "))
        }
        false => EXPERIMENTS.iter().map(line).collect(),
    }
}
