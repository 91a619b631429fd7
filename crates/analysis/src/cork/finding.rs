//! Growth as a finding.

use heaphound_heap::finding::{Evidence, Finding, Named, Severity};
use heaphound_heap::{ClassId, ClassInfo};

use super::{Candidate, Cause};

/// The most classes that a finding lists. A report is to be read.
const MOST_LISTED: usize = 6;

/// Returns a cause as a finding: of a collection, or of a series of snapshots. Its evidence is the way
/// to what grows, through classes and slots, which also identifies it from run to run, and an object
/// that shows it. `candidates` are what is reported now.
pub fn finding(
    cause: &Cause,
    candidates: &[Candidate],
    classes: &[ClassInfo],
    collection: Option<u64>,
) -> Finding {
    let name = |class: ClassId| classes[class.0 as usize - 1].name.clone();
    let reported = |class: ClassId| candidates.iter().find(|it| it.class == class);
    let mut members = cause.classes.iter().filter_map(|it| reported(it.0));
    let message = match members.next() {
        Some(first) => describe(first, &name(first.class), collection.is_some()),
        None => format!("{} has grown", name(cause.classes[0].0)),
    };
    let mut notes = Vec::new();
    let others: Vec<&Candidate> = members.collect();
    if !others.is_empty() {
        let listed = others.iter().take(MOST_LISTED);
        let listed = listed.map(|it| format!("{} (+{} bytes)", name(it.class), it.grown_bytes));
        let mut text = format!("with it grow {}", listed.collect::<Vec<_>>().join(", "));
        if others.len() > MOST_LISTED {
            text += &format!(" and {} more", counted(others.len() - MOST_LISTED, "class"));
        }
        notes.push(text);
    }
    let first = name(cause.classes[0].0);
    Finding {
        objects: vec![Named::new(first.clone(), first)],
        evidence: vec![
            Evidence::growth(cause.path.clone()),
            Evidence::example(cause.example.clone()),
        ],
        collection,
        notes,
        ..Finding::new("growth", Severity::Warning, message)
    }
}

/// Says of a class how it has grown: in how many steps, not by how much on average.
fn describe(candidate: &Candidate, name: &str, by_collections: bool) -> String {
    let times = match by_collections {
        true => "full collection",
        false => "snapshot",
    };
    let mut message = format!(
        "{name} grows: {}, {} bytes, {} more in {} over {}",
        counted(candidate.objects as usize, "object"),
        candidate.volume_bytes,
        candidate.grown_bytes,
        counted(candidate.steps as usize, "step"),
        counted(candidate.phases as usize, times),
    );
    if let Some(rate) = candidate.bytes_per_mb {
        message += &format!(", {rate:.0} for each MB allocated");
    }
    message
}

/// `1 object`, `2 objects`
fn counted(count: usize, what: &str) -> String {
    let end = match what.ends_with('s') {
        true => "es",
        false => "s",
    };
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}{end}"),
    }
}
