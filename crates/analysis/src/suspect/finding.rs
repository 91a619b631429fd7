//! A suspect as a finding.

use heaphound_heap::class::short_name;
use heaphound_heap::finding::{Evidence, Finding, Severity};
use heaphound_heap::path::named;
use heaphound_heap::snapshot::Snapshot;
use heaphound_heap::spelling::thread_name;
use heaphound_heap::view::HeapView;

use super::{Filling, Suspect, What};
use crate::holder::is_library;

/// Returns a suspect as a finding. Its path, by classes and slots, tells it from others from run to run, and so
/// does a static that it starts from. `heap_bytes` is what all live objects take.
pub fn finding(heap: &Snapshot, suspect: &Suspect, heap_bytes: u64, severity: Severity) -> Finding {
    let class_of = |it: &Filling| short_name(&heap.class(it.class).name);
    let amount = format!(
        "{} bytes, {} of the heap",
        grouped(suspect.retained_bytes),
        percent(suspect.retained_bytes, heap_bytes)
    );
    let through = match &suspect.holder {
        Some(holder) => format!(", through {holder}"),
        None => String::new(),
    };
    let list = |all: &[Filling]| {
        let told = all.iter().map(|it| {
            let (objects, bytes) = (grouped(it.objects as u64), grouped(it.bytes));
            format!("{objects} {} ({bytes} bytes)", class_of(it))
        });
        told.collect::<Vec<_>>().join(", ")
    };
    let mut notes = Vec::new();
    if !suspect.filled_by.is_empty() {
        notes.push(format!("it holds {}", list(&suspect.filled_by)));
    }
    let retained = match suspect.objects {
        1 => "1 object is".to_string(),
        many => format!("{} objects are", grouped(many as u64)),
    };
    notes.push(format!("{retained} retained: {}", list(&suspect.below)));
    let mut finding = match &suspect.what {
        What::Accumulation(object) => {
            let object = named(heap, *object);
            // What a person has written tells more than the nodes of a map that it is in.
            let own = |it: &&Filling| {
                let class = heap.class(it.class);
                class.elements.is_none() && !is_library(&class.name)
            };
            let most = match suspect.below.iter().find(own).or(suspect.filled_by.first()) {
                Some(it) => format!(", with {} {}", grouped(it.objects as u64), class_of(it)),
                None => String::new(),
            };
            Finding {
                objects: vec![object.clone()],
                ..Finding::new(
                    "accumulation",
                    severity,
                    format!("{object} retains {amount}{most}{through}"),
                )
            }
        }
        What::Group { class, count } => {
            let name = &heap.class(*class).name;
            let message = format!(
                "{} {} retain {amount}, and no single object keeps them",
                grouped(*count as u64),
                short_name(name)
            );
            Finding {
                class: Some(name.clone()),
                ..Finding::new("group", severity, message)
            }
        }
        What::Stack(thread) => Finding {
            class: Some(thread.clone()),
            ..Finding::new(
                "stack",
                severity,
                format!(
                    "the stack of {} alone retains {amount}",
                    thread_name(thread)
                ),
            )
        },
    };
    finding.evidence = suspect
        .ways
        .iter()
        .map(|(count, path)| match suspect.what {
            What::Accumulation(_) => Evidence::held(path.clone()),
            // How a group is held may differ from run to run; its class tells it from others.
            What::Group { .. } => Evidence::sample(*count, path.clone()),
            What::Stack(_) => Evidence::example(path.clone()),
        })
        .collect();
    finding.notes = notes;
    finding
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `12.3 %`
fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / whole.max(1) as f64)
}
