//! `heaphound probe`: asks a heap one question, and shows the paths that prove the answer.
//!
//! Elsewhere: the questions (`question.rs`), the heap that is asked (`asking.rs`), what an answer
//! consists of (`outcome.rs`), answers that are yes or no (`truth.rs`) or sets (`sets.rs`).

mod asking;
mod outcome;
mod question;
mod sets;
mod truth;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use heaphound_heap::finding::{Finding, Severity};
use heaphound_heap::path::named;
use heaphound_report::answer::Amount;
use heaphound_report::{Answer, Report, Verdict};

use crate::asker::Asker;
use crate::input;
use crate::listing::Listing;
use crate::names::Names;
use crate::problem::Problem;
use crate::progress::Progress;
use asking::Asking;
use outcome::{Outcome, Set, Truth};
use question::Question;

/// Ask a heap a question. Exits with 0 if the answer is as expected, with 1 if it is not.
///
/// The answer to some questions is yes or no: yes is expected, unless --expect says no. The answer
/// to the others is a set: nothing is expected, unless --expect says empty or nonempty. `heaphound
/// --help` shows how objects are named.
///
/// A program that asks about an object has a reference to it on its stack. Such references must not
/// change the answer: for dom and the questions that are based on it, paths from the stack of the
/// asking thread do not count. In a file no thread asks, unless --as names one.
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
    heap: PathBuf,

    #[command(subcommand)]
    question: Question,

    #[command(flatten)]
    asker: Asker,

    /// What the answer should be: yes or no; for a set, empty or nonempty.
    #[arg(long, value_name = "ANSWER", global = true)]
    expect: Option<Expect>,

    #[command(flatten)]
    listing: Listing,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Expect {
    Yes,
    No,
    Empty,
    Nonempty,
}

impl Args {
    pub fn heap(&self) -> &Path {
        &self.heap
    }
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    check_expectation(args)?;
    let heap = input::read_heap(&args.heap, progress)?;
    let names = Names::of(&heap);
    let asking = Asking {
        heap: &heap,
        probes: args.asker.probes(&heap, &names)?,
        names,
        limit: args.listing.limit(),
    };
    let outcome = progress.of("asking", || args.question.ask(&asking))?;
    Ok(report(args, &asking, outcome))
}

/// Returns an error if the answer cannot be what --expect says.
fn check_expectation(args: &Args) -> Result<(), Problem> {
    let name = args.question.spelling().name;
    match (args.expect, &args.question) {
        (Some(Expect::Empty | Expect::Nonempty), Question::Truth(_)) => Err(Problem::new(format!(
            "{name} can be expected to be `yes` or `no`"
        ))),
        (Some(Expect::Yes | Expect::No), Question::Set(_)) => Err(Problem::new(format!(
            "{name} gives a set, which can be expected to be `empty` or `nonempty`"
        ))),
        _ => Ok(()),
    }
}

fn report(args: &Args, asking: &Asking<'_>, outcome: Outcome) -> Report {
    let question = args.question.spelling();
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
                sets::add_paths(asking, &mut why, members);
            }
            (verdict, format!("{}-{state}", question.name), why)
        }
    };
    let finding = (!verdict.is_expected()).then(|| Finding {
        objects: why
            .objects
            .iter()
            .map(|it| named(asking.heap, *it))
            .collect(),
        evidence: why.evidence.clone(),
        notes: why.notes.clone(),
        ..Finding::new(kind, Severity::Error, why.message.clone())
    });
    let answer = Answer {
        question: question.name.into(),
        arguments: question.arguments,
        asker: asking.asker().map(Into::into),
        verdict,
        message: why.message,
        evidence: why.evidence,
        notes: why.notes,
    };
    let finding = finding.map(Box::new);
    Report::Answer { answer, finding }
}
