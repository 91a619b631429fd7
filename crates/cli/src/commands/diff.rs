//! `heaphound diff`: shows how two heaps of one program differ.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use heaphound_analysis::diff::{Counts, Difference, Known};
use heaphound_analysis::dominator::Dominators;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_report::Report;
use heaphound_report::diff::{Class, Diff, New, NewObject, Total};

use crate::input;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::threads::threads;

/// Show how two heaps of one program differ: classes by objects, bytes and retained bytes, and objects that are
/// new where names are stable.
///
/// Only what lives is counted. With three heaps or more, `grow` tells growth from noise.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound diff monday.hhs tuesday.hhs
  heaphound diff before.hprof after.hprof --sort retained --limit 50")]
pub struct Args {
    /// The earlier heap.
    before: PathBuf,

    /// The later heap; `-` is stdin.
    heap: PathBuf,

    /// How the classes are sorted: what has grown most comes first.
    #[arg(long, value_name = "BY", default_value = "bytes")]
    sort: Sort,

    /// How many classes and new objects to list.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// List all classes and new objects.
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

impl Args {
    /// Returns the later heap: what differs is told of it.
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

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    let (before, known) = {
        let (heap, found) = read(&args.before, progress)?;
        let counts = progress.of("counting", || Counts::of(&heap, &found));
        (counts, Known::of(&heap, &found))
    };
    let (heap, found) = read(&args.heap, progress)?;
    let after = progress.of("counting", || Counts::of(&heap, &found));
    let mut notes = Vec::new();
    let (common, fewest) = after.in_common(&before);
    if common * 2 < fewest {
        notes.push(format!(
            "these may be heaps of different programs: of {fewest} classes they have {common} in common"
        ));
    }
    let limit = if args.all { usize::MAX } else { args.limit };
    let new = known.and_then(|it| it.new_in(&heap, &found));
    let new = new.map(|it| describe_new(&heap, &found, it, limit));
    if new.is_none() {
        notes.push(
            "objects have no names that both heaps know, so that new ones cannot be told".into(),
        );
    }
    let mut classes = after.since(&before);
    sort(&mut classes, args.sort);
    let classes_left_out = classes.len().saturating_sub(limit);
    classes.truncate(limit);
    let total = |path: &Path, counts: &Counts| Total {
        file: path.display().to_string(),
        objects: counts.total.objects,
        bytes: counts.total.bytes,
    };
    Ok(Report::Diff(Diff {
        before: total(&args.before, &before),
        after: total(&args.heap, &after),
        classes: classes.into_iter().map(class).collect(),
        classes_left_out,
        new,
        notes,
    }))
}

fn read(path: &Path, progress: &Progress) -> Result<(Snapshot, Dominators), Problem> {
    let heap = input::read_heap(path, progress)?;
    let found = progress.of("looking for dominators", || {
        Dominators::of(&heap, threads())
    })?;
    Ok((heap, found))
}

fn sort(classes: &mut [Difference], by: Sort) {
    let more = |before: u64, after: u64| i128::from(after) - i128::from(before);
    let key = |it: &Difference| match by {
        Sort::Bytes => more(it.before.bytes, it.after.bytes),
        Sort::Count => more(it.before.objects, it.after.objects),
        Sort::Retained => more(it.before.retained_bytes, it.after.retained_bytes),
        Sort::Name => 0,
    };
    // Stable: they come in the order of their names.
    classes.sort_by_key(|it| std::cmp::Reverse(key(it)));
}

fn class(it: Difference) -> Class {
    Class {
        name: it.class,
        objects_before: it.before.objects,
        objects_after: it.after.objects,
        bytes_before: it.before.bytes,
        bytes_after: it.after.bytes,
        retained_before: it.before.retained_bytes,
        retained_after: it.after.retained_bytes,
    }
}

fn describe_new(
    heap: &Snapshot,
    found: &Dominators,
    mut objects: Vec<ObjectId>,
    limit: usize,
) -> New {
    let bytes = objects.iter().map(|it| heap.bytes_of(*it) as u64);
    let bytes = bytes.fold(0, u64::saturating_add);
    let count = objects.len();
    objects.sort_by_key(|it| (std::cmp::Reverse(found.retained_bytes(*it)), *it));
    objects.truncate(limit);
    let listed = objects.iter().map(|&it| NewObject {
        name: heap.name_of(it),
        caption: heap.caption_of(it),
        retained_bytes: found.retained_bytes(it),
    });
    New {
        objects: count as u64,
        bytes,
        listed: listed.collect(),
        left_out: (count - objects.len()) as u64,
    }
}
