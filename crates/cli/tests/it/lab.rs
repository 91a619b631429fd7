//! `heaphound lab` starts another program.

use std::process::Command;

use expect_test::expect;

use crate::{run, told};

#[test]
fn the_lab_gets_what_it_needs_of_the_command_line() {
    let run = |lab: &str, words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heaphound"));
        let command = command.env("HEAPHOUND_LAB", lab).args(words);
        told(&command.output().expect("the command runs"))
    };
    let words = [
        "--json", "lab", "probes", "--quick", "-q", "--color", "never",
    ];
    assert_eq!(run("echo", &words), "probes --quick --json --quiet\n");
    let words = ["lab", "prune", "--html", "x.html", "--format", "json"];
    assert_eq!(run("echo", &words), "prune --json --html x.html\n");
    let words = ["lab", "all", "--quick", "--page", "results.md"];
    assert_eq!(run("echo", &words), "all --quick --page results.md\n");
    assert_eq!(run("false", &["lab"]), "exit code 1\n");
    expect![[r#"
        error: cannot run /no/lab: No such file or directory (os error 2)
          `cargo install --path crates/lab` installs it
        exit code 2
    "#]]
    .assert_eq(&run("/no/lab", &["lab"]));
}

#[test]
fn the_demo_is_told_where_its_page_goes() {
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heaphound"));
        let command = command.env("HEAPHOUND_DEMO", "echo").args(words);
        told(&command.output().expect("the command runs"))
    };
    assert_eq!(run(&["demo"]), "heaphound-demo.html\n");
    assert_eq!(run(&["demo", "--html", "x.html"]), "x.html\n");
}

#[test]
fn usage_errors_are_json_too_where_that_was_asked_for() {
    let output = run("--json foo");
    assert_eq!(output.status.code(), Some(2));
    let document = String::from_utf8(output.stdout).unwrap();
    heaphound_testkit::schema::check(&document);
    assert!(document.contains("unrecognized subcommand"), "{document}");
}
