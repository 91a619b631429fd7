//! All features of a heap at once, as a hostile program uses them: checks, weak references, finalizers, several heaps,
//! threads, pruning, sampling, pretenuring, invalidation and zeal.
//!
//! Each object owns a box with its number, so that whoever reads an object that was freed, or another one in its
//! place, notices. What a program may do and gets a panic for is caught; what must never happen is noted in [`Faults`].
//!
//! `HEAPHOUND_CASES` multiplies the number of steps.
#![cfg(feature = "assertions")]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use heaphound::analysis::shape::Profile;
use heaphound::finding::{Finding, Severity};
use heaphound::view::{HeapView, live_objects};
use heaphound::{
    AssertionKind, AttachError, Check, Collector, Finalization, Growth, Header, Heap, HeapBuilder,
    Local, Managed, MarkedHeap, Mutator, Object, Pinned, PlainData, Pretenuring, Pruning, Reaction,
    RefArray, Registration, Root, Rules, Sampling, Shapes, Slot, StoppedHeap, Var, Weak, WeakMap,
    WeakSlot, check::Counted, check::Found, check::Needs,
};
use heaphound_testkit::cases::cases;

use crate::panic_hook;

#[derive(Managed)]
#[repr(C)]
struct Item {
    header: Header,
    number: u64,
    hash: Var<u32>,
    next: Slot<Item>,
    any: Slot<Object>,
    weak: WeakSlot<Item>,
    #[managed(owned)]
    own: Own,
}

/// What must never happen, and did.
#[derive(Default)]
struct Faults(Mutex<Vec<String>>);

impl Faults {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }
}

/// Memory that an object owns. Some panic when they are dropped.
struct Own {
    number: Box<u64>,
    shared: Arc<Shared>,
}

impl Drop for Own {
    fn drop(&mut self) {
        let number = std::mem::replace(&mut *self.number, DROPPED);
        if number == DROPPED {
            self.shared.faults.note("dropped twice");
        }
        self.shared.dropped.fetch_add(1, Relaxed);
        if number.is_multiple_of(31) && !std::thread::panicking() {
            panic!("a drop panics");
        }
    }
}

const DROPPED: u64 = u64::MAX;

/// The number of an object, and two handles to it.
type Held = (u64, Root<Item>, Weak<Item>);

/// What the threads of one heap know.
#[derive(Default)]
struct Shared {
    faults: Faults,
    made: AtomicU64,
    dropped: AtomicU64,
    finalized: AtomicUsize,
    /// Handles that threads leave to each other.
    roots: Mutex<Vec<Held>>,
    kept_by_checks: Mutex<Vec<Root<Object>>>,
    registrations: Mutex<Vec<Registration>>,
    panics: Mutex<BTreeMap<String, usize>>,
}

impl Shared {
    /// Looks at an object that somebody could reach.
    fn look(&self, item: &Item) {
        if *item.own.number != item.number {
            let what = format!("object {} owns {}", item.number, item.own.number);
            self.faults.note(what);
        }
        let hash = item.as_object().identity_hash();
        match item.hash.get() {
            0 => item.hash.set(hash),
            known if known != hash => self.faults.note("an identity hash has changed"),
            _ => {}
        }
    }

    /// Looks at an object and at some that it refers to.
    fn walk(&self, item: &Item) {
        let mut item = item;
        for _ in 0..20 {
            self.look(item);
            if let Ok(Some(weak)) = item.weak.try_get() {
                self.look(weak);
            }
            if let Ok(Some(any)) = item.any.try_get() {
                match any.downcast::<Item>() {
                    Some(any) => self.look(any),
                    None => {
                        let array = any.downcast::<RefArray<Item>>().expect("of two classes");
                        let items = array.iter().filter_map(|it| it.try_get().ok().flatten());
                        items.for_each(|it| self.look(it));
                    }
                }
            }
            match item.next.try_get() {
                Ok(Some(next)) => item = next,
                _ => break,
            }
        }
    }
}

/// Looks at all that lives, keeps some of it, and panics at times.
struct Hostile {
    shared: Arc<Shared>,
    dice: Dice,
}

impl Check for Hostile {
    fn needs(&mut self) -> Needs {
        match self.dice.below(12) {
            0 => panic!("a check panics"),
            1..4 => Needs::all_instances(),
            4..6 => Needs::summary(),
            6 => Needs::shapes(),
            7 => Needs::survey(),
            _ => Needs::nothing(),
        }
    }

    fn before(&mut self, heap: &StoppedHeap<'_>) {
        match self.dice.below(16) {
            0 => panic!("a check panics"),
            1..4 => {
                let all = live_objects(heap);
                if !all.is_empty() {
                    let object = all[self.dice.below(all.len())];
                    self.shared
                        .kept_by_checks
                        .lock()
                        .unwrap()
                        .push(heap.root(object));
                }
            }
            _ => {}
        }
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, _: &Counted<'_>, found: &mut Found<'_>) {
        match self.dice.below(16) {
            0 => panic!("a check panics"),
            1..4 => {
                let mut held = Vec::new();
                for object in live_objects(heap) {
                    heap.for_each_edge(object, |_, _, to| held.push(to));
                }
                held.extend(heap.labelled("odd"));
                if !held.is_empty() {
                    let object = held[self.dice.below(held.len())];
                    self.shared
                        .kept_by_checks
                        .lock()
                        .unwrap()
                        .push(heap.root(object));
                }
            }
            4 => found.add(Finding::new("odd", Severity::Warning, "something is odd")),
            // Checks may come and go while they are run.
            5 => drop(self.shared.registrations.lock().unwrap().pop()),
            _ => {}
        }
    }
}

/// Repeatable picks.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end as u64) as usize
    }
}

/// What a thread has of one heap beside its mutator.
struct Things<'a> {
    array: Local<'a, RefArray<Item>>,
    map: Local<'a, WeakMap<Item, Item>>,
    pins: Vec<Pinned<Item>>,
}

const WIDTH: usize = 24;

fn item<'a>(
    m: &mut Mutator<'a>,
    shared: &Arc<Shared>,
    things: &Things<'_>,
    at: usize,
) -> Option<Local<'a, Item>> {
    let number = shared.made.fetch_add(1, Relaxed) + 1;
    let own = Own {
        number: Box::new(number),
        shared: shared.clone(),
    };
    let pick = |at: usize| {
        m[things.array][at % WIDTH]
            .try_get()
            .ok()
            .flatten()
            .map(|it| m.local(it))
    };
    let (next, weak) = (pick(at + 1), pick(at + 2));
    let any = pick(at + 3).map(|it| it.upcast(m));
    let made = m.alloc(ItemInit {
        number,
        hash: 0,
        next,
        any,
        weak,
        own,
    });
    made.ok()
}

/// A finalizer that looks, allocates, uses the map, brings its object back or panics.
fn finalizer(shared: &Arc<Shared>, how: usize) -> Finalizer {
    let shared = shared.clone();
    Box::new(move |m, item| {
        shared.finalized.fetch_add(1, Relaxed);
        shared.walk(&m[item]);
        match how {
            0 => panic!("a finalizer panics"),
            1 => {
                let (root, weak) = (m.root(&m[item]), m.weak(&m[item]));
                shared
                    .roots
                    .lock()
                    .unwrap()
                    .push((m[item].number, root, weak));
            }
            2 => {
                let again = finalizer(&shared, 0);
                m.on_death(&m[item], again);
            }
            3 => m.collect(),
            4 => m.assert_dead(item),
            5 => {
                m.alloc_refs::<Item>(100).ok();
            }
            _ => {}
        }
        shared.walk(&m[item]);
    })
}

type Finalizer = Box<dyn for<'m> FnOnce(&mut Mutator<'m>, Local<'m, Item>) + Send>;

/// Does something with a heap.
fn act(m: &mut Mutator<'_>, shared: &Arc<Shared>, things: &mut Things<'_>, dice: &mut Dice) {
    let mut m = m.scope();
    let (at, other) = (dice.below(WIDTH), dice.below(WIDTH));
    let slot = |m: &Mutator<'_>, at: usize| m[things.array][at].try_get().ok().flatten().is_some();
    match dice.below(44) {
        0..12 => {
            if let Some(made) = item(&mut m, shared, things, at) {
                m[things.array][at].set(Some(&m[made]));
                shared.walk(&m[made]);
            }
        }
        12..15 => {
            if let Ok(Some(it)) = m[things.array][at].try_get() {
                shared.walk(it);
            }
        }
        15 => m[things.array][at].clear(),
        16 => m[things.array].copy_from(
            other.min(WIDTH - 4),
            &m[things.array],
            at.min(WIDTH - 4)..at.min(WIDTH - 4) + 4,
        ),
        17..20 if slot(&m, at) && slot(&m, other) => {
            let [key, value] = [at, other].map(|at| m.local(m[things.array][at].get().unwrap()));
            if m.weak_map_insert(things.map, key, value).is_ok() {
                let value = m[things.map].get(&m[key]).expect("it was inserted");
                shared.walk(value);
            }
        }
        20 if slot(&m, at) => {
            m[things.map].remove(m[things.array][at].get().unwrap());
        }
        21 => m[things.map].for_each(|key, value| {
            shared.look(key);
            shared.look(value);
        }),
        22 if slot(&m, at) => {
            let it = m[things.array][at].get().unwrap();
            let kept = (it.number, m.root(it), m.weak(it));
            shared.roots.lock().unwrap().push(kept);
        }
        23 | 24 => {
            let roots = shared.roots.lock().unwrap();
            for (number, root, weak) in roots.iter() {
                let Ok(item) = root.try_get(&m) else { continue };
                shared.look(item);
                if item.number != *number {
                    shared.faults.note("a root leads elsewhere");
                }
                match weak.try_get(&m) {
                    Ok(None) => shared.faults.note("a weak handle lost what lives"),
                    Ok(Some(same)) if !std::ptr::eq(same, item) => {
                        shared.faults.note("a weak handle leads elsewhere")
                    }
                    _ => {}
                }
            }
        }
        25 => {
            let gone = shared.roots.lock().unwrap().pop();
            drop(gone);
            let kept = std::mem::take(&mut *shared.kept_by_checks.lock().unwrap());
            for root in &kept {
                if let Some(item) = root.try_get(&m).ok().and_then(|it| it.downcast::<Item>()) {
                    shared.walk(item);
                }
            }
        }
        26 | 27 if slot(&m, at) => {
            let finalizer = finalizer(shared, dice.below(9));
            m.on_death(m[things.array][at].get().unwrap(), finalizer);
        }
        28 if slot(&m, at) => {
            let it = m.local(m[things.array][at].get().unwrap());
            match other % 5 {
                0 => m.assert_dead(it),
                1 => m.assert_unshared(it),
                2 => m.label(it, "odd"),
                3 => m.unlabel(it, "odd"),
                _ => m.account_external(&m[it], 1 << other),
            }
        }
        29 if slot(&m, at) && slot(&m, other) => {
            let [a, b] = [at, other].map(|at| m.local(m[things.array][at].get().unwrap()));
            m.assert_owned_by(a, b);
        }
        30 => drop(m.capture(PlainData::All)),
        31 | 32 if slot(&m, at) => {
            let it = m.local(m[things.array][at].get().unwrap());
            let asks = |heap: &heaphound::Asking<'_, '_>| {
                let id = heap.id(it).unwrap();
                let _ = (heap.reach(id).len(), heap.is_shared(id));
            };
            match other % 2 {
                0 => m.ask(asks),
                _ => m.ask_and_collect(asks),
            }
        }
        33 => m.inspect(|_| panic!("a look panics")),
        34 if slot(&m, at) => {
            let it = m.local(m[things.array][at].get().unwrap());
            let _ = m.unique(it);
            if let Ok(it) = m.try_get(it) {
                shared.walk(it);
            }
        }
        35 if slot(&m, at) => {
            let it = m.local(m[things.array][at].get().unwrap());
            let pin = m.pin(it);
            if let Ok(it) = m.try_get(it)
                && pin.root().try_get(&m).is_ok()
                && pin.address() != (&raw const *it).addr()
            {
                shared.faults.note("a pin moves");
            }
            things.pins.push(pin);
        }
        36 => {
            for pin in things.pins.drain(..) {
                let Ok(it) = pin.root().try_get(&m) else {
                    continue;
                };
                shared.walk(it);
                if pin.address() != (&raw const *it).addr() {
                    shared.faults.note("a pin has moved");
                }
            }
        }
        37 => m.collect(),
        38 => m.collect_nursery(),
        39 => m.in_region(|m| {
            if let Some(made) = item(m, shared, things, at) {
                m[things.array][other].set(Some(&m[made]));
            }
            if at == 0 {
                panic!("in a region");
            }
        }),
        40 => m.blocked(std::thread::yield_now),
        41 => {
            let it = m.static_root::<Item>("kept");
            match it.try_get(&m) {
                Ok(Some(item)) => shared.walk(item),
                _ => it.set(&m, m[things.array][at].try_get().ok().flatten()),
            }
            if other == 0 {
                it.clear(&m);
            }
        }
        42 => {
            if let Ok(Some(it)) = m[things.array][at].try_get() {
                let target = m[things.array][other].try_get().ok().flatten();
                it.any.set(Some(m[things.array].as_object()));
                it.weak.set(target);
                let before = it.next.try_get().ok().flatten();
                it.next.compare_and_set(before, target);
            }
        }
        _ => {
            let whole = m[things.array].as_object();
            if let Ok(Some(it)) = m[things.array][at].try_get() {
                it.any.set(Some(whole));
            }
            m.safepoint();
        }
    }
}

/// A heap with its mutator on each thread, and checks of all kinds.
fn heap(builder: HeapBuilder, shared: &Arc<Shared>, seed: u64) -> Heap {
    let heap = builder.build().unwrap();
    let quiet = || Some(Reaction::Call(Arc::new(|_: &Finding| ())));
    for kind in [
        AssertionKind::Dead,
        AssertionKind::Region,
        AssertionKind::Unshared,
        AssertionKind::OwnedBy,
    ] {
        heap.set_reaction(kind, quiet().unwrap());
    }
    if seed.is_multiple_of(4) {
        heap.set_reaction(AssertionKind::Dead, Reaction::ForceTrue);
    }
    let mut all = shared.registrations.lock().unwrap();
    for number in 0..3 {
        let hostile = Hostile {
            shared: shared.clone(),
            dice: Dice(seed + number),
        };
        all.push(heap.watch(Box::new(hostile), quiet()));
    }
    drop(all);
    heap
}

/// Runs threads that use two heaps each.
fn run(builder: impl Fn() -> HeapBuilder, seed: u64, steps: usize) -> Vec<Arc<Shared>> {
    panic_hook::install();
    let shared: Vec<Arc<Shared>> = (0..2).map(|_| Arc::default()).collect();
    let heaps: Vec<Heap> = (0..2)
        .map(|at| heap(builder(), &shared[at], seed + at as u64))
        .collect();
    let quiet = || Some(Reaction::Call(Arc::new(|_: &Finding| ())));
    let growth = Growth::new().register(&heaps[0], quiet());
    let shapes = Shapes::learning(Profile::default()).register(&heaps[0], quiet());
    let rule = heaps[1].attach("rules").ok().and_then(|mut m| {
        let text = "assertion(forall Item x: x.next != x)";
        m.know_class::<Item>();
        Rules::new(text).register(&heaps[1], &mut m, quiet()).ok()
    });
    std::thread::scope(|s| {
        for thread in 0..2 {
            let (heaps, shared) = (&heaps, &shared);
            s.spawn(move || {
                let mut dice = Dice(seed * 1_000 + thread);
                let [mut a, mut b] = [0, 1].map(|at| attach(&heaps[at], thread));
                let mut of_a = things(&mut a);
                let mut of_b = things(&mut b);
                for step in 0..steps {
                    let result = catch_unwind(AssertUnwindSafe(|| match step % 7 {
                        0 => b.blocked(|| act(&mut a, &shared[0], &mut of_a, &mut dice)),
                        1..4 => act(&mut a, &shared[0], &mut of_a, &mut dice),
                        _ => act(&mut b, &shared[1], &mut of_b, &mut dice),
                    }));
                    if let Err(payload) = result {
                        let text = panic_text(&*payload);
                        *shared[0].panics.lock().unwrap().entry(text).or_default() += 1;
                    }
                }
            });
        }
    });
    // Registrations and handles go before their heap, or after it.
    if seed.is_multiple_of(2) {
        drop((growth, shapes, rule));
        drop(heaps);
    } else {
        drop(heaps);
        drop((growth, shapes, rule));
    }
    for shared in &shared {
        shared.roots.lock().unwrap().clear();
        shared.kept_by_checks.lock().unwrap().clear();
        let gone = std::mem::take(&mut *shared.registrations.lock().unwrap());
        drop(gone);
    }
    shared
}

/// Attaching gives way to whoever would wait for ever.
fn attach(heap: &Heap, thread: u64) -> Mutator<'_> {
    loop {
        match heap.attach(format!("t{thread}")) {
            Ok(m) => return m,
            Err(AttachError::Deadlock) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

fn things<'a>(m: &mut Mutator<'a>) -> Things<'a> {
    Things {
        array: m.alloc_refs(WIDTH).unwrap(),
        map: m.alloc_weak_map().unwrap(),
        pins: Vec::new(),
    }
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().cloned();
    let text = text.or_else(|| payload.downcast_ref::<&str>().map(|it| it.to_string()));
    text.unwrap_or_else(|| "of no text".into())
}

/// Panics that a program gets for what it does here.
const EXPECTED: [&str; 5] = [
    "panics",
    "in a region",
    "was invalidated",
    "was pruned",
    "wait for each other for ever",
];

fn check(collector: Collector, threads: usize, zeal: u32, pruning: Option<Pruning>) {
    for case in 0..cases(2) as u64 {
        let builder = || {
            let mut builder = Heap::builder()
                .max_bytes(8 << 20)
                .initial_bytes(1 << 20)
                .nursery_bytes(64 << 10)
                .collector(collector)
                .collector_threads(threads)
                .max_locals(4096)
                .zeal(zeal);
            builder = match case % 3 {
                0 => builder.finalization(Finalization::OnRequest),
                _ => builder,
            };
            builder = match pruning {
                Some(pruning) => {
                    let quiet = Reaction::Call(Arc::new(|_: &Finding| ()));
                    builder.pruning(pruning).pruning_reaction(quiet)
                }
                None => builder.invalidation(true),
            };
            if collector == Collector::Generational {
                builder = builder.pretenuring(Pretenuring::default().at_random());
            }
            builder.sampling(Sampling::every(512))
        };
        let shared = run(builder, case + zeal as u64 + 1, 1_500);
        let mut panics = shared[0].panics.lock().unwrap().clone();
        let expected = |text: &str| EXPECTED.iter().any(|it| text.contains(it));
        panics.retain(|text, _| !expected(text));
        assert!(panics.is_empty(), "{panics:#?}");
        for shared in &shared {
            let faults = shared.faults.0.lock().unwrap();
            assert!(
                faults.is_empty(),
                "{} faults, first {}",
                faults.len(),
                faults[0]
            );
            let [made, dropped] = [&shared.made, &shared.dropped].map(|it| it.load(Relaxed));
            assert_eq!(made, dropped, "what was made was dropped");
            let finalized = shared.finalized.load(Relaxed);
            assert_eq!(finalized > 0, case % 3 > 0, "{finalized} finalizers");
        }
    }
}

fn eager(strict: bool) -> Pruning {
    Pruning::new()
        .every_collection_counts(true)
        .observe_above(0.0)
        .select_above(0.0)
        .strict(strict)
}

#[test]
fn mark_sweep() {
    check(Collector::MarkSweep, 1, 0, None);
    check(Collector::MarkSweep, 2, 7, None);
}

#[test]
fn generational() {
    check(Collector::Generational, 1, 0, None);
    check(Collector::Generational, 2, 7, None);
}

#[test]
fn mark_sweep_that_prunes() {
    for strict in [false, true] {
        check(Collector::MarkSweep, 1, 0, Some(eager(strict)));
        check(Collector::MarkSweep, 2, 7, Some(eager(strict)));
    }
}

#[test]
fn generational_that_prunes() {
    for strict in [false, true] {
        check(Collector::Generational, 1, 0, Some(eager(strict)));
        check(Collector::Generational, 2, 7, Some(eager(strict)));
    }
}
