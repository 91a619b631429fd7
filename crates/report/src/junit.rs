//! Rules and findings as JUnit's XML, for those who show the results of tests.
//!
//! A rule is a test. It fails if there is a finding that nobody has accepted; one that is known is skipped, with the
//! reason. A rule that could not be checked is an error, unless that was allowed. A command without rules
//! is a test that passes if it found nothing, and otherwise a test for each finding.
//!
//! Names come from files that anybody may have written: what XML cannot have is escaped, and not left out.

use std::time::Duration;

use heaphound_heap::finding::Finding;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use crate::rules::{Rule, Verdict};
use crate::{About, Report, text};

/// Columns of the text of a finding.
const WIDTH: usize = 100;

/// Returns the findings of a command as XML. `heap` is the file that they are about, and `took` how long it took.
pub fn report(about: &About<'_>, report: &Report, took: Duration) -> String {
    let About { command, heap, .. } = *about;
    let mut suite = TestSuite::new(shown(&suite_name(heap)));
    match report.rules() {
        Some(rules) => {
            let cases = rules.list.iter();
            suite.add_test_cases(cases.map(|it| rule(it, rules.allows_unchecked)));
        }
        None => {
            let findings = report.findings();
            if findings.is_empty() {
                suite.add_test_case(case(command, command, TestCaseStatus::success()));
            }
            suite.add_test_cases(findings.into_iter().map(|it| {
                let mut case = case(&it.message, command, status(it));
                put_note(&mut case, it);
                case
            }));
        }
    }
    let mut remarks = about.notes.to_vec();
    remarks.extend(report.rules().into_iter().flat_map(|it| it.notes.clone()));
    if let Some(baseline) = report.baseline() {
        for gone in &baseline.vanished {
            let message = gone.to_string();
            if baseline.is_strict {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_message(shown(&message));
                status.set_type("vanished");
                suite.add_test_case(case(&gone.kind, &baseline.file, status));
            }
            remarks.push(message);
        }
    }
    if !remarks.is_empty() {
        suite.set_system_out(shown(&remarks.join("\n")));
    }
    print(command, suite, took)
}

/// Returns the error of a command that could not do its job, as XML.
pub fn error(about: &About<'_>, message: &str, took: Duration) -> String {
    let About { command, heap, .. } = *about;
    let mut suite = TestSuite::new(shown(&suite_name(heap)));
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(shown(message.lines().next().unwrap_or_default()));
    status.set_description(shown(message));
    suite.add_test_case(case(command, command, status));
    print(command, suite, took)
}

fn print(command: &str, mut suite: TestSuite, took: Duration) -> String {
    // Rules share one traversal: only the time of all is known.
    suite.set_time(took);
    let mut report = quick_junit::Report::new(shown(&format!("heaphound {command}")));
    report.set_time(took);
    report.add_test_suite(suite);
    report.to_string().expect("strings and numbers only")
}

fn suite_name(heap: &str) -> String {
    match heap {
        "" => "heap".into(),
        heap => heap.into(),
    }
}

fn case(name: &str, class: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(shown(name), status);
    case.set_classname(shown(class));
    case
}

fn rule(rule: &Rule, allows_unchecked: bool) -> TestCase {
    let file = rule.place.rsplitn(3, ':').last().unwrap_or(&rule.place);
    let status = match &rule.verdict {
        Verdict::Holds | Verdict::Told => TestCaseStatus::success(),
        Verdict::Fails(finding) => status(finding),
        Verdict::NotChecked => {
            let mut status = match allows_unchecked {
                true => TestCaseStatus::skipped(),
                false => TestCaseStatus::non_success(NonSuccessKind::Error),
            };
            status.set_message(shown(&format!("not checked: {}", rule.message)));
            status.set_type("not-checked");
            let place = format!("{}\n{}", rule.place, rule.notes.join("\n"));
            status.set_description(shown(place.trim_end()));
            status
        }
    };
    let mut case = case(&rule.name, file, status);
    match &rule.verdict {
        Verdict::Fails(finding) => put_note(&mut case, finding),
        Verdict::Told => {
            let mut lines = vec![rule.message.clone()];
            lines.extend(rule.listed.iter().cloned());
            if rule.left_out > 0 {
                lines.push(format!("… and {} more", rule.left_out));
            }
            case.set_system_out(shown(&lines.join("\n")));
        }
        _ => {}
    }
    case
}

/// Returns what a finding is among tests.
fn status(finding: &Finding) -> TestCaseStatus {
    let mut status = match &finding.known {
        Some(known) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(shown(&format!("known {known}")));
            status
        }
        None if finding.is_failure() => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(shown(&finding.message));
            status
        }
        None => return TestCaseStatus::success(),
    };
    status.set_type(shown(&finding.kind));
    status.set_description(shown(&text::plain_finding(finding, WIDTH)));
    status
}

/// A note is no failure, and is told all the same.
fn put_note(case: &mut TestCase, finding: &Finding) {
    if finding.known.is_none() && !finding.is_failure() {
        case.set_system_out(shown(&text::plain_finding(finding, WIDTH)));
    }
}

/// Returns a text with what XML 1.0 cannot have, and what moves a cursor, as escapes.
fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\u{fffe}' | '\u{ffff}' => shown.extend(c.escape_unicode()),
            c if c.is_control() => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}
