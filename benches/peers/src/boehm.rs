//! Boehm's conservative collector, through the system's `libgc`.
//!
//! Settings, all in its favour: a heap of the common size is there from the
//! start, so it collects when that is used up; references always point at the
//! beginning of an object, so interior pointers from the heap need not be
//! honoured, which also spares a byte for each object; objects without slots
//! are allocated as such and not scanned. Small objects with slots come from
//! free lists kept here, refilled many at a time, as its `gc_inline.h` does for
//! C.
//!
//! The collector finds roots by scanning stacks and registers, so references
//! may be held anywhere on the stack, but not in memory from `malloc`: tables
//! are objects of the collected heap. Objects have no header of ours.
//!
//! It sweeps lazily. Where the time of a collection is taken, sweeping is
//! completed explicitly.
//!
//! Invariant, on which the notes below rely: a pointer to a type of this module
//! is null or points at an object of that type, allocated here with all slots
//! null, and reachable from the stack of the thread that holds it.

use crate::Competitor;
use crate::workload::graph::{self, Birth, Graph, Kind};
use crate::workload::script::{self, Operation, Script};
use crate::workload::{
    self, Digest, Figure, Job, Longest, Mode, Outcome, Scale, Stopwatch, Workload, sizes,
};
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

pub const COMPETITORS: &[Competitor] = &[Competitor {
    name: "boehm",
    about: "Boehm's libgc of this system, heap expanded at the start, no interior pointers",
    supports: |_| true,
    run,
}];

fn run(job: &Job) -> Outcome {
    // SAFETY: the settings are made before `GC_init`, and this is the process's
    // first and only use of the collector, on its main thread.
    unsafe {
        GC_set_all_interior_pointers(0);
        GC_set_markers_count(job.collector_threads as c_uint);
        GC_init();
        GC_set_on_collection_event(notice_mark_start);
        assert_ne!(
            GC_expand_hp(job.heap_bytes()),
            0,
            "there is memory for the heap"
        );
    }
    job.pages.ask_for_all_memory();
    match (job.workload, job.mode) {
        (Workload::Mark, _) => mark(job.scale),
        (Workload::BinaryTrees, Mode::Total) => binary_trees::<false>(job.scale),
        (Workload::BinaryTrees, Mode::Pause) => binary_trees::<true>(job.scale),
        (Workload::GarbageOnly, _) => garbage_only(job.scale),
        (Workload::Mutation, _) => mutation(job.scale),
        (Workload::TwoMutators, _) => two_mutators(job.scale),
        (Workload::HalfLost, _) => half_lost(job.scale),
    }
}

#[repr(C)]
struct StackBase {
    memory: *mut c_void,
}

// The link flags come from the build script.
unsafe extern "C" {
    fn GC_init();
    fn GC_set_all_interior_pointers(value: c_int);
    fn GC_set_markers_count(count: c_uint);
    fn GC_expand_hp(bytes: usize) -> c_int;
    fn GC_malloc(bytes: usize) -> *mut c_void;
    fn GC_malloc_atomic(bytes: usize) -> *mut c_void;
    fn GC_malloc_many(bytes: usize) -> *mut c_void;
    fn GC_gcollect();
    fn GC_gcollect_and_unmap();
    fn GC_try_to_collect(stop: extern "C" fn() -> c_int) -> c_int;
    fn GC_set_on_collection_event(callback: extern "C" fn(c_uint));
    fn GC_allow_register_threads();
    fn GC_get_stack_base(base: *mut StackBase) -> c_int;
    fn GC_register_my_thread(base: *const StackBase) -> c_int;
    fn GC_unregister_my_thread() -> c_int;
}

/// A type of object.
trait Managed {
    const HAS_SLOTS: bool = true;
}

/// Free objects of one type, linked through their first words. It must be on a
/// stack, where the collector sees it.
struct Pool<T> {
    free: *mut T,
}

impl<T: Managed> Pool<T> {
    fn new() -> Self {
        Pool { free: null_mut() }
    }

    /// An object with all slots null; words of one without slots are arbitrary.
    #[inline(always)]
    fn allocate(&mut self) -> *mut T {
        if !T::HAS_SLOTS {
            // A list of these would not survive a collection, which does not
            // look for links in them.
            // SAFETY: allocation is always allowed.
            let object = unsafe { GC_malloc_atomic(size_of::<T>()) };
            assert!(!object.is_null(), "out of memory");
            return object.cast();
        }
        if self.free.is_null() {
            self.refill();
        }
        let object = self.free;
        let link = object.cast::<*mut T>();
        // SAFETY: the list holds free objects, each large enough for a link.
        unsafe {
            self.free = *link;
            *link = null_mut();
        }
        object
    }

    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        // SAFETY: the collector fills in a list of free objects.
        self.free = unsafe { GC_malloc_many(size_of::<T>()) }.cast();
        assert!(!self.free.is_null(), "out of memory");
    }
}

/// An array of slots, all null.
fn new_slots<T>(length: usize) -> *mut *mut T {
    // SAFETY: allocation is always allowed; the memory is zeroed.
    let array = unsafe { GC_malloc(length * 8) };
    assert!(!array.is_null(), "out of memory");
    array.cast()
}

static MARKING: AtomicBool = AtomicBool::new(false);

/// Called by the collector with what it is about to do.
extern "C" fn notice_mark_start(event: c_uint) {
    const MARK_START: c_uint = 1;
    const PRE_STOP_WORLD: c_uint = 6;
    if matches!(event, MARK_START | PRE_STOP_WORLD) {
        MARKING.store(true, Ordering::Relaxed);
    }
}

extern "C" fn stop_when_marking() -> c_int {
    MARKING.load(Ordering::Relaxed).into()
}

/// A full collection with a complete sweep.
fn collect_fully() {
    // SAFETY: collecting is always allowed.
    unsafe { GC_gcollect() };
    // A collection that may be given up has to sweep everything first, so that
    // marks can be cleared. This one is given up as soon as it would mark.
    MARKING.store(false, Ordering::Relaxed);
    // SAFETY: as above.
    unsafe { GC_try_to_collect(stop_when_marking) };
}

struct Tree {
    left: *mut Tree,
    right: *mut Tree,
    record: *mut Record,
    payload: u64,
}

struct List {
    next: *mut List,
    record: *mut Record,
    payload: u64,
}

struct Entry {
    next: *mut Entry,
    leaf: *mut Leaf,
    record: *mut Record,
    payload: u64,
}

struct Record {
    record: *mut Record,
    list: *mut List,
    tree: *mut Tree,
    entry: *mut Entry,
    leaf: *mut Leaf,
    payload: [u64; graph::RECORD_WORDS],
}

struct Leaf {
    payload: [u64; graph::LEAF_WORDS],
}

struct Unit {
    tree: *mut Tree,
    list: *mut List,
    table: *mut Table,
}

struct Table {
    buckets: [*mut Entry; graph::BUCKETS as usize],
}

impl Managed for Tree {}
impl Managed for List {}
impl Managed for Entry {}
impl Managed for Record {}
impl Managed for Leaf {
    const HAS_SLOTS: bool = false;
}
impl Managed for Unit {}
impl Managed for Table {}

/// The roots of the graph: a collected array of units for each part, found
/// through this structure on the stack.
struct Directories {
    parts: [*mut *mut Unit; graph::PARTS as usize],
    units_per_part: usize,
}

fn mark(scale: Scale) -> Outcome {
    let graph = Graph::new(scale);
    let mut directories = Directories {
        parts: [null_mut(); graph::PARTS as usize],
        units_per_part: graph.units_per_part() as usize,
    };
    build(&mut directories, &graph);
    clear_stack();

    let full = workload::median_collection(collect_fully);
    let resident = workload::resident_bytes();
    let mut checksum = check(std::hint::black_box(&directories));

    directories.parts[graph::LOST_PART as usize] = null_mut();
    clear_stack();
    let start = Stopwatch::start();
    collect_fully();
    let quarter = start.elapsed();
    checksum.add(1, check(std::hint::black_box(&directories)).0);

    Outcome::new(checksum)
        .with_time(Figure::FullMs, full)
        .with_time(Figure::QuarterGarbageMs, quarter)
        .with_memory(resident, graph.nominal_bytes())
}

/// Overwrites what earlier calls left on the stack: a forgotten reference there
/// would keep a whole part of the graph alive.
#[inline(never)]
fn clear_stack() {
    std::hint::black_box([0u64; 4096]);
}

#[inline(never)]
fn build(directories: &mut Directories, graph: &Graph) {
    let length = |per_unit: u32| (graph.units() * per_unit) as usize;
    let units = new_slots::<Unit>(length(1));
    let tables = new_slots::<Table>(length(1));
    let trees = new_slots::<Tree>(length(graph::TREES));
    let lists = new_slots::<List>(length(graph::LISTS));
    let entries = new_slots::<Entry>(length(graph::ENTRIES));
    let records = new_slots::<Record>(length(graph::RECORDS));
    let leaves = new_slots::<Leaf>(length(graph::LEAVES));
    let mut unit_pool = Pool::<Unit>::new();
    let mut table_pool = Pool::<Table>::new();
    let mut tree_pool = Pool::<Tree>::new();
    let mut list_pool = Pool::<List>::new();
    let mut entry_pool = Pool::<Entry>::new();
    let mut record_pool = Pool::<Record>::new();
    let mut leaf_pool = Pool::<Leaf>::new();

    // SAFETY: every index is below the length of its table, and by this
    // module's invariant the pools give objects of the types written to.
    graph.for_each_birth(|birth| unsafe {
        match birth {
            Birth::Unit(i) => *units.add(i as usize) = unit_pool.allocate(),
            Birth::Table(i) => *tables.add(i as usize) = table_pool.allocate(),
            Birth::Tree(i) => {
                let tree = tree_pool.allocate();
                (*tree).payload = graph.payload(Kind::Tree, i);
                *trees.add(i as usize) = tree;
            }
            Birth::List(i) => {
                let list = list_pool.allocate();
                (*list).payload = graph.payload(Kind::List, i);
                *lists.add(i as usize) = list;
            }
            Birth::Entry(i) => {
                let entry = entry_pool.allocate();
                (*entry).payload = graph.payload(Kind::Entry, i);
                *entries.add(i as usize) = entry;
            }
            Birth::Record(i) => {
                let record = record_pool.allocate();
                (*record).payload = [graph.payload(Kind::Record, i); _];
                *records.add(i as usize) = record;
            }
            Birth::Leaf(i) => {
                let leaf = leaf_pool.allocate();
                (*leaf).payload = [graph.payload(Kind::Leaf, i); _];
                *leaves.add(i as usize) = leaf;
            }
        }
    });

    // SAFETY: `table` holds an object under every index that the graph names.
    unsafe fn at<T>(table: *mut *mut T, i: impl Into<Option<u32>>) -> *mut T {
        match i.into() {
            // SAFETY: the caller's promise.
            Some(i) => unsafe { *table.add(i as usize) },
            None => null_mut(),
        }
    }
    // SAFETY: indices come from the graph, and all its objects are born.
    unsafe {
        for i in 0..graph.units() * graph::TREES {
            let (tree, edges) = (&mut *at(trees, i), graph.tree(i));
            tree.left = at(trees, edges.left);
            tree.right = at(trees, edges.right);
            tree.record = at(records, edges.record);
        }
        for i in 0..graph.units() * graph::LISTS {
            let (list, edges) = (&mut *at(lists, i), graph.list(i));
            list.next = at(lists, edges.next);
            list.record = at(records, edges.record);
        }
        for i in 0..graph.units() * graph::ENTRIES {
            let (entry, edges) = (&mut *at(entries, i), graph.entry(i));
            entry.next = at(entries, edges.next);
            entry.leaf = at(leaves, edges.leaf);
            entry.record = at(records, edges.record);
        }
        for i in 0..graph.units() * graph::RECORDS {
            let (record, edges) = (&mut *at(records, i), graph.record(i));
            record.record = at(records, edges.record);
            record.list = at(lists, edges.list);
            record.tree = at(trees, edges.tree);
            record.entry = at(entries, edges.entry);
            record.leaf = at(leaves, edges.leaf);
        }
        for i in 0..graph.units() {
            let table = at(tables, i);
            for bucket in 0..graph::BUCKETS {
                (*table).buckets[bucket as usize] = at(entries, graph.bucket(i, bucket));
            }
            let unit = &mut *at(units, i);
            unit.tree = at(trees, graph.unit_tree(i));
            unit.list = at(lists, graph.unit_list(i));
            unit.table = table;
        }
        for part in 0..graph::PARTS {
            let directory = new_slots(directories.units_per_part);
            directories.parts[part as usize] = directory;
            for index in 0..graph.units_per_part() {
                *directory.add(index as usize) = at(units, graph.unit_of_part(part, index));
            }
        }
    }
}

#[inline(never)]
fn check(directories: &Directories) -> Digest {
    /// # Safety
    ///
    /// The pointer is null or points at a live object, as do those in it.
    unsafe fn tree_and_below(digest: &mut Digest, tree: *mut Tree) {
        // SAFETY: the caller's promise.
        unsafe {
            let Some(tree) = tree.as_ref() else { return };
            digest.add(1, tree.payload);
            let record = &*tree.record;
            digest.add(2, record.payload[0]);
            let read = [
                record.record.as_ref().map(|it| it.payload[0]),
                record.list.as_ref().map(|it| it.payload),
                record.tree.as_ref().map(|it| it.payload),
                record.entry.as_ref().map(|it| it.payload),
                record.leaf.as_ref().map(|it| it.payload[0]),
            ];
            for (slot, payload) in (3..).zip(read) {
                digest.add(slot, payload.unwrap_or(1));
            }
            tree_and_below(digest, tree.left);
            tree_and_below(digest, tree.right);
        }
    }
    let mut digest = Digest::default();
    for directory in directories.parts {
        if directory.is_null() {
            continue;
        }
        for index in 0..directories.units_per_part {
            // SAFETY: a directory has that many units, and the graph that they
            // lead to is complete.
            unsafe {
                let unit = &**directory.add(index);
                tree_and_below(&mut digest, unit.tree);
                let mut next = unit.list;
                while let Some(list) = next.as_ref() {
                    digest.add(8, list.payload);
                    digest.add(9, (*list.record).payload[0]);
                    next = list.next;
                }
                for mut next in (*unit.table).buckets {
                    while let Some(entry) = next.as_ref() {
                        digest.add(10, entry.payload);
                        digest.add(11, (*entry.leaf).payload[0]);
                        digest.add(12, (*entry.record).payload[0]);
                        next = entry.next;
                    }
                }
            }
        }
    }
    digest
}

struct Node {
    left: *mut Node,
    right: *mut Node,
    payload: u64,
}

impl Managed for Node {}

impl Pool<Node> {
    fn tree<const TIMED: bool>(&mut self, pause: &mut Longest, depth: u32) -> *mut Node {
        let (left, right) = match depth.checked_sub(1) {
            Some(depth) => (
                self.tree::<TIMED>(pause, depth),
                self.tree::<TIMED>(pause, depth),
            ),
            None => (null_mut(), null_mut()),
        };
        let node = pause.time::<TIMED, _>(|| self.allocate());
        // SAFETY: just allocated with this type.
        unsafe {
            *node = Node {
                left,
                right,
                payload: u64::from(depth) + 1,
            };
        }
        node
    }

    /// The benchmarks-game program; returns the long-lived tree.
    fn grow<const TIMED: bool>(
        &mut self,
        depth: u32,
        digest: &mut Digest,
        pause: &mut Longest,
    ) -> *mut Node {
        digest.add(1, sum(self.tree::<TIMED>(pause, depth + 1)));
        let kept = self.tree::<TIMED>(pause, depth);
        for (depth, trees) in workload::short_trees(depth) {
            let total = (0..trees)
                .map(|_| sum(self.tree::<TIMED>(pause, depth)))
                .sum();
            digest.add(u64::from(depth), total);
        }
        digest.add(2, sum(kept));
        kept
    }

    fn make_garbage(&mut self, objects: u64, digest: &mut Digest) {
        for payload in 0..objects {
            let node = self.allocate();
            // SAFETY: just allocated with this type.
            unsafe {
                (*node).payload = payload;
                digest.add(0, (*std::hint::black_box(node)).payload);
            }
        }
    }
}

fn sum(node: *mut Node) -> u64 {
    // SAFETY: by this module's invariant, a live node.
    let node = unsafe { &*node };
    if node.left.is_null() {
        return node.payload;
    }
    node.payload + sum(node.left) + sum(node.right)
}

fn binary_trees<const TIMED: bool>(scale: Scale) -> Outcome {
    let depth = workload::tree_depth(scale);
    let mut digest = Digest::default();
    let mut pause = Longest::default();
    let start = Stopwatch::start();
    let mut pool = Pool::new();
    let kept = pool.grow::<TIMED>(depth, &mut digest, &mut pause);
    let total = start.elapsed();
    if TIMED {
        return Outcome::new(digest).with_time(Figure::LongestPauseMs, pause.0);
    }
    collect_fully();
    std::hint::black_box(kept);
    Outcome::new(digest)
        .with_time(Figure::TotalMs, total)
        .with_memory(
            workload::resident_bytes(),
            workload::tree_nodes(depth) * workload::TREE_NODE_NOMINAL_BYTES,
        )
}

fn garbage_only(scale: Scale) -> Outcome {
    let mut digest = Digest::default();
    let start = Stopwatch::start();
    Pool::new().make_garbage(workload::garbage_objects(scale), &mut digest);
    Outcome::new(digest).with_time(Figure::TotalMs, start.elapsed())
}

fn two_mutators(scale: Scale) -> Outcome {
    // SAFETY: called once, before the threads that it is about.
    unsafe { GC_allow_register_threads() };
    let mutator = || {
        let mut base = StackBase { memory: null_mut() };
        // SAFETY: a thread registers itself, once, before it uses the heap.
        unsafe {
            assert_eq!(GC_get_stack_base(&raw mut base), 0);
            assert_eq!(GC_register_my_thread(&raw const base), 0);
        }
        let mut digest = Digest::default();
        let mut pause = Longest::default();
        let mut pool = Pool::new();
        let depth = workload::tree_depth_of_two(scale);
        let kept = pool.grow::<false>(depth, &mut digest, &mut pause);
        pool.make_garbage(workload::garbage_objects_of_two(scale), &mut digest);
        std::hint::black_box(kept);
        // SAFETY: registered above, and no longer using the heap.
        unsafe { GC_unregister_my_thread() };
        digest
    };
    let start = Stopwatch::start();
    let mut digest = Digest::default();
    std::thread::scope(|scope| {
        let threads = [scope.spawn(mutator), scope.spawn(mutator)];
        for (slot, thread) in (1..).zip(threads) {
            digest.add(slot, thread.join().expect("no thread panics").0);
        }
    });
    Outcome::new(digest).with_time(Figure::TotalMs, start.elapsed())
}

struct Value {
    payload: [u64; 3],
}

struct MapEntry {
    next: *mut MapEntry,
    value: *mut Value,
    key: u32,
}

struct ListNode {
    next: *mut ListNode,
    value: *mut Value,
}

impl Managed for Value {
    const HAS_SLOTS: bool = false;
}
impl Managed for MapEntry {}
impl Managed for ListNode {}

struct Structures {
    size: script::Size,
    buckets: *mut *mut MapEntry,
    head: *mut ListNode,
    cursor: *mut ListNode,
    values: Pool<Value>,
    entries: Pool<MapEntry>,
    nodes: Pool<ListNode>,
}

impl Structures {
    fn new(size: script::Size) -> Self {
        let mut structures = Structures {
            size,
            buckets: new_slots(size.buckets as usize),
            head: null_mut(),
            cursor: null_mut(),
            values: Pool::new(),
            entries: Pool::new(),
            nodes: Pool::new(),
        };
        structures.head = structures.new_list_node(script::first_value(0), null_mut());
        structures.cursor = structures.head;
        structures
    }

    fn new_value(&mut self, payload: u64) -> *mut Value {
        let value = self.values.allocate();
        // SAFETY: just allocated with this type.
        unsafe { (*value).payload = [payload; 3] };
        value
    }

    fn new_list_node(&mut self, payload: u64, next: *mut ListNode) -> *mut ListNode {
        let value = self.new_value(payload);
        let node = self.nodes.allocate();
        // SAFETY: just allocated with this type.
        unsafe { *node = ListNode { next, value } };
        node
    }

    /// The slot of the array where a key's chain begins.
    fn bucket(&self, key: u32) -> *mut *mut MapEntry {
        // SAFETY: the array has as many slots as there are buckets.
        unsafe { self.buckets.add(self.size.bucket(key)) }
    }

    /// The slot that holds a key's value.
    fn find(&self, key: u32) -> Option<*mut *mut Value> {
        // SAFETY: by this module's invariant, a chain of live entries.
        unsafe {
            let mut next = *self.bucket(key);
            while let Some(entry) = next.as_mut() {
                if entry.key == key {
                    return Some(&raw mut entry.value);
                }
                next = entry.next;
            }
        }
        None
    }

    fn insert(&mut self, key: u32, value: *mut Value) {
        let entry = self.entries.allocate();
        let bucket = self.bucket(key);
        // SAFETY: just allocated with this type; the bucket is a live slot.
        unsafe {
            *entry = MapEntry {
                next: *bucket,
                value,
                key,
            };
            *bucket = entry;
        }
    }

    fn remove(&mut self, key: u32) -> Option<u64> {
        let mut slot = self.bucket(key);
        // SAFETY: by this module's invariant, a chain of live entries.
        unsafe {
            while let Some(entry) = (*slot).as_mut() {
                if entry.key == key {
                    *slot = entry.next;
                    return Some((*entry.value).payload[0]);
                }
                slot = &raw mut entry.next;
            }
        }
        None
    }

    fn advance(&mut self) -> *mut ListNode {
        // SAFETY: the cursor is a live node.
        let next = unsafe { (*self.cursor).next };
        self.cursor = if next.is_null() { self.head } else { next };
        self.cursor
    }

    fn insert_after(&mut self, before: *mut ListNode, payload: u64) {
        // SAFETY: `before` is a live node.
        unsafe { (*before).next = self.new_list_node(payload, (*before).next) };
    }

    fn apply(&mut self, operation: Operation, digest: &mut Digest) {
        use script::digest::{LIST_REMOVED, LIST_REPLACED, REMOVED, REPLACED};
        match operation {
            Operation::Put { key, value } => {
                let value = self.new_value(value);
                match self.find(key) {
                    // SAFETY: a slot of a live entry, which always has a value.
                    Some(slot) => unsafe {
                        digest.add(REPLACED, (**slot).payload[0]);
                        *slot = value;
                    },
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
                    // SAFETY: slots of live entries, perhaps the same.
                    unsafe { std::ptr::swap(a, b) };
                }
            }
            Operation::ListInsert { value } => {
                let cursor = self.advance();
                self.insert_after(cursor, value);
            }
            Operation::ListReplace { value } => {
                let cursor = self.advance();
                let value = self.new_value(value);
                // SAFETY: the cursor is a live node and has a value.
                unsafe {
                    digest.add(LIST_REPLACED, (*(*cursor).value).payload[0]);
                    (*cursor).value = value;
                }
            }
            Operation::ListRemove => {
                let cursor = self.advance();
                // SAFETY: the cursor is a live node, and nodes have values.
                unsafe {
                    if let Some(removed) = (*cursor).next.as_ref() {
                        digest.add(LIST_REMOVED, (*removed.value).payload[0]);
                        (*cursor).next = removed.next;
                    }
                }
            }
        }
    }

    fn check(&self, digest: &mut Digest) {
        // SAFETY: by this module's invariant, chains of live objects.
        unsafe {
            for bucket in 0..self.size.buckets as usize {
                let mut next = *self.buckets.add(bucket);
                while let Some(entry) = next.as_ref() {
                    let slot = script::digest::LEFT_IN_MAP + u64::from(entry.key);
                    digest.add(slot, (*entry.value).payload[0]);
                    next = entry.next;
                }
            }
            let mut next = self.head;
            while let Some(node) = next.as_ref() {
                digest.add(script::digest::LEFT_IN_LIST, (*node.value).payload[0]);
                next = node.next;
            }
        }
    }
}

fn mutation(scale: Scale) -> Outcome {
    let size = script::Size::new(scale);
    let mut digest = Digest::default();
    let start = Stopwatch::start();
    let mut structures = Structures::new(size);
    for key in size.first_keys() {
        let value = structures.new_value(script::first_value(key));
        structures.insert(key, value);
    }
    for node in 1..size.list_nodes {
        structures.insert_after(structures.head, script::first_value(node));
    }
    for operation in Script::new(size) {
        structures.apply(operation, &mut digest);
    }
    let total = start.elapsed();
    structures.check(&mut digest);
    Outcome::new(digest).with_time(Figure::TotalMs, total)
}

fn half_lost(scale: Scale) -> Outcome {
    let tables: [*mut *mut u64; sizes::SIZES.len()] =
        std::array::from_fn(|class| new_slots(sizes::class_objects(scale, class)));
    sizes::for_each_birth(scale, |class, index| {
        // Without a header of ours, the object is a word smaller.
        let words = sizes::SIZES[class] / 8 - 1;
        // SAFETY: the object has that many words, the table that many slots.
        unsafe {
            let object = GC_malloc_atomic(words * 8).cast::<u64>();
            std::slice::from_raw_parts_mut(object, words).fill(sizes::payload(class, index));
            *tables[class].add(index) = object;
        }
    });
    for (class, table) in tables.iter().enumerate() {
        for index in 0..sizes::class_objects(scale, class) {
            if !sizes::stays(class, index) {
                // SAFETY: the table has that many slots.
                unsafe { *table.add(index) = null_mut() };
            }
        }
    }
    clear_stack();
    // SAFETY: collecting is always allowed.
    unsafe { GC_gcollect_and_unmap() };
    let resident = workload::resident_bytes();
    let mut digest = Digest::default();
    for (class, table) in std::hint::black_box(tables).iter().enumerate() {
        for index in 0..sizes::class_objects(scale, class) {
            // SAFETY: the table has that many slots; an object has a first word.
            if let Some(payload) = unsafe { (*table.add(index)).as_ref() } {
                sizes::digest(&mut digest, class, *payload);
            }
        }
    }
    Outcome::new(digest).with_memory(resident, sizes::nominal_live_bytes(scale))
}
