//! Values that a heap does not have: a verdict that does not hang on them is the same whatever they are.

use std::fmt::Write;

use heaphound_deal::bind::Binder;
use heaphound_deal::check::{Scope, compile};
use heaphound_deal::evaluate::{Evaluation, Judged};
use heaphound_deal::verdict::Verdict;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;
use heaphound_testkit::cases::check;
use proptest::prelude::*;

/// Formulas about objects with a number, a truth and a text.
const FORMULAS: &[&str] = &[
    "forall Node x: x.data <= 1",
    "forall Node x: !(x.data > 1)",
    "exists Node x: x.data == 2",
    "!(exists Node x: x.data != 0)",
    "forall Node x: x.open -> x.data == 0",
    "exists Node x: x.open <-> x.data == 1",
    "forall Node x: x.name == \"a\" || x.data < 2",
    "exists Node x: x.name != \"b\" && !x.open",
    "forall Node x: x.next.data >= x.data",
    "(forall Node x: x.data < 2) && (exists Node x: x.open)",
    "(forall Node x: x.open) -> (exists Node x: x.name == \"a\")",
    "(exists Node x: x.data == 1) <-> (exists Node x: x.data == 2)",
    "(exists Node x: x.open) || (forall Node x: x.data == 0)",
    "forall Node x: x.data == d.data",
    "forall Node x: reach[d](x) -> x.data < 2",
    "exists Node x: reach[d](x) && x.open",
    "forall Node x: x.next == null || x.name == d.name",
];

type Values = (Option<u8>, Option<bool>, Option<bool>);

/// Writes a list of nodes. What is not known is taken from `instead`, if that is given.
fn heap_of(nodes: &[Values], instead: Option<&[(u8, bool, bool)]>) -> Snapshot {
    let mut text = String::from(
        "class Node { data: i32, open: bool, name ->, next -> }\nclass Str { text }\nroot static:list -> Node#1\n",
    );
    for (at, &(data, open, name)) in nodes.iter().enumerate() {
        let number = at + 1;
        let other = instead.map(|it| it[at]);
        let mut parts = vec![format!("name -> Str#{}", 100 + number)];
        if let Some(data) = data.or(other.map(|it| it.0)) {
            parts.push(format!("data = {data}"));
        }
        if let Some(open) = open.or(other.map(|it| it.1)) {
            parts.push(format!("open = {open}"));
        }
        if number < nodes.len() {
            parts.push(format!("next -> Node#{}", number + 1));
        }
        let _ = writeln!(text, "Node#{number} {{ {} }}", parts.join(", "));
        if let Some(is_a) = name.or(other.map(|it| it.2)) {
            let letter = if is_a { "a" } else { "b" };
            let _ = writeln!(text, "Str#{} \"{letter}\"", 100 + number);
        }
    }
    heaphound_snapshot::read(text.as_bytes(), "heap", &mut |_, _| {})
        .unwrap_or_else(|wrong| panic!("{wrong}\n{text}"))
}

fn judged(heap: &Snapshot, text: &str) -> Judged<ObjectId> {
    let scope = Scope::new(heap.classes()).bind("d", None);
    let resolved = compile("it", text, &scope).unwrap_or_else(|wrong| panic!("{wrong}"));
    let bindings = Binder::of(heap).variable("d", heap.find("Node", 1));
    let bindings = bindings.bind(&resolved).expect("all is bound");
    let evaluation = Evaluation::new(heap, &resolved, text, &bindings).threads(1);
    evaluation.note_unknown_values().run().remove(0)
}

#[test]
fn a_verdict_without_doubt_stays_whatever_is_not_known() {
    let values = (
        prop::option::weighted(0.8, 0..3u8),
        prop::option::weighted(0.8, any::<bool>()),
        prop::option::weighted(0.8, any::<bool>()),
    );
    let node = (values, (0..3u8, any::<bool>(), any::<bool>()));
    let cases = (prop::collection::vec(node, 1..5), 0..FORMULAS.len());
    check(2_000, &cases, |(nodes, formula)| {
        let (known, instead): (Vec<Values>, Vec<_>) = nodes.iter().copied().unzip();
        let (part, whole) = (heap_of(&known, None), heap_of(&known, Some(&instead)));
        let formula = FORMULAS[*formula];
        for text in [
            format!("assertion({formula})"),
            formula.replace("reach[d](x)", "reach(d).has(x)"),
        ] {
            let on_part = judged(&part, &text);
            let on_whole = judged(&whole, &text);
            prop_assert!(!on_whole.is_doubtful, "{text}: {:?}", on_whole.notes);
            if !on_part.is_doubtful {
                let holds = |it: &Judged<ObjectId>| it.verdict == Verdict::Holds;
                prop_assert_eq!(holds(&on_part), holds(&on_whole), "{}", text);
            }
        }
        Ok(())
    });
}

#[test]
fn objects_whose_values_are_known_decide() {
    let some = (Some(1), Some(true), Some(true));
    let none = (None, None, None);
    let heap = heap_of(&[some, none], None);
    for (text, is_doubtful) in [
        ("assertion(forall Node x: x.data > 0)", true),
        ("assertion(forall Node x: !(x.data <= 0))", true),
        ("assertion(forall Node x: x.data > 1)", false),
        ("assertion(exists Node x: x.name == \"a\")", false),
        ("assertion(exists Node x: x.name == \"b\")", true),
        ("assertion(forall Node x: x.name == \"a\")", true),
        ("assertion(!(forall Node x: x.open))", true),
        ("assertion(!(exists Node x: x.open))", false),
        ("d.data == 1", false),
        ("d.next.data == 1", true),
        ("forall Node x: x.data > 0", true),
        ("d.next.open", true),
        ("query Node x: x.data > 0", false),
    ] {
        let judged = judged(&heap, text);
        assert_eq!(judged.is_doubtful, is_doubtful, "{text}: {judged:?}");
    }
}
