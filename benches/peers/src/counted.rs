//! The workloads for peers whose references are counted handles.
//!
//! boa_gc and dumpster give the program the same face: a `Gc<T>` that is cloned
//! and dropped like an `Rc`, with a cell inside for what changes. So the
//! programs are written once, and this file is a module of each of the two. The
//! module around it has `Gc`, `Cell` (the peer's `RefCell`) and `Blob<WORDS>`,
//! and a macro `trace_slots!` that stands for the peer's derive.
//!
//! One cell holds all slots of an object, as a program would write it: a cell
//! has a borrow flag, and one for each slot would double the slots.

use super::{Blob, Cell, Gc};
use crate::for_each_size_class;
use crate::workload::graph::{self, Birth, Graph, Kind};
use crate::workload::script::{self, Operation, Script};
use crate::workload::{self, Digest, Figure, Longest, Outcome, Scale, Stopwatch, sizes};

struct Tree {
    edges: Cell<TreeEdges>,
    payload: u64,
}

trace_slots!(Tree { edges });

#[derive(Default)]
struct TreeEdges {
    left: Option<Gc<Tree>>,
    right: Option<Gc<Tree>>,
    record: Option<Gc<Record>>,
}

trace_slots!(TreeEdges {
    left,
    right,
    record
});

struct List {
    edges: Cell<ListEdges>,
    payload: u64,
}

trace_slots!(List { edges });

#[derive(Default)]
struct ListEdges {
    next: Option<Gc<List>>,
    record: Option<Gc<Record>>,
}

trace_slots!(ListEdges { next, record });

struct Entry {
    edges: Cell<EntryEdges>,
    payload: u64,
}

trace_slots!(Entry { edges });

#[derive(Default)]
struct EntryEdges {
    next: Option<Gc<Entry>>,
    leaf: Option<Gc<Leaf>>,
    record: Option<Gc<Record>>,
}

trace_slots!(EntryEdges { next, leaf, record });

struct Record {
    edges: Cell<RecordEdges>,
    payload: [u64; graph::RECORD_WORDS],
}

trace_slots!(Record { edges });

#[derive(Default)]
struct RecordEdges {
    record: Option<Gc<Record>>,
    list: Option<Gc<List>>,
    tree: Option<Gc<Tree>>,
    entry: Option<Gc<Entry>>,
    leaf: Option<Gc<Leaf>>,
}

trace_slots!(RecordEdges {
    record,
    list,
    tree,
    entry,
    leaf
});

struct Leaf {
    payload: [u64; graph::LEAF_WORDS],
}

trace_slots!(Leaf {});

pub struct Unit {
    edges: Cell<UnitEdges>,
}

trace_slots!(Unit { edges });

#[derive(Default)]
struct UnitEdges {
    tree: Option<Gc<Tree>>,
    list: Option<Gc<List>>,
    table: Option<Gc<Table>>,
}

trace_slots!(UnitEdges { tree, list, table });

struct Table {
    buckets: Cell<[Option<Gc<Entry>>; graph::BUCKETS as usize]>,
}

trace_slots!(Table { buckets });

pub type Directories = [Vec<Gc<Unit>>; graph::PARTS as usize];

/// `collect` gets the roots, and collects all that it can.
pub fn mark(scale: Scale, collect: impl Fn(&Directories)) -> Outcome {
    let graph = Graph::new(scale);
    let mut directories = build(&graph);

    let full = workload::median_collection(|| collect(&directories));
    let resident = workload::resident_bytes();
    let mut checksum = check(&directories);

    // Dropping the handles is part of letting go, and a counting
    // collector does some of its work there.
    let start = Stopwatch::start();
    directories[graph::LOST_PART as usize] = Vec::new();
    collect(&directories);
    let quarter = start.elapsed();
    checksum.add(1, check(&directories).0);

    Outcome::new(checksum)
        .with_time(Figure::FullMs, full)
        .with_time(Figure::QuarterGarbageMs, quarter)
        .with_memory(resident, graph.nominal_bytes())
}

fn build(graph: &Graph) -> Directories {
    /// Objects are not born in the order of their indices.
    fn table<T>(graph: &Graph, per_unit: u32) -> Vec<Option<T>> {
        let objects = (graph.units() * per_unit) as usize;
        std::iter::repeat_with(|| None).take(objects).collect()
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
            units[i as usize] = Some(Gc::new(Unit {
                edges: Cell::new(UnitEdges::default()),
            }));
        }
        Birth::Table(i) => {
            tables[i as usize] = Some(Gc::new(Table {
                buckets: Cell::new([const { None }; graph::BUCKETS as usize]),
            }));
        }
        Birth::Tree(i) => {
            trees[i as usize] = Some(Gc::new(Tree {
                edges: Cell::new(TreeEdges::default()),
                payload: graph.payload(Kind::Tree, i),
            }));
        }
        Birth::List(i) => {
            lists[i as usize] = Some(Gc::new(List {
                edges: Cell::new(ListEdges::default()),
                payload: graph.payload(Kind::List, i),
            }));
        }
        Birth::Entry(i) => {
            entries[i as usize] = Some(Gc::new(Entry {
                edges: Cell::new(EntryEdges::default()),
                payload: graph.payload(Kind::Entry, i),
            }));
        }
        Birth::Record(i) => {
            records[i as usize] = Some(Gc::new(Record {
                edges: Cell::new(RecordEdges::default()),
                payload: [graph.payload(Kind::Record, i); _],
            }));
        }
        Birth::Leaf(i) => {
            leaves[i as usize] = Some(Gc::new(Leaf {
                payload: [graph.payload(Kind::Leaf, i); _],
            }));
        }
    });
    for (i, tree) in (0..).zip(trees.iter().flatten()) {
        let edges = graph.tree(i);
        *tree.edges.borrow_mut() = TreeEdges {
            left: edges.left.and_then(|i| trees[i as usize].clone()),
            right: edges.right.and_then(|i| trees[i as usize].clone()),
            record: records[edges.record as usize].clone(),
        };
    }
    for (i, list) in (0..).zip(lists.iter().flatten()) {
        let edges = graph.list(i);
        *list.edges.borrow_mut() = ListEdges {
            next: edges.next.and_then(|i| lists[i as usize].clone()),
            record: records[edges.record as usize].clone(),
        };
    }
    for (i, entry) in (0..).zip(entries.iter().flatten()) {
        let edges = graph.entry(i);
        *entry.edges.borrow_mut() = EntryEdges {
            next: edges.next.and_then(|i| entries[i as usize].clone()),
            leaf: leaves[edges.leaf as usize].clone(),
            record: records[edges.record as usize].clone(),
        };
    }
    for (i, record) in (0..).zip(records.iter().flatten()) {
        let edges = graph.record(i);
        *record.edges.borrow_mut() = RecordEdges {
            record: edges.record.and_then(|i| records[i as usize].clone()),
            list: edges.list.and_then(|i| lists[i as usize].clone()),
            tree: edges.tree.and_then(|i| trees[i as usize].clone()),
            entry: edges.entry.and_then(|i| entries[i as usize].clone()),
            leaf: edges.leaf.and_then(|i| leaves[i as usize].clone()),
        };
    }
    for (i, (unit, table)) in (0..).zip(units.iter().flatten().zip(tables.iter().flatten())) {
        for (bucket, slot) in (0..).zip(table.buckets.borrow_mut().iter_mut()) {
            *slot = graph
                .bucket(i, bucket)
                .and_then(|i| entries[i as usize].clone());
        }
        *unit.edges.borrow_mut() = UnitEdges {
            tree: trees[graph.unit_tree(i) as usize].clone(),
            list: lists[graph.unit_list(i) as usize].clone(),
            table: Some(table.clone()),
        };
    }
    std::array::from_fn(|part| {
        (0..graph.units_per_part())
            .filter_map(|index| units[graph.unit_of_part(part as u32, index) as usize].clone())
            .collect()
    })
}

fn check(directories: &Directories) -> Digest {
    fn tree_and_below(digest: &mut Digest, tree: &Tree) {
        let edges = tree.edges.borrow();
        digest.add(1, tree.payload);
        if let Some(record) = &edges.record {
            digest.add(2, record.payload[0]);
            let edges = record.edges.borrow();
            let read = [
                edges.record.as_ref().map(|it| it.payload[0]),
                edges.list.as_ref().map(|it| it.payload),
                edges.tree.as_ref().map(|it| it.payload),
                edges.entry.as_ref().map(|it| it.payload),
                edges.leaf.as_ref().map(|it| it.payload[0]),
            ];
            for (slot, payload) in (3..).zip(read) {
                digest.add(slot, payload.unwrap_or(1));
            }
        }
        for child in [&edges.left, &edges.right].into_iter().flatten() {
            tree_and_below(digest, child);
        }
    }
    let mut digest = Digest::default();
    for unit in directories.iter().flatten() {
        let edges = unit.edges.borrow();
        if let Some(tree) = &edges.tree {
            tree_and_below(&mut digest, tree);
        }
        let mut next = edges.list.clone();
        while let Some(list) = next {
            let edges = list.edges.borrow();
            digest.add(8, list.payload);
            digest.add(9, edges.record.as_ref().map_or(1, |it| it.payload[0]));
            next = edges.next.clone();
        }
        let Some(table) = &edges.table else { continue };
        for first in table.buckets.borrow().iter() {
            let mut next = first.clone();
            while let Some(entry) = next {
                let edges = entry.edges.borrow();
                digest.add(10, entry.payload);
                digest.add(11, edges.leaf.as_ref().map_or(1, |it| it.payload[0]));
                digest.add(12, edges.record.as_ref().map_or(1, |it| it.payload[0]));
                next = edges.next.clone();
            }
        }
    }
    digest
}

struct Node {
    left: Option<Gc<Node>>,
    right: Option<Gc<Node>>,
    payload: u64,
}

trace_slots!(Node { left, right });

impl Node {
    fn tree<const TIMED: bool>(pause: &mut Longest, depth: u32) -> Gc<Node> {
        let (left, right) = match depth.checked_sub(1) {
            Some(depth) => (
                Some(Node::tree::<TIMED>(pause, depth)),
                Some(Node::tree::<TIMED>(pause, depth)),
            ),
            None => (None, None),
        };
        pause.time::<TIMED, _>(|| {
            Gc::new(Node {
                left,
                right,
                payload: u64::from(depth) + 1,
            })
        })
    }

    fn sum(&self) -> u64 {
        match (&self.left, &self.right) {
            (Some(left), Some(right)) => self.payload + left.sum() + right.sum(),
            _ => self.payload,
        }
    }
}

pub fn binary_trees<const TIMED: bool>(scale: Scale) -> Outcome {
    let depth = workload::tree_depth(scale);
    let mut digest = Digest::default();
    let mut pause = Longest::default();
    // Making an object may collect, and so may dropping the last
    // handle: both hold the program up.
    let sum_and_drop = |pause: &mut Longest, depth: u32| {
        let tree = Node::tree::<TIMED>(pause, depth);
        let sum = tree.sum();
        pause.time::<TIMED, _>(|| drop(tree));
        sum
    };
    let start = Stopwatch::start();
    digest.add(1, sum_and_drop(&mut pause, depth + 1));
    let kept = Node::tree::<TIMED>(&mut pause, depth);
    for (depth, trees) in workload::short_trees(depth) {
        let sum = (0..trees).map(|_| sum_and_drop(&mut pause, depth)).sum();
        digest.add(u64::from(depth), sum);
    }
    digest.add(2, kept.sum());
    let total = start.elapsed();
    if TIMED {
        return Outcome::new(digest).with_time(Figure::LongestPauseMs, pause.0);
    }
    Outcome::new(digest)
        .with_time(Figure::TotalMs, total)
        .with_memory(
            workload::resident_bytes(),
            workload::tree_nodes(depth) * workload::TREE_NODE_NOMINAL_BYTES,
        )
}

pub fn garbage_only(scale: Scale) -> Outcome {
    let mut digest = Digest::default();
    let start = Stopwatch::start();
    for payload in 0..workload::garbage_objects(scale) {
        let node = Gc::new(Node {
            left: None,
            right: None,
            payload,
        });
        digest.add(0, std::hint::black_box(&node).payload);
    }
    Outcome::new(digest).with_time(Figure::TotalMs, start.elapsed())
}

struct Value {
    payload: [u64; 3],
}

trace_slots!(Value {});

impl Value {
    fn new(payload: u64) -> Gc<Value> {
        Gc::new(Value {
            payload: [payload; 3],
        })
    }
}

struct MapEntry {
    edges: Cell<MapEntryEdges>,
    key: u32,
}

trace_slots!(MapEntry { edges });

struct MapEntryEdges {
    next: Option<Gc<MapEntry>>,
    value: Gc<Value>,
}

trace_slots!(MapEntryEdges { next, value });

struct ListNode {
    edges: Cell<ListNodeEdges>,
}

trace_slots!(ListNode { edges });

struct ListNodeEdges {
    next: Option<Gc<ListNode>>,
    value: Gc<Value>,
}

trace_slots!(ListNodeEdges { next, value });

impl ListNode {
    fn new(next: Option<Gc<ListNode>>, payload: u64) -> Gc<ListNode> {
        Gc::new(ListNode {
            edges: Cell::new(ListNodeEdges {
                next,
                value: Value::new(payload),
            }),
        })
    }

    fn insert_after(&self, payload: u64) {
        let next = self.edges.borrow().next.clone();
        let node = ListNode::new(next, payload);
        self.edges.borrow_mut().next = Some(node);
    }
}

struct Buckets {
    slots: Cell<Box<[Option<Gc<MapEntry>>]>>,
}

trace_slots!(Buckets { slots });

struct Structures {
    size: script::Size,
    buckets: Gc<Buckets>,
    head: Gc<ListNode>,
    cursor: Gc<ListNode>,
}

impl Structures {
    fn new(size: script::Size) -> Self {
        let slots = std::iter::repeat_with(|| None).take(size.buckets as usize);
        let head = ListNode::new(None, script::first_value(0));
        Structures {
            size,
            buckets: Gc::new(Buckets {
                slots: Cell::new(slots.collect()),
            }),
            cursor: head.clone(),
            head,
        }
    }

    fn find(&self, key: u32) -> Option<Gc<MapEntry>> {
        let mut next = self.buckets.slots.borrow()[self.size.bucket(key)].clone();
        while let Some(entry) = next {
            if entry.key == key {
                return Some(entry);
            }
            next = entry.edges.borrow().next.clone();
        }
        None
    }

    fn insert(&self, key: u32, value: Gc<Value>) {
        let bucket = self.size.bucket(key);
        let next = self.buckets.slots.borrow_mut()[bucket].take();
        let entry = Gc::new(MapEntry {
            edges: Cell::new(MapEntryEdges { next, value }),
            key,
        });
        self.buckets.slots.borrow_mut()[bucket] = Some(entry);
    }

    fn remove(&self, key: u32) -> Option<u64> {
        let bucket = self.size.bucket(key);
        let mut before: Option<Gc<MapEntry>> = None;
        let mut next = self.buckets.slots.borrow()[bucket].clone();
        while let Some(entry) = next {
            next = entry.edges.borrow().next.clone();
            if entry.key != key {
                before = Some(entry);
                continue;
            }
            // What the slot held is dropped after the borrow: dropping
            // may collect, and collecting reads the cell.
            let old = match before {
                Some(before) => std::mem::replace(&mut before.edges.borrow_mut().next, next),
                None => std::mem::replace(&mut self.buckets.slots.borrow_mut()[bucket], next),
            };
            drop(old);
            let payload = entry.edges.borrow().value.payload[0];
            return Some(payload);
        }
        None
    }

    fn advance(&mut self) -> &Gc<ListNode> {
        let next = self.cursor.edges.borrow().next.clone();
        self.cursor = next.unwrap_or_else(|| self.head.clone());
        &self.cursor
    }

    fn apply(&mut self, operation: Operation, digest: &mut Digest) {
        use script::digest::{LIST_REMOVED, LIST_REPLACED, REMOVED, REPLACED};
        match operation {
            Operation::Put { key, value } => {
                let value = Value::new(value);
                match self.find(key) {
                    Some(entry) => {
                        let old = std::mem::replace(&mut entry.edges.borrow_mut().value, value);
                        digest.add(REPLACED, old.payload[0]);
                    }
                    None => self.insert(key, value),
                }
            }
            Operation::Remove { key } => {
                if let Some(payload) = self.remove(key) {
                    digest.add(REMOVED, payload);
                }
            }
            Operation::Swap { a, b } => {
                if let (Some(a), Some(b)) = (self.find(a), self.find(b))
                    && !Gc::ptr_eq(&a, &b)
                {
                    std::mem::swap(
                        &mut a.edges.borrow_mut().value,
                        &mut b.edges.borrow_mut().value,
                    );
                }
            }
            Operation::ListInsert { value } => self.advance().insert_after(value),
            Operation::ListReplace { value } => {
                let value = Value::new(value);
                let mut edges = self.advance().edges.borrow_mut();
                let old = std::mem::replace(&mut edges.value, value);
                drop(edges);
                digest.add(LIST_REPLACED, old.payload[0]);
            }
            Operation::ListRemove => {
                let cursor = self.advance();
                let removed = cursor.edges.borrow_mut().next.take();
                if let Some(removed) = removed {
                    let edges = removed.edges.borrow();
                    digest.add(LIST_REMOVED, edges.value.payload[0]);
                    cursor.edges.borrow_mut().next = edges.next.clone();
                }
            }
        }
    }

    fn check(&self, digest: &mut Digest) {
        for first in self.buckets.slots.borrow().iter() {
            let mut next = first.clone();
            while let Some(entry) = next {
                let edges = entry.edges.borrow();
                let slot = script::digest::LEFT_IN_MAP + u64::from(entry.key);
                digest.add(slot, edges.value.payload[0]);
                next = edges.next.clone();
            }
        }
        let mut next = Some(self.head.clone());
        while let Some(node) = next {
            let edges = node.edges.borrow();
            digest.add(script::digest::LEFT_IN_LIST, edges.value.payload[0]);
            next = edges.next.clone();
        }
    }
}

pub fn mutation(scale: Scale) -> Outcome {
    let size = script::Size::new(scale);
    let mut digest = Digest::default();
    let start = Stopwatch::start();
    let mut structures = Structures::new(size);
    for key in size.first_keys() {
        structures.insert(key, Value::new(script::first_value(key)));
    }
    for node in 1..size.list_nodes {
        structures.head.insert_after(script::first_value(node));
    }
    for operation in Script::new(size) {
        structures.apply(operation, &mut digest);
    }
    let total = start.elapsed();
    structures.check(&mut digest);
    Outcome::new(digest).with_time(Figure::TotalMs, total)
}

/// The objects of one size class.
trait SizeTable {
    fn allocate(&mut self, payload: u64);
    fn drop_half(&mut self, class: usize);
    fn check(&self, class: usize, digest: &mut Digest);
}

impl<const WORDS: usize> SizeTable for Vec<Option<Gc<Blob<WORDS>>>> {
    fn allocate(&mut self, payload: u64) {
        self.push(Some(Gc::new(Blob([payload; WORDS]))));
    }

    fn drop_half(&mut self, class: usize) {
        for (index, slot) in self.iter_mut().enumerate() {
            if !sizes::stays(class, index) {
                *slot = None;
            }
        }
    }

    fn check(&self, class: usize, digest: &mut Digest) {
        for object in self.iter().flatten() {
            sizes::digest(digest, class, object.0[0]);
        }
    }
}

pub fn half_lost(scale: Scale, collect: impl Fn()) -> Outcome {
    macro_rules! tables {
        ($(($class:literal, $words:literal))*) => {[$(
            Box::new(Vec::<Option<Gc<Blob<$words>>>>::with_capacity(
                sizes::class_objects(scale, $class),
            )) as Box<dyn SizeTable>
        ),*]};
    }
    let mut tables = for_each_size_class!(tables);
    sizes::for_each_birth(scale, |class, index| {
        tables[class].allocate(sizes::payload(class, index));
    });
    for (class, table) in tables.iter_mut().enumerate() {
        table.drop_half(class);
    }
    collect();
    let resident = workload::resident_bytes();
    let mut digest = Digest::default();
    for (class, table) in tables.iter().enumerate() {
        table.check(class, &mut digest);
    }
    Outcome::new(digest).with_memory(resident, sizes::nominal_live_bytes(scale))
}
