//! Cork, chapter 5: what it finds in programs that grow, and what it reports about those that do
//! not. The same is done with programs that it was not developed with.

use heaphound::Collector;
use heaphound::analysis::cork;

use crate::measure::median;
use crate::programs::Size;
use crate::programs::growing::{GROWING, Growing};
use crate::programs::steady::{STEADY, Steady};
use crate::programs::unseen::{BOUNDED, LEAKS};
use crate::recording::{Examined, Recording};
use crate::report::Report;
use crate::{Failed, Options, Progress};

pub(crate) fn run(options: &Options, progress: Progress<'_>) -> Result<Report, Failed> {
    let size = match options.quick {
        true => Size::Small,
        false => Size::Large,
    };
    Ok(run_at(size, progress))
}

fn run_at(size: Size, progress: Progress<'_>) -> Report {
    let mut report = Report::new("cork");
    let (found, until) = examine_leaks(GROWING, size, &mut report, progress);
    let (named, often) = examine_bounded(bounded(GROWING, STEADY, size), &mut report, progress);
    let (unseen_found, _) = examine_leaks(LEAKS, size, &mut report, progress);
    let (unseen_named, _) = examine_bounded(bounded(LEAKS, BOUNDED, size), &mut report, progress);
    report.higher("cork.found", Some(4.0), found as f64, "of 5");
    report.lower("cork.false", Some(0.0), often as f64, "classes");
    let until = median(until);
    if until.is_finite() {
        report.lower("cork.collections_to_report", Some(6.0), until, "");
    }
    report.higher("cork.unseen_found", None, unseen_found as f64, "of 6");
    report.lower("cork.unseen_false", None, unseen_named as f64, "classes");
    report.note(format!(
        "found: exactly one finding stood at the end, whose container is held through the slot to blame, and the class grows in it; \
         collections to report: until that class is named. \
         false: classes named in at least a quarter of the reports of a program, as the paper counts; {named} were named \
         in any. unseen: programs that the detector was not developed with; there a class is false that was named in any report"
    ));
    report
}

/// Examines programs that leak. Returns how many leaks were found, and when each was first
/// reported.
fn examine_leaks(
    programs: &[Growing],
    size: Size,
    report: &mut Report,
    progress: Progress<'_>,
) -> (usize, Vec<f64>) {
    let mut found = 0;
    let mut until = Vec::new();
    for program in programs {
        progress(program.name);
        let recording = record(program, size, true);
        let examined = recording.examine(cork::Options::default());
        found += is_right(program, &recording) as usize;
        // Never reported is worse than any number.
        until.push(
            examined
                .first(program.class)
                .map_or(f64::INFINITY, |first| first as f64),
        );
        report.note(format!(
            "{} ({}): {}",
            program.name,
            program.about,
            describe(program, &examined, &recording)
        ));
    }
    (found, until)
}

/// A program that does not leak: its name, and its run.
type Bounded = (String, Box<dyn Fn() -> Recording>);

/// Returns the repaired twins, and those that never leaked.
fn bounded(
    growing: &'static [Growing],
    steady: &'static [Steady],
    size: Size,
) -> impl Iterator<Item = Bounded> {
    let twins = growing.iter().map(move |program| -> Bounded {
        let name = format!("{}, repaired", program.name);
        (name, Box::new(move || record(program, size, false)))
    });
    let steady = steady.iter().map(move |program| -> Bounded {
        let run = move || {
            Recording::of(Collector::MarkSweep, size, |m| {
                program.run(m, size, &mut |_| {});
            })
        };
        (program.name.to_string(), Box::new(run))
    });
    twins.chain(steady)
}

/// Examines programs that do not leak. Returns how many classes were named at all, and how many
/// often.
fn examine_bounded(
    programs: impl Iterator<Item = Bounded>,
    report: &mut Report,
    progress: Progress<'_>,
) -> (usize, usize) {
    let (mut named, mut often, mut silent) = (0, 0, Vec::new());
    for (name, run) in programs {
        progress(&name);
        let recording = run();
        let examined = recording.examine(cork::Options::default());
        let classes = examined.classes();
        named += classes.len();
        often += examined.often().len();
        let all = examined.reports.len();
        match classes.is_empty() {
            true => silent.push(format!("{name} ({all})")),
            false => {
                let classes = classes.iter();
                let classes: Vec<String> = classes.map(|it| format!("{} {}", it.0, it.1)).collect();
                report.note(format!(
                    "{name}: of {all} reports, named in {}",
                    classes.join(", ")
                ));
            }
        }
    }
    report.note(format!(
        "silent, with full collections: {}",
        silent.join(", ")
    ));
    (named, often)
}

fn record(program: &Growing, size: Size, leak: bool) -> Recording {
    Recording::of(Collector::MarkSweep, size, |m| {
        program.run(m, size, leak, &mut |_| {});
    })
}

/// Returns whether one finding stood at the end, about a container that the right slot leads to, and the class
/// grows in it.
fn is_right(program: &Growing, recording: &Recording) -> bool {
    recording.causes.len() == 1 && recording.blames(program.class, program.holder)
}

fn describe(program: &Growing, examined: &Examined, recording: &Recording) -> String {
    let all = examined.reports.len();
    let Some(first) = examined.first(program.class) else {
        return format!("missed in {all} full collections");
    };
    let verdict = match recording.causes.len() {
        _ if is_right(program, recording) => "found".to_string(),
        0 => "no finding".to_string(),
        1 => "with a wrong cause".to_string(),
        findings => format!("{findings} findings"),
    };
    let findings: String = recording
        .causes
        .iter()
        .map(|it| format!("; {}", it.path))
        .collect();
    // Such as a ring while it is filled.
    let withdrawn = match recording
        .findings
        .len()
        .saturating_sub(recording.causes.len())
    {
        0 => String::new(),
        count => format!(", {count} withdrawn"),
    };
    format!("{verdict}{withdrawn}, first at full collection {first} of {all}{findings}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_is_found_with_its_holder_and_the_others_are_silent() {
        let report = run_at(Size::Small, &mut |_| {});
        let rows: Vec<(&str, f64)> = report
            .rows
            .iter()
            .map(|row| (row.id.as_str(), row.measured))
            .collect();
        assert_eq!(rows[0], ("cork.found", 5.0), "{report}");
        assert_eq!(rows[1], ("cork.false", 0.0), "{report}");
    }
}
