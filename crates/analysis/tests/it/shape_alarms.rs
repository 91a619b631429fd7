//! When shapes raise an alarm and when not: small structures, idle programs, and profiles that a person has spoilt.

use crate::structures;

use heaphound_analysis::shape::{Backbones, Profile, measure_view, offenders, shape_of};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::summarize;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{Root, RootKind};
use structures::{Dice, NODE, Structure, learn_structure};

#[test]
fn correct_structures_of_few_nodes_raise_no_alarm() {
    type Make = fn(usize, &mut Dice) -> Structure;
    let kinds: [(&str, Make); 6] = [
        ("singly", |n, _| Structure::singly_linked(n)),
        ("doubly", |n, _| Structure::doubly_linked(n)),
        ("complete", |n, _| Structure::complete_tree(n, false)),
        ("complete with parents", |n, _| {
            Structure::complete_tree(n, true)
        }),
        ("random", |n, dice| Structure::random_tree(n, false, dice)),
        ("random with parents", |n, dice| {
            Structure::random_tree(n, true, dice)
        }),
    ];
    for (name, make) in kinds {
        for anchored in [false, true] {
            let profile = learn_structure(make, anchored);
            for n in 1..60 {
                let heap = make(n, &mut Dice(n as u64)).build(anchored);
                let found = profile.test(&measure_view(&heap));
                assert_eq!(found, [], "{name} of {n}");
            }
        }
    }
}

#[test]
fn an_idle_program_confirms_nothing() {
    for n in [2, 3, 4, 8] {
        let mut profile = Profile::default();
        for _ in 0..20 {
            profile.learn(&measure_view(&Structure::singly_linked(n).build(false)));
        }
        for other in 2..40 {
            let heap = Structure::singly_linked(other).build(false);
            let found = profile.test(&measure_view(&heap));
            assert_eq!(found, [], "learnt of {n}, tested with {other}");
        }
    }
}

#[test]
fn a_program_that_goes_back_and_forth_confirms_nothing() {
    let tree =
        |n| measure_view(&Structure::random_tree(n, false, &mut Dice(n as u64)).build(false));
    let mut profile = Profile::default();
    for at in 0..30 {
        profile.learn(&tree([5, 7][at % 2]));
    }
    for n in 2..40 {
        assert_eq!(profile.test(&tree(n)), [], "tested with {n}");
    }
}

#[test]
fn a_program_that_does_the_same_all_over_confirms_nothing() {
    // Trees of these sizes have as many nodes on the left as on the right, and others have not.
    let tree = |n| measure_view(&Structure::complete_tree(n, false).build(false));
    let mut profile = Profile::default();
    for at in 0..60 {
        profile.learn(&tree([5, 7, 9, 11][at % 4]));
    }
    for n in 2..40 {
        assert_eq!(profile.test(&tree(n)), [], "tested with {n}");
    }
}

/// What a profile says, whoever learnt it: relations in any order, and without the points.
fn said(profile: &Profile) -> String {
    let mut all = profile.clone();
    let mut text = String::new();
    for (class, known) in &mut all.backbones {
        let matches = known.matches.hold.iter();
        let matches = matches.map(|it| format!("{it} {}", it.ignored));
        let relations = known.relations.hold.iter();
        let relations = relations.map(|it| format!("{it} {}", it.ignored));
        let mut relations: Vec<String> = relations.chain(matches).collect();
        relations.sort_unstable();
        text += &format!(
            "{class} {:?} {:?} {relations:?}\n",
            known.degrees, known.instances
        );
    }
    text
}

#[test]
fn merging_again_or_in_another_order_says_the_same() {
    type Make = fn(usize, &mut Dice) -> Structure;
    let kinds: [Make; 4] = [
        |n, _| Structure::singly_linked(n),
        |n, _| Structure::doubly_linked(n),
        |n, dice| Structure::random_tree(n, false, dice),
        |n, dice| Structure::random_tree(n, true, dice),
    ];
    for (kind, make) in kinds.iter().enumerate() {
        for seed in 0..40 {
            let dice = &mut Dice(seed * 4 + kind as u64);
            let runs = 2 + dice.below(3);
            let learnt: Vec<Profile> = (0..runs)
                .map(|_| {
                    let mut profile = Profile::default();
                    for _ in 0..1 + dice.below(6) {
                        let heap = make(2 + dice.below(60), dice).build(false);
                        profile.learn(&measure_view(&heap));
                    }
                    profile
                })
                .collect();
            let merged = |order: &mut dyn Iterator<Item = &Profile>| {
                let mut all = Profile::default();
                order.for_each(|it| all.merge(it.clone()));
                all
            };
            let forth = merged(&mut learnt.iter());
            let back = merged(&mut learnt.iter().rev());
            let twice = merged(&mut learnt.iter().chain(&learnt));
            assert_eq!(said(&forth), said(&back), "seed {seed}");
            assert_eq!(said(&forth), said(&twice), "seed {seed}");
        }
    }
}

#[test]
fn what_a_person_has_written_survives_merging_on_either_side() {
    let learnt = || {
        let mut profile = Profile::default();
        for n in [120, 340, 900, 77, 55, 66, 88, 99] {
            profile.learn(&measure_view(&Structure::doubly_linked(n).build(false)));
        }
        profile
    };
    let mut edited = learnt();
    let known = edited.backbones.get_mut(NODE).unwrap();
    known.degrees.remove(&"in=1".parse().unwrap());
    known.relations.hold[0].ignored = true;
    known.matches.hold[1].ignored = true;
    // It says nothing new, so that nobody would have looked for it.
    let mut added = known.relations.hold[1].clone();
    added.terms.values_mut().for_each(|times| *times *= 3);
    known.relations.hold.push(added.clone());
    let check = |profile: &Profile| {
        let known = &profile.backbones[NODE];
        assert!(!known.degrees.contains_key(&"in=1".parse().unwrap()));
        assert!(known.relations.hold[0].ignored);
        assert!(known.relations.hold.contains(&added));
        assert!(known.matches.hold[1].ignored);
    };
    let mut other = learnt();
    other.merge(edited.clone());
    check(&other);
    edited.merge(learnt());
    check(&edited);
    edited.learn(&measure_view(&Structure::doubly_linked(33).build(false)));
    check(&edited);
}

/// A profile of lists, edited.
fn edited(from: &str, to: &str) -> Result<Profile, String> {
    let mut profile = Profile::default();
    for n in [120, 340, 900, 77] {
        profile.learn(&measure_view(&Structure::singly_linked(n).build(false)));
    }
    let text = profile.to_json();
    let text = text.replacen(from, to, 1);
    assert_ne!(text, profile.to_json(), "{from}");
    Profile::from_json(&text)
}

#[test]
fn numbers_that_nobody_counted_do_not_panic() {
    let list = measure_view(&Structure::doubly_linked(50).build(false));
    let huge = [
        ("\"measures\": 4", "\"measures\": 18446744073709551615"),
        ("\"instances\": 340", "\"instances\": 9223372036854775807"),
        ("\"instances\": -1", "\"instances\": -9223372036854775808"),
        ("\"instances\": 120", "\"instances\": 9223372036854775807"),
        ("900", "18446744073709551615"),
        ("\"quirk\": 1", "\"quirk\": 18446744073709551615"),
    ];
    for (from, to) in huge {
        let Ok(mut profile) = edited(from, to) else {
            continue;
        };
        for violation in profile.test(&list) {
            assert!(!violation.broken.found().is_empty());
        }
        let mut other = profile.clone();
        profile.learn(&list);
        other.merge(profile.clone());
        assert!(Profile::from_json(&other.to_json()).is_ok());
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let wrong = [
        // A slip of the pen must not leave a relation armed that was to be ignored.
        ("\"terms\"", "\"ignore\": true, \"terms\""),
        ("\"degrees\": {", "\"degree\": {}, \"degrees\": {"),
        ("\"in=0\"", "\"in=7\""),
        ("\"schema_version\": 3", "\"schema_version\": -1"),
        ("\"quirk\": 1", "\"quirk\": -1"),
        ("\"quirk\": 1", "\"quirk\": NaN"),
        ("\"quirk\": 1", "\"range\": [60, 40]"),
        ("\"quirk\": 1", "\"range\": [0, 101]"),
        (
            "\"looks_like\": \"singly linked list\"",
            "\"looks_like\": \"a mess\"",
        ),
    ];
    for (from, to) in wrong {
        assert!(edited(from, to).is_err(), "{to}");
    }
    assert!(edited("\"quirk\": 1", "\"range\": [0, 100]").is_ok());
    let other = Profile::from_json("{\"schema_version\": 4, \"backbones\": {}, \"more\": 1}");
    assert!(other.unwrap_err().contains("version 4"));
}

#[test]
fn what_was_never_counted_is_refused_with_its_line() {
    let check = |from: &str, to: &str, line: &str, told: &str| {
        let error = edited(from, to).unwrap_err();
        assert!(error.contains(told), "{to}: {error}");
        // Where it stands, in the text that was read.
        let mut profile = Profile::default();
        for n in [120, 340, 900, 77] {
            profile.learn(&measure_view(&Structure::singly_linked(n).build(false)));
        }
        let text = profile.to_json().replacen(from, to, 1);
        let at = text.lines().position(|it| it.contains(line)).unwrap() + 1;
        assert!(error.contains(&format!("at line {at}")), "{to}: {error}");
    };
    check(
        "\"instances\": -1",
        "\"instancs\": -1",
        "instancs",
        "`instancs` is not something that is counted",
    );
    check(
        "\".next\": 1",
        "\".nxt\": 1",
        ".nxt",
        "`.nxt` was never counted",
    );
    check(
        "\"all\": -1",
        "\"everything\": -1",
        "everything",
        "`everything` is not something",
    );
    check(
        "\"to .next\": 1",
        "\"to .prev\": 1",
        "to .prev",
        "`to .prev` was never counted",
    );
    check(
        "\"to .next\": 1",
        "\"from \": 1",
        "\"from \"",
        "`from ` is not something",
    );
}

/// What nodes look like, given what the slots of each refer to.
fn looks(slots: &[&str], nodes: &[Vec<Option<usize>>]) -> String {
    let mut builder = SnapshotBuilder::default();
    let node = builder.add_class("Node", None, slots);
    let holder = builder.add_class("Holder", None, &["held"]);
    for own in nodes {
        builder.add_object(node, 32);
        for (slot, to) in (0..).zip(own) {
            if let Some(to) = to {
                builder.add_edge(Place::Field(slot), ObjectId(*to as u32));
            }
        }
    }
    for at in 0..nodes.len() {
        let holder = builder.add_object(holder, 16);
        builder.add_edge(Place::Field(0), ObjectId(at as u32));
        builder.add_root(Root::new(RootKind::Static, "held"), holder);
    }
    let measures = measure_view(&builder.finish().unwrap());
    shape_of(&measures[0]).to_string()
}

/// So many structures, each as one given.
fn many(count: usize, one: &[Vec<Option<usize>>]) -> Vec<Vec<Option<usize>>> {
    let part = |at: usize| {
        let shift = move |to: &Option<usize>| to.map(|to| to + at * one.len());
        one.iter().map(move |own| own.iter().map(shift).collect())
    };
    (0..count).flat_map(part).collect()
}

#[test]
fn many_short_structures_look_like_a_long_one() {
    for count in [1, 7, 1_000] {
        for n in [2, 3, 4, 5, 50] {
            let singly = Structure::singly_linked(n).nodes;
            let doubly = Structure::doubly_linked(n).nodes;
            let ring: Vec<_> = (0..n).map(|at| vec![Some((at + 1) % n)]).collect();
            let both: Vec<_> = (0..n)
                .map(|at| vec![Some((at + 1) % n), Some((at + n - 1) % n)])
                .collect();
            let look = |slots: &[&str], one: &[Vec<Option<usize>>]| looks(slots, &many(count, one));
            let told = format!("{count} of {n}");
            assert_eq!(look(&["next"], &singly), "singly linked list", "{told}");
            assert_eq!(look(&["next"], &ring), "circular list", "{told}");
            assert_eq!(
                look(&["next", "prev"], &doubly),
                "doubly linked list",
                "{told}"
            );
            assert_eq!(
                look(&["next", "prev"], &both),
                "doubly linked list",
                "{told}"
            );
        }
        for n in [3, 7, 50] {
            let tree = Structure::complete_tree(n, false).nodes;
            let up = Structure::complete_tree(n, true).nodes;
            let told = format!("{count} of {n}");
            let look = |slots: &[&str], one: &[Vec<Option<usize>>]| looks(slots, &many(count, one));
            assert_eq!(look(&["left", "right"], &tree), "binary tree", "{told}");
            let slots = ["left", "right", "parent"];
            let expected = "binary tree with parent pointers";
            assert_eq!(look(&slots, &up), expected, "{told}");
        }
    }
}

/// Lists of that many nodes, whose heads are in an array.
fn looks_in_an_array(lists: usize, nodes: usize) -> String {
    let mut builder = SnapshotBuilder::default();
    let node = builder.add_class("Node", None, &["next"]);
    let array = builder.add_array_class("Object[]");
    for at in 0..lists * nodes {
        builder.add_object(node, 16);
        if (at + 1) % nodes != 0 {
            builder.add_edge(Place::Field(0), ObjectId(at as u32 + 1));
        }
    }
    let array = builder.add_object(array, 16 + 4 * lists);
    for at in 0..lists {
        let head = ObjectId((at * nodes) as u32);
        builder.add_edge(Place::Element(at as u32), head);
    }
    builder.add_root(Root::new(RootKind::Static, "all"), array);
    let measures = measure_view(&builder.finish().unwrap());
    shape_of(&measures[0]).to_string()
}

#[test]
fn one_list_is_no_hash_chain() {
    for nodes in [2, 3, 50, 1_000] {
        assert_eq!(looks_in_an_array(1, nodes), "singly linked list");
        assert_eq!(looks_in_an_array(7, nodes), "hash chain");
    }
}

#[test]
fn leaves_do_not_offend_where_a_child_is_lost() {
    let profile = learn_structure(|n, _| Structure::complete_tree(n, false), true);
    let mut tree = Structure::complete_tree(301, false);
    tree.nodes[7][1] = None;
    let heap = tree.build(true);
    let ids = SlotIds::new(heap.classes());
    let backbones = Backbones::find(&summarize(&heap), heap.classes(), &ids);
    let found = profile.test(&measure_view(&heap));
    assert!(!found.is_empty());
    let shown = found
        .iter()
        .flat_map(|it| offenders(&heap, &backbones, it, 10));
    let shown: Vec<u32> = shown.map(|it| it.0).collect();
    // The one that has lost a child, and the child; and the root, which looks like it.
    assert!(shown.contains(&7) || shown.contains(&16), "{shown:?}");
    assert!(shown.iter().all(|it| [0, 7, 16].contains(it)), "{shown:?}");
}

#[test]
fn nodes_that_are_right_do_not_offend() {
    let profile = learn_structure(|n, _| Structure::doubly_linked(n), true);
    // It is closed to a ring, so that no node is an end any more.
    let mut list = Structure::doubly_linked(200);
    list.nodes[199][0] = Some(0);
    let heap = list.build(true);
    let ids = SlotIds::new(heap.classes());
    let backbones = Backbones::find(&summarize(&heap), heap.classes(), &ids);
    let found = profile.test(&measure_view(&heap));
    assert!(found.iter().any(|it| it.broken.is_too_few()));
    for violation in &found {
        let shown = offenders(&heap, &backbones, violation, 10);
        // The last node, which leads to the first, and the first, which has one too many.
        let right = |it: &ObjectId| (2..199).contains(&it.0);
        assert!(!shown.iter().any(right), "{violation:?}: {shown:?}");
    }
}

/// Trees whose nodes know their parents, of these sizes, each held by a root.
fn trees(sizes: &[u32]) -> Snapshot {
    let mut builder = SnapshotBuilder::default();
    let tree = builder.add_class("Tree", None, &["root"]);
    let node = builder.add_class("Node", None, &["left", "right", "parent"]);
    for (number, &size) in (0..).zip(sizes) {
        let holder = builder.add_object(tree, 16);
        builder.add_root(
            Root::new(RootKind::Static, &format!("tree{number}")),
            holder,
        );
        if size > 0 {
            builder.add_edge(Place::Field(0), ObjectId(holder.0 + 1));
        }
        // As in a heap of numbers: the children of n are 2n + 1 and 2n + 2.
        for n in 0..size {
            builder.add_object(node, 24);
            let at = |n: u32| ObjectId(holder.0 + 1 + n);
            let children = (0..2).zip([2 * n + 1, 2 * n + 2]);
            for (field, child) in children.filter(|it| it.1 < size) {
                builder.add_edge(Place::Field(field), at(child));
            }
            if n > 0 {
                builder.add_edge(Place::Field(2), at((n - 1) / 2));
            }
        }
    }
    builder.finish().unwrap()
}

/// Tries of words over six letters, of these numbers of nodes: a node has its array once it has a child.
fn tries(sizes: &[u32]) -> Snapshot {
    let mut builder = SnapshotBuilder::default();
    let trie = builder.add_class("Trie", None, &["root"]);
    let node = builder.add_class("Node", None, &["children"]);
    let array = builder.add_array_class("Node[]");
    for (number, &size) in (0..).zip(sizes) {
        let holder = builder.add_object(trie, 16);
        builder.add_root(
            Root::new(RootKind::Static, &format!("trie{number}")),
            holder,
        );
        builder.add_edge(Place::Field(0), ObjectId(holder.0 + 1));
        // A node, and its array behind it if it has children: those of n are 3n + 1 to 3n + 3.
        let has_children = |n: u32| 3 * n + 1 < size;
        let place =
            |n: u32| holder.0 + 1 + n + (0..n).filter(|&it| has_children(it)).count() as u32;
        for n in 0..size {
            let own = builder.add_object(node, 16);
            assert_eq!(own.0, place(n));
            if has_children(n) {
                builder.add_edge(Place::Field(0), ObjectId(own.0 + 1));
                builder.add_object(array, 40);
                builder.set_length(6);
                for child in (3 * n + 1..=3 * n + 3).filter(|&it| it < size) {
                    let letter = (child * 7 + child / 3) % 2 + 2 * ((child - 1) % 3);
                    builder.add_edge(Place::Element(letter), ObjectId(place(child)));
                }
            }
        }
    }
    builder.finish().unwrap()
}

/// Learns from some heaps, and returns what is said of another.
fn alarms(learnt: &[Snapshot], tested: &Snapshot) -> Vec<String> {
    let mut profile = Profile::default();
    for heap in learnt {
        profile.learn(&measure_view(heap));
    }
    let violations = profile.test(&measure_view(tested));
    violations.iter().map(|it| it.broken.to_string()).collect()
}

/// Nobody refers to the only node of a tree, which has no parent. That no node was ever so says nothing.
#[test]
fn a_tree_of_one_node_beside_a_large_one_raises_no_alarm() {
    let learnt: Vec<Snapshot> = (0..40).map(|n| trees(&[20 + 3 * n, 2 + n])).collect();
    for sizes in [[50, 1], [1, 50], [0, 70], [1, 1]] {
        assert_eq!(alarms(&learnt, &trees(&sizes)), [""; 0], "{sizes:?}");
    }
}

/// All arrays have six elements, so that six times the number of nodes is a number of elements. An empty trie has
/// no array.
#[test]
fn a_length_that_is_always_the_same_stands_for_nothing() {
    let learnt: Vec<Snapshot> = (0..40).map(|n| tries(&[20 + 3 * n, 4 + n])).collect();
    for sizes in [[60, 1], [1, 60], [2, 90]] {
        assert_eq!(alarms(&learnt, &tries(&sizes)), [""; 0], "{sizes:?}");
    }
}

/// How many nodes have two children depends on the size, and may be one by chance.
#[test]
fn one_size_says_nothing_about_others() {
    let learnt = [trees(&[17])];
    assert_eq!(alarms(&learnt, &trees(&[18])), [""; 0]);
}
