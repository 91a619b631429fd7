//! Files: those that are no heaps, those that are written, and what printing meets.

use std::fs;
use std::process::{Command, Stdio};

use expect_test::expect;

use crate::folder::Folder;
use crate::{run, run_in, told};

#[test]
fn what_is_no_heap_is_named() {
    let here = Folder::new("bad");
    fs::create_dir(here.0.join("folder")).unwrap();
    here.write("empty.heap", b"");
    here.write("blank.heap", b"// nothing here\n");
    here.write("bad.heap", b"root main -> Node\nNode#1 { next }\n");
    here.write("noise.hhs", [0xff, 0x00, 0x80, 0x13]);
    here.check(
        "info missing.heap",
        expect![[r#"
        error: cannot read missing.heap: No such file or directory (os error 2)
        exit code 2
    "#]],
    );
    here.check(
        "info folder",
        expect![[r#"
        error: folder is a directory, not a heap
        exit code 2
    "#]],
    );
    here.check(
        "info empty.heap",
        expect![[r#"
        error: empty.heap is empty, not a heap
        exit code 2
    "#]],
    );
    here.check(
        "info blank.heap",
        expect![[r#"
            blank.heap
              the heap has no objects
                           objects  bytes
              objects            0      0
              reachable          0      0
              unreachable        0      0
              0 edges

              classes (0)  bytes  objects  reachable  retained ≥
              none

              roots  count
              none

              threads  stack roots  thread object
              none
        "#]],
    );
    here.check(
        "probe blank.heap is-heap Node#1",
        expect![[r#"
        error: there is no `Node#1`: the heap has no objects
        exit code 2
    "#]],
    );
    here.check(
        "probe blank.heap stack main",
        expect![[r#"
        error: no running thread has the name `main`
          the heap has no threads
        exit code 2
    "#]],
    );
    here.check(
        "probe blank.heap reach",
        expect![[r#"
        no objects are reachable from the roots
    "#]],
    );
    here.check(
        "info bad.heap",
        expect![[r#"
        error: bad.heap:1:14: expected an object, as in `Node#1`
          root main -> Node
                       ^
        bad.heap:2:15: expected `->` or `=`, but found '}'
          Node#1 { next }
                        ^
        exit code 2
    "#]],
    );
    here.check(
        "info noise.hhs",
        expect![[r#"
            error: noise.hhs is neither a dump, nor a binary heap, nor heap text
            exit code 2
        "#]],
    );
}

#[test]
fn a_cut_binary_heap_is_named() {
    let here = Folder::new("cut");
    assert!(run_in(&here.0, "convert web.heap web.hhs").status.success());
    let bytes = fs::read(here.0.join("web.hhs")).unwrap();
    here.write("cut.hhs", &bytes[..bytes.len() / 2]);
    let output = run_in(&here.0, "info cut.hhs");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
}

#[test]
fn heaps_survive_conversion() {
    let here = Folder::new("convert");
    for line in [
        "convert web.heap web.hhs",
        "convert web.hhs back.heap",
        "convert back.heap again.data --to binary",
        "convert again.data again.txt",
    ] {
        let output = run_in(&here.0, line);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    }
    let output = run_in(&here.0, "convert web.heap other.hhs --json");
    heaphound_testkit::schema::check(std::str::from_utf8(&output.stdout).unwrap());
    let read = |name: &str| fs::read(here.0.join(name)).unwrap();
    assert!(read("back.heap") == read("again.txt"));
    assert!(read("web.hhs") == read("again.data"));
    let answers = |heap: &str| {
        let lines = [
            "reach --all",
            "is-unique-owner Pool",
            "thread-reach Log",
            "unique Buffer#2",
        ];
        lines.map(|line| told(&run_in(&here.0, &format!("probe {heap} {line}"))))
    };
    assert_eq!(answers("web.heap"), answers("web.hhs"));
    assert_eq!(answers("web.heap"), answers("back.heap"));
}

#[test]
fn what_cannot_be_written_is_named() {
    let here = Folder::new("write");
    here.check(
        "convert web.heap web.what",
        expect![[r#"
        error: the name web.what does not tell a format
          use .heap, .txt, .hhs or .heapsnapshot, or `--to text|binary|v8`
        exit code 2
    "#]],
    );
    here.check(
        "convert web.heap nowhere/web.hhs",
        expect![[r#"
        error: cannot write nowhere/web.hhs: No such file or directory (os error 2)
        exit code 2
    "#]],
    );
    assert!(!here.0.join("web.what").exists());
}

#[test]
fn expectations_fit_their_questions() {
    crate::check(
        "probe web.heap pred Log --expect yes",
        expect![[r#"
        error: pred gives a set, which can be expected to be `empty` or `nonempty`
        exit code 2
    "#]],
    );
    crate::check(
        "probe web.heap is-heap Log --expect empty",
        expect![[r#"
        error: is-heap can be expected to be `yes` or `no`
        exit code 2
    "#]],
    );
}

#[test]
fn a_heap_may_come_from_a_pipe() {
    let heap = format!("{}/tests/heaps/web.heap", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO_BIN_EXE_heaphound"))
        .args(["probe", "-", "is-shared", "Log"])
        .stdin(fs::File::open(heap).unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

#[test]
fn a_reader_may_leave_early() {
    // More than a pipe holds, so that the writer cannot miss it.
    let here = Folder::new("pipe");
    let slots = (0..20_000).map(|i| format!("Array#1[{i}] -> Node#{i}\n"));
    let heap = format!("root static:all -> Array#1\n{}", slots.collect::<String>());
    here.write("wide.heap", heap.as_bytes());
    for (expect, code) in [("nonempty", 0), ("empty", 1)] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_heaphound"))
            .args(["probe", "wide.heap", "reach", "--all", "--expect", expect])
            .current_dir(&here.0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert!(output.stderr.is_empty(), "{}", told(&output));
    }
}

#[test]
fn colours_are_there_when_asked_for() {
    let colourful = |line: &str| run(line).stdout.contains(&0x1b);
    assert!(!colourful("probe web.heap is-shared Log"));
    assert!(!colourful("probe web.heap is-shared Log --color never"));
    assert!(colourful("probe web.heap is-shared Log --color always"));
    assert!(!colourful(
        "probe web.heap is-shared Log --color always --json"
    ));
}

#[test]
fn the_number_of_threads_does_not_change_the_answer() {
    let one = told(&run("probe web.heap is-unique-owner Pool --threads 1"));
    let many = told(&run("probe web.heap is-unique-owner Pool --threads 7"));
    assert_eq!(one, many);
}

#[test]
fn every_command_has_examples_and_is_in_the_guide() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = std::fs::read_to_string(here.join("../../docs/command.md")).unwrap();
    let help = told(&run("--help"));
    assert!(help.contains("Exit codes:"), "{help}");
    let listed = help.split("Commands:\n").nth(1).unwrap();
    let lines = listed.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| !line.starts_with("   "));
    let commands: Vec<&str> = names
        .filter_map(|it| it.split_whitespace().next())
        .collect();
    for known in ["probe", "path", "info", "convert", "deal", "lab"] {
        assert!(commands.contains(&known), "{help}");
    }
    for command in commands.into_iter().filter(|it| *it != "help") {
        let help = told(&run(&format!("{command} --help")));
        assert!(help.contains("Examples:"), "{help}");
        assert!(
            guide.contains(&format!("| `heaphound {command} ")),
            "{command}"
        );
    }
}

#[test]
fn a_format_that_the_name_does_not_tell_is_remarked_on() {
    let folder = Folder::new("remark");
    let output = folder.sh("$H convert web.heap x.hhs --to text 2>&1 >/dev/null");
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        told,
        "note: the name x.hhs tells binary, and text is written\n"
    );
    let output = folder.sh("$H convert web.heap x.dump --to text 2>&1 >/dev/null");
    assert!(output.stdout.is_empty());
}
