//! What only a walk through many objects can tell: chains that never end, and objects that refer to those of another
//! structure.

use heaphound_analysis::shape::{HashSum, Profile, measure_view};
use heaphound_heap::snapshot::ObjectId;

use crate::shape_relations::{Plan, learn, test};
use crate::structures::Dice;

const NODE: usize = 0;
const ARRAY: usize = 1;

/// Two union-find structures of `n` nodes each: the parents of a node lead to one that is its own parent, and an array
/// holds them all.
fn sets(n: usize) -> Plan {
    let mut plan = Plan {
        classes: &[("UNode", &["parent"]), ("UNode[]", &[]), ("UNode[][]", &[])],
        objects: Vec::new(),
    };
    let dice = &mut Dice(n as u64);
    let mut arrays = Vec::new();
    for _ in 0..2 {
        let first = plan.objects.len();
        for node in first..first + n {
            let is_root = node == first || dice.below(5) == 0;
            let parent = match is_root {
                true => node,
                false => first + dice.below(node - first),
            };
            plan.add(NODE, vec![Some(parent)]);
        }
        let own = (first..first + n).map(Some).collect();
        arrays.push(Some(plan.add(ARRAY, own)));
    }
    plan.add(2, arrays);
    plan
}

/// Returns a node and its root, which are not the same.
fn below_a_root(plan: &Plan, n: usize) -> (usize, usize) {
    let parent = |node: usize| plan.objects[node].1[0].unwrap();
    let is_below = |&node: &usize| parent(node) != node && parent(parent(node)) == parent(node);
    let node = (0..n).rev().find(is_below).unwrap();
    (node, parent(node))
}

#[test]
fn a_root_whose_parent_is_its_own_descendant_is_found_and_the_ring_is_shown() {
    let profile = learn(sets);
    for n in 20..50 {
        let mut plan = sets(n);
        assert_eq!(test(&profile, &plan.build()).0, 0, "{n} nodes");
        let (node, root) = below_a_root(&plan, n);
        plan.objects[root].1[0] = Some(node);
        let (broken, shown) = test(&profile, &plan.build());
        assert!(broken > 0, "{n} nodes");
        assert!(!shown.is_empty(), "{n} nodes");
        let ring = [node, root].map(|it| ObjectId(it as u32));
        assert!(shown.iter().all(|it| ring.contains(it)), "{shown:?}");
    }
}

#[test]
fn a_root_whose_parent_is_in_another_array_is_found_and_shown() {
    let profile = learn(sets);
    for n in 20..50 {
        let mut plan = sets(n);
        let (_, root) = below_a_root(&plan, n);
        plan.objects[root].1[0] = Some(n + 3);
        let (broken, shown) = test(&profile, &plan.build());
        assert!(broken > 0, "{n} nodes");
        assert!(shown.contains(&ObjectId(root as u32)), "{shown:?}");
    }
}

#[test]
fn a_node_that_is_gone_leaves_a_gap_in_the_array_of_all() {
    let profile = learn(sets);
    for n in 20..50 {
        let mut plan = sets(n);
        let is_parent = |node: usize| plan.objects[..n].iter().any(|it| it.1[0] == Some(node));
        let leaf = (0..n - 1).rev().find(|&it| !is_parent(it)).unwrap();
        plan.objects[n].1[leaf] = None;
        let (broken, shown) = test(&profile, &plan.build());
        assert!(broken > 0, "{n} nodes");
        assert_eq!(shown, [ObjectId(n as u32)], "{n} nodes");
    }
}

/// Circular lists, with nodes that also refer to any other: rings are as they should be.
fn circles(n: usize) -> Plan {
    let mut plan = Plan {
        classes: &[("Node", &["next", "any"]), ("Node[]", &[])],
        objects: Vec::new(),
    };
    let dice = &mut Dice(n as u64);
    for node in 0..n {
        plan.add(NODE, vec![Some((node + 1) % n), Some(dice.below(n))]);
    }
    plan.add(ARRAY, (0..n).map(Some).collect());
    plan
}

#[test]
fn rings_that_are_right_are_not_told() {
    let profile = learn(circles);
    let learnt = profile.to_json();
    assert!(learnt.contains("rings of .next"), "they were looked for");
    let hold = |profile: &Profile| {
        let matches = profile.backbones["Node"].matches.hold.iter();
        matches.map(|it| it.to_string()).collect::<Vec<_>>()
    };
    assert!(!hold(&profile).iter().any(|it| it.contains("rings")));
    for n in 3..60 {
        assert_eq!(test(&profile, &circles(n).build()).0, 0, "{n} nodes");
    }
}

#[test]
fn a_few_short_chains_prove_nothing() {
    let mut profile = Profile::default();
    for n in [3, 4, 5, 6] {
        profile.learn(&measure_view(&sets(n).build()));
    }
    let holds = &profile.backbones["UNode"].matches.hold;
    let is_walked = |it: &HashSum| {
        matches!(
            it,
            HashSum::Rings(_) | HashSum::Strays(_) | HashSum::HolderGaps
        )
    };
    assert!(!holds.iter().any(|it| it.terms.keys().any(is_walked)));
}

#[test]
fn where_slots_are_inverse_nothing_is_walked() {
    let list = |n: usize| {
        let mut plan = Plan {
            classes: &[("Node", &["next", "prev"]), ("Node[]", &[])],
            objects: Vec::new(),
        };
        for node in 0..n {
            let next = (node + 1 < n).then_some(node + 1);
            plan.add(NODE, vec![next, node.checked_sub(1)]);
        }
        plan.add(ARRAY, vec![Some(0)]);
        plan
    };
    let measures = measure_view(&list(30).build());
    let sums = measures[0].matches.keys();
    assert!(sums.clone().count() > 4);
    assert!(!sums.clone().any(|it| matches!(it, HashSum::Rings(_))));
}

/// A chain of vertices, each with a chain of edges. Only the last vertex may have neither a next one nor an edge.
fn vertices(n: usize, last_has_edges: bool, bare: usize) -> Plan {
    let mut plan = Plan {
        classes: &[
            ("Vertex", &["next", "edges"]),
            ("Edge", &["to", "next"]),
            ("Net", &["first"]),
        ],
        objects: Vec::new(),
    };
    let dice = &mut Dice(n as u64);
    for node in 0..n {
        plan.add(0, vec![(node + 1 < n).then_some(node + 1), None]);
    }
    for from in 0..n {
        let edges = match from + 1 == n {
            true => last_has_edges as usize,
            false => dice.below(4),
        };
        for _ in 0..edges {
            let first = plan.objects[from].1[1];
            let to = dice.below(n);
            let edge = plan.add(1, vec![Some(to), first]);
            plan.objects[from].1[1] = Some(edge);
        }
    }
    // Vertices that no list has, of edges that lead to them.
    for _ in 0..bare {
        let vertex = plan.add(0, vec![None, None]);
        let first = plan.objects[0].1[1];
        let edge = plan.add(1, vec![Some(vertex), first]);
        plan.objects[0].1[1] = Some(edge);
    }
    plan.add(2, vec![Some(0)]);
    plan
}

#[test]
fn a_degree_that_one_object_has_by_chance_raises_no_alarm() {
    let profile = learn(|n| vertices(n, true, 0));
    let degrees = &profile.backbones["Vertex"].degrees;
    assert_eq!(degrees[&"out=0".parse().unwrap()].to_string(), "0 objects");
    for n in 16..60 {
        let heap = vertices(n, false, 0).build();
        assert_eq!(test(&profile, &heap).0, 0, "{n} vertices");
    }
    let many = vertices(40, true, 6).build();
    assert!(test(&profile, &many).0 > 0);
}
