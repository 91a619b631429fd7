//! Recursive data structures.

use heaphound_heap::finding::Finding;

use super::report::{put_findings, tone_of};
use super::{Cell, Document, Names, Part, Table, Tone};
use crate::figures::{count, size};
use crate::shapes::{Shapes, Structure};

pub(super) fn put(document: &mut Document, shapes: &Shapes, findings: &[Finding]) {
    document.fact("live", size(shapes.heap_bytes));
    document.fact("structures", count(shapes.structures.len() as u64));
    if let Some(learnt) = &shapes.learnt {
        let word = if learnt.merged {
            "added to"
        } else {
            "written to"
        };
        document.headline(Tone::Plain, format!("{word} {}", learnt.profile));
    }
    if let Some(tested) = &shapes.tested {
        let (text, tone) = match findings.len() {
            0 => (format!("all is as {} says", tested.profile), Tone::Good),
            1 => (
                format!("1 thing is not as {} says", tested.profile),
                tone_of(findings),
            ),
            many => (
                format!("{many} things are not as {} says", tested.profile),
                tone_of(findings),
            ),
        };
        document.headline(tone, text);
    }
    put_findings(document, findings);
    let mut table = Table::new([
        "structure",
        "looks like",
        "objects",
        "bytes",
        "of the heap",
        "references from inside: 0, 1, 2, more",
        "references to inside: 0, 1, 2, more",
    ]);
    for it in &shapes.structures {
        table.row([
            Cell::Name(name(it)),
            Cell::Text(it.looks_like.clone()),
            Cell::Count(it.objects),
            Cell::Count(it.bytes),
            Cell::share(it.bytes, shapes.heap_bytes),
            Cell::Bars(it.incoming.to_vec()),
            Cell::Bars(it.outgoing.to_vec()),
        ]);
    }
    let section = document.section("Structures");
    match table.rows.is_empty() {
        true => section.push(Part::Text("The heap has no recursive structures.".into())),
        false => section.push(Part::Table(table)),
    }
    let slots = shapes.structures.iter().flat_map(|structure| {
        let slots = structure.slots.iter();
        slots.map(move |(slot, references)| (structure, slot, references))
    });
    let mut table = Table::new(["structure", "slot", "references"]);
    for (structure, slot, references) in slots {
        table.row([
            Cell::Name(name(structure)),
            Cell::name(slot),
            Cell::Count(*references),
        ]);
    }
    if !table.rows.is_empty() {
        document.section("Slots").push(Part::Table(table));
    }
    if let Some(tested) = &shapes.tested {
        let lists = [
            ("Not in the profile, so not tested", &tested.unknown),
            ("In the profile and not in the heap", &tested.absent),
        ];
        for (title, names) in lists.into_iter().filter(|it| !it.1.is_empty()) {
            document.section(title).push(Part::Names(Names {
                listed: names.clone(),
                left_out: 0,
            }));
        }
    }
}

fn name(structure: &Structure) -> String {
    match &structure.through {
        Some(through) => format!("{} through {through}", structure.class),
        None => structure.class.clone(),
    }
}
