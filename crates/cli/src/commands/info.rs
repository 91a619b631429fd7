//! `heaphound info`: shows what a heap consists of.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use heaphound_heap::RootKind;
use heaphound_heap::probe::Probes;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_report::info::{Amount, Class, Info, Roots, Thread};
use heaphound_report::{Report, json};

use crate::input;
use crate::problem::Problem;
use crate::progress::Progress;

/// Show what a heap consists of: objects, classes, roots, threads.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound info shop.hhs
  heaphound info shop.hhs --sort count --limit 5")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    heap: PathBuf,

    /// How the classes are sorted.
    #[arg(long, value_name = "BY", default_value = "bytes")]
    sort: Sort,

    /// How many classes to list.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

impl Args {
    pub fn heap(&self) -> &Path {
        &self.heap
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Sort {
    Bytes,
    Count,
    Name,
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    let heap = input::read_heap(&args.heap, progress)?;
    let info = progress.of("counting", || info_of(&heap, args));
    Ok(Report::Info(info))
}

fn info_of(heap: &Snapshot, args: &Args) -> Info {
    let probes = Probes::of(heap);
    let live = probes.reach_all();
    let (mut total, mut reachable) = (Amount::default(), Amount::default());
    let mut classes: Vec<Class> = heap
        .classes()
        .iter()
        .map(|class| Class {
            name: class.name.clone(),
            objects: 0,
            bytes: 0,
            reachable_objects: 0,
        })
        .collect();
    let mut living = live.iter().peekable();
    for object in heap.objects() {
        let bytes = heap.bytes_of(object) as u64;
        let class = &mut classes[heap.class_of(object).0 as usize - 1];
        class.objects += 1;
        class.bytes = class.bytes.saturating_add(bytes);
        total.add(bytes);
        if living.next_if_eq(&object).is_some() {
            class.reachable_objects += 1;
            reachable.add(bytes);
        }
    }
    let class_count = classes.len();
    classes.retain(|class| class.objects > 0);
    classes.sort_by(|a, b| a.name.cmp(&b.name));
    match args.sort {
        Sort::Bytes => classes.sort_by_key(|class| std::cmp::Reverse(class.bytes)),
        Sort::Count => classes.sort_by_key(|class| std::cmp::Reverse(class.objects)),
        Sort::Name => {}
    }
    let classes_left_out = classes.len().saturating_sub(args.limit);
    classes.truncate(args.limit);
    Info {
        total,
        reachable,
        unreachable: Amount {
            objects: total.objects - reachable.objects,
            bytes: total.bytes - reachable.bytes,
        },
        edges: heap.edges(),
        class_count,
        classes,
        classes_left_out,
        roots: roots_of(heap),
        threads: threads_of(heap),
    }
}

fn roots_of(heap: &Snapshot) -> Vec<Roots> {
    let mut counts: BTreeMap<RootKind, usize> = BTreeMap::new();
    for (root, _) in heap.roots() {
        *counts.entry(root.kind).or_default() += 1;
    }
    let roots = counts.into_iter().map(|(kind, count)| Roots {
        kind: json::root_kind(kind),
        count,
    });
    roots.collect()
}

fn threads_of(heap: &Snapshot) -> Vec<Thread> {
    let mut stack_roots: HashMap<&str, usize> = HashMap::new();
    let mut objects: HashMap<&str, ObjectId> = HashMap::new();
    for (root, object) in heap.roots() {
        match root.kind {
            RootKind::ThreadStack => *stack_roots.entry(&root.name).or_default() += 1,
            RootKind::ThreadObject => {
                objects.entry(&root.name).or_insert(*object);
            }
            _ => {}
        }
    }
    let thread = |name: &String| Thread {
        name: name.clone(),
        stack_roots: stack_roots.get(name.as_str()).copied().unwrap_or_default(),
        object: objects
            .get(name.as_str())
            .map(|object| heap.name_of(*object)),
    };
    heap.threads().iter().map(thread).collect()
}
