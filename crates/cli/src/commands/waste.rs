//! `heaphound waste`: shows what a program could do without, and where it is.

use std::path::{Path, PathBuf};

use heaphound_analysis::dominator::Dominators;
use heaphound_analysis::waste;
use heaphound_heap::path::{Search, shortest_to_each};
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::trace::Traceable;
use heaphound_report::Report;
use heaphound_report::waste::{PlaceCount, Row, Section, Waste};

use crate::input;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::threads::threads;

/// Show what a program could do without, and where it is: duplicate strings, empty and sparse collections,
/// boxed numbers, arrays of one value; and what thread locals and class loaders hold.
///
/// Strings and arrays of plain data are compared only if the file has their contents.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound waste app.hprof
  heaphound waste app.hprof --limit 50
  heaphound waste app.hprof --json")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    heap: PathBuf,

    /// How many lines of each sort to list.
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,

    /// List all lines.
    #[arg(long, conflicts_with = "limit")]
    all: bool,
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
    let limit = if args.all { usize::MAX } else { args.limit };
    let sections = progress.of("looking for waste", || waste::waste(&heap, &found, limit));
    let sections = progress.of("looking for paths", || described(&heap, sections));
    Ok(Report::Waste(Waste {
        heap_objects: found.reached() as u64,
        heap_bytes: found.reached_bytes(),
        sections,
    }))
}

/// The most rows of a section that get a path each.
const MOST_PATHS: usize = 20;

/// Describes sections, with a path to an object of each row, found by one search.
fn described(heap: &Snapshot, sections: Vec<waste::Section>) -> Vec<Section> {
    let shown = sections
        .iter()
        .flat_map(|it| it.rows.iter().take(MOST_PATHS));
    let targets: Vec<ObjectId> = shown.map(|it| it.example).collect();
    let mut visits = heap.visits();
    let trails = shortest_to_each(heap, &mut visits, &Search::everywhere(), &targets);
    let mut trails = trails.into_iter();
    let mut all = Vec::new();
    for section in sections {
        let rows = section.rows.into_iter().enumerate().map(|(nth, row)| {
            let trail = match nth < MOST_PATHS {
                true => trails.next().flatten(),
                false => None,
            };
            let place = |it: waste::PlaceCount| PlaceCount {
                slot: it.slot,
                references: it.references,
            };
            Row {
                what: row.what,
                objects: row.objects,
                bytes: row.bytes,
                places: row.places.into_iter().map(place).collect(),
                example: trail.map(|it| it.describe(heap)),
            }
        });
        all.push(Section {
            kind: section.kind,
            title: section.title,
            objects: section.objects,
            bytes: section.bytes,
            rows: rows.collect(),
            left_out: section.left_out,
            not_known: section.not_known,
        });
    }
    all
}
