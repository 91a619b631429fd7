//! In CI: formats that others read, and findings that are known.

use std::fs;
use std::path::Path;

use expect_test::expect;
use heaphound_testkit::schema;
use roxmltree::Document;
use serde_json::Value;

use crate::folder::Folder;
use crate::{run_in, told};

/// A folder with the web server's heap and rules.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    let heaps = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/heaps");
    for file in [
        "web.deal",
        "orders-1.heap",
        "orders-2.heap",
        "orders-3.heap",
    ] {
        fs::copy(heaps.join(file), folder.0.join(file)).unwrap();
    }
    folder
}

const CHECK: &str = "check web.heap --rules web.deal --baseline heap.baseline";

/// The day on which a finding was added is not the same tomorrow.
fn without_day(text: &str) -> String {
    let day = |line: &str| match line.split_once("20") {
        Some((before, after)) if before.ends_with("since = \"") || before.ends_with("since ") => {
            format!("{before}DAY{}", &after[8..])
        }
        _ => line.to_string(),
    };
    text.lines().map(|line| day(line) + "\n").collect()
}

#[test]
fn a_baseline_makes_known_findings_pass_and_new_ones_fail() {
    let folder = folder("ci-baseline");
    folder.check(
        CHECK,
        expect![[r#"
            error: there is no baseline heap.baseline
              `--update-baseline` creates one from what is found
            exit code 2
        "#]],
    );
    let line = format!("{CHECK} --only confined --update-baseline --reason 'it is a log'");
    let output = run_in(&folder.0, &line);
    expect![[r#"
        known warning[confined]: `confined` does not hold
          known: since DAY: it is a log
          fingerprint: 6cc6eb9b4ec44071
        1 rule, 1 failed
        1 known, 0 new (heap.baseline)
        added 1: heap.baseline
    "#]]
    .assert_eq(&without_day(&told(&output)));
    expect![[r##"
        # Findings that are known, by fingerprint. Others make the run fail.
        # Give each a reason; comments and reasons are kept when `--update-baseline` adds findings.
        version = 1

        [[known]]
        fingerprint = "6cc6eb9b4ec44071"
        command = "check"
        kind = "confined"
        message = "`confined` does not hold"
        since = "DAY"
        reason = "it is a log"
    "##]]
    .assert_eq(&without_day(&folder.read("heap.baseline")));
    // What is not known fails, beside what is.
    let output = run_in(&folder.0, CHECK);
    assert_eq!(output.status.code(), Some(1));
    let told = told(&output);
    assert!(told.starts_with("error[pooled]: "), "{told}");
    assert!(told.contains("known warning[confined]: "), "{told}");
    assert!(
        told.ends_with("1 known, 2 new (heap.baseline)\nexit code 1\n"),
        "{told}"
    );
    // All are added; the reason that was there stays.
    let output = run_in(&folder.0, &format!("{CHECK} --update-baseline"));
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(run_in(&folder.0, CHECK).status.code(), Some(0));
    let baseline = folder.read("heap.baseline");
    assert!(baseline.contains("reason = \"it is a log\""), "{baseline}");
    assert_eq!(baseline.matches("[[known]]").count(), 3);
}

#[test]
fn what_has_vanished_is_pointed_out() {
    let folder = folder("ci-vanished");
    run_in(
        &folder.0,
        &format!("{CHECK} --update-baseline --reason later"),
    );
    // The connections are not used around the pool any more.
    let heap = folder.read("web.heap");
    let heap = heap
        .replace("connection -> Connection#2, ", "")
        .replace("connection -> Connection#1, ", "");
    folder.write("web.heap", heap);
    let output = run_in(&folder.0, CHECK);
    let text = without_day(&told(&output));
    expect![[r#"
        known warning[confined]: `confined` does not hold
          known: since DAY: later
          fingerprint: 6cc6eb9b4ec44071
        known note[tasks]: `tasks` does not hold: it is a long queue
          known: since DAY: later
          fingerprint: 92c39b587da8b82b
        5 rules, 2 failed
          note: known, and not found in this heap: [pooled] `pooled` does not hold: a connection is used around the pool (line 13, fingerprint 950f5227f50bfe7c)
        2 known, 0 new, 1 not found (heap.baseline)
    "#]]
    .assert_eq(&text);
    let strict = run_in(&folder.0, &format!("{CHECK} --strict-baseline"));
    assert_eq!(strict.status.code(), Some(1));
    // A rule that was not checked has not vanished.
    let only = run_in(
        &folder.0,
        &format!("{CHECK} --strict-baseline --only confined"),
    );
    assert_eq!(only.status.code(), Some(0));
    let pruned = run_in(&folder.0, &format!("{CHECK} --prune-baseline"));
    assert_eq!(pruned.status.code(), Some(0));
    assert!(told(&pruned).ends_with("removed 1: heap.baseline\n"));
    assert!(!folder.read("heap.baseline").contains("pooled"));
    assert_eq!(
        run_in(&folder.0, &format!("{CHECK} --strict-baseline"))
            .status
            .code(),
        Some(0)
    );
}

#[test]
fn a_file_that_is_no_baseline_is_not_overwritten() {
    let folder = folder("ci-no-baseline");
    folder.write("heap.baseline", "[package]\nname = \"shop\"\n");
    folder.check(
        &format!("{CHECK} --update-baseline"),
        expect![[r#"
            error: heap.baseline:1: this is no baseline: it has no `version`
            exit code 2
        "#]],
    );
    assert_eq!(folder.read("heap.baseline"), "[package]\nname = \"shop\"\n");
    folder.write(
        "heap.baseline",
        "version = 1\n[[known]]\nfingerprint = \"none\"\n",
    );
    folder.check(
        CHECK,
        expect![[r#"
            error: heap.baseline:3: `none` is no fingerprint: sixteen digits, 0-9 and a-f
            exit code 2
        "#]],
    );
}

#[test]
fn what_was_not_checked_is_no_success() {
    let folder = folder("ci-unchecked");
    let line = "check web.heap 'is_thread_owned(Log#1)' --baseline b --update-baseline";
    assert_eq!(run_in(&folder.0, line).status.code(), Some(2));
    let junit = run_in(&folder.0, &format!("{line} --format junit"));
    assert_eq!(junit.status.code(), Some(2));
    let xml = String::from_utf8(junit.stdout).unwrap();
    let document = Document::parse(&xml).unwrap();
    assert!(
        document.descendants().any(|it| it.has_tag_name("error")),
        "{xml}"
    );
    let sarif = run_in(&folder.0, &format!("{line} --format sarif"));
    let sarif = sarif_of(&sarif.stdout);
    assert_eq!(
        sarif["runs"][0]["invocations"][0]["executionSuccessful"],
        false
    );
}

/// Reads SARIF, which fits its schema.
fn sarif_of(bytes: &[u8]) -> Value {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    schema::check_sarif(&text);
    serde_json::from_str(&text).unwrap()
}

#[test]
fn sarif_has_rules_results_and_what_is_known() {
    let folder = folder("ci-sarif");
    run_in(
        &folder.0,
        &format!("{CHECK} --only confined --update-baseline --reason 'it is a log'"),
    );
    let output = run_in(&folder.0, &format!("{CHECK} --format sarif"));
    assert_eq!(output.status.code(), Some(1));
    let log = sarif_of(&output.stdout);
    let run = &log["runs"][0];
    let rules: Vec<&str> = run["tool"]["driver"]["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    assert_eq!(rules, ["pooled", "apart", "one-pool", "confined", "tasks"]);
    let result = |rule: &str| {
        let mut results = run["results"].as_array().unwrap().iter();
        results.find(|it| it["ruleId"] == rule).unwrap()
    };
    let pooled = result("pooled");
    assert_eq!(pooled["level"], "error");
    assert_eq!(pooled["baselineState"], "new");
    assert_eq!(pooled["suppressions"], Value::Array(Vec::new()));
    let place = &pooled["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "web.deal");
    assert_eq!(place["region"]["startLine"], 4);
    let steps = &pooled["codeFlows"][0]["threadFlows"][0]["locations"];
    let steps: Vec<&str> = steps
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["location"]["message"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        steps,
        ["thread:worker[0]", "Task#1", ".connection → Connection#1"]
    );
    let confined = result("confined");
    assert_eq!(confined["level"], "warning");
    assert_eq!(confined["baselineState"], "unchanged");
    let why = confined["suppressions"][0]["justification"]
        .as_str()
        .unwrap();
    assert!(why.ends_with(": it is a log"), "{why}");
}

#[test]
fn junit_has_a_test_for_each_rule() {
    let folder = folder("ci-junit");
    run_in(
        &folder.0,
        &format!("{CHECK} --only confined --update-baseline --reason 'it is a log'"),
    );
    let output = run_in(&folder.0, &format!("{CHECK} --format junit"));
    assert_eq!(output.status.code(), Some(1));
    let xml = String::from_utf8(output.stdout).unwrap();
    let document = Document::parse(&xml).unwrap();
    let mut told = String::new();
    for case in document
        .descendants()
        .filter(|it| it.has_tag_name("testcase"))
    {
        let of = |name| case.attribute(name).unwrap();
        let status = case.children().find(|it| it.is_element());
        let status = status.map_or("holds", |it| it.tag_name().name());
        told.push_str(&format!("{} {} {status}\n", of("classname"), of("name")));
    }
    expect![[r#"
        web.deal pooled failure
        web.deal apart holds
        web.deal one-pool holds
        web.deal confined skipped
        web.deal tasks system-out
    "#]]
    .assert_eq(&told);
    assert!(
        xml.contains("thread:main[0] → Request#1 .connection → Connection#2"),
        "{xml}"
    );
    let suite = document
        .descendants()
        .find(|it| it.has_tag_name("testsuite"))
        .unwrap();
    assert!(suite.attribute("time").unwrap().parse::<f64>().unwrap() > 0.0);
}

#[test]
fn growth_and_shapes_have_formats_and_baselines_too() {
    let folder = folder("ci-growth");
    let grow = "grow orders-1.heap orders-2.heap orders-3.heap";
    let output = run_in(&folder.0, &format!("{grow} --format sarif"));
    assert_eq!(output.status.code(), Some(1));
    let log = sarif_of(&output.stdout);
    let place = &log["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "orders-3.heap");
    let known = format!("{grow} --baseline b");
    assert_eq!(
        run_in(&folder.0, &format!("{known} --update-baseline"))
            .status
            .code(),
        Some(0)
    );
    assert_eq!(run_in(&folder.0, &known).status.code(), Some(0));
    // The same file serves another command, which finds other things.
    let checked = run_in(
        &folder.0,
        "check web.heap --rules web.deal --baseline b --strict-baseline",
    );
    assert!(!told(&checked).contains("not found"));
    let json = run_in(&folder.0, &format!("{known} --format json"));
    let text = String::from_utf8(json.stdout).unwrap();
    schema::check(&text);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["baseline"]["new"], 0);
    assert!(document["findings"][0]["known"]["since"].is_string());
    run_in(&folder.0, "shapes orders-1.heap --learn p.json");
    for format in ["sarif", "junit", "json"] {
        let line = format!("shapes orders-3.heap --test p.json --format {format}");
        let output = run_in(&folder.0, &line);
        let text = String::from_utf8(output.stdout).unwrap();
        match format {
            "sarif" => schema::check_sarif(&text),
            "json" => schema::check(&text),
            _ => assert!(Document::parse(&text).is_ok(), "{text}"),
        }
    }
}

#[test]
fn errors_come_in_the_format_that_was_asked_for() {
    let folder = folder("ci-errors");
    let sarif = run_in(&folder.0, "check none.heap --rules web.deal --format sarif");
    assert_eq!(sarif.status.code(), Some(2));
    let log = sarif_of(&sarif.stdout);
    let notes = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    let message = notes[0]["message"]["text"].as_str().unwrap();
    assert!(message.contains("none.heap"), "{message}");
    let junit = run_in(&folder.0, "check none.heap --rules web.deal --format junit");
    let xml = String::from_utf8(junit.stdout).unwrap();
    assert!(
        Document::parse(&xml)
            .unwrap()
            .descendants()
            .any(|it| it.has_tag_name("error"))
    );
}
