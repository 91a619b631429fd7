//! Which findings are known: `--baseline` and what belongs to it.
//!
//! A command has these options if it names them in the table of commands. What is known is read before its heap,
//! so that a mistake in the file is told at once, and compared with what it returns.
//!
//! Elsewhere: what a baseline is (`heaphound_report::baseline`).

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use heaphound_heap::finding::Known;
use heaphound_report::{Baseline, Report};

use crate::input;
use crate::output;
use crate::problem::Problem;

#[derive(clap::Args)]
pub struct Findings {
    /// A file of findings that are known (docs/ci.md): they are shown as known, and only others
    /// make the run fail.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Add what is found to the baseline. If the file does not exist, it is created.
    #[arg(long, requires = "baseline")]
    update_baseline: bool,

    /// Why what is added is accepted.
    #[arg(long, value_name = "TEXT", requires = "update_baseline")]
    reason: Option<String>,

    /// Remove what is not found any more from the baseline.
    #[arg(long, requires = "baseline")]
    prune_baseline: bool,

    /// Exit with 1 if something in the baseline is not found any more.
    #[arg(long, requires = "baseline")]
    strict_baseline: bool,
}

impl Findings {
    /// Reads what is known, if there is a file for it.
    pub fn known(&self) -> Result<Option<Comparison<'_>>, Problem> {
        let Some(path) = &self.baseline else {
            return Ok(None);
        };
        let name = path.display();
        let is_written = self.update_baseline || self.prune_baseline;
        if is_written && (input::is_stdin(path) || output::is_stdout(path) || path.is_dir()) {
            return Err(Problem::new(format!(
                "{name} is no file that can be updated"
            )));
        }
        let baseline = match path.exists() || input::is_stdin(path) {
            true => Baseline::parse(&input::read_text(path)?)
                .map_err(|bad| Problem::new(format!("{name}:{bad}")))?,
            false if self.update_baseline => Baseline::default(),
            false => {
                return Err(Problem::new(format!("there is no baseline {name}"))
                    .hint("`--update-baseline` creates one from what is found"));
            }
        };
        Ok(Some(Comparison {
            options: self,
            path,
            baseline,
        }))
    }
}

/// A run that compares what it finds with what is known.
pub struct Comparison<'a> {
    options: &'a Findings,
    path: &'a Path,
    baseline: Baseline,
}

impl Comparison<'_> {
    /// Compares the report of a command with what is known, and updates the file if that was asked.
    pub fn of(mut self, command: &str, mut report: Report) -> Result<Report, Problem> {
        let file = self.path.display().to_string();
        let mut compared = self.baseline.compare(&file, command, &mut report);
        let (mut added, mut removed) = (None, None);
        if self.options.prune_baseline {
            removed = Some(self.baseline.remove(&compared.vanished));
        }
        if self.options.update_baseline {
            let known = Known {
                since: today(),
                reason: self.options.reason.clone().unwrap_or_default(),
            };
            added = Some(self.baseline.add(command, &report, &known));
        }
        // A file that does not exist yet is written even if nothing was found: later runs want it.
        let is_changed = added.unwrap_or(0) + removed.unwrap_or(0) > 0;
        if is_changed || self.options.update_baseline && !self.path.exists() {
            output::write_file(self.path, &self.baseline.text())?;
            let vanished = compared.vanished;
            compared = self.baseline.compare(&file, command, &mut report);
            compared.vanished = vanished;
        }
        compared.added = added;
        compared.removed = removed;
        compared.is_strict = self.options.strict_baseline && removed.is_none();
        Ok(Report::Compared {
            report: Box::new(report),
            baseline: compared,
        })
    }
}

/// Returns the day, in UTC.
fn today() -> String {
    let now: DateTime<Utc> = SystemTime::now().into();
    now.format("%Y-%m-%d").to_string()
}
