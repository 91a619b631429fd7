//! Why the command could not do its job.

use heaphound_heap::probe::ProbeError;

/// A reason, for a person.
#[derive(Debug)]
pub struct Problem(pub String);

impl Problem {
    /// A reason, and what might have been meant.
    pub fn with_suggestions(reason: String, suggestions: &[String]) -> Self {
        match suggestions {
            [] => Self(reason),
            _ => Self(format!("{reason}\n  did you mean {}?", either(suggestions))),
        }
    }
}

impl From<ProbeError> for Problem {
    fn from(error: ProbeError) -> Self {
        match error {
            ProbeError::NobodyAsks => {
                Self(format!("{error}\n  name one, as in `--as thread:main`"))
            }
            _ => Self(error.to_string()),
        }
    }
}

/// `a`, `b` or `c`
fn either(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}
