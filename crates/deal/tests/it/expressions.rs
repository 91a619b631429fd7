//! PHALANX expressions: by hand on a small heap, and on random heaps as probes and as written.
//!
//! `HEAPHOUND_CASES` multiplies the number of heaps.

use expect_test::{Expect, expect};
use heaphound_deal::bind::Binder;
use heaphound_deal::check::{Scope, compile};
use heaphound_deal::datum::Datum;
use heaphound_deal::diagnostic::Diagnostics;
use heaphound_deal::expr::{Answer, Expression, Matching};
use heaphound_deal::syntax::HostName;
use heaphound_heap::probe::Probes;
use heaphound_heap::root::Part;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{Root, RootKind};
use heaphound_testkit::cases::config;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Two threads with a pool of connections, as in the paper's figure 2.
const HEAP: &str = "
root static:pool -> Pool#1
root thread-object:one -> Thread#1
root thread-object:two -> Thread#2
root one -> Connection#1, Buffer#1
root two -> Connection#1, Buffer#2
Pool#1 { first -> Connection#1, second -> Connection#2 }
Connection#1 { socket -> Socket#1, uses = 2 }
Connection#2 { socket -> Socket#2, uses = 0 }
Buffer#2.next -> Buffer#3
Thread#1.local -> Local#1
Thread#2.local -> Local#1
Orphan#1.next -> Orphan#2
Orphan#3.next -> Orphan#2
";

fn read(text: &str) -> Snapshot {
    heaphound_snapshot::read(text.as_bytes(), "heap", &mut |_, _| {}).unwrap()
}

type Variables<'a> = &'a [(&'a str, Option<ObjectId>)];

/// Evaluates a text, as probes and as written, which must be the same.
fn evaluate(
    heap: &Snapshot,
    text: &str,
    variables: Variables<'_>,
    asker: Option<&str>,
) -> Result<(Answer<ObjectId>, String), String> {
    let mut scope = Scope::new(heap.classes());
    let mut binder = Binder::of(heap)
        .ask_as(asker)
        .objects(|class, number| heap.find(class, number));
    for (name, object) in variables {
        scope = scope.bind(name, object.map(|it| heap.class_of(it)));
        binder = binder.variable(name, *object);
    }
    let resolved = compile("text", text, &scope).map_err(|it| it.to_string())?;
    let wrong = |list| Diagnostics::new("text", text, list).to_string();
    let bindings = binder.bind(&resolved).map_err(wrong)?;
    let answers = [Matching::Probes, Matching::AsWritten].map(|matching| {
        let expression = Expression::of(&resolved, &resolved.rules[0], matching).unwrap();
        let mut probes = Probes::of(heap).threads(1);
        if let Some(asker) = asker {
            probes = probes.ask_as(asker).unwrap();
        }
        let evaluated = expression.evaluate(&probes, &bindings);
        let answer = evaluated.map(|it| it.answer);
        (answer, expression.explain().to_string())
    });
    let [(answer, explained), (as_written, _)] = answers;
    assert_eq!(answer, as_written, "{text}");
    match answer {
        Ok(answer) => Ok((answer, explained)),
        Err(diagnostic) => Err(wrong(vec![diagnostic])),
    }
}

/// What an expression comes to, and how.
fn check(text: &str, asker: Option<&str>, expect: Expect) {
    let heap = read(HEAP);
    let told = match evaluate(&heap, text, &[], asker) {
        Err(wrong) => wrong,
        Ok((answer, explained)) => {
            let answer = match answer {
                Answer::Truth(holds) => holds.to_string(),
                Answer::Value(Datum::Plain(value)) => value.to_string(),
                Answer::Value(Datum::Object(object)) => heap.name_of(object),
                Answer::Value(other) => format!("{other:?}"),
                Answer::Set(set) => {
                    let names: Vec<String> = set.iter().map(|it| heap.name_of(it)).collect();
                    format!("{{{}}}", names.join(", "))
                }
            };
            format!("{answer}; {explained}")
        }
    };
    expect.assert_eq(&told);
}

#[test]
fn table_2_runs_as_probes() {
    let is = |text: &str, expected: &str| {
        let heap = read(HEAP);
        let (answer, explained) = evaluate(&heap, text, &[], Some("one")).unwrap();
        let answer = match answer {
            Answer::Truth(holds) => holds.to_string(),
            Answer::Set(set) => set.len().to_string(),
            other => panic!("{other:?}"),
        };
        let probe = explained.strip_prefix("runs as the probe ").unwrap_or("?");
        let probe = probe.split(':').next().unwrap();
        assert_eq!(format!("{probe} {answer}"), expected, "{text}");
    };
    is("pred(Connection#1).size() > 0", "is_heap true");
    is("!pred(Pool#1).is_empty()", "is_heap false");
    is("0 < pred(Connection#1).size()", "is_heap true");
    is("pred(Connection#1).size() == 0", "is_heap false");
    is("pred(Connection#1) == {}", "is_heap false");
    is("pred(Local#1).size() > 1", "is_shared true");
    is("pred(Connection#1).size() >= 2", "is_shared false");
    is("1 >= pred(Local#1).size()", "is_shared false");
    is("reach(Pool#1).has(Socket#2)", "is_reachable true");
    is("!(Socket#2 in reach(Pool#1))", "is_reachable false");
    is(
        "!(exists Object v; reach(Thread#1).has(v); reach(Thread#2).has(v))",
        "is_disjoint false",
    );
    is(
        "forall v: reach(Pool#1).has(v) -> !reach(Thread#2).has(v)",
        "is_disjoint true",
    );
    is(
        "(reach(Pool#1) & reach(Thread#2)).is_empty()",
        "is_disjoint true",
    );
    is(
        "exists Object v; reach(Thread#1).has(v); reach(Thread#2).has(v)",
        "is_disjoint true",
    );
    is(
        "!(exists Object v; reach(Pool#1).has(v); !dom(Pool#1, v))",
        "is_unique_owner false",
    );
    is(
        "\\forall Object v; reach(Connection#2).has(v); dom(Connection#2, v)",
        "is_unique_owner true",
    );
    is(
        "!reach(Pool#1, {Connection#1}).has(Socket#1)",
        "reach_through true",
    );
    is(
        "reach(Pool#1, {Connection#2}).has(Socket#1)",
        "reach_through true",
    );
    is("dom(Pool#1, Connection#2)", "is_object_owned true");
    is(
        "dom(current_thread(), Local#1)",
        "is_thread_object_owned false",
    );
    is(
        "dom(stack(current_thread()), Buffer#1)",
        "is_thread_stack_owned true",
    );
    is(
        "dom(stack(current_thread()), Connection#1)",
        "is_thread_stack_owned false",
    );
    is(
        "!dom(roots(current_thread()), Local#1)",
        "is_thread_owned true",
    );
    is(
        "{Thread t | running().has(t) && (reach(t).has(Local#1) || reach(stack(t)).has(Local#1))}",
        "thread_reach 2",
    );
    is(
        "{t | running().has(t) && reach(stack(t), {Connection#1}).has(Socket#1)}",
        "thread_stack_reach 0",
    );
}

#[test]
fn what_is_asked_of_many_objects_is_found_out_at_once() {
    check(
        "forall Connection c: (\\num_of Thread t; running().has(t); reach(roots(t), {static:pool}).has(c)) <= 1",
        None,
        expect![
            "false; evaluated with the probe thread_reach: 1 traversal, 1 for each running thread"
        ],
    );
    check(
        "{Object x | is_shared(x)}",
        None,
        expect!["{Local#1}; evaluated as it is written: 2 traversals"],
    );
    check(
        "{x | dom(static:pool, x)}",
        None,
        expect!["{Pool#1, Connection#2, Socket#2}; evaluated as it is written: 3 traversals"],
    );
    check(
        "{Connection c | exists Object v; reach(c).has(v); pred(v).size() > 1 || c.uses == 2}",
        None,
        expect![
            "{Connection#1}; evaluated as it is written: 2 traversals, 1 for each object of `c`; a look at each object of `v` for each of `c`"
        ],
    );
    check(
        "forall x: is_reachable(static:pool, Socket#1)",
        None,
        expect!["true; evaluated with the probe is_reachable: 2 traversals"],
    );
}

#[test]
fn values_and_sets_are_answers_too() {
    check(
        "Pool#1.first.uses",
        None,
        expect!["2; evaluated as it is written: no traversal"],
    );
    check(
        "Pool#1.second",
        None,
        expect!["Connection#2; evaluated as it is written: no traversal"],
    );
    check(
        "reach(Buffer#2) | {Pool#1} - {Buffer#3}",
        None,
        expect!["{Pool#1, Buffer#2, Buffer#3}; evaluated as it is written: 1 traversal"],
    );
    check(
        "\\num_of Connection c; c.uses > 0",
        None,
        expect!["1; evaluated as it is written: 1 traversal"],
    );
    check(
        "stack(thread:two)",
        None,
        expect!["{Connection#1, Buffer#2}; evaluated as it is written: no traversal"],
    );
    check(
        "thread_reach(Connection#1).size()",
        None,
        expect!["2; runs as the probe thread_reach: 1 for each running thread"],
    );
}

#[test]
fn garbage_is_not_among_the_objects_of_a_quantifier() {
    let orphans = "(reach(Orphan#1) & reach(Orphan#3)).is_empty()";
    check(
        orphans,
        None,
        expect!["false; runs as the probe is_disjoint: 2 traversals"],
    );
    let quantified = "!(exists v; reach(Orphan#1).has(v); reach(Orphan#3).has(v))";
    check(
        quantified,
        None,
        expect!["true; runs as the probe is_disjoint: 2 traversals"],
    );
    check(
        "\\num_of Orphan x; true",
        None,
        expect!["0; evaluated as it is written: 1 traversal"],
    );
}

#[test]
fn null_is_like_null_and_references_have_no_order() {
    check(
        "Buffer#3.next == null && Buffer#3.next == Buffer#1.next",
        None,
        expect!["true; evaluated as it is written: no traversal"],
    );
    check(
        "Buffer#3.next <= Buffer#1.next",
        None,
        expect![[r#"
        text:1:1: objects have no order
          Buffer#3.next <= Buffer#1.next
          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ compare their fields"#]],
    );
}

#[test]
fn what_has_no_answer_says_where() {
    check(
        "dom(static:pol, Pool#1)",
        None,
        expect![[r#"
        text:1:5: there is no root `static:pol`
          dom(static:pol, Pool#1)
              ^^^^^^^^^^ did you mean `static:pool`?"#]],
    );
    check(
        "dom(stack(current_thread()), Buffer#1)",
        None,
        expect![[r#"
        text:1:11: the question is about the asking thread, and no thread was named as such
          dom(stack(current_thread()), Buffer#1)
                    ^^^^^^^^^^^^^^"#]],
    );
    check(
        "thread:one.next == null",
        None,
        expect![[r#"
        text:1:1: `thread:one` stands for 2 objects
          thread:one.next == null
          ^^^^^^^^^^ which one? The first is thread:one[0]"#]],
    );
    check(
        "Buffer#3.next.next == null || true",
        None,
        expect![[r#"
            text:1:1: something is read of null here
              Buffer#3.next.next == null || true
              ^^^^^^^^^^^^^^^^^^"#]],
    );
    check(
        "reach(Pool#2).size()",
        None,
        expect![[r#"
        text:1:7: there is no object `Pool#2`
          reach(Pool#2).size()
                ^^^^^^"#]],
    );
}

#[test]
fn the_tallest_expression_needs_no_more_than_a_small_stack() {
    let mut set = "reach(Pool#1)".to_string();
    let mut formula = "true".to_string();
    for depth in 0.. {
        let taller = (
            format!("{{x{depth} | x{depth} in {set}}}"),
            format!("!(exists y{depth}: {formula})"),
        );
        let scope_heap = read(HEAP);
        let fits = |text: &str| compile("text", text, &Scope::new(scope_heap.classes())).is_ok();
        if !fits(&taller.0) || !fits(&taller.1) {
            break;
        }
        (set, formula) = taller;
    }
    let small = std::thread::Builder::new().stack_size(2 << 20);
    let done = small.spawn(move || {
        let heap = read(HEAP);
        let (answer, _) = evaluate(&heap, &set, &[], None).unwrap();
        assert!(matches!(answer, Answer::Set(set) if set.len() == 5));
        evaluate(&heap, &formula, &[], None).unwrap();
    });
    done.unwrap().join().unwrap();
}

/// Patterns and expressions like them. `a`, `b`, `c` are objects or null.
const TEXTS: [&str; 44] = [
    "pred(a).size() > 1",
    "pred(a).size() <= 0",
    "!pred(a).is_empty()",
    "2 <= pred(a).size()",
    "{} != pred(a)",
    "reach(a).has(b)",
    "!reach(a, {c}).has(b)",
    "reach(a, {b, c}).has(b)",
    "(reach(a) & reach(b)).is_empty()",
    "(reach(a) & reach(b)).size() != 0",
    "!(exists v; reach(a).has(v); reach(b).has(v))",
    "exists v: v in reach(a) && v in reach(b)",
    "exists N v: v in reach(a) && v in reach(b)",
    "forall v; reach(b).has(v); !reach(a).has(v)",
    "forall v: reach(a).has(v) -> dom(a, v)",
    "!(exists v; reach(a).has(v); !dom(a, v))",
    "exists v; !dom(a, v); reach(a).has(v)",
    "forall v: reach(a).has(v) -> dom(b, v)",
    "dom(a, b)",
    "dom({a, b}, c)",
    "dom(reach(a), b)",
    "dom(stack(a), b)",
    "dom(roots(thread:t0), b)",
    "dom(current_thread(), a)",
    "dom(stack(current_thread()), a)",
    "dom(roots(current_thread()), a)",
    "forall x: dom(stack(current_thread()), x) <-> is_thread_stack_owned(x)",
    "forall x: dom(roots(current_thread()), x) <-> is_thread_owned(x)",
    "forall x: is_shared(x) <-> pred(x).size() > 1",
    "forall x: is_unique_owner(x) <-> (forall v; reach(x).has(v); dom(x, v))",
    "forall x: forall y: is_disjoint(x, y) <-> (reach(x) & reach(y)) == {}",
    "forall x: reach_through(a, {x}, b) <-> !reach(a, {x}).has(b)",
    "thread_reach(a, {b})",
    "{t | running().has(t) && (reach(t, {b}).has(a) || reach(stack(t), {b}).has(a))}",
    "{N t | reach(stack(t), {b}).has(a) && running().has(t)}",
    "{t | running().has(t) && reach(t, {b.p}).has(a.p)}",
    "{x | (\\num_of t; running().has(t); reach(roots(t), {a}).has(x)) == 1}",
    "{x | (\\num_of t; running().has(t); reach(t, {x}).has(a)) == 1}",
    "{x | exists y: y.p == x && reach(y).has(a) && x.q != null}",
    "{x | x in reach(a) | reach(x.p) && !(x in reach(b))}",
    "{x | reach[a/b || b/c](x) -> x.p.q == x}",
    "reach(stack(thread:t0), pred(a)) - reach(roots(thread:t1))",
    "{x | reach(a).has(b) && (exists y: reach(b).has(c)) || is_heap(x)}",
    "(\\num_of x; exists y: x.p == y) == (\\num_of x; x.p != null)",
];

#[derive(Clone, Debug)]
struct Plan {
    objects: Vec<(bool, [Option<usize>; 2])>,
    threads: [(usize, Vec<usize>); 2],
    statics: Vec<usize>,
    bound: [Option<usize>; 3],
    asks: Option<bool>,
}

fn plans() -> impl Strategy<Value = Plan> {
    let number = || 0..1_000usize;
    let slots = [
        option::weighted(0.6, number()),
        option::weighted(0.4, number()),
    ];
    let objects = vec((any::<bool>(), slots), 1..10);
    let thread = || (number(), vec(number(), 0..3));
    let threads = [thread(), thread()];
    let statics = vec(number(), 0..3);
    let bound = [(); 3].map(|()| option::weighted(0.95, number()));
    let all = (objects, threads, statics, bound, option::of(any::<bool>()));
    all.prop_map(|(objects, threads, statics, bound, asks)| Plan {
        objects,
        threads,
        statics,
        bound,
        asks,
    })
}

impl Plan {
    fn at(&self, number: usize) -> ObjectId {
        ObjectId((number % self.objects.len()) as u32)
    }

    fn build(&self) -> Snapshot {
        let mut builder = SnapshotBuilder::default();
        let n = builder.add_class("N", None, &["p", "q"]);
        let m = builder.add_class("M", None, &["p", "q"]);
        for (is_n, slots) in &self.objects {
            builder.add_object(if *is_n { n } else { m }, 16);
            for (place, target) in slots.iter().enumerate() {
                if let Some(target) = target {
                    builder.add_edge(Place::Field(place as u32), self.at(*target));
                }
            }
        }
        for (nth, (object, stack)) in self.threads.iter().enumerate() {
            let name = format!("t{nth}");
            builder.add_thread(&name);
            builder.add_root(Root::new(RootKind::ThreadObject, &name), self.at(*object));
            for (index, local) in stack.iter().enumerate() {
                let root = Root {
                    index: index as u32,
                    ..Root::new(RootKind::ThreadStack, &name)
                };
                builder.add_root(root, self.at(*local));
            }
        }
        for (nth, object) in self.statics.iter().enumerate() {
            let root = Root::new(RootKind::Static, &format!("s{nth}"));
            builder.add_root(root, self.at(*object));
        }
        builder.finish().unwrap()
    }
}

#[test]
fn expressions_mean_the_same_as_probes_and_as_written() {
    let mut runner = TestRunner::new(config(400));
    let check = |plan: Plan| {
        let heap = plan.build();
        let asker = plan.asks.map(|second| if second { "t1" } else { "t0" });
        let [a, b, c] = plan.bound.map(|it| it.map(|it| plan.at(it)));
        for text in TEXTS {
            let answer = evaluate(&heap, text, &[("a", a), ("b", b), ("c", c)], asker);
            let both_ways = text.contains("<->") || text.starts_with("(\\num_of");
            if let (true, Ok((answer, _))) = (both_ways, answer) {
                prop_assert_eq!(answer, Answer::Truth(true), "{}", text);
            }
        }
        let (Some(a), Some(b), Some(c)) = (a, b, c) else {
            return Ok(());
        };
        let mut probes = Probes::of(&heap).threads(1);
        if let Some(asker) = asker {
            probes = probes.ask_as(asker).unwrap();
        }
        let mut thread_objects = Vec::new();
        heap.for_each_root(|root, object| {
            if root.kind == RootKind::ThreadObject {
                thread_objects.push(object);
            }
        });
        thread_objects.sort_unstable();
        let shared = thread_objects.windows(2).any(|it| it[0] == it[1]);
        let owned = |part| probes.is_thread_owned(a, part).ok();
        let live = probes.reach_all();
        let common = probes.reach(a).intersection(&probes.reach(b));
        let expected = [
            ("pred(a).size() > 1", Some(probes.is_shared(a))),
            ("pred(a).size() == 0", Some(!probes.is_heap(a))),
            ("reach(a).has(b)", Some(probes.is_reachable(a, b))),
            (
                "!reach(a, {c}).has(b)",
                Some(probes.reach_through(a, &[c], b)),
            ),
            (
                "(reach(a) & reach(b)).is_empty()",
                Some(probes.is_disjoint(a, b)),
            ),
            (
                "!(exists v; reach(a).has(v); reach(b).has(v))",
                Some(common.is_disjoint(&live)),
            ),
            (
                "forall v; reach(a).has(v); dom(a, v)",
                Some(probes.is_unique_owner(a)),
            ),
            ("dom(a, b)", Some(probes.dom(a, b))),
            ("dom(current_thread(), a)", owned(Part::Object)),
            ("dom(stack(current_thread()), a)", owned(Part::Stack)),
            ("dom(roots(current_thread()), a)", owned(Part::Both)),
            (
                "(\\num_of t; running().has(t); reach(roots(t), {b}).has(a)) >= 1",
                // No quantifier tells threads apart that have the same object.
                (!shared).then(|| !probes.thread_reach(a, &[b], Part::Both).is_empty()),
            ),
        ];
        for (text, expected) in expected {
            let variables = [("a", Some(a)), ("b", Some(b)), ("c", Some(c))];
            let answer = evaluate(&heap, text, &variables, asker);
            let answer = answer.ok().map(|(answer, _)| answer);
            prop_assert_eq!(answer, expected.map(Answer::Truth), "{}", text);
        }
        Ok(())
    };
    runner.run(&plans(), check).unwrap();
}

/// Evaluates a text on a heap, with a set that is bound from outside.
fn with_set(heap: &Snapshot, set: &str, text: &str) -> Result<Answer<ObjectId>, String> {
    let node = |number| HostName::Object {
        class: "N".into(),
        number,
    };
    let scope = Scope::new(heap.classes()).bind_set(set, vec![node(1), node(2)]);
    let resolved = compile("text", text, &scope).map_err(|it| it.to_string())?;
    let binder = Binder::of(heap).objects(|class, number| heap.find(class, number));
    let bindings = binder.bind(&resolved).unwrap();
    let expression = Expression::of(&resolved, &resolved.rules[0], Matching::Probes).unwrap();
    let evaluated = expression.evaluate(&Probes::of(heap).threads(1), &bindings);
    Ok(evaluated.unwrap().answer)
}

#[test]
fn a_bound_set_stands_behind_in() {
    let heap = read("root main -> N#1\nN#1.next -> N#2\nN#2.next -> N#3\nN#3.next -> M#1\n");
    let truth = |text| with_set(&heap, "s", text);
    let (yes, no) = (Ok(Answer::Truth(true)), Ok(Answer::Truth(false)));
    assert_eq!(truth("forall N x: x in s"), no);
    assert_eq!(truth("forall N x: x in s | {N#3}"), yes);
    assert_eq!(truth("N#1 in s | s"), yes);
    assert_eq!(truth("N#1 in s - s"), no);
    assert_eq!(truth("N#3 in s & s"), no);
    assert_eq!(truth("N#3 in s.union({N#3})"), yes);
    assert_eq!(truth("forall N x: x in N && !(x in M)"), yes);
    assert_eq!(truth("let t = {N#1}; N#1 in t"), yes);
    assert_eq!(truth("let t = {N#1}; forall N x: x in t"), no);
    // A name of both a class and a set says nothing.
    let both = with_set(&heap, "N", "forall N x: x in N").unwrap_err();
    assert!(both.contains("`N` is a class and a set"), "{both}");
    assert_eq!(with_set(&heap, "N", "forall N x: x instanceof N"), yes);
    // A quantifier ranges over it.
    assert_eq!(truth("forall s x: x in s"), yes);
    assert_eq!(truth("exists x in s: x == N#3"), no);
    // Where only a class can stand, it is said what to do.
    let class = truth("forall N x: x instanceof s").unwrap_err();
    assert!(class.contains("`s` is a set"), "{class}");
    let text = "forall N x: x in s";
    let formatted = heaphound_deal::fmt::format("text", text, Default::default()).unwrap();
    assert_eq!(formatted, "forall N x: x in s;\n");
}

#[test]
fn threads_with_the_same_object_are_two() {
    let heap = read(
        "root thread-object:w1 -> T#1\nroot thread-object:w2 -> T#1\nroot w2 -> D#1\nT#1.c -> C#1\n",
    );
    let truth = |text: &str| evaluate(&heap, text, &[], None).map(|(answer, _)| answer);
    let (yes, no) = (Ok(Answer::Truth(true)), Ok(Answer::Truth(false)));
    assert_eq!(truth("running().size() == 2"), yes);
    assert_eq!(truth("thread_reach(C#1).size() <= 1"), no);
    assert_eq!(truth("thread_stack_reach(D#1).size() == 1"), yes);
    assert_eq!(truth("thread_reach(C#1) == running()"), yes);
    assert_eq!(truth("(running() - thread_reach(D#1)).size() == 1"), yes);
    assert_eq!(truth("T#1 in running()"), yes);
    assert_eq!(truth("T#1 in thread_reach(D#1)"), yes);
    for text in [
        "(running() - {T#1}).is_empty()",
        "reach(running()).has(C#1)",
        "(num_of T t: t in running() && reach(t).has(C#1)) <= 1",
        "forall T t: t.isAlive()",
    ] {
        let wrong = truth(text).unwrap_err();
        assert!(
            wrong.contains("have the same thread object"),
            "{text}: {wrong}"
        );
    }
}

#[test]
fn what_a_thread_without_an_object_reaches_is_not_left_out_silently() {
    let heap = read("root w1 -> C#1\nroot thread-object:w2 -> T#1\nT#1.c -> C#1\n");
    for text in [
        "reach(thread_reach(C#1)).has(C#1)",
        "reach(T#1, running()).is_empty()",
        "dom(running(), C#1)",
        "reach_through(T#1, running(), C#1)",
    ] {
        let wrong = evaluate(&heap, text, &[], None).unwrap_err();
        assert!(
            wrong.contains("thread `w1` has no thread object"),
            "{wrong}"
        );
    }
}
