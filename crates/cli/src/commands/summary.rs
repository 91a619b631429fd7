//! `heaphound summary`: draws a heap as its classes and the references between them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use heaphound_analysis::export::{self, Picture};
use heaphound_analysis::shape::{Backbones, degrees_on};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::summarize_on;
use heaphound_heap::view::HeapView;
use heaphound_report::figures::{count, size};
use heaphound_report::{Report, document};

use crate::input;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::threads::threads;

/// Draw a heap as its classes and the references between them: DOT, GraphML, JSON or HTML.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound summary shop.hhs | dot -Tsvg > shop.svg
  heaphound summary shop.hhs --graph field-wise --format graphml > shop.graphml
  heaphound summary shop.hhs --format html > shop.html
  heaphound summary shop.hhs --json")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    heap: PathBuf,

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
enum Graph {
    PointsFrom,
    FieldWise,
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    let heap = input::read_edges(&args.heap, progress)?;
    let threads = threads();
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
    Ok(Report::Summary {
        dot: picture.dot(),
        graphml: picture.graphml(),
        json: picture.json(),
        graph: Box::new(drawn(&picture)),
    })
}

/// Returns the graph as a picture, with the classes and edges first that take most, for not all can be drawn.
fn drawn(picture: &Picture<'_>) -> document::Graph {
    let mut classes: Vec<&export::Node<'_>> = picture.classes().iter().collect();
    classes.sort_by_key(|it| Reverse(it.volume_bytes));
    let numbers: HashMap<u32, usize> = classes.iter().map(|it| it.id).zip(0..).collect();
    let mut edges: Vec<&export::Edge<'_>> = picture.edges().iter().collect();
    edges.sort_by_key(|it| Reverse(it.volume_bytes));
    let node = |it: &&export::Node<'_>| document::Node {
        name: it.class.to_string(),
        detail: format!("{} objects, {}", count(it.objects), size(it.volume_bytes)),
        stands_out: false,
    };
    let edge = |it: &&export::Edge<'_>| {
        let from = *numbers.get(&it.source)?;
        let to = *numbers.get(&it.target)?;
        Some(document::Edge {
            from,
            to,
            label: match it.slot {
                Some(slot) => slot.to_string(),
                None => count(it.references),
            },
            stands_out: false,
        })
    };
    document::Graph {
        title: picture.title().to_string(),
        nodes: classes.iter().map(node).collect(),
        edges: edges.iter().filter_map(edge).collect(),
    }
}
