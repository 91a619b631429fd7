//! Every probe and primitive, yes and no. The answers follow from the definitions by hand; what
//! is less than obvious is said beside the case.

use expect_test::{Expect, expect};

/// Asks the heap of a web server.
fn check(question: &str, expect: Expect) {
    crate::check(&format!("probe web.heap {question}"), expect);
}

#[test]
fn is_heap_some_object_refers_to_it() {
    check(
        "is-heap Connection#1",
        expect![[r#"
        yes: 2 reachable objects refer to Connection#1
          static:pool → Pool#1 .free → Connection[]#1 [0] → Connection#1
          thread:worker[0] → Task#1 .connection → Connection#1
    "#]],
    );
    check(
        "is-heap Pool",
        expect![[r#"
        no (expected yes)
        error[not-referenced]: no reachable object refers to Pool#1
          objects: Pool#1
          only roots do:
            static:pool → Pool#1
          fingerprint: a95db172a4ba4051
        exit code 1
    "#]],
    );
    check(
        "is-heap Pool --expect no",
        expect![[r#"
        no: no reachable object refers to Pool#1
          only roots do:
            static:pool → Pool#1
    "#]],
    );
}

#[test]
fn is_shared_two_objects_refer_to_it() {
    check(
        "is-shared Connection#1 --expect no",
        expect![[r#"
        yes (expected no)
        error[shared]: 2 reachable objects refer to Connection#1
          objects: Connection#1
          static:pool → Pool#1 .free → Connection[]#1 [0] → Connection#1
          thread:worker[0] → Task#1 .connection → Connection#1
          fingerprint: 2ec923e110bdb292
        exit code 1
    "#]],
    );
    check(
        "is-shared Socket#1",
        expect![[r#"
            no (expected yes)
            error[not-shared]: 1 reachable object refers to Socket#1
              objects: Socket#1
              static:pool → Pool#1 .free → Connection[]#1 [0] → Connection#1 .socket → Socket#1
              fingerprint: c84dde29aac8018d
            exit code 1
        "#]],
    );
    // Orphan#1 refers to it as well, but is garbage.
    check(
        "is-shared Log",
        expect![[r#"
        yes: 2 reachable objects refer to Log#1
          thread-object:main → Thread#1 .locals → Locals#1 .log → Log#1
          thread-object:worker → Thread#2 .log → Log#1
    "#]],
    );
    // By two slots of one object.
    check(
        "is-shared Twice#1",
        expect![[r#"
        no (expected yes)
        error[not-shared]: 1 reachable object refers to Twice#1
          objects: Twice#1
          static:twice → Pair#1 .a → Twice#1
          fingerprint: d9e21f2887bb7716
        exit code 1
    "#]],
    );
}

#[test]
fn is_reachable_a_path_leads_there() {
    check(
        "is-reachable Pool Socket#1",
        expect![[r#"
        yes: Socket#1 is reachable from Pool#1
          Pool#1 .free → Connection[]#1 [0] → Connection#1 .socket → Socket#1
    "#]],
    );
    check(
        "is-reachable Pool Task#1",
        expect![[r#"
        no (expected yes)
        error[not-reachable]: no path leads from Pool#1 to Task#1
          objects: Pool#1, Task#1
          fingerprint: 794ba8f4264b7a42
        exit code 1
    "#]],
    );
    check(
        "is-reachable Pool Task#1 --expect no",
        expect![[r#"
        no: no path leads from Pool#1 to Task#1
    "#]],
    );
    check(
        "is-reachable Task#3 Task#3",
        expect![[r#"
        yes: Task#3 is reachable from Task#3
          Task#3
    "#]],
    );
    // The reference is weak.
    check(
        "is-reachable Session#1 Buffer#2 --expect no",
        expect![[r#"
        no: no path leads from Session#1 to Buffer#2
    "#]],
    );
}

#[test]
fn is_disjoint_nothing_is_reachable_from_both() {
    check(
        "is-disjoint Session Pool",
        expect![[r#"
        yes: nothing is reachable from both Session#1 and Pool#1
    "#]],
    );
    check(
        "is-disjoint Task#1 Pool",
        expect![[r#"
        no (expected yes)
        error[not-disjoint]: Connection#1 is reachable from both Task#1 and Pool#1
          objects: Task#1, Pool#1, Connection#1
          from Task#1:
            Task#1 .connection → Connection#1
          from Pool#1:
            Pool#1 .free → Connection[]#1 [0] → Connection#1
          fingerprint: 85be00f0d8aba803
        exit code 1
    "#]],
    );
    check(
        "is-disjoint Pool Pool",
        expect![[r#"
            no (expected yes)
            error[not-disjoint]: Pool#1 is reachable from both Pool#1 and Pool#1
              objects: Pool#1
              from Pool#1:
                Pool#1
              from Pool#1:
                Pool#1
              fingerprint: 0ade6d50e1cbddfa
            exit code 1
        "#]],
    );
}

#[test]
fn is_unique_owner_it_dominates_all_it_reaches() {
    check(
        "is-unique-owner Session",
        expect![[r#"
        yes: Session#1 dominates the 1 object that it reaches
    "#]],
    );
    check(
        "is-unique-owner Pool",
        expect![[r#"
        no (expected yes)
        error[not-unique-owner]: Pool#1 reaches 4 objects that it does not dominate
          objects: Pool#1, Connection#1, Connection#2, Socket#1, Socket#2
          to Connection#1 around Pool#1:
            thread:worker[0] → Task#1 .connection → Connection#1
          to Connection#2 around Pool#1:
            thread:main[0] → Request#1 .connection → Connection#2
          to Socket#1 around Pool#1:
            thread:worker[0] → Task#1 .connection → Connection#1 .socket → Socket#1
          to Socket#2 around Pool#1:
            thread:main[0] → Request#1 .connection → Connection#2 .socket → Socket#2
          fingerprint: 15b5c703a73558c9
        exit code 1
    "#]],
    );
    // Connection#1 and its socket are held by the asker's stack alone.
    check(
        "is-unique-owner Pool --as worker",
        expect![[r#"
        no (expected yes)
        error[not-unique-owner]: Pool#1 reaches 2 objects that it does not dominate
          objects: Pool#1, Connection#2, Socket#2
          to Connection#2 around Pool#1:
            thread:main[0] → Request#1 .connection → Connection#2
          to Socket#2 around Pool#1:
            thread:main[0] → Request#1 .connection → Connection#2 .socket → Socket#2
          note: paths from the stack of thread:worker, which asks, do not count
          fingerprint: 82b21123627a352d
        exit code 1
    "#]],
    );
    check(
        "is-unique-owner User",
        expect![[r#"
        yes: User#1 reaches nothing but itself
    "#]],
    );
}

#[test]
fn reach_through_every_path_meets_the_cut() {
    check(
        "reach-through Pool Socket#1 --cut Connection#1",
        expect![[r#"
            yes: every path from Pool#1 to Socket#1 meets Connection#1
              Pool#1 .free → Connection[]#1 [0] → Connection#1 .socket → Socket#1
        "#]],
    );
    check(
        "reach-through Task#1 Socket#1 --cut Pool",
        expect![[r#"
        no (expected yes)
        error[not-reached-through]: a path leads from Task#1 to Socket#1 around Pool#1
          objects: Task#1, Socket#1, Pool#1
          Task#1 .connection → Connection#1 .socket → Socket#1
          fingerprint: ab3089a904fec817
        exit code 1
    "#]],
    );
    check(
        "reach-through Request Socket#2 --cut Connection#1,Connection#2",
        expect![[r#"
            yes: every path from Request#1 to Socket#2 meets Connection#1, Connection#2
              Request#1 .connection → Connection#2 .socket → Socket#2
        "#]],
    );
    // True of all of no paths.
    check(
        "reach-through Pool Task#1 --cut Config",
        expect![[r#"
        yes: no path leads from Pool#1 to Task#1 at all
    "#]],
    );
}

#[test]
fn dom_every_root_path_passes_it() {
    check(
        "dom Connection#1 Socket#1",
        expect![[r#"
        yes: every path from a root to Socket#1 passes Connection#1
          Connection#1 .socket → Socket#1
    "#]],
    );
    check(
        "dom Pool Connection#1",
        expect![[r#"
        no (expected yes)
        error[not-dominated]: a path leads to Connection#1 around Pool#1
          objects: Pool#1, Connection#1
          thread:worker[0] → Task#1 .connection → Connection#1
          fingerprint: 0ec6b937add3bf42
        exit code 1
    "#]],
    );
    check(
        "dom Pool Connection#1 --as worker",
        expect![[r#"
        yes: every path from a root to Connection#1 passes Pool#1
          Pool#1 .free → Connection[]#1 [0] → Connection#1
          note: paths from the stack of thread:worker, which asks, do not count
    "#]],
    );
    check(
        "dom Pool Connection#2 --as worker",
        expect![[r#"
        no (expected yes)
        error[not-dominated]: a path leads to Connection#2 around Pool#1
          objects: Pool#1, Connection#2
          thread:main[0] → Request#1 .connection → Connection#2
          note: paths from the stack of thread:worker, which asks, do not count
          fingerprint: 2216a055b6a6e3d4
        exit code 1
    "#]],
    );
    check(
        "dom Pool User",
        expect![[r#"
        no (expected yes)
        error[not-dominated]: no path leads from Pool#1 to User#1
          objects: Pool#1, User#1
          it is held:
            handle:src/main.rs:7:5[0] → Session#1 .user → User#1
          fingerprint: 0cb49ef6113bce4f
        exit code 1
    "#]],
    );
    // It reaches the log, but no root path passes it.
    check(
        "dom Orphan Log",
        expect![[r#"
        no (expected yes)
        error[not-dominated]: a path leads to Log#1 around Orphan#1
          objects: Orphan#1, Log#1
          thread-object:worker → Thread#2 .log → Log#1
          note: Orphan#1 is garbage: no root reaches it
          fingerprint: c4c779ebc0bc5415
        exit code 1
    "#]],
    );
    // True of all of no paths, too.
    check(
        "dom Orphan Orphan",
        expect![[r#"
            yes: every path from a root to Orphan#1 passes Orphan#1
              Orphan#1
              note: Orphan#1 is garbage: no root reaches it
        "#]],
    );
}

#[test]
fn is_object_owned_it_is_dom_by_another_name() {
    check(
        "is-object-owned Session User",
        expect![[r#"
        yes: every path from a root to User#1 passes Session#1
          Session#1 .user → User#1
    "#]],
    );
    check(
        "is-object-owned Pool Connection#1",
        expect![[r#"
        no (expected yes)
        error[not-object-owned]: a path leads to Connection#1 around Pool#1
          objects: Pool#1, Connection#1
          thread:worker[0] → Task#1 .connection → Connection#1
          fingerprint: 52b5138c45c44d34
        exit code 1
    "#]],
    );
}

#[test]
fn is_thread_owned_only_the_asking_thread_reaches_it() {
    check(
        "is-thread-owned Task#3 --as worker",
        expect![[r#"
        yes: only thread:worker reaches Task#3
          thread:worker[0] → Task#1 .next → Task#2 .next → Task#3
    "#]],
    );
    check(
        "is-thread-owned Connection#1 --as thread:worker",
        expect![[r#"
            no (expected yes)
            error[not-thread-owned]: not only thread:worker reaches Connection#1
              objects: Connection#1
              a static reaches it:
                static:pool → Pool#1 .free → Connection[]#1 [0] → Connection#1
              fingerprint: 77c182bfa7b6eeec
            exit code 1
        "#]],
    );
    // The session's reference is weak.
    check(
        "is-thread-owned Buffer#2 --as main",
        expect![[r#"
        yes: only thread:main reaches Buffer#2
          thread:main[0] → Request#1 .body → Buffer#2
    "#]],
    );
    check(
        "is-thread-owned Log --as main",
        expect![[r#"
        no (expected yes)
        error[not-thread-owned]: not only thread:main reaches Log#1
          objects: Log#1
          thread:worker reaches it:
            thread-object:worker → Thread#2 .log → Log#1
          fingerprint: 060fc2b9d088dac8
        exit code 1
    "#]],
    );
    check(
        "is-thread-owned Task#3 --as main",
        expect![[r#"
        no (expected yes)
        error[not-thread-owned]: thread:main does not reach Task#3
          objects: Task#3
          thread:worker reaches it:
            thread:worker[0] → Task#1 .next → Task#2 .next → Task#3
          fingerprint: b315f994733993f9
        exit code 1
    "#]],
    );
    check(
        "is-thread-owned Task#3",
        expect![[r#"
        error: the question is about the asking thread, and no thread was named as such
          name one, as in `--as thread:main`
        exit code 2
    "#]],
    );
    check(
        "is-thread-owned Locals#2 --as worker --stack-only",
        expect![[r#"
            no (expected yes)
            error[not-thread-stack-owned]: the stack of thread:worker does not reach Locals#2
              objects: Locals#2
              its own thread object reaches it:
                thread-object:worker → Thread#2 .locals → Locals#2
              fingerprint: 65862262d7518d57
            exit code 1
        "#]],
    );
    check(
        "is-thread-owned Locals#2 --as worker --object-only",
        expect![[r#"
            yes: every path from a root to Locals#2 passes Thread#2
              Thread#2 .locals → Locals#2
              note: paths from the stack of thread:worker, which asks, do not count
        "#]],
    );
}

#[test]
fn is_thread_stack_owned_only_its_stack_does() {
    check(
        "is-thread-stack-owned Task#3 --as worker",
        expect![[r#"
        yes: only the stack of thread:worker reaches Task#3
          thread:worker[0] → Task#1 .next → Task#2 .next → Task#3
    "#]],
    );
    check(
        "is-thread-stack-owned Log --as worker",
        expect![[r#"
            no (expected yes)
            error[not-thread-stack-owned]: the stack of thread:worker does not reach Log#1
              objects: Log#1
              thread:main reaches it:
                thread-object:main → Thread#1 .locals → Locals#1 .log → Log#1
              its own thread object reaches it:
                thread-object:worker → Thread#2 .log → Log#1
              fingerprint: dd7c181f92e45b57
            exit code 1
        "#]],
    );
}

#[test]
fn is_thread_object_owned_its_thread_object_dominates_it() {
    check(
        "is-thread-object-owned Locals#2 --as worker",
        expect![[r#"
        yes: every path from a root to Locals#2 passes Thread#2
          Thread#2 .locals → Locals#2
          note: paths from the stack of thread:worker, which asks, do not count
    "#]],
    );
    // Both thread objects reach the log.
    check(
        "is-thread-object-owned Log --as worker",
        expect![[r#"
        no (expected yes)
        error[not-thread-object-owned]: a path leads to Log#1 around Thread#2
          objects: Thread#2, Log#1
          thread-object:main → Thread#1 .locals → Locals#1 .log → Log#1
          note: paths from the stack of thread:worker, which asks, do not count
          fingerprint: fcdd4a7292941fc8
        exit code 1
    "#]],
    );
    check(
        "is-thread-object-owned Log --as idle",
        expect![[r#"
        error: thread `idle` has no thread object
        exit code 2
    "#]],
    );
}

#[test]
fn thread_reach_the_threads_that_reach_it() {
    // The pool is a static: it belongs to no thread.
    check(
        "thread-reach Connection#1",
        expect![[r#"
        1 thread reaches Connection#1
          thread:worker:
            thread:worker[0] → Task#1 .connection → Connection#1
    "#]],
    );
    check(
        "thread-reach Connection#1 --avoid Task#1",
        expect![[r#"
        no thread reaches Connection#1 around Task#1
    "#]],
    );
    check(
        "thread-reach Log",
        expect![[r#"
        2 threads reach Log#1
          thread:main:
            thread-object:main → Thread#1 .locals → Locals#1 .log → Log#1
          thread:worker:
            thread-object:worker → Thread#2 .log → Log#1
    "#]],
    );
    check(
        "thread-reach Log --stack-only --expect nonempty",
        expect![[r#"
            no thread reaches Log#1 from its stack (expected nonempty)
            error[thread-reach-empty]: no thread reaches Log#1 from its stack
              objects: Log#1
              how it is held:
                thread-object:worker → Thread#2 .log → Log#1
              fingerprint: 44d8aa27ed43bb82
            exit code 1
        "#]],
    );
    check(
        "thread-reach Log --object-only --limit 1",
        expect![[r#"
            2 threads reach Log#1 from their thread objects
              thread:main:
                thread-object:main → Thread#1 .locals → Locals#1 .log → Log#1
              note: 1 of 2 are listed; --all lists them all
        "#]],
    );
    check(
        "thread-reach Log --expect empty",
        expect![[r#"
        2 threads reach Log#1 (expected empty)
        error[thread-reach-nonempty]: 2 threads reach Log#1
          objects: Log#1
          thread:main:
            thread-object:main → Thread#1 .locals → Locals#1 .log → Log#1
          thread:worker:
            thread-object:worker → Thread#2 .log → Log#1
          fingerprint: 9cb8821268e940a5
        exit code 1
    "#]],
    );
}

#[test]
fn unique_the_references_that_would_be_invalid() {
    check(
        "unique Connection#1",
        expect![[r#"
        2 references to Connection#1 would be invalidated
          Connection[]#1 [0]
          Task#1 .connection
    "#]],
    );
    // Weak references can be read, too.
    check(
        "unique Buffer#2",
        expect![[r#"
        2 references to Buffer#2 would be invalidated
          Request#1 .body
          Session#1 .body (weak)
    "#]],
    );
    // Its only reference is the asker's own.
    check(
        "unique Buffer#1 --as worker",
        expect![[r#"
        no reference to Buffer#1 would be invalidated
          note: thread:worker[1] is kept
    "#]],
    );
    check(
        "unique Buffer#1 --as main",
        expect![[r#"
        1 reference to Buffer#1 would be invalidated
          thread:worker[1]
          note: the stack of thread:main has no reference to keep
    "#]],
    );
    // A collection comes first, so that Orphan#1 is no more.
    check(
        "unique Log",
        expect![[r#"
        2 references to Log#1 would be invalidated
          Locals#1 .log
          Thread#2 .log
    "#]],
    );
    check(
        "unique Log --expect empty",
        expect![[r#"
        2 references to Log#1 would be invalidated (expected empty)
          Locals#1 .log
          Thread#2 .log
        error[unique-nonempty]: 2 references to Log#1 would be invalidated
          objects: Log#1
          how it is held:
            thread-object:worker → Thread#2 .log → Log#1
          fingerprint: f95230478f7b430c
        exit code 1
    "#]],
    );
}

#[test]
fn running_the_thread_objects() {
    check(
        "running",
        expect![[r#"
        2 of 3 running threads have a thread object
          Thread#1
          Thread#2
    "#]],
    );
    check(
        "running --expect empty",
        expect![[r#"
        2 of 3 running threads have a thread object (expected empty)
          Thread#1
          Thread#2
        error[running-nonempty]: 2 of 3 running threads have a thread object
          objects: Thread#1, Thread#2
          thread-object:main → Thread#1
          thread-object:worker → Thread#2
          fingerprint: 96569424a7b39a38
        exit code 1
    "#]],
    );
}

#[test]
fn stack_what_a_stack_refers_to() {
    check(
        "stack worker",
        expect![[r#"
        the stack of thread:worker refers to 2 objects
          Task#1
          Buffer#1
    "#]],
    );
    check(
        "stack thread:idle",
        expect![[r#"
        the stack of thread:idle refers to no objects
    "#]],
    );
    check(
        "stack idle --expect nonempty",
        expect![[r#"
            the stack of thread:idle refers to no objects (expected nonempty)
            error[stack-empty]: the stack of thread:idle refers to no objects
              fingerprint: 6ddd73e72add0658
            exit code 1
        "#]],
    );
}

#[test]
fn roots_what_a_threads_roots_refer_to() {
    check(
        "roots worker",
        expect![[r#"
        the roots of thread:worker refer to 3 objects
          Task#1
          Thread#2
          Buffer#1
    "#]],
    );
}

#[test]
fn reach_what_is_reachable() {
    check(
        "reach Session",
        expect![[r#"
        2 objects are reachable from Session#1
          Session#1
          User#1
    "#]],
    );
    check(
        "reach Session Config#1",
        expect![[r#"
        3 objects are reachable from Session#1, Config#1
          Session#1
          Config#1
          User#1
    "#]],
    );
    check(
        "reach --limit 3",
        expect![[r#"
        22 objects are reachable from the roots
          Pool#1
          Connection[]#1
          Connection#1
          … and 19 more
          note: 3 of 22 are listed; --all lists them all
    "#]],
    );
    check(
        "reach Pool --avoid Connection#1,'Connection#2'",
        expect![[r#"
            2 objects are reachable from Pool#1 around Connection#1, Connection#2
              Pool#1
              Connection[]#1
        "#]],
    );
    check(
        "reach --avoid Pool,Task#1,Request,Thread#1,Thread#2",
        expect![[r#"
            6 objects are reachable from the roots around Pool#1, Task#1, Request#1, Thread#1, Thread#2
              Session#1
              Pair#1
              Config#1
              Buffer#1
              User#1
              Twice#1
        "#]],
    );
    // Paths touch nothing that they avoid, not even at their ends.
    check(
        "reach Pool --avoid Pool --expect nonempty",
        expect![[r#"
            no objects are reachable from Pool#1 around Pool#1 (expected nonempty)
            error[reach-empty]: no objects are reachable from Pool#1 around Pool#1
              fingerprint: 5db63f6b29604d41
            exit code 1
        "#]],
    );
}

#[test]
fn pred_who_refers_to_it() {
    check(
        "pred Log",
        expect![[r#"
        2 reachable objects refer to Log#1
          Locals#1
          Thread#2
    "#]],
    );
    check(
        "pred Pool",
        expect![[r#"
        no reachable object refers to Pool#1
    "#]],
    );
    check(
        "pred Log --expect empty",
        expect![[r#"
        2 reachable objects refer to Log#1 (expected empty)
          Locals#1
          Thread#2
        error[pred-nonempty]: 2 reachable objects refer to Log#1
          objects: Locals#1, Thread#2
          thread-object:main → Thread#1 .locals → Locals#1
          thread-object:worker → Thread#2
          fingerprint: b50b483452f7b94c
        exit code 1
    "#]],
    );
    check(
        "pred Orphan",
        expect![[r#"
        no reachable object refers to Orphan#1
          note: Orphan#1 is garbage: no root reaches it
    "#]],
    );
}

/// Asks a heap that has more of everything than a report shows.
fn check_crowd(question: &str, expect: Expect) {
    crate::check(&format!("probe crowd.heap {question}"), expect);
}

#[test]
fn what_is_not_shown_is_counted() {
    check_crowd(
        "is-shared Shared",
        expect![[r#"
        yes: 7 reachable objects refer to Shared#1
          other:jni[0] → Node#1 .shared → Shared#1
          static:all → Array#1 [1] → Node#2 .shared → Shared#1
          static:all → Array#1 [2] → Node#3 .shared → Shared#1
          static:all → Array#1 [3] → Node#4 .shared → Shared#1
          static:all → Array#1 [4] → Node#5 .shared → Shared#1
          note: 2 more are not shown; `pred` lists them
    "#]],
    );
    check_crowd(
        "is-unique-owner Array",
        expect![[r#"
            no (expected yes)
            error[not-unique-owner]: Array#1 reaches 2 objects that it does not dominate
              objects: Array#1, Node#1, Shared#1
              to Node#1 around Array#1:
                other:jni[0] → Node#1
              to Shared#1 around Array#1:
                other:jni[0] → Node#1 .shared → Shared#1
              fingerprint: caa7a95e0b8ecd11
            exit code 1
        "#]],
    );
    check_crowd(
        "is-thread-owned Shared --as t1",
        expect![[r#"
            no (expected yes)
            error[not-thread-owned]: not only thread:t1 reaches Shared#1
              objects: Shared#1
              a static reaches it:
                static:all → Array#1 [0] → Node#1 .shared → Shared#1
              thread:t2 reaches it:
                thread:t2[0] → Shared#1
              thread:t3 reaches it:
                thread:t3[0] → Shared#1
              thread:t4 reaches it:
                thread:t4[0] → Shared#1
              thread:t5 reaches it:
                thread:t5[0] → Shared#1
              note: others reach it, too: the first 5 are shown
              fingerprint: 0758cb3523054347
            exit code 1
        "#]],
    );
    check_crowd(
        "thread-reach Shared --limit 2",
        expect![[r#"
        7 threads reach Shared#1
          thread:t1:
            thread:t1[0] → Shared#1
          thread:t2:
            thread:t2[0] → Shared#1
          note: 2 of 7 are listed; --all lists them all
    "#]],
    );
    check_crowd(
        "pred Shared --limit 2 --expect empty",
        expect![[r#"
            7 reachable objects refer to Shared#1 (expected empty)
              Node#1
              Node#2
              … and 5 more
            error[pred-nonempty]: 7 reachable objects refer to Shared#1
              objects: Node#1, Node#2
              other:jni[0] → Node#1
              static:all → Array#1 [1] → Node#2
              note: 2 of 7 are listed; --all lists them all
              note: paths lead to the first 2 of 7
              fingerprint: da0e9ffe3cad615d
            exit code 1
        "#]],
    );
    check_crowd(
        "unique Shared --as t2 --limit 6",
        expect![[r#"
        12 references to Shared#1 would be invalidated
          thread:t1[0]
          thread:t3[0]
          thread:t4[0]
          thread:t5[0]
          thread:t6[0]
          Node#1 .shared
          … and 6 more
          note: thread:t2[0] is kept
          note: 6 of 12 are listed; --all lists them all
    "#]],
    );
}

#[test]
fn roots_that_belong_to_no_thread_are_others() {
    check_crowd(
        "is-thread-owned Node#1 --as t7",
        expect![[r#"
        no (expected yes)
        error[not-thread-owned]: not only thread:t7 reaches Node#1
          objects: Node#1
          a static reaches it:
            static:all → Array#1 [0] → Node#1
          the runtime holds it:
            other:jni[0] → Node#1
          fingerprint: e8bdc9073554188f
        exit code 1
    "#]],
    );
}

#[test]
fn what_waits_for_its_finalizer_is_garbage() {
    check_crowd(
        "is-reachable Dying Shared",
        expect![[r#"
        yes: Shared#1 is reachable from Dying#1
          Dying#1 .last → Node#1 .shared → Shared#1
          note: Dying#1 is garbage: no root reaches it (finalizers' do not count)
    "#]],
    );
    check_crowd(
        "is-heap Dying --expect no",
        expect![[r#"
        no: no reachable object refers to Dying#1
          note: Dying#1 is garbage: no root reaches it (finalizers' do not count)
    "#]],
    );
}

#[test]
fn what_waits_for_its_finalizer_can_still_be_read() {
    check_crowd(
        "unique Dying",
        expect![[r#"
        1 reference to Dying#1 would be invalidated
          finalizer:pending[0]
          note: Dying#1 is garbage: no root reaches it (finalizers' do not count)
    "#]],
    );
    check_crowd(
        "unique Node#1",
        expect![[r#"
        3 references to Node#1 would be invalidated
          other:jni[0]
          Array#1 [0]
          Dying#1 .last
    "#]],
    );
}
