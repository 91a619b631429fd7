//! JSON is what its schema says, with everything that a report can have.

use heaphound_heap::finding::{Evidence, Finding, Hop, LeftOut, Named, Path, Severity};
use heaphound_heap::{Root, RootKind};
use heaphound_report::answer::{Amount, Kind};
use heaphound_report::rules::{self, Rule};
use heaphound_report::{About, Answer, Growth, Members, Report, Rules, Shapes, Verdict, json};
use heaphound_testkit::schema;

fn named(class: &str) -> Named {
    Named::new(format!("{class}#1"), class)
}

fn evidence(root: Option<Root>) -> Evidence {
    let hop = |slot: &str, index| Hop {
        slot: slot.into(),
        index,
        to: named("Node"),
    };
    Evidence::labelled(
        "so",
        Path {
            left_out: root.is_none().then_some(LeftOut {
                after: 1,
                hops: 840,
            }),
            ..Path::new(
                root,
                Named {
                    caption: Some("id=7".into()),
                    ..named("List")
                },
                vec![hop("head", None), hop("", Some(3))],
            )
        },
    )
}

fn finding(severity: Severity, collection: Option<u64>) -> Finding {
    let mut root = Root::new(RootKind::ThreadStack, "main");
    root.scope = Some("src/main.rs:3:5".into());
    Finding {
        objects: vec![named("Node")],
        evidence: vec![evidence(Some(root)), evidence(None)],
        place: collection.map(|_| "src/main.rs:7:5".into()),
        collection,
        notes: vec!["one is left out".into()],
        ..Finding::new("shared", severity, "\"quoted\"\n\u{1b}")
    }
}

#[test]
fn a_report_with_everything_fits_the_schema() {
    let answer = |verdict| Answer {
        question: "pred".into(),
        arguments: vec!["Node#1".into()],
        asker: Some("main".into()),
        verdict,
        message: "nobody".into(),
        evidence: vec![evidence(None)],
        notes: vec!["a note".into()],
    };
    let members = Members {
        of: Kind::Objects,
        count: 3,
        listed: vec!["Node#1".to_string().into()],
    };
    let set = Verdict::Set {
        members,
        expected: Some(Amount::Empty),
    };
    let truth = Verdict::Truth {
        yes: true,
        expected: false,
    };
    for verdict in [set, truth] {
        for finding in [
            finding(Severity::Note, None),
            finding(Severity::Warning, Some(u64::MAX)),
            finding(Severity::Error, Some(0)),
        ] {
            let report = Report::Answer {
                answer: answer(verdict.clone()),
                finding: Some(Box::new(finding)),
            };
            schema::check(&json::report(&About::new("probe", "web.heap"), &report));
        }
    }
}

#[test]
fn every_kind_of_report_fits_the_schema() {
    let rule = |verdict| Rule {
        name: "r".into(),
        place: "heap.deal:1:1".into(),
        fingerprint: finding(Severity::Error, None).fingerprint(),
        verdict,
        message: String::new(),
        listed: Vec::new(),
        left_out: 0,
        notes: Vec::new(),
    };
    let fails = rules::Verdict::Fails(Box::new(finding(Severity::Error, None)));
    let verdicts = [
        rules::Verdict::Holds,
        fails,
        rules::Verdict::NotChecked,
        rules::Verdict::Told,
    ];
    let findings = vec![finding(Severity::Warning, None)];
    let reports = [
        Report::Rules(Rules {
            list: verdicts.map(rule).into(),
            ..Rules::default()
        }),
        Report::Growth {
            growth: Growth::default(),
            findings: findings.clone(),
        },
        Report::Shapes {
            shapes: Shapes::default(),
            findings: findings.clone(),
        },
        Report::Explanation {
            subject: "heap.deal".into(),
            text: "one traversal\n".into(),
        },
        Report::Formatted {
            text: "heap.deal\n".into(),
            findings,
        },
    ];
    for report in reports {
        schema::check(&json::report(&About::new("deal", ""), &report));
    }
}

#[test]
fn an_error_fits_the_schema() {
    schema::check(&json::error(
        &About::new("probe", "web.heap"),
        "no such file",
    ));
}

#[test]
#[should_panic = "$/command does not fit"]
fn what_does_not_fit_the_schema_is_found() {
    schema::check(&json::error(&About::new("dance", "web.heap"), ""));
}
