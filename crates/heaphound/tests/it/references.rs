//! What a place for an object takes: locals, roots and borrowed objects, of its class and of those that extend it; what leaves a
//! scope beside locals.

use std::panic::{AssertUnwindSafe, catch_unwind};

use heaphound::collections::{DequeMut, GcDeque, GcHashMap, GcVec, MapMut, VecMut};
use heaphound::{
    Collector, Heap, Local, LocalValue, Managed, Mutator, Object, OutOfMemory, Ref, Root, Slot,
    Str, Value, ValueSlot, WeakSlot, keep, managed,
};

#[managed]
struct Shape {
    color: u32,
}

#[managed]
struct Round<T: Managed> {
    #[managed(superclass)]
    shape: Shape,
    around: Slot<T>,
}

#[managed]
struct Circle {
    #[managed(superclass)]
    round: Round<Shape>,
    radius: u64,
}

/// A class whose own bounds are in a `where`.
#[managed]
struct Framed<T>
where
    T: Managed,
{
    #[managed(superclass)]
    round: Round<T>,
    frame: Slot<Framed<T>>,
}

#[managed]
struct Holder {
    slot: Slot<Shape>,
    reference: Ref<Shape>,
    weak: WeakSlot<Shape>,
    array: [Slot<Shape>; 2],
    any: Slot<Object>,
    value: ValueSlot,
}

fn circle<'a>(m: &mut Mutator<'a>, color: u32) -> Local<'a, Circle> {
    let round = RoundInit {
        shape: ShapeInit { color },
        around: None,
    };
    let radius = 7;
    m.alloc(CircleInit { round, radius }).expect("room")
}

fn holder<'a>(m: &mut Mutator<'a>, shape: Local<'_, Circle>) -> Local<'a, Holder> {
    let mut init = HolderInit {
        slot: Some(shape.upcast_to(m)),
        reference: shape.upcast_to(m),
        weak: None,
        array: [None, None],
        any: None,
        value: LocalValue::NIL,
    };
    init.any = init.slot.map(|it| it.upcast(m));
    m.alloc(init).expect("room")
}

fn on_both(f: impl Fn(&mut Mutator<'_>)) {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let builder = Heap::builder().max_bytes(64 << 20).zeal(1);
        let heap = builder.collector(collector).build().unwrap();
        f(&mut heap.attach("main").unwrap());
    }
}

/// Checks that all places of a holder refer to a circle.
fn check(m: &mut Mutator<'_>, holder: Local<'_, Holder>, circle: Local<'_, Circle>) {
    m.collect();
    let (holder, circle) = (&m[holder], &m[circle]);
    let all = [
        holder.slot.get(),
        Some(holder.reference.get()),
        holder.weak.get(),
        holder.array[0].get(),
        holder.array[1].get(),
    ];
    for it in all {
        let it = it.expect("it was set");
        assert!(it.ptr_eq(circle));
        assert_eq!(it.color, circle.round.shape.color);
        let narrow: &Circle = it.as_object().downcast().expect("it is one");
        assert_eq!(narrow.radius, 7);
    }
    assert!(holder.any.get().expect("it was set").ptr_eq(circle));
    assert!(matches!(holder.value.get(), Value::Object(it) if it.ptr_eq(circle)));
}

#[test]
fn places_take_what_extends_their_class() {
    on_both(|m| {
        let first = circle(m, 1);
        let holder = holder(m, first);
        let it = &m[holder];
        it.weak.set(first);
        it.array[0].set(first);
        it.array[1].set(Some(first));
        it.value.set_object(first);
        check(m, holder, first);

        let second = circle(m, 2);
        let (it, new) = (&m[holder], &m[second]);
        it.slot.set(new);
        it.reference.set(&new.round);
        it.weak.set(Some(new));
        it.array[0].set(&new.round.shape);
        it.array[1].set(Some(&new.round));
        it.any.set(new);
        it.value.set_object(&new.round);
        check(m, holder, second);

        let third = circle(m, 3);
        let root: Root<Circle> = m.root(third);
        let it = &m[holder];
        it.slot.set(&root);
        it.reference.set(&root);
        it.weak.set(Some(&root));
        it.array[0].set(&root);
        it.array[1].set(&root);
        it.any.set(Some(&root));
        it.value.set_object(&root);
        check(m, holder, third);

        let shape = m.local(m[holder].reference.get());
        m.set_local(shape, &root);
        m.set_local(shape, first);
        m.set_local(shape, &m[first].round);
        assert_eq!(m[shape].color, 1);
    });
}

#[test]
fn classes_with_parameters_extend_what_their_superclass_does() {
    on_both(|m| {
        let round = RoundInit {
            shape: ShapeInit { color: 5 },
            around: None,
        };
        let frame = None;
        let framed: Local<'_, Framed<Circle>> = m.alloc(FramedInit { round, frame }).expect("room");
        let wide: Local<'_, Round<Circle>> = framed.upcast_to(m);
        let wider: Local<'_, Shape> = framed.upcast_to(m);
        let widest: Local<'_, Object> = wider.upcast_to(m);
        let itself: Local<'_, Framed<Circle>> = framed.upcast_to(m);
        m[itself].frame.set(framed);
        m.collect();
        assert_eq!(m[wide].shape.color + m[wider].color, 10);
        assert!(m[widest].ptr_eq(&m[framed]));
        assert!(wider.downcast::<Framed<Circle>>(m).is_some());
        assert!(wider.downcast::<Framed<Shape>>(m).is_none());
        assert!(wider.downcast::<Round<Shape>>(m).is_none());
    });
}

#[test]
fn collections_take_locals_and_roots() {
    on_both(|m| {
        let vec = GcVec::<Shape>::new(m).unwrap();
        // What it is a queue of, and a map to, is seen from what goes in.
        let queue = GcDeque::new(m).unwrap();
        let map = GcHashMap::<u64, _>::new(m).unwrap();
        for number in 0..20 {
            let mut m = m.scope();
            let new = circle(&mut m, number);
            let shape: Local<'_, Shape> = new.upcast_to(&m);
            let root = m.root(shape);
            vec.push(&mut m, shape).unwrap();
            vec.insert(&mut m, 0, &root).unwrap();
            m[vec].set(0, &m[new].round);
            m[vec].set(0, new);
            queue.push_back(&mut m, shape).unwrap();
            queue.push_front(&mut m, &root).unwrap();
            assert_eq!(map.insert(&mut m, number as u64, new), Ok(true));
            let root = m.root(new);
            assert_eq!(map.insert(&mut m, number as u64, &root), Ok(false));
        }
        m.collect();
        let colors: Vec<u32> = m[vec].iter().map(|it| it.color).collect();
        let expected: Vec<u32> = (0..20).rev().chain(0..20).collect();
        assert_eq!(colors, expected);
        assert!(m[queue].iter().map(|it| it.color).eq(expected));
        for number in 0..20 {
            let circle = m[map].get(&number).unwrap();
            assert_eq!(circle.round.shape.color, number as u32);
        }
    });
}

#[test]
fn every_class_is_an_object() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let heap = Heap::builder()
            .collector(collector)
            .zeal(1)
            .build()
            .unwrap();
        let class = heap.define_class("Record").define().unwrap();
        let m = &mut heap.attach("main").unwrap();
        let all = m.alloc_refs::<Object>(6).unwrap();
        let text = m.alloc_str("text").unwrap();
        let numbers = m.alloc_plain(3, 1u64).unwrap();
        let map = m.alloc_weak_map::<Object, Object>().unwrap();
        let record = m.alloc_instance(&class).unwrap();
        let array = &m[all];
        array[0].set(text);
        array[1].set(numbers);
        array[2].set(map);
        array[3].set(record);
        array[4].set(all);
        array[5].set(array);
        m.collect();
        let found = m[all][0].get().unwrap();
        assert_eq!(&found.downcast::<Str>().unwrap()[..], "text");
        assert!(m[all][3].get().unwrap().ptr_eq(&m[record]));
        assert!(m[all][4].get().unwrap().ptr_eq(m[all][5].get().unwrap()));
    }
}

#[test]
fn roots_change_their_class() {
    on_both(|m| {
        let round = circle(m, 4);
        let root = m.root(round);
        let shape: Root<Shape> = root.clone().upcast_to();
        let any = root.clone().upcast();
        drop(root);
        let other = circle(m, 5);
        m.set_local(round, other);
        m.collect();
        assert_eq!(m[&shape].color, 4);
        assert!(any.clone().downcast::<heaphound::Str>(m).is_none());
        let back = any.downcast::<Circle>(m).expect("it is one");
        assert!(m[&back].ptr_eq(&m[&shape]));
    });
}

#[test]
fn objects_of_another_heap_are_refused_whatever_they_extend() {
    let heaps = [(); 2].map(|()| Heap::builder().build().unwrap());
    let [mut m, mut n] = heaps.each_ref().map(|it| it.attach("main").unwrap());
    let own = circle(&mut m, 1);
    let holder = holder(&mut m, own);
    let foreign = circle(&mut n, 2);
    let root = n.root(foreign);
    let vec = GcVec::<Shape>::new(&mut m).unwrap();
    let refused = |f: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
    let it = &m[holder];
    refused(&|| it.slot.set(foreign));
    refused(&|| it.slot.set(&n[foreign]));
    refused(&|| it.slot.set(&root));
    refused(&|| it.any.set(&n[foreign].round));
    refused(&|| it.reference.set(foreign));
    refused(&|| it.value.set_object(&root));
    let shape: Local<'_, Shape> = own.upcast_to(&m);
    refused(&|| m.set_local(shape, foreign));
    refused(&|| {
        let _: Local<'_, Shape> = foreign.upcast_to(&m);
    });
    let root: Root<Shape> = root.upcast_to();
    assert!(catch_unwind(AssertUnwindSafe(|| vec.push(&mut m, &root))).is_err());
    assert!(m[vec].is_empty());
    assert_eq!(m[shape].color, 1);
}

#[test]
fn values_numbers_and_texts_leave_their_scope() {
    on_both(|m| {
        let kept = m.scoped_with(|m| {
            let garbage = circle(m, 9);
            let small = m.int(5)?;
            let wide = m.int(i64::MAX)?;
            let precise = m.float(0.1)?;
            let object = LocalValue::from(circle(m, 3));
            let same = circle(m, 4);
            assert_eq!(m[garbage].radius, 7);
            let values = (small, wide, precise, object);
            let beside = (vec![Some(same), None], 42u64, String::from("text"), ());
            Ok::<_, OutOfMemory>(keep((values, beside, [LocalValue::NIL, true.into()])))
        });
        let ((small, wide, precise, object), (same, number, text, ()), [nil, yes]) = kept.unwrap();
        m.collect();
        circle(m, 1);
        assert!(matches!(small.get(m), Value::Int(5)));
        assert!(matches!(wide.get(m), Value::Int(i64::MAX)));
        assert!(matches!(precise.get(m), Value::Float(it) if it == 0.1));
        let Value::Object(it) = object.get(m) else {
            panic!("{:?}", object.get(m));
        };
        assert_eq!(it.downcast::<Circle>().unwrap().round.shape.color, 3);
        assert_eq!(m[same[0].unwrap()].round.shape.color, 4);
        assert!(same[1].is_none());
        assert_eq!((number, &text[..]), (42, "text"));
        assert!(matches!(
            (nil.get(m), yes.get(m)),
            (Value::Nil, Value::Bool(true))
        ));
    });
}

#[test]
fn what_a_scope_makes_and_does_not_keep_is_gone() {
    on_both(|m| {
        let mut weak = Vec::new();
        let number = m.scoped_with(|m| {
            for color in 0..10 {
                let it = circle(m, color);
                weak.push(m.weak(it));
            }
            let value = m.float(0.1)?;
            Ok::<_, OutOfMemory>(keep((weak.len(), value)))
        });
        m.collect();
        assert_eq!(number.unwrap().0, 10);
        assert!(weak.iter().all(|it| it.get(m).is_none()));
    });
}
