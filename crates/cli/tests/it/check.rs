//! Rules on heaps: what holds, what fails, what has no answer; and the papers' assertions as
//! files.

use std::fs;
use std::path::PathBuf;

use expect_test::expect;
use heaphound_testkit::deal::cases::{CASES, Case};

use crate::{check, run_in};

#[test]
fn what_fails_is_told_with_its_reasons() {
    check(
        "check list.heap --rules list.deal --bind limit=10",
        expect![[r#"
            error[links-agree]: `links-agree` does not hold: a successor does not point back
              objects: Node#1
              x = Node#1, x.next = Node#2, x.next.prev = null:
                static:list → List#1 .head → Node#1
              note: 1 object breaks `forall Node x: reach[d](x) -> x.next.prev == x`
              place: list.deal:4:1
              fingerprint: 06c61702fac08cbd
            note[small]: `small` does not hold
              objects: Node#2, Node#4
              x = Node#2, x.data = 11:
                static:list → List#1 .head → Node#1 .next → Node#2
              x = Node#4, x.data = unknown:
                thread:main[2] → Node#4
              note: 2 objects break `forall Node x: x.data <= limit`
              note: the heap does not have `x.data` of Node#4
              place: list.deal:6:1
              fingerprint: 06aa90794f12bb7c
            warning[one-searcher]: `one-searcher` does not hold
              objects: Searcher#1, Searcher#2
              2 held like this:
                thread:main[0] → Searcher#1
              note: 2 instances of Searcher live; the assertion allows 1
              place: list.deal:7:1
              fingerprint: dbcf3ed017c3f3d1
            not checked: positive: it hangs on values that the heap does not have
              note: the heap does not have `x.data` of Node#4
            query Node x: x.data > 4 select x.data, x.name: 2 objects
              Node#2: 11, "second"
              Node#3: 5, null
              note: the heap does not have `x.data` of Node#4
            query Node x: 4 objects
              Node#1
              Node#2
              Node#3
              Node#4
            pred(Node#2).size(): 2
            5 rules, 3 failed, 1 not checked
            exit code 2
        "#]],
    );
}

#[test]
fn what_holds_is_told_to_those_who_ask() {
    check(
        "check list.heap --rules list.deal --bind limit=11 --only held --only small -v",
        expect![[r#"
            not checked: small: it hangs on values that the heap does not have
              note: the heap does not have `x.data` of Node#4
            holds: held
            2 rules, 0 failed, 1 not checked
            exit code 2
        "#]],
    );
    check(
        "check list.heap 'dom(static:list, Node#1)'",
        expect![[r#"
        1 rule, which holds
    "#]],
    );
}

#[test]
fn notes_alone_do_not_fail() {
    check(
        "check list.heap --rules list.deal --bind limit=10 --only small",
        expect![[r#"
            note[small]: `small` does not hold
              objects: Node#2, Node#4
              x = Node#2, x.data = 11:
                static:list → List#1 .head → Node#1 .next → Node#2
              x = Node#4, x.data = unknown:
                thread:main[2] → Node#4
              note: 2 objects break `forall Node x: x.data <= limit`
              note: the heap does not have `x.data` of Node#4
              place: list.deal:6:1
              fingerprint: 06aa90794f12bb7c
            1 rule, 1 failed
        "#]],
    );
}

#[test]
fn one_statement_can_be_given_as_text() {
    check(
        "check list.heap 'assertion(forall Node x: x.next.prev == x)'",
        expect![[r#"
            error[assertion]: the assertion does not hold
              objects: Node#1
              x = Node#1, x.next = Node#2, x.next.prev = null:
                static:list → List#1 .head → Node#1
              note: 1 object breaks `forall Node x: x.next.prev == x`
              place: statement:1:1
              fingerprint: 6ed815725a181d84
            1 rule, 1 failed
            exit code 1
        "#]],
    );
    check(
        "check list.heap 'exists Node x: x.name == wanted' --bind wanted=\"second\"",
        expect![[r#"
            1 rule, which holds
        "#]],
    );
}

#[test]
fn all_mistakes_are_told_at_once() {
    check(
        "check list.heap 'assertion(forall Nod x: x == d); rule a: forall Node x: x.nxt == d'",
        expect![[r#"
            error: statement:1:18: there is no class `Nod`
              assertion(forall Nod x: x == d); rule a: forall Node x: x.nxt == d
                               ^^^ did you mean `Node`?
            statement:1:30: `d` is not bound
              assertion(forall Nod x: x == d); rule a: forall Node x: x.nxt == d
                                           ^ did you mean `x`?
            statement:1:59: `Node` has no field `nxt`
              assertion(forall Nod x: x == d); rule a: forall Node x: x.nxt == d
                                                                        ^^^ did you mean `next`?
            statement:1:66: `d` is not bound
              assertion(forall Nod x: x == d); rule a: forall Node x: x.nxt == d
                                                                               ^ did you mean `x`?
            exit code 2
        "#]],
    );
    check(
        "check list.heap --rules list.deal",
        expect![[r#"
        error: list.deal:6:53: `limit` is not bound
          rule small note: assertion(forall Node x: x.data <= limit);
                                                              ^^^^^
        exit code 2
    "#]],
    );
    check(
        "check list.heap --rules list.deal --bind limit=1 --only heldd",
        expect![[r#"
            error: there is no rule `heldd`
              did you mean `held`?
            exit code 2
        "#]],
    );
    check(
        "check list.heap --rules missing.deal",
        expect![[r#"
            error: cannot read missing.deal: No such file or directory (os error 2)
              built in are `jdk`, `node`
            exit code 2
        "#]],
    );
    check(
        "check list.heap 'unshared(static:lits)'",
        expect![[r#"
            not checked: unshared(static:lits): there is no root `static:lits` (did you mean `static:list`?)
            1 rule, 0 failed, 1 not checked
            exit code 2
        "#]],
    );
    check(
        "check list.heap 'reach[limit](x)' --bind limit",
        expect![[r#"
            error: `limit` should be NAME=OBJECT or NAME=VALUE, as in `--bind d=static:list`
            exit code 2
        "#]],
    );
}

#[test]
fn the_heap_may_follow_the_rules() {
    check(
        "check --bind limit=11 --only held -v --rules list.deal list.heap",
        expect![[r#"
            holds: held
            1 rule, which holds
        "#]],
    );
}

#[test]
fn a_name_that_is_not_there_spoils_what_is_said_of_it() {
    check(
        "check list.heap 'unshared(static:lits); dead(static:lits); dead(Node#77); instances(Node) <= 1'",
        expect![[r#"
            not checked: unshared(static:lits): there is no root `static:lits` (did you mean `static:list`?)
            holds: dead(static:lits)
              note: there is no `static:lits` in the heap (did you mean `static:list`?)
            holds: dead(Node#77)
              note: there is no `Node#77` in the heap
            error[assertion]: the assertion does not hold
              objects: Node#1, Node#2, Node#3, Node#4
              2 held like this:
                static:list → List#1 .head → Node#1 .next → Node#2
              1 held like this:
                thread:main[2] → Node#4
              1 held like this:
                static:list → List#1 .head → Node#1
              note: 4 instances of Node live; the assertion allows 1
              place: statement:1:58
              fingerprint: fb0ab9b4d43552ea
            4 rules, 1 failed, 1 not checked
            exit code 2
        "#]],
    );
}

#[test]
fn whoever_wants_to_know_is_told_the_witness() {
    check(
        "check list.heap 'assertion(exists Node x: x.data > 4); !(forall Node x: exists Node y: x.next == y); forall Node x: x != null' -v",
        expect![[r#"
            holds: assertion(exists Node x: x.data > 4)
              note: 2 objects satisfy `exists Node x: x.data > 4`: x = Node#2, x.data = 11: static:list → List#1 .head → Node#1 .next → Node#2
              note: the heap does not have `x.data` of Node#4
            holds: !(forall Node x: exists Node y: x.next == y)
              note: 2 objects break `forall Node x: exists Node y: x.next == y`: x = Node#3: static:list → List#1 .head → Node#1 .next → Node#2 .next → Node#3
            holds: forall Node x: x != null
            3 rules, all hold
        "#]],
    );
}

#[test]
fn what_has_no_answer_is_an_error_and_the_rest_is_told() {
    check(
        "check list.heap 'is_thread_owned(Node#4); dom(Node#3.next.prev, Node#1); instances(Node) <= 1'",
        expect![[r#"
            not checked: is_thread_owned(Node#4): `Node#4`: the question is about the asking thread, and no thread was named as such
              note: name one, as in `--as thread:main`
            not checked: dom(Node#3.next.prev, Node#1): `Node#3.next.prev`: something is read of null here
            error[assertion]: the assertion does not hold
              objects: Node#1, Node#2, Node#3, Node#4
              2 held like this:
                static:list → List#1 .head → Node#1 .next → Node#2
              1 held like this:
                thread:main[2] → Node#4
              1 held like this:
                static:list → List#1 .head → Node#1
              note: 4 instances of Node live; the assertion allows 1
              place: statement:1:57
              fingerprint: fb0ab9b4d43552ea
            3 rules, 1 failed, 2 not checked
            exit code 2
        "#]],
    );
    check(
        "check list.heap 'is_thread_owned(Node#4)' --as main",
        expect![[r#"
            1 rule, which holds
        "#]],
    );
}

#[test]
fn a_label_is_not_in_a_file() {
    check(
        "check list.heap 'assertion(forall Node x: !(x is processed))'",
        expect![[r#"
            not checked: assertion(forall Node x: !(x is processed)): it asks for the label `processed`, and heaps in files have no labels
            1 rule, 0 failed, 1 not checked
            exit code 2
        "#]],
    );
}

#[test]
fn a_class_that_is_not_there_spoils_what_is_said_of_it() {
    check(
        "check list.heap 'forall Nod x: x.nxt != Open; instances(Nod) <= 1; dead(Nod#3); instances(Node) <= 9'",
        expect![[r#"
            not checked: forall Nod x: x.nxt != Open: there is no class `Nod` (did you mean `Node`?)
            not checked: instances(Nod) <= 1: there is no class `Nod` (did you mean `Node`?)
            not checked: dead(Nod#3): there is no class `Nod` (did you mean `Node`?)
            4 rules, 0 failed, 3 not checked
            exit code 2
        "#]],
    );
    check(
        "check list.heap 'forall Nod x: x.nxt != Open; instances(Node) <= 9' --allow-unchecked",
        expect![[r#"
            not checked: forall Nod x: x.nxt != Open: there is no class `Nod` (did you mean `Node`?)
            2 rules, 0 failed, 1 not checked
        "#]],
    );
    check(
        "check list.heap 'forall Nod x: x.nxt != Open; instances(Node) <= 1' --allow-unchecked",
        expect![[r#"
            not checked: forall Nod x: x.nxt != Open: there is no class `Nod` (did you mean `Node`?)
            error[assertion]: the assertion does not hold
              objects: Node#1, Node#2, Node#3, Node#4
              2 held like this:
                static:list → List#1 .head → Node#1 .next → Node#2
              1 held like this:
                thread:main[2] → Node#4
              1 held like this:
                static:list → List#1 .head → Node#1
              note: 4 instances of Node live; the assertion allows 1
              place: statement:1:30
              fingerprint: fb0ab9b4d43552ea
            2 rules, 1 failed, 1 not checked
            exit code 1
        "#]],
    );
}

#[test]
fn an_optional_class_that_is_not_there_is_empty() {
    check(
        "check list.heap 'optional class Nod, Knot; forall Nod x: x.nxt != Open; instances(Nod) <= 1; exists Knot x: true'",
        expect![[r#"
            error[assertion]: the assertion does not hold
              note: no object satisfies `exists Knot x: true`
              place: statement:1:77
              fingerprint: 6965d7dd6a64cffd
            3 rules, 1 failed
            exit code 1
        "#]],
    );
    check(
        "check list.heap 'optional class Nod; query Nod x: x.nxt == null select x.data, x.size; query Nod x select sum(x.size)'",
        expect![[r#"
            query Nod x: x.nxt == null select x.data, x.size: no objects
            query Nod x select sum(x.size): 0
        "#]],
    );
}

#[test]
fn the_papers_assertions_run_from_files() {
    let directory = Directory::new("cases");
    for case in CASES {
        let Case { name, .. } = case;
        fs::write(directory.0.join("it.deal"), case.text).unwrap();
        for (heap, code) in [(case.holds, 0), (case.fails, 1)] {
            fs::write(directory.0.join("it.heap"), heap).unwrap();
            let mut line = "check it.heap --rules it.deal".to_string();
            for (variable, what) in case.binds.iter().chain(case.values) {
                line.push_str(&format!(" --bind {variable}={what}"));
            }
            if let Some(asker) = case.asker {
                line.push_str(&format!(" --as thread:{asker}"));
            }
            let output = run_in(&directory.0, &line);
            let told = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert_eq!(output.status.code(), Some(code), "{name}\n{told}");
            if code == 0 {
                assert_eq!(told, "1 rule, which holds\n", "{name}");
            } else {
                assert!(told.ends_with("1 rule, 1 failed\n"), "{name}\n{told}");
                // An overlap is shown by one object.
                let both = told.contains("in two relations");
                for shown in case.shown.iter().take(if both { 1 } else { 5 }) {
                    assert!(told.contains(shown), "{name}: {shown}\n{told}");
                }
            }
        }
    }
}

/// A directory of a test's own.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let name = format!("heaphound-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn what_is_asserted_dead_need_not_be_there() {
    check(
        "check list.heap 'dead(static:gone)'",
        expect![[r#"
        holds: dead(static:gone)
          note: there is no `static:gone` in the heap
        1 rule, which holds
    "#]],
    );
}

#[test]
fn a_variable_is_bound_once_and_has_a_name() {
    check(
        "check list.heap 'reach(d).size() > 0' --bind d=static:list --bind d=17",
        expect![[r#"
            error: `d` is bound twice
            exit code 2
        "#]],
    );
    check(
        "eval list.heap 'reach(d).size() > 0' --bind =static:list",
        expect![[r#"
            error: `=static:list` gives no name
            exit code 2
        "#]],
    );
}
