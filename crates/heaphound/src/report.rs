//! What a heap has seen so far, as a page for a browser: findings with their paths, how full the heap was, pauses, classes, where
//! objects are allocated and what survives, what was pruned. With the feature `report`.
//!
//! ```
//! use heaphound::{Heap, Sampling, report};
//!
//! let heap = Heap::builder().sampling(Sampling::every(64)).build()?;
//! let mut m = heap.attach("main")?;
//! m.collect();
//! let page = report::html(&heap, "shop");
//! assert!(page.starts_with("<!doctype html>"));
//! // std::fs::write("shop.html", page)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Elsewhere: how it looks (`heaphound_report`).

use heaphound_analysis::cork::{Candidate, Cause};
use heaphound_analysis::summary::ClassTotal;
use heaphound_gc::{AllocationSite, CollectionStats, Heap, HeapStats, HeapSummary, Kind, Pruned};
use heaphound_heap::ClassId;
use heaphound_heap::finding::{Finding, Severity};
use heaphound_report::document::{
    Axis, Branch, Cell, Chart, ClassGraph, Graph, Line, Part, Section, Table, Tone, Tree,
};
use heaphound_report::figures::{count, objects, size};
pub use heaphound_report::{document, html as page};

use self::document::Document;
use crate::GrowthWatch;

/// Returns what a heap has seen so far as an HTML file that needs nothing else.
pub fn html(heap: &Heap, title: &str) -> String {
    page::document(&self::document(heap, title))
}

/// Returns what a heap has seen so far, for a program that adds sections of its own before it writes the page
/// ([`page::document`]).
pub fn document(heap: &Heap, title: &str) -> Document {
    let mut document = Document::new(title, "a run on heaphound's heap");
    let stats = heap.stats();
    put_findings(&mut document, heap);
    put_facts(&mut document, &stats);
    if !stats.history.is_empty() {
        document.sections.push(occupancy(&stats));
    }
    if let Some(summary) = heap.summary() {
        document.sections.push(classes(&summary));
    }
    let sites = heap.sites();
    if sites.iter().any(|it| it.samples > 0) {
        document.sections.push(survival(&sites));
    }
    let pruned = heap.pruned();
    if !pruned.is_empty() {
        document.sections.push(receipts(&pruned));
    }
    if !stats.history.is_empty() {
        document.sections.push(collections(&stats));
    }
    document
}

fn section(title: &str, parts: Vec<Part>) -> Section {
    Section {
        title: title.into(),
        parts,
    }
}

/// Puts what stands and is not suppressed.
fn put_findings(document: &mut Document, heap: &Heap) {
    let standing = heap.findings().into_iter();
    let standing = standing.filter(|it| it.suppressed.is_none() && it.withdrawn.is_none());
    let findings: Vec<Finding> = standing.map(|it| it.finding).collect();
    let worst = findings.iter().map(|it| it.severity).max();
    let tone = match worst {
        None => Tone::Good,
        Some(Severity::Note) => Tone::Plain,
        Some(Severity::Warning) => Tone::Warning,
        Some(Severity::Error) => Tone::Bad,
    };
    let text = match findings.len() {
        0 => "nothing was found".to_string(),
        1 => "1 finding".to_string(),
        many => format!("{} findings", count(many as u64)),
    };
    document.headline(tone, text);
    if !findings.is_empty() {
        let findings = vec![Part::Findings(findings)];
        document.sections.push(section("Findings", findings));
    }
}

fn put_facts(document: &mut Document, stats: &HeapStats) {
    if let Some(last) = stats.history.back() {
        document.fact("allocated", size(last.allocated_bytes));
        document.fact("in use at last", size(last.used_bytes as u64));
    }
    document.fact("full collections", count(stats.full_collections));
    if stats.nursery_collections > 0 {
        document.fact("nursery collections", count(stats.nursery_collections));
    }
    document.fact(
        "stopped in all",
        milliseconds(stats.total_pause.as_secs_f64()),
    );
    document.fact(
        "longest pause",
        milliseconds(stats.longest_pause.as_secs_f64()),
    );
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.1} ms", seconds * 1e3)
}

/// Returns how full the heap was, over what the program allocated.
pub fn occupancy(stats: &HeapStats) -> Section {
    let line = |name: &str, kind: Option<Kind>, bytes: &dyn Fn(&CollectionStats) -> usize| Line {
        name: name.into(),
        points: stats
            .history
            .iter()
            .filter(|it| kind.is_none_or(|kind| it.kind == kind))
            .map(|it| (it.allocated_bytes as f64, bytes(it) as f64))
            .collect(),
        breaks_off: false,
    };
    let mut lines = vec![
        line("memory in use", None, &|it| it.heap_bytes),
        line("objects in use", None, &|it| it.used_bytes),
        line("live at full collections", Some(Kind::Full), &|it| {
            it.marked_bytes
        }),
    ];
    lines.retain(|it| !it.points.is_empty());
    let chart = Chart {
        title: "After each collection, over the bytes that the program had allocated".into(),
        x: Axis::bytes("allocated"),
        y: Axis::bytes("in use"),
        lines,
        limit: None,
    };
    section("How full the heap was", vec![Part::Chart(chart)])
}

/// Returns the classes of the last summary.
fn classes(summary: &HeapSummary) -> Section {
    let name = |class: ClassId| summary.classes[class.0 as usize - 1].name.clone();
    let all = summary.summary.volume_bytes();
    let mut classes: Vec<_> = summary
        .summary
        .classes()
        .filter(|it| it.1.objects > 0)
        .collect();
    classes.sort_by_key(|it| std::cmp::Reverse(it.1.volume_bytes));
    let mut table = Table::new(["class", "bytes", "of all", "objects", "roots"]);
    for (class, total) in &classes {
        table.row([
            Cell::Name(name(*class)),
            Cell::Count(total.volume_bytes),
            Cell::share(total.volume_bytes, all),
            Cell::Count(total.objects),
            Cell::Count(total.roots),
        ]);
    }
    let branch = |it: &(ClassId, ClassTotal)| Branch {
        name: name(it.0),
        detail: objects(it.1.objects),
        bytes: it.1.volume_bytes,
        ..Branch::default()
    };
    let tree = Tree {
        title: "Classes by live bytes, at the last summary".into(),
        bytes: all,
        nodes: classes.iter().map(branch).collect(),
        left_out: None,
    };
    section("Classes", vec![Part::Treemap(tree), Part::Table(table)])
}

/// Returns what has grown and what holds it, as the last full collection saw it: how full the heap was, and a graph for each
/// structure that grows.
pub fn growth(watch: &GrowthWatch, heap: &Heap) -> Section {
    let points = |it: &(u64, u64)| (it.0 as f64, it.1 as f64);
    let live = Line {
        name: "live".into(),
        points: watch.occupancy().iter().map(points).collect(),
        breaks_off: false,
    };
    let mut parts = vec![Part::Chart(Chart {
        title: "Live bytes, over the bytes that the program had allocated".into(),
        x: Axis::bytes("allocated"),
        y: Axis::bytes("live"),
        lines: vec![live],
        limit: None,
    })];
    if let Some(summary) = heap.summary() {
        let candidates = watch.candidates();
        let graphs = watch.causes();
        let graphs = graphs.iter().map(|it| slice(it, &candidates, &summary));
        parts.extend(graphs.map(Part::Graph));
    }
    section("What grows", parts)
}

/// Returns what holds a structure that grows, as a graph.
fn slice(cause: &Cause, candidates: &[Candidate], summary: &HeapSummary) -> Graph {
    let classes = &summary.classes;
    let name = |class: ClassId| &classes[class.0 as usize - 1].name;
    let detail = |class: &str| {
        let Some(class) = summary.class(class) else {
            return String::new();
        };
        let total = summary.summary.class(class.id);
        format!("{}, {}", objects(total.objects), size(total.volume_bytes))
    };
    let (class, bytes) = cause.classes[0];
    let title = format!("{} has grown by {}", name(class), size(bytes));
    let mut graph = ClassGraph::new(title, &detail);
    graph.path(&cause.path);
    for edge in cause.edges(candidates, classes, &summary.slots) {
        graph.edge(&edge.from, &edge.to, &edge.slots);
    }
    for (class, _) in &cause.classes {
        graph.stands_out(name(*class));
    }
    graph.finish()
}

/// Returns where objects are allocated, and which part survives. Estimates, from samples.
pub fn survival(sites: &[AllocationSite]) -> Section {
    let mut table = Table::new([
        "site",
        "class",
        "live",
        "allocated",
        "survives its first collection",
        "samples",
        "",
    ]);
    for it in sites {
        table.row([
            Cell::Name(it.to_string()),
            Cell::name(&it.class),
            Cell::Count(it.live_bytes),
            Cell::Count(it.allocated_bytes),
            it.survival().map_or(Cell::Empty, Cell::Share),
            Cell::Count(it.samples),
            match it.is_pretenured {
                true => Cell::Text("pretenured".into()),
                false => Cell::Empty,
            },
        ]);
    }
    let text = "Bytes are estimated from samples.".into();
    section(
        "Survival by site",
        vec![Part::Text(text), Part::Table(table)],
    )
}

/// Returns what leak pruning has pruned.
pub fn receipts(pruned: &[Pruned]) -> Section {
    let mut table = Table::new([
        "references",
        "cut",
        "objects freed",
        "bytes freed",
        "times",
        "first collection",
        "last",
    ]);
    for it in pruned {
        let (first, last) = it.collections();
        table.row([
            Cell::Name(it.to_string()),
            Cell::Count(it.references() as u64),
            Cell::Count(it.objects() as u64),
            Cell::Count(it.bytes() as u64),
            Cell::Count(it.times()),
            Cell::Count(first),
            Cell::Count(last),
        ]);
    }
    let mut parts = vec![Part::Table(table)];
    if let Some(averted) = pruned.iter().find_map(Pruned::averted) {
        parts.push(Part::Note(format!("averted: {averted}")));
    }
    section("Pruning receipts", parts)
}

/// Collections that are listed.
const MOST_COLLECTIONS: usize = 200;

fn collections(stats: &HeapStats) -> Section {
    let mut table = Table::new([
        "number",
        "kind",
        "cause",
        "pause, ms",
        "live or survived",
        "freed",
        "in use",
        "allocated",
    ]);
    for it in stats.history.iter().rev().take(MOST_COLLECTIONS) {
        let pause = it.pause.as_secs_f64() * 1e3;
        table.row([
            Cell::Count(it.number),
            Cell::Text(it.kind.to_string()),
            Cell::Text(it.cause.to_string()),
            Cell::Figure(format!("{pause:.2}"), pause),
            Cell::Count(it.marked_bytes as u64),
            Cell::Count(it.freed_bytes as u64),
            Cell::Count(it.used_bytes as u64),
            Cell::Count(it.allocated_bytes),
        ]);
    }
    let all = stats.full_collections + stats.nursery_collections;
    table.left_out = all.saturating_sub(table.rows.len() as u64);
    section("Collections, the last first", vec![Part::Table(table)])
}
