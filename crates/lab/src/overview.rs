//! All experiments in one table: the paper's figures, ours, their ratio, and whether ours is as good.
//!
//! As text for a terminal, and as a page in Markdown, with the machine and the reasons for what is not reached
//! (`reasons.rs`).

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::report::{Report, Row};
use crate::{Experiment, reasons};

/// An experiment that was run, or could not be.
pub struct Ran {
    /// The experiment.
    pub experiment: &'static Experiment,
    /// What it found, or why it did not run to its end.
    pub report: Result<Report, String>,
    /// How long it took.
    pub seconds: f64,
}

/// Returns the table for a terminal.
pub fn text(all: &[Ran]) -> String {
    let mut text = String::new();
    let ids = rows(all).map(|row| row.id.len());
    let width = ids.max().unwrap_or(0).max("figure".len());
    for Ran {
        experiment,
        report,
        seconds,
    } in all
    {
        let name = experiment.name;
        let _ = writeln!(text, "{name}: {} ({seconds:.0} s)", experiment.about);
        let report = match report {
            Ok(report) => report,
            Err(why) => {
                let _ = writeln!(text, "  could not be run: {why}\n");
                continue;
            }
        };
        let _ = writeln!(
            text,
            "  {:width$}  {:>9}  {:>9}  {:>7}  reached",
            "figure", "paper", "ours", "ratio"
        );
        for row in &report.rows {
            let [paper, ours, ratio, reached] = cells(row);
            let _ = writeln!(
                text,
                "  {:width$}  {paper:>9}  {ours:>9}  {ratio:>7}  {reached}",
                row.id
            );
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", sum(all));
    text
}

/// Returns the page. `command` is what was run.
pub fn page(all: &[Ran], command: &str) -> String {
    let mut page = String::from(
        "# Results\n\n\
         The papers' figures beside ours: what one run of all experiments printed. It is quick: smaller heaps and fewer rounds than\n\
         the runs that [measurements](measurements/README.md) has, page by page, so that a figure may differ from theirs by its noise.\n\n",
    );
    let _ = writeln!(page, "| | |\n|---|---|\n| command | `{command}` |");
    for (what, is) in machine() {
        let _ = writeln!(page, "| {what} | {is} |");
    }
    let seconds: f64 = all.iter().map(|it| it.seconds).sum();
    let _ = writeln!(
        page,
        "| took | {:.0} min {:.0} s |",
        (seconds / 60.0).floor(),
        seconds % 60.0
    );
    let _ = writeln!(page, "\n{}\n", sum(all));
    page.push_str(
        "*Ratio* is ours divided by the paper's. Figures without a paper's are our own; there is nothing to reach. Where less is better \
         the unit\nis marked ↓, where more is better ↑.\n\n",
    );
    page.push_str("| figure | paper | ours | | ratio | reached |\n|---|---:|---:|---|---:|---|\n");
    for it in all {
        let about = it.experiment.about;
        let name = it.experiment.name;
        let _ = writeln!(
            page,
            "| **{name}**: {about}, {:.0} s | | | | | |",
            it.seconds
        );
        match &it.report {
            Ok(report) => report.rows.iter().for_each(|row| put_line(&mut page, row)),
            Err(why) => {
                let _ = writeln!(
                    page,
                    "| could not be run: {} | | | | | |",
                    why.replace('|', "\\|")
                );
            }
        }
    }
    page.push_str("\n## What is not reached, and why\n\n");
    for row in rows(all).filter(|it| it.is_reached() == Some(false)) {
        let why = reasons::of(&row.id).unwrap_or("Nobody has looked into it yet.");
        let _ = writeln!(page, "- `{}`: {why}", row.id);
    }
    if rows(all).all(|it| it.is_reached() != Some(false)) {
        page.push_str("Nothing.\n");
    }
    page
}

fn put_line(page: &mut String, row: &Row) {
    let [paper, ours, ratio, reached] = cells(row);
    let arrow = match row.better {
        crate::Better::Lower => "↓",
        crate::Better::Higher => "↑",
    };
    let _ = writeln!(
        page,
        "| `{}` | {paper} | {ours} | {} {arrow} | {ratio} | {reached} |",
        row.id, row.unit
    );
}

/// Returns the paper's figure, ours, the ratio and whether it is reached, as text.
fn cells(row: &Row) -> [String; 4] {
    let nothing = || "–".to_string();
    [
        row.paper.map_or_else(nothing, |it| it.to_string()),
        row.measured.to_string(),
        row.ratio().map_or_else(nothing, |it| format!("{it:.2}")),
        match row.is_reached() {
            None => nothing(),
            Some(true) => "yes".into(),
            Some(false) => "no".into(),
        },
    ]
}

fn rows(all: &[Ran]) -> impl Iterator<Item = &Row> {
    all.iter().flat_map(|it| &it.report).flat_map(|it| &it.rows)
}

/// Returns how many figures are reached, as a sentence.
fn sum(all: &[Ran]) -> String {
    let compared = rows(all).filter(|it| it.paper.is_some()).count();
    let reached = rows(all).filter(|it| it.is_reached() == Some(true));
    let failed = all.iter().filter(|it| it.report.is_err()).count();
    let failed = match failed {
        0 => String::new(),
        many => format!(" {many} of {} experiments could not be run.", all.len()),
    };
    format!(
        "{} of {compared} figures are as good as the paper's.{failed}",
        reached.count()
    )
}

/// Returns what is known of the machine, and of what was built on it.
fn machine() -> Vec<(&'static str, String)> {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let value = |file: &str, key: &str| {
        let text = read(file);
        let line = text.lines().find(|it| it.starts_with(key));
        line.and_then(|it| it.split_once(':'))
            .map(|it| it.1.trim().to_string())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = value("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into());
    let memory = value("/proc/meminfo", "MemTotal");
    let kilobytes = memory.and_then(|it| it.split(' ').next()?.parse::<u64>().ok());
    let gigabytes = kilobytes.map_or(0, |it| (it + (1 << 19)) >> 20);
    let kernel = read("/proc/sys/kernel/osrelease");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    let said = |program: &str, words: &[&str]| {
        let output = Command::new(program)
            .args(words)
            .current_dir(sources)
            .output();
        let output = output.ok().filter(|it| it.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let mut known = vec![
        (
            "machine",
            format!(
                "{processor}, {cores} cores, {gigabytes} GB, Linux {}",
                kernel.trim()
            ),
        ),
        (
            "load when it ended",
            read("/proc/loadavg")
                .split(' ')
                .take(3)
                .collect::<Vec<_>>()
                .join(" "),
        ),
    ];
    known.extend(said("rustc", &["--version"]).map(|it| ("compiler", it)));
    known.extend(said("git", &["rev-parse", "--short=12", "HEAD"]).map(|it| ("commit", it)));
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EXPERIMENTS;

    fn ran() -> Vec<Ran> {
        let mut report = Report::new("x");
        report.lower("x.low", Some(2.0), 1.0, "%");
        report.higher("x.high", Some(4.0), 1.0, "×");
        report.higher("x.ours", None, 1.5, "×");
        let ran = |report| Ran {
            experiment: &EXPERIMENTS[0],
            report,
            seconds: 61.0,
        };
        vec![ran(Ok(report)), ran(Err("no | memory".into()))]
    }

    #[test]
    fn a_table_says_what_is_reached_and_what_could_not_be_run() {
        let text = text(&ran());
        let line = |id: &str| {
            let line = text.lines().find(|it| it.contains(id)).expect(id);
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(line("x.low"), "x.low 2 1 0.50 yes");
        assert_eq!(line("x.high"), "x.high 4 1 0.25 no");
        assert_eq!(line("x.ours"), "x.ours – 1.5 – –");
        assert!(text.contains("could not be run: no | memory"), "{text}");
        let sum =
            "1 of 2 figures are as good as the paper's. 1 of 2 experiments could not be run.\n";
        assert!(text.ends_with(sum), "{text}");
    }

    #[test]
    fn a_page_has_a_reason_for_each_figure_that_is_not_reached() {
        let page = page(&ran(), "heaphound lab all");
        assert!(
            page.contains("| `x.high` | 4 | 1 | × ↑ | 0.25 | no |"),
            "{page}"
        );
        assert!(
            page.contains("- `x.high`: Nobody has looked into it yet."),
            "{page}"
        );
        assert!(!page.contains("- `x.low`"), "{page}");
        assert!(page.contains("no \\| memory"), "{page}");
    }
}
