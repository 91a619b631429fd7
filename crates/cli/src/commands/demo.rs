//! `heaphound demo`: starts the program that shows what the live heap can do (`crates/demo`).

use std::path::{Path, PathBuf};

use heaphound_report::Report;

use crate::companion::Companion;
use crate::problem::Problem;
use crate::progress::Progress;

/// Show it at work: a program that leaks, found by an assertion, found without one, and kept alive.
///
/// Runs a small program on our heap, prints what is found in it, and writes a page for a browser. Takes seconds.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound demo
  heaphound demo --html /tmp/demo.html

HEAPHOUND_DEMO names the program to start, instead of the one that is built from the sources.")]
pub struct Args {
    /// Where to write the page.
    #[arg(long, value_name = "FILE", default_value = "heaphound-demo.html")]
    html: PathBuf,
}

impl Args {
    /// Returns no file: the demo makes its own heap.
    pub fn heap(&self) -> &Path {
        Path::new("")
    }
}

const DEMO: Companion = Companion {
    folder: "demo",
    program: "heaphound-demo",
    variable: "HEAPHOUND_DEMO",
};

pub fn run(args: &Args, _: &Progress) -> Result<Report, Problem> {
    Err(DEMO.start(|command| {
        command.arg(&args.html);
    }))
}
