//! The exit codes, and what decides them.

use std::process::ExitCode;

use heaphound_heap::finding::Finding;
use heaphound_report::{Compared, Report, Rules};

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
        let is_undecided = report.rules().is_some_and(Rules::is_undecided);
        let has_vanished = report.baseline().is_some_and(Compared::fails);
        let is_bad = has_vanished || report.findings().into_iter().any(Finding::is_failure);
        match (is_undecided, is_bad) {
            (true, _) => Self::CouldNot,
            (false, true) => Self::Finding,
            (false, false) => Self::Expected,
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
