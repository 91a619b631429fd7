//! `heaphound check`: whether the rules of some files hold on a heap, and why not.

use std::path::{Path, PathBuf};

use heaphound_deal::check::compile_rules;
use heaphound_deal::datum::Datum;
use heaphound_deal::evaluate::{Evaluation, Judged, evaluate_all};
use heaphound_deal::resolved::Resolved;
use heaphound_deal::verdict::{Answer, Verdict};
use heaphound_heap::finding::Finding;
use heaphound_heap::probe::ProbeError;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_report::Report;
use heaphound_report::rules::{self, Rule, Rules};

use crate::bindings::Bindings;
use crate::input;
use crate::names::{Names, nearest};
use crate::problem::Problem;
use crate::progress::Progress;

/// Check whether rules hold on a heap. Exits with 1 if one does not, with 2 if one could not be
/// checked.
///
/// A rule cannot be checked if it speaks of a class, a root or an object that the heap does not
/// know, or of labels, which heaps in files do not have. The others are checked all the same.
///
/// Rules are DeAL assertions, GC assertions and PHALANX expressions (docs/deal.md). A rule
/// that is only a note does not make the command fail. A query is answered.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound check shop.hhs --rules heap.deal
  heaphound check shop.hhs --rules heap.deal --bind d=static:orders --bind limit=17
  heaphound check shop.hhs --rules a.deal --rules b.deal --only links-agree --verbose
  heaphound check shop.hhs 'assertion(forall Order x: x.customer != null)'
  heaphound check shop.hhs 'query Order x: x.total > 1000 select x.customer limit 5'")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    pub heap: PathBuf,

    /// A statement to check.
    #[arg(required_unless_present = "rules")]
    text: Option<String>,

    /// A file of rules. May be given again.
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,

    /// Bind a variable to an object, a value or null: `d=static:list`, `limit=17`,
    /// `name=\"text\"`. May be given again.
    #[arg(long, value_name = "NAME=WHAT")]
    bind: Vec<String>,

    /// Check only the rules of these names.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,

    /// The thread that asks: `thread:main` or `main`.
    #[arg(long = "as", value_name = "THREAD")]
    asker: Option<String>,

    /// Tell of the rules that hold, too, and which object makes an `exists` true.
    #[arg(long, short)]
    verbose: bool,

    /// Exit as if rules that could not be checked were not there.
    #[arg(long)]
    allow_unchecked: bool,

    /// How many threads trace the heap; by default one a core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
}

/// How many objects a query lists that has no limit of its own.
const MOST_LISTED: usize = 20;

/// How much of a statement without a name is shown in its place.
const LONGEST_NAME: usize = 60;

/// Some rules, and what is known of them.
struct Source {
    name: String,
    text: String,
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    let sources = sources(args)?;
    let heap = input::read(&args.heap, progress)?;
    let names = Names::of(&heap);
    let given = Bindings::read(&args.bind, &names)?;
    let asker = match &args.asker {
        Some(name) => Some(names.thread(name)?),
        None => None,
    };
    let mut compiled = compile_all(&sources, &given, &heap, asker)?;
    check_names(args, &compiled)?;
    let mut report = Report {
        command: "check".into(),
        heap: args.heap.display().to_string(),
        ..Report::default()
    };
    let mut rules = Rules {
        verbose: args.verbose,
        allows_unchecked: args.allow_unchecked,
        ..Rules::default()
    };
    for (resolved, _) in &mut compiled {
        resolved.rules.retain(|it| {
            args.only.is_empty() || it.name.as_ref().is_some_and(|it| args.only.contains(it))
        });
    }
    let mut evaluations = Vec::new();
    for (source, (resolved, bindings)) in sources.iter().zip(&compiled) {
        let mut evaluation =
            Evaluation::new(&heap, resolved, &source.text, bindings).note_unknown_values();
        if let Some(threads) = args.threads {
            evaluation = evaluation.threads(threads.into());
        }
        if let Some(asker) = asker {
            evaluation = evaluation.ask_as(asker)?;
        }
        if args.verbose {
            evaluation = evaluation.show_witnesses();
        }
        evaluations.push(evaluation);
    }
    let evaluated = progress.of("checking", || evaluate_all(&evaluations));
    for ((source, (resolved, _)), judged) in sources.iter().zip(&compiled).zip(evaluated.judged) {
        for (rule, judged) in resolved.rules.iter().zip(judged) {
            tell(
                &heap,
                source,
                rule,
                judged,
                &mut rules,
                &mut report.findings,
            );
        }
    }
    report.rules = Some(rules);
    Ok(report)
}

/// The texts to check: files first, in their order.
fn sources(args: &Args) -> Result<Vec<Source>, Problem> {
    let mut sources = Vec::new();
    for path in &args.rules {
        sources.push(Source {
            name: path.display().to_string(),
            text: read(path)?,
        });
    }
    sources.extend(args.text.iter().map(|text| Source {
        name: "statement".into(),
        text: text.clone(),
    }));
    Ok(sources)
}

/// The text of a file of rules.
pub fn read(path: &Path) -> Result<String, Problem> {
    let name = path.display();
    let bytes = std::fs::read(path).map_err(|it| Problem(format!("cannot read {name}: {it}")))?;
    String::from_utf8(bytes).map_err(|_| Problem(format!("{name} is not text in UTF-8")))
}

type Bound = heaphound_deal::bind::Bindings<ObjectId>;

/// Checks all texts, and says all that is wrong in any of them.
fn compile_all(
    sources: &[Source],
    given: &Bindings,
    heap: &Snapshot,
    asker: Option<&str>,
) -> Result<Vec<(Resolved, Bound)>, Problem> {
    let scope = given.scope(heap);
    let binder = given.binder(heap, asker);
    let mut compiled = Vec::new();
    let mut wrong = Vec::new();
    for Source { name, text } in sources {
        match compile_rules(name, text, &scope) {
            Ok(resolved) => {
                // A rule that speaks of what is not there is not checked; the others are.
                let bindings = binder.bind_present(&resolved);
                compiled.push((resolved, bindings));
            }
            Err(diagnostics) => wrong.push(diagnostics.to_string()),
        }
    }
    match wrong.is_empty() {
        true => Ok(compiled),
        false => Err(Problem(wrong.join("\n"))),
    }
}

/// Whether there are rules of the names that were asked for.
fn check_names(args: &Args, compiled: &[(Resolved, Bound)]) -> Result<(), Problem> {
    let rules = compiled.iter().flat_map(|(resolved, _)| &resolved.rules);
    let known: Vec<&str> = rules.filter_map(|it| it.name.as_deref()).collect();
    for name in &args.only {
        if !known.contains(&name.as_str()) {
            let near = nearest(name, known.iter().map(|it| (*it, it.to_string())));
            let message = format!("there is no rule `{name}`");
            return Err(Problem::with_suggestions(message, &near));
        }
    }
    Ok(())
}

/// Adds what came of a rule.
fn tell(
    heap: &Snapshot,
    source: &Source,
    rule: &heaphound_deal::resolved::Rule,
    judged: Judged<ObjectId>,
    rules: &mut Rules,
    findings: &mut Vec<Finding>,
) {
    let (line, column) = place_of(&source.text, rule.span.start);
    let mut told = Rule {
        name: rule
            .name
            .clone()
            .unwrap_or_else(|| short(&source.text, rule)),
        place: format!("{}:{line}:{column}", source.name),
        verdict: rules::Verdict::Holds,
        message: String::new(),
        listed: Vec::new(),
        left_out: 0,
        notes: judged.notes,
    };
    let is_question = matches!(judged.verdict, Verdict::Found(_));
    rules.count += !is_question as usize;
    match judged.verdict {
        Verdict::Holds => {}
        Verdict::Fails(mut finding) => {
            rules.failed += 1;
            told.verdict = rules::Verdict::Fails;
            finding.place = Some(told.place.clone());
            finding.notes.append(&mut told.notes.clone());
            findings.push(*finding);
        }
        Verdict::NotChecked(reason) => {
            rules.not_checked += 1;
            told.verdict = rules::Verdict::NotChecked;
            if reason.contains(&ProbeError::NobodyAsks.to_string()) {
                told.notes.push("name one, as in `--as thread:main`".into());
            }
            told.message = reason;
        }
        Verdict::Found(answer) => {
            told.verdict = rules::Verdict::Told;
            tell_answer(heap, answer, &mut told);
        }
    }
    rules.list.push(told);
}

fn tell_answer(heap: &Snapshot, answer: Answer<ObjectId>, told: &mut Rule) {
    let (lines, count): (Vec<String>, usize) = match answer {
        Answer::Value(value) => {
            told.message = shown(heap, &value);
            return;
        }
        Answer::Objects(objects, count) => {
            let names = objects.iter().take(MOST_LISTED);
            (names.map(|it| heap.name_of(*it)).collect(), count)
        }
        Answer::Rows(rows, count) => {
            let rows = rows.into_iter().take(MOST_LISTED);
            let line = |(object, values): (ObjectId, Vec<String>)| {
                format!("{}: {}", heap.name_of(object), values.join(", "))
            };
            (rows.map(line).collect(), count)
        }
    };
    told.message = match count {
        0 => "no objects".into(),
        1 => "1 object".into(),
        n => format!("{n} objects"),
    };
    told.left_out = count - lines.len();
    told.listed = lines;
}

fn shown(heap: &Snapshot, value: &Datum<ObjectId>) -> String {
    match value {
        Datum::Absent => "nothing".into(),
        Datum::Unknown => "a value that the heap does not have".into(),
        Datum::Null => "null".into(),
        Datum::Plain(value) => value.to_string(),
        Datum::Text(text) => format!("{text:?}"),
        Datum::Object(object) => match heap.text_of(*object) {
            Some(text) => format!("{} {text:?}", heap.name_of(*object)),
            None => heap.name_of(*object),
        },
    }
}

/// The beginning of a statement without a name.
fn short(text: &str, rule: &heaphound_deal::resolved::Rule) -> String {
    let text = text.get(rule.span.start..rule.span.end).unwrap_or(text);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Line and column, in characters, counted from 1.
fn place_of(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before[start..].chars().count() + 1)
}
