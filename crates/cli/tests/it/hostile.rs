//! What happens when things go wrong around the command: full disks, signals, inputs without end, names
//! that nobody expects.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use expect_test::{Expect, expect};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::folder::Folder;
use crate::told;

/// A rule file that `deal fmt` changes.
const UNFORMATTED: &str = "rule   a:true;\n";

/// Runs a line of a shell and compares what it prints.
fn check(here: &Folder, line: &str, expect: Expect) {
    expect.assert_eq(&told(&here.sh(line)));
}

/// A heap of that many objects.
fn heap_of(objects: usize) -> String {
    let line = |nth: usize| format!("Node#{nth} {{ next -> Node#{} }}\n", (nth + 1) % objects);
    let lines: String = (0..objects).map(line).collect();
    format!("root static:list -> Node#0\n{lines}")
}

#[test]
fn a_full_disk_leaves_files_as_they_were() {
    let here = Folder::new("full");
    here.write("a.deal", UNFORMATTED);
    here.write("old.hhs", "precious");
    here.write("list.heap", heap_of(1000));
    let learnt = here.sh("$H shapes web.heap --learn profile.json");
    assert!(learnt.status.success(), "{}", told(&learnt));
    let before = here.files();
    let profile = here.read("profile.json");
    for line in [
        "deal fmt a.deal",
        "convert list.heap old.hhs",
        "shapes list.heap --learn profile.json",
    ] {
        // No file may get larger than nothing, as on a disk without room.
        let output = here.sh(&format!("ulimit -f 0; exec $H {line}"));
        let said = told(&output);
        assert!(said.contains("error: cannot write"), "{line}: {said}");
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
    }
    assert_eq!(here.read("a.deal"), UNFORMATTED);
    assert_eq!(here.read("old.hhs"), "precious");
    assert_eq!(here.read("profile.json"), profile);
    assert_eq!(here.files(), before);
}

/// Sends a signal to a command while it writes a file; returns whether that was in time.
fn stop_while_writing(here: &Folder, mut child: Child, signal: &str) -> (bool, Output) {
    let is_writing = || here.files().iter().any(|it| it.ends_with(".part"));
    while !is_writing() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_micros(200));
    }
    let id = child.id().to_string();
    let in_time = is_writing();
    let _ = Command::new("kill").args(["-s", signal, &id]).status();
    (in_time, child.wait_with_output().unwrap())
}

/// Lets commands that are started from now on be stopped by signals that this process was told to ignore, as a shell
/// does for what runs in the background. To catch a signal is enough: who is started does not inherit that.
fn let_signals_stop_children() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    let ignored = mask.map_or(0, |it| u64::from_str_radix(it.trim(), 16).unwrap());
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if ignored >> (signal - 1) & 1 == 1 {
            signal_hook::flag::register(signal, Arc::default()).unwrap();
        }
    }
}

#[test]
fn a_command_that_is_stopped_leaves_no_half_of_a_file() {
    let_signals_stop_children();
    let here = Folder::new("stopped");
    here.write("list.heap", heap_of(100_000));
    here.write("old.hhs", "precious");
    let before = here.files();
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let stopped = (0..50).any(|_| {
            let mut command = here.shell("exec $H convert list.heap old.hhs");
            let child = command.stdout(Stdio::null()).spawn().unwrap();
            let (in_time, output) = stop_while_writing(&here, child, signal);
            assert_eq!(here.files(), before, "after {signal}");
            if let Some(by) = output.status.signal() {
                assert_eq!(by, number);
            }
            let was_stopped = fs::read(here.0.join("old.hhs")).unwrap() == b"precious";
            if !was_stopped {
                // It was quicker than the signal, be it by the moment between the new name and its end: then all is there.
                assert!(here.sh("$H info --quiet old.hhs").status.success());
                here.write("old.hhs", "precious");
            }
            in_time && was_stopped && output.status.signal().is_some()
        });
        assert!(stopped, "{signal} never came in time");
    }
}

#[test]
fn a_command_that_shall_ignore_a_signal_does() {
    let here = Folder::new("nohup");
    here.write("list.heap", heap_of(20_000));
    let child = here
        .shell("trap '' HUP; exec $H convert list.heap new.hhs")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (_, output) = stop_while_writing(&here, child, "HUP");
    assert!(output.status.success(), "{:?}", output.status);
    assert!(here.files().contains(&"new.hhs".to_string()));
}

#[test]
fn inputs_without_end_are_refused() {
    let here = Folder::new("endless");
    for (line, expect) in [
        (
            "$H info /dev/zero",
            expect![[r#"
                error: /dev/zero is neither a dump, nor a binary heap, nor heap text
                exit code 2
            "#]],
        ),
        (
            "$H grow web.heap web.heap - < /dev/urandom",
            expect![[r#"
                error: - is neither a dump, nor a binary heap, nor heap text
                exit code 2
            "#]],
        ),
        (
            "yes | HEAPHOUND_MAX_INPUT=1000000 $H info -",
            expect![[r#"
                error: cannot read -: it has more than 1000000 bytes
                  set HEAPHOUND_MAX_INPUT to allow for more
                exit code 2
            "#]],
        ),
        (
            // A line without end.
            "yes | tr -d '\\n' | HEAPHOUND_MAX_INPUT=1000000 $H info /dev/stdin",
            expect![[r#"
                error: cannot read /dev/stdin: it has more than 1000000 bytes
                  set HEAPHOUND_MAX_INPUT to allow for more
                exit code 2
            "#]],
        ),
        (
            "HEAPHOUND_MAX_INPUT=965 $H info web.heap",
            expect![[r#"
                error: cannot read web.heap: it has more than 965 bytes
                  set HEAPHOUND_MAX_INPUT to allow for more
                exit code 2
            "#]],
        ),
        (
            "HEAPHOUND_MAX_INPUT=1GB $H info web.heap",
            expect![[r#"
                error: HEAPHOUND_MAX_INPUT is `1GB`, not a number of bytes
                exit code 2
            "#]],
        ),
        (
            "$H check web.heap --rules /dev/zero",
            expect![[r#"
                error: cannot read /dev/zero: it has more than 67108864 bytes
                exit code 2
            "#]],
        ),
        (
            "$H deal fmt - < /dev/zero",
            expect![[r#"
                error: cannot read -: it has more than 67108864 bytes
                exit code 2
            "#]],
        ),
        (
            "$H shapes web.heap --learn /dev/full",
            expect![[r#"
                error: /dev/full is no file that can be learnt into
                exit code 2
            "#]],
        ),
        (
            "yes | $H shapes web.heap --test /dev/stdin",
            expect![[r#"
                error: cannot read /dev/stdin: it has more than 67108864 bytes
                exit code 2
            "#]],
        ),
    ] {
        check(&here, line, expect);
    }
}

#[test]
fn nothing_is_done_well_if_it_cannot_be_printed() {
    let here = Folder::new("unprinted");
    for line in [
        "--help",
        "--version",
        "help info",
        "info --help",
        "info web.heap",
        "info web.heap --json",
        "summary web.heap",
        "deal explain true",
        "convert web.heap -",
    ] {
        // A full disk, a stdout that can only be read, one that is closed.
        for stdout in ["> /dev/full", "1< /dev/null", ">&-", "<&- >&-"] {
            let output = here.sh(&format!("$H {line} {stdout}"));
            let said = told(&output);
            let expected = "error: cannot write to stdout: ";
            assert!(said.starts_with(expected), "{line} {stdout}: {said}");
            assert_eq!(output.status.code(), Some(2), "{line} {stdout}");
        }
        // As shells and other languages throw output away.
        for stdout in ["> /dev/null", "1<> /dev/null"] {
            let output = here.sh(&format!("$H {line} {stdout}"));
            assert_eq!(output.status.code(), Some(0), "{line} {stdout}");
        }
        // A reader that left.
        let output = here.sh(&format!("(sleep 0.1; $H {line}; echo $? >&2) | true"));
        let said = told(&output);
        assert_eq!(said, "0\n", "{line}");
    }
}

#[test]
fn a_heap_can_be_printed() {
    let here = Folder::new("printed");
    here.write(
        "list.heap",
        "root static:list -> Node#1\nNode#1.next -> Node#2\n",
    );
    let files = here.files();
    check(
        &here,
        "$H convert list.heap -",
        expect![[r#"
            class Node { next -> }
            root static:list -> Node#1
            Node#1 { next -> Node#2 }
            Node#2
        "#]],
    );
    check(
        &here,
        "$H convert list.heap - --to binary | $H convert - /dev/stdout",
        expect![[r#"
            class Node { next -> }
            root static:list -> Node#1
            Node#1 { next -> Node#2 }
            Node#2
        "#]],
    );
    check(
        &here,
        "$H convert list.heap - --json --quiet 2>&1 >/dev/null",
        expect![[r#"
            error: both the heap and `--json` want to print
              write the heap to a file
            exit code 2
        "#]],
    );
    check(
        &here,
        "$H shapes list.heap --learn -",
        expect![[r#"
            error: - is no file that can be learnt into
            exit code 2
        "#]],
    );
    assert_eq!(here.files(), files);
}

#[test]
fn a_file_that_is_open_is_written_into() {
    let here = Folder::new("open");
    here.write("list.heap", "root static:list -> Node#1\n");
    here.write("all.txt", "what was there\n");
    for line in [
        "$H convert list.heap /dev/stdout >> all.txt",
        "$H convert list.heap /dev/fd/3 --to text 3>> all.txt > /dev/null",
    ] {
        assert!(here.sh(line).status.success(), "{line}");
    }
    let node = "class Node {}\nroot static:list -> Node#1\nNode#1\n";
    assert_eq!(
        here.read("all.txt"),
        format!("what was there\n{node}{node}")
    );
}

#[test]
fn files_that_are_formatted_keep_links_and_permissions() {
    let here = Folder::new("kept");
    here.write("a.deal", UNFORMATTED);
    let file = here.0.join("a.deal");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("a.deal", here.0.join("link.deal")).unwrap();
    assert!(here.sh("$H deal fmt link.deal").status.success());
    assert_eq!(here.read("a.deal"), "rule a: true;\n");
    assert!(here.0.join("link.deal").is_symlink());
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn a_new_file_has_the_permissions_that_the_user_gives() {
    let here = Folder::new("umask");
    let line = "umask 027; $H convert web.heap new.hhs";
    assert!(here.sh(line).status.success());
    let mode = fs::metadata(here.0.join("new.hhs")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o640);
}

#[test]
fn what_must_not_be_written_is_not() {
    let here = Folder::new("readonly");
    here.write("a.deal", UNFORMATTED);
    let file = here.0.join("a.deal");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    // A superuser may.
    if fs::OpenOptions::new().write(true).open(&file).is_ok() {
        return;
    }
    let output = here.sh("$H deal fmt a.deal");
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert_eq!(here.read("a.deal"), UNFORMATTED);
}

#[test]
fn what_is_changed_in_place_is_a_file() {
    let here = Folder::new("in-place");
    assert!(here.sh("mkfifo pipe").status.success());
    check(
        &here,
        "(cat web.heap > pipe &) ; $H deal fmt pipe; cat pipe > /dev/null",
        expect![[r#"
            error: pipe is no file that can be formatted in place
              `-` formats stdin to stdout
        "#]],
    );
    for what in ["pipe", ".", "/dev/null", "/dev/full", "/dev/stdout"] {
        let output = here.sh(&format!("$H shapes web.heap --learn {what}"));
        let expected = format!("error: {what} is no file that can be learnt into\nexit code 2\n");
        assert_eq!(told(&output), expected);
    }
}

#[test]
fn many_rules_are_no_trouble() {
    let here = Folder::new("many");
    let rules: String = (0..50_000)
        .map(|nth| format!("rule r{nth}: true;\n"))
        .collect();
    here.write("many.deal", rules);
    let start = Instant::now();
    check(
        &here,
        "$H check web.heap --rules many.deal",
        expect![[r#"
            50000 rules, all hold
        "#]],
    );
    // To count the lines before each of them would take minutes.
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_file_may_be_read_and_written_at_once() {
    let here = Folder::new("same");
    let before = told(&here.sh("$H info web.heap"));
    assert!(
        here.sh("$H convert web.heap web.heap --to binary")
            .status
            .success()
    );
    assert_eq!(told(&here.sh("$H info web.heap")), before);
}

#[test]
fn a_name_may_be_as_long_as_names_can_be() {
    let here = Folder::new("names");
    let name = format!("{}.hhs", "n".repeat(251));
    let output = here.sh(&format!("$H convert web.heap {name}"));
    assert!(output.status.success(), "{}", told(&output));
}

#[test]
fn arguments_need_not_be_text() {
    let here = Folder::new("arguments");
    check(
        &here,
        r"$H eval web.heap $(printf '\377')",
        expect![[r#"
            error: invalid UTF-8 was detected in one or more arguments

            Usage: heaphound eval [OPTIONS] <HEAP> <EXPRESSION>

            For more information, try '--help'.
            exit code 2
        "#]],
    );
    let json = here.sh(r"$H info web.heap $(printf '\377') --json");
    assert_eq!(json.status.code(), Some(2));
    heaphound_testkit::schema::check(std::str::from_utf8(&json.stdout).unwrap());
    // The names of files need not be text either.
    let line = r"f=$(printf '\377.hhs'); $H convert web.heap $f && $H info $f > /dev/null && $H convert $f web.heap";
    assert!(here.sh(line).status.success());
}

#[test]
fn names_of_any_length_fit_tables() {
    let here = Folder::new("long-names");
    let long = "N".repeat(70_000);
    for count in 1..=3 {
        let mut heap = format!("root {long} -> {long}#0\nroot static:all -> Array#1\n");
        for nth in 0..10 * count {
            heap.push_str(&format!("Array#1[{nth}] -> {long}#{nth}\n"));
            heap.push_str(&format!("{long}#{nth}.next -> {long}#{}\n", nth + 1));
        }
        here.write(&format!("{count}.heap"), heap);
    }
    for line in [
        "info 1.heap",
        "shapes 1.heap",
        "shapes 1.heap --learn p.json",
        "shapes 1.heap --test p.json",
        "grow 1.heap 2.heap 3.heap --table",
        "path 1.heap Array#1",
        "probe 1.heap reach --all",
        "summary 1.heap",
    ] {
        let output = here.sh(&format!("$H {line}"));
        let said = String::from_utf8_lossy(&output.stderr);
        // Those grow.
        let expected = if line.starts_with("grow") { 1 } else { 0 };
        assert_eq!(output.status.code(), Some(expected), "{line}: {said:.300}");
    }
}

#[test]
fn columns_are_counted_as_terminals_do() {
    let here = Folder::new("columns");
    let names = "\"漢字\"#1, \"e\u{301}te\"#1, \"tab\\t\"#1, Plain#1";
    here.write("wide.heap", format!("root main -> {names}\n"));
    let output = told(&here.sh("$H info wide.heap"));
    let table = output.lines().skip_while(|it| !it.contains("classes"));
    let table: Vec<&str> = table
        .take_while(|it| !it.is_empty())
        .map(str::trim)
        .collect();
    expect![[r#"
        classes (4)  bytes  objects  reachable  retained ≥
        Plain            8        1          1           8
        éte              8        1          1           8
        tab\u{9}         8        1          1           8
        漢字             8        1          1           8"#]]
    .assert_eq(&table.join("\n"));
    here.write("wrong.heap", "root main -> \"漢字\"#1, 漢字\n");
    check(
        &here,
        "$H info wrong.heap",
        expect![[r##"
        error: wrong.heap:1:22: expected an object, as in `漢字#1`
          root main -> "漢字"#1, 漢字
                                 ^
        exit code 2
    "##]],
    );
}

#[test]
fn depth_is_limited_and_no_stack_overflows() {
    const DEPTH: usize = 100_000;
    let here = Folder::new("deep");
    let nest = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(DEPTH), close.repeat(DEPTH))
    };
    here.write("a.heap", format!("A#1 {}", nest("{ x -> ", "", "}")));
    here.write("b.heap", format!("A#1 {}", nest("[", "", "]")));
    for file in ["a.heap", "b.heap"] {
        let output = here.sh(&format!("$H info {file}"));
        assert_eq!(output.status.code(), Some(2), "{file}");
    }
    for (name, text) in [
        ("brackets", nest("(", "true", ")")),
        ("not", nest("!", "true", "")),
        ("forall", nest("forall Log x: ", "true", "")),
        ("and", nest("true && ", "true", "")),
        ("implies", nest("true -> ", "true", "")),
        ("sets", format!("{}.size() == 1", nest("{", "", "}"))),
        ("minus", nest("-", "1 == 1", "")),
        ("fields", format!("Log#1{} == null", nest(".x", "", ""))),
        (
            "unions",
            format!("({}).size() > 0", nest("reach() | ", "reach()", "")),
        ),
    ] {
        here.write(&format!("{name}.deal"), format!("rule a: {text};\n"));
        for line in ["check web.heap --rules", "deal fmt --check", "deal explain"] {
            let output = here.sh(&format!("$H {line} {name}.deal 2>&1"));
            assert_eq!(output.status.code(), Some(2), "{line} {name}");
        }
    }
    for (name, text) in [
        ("arrays", nest("[", "", "]")),
        ("objects", nest("{\"a\":", "1", "}")),
    ] {
        here.write(&format!("{name}.json"), text);
        let output = here.sh(&format!("$H shapes web.heap --test {name}.json"));
        assert_eq!(output.status.code(), Some(2), "{name}");
    }
}

#[test]
fn texts_from_other_systems_are_read() {
    let here = Folder::new("systems");
    let text = fs::read_to_string(here.0.join("web.heap")).unwrap();
    let crlf = text.replace('\n', "\r\n");
    here.write("crlf.heap", &crlf);
    here.write("bom.heap", format!("\u{feff}{crlf}"));
    let told = |file: &str| told(&here.sh(&format!("$H probe {file} reach --all")));
    assert_eq!(told("crlf.heap"), told("web.heap"));
    assert_eq!(told("bom.heap"), told("web.heap"));
    here.write("crlf.deal", "\u{feff}rule a:\r\n  true;\r\n");
    check(
        &here,
        "$H check web.heap --rules crlf.deal",
        expect![[r#"
            1 rule, which holds
        "#]],
    );
    here.write("utf16.heap", [0xff, 0xfe, b'r', 0]);
    check(
        &here,
        "$H info utf16.heap",
        expect![[r#"
            error: utf16.heap is neither a dump, nor a binary heap, nor heap text
            exit code 2
        "#]],
    );
}
