//! Why the command could not do its job.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use heaphound_analysis::dominator::TooManyEdges;
use heaphound_deal::diagnostic::Diagnostics;
use heaphound_heap::probe::ProbeError;

use crate::names::nearest;

/// What went wrong and where, for a person. The exit code is 2.
#[derive(Debug)]
pub struct Problem {
    /// It names the file, the argument or the line at fault.
    reason: String,
    /// What the person can do about it, on the next line.
    hint: Option<String>,
}

impl Problem {
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            hint: None,
        }
    }

    /// Adds what the person can do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the same, if nothing better is known.
    pub fn hint_unless_any(self, hint: impl Into<String>) -> Self {
        match self.hint {
            Some(_) => self,
            None => self.hint(hint),
        }
    }

    /// Adds the names that might have been meant, if there are any.
    pub fn suggest(self, names: &[String]) -> Self {
        match names {
            [] => self,
            _ => self.hint(format!("did you mean {}?", either(names))),
        }
    }

    /// A file cannot be read. If it does not exist, names files beside it that might have been meant.
    pub fn cannot_read(file: &Path, error: &io::Error) -> Self {
        let problem = Self::new(format!("cannot read {}: {error}", file.display()));
        match error.kind() {
            io::ErrorKind::NotFound => problem.suggest(&files_like(file)),
            _ => problem,
        }
    }

    pub fn cannot_write(file: &Path, error: &io::Error) -> Self {
        Self::new(format!("cannot write {}: {error}", file.display()))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        match &self.hint {
            Some(hint) => write!(f, "\n  {hint}"),
            None => Ok(()),
        }
    }
}

/// Returns the files with names like that of one that does not exist.
fn files_like(missing: &Path) -> Vec<String> {
    let folder = match missing.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let Some(wanted) = missing.file_name().map(|it| it.to_string_lossy()) else {
        return Vec::new();
    };
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = files.take(MOST_FILES).map(|it| it.file_name());
    let mut names: Vec<String> = names.map(|it| it.to_string_lossy().into()).collect();
    names.sort();
    let shown = |name: &String| missing.with_file_name(name).display().to_string();
    nearest(&wanted, names.iter().map(|it| (it.as_str(), shown(it))))
}

/// A folder with more files is not searched to its end.
const MOST_FILES: usize = 10_000;

/// The hint where a question needs a thread that asks.
pub const NAME_ASKER: &str = "name one, as in `--as thread:main`";

impl From<ProbeError> for Problem {
    fn from(error: ProbeError) -> Self {
        let problem = Self::new(error.to_string());
        match error {
            ProbeError::NobodyAsks => problem.hint(NAME_ASKER),
            _ => problem,
        }
    }
}

impl From<TooManyEdges> for Problem {
    fn from(error: TooManyEdges) -> Self {
        Self::new(error.to_string())
    }
}

impl From<Diagnostics> for Problem {
    fn from(wrong: Diagnostics) -> Self {
        Self::new(wrong.to_string())
    }
}

impl From<Vec<Diagnostics>> for Problem {
    /// Lists the mistakes of several files.
    fn from(wrong: Vec<Diagnostics>) -> Self {
        let files: Vec<String> = wrong.iter().map(Diagnostics::to_string).collect();
        Self::new(files.join("\n"))
    }
}

/// Returns `a`, `b` or `c`.
fn either(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
