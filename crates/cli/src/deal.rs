//! `heaphound deal`: what concerns rule files themselves. Formats them; says how they are
//! evaluated.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use heaphound_deal::check::compile;
use heaphound_deal::diagnostic::Diagnostics;
use heaphound_deal::fmt::{Style, format};
use heaphound_deal::infer::Inferred;
use heaphound_deal::plan::{Explain, Plans};
use heaphound_heap::finding::{Finding, Severity};
use heaphound_report::Report;

use crate::bindings::Bindings;
use crate::check::read;
use crate::input;
use crate::names::Names;
use crate::problem::Problem;
use crate::progress::Progress;

/// Format rule files; explain how rules are evaluated.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
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
pub struct FmtArgs {
    /// The files; `-` reads stdin and writes stdout.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Write nothing; exit with 1 and name the files that would change.
    #[arg(long)]
    check: bool,

    /// Write the papers' symbols: `∀x ∈ Node: a ⇒ b`.
    #[arg(long)]
    unicode: bool,
}

/// Say how rules are evaluated: in which traversals, and what is tested in each.
///
/// With a heap, names are checked against its classes. Without one, whatever is named is taken
/// to exist.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  heaphound deal explain heap.deal
  heaphound deal explain 'assertion(forall Node x: reach[d](x) -> x.next.prev == x)'
  heaphound deal explain heap.deal --heap shop.hhs --bind d=static:orders")]
pub struct ExplainArgs {
    /// A file of rules, or a statement.
    #[arg(value_name = "FILE|TEXT")]
    what: String,

    /// A heap whose classes and roots the rules are about.
    #[arg(long, value_name = "HEAP")]
    pub heap: Option<PathBuf>,

    /// Bind a variable, where there is a heap: `d=static:list`, `limit=17`. May be given again.
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
        let is_stdin = path == Path::new("-");
        let name = if is_stdin {
            "stdin".into()
        } else {
            path.display().to_string()
        };
        let text = match is_stdin {
            true => read_stdin()?,
            false => read(path)?,
        };
        match format(&name, &text, style) {
            Ok(new) => formatted.push((path, name, text, new)),
            Err(diagnostics) => wrong.push(diagnostics.to_string()),
        }
    }
    // All mistakes at once, and then nothing is written.
    if !wrong.is_empty() {
        return Err(Problem(wrong.join("\n")));
    }
    let mut printed = String::new();
    let mut findings = Vec::new();
    for (path, name, text, new) in formatted {
        let is_stdin = path == Path::new("-");
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
            let cannot = |error| Problem(format!("cannot write {name}: {error}"));
            std::fs::write(path, new).map_err(cannot)?;
        }
    }
    Ok(Report::Formatted {
        text: printed,
        findings,
    })
}

fn read_stdin() -> Result<String, Problem> {
    let mut text = String::new();
    let cannot = |error| Problem(format!("cannot read stdin: {error}"));
    std::io::stdin().read_to_string(&mut text).map_err(cannot)?;
    Ok(text)
}

fn explain(args: &ExplainArgs, progress: &Progress) -> Result<Report, Problem> {
    let path = Path::new(&args.what);
    let (name, text) = match path.is_file() || args.what.ends_with(".deal") {
        true => (args.what.as_str(), read(path)?),
        false => ("statement", args.what.clone()),
    };
    let resolved = match &args.heap {
        Some(heap) => {
            let heap = input::read(heap, progress)?;
            let given = Bindings::read(&args.bind, &Names::of(&heap))?;
            compile(name, &text, &given.scope(&heap)).and_then(|resolved| {
                let bound = given.binder(&heap, None).bind(&resolved);
                bound.map_err(|list| Diagnostics::new(name, &text, list))?;
                Ok(resolved)
            })
        }
        None => {
            let inferred = Inferred::from(text.as_str());
            compile(name, &text, &inferred.scope())
        }
    };
    let resolved = resolved.map_err(|wrong| Problem(wrong.to_string()))?;
    let explained = Explain {
        text: &text,
        resolved: &resolved,
        plans: &Plans::new(&resolved),
    };
    Ok(Report::Explanation {
        subject: args.what.clone(),
        text: explained.to_string(),
    })
}
