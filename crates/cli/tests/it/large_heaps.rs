//! Heaps that once took the command minutes, or all the memory, and must take seconds.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::thread;

/// Runs the command on a heap that comes from stdin.
fn run(heap: String, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaphound"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = command.stdin.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(heap.as_bytes()));
    let output = command.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    output
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn many_long_paths_do_not_fill_the_memory() {
    let mut heap = String::from("root static:l -> N#0\n");
    for i in 0..1000 {
        let [a, b, c, d] = [3 * i, 3 * i + 1, 3 * i + 2, 3 * i + 3];
        writeln!(heap, "N#{a} {{ a -> N#{b}, b -> N#{c} }}").unwrap();
        writeln!(heap, "N#{b}.a -> N#{d}\nN#{c}.a -> N#{d}").unwrap();
    }
    let output = run(heap, &["path", "-", "N#3000", "--count", "4000000000"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(text.starts_with("1000 paths"), "{}", &text[..100]);
    let note = "note: the search was given up: there may be more paths";
    assert!(text.contains(note));
}

#[test]
fn paths_through_a_long_list_are_counted_in_time() {
    let mut heap = String::from("root static:l -> N#1\n");
    for i in 1..300_000 {
        writeln!(heap, "N#{i}.next -> N#{}", i + 1).unwrap();
    }
    let output = run(heap, &["path", "-", "N#300000", "--count", "2"]);
    assert!(stdout(&output).starts_with("1 path from a root to N#300000\n"));
}

#[test]
fn many_threads_are_listed_in_time() {
    let mut heap = String::new();
    for i in 0..40_000 {
        writeln!(heap, "root thread:t{i} -> A#{i}").unwrap();
        writeln!(heap, "root thread-object:t{i} -> T#{i}").unwrap();
    }
    let output = run(heap, &["info", "-"]);
    assert!(stdout(&output).contains("t39999             1        T#39999\n"));
}

#[test]
fn an_unknown_name_among_many_classes_is_answered_in_time() {
    let mut heap = String::new();
    for i in 0..40_000 {
        writeln!(heap, "C{i}#1.x -> C{}#1", i + 1).unwrap();
    }
    let output = run(heap, &["path", "-", "C3x9999#1"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("did you mean `C39999#1`"), "{error}");
}

#[test]
fn many_statics_are_searched_in_time() {
    let mut heap = String::from("root main -> A#0\nA#99999.x -> S#1\n");
    for i in 0..100_000 {
        writeln!(heap, "root static:s{i} -> A#{i}").unwrap();
    }
    let output = run(
        heap,
        &["probe", "-", "is-thread-owned", "S#1", "--as", "main"],
    );
    assert!(stdout(&output).contains("static:s99999 → A#99999 .x → S#1\n"));
}

#[test]
fn a_root_may_be_named_as_heap_text_writes_it() {
    let heap = r#"root static:"open orders" -> A#1
root "a \"b\"" -> A#2, A#3
"#;
    for (name, object) in [
        (r#"static:"open orders""#, "A#1"),
        (r#"thread:"a \"b\""[1]"#, "A#3"),
    ] {
        let output = run(heap.into(), &["path", "-", name]);
        let text = stdout(&output);
        let start = format!("a path from a root to {object}\n");
        assert!(text.starts_with(&start), "{name}: {text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_is_written_into() {
    let heap = "root main -> A#1\n".to_string();
    // Not /dev/stdout, which a mistake would replace.
    let stdin_to_stdout = ["convert", "-", "/proc/self/fd/1", "--to", "text"];
    let output = run(heap, &stdin_to_stdout);
    let text = stdout(&output);
    assert!(text.starts_with("class A {}\n"), "{text}");
    assert!(
        text.contains("wrote /proc/self/fd/1 (text, 42 bytes)"),
        "{text}"
    );
}
