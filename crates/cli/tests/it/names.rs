//! Names of objects, roots and threads, and mistakes in them.

use expect_test::{Expect, expect};

use crate::run;

/// Finds out which object a name stands for.
fn check_name(name: &str, object: &str) {
    let output = run(&format!("--json path names.heap {name} --from {name}"));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = &document["answer"]["evidence"][0]["path"]["first"]["name"];
    assert_eq!(first, object, "{document:#}");
}

/// A mistake, and what is said of it.
fn check_mistake(line: &str, expect: Expect) {
    crate::check(line, expect);
}

#[test]
fn objects_have_several_names() {
    check_name("'Map<K, V>#3'", "Map<K, V>#3");
    check_name("'\"Map<K, V>\"#3'", "Map<K, V>#3");
    check_name("static:cache", "java.util.HashMap$Node[]#5");
    check_name("'static:open orders'", "Map<K, V>#3");
    check_name("thread:main[1]", "Map<K, V>#4");
    check_name("handle:src/main.rs:3:5[0]", "handle::Entry#1");
    check_name("handle:src/main.rs:3:5", "handle::Entry#1");
    // Not a root, though it begins like one.
    check_name("handle::Entry#1", "handle::Entry#1");
    check_name("handle::Entry", "handle::Entry#1");
    check_name("java.util.HashMap$Node[]", "java.util.HashMap$Node[]#5");
}

#[test]
fn names_in_lists_may_have_commas() {
    crate::check(
        "probe names.heap reach --avoid 'Map<K, V>#3,handle::Entry#1'",
        expect![[r#"
            2 objects are reachable from the roots around Map<K, V>#3, handle::Entry#1
              java.util.HashMap$Node[]#5
              Map<K, V>#4
        "#]],
    );
    crate::check(
        "probe names.heap reach --avoid '\"Map<K, V>\"#3, \"Map<K, V>\"#4' --avoid static:cache",
        expect![[r#"
            1 object is reachable from the roots around Map<K, V>#3, Map<K, V>#4, java.util.HashMap$Node[]#5
              handle::Entry#1
        "#]],
    );
}

#[test]
fn unknown_names_are_answered_with_near_ones() {
    check_mistake(
        "path web.heap Conection#1",
        expect![[r#"
        error: there is no object and no root `Conection#1`
          did you mean `Connection#1` or `Connection[]#1`?
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap pool",
        expect![[r#"
        error: there is no object and no root `pool`
          did you mean `Pool` or `static:pool`?
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap Task#17",
        expect![[r#"
        error: there is no object `Task#17`
          the nearest: Task#3, Task#2, Task#1
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap Task",
        expect![[r#"
        error: class `Task` has 3 instances; which one?
          Task#1, Task#2, Task#3
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap static:pol",
        expect![[r#"
        error: there is no root `static:pol`
          did you mean `static:pool`?
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap thread:worker",
        expect![[r#"
        error: `thread:worker` stands for 2 objects; which one?
          thread:worker[0] → Task#1
          thread:worker[1] → Buffer#1
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap xyzzy",
        expect![[r#"
        error: there is no object and no root `xyzzy`
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap null",
        expect![[r#"
        error: a reference in the question is null
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap ''",
        expect![[r#"
            error: a name is empty
            exit code 2
        "#]],
    );
    check_mistake(
        "path web.heap Log --avoid Pool,Tsak#1",
        expect![[r#"
        error: there is no object and no root `Tsak#1`
          did you mean `Task#1`?
        exit code 2
    "#]],
    );
    check_mistake(
        "path web.heap Log --from thread:wroker",
        expect![[r#"
        error: no running thread has the name `wroker`
          did you mean `worker`?
        exit code 2
    "#]],
    );
    check_mistake(
        "path names.heap Unused",
        expect![[r#"
        error: there is no object `Unused`: class `Unused` has no instances
        exit code 2
    "#]],
    );
    check_mistake(
        "path names.heap Node[]#5",
        expect![[r#"
        error: there is no object and no root `Node[]#5`
          did you mean `java.util.HashMap$Node[]#5`?
        exit code 2
    "#]],
    );
    check_mistake(
        "path names.heap '\"Map<K, V>\"#5'",
        expect![[r##"
        error: there is no object `"Map<K, V>"#5`
          the nearest: Map<K, V>#4, Map<K, V>#3, Map<K, V>#12
        exit code 2
    "##]],
    );
}

#[test]
fn unknown_threads_are_answered_with_near_ones() {
    check_mistake(
        "probe web.heap stack wroker",
        expect![[r#"
        error: no running thread has the name `wroker`
          did you mean `worker`?
        exit code 2
    "#]],
    );
    check_mistake(
        "probe web.heap stack nobody",
        expect![[r#"
        error: no running thread has the name `nobody`
          there are idle, main, worker
        exit code 2
    "#]],
    );
    check_mistake(
        "probe web.heap is-thread-owned Log --as mian",
        expect![[r#"
            error: no running thread has the name `mian`
              did you mean `main`?
            exit code 2
        "#]],
    );
}
