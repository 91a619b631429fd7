//! The examples find what they say they find, on both collectors.
#![allow(clippy::duplicate_mod)] // Each example brings its own copy of what they share.

use heaphound::Collector::{Generational, MarkSweep};
use heaphound::finding::Finding;
use heaphound::root::RootKind;

#[allow(dead_code)]
#[path = "../../examples/discipline.rs"]
mod discipline;
#[allow(dead_code)]
#[path = "../../examples/jdbf.rs"]
mod jdbf;
#[allow(dead_code)]
#[path = "../../examples/web_server.rs"]
mod web_server;

/// Every path of a finding leads to what it is about, and is as described.
fn check_paths(finding: &Finding, expect: &[&str]) {
    let about = &finding.objects[0];
    let mut paths = Vec::new();
    for evidence in &finding.evidence {
        assert_eq!(evidence.path.last(), about, "{finding:?}");
        paths.push(without_numbers(&evidence.path.to_string()));
    }
    assert_eq!(paths, expect);
}

/// `Node#12` as `Node`, and `thread:main[0] @ src/main.rs:7:5` as `thread:main[0]`.
fn without_numbers(text: &str) -> String {
    let text = match text.split_once(" @ ") {
        Some((root, rest)) => &format!("{root} {}", rest.split_once(' ').unwrap().1),
        None => text,
    };
    let words = text.split(' ').map(|word| match word.split_once('#') {
        Some((class, _)) => class,
        None => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_race_in_jdbf_leaves_a_connection_with_two_threads() {
    for collector in [MarkSweep, Generational] {
        for _ in 0..20 {
            let found = jdbf::run(collector, jdbf::Version::buggy()).unwrap();
            let [finding] = &found[..] else {
                panic!("{found:?}");
            };
            assert!(
                finding
                    .message
                    .ends_with("in use by 2 threads at once: billing, checkout"),
                "{}",
                finding.message
            );
            check_paths(
                finding,
                &[
                    "thread:billing[1] → Connection",
                    "thread:checkout[1] → Connection",
                ],
            );
            for evidence in &finding.evidence {
                let root = evidence.path.root.as_ref().unwrap();
                assert_eq!(root.kind, RootKind::ThreadStack);
                assert!(root.scope.as_ref().unwrap().contains("jdbf.rs"));
            }
        }
    }
}

#[test]
fn a_synchronized_jdbf_is_clean() {
    for collector in [MarkSweep, Generational] {
        for _ in 0..20 {
            let found = jdbf::run(collector, jdbf::Version::corrected()).unwrap();
            assert_eq!(found, []);
        }
    }
}

#[test]
fn sockets_and_clients_of_the_web_server_stay_where_they_belong() {
    use web_server::{Version, run};
    for collector in [MarkSweep, Generational] {
        for _ in 0..10 {
            assert_eq!(run(collector, Version::Correct).unwrap(), []);

            let found = run(collector, Version::ForgetsItsLocal).unwrap();
            assert_eq!(found.len(), 3);
            for (i, finding) in found.iter().enumerate() {
                check_paths(finding, &[&format!("thread:server[{}] → Socket", i + 2)]);
                let thread = format!("is not `request-{}`'s alone", i + 1);
                assert!(finding.message.ends_with(&thread), "{}", finding.message);
            }

            let found = run(collector, Version::KeepsARegistry).unwrap();
            assert_eq!(found.len(), 3);
            for (i, finding) in found.iter().enumerate() {
                let path = format!("static:\"open sockets\" → Socket[] [{i}] → Socket");
                check_paths(finding, &[&path]);
            }

            let found = run(collector, Version::StoresTheClients).unwrap();
            let [finding] = &found[..] else {
                panic!("{found:?}");
            };
            assert!(
                finding
                    .message
                    .starts_with(&*format!("{} has left", finding.objects[0].name))
            );
            check_paths(
                finding,
                &["static:suspicions → Suspicions .evidence → ClientSet"],
            );
        }
    }
}

#[test]
fn a_way_around_a_wrapper_is_found() {
    for collector in [MarkSweep, Generational] {
        assert_eq!(discipline::wrappers(collector, false).unwrap(), []);
        let found = discipline::wrappers(collector, true).unwrap();
        check_paths(&found[0], &["Invoice .fast_account → LegacyAccount"]);
    }
}

#[test]
fn what_is_shared_is_not_disposed_of() {
    for collector in [MarkSweep, Generational] {
        assert_eq!(
            discipline::disposal(collector, false).unwrap(),
            (vec![], true)
        );
        let (found, disposed) = discipline::disposal(collector, true).unwrap();
        assert!(!disposed);
        check_paths(
            &found[0],
            &[
                "static:stage → Sprite[] [0] → Sprite .texture → Texture",
                "static:stage → Sprite[] [1] → Sprite .texture → Texture",
            ],
        );
    }
}
