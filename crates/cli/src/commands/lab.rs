//! `heaphound lab`: starts the program that runs the papers' experiments.
//!
//! It is a program of its own (`crates/lab`), so that this one is built without a live heap.

use std::path::{Path, PathBuf};

use clap::Parser;
use heaphound_report::Report;

use crate::companion::Companion;
use crate::form::Form;
use crate::problem::Problem;
use crate::progress::Progress;

/// Run the papers' experiments on our heap and print their figures beside ours.
///
/// Without a name, lists the experiments. An experiment compares variants in one run, in turn, and
/// gives ratios of medians. Run it on a machine that does nothing else.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound lab                    list the experiments
  heaphound lab probes --quick     take less than a minute
  heaphound lab probes --json      print figures for a script
  heaphound lab all --quick        all of them in ten minutes, as one table
  heaphound lab prune --html prune.html

HEAPHOUND_LAB names the program to start, instead of the one that is built from the sources.")]
pub struct Args {
    /// The experiment; `all` runs all of them and prints one table.
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Take less than a minute, with smaller heaps and fewer rounds.
    #[arg(long)]
    quick: bool,

    /// Measure only what it costs programs that have nothing to find; `prune` can.
    #[arg(long)]
    costs: bool,

    /// Draw the experiment's plot into this file, as SVG; `prune` has one.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Write a page for a browser into this file, with pictures where the experiment has some.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the table of `all` into this file, in Markdown, with the machine and the reasons for what is not reached.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,

    /// Do a piece of work whose instructions another process counts.
    #[arg(long, hide = true)]
    count: Option<String>,

    /// How often to do it.
    #[arg(long, hide = true, requires = "count")]
    times: Option<usize>,
}

impl Args {
    /// Returns no file: the experiments make their own heaps.
    pub fn heap(&self) -> &Path {
        Path::new("")
    }
}

const LAB: Companion = Companion {
    folder: "lab",
    program: "heaphound-lab",
    variable: "HEAPHOUND_LAB",
};

pub fn run(args: &Args, _: &Progress) -> Result<Report, Problem> {
    // What is meant for every command.
    let common = crate::args::Args::parse();
    let is_json = common.form()? == Form::Json;
    Err(LAB.start(|command| {
        command.args(&args.name);
        let switches = [
            ("--quick", args.quick),
            ("--costs", args.costs),
            ("--json", is_json),
            ("--quiet", common.quiet),
        ];
        command.args(switches.iter().filter(|it| it.1).map(|it| it.0));
        let files = [
            ("--svg", &args.svg),
            ("--html", &args.html),
            ("--page", &args.page),
        ];
        for (option, file) in files {
            if let Some(file) = file {
                command.arg(option).arg(file);
            }
        }
        if let Some(count) = &args.count {
            command.args(["--count", count]);
        }
        if let Some(times) = args.times {
            command.args(["--times", &times.to_string()]);
        }
    }))
}
