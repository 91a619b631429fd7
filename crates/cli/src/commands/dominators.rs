//! `heaphound dominators`: shows what keeps how much alive, as a tree.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use heaphound_analysis::dominator::{DominatorTree, Dominators};
use heaphound_heap::ClassId;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_report::Report;
use heaphound_report::dominators::{self, Node, Rest};

use crate::input;
use crate::names::Names;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::threads::threads;

/// Show the tree of dominators: what each object keeps alive alone, largest first.
///
/// An object dominates another if every path from a root to the other passes it. What it dominates would be
/// freed if it went: its retained bytes.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound dominators shop.hhs
  heaphound dominators shop.hhs --by class --depth 5 --min 1
  heaphound dominators shop.hhs OrderTable#1 --limit 50
  heaphound dominators shop.hhs static:cache")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    heap: PathBuf,

    /// The object whose dominated objects are shown, if not those of the whole heap.
    object: Option<String>,

    /// What a line stands for: an object, or all objects of a class below the same line.
    #[arg(long, value_name = "WHAT", default_value = "object")]
    by: By,

    /// How many levels to show.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=200))]
    depth: u32,

    /// How many lines to list below each.
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,

    /// List all lines.
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    /// Leave out what retains less than this share of the heap, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = share)]
    min: f64,
}

impl Args {
    pub fn heap(&self) -> &Path {
        &self.heap
    }
}

/// Parses a share in percent.
pub fn share(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse();
    match number {
        Ok(share) if (0.0..=100.0).contains(&share) => Ok(share),
        _ => Err("a number from 0 to 100 is wanted".into()),
    }
}

/// Returns that share of a number of bytes, rounded up.
pub fn share_of(bytes: u64, percent: f64) -> u64 {
    (bytes as f64 * percent / 100.0).ceil() as u64
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Object,
    Class,
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    // Captions of objects are made of their values; classes have none.
    let heap = match args.by {
        By::Object => input::read_heap(&args.heap, progress)?,
        By::Class => input::read_edges(&args.heap, progress)?,
    };
    let names = Names::of(&heap);
    let object = args
        .object
        .as_ref()
        .map(|it| names.object(it))
        .transpose()?;
    let found = progress.of("looking for dominators", || {
        Dominators::of(&heap, threads())
    })?;
    if let Some(object) = object.filter(|it| !found.is_reached(*it)) {
        let reason = format!("no root leads to {}", heap.name_of(object));
        return Err(Problem::new(reason).hint("garbage has no dominators"));
    }
    let tree = DominatorTree::of(&found);
    let listing = Listing {
        heap: &heap,
        tree: &tree,
        depth: args.depth,
        limit: if args.all { usize::MAX } else { args.limit },
        least_bytes: share_of(found.reached_bytes(), args.min),
        class_of_name: class_of_name(&heap),
    };
    let (nodes, left_out) = match args.by {
        By::Object => listing.objects_below(object, 1),
        By::Class => listing.classes_below(tree.below(object).collect(), 1),
    };
    let above = object.into_iter().flat_map(|it| found.dominators(it));
    let from = object.into_iter().chain(above).map(|it| heap.name_of(it));
    Ok(Report::Dominators(dominators::Dominators {
        heap_objects: found.reached() as u64,
        heap_bytes: found.reached_bytes(),
        by: match args.by {
            By::Object => "object",
            By::Class => "class",
        },
        from: shortened(from.collect()),
        nodes,
        left_out,
    }))
}

/// The most dominators of an object that are listed.
const MOST_ABOVE: usize = 20;

/// Leaves out the middle of a long list.
fn shortened(mut names: Vec<String>) -> Vec<String> {
    if names.len() > MOST_ABOVE {
        let left_out = names.len() - MOST_ABOVE;
        let from = MOST_ABOVE / 2;
        names.splice(from..from + left_out, [format!("({left_out} more)")]);
    }
    names
}

/// How the tree is listed.
struct Listing<'t> {
    heap: &'t Snapshot,
    tree: &'t DominatorTree<'t>,
    depth: u32,
    limit: usize,
    least_bytes: u64,
    /// The first class of the name that each class has: those of one name are listed as one.
    class_of_name: Vec<ClassId>,
}

/// Returns the first class of the same name, for each class.
fn class_of_name(heap: &Snapshot) -> Vec<ClassId> {
    let mut first: HashMap<&str, ClassId> = HashMap::new();
    let classes = heap.classes().iter();
    classes
        .map(|it| *first.entry(&it.name).or_insert(it.id))
        .collect()
}

impl Listing<'_> {
    fn retained(&self, object: ObjectId) -> u64 {
        self.tree.dominators().retained_bytes(object)
    }

    /// Lists what an object dominates. No deeper than was asked for, so that this does not go deep.
    fn objects_below(&self, object: Option<ObjectId>, depth: u32) -> (Vec<Node>, Option<Rest>) {
        let mut below: Vec<(u64, ObjectId)> = self
            .tree
            .below(object)
            .map(|it| (self.retained(it), it))
            .collect();
        below.sort_unstable_by_key(|&(bytes, it)| (std::cmp::Reverse(bytes), it));
        let shown = below.partition_point(|it| it.0 >= self.least_bytes);
        let shown = shown.min(self.limit);
        let rest = rest(below[shown..].iter().map(|it| it.0));
        below.truncate(shown);
        let slots = self.slots(object, &below);
        let node = |(retained_bytes, it): (u64, ObjectId)| {
            let (below, left_out) = match depth < self.depth {
                true => self.objects_below(Some(it), depth + 1),
                false => (Vec::new(), None),
            };
            Node {
                name: self.heap.name_of(it),
                caption: self.heap.caption_of(it),
                slot: slots.get(&it).cloned(),
                count: 1,
                bytes: self.heap.bytes_of(it) as u64,
                retained_bytes,
                retained_objects: self.tree.dominators().retained_objects(it).into(),
                below,
                left_out,
            }
        };
        (below.into_iter().map(node).collect(), rest)
    }

    /// The first slot of an object that refers to each of those that are listed below it; for what nothing dominates,
    /// a root.
    fn slots(&self, from: Option<ObjectId>, to: &[(u64, ObjectId)]) -> HashMap<ObjectId, String> {
        let mut slots: HashMap<ObjectId, Option<String>> =
            to.iter().map(|it| (it.1, None)).collect();
        match from {
            Some(from) => self.heap.for_each_strong_edge(from, |place, to| {
                if let Some(slot @ None) = slots.get_mut(&to) {
                    *slot = Some(self.heap.slot_name(from, place));
                }
            }),
            None => self.heap.for_each_root(|root, to| {
                if let Some(slot @ None) = slots.get_mut(&to) {
                    *slot = Some(root.short());
                }
            }),
        }
        let known = slots.into_iter();
        known.filter_map(|(it, slot)| Some((it, slot?))).collect()
    }

    /// Lists objects by class, and what they dominate together in the same way.
    fn classes_below(&self, objects: Vec<ObjectId>, depth: u32) -> (Vec<Node>, Option<Rest>) {
        let mut classes: BTreeMap<ClassId, Vec<ObjectId>> = BTreeMap::new();
        for object in objects {
            let class = self.class_of_name[self.heap.class_of(object).0 as usize - 1];
            classes.entry(class).or_default().push(object);
        }
        let sum = |objects: &[ObjectId]| {
            let bytes = objects.iter().map(|it| self.retained(*it));
            bytes.fold(0, u64::saturating_add)
        };
        let classes = classes.into_iter().map(|(class, it)| (sum(&it), class, it));
        let mut classes: Vec<(u64, ClassId, Vec<ObjectId>)> = classes.collect();
        classes.sort_by_key(|it| (std::cmp::Reverse(it.0), it.1));
        let shown = classes.partition_point(|it| it.0 >= self.least_bytes);
        let shown = shown.min(self.limit);
        let rest = rest(classes[shown..].iter().map(|it| it.0));
        classes.truncate(shown);
        let node = |(retained_bytes, class, objects): (u64, ClassId, Vec<ObjectId>)| {
            let (count, bytes) = objects.iter().fold((0_u64, 0_u64), |(count, bytes), it| {
                let own = self.heap.bytes_of(*it) as u64;
                (
                    count + u64::from(self.tree.dominators().retained_objects(*it)),
                    bytes.saturating_add(own),
                )
            });
            let number = objects.len() as u64;
            let (below, left_out) = match depth < self.depth {
                true => {
                    let below = objects.into_iter().flat_map(|it| self.tree.below(Some(it)));
                    self.classes_below(below.collect(), depth + 1)
                }
                false => (Vec::new(), None),
            };
            Node {
                name: self.heap.class(class).name.clone(),
                caption: None,
                slot: None,
                count: number,
                bytes,
                retained_bytes,
                retained_objects: count,
                below,
                left_out,
            }
        };
        (classes.into_iter().map(node).collect(), rest)
    }
}

/// What is not listed, given what each retains.
fn rest(bytes: impl ExactSizeIterator<Item = u64>) -> Option<Rest> {
    let nodes = bytes.len() as u64;
    (nodes > 0).then(|| Rest {
        nodes,
        retained_bytes: bytes.fold(0, u64::saturating_add),
    })
}
