//! The program that runs the experiments, as far as it takes no time.

mod pages;

use std::process::{Command, Output};

use expect_test::expect;

fn run(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_heaphound-lab"));
    command.args(words).output().expect("it runs")
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn the_lab_lists_its_experiments() {
    expect![[r#"
        assertions   GC assertions, section 3: the bugs that they find, and what checking costs
        probes       PHALANX, figures 9 to 11: a probe that walks the whole heap, and a capture of it
        deal         DeAL, section 5: what evaluating its assertions costs a collection, and the bug that one finds
        files        rules about heaps in files: what checking five takes, in times of loading the heap
        summaries    heap summaries, chapters 3.3, 5 and 6: what counting them costs a collection, a run, and memory
        cork         Cork, chapter 5: growth that is found, in which structure, and what is said of programs that do not grow
        shapeup      ShapeUp, section 6.4: errors in recursive structures that are noticed, and false alarms
        prune        leak pruning, sections 5 and 6: how much longer programs live that leak, and what it costs others
        sampling     object sampling, sections 3.2 and 4.2: what it costs, and how right what it says of sites is
        pretenure    pretenuring, section 4.3: what it saves where objects live long, and costs where they do not
    "#]]
    .assert_eq(&text(run(&[]).stdout));
    let listed: serde_json::Value = serde_json::from_slice(&run(&["--json"]).stdout).unwrap();
    assert_eq!(listed["experiments"][1], "probes");
}

#[test]
fn an_unknown_experiment_is_an_error() {
    let output = run(&["prods"]);
    assert_eq!(output.status.code(), Some(2));
    expect![[r#"
        error: no experiment is called `prods`
          did you mean `probes`?
    "#]]
    .assert_eq(&text(output.stderr));
    heaphound_testkit::schema::check(&text(run(&["prods", "--json"]).stdout));
}
