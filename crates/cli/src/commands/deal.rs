//! `heaphound deal`: formats rule files, and explains how rules are evaluated.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use heaphound_deal::check::compile;
use heaphound_deal::diagnostic::Diagnostics;
use heaphound_deal::expr::{Expression, Matching};
use heaphound_deal::fmt::{Style, format};
use heaphound_deal::infer::Inferred;
use heaphound_deal::plan::{Explain, Plans};
use heaphound_heap::finding::{Finding, Severity};
use heaphound_heap::snapshot::ObjectId;
use heaphound_report::Report;
use heaphound_report::figures::count;

use crate::bindings::Bindings;
use crate::input;
use crate::names::Names;
use crate::output;
use crate::problem::Problem;
use crate::progress::Progress;

/// Format rule files; explain how rules are evaluated.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound deal fmt heap.deal
  heaphound deal explain heap.deal --heap shop.hhs")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

impl Args {
    pub fn heap(&self) -> &Path {
        match &self.command {
            Command::Explain(args) => args.heap.as_deref().unwrap_or(Path::new("")),
            Command::Fmt(_) => Path::new(""),
        }
    }
}

#[derive(Subcommand)]
enum Command {
    Fmt(FmtArgs),
    Explain(ExplainArgs),
}

/// Format rule files in place.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound deal fmt heap.deal
  heaphound deal fmt heap.deal --unicode
  heaphound deal fmt --check *.deal")]
struct FmtArgs {
    /// The files; `-` reads stdin and writes stdout.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Write nothing. Print the names of files that are not formatted, and exit with 1 if there
    /// are any.
    #[arg(long)]
    check: bool,

    /// Write the symbols of the papers: `∀x ∈ Node: a ⇒ b`.
    #[arg(long)]
    unicode: bool,
}

/// Explain how rules are evaluated: in which traversals, and what each traversal tests.
///
/// With a heap, names are checked against its classes. Without a heap, all names are accepted.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound deal explain heap.deal
  heaphound deal explain 'assertion(forall Node x: reach[d](x) -> x.next.prev == x)'
  heaphound deal explain heap.deal --heap shop.hhs --bind d=static:orders")]
struct ExplainArgs {
    /// A file of rules, or a statement; `-` is stdin.
    #[arg(value_name = "FILE|TEXT")]
    what: String,

    /// A heap whose classes and roots the rules are about.
    #[arg(long, value_name = "HEAP")]
    heap: Option<PathBuf>,

    /// Bind a variable to an object or a value of the heap: `d=static:list`, `limit=17`. May be
    /// given several times.
    #[arg(long, value_name = "NAME=WHAT", requires = "heap")]
    bind: Vec<String>,
}

pub fn run(args: &Args, progress: &Progress) -> Result<Report, Problem> {
    match &args.command {
        Command::Fmt(args) => fmt(args),
        Command::Explain(args) => explain(args, progress),
    }
}

fn fmt(args: &FmtArgs) -> Result<Report, Problem> {
    let style = match args.unicode {
        true => Style::Unicode,
        false => Style::Ascii,
    };
    let mut formatted = Vec::new();
    let mut wrong = Vec::new();
    for path in &args.files {
        let name = match input::is_stdin(path) {
            true => "stdin".into(),
            false => path.display().to_string(),
        };
        if !input::is_stdin(path) && path.exists() && !path.is_file() {
            let reason = format!("{name} is no file that can be formatted in place");
            return Err(Problem::new(reason).hint("`-` formats stdin to stdout"));
        }
        let text = input::read_text(path)?;
        match format(&name, &text, style) {
            Ok(new) => formatted.push((path, name, text, new)),
            Err(diagnostics) => wrong.push(diagnostics),
        }
    }
    // If one file has mistakes, no file is written.
    if !wrong.is_empty() {
        return Err(wrong.into());
    }
    let mut printed = String::new();
    let mut findings = Vec::new();
    for (path, name, text, new) in formatted {
        let is_stdin = input::is_stdin(path);
        if args.check && new != text {
            printed.push_str(&format!("{name}\n"));
            let message = format!("{name} is not formatted");
            findings.push(Finding {
                place: Some(name),
                ..Finding::new("not-formatted", Severity::Error, message)
            });
        } else if is_stdin && !args.check {
            printed.push_str(&new);
        } else if new != text && !args.check {
            output::write_file(path, &new)?;
        }
    }
    Ok(Report::Formatted {
        text: printed,
        findings,
    })
}

fn explain(args: &ExplainArgs, progress: &Progress) -> Result<Report, Problem> {
    let path = Path::new(&args.what);
    let is_file = input::is_stdin(path) || path.exists() || args.what.ends_with(".deal");
    let (name, text) = match is_file {
        true if input::is_stdin(path) => ("stdin", input::read_text(path)?),
        true => (args.what.as_str(), input::read_text(path)?),
        false => ("statement", args.what.clone()),
    };
    let heap = args.heap.as_ref();
    let heap = heap.map(|it| input::read_heap(it, progress)).transpose()?;
    let resolved = match &heap {
        Some(heap) => {
            let given = Bindings::read(&args.bind, &Names::of(heap))?;
            compile(name, &text, &given.scope(heap)).and_then(|resolved| {
                let bound = given.binder(heap, None).bind(&resolved);
                bound.map_err(|list| Diagnostics::new(name, &text, list))?;
                Ok(resolved)
            })
        }
        None => {
            let inferred = Inferred::from(text.as_str());
            compile(name, &text, &inferred.scope())
        }
    };
    let resolved = resolved?;
    let explained = Explain {
        text: &text,
        resolved: &resolved,
        plans: &Plans::new(&resolved),
    };
    let mut explained = explained.to_string();
    if let Some(heap) = &heap {
        let expressions = resolved.rules.iter();
        let expressions =
            expressions.filter_map(|it| Expression::of(&resolved, it, Matching::Probes));
        let nested = expressions.filter(|it| {
            let explained = it.explain();
            !explained.loops.is_empty() || !explained.indexed.is_empty()
        });
        let objects: Vec<ObjectId> = heap.objects().collect();
        let looks: Vec<u64> = nested.map(|it| it.looks(heap, &objects)).collect();
        if !looks.is_empty() {
            let looks = count(looks.into_iter().fold(0, u64::saturating_add));
            explained.push_str(&format!(
                "note: on this heap, loops in loops are {looks} looks at objects at most\n"
            ));
        }
    }
    Ok(Report::Explanation {
        subject: args.what.clone(),
        text: explained,
    })
}
