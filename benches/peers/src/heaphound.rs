//! Our own heap, with its mark-sweep and its generational collector.
//!
//! Objects are typed structs. The two hundred classes of `mark` are subclasses of
//! five: slots are declared with the superclass, and the collector finds the class of
//! each object in its header. A function that allocates opens a scope for what it
//! holds meanwhile; a whole run is safe code.
//!
//! Heap size and collector threads are those of the job, everything else is as it
//! comes. The nursery counts towards the heap size. Huge pages are asked for in any
//! case, that being the default.

use std::cell::RefCell;

use ::heaphound::analysis::shape::Profile;
use ::heaphound::{
    Collector, Growth, Header, Heap, Local, Managed, Mutator, Object, OutOfMemory, Ref, RefArray,
    Root, Rules, Shapes, Slot,
};

use crate::Competitor;
use crate::for_each_size_class;
use crate::workload::graph::{self, Birth, Graph, Kind};
use crate::workload::script::{self, Operation, Script};
use crate::workload::{
    self, Digest, Figure, Job, Mode, Outcome, Scale, Stopwatch, Workload, sizes,
};

pub const COMPETITORS: &[Competitor] = &[
    Competitor {
        name: "heaphound-marksweep",
        about: "this checkout, mark-sweep, fixed heap size",
        supports: |_| true,
        run: |job| run(job, Collector::MarkSweep),
    },
    Competitor {
        name: "heaphound-gen",
        about: "this checkout, 4 MiB nursery, fixed heap size",
        supports: |_| true,
        run: |job| run(job, Collector::Generational),
    },
    Competitor {
        name: crate::ARMED,
        about: "this checkout, mark-sweep, with 10,000 objects asserted dead, 15,000 owned, five rules, Cork and ShapeUp",
        supports: |job| job.workload == Workload::Mark,
        run: |job| {
            let heap = fixed_heap(job, Collector::MarkSweep);
            armed(&heap, job.scale).expect("the heap is large enough")
        },
    },
];

type Result<T> = std::result::Result<T, OutOfMemory>;

/// A fixed heap size, as for everybody who takes one: it is collected when it is full.
fn fixed_heap(job: &Job, collector: Collector) -> Heap {
    Heap::builder()
        .max_bytes(job.heap_bytes())
        .initial_bytes(job.heap_bytes())
        .collector(collector)
        .collector_threads(job.collector_threads)
        .build()
        .expect("the options are in range")
}

fn run(job: &Job, collector: Collector) -> Outcome {
    let heap = || fixed_heap(job, collector);
    match job.workload {
        Workload::Mark => mark(&heap(), job.scale),
        Workload::BinaryTrees => binary_trees(heap, job),
        Workload::GarbageOnly => garbage_only(heap, job.scale),
        Workload::Mutation => mutation(heap, job.scale),
        Workload::TwoMutators => two_mutators(heap, job.scale),
        Workload::HalfLost => half_lost(&heap(), job.scale),
    }
    .expect("the heap is large enough")
}

fn attach(heap: &Heap) -> Mutator<'_> {
    heap.attach("main").expect("the thread attaches once")
}

#[derive(Managed)]
#[repr(C)]
struct Tree {
    header: Header,
    left: Slot<Tree>,
    right: Slot<Tree>,
    record: Slot<Record>,
    payload: u64,
}

#[derive(Managed)]
#[repr(C)]
struct List {
    header: Header,
    next: Slot<List>,
    record: Slot<Record>,
    payload: u64,
}

#[derive(Managed)]
#[repr(C)]
struct Entry {
    header: Header,
    next: Slot<Entry>,
    leaf: Slot<Leaf>,
    record: Slot<Record>,
    payload: u64,
}

#[derive(Managed)]
#[repr(C)]
struct Record {
    header: Header,
    record: Slot<Record>,
    list: Slot<List>,
    tree: Slot<Tree>,
    entry: Slot<Entry>,
    leaf: Slot<Leaf>,
    #[managed(owned)]
    payload: [u64; graph::RECORD_WORDS],
}

#[derive(Managed)]
#[repr(C)]
struct Leaf {
    header: Header,
    #[managed(owned)]
    payload: [u64; graph::LEAF_WORDS],
}

#[derive(Managed)]
#[repr(C)]
struct Unit {
    header: Header,
    tree: Slot<Tree>,
    list: Slot<List>,
    table: Slot<RefArray<Entry>>,
}

/// Declares the classes of one kind and a table of functions: each makes an instance and
/// puts it into a slot of an array.
macro_rules! classes_of_kind {
    ($class:ident, $init:ident, $table:ident, $base:ident, |$payload:ident| $value:expr) => {
        #[derive(Managed)]
        #[repr(C)]
        struct $class<const CLASS: usize> {
            #[managed(superclass)]
            base: $base,
        }

        #[allow(clippy::type_complexity)]
        const $table: [fn(&mut Mutator, Local<RefArray<$base>>, u32, u64) -> Result<()>;
            graph::CLASSES_PER_KIND as usize] = {
            fn new<const CLASS: usize>(
                m: &mut Mutator,
                all: Local<RefArray<$base>>,
                index: u32,
                $payload: u64,
            ) -> Result<()> {
                let mut m = m.scope();
                let new = m.alloc($init::<CLASS> { base: $value })?;
                m[all][index as usize].set(Some(&m[new].base));
                Ok(())
            }
            [
                new::<0>, new::<1>, new::<2>, new::<3>, new::<4>, new::<5>, new::<6>, new::<7>,
                new::<8>, new::<9>, new::<10>, new::<11>, new::<12>, new::<13>, new::<14>,
                new::<15>, new::<16>, new::<17>, new::<18>, new::<19>, new::<20>, new::<21>,
                new::<22>, new::<23>, new::<24>, new::<25>, new::<26>, new::<27>, new::<28>,
                new::<29>, new::<30>, new::<31>, new::<32>, new::<33>, new::<34>, new::<35>,
                new::<36>, new::<37>, new::<38>, new::<39>,
            ]
        };
    };
}

classes_of_kind!(TreeOf, TreeOfInit, NEW_TREE, Tree, |payload| TreeInit {
    left: None,
    right: None,
    record: None,
    payload,
});
classes_of_kind!(ListOf, ListOfInit, NEW_LIST, List, |payload| ListInit {
    next: None,
    record: None,
    payload,
});
classes_of_kind!(EntryOf, EntryOfInit, NEW_ENTRY, Entry, |payload| {
    EntryInit {
        next: None,
        leaf: None,
        record: None,
        payload,
    }
});
classes_of_kind!(RecordOf, RecordOfInit, NEW_RECORD, Record, |payload| {
    RecordInit {
        record: None,
        list: None,
        tree: None,
        entry: None,
        leaf: None,
        payload: [payload; _],
    }
});
classes_of_kind!(LeafOf, LeafOfInit, NEW_LEAF, Leaf, |payload| LeafInit {
    payload: [payload; _],
});

/// The roots of the graph.
type Directories = Vec<Root<RefArray<Unit>>>;

fn mark(heap: &Heap, scale: Scale) -> Result<Outcome> {
    let graph = Graph::new(scale);
    let mut m = attach(heap);
    let mut directories = build(&mut m, &graph)?;

    let full = workload::median_collection(|| m.collect());
    let resident = workload::resident_bytes();
    let mut checksum = check(&m, &directories);

    directories.remove(graph::LOST_PART as usize);
    let start = Stopwatch::start();
    m.collect();
    let quarter = start.elapsed();
    checksum.add(1, check(&m, &directories).0);

    Ok(Outcome::new(checksum)
        .with_time(Figure::FullMs, full)
        .with_time(Figure::QuarterGarbageMs, quarter)
        .with_memory(resident, graph.nominal_bytes()))
}

/// What holds the objects that are asserted to be owned.
#[derive(Managed)]
#[repr(C)]
struct Owner {
    header: Header,
    owned: Slot<RefArray<Leaf>>,
}

/// A class that nothing uses.
#[derive(Managed)]
#[repr(C)]
struct Unused {
    header: Header,
}

/// Objects asserted dead before each collection, which are.
const DEAD: usize = 10_000;
/// Objects asserted to be owned, which they are at each collection.
const OWNED: usize = 15_000;
/// Five rules, which hold. Together they look at all trees, lists and units.
const RULES: [&str; 5] = [
    "assertion(forall x: !(x instanceof Unused))",
    "assertion(forall Unit x: x.tree != null && x.table != null)",
    "assertion(forall List x: x.next != x)",
    "assertion(forall Tree x: x.left != null -> x.left != x.right)",
    "assertion(forall Leaf x: reach[owner](x) -> x != owner)",
];

/// Full collections as in [`mark`], at which everything is checked that can be.
fn armed(heap: &Heap, scale: Scale) -> Result<Outcome> {
    let graph = Graph::new(scale);
    let mut m = attach(heap);
    let mut directories = build(&mut m, &graph)?;
    m.know_class::<Unused>();
    let owner = {
        let mut m = m.scope();
        let owned = m.alloc_refs::<Leaf>(OWNED)?;
        let owner = m.alloc(OwnerInit { owned: Some(owned) })?;
        for place in 0..OWNED {
            let mut m = m.scope();
            let payload = [0; graph::LEAF_WORDS];
            let leaf = m.alloc(LeafInit { payload })?;
            m[owned][place].set(Some(&m[leaf]));
            m.assert_owned_by(owner, leaf);
        }
        m.root(&m[owner])
    };
    let mut rules = Vec::new();
    for text in RULES {
        let rule = Rules::new(text).bind(&m, "owner", &owner);
        let registered = rule.register(heap, &mut m, None);
        rules.push(registered.expect("it is well formed"));
    }
    let growth = Growth::new().register(heap, None);
    let shapes = Shapes::learning(Profile::default()).register(heap, None);
    // Which structures are recursive is learnt from the first ones.
    (0..3).for_each(|_| m.collect());
    let full = {
        let m = RefCell::new(&mut m);
        let doom = || {
            let mut m = m.borrow_mut();
            for _ in 0..DEAD {
                let mut m = m.scope();
                let payload = [0; graph::LEAF_WORDS];
                let leaf = m.alloc(LeafInit { payload }).expect("room");
                m.assert_dead(leaf);
            }
        };
        workload::median_prepared(doom, || m.borrow_mut().collect())
    };
    let found = heap.findings();
    assert!(found.is_empty(), "nothing is wrong: {found:?}");
    let stats = heap.stats();
    let last = stats.history.back().expect("one just took place");
    assert!(last.remarks.is_empty(), "it was marked once");
    let resident = workload::resident_bytes();
    let mut checksum = check(&m, &directories);

    directories.remove(graph::LOST_PART as usize);
    let start = Stopwatch::start();
    m.collect();
    let quarter = start.elapsed();
    checksum.add(1, check(&m, &directories).0);
    drop((rules, growth, shapes));
    Ok(Outcome::new(checksum)
        .with_time(Figure::FullMs, full)
        .with_time(Figure::QuarterGarbageMs, quarter)
        .with_memory(resident, graph.nominal_bytes()))
}

fn build(m: &mut Mutator, graph: &Graph) -> Result<Directories> {
    let mut m = m.scope();
    let of = |per_unit: u32| (graph.units() * per_unit) as usize;
    let units = m.alloc_refs::<Unit>(of(1))?;
    let tables = m.alloc_refs::<RefArray<Entry>>(of(1))?;
    let trees = m.alloc_refs::<Tree>(of(graph::TREES))?;
    let lists = m.alloc_refs::<List>(of(graph::LISTS))?;
    let entries = m.alloc_refs::<Entry>(of(graph::ENTRIES))?;
    let records = m.alloc_refs::<Record>(of(graph::RECORDS))?;
    let leaves = m.alloc_refs::<Leaf>(of(graph::LEAVES))?;
    let mut failure = None;
    graph.for_each_birth(|birth| {
        let mut m = m.scope();
        // Which of its kind's classes an object has, and its payload.
        let one_of = |kind: Kind, i: u32| {
            let class = graph.class(kind, i) % graph::CLASSES_PER_KIND;
            (class as usize, graph.payload(kind, i))
        };
        let born = match birth {
            Birth::Unit(i) => m
                .alloc(UnitInit {
                    tree: None,
                    list: None,
                    table: None,
                })
                .map(|unit| m[units][i as usize].set(Some(&m[unit]))),
            Birth::Table(i) => m
                .alloc_refs::<Entry>(graph::BUCKETS as usize)
                .map(|table| m[tables][i as usize].set(Some(&m[table]))),
            Birth::Tree(i) => {
                let (class, payload) = one_of(Kind::Tree, i);
                NEW_TREE[class](&mut m, trees, i, payload)
            }
            Birth::List(i) => {
                let (class, payload) = one_of(Kind::List, i);
                NEW_LIST[class](&mut m, lists, i, payload)
            }
            Birth::Entry(i) => {
                let (class, payload) = one_of(Kind::Entry, i);
                NEW_ENTRY[class](&mut m, entries, i, payload)
            }
            Birth::Record(i) => {
                let (class, payload) = one_of(Kind::Record, i);
                NEW_RECORD[class](&mut m, records, i, payload)
            }
            Birth::Leaf(i) => {
                let (class, payload) = one_of(Kind::Leaf, i);
                NEW_LEAF[class](&mut m, leaves, i, payload)
            }
        };
        failure = failure.take().or(born.err());
    });
    if let Some(failure) = failure {
        return Err(failure);
    }

    /// The object of that index.
    fn at<T: Managed + ?Sized>(table: &RefArray<T>, i: impl Into<Option<u32>>) -> Option<&T> {
        i.into().and_then(|i| table[i as usize].get())
    }
    let all = (&m[trees], &m[lists], &m[entries], &m[records], &m[leaves]);
    let (trees, lists, entries, records, leaves) = all;
    for (i, tree) in (0..).zip(trees.iter().filter_map(Slot::get)) {
        let edges = graph.tree(i);
        tree.left.set(at(trees, edges.left));
        tree.right.set(at(trees, edges.right));
        tree.record.set(at(records, edges.record));
    }
    for (i, list) in (0..).zip(lists.iter().filter_map(Slot::get)) {
        let edges = graph.list(i);
        list.next.set(at(lists, edges.next));
        list.record.set(at(records, edges.record));
    }
    for (i, entry) in (0..).zip(entries.iter().filter_map(Slot::get)) {
        let edges = graph.entry(i);
        entry.next.set(at(entries, edges.next));
        entry.leaf.set(at(leaves, edges.leaf));
        entry.record.set(at(records, edges.record));
    }
    for (i, record) in (0..).zip(records.iter().filter_map(Slot::get)) {
        let edges = graph.record(i);
        record.record.set(at(records, edges.record));
        record.list.set(at(lists, edges.list));
        record.tree.set(at(trees, edges.tree));
        record.entry.set(at(entries, edges.entry));
        record.leaf.set(at(leaves, edges.leaf));
    }
    let pairs = m[units].iter().zip(m[tables].iter());
    for (i, (unit, table)) in (0..).zip(pairs) {
        let (Some(unit), Some(table)) = (unit.get(), table.get()) else {
            continue;
        };
        for (b, bucket) in (0..).zip(table.iter()) {
            bucket.set(at(entries, graph.bucket(i, b)));
        }
        unit.tree.set(at(trees, graph.unit_tree(i)));
        unit.list.set(at(lists, graph.unit_list(i)));
        unit.table.set(Some(table));
    }
    let mut directories = Directories::new();
    for part in 0..graph::PARTS {
        let directory = m.alloc_refs::<Unit>(graph.units_per_part() as usize)?;
        for (index, slot) in (0..).zip(m[directory].iter()) {
            slot.set(at(&m[units], graph.unit_of_part(part, index)));
        }
        directories.push(m.root(&m[directory]));
    }
    Ok(directories)
}

fn check(m: &Mutator, directories: &Directories) -> Digest {
    fn tree_and_below(digest: &mut Digest, tree: &Tree) {
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
    let units = directories.iter().flat_map(|part| m[part].iter());
    for unit in units.filter_map(Slot::get) {
        if let Some(tree) = unit.tree.get() {
            tree_and_below(&mut digest, tree);
        }
        let mut next = unit.list.get();
        while let Some(list) = next {
            digest.add(8, list.payload);
            digest.add(9, list.record.get().map_or(1, |it| it.payload[0]));
            next = list.next.get();
        }
        for bucket in unit.table.get().into_iter().flat_map(|table| table.iter()) {
            let mut next = bucket.get();
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

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    left: Slot<Node>,
    right: Slot<Node>,
    payload: u64,
}

impl Node {
    fn tree<'a>(m: &mut Mutator<'a>, depth: u32) -> Result<Local<'a, Node>> {
        if depth == 0 {
            return m.alloc(NodeInit {
                left: None,
                right: None,
                payload: 1,
            });
        }
        m.scoped(|m| {
            let left = Node::tree(m, depth - 1)?;
            let right = Node::tree(m, depth - 1)?;
            m.alloc(NodeInit {
                left: Some(left),
                right: Some(right),
                payload: u64::from(depth) + 1,
            })
        })
    }

    fn sum(&self) -> u64 {
        match (self.left.get(), self.right.get()) {
            (Some(left), Some(right)) => self.payload + left.sum() + right.sum(),
            _ => self.payload,
        }
    }
}

/// The benchmarks-game program up to its end, when one tree is still live.
fn grow_trees<'a>(m: &mut Mutator<'a>, depth: u32, digest: &mut Digest) -> Result<Local<'a, Node>> {
    fn short_lived(m: &mut Mutator, depth: u32) -> Result<u64> {
        let mut m = m.scope();
        let tree = Node::tree(&mut m, depth)?;
        Ok(m[tree].sum())
    }
    digest.add(1, short_lived(m, depth + 1)?);
    let kept = Node::tree(m, depth)?;
    for (depth, trees) in workload::short_trees(depth) {
        let mut total = 0;
        for _ in 0..trees {
            total += short_lived(m, depth)?;
        }
        digest.add(u64::from(depth), total);
    }
    digest.add(2, m[kept].sum());
    Ok(kept)
}

fn binary_trees(heap: impl FnOnce() -> Heap, job: &Job) -> Result<Outcome> {
    let depth = workload::tree_depth(job.scale);
    let mut digest = Digest::default();
    let start = Stopwatch::start();
    let heap = heap();
    let mut m = attach(&heap);
    grow_trees(&mut m, depth, &mut digest)?;
    let total = start.elapsed();
    // The world is stopped for a collection, so that pauses need no clock around
    // each allocation.
    if job.mode == Mode::Pause {
        let stats = heap.stats();
        let nursery = stats
            .history
            .iter()
            .filter(|it| it.kind == ::heaphound::stats::Kind::Nursery);
        let outcome = Outcome::new(digest).with_time(Figure::LongestPauseMs, stats.longest_pause);
        return Ok(match nursery.map(|it| it.pause).max() {
            Some(pause) => outcome.with_time(Figure::NurseryPauseMs, pause),
            None => outcome,
        });
    }
    m.collect();
    Ok(Outcome::new(digest)
        .with_time(Figure::TotalMs, total)
        .with_memory(
            workload::resident_bytes(),
            workload::tree_nodes(depth) * workload::TREE_NODE_NOMINAL_BYTES,
        ))
}

fn make_garbage(m: &mut Mutator, objects: u64, digest: &mut Digest) -> Result<()> {
    for payload in 0..objects {
        let mut m = m.scope();
        let node = m.alloc(NodeInit {
            left: None,
            right: None,
            payload,
        })?;
        digest.add(0, std::hint::black_box(&m[node]).payload);
    }
    Ok(())
}

fn garbage_only(heap: impl FnOnce() -> Heap, scale: Scale) -> Result<Outcome> {
    let mut digest = Digest::default();
    let start = Stopwatch::start();
    let heap = heap();
    let mut m = attach(&heap);
    make_garbage(&mut m, workload::garbage_objects(scale), &mut digest)?;
    Ok(Outcome::new(digest).with_time(Figure::TotalMs, start.elapsed()))
}

fn two_mutators(heap: impl FnOnce() -> Heap, scale: Scale) -> Result<Outcome> {
    let start = Stopwatch::start();
    let heap = heap();
    let mutator = || -> Result<Digest> {
        let mut digest = Digest::default();
        let mut m = attach(&heap);
        grow_trees(&mut m, workload::tree_depth_of_two(scale), &mut digest)?;
        make_garbage(&mut m, workload::garbage_objects_of_two(scale), &mut digest)?;
        Ok(digest)
    };
    let mut digest = Digest::default();
    std::thread::scope(|scope| {
        let threads = [scope.spawn(mutator), scope.spawn(mutator)];
        for (slot, thread) in (1..).zip(threads) {
            digest.add(slot, thread.join().expect("no thread panics")?.0);
        }
        Ok(())
    })?;
    Ok(Outcome::new(digest).with_time(Figure::TotalMs, start.elapsed()))
}

#[derive(Managed)]
#[repr(C)]
struct Value {
    header: Header,
    #[managed(owned)]
    payload: [u64; 3],
}

#[derive(Managed)]
#[repr(C)]
struct MapEntry {
    header: Header,
    next: Slot<MapEntry>,
    value: Ref<Value>,
    key: u32,
}

#[derive(Managed)]
#[repr(C)]
struct ListNode {
    header: Header,
    next: Slot<ListNode>,
    value: Ref<Value>,
}

impl Value {
    fn new<'a>(m: &mut Mutator<'a>, payload: u64) -> Result<Local<'a, Value>> {
        m.alloc(ValueInit {
            payload: [payload; _],
        })
    }
}

/// The map and the list of `mutation`.
struct Structures<'s> {
    buckets: Local<'s, RefArray<MapEntry>>,
    head: Local<'s, ListNode>,
    cursor: Local<'s, ListNode>,
    size: script::Size,
}

impl<'s> Structures<'s> {
    fn new(m: &mut Mutator<'s>, size: script::Size) -> Result<Self> {
        let buckets = m.alloc_refs(size.buckets as usize)?;
        let value = Value::new(m, script::first_value(0))?;
        let head = m.alloc(ListNodeInit { next: None, value })?;
        let cursor = m.local(&m[head]);
        Ok(Structures {
            buckets,
            head,
            cursor,
            size,
        })
    }

    fn bucket<'m>(&self, m: &'m Mutator, key: u32) -> &'m Slot<MapEntry> {
        &m[self.buckets][self.size.bucket(key)]
    }

    fn find<'m>(&self, m: &'m Mutator, key: u32) -> Option<&'m MapEntry> {
        let mut next = self.bucket(m, key).get();
        while let Some(entry) = next {
            if entry.key == key {
                return Some(entry);
            }
            next = entry.next.get();
        }
        None
    }

    fn insert(&self, m: &mut Mutator, key: u32, value: Local<Value>) -> Result<()> {
        let mut m = m.scope();
        let next = self.bucket(&m, key).get().map(|it| m.local(it));
        let entry = m.alloc(MapEntryInit { next, value, key })?;
        self.bucket(&m, key).set(Some(&m[entry]));
        Ok(())
    }

    fn remove(&self, m: &Mutator, key: u32) -> Option<u64> {
        // A bucket is a slot as `next` is.
        let mut slot = self.bucket(m, key);
        while let Some(entry) = slot.get() {
            if entry.key == key {
                slot.set(entry.next.get());
                return Some(entry.value.get().payload[0]);
            }
            slot = &entry.next;
        }
        None
    }

    fn insert_after(&self, m: &mut Mutator, place: Local<ListNode>, payload: u64) -> Result<()> {
        let mut m = m.scope();
        let value = Value::new(&mut m, payload)?;
        let next = m[place].next.get().map(|it| m.local(it));
        let node = m.alloc(ListNodeInit { next, value })?;
        m[place].next.set(Some(&m[node]));
        Ok(())
    }

    fn advance<'m>(&self, m: &'m Mutator) -> &'m ListNode {
        let cursor = m[self.cursor].next.get().unwrap_or(&m[self.head]);
        m.set_local(self.cursor, cursor);
        cursor
    }

    fn apply(&self, m: &mut Mutator, operation: Operation, digest: &mut Digest) -> Result<()> {
        use script::digest::{LIST_REMOVED, LIST_REPLACED, REMOVED, REPLACED};
        match operation {
            Operation::Put { key, value } => {
                let mut m = m.scope();
                let value = Value::new(&mut m, value)?;
                match self.find(&m, key) {
                    Some(entry) => {
                        digest.add(REPLACED, entry.value.get().payload[0]);
                        entry.value.set(&m[value]);
                    }
                    None => self.insert(&mut m, key, value)?,
                }
            }
            Operation::Remove { key } => {
                if let Some(payload) = self.remove(m, key) {
                    digest.add(REMOVED, payload);
                }
            }
            Operation::Swap { a, b } => {
                if let (Some(a), Some(b)) = (self.find(m, a), self.find(m, b)) {
                    let (value_a, value_b) = (a.value.get(), b.value.get());
                    a.value.set(value_b);
                    b.value.set(value_a);
                }
            }
            Operation::ListInsert { value } => {
                self.advance(m);
                self.insert_after(m, self.cursor, value)?;
            }
            Operation::ListReplace { value } => {
                digest.add(LIST_REPLACED, self.advance(m).value.get().payload[0]);
                let mut m = m.scope();
                let value = Value::new(&mut m, value)?;
                m[self.cursor].value.set(&m[value]);
            }
            Operation::ListRemove => {
                let cursor = self.advance(m);
                if let Some(removed) = cursor.next.get() {
                    digest.add(LIST_REMOVED, removed.value.get().payload[0]);
                    cursor.next.set(removed.next.get());
                }
            }
        }
        Ok(())
    }

    fn check(&self, m: &Mutator, digest: &mut Digest) {
        for bucket in m[self.buckets].iter() {
            let mut next = bucket.get();
            while let Some(entry) = next {
                let slot = script::digest::LEFT_IN_MAP + u64::from(entry.key);
                digest.add(slot, entry.value.get().payload[0]);
                next = entry.next.get();
            }
        }
        let mut next = Some(&m[self.head]);
        while let Some(node) = next {
            digest.add(script::digest::LEFT_IN_LIST, node.value.get().payload[0]);
            next = node.next.get();
        }
    }
}

fn mutation(heap: impl FnOnce() -> Heap, scale: Scale) -> Result<Outcome> {
    let size = script::Size::new(scale);
    let mut digest = Digest::default();
    let start = Stopwatch::start();
    let heap = heap();
    let mut m = attach(&heap);
    let structures = Structures::new(&mut m, size)?;
    for key in size.first_keys() {
        let mut m = m.scope();
        let value = Value::new(&mut m, script::first_value(key))?;
        structures.insert(&mut m, key, value)?;
    }
    for node in 1..size.list_nodes {
        structures.insert_after(&mut m, structures.head, script::first_value(node))?;
    }
    for operation in Script::new(size) {
        structures.apply(&mut m, operation, &mut digest)?;
    }
    let total = start.elapsed();
    structures.check(&m, &mut digest);
    Ok(Outcome::new(digest).with_time(Figure::TotalMs, total))
}

/// An object of a size class of `half-lost`.
#[derive(Managed)]
#[repr(C)]
struct Words<const WORDS: usize> {
    header: Header,
    #[managed(owned)]
    payload: [u64; WORDS],
}

impl<const WORDS: usize> Words<WORDS> {
    fn new_in(
        m: &mut Mutator,
        table: Local<RefArray<Object>>,
        index: usize,
        payload: u64,
    ) -> Result<()> {
        let mut m = m.scope();
        let object = m.alloc(WordsInit {
            payload: [payload; WORDS],
        })?;
        m[table][index].set(Some(m[object].as_object()));
        Ok(())
    }

    fn read(object: &Object) -> Option<u64> {
        object.downcast::<Self>().map(|it| it.payload[0])
    }
}

fn half_lost(heap: &Heap, scale: Scale) -> Result<Outcome> {
    macro_rules! constructors {
        ($(($class:literal, $words:literal))*) => { [$(Words::<$words>::new_in),*] };
    }
    macro_rules! readers {
        ($(($class:literal, $words:literal))*) => { [$(Words::<$words>::read),*] };
    }
    let mut m = attach(heap);
    let tables = (0..sizes::SIZES.len())
        .map(|class| m.alloc_refs::<Object>(sizes::class_objects(scale, class)))
        .collect::<Result<Vec<_>>>()?;
    let constructors = for_each_size_class!(constructors);
    let mut failure = None;
    sizes::for_each_birth(scale, |class, index| {
        let payload = sizes::payload(class, index);
        let born = constructors[class](&mut m, tables[class], index, payload);
        failure = failure.take().or(born.err());
    });
    if let Some(failure) = failure {
        return Err(failure);
    }
    for (class, &table) in tables.iter().enumerate() {
        for (index, slot) in m[table].iter().enumerate() {
            if !sizes::stays(class, index) {
                slot.clear();
            }
        }
    }
    m.collect();
    let resident = workload::resident_bytes();
    let mut digest = Digest::default();
    let readers = for_each_size_class!(readers);
    for (class, &table) in tables.iter().enumerate() {
        for object in m[table].iter().filter_map(Slot::get) {
            let payload = readers[class](object).expect("of the table's class");
            sizes::digest(&mut digest, class, payload);
        }
    }
    Ok(Outcome::new(digest).with_memory(resident, sizes::nominal_live_bytes(scale)))
}
