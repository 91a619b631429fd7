//! The `heaphound` command: asks questions of heaps in files.
//!
//! A run parses the command line (`args.rs`), lets one of the commands make a report
//! (`commands/`), prints it (`output.rs`) and decides the exit code (`exit.rs`). Commands share how
//! heaps are read (`input.rs`) and how objects, roots and threads are named (`names.rs`).
//!
//! Elsewhere: what probes mean (`heaphound_heap::probe`), how reports look
//! (`heaphound_report`), file formats (`heaphound_snapshot`).
#![forbid(unsafe_code)]

mod args;
mod asker;
mod bindings;
mod commands;
mod cores;
mod exit;
mod input;
mod listing;
mod names;
mod output;
mod problem;
mod progress;

use std::process::ExitCode;

use args::Args;
use clap::Parser;
use exit::Exit;
use problem::Problem;
use progress::Progress;

fn main() -> ExitCode {
    let exit = match Args::try_parse() {
        Ok(args) => run(&args).unwrap_or_else(|problem| {
            output::print_problem(&args, &problem);
            Exit::CouldNot
        }),
        Err(error) => {
            output::print_usage(&error);
            Exit::of_usage(&error)
        }
    };
    exit.into()
}

fn run(args: &Args) -> Result<Exit, Problem> {
    args.color.choose();
    let report = args.command.run(&Progress::new(args.quiet))?;
    output::print(args, &report)?;
    Ok(Exit::of(&report))
}
