//! Plain data of several parts, values of a language, and how both and the collections look to rules.

use heaphound::collections::{
    DequeMut, GcDeque, GcHashMap, GcVec, MapMut, ValueVec, ValuesMut, VecMut,
};
use heaphound::{
    Collector, Heap, HeapBuilder, Local, LocalValue, Managed, Mutator, Object, Plain, Ref, Rules,
    Slot, Str, Value, ValueSlot, Var, managed,
};
use proptest::prelude::*;

fn builders() -> Vec<HeapBuilder> {
    let both = [Collector::MarkSweep, Collector::Generational];
    let all = both.map(|it| Heap::builder().max_bytes(64 << 20).collector(it).zeal(1));
    all.into_iter().collect()
}

fn on_every_heap(f: impl Fn(&mut Mutator<'_>)) {
    for builder in builders() {
        let heap = builder.build().unwrap();
        f(&mut heap.attach("main").unwrap());
    }
}

#[derive(Clone, Copy, PartialEq, Debug, Plain)]
struct Point {
    x: f32,
    y: f64,
}

#[derive(Clone, Copy, PartialEq, Debug, Plain)]
struct Meters(u16);

#[derive(Clone, Copy, PartialEq, Debug, Plain)]
struct Empty {}

#[derive(Clone, Copy, PartialEq, Debug, Plain)]
enum Shape {
    Nothing,
    Circle(f32),
    Box { corner: Point, size: [u8; 3] },
    Far(Meters, Option<u64>),
}

#[derive(Clone, Copy, PartialEq, Debug, Plain)]
#[repr(u8)]
enum State {
    Open,
    Closed,
}

#[managed]
#[derive(Debug)]
struct Particle {
    start: Point,
    at: Var<Point>,
    shape: Var<Shape>,
    first_shape: Shape,
    limit: Var<Option<u32>>,
    cells: Var<[u16; 3]>,
    pair: Var<(bool, State)>,
    height: Var<Meters>,
    empty: Var<Empty>,
    none: Var<[u64; 0]>,
    corners: [Var<Point>; 2],
    next: Slot<Particle>,
}

fn particle<'a>(m: &mut Mutator<'a>) -> Local<'a, Particle> {
    let at = Point { x: 1.5, y: -2.0 };
    m.alloc(ParticleInit {
        start: at,
        at,
        shape: Shape::Nothing,
        first_shape: Shape::Circle(1.0),
        limit: None,
        cells: [1, 2, 3],
        pair: (true, State::Closed),
        height: Meters(7),
        empty: Empty {},
        none: [],
        corners: [at, Point { x: 0.0, y: 9.0 }],
        next: None,
    })
    .expect("room")
}

#[test]
fn plain_data_of_several_parts_is_stored_and_read_back() {
    on_every_heap(|m| {
        let it = particle(m);
        m.collect();
        let shapes = [
            Shape::Circle(-0.5),
            Shape::Box {
                corner: Point { x: 3.0, y: 4.0 },
                size: [7, 8, 9],
            },
            Shape::Far(Meters(9), Some(u64::MAX)),
            Shape::Far(Meters(9), None),
            Shape::Nothing,
        ];
        for shape in shapes {
            m[it].shape.set(shape);
            m.collect();
            assert_eq!(m[it].shape.get(), shape);
        }
        let it = &m[it];
        assert_eq!(it.first_shape, Shape::Circle(1.0));
        assert_eq!(it.at.get(), it.start);
        it.at.set(Point { x: 8.0, y: 9.0 });
        assert_eq!((it.at.get().x, it.at.get().y), (8.0, 9.0));
        for limit in [Some(0), Some(u32::MAX), None] {
            it.limit.set(limit);
            assert_eq!(it.limit.get(), limit);
        }
        assert_eq!((it.cells.get(), it.height.get()), ([1, 2, 3], Meters(7)));
        assert_eq!(it.pair.get(), (true, State::Closed));
        assert_eq!(it.corners[1].get().y, 9.0);
        assert_eq!((it.empty.get(), it.none.get()), (Empty {}, []));
    });
}

#[test]
fn rules_read_the_parts_of_plain_data() {
    on_every_heap(|m| {
        let it = particle(m);
        m[it].shape.set(Shape::Circle(2.0));
        m[it].limit.set(Some(3));
        let holds = "
            assertion(forall Particle p: p.at.x > 1.0 && p.at.y == -2.0 && p.start.x > 1.0);
            assertion(forall Particle p: p.cells[2] == 3 && p.corners[1].y == 9.0);
            assertion(forall Particle p: p.shape == Circle && p.limit == Some && p.height == 7);
        ";
        let mut rules = Rules::new(holds);
        assert_eq!(rules.check(m).expect("it is understood"), []);
        let fails = "assertion(forall Particle p: p.corners[0].x > 2.0);";
        assert_eq!(Rules::new(fails).check(m).unwrap().len(), 1);
    });
}

/// Anybody can implement `Plain`. A part that lies elsewhere would show the memory behind an object.
#[derive(Clone, Copy)]
struct Liar;

impl Plain for Liar {
    type Cell = std::sync::atomic::AtomicU8;
    const KIND: heaphound::PlainKind = heaphound::PlainKind::U8;
    const PARTS: Option<fn(&mut dyn FnMut(heaphound::PlainPart))> = Some(|f| {
        f(heaphound::PlainPart {
            name: ".beyond".into(),
            offset: 1 << 20,
            kind: heaphound::PlainKind::U64,
        })
    });
    fn to_bits(self) -> u8 {
        0
    }
    fn from_bits(_: u8) -> Self {
        Self
    }
}

#[managed]
struct Lies {
    #[allow(dead_code)] // Never made.
    lie: Var<Liar>,
}

#[test]
#[should_panic(expected = "a part outside of `Plain::Cell`")]
fn a_part_outside_of_its_data_is_refused() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let _ = m.alloc(LiesInit { lie: Liar });
}

#[managed]
#[derive(Debug)]
struct Cell {
    value: ValueSlot,
    several: [ValueSlot; 2],
    next: Slot<Cell>,
}

fn cell<'a>(m: &mut Mutator<'a>, value: LocalValue<'_>) -> Local<'a, Cell> {
    m.alloc(CellInit {
        value,
        several: [value, LocalValue::NIL],
        next: None,
    })
    .expect("room")
}

#[test]
fn a_value_takes_eight_bytes() {
    assert_eq!(size_of::<ValueSlot>(), 8);
    assert_eq!(size_of::<[ValueSlot; 3]>(), 24);
}

#[test]
fn values_of_each_kind_survive() {
    on_every_heap(|m| {
        let ints = [
            0,
            1,
            -1,
            (1 << 30) - 1,
            1 << 30,
            -(1 << 30),
            -(1 << 30) - 1,
            i64::MAX,
            i64::MIN,
        ];
        for int in ints {
            let mut m = m.scope();
            let value = m.int(int).unwrap();
            let it = cell(&mut m, value);
            m.collect();
            assert!(matches!(m[it].value.get(), Value::Int(it) if it == int));
            assert!(matches!(m[it].several[0].get(), Value::Int(it) if it == int));
            assert!(matches!(m[it].several[1].get(), Value::Nil));
        }
        for float in [
            0.0,
            -0.0,
            0.1,
            1.5,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::INFINITY,
            f64::NAN,
        ] {
            let mut m = m.scope();
            let value = m.float(float).unwrap();
            let it = cell(&mut m, value);
            m.collect();
            let Value::Float(back) = m[it].value.get() else {
                panic!("{:?}", &m[it]);
            };
            assert_eq!(back.to_bits(), float.to_bits());
        }
        let text = m.alloc_str("text").unwrap();
        let it = cell(m, text.into());
        m.collect();
        let Value::Object(object) = m[it].value.get() else {
            panic!("{:?}", &m[it]);
        };
        assert_eq!(&object.downcast::<Str>().unwrap()[..], "text");
        m[it].value.set(true.into());
        assert!(matches!(m[it].value.get(), Value::Bool(true)));
        assert!(m[it].value.set_small(-5) && !m[it].value.set_small(1 << 40));
        assert!(matches!(m[it].value.get(), Value::Int(-5)));
        m[it].several[1].copy_from(&m[it].several[0]);
        assert!(matches!(m[it].several[1].get(), Value::Object(_)));
        let shown = format!("{:?}", &m[it]);
        assert!(
            shown.contains("value: -5, several: [Str#1, Str#1]"),
            "{shown}"
        );
    });
}

/// What a value does not refer to any more is garbage, and what it refers to is known to rules.
#[test]
fn values_are_references_to_the_collector() {
    on_every_heap(|m| {
        let weak = {
            let mut m = m.scope();
            let held = m.alloc_str("held").unwrap();
            let it = cell(&mut m, held.into());
            let weak = m.weak(held);
            let keeps = "assertion(forall Cell c: c.value instanceof Str && c.several[1] == null);";
            assert_eq!(Rules::new(keeps).check(&mut m).unwrap(), []);
            let root = m.root(it);
            (weak, root)
        };
        let (weak, root) = weak;
        m.collect();
        assert!(weak.get(m).is_some());
        m[&root].value.clear();
        let number = m.int(3).unwrap();
        m[&root].several[0].set(number);
        m.collect();
        assert!(weak.get(m).is_none());
    });
}

#[test]
fn a_value_of_another_heap_is_refused_and_nothing_changes() {
    let (one, other) = (
        Heap::builder().build().unwrap(),
        Heap::builder().build().unwrap(),
    );
    let (mut m, mut n) = (one.attach("m").unwrap(), other.attach("n").unwrap());
    let number = m.int(4).unwrap();
    let it = cell(&mut m, number);
    let foreign = n.alloc_str("foreign").unwrap();
    let set = std::panic::AssertUnwindSafe(|| m[it].value.set(foreign.into()));
    assert!(std::panic::catch_unwind(set).is_err());
    assert!(matches!(m[it].value.get(), Value::Int(4)));
    let push = std::panic::AssertUnwindSafe(|| {
        let values = ValueVec::new(&mut m).unwrap();
        values.push(&mut m, foreign.into())
    });
    assert!(std::panic::catch_unwind(push).is_err());
}

#[derive(Clone, Debug)]
enum Step {
    Push(i64),
    Text(u8),
    Float(f64),
    Pop,
    Set(prop::sample::Index, i64),
    Truncate(prop::sample::Index),
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        3 => any::<i64>().prop_map(Step::Push),
        3 => (-9..9i64).prop_map(Step::Push),
        2 => any::<u8>().prop_map(Step::Text),
        2 => any::<f64>().prop_map(Step::Float),
        2 => Just(Step::Pop),
        2 => (index(), any::<i64>()).prop_map(|(at, it)| Step::Set(at, it)),
        1 => index().prop_map(Step::Truncate),
    ]
}

/// A value as text, so that both sides can be compared.
fn shown(value: Value<&Object>) -> String {
    match value {
        Value::Object(it) => it.downcast::<Str>().expect("only texts").to_string(),
        Value::Float(it) => format!("float {}", it.to_bits()),
        other => format!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(heaphound_testkit::cases::config(24))]

    #[test]
    fn an_array_of_values_is_an_array(steps in prop::collection::vec(step(), 0..60)) {
        on_every_heap(|m| {
            let values = ValueVec::new(m).unwrap();
            let mut model: Vec<String> = Vec::new();
            for step in &steps {
                let mut m = m.scope();
                match step {
                    Step::Push(number) => {
                        let value = m.int(*number).unwrap();
                        values.push(&mut m, value).unwrap();
                        model.push(format!("Int({number})"));
                    }
                    Step::Text(text) => {
                        let text = text.to_string();
                        let value = m.alloc_str(&text).unwrap();
                        values.push(&mut m, value.into()).unwrap();
                        model.push(text);
                    }
                    Step::Float(number) => {
                        let value = m.float(*number).unwrap();
                        values.push(&mut m, value).unwrap();
                        model.push(format!("float {}", number.to_bits()));
                    }
                    Step::Pop => {
                        let popped = values.pop_local(&m).map(|it| shown(it.get(&m)));
                        assert_eq!(popped, model.pop());
                    }
                    Step::Set(at, number) if !model.is_empty() => {
                        let at = at.index(model.len());
                        let value = m.int(*number).unwrap();
                        m[values].set(&m, at, value);
                        model[at] = format!("Int({number})");
                    }
                    Step::Truncate(at) => {
                        let len = at.index(model.len() + 1).max(model.len() / 2);
                        m[values].truncate(len);
                        model.truncate(len);
                    }
                    Step::Set(..) => {}
                }
                assert_eq!(m[values].iter().map(shown).collect::<Vec<_>>(), model);
                assert_eq!(m[values].last().map(shown), model.last().cloned());
            }
        });
    }
}

#[managed]
struct Order {
    number: u64,
    paid: Var<bool>,
}

#[managed]
struct Cart {
    items: Ref<GcVec<Order>>,
}

#[test]
fn rules_read_the_elements_and_the_length_of_a_vector() {
    on_every_heap(|m| {
        let items = GcVec::new(m).unwrap();
        let _cart = m.alloc(CartInit { items }).unwrap();
        let empty = "assertion(forall Cart c: c.items.len == 0 && c.items[0] == null);";
        assert_eq!(Rules::new(empty).check(m).unwrap(), []);
        for number in 0..5 {
            let mut m = m.scope();
            let order = m
                .alloc(OrderInit {
                    number,
                    paid: number != 3,
                })
                .unwrap();
            items.push(&mut m, order).unwrap();
        }
        let holds = "
            assertion(forall Cart c: c.items.len == 5 && c.items[4].number == 4 && c.items[5] == null);
            assertion(forall GcVec<Order> v: v[0].number == 0 && v[1].paid == true);
        ";
        assert_eq!(Rules::new(holds).check(m).expect("it is understood"), []);
        let fails = "assertion(forall Cart c: c.items[3].paid == true);";
        assert_eq!(Rules::new(fails).check(m).unwrap().len(), 1);
    });
}

#[test]
fn the_insides_of_collections_have_names_in_reports() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let order = m
        .alloc(OrderInit {
            number: 1,
            paid: false,
        })
        .unwrap();
    let (vec, queue) = (GcVec::new(&mut m).unwrap(), GcDeque::new(&mut m).unwrap());
    let map = GcHashMap::<u64, Order>::new(&mut m).unwrap();
    let by_name = GcHashMap::<Str, Order>::new(&mut m).unwrap();
    vec.push(&mut m, order).unwrap();
    queue.push_back(&mut m, order).unwrap();
    map.insert(&mut m, 1, order).unwrap();
    by_name.insert(&mut m, "one", order).unwrap();
    // Arrays of the program's own have other names.
    let _own = m.alloc_refs::<Order>(1).unwrap();
    let names: Vec<String> = m.inspect(|heap| {
        use heaphound::view::HeapView;
        heap.classes().iter().map(|it| it.name.clone()).collect()
    });
    for name in [
        "GcVec<Order>",
        "GcVec<Order>.items",
        "GcDeque<Order>.items",
        "GcHashMap<u64, Order>.values",
        "GcHashMap<Str, Order>.values",
        "GcHashMap<Str, _>.keys",
        "Order[]",
    ] {
        assert!(
            names.iter().any(|it| it == name),
            "{name} is not in {names:?}"
        );
    }
    let class = m[order].as_object().class().name.clone();
    assert_eq!(class, "Order");
}
