//! The `heaphound` command: asks heaps in files, and says why.
//!
//! A run reads its arguments (`args.rs`), reads a heap (`input.rs`), lets one of the
//! commands make a report (`probe/`, `eval.rs`, `grow.rs`, `path.rs` and so on) and prints it
//! (`output.rs`). A command prints nothing itself. To add one: a file with its arguments and
//! its `run`, and a variant of `args::Command`. The lab (`lab.rs`) reads no heap.
//!
//! Elsewhere: what probes mean (`heaphound_heap::probe`), how reports look
//! (`heaphound_report`), files (`heaphound_snapshot`).
#![forbid(unsafe_code)]

mod args;
mod bindings;
mod check;
mod convert;
mod deal;
mod eval;
mod grow;
mod info;
mod input;
mod lab;
mod names;
mod output;
mod path;
mod probe;
mod problem;
mod progress;
mod shapes;
mod summary;

use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;
use heaphound_report::Report;
use problem::Problem;
use progress::Progress;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return output::print_usage(&error),
    };
    args.color.choose();
    match run(&args) {
        Ok(report) => output::print(&args, &report),
        Err(problem) => output::print_problem(&args, &problem),
    }
}

fn run(args: &Args) -> Result<Report, Problem> {
    let (json, quiet) = (args.json, args.quiet);
    let progress = Progress::new(quiet);
    match &args.command {
        Command::Probe(args) => probe::run(args, &progress),
        Command::Eval(args) => eval::run(args, &progress),
        Command::Path(args) => path::run(args, &progress),
        Command::Info(args) => info::run(args, &progress),
        Command::Convert(args) => convert::run(args, &progress),
        Command::Check(args) => check::run(args, &progress),
        Command::Grow(args) => grow::run(args, &progress),
        Command::Shapes(args) => shapes::run(args, &progress),
        Command::Deal(args) => deal::run(args, &progress),
        Command::Summary(args) => summary::run(args, json, &progress),
        Command::Lab(args) => lab::run(args, json, quiet),
    }
}
