//! Random questions as part of collections, random heaps, a shadow that knows what must
//! live.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use heaphound::path::{Origin, Search};
use heaphound::root::RootSet;
use heaphound::trace::{
    self, Examiner, Filter, Phase, Plan, Starts, Step, Traceable, Visit, Visits,
};
use heaphound::view::{HeapView, Strength};
use heaphound::{
    ClassId, Collector, Finalization, Header, Heap, Managed, Mutator, ObjectId, PlainData, Probes,
    RefArray, Root, Slot, StoppedHeap, Var, Weak, WeakMap, WeakSlot, root::Part,
};
use heaphound_testkit::cases::cases;
use heaphound_testkit::dice::Dice;

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    id: u64,
    touched: Var<u64>,
    a: Slot<Node>,
    b: Slot<Node>,
    weak: WeakSlot<Node>,
    array: Slot<RefArray<Node>>,
    map: Slot<WeakMap<Node, Node>>,
}

/// What a program can see from its roots, as ids in the order of a walk.
fn walk(m: &Mutator<'_>, roots: &[Root<Node>]) -> (Vec<u64>, usize) {
    let mut seen = HashSet::new();
    let mut stack: Vec<&Node> = roots.iter().map(|root| &m[root]).collect();
    let mut weak = 0;
    while let Some(node) = stack.pop() {
        if !seen.insert(node.id) {
            continue;
        }
        assert!(node.id < 1 << 40, "not a node");
        node.touched.set(node.touched.get() + 1);
        stack.extend(node.a.get());
        stack.extend(node.b.get());
        if let Some(array) = node.array.get() {
            stack.extend(array.iter().filter_map(|slot| slot.get()));
        }
        if let Some(it) = node.weak.get() {
            assert!(it.id < 1 << 40, "not a node");
            weak += 1;
        }
        if let Some(map) = node.map.get() {
            map.for_each(|key, value| {
                assert!(key.id < 1 << 40 && value.id < 1 << 40);
            });
        }
    }
    let mut ids: Vec<_> = seen.into_iter().collect();
    ids.sort();
    (ids, weak)
}

fn ids<'v>(view: &StoppedHeap<'v>, weak: &[Weak<Node>]) -> Vec<ObjectId<'v>> {
    weak.iter().filter_map(|it| view.id(it).ok()).collect()
}

/// Looks at all that a plan enters, and perhaps wants to know of overlaps.
struct Nosy(bool);

impl<'v> Examiner<ObjectId<'v>> for Nosy {
    fn wants(&self, _: ClassId) -> bool {
        true
    }

    fn examine(&mut self, objects: &[ObjectId<'v>]) {
        assert!(!objects.is_empty());
    }

    fn wants_overlaps(&self) -> bool {
        self.0
    }
}

fn attack(
    view: &StoppedHeap<'_>,
    dice: &mut Dice,
    weak: &[Weak<Node>],
    by_hand: bool,
    kept: &mut Vec<Root<heaphound::Object>>,
) {
    let all = ids(view, weak);
    if all.is_empty() {
        return;
    }
    let mut objects = all.clone();
    for &object in &all {
        view.for_each_edge(object, |_, _, to| objects.push(to));
    }
    let mut visits = view.visits();
    visits.reserve(20);
    let mut marks: Vec<Visit> = (0..4).map(|_| visits.fresh()).collect();
    for _ in 0..dice.below(12) {
        let pick = |dice: &mut Dice| objects[dice.below(objects.len())];
        let mark = |dice: &mut Dice| match by_hand && dice.below(3) == 0 {
            true => Visit(dice.any() as u8),
            false => marks[dice.below(marks.len())],
        };
        match dice.below(9) {
            0 => {
                let (object, mark) = (pick(dice), mark(dice));
                visits.set(object, mark);
            }
            1 | 2 => {
                let mut starts = Vec::new();
                if dice.below(2) == 0 {
                    view.for_each_root_target(RootSet::All, |it| starts.push(it));
                } else {
                    starts.push(pick(dice));
                }
                let label = mark(dice);
                let filter = match dice.below(3) {
                    0 => Filter::Follow,
                    1 => Filter::StopAt(label),
                    _ => Filter::Once {
                        since: mark(dice),
                        avoid: label,
                    },
                };
                let phase = Phase {
                    starts,
                    filter,
                    mark: mark(dice),
                };
                let workers = 1 + dice.below(3);
                view.trace(&mut visits, &phase, vec![(); workers]);
            }
            3 => kept.push(view.root(pick(dice))),
            4 => {
                let probes = Probes::of(view).threads(1 + dice.below(3));
                let (a, b) = (pick(dice), pick(dice));
                for _ in 0..dice.below(40) {
                    let _ = (
                        probes.dom(a, b),
                        probes.is_shared(a),
                        probes.is_unique_owner(b),
                    );
                    let _ = probes.reach_avoiding(&[a], &[b]);
                    let _ = probes.is_disjoint(a, b);
                }
            }
            5 => {
                let mut mark = 0;
                let mut step = |dice: &mut Dice| {
                    mark += dice.below(2);
                    Step {
                        mark,
                        exclude: match dice.below(2) {
                            0 => Vec::new(),
                            _ => vec![pick(dice), pick(dice)],
                        },
                        starts: match dice.below(2) {
                            0 => Starts::Roots(RootSet::All),
                            _ => Starts::Objects(vec![pick(dice), pick(dice)]),
                        },
                    }
                };
                let plan = Plan {
                    steps: (0..4).map(|_| step(dice)).collect(),
                };
                let threads = 1 + dice.below(3);
                let examiner = |_| Nosy(dice.below(2) == 0);
                let goes_on = |_, _| ControlFlow::Continue(());
                trace::run(view, &mut view.visits(), &plan, threads, examiner, goes_on);
            }
            6 => {
                let probes = Probes::of(view);
                let search = Search {
                    from: Origin::Roots(RootSet::AllBut("main", Part::Both)),
                    avoid: &[pick(dice)],
                };
                let to = pick(dice);
                let _ = probes.path(&search, to);
                let _ = probes.all_paths(&search, to, 5);
            }
            7 => {
                visits.reserve(5);
                let fresh = visits.fresh();
                marks.push(fresh);
            }
            _ => {
                let object = pick(dice);
                let mut strong = 0;
                view.for_each_edge(object, |_, strength, _| {
                    strong += (strength == Strength::Strong) as usize;
                });
            }
        }
    }
}

fn run(seed: u64, collector: Collector, threads: usize, zeal: u32, by_hand: bool) {
    let mut dice = Dice(seed);
    let heap = Heap::builder()
        .collector(collector)
        .collector_threads(threads)
        .finalization(if seed.is_multiple_of(2) {
            Finalization::OnRequest
        } else {
            Finalization::AfterCollection
        })
        .max_bytes(64 << 20)
        .nursery_bytes(64 << 10)
        .zeal(zeal)
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let mut roots: Vec<Root<Node>> = Vec::new();
    let mut weak: Vec<Weak<Node>> = Vec::new();
    let mut kept = Vec::new();
    let mut id = 0;
    for round in 0..12 {
        {
            let mut m = m.scope();
            let mut new = Vec::new();
            for _ in 0..dice.below(60) {
                id += 1;
                let node = NodeInit {
                    id,
                    touched: 0,
                    a: None,
                    b: None,
                    weak: None,
                    array: None,
                    map: None,
                };
                let node = m.alloc(node).unwrap();
                new.push(node);
                match dice.below(8) {
                    0 => {
                        let length = if dice.below(3) == 0 {
                            2500
                        } else {
                            dice.below(5)
                        };
                        let array = m.alloc_refs::<Node>(length).unwrap();
                        m[node].array.set(Some(&m[array]));
                    }
                    1 => {
                        let map = m.alloc_weak_map::<Node, Node>().unwrap();
                        m[node].map.set(Some(&m[map]));
                    }
                    2 => m.on_death(&m[node], |_, _| ()),
                    _ => {}
                }
            }
            let mut pool: Vec<_> = new.clone();
            for root in &roots {
                pool.push(m.local(&m[root]));
            }
            for it in &weak {
                let it = it.get(&m).map(|it| m.local(it));
                pool.extend(it);
            }
            if pool.is_empty() {
                continue;
            }
            for _ in 0..80 {
                let [x, y, z] = [(); 3].map(|()| pool[dice.below(pool.len())]);
                match dice.below(6) {
                    0 => m[x].a.set(Some(&m[y])),
                    1 => m[x].b.set(Some(&m[y])),
                    2 => m[x].weak.set(Some(&m[y])),
                    3 => {
                        if let Some(array) = m[x].array.get().filter(|it| !it.is_empty()) {
                            array[dice.below(array.len())].set(Some(&m[y]));
                        }
                    }
                    4 => {
                        let map = m[x].map.get().map(|map| m.local(map));
                        if let Some(map) = map {
                            m.weak_map_insert(map, y, z).unwrap();
                        }
                    }
                    _ => m[x].a.clear(),
                }
            }
            for _ in 0..3 {
                let it = pool[dice.below(pool.len())];
                weak.push(m.weak(&m[it]));
                let it = pool[dice.below(pool.len())];
                roots.push(m.root(&m[it]));
            }
            if roots.len() > 4 {
                for _ in 0..2 {
                    roots.swap_remove(dice.below(roots.len()));
                }
            }
        }
        let before = walk(&m, &roots);
        // Marks made by hand may be refused.
        let collects = dice.below(3) > 0;
        let result = catch_unwind(AssertUnwindSafe(|| match collects {
            false => m.inspect(|view| attack(view, &mut dice, &weak, by_hand, &mut kept)),
            true => {
                m.inspect_and_collect(|view| attack(view, &mut dice, &weak, by_hand, &mut kept))
            }
        }));
        // So may those that a later `reserve` has forgotten.
        let _ = result;
        let after = walk(&m, &roots);
        assert_eq!(before.0, after.0, "seed {seed} round {round}");
        for it in &kept {
            let _ = m[it].class().name.len();
        }
        if dice.below(3) == 0 {
            kept.clear();
        }
        if dice.below(2) == 0 {
            m.run_finalizers();
        }
        if !by_hand && dice.below(3) == 0 {
            let snapshot = m.capture(PlainData::All);
            let live = Probes::of(&snapshot).reach_all().len();
            let reached = m.ask(|heap| heap.reach_all().len());
            assert_eq!(live, reached, "seed {seed} round {round}");
        }
    }
}

fn all(by_hand: bool) {
    for seed in 0..u64::from(cases(6)) {
        for collector in [Collector::MarkSweep, Collector::Generational] {
            for threads in [1, 4] {
                for zeal in [0, 1, 50] {
                    if threads == 4 && zeal == 1 {
                        continue;
                    }
                    run(seed * 7919 + 13, collector, threads, zeal, by_hand);
                }
            }
        }
    }
}

#[test]
fn honest_questions_keep_what_lives() {
    all(false);
}

#[test]
fn dishonest_questions_keep_what_lives() {
    all(true);
}
