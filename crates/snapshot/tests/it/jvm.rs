//! Dumps that real JVMs make, held against what the program knows of itself and what the JVM says of its classes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::{HeapView, Strength};
use heaphound_heap::{RootKind, Value};
use heaphound_snapshot::{Input, ReadOptions, read_input};

/// The JDKs that are installed.
fn jdks() -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    if let Ok(installed) = std::fs::read_dir("/usr/lib/jvm") {
        homes.extend(installed.flatten().map(|it| it.path()));
    }
    let mut homes: Vec<PathBuf> = homes
        .iter()
        .filter(|it| it.join("bin/jcmd").exists() && it.join("bin/javac").exists())
        .filter_map(|it| it.canonicalize().ok())
        .collect();
    homes.sort();
    homes.dedup();
    homes
}

/// The program, which waits until it is dropped.
struct Shop {
    child: Child,
    pid: String,
}

impl Shop {
    fn start(jdk: &Path, options: &[&str]) -> Self {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/Shop.java");
        let mut child = Command::new(jdk.join("bin/java"))
            .args(options)
            .arg(source)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("java starts");
        let lines = BufReader::new(child.stdout.as_mut().expect("it is piped")).lines();
        let mut ready = lines.map_while(Result::ok);
        let pid = ready.find_map(|it| it.strip_prefix("ready ").map(str::to_string));
        let pid = pid.expect("the program says that it is ready");
        Self { child, pid }
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        if let Some(stdin) = &mut self.child.stdin {
            let _ = stdin.write_all(b"\n");
        }
        let _ = self.child.wait();
    }
}

fn run(jdk: &Path, tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(jdk.join("bin").join(tool))
        .args(arguments)
        .output();
    let output = output.expect("the tool starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{tool} {arguments:?}: {said}");
    said
}

fn read(file: &Path, values: bool) -> Snapshot {
    let options = ReadOptions {
        values,
        ..ReadOptions::default()
    };
    let input = Input::open(file, u64::MAX).unwrap();
    read_input(input, "dump", &options, &mut |_, _| {}).unwrap()
}

fn instances(heap: &Snapshot, class: &str) -> Vec<ObjectId> {
    let of_class = |object: &ObjectId| heap.class(heap.class_of(*object)).name == class;
    heap.objects().filter(of_class).collect()
}

fn field(heap: &Snapshot, object: ObjectId, name: &str) -> usize {
    let fields = &heap.class(heap.class_of(object)).fields;
    fields.iter().position(|it| it.name == name).expect(name)
}

fn slot(heap: &Snapshot, object: ObjectId, name: &str) -> Option<ObjectId> {
    heap.slot(object, field(heap, object, name))
}

fn root(heap: &Snapshot, kind: RootKind, name: &str) -> ObjectId {
    let mut roots = heap.roots().iter();
    let found = roots.find(|(root, _)| root.kind == kind && root.name == name);
    found.unwrap_or_else(|| panic!("{name} is no root")).1
}

/// Instances and bytes of each class, as the JVM counts them.
fn histogram(text: &str) -> BTreeMap<String, (u64, u64)> {
    let mut classes = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [rank, count, bytes, class, ..] = words[..] else {
            continue;
        };
        if let (true, Ok(count), Ok(bytes)) = (rank.ends_with(':'), count.parse(), bytes.parse()) {
            classes.insert(class.to_string(), (count, bytes));
        }
    }
    classes
}

/// What the program knows of itself.
fn check_shop(heap: &Snapshot, counted: &BTreeMap<String, (u64, u64)>) {
    let orders = instances(heap, "Shop$Order");
    assert_eq!(orders.len(), 1234);
    // Sizes are the JVM's own, where classes differ in all that matters: fields, arrays, superclasses.
    for class in ["Shop$Order", "Shop$Article", "java.util.HashMap$Node"] {
        let ours = instances(heap, class);
        let bytes: usize = ours.iter().map(|&it| heap.bytes_of(it)).sum();
        let (count, all) = counted[class];
        assert_eq!(bytes as u64 / ours.len() as u64, all / count, "{class}");
    }
    for &order in &orders {
        let name = slot(heap, order, "name").unwrap();
        let name = heap.text_of(name).unwrap();
        let value = |name| heap.plain_value(order, field(heap, order, name)).unwrap();
        let Value::Signed(i) = value("amount") else {
            panic!("an amount is a number");
        };
        let start = if i % 3 == 0 { "€uro" } else { "order" };
        assert_eq!(name, format!("{start}-{i}"));
        assert_eq!(value("price"), Value::Float(i as f64 / 4.0));
        assert_eq!(value("paid"), Value::Bool(i % 2 == 0));
        assert_eq!(value("grade"), Value::Char((b'a' + (i % 26) as u8) as char));
        let history = slot(heap, order, "history").unwrap();
        assert_eq!(heap.length_of(history), Some(2));
        assert_eq!(heap.plain_element(history, 1), Some(Value::Signed(-i)));
    }
    let latest = root(heap, RootKind::Static, "Shop.latest");
    assert_eq!(heap.class(heap.class_of(latest)).name, "Shop$Order[]");
    assert_eq!(heap.length_of(latest), Some(7));
    let watched = root(heap, RootKind::Static, "Shop.watched");
    let mut weak = Vec::new();
    heap.for_each_edge(watched, |_, strength, to| {
        if strength == Strength::Weak {
            weak.push(to);
        }
    });
    assert_eq!(weak, [heap.element(latest, 3).unwrap()]);
    let map = root(heap, RootKind::Static, "Shop.orders");
    assert_eq!(heap.class(heap.class_of(map)).name, "java.util.HashMap");
    check_threads(heap);
}

fn check_threads(heap: &Snapshot) {
    for name in ["main", "worker 7"] {
        assert!(
            heap.threads().iter().any(|it| it == name),
            "{:?}",
            heap.threads()
        );
    }
    let worker = root(heap, RootKind::ThreadObject, "worker 7");
    let caption = heap.caption_of(worker);
    assert_eq!(caption.as_deref(), Some("name=\"worker 7\""));
    let local = heap.roots().iter().find(|(root, object)| {
        let is_article = heap.class(heap.class_of(*object)).name == "Shop$Article";
        root.kind == RootKind::ThreadStack && root.name == "worker 7" && is_article
    });
    let (root, article) = local.expect("the worker has a local");
    let scope = root.scope.as_deref().unwrap_or_default();
    assert!(scope.starts_with("Shop.sleep (Shop.java:"), "{scope}");
    let caption = heap.caption_of(*article);
    assert_eq!(caption.as_deref(), Some("name=\"of the worker\""));
}

#[test]
fn a_real_dump_is_what_the_program_knows() {
    let jdks = jdks();
    if jdks.is_empty() {
        eprintln!("skipped: there is no JDK");
    }
    for jdk in jdks {
        eprintln!("with {}", jdk.display());
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let shop = Shop::start(&jdk, &["-Xmx64m"]);
        let by_jcmd = file("jcmd.hprof");
        run(
            &jdk,
            "jcmd",
            &[&shop.pid, "GC.heap_dump", by_jcmd.to_str().unwrap()],
        );
        let counted = histogram(&run(&jdk, "jcmd", &[&shop.pid, "GC.class_histogram"]));
        check_shop(&read(&by_jcmd, true), &counted);
        let packed = file("packed.hprof.gz");
        run(
            &jdk,
            "jcmd",
            &[&shop.pid, "GC.heap_dump", "-gz=1", packed.to_str().unwrap()],
        );
        check_shop(&read(&packed, true), &counted);
        let by_jmap = file("jmap.hprof");
        let how = format!("-dump:live,format=b,file={}", by_jmap.display());
        run(&jdk, "jmap", &[&how, &shop.pid]);
        let heap = read(&by_jmap, false);
        assert!(!heap.has_values());
        assert_eq!(instances(&heap, "Shop$Order").len(), 1234);
        drop(shop);
        // References of eight bytes, and objects in another order.
        let shop = Shop::start(
            &jdk,
            &["-Xmx64m", "-XX:-UseCompressedOops", "-XX:+UseSerialGC"],
        );
        run(
            &jdk,
            "jcmd",
            &[
                &shop.pid,
                "GC.heap_dump",
                "-overwrite",
                by_jcmd.to_str().unwrap(),
            ],
        );
        let counted = histogram(&run(&jdk, "jcmd", &[&shop.pid, "GC.class_histogram"]));
        check_shop(&read(&by_jcmd, true), &counted);
    }
}
