//! The commands: one file each, and one line each in the table below.
//!
//! The file of a command has the same name as the command. It contains
//!
//! - `Args`: the arguments, with the help and examples that clap shows;
//! - `Args::heap`: the file with the heap, which JSON documents name; empty if there is none;
//! - `run`: does the work and returns a report. It prints nothing.
//!
//! A command that can be run in CI has a field with [`Findings`], which the table names behind it.
//!
//! Elsewhere: how reports look (`heaphound_report`), printing (`output.rs`), exit codes
//! (`exit.rs`).

mod check;
mod convert;
mod deal;
mod diff;
mod dominators;
mod eval;
mod export;
mod grow;
mod info;
mod lab;
mod path;
mod probe;
mod shapes;
mod summary;
mod suspects;
mod waste;

use std::path::Path;

use clap::Subcommand;
use heaphound_report::Report;

use crate::findings::Findings;
use crate::problem::Problem;
use crate::progress::Progress;

/// Makes the subcommands of the command line from the table of commands.
macro_rules! commands {
    ($($module:ident => $Variant:ident $(($findings:ident))?,)*) => {
        #[derive(Subcommand)]
        pub enum Command {
            $($Variant($module::Args),)*
        }

        impl Command {
            /// Returns the name of the command.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$Variant(_) => stringify!($module),)*
                }
            }

            /// Returns the file with the heap; an empty path if the command reads none.
            pub fn heap(&self) -> &Path {
                match self {
                    $(Self::$Variant(args) => args.heap(),)*
                }
            }

            /// Returns what becomes of its findings, if that can be chosen.
            pub fn findings(&self) -> Option<&Findings> {
                match self {
                    $(Self::$Variant(_args) => findings!(_args $($findings)?),)*
                }
            }

            /// Does the work and returns what is to be printed.
            pub fn run(&self, progress: &Progress) -> Result<Report, Problem> {
                match self {
                    $(Self::$Variant(args) => $module::run(args, progress),)*
                }
            }
        }
    };
}

macro_rules! findings {
    ($args:ident) => {
        None
    };
    ($args:ident $findings:ident) => {
        Some(&$args.$findings)
    };
}

// In the order of `heaphound --help`.
commands! {
    probe => Probe,
    eval => Eval,
    check => Check(findings),
    deal => Deal,
    path => Path,
    info => Info,
    dominators => Dominators,
    suspects => Suspects(findings),
    diff => Diff,
    waste => Waste,
    grow => Grow(findings),
    shapes => Shapes(findings),
    summary => Summary,
    convert => Convert,
    export => Export,
    lab => Lab,
}
