//! The workloads on MMTk's heap.
//!
//! Objects move, so whatever must outlive an allocation is on the root stack:
//! under a fixed place for a program's long-lived data, pushed and popped for
//! what a function holds.

use super::Plan;
use super::binding::World;
use super::object::{ClassId, Object};
use super::thread::Thread;
use crate::workload::graph::{self, Birth, Graph, Kind};
use crate::workload::script::{self, Operation, Script};
use crate::workload::{self, Digest, Figure, Outcome, Scale, Stopwatch, sizes};

/// Places on the root stack while the graph is built: a table for each kind of
/// object, then the directories.
mod place {
    pub const UNITS: usize = 0;
    pub const TABLES: usize = 1;
    pub const TREES: usize = 2;
    pub const LISTS: usize = 3;
    pub const ENTRIES: usize = 4;
    pub const RECORDS: usize = 5;
    pub const LEAVES: usize = 6;
    pub const DIRECTORIES: usize = 7;
}

pub fn mark<P: Plan>(scale: Scale) -> Outcome {
    let graph = Graph::new(scale);
    let mut thread = Thread::<P>::attach();
    build(&mut thread, &graph);
    for table in place::UNITS..place::DIRECTORIES {
        thread.set_root(table, Object::NULL);
    }

    let full = workload::median_collection(|| thread.collect_fully());
    let resident = workload::resident_bytes();
    let mut checksum = check(&thread);

    thread.set_root(place::DIRECTORIES + graph::LOST_PART as usize, Object::NULL);
    let start = Stopwatch::start();
    thread.collect_fully();
    let quarter = start.elapsed();
    checksum.add(1, check(&thread).0);

    Outcome::new(checksum)
        .with_time(Figure::FullMs, full)
        .with_time(Figure::QuarterGarbageMs, quarter)
        .with_memory(resident, graph.nominal_bytes())
}

fn build<P: Plan>(thread: &mut Thread<P>, graph: &Graph) {
    // The tables are on the heap: they are arrays of references, and with a
    // moving collector they have to be roots.
    for per_unit in [
        1,
        1,
        graph::TREES,
        graph::LISTS,
        graph::ENTRIES,
        graph::RECORDS,
        graph::LEAVES,
    ] {
        let table = thread.new_array(ClassId::REFERENCES, (graph.units() * per_unit) as usize);
        thread.push_root(table);
    }
    let graph_class = |kind: Kind, i: u32| ClassId(graph.class(kind, i) as u8);
    graph.for_each_birth(|birth| {
        let (table, i, object) = match birth {
            Birth::Unit(i) => (place::UNITS, i, thread.new_object(ClassId::UNIT, 32)),
            Birth::Table(i) => {
                let table = thread.new_array(ClassId::REFERENCES, graph::BUCKETS as usize);
                (place::TABLES, i, table)
            }
            Birth::Tree(i) => {
                let object = thread.new_object(graph_class(Kind::Tree, i), 40);
                object.set_word(3, graph.payload(Kind::Tree, i));
                (place::TREES, i, object)
            }
            Birth::List(i) => {
                let object = thread.new_object(graph_class(Kind::List, i), 32);
                object.set_word(2, graph.payload(Kind::List, i));
                (place::LISTS, i, object)
            }
            Birth::Entry(i) => {
                let object = thread.new_object(graph_class(Kind::Entry, i), 40);
                object.set_word(3, graph.payload(Kind::Entry, i));
                (place::ENTRIES, i, object)
            }
            Birth::Record(i) => {
                let object = thread.new_object(graph_class(Kind::Record, i), 64);
                for word in 0..graph::RECORD_WORDS {
                    object.set_word(5 + word, graph.payload(Kind::Record, i));
                }
                (place::RECORDS, i, object)
            }
            Birth::Leaf(i) => {
                let object = thread.new_object(graph_class(Kind::Leaf, i), 32);
                for word in 0..graph::LEAF_WORDS {
                    object.set_word(word, graph.payload(Kind::Leaf, i));
                }
                (place::LEAVES, i, object)
            }
        };
        let table = thread.root(table);
        thread.write_slot(table, i as usize, object);
    });

    // Nothing is allocated from here to the directories, so nothing moves.
    let [units, tables, trees, lists, entries, records, leaves] = [
        place::UNITS,
        place::TABLES,
        place::TREES,
        place::LISTS,
        place::ENTRIES,
        place::RECORDS,
        place::LEAVES,
    ]
    .map(|place| thread.root(place));
    let at = |table: Object, i: Option<u32>| i.map_or(Object::NULL, |i| table.slot(i as usize));
    for i in 0..trees.length() as u32 {
        let (tree, edges) = (at(trees, Some(i)), graph.tree(i));
        thread.write_slot(tree, 0, at(trees, edges.left));
        thread.write_slot(tree, 1, at(trees, edges.right));
        thread.write_slot(tree, 2, at(records, Some(edges.record)));
    }
    for i in 0..lists.length() as u32 {
        let (list, edges) = (at(lists, Some(i)), graph.list(i));
        thread.write_slot(list, 0, at(lists, edges.next));
        thread.write_slot(list, 1, at(records, Some(edges.record)));
    }
    for i in 0..entries.length() as u32 {
        let (entry, edges) = (at(entries, Some(i)), graph.entry(i));
        thread.write_slot(entry, 0, at(entries, edges.next));
        thread.write_slot(entry, 1, at(leaves, Some(edges.leaf)));
        thread.write_slot(entry, 2, at(records, Some(edges.record)));
    }
    for i in 0..records.length() as u32 {
        let (record, edges) = (at(records, Some(i)), graph.record(i));
        thread.write_slot(record, 0, at(records, edges.record));
        thread.write_slot(record, 1, at(lists, edges.list));
        thread.write_slot(record, 2, at(trees, edges.tree));
        thread.write_slot(record, 3, at(entries, edges.entry));
        thread.write_slot(record, 4, at(leaves, edges.leaf));
    }
    for i in 0..units.length() as u32 {
        let (unit, table) = (at(units, Some(i)), at(tables, Some(i)));
        for bucket in 0..graph::BUCKETS {
            let entry = at(entries, graph.bucket(i, bucket));
            thread.write_slot(table, bucket as usize, entry);
        }
        thread.write_slot(unit, 0, at(trees, Some(graph.unit_tree(i))));
        thread.write_slot(unit, 1, at(lists, Some(graph.unit_list(i))));
        thread.write_slot(unit, 2, table);
    }
    for part in 0..graph::PARTS {
        let length = graph.units_per_part() as usize;
        let directory = thread.new_array(ClassId::REFERENCES, length);
        thread.push_root(directory);
        let units = thread.root(place::UNITS);
        for index in 0..graph.units_per_part() {
            let unit = units.slot(graph.unit_of_part(part, index) as usize);
            thread.write_slot(directory, index as usize, unit);
        }
    }
}

fn check<P: Plan>(thread: &Thread<P>) -> Digest {
    fn tree_and_below(digest: &mut Digest, tree: Object) {
        digest.add(1, tree.word(3));
        let record = tree.slot(2);
        digest.add(2, record.word(5));
        // Where the payload begins in what each slot refers to.
        for (slot, payload) in [5, 2, 3, 3, 0].into_iter().enumerate() {
            let value = record
                .slot(slot)
                .non_null()
                .map_or(1, |it| it.word(payload));
            digest.add(3 + slot as u64, value);
        }
        for child in [tree.slot(0), tree.slot(1)] {
            if !child.is_null() {
                tree_and_below(digest, child);
            }
        }
    }
    let mut digest = Digest::default();
    for part in 0..graph::PARTS as usize {
        let Some(directory) = thread.root(place::DIRECTORIES + part).non_null() else {
            continue;
        };
        for index in 0..directory.length() {
            let unit = directory.slot(index);
            tree_and_below(&mut digest, unit.slot(0));
            let mut next = unit.slot(1).non_null();
            while let Some(list) = next {
                digest.add(8, list.word(2));
                digest.add(9, list.slot(1).word(5));
                next = list.slot(0).non_null();
            }
            let table = unit.slot(2);
            for bucket in 0..table.length() {
                let mut next = table.slot(bucket).non_null();
                while let Some(entry) = next {
                    digest.add(10, entry.word(3));
                    digest.add(11, entry.slot(1).word(0));
                    digest.add(12, entry.slot(2).word(5));
                    next = entry.slot(0).non_null();
                }
            }
        }
    }
    digest
}

const NODE_BYTES: usize = 32;

fn new_tree<P: Plan>(thread: &mut Thread<P>, depth: u32) -> Object {
    if depth == 0 {
        let node = thread.new_object(ClassId::NODE, NODE_BYTES);
        node.set_word(2, 1);
        return node;
    }
    let left = new_tree(thread, depth - 1);
    thread.push_root(left);
    let right = new_tree(thread, depth - 1);
    thread.push_root(right);
    let node = thread.new_object(ClassId::NODE, NODE_BYTES);
    let (right, left) = (thread.pop_root(), thread.pop_root());
    node.initialize_slot(0, left);
    node.initialize_slot(1, right);
    node.set_word(2, u64::from(depth) + 1);
    node
}

fn sum(node: Object) -> u64 {
    let (left, right) = (node.slot(0), node.slot(1));
    if left.is_null() {
        return node.word(2);
    }
    node.word(2) + sum(left) + sum(right)
}

/// The benchmarks-game program up to its end, when one tree is still live.
fn grow_trees<P: Plan>(thread: &mut Thread<P>, depth: u32, digest: &mut Digest) {
    digest.add(1, sum(new_tree(thread, depth + 1)));
    let kept = new_tree(thread, depth);
    thread.push_root(kept);
    for (depth, trees) in workload::short_trees(depth) {
        let mut total = 0;
        for _ in 0..trees {
            total += sum(new_tree(thread, depth));
        }
        digest.add(u64::from(depth), total);
    }
    digest.add(2, sum(thread.root(0)));
}

pub fn binary_trees<P: Plan>(scale: Scale) -> Outcome {
    let depth = workload::tree_depth(scale);
    let mut digest = Digest::default();
    let start = Stopwatch::start();
    let mut thread = Thread::<P>::attach();
    grow_trees(&mut thread, depth, &mut digest);
    let total = start.elapsed();
    thread.collect_fully();
    Outcome::new(digest)
        .with_time(Figure::TotalMs, total)
        .with_memory(
            workload::resident_bytes(),
            workload::tree_nodes(depth) * workload::TREE_NODE_NOMINAL_BYTES,
        )
}

/// MMTk stops the world, so its pauses need no clock around each allocation.
pub fn binary_trees_pause<P: Plan>(scale: Scale) -> Outcome {
    let mut digest = Digest::default();
    let mut thread = Thread::<P>::attach();
    grow_trees(&mut thread, workload::tree_depth(scale), &mut digest);
    Outcome::new(digest).with_time(Figure::LongestPauseMs, World::longest_pause())
}

fn make_garbage<P: Plan>(thread: &mut Thread<P>, objects: u64, digest: &mut Digest) {
    for payload in 0..objects {
        let node = thread.new_object(ClassId::NODE, NODE_BYTES);
        node.set_word(2, payload);
        digest.add(0, std::hint::black_box(node).word(2));
    }
}

pub fn garbage_only<P: Plan>(scale: Scale) -> Outcome {
    let mut digest = Digest::default();
    let start = Stopwatch::start();
    let mut thread = Thread::<P>::attach();
    make_garbage(&mut thread, workload::garbage_objects(scale), &mut digest);
    Outcome::new(digest).with_time(Figure::TotalMs, start.elapsed())
}

pub fn two_mutators<P: Plan>(scale: Scale) -> Outcome {
    let start = Stopwatch::start();
    let mutator = || {
        let mut digest = Digest::default();
        let mut thread = Thread::<P>::attach();
        grow_trees(&mut thread, workload::tree_depth_of_two(scale), &mut digest);
        make_garbage(
            &mut thread,
            workload::garbage_objects_of_two(scale),
            &mut digest,
        );
        digest
    };
    let mut digest = Digest::default();
    std::thread::scope(|scope| {
        let threads = [scope.spawn(mutator), scope.spawn(mutator)];
        for (slot, thread) in (1..).zip(threads) {
            digest.add(slot, thread.join().expect("no thread panics").0);
        }
    });
    Outcome::new(digest).with_time(Figure::TotalMs, start.elapsed())
}

/// The map and the list of `mutation`, at fixed places on the root stack.
struct Structures<'a, P: Plan> {
    thread: &'a mut Thread<P>,
    size: script::Size,
}

const BUCKETS: usize = 0;
const HEAD: usize = 1;
const CURSOR: usize = 2;

// Slots of map entries and list nodes; an entry's key is its third word.
const NEXT: usize = 0;
const VALUE: usize = 1;
const KEY: usize = 2;

impl<'a, P: Plan> Structures<'a, P> {
    fn new(thread: &'a mut Thread<P>, size: script::Size) -> Self {
        let buckets = thread.new_array(ClassId::REFERENCES, size.buckets as usize);
        thread.push_root(buckets);
        let mut structures = Structures { thread, size };
        let head = structures.new_list_node(script::first_value(0));
        structures.thread.push_root(head);
        structures.thread.push_root(head);
        structures
    }

    fn new_value(&mut self, payload: u64) -> Object {
        let value = self.thread.new_object(ClassId::VALUE, 32);
        for word in 0..3 {
            value.set_word(word, payload);
        }
        value
    }

    fn new_list_node(&mut self, payload: u64) -> Object {
        let value = self.new_value(payload);
        self.thread.push_root(value);
        let node = self.thread.new_object(ClassId::LIST_NODE, 24);
        let value = self.thread.pop_root();
        node.initialize_slot(VALUE, value);
        node
    }

    fn find(&self, key: u32) -> Option<Object> {
        let mut next = self
            .thread
            .root(BUCKETS)
            .slot(self.size.bucket(key))
            .non_null();
        while let Some(entry) = next {
            if entry.word(KEY) == u64::from(key) {
                return Some(entry);
            }
            next = entry.slot(NEXT).non_null();
        }
        None
    }

    fn insert(&mut self, key: u32, value: Object) {
        self.thread.push_root(value);
        let entry = self.thread.new_object(ClassId::MAP_ENTRY, 32);
        let value = self.thread.pop_root();
        let (buckets, bucket) = (self.thread.root(BUCKETS), self.size.bucket(key));
        entry.initialize_slot(NEXT, buckets.slot(bucket));
        entry.initialize_slot(VALUE, value);
        entry.set_word(KEY, u64::from(key));
        self.thread.write_slot(buckets, bucket, entry);
    }

    fn remove(&mut self, key: u32) -> Option<u64> {
        // A bucket is a slot of the array as `next` is a slot of an entry.
        let (mut holder, mut slot) = (self.thread.root(BUCKETS), self.size.bucket(key));
        while let Some(entry) = holder.slot(slot).non_null() {
            if entry.word(KEY) == u64::from(key) {
                self.thread.write_slot(holder, slot, entry.slot(NEXT));
                return Some(entry.slot(VALUE).word(0));
            }
            (holder, slot) = (entry, NEXT);
        }
        None
    }

    fn insert_after(&mut self, place: usize, payload: u64) {
        let node = self.new_list_node(payload);
        let before = self.thread.root(place);
        node.initialize_slot(NEXT, before.slot(NEXT));
        self.thread.write_slot(before, NEXT, node);
    }

    fn advance(&mut self) -> Object {
        let next = self.thread.root(CURSOR).slot(NEXT).non_null();
        let cursor = next.unwrap_or(self.thread.root(HEAD));
        self.thread.set_root(CURSOR, cursor);
        cursor
    }

    fn apply(&mut self, operation: Operation, digest: &mut Digest) {
        use script::digest::{LIST_REMOVED, LIST_REPLACED, REMOVED, REPLACED};
        match operation {
            Operation::Put { key, value } => {
                let value = self.new_value(value);
                match self.find(key) {
                    Some(entry) => {
                        digest.add(REPLACED, entry.slot(VALUE).word(0));
                        self.thread.write_slot(entry, VALUE, value);
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
                if let (Some(a), Some(b)) = (self.find(a), self.find(b)) {
                    let (value_a, value_b) = (a.slot(VALUE), b.slot(VALUE));
                    self.thread.write_slot(a, VALUE, value_b);
                    self.thread.write_slot(b, VALUE, value_a);
                }
            }
            Operation::ListInsert { value } => {
                self.advance();
                self.insert_after(CURSOR, value);
            }
            Operation::ListReplace { value } => {
                digest.add(LIST_REPLACED, self.advance().slot(VALUE).word(0));
                let value = self.new_value(value);
                let cursor = self.thread.root(CURSOR);
                self.thread.write_slot(cursor, VALUE, value);
            }
            Operation::ListRemove => {
                let cursor = self.advance();
                if let Some(removed) = cursor.slot(NEXT).non_null() {
                    digest.add(LIST_REMOVED, removed.slot(VALUE).word(0));
                    self.thread.write_slot(cursor, NEXT, removed.slot(NEXT));
                }
            }
        }
    }

    fn check(&self, digest: &mut Digest) {
        let buckets = self.thread.root(BUCKETS);
        for bucket in 0..buckets.length() {
            let mut next = buckets.slot(bucket).non_null();
            while let Some(entry) = next {
                let slot = script::digest::LEFT_IN_MAP + entry.word(KEY);
                digest.add(slot, entry.slot(VALUE).word(0));
                next = entry.slot(NEXT).non_null();
            }
        }
        let mut next = self.thread.root(HEAD).non_null();
        while let Some(node) = next {
            digest.add(script::digest::LEFT_IN_LIST, node.slot(VALUE).word(0));
            next = node.slot(NEXT).non_null();
        }
    }
}

pub fn mutation<P: Plan>(scale: Scale) -> Outcome {
    let size = script::Size::new(scale);
    let mut digest = Digest::default();
    let start = Stopwatch::start();
    let mut thread = Thread::<P>::attach();
    let mut structures = Structures::new(&mut thread, size);
    for key in size.first_keys() {
        let value = structures.new_value(script::first_value(key));
        structures.insert(key, value);
    }
    for node in 1..size.list_nodes {
        structures.insert_after(HEAD, script::first_value(node));
    }
    for operation in Script::new(size) {
        structures.apply(operation, &mut digest);
    }
    let total = start.elapsed();
    structures.check(&mut digest);
    Outcome::new(digest).with_time(Figure::TotalMs, total)
}

pub fn half_lost<P: Plan>(scale: Scale) -> Outcome {
    let mut thread = Thread::<P>::attach();
    for class in 0..sizes::SIZES.len() {
        let table = thread.new_array(ClassId::REFERENCES, sizes::class_objects(scale, class));
        thread.push_root(table);
    }
    sizes::for_each_birth(scale, |class, index| {
        let words = sizes::SIZES[class] / 8 - 1;
        let object = thread.new_array(ClassId::WORDS, words);
        // The peers without arrays initialize all words, so do it here too.
        let payload = sizes::payload(class, index);
        for word in 0..words {
            object.set_word(word, payload);
        }
        let table = thread.root(class);
        thread.write_slot(table, index, object);
    });
    for class in 0..sizes::SIZES.len() {
        let table = thread.root(class);
        for index in (0..table.length()).filter(|&index| !sizes::stays(class, index)) {
            thread.write_slot(table, index, Object::NULL);
        }
    }
    thread.collect_fully();
    let resident = workload::resident_bytes();
    let mut digest = Digest::default();
    for class in 0..sizes::SIZES.len() {
        let table = thread.root(class);
        for object in (0..table.length()).filter_map(|index| table.slot(index).non_null()) {
            sizes::digest(&mut digest, class, object.word(0));
        }
    }
    Outcome::new(digest).with_memory(resident, sizes::nominal_live_bytes(scale))
}
