//! `heaphound lab`, as far as it takes no time.

use expect_test::expect;

use crate::{check, run};

#[test]
fn the_lab_lists_its_experiments() {
    check(
        "lab",
        expect![[r#"
            assertions   GC assertions, section 3: the bugs that they find, and what checking costs
            probes       PHALANX, figures 9 to 11: a probe that walks the whole heap, and a capture of it
            deal         DeAL, section 5: what evaluating its assertions costs a collection, and the bug that one finds
            summaries    heap summaries, chapters 3.3, 5 and 6: what counting them costs a collection, a run, and memory
            cork         Cork, chapter 5: growth that is found, in which structure, and what is said of programs that do not grow
            shapeup      ShapeUp, section 6.4: errors in recursive structures that are noticed, and false alarms
        "#]],
    );
    let listed: serde_json::Value = serde_json::from_slice(&run("lab --json").stdout).unwrap();
    assert_eq!(listed["experiments"][1], "probes");
}

#[test]
fn an_unknown_experiment_is_an_error() {
    check(
        "lab prods",
        expect![[r#"
            error: no experiment is called `prods`
              did you mean `probes`?
            exit code 2
        "#]],
    );
    let document = String::from_utf8(run("lab prods --json").stdout).unwrap();
    heaphound_testkit::schema::check(&document);
}

#[test]
fn usage_errors_are_json_too_where_that_was_asked_for() {
    let output = run("--json foo");
    assert_eq!(output.status.code(), Some(2));
    let document = String::from_utf8(output.stdout).unwrap();
    heaphound_testkit::schema::check(&document);
    assert!(document.contains("unrecognized subcommand"), "{document}");
}
