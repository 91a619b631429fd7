//! Casts, held against a walk up the classes: deeper than rows have room for, through classes with parameters, in heaps that met
//! the classes in another order.

use heaphound::{Heap, Local, Managed, Mutator, Object, Slot, Str, managed, match_class};

#[managed]
struct C0 {}

macro_rules! below {
    ($($class:ident $above:ident),*) => {$(
        #[managed]
        struct $class {
            #[managed(superclass)]
            above: $above,
        }
    )*};
}
below!(C1 C0, C2 C1, C3 C2, C4 C3, C5 C4, C6 C5, C7 C6, C8 C7, C9 C8, C10 C9);
below!(Beside C0, BelowOne One, BelowOther Other);

#[managed]
struct With<T: Managed> {
    #[managed(superclass)]
    above: C3,
    of: Slot<T>,
}

type One = With<C0>;
type Other = With<C1>;

/// Nobody makes one.
#[managed]
struct Never {
    #[managed(superclass)]
    above: C0,
}

macro_rules! init {
    ($class:ident) => { $class {} };
    ($class:ident $($above:ident)+) => { $class { above: init!($($above)+) } };
}

fn with<T: Managed>() -> WithInit<'static, T> {
    let above = init!(C3Init C2Init C1Init C0Init);
    WithInit { above, of: None }
}

/// An object of each class.
fn objects<'a>(m: &mut Mutator<'a>, in_reverse: bool) -> Vec<Local<'a, Object>> {
    type Make = for<'b> fn(&mut Mutator<'b>) -> Local<'b, Object>;
    let mut all: Vec<Make> = vec![
        |m| m.alloc(init!(C0Init)).unwrap().upcast(m),
        |m| m.alloc(init!(C1Init C0Init)).unwrap().upcast(m),
        |m| {
            m.alloc(init!(C3Init C2Init C1Init C0Init))
                .unwrap()
                .upcast(m)
        },
        |m| {
            m.alloc(init!(C6Init C5Init C4Init C3Init C2Init C1Init C0Init))
                .unwrap()
                .upcast(m)
        },
        |m| {
            let it = init!(C8Init C7Init C6Init C5Init C4Init C3Init C2Init C1Init C0Init);
            m.alloc(it).unwrap().upcast(m)
        },
        |m| {
            let it = init!(C10Init C9Init C8Init C7Init C6Init C5Init C4Init C3Init C2Init C1Init C0Init);
            m.alloc(it).unwrap().upcast(m)
        },
        |m| m.alloc(init!(BesideInit C0Init)).unwrap().upcast(m),
        |m| m.alloc(with::<C0>()).unwrap().upcast(m),
        |m| m.alloc(with::<C1>()).unwrap().upcast(m),
        |m| m.alloc(BelowOneInit { above: with() }).unwrap().upcast(m),
        |m| m.alloc(BelowOtherInit { above: with() }).unwrap().upcast(m),
        |m| m.alloc_str("text").unwrap().upcast(m),
        |m| m.alloc_refs::<C0>(3).unwrap().upcast(m),
    ];
    if in_reverse {
        all.reverse();
    }
    all.into_iter().map(|make| make(m)).collect()
}

/// Checks the casts of all objects to one type.
fn check<T: Managed + ?Sized>(m: &Mutator<'_>, objects: &[Local<'_, Object>]) {
    let name = (T::DESCRIPTOR.name)();
    for it in objects {
        let object = &m[*it];
        let (mut expected, mut next) = (name == "Object", Some(object.class()));
        while let Some(class) = next {
            expected |= class.name == name;
            let above = class.superclass;
            let mut all = objects.iter().map(|it| m[*it].class());
            next = above.map(|id| {
                // A class of which there is no object has the name of its type.
                all.find(|it| it.id == id).unwrap_or_else(|| known(m, id))
            });
        }
        let narrow = object.downcast::<T>();
        assert_eq!(
            narrow.is_some(),
            expected,
            "{} as {name}",
            object.class().name
        );
        assert!(narrow.is_none_or(|it| it.ptr_eq(object)));
        assert_eq!(it.downcast::<T>(m).is_some(), expected);
    }
}

fn known<'m>(m: &'m Mutator<'_>, id: heaphound::ClassId) -> &'m heaphound::ClassInfo {
    let classes: &'m [heaphound::ClassInfo] = Box::leak(m.classes().to_vec().into_boxed_slice());
    classes
        .iter()
        .find(|it| it.id == id)
        .expect("superclasses are classes")
}

fn check_all(heap: &Heap, in_reverse: bool) {
    let mut m = heap.attach("main").unwrap();
    let all = objects(&mut m, in_reverse);
    for _ in 0..2 {
        check::<Object>(&m, &all);
        check::<C0>(&m, &all);
        check::<C1>(&m, &all);
        check::<C2>(&m, &all);
        check::<C3>(&m, &all);
        check::<C4>(&m, &all);
        check::<C6>(&m, &all);
        check::<C7>(&m, &all);
        check::<C8>(&m, &all);
        check::<C9>(&m, &all);
        check::<C10>(&m, &all);
        check::<Beside>(&m, &all);
        check::<One>(&m, &all);
        check::<Other>(&m, &all);
        check::<BelowOne>(&m, &all);
        check::<BelowOther>(&m, &all);
        check::<Never>(&m, &all);
        check::<Str>(&m, &all);
        check::<heaphound::RefArray<C0>>(&m, &all);
        check::<heaphound::RefArray<C1>>(&m, &all);
        m.collect();
    }
}

#[test]
fn casts_are_what_the_classes_say() {
    for in_reverse in [false, true, false] {
        check_all(&Heap::builder().build().unwrap(), in_reverse);
    }
}

#[test]
fn casts_are_right_where_threads_meet_the_classes_at_once() {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || check_all(&Heap::builder().build().unwrap(), thread % 2 == 0));
        }
    });
}

#[test]
fn each_struct_of_a_generic_function_is_a_class_of_its_own() {
    fn one<T: Managed>(m: &mut Mutator<'_>, other: Local<'_, Object>) -> bool {
        #[managed]
        struct Inner {
            number: u64,
        }
        let number = size_of::<&T>() as u64;
        let it = m.alloc(InnerInit { number }).unwrap();
        assert_eq!(m[it].number, number);
        m[other].downcast::<Inner>().is_some()
    }
    #[managed]
    struct Inner {
        number: u64,
    }
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let it = m.alloc(InnerInit { number: 3 }).unwrap();
    assert_eq!(m[it].number, 3);
    let it = it.upcast(&m);
    assert!(!one::<C0>(&mut m, it) && !one::<C1>(&mut m, it));
    assert!(m[it].downcast::<Inner>().is_some());
}

#[test]
fn arms_of_all_sorts_stand_side_by_side() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    for it in objects(&mut m, false) {
        let object = &m[it];
        let found = match_class!(object, {
            C10 => |_| "C10",
            C8 => |_| "C8",
            BelowOne => |_| "BelowOne",
            With<C0> => |_| "With<C0>",
            With<C1> => |_| "With<C1>",
            C3 => |_| "C3",
            C0 => |_| "C0",
            Str => |_| "Str",
            Object => |_| "Object",
            _ => unreachable!(),
        });
        let expected = match &*object.class().name {
            "C6" => "C3",
            "C1" | "Beside" => "C0",
            "BelowOther" => "With<C1>",
            "C0[]" => "Object",
            itself => itself,
        };
        assert_eq!(found, expected);
    }
}
