//! Shapes: table 6.4's invariants, errors as in table 6.6, profiles.

use crate::structures;
use heaphound_testkit::cases;
use heaphound_testkit::heaps::graphs;

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use heaphound_analysis::shape::{
    Backbones, Broken, Degrees, Leads, Measure, Metric, Profile, Role, degrees, degrees_on,
    findings, measure_view, measure_view_on, offenders, shape_of,
};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::summarize;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, Root, RootKind};
use proptest::prelude::*;
use structures::{
    Dice, LEFT, NEXT, NODE, PARENT, PREV, RIGHT, Structure, array_tree, hash_map, learn,
    learn_structure, size,
};

/// The rows of table 6.4: quirks as they are; of ranges, that they are some.
fn check_table(make: fn(usize, &mut Dice) -> Structure, incoming: [&str; 4], outgoing: [&str; 4]) {
    let profile = learn_structure(make, false);
    let degrees = &profile.backbones[NODE].degrees;
    let cell = |name: String| match degrees[&name.parse().unwrap()] {
        Metric::Quirk(count) => count.to_string(),
        Metric::Range(..) => "range".into(),
    };
    let row = |side: &str| ["=0", "=1", "=2", ">2"].map(|degree| cell(format!("{side}{degree}")));
    assert_eq!(row("in"), incoming.map(String::from));
    assert_eq!(row("out"), outgoing.map(String::from));
}

#[test]
fn the_invariants_of_table_6_4() {
    const R: &str = "range";
    check_table(
        |n, _| Structure::singly_linked(n),
        ["1", R, "0", "0"],
        ["1", R, "0", "0"],
    );
    check_table(
        |n, _| Structure::doubly_linked(n),
        ["0", "2", R, "0"],
        ["0", "2", R, "0"],
    );
    check_table(
        |n, _| Structure::complete_tree(n, false),
        ["1", R, "0", "0"],
        [R, R, R, "0"],
    );
    check_table(
        |n, dice| Structure::full_tree(n, false, dice),
        ["1", R, "0", "0"],
        [R, "0", R, "0"],
    );
    check_table(
        |n, dice| Structure::random_tree(n, false, dice),
        ["1", R, "0", "0"],
        [R, R, R, "0"],
    );
    check_table(
        |n, _| Structure::complete_tree(n, true),
        ["0", R, R, R],
        ["0", R, R, R],
    );
    check_table(
        |n, dice| Structure::full_tree(n, true, dice),
        ["0", R, "1", R],
        ["0", R, "1", R],
    );
    check_table(
        |n, dice| Structure::random_tree(n, true, dice),
        ["0", R, R, R],
        ["0", R, R, R],
    );
}

#[test]
fn the_ranges_of_a_full_tree_are_near_a_half() {
    let profile = learn_structure(|n, dice| Structure::full_tree(n, false, dice), false);
    let Metric::Range(min, max) = profile.backbones[NODE].degrees[&"out=0".parse().unwrap()] else {
        panic!("leaves are many");
    };
    assert!(min.0 >= 500_000 && max.0 <= 505_000, "{min}, {max}");
}

fn check_learnt(profile: &Profile, class: &str, expect: Expect) {
    let learnt = &profile.backbones[class];
    let relations = learnt.relations.hold.iter().map(|it| format!("\n{it}"));
    let text: String = relations.collect();
    expect.assert_eq(&format!("{}{text}", learnt.looks_like));
}

#[test]
fn exact_relations_and_words() {
    let check = |make, expect| check_learnt(&learn_structure(make, false), NODE, expect);
    check(
        |n, _| Structure::singly_linked(n),
        expect![[r#"
        singly linked list
        .data = instances
        .next + in=0 = instances
        in=0 = Structure.head"#]],
    );
    check(
        |n, _| Structure::doubly_linked(n),
        expect![[r#"
        doubly linked list
        .data = instances
        .next + Structure.head = instances
        .prev + Structure.head = instances"#]],
    );
    check(
        |n, dice| Structure::random_tree(n, false, dice),
        expect![[r#"
            binary tree
            .data = instances
            .left + .right + in=0 = instances
            in=0 = Structure.root"#]],
    );
    check(
        |n, dice| Structure::random_tree(n, true, dice),
        expect![[r#"
        binary tree with parent pointers
        .data = instances
        .parent + Structure.root = instances
        .left + .right + Structure.root = instances"#]],
    );
    check(
        |n, _| Structure::complete_tree(n, true),
        expect![[r#"
        binary tree with parent pointers
        .data = instances
        .parent + Structure.root = instances
        .left + .right + Structure.root = instances"#]],
    );
    let maps = learn(40, |dice| hash_map(size(dice), dice, 0));
    check_learnt(
        &maps,
        "HashEntry",
        expect![[r#"
        hash chain
        .next + in=0 = instances
        in=0 = HashEntry[][*]"#]],
    );
    let trees = learn(40, |dice| array_tree(size(dice), 5));
    check_learnt(
        &trees,
        "BNode",
        expect![[r#"
        tree
        BNode[][*] + in=0 = instances"#]],
    );
}

/// Makes that many errors, and tells whether each run of several is noticed.
fn check_errors(
    name: &str,
    make: fn(usize, &mut Dice) -> Structure,
    mut error: impl FnMut(&mut Structure, &mut Dice),
) {
    let profile = learn_structure(make, true);
    for seed in 0..10 {
        let mut dice = Dice(9_000 + seed);
        let correct = make(2_000, &mut dice);
        let violations = profile.test(&measure_view(&correct.build(true)));
        assert!(violations.is_empty(), "{name}: {violations:?}");
        for errors in [1, 2, 3, 5, 10, 50, 100] {
            let mut wrong = correct.clone();
            (0..errors).for_each(|_| error(&mut wrong, &mut dice));
            let violations = profile.test(&measure_view(&wrong.build(true)));
            assert!(
                !violations.is_empty(),
                "{name}: {errors} errors, seed {seed}"
            );
        }
    }
}

/// An empty slot that is made to refer to some node.
fn link(structure: &mut Structure, dice: &mut Dice) {
    loop {
        let at = dice.below(structure.nodes.len());
        let to = dice.below(structure.nodes.len());
        let slots = &mut structure.nodes[at];
        let slot = dice.below(slots.len());
        if slots[slot].is_none() {
            slots[slot] = Some(to);
            return;
        }
    }
}

fn disconnect(structure: &mut Structure, dice: &mut Dice) {
    loop {
        let at = dice.below(structure.nodes.len());
        let slots = &mut structure.nodes[at];
        let slot = dice.below(slots.len());
        if slots[slot].take().is_some() {
            return;
        }
    }
}

fn skip(structure: &mut Structure, dice: &mut Dice) {
    loop {
        let at = dice.below(structure.nodes.len());
        let slot = dice.below(2);
        let further = structure.nodes[at][slot].and_then(|next| structure.nodes[next][slot]);
        if further.is_some() {
            structure.nodes[at][slot] = further;
            return;
        }
    }
}

fn cycle(structure: &mut Structure, dice: &mut Dice) {
    let n = structure.nodes.len();
    let (a, b) = (dice.below(n), dice.below(n));
    structure.nodes[a][NEXT] = Some(b);
    structure.nodes[b][PREV] = Some(a);
}

fn any_list_error(structure: &mut Structure, dice: &mut Dice) {
    [cycle, disconnect, skip][dice.below(3)](structure, dice);
}

fn any_tree_error(structure: &mut Structure, dice: &mut Dice) {
    [disconnect, link][dice.below(2)](structure, dice);
}

#[test]
fn every_error_of_table_6_6_is_noticed() {
    let singly: fn(usize, &mut Dice) -> Structure = |n, _| Structure::singly_linked(n);
    check_errors("cyclic", singly, |list, _| {
        let last = list.nodes.len() - 1;
        list.nodes[last][NEXT] = Some(0);
    });
    check_errors("random", singly, |list, dice| {
        let last = list.nodes.len() - 1;
        list.nodes[last][NEXT] = Some(dice.below(last));
    });
    let doubly: fn(usize, &mut Dice) -> Structure = |n, _| Structure::doubly_linked(n);
    check_errors("doubly cyclic", doubly, |list, _| {
        let last = list.nodes.len() - 1;
        list.nodes[last][NEXT] = Some(0);
        list.nodes[0][PREV] = Some(last);
    });
    check_errors("cycle", doubly, cycle);
    check_errors("disconnect", doubly, disconnect);
    check_errors("skip", doubly, skip);
    check_errors("error", doubly, any_list_error);
    let trees: [fn(usize, &mut Dice) -> Structure; 3] = [
        |n, _| Structure::complete_tree(n, false),
        |n, dice| Structure::full_tree(n, false, dice),
        |n, dice| Structure::random_tree(n, false, dice),
    ];
    for tree in trees {
        check_errors("linkerror", tree, link);
    }
    let trees: [fn(usize, &mut Dice) -> Structure; 3] = [
        |n, _| Structure::complete_tree(n, true),
        |n, dice| Structure::full_tree(n, true, dice),
        |n, dice| Structure::random_tree(n, true, dice),
    ];
    for tree in trees {
        check_errors("disconnect", tree, disconnect);
        check_errors("linkerror", tree, link);
        check_errors("error", tree, any_tree_error);
    }
    let maps = learn(40, |dice| hash_map(size(dice), dice, 0));
    for links in [0, 1, 2, 10, 100] {
        let map = hash_map(1_500, &mut Dice(77), links);
        assert_eq!(maps.test(&measure_view(&map)).is_empty(), links == 0);
    }
}

#[test]
fn correct_structures_of_sizes_never_seen_raise_no_alarm() {
    let makes: [fn(usize, &mut Dice) -> Structure; 8] = [
        |n, _| Structure::singly_linked(n),
        |n, _| Structure::doubly_linked(n),
        |n, _| Structure::complete_tree(n, false),
        |n, dice| Structure::full_tree(n, false, dice),
        |n, dice| Structure::random_tree(n, false, dice),
        |n, _| Structure::complete_tree(n, true),
        |n, dice| Structure::full_tree(n, true, dice),
        |n, dice| Structure::random_tree(n, true, dice),
    ];
    for (which, make) in makes.into_iter().enumerate() {
        let profile = learn_structure(make, false);
        for seed in 0..60 {
            let mut dice = Dice(500 + seed);
            let n = [20, 50, 100, 700, 3_000, 10_000][seed as usize % 6] + dice.below(50);
            let found = profile.test(&measure_view(&make(n, &mut dice).build(false)));
            assert!(found.is_empty(), "structure {which}, {n} nodes: {found:?}");
        }
    }
}

#[test]
fn a_violation_is_told_with_what_was_expected_and_its_objects() {
    let profile = learn_structure(|n, _| Structure::singly_linked(n), false);
    let mut list = Structure::singly_linked(1_000);
    list.nodes[999][NEXT] = Some(499);
    let heap = list.build(false);
    let violations = profile.test(&measure_view(&heap));
    let [finding] = &findings(&violations, Some(7))[..] else {
        panic!("one class");
    };
    expect![[r#"
        warning: Structure$Node no longer looks like a singly linked list, as it did [shape]
          note: in=2: expected 0 objects, found 1
          note: out=0: expected 1 object, found 0
          note: expected .next + in=0 = instances, found .next = 1000, in=0 = 1, instances = 1000: 1 more
          note: not true of each: to .next + to Structure.head = all"#]].assert_eq(&finding.to_string());
    let known = finding.fingerprint();
    let ids = SlotIds::new(heap.classes());
    let backbones = Backbones::find(&summarize(&heap), heap.classes(), &ids);
    for violation in &violations {
        // The last node of another list would lack a `next`, too.
        let expected: &[ObjectId] = match &violation.broken {
            Broken::Degree { expected, .. } if *expected != Metric::Quirk(0) => &[],
            Broken::Relation { .. } => &[],
            _ => &[ObjectId(499)],
        };
        assert_eq!(offenders(&heap, &backbones, violation, 10), expected);
    }
    // The same error elsewhere is the same finding.
    let mut list = Structure::singly_linked(300);
    list.nodes[299][NEXT] = Some(17);
    let violations = profile.test(&measure_view(&list.build(false)));
    let again = findings(&violations, Some(9));
    assert_eq!(again[0].fingerprint(), known);
}

#[test]
fn one_child_lost_and_another_twice_is_noticed() {
    let make: fn(usize, &mut Dice) -> Structure = |n, dice| Structure::random_tree(n, true, dice);
    let profile = learn_structure(make, true);
    let mut tree = make(500, &mut Dice(1));
    let leaf = |node: &Vec<Option<usize>>| node[LEFT].is_none() && node[RIGHT].is_none();
    let at = |tree: &Structure, nth| {
        let mut leaves = (0..500).filter(|&it| leaf(&tree.nodes[it]));
        leaves.nth(nth).unwrap()
    };
    // A leaf is lost by its parent; another leaf gets a child that is one already.
    let (lost, other, twice) = (at(&tree, 5), at(&tree, 9), at(&tree, 20));
    let parent = tree.nodes[lost][PARENT].unwrap();
    let side = (tree.nodes[parent][RIGHT] == Some(lost)) as usize;
    tree.nodes[parent][side] = None;
    tree.nodes[other][LEFT] = Some(twice);
    let heap = tree.build(true);
    let ids = SlotIds::new(heap.classes());
    let backbones = Backbones::find(&summarize(&heap), heap.classes(), &ids);
    let found = profile.test(&measure_view(&heap));
    let matches = found
        .iter()
        .filter(|it| matches!(it.broken, Broken::Match { .. }));
    let told: Vec<(String, Vec<usize>)> = matches
        .map(|it| {
            let objects = offenders(&heap, &backbones, it, 10);
            let objects = objects.iter().map(|it| it.0 as usize).collect();
            (it.broken.to_string(), objects)
        })
        .collect();
    let sorted = |mut objects: Vec<usize>| {
        objects.sort_unstable();
        objects
    };
    assert_eq!(
        told,
        [
            (
                "to .left + to .right = from .parent".to_string(),
                sorted(vec![lost, twice])
            ),
            (
                "to .parent = from .left + from .right".to_string(),
                sorted(vec![parent, other])
            ),
            (
                "by .left + by .right = back by .parent".to_string(),
                sorted(vec![lost, twice, parent, other])
            ),
        ]
    );
}

#[test]
fn a_slot_that_changes_its_mind_is_noticed() {
    let list = Structure::singly_linked(50);
    let heap = list.build(false);
    let ids = SlotIds::new(heap.classes());
    let summary = summarize(&heap);
    let backbones = Backbones::find(&summary, heap.classes(), &ids);
    let class = backbones.list()[0].class;
    let leads: Vec<Leads> = ids.of(class).map(|slot| backbones.leads(slot)).collect();
    let expected = [Leads::Inside(class), Leads::Outside, Leads::Outside];
    assert_eq!(leads, expected);
    assert!(backbones.cover(&backbones, &summary, &ids));
    let mut wrong = summary.edges().to_vec();
    let data = ids.of(class).nth(1).unwrap();
    wrong
        .iter_mut()
        .filter(|it| it.slot == data)
        .for_each(|it| it.to = class);
    let totals = (0..=ids.classes() as u32).map(|it| summary.class(ClassId(it)));
    let totals = totals.collect();
    let wrong = heaphound_analysis::summary::Summary::new(totals, wrong);
    let now = Backbones::find(&wrong, heap.classes(), &ids);
    assert!(!backbones.cover(&now, &wrong, &ids));
}

#[test]
fn the_share_of_the_heap_counts_what_is_between() {
    let heap = array_tree(500, 4);
    let measures = measure_view(&heap);
    let [tree, array] = &measures[..] else {
        panic!("one structure and its arrays, not {measures:?}");
    };
    assert_eq!((tree.role, array.role), (Role::Backbone, Role::Array));
    assert_eq!(tree.through.as_deref(), Some("BNode[]"));
    assert_eq!(tree.share(), 1.0);
    assert_eq!(shape_of(tree).to_string(), "tree");
}

/// Degrees by counting, for each object, the references from and to the backbones of its family, and
/// what they go through.
fn twin(heap: &Snapshot, backbones: &Backbones) -> Vec<Degrees> {
    let live = graphs::live(heap);
    let mut all = Vec::new();
    for backbone in backbones.list() {
        let mut found = Degrees::default();
        let relatives = || {
            let all = backbones.list().iter();
            all.filter(|it| it.family == backbone.family && it.role == Role::Backbone)
        };
        let refers = |class| relatives().any(|it| it.class == class || it.through == Some(class));
        let is_outgoing = |class| {
            let is_next = relatives().any(|it| it.class == class);
            backbone.role != Role::Array && (is_next || backbone.through == Some(class))
        };
        let mut incoming: BTreeMap<ObjectId, usize> = BTreeMap::new();
        for &object in &live {
            let class = heap.class_of(object);
            let mut outgoing = 0;
            heap.for_each_strong_edge(object, |_, to| {
                *incoming.entry(to).or_default() += refers(class) as usize;
                outgoing += is_outgoing(heap.class_of(to)) as usize;
            });
            if class == backbone.class {
                found.outgoing[outgoing.min(3)] += 1;
            }
        }
        for object in live
            .iter()
            .filter(|it| heap.class_of(**it) == backbone.class)
        {
            let count = incoming.get(object).copied().unwrap_or(0);
            found.incoming[count.min(3)] += 1;
        }
        all.push(found);
    }
    all
}

#[test]
fn degrees_are_what_their_definition_says_at_any_number_of_threads() {
    cases::check(300, &graphs::heaps(200), |plan| {
        let heap = plan.build();
        let ids = SlotIds::new(heap.classes());
        let backbones = Backbones::find(&summarize(&heap), heap.classes(), &ids);
        let expected = twin(&heap, &backbones);
        prop_assert_eq!(&degrees(&heap, &backbones), &expected);
        prop_assert_eq!(&degrees_on(&heap, &backbones, 4), &expected);
        let measures: Vec<Measure> = measure_view(&heap);
        prop_assert_eq!(&measures, &measure_view_on(&heap, 4));
        for measure in &measures {
            let in_all: u64 = measure.degrees.incoming.iter().sum();
            let out_all: u64 = measure.degrees.outgoing.iter().sum();
            prop_assert_eq!((in_all, out_all), (measure.instances, measure.instances));
            shape_of(measure);
        }
        Ok(())
    });
}

#[test]
fn a_part_that_belongs_to_one_is_between() {
    // Each node has a link of its own, which leads to the next node.
    let mut builder = SnapshotBuilder::default();
    let node = builder.add_class("Node", None, &["link", "shared"]);
    let link = builder.add_class("Link", None, &["to"]);
    let shared = builder.add_class("Shared", None, &["any"]);
    for i in 0..40 {
        builder.add_object(node, 24);
        builder.add_edge(Place::Field(0), ObjectId(2 * i + 1));
        builder.add_edge(Place::Field(1), ObjectId(80));
        builder.add_object(link, 16);
        if i < 39 {
            builder.add_edge(Place::Field(0), ObjectId(2 * i + 2));
        }
    }
    // What all share leads back too, and belongs to none of them.
    builder.add_object(shared, 16);
    builder.add_edge(Place::Field(0), ObjectId(0));
    builder.add_root(Root::new(RootKind::Static, "list"), ObjectId(0));
    let measures = measure_view(&builder.finish().unwrap());
    let found: Vec<_> = measures
        .iter()
        .map(|it| (it.class.as_str(), it.through.as_deref(), it.instances))
        .collect();
    // What refers back is a part of the structure, though not of the way.
    assert_eq!(found, [("Node", Some("Link"), 40), ("Shared", None, 1)]);
    assert_eq!(measures[0].degrees.incoming, [1, 39, 0, 0]);
    assert_eq!(measures[0].degrees.outgoing, [0, 40, 0, 0]);
}
