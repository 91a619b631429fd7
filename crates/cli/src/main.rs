//! The `heaphound` command: asks questions of heaps in files.
//!
//! A run parses the command line (`args.rs`), lets one of the commands make a report
//! (`commands/`), compares its findings with those that are known (`findings.rs`), prints it (`output.rs`) and decides the exit code (`exit.rs`). Commands share how
//! heaps are read (`input.rs`) and how objects, roots and threads are named (`names.rs`). A run that is
//! stopped leaves no half of a file (`signals.rs`).
//!
//! Elsewhere: what probes mean (`heaphound_heap::probe`), how reports look
//! (`heaphound_report`), file formats (`heaphound_snapshot`).
#![deny(unsafe_code)]

mod args;
mod asker;
mod bindings;
mod build;
mod built_in;
mod closed;
mod commands;
mod companion;
mod exit;
mod findings;
mod form;
mod input;
mod listing;
mod names;
mod output;
mod problem;
mod progress;
mod signals;
#[cfg(feature = "parquet")]
mod tables;
mod threads;

use std::process::ExitCode;
use std::time::Instant;

use args::Args;
use clap::Parser;
use exit::Exit;
use findings::Findings;
use problem::Problem;
use progress::Progress;

fn main() -> ExitCode {
    signals::watch();
    let start = Instant::now();
    let exit = match Args::try_parse() {
        Ok(args) => run(&args, start).unwrap_or_else(|problem| {
            output::print_problem(&args, &problem, start.elapsed());
            Exit::CouldNot
        }),
        Err(error) => match output::print_usage(&error) {
            Ok(()) => Exit::of_usage(&error),
            Err(problem) => {
                eprintln!("error: {problem}");
                Exit::CouldNot
            }
        },
    };
    exit.into()
}

fn run(args: &Args, start: Instant) -> Result<Exit, Problem> {
    args.color.choose();
    threads::choose(args.threads);
    let form = args.form()?;
    output::check(form)?;
    let known = args.command.findings().map(Findings::known).transpose()?;
    let progress = Progress::new(args.quiet);
    let mut report = args.command.run(&progress)?;
    if let Some(known) = known.flatten() {
        report = known.of(args.command.name(), report)?;
    }
    output::print(args, form, &report, &progress.remarks(), start.elapsed())?;
    Ok(Exit::of(&report))
}
