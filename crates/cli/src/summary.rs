//! `heaphound summary`: a heap as its classes and the references between them, for other tools.

use std::path::PathBuf;

use clap::ValueEnum;
use heaphound_analysis::export::Picture;
use heaphound_analysis::shape::{Backbones, degrees_on};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::summarize_on;
use heaphound_heap::view::HeapView;
use heaphound_report::Report;

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
    pub heap: PathBuf,

    /// The form to write; `--json` is `--format json`.
    #[arg(long, value_name = "FORM", default_value = "dot")]
    format: Form,

    /// Which graph: from each class to those that point to it, or from each class, slot by slot,
    /// to those that it points to.
    #[arg(long, value_name = "GRAPH", default_value = "points-from")]
    graph: Graph,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
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

pub fn run(args: &Args, as_json: bool, progress: &Progress) -> Result<Report, Problem> {
    let heap = input::read(&args.heap, progress)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
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
    Ok(Report::Document(match args.format {
        _ if as_json => picture.json(),
        Form::Dot => picture.dot(),
        Form::GraphMl => picture.graphml(),
        Form::Json => picture.json(),
    }))
}
