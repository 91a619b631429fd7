//! The command, run as a user runs it.
//!
//! A case is a command line and all that it prints: stdout, then stderr, then the exit code
//! if it is not 0. Cases run in a directory with the heaps of `tests/heaps`.

mod answers;
mod check;
mod ci;
mod deal;
mod done;
mod dumps;
mod eval;
mod export;
mod files;
mod folder;
mod grow;
mod grow_bed;
mod guide;
mod held_out;
mod hostile;
mod html;
mod jdk;
mod json;
mod lab;
mod lacks;
mod large_heaps;
mod names;
mod node;
mod paths;
mod probes;
mod readme;
mod redact;
mod retained;
mod shapes;

use std::path::Path;
use std::process::{Command, Output};

use expect_test::Expect;

/// Runs `heaphound` with the rest of a command line and compares what it prints.
fn check(line: &str, expect: Expect) {
    expect.assert_eq(&told(&run(line)));
}

/// Runs `heaphound` among the heaps.
fn run(line: &str) -> Output {
    let heaps = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/heaps");
    run_in(&heaps, line)
}

fn run_in(directory: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_heaphound"))
        .args(words(line))
        .current_dir(directory)
        .env_remove("CLICOLOR_FORCE")
        .output()
        .expect("the command runs")
}

/// What a run printed, and its exit code if that is not 0.
fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let mut told = text(&output.stdout) + &text(&output.stderr);
    match output.status.code() {
        Some(0) => {}
        Some(code) => told.push_str(&format!("exit code {code}\n")),
        None => told.push_str("killed\n"),
    }
    told
}

/// The words of a command line; single quotes hold one together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.trim().chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}
