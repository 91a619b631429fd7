//! The sessions in `docs` are real: each command prints what stands below it.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{ExpectFile, expect_file};

use crate::run_in;

#[test]
fn the_guide_shows_what_commands_print() {
    check("command", expect_file!["../../../../docs/command.md"]);
}

#[test]
fn the_tutorial_shows_what_commands_print() {
    check(
        "tutorial-dump",
        expect_file!["../../../../docs/tutorial-dump.md"],
    );
}

#[test]
fn the_page_about_json_shows_what_commands_print() {
    check("json", expect_file!["../../../../docs/json.md"]);
}

fn check(page: &str, expected: ExpectFile) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = here.join("../../docs").join(page).with_extension("md");
    let guide = fs::read_to_string(guide).unwrap();
    let name = format!("heaphound-{page}-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    fs::create_dir_all(&directory).unwrap();
    let orders = (1..=5).map(|day| format!("orders-{day}.heap"));
    let files = ["web.heap", "web.deal", "waste.heap"].map(String::from);
    for file in files.into_iter().chain(orders) {
        let from = here.join("tests/heaps").join(&file);
        fs::copy(from, directory.join(file)).unwrap();
    }
    let mut told = String::new();
    let mut session = Session::new(directory.clone());
    for line in guide.lines() {
        told.push_str(&session.line(line));
    }
    fs::remove_dir_all(&directory).unwrap();
    expected.assert_eq(&told);
}

/// Runs the commands of sessions, line by line.
struct Session {
    directory: PathBuf,
    is_open: bool,
    code: i32,
}

impl Session {
    fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            is_open: false,
            code: 0,
        }
    }

    /// What a line of the guide becomes: in a session, commands are followed by what they
    /// print, and what stood there is gone.
    fn line(&mut self, line: &str) -> String {
        if line.starts_with("```") {
            self.is_open = line == "```console";
        } else if self.is_open {
            let Some(command) = line.strip_prefix("$ ") else {
                return String::new();
            };
            return format!("{line}\n{}", self.run(command));
        }
        format!("{line}\n")
    }

    fn run(&mut self, command: &str) -> String {
        if command == "echo $?" {
            return format!("{}\n", self.code);
        }
        let line = command.strip_prefix("heaphound ").expect("our own command");
        let output = run_in(&self.directory, line);
        self.code = output.status.code().unwrap();
        let all = [output.stdout, output.stderr].concat();
        String::from_utf8(all).unwrap()
    }
}
