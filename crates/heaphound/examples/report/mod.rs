//! Makes and prints findings, for all examples.

use heaphound::finding::{Evidence, Finding, Named, Path, Severity};

/// Returns a finding about a rule that one object breaks, with the paths that prove it.
#[track_caller]
pub(crate) fn violation(
    kind: &str,
    message: String,
    about: Named,
    paths: Vec<(String, Path)>,
) -> Finding {
    let caller = std::panic::Location::caller();
    let file = caller.file().rsplit('/').next().unwrap_or_default();
    let evidence = |(label, path)| Evidence::labelled(label, path);
    Finding {
        objects: vec![about],
        evidence: paths.into_iter().map(evidence).collect(),
        place: Some(format!("{file}:{}", caller.line())),
        ..Finding::new(kind, Severity::Error, message)
    }
}

/// Prints the findings, or that there are none.
pub(crate) fn print(findings: &[Finding]) {
    if findings.is_empty() {
        println!("  ok: the rule holds");
    }
    for finding in findings {
        for line in finding.to_string().lines() {
            println!("  {line}");
        }
    }
}
