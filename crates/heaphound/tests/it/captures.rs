//! Captures and what comes back from files, long paths, and the overhead manager.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

use heaphound::path::Search;
use heaphound::view::HeapView;
use heaphound::{
    Header, Heap, Local, Managed, Mutator, Object, Plain, PlainArray, PlainData, PlainKind, Probes,
    RefArray, Slot, Var, overhead::Overhead,
};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    next: Slot<Node>,
    other: Slot<Object>,
}

#[derive(Plain, Clone, Copy, PartialEq, Debug)]
#[repr(u8)]
enum Colour {
    Red,
    Green,
}

#[derive(Managed)]
#[repr(C)]
struct Values {
    header: Header,
    a: Var<i8>,
    b: Var<bool>,
    c: Var<char>,
    d: Var<f32>,
    e: Var<Colour>,
    f: Var<i64>,
    g: Var<f64>,
    h: Var<u64>,
    i: Var<i16>,
    j: Var<f64>,
    k: Var<f32>,
    l: Var<char>,
}

fn node<'a>(m: &mut Mutator<'a>) -> Local<'a, Node> {
    m.alloc(NodeInit {
        next: None,
        other: None,
    })
    .unwrap()
}

fn round_trip(m: &mut Mutator<'_>, name: &str) -> Result<heaphound::Snapshot, String> {
    let path =
        std::env::temp_dir().join(format!("heaphound-capture-{}-{name}", std::process::id()));
    m.write_heap(&path, PlainData::All)
        .map_err(|it| it.to_string())?;
    let text = std::fs::read(&path).unwrap();
    let read = heaphound::file::read_file(&path, &mut |_, _| {});
    std::fs::remove_file(&path).unwrap();
    read.map_err(|it| format!("{it}\n{}", String::from_utf8_lossy(&text)))
}

fn all_values<V: HeapView>(view: &V, all: impl Iterator<Item = V::Object>) -> Vec<String> {
    let mut lines: Vec<String> = all
        .map(|object| {
            let class = view.class(view.class_of(object));
            let values: Vec<_> = (0..class.fields.len())
                .map(|i| format!("{}={:?}", class.fields[i].name, view.plain_value(object, i)))
                .collect();
            let mut edges = 0;
            view.for_each_edge(object, |_, _, _| edges += 1);
            format!(
                "{} {values:?} {:?} {:?} {edges}",
                class.name,
                view.length_of(object),
                view.text_of(object)
            )
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn values_survive_a_round_trip() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    for (d, g, c) in [
        (-0.0, f64::NAN, '\0'),
        (f32::MIN_POSITIVE, 1e300, '\u{10ffff}'),
        (f32::NAN, f64::NEG_INFINITY, '"'),
        (f32::INFINITY, f64::MIN_POSITIVE / 8.0, '\''),
    ] {
        m.alloc(ValuesInit {
            a: -128,
            b: true,
            c,
            d,
            e: Colour::Green,
            f: i64::MIN,
            g,
            h: u64::MAX,
            i: -1,
            j: -0.0,
            k: 0.1,
            l: '\n',
        })
        .unwrap();
    }
    m.alloc_str("a\"b\\\n\t\0é\u{2028}").unwrap();
    m.alloc_str("").unwrap();
    m.alloc_plain::<bool>(3, true).unwrap();
    m.alloc_plain::<Colour>(3, Colour::Green).unwrap();
    m.alloc_plain::<char>(3, '"').unwrap();
    m.alloc_plain::<f32>(3, f32::NAN).unwrap();
    m.alloc_plain::<i8>(3, -5).unwrap();
    m.alloc_plain::<i64>(0, -5).unwrap();
    m.alloc_refs::<Node>(0).unwrap();
    m.alloc_refs::<PlainArray<Colour>>(2).unwrap();
    let _ = Colour::Red;
    let snapshot = m.capture(PlainData::All);
    let live = m.inspect(|view| all_values(view, heaphound::view::live_objects(view).into_iter()));
    assert_eq!(live, all_values(&snapshot, snapshot.objects()));
    for name in ["values.hhs", "values.heap"] {
        let read = round_trip(&mut m, name).unwrap();
        assert_eq!(all_values(&read, read.objects()), live, "{name}");
    }
}

#[test]
fn odd_names_survive_a_round_trip() {
    let heap = Heap::builder().build().unwrap();
    for odd in [
        "", " ", "a b", "a\nb", "\"", "#", "Node#1", "é", "class", "a:b", "a[1]", "->", "\u{0}",
        "null", "//", "x\r",
    ] {
        for other in ["class", "field", "thread", "static"] {
            let heap2 = Heap::builder().build().unwrap();
            let pick = |what: &str| if what == other { odd } else { "plain" };
            let class = heap2
                .define_class(pick("class"))
                .slot(pick("field"))
                .plain("p", PlainKind::I8)
                .define()
                .unwrap();
            let mut m = heap2.attach(pick("thread")).unwrap();
            let object = m.alloc_instance(&class).unwrap();
            m[object][0].set(Some(m[object].as_object()));
            m.set_thread_object(Some(&m[object]));
            m.static_root::<heaphound::Instance>(pick("static"))
                .set(&m, Some(&m[object]));
            let live = m.capture(PlainData::All);
            for name in ["odd.hhs", "odd.heap"] {
                let read = round_trip(&mut m, name)
                    .unwrap_or_else(|it| panic!("{other} {odd:?} {name}: {it}"));
                assert_eq!(read.roots(), live.roots(), "{other} {odd:?}");
                assert_eq!(
                    all_values(&read, read.objects()),
                    all_values(&live, live.objects()),
                    "{other} {odd:?} {name}"
                );
                assert_eq!(read.threads(), live.threads());
            }
        }
    }
    drop(heap);
}

#[test]
fn classes_of_one_name_survive_a_round_trip() {
    let heap = Heap::builder().build().unwrap();
    let one = heap.define_class("Same").slot("a").define().unwrap();
    let two = heap
        .define_class("Same")
        .slot("b")
        .plain("n", PlainKind::I32)
        .define()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let (x, y) = (
        m.alloc_instance(&one).unwrap(),
        m.alloc_instance(&two).unwrap(),
    );
    m[x][0].set(Some(m[y].as_object()));
    m[y][0].set(Some(m[x].as_object()));
    m[y].set_plain(0, -7i32);
    let live = m.capture(PlainData::All);
    for name in ["same.hhs", "same.heap"] {
        let read = round_trip(&mut m, name).unwrap();
        // Heap text tells them apart by a number.
        let read = all_values(&read, read.objects())
            .join("\n")
            .replace("Same (2)", "Same");
        let mut read: Vec<_> = read.lines().collect();
        read.sort();
        assert_eq!(read, all_values(&live, live.objects()), "{name}");
    }
}

/// A long list is the first thing that somebody asks for all paths to.
#[test]
fn all_paths_through_a_long_list_take_little_time() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let first = node(&mut m);
    m.static_root::<Node>("list").set(&m, Some(&m[first]));
    let last = node(&mut m);
    m.set_local(last, &m[first]);
    for _ in 0..200_000 {
        let mut m = m.scope();
        let next = node(&mut m);
        m[last].next.set(Some(&m[next]));
        m.set_local(last, &m[next]);
    }
    let snapshot = m.capture(PlainData::Omit);
    let (_, first) = snapshot.roots()[0].clone();
    let probes = Probes::of(&snapshot);
    let target = probes.reach(first).iter().max_by_key(|it| it.0).unwrap();
    let begin = Instant::now();
    let shortest = probes
        .path(
            &Search {
                from: heaphound::path::Origin::Objects(&[first]),
                avoid: &[],
            },
            target,
        )
        .unwrap();
    println!(
        "shortest: {:?}, {} objects",
        begin.elapsed(),
        shortest.objects.len()
    );
    let begin = Instant::now();
    let search = Search {
        from: heaphound::path::Origin::Objects(&[first]),
        avoid: &[],
    };
    let trails = probes.all_paths(&search, target, 3);
    println!(
        "all: {:?} {} {}",
        begin.elapsed(),
        trails.trails.len(),
        trails.complete
    );
    assert!(
        begin.elapsed() < Duration::from_secs(3),
        "{:?}",
        begin.elapsed()
    );
}

/// An array with many equal elements, an array with two pieces, an array in itself.
#[test]
fn big_arrays() {
    for threads in [1, 4] {
        let heap = Heap::builder().collector_threads(threads).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let array = m.alloc_refs::<Object>(300_000).unwrap();
        let (a, b) = (node(&mut m), node(&mut m));
        for i in 0..300_000 {
            let to = if i % 2 == 0 {
                m[a].as_object()
            } else {
                m[array].as_object()
            };
            m[array][i].set(Some(to));
        }
        m[array][299_999].set(Some(m[b].as_object()));
        assert!(
            !m.is_shared(a).unwrap() && !m.is_shared(b).unwrap() && !m.is_shared(array).unwrap()
        );
        assert_eq!(m.pred_count(array).unwrap(), 1);
        assert_eq!(m.pred_count(a).unwrap(), 1);
        let path = m.ask(|heap| {
            let (array, b) = (heap.id(array).unwrap(), heap.id(b).unwrap());
            let search = Search {
                from: heaphound::path::Origin::Objects(&[array]),
                avoid: &[],
            };
            heap.path(&search, b)
                .unwrap()
                .describe(heap.view())
                .to_string()
        });
        assert!(path.contains("[299999]"), "{path}");
        let snapshot = m.capture(PlainData::Omit);
        assert_eq!(snapshot.edges(), 300_000);
    }
}

#[test]
fn a_probe_that_panics_is_charged() {
    let overhead = Overhead::new(0.05);
    let begin = Instant::now();
    let mut asked = 0;
    while begin.elapsed() < Duration::from_millis(500) {
        let _ = catch_unwind(AssertUnwindSafe(|| {
            overhead.sample(|| {
                asked += 1;
                thread::sleep(Duration::from_millis(10));
                std::panic::resume_unwind(Box::new(()));
            })
        }));
    }
    let spent = asked as f64 * 0.01 / begin.elapsed().as_secs_f64();
    assert!(
        spent < 0.15,
        "{:.0}% of the time; {}",
        100.0 * spent,
        overhead.coverage()
    );
}

#[test]
fn many_threads_at_once_keep_the_budget() {
    let overhead = Overhead::new(0.05);
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(100));
                while begin.elapsed() < Duration::from_millis(2000) {
                    overhead.sample(|| thread::sleep(Duration::from_millis(20)));
                    thread::sleep(Duration::from_micros(100));
                }
            });
        }
    });
    let coverage = overhead.coverage();
    assert!(coverage.spent < 0.1, "{coverage}");
}

/// What it costs to be told no, with as many sites as a middling program has.
#[test]
fn to_skip_costs_little() {
    let overhead = Overhead::new(0.0001);
    // Other tests run beside this one: the quickest hundred calls show what a call costs.
    let mut each = Duration::MAX;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(500) {
        let hundred = Instant::now();
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        overhead.sample(|| thread::sleep(Duration::from_micros(100)));
        each = each.min(hundred.elapsed() / 100);
    }
    println!("{each:?} a call, {} sites", overhead.coverage().sites.len());
    assert!(each < Duration::from_micros(5), "{each:?}");
}

/// The budget is a share of the whole run: what a quiet time leaves over may be used, and no
/// more.
#[test]
fn a_burst_after_a_quiet_time_keeps_the_budget_of_the_whole_run() {
    let overhead = Overhead::new(0.1);
    let begin = Instant::now();
    thread::sleep(Duration::from_secs(1));
    let mut spent = Duration::ZERO;
    let mut burst = 0;
    while begin.elapsed() < Duration::from_millis(1500) {
        overhead.sample(|| {
            let begin = Instant::now();
            thread::sleep(Duration::from_millis(5));
            spent += begin.elapsed();
            burst += 1;
        });
    }
    let share = spent.as_secs_f64() / begin.elapsed().as_secs_f64();
    assert!(share < 0.15, "{:.0}%", 100.0 * share);
    assert!(burst > 5, "{burst}: what was left over was not used");
}

#[test]
fn arrays_of_arrays() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let outer = m.alloc_refs::<RefArray<Node>>(3).unwrap();
    let inner = m.alloc_refs::<Node>(3).unwrap();
    m[outer][2].set(Some(&m[inner]));
    assert!(m.is_object_owned(outer, inner).unwrap());
}

/// The same program on the same heap, with another number of collector threads.
#[test]
fn a_capture_does_not_depend_on_the_number_of_threads() {
    for collector in [
        heaphound::Collector::MarkSweep,
        heaphound::Collector::Generational,
    ] {
        let write = |threads: usize| {
            let heap = Heap::builder()
                .collector(collector)
                .collector_threads(threads)
                .nursery_bytes(256 << 10);
            let heap = heap.max_bytes(128 << 20).build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let array = m.alloc_refs::<Node>(50_000).unwrap();
            let mut dice = 12345u64;
            let mut next = |n: usize| {
                dice = dice
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                (dice >> 33) as usize % n
            };
            for round in 0..8 {
                for _ in 0..50_000 {
                    let mut m = m.scope();
                    let it = node(&mut m);
                    let place = next(50_000);
                    m[it]
                        .next
                        .set(m[array][next(50_000)].get().filter(|_| place % 7 > 0));
                    if place % 2 == 0 {
                        m[it].other.set(
                            m[array][place]
                                .get()
                                .map(|it| it.as_object())
                                .filter(|_| place % 3 == 0),
                        );
                    }
                    m[array][place].set(Some(&m[it]));
                }
                for i in (0..50_000).filter(|i| (i / 64) % 2 == round % 2) {
                    m[array][i].clear();
                }
                if round % 2 == 0 {
                    m.collect();
                }
            }
            let path =
                std::env::temp_dir().join(format!("heaphound-capture-{}-same", std::process::id()));
            m.write_heap(&path, PlainData::All).unwrap();
            let text = std::fs::read(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            let names = m.ask(|heap| {
                let all = heap.reach_all();
                let last = all.iter().last().unwrap();
                heap.path(&Search::everywhere(), last)
                    .unwrap()
                    .describe(heap.view())
                    .to_string()
            });
            (text, names)
        };
        let (one, path) = write(1);
        for threads in [1, 2, 4, 4, 4] {
            let (other, other_path) = write(threads);
            assert!(
                other == one,
                "{collector:?}: {threads} threads write another file"
            );
            assert_eq!(path, other_path);
        }
    }
}
