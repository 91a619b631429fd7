//! Every assertion text that the DeAL and PHALANX papers print runs as it is printed, or one line says
//! why it does not.
//!
//! What is printed as a formula is written here in the LaTeX that it was set with. `d`, `c` and the
//! like are variables of the program around the text; they are bound.

use heaphound_deal::bind::Binder;
use heaphound_deal::check::{Scope, compile};
use heaphound_deal::evaluate::Evaluation;
use heaphound_deal::fmt::{Style, format};
use heaphound_deal::verdict::Verdict;
use heaphound_heap::snapshot::Snapshot;
use heaphound_heap::view::HeapView;

const HEAP: &str = "
    class Serializable
    class Node : Serializable { next ->, prev ->, head ->, mark ->, data: f64, val: i32, field: i32, b -> }
    class Person { next -> }
    class Thread { local -> }
    class Connection { session -> }
    class Order { field: i32 }
    root static:list -> Node#1
    root static:people -> Person#1
    root thread-object:main -> Thread#1
    root main -> Node#1
    root main -> Connection#1
    Node#1 { next -> Node#2, prev -> null, head -> Node#2, b -> Node#2, data = 3.1415, val = 1 }
    Node#2 { next -> null, prev -> Node#1, data = 4.0, val = 2 }
    Thread#1.local -> Connection#1
    Order#1.field = 3
    root static:order -> Order#1
";

/// What the texts call objects of the program around them.
const OBJECTS: [&str; 27] = [
    "d",
    "c",
    "e",
    "o",
    "o1",
    "o2",
    "s1",
    "s2",
    "src",
    "dst",
    "a",
    "w",
    "arr",
    "males",
    "females",
    "leaves",
    "dummy",
    "parseTree",
    "syntaxTree",
    "hotcache",
    "HttpSession",
    "clients",
    "exp",
    "this",
    "_socket",
    "socket",
    "r",
];

/// What they call sets.
const SETS: [&str; 2] = ["cut", "avoid"];

fn judge(heap: &Snapshot, text: &str) -> Result<String, String> {
    let node = heap.find("Node", 1);
    let mut scope = Scope::new(heap.classes());
    let mut binder = Binder::of(heap)
        .ask_as(Some("main"))
        .objects(|class, number| heap.find(class, number));
    for name in OBJECTS {
        scope = scope.bind(name, None);
        binder = binder.variable(name, node);
    }
    for name in SETS {
        scope = scope.bind_set(name, Vec::new());
    }
    for (name, value) in [("threshold", "3"), ("specialValue", "17")] {
        let value = heaphound_deal::check::constant(value).unwrap();
        scope = scope.bind_value(name, value);
    }
    let resolved = compile("paper", text, &scope).map_err(|it| it.list[0].message.clone())?;
    // It means the same when it is formatted, in either style.
    for style in [Style::Ascii, Style::Unicode] {
        let formatted = format("paper", text, style).unwrap();
        let again = compile("paper", &formatted, &scope).unwrap();
        assert_eq!(again, resolved, "{formatted}");
    }
    let bindings = binder.bind(&resolved).map_err(|it| it[0].message.clone())?;
    let evaluation = Evaluation::new(heap, &resolved, text, &bindings)
        .threads(1)
        .ask_as("main")
        .unwrap();
    let judged = evaluation.run();
    assert_eq!(judged.len(), 1, "{text}");
    match &judged[0].verdict {
        Verdict::Holds => Ok("holds".into()),
        Verdict::Fails(_) => Ok("fails".into()),
        Verdict::Found(_) => Ok("found".into()),
        Verdict::NotChecked(why) => Err(why.to_string()),
    }
}

/// Each with what comes of it on the heap above.
const RUN: &[(&str, &str)] = &[
    // DeAL, section 1.
    (
        r"\forall x \in \text{Node} : \mathbf{R}d(x) \Rightarrow (x.\text{next.prev} = x)",
        "holds",
    ),
    ("forall Node x: reach[d](x) -> x.next.prev == x", "holds"),
    (
        r"\forall x \in \text{Node} : \neg \mathbf{R} r_0 / d(x)",
        "holds",
    ),
    (
        r"(\forall x \in \text{Node} : (x.\text{data} > \text{threshold}) \Rightarrow \mathbf{R}\text{hotcache}(x)) \land
          (\exists y \in \text{Node} : \neg \mathbf{R}\text{hotcache}(y) \land y.\text{next} = \text{null})",
        "fails",
    ),
    // Section 2.1.
    (r"\forall x \in \text{Node} : \neg \mathbf{R}/d(x)", "holds"),
    // Section 2.2.
    (
        "assertion(\n\"forall Node x: reach[d](x) -> x.next.prev == x\");",
        "holds",
    ),
    (
        r"assertion(\forall x \in \text{Node} : \mathbf{R} \text{HttpSession}(x) \Rightarrow
          x \text{ instanceof Serializable } \land \\ \neg(x \text{ instanceof Thread}));",
        "holds",
    ),
    (
        r"assertion(\forall x \in \text{Node} : \mathbf{Rc}(x) \Rightarrow x.\text{data} \leq x.\text{next.data});",
        "holds",
    ),
    (
        r"assertion(\forall x \in \text{Node} : \mathbf{Rc}(x) \Rightarrow x.\text{next} \neq \text{null});",
        "fails",
    ),
    (
        r"assertion(\forall x \in Node : (x.next = null) \Rightarrow \mathbf{R}leaves(x));",
        "holds",
    ),
    (
        r"assertion(\exists x \in \text{Node} : x.\text{data} > 3.141 \land x.\text{data} < 3.142);",
        "holds",
    ),
    (
        r"assertion(\forall x \in \text{Node} : \neg \mathbf{R}/c(x) \Rightarrow x.\text{data} > 0);",
        "holds",
    ),
    (
        r"assertion(\forall x \in Person : \neg \mathbf{R}/males, females(x));",
        "fails",
    ),
    (
        r"assertDisjoint(\forall x \in Person : \mathbf{R}males(x) \lor \mathbf{R}females(x));",
        "fails",
    ),
    (
        r"assertDisjoint(\forall x \in \text{Person}:
          (\mathbf{R} \text{males}(x) \lor \mathbf{R} \text{females}(x)) \land \neg \mathbf{R}/\text{males}, \text{females}(x));",
        "fails",
    ),
    (
        r"assertDisjoint(\forall x : \neg(\mathbf{R}parseTree(x) \land \mathbf{R}syntaxTree(x)));",
        "fails",
    ),
    (
        r"unsafeAssert(\exists x : \mathbf{R}s1(x) \land x.\mathtt{data} \le 0 \lor \mathbf{R}s2(x) \land x.\mathtt{data} < 0)",
        "fails",
    ),
    // Section 3.1: the relation of figure 2.
    (
        r"assertion(\forall x: \mathbf{R}a/o \vee c/d, e(x) -> true)",
        "holds",
    ),
    // Section 4.
    (
        r"assertDisjoint(\forall x \in Node : \mathbf{R}arr(x) \Rightarrow \neg \mathbf{R}/arr(x));",
        "holds",
    ),
    (
        r"assertion(\forall x \in \text{Node} : (x.\text{mark} = \text{dummy}) \Rightarrow \neg \mathbf{R}/\text{arr}(x));",
        "holds",
    ),
    // Section 5.4.
    (
        r"\forall x \in \text{Order} : x.\text{field} \neq \text{specialValue}",
        "holds",
    ),
    // Section 7.
    (
        r"query(x.val,(x \in Node \land \mathbf{R}d(x)) \Rightarrow (x.val > 0));",
        "found",
    ),
    // As plain text has it.
    ("assertion(forall Node x: Rd.head(x) -> x.val > 0)", "holds"),
    // PHALANX, section 2.
    (
        r"\num_of Thread t; t.isAlive(); \reach(t).has(c) <= 1",
        "holds",
    ),
    (
        r"\forall Connection c1; true;
          (\num_of Thread t; Phalanx.running().has(t);
           Phalanx.reach(t, avoid).has(c1))<=1",
        "holds",
    ),
    // Section 3.
    ("pred(c).size() == 1", "holds"),
    ("dom(stack(Thread.currentThread()), c)", "fails"),
    (
        "stack(Thread.currentThread()).insert(Thread.currentThread()) == roots(Thread.currentThread())",
        "holds",
    ),
    ("Phalanx.pred(clients).size() == 0", "fails"),
    ("pred(clients).size() == 0", "fails"),
    ("Phalanx.dom(this, _socket)", "holds"),
    ("dom(this, r)", "holds"),
    ("!Phalanx.reach(a, new Object[] {w}).has(w.b)", "holds"),
    // Table 2, and the probes' names.
    ("pred(o).size() > 0", "holds"),
    ("pred(o).size() > 1", "fails"),
    ("reach(src).has(dst)", "holds"),
    (
        "!(exists Object v ; reach(o1).has(v) ; reach(o2).has(v))",
        "fails",
    ),
    ("!(exists Object v ; reach(o).has(v) ; !dom(o, v))", "holds"),
    ("!reach(o1, cut).has(o2)", "fails"),
    ("dom(Thread.currentThread(), o)", "fails"),
    ("dom(roots(Thread.currentThread()), o)", "fails"),
    (
        "{Thread t | running().has(t) && (reach(t, avoid).has(o) || reach(stack(t), avoid).has(o))}",
        "found",
    ),
    ("isHeap(o)", "holds"),
    ("isShared(o)", "fails"),
    ("isReachable(src, dst)", "holds"),
    ("isDisjoint(o1, o2)", "fails"),
    ("isUniqueOwner(o)", "holds"),
    ("reachThrough(o1, o2, cut)", "fails"),
    ("isObjectOwned(o1, o2)", "holds"),
    ("isThreadStackOwned(o)", "fails"),
    ("isThreadOwned(o)", "fails"),
    ("getThreadReach(o, avoid)", "found"),
    // Sections 5 and 6.
    ("Phalanx.isShared(exp)", "fails"),
    ("Phalanx.dom(Thread.currentThread(), exp)", "fails"),
    ("unique(socket)", "fails"),
];

/// Each with why it does not run.
const NOT_RUN: &[(&str, &str)] = &[
    // The paper leaves out the last parenthesis.
    (
        r"assertion(\forall x \in \text{Node} : \mathbf{R} \text{HttpSession}(x) \Rightarrow
          x \text{ instanceof Serializable } \land \\ \neg(x \text{ instanceof Thread});",
        "expected `)`, found `;`",
    ),
    // It calls a method of the program. Bind the objects that it would return as a set.
    (
        r"Phalanx.reach(c, d.head.values()).has(c)",
        "there is no method `values`",
    ),
    // It makes a call of the program, and text of an object.
    (
        r#"Phalanx.warning("disposal_of_shared_resource" + exp)"#,
        "there is no function `warning`",
    ),
];

fn read() -> Snapshot {
    heaphound_snapshot::read(HEAP.as_bytes(), "heap", &mut |_, _| {}).unwrap()
}

#[test]
fn what_the_papers_print_runs() {
    let heap = read();
    let all = RUN.iter().map(|(text, _)| (*text, judge(&heap, text)));
    let wrong: Vec<String> = all
        .zip(RUN)
        .filter(|((_, found), (_, expected))| found.as_deref() != Ok(*expected))
        .map(|((text, found), (_, expected))| format!("{text}\n  {found:?}, not {expected}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_does_not_run_says_why() {
    let heap = read();
    for (text, why) in NOT_RUN {
        assert_eq!(judge(&heap, text), Err(why.to_string()), "{text}");
    }
}
