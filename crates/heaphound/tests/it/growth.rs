//! Growth and shapes on the live heap: what is found, how it is told, and when it is not.

use std::sync::{Arc, Mutex};

use heaphound::analysis::cork::Options;
use heaphound::analysis::shape::Profile;
use heaphound::finding::Finding;
use heaphound::{
    Collector, Growth, Header, Heap, HeapBuilder, Local, Managed, Mutator, Object, Reaction,
    RefArray, Shapes, Slot,
};

const BOTH: [Collector; 2] = [Collector::MarkSweep, Collector::Generational];

fn builder(collector: Collector) -> HeapBuilder {
    Heap::builder()
        .max_bytes(64 << 20)
        .collector(collector)
        .collector_threads(2)
}

/// A reaction that keeps findings, and where it keeps them.
fn keeping() -> (Reaction, Arc<Mutex<Vec<Finding>>>) {
    let kept: Arc<Mutex<Vec<Finding>>> = Arc::default();
    let found = kept.clone();
    let call = move |it: &Finding| found.lock().unwrap().push(it.clone());
    (Reaction::Call(Arc::new(call)), kept)
}

/// `Node#12` as `Node`.
fn without_numbers(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.split_once('#') {
        Some((class, _)) => class,
        None => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

// The order-processing system of figure 5.2: orders of companies are forgotten when they are
// paid, those of people never are.

#[derive(Managed)]
#[repr(C)]
struct System {
    header: Header,
    all_orders: Slot<HashTable>,
    new_orders: Slot<Queue>,
}

#[derive(Managed)]
#[repr(C)]
struct HashTable {
    header: Header,
    count: u32,
    entries: Slot<RefArray<Object>>,
}

#[derive(Managed)]
#[repr(C)]
struct Queue {
    header: Header,
    items: Slot<RefArray<Object>>,
}

#[derive(Managed)]
#[repr(C)]
struct Company {
    header: Header,
    name: u64,
    address: u64,
    contact: u64,
    account: u64,
    discount: u64,
    credit: u64,
    rating: u64,
}

#[derive(Managed)]
#[repr(C)]
struct People {
    header: Header,
    name: u64,
    address: u64,
    account: u64,
}

fn system<'a>(m: &mut Mutator<'a>) -> Local<'a, System> {
    let items = m.alloc_refs::<Object>(8).unwrap();
    let queue = m.alloc(QueueInit { items: Some(items) }).unwrap();
    let table = m.alloc(HashTableInit {
        count: 0,
        entries: None,
    });
    let table = table.unwrap();
    let system = m.alloc(SystemInit {
        all_orders: Some(table),
        new_orders: Some(queue),
    });
    let system = system.unwrap();
    m.static_root("system").set(m, Some(&m[system]));
    system
}

/// What a finding says of where people are allocated: in `order`, and nowhere else.
fn only_site_of_people() -> String {
    let mut source = include_str!("growth.rs").lines();
    let line = source.position(|it| it.trim() == ".alloc(PeopleInit {");
    let site = format!("{}:{}:22", file!(), line.unwrap() + 1);
    format!("allocated at {site} (the only site seen)")
}

/// Gives the table so many orders of companies and of people, in an array of its own, and the
/// queue the first of them.
fn order(m: &mut Mutator<'_>, system: Local<'_, System>, companies: usize, people: usize) {
    let mut m = m.scope();
    let length = (companies + people).next_power_of_two();
    let entries = m.alloc_refs::<Object>(length).unwrap();
    for at in 0..companies + people {
        let mut m = m.scope();
        let order = match at < companies {
            true => {
                let company = m
                    .alloc(CompanyInit {
                        name: 0,
                        address: 0,
                        contact: 0,
                        account: 0,
                        discount: 0,
                        credit: 0,
                        rating: 0,
                    })
                    .unwrap();
                company.upcast(&m)
            }
            false => {
                // The line that the finding must name.
                let person = m
                    .alloc(PeopleInit {
                        name: 0,
                        address: 0,
                        account: 0,
                    })
                    .unwrap();
                person.upcast(&m)
            }
        };
        m[entries][at].set(Some(&m[order]));
    }
    let it = &m[system];
    let queue = it.new_orders.get().unwrap().items.get().unwrap();
    queue[0].set(m[entries][0].get());
    queue[1].set(m[entries][companies].get());
    let table = it.all_orders.get().unwrap();
    table.entries.set(Some(&m[entries]));
}

#[test]
fn three_collections_of_the_order_processing_system() {
    for collector in BOTH {
        let heap = builder(collector).build().unwrap();
        let growth = Growth::new().options(Options::published());
        let growth = growth.register(&heap, None);
        let mut m = heap.attach("main").unwrap();
        let system = system(&mut m);
        let mut seen = Vec::new();
        for (companies, people) in [(2, 1), (3, 3), (2, 5)] {
            order(&mut m, system, companies, people);
            m.collect();
            let summary = heap.summary().unwrap();
            let volume = |name: &str| {
                let class = summary.class(name).unwrap().id;
                summary.summary.class(class).volume_bytes
            };
            seen.push(["Company", "People", "Object[]", "HashTable"].map(volume));
        }
        // A header of 8 bytes, and words of 8. Arrays have 12 bytes before their elements, of
        // which the queue's has eight, and the table's four, eight and eight.
        let queue = 48;
        assert_eq!(seen[0], [128, 32, queue + 32, 16]);
        assert_eq!(seen[1], [192, 96, queue + 48, 16]);
        assert_eq!(seen[2], [128, 160, queue + 48, 16]);
        let summary = heap.summary().unwrap();
        let class = |name: &str| summary.class(name).unwrap().id;
        let cork = growth.cork();
        // 1·(96/32 − 1) and 2·(160/96 − 1), in percent. Companies fell by a third.
        let rank = 200.0 + 2.0 * 100.0 * (160.0 / 96.0 - 1.0);
        assert!((cork.class_rank(class("People")) - rank).abs() < 0.001);
        assert_eq!(cork.class_rank(class("Company")), 0.0);
        // From the table and from the queue: 2, 4 and 6 references.
        let edge = cork.edge_rank(class("People"), class("Object[]"));
        assert!((edge - (100.0 + 2.0 * 50.0)).abs() < 0.001);
        let found = growth.candidates();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].class, found[0].grown_bytes),
            (class("People"), 128)
        );
        let told = &heap.findings()[0].finding;
        assert_eq!(told.notes[0], only_site_of_people());
    }
}

#[test]
fn the_holder_is_named_and_an_order_is_shown() {
    for collector in BOTH {
        let heap = builder(collector).build().unwrap();
        let (reaction, kept) = keeping();
        let growth = Growth::new().register(&heap, Some(reaction));
        let mut m = heap.attach("main").unwrap();
        system(&mut m.scope());
        let root = m.static_root::<System>("system");
        for day in 1..=12 {
            {
                let mut m = m.scope();
                let system = m.local(root.get(&m).unwrap());
                order(&mut m, system, 40 - day, 30 * day);
            }
            m.collect();
        }
        let kept = kept.lock().unwrap();
        let people = kept.iter().find(|it| it.objects[0].class == "People");
        let finding = people.expect("people grow");
        assert!(finding.collection.is_some());
        let paths: Vec<String> = finding
            .evidence
            .iter()
            .map(|it| without_numbers(&format!("{}: {}", it.shows, it.path)))
            .collect();
        assert_eq!(
            paths[0],
            "it grows through: static:system → System .all_orders → HashTable .entries → Object[] .[*] → People"
        );
        let (way, order) = paths[1].rsplit_once(" [").unwrap();
        assert_eq!(
            way,
            "for example: static:system → System .all_orders → HashTable .entries → Object[]"
        );
        assert!(order.ends_with("] → People"));
        assert_eq!(finding.notes[0], only_site_of_people());
        // Told once, though it stands; with or without an example it is the same finding.
        let mut plain = finding.clone();
        plain.evidence.truncate(1);
        assert_eq!(plain.fingerprint(), finding.fingerprint());
        let same = kept
            .iter()
            .filter(|it| it.fingerprint() == finding.fingerprint());
        assert_eq!(same.count(), 1);
        let known = heap.findings();
        let known = known
            .iter()
            .find(|it| it.finding.fingerprint() == plain.fingerprint());
        assert!(known.unwrap().collections > 1);
        assert!(growth.bytes_per_mb().unwrap() > 0.0);
        assert_eq!(growth.occupancy().len(), 12);
        assert!(kept.iter().all(|it| it.objects[0].class != "Company"));
    }
}

#[test]
fn nothing_is_found_where_nothing_grows() {
    for collector in BOTH {
        for options in [Options::default(), Options::slope(4)] {
            let heap = builder(collector).build().unwrap();
            let growth = Growth::new()
                .options(options)
                .every(2)
                .register(&heap, None);
            let mut m = heap.attach("main").unwrap();
            let system = system(&mut m);
            for day in 1..=40 {
                // A warm-up, then a plateau with jitter.
                order(&mut m, system, 40, 10 * day.min(8) + day % 3);
                m.collect();
            }
            assert_eq!(growth.cork().collections(), 20);
            assert!(growth.candidates().is_empty());
            drop(growth);
            m.collect();
        }
    }
}

#[test]
fn ranks_and_the_graph_of_a_thousand_classes_are_small() {
    let heap = builder(Collector::MarkSweep).summaries(1).build().unwrap();
    let growth = Growth::new().register(&heap, None);
    let mut m = heap.attach("main").unwrap();
    let classes: Vec<_> = (0..1_000)
        .map(|i| {
            heap.define_class(format!("Class{i}"))
                .slot("a")
                .slot("b")
                .slot("c")
        })
        .map(|class| class.define().unwrap())
        .collect();
    let all = m.alloc_refs::<Object>(2_000).unwrap();
    for at in 0..2_000 {
        let mut m = m.scope();
        let object = m.alloc_instance(&classes[at % 1_000]).unwrap();
        for (slot, back) in [1, 7, 31].into_iter().enumerate() {
            let other = at.checked_sub(back).and_then(|other| m[all][other].get());
            m[object][slot].set(other);
        }
        m[all][at].set(Some(m[object].as_object()));
    }
    for _ in 0..6 {
        m.collect();
    }
    let summary = heap.summary().unwrap().summary;
    assert!(summary.edges().len() > 3_900);
    let bytes = summary.memory_bytes() + growth.memory_bytes();
    // Of a hundred megabytes.
    let share = bytes as f64 / 100e6 * 100.0;
    println!("graphs of a thousand classes: {bytes} bytes, {share:.3} %");
    assert!(bytes < 240_000, "{bytes} bytes");
}

#[derive(Managed)]
#[repr(C)]
struct List {
    header: Header,
    head: Slot<Node>,
}

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    next: Slot<Node>,
    prev: Slot<Node>,
}

/// A doubly linked list of that many nodes.
fn list<'a>(m: &mut Mutator<'a>, nodes: usize) -> Local<'a, List> {
    let list = m.alloc(ListInit { head: None }).unwrap();
    for _ in 0..nodes {
        let mut m = m.scope();
        let next = m[list].head.get().map(|it| m.local(it));
        let node = m.alloc(NodeInit { next, prev: None }).unwrap();
        if let Some(next) = next {
            m[next].prev.set(Some(&m[node]));
        }
        m[list].head.set(Some(&m[node]));
    }
    list
}

/// What is learnt from a run with lists of these lengths.
fn learnt(collector: Collector, before: Profile, lengths: &[usize]) -> Profile {
    let heap = builder(collector).build().unwrap();
    let watch = Shapes::learning(before).register(&heap, None);
    let mut m = heap.attach("main").unwrap();
    for &nodes in lengths {
        let mut m = m.scope();
        list(&mut m, nodes);
        m.collect();
    }
    watch.profile()
}

#[test]
fn a_lost_link_is_found_and_shown() {
    for collector in BOTH {
        let first = learnt(collector, Profile::default(), &[20, 50, 100, 33]);
        // The next run goes on from the file.
        let first = Profile::from_json(&first.to_json()).unwrap();
        let profile = learnt(collector, first.clone(), &[500, 70, 41]);
        let text = profile.to_json();
        let read = Profile::from_json(&text).unwrap();
        assert_eq!(read, profile);
        assert_eq!(read.backbones["Node"].measures, 7);
        // Two runs on their own, merged.
        let mut merged = first;
        merged.merge(learnt(collector, Profile::default(), &[500, 70, 41]));
        assert_eq!(merged.backbones["Node"].measures, 7);
        assert_eq!(
            merged.backbones["Node"].degrees,
            read.backbones["Node"].degrees
        );

        let heap = builder(collector).build().unwrap();
        let (reaction, kept) = keeping();
        let watch = Shapes::testing(read).register(&heap, Some(reaction));
        let mut m = heap.attach("main").unwrap();
        let list = list(&mut m, 300);
        let root = m.static_root("list");
        root.set(&m, Some(&m[list]));
        m.collect();
        m.collect();
        assert_eq!(watch.measures()[0].instances, 300);
        assert!(watch.violations().is_empty());
        // One of three hundred loses the way back.
        let mut node = m[list].head.get().unwrap();
        for _ in 0..3 {
            node = node.next.get().unwrap();
        }
        node.prev.clear();
        m.collect();
        m.collect();
        assert!(!watch.violations().is_empty());
        assert_eq!(kept.lock().unwrap().len(), 1, "told once");
        // Another one does, which breaks nothing else.
        let mut node = m[list].head.get().unwrap();
        for _ in 0..100 {
            node = node.next.get().unwrap();
        }
        node.prev.clear();
        m.collect();
        m.collect();
        let kept = kept.lock().unwrap();
        assert_eq!(kept.len(), 2, "the second is told, once");
        assert_ne!(kept[0].fingerprint(), kept[1].fingerprint());
        assert_eq!(kept[0].kind, "shape");
        assert_eq!(kept[0].objects[0].class, "Node");
        let paths = kept[0].evidence.iter().map(|it| it.path.to_string());
        let paths: Vec<String> = paths.map(|it| without_numbers(&it)).collect();
        let lost = "static:list → List .head → Node .next → Node .next → Node .next → Node";
        assert!(paths.iter().any(|it| it == lost), "{paths:#?}");
    }
}

#[derive(Managed)]
#[repr(C)]
struct Link {
    header: Header,
    next: Slot<Link>,
}

/// An example is looked for among many objects, and the way to each may be as long as the heap.
#[test]
fn an_example_of_a_long_list_is_soon_found() {
    let heap = Heap::builder().initial_bytes(256 << 20).build().unwrap();
    let (reaction, kept) = keeping();
    let growth = Growth::new().register(&heap, Some(reaction));
    let mut m = heap.attach("main").unwrap();
    let root = m.static_root::<Link>("list");
    for _ in 0..8 {
        for _ in 0..50_000 {
            let mut m = m.scope();
            let next = root.get(&m).map(|it| m.local(it));
            let link = m.alloc(LinkInit { next }).unwrap();
            root.set(&m, Some(&m[link]));
        }
        m.collect();
    }
    assert_eq!(growth.candidates().len(), 1);
    assert_eq!(kept.lock().unwrap().len(), 1);
    let longest = heap.stats().history.iter().map(|it| it.pause).max();
    // To follow the ways to all that are looked at takes a minute.
    assert!(longest.unwrap().as_secs() < 5, "{longest:?}");
}

#[derive(Managed)]
#[repr(C)]
struct Spooler {
    header: Header,
    waiting: Slot<Jobs>,
    failed: Slot<Jobs>,
}

#[derive(Managed)]
#[repr(C)]
struct Jobs {
    header: Header,
    head: Slot<Job>,
}

#[derive(Managed)]
#[repr(C)]
struct Job {
    header: Header,
    next: Slot<Job>,
}

/// The class graph cannot tell two queues of one class apart: the example can.
#[test]
fn the_example_is_in_the_container_that_grows() {
    let heap = builder(Collector::MarkSweep).build().unwrap();
    let (reaction, kept) = keeping();
    let _growth = Growth::new().register(&heap, Some(reaction));
    let mut m = heap.attach("main").unwrap();
    let spooler = {
        let mut m = m.scope();
        let [waiting, failed] = [(); 2].map(|()| m.alloc(JobsInit { head: None }).unwrap());
        let spooler = m.alloc(SpoolerInit {
            waiting: Some(waiting),
            failed: Some(failed),
        });
        let root = m.static_root::<Spooler>("spooler");
        root.set(&m, Some(&m[spooler.unwrap()]));
        root
    };
    for _ in 0..10 {
        for number in 0..1_000 {
            let mut m = m.scope();
            let it = spooler.get(&m).unwrap();
            let jobs = match number % 10 {
                0 => it.failed.get(),
                _ => it.waiting.get(),
            };
            let jobs = m.local(jobs.unwrap());
            let next = m[jobs].head.get().map(|it| m.local(it));
            let job = m.alloc(JobInit { next }).unwrap();
            m[jobs].head.set(Some(&m[job]));
            // Those that wait are soon printed.
            if number % 50 == 49 {
                m[jobs].head.clear();
            }
        }
        m.collect();
    }
    let kept = kept.lock().unwrap();
    assert_eq!(kept.len(), 1, "{kept:#?}");
    let example = without_numbers(&kept[0].evidence[1].path.to_string());
    assert!(
        example.starts_with("static:spooler → Spooler .failed → Jobs .head → Job"),
        "{example}"
    );
    let path = without_numbers(&kept[0].evidence[0].path.to_string());
    assert_eq!(path, "static:spooler → Spooler .failed → Jobs .head → Job");
}

#[derive(Managed)]
#[repr(C)]
struct Outer {
    header: Header,
    inner: Slot<Inner>,
}

#[derive(Managed)]
#[repr(C)]
struct Inner {
    header: Header,
    outer: Slot<Outer>,
}

#[derive(Managed)]
#[repr(C)]
struct Reader {
    header: Header,
    at: Slot<Outer>,
}

#[derive(Managed)]
#[repr(C)]
struct Writer {
    header: Header,
    at: Slot<Outer>,
}

/// Several classes hold a structure of two classes, and refer to only one of these.
#[test]
fn a_structure_of_two_classes_is_one_finding() {
    let heap = builder(Collector::MarkSweep).build().unwrap();
    let (reaction, kept) = keeping();
    let growth = Growth::new().register(&heap, Some(reaction));
    let mut m = heap.attach("main").unwrap();
    let reader = m.alloc(ReaderInit { at: None }).unwrap();
    let writer = m.alloc(WriterInit { at: None }).unwrap();
    m.static_root("reader").set(&m, Some(&m[reader]));
    m.static_root("writer").set(&m, Some(&m[writer]));
    for _ in 0..10 {
        for _ in 0..1_000 {
            let mut m = m.scope();
            let outer = m[writer].at.get().map(|it| m.local(it));
            let inner = m.alloc(InnerInit { outer }).unwrap();
            let outer = m.alloc(OuterInit { inner: Some(inner) }).unwrap();
            m[writer].at.set(Some(&m[outer]));
            m[reader].at.set(Some(&m[outer]));
        }
        m.collect();
    }
    let kept = kept.lock().unwrap();
    assert_eq!(kept.len(), 1, "{kept:#?}");
    let examples = kept[0].evidence.iter().filter(|it| it.path.root.is_some());
    assert_eq!(examples.count(), 2, "a way from a static, and an object");
    assert_eq!(growth.candidates().len(), 2, "both classes grow");
    assert_eq!(growth.causes()[0].classes.len(), 2);
}

/// Runs a shop that keeps so many orders more with each of some days, and returns its findings.
fn keeps(more: impl Fn(usize) -> usize, days: usize) -> Vec<heaphound::check::Known> {
    let heap = builder(Collector::MarkSweep).build().unwrap();
    let (reaction, _) = keeping();
    let _growth = Growth::new().register(&heap, Some(reaction));
    let mut m = heap.attach("main").unwrap();
    let root = m.static_root::<Link>("orders");
    for day in 0..days {
        for _ in 0..more(day) {
            let mut m = m.scope();
            let next = root.get(&m).map(|it| m.local(it));
            let link = m.alloc(LinkInit { next }).unwrap();
            root.set(&m, Some(&m[link]));
        }
        m.scope().alloc_plain(20_000, 0u64).unwrap();
        m.collect();
    }
    heap.findings()
}

#[test]
fn a_finding_is_withdrawn_when_growth_stops() {
    let found = keeps(|day| if day < 10 { 200 } else { 0 }, 10);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].withdrawn, None);
    let found = keeps(|day| if day < 10 { 200 } else { 0 }, 20);
    assert_eq!(found.len(), 1);
    assert!(found[0].withdrawn.is_some());
}

#[test]
fn a_spike_is_no_trend() {
    // Two of two thousand each day, and once ten times as much as there is.
    let spike = |at: usize| {
        move |day: usize| match day {
            0 => 2_000,
            day if day == at => 20_000,
            _ => 2,
        }
    };
    for (at, days) in [(8, 9), (4, 20), (12, 30)] {
        let found = keeps(spike(at), days);
        assert!(found.is_empty(), "{found:#?}");
    }
}
