//! Prints reports, problems and help. Nothing else writes to stdout.

use std::io::{self, ErrorKind, Write};

use heaphound_report::{Report, json, text};

use crate::args::Args;
use crate::problem::Problem;

/// Columns where there is no terminal.
const WIDTH: usize = 100;

/// Prints a report.
pub fn print(args: &Args, report: &Report) -> Result<(), Problem> {
    let heap = heap_of(args);
    let printed = match report.verbatim() {
        _ if args.json => {
            let text = json::report(args.command.name(), &heap, report);
            write(io::stdout(), &text)
        }
        Some(text) => write(io::stdout(), text),
        None => write(anstream::stdout(), &text::report(&heap, report, width())),
    };
    printed.map_err(|error| Problem::new(format!("cannot write to stdout: {error}")))
}

/// Prints why there is no report: to stderr and, as JSON, to stdout.
pub fn print_problem(args: &Args, problem: &Problem) {
    let message = problem.to_string();
    if args.json {
        let text = json::error(args.command.name(), &heap_of(args), &message);
        let _ = write(io::stdout(), &text);
    }
    let _ = write(anstream::stderr(), &text::error(&message));
}

/// Prints help, or what is wrong with the command line. With `--json`, prints what is wrong to
/// stdout as well.
pub fn print_usage(error: &clap::Error) {
    if error.use_stderr() && std::env::args().any(|word| word == "--json") {
        let message = error.render().to_string();
        let message = message.trim_start_matches("error: ").trim_end();
        let _ = write(io::stdout(), &json::error("usage", "", message));
    }
    let _ = error.print();
}

/// Returns the name of the file that a command reads.
fn heap_of(args: &Args) -> String {
    args.command.heap().display().to_string()
}

/// Writes all of a text. That a reader stops early, as `| head` does, is not an error.
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
