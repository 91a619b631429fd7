//! What classes say of themselves, and what becomes of it in views and text.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use expect_test::expect;
use heaphound::view::{HeapView, live_objects};
use heaphound::{
    Header, Heap, Managed, Object, Plain, PlainKind, Ref, Root, Slot, Str, Value, Var, WeakSlot,
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
        root thread:main[0] @ "crates/heaphound/tests/it/classes.rs:154:22" -> Object[]#1
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
