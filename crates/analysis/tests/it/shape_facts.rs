//! Facts about numbers and about slots of one object: what is learnt of them, what is not, and who is shown.

use heaphound_analysis::shape::{Backbones, Profile, measure_facts, measure_facts_on, offenders};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::summarize;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{
    ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind, Root, RootKind, Value, class::Elements,
};

use crate::structures::Dice;

/// A class: its name, its slots and its numbers. Without either it is an array.
type Class = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

struct Object {
    class: usize,
    slots: Vec<Option<usize>>,
    numbers: Vec<i64>,
}

/// A heap in the making. The last object is its root.
struct Made {
    classes: &'static [Class],
    objects: Vec<Object>,
}

impl Made {
    fn new(classes: &'static [Class]) -> Self {
        Self {
            classes,
            objects: Vec::new(),
        }
    }

    fn add(&mut self, class: usize, slots: Vec<Option<usize>>, numbers: Vec<i64>) -> usize {
        self.objects.push(Object {
            class,
            slots,
            numbers,
        });
        self.objects.len() - 1
    }

    fn build(&self) -> Snapshot {
        let class = |(at, &(name, slots, numbers)): (usize, &Class)| {
            let slots = slots.iter().map(|it| (*it, FieldKind::Opt));
            let numbers = numbers
                .iter()
                .map(|it| (*it, FieldKind::Plain(PlainKind::I64)));
            let fields = slots.chain(numbers).zip((16..).step_by(8));
            let fields: Vec<FieldInfo> = fields
                .map(|((name, kind), offset)| FieldInfo {
                    name: name.into(),
                    offset,
                    kind,
                })
                .collect();
            ClassInfo {
                id: ClassId(at as u32 + 1),
                name: name.into(),
                superclass: None,
                interfaces: Vec::new(),
                is_interface: false,
                elements: fields.is_empty().then_some(Elements::Refs),
                fields,
                caption: None,
            }
        };
        let classes = self.classes.iter().enumerate().map(class);
        let mut builder = SnapshotBuilder::new(classes.collect());
        for object in &self.objects {
            builder.add_object(ClassId(object.class as u32 + 1), 64);
            let (_, slots, _) = self.classes[object.class];
            let is_array = slots.is_empty() && object.numbers.is_empty();
            if is_array {
                builder.set_length(object.slots.len() as u32);
            }
            for (at, to) in (0..).zip(&object.slots) {
                let place = match is_array {
                    true => Place::Element(at),
                    false => Place::Field(at),
                };
                if let Some(to) = to {
                    builder.add_edge(place, ObjectId(*to as u32));
                }
            }
            for (at, &number) in object.numbers.iter().enumerate() {
                let value = Value::Signed(number);
                builder.set_value(slots.len() + at, value).unwrap();
            }
        }
        let last = ObjectId(self.objects.len() as u32 - 1);
        builder.add_root(Root::new(RootKind::Static, "all"), last);
        builder.finish().unwrap()
    }

    fn slot(&mut self, object: usize, slot: usize) -> &mut Option<usize> {
        &mut self.objects[object].slots[slot]
    }
}

fn learn(make: fn(&mut Dice) -> Made) -> Profile {
    let mut profile = Profile::default();
    for seed in 0..12 {
        profile.learn(&measure_facts(&make(&mut Dice(seed)).build()));
    }
    profile
}

/// Tests a heap. Returns what is broken, and who is shown.
fn test(profile: &Profile, heap: &Snapshot) -> (usize, Vec<ObjectId>) {
    let violations = profile.test(&measure_facts(heap));
    let ids = SlotIds::new(heap.classes());
    let backbones = Backbones::find(&summarize(heap), heap.classes(), &ids);
    let shown = violations.iter();
    let shown = shown.flat_map(|it| offenders(heap, &backbones, it, 3));
    (violations.len(), shown.collect())
}

/// Learns, and holds correct heaps and wrong ones against it. `spoil` returns the objects of which one must be shown.
fn hold(make: fn(&mut Dice) -> Made, spoil: impl Fn(&mut Made, &mut Dice) -> Vec<usize>) {
    let profile = learn(make);
    let json = profile.to_json();
    assert_eq!(Profile::from_json(&json).as_ref(), Ok(&profile), "{json}");
    for seed in 100..140 {
        let dice = &mut Dice(seed);
        let mut made = make(dice);
        let heap = made.build();
        let measures = measure_facts(&heap);
        assert_eq!(measures, measure_facts_on(&heap, 3), "seed {seed}");
        assert_eq!(profile.test(&measures), [], "seed {seed}");
        let guilty = spoil(&mut made, dice);
        let (broken, shown) = test(&profile, &made.build());
        assert!(broken > 0, "seed {seed}");
        let is_guilty = |it: &ObjectId| guilty.contains(&(it.0 as usize));
        assert!(
            shown.iter().any(is_guilty),
            "seed {seed}: {shown:?} {guilty:?}"
        );
    }
}

/// Sets by rank, as union makes them: `parent` of a root is itself.
fn sets(dice: &mut Dice) -> Made {
    let mut made = Made::new(&[("Set", &["parent"], &["rank"]), ("Set[]", &[], &[])]);
    let n = 30 + dice.below(60);
    for node in 0..n {
        made.add(0, vec![Some(node)], vec![0]);
    }
    for _ in 0..n {
        let roots: Vec<usize> = (0..n)
            .filter(|&it| made.objects[it].slots[0] == Some(it))
            .collect();
        let (a, b) = (dice.pick(&roots), dice.pick(&roots));
        let rank = |it: usize, made: &Made| made.objects[it].numbers[0];
        let (low, high) = match rank(a, &made) < rank(b, &made) {
            true => (a, b),
            false => (b, a),
        };
        if low != high {
            *made.slot(low, 0) = Some(high);
            if rank(low, &made) == rank(high, &made) {
                made.objects[high].numbers[0] += 1;
            }
        }
    }
    made.add(1, (0..n).map(Some).collect(), Vec::new());
    made
}

#[test]
fn a_parent_of_no_higher_rank_is_found() {
    hold(sets, |made, dice| {
        let n = made.objects.len() - 1;
        let mut pick = || dice.below(n);
        loop {
            let (a, b) = (pick(), pick());
            let rank = |it: usize| made.objects[it].numbers[0];
            if a != b && rank(b) <= rank(a) {
                *made.slot(a, 0) = Some(b);
                return vec![a];
            }
        }
    });
}

/// Lists in order of keys, each of which knows how many there are.
fn sorted(dice: &mut Dice) -> Made {
    let mut made = Made::new(&[
        ("Node", &["next"], &["key"]),
        ("List", &["first"], &["size"]),
        ("List[]", &[], &[]),
    ]);
    let mut lists = Vec::new();
    for _ in 0..1 + dice.below(3) {
        let n = 20 + dice.below(60);
        let mut next = None;
        let mut key = 10_000;
        for _ in 0..n {
            key -= 1 + dice.below(9) as i64;
            next = Some(made.add(0, vec![next], vec![key]));
        }
        lists.push(Some(made.add(1, vec![next], vec![n as i64])));
    }
    made.add(2, lists, Vec::new());
    made
}

#[test]
fn what_leads_back_in_order_or_to_itself_is_found() {
    hold(sorted, |made, dice| {
        let node = 1 + dice.below(19);
        let to = node - dice.below(2);
        // What was added later is before it.
        *made.slot(to, 0) = Some(node);
        vec![to]
    });
}

#[test]
fn a_list_that_is_shorter_than_its_owner_says_is_found() {
    hold(sorted, |made, dice| {
        let node = 1 + dice.below(18);
        *made.slot(node, 0) = None;
        // Its owner is the one that differs.
        let owner = (0..made.objects.len()).find(|&it| made.objects[it].class == 1);
        vec![owner.unwrap()]
    });
}

/// Tables with a few chains of nodes.
fn tables(dice: &mut Dice) -> Made {
    let mut made = Made::new(&[
        ("Node", &["next"], &["key"]),
        ("Table", &["nodes"], &["version"]),
        ("Node[]", &[], &[]),
        ("Table[]", &[], &[]),
    ]);
    let mut tables = Vec::new();
    for _ in 0..2 + dice.below(3) {
        let mut chains = vec![None; 16];
        for _ in 0..20 + dice.below(20) {
            let at = dice.below(16);
            chains[at] = Some(made.add(0, vec![chains[at]], vec![dice.below(1_000) as i64]));
        }
        let nodes = made.add(2, chains, Vec::new());
        tables.push(Some(made.add(1, vec![Some(nodes)], vec![1])));
    }
    made.add(3, tables, Vec::new());
    made
}

#[test]
fn a_table_that_lost_its_array_is_found_beside_others() {
    hold(tables, |made, _| {
        let table = (0..).find(|&it| made.objects[it].class == 1).unwrap();
        *made.slot(table, 0) = None;
        vec![table]
    });
}

/// A tree of at most four children, which knows how many; its leaves have values, and so have some others.
fn tree(dice: &mut Dice) -> Made {
    let mut made = Made::new(&[
        ("Node", &["children", "value"], &["count", "key"]),
        ("Node[]", &[], &[]),
        ("Item", &[], &["id"]),
    ]);
    fn node(made: &mut Made, dice: &mut Dice, depth: usize, key: i64) -> usize {
        let count = match depth {
            0 => 0,
            _ => dice.below(5),
        };
        let below: Vec<usize> = (0..count)
            .map(|at| node(made, dice, depth - 1, at as i64))
            .collect();
        let has_value = count == 0 || dice.below(3) == 0;
        let value = has_value.then(|| made.add(2, vec![], vec![7]));
        let children = (count > 0).then(|| {
            let mut slots: Vec<Option<usize>> = below.into_iter().map(Some).collect();
            slots.resize(4, None);
            made.add(1, slots, Vec::new())
        });
        made.add(0, vec![children, value], vec![count as i64, key])
    }
    let all: Vec<Option<usize>> = (0..8)
        .map(|at| Some(node(&mut made, dice, 4, at)))
        .collect();
    made.add(1, all, Vec::new());
    made
}

/// Returns the nodes of a tree of which something is true.
fn nodes(made: &Made, which: impl Fn(&Object) -> bool) -> Vec<usize> {
    let objects = made.objects.iter().enumerate();
    let nodes = objects.filter(|(_, it)| it.class == 0 && which(it));
    nodes.map(|it| it.0).collect()
}

#[test]
fn a_leaf_without_a_value_is_found() {
    hold(tree, |made, dice| {
        let leaves = nodes(made, |it| it.slots[0].is_none());
        let leaf = dice.pick(&leaves);
        *made.slot(leaf, 1) = None;
        vec![leaf]
    });
}

#[test]
fn an_array_with_fewer_elements_than_its_owner_says_or_in_another_order_is_found() {
    hold(tree, |made, dice| {
        let inner = nodes(made, |it| it.numbers[0] > 0);
        let node = dice.pick(&inner);
        let array = made.objects[node].slots[0].unwrap();
        let last = made.objects[node].numbers[0] as usize - 1;
        *made.slot(array, last) = None;
        vec![node]
    });
    hold(tree, |made, dice| {
        let inner = nodes(made, |it| it.numbers[0] > 1);
        let node = dice.pick(&inner);
        let array = made.objects[node].slots[0].unwrap();
        made.objects[array].slots.swap(0, 1);
        vec![node]
    });
}

/// Binary trees that know their heights.
fn heights(dice: &mut Dice) -> Made {
    let mut made = Made::new(&[
        ("Node", &["left", "right"], &["height"]),
        ("Node[]", &[], &[]),
    ]);
    fn node(made: &mut Made, dice: &mut Dice, n: usize) -> Option<usize> {
        let below = n.checked_sub(1)?;
        let at = dice.below(below + 1);
        let (left, right) = (node(made, dice, at), node(made, dice, below - at));
        let height = |it: Option<usize>| it.map_or(0, |it| made.objects[it].numbers[0]);
        let height = 1 + height(left).max(height(right));
        Some(made.add(0, vec![left, right], vec![height]))
    }
    let mut roots = Vec::new();
    for _ in 0..3 {
        let n = 20 + dice.below(40);
        roots.push(node(&mut made, dice, n));
    }
    made.add(1, roots, Vec::new());
    made
}

#[test]
fn a_child_that_is_gone_is_missed_by_its_parents_height() {
    hold(heights, |made, dice| {
        let height =
            |of: Option<usize>, made: &Made| of.map_or(0, |it| made.objects[it].numbers[0]);
        let higher = |node: &Object| {
            let [left, right] = [0, 1].map(|slot| height(node.slots[slot], made));
            (left != right).then_some((right > left) as usize)
        };
        let open = nodes(made, |it| higher(it).is_some());
        let node = dice.pick(&open);
        let slot = higher(&made.objects[node]).unwrap();
        *made.slot(node, slot) = None;
        vec![node]
    });
}

/// Vertices with lists of halves of edges, each of which knows where it leads and its other half.
fn graph(dice: &mut Dice) -> Made {
    let mut made = Made::new(&[
        ("Vertex", &["edges"], &["id"]),
        ("Half", &["to", "twin", "next"], &["mark"]),
        ("Vertex[]", &[], &[]),
    ]);
    let n = 20 + dice.below(20);
    for id in 0..n {
        made.add(0, vec![None], vec![id as i64]);
    }
    for _ in 0..3 * n {
        let (a, b) = (dice.below(n), dice.below(n));
        if a == b {
            continue;
        }
        let first = made.objects.len();
        for (at, from, to) in [(first, a, b), (first + 1, b, a)] {
            let next = made.objects[from].slots[0];
            let twin = Some(2 * first + 1 - at);
            made.add(1, vec![Some(to), twin, next], vec![0]);
            *made.slot(from, 0) = Some(at);
        }
    }
    made.add(2, (0..n).map(Some).collect(), Vec::new());
    made
}

#[test]
fn an_edge_that_leads_elsewhere_than_its_twin_is_listed_is_found() {
    hold(graph, |made, dice| {
        let halves: Vec<usize> = (0..made.objects.len())
            .filter(|&it| made.objects[it].class == 1)
            .collect();
        let half = dice.pick(&halves);
        let to = made.objects[half].slots[0].unwrap();
        *made.slot(half, 0) = Some((to + 1) % 20);
        vec![half]
    });
}

#[test]
fn one_heap_proves_nothing_however_often_it_is_seen() {
    let makes: [fn(&mut Dice) -> Made; 6] = [sets, sorted, tables, tree, heights, graph];
    for make in makes {
        let heap = measure_facts(&make(&mut Dice(1)).build());
        let mut profile = Profile::default();
        for _ in 0..30 {
            profile.learn(&heap);
        }
        let json = profile.to_json();
        assert!(json.contains("\"facts\""), "{json}");
        // Numbers alone are wrong, and no reference.
        let mut made = make(&mut Dice(1));
        for object in &mut made.objects {
            object.numbers.iter_mut().for_each(|it| *it = 3);
        }
        assert_eq!(profile.test(&measure_facts(&made.build())), []);
    }
}

/// What is learnt of two parts is what is learnt of all.
#[test]
fn merged_profiles_know_what_either_knows() {
    let mut halves = [Profile::default(), Profile::default()];
    for seed in 0..12 {
        let measures = measure_facts(&sets(&mut Dice(seed)).build());
        halves[seed as usize % 2].learn(&measures);
    }
    let [mut merged, other] = halves;
    merged.merge(other);
    let mut made = sets(&mut Dice(77));
    assert_eq!(merged.test(&measure_facts(&made.build())), []);
    let root = (0..)
        .find(|&it| made.objects[it].slots[0] == Some(it))
        .unwrap();
    let other = (0..)
        .find(|&it| it != root && made.objects[it].numbers[0] == 0)
        .unwrap();
    *made.slot(root, 0) = Some(other);
    if made.objects[root].numbers[0] == 0 {
        made.objects[root].numbers[0] = 1;
    }
    assert_ne!(merged.test(&measure_facts(&made.build())), []);
}
