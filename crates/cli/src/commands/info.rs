//! `heaphound info`: shows what a heap consists of.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::thread;

use clap::ValueEnum;
use heaphound_analysis::dominator::{DominatorTree, Dominators};
use heaphound_analysis::retained::{OfClass, exactly, least_by_class};
use heaphound_heap::probe::Probes;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_heap::{ClassId, ClassInfo, RootKind};
use heaphound_report::info::{Amount, Class, Info, Roots, SameName, Thread};
use heaphound_report::{Report, json};

use crate::input;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::threads::threads;

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
    let info = progress.of("counting", || info_of(&heap, args))?;
    Ok(Report::Info(info))
}

fn info_of(heap: &Snapshot, args: &Args) -> Result<Info, Problem> {
    // What there is can be counted while somebody finds out what lives.
    let (counted, live) = thread::scope(|scope| {
        let counted = scope.spawn(|| count(heap));
        let live = match args.retained {
            Retained::No => Ok(Live::traced(heap)),
            _ => Live::dominated(heap),
        };
        (counted.join(), live)
    });
    let (total, mut classes) = match counted {
        Ok(counted) => counted,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    let live = live?;
    for (class, of_class) in classes.iter_mut().zip(&live.classes) {
        class.reachable_objects = of_class.objects;
        let retained = live.dominators.as_ref().map(|_| of_class.retained_bytes);
        class.retained_bytes = retained;
    }
    let reachable = live.amount;
    let class_count = classes.len();
    let classes = heap.classes().iter().map(|it| it.id).zip(classes);
    let mut classes: Vec<(ClassId, Class)> = classes.filter(|it| it.1.objects > 0).collect();
    number_names(&mut classes);
    sort(&mut classes, args.sort);
    let limit = if args.all { usize::MAX } else { args.limit };
    let classes_left_out = classes.len().saturating_sub(limit);
    classes.truncate(limit);
    if let (Retained::Exact, Some(dominators)) = (args.retained, &live.dominators) {
        for (id, class) in &mut classes {
            let live = dominators.reached_bytes();
            class.retained_bytes = Some(exactly(heap, *id, live, threads()));
        }
        sort(&mut classes, args.sort);
    }
    Ok(Info {
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
    })
}

/// Distinguishes classes of one name by their order.
fn number_names(classes: &mut [(ClassId, Class)]) {
    let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
    for (_, class) in &*classes {
        counts.entry(class.name.clone()).or_default().1 += 1;
    }
    for (_, class) in classes {
        if let Some((nth, of @ 2..)) = counts.get_mut(&class.name) {
            *nth += 1;
            class.same_name = Some(SameName { nth: *nth, of: *of });
        }
    }
}

/// Counts all objects, garbage included, by class.
fn count(heap: &Snapshot) -> (Amount, Vec<Class>) {
    let mut total = Amount::default();
    let class = |class: &ClassInfo| Class {
        name: class.name.clone(),
        same_name: None,
        objects: 0,
        bytes: 0,
        reachable_objects: 0,
        retained_bytes: None,
    };
    let mut classes: Vec<Class> = heap.classes().iter().map(class).collect();
    for object in heap.objects() {
        let bytes = heap.bytes_of(object) as u64;
        let class = &mut classes[heap.class_of(object).0 as usize - 1];
        class.objects += 1;
        class.bytes = class.bytes.saturating_add(bytes);
        total.add(bytes);
    }
    (total, classes)
}

/// What lives.
struct Live {
    amount: Amount,
    /// In the order of class ids.
    classes: Vec<OfClass>,
    /// If what is retained was wanted.
    dominators: Option<Dominators>,
}

impl Live {
    fn dominated(heap: &Snapshot) -> Result<Self, Problem> {
        let dominators = Dominators::of(heap, threads())?;
        let classes = least_by_class(heap, &DominatorTree::of(&dominators), threads());
        let amount = Amount {
            objects: dominators.reached(),
            bytes: dominators.reached_bytes(),
        };
        Ok(Self {
            amount,
            classes,
            dominators: Some(dominators),
        })
    }

    fn traced(heap: &Snapshot) -> Self {
        let mut amount = Amount::default();
        let mut classes = vec![OfClass::default(); heap.classes().len()];
        for object in Probes::of(heap).reach_all().iter() {
            amount.add(heap.bytes_of(object) as u64);
            classes[heap.class_of(object).0 as usize - 1].objects += 1;
        }
        Self {
            amount,
            classes,
            dominators: None,
        }
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
