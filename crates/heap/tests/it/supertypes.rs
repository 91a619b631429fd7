//! Supertypes: who is below whom, and what a heap does not accept.

use heaphound_heap::class::{extends, find_cycles, short_name, with_subclasses};
use heaphound_heap::snapshot::{Snapshot, SnapshotBuilder};
use heaphound_heap::view::HeapView;
use heaphound_heap::{ClassId, ClassInfo};
use proptest::prelude::*;

fn class(id: usize, superclass: Option<usize>, interfaces: Vec<usize>) -> ClassInfo {
    let id_of = |it: usize| ClassId(it as u32 + 1);
    ClassInfo {
        id: id_of(id),
        name: format!("C{id}"),
        superclass: superclass.map(id_of),
        interfaces: interfaces.into_iter().map(id_of).collect(),
        is_interface: false,
        fields: Vec::new(),
        elements: None,
        caption: None,
    }
}

/// Classes whose supertypes are any, cycles included.
fn classes() -> impl Strategy<Value = Vec<ClassInfo>> {
    (1..10usize).prop_flat_map(|count| {
        let above = (
            proptest::option::of(0..count),
            proptest::collection::vec(0..count, 0..3),
        );
        let all = proptest::collection::vec(above, count);
        all.prop_map(|all| {
            let all = all.into_iter().enumerate();
            all.map(|(id, (superclass, interfaces))| class(id, superclass, interfaces))
                .collect()
        })
    })
}

/// The pairs of a class and one above it: the closure, by repetition.
fn closure(classes: &[ClassInfo]) -> Vec<(ClassId, ClassId)> {
    let direct = classes
        .iter()
        .flat_map(|class| class.supertypes().map(|above| (class.id, above)));
    let mut pairs: Vec<_> = direct.collect();
    loop {
        let mut more = Vec::new();
        for &(a, b) in &pairs {
            for &(c, d) in &pairs {
                if b == c && !pairs.contains(&(a, d)) && !more.contains(&(a, d)) {
                    more.push((a, d));
                }
            }
        }
        if more.is_empty() {
            return pairs;
        }
        pairs.extend(more);
    }
}

proptest! {
    #[test]
    fn who_is_below_whom_is_the_closure_of_supertypes(classes in classes()) {
        let closure = closure(&classes);
        let info = |id: ClassId| &classes[id.0 as usize - 1];
        for above in &classes {
            let below = with_subclasses(&classes, &[above.id]);
            for class in &classes {
                let is_below = class.id == above.id || closure.contains(&(class.id, above.id));
                prop_assert_eq!(extends(class.id, above.id, info), is_below);
                prop_assert_eq!(below.contains(&class.id), is_below);
            }
        }
    }

    #[test]
    fn every_cycle_is_found_and_can_be_broken(classes in classes()) {
        let cycles = find_cycles(&classes);
        let above = closure(&classes);
        let has_any = above.iter().any(|(class, above)| class == above);
        prop_assert_eq!(!cycles.is_empty(), has_any);
        let mut broken = classes.clone();
        for cycle in cycles {
            prop_assert!(above.contains(&(cycle.class, cycle.class)));
            let class = &classes[cycle.class.0 as usize - 1];
            prop_assert!(class.supertypes().any(|it| it == cycle.through));
            let returns = cycle.through == cycle.class
                || above.contains(&(cycle.through, cycle.class));
            prop_assert!(returns);
            let last = &mut broken[cycle.last.0 as usize - 1];
            last.superclass = last.superclass.filter(|&it| it != cycle.class);
            last.interfaces.retain(|&it| it != cycle.class);
        }
        prop_assert!(find_cycles(&broken).is_empty());
    }
}

/// What a heap with these classes says; `change` may make them wrong.
fn build(change: impl FnOnce(&mut Vec<ClassInfo>)) -> Result<Snapshot, String> {
    let mut builder = SnapshotBuilder::default();
    let open = builder.add_interface("Open", &[]);
    let closing = builder.add_interface("Closing", &[open]);
    let base = builder.add_class("Base", None, &["next"]);
    let stream = builder.add_class("Stream", Some(base), &["from"]);
    builder.implement(stream, &[closing, open]);
    let mut classes = builder.finish().unwrap().classes().to_vec();
    change(&mut classes);
    let mut builder = SnapshotBuilder::new(classes);
    builder.add_object(stream, 16);
    builder.finish().map_err(|error| error.to_string())
}

#[test]
fn a_heap_has_interfaces() {
    let heap = build(|_| {}).unwrap();
    let names = |ids: Vec<ClassId>| -> Vec<String> {
        ids.iter().map(|&id| heap.class(id).name.clone()).collect()
    };
    let below = |id: u32| names(with_subclasses(heap.classes(), &[ClassId(id)]));
    assert_eq!(below(1), ["Open", "Closing", "Stream"]);
    assert_eq!(below(2), ["Closing", "Stream"]);
    assert_eq!(below(3), ["Base", "Stream"]);
}

#[test]
fn wrong_supertypes_are_no_heap() {
    let check = |change: fn(&mut Vec<ClassInfo>), expected: &str| {
        assert_eq!(build(change).map(|_| ()), Err(expected.into()));
    };
    check(
        |it| it[0].interfaces.push(ClassId(2)),
        "class `Open` extends itself",
    );
    check(
        |it| it[1].interfaces.push(ClassId(1)),
        "class `Closing` implements `Open` twice",
    );
    check(
        |it| it[3].interfaces.push(ClassId(3)),
        "`Base`, which `Stream` implements, is not an interface",
    );
    check(
        |it| it[3].interfaces.push(ClassId(9)),
        "class `Stream` extends what is not there",
    );
    check(
        |it| it[3].interfaces.push(ClassId(0)),
        "class `Stream` extends what is not there",
    );
    check(
        |it| it[2].superclass = Some(ClassId(1)),
        "`Open`, which `Base` extends, is an interface",
    );
    check(
        |it| it[0].fields = it[2].fields.clone(),
        "interface `Open` has fields, elements or a superclass",
    );
    check(
        |it| {
            it[3] = ClassInfo {
                id: ClassId(4),
                ..it[1].clone()
            }
        },
        "object 0 is of interface `Closing`",
    );
}

#[test]
fn a_short_name_has_no_modules() {
    for (name, short) in [
        ("Node", "Node"),
        ("java.util.Map$Entry", "Map$Entry"),
        ("shop::List<shop::Order>", "List<Order>"),
        (
            "a::Map<b::Key, c::List<java.util.Node[]>>[]",
            "Map<Key, List<Node[]>>[]",
        ),
        (
            "Pair<(alloc::string::String, u8), &a::B>",
            "Pair<(String, u8), &B>",
        ),
        ("", ""),
    ] {
        assert_eq!(short_name(name), short);
    }
}
