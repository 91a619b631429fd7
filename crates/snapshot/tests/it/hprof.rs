//! Dumps of JVMs, written byte by byte.

use expect_test::{Expect, expect};
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::{HeapView, Strength, live_objects};
use heaphound_snapshot::{Input, ReadError, ReadOptions, read_input, write_text};
use heaphound_testkit::hprof::Field::{
    self, Boolean, Byte, Char, Double, Float, Int, Long, Object, Short,
};
use heaphound_testkit::hprof::Hprof;
use proptest::prelude::*;

fn options() -> ReadOptions {
    ReadOptions {
        values: true,
        threads: 3,
        most_memory: 1 << 30,
    }
}

fn read_with(bytes: &[u8], options: &ReadOptions) -> Result<Snapshot, ReadError> {
    read_input(
        Input::memory(bytes.to_vec()),
        "a.hprof",
        options,
        &mut |_, _| {},
    )
}

fn read(bytes: &[u8]) -> Result<Snapshot, ReadError> {
    read_with(bytes, &options())
}

fn text_of(heap: &Snapshot) -> String {
    let mut text = Vec::new();
    write_text(heap, &mut text, &mut |_, _| {}).expect("memory does not fail");
    let mut text = String::from_utf8(text).expect("text is UTF-8");
    for note in heap.notes() {
        text += &format!("note: {note}\n");
    }
    text
}

/// Reads a dump, and shows it as heap text without what every dump has.
fn check(dump: Hprof, expected: Expect) {
    let heap = read(&dump.finish()).unwrap();
    let text = text_of(&heap);
    let of_all = |line: &&str| {
        let names = [
            "java.lang.Class",
            "unknown",
            "boolean[]",
            "char[]",
            "float[]",
            "double[]",
        ];
        let more = ["short[]", "int[]", "long[]", "byte[]"];
        let mut names = names.iter().chain(&more);
        !(line.starts_with("class ") && names.any(|it| line[6..].starts_with(&format!("{it} "))))
    };
    let lines: Vec<&str> = text.lines().filter(of_all).collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

/// The classes that text needs, with their ids.
struct Java {
    object: u64,
    string: u64,
    thread: u64,
}

fn java(dump: &mut Hprof) -> Java {
    let object = dump.class("java/lang/Object", 0, &[]);
    let fields = [("value", Object(0)), ("coder", Byte(0)), ("hash", Int(0))];
    let string = dump.class("java/lang/String", object, &fields);
    let fields = [("name", Object(0)), ("priority", Int(0))];
    let thread = dump.class("java/lang/Thread", object, &fields);
    Java {
        object,
        string,
        thread,
    }
}

/// A dump with something of everything.
fn everything(version: &str, id_bytes: usize, tag: u8) -> Hprof {
    let mut dump = Hprof::new(version, id_bytes);
    let java = java(&mut dump);
    let fields = [("referent", Object(0)), ("queue", Object(0))];
    let reference = dump.class("java/lang/ref/Reference", java.object, &fields);
    let weak = dump.class("java/lang/ref/WeakReference", reference, &[]);
    let all = [
        ("next", Object(0)),
        ("z", Boolean(0)),
        ("c", Char(0)),
        ("f", Float(0.0)),
        ("d", Double(0.0)),
        ("b", Byte(0)),
        ("s", Short(0)),
        ("i", Int(0)),
        ("j", Long(0)),
    ];
    let node = dump.class("shop/Node", java.object, &all);
    let more = dump.class(
        "shop/More",
        node,
        &[("other", Object(0)), ("next", Object(0))],
    );
    let nodes = dump.class("[Lshop/Node;", java.object, &[]);
    dump.class("[I", java.object, &[]);
    dump.set_static(node, "list", Object(0x100));
    dump.set_static(node, "count", Int(3));
    dump.set_static(more, "gone", Object(0));
    dump.set_loader(node, 0x180);
    dump.trace(9, 1, &[("sell", 6, "Till.java", 17), ("main", 6, "", -1)]);
    dump.record(0x07, &[0; 24]);
    dump.record(0x42, b"what is this");
    let plain = [
        Boolean(1),
        Char(0x20ac),
        Float(1.5),
        Double(-0.25),
        Byte(-3),
        Short(-300),
        Int(70_000),
        Long(-5_000_000_000),
    ];
    let node_at = |next| [&[Object(next)][..], &plain].concat();
    dump.heap(tag, |heap| {
        heap.classes();
        heap.instance(0x100, node, &node_at(0x110));
        let own = [Object(0x130), Object(0x120)];
        heap.instance(0x110, more, &[&own[..], &node_at(0x100)].concat());
    });
    dump.heap(tag, |heap| {
        heap.objects(0x120, nodes, &[0, 0x100, 0, 0x110]);
        heap.primitives(0x130, 10, 3, &[0, 0, 0, 1, 0, 0, 0, 2, 255, 255, 255, 255]);
        heap.instance(0x140, weak, &[Object(0x100), Object(0)]);
        heap.primitives(0x150, 8, 4, b"till");
        heap.instance(0x160, java.string, &[Object(0x150), Byte(0), Int(7)]);
        heap.instance(0x170, java.thread, &[Object(0x160), Int(5)]);
        heap.instance(0x180, java.object, &[]);
        heap.root(0x08, 0x170, &[1, 9]);
        heap.root(0x03, 0x140, &[1, 0]);
        heap.root(0x03, 0x120, &[1, u32::MAX]);
        heap.root(0x02, 0x130, &[1, 1]);
        heap.root(0x04, 0x130, &[2]);
        heap.root(0x06, 0x130, &[1]);
        heap.root(0x01, 0x160, &[]);
        heap.root(0x05, node, &[]);
        heap.root(0x07, 0x170, &[]);
        heap.root(0xff, 0x180, &[]);
    });
    if tag == 0x1c {
        dump.end();
    }
    dump
}

#[test]
fn every_kind_of_record() {
    check(
        everything("1.0.2", 8, 0x1c),
        expect![[r#"
            note "a record of the unknown kind 0x42 was skipped"
            lacks interfaces
            class java.lang.Object {}
            class java.lang.String : java.lang.Object by value { value ->, coder: i8, hash: i32, text }
            class java.lang.Thread : java.lang.Object by name { name ->, priority: i32 }
            class java.lang.ref.Reference : java.lang.Object { referent -weak->, queue -> }
            class java.lang.ref.WeakReference : java.lang.ref.Reference {}
            class shop.Node : java.lang.Object { next ->, z: bool, c: char, f: f32, d: f64, b: i8, s: i16, i: i32, j: i64 }
            class shop.More : shop.Node { other ->, More.next -> }
            class shop.Node[] : java.lang.Object { [] -> }
            root static:shop.Node.list -> shop.Node#10
            root thread-object:till -> java.lang.Thread#17
            root thread:thread-2[0] @ "native stack" -> int[]#13
            root thread:till[0] @ "shop.Node.sell (Till.java:17)" -> java.lang.ref.WeakReference#14
            root thread:till[1] -> shop.Node[]#12
            root thread:till[2] @ "JNI local of shop.Node.main" -> int[]#13
            root thread:till[3] @ "thread block" -> int[]#13
            root handle:jni-global[0] -> java.lang.String#16
            root other:monitor[0] -> java.lang.Thread#17
            root other:system-class[0] -> java.lang.Class#6
            root other:unknown[0] -> java.lang.Object#18
            java.lang.Class#1 (16 bytes)
            java.lang.Class#2 (16 bytes) { superclass -> java.lang.Class#1 }
            java.lang.Class#3 (16 bytes) { superclass -> java.lang.Class#1 }
            java.lang.Class#4 (16 bytes) { superclass -> java.lang.Class#1 }
            java.lang.Class#5 (16 bytes) { superclass -> java.lang.Class#4 }
            java.lang.Class#6 { superclass -> java.lang.Class#1, classLoader -> java.lang.Object#18 }
            java.lang.Class#7 (16 bytes) { superclass -> java.lang.Class#6 }
            java.lang.Class#8 (16 bytes) { superclass -> java.lang.Class#1 }
            java.lang.Class#9 (16 bytes) { superclass -> java.lang.Class#1 }
            shop.Node#10 { next -> shop.More#11, z = true, c = '€', f = 1.5, d = -0.25, b = -3, s = -300, i = 70000, j = -5000000000 }
            shop.More#11 { next -> shop.Node#10, other -> int[]#13, More.next -> shop.Node[]#12, z = true, c = '€', f = 1.5, d = -0.25, b = -3, s = -300, i = 70000, j = -5000000000 }
            shop.Node[]#12 [ null, shop.Node#10, null, shop.More#11 ]
            int[]#13 (32 bytes) [ 1, 2, -1 ]
            java.lang.ref.WeakReference#14 (24 bytes) { referent -weak-> shop.Node#10 }
            byte[]#15 (24 bytes) [ 116, 105, 108, 108 ]
            java.lang.String#16 (24 bytes) { value -> byte[]#15, coder = 0, hash = 7 } "till"
            java.lang.Thread#17 (24 bytes) { name -> java.lang.String#16, priority = 5 }
            java.lang.Object#18 (16 bytes)
            note: a record of the unknown kind 0x42 was skipped
        "#]],
    );
}

#[test]
fn versions_widths_and_segments_give_the_same_heap() {
    let expected = text_of(&read(&everything("1.0.2", 8, 0x1c).finish()).unwrap());
    // Ids of four bytes are those of a smaller machine: sizes differ.
    let without_sizes = |text: &str| -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(" bytes") {
            out += rest[..at].trim_end_matches(|c: char| c.is_ascii_digit());
            rest = &rest[at + 6..];
        }
        let plain = out + rest;
        plain.replace(" ()", "").replace("(, ", "(")
    };
    for version in ["1.0.1", "1.0.2", "1.0.3"] {
        for tag in [0x0c, 0x1c] {
            let heap = read(&everything(version, 8, tag).finish()).unwrap();
            assert_eq!(text_of(&heap), expected);
            let heap = read(&everything(version, 4, tag).finish()).unwrap();
            assert_eq!(without_sizes(&text_of(&heap)), without_sizes(&expected));
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let bytes = everything("1.0.2", 8, 0x1c).finish();
    let expected = text_of(&read(&bytes).unwrap());
    for threads in [1, 2, 16] {
        let options = ReadOptions {
            threads,
            ..options()
        };
        assert_eq!(text_of(&read_with(&bytes, &options).unwrap()), expected);
    }
}

#[test]
fn without_values_threads_have_their_names() {
    let bytes = everything("1.0.2", 8, 0x1c).finish();
    let options = ReadOptions {
        values: false,
        ..options()
    };
    let heap = read_with(&bytes, &options).unwrap();
    assert!(!heap.has_values());
    assert_eq!(heap.threads(), ["till", "thread-2"]);
    let string = heap.addresses().find(0x160).unwrap();
    assert_eq!(heap.text_of(ObjectId(string)), None);
    let array = heap.addresses().find(0x130).unwrap();
    assert_eq!(heap.length_of(ObjectId(array)), Some(3));
}

#[test]
fn objects_are_found_by_their_addresses() {
    let heap = read(&everything("1.0.2", 8, 0x1c).finish()).unwrap();
    for object in heap.objects() {
        let address = heap.addresses().of(object.0).unwrap();
        assert_eq!(heap.addresses().find(address), Some(object.0));
    }
    assert_eq!(heap.addresses().find(0x101), None);
}

#[test]
fn a_referent_is_weak() {
    let mut dump = Hprof::new("1.0.2", 8);
    let fields = [("referent", Object(0)), ("next", Object(0))];
    let reference = dump.class("java/lang/ref/Reference", 0, &fields);
    let soft = dump.class(
        "java/lang/ref/SoftReference",
        reference,
        &[("clock", Long(0))],
    );
    dump.segment(|heap| {
        heap.classes();
        heap.instance(0x100, soft, &[Long(1), Object(0x110), Object(0x120)]);
        heap.instance(0x110, reference, &[Object(0), Object(0)]);
        heap.instance(0x120, reference, &[Object(0), Object(0)]);
        heap.root(0xff, 0x100, &[]);
    });
    dump.end();
    let heap = read(&dump.finish()).unwrap();
    let at = |address| ObjectId(heap.addresses().find(address).unwrap());
    assert_eq!(live_objects(&heap), [at(0x100), at(0x120)]);
    let mut edges = Vec::new();
    heap.for_each_edge(at(0x100), |_, strength, to| edges.push((strength, to)));
    let expected = [(Strength::Weak, at(0x110)), (Strength::Strong, at(0x120))];
    assert_eq!(edges, expected);
}

#[test]
fn strings_of_all_ages_are_text() {
    let utf16: Vec<u8> = "k€y 𝐑".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let chars: Vec<u8> = "k€y 𝐑".encode_utf16().flat_map(u16::to_be_bytes).collect();
    // Of JDK 9 and later.
    let mut dump = Hprof::new("1.0.2", 8);
    let java = java(&mut dump);
    dump.segment(|heap| {
        heap.classes();
        heap.primitives(0x100, 8, utf16.len() as u32, &utf16);
        heap.instance(0x110, java.string, &[Object(0x100), Byte(1), Int(0)]);
        heap.primitives(0x120, 8, 3, b"k\xe9y");
        heap.instance(0x130, java.string, &[Object(0x120), Byte(0), Int(0)]);
        heap.instance(0x140, java.string, &[Object(0), Byte(0), Int(0)]);
        heap.primitives(0x150, 8, 0, b"");
        heap.instance(0x160, java.string, &[Object(0x150), Byte(0), Int(0)]);
    });
    dump.end();
    let heap = read(&dump.finish()).unwrap();
    let at = |address| ObjectId(heap.addresses().find(address).unwrap());
    assert_eq!(heap.text_of(at(0x110)).as_deref(), Some("k€y 𝐑"));
    assert_eq!(heap.whole_text_of(at(0x130)).as_deref(), Some("kéy"));
    assert_eq!(heap.text_of(at(0x140)), None);
    assert_eq!(heap.whole_text_of(at(0x160)).as_deref(), Some(""));
    assert_eq!(heap.caption_of(at(0x130)).as_deref(), Some("value=\"kéy\""));
    // Of JDK 7 and 8, and with a part of a shared array, of JDK 6.
    for (more, values, expected) in [
        (vec![], vec![], "k€y 𝐑"),
        (
            vec![("offset", Int(0)), ("count", Int(0))],
            vec![Int(1), Int(2)],
            "€y",
        ),
        (
            vec![("offset", Int(0)), ("count", Int(0))],
            vec![Int(4), Int(900)],
            "𝐑",
        ),
    ] {
        let mut dump = Hprof::new("1.0.1", 4);
        let fields: Vec<(&str, Field)> = [("value", Object(0))].into_iter().chain(more).collect();
        let string = dump.class("java/lang/String", 0, &fields);
        let values: Vec<Field> = [Object(0x100)].into_iter().chain(values).collect();
        dump.heap(0x0c, |heap| {
            heap.classes();
            heap.primitives(0x100, 5, chars.len() as u32 / 2, &chars);
            heap.instance(0x110, string, &values);
        });
        let heap = read(&dump.finish()).unwrap();
        let string = ObjectId(heap.addresses().find(0x110).unwrap());
        assert_eq!(heap.text_of(string).as_deref(), Some(expected));
    }
}

#[test]
fn text_survives_conversion() {
    let heap = read(&everything("1.0.2", 8, 0x1c).finish()).unwrap();
    let mut bytes = Vec::new();
    heaphound_snapshot::write_binary(&heap, &mut bytes, &mut |_, _| {}).unwrap();
    let again = heaphound_snapshot::read_binary(&bytes, "again", &mut |_, _| {}).unwrap();
    let text = |heap: &Snapshot| {
        text_of(heap).replace("note: a record of the unknown kind 0x42 was skipped\n", "")
    };
    assert_eq!(text(&again), text(&heap));
    // Classes are told apart by what the dump says of them.
    assert!(heap.captions().count() > 0);
    assert!(again.captions().eq(heap.captions()));
    let again = heaphound_snapshot::read_text(text(&heap).as_bytes(), "text", &mut |_, _| {});
    assert_eq!(text(&again.unwrap()), text(&heap));
}

#[test]
fn what_android_adds_is_read() {
    let mut dump = Hprof::new("1.0.3", 4);
    let object = dump.class("java.lang.Object", 0, &[]);
    dump.segment(|heap| {
        heap.raw(&[0xfe, 0, 0, 0, 1, 0, 0, 0x90, 0]);
        heap.classes();
        heap.instance(0x100, object, &[]);
        heap.root(0x89, 0x100, &[]);
        heap.root(0x8a, 0x100, &[]);
        heap.root(0x8b, 0x100, &[]);
        heap.root(0x8c, 0x100, &[]);
        heap.root(0x8d, 0x100, &[]);
        heap.root(0x8e, 0x100, &[1, 0]);
        heap.root(0x90, 0x100, &[]);
        heap.raw(&[0xc3, 0, 0, 1, 8, 0, 0, 0, 0, 0, 0, 0, 9, 8]);
    });
    dump.end();
    check(
        dump,
        expect![[r#"
            lacks interfaces
            class java.lang.Object {}
            root thread:thread-1[0] @ "JNI monitor" -> java.lang.Object#2
            root other:debugger[0] -> java.lang.Object#2
            root other:interned-string[0] -> java.lang.Object#2
            root other:reference-cleanup[0] -> java.lang.Object#2
            root other:vm-internal[0] -> java.lang.Object#2
            root finalizer:finalizing[0] -> java.lang.Object#2
            java.lang.Class#1 (8 bytes)
            java.lang.Object#2
            byte[]#3 (9 elements)
        "#]],
    );
}

#[test]
fn what_does_not_fit_is_said() {
    let mut dump = Hprof::new("1.0.2", 8);
    let a = dump.class("A", 0x1010, &[("x", Object(0)), ("y", Object(0))]);
    let b = dump.class("B", a, &[("x", Object(0))]);
    dump.segment(|heap| {
        heap.classes();
        heap.instance(0x100, a, &[Object(0x999), Object(0x100)]);
        heap.instance(0x110, b, &[Object(0x100)]);
        heap.instance(0x120, 0x5555, &[Object(0x100)]);
        heap.objects(0x130, b, &[0x100, 0x998]);
        heap.instance(0x130, a, &[Object(0), Object(0)]);
        heap.root(0xff, 0x777, &[]);
        heap.root(0xff, 0x130, &[]);
    });
    dump.segment(|heap| heap.raw(&[0x21, 0, 0, 0]));
    dump.segment(|heap| heap.raw(&[0x66, 0, 0, 0]));
    dump.end();
    check(
        dump,
        expect![[r#"
            note "at byte 577: a segment of the heap ends inside an object, which is not read"
            note "at byte 590: the kind 0x66 is unknown; the rest of this segment of the heap is not read"
            note "class B extends itself"
            note "2 references lead to objects that the dump does not have"
            note "1 root is an object that the dump does not have"
            note "2 objects are of classes that the dump does not have"
            note "2 instances have fewer bytes than their classes have fields"
            lacks parts
            lacks interfaces
            class A : B { A.x ->, y -> }
            class B { x -> }
            class unknown[] { [] -> }
            root other:unknown[0] -> unknown[]#6
            java.lang.Class#1 (16 bytes) { superclass -> java.lang.Class#2 }
            java.lang.Class#2 (16 bytes) { superclass -> java.lang.Class#1 }
            A#3 { A.x -> cut, y -> A#3 }
            B#4 { x -> A#3 }
            unknown#5 (16 bytes)
            unknown[]#6 [ A#3, cut ]
            A#7
            note: at byte 577: a segment of the heap ends inside an object, which is not read
            note: at byte 590: the kind 0x66 is unknown; the rest of this segment of the heap is not read
            note: class B extends itself
            note: 2 references lead to objects that the dump does not have
            note: 1 root is an object that the dump does not have
            note: 2 objects are of classes that the dump does not have
            note: 2 instances have fewer bytes than their classes have fields
        "#]],
    );
}

#[test]
fn errors_have_a_place() {
    let fails = |bytes: &[u8], expected: &str| {
        let error = read(bytes).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    fails(
        b"JAVA PROFILE 1.0.9\0\0\0\0\x08\0\0\0\0\0\0\0\0",
        "a.hprof: at byte 0: the version of the dump is not known: JAVA PROFILE 1.0.9",
    );
    fails(
        b"JAVA PROFILE 1.0.2\0\0\0",
        "a.hprof: at byte 21: the file ends inside its header",
    );
    fails(
        b"JAVA PROFILE 1.0.2\0\0\0\0\x05\0\0\0\0\0\0\0\0",
        "a.hprof: at byte 19: ids have 5 bytes, and can have 4 or 8",
    );
    let dump = Hprof::new("1.0.2", 8).finish();
    fails(
        &dump,
        "a.hprof: at byte 31: the file ends before its heap begins",
    );
}

#[test]
fn a_dump_larger_than_memory_is_refused() {
    let bytes = everything("1.0.2", 8, 0x1c).finish();
    let options = ReadOptions {
        most_memory: 1 << 20,
        ..options()
    };
    let error = read_with(&bytes, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.hprof: reading it takes about 17 MiB of memory, and 1 MiB are free"
    );
}

#[test]
fn a_dump_that_is_cut_short_is_read_as_far_as_it_goes() {
    let bytes = everything("1.0.2", 8, 0x1c).finish();
    let whole = read(&bytes).unwrap();
    let (mut errors, mut objects) = (0, 0);
    // Before that, it is not known for a dump.
    for end in 16..bytes.len() {
        let Ok(heap) = read(&bytes[..end]) else {
            errors += 1;
            continue;
        };
        let known = whole.notes();
        let more: Vec<&String> = heap
            .notes()
            .iter()
            .filter(|it| !known.contains(it))
            .collect();
        let is_said = more.iter().any(|it| it.contains("the file ends"));
        assert!(is_said, "{end} of {}: {:?}", bytes.len(), heap.notes());
        assert!(heap.len() >= objects, "fewer objects at {end}");
        objects = heap.len();
    }
    assert!(errors < bytes.len() / 2);
    assert_eq!(objects, whole.len());
    // In the middle of the thread.
    let thread = whole.addresses().find(0x170).unwrap();
    let at = (0..bytes.len())
        .find(|&end| read(&bytes[..end]).is_ok_and(|heap| heap.len() as u32 == thread + 1));
    let heap = read(&bytes[..at.unwrap() - 3]).unwrap();
    let said = heap.notes().iter().find(|it| it.contains("the file ends"));
    expect!["at byte 2573: the file ends inside an instance of java.lang.Thread; what came behind it is missing"].assert_eq(said.unwrap());
}

#[test]
fn a_packed_dump_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.hprof.gz");
    let bytes = everything("1.0.2", 8, 0x1c).finish();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, &bytes).unwrap();
    let packed = packer.finish().unwrap();
    std::fs::write(&path, &packed).unwrap();
    let open = || Input::open(&path, u64::MAX).unwrap();
    let read = |input| read_input(input, "a", &options(), &mut |_, _| {});
    let expected = text_of(&read_with(&bytes, &options()).unwrap());
    assert_eq!(text_of(&read(open()).unwrap()), expected);
    // As a stream, and in two members, as a JVM writes them.
    let stream = Input::stream(&packed[..], u64::MAX).unwrap();
    assert_eq!(text_of(&read(stream).unwrap()), expected);
    let mut members = Vec::new();
    for part in bytes.chunks(bytes.len() / 2 + 1) {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packer, part).unwrap();
        members.extend(packer.finish().unwrap());
    }
    let stream = Input::stream(&members[..], u64::MAX).unwrap();
    assert_eq!(text_of(&read(stream).unwrap()), expected);
    // Cut short.
    std::fs::write(&path, &packed[..packed.len() - 40]).unwrap();
    assert!(
        open().len() < bytes.len() as u64,
        "{} of {}",
        open().len(),
        bytes.len()
    );
    let heap = read(open()).unwrap();
    let is_said = heap.notes().iter().any(|it| it.contains("the file ends"));
    assert!(is_said, "{:?}", heap.notes());
    // Too much of it.
    let error = Input::open(&path, 100).unwrap_err();
    assert_eq!(error.to_string(), "it has more than 100 bytes");
}

proptest! {
    #[test]
    fn any_bytes_give_a_heap_or_an_error(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        id_bytes in prop_oneof![Just(4usize), Just(8)],
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = everything("1.0.2", id_bytes, 0x1c).finish();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        // In debug builds, all columns are checked.
        let _ = read(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        let _ = read(&bytes);
    }
}
