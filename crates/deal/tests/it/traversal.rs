//! Assertions and queries in one traversal, held against their definitions: random texts about
//! random heaps, compiled and interpreted, on one thread and on four.
//!
//! `HEAPHOUND_CASES` multiplies their number.

use std::collections::{BTreeMap, BTreeSet};

use heaphound_deal::bind::Binder;
use heaphound_deal::check::{Scope, compile};
use heaphound_deal::datum::Datum;
use heaphound_deal::evaluate::{Evaluated, Evaluation, evaluate_all};
use heaphound_deal::plan::Plans;
use heaphound_deal::resolved::{Resolved, Statement};
use heaphound_deal::traverse::{Outcome, Setting, Texts, Traversal};
use heaphound_deal::verdict::{self, Verdict, judge};
use heaphound_heap::probe::Probes;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{Root, RootKind, Value};
use heaphound_testkit::cases::check;
use heaphound_testkit::deal::generate::{
    HOSTS, HeapPlan, Kind, LABELS, classes, heaps, scope, texts,
};
use heaphound_testkit::deal::twin::{Answer, Item, Reason, Sum, Told, World, evaluate};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

/// The ways in which a plan can be run.
#[derive(Clone, Copy, Debug)]
struct Way {
    threads: usize,
    interpret: bool,
    /// Whether sources are said to be perhaps dead though they live.
    careful: bool,
}

const fn way(threads: usize, interpret: bool, careful: bool) -> Way {
    Way {
        threads,
        interpret,
        careful,
    }
}

const WAYS: [Way; 5] = [
    way(1, false, false),
    way(1, true, false),
    way(4, false, false),
    way(4, true, false),
    way(1, false, true),
];

/// Runs `f` with what a text needs to run on a heap.
fn with_setting<R>(
    heap: &Snapshot,
    plan: &HeapPlan,
    text: &str,
    way: Way,
    f: impl FnOnce(&Texts<'_, '_, Snapshot>, &Traversal<ObjectId>) -> R,
) -> Option<R> {
    let classes = classes();
    let resolved = compile("it", text, &scope(&classes)).expect("texts are well typed");
    let hosts: Vec<Option<ObjectId>> = resolved
        .hosts
        .iter()
        .map(|host| plan.source(heap, &host.source))
        .collect();
    let labelled: Vec<Vec<ObjectId>> = resolved
        .labels
        .iter()
        .map(|label| heap.objects().filter(|it| plan.label(*it, label)).collect())
        .collect();
    let live = Probes::of(heap).reach_all();
    let setting = Setting {
        view: heap,
        resolved: &resolved,
        hosts: &hosts,
        labelled: &labelled,
        asker: None,
        threads: way.threads,
        interpret: way.interpret,
        sources_live: !way.careful && hosts.iter().flatten().all(|it| live.contains(*it)),
    };
    let texts = Texts::new(std::slice::from_ref(&setting));
    let traversals = texts.share(&[Plans::new(&resolved)]);
    Some(f(&texts, traversals.first()?))
}

fn ask(heap: &Snapshot, plan: &HeapPlan, text: &str) -> Answer<ObjectId> {
    let classes = classes();
    let resolved = compile("it", text, &scope(&classes)).expect("texts are well typed");
    let world = World {
        view: heap,
        asker: None,
        host: &|source| plan.source(heap, source),
        label: &|object, label| plan.label(object, label),
    };
    evaluate(&world, &resolved, &resolved.rules[0].program)
}

#[test]
fn assertions_are_what_their_definitions_say() {
    check(1_000, &(heaps(), texts(Kind::Assertion)), |(plan, text)| {
        let heap = plan.build();
        let expected = ask(&heap, plan, text);
        for way in WAYS {
            with_setting(&heap, plan, text, way, |texts, traversal| {
                compare(texts, traversal, text, &expected, way)
            })
            .expect("an assertion is a traversal")?;
        }
        Ok(())
    });
}

fn compare(
    texts: &Texts<'_, '_, Snapshot>,
    traversal: &Traversal<ObjectId>,
    text: &str,
    expected: &Answer<ObjectId>,
    way: Way,
) -> TestCaseResult {
    let classes = classes();
    let resolved = compile("it", text, &scope(&classes)).expect("texts are well typed");
    let program = &resolved.rules[0].program;
    let decided = &texts.run(traversal, &[0], false)[0];
    let collected = &texts.run(traversal, &[0], true)[0];
    let verdict = match expected {
        Answer::Verdict(verdict) => verdict,
        Answer::Nothing(Reason::Null) => {
            prop_assert_eq!(decided.holds(program), None, "{} {:?}", text, way);
            return Ok(());
        }
        _ => return Ok(()),
    };
    let holds = Some(verdict.holds);
    prop_assert_eq!(decided.holds(program), holds, "{} {:?}", text, way);
    prop_assert_eq!(collected.holds(program), holds, "{} {:?}", text, way);
    let Statement::Assertion(kind, _) = &program.statement else {
        unreachable!("only assertions are asked");
    };
    let is_disjoint = *kind == heaphound_deal::syntax::AssertionKind::Disjoint;
    if is_disjoint {
        let overlap: BTreeSet<ObjectId> = texts.overlap(traversal).into_iter().collect();
        prop_assert_eq!(decided.overlaps, !overlap.is_empty());
        prop_assert_eq!(&overlap, &verdict.overlap, "{} {:?}", text, way);
    }
    if !(is_disjoint && collected.overlaps) {
        prop_assert_eq!(
            shown(collected),
            verdict.shown.clone(),
            "{} {:?}",
            text,
            way
        );
    }
    let outcomes = texts.decide(traversal, |_| false);
    match &judge(texts, &[text], traversal, &outcomes, None)[0] {
        Verdict::Holds => prop_assert!(verdict.holds),
        Verdict::Fails(finding) => {
            prop_assert!(!verdict.holds && !finding.notes.is_empty());
        }
        other => prop_assert!(false, "{:?}", other),
    }
    Ok(())
}

fn shown(outcome: &Outcome<ObjectId>) -> BTreeMap<u32, BTreeSet<ObjectId>> {
    let found = outcome.found.iter().enumerate();
    found
        .map(|(number, objects)| (number as u32, objects.iter().copied().collect()))
        .collect()
}

/// What some texts come to together.
fn evaluate_texts(heap: &Snapshot, texts: &[&str]) -> Evaluated<ObjectId> {
    let scope = Scope::new(heap.classes());
    let resolved = texts.iter().map(|it| compile("it", it, &scope).unwrap());
    let resolved: Vec<Resolved> = resolved.collect();
    let binder = Binder::of(heap);
    let bindings: Vec<_> = resolved.iter().map(|it| binder.bind_present(it)).collect();
    let each = texts.iter().zip(&resolved).zip(&bindings);
    let evaluations: Vec<_> = each
        .map(|((text, resolved), bindings)| Evaluation::new(heap, resolved, text, bindings))
        .collect();
    evaluate_all(&evaluations)
}

/// What some texts come to is the same whether they are evaluated one by one or all at once, and
/// all at once takes no more traversals.
#[test]
fn texts_that_share_traversals_come_to_what_each_comes_to_alone() {
    let text = || prop_oneof![3 => texts(Kind::Assertion), 1 => texts(Kind::Query)];
    let drawn = (heaps(), proptest::collection::vec(text(), 1..6), 1..3usize);
    check(300, &drawn, |(plan, texts, threads)| {
        let heap = plan.build();
        let classes = classes();
        let scope = scope(&classes);
        let resolved = texts.iter();
        let resolved = resolved.map(|it| compile("it", it, &scope).expect("it is well typed"));
        let resolved: Vec<Resolved> = resolved.collect();
        let mut binder = Binder::of(&heap).objects(|class, number| heap.find(class, number));
        for host in HOSTS {
            binder = binder.variable(host, plan.host(host));
        }
        let bindings: Vec<_> = resolved.iter().map(|it| binder.bind_present(it)).collect();
        let each = texts.iter().zip(&resolved).zip(&bindings);
        let evaluations = each.map(|((text, resolved), bindings)| {
            let evaluation = Evaluation::new(&heap, resolved, text, bindings);
            let evaluation = evaluation.threads(*threads);
            LABELS.iter().fold(evaluation, |evaluation, label| {
                let objects = heap.objects().filter(|it| plan.label(*it, label));
                evaluation.label(label, objects.collect())
            })
        });
        let evaluations: Vec<Evaluation<'_, Snapshot>> = evaluations.collect();
        let together = evaluate_all(&evaluations);
        let mut traversals = 0;
        for (evaluation, judged) in evaluations.iter().zip(&together.judged) {
            let alone = evaluate_all(std::slice::from_ref(evaluation));
            traversals += alone.traversals;
            // As text, for a sum may be NaN, which equals nothing.
            prop_assert_eq!(format!("{judged:?}"), format!("{:?}", alone.judged[0]));
        }
        prop_assert!(together.traversals <= traversals);
        Ok(())
    });
}

#[test]
fn texts_whose_relations_lead_to_the_same_objects_make_one_traversal() {
    let mut builder = SnapshotBuilder::default();
    let class = builder.add_class("Node", None, &["next"]);
    let [last, other, first] = [(); 3].map(|()| builder.add_object(class, 16));
    builder.add_edge(Place::Field(0), last);
    builder.add_root(Root::new(RootKind::Static, "list"), first);
    builder.add_root(Root::new(RootKind::Static, "same"), first);
    builder.add_root(Root::new(RootKind::Static, "other"), other);
    let heap = builder.finish().unwrap();
    let count = |texts: &[&str]| {
        let evaluated = evaluate_texts(&heap, texts);
        let all = evaluated.judged.iter().flatten();
        assert!(all.into_iter().all(|it| it.verdict == Verdict::Holds));
        evaluated.traversals
    };
    let list = "assertion(forall Node x: reach[static:list](x) -> x != static:other)";
    let same = "let d = static:same; assertion(forall Node x: reach[d](x) -> x != static:other)";
    let other = "assertion(forall Node x: reach[static:other](x) -> x.next == null)";
    let less = "assertion(forall Node x: reach[static:list/static:other](x) -> x != static:other)";
    let none = "assertion(forall Node x: x.next != x); assertion(exists Node x: x.next != null)";
    assert_eq!(count(&[none]), 1);
    assert_eq!(count(&[none, none, none]), 1);
    assert_eq!(count(&[none, list, same, none]), 1);
    assert_eq!(count(&[list, other, none]), 2);
    assert_eq!(count(&[list, less]), 2);
    assert_eq!(
        count(&["assertDisjoint(forall x: reach[static:list](x) || reach[static:other](x))"]),
        1
    );
    assert_eq!(count(&[]), 0);
}

#[test]
fn what_breaks_a_forall_is_found_at_once() {
    let mut builder = SnapshotBuilder::default();
    let class = builder.add_class("Node", None, &["next"]);
    let [last, first] = [(); 2].map(|()| builder.add_object(class, 16));
    builder.add_edge(Place::Field(0), last);
    builder.add_root(Root::new(RootKind::Static, "list"), first);
    let heap = builder.finish().unwrap();
    let check = |text: &str| {
        let evaluated = evaluate_texts(&heap, &[text]);
        let found = evaluated.judged[0].iter().map(|it| match &it.verdict {
            Verdict::Holds => 0,
            Verdict::Fails(finding) => finding.objects.len(),
            other => panic!("{other:?}"),
        });
        (found.collect::<Vec<_>>(), evaluated.traversals)
    };
    let fails = "assertion(forall Node x: x.next != null);";
    let holds = "assertion(exists Node x: x.next == null);";
    assert_eq!(check(fails), (vec![1], 1));
    assert_eq!(check(&[holds, fails].concat()), (vec![0, 1], 1));
    assert_eq!(
        check("assertion(exists Node x: x.next == x);"),
        (vec![0], 1)
    );
    // What exists and ought not to.
    let not = "assertion(!(exists Node x: x.next == null));";
    assert_eq!(check(not), (vec![1], 2));
    assert_eq!(check(&[fails, not].concat()), (vec![1, 1], 2));
}

/// A rule that asks for no relation shares a traversal with one that does. Its paths are the shortest all the
/// same, and do not go around what the other rule excludes.
#[test]
fn another_rules_exclusions_change_no_path() {
    let heap = heaphound_snapshot::read(
        b"class Node { next ->, data: i32 }
         root static:a -> Node#1
         root main -> Node#2
         Node#1 { next -> Node#3, data = 0 }
         Node#2 { next -> Node#3, data = 0 }
         Node#3 { data = 7 }",
        "heap",
        &mut |_, _| {},
    )
    .unwrap();
    let small = "assertion(forall Node x: x.data < 7)";
    let around = "assertion(forall Node x: reach[/static:a](x) -> x.data < 8)";
    let path = |texts: &[&str]| {
        let evaluated = evaluate_texts(&heap, texts);
        let Verdict::Fails(finding) = &evaluated.judged[0][0].verdict else {
            panic!("it holds");
        };
        finding.evidence[0].path.to_string()
    };
    assert_eq!(path(&[small]), "static:a → Node#1 .next → Node#3");
    assert_eq!(path(&[small, around]), path(&[small]));
}

#[test]
fn queries_find_what_their_definitions_say() {
    check(700, &(heaps(), texts(Kind::Query)), |(plan, text)| {
        let heap = plan.build();
        let expected = match ask(&heap, plan, text) {
            Answer::Told(told) => told,
            _ => return Ok(()),
        };
        for way in WAYS {
            // Those that ask for sets are expressions.
            let found = with_setting(&heap, plan, text, way, |texts, traversal| {
                let outcomes = texts.decide(traversal, |_| false);
                judge(texts, &[text], traversal, &outcomes, None).remove(0)
            });
            let found = match found {
                Some(Verdict::Found(found)) => found,
                Some(other) => return Err(TestCaseError::fail(format!("{text}: {other:?}"))),
                None => continue,
            };
            let same = match (&found, &expected) {
                (verdict::Answer::Objects(told, all), Told::Objects(count, first)) => {
                    *all as u64 == *count && told == first
                }
                (verdict::Answer::Rows(told, all), Told::Values(count, rows)) => {
                    let shown: Vec<Vec<String>> = told.iter().map(|it| it.1.clone()).collect();
                    let wanted: Vec<Vec<String>> = rows
                        .iter()
                        .map(|row| row.iter().map(|it| show(&heap, it)).collect())
                        .collect();
                    *all as u64 == *count && shown == wanted
                }
                (verdict::Answer::Value(value), Told::Count(count)) => {
                    *value == Datum::Plain(Value::Unsigned(*count))
                }
                (verdict::Answer::Value(Datum::Whole(value)), Told::Sum(Sum::Exact(sum))) => {
                    value == sum
                }
                (verdict::Answer::Value(Datum::Plain(value)), Told::Sum(sum)) => match (value, sum)
                {
                    (Value::Unsigned(value), Sum::Exact(sum)) => *value as i128 == *sum,
                    (Value::Signed(value), Sum::Exact(sum)) => *value as i128 == *sum,
                    (Value::Float(value), Sum::Float(sum)) => {
                        value == sum || value.is_nan() && sum.is_nan()
                    }
                    _ => false,
                },
                (verdict::Answer::Value(value), Told::Extreme(item)) => match (value, item) {
                    (Datum::Absent, None) => true,
                    (Datum::Plain(value), Some(item)) => value.to_string() == show(&heap, item),
                    (Datum::Object(a), Some(Item::Object(b))) => a == b,
                    _ => false,
                },
                _ => false,
            };
            prop_assert!(same, "{}: {:?}, but {:?}, {:?}", text, found, expected, way);
        }
        Ok(())
    });
}

fn show(heap: &Snapshot, item: &Item<ObjectId>) -> String {
    match item {
        Item::Null => "null".into(),
        Item::Object(object) => match heap.text_of(*object) {
            Some(text) => format!("{text:?}"),
            None => heap.name_of(*object),
        },
        Item::Plain(value) => value.to_string(),
        Item::Text(text) => format!("{text:?}"),
        Item::Unknown => "unknown".into(),
    }
}
