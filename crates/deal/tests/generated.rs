//! Random texts about random heaps: `check` takes them all, and the twin agrees with itself.
//!
//! `HEAPHOUND_CASES` multiplies their number.

#[allow(dead_code)]
mod generate;
#[allow(dead_code)]
mod twin;

use generate::{HeapPlan, Kind, classes, heaps, scope, texts};
use heaphound_deal::check::compile;
use heaphound_deal::fmt::{Style, format};
use heaphound_deal::resolved::Resolved;
use heaphound_heap::snapshot::ObjectId;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};
use twin::{Answer, World, evaluate};

const KINDS: [Kind; 6] = [
    Kind::Assertion,
    Kind::Formula,
    Kind::Value,
    Kind::Set,
    Kind::Query,
    Kind::Gc,
];

fn check<S: Strategy>(cases: u32, strategy: &S, test: impl Fn(&S::Value) -> TestCaseResult) {
    let times = std::env::var("HEAPHOUND_CASES");
    let times: u32 = times.map_or(1, |times| times.parse().expect("a number"));
    let config = Config {
        failure_persistence: None,
        ..Config::with_cases(cases * times)
    };
    let run = TestRunner::new(config).run(strategy, |it| test(&it));
    run.unwrap_or_else(|wrong| panic!("{wrong}"));
}

fn resolve(text: &str) -> Result<Resolved, TestCaseError> {
    let classes = classes();
    let resolved = compile("it", text, &scope(&classes));
    resolved.map_err(|wrong| TestCaseError::fail(wrong.to_string()))
}

fn ask(plan: &HeapPlan, text: &str) -> Result<Answer<ObjectId>, TestCaseError> {
    let heap = plan.build();
    let resolved = resolve(text)?;
    let asker = plan.asker();
    let world = World {
        view: &heap,
        asker: asker.as_deref(),
        host: &|source| plan.source(&heap, source),
        label: &|object, label| plan.label(object, label),
    };
    Ok(evaluate(&world, &resolved, &resolved.rules[0].program))
}

#[test]
fn every_text_is_well_typed_and_means_the_same_when_formatted() {
    for kind in KINDS {
        check(400, &texts(kind), |text| {
            let resolved = resolve(text)?;
            prop_assert_eq!(resolved.rules.len(), 1);
            for style in [Style::Ascii, Style::Unicode] {
                let formatted = format("it", text, style).map_err(|it| it.to_string());
                let formatted = formatted.map_err(TestCaseError::fail)?;
                prop_assert_eq!(&resolve(&formatted)?, &resolved);
            }
            Ok(())
        });
    }
}

/// Each kind of answer comes often enough to be a test of it.
#[test]
fn texts_come_out_either_way() {
    use std::cell::Cell;
    for kind in KINDS {
        let [all, none, holds, fails, overlaps, shown] = [const { Cell::new(0u32) }; 6];
        let count = |cell: &Cell<u32>, is: bool| cell.set(cell.get() + is as u32);
        check(1_000, &(heaps(), texts(kind)), |(plan, text)| {
            let answer = ask(plan, text)?;
            count(&all, true);
            count(&none, matches!(answer, Answer::Nothing(_)));
            if let Answer::Verdict(verdict) = &answer {
                count(&holds, verdict.holds);
                count(&fails, !verdict.holds);
                count(&overlaps, !verdict.overlap.is_empty());
                count(&shown, verdict.shown.values().any(|it| !it.is_empty()));
            }
            if std::env::var("SHOW").is_ok() {
                println!("{text}\n    {answer:?}");
            }
            Ok(())
        });
        let share = |cell: &Cell<u32>| 100 * cell.get() / all.get();
        println!(
            "{kind:?}: {}% none, {}% hold, {}% fail, {}% overlap, {}% shown",
            share(&none),
            share(&holds),
            share(&fails),
            share(&overlaps),
            share(&shown)
        );
    }
}
