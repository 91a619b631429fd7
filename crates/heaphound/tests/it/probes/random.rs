//! Probes, paths, plans and captures of random live heaps answer what their slow twins do.
//!
//! The heaps have objects of all sorts, young and old, dead and alive; threads that wait
//! with locals on their stacks; statics, handles, pins and pending finalizers.
//! `HEAPHOUND_CASES` multiplies their number.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use heaphound::path::{Origin, Search, Trail};
use heaphound::root::{RootKind, RootSet};
use heaphound::set::ObjectSet;
use heaphound::snapshot::Snapshot;
use heaphound::trace::{self, Examiner, Plan, Starts, Step, Traceable};
use heaphound::view::{HeapView, Place, Strength};
use heaphound::{
    ClassId, Collector, DynClass, Finalization, Header, Heap, HeapBuilder, Instance, Local,
    Managed, Mutator, Object, Pinned, PlainArray, PlainData, PlainKind, ProbeError, Probes, Ref,
    RefArray, Root, Slot, Var, Weak, WeakMap, WeakSlot, root::Part, view::Value,
};
use heaphound_testkit::cases::config;
use heaphound_testkit::dice::Dice;
use heaphound_testkit::twins::Graph;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};

const PARTS: [Part; 3] = [Part::Stack, Part::Object, Part::Both];

#[test]
fn a_mark_sweep_heap_answers_what_the_definitions_say() {
    check(900, Collector::MarkSweep, 1, 0);
}

#[test]
fn a_generational_heap_answers_what_the_definitions_say() {
    check(900, Collector::Generational, 1, 0);
}

#[test]
fn zealous_heaps_answer_what_the_definitions_say() {
    for (collector, zeal) in [
        (Collector::MarkSweep, 1),
        (Collector::MarkSweep, 5),
        (Collector::Generational, 1),
        (Collector::Generational, 5),
    ] {
        check(100, collector, 1, zeal);
    }
}

/// Fewer, since four threads on such small heaps take much longer than one.
#[test]
fn heaps_with_four_collector_threads_answer_what_the_definitions_say() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        check(60, collector, 4, 0);
        check(20, collector, 4, 3);
    }
}

#[test]
fn a_map_that_is_dead_itself_holds_values_only_while_their_keys_live() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let heap = Heap::builder().collector(collector).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let (map, value) = {
            let mut m = m.scope();
            let map = m.alloc_weak_map::<Node, Node>().unwrap();
            let [key, value] = [(); 2].map(|()| new_node(&mut m, 0));
            m.weak_map_insert(map, key, value).unwrap();
            (m.weak(&m[map]), m.weak(&m[value]))
        };
        assert!(!m.is_reachable(&map, &value).unwrap(), "the key is dead");
    }
}

#[test]
fn a_map_in_a_dead_map_holds_values_only_while_their_keys_live() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let heap = Heap::builder().collector(collector).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let live_key = new_node(&mut m, 1);
        let (outer, value) = {
            let mut m = m.scope();
            let [outer, inner] = [(); 2].map(|()| m.alloc_weak_map::<Node, Object>().unwrap());
            let [dead_key, value] = [2, 3].map(|id| new_node(&mut m, id));
            let (held, last) = (inner.upcast(&m), value.upcast(&m));
            m.weak_map_insert(outer, live_key, held).unwrap();
            m.weak_map_insert(inner, dead_key, last).unwrap();
            (m.weak(&m[outer]), m.weak(&m[value]))
        };
        assert!(!m.is_reachable(&outer, &value).unwrap(), "the key is dead");
    }
}

#[test]
fn a_map_that_waits_for_its_finalizer_is_captured_with_the_values_of_live_keys() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let heap = Heap::builder().collector(collector);
        let heap = heap.finalization(Finalization::OnRequest).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let key = new_node(&mut m, 1);
        {
            let mut m = m.scope();
            let map = m.alloc_weak_map::<Node, Node>().unwrap();
            let value = new_node(&mut m, 2);
            m.weak_map_insert(map, key, value).unwrap();
            m.on_death(&m[map], |_, _| ());
        }
        m.collect();
        let snapshot = m.capture(PlainData::All);
        let mut pending = snapshot.roots().iter();
        let pending = pending.find(|(root, _)| root.kind == RootKind::Finalizer);
        let (_, map) = pending.expect("the map waits");
        let reached = Probes::of(&snapshot).reach(*map);
        let names: Vec<_> = reached.iter().map(|it| snapshot.name_of(it)).collect();
        let nodes = names.iter().filter(|name| name.starts_with("Node#"));
        assert_eq!(nodes.count(), 1, "{names:?}");
    }
}

#[test]
fn a_dynamic_class_that_adds_a_slot_to_plain_data_can_be_captured() {
    let heap = Heap::builder().build().unwrap();
    let above = heap.define_class("Above").plain("n", PlainKind::I32);
    let above = above.define().unwrap();
    let below = heap.define_class("Below").extends(&above).unwrap();
    let below = below.slot("next").define().unwrap();
    let mut m = heap.attach("main").unwrap();
    let object = m.alloc_instance(&below).unwrap();
    m[object][0].set(Some(m[object].as_object()));
    m[object].set_plain(0, 7i32);
    let whole = m.capture(PlainData::All);
    m.ask(|heap| same_heap(heap.view(), &whole, Kept::All))
        .unwrap();
}

/// Heaps that are large enough for several threads to find work.
#[test]
fn large_heaps_answer_what_the_definitions_say() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for (threads, seed) in [(1, 1), (4, 2), (4, 3)] {
            let heap = Heap::builder()
                .collector(collector)
                .collector_threads(threads)
                .nursery_bytes(64 << 10);
            let heap = heap.max_bytes(64 << 20).build().unwrap();
            check_large(&heap, &mut Dice(seed)).unwrap();
        }
    }
}

fn check_large(heap: &Heap, dice: &mut Dice) -> TestCaseResult {
    const COUNT: usize = 3_000;
    let mut m = heap.attach("main").unwrap();
    let array = m.alloc_refs::<Node>(2 * COUNT).unwrap();
    for place in 0..COUNT {
        let mut m = m.scope();
        let node = new_node(&mut m, place as u32);
        m[array][place].set(Some(&m[node]));
    }
    // Some have many predecessors, most of them one or two; the second half of the array
    // leads to a few of them again and again.
    for place in 0..COUNT {
        let node = |place: usize| m[array][place].get().unwrap();
        let near = node(place / 2);
        near.other.set(Some(node(place).as_object()));
        node(place)
            .next
            .set(Some(node(dice.below(place + 1)).as_object()));
        m[array][COUNT + place].set(Some(node(place % 3)));
    }
    let subjects: Vec<_> = (0..COUNT).step_by(97).collect();
    let subjects: Vec<_> = subjects.into_iter().chain([0, 1, 2]).collect();
    let subjects: Vec<_> = subjects
        .into_iter()
        .map(|place| m.weak(m[array][place].get().unwrap()))
        .collect();
    // So that not everything has the same predecessor.
    let kept = m[array][COUNT - 1].get().map(|node| m.local(node)).unwrap();
    for place in (0..COUNT).filter(|place| place % 7 > 0) {
        m[array][place].clear();
    }
    for collects in [false, true, false] {
        let array = m.weak(&m[array]);
        let mut check = |heap: &heaphound::Asking<'_, '_>| {
            let ids: Vec<_> = subjects.iter().filter_map(|it| heap.id(it).ok()).collect();
            let graph = Graph::of(heap.view(), ids.iter().copied());
            same("reach_all", set(&heap.reach_all()), graph.reach_all())?;
            for _ in 0..12 {
                let [a, b, c] = [(); 3].map(|()| dice.pick(&ids));
                same("pred", set(&heap.pred(a)), graph.pred(a))?;
                same("is_shared", heap.is_shared(a), graph.is_shared(a))?;
                same("reach", set(&heap.reach(a)), graph.reach(a))?;
                let around = set(&heap.reach_avoiding(&[a, b], &[c]));
                same("around", around, graph.reach_avoiding(&[a, b], &[c]))?;
                let map = heap.id(&array).unwrap();
                for above in [a, c, map] {
                    let dom = graph.dom(Some(0), above, b);
                    same("dom", heap.dom(above, b), dom)?;
                }
                same("disjoint", heap.is_disjoint(a, b), graph.is_disjoint(a, b))?;
                let threads = graph.thread_reach(a, &[map, b], Part::Stack);
                same(
                    "threads",
                    heap.thread_reach(a, &[map, b], Part::Stack),
                    threads,
                )?;
                let owner = set(&heap.not_owned(a)).is_empty();
                same("is_unique_owner", heap.is_unique_owner(a), owner)?;
            }
            Ok::<_, TestCaseError>(())
        };
        match collects {
            true => m.ask_and_collect(|heap| check(heap))?,
            false => m.ask(|heap| check(heap))?,
        }
        let whole = m.capture(PlainData::All);
        m.ask(|heap| same_heap(heap.view(), &whole, Kept::All))?;
    }
    prop_assert_eq!(m[kept].id as usize, COUNT - 1);
    Ok(())
}

fn new_node<'a>(m: &mut Mutator<'a>, id: u32) -> Local<'a, Node> {
    let node = NodeInit {
        id,
        next: None,
        weak: None,
        other: None,
    };
    m.alloc(node).unwrap()
}

/// Builds random heaps of one kind and asks them everything.
fn check(usual: u32, collector: Collector, threads: usize, zeal: u32) {
    let builder = Heap::builder()
        .max_bytes(16 << 20)
        .nursery_bytes(64 << 10)
        .max_locals(4096)
        .collector(collector)
        .collector_threads(threads)
        .finalization(Finalization::OnRequest)
        .zeal(zeal);
    // Four threads take so much longer for a question on a small heap.
    let pairs = if threads == 1 { 4 } else { 1 };
    let result =
        TestRunner::new(config(usual)).run(&heaps(pairs), |plan| run(builder.clone(), &plan));
    if let Err(error) = result {
        panic!("{error}");
    }
}

// Heaps.

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    id: u32,
    next: Slot<Object>,
    weak: WeakSlot<Object>,
    other: Slot<Object>,
}

/// Slots and plain data of all sorts, in turns.
#[derive(Managed)]
#[repr(C)]
struct Wide {
    header: Header,
    flag: bool,
    held: Ref<Object>,
    ratio: Var<f64>,
    two: [Slot<Object>; 2],
    id: i16,
}

/// More weak slots than strong ones.
#[derive(Managed)]
#[repr(C)]
struct Weakling {
    header: Header,
    first: WeakSlot<Object>,
    second: WeakSlot<Object>,
    next: Slot<Object>,
    letter: char,
}

type Map = WeakMap<Object, Object>;

#[derive(Clone, Copy, Debug)]
enum Sort {
    Node,
    Array,
    Wide,
    Weakling,
    Map,
    Dynamic,
    DynamicSub,
    Text,
    Plain,
}

/// What a heap looks like. Objects are meant by their number, modulo how many there are.
#[derive(Clone, Debug)]
struct HeapPlan {
    objects: Vec<ObjectPlan>,
    /// A nursery collection comes behind that many.
    old: usize,
    /// A map, a key and a value.
    entries: Vec<(usize, usize, usize)>,
    /// The first one asks.
    threads: Vec<ThreadPlan>,
    statics: Vec<usize>,
    handles: Vec<usize>,
    pinned: Vec<usize>,
    /// These wait for their finalizers if they die.
    finalized: Vec<usize>,
    /// Whether a collection takes place before anybody asks.
    collected: bool,
    /// About how many pairs of objects to ask.
    pairs: usize,
    seed: u64,
}

#[derive(Clone, Debug)]
struct ObjectPlan {
    sort: Sort,
    slots: Vec<Option<usize>>,
}

#[derive(Clone, Debug)]
struct ThreadPlan {
    object: Option<usize>,
    stack: Vec<usize>,
}

fn heaps(pairs: usize) -> impl Strategy<Value = HeapPlan> {
    let number = || 0..1_000usize;
    let sort = prop_oneof![
        5 => Just(Sort::Node),
        2 => Just(Sort::Array),
        2 => Just(Sort::Wide),
        2 => Just(Sort::Weakling),
        3 => Just(Sort::Map),
        1 => Just(Sort::Dynamic),
        1 => Just(Sort::DynamicSub),
        1 => Just(Sort::Text),
        1 => Just(Sort::Plain),
    ];
    let object = (sort, vec(option::weighted(0.7, number()), 0..6));
    let object = object.prop_map(|(sort, slots)| ObjectPlan { sort, slots });
    let thread = (option::of(number()), vec(number(), 0..4));
    let thread = thread.prop_map(|(object, stack)| ThreadPlan { object, stack });
    let some = || vec(number(), 0..3);
    (
        (vec(object, 1..14), 0..14usize),
        vec((number(), number(), number()), 0..9),
        vec(thread, 1..4),
        (some(), some(), vec(number(), 0..2), some()),
        prop::bool::weighted(0.2),
        any::<u64>(),
    )
        .prop_map(
            move |((objects, old), entries, threads, roots, collected, seed)| HeapPlan {
                objects,
                old,
                entries,
                threads,
                statics: roots.0,
                handles: roots.1,
                pinned: roots.2,
                finalized: roots.3,
                collected,
                pairs,
                seed,
            },
        )
}

/// A thread object and what is to be on the stack.
type Handed = (Option<Root<Object>>, Vec<Root<Object>>);

/// What outlives the building of a heap.
struct Held {
    /// To half of the objects, dead or alive.
    weak: Vec<Weak<Object>>,
    _handles: Vec<Root<Object>>,
    _pinned: Vec<Pinned<Object>>,
    /// For the threads to take.
    threads: Vec<Handed>,
}

impl HeapPlan {
    /// Makes the objects and all roots but those of threads.
    fn build(&self, heap: &Heap, m: &mut Mutator<'_>) -> Held {
        let dynamic = heap.define_class("Dynamic").slot("a").slot("b");
        let dynamic = dynamic.plain("n", PlainKind::I32).define().unwrap();
        let sub = heap.define_class("DynamicSub").extends(&dynamic).unwrap();
        let sub = sub.slot("c").plain("x", PlainKind::F64).define().unwrap();
        let mut m = m.scope();
        let mut all: Vec<Local<'_, Object>> = Vec::new();
        for (number, plan) in self.objects.iter().enumerate() {
            if number == self.old {
                m.collect_nursery();
            }
            let before = all.last().copied();
            let object = plan.alloc(&mut m, number, [&dynamic, &sub], before);
            all.push(object);
        }
        let at = |number: usize| all[number % all.len()];
        for (plan, &object) in self.objects.iter().zip(&all) {
            let slots: Vec<_> = plan.slots.iter().map(|it| it.map(at)).collect();
            fill(&m, object, &slots);
        }
        for &(map, key, value) in &self.entries {
            let maps = all.iter().filter_map(|&it| m[it].downcast::<Map>());
            let maps: Vec<_> = maps.map(|map| m.local(map)).collect();
            if maps.is_empty() {
                continue;
            }
            let map_at = |number: usize| maps[number % maps.len()];
            // Maps in maps: what one holds depends on what another does.
            let value = match value % 2 {
                0 => map_at(value / 2).upcast(&m),
                _ => at(value),
            };
            m.weak_map_insert(map_at(map), at(key), value).unwrap();
        }
        let pinned = self.pinned.iter().map(|&it| m.pin(at(it))).collect();
        for (place, &object) in self.statics.iter().enumerate() {
            let name = format!("static {place}");
            m.static_root(&name).set(&m, Some(&m[at(object)]));
        }
        for &object in &self.finalized {
            m.on_death(&m[at(object)], |_, _| ());
        }
        let root = |number: usize| m.root(&m[at(number)]);
        let mut dice = Dice(self.seed);
        let named = all.iter().filter(|_| dice.below(2) == 0);
        let named: Vec<_> = named.collect();
        let of_thread = |plan: &ThreadPlan| {
            let stack = plan.stack.iter().map(|&it| root(it)).collect();
            (plan.object.map(root), stack)
        };
        Held {
            weak: named.into_iter().map(|&it| m.weak(&m[it])).collect(),
            threads: self.threads.iter().map(of_thread).collect(),
            _handles: self.handles.iter().map(|&it| root(it)).collect(),
            _pinned: pinned,
        }
    }
}

impl ObjectPlan {
    fn alloc<'a>(
        &self,
        m: &mut Mutator<'a>,
        number: usize,
        [dynamic, sub]: [&DynClass; 2],
        before: Option<Local<'a, Object>>,
    ) -> Local<'a, Object> {
        let len = self.slots.len();
        match (self.sort, before) {
            (Sort::Array, _) => {
                let array = m.alloc_refs::<Object>(len).unwrap();
                array.upcast(m)
            }
            (Sort::Wide, Some(held)) => {
                let wide = WideInit {
                    flag: number.is_multiple_of(2),
                    held,
                    ratio: number as f64 / 3.0,
                    two: [None, None],
                    id: -(number as i16),
                };
                let wide = m.alloc(wide).unwrap();
                wide.upcast(m)
            }
            (Sort::Node | Sort::Wide, _) => {
                let node = new_node(m, number as u32);
                node.upcast(m)
            }
            (Sort::Weakling, _) => {
                let weakling = WeaklingInit {
                    first: None,
                    second: None,
                    next: None,
                    letter: char::from(b'a' + number as u8),
                };
                let weakling = m.alloc(weakling).unwrap();
                weakling.upcast(m)
            }
            (Sort::Map, _) => {
                let map = m.alloc_weak_map::<Object, Object>().unwrap();
                map.upcast(m)
            }
            (Sort::Dynamic | Sort::DynamicSub, _) => {
                let is_sub = matches!(self.sort, Sort::DynamicSub);
                let class = if is_sub { sub } else { dynamic };
                let instance = m.alloc_instance(class).unwrap();
                m[instance].set_plain(0, -(number as i32));
                if is_sub {
                    m[instance].set_plain(1, number as f64);
                }
                instance.upcast(m)
            }
            (Sort::Text, _) => {
                let text = m.alloc_str(&"ä".repeat(number)).unwrap();
                text.upcast(m)
            }
            (Sort::Plain, _) => {
                let array = m.alloc_plain(len, len as u16).unwrap();
                array.upcast(m)
            }
        }
    }
}

/// Sets the slots of an object, as far as it has any.
fn fill(m: &Mutator<'_>, object: Local<'_, Object>, targets: &[Option<Local<'_, Object>>]) {
    let at = |place: usize| targets.get(place).copied().flatten().map(|it| &m[it]);
    let object = &m[object];
    if let Some(node) = object.downcast::<Node>() {
        node.next.set(at(0));
        node.weak.set(at(1));
        node.other.set(at(2));
    } else if let Some(wide) = object.downcast::<Wide>() {
        if let Some(held) = at(0) {
            wide.held.set(held);
        }
        wide.two[0].set(at(1));
        wide.two[1].set(at(2));
    } else if let Some(weakling) = object.downcast::<Weakling>() {
        weakling.first.set(at(0));
        weakling.second.set(at(1));
        weakling.next.set(at(2));
    } else if let Some(array) = object.downcast::<RefArray<Object>>() {
        for (place, slot) in array.iter().enumerate() {
            slot.set(at(place));
        }
    } else if let Some(instance) = object.downcast::<Instance>() {
        for (place, slot) in instance.iter().enumerate() {
            slot.set(at(place));
        }
    } else if let Some(array) = object.downcast::<PlainArray<u16>>()
        && array.len() > 1
    {
        array.write(1, &[7]);
    }
}

/// A thread that holds objects until somebody hangs up.
fn hold(
    heap: &Heap,
    name: &str,
    object: Option<Root<Object>>,
    stack: Vec<Root<Object>>,
    ready: Sender<()>,
    done: Receiver<()>,
) {
    let mut m = heap.attach(name).unwrap();
    take(&m, object, &stack[..stack.len() / 2]);
    let mut inner = m.scope();
    for root in &stack[stack.len() / 2..] {
        inner.local(&inner[root]);
    }
    drop(stack);
    inner.blocked(|| {
        ready.send(()).unwrap();
        let _ = done.recv();
    });
}

fn take(m: &Mutator<'_>, object: Option<Root<Object>>, stack: &[Root<Object>]) {
    m.set_thread_object(object.as_ref().map(|object| &m[object]));
    for root in stack {
        m.local(&m[root]);
    }
}

/// Builds a heap, with threads that hold on to parts of it, and asks it everything.
fn run(builder: HeapBuilder, plan: &HeapPlan) -> TestCaseResult {
    let heap = builder.build().unwrap();
    let heap = &heap;
    thread::scope(|scope| {
        let mut m = heap.attach("asker").unwrap();
        let mut held = plan.build(heap, &mut m);
        let (ready, is_ready) = mpsc::channel();
        let mut hang_up = Vec::new();
        for (i, (object, stack)) in held.threads.drain(1..).enumerate() {
            let (end, done) = mpsc::channel();
            hang_up.push(end);
            let ready = ready.clone();
            // Some have the name of another.
            let name = ["worker", "asker", "worker"][i % 3];
            scope.spawn(move || hold(heap, name, object, stack, ready, done));
            // One after the other, so that their order is always the same.
            m.blocked(|| is_ready.recv()).unwrap();
        }
        let (object, stack) = held.threads.pop().expect("one asks");
        take(&m, object, &stack);
        drop(stack);
        if plan.collected {
            m.collect();
        }
        let result = ask_everything(&mut m, plan, &held);
        drop(hang_up);
        result
    })
}

// What is checked of one heap.

fn ask_everything(m: &mut Mutator<'_>, plan: &HeapPlan, held: &Held) -> TestCaseResult {
    let answers = m.ask(|heap| {
        let ids = held.weak.iter().filter_map(|weak| heap.id(weak).ok());
        let case = Case::new(heap.view(), ids, plan.seed)?;
        case.check(heap, plan.pairs)?;
        case.check_as_others()?;
        let [a, b] = [0, 1].map(|at| heap.id(held.weak.get(at)).ok());
        Ok::<_, TestCaseError>(a.zip(b).map(|(a, b)| shortcuts(&case.graph, a, b)))
    })?;
    drop_handles(m, held);
    if let Some(answers) = answers {
        check_shortcuts(m, &held.weak[0], &held.weak[1], &answers)?;
    }

    drop_handles(m, held);
    let bare = m.capture(PlainData::Omit);
    let whole = m.capture(PlainData::All);
    m.ask(|heap| {
        let kept = kept_objects(heap.view(), Kept::All).len();
        same("objects", (bare.len(), whole.len()), (kept, kept))?;
        same_heap(heap.view(), &bare, Kept::NoValues)?;
        same_heap(heap.view(), &whole, Kept::All)
    })?;
    check_snapshot(&whole, plan.seed)?;

    drop_handles(m, held);
    m.ask_and_collect(|heap| {
        let ids = held.weak.iter().filter_map(|weak| heap.id(weak).ok());
        let case = Case::new(heap.view(), ids, plan.seed)?;
        // Of a generational heap, the nursery has been collected.
        same_heap(&whole, heap.view(), Kept::WhatLives)?;
        case.check(heap, plan.pairs)
    })?;
    let after = m.capture(PlainData::All);
    same_heap(&whole, &after, Kept::WhatLives)?;
    // What has died is gone, and what lives can be used.
    {
        let mut m = m.scope();
        for number in 0..20 {
            let node = new_node(&mut m, number);
            m[node].next.set(Some(m[node].as_object()));
        }
    }
    m.collect();
    let after = m.capture(PlainData::All);
    same_heap(&whole, &after, Kept::WhatLives)?;
    m.ask(|heap| {
        let ids = held.weak.iter().filter_map(|weak| heap.id(weak).ok());
        let case = Case::new(heap.view(), ids, plan.seed)?;
        same_heap(heap.view(), &after, Kept::All)?;
        case.check(heap, 1)
    })
}

/// A handle that is gone holds nothing, dead objects least of all.
fn drop_handles(m: &Mutator<'_>, held: &Held) {
    for weak in &held.weak {
        drop(weak.get(m).map(|object| m.root(object)));
    }
}

/// A stopped heap and its twin.
struct Case<'p, T: Traceable> {
    view: &'p T,
    graph: Graph<T::Object>,
    /// All that can be asked about.
    objects: Vec<T::Object>,
    dice: RefCell<Dice>,
}

impl<'p, T: Traceable> Case<'p, T>
where
    T::Object: Debug,
{
    fn new(
        view: &'p T,
        objects: impl Iterator<Item = T::Object>,
        seed: u64,
    ) -> Result<Self, TestCaseError> {
        let mut objects: BTreeSet<T::Object> = objects.collect();
        let graph = Graph::of(view, objects.iter().copied());
        objects.extend(graph.reach_all());
        let mut todo: Vec<T::Object> = objects.iter().copied().collect();
        while let Some(object) = todo.pop() {
            view.for_each_edge(object, |_, _, to| {
                if objects.insert(to) {
                    todo.push(to);
                }
            });
        }
        let objects: Vec<T::Object> = objects.into_iter().collect();
        for &object in &objects {
            let mut edges = Vec::new();
            view.for_each_strong_edge(object, |place, to| edges.push((place, to)));
            let about = format!("edges of {}", view.name_of(object));
            same(&about, &edges[..], graph.slots(object))?;
        }
        Ok(Self {
            view,
            graph,
            objects,
            dice: RefCell::new(Dice(seed)),
        })
    }

    /// Everything, about so many pairs of objects.
    fn check(&self, probes: &Probes<'_, T>, pairs: usize) -> TestCaseResult {
        self.check_threads(probes)?;
        if self.objects.is_empty() {
            return Ok(());
        }
        let mut dice = self.dice.borrow_mut();
        for _ in 0..pairs {
            let [a, b] = [(); 2].map(|()| dice.pick(&self.objects));
            let avoid: Vec<_> = (0..dice.below(4))
                .map(|_| dice.pick(&self.objects))
                .collect();
            self.check_object(probes, a)?;
            self.check_pair(probes, a, b, &avoid)?;
            self.check_paths(probes, a, b, &avoid, &mut dice)?;
            self.check_plan(&mut dice)?;
        }
        Ok(())
    }

    /// The same heap, asked by nobody and by each thread in turn.
    fn check_as_others(&self) -> TestCaseResult {
        self.check(&Probes::of(self.view).threads(1), 1)?;
        for thread in self.view.threads() {
            let probes = Probes::of(self.view).threads(1).ask_as(thread);
            self.check(&probes.unwrap(), 1)?;
        }
        let nobody = ProbeError::UnknownThread("nobody".into());
        let probes = Probes::of(self.view).ask_as("nobody");
        same("ask_as", probes.err(), Some(nobody))
    }

    /// The asking thread, by its place.
    fn asker(&self, probes: &Probes<'_, T>) -> Option<usize> {
        let mut threads = self.view.threads().iter();
        let asker = probes.asker()?;
        Some(threads.position(|it| it == asker).expect("it runs"))
    }

    fn check_threads(&self, probes: &Probes<'_, T>) -> TestCaseResult {
        let graph = &self.graph;
        same("running", set(&probes.running()), graph.running())?;
        same("reach_all", set(&probes.reach_all()), graph.reach_all())?;
        for (thread, name) in self.view.threads().iter().enumerate() {
            let stack = probes.stack(name).map(|it| set(&it));
            same("stack", stack, Ok(graph.stack(thread)))?;
            let roots = probes.roots(name).map(|it| set(&it));
            same("roots", roots, Ok(graph.roots(thread)))?;
            for part in PARTS {
                let roots = probes.thread_roots(name, part).map(|it| set(&it));
                same("thread_roots", roots, Ok(graph.thread_roots(thread, part)))?;
            }
            let object = graph.thread_object(thread);
            let object = object.ok_or_else(|| ProbeError::NoThreadObject(name.clone()));
            same("thread_object", probes.thread_object(name), object)?;
        }
        Ok(())
    }

    fn check_object(&self, probes: &Probes<'_, T>, object: T::Object) -> TestCaseResult {
        let (graph, ct) = (&self.graph, self.asker(probes));
        let about = |what: &str| format!("{what}({object:?}) asked by {ct:?}");
        let reach = set(&probes.reach(object));
        same(&about("reach"), reach, graph.reach(object))?;
        let pred = set(&probes.pred(object));
        same(&about("pred"), pred, graph.pred(object))?;
        let is_heap = probes.is_heap(object);
        same(&about("is_heap"), is_heap, graph.is_heap(object))?;
        let is_shared = probes.is_shared(object);
        same(&about("is_shared"), is_shared, graph.is_shared(object))?;
        let owner = probes.is_unique_owner(object);
        let slow = graph.is_unique_owner(ct, object);
        same(&about("is_unique_owner"), owner, slow)?;
        let not_owned = set(&probes.not_owned(object));
        same(&about("not_owned"), not_owned, graph.not_owned(ct, object))?;
        for part in PARTS {
            let name = |thread: usize| self.view.threads()[thread].clone();
            let slow = ct.ok_or(ProbeError::NobodyAsks).and_then(|ct| {
                let owned = graph.is_thread_owned(ct, object, part);
                owned.ok_or_else(|| ProbeError::NoThreadObject(name(ct)))
            });
            let about = about(&format!("is_thread_owned by {part:?} "));
            same(&about, probes.is_thread_owned(object, part), slow)?;
        }
        Ok(())
    }

    fn check_pair(
        &self,
        probes: &Probes<'_, T>,
        a: T::Object,
        b: T::Object,
        avoid: &[T::Object],
    ) -> TestCaseResult {
        let (graph, ct) = (&self.graph, self.asker(probes));
        let about = |what: &str| format!("{what}({a:?}, {b:?}), {avoid:?}, asked by {ct:?}");
        let fast = probes.is_reachable(a, b);
        same(&about("is_reachable"), fast, graph.is_reachable(a, b))?;
        let fast = probes.is_disjoint(a, b);
        same(&about("is_disjoint"), fast, graph.is_disjoint(a, b))?;
        same(&about("dom"), probes.dom(a, b), graph.dom(ct, a, b))?;
        let fast = probes.is_object_owned(a, b);
        same(&about("is_object_owned"), fast, graph.dom(ct, a, b))?;
        let fast = probes.reach_through(a, avoid, b);
        let slow = graph.reach_through(a, avoid, b);
        same(&about("reach_through"), fast, slow)?;
        let fast = set(&probes.reach_avoiding(&[a, b], avoid));
        let slow = graph.reach_avoiding(&[a, b], avoid);
        same(&about("reach_avoiding"), fast, slow)?;
        for part in PARTS {
            let fast = probes.thread_reach(a, avoid, part);
            let slow = graph.thread_reach(a, avoid, part);
            same(&about(&format!("thread_reach of {part:?} ")), fast, slow)?;
        }
        let from_b = Search {
            from: Origin::Objects(&[b]),
            avoid: &[],
        };
        let both = &graph.reach(a) & &graph.reach(b);
        let nearest = both.iter().map(|&object| graph.distance(&from_b, object));
        let common = probes.common(a, b);
        let distance = common.map(|object| graph.distance(&from_b, object));
        same(&about("common"), distance, nearest.min())?;
        let is_common = common.is_none_or(|object| both.contains(&object));
        prop_assert!(is_common, "{}", about("common"));
        Ok(())
    }

    fn check_paths(
        &self,
        probes: &Probes<'_, T>,
        a: T::Object,
        b: T::Object,
        avoid: &[T::Object],
        dice: &mut Dice,
    ) -> TestCaseResult {
        let ct = self.asker(probes);
        let threads = self.view.threads();
        let thread = &threads[dice.below(threads.len())];
        let part = dice.pick(&PARTS);
        let objects = [a, b];
        for from in [
            Origin::Roots(RootSet::All),
            Origin::Roots(RootSet::Thread(thread, part)),
            Origin::Roots(RootSet::AllBut(thread, part)),
            Origin::Objects(&objects[..1]),
        ] {
            let search = Search { from, avoid };
            let trail = probes.path(&search, b);
            self.check_trail(&search, b, trail.as_ref())?;
            let each = probes.paths_to_each(&search, &[a, b, a]);
            let path = probes.path(&search, a);
            same(
                "paths_to_each",
                each,
                vec![path.clone(), trail.clone(), path],
            )?;
            if let Origin::Roots(RootSet::Thread(thread, part)) = from {
                let again = probes.thread_path(thread, part, avoid, b);
                same("thread_path", again.as_ref(), trail.as_ref())?;
            }
            let Some(all) = self.graph.all_paths(&search, b) else {
                continue;
            };
            let about = format!("all paths of {search:?} to {b:?}");
            let found = probes.all_paths(&search, b, 200);
            same(&about, found.complete, all.len() <= 200)?;
            let sorted = |trails: &[Trail<T::Object>]| {
                let keys = trails.iter().map(|it| {
                    let length = it.objects.len();
                    (
                        length,
                        it.root.clone(),
                        it.objects.clone(),
                        it.places.clone(),
                    )
                });
                let keys: BTreeSet<_> = keys.collect();
                keys
            };
            if found.complete {
                same(&about, sorted(&found.trails), sorted(&all))?;
                same(&about, found.trails.len(), all.len())?;
            }
        }
        let bypass = probes.bypass(a, b);
        let roots = ct.map_or(RootSet::All, |ct| {
            RootSet::AllBut(&threads[ct], Part::Stack)
        });
        let around = Search {
            from: Origin::Roots(roots),
            avoid: &[a],
        };
        same("bypass", bypass.is_some(), self.graph.has_bypass(ct, a, b))?;
        self.check_trail(&around, b, bypass.as_ref())
    }

    /// The path found is a path, and as short as any.
    fn check_trail(
        &self,
        search: &Search<'_, T::Object>,
        to: T::Object,
        trail: Option<&Trail<T::Object>>,
    ) -> TestCaseResult {
        let length = trail.map(|trail| trail.places.len());
        let about = format!("{search:?} to {to:?}: {trail:?}");
        same(&about, length, self.graph.distance(search, to))?;
        if let Some(trail) = trail {
            prop_assert!(self.graph.has_path(search, trail, to), "{about} is no path");
            let path = trail.describe(self.view);
            same(&about, &path.last().name, &self.view.name_of(to))?;
        }
        Ok(())
    }

    /// A random plan enters what its steps say.
    fn check_plan(&self, dice: &mut Dice) -> TestCaseResult {
        let threads = self.view.threads();
        let thread = &threads[dice.below(threads.len())];
        let part = dice.pick(&PARTS);
        let tracers = dice.pick(&[1, 1, 4]);
        let mut mark = 0;
        let step = |_| {
            mark += dice.below(2);
            Step {
                mark,
                exclude: match dice.below(2) {
                    0 => Vec::new(),
                    _ => vec![dice.pick(&self.objects), dice.pick(&self.objects)],
                },
                starts: match dice.below(4) {
                    0 => Starts::Roots(RootSet::All),
                    1 => Starts::Roots(RootSet::AllBut(thread, part)),
                    _ => Starts::Objects(vec![dice.pick(&self.objects)]),
                },
            }
        };
        let plan = Plan {
            steps: (0..4).map(step).collect(),
        };
        let slow = self.graph.run(&plan);
        let mut seen = Vec::new();
        let mut visits = self.view.visits();
        let examiner = |_| Seen(Vec::new(), Vec::new());
        let traced = trace::run(self.view, &mut visits, &plan, tracers, examiner, |_, it| {
            seen.push(it);
            ControlFlow::Continue(())
        });
        let about = format!("{plan:?}");
        same(&about, traced.len(), slow.len())?;
        for ((slow, traced), seen) in slow.iter().zip(traced).zip(seen) {
            let (entered, overlaps): (Vec<_>, Vec<_>) =
                seen.into_iter().map(|it| (it.0, it.1)).unzip();
            let mut entered = entered.concat();
            entered.sort();
            let overlaps = overlaps.into_iter().flatten().collect();
            same(&about, traced.objects, slow.entered.len())?;
            same(&about, entered, slow.entered.iter().copied().collect())?;
            same(&about, overlaps, slow.overlaps.clone())?;
        }
        Ok(())
    }
}

/// Lists what is entered, and what an earlier step has entered.
struct Seen<O>(Vec<O>, Vec<O>);

impl<O: Copy + Send> Examiner<O> for Seen<O> {
    fn wants(&self, _: ClassId) -> bool {
        true
    }

    fn examine(&mut self, objects: &[O]) {
        self.0.extend_from_slice(objects);
    }

    fn overlap(&mut self, to: O) {
        self.1.push(to);
    }

    fn wants_overlaps(&self) -> bool {
        true
    }
}

/// The answers to the questions that a mutator can be asked directly.
type Answers = ([bool; 7], usize, [Result<bool, ()>; 3], Vec<String>);

fn shortcuts<O: Copy + Ord + Debug>(graph: &Graph<O>, a: O, b: O) -> Answers {
    // The asker attached first.
    let ct = Some(0);
    (
        [
            graph.is_heap(a),
            graph.is_shared(a),
            graph.is_reachable(a, b),
            graph.is_disjoint(a, b),
            graph.is_unique_owner(ct, a),
            graph.reach_through(a, &[b], b),
            graph.dom(ct, a, b),
        ],
        graph.pred(a).len(),
        [Part::Both, Part::Stack, Part::Object]
            .map(|part| graph.is_thread_owned(0, a, part).ok_or(())),
        graph.thread_reach(a, &[b], Part::Both),
    )
}

fn check_shortcuts(
    m: &mut Mutator<'_>,
    a: &Weak<Object>,
    b: &Weak<Object>,
    answers: &Answers,
) -> TestCaseResult {
    let known = |answer: Result<bool, ProbeError>| answer.map_err(|_| ());
    let fast = (
        [
            m.is_heap(a).unwrap(),
            m.is_shared(a).unwrap(),
            m.is_reachable(a, b).unwrap(),
            m.is_disjoint(a, b).unwrap(),
            m.is_unique_owner(a).unwrap(),
            m.reach_through(a, &[b], b).unwrap(),
            m.is_object_owned(a, b).unwrap(),
        ],
        m.pred_count(a).unwrap(),
        [
            known(m.is_thread_owned(a)),
            known(m.is_thread_stack_owned(a)),
            known(m.is_thread_object_owned(a)),
        ],
        m.thread_reach(a, &[b], Part::Both).unwrap(),
    );
    same("asked directly", &fast, answers)
}

/// A capture answers as the live heap did.
fn check_snapshot(snapshot: &Snapshot, seed: u64) -> TestCaseResult {
    for object in snapshot.objects() {
        let class = &snapshot.class(snapshot.class_of(object)).name;
        if let (Some(length), "u16[]") = (snapshot.length_of(object), class.as_str()) {
            let mut values = vec![length as u16; length];
            values.iter_mut().skip(1).take(1).for_each(|it| *it = 7);
            let bytes: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
            same(
                "elements",
                snapshot.element_bytes(object).as_deref(),
                Some(&bytes[..]),
            )?;
        }
    }
    let case = Case::new(snapshot, snapshot.objects(), seed)?;
    for thread in snapshot.threads() {
        let probes = Probes::of(snapshot).threads(1).ask_as(thread);
        case.check(&probes.unwrap(), 1)?;
    }
    Ok(())
}

/// What two heaps have in common.
#[derive(Clone, Copy, PartialEq)]
enum Kept {
    /// Everything.
    All,
    /// Everything but plain data, which the second one lacks.
    NoValues,
    /// What lives; the second was collected meanwhile, which clears slots that hold
    /// nothing alive and may make objects larger.
    WhatLives,
}

/// Whether two heaps are the same: roots lead to the same objects, with the same edges at
/// the same places, and so on.
fn same_heap<A: HeapView, B: HeapView>(a: &A, b: &B, kept: Kept) -> TestCaseResult
where
    A::Object: Debug,
    B::Object: Debug,
{
    // Classes come when they are first used, and stay.
    let known = a.classes().len();
    prop_assert!(kept == Kept::WhatLives || b.classes().len() == known);
    same("classes", Some(a.classes()), b.classes().get(..known))?;
    same("threads", a.threads(), b.threads())?;
    let (live_a, live_b) = (kept_objects(a, kept), kept_objects(b, kept));
    same(
        "objects by class",
        by_class(a, &live_a),
        by_class(b, &live_b),
    )?;

    let (roots_a, roots_b) = (roots(a, &live_a, kept), roots(b, &live_b, kept));
    let names = |count: usize| (0..count).collect::<Vec<_>>();
    same("roots", names(roots_a.len()), names(roots_b.len()))?;
    let mut twin: HashMap<A::Object, B::Object> = HashMap::new();
    let mut back: HashMap<B::Object, A::Object> = HashMap::new();
    let mut queue = Vec::new();
    let mut pair = |x, y, queue: &mut Vec<_>| {
        if twin.insert(x, y).is_none() {
            queue.push((x, y));
        } else if twin[&x] != y {
            return false;
        }
        *back.entry(y).or_insert(x) == x
    };
    for ((root_a, x), (root_b, y)) in roots_a.into_iter().zip(roots_b) {
        same("root", &root_a, &root_b)?;
        prop_assert!(pair(x, y, &mut queue), "{root_a} leads elsewhere");
    }
    let mut next = 0;
    while next < queue.len() {
        let (x, y) = queue[next];
        next += 1;
        let about = format!("{} and {}", a.name_of(x), b.name_of(y));
        same(&about, a.class_of(x), b.class_of(y))?;
        same(&about, a.length_of(x), b.length_of(y))?;
        if kept != Kept::WhatLives {
            same(&about, a.bytes_of(x), b.bytes_of(y))?;
        }
        let (edges_a, edges_b) = (edges(a, x, &live_a, kept), edges(b, y, &live_b, kept));
        let places = |edges: &[Edge]| edges.to_vec();
        same(&about, places(&edges_a.0), places(&edges_b.0))?;
        for (to_a, to_b) in edges_a.1.into_iter().zip(edges_b.1) {
            prop_assert!(pair(to_a, to_b, &mut queue), "{about} lead elsewhere");
        }
        let (values_a, values_b) = (values(a, x), values(b, y));
        if kept != Kept::NoValues {
            same(&about, values_a, values_b)?;
        } else {
            let nothing = values_b.1.is_none() && values_b.0.iter().all(Option::is_none);
            prop_assert!(nothing, "{about}: {values_b:?}");
        }
    }
    same("objects met", queue.len(), live_a.len())
}

/// All that the roots keep, or all that lives.
fn kept_objects<V: HeapView>(view: &V, kept: Kept) -> BTreeSet<V::Object>
where
    V::Object: Debug,
{
    let mut starts = Vec::new();
    view.for_each_root(|_, object| starts.push(object));
    let graph = Graph::of(view, starts.iter().copied());
    match kept {
        Kept::WhatLives => graph.reach_all(),
        Kept::All | Kept::NoValues => graph.reach_avoiding(&starts, &[]),
    }
}

type Edge = (Place, Option<Strength>);

/// The edges to live objects.
fn edges<V: HeapView>(
    view: &V,
    object: V::Object,
    live: &BTreeSet<V::Object>,
    kept: Kept,
) -> (Vec<Edge>, Vec<V::Object>) {
    let mut all = Vec::new();
    view.for_each_edge(object, |place, strength, to| {
        let counts = kept != Kept::WhatLives || strength != Strength::Dependent;
        if counts && live.contains(&to) {
            all.push(((place, Some(strength)), to));
        }
    });
    // Once more, without the dependent ones that hold nothing.
    view.for_each_strong_edge(object, |place, to| all.push(((place, None), to)));
    all.into_iter().unzip()
}

fn roots<V: HeapView>(
    view: &V,
    live: &BTreeSet<V::Object>,
    kept: Kept,
) -> Vec<(heaphound::root::Root, V::Object)> {
    let mut roots = Vec::new();
    view.for_each_root(|root, object| {
        let counts = kept != Kept::WhatLives || root.kind != RootKind::Finalizer;
        if counts && live.contains(&object) {
            roots.push((root.clone(), object));
        }
    });
    roots
}

fn values<V: HeapView>(view: &V, object: V::Object) -> (Vec<Option<Value>>, Option<String>) {
    let fields = 0..view.class(view.class_of(object)).fields.len();
    let values = fields.map(|field| view.plain_value(object, field));
    (values.collect(), view.text_of(object))
}

fn by_class<V: HeapView>(view: &V, live: &BTreeSet<V::Object>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for &object in live {
        let name = view.class(view.class_of(object)).name.clone();
        *counts.entry(name).or_default() += 1;
    }
    counts
}

// The small print.

fn same<T: PartialEq + Debug>(about: &str, fast: T, slow: T) -> TestCaseResult {
    prop_assert_eq!(fast, slow, "{}: ours left, the twin's right", about);
    Ok(())
}

fn set<O: Copy + Ord>(set: &ObjectSet<O>) -> BTreeSet<O> {
    set.iter().collect()
}
