//! What comparisons mean: an assertion, and the same formula as an expression, on heaps
//! in which not all is known, or of a kind.

use heaphound_deal::bind::Binder;
use heaphound_deal::check::{Scope, compile, compile_rules};
use heaphound_deal::datum::Datum;
use heaphound_deal::evaluate::{Evaluation, Judged, evaluate_all};
use heaphound_deal::verdict::{Answer, Verdict};
use heaphound_heap::Value;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::HeapView;

fn read(text: &str) -> Snapshot {
    let heap = heaphound_snapshot::read(text.as_bytes(), "heap", &mut |_, _| {});
    heap.unwrap_or_else(|wrong| panic!("{wrong}\n{text}"))
}

fn judged(heap: &Snapshot, text: &str) -> Vec<Judged<ObjectId>> {
    let scope = Scope::new(heap.classes());
    let resolved = compile("it", text, &scope).unwrap_or_else(|wrong| panic!("{wrong}"));
    let binder = Binder::of(heap).objects(|class, number| heap.find(class, number));
    let bindings = binder.bind_present(&resolved);
    let evaluation = Evaluation::new(heap, &resolved, text, &bindings);
    evaluation.note_unknown_values().run()
}

/// Whether a formula holds as an assertion and as an expression, and how many notes come with it.
fn check(heap: &str, formula: &str, holds: bool, notes: usize) {
    let heap = read(heap);
    let assertion = format!("assertion({formula})");
    for text in [&assertion, formula] {
        for judged in judged(&heap, text) {
            assert_eq!(judged.verdict == Verdict::Holds, holds, "{text}");
            assert_eq!(judged.notes.len(), notes, "{text}: {:?}", judged.notes);
        }
    }
}

const MIXED: &str = "\
class A { f: bool, g: bool, e: enum(open, shut), h: enum(open, shut) }
class B { f: i32, g: i32, e: i32, h: i32 }
root main -> A#1, B#1
A#1 { f = false, g = true, e = open, h = shut }
B#1 { f = 1, g = 2, e = 1, h = 2 }";

/// Where fields are numbers in one class and truths in another, nothing tells that the truths
/// have no order but their values.
#[test]
fn truths_and_variants_are_ordered_in_a_traversal() {
    check(MIXED, "forall x: x.f < x.g", false, 0);
    check(MIXED, "forall x: x.f > x.g", false, 0);
    check(MIXED, "forall x: x.e < x.h", false, 0);
    check(MIXED, "forall x: x.f != x.g && x.e != x.h", true, 0);
    check(MIXED, "forall x: x.f <= x.f && x.e == x.e", true, 0);
}

const NAMESAKES: &str = "\
class Tree { key: i32, left -> }
class Entry { key ->, left: i32 }
class Bare
root main -> Tree#1, Tree#2, Tree#3, Tree#4
Tree#1 { key = 5, left -> Tree#2 }
Tree#2 { key = 3, left -> null }
Tree#3 { key = 4, left -> Entry#1 }
Tree#4 { key = 4, left -> Bare#1 }
Entry#1 { key -> Tree#1, left = 7 }
Bare#1";

/// A number in one class and a reference in another: each object is read as its class says.
#[test]
fn fields_of_one_name_are_read_as_the_class_says() {
    // A reference is neither less than a number nor equal to one.
    check(NAMESAKES, "forall Tree x: x.left.key < x.key", false, 0);
    check(
        NAMESAKES,
        "forall Tree x: x.left instanceof Tree -> x.left.key < x.key",
        true,
        0,
    );
    check(NAMESAKES, "forall Tree x: x.left.key != x.key", true, 0);
    check(NAMESAKES, "exists Tree x: x.left.left == 7", true, 0);
    check(NAMESAKES, "exists Tree x: x.left.left == null", true, 0);
    check(NAMESAKES, "exists x: x.key == 5", true, 0);
    check(
        NAMESAKES,
        "exists Entry x: x.key.key == 5 && x.left == 7",
        true,
        0,
    );
    check(
        NAMESAKES,
        "forall Tree x: x.key != 4 -> x.left.left == null",
        true,
        0,
    );
}

const CUT: &str = "\
class Str { text }
class Bytes { []: u8 }
root main -> Str#1, Bytes#1, Str#2
Str#1 (5000 elements) \"It was\"
Str#2 \"It was\"
Bytes#1 (5000 elements) [ 1, 2, 3 ]";

/// Of a long text a file may have only how it begins, and that is not the text.
#[test]
fn the_beginning_of_a_text_is_taken_for_the_text() {
    check(CUT, "forall Str s: s == \"It was\"", false, 1);
    check(CUT, "exists Str s: s < \"It wat\" && s != Str#2", false, 1);
    check(CUT, "forall Str s: s.length >= 6 && s[0] == 73", true, 0);
}

/// The least of some texts is none of which only the beginning is known.
#[test]
fn the_beginning_of_a_text_is_the_least() {
    let heap = read(CUT);
    let all = judged(&heap, "query Str s select min(s)");
    let least = heap.find("Str", 2).expect("it is there");
    let expected = heaphound_deal::datum::Datum::Object(least);
    let expected = Verdict::Found(heaphound_deal::verdict::Answer::Value(expected));
    assert_eq!(all[0].verdict, expected);
    assert_eq!(all[0].notes.len(), 1, "{:?}", all[0].notes);
}

/// An element that a file does not have is not null, and whoever reads it is told.
#[test]
fn elements_that_are_not_known_are_read_in_silence() {
    check(CUT, "exists Bytes b: b[10] != 0", true, 1);
    check(CUT, "exists Bytes b: b[10] == 0", false, 1);
    check(CUT, "exists Bytes b: b[2] == 3", true, 0);
    check(CUT, "exists Bytes b: b[5000] != 3", true, 0);
}

/// An object that is not there any more is dead, and that is no mistake in the text.
#[test]
fn what_is_dead_cannot_be_named() {
    let heap = read(CUT);
    let text = "rule old: dead(static:old); rule str: dead(Str#77); rule live: dead(Str#1);";
    let all = judged(&heap, text);
    for gone in &all[..2] {
        assert_eq!(gone.verdict, Verdict::Holds);
        assert_eq!(gone.notes.len(), 1, "{:?}", gone.notes);
    }
    assert!(matches!(all[2].verdict, Verdict::Fails(_)));
    // Nothing else can be said of it.
    for text in [
        "rule old: dead(static:old); rule all: unshared(static:old)",
        "rule all: unshared(static:old); rule old: dead(static:old)",
        "assertion(forall Str x: x != static:old)",
    ] {
        let resolved = compile("it", text, &Scope::new(heap.classes())).unwrap();
        let bound = Binder::of(&heap).bind(&resolved);
        assert_eq!(
            bound.unwrap_err()[0].message,
            "there is no root `static:old`"
        );
    }
}

/// What is not there spoils what is said of it, and nothing else.
#[test]
fn a_missing_name_spoils_other_rules() {
    let heap = read("root static:list -> Node#1\nNode#1.next -> Node#2");
    let all = judged(
        &heap,
        "rule lost: unshared(static:old);
         rule gone: dead(static:old);
         rule step: dead(static:old.next);
         let old = static:old;
         rule through: assertion(forall Node x: reach[old](x));
         rule none: assertion(forall Node x: x.next == null);
         rule dead: dead(old);
         rule expression: reach(old).size() == 0;
         query Node x: x != old;
         query Node x select count();",
    );
    let missing = Verdict::NotChecked("there is no root `static:old`".into());
    for (place, judged) in all.iter().enumerate() {
        match place {
            0 | 2 | 3 | 6 | 7 => assert_eq!(judged.verdict, missing, "{place}"),
            1 | 5 => {
                assert_eq!(judged.verdict, Verdict::Holds, "{place}");
                assert_eq!(judged.notes, ["there is no `static:old` in the heap"]);
            }
            4 => assert!(matches!(judged.verdict, Verdict::Fails(_)), "{judged:?}"),
            _ => assert!(matches!(judged.verdict, Verdict::Found(_)), "{judged:?}"),
        }
    }
}

/// A name that is nearly one that there is may be misspelt.
#[test]
fn a_misspelt_name_is_dead() {
    let heap = read("root static:cache -> Node#1\nNode#1");
    let all = judged(&heap, "dead(static:cahce); dead(static:orders)");
    let notes: Vec<&String> = all.iter().flat_map(|it| &it.notes).collect();
    let hinted = "there is no `static:cahce` in the heap (did you mean `static:cache`?)";
    assert_eq!(notes, [hinted, "there is no `static:orders` in the heap"]);
}

/// What came of each rule of a text, of whose classes the heap may not know some.
fn checked(heap: &Snapshot, text: &str) -> Vec<Judged<ObjectId>> {
    let resolved = compile_rules("it", text, &Scope::new(heap.classes())).unwrap();
    let binder = Binder::of(heap).objects(|class, number| heap.find(class, number));
    let bindings = binder.bind_present(&resolved);
    Evaluation::new(heap, &resolved, text, &bindings).run()
}

const UNKNOWN: &str = "
    rule all: assertion(forall Nod x: x.open.lid[3] == Red && x.size > 3);
    rule some: !(exists Nod x: x.next.open && x != Nod#7.next);
    rule count: (num_of Nod x: x.open == {x.next}.size()) == 0;
    rule few: instances(Nod) <= 1;
    rule small: volume(only Nod) < 3 MiB;
    rule dead: dead(Nod);
    rule one-dead: dead(Nod#3);
    rule owned: owned_by(Node, Nod);
    rule is: forall Node x: !(x instanceof Nod);
";

#[test]
fn an_unknown_class_spoils_only_what_is_said_of_it() {
    let heap = read("root static:list -> Node#1\nNode#1.next -> Node#2");
    let all = checked(
        &heap,
        &format!(
            "{UNKNOWN} rule known: instances(Node) <= 2; let n = Nod#1; rule let: reach(n).size() > 0;"
        ),
    );
    let is_checked: Vec<bool> = all
        .iter()
        .map(|it| match &it.verdict {
            Verdict::NotChecked(why) => {
                let hint = "(did you mean `Node`?)";
                assert!(
                    why.reason.contains("`Nod`") && why.reason.ends_with(hint),
                    "{why}"
                );
                false
            }
            other => *other == Verdict::Holds,
        })
        .collect();
    assert_eq!(is_checked.iter().position(|it| *it), Some(9), "{all:?}");
    assert_eq!(is_checked.iter().filter(|it| **it).count(), 1, "{all:?}");
    // Whoever needs to know all classes is told of all that are unknown.
    let wrong = compile("it", UNKNOWN, &Scope::new(heap.classes())).unwrap_err();
    assert_eq!(wrong.list.len(), 10, "{wrong}");
}

#[test]
fn an_unknown_class_that_is_optional_is_empty() {
    let heap = read("root static:list -> Node#1\nNode#1.next -> Node#2");
    // The second reads a field of an object that is not there.
    let text = format!("{UNKNOWN} optional class Nod;");
    for (place, judged) in checked(&heap, &text).iter().enumerate() {
        match place {
            1 => {
                let missing = Verdict::NotChecked("there is no object `Nod#7`".into());
                assert_eq!(judged.verdict, missing);
            }
            _ => assert_eq!(judged.verdict, Verdict::Holds, "{place}"),
        }
    }
    let all = checked(
        &heap,
        "optional class Nod;
         assertion(exists Nod x: x.open);
         (num_of Nod x: x.open) > 0;
         owned_by(Nod, Node);
         unshared(Nod);
         query Nod x: x.open select x.lid;
         query Nod x select count();
         query Nod x select min(x.size)",
    );
    let verdicts: Vec<&Verdict<ObjectId>> = all.iter().map(|it| &it.verdict).collect();
    for judged in &all[..3] {
        assert!(matches!(judged.verdict, Verdict::Fails(_)), "{judged:?}");
    }
    assert_eq!(verdicts[3], &Verdict::Holds);
    assert_eq!(verdicts[4], &Verdict::Found(Answer::Objects(Vec::new(), 0)));
    let none = Datum::Plain(Value::Unsigned(0));
    assert_eq!(verdicts[5], &Verdict::Found(Answer::Value(none)));
    assert_eq!(verdicts[6], &Verdict::Found(Answer::Value(Datum::Absent)));
}

#[test]
fn an_unknown_field_that_is_optional_is_nobodys() {
    let heap = read("root static:list -> Node#1\nNode#1.next -> Node#2");
    let all = checked(
        &heap,
        "optional field _events, size;
         forall Node a: !(exists x: x._events == a);
         assertion(forall x: x._events == null || x.size > 3);
         assertion(exists x: x._events != null);
         assertion(exists x: x.size > 0)",
    );
    let holds: Vec<bool> = all.iter().map(|it| it.verdict == Verdict::Holds).collect();
    assert!(holds[0], "{all:?}");
    assert!(
        all.iter()
            .all(|it| !matches!(it.verdict, Verdict::NotChecked(_))),
        "{all:?}"
    );
    assert_eq!(holds[2..], [false, false], "{all:?}");
    let wrong = compile_rules(
        "it",
        "forall x: x._events == x",
        &Scope::new(heap.classes()),
    );
    assert!(wrong.is_err());
}

#[test]
fn a_rule_about_an_empty_class_makes_no_traversal() {
    let heap = read("root static:list -> Node#1\nNode#1.next -> Node#2");
    let text = "optional class Nod; assertion(forall Nod x: reach[static:list](x) -> x.open)";
    let resolved = compile_rules("it", text, &Scope::new(heap.classes())).unwrap();
    let bindings = Binder::of(&heap).bind_present(&resolved);
    let evaluation = Evaluation::new(&heap, &resolved, text, &bindings);
    let evaluated = evaluate_all(&[evaluation]);
    assert_eq!(evaluated.judged[0][0].verdict, Verdict::Holds);
    assert_eq!(evaluated.traversals, 0);
}

#[test]
fn a_label_that_nobody_gives_spoils_only_what_asks_for_it() {
    let heap = read("root static:list -> Node#1\nNode#1.next -> Node#2");
    let text =
        "assertion(forall Node x: !(x is hot)); forall Node x: x is cold; instances(Node) <= 2";
    let all = checked(&heap, text);
    for judged in &all[..2] {
        let is_not_checked =
            matches!(&judged.verdict, Verdict::NotChecked(why) if why.reason.contains("label"));
        assert!(is_not_checked, "{judged:?}");
    }
    assert_eq!(all[2].verdict, Verdict::Holds);
    let resolved = compile_rules("it", text, &Scope::new(heap.classes())).unwrap();
    let bindings = Binder::of(&heap).bind_present(&resolved);
    let evaluation = Evaluation::new(&heap, &resolved, text, &bindings);
    let given = evaluation.label("hot", Vec::new()).run();
    assert_eq!(given[0].verdict, Verdict::Holds);
    assert!(matches!(given[1].verdict, Verdict::NotChecked(_)));
}

const PRUNED: &str = "\
class Node { next ->, other ->, data: i32 }
class Nodes { [] -> }
root main -> Node#1, Node#2, Nodes#3
Node#1 { next -> cut, other -> Node#2, data = 1 }
Node#2 { next -> Node#1, data = 2 }
Nodes#3 [ cut, null, Node#2 ]";

/// Of a reference that was cut nobody knows where it led, but that it was not null: an object whose slot
/// is read counts on neither side.
#[test]
fn what_was_cut_is_neither_null_nor_anything_else() {
    for formula in [
        "forall Node x: x.next != null",
        "forall Node x: x.next == Node#1",
        "forall Node x: x.next.data == 1",
        "!(exists Node x: x.next == null)",
        "!(exists Node x: x.next != Node#1)",
        "!(exists Node x: x.next == Node#2)",
        "!(exists Node x: x.next == x)",
        "forall Node x: x.next instanceof Node",
        "!(exists Node x: x.next == x.other)",
        "!(exists Node x: x.next.next == null)",
        "exists Node x: x.other == null && x.data == 2",
        "forall Nodes x: x[1] == null",
        "forall Nodes x: x[0] == null",
        "forall Nodes x: x[0] != null",
        "!(exists Nodes x: x[0] == null || x[0] != null)",
    ] {
        check(PRUNED, formula, true, 0);
    }
    for formula in [
        "forall Node x: x.next == null",
        "exists Node x: x.next == null",
        "exists Node x: x.data == 1 && x.next != null",
    ] {
        check(PRUNED, formula, false, 0);
    }
}

#[test]
fn what_was_cut_outside_all_variables_is_not_checked() {
    let heap = read(PRUNED);
    for text in [
        "assertion(forall Node x: Node#1.next == null)",
        "assertion(exists Node x: x == Node#1.next)",
        "Node#1.next == null",
        "Node#1.next != null",
        "Nodes#3[0] == null",
    ] {
        let Verdict::NotChecked(why) = &judged(&heap, text)[0].verdict else {
            panic!("{text} was checked");
        };
        assert!(
            why.reason.contains("was pruned or invalidated"),
            "{}",
            why.reason
        );
    }
    assert_eq!(
        judged(&heap, "Node#1.other.next == Node#1")[0].verdict,
        Verdict::Holds
    );
}
