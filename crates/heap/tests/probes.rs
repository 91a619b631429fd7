//! Probes, paths and plans on random heaps answer what their slow twins do.
//!
//! `HEAPHOUND_CASES` multiplies the number of heaps.
#![cfg(not(loom))]

mod twins;

use std::collections::{BTreeMap, BTreeSet};

use heaphound_heap::class::Elements;
use heaphound_heap::path::{Origin, Search, Trail};
use heaphound_heap::probe::{ProbeError, Probes};
use heaphound_heap::root::{Part, RootSet};
use heaphound_heap::set::ObjectSet;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::trace::{Plan, Starts, Step, StepFilter, Traced, Visit, Visitor};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind, Root, RootKind};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};
use twins::{Graph, Stepped};

type Probing<'v> = Probes<'v, Snapshot>;

const PARTS: [Part; 3] = [Part::Stack, Part::Object, Part::Both];

#[test]
fn probes_answer_what_the_definitions_say() {
    check(3_000, &heaps(), |plan| check_probes(plan, 1));
}

/// Fewer, since each trace starts its threads.
#[test]
fn probes_on_four_threads_answer_what_the_definitions_say() {
    check(200, &heaps(), |plan| check_probes(plan, 4));
}

fn check_probes(plan: &HeapPlan, tracers: usize) -> TestCaseResult {
    let case = Case::new(plan)?;
    each_asker(&case, tracers, |case, ct, probes, dice| {
        check_threads(case, ct, probes)?;
        check_sets(case, probes, dice)?;
        check_owners(case, ct, probes, dice)
    })
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
    check(2_000, &heaps(), |plan| {
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
    check(30, &heaps(), |plan| {
        let case = Case::new(plan)?;
        if case.objects.is_empty() {
            return Ok(());
        }
        let graph = &case.graph;
        for tracers in [1, 4] {
            let probes = Probes::of(&case.heap).threads(tracers);
            let mut dice = Dice::new(plan.seed);
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
fn plans_enter_and_set_aside_what_their_steps_say() {
    check(3_000, &(heaps(), plans()), |(heap, plan)| {
        let case = Case::new(heap)?;
        let plan = plan.build(&case);
        check_plan::<true, true>(&case, &plan, 1)?;
        check_plan::<true, true>(&case, &plan, 4)?;
        check_plan::<true, false>(&case, &plan, 1)?;
        check_plan::<false, true>(&case, &plan, 1)?;
        check_plan::<false, false>(&case, &plan, 1)?;
        check_plan::<false, false>(&case, &plan, 4)
    });
}

#[test]
fn a_label_goes_when_a_step_enters_the_object() {
    check_plan_of_one([
        (StartPlan::All, None, 0),
        (StartPlan::All, Some((false, 0)), 1),
    ]);
}

#[test]
fn a_mark_goes_when_a_step_with_another_enters_the_object() {
    check_plan_of_one([
        (StartPlan::All, None, 0),
        (StartPlan::All, None, 1),
        (StartPlan::All, None, 0),
    ]);
}

#[test]
fn what_was_set_aside_is_started_from_once() {
    check_plan_of_one([
        (StartPlan::All, Some((true, 0)), 0),
        (StartPlan::Aside, Some((false, 0)), 0),
        (StartPlan::Aside, None, 0),
    ]);
}

/// Checks a plan on a heap of one object, which has a label and is a root.
fn check_plan_of_one<const STEPS: usize>(steps: [StepPlan; STEPS]) {
    let heap = HeapPlan {
        objects: vec![ObjectPlan {
            class: 0,
            slots: Vec::new(),
        }],
        threads: Vec::new(),
        others: vec![(RootKind::Static, 0)],
        seed: 0,
    };
    let case = Case::new(&heap).unwrap();
    let plan = PlanPlan {
        labels: vec![0],
        steps: steps.into(),
    };
    check_plan::<true, true>(&case, &plan.build(&case), 1).unwrap();
}

#[test]
fn a_plan_stops_early_only_if_its_visitor_is_done() {
    check(1_000, &heaps(), |plan| {
        let case = Case::new(plan)?;
        let plan = Plan {
            labels: Vec::new(),
            steps: vec![Step {
                starts: Starts::Roots(RootSet::All),
                filter: StepFilter::Follow,
                mark: 0,
            }],
        };
        let all = case.graph.reach_all();
        for (tracers, enough) in [(1, 0), (1, 1), (1, 3), (4, 1), (4, 3), (4, 1_000)] {
            let probes = Probes::of(&case.heap).threads(tracers);
            let mut seen = Vec::new();
            let visitor = |_| Few(enough, Vec::new());
            probes.run(&plan, visitor, |_, visitors| {
                seen.extend(visitors.into_iter().flat_map(|visitor| visitor.1));
            });
            let once: BTreeSet<ObjectId> = seen.iter().copied().collect();
            prop_assert_eq!(once.len(), seen.len(), "an object was entered twice");
            prop_assert!(once.is_subset(&all));
            prop_assert!(once.len() >= enough.min(all.len()));
        }
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
    check(3_000, &heaps(), |plan| {
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
        same("has", x.has(b), p.contains(&b))?;
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

/// Is done after some objects.
struct Few(usize, Vec<ObjectId>);

impl Visitor<ObjectId> for Few {
    type Tag = ();
    const STOPS: bool = true;

    fn object(&mut self, object: ObjectId) {
        self.1.push(object);
    }

    fn is_done(&self) -> bool {
        self.1.len() >= self.0
    }
}

fn check_plan<const READS: bool, const ARRIVALS: bool>(
    case: &Case,
    plan: &Plan<'_, ObjectId>,
    tracers: usize,
) -> TestCaseResult {
    let graph = &case.graph;
    let slow = graph.run(plan);
    let probes = Probes::of(&case.heap).threads(tracers);
    let mut seen: Vec<Seen> = Vec::new();
    let visitor = |_| Count::<READS, ARRIVALS>::default();
    let traced = probes.run(plan, visitor, |number, visitors| {
        assert_eq!(number, seen.len(), "steps run in their order");
        let mut all = Seen::default();
        for Count(it) in visitors {
            all.entered.extend(it.entered);
            all.read.extend(it.read);
            all.arrived.extend(it.arrived);
            for (object, visits) in it.carried {
                all.carried.entry(object).or_default().extend(visits);
            }
        }
        seen.push(all);
    });
    same(
        "steps",
        (traced.len(), seen.len()),
        (slow.len(), slow.len()),
    )?;
    for (number, (slow, traced)) in slow.iter().zip(&traced).enumerate() {
        check_step(case, number, slow, traced, &seen[number], READS, ARRIVALS)?;
    }
    Ok(())
}

fn check_step(
    case: &Case,
    number: usize,
    slow: &Stepped<ObjectId>,
    traced: &Traced<ObjectId>,
    seen: &Seen,
    reads: bool,
    arrivals: bool,
) -> TestCaseResult {
    let about = |what: &str| format!("{what} by step {number}");
    let entered: Vec<ObjectId> = slow.entered.iter().copied().collect();
    let aside: Vec<ObjectId> = slow.aside.iter().copied().collect();
    same(&about("entered"), sorted(&seen.entered), entered)?;
    same(&about("counted"), traced.objects, slow.entered.len())?;
    same(&about("set aside"), &traced.aside, &aside)?;

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

// Random heaps.

/// How a heap is to be built; objects are numbers, taken modulo how many there are.
#[derive(Clone, Debug)]
struct HeapPlan {
    objects: Vec<ObjectPlan>,
    threads: Vec<ThreadPlan>,
    others: Vec<(RootKind, usize)>,
    /// For picks among many.
    seed: u64,
}

#[derive(Clone, Debug)]
struct ObjectPlan {
    class: u32,
    /// Targets slot by slot, then element by element.
    slots: Vec<Option<usize>>,
}

#[derive(Clone, Debug)]
struct ThreadPlan {
    object: Option<usize>,
    stack: Vec<usize>,
}

/// Classes of all sorts; not every field is a slot.
fn classes() -> Vec<ClassInfo> {
    use FieldKind::{Dependent, Opt, Plain, Ref, Weak};
    let number = Plain(PlainKind::I32);
    let refs = Some(Elements::Refs);
    let all: [(&str, &[FieldKind], Option<Elements>); 8] = [
        ("Node", &[Opt, Opt], None),
        ("Array", &[], refs),
        ("Wide", &[Ref, number, Opt, FieldKind::Owned, Opt], None),
        ("Entry", &[Weak, Dependent], None),
        ("Pair", &[Opt, Weak, Dependent, Weak, Dependent], None),
        ("Weakling", &[Weak, Opt], None),
        ("Keyless", &[Dependent, Opt], None),
        ("Headed", &[Opt, Weak], refs),
    ];
    let class = |(place, &(name, kinds, elements)): (usize, &(&str, &[FieldKind], _))| {
        let fields = kinds.iter().enumerate().map(|(i, &kind)| FieldInfo {
            name: format!("f{i}"),
            offset: 8 + 4 * i as u32,
            kind,
        });
        ClassInfo {
            id: ClassId(place as u32 + 1),
            name: name.into(),
            superclass: None,
            interfaces: Vec::new(),
            is_interface: false,
            fields: fields.collect(),
            elements,
        }
    };
    all.iter().enumerate().map(class).collect()
}

fn heaps() -> impl Strategy<Value = HeapPlan> {
    let object = (
        prop_oneof![3 => Just(0), 2 => Just(1), 5 => 2..8u32],
        vec(option::of(0..1_000usize), 0..6),
    );
    let object = object.prop_map(|(class, slots)| ObjectPlan { class, slots });
    let objects = prop_oneof![
        15 => vec(object.clone(), 0..=12),
        1 => vec(object, 0..=50),
    ];
    let thread = (option::of(0..1_000usize), vec(0..1_000usize, 0..=4));
    let thread = thread.prop_map(|(object, stack)| ThreadPlan { object, stack });
    let kind = prop_oneof![
        Just(RootKind::Static),
        Just(RootKind::Handle),
        Just(RootKind::Other),
        Just(RootKind::Finalizer),
    ];
    let others = vec((kind, 0..1_000usize), 0..=3);
    let all = (objects, vec(thread, 0..=4), others, any::<u64>());
    all.prop_map(|(objects, threads, others, seed)| HeapPlan {
        objects,
        threads,
        others,
        seed,
    })
}

impl HeapPlan {
    fn build(&self) -> Snapshot {
        let classes = classes();
        let mut builder = SnapshotBuilder::new(classes.clone());
        let count = self.objects.len();
        let at = |number: usize| ObjectId((number % count) as u32);
        for ObjectPlan { class, slots } in &self.objects {
            let class = &classes[*class as usize];
            builder.add_object(class.id, 16);
            let fields = class.fields.iter().enumerate();
            let fields = fields.filter(|(_, field)| field.kind.is_slot());
            let fields = fields.map(|(i, _)| Place::Field(i as u32));
            let elements = class.elements.map(|_| (0..6).map(Place::Element));
            let places = fields.chain(elements.into_iter().flatten());
            for (place, target) in places.zip(slots) {
                if let Some(target) = target {
                    builder.add_edge(place, at(*target));
                }
            }
        }
        for (i, thread) in self.threads.iter().enumerate() {
            let name = format!("t{i}");
            builder.add_thread(&name);
            if count == 0 {
                continue;
            }
            if let Some(object) = thread.object {
                builder.add_root(Root::new(RootKind::ThreadObject, &name), at(object));
            }
            for (index, &object) in thread.stack.iter().enumerate() {
                let mut root = Root::new(RootKind::ThreadStack, &name);
                root.index = index as u32;
                builder.add_root(root, at(object));
            }
        }
        for (index, &(kind, object)) in self.others.iter().enumerate() {
            if count > 0 {
                // By the name of a thread, to mislead.
                let mut root = Root::new(kind, "t0");
                root.index = index as u32;
                builder.add_root(root, at(object));
            }
        }
        builder.finish().expect("the heap is well-formed")
    }
}

/// A heap and its twin.
struct Case {
    heap: Snapshot,
    graph: Graph<ObjectId>,
    objects: Vec<ObjectId>,
    seed: u64,
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
        })
    }

    /// All objects if they are few, else some.
    fn some(&self, dice: &mut Dice, most: usize) -> Vec<ObjectId> {
        let most = most / dice.thrift;
        if self.objects.len() <= most {
            return self.objects.clone();
        }
        (0..most).map(|_| dice.pick(&self.objects)).collect()
    }

    /// All pairs of objects if they are few, else some.
    fn pairs(&self, dice: &mut Dice, most: usize) -> Vec<(ObjectId, ObjectId)> {
        let objects = &self.objects;
        let most = most / dice.thrift;
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
    let mut dice = Dice::new(case.seed);
    dice.thrift = if tracers == 1 { 1 } else { 3 };
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
    check(usual, &heaps(), |plan| {
        let case = Case::new(plan)?;
        let probes = Probes::of(&case.heap).threads(1);
        let mut dice = Dice::new(plan.seed);
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

#[derive(Clone, Debug)]
struct PlanPlan {
    /// The label of each object, by its number; more than there are labels means none.
    labels: Vec<usize>,
    steps: Vec<StepPlan>,
}

/// Where it starts; whether it sets aside (or else stops at) which label; its mark.
type StepPlan = (StartPlan, Option<(bool, usize)>, usize);

#[derive(Clone, Debug)]
enum StartPlan {
    All,
    Thread(Part),
    AllBut(Part),
    Objects(Vec<usize>),
    Aside,
}

const LABELS: usize = 2;

fn plans() -> impl Strategy<Value = PlanPlan> {
    let part = prop_oneof![Just(Part::Stack), Just(Part::Object), Just(Part::Both)];
    let start = prop_oneof![
        3 => Just(StartPlan::All),
        1 => part.clone().prop_map(StartPlan::Thread),
        1 => part.prop_map(StartPlan::AllBut),
        2 => vec(0..1_000usize, 0..4).prop_map(StartPlan::Objects),
        2 => Just(StartPlan::Aside),
    ];
    let filter = option::weighted(0.7, (any::<bool>(), 0..LABELS));
    let steps = vec((start, filter, 0..3usize), 0..5);
    let plan = (vec(0..LABELS * 2, 12), steps);
    plan.prop_map(|(labels, steps)| PlanPlan { labels, steps })
}

impl PlanPlan {
    fn build(&self, case: &Case) -> Plan<'static, ObjectId> {
        let label = |&label: &usize| {
            let objects = case.objects.iter().zip(self.labels.iter().cycle());
            let objects = objects.filter(|(_, it)| **it == label);
            objects.map(|(object, _)| *object).collect()
        };
        let count = case.objects.len();
        let step = |(start, filter, mark): &StepPlan| Step {
            starts: match start {
                StartPlan::All => Starts::Roots(RootSet::All),
                StartPlan::Thread(part) => Starts::Roots(RootSet::Thread("t0", *part)),
                StartPlan::AllBut(part) => Starts::Roots(RootSet::AllBut("t0", *part)),
                StartPlan::Objects(_) if count == 0 => Starts::Objects(Vec::new()),
                StartPlan::Objects(numbers) => {
                    let objects = numbers.iter().map(|number| case.objects[number % count]);
                    Starts::Objects(objects.collect())
                }
                StartPlan::Aside => Starts::Aside,
            },
            filter: match *filter {
                None => StepFilter::Follow,
                Some((false, label)) => StepFilter::StopAt(label),
                Some((true, label)) => StepFilter::SetAside(label),
            },
            mark: *mark,
        };
        Plan {
            labels: (0..LABELS).collect::<Vec<_>>().iter().map(label).collect(),
            steps: self.steps.iter().map(step).collect(),
        }
    }
}

// The small print.

/// Checks many random things.
fn check<S: Strategy>(usual: u32, strategy: &S, f: impl Fn(&S::Value) -> TestCaseResult) {
    let factor = std::env::var("HEAPHOUND_CASES").map_or(1, |text| {
        text.parse().expect("HEAPHOUND_CASES is a whole number")
    });
    let config = ProptestConfig {
        cases: usual * factor,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    };
    let result = TestRunner::new(config).run(strategy, |value| f(&value));
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Repeatable picks.
struct Dice {
    state: u64,
    /// By how much to divide the number of picks.
    thrift: usize,
}

impl Dice {
    fn new(state: u64) -> Self {
        Self { state, thrift: 1 }
    }

    fn below(&mut self, end: usize) -> usize {
        // splitmix64
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

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
