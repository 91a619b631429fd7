//! `heaphound completions`: prints what a shell needs to complete the command line.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use heaphound_report::Report;

use crate::problem::Problem;
use crate::progress::Progress;

/// Print a script that makes a shell complete commands, options and their values.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound completions bash > ~/.local/share/bash-completion/completions/heaphound
  heaphound completions zsh > ~/.zfunc/_heaphound     (a folder of fpath)
  heaphound completions fish > ~/.config/fish/completions/heaphound.fish")]
pub struct Args {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Args {
    /// Returns no file: no heap is read.
    pub fn heap(&self) -> &Path {
        Path::new("")
    }
}

pub fn run(args: &Args, _: &Progress) -> Result<Report, Problem> {
    let mut script = Vec::new();
    let mut command = crate::args::Args::command();
    clap_complete::generate(args.shell, &mut command, "heaphound", &mut script);
    Ok(Report::Bytes(script))
}
