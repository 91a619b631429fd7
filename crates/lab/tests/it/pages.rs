//! What pages of measurements say of themselves.

use std::fs;
use std::path::Path;

/// Returns the abbreviated commits that a text names.
fn commits(text: &str) -> Vec<&str> {
    let words = text.split(|it: char| !it.is_ascii_alphanumeric());
    let is_hex = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
    let is_commit = |it: &&str| (7..=40).contains(&it.len()) && it.bytes().all(is_hex);
    words.filter(is_commit).collect()
}

/// A figure that nobody can make again is none: each page says by which command, at which commit and on which machine.
#[test]
fn each_page_of_measurements_says_how_it_was_made() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measurements");
    let list = fs::read_to_string(pages.join("README.md")).unwrap();
    let mut seen = 0;
    for page in fs::read_dir(&pages).unwrap() {
        let page = page.unwrap();
        let name = page.file_name().into_string().unwrap();
        if name == "README.md" {
            continue;
        }
        let text = fs::read_to_string(page.path()).unwrap();
        // Before the first heading of its own.
        let head = text.split("\n## ").next().unwrap();
        assert!(!commits(head).is_empty(), "{name} names no commit");
        let commands = [
            "heaphound lab ",
            "just ",
            "cargo run ",
            "cargo test ",
            "bash ",
            "callgrind ",
        ];
        assert!(
            commands.iter().any(|it| head.contains(it)),
            "{name} names no command"
        );
        assert!(head.contains(" cores"), "{name} names no machine");
        assert!(
            list.contains(&format!("[{name}]({name})")),
            "README.md does not list {name}"
        );
        seen += 1;
    }
    assert!(seen > 5);
}
