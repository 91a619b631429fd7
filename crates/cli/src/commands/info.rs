//! `heaphound info`: shows what a heap consists of.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use heaphound_analysis::dominator::{DominatorTree, Dominators};
use heaphound_analysis::retained::{exactly, least_by_class};
use heaphound_heap::probe::Probes;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_heap::{ClassId, ClassInfo, RootKind};
use heaphound_report::info::{Amount, Class, Info, Roots, Thread};
use heaphound_report::{Report, json};

use crate::cores::cores;
use crate::input;
use crate::problem::Problem;
use crate::progress::Progress;

/// Show what a heap consists of: objects, classes with what they take and retain, roots, threads.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound info shop.hhs
  heaphound info shop.hhs --sort count --limit 5
  heaphound info shop.hhs --sort retained --retained exact
  heaphound info shop.hhs --retained no --all")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    heap: PathBuf,

    /// How the classes are sorted.
    #[arg(long, value_name = "BY", default_value = "bytes")]
    sort: Sort,

    /// How many classes to list.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// List all classes.
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    /// Whether to tell what the instances of a class retain together: no; the least that it can be,
    /// from what each instance retains alone; or exactly, which takes a trace for each class that is listed.
    #[arg(long, value_name = "HOW", default_value = "least")]
    retained: Retained,
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
    Retained,
    Name,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Retained {
    No,
    Least,
    Exact,
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    if matches!(args.sort, Sort::Retained) && args.retained == Retained::No {
        let reason = "classes cannot be sorted by what they retain if that is not wanted";
        return Err(Problem::new(reason).hint("leave out `--retained no`"));
    }
    let heap = input::read_edges(&args.heap, progress)?;
    let info = progress.of("counting", || info_of(&heap, args));
    Ok(Report::Info(info))
}

fn info_of(heap: &Snapshot, args: &Args) -> Info {
    let dominators = match args.retained {
        Retained::No => None,
        _ => Some(Dominators::of(heap, cores())),
    };
    let least = dominators.as_ref().map(|it| {
        let tree = DominatorTree::of(it);
        least_by_class(heap, &tree)
    });
    // Dominators know what lives.
    let is_live: Box<dyn Fn(ObjectId) -> bool> = match &dominators {
        Some(dominators) => Box::new(|it| dominators.is_reached(it)),
        None => {
            let live = Probes::of(heap).reach_all();
            let mut is_live = vec![false; heap.len()];
            live.iter().for_each(|it| is_live[it.0 as usize] = true);
            Box::new(move |it| is_live[it.0 as usize])
        }
    };
    let (mut total, mut reachable) = (Amount::default(), Amount::default());
    let class = |(place, class): (usize, &ClassInfo)| Class {
        name: class.name.clone(),
        objects: 0,
        bytes: 0,
        reachable_objects: 0,
        retained_bytes: least.as_ref().map(|it| it[place]),
    };
    let classes = heap.classes().iter().enumerate().map(class);
    let mut classes: Vec<Class> = classes.collect();
    for object in heap.objects() {
        let bytes = heap.bytes_of(object) as u64;
        let class = &mut classes[heap.class_of(object).0 as usize - 1];
        class.objects += 1;
        class.bytes = class.bytes.saturating_add(bytes);
        total.add(bytes);
        if is_live(object) {
            class.reachable_objects += 1;
            reachable.add(bytes);
        }
    }
    let class_count = classes.len();
    let classes = heap.classes().iter().map(|it| it.id).zip(classes);
    let mut classes: Vec<(ClassId, Class)> = classes.filter(|it| it.1.objects > 0).collect();
    sort(&mut classes, args.sort);
    let limit = if args.all { usize::MAX } else { args.limit };
    let classes_left_out = classes.len().saturating_sub(limit);
    classes.truncate(limit);
    if let (Retained::Exact, Some(dominators)) = (args.retained, &dominators) {
        for (id, class) in &mut classes {
            let live = dominators.reached_bytes();
            class.retained_bytes = Some(exactly(heap, *id, live, cores()));
        }
        sort(&mut classes, args.sort);
    }
    Info {
        total,
        reachable,
        unreachable: Amount {
            objects: total.objects - reachable.objects,
            bytes: total.bytes - reachable.bytes,
        },
        edges: heap.edges(),
        class_count,
        classes: classes.into_iter().map(|it| it.1).collect(),
        retained: match args.retained {
            Retained::No => None,
            Retained::Least => Some("least"),
            Retained::Exact => Some("exact"),
        },
        classes_left_out,
        roots: roots_of(heap),
        threads: threads_of(heap),
    }
}

fn sort(classes: &mut [(ClassId, Class)], by: Sort) {
    classes.sort_by(|a, b| a.1.name.cmp(&b.1.name));
    let key = |class: &Class| match by {
        Sort::Bytes => class.bytes,
        Sort::Count => class.objects as u64,
        Sort::Retained => class.retained_bytes.unwrap_or(0),
        Sort::Name => 0,
    };
    classes.sort_by_key(|(_, class)| std::cmp::Reverse(key(class)));
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
