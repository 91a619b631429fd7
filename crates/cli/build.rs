//! Finds the version that `heaphound --version` tells: with the commit, if this is a release build and the commit is known.
//!
//! A package knows its commit from the file that `cargo package` writes into it. Sources in a repository ask git. Elsewhere, and where there is no git, the version is all
//! there is. Debug builds do not ask: they need not be built again for each commit.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Digits of a commit.
const DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let detail = match env::var("PROFILE").as_deref() {
        Ok("release") => commit(),
        _ => Some("debug build".into()),
    };
    let version = match detail {
        Some(detail) => format!("{version} ({detail})"),
        None => version,
    };
    println!("cargo::rustc-env=HEAPHOUND_VERSION={version}");
}

fn commit() -> Option<String> {
    let here = env::var("CARGO_MANIFEST_DIR").ok()?;
    let here = Path::new(&here);
    let found = packaged(here).or_else(|| asked(here))?;
    let is_commit = found.len() >= DIGITS && found.bytes().all(|it| it.is_ascii_hexdigit());
    is_commit.then(|| found[..DIGITS].to_string())
}

/// Returns what `cargo package` wrote down: `"sha1": "0123…"`.
fn packaged(here: &Path) -> Option<String> {
    let file = here.join(".cargo_vcs_info.json");
    let text = fs::read_to_string(file).ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    rest.split('"').nth(1).map(String::from)
}

/// Returns what git says, if these sources are at their place in their repository: a copy of them in another has not its commit.
fn asked(here: &Path) -> Option<String> {
    if !here.join("../../.git").exists() {
        return None;
    }
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).current_dir(here).output();
        let output = output.ok().filter(|it| it.status.success())?;
        let text = String::from_utf8(output.stdout).ok()?;
        Some(text.trim().to_string())
    };
    // They change with each commit, and when another branch is taken.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "HEAD"])
}
