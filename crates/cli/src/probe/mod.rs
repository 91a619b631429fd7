//! `heaphound probe`: one question to a heap, its answer, and why.
//!
//! Elsewhere: the questions (`question.rs`), answers of yes or no (`truth.rs`), answers that
//! are sets (`sets.rs`).

mod question;
mod sets;
mod truth;

use std::collections::HashSet;
use std::path::PathBuf;

use clap::ValueEnum;
use heaphound_heap::finding::{Evidence, Finding, Severity};
use heaphound_heap::path::{Search, Trail, named};
use heaphound_heap::probe::Probes;
use heaphound_heap::root::{Part, RootSet};
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_heap::{Root, RootKind};
use heaphound_report::answer::Amount;
use heaphound_report::{Answer, Members, Report, Verdict};

use crate::input;
use crate::names::Names;
use crate::problem::Problem;
use crate::progress::Progress;
use question::Question;

/// Ask a heap a question. Exits with 0 if the answer is as expected, with 1 if it is not.
///
/// Questions of yes or no expect yes unless told otherwise. The others give a set; they
/// expect nothing unless told to. Objects are named as in `heaphound --help`.
///
/// Paths through the asking thread's own stack do not count against dom and what is built
/// on it: to ask takes a reference. In a file nobody asks unless --as says who.
#[derive(clap::Args)]
#[command(
    subcommand_value_name = "PROBE",
    subcommand_help_heading = "Probes",
    after_help = "\
Examples:
  heaphound probe shop.hhs is-shared Order#17 --expect no
  heaphound probe shop.hhs dom OrderTable Order#17
  heaphound probe shop.hhs thread-reach Connection#3 --avoid Pool
  heaphound probe shop.hhs is-thread-owned Buffer#2 --as thread:worker-1
  heaphound probe shop.hhs reach static:cache --limit 100"
)]
pub struct Args {
    /// The heap to read; `-` is stdin.
    pub heap: PathBuf,

    #[command(subcommand)]
    question: Question,

    /// The thread that asks: `thread:main` or `main`.
    #[arg(long = "as", value_name = "THREAD", global = true)]
    asker: Option<String>,

    /// What the answer should be: yes or no; for a set, empty or nonempty.
    #[arg(long, value_name = "ANSWER", global = true)]
    expect: Option<Expect>,

    /// How many threads trace the heap; by default one a core.
    #[arg(long, value_name = "N", global = true,
          value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,

    /// How many members of a set to list.
    #[arg(long, value_name = "N", default_value_t = 20, global = true)]
    limit: usize,

    /// List all members of a set.
    #[arg(long, conflicts_with = "limit", global = true)]
    all: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Expect {
    Yes,
    No,
    Empty,
    Nonempty,
}

/// What a question found out.
enum Outcome {
    Truth(Truth),
    Set(Set),
}

/// Yes or no, and why.
struct Truth {
    /// What is so if the answer is yes: `shared`.
    kind: &'static str,
    yes: bool,
    why: Why,
}

/// Some of the heap.
struct Set {
    members: Members,
    why: Why,
}

/// The reasons for an answer.
struct Why {
    message: String,
    /// What it is about.
    objects: Vec<ObjectId>,
    evidence: Vec<Evidence>,
    notes: Vec<String>,
}

impl Why {
    fn new(message: String, objects: &[ObjectId]) -> Self {
        let mut seen = HashSet::new();
        let each_once = objects.iter().filter(|object| seen.insert(**object));
        Self {
            message,
            objects: each_once.copied().collect(),
            evidence: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// A heap, ready to be asked.
struct Asking<'h> {
    heap: &'h Snapshot,
    names: Names<'h>,
    probes: Probes<'h, Snapshot>,
    asker: Option<&'h str>,
    limit: usize,
}

impl Asking<'_> {
    fn name(&self, object: ObjectId) -> String {
        self.heap.name_of(object)
    }

    fn show(&self, label: impl Into<String>, trail: &Trail<ObjectId>) -> Evidence {
        Evidence::labelled(label, trail.describe(self.heap))
    }

    /// The roots whose paths count: all but the asking thread's stack.
    fn others(&self) -> RootSet<'_> {
        match self.asker {
            Some(asker) => RootSet::AllBut(asker, Part::Stack),
            None => RootSet::All,
        }
    }

    /// A note for each object that is garbage: what is said of it is easily misread.
    fn garbage_notes(&self, objects: &[ObjectId]) -> Vec<String> {
        let found = self.probes.paths_to_each(&Search::everywhere(), objects);
        let pairs = objects.iter().zip(found);
        let garbage = pairs.filter(|(_, trail)| trail.is_none());
        let waits = |(root, _): &(Root, ObjectId)| root.kind == RootKind::Finalizer;
        let aside = match self.heap.roots().iter().any(waits) {
            true => " (finalizers' do not count)",
            false => "",
        };
        let note = |object| {
            format!(
                "{} is garbage: no root reaches it{aside}",
                self.name(object)
            )
        };
        let mut notes: Vec<String> = garbage.map(|(object, _)| note(*object)).collect();
        notes.dedup();
        notes
    }
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    check_expectation(args)?;
    let heap = input::read(&args.heap, progress)?;
    let names = Names::of(&heap);
    let mut probes = Probes::of(&heap);
    if let Some(threads) = args.threads {
        probes = probes.threads(threads.into());
    }
    let mut asker = None;
    if let Some(name) = &args.asker {
        let thread = names.thread(name)?;
        probes = probes.ask_as(thread)?;
        asker = Some(thread);
    }
    let asking = Asking {
        heap: &heap,
        names,
        probes,
        asker,
        limit: if args.all { usize::MAX } else { args.limit },
    };
    let outcome = progress.of("asking", || args.question.ask(&asking))?;
    Ok(report(args, &asking, outcome))
}

fn check_expectation(args: &Args) -> Result<(), Problem> {
    let fits = match args.expect {
        None => true,
        Some(Expect::Yes | Expect::No) => args.question.is_of_truth(),
        Some(Expect::Empty | Expect::Nonempty) => !args.question.is_of_truth(),
    };
    let name = args.question.name();
    match (fits, args.question.is_of_truth()) {
        (true, _) => Ok(()),
        (false, true) => Err(Problem(format!(
            "{name} can be expected to be `yes` or `no`"
        ))),
        (false, false) => Err(Problem(format!(
            "{name} gives a set, which can be expected to be `empty` or `nonempty`"
        ))),
    }
}

fn report(args: &Args, asking: &Asking<'_>, outcome: Outcome) -> Report {
    let question = args.question.name();
    let (verdict, kind, why) = match outcome {
        Outcome::Truth(Truth { kind, yes, why }) => {
            let expected = args.expect != Some(Expect::No);
            let not = if yes { "" } else { "not-" };
            (
                Verdict::Truth { yes, expected },
                format!("{not}{kind}"),
                why,
            )
        }
        Outcome::Set(Set { members, mut why }) => {
            let expected = match args.expect {
                Some(Expect::Empty) => Some(Amount::Empty),
                Some(Expect::Nonempty) => Some(Amount::Nonempty),
                _ => None,
            };
            let state = if members.count == 0 {
                "empty"
            } else {
                "nonempty"
            };
            let verdict = Verdict::Set { members, expected };
            if let Verdict::Set { members, .. } = &verdict
                && !verdict.is_expected()
                && why.evidence.is_empty()
            {
                sets::show_ways(asking, &mut why, members);
            }
            (verdict, format!("{question}-{state}"), why)
        }
    };
    let objects = why.objects.iter().map(|it| named(asking.heap, *it));
    let finding = (!verdict.is_expected()).then(|| Finding {
        objects: objects.collect(),
        evidence: why.evidence.clone(),
        notes: why.notes.clone(),
        ..Finding::new(kind, Severity::Error, why.message.clone())
    });
    let answer = Answer {
        question: question.into(),
        arguments: args.question.arguments(),
        asker: asking.asker.map(Into::into),
        verdict,
        message: why.message,
        evidence: why.evidence,
        notes: why.notes,
    };
    let finding = finding.map(Box::new);
    Report::Answer { answer, finding }
}
