//! Growth as a finding.

use heaphound_heap::finding::{Evidence, Finding, Hop, Named, Path, Severity};
use heaphound_heap::{ClassId, ClassInfo};

use super::{Candidate, SliceEdge};
use crate::slot::SlotIds;

/// Returns a candidate as a finding: of a collection, or of a series of snapshots. Its evidence
/// is the growing path through classes and slots. That path also identifies it from run to run.
pub fn finding(
    candidate: &Candidate,
    classes: &[ClassInfo],
    ids: &SlotIds,
    collection: Option<u64>,
) -> Finding {
    let name = |class: ClassId| classes[class.0 as usize - 1].name.clone();
    let named = |class| Named {
        name: name(class),
        class: name(class),
    };
    let Candidate { class, slice, .. } = candidate;
    let slot_of = |edge: &SliceEdge| match edge.slots.first() {
        Some(slot) => ids.name(classes, slot.slot).to_string(),
        None => String::new(),
    };
    let times = match collection {
        Some(_) => "full collections",
        None => "snapshots",
    };
    let mut message = format!(
        "{} grows: {}, {} bytes, {:.0} more with each of {} {times}",
        name(*class),
        counted(candidate.objects, "object"),
        candidate.volume_bytes,
        candidate.bytes_per_collection,
        candidate.phases,
    );
    if let Some(rate) = candidate.bytes_per_mb {
        message += &format!(", {rate:.0} for each MB allocated");
    }
    let chain = slice.chain.iter().rev();
    let path = Path {
        root: None,
        first: named(slice.chain.last().map_or(*class, |edge| edge.from)),
        hops: chain
            .map(|edge| Hop {
                slot: slot_of(edge),
                index: None,
                to: named(edge.class),
            })
            .collect(),
    };
    let mut notes: Vec<String> = slice
        .edges
        .iter()
        .flat_map(|edge| edge.slots.iter().map(move |slot| (edge, slot)))
        .map(|(edge, slot)| {
            let holder = ids.full_name(classes, slot.slot);
            format!(
                "{holder} → {}: {} to {} bytes, growing",
                name(edge.class),
                counted(slot.references, "reference"),
                slot.volume_bytes
            )
        })
        .collect();
    for edge in slice.chain.iter().filter(|it| it.rank == 0.0) {
        for slot in edge.slots.iter().skip(1) {
            let holder = ids.full_name(classes, slot.slot);
            let count = counted(slot.references, "reference");
            notes.push(format!(
                "or through {holder} → {}: {count}",
                name(edge.class)
            ));
        }
    }
    for edge in &slice.holders {
        for slot in &edge.slots {
            let holder = ids.full_name(classes, slot.slot);
            let count = counted(slot.references, "reference");
            notes.push(format!("held by {holder} → {}: {count}", name(edge.class)));
        }
    }
    if !slice.complete {
        notes.push("more slots grow than are listed".into());
    }
    let evidence = match path.hops.is_empty() {
        true => Vec::new(),
        false => vec![Evidence::labelled("it grows through", path)],
    };
    Finding {
        objects: vec![named(*class)],
        evidence,
        collection,
        notes,
        ..Finding::new("growth", Severity::Warning, message)
    }
}

/// `1 object`, `2 objects`
fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}
