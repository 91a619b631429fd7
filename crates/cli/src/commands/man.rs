//! `heaphound man`: prints man pages.

use std::path::Path;

use clap::CommandFactory;
use heaphound_report::Report;

use crate::problem::Problem;
use crate::progress::Progress;

/// Print a man page: of the command, or of one of its subcommands.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound man | man -l -
  heaphound man check | man -l -
  heaphound man > ~/.local/share/man/man1/heaphound.1
  heaphound man check > ~/.local/share/man/man1/heaphound-check.1")]
pub struct Args {
    /// The subcommand; for those of `probe` and `deal`, two words.
    #[arg(value_name = "COMMAND")]
    names: Vec<String>,
}

impl Args {
    /// Returns no file: no heap is read.
    pub fn heap(&self) -> &Path {
        Path::new("")
    }
}

pub fn run(args: &Args, _: &Progress) -> Result<Report, Problem> {
    let mut command = crate::args::Args::command();
    // Options that all commands have are told for each, and its name is the whole of it.
    command.build();
    let mut full_name = command.get_name().to_string();
    for name in &args.names {
        let Some(found) = command.find_subcommand(name) else {
            let reason = format!("`{full_name}` has no command `{name}`");
            return Err(Problem::new(reason).hint(format!("`{full_name} --help` lists them")));
        };
        full_name = format!("{full_name} {name}");
        command = found.clone();
    }
    let mut page = Vec::new();
    let written = clap_mangen::Man::new(command).render(&mut page);
    written.map_err(|error| Problem::new(format!("cannot make the page: {error}")))?;
    Ok(Report::Bytes(page))
}
