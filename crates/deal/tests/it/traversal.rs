//! Assertions and queries in one traversal, held against their definitions: random texts about
//! random heaps, compiled and interpreted, on one thread and on four.
//!
//! `HEAPHOUND_CASES` multiplies their number.

use std::collections::{BTreeMap, BTreeSet};

use heaphound_deal::check::compile;
use heaphound_deal::datum::Datum;
use heaphound_deal::plan::{Plan, Plans};
use heaphound_deal::resolved::Statement;
use heaphound_deal::traverse::{Outcome, Setting};
use heaphound_deal::verdict::{self, Verdict, judge};
use heaphound_heap::Value;
use heaphound_heap::probe::Probes;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_testkit::cases::check;
use heaphound_testkit::deal::generate::{HeapPlan, Kind, classes, heaps, scope, texts};
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
    f: impl FnOnce(&Setting<'_, Snapshot>, &Plan) -> R,
) -> Option<R> {
    let classes = classes();
    let resolved = compile("it", text, &scope(&classes)).expect("texts are well typed");
    let plans = Plans::new(&resolved);
    let traversal = plans.traversals.first()?;
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
        sources_live: !way.careful && hosts.iter().flatten().all(|it| live.has(*it)),
    };
    Some(f(&setting, traversal))
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
            with_setting(&heap, plan, text, way, |setting, traversal| {
                compare(setting, traversal, text, &expected, way)
            })
            .expect("an assertion is a traversal")?;
        }
        Ok(())
    });
}

fn compare(
    setting: &Setting<'_, Snapshot>,
    plan: &Plan,
    text: &str,
    expected: &Answer<ObjectId>,
    way: Way,
) -> TestCaseResult {
    let program = &setting.resolved.rules[0].program;
    let decided = &setting.run(plan, false)[0];
    let collected = &setting.run(plan, true)[0];
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
        let overlap: BTreeSet<ObjectId> = setting.overlap(plan).into_iter().collect();
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
    match &judge(setting, plan, text)[0] {
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
            let found = with_setting(&heap, plan, text, way, |setting, traversal| {
                judge(setting, traversal, text).remove(0)
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
                (verdict::Answer::Value(Datum::Plain(value)), Told::Sum(sum)) => match (value, sum)
                {
                    (Value::Unsigned(value), Sum::Exact(sum)) => *value as i128 == *sum,
                    (Value::Signed(value), Sum::Exact(sum)) => *value as i128 == *sum,
                    (Value::Float(value), Sum::Exact(sum)) => {
                        i64::try_from(*sum).is_err() && *value == *sum as f64
                    }
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
    use heaphound_heap::view::HeapView;
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
