//! What a program writes: `#[managed]`, what slots take, what leaves a scope, how things are shown.

use heaphound::{
    Heap, Interface, Local, Managed, Mutator, Object, OutOfMemory, Ref, Root, Slot, Str, Var,
    WeakSlot, keep, managed,
};

#[managed]
#[derive(Debug)]
struct Node {
    value: u64,
    visits: Var<u32>,
    next: Slot<Node>,
    weak: WeakSlot<Node>,
}

#[derive(Interface)]
struct Drawn;

#[managed(name = "Figure", implements(Drawn))]
struct Shape {
    #[managed(caption)]
    title: Slot<Str>,
}

#[managed]
struct Circle {
    #[managed(superclass)]
    shape: Shape,
    radius: f64,
    center: Ref<Node>,
}

#[managed]
struct Nothing {}

#[managed]
struct Pair<T: Managed> {
    left: Slot<T>,
    right: Slot<T>,
}

fn node<'a>(m: &mut Mutator<'a>, value: u64) -> Local<'a, Node> {
    let init = NodeInit {
        value,
        visits: 0,
        next: None,
        weak: None,
    };
    m.alloc(init).expect("room")
}

#[test]
fn the_attribute_makes_classes() {
    let heap = Heap::builder().zeal(1).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let title = m.alloc_str("round").unwrap();
    let center = node(&mut m, 1);
    let circle = m
        .alloc(CircleInit {
            shape: ShapeInit { title: Some(title) },
            radius: 2.0,
            center,
        })
        .unwrap();
    let pair = m
        .alloc(PairInit {
            left: Some(circle),
            right: None,
        })
        .unwrap();
    m.alloc(NothingInit {}).unwrap();
    m.collect();
    let circle = &m[circle];
    assert_eq!((circle.radius, circle.center.get().value), (2.0, 1));
    assert_eq!(&circle.shape.title.get().unwrap()[..], "round");
    assert!(circle.as_object().implements::<Drawn>());
    assert_eq!(m[pair].as_object().class().name, "Pair<Circle>");
    let shape = circle.as_object().downcast::<Shape>().unwrap();
    assert_eq!(shape.as_object().class().name, "Circle");
    assert!(shape.ptr_eq(circle));
}

#[test]
fn a_slot_takes_whatever_refers_to_an_object() {
    let heap = Heap::builder().zeal(1).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let (a, b) = (node(&mut m, 1), node(&mut m, 2));
    let root: Root<Node> = m.root(b);
    let value = |m: &Mutator<'_>| m[a].next.get().map(|it| it.value);
    m[a].next.set(b);
    assert_eq!(value(&m), Some(2));
    m[a].next.clear();
    assert_eq!(value(&m), None);
    m[a].next.set(&root);
    assert_eq!(value(&m), Some(2));
    m[a].next.set(&m[a]);
    assert_eq!(value(&m), Some(1));
    m[a].next.set(Some(b));
    assert_eq!(value(&m), Some(2));
    m[a].next.set(m[a].weak.get());
    assert_eq!(value(&m), None);
    m[a].weak.set(b);
    let named = m.static_root::<Node>("named");
    named.set(&m, b);
    assert_eq!(named.get(&m).unwrap().value, 2);
    named.clear(&m);
    assert!(named.get(&m).is_none());
    let c = m.local(&root);
    m.set_local(c, a);
    assert_eq!(m[c].value, 1);
}

#[test]
fn a_local_is_refused_by_the_slots_of_another_heap() {
    let heaps = [(); 2].map(|_| Heap::builder().build().unwrap());
    let mut one = heaps[0].attach("one").unwrap();
    let mut other = heaps[1].attach("other").unwrap();
    let (here, there) = (node(&mut one, 1), node(&mut other, 2));
    let refused = |f: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err();
    assert!(refused(&|| one[here].next.set(there)));
    assert!(refused(&|| other[there].next.set(here)));
    let root = other.root(there);
    assert!(refused(&|| one[here].next.set(&root)));
    assert!(one[here].next.is_null());
    // Each of the two is found, in whichever order they were attached.
    one[here].next.set(here);
    other[there].next.set(there);
    drop(one);
    other[there].next.set(there);
    let mut one = heaps[0].attach("one again").unwrap();
    let fresh = node(&mut one, 3);
    // A local of a mutator that is gone, though of the same heap and thread.
    assert!(refused(&|| one[fresh].next.set(here)));
    drop(other);
    one[fresh].next.set(fresh);
}

#[test]
fn a_local_is_refused_on_another_thread() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let local = node(&mut m, 1);
    m.blocked(|| {
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let mut m = heap.attach("worker").unwrap();
                let own = node(&mut m, 2);
                m[own].next.set(local);
            });
            assert!(worker.join().is_err());
        });
    });
}

#[test]
fn several_locals_leave_a_scope() {
    let heap = Heap::builder().zeal(1).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let (first, rest, none) = m
        .scoped_with(|m| {
            let made: Vec<_> = (0..10).map(|value| node(m, value)).collect();
            let none: Option<Local<'_, Str>> = None;
            Ok::<_, OutOfMemory>(keep((made[0], made[1..].to_vec(), none)))
        })
        .unwrap();
    let [a, b] = m
        .scoped_with(|m| Ok::<_, OutOfMemory>(keep([node(m, 20), node(m, 21)])))
        .unwrap();
    m.collect();
    let values: Vec<u64> = rest.iter().map(|it| m[*it].value).collect();
    assert_eq!(values, (1..10).collect::<Vec<_>>());
    assert_eq!((m[first].value, m[a].value, m[b].value), (0, 20, 21));
    assert!(none.is_none());
    let failed = m.scoped_with(|m| {
        node(m, 1);
        Err::<heaphound::scope::Kept<'_, heaphound::scope::One<Node>>, _>("no")
    });
    assert_eq!(failed.err(), Some("no"));
}

#[test]
fn objects_are_cast_on_one_line() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let any: Local<'_, Object> = m.alloc_str("text").unwrap().upcast(&m);
    let text: Local<'_, Str> = any.downcast(&m).unwrap();
    assert_eq!(&m[text][..], "text");
    assert!(any.downcast::<Node>(&m).is_none());
}

#[test]
fn objects_are_shown_with_the_names_of_their_neighbours() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let a = node(&mut m, 1);
    m[a].next.set(a);
    let shown = format!("{:?}", &m[a]);
    let expected = "Node { __header: .., value: 1, visits: 0, next: Node#1, weak: null }";
    assert_eq!(shown, expected);
}

#[test]
fn errors_are_shown_as_messages() {
    let heap = Heap::builder().max_bytes(1 << 20).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let error = m.alloc_refs::<Node>(1 << 28).err().unwrap();
    assert_eq!(format!("{error:?}"), error.to_string());
    let Err(error) = heap.attach("main") else {
        panic!("attached twice");
    };
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[managed]
struct Grid {
    cells: [Var<u16>; 3],
    corners: [u8; 4],
    links: [Slot<Node>; 2],
    sure: [Ref<Node>; 2],
}

#[test]
fn arrays_of_anything_are_fields() {
    let heap = Heap::builder().zeal(1).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let (a, b) = (node(&mut m, 1), node(&mut m, 2));
    let grid = m
        .alloc(GridInit {
            cells: [1, 2, 3],
            corners: [4, 5, 6, 7],
            links: [Some(a), None],
            sure: [a, b],
        })
        .unwrap();
    m.collect();
    m[grid].cells[1].set(20);
    let grid = &m[grid];
    assert_eq!(grid.cells.each_ref().map(Var::get), [1, 20, 3]);
    assert_eq!(grid.corners, [4, 5, 6, 7]);
    assert_eq!(grid.links[0].get().unwrap().value, 1);
    assert_eq!(grid.sure.each_ref().map(|it| it.get().value), [1, 2]);
    let names: Vec<_> = grid
        .as_object()
        .class()
        .fields
        .iter()
        .map(|it| &it.name[..])
        .collect();
    assert_eq!(
        names[..4],
        ["cells[0]", "cells[1]", "cells[2]", "corners[0]"]
    );
}

#[managed]
struct Leaky {
    #[allow(dead_code)] // Never made.
    held: Vec<Root<Node>>,
}

#[test]
#[should_panic(expected = "field `held` of class `Leaky` holds roots")]
fn an_object_that_owns_roots_is_refused() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let _ = m.alloc(LeakyInit { held: Vec::new() });
}
