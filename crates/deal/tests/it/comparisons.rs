//! What comparisons mean: an assertion, and the same formula as an expression, on heaps
//! in which not all is known, or of a kind.

use heaphound_deal::bind::Binder;
use heaphound_deal::check::{Scope, compile};
use heaphound_deal::evaluate::{Evaluation, Judged};
use heaphound_deal::verdict::Verdict;
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
    evaluation.seek_unknown().run()
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
    let missing = Verdict::Unanswered("there is no root `static:old`".into());
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
