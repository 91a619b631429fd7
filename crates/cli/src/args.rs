//! The command line: what is common to all commands.

use anstream::ColorChoice;
use clap::{Parser, ValueEnum};

use crate::commands::Command;
use crate::form::Form;
use crate::problem::Problem;
use crate::{build, exit, names};

/// Answers questions about heaps in files: what holds an object, which rules hold, what grows.
#[derive(Parser)]
#[command(name = "heaphound", version = build::VERSION, after_help = format!("{}\n\n{}", exit::HELP, names::HELP), propagate_version = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,

    /// How to print the report.
    #[arg(long, global = true, value_name = "FORMAT", help_heading = COMMON)]
    pub format: Option<Form>,

    /// The same as `--format json`.
    #[arg(long, global = true, conflicts_with = "format", help_heading = COMMON)]
    pub json: bool,

    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = COMMON)]
    pub color: Color,

    /// How many threads work; by default, one for each core.
    #[arg(long, value_name = "N", global = true, help_heading = COMMON,
          value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,

    /// Show neither progress nor notes on stderr.
    #[arg(long, short, global = true, help_heading = COMMON)]
    pub quiet: bool,
}

/// Over the options that all commands have.
const COMMON: &str = "Common options";

impl Args {
    /// Returns how to print the report, or that the command cannot print it like that.
    pub fn form(&self) -> Result<Form, Problem> {
        let (command, forms) = (self.command.name(), self.command.forms());
        let Some(form) = self.chosen_form() else {
            return Ok(forms[0]);
        };
        if forms.contains(&form) {
            return Ok(form);
        }
        let reason = format!("`{command}` does not print {}", form.word());
        let words: Vec<&str> = forms.iter().map(|it| it.word()).collect();
        let hint = match (command, form) {
            ("lab", Form::Html) => "`--html FILE` writes a page".to_string(),
            _ => format!("it prints {}", words.join(", ")),
        };
        Err(Problem::new(reason).hint(hint))
    }

    /// Returns how somebody who gets no report wants to be told why.
    pub fn form_of_problem(&self) -> Form {
        self.chosen_form().unwrap_or(Form::Text)
    }

    fn chosen_form(&self) -> Option<Form> {
        match self.json {
            true => Some(Form::Json),
            false => self.format,
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
