//! `heaphound eval`: what an expression comes to on a heap.

use std::path::PathBuf;

use heaphound_deal::check::compile;
use heaphound_deal::datum::Datum;
use heaphound_deal::diagnostic::{Diagnostic, Diagnostics};
use heaphound_deal::expr::{self, Evaluated, Expression, Matching};
use heaphound_deal::resolved::Rule;
use heaphound_heap::finding::{Finding, Severity};
use heaphound_heap::probe::Probes;
use heaphound_heap::set::ObjectSet;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_report::answer::Kind;
use heaphound_report::{Answer, Members, Report, Verdict};

use crate::bindings::Bindings;
use crate::input;
use crate::names::Names;
use crate::problem::Problem;
use crate::progress::Progress;

/// Evaluate an expression on a heap. Exits with 0 if it is true, a value or a set, with 1 if
/// it is false.
///
/// The language is that of docs/deal.md: `forall`, `exists` and `num_of`, sets such as
/// `reach(o)` and `pred(o)`, probes by name. Roots and objects stand for themselves
/// (static:cache, Node#17); --bind gives them shorter names.
///
/// Paths through the asking thread's own stack do not count against dom and what is built
/// on it: to ask takes a reference. In a file nobody asks unless --as says who.
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
    pub heap: PathBuf,

    /// What to evaluate.
    expression: String,

    /// The thread that asks: `thread:main` or `main`.
    #[arg(long = "as", value_name = "THREAD")]
    asker: Option<String>,

    /// Bind a variable to an object, a value or null: `d=static:list`, `limit=17`. May be given
    /// again.
    #[arg(long, value_name = "NAME=WHAT")]
    bind: Vec<String>,

    /// Do not evaluate it, but say as which probe it would run, and how many traversals it
    /// would take.
    #[arg(long)]
    explain: bool,

    /// How many threads trace the heap; by default one a core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,

    /// How many members of a set to list.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,

    /// List all members of a set.
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

/// What the text is called in diagnostics.
const NAME: &str = "expression";

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    let heap = input::read(&args.heap, progress)?;
    let names = Names::of(&heap);
    let given = Bindings::read(&args.bind, &names)?;
    let text = &args.expression;
    let wrong = |list: Vec<Diagnostic>| Problem(Diagnostics::new(NAME, text, list).to_string());

    let compiled = compile(NAME, text, &given.scope(&heap));
    let resolved = compiled.map_err(|wrong| Problem(wrong.to_string()))?;
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
    let mut probes = Probes::of(&heap);
    if let Some(threads) = args.threads {
        probes = probes.threads(threads.into());
    }
    if let Some(name) = &args.asker {
        probes = probes.ask_as(names.thread(name)?)?;
    }
    let binder = given.binder(&heap, probes.asker());
    let bindings = binder.bind(&resolved).map_err(wrong)?;
    let report = |verdict, message: String, notes| Answer {
        question: "eval".into(),
        arguments: vec![text.clone()],
        asker: probes.asker().map(Into::into),
        verdict,
        message,
        evidence: Vec::new(),
        notes,
    };
    if args.explain {
        let explained = expression.explain().to_string();
        let answer = report(Verdict::Value, explained, Vec::new());
        return Ok(told(args, answer, Vec::new()));
    }
    let evaluated = progress.of("evaluating", || expression.evaluate(&probes, &bindings));
    let Evaluated { answer, unknown } = evaluated.map_err(|diagnostic| {
        let nobody = expression.needs_asker() && probes.asker().is_none();
        wrong(vec![match nobody {
            true => diagnostic.hint("name one, as in `--as thread:main`"),
            false => diagnostic,
        }])
    })?;
    let mut notes = Vec::new();
    if let Some(span) = unknown {
        let place = text.get(span.start..span.end).unwrap_or(text);
        notes.push(format!(
            "the heap does not have all values of `{place}`: those are unlike everything"
        ));
    }
    let mut findings = Vec::new();
    let (verdict, message) = match answer {
        expr::Answer::Truth(yes) => {
            let message = match yes {
                true => "the expression is true",
                false => "the expression is false",
            };
            if !yes {
                findings.push(finding(text, message, &notes));
            }
            let expected = true;
            (Verdict::Truth { yes, expected }, message.to_string())
        }
        expr::Answer::Value(value) => (Verdict::Value, shown(&heap, &value)),
        expr::Answer::Set(set) => {
            let limit = if args.all { usize::MAX } else { args.limit };
            let members = members(&heap, &set, limit);
            if members.left_out() > 0 {
                let (listed, count) = (members.listed.len(), members.count);
                notes.push(format!(
                    "{listed} of {count} are listed; --all lists them all"
                ));
            }
            let message = match set.len() {
                0 => "no objects".into(),
                1 => "1 object".into(),
                n => format!("{n} objects"),
            };
            let expected = None;
            (Verdict::Set { members, expected }, message)
        }
    };
    Ok(told(args, report(verdict, message, notes), findings))
}

fn told(args: &Args, answer: Answer, findings: Vec<Finding>) -> Report {
    Report {
        command: "eval".into(),
        heap: args.heap.display().to_string(),
        answer: Some(answer),
        findings,
        ..Report::default()
    }
}

/// The one statement of a text.
fn only(rules: &[Rule]) -> Result<&Rule, Problem> {
    match rules {
        [rule] => Ok(rule),
        [] => Err(Problem("the expression is empty".into())),
        rules => Err(Problem(format!(
            "these are {} statements; `heaphound check` takes a file of them",
            rules.len()
        ))),
    }
}

fn shown(heap: &Snapshot, value: &Datum<ObjectId>) -> String {
    match value {
        Datum::Absent | Datum::Null => "null".into(),
        Datum::Plain(value) => value.to_string(),
        Datum::Text(text) => format!("{text:?}"),
        Datum::Unknown => "a value that the heap does not have".into(),
        Datum::Object(object) => match heap.text_of(*object) {
            Some(text) => format!("{} {text:?}", heap.name_of(*object)),
            None => heap.name_of(*object),
        },
    }
}

fn members(heap: &Snapshot, set: &ObjectSet<ObjectId>, limit: usize) -> Members {
    let listed = set.iter().take(limit).map(|it| heap.name_of(it));
    Members {
        of: Kind::Objects,
        count: set.len(),
        listed: listed.collect(),
    }
}

fn finding(expression: &str, message: &str, notes: &[String]) -> Finding {
    Finding {
        rule: Some(in_one_line(expression)),
        notes: notes.to_vec(),
        ..Finding::new("false", Severity::Error, message)
    }
}

fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
