//! A real program of the JVM, dumped by itself: what leaks is named, and the rules that are built in hold until
//! something is broken. Where there is no JDK, nothing is tested, and a line says so.

use std::path::Path;
use std::process::Command;

use crate::folder::Folder;
use crate::{run_in, told};

/// Dumps the program into a folder; false if there is no JDK.
fn dump(folder: &Folder, file: &str, sessions: usize, broken: bool) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Leak.java");
    let mut java = Command::new("java");
    for package in ["java.util", "java.util.concurrent"] {
        java.arg(format!("--add-opens=java.base/{package}=ALL-UNNAMED"));
    }
    java.arg(source)
        .arg(folder.0.join(file))
        .arg(sessions.to_string());
    java.args(broken.then_some("broken"));
    match java.output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr);
            // A runtime without a compiler cannot run a source file.
            assert!(error.contains("jdk.compiler"), "{error}");
            eprintln!("not tested: java is no JDK");
            false
        }
        Err(_) => {
            eprintln!("not tested: there is no java");
            false
        }
    }
}

#[test]
fn a_program_that_leaks_is_found_out() {
    let folder = Folder::new("leak");
    if !dump(&folder, "before.hprof", 2_000, false) || !dump(&folder, "after.hprof", 6_000, false) {
        return;
    }
    let run = |line: &str| told(&run_in(&folder.0, line));
    let suspects = run("suspects after.hprof");
    let first = suspects.lines().next().unwrap_or_default();
    assert!(first.starts_with("note[accumulation]: "), "{suspects}");
    assert!(
        first.ends_with(", through Leak$Registry.sessions"),
        "{suspects}"
    );
    assert!(suspects.contains(" 6,000 Leak$Session "), "{suspects}");
    assert!(suspects.contains(" → Leak$Registry#"), "{suspects}");
    let diff = run("diff before.hprof after.hprof --limit 8");
    let session = diff
        .lines()
        .find(|it| it.trim_start().starts_with("Leak$Session "));
    assert!(session.is_some_and(|it| it.contains(" +4,000 ")), "{diff}");
    let waste = run("waste after.hprof --all");
    for part in [
        "\"user-7\"  ",
        "java.util.ArrayList  ",
        "Leak$Session.user (60)",
        "byte[] of zeros",
        "held by thread locals",
    ] {
        assert!(waste.contains(part), "{part}\n{waste}");
    }
    let merged = run("path after.hprof 'Leak$Session' --merge");
    assert!(
        merged.starts_with("1 merged path to 6000 objects of Leak$Session\n"),
        "{merged}"
    );
    let info = run("info after.hprof --limit 3 --sort retained");
    assert!(info.contains("retained ≥"), "{info}");
    let tree = run("dominators after.hprof 'Leak$Registry' --depth 4 --limit 1");
    assert!(tree.contains(".sessions → java.util.HashMap#"), "{tree}");
}

#[test]
fn the_rules_of_the_jdk_hold_until_something_is_broken() {
    let folder = Folder::new("jdk");
    if !dump(&folder, "clean.hprof", 100, false) || !dump(&folder, "broken.hprof", 100, true) {
        return;
    }
    let clean = told(&run_in(&folder.0, "check clean.hprof --rules jdk"));
    assert!(clean.ends_with("17 rules, all hold\n"), "{clean}");
    let broken = run_in(&folder.0, "check broken.hprof --rules jdk");
    assert_eq!(broken.status.code(), Some(1));
    let broken = told(&broken);
    for rule in [
        "linked-list-next",
        "linked-list-previous",
        "tree-map-left",
        "hash-map-one-table",
        "array-list-size",
        "finished-executors",
        "closed-loaders",
        "one-loader",
    ] {
        assert!(
            broken.contains(&format!("error[{rule}]: ")),
            "{rule}\n{broken}"
        );
    }
    assert!(broken.contains(" → java.util.LinkedList#"), "{broken}");
    assert!(broken.contains("17 rules, 8 failed"), "{broken}");
}
