//! Expressions: answers of every kind, and what is said where there is none.

use expect_test::{Expect, expect};

use crate::folder::Folder;
use crate::{run_in, told};

/// Evaluates on the heap of a web server.
fn check(rest: &str, expect: Expect) {
    crate::check(&format!("eval web.heap {rest}"), expect);
}

#[test]
fn a_true_expression_exits_with_0_and_a_false_one_with_1() {
    check(
        "'pred(Log#1).size() > 1'",
        expect![[r#"
        yes: the expression is true
    "#]],
    );
    check(
        "'pred(Pool#1).size() > 1'",
        expect![[r#"
            no (expected yes)
            error[false]: the expression is false
              fingerprint: 9ac621303d17632c
            exit code 1
        "#]],
    );
    check(
        "'forall Task x: x.next.next == null'",
        expect![[r#"
            no (expected yes)
            error[false]: the expression is false
              objects: Task#1
              x = Task#1, x.next = Task#2, x.next.next = Task#3:
                thread:worker[0] → Task#1
              note: 1 object breaks `forall Task x: x.next.next == null`
              fingerprint: 5b766afa04189a53
            exit code 1
        "#]],
    );
}

#[test]
fn values_are_printed() {
    check(
        "static:pool.free.length",
        expect![[r#"
        3
    "#]],
    );
    check(
        "static:pool.free[1]",
        expect![[r#"
        Connection#2
    "#]],
    );
    check(
        "static:pool.free[2]",
        expect![[r#"
        null
    "#]],
    );
    check(
        "'(\\num_of Connection c; is_shared(c))'",
        expect![[r#"
        2
    "#]],
    );
}

#[test]
fn sets_are_listed_up_to_a_limit() {
    check(
        "'reach(d)' --bind d=static:pool --limit 2",
        expect![[r#"
        6 objects
          Pool#1
          Connection[]#1
          … and 4 more
          note: 2 of 6 are listed; --all lists them all
    "#]],
    );
    check(
        "'reach(d) - reach(d)' --bind d=Pool",
        expect![[r#"
        no objects
    "#]],
    );
    check(
        "'reach(d)' --bind d=null",
        expect![[r#"
            error: expression:1:7: this is null
              reach(d)
                    ^
            exit code 2
        "#]],
    );
    check(
        "'{Connection c | is_shared(c)}' --threads 2",
        expect![[r#"
        2 objects
          Connection#1
          Connection#2
    "#]],
    );
}

#[test]
fn the_asking_thread_is_chosen() {
    let line = "'dom(stack(current_thread()), Buffer#1)'";
    check(
        &format!("{line} --as worker"),
        expect![[r#"
        yes: the expression is true
    "#]],
    );
    check(
        &format!("{line} --as thread:main"),
        expect![[r#"
            no (expected yes)
            error[false]: the expression is false
              objects: Buffer#1
              how it is held:
                thread:worker[1] → Buffer#1
              fingerprint: 4cefd47a0ecbb8b6
            exit code 1
        "#]],
    );
    check(
        line,
        expect![[r#"
        error: expression:1:11: the question is about the asking thread, and no thread was named as such
          dom(stack(current_thread()), Buffer#1)
                    ^^^^^^^^^^^^^^ name one, as in `--as thread:main`
        exit code 2
    "#]],
    );
    check(
        &format!("{line} --as nobody"),
        expect![[r#"
        error: no running thread has the name `nobody`
          there are idle, main, worker
        exit code 2
    "#]],
    );
}

#[test]
fn explain_says_as_what_it_runs() {
    check(
        "'pred(Log#1).size() > 1' --explain",
        expect![[r#"
        runs as the probe is_shared: 1 traversal
    "#]],
    );
    check(
        "'forall Task x: reach(x).size() < 10' --explain",
        expect![[r#"
            evaluated as it is written: 1 traversal, 1 for each object of `x`
        "#]],
    );
    check(
        "'forall Connection c: thread_reach(c).size() <= 1' --explain",
        expect![[r#"
            evaluated with the probe thread_reach: 1 traversal, 1 for each running thread
        "#]],
    );
    check(
        "static:pool.free --explain",
        expect![[r#"
        evaluated as it is written: no traversal
    "#]],
    );
}

#[test]
fn what_is_wrong_is_shown_with_its_place() {
    check(
        "'forall Conection c: c.socket == static:pol'",
        expect![[r#"
            error: expression:1:8: there is no class `Conection`
              forall Conection c: c.socket == static:pol
                     ^^^^^^^^^ did you mean `Connection`?
            exit code 2
        "#]],
    );
    check(
        "'static:pol.free == null'",
        expect![[r#"
        error: expression:1:1: there is no root `static:pol`
          static:pol.free == null
          ^^^^^^^^^^ did you mean `static:pool`?
        exit code 2
    "#]],
    );
    check(
        "'stack(thread:wrker)'",
        expect![[r#"
        error: expression:1:1: no running thread has the name `wrker`
          stack(thread:wrker)
          ^^^^^^^^^^^^^^^^^^^ did you mean `worker`?
        exit code 2
    "#]],
    );
    check(
        "'static:config.free.length == 1'",
        expect![[r#"
        error: expression:1:1: Config#1 does not have what is read here
          static:config.free.length == 1
          ^^^^^^^^^^^^^^^^^^^^^^^^^
        exit code 2
    "#]],
    );
    check(
        "'assertion(forall Task x: x != null)'",
        expect![[r#"
        error: expression:1:1: this is not an expression but a statement of a rule file
          assertion(forall Task x: x != null)
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ use `heaphound check`
        exit code 2
    "#]],
    );
    check(
        "'true; false'",
        expect![[r#"
        error: these are 2 statements; `heaphound check` takes a file of them
        exit code 2
    "#]],
    );
    check(
        "'reach(d)' --bind d",
        expect![[r#"
            error: `d` should be NAME=OBJECT or NAME=VALUE, as in `--bind d=static:list`
            exit code 2
        "#]],
    );
    check(
        "'reach(d)' --bind d=Pol",
        expect![[r#"
        error: there is no object and no root `Pol`
          did you mean `Pool` or `static:pool`?
        exit code 2
    "#]],
    );
}

#[test]
fn heaps_in_files_have_no_labels() {
    crate::check(
        "eval list.heap 'forall Node x: !(x is done)'",
        expect![[r#"
            error: expression:1:1: the expression asks for labels, and heaps in files have none
              forall Node x: !(x is done)
              ^^^^^^^^^^^^^^^^^^^^^^^^^^^
            exit code 2
        "#]],
    );
}

#[test]
fn a_quantifier_ranges_over_a_set_that_has_a_name() {
    let folder = Folder::new("named-sets");
    folder.write(
        "n.heap",
        "root main -> N#1, N#2, N#3\nN#1 { v = 1 }\nN#2 { v = 2 }\nN#3 { v = 9 }\n",
    );
    let run = |text: &str| {
        let line = format!("eval n.heap '{text}' --bind 's={{N#1,N#2}}'");
        told(&run_in(&folder.0, &line))
    };
    let query = |text: &str| {
        folder.write("q.deal", format!("{text};\n"));
        let line = "check n.heap --rules q.deal --bind 's={N#1,N#2}'";
        told(&run_in(&folder.0, line)).replace(text, "…")
    };
    let found = query("query(x, x in s)");
    assert!(found.contains("N#1") && found.contains("N#2"), "{found}");
    assert!(!found.contains("N#3"), "{found}");
    assert_eq!(
        query("query(x.v, x in s)"),
        query("query N x: x in s select x.v")
    );
    for (text, same) in [
        ("forall x in s: x.v < 3", "forall N x: x in s -> x.v < 3"),
        ("exists s x: x.v == 9", "exists N x: x in s && x.v == 9"),
        (
            "\\num_of x in s: x.v > 1",
            "\\num_of N x: x in s && x.v > 1",
        ),
        (
            "(\\sum s x; x.v > 0; x.v)",
            "(\\sum N x; x in s && x.v > 0; x.v)",
        ),
        ("{x in s | x.v == 1}", "{N x | x in s && x.v == 1}"),
    ] {
        let (short, long) = (run(text), run(same));
        assert!(!long.contains("error:"), "{same}: {long}");
        let answer = |told: &str| told.lines().next().map(str::to_string);
        assert_eq!(answer(&short), answer(&long), "{text}");
    }
    folder.write(
        "s.deal",
        "let s = {N#1, N#2};\nrule small: forall x in s: x.v < 3;\n",
    );
    let checked = run_in(&folder.0, "check n.heap --rules s.deal");
    assert_eq!(checked.status.code(), Some(0), "{}", told(&checked));
}

#[test]
fn sums_are_exact_however_large() {
    let folder = Folder::new("large-sums");
    let most = u64::MAX;
    folder.write(
        "n.heap",
        format!("class N {{ v: u64 }}\nroot main -> N#1, N#2, N#3\nN#1 {{ v = {most} }}\nN#2 {{ v = {most} }}\nN#3 {{ v = 3 }}\n"),
    );
    for (text, answer) in [
        ("(\\sum N x; true; x.v)", "36893488147419103233"),
        ("(\\sum N x; x.v > 3; x.v)", "36893488147419103230"),
        ("(\\sum N x; true; x.v) > (\\sum N x; x.v > 3; x.v)", "yes"),
        ("(\\sum N x; true; x.v) == (\\sum N x; true; x.v)", "yes"),
        ("(\\sum N x; true; x.v) > 18446744073709551615", "yes"),
        ("(\\sum N x; true; x.v) < 3.7e19", "yes"),
        ("(\\sum N x; true; x.v) < 3.6e19", "no"),
    ] {
        let told = told(&run_in(&folder.0, &format!("eval n.heap '{text}'")));
        assert!(told.starts_with(answer), "{text}: {told}");
    }
}
