//! Interfaces: typed and dynamic ones, in views, files, rules and limits; and limits of dynamic
//! classes.

use std::panic::{AssertUnwindSafe, catch_unwind};

use expect_test::expect;
use heaphound::file::write_text;
use heaphound::snapshot::Snapshot;
use heaphound::view::HeapView;
use heaphound::{
    AssertionKind, ClassError, Header, Heap, Interface, Managed, Mutator, PlainData, Rules, Slot,
    deal,
};

#[derive(Interface)]
struct Serializable;

#[derive(Interface)]
#[interface(name = "AutoCloseable")]
struct Auto;

#[derive(Interface)]
#[interface(extends(Auto, Serializable))]
enum Closeable {}

/// No class implements it.
#[derive(Interface)]
struct Cloneable;

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    next: Slot<Node>,
}

#[derive(Managed)]
#[managed(implements(Serializable))]
#[repr(C)]
struct Stored {
    #[managed(superclass)]
    node: Node,
}

#[derive(Managed)]
#[repr(C)]
struct Thread {
    #[managed(superclass)]
    node: Node,
}

/// Implements an interface twice, by two ways.
#[derive(Managed)]
#[managed(name = "Worker", implements(Closeable, Serializable))]
#[repr(C)]
struct WorkerThread {
    #[managed(superclass)]
    thread: Thread,
}

#[derive(Managed)]
#[repr(C)]
struct Session {
    header: Header,
    first: Slot<Node>,
}

fn heap() -> Heap {
    Heap::builder().build().unwrap()
}

fn node() -> NodeInit<'static> {
    NodeInit { next: None }
}

/// A session that holds these nodes; the last comes first.
fn session(m: &mut Mutator<'_>, kinds: &str) {
    let session = m.alloc(SessionInit { first: None }).unwrap();
    let session = m.root(&m[session]);
    for kind in kinds.chars() {
        let mut m = m.scope();
        let made = match kind {
            'n' => {
                let made = m.alloc(node()).unwrap();
                m.root(&m[made])
            }
            's' => {
                let made = m.alloc(StoredInit { node: node() }).unwrap();
                m.root(&m[made].node)
            }
            't' => {
                let made = m.alloc(ThreadInit { node: node() }).unwrap();
                m.root(&m[made].node)
            }
            _ => {
                let thread = ThreadInit { node: node() };
                let made = m.alloc(WorkerThreadInit { thread }).unwrap();
                m.root(&m[made].thread.node)
            }
        };
        let before = m[&session].first.get();
        m[&made].next.set(before);
        m[&session].first.set(Some(&m[&made]));
    }
    let session = &m[&session];
    m.static_root::<Session>("session").set(m, Some(session));
}

/// The heap as text, without its roots.
fn text_of(snapshot: &Snapshot) -> String {
    let mut text = Vec::new();
    write_text(snapshot, &mut text, &mut |_, _| {}).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("root "));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_class_has_its_interfaces_everywhere() {
    let heap = heap();
    let mut m = heap.attach("main").unwrap();
    session(&mut m, "sw");
    m.know_interface::<Cloneable>();
    let written = text_of(&m.capture(PlainData::Omit));
    expect![[r#"
        class Session { first -> }
        class Node { next -> }
        interface Serializable
        class Stored : Node, Serializable {}
        class Thread : Node {}
        interface AutoCloseable
        interface Closeable : AutoCloseable, Serializable
        class Worker : Thread, Closeable, Serializable {}
        interface Cloneable
        Session#1 { first -> Worker#3 }
        Stored#2
        Worker#3 { next -> Stored#2 }
    "#]]
    .assert_eq(&written);
    m.inspect(|view| {
        let named = |name: &str| view.classes().iter().find(|it| it.name == name).unwrap();
        assert!(named("Closeable").is_interface);
        assert!(!named("Worker").is_interface);
        let names = |ids: &[heaphound::ClassId]| -> Vec<String> {
            ids.iter().map(|&id| view.class(id).name.clone()).collect()
        };
        assert_eq!(
            names(&named("Worker").interfaces),
            ["Closeable", "Serializable"]
        );
        assert_eq!(
            names(&named("Closeable").interfaces),
            ["AutoCloseable", "Serializable"]
        );
    });
}

#[test]
fn an_object_tells_what_it_implements() {
    let heap = heap();
    let mut m = heap.attach("main").unwrap();
    let stored = m.alloc(StoredInit { node: node() }).unwrap();
    assert!(m[stored].as_object().implements::<Serializable>());
    assert!(!m[stored].as_object().implements::<Auto>());
    assert!(!m[stored].as_object().implements::<Cloneable>());
    let thread = ThreadInit { node: node() };
    let worker = m.alloc(WorkerThreadInit { thread }).unwrap();
    assert!(m[worker].as_object().implements::<Auto>());
    assert!(m[worker].as_object().implements::<Serializable>());
    let thread = m.alloc(ThreadInit { node: node() }).unwrap();
    assert!(!m[thread].as_object().implements::<Serializable>());
}

/// The paper's example, with threads that are not serializable.
#[test]
fn a_session_holds_what_can_be_stored() {
    for (kinds, broken) in [("ss", 0), ("sns", 1), ("st", 1), ("sw", 1), ("tnws", 3)] {
        let heap = heap();
        let mut m = heap.attach("main").unwrap();
        session(&mut m, kinds);
        m.know_class::<Thread>();
        let mut rule = deal!(
            "rule storable: assertion(forall Node x: reach[static:session](x) ->
                 x instanceof Serializable && !(x instanceof Thread))"
        );
        let findings = rule.check(&mut m).unwrap();
        let objects: usize = findings.iter().map(|it| it.objects.len()).sum();
        assert_eq!(objects, broken, "{kinds}");
    }
}

#[test]
fn rules_speak_of_interfaces() {
    let heap = heap();
    let mut m = heap.attach("main").unwrap();
    session(&mut m, "swntws");
    m.know_interface::<Cloneable>();
    // The least limit that holds.
    let mut count = |class: &str| {
        let holds = |limit: &usize| {
            let mut rule = Rules::new(format!("rule it: instances({class}) <= {limit}"));
            rule.check(&mut m).unwrap().is_empty()
        };
        (0..10).find(holds).unwrap()
    };
    assert_eq!(count("Serializable"), 4);
    assert_eq!(count("Closeable"), 2);
    assert_eq!(count("AutoCloseable"), 2);
    assert_eq!(count("Cloneable"), 0);
    assert_eq!(count("Thread"), 3);
}

#[test]
fn interfaces_are_limited() {
    let heap = heap();
    let mut m = heap.attach("main").unwrap();
    let serializable = m.know_interface::<Serializable>();
    let cloneable = heap.interface::<Cloneable>().unwrap();
    session(&mut m, "swns");
    m.assert_instances_of(&serializable, 3);
    m.assert_instances_of(&cloneable, 0);
    m.collect();
    assert!(heap.findings().is_empty());
    m.expect().instances_of(&serializable, 2);
    m.assert_volume_of(&serializable, 47);
    m.collect();
    expect![[r#"
        3 instances of Serializable live; the assertion allows 2
        instances of Serializable take 48 bytes; the assertion allows 47
    "#]]
    .assert_eq(&findings(&heap));
    let mut wrong = m.class_violations();
    wrong.sort_by_key(|it| it.3);
    let name = || "Serializable".to_string();
    assert_eq!(
        wrong,
        [
            (AssertionKind::Instances, name(), true, 2),
            (AssertionKind::Volume, name(), true, 47)
        ]
    );
}

/// What each finding says first.
fn findings(heap: &Heap) -> String {
    let known = heap.findings();
    let lines = known.iter().map(|it| format!("{}\n", it.finding.message));
    lines.collect()
}

#[test]
fn dynamic_classes_are_limited() {
    let heap = heap();
    let mut m = heap.attach("main").unwrap();
    let animal = heap.define_class("Animal").slot("next").define().unwrap();
    let dog = heap.define_class("Dog").extends(&animal).unwrap();
    let dog = dog.define().unwrap();
    let cat = heap.define_class("Cat").extends(&animal).unwrap();
    let cat = cat.define().unwrap();
    let mut kept = Vec::new();
    for class in [&animal, &dog, &dog, &cat] {
        let mut m = m.scope();
        let made = m.alloc_instance(class).unwrap();
        kept.push(m.root(&m[made]));
    }
    m.assert_instances_of(&dog, 2);
    m.assert_instances_of(&animal, 1);
    m.assert_volume_of(&cat, 16);
    m.expect().subclasses(true).instances_of(&animal, 4);
    m.expect().subclasses(true).volume_of(&animal, 64);
    m.collect();
    assert_eq!(findings(&heap), "");
    m.assert_instances_of(&dog, 1);
    m.assert_volume_of(&cat, 15);
    m.expect()
        .message("too many")
        .subclasses(true)
        .instances_of(&animal, 3);
    m.expect().subclasses(true).volume_of(&animal, 63);
    m.collect();
    expect![[r#"
        instances of Cat take 16 bytes; the assertion allows 15
        instances of Animal and its subclasses take 64 bytes; the assertion allows 63
        4 instances of Animal and its subclasses live; the assertion allows 3: too many
        2 instances of Dog live; the assertion allows 1
    "#]]
    .assert_eq(&findings(&heap));
    // Said again at the same place, it replaces what was said.
    for limit in [0, 2] {
        m.assert_instances_of(&dog, limit);
    }
    kept.clear();
    m.collect();
    assert!(m.class_violations().is_empty());
}

#[test]
fn a_limit_of_another_heaps_class_is_refused() {
    let (heap, other) = (heap(), self::heap());
    let m = heap.attach("main").unwrap();
    let class = other.define_class("Alien").define().unwrap();
    let interface = other.interface::<Serializable>().unwrap();
    let limits: [&dyn Fn(); 4] = [
        &|| m.assert_instances_of(&class, 1),
        &|| m.assert_volume_of(&class, 1),
        &|| m.assert_instances_of(&interface, 1),
        &|| m.expect().subclasses(true).volume_of(&interface, 1),
    ];
    for (nth, limit) in limits.into_iter().enumerate() {
        let panicked = catch_unwind(AssertUnwindSafe(limit)).unwrap_err();
        let name = ["Alien", "Serializable"][nth / 2];
        assert_eq!(
            *panicked.downcast::<String>().unwrap(),
            format!("class `{name}` is of another heap")
        );
    }
}

#[test]
fn dynamic_classes_implement_interfaces() {
    let heap = heap();
    let mut m = heap.attach("main").unwrap();
    let stored = heap.interface::<Serializable>().unwrap();
    let iterable = heap.define_interface("Iterable").define().unwrap();
    let list = heap.define_interface("List").extends(&iterable).unwrap();
    let list = list.define().unwrap();
    let array = heap.define_class("Array").slot("first");
    let array = array
        .implements(&list)
        .unwrap()
        .implements(&stored)
        .unwrap();
    let array = array.define().unwrap();
    let sorted = heap.define_class("Sorted").extends(&array).unwrap();
    let sorted = sorted.define().unwrap();
    let made = [&array, &sorted, &sorted].map(|class| {
        let mut m = m.scope();
        let made = m.alloc_instance(class).unwrap();
        m.root(&m[made])
    });
    assert!(m[&made[2]].as_object().implements::<Serializable>());
    m.assert_instances_of(&iterable, 2);
    m.collect();
    expect![[r#"
        3 instances of Iterable live; the assertion allows 2
    "#]]
    .assert_eq(&findings(&heap));
    let mut rule = deal!("rule it: instances(Iterable) <= 2");
    assert_eq!(rule.check(&mut m).unwrap().len(), 1);
    let mut rule = deal!("assertion(forall List x: x instanceof Serializable)");
    assert!(rule.check(&mut m).unwrap().is_empty());
    expect![[r#"
        interface Serializable
        interface Iterable
        interface List : Iterable
        class Array : List, Serializable { first -> }
        class Sorted : Array {}
        thread main
        Array#1
        Sorted#2
        Sorted#3
    "#]]
    .assert_eq(&text_of(&m.capture(PlainData::Omit)));
}

#[test]
fn wrong_supertypes_of_dynamic_classes_are_errors() {
    let (heap, other) = (heap(), self::heap());
    let interface = heap.define_interface("I").define().unwrap();
    let foreign = other.define_interface("Alien").define().unwrap();
    let class = heap.define_class("C").define().unwrap();
    let error = |result: Result<_, ClassError>| match result {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let builder = || heap.define_class("D").implements(&interface).unwrap();
    assert_eq!(
        error(builder().implements(&interface).map(drop)),
        "interface `I` is named twice"
    );
    assert_eq!(
        error(builder().implements(&foreign).map(drop)),
        "interface `Alien` is a class of another heap"
    );
    assert_eq!(
        error(builder().extends(&class).unwrap().extends(&class).map(drop)),
        "`C` would be a second superclass"
    );
    let builder = || heap.define_interface("J").extends(&interface).unwrap();
    assert_eq!(
        error(builder().extends(&interface).map(drop)),
        "interface `I` is named twice"
    );
    assert_eq!(
        error(builder().extends(&foreign).map(drop)),
        "interface `Alien` is a class of another heap"
    );
    // What extends an interface's interface twice is no mistake.
    let above = builder().define().unwrap();
    let twice = heap.define_class("K").implements(&above).unwrap();
    assert!(twice.implements(&interface).unwrap().define().is_ok());
}
