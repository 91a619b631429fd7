//! Answers that would be misleading: each says what is so, or that it cannot be told.

use expect_test::{Expect, expect};

/// Runs a command on `answers.heap`.
fn check(line: &str, expect: Expect) {
    let (command, rest) = line
        .split_once(' ')
        .expect("a command and what it is asked");
    crate::check(&format!("{command} answers.heap {rest}"), expect);
}

#[test]
fn a_thread_without_an_object_counts() {
    check(
        "eval 'thread_reach(C#1).size() <= 1'",
        expect![[r#"
        no (expected yes)
        error[false]: the expression is false
          fingerprint: e496f258a23f42cd
        exit code 1
    "#]],
    );
    check(
        "eval thread_reach(C#1)",
        expect![[r#"
        2 members
          thread:w1
          thread:w2
          note: threads w1, w2 count, which have no thread objects
    "#]],
    );
    check(
        "eval running().size()",
        expect![[r#"
        2
    "#]],
    );
    check(
        "check 'thread_reach(C#1)'",
        expect![[r#"
        thread_reach(C#1): 2 objects
          … and 2 more
          note: threads w1, w2 count, which have no thread objects
    "#]],
    );
}

#[test]
fn a_quantifier_that_cannot_find_all_threads_is_not_answered() {
    check(
        "eval '(\\num_of Object t; running().has(t); reach(stack(t)).has(C#1)) <= 1'",
        expect![[r#"
            error: expression:1:2: thread `w1` has no thread object: no quantifier finds it
              (\num_of Object t; running().has(t); reach(stack(t)).has(C#1)) <= 1
               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ thread_reach(…).size() counts such threads, too
            exit code 2
        "#]],
    );
    check(
        "check '{Object t | running().has(t) && reach(t).has(C#1)}'",
        expect![[r#"
            not checked: {Object t | running().has(t) && reach(t).has(C#1)}: `{Object t | running().has(t) && reach(t).has(C#1)}`: thread `w1` has no thread object: no quantifier finds it (thread_reach(…).size() counts such threads, too)
            1 rule, 0 failed, 1 not checked
            exit code 2
        "#]],
    );
}

#[test]
fn a_field_that_is_false_is_false() {
    check(
        "eval N#1.flag",
        expect![[r#"
        no (expected yes)
        error[false]: the expression is false
          fingerprint: 8a5144e8d8fead33
        exit code 1
    "#]],
    );
    check(
        "eval N#2.flag",
        expect![[r#"
        yes: the expression is true
    "#]],
    );
    check(
        "eval false",
        expect![[r#"
        no (expected yes)
        error[false]: the expression is false
          fingerprint: 715719af775a4ab8
        exit code 1
    "#]],
    );
    check(
        "eval static:a.flag",
        expect![[r#"
        no (expected yes)
        error[false]: the expression is false
          fingerprint: caf2d773ee9054d2
        exit code 1
    "#]],
    );
    check(
        "check N#1.flag",
        expect![[r#"
        error[assertion]: the assertion does not hold
          place: statement:1:1
          fingerprint: 8a5144e8d8fead33
        1 rule, 1 failed
        exit code 1
    "#]],
    );
    check(
        "check false",
        expect![[r#"
        error[assertion]: the assertion does not hold
          place: statement:1:1
          fingerprint: 715719af775a4ab8
        1 rule, 1 failed
        exit code 1
    "#]],
    );
}

#[test]
fn what_is_asked_of_null_is_not_answered() {
    check(
        "eval 'forall N x: reach[d](x) -> x.val > 3' --bind d=null",
        expect![[r#"
        error: expression:1:19: this is null
          forall N x: reach[d](x) -> x.val > 3
                            ^
        exit code 2
    "#]],
    );
    check(
        "eval 'reach(d).is_empty()' --bind d=null",
        expect![[r#"
        error: expression:1:7: this is null
          reach(d).is_empty()
                ^
        exit code 2
    "#]],
    );
    check(
        "eval 'forall N x: x.val == static:a.next.next.val'",
        expect![[r#"
        error: expression:1:22: something is read of null here
          forall N x: x.val == static:a.next.next.val
                               ^^^^^^^^^^^^^^^^^^^^^^
        exit code 2
    "#]],
    );
    check(
        "check 'assertion(forall N x: reach[static:a.next.next](x) -> false)'",
        expect![[r#"
        not checked: assertion(forall N x: reach[static:a.next.next](x) -> false): `static:a.next.next`: this is null
        1 rule, 0 failed, 1 not checked
        exit code 2
    "#]],
    );
    check(
        "check 'assertion(forall N x: reach[static:c.next](x) -> false)'",
        expect![[r#"
        not checked: assertion(forall N x: reach[static:c.next](x) -> false): `static:c.next`: C#1 does not have what is read here
        1 rule, 0 failed, 1 not checked
        exit code 2
    "#]],
    );
    check(
        "check 'unshared(d)' --bind d=null",
        expect![[r#"
        not checked: unshared(d): `d`: this is null
        1 rule, 0 failed, 1 not checked
        exit code 2
    "#]],
    );
    check(
        "check 'query N x: reach[/d](x)' --bind d=null",
        expect![[r#"
        not checked: query N x: reach[/d](x): `d`: this is null
        1 rule, 0 failed, 1 not checked
        exit code 2
    "#]],
    );
    check(
        "eval 'forall N x: x != d' --bind d=null",
        expect![[r#"
        yes: the expression is true
    "#]],
    );
}

#[test]
fn what_breaks_a_forall_is_shown() {
    check(
        "eval 'forall N x: x.val > 3'",
        expect![[r#"
        no (expected yes)
        error[false]: the expression is false
          objects: N#1
          x = N#1, x.val = 3:
            static:a → N#1
          note: 1 object breaks `forall N x: x.val > 3`
          fingerprint: 4e66832c1385a5e9
        exit code 1
    "#]],
    );
    check(
        "eval '!(exists N x: x.val > 3 && x.flag)'",
        expect![[r#"
        no (expected yes)
        error[false]: the expression is false
          objects: N#2
          x = N#2, x.val = 4, x.flag = true:
            static:a → N#1 .next → N#2
          note: 1 object satisfies `exists N x: x.val > 3 && x.flag`
          fingerprint: 75420589efc16a01
        exit code 1
    "#]],
    );
}

#[test]
fn quantifiers_in_quantifiers_are_explained() {
    check(
        "eval 'forall N x: exists N y: y.next == x || x == static:a' --explain",
        expect![[r#"
            evaluated as it is written: 1 traversal; an index finds the objects of `y`
              note: on this heap, that is 6 looks at objects at most
        "#]],
    );
    check(
        "eval 'forall N x: forall N y: x.val <= y.val || y.next == x' --explain",
        expect![[r#"
            evaluated as it is written: 1 traversal; a look at each object of `y` for each of `x`
              note: on this heap, that is 6 looks at objects at most
        "#]],
    );
}

#[test]
fn a_tree_with_parents_is_unshared_by_its_children() {
    check(
        "check 'unshared(Tree)'",
        expect![[r#"
        error[assertion]: the assertion does not hold
          objects: Tree#1, Tree#2, Tree#4
          static:tree → Tree#1
          static:tree → Tree#1 .left → Tree#2 .parent → Tree#1
          static:tree → Tree#1 .left → Tree#2
          static:tree → Tree#1 .left → Tree#2 .left → Tree#4 .parent → Tree#2
          static:tree → Tree#1 .left → Tree#2 .left → Tree#4
          static:tree → Tree#1 .right → Tree#3 .right → Tree#4
          note: Tree#1 was asserted unshared, and 3 references lead to it
          note: Tree#2 was asserted unshared, and 2 references lead to it
          note: Tree#4 was asserted unshared, and 2 references lead to it
          place: statement:1:1
          fingerprint: ecf71d1912d300fe
        1 rule, 1 failed
        exit code 1
    "#]],
    );
    check(
        "check 'unshared(Tree by left, right)'",
        expect![[r#"
        error[assertion]: the assertion does not hold
          objects: Tree#4
          static:tree → Tree#1 .left → Tree#2 .left → Tree#4
          static:tree → Tree#1 .right → Tree#3 .right → Tree#4
          note: Tree#4 was asserted unshared, and 2 references by left, right lead to it
          place: statement:1:1
          fingerprint: 8bee58e93bd4ae92
        1 rule, 1 failed
        exit code 1
    "#]],
    );
    check(
        "check 'unshared(Tree by left)'",
        expect![[r#"
        1 rule, which holds
    "#]],
    );
    check(
        "check 'unshared(Tree by lft)'",
        expect![[r#"
        error: statement:1:18: no class has a slot `lft`
          unshared(Tree by lft)
                           ^^^ did you mean `left`?
        exit code 2
    "#]],
    );
}

#[test]
fn any_name_can_be_quoted() {
    check(
        "eval 'Odd#1.\"a.b\"'",
        expect![[r#"
        7
    "#]],
    );
    check(
        "eval 'Odd#1.\"open orders\" == N#1 && Odd#1.\"tab\\there\" == N#2'",
        expect![[r#"
        yes: the expression is true
    "#]],
    );
    check(
        "eval '\"tab\\tclass\"#1 == static:\"tab\\troot\"'",
        expect![[r#"
        yes: the expression is true
    "#]],
    );
    check(
        "eval 'd == \"tab\\tclass\"#1' --bind 'd=\"tab\\tclass\"#1'",
        expect![[r#"
        yes: the expression is true
    "#]],
    );
    check(
        "probe is-heap '\"tab\\tclass\"#1'",
        expect![[r##"
            no (expected yes)
            error[not-referenced]: no reachable object refers to "tab\tclass"#1
              objects: "tab\tclass"#1
              only roots do:
                static:"tab\troot" → "tab\tclass"#1
              fingerprint: 52ff0e7ba309023f
            exit code 1
        "##]],
    );
    check(
        "probe is-heap 'static:\"tab\\troot\"'",
        expect![[r##"
            no (expected yes)
            error[not-referenced]: no reachable object refers to "tab\tclass"#1
              objects: "tab\tclass"#1
              only roots do:
                static:"tab\troot" → "tab\tclass"#1
              fingerprint: 52ff0e7ba309023f
            exit code 1
        "##]],
    );
    check(
        "check 'query Odd x: x.\"a.b\" > 3 select x.\"a.b\"'",
        expect![[r#"
        query Odd x: x."a.b" > 3 select x."a.b": 1 object
          Odd#1: 7
    "#]],
    );
    check(
        "check 'assertion(forall Odd x: x.\"a.b\" > 10)'",
        expect![[r#"
        error[assertion]: the assertion does not hold
          objects: Odd#1
          x = Odd#1, x."a.b" = 7:
            static:odd → Odd#1
          note: 1 object breaks `forall Odd x: x."a.b" > 10`
          place: statement:1:1
          fingerprint: 08b73346ac2c867f
        1 rule, 1 failed
        exit code 1
    "#]],
    );
}

#[test]
fn a_set_can_be_bound() {
    check(
        "eval 'reach(static:a, cut)' --bind cut={N#2}",
        expect![[r#"
        1 object
          N#1
    "#]],
    );
    check(
        "eval 'both.size()' --bind 'both={N#1, N#2}'",
        expect![[r#"
        2
    "#]],
    );
    check(
        "eval both --bind both={}",
        expect![[r#"
        no objects
    "#]],
    );
    check(
        "eval 'both.has(N#1)' --bind both={N#1,Nod#2}",
        expect![[r#"
        error: there is no object and no root `Nod#2`
        exit code 2
    "#]],
    );
}

#[test]
fn one_value_is_made_of_many() {
    check(
        "eval '(\\sum N x; true; x.val)'",
        expect![[r#"
        7
    "#]],
    );
    check(
        "eval '(\\max N x; x.flag; x.val) == 4 && (\\min N x: x.val) == 3'",
        expect![[r#"
        yes: the expression is true
    "#]],
    );
    check(
        "eval '(\\min N x; false; x.val)'",
        expect![[r#"
        null
    "#]],
    );
    check(
        "eval '\\num_of N x; x.flag; reach().has(x) <= 1'",
        expect![[r#"
        yes: the expression is true
    "#]],
    );
    check(
        "eval 'unique(N#2)'",
        expect![[r#"
        no (expected yes)
        error[false]: the expression is false
          fingerprint: d6799bda6a976f8c
        exit code 1
    "#]],
    );
    check(
        "eval 'unique(Tree#1.left)'",
        expect![[r#"
        no (expected yes)
        error[false]: the expression is false
          fingerprint: 588c81420e26d190
        exit code 1
    "#]],
    );
}

#[test]
fn rules_that_are_none_and_rules_that_are_two_are_mistakes() {
    check(
        "check --rules empty.deal",
        expect![[r#"
        error: empty.deal has no rules: nothing is checked
        exit code 2
    "#]],
    );
    check(
        "check --rules one.deal --rules two.deal",
        expect![[r#"
        error: one.deal and two.deal both have a rule `small`
        exit code 2
    "#]],
    );
    check(
        "check --rules one.deal --rules one.deal",
        expect![[r#"
        error: one.deal is given twice: it has rule `small`
        exit code 2
    "#]],
    );
    check(
        "check --rules one.deal",
        expect![[r#"
        1 rule, which holds
    "#]],
    );
}

#[test]
fn a_query_selects_what_it_can_tell() {
    check(
        "check 'query N x select pred(x).size()'",
        expect![[r#"
        error: statement:1:18: a query selects what its objects hold, and this is not held
          query N x select pred(x).size()
                           ^^^^^^^^^^^^^^ ask for it in the query's body, or in an expression
        exit code 2
    "#]],
    );
    check(
        "check 'query N x select sum((num_of N y: y.next == x))'",
        expect![[r#"
        error: statement:1:23: a query selects what its objects hold, and this is not held
          query N x select sum((num_of N y: y.next == x))
                                ^^^^^^^^^^^^^^^^^^^^^^^ ask for it in the query's body, or in an expression
        exit code 2
    "#]],
    );
    check(
        "check 'query(x.val, (x in N && x.flag) -> x.val > 3)'",
        expect![[r#"
        query(x.val, (x in N && x.flag) -> x.val > 3): 1 object
          N#2: 4
    "#]],
    );
}
