//! The commands: one file each, and one line each in the table below.
//!
//! The file of a command has the same name as the command. It contains
//!
//! - `Args`: the arguments, with the help and examples that clap shows;
//! - `Args::heap`: the file with the heap, which JSON documents name; empty if there is none;
//! - `run`: does the work and returns a report. It prints nothing.
//!
//! The table also names the forms in which a command prints (`form.rs`). A command that can be run in CI has a field with [`Findings`], which the table names behind it.
//!
//! Elsewhere: how reports look (`heaphound_report`), printing (`output.rs`), exit codes
//! (`exit.rs`).

mod check;
mod completions;
mod convert;
mod deal;
mod demo;
mod diff;
mod dominators;
mod eval;
mod export;
mod grow;
mod info;
mod lab;
mod man;
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
use crate::form::Form;
use crate::problem::Problem;
use crate::progress::Progress;

/// Makes the subcommands of the command line from the table of commands.
macro_rules! commands {
    ($($module:ident => $Variant:ident $(($findings:ident))? $forms:ident,)*) => {
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

            /// Returns the forms in which it prints, the default first.
            pub fn forms(&self) -> &'static [Form] {
                match self {
                    $(Self::$Variant(_) => Form::$forms,)*
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

// In the order of `heaphound --help`, with the forms in which they print.
commands! {
    probe => Probe ANSWER,
    eval => Eval ANSWER,
    check => Check(findings) FINDINGS,
    deal => Deal ANSWER,
    path => Path ANSWER,
    info => Info ANSWER,
    dominators => Dominators ANSWER,
    suspects => Suspects(findings) FINDINGS,
    diff => Diff ANSWER,
    waste => Waste ANSWER,
    grow => Grow(findings) FINDINGS,
    shapes => Shapes(findings) FINDINGS,
    summary => Summary GRAPH,
    convert => Convert DEED,
    export => Export DEED,
    demo => Demo FILE,
    lab => Lab DEED,
    completions => Completions FILE,
    man => Man FILE,
}
