//! Real heap snapshots, made by Node where it is installed, against what the program knows about itself.

use std::collections::{BTreeSet, HashMap};
use std::process::Command;

use heaphound_heap::snapshot::ObjectId;
use heaphound_heap::view::{HeapView, live_objects};
use heaphound_snapshot::{Snapshot, read_binary, read_file, write_binary, write_v8};

const PROGRAM: &str = r#"
const v8 = require('v8');
class Order { constructor(i) { this.label = `order ${i}`; this.next = null; this.half = i + 0.5; } }
class Cache { constructor() { this.map = new Map(); this.table = [1, 2]; } }
class Key {}
class Secret {}
const orders = [];
for (let i = 0; i < 500; i++) { orders.push(new Order(i)); if (i) orders[i - 1].next = orders[i]; }
const cache = new Cache();
cache.map.set('first', orders[0]);
globalThis.held = { orders, cache, weak: new WeakRef(orders[7]), secrets: new WeakMap(), data: Buffer.alloc(3 << 20) };
globalThis.key = new Key();
held.secrets.set(key, new Secret());
held.secrets.set({}, new Order(999));
held.listener = function onPaid() { return cache; };
v8.writeHeapSnapshot(process.argv[1], { exposeNumericValues: process.argv[2] === 'values' });
"#;

/// The heap of the program; none where Node is not installed.
fn run(name: &str, how: &str) -> Option<Snapshot> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    let node = Command::new("node")
        .arg("-e")
        .arg(PROGRAM)
        .arg(&path)
        .arg(how)
        .output();
    let Ok(output) = node else {
        eprintln!("skipped: node is not installed");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    Some(read_file(&path, &mut |_, _| {}).unwrap())
}

fn of_class<'h>(heap: &'h Snapshot, class: &'h str) -> impl Iterator<Item = ObjectId> + 'h {
    let fits = move |it: &ObjectId| heap.class(heap.class_of(*it)).name == class;
    heap.objects().filter(fits)
}

/// What a slot of an object refers to, by its name.
fn slot(heap: &Snapshot, object: ObjectId, name: &str) -> Option<ObjectId> {
    let fields = &heap.class(heap.class_of(object)).fields;
    heap.slot(object, fields.iter().position(|it| it.name == name)?)
}

fn global(heap: &Snapshot) -> ObjectId {
    let root = heap
        .roots()
        .iter()
        .find(|(root, _)| root.short() == "static:global");
    root.unwrap().1
}

#[test]
fn a_snapshot_of_node_is_what_the_program_made() {
    let Some(heap) = run("app.heapsnapshot", "") else {
        return;
    };
    assert_eq!(heap.notes(), [""; 0]);
    // Nothing is lost: V8 writes what is reachable.
    assert_eq!(live_objects(&heap).len(), heap.len());
    // The prototype of a class is one of its objects, to V8, where no constructor was.
    assert_eq!(of_class(&heap, "Order").count(), 500);
    let held = slot(&heap, global(&heap), "held").unwrap();
    let orders = slot(&heap, held, "orders").unwrap();
    for at in [0, 7, 499] {
        let order = heap.element(orders, at).unwrap();
        let label = slot(&heap, order, "label").unwrap();
        assert_eq!(heap.text_of(label), Some(format!("order {at}")));
        assert_eq!(slot(&heap, order, "next"), heap.element(orders, at + 1));
    }
    let weak = slot(&heap, held, "weak").unwrap();
    assert_eq!(slot(&heap, weak, "target"), heap.element(orders, 7));
    let listener = slot(&heap, held, "listener").unwrap();
    assert_eq!(heap.caption_of(listener).unwrap(), "name=\"onPaid\"");
    let data = slot(&heap, held, "data").unwrap();
    let buffer = slot(&heap, data, "buffer").unwrap();
    let data = slot(&heap, buffer, "backing_store").unwrap();
    assert_eq!(heap.length_of(data), Some(3 << 20));
    // The key of the pair lives, and so does its value.
    let key = slot(&heap, global(&heap), "key").unwrap();
    let mut pairs =
        of_class(&heap, "(WeakMap pair)").filter(|it| slot(&heap, *it, "key") == Some(key));
    let secret = slot(&heap, pairs.next().unwrap(), "value").unwrap();
    assert_eq!(heap.class(heap.class_of(secret)).name, "Secret");
}

#[test]
fn numbers_are_there_if_node_was_asked_for_them() {
    let Some(heap) = run("values.heapsnapshot", "values") else {
        return;
    };
    let number = |of: ObjectId, name: &str| {
        let number = slot(&heap, of, name)?;
        let fields = &heap.class(heap.class_of(number)).fields;
        let at = fields.iter().position(|it| it.name == "number")?;
        heap.plain_value(number, at).map(|it| it.to_string())
    };
    let halves: Vec<String> = of_class(&heap, "Order")
        .filter_map(|it| number(it, "half"))
        .collect();
    assert_eq!(halves.len(), 500);
    assert!(halves.contains(&"7.5".to_string()), "{halves:?}");
}

#[test]
fn a_snapshot_of_node_survives_all_forms() {
    let Some(heap) = run("app.heapsnapshot", "") else {
        return;
    };
    let shape = |heap: &Snapshot| -> BTreeSet<String> {
        let mut classes: HashMap<String, (usize, usize, usize)> = HashMap::new();
        for object in heap.objects() {
            let name = heap.class(heap.class_of(object)).name.clone();
            let of_class = classes.entry(name).or_default();
            of_class.0 += 1;
            of_class.1 += heap.bytes_of(object);
            heap.for_each_strong_edge(object, |_, _| of_class.2 += 1);
        }
        let classes = classes.into_iter().map(|it| format!("{it:?}"));
        let roots = heap.roots().iter().map(|it| it.0.to_string());
        classes.chain(roots).collect()
    };
    let mut bytes = Vec::new();
    write_binary(&heap, &mut bytes, &mut |_, _| {}).unwrap();
    let again = read_binary(&bytes, "binary", &mut |_, _| {}).unwrap();
    assert_eq!(shape(&heap), shape(&again));
    let mut bytes = Vec::new();
    write_v8(&again, &mut bytes, &mut |_, _| {}).unwrap();
    let again = heaphound_snapshot::read(&bytes, "v8", &mut |_, _| {}).unwrap();
    let (one, other) = (shape(&heap), shape(&again));
    let different: Vec<&String> = one.symmetric_difference(&other).take(10).collect();
    assert!(different.is_empty(), "{different:#?}");
    assert_eq!(heap.numbers().len(), again.numbers().len());
}
