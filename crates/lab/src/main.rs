//! `heaphound-lab`: runs the papers' experiments. `heaphound lab` starts it.
//!
//! A program of its own, so that whoever asks heaps in files does not have to build the live heap and
//! the papers' programs.
#![forbid(unsafe_code)]

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;
use heaphound::file::replace_file;
use heaphound_heap::nearest::near;
use heaphound_lab::{EXPERIMENTS, Experiment, Options, find, page};
use heaphound_report::{About, html, json};

/// Run the papers' experiments on our heap and print their figures beside ours.
///
/// Without a name, lists the experiments. An experiment compares variants in one run, in turn, and
/// gives ratios of medians. Run it on a machine that does nothing else.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The experiment; `all` runs all of them.
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
    let (text, code) = match run(&args) {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(problem) => {
            eprintln!("error: {problem}");
            let text = match args.json {
                true => json::error(&About::new("lab", ""), &problem),
                false => String::new(),
            };
            (text, ExitCode::from(2))
        }
    };
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Nobody who listens to the end is no error.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write to stdout: {error}");
            ExitCode::from(2)
        }
        _ => code,
    }
}

/// Returns what is to be printed, or why there is nothing.
fn run(args: &Args) -> Result<String, String> {
    if let Some(what) = &args.count {
        return match heaphound_lab::count(what, args.times) {
            true => Ok(String::new()),
            false => Err(format!("nobody counts `{what}`")),
        };
    }
    let Some(name) = &args.name else {
        return Ok(list(args.json));
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
    let mut reports = Vec::new();
    for experiment in experiments {
        let mut say = |what: &str| {
            if !args.quiet {
                eprintln!("{}: {what} …", experiment.name);
            }
        };
        let report = (experiment.run)(&options, &mut say);
        let report =
            report.map_err(|error| format!("experiment `{}`: {error}", experiment.name))?;
        reports.push(report);
    }
    if let Some(file) = &args.html {
        let page = html::document(&page::document(&reports));
        let written = replace_file(file, |mut out| out.write_all(page.as_bytes()));
        written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    let texts = reports.iter().map(|report| match args.json {
        true => report.to_json(),
        false => report.to_string(),
    });
    Ok(match (args.json, &texts.collect::<Vec<_>>()[..]) {
        (true, [report]) => format!("{report}\n"),
        (true, reports) => format!("[{}]\n", reports.join(",\n")),
        (false, reports) => reports.join("\n"),
    })
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
