//! Rules about the live heap in safe code that does everything wrong.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use heaphound::finding::{Finding, Severity};
use heaphound::{
    Check, Collector, Evaluate, Header, Heap, Local, Managed, Mutator, Reaction, Registration,
    Rules, Slot, StoppedHeap, WeakSlot,
};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
    next: Slot<Node>,
    weak: WeakSlot<Node>,
}

#[derive(Managed)]
#[repr(C)]
struct Other {
    header: Header,
    value: i32,
}

const COLLECTORS: [Collector; 2] = [Collector::MarkSweep, Collector::Generational];

fn heap(collector: Collector) -> Heap {
    let builder = Heap::builder().collector(collector).log(false);
    builder.max_bytes(64 << 20).build().unwrap()
}

fn node<'a>(m: &mut Mutator<'a>, value: u64) -> Local<'a, Node> {
    let (next, weak) = (None, None);
    m.alloc(NodeInit { value, next, weak }).unwrap()
}

type Told = Arc<Mutex<Vec<Finding>>>;

fn watch(deal: Rules, heap: &Heap, m: &mut Mutator<'_>) -> (Registration, Told) {
    let told = Told::default();
    let calls = told.clone();
    let call = Reaction::Call(Arc::new(move |it| calls.lock().unwrap().push(it.clone())));
    (deal.register(heap, m, Some(call)).unwrap(), told)
}

/// Runs something that may wait for ever.
fn ends(what: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel();
    thread::spawn(move || {
        what();
        done.send(()).unwrap();
    });
    wait.recv_timeout(Duration::from_secs(120))
        .expect("it ends, and does not panic");
}

/// A text is understood against the classes of one heap, and is asked of another with as many.
#[test]
fn a_text_that_was_checked_on_one_heap_is_wrong_on_another() {
    let (one, two) = (heap(Collector::MarkSweep), heap(Collector::MarkSweep));
    let mut m = one.attach("main").unwrap();
    let mut n = two.attach("main").unwrap();
    let _it = node(&mut m, 7);
    let _other = n.alloc(OtherInit { value: -1 }).unwrap();
    assert_eq!(m.classes().len(), n.classes().len());
    let mut deal = Rules::new("assertion(forall x: x.value >= 0)");
    assert!(deal.check(&mut m).unwrap().is_empty());
    assert_eq!(deal.check(&mut n).unwrap().len(), 1);
    let mut nodes = Rules::new("assertion(forall Node x: x.next == null)");
    assert!(nodes.check(&mut m).unwrap().is_empty());
    let findings = nodes.check(&mut n).unwrap();
    assert_eq!(findings[0].kind, "not-checked", "it has no `Node`");
    assert!(findings[0].message.contains("there is no class `Node`"));
}

/// A class that the heap does not know spoils only the rules that speak of it, and until it does.
#[test]
fn a_rule_about_an_unknown_class_is_not_checked() {
    for collector in COLLECTORS {
        let heap = heap(collector);
        let mut m = heap.attach("main").unwrap();
        let _it = node(&mut m, 7);
        let text = "rule others: assertion(forall Other x: x.value > 0);
                    rule nodes: assertion(forall Node x: x.next != null);";
        let kinds = |findings: Vec<Finding>| -> Vec<String> {
            findings.into_iter().map(|it| it.kind).collect()
        };
        let mut rules = Rules::new(text);
        assert_eq!(
            kinds(rules.check(&mut m).unwrap()),
            ["not-checked", "nodes"]
        );

        let mut rules_with_option = Rules::new(format!("optional class Other; {text}"));
        assert_eq!(kinds(rules_with_option.check(&mut m).unwrap()), ["nodes"]);
        let (_rule, told) = watch(Rules::new(text), &heap, &mut m);
        m.collect();
        let first = kinds(std::mem::take(&mut *told.lock().unwrap()));
        assert_eq!(first, ["not-checked", "nodes"]);
        let _other = m.alloc(OtherInit { value: -1 }).unwrap();
        assert_eq!(kinds(rules.check(&mut m).unwrap()), ["others", "nodes"]);
        assert_eq!(
            kinds(rules_with_option.check(&mut m).unwrap()),
            ["others", "nodes"]
        );
        m.collect();
        let then = kinds(std::mem::take(&mut *told.lock().unwrap()));
        assert_eq!(then, ["others"], "what was told is not told again");
    }
}

/// The mutator with which a text is checked is not one of the heap that is to ask.
#[test]
fn a_rule_is_registered_with_a_mutator_of_another_heap() {
    let (one, two) = (heap(Collector::MarkSweep), heap(Collector::MarkSweep));
    let mut m = one.attach("main").unwrap();
    let mut n = two.attach("main").unwrap();
    let _it = node(&mut m, 7);
    let _other = n.alloc(OtherInit { value: -1 }).unwrap();
    let deal = Rules::new("assertion(forall Node x: x.next == null)");
    let told = Told::default();
    let calls = told.clone();
    let call = Reaction::Call(Arc::new(move |it| calls.lock().unwrap().push(it.clone())));
    let registered = deal.register(&two, &mut m, Some(call));
    n.collect();
    let told = told.lock().unwrap();
    // Either it is refused, or it is said that there is no such class.
    if registered.is_ok() {
        assert_eq!(told.len(), 1, "{told:#?}");
        assert_eq!(told[0].kind, "not-checked");
    }
}

#[test]
fn a_handle_of_another_heap_is_no_null() {
    let (one, two) = (heap(Collector::MarkSweep), heap(Collector::MarkSweep));
    let mut m = one.attach("main").unwrap();
    let mut n = two.attach("main").unwrap();
    let a = node(&mut m, 7);
    let _b = node(&mut n, 7);
    let mut deal = Rules::new("assertion(forall Node x: !reach[d](x))").bind(&m, "d", a);
    assert_eq!(deal.check(&mut m).unwrap().len(), 1);
    // Its host variable is an object of another heap: nothing can be said here.
    let findings = deal.check(&mut n).unwrap();
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].kind, "not-checked");
}

#[test]
fn expressions_know_labels() {
    for collector in COLLECTORS {
        let heap = heap(collector);
        let mut m = heap.attach("main").unwrap();
        let [a, b] = [1, 2].map(|value| node(&mut m, value));
        m.label(a, "done");
        assert!(m.holds("exists Node x: x is done", &[]).unwrap());
        assert!(m.holds("(num_of Node x: x is done) == 1", &[]).unwrap());
        assert!(
            m.holds("a is done && !(b is done)", &[("a", &a), ("b", &b)])
                .unwrap()
        );
    }
}

/// An inquiry that adds another.
struct Recursive(Arc<Heap>, Arc<Mutex<Vec<Registration>>>);

struct Nothing;

impl Check for Nothing {
    fn before(&mut self, _: &StoppedHeap<'_>) {}
}

impl Check for Recursive {
    fn before(&mut self, _: &StoppedHeap<'_>) {
        let more = self.0.watch(Box::new(Nothing), None);
        self.1.lock().unwrap().push(more);
    }
}

#[test]
fn an_inquiry_registers_another() {
    ends(|| {
        let heap = Arc::new(heap(Collector::MarkSweep));
        let mut m = heap.attach("main").unwrap();
        let others = Arc::default();
        let _rule = heap.watch(Box::new(Recursive(heap.clone(), Arc::clone(&others))), None);
        m.collect();
        m.collect();
        assert_eq!(others.lock().unwrap().len(), 2);
    });
}

/// An inquiry that lets go of another, or of itself.
struct Dropping(Arc<Mutex<Vec<Registration>>>);

impl Check for Dropping {
    fn before(&mut self, _: &StoppedHeap<'_>) {
        let gone = std::mem::take(&mut *self.0.lock().unwrap());
        drop(gone);
    }
}

#[test]
fn an_inquiry_is_let_go_while_it_is_asked() {
    ends(|| {
        let heap = heap(Collector::MarkSweep);
        let mut m = heap.attach("main").unwrap();
        let all: Arc<Mutex<Vec<Registration>>> = Arc::default();
        let own = heap.watch(Box::new(Dropping(all.clone())), None);
        let other = heap.watch(Box::new(Nothing), None);
        all.lock().unwrap().extend([own, other]);
        m.collect();
        m.collect();
        assert!(all.lock().unwrap().is_empty());
    });
}

/// A reaction that lets go of its rule.
#[test]
fn a_reaction_drops_its_registration() {
    ends(|| {
        let heap = heap(Collector::Generational);
        let mut m = heap.attach("main").unwrap();
        let _it = node(&mut m, 7);
        let slot: Arc<Mutex<Option<Registration>>> = Arc::default();
        let inner = slot.clone();
        let call = Reaction::Call(Arc::new(move |_| drop(inner.lock().unwrap().take())));
        let deal = Rules::new("assertion(forall Node x: x.value == 0)");
        let rule = deal.register(&heap, &mut m, Some(call)).unwrap();
        *slot.lock().unwrap() = Some(rule);
        m.collect();
        assert!(slot.lock().unwrap().is_none());
        m.collect();
        assert_eq!(heap.findings()[0].collections, 1);
    });
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic!("while it is dropped");
        }
    }
}

struct Panics;

impl Check for Panics {
    fn before(&mut self, _: &StoppedHeap<'_>) {
        std::panic::panic_any(Bomb)
    }
}

/// What a panic carries panics, too, when it is dropped.
#[test]
fn an_inquiry_panics_with_something_that_panics() {
    ends(|| {
        let heap = heap(Collector::Generational);
        let mut m = heap.attach("main").unwrap();
        let it = node(&mut m, 7);
        let _rule = heap.watch(Box::new(Panics), None);
        m.collect();
        m.collect();
        assert_eq!(m[it].value, 7);
        assert_eq!(heap.findings().len(), 1);
    });
}

/// A weak host variable whose object dies takes its rule with it, and says nothing else.
#[test]
fn a_rule_fails_because_its_weak_host_has_died() {
    for collector in COLLECTORS {
        let heap = heap(collector);
        let mut m = heap.attach("main").unwrap();
        let _keep = node(&mut m, 1);
        let d = {
            let mut m = m.scope();
            let it = node(&mut m, 2);
            m.root(&m[it])
        };
        let text = "assertion(exists Node x: reach[d](x))";
        let (_rule, told) = watch(Rules::new(text).bind_weak(&m, "d", &d), &heap, &mut m);
        m.collect();
        assert!(told.lock().unwrap().is_empty());
        drop(d);
        for _ in 0..3 {
            m.collect();
        }
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 1, "{told:#?}");
        assert_eq!(told[0].severity, Severity::Note);
    }
}

/// A rule without relations shares the traversal of one whose relations overlap.
#[test]
fn an_assert_disjoint_without_relations_fails_for_those_of_another_rule() {
    let heap = heap(Collector::MarkSweep);
    let mut m = heap.attach("main").unwrap();
    let [a, b, c] = [1, 2, 3].map(|value| node(&mut m, value));
    m[a].next.set(Some(&m[c]));
    m[b].next.set(Some(&m[c]));
    let text = "rule two: unsafeAssert(forall Node x: reach[a](x) || reach[b](x));
                rule none: assertDisjoint(forall Node x: x.value > 0);";
    let mut deal = Rules::new(text).bind(&m, "a", a).bind(&m, "b", b);
    let told = deal.check(&mut m).unwrap();
    assert!(told.is_empty(), "{told:#?}");
}

/// What is bound later is the same variable again.
#[test]
fn a_variable_is_bound_twice() {
    let heap = heap(Collector::MarkSweep);
    let mut m = heap.attach("main").unwrap();
    let [a, b] = [1, 2].map(|value| node(&mut m, value));
    let mut deal = Rules::new("assertion(forall Node x: x.value == 2 -> reach[d](x))")
        .bind(&m, "d", a)
        .bind(&m, "d", b);
    assert!(deal.check(&mut m).unwrap().is_empty());
}

/// What only asks is refused, and is so when it is tried again; what is no traversal is checked.
#[test]
fn a_query_or_an_expression_passes_for_a_rule() {
    let heap = heap(Collector::MarkSweep);
    let mut m = heap.attach("main").unwrap();
    let _it = node(&mut m, 1);
    for (text, found) in [
        ("query Node x: x.value > 0", None),
        ("forall Node x: exists Node y: x == y", Some(0)),
        ("forall Node x: exists Node y: x != y", Some(1)),
        ("rule few: instances(Node) <= 0", Some(1)),
    ] {
        let mut deal = Rules::new(text);
        for _ in 0..2 {
            let findings = deal.check(&mut m).ok().map(|it| it.len());
            assert_eq!(findings, found, "{text}");
        }
    }
}

/// Rules come and go, and objects get labels and lose them, while others collect.
#[test]
fn rules_and_labels_come_and_go_on_all_threads() {
    for collector in COLLECTORS {
        ends(move || {
            let builder = Heap::builder().collector(collector).log(false);
            let heap = builder.collector_threads(2).max_bytes(64 << 20);
            let heap = heap.zeal(7).build().unwrap();
            thread::scope(|scope| {
                for name in ["one", "two", "three"] {
                    let heap = &heap;
                    scope.spawn(move || come_and_go(heap, name));
                }
            });
        });
    }
}

fn come_and_go(heap: &Heap, name: &str) {
    let mut m = heap.attach(name).unwrap();
    for turn in 0..40 {
        let mut m = m.scope();
        let [a, b] = [turn, turn + 1].map(|value| node(&mut m, value));
        m[a].next.set(Some(&m[b]));
        m[a].weak.set(Some(&m[b]));
        m.label(b, name);
        let text = format!(
            "rule own: assertion(forall Node x: x is {name} -> reach[a](x));
             rule old: assertDisjoint(forall Node x: !(reach[a/b](x) && reach[b](x)));
             rule new: assertion(exists Node x: reach[a.weak](x) && x is {name});"
        );
        let deal = |m: &Mutator<'_>| Rules::new(&*text).bind(m, "a", a).bind_weak(m, "b", b);
        let (rule, told) = watch(deal(&m), heap, &mut m);
        match turn % 3 {
            0 => m.collect(),
            1 => assert!(deal(&m).check(&mut m).unwrap().is_empty()),
            _ => m.collect_nursery(),
        }
        assert!(m.has_label(b, name));
        drop(rule);
        m.unlabel(b, name);
        let told = told.lock().unwrap();
        assert!(told.is_empty(), "{told:#?}");
    }
}

/// As many relations as there may be use up all marks at each run, in the middle of a collection
/// that relies on them.
#[test]
fn marks_run_out_in_the_middle_of_a_collection() {
    for collector in COLLECTORS {
        for threads in [1, 4] {
            let builder = Heap::builder().collector(collector).log(false);
            let heap = builder.collector_threads(threads).max_bytes(64 << 20);
            let heap = heap.build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let heads: Vec<_> = (0..120).map(|it| node(&mut m, it)).collect();
            for (place, &head) in heads.iter().enumerate() {
                for value in 0..20 {
                    let mut m = m.scope();
                    let it = node(&mut m, 1_000 + 20 * place as u64 + value);
                    m[it].next.set(m[head].next.get());
                    m[head].next.set(Some(&m[it]));
                }
            }
            let relations = (0..120).map(|it| format!("reach[d{it}](x)"));
            let relations = relations.collect::<Vec<_>>().join(" || ");
            for text in [
                format!("unsafeAssert(forall Node x: {relations})"),
                format!("assertDisjoint(forall Node x: {relations})"),
                format!("unsafeAssert(forall Node x: !({relations}))"),
            ] {
                let holds = !text.contains('!');
                let deal = |m: &Mutator<'_>| {
                    let all = heads.iter().enumerate();
                    all.fold(Rules::new(&*text), |deal, (place, head)| {
                        deal.bind(m, &format!("d{place}"), *head)
                    })
                };
                let (_rule, told) = watch(deal(&m), &heap, &mut m);
                let mut again = deal(&m);
                for _ in 0..3 {
                    assert_eq!(again.check(&mut m).unwrap().is_empty(), holds);
                    m.collect();
                    for value in 0..5_000 {
                        node(&mut m.scope(), 1_000_000 + value);
                    }
                    let mut sum = 0;
                    for &head in &heads {
                        let mut next = m[head].next.get();
                        while let Some(it) = next {
                            sum += it.value;
                            next = it.next.get();
                        }
                    }
                    assert_eq!(sum, (1_000..3_400).sum::<u64>());
                }
                let told = told.lock().unwrap();
                assert_eq!(told.is_empty(), holds, "{told:#?}");
            }
        }
    }
}

/// Objects with labels, and those that host variables stand for, move to other blocks.
#[test]
fn labels_and_hosts_are_left_behind_by_objects_that_move() {
    for collector in COLLECTORS {
        let heap = heap(collector);
        let mut m = heap.attach("main").unwrap();
        let first = node(&mut m, 0);
        let mut moved = 0;
        const COUNT: usize = 100_000;
        let all = m.alloc_refs::<Node>(COUNT).unwrap();
        for at in 0..COUNT {
            let mut m = m.scope();
            let it = node(&mut m, at as u64);
            m[all][at].set(Some(&m[it]));
            match at % 100 {
                0 => {
                    m.label(it, "kept");
                    m[it].next.set(m[first].next.get());
                    m[first].next.set(Some(&m[it]));
                }
                _ => m.label(it, "lost"),
            }
        }
        m.collect_nursery();
        for at in 0..COUNT {
            m[all][at].clear();
        }
        let last = {
            let last = m[first].next.get().expect("many follow");
            m.root(last)
        };
        let text = "rule kept: assertion(forall Node x: x is kept <-> reach[last](x));
                    rule lost: assertion(!(exists Node x: x is lost && reach[first](x)));
                    rule far: assertDisjoint(forall Node x: reach[first/last](x) || reach[last](x));";
        let deal = Rules::new(text).bind(&m, "first", first);
        let (_rule, told) = watch(deal.bind_weak(&m, "last", &last), &heap, &mut m);
        for _ in 0..6 {
            m.collect();
            let stats = heap.stats();
            moved += stats.history.back().map_or(0, |it| it.compacted_bytes);
            let text = "(num_of Node x: x is kept) == 1000 && (num_of Node x: x is lost) == 0";
            assert!(m.holds(text, &[]).unwrap());
        }
        assert!(moved > 0, "nothing moved");
        assert_eq!(m.inspect(|view| view.labelled("kept").len()), 1_000);
        assert_eq!(m.inspect(|view| view.labelled("lost").len()), 0);
        let told = told.lock().unwrap();
        assert!(told.is_empty(), "{told:#?}");
    }
}
