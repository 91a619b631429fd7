//! What share of a program's instructions casts take.
//!
//! Casts are inlined, a few instructions each. So callgrind counts how often each instruction runs, and addr2line tells
//! for each whether it comes from a cast: from `downcast`, which `match_class!` uses, and all that it calls.

use std::collections::HashMap;
use std::io::Write;
use std::process::{Command, Stdio};

/// The share of a program's instructions that casts take, in percent; none if valgrind or addr2line is not installed.
pub fn share(program: &str) -> Option<f64> {
    let out = std::env::temp_dir().join(format!("casts-{}-{program}", std::process::id()));
    let status = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "-q",
            "--dump-instr=yes",
            "--dump-line=no",
        ])
        .args(["--compress-pos=no", "--compress-strings=no"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(std::env::current_exe().ok()?)
        .args(["--once", program])
        .status();
    if !status.is_ok_and(|it| it.success()) {
        eprintln!("programs.casts_pct: valgrind is not installed");
        return None;
    }
    let counts = std::fs::read_to_string(&out).ok()?;
    let _ = std::fs::remove_file(&out);
    let (total, mine) = instructions(&counts);
    let addresses: Vec<u64> = mine.keys().copied().collect();
    let are_casts = are_casts(&addresses)?;
    let casts = addresses.iter().zip(are_casts).filter(|it| it.1);
    let casts: u64 = casts.map(|it| mine[it.0]).sum();
    Some(100.0 * casts as f64 / total as f64)
}

/// How many instructions ran, and how often each of this program's own, by where it stands in the file.
fn instructions(counts: &str) -> (u64, HashMap<u64, u64>) {
    let myself = std::env::current_exe().unwrap_or_default();
    let myself = myself.display().to_string();
    let (mut total, mut mine) = (0, HashMap::new());
    let (mut is_mine, mut after_call) = (false, false);
    for line in counts.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            is_mine = object == myself;
        } else if line.starts_with("calls=") {
            // The line behind it is what the callee took, which has lines of its own.
            after_call = true;
        } else if let Some(rest) = line.strip_prefix("0x") {
            let mut words = rest.split(' ');
            let address = words.next().and_then(|it| u64::from_str_radix(it, 16).ok());
            let cost = words.next_back().and_then(|it| it.parse::<u64>().ok());
            if let (Some(address), Some(cost)) = (address, cost)
                && !std::mem::take(&mut after_call)
            {
                total += cost;
                if is_mine {
                    *mine.entry(address).or_default() += cost;
                }
            }
        }
    }
    (total, mine)
}

/// Whether each instruction belongs to a cast.
fn are_casts(addresses: &[u64]) -> Option<Vec<bool>> {
    let mut child = Command::new("addr2line")
        .args(["-a", "-f", "-i", "-e"])
        .arg(std::env::current_exe().ok()?)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|_| eprintln!("programs.casts_pct: addr2line is not installed"))
        .ok()?;
    let mut input = child.stdin.take()?;
    let asked: String = addresses.iter().map(|it| format!("{it:#x}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(asked.as_bytes()));
    let output = child.wait_with_output().ok()?;
    writer.join().ok()?.ok()?;
    let mut answers = Vec::new();
    for line in String::from_utf8(output.stdout).ok()?.lines() {
        if line.starts_with("0x") {
            answers.push(false);
        } else if let Some(last) = answers.last_mut() {
            // Names of functions and their files take turns.
            let is_cast = line.starts_with("downcast<") || line.contains("8downcast17h");
            *last |= is_cast || line == "seen" || line.contains("gc/src/casts.rs");
        }
    }
    (answers.len() == addresses.len()).then_some(answers)
}
