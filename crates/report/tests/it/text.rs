//! Findings as a terminal shows them.

use expect_test::{Expect, expect};
use heaphound_heap::finding::{Evidence, Finding, Hop, Named, Path, Severity};
use heaphound_heap::{Root, RootKind};
use heaphound_report::text;

fn named(class: &str, number: usize) -> Named {
    Named::new(format!("{class}#{number}"), class)
}

fn hop(slot: &str, to: Named) -> Hop {
    Hop {
        slot: slot.into(),
        index: None,
        to,
    }
}

/// A finding about the last object of a list.
fn list(nodes: usize) -> Finding {
    let mut hops: Vec<Hop> = (2..=nodes).map(|i| hop("next", named("Node", i))).collect();
    hops.push(Hop {
        slot: String::new(),
        index: Some(7),
        to: named("Leaf", 1),
    });
    Finding {
        objects: vec![named("Leaf", 1)],
        evidence: vec![Evidence::labelled(
            "through the list",
            Path::new(
                Some(Root::new(RootKind::Static, "list")),
                named("Node", 1),
                hops,
            ),
        )],
        place: Some("src/main.rs:7:5".into()),
        collection: Some(12),
        notes: vec!["3 other referrers are not shown".into()],
        ..Finding::new("shared", Severity::Error, "Leaf#1 is shared")
    }
}

fn check(finding: &Finding, width: usize, expect: Expect) {
    expect.assert_eq(&without_styles(&text::finding(finding, width)));
}

fn without_styles(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |out, part| out + part.split_once('m').unwrap().1)
}

#[test]
fn a_short_path_takes_one_line() {
    check(
        &list(2),
        80,
        expect![[r#"
            error[shared]: Leaf#1 is shared
              objects: Leaf#1
              through the list:
                static:list → Node#1 .next → Node#2 [7] → Leaf#1
              note: 3 other referrers are not shown
              place: src/main.rs:7:5
              collection: 12
              fingerprint: 90643aeec4a85d9a
        "#]],
    );
}

#[test]
fn a_path_that_does_not_fit_takes_a_line_a_hop() {
    let mut finding = list(3);
    finding.notes.clear();
    finding.place = None;
    finding.collection = None;
    check(
        &finding,
        40,
        expect![[r#"
            error[shared]: Leaf#1 is shared
              objects: Leaf#1
              through the list:
                static:list → Node#1
                  .next → Node#2
                  .next → Node#3
                  [7] → Leaf#1
              fingerprint: 90643aeec4a85d9a
        "#]],
    );
}

#[test]
fn a_thousand_hops_are_counted_not_shown() {
    let mut finding = list(1000);
    finding.notes.clear();
    finding.place = None;
    finding.collection = None;
    check(
        &finding,
        80,
        expect![[r#"
            error[shared]: Leaf#1 is shared
              objects: Leaf#1
              through the list:
                static:list → Node#1
                  .next → Node#2
                  … .next → Node, 997 times more
                  .next → Node#1000
                  [7] → Leaf#1
              fingerprint: 90643aeec4a85d9a
        "#]],
    );
}

#[test]
fn names_cannot_steer_the_terminal() {
    let mut finding = list(1);
    finding.evidence.clear();
    finding.objects = vec![named("\u{1b}[2J\u{202e}Evil\n", 1)];
    let text = text::finding(&finding, 80);
    assert!(text.contains(r"\u{1b}[2J\u{202e}Evil\u{a}#1"));
}

#[test]
fn what_is_severe_is_red() {
    let text = text::finding(&list(1), 80);
    assert!(text.starts_with("\u{1b}[1m\u{1b}[31merror[shared]\u{1b}[0m"));
}
