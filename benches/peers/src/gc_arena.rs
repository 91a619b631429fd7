//! gc-arena: incremental mark and sweep inside a closed arena, on top of the
//! system's `malloc`.
//!
//! References live only inside a `mutate` call, and collection happens only
//! between two of them. As its documentation advises, work is cut into calls
//! of about [`STEP`] allocations, each followed by `collect_debt`, with the
//! default pacing; only a single tree is never cut in two. That call is also
//! where the program pauses.
//!
//! Slots that change after birth are `Lock`s, written through the barrier.

use ::gc_arena::barrier::field;
use ::gc_arena::{Arena, Collect, Gc, Lock, Mutation, RefLock, Rootable};

use crate::Competitor;
use crate::for_each_size_class;
use crate::workload::graph::{self, Birth, Graph, Kind};
use crate::workload::script::{self, Operation, Script};
use crate::workload::{
    self, Digest, Figure, Job, Longest, Mode, Outcome, Scale, Stopwatch, Workload, sizes,
};

pub const COMPETITORS: &[Competitor] = &[Competitor {
    name: "gc-arena",
    about: "gc-arena 0.7, default pacing, system malloc; takes no heap size",
    supports: |job| job.collector_threads == 1,
    run,
}];

/// Allocations between two chances to collect.
const STEP: u64 = 1000;

fn run(job: &Job) -> Outcome {
    match (job.workload, job.mode) {
        (Workload::Mark, _) => mark(job.scale),
        (Workload::BinaryTrees, Mode::Total) => binary_trees::<false>(job.scale),
        (Workload::BinaryTrees, Mode::Pause) => binary_trees::<true>(job.scale),
        (Workload::GarbageOnly, _) => garbage_only(job.scale),
        (Workload::Mutation, _) => mutation(job.scale),
        (Workload::HalfLost, _) => half_lost(job.scale),
        (Workload::TwoMutators, _) => unreachable!("an arena belongs to one thread"),
    }
}

type Slot<'gc, T> = Lock<Option<Gc<'gc, T>>>;

#[derive(Collect)]
#[collect(no_drop)]
struct Tree<'gc> {
    left: Slot<'gc, Tree<'gc>>,
    right: Slot<'gc, Tree<'gc>>,
    record: Slot<'gc, Record<'gc>>,
    payload: u64,
}

#[derive(Collect)]
#[collect(no_drop)]
struct List<'gc> {
    next: Slot<'gc, List<'gc>>,
    record: Slot<'gc, Record<'gc>>,
    payload: u64,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Entry<'gc> {
    next: Slot<'gc, Entry<'gc>>,
    leaf: Slot<'gc, Leaf>,
    record: Slot<'gc, Record<'gc>>,
    payload: u64,
}

#[derive(Collect)]
#[collect(no_drop)]
struct Record<'gc> {
    record: Slot<'gc, Record<'gc>>,
    list: Slot<'gc, List<'gc>>,
    tree: Slot<'gc, Tree<'gc>>,
    entry: Slot<'gc, Entry<'gc>>,
    leaf: Slot<'gc, Leaf>,
    payload: [u64; graph::RECORD_WORDS],
}

#[derive(Collect)]
#[collect(no_drop)]
struct Leaf {
    payload: [u64; graph::LEAF_WORDS],
}

#[derive(Collect)]
#[collect(no_drop)]
struct Unit<'gc> {
    tree: Slot<'gc, Tree<'gc>>,
    list: Slot<'gc, List<'gc>>,
    table: Slot<'gc, Table<'gc>>,
}

type Table<'gc> = RefLock<[Option<Gc<'gc, Entry<'gc>>>; graph::BUCKETS as usize]>;

#[derive(Collect)]
#[collect(no_drop)]
struct Directories<'gc> {
    parts: [Vec<Gc<'gc, Unit<'gc>>>; graph::PARTS as usize],
}

fn mark(scale: Scale) -> Outcome {
    let graph = Graph::new(scale);
    let mut arena = Arena::<Rootable![Directories<'_>]>::new(|_| Directories {
        parts: Default::default(),
    });
    arena.mutate_root(|mc, root| build(mc, root, &graph));

    let full = workload::median_collection(|| arena.finish_cycle());
    let resident = workload::resident_bytes();
    let mut checksum = arena.mutate(|_, root| check(root));

    arena.mutate_root(|_, root| root.parts[graph::LOST_PART as usize] = Vec::new());
    let start = Stopwatch::start();
    arena.finish_cycle();
    let quarter = start.elapsed();
    checksum.add(1, arena.mutate(|_, root| check(root)).0);

    Outcome::new(checksum)
        .with_time(Figure::FullMs, full)
        .with_time(Figure::QuarterGarbageMs, quarter)
        .with_memory(resident, graph.nominal_bytes())
}

fn build<'gc>(mc: &Mutation<'gc>, root: &mut Directories<'gc>, graph: &Graph) {
    /// Objects are not born in the order of their indices.
    fn table<T: Copy>(graph: &Graph, per_unit: u32) -> Vec<Option<T>> {
        vec![None; (graph.units() * per_unit) as usize]
    }
    let mut units = table::<Gc<Unit>>(graph, 1);
    let mut tables = table::<Gc<Table>>(graph, 1);
    let mut trees = table::<Gc<Tree>>(graph, graph::TREES);
    let mut lists = table::<Gc<List>>(graph, graph::LISTS);
    let mut entries = table::<Gc<Entry>>(graph, graph::ENTRIES);
    let mut records = table::<Gc<Record>>(graph, graph::RECORDS);
    let mut leaves = table::<Gc<Leaf>>(graph, graph::LEAVES);
    graph.for_each_birth(|birth| match birth {
        Birth::Unit(i) => {
            units[i as usize] = Some(Gc::new(
                mc,
                Unit {
                    tree: Lock::new(None),
                    list: Lock::new(None),
                    table: Lock::new(None),
                },
            ));
        }
        Birth::Table(i) => {
            tables[i as usize] = Some(Gc::new(mc, RefLock::new([None; graph::BUCKETS as usize])));
        }
        Birth::Tree(i) => {
            trees[i as usize] = Some(Gc::new(
                mc,
                Tree {
                    left: Lock::new(None),
                    right: Lock::new(None),
                    record: Lock::new(None),
                    payload: graph.payload(Kind::Tree, i),
                },
            ));
        }
        Birth::List(i) => {
            lists[i as usize] = Some(Gc::new(
                mc,
                List {
                    next: Lock::new(None),
                    record: Lock::new(None),
                    payload: graph.payload(Kind::List, i),
                },
            ));
        }
        Birth::Entry(i) => {
            entries[i as usize] = Some(Gc::new(
                mc,
                Entry {
                    next: Lock::new(None),
                    leaf: Lock::new(None),
                    record: Lock::new(None),
                    payload: graph.payload(Kind::Entry, i),
                },
            ));
        }
        Birth::Record(i) => {
            records[i as usize] = Some(Gc::new(
                mc,
                Record {
                    record: Lock::new(None),
                    list: Lock::new(None),
                    tree: Lock::new(None),
                    entry: Lock::new(None),
                    leaf: Lock::new(None),
                    payload: [graph.payload(Kind::Record, i); _],
                },
            ));
        }
        Birth::Leaf(i) => {
            leaves[i as usize] = Some(Gc::new(
                mc,
                Leaf {
                    payload: [graph.payload(Kind::Leaf, i); _],
                },
            ));
        }
    });

    for (i, tree) in (0..).zip(trees.iter().copied().flatten()) {
        let edges = graph.tree(i);
        let tree = Gc::write(mc, tree);
        let at = |i: Option<u32>| i.and_then(|i| trees[i as usize]);
        field!(tree, Tree, left).unlock().set(at(edges.left));
        field!(tree, Tree, right).unlock().set(at(edges.right));
        field!(tree, Tree, record)
            .unlock()
            .set(records[edges.record as usize]);
    }
    for (i, list) in (0..).zip(lists.iter().copied().flatten()) {
        let edges = graph.list(i);
        let list = Gc::write(mc, list);
        let next = edges.next.and_then(|i| lists[i as usize]);
        field!(list, List, next).unlock().set(next);
        field!(list, List, record)
            .unlock()
            .set(records[edges.record as usize]);
    }
    for (i, entry) in (0..).zip(entries.iter().copied().flatten()) {
        let edges = graph.entry(i);
        let entry = Gc::write(mc, entry);
        let next = edges.next.and_then(|i| entries[i as usize]);
        field!(entry, Entry, next).unlock().set(next);
        field!(entry, Entry, leaf)
            .unlock()
            .set(leaves[edges.leaf as usize]);
        field!(entry, Entry, record)
            .unlock()
            .set(records[edges.record as usize]);
    }
    for (i, record) in (0..).zip(records.iter().copied().flatten()) {
        let edges = graph.record(i);
        let record = Gc::write(mc, record);
        let set = edges.record.and_then(|i| records[i as usize]);
        field!(record, Record, record).unlock().set(set);
        let set = edges.list.and_then(|i| lists[i as usize]);
        field!(record, Record, list).unlock().set(set);
        let set = edges.tree.and_then(|i| trees[i as usize]);
        field!(record, Record, tree).unlock().set(set);
        let set = edges.entry.and_then(|i| entries[i as usize]);
        field!(record, Record, entry).unlock().set(set);
        let set = edges.leaf.and_then(|i| leaves[i as usize]);
        field!(record, Record, leaf).unlock().set(set);
    }
    let pairs = units
        .iter()
        .copied()
        .flatten()
        .zip(tables.iter().copied().flatten());
    for (i, (unit, table)) in (0..).zip(pairs) {
        let mut buckets = table.borrow_mut(mc);
        for (b, bucket) in (0..).zip(buckets.iter_mut()) {
            *bucket = graph.bucket(i, b).and_then(|i| entries[i as usize]);
        }
        let unit = Gc::write(mc, unit);
        let tree = trees[graph.unit_tree(i) as usize];
        let list = lists[graph.unit_list(i) as usize];
        field!(unit, Unit, tree).unlock().set(tree);
        field!(unit, Unit, list).unlock().set(list);
        field!(unit, Unit, table).unlock().set(Some(table));
    }
    for part in 0..graph::PARTS {
        root.parts[part as usize] = (0..graph.units_per_part())
            .filter_map(|index| units[graph.unit_of_part(part, index) as usize])
            .collect();
    }
}

fn check(root: &Directories) -> Digest {
    fn tree_and_below(digest: &mut Digest, tree: Gc<Tree>) {
        digest.add(1, tree.payload);
        if let Some(record) = tree.record.get() {
            digest.add(2, record.payload[0]);
            let read = [
                record.record.get().map(|it| it.payload[0]),
                record.list.get().map(|it| it.payload),
                record.tree.get().map(|it| it.payload),
                record.entry.get().map(|it| it.payload),
                record.leaf.get().map(|it| it.payload[0]),
            ];
            for (slot, payload) in (3..).zip(read) {
                digest.add(slot, payload.unwrap_or(1));
            }
        }
        for child in [tree.left.get(), tree.right.get()].into_iter().flatten() {
            tree_and_below(digest, child);
        }
    }
    let mut digest = Digest::default();
    for unit in root.parts.iter().flatten() {
        if let Some(tree) = unit.tree.get() {
            tree_and_below(&mut digest, tree);
        }
        let mut next = unit.list.get();
        while let Some(list) = next {
            digest.add(8, list.payload);
            digest.add(9, list.record.get().map_or(1, |it| it.payload[0]));
            next = list.next.get();
        }
        let Some(table) = unit.table.get() else {
            continue;
        };
        for mut next in table.borrow().iter().copied() {
            while let Some(entry) = next {
                digest.add(10, entry.payload);
                digest.add(11, entry.leaf.get().map_or(1, |it| it.payload[0]));
                digest.add(12, entry.record.get().map_or(1, |it| it.payload[0]));
                next = entry.next.get();
            }
        }
    }
    digest
}

#[derive(Collect)]
#[collect(no_drop)]
struct Node<'gc> {
    left: Option<Gc<'gc, Node<'gc>>>,
    right: Option<Gc<'gc, Node<'gc>>>,
    payload: u64,
}

impl<'gc> Node<'gc> {
    fn tree(mc: &Mutation<'gc>, depth: u32) -> Gc<'gc, Node<'gc>> {
        let (left, right) = match depth.checked_sub(1) {
            Some(depth) => (Some(Node::tree(mc, depth)), Some(Node::tree(mc, depth))),
            None => (None, None),
        };
        Gc::new(
            mc,
            Node {
                left,
                right,
                payload: u64::from(depth) + 1,
            },
        )
    }

    fn sum(&self) -> u64 {
        match (self.left, self.right) {
            (Some(left), Some(right)) => self.payload + left.sum() + right.sum(),
            _ => self.payload,
        }
    }
}

fn binary_trees<const TIMED: bool>(scale: Scale) -> Outcome {
    let depth = workload::tree_depth(scale);
    let mut digest = Digest::default();
    let mut pause = Longest::default();
    let start = Stopwatch::start();
    type Kept<'gc> = Option<Gc<'gc, Node<'gc>>>;
    let mut arena = Arena::<Rootable![Kept<'_>]>::new(|_| None);
    let stretch = arena.mutate(|mc, _| Node::tree(mc, depth + 1).sum());
    digest.add(1, stretch);
    pause.time::<TIMED, _>(|| arena.collect_debt());
    arena.mutate_root(|mc, kept| *kept = Some(Node::tree(mc, depth)));
    pause.time::<TIMED, _>(|| arena.collect_debt());
    for (depth, trees) in workload::short_trees(depth) {
        let step = (STEP / workload::tree_nodes(depth)).max(1);
        let mut left = trees;
        let mut sum = 0u64;
        while left > 0 {
            let now = step.min(left);
            left -= now;
            sum += arena.mutate(|mc, _| (0..now).map(|_| Node::tree(mc, depth).sum()).sum::<u64>());
            pause.time::<TIMED, _>(|| arena.collect_debt());
        }
        digest.add(u64::from(depth), sum);
    }
    digest.add(2, arena.mutate(|_, kept| kept.map_or(0, |kept| kept.sum())));
    let total = start.elapsed();
    if TIMED {
        return Outcome::new(digest).with_time(Figure::LongestPauseMs, pause.0);
    }
    // The first may end a cycle that began long before.
    arena.finish_cycle();
    arena.finish_cycle();
    Outcome::new(digest)
        .with_time(Figure::TotalMs, total)
        .with_memory(
            workload::resident_bytes(),
            workload::tree_nodes(depth) * workload::TREE_NODE_NOMINAL_BYTES,
        )
}

fn garbage_only(scale: Scale) -> Outcome {
    let objects = workload::garbage_objects(scale);
    let mut digest = Digest::default();
    let start = Stopwatch::start();
    let mut arena = Arena::<Rootable![()]>::new(|_| ());
    for step in (0..objects).step_by(STEP as usize) {
        arena.mutate(|mc, ()| {
            for payload in step..(step + STEP).min(objects) {
                let node = Gc::new(
                    mc,
                    Node {
                        left: None,
                        right: None,
                        payload,
                    },
                );
                digest.add(0, std::hint::black_box(node).payload);
            }
        });
        arena.collect_debt();
    }
    Outcome::new(digest).with_time(Figure::TotalMs, start.elapsed())
}

#[derive(Collect)]
#[collect(no_drop)]
struct Value {
    payload: [u64; 3],
}

impl Value {
    fn new<'gc>(mc: &Mutation<'gc>, payload: u64) -> Gc<'gc, Value> {
        Gc::new(
            mc,
            Value {
                payload: [payload; 3],
            },
        )
    }
}

#[derive(Collect)]
#[collect(no_drop)]
struct MapEntry<'gc> {
    next: Slot<'gc, MapEntry<'gc>>,
    value: Lock<Gc<'gc, Value>>,
    key: u32,
}

#[derive(Collect)]
#[collect(no_drop)]
struct ListNode<'gc> {
    next: Slot<'gc, ListNode<'gc>>,
    value: Lock<Gc<'gc, Value>>,
}

type Buckets<'gc> = RefLock<Box<[Option<Gc<'gc, MapEntry<'gc>>>]>>;

#[derive(Collect)]
#[collect(no_drop)]
struct World<'gc> {
    buckets: Gc<'gc, Buckets<'gc>>,
    head: Gc<'gc, ListNode<'gc>>,
    cursor: Gc<'gc, ListNode<'gc>>,
}

impl<'gc> World<'gc> {
    fn find(&self, size: &script::Size, key: u32) -> Option<Gc<'gc, MapEntry<'gc>>> {
        let mut next = self.buckets.borrow()[size.bucket(key)];
        while let Some(entry) = next {
            if entry.key == key {
                return Some(entry);
            }
            next = entry.next.get();
        }
        None
    }

    fn insert(&self, mc: &Mutation<'gc>, size: &script::Size, key: u32, value: Gc<'gc, Value>) {
        let bucket = size.bucket(key);
        let next = self.buckets.borrow()[bucket];
        let entry = Gc::new(
            mc,
            MapEntry {
                next: Lock::new(next),
                value: Lock::new(value),
                key,
            },
        );
        self.buckets.borrow_mut(mc)[bucket] = Some(entry);
    }

    fn remove(&self, mc: &Mutation<'gc>, size: &script::Size, key: u32) -> Option<u64> {
        let bucket = size.bucket(key);
        let mut before: Option<Gc<MapEntry>> = None;
        let mut next = self.buckets.borrow()[bucket];
        while let Some(entry) = next {
            next = entry.next.get();
            if entry.key != key {
                before = Some(entry);
                continue;
            }
            match before {
                Some(before) => field!(Gc::write(mc, before), MapEntry, next)
                    .unlock()
                    .set(next),
                None => self.buckets.borrow_mut(mc)[bucket] = next,
            }
            return Some(entry.value.get().payload[0]);
        }
        None
    }

    fn apply(
        &mut self,
        mc: &Mutation<'gc>,
        size: &script::Size,
        operation: Operation,
        digest: &mut Digest,
    ) {
        use script::digest::{LIST_REMOVED, LIST_REPLACED, REMOVED, REPLACED};
        match operation {
            Operation::Put { key, value } => {
                let value = Value::new(mc, value);
                match self.find(size, key) {
                    Some(entry) => {
                        digest.add(REPLACED, entry.value.get().payload[0]);
                        field!(Gc::write(mc, entry), MapEntry, value)
                            .unlock()
                            .set(value);
                    }
                    None => self.insert(mc, size, key, value),
                }
                return;
            }
            Operation::Remove { key } => {
                if let Some(payload) = self.remove(mc, size, key) {
                    digest.add(REMOVED, payload);
                }
                return;
            }
            Operation::Swap { a, b } => {
                if let (Some(a), Some(b)) = (self.find(size, a), self.find(size, b)) {
                    let (value_a, value_b) = (a.value.get(), b.value.get());
                    field!(Gc::write(mc, a), MapEntry, value)
                        .unlock()
                        .set(value_b);
                    field!(Gc::write(mc, b), MapEntry, value)
                        .unlock()
                        .set(value_a);
                }
                return;
            }
            _ => {}
        }
        self.cursor = self.cursor.next.get().unwrap_or(self.head);
        match operation {
            Operation::ListInsert { value } => {
                let node = Gc::new(
                    mc,
                    ListNode {
                        next: Lock::new(self.cursor.next.get()),
                        value: Lock::new(Value::new(mc, value)),
                    },
                );
                field!(Gc::write(mc, self.cursor), ListNode, next)
                    .unlock()
                    .set(Some(node));
            }
            Operation::ListReplace { value } => {
                digest.add(LIST_REPLACED, self.cursor.value.get().payload[0]);
                let value = Value::new(mc, value);
                field!(Gc::write(mc, self.cursor), ListNode, value)
                    .unlock()
                    .set(value);
            }
            _ => {
                if let Some(removed) = self.cursor.next.get() {
                    digest.add(LIST_REMOVED, removed.value.get().payload[0]);
                    let next = removed.next.get();
                    field!(Gc::write(mc, self.cursor), ListNode, next)
                        .unlock()
                        .set(next);
                }
            }
        }
    }

    fn check(&self, digest: &mut Digest) {
        for mut next in self.buckets.borrow().iter().copied() {
            while let Some(entry) = next {
                let slot = script::digest::LEFT_IN_MAP + u64::from(entry.key);
                digest.add(slot, entry.value.get().payload[0]);
                next = entry.next.get();
            }
        }
        let mut next = Some(self.head);
        while let Some(node) = next {
            digest.add(script::digest::LEFT_IN_LIST, node.value.get().payload[0]);
            next = node.next.get();
        }
    }
}

fn mutation(scale: Scale) -> Outcome {
    let size = script::Size::new(scale);
    let mut digest = Digest::default();
    let start = Stopwatch::start();
    let mut arena = Arena::<Rootable![World<'_>]>::new(|mc| {
        let head = Gc::new(
            mc,
            ListNode {
                next: Lock::new(None),
                value: Lock::new(Value::new(mc, script::first_value(0))),
            },
        );
        World {
            buckets: Gc::new(
                mc,
                RefLock::new(vec![None; size.buckets as usize].into_boxed_slice()),
            ),
            head,
            cursor: head,
        }
    });
    arena.mutate(|mc, world| {
        for key in size.first_keys() {
            let value = Value::new(mc, script::first_value(key));
            world.insert(mc, &size, key, value);
        }
        for node in 1..size.list_nodes {
            let node = Gc::new(
                mc,
                ListNode {
                    next: Lock::new(world.head.next.get()),
                    value: Lock::new(Value::new(mc, script::first_value(node))),
                },
            );
            field!(Gc::write(mc, world.head), ListNode, next)
                .unlock()
                .set(Some(node));
        }
    });
    let mut script = Script::new(size).peekable();
    while script.peek().is_some() {
        arena.mutate_root(|mc, world| {
            for operation in script.by_ref().take(STEP as usize) {
                world.apply(mc, &size, operation, &mut digest);
            }
        });
        arena.collect_debt();
    }
    let total = start.elapsed();
    arena.mutate(|_, world| world.check(&mut digest));
    Outcome::new(digest).with_time(Figure::TotalMs, total)
}

#[derive(Collect)]
#[collect(no_drop)]
struct SizeTables<'gc> {
    classes: Vec<Vec<Option<Gc<'gc, ()>>>>,
}

fn half_lost(scale: Scale) -> Outcome {
    fn new<'gc, const WORDS: usize>(mc: &Mutation<'gc>, payload: u64) -> Gc<'gc, ()> {
        Gc::erase(Gc::new_static(mc, [payload; WORDS]))
    }
    macro_rules! constructors {
        ($(($class:literal, $words:literal))*) => { [$(new::<$words>),*] };
    }
    let mut arena = Arena::<Rootable![SizeTables<'_>]>::new(|_| SizeTables {
        classes: (0..sizes::SIZES.len())
            .map(|class| Vec::with_capacity(sizes::class_objects(scale, class)))
            .collect(),
    });
    // All of it stays alive, so there is nothing for a collection to find.
    arena.mutate_root(|mc, root| {
        let constructors = for_each_size_class!(constructors);
        sizes::for_each_birth(scale, |class, index| {
            let object = constructors[class](mc, sizes::payload(class, index));
            root.classes[class].push(Some(object));
        });
    });
    arena.mutate_root(|_, root| {
        for (class, table) in root.classes.iter_mut().enumerate() {
            for (index, slot) in table.iter_mut().enumerate() {
                if !sizes::stays(class, index) {
                    *slot = None;
                }
            }
        }
    });
    // The first may end a cycle that began before the objects were dropped.
    arena.finish_cycle();
    arena.finish_cycle();
    let resident = workload::resident_bytes();
    let mut digest = Digest::default();
    arena.mutate(|_, root| {
        for (class, table) in root.classes.iter().enumerate() {
            for object in table.iter().flatten() {
                // SAFETY: every constructor makes an array of words, and none
                // is empty; the erased reference points at the first.
                let payload = unsafe { *Gc::as_ptr(*object).cast::<u64>() };
                sizes::digest(&mut digest, class, payload);
            }
        }
    });
    Outcome::new(digest).with_memory(resident, sizes::nominal_live_bytes(scale))
}
