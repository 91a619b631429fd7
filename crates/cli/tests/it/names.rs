//! Names of objects, roots and threads, and mistakes in them.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use heaphound_heap::quotes::quoted;
use heaphound_testkit::cases::cases;
use heaphound_testkit::dice::Dice;

use crate::folder::Folder;
use crate::{run, run_in, told};

/// Finds out which object a name stands for.
fn check_name(name: &str, object: &str) {
    let output = run(&format!("--json path names.heap {name} --from {name}"));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = &document["answer"]["evidence"][0]["path"]["first"]["name"];
    assert_eq!(first, object, "{document:#}");
}

/// A mistake, and what is said of it.
fn check_mistake(line: &str, expect: Expect) {
    crate::check(line, expect);
}

#[test]
fn objects_have_several_names() {
    check_name("'Map<K, V>#3'", "Map<K, V>#3");
    check_name("'\"Map<K, V>\"#3'", "Map<K, V>#3");
    check_name("static:cache", "java.util.HashMap$Node[]#5");
    check_name("'static:open orders'", "Map<K, V>#3");
    check_name("thread:main[1]", "Map<K, V>#4");
    check_name("handle:src/main.rs:3:5[0]", "handle::Entry#1");
    check_name("handle:src/main.rs:3:5", "handle::Entry#1");
    // Not a root, though it begins like one.
    check_name("handle::Entry#1", "handle::Entry#1");
    check_name("handle::Entry", "handle::Entry#1");
    check_name("java.util.HashMap$Node[]", "java.util.HashMap$Node[]#5");
}

#[test]
fn names_in_lists_may_have_commas() {
    crate::check(
        "probe names.heap reach --avoid 'Map<K, V>#3,handle::Entry#1'",
        expect![[r#"
            2 objects are reachable from the roots around Map<K, V>#3, handle::Entry#1
              java.util.HashMap$Node[]#5
              Map<K, V>#4
        "#]],
    );
    crate::check(
        "probe names.heap reach --avoid '\"Map<K, V>\"#3, \"Map<K, V>\"#4' --avoid static:cache",
        expect![[r#"
            1 object is reachable from the roots around Map<K, V>#3, Map<K, V>#4, java.util.HashMap$Node[]#5
              handle::Entry#1
        "#]],
    );
}

#[test]
fn unknown_names_are_answered_with_near_ones() {
    check_mistake(
        "path web.heap Conection#1",
        expect![[r#"
        error: there is no object and no root `Conection#1`
          did you mean `Connection#1` or `Connection[]#1`?
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap pool",
        expect![[r#"
        error: there is no object and no root `pool`
          did you mean `Pool` or `static:pool`?
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap Task#17",
        expect![[r#"
        error: there is no object `Task#17`
          the nearest: Task#3, Task#2, Task#1
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap Task",
        expect![[r#"
        error: class `Task` has 3 instances; which one?
          Task#1, Task#2, Task#3
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap static:pol",
        expect![[r#"
        error: there is no root `static:pol`
          did you mean `static:pool`?
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap thread:worker",
        expect![[r#"
        error: `thread:worker` stands for 2 objects; which one?
          thread:worker[0] → Task#1
          thread:worker[1] → Buffer#1
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap xyzzy",
        expect![[r#"
        error: there is no object and no root `xyzzy`
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap null",
        expect![[r#"
        error: a reference in the question is null
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap ''",
        expect![[r#"
            error: a name is empty
            exit code 2
        "#]],
    );
    check_mistake(
        "path web.heap Log --avoid Pool,Tsak#1",
        expect![[r#"
        error: there is no object and no root `Tsak#1`
          did you mean `Task#1`?
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap Log --from thread:wroker",
        expect![[r#"
        error: no running thread has the name `wroker`
          did you mean `worker`?
        exit code 2
    "#]],
    );
    check_mistake(
        "path names.heap Unused",
        expect![[r#"
        error: there is no object `Unused`: class `Unused` has no instances
        exit code 2
    "#]],
    );
    check_mistake(
        "path names.heap Node[]#5",
        expect![[r#"
        error: there is no object and no root `Node[]#5`
          did you mean `java.util.HashMap$Node[]#5`?
        exit code 2
    "#]],
    );
    check_mistake(
        "path names.heap '\"Map<K, V>\"#5'",
        expect![[r##"
        error: there is no object `"Map<K, V>"#5`
          the nearest: Map<K, V>#4, Map<K, V>#3, Map<K, V>#12
        exit code 2
    "##]],
    );
}

#[test]
fn unknown_threads_are_answered_with_near_ones() {
    check_mistake(
        "probe web.heap stack wroker",
        expect![[r#"
        error: no running thread has the name `wroker`
          did you mean `worker`?
        exit code 2
    "#]],
    );
    check_mistake(
        "probe web.heap stack nobody",
        expect![[r#"
        error: no running thread has the name `nobody`
          there are idle, main, worker
        exit code 2
    "#]],
    );
    check_mistake(
        "probe web.heap is-thread-owned Log --as mian",
        expect![[r#"
            error: no running thread has the name `mian`
              did you mean `main`?
            exit code 2
        "#]],
    );
}

/// A heap with names of all sorts.
const ODD: &str = r##"
class "a b" { }
class "a\tb" { }
class "a\nb" { }
class "\u{1b}[31m" { }
class "\u{202e}x" { }
class Node { }
root thread:"a b" -> "a b"#1, Node#1
root thread:"x\ny" -> "a\tb"#1, "a\nb"#1, "\u{1b}[31m"#1, "\u{202e}x"#1
root thread:main -> Node#1
"##;

#[test]
fn threads_may_be_quoted_wherever_they_are_named() {
    let folder = Folder::new("quoted-threads");
    folder.write("odd.heap", ODD);
    for thread in ["a b", "main"] {
        for line in [
            "probe odd.heap stack 'THREAD'",
            "probe odd.heap roots 'THREAD'",
            "probe odd.heap is-thread-owned Node#1 --expect no --as 'THREAD'",
            "path odd.heap Node#1 --from 'thread:THREAD'",
        ] {
            let run = |name: &str| {
                let line = line.replace("THREAD", name);
                let output = run_in(&folder.0, &line);
                assert_eq!(output.status.code(), Some(0), "{line}: {}", told(&output));
                told(&output)
            };
            assert_eq!(run(&format!("\"{thread}\"")), run(thread), "{line}");
        }
        let prefixed = format!("probe odd.heap stack 'thread:\"{thread}\"'");
        assert_eq!(run_in(&folder.0, &prefixed).status.code(), Some(0));
    }
    folder.check(
        "probe odd.heap stack '\"x\\ny\"' --limit 1",
        expect![[r##"
            the stack of thread:"x\ny" refers to 4 objects
              "a\tb"#1
              … and 3 more
              note: 1 of 4 are listed; --all lists them all
        "##]],
    );
    folder.check(
        "probe odd.heap stack '\"nobody\"'",
        expect![[r#"
            error: no running thread has the name `nobody`
              there are "a b", "x\ny", main
            exit code 2
        "#]],
    );
}

fn run_with(folder: &Folder, arguments: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_heaphound"));
    command.args(arguments).current_dir(&folder.0);
    command.output().unwrap()
}

/// Runs a command with some arguments, and returns the document that it prints.
fn document(folder: &Folder, arguments: &[&str]) -> serde_json::Value {
    let output = run_with(folder, &[&["--json"], arguments].concat());
    let document = serde_json::from_slice(&output.stdout);
    document.unwrap_or_else(|_| panic!("{arguments:?}: {}", told(&output)))
}

/// A name made of what names are not made of.
fn any_name(dice: &mut Dice) -> String {
    const PARTS: &[&str] = &[
        "a",
        "B",
        "1",
        " ",
        ".",
        "::",
        ":",
        "<",
        ">",
        ",",
        ", ",
        "[]",
        "#",
        "#1",
        "\"",
        "\\",
        "\t",
        "\n",
        "\0",
        "\u{202e}",
        "\u{feff}",
        "é",
        "static:",
        "thread:",
        "{",
        "}",
        "->",
        "//",
        "-",
        "\\u{9}",
        "null",
        "[0]",
        "src/main.rs:3:5",
        "a<b,c>",
        "in",
    ];
    (0..1 + dice.below(4)).map(|_| dice.pick(PARTS)).collect()
}

#[test]
fn names_are_read_as_reports_print_them() {
    let folder = Folder::new("printed-names");
    for seed in 0..u64::from(cases(6)) {
        let mut dice = Dice(seed);
        let mut text = String::new();
        let mut names = |count: usize| -> BTreeSet<String> {
            (0..count).map(|_| any_name(&mut dice)).collect()
        };
        let (classes, statics, threads) = (names(8), names(4), names(3));
        let objects: Vec<String> = classes
            .iter()
            .map(|it| format!("{}#7", quoted(it, '"')))
            .collect();
        let [first, second, ..] = objects.as_slice() else {
            unreachable!()
        };
        for class in &classes {
            text += &format!("class {} {{ \"a b\" -> }}\n", quoted(class, '"'));
        }
        for (name, object) in statics.iter().zip(&objects) {
            text += &format!("root static:{} -> {object}\n", quoted(name, '"'));
        }
        for name in &threads {
            let all = objects.join(", ");
            text += &format!("root thread:{} -> {all}\n", quoted(name, '"'));
        }
        text += &format!("{first}.\"a b\" -> {second}\n");
        folder.write("any.heap", &text);

        let all = told(&run_in(&folder.0, "probe any.heap reach --all"));
        let printed: Vec<&str> = all.lines().skip(1).map(str::trim).collect();
        assert_eq!(printed.len(), classes.len(), "{all}");
        let mut seen = BTreeSet::new();
        for name in &printed {
            let path = document(&folder, &["path", "any.heap", name, "--from", name]);
            let first = &path["answer"]["evidence"][0]["path"]["first"];
            assert_eq!(first["name"], *name, "{path:#}");
            seen.insert(first["class"].as_str().unwrap().to_string());
            let value = document(&folder, &["eval", "any.heap", name]);
            assert_eq!(value["answer"]["value"], *name, "{value:#}");
            // Among others, and to the end.
            let avoid = format!("{name},{}", printed[0]);
            let around = document(&folder, &["probe", "any.heap", "reach", "--avoid", &avoid]);
            let left = classes.len() - 1 - usize::from(*name != printed[0]);
            assert_eq!(around["answer"]["members"]["count"], left, "{around:#}");
            // The roots, and the slot between the first two.
            let unique = told(&run_with(
                &folder,
                &["probe", "any.heap", "unique", name, "--all"],
            ));
            for reference in unique.lines().skip(1).map(str::trim) {
                let question = match reference.rsplit_once(" .") {
                    Some((from, slot)) => format!("{from}.{slot}"),
                    None => reference.to_string(),
                };
                let value = document(&folder, &["eval", "any.heap", &question]);
                assert_eq!(value["answer"]["value"], *name, "{question}: {value:#}");
                if !question.ends_with("\"a b\"") {
                    let path = document(&folder, &["path", "any.heap", name, "--from", reference]);
                    let first = &path["answer"]["evidence"][0]["path"]["first"]["name"];
                    assert_eq!(first, name, "{reference}: {path:#}");
                }
            }
        }
        assert_eq!(seen, classes);
        let reached = document(&folder, &["probe", "any.heap", "thread-reach", printed[0]]);
        let listed = reached["answer"]["members"]["listed"].as_array().unwrap();
        assert_eq!(listed.len(), threads.len(), "{reached:#}");
        for thread in listed {
            let thread = thread.as_str().unwrap();
            let stack = document(&folder, &["probe", "any.heap", "stack", thread]);
            assert_eq!(
                stack["answer"]["members"]["count"],
                classes.len(),
                "{stack:#}"
            );
        }
    }
}

#[test]
fn lists_and_sets_have_no_empty_names() {
    for (list, told) in [
        ("s={Task#1,,Task#2}", "has a comma with no name behind it"),
        ("s={Task#1,}", "has a comma with no name behind it"),
        ("s={Task#1", "its brace is not closed"),
        ("s=nan", "no number that a rule can be given"),
        ("s=-inf", "no number that a rule can be given"),
        ("s=1.5e400", "no number that a rule can be given"),
    ] {
        let output = run(&format!("eval web.heap s --bind {list}"));
        assert_eq!(output.status.code(), Some(2), "{list}");
        assert!(
            crate::told(&output).contains(told),
            "{}",
            crate::told(&output)
        );
    }
}
