//! SARIF fits its schema and JUnit is XML, whatever names a heap has.

use std::time::Duration;

use heaphound_heap::finding::{Evidence, Finding, Hop, Known, LeftOut, Named, Path, Severity};
use heaphound_heap::{Root, RootKind};
use heaphound_report::baseline::Vanished;
use heaphound_report::rules::{Rule, Verdict};
use heaphound_report::{About, Compared, Growth, Report, Rules, junit, sarif};
use heaphound_testkit::schema;
use proptest::prelude::*;
use roxmltree::Document;
use serde_json::Value;

const TOOK: Duration = Duration::from_millis(1500);

/// Texts with what makes trouble somewhere: controls, quotes, markup, places of arguments, links, surrogates'
/// neighbours; and some that are long.
fn text() -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        "]]>",
        "<!--",
        "&amp;",
        "\"'",
        "\u{0}",
        "\u{1b}[31m",
        "\u{8}",
        "\u{b}",
        "\u{7f}",
        "\u{9b}2J",
        "\u{fffe}",
        "\u{ffff}",
        "\u{202e}",
        "\r\n",
        "\t",
        "{0}",
        "}}",
        "[a](1)",
        "heap.deal:5:1",
        " ",
        "%",
        "é→𝄞",
    ]);
    let piece = prop_oneof![
        4 => nasty.prop_map(String::from),
        2 => any::<char>().prop_map(String::from),
        2 => "[a-z]{1,8}",
        1 => Just("x".repeat(3_000)),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|it| it.concat())
}

fn named() -> impl Strategy<Value = Named> {
    (text(), text(), prop::option::of(text())).prop_map(|(name, class, caption)| Named {
        name,
        class,
        caption,
    })
}

fn path() -> impl Strategy<Value = Path> {
    let root = (text(), prop::option::of(text())).prop_map(|(name, scope)| Root {
        scope,
        ..Root::new(RootKind::Static, &name)
    });
    let hop = (text(), prop::option::of(any::<u32>()), named());
    let hop = hop.prop_map(|(slot, index, to)| Hop { slot, index, to });
    let hops = prop::collection::vec(hop, 0..5);
    let parts = (prop::option::of(root), named(), hops, any::<bool>());
    parts.prop_map(|(root, first, hops, is_long)| Path {
        left_out: (is_long && !hops.is_empty()).then_some(LeftOut {
            after: 0,
            hops: 840,
        }),
        ..Path::new(root, first, hops)
    })
}

fn finding() -> impl Strategy<Value = Finding> {
    let severity = prop::sample::select(vec![Severity::Note, Severity::Warning, Severity::Error]);
    let evidence = prop::collection::vec((text(), path()), 0..3);
    let known = prop::option::of((text(), text()));
    let objects = prop::collection::vec(named(), 0..3);
    let said = (text(), text(), prop::option::of(text()));
    let parts = (said, severity, evidence, known, objects);
    parts.prop_map(
        |((kind, message, place), severity, evidence, known, objects)| Finding {
            objects,
            evidence: evidence
                .into_iter()
                .map(|(label, path)| Evidence::labelled(label, path))
                .collect(),
            place,
            known: known.map(|(since, reason)| Known { since, reason }),
            notes: vec![message.clone()],
            ..Finding::new(kind, severity, message)
        },
    )
}

fn rule() -> impl Strategy<Value = Rule> {
    let verdict = prop_oneof![
        Just(Verdict::Holds),
        Just(Verdict::NotChecked),
        Just(Verdict::Told),
        finding().prop_map(|it| Verdict::Fails(Box::new(it))),
    ];
    let parts = (text(), text(), verdict, text(), 0..3usize);
    parts.prop_map(|(name, place, verdict, message, left_out)| Rule {
        fingerprint: Finding::new("", Severity::Error, name.clone()).fingerprint(),
        listed: vec![message.clone()],
        notes: vec![message.clone()],
        name,
        place,
        verdict,
        message,
        left_out,
    })
}

/// A report that has been compared with what is known, or not.
fn report() -> impl Strategy<Value = Report> {
    let rules = (prop::collection::vec(rule(), 0..4), any::<bool>());
    let rules = rules.prop_map(|(list, allows_unchecked)| {
        Report::Rules(Rules {
            notes: list.iter().map(|it| it.name.clone()).collect(),
            list,
            allows_unchecked,
            ..Rules::default()
        })
    });
    let growth = prop::collection::vec(finding(), 0..3).prop_map(|findings| Report::Growth {
        growth: Growth::default(),
        findings,
    });
    let vanished = (text(), text()).prop_map(|(kind, message)| Vanished {
        fingerprint: "0".repeat(16),
        since: message.clone(),
        reason: kind.clone(),
        kind,
        message,
        line: 3,
    });
    let vanished = prop::collection::vec(vanished, 0..2);
    let compared = (text(), vanished, any::<bool>());
    let compared = compared.prop_map(|(file, vanished, is_strict)| Compared {
        file,
        vanished,
        is_strict,
        ..Compared::default()
    });
    (prop_oneof![rules, growth], prop::option::of(compared)).prop_map(|(report, compared)| {
        match compared {
            None => report,
            Some(baseline) => Report::Compared {
                report: Box::new(report),
                baseline,
            },
        }
    })
}

proptest! {
    #![proptest_config(heaphound_testkit::cases::config(200))]

    #[test]
    fn sarif_fits_its_schema_whatever_it_says(report in report(), heap in text()) {
        let text = sarif::report(&About::new("check", &heap), &report);
        schema::check_sarif(&text);
        let log: Value = serde_json::from_str(&text).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap();
        // Nothing is left out, what is known neither.
        prop_assert_eq!(results.len(), report.findings().len());
        for (result, finding) in results.iter().zip(report.findings()) {
            let fingerprint = finding.fingerprint().to_string();
            prop_assert_eq!(&result["partialFingerprints"]["heaphound/v1"], &fingerprint);
            for (nth, evidence) in finding.evidence.iter().enumerate() {
                check_traversal(result, nth, &evidence.path);
            }
        }
    }

    #[test]
    fn junit_is_xml_whatever_it_says(report in report(), heap in text()) {
        let xml = junit::report(&About::new("check", &heap), &report, TOOK);
        let document = Document::parse(&xml);
        prop_assert!(document.is_ok(), "{:?}\n{xml}", document.err());
        let document = document.unwrap();
        let count = |name| document.descendants().filter(|it| it.has_tag_name(name)).count();
        let failing = report.findings().iter().filter(|it| it.is_failure()).count();
        let gone = report.baseline().map_or(0, |it| match it.is_strict {
            true => it.vanished.len(),
            false => 0,
        });
        prop_assert_eq!(count("failure"), failing + gone);
        if let Some(rules) = report.rules() {
            prop_assert_eq!(count("testcase"), rules.list.len() + gone);
            let errors = if rules.allows_unchecked { 0 } else { rules.not_checked() };
            prop_assert_eq!(count("error"), errors);
        }
        prop_assert!(xml.contains("time=\"1.500\""), "{xml}");
    }

    #[test]
    fn errors_are_well_formed_whatever_they_say(message in text(), heap in text()) {
        schema::check_sarif(&sarif::error(&About::new("check", &heap), &message));
        let xml = junit::error(&About::new("check", &heap), &message, TOOK);
        prop_assert!(Document::parse(&xml).is_ok(), "{xml}");
    }
}

/// A traversal goes over edges that follow each other, from the first node to the last, and a code flow says the
/// same.
fn check_traversal(result: &Value, nth: usize, path: &Path) {
    let traversal = &result["graphTraversals"][nth];
    let graph = &result["graphs"][traversal["resultGraphIndex"].as_u64().unwrap() as usize];
    let nodes = graph["nodes"].as_array().unwrap();
    let objects = path.hops.len() + 1 + usize::from(path.root.is_some());
    assert_eq!(nodes.len(), objects);
    let mut at = &nodes[0]["id"];
    for edge in traversal["edgeTraversals"].as_array().unwrap() {
        let mut edges = graph["edges"].as_array().unwrap().iter();
        let edge = edges.find(|it| it["id"] == edge["edgeId"]).unwrap();
        assert_eq!(&edge["sourceNodeId"], at);
        at = &edge["targetNodeId"];
    }
    assert_eq!(at, &nodes[objects - 1]["id"]);
    let flow = &result["codeFlows"][nth]["threadFlows"][0]["locations"];
    assert_eq!(flow.as_array().unwrap().len(), objects);
}

#[test]
#[should_panic = "does not fit"]
fn what_is_not_sarif_is_found() {
    let text = sarif::error(&About::new("check", "web.heap"), "no");
    schema::check_sarif(&text.replace("executionSuccessful", "executionSuccesful"));
}

#[test]
fn forbidden_characters_are_escaped_and_not_lost() {
    let finding = Finding::new("k", Severity::Error, "a\u{0}b\u{ffff}c\u{1b}[31md]]>");
    let report = Report::Growth {
        growth: Growth::default(),
        findings: vec![finding],
    };
    let xml = junit::report(&About::new("grow", "a.heap"), &report, TOOK);
    let document = Document::parse(&xml).unwrap();
    let failure = document.descendants().find(|it| it.has_tag_name("failure"));
    assert_eq!(
        failure.unwrap().attribute("message"),
        Some("a\\u{0}b\\u{ffff}c\\u{1b}[31md]]>")
    );
}
