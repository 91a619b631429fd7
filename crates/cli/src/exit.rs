//! The exit codes, and what decides them.

use std::process::ExitCode;

use heaphound_heap::finding::{Finding, Severity};
use heaphound_report::Report;

/// How a run ends.
pub enum Exit {
    /// The answer is as expected, or nothing was expected.
    Expected,
    /// Something is wrong with the heap, and a finding says what.
    Finding,
    /// The job could not be done.
    CouldNot,
}

/// The part of `heaphound --help` about exit codes.
pub const HELP: &str = "\
Exit codes:
  0  the answer is as expected, or nothing was expected
  1  the answer is not as expected: a finding is printed
  2  the job could not be done: a bad file, an unknown name, null";

impl Exit {
    /// Returns how a run ends that made a report.
    pub fn of(report: &Report) -> Self {
        // A note does not say that something is wrong.
        let is_bad = |it: &&Finding| it.severity > Severity::Note;
        match report {
            Report::Rules(rules) if rules.is_undecided() => Self::CouldNot,
            report if report.findings().iter().any(is_bad) => Self::Finding,
            _ => Self::Expected,
        }
    }

    /// Returns how a run ends whose command line asks for help or has a mistake.
    pub fn of_usage(error: &clap::Error) -> Self {
        match error.use_stderr() {
            true => Self::CouldNot,
            false => Self::Expected,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Expected => 0,
            Exit::Finding => 1,
            Exit::CouldNot => 2,
        })
    }
}
