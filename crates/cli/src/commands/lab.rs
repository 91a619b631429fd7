//! `heaphound lab`: starts the program that runs the papers' experiments.
//!
//! It is a program of its own (`crates/lab`), so that this one is built without a live heap. Among the
//! sources, cargo builds it when they have changed; elsewhere it lies beside this program or on
//! the path.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use heaphound_report::Report;

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
  heaphound lab prune --html prune.html

HEAPHOUND_LAB names the program to start, instead of the one that is built from the sources.")]
pub struct Args {
    /// The experiment; `all` runs all of them.
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

/// Becomes the other program; returns only if that does not work.
pub fn run(args: &Args, _: &Progress) -> Result<Report, Problem> {
    let mut command = program();
    command.args(&args.name);
    if args.quick {
        command.arg("--quick");
    }
    if args.costs {
        command.arg("--costs");
    }
    if let Some(svg) = &args.svg {
        command.arg("--svg").arg(svg);
    }
    if let Some(html) = &args.html {
        command.arg("--html").arg(html);
    }
    // What is meant for every command.
    let common = crate::args::Args::parse();
    if common.form()? == Form::Json {
        command.arg("--json");
    }
    if common.quiet {
        command.arg("--quiet");
    }
    if let Some(count) = &args.count {
        command.args(["--count", count]);
    }
    if let Some(times) = args.times {
        command.args(["--times", &times.to_string()]);
    }
    let error = command.exec();
    let program = command.get_program().to_string_lossy();
    Err(Problem::new(format!("cannot run {program}: {error}"))
        .hint("`cargo install --path crates/lab` installs it"))
}

fn program() -> Command {
    if let Some(program) = std::env::var_os("HEAPHOUND_LAB") {
        return Command::new(program);
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/Cargo.toml");
    if sources.exists() {
        let mut command = Command::new("cargo");
        // It may take a minute or two to build: cargo says so on stderr.
        command.args(["run", "--release", "--manifest-path"]);
        command.arg(sources).arg("--");
        return command;
    }
    let beside = std::env::current_exe().ok();
    let beside: Option<PathBuf> = beside.map(|this| this.with_file_name("heaphound-lab"));
    match beside.filter(|it| it.exists()) {
        Some(beside) => Command::new(beside),
        None => Command::new("heaphound-lab"),
    }
}
