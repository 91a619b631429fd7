//! `path` and `info`.

use expect_test::expect;

use crate::check;

#[test]
fn a_path_is_a_shortest_one() {
    check(
        "path web.heap Log",
        expect![[r#"
        a path from a root to Log#1
          thread-object:worker → Thread#2 .log → Log#1
    "#]],
    );
    check(
        "path web.heap Pool",
        expect![[r#"
        a path from a root to Pool#1
          static:pool → Pool#1
    "#]],
    );
    check(
        "path web.heap Socket#1",
        expect![[r#"
            a path from a root to Socket#1
              static:pool → Pool#1 .free → Connection[]#1 [0] → Connection#1 .socket → Socket#1
        "#]],
    );
}

#[test]
fn captions_and_scopes_are_shown() {
    check(
        "path windows.heap Dialog#2",
        expect![[r#"
        a path from a root to Dialog#2 (title="preferences\n\"of\" a name that is much lon"…)
          static:windows → Window#1 (title="main")
            .next → Dialog#2 (title="preferences\n\"of\" a name that is much lon"…)
    "#]],
    );
    check(
        "path windows.heap Window#3",
        expect![[r#"
        a path from a root to Window#3
          thread:main[10] @ src/app.rs:52:17 → Window#3
    "#]],
    );
    // As it is shown, and without the scope.
    check(
        "path windows.heap 'thread:main[10] @ src/app.rs:52:17'",
        expect![[r#"
            a path from a root to Window#3
              thread:main[10] @ src/app.rs:52:17 → Window#3
        "#]],
    );
    check(
        "path windows.heap thread:main[9] --from static:windows",
        expect![[r#"
            a path from static:windows to Dialog#2 (title="preferences\n\"of\" a name that is much lon"…)
              static:windows → Window#1 (title="main")
                .next → Dialog#2 (title="preferences\n\"of\" a name that is much lon"…)
        "#]],
    );
    check(
        "probe windows.heap reach Window#1",
        expect![[r#"
        4 objects are reachable from Window#1 (title="main")
          Window#1 (title="main")
          Dialog#2 (title="preferences\n\"of\" a name that is much lon"…)
          Str#1
          Str#2
    "#]],
    );
    check(
        "probe windows.heap is-shared Dialog#2 --expect yes",
        expect![[r#"
            no (expected yes)
            error[not-shared]: 1 reachable object refers to Dialog#2 (title="preferences\n\"of\" a name that is much lon"…)
              objects: Dialog#2 (title="preferences\n\"of\" a name that is much lon"…)
              static:windows → Window#1 (title="main")
                .next → Dialog#2 (title="preferences\n\"of\" a name that is much lon"…)
              fingerprint: d1494d3287f5a7b0
            exit code 1
        "#]],
    );
    check(
        "probe windows.heap unique Dialog#2",
        expect![[r#"
        2 references to Dialog#2 (title="preferences\n\"of\" a name that is much lon"…) would be invalidated
          thread:main[9] @ src/app.rs:40:9
          Window#1 (title="main") .next
    "#]],
    );
    check(
        "path windows.heap Dialog#2 --json",
        expect![[r#"
        {
          "schema_version": 1,
          "heaphound_version": "0.1.0",
          "command": "path",
          "heap": "windows.heap",
          "answer": {
            "question": "path",
            "arguments": [
              "Dialog#2"
            ],
            "asker": null,
            "members": {
              "of": "paths",
              "count": 1,
              "listed": [],
              "left_out": 0
            },
            "expected": "nonempty",
            "as_expected": true,
            "message": "a path from a root to Dialog#2 (title=\"preferences\\n\\\"of\\\" a name that is much lon\"…)",
            "evidence": [
              {
                "label": "",
                "path": {
                  "root": {
                    "kind": "static",
                    "name": "windows",
                    "scope": null,
                    "index": 0
                  },
                  "first": {
                    "name": "Window#1",
                    "class": "Window",
                    "caption": "title=\"main\""
                  },
                  "hops": [
                    {
                      "slot": "next",
                      "index": null,
                      "to": {
                        "name": "Dialog#2",
                        "class": "Dialog",
                        "caption": "title=\"preferences\\n\\\"of\\\" a name that is much lon\"…"
                      }
                    }
                  ]
                }
              }
            ],
            "notes": []
          },
          "findings": []
        }
    "#]],
    );
}

#[test]
fn paths_start_where_they_are_told_to() {
    check(
        "path web.heap Log --from thread:main",
        expect![[r#"
        a path from thread:main to Log#1
          thread-object:main → Thread#1 .locals → Locals#1 .log → Log#1
    "#]],
    );
    check(
        "path web.heap Socket#1 --from static:pool",
        expect![[r#"
        a path from static:pool to Socket#1
          static:pool → Pool#1 .free → Connection[]#1 [0] → Connection#1 .socket → Socket#1
    "#]],
    );
    check(
        "path web.heap Socket#1 --from Pool",
        expect![[r#"
        a path from Pool#1 to Socket#1
          Pool#1 .free → Connection[]#1 [0] → Connection#1 .socket → Socket#1
    "#]],
    );
    check(
        "path web.heap Task#3 --from thread:worker[0]",
        expect![[r#"
            a path from thread:worker[0] to Task#3
              thread:worker[0] → Task#1 .next → Task#2 .next → Task#3
        "#]],
    );
    check(
        "path web.heap Log --from thread:idle",
        expect![[r#"
        error[not-reachable]: no path leads from thread:idle to Log#1
          objects: Log#1
          fingerprint: db60b8487d1fb492
        exit code 1
    "#]],
    );
}

#[test]
fn paths_touch_nothing_that_they_avoid() {
    check(
        "path web.heap Connection#1 --avoid Task#1",
        expect![[r#"
        a path from a root to Connection#1 around Task#1
          static:pool → Pool#1 .free → Connection[]#1 [0] → Connection#1
    "#]],
    );
    check(
        "path web.heap Connection#1 --avoid Task#1,Pool",
        expect![[r#"
            error[not-reachable]: no path leads from a root to Connection#1 around Task#1, Pool#1
              objects: Connection#1
              fingerprint: 94c39f29ee6ee8ca
            exit code 1
        "#]],
    );
    check(
        "path web.heap Pool --avoid Pool",
        expect![[r#"
            error[not-reachable]: no path leads from a root to Pool#1 around Pool#1
              objects: Pool#1
              fingerprint: b6ac592a6af1c21c
            exit code 1
        "#]],
    );
}

#[test]
fn all_paths_are_counted() {
    check(
        "path web.heap Connection#1 --count 10",
        expect![[r#"
            2 paths from a root to Connection#1
              static:pool → Pool#1 .free → Connection[]#1 [0] → Connection#1
              thread:worker[0] → Task#1 .connection → Connection#1
        "#]],
    );
    check(
        "path web.heap Connection#1 --count 1",
        expect![[r#"
            1 path from a root to Connection#1
              static:pool → Pool#1 .free → Connection[]#1 [0] → Connection#1
              note: there are more paths
        "#]],
    );
    check(
        "path web.heap Twice --count 10",
        expect![[r#"
        2 paths from a root to Twice#1
          static:twice → Pair#1 .a → Twice#1
          static:twice → Pair#1 .b → Twice#1
    "#]],
    );
    check(
        "path web.heap Orphan --count 10",
        expect![[r#"
        error[not-reachable]: no path leads from a root to Orphan#1
          objects: Orphan#1
          fingerprint: c58c4d4bb0e10164
        exit code 1
    "#]],
    );
}

#[test]
fn garbage_has_no_path() {
    check(
        "path web.heap Orphan",
        expect![[r#"
        error[not-reachable]: no path leads from a root to Orphan#1
          objects: Orphan#1
          fingerprint: c58c4d4bb0e10164
        exit code 1
    "#]],
    );
}

#[test]
fn info_tells_what_there_is() {
    check(
        "info web.heap",
        expect![[r#"
            web.heap
                           objects  bytes
              objects           23    312
              reachable         22    296
              unreachable        1     16
              19 edges

              classes (16)  bytes  objects  reachable  retained ≥
              Task             48        3          3          48
              Connection       32        2          2          48
              Locals           32        2          2          32
              Thread           32        2          2          64
              Connection[]     24        1          1          24
              Buffer           16        2          2          16
              Orphan           16        1          0           0
              Pair             16        1          1          24
              Pool             16        1          1          40
              Request          16        1          1          24
              Session          16        1          1          24
              Socket           16        2          2          16
              Config            8        1          1           8
              Log               8        1          1           8
              Twice             8        1          1           8
              User              8        1          1           8

              roots          count
              static             3
              thread-object      2
              thread             3
              handle             1

              threads  stack roots  thread object
              idle               0           none
              main               1       Thread#1
              worker             2       Thread#2
        "#]],
    );
    check(
        "info web.heap --sort count --limit 2",
        expect![[r#"
            web.heap
                           objects  bytes
              objects           23    312
              reachable         22    296
              unreachable        1     16
              19 edges

              classes (16)  bytes  objects  reachable  retained ≥
              Task             48        3          3          48
              Buffer           16        2          2          16
              … and 14 more

              roots          count
              static             3
              thread-object      2
              thread             3
              handle             1

              threads  stack roots  thread object
              idle               0           none
              main               1       Thread#1
              worker             2       Thread#2
        "#]],
    );
    check(
        "info names.heap --sort name",
        expect![[r#"
            names.heap
                           objects  bytes
              objects            5     72
              reachable          4     56
              unreachable        1     16
              3 edges

              classes (4)               bytes  objects  reachable  retained ≥
              Map<K, V>                    48        3          2          32
              handle::Entry                 8        1          1           8
              java.util.HashMap$Node[]     16        1          1          16

              roots   count
              static      2
              thread      2
              handle      1

              threads  stack roots  thread object
              main               2           none
        "#]],
    );
}
