//! What grows from snapshot to snapshot.

use heaphound_heap::finding::Finding;

use super::report::{put_findings, tone_of};
use super::{Axis, Cell, Chart, Document, Line, Part, Table, Tone};
use crate::figures::{change, size};
use crate::growth::{Differences, Growth};

pub(super) fn put(document: &mut Document, growth: &Growth, findings: &[Finding]) {
    let all = growth.snapshots.len();
    let tone = match findings {
        [] => Tone::Good,
        findings => tone_of(findings),
    };
    let text = match findings.len() {
        0 => format!("nothing grows in {all} snapshots"),
        1 => format!("1 structure grows in {all} snapshots"),
        many => format!("{many} structures grow in {all} snapshots"),
    };
    document.headline(tone, text);
    if let (Some(first), Some(last)) = (growth.snapshots.first(), growth.snapshots.last()) {
        document.title = format!("{} → {}", first.file, last.file);
        document.fact("live at first", size(first.bytes));
        document.fact("live at last", size(last.bytes));
        document.fact("bytes", change(first.bytes, last.bytes));
        document.fact("objects", change(first.objects, last.objects));
    }
    put_findings(document, findings);
    if !growth.slices.is_empty() {
        let section = document.section("What holds the growth");
        for slice in &growth.slices {
            section.push(Part::Graph(slice.clone()));
        }
    }
    let section = document.section("Live bytes from snapshot to snapshot");
    section.push(Part::Chart(chart(growth)));
    section.push(Part::Table(snapshots(growth)));
    if !growth.close.is_empty() {
        let mut table = Table::new(["class", "before", "after", "more", "why it is not reported"]);
        for it in &growth.close {
            table.row([
                Cell::name(&it.name),
                Cell::Count(it.bytes_before),
                Cell::Count(it.bytes_after),
                Cell::Change(it.bytes_before, it.bytes_after),
                Cell::Text(it.reason.clone()),
            ]);
        }
        let section = document.section("Close: has grown, and is not reported");
        section.push(Part::Table(table));
    }
    if let Some(differences) = &growth.differences {
        let file = |number: usize| &growth.snapshots[number - 1].file;
        let title = format!("{} → {}", file(differences.from), file(differences.to));
        let section = document.section(title);
        section.push(Part::Table(classes(differences)));
    }
}

fn chart(growth: &Growth) -> Chart {
    let line = |name: &str, bytes: &mut dyn Iterator<Item = u64>| Line {
        name: name.into(),
        points: (1..)
            .zip(bytes)
            .map(|(x, y): (u32, u64)| (x.into(), y as f64))
            .collect(),
        breaks_off: false,
    };
    let mut lines = vec![line("all", &mut growth.snapshots.iter().map(|it| it.bytes))];
    for course in &growth.courses {
        lines.push(line(&course.class, &mut course.bytes.iter().copied()));
    }
    Chart {
        title: "Live bytes of the heap, and of the classes that grow".into(),
        x: Axis::count("snapshot"),
        y: Axis::bytes("live"),
        lines,
        limit: None,
    }
}

fn snapshots(growth: &Growth) -> Table {
    let mut table = Table::new(["snapshot", "file", "bytes", "objects"]);
    for (number, it) in (1..).zip(&growth.snapshots) {
        table.row([
            Cell::Count(number),
            Cell::name(&it.file),
            Cell::Count(it.bytes),
            Cell::Count(it.objects),
        ]);
    }
    table
}

fn classes(differences: &Differences) -> Table {
    let mut table = Table::new(["class", "bytes", "then", "more", "objects", "then", "more"]);
    for it in &differences.classes {
        table.row([
            Cell::name(&it.name),
            Cell::Count(it.bytes_before),
            Cell::Count(it.bytes_after),
            Cell::Change(it.bytes_before, it.bytes_after),
            Cell::Count(it.objects_before),
            Cell::Count(it.objects_after),
            Cell::Change(it.objects_before, it.objects_after),
        ]);
    }
    table.left_out = differences.classes_left_out as u64;
    table
}
