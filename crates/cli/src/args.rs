//! The command line.

use std::path::Path;

use anstream::ColorChoice;
use clap::{Parser, Subcommand, ValueEnum};

use crate::{check, convert, deal, eval, grow, info, lab, path, probe, shapes, summary};

const EXIT_CODES: &str = "\
Exit codes:
  0  the answer is as expected, or nothing was expected
  1  it is not: a finding is printed
  2  the job could not be done: a bad file, an unknown name, null

Names:
  Node#17             an object, as reports name it
  \"Map<K, V>\"#3       the same, in quotes
  Config              the only instance of a class
  static:cache        what a root refers to; also thread:main[2], thread-object:main,
                      handle:src/main.rs:7:5[0]";

/// Asks a heap why: probes, paths and figures of heap snapshots.
#[derive(Parser)]
#[command(version, after_help = EXIT_CODES, propagate_version = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,

    /// Print one JSON document instead of text (docs/findings.schema.json; the lab has a form
    /// of its own).
    #[arg(long, global = true)]
    pub json: bool,

    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,

    /// Show no progress.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

#[derive(Subcommand)]
pub enum Command {
    Probe(probe::Args),
    Eval(eval::Args),
    Check(check::Args),
    Deal(deal::Args),
    Path(path::Args),
    Info(info::Args),
    Grow(grow::Args),
    Shapes(shapes::Args),
    Summary(summary::Args),
    Convert(convert::Args),
    Lab(lab::Args),
}

impl Command {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Probe(_) => "probe",
            Self::Eval(_) => "eval",
            Self::Check(_) => "check",
            Self::Deal(_) => "deal",
            Self::Path(_) => "path",
            Self::Info(_) => "info",
            Self::Grow(_) => "grow",
            Self::Shapes(_) => "shapes",
            Self::Summary(_) => "summary",
            Self::Convert(_) => "convert",
            Self::Lab(_) => "lab",
        }
    }

    /// The file that it reads, if it reads one.
    pub fn heap(&self) -> &Path {
        match self {
            Self::Probe(args) => &args.heap,
            Self::Eval(args) => &args.heap,
            Self::Check(args) => &args.heap,
            Self::Deal(args) => match &args.command {
                deal::Command::Explain(args) => args.heap.as_deref().unwrap_or(Path::new("")),
                deal::Command::Fmt(_) => Path::new(""),
            },
            Self::Path(args) => &args.heap,
            Self::Info(args) => &args.heap,
            Self::Grow(args) => args.heaps.last().map_or(Path::new(""), |it| it),
            Self::Shapes(args) => &args.heap,
            Self::Summary(args) => &args.heap,
            Self::Convert(args) => &args.from,
            Self::Lab(_) => Path::new(""),
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR or CLICOLOR=0 says otherwise.
    Auto,
    Always,
    Never,
}

impl Color {
    /// Makes it so for all output.
    pub fn choose(self) {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
        .write_global();
    }
}
