//! What classes say of themselves, and what becomes of it in views and text.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use expect_test::expect;
use heaphound::deal::check::{Scope, compile};
use heaphound::view::{HeapView, live_objects};
use heaphound::{
    Header, Heap, Interface, Managed, Mutator, Object, Plain, PlainData, PlainKind, Ref, RefArray,
    Root, Rules, Slot, Str, Var, WeakSlot, deal, view::Value,
};

#[derive(Clone, Copy, PartialEq, Debug, Plain)]
#[repr(u8)]
enum Color {
    Red,
    Green,
}

#[derive(Managed)]
#[repr(C)]
struct Shape {
    header: Header,
    color: Var<Color>,
    label: Slot<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Circle {
    #[managed(superclass)]
    shape: Shape,
    radius: f64,
    inside: Slot<Shape>,
}

#[derive(Managed)]
#[repr(C)]
#[managed(name = "geometry.Ring")]
struct Ring {
    #[managed(superclass)]
    circle: Circle,
    note: String,
    hole: Ref<Circle>,
}

#[derive(Managed)]
#[repr(C)]
struct Grid {
    header: Header,
    cells: [Slot<Shape>; 3],
    kind: Color,
    last: WeakSlot<Shape>,
}

#[derive(Managed)]
#[repr(C)]
struct Pair<A: Managed, B: Managed> {
    header: Header,
    a: Slot<A>,
    b: Slot<B>,
}

fn shape_init(color: Color) -> ShapeInit<'static> {
    ShapeInit { color, label: None }
}

#[test]
fn a_subclass_is_its_superclass_and_more() {
    for zeal in [0, 1] {
        let heap = Heap::builder().zeal(zeal).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let text = m.alloc_str("outer").unwrap();
        let circle = m
            .alloc(CircleInit {
                shape: shape_init(Color::Green),
                radius: 1.5,
                inside: None,
            })
            .unwrap();
        let ring = m
            .alloc(RingInit {
                circle: CircleInit {
                    shape: ShapeInit {
                        color: Color::Red,
                        label: Some(text),
                    },
                    radius: 2.0,
                    inside: None,
                },
                note: "owned".into(),
                hole: circle,
            })
            .unwrap();
        m[ring].circle.inside.set(Some(&m[circle].shape));
        m.collect();
        let seen: &Shape = &m[ring].circle.shape;
        assert_eq!(&**seen.label.get().unwrap(), "outer");
        let object = seen.as_object();
        assert_eq!(object.class().name, "geometry.Ring");
        assert_eq!(object.downcast::<Ring>().unwrap().note, "owned");
        assert_eq!(object.downcast::<Circle>().unwrap().radius, 2.0);
        assert!(object.downcast::<Shape>().is_some());
        assert!(object.downcast::<Object>().is_some());
        assert!(object.downcast::<Grid>().is_none());
        let hole = m[ring].circle.inside.get().unwrap();
        assert_eq!(hole.color.get(), Color::Green);
        let hole = hole.as_object().downcast::<Circle>().unwrap();
        assert!(std::ptr::eq(hole, m[ring].hole.get()));
        assert!(hole.as_object().downcast::<Ring>().is_none());
    }
}

#[test]
fn classes_know_their_names_slots_and_superclasses() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let pair = {
        let shape = m.alloc(shape_init(Color::Red)).unwrap();
        let grid = m
            .alloc(GridInit {
                cells: [None, Some(shape), Some(shape)],
                kind: Color::Green,
                last: Some(shape),
            })
            .unwrap();
        m.alloc(PairInit {
            a: Some(grid),
            b: Some(shape),
        })
        .unwrap()
    };
    assert!(m[pair].a.get().unwrap().cells[1].get().is_some());
    assert_eq!(m[pair].b.get().unwrap().color.get(), Color::Red);
    let class = m[pair].a.get().unwrap().as_object().class();
    let slots: Vec<_> = class.slots().map(|slot| &*slot.name).collect();
    assert_eq!(slots, ["cells[0]", "cells[1]", "cells[2]", "last"]);
    m.inspect(|view| {
        let live = live_objects(view);
        let grid = *live
            .iter()
            .find(|&&object| view.class(view.class_of(object)).name == "Grid")
            .unwrap();
        let class = view.class(view.class_of(grid));
        let kind = class.fields.iter().position(|field| field.name == "kind");
        let value = view.plain_value(grid, kind.unwrap());
        assert_eq!(value, Some(Value::Variant("Green")));
    });
}

#[test]
fn a_heap_is_written_as_text() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let point = heap
        .define_class("Point")
        .slot("next")
        .plain("x", PlainKind::F64)
        .define()
        .unwrap();
    let points = m.alloc_refs::<Object>(2).unwrap();
    {
        let mut m = m.scope();
        let first = m.alloc_instance(&point).unwrap();
        let second = m.alloc_instance(&point).unwrap();
        m[first][0].set(Some(m[second].as_object()));
        m[first].set_plain(0, 2.5);
        m[points][1].set(Some(m[first].as_object()));
    }
    m.static_root("origin").set(&m, m[points][1].get());
    let mut text = Vec::new();
    let heap = m.capture(heaphound::PlainData::All);
    heaphound::file::write_text(&heap, &mut text, &mut |_, _| {}).unwrap();
    let text = String::from_utf8(text).unwrap();
    expect![[r#"
        class Point { next ->, x: f64 }
        class Object[] { [] -> }
        root static:origin -> Point#2
        root thread:main[0] @ "crates/heaphound/tests/it/classes.rs:156:22" -> Object[]#1
        Object[]#1 [ null, Point#2 ]
        Point#2 { next -> Point#3, x = 2.5 }
        Point#3 { x = 0.0 }
    "#]]
    .assert_eq(&text);
}

/// A future that is ready the second time it is asked.
struct Later(bool);

impl Future for Later {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

#[test]
fn a_root_is_held_across_an_await() {
    async fn work(heap: &Heap, shape: Root<Shape>) -> Color {
        heap.attach("before").unwrap().collect();
        Later(false).await;
        let mut m = heap.attach("after").unwrap();
        m.collect();
        m[&shape].color.get()
    }
    fn is_send<T: Send>(value: T) -> T {
        value
    }

    let heap = Heap::builder().build().unwrap();
    let root = {
        let mut m = heap.attach("main").unwrap();
        let shape = m.alloc(shape_init(Color::Green)).unwrap();
        m.root(&m[shape])
    };
    let mut future = pin!(is_send(work(&heap, root)));
    let mut context = Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    assert_eq!(
        future.as_mut().poll(&mut context),
        Poll::Ready(Color::Green)
    );
}

#[test]
fn dynamic_classes_refuse_what_makes_no_sense() {
    let heap = Heap::builder().build().unwrap();
    let other = Heap::builder().build().unwrap();
    let base = heap
        .define_class("Base")
        .slot("a")
        .plain("n", PlainKind::I32)
        .define()
        .unwrap();
    let twice = heap.define_class("Twice").slot("a").slot("a").define();
    assert_eq!(
        twice.err().unwrap().to_string(),
        "two fields are called `a`"
    );
    let foreign = other.define_class("Foreign").extends(&base);
    assert_eq!(
        foreign.err().unwrap().to_string(),
        "superclass `Base` is a class of another heap"
    );
    let sub = heap.define_class("Sub").extends(&base).unwrap().slot("b");
    let sub = sub.plain("m", PlainKind::Bool).define().unwrap();
    assert_eq!((sub.slot("a"), sub.slot("b")), (Some(0), Some(1)));
    assert_eq!((sub.plain("n"), sub.plain("m")), (Some(0), Some(1)));
    let mut m = heap.attach("main").unwrap();
    let object = m.alloc_instance(&sub).unwrap();
    m[object].set_plain(0, -7i32);
    m[object].set_plain(1, true);
    m.collect();
    assert_eq!(m[object].plain::<i32>(0), -7);
    assert_eq!(m[object].plain_named("n"), Some(Value::Signed(-7)));
    assert!(m[object].plain::<bool>(1));
    assert_eq!(m[object].len(), 2);
    let wrong =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| m[object].plain::<f64>(0)));
    assert!(wrong.is_err());
}

#[derive(Managed)]
#[repr(C)]
struct Tagged<T, const N: usize>
where
    T: Copy + Send + Sync + 'static,
{
    header: Header,
    #[managed(owned)]
    tag: T,
    next: Slot<Tagged<T, N>>,
}

#[derive(Managed)]
#[managed(name = "Bag")]
#[repr(C)]
struct List<T>
where
    T: Managed + ?Sized,
{
    header: Header,
    first: Slot<T>,
}

mod shop {
    use super::*;

    #[derive(Managed)]
    #[repr(C)]
    pub struct Node {
        pub header: Header,
        pub value: u8,
    }
}

mod bank {
    use super::*;

    #[derive(Managed)]
    #[repr(C)]
    pub struct Node {
        pub header: Header,
        pub value: u16,
    }

    #[derive(Interface)]
    pub struct Shape;
}

/// A name without the path of this module.
fn here(name: &str) -> String {
    name.replace(concat!(module_path!(), "::"), "")
}

fn names(m: &Mutator<'_>) -> Vec<String> {
    let classes = m.classes();
    let mut names: Vec<String> = classes.iter().map(|it| here(&it.name)).collect();
    names.sort();
    names
}

#[test]
fn generic_classes_have_the_names_of_their_arguments() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    m.know_class::<Pair<Ring, Pair<Circle, List<RefArray<Shape>>>>>();
    m.know_class::<Tagged<u64, 8>>();
    m.know_class::<Tagged<Option<Color>, 3>>();
    m.know_class::<List<Object>>();
    m.know_class::<List<List<Shape>>>();
    m.know_class::<RefArray<List<Shape>>>();
    expect![[r#"
        [
            "Bag<Bag<Shape>>",
            "Bag<Object>",
            "Bag<Shape>[]",
            "Pair<geometry.Ring, Pair<Circle, Bag<Shape[]>>>",
            "Tagged<Option<Color>, 3>",
            "Tagged<u64, 8>",
        ]
    "#]]
    .assert_debug_eq(&names(&m));
    // The same in rules, in a written heap and in rules about it.
    let list = m.alloc(ListInit::<Shape> { first: None }).unwrap();
    let list = m.root(&m[list]);
    let mut rule = deal!("assertion(forall Bag<Shape> x: x.first != null)");
    assert_eq!(rule.check(&mut m).unwrap().len(), 1);
    let snapshot = m.capture(PlainData::Omit);
    assert_eq!(
        snapshot
            .class(snapshot.class_of(snapshot.objects().next().unwrap()))
            .name,
        "Bag<Shape>"
    );
    let text = "assertion(forall Bag<Shape> x: x.first != null)";
    assert!(compile("it", text, &Scope::new(snapshot.classes())).is_ok());
    drop(list);
}

#[test]
fn classes_of_one_name_are_called_by_their_paths() {
    let shop = |m: &Mutator<'_>| m.know_class::<shop::Node>();
    let bank = |m: &Mutator<'_>| m.know_class::<bank::Node>();
    let lists = |m: &Mutator<'_>| {
        m.know_class::<List<bank::Node>>();
        m.know_class::<RefArray<bank::Node>>();
        m.know_class::<RefArray<shop::Node>>();
        m.know_class::<List<shop::Node>>();
    };
    // Whichever comes first.
    type Step<'s> = &'s dyn Fn(&Mutator<'_>);
    let orders: [[Step<'_>; 3]; 3] = [
        [&shop, &bank, &lists],
        [&bank, &shop, &lists],
        [&lists, &bank, &shop],
    ];
    for order in orders {
        let heap = Heap::builder().build().unwrap();
        let m = heap.attach("main").unwrap();
        for step in order {
            step(&m);
        }
        let expected = [
            "List<bank::Node>",
            "List<shop::Node>",
            "bank::Node",
            "bank::Node[]",
            "shop::Node",
            "shop::Node[]",
        ];
        assert_eq!(names(&m), expected);
    }
}

#[test]
fn a_class_keeps_its_short_name_while_no_other_has_it() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let node = m.alloc(shop::NodeInit { value: 5 }).unwrap();
    assert_eq!(m[node].as_object().class().name, "Node");
    let mut rule = deal!("assertion(forall Node x: x.value == 4)");
    assert_eq!(rule.check(&mut m).unwrap().len(), 1);
    m.know_class::<bank::Node>();
    assert_eq!(here(&m[node].as_object().class().name), "shop::Node");
    let refused = rule.check(&mut m).unwrap_err().to_string();
    expect![[r#"
        assertion:1:18: `Node` can be several classes
          assertion(forall Node x: x.value == 4)
                           ^^^^ shop::Node or bank::Node"#]]
    .assert_eq(&here(&refused));
    // As much of the path as tells them apart, or all of it.
    for path in ["shop::Node", concat!(module_path!(), "::shop::Node")] {
        let mut rule = Rules::new(format!("assertion(forall {path} x: x.value == 4)"));
        assert_eq!(rule.check(&mut m).unwrap().len(), 1);
    }
    let written = m.capture(PlainData::Omit);
    let object = written.objects().next().unwrap();
    assert_eq!(here(&written.name_of(object)), "shop::Node#1");
}

#[test]
fn classes_that_have_no_path_are_numbered() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    m.know_class::<shop::Node>();
    let first = heap.define_class("Node").slot("a").define().unwrap();
    let second = heap.define_class("Node").slot("b").define().unwrap();
    heap.define_interface("Node").define().unwrap();
    m.know_class::<bank::Node>();
    m.know_class::<Shape>();
    heap.interface::<bank::Shape>().unwrap();
    expect![[r#"
        [
            "Node",
            "Node~2",
            "Node~3",
            "Shape",
            "bank::Node",
            "bank::Shape",
            "shop::Node",
        ]
    "#]]
    .assert_debug_eq(&names(&m));
    assert_eq!(
        (first.info().name.as_str(), second.info().name.as_str()),
        ("Node", "Node~2")
    );
    let made = m.alloc_instance(&second).unwrap();
    assert_eq!(m[made].as_object().class().name, "Node~2");
    let mut rule = deal!("assertion(forall \"Node~2\" x: x.b != null)");
    assert_eq!(rule.check(&mut m).unwrap().len(), 1);
}

#[test]
fn many_threads_agree_on_names() {
    for _ in 0..20 {
        let heap = Heap::builder().build().unwrap();
        std::thread::scope(|threads| {
            threads.spawn(|| heap.attach("a").unwrap().know_class::<shop::Node>());
            threads.spawn(|| heap.attach("b").unwrap().know_class::<bank::Node>());
            threads.spawn(|| heap.attach("c").unwrap().know_class::<shop::Node>());
        });
        let m = heap.attach("main").unwrap();
        assert_eq!(names(&m), ["bank::Node", "shop::Node"]);
    }
}
