//! The commands: one file each, and one line each in the table below.
//!
//! The file of a command has the same name as the command. It contains
//!
//! - `Args`: the arguments, with the help and examples that clap shows;
//! - `Args::heap`: the file with the heap, which JSON documents name; empty if there is none;
//! - `run`: does the work and returns a report. It prints nothing.
//!
//! Elsewhere: how reports look (`heaphound_report`), printing (`output.rs`), exit codes
//! (`exit.rs`).

mod check;
mod convert;
mod deal;
mod eval;
mod grow;
mod info;
mod lab;
mod path;
mod probe;
mod shapes;
mod summary;

use std::path::Path;

use clap::Subcommand;
use heaphound_report::Report;

use crate::problem::Problem;
use crate::progress::Progress;

/// Makes the subcommands of the command line from the table of commands.
macro_rules! commands {
    ($($module:ident => $Variant:ident,)*) => {
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

            /// Does the work and returns what is to be printed.
            pub fn run(&self, progress: &Progress) -> Result<Report, Problem> {
                match self {
                    $(Self::$Variant(args) => $module::run(args, progress),)*
                }
            }
        }
    };
}

// In the order of `heaphound --help`.
commands! {
    probe => Probe,
    eval => Eval,
    check => Check,
    deal => Deal,
    path => Path,
    info => Info,
    grow => Grow,
    shapes => Shapes,
    summary => Summary,
    convert => Convert,
    lab => Lab,
}
