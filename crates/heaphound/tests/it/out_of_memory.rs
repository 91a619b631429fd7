//! Memory that runs out at any moment of a program: at each single demand for it, with both collectors.
//! Whatever the program has by then is whole, the heap is in order, and the program can go on once
//! there is memory again.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use heaphound::{
    AssertionKind, Check, Collector, DynClass, Header, Heap, Managed, MarkedHeap, Mutator, Object,
    OutOfMemory, Pinned, PlainArray, PlainKind, Reaction, RefArray, Root, Slot, StoppedHeap, Str,
    WeakMap, WeakSlot, check::Counted, check::Found, check::Needs,
};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    id: u64,
    next: Slot<Node>,
    weak: WeakSlot<Node>,
}

/// An object that owns Rust memory, of which there must be as many drops as there were objects.
#[derive(Managed)]
#[repr(C)]
struct Owner {
    header: Header,
    text: String,
    #[managed(owned)]
    token: Arc<()>,
    next: Slot<Node>,
}

/// A check that looks at everything, before and after marking.
struct Watch(Arc<AtomicUsize>);

impl Check for Watch {
    fn needs(&mut self) -> Needs {
        Needs::all_instances()
    }

    fn before(&mut self, heap: &StoppedHeap<'_>) {
        let probes = heaphound::Probes::of(heap);
        assert!(probes.reach_all().len() < 100_000);
    }

    fn conclude(&mut self, _: &MarkedHeap<'_>, counted: &Counted<'_>, found: &mut Found<'_>) {
        assert!(counted.objects < 100_000);
        found.skip();
        self.0.fetch_add(1, Relaxed);
    }
}

/// What a program has kept so far, and what it must look like.
#[derive(Default)]
struct Kept {
    nodes: Vec<(Root<Node>, u64)>,
    owners: Vec<(Root<Owner>, String)>,
    texts: Vec<(Root<Str>, String)>,
    numbers: Vec<(Root<PlainArray<u64>>, usize)>,
    arrays: Vec<(Root<RefArray<Node>>, usize)>,
    instances: Vec<(Root<heaphound::Instance>, u64)>,
    maps: Vec<(Root<WeakMap<Node, Node>>, usize)>,
    pinned: Vec<(Pinned<Node>, u64)>,
}

impl Kept {
    fn check(&self, m: &Mutator<'_>) {
        for (root, id) in &self.nodes {
            let node = &m[root];
            assert_eq!(node.id, *id);
            // A chain of nodes, each one less; the first is kept by whoever made it, or nobody.
            let mut next = node.next.get();
            for below in (0..*id).rev() {
                let Some(it) = next else { break };
                assert_eq!(it.id, below);
                next = it.next.get();
            }
            if let Some(weak) = node.weak.get() {
                assert!(weak.id < 1000);
            }
        }
        for (root, text) in &self.owners {
            assert_eq!(m[root].text, *text);
            assert!(m[root].next.get().is_none_or(|it| it.id < 1000));
        }
        for (root, text) in &self.texts {
            assert_eq!(&*m[root], text);
        }
        for (root, len) in &self.numbers {
            assert_eq!(m[root].to_vec(), vec![*len as u64; *len]);
        }
        for (root, len) in &self.arrays {
            assert_eq!(m[root].len(), *len);
            for slot in m[root].iter() {
                assert!(slot.get().is_none_or(|it| it.id < 1000));
            }
        }
        for (root, value) in &self.instances {
            assert_eq!(m[root].plain::<u64>(0), *value);
            let target = m[root][0].get().and_then(|it| it.downcast::<Node>());
            assert_eq!(target.unwrap().id, 0);
        }
        for (root, len) in &self.maps {
            assert_eq!(m[root].len(), *len);
            m[root].for_each(|key, value| assert_eq!(key.id + 100, value.id));
        }
        for (pinned, id) in &self.pinned {
            assert_eq!(m[pinned.root()].id, *id);
        }
    }
}

/// What programs share with their finalizers and callbacks.
#[derive(Default)]
struct Told {
    finalized: AtomicUsize,
    brought_back: Mutex<Vec<Root<Object>>>,
    called: AtomicUsize,
}

/// A bit of everything that allocates. What it has made before memory ran out is in `kept`.
fn program(
    m: &mut Mutator<'_>,
    class: &DynClass,
    token: &Arc<()>,
    told: &Arc<Told>,
    kept: &mut Kept,
) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let mut last = None;
    for id in 0..5 {
        let weak = last;
        let node = m.alloc(NodeInit {
            id,
            next: last,
            weak,
        })?;
        kept.nodes.push((m.root(&m[node]), id));
        last = Some(node);
    }
    let first = last.unwrap();
    m.label(first, "first");
    m.static_root("first").set(&m, Some(&m[first]));
    // Dies with finalizers that allocate, and bring objects back.
    for id in 0..3 {
        let mut m = m.scope();
        let doomed = m.alloc(NodeInit {
            id,
            next: None,
            weak: None,
        })?;
        let told = told.clone();
        m.on_death(&m[doomed], move |m, node| {
            told.finalized.fetch_add(1, Relaxed);
            let next = Some(node);
            if let Ok(new) = m.alloc(NodeInit {
                id: 999,
                next,
                weak: None,
            }) {
                let root = m.handle(new).unwrap();
                told.brought_back.lock().unwrap().push(root);
            }
            let _ = m.alloc_str("from a finalizer");
        });
    }
    for number in 0..4 {
        let text = format!("owner {number}");
        let owner = m.alloc(OwnerInit {
            text: text.clone(),
            token: token.clone(),
            next: Some(first),
        })?;
        if number % 2 == 0 {
            kept.owners.push((m.root(&m[owner]), text));
            m.account_external(&m[owner], 1000);
        }
    }
    m.assert_dead(first);
    {
        let mut m = m.region();
        m.alloc_str("in a region")?;
        let node = m.alloc(NodeInit {
            id: 0,
            next: None,
            weak: Some(first),
        })?;
        m.assert_unshared(node);
    }
    let text = "text ".repeat(40);
    let str = m.alloc_str(&text)?;
    kept.texts.push((m.root(&m[str]), text));
    for len in [3, 100, 3000] {
        let numbers = m.alloc_plain(len, len as u64)?;
        kept.numbers.push((m.root(&m[numbers]), len));
        let array = m.alloc_refs::<Node>(len)?;
        kept.arrays.push((m.root(&m[array]), len));
        for place in [0, len - 1] {
            let node = m.alloc(NodeInit {
                id: 7,
                next: None,
                weak: None,
            })?;
            m[array][place].set(Some(&m[node]));
            m[node].as_object().identity_hash();
        }
    }
    let instance = m.alloc_instance(class)?;
    m[instance].set_plain(0, 42u64);
    let zero = m.alloc(NodeInit {
        id: 0,
        next: None,
        weak: None,
    })?;
    m[instance][0].set(Some(m[zero].as_object()));
    kept.instances.push((m.root(&m[instance]), 42));
    let map = m.alloc_weak_map::<Node, Node>()?;
    kept.maps.push((m.root(&m[map]), 0));
    for id in 0..12 {
        let key = m.alloc(NodeInit {
            id,
            next: None,
            weak: None,
        })?;
        let value = m.alloc(NodeInit {
            id: id + 100,
            next: None,
            weak: Some(key),
        })?;
        kept.nodes.push((m.root(&m[key]), id));
        m.weak_map_insert(map, key, value)?;
        kept.maps.last_mut().unwrap().1 += 1;
    }
    let pinned = m.alloc(NodeInit {
        id: 3,
        next: None,
        weak: None,
    })?;
    kept.pinned.push((m.pin(pinned), 3));
    m.set_thread_object(Some(&m[pinned]));
    Ok(())
}

fn build(collector: Collector) -> Heap {
    let builder = Heap::builder().collector(collector).collector_threads(1);
    let builder = builder.max_bytes(8 << 20).nursery_bytes(64 << 10);
    // Each allocation asks for memory, many collect, and each collection is verified.
    builder.initial_bytes(1 << 20).zeal(3).build().unwrap()
}

fn class(heap: &Heap) -> DynClass {
    let class = heap.define_class("Record").slot("target");
    class.plain("number", PlainKind::U64).define().unwrap()
}

/// Runs the program with so many demands for memory granted; then there is memory again. Returns how many demands
/// were left over.
fn run(collector: Collector, demands: u64) -> u64 {
    let token = Arc::new(());
    let told = Arc::<Told>::default();
    let heap = build(collector);
    let checks = Arc::new(AtomicUsize::new(0));
    let watch = heap.watch(Box::new(Watch(checks.clone())), None);
    let called = told.clone();
    let count = move |_: &_| {
        called.called.fetch_add(1, Relaxed);
    };
    heap.set_reaction(AssertionKind::Dead, Reaction::Call(Arc::new(count)));
    heap.set_reaction(AssertionKind::Region, Reaction::Call(Arc::new(|_| {})));
    heap.set_reaction(AssertionKind::Unshared, Reaction::Call(Arc::new(|_| {})));
    let class = class(&heap);
    let mut m = heap.attach("main").unwrap();
    let mut kept = Kept::default();
    heap.grant_memory(demands);
    let done = program(&mut m, &class, &token, &told, &mut kept);
    let left = heap.grant_memory(u64::MAX);
    assert!(done.is_ok() || left == 0, "{done:?}, {left} left");
    kept.check(&m);
    m.collect();
    kept.check(&m);
    // The program goes on, with what it has.
    program(&mut m, &class, &token, &told, &mut kept).unwrap();
    kept.check(&m);
    m.collect();
    m.collect();
    kept.check(&m);
    assert!(checks.load(Relaxed) > 0 && told.called.load(Relaxed) > 0);
    assert!(told.finalized.load(Relaxed) >= 3);
    for root in told.brought_back.lock().unwrap().drain(..) {
        assert_eq!(m[&root].downcast::<Node>().unwrap().id, 999);
    }
    // What the second run has made and nobody kept is dropped, and at the end everything.
    assert_eq!(Arc::strong_count(&token), 1 + kept.owners.len());
    kept = Kept::default();
    kept.check(&m);
    m.collect();
    drop(m);
    drop(watch);
    drop(heap);
    assert_eq!(Arc::strong_count(&token), 1);
    left
}

fn memory_runs_out_at_every_demand(collector: Collector) {
    let most = u64::MAX - 1;
    let demands = most - run(collector, most);
    assert!(demands > 60, "{demands}");
    for granted in 0..demands {
        assert_eq!(run(collector, granted), 0, "{granted}");
    }
}

#[test]
fn memory_runs_out_at_every_demand_of_a_mark_sweep_heap() {
    memory_runs_out_at_every_demand(Collector::MarkSweep);
}

#[test]
fn memory_runs_out_at_every_demand_of_a_generational_heap() {
    memory_runs_out_at_every_demand(Collector::Generational);
}

/// Without zeal a nursery fills up whole before it is collected, and its survivors need room when there is none
/// to be had: all of them live, and each has a hash, which makes it larger.
#[test]
fn survivors_find_room_when_there_is_no_memory_to_be_had() {
    for bytes in [16, 1000, 8160] {
        let builder = Heap::builder().collector(Collector::Generational);
        let builder = builder.max_bytes(16 << 20).nursery_bytes(4 << 20);
        let heap = builder.collector_threads(1).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        heap.grant_memory(1000);
        let array = m.alloc_refs::<PlainArray<u8>>(300_000).unwrap();
        // From here on nothing is granted but room in the nursery.
        let mut count = 0;
        while heap.stats().nursery_collections == 0 {
            let mut m = m.scope();
            heap.grant_memory(1);
            let Ok(new) = m.alloc_plain(bytes, 1u8) else {
                break;
            };
            m[new].as_object().identity_hash();
            m[array][count].set(Some(&m[new]));
            count += 1;
        }
        heap.grant_memory(0);
        m.collect();
        let live = m[array].iter().filter(|it| it.get().is_some()).count();
        assert_eq!(live, count);
        heap.grant_memory(u64::MAX);
        m.alloc_str("there is memory again").unwrap();
    }
}
