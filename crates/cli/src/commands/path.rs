//! `heaphound path`: shows paths from a root to an object.

use std::path::{Path, PathBuf};

use heaphound_analysis::merged::merged;
use heaphound_heap::Root;
use heaphound_heap::finding::{Evidence, Finding, Severity, group};
use heaphound_heap::path::{Origin, Search, Trail, named};
use heaphound_heap::probe::Probes;
use heaphound_heap::root::{Part, RootSet};
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::spelling::thread_name;
use heaphound_heap::view::HeapView;
use heaphound_report::answer::{Amount, Kind};
use heaphound_report::{Answer, Members, Report, Verdict};

use crate::input;
use crate::listing::count_of;
use crate::names::Names;
use crate::problem::Problem;
use crate::progress::Progress;

/// Show a shortest path to an object, which says why it is alive; one that starts at a local only
/// if there is no other. Exits with 1 if there is none.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound path shop.hhs Order#17
  heaphound path shop.hhs Order#17 --from thread:worker-1
  heaphound path shop.hhs Order#17 --from static:shop --avoid OrderTable
  heaphound path shop.hhs Order#17 --count 10
  heaphound path shop.hhs Order --merge")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    heap: PathBuf,

    /// The object to which paths lead; with --merge, also a class: all its instances.
    object: String,

    /// Where paths start, if not at any root: a thread (thread:x), an object, a root.
    #[arg(long, value_name = "FROM")]
    from: Option<String>,

    /// Objects that paths must not pass, nor start or end at; separated by commas.
    #[arg(long, value_name = "OBJECTS")]
    avoid: Vec<String>,

    /// Show all distinct paths, shortest first, but no more than N. Paths that pass an object
    /// twice do not count.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    count: Option<u32>,

    /// Merge paths that lead through the same classes, and say how many there are: of the shortest
    /// paths to all instances of a class or, with --count, of the paths to an object.
    #[arg(long)]
    merge: bool,

    /// How many merged paths to show.
    #[arg(long, value_name = "N", default_value_t = 20, requires = "merge")]
    limit: usize,
}

impl Args {
    pub fn heap(&self) -> &Path {
        &self.heap
    }
}

/// Where paths start, as the command line says it.
enum Start<'h> {
    Anywhere,
    Thread(&'h str),
    Object(ObjectId, Option<&'h Root>),
}

impl Start<'_> {
    /// Returns the object that it is, if it is one.
    fn object(&self) -> Vec<ObjectId> {
        match self {
            Self::Object(object, _) => vec![*object],
            _ => Vec::new(),
        }
    }

    /// Returns where a search starts, given [`Start::object`].
    fn origin<'a>(&'a self, object: &'a [ObjectId]) -> Origin<'a, ObjectId> {
        match self {
            Self::Anywhere => Origin::Roots(RootSet::All),
            Self::Thread(thread) => Origin::Roots(RootSet::Thread(thread, Part::Both)),
            Self::Object(..) => Origin::Objects(object),
        }
    }
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    let heap = input::read_heap(&args.heap, progress)?;
    let names = Names::of(&heap);
    let avoid = names.list(&args.avoid)?;
    let start = start_of(args.from.as_deref(), &names)?;
    if args.merge && args.count.is_none() {
        let targets = names.instances(&args.object)?;
        let answer = progress.of("searching", || merge(&heap, args, &start, &avoid, &targets));
        return Ok(Report::Answer {
            answer,
            finding: None,
        });
    }
    let object = names.object(&args.object)?;
    let mut found = progress.of("searching", || {
        search(&heap, &start, &avoid, object, args.count)
    });
    let paths = found.trails.iter().map(|trail| trail.describe(&heap));
    let mut evidence: Vec<Evidence> = match args.merge {
        false => paths.map(Evidence::way).collect(),
        true => {
            let groups = group(paths.collect()).into_iter();
            groups
                .map(|(count, path)| Evidence::group(count, path))
                .collect()
        }
    };
    let count = found.trails.len();
    if args.merge && evidence.len() > args.limit {
        let left_out = evidence.len() - args.limit;
        found
            .notes
            .push(format!("{left_out} merged paths are not shown"));
        evidence.truncate(args.limit);
    }
    let to = named(&heap, object).to_string();
    let around = match avoid.is_empty() {
        true => String::new(),
        false => {
            let names: Vec<String> = avoid.iter().map(|it| heap.name_of(*it)).collect();
            format!(" around {}", names.join(", "))
        }
    };
    let from = match &start {
        Start::Anywhere => "a root".to_string(),
        Start::Thread(thread) => thread_name(thread),
        Start::Object(object, None) => heap.name_of(*object),
        Start::Object(_, Some(root)) => root.short(),
    };
    let message = match count {
        0 => format!("no path leads from {from} to {to}{around}"),
        1 if args.count.is_none() => format!("a path from {from} to {to}{around}"),
        1 => format!("1 path from {from} to {to}{around}"),
        n => format!("{n} paths from {from} to {to}{around}"),
    };
    let finding = evidence.is_empty().then(|| Finding {
        objects: vec![named(&heap, object)],
        notes: found.notes.clone(),
        ..Finding::new("not-reachable", Severity::Error, message.clone())
    });
    let answer = Answer {
        question: "path".into(),
        arguments: vec![args.object.clone()],
        asker: None,
        verdict: Verdict::Set {
            members: Members {
                of: Kind::Paths,
                count,
                listed: Vec::new(),
            },
            expected: Some(Amount::Nonempty),
        },
        message,
        evidence,
        notes: found.notes,
    };
    let finding = finding.map(Box::new);
    Ok(Report::Answer { answer, finding })
}

/// Returns how instances of a class are held, merged by the classes on the way.
fn merge(
    heap: &Snapshot,
    args: &Args,
    start: &Start<'_>,
    avoid: &[ObjectId],
    targets: &[ObjectId],
) -> Answer {
    let object = start.object();
    let search = Search {
        from: start.origin(&object),
        avoid,
    };
    let found = merged(heap, &search, targets, args.limit);
    let reached = targets.len() - found.unreached;
    let mut notes = Vec::new();
    if found.unreached > 0 {
        notes.push(format!("{} are not reached", count_of(found.unreached)));
    }
    if found.left_out > 0 {
        notes.push(format!("{} merged paths are not shown", found.left_out));
    }
    let ways = found.ways.into_iter();
    let evidence: Vec<Evidence> = ways
        .map(|(count, path)| Evidence::group(count, path))
        .collect();
    let all = evidence.len() + found.left_out;
    let s = if all == 1 { "" } else { "s" };
    Answer {
        question: "path".into(),
        arguments: vec![args.object.clone()],
        asker: None,
        verdict: Verdict::Set {
            members: Members {
                of: Kind::Paths,
                count: all,
                listed: Vec::new(),
            },
            expected: None,
        },
        message: format!(
            "{all} merged path{s} to {} of {}",
            count_of(reached),
            args.object
        ),
        evidence,
        notes,
    }
}

fn start_of<'h>(from: Option<&str>, names: &Names<'h>) -> Result<Start<'h>, Problem> {
    let Some(from) = from else {
        return Ok(Start::Anywhere);
    };
    if from.starts_with("thread:") && (names.find_thread(from).is_some() || !from.ends_with(']')) {
        return names.thread(from).map(Start::Thread);
    }
    let target = names.target(from)?;
    Ok(Start::Object(target.object, target.root))
}

/// Paths, and notes about those that were not found.
struct Found {
    trails: Vec<Trail<ObjectId>>,
    notes: Vec<String>,
}

fn search(
    heap: &Snapshot,
    start: &Start<'_>,
    avoid: &[ObjectId],
    object: ObjectId,
    count: Option<u32>,
) -> Found {
    let object_of_start = start.object();
    let search = Search {
        from: start.origin(&object_of_start),
        avoid,
    };
    let probes = Probes::of(heap);
    let mut notes = Vec::new();
    let mut trails = match count {
        None => probes.path(&search, object).into_iter().collect(),
        Some(count) => {
            let found = probes.all_paths(&search, object, count as usize);
            if !found.complete && found.trails.len() == count as usize {
                notes.push("there are more paths".into());
            } else if !found.complete {
                notes.push("the search was given up: there may be more paths".into());
            }
            found.trails
        }
    };
    if let Start::Object(_, Some(root)) = start {
        for trail in &mut trails {
            trail.root = Some((*root).clone());
        }
    }
    Found { trails, notes }
}
