//! Dynamic object sampling: what is counted by samples is what there is.

use std::sync::{Arc, Mutex};

use heaphound::{
    AllocationSite, Check, Collector, Finalization, Header, Heap, HeapBuilder, Local, Managed,
    MarkedHeap, Mutator, RefArray, Sampling, Slot, WeakSlot, check::Counted, check::Found,
    check::Needs,
};
use heaphound_testkit::cases::config;
use heaphound_testkit::{Setting, programs, run_attached};
use proptest::test_runner::TestRunner;

const BOTH: [Collector; 2] = [Collector::MarkSweep, Collector::Generational];

fn builder(collector: Collector) -> HeapBuilder {
    Heap::builder()
        .max_bytes(64 << 20)
        .nursery_bytes(64 << 10)
        .collector(collector)
        .collector_threads(2)
}

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
    next: Slot<Node>,
}

#[derive(Managed)]
#[repr(C)]
struct Wide {
    header: Header,
    slots: [Slot<Node>; 60],
}

#[track_caller]
fn node<'a>(m: &mut Mutator<'a>, value: u64) -> Local<'a, Node> {
    m.alloc(NodeInit { value, next: None }).unwrap()
}

fn at(sites: &[AllocationSite], line: u32) -> &AllocationSite {
    let mut found = sites
        .iter()
        .filter(|it| it.line == line && it.file == file!());
    let site = found
        .next()
        .unwrap_or_else(|| panic!("no site at line {line}"));
    assert!(found.next().is_none(), "two sites at line {line}");
    site
}

/// At each full collection, compares the samples that live with what lives, class by class.
struct Comparing(Arc<Mutex<(usize, Vec<String>)>>);

impl Check for Comparing {
    fn needs(&mut self) -> Needs {
        Needs::summary()
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, it: &Counted<'_>, _: &mut Found<'_>) {
        let mut seen = self.0.lock().unwrap();
        let summary = it.summary.unwrap();
        for (class, now) in summary.classes() {
            let sites = heap.allocation_sites(class);
            let samples: u64 = sites.iter().map(|it| it.live_samples).sum();
            let bytes: u64 = sites.iter().map(|it| it.live_bytes).sum();
            seen.0 += 1;
            // Cells are not smaller than objects.
            if samples != now.objects || bytes < now.volume_bytes {
                let what = format!("{class:?}: {samples} samples, {bytes} bytes of {now:?}");
                seen.1.push(what);
            }
        }
    }
}

#[test]
fn in_exact_mode_samples_are_all_objects_of_random_programs() {
    for collector in BOTH {
        for (threads, zeal, usual) in [(1, 0, 150), (4, 0, 60), (1, 5, 40)] {
            let seen = Arc::new(Mutex::new((0, Vec::new())));
            let result = TestRunner::new(config(usual)).run(&programs(120), |program| {
                let builder = builder(collector).max_locals(4096).zeal(zeal);
                let builder = builder.sampling(Sampling::exact());
                let heap = builder.collector_threads(threads).build().unwrap();
                let watch = heap.watch(Box::new(Comparing(seen.clone())), None);
                let setting = Setting {
                    collects_by_itself: true,
                    exact_finalization: zeal > 0,
                    shared: None,
                };
                run_attached(&heap, "main", setting, &program).check();
                drop(watch);
                let wrong = std::mem::take(&mut seen.lock().unwrap().1);
                assert!(wrong.is_empty(), "{}", wrong[0]);
                Ok(())
            });
            if let Err(error) = result {
                panic!("{error}");
            }
            assert!(
                seen.lock().unwrap().0 as u32 > usual,
                "nothing was compared"
            );
        }
    }
}

#[test]
fn exact_mode_counts_what_each_site_allocates_and_what_survives() {
    for collector in BOTH {
        let heap = builder(collector)
            .sampling(Sampling::exact())
            .build()
            .unwrap();
        let mut m = heap.attach("main").unwrap();
        let kept = m.alloc_refs::<Node>(1000).unwrap();
        let line = line!() + 3;
        for value in 0..1000 {
            let mut m = m.scope();
            let made = node(&mut m, value);
            m[kept][value as usize].set(Some(&m[made]));
            node(&mut m, value);
        }
        m.collect();
        let sites = heap.sites();
        let (long, short) = (at(&sites, line), at(&sites, line + 2));
        for site in [long, short] {
            assert_eq!((site.samples, site.allocated_bytes), (1000, 24_000));
            assert_eq!(site.settled_bytes, 24_000);
        }
        assert_eq!((long.survived_bytes, long.survival()), (24_000, Some(1.0)));
        assert_eq!((long.live_samples, long.live_bytes), (1000, 24_000));
        // A nursery collection may come between two lines.
        assert!(
            short.survived_bytes <= 24 * 20 && short.live_samples == 0,
            "{short:?}"
        );
        assert_eq!(short.lifetimes.iter().sum::<u64>(), 24_000);
        assert!(short.lifetimes[0] >= 24_000 - 24 * 20);
        // They die after they have survived so many more.
        (0..5).for_each(|_| m.collect());
        for place in 0..1000 {
            m[kept][place].clear();
        }
        m.collect();
        let sites = heap.sites();
        let long = at(&sites, line);
        assert_eq!(
            (long.live_samples, long.lifetimes[3]),
            (0, 24_000),
            "{long:?}"
        );
    }
}

#[test]
fn samples_estimate_what_exact_counting_finds() {
    /// Allocates objects of two sizes, of which every third lives on. Returns the sites by line.
    fn run(collector: Collector, sampling: Sampling) -> Vec<AllocationSite> {
        let heap = builder(collector).sampling(sampling).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let kept = m.alloc_refs::<Node>(20_000).unwrap();
        for round in 0..300_000_u64 {
            let mut m = m.scope();
            if round.is_multiple_of(3) {
                let made = node(&mut m, round);
                m[kept][(round / 3 % 20_000) as usize].set(Some(&m[made]));
            } else {
                node(&mut m, round);
            }
            m.alloc(WideInit { slots: [None; 60] }).unwrap();
        }
        m.collect();
        let mut sites = heap.sites();
        sites.retain(|it| it.class == "Node" || it.class == "Wide");
        sites.sort_by_key(|it| it.line);
        sites
    }
    for collector in BOTH {
        let exact = run(collector, Sampling::exact());
        for interval in [64, 256, 1000, 4096] {
            let sampled = run(collector, Sampling::every(interval));
            assert_eq!((exact.len(), sampled.len()), (3, 3));
            for (truth, found) in exact.iter().zip(&sampled) {
                let close = |what: &str, truth: u64, found: u64| {
                    // Six standard deviations.
                    let allowed = 6.0 * (truth as f64 * interval.max(256) as f64).sqrt();
                    let error = (found as f64 - truth as f64).abs();
                    assert!(
                        error <= allowed,
                        "{what} every {interval}: {found}, not {truth}, {collector:?}"
                    );
                };
                close("allocated", truth.allocated_bytes, found.allocated_bytes);
                close("settled", truth.settled_bytes, found.settled_bytes);
                close("survived", truth.survived_bytes, found.survived_bytes);
                close("lives", truth.live_bytes, found.live_bytes);
                let died = |it: &AllocationSite| it.lifetimes.iter().sum::<u64>();
                close("died", died(truth), died(found));
            }
        }
    }
}

/// Allocates an object of any class at one line.
fn generic<'a, T: Managed>(m: &mut Mutator<'a>) -> Local<'a, RefArray<T>> {
    m.alloc_refs::<T>(4).unwrap()
}

#[test]
fn the_same_line_of_two_instances_of_a_generic_function_is_two_sites() {
    for collector in BOTH {
        let heap = builder(collector)
            .sampling(Sampling::exact())
            .build()
            .unwrap();
        let mut m = heap.attach("main").unwrap();
        for _ in 0..30 {
            generic::<Node>(&mut m.scope());
        }
        for _ in 0..10 {
            generic::<Wide>(&mut m.scope());
        }
        let found = ["Node[]", "Wide[]"].map(|it| heap.allocation_sites_of(it));
        let [[nodes], [wides]] = [&found[0][..], &found[1][..]] else {
            panic!("{found:?}");
        };
        assert_eq!((nodes.samples, wides.samples), (30, 10));
        assert_eq!(nodes.line, wides.line);
        assert!(nodes.only && wides.only);
    }
}

#[derive(Managed)]
#[repr(C)]
struct Watching {
    header: Header,
    weak: WeakSlot<Node>,
    owned: heaphound::Var<u64>,
}

#[test]
fn samples_move_with_their_objects_and_die_with_them() {
    for collector in BOTH {
        let builder = builder(collector).sampling(Sampling::exact());
        let heap = builder
            .finalization(Finalization::OnRequest)
            .build()
            .unwrap();
        let mut m = heap.attach("main").unwrap();
        let kept = m.alloc_refs::<Node>(80_000).unwrap();
        let line = line!() + 3;
        for place in 0..80_000_u64 {
            let mut m = m.scope();
            let made = node(&mut m, place);
            m[kept][place as usize].set(Some(&m[made]));
        }
        // Holes, so that objects move together.
        for place in (0..80_000).filter(|place| place % 16 != 0) {
            m[kept][place].clear();
        }
        m.collect();
        assert_eq!(at(&heap.sites(), line).live_samples, 5000);
        let compacted = heap
            .stats()
            .history
            .iter()
            .map(|it| it.compacted_bytes)
            .sum::<usize>();
        assert!(compacted > 0);
        m.collect();
        assert_eq!(at(&heap.sites(), line).live_samples, 5000);
        // What only a finalizer keeps is dead; a weak reference does not keep it either.
        let weak = m
            .alloc(WatchingInit {
                weak: None,
                owned: 0,
            })
            .unwrap();
        let finalized = Arc::new(Mutex::new(0));
        for place in (0..80_000).step_by(32) {
            let object = m[kept][place].get().unwrap();
            m[weak].weak.set(Some(object));
            let counted = finalized.clone();
            m.on_death(object, move |_, _| *counted.lock().unwrap() += 1);
            m[kept][place].clear();
        }
        m.collect();
        assert_eq!(at(&heap.sites(), line).live_samples, 2500);
        m.run_finalizers();
        m.collect();
        assert_eq!(*finalized.lock().unwrap(), 2500);
        assert_eq!(at(&heap.sites(), line).live_samples, 2500);
    }
}

/// The cell of a sample is found before the object is made; if that fails, there is no object in it.
#[test]
fn an_object_that_could_not_be_made_is_no_sample() {
    let other_heap = Heap::builder().build().unwrap();
    let mut other = other_heap.attach("other").unwrap();
    let foreign = node(&mut other, 1);
    for collector in BOTH {
        let builder = builder(collector).sampling(Sampling::exact());
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let kept = m.alloc_refs::<Node>(100).unwrap();
        let mut line = 0;
        for place in 0..100 {
            let mut m = m.scope();
            let made = node(&mut m, place);
            let next = Some(foreign);
            let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let value = 0;
                m.alloc(NodeInit { value, next }).map(|_| ())
            }));
            line = line!() - 2;
            assert!(failed.is_err());
            if place % 2 == 0 {
                m[kept][place as usize].set(Some(&m[made]));
            }
            if place % 30 == 0 {
                m.collect();
            }
        }
        m.collect();
        let lives = |it: &&AllocationSite| it.live_samples > 0;
        let nodes = heap.allocation_sites_of("Node");
        let live: Vec<u32> = nodes.iter().filter(lives).map(|it| it.line).collect();
        assert!(!live.is_empty() && !live.contains(&line), "{live:?} {line}");
        let sum: u64 = (0..100)
            .filter_map(|place| m[kept][place].get())
            .map(|node| node.value)
            .sum();
        assert_eq!(sum, 49 * 50);
    }
}

#[test]
fn a_language_runtime_says_where_its_program_allocates() {
    for collector in BOTH {
        let heap = builder(collector)
            .sampling(Sampling::exact())
            .build()
            .unwrap();
        let mut m = heap.attach("main").unwrap();
        let class = heap
            .define_class("Cons")
            .slot("car")
            .slot("cdr")
            .define()
            .unwrap();
        let sites = [3, 7].map(|line| heap.define_site("fib.scm", line, 1));
        assert_eq!(heap.define_site("fib.scm", 3, 1), sites[0]);
        for round in 0..90 {
            let site = if round % 3 == 0 { sites[0] } else { sites[1] };
            m.set_site(Some(site));
            m.scope().alloc_instance(&class).unwrap();
        }
        m.set_site(None);
        m.scope().alloc_instance(&class).unwrap();
        let line = line!() - 1;
        let mut found = heap.allocation_sites_of("Cons");
        found.sort_by_key(|it| it.samples);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.file.to_string(), it.line, it.samples))
            .collect();
        let own = (file!().to_string(), line, 1);
        assert_eq!(
            found,
            [own, ("fib.scm".into(), 3, 30), ("fib.scm".into(), 7, 60)]
        );
    }
}

#[test]
#[should_panic(expected = "a site of another heap")]
fn a_site_of_another_heap_is_refused() {
    let [heap, other] = [(); 2].map(|()| builder(BOTH[0]).build().unwrap());
    let site = other.define_site("a.js", 1, 1);
    heap.attach("main").unwrap().set_site(Some(site));
}

#[test]
fn more_sites_than_can_be_told_apart_share_the_last() {
    let heap = builder(BOTH[0])
        .sampling(Sampling::exact())
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let class = heap.define_class("Cell").slot("it").define().unwrap();
    for line in 1..=40_000 {
        m.set_site(Some(heap.define_site("long.js", line, 1)));
        m.scope().alloc_instance(&class).unwrap();
    }
    m.set_site(None);
    m.collect();
    let sites = heap.allocation_sites_of("Cell");
    assert_eq!(sites.len(), 32_767);
    assert_eq!(sites.iter().map(|it| it.samples).sum::<u64>(), 40_000);
}

#[test]
fn intervals_that_make_no_sense_are_refused() {
    for bytes in [0, 1, 31, 16_385, usize::MAX] {
        let refused = Heap::builder().sampling(Sampling::every(bytes)).build();
        let text = refused.map(drop).unwrap_err().to_string();
        assert!(text.contains("32 to 16384"), "{text}");
    }
}

#[test]
fn threads_sample_without_getting_in_each_other_s_way() {
    for collector in BOTH {
        let heap = builder(collector)
            .sampling(Sampling::every(64))
            .build()
            .unwrap();
        let line = line!() + 7;
        std::thread::scope(|threads| {
            for name in ["one", "two", "three"] {
                let heap = &heap;
                threads.spawn(move || {
                    let mut m = heap.attach(name).unwrap();
                    for value in 0..100_000 {
                        node(&mut m.scope(), value);
                    }
                });
            }
        });
        let sites = heap.sites();
        let site = at(&sites, line);
        let truth = 300_000.0 * 24.0;
        let error = (site.allocated_bytes as f64 / truth - 1.0).abs();
        assert!(error < 0.03, "{}", site.allocated_bytes);
    }
}

/// The fields of a message of protocol buffers: numbers, and bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().expect("a number goes on");
            *bytes = rest;
            number |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        number
    }
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let number = varint(&mut bytes);
        let content = match key & 7 {
            0 => &[][..],
            2 => bytes
                .split_off(..number as usize)
                .expect("as long as it says"),
            other => panic!("wire type {other}"),
        };
        all.push((key >> 3, number, content));
    }
    all
}

#[test]
fn a_profile_says_what_the_sites_do() {
    let heap = builder(BOTH[1])
        .sampling(Sampling::exact())
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let kept = m.alloc_refs::<Node>(500).unwrap();
    let line = line!() + 3;
    for value in 0..500 {
        let mut m = m.scope();
        let made = node(&mut m, value);
        m[kept][value as usize].set(Some(&m[made]));
        node(&mut m, value);
    }
    m.collect();
    let mut bytes = Vec::new();
    heap.write_pprof(&mut bytes).unwrap();
    let all = fields(&bytes);
    let of = |field: u64| all.iter().filter(move |it| it.0 == field).map(|it| it.2);
    let strings: Vec<&str> = of(6).map(|it| std::str::from_utf8(it).unwrap()).collect();
    assert_eq!(strings[0], "");
    let text = |message: &[u8], field: u64| {
        let found = fields(message)
            .into_iter()
            .find(|it| it.0 == field)
            .unwrap()
            .1;
        strings[found as usize]
    };
    let kinds: Vec<_> = of(1).map(|it| (text(it, 1), text(it, 2))).collect();
    assert_eq!(
        kinds,
        [
            ("alloc_space", "bytes"),
            ("survived_space", "bytes"),
            ("inuse_space", "bytes")
        ]
    );
    let number = |message: &[u8], field: u64| {
        fields(message)
            .into_iter()
            .find(|it| it.0 == field)
            .unwrap()
            .1
    };
    let location = of(4).find(|&it| {
        let at = fields(it).into_iter().find(|it| it.0 == 4).unwrap().2;
        let function = number(at, 1);
        let function = of(5).find(|&it| number(it, 1) == function).unwrap();
        text(function, 2) == "Node"
            && text(function, 4) == file!()
            && number(at, 2) == u64::from(line)
    });
    let location = number(location.expect("the line is there"), 1);
    let sample = of(2)
        .find(|it| packed(fields(it)[0].2) == [location])
        .unwrap();
    assert_eq!(packed(fields(sample)[1].2), [12_000, 12_000, 12_000]);
}

/// Numbers, one after the other.
fn packed(mut bytes: &[u8]) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let Some(end) = bytes.iter().position(|it| it & 0x80 == 0) {
        let (number, rest) = bytes.split_at(end + 1);
        let digits = number.iter().rev();
        numbers.push(digits.fold(0, |all, it| all << 7 | u64::from(it & 0x7f)));
        bytes = rest;
    }
    assert!(bytes.is_empty(), "a number goes on");
    numbers
}

/// What a reader of profiles relies on: all that is referred to is there, and stacks begin where memory is allocated.
#[test]
fn a_profile_holds_together_and_adds_up() {
    let sampling = Sampling::exact().contexts(4);
    let heap = builder(BOTH[1]).sampling(sampling).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let kept = m.alloc_refs::<Node>(3_000).unwrap();
    for value in 0..3_000 {
        first_caller(&mut m);
        second_caller(&mut m);
        m.set_site((value % 3 == 0).then(|| heap.define_site("a \"b\".js", 1, 1)));
        let mut m = m.scope();
        let made = node(&mut m, value);
        m[kept][value as usize].set(Some(&m[made]));
    }
    m.set_site(None);
    m.collect();
    let mut bytes = Vec::new();
    heap.write_pprof(&mut bytes).unwrap();
    let all = fields(&bytes);
    let of = |field: u64| all.iter().filter(move |it| it.0 == field).map(|it| it.2);
    let number = |message: &[u8], field: u64| {
        let found = fields(message).into_iter().find(|it| it.0 == field);
        found.map_or(0, |it| it.1)
    };
    let strings: Vec<&str> = of(6).map(|it| std::str::from_utf8(it).unwrap()).collect();
    let mut functions = std::collections::HashMap::new();
    for function in of(5) {
        let name = strings[number(function, 2) as usize];
        assert!(strings.len() as u64 > number(function, 4));
        assert!(functions.insert(number(function, 1), name).is_none());
    }
    let mut locations = std::collections::HashMap::new();
    for location in of(4) {
        let line = fields(location).into_iter().find(|it| it.0 == 4).unwrap().2;
        let function = functions[&number(line, 1)];
        let id = number(location, 1);
        assert!(id > 0 && locations.insert(id, function).is_none());
    }
    let mut sums = [0; 3];
    let mut longest = 0;
    for sample in of(2) {
        let stack: Vec<&str> = packed(fields(sample)[0].2)
            .iter()
            .map(|id| locations[id])
            .collect();
        let values = packed(fields(sample)[1].2);
        assert_eq!(values.len(), of(1).count());
        (sums.iter_mut().zip(values)).for_each(|(sum, value)| *sum += value);
        if stack[0] == "Node" {
            longest = longest.max(stack.len());
        }
    }
    assert!(longest > 2, "who called is not there: {longest}");
    let sites = heap.sites();
    let sum = |f: fn(&AllocationSite) -> u64| sites.iter().map(f).sum::<u64>();
    let expected = [
        sum(|it| it.allocated_bytes),
        sum(|it| it.survived_bytes),
        sum(|it| it.live_bytes),
    ];
    assert_eq!(sums, expected);
    assert!(sums[2] >= 3_000 * 24 && sums[2] < sums[0]);
    let period = of(11).next().expect("a kind of period");
    assert_eq!(strings[number(period, 1) as usize], "space");
    let known = |field: &u64| [1, 2, 4, 5, 6, 11, 12, 14].contains(field);
    assert!(all.iter().all(|it| known(&it.0)));
}

#[test]
fn the_report_names_lines_and_what_becomes_of_their_objects() {
    let heap = builder(BOTH[0])
        .sampling(Sampling::exact())
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let kept = m.alloc_refs::<Node>(100).unwrap();
    let line = line!() + 3;
    for value in 0..100 {
        let mut m = m.scope();
        let made = node(&mut m, value);
        m[kept][value as usize].set(Some(&m[made]));
        node(&mut m, value);
    }
    m.collect();
    let report = heap.site_report(10);
    let of = |line: u32| {
        let place = format!("{}:{line}:", file!());
        report
            .lines()
            .find(|it| it.contains(&place))
            .unwrap_or_else(|| panic!("{report}"))
    };
    assert!(
        of(line).contains("2.3 KiB") && of(line).contains("100 %"),
        "{report}"
    );
    assert!(
        of(line + 2).contains("0 B") && of(line + 2).contains(" 0 %"),
        "{report}"
    );
    assert_eq!(heap.site_report(1).lines().count(), 4);
}

/// Allocates where its caller is not seen.
#[inline(never)]
fn made_for_others(m: &mut Mutator<'_>, value: u64) {
    m.alloc(NodeInit { value, next: None }).unwrap();
}

#[inline(never)]
fn first_caller(m: &mut Mutator<'_>) {
    made_for_others(&mut m.scope(), 1);
}

#[inline(never)]
fn second_caller(m: &mut Mutator<'_>) {
    made_for_others(&mut m.scope(), 2);
}

#[test]
fn callers_tell_sites_apart_if_wanted() {
    let sampling = Sampling::exact().contexts(4);
    let heap = builder(BOTH[1]).sampling(sampling).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    (0..30).for_each(|_| first_caller(&mut m));
    (0..10).for_each(|_| second_caller(&mut m));
    let sites = heap.allocation_sites_of("Node");
    let samples = |caller: &str| {
        let found = sites
            .iter()
            .filter(|it| it.context.iter().any(|name| name.contains(caller)));
        found.map(|it| it.samples).sum::<u64>()
    };
    assert_eq!(
        (samples("first_caller"), samples("second_caller")),
        (30, 10),
        "{sites:#?}"
    );
    assert!(sites.iter().all(|it| it.context.len() <= 4));
}

#[cfg(feature = "barrier")]
#[test]
fn samples_of_what_is_pruned_are_dead() {
    use heaphound::Pruning;
    for collector in BOTH {
        let builder = builder(collector)
            .max_bytes(4 << 20)
            .initial_bytes(64 << 10);
        let builder = builder
            .sampling(Sampling::exact())
            .pruning(Pruning::default());
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let head = node(&mut m, 0);
        let line = line!() + 3;
        for value in 0..600_000 {
            let mut m = m.scope();
            let made = node(&mut m, value);
            m[made].next.set(m[head].next.get());
            m[head].next.set(Some(&m[made]));
        }
        assert!(heap.pruned().iter().map(|it| it.objects()).sum::<usize>() > 100_000);
        m.collect();
        let sites = heap.sites();
        let site = at(&sites, line);
        // No more than fit, and all that were allocated are accounted for.
        assert!(site.live_samples < 200_000, "{site:?}");
        assert_eq!(site.samples, 600_000);
        let died: u64 = site.lifetimes.iter().sum();
        assert_eq!(died + site.live_bytes, site.allocated_bytes);
    }
}
