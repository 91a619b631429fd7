//! Random texts about random heaps: `check` takes them all, and the twin agrees with itself.
//!
//! `HEAPHOUND_CASES` multiplies their number.

use heaphound_deal::check::compile;
use heaphound_deal::fmt::{Style, format};
use heaphound_deal::resolved::Resolved;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_testkit::cases::check;
use heaphound_testkit::deal::generate::{HeapPlan, Kind, classes, heaps, scope, texts};
use heaphound_testkit::deal::twin::{Answer, World, evaluate};
use proptest::prelude::*;

const KINDS: [Kind; 6] = [
    Kind::Assertion,
    Kind::Formula,
    Kind::Value,
    Kind::Set,
    Kind::Query,
    Kind::Gc,
];

fn resolve(text: &str) -> Result<Resolved, TestCaseError> {
    let classes = classes();
    let resolved = compile("it", text, &scope(&classes));
    resolved.map_err(|wrong| TestCaseError::fail(wrong.to_string()))
}

fn ask(plan: &HeapPlan, text: &str) -> Result<Answer<ObjectId>, TestCaseError> {
    let heap = plan.build();
    ask_as(plan, &heap, plan.asker().as_deref(), text)
}

fn ask_as(
    plan: &HeapPlan,
    heap: &Snapshot,
    asker: Option<&str>,
    text: &str,
) -> Result<Answer<ObjectId>, TestCaseError> {
    let resolved = resolve(text)?;
    let world = World {
        view: heap,
        asker,
        host: &|source| plan.source(heap, source),
        label: &|object, label| plan.label(object, label),
    };
    Ok(evaluate(&world, &resolved, &resolved.rules[0].program))
}

/// Whether it holds as a rule, if there is an answer.
fn holds(plan: &HeapPlan, text: &str) -> Result<Option<bool>, TestCaseError> {
    Ok(verdict(&ask(plan, &format!("rule it: {text}"))?))
}

fn verdict(answer: &Answer<ObjectId>) -> Option<bool> {
    match answer {
        Answer::Verdict(verdict) => Some(verdict.holds),
        Answer::Nothing(_) => None,
        other => panic!("{other:?} is no verdict"),
    }
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

/// What holds on every heap, whatever the host variables are and whoever asks.
const LAWS: &[&str] = &[
    "forall v: v in reach()",
    "forall v: reach[a](v) <-> reach(a).has(v)",
    "forall v: reach[a/b](v) <-> reach(a, {b}).has(v)",
    "forall v: reach[a/b || c](v) <-> reach(a, {b}).has(v) || reach(c, {b}).has(v)",
    "forall v: reach[a || c/b](v) <-> reach(a).has(v) || reach(c, {b}).has(v)",
    "forall v: reach[/a](v) -> v != a",
    "forall v: reach[a/a](v) -> false",
    "forall Node v: v.next.next == null -> v.next != null",
    "forall Base v: (v instanceof Node) <-> (exists Node w: w == v)",
    "forall v: v is hot <-> v in {Object w | w is hot}",
    "(forall Node v: v.data <= v.real) <-> !(exists Node v: !(v.data <= v.real))",
    "forall Node v: v.data < v.real -> v.data <= v.real && v.data != v.real && !(v.data >= v.real)",
    "forall Node v: !(v.data == v.real) <-> v.data != v.real",
    "(num_of Node v: v.flag) == {Node v | v.flag}.size()",
    // PHALANX's table 2.
    "is_heap(a) <-> pred(a).size() > 0",
    "is_shared(a) <-> pred(a).size() > 1",
    "is_reachable(a, b) <-> reach(a).has(b)",
    "is_disjoint(a, b) <-> (reach(a) & reach(b)).is_empty()",
    "a in reach() -> (is_disjoint(a, b) <-> !(exists Object v; reach(a).has(v); reach(b).has(v)))",
    "is_unique_owner(a) <-> !(exists Object v; reach(a).has(v); !dom(a, v))",
    "reach_through(a, {b}, c) <-> !reach(a, {b}).has(c)",
    "is_object_owned(a, b) <-> dom(a, b)",
    "thread_reach(a, {b}) == {Object t | running().has(t) && (reach(t, {b}).has(a) || reach(stack(t), {b}).has(a))}",
    "thread_reach(a) == thread_stack_reach(a) | thread_object_reach(a)",
    // Sets.
    "(reach(a) & reach(b)) | (reach(a) - reach(b)) == reach(a)",
    "reach(a) | reach(b) == reach({a, b})",
];

#[test]
fn laws_hold_on_every_heap() {
    check(300, &heaps(), |plan| {
        let mut answered = 0;
        for law in LAWS {
            // What is asked of null has no answer, nor what a quantifier asks of threads that have no
            // objects.
            let has_answer = holds(plan, law)?;
            prop_assert!(has_answer.is_none_or(|it| it), "{}", law);
            answered += has_answer.is_some() as usize;
        }
        prop_assert!(answered >= LAWS.len() / 3, "only {} have answers", answered);
        Ok(())
    });
}

/// Two texts that say the same.
const SAME: &[(&str, &str)] = &[
    (
        "assertDisjoint(forall v: !(reach[a](v) && reach[b](v)))",
        "(reach(a) & reach(b) & reach()).is_empty()",
    ),
    (
        "unsafeAssert(exists v: reach[a](v) || reach[b](v))",
        "exists v: reach[a](v) || reach[b](v)",
    ),
    (
        "unsafeAssert(exists v: reach[a/c](v) && v.data == 0 || reach[b](v) && v.data != 0)",
        "exists v: reach(a, {c}).has(v) && v.data == 0
            || reach({b}, reach(a, {c})).has(v) && v.data != 0",
    ),
    (
        "unsafeAssert(exists v: reach[a](v) && reach[b](v))",
        "false",
    ),
    ("dead(a)", "!(a in reach())"),
    ("dead(Node)", "!(exists Node v: true)"),
    (
        "owned_by(a, b)",
        "b in reach() -> a in reach() && b in reach(a)",
    ),
    (
        "owned_by(Node, Odd)",
        "forall Odd v: exists Node w: reach(w).has(v)",
    ),
    ("instances(Node) <= 2", "(num_of Node v: true) <= 2"),
    (
        "instances(only Node) < 2",
        "(num_of Node v: !(v instanceof SubNode)) <= 1",
    ),
];

#[test]
fn two_ways_to_say_it_give_one_answer() {
    check(500, &heaps(), |plan| {
        for (one, other) in SAME {
            // Of null the one may say nothing, and the other not speak.
            if let (Some(one_holds), Some(other_holds)) = (holds(plan, one)?, holds(plan, other)?) {
                prop_assert_eq!(one_holds, other_holds, "{}", one);
            }
        }
        Ok(())
    });
}

#[test]
fn who_is_not_reached_around_an_object_is_dominated_by_it() {
    check(500, &heaps(), |plan| {
        let heap = plan.build();
        let law = "forall v: !reach[/a](v) <-> dom(a, v)";
        let answer = ask_as(plan, &heap, None, law)?;
        prop_assert_ne!(verdict(&answer), Some(false));
        Ok(())
    });
}

#[test]
fn what_table_2_says_of_the_asker_is_what_the_probes_say() {
    let laws = [
        "dom(stack(current_thread()), a) <-> is_thread_stack_owned(a)",
        "dom(roots(current_thread()), a) <-> is_thread_owned(a)",
        "dom(current_thread(), a) <-> is_thread_object_owned(a)",
    ];
    check(500, &heaps(), |plan| {
        for law in laws {
            prop_assert!(holds(plan, law)? != Some(false), "{}", law);
        }
        Ok(())
    });
}

#[test]
fn a_formula_and_its_negation_do_not_both_hold() {
    check(1_500, &(heaps(), texts(Kind::Formula)), |(plan, text)| {
        let not = holds(plan, &format!("!({text})"))?;
        prop_assert_eq!(holds(plan, text)?, not.map(|it| !it));
        Ok(())
    });
}

#[test]
fn with_one_relation_all_assertions_mean_the_same() {
    check(1_500, &(heaps(), texts(Kind::Assertion)), |(plan, text)| {
        if let Some(formula) = text.strip_prefix("assertion(") {
            let plain = ask(plan, text)?;
            for kind in ["assertDisjoint", "unsafeAssert"] {
                prop_assert_eq!(&ask(plan, &format!("{kind}({formula}"))?, &plain);
            }
        }
        Ok(())
    });
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
            Ok(())
        });
        let share = |cell: &Cell<u32>| 100 * cell.get() / all.get();
        assert!(
            share(&none) <= 55,
            "{kind:?}: no answer for {}%",
            share(&none)
        );
        if matches!(kind, Kind::Assertion | Kind::Formula | Kind::Gc) {
            assert!(share(&holds) >= 15, "{kind:?}: holds");
            assert!(share(&fails) >= 15, "{kind:?}: fails");
        }
        if kind == Kind::Assertion {
            // Fewer than before null from outside had no answer.
            assert!(share(&overlaps) >= 1, "{kind:?}: overlaps");
            assert!(share(&shown) >= 20, "{kind:?}: shows objects");
        }
    }
}
