//! V8's heap snapshots: tiny ones, written line by line, wrong ones, and heaps that are written as such.

use std::collections::{BTreeSet, HashSet};

use expect_test::{Expect, expect};
use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::ObjectId;
use heaphound_heap::view::{HeapView, Strength, live_objects};
use heaphound_heap::{ClassInfo, FieldKind};
use heaphound_snapshot::{
    Format, ReadOptions, Snapshot, V8Error, read, read_v8, write_text, write_v8,
};
use heaphound_testkit::heaps::any::heaps;
use heaphound_testkit::v8::V8File;
use proptest::prelude::*;

fn read_bytes(text: &[u8]) -> Result<Snapshot, V8Error> {
    let options = ReadOptions::default();
    read_v8(text, text.len() as u64, "app", &options, &mut |_, _| {})
}

fn heap_of(file: &V8File) -> Snapshot {
    read_bytes(file.text().as_bytes()).unwrap()
}

fn written(heap: &Snapshot) -> Vec<u8> {
    let mut out = Vec::new();
    write_v8(heap, &mut out, &mut |_, _| {}).unwrap();
    out
}

fn text_of(heap: &Snapshot) -> String {
    let mut out = Vec::new();
    write_text(heap, &mut out, &mut |_, _| {}).unwrap();
    String::from_utf8(out).unwrap()
}

/// The heap of a file, as heap text.
fn check(file: &V8File, expected: Expect) {
    let heap = heap_of(file);
    let mut shown = text_of(&heap);
    for note in heap.notes() {
        shown += &format!("note: {note}\n");
    }
    expected.assert_eq(&shown);
    // Once written as V8 writes, it stays what it is.
    let again = read_bytes(&written(&heap)).unwrap();
    assert_eq!(text_of(&heap), text_of(&again));
}

/// A file with something of everything.
fn shop() -> V8File {
    let mut file = V8File::new();
    let handles = file.group("(Global handles)");
    let stack = file.group("(Stack roots)");
    let strings = file.group("(Internalized strings)");
    let global = file.node("object", "global", 40);
    let order = file.node("object", "Order", 24);
    let other = file.node("object", "Order", 32);
    let name = file.node("string", "Ann \"😀\"", 16);
    let map = file.node("object shape", "system / Map", 72);
    let prototype = file.node("object", "Object", 28);
    let callback = file.node("closure", "onPaid", 64);
    let context = file.node("object", "system / Context", 48);
    let store = file.node("array", "(object elements)", 48);
    let table = file.node("array", "", 64);
    let value = file.node("object", "Secret", 16);
    let number = file.node("number", "heap number", 16);
    file.global(global);
    file.edge(handles, "internal", "1 / onPaid", callback);
    file.edge(handles, "weak", "2", other);
    file.edge(stack, "internal", "1", order);
    file.edge(strings, "internal", "1", name);
    file.edge(global, "property", "orders", store);
    file.edge(global, "internal", "map", map);
    file.edge(global, "property", "secrets", table);
    file.edge(store, "internal", "0", order);
    file.edge(store, "internal", "2", other);
    for it in [order, other] {
        file.edge(it, "internal", "map", map);
        file.edge(it, "property", "__proto__", prototype);
    }
    file.edge(order, "property", "customer", name);
    file.edge(other, "property", "paid by", name);
    file.edge(other, "property", "total", number);
    file.edge(other, "shortcut", "first", order);
    file.hidden(other, 4, number);
    file.edge(map, "internal", "prototype", prototype);
    file.edge(callback, "internal", "context", context);
    file.edge(context, "context", "order", order);
    let pair = format!(
        "3 / part of key (Order @{}) -> value (Secret @{}) pair in WeakMap (table @{})",
        file.id(other),
        file.id(value),
        file.id(table)
    );
    file.edge(table, "weak", "5", other);
    file.edge(table, "weak", "6", value);
    file.edge(table, "internal", &pair, value);
    file.edge(other, "internal", &pair, value);
    file
}

#[test]
fn nodes_edges_and_roots_become_a_heap() {
    check(
        &shop(),
        expect![[r##"
        lacks numbers
        interface Detached
        interface "(system)"
        class global { orders ->, secrets ->, map -> }
        class Order { customer ->, "paid by" ->, total ->, first -weak->, __proto__ -weak->, map ->, [] -> }
        class "(string)" { text }
        class "system / Map" : "(system)" { prototype -> }
        class Object {}
        class Function by name { context ->, name -weak-> }
        class "system / Context" : "(system)" { order -> }
        class "(array)" by name { name -weak->, [] -> }
        class Secret {}
        class "(number)" {}
        class "(names)" { [] -> }
        class "(WeakMap pair)" { key -weak->, value -dependent-> }
        root static:global -> global#11
        root thread:main[0] @ "(Stack roots)" -> Order#13
        root handle:"(Global handles)"[0] @ "onPaid" -> Function#23
        root other:"(names)"[0] -> "(names)"#36
        global#11 (40 bytes) { orders -> "(array)"#27, secrets -> "(array)"#29, map -> "system / Map"#19 }
        Order#13 (24 bytes) { customer -> "(string)"#17, __proto__ -weak-> Object#21, map -> "system / Map"#19 }
        Order#15 (32 bytes) { "paid by" -> "(string)"#17, total -> "(number)"#33, first -weak-> Order#13, __proto__ -weak-> Object#21, map -> "system / Map"#19 }
        Order#15[0] -> "(number)"#33
        "(string)"#17 (16 bytes) "Ann \"😀\""
        "system / Map"#19 (72 bytes) { prototype -> Object#21 }
        Object#21 (28 bytes)
        Function#23 (64 bytes) { context -> "system / Context"#25, name -weak-> "(string)"#34 }
        "system / Context"#25 (48 bytes) { order -> Order#13 }
        "(array)"#27 (48 bytes) { name -weak-> "(string)"#35 } [ Order#13, null, Order#15, null ]
        "(array)"#29 (64 bytes) [ "(WeakMap pair)"#37, null*5 ]
        Secret#31 (16 bytes)
        "(number)"#33 (16 bytes)
        "(string)"#34 (0 bytes) "onPaid"
        "(string)"#35 (0 bytes) "(object elements)"
        "(names)"#36 (0 bytes)
        "(names)"#36[0] -> "(string)"#34
        "(names)"#36[1] -> "(string)"#35
        "(WeakMap pair)"#37 (0 bytes) { key -weak-> Order#15, value -dependent-> Secret#31 }
    "##]],
    );
}

#[test]
fn fields_are_found_by_their_names() {
    let plain = shop();
    let mut newer = shop();
    newer.node_fields = vec![
        "id",
        "edge_count",
        "type",
        "new",
        "detachedness",
        "self_size",
        "name",
    ];
    newer.edge_fields = vec!["to_node", "new", "type", "name_or_index"];
    assert_eq!(text_of(&heap_of(&plain)), text_of(&heap_of(&newer)));
    newer.node_fields.retain(|it| *it != "detachedness");
    assert_eq!(text_of(&heap_of(&plain)), text_of(&heap_of(&newer)));
}

#[test]
fn snapshots_are_recognised_by_their_content() {
    let text = shop().text();
    let heap = read(text.as_bytes(), "app", &mut |_, _| {}).unwrap();
    assert_eq!(heap.len(), heap_of(&shop()).len());
    for (text, is_v8) in [
        (" {\n\"snapshot\" : {", true),
        ("{\"snapshots\":", false),
        ("[\"snapshot\":", false),
        ("", false),
    ] {
        assert_eq!(Format::from_bytes(text.as_bytes()) == Format::V8, is_v8);
    }
}

#[test]
fn the_value_of_a_weak_map_lives_while_its_key_does() {
    let live = |with_key: bool, with_table: bool| {
        let mut file = V8File::new();
        let handles = file.group("(Global handles)");
        let table = file.node("array", "", 64);
        let key = file.node("object", "Key", 16);
        let value = file.node("object", "Value", 16);
        let pair = format!(
            "part of key (Key @{}) -> value (Value @{}) pair in WeakMap (table @{})",
            file.id(key),
            file.id(value),
            file.id(table)
        );
        file.edge(table, "internal", &pair, value);
        file.edge(key, "internal", &pair, value);
        if with_key {
            file.edge(handles, "internal", "1", key);
        }
        if with_table {
            file.edge(handles, "internal", "2", table);
        }
        let heap = heap_of(&file);
        let again = read_bytes(&written(&heap)).unwrap();
        let names = |heap: &Snapshot| -> BTreeSet<String> {
            let live = live_objects(heap).into_iter();
            live.map(|it| heap.class(heap.class_of(it)).name.clone())
                .collect()
        };
        assert_eq!(names(&heap), names(&again));
        names(&heap).contains("Value")
    };
    assert!(live(true, true));
    assert!(!live(true, false));
    assert!(!live(false, true));
}

#[test]
fn a_pair_whose_key_is_no_object_is_none() {
    let mut file = V8File::new();
    let handles = file.group("(Global handles)");
    let [table, value] = ["Table", "Value"].map(|name| file.node("object", name, 16));
    file.edge(handles, "internal", "1", table);
    let (key, at) = (file.id(file.root()), file.id(table));
    let name = format!("1 / part of key (a @{key}) -> value (b @9) pair in WeakMap (table @{at})");
    file.edge(table, "internal", &name, value);
    assert_eq!(live_objects(&heap_of(&file)).len(), 2);
}

#[test]
fn what_is_detached_can_be_asked_for() {
    let mut file = V8File::new();
    let documents = file.group("(Global handles)");
    let body = file.node("native", "<body class=\"a\">", 100);
    let list = file.node("native", "<ul id=\"x\">", 100);
    let item = file.node("native", "<li>", 100);
    let old = file.node("native", "Detached HTMLDivElement", 100);
    let own = file.node("native", "Node / BindingData", 100);
    file.set_detachedness(body, 1);
    file.set_detachedness(list, 2);
    file.set_detachedness(own, 2);
    for (at, it) in [body, list, old, own].into_iter().enumerate() {
        file.edge(documents, "internal", &at.to_string(), it);
    }
    // It hangs on what is detached.
    file.element(list, 0, item);
    check(
        &file,
        expect![[r##"
        interface Detached
        interface "(system)"
        class <body> by name { name -weak-> }
        class <ul> by name { name -weak-> }
        class "Detached <ul>" : <ul>, Detached { [] -> }
        class <li> {}
        class "Detached <li>" : <li>, Detached {}
        class HTMLDivElement {}
        class "Detached HTMLDivElement" : HTMLDivElement, Detached {}
        class "Node / BindingData" {}
        class "Detached Node / BindingData" : "Node / BindingData" {}
        class "(string)" { text }
        class "(names)" { [] -> }
        root handle:"(Global handles)"[0] -> <body>#7
        root handle:"(Global handles)"[1] -> "Detached <ul>"#9
        root handle:"(Global handles)"[2] -> "Detached HTMLDivElement"#13
        root handle:"(Global handles)"[3] -> "Detached Node / BindingData"#15
        root other:"(names)"[0] -> "(names)"#18
        <body>#7 (100 bytes) { name -weak-> "(string)"#16 }
        "Detached <ul>"#9 (100 bytes) { name -weak-> "(string)"#17 }
        "Detached <ul>"#9[0] -> "Detached <li>"#11
        "Detached <li>"#11 (100 bytes)
        "Detached HTMLDivElement"#13 (100 bytes)
        "Detached Node / BindingData"#15 (100 bytes)
        "(string)"#16 (0 bytes) "<body class=\"a\">"
        "(string)"#17 (0 bytes) "<ul id=\"x\">"
        "(names)"#18 (0 bytes)
        "(names)"#18[0] -> "(string)"#16
        "(names)"#18[1] -> "(string)"#17
    "##]],
    );
}

#[test]
fn a_class_has_the_names_that_most_of_its_objects_use() {
    let mut file = V8File::new();
    let handles = file.group("(Global handles)");
    let map = file.node("object", "Object", 16);
    file.edge(handles, "internal", "1", map);
    for at in 0..20_000 {
        let entry = file.node("object", "Object", 16);
        file.edge(map, "property", &format!("key {at}"), entry);
        file.edge(entry, "property", "owner", map);
    }
    let heap = heap_of(&file);
    assert_eq!(live_objects(&heap).len(), 20_001);
    let class = heap.class(heap.class_of(ObjectId(0)));
    assert_eq!(class.fields.len(), 1 << 14);
    assert!(class.field("owner").is_some());
    expect![[r#"
        [
            "`Object` has objects with 20001 names of properties in all; the 16384 that most objects use are fields, and what has another name is an element",
        ]
    "#]]
    .assert_debug_eq(&heap.notes());
    let again = read_bytes(&written(&heap)).unwrap();
    assert_eq!(live_objects(&again).len(), 20_001);
}

#[test]
fn the_compiler_at_work_holds_nothing() {
    let mut file = V8File::new();
    let roots = file.group("(Strong roots)");
    let [kept, seen] = ["Kept", "Seen"].map(|name| file.node("object", name, 16));
    file.edge(roots, "internal", "1 / builtin", kept);
    file.edge(roots, "internal", "2 / IdentityMapBase", kept);
    file.edge(roots, "internal", "3 / IdentityMapBase", seen);
    check(
        &file,
        expect![[r#"
            interface Detached
            interface "(system)"
            class Kept {}
            class Seen {}
            root other:"(Strong roots)"[0] @ "builtin" -> Kept#7
            Kept#7 (16 bytes)
            Seen#9 (16 bytes)
        "#]],
    );
}

#[test]
fn a_long_string_is_known_to_go_on() {
    let mut file = V8File::new();
    let handles = file.group("(Global handles)");
    let cut = "x".repeat(1024);
    let whole = "y".repeat(1024);
    let texts = [(&cut, 5016), (&whole, 1040)];
    for (at, (text, bytes)) in texts.into_iter().enumerate() {
        let string = file.node("string", text, bytes);
        file.edge(handles, "internal", &at.to_string(), string);
    }
    let heap = heap_of(&file);
    assert_eq!(heap.text_of(ObjectId(0)), Some(cut));
    assert_eq!(heap.whole_text_of(ObjectId(0)), None);
    assert_eq!(heap.length_of(ObjectId(0)), Some(5000));
    assert_eq!(heap.whole_text_of(ObjectId(1)), Some(whole));
}

/// V8 says of a concatenated string what its parts are, of a sliced one where it is cut from.
#[test]
fn a_concatenated_string_says_what_its_parts_say() {
    let mut file = V8File::new();
    let cons = |file: &mut V8File, first, second| {
        let node = file.node("concatenated string", "(concatenated string)", 20);
        file.edge(node, "internal", "first", first);
        file.edge(node, "internal", "second", second);
        node
    };
    let [one, two] = ["heap", "hound ж"].map(|it| file.node("string", it, 24));
    let joined = cons(&mut file, one, two);
    // A part may come behind the whole.
    let outer = file.node("concatenated string", "(concatenated string)", 20);
    let three = file.node("string", "!", 24);
    let inner = cons(&mut file, joined, three);
    file.edge(outer, "internal", "first", inner);
    file.edge(outer, "internal", "second", inner);
    // As a loop makes it.
    let mut long = one;
    for _ in 0..3_000 {
        long = cons(&mut file, long, three);
    }
    let sliced = file.node("sliced string", "(sliced string)", 20);
    file.edge(sliced, "internal", "parent", one);
    let of_sliced = cons(&mut file, one, sliced);
    let own_part = file.node("concatenated string", "(concatenated string)", 20);
    file.edge(own_part, "internal", "first", one);
    file.edge(own_part, "internal", "second", own_part);
    let all = [one, joined, inner, outer, long, sliced, of_sliced, own_part];
    let ids = all.map(|it| file.id(it));
    let heap = heap_of(&file);
    for heap in [&heap, &read_bytes(&written(&heap)).unwrap()] {
        let whole = ids.map(|id| {
            let mut objects = heap.objects();
            let object = objects.find(|it| heap.number_of(*it) == id).unwrap();
            assert!(is_text(heap.class(heap.class_of(object))));
            heap.whole_text_of(object)
        });
        let known = |text: &str| Some(text.to_string());
        assert_eq!(
            whole[..3],
            ["heap", "heaphound ж", "heaphound ж!"].map(known)
        );
        assert_eq!(whole[3], known("heaphound ж!heaphound ж!"));
        assert_eq!(whole[4..], [None, None, None, None]);
        let mut objects = heap.objects();
        let long = objects.find(|it| heap.number_of(*it) == ids[4]).unwrap();
        let start = heap.text_of(long).unwrap();
        assert_eq!((start.len(), &start[..6]), (1024, "heap!!"));
    }
}

#[test]
fn strings_share_a_text_only_as_often_as_it_fits() {
    let mut file = V8File::new();
    let handles = file.group("(Global handles)");
    let text = "z".repeat(100_000);
    for at in 0..2000 {
        let string = file.node("string", &text, 16);
        file.edge(handles, "internal", &at.to_string(), string);
    }
    let heap = heap_of(&file);
    assert_eq!(heap.len(), 2000);
    let (_, _, values) = heap.memory_bytes();
    assert!(values < 64 << 20, "{values}");
    assert_eq!(heap.notes().len(), 1, "{:?}", heap.notes());
}

/// What is wrong with a text that is changed at one place.
fn wrong(from: &str, to: &str, expected: Expect) {
    let text = shop().text();
    assert!(text.contains(from), "{text}");
    let error = read_bytes(text.replacen(from, to, 1).as_bytes()).unwrap_err();
    expected.assert_eq(&error.to_string());
}

#[test]
fn mistakes_have_a_place() {
    wrong(
        "{\"snapshot\"",
        "{\"snapshots\"",
        expect!["app: at byte 608: `snapshot`, which says what the numbers mean, must come before"],
    );
    wrong(
        "\"id\",",
        "\"ids\",",
        expect!["app: at byte 12: the snapshot's `node_fields` has no `id`"],
    );
    wrong(
        "\"node_types\":[[",
        "\"node_types\":[7,[",
        expect!["app: at byte 12: the snapshot's `node_types` is missing"],
    );
    wrong(
        "\"nodes\":[9",
        "\"nodes\":[99",
        expect!["app: at byte 616: there is no kind of nodes 99"],
    );
    wrong(
        "\"nodes\":[9",
        "\"nodes\":[-9",
        expect!["app: at byte 616: a whole number is expected here, not `-`, inside the nodes"],
    );
    wrong(
        "\"nodes\":[9",
        "\"nodes\":[9.5",
        expect!["app: at byte 617: a whole number is expected here, not `.`, inside the nodes"],
    );
    wrong(
        "\"nodes\":[9",
        "\"nodes\":[99999999999999999999999",
        expect!["app: at byte 616: a number is too large, inside the nodes"],
    );
    wrong(
        "\"nodes\":[9,",
        "\"nodes\":[",
        expect!["app: at byte 883: the last row is not whole, inside the nodes"],
    );
    wrong(
        "\"edges\":[1,1,7",
        "\"edges\":[1,1,8",
        expect!["app: at byte 912: an edge leads to 8, where no node begins"],
    );
    wrong(
        "\"edges\":[1,1,7",
        "\"edges\":[1,1,7000",
        expect!["app: at byte 903: an edge leads to node 1000, of 17 nodes"],
    );
    wrong(
        "\"edges\":[1,1,7",
        "\"edges\":[8,1,7",
        expect!["app: at byte 912: there is no kind of edges 8"],
    );
    wrong(
        "\"edges\":[1,1,7",
        "\"edges\":[2,1000,7",
        expect!["app: at byte 903: an edge has string 1000 for a name, of 33 strings"],
    );
    wrong(
        "\"strings\":[",
        "\"strings\":[7",
        expect![[r#"app: at byte 1277: `"` is expected here, not `7`, inside the strings"#]],
    );
    wrong(
        "\"strings\":[",
        "\"edges\":[",
        expect!["app: at byte 1266: `edges` is there twice"],
    );
    wrong(
        "]}\n",
        "]}\n{",
        expect!["app: at byte 1739: something follows the snapshot"],
    );
    wrong(
        "\\uD83D",
        "\\uD8XD",
        expect!["app: at byte 1384: a wrong escape, inside the strings"],
    );
}

#[test]
fn a_file_that_is_cut_short_says_where() {
    let text = shop().text();
    let whole = text.trim_end().len();
    for end in 0..whole {
        let error = read_bytes(&text.as_bytes()[..end]).unwrap_err();
        assert!(error.at <= end as u64, "{error}");
    }
    assert!(read_bytes(&text.as_bytes()[..whole]).is_ok());
}

#[test]
fn deep_and_strange_values_are_passed_over() {
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    let text = shop().text();
    let with = |value: &str| text.replacen("\"samples\":[]", &format!("\"samples\":{value}"), 1);
    for value in [&deep, "null", "{\"a\":[\"]}\\\"\"]}", "-1.5e9", "\"\""] {
        let heap = read_bytes(with(value).as_bytes()).unwrap();
        assert_eq!(text_of(&heap), text_of(&heap_of(&shop())));
    }
}

fn is_text(class: &ClassInfo) -> bool {
    class.elements == Some(Elements::Text)
}

/// What of a heap a heap snapshot can tell: classes, sizes, roots, and edges by their names.
fn told(heap: &Snapshot, object: ObjectId, count: usize) -> String {
    let class = heap.class(heap.class_of(object));
    let class_name = match is_text(class) {
        true => "(string)",
        false => &class.name,
    };
    // Text that is not known stays so.
    let text = match is_text(class) {
        true => heap.text_of(object),
        false => None,
    };
    let mut shown = format!("{class_name} {} {text:?}:", heap.bytes_of(object));
    let mut edges = Vec::new();
    heap.for_each_edge(object, |place, strength, to| {
        // The pairs of weak maps come behind all others.
        if (to.0 as usize) < count {
            let is_strong = strength == Strength::Strong;
            // All strings are of one class there, and slots that hold differently have names of their own.
            let slot = match is_text(class) {
                true => String::new(),
                false => heap.slot_name(object, place),
            };
            edges.push(format!(" {slot} {} {is_strong}", to.0));
        }
    });
    edges.sort();
    shown += &edges.concat();
    shown
}

#[test]
fn what_is_detached_may_have_a_name_that_is_taken() {
    let text = r#"{"snapshot":{"meta":{"node_fields":["type","name","id","self_size","edge_count","detachedness"],
        "node_types":[["synthetic","object"]],"edge_fields":["type","name_or_index","to_node"],"edge_types":[["property"]]},
        "node_count":2,"edge_count":1},"nodes":[0,0,1,0,1,0, 1,1,3,8,0,2],"edges":[0,2,6],"strings":["","Detached","x"]}"#;
    let heap = read_bytes(text.as_bytes()).unwrap();
    let names: Vec<&str> = heap.classes().iter().map(|it| it.name.as_str()).collect();
    assert!(names.contains(&"Detached Detached~2"), "{names:?}");
}

/// Some bytes, so many spaces, and more bytes.
struct Padded<'b> {
    before: &'b [u8],
    spaces: u64,
    behind: &'b [u8],
}

impl std::io::Read for Padded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !self.before.is_empty() {
            return self.before.read(buffer);
        }
        let some = (buffer.len() as u64).min(self.spaces) as usize;
        if some > 0 {
            buffer[..some].fill(b' ');
            self.spaces -= some as u64;
            return Ok(some);
        }
        self.behind.read(buffer)
    }
}

#[test]
#[ignore = "reads 5 GB, which takes a minute without optimization"]
fn a_file_of_five_gigabytes_is_read_and_its_mistakes_have_places() {
    const SPACES: u64 = 5 << 30;
    let text = shop().text();
    let edges = text.find("\"edges\"").unwrap();
    let read = |behind: &str| {
        let padded = Padded {
            before: &text.as_bytes()[..edges],
            spaces: SPACES,
            behind: behind.as_bytes(),
        };
        let length = edges as u64 + SPACES + behind.len() as u64;
        let options = heaphound_snapshot::ReadOptions::default();
        heaphound_snapshot::read_v8(padded, length, "large", &options, &mut |_, _| {})
    };
    let heap = read(&text[edges..]).unwrap();
    assert_eq!(heap.len(), read_bytes(text.as_bytes()).unwrap().len());
    let wrong = read("\"edges\":[0,x]}").unwrap_err();
    let at = edges as u64 + SPACES + "\"edges\":[0,".len() as u64;
    assert!(
        wrong.to_string().contains(&format!("at byte {at}:")),
        "{wrong}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any heap is written and read back: the same classes, edges, sizes and roots, and what lives.
    #[test]
    fn any_heap_is_a_heap_snapshot(heap in heaps()) {
        let bytes = written(&heap);
        let again = match read_bytes(&bytes) {
            Ok(again) => again,
            Err(error) => panic!("{error}\n{}", String::from_utf8_lossy(&bytes)),
        };
        let count = heap.len();
        for object in heap.objects() {
            prop_assert_eq!(told(&heap, object, count), told(&again, object, count));
        }
        let roots = |heap: &Snapshot| -> Vec<String> {
            let roots = heap.roots().iter();
            // Indices are counted anew.
            roots.map(|(root, to)| format!("{:?} {} {}", root.kind, root.name, to.0)).collect()
        };
        prop_assert_eq!(roots(&heap), roots(&again));
        let live = |heap: &Snapshot| -> HashSet<u32> {
            let live = live_objects(heap).into_iter().map(|it| it.0);
            live.filter(|it| (*it as usize) < count).collect()
        };
        // A string that is an ephemeron has no place for its pair.
        let odd = heap.classes().iter().any(|class| {
            let mut kinds = class.fields.iter().map(|it| it.kind);
            is_text(class) && kinds.any(|it| it == FieldKind::Dependent)
        });
        if !odd {
            prop_assert_eq!(live(&heap), live(&again));
        }
        // serde_json knows what JSON is.
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
    }

    /// Whatever becomes of a file, reading it ends with a heap or an error at a place in it.
    #[test]
    fn changed_bytes_give_a_heap_or_an_error(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        as_digit in any::<bool>(),
    ) {
        let mut bytes = shop().text().into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = match as_digit {
                true => b'0' + byte % 10,
                false => byte,
            };
        }
        if let Err(error) = read_bytes(&bytes) {
            prop_assert!(error.at <= bytes.len() as u64, "{}", error);
        }
    }
}
