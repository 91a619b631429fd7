//! A heap that was redacted tells nothing of its contents, in any form, and is the same heap otherwise.

use heaphound_heap::class::{ClassInfo, Elements, FieldInfo, FieldKind};
use heaphound_heap::snapshot::{ObjectId, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, PlainKind, Root, RootKind, Value};
use heaphound_snapshot::{Snapshot, read, write_binary, write_text, write_v8};
use heaphound_testkit::heaps::any::heaps;
use heaphound_testkit::v8::V8File;
use proptest::prelude::*;

/// A heap in all forms in which one can be written.
fn forms(heap: &Snapshot) -> Vec<Vec<u8>> {
    let (mut text, mut binary, mut v8) = (Vec::new(), Vec::new(), Vec::new());
    write_text(heap, &mut text, &mut |_, _| {}).unwrap();
    write_binary(heap, &mut binary, &mut |_, _| {}).unwrap();
    write_v8(heap, &mut v8, &mut |_, _| {}).unwrap();
    vec![text, binary, v8]
}

/// All of a heap but its contents.
fn structure(heap: &Snapshot) -> Vec<String> {
    let mut told: Vec<String> = heap.classes().iter().map(|it| format!("{it:?}")).collect();
    told.push(format!("{:?} {:?}", heap.threads(), heap.roots()));
    for object in heap.objects() {
        let mut edges = Vec::new();
        heap.for_each_edge(object, |place, strength, to| {
            edges.push((place, strength, to))
        });
        told.push(format!(
            "{} {} {:?} {edges:?} {:?}",
            heap.name_of(object),
            heap.bytes_of(object),
            heap.length_of(object),
            heap.cut_of(object).collect::<Vec<_>>(),
        ));
    }
    told
}

/// What an object holds beside its references.
#[derive(Clone, Debug)]
struct Contents {
    text: String,
    bytes: Vec<u8>,
    number: i64,
    letter: char,
    color: bool,
}

fn contents(sizes: (usize, usize)) -> impl Strategy<Value = Contents> {
    let text = prop::collection::vec(prop::char::range('a', 'z'), sizes.0);
    let bytes = prop::collection::vec(any::<u8>(), sizes.1);
    let plain = (any::<i64>(), prop::char::range('a', 'z'), any::<bool>());
    (text, bytes, plain).prop_map(|(text, bytes, (number, letter, color))| Contents {
        text: text.into_iter().collect(),
        bytes,
        number,
        letter,
        color,
    })
}

/// Two lists of contents that differ in nothing but what they are.
fn alike() -> impl Strategy<Value = (Vec<Contents>, Vec<Contents>)> {
    let sizes = prop::collection::vec((0..40usize, 0..40usize), 1..6);
    sizes.prop_flat_map(|sizes| {
        let list =
            |sizes: &[(usize, usize)]| -> Vec<_> { sizes.iter().map(|it| contents(*it)).collect() };
        (list(&sizes), list(&sizes))
    })
}

const VARIANTS: &[&str] = &["red", "green"];

fn class(
    id: u32,
    name: &str,
    fields: &[(&str, FieldKind)],
    elements: Option<Elements>,
) -> ClassInfo {
    let field = |(name, kind): &(&str, FieldKind)| FieldInfo {
        name: name.to_string(),
        offset: 8,
        kind: *kind,
    };
    ClassInfo {
        id: ClassId(id),
        name: name.into(),
        superclass: None,
        interfaces: Vec::new(),
        is_interface: false,
        fields: fields.iter().map(field).collect(),
        elements,
        caption: None,
    }
}

/// Persons with a name, a picture and plain fields. The name is the caption.
fn persons(all: &[Contents]) -> Snapshot {
    let plain = FieldKind::Plain;
    let fields = [
        ("name", FieldKind::Opt),
        ("picture", FieldKind::Opt),
        ("number", plain(PlainKind::I64)),
        ("letter", plain(PlainKind::Char)),
        ("color", plain(PlainKind::Enum { variants: VARIANTS })),
    ];
    let mut person = class(1, "Person", &fields, None);
    person.caption = Some(0);
    let classes = vec![
        person,
        class(2, "Str", &[], Some(Elements::Text)),
        class(3, "u8[]", &[], Some(Elements::Plain(PlainKind::U8))),
    ];
    let mut builder = SnapshotBuilder::new(classes);
    for (nth, it) in all.iter().enumerate() {
        let person = builder.add_object(ClassId(1), 48);
        builder.add_edge(Place::Field(0), ObjectId(person.0 + 1));
        builder.add_edge(Place::Field(1), ObjectId(person.0 + 2));
        builder.set_value(2, Value::Signed(it.number)).unwrap();
        builder.set_value(3, Value::Char(it.letter)).unwrap();
        let color = VARIANTS[usize::from(it.color)];
        builder.set_value(4, Value::Variant(color)).unwrap();
        builder.add_object(ClassId(2), 16 + it.text.len());
        builder.set_elements(it.text.clone().into_bytes());
        builder.add_object(ClassId(3), 16 + it.bytes.len());
        builder.set_elements(it.bytes.clone());
        builder.add_root(Root::new(RootKind::Static, &format!("person{nth}")), person);
    }
    builder.finish().unwrap()
}

proptest! {
    #![proptest_config(heaphound_testkit::cases::config(200))]

    /// If two heaps differ only in their contents, nobody can tell which of them a redacted file was.
    #[test]
    fn nothing_that_is_written_depends_on_contents((one, other) in alike()) {
        let (mut one, mut other) = (persons(&one), persons(&other));
        one.redact();
        other.redact();
        prop_assert_eq!(forms(&one), forms(&other));
    }

    #[test]
    fn no_secret_is_in_any_form(secret in "[A-Z]{12,20}", wide in any::<[u8; 16]>(), number in any::<i64>()) {
        let mut heap = persons(&[Contents {
            text: secret.clone(),
            bytes: wide.to_vec(),
            number,
            letter: 'x',
            color: true,
        }]);
        let holds = |form: &[u8], secret: &[u8]| form.windows(secret.len()).any(|it| it == secret);
        // The test can fail: both are there as long as nobody redacts.
        for form in forms(&heap) {
            prop_assert!(holds(&form, secret.as_bytes()));
        }
        heap.redact();
        for form in forms(&heap) {
            for length in 6..=secret.len() {
                prop_assert!(!holds(&form, &secret.as_bytes()[..length]));
            }
            prop_assert!(!holds(&form, &wide[..6]));
            prop_assert!(!holds(&form, &number.to_le_bytes()));
            // In text; a short number may be that of an object.
            let digits = number.to_string();
            prop_assert!(digits.len() < 8 || !holds(&form, digits.as_bytes()));
        }
        prop_assert_eq!(heap.text_of(ObjectId(1)), None);
        prop_assert_eq!(heap.length_of(ObjectId(1)), Some(secret.len()));
    }

    #[test]
    fn all_but_the_contents_stays(heap in heaps()) {
        let mut heap = heap;
        let before = structure(&heap);
        heap.redact();
        prop_assert_eq!(&before, &structure(&heap));
        prop_assert!(!heap.has_values());
        for (nth, form) in forms(&heap).into_iter().enumerate() {
            let again = read(&form, "heap", &mut |_, _| {}).unwrap();
            prop_assert_eq!(&again.notes()[..1], heap.notes());
            prop_assert!(again.notes()[0].starts_with("redacted: "));
            for object in again.objects() {
                prop_assert_eq!(again.text_of(object), None);
            }
            // A heap snapshot has no arrays of plain data.
            if nth < 2 {
                prop_assert_eq!(again.notes(), heap.notes());
                prop_assert!(!again.has_values());
                prop_assert_eq!(again.len(), heap.len());
            }
        }
    }
}

/// A page with a function, an element and strings.
fn page() -> Snapshot {
    let mut file = V8File::new();
    let root = file.root();
    let roots = file.node("synthetic", "(GC roots)", 0);
    file.element(root, 1, roots);
    let nodes = [
        file.node("closure", "onPaid", 32),
        file.node("closure", "", 32),
        file.node("native", "<div class=\"secret\">", 48),
        file.node("string", "onPaid", 24),
        file.node("string", "(string)", 24),
        file.node("regexp", "/secret/", 56),
        file.node("object", "Order", 24),
    ];
    for (nth, node) in nodes.into_iter().enumerate() {
        file.element(roots, nth + 1, node);
    }
    read(file.text().as_bytes(), "page", &mut |_, _| {}).unwrap()
}

/// By class: the names of objects and their texts, where they are known.
fn names(heap: &Snapshot) -> Vec<String> {
    let name = |object: ObjectId| {
        let class = heap.class(heap.class_of(object));
        let field = class.fields.iter().position(|it| it.name == "name");
        let name = field.map(|at| match heap.slot(object, at) {
            Some(name) => format!("{:?}", heap.text_of(name)),
            None => "null".into(),
        });
        format!("{}: {name:?} {:?}", class.name, heap.text_of(object))
    };
    heap.objects().map(name).collect()
}

#[test]
fn names_that_were_redacted_are_not_known_rather_than_null() {
    let mut heap = page();
    let before = names(&heap);
    assert!(
        before.contains(&r#"Function: Some("Some(\"onPaid\")") None"#.into()),
        "{before:?}"
    );
    assert!(
        before.contains(&r#"Function: Some("null") None"#.into()),
        "{before:?}"
    );
    heap.redact();
    // Written and read again and again, it stays the same.
    for _ in 0..3 {
        let mut file = Vec::new();
        write_v8(&heap, &mut file, &mut |_, _| {}).unwrap();
        let text = String::from_utf8(file.clone()).unwrap();
        assert!(
            !text.contains("secret") && !text.contains("onPaid"),
            "{text}"
        );
        heap = read(&file, "page", &mut |_, _| {}).unwrap();
        let after = names(&heap);
        let count = |what: &str| after.iter().filter(|it| it.as_str() == what).count();
        assert_eq!(count(r#"Function: Some("None") None"#), 1, "{after:?}");
        assert_eq!(count(r#"Function: Some("null") None"#), 1, "{after:?}");
        assert_eq!(count(r#"RegExp: Some("None") None"#), 1, "{after:?}");
        assert_eq!(count(r#"<div>: Some("None") None"#), 1, "{after:?}");
        assert_eq!(count("Order: None None"), 1, "{after:?}");
        assert!(
            heap.objects().all(|it| heap.text_of(it).is_none()),
            "{after:?}"
        );
        assert!(heap.notes()[0].starts_with("redacted: "));
    }
}
