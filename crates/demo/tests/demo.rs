//! The demo, run as a user runs it.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_demo_prints_what_the_readme_shows_and_writes_a_page() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::env::temp_dir().join(format!("heaphound-demo-{}.html", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_heaphound-demo"))
        .arg(&page)
        .current_dir(here.join("../.."))
        .output()
        .expect("it runs");
    let told = String::from_utf8(output.stdout).unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}{complaints}");
    let html = fs::read_to_string(&page).unwrap();
    fs::remove_file(&page).unwrap();
    for title in [
        "Findings",
        "What grows",
        "The same program, with and without pruning",
        "How full the heap was",
        "Classes",
        "Survival by site",
        "Pruning receipts",
    ] {
        assert!(html.contains(&format!("<h2>{title}</h2>")), "{title}");
    }

    let readme = fs::read_to_string(here.join("../../README.md")).unwrap();
    let (_, shown) = readme.split_once("```text\n").expect("a block");
    let (shown, _) = shown.split_once("```").expect("the block ends");
    // `…` stands for lines that are left out.
    let mut rest = told.as_str();
    for line in shown.lines().filter(|it| *it != "…") {
        let Some(at) = rest.find(line) else {
            panic!("the README shows\n{line}\nand this has no such line:\n{told}");
        };
        rest = &rest[at + line.len()..];
    }
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let output = Command::new(env!("CARGO_BIN_EXE_heaphound-demo"))
        .arg("/no/such/folder/demo.html")
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("cannot write /no/such/folder/demo.html"),
        "{told}"
    );
}
