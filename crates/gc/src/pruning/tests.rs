//! The figures 3 to 5 of the paper, object by object; and what SELECT measures, against its definition.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::*;
use crate::raw::{Instance, Local, Managed, Object, Root, Slot, Weak};
use crate::{Collector, DynClass, Heap};

/// A class of objects with that many slots.
fn class(heap: &Heap, name: &str, slots: usize) -> DynClass {
    let mut class = heap.define_class(name);
    for slot in 0..slots {
        class = class.slot(format!("s{slot}"));
    }
    class.define().unwrap()
}

struct Figure<'m> {
    a1: Local<'m, Instance>,
    bs: Vec<Local<'m, Instance>>,
    cs: Vec<Local<'m, Instance>>,
    ds: Vec<Local<'m, Instance>>,
    e1: Local<'m, Instance>,
}

/// Figure 3: a1 refers to b1 to b4, each of them to its c, each of those to two d; e1 refers to c4.
fn build<'m>(heap: &Heap, m: &mut Mutator<'m>) -> Figure<'m> {
    let [a, b, c, d, e] = [("A", 4), ("B", 1), ("C", 2), ("D", 0), ("E", 1)]
        .map(|(name, slots)| class(heap, name, slots));
    let mut some = |class: &DynClass, count: usize| -> Vec<Local<'m, Instance>> {
        (0..count)
            .map(|_| m.alloc_instance(class).unwrap())
            .collect()
    };
    let figure = Figure {
        a1: some(&a, 1)[0],
        bs: some(&b, 4),
        cs: some(&c, 4),
        ds: some(&d, 8),
        e1: some(&e, 1)[0],
    };
    let link = |from: Local<'m, Instance>, slot: usize, to: Local<'m, Instance>| {
        m[from][slot].set(Some(m[to].as_object()));
    };
    for i in 0..4 {
        link(figure.a1, i, figure.bs[i]);
        link(figure.bs[i], 0, figure.cs[i]);
        link(figure.cs[i], 0, figure.ds[2 * i]);
        link(figure.cs[i], 1, figure.ds[2 * i + 1]);
    }
    link(figure.e1, 0, figure.cs[3]);
    figure
}

/// Lets the next collection be in a state, and collects.
fn collect(heap: &Heap, m: &mut Mutator<'_>, state: PruningState) {
    let mut progress = heap.inner().pruning.progress.lock().unwrap();
    progress.urgent = (state != PruningState::Observe).then_some(state);
    drop(progress);
    m.collect();
}

fn slot_of(object: &Object, slot: usize) -> &Slot<Object> {
    &object.downcast::<Instance>().unwrap()[slot]
}

#[test]
fn figures_3_to_5() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for threads in [1, 4] {
            figures(collector, threads);
        }
    }
}

fn figures(collector: Collector, threads: usize) {
    let options = Heap::builder()
        .collector(collector)
        .collector_threads(threads)
        .pruning(
            Pruning::new()
                .observe_above(0.0)
                .select_above(1.0)
                .every_collection_counts(true),
        );
    let heap = options.build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let [a1, e1] = {
        let mut m = m.scope();
        let figure = build(&heap, &mut m);
        let roots = ["a1", "e1"].map(|name| m.static_root::<Object>(name));
        roots[0].set(&m, Some(m[figure.a1].as_object()));
        roots[1].set(&m, Some(m[figure.e1].as_object()));
        roots
    };
    let staleness = |m: &Mutator<'_>, path: &[usize]| {
        // Read as the collector reads: to look is no use.
        let mut at = a1.get(m).unwrap().raw();
        for &slot in path {
            let word = heap.inner().word_for_test(at, slot);
            at = word;
        }
        heap.inner().staleness_for_test(at)
    };
    // The first finds out how full the heap is.
    collect(&heap, &mut m, PruningState::Observe);
    for nth in 1..=2u8 {
        collect(&heap, &mut m, PruningState::Observe);
        assert_eq!(staleness(&m, &[0, 0]), nth);
        // c2 is in use all the time.
        let b2 = slot_of(a1.get(&m).unwrap(), 1).get().unwrap();
        let _ = slot_of(b2, 0).get();
    }
    // c4 is used by way of e1 when it is stale by 2.
    let _ = slot_of(e1.get(&m).unwrap(), 0).get();
    let classes = ["A", "B", "C", "D", "E"].map(|name| {
        let all = &heap.inner().classes;
        let ids = (1..=all.count() as u32).map(ClassId);
        let mut ids = ids.filter(|&id| all.get(id).info.name == name);
        ids.next().unwrap().0
    });
    let [_, b, c, _, e] = classes;
    let uses = heap.inner().pruning.uses.lock().unwrap().clone();
    assert_eq!(uses.get((e, c)).map(|it| it.staleness), Some(2));
    assert_eq!(uses.get((b, c)), None);
    // Until c4 is stale again, by 2 or more but less than 4.
    for _ in 0..2 {
        collect(&heap, &mut m, PruningState::Observe);
        let b2 = slot_of(a1.get(&m).unwrap(), 1).get().unwrap();
        let _ = slot_of(b2, 0).get();
    }
    assert_eq!(staleness(&m, &[0, 0]), 3);
    // Whether it is 0 or 1 between an even collection and an odd one makes no difference: see `tags_matter`.
    assert!(staleness(&m, &[1, 0]) <= 1);
    assert_eq!(staleness(&m, &[3, 0]), 2);
    // b1 to b4 have been unused as well, but for b2: only c1, c3 and c4 are to count, as in the figure.
    for slot in 0..4 {
        let _ = slot_of(a1.get(&m).unwrap(), slot).get();
    }
    heap.inner()
        .pruning
        .uses
        .lock()
        .unwrap()
        .forget_for_test((classes[0], b));
    collect(&heap, &mut m, PruningState::Select);
    let choice = heap.inner().pruning.progress.lock().unwrap().choice;
    assert_eq!(
        choice,
        Some(Choice::Type {
            edge: (b, c),
            from: 2
        })
    );
    collect(&heap, &mut m, PruningState::Prune);
    let pruned = heap.pruned();
    assert_eq!(pruned.len(), 1);
    // Six objects, of c1 and c3; what hangs on c4 is reachable by way of e1.
    assert_eq!((pruned[0].source(), pruned[0].target()), ("B", "C"));
    assert_eq!((pruned[0].references(), pruned[0].objects()), (3, 6));
    let read = |b: usize| {
        let b = slot_of(a1.get(&m).unwrap(), b).get().unwrap();
        slot_of(b, 0).try_get().map(|c| c.is_some())
    };
    for b in [0, 2, 3] {
        let error = read(b).unwrap_err();
        assert_eq!(error.pruned(), Some(&pruned[0]));
        assert!(std::error::Error::source(&error).is_some());
    }
    assert_eq!(read(1), Ok(true));
    let c4 = slot_of(e1.get(&m).unwrap(), 0).get().unwrap();
    assert!(slot_of(c4, 0).get().is_some() && slot_of(c4, 1).get().is_some());
    assert_eq!(heap.stats().history.back().unwrap().marked_objects, 12);
}

#[test]
fn candidates_are_looked_for_where_objects_can_become_stale_by_two() {
    for nth in 1..1024u64 {
        let becomes = (1..7).any(|staleness| nth.is_multiple_of(1 << staleness));
        assert_eq!(staler_by_two(Some(nth)), becomes, "{nth}");
    }
    assert!(staler_by_two(None));
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1);
        (self.0 >> 33) as usize % limit
    }
}

const SLOTS: usize = 3;

/// Some objects of four classes that refer to one another at random, and the first in a static.
fn tangle(heap: &Heap, m: &mut Mutator<'_>, dice: &mut Dice) -> crate::Static<Object> {
    let mut m = m.scope();
    let classes = ["A", "B", "C", "D"].map(|name| class(heap, name, SLOTS));
    let objects: Vec<Local<'_, Instance>> = (0..60)
        .map(|_| m.alloc_instance(&classes[dice.below(4)]).unwrap())
        .collect();
    for (nth, &from) in objects.iter().enumerate() {
        for slot in 0..SLOTS {
            // Mostly to what is near, so that some hang on others.
            let to = (nth + 1 + dice.below(8)).min(59);
            let to = if dice.below(8) == 0 {
                dice.below(60)
            } else {
                to
            };
            if dice.below(4) > 0 {
                m[from][slot].set(Some(m[objects[to]].as_object()));
            }
        }
    }
    let root = m.static_root::<Object>("root");
    root.set(&m, Some(m[objects[0]].as_object()));
    root
}

/// Goes somewhere and reads what it passes.
fn wander(root: &Object, dice: &mut Dice) {
    let mut at = root;
    for _ in 0..dice.below(6) {
        match slot_of(at, dice.below(SLOTS)).get() {
            Some(next) => at = next,
            None => return,
        }
    }
}

/// How many objects hang on the stale references of each type alone, or on them and later types: by definition.
fn weighed(heap: &Heap, root: Raw) -> BTreeMap<EdgeType, usize> {
    let inner = heap.inner();
    let uses = inner.pruning.uses.lock().unwrap().clone();
    let class = |raw: Raw| inner.class_of_for_test(raw);
    let edges = |from: Raw| {
        let words = (0..SLOTS).map(move |slot| inner.word_for_test(from, slot));
        words.filter(|it| !it.is_null()).collect::<Vec<Raw>>()
    };
    let is_stale = |from: Raw, to: Raw| {
        let used = uses.get((class(from), class(to)));
        inner.staleness_for_test(to) >= used.map_or(0, |it| it.staleness) + 2
    };
    let (mut seen, mut aside) = (HashSet::new(), BTreeSet::new());
    let mut left = vec![root];
    while let Some(from) = left.pop() {
        if seen.insert(from) {
            for to in edges(from) {
                match is_stale(from, to) {
                    true => drop(aside.insert(((class(from), class(to)), to))),
                    false => left.push(to),
                }
            }
        }
    }
    let mut objects = BTreeMap::new();
    for (edge, to) in aside {
        let mut left = vec![to];
        while let Some(raw) = left.pop() {
            if seen.insert(raw) {
                *objects.entry(edge).or_insert(0) += 1;
                left.extend(edges(raw));
            }
        }
    }
    objects
}

/// The quick form, which weighs, and the obvious one, which measures.
#[test]
fn what_select_measures_is_what_hangs_on_stale_references_by_definition() {
    let mut candidates = 0;
    for seed in 0..300 {
        for (threads, dry_run) in [(1, false), (3, false), (1, true), (3, true)] {
            let options = Pruning::new()
                .observe_above(0.0)
                .select_above(1.0)
                .dry_run(dry_run)
                .every_collection_counts(true);
            let heap = Heap::builder()
                .collector_threads(threads)
                .pruning(options)
                .pruning_reaction(crate::Reaction::Call(std::sync::Arc::new(|_| {})));
            let heap = heap.build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let mut dice = Dice(seed);
            let root = tangle(&heap, &mut m, &mut dice);
            for _ in 0..4 + seed % 24 {
                collect(&heap, &mut m, PruningState::Observe);
                for _ in 0..dice.below(3) {
                    wander(root.get(&m).unwrap(), &mut dice);
                }
            }
            let expected = weighed(&heap, root.get(&m).unwrap().raw());
            collect(&heap, &mut m, PruningState::Select);
            let stats = heap.stats();
            let last = stats.history.back().unwrap();
            // All have the same size.
            let size = last.marked_bytes / last.marked_objects;
            let found = heap.inner().pruning.progress.lock().unwrap();
            let found = found.candidates.types.iter();
            let found = found.filter(|it| it.bytes > 0);
            let found: BTreeMap<_, _> = found.map(|it| (it.edge, it.bytes / size)).collect();
            assert_eq!(found, expected, "seed {seed}, {threads} threads");
            candidates += found.len();
        }
    }
    assert!(candidates > 1000, "only {candidates}");
}

/// Objects with two slots, and what is known of each by definition: it is fresh when it is made, read, written down in a
/// handle or got from a weak one, or while a root refers to it; else every 2ᵏ collections make it staler.
struct Twin<'h> {
    heap: &'h Heap,
    class: DynClass,
    /// All that were ever made.
    objects: Vec<(Weak<Object>, u8)>,
    /// Roots that come and go, with the numbers of their objects.
    held: Vec<(Root<Object>, usize)>,
    collections: u64,
}

impl Twin<'_> {
    fn number(&self, m: &Mutator<'_>, object: &Object) -> usize {
        let is_it = |it: &(Weak<Object>, u8)| m.subject_raw(&it.0) == Some(object.raw());
        self.objects.iter().position(is_it).unwrap()
    }

    fn make(&mut self, m: &mut Mutator<'_>) {
        let mut m = m.scope();
        let local = m.alloc_instance(&self.class).unwrap();
        let object = m[local].as_object();
        self.objects.push((m.weak(object), 0));
        self.held.push((m.root(object), self.objects.len() - 1));
    }

    /// Reads slots from a root on, as the path says, and holds the last object.
    fn walk(&mut self, m: &Mutator<'_>, from: usize, path: &[usize]) {
        let mut at = &m[&self.held[from].0];
        for &slot in path {
            let Some(next) = slot_of(at, slot).get() else {
                break;
            };
            at = next;
            let number = self.number(m, at);
            self.objects[number].1 = 0;
        }
        let number = self.number(m, at);
        self.held.push((m.root(at), number));
    }

    fn collect(&mut self, m: &mut Mutator<'_>) {
        m.collect();
        self.collections += 1;
        let in_use: BTreeSet<usize> = self.held.iter().map(|it| it.1).collect();
        for (number, (handle, staleness)) in self.objects.iter_mut().enumerate() {
            let grows = *staleness < 7 && self.collections.is_multiple_of(1 << *staleness);
            *staleness += grows as u8;
            if in_use.contains(&number) {
                *staleness = 0;
            }
            if let Some(raw) = m.subject_raw(handle) {
                let found = self.heap.inner().staleness_for_test(raw);
                assert_eq!(found, *staleness, "{number} after {}", self.collections);
            }
        }
    }
}

#[test]
fn after_each_collection_objects_are_as_stale_as_they_are_by_definition() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    for round in 0..40 {
        let collector = [Collector::MarkSweep, Collector::Generational][round % 2];
        let forced = [PruningState::Observe, PruningState::Select][round / 2 % 2];
        let heap = Heap::builder()
            .collector(collector)
            .collector_threads(1 + round % 3)
            .pruning(Pruning::new().force(forced));
        let heap = heap.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let mut twin = Twin {
            heap: &heap,
            class: class(&heap, "N", 2),
            objects: Vec::new(),
            held: Vec::new(),
            collections: 0,
        };
        twin.make(&mut m);
        for _ in 0..400 {
            let path: Vec<usize> = (0..random(6)).map(|_| random(2)).collect();
            let from = random(twin.held.len());
            match random(10) {
                0 | 1 if twin.objects.len() < 60 => twin.make(&mut m),
                0..4 => twin.walk(&m, from, &path),
                4..6 => {
                    let (source, target) = (&twin.held[from], random(twin.held.len()));
                    let target = &m[&twin.held[target].0];
                    slot_of(&m[&source.0], random(2)).set(Some(target));
                }
                6 => {
                    let number = random(twin.objects.len());
                    let it = &mut twin.objects[number];
                    if let Some(object) = it.0.get(&m) {
                        it.1 = 0;
                        twin.held.push((m.root(object), number));
                    }
                }
                // The first stays.
                7 | 8 if from > 0 => drop(twin.held.swap_remove(from)),
                _ => twin.collect(&mut m),
            }
        }
        assert!(twin.collections > 20 && twin.objects.len() > 10);
    }
}
