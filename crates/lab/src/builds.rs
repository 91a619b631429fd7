//! Builds the same program twice: with a cargo feature and without it, so that the second one
//! contains nothing of the feature.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An example of this crate, in both forms.
pub struct Builds {
    /// With all features.
    pub with: PathBuf,
    /// With these but one.
    pub without: PathBuf,
}

/// Builds an example with all features and with only `others`.
///
/// # Errors
/// If cargo or the sources are missing, or it does not compile.
pub fn build(example: &str, others: &str) -> Result<Builds, String> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !sources.join("Cargo.toml").exists() {
        return Err("the sources are not where they were when this was built".into());
    }
    let build = |name: &str, flags: &[&str]| {
        let target = sources.join("../../target").join(name);
        let status = Command::new("cargo")
            .args(["build", "--quiet", "--release", "-p", "heaphound-lab"])
            .args(["--example", example, "--target-dir"])
            .arg(&target)
            .args(flags)
            .current_dir(sources)
            .status()
            .map_err(|error| format!("cargo cannot be run: {error}"))?;
        match status.success() {
            true => Ok(target.join("release/examples").join(example)),
            false => Err(format!("`{example}` could not be built")),
        }
    };
    Ok(Builds {
        with: build("lab-with", &[])?,
        without: build(
            "lab-without",
            &["--no-default-features", "--features", others],
        )?,
    })
}

/// Runs a program. Returns the number behind each word that it prints.
///
/// # Errors
/// If it cannot be run, or fails.
pub fn figures(program: &Path, arguments: &[&str]) -> Result<Vec<(String, f64)>, String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    if !output.status.success() {
        return Err(format!("{} failed", program.display()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let words: Vec<&str> = text.split_whitespace().collect();
    let pairs = words.chunks_exact(2);
    Ok(pairs
        .filter_map(|pair| Some((pair[0].to_string(), pair[1].parse().ok()?)))
        .collect())
}
