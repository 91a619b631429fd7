//! Probes, paths, plans and GC assertions on random heaps: what their slow twins say.
//!
//! `HEAPHOUND_CASES` multiplies the number of heaps.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use heaphound_heap::assertion::{
    Assertion, AssertionKind, Breach, Described, Excess, Limit, MOST_KEPT, Outcome, Slots, Stated,
    Target, Violation, describe, describe_class, violations,
};
use heaphound_heap::finding::{Path, Shows};
use heaphound_heap::path::{Origin, Reached, Search, Trail};
use heaphound_heap::probe::{ProbeError, Probes};
use heaphound_heap::root::{Part, RootSet};
use heaphound_heap::set::ObjectSet;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::trace::{
    self, Examiner, Plan, Series, Starts, Step, Traceable, Traced, Visit, Visitor,
};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, Root, RootKind};
use heaphound_testkit::cases::check;
use heaphound_testkit::dice::Dice;
use heaphound_testkit::heaps::graphs::{HeapPlan, ObjectPlan, classes, heaps};
use heaphound_testkit::twins::{Graph, Stepped};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

type Probing<'v> = Probes<'v, Snapshot>;

const PARTS: [Part; 3] = [Part::Stack, Part::Object, Part::Both];

#[test]
fn probes_answer_what_the_definitions_say() {
    check(3_000, &heaps(50), |plan| check_probes(plan, 1));
}

/// Fewer, since each trace starts its threads.
#[test]
fn probes_on_four_threads_answer_what_the_definitions_say() {
    check(200, &heaps(50), |plan| check_probes(plan, 4));
}

fn check_probes(plan: &HeapPlan, tracers: usize) -> TestCaseResult {
    let mut case = Case::new(plan)?;
    case.thrift = if tracers == 1 { 1 } else { 3 };
    each_asker(&case, tracers, |case, ct, probes, dice| {
        check_threads(case, ct, probes)?;
        check_sets(case, probes, dice)?;
        check_owners(case, ct, probes, dice)
    })
}

/// One search for several groups finds of each what a search for it alone finds first.
#[test]
fn one_search_finds_the_nearest_of_each_group() {
    check(1_000, &heaps(50), |plan| {
        let case = Case::new(plan)?;
        let mut dice = Dice(plan.seed);
        let groups: Vec<Vec<ObjectId>> = (0..1 + dice.below(4))
            .map(|_| {
                let few = 1 + dice.below(3);
                let some = case.objects.iter().filter(|_| dice.below(few) == 0);
                some.copied().collect()
            })
            .collect();
        let most = 1 + dice.below(4);
        let everywhere = Search::everywhere();
        let mut visits = case.heap.visits();
        let slices: Vec<&[ObjectId]> = groups.iter().map(|it| &it[..]).collect();
        let together = Reached::nearest(&case.heap, &mut visits, &everywhere, &slices, most);
        for group in &groups {
            let alone = Reached::new(&case.heap, &mut visits, &everywhere, group);
            let nearest = |reached: &Reached<'_, Snapshot>| {
                let found = group
                    .iter()
                    .filter_map(|&it| Some((reached.order(it)?, it)));
                let mut found: Vec<(u32, ObjectId)> = found.collect();
                found.sort_unstable();
                found.truncate(most);
                let trail = |&(_, it): &(u32, ObjectId)| reached.trail(it);
                (found.iter().map(trail).collect::<Vec<_>>(), found)
            };
            prop_assert_eq!(nearest(&together), nearest(&alone));
        }
        Ok(())
    });
}

#[test]
fn assertions_are_broken_by_what_their_definitions_say() {
    check(3_000, &heaps(50), |plan| check_assertions(plan, 1));
}

#[test]
fn assertions_are_broken_by_the_same_on_four_threads() {
    check(200, &heaps(50), |plan| check_assertions(plan, 4));
}

#[test]
fn of_very_many_violations_the_first_are_kept() {
    let mut builder = SnapshotBuilder::default();
    let class = builder.add_class("Node", None, &["next"]);
    let count = 5 * MOST_KEPT as u32 + 1;
    for next in 1..=count {
        builder.add_object(class, 16);
        builder.add_edge(Place::Field(0), ObjectId(next % count));
    }
    // The last come first.
    builder.add_root(Root::new(RootKind::Static, "list"), ObjectId(count / 2));
    let heap = builder.finish().unwrap();
    let all = || Target::Instances(vec![class]);
    let assertions = [
        Assertion::Dead(all()),
        Assertion::OwnedBy {
            owners: Target::Objects(Vec::new()),
            ownees: all(),
        },
        Assertion::Limited {
            limit: Limit::Volume(1),
            class,
            counted: vec![class],
        },
    ];
    let first: Vec<ObjectId> = (0..MOST_KEPT as u32).map(ObjectId).collect();
    for threads in [1, 4] {
        let outcomes = violations(&heap, &assertions, threads);
        for outcome in &outcomes[..2] {
            let Outcome::Violated {
                count: found,
                violations,
            } = outcome
            else {
                panic!("{outcome:?}");
            };
            assert_eq!(*found, count as usize);
            assert!(violations.iter().map(|it| it.object).eq(first.clone()));
        }
        let Outcome::Exceeded(excess) = &outcomes[2] else {
            panic!("{:?}", outcomes[2]);
        };
        assert_eq!(excess.amount, 16 * count as u64);
        assert_eq!((excess.instances, &excess.sample), (count as usize, &first));
    }
}

#[test]
fn paths_are_real_and_as_short_as_can_be() {
    each_search(3_000, check_path);
}

#[test]
fn all_paths_are_those_that_recursion_finds() {
    each_search(3_000, |case, probes, search, to| {
        check_all_paths(case, probes, search, to, false)
    });
}

#[test]
fn equally_long_paths_come_by_their_roots_and_slots() {
    each_search(1_000, |case, probes, search, to| {
        check_all_paths(case, probes, search, to, true)
    });
}

#[test]
fn a_bypass_is_a_path_around_whoever_does_not_dominate() {
    check(2_000, &heaps(50), |plan| {
        let case = Case::new(plan)?;
        each_asker(&case, 1, |case, ct, probes, dice| {
            for (above, below) in case.pairs(dice, 25) {
                check_bypass(case, ct, probes, above, below)?;
            }
            Ok(())
        })
    });
}

#[test]
fn a_thousand_probes_of_one_heap_do_not_get_in_each_others_way() {
    check(30, &heaps(50), |plan| {
        let case = Case::new(plan)?;
        if case.objects.is_empty() {
            return Ok(());
        }
        let graph = &case.graph;
        for tracers in [1, 4] {
            let probes = Probes::of(&case.heap).threads(tracers);
            let mut dice = Dice(plan.seed);
            for _ in 0..1_000 {
                let [a, b, c] = [(); 3].map(|_| dice.pick(&case.objects));
                match dice.below(7) {
                    0 => same("reach", set(&probes.reach(a)), graph.reach(a))?,
                    1 => same("pred", set(&probes.pred(a)), graph.pred(a))?,
                    2 => same("dom", probes.dom(a, b), graph.dom(None, a, b))?,
                    3 => {
                        let owned = probes.is_unique_owner(a);
                        same("is_unique_owner", owned, graph.is_unique_owner(None, a))?;
                    }
                    4 => {
                        let through = probes.reach_through(a, &[c], b);
                        same("reach_through", through, graph.reach_through(a, &[c], b))?;
                    }
                    5 => same(
                        "is_disjoint",
                        probes.is_disjoint(a, b),
                        graph.is_disjoint(a, b),
                    )?,
                    _ => check_path(&case, &probes, &Search::everywhere(), a)?,
                }
            }
        }
        Ok(())
    });
}

#[test]
fn plans_enter_what_their_steps_say() {
    check(3_000, &(heaps(50), plans()), |(heap, plan)| {
        let case = Case::new(heap)?;
        let plan = plan.build(&case);
        check_plan::<true, true>(&case, &plan, 1)?;
        check_plan::<true, true>(&case, &plan, 4)?;
        check_plan::<true, false>(&case, &plan, 1)?;
        check_plan::<false, true>(&case, &plan, 1)?;
        check_plan::<false, false>(&case, &plan, 1)?;
        check_plan::<false, false>(&case, &plan, 4)?;
        check_examined(&case, &plan, 1, true)?;
        check_examined(&case, &plan, 1, false)?;
        check_examined(&case, &plan, 4, true)
    });
}

#[test]
fn what_is_excluded_is_entered_by_a_step_with_another_number() {
    let entered = plan_of_one([(StartPlan::All, true, 0), (StartPlan::All, false, 1)]);
    assert_eq!(entered, [0, 1]);
}

#[test]
fn what_is_excluded_stays_so_for_steps_with_the_same_number() {
    let entered = plan_of_one([(StartPlan::All, true, 0), (StartPlan::All, false, 0)]);
    assert_eq!(entered, [0, 0]);
}

#[test]
fn what_was_entered_is_not_entered_again() {
    let entered = plan_of_one([
        (StartPlan::All, false, 0),
        (StartPlan::All, true, 0),
        (StartPlan::All, false, 1),
    ]);
    assert_eq!(entered, [1, 0, 0]);
}

/// Runs a plan on a heap of one object, which is a root and which some steps exclude. Returns how
/// many objects each step enters.
fn plan_of_one<const STEPS: usize>(steps: [(StartPlan, bool, usize); STEPS]) -> Vec<usize> {
    let heap = HeapPlan {
        objects: vec![ObjectPlan {
            words: 2,
            class: 0,
            slots: Vec::new(),
        }],
        threads: Vec::new(),
        others: vec![(RootKind::Static, 0)],
        seed: 0,
    };
    let case = Case::new(&heap).unwrap();
    let steps = steps.map(|(starts, excludes, mark)| {
        let exclude = if excludes { vec![0] } else { Vec::new() };
        (starts, exclude, mark)
    });
    let plan = PlanPlan(steps.into()).build(&case);
    check_plan::<true, true>(&case, &plan, 1).unwrap();
    check_examined(&case, &plan, 1, true).unwrap();
    let steps = case.graph.run(&plan).into_iter();
    steps.map(|it| it.entered.len()).collect()
}

#[test]
fn a_plan_ends_early_only_if_its_examiner_is_done() {
    check(1_000, &heaps(50), |plan| {
        let case = Case::new(plan)?;
        let plan = PlanPlan(vec![(StartPlan::All, Vec::new(), 0)]).build(&case);
        let all = case.graph.reach_all();
        for (tracers, enough) in [(1, 0), (1, 1), (1, 3), (4, 1), (4, 3), (4, 1_000)] {
            let mut seen = Vec::new();
            let examiner = |_| Examined {
                enough,
                ..Examined::default()
            };
            let mut visits = case.heap.visits();
            trace::run(
                &case.heap,
                &mut visits,
                &plan,
                tracers,
                examiner,
                |_, it| {
                    seen.extend(it.into_iter().flat_map(|it| it.objects));
                    ControlFlow::Continue(())
                },
            );
            let once: BTreeSet<ObjectId> = seen.iter().copied().collect();
            prop_assert_eq!(once.len(), seen.len(), "an object was entered twice");
            prop_assert!(once.is_subset(&all));
            prop_assert!(once.len() >= enough.min(all.len()));
        }
        Ok(())
    });
}

#[test]
fn a_plan_ends_where_it_is_told_to() {
    check(100, &heaps(50), |plan| {
        let case = Case::new(plan)?;
        let all = || (StartPlan::All, Vec::new(), 0);
        let plan = PlanPlan(vec![all(), all(), all()]).build(&case);
        let mut visits = case.heap.visits();
        let examiner = |_| Examined::default();
        let traced =
            trace::run(
                &case.heap,
                &mut visits,
                &plan,
                1,
                examiner,
                |number, _| match number {
                    1 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                },
            );
        prop_assert_eq!(traced.len(), 2);
        Ok(())
    });
}

#[test]
fn who_is_not_there_is_an_error() {
    let mut builder = SnapshotBuilder::new(classes());
    let object = builder.add_object(ClassId(1), 16);
    builder.add_root(Root::new(RootKind::ThreadStack, "t0"), object);
    builder.add_root(Root::new(RootKind::Static, "t1"), object);
    let heap = builder.finish().unwrap();
    let unknown = ProbeError::UnknownThread("t1".into());
    assert_eq!(
        Probes::of(&heap).ask_as("t1").err().as_ref(),
        Some(&unknown)
    );

    let probes = Probes::of(&heap);
    assert_eq!(probes.asker(), None);
    assert_eq!(probes.stack("t1").as_ref(), Err(&unknown));
    assert_eq!(probes.roots("t1").as_ref(), Err(&unknown));
    let none = ProbeError::NoThreadObject("t0".into());
    assert_eq!(probes.thread_object("t0").as_ref(), Err(&none));
    for part in PARTS {
        assert_eq!(probes.thread_roots("t1", part).as_ref(), Err(&unknown));
        assert_eq!(probes.thread_path("t1", part, &[], object), None);
        let owned = probes.is_thread_owned(object, part);
        assert_eq!(owned, Err(ProbeError::NobodyAsks));
    }
}

#[test]
fn a_thread_that_is_not_there_is_not_one_without_an_object() {
    let heap = SnapshotBuilder::new(classes()).finish().unwrap();
    let object = Probes::of(&heap).thread_object("t1");
    assert_eq!(object, Err(ProbeError::UnknownThread("t1".into())));
}

#[test]
fn a_snapshots_edges_are_those_that_retain() {
    check(3_000, &heaps(50), |plan| {
        let Case { heap, graph, .. } = Case::new(plan)?;
        for object in heap.objects() {
            let mut edges = Vec::new();
            heap.for_each_strong_edge(object, |place, to| edges.push((place, to)));
            let about = format!("edges of {}", heap.name_of(object));
            same(&about, &edges[..], graph.slots(object))?;
        }
        Ok(())
    });
}

// What is checked of one heap.

/// Questions about threads, and about single objects.
fn check_threads(case: &Case, ct: Option<usize>, probes: &Probing<'_>) -> TestCaseResult {
    let Case { heap, graph, .. } = case;
    same("running", set(&probes.running()), graph.running())?;
    same("reach_all", set(&probes.reach_all()), graph.reach_all())?;
    let asker = ct.map(|thread| heap.threads()[thread].as_str());
    same("asker", probes.asker(), asker)?;
    for (thread, name) in heap.threads().iter().enumerate() {
        let stack = probes.stack(name).map(|it| set(&it));
        same("stack", stack, Ok(graph.stack(thread)))?;
        let roots = probes.roots(name).map(|it| set(&it));
        same("roots", roots, Ok(graph.roots(thread)))?;
        for part in PARTS {
            let roots = probes.thread_roots(name, part).map(|it| set(&it));
            same("thread_roots", roots, Ok(graph.thread_roots(thread, part)))?;
        }
        let object = graph.thread_object(thread);
        let object = object.ok_or_else(|| ProbeError::NoThreadObject(name.clone()));
        same("thread_object", probes.thread_object(name), object)?;
    }
    Ok(())
}

/// Reachability, predecessors, and the operations of sets.
fn check_sets(case: &Case, probes: &Probing<'_>, dice: &mut Dice) -> TestCaseResult {
    let graph = &case.graph;
    for object in case.some(dice, 8) {
        let about = |what: &str| format!("{what}({object:?})");
        same(
            &about("reach"),
            set(&probes.reach(object)),
            graph.reach(object),
        )?;
        same(
            &about("pred"),
            set(&probes.pred(object)),
            graph.pred(object),
        )?;
        same(
            &about("is_heap"),
            probes.is_heap(object),
            graph.is_heap(object),
        )?;
        same(
            &about("is_shared"),
            probes.is_shared(object),
            graph.is_shared(object),
        )?;
    }
    for (a, b) in case.pairs(dice, 12) {
        let about = |what: &str| format!("{what}({a:?}, {b:?})");
        let fast = probes.is_reachable(a, b);
        same(&about("is_reachable"), fast, graph.is_reachable(a, b))?;
        let disjoint = graph.is_disjoint(a, b);
        same(&about("is_disjoint"), probes.is_disjoint(a, b), disjoint)?;
        check_common(case, probes, a, b)?;

        let avoid = case.avoid(dice, &[a, b]);
        let about = |what: &str| format!("{what}({a:?}, {avoid:?}, {b:?})");
        let fast = probes.reach_through(a, &avoid, b);
        same(
            &about("reach_through"),
            fast,
            graph.reach_through(a, &avoid, b),
        )?;
        let fast = set(&probes.reach_avoiding(&[a, b], &avoid));
        same(
            &about("reach_avoiding"),
            fast,
            graph.reach_avoiding(&[a, b], &avoid),
        )?;
        let fast = set(&probes.reach_avoiding(&[], &avoid));
        same("reach_avoiding of nothing", fast, BTreeSet::new())?;
        for part in PARTS {
            let about = format!("thread_reach({a:?}, {avoid:?}, {part:?})");
            let fast = probes.thread_reach(a, &avoid, part);
            same(&about, fast, graph.thread_reach(a, &avoid, part))?;
        }

        let (x, y) = (probes.reach(a), probes.reach(b));
        let (p, q) = (graph.reach(a), graph.reach(b));
        same("union", set(&x.union(&y)), &p | &q)?;
        same("intersection", set(&x.intersection(&y)), &p & &q)?;
        same("difference", set(&x.difference(&y)), &p - &q)?;
        same("subset", x.is_subset(&y), p.is_subset(&q))?;
        same("disjoint sets", x.is_disjoint(&y), disjoint)?;
        same("has", x.contains(b), p.contains(&b))?;
        same("len", (x.len(), x.is_empty()), (p.len(), p.is_empty()))?;
    }
    Ok(())
}

/// `common` is in both reaches, and no other such object is nearer to `b`.
fn check_common(case: &Case, probes: &Probing<'_>, a: ObjectId, b: ObjectId) -> TestCaseResult {
    let graph = &case.graph;
    let from_b = Search {
        from: Origin::Objects(&[b]),
        avoid: &[],
    };
    let both = &graph.reach(a) & &graph.reach(b);
    let nearest = both.iter().map(|&object| graph.distance(&from_b, object));
    let common = probes.common(a, b);
    let about = format!("how far common({a:?}, {b:?}) is");
    let distance = common.map(|object| graph.distance(&from_b, object));
    same(&about, distance, nearest.min())?;
    prop_assert!(
        common.is_none_or(|object| both.contains(&object)),
        "{about}"
    );
    Ok(())
}

/// Dominance and ownership.
fn check_owners(
    case: &Case,
    ct: Option<usize>,
    probes: &Probing<'_>,
    dice: &mut Dice,
) -> TestCaseResult {
    let graph = &case.graph;
    for (a, b) in case.pairs(dice, 25) {
        let about = format!("dom({a:?}, {b:?}) asked by {ct:?}");
        let slow = graph.dom(ct, a, b);
        same(&about, probes.dom(a, b), slow)?;
        same(&about, probes.is_object_owned(a, b), slow)?;
    }
    for object in case.some(dice, 6) {
        let about = |what: &str| format!("{what}({object:?}) asked by {ct:?}");
        let slow = graph.is_unique_owner(ct, object);
        same(
            &about("is_unique_owner"),
            probes.is_unique_owner(object),
            slow,
        )?;
        let slow = graph.not_owned(ct, object);
        same(&about("not_owned"), set(&probes.not_owned(object)), slow)?;
        for part in PARTS {
            let slow = match ct {
                None => Err(ProbeError::NobodyAsks),
                Some(thread) => graph
                    .is_thread_owned(thread, object, part)
                    .ok_or_else(|| ProbeError::NoThreadObject(case.heap.threads()[thread].clone())),
            };
            let about = about(&format!("is_thread_owned, {part:?}, "));
            same(&about, probes.is_thread_owned(object, part), slow)?;
        }
    }
    Ok(())
}

fn check_bypass(
    case: &Case,
    ct: Option<usize>,
    probes: &Probing<'_>,
    above: ObjectId,
    below: ObjectId,
) -> TestCaseResult {
    let graph = &case.graph;
    let about = format!("bypass({above:?}, {below:?}) asked by {ct:?}");
    let bypass = probes.bypass(above, below);
    let exists = graph.has_bypass(ct, above, below);
    prop_assert_eq!(bypass.is_some(), exists, "{}", &about);
    let roots = match ct {
        None => RootSet::All,
        Some(thread) => RootSet::AllBut(&case.heap.threads()[thread], Part::Stack),
    };
    let search = Search {
        from: Origin::Roots(roots),
        avoid: &[above],
    };
    check_trail(case, &search, below, bypass.as_ref())?;
    let dominated = graph.is_reachable(above, below) && bypass.is_none();
    same(&about, dominated, graph.dom(ct, above, below))?;
    same(&about, probes.dom(above, below), dominated)
}

/// The path found is a path, and as short as any.
/// Checks some assertions about a heap together, and what is said about those that are broken.
fn check_assertions(plan: &HeapPlan, tracers: usize) -> TestCaseResult {
    let case = Case::new(plan)?;
    let mut dice = Dice(case.seed);
    let count = dice.below(6);
    let assertions: Vec<_> = (0..count).map(|_| case.assertion(&mut dice)).collect();
    let outcomes = violations(&case.heap, &assertions, tracers);
    prop_assert_eq!(outcomes.len(), assertions.len());
    for (number, (outcome, asserted)) in outcomes.into_iter().zip(&assertions).enumerate() {
        let expected = case.outcome(number as u32, asserted);
        prop_assert_eq!(&outcome, &expected, "{:?}", asserted);
        match outcome {
            Outcome::Holds => {}
            Outcome::Exceeded(excess) => {
                let finding = describe_class(&case.heap, &excess).finding(&Stated::default());
                prop_assert_eq!(finding.objects.len(), excess.instances.min(5));
                let shown = finding.evidence.iter().map(|it| match it.shows {
                    Shows::Group(count) => count,
                    _ => 0,
                });
                let more = finding.notes.iter().any(|note| note.contains("more ways"));
                let shown: usize = shown.sum();
                prop_assert_eq!(shown == excess.instances, !more, "{}", finding);
            }
            Outcome::Violated { violations, .. } => {
                for (violation, described) in describe(&case.heap, violations) {
                    check_described(&case, violation, described)?;
                }
            }
        }
    }
    Ok(())
}

fn check_described(
    case: &Case,
    violation: Violation<ObjectId>,
    described: Described,
) -> TestCaseResult {
    let Described::In(description) = described else {
        return Err(TestCaseError::fail("a small heap has paths to all"));
    };
    let Violation { object, breach, .. } = violation;
    let finding = description.finding(&Stated::default());
    let name = case.heap.name_of(object);
    prop_assert!(finding.message.starts_with(&name));
    prop_assert_eq!(&finding.kind, breach.kind().name());
    let paths: Vec<_> = finding.evidence.iter().map(|it| &it.path).collect();
    prop_assert!(paths.iter().all(|path| path.last().name == name));
    let distance = case.graph.distance(&Search::everywhere(), object);
    if let Breach::Shared { references } = breach {
        prop_assert!(references > 1);
        prop_assert_eq!(paths.len(), 2, "{}", finding);
        prop_assert_ne!(paths[0], paths[1]);
        // Those from stacks last, the shortest first.
        let rank = |path: &Path| {
            let root = path.root.as_ref();
            let on_stack = root.is_some_and(|root| root.kind == RootKind::ThreadStack);
            (on_stack, path.length())
        };
        prop_assert!(rank(paths[0]) <= rank(paths[1]));
    } else {
        prop_assert_eq!(paths.len(), 1);
        prop_assert_eq!(Some(paths[0].hops.len()), distance);
    }
    // Whether roots other than stack slots reach it, or any that refer to something else.
    let is_drag = finding
        .message
        .ends_with("only a stack slot holds it (drag)");
    let mut others = Vec::new();
    let mut on_stack = false;
    let mut elsewhere = false;
    case.heap.for_each_root(|root, to| match root.kind {
        RootKind::Finalizer => {}
        _ if to != object => others.push(to),
        RootKind::ThreadStack => on_stack = true,
        _ => elsewhere = true,
    });
    let held = elsewhere || case.graph.reach_avoiding(&others, &[]).contains(&object);
    let shared = breach.kind() == AssertionKind::Unshared;
    prop_assert_eq!(is_drag, !shared && on_stack && !held, "{}", finding);
    Ok(())
}

impl Case {
    /// Something to assert about the heap.
    fn assertion(&self, dice: &mut Dice) -> Assertion<ObjectId> {
        let class = |dice: &mut Dice| ClassId(1 + dice.below(8) as u32);
        let classes = |dice: &mut Dice| (0..1 + dice.below(3)).map(|_| class(dice)).collect();
        let target = |dice: &mut Dice| match dice.below(2) {
            0 if !self.objects.is_empty() => {
                let some = (0..dice.below(4)).map(|_| dice.pick(&self.objects));
                Target::Objects(some.collect())
            }
            _ => Target::Instances(classes(dice)),
        };
        match dice.below(5) {
            0 => Assertion::Limited {
                limit: Limit::Instances(dice.below(4) as u64),
                class: class(dice),
                counted: classes(dice),
            },
            1 => Assertion::Limited {
                limit: Limit::Volume(dice.below(100) as u64),
                class: class(dice),
                counted: classes(dice),
            },
            2 => Assertion::Dead(target(dice)),
            3 => Assertion::Unshared(target(dice), Slots::default()),
            _ => Assertion::OwnedBy {
                owners: target(dice),
                ownees: target(dice),
            },
        }
    }

    /// What comes of an assertion, by its definition.
    fn outcome(&self, number: u32, asserted: &Assertion<ObjectId>) -> Outcome<ObjectId> {
        let live = self.graph.reach_all();
        let instances = |classes: &[ClassId]| -> Vec<ObjectId> {
            let is_one = |it: &ObjectId| classes.contains(&self.heap.class_of(*it));
            live.iter().copied().filter(is_one).collect()
        };
        let those = |target: &Target<ObjectId>| match target {
            Target::Instances(classes) => instances(classes),
            Target::Objects(objects) => {
                let all = live.iter().copied();
                all.filter(|it| objects.contains(it)).collect()
            }
        };
        let violations: Vec<(ObjectId, Breach)> = match asserted {
            Assertion::Limited {
                limit,
                class,
                counted,
            } => {
                let all = instances(counted);
                let bytes = all.iter().map(|&it| self.heap.bytes_of(it) as u64);
                let (amount, most) = match *limit {
                    Limit::Instances(most) => (all.len() as u64, most),
                    Limit::Volume(most) => (bytes.sum(), most),
                };
                if amount <= most {
                    return Outcome::Holds;
                }
                return Outcome::Exceeded(Excess {
                    limit: *limit,
                    class: *class,
                    subclasses: counted.iter().any(|it| it != class),
                    amount,
                    instances: all.len(),
                    sample: all,
                });
            }
            Assertion::Dead(target) => {
                let all = those(target).into_iter();
                all.map(|it| (it, Breach::Dead)).collect()
            }
            Assertion::Unshared(target, _) => {
                let all = those(target).into_iter().map(|it| {
                    let references = self.references(&live, it);
                    (it, Breach::Shared { references })
                });
                let is_shared = |(_, breach): &(_, Breach)| match breach {
                    Breach::Shared { references } => *references > 1,
                    _ => false,
                };
                all.filter(is_shared).collect()
            }
            Assertion::OwnedBy { owners, ownees } => {
                let owners = those(owners);
                let owned =
                    |it: &ObjectId| owners.iter().any(|&o| self.graph.reach(o).contains(it));
                let owner_lives = !owners.is_empty();
                let free = those(ownees).into_iter().filter(|it| !owned(it));
                free.map(|it| (it, Breach::NotOwned { owner_lives }))
                    .collect()
            }
        };
        if violations.is_empty() {
            return Outcome::Holds;
        }
        let violation = |(object, breach)| Violation {
            breach,
            assertion: number,
            object,
        };
        Outcome::Violated {
            count: violations.len(),
            violations: violations.into_iter().map(violation).collect(),
        }
    }

    /// How many statics, and slots of live objects that retain, refer to an object.
    fn references(&self, live: &BTreeSet<ObjectId>, object: ObjectId) -> usize {
        let slots = live.iter().flat_map(|&from| self.graph.slots(from));
        let mut count = slots.filter(|slot| slot.1 == object).count();
        self.heap.for_each_root(|root, to| {
            count += (root.kind == RootKind::Static && to == object) as usize;
        });
        count
    }
}

fn check_trail(
    case: &Case,
    search: &Search<'_, ObjectId>,
    to: ObjectId,
    trail: Option<&Trail<ObjectId>>,
) -> TestCaseResult {
    let length = trail.map(|trail| trail.places.len());
    let about = format!("{search:?} to {to:?}: {trail:?}");
    same(&about, length, case.graph.distance(search, to))?;
    if let Some(trail) = trail {
        prop_assert!(case.graph.has_path(search, trail, to), "{about} is no path");
    }
    Ok(())
}

/// The shortest path, by all the ways to ask for it.
fn check_path(
    case: &Case,
    probes: &Probing<'_>,
    search: &Search<'_, ObjectId>,
    to: ObjectId,
) -> TestCaseResult {
    let trail = probes.path(search, to);
    check_trail(case, search, to, trail.as_ref())?;
    let about = format!("{search:?} to {to:?}");
    same(&about, probes.path(search, to).as_ref(), trail.as_ref())?;

    // The canonical one: the first by roots and slots.
    if !matches!(search.from, Origin::Objects(_))
        && let Some(all) = case.graph.all_paths(search, to)
    {
        same(&about, trail.as_ref(), all.first())?;
    }

    let targets: Vec<ObjectId> = case.objects.iter().rev().copied().take(5).collect();
    let targets = [&targets[..], &[to, to]].concat();
    let each: Vec<_> = targets.iter().map(|&to| probes.path(search, to)).collect();
    same(&about, probes.paths_to_each(search, &targets), each)?;
    if let Origin::Roots(RootSet::Thread(thread, part)) = search.from {
        let again = probes.thread_path(thread, part, search.avoid, to);
        same(&about, again, trail)?;
    }
    Ok(())
}

fn check_all_paths(
    case: &Case,
    probes: &Probing<'_>,
    search: &Search<'_, ObjectId>,
    to: ObjectId,
    exactly: bool,
) -> TestCaseResult {
    let Some(all) = case.graph.all_paths(search, to) else {
        return Ok(());
    };
    let exact = [all.len().saturating_sub(1), all.len(), all.len() + 1];
    for limit in [0, 1, 3].into_iter().chain(exact) {
        let found = probes.all_paths(search, to, limit);
        let about = format!("{search:?} to {to:?}, at most {limit}");
        same(&about, found.complete, all.len() <= limit)?;
        let expected = &all[..limit.min(all.len())];
        if exactly {
            same(&about, &found.trails[..], expected)?;
            continue;
        }
        let lengths = |trails: &[Trail<ObjectId>]| {
            let lengths = trails.iter().map(|trail| trail.objects.len());
            lengths.collect::<Vec<_>>()
        };
        same(&about, lengths(&found.trails), lengths(expected))?;
        for (place, trail) in found.trails.iter().enumerate() {
            prop_assert!(all.contains(trail), "{about}: {trail:?} is not one");
            let again = found.trails[..place].contains(trail);
            prop_assert!(!again, "{about}: {trail:?} comes twice");
        }
        same(&about, found.trails.first(), expected.first())?;
    }
    Ok(())
}

/// What the visitors of a step saw.
#[derive(Default)]
struct Seen {
    entered: Vec<ObjectId>,
    read: Vec<(ObjectId, ObjectId)>,
    arrived: Vec<(Option<ObjectId>, ObjectId)>,
    /// What the targets of edges carried.
    carried: BTreeMap<ObjectId, Vec<u8>>,
}

#[derive(Default)]
struct Count<const READS: bool, const ARRIVALS: bool>(Seen);

impl<const READS: bool, const ARRIVALS: bool> Visitor<ObjectId> for Count<READS, ARRIVALS> {
    type Tag = Option<ObjectId>;
    const READS: bool = READS;
    const ARRIVALS: bool = ARRIVALS;

    fn object(&mut self, object: ObjectId) {
        self.0.entered.push(object);
    }

    fn edge_read(&mut self, from: ObjectId, to: ObjectId) -> Self::Tag {
        self.0.read.push((from, to));
        Some(from)
    }

    fn edge_arrived(&mut self, tag: Self::Tag, to: ObjectId, visit: Visit) {
        self.0.arrived.push((tag, to));
        self.0.carried.entry(to).or_default().push(visit.0);
    }
}

/// What an examiner was shown.
#[derive(Default)]
struct Examined {
    objects: Vec<ObjectId>,
    overlaps: Vec<ObjectId>,
    wants_overlaps: bool,
    /// It is done after this number of objects; 0 is never.
    enough: usize,
}

impl Examiner<ObjectId> for Examined {
    fn wants(&self, _: ClassId) -> bool {
        true
    }

    fn examine(&mut self, objects: &[ObjectId]) {
        assert!(!objects.is_empty() && objects.len() <= trace::BATCH);
        self.objects.extend_from_slice(objects);
    }

    fn overlap(&mut self, to: ObjectId) {
        self.overlaps.push(to);
    }

    fn wants_overlaps(&self) -> bool {
        self.wants_overlaps
    }

    fn is_done(&self) -> bool {
        self.enough > 0 && self.objects.len() >= self.enough
    }
}

/// A plan shows its examiners what its steps enter.
fn check_examined(
    case: &Case,
    plan: &Plan<'_, ObjectId>,
    tracers: usize,
    wants_overlaps: bool,
) -> TestCaseResult {
    let slow = case.graph.run(plan);
    let examiner = |_| Examined {
        wants_overlaps,
        ..Examined::default()
    };
    let mut seen = Vec::new();
    let mut visits = case.heap.visits();
    let traced = trace::run(
        &case.heap,
        &mut visits,
        plan,
        tracers,
        examiner,
        |number, it| {
            assert_eq!(number, seen.len(), "steps run in their order");
            seen.push(it);
            ControlFlow::Continue(())
        },
    );
    same(
        "steps",
        (traced.len(), seen.len()),
        (slow.len(), slow.len()),
    )?;
    for ((slow, traced), seen) in slow.iter().zip(&traced).zip(&seen) {
        let objects: Vec<_> = seen.iter().flat_map(|it| it.objects.clone()).collect();
        let overlaps = seen.iter().flat_map(|it| it.overlaps.clone());
        let entered: Vec<ObjectId> = slow.entered.iter().copied().collect();
        same("examined", sorted(&objects), entered)?;
        same("counted", traced.objects, slow.entered.len())?;
        let expected = match wants_overlaps {
            true => slow.overlaps.clone(),
            false => BTreeSet::new(),
        };
        same("overlaps", overlaps.collect(), expected)?;
    }
    Ok(())
}

fn check_plan<const READS: bool, const ARRIVALS: bool>(
    case: &Case,
    plan: &Plan<'_, ObjectId>,
    tracers: usize,
) -> TestCaseResult {
    let mut visits = case.heap.visits();
    let series = Series::new(&mut visits, plan);
    for (number, (step, slow)) in plan.steps.iter().zip(case.graph.run(plan)).enumerate() {
        let phase = series.phase(&case.heap, &mut visits, step);
        let visitors = (0..tracers).map(|_| Count::<READS, ARRIVALS>::default());
        let visitors = visitors.collect();
        let (traced, visitors) = case.heap.trace(&mut visits, &phase, visitors);
        let mut all = Seen::default();
        for Count(it) in visitors {
            all.entered.extend(it.entered);
            all.read.extend(it.read);
            all.arrived.extend(it.arrived);
            for (object, visits) in it.carried {
                all.carried.entry(object).or_default().extend(visits);
            }
        }
        check_step(case, number, &slow, traced, &all, READS, ARRIVALS)?;
    }
    Ok(())
}

fn check_step(
    case: &Case,
    number: usize,
    slow: &Stepped<ObjectId>,
    traced: Traced,
    seen: &Seen,
    reads: bool,
    arrivals: bool,
) -> TestCaseResult {
    let about = |what: &str| format!("{what} by step {number}");
    let entered: Vec<ObjectId> = slow.entered.iter().copied().collect();
    same(&about("entered"), sorted(&seen.entered), entered)?;
    same(&about("counted"), traced.objects, slow.entered.len())?;

    let mut edges = Vec::new();
    for &from in &slow.entered {
        edges.extend(case.graph.slots(from).iter().map(|slot| (from, slot.1)));
    }
    let edges = sorted(&edges);
    let read = if reads { edges.clone() } else { Vec::new() };
    same(&about("edges read"), sorted(&seen.read), read)?;
    // What a step starts from arrives too, though by no edge.
    let mut arrived: Vec<_> = slow.starts.iter().map(|&to| (None, to)).collect();
    arrived.extend(edges.iter().map(|&(from, to)| (reads.then_some(from), to)));
    let arrived = if arrivals { arrived } else { Vec::new() };
    same(
        &about("edges arrived"),
        sorted(&seen.arrived),
        sorted(&arrived),
    )?;
    // What is not entered carries one thing all the time.
    for (to, visits) in &seen.carried {
        if !slow.entered.contains(to) {
            let steady = visits.iter().all(|&visit| visit == visits[0]);
            prop_assert!(steady, "{to:?} carried {visits:?} in step {number}");
        }
    }
    Ok(())
}

/// A heap and its twin.
struct Case {
    heap: Snapshot,
    graph: Graph<ObjectId>,
    objects: Vec<ObjectId>,
    seed: u64,
    /// By how much to divide the number of picks.
    thrift: usize,
}

impl Case {
    fn new(plan: &HeapPlan) -> Result<Self, TestCaseError> {
        let heap = plan.build();
        let graph = Graph::of(&heap, heap.objects());
        let objects: Vec<ObjectId> = heap.objects().collect();
        Ok(Self {
            heap,
            graph,
            objects,
            seed: plan.seed,
            thrift: 1,
        })
    }

    /// All objects if they are few, else some.
    fn some(&self, dice: &mut Dice, most: usize) -> Vec<ObjectId> {
        let most = most / self.thrift;
        if self.objects.len() <= most {
            return self.objects.clone();
        }
        (0..most).map(|_| dice.pick(&self.objects)).collect()
    }

    /// All pairs of objects if they are few, else some.
    fn pairs(&self, dice: &mut Dice, most: usize) -> Vec<(ObjectId, ObjectId)> {
        let objects = &self.objects;
        let most = most / self.thrift;
        if objects.len() * objects.len() <= most {
            let with_all = |&a| objects.iter().map(move |&b| (a, b));
            return objects.iter().flat_map(with_all).collect();
        }
        let mut pick = || dice.pick(objects);
        (0..most).map(|_| (pick(), pick())).collect()
    }

    /// None to three objects, often one of these.
    fn avoid(&self, dice: &mut Dice, these: &[ObjectId]) -> Vec<ObjectId> {
        let one = |dice: &mut Dice| match dice.below(5) {
            0 => dice.pick(these),
            _ => dice.pick(&self.objects),
        };
        (0..dice.below(4)).map(|_| one(dice)).collect()
    }
}

/// Checks as nobody and as each thread.
fn each_asker(
    case: &Case,
    tracers: usize,
    f: impl Fn(&Case, Option<usize>, &Probing<'_>, &mut Dice) -> TestCaseResult,
) -> TestCaseResult {
    let threads = case.heap.threads();
    let mut dice = Dice(case.seed);
    for ct in std::iter::once(None).chain((0..threads.len()).map(Some)) {
        let mut probes = Probes::of(&case.heap).threads(tracers);
        if let Some(ct) = ct {
            probes = probes.ask_as(&threads[ct]).expect("the thread runs");
        }
        f(case, ct, &probes, &mut dice)?;
    }
    Ok(())
}

/// Checks searches of all sorts on random heaps.
fn each_search(
    usual: u32,
    f: impl Fn(&Case, &Probing<'_>, &Search<'_, ObjectId>, ObjectId) -> TestCaseResult,
) {
    check(usual, &heaps(50), |plan| {
        let case = Case::new(plan)?;
        let probes = Probes::of(&case.heap).threads(1);
        let mut dice = Dice(plan.seed);
        for (to, other) in case.pairs(&mut dice, 9) {
            for search in searches(&case, &mut dice, other) {
                f(&case, &probes, &search.by_ref(), to)?;
            }
        }
        Ok(())
    });
}

/// A search that owns what it speaks of.
struct OwnSearch {
    from: OwnOrigin,
    avoid: Vec<ObjectId>,
}

enum OwnOrigin {
    All,
    Thread(String, Part),
    AllBut(String, Part),
    Objects(Vec<ObjectId>),
}

impl OwnSearch {
    fn by_ref(&self) -> Search<'_, ObjectId> {
        Search {
            from: match &self.from {
                OwnOrigin::All => Origin::Roots(RootSet::All),
                OwnOrigin::Thread(name, part) => Origin::Roots(RootSet::Thread(name, *part)),
                OwnOrigin::AllBut(name, part) => Origin::Roots(RootSet::AllBut(name, *part)),
                OwnOrigin::Objects(objects) => Origin::Objects(objects),
            },
            avoid: &self.avoid,
        }
    }
}

/// Searches from everywhere that paths may start, avoiding this and that.
fn searches(case: &Case, dice: &mut Dice, object: ObjectId) -> Vec<OwnSearch> {
    let others = [object, dice.pick(&case.objects), object];
    let origins = [1, 3].map(|count| OwnOrigin::Objects(others[..count].to_vec()));
    let mut all = vec![OwnOrigin::All];
    all.extend(origins);
    for name in case.heap.threads() {
        let part = dice.pick(&PARTS);
        all.push(match dice.below(2) {
            0 => OwnOrigin::Thread(name.clone(), part),
            _ => OwnOrigin::AllBut(name.clone(), part),
        });
    }
    let search = |from| OwnSearch {
        from,
        avoid: case.avoid(dice, &[object]),
    };
    all.into_iter().map(search).collect()
}

// Random plans.

/// Steps: where each starts, the numbers of what it excludes, how much greater its mark is than
/// that of the step before.
#[derive(Clone, Debug)]
struct PlanPlan(Vec<(StartPlan, Vec<usize>, usize)>);

#[derive(Clone, Debug)]
enum StartPlan {
    All,
    Thread(Part),
    AllBut(Part),
    Objects(Vec<usize>),
}

fn plans() -> impl Strategy<Value = PlanPlan> {
    let part = prop_oneof![Just(Part::Stack), Just(Part::Object), Just(Part::Both)];
    let start = prop_oneof![
        3 => Just(StartPlan::All),
        1 => part.clone().prop_map(StartPlan::Thread),
        1 => part.prop_map(StartPlan::AllBut),
        4 => vec(0..1_000usize, 0..4).prop_map(StartPlan::Objects),
    ];
    let exclude = prop_oneof![Just(Vec::new()), vec(0..1_000usize, 1..4)];
    vec((start, exclude, 0..3usize), 0..6).prop_map(PlanPlan)
}

impl PlanPlan {
    fn build(&self, case: &Case) -> Plan<'static, ObjectId> {
        let objects = |numbers: &[usize]| match case.objects.len() {
            0 => Vec::new(),
            count => {
                let objects = numbers.iter().map(|number| case.objects[number % count]);
                objects.collect()
            }
        };
        let mut mark = 0;
        let steps = self.0.iter().map(|(start, exclude, more)| {
            mark += more;
            Step {
                mark,
                exclude: objects(exclude),
                starts: match start {
                    StartPlan::All => Starts::Roots(RootSet::All),
                    StartPlan::Thread(part) => Starts::Roots(RootSet::Thread("t0", *part)),
                    StartPlan::AllBut(part) => Starts::Roots(RootSet::AllBut("t0", *part)),
                    StartPlan::Objects(numbers) => Starts::Objects(objects(numbers)),
                },
            }
        });
        let steps = steps.collect();
        Plan { steps }
    }
}

// The small print.

fn same<T: PartialEq + std::fmt::Debug>(about: &str, fast: T, slow: T) -> TestCaseResult {
    prop_assert_eq!(fast, slow, "{}: ours left, the twin's right", about);
    Ok(())
}

fn set(set: &ObjectSet<ObjectId>) -> BTreeSet<ObjectId> {
    set.iter().collect()
}

fn sorted<T: Clone + Ord>(items: &[T]) -> Vec<T> {
    let mut items = items.to_vec();
    items.sort();
    items
}
