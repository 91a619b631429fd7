//! Quantifiers inside others: an index finds what a loop in a loop would find, and sooner.

use std::time::{Duration, Instant};

use heaphound_deal::bind::Binder;
use heaphound_deal::check::{Scope, compile};
use heaphound_deal::datum::{compare_values, plain_key};
use heaphound_deal::expr::{Answer, Evaluated, Expression, Matching};
use heaphound_heap::Value;
use heaphound_heap::probe::Probes;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::HeapView;
use heaphound_testkit::cases::check;
use heaphound_testkit::deal::generate::{HOSTS, classes, heaps, scope};
use heaphound_testkit::deal::twin::{self, World};
use proptest::prelude::*;

/// Quantifiers in quantifiers, of which one is bounded, with the variable that an index finds.
const BOUNDED: &[(&str, &str)] = &[
    ("forall Node x: exists Node y: y.next == x", "y"),
    ("forall Node x: exists Node y: y.next == x || x == a", "y"),
    (
        "forall Node x: exists Node y: x == a || y.next == x || y.other == x",
        "y",
    ),
    ("forall x: forall y: x != y -> x.data != y.data", "y"),
    ("forall x: forall y: y.real != x.data || y == x", "y"),
    (
        "forall Node x: (num_of Node y: y.next == x && y.flag) <= 1",
        "y",
    ),
    (
        "exists Node x: (num_of y: x.data == y.data) > (num_of y: y.other == x)",
        "y",
    ),
    (
        "forall Node x: exists y: y == x.next && y.data == x.data",
        "y",
    ),
    ("exists x: exists y: x in pred(y) && y.data == 1", "y"),
    ("forall x: exists Node y: x in pred(y) || y.next == x", "y"),
    (
        "forall Node x: !(exists Node y: y.next == x && !(y.flag))",
        "y",
    ),
    (
        "{Node x | exists Node y: y.other == x.next && y.tag == x.tag}",
        "y",
    ),
    ("forall Node x: x.next in {Node y | y.other == x}", "y"),
    (
        "(\\sum Node x; exists Node y: y.data == x.real; x.data)",
        "y",
    ),
    (
        "forall Node x: (\\max Node y; y.data == x.data; y.real) == x.real",
        "y",
    ),
    (
        "exists x: exists Odd y: y.other == x.data && y.data != x",
        "y",
    ),
    (
        "exists Node x: exists Node y: exists Node z: y.next == x && z.next == y",
        "z",
    ),
    (
        "forall Node x: exists Node y; y.next == x; exists Node z: z.data == y.data && z.real == x.real",
        "z",
    ),
    (
        "forall Node x: exists y: y.tag == x.tag && (y.id == x.id || y == x)",
        "y",
    ),
    (
        "exists Node x: forall y: y.next == x.next -> y.data == x.data",
        "y",
    ),
    // What is said of `y` alone is asked before the index is made.
    (
        "forall Node x: !(exists Node y: y.data == x.data && y.real < 1 && !(y.flag))",
        "y",
    ),
    (
        "forall Node x: forall Node y: y.tag == x.tag && y.next.data > 0 -> y.flag",
        "y",
    ),
    (
        "exists Node x: (num_of y; y.data == x.data; y instanceof Node && y.next != null) > 1",
        "y",
    ),
    (
        "exists Node x: exists y: y in pred(x) && y.data == x.data",
        "y",
    ),
];

fn evaluate(
    heap: &Snapshot,
    text: &str,
    scope: &Scope<'_>,
    host: &dyn Fn(&str) -> Option<ObjectId>,
    label: &dyn Fn(ObjectId, &str) -> bool,
    matching: Matching,
) -> (Option<Evaluated<ObjectId>>, Vec<String>) {
    let resolved = compile("it", text, scope).unwrap_or_else(|it| panic!("{it}"));
    let mut binder = Binder::of(heap);
    for name in HOSTS {
        binder = binder.variable(name, host(name));
    }
    let bindings = binder.bind(&resolved).unwrap();
    let expression = Expression::of(&resolved, &resolved.rules[0], matching).unwrap();
    let probes = Probes::of(heap).threads(1);
    let evaluated = expression.evaluate_with(&probes, &bindings, &label);
    (evaluated.ok(), expression.explain().indexed)
}

#[test]
fn an_index_finds_what_a_loop_in_a_loop_finds() {
    let classes = classes();
    check(400, &heaps(), |plan| {
        let heap = plan.build();
        for (text, _) in BOUNDED {
            let evaluated = |matching| {
                let host = |name: &str| plan.host(name);
                let label = |object, label: &str| plan.label(object, label);
                evaluate(&heap, text, &scope(&classes), &host, &label, matching).0
            };
            let (by_index, as_written) =
                (evaluated(Matching::Probes), evaluated(Matching::AsWritten));
            let answer = |it: &Option<Evaluated<ObjectId>>| it.as_ref().map(|it| it.answer.clone());
            prop_assert_eq!(answer(&by_index), answer(&as_written), "{}", text);
            let resolved = compile("it", text, &scope(&classes)).unwrap();
            let world = World {
                view: &heap,
                asker: None,
                host: &|source| plan.source(&heap, source),
                label: &|object, label| plan.label(object, label),
            };
            let expected = twin::evaluate(&world, &resolved, &resolved.rules[0].program);
            let same = match (answer(&by_index), &expected) {
                (Some(Answer::Truth(truth)), twin::Answer::Verdict(it)) => truth == it.holds,
                (Some(Answer::Set(set)), twin::Answer::Set(expected)) => {
                    set.iter().eq(expected.objects.iter().copied())
                }
                (Some(Answer::Value(_)), twin::Answer::Value(_)) => true,
                (None, twin::Answer::Nothing(_)) => true,
                _ => false,
            };
            prop_assert!(same, "{}: {:?}, but {:?}", text, by_index, expected);
        }
        Ok(())
    });
}

/// More quantifiers in quantifiers, whose objects come from sets, references and values.
const LOOKED: &[&str] = &[
    "(num_of Node x: exists y: y in pred(x)) >= 0",
    "(num_of Node x: exists y: y in pred(x.next)) >= 0",
    "(num_of Node x: (num_of y: x.next in pred(y)) > 1) >= 0",
    "(num_of Node x: (num_of Node y: y in reach(x)) > 1) >= 0",
    "(num_of Node x: (num_of y: y in reach(x) & pred(x)) > 1) >= 0",
    "(num_of Node x: (num_of y: y in {x, x.next}) > 1) >= 0",
    "(num_of Node x: (num_of Node y: y.data == x.data && y.real < 0) > 1) >= 0",
    "(num_of Node x: (num_of Node y: y.data == x.data && y.real < x.real) > 1) >= 0",
    "(num_of x: (num_of y: y.data == x.data || x.flag) > 1) >= 0",
    "(num_of Node x: (num_of Node y: y.data == (num_of z: z.data == y.data && z == x.next)) > 1) >= 0",
    "(num_of Node x: (num_of Node y: (num_of Node z: z.data == y.data && z.real == x.real) > 1) > 1) >= 0",
];

#[test]
fn no_evaluation_looks_at_more_objects_than_were_announced() {
    let classes = classes();
    let scope = scope(&classes);
    let texts = BOUNDED
        .iter()
        .map(|(text, _)| *text)
        .chain(LOOKED.iter().copied());
    let all: Vec<_> = texts
        .map(|text| {
            (
                text,
                compile("it", text, &scope).unwrap_or_else(|it| panic!("{it}")),
            )
        })
        .collect();
    check(200, &heaps(), |plan| {
        let heap = plan.build();
        let objects: Vec<ObjectId> = heap.objects().collect();
        let probes = Probes::of(&heap).threads(1);
        for (text, resolved) in &all {
            let mut binder = Binder::of(&heap);
            for name in HOSTS {
                binder = binder.variable(name, plan.host(name));
            }
            let bindings = binder.bind(resolved).unwrap();
            let mut answers = Vec::new();
            for matching in [Matching::Probes, Matching::AsWritten] {
                let expression = Expression::of(resolved, &resolved.rules[0], matching).unwrap();
                let announced = expression.looks(&heap, &objects);
                let label = |object, label: &str| plan.label(object, label);
                let evaluated = expression.evaluate_with(&probes, &bindings, &label);
                let made = evaluated.as_ref().map_or(0, |it| it.looks);
                prop_assert!(made <= announced, "{}: {} of {}", text, made, announced);
                answers.push(evaluated.ok().map(|it| it.answer));
            }
            prop_assert_eq!(&answers[0], &answers[1], "{}", text);
        }
        Ok(())
    });
}

#[test]
fn equal_keys_are_looked_up_once() {
    let mut text = String::from("class Node { k: i64, v: i64 }\nclass List { }\n");
    let names: Vec<String> = (0..20_000).map(|node| format!("Node#{node}")).collect();
    text += &format!("root main -> {}\n", names.join(", "));
    for name in &names {
        text += &format!("{name} {{ k = 7, v = 1 }}\n");
    }
    let heap = heaphound_snapshot::read(text.as_bytes(), "keys", &mut |_, _| {}).unwrap();
    let objects: Vec<ObjectId> = heap.objects().collect();
    for (text, most) in [
        (
            "(num_of Node x: (num_of Node y: y.k == x.k && y.v < 9) > 1) == 20000",
            40_000,
        ),
        // The answers differ from object to object, as far as anybody knows.
        (
            "(num_of Node x: exists Node y: y.k == x.k && y != x) == 20000",
            400_020_000,
        ),
    ] {
        let resolved = compile("it", text, &Scope::new(heap.classes())).unwrap();
        let expression = Expression::of(&resolved, &resolved.rules[0], Matching::Probes).unwrap();
        assert_eq!(expression.looks(&heap, &objects), most, "{text}");
        let bindings = Binder::of(&heap).bind(&resolved).unwrap();
        let evaluated = expression.evaluate(&Probes::of(&heap).threads(1), &bindings);
        let evaluated = evaluated.unwrap();
        assert_eq!(evaluated.answer, Answer::Truth(true), "{text}");
        assert!(evaluated.looks <= 60_001, "{text}: {}", evaluated.looks);
    }
}

#[test]
fn an_explanation_says_what_an_index_finds() {
    let classes = classes();
    let heap = SnapshotBuilder::default().finish().unwrap();
    for (text, variable) in BOUNDED {
        let none = |_: &str| None;
        let label = |_, _: &str| false;
        let (_, indexed) = evaluate(
            &heap,
            text,
            &scope(&classes),
            &none,
            &label,
            Matching::Probes,
        );
        assert!(
            indexed.iter().any(|it| it == variable),
            "{text}: {indexed:?}"
        );
    }
}

#[test]
fn an_explanation_says_what_is_a_loop_in_a_loop() {
    // Five hundred values of `data`, each twice.
    let mut text = String::from("class Node { next ->, data: i64, flag: bool }\n");
    for node in 0..1_000 {
        text += &format!("Node#{node} {{ data = {}, flag = false }}\n", node / 2);
    }
    let heap = heaphound_snapshot::read(text.as_bytes(), "nodes", &mut |_, _| {}).unwrap();
    let objects: Vec<_> = heap.objects().collect();
    let scope = Scope::new(heap.classes());
    let explained = |text: &str| {
        let resolved = compile("it", text, &scope).unwrap();
        let expression = Expression::of(&resolved, &resolved.rules[0], Matching::Probes).unwrap();
        let looks = expression.looks(&heap, &objects);
        format!("{}; {looks}", expression.explain())
    };
    let text = "forall Node x: forall Node y: x.data < y.data || x == y";
    assert_eq!(
        explained(text),
        "evaluated as it is written: 1 traversal; a look at each object of `y` for each of `x`; 1001000"
    );
    let text = "forall Node x: forall Node y: x == y || x.data != y.data";
    assert_eq!(
        explained(text),
        "evaluated as it is written: 1 traversal; an index finds the objects of `y`; 3000"
    );
    // What does not depend on the outer variable is found out once.
    let text = "forall Node x: x.flag || (exists Node y: y.flag)";
    assert_eq!(
        explained(text),
        "evaluated as it is written: 1 traversal; 2000"
    );
}

fn list(length: usize) -> Snapshot {
    let mut text = String::from("class Node { next -> }\nroot static:list -> Node#1\n");
    for node in 1..length {
        text += &format!("Node#{node}.next -> Node#{}\n", node + 1);
    }
    heaphound_snapshot::read(text.as_bytes(), "list", &mut |_, _| {}).unwrap()
}

#[test]
fn twenty_thousand_objects_take_no_time() {
    let heap = list(20_000);
    for (text, holds) in [
        (
            "forall Node x: exists Node y: y.next == x || x == static:list",
            true,
        ),
        ("forall Node x: (num_of Node y: y.next == x) <= 1", true),
        (
            "forall Node x: forall Node y: x != y && x.next != null -> x.next != y.next",
            true,
        ),
        ("forall Node x: exists Node y: x in pred(y)", false),
        ("(num_of Node x: exists Node y: y == x.next) == 19999", true),
    ] {
        let scope = Scope::new(heap.classes());
        let resolved = compile("it", text, &scope).unwrap();
        let expression = Expression::of(&resolved, &resolved.rules[0], Matching::Probes).unwrap();
        let bindings = Binder::of(&heap).bind(&resolved).unwrap();
        let start = Instant::now();
        let evaluated = expression.evaluate(&Probes::of(&heap).threads(1), &bindings);
        assert_eq!(evaluated.unwrap().answer, Answer::Truth(holds), "{text}");
        // A loop in a loop takes more than ten seconds.
        let taken = start.elapsed();
        assert!(taken < Duration::from_secs(3), "{text}: {taken:?}");
        println!("{taken:?} {text}");
    }
}

#[test]
fn plain_values_have_one_key_if_and_only_if_they_are_equal() {
    let numbers = [
        0.0,
        -0.0,
        1.0,
        0.5,
        -3.0,
        9.007199254740992e15,
        1e19,
        1e30,
        2e30,
        f64::INFINITY,
        f64::NAN,
    ];
    let mut all: Vec<Value> = numbers.into_iter().map(Value::Float).collect();
    all.extend([0, 1, 3, 1 << 53, (1 << 53) + 1, u64::MAX].map(Value::Unsigned));
    all.extend([0, 1, -3, i64::MIN, 1 << 53].map(Value::Signed));
    all.extend([
        Value::Bool(true),
        Value::Bool(false),
        Value::Char('a'),
        Value::Char('\0'),
    ]);
    all.extend([Value::Variant("open"), Value::Variant("shut")]);
    for &a in &all {
        for &b in &all {
            let equal = compare_values(a, b).is_some_and(|it| it.is_eq());
            let same = plain_key(a).is_some() && plain_key(a) == plain_key(b);
            assert_eq!(equal, same, "{a:?} and {b:?}");
        }
    }
}
