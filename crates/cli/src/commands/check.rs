//! `heaphound check`: checks whether rules hold on a heap, and shows why not.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use heaphound_deal::check::compile_rules;
use heaphound_deal::datum::Datum;
use heaphound_deal::evaluate::{Evaluation, Judged, evaluate_all};
use heaphound_deal::part::{fails_for_good, holds_for_good};
use heaphound_deal::resolved::{Program, Resolved};
use heaphound_deal::verdict::{Answer, Verdict, finding_of};
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_report::Report;
use heaphound_report::rules::{self, Rule, Rules};

use crate::asker::Asker;
use crate::bindings::Bindings;
use crate::built_in::{self, BuiltIn};
use crate::findings::Findings;
use crate::input;
use crate::listing::count_of;
use crate::names::{Names, nearest};
use crate::problem::{NAME_ASKER, Problem};
use crate::progress::Progress;
use crate::threads::threads;

/// Check whether rules hold on a heap. Exits with 1 if one does not, with 2 if one could not be
/// checked.
///
/// A rule cannot be checked if it speaks of a class, a root or an object that the heap does not
/// know, or of labels, which heaps in files do not have, or if parts of the heap or values are missing that
/// could change the result. The others are checked all the same.
///
/// Rules are DeAL assertions, GC assertions and PHALANX expressions (docs/deal.md). A rule with the
/// severity `note` does not change the exit code. A query is answered.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound check shop.hhs --rules heap.deal
  heaphound check shop.hhs --rules heap.deal --bind d=static:orders --bind limit=17
  heaphound check shop.hhs --rules a.deal --rules b.deal --only links-agree --verbose
  heaphound check shop.hhs --rules heap.deal --baseline heap.baseline --format sarif > heap.sarif
  heaphound check app.heapsnapshot --rules node
  heaphound check shop.hhs 'assertion(forall Order x: x.customer != null)'
  heaphound check shop.hhs 'query Order x: x.total > 1000 select x.customer limit 5'")]
pub struct Args {
    /// The heap to read; `-` is stdin.
    heap: PathBuf,

    /// A statement to check.
    text: Option<String>,

    /// A file of rules, or the name of rules that are built in: `jdk`, `node`. May be given several times.
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,

    /// Bind a variable to an object, a set, a value or null: `d=static:list`, `pool={Node#1}`,
    /// `limit=17`, `name=\"text\"`. May be given several times.
    #[arg(long, value_name = "NAME=WHAT")]
    bind: Vec<String>,

    /// Check only the rule of this name. May be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,

    #[command(flatten)]
    asker: Asker,

    /// List the rules that hold, too, and the object that makes an `exists` true.
    #[arg(long, short)]
    verbose: bool,

    /// Exit as if rules that could not be checked were not there.
    #[arg(long)]
    allow_unchecked: bool,

    #[command(flatten)]
    pub findings: Findings,
}

impl Args {
    pub fn heap(&self) -> &Path {
        &self.heap
    }
}

/// How many objects a query lists if it has no limit of its own.
const MOST_LISTED: usize = 20;

/// How many notes about a heap are repeated with each rule.
const MOST_NOTES: usize = 3;

/// A statement without a name is shown by its text, up to this many characters.
const LONGEST_NAME: usize = 60;

/// A text with rules.
struct Source {
    name: String,
    text: String,
    /// Where its lines start.
    lines: Vec<usize>,
    /// The rules that it is, if they are built in.
    built_in: Option<&'static BuiltIn>,
}

impl Source {
    fn new(name: String, text: String) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        Self {
            name,
            text,
            lines,
            built_in: None,
        }
    }

    /// Returns line and column of a byte, in characters, counted from 1.
    fn place_of(&self, at: usize) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= at);
        let before = self.text.get(self.lines[line - 1]..at).unwrap_or("");
        (line, before.chars().count() + 1)
    }
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    let sources = sources(args)?;
    let heap = input::read_heap(&args.heap, progress)?;
    let names = Names::of(&heap);
    let given = Bindings::read(&args.bind, &names)?;
    let asker = args.asker.thread(&names)?;
    let mut compiled = compile_all(&sources, &given, &heap, asker)?;
    check_distinct(&sources, &compiled)?;
    check_names(args, &compiled)?;
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
        evaluation = evaluation.threads(threads());
        if let Some(asker) = asker {
            evaluation = evaluation.ask_as(asker)?;
        }
        if args.verbose {
            evaluation = evaluation.show_witnesses();
        }
        evaluations.push(evaluation);
    }
    for evaluation in &evaluations {
        progress.announce(evaluation.looks(|| heap.objects().collect()));
    }
    let evaluated = progress.of_steps("checking", |steps| {
        let evaluations = evaluations.into_iter().map(|it| it.watched(steps));
        evaluate_all(&evaluations.collect::<Vec<_>>())
    });
    for ((source, (resolved, _)), judged) in sources.iter().zip(&compiled).zip(evaluated.judged) {
        let other = source.built_in.filter(|it| !it.fit(&heap));
        for (rule, mut judged) in resolved.rules.iter().zip(judged) {
            if let Some(built_in) = other {
                let about = built_in.about;
                let reason = format!("it is about {about}, and this heap is none");
                judged.verdict = Verdict::NotChecked(reason.into());
            } else if judged.is_doubtful {
                let reason = "it hangs on values that the heap does not have";
                judged.verdict = Verdict::NotChecked(reason.into());
            } else if heap.lacks().parts {
                judged = of_part(&heap, &rule.program, judged);
            }
            rules.list.push(result(&heap, source, rule, judged));
        }
    }
    Ok(Report::Rules(rules))
}

/// Returns the texts to check: files first, in their order.
fn sources(args: &Args) -> Result<Vec<Source>, Problem> {
    let mut sources = Vec::new();
    for path in &args.rules {
        let name = path.display().to_string();
        let built_in = built_in::rules(path);
        let text = match built_in {
            Some(built_in) => built_in.text.into(),
            None => input::read_text(path).map_err(|it| match path.exists() {
                true => it,
                false => {
                    it.hint_unless_any(format!("built in are `{}`", built_in::names().join("`, `")))
                }
            })?,
        };
        sources.push(Source {
            built_in,
            ..Source::new(name, text)
        });
    }
    let statement = |text: &String| Source::new("statement".into(), text.clone());
    sources.extend(args.text.iter().map(statement));
    match sources.is_empty() {
        true => Err(Problem::new("there is nothing to check").hint(format!(
            "give a file, `--rules FILE`, rules that are built in, `--rules {}`, or a statement",
            built_in::names().join("` or `--rules ")
        ))),
        false => Ok(sources),
    }
}

type Bound = heaphound_deal::bind::Bindings<ObjectId>;

/// Compiles all texts. The error lists the mistakes of all of them.
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
    for Source { name, text, .. } in sources {
        match compile_rules(name, text, &scope) {
            Ok(resolved) => {
                // A rule that speaks of what is not there is not checked; the others are.
                let bindings = binder.bind_present(&resolved);
                compiled.push((resolved, bindings));
            }
            Err(diagnostics) => wrong.push(diagnostics),
        }
    }
    match wrong.is_empty() {
        true => Ok(compiled),
        false => Err(wrong.into()),
    }
}

/// Returns an error if a file has no rules, or if two files have rules of one name.
fn check_distinct(sources: &[Source], compiled: &[(Resolved, Bound)]) -> Result<(), Problem> {
    let mut known: HashMap<&str, &str> = HashMap::new();
    for (source, (resolved, _)) in sources.iter().zip(compiled) {
        let file = source.name.as_str();
        if resolved.rules.is_empty() {
            let reason = format!("{file} has no rules: nothing is checked");
            return Err(Problem::new(reason));
        }
        for name in resolved.rules.iter().filter_map(|it| it.name.as_deref()) {
            if let Some(other) = known.insert(name, file) {
                let reason = match other == file {
                    true => format!("{file} is given twice: it has rule `{name}`"),
                    false => format!("{other} and {file} both have a rule `{name}`"),
                };
                return Err(Problem::new(reason));
            }
        }
    }
    Ok(())
}

/// Returns an error if --only names a rule that does not exist.
fn check_names(args: &Args, compiled: &[(Resolved, Bound)]) -> Result<(), Problem> {
    let rules = compiled.iter().flat_map(|(resolved, _)| &resolved.rules);
    let known: Vec<&str> = rules.filter_map(|it| it.name.as_deref()).collect();
    for name in &args.only {
        if !known.contains(&name.as_str()) {
            let near = nearest(name, known.iter().map(|it| (*it, it.to_string())));
            let message = format!("there is no rule `{name}`");
            return Err(Problem::new(message).suggest(&near));
        }
    }
    Ok(())
}

/// Returns what is said of a rule on a heap of which parts are missing.
fn of_part(heap: &Snapshot, program: &Program, mut judged: Judged<ObjectId>) -> Judged<ObjectId> {
    let holds = match judged.verdict {
        Verdict::Holds if !holds_for_good(program) => Some("holds"),
        Verdict::Fails(_) if !fails_for_good(program) => Some("does not hold"),
        _ => None,
    };
    if let Some(holds) = holds {
        let reason = format!("it {holds} on what could be read, and parts of the heap are missing");
        judged.verdict = Verdict::NotChecked(reason.into());
    }
    if !matches!(judged.verdict, Verdict::Fails(_)) {
        judged
            .notes
            .extend(heap.notes().iter().take(MOST_NOTES).cloned());
    }
    judged
}

/// Returns the result of a rule as the report has it.
fn result(
    heap: &Snapshot,
    source: &Source,
    rule: &heaphound_deal::resolved::Rule,
    judged: Judged<ObjectId>,
) -> Rule {
    let (line, column) = source.place_of(rule.span.start);
    let mut result = Rule {
        name: rule
            .name
            .clone()
            .unwrap_or_else(|| short(&source.text, rule)),
        place: format!("{}:{line}:{column}", source.name),
        fingerprint: finding_of(rule, &source.text).fingerprint(),
        verdict: rules::Verdict::Holds,
        message: String::new(),
        listed: Vec::new(),
        left_out: 0,
        notes: judged.notes,
    };
    match judged.verdict {
        Verdict::Holds => {}
        Verdict::Fails(mut finding) => {
            finding.place = Some(result.place.clone());
            finding.notes.append(&mut result.notes.clone());
            result.verdict = rules::Verdict::Fails(finding);
        }
        Verdict::NotChecked(why) => {
            result.verdict = rules::Verdict::NotChecked;
            if why.nobody_asks {
                result.notes.push(NAME_ASKER.into());
            }
            result.message = why.reason;
        }
        Verdict::Found(answer) => {
            result.verdict = rules::Verdict::Told;
            put_answer(heap, answer, &mut result);
        }
    }
    result
}

fn put_answer(heap: &Snapshot, answer: Answer<ObjectId>, result: &mut Rule) {
    let (lines, count): (Vec<String>, usize) = match answer {
        Answer::Value(value) => {
            result.message = shown(heap, &value);
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
    result.message = count_of(count);
    result.left_out = count - lines.len();
    result.listed = lines;
}

fn shown(heap: &Snapshot, value: &Datum<ObjectId>) -> String {
    match value {
        Datum::Absent => "nothing".into(),
        Datum::Unknown => "a value that the heap does not have".into(),
        Datum::Null => "null".into(),
        Datum::Plain(value) => value.to_string(),
        Datum::Whole(value) => value.to_string(),
        Datum::Text(text) => format!("{text:?}"),
        Datum::Object(object) => match heap.text_of(*object) {
            Some(text) => format!("{} {text:?}", heap.name_of(*object)),
            None => heap.name_of(*object),
        },
    }
}

/// Returns the beginning of a statement without a name.
fn short(text: &str, rule: &heaphound_deal::resolved::Rule) -> String {
    let text = text.get(rule.span.start..rule.span.end).unwrap_or(text);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
