//! `heaphound shapes`: shows recursive data structures, learns what is true of them, tests it.

use std::path::{Path, PathBuf};

use heaphound_analysis::shape::{
    self, Backbones, Measure, Profile, Role, Violation, measure_facts_on, shape_of,
};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::summarize_on;
use heaphound_heap::finding::Finding;
use heaphound_heap::snapshot::Snapshot;
use heaphound_heap::view::HeapView;
use heaphound_report::Report;
use heaphound_report::shapes::{Learnt, Shapes, Structure, Tested};

use crate::findings::Findings;
use crate::input;
use crate::output;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::threads::threads;

/// Show the recursive data structures of a heap; learn what is true of them, or test it.
///
/// A profile is JSON that a person can review and edit: remove degrees that need not hold, and set
/// `ignored` on relations that need not hold. Learn from several heaps of correct runs, of
/// different sizes, before you test. Exits with 1 if something does not hold.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound shapes shop.hhs
  heaphound shapes good-1.hhs --learn shop.json
  heaphound shapes good-2.hhs --learn shop.json
  heaphound shapes today.hhs --test shop.json")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    heap: PathBuf,

    /// Add what is true of this heap to a profile. If the file does not exist, it is created.
    #[arg(long, value_name = "PROFILE", conflicts_with = "test")]
    learn: Option<PathBuf>,

    /// Test whether what a profile says is true of this heap.
    #[arg(long, value_name = "PROFILE")]
    test: Option<PathBuf>,

    #[command(flatten)]
    pub findings: Findings,
}

impl Args {
    pub fn heap(&self) -> &Path {
        &self.heap
    }
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    // Before the heap, which may be large: a profile that cannot be read is reported at once.
    let known = match (&args.learn, &args.test) {
        (Some(path), _) if !can_learn_into(path) => {
            let name = path.display();
            return Err(Problem::new(format!(
                "{name} is no file that can be learnt into"
            )));
        }
        (Some(path), _) => read_profile(path)?,
        (None, Some(path)) => Some(read_profile(path)?.ok_or_else(|| missing(path))?),
        (None, None) => None,
    };
    // Plain data takes memory, and only what is learnt or tested is about it.
    let heap = match args.learn.is_some() || args.test.is_some() {
        true => input::read_heap(&args.heap, progress)?,
        false => input::read_edges(&args.heap, progress)?,
    };
    let threads = threads();
    let mut measures = progress.of("measuring", || measure_facts_on(&heap, threads));
    measures.sort_by_key(|it| std::cmp::Reverse(it.volume_bytes));
    let mut shapes = Shapes {
        heap_bytes: match measures.first() {
            Some(measure) => measure.heap_bytes,
            None => summarize_on(&heap, threads).volume_bytes(),
        },
        structures: measures
            .iter()
            .filter(is_recursive)
            .map(structure)
            .collect(),
        ..Shapes::default()
    };
    let mut found = Vec::new();
    if let Some(path) = &args.learn {
        let merged = known.is_some();
        let mut profile = known.unwrap_or_default();
        profile.learn(&measures);
        output::write_file(path, &profile.to_json())?;
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

/// Returns whether a structure is recursive through a class. Its other classes are learnt and tested,
/// too, and not shown.
fn is_recursive(measure: &&Measure) -> bool {
    measure.role == Role::Backbone
}

fn structure(measure: &Measure) -> Structure {
    let slots = measure.slots.iter();
    Structure {
        class: measure.class.clone(),
        through: measure.through.clone(),
        dictionary: measure.dictionary,
        looks_like: shape_of(measure).to_string(),
        objects: measure.instances,
        bytes: measure.volume_bytes,
        incoming: measure.degrees.incoming,
        outgoing: measure.degrees.outgoing,
        slots: slots.map(|(slot, it)| (slot.to_string(), *it)).collect(),
    }
}

/// Returns what does not hold, with objects that show it.
fn findings(heap: &Snapshot, threads: usize, violations: &[Violation]) -> Vec<Finding> {
    let ids = SlotIds::new(heap.classes());
    let backbones = Backbones::find(&summarize_on(heap, threads), heap.classes(), &ids);
    let mut findings = shape::findings(violations, None);
    for finding in &mut findings {
        shape::show_offenders(heap, &backbones, violations, finding);
    }
    findings
}

/// Returns whether a profile can be read from a path and then written to it, unlike to a pipe.
fn can_learn_into(path: &Path) -> bool {
    !output::is_stdout(path) && (path.is_file() || !path.exists())
}

fn missing(path: &Path) -> Problem {
    let name = path.display();
    Problem::new(format!("there is no profile {name}"))
        .hint(format!("learn one from correct runs with `--learn {name}`"))
}

/// Returns the profile in a file, if the file exists.
fn read_profile(path: &Path) -> Result<Option<Profile>, Problem> {
    // A link to a file that is not there is learnt into, too.
    if !input::is_stdin(path) && !path.exists() {
        return Ok(None);
    }
    let profile = Profile::from_json(&input::read_text(path)?);
    let bad = |error| Problem::new(format!("{} is not a profile: {error}", path.display()));
    profile.map(Some).map_err(bad)
}
