//! DeAL on the live heap: random assertions about random heaps, and the papers' examples, against
//! their definitions; and rules as they are registered, bound, labelled, counted and let go.
//!
//! The definitions are evaluated on the stopped heap of the very collection that checks.
//! `HEAPHOUND_CASES` multiplies the number of random ones.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use heaphound::deal::bind::Binder;
use heaphound::deal::check::{Scope, compile, constant};
use heaphound::deal::datum::Datum;
use heaphound::deal::evaluate::{Evaluation, Judged};
use heaphound::deal::resolved::{HostId, HostSource};
use heaphound::deal::verdict::{self, Verdict};
use heaphound::finding::{Finding, Named, Severity};
use heaphound::snapshot::Snapshot;
use heaphound::view::{HeapView, live_objects};
use heaphound::{
    Check, Collector, Evaluate, Header, Heap, HeapBuilder, Instance, Local, Managed, Mutator,
    Object, Plain, PlainData, Reaction, Registration, Rules, RulesError, Slot, StoppedHeap, Var,
    Weak, deal, rules::When, view::Value,
};
use heaphound_testkit::cases::config;
use heaphound_testkit::deal::twin::{Answer, Reason, World, evaluate};
use heaphound_testkit::deal::{cases, generate};
use heaphound_testkit::load::{Loaded, load};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};

// Against the definitions.

/// What the definition says of a text, on the heap of one collection.
#[derive(Clone, Debug)]
enum Expected {
    /// It has no answer.
    Nothing,
    /// It holds.
    Holds,
    /// It does not: for each quantifier, and for the overlap, the names of the objects.
    Fails {
        shown: Vec<BTreeSet<String>>,
        overlap: BTreeSet<String>,
    },
}

/// Asks the definition at each full collection.
struct Twin {
    text: String,
    hosts: Vec<(String, Option<Weak<Object>>)>,
    values: &'static [(&'static str, &'static str)],
    answers: Arc<Mutex<Vec<Expected>>>,
}

impl Check for Twin {
    fn before(&mut self, heap: &StoppedHeap<'_>) {
        let answer = self.answer(heap);
        self.answers.lock().unwrap().push(answer);
    }
}

impl Twin {
    fn answer(&self, heap: &StoppedHeap<'_>) -> Expected {
        let mut scope = Scope::new(heap.classes());
        let mut binder = Binder::of(heap);
        for (name, handle) in &self.hosts {
            let object = handle.as_ref().and_then(|it| heap.held_weakly(it));
            scope = scope.bind(name, None);
            binder = binder.variable(name, object);
        }
        for (name, value) in self.values {
            scope = scope.bind_value(name, constant(value).expect("a value"));
        }
        let resolved = compile("it", &self.text, &scope).expect("it was compiled before");
        let Ok(bindings) = binder.bind(&resolved) else {
            return Expected::Nothing;
        };
        let host = |source: &HostSource| {
            let place = resolved.hosts.iter().position(|it| it.source == *source);
            bindings.get(HostId(place? as u32))
        };
        let world = World {
            view: heap,
            asker: None,
            host: &host,
            label: &|object, label| heap.labelled(label).contains(&object),
        };
        let names = |objects: &BTreeSet<_>| objects.iter().map(|it| heap.name_of(*it)).collect();
        match evaluate(&world, &resolved, &resolved.rules[0].program) {
            Answer::Verdict(verdict) if verdict.holds => Expected::Holds,
            Answer::Verdict(verdict) => Expected::Fails {
                shown: verdict.shown.values().map(names).collect(),
                overlap: names(&verdict.overlap),
            },
            Answer::Nothing(Reason::Null) => Expected::Nothing,
            other => panic!("{}: {other:?}", self.text),
        }
    }
}

/// Whether findings are what the definition says.
fn agree(text: &str, expected: &Expected, findings: &[Finding]) -> TestCaseResult {
    let told = || format!("{text}: {expected:?}, but {findings:#?}");
    match (expected, findings) {
        (Expected::Holds, []) => Ok(()),
        (Expected::Nothing, [finding]) => {
            prop_assert_eq!(&finding.kind, "not-checked", "{}", told());
            Ok(())
        }
        (Expected::Fails { shown, overlap }, [finding]) => {
            prop_assert_ne!(&finding.kind, "not-checked", "{}", told());
            let found: BTreeSet<String> =
                finding.objects.iter().map(|it| it.name.clone()).collect();
            let all: BTreeSet<String> = shown.iter().flatten().chain(overlap).cloned().collect();
            prop_assert!(found.is_subset(&all), "{}", told());
            if !overlap.is_empty() {
                let note = match overlap.len() {
                    1 => "1 object is in two relations".to_string(),
                    many => format!("{many} objects are in two relations"),
                };
                prop_assert!(finding.notes.contains(&note), "{}", told());
                prop_assert!(!found.is_empty(), "{}", told());
            } else if let [only] = &shown[..] {
                prop_assert_eq!(found.len(), only.len().min(5), "{}", told());
                let count = format!("{} ", only.len());
                let first = &finding.notes[0];
                prop_assert!(only.is_empty() || first.starts_with(&count), "{}", told());
            }
            Ok(())
        }
        _ => Err(TestCaseError::fail(told())),
    }
}

/// The variants of the generator's enums.
#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Plain)]
#[repr(u8)]
enum Color {
    red,
    green,
    blue,
}

#[allow(non_camel_case_types)]
#[derive(Clone, Copy, Plain)]
#[repr(u8)]
enum Door {
    open,
    red,
    shut,
}

pub(crate) fn set_variant(instance: &Instance, index: usize, variants: &[&str], variant: &str) {
    match (variants[0], variant) {
        ("red", "red") => instance.set_plain(index, Color::red),
        ("red", "green") => instance.set_plain(index, Color::green),
        ("red", _) => instance.set_plain(index, Color::blue),
        (_, "open") => instance.set_plain(index, Door::open),
        (_, "red") => instance.set_plain(index, Door::red),
        _ => instance.set_plain(index, Door::shut),
    }
}

/// What a text is about, and how often it could be asked.
struct Asked<'t> {
    text: &'t str,
    hosts: Vec<(String, Option<Weak<Object>>)>,
    values: &'static [(&'static str, &'static str)],
    /// Which host variables are bound weakly.
    weak: u8,
}

impl Asked<'_> {
    fn deal(&self, m: &Mutator<'_>) -> Rules {
        let mut deal = Rules::new(self.text);
        for (name, value) in self.values {
            deal = deal.bind_value(name, constant(value).expect("a value"));
        }
        for (nth, (name, object)) in self.hosts.iter().enumerate() {
            deal = match self.weak >> nth & 1 {
                1 => deal.bind_weak(m, name, object),
                _ => deal.bind(m, name, object),
            };
        }
        deal
    }

    /// Checks here and now, and registered; both against the definition. Whether the text fits
    /// the classes of the live heap.
    fn compare(&self, heap: &Heap, m: &mut Mutator<'_>) -> Result<bool, TestCaseError> {
        let mut deal = self.deal(m);
        if matches!(deal.explain(m), Err(RulesError::Text(_))) {
            return Ok(false);
        }
        let answers: Arc<Mutex<Vec<Expected>>> = Arc::default();
        let twin = Twin {
            text: self.text.into(),
            hosts: self.hosts.clone(),
            values: self.values,
            answers: answers.clone(),
        };
        let _twin = heap.watch(Box::new(twin), None);
        let last = || answers.lock().unwrap().pop().expect("it was asked");
        for _ in 0..2 {
            let findings = deal.check(m).expect("it was compiled");
            agree(self.text, &last(), &findings)?;
        }
        drop(deal);
        // Those that are weak may have died by now, which ends the rule.
        let told: Arc<Mutex<Vec<Finding>>> = Arc::default();
        let calls = told.clone();
        let call = Reaction::Call(Arc::new(move |it| calls.lock().unwrap().push(it.clone())));
        let deal = self.deal(m);
        let _rule = deal.register(heap, m, Some(call)).expect("it was compiled");
        m.collect();
        let told = std::mem::take(&mut *told.lock().unwrap());
        let is_note = |it: &Finding| it.severity == Severity::Note;
        if !told.iter().any(is_note) {
            agree(self.text, &last(), &told)?;
        }
        Ok(true)
    }
}

fn random(cases: u32, builder: fn() -> HeapBuilder) {
    let fits = AtomicUsize::new(0);
    let all = AtomicUsize::new(0);
    let texts = generate::texts(generate::Kind::Assertion);
    let drawn = (heaps(), texts, any::<u8>(), any::<[bool; 2]>());
    let run = TestRunner::new(config(cases)).run(&drawn, |(plan, text, weak, collect)| {
        let snapshot = plan.build();
        let heap = builder().log(false).build().unwrap();
        let mut m = heap.attach("t0").unwrap();
        let loaded = load(&heap, &mut m, &snapshot, set_variant);
        for object in snapshot.objects() {
            for label in generate::LABELS {
                if plan.label(object, label) {
                    m.label(loaded.object(object), label);
                }
            }
        }
        // Objects are young, old, or old and perhaps dead.
        if collect[0] {
            m.collect_nursery();
        }
        if collect[1] {
            m.collect();
        }
        let bound = |name: &str| plan.host(name).map(|it| loaded.object(it).clone());
        let hosts = generate::HOSTS.map(|name| (name.to_string(), bound(name)));
        let hosts = hosts.to_vec();
        let text = &text;
        let values = &[];
        let asked = Asked {
            text,
            hosts,
            values,
            weak,
        };
        all.fetch_add(1, Relaxed);
        fits.fetch_add(asked.compare(&heap, &mut m)? as usize, Relaxed);
        Ok(())
    });
    run.unwrap_or_else(|wrong| panic!("{wrong}"));
    let (fits, all) = (fits.into_inner(), all.into_inner());
    assert!(2 * fits >= all, "{fits} of {all} texts fit");
}

/// Heaps that a program can make.
fn heaps() -> impl Strategy<Value = generate::HeapPlan> {
    generate::heaps().prop_map(generate::HeapPlan::whole)
}

#[test]
fn a_mark_sweep_heap_checks_what_the_definition_says() {
    random(300, || {
        Heap::builder()
            .collector(Collector::MarkSweep)
            .collector_threads(1)
    });
}

#[test]
fn a_generational_heap_checks_what_the_definition_says() {
    random(300, || {
        Heap::builder()
            .collector(Collector::Generational)
            .collector_threads(1)
    });
}

#[test]
fn zealous_heaps_check_what_the_definition_says() {
    random(60, || {
        Heap::builder().collector(Collector::MarkSweep).zeal(1)
    });
    random(60, || {
        Heap::builder().collector(Collector::Generational).zeal(2)
    });
}

#[test]
fn heaps_with_four_collector_threads_check_what_the_definition_says() {
    random(60, || {
        Heap::builder()
            .collector(Collector::MarkSweep)
            .collector_threads(4)
    });
    random(60, || {
        Heap::builder()
            .collector(Collector::Generational)
            .collector_threads(4)
    });
}

fn read(text: &str) -> Snapshot {
    let heap = heaphound::file::read(text.as_bytes(), "heap", &mut |_, _| {});
    heap.unwrap_or_else(|wrong| panic!("{wrong}\n{text}"))
}

/// The hosts of a case.
fn hosts(
    case: &cases::Case,
    heap: &Snapshot,
    loaded: &Loaded,
) -> Vec<(String, Option<Weak<Object>>)> {
    let bound = case.binds.iter().map(|(name, object)| {
        let found = heap.objects().find(|it| heap.name_of(*it) == *object);
        let found = found.unwrap_or_else(|| panic!("{}: {object}", case.name));
        (name.to_string(), Some(loaded.object(found).clone()))
    });
    bound.collect()
}

#[test]
fn the_papers_examples_hold_on_one_live_heap_and_fail_on_another() {
    let mut assertions = 0;
    for case in cases::CASES {
        let settings = [(Collector::MarkSweep, 1), (Collector::Generational, 4)];
        for (collector, threads) in settings {
            for (text, holds) in [(case.holds, true), (case.fails, false)] {
                let snapshot = read(text);
                let heap = Heap::builder().collector(collector).log(false);
                let heap = heap.collector_threads(threads).build().unwrap();
                let mut m = heap.attach("main").unwrap();
                let loaded = load(&heap, &mut m, &snapshot, set_variant);
                let hosts = hosts(case, &snapshot, &loaded);
                let asked = Asked {
                    text: case.text,
                    hosts,
                    values: case.values,
                    // A handle would be one more root.
                    weak: u8::MAX,
                };
                let mut deal = asked.deal(&m);
                // Expressions have a file of their own, and threads.
                if deal
                    .explain(&mut m)
                    .is_ok_and(|it| !it.starts_with("one traversal"))
                {
                    continue;
                }
                let findings = deal.check(&mut m);
                let findings = findings.unwrap_or_else(|wrong| panic!("{}: {wrong}", case.name));
                assertions += 1;
                assert_eq!(findings.is_empty(), holds, "{}: {findings:#?}", case.name);
                let fits = asked.compare(&heap, &mut m);
                assert!(fits.unwrap_or_else(|wrong| panic!("{}: {wrong}", case.name)));
                // It says nothing of them that the case does not.
                let shown: BTreeSet<String> = m.inspect(|view| {
                    let wanted = case.shown.iter().map(|name| {
                        let found = snapshot.objects().find(|it| snapshot.name_of(*it) == *name);
                        let found = loaded.object(found.expect("it is there"));
                        view.name_of(view.id(found).expect("it lives"))
                    });
                    if holds {
                        BTreeSet::new()
                    } else {
                        wanted.collect()
                    }
                });
                let again = deal.check(&mut m).unwrap();
                let told = again.iter().flat_map(|it| &it.objects);
                assert!(told.map(|it| it.name.clone()).all(|it| shown.contains(&it)));
            }
        }
    }
    assert!(assertions >= 4 * 25, "{assertions} assertions");
}

// Rules as a program has them.

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    id: u32,
    data: Var<i32>,
    next: Slot<Node>,
}

#[derive(Managed)]
#[repr(C)]
struct Late {
    header: Header,
    value: Var<u8>,
}

fn node<'m>(m: &mut Mutator<'m>, id: u32, data: i32) -> Local<'m, Node> {
    let next = None;
    m.alloc(NodeInit { id, data, next }).unwrap()
}

const COLLECTORS: [Collector; 2] = [Collector::MarkSweep, Collector::Generational];

fn quiet(collector: Collector) -> Heap {
    Heap::builder()
        .collector(collector)
        .log(false)
        .build()
        .unwrap()
}

/// Registers a text, and collects what it tells.
fn watch(
    deal: Rules,
    heap: &Heap,
    m: &mut Mutator<'_>,
) -> (Registration, Arc<Mutex<Vec<Finding>>>) {
    let told: Arc<Mutex<Vec<Finding>>> = Arc::default();
    let calls = told.clone();
    let call = Reaction::Call(Arc::new(move |it| calls.lock().unwrap().push(it.clone())));
    (deal.register(heap, m, Some(call)).unwrap(), told)
}

#[test]
fn deal_binds_what_refers_to_an_object_and_moves_nothing() {
    let heap = quiet(Collector::Generational);
    let mut m = heap.attach("main").unwrap();
    let [first, last] = [1, 2].map(|id| node(&mut m, id, 1));
    m[first].next.set(Some(&m[last]));
    let root = m.root(&m[first]);
    let none: Option<heaphound::Root<Node>> = None;
    let by_local = deal!(m, "forall Node x: reach[first](x)", first)
        .check(&mut m)
        .unwrap();
    assert!(by_local.is_empty());
    let mut all = deal!(m, "assertion(forall Node x: reach[d](x) && x != nobody) // all",
        weak d = root, nobody = none,);
    assert!(all.check(&mut m).unwrap().is_empty());
    let mut made = deal!(
        m,
        "forall Node x: reach[d](x); // so it is",
        d = node(&mut m, 3, 0)
    );
    assert_eq!(made.check(&mut m).unwrap().len(), 1);
    assert!(
        deal!("(exists Node x: x.next == null) && (forall Node y: y.data >= 0);")
            .check(&mut m)
            .unwrap()
            .is_empty()
    );
    fn inside(m: &mut Mutator<'_>, d: &heaphound::Root<Node>) -> usize {
        deal!(m, "exists Node x: reach[d](x) && x.id == 2", d)
            .check(m)
            .unwrap()
            .len()
    }
    assert_eq!(inside(&mut m, &root), 0);
    drop(root);
}

#[test]
fn a_registered_rule_is_checked_at_each_full_collection_and_counted() {
    for collector in COLLECTORS {
        let heap = quiet(collector);
        let mut m = heap.attach("main").unwrap();
        let it = node(&mut m, 1, 1);
        let (rule, told) = watch(
            Rules::new("assertion(forall Node x: x.data > 0)"),
            &heap,
            &mut m,
        );
        m.collect();
        assert!(told.lock().unwrap().is_empty());
        m[it].data.set(-1);
        for _ in 0..3 {
            m.collect();
        }
        let known = heap.findings();
        assert_eq!(known.len(), 1, "{known:#?}");
        assert_eq!(known[0].collections, 3);
        assert_eq!(
            told.lock().unwrap().len(),
            1,
            "what stands is not told again"
        );
        // No longer asked.
        drop(rule);
        m.collect();
        assert_eq!(heap.findings()[0].collections, 3);
        // Never again let go.
        let (rule, told) = watch(
            Rules::new("assertion(exists Node x: x.data > 0)"),
            &heap,
            &mut m,
        );
        rule.keep();
        m.collect();
        assert_eq!(told.lock().unwrap().len(), 1);
    }
}

#[test]
fn a_suppressed_finding_is_counted_and_not_told() {
    let heap = quiet(Collector::MarkSweep);
    let mut m = heap.attach("main").unwrap();
    let _it = node(&mut m, 1, -1);
    let mut deal = Rules::new("assertion(forall Node x: x.data > 0)");
    let finding = deal.check(&mut m).unwrap().remove(0);
    heap.suppress(finding.fingerprint(), "known");
    let (_rule, told) = watch(deal, &heap, &mut m);
    m.collect();
    m.collect();
    assert!(told.lock().unwrap().is_empty());
    let known = heap.findings();
    assert_eq!(known[0].suppressed.as_deref(), Some("known"));
    assert_eq!(known[0].collections, 2);
}

#[test]
fn a_rule_stays_one_finding_whatever_breaks_it() {
    for collector in COLLECTORS {
        let heap = quiet(collector);
        let mut m = heap.attach("main").unwrap();
        let mut last = node(&mut m, 1, -1);
        let mut known = Rules::new("rule known: assertion(forall Node x: x.data > 0)");
        let fingerprint = known.check(&mut m).unwrap()[0].fingerprint();
        heap.suppress(fingerprint, "known");
        let text = "assertion(forall Node x: x.data > 0)";
        let (_rule, told) = watch(Rules::new(text), &heap, &mut m);
        let (_known, untold) = watch(known, &heap, &mut m);
        let mut shown = Vec::new();
        for id in 2..8 {
            m.collect();
            shown.extend(heap.findings().iter().map(|it| it.objects));
            // Held by a local, or through another.
            let next = node(&mut m, id, -1);
            m[next].next.set(Some(&m[last]));
            last = next;
        }
        assert_eq!(shown, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 5]);
        assert_eq!(told.lock().unwrap().len(), 1, "told once");
        assert!(untold.lock().unwrap().is_empty(), "suppressed");
        let known = heap.findings();
        assert_eq!(known.len(), 2, "{known:#?}");
        assert!(known.iter().all(|it| it.collections == 6), "{known:#?}");
    }
}

#[test]
fn who_asks_the_same_of_another_object_is_told_too() {
    let heap = quiet(Collector::MarkSweep);
    let mut m = heap.attach("main").unwrap();
    let [one, two] = [1, 2].map(|id| node(&mut m, id, -1));
    let watched = [one, two].map(|d| {
        let deal = deal!(m, "forall Node x: reach[d](x) -> x.data > 0", d);
        watch(deal, &heap, &mut m)
    });
    m.collect();
    m.collect();
    for (number, (_rule, told)) in watched.iter().enumerate() {
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 1, "{number}: {told:#?}");
    }
    let known = heap.findings();
    assert_eq!(known.len(), 1, "it is one rule");
    assert_eq!((known[0].collections, known[0].objects), (2, 2));
}

#[test]
fn a_rule_can_halt_the_program() {
    let heap = Heap::builder()
        .halt_with_errors(true)
        .log(false)
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let _it = node(&mut m, 1, -1);
    let deal = Rules::new("rule plus: assertion(forall Node x: x.data > 0)");
    let _rule = deal.register(&heap, &mut m, Some(Reaction::Halt)).unwrap();
    m.collect();
    let next = None;
    let refused = m
        .alloc(NodeInit {
            id: 2,
            data: 1,
            next,
        })
        .err()
        .expect("it is halted");
    assert!(
        refused.halted().is_some_and(|why| why.contains("plus")),
        "{refused}"
    );
}

#[test]
fn host_variables_keep_their_objects_and_weak_ones_do_not() {
    for collector in COLLECTORS {
        let heap = quiet(collector);
        let mut m = heap.attach("main").unwrap();
        let [strong, weak] = [1, 2].map(|id| {
            let mut m = m.scope();
            let it = node(&mut m, id, 1);
            m.root(&m[it])
        });
        let [kept, lost] = [&strong, &weak].map(|it| m.weak(&m[it]));
        let (_one, _) = watch(
            deal!(m, "forall Node x: reach[d](x) || x.id > 1", d = strong),
            &heap,
            &mut m,
        );
        let (_two, told) = watch(
            deal!(m, "exists Node x: reach[d](x)", weak d = weak),
            &heap,
            &mut m,
        );
        m.collect();
        assert!(told.lock().unwrap().is_empty());
        drop((strong, weak));
        m.collect();
        m.collect();
        assert!(kept.get(&m).is_some() && lost.get(&m).is_none());
        // Once it died nothing is said but that.
        m.collect();
        let told = told.lock().unwrap();
        let notes: Vec<_> = told
            .iter()
            .filter(|it| it.severity == Severity::Note)
            .collect();
        assert_eq!(notes.len(), 1, "{told:#?}");
        assert!(notes[0].message.contains("`d`"), "{}", notes[0].message);
    }
}

#[test]
fn labels_follow_their_objects_and_die_with_them() {
    for collector in COLLECTORS {
        let heap = quiet(collector);
        let mut m = heap.attach("main").unwrap();
        let kept = node(&mut m, 1, 1);
        let lost = {
            let mut m = m.scope();
            let it = node(&mut m, 2, 1);
            m.label(it, "done");
            m.weak(&m[it])
        };
        m.label(kept, "done");
        m.label(kept, "done");
        m.label(kept, "in flight");
        let none: Option<heaphound::Root<Node>> = None;
        m.label(&none, "done");
        assert!(m.has_label(kept, "done") && !m.has_label(&none, "done"));
        for collect in [Mutator::collect_nursery, Mutator::collect, Mutator::collect] {
            collect(&mut m);
            assert!(m.has_label(kept, "done") && m.has_label(kept, "in flight"));
            let text = "assertion(forall Node x: x is done && x is \"in flight\")";
            assert!(Rules::new(text).check(&mut m).unwrap().is_empty());
        }
        assert!(lost.get(&m).is_none());
        assert_eq!(m.inspect(|view| view.labelled("done").len()), 1);
        // What is new lies where the dead have lain, and has no label.
        let fresh: Vec<_> = (0..100).map(|id| node(&mut m, 10 + id, 1)).collect();
        assert!(fresh.iter().all(|it| !m.has_label(*it, "done")));
        m.unlabel(kept, "done");
        assert!(!m.has_label(kept, "done") && m.has_label(kept, "in flight"));
        let none = Rules::new("assertion(!(exists x: x is done))")
            .check(&mut m)
            .unwrap();
        assert!(none.is_empty());
    }
}

/// Labels against a model: what was labelled, by the numbers of objects.
#[test]
fn labels_are_what_a_model_says() {
    const LABELS: [&str; 2] = ["done", "in flight"];
    let drawn = proptest::collection::vec((0..9u8, 0..30usize, 0..2usize), 1..200);
    for collector in COLLECTORS {
        let run = TestRunner::new(config(60)).run(&drawn, |steps| {
            let heap = quiet(collector);
            let mut m = heap.attach("main").unwrap();
            let mut all: Vec<Option<heaphound::Root<Node>>> = Vec::new();
            let mut model: BTreeSet<(usize, usize)> = BTreeSet::new();
            let mut last = 0;
            for (step, which, label) in steps {
                let place = which % all.len().max(1);
                match (step, all.get(place).cloned().flatten()) {
                    (0..3, _) => {
                        let mut m = m.scope();
                        last += 1;
                        let it = node(&mut m, last, 0);
                        all.push(Some(m.root(&m[it])));
                    }
                    (3 | 4, Some(it)) => {
                        m.label(&it, LABELS[label]);
                        model.insert((place, label));
                    }
                    (5, Some(it)) => {
                        m.unlabel(&it, LABELS[label]);
                        model.remove(&(place, label));
                    }
                    (6, Some(_)) => {
                        all[place] = None;
                        model.retain(|it| it.0 != place);
                    }
                    (7, _) => m.collect_nursery(),
                    (8, _) => m.collect(),
                    _ => {}
                }
                for (place, it) in all.iter().enumerate() {
                    for (label, name) in LABELS.iter().enumerate() {
                        let has = it.as_ref().is_some_and(|it| m.has_label(it, name));
                        prop_assert_eq!(has, model.contains(&(place, label)));
                    }
                }
            }
            m.collect();
            for (label, name) in LABELS.iter().enumerate() {
                let labelled = m.inspect(|view| view.labelled(name).len());
                let expected = model.iter().filter(|it| it.1 == label).count();
                prop_assert_eq!(labelled, expected);
            }
            Ok(())
        });
        run.unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}

/// As many as these would take minutes if each had to be looked for.
#[test]
fn many_objects_have_a_label_each_is_labelled_often() {
    const MANY: usize = 100_000;
    for collector in COLLECTORS {
        let heap = quiet(collector);
        let mut m = heap.attach("main").unwrap();
        let all: Vec<_> = (0..MANY)
            .map(|id| {
                let mut m = m.scope();
                let it = node(&mut m, id as u32, 0);
                m.root(&m[it])
            })
            .collect();
        for it in &all {
            for _ in 0..3 {
                m.label(it, "done");
            }
        }
        assert!(all.iter().all(|it| m.has_label(it, "done")));
        m.collect();
        assert_eq!(m.inspect(|view| view.labelled("done").len()), MANY);
        for it in all.iter().step_by(2) {
            m.unlabel(it, "done");
        }
        let has = all.iter().filter(|it| m.has_label(*it, "done")).count();
        assert_eq!(has, MANY / 2);
    }
}

#[test]
fn a_rule_is_checked_where_it_stands_when_it_is_due() {
    let heap = Heap::builder()
        .max_bytes(64 << 20)
        .log(false)
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let _it = node(&mut m, 1, -1);
    let mut deal = Rules::new("assertion(forall Node x: x.data > 0)");
    let mut times = |m: &mut Mutator<'_>, when, calls| {
        let mut checked = 0;
        for _ in 0..calls {
            checked += deal.check_when_due(m, when).unwrap().is_some() as usize;
        }
        checked
    };
    assert_eq!(times(&mut m, When::Due(0.0), 3), 3);
    assert_eq!(times(&mut m, When::Every(1), 3), 3);
    assert_eq!(times(&mut m, When::Every(3), 6), 2);
    assert_eq!(times(&mut m, When::Every(0), 2), 2);
    assert_eq!(times(&mut m, When::Due(1.0), 3), 0, "nothing was allocated");
    let mut checked = 0;
    for _ in 0..2_000 {
        let mut m = m.scope();
        for _ in 0..50 {
            m.alloc_bytes(&[1; 900]).unwrap();
        }
        checked += times(&mut m, When::default(), 1);
    }
    assert!((1..200).contains(&checked), "{checked}");
}

/// The loop that marks shows objects in one way if there were few to show the last time, and in another
/// if there were many.
#[test]
fn what_breaks_a_rule_is_found_among_few_objects_and_among_many() {
    const NODES: u32 = 2_000;
    for threads in [1, 2] {
        let heap = Heap::builder().collector_threads(threads).log(false);
        let heap = heap.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let all = m.alloc_refs::<Node>(NODES as usize).unwrap();
        for id in 0..NODES {
            let mut m = m.scope();
            let node = node(&mut m, id, 0);
            m[all][id as usize].set(Some(&m[node]));
        }
        let late = m.alloc(LateInit { value: 0 }).unwrap();
        let relations = ["", "reach[all](x) -> ", "!reach[/all](x) -> "];
        // Few, few, many, many, few.
        for (number, of_late) in [true, true, false, false, true].into_iter().enumerate() {
            for relation in relations {
                let text = match of_late {
                    true => format!("assertion(forall Late x: {relation} x.value < 1)"),
                    false => format!("assertion(forall Node x: {relation} x.data < 1)"),
                };
                let mut rule = Rules::new(text.clone()).bind(&m, "all", all);
                assert!(rule.check(&mut m).unwrap().is_empty(), "{text}");
                let broken = NODES as usize / 3;
                m[late].value.set(1);
                m[all][broken].get().unwrap().data.set(1);
                let found = rule.check(&mut m).unwrap();
                let objects: usize = found.iter().map(|it| it.objects.len()).sum();
                // What is late is not in the array, and reached without it.
                let expected = !of_late || relation.is_empty();
                assert_eq!(objects, expected as usize, "{number}: {text}: {found:?}");
                m[late].value.set(0);
                m[all][broken].get().unwrap().data.set(0);
                let marked = heap.stats().history.back().unwrap().marked_objects;
                assert_eq!(marked, NODES as usize + 2);
            }
        }
    }
}

#[test]
fn rules_and_assertions_share_a_collection() {
    for collector in COLLECTORS {
        let heap = quiet(collector);
        let mut m = heap.attach("main").unwrap();
        let [a, b, c] = [1, 2, 3].map(|id| node(&mut m, id, id as i32));
        m[a].next.set(Some(&m[c]));
        m[b].next.set(Some(&m[c]));
        let list = deal!(m, "assertion(forall Node x: reach[a](x) -> x.data > 1)", a);
        let (_list, of_list) = watch(list, &heap, &mut m);
        let data = deal!("assertion(exists Node x: x.data == 3)");
        let (_data, of_data) = watch(data, &heap, &mut m);
        m.assert_instances::<Node>(2);
        m.assert_unshared(c);
        m.assert_owned_by(a, c);
        m.assert_dead(b);
        m.collect();
        assert_eq!(of_list.lock().unwrap().len(), 1);
        assert!(of_data.lock().unwrap().is_empty());
        let mut kinds: Vec<String> = heap
            .findings()
            .into_iter()
            .map(|it| it.finding.kind)
            .collect();
        kinds.sort();
        for kind in ["asserted-dead", "asserted-unshared", "too-many-instances"] {
            assert!(kinds.iter().any(|it| it == kind), "{kind} in {kinds:?}");
        }
        // Owned as it should be: `a` leads to it.
        assert!(!kinds.iter().any(|it| it == "not-owned"), "{kinds:?}");
        // And nothing is changed by asking where a rule stands.
        let before = heap.findings().len();
        assert_eq!(
            deal!(m, "exists Node x: x.id == 9")
                .check(&mut m)
                .unwrap()
                .len(),
            1
        );
        assert_eq!(heap.findings().len(), before);
    }
}

#[test]
fn rules_about_one_relation_share_a_traversal() {
    let heap = quiet(Collector::MarkSweep);
    let mut m = heap.attach("main").unwrap();
    let d = node(&mut m, 1, 1);
    let mut both = deal!(
        m,
        "rule one: assertion(forall Node x: reach[d](x) -> x.data > 0);
         rule two: assertion(exists Node x: reach[d](x) && x.id == 7);",
        d
    );
    let explained = both.explain(&mut m).unwrap();
    assert!(
        explained.contains("one traversal") || explained.contains("1 traversal"),
        "{explained}"
    );
    let findings = both.check(&mut m).unwrap();
    assert_eq!(findings.len(), 1);
    assert!(
        findings[0].message.contains("two"),
        "{}",
        findings[0].message
    );
}

#[test]
fn a_class_can_appear_after_the_rule() {
    let heap = quiet(Collector::Generational);
    let mut m = heap.attach("main").unwrap();
    let text = "assertion(forall Late x: x.value < 3)";
    let unknown = Rules::new(text).check(&mut m).unwrap();
    assert_eq!(unknown[0].kind, "not-checked");
    assert!(unknown[0].message.contains("Late"), "{}", unknown[0]);
    m.know_class::<Late>();
    let (_late, of_late) = watch(Rules::new(text), &heap, &mut m);
    let (_all, of_all) = watch(
        Rules::new("assertion(forall x: !(x instanceof Late))"),
        &heap,
        &mut m,
    );
    m.collect();
    let _node = node(&mut m, 1, 1);
    let _late = m.alloc(LateInit { value: 7 }).unwrap();
    m.collect();
    assert_eq!(of_late.lock().unwrap().len(), 1);
    assert_eq!(of_all.lock().unwrap().len(), 1);
}

#[test]
fn rules_without_names_are_told_apart() {
    let heap = quiet(Collector::MarkSweep);
    let mut m = heap.attach("main").unwrap();
    let _it = node(&mut m, 1, -1);
    let text = "assertion(forall Node x: x.data > 0); assertion(forall Node x: x.data > 1)";
    let (_both, told) = watch(Rules::new(text), &heap, &mut m);
    m.collect();
    m.collect();
    assert_eq!(told.lock().unwrap().len(), 2);
    // So are those that end.
    let (_one, of_one, _two, of_two) = {
        let mut m = m.scope();
        let d = node(&mut m, 2, 2);
        let one = deal!(m, "exists Node x: reach[d](x) && x.id == 2", weak d);
        let two = deal!(m, "forall Node x: reach[d](x) -> x.id == 2", weak d);
        let (one, of_one) = watch(one, &heap, &mut m);
        let (two, of_two) = watch(two, &heap, &mut m);
        (one, of_one, two, of_two)
    };
    for _ in 0..3 {
        m.collect();
    }
    for told in [of_one, of_two] {
        let told = told.lock().unwrap();
        let notes = told.iter().filter(|it| it.severity == Severity::Note);
        assert_eq!(notes.count(), 1, "{told:#?}");
    }
}

/// Panics whenever it is asked.
struct Panics;

impl Check for Panics {
    fn before(&mut self, _: &StoppedHeap<'_>) {
        panic!("on purpose")
    }
}

#[test]
fn a_question_that_panics_spoils_nothing() {
    for collector in COLLECTORS {
        let heap = quiet(collector);
        let mut m = heap.attach("main").unwrap();
        let it = node(&mut m, 1, -1);
        let question = heap.watch(Box::new(Panics), None);
        let (_rule, told) = watch(
            Rules::new("assertion(forall Node x: x.data > 0)"),
            &heap,
            &mut m,
        );
        m.collect();
        assert_eq!(told.lock().unwrap().len(), 1);
        let panics = |heap: &Heap| {
            let known = heap.findings();
            known
                .iter()
                .filter(|it| it.finding.kind == "check-panicked")
                .count()
        };
        assert_eq!(panics(&heap), 1);
        drop(question);
        m[it].data.set(1);
        let other = node(&mut m, 2, 2);
        m.collect();
        assert_eq!(m[it].data.get() + m[other].data.get(), 3);
    }
}

#[test]
fn expressions_and_rules_see_the_same_heap() {
    let heap = quiet(Collector::Generational);
    let mut m = heap.attach("main").unwrap();
    let d = node(&mut m, 1, 1);
    let (_rule, told) = watch(deal!(m, "forall Node x: reach[d](x)", d), &heap, &mut m);
    assert!(
        m.holds("forall Node x: reach(d).has(x)", &[("d", &d)])
            .unwrap()
    );
    let _other = node(&mut m, 2, 2);
    assert!(
        !m.holds("forall Node x: reach(d).has(x)", &[("d", &d)])
            .unwrap()
    );
    m.collect();
    assert_eq!(told.lock().unwrap().len(), 1);
}

// Whole rule files.

/// What names stand for, alike on the live heap and on what was captured of it: objects are known
/// by their place in the order of both.
struct Places {
    live: Vec<String>,
    captured: Vec<String>,
}

impl Places {
    fn of(m: &mut Mutator<'_>, snapshot: &Snapshot) -> Self {
        let live = m.inspect(|view| {
            let mut live = live_objects(view);
            live.sort_unstable();
            live.into_iter().map(|it| view.name_of(it)).collect()
        });
        let captured = snapshot.objects().map(|it| snapshot.name_of(it)).collect();
        Self { live, captured }
    }

    fn place(names: &[String], text: &str) -> String {
        let place = names.iter().position(|name| name == text);
        place.map_or(text.into(), |place| format!("object {place}"))
    }

    /// An answer with places for names.
    fn placed(names: &[String], answer: &verdict::Answer<Named>) -> verdict::Answer<String> {
        let place = |text: &str| Self::place(names, text);
        match answer {
            verdict::Answer::Objects(all, count) => {
                let all = all.iter().map(|it| place(&it.name)).collect();
                verdict::Answer::Objects(all, *count)
            }
            verdict::Answer::Rows(rows, count) => {
                let rows = rows.iter().map(|(object, values)| {
                    let values = values.iter().map(|it| place(it)).collect();
                    (place(&object.name), values)
                });
                verdict::Answer::Rows(rows.collect(), *count)
            }
            verdict::Answer::Value(datum) => verdict::Answer::Value(match datum {
                Datum::Object(object) => Datum::Text(place(&object.name)),
                Datum::Absent => Datum::Absent,
                Datum::Unknown => Datum::Unknown,
                Datum::Null => Datum::Null,
                Datum::Plain(value) => Datum::Plain(*value),
                Datum::Whole(value) => Datum::Whole(*value),
                Datum::Text(text) => Datum::Text(text.clone()),
            }),
        }
    }
}

/// What a text comes to on a captured heap, and which of its statements only ask.
fn judge_captured(
    text: &str,
    snapshot: &Snapshot,
    hosts: &[(String, Option<usize>)],
    labels: &[(&str, Vec<usize>)],
) -> Vec<(bool, Judged<heaphound::snapshot::ObjectId>)> {
    let objects: Vec<_> = snapshot.objects().collect();
    let mut scope = Scope::new(snapshot.classes());
    let mut binder = Binder::of(snapshot).ask_as(Some("t0"));
    for (name, place) in hosts {
        scope = scope.bind(name, None);
        binder = binder.variable(name, place.map(|it| objects[it]));
    }
    let resolved = compile("it", text, &scope).expect("it was compiled before");
    let bindings = binder.bind_present(&resolved);
    let mut evaluation = Evaluation::new(snapshot, &resolved, text, &bindings)
        .ask_as("t0")
        .expect("it is a thread");
    for (label, places) in labels {
        evaluation = evaluation.label(label, places.iter().map(|it| objects[*it]).collect());
    }
    let asks = resolved.rules.iter().map(|it| {
        use heaphound::deal::resolved::Statement::{Query, Set, Value};
        matches!(it.program.statement, Query(_) | Value(_) | Set(_))
    });
    asks.zip(evaluation.run()).collect()
}

/// Whether a whole text comes to the same on a live heap and on what is captured of it, and how
/// many of its statements have an answer; none if it does not fit the classes.
fn same_as_captured(
    m: &mut Mutator<'_>,
    text: &str,
    hosts: &[(String, Option<Weak<Object>>)],
) -> Result<Option<usize>, TestCaseError> {
    let mut deal = Rules::new(text);
    for (name, object) in hosts {
        deal = deal.bind(m, name, object);
    }
    match deal.explain(m) {
        Err(RulesError::Text(_)) => return Ok(None),
        other => other.expect("it says how it is evaluated"),
    };
    let answers = deal.query(m);
    let snapshot = m.capture(PlainData::All);
    let places = Places::of(m, &snapshot);
    let (hosts, labels) = m.inspect(|view| {
        let place = |object| {
            let name = view.name_of(object);
            places.live.iter().position(|it| *it == name)
        };
        let hosts = hosts.iter().map(|(name, object)| {
            let object = object.as_ref().and_then(|it| view.held_weakly(it));
            (name.clone(), object.and_then(place))
        });
        let labels = generate::LABELS.map(|label| {
            let all = view.labelled(label).into_iter().filter_map(place);
            (label, all.collect::<Vec<_>>())
        });
        (hosts.collect::<Vec<_>>(), labels)
    });
    let judged = judge_captured(text, &snapshot, &hosts, &labels);
    let findings = deal.check(m);
    let told = || format!("{text}: {judged:#?}, but {answers:#?} and {findings:#?}");
    let mut answered = 0;
    // If one query has no answer, none is told.
    let mut live = answers.as_ref().ok().map(|it| it.iter());
    let mut rules = findings.as_ref().map(|it| it.iter()).ok();
    for (asks, Judged { verdict, .. }) in &judged {
        match verdict {
            Verdict::Found(answer) => {
                answered += 1;
                let Some(live) = &mut live else { continue };
                let live = live.next().ok_or(TestCaseError::fail(told()))?;
                let live = Places::placed(&places.live, live);
                let captured = answer.clone().named(&snapshot);
                let captured = Places::placed(&places.captured, &captured);
                // As text, for what is no number is unlike itself.
                let shown = [live, captured].map(|it| format!("{it:?}"));
                prop_assert_eq!(&shown[0], &shown[1], "{}", told());
            }
            Verdict::Holds => answered += 1,
            // A question whose answer is a bare `false` is no rule on the live heap.
            Verdict::Fails(_) if *asks => {
                answered += 1;
                let Some(live) = &mut live else { continue };
                let live = live.next().ok_or(TestCaseError::fail(told()))?;
                prop_assert!(format!("{live:?}").contains("false"), "{}", told());
            }
            Verdict::Fails(expected) => {
                answered += 1;
                let found = rules.as_mut().and_then(Iterator::next);
                let found = found.ok_or(TestCaseError::fail(told()))?;
                prop_assert_eq!(found.fingerprint(), expected.fingerprint(), "{}", told());
                prop_assert_eq!(found.objects.len(), expected.objects.len(), "{}", told());
                prop_assert_eq!(found.severity, expected.severity);
                let counts = |it: &Finding| it.notes.len();
                prop_assert_eq!(counts(found), counts(expected), "{}", told());
            }
            Verdict::NotChecked(_) if *asks => {
                let refused = matches!(answers, Err(RulesError::Unanswered(_)));
                prop_assert!(refused, "{}", told());
            }
            Verdict::NotChecked(_) => {
                let found = rules.as_mut().and_then(Iterator::next);
                let found = found.ok_or(TestCaseError::fail(told()))?;
                prop_assert_eq!(&found.kind, "not-checked", "{}", told());
            }
        }
    }
    prop_assert!(rules.is_none_or(|mut it| it.next().is_none()), "{}", told());
    Ok(Some(answered))
}

/// Rule files with statements of all kinds, live and captured.
fn random_files(cases: u32, builder: fn() -> HeapBuilder) {
    use generate::Kind;
    let kinds = [Kind::Assertion, Kind::Gc, Kind::Formula, Kind::Query];
    let asked = [Kind::Query, Kind::Value, Kind::Set];
    let rules = kinds.map(|kind| generate::texts(kind).boxed());
    let questions = asked.map(|kind| generate::texts(kind).boxed());
    let all = rules.into_iter().chain(questions).collect::<Vec<_>>();
    let texts = proptest::collection::vec(proptest::strategy::Union::new(all), 1..5);
    let drawn = (heaps(), texts, any::<[bool; 2]>());
    let (fits, tried) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let run = TestRunner::new(config(cases)).run(&drawn, |(plan, texts, collect)| {
        let snapshot = plan.build();
        let heap = builder().log(false).build().unwrap();
        let mut m = heap.attach("t0").unwrap();
        let loaded = load(&heap, &mut m, &snapshot, set_variant);
        for object in snapshot.objects() {
            for label in generate::LABELS {
                if plan.label(object, label) {
                    m.label(loaded.object(object), label);
                }
            }
        }
        if collect[0] {
            m.collect_nursery();
        }
        if collect[1] {
            m.collect();
        }
        let bound = |name: &str| plan.host(name).map(|it| loaded.object(it).clone());
        let hosts = generate::HOSTS.map(|name| (name.to_string(), bound(name)));
        // Objects have other names on the live heap; roots have the same.
        let texts = texts.iter().filter(|it| !it.contains('#'));
        let text: Vec<&str> = texts.map(String::as_str).collect();
        let text = text.join(";\n");
        tried.fetch_add(1, Relaxed);
        if let Some(answered) = same_as_captured(&mut m, &text, &hosts)? {
            fits.fetch_add((answered > 0) as usize, Relaxed);
        }
        Ok(())
    });
    run.unwrap_or_else(|wrong| panic!("{wrong}"));
    let (fits, tried) = (fits.into_inner(), tried.into_inner());
    assert!(4 * fits >= tried, "{fits} of {tried} texts fit");
}

#[test]
fn whole_files_come_to_the_same_live_and_captured() {
    random_files(200, || {
        Heap::builder()
            .collector(Collector::MarkSweep)
            .collector_threads(1)
    });
    random_files(200, || {
        Heap::builder()
            .collector(Collector::Generational)
            .collector_threads(4)
    });
}

const WHOLE: &str = "
    rule positive: assertion(forall Node x: x.data > 0);
    rule linked: assertion(forall Node x: reach[d](x));
    rule few warning \"too many\": instances(Node) <= 2;
    rule own: owned_by(d, last);
    rule pairs: forall Node x: exists Node y: x.data == y.data;
    query Node x: reach[d](x) select sum(x.data);
    query Node x select x.id limit 2;
    reach(d).size();
    reach(last)";

#[test]
fn a_whole_file_is_checked_registered_and_asked() {
    for collector in COLLECTORS {
        let heap = quiet(collector);
        let mut m = heap.attach("main").unwrap();
        let [first, last] = [1, 2].map(|id| node(&mut m, id, id as i32));
        m[first].next.set(Some(&m[last]));
        let rules = |m: &Mutator<'_>| Rules::new(WHOLE).bind(m, "d", first).bind(m, "last", last);
        let before = heap.stats().full_collections;
        assert_eq!(rules(&m).check(&mut m).unwrap(), []);
        assert_eq!(
            heap.stats().full_collections,
            before + 1,
            "in one collection"
        );
        let answers = rules(&m).query(&mut m).unwrap();
        let number = |it: u64| verdict::Answer::Value(Datum::Plain(Value::Unsigned(it)));
        let sum = verdict::Answer::Value(Datum::Plain(Value::Unsigned(3)));
        assert_eq!(answers[0], sum);
        let verdict::Answer::Rows(rows, 2) = &answers[1] else {
            panic!("{answers:#?}")
        };
        let ids: BTreeSet<&str> = rows.iter().map(|it| it.1[0].as_str()).collect();
        assert_eq!(ids, BTreeSet::from(["1", "2"]));
        assert!(
            rows.iter()
                .all(|(object, _)| object.class == rows[0].0.class)
        );
        assert_eq!(answers[2], number(2));
        let verdict::Answer::Objects(objects, 1) = &answers[3] else {
            panic!("{answers:#?}")
        };
        assert_eq!(objects.len(), 1);
        let (_rules, told) = watch(rules(&m), &heap, &mut m);
        m.collect();
        assert!(told.lock().unwrap().is_empty());
        // A third one breaks all of them but one, and the last is let go by its owner.
        let _other = node(&mut m, 3, -7);
        m[first].next.clear();
        m.collect();
        m.collect();
        let told = std::mem::take(&mut *told.lock().unwrap());
        let mut kinds: Vec<&str> = told.iter().map(|it| it.kind.as_str()).collect();
        kinds.sort_unstable();
        assert_eq!(kinds, ["few", "linked", "own", "positive"], "{told:#?}");
        let few = told.iter().find(|it| it.kind == "few").unwrap();
        assert_eq!(few.severity, Severity::Warning);
        assert_eq!(few.message, "`few` does not hold: too many");
        assert_eq!(heap.findings().len(), 4);
    }
}

#[test]
fn a_text_that_only_asks_is_not_checked_and_a_rule_is_no_query() {
    let heap = quiet(Collector::MarkSweep);
    let mut m = heap.attach("main").unwrap();
    let _it = node(&mut m, 1, 1);
    for _ in 0..2 {
        let mut asks = Rules::new("query Node x; (num_of Node x: true)");
        assert_eq!(asks.check(&mut m), Err(RulesError::NoRule));
        assert_eq!(asks.query(&mut m).unwrap().len(), 2);
        let mut says = Rules::new("instances(Node) <= 1; forall Node x: exists Node y: x == y");
        assert_eq!(says.check(&mut m), Ok(vec![]));
        assert_eq!(says.query(&mut m), Err(RulesError::NoQuery));
    }
    let none: Option<heaphound::Root<Node>> = None;
    let mut null = Rules::new("d.next").bind(&m, "d", &none);
    let wrong = null.query(&mut m).unwrap_err();
    assert!(matches!(&wrong, RulesError::Unanswered(_)), "{wrong}");
}

#[test]
fn a_name_that_is_not_there_spoils_one_rule() {
    let heap = quiet(Collector::Generational);
    let mut m = heap.attach("main").unwrap();
    let _it = node(&mut m, 1, -1);
    let text = "
        rule lost: unshared(static:order);
        rule gone: dead(static:order);
        rule by_name: dead(Node#1);
        rule positive: assertion(forall Node x: x.data > 0);
        query Node x: x != static:order;
        query Node x select count()";
    let findings = Rules::new(text).check(&mut m).unwrap();
    let messages: Vec<&str> = findings.iter().map(|it| it.message.as_str()).collect();
    let expected = [
        "`lost` was not checked: there is no root `static:order`",
        "`by_name` was not checked: objects of this heap are not found by their names (bind a variable to it)",
        "`positive` does not hold",
    ];
    assert_eq!(messages, expected);
    let wrong = Rules::new(text).query(&mut m).unwrap_err().to_string();
    assert!(
        wrong.ends_with("there is no root `static:order`"),
        "{wrong}"
    );
}
