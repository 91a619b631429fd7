//! `heaphound suspects`: shows what to look at first in a heap that is too large.

use std::path::{Path, PathBuf};

use heaphound_analysis::dominator::{DominatorTree, Dominators};
use heaphound_analysis::suspect::{self, Filling, Options, What};
use heaphound_heap::finding::{Finding, Severity};
use heaphound_heap::snapshot::Snapshot;
use heaphound_heap::view::HeapView;
use heaphound_report::Report;
use heaphound_report::suspects::{self, Suspect, Suspects};

use super::dominators::{share, share_of};
use crate::findings::Findings;
use crate::input;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::threads::threads;

/// Show what to look at first in a heap that is too large: where much accumulates.
///
/// An object is suspected that retains much while each object that it dominates retains little; objects
/// of one class that together retain much, and that no single object keeps; and threads whose stacks alone keep
/// much. Each is shown with a path from a root, the field through which the program holds it, and what
/// it consists of. A suspect is a note: one heap does not tell whether it is a fault.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound suspects app.hprof
  heaphound suspects app.hprof --min 5 --limit 10
  heaphound suspects app.hprof --min 30 --fail")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    heap: PathBuf,

    /// The share of the heap, in percent, from which on something is suspected.
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = share)]
    min: f64,

    /// How many suspects of each sort to show.
    #[arg(long, value_name = "N", default_value_t = 5)]
    limit: usize,

    /// Show all suspects.
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    /// Exit with 1 if there is a suspect: findings are warnings, not notes.
    #[arg(long)]
    fail: bool,

    #[command(flatten)]
    pub findings: Findings,
}

impl Args {
    pub fn heap(&self) -> &Path {
        &self.heap
    }
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    let heap = input::read_heap(&args.heap, progress)?;
    let found = progress.of("looking for dominators", || {
        Dominators::of(&heap, threads())
    })?;
    let heap_bytes = found.reached_bytes();
    // What retains nothing is not worth a look.
    let least_bytes = share_of(heap_bytes, args.min).max(1);
    let options = Options {
        least_bytes,
        most: if args.all { usize::MAX } else { args.limit },
        threads: threads(),
    };
    let list = progress.of("looking for suspects", || {
        suspect::suspects(&heap, &DominatorTree::of(&found), options)
    });
    let severity = match args.fail {
        true => Severity::Warning,
        false => Severity::Note,
    };
    let finding = |it| suspect::finding(&heap, it, heap_bytes, severity);
    let findings: Vec<Finding> = list.iter().map(finding).collect();
    let suspects = Suspects {
        heap_objects: found.reached() as u64,
        heap_bytes,
        least_bytes,
        list: list.iter().map(|it| described(&heap, it)).collect(),
    };
    Ok(Report::Suspects { suspects, findings })
}

fn described(heap: &Snapshot, suspect: &suspect::Suspect) -> Suspect {
    let (kind, name, count) = match &suspect.what {
        What::Accumulation(object) => ("accumulation", heap.name_of(*object), 1),
        What::Group { class, count } => {
            let name = heap.class(*class).name.clone();
            ("group", name, *count as u64)
        }
        What::Stack(thread) => ("stack", thread.clone(), 1),
    };
    let fillings = |all: &[Filling]| {
        let told = all.iter().map(|it| suspects::Filling {
            class: heap.class(it.class).name.clone(),
            objects: it.objects as u64,
            bytes: it.bytes,
        });
        told.collect()
    };
    Suspect {
        kind,
        name,
        count,
        retained_bytes: suspect.retained_bytes,
        retained_objects: suspect.objects as u64,
        through: suspect.holder.as_ref().map(|it| it.to_string()),
        holds: fillings(&suspect.filled_by),
        retains: fillings(&suspect.below),
    }
}
