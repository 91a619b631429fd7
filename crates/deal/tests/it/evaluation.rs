//! All that a text says, evaluated at once: GC assertions held against their definitions on
//! random heaps, and the cases through the one entry point that takes every statement.
//!
//! `HEAPHOUND_CASES` multiplies the number of random heaps.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use heaphound_deal::bind::Binder;
use heaphound_deal::check::{Scope, compile, constant};
use heaphound_deal::evaluate::{Evaluation, Judged};
use heaphound_deal::gc;
use heaphound_deal::traverse::Setting;
use heaphound_deal::verdict::{self, Verdict};
use heaphound_heap::assertion::Outcome;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_testkit::cases::check;
use heaphound_testkit::deal::cases::{CASES, Case};
use heaphound_testkit::deal::generate::{
    HOSTS, HeapPlan, Kind, LABELS, classes, heaps, scope, texts,
};
use heaphound_testkit::deal::twin::{Answer, Told, World, evaluate};
use proptest::prelude::*;

fn ask(plan: &HeapPlan, heap: &Snapshot, text: &str) -> Answer<ObjectId> {
    let classes = classes();
    let resolved = compile("it", text, &scope(&classes)).expect("texts are well typed");
    let asker = plan.asker();
    let world = World {
        view: heap,
        asker: asker.as_deref(),
        host: &|source| plan.source(heap, source),
        label: &|object, label| plan.label(object, label),
    };
    evaluate(&world, &resolved, &resolved.rules[0].program)
}

#[test]
fn gc_assertions_are_what_their_definitions_say() {
    check(1_500, &(heaps(), texts(Kind::Gc)), |(plan, text)| {
        let heap = plan.build();
        let expected = match ask(plan, &heap, text) {
            Answer::Verdict(verdict) => Some(verdict.culprits),
            Answer::Nothing(_) => None,
            other => return Err(TestCaseError::fail(format!("{other:?}"))),
        };
        let classes = classes();
        let resolved = compile("it", text, &scope(&classes)).expect("texts are well typed");
        let hosts = resolved.hosts.iter();
        let hosts: Vec<_> = hosts.map(|it| plan.source(&heap, &it.source)).collect();
        let binder = Binder::of(&heap).ask_as(plan.asker().as_deref());
        let asker = binder.bind(&Default::default()).expect("no hosts").asker();
        for threads in [1, 4] {
            let setting = Setting {
                view: &heap,
                resolved: &resolved,
                hosts: &hosts,
                labelled: &[],
                asker,
                threads,
                interpret: false,
                sources_live: false,
            };
            let rule = &resolved.rules[0];
            let outcome = gc::outcomes(&setting, &[rule]).remove(0).ok();
            let culprits = outcome.map(|outcome| match outcome {
                Outcome::Holds => BTreeSet::new(),
                Outcome::Violated { count, violations } => {
                    let all: BTreeSet<_> = violations.iter().map(|it| it.object).collect();
                    assert_eq!(all.len(), count);
                    all
                }
                Outcome::Exceeded(excess) => {
                    assert_eq!(excess.sample.len(), excess.instances);
                    excess.sample.into_iter().collect()
                }
            });
            prop_assert_eq!(&culprits, &expected, "{}", text);
            match gc::judge(&setting, &[rule], text).remove(0) {
                Verdict::Holds => prop_assert_eq!(culprits, Some(BTreeSet::new())),
                Verdict::NotChecked(_) => prop_assert_eq!(culprits, None),
                Verdict::Fails(finding) => {
                    let count = culprits.map_or(0, |it| it.len());
                    prop_assert!(count > 0);
                    prop_assert_eq!(finding.objects.len(), count.min(5));
                    prop_assert!(!finding.evidence.is_empty());
                    for it in &finding.evidence {
                        let is_named = finding.objects.contains(it.path.last());
                        prop_assert!(is_named || count > 5, "{}", finding);
                    }
                }
                Verdict::Found(found) => prop_assert!(false, "{:?}", found),
            }
        }
        Ok(())
    });
}

#[test]
fn an_evaluation_says_what_each_statement_comes_to() {
    for kind in [
        Kind::Assertion,
        Kind::Formula,
        Kind::Value,
        Kind::Set,
        Kind::Query,
        Kind::Gc,
    ] {
        check(300, &(heaps(), texts(kind)), |(plan, text)| {
            let heap = plan.build();
            let classes = classes();
            let resolved = compile("it", text, &scope(&classes)).expect("texts are well typed");
            let asker = plan.asker();
            let mut binder = Binder::of(&heap)
                .ask_as(asker.as_deref())
                .objects(|class, number| heap.find(class, number));
            for host in HOSTS {
                binder = binder.variable(host, plan.host(host));
            }
            // A name that fits nothing, or too much, is told before.
            let Ok(bindings) = binder.bind(&resolved) else {
                return Ok(());
            };
            let mut evaluation = Evaluation::new(&heap, &resolved, text, &bindings)
                .threads(1)
                .note_unknown_values();
            for label in LABELS {
                let objects = heap.objects().filter(|it| plan.label(*it, label));
                evaluation = evaluation.label(label, objects.collect());
            }
            if let Some(asker) = &asker {
                evaluation = evaluation.ask_as(asker).expect("it is a thread");
            }
            let all = evaluation.run();
            prop_assert_eq!(all.len(), 1);
            let expected = ask(plan, &heap, text);
            let same = match (&all[0].verdict, &expected) {
                (Verdict::Holds, Answer::Verdict(it)) => it.holds,
                (Verdict::Fails(_), Answer::Verdict(it)) => !it.holds,
                (Verdict::NotChecked(_), Answer::Nothing(_)) => true,
                (Verdict::Found(verdict::Answer::Objects(all, count)), Answer::Set(set)) => {
                    all.iter().copied().collect::<BTreeSet<_>>() == set.objects
                        && *count == set.objects.len() + set.threads.len()
                }
                (Verdict::Found(verdict::Answer::Objects(some, all)), Answer::Told(told)) => {
                    matches!(told, Told::Objects(count, first) if *count as usize == *all && first == some)
                }
                (Verdict::Found(_), Answer::Told(_) | Answer::Value(_)) => true,
                _ => false,
            };
            prop_assert!(same, "{}: {:?}, but {:?}", text, all[0], expected);
            Ok(())
        });
    }
}

fn read(text: &str) -> Snapshot {
    let heap = heaphound_snapshot::read(text.as_bytes(), "heap", &mut |_, _| {});
    heap.unwrap_or_else(|wrong| panic!("{wrong}\n{text}"))
}

/// What comes of a text on a heap.
fn judged(heap: &str, case: &Case) -> Vec<Judged<ObjectId>> {
    let heap = read(heap);
    let mut scope = Scope::new(heap.classes());
    let mut binder = Binder::of(&heap)
        .ask_as(case.asker)
        .objects(|class, number| heap.find(class, number));
    for (name, object) in case.binds {
        let object = heap.objects().find(|&it| heap.name_of(it) == *object);
        scope = scope.bind(name, None);
        binder = binder.variable(name, object);
    }
    for (name, value) in case.values {
        scope = scope.bind_value(name, constant(value).expect("a value"));
    }
    let resolved = compile(case.name, case.text, &scope).unwrap_or_else(|it| panic!("{it}"));
    let bindings = binder.bind(&resolved).expect("all is bound");
    let mut evaluation =
        Evaluation::new(&heap, &resolved, case.text, &bindings).note_unknown_values();
    if let Some(asker) = case.asker {
        evaluation = evaluation.ask_as(asker).expect("it is a thread");
    }
    evaluation.run()
}

#[test]
fn each_case_holds_on_one_heap_and_fails_on_the_other() {
    for case in CASES {
        let name = case.name;
        let holds = judged(case.holds, case).remove(0);
        assert_eq!(holds.verdict, Verdict::Holds, "{name}");
        assert_eq!(holds.notes, [""; 0], "{name}");
        match judged(case.fails, case).remove(0).verdict {
            Verdict::Fails(finding) => {
                // Of an overlap one object is shown.
                let overlaps = finding
                    .notes
                    .iter()
                    .any(|it| it.contains("in two relations"));
                let names: Vec<_> = finding.objects.iter().map(|it| &it.name).collect();
                for shown in case.shown.iter().take(if overlaps { 1 } else { 5 }) {
                    assert!(names.iter().any(|it| *it == shown), "{name}: {finding}");
                }
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// What is told of a text on a heap.
fn check_told(heap: &str, text: &str, expected: Expect) {
    let case = Case {
        name: "it",
        text: Box::leak(text.into()),
        holds: "",
        fails: "",
        binds: &[],
        values: &[],
        asker: None,
        shown: &[],
    };
    let mut told = String::new();
    for Judged { verdict, notes, .. } in judged(heap, &case) {
        match verdict {
            Verdict::Holds => told.push_str("holds\n"),
            Verdict::Fails(finding) => told.push_str(&format!("{finding}\n")),
            other => told.push_str(&format!("{other:?}\n")),
        }
        for note in notes {
            told.push_str(&format!("  note: {note}\n"));
        }
    }
    expected.assert_eq(&told);
}

#[test]
fn a_shared_object_comes_with_two_paths() {
    check_told(
        "
        root static:tree -> Tree#1
        root static:node -> Tree#2
        Tree#1 { left -> Tree#2, right -> Tree#3 }
        Tree#3 { left -> Tree#4, right -> Tree#4 }",
        "rule tree: unshared(Tree)",
        expect![[r#"
            error: `tree` does not hold [tree]
              static:node → Tree#2
              static:tree → Tree#1 .left → Tree#2
              static:tree → Tree#1 .right → Tree#3 .left → Tree#4
              static:tree → Tree#1 .right → Tree#3 .right → Tree#4
              note: Tree#2 was asserted unshared, and 2 references lead to it
              note: Tree#4 was asserted unshared, and 2 references lead to it
        "#]],
    );
}

#[test]
fn what_is_dead_or_owned_comes_with_a_path() {
    let heap = "
        root main -> Table#1, Entry#3
        root static:log -> Log#1
        Log#1.last -> Entry#4
        Table#1.first -> Entry#1
        Entry#1.next -> Entry#2";
    check_told(
        heap,
        "rule owned warning \"an entry got away\": owned_by(Table, Entry); rule gone: dead(Entry#4)",
        expect![[r#"
            warning: `owned` does not hold: an entry got away [owned]
              static:log → Log#1 .last → Entry#4
              thread:main[1] → Entry#3
              note: Entry#4 is reachable, but not through the object that was asserted to own it
              note: Entry#3 is reachable, but not through the object that was asserted to own it: only a stack slot holds it (drag)
            error: `gone` does not hold [gone]
              static:log → Log#1 .last → Entry#4
              note: Entry#4 was asserted dead and is reachable
        "#]],
    );
    check_told(
        "root main -> Entry#1
         Table#1.first -> Entry#1",
        "rule owned: owned_by(Table, Entry)",
        expect![[r#"
            error: `owned` does not hold [owned]
              thread:main[0] → Entry#1
              note: Entry#1 has outlived the object that was asserted to own it: only a stack slot holds it (drag)
        "#]],
    );
}

#[test]
fn surplus_instances_are_grouped_by_the_way_they_are_held() {
    check_told(
        "
        root main -> List#1, Node#9
        List#1.head -> Node#1
        Node#1.next -> Node#2
        Node#2.next -> Node#3",
        "rule few: instances(Node) <= 2; rule small: volume(Node) < 8 bytes",
        expect![[r#"
            error: `few` does not hold [few]
              2 held like this: thread:main[0] → List#1 .head → Node#1 .next → Node#2
              1 held like this: thread:main[1] → Node#9
              1 held like this: thread:main[0] → List#1 .head → Node#1
              note: 4 instances of Node live; the assertion allows 2
            error: `small` does not hold [small]
              2 held like this: thread:main[0] → List#1 .head → Node#1 .next → Node#2
              1 held like this: thread:main[1] → Node#9
              1 held like this: thread:main[0] → List#1 .head → Node#1
              note: instances of Node take 64 bytes; the assertion allows 7
        "#]],
    );
}

#[test]
fn values_that_the_heap_does_not_have_are_told() {
    check_told(
        "
        class Node { next ->, data: i32 }
        root main -> Node#1
        Node#1 { next -> Node#2, data = 1 }
        Node#2 { next -> null }",
        "assertion(forall Node x: !(x.data < 0)); forall Node x: !(x.data < 0)",
        expect![[r#"
            holds
              note: the heap does not have `x.data` of Node#2
            holds
              note: the heap does not have all values of `x.data < 0`
        "#]],
    );
}

/// The fingerprints of what a text finds on a heap.
fn known_by(heap: &str, text: &str) -> Vec<heaphound_heap::finding::Fingerprint> {
    let case = Case {
        name: "it",
        text: Box::leak(text.into()),
        holds: "",
        fails: "",
        binds: &[],
        values: &[],
        asker: None,
        shown: &[],
    };
    let all = judged(heap, &case).into_iter();
    let known = all.map(|it| match it.verdict {
        Verdict::Fails(finding) => finding.fingerprint(),
        other => panic!("{other:?}"),
    });
    known.collect()
}

#[test]
fn a_rule_is_known_by_its_name_or_its_text_and_not_by_what_breaks_it() {
    let one = "
        class Node { next ->, data: i32 }
        root main -> Node#1
        Node#1 { next -> null, data = 1 }";
    let more = "
        class Node { next ->, data: i32 }
        root main -> Node#1, Node#3
        root static:list -> Node#2
        Node#1 { next -> Node#4, data = 1 }
        Node#2 { next -> Node#4, data = 1 }
        Node#3 { next -> Node#2, data = 1 }
        Node#4 { next -> Node#1, data = 1 }";
    let rules = [
        // With objects and paths, and without.
        "assertion(forall Node x: x.data == 2)",
        "assertion(forall Node x: x.data == 3)",
        "assertion(exists Node x: x.data == 2)",
        "assertion(exists Node x: x.data == 3)",
        "forall Node x: exists Node y: x.data != y.data",
        "!(forall Node x: exists Node y: x.data == y.data)",
        "instances(Node) <= 0",
        "volume(Node) < 1 bytes",
        "rule few: instances(Node) <= 0",
        "rule fewer: instances(Node) < 1",
        "dead(Node)",
    ];
    let known: Vec<_> = rules.iter().map(|rule| known_by(one, rule)).collect();
    let apart: BTreeSet<_> = known.iter().collect();
    assert_eq!(apart.len(), rules.len());
    for (rule, known) in rules.iter().zip(&known) {
        assert_eq!(known_by(more, rule), *known, "{rule}");
        // Lines are no part of it, nor is what stands beside it.
        let broken = format!("dead(Node#1);\n{};\n", rule.replace(' ', "\n  "));
        assert_eq!(known_by(more, &broken)[1..], known[..], "{rule}");
    }
    // What is said in other words is the same rule if it has the same name.
    let few = known_by(one, "rule few: instances(Node) <= 0")[0];
    assert_eq!(known_by(one, "rule few: dead(Node)"), [few]);
}
