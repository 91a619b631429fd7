//! The README: its blocks are files that are compiled or run here, and its ways in work.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::folder::Folder;
use crate::told;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns a file without the comments at its top that say what it is for.
fn body(file: &str) -> String {
    let text = fs::read_to_string(sources().join(file)).unwrap_or_else(|it| panic!("{file}: {it}"));
    let is_head = |line: &&str| line.starts_with("//!") || line.is_empty();
    let lines: Vec<&str> = text.lines().skip_while(is_head).collect();
    lines.join("\n")
}

#[test]
fn the_readme_shows_files_that_are_tested() {
    let readme = fs::read_to_string(sources().join("README.md")).unwrap();
    let mut shown = Vec::new();
    // `<!-- file -->`, and a block with what is in it.
    for part in readme.split("<!-- ").skip(1) {
        let (file, rest) = part.split_once(" -->\n").expect("a comment ends");
        let (_, block) = rest.split_once('\n').expect("a block begins");
        let (block, _) = block.split_once("\n```").expect("a block ends");
        assert_eq!(block, body(file), "{file}");
        shown.push(file);
    }
    // Examples are compiled, and run by the gate; the other two are run below.
    let expected = [
        "crates/heaphound/examples/embed.rs",
        "docs/ways/dump.sh",
        "docs/ways/ci.yml",
    ];
    assert_eq!(shown, expected);
}

/// A folder with a program's heap, where `heaphound` is on the path and `jcmd` dumps that heap.
fn with_jcmd(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write(
        "app.heap",
        "root static:cache -> Map#1\nMap#1.first -> Order#1\nOrder#1.session -> Session#1\n",
    );
    folder.write("heap.deal", "rule few: instances(Session) <= 0;\n");
    folder.write("jcmd", "#!/bin/sh\ncp app.heap \"$3\"\n");
    let jcmd = folder.0.join("jcmd");
    fs::set_permissions(jcmd, fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_heaphound"), folder.0.join("heaphound"))
        .unwrap();
    folder
}

fn run(folder: &Folder, line: &str) -> Output {
    folder.sh(&format!("PATH=\"$PWD:$PATH\" PID=7; {line}"))
}

#[test]
fn the_readme_checks_a_dump() {
    let folder = with_jcmd("readme-dump");
    let output = run(&folder, &format!("set -e\n{}", body("docs/ways/dump.sh")));
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let told = told(&output);
    assert!(
        told.contains("static:cache → Map#1 .first → Order#1"),
        "{told}"
    );
    assert!(told.contains("1 rule, which holds"), "{told}");
}

#[test]
fn the_readme_runs_in_ci() {
    let folder = with_jcmd("readme-ci");
    let job = body("docs/ways/ci.yml");
    let steps: Vec<&str> = job
        .lines()
        .filter_map(|it| it.strip_prefix("- run: "))
        .collect();
    assert_eq!(steps.len(), 3);
    // The first time, what is found is accepted. Then it is known, and something new fails.
    run(&folder, "cp app.heap app.hprof");
    let accept =
        "heaphound check app.hprof --rules heap.deal --baseline heap.baseline --update-baseline";
    assert_eq!(run(&folder, accept).status.code(), Some(0));
    let codes = |folder: &Folder| -> Vec<Option<i32>> {
        steps
            .iter()
            .map(|it| run(folder, it).status.code())
            .collect()
    };
    assert_eq!(codes(&folder), [Some(0), Some(0), Some(0)]);
    folder.write(
        "heap.deal",
        "rule few: instances(Session) <= 0;\nrule none: instances(Order) <= 0;\n",
    );
    assert_eq!(codes(&folder), [Some(0), Some(1), Some(0)]);
    assert!(folder.read("heap.sarif").contains("\"none\""));
    assert!(folder.read("suspects.html").starts_with("<!doctype html>"));
}
