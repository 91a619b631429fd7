//! The command line: what is common to all commands.

use anstream::ColorChoice;
use clap::{Parser, ValueEnum};

use crate::commands::Command;
use crate::{exit, names};

/// Answers questions about heaps in files: what holds an object, which rules hold, what grows.
#[derive(Parser)]
#[command(version, after_help = format!("{}\n\n{}", exit::HELP, names::HELP), propagate_version = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,

    /// Print one JSON document instead of text (docs/findings.schema.json; `summary` and `lab`
    /// have forms of their own).
    #[arg(long, global = true)]
    pub json: bool,

    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,

    /// Show no progress.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR or CLICOLOR=0 says otherwise.
    Auto,
    Always,
    Never,
}

impl Color {
    /// Sets the choice for all output.
    pub fn choose(self) {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
        .write_global();
    }
}
