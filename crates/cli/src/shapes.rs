//! `heaphound shapes`: recursive data structures, what is learnt of them, and whether it holds.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use heaphound_analysis::shape::{
    self, Backbones, Measure, Profile, Violation, measure_view_on, shape_of,
};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::summarize_on;
use heaphound_heap::finding::Finding;
use heaphound_heap::snapshot::Snapshot;
use heaphound_heap::view::HeapView;
use heaphound_report::Report;
use heaphound_report::shapes::{Learnt, Shapes, Structure, Tested};
use heaphound_snapshot::replace_file;

use crate::input;
use crate::problem::Problem;
use crate::progress::Progress;

/// Show the recursive data structures of a heap; learn what is true of them, or test it.
///
/// A profile is JSON that a person can review and edit: take out degrees that need not hold, and
/// set `ignored` beside relations. Learn from several heaps of correct runs, of different sizes,
/// before you test. Exits with 1 if something does not hold.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound shapes shop.hhs
  heaphound shapes good-1.hhs --learn shop.json
  heaphound shapes good-2.hhs --learn shop.json
  heaphound shapes today.hhs --test shop.json")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    pub heap: PathBuf,

    /// Add what is true of this heap to a profile, which is made if it is not there.
    #[arg(long, value_name = "PROFILE", conflicts_with = "test")]
    learn: Option<PathBuf>,

    /// Compare with a profile.
    #[arg(long, value_name = "PROFILE")]
    test: Option<PathBuf>,
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    // A profile that cannot be read is told before a large heap is.
    let known = match (&args.learn, &args.test) {
        (Some(path), _) => read_profile(path)?,
        (None, Some(path)) => Some(read_profile(path)?.ok_or_else(|| missing(path))?),
        (None, None) => None,
    };
    let heap = input::read(&args.heap, progress)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut measures = progress.of("measuring", || measure_view_on(&heap, threads));
    measures.sort_by_key(|it| std::cmp::Reverse(it.volume_bytes));
    let mut shapes = Shapes {
        heap_bytes: match measures.first() {
            Some(measure) => measure.heap_bytes,
            None => summarize_on(&heap, threads).volume_bytes(),
        },
        structures: measures.iter().map(structure).collect(),
        ..Shapes::default()
    };
    let mut found = Vec::new();
    if let Some(path) = &args.learn {
        let merged = known.is_some();
        let mut profile = known.unwrap_or_default();
        profile.learn(&measures);
        write_profile(path, &profile)?;
        shapes.learnt = Some(Learnt {
            profile: path.display().to_string(),
            structures: profile.backbones.len(),
            merged,
        });
    } else if let (Some(path), Some(profile)) = (&args.test, known) {
        let violations = profile.test(&measures);
        found = progress.of("looking for objects", || {
            findings(&heap, threads, &violations)
        });
        let is_known = |it: &&Measure| profile.backbones.contains_key(&it.class);
        let (tested, unknown): (Vec<_>, Vec<_>) = measures.iter().partition(is_known);
        let is_absent = |class: &&String| !tested.iter().any(|it| it.class == **class);
        let absent = profile.backbones.keys().filter(is_absent);
        shapes.tested = Some(Tested {
            profile: path.display().to_string(),
            structures: tested.len(),
            unknown: unknown.iter().map(|it| it.class.clone()).collect(),
            absent: absent.cloned().collect(),
        });
    }
    Ok(Report::Shapes {
        shapes,
        findings: found,
    })
}

fn structure(measure: &Measure) -> Structure {
    Structure {
        class: measure.class.clone(),
        through: measure.through.clone(),
        looks_like: shape_of(measure).to_string(),
        objects: measure.instances,
        bytes: measure.volume_bytes,
        incoming: measure.degrees.incoming,
        outgoing: measure.degrees.outgoing,
        slots: measure.slots.clone(),
    }
}

/// What does not hold, with objects that show it.
fn findings(heap: &Snapshot, threads: usize, violations: &[Violation]) -> Vec<Finding> {
    let ids = SlotIds::new(heap.classes());
    let backbones = Backbones::find(&summarize_on(heap, threads), heap.classes(), &ids);
    let mut findings = shape::findings(violations, None);
    for finding in &mut findings {
        shape::show_offenders(heap, &backbones, violations, finding);
    }
    findings
}

fn missing(path: &Path) -> Problem {
    let name = path.display();
    Problem(format!(
        "there is no profile {name}\n  learn one from correct runs with `--learn {name}`"
    ))
}

/// A profile, if the file is there.
fn read_profile(path: &Path) -> Result<Option<Profile>, Problem> {
    let name = path.display();
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Problem(format!("cannot read {name}: {error}"))),
    };
    let profile = Profile::from_json(&text);
    let bad = |error| Problem(format!("{name} is not a profile: {error}"));
    profile.map(Some).map_err(bad)
}

/// Writes a profile whole: whoever reads it meanwhile finds the one before.
fn write_profile(path: &Path, profile: &Profile) -> Result<(), Problem> {
    let text = profile.to_json();
    let written = replace_file(path, |mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Problem(format!("cannot write {}: {error}", path.display())))
}
