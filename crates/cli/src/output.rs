//! Prints reports, problems and help, and writes files. Nothing else writes to stdout.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use anstream::{AutoStream, StripStream};
use heaphound_report::{About, Report, html, json, junit, sarif, text};
use heaphound_snapshot::replace_file;

use crate::args::Args;
use crate::closed;
use crate::form::Form;
use crate::problem::Problem;

/// Columns where there is no terminal.
const WIDTH: usize = 100;

/// Returns an error if a report in a form would not be seen by whom it is for.
pub fn check(form: Form) -> Result<(), Problem> {
    closed::check_stdout().map_err(no_stdout)?;
    match form == Form::Html && io::stdout().is_terminal() {
        true => Err(Problem::new("a terminal does not show HTML")
            .hint("write it to a file, `> report.html`, and open that in a browser")),
        false => Ok(()),
    }
}

/// Prints a report, with what is to be said of the heap that it is about.
pub fn print(
    args: &Args,
    form: Form,
    report: &Report,
    notes: &[String],
    took: Duration,
) -> Result<(), Problem> {
    let heap = heap_of(args);
    let about = &About {
        notes,
        ..About::new(args.command.name(), &heap)
    };
    if form == Form::Json && matches!(report, Report::Bytes(_)) {
        return Err(Problem::new("both the heap and `--json` want to print")
            .hint("write the heap to a file"));
    }
    match form {
        Form::Json => print_bytes(json::report(about, report).as_bytes()),
        Form::Sarif => print_bytes(sarif::report(about, report).as_bytes()),
        Form::Junit => print_bytes(junit::report(about, report, took).as_bytes()),
        Form::Html => print_bytes(html::report(about, report).as_bytes()),
        Form::GraphMl => print_bytes(report.graphml().unwrap_or_default().as_bytes()),
        Form::Text | Form::Dot => match report.verbatim() {
            Some(bytes) => print_bytes(bytes),
            None => print_text(&text::report(&heap, report, width())),
        },
    }
    .map_err(no_stdout)
}

/// Prints why there is no report: to stderr and, for programs, to stdout.
pub fn print_problem(args: &Args, problem: &Problem, took: Duration) {
    let message = problem.to_string();
    let heap = heap_of(args);
    let about = &About::new(args.command.name(), &heap);
    let document = match args.form_of_problem() {
        Form::Html if io::stdout().is_terminal() => None,
        Form::Text | Form::Dot | Form::GraphMl => None,
        Form::Html => Some(html::error(about, &message)),
        Form::Json => Some(json::error(about, &message)),
        Form::Sarif => Some(sarif::error(about, &message)),
        Form::Junit => Some(junit::error(about, &message, took)),
    };
    if let Some(document) = document {
        // There is an exit code for a problem already.
        let _ = print_bytes(document.as_bytes());
    }
    let _ = write(anstream::stderr(), text::error(&message).as_bytes());
}

/// Prints help, or what is wrong with the command line. With `--json`, prints what is wrong to
/// stdout as well.
pub fn print_usage(error: &clap::Error) -> Result<(), Problem> {
    let message = error.render();
    if !error.use_stderr() {
        return print_text(&message.ansi().to_string()).map_err(no_stdout);
    }
    if wants_json() {
        let message = message.to_string();
        let message = message.trim_start_matches("error: ").trim_end();
        let _ = print_bytes(json::error(&About::new("usage", ""), message).as_bytes());
    }
    let _ = write(anstream::stderr(), message.ansi().to_string().as_bytes());
    Ok(())
}

/// Returns whether a command line that has a mistake asks for JSON.
fn wants_json() -> bool {
    let words: Vec<OsString> = std::env::args_os().collect();
    let is = |word: &OsString| word == "--json" || word == "--format=json";
    let pair = |pair: &[OsString]| pair[0] == "--format" && pair[1] == "json";
    words.iter().any(is) || words.windows(2).any(pair)
}

/// Returns whether to write a file is to print it.
pub fn is_stdout(path: &Path) -> bool {
    [Path::new("-"), Path::new("/dev/stdout")].contains(&path)
}

/// Writes a file in one step: who reads it meanwhile finds the old one, and so does everybody if it
/// cannot be written.
pub fn write_file(path: &Path, text: &str) -> Result<(), Problem> {
    let written = replace_file(path, |mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| Problem::cannot_write(path, &error))
}

/// Prints text with colours, where they are wanted.
fn print_text(text: &str) -> io::Result<()> {
    match AutoStream::choice(&io::stdout()) {
        anstream::ColorChoice::Never => write(StripStream::new(stdout()?), text.as_bytes()),
        _ => print_bytes(text.as_bytes()),
    }
}

fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    write(stdout()?, bytes)
}

/// Returns stdout as a file. The standard library's own says that all is well if it cannot be
/// written at all.
fn stdout() -> io::Result<File> {
    closed::check_stdout()?;
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

fn no_stdout(error: io::Error) -> Problem {
    Problem::new(format!("cannot write to stdout: {error}"))
}

/// Returns the name of the file that a command reads.
fn heap_of(args: &Args) -> String {
    args.command.heap().display().to_string()
}

/// Writes all of some bytes. That a reader stops early, as `| head` does, is not an error.
fn write(mut out: impl Write, bytes: &[u8]) -> io::Result<()> {
    let written = out.write_all(bytes).and_then(|()| out.flush());
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
