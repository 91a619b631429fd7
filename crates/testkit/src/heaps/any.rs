//! Heaps with whatever a file can hold: odd names, classes of all sorts, every kind of value; and
//! a heap told in full, to compare it by.

use std::fmt::Write;

use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind, Root, RootKind, Value};
use proptest::prelude::*;

/// Everything about a heap. Text does not know offsets, and whether a slot may be null.
pub fn told(heap: &Snapshot, precisely: bool) -> String {
    let mut out = String::new();
    for class in heap.classes() {
        let mut class = class.clone();
        for field in &mut class.fields {
            if !precisely {
                field.offset = 0;
                if field.kind == FieldKind::Ref {
                    field.kind = FieldKind::Opt;
                }
            }
        }
        writeln!(out, "{class:?}").unwrap();
    }
    writeln!(out, "{:?}", heap.threads()).unwrap();
    for root in heap.roots() {
        writeln!(out, "{root:?}").unwrap();
    }
    for object in heap.objects() {
        let bytes = heap.bytes_of(object);
        let length = heap.length_of(object);
        writeln!(out, "{} {bytes} {length:?}", heap.name_of(object)).unwrap();
        heap.for_each_edge(object, |place, strength, to| {
            writeln!(out, "  {place:?} {strength:?} {}", to.0).unwrap();
        });
        for place in heap.cut_of(object) {
            assert!(heap.is_cut(object, place));
            writeln!(out, "  {place:?} was cut").unwrap();
        }
        heap.for_each_value(object, |field, value| {
            assert_eq!(
                format!("{:?}", heap.plain_value(object, field)),
                format!("Some({value:?})")
            );
            writeln!(out, "  {field} {value:?}").unwrap();
        });
        if let Some(elements) = heap.element_bytes(object) {
            writeln!(out, "  {elements:?}").unwrap();
        }
    }
    out
}

/// A heap of up to 40 objects.
pub fn heaps() -> impl Strategy<Value = Snapshot> {
    (schemas(), 0..40usize, any::<bool>(), any::<bool>()).prop_flat_map(
        |(classes, count, values, numbers)| {
            let none = classes.iter().all(|class| class.is_interface);
            let count = if none { 0 } else { count };
            let objects = prop::collection::vec(any::<Seeds>(), count);
            let roots = prop::collection::vec(any::<Seeds>(), if count == 0 { 0 } else { 8 });
            let threads = prop::collection::vec(names(), 0..4);
            (
                Just(classes),
                objects,
                roots,
                threads,
                Just((values, numbers)),
            )
                .prop_map(|(classes, objects, roots, threads, (values, numbers))| {
                    build(classes, &objects, &roots, &threads, values, numbers)
                })
        },
    )
}

type Seeds = [u64; 12];

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z_$][A-Za-z0-9_.$:<>-]{0,8}",
        "[a-z]{1,5}\\[\\]",
        "[a-z]{1,5}\\[[0-9]\\]",
        any::<String>(),
        Just("null".to_string()),
        Just("true".to_string()),
        Just("a \"b\" \\ c\n".to_string()),
        Just("größe".to_string()),
        Just("a//b".to_string()),
        Just("text".to_string()),
        Just("class".to_string()),
        Just("interface".to_string()),
        Just("root".to_string()),
        Just("".to_string()),
    ]
}

fn kinds() -> impl Strategy<Value = PlainKind> {
    prop::sample::select(vec![
        PlainKind::Bool,
        PlainKind::Char,
        PlainKind::U8,
        PlainKind::U16,
        PlainKind::U32,
        PlainKind::U64,
        PlainKind::I8,
        PlainKind::I16,
        PlainKind::I32,
        PlainKind::I64,
        PlainKind::F32,
        PlainKind::F64,
        PlainKind::Enum {
            variants: &["red", "light green", "5", "nan", "null", "\"", "größe"],
        },
    ])
}

fn fields() -> impl Strategy<Value = (String, FieldKind)> {
    let kind = prop_oneof![
        Just(FieldKind::Ref),
        Just(FieldKind::Opt),
        Just(FieldKind::Weak),
        Just(FieldKind::Dependent),
        Just(FieldKind::Owned),
        kinds().prop_map(FieldKind::Plain),
    ];
    (names(), kind)
}

fn schemas() -> impl Strategy<Value = Vec<ClassInfo>> {
    let elements = prop_oneof![
        3 => Just(None),
        2 => Just(Some(Elements::Refs)),
        1 => Just(Some(Elements::Text)),
        1 => kinds().prop_map(|kind| Some(Elements::Plain(kind))),
    ];
    let class = (
        names(),
        any::<u8>(),
        prop::collection::vec(fields(), 0..5),
        elements,
        (prop::bool::weighted(0.2), any::<u8>()),
    );
    prop::collection::vec(class, 0..6).prop_map(|classes| {
        let count = classes.len();
        let mut made: Vec<ClassInfo> = Vec::new();
        for (place, class) in classes.into_iter().enumerate() {
            let (name, above, mut own, mut elements, (is_interface, interfaces)) = class;
            // Supertypes come before here; they are turned round below.
            let above = (place > 0 && above.is_multiple_of(3)).then(|| above as usize % place);
            let mut above = above.filter(|&above| !made[above].is_interface);
            if is_interface {
                above = None;
                own.clear();
                elements = None;
            }
            let seed = interfaces as usize;
            let is_chosen = |nth: &usize| interfaces >> (nth % 8) & 1 == 1;
            let chosen = (0..place).filter(|&nth| made[nth].is_interface);
            let interfaces = chosen.filter(is_chosen).map(|nth| made[nth].id).collect();
            let mut fields = above.map_or(Vec::new(), |above| made[above].fields.clone());
            for (name, kind) in own {
                let mut name = name;
                while fields.iter().any(|field: &FieldInfo| field.name == name) {
                    name.push('x');
                }
                let offset = fields.len() as u32 * 3;
                fields.push(FieldInfo { name, offset, kind });
            }
            let inherited = above.and_then(|above: usize| made[above].caption);
            let chosen = fields.get(seed % (2 * fields.len() + 1));
            let chosen = chosen.filter(|field| field.kind != FieldKind::Owned);
            let caption = chosen.map(|_| (seed % (2 * fields.len() + 1)) as u32);
            let mut name = name;
            while made.iter().any(|class| class.name == name) {
                name.push('x');
            }
            made.push(ClassInfo {
                id: ClassId((count - place) as u32),
                name,
                superclass: above.map(|above| ClassId((count - above) as u32)),
                interfaces,
                is_interface,
                fields,
                elements,
                caption: caption.or(inherited),
            });
        }
        made.reverse();
        made
    })
}

fn build(
    classes: Vec<ClassInfo>,
    objects: &[Seeds],
    roots: &[Seeds],
    threads: &[String],
    values: bool,
    numbers: bool,
) -> Snapshot {
    let count = objects.len() as u64;
    let to = |seed: u64| ObjectId((seed % count) as u32);
    let mut builder = SnapshotBuilder::new(classes.clone());
    let with_instances: Vec<_> = classes.iter().filter(|it| !it.is_interface).collect();
    for (id, seeds) in objects.iter().enumerate() {
        let class = with_instances[seeds[0] as usize % with_instances.len()];
        let bytes = match seeds[1] % 8 {
            0 => seeds[2] >> 20,
            1 => u32::MAX as u64,
            _ => seeds[2] % 100,
        };
        builder.add_object(class.id, bytes as usize);
        if numbers {
            // Distinct, and in no order.
            builder.set_number((id as u64 * 7919 + 13) % 1009 * (1 + (seeds[3] % 2) * 1009));
        }
        let slots = class.fields.iter().enumerate();
        for (nth, (at, _)) in slots.filter(|(_, it)| it.kind.is_slot()).enumerate() {
            if seeds[4] >> (2 * nth % 64) & 3 != 0 {
                builder.add_edge(
                    Place::Field(at as u32),
                    to(seeds[5].rotate_left(nth as u32 * 7)),
                );
            } else if seeds[5] >> (nth % 64) & 1 == 1 {
                builder.add_cut(Place::Field(at as u32));
            }
        }
        if values {
            for (at, field) in class.fields.iter().enumerate() {
                if let FieldKind::Plain(kind) = field.kind
                    && seeds[6] >> (at % 64) & 1 == 1
                {
                    builder
                        .set_value(at, value(kind, seeds[7].rotate_left(at as u32 * 11)))
                        .unwrap();
                }
            }
        }
        add_elements(&mut builder, class, seeds, values, to);
    }
    for name in threads {
        let mut known = threads.iter().take_while(|it| !std::ptr::eq(*it, name));
        if !known.any(|it| it == name) {
            builder.add_thread(name);
        }
    }
    let mut with_object = Vec::new();
    for (nth, seeds) in roots.iter().enumerate() {
        let kinds = [
            RootKind::Static,
            RootKind::ThreadObject,
            RootKind::ThreadStack,
            RootKind::Handle,
            RootKind::Other,
            RootKind::Finalizer,
        ];
        let kind = kinds[seeds[0] as usize % 6];
        let name = match threads.is_empty() {
            true => "main: 1[2]",
            false => &threads[seeds[1] as usize % threads.len()],
        };
        // A thread has one object at most.
        let kind = match kind {
            RootKind::ThreadObject if with_object.contains(&name) => RootKind::ThreadStack,
            kind => kind,
        };
        if kind == RootKind::ThreadObject {
            with_object.push(name);
        }
        let mut root = Root::new(kind, name);
        root.index = nth as u32 + (seeds[2] % 2) as u32 * 1_000_000;
        root.scope =
            (seeds[3].is_multiple_of(2)).then(|| format!("src/\"main\".rs:{}", seeds[3] % 100));
        builder.add_root(root, to(seeds[4]));
    }
    builder.finish().unwrap()
}

fn add_elements(
    builder: &mut SnapshotBuilder,
    class: &ClassInfo,
    seeds: &Seeds,
    values: bool,
    to: impl Fn(u64) -> ObjectId,
) {
    let knows_length = !seeds[8].is_multiple_of(4);
    match class.elements {
        None => {}
        Some(Elements::Refs) => {
            let mut index = 0;
            for nth in 0..seeds[9] % 6 {
                // Some neighbours, some holes, some further than two bytes count.
                index += [0, 0, 3, 9, 70_000][(seeds[10] >> (3 * nth)) as usize % 5];
                if seeds[11] >> nth & 3 == 3 {
                    builder.add_cut(Place::Element(index));
                } else {
                    builder.add_edge(
                        Place::Element(index),
                        to(seeds[11].rotate_left(nth as u32 * 9)),
                    );
                }
                index += 1;
            }
            if knows_length {
                builder.set_length(index + (seeds[8] % 13) as u32);
            }
        }
        Some(Elements::Text) => {
            let mut text = names_of(seeds[9]).into_bytes();
            if seeds[9].is_multiple_of(5) {
                text.push(0xe2);
            }
            if seeds[8] % 4 == 1 {
                builder.set_length(text.len() as u32 + 3);
            }
            if values && seeds[10].is_multiple_of(2) {
                builder.set_elements(text);
            }
        }
        Some(Elements::Plain(kind)) => {
            let count = seeds[9] % 5;
            let mut bytes = Vec::new();
            for nth in 0..count {
                let value = value(kind, seeds[10].rotate_left(nth as u32 * 13));
                let bits = kind.encode(value).unwrap().to_le_bytes();
                bytes.extend_from_slice(&bits[..kind.bytes()]);
            }
            if seeds[8] % 4 == 1 {
                builder.set_length(count as u32 + 3);
            }
            if values && seeds[11].is_multiple_of(2) {
                builder.set_elements(bytes);
            }
        }
    }
}

fn names_of(seed: u64) -> String {
    let parts = [
        "",
        "a",
        "\"",
        "\\",
        "\n",
        "é",
        "\u{1f600}",
        "// ",
        "\0",
        "\t",
    ];
    (0..8)
        .map(|nth| parts[(seed >> (4 * nth)) as usize % parts.len()])
        .collect()
}

/// A value of that kind; all NaN are one, because text has only one.
fn value(kind: PlainKind, seed: u64) -> Value {
    let bits = match kind {
        PlainKind::Bool => seed % 2,
        PlainKind::Char => match char::from_u32(seed as u32 % 0x11_0000) {
            Some(c) => c as u64,
            None => '\'' as u64,
        },
        PlainKind::Enum { variants } => seed % variants.len() as u64,
        PlainKind::F64 | PlainKind::U64 | PlainKind::I64 => seed,
        kind => seed & ((1 << (8 * kind.bytes())) - 1),
    };
    match kind.decode(bits) {
        Value::Float(value) if value.is_nan() => Value::Float(f64::NAN),
        value => value,
    }
}
