//! Printing: what a report becomes on stdout, and which exit code.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use heaphound_heap::finding::{Finding, Severity};
use heaphound_report::rules::Rules;
use heaphound_report::{Report, json, text};

use crate::args::Args;
use crate::problem::Problem;

const COULD_NOT: u8 = 2;
/// Columns where there is no terminal.
const WIDTH: usize = 100;

/// Prints a report. The exit code tells whether all is as expected.
pub fn print(report: &Report, as_json: bool) -> ExitCode {
    let printed = match as_json {
        true => write(io::stdout(), &json::report(report)),
        false => write(anstream::stdout(), &text::report(report, width())),
    };
    match printed {
        Err(error) => not_printed(&error),
        Ok(()) => code_of(report),
    }
}

/// The exit code that a report means.
fn code_of(report: &Report) -> ExitCode {
    let is_undecided = report.rules.as_ref().is_some_and(Rules::is_undecided);
    // A note is worth knowing, and nothing is wrong.
    let is_bad = |it: &Finding| it.severity > Severity::Note;
    match report.findings.iter().any(is_bad) {
        _ if is_undecided => ExitCode::from(COULD_NOT),
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// Prints text in the place of a report.
pub fn print_text_of(text: &str, report: &Report) -> ExitCode {
    match write(io::stdout(), text) {
        Ok(()) => code_of(report),
        Err(error) => not_printed(&error),
    }
}

/// Prints text that is no report of ours.
pub fn print_text(text: &str) -> ExitCode {
    match write(io::stdout(), text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => not_printed(&error),
    }
}

fn not_printed(error: &io::Error) -> ExitCode {
    let message = format!("cannot write to stdout: {error}");
    let _ = write(anstream::stderr(), &text::error(&message));
    ExitCode::from(COULD_NOT)
}

/// Says on stderr what is being done.
pub fn tell(what: &str) {
    let _ = write(io::stderr(), &format!("{what}\n"));
}

/// Prints help, or what is wrong with the command line: that to stdout too, where JSON was
/// asked for.
pub fn print_usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && std::env::args().any(|word| word == "--json") {
        let message = error.render().to_string();
        let message = message.trim_start_matches("error: ").trim_end();
        let _ = write(io::stdout(), &json::error("usage", "", message));
    }
    let _ = error.print();
    match error.use_stderr() {
        true => ExitCode::from(COULD_NOT),
        false => ExitCode::SUCCESS,
    }
}

/// Prints why there is no report: to stderr and, as JSON, to stdout.
pub fn print_problem(args: &Args, Problem(message): &Problem) -> ExitCode {
    if args.json {
        let heap = args.command.heap().display().to_string();
        let text = json::error(args.command.name(), &heap, message);
        let _ = write(io::stdout(), &text);
    }
    let _ = write(anstream::stderr(), &text::error(message));
    ExitCode::from(COULD_NOT)
}

/// Writes all, or as much as somebody reads: `| head` is not an error.
fn write(mut out: impl Write, text: &str) -> io::Result<()> {
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

fn width() -> usize {
    let terminal = console::Term::stdout();
    let size = terminal.is_term().then(|| terminal.size_checked());
    size.flatten()
        .map_or(WIDTH, |(_, columns)| columns as usize)
}
