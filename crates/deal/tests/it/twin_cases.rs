//! The twin, pinned by hand: each case holds on one heap and fails on the other, for the
//! reasons that it says; and answers that are not verdicts.

use expect_test::{Expect, expect};
use heaphound_deal::check::{Scope, compile, constant};
use heaphound_deal::resolved::HostSource;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_testkit::deal::cases::{CASES, Case};
use heaphound_testkit::deal::twin::{Answer, Reason, World, evaluate, named};

#[test]
fn each_case_holds_on_one_heap_and_fails_on_the_other() {
    for case in CASES {
        let Case { name, .. } = case;
        let (holds, _) = verdict(case, case.holds);
        assert!(holds, "{name}: it ought to hold");
        let (holds, shown) = verdict(case, case.fails);
        assert!(!holds, "{name}: it ought to fail");
        assert_eq!(shown, case.shown, "{name}: what shows it");
    }
}

#[test]
fn names_of_cases_are_unique() {
    for (nth, case) in CASES.iter().enumerate() {
        assert!(CASES[..nth].iter().all(|it| it.name != case.name));
    }
}

fn verdict(case: &Case, heap: &str) -> (bool, Vec<String>) {
    let heap = read(heap);
    let bind = |name: &str| {
        let bound = case.binds.iter().find(|it| it.0 == name);
        bound.map(|it| it.1.to_string())
    };
    let names: Vec<&str> = case.binds.iter().map(|it| it.0).collect();
    match answer(&heap, case.text, (&names, case.values), &bind, case.asker) {
        Answer::Verdict(verdict) => {
            let all = verdict
                .shown
                .values()
                .chain([&verdict.overlap, &verdict.culprits]);
            let shown = all.flatten().map(|&it| heap.name_of(it));
            (verdict.holds, shown.collect())
        }
        other => panic!("{}: {other:?} is no verdict", case.name),
    }
}

fn read(text: &str) -> Snapshot {
    let heap = heaphound_snapshot::read(text.as_bytes(), "heap", &mut |_, _| {});
    heap.unwrap_or_else(|wrong| panic!("{wrong}\n{text}"))
}

fn answer(
    heap: &Snapshot,
    text: &str,
    (names, values): (&[&str], &[(&str, &str)]),
    bind: &dyn Fn(&str) -> Option<String>,
    asker: Option<&str>,
) -> Answer<ObjectId> {
    let by_name = |name: &str| heap.objects().find(|&it| heap.name_of(it) == name);
    let mut scope = Scope::new(heap.classes());
    for name in names {
        scope = scope.bind(name, None);
    }
    for (name, value) in values {
        scope = scope.bind_value(name, constant(value).expect("a value"));
    }
    let resolved = compile("case", text, &scope).unwrap_or_else(|wrong| panic!("{wrong}"));
    let world = World {
        view: heap,
        asker,
        host: &|source| match source {
            HostSource::Variable(name) => by_name(&bind(name)?),
            HostSource::Named(name) => named(heap, heap.objects(), name),
        },
        // Whatever is red is so by its label.
        label: &|object, label| heap.name_of(object).to_lowercase().contains(label),
    };
    let rule = resolved.rules.first().expect("there is a statement");
    evaluate(&world, &resolved, &rule.program)
}

/// What a text comes to on a heap, with objects by their names. `it` is null.
fn check(heap: &str, asker: Option<&str>, text: &str, expected: Expect) {
    let heap = read(heap);
    let answer = answer(&heap, text, (&["it"], &[]), &|_| None, asker);
    let mut shown = format!("{answer:?}");
    for object in heap.objects() {
        shown = shown.replace(&format!("{object:?}"), &heap.name_of(object));
    }
    expected.assert_eq(&shown);
}

const LIST: &str = r#"
    class Base { val: i32 }
    class Node : Base { next ->, real: f64, key: char, name ->, flag: bool, color: enum(red, green) }
    class Leaf : Base
    class Node[] { [] -> }
    class Bytes { []: u8 }
    class Str { text }
    root main -> Node#1
    root static:array -> Node[]#1
    root thread-object:main -> Leaf#1
    thread idle
    Node#1 { next -> Node#2, val = 3, real = 0.5, key = 'b', name -> Str#1, flag = true, color = red }
    Node#2 { next -> Node#3, val = -4, real = nan, key = 'a', name -> Str#2, flag = false, color = green }
    Node#3 { next -> null, val = 3, real = 2.0, key = 'c', name -> null, flag = true, color = green }
    Node[]#1 [ Node#1, null, Leaf#2 ]
    Leaf#1.val = 100
    Leaf#2.val = 7
    Str#1 "be"
    Str#2 "an"
    Bytes#1 [ 7, 255 ]
    Node#4 { next -> Node#1, val = 9 }
"#;

#[test]
fn queries_tell_objects_in_order_up_to_their_limit() {
    check(
        LIST,
        None,
        "query Node x",
        expect!["Told(Objects(3, [Node#1, Node#2, Node#3]))"],
    );
    check(
        LIST,
        None,
        "query Base x: x.val > 0 limit 2",
        expect!["Told(Objects(4, [Node#1, Node#3]))"],
    );
    check(
        LIST,
        None,
        "query Node x select count() limit 1",
        expect!["Told(Count(3))"],
    );
    // What is selected is dereferenced too.
    let text = "query Node x: x.flag || x.val < 0 select x.val, x.next.name, x.color limit 5";
    check(
        LIST,
        None,
        text,
        expect![[
            r#"Told(Values(2, [[Plain(Signed(3)), Object(Str#2), Plain(Variant("red"))], [Plain(Signed(-4)), Null, Plain(Variant("green"))]]))"#
        ]],
    );
}

#[test]
fn queries_fold_what_has_a_value() {
    check(
        LIST,
        None,
        "query Base x select sum(x.val)",
        expect!["Told(Sum(Exact(109)))"],
    );
    check(
        LIST,
        None,
        "query Node x: x.val > 0 select sum(x.real)",
        expect!["Told(Sum(Float(2.5)))"],
    );
    check(
        LIST,
        None,
        "query Node x select min(x.real)",
        expect!["Told(Extreme(Some(Plain(Float(0.5)))))"],
    );
    check(
        LIST,
        None,
        "query Node x select max(x.key)",
        expect!["Told(Extreme(Some(Plain(Char('c')))))"],
    );
    check(
        LIST,
        None,
        "query Node x select min(x.name)",
        expect!["Told(Extreme(Some(Object(Str#2))))"],
    );
    check(
        LIST,
        None,
        "query Node x: false select max(x.val)",
        expect!["Told(Extreme(None))"],
    );
}

#[test]
fn expressions_have_values_and_sets() {
    check(
        LIST,
        None,
        "num_of Base x: x.val == 3",
        expect!["Value(Plain(Unsigned(2)))"],
    );
    check(
        LIST,
        None,
        "static:array[2].val",
        expect!["Value(Plain(Signed(7)))"],
    );
    check(LIST, None, "static:array[1]", expect!["Value(Null)"]);
    check(
        LIST,
        None,
        "Bytes#1[1]",
        expect!["Value(Plain(Unsigned(255)))"],
    );
    check(LIST, None, "Bytes#1[2]", expect!["Value(Null)"]);
    check(
        LIST,
        None,
        "Str#1[0]",
        expect!["Value(Plain(Unsigned(98)))"],
    );
    check(
        LIST,
        None,
        "static:array.length",
        expect!["Value(Plain(Unsigned(3)))"],
    );
    check(
        LIST,
        None,
        "reach(static:array[0].next)",
        expect!["Set(Members { objects: {Node#2, Node#3, Str#2}, threads: {} })"],
    );
    check(
        LIST,
        None,
        "running() | {Node x | x.next == null}",
        expect!["Set(Members { objects: {Node#3, Leaf#1}, threads: {1} })"],
    );
    check(
        LIST,
        None,
        "stack(thread:main) & roots(thread:main)",
        expect!["Set(Members { objects: {Node#1}, threads: {} })"],
    );
    check(
        LIST,
        None,
        "pred(Node#1)",
        expect!["Set(Members { objects: {Node[]#1}, threads: {} })"],
    );
    check(
        LIST,
        None,
        "{Leaf x | dom(static:array, x)}",
        expect!["Set(Members { objects: {Leaf#2}, threads: {} })"],
    );
    check(
        LIST,
        None,
        "thread_reach(Node#3)",
        expect!["Set(Members { objects: {Leaf#1}, threads: {} })"],
    );
    check(
        LIST,
        None,
        r#"{Node x | x is "node#2"}"#,
        expect!["Set(Members { objects: {Node#2}, threads: {} })"],
    );
}

#[test]
fn some_questions_have_no_answer() {
    check(
        LIST,
        None,
        "is_thread_owned(Node#1)",
        expect!["Nothing(NobodyAsks)"],
    );
    check(
        LIST,
        None,
        "stack(thread:nobody)",
        expect![[r#"Nothing(UnknownThread("nobody"))"#]],
    );
    check(
        LIST,
        Some("idle"),
        "true || current_thread() == Node#1",
        expect![[r#"Nothing(NoThreadObject("idle"))"#]],
    );
    // A stack is a thread's, whether or not it has an object.
    check(
        LIST,
        Some("idle"),
        "stack(current_thread())",
        expect!["Set(Members { objects: {}, threads: {} })"],
    );
    check(
        LIST,
        Some("main"),
        "current_thread() == Leaf#1",
        expect!["Verdict(Verdict { holds: true, shown: {}, overlap: {}, culprits: {} })"],
    );
    check(
        LIST,
        None,
        "static:array[1].val == 0 || true",
        expect!["Nothing(Null)"],
    );
    check(
        LIST,
        None,
        "static:array.next == null",
        expect!["Nothing(Null)"],
    );
}

#[test]
fn null_is_in_no_set_and_leads_nowhere() {
    // The last node has no next.
    for text in [
        "it.next == null",
        "!(it.next in reach())",
        "reach(it.next).is_empty()",
        "pred(it.next).is_empty()",
        "!is_heap(it.next) && !is_shared(it.next) && !dom(it.next, it) && unique(it.next)",
        "!is_reachable(it.next, it.next)",
        "is_disjoint(it.next, Node#1) && is_unique_owner(it.next)",
        "reach_through(it.next, {}, Node#1)",
        "{it.next, Node#1} == {Node#1}",
        "stack(it.next).is_empty()",
        "!(it.next instanceof Node)",
    ] {
        let heap = read(LIST);
        let text = format!("exists Node it: it.next == null && ({text})");
        match answer(&heap, &text, (&[], &[]), &|_| None, None) {
            Answer::Verdict(verdict) => assert!(verdict.holds, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn what_is_asked_of_null_from_outside_has_no_answer() {
    for text in [
        "it in reach()",
        "reach(it).is_empty()",
        "pred(it).is_empty()",
        "is_disjoint(it, Node#1)",
        "{it, Node#1} == {Node#1}",
        "stack(it).is_empty()",
        "exists x: reach[it](x)",
        "forall x: reach[/it](x)",
        "assertion(forall x: reach[it](x) -> false)",
        "query x: reach[it](x)",
        "unshared(it)",
        "owned_by(it, Node)",
        "forall Node x: x.val == it.val",
        "exists Node x: x.val == it.val",
        "forall Node x: reach(it.next).has(x)",
        "(\\sum Node x; x in reach(it); x.val) == 0",
    ] {
        let heap = read(LIST);
        let answer = answer(&heap, text, (&["it"], &[]), &|_| None, None);
        assert_eq!(answer, Answer::Nothing(Reason::Null), "{text}");
    }
    for text in [
        "it == null",
        "forall x: x != it",
        "dead(it)",
        "!(it instanceof Node)",
    ] {
        let heap = read(LIST);
        match answer(&heap, text, (&["it"], &[]), &|_| None, None) {
            Answer::Verdict(verdict) => assert!(verdict.holds, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}
