//! What is known is kept: read back, added to, pruned.

use expect_test::{Expect, expect};
use heaphound_heap::finding::{Finding, Fingerprint, Known, Severity};
use heaphound_report::rules::{Rule, Verdict};
use heaphound_report::{Baseline, Growth, Report, Rules};
use proptest::prelude::*;

fn broken(rule: &str) -> Finding {
    Finding {
        rule: Some(rule.into()),
        ..Finding::new(rule, Severity::Error, format!("`{rule}` does not hold"))
    }
}

/// A run in which these rules hold, fail, and are not checked.
fn run(holds: &[&str], fails: &[&str], not_checked: &[&str]) -> Report {
    let rule = |name: &&str, verdict| Rule {
        name: name.to_string(),
        place: "heap.deal:1:1".into(),
        fingerprint: broken(name).fingerprint(),
        verdict,
        message: String::new(),
        listed: Vec::new(),
        left_out: 0,
        notes: Vec::new(),
    };
    let holds = holds.iter().map(|it| rule(it, Verdict::Holds));
    let fails = fails
        .iter()
        .map(|it| rule(it, Verdict::Fails(Box::new(broken(it)))));
    let open = not_checked.iter().map(|it| rule(it, Verdict::NotChecked));
    Report::Rules(Rules {
        list: holds.chain(fails).chain(open).collect(),
        ..Rules::default()
    })
}

fn today(reason: &str) -> Known {
    Known {
        since: "2026-01-31".into(),
        reason: reason.into(),
    }
}

/// A baseline in which these rules are known to fail.
fn known(rules: &[&str]) -> Baseline {
    let mut baseline = Baseline::default();
    baseline.add("check", &run(&[], rules, &[]), &today("so it is"));
    Baseline::parse(&baseline.text()).unwrap()
}

#[test]
fn a_baseline_is_written_in_order() {
    expect![[r##"
        # Findings that are known, by fingerprint. Others make the run fail.
        # Give each a reason; comments and reasons are kept when `--update-baseline` adds findings.
        version = 1

        [[known]]
        fingerprint = "7ceb9565e9075fc0"
        command = "check"
        kind = "a"
        message = "`a` does not hold"
        since = "2026-01-31"
        reason = "so it is"

        [[known]]
        fingerprint = "7cef9565e90b4897"
        command = "check"
        kind = "b"
        message = "`b` does not hold"
        since = "2026-01-31"
        reason = "so it is"
    "##]]
    .assert_eq(&known(&["b", "a"]).text());
}

#[test]
fn comments_reasons_and_foreign_keys_are_kept() {
    let text = known(&["a", "c"]).text();
    let text = text.replacen("[[known]]", "# Ask Ann.\n[[known]] # here", 1);
    let text =
        text.replacen("\"so it is\"", "\"\"\"\ntwo\nlines\"\"\"\nowner = 'ann'", 1) + "# end\n";
    let mut baseline = Baseline::parse(&text).unwrap();
    let added = baseline.add("check", &run(&[], &["a", "b"], &[]), &today(""));
    assert_eq!(added, 1);
    let written = baseline.text();
    let without_b: String = {
        let mut again = Baseline::parse(&written).unwrap();
        let gone = again
            .compare("", "check", &mut run(&["b"], &[], &[]))
            .vanished;
        assert_eq!(again.remove(&gone), 1);
        again.text()
    };
    assert_eq!(without_b, text);
    let kinds: Vec<String> = Baseline::parse(&written)
        .unwrap()
        .entries()
        .iter()
        .map(|it| it.kind.clone())
        .collect();
    assert_eq!(kinds, ["a", "b", "c"]);
    assert_eq!(
        Baseline::parse(&written).unwrap().entries()[0].known.reason,
        "two\nlines"
    );
}

#[test]
fn only_what_was_looked_for_can_have_vanished() {
    let baseline = known(&["fails", "holds", "open", "elsewhere"]);
    let mut report = run(&["holds"], &["fails", "new"], &["open"]);
    let compared = baseline.compare("heap.baseline", "check", &mut report);
    assert_eq!((compared.known, compared.new), (1, 1));
    let vanished: Vec<&str> = compared
        .vanished
        .iter()
        .map(|it| it.kind.as_str())
        .collect();
    assert_eq!(vanished, ["holds"]);
    assert_eq!(compared.vanished[0].line, 21);
    // Another command finds other things.
    let mut report = Report::Growth {
        growth: Growth::default(),
        findings: Vec::new(),
    };
    let compared = baseline.compare("heap.baseline", "grow", &mut report);
    assert_eq!(compared.vanished, []);
}

#[test]
fn findings_with_one_fingerprint_are_known_together() {
    let finding = Finding {
        class: Some("Node".into()),
        ..Finding::new("grows", Severity::Warning, "Node grows")
    };
    let report = |count| Report::Growth {
        growth: Growth::default(),
        findings: vec![finding.clone(); count],
    };
    let mut baseline = Baseline::default();
    assert_eq!(baseline.add("grow", &report(2), &today("")), 1);
    let compared = baseline.compare("", "grow", &mut report(3));
    assert_eq!((compared.known, compared.new), (3, 0));
}

fn check_bad(text: &str, expect: Expect) {
    expect.assert_eq(&Baseline::parse(text).unwrap_err().to_string());
}

#[test]
fn what_is_wrong_in_a_baseline_is_told_with_its_line() {
    check_bad(
        "[package]\nname = 'x'\n",
        expect!["1: this is no baseline: it has no `version`"],
    );
    check_bad(
        "\nversion = 7\n",
        expect!["2: the version is not known, only 1"],
    );
    check_bad(
        "version = 1\n\n[[known]\n",
        expect!["3: unclosed array table, expected `]`"],
    );
    check_bad(
        "version = 1\nknown = 3\n",
        expect!["2: `known` should be tables, as in `[[known]]`"],
    );
    check_bad(
        "version = 1\n[[known]]\nkind = 'a'\n",
        expect!["2: a known finding has no `fingerprint`"],
    );
    check_bad(
        "version = 1\n[[known]]\nkind = 'a'\nfingerprint = '123'\n",
        expect!["4: `123` is no fingerprint: sixteen digits, 0-9 and a-f"],
    );
    // A message is one line, whatever the file says.
    check_bad(
        "version = 1\n[[known]]\nfingerprint = \"a\\nerror: \\u001b[31mb\"\n",
        expect![[r"3: `a\nerror: \u{1b}[31mb` is no fingerprint: sixteen digits, 0-9 and a-f"]],
    );
    check_bad(
        "version = 1\n[[known]]\nfingerprint = '5afe7fd7ad75b68a'\nreason = 5\n",
        expect!["4: `reason` should be a text"],
    );
    let text = known(&["a"]).text();
    let twice = format!("{text}{}", &text[text.find("\n[[").unwrap()..]);
    check_bad(
        &twice,
        expect!["13: fingerprint 7ceb9565e9075fc0 is there twice, first in line 5"],
    );
}

proptest! {
    #![proptest_config(heaphound_testkit::cases::config(200))]

    #[test]
    fn what_is_written_is_read_back(all in prop::collection::vec(("\\PC{0,12}", any::<String>(), any::<String>()), 0..8)) {
        let mut baseline = Baseline::default();
        for (kind, message, reason) in &all {
            let findings = vec![Finding::new(kind, Severity::Error, message)];
            let report = Report::Growth { growth: Growth::default(), findings };
            baseline.add("grow", &report, &today(reason));
        }
        let read = Baseline::parse(&baseline.text()).unwrap();
        prop_assert_eq!(read.entries().len(), baseline.entries().len());
        for (read, written) in read.entries().iter().zip(baseline.entries()) {
            prop_assert_eq!(read.fingerprint, written.fingerprint);
            prop_assert_eq!(&read.kind, &written.kind);
            prop_assert_eq!(&read.message, &written.message);
            prop_assert_eq!(&read.known, &written.known);
        }
        let order: Vec<(String, Fingerprint)> = read.entries().iter().map(|it| (it.kind.clone(), it.fingerprint)).collect();
        prop_assert!(order.is_sorted());
    }

    #[test]
    fn no_text_makes_reading_panic(text in "(version = 1\n)?(\\[\\[known\\]\\]\n|fingerprint = '[0-9a-g]{15,17}'\n|\\PC{0,9}\n|reason = .{0,5}\n){0,6}") {
        let _ = Baseline::parse(&text);
    }
}
