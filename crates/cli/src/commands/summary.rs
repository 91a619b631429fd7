//! `heaphound summary`: draws a heap as its classes and the references between them.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use heaphound_analysis::export::Picture;
use heaphound_analysis::shape::{Backbones, degrees_on};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::summarize_on;
use heaphound_heap::view::HeapView;
use heaphound_report::Report;

use crate::cores::cores;
use crate::input;
use crate::problem::Problem;
use crate::progress::Progress;

/// Draw a heap as its classes and the references between them: DOT, GraphML or JSON.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound summary shop.hhs | dot -Tsvg > shop.svg
  heaphound summary shop.hhs --graph field-wise --format graphml > shop.graphml
  heaphound summary shop.hhs --json")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    heap: PathBuf,

    /// The format to print; `--json` is the same as `--format json`.
    #[arg(long, value_name = "FORMAT", default_value = "dot")]
    format: Format,

    /// Which graph: with an edge from each class to the classes that point to it, or with an edge
    /// for each slot, to the class that it points to.
    #[arg(long, value_name = "GRAPH", default_value = "points-from")]
    graph: Graph,
}

impl Args {
    pub fn heap(&self) -> &Path {
        &self.heap
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Dot,
    #[value(name = "graphml")]
    GraphMl,
    Json,
}

#[derive(Clone, Copy, ValueEnum)]
enum Graph {
    PointsFrom,
    FieldWise,
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    let heap = input::read_edges(&args.heap, progress)?;
    let threads = cores();
    let summary = progress.of("counting", || summarize_on(&heap, threads));
    let classes = heap.classes();
    let ids = SlotIds::new(classes);
    let picture = match args.graph {
        Graph::PointsFrom => Picture::points_from(&summary, classes, &ids),
        Graph::FieldWise => {
            let backbones = Backbones::find(&summary, classes, &ids);
            let degrees = progress.of("counting degrees", || {
                degrees_on(&heap, &backbones, threads)
            });
            Picture::field_wise(&summary, classes, &ids).with_degrees(&backbones, &degrees)
        }
    };
    let json = picture.json();
    let text = match args.format {
        Format::Dot => picture.dot(),
        Format::GraphMl => picture.graphml(),
        Format::Json => json.clone(),
    };
    Ok(Report::Document { text, json })
}
