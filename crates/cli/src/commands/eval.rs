//! `heaphound eval`: evaluates an expression on a heap.

use std::path::{Path, PathBuf};

use heaphound_deal::check::compile;
use heaphound_deal::datum::Datum;
use heaphound_deal::diagnostic::{Diagnostic, Diagnostics};
use heaphound_deal::evaluate::{Evaluation, without_objects};
use heaphound_deal::expr::{self, Evaluated, Expression, Matching};
use heaphound_deal::part::{fails_for_good, holds_for_good};
use heaphound_deal::resolved::Rule;
use heaphound_heap::finding::{Finding, Severity};
use heaphound_heap::path::named;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::spelling::thread_name;
use heaphound_heap::view::HeapView;
use heaphound_report::answer::Kind;
use heaphound_report::figures::count;
use heaphound_report::{Answer, Members, Report, Verdict};

use crate::asker::Asker;
use crate::bindings::Bindings;
use crate::input;
use crate::listing::{Listing, count_of, left_out_note};
use crate::names::Names;
use crate::problem::{NAME_ASKER, Problem};
use crate::progress::Progress;
use crate::threads::threads;

/// Evaluate an expression on a heap. Exits with 1 if it is false, with 0 if it is true, a value or
/// a set, and with 2 if that hangs on something that the heap does not have.
///
/// docs/deal.md describes the language: `forall`, `exists` and `num_of`, sets such as `reach(o)`
/// and `pred(o)`, and all probes. Roots and objects can be written as they are (static:cache,
/// Node#17); --bind gives them shorter names.
///
/// For dom and what is based on it, paths from the stack of the asking thread do not count. In a
/// file no thread asks, unless --as names one.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound eval shop.hhs 'pred(Order#17).size() > 1'
  heaphound eval shop.hhs 'forall Order x: x.customer != null'
  heaphound eval shop.hhs 'reach(d) - reach(static:cache)' --bind d=static:orders
  heaphound eval shop.hhs 'dom(stack(current_thread()), Buffer#2)' --as thread:worker-1
  heaphound eval shop.hhs 'forall Connection c: thread_reach(c, {static:pool}).size() <= 1' --explain")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    heap: PathBuf,

    /// The expression to evaluate.
    expression: String,

    #[command(flatten)]
    asker: Asker,

    /// Bind a variable to an object, a set, a value or null: `d=static:list`, `pool={Node#1, Node#2}`,
    /// `limit=17`. May be given several times.
    #[arg(long, value_name = "NAME=WHAT")]
    bind: Vec<String>,

    /// Do not evaluate the expression. Say which probe answers it, how many traversals it takes, and
    /// which quantifiers are loops in loops.
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    listing: Listing,
}

impl Args {
    pub fn heap(&self) -> &Path {
        &self.heap
    }
}

/// The name of the text in diagnostics.
const NAME: &str = "expression";

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    let heap = input::read_heap(&args.heap, progress)?;
    let names = Names::of(&heap);
    let given = Bindings::read(&args.bind, &names)?;
    let text = &args.expression;
    let wrong = |list: Vec<Diagnostic>| Problem::from(Diagnostics::new(NAME, text, list));

    let resolved = compile(NAME, text, &given.scope(&heap))?;
    let rule = only(&resolved.rules)?;
    if !resolved.labels.is_empty() {
        let message = "the expression asks for labels, and heaps in files have none";
        return Err(wrong(vec![Diagnostic::new(rule.span, message)]));
    }
    let expression = Expression::of(&resolved, rule, Matching::Probes).ok_or_else(|| {
        let message = "this is not an expression but a statement of a rule file";
        wrong(vec![
            Diagnostic::new(rule.span, message).hint("use `heaphound check`"),
        ])
    })?;
    let probes = args.asker.probes(&heap, &names)?;
    let binder = given.binder(&heap, probes.asker());
    let bindings = binder.bind(&resolved).map_err(wrong)?;
    let reply = |verdict, message: String, notes| Answer {
        question: "eval".into(),
        arguments: vec![text.clone()],
        asker: probes.asker().map(Into::into),
        verdict,
        message,
        evidence: Vec::new(),
        notes,
    };
    let objects: Vec<ObjectId> = heap.objects().collect();
    if args.explain {
        let explained = expression.explain();
        let mut notes = Vec::new();
        if !explained.loops.is_empty() || !explained.indexed.is_empty() {
            let looks = count(expression.looks(&heap, &objects));
            notes.push(format!(
                "on this heap, that is {looks} looks at objects at most"
            ));
        }
        let answer = reply(Verdict::Value, explained.to_string(), notes);
        let finding = None;
        return Ok(Report::Answer { answer, finding });
    }
    progress.announce(expression.looks(&heap, &objects));
    let evaluated = progress.of_steps("evaluating", |steps| {
        expression.evaluate_watched(&probes, &bindings, &|_, _| false, steps)
    });
    let Evaluated {
        answer, unknown, ..
    } = evaluated.map_err(|diagnostic| {
        let nobody = expression.needs_asker() && probes.asker().is_none();
        wrong(vec![match nobody {
            true => diagnostic.hint(NAME_ASKER),
            false => diagnostic,
        }])
    })?;
    let mut notes = Vec::new();
    if let Some(span) = unknown {
        let place = text.get(span.start..span.end).unwrap_or(text);
        notes.push(format!("the heap does not have all values of `{place}`"));
    }
    if let expr::Answer::Truth(yes) = answer {
        check_known(&heap, rule, yes, &notes)?;
    }
    let mut finding = None;
    let mut evidence = Vec::new();
    let (verdict, message) = match answer {
        expr::Answer::Truth(yes) => {
            let message = match yes {
                true => "the expression is true",
                false => "the expression is false",
            };
            if !yes {
                let evaluation = Evaluation::new(&heap, &resolved, text, &bindings);
                let evaluation = evaluation.threads(threads());
                let why = evaluation.why_false(&probes, rule);
                notes.extend(why.notes.iter().cloned());
                evidence.clone_from(&why.evidence);
                finding = Some(Box::new(is_false(text, message, &notes, why)));
            }
            let expected = true;
            (Verdict::Truth { yes, expected }, message.to_string())
        }
        expr::Answer::Value(value) => (Verdict::Value, shown(&heap, &value)),
        expr::Answer::Set(set) => {
            let members = members(&heap, &set, args.listing.limit());
            notes.extend(left_out_note(&members));
            notes.extend(without_objects(&heap, &set));
            let expected = None;
            let message = match set.threads.is_empty() {
                true => count_of(set.len()),
                false => format!("{} members", set.len()),
            };
            (Verdict::Set { members, expected }, message)
        }
    };
    let answer = Answer {
        evidence,
        ..reply(verdict, message, notes)
    };
    Ok(Report::Answer { answer, finding })
}

/// Returns an error if values or parts that the heap lacks could make an expression true or false.
fn check_known(heap: &Snapshot, rule: &Rule, yes: bool, unknown: &[String]) -> Result<(), Problem> {
    if let Some(unknown) = unknown.first() {
        let message = "the expression hangs on values that the heap does not have";
        return Err(Problem::new(message).hint(unknown.clone()));
    }
    let is_for_good = match yes {
        true => holds_for_good(&rule.program),
        false => fails_for_good(&rule.program),
    };
    if heap.lacks().parts && !is_for_good {
        return Err(Problem::new(format!(
            "the expression is {yes} on what could be read, and parts of the heap are missing"
        )));
    }
    Ok(())
}

/// Returns the only statement of a text.
fn only(rules: &[Rule]) -> Result<&Rule, Problem> {
    match rules {
        [rule] => Ok(rule),
        [] => Err(Problem::new("the expression is empty")),
        rules => Err(Problem::new(format!(
            "these are {} statements; `heaphound check` takes a file of them",
            rules.len()
        ))),
    }
}

fn shown(heap: &Snapshot, value: &Datum<ObjectId>) -> String {
    match value {
        Datum::Absent | Datum::Null => "null".into(),
        Datum::Plain(value) => value.to_string(),
        Datum::Whole(value) => value.to_string(),
        Datum::Text(text) => format!("{text:?}"),
        Datum::Unknown => "a value that the heap does not have".into(),
        Datum::Object(object) => match heap.text_of(*object) {
            Some(text) => format!("{} {text:?}", heap.name_of(*object)),
            None => heap.name_of(*object),
        },
    }
}

fn members(heap: &Snapshot, set: &expr::Members<ObjectId>, limit: usize) -> Members {
    let objects = set.iter().map(|it| named(heap, it).into());
    let threads = set.threads.iter();
    let threads = threads.map(|&it| thread_name(&heap.threads()[it]).into());
    let listed = objects.chain(threads).take(limit);
    Members {
        of: Kind::Objects,
        count: set.len(),
        listed: listed.collect(),
    }
}

fn is_false(expression: &str, message: &str, notes: &[String], why: Finding) -> Finding {
    Finding {
        rule: Some(in_one_line(expression)),
        objects: why.objects,
        evidence: why.evidence,
        notes: notes.to_vec(),
        ..Finding::new("false", Severity::Error, message)
    }
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
