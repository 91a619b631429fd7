//! Rule files themselves: formatted and explained.

use std::fs;

use expect_test::expect;

use crate::folder::Folder;
use crate::{check, run_in, told};

#[test]
fn files_are_formatted_in_place() {
    let name = format!("heaphound-fmt-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    fs::create_dir_all(&directory).unwrap();
    let file = directory.join("a.deal");
    fs::write(&file, "rule a:assertion(∀x∈Node:¬R/d(x))").unwrap();
    fs::write(directory.join("good.deal"), "rule b: dead(Node);\n").unwrap();
    let run = |line: &str| told(&run_in(&directory, line));
    expect![[r#"
        a.deal
        exit code 1
    "#]]
    .assert_eq(&run("deal fmt --check a.deal good.deal"));
    expect![""].assert_eq(&run("deal fmt a.deal good.deal"));
    expect![[r#"
        rule a: assertion(forall Node x: !reach[/d](x));
    "#]]
    .assert_eq(&fs::read_to_string(&file).unwrap());
    expect![""].assert_eq(&run("deal fmt --check a.deal good.deal"));
    expect![""].assert_eq(&run("deal fmt --unicode a.deal"));
    expect![[r#"
        rule a: assertion(∀x ∈ Node: ¬reach[/d](x));
    "#]]
    .assert_eq(&fs::read_to_string(&file).unwrap());
    // One mistake, and nothing is written.
    fs::write(directory.join("bad.deal"), "rule : x").unwrap();
    expect![[r#"
        error: bad.deal:1:6: expected `;`, found `:`
          rule : x
               ^
        exit code 2
    "#]]
    .assert_eq(&run("deal fmt a.deal bad.deal"));
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn rules_are_explained_without_a_heap() {
    check(
        "deal explain list.deal",
        expect![[r#"
            one traversal for 5 rules
              answers `links-agree`
              answers `small`
              answers `positive`
              answers `query Node x: x.data > 4 select x.data, x.name`
              answers `query Node x`
              1. trace from static:list, with reach[d] true
                   test `forall Node x: reach[d](x) -> x.next.prev == x`: an object that breaks it decides
                   test `forall Node x: x.data <= limit`: an object that breaks it decides
                   test `forall Node x: !(x.data < 0)`: an object that breaks it decides
                   test `query Node x: x.data > 4 select x.data, x.name`: all objects that satisfy it are collected
                   test `query Node x`: all objects that satisfy it are collected
              2. trace from the roots, what was not entered, with the relation false
                   test `forall Node x: x.data <= limit`: an object that breaks it decides
                   test `forall Node x: !(x.data < 0)`: an object that breaks it decides
                   test `query Node x: x.data > 4 select x.data, x.name`: all objects that satisfy it are collected
                   test `query Node x`: all objects that satisfy it are collected

            `one-searcher`: 1 traversal, which counts instances
            `held`: runs as the probe is_object_owned: 2 traversals
            `pred(Node#2).size()`: evaluated as it is written: 1 traversal
        "#]],
    );
    check(
        "deal explain 'assertDisjoint(∀x ∈ Person : (Rmales(x) ∨ Rfemales(x)) ∧ ¬R/males, females(x))'",
        expect![[r#"
            one traversal
              1. trace from males, with reach[males] true
                   nothing is tested
              2. trace from females, with reach[females] true
                   nothing is tested
                   an edge to an object of an earlier relation fails assertDisjoint
              3. mark ignored: males, females
              4. trace from the roots, with reach[/males, females] true
                   test `∀x ∈ Person : (Rmales(x) ∨ Rfemales(x)) ∧ ¬R/males, females(x)`: an object that breaks it decides
                   an edge to an object of an earlier relation fails assertDisjoint
              5. nothing is ignored any more: males, females
              6. trace from the roots and what was ignored, what was not entered, with all relations false
                   test `∀x ∈ Person : (Rmales(x) ∨ Rfemales(x)) ∧ ¬R/males, females(x)`: an object that breaks it decides
              if no root refers to males or females: one traversal more, for whether it lives
              if an object is in two relations: each relation once more, to find all that are
        "#]],
    );
    check(
        "deal explain 'pred(o).size() > 1'",
        expect![[r#"
        runs as the probe is_shared: 1 traversal
    "#]],
    );
    check(
        "deal explain 'assertion(forall x: )'",
        expect![[r#"
        error: statement:1:21: expected an expression, found `)`
          assertion(forall x: )
                              ^
        exit code 2
    "#]],
    );
}

#[test]
fn with_a_heap_names_are_checked() {
    check(
        "deal explain 'assertion(forall Node x: x.nxt == null)' --heap list.heap",
        expect![[r#"
            error: statement:1:28: `Node` has no field `nxt`
              assertion(forall Node x: x.nxt == null)
                                         ^^^ did you mean `next`?
            exit code 2
        "#]],
    );
    check(
        "deal explain 'unshared(static:lits)' --heap list.heap",
        expect![[r#"
            error: statement:1:10: there is no root `static:lits`
              unshared(static:lits)
                       ^^^^^^^^^^^ did you mean `static:list`?
            exit code 2
        "#]],
    );
    check(
        "deal explain list.deal --heap list.heap --bind limit=3",
        expect![[r#"
            one traversal for 5 rules
              answers `links-agree`
              answers `small`
              answers `positive`
              answers `query Node x: x.data > 4 select x.data, x.name`
              answers `query Node x`
              1. trace from static:list, with reach[d] true
                   test `forall Node x: reach[d](x) -> x.next.prev == x`: an object that breaks it decides
                   test `forall Node x: x.data <= limit`: an object that breaks it decides
                   test `forall Node x: !(x.data < 0)`: an object that breaks it decides
                   test `query Node x: x.data > 4 select x.data, x.name`: all objects that satisfy it are collected
                   test `query Node x`: all objects that satisfy it are collected
              2. trace from the roots, what was not entered, with the relation false
                   test `forall Node x: x.data <= limit`: an object that breaks it decides
                   test `forall Node x: !(x.data < 0)`: an object that breaks it decides
                   test `query Node x: x.data > 4 select x.data, x.name`: all objects that satisfy it are collected
                   test `query Node x`: all objects that satisfy it are collected

            `one-searcher`: 1 traversal, which counts instances
            `held`: runs as the probe is_object_owned: 2 traversals
            `pred(Node#2).size()`: evaluated as it is written: 1 traversal
        "#]],
    );
}

#[test]
fn rules_are_explained_from_stdin_and_from_whatever_exists() {
    let folder = Folder::new("explained");
    folder.write("one.deal", "assertion(forall Node x: x.next != x);\n");
    let from_file = folder.sh("$H deal explain one.deal");
    let from_stdin = folder.sh("$H deal explain - < one.deal");
    assert_eq!(from_stdin.status.code(), Some(0), "{}", told(&from_stdin));
    assert_eq!(
        told(&from_stdin).lines().skip(1).collect::<Vec<_>>(),
        told(&from_file).lines().skip(1).collect::<Vec<_>>()
    );
    // A folder exists, and is not a statement.
    let folder_itself = folder.sh("$H deal explain /");
    assert!(
        told(&folder_itself).contains("cannot read /"),
        "{}",
        told(&folder_itself)
    );
    let zeros = folder.sh("$H deal explain /dev/zero");
    assert!(
        told(&zeros).contains("cannot read /dev/zero"),
        "{}",
        told(&zeros)
    );
}
