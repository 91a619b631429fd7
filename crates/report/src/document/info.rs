//! What a heap consists of.

use super::{Branch, Cell, Document, Part, Table, Tree};
use crate::figures::{count, size};
use crate::info::{Class, Info};

pub(super) fn put(document: &mut Document, info: &Info) {
    document.fact("live", size(info.reachable.bytes));
    document.fact("live objects", count(info.reachable.objects as u64));
    document.fact("garbage", size(info.unreachable.bytes));
    document.fact("edges", count(info.edges as u64));
    document.fact("classes", count(info.class_count as u64));
    if !info.classes.is_empty() {
        let section = document.section("Where the bytes are");
        section.push(Part::Treemap(areas(info)));
    }
    document.section("Classes").push(Part::Table(classes(info)));
    let mut roots = Table::new(["kind of root", "count"]);
    for it in &info.roots {
        roots.row([Cell::name(it.kind), Cell::Count(it.count as u64)]);
    }
    document.section("Roots").push(Part::Table(roots));
    if !info.threads.is_empty() {
        let mut threads = Table::new(["thread", "stack roots", "thread object"]);
        for it in &info.threads {
            let object = it.object.clone().map_or(Cell::Empty, Cell::Name);
            let roots = Cell::Count(it.stack_roots as u64);
            threads.row([Cell::name(&it.name), roots, object]);
        }
        document.section("Threads").push(Part::Table(threads));
    }
}

fn classes(info: &Info) -> Table {
    let mut titles = vec!["class", "bytes", "of all", "objects", "reachable"];
    match info.retained {
        Some("exact") => titles.push("retained"),
        Some(_) => titles.push("retained ≥"),
        None => {}
    }
    let mut table = Table::new(titles);
    for it in &info.classes {
        let mut cells = vec![
            Cell::name(&it.name),
            Cell::Count(it.bytes),
            Cell::share(it.bytes, info.total.bytes),
            Cell::Count(it.objects as u64),
            Cell::Count(it.reachable_objects as u64),
        ];
        if info.retained.is_some() {
            cells.push(it.retained_bytes.map_or(Cell::Empty, Cell::Count));
        }
        table.row(cells);
    }
    table.left_out = info.classes_left_out as u64;
    table
}

/// Returns the classes as areas.
fn areas(info: &Info) -> Tree {
    let branch = |it: &Class| Branch {
        name: it.name.clone(),
        detail: format!("{} objects", count(it.objects as u64)),
        bytes: it.bytes,
        ..Branch::default()
    };
    let listed: u64 = info
        .classes
        .iter()
        .fold(0, |sum, it| sum.saturating_add(it.bytes));
    let rest = info.total.bytes.saturating_sub(listed);
    Tree {
        title: "Classes by bytes, garbage included".into(),
        bytes: info.total.bytes,
        nodes: info.classes.iter().map(branch).collect(),
        left_out: (info.classes_left_out > 0).then_some((info.classes_left_out as u64, rest)),
    }
}
