//! What is true by the same place in several arrays, and of all objects but a sentinel.

use heaphound_analysis::shape::{Backbones, Profile, Violation, measure_view, shown};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::summarize;
use heaphound_heap::snapshot::ObjectId;
use heaphound_heap::view::HeapView;

use crate::shape_relations::{Plan, learn, test};
use crate::structures::Dice;

const NODE: usize = 0;
const ARRAY: usize = 1;
const ROWS: usize = 2;
const GRAPH: usize = 3;

/// A directed graph: whom each node leads to, and who leads to it, by its place.
fn graph(n: usize) -> Plan {
    let mut plan = Plan {
        classes: &[
            ("GNode", &["data"]),
            ("GNode[]", &[]),
            ("GNode[][]", &[]),
            ("Graph", &["nodes", "out", "into"]),
        ],
        objects: Vec::new(),
    };
    let dice = &mut Dice(n as u64);
    let mut rows = [vec![Vec::new(); n], vec![Vec::new(); n]];
    for _ in 0..2 * n {
        let (from, to) = (dice.below(n), dice.below(n));
        if !rows[0][from].contains(&Some(to)) {
            rows[0][from].push(Some(to));
            rows[1][to].push(Some(from));
        }
    }
    for _ in 0..n {
        plan.add(NODE, vec![None]);
    }
    let nodes = plan.add(ARRAY, (0..n).map(Some).collect());
    let [out, into] = rows.map(|rows| {
        let rows = rows.into_iter().map(|row| Some(plan.add(ARRAY, row)));
        let rows = rows.collect();
        plan.add(ROWS, rows)
    });
    plan.add(GRAPH, vec![Some(nodes), Some(out), Some(into)]);
    plan
}

/// Returns what is believed of all structures.
fn believed(profile: &Profile) -> Vec<String> {
    let all = profile.backbones.values();
    let all = all.flat_map(|it| it.matches.hold.iter().map(|it| it.to_string()));
    all.collect()
}

#[test]
fn rows_that_are_the_inverse_of_others_by_their_place_are_learnt() {
    let profile = learn(graph);
    let believed = believed(&profile);
    for expected in [
        "lengths of Graph.into = lengths of Graph.nodes",
        "nulls of Graph.nodes = 0",
        "back beside Graph.nodes[i]&into[i][*] = beside Graph.nodes[i]&out[i][*]",
    ] {
        assert!(believed.iter().any(|it| it == expected), "{believed:#?}");
    }
    for n in 5..60 {
        assert_eq!(test(&profile, &graph(n).build()).0, 0, "{n} nodes");
    }
}

#[test]
fn a_wrong_neighbour_and_swapped_rows_are_found_and_who_is_shown_is_wrong() {
    let profile = learn(graph);
    let dice = &mut Dice(3);
    for n in 20..50 {
        let mut plan = graph(n);
        let first = n + 1;
        let has_some = |&it: &usize| !plan.objects[it].1.is_empty();
        let row = (first..first + n)
            .filter(has_some)
            .nth(dice.below(n / 2))
            .unwrap();
        let old = plan.objects[row].1[0].unwrap();
        let own: Vec<_> = plan.objects[row].1.clone();
        let new = (0..n).find(|&it| !own.contains(&Some(it))).unwrap();
        plan.objects[row].1[0] = Some(new);
        let (broken, shown) = test(&profile, &plan.build());
        assert!(broken > 0, "{n} nodes");
        let guilty = [row - first, old, new].map(|it| ObjectId(it as u32));
        assert!(
            !shown.is_empty() && shown.iter().all(|it| guilty.contains(it)),
            "{shown:?}"
        );

        let mut plan = graph(n);
        let table = first + n;
        let is_other = |&it: &usize| {
            let row = |at: usize| &plan.objects[first + at].1;
            row(it) != row(0)
        };
        let other = (1..n).find(is_other).unwrap();
        plan.objects[table].1.swap(0, other);
        assert!(test(&profile, &plan.build()).0 > 0, "{n} nodes");
    }
}

#[test]
fn an_array_of_another_length_and_a_null_are_found_and_the_holder_is_shown() {
    let profile = learn(graph);
    for n in 20..40 {
        let holder = ObjectId(graph(n).objects.len() as u32 - 1);
        let mut plan = graph(n);
        plan.objects[n].1.push(None);
        let (broken, shown) = test(&profile, &plan.build());
        assert!(broken > 0 && shown.contains(&holder), "{shown:?}");
        let mut plan = graph(n);
        plan.objects[n].1[7] = None;
        let (broken, shown) = test(&profile, &plan.build());
        assert!(broken > 0 && shown.contains(&holder), "{shown:?}");
    }
}

/// Arrays that many share are not read again for each.
#[test]
fn what_many_share_is_not_read() {
    let mut plan = graph(40);
    let [nodes, out, into] = plan.objects.last().unwrap().1.clone().try_into().unwrap();
    let graphs: Vec<_> = (0..50)
        .map(|_| Some(plan.add(GRAPH, vec![nodes, out, into])))
        .collect();
    plan.add(ARRAY, graphs);
    let measures = measure_view(&plan.build());
    let sums = measures.iter().flat_map(|it| it.matches.keys());
    let mut sums = sums.map(|it| it.to_string());
    assert!(!sums.any(|it| it.contains("[i]") || it.contains("lengths of Graph")));
}

const TNODE: usize = 0;
const TREE: usize = 1;

/// A tree with parents whose nulls are an object: held by the tree, or by a static that finds the tree through it.
fn tree(n: usize, is_static: bool) -> Plan {
    let mut plan = Plan {
        classes: &[
            ("TNode", &["left", "right", "parent"]),
            ("Tree", &["root", "nil"]),
        ],
        objects: Vec::new(),
    };
    let dice = &mut Dice(n as u64);
    let nil = n;
    for node in 0..n {
        plan.add(TNODE, vec![Some(nil), Some(nil), Some(nil)]);
        if node > 0 {
            let (mut above, mut side) = (0, dice.below(2));
            while let Some(next) = plan.objects[above].1[side].filter(|&it| it != nil) {
                (above, side) = (next, dice.below(2));
            }
            plan.objects[above].1[side] = Some(node);
            plan.objects[node].1[2] = Some(above);
        }
    }
    plan.add(TNODE, vec![Some(nil), Some(nil), Some(nil)]);
    match is_static {
        true => plan.objects[nil].1[2] = Some(0),
        false => drop(plan.add(TREE, vec![Some(0), Some(nil)])),
    }
    plan
}

#[test]
fn a_tree_is_as_others_but_for_its_sentinel() {
    for (is_static, name, make) in [
        (false, "Tree.nil", (|n| tree(n, false)) as fn(usize) -> Plan),
        (true, "static:all", |n| tree(n, true)),
    ] {
        let profile = learn(make);
        let expected = format!("except {name}: by .left + by .right = back by .parent");
        let believed = believed(&profile);
        assert!(believed.contains(&expected), "{believed:#?}");
        let dice = &mut Dice(7);
        for n in 5..60 {
            assert_eq!(
                test(&profile, &tree(n, is_static).build()).0,
                0,
                "{n} nodes"
            );
            let mut plan = tree(n, is_static);
            let (node, slot) = (1 + dice.below(n - 1), dice.below(3));
            let old = plan.objects[node].1[slot].unwrap();
            let new = (old + 1 + dice.below(n - 1)) % n;
            plan.objects[node].1[slot] = Some(new);
            if old != new {
                let heap = plan.build();
                let violations = profile.test(&measure_view(&heap));
                assert!(!violations.is_empty(), "{n} nodes");
                let ids = SlotIds::new(heap.classes());
                let backbones = Backbones::find(&summarize(&heap), heap.classes(), &ids);
                let violations: Vec<&Violation> = violations.iter().collect();
                let guilty = [node, old, new].map(|it| ObjectId(it as u32));
                let shown = shown(&heap, &backbones, &violations);
                assert!(
                    shown.iter().all(|it| guilty.contains(it)),
                    "{shown:?} of {guilty:?}"
                );
            }
        }
    }
}
