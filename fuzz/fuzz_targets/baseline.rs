//! Any text is a baseline or a mistake that has a line; what was read is written, added to and pruned, and read again.
#![no_main]

use heaphound_heap::finding::{Finding, Known, Severity};
use heaphound_report::rules::{Rule, Verdict};
use heaphound_report::{Baseline, Report, Rules};
use libfuzzer_sys::fuzz_target;

/// What a file may begin with: the fuzzer need not find it.
const HEADS: [&str; 3] = [
    "",
    "version = 1\n",
    "version = 1\n[[known]]\nfingerprint = \"0123456789abcdef\"\n",
];

fuzz_target!(|text: &str| {
    for head in HEADS {
        check(&format!("{head}{text}"));
    }
});

/// A run in which a rule fails, or holds.
fn run(holds: bool) -> Report {
    let finding = Finding {
        rule: Some("m".into()),
        ..Finding::new("m", Severity::Error, "`m` does not \"hold\"\n# = [[known]]")
    };
    let rule = Rule {
        name: "m".into(),
        place: "a.deal:1:1".into(),
        fingerprint: finding.fingerprint(),
        verdict: match holds {
            true => Verdict::Holds,
            false => Verdict::Fails(Box::new(finding)),
        },
        message: String::new(),
        listed: Vec::new(),
        left_out: 0,
        notes: Vec::new(),
    };
    Report::Rules(Rules {
        list: vec![rule],
        ..Rules::default()
    })
}

fn check(text: &str) {
    let mut baseline = match Baseline::parse(text) {
        Ok(baseline) => baseline,
        Err(bad) => {
            assert!((1..=text.matches('\n').count() + 1).contains(&bad.line));
            assert!(!bad.message.contains('\n'));
            return;
        }
    };
    same(&baseline);
    let known = Known {
        since: "2026-01-31".into(),
        reason: "so it is".into(),
    };
    let before = baseline.entries().len();
    let added = baseline.add("check", &run(false), &known);
    assert_eq!(baseline.entries().len(), before + added);
    same(&baseline);
    let mut report = run(false);
    let compared = baseline.compare("known.toml", "check", &mut report);
    assert_eq!((compared.known, compared.new), (1, 0));
    let mut report = run(true);
    let compared = baseline.compare("known.toml", "check", &mut report);
    let vanished = compared.vanished;
    assert!(vanished.len() >= added);
    let removed = baseline.remove(&vanished);
    assert_eq!(baseline.entries().len(), before + added - removed);
    same(&baseline);
}

/// What is written is read back, but for the lines.
fn same(baseline: &Baseline) {
    let text = baseline.text();
    let again = Baseline::parse(&text).unwrap_or_else(|bad| panic!("{bad}\n{text}"));
    let of = |it: &Baseline| {
        let entries = it.entries().iter().cloned();
        entries
            .map(|it| (it.fingerprint, it.command, it.kind, it.message, it.known))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&again), of(baseline), "{text}");
}
