//! `heaphound export`: writes a heap as tables, for engines that query many of them together.

use std::path::{Path, PathBuf};

use heaphound_report::Report;

use crate::problem::Problem;
use crate::progress::Progress;

/// Write a heap as Parquet: objects, edges, classes and roots, for DuckDB, Spark or ClickHouse.
///
/// The files objects.parquet, edges.parquet, classes.parquet and roots.parquet are written into the folder
/// DIR, which is created if it does not exist. Contents of strings and plain data are not exported.
/// docs/export.md shows the columns and a query.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound export shop.hhs --parquet tables/monday
  heaphound export shop.hhs --parquet tables/tuesday --retained")]
#[cfg_attr(not(feature = "parquet"), allow(dead_code))]
pub struct Args {
    /// The heap to read; `-` is stdin.
    heap: PathBuf,

    /// The folder to write into.
    #[arg(long, value_name = "DIR", required = true)]
    parquet: PathBuf,

    /// Find what each object retains and what dominates it, too.
    #[arg(long)]
    retained: bool,
}

impl Args {
    pub fn heap(&self) -> &Path {
        &self.heap
    }
}

#[cfg(not(feature = "parquet"))]
pub fn run(_: &Args, _: &Progress) -> Result<Report, Problem> {
    Err(Problem::new(
        "this heaphound was built without Parquet, which takes as long to build as all the rest",
    )
    .hint("build one that has it: cargo build --release --features parquet"))
}

#[cfg(feature = "parquet")]
pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    use heaphound_analysis::dominator::Dominators;
    use heaphound_report::Written;

    use crate::{input, tables, threads::threads};

    let folder = &args.parquet;
    if folder.exists() && !folder.is_dir() {
        return Err(Problem::new(format!("{} is no folder", folder.display())));
    }
    let heap = input::read_heap(&args.heap, progress)?;
    let dominators = args
        .retained
        .then(|| {
            progress.of("looking for dominators", || {
                Dominators::of(&heap, threads())
            })
        })
        .transpose()?;
    std::fs::create_dir_all(folder).map_err(|error| Problem::cannot_write(folder, &error))?;
    let name = args.heap.display().to_string();
    let file_bytes = progress
        .of_bytes(&format!("writing {}", folder.display()), |done| {
            tables::write(&heap, dominators.as_ref(), &name, folder, done)
        })
        .map_err(|error| Problem::cannot_write(folder, &error))?;
    Ok(Report::Written(Written {
        file: folder.display().to_string(),
        format: "parquet".into(),
        objects: heap.len(),
        edges: heap.edges(),
        file_bytes,
        notes: Vec::new(),
    }))
}
