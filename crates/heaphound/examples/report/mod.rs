//! What the examples have in common: making a finding, and printing it.

use heaphound::finding::{Evidence, Finding, Named, Path, Severity};

/// A broken rule about one object, with the paths that prove it.
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

/// Prints what was found, or that nothing was.
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
