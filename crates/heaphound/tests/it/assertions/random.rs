//! GC assertions in random programs find what their definitions say.
//!
//! The twin keeps its own list of what was asserted of which object, by numbers that the
//! objects carry. Before a full collection it takes a snapshot and judges every assertion
//! on it, in the plainest way; afterwards the heap must have found the same.
//! `HEAPHOUND_CASES` multiplies the number of programs.
#![cfg(feature = "assertions")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use heaphound::assertion::{
    self, Assertion, Breach, Described, Limit, Outcome, Slots, Stated, Target, Violation,
};
use heaphound::finding::{Evidence, Finding, Fingerprint, Hop, Named, Path, Severity, Shows};
use heaphound::root::RootKind;
use heaphound::snapshot::{ObjectId, Snapshot};
use heaphound::view::{HeapView, Place, Strength};
use heaphound::{
    AssertionKind, ClassId, Collector, Finalization, Header, Heap, HeapBuilder, Interface, Local,
    Managed, Mutator, Object, PlainData, Reaction, RefArray, Root, Slot, Weak, WeakMap, WeakSlot,
    view::Value,
};
use heaphound_testkit::cases::config;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};

const KINDS: [(AssertionKind, &str); 6] = [
    (AssertionKind::Dead, "asserted-dead"),
    (AssertionKind::Region, "region-not-dead"),
    (AssertionKind::Instances, "too-many-instances"),
    (AssertionKind::Volume, "too-much-volume"),
    (AssertionKind::Unshared, "asserted-unshared"),
    (AssertionKind::OwnedBy, "not-owned"),
];

#[test]
fn a_mark_sweep_heap_finds_what_the_definitions_say() {
    check(1500, Collector::MarkSweep, &[1], 0);
}

#[test]
fn a_generational_heap_finds_what_the_definitions_say() {
    check(1500, Collector::Generational, &[1], 0);
}

#[test]
fn zealous_heaps_find_what_the_definitions_say() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        check(60, collector, &[1], 1);
        check(60, collector, &[1], 5);
    }
}

/// Fewer, since four threads on such small heaps take much longer than one.
#[test]
fn four_collector_threads_find_the_same_as_one() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        check(60, collector, &[1, 4], 0);
        check(15, collector, &[1, 4], 3);
    }
}

/// Heaps that are large enough for several threads to find work.
#[test]
fn large_heaps_find_what_the_definitions_say() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let mut reports = Vec::new();
        for threads in [1, 4] {
            let builder = Heap::builder().collector(collector).max_bytes(64 << 20);
            let builder = builder.nursery_bytes(64 << 10).collector_threads(threads);
            let mut run = Run::new(builder);
            run.large(30_000).unwrap();
            reports.push(run.report);
        }
        assert!(
            reports[0] == reports[1],
            "several threads find something else"
        );
    }
}

fn check(usual: u32, collector: Collector, threads: &[usize], zeal: u32) {
    let builder = Heap::builder()
        .max_bytes(16 << 20)
        .nursery_bytes(64 << 10)
        .max_locals(4096)
        .collector(collector)
        .finalization(Finalization::OnRequest)
        .zeal(zeal);
    let result = TestRunner::new(config(usual)).run(&programs(), |program| {
        let mut reports = Vec::new();
        for &threads in threads {
            let mut run = Run::new(builder.clone().collector_threads(threads));
            run.program(&program)?;
            reports.push(run.report);
        }
        for report in &reports[1..] {
            same("reports of several threads", report, &reports[0])?;
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

// Programs.

#[derive(Managed)]
#[repr(C)]
struct Base {
    header: Header,
    id: u64,
    left: Slot<Object>,
    right: Slot<Object>,
}

#[derive(Managed)]
#[repr(C)]
struct Sub {
    #[managed(superclass)]
    base: Base,
    third: Slot<Object>,
    weak: WeakSlot<Object>,
}

/// An interface of two classes that are not related.
#[derive(Interface)]
struct Numbered;

#[derive(Managed)]
#[managed(implements(Numbered))]
#[repr(C)]
struct Lowest {
    #[managed(superclass)]
    sub: Sub,
    weight: u64,
}

/// What an array is numbered by: its last element. The array has the next number.
#[derive(Managed)]
#[managed(implements(Numbered))]
#[repr(C)]
struct Tag {
    header: Header,
    id: u64,
}

/// Has a map of its own, which carries no number and is held by nothing else. It has the
/// next number.
#[derive(Managed)]
#[repr(C)]
struct Holder {
    header: Header,
    id: u64,
    items: Slot<RefArray<Object>>,
    map: Slot<Map>,
}

type Map = WeakMap<Object, Object>;
/// What objects are numbered by.
type Key = u64;

#[derive(Clone, Copy, Debug)]
enum Sort {
    Base,
    Sub,
    Lowest,
    Holder,
}

/// What holds a new object.
#[derive(Clone, Copy, Debug)]
enum Hold {
    Nothing,
    Local,
    Handle,
    Static(usize),
    Slot(usize, usize),
}

/// Classes that assertions are made about, each at a place of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum About {
    Base,
    BaseAndSubclasses,
    SubAndSubclasses,
    Lowest,
    Arrays,
    Interface,
}

/// A step of a program. Objects are meant by their number, modulo how many there are.
#[derive(Clone, Debug)]
enum Step {
    New(Sort, Hold),
    Link(usize, usize, Option<usize>),
    Insert(usize, usize, usize),
    Static(usize, Option<usize>),
    Local(usize),
    Handle(usize),
    DropHandle(usize),
    ThreadObject(Option<usize>),
    OnDeath(usize),
    RunFinalizers,
    StartRegion,
    EndRegion,
    Dead(usize, Option<u8>),
    Unshared(usize, Option<u8>),
    OwnedBy(usize, Vec<usize>, Option<u8>),
    /// One of the pairs asserted so far.
    Retract(usize),
    Instances(About, usize),
    Volume(About, usize),
    CollectNursery,
    Collect,
}

/// Locals are dropped at the end of each part, and a full collection comes before.
type Program = Vec<(Vec<Step>, bool)>;

fn programs() -> impl Strategy<Value = Program> {
    let number = || 0..1_000usize;
    let message = || option::of(0..4u8);
    let sort = prop_oneof![
        3 => Just(Sort::Base),
        2 => Just(Sort::Sub),
        1 => Just(Sort::Lowest),
        2 => Just(Sort::Holder),
    ];
    let hold = prop_oneof![
        2 => Just(Hold::Nothing),
        3 => Just(Hold::Local),
        1 => Just(Hold::Handle),
        2 => number().prop_map(Hold::Static),
        6 => (number(), number()).prop_map(|(into, place)| Hold::Slot(into, place)),
    ];
    let about = || {
        prop_oneof![
            Just(About::Base),
            Just(About::BaseAndSubclasses),
            Just(About::SubAndSubclasses),
            Just(About::Lowest),
            Just(About::Arrays),
            Just(About::Interface),
        ]
    };
    let maybe = move || option::weighted(0.7, number());
    let step = prop_oneof![
        12 => (sort, hold).prop_map(|(sort, hold)| Step::New(sort, hold)),
        12 => (number(), number(), maybe()).prop_map(|(a, at, b)| Step::Link(a, at, b)),
        3 => (number(), number(), number()).prop_map(|(a, b, c)| Step::Insert(a, b, c)),
        3 => (number(), maybe()).prop_map(|(at, a)| Step::Static(at, a)),
        2 => number().prop_map(Step::Local),
        1 => number().prop_map(Step::Handle),
        2 => number().prop_map(Step::DropHandle),
        1 => maybe().prop_map(Step::ThreadObject),
        1 => number().prop_map(Step::OnDeath),
        1 => Just(Step::RunFinalizers),
        2 => Just(Step::StartRegion),
        2 => Just(Step::EndRegion),
        3 => (number(), message()).prop_map(|(a, m)| Step::Dead(a, m)),
        4 => (number(), message()).prop_map(|(a, m)| Step::Unshared(a, m)),
        6 => (number(), vec(number(), 1..4), message())
            .prop_map(|(a, all, m)| Step::OwnedBy(a, all, m)),
        2 => number().prop_map(Step::Retract),
        2 => (about(), 0..6usize).prop_map(|(about, limit)| Step::Instances(about, limit)),
        2 => (about(), 0..200usize).prop_map(|(about, limit)| Step::Volume(about, limit)),
        2 => Just(Step::CollectNursery),
        2 => Just(Step::Collect),
    ];
    vec((vec(step, 0..24), any::<bool>()), 1..5)
}

/// What a person could compare of a collection: texts without addresses, and counts.
type Report = Vec<String>;

/// A program that runs, and what the twin knows of it.
struct Run {
    heap: Arc<Heap>,
    found: Arc<Mutex<Vec<Finding>>>,
    /// All objects ever made.
    objects: BTreeMap<Key, Weak<Object>>,
    handles: Vec<Root<Object>>,
    /// What was made in each open region.
    regions: Vec<Vec<Key>>,
    asserted: Asserted,
    /// What assertions were wrong about at the last collection that was looked at.
    standing: BTreeSet<(AssertionKind, Key)>,
    /// How many full collections there had been then.
    collections: u64,
    report: Report,
}

/// A kind, a class, whether subclasses count, and how much is allowed.
type ClassViolation = (AssertionKind, String, bool, usize);

/// What was asserted, with messages.
#[derive(Default)]
struct Asserted {
    dead: BTreeSet<(Key, Option<String>)>,
    region: BTreeSet<Key>,
    unshared: BTreeSet<(Key, Option<String>)>,
    /// The owner first.
    pairs: BTreeSet<(Key, Key, Option<String>)>,
    classes: BTreeMap<(AssertionKind, About), usize>,
}

impl Run {
    fn new(builder: HeapBuilder) -> Self {
        let heap = builder.build().unwrap();
        Self {
            found: listen(&heap),
            heap: Arc::new(heap),
            objects: BTreeMap::new(),
            handles: Vec::new(),
            regions: Vec::new(),
            asserted: Asserted::default(),
            standing: BTreeSet::new(),
            collections: 0,
            report: Vec::new(),
        }
    }

    fn program(&mut self, program: &Program) -> TestCaseResult {
        let heap = self.heap.clone();
        let mut m = heap.attach("main").unwrap();
        for (steps, asks) in program {
            let mut m = m.scope();
            for step in steps {
                self.step(&mut m, step)?;
            }
            self.collect(&mut m, *asks)?;
        }
        Ok(())
    }

    /// Many objects with random slots, of which some are asserted something.
    fn large(&mut self, count: usize) -> TestCaseResult {
        let heap = self.heap.clone();
        let mut m = heap.attach("main").unwrap();
        let mut seed = 1u64;
        let mut below = |end: usize| {
            // An xorshift generator.
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed % end as u64) as usize
        };
        let all = m.alloc_refs::<Object>(count).unwrap();
        let mut keys = Vec::new();
        for at in 0..count {
            let mut m = m.scope();
            let sort = if below(2) == 0 { Sort::Base } else { Sort::Sub };
            let object = self.alloc(&mut m, sort);
            keys.extend(self.objects.last_key_value().map(|it| *it.0));
            m[all][at].set(Some(&m[object]));
        }
        for round in 0..3 {
            // Each refers to others near and far; the last one too.
            for at in 0..count {
                let m = m.scope();
                let at_place = |place: usize| m[all][place].get().map(|it| m.local(it));
                let (far, near) = (below(count), at + below(count / 20) + 1);
                let Some(from) = at_place(at) else { continue };
                link(&m, from, 0, at_place(near % count));
                if below(3) == 0 {
                    link(&m, from, below(4), at_place(far));
                }
            }
            for _ in 0..100 {
                let m = m.scope();
                let mut pick = || {
                    let at = below(count);
                    Some((keys[at], m[all][at].get().map(|it| m.local(it))?))
                };
                let (Some(dead), Some(unshared), Some(owner), Some(ownee)) =
                    (pick(), pick(), pick(), pick())
                else {
                    continue;
                };
                m.assert_dead(dead.1);
                m.assert_unshared(unshared.1);
                m.assert_owned_by(owner.1, ownee.1);
                self.asserted.dead.insert((dead.0, None));
                self.asserted.unshared.insert((unshared.0, None));
                self.asserted.pairs.insert((owner.0, ownee.0, None));
            }
            // From now on a few of them lead to the others.
            if round == 1 {
                (5..count).for_each(|at| {
                    if at % 10 > 0 {
                        m[all][at].clear();
                    }
                });
            }
            self.collect(&mut m, round == 1)?;
        }
        Ok(())
    }

    /// An object that has not been freed, by number.
    fn pick<'a>(&self, m: &Mutator<'a>, number: usize) -> Option<(Key, Local<'a, Object>)> {
        let there = self.objects.iter();
        let there = there.filter(|(_, weak)| {
            let object = weak.get(m);
            object.is_some_and(|it| it.downcast::<Map>().is_none())
        });
        let there: Vec<_> = there.collect();
        let (key, weak) = there[number.checked_rem(there.len())?];
        Some((*key, m.local(weak.get(m)?)))
    }

    fn step(&mut self, m: &mut Mutator<'_>, step: &Step) -> TestCaseResult {
        // What is picked is held until the step is done, except by a step that says so.
        match *step {
            Step::Local(a) => {
                self.pick(m, a);
                return Ok(());
            }
            Step::New(sort, Hold::Local) => {
                self.alloc(m, sort);
                return Ok(());
            }
            Step::Collect => return self.collect(m, false),
            _ => {}
        }
        let m = &mut m.scope();
        match *step {
            Step::New(sort, hold) => {
                let object = self.alloc(m, sort);
                match hold {
                    Hold::Nothing | Hold::Local => {}
                    Hold::Handle => self.handles.push(m.root(&m[object])),
                    Hold::Static(at) => set_static(m, at, Some(object)),
                    Hold::Slot(into, place) => {
                        if let Some((_, into)) = self.pick(m, into) {
                            link(m, into, place, Some(object));
                        }
                    }
                }
            }
            Step::Link(a, place, b) => {
                let b = b.and_then(|b| self.pick(m, b)).map(|it| it.1);
                if let Some((_, a)) = self.pick(m, a) {
                    link(m, a, place, b);
                }
            }
            Step::Insert(map, key, value) => {
                // What a map allocates inside carries no number.
                let maps = self.objects.values().filter_map(|it| it.get(m)?.downcast());
                let maps: Vec<&Map> = maps.collect();
                if maps.is_empty() || !self.regions.is_empty() {
                    return Ok(());
                }
                let map = m.local(maps[map % maps.len()]);
                let (Some((_, key)), Some((_, value))) = (self.pick(m, key), self.pick(m, value))
                else {
                    return Ok(());
                };
                m.weak_map_insert(map, key, value).unwrap();
            }
            Step::Static(at, a) => {
                let a = a.and_then(|a| self.pick(m, a)).map(|it| it.1);
                set_static(m, at, a);
            }
            Step::Handle(a) => {
                if let Some((_, a)) = self.pick(m, a) {
                    self.handles.push(m.root(&m[a]));
                }
            }
            Step::DropHandle(at) => {
                if !self.handles.is_empty() {
                    self.handles.swap_remove(at % self.handles.len());
                }
            }
            Step::ThreadObject(a) => {
                let a = a.and_then(|a| self.pick(m, a));
                m.set_thread_object(a.map(|(_, a)| &m[a]));
            }
            Step::OnDeath(a) => {
                if let Some((_, a)) = self.pick(m, a) {
                    m.on_death(&m[a], |_, _| ());
                }
            }
            Step::RunFinalizers => m.run_finalizers(),
            Step::StartRegion => {
                m.start_region();
                self.regions.push(Vec::new());
            }
            Step::EndRegion => {
                if let Some(made) = self.regions.pop() {
                    m.assert_all_dead();
                    self.asserted.region.extend(&made);
                    if let Some(outer) = self.regions.last_mut() {
                        outer.extend(made);
                    }
                }
            }
            Step::CollectNursery => m.collect_nursery(),
            Step::Collect | Step::Local(_) => unreachable!("done above"),
            _ => self.assert(m, step),
        }
        Ok(())
    }

    fn assert(&mut self, m: &mut Mutator<'_>, step: &Step) {
        let words = |message: Option<u8>| message.map(|it| format!("because of {it}"));
        match step {
            Step::Dead(a, message) => {
                let Some((key, a)) = self.pick(m, *a) else {
                    return;
                };
                match words(*message) {
                    Some(message) => m.expect().message(message).dead(a),
                    None => m.assert_dead(a),
                }
                self.asserted.dead.insert((key, words(*message)));
            }
            Step::Unshared(a, message) => {
                let Some((key, a)) = self.pick(m, *a) else {
                    return;
                };
                match words(*message) {
                    Some(message) => m.expect().message(message).unshared(a),
                    None => m.assert_unshared(a),
                }
                self.asserted.unshared.insert((key, words(*message)));
            }
            Step::OwnedBy(owner, ownees, message) => {
                let Some((owner_key, owner)) = self.pick(m, *owner) else {
                    return;
                };
                let ownees = ownees.iter().filter_map(|&it| self.pick(m, it));
                let (keys, ownees): (Vec<_>, Vec<_>) = ownees.unzip();
                match (words(*message), &ownees[..]) {
                    (Some(message), _) => {
                        m.expect().message(message).all_owned_by(owner, &ownees);
                    }
                    (None, all) => all.iter().for_each(|it| m.assert_owned_by(owner, it)),
                }
                let pairs = keys.iter().map(|&key| (owner_key, key, words(*message)));
                self.asserted.pairs.extend(pairs);
            }
            Step::Retract(pair) => {
                let pairs = self.asserted.pairs.iter();
                let pairs: Vec<_> = pairs.map(|pair| (pair.0, pair.1)).collect();
                let Some(at) = pair.checked_rem(pairs.len()) else {
                    return;
                };
                let (owner, ownee) = pairs[at];
                let (of, to) = (&self.objects[&owner], &self.objects[&ownee]);
                // A pair whose owner has died can no longer be named.
                if of.get(m).is_some() {
                    m.retract_owned_by(of, to);
                    let pairs = &mut self.asserted.pairs;
                    pairs.retain(|pair| (pair.0, pair.1) != (owner, ownee));
                }
            }
            Step::Instances(about, limit) => {
                about.assert(m, AssertionKind::Instances, *limit);
                let key = (AssertionKind::Instances, *about);
                self.asserted.classes.insert(key, *limit);
            }
            Step::Volume(about, limit) => {
                about.assert(m, AssertionKind::Volume, *limit);
                let key = (AssertionKind::Volume, *about);
                self.asserted.classes.insert(key, *limit);
            }
            _ => unreachable!("{step:?} asserts nothing"),
        }
    }

    fn alloc<'a>(&mut self, m: &mut Mutator<'a>, sort: Sort) -> Local<'a, Object> {
        let id = self
            .objects
            .last_key_value()
            .map_or(0, |(last, _)| last + 1);
        let base = || BaseInit {
            id,
            left: None,
            right: None,
        };
        let sub = || SubInit {
            base: base(),
            third: None,
            weak: None,
        };
        let object = match sort {
            Sort::Base => {
                let object = m.alloc(base()).unwrap();
                object.upcast(m)
            }
            Sort::Sub => {
                let object = m.alloc(sub()).unwrap();
                object.upcast(m)
            }
            Sort::Lowest => {
                let lowest = LowestInit {
                    sub: sub(),
                    weight: 1,
                };
                let object = m.alloc(lowest).unwrap();
                object.upcast(m)
            }
            Sort::Holder => {
                let holder = HolderInit {
                    id,
                    items: None,
                    map: None,
                };
                let object = m.alloc(holder).unwrap();
                let held = object.upcast(m);
                let mut m = m.scope();
                let map = m.alloc_weak_map::<Object, Object>().unwrap();
                m[object].map.set(Some(&m[map]));
                let map = m.weak(m[map].as_object());
                self.made(id + 1, map);
                let tag = m.alloc(TagInit { id: id + 2 }).unwrap();
                let items = m.alloc_refs::<Object>(3).unwrap();
                m[items][2].set(Some(m[tag].as_object()));
                m[object].items.set(Some(&m[items]));
                let (tag, items) = (m.weak(m[tag].as_object()), m.weak(m[items].as_object()));
                self.made(id + 2, tag);
                self.made(id + 3, items);
                held
            }
        };
        let weak = m.weak(&m[object]);
        self.made(id, weak);
        object
    }

    fn made(&mut self, key: Key, weak: Weak<Object>) {
        self.objects.insert(key, weak);
        if let Some(region) = self.regions.last_mut() {
            region.push(key);
        }
    }
}

fn set_static(m: &Mutator<'_>, at: usize, object: Option<Local<'_, Object>>) {
    let name = format!("static {}", at % 3);
    m.static_root(&name).set(m, object.map(|it| &m[it]));
}

/// Sets a slot of an object, if it has any.
fn link(m: &Mutator<'_>, from: Local<'_, Object>, place: usize, to: Option<Local<'_, Object>>) {
    let (from, to) = (&m[from], to.map(|it| &m[it]));
    if let Some(sub) = from.downcast::<Sub>() {
        match place % 4 {
            0 => sub.base.left.set(to),
            1 => sub.base.right.set(to),
            2 => sub.third.set(to),
            _ => sub.weak.set(to),
        }
    } else if let Some(base) = from.downcast::<Base>() {
        match place % 2 {
            0 => base.left.set(to),
            _ => base.right.set(to),
        }
    } else if let Some(array) = from.downcast::<RefArray<Object>>() {
        array[place % 2].set(to);
    }
}

impl About {
    const ALL: [Self; 6] = [
        Self::Base,
        Self::BaseAndSubclasses,
        Self::SubAndSubclasses,
        Self::Lowest,
        Self::Arrays,
        Self::Interface,
    ];

    #[rustfmt::skip]
    fn assert(self, m: &Mutator<'_>, kind: AssertionKind, limit: usize) {
        let with = || m.expect().subclasses(true);
        let numbered = || m.know_interface::<Numbered>();
        match (self, kind) {
            (Self::Base, AssertionKind::Instances) => m.assert_instances::<Base>(limit),
            (Self::Base, _) => m.assert_volume::<Base>(limit),
            (Self::BaseAndSubclasses, AssertionKind::Instances) => with().instances::<Base>(limit),
            (Self::BaseAndSubclasses, _) => with().volume::<Base>(limit),
            (Self::SubAndSubclasses, AssertionKind::Instances) => with().instances::<Sub>(limit),
            (Self::SubAndSubclasses, _) => with().volume::<Sub>(limit),
            (Self::Lowest, AssertionKind::Instances) => m.assert_instances::<Lowest>(limit),
            (Self::Lowest, _) => m.assert_volume::<Lowest>(limit),
            (Self::Arrays, AssertionKind::Instances) => m.assert_instances::<RefArray<Object>>(limit),
            (Self::Arrays, _) => m.assert_volume::<RefArray<Object>>(limit),
            (Self::Interface, AssertionKind::Instances) => m.assert_instances_of(&numbered(), limit),
            (Self::Interface, _) => m.assert_volume_of(&numbered(), limit),
        }
    }

    /// The class, and whether subclasses count.
    fn class(self) -> (&'static str, bool) {
        match self {
            Self::Base => ("Base", false),
            Self::BaseAndSubclasses => ("Base", true),
            Self::SubAndSubclasses => ("Sub", true),
            Self::Lowest => ("Lowest", false),
            Self::Arrays => ("Object[]", false),
            Self::Interface => ("Numbered", true),
        }
    }
}

// The twin.

/// A snapshot as the definitions see it.
struct Twin<'s> {
    snapshot: &'s Snapshot,
    live: BTreeSet<ObjectId>,
    keys: HashMap<ObjectId, Key>,
    numbered: BTreeMap<Key, ObjectId>,
    /// How many slots to each live object: the first object of a shortest path has 0. Paths from
    /// stacks count only for what no others lead to.
    distance: HashMap<ObjectId, usize>,
    /// What no others lead to.
    on_stacks: BTreeSet<ObjectId>,
}

impl<'s> Twin<'s> {
    fn new(snapshot: &'s Snapshot) -> Self {
        let roots = snapshot.roots().iter();
        let roots = roots.filter(|(root, _)| root.kind != RootKind::Finalizer);
        let roots: BTreeSet<ObjectId> = roots.map(|&(_, object)| object).collect();
        let mut twin = Self {
            snapshot,
            live: roots,
            keys: HashMap::new(),
            numbered: BTreeMap::new(),
            distance: HashMap::new(),
            on_stacks: BTreeSet::new(),
        };
        loop {
            let next = twin.live.iter().flat_map(|&it| twin.edges(it));
            let next: BTreeSet<_> = next.map(|it| it.1).chain(twin.live.clone()).collect();
            if next.len() == twin.live.len() {
                break;
            }
            twin.live = next;
        }
        for on_stacks in [false, true] {
            let starts = snapshot.roots().iter().filter(|(root, _)| {
                root.kind != RootKind::Finalizer
                    && (root.kind == RootKind::ThreadStack) == on_stacks
            });
            let mut front: BTreeSet<ObjectId> = starts.map(|it| it.1).collect();
            for steps in 0.. {
                front.retain(|it| !twin.distance.contains_key(it));
                if front.is_empty() {
                    break;
                }
                twin.distance.extend(front.iter().map(|&it| (it, steps)));
                if on_stacks {
                    twin.on_stacks.extend(&front);
                }
                let next = front.iter().flat_map(|&it| twin.edges(it));
                front = next.map(|it| it.1).collect();
            }
        }
        for object in snapshot.objects() {
            let class = snapshot.class(snapshot.class_of(object));
            let id = class.fields.iter().position(|it| it.name == "id");
            let id = id.and_then(|field| snapshot.plain_value(object, field));
            let Some(Value::Unsigned(id)) = id else {
                continue;
            };
            twin.keys.insert(object, id);
        }
        let is_array = |object| {
            let class = snapshot.class(snapshot.class_of(object));
            class.name == "Object[]"
        };
        for object in snapshot.objects() {
            snapshot.for_each_edge(object, |place, _, to| {
                if snapshot.slot_name(object, place) == ".map" {
                    twin.keys.insert(to, twin.keys[&object] + 1);
                } else if place == Place::Element(2) && is_array(object) {
                    twin.keys.insert(object, twin.keys[&to] + 1);
                }
            });
        }
        twin.numbered = twin.keys.iter().map(|(&it, &key)| (key, it)).collect();
        twin
    }

    /// The slots of an object that hold what they refer to, as far as that is known to live
    /// now. A value of a weak map is held while its entry and its key live.
    fn edges(&self, object: ObjectId) -> Vec<(Place, ObjectId)> {
        let mut all = Vec::new();
        self.snapshot.for_each_edge(object, |place, strength, to| {
            all.push((place, strength, to));
        });
        let keys = all.iter().filter(|it| it.1 == Strength::Weak);
        let keys: Vec<_> = keys.map(|it| it.2).collect();
        let in_force = !keys.is_empty() && keys.iter().all(|it| self.live.contains(it));
        all.retain(|it| match it.1 {
            Strength::Strong => true,
            Strength::Weak => false,
            Strength::Dependent => in_force,
        });
        all.into_iter().map(|it| (it.0, it.2)).collect()
    }

    fn is_live(&self, key: Key) -> bool {
        let object = self.numbered.get(&key);
        object.is_some_and(|it| self.live.contains(it))
    }

    /// Slots and statics that refer to an object.
    fn references(&self, key: Key) -> usize {
        let object = self.numbered[&key];
        let slots = self.live.iter().flat_map(|&it| self.edges(it));
        let statics = self.snapshot.roots().iter();
        let statics = statics.filter(|it| it.0.kind == RootKind::Static);
        slots.filter(|it| it.1 == object).count() + statics.filter(|it| it.1 == object).count()
    }

    fn reaches(&self, from: Key, to: Key) -> bool {
        let mut reached = BTreeSet::new();
        let mut next = vec![self.numbered[&from]];
        while let Some(object) = next.pop() {
            if reached.insert(object) {
                next.extend(self.edges(object).iter().map(|it| it.1));
            }
        }
        reached.contains(&self.numbered[&to])
    }

    /// The objects that assertions are wrong about.
    fn violations(&self, asserted: &Asserted) -> BTreeSet<(AssertionKind, Key)> {
        let mut wrong = BTreeSet::new();
        for &(key, _) in &asserted.dead {
            if self.is_live(key) {
                wrong.insert((AssertionKind::Dead, key));
            }
        }
        for &key in &asserted.region {
            if self.is_live(key) {
                wrong.insert((AssertionKind::Region, key));
            }
        }
        for &(key, _) in &asserted.unshared {
            if self.is_live(key) && self.references(key) > 1 {
                wrong.insert((AssertionKind::Unshared, key));
            }
        }
        for &(_, ownee, _) in &asserted.pairs {
            let mut pairs = asserted.pairs.iter().filter(|pair| pair.1 == ownee);
            let is_owned = |owner| self.is_live(owner) && self.reaches(owner, ownee);
            if self.is_live(ownee) && !pairs.any(|pair| is_owned(pair.0)) {
                wrong.insert((AssertionKind::OwnedBy, ownee));
            }
        }
        wrong
    }

    /// Whether instances of a class count.
    fn is_a(&self, class: ClassId, about: About) -> bool {
        let (name, subclasses) = about.class();
        let mut left = vec![class];
        while let Some(id) = left.pop() {
            let info = self.snapshot.class(id);
            if info.name == name {
                return true;
            }
            left.extend(info.supertypes().filter(|_| subclasses));
        }
        false
    }

    /// The live instances of a class.
    fn instances(&self, about: About) -> Vec<ObjectId> {
        let is_instance = |object: &ObjectId| self.is_a(self.snapshot.class_of(*object), about);
        self.live.iter().copied().filter(is_instance).collect()
    }

    /// The assertions about classes that are wrong.
    fn class_violations(&self, asserted: &Asserted) -> BTreeSet<ClassViolation> {
        let mut wrong = BTreeSet::new();
        for (&(kind, about), &limit) in &asserted.classes {
            let instances = self.instances(about);
            let bytes = instances.iter().map(|&it| self.snapshot.bytes_of(it));
            let size = match kind {
                AssertionKind::Instances => instances.len(),
                _ => bytes.sum(),
            };
            if size > limit {
                let (class, subclasses) = about.class();
                wrong.insert((kind, class.into(), subclasses, limit));
            }
        }
        wrong
    }

    /// What a finding of one object may be known by: its kind and any of the shortest paths
    /// to the object, of which there may be several.
    fn fingerprints(&self, kind: AssertionKind, key: Key) -> BTreeSet<Fingerprint> {
        let named = |object| {
            let class = self.snapshot.class(self.snapshot.class_of(object));
            Named::new("", &class.name)
        };
        let mut paths = Vec::new();
        let mut unfinished = vec![(self.numbered[&key], Vec::new())];
        while let Some((object, hops)) = unfinished.pop() {
            let distance = self.distance[&object];
            if distance == 0 {
                let hops: Vec<Hop> = hops.iter().rev().cloned().collect();
                let on_stacks = self.on_stacks.contains(&object);
                self.snapshot.for_each_root(|root, first| {
                    let is_meant = (root.kind == RootKind::ThreadStack) == on_stacks;
                    if first == object && is_meant {
                        paths.push(Path::new(Some(root.clone()), named(object), hops.clone()));
                    }
                });
            }
            let before = self.distance.iter().filter(|it| it.1 + 1 == distance);
            for (&from, _) in before {
                for (place, to) in self.edges(from) {
                    if to == object {
                        let slot = self.snapshot.slot_name(from, place);
                        let slot = slot.strip_prefix('.').unwrap_or_default().into();
                        let to = named(object);
                        let mut hops = hops.clone();
                        hops.push(Hop {
                            slot,
                            index: None,
                            to,
                        });
                        unfinished.push((from, hops));
                    }
                }
            }
        }
        let kind = KINDS.iter().find(|it| it.0 == kind).expect("a kind").1;
        let fingerprint = |path| {
            let label = String::new();
            let finding = Finding {
                evidence: vec![Evidence::labelled(label, path)],
                ..Finding::new(kind, Severity::Error, String::new())
            };
            finding.fingerprint()
        };
        paths.into_iter().map(fingerprint).collect()
    }

    /// Where a path leads, if it is one.
    fn walk(&self, path: &Path) -> Option<ObjectId> {
        let root = path.root.as_ref()?;
        let is_root = |it: &&(heaphound::root::Root, ObjectId)| {
            (it.0.kind, &it.0.name, it.0.index) == (root.kind, &root.name, root.index)
        };
        let mut at = self.snapshot.roots().iter().find(is_root)?.1;
        for hop in &path.hops {
            let name = hop.to_string();
            let name = name.split(" → ").next()?;
            let mut edges = self.edges(at).into_iter();
            at = edges
                .find(|it| self.snapshot.slot_name(at, it.0) == name)?
                .1;
            let class = &self.snapshot.class(self.snapshot.class_of(at)).name;
            if *class != hop.to.class {
                return None;
            }
        }
        Some(at)
    }
}

// Comparing.

impl Run {
    /// Collects, and compares what was found with what the twin says.
    fn collect(&mut self, m: &mut Mutator<'_>, asks: bool) -> TestCaseResult {
        let snapshot = m.capture(PlainData::All);
        let twin = Twin::new(&snapshot);
        let known = self.known();
        self.found.lock().unwrap().clear();
        match asks {
            true => {
                m.ask_and_collect(|heap| heap.reach_all().len());
            }
            false => m.collect(),
        }
        let found = std::mem::take(&mut *self.found.lock().unwrap());

        let addresses = self.objects.iter().filter_map(|(&key, weak)| {
            let object: *const Object = weak.get(m)?;
            Some((object.addr(), key))
        });
        let addresses: HashMap<usize, Key> = addresses.collect();
        let all = m.violations();
        let (mut violations, mut grouped) = (BTreeSet::new(), Vec::new());
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        for (kind, weak, fingerprint) in &all {
            let object: *const Object = weak.get(m).expect("what is violated lives");
            let key = addresses.get(&object.addr());
            prop_assert!(key.is_some(), "{kind:?} of an object never asserted");
            let violation = (*kind, *key.unwrap());
            violations.insert(violation);
            grouped.push((violation, *fingerprint));
            *counts.entry(*fingerprint).or_default() += 1;
        }
        let is_small = snapshot.len() < 1_000;
        let about = |kind: &str| match is_small {
            true => format!("{kind}, with {snapshot:?}"),
            false => kind.to_string(),
        };
        let slow = twin.violations(&self.asserted);
        same(&about("objects"), &violations, &slow)?;
        same(&about("objects, none twice"), all.len(), slow.len())?;
        let classes: BTreeSet<_> = m.class_violations().into_iter().collect();
        let slow_classes = twin.class_violations(&self.asserted);
        same(&about("classes"), &classes, &slow_classes)?;

        // What did not stand before is part of the finding that it looks like. The twin has
        // not seen the collections that came by themselves.
        let collections = self.heap.stats().full_collections;
        let has_seen_all = collections == self.collections + 1;
        self.collections = collections;
        let mut fresh = BTreeMap::new();
        for ((kind, key), fingerprint) in grouped {
            let is_new = has_seen_all && !self.standing.contains(&(kind, key));
            if is_small && is_new {
                fresh.insert((kind, key), fingerprint);
            }
            if is_small && is_new && kind != AssertionKind::Unshared {
                let mut any = twin.fingerprints(kind, key);
                // It may count with what holds it.
                if kind == AssertionKind::Region {
                    let wrong = slow.iter().filter(|it| it.0 == kind);
                    let holders = wrong.filter(|it| twin.reaches(it.1, key));
                    any.extend(holders.flat_map(|it| twin.fingerprints(kind, it.1)));
                }
                prop_assert!(any.contains(&fingerprint), "{kind:?} of {key} is elsewhere");
            }
        }
        self.standing.clone_from(&violations);

        // What is known now: what was, and what was delivered.
        let now = self.known();
        for (fingerprint, count) in &counts {
            let objects = now.get(fingerprint).map(|it| it.1);
            same(&about("objects of a finding"), objects, Some(*count))?;
        }
        let delivered: BTreeSet<_> = found.iter().map(Finding::fingerprint).collect();
        same(&about("findings, none twice"), delivered.len(), found.len())?;
        let new = now.keys().filter(|it| !known.contains_key(it));
        let new: BTreeSet<_> = new.copied().collect();
        same(&about("new findings"), &delivered, &new)?;
        for (fingerprint, (collections, _)) in &now {
            let before = known.get(fingerprint).map_or(0, |it| it.0);
            if counts.contains_key(fingerprint) {
                same(&about("collections"), *collections, before + 1)?;
            }
        }
        for finding in &found {
            self.check_finding(&twin, &slow, finding)?;
        }
        let found_small: &[Finding] = if is_small { &found } else { &[] };
        self.check_written(&twin, (&violations, &classes), &fresh, found_small)?;

        let texts = found.iter().map(|it| without_numbers(&it.to_string()));
        self.report.extend(texts);
        self.report.push(format!("{violations:?} {classes:?}"));
        self.report.push(format!("{now:?}"));
        Ok(())
    }

    /// The written heap says the same as the live one: which objects and classes are wrong, what
    /// the findings about the new ones are known by, and their texts.
    fn check_written(
        &self,
        twin: &Twin<'_>,
        (objects, classes): (&BTreeSet<(AssertionKind, Key)>, &BTreeSet<ClassViolation>),
        fresh: &BTreeMap<(AssertionKind, Key), Fingerprint>,
        found: &[Finding],
    ) -> TestCaseResult {
        let Asserted {
            dead,
            region,
            unshared,
            pairs,
            classes: limits,
        } = &self.asserted;
        let those = |keys: Vec<Key>| {
            let known = keys.iter().filter_map(|key| twin.numbered.get(key));
            Target::Objects(known.copied().collect())
        };
        let mut assertions = vec![
            Assertion::Dead(those(dead.iter().map(|it| it.0).collect())),
            Assertion::Dead(those(region.iter().copied().collect())),
            Assertion::Unshared(
                those(unshared.iter().map(|it| it.0).collect()),
                Slots::default(),
            ),
        ];
        const REGION: u32 = 1;
        let ownees: BTreeSet<Key> = pairs.iter().map(|it| it.1).collect();
        assertions.extend(ownees.into_iter().map(|ownee| {
            let owners = pairs.iter().filter(|it| it.1 == ownee);
            Assertion::OwnedBy {
                owners: those(owners.map(|it| it.0).collect()),
                ownees: those(vec![ownee]),
            }
        }));
        let all = twin.snapshot.classes();
        let named = |name: &str| all.iter().find(|it| it.name == name).map(|it| it.id);
        // A class that the heap does not know yet has no instances.
        let limits = limits.iter().filter_map(|(&(kind, about), &limit)| {
            let class = named(about.class().0)?;
            Some((kind, about, class, limit))
        });
        let limits: Vec<_> = limits.collect();
        let first_limit = assertions.len();
        assertions.extend(limits.iter().map(|&(kind, about, class, limit)| {
            let counted = all.iter().filter(|it| twin.is_a(it.id, about));
            Assertion::Limited {
                limit: match kind {
                    AssertionKind::Instances => Limit::Instances(limit as u64),
                    _ => Limit::Volume(limit as u64),
                },
                class,
                counted: counted.map(|it| it.id).collect(),
            }
        }));
        let (mut wrong, mut written) = (BTreeSet::new(), Vec::new());
        let (mut wrong_classes, mut texts) = (BTreeSet::new(), Vec::new());
        let outcomes = assertion::violations(twin.snapshot, &assertions, 1);
        for (number, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Outcome::Holds => {}
                Outcome::Violated { count, violations } => {
                    same(
                        "violations",
                        violations.len(),
                        count.min(assertion::MOST_KEPT),
                    )?;
                    for mut violation in violations {
                        if violation.assertion == REGION {
                            violation.breach = Breach::Region;
                        }
                        let key = twin.keys[&violation.object];
                        let it = (violation.breach.kind(), key);
                        wrong.insert(it);
                        if fresh.contains_key(&it) {
                            written.push(violation);
                        }
                    }
                }
                Outcome::Exceeded(excess) => {
                    let (kind, about, _, limit) = limits[number - first_limit];
                    let (class, subclasses) = about.class();
                    wrong_classes.insert((kind, class.into(), subclasses, limit));
                    let description = assertion::describe_class(twin.snapshot, &excess);
                    texts.push(description.finding(&Stated::default()));
                }
            }
        }
        same("objects of the written heap", &wrong, objects)?;
        same("classes of the written heap", &wrong_classes, classes)?;
        let is_many = written.len() > 16;
        for (Violation { object, breach, .. }, described) in
            assertion::describe(twin.snapshot, written)
        {
            let known = fresh[&(breach.kind(), twin.keys[&object])];
            let about = "fingerprint in the written heap";
            match described {
                Described::In(description) => {
                    same(about, description.fingerprint(), known)?;
                    texts.push(description.finding(&Stated::default()));
                }
                Described::As(holder) => {
                    let is_region = breach.kind() == AssertionKind::Region;
                    prop_assert!(is_region, "a small heap has paths to all");
                    same(about, holder, known)?;
                }
            }
        }
        for finding in found {
            let known = finding.fingerprint();
            let same_ones = texts.iter().filter(|it| it.fingerprint() == known);
            let live = texts_of(finding);
            let is_said = |it: &Finding| {
                let text = texts_of(it);
                let rest = live.0.strip_prefix(&text.0);
                rest.is_some_and(|it| it.is_empty() || it.starts_with(": because of"))
                    && live.1 == text.1
            };
            // What is held alike is one finding, with the words about one of the objects.
            let is_one = finding.class.is_some() || finding.objects.len() == 1;
            if is_one && !is_many && same_ones.clone().next().is_some() {
                prop_assert!(
                    same_ones.clone().any(is_said),
                    "{finding} is not among {texts:?}"
                );
            }
        }
        Ok(())
    }

    /// How often each finding was made, and for how many objects the last time.
    fn known(&self) -> BTreeMap<Fingerprint, (u64, usize)> {
        let known = self.heap.findings().into_iter();
        let known = known.map(|it| (it.finding.fingerprint(), (it.collections, it.objects)));
        known.collect()
    }

    /// The paths of a finding lead, on the shortest way, to what it is about.
    fn check_finding(
        &self,
        twin: &Twin<'_>,
        wrong: &BTreeSet<(AssertionKind, Key)>,
        finding: &Finding,
    ) -> TestCaseResult {
        let about = finding.to_string();
        let kind = KINDS.iter().find(|it| it.1 == finding.kind);
        let kind = kind.expect("a kind of finding").0;
        prop_assert!(!finding.evidence.is_empty(), "{about}");
        let mut ends = Vec::new();
        for Evidence { path, .. } in &finding.evidence {
            let end = twin.walk(path);
            prop_assert!(end.is_some(), "{path} is no path: {about}");
            let end = end.unwrap();
            if kind != AssertionKind::Unshared {
                let shortest = Some(&path.hops.len());
                same(&about, shortest, twin.distance.get(&end))?;
            }
            ends.push(end);
        }
        if matches!(kind, AssertionKind::Instances | AssertionKind::Volume) {
            let is_about = |&about: &About| {
                let instances = twin.instances(about);
                self.asserted.classes.contains_key(&(kind, about))
                    && ends.iter().all(|end| instances.contains(end))
            };
            prop_assert!(About::ALL.iter().any(is_about), "{about}");
            return Ok(());
        }
        let mut messages = Vec::new();
        for end in &ends {
            let key = twin.keys[end];
            prop_assert!(wrong.contains(&(kind, key)), "{about}");
            match kind {
                AssertionKind::Dead => messages.extend(messages_of(&self.asserted.dead, key)),
                AssertionKind::Unshared => {
                    messages.extend(messages_of(&self.asserted.unshared, key));
                }
                AssertionKind::OwnedBy => {
                    let pairs = self.asserted.pairs.iter().filter(|pair| pair.1 == key);
                    messages.extend(pairs.map(|pair| pair.2.clone()));
                }
                _ => messages.push(None),
            }
        }
        let is_said = |message: &Option<String>| match message {
            Some(message) => finding.message.contains(message),
            None => !finding.message.contains("because of"),
        };
        prop_assert!(messages.iter().any(is_said), "{messages:?}: {about}");
        if kind == AssertionKind::Unshared {
            // Two ways, which arrive through different slots or statics.
            same(&about, finding.evidence.len(), 2)?;
            let [a, b] = [0, 1].map(|at| &finding.evidence[at].path);
            same(&about, ends[0], ends[1])?;
            prop_assert!(a != b, "{about}");
            for path in [a, b] {
                let root = path.root.as_ref().expect("paths start at roots");
                let counts = !path.hops.is_empty() || root.kind == RootKind::Static;
                prop_assert!(counts, "{path} does not count: {about}");
            }
        }
        Ok(())
    }
}

fn messages_of(asserted: &BTreeSet<(Key, Option<String>)>, key: Key) -> Vec<Option<String>> {
    let of_key = asserted.iter().filter(|it| it.0 == key);
    of_key.map(|it| it.1.clone()).collect()
}

/// Calls of every kind, in a list.
fn listen(heap: &Heap) -> Arc<Mutex<Vec<Finding>>> {
    let found: Arc<Mutex<Vec<Finding>>> = Arc::default();
    for (kind, _) in KINDS {
        let found = found.clone();
        let call = move |finding: &Finding| found.lock().unwrap().push(finding.clone());
        heap.set_reaction(kind, Reaction::Call(Arc::new(call)));
    }
    found
}

/// A finding's message, and its paths and notes, without addresses and numbers. Which instance
/// stands for a group depends on where instances are, so that only the size of groups counts.
fn texts_of(finding: &Finding) -> (String, Vec<String>) {
    let paths = finding.evidence.iter().map(|it| match it.shows {
        Shows::Group(_) => it.shows.to_string(),
        _ => it.path.to_string(),
    });
    let texts = paths.chain(finding.notes.iter().cloned());
    let texts = texts.map(|text| without_numbers(&text)).collect();
    (without_numbers(&finding.message), texts)
}

/// `Node#12` becomes `Node`.
fn without_numbers(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            '#' => while rest.next_if(char::is_ascii_digit).is_some() {},
            _ => plain.push(char),
        }
    }
    plain
}

fn same<T: PartialEq + Debug>(about: &str, fast: T, slow: T) -> TestCaseResult {
    prop_assert_eq!(fast, slow, "{}: ours left, the twin's right", about);
    Ok(())
}
