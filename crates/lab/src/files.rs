//! Rules about heaps in files: what checking five of them takes, in times of loading the heap.
//!
//! The heap is a table of chained entries, a sorted list and a tree with parents, its objects in no order. Of
//! the rules two are about all objects of a class and three about what is reachable from somewhere; one of each fails,
//! for one object, to which a path is shown.

use std::path::Path;
use std::time::{Duration, Instant};

use heaphound::deal::bind::Binder;
use heaphound::deal::check::{Scope, compile_rules};
use heaphound::deal::evaluate::Evaluation;
use heaphound::deal::verdict::Verdict;
use heaphound::file::{Format, read_file, write_file};
use heaphound::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind, Snapshot, view::Value};
use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{ObjectId, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{Root, RootKind};

use crate::measure::interleave;
use crate::programs::Random;
use crate::report::Report;
use crate::{Failed, Options, Progress};

pub(crate) fn run(options: &Options, progress: Progress<'_>) -> Result<Report, Failed> {
    let (objects, rounds) = match options.quick {
        true => (200_000, 3),
        false => (2_000_000, 9),
    };
    let mut report = Report::new("files");
    measure(&mut report, objects, rounds, progress)?;
    Ok(report)
}

/// The rules, and whether each holds.
const RULES: &[(&str, bool)] = &[
    (
        "rule parents: assertion(forall Tree x: reach[static:tree](x) -> x.left.parent == x && x.right.parent == x);",
        true,
    ),
    (
        "rule sorted: assertion(forall Node x: reach[static:list](x) -> x.data <= x.next.data);",
        false,
    ),
    (
        "rule private: assertion(forall Order x: !reach[/static:table](x));",
        true,
    ),
    (
        "rule owners: assertion(forall Entry x: x.order.entry == x);",
        true,
    ),
    (
        "rule amounts: assertion(forall Order x: x.amount > 0);",
        false,
    ),
];

fn measure(
    report: &mut Report,
    objects: usize,
    rounds: usize,
    progress: Progress<'_>,
) -> Result<(), Failed> {
    progress("a heap, and a file of it");
    let name = format!("heaphound-lab-{}.hhs", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = Temporary(&path);
    write_file(file.0, &build(objects)?, Format::Binary, &mut |_, _| {})?;
    progress("loading, and checking five rules");
    let text: String = RULES.iter().map(|it| format!("{}\n", it.0)).collect();
    let load = || read_file(file.0, &mut |_, _| {});
    let heap = load()?;
    let mut each: Vec<Box<dyn FnMut() -> Duration>> = vec![Box::new(|| {
        let begin = Instant::now();
        let heap = load().expect("it was read before");
        let time = begin.elapsed();
        drop(heap);
        time
    })];
    each.push(Box::new(|| {
        let begin = Instant::now();
        let held = check(&heap, &text);
        let time = begin.elapsed();
        let expected: Vec<bool> = RULES.iter().map(|it| it.1).collect();
        assert_eq!(held, expected, "rules hold that do, and fail that do not");
        time
    }));
    let mut each: Vec<&mut dyn FnMut() -> Duration> =
        each.iter_mut().map(|it| &mut **it as _).collect();
    let taken = interleave(rounds, &mut each);
    let (low, high) = taken.spread(1, 0);
    report.lower("files.rules_vs_load", None, taken.ratio(1, 0), "×");
    report.note(format!(
        "{} objects: loading takes {:.0} ms, checking five rules {:.0} ms on {} threads; {rounds} rounds, half of the \
         ratios lie between {low:.2} and {high:.2}",
        heap.len(),
        taken.median(0) * 1e3,
        taken.median(1) * 1e3,
        heaphound_heap::crew::cores().min(16),
    ));
    Ok(())
}

/// A file that is gone when this is.
struct Temporary<'p>(&'p Path);

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // Nothing depends on it.
        let _ = std::fs::remove_file(self.0);
    }
}

/// Checks rules as `heaphound check` does. Returns which hold.
fn check(heap: &Snapshot, text: &str) -> Vec<bool> {
    let scope = Scope::new(heap.classes());
    let resolved = compile_rules("rules", text, &scope).expect("they are well formed");
    let bindings = Binder::of(heap).bind_present(&resolved);
    let judged = Evaluation::new(heap, &resolved, text, &bindings).note_unknown_values();
    let judged = judged.run().into_iter();
    let holds = judged.map(|it| match it.verdict {
        Verdict::Holds => true,
        Verdict::Fails(finding) => {
            assert_eq!((finding.objects.len(), finding.evidence.len()), (1, 1));
            false
        }
        other => panic!("{other:?}"),
    });
    holds.collect()
}

/// The classes, in the order of their ids.
fn classes() -> Vec<ClassInfo> {
    let number = FieldKind::Plain(PlainKind::I64);
    let slot = FieldKind::Opt;
    let all: [(&str, &[(&str, FieldKind)]); 6] = [
        ("Table", &[("buckets", slot)]),
        ("Entry[]", &[]),
        (
            "Entry",
            &[("next", slot), ("order", slot), ("hash", number)],
        ),
        ("Order", &[("entry", slot), ("amount", number)]),
        ("Node", &[("next", slot), ("data", number)]),
        ("Tree", &[("left", slot), ("right", slot), ("parent", slot)]),
    ];
    type Fields<'s> = &'s [(&'s str, FieldKind)];
    let class = |(id, (name, fields)): (u32, (&str, Fields<'_>))| ClassInfo {
        id: ClassId(id),
        name: name.into(),
        superclass: None,
        interfaces: Vec::new(),
        is_interface: false,
        fields: fields
            .iter()
            .enumerate()
            .map(|(at, &(name, kind))| FieldInfo {
                name: name.into(),
                offset: 8 + 8 * at as u32,
                kind,
            })
            .collect(),
        elements: (name == "Entry[]").then_some(Elements::Refs),
        caption: None,
    };
    (1..).zip(all).map(class).collect()
}

const TABLE: ClassId = ClassId(1);
const ENTRIES: ClassId = ClassId(2);
const ENTRY: ClassId = ClassId(3);
const ORDER: ClassId = ClassId(4);
const NODE: ClassId = ClassId(5);
const TREE: ClassId = ClassId(6);

/// What an object of the heap is.
#[derive(Clone, Copy)]
enum Is {
    Entry(usize),
    Order(usize),
    Node(usize),
    Tree(usize),
}

/// Builds the heap.
fn build(objects: usize) -> Result<Snapshot, Failed> {
    // Of ten: three entries with their orders, two nodes, two branches.
    let (entries, nodes) = (objects * 3 / 10, objects * 2 / 10);
    let branches = objects - 2 * entries - nodes;
    let buckets = entries / 15 + 1;
    let mut all: Vec<Is> = (0..entries).map(Is::Entry).collect();
    all.extend((0..entries).map(Is::Order));
    all.extend((0..nodes).map(Is::Node));
    all.extend((0..branches).map(Is::Tree));
    let mut random = Random::new(18);
    for last in (1..all.len()).rev() {
        all.swap(last, random.index(last + 1));
    }
    // Behind the table and its array.
    let mut entry = vec![0u32; entries];
    let mut order = vec![0u32; entries];
    let mut node = vec![0u32; nodes];
    let mut tree = vec![0u32; branches];
    for (id, is) in (2..).zip(&all) {
        match *is {
            Is::Entry(at) => entry[at] = id,
            Is::Order(at) => order[at] = id,
            Is::Node(at) => node[at] = id,
            Is::Tree(at) => tree[at] = id,
        }
    }
    let mut heap = SnapshotBuilder::new(classes());
    let table = heap.add_object(TABLE, 16);
    heap.add_edge(Place::Field(0), ObjectId(1));
    heap.add_object(ENTRIES, 16 + 4 * buckets);
    heap.set_length(buckets as u32);
    // Entry i is in bucket i modulo their number, and leads to the next of it.
    for (bucket, &first) in entry.iter().enumerate().take(buckets) {
        heap.add_edge(Place::Element(bucket as u32), ObjectId(first));
    }
    for is in &all {
        let to = |ids: &[u32], at: usize| ids.get(at).map(|&id| ObjectId(id));
        let (class, slots, number) = match *is {
            Is::Entry(at) => {
                let slots = [to(&entry, at + buckets), to(&order, at), None];
                (ENTRY, slots, Some((2, at as i64)))
            }
            Is::Order(at) => {
                // The one of them that is not positive.
                let amount = if at == entries / 2 { 0 } else { at as i64 + 1 };
                (ORDER, [to(&entry, at), None, None], Some((1, amount)))
            }
            Is::Node(at) => {
                let data = if at == nodes / 2 { nodes + 1 } else { at } as i64;
                (NODE, [to(&node, at + 1), None, None], Some((1, data)))
            }
            Is::Tree(at) => {
                let parent = (at > 0).then(|| (at - 1) / 2);
                let slots = [
                    to(&tree, 2 * at + 1),
                    to(&tree, 2 * at + 2),
                    parent.and_then(|at| to(&tree, at)),
                ];
                (TREE, slots, None)
            }
        };
        heap.add_object(class, 32);
        for (place, to) in (0..).zip(slots) {
            if let Some(to) = to {
                heap.add_edge(Place::Field(place), to);
            }
        }
        if let Some((field, value)) = number {
            heap.set_value(field, Value::Signed(value))?;
        }
    }
    let mut root = |name: &str, object| heap.add_root(Root::new(RootKind::Static, name), object);
    root("table", table);
    root("list", ObjectId(node[0]));
    root("tree", ObjectId(tree[0]));
    Ok(heap.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_about_a_small_file_are_checked_and_measured() {
        let mut report = Report::new("files");
        measure(&mut report, 2_000, 1, &mut |_| {}).unwrap();
        let ids: Vec<&str> = report.rows.iter().map(|it| it.id.as_str()).collect();
        assert_eq!(ids, ["files.rules_vs_load"]);
        assert!(report.notes[0].starts_with("2002 objects"));
    }
}
