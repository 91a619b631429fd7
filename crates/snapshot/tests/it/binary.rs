//! The binary form: what broken files are told, and that lies about size are not believed.

use expect_test::{Expect, expect};
use heaphound_snapshot::{checksum, read, read_binary, write_binary, write_text};

const HEAP: &str = "
    class Base { id: u8 }
    class Node : Base { next ->, color: enum(red, green) }
    class Node[] { [] -> }
    root main -> Node#1
    root static:all -> Node[]#4
    Node#1 { next -> Node#2, id = 7, color = green }
    Node#2
    Node[]#4 [ Node#1, null*70000, Node#2 ]
";

fn binary() -> Vec<u8> {
    let heap = read(HEAP.as_bytes(), "heap", &mut |_, _| {}).unwrap();
    let mut bytes = Vec::new();
    write_binary(&heap, &mut bytes, &mut |_, _| {}).unwrap();
    bytes
}

/// Changes a file, puts its checksum right, and shows what is said of it.
fn check(change: impl FnOnce(&mut Vec<u8>), expected: Expect) {
    let mut bytes = binary();
    bytes.truncate(bytes.len() - 8);
    change(&mut bytes);
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    expected.assert_eq(&shown(&bytes));
}

fn shown(bytes: &[u8]) -> String {
    match read_binary(bytes, "heap.hhs", &mut |_, _| {}) {
        Ok(heap) => format!("{} objects", heap.len()),
        Err(error) => error.to_string(),
    }
}

/// A file of one section, behind those given.
fn file(sections: &[(u8, &[u8])]) -> Vec<u8> {
    let mut bytes = b"HHSNAP\0\x01".to_vec();
    for (kind, section) in sections {
        bytes.push(*kind);
        let mut length = section.len();
        while length >= 0x80 {
            bytes.push(length as u8 | 0x80);
            length >>= 7;
        }
        bytes.push(length as u8);
        bytes.extend_from_slice(section);
    }
    bytes.push(0);
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

#[test]
fn a_whole_file_is_read() {
    check(|_| {}, expect!["3 objects"]);
}

#[test]
fn the_head_is_checked() {
    check(
        |bytes| bytes[0] = b'X',
        expect!["heap.hhs: at byte 0: this is not a heap in the binary form"],
    );
    check(
        |bytes| bytes[7] = 9,
        expect!["heap.hhs: at byte 7: version 9 is not known, only 1 to 2"],
    );
    check(
        |bytes| bytes[8] = 99,
        expect!["heap.hhs: at byte 8: there are no sections of kind 99"],
    );
    check(
        |bytes| bytes[8] = 5,
        expect!["heap.hhs: at byte 10: object 0 is of class 4, which is not there"],
    );
}

#[test]
fn a_changed_byte_is_found_by_the_checksum() {
    let mut bytes = binary();
    let at = bytes.windows(4).position(|it| it == b"Base").unwrap();
    bytes[at] = b'b';
    expect!["heap.hhs: at byte 148: the checksum is wrong: some bytes have changed"]
        .assert_eq(&shown(&bytes));
}

#[test]
fn the_place_where_a_file_ends_is_told() {
    let bytes = binary();
    let mut said: Vec<String> = Vec::new();
    for length in 0..bytes.len() {
        let shown = shown(&bytes[..length]);
        assert!(!shown.ends_with("objects"), "{length} bytes are enough");
        let (_, message) = shown.split_once("at byte ").unwrap();
        let (_, message) = message.split_once(": ").unwrap();
        if said.last().is_none_or(|last| last != message) {
            said.push(message.into());
        }
    }
    said.dedup();
    expect![[r#"
        this is not a heap in the binary form
        the file ends inside the version
        the file ends inside a section
        the file ends inside the length of a section
        the file ends inside a section
        the file ends inside a string
        the file ends inside a section
        the file ends inside a string
        the file ends inside a section
        the file ends inside a string
        the file ends inside a section
        the file ends inside a string
        the file ends inside a section
        the file ends inside a string
        the file ends inside a section
        the file ends inside a string
        the file ends inside a section
        the file ends inside a string
        the file ends inside a section
        the file ends inside a string
        the file ends inside a section
        the file ends inside a string
        the file ends inside a section
        the file ends inside a string
        the file ends inside a section
        the file ends inside the length of a section
        the file ends inside a section
        3 classes do not fit into their section
        the file ends inside a class
        the file ends inside an enum
        the file ends inside a class
        the file ends inside a section
        the file ends inside the length of a section
        the file ends inside a section
        the file ends inside the length of a section
        the file ends inside a section
        the file ends inside a root
        the file ends inside a section
        the file ends inside a root
        the file ends inside a section
        the file ends inside the length of a section
        the file ends inside a section
        the file ends inside object 0
        the file ends inside the edges of object 0
        the file ends inside a section
        the file ends inside object 1
        the file ends inside a section
        the file ends inside object 2
        the file ends inside the edges of object 2
        the file ends inside a section
        the file ends inside the length of a section
        the file ends inside a section
        the file ends inside the lengths
        the file ends inside a section
        the file ends inside the length of a section
        the file ends inside a section
        the file ends inside the length of a section
        the file ends inside a section
        the file ends inside the values
        the file ends inside the values of object 0
        the file ends inside a section
        the file ends inside the checksum"#]]
    .assert_eq(&said.join("\n"));
}

#[test]
fn lies_about_size_are_not_believed() {
    let huge = [0xff, 0xff, 0xff, 0xff, 0x0f];
    let with = |kind, head: &[u8]| shown(&file(&[(1, b"\x01A"), (kind, &[head, &huge].concat())]));
    let all = [
        with(1, &[]),
        with(2, &[]),
        with(2, &[1, 0, 0]),
        with(2, &[1, 0, 0, 0]),
        with(3, &[]),
        with(4, &[0, 0]),
        with(5, &[1, 8]),
        with(6, &[]),
        with(8, &[]),
    ];
    expect![[r#"
        heap.hhs: at byte 12: a section of kind 1 is out of order
        heap.hhs: at byte 14: 4294967295 classes do not fit into their section
        heap.hhs: at byte 22: the section ends inside a class
        heap.hhs: at byte 23: the section ends inside a class
        heap.hhs: at byte 14: there is no string 4294967295
        heap.hhs: at byte 16: there is no string 4294967294
        heap.hhs: at byte 14: object 0 is of class 1, which is not there
        heap.hhs: at byte 19: the section ends inside the lengths
        heap.hhs: at byte 19: the section ends inside the values"#]]
    .assert_eq(&all.join("\n"));
}

#[test]
fn edges_and_classes_lead_somewhere() {
    let one = b"\x01\x00\x00\x00\x01\x00\x08\x01\x00";
    let heap = |objects: &[u8]| shown(&file(&[(1, b"\x01A"), (2, one), (5, objects)]));
    let all = [
        heap(&[1, 16, 0]),
        heap(&[1, 16, 1, 0, 0]),
        heap(&[1, 16, 1, 0, 1]),
        heap(&[1, 16, 1, 0, 2]),
        heap(&[1, 16, 1, 5, 0]),
        heap(&[1, 16, 2, 0, 0, 0, 0]),
        heap(&[2, 16, 0]),
        heap(&[1, 16, 1]),
        heap(&[1, 16, 3, 0, 0]),
        heap(&[0xff; 12]),
    ];
    expect![[r#"
        1 objects
        1 objects
        heap.hhs: at byte 28: an edge of object 0 leads nowhere
        heap.hhs: at byte 31: an edge leads to object 1, which is not there
        heap.hhs: at byte 31: A#1 has no slot, or two edges, at place 5
        heap.hhs: at byte 33: A#1 has no slot, or two edges, at place 0
        heap.hhs: at byte 25: object 0 is of class 2, which is not there
        heap.hhs: at byte 28: the section ends inside the edges of object 0
        heap.hhs: at byte 30: the section ends inside the edges of object 0
        heap.hhs: at byte 25: a number is too large, inside object 0"#]]
    .assert_eq(&all.join("\n"));
}

#[test]
fn a_long_name_that_many_share_is_refused() {
    // A name of a megabyte, and many roots that take five bytes each.
    let mut strings = vec![0x80, 0x80, 0x40];
    strings.resize(3 + (1 << 20), b'a');
    let class = [1, 0, 0, 0, 0, 0];
    let roots: Vec<u8> = (0..200_000u32).flat_map(|_| [0, 0, 0, 0, 0]).collect();
    let bytes = file(&[(1, &strings), (2, &class), (4, &roots), (5, &[1, 8, 0])]);
    expect!["heap.hhs: at byte 1049306: names and fields take too much memory in all"]
        .assert_eq(&shown(&bytes));
}

/// A section of a file.
fn section(kind: u8, bytes: &[u8]) -> Vec<u8> {
    [&[kind, bytes.len() as u8], bytes].concat()
}

/// A file with these classes, of which the names are `A`, `B` and `x`.
fn small_file(version: u8, classes: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut bytes = b"HHSNAP\0".to_vec();
    bytes.push(version);
    bytes.extend(section(1, b"\x01A\x01B\x01x"));
    bytes.extend(section(2, classes));
    bytes.extend(rest);
    bytes.push(0);
    let sum = checksum(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

fn as_text(bytes: &[u8]) -> String {
    match read_binary(bytes, "heap.hhs", &mut |_, _| {}) {
        Err(error) => error.to_string(),
        Ok(heap) => {
            let mut text = Vec::new();
            write_text(&heap, &mut text, &mut |_, _| {}).unwrap();
            String::from_utf8(text).unwrap()
        }
    }
}

#[test]
fn a_file_of_the_first_version_is_read() {
    // A has a slot `x`; B extends it.
    let classes = [2, 0, 0, 0, 1, 2, 8, 1, 0, 1, 1, 1, 0, 0];
    // An object of B that refers to itself.
    let objects = section(5, &[2, 16, 1, 0, 0]);
    expect![[r#"
        class A { x -> }
        class B : A {}
        B#1 { x -> B#1 }
    "#]]
    .assert_eq(&as_text(&small_file(1, &classes, &objects)));
}

#[test]
fn wrong_supertypes_are_told() {
    let check = |classes: &[u8], expected: Expect| {
        expected.assert_eq(&as_text(&small_file(2, classes, &[])));
    };
    // A: the interface B. B: an interface.
    let right = [2, 0, 0, 1, 2, 0, 0, 0, 1, 0, 0, 0, 0, 3];
    check(
        &right,
        expect![[r#"
            class A : B {}
            interface B
        "#]],
    );
    let twice = [2, 0, 0, 2, 2, 2, 0, 0, 0, 1, 0, 0, 0, 0, 3];
    check(
        &twice,
        expect!["heap.hhs: at byte 23: interface 2 is there twice"],
    );
    let no_interface = [2, 0, 0, 1, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0];
    check(
        &no_interface,
        expect!["heap.hhs: at byte 23: class 2 is not an interface"],
    );
    let missing = [2, 0, 0, 1, 3, 0, 0, 0, 1, 0, 0, 0, 0, 3];
    check(
        &missing,
        expect!["heap.hhs: at byte 23: there is no class 3"],
    );
    let cycle = [2, 0, 0, 1, 2, 0, 0, 3, 1, 0, 1, 1, 0, 0, 3];
    check(
        &cycle,
        expect!["heap.hhs: at byte 23: class 1 extends itself"],
    );
    let interface_above = [2, 0, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 3];
    check(
        &interface_above,
        expect!["heap.hhs: at byte 22: the superclass is an interface"],
    );
    let with_fields = [2, 0, 0, 1, 2, 0, 0, 0, 1, 0, 0, 0, 1, 2, 8, 1, 3];
    check(
        &with_fields,
        expect!["heap.hhs: at byte 36: interface `B` has fields, elements or a superclass"],
    );
    // Version 1 has no interfaces.
    let old = small_file(1, &[2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3], &[]);
    expect!["heap.hhs: at byte 28: there is no kind of data 3"].assert_eq(&as_text(&old));
}
