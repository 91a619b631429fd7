//! Counts instructions with valgrind, for differences that are smaller than the noise of the
//! machine.

use std::process::{Command, Stdio};

/// Returns how many instructions a piece of work takes: half the difference between doing it
/// three times and once, under callgrind. `None` where valgrind is missing or does not work.
pub fn instructions(what: &str) -> Option<f64> {
    let once = run(what, 1)?;
    let thrice = run(what, 3)?;
    Some((thrice - once) / 2.0)
}

fn run(what: &str, times: usize) -> Option<f64> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--count", what, "--times", &times.to_string()])
        .stdout(Stdio::null())
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    // ==123== Collected : 1234567
    let report = String::from_utf8_lossy(&output.stderr);
    let line = report.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(' ').next()?.parse().ok()
}
