//! `heaphound grow`: shows what grows from snapshot to snapshot, and what holds it.
//!
//! Elsewhere: pictures of what holds it (`slices.rs`).

mod slices;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use heaphound_analysis::cork::{self, Candidate, Cause, Causes, Cork, Options, Ranking};
use heaphound_analysis::series::Series;
use heaphound_analysis::summary::{Summary, summarize_on};
use heaphound_heap::ClassId;
use heaphound_heap::finding::Finding;
use heaphound_heap::snapshot::Snapshot;
use heaphound_heap::view::HeapView;
use heaphound_report::Report;
use heaphound_report::growth::{self, Close, Course, Difference, Differences, Growth};

use crate::findings::Findings;
use crate::input;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::threads::threads;
use slices::slices;

/// Show what grows from snapshot to snapshot of one program. Exits with 1 if something grows.
///
/// A class that grows from each snapshot to the next is reported with the slots that hold the
/// growth, an object that shows it, and how fast it grows (Cork). Take snapshots at moments that
/// can be compared: the first after the program has warmed up, then after equal amounts of work.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound grow monday.hhs tuesday.hhs wednesday.hhs thursday.hhs
  heaphound grow day*.hhs --table
  heaphound grow day*.hhs --table --from 2 --to 3
  heaphound grow day*.hhs --ranking slope --window 3")]
pub struct Args {
    /// Three snapshots or more, oldest first.
    #[arg(value_name = "HEAP", required = true)]
    heaps: Vec<PathBuf>,

    /// How growth is ranked: by itself, or by its share of the heap's growth.
    #[arg(long, value_name = "BY", default_value = "ratio")]
    ranking: By,

    /// By how many percent a class may shrink and still count as growing; for `ratio`.
    #[arg(long, value_name = "PERCENT", default_value_t = 15, value_parser = clap::value_parser!(u8).range(0..=99))]
    decay: u8,

    /// How many snapshots to look back; for `slope`.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    window: u16,

    /// The rank above which a class is reported; 100 for `ratio`, 0 for `slope`.
    #[arg(long, value_name = "RANK", value_parser = rank, allow_negative_numbers = true)]
    threshold: Option<f64>,

    /// Show how two snapshots differ, class by class: the first and the last, or those that
    /// --from and --to name.
    #[arg(long)]
    table: bool,

    /// The earlier snapshot of the table, counted from 1.
    #[arg(long, value_name = "N", requires = "table")]
    from: Option<usize>,

    /// The later snapshot of the table.
    #[arg(long, value_name = "N", requires = "table")]
    to: Option<usize>,

    /// How many classes the table lists.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    #[command(flatten)]
    pub findings: Findings,
}

impl Args {
    /// Returns the last snapshot: findings are about it.
    pub fn heap(&self) -> &Path {
        self.heaps.last().map_or(Path::new(""), |it| it)
    }
}

/// Parses a rank with which others can be compared.
fn rank(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rank) if f64::is_finite(rank) => Ok(rank),
        _ => Err("a number is wanted".into()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    Ratio,
    Slope,
}

/// A class is reported that has grown over this many snapshots, or over all if there are fewer.
const ENOUGH: u32 = 3;

/// Three snapshots show whether a class grew twice.
const LEAST_SNAPSHOTS: usize = 3;

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    let count = args.heaps.len();
    if count < LEAST_SNAPSHOTS {
        let given = match count {
            1 => "is only 1".to_string(),
            count => format!("are only {count}"),
        };
        let reason =
            format!("growth is seen in {LEAST_SNAPSHOTS} snapshots or more, and there {given}");
        return Err(Problem::new(reason).hint("`heaphound diff` compares two"));
    }
    let (from, to) = (args.from.unwrap_or(1), args.to.unwrap_or(count));
    if from == 0 || from >= to || to > count {
        let reason = format!("there is no table from snapshot {from} to {to} of {count}");
        return Err(Problem::new(reason).hint("the earlier one comes first"));
    }
    let mut series = Series::default();
    let mut cork = Cork::new(options(args));
    let mut growth = Growth::default();
    let mut compared = Vec::new();
    let mut volumes = Vec::new();
    let mut found = Vec::new();
    let mut known: Option<(String, BTreeSet<String>)> = None;
    for (number, path) in (1..).zip(&args.heaps) {
        let file = path.display().to_string();
        let heap = input::read_edges(path, progress)?;
        let names = classes_of(&heap);
        if let Some((before, classes)) = &known {
            check_program(before, classes, &file, &names)?;
        }
        known = Some((file.clone(), names));
        let summary = progress.of("counting", || summarize_on(&heap, threads()));
        let summary = series.add(&summary, heap.classes());
        // Snapshots do not say how much the program allocated between them.
        cork.observe(&summary, &series.slots(), 0);
        growth.snapshots.push(growth::Snapshot {
            file,
            objects: summary.objects(),
            bytes: summary.volume_bytes(),
        });
        if number == count {
            let causes;
            let candidates;
            (found, causes, candidates) =
                findings(args, &cork, &summary, &series, &heap, progress)?;
            growth.close = close(&cork, &series, &causes);
            growth.slices = slices(&causes, &candidates, &summary, &series);
            growth.courses = courses(&causes, &volumes, &summary, &series);
        }
        volumes.push(volumes_of(&summary));
        if args.table && (number == from || number == to) {
            compared.push(summary);
        }
    }
    if let [before, after] = &compared[..] {
        let differences = differences(before, after, &series, args.limit);
        growth.differences = Some(Differences {
            from,
            to,
            ..differences
        });
    }
    Ok(Report::Growth {
        growth,
        findings: found,
    })
}

/// Returns Cork's options. A person chose the moments of the snapshots, so few are enough: a class that
/// has grown three times is reported, whenever it began.
fn options(args: &Args) -> Options {
    let base = match args.ranking {
        By::Ratio => Options {
            ranking: Ranking::Ratio {
                decay: f64::from(args.decay) / 100.0,
            },
            ..Options::default()
        },
        By::Slope => Options::slope(args.window.into()),
    };
    Options {
        threshold: args.threshold.unwrap_or(base.threshold),
        patience: ENOUGH.min(args.heaps.len() as u32 - 1),
        ..base
    }
}

/// Returns the names of the classes that have objects.
fn classes_of(heap: &Snapshot) -> BTreeSet<String> {
    let mut used = vec![false; heap.classes().len()];
    for object in heap.objects() {
        used[heap.class_of(object).0 as usize - 1] = true;
    }
    let classes = heap.classes().iter().zip(used);
    let used = classes.filter(|it| it.1);
    used.map(|it| it.0.name.clone()).collect()
}

/// Returns an error if two snapshots seem to be of different programs. Snapshots of one program have
/// at least half of their classes in common.
fn check_program(
    before: &str,
    known: &BTreeSet<String>,
    file: &str,
    classes: &BTreeSet<String>,
) -> Result<(), Problem> {
    let common = known.intersection(classes).count();
    let fewest = known.len().min(classes.len());
    match common * 2 >= fewest {
        true => Ok(()),
        false => Err(Problem::new(format!(
            "{before} and {file} are not of the same program: of {fewest} classes they have {common} in common"
        ))),
    }
}

/// What grows, as findings, the causes, and the classes that were looked at.
type Growing = (Vec<Finding>, Vec<Cause>, Vec<Candidate>);

/// Returns what grows. The snapshots before the last are read again, to see which
/// containers have grown: nobody knew before what to look for.
fn findings(
    args: &Args,
    cork: &Cork,
    summary: &Summary,
    series: &Series,
    heap: &Snapshot,
    progress: &Progress,
) -> Result<Growing, Problem> {
    let reported = cork.candidates(summary, &series.slots());
    let is_reported = |class| reported.iter().any(|it| it.class == class);
    let mut candidates = reported.clone();
    candidates.extend(cork.suspects(summary, &series.slots()));
    let mut wanted = cork.wanted();
    wanted.retain(|it| candidates.iter().any(|known| known.class == it.class));
    let mut causes = Causes::at_once();
    if !wanted.is_empty() {
        let earlier = args.heaps.len().saturating_sub(cork::CENSUSES);
        for path in &args.heaps[earlier..args.heaps.len() - 1] {
            let before = input::read_edges(path, progress)?;
            progress.of("looking for what grows", || {
                causes.count(&before, &wanted, series.classes());
            });
        }
    }
    let standing = progress.of("looking for what grows", || {
        causes.look(heap, &candidates, &wanted, series.classes())
    });
    // A class whose rank is low may grow in a container whose rank is not.
    let threshold = options(args).threshold;
    let grows = |it: &&Cause| {
        let mut classes = it.classes.iter();
        it.rank > threshold || classes.any(|it| is_reported(it.0))
    };
    let causes: Vec<Cause> = standing.iter().filter(grows).cloned().collect();
    let finding = |cause| cork::finding(cause, &candidates, series.classes(), None);
    Ok((causes.iter().map(finding).collect(), causes, candidates))
}

/// Returns the classes that have grown and are in no finding, with what hides them.
fn close(cork: &Cork, series: &Series, causes: &[Cause]) -> Vec<Close> {
    let hidden = |class| !causes.iter().any(|it| it.contains(class));
    let close = cork.close().into_iter().filter(|it| hidden(it.class));
    let close = close.map(|it| Close {
        name: series.classes()[it.class.0 as usize - 1].name.clone(),
        bytes_before: it.volume_bytes - it.grown_bytes,
        bytes_after: it.volume_bytes,
        hidden_by: it.why.word(),
        reason: it.why.to_string(),
    });
    close.collect()
}

/// What each class takes, by class id. Later snapshots may know more classes.
fn volumes_of(summary: &Summary) -> HashMap<ClassId, u64> {
    let volumes = summary
        .classes()
        .map(|(class, it)| (class, it.volume_bytes));
    volumes.collect()
}

/// Returns what the classes that grow most took in each snapshot; `volumes` are those of the snapshots before the last.
fn courses(
    causes: &[Cause],
    volumes: &[HashMap<ClassId, u64>],
    last: &Summary,
    series: &Series,
) -> Vec<Course> {
    let mut classes: Vec<ClassId> = Vec::new();
    for class in causes.iter().filter_map(|it| it.classes.first()) {
        if !classes.contains(&class.0) {
            classes.push(class.0);
        }
    }
    let course = |class: ClassId| {
        let before = volumes.iter().map(|it| it.get(&class).copied());
        let mut bytes: Vec<u64> = before.map(Option::unwrap_or_default).collect();
        bytes.push(last.class(class).volume_bytes);
        Course {
            class: series.classes()[class.0 as usize - 1].name.clone(),
            bytes,
        }
    };
    classes.into_iter().map(course).collect()
}

fn differences(before: &Summary, after: &Summary, series: &Series, limit: usize) -> Differences {
    let all = before.differences(after);
    let listed = all.iter().take(limit);
    let classes = listed.map(|it| Difference {
        name: series.classes()[it.class.0 as usize - 1].name.clone(),
        objects_before: it.before.objects,
        objects_after: it.after.objects,
        bytes_before: it.before.volume_bytes,
        bytes_after: it.after.volume_bytes,
    });
    Differences {
        from: 0,
        to: 0,
        classes: classes.collect(),
        classes_left_out: all.len().saturating_sub(limit),
    }
}
