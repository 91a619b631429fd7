//! Where objects are allocated: what the heap knows of it, and what growth says about it.

use heaphound::{
    AllocationSite, Collector, Header, Heap, HeapBuilder, Instance, Local, Managed, Mutator,
    Object, PlainKind, Slot,
};

const BOTH: [Collector; 2] = [Collector::MarkSweep, Collector::Generational];

fn builder(collector: Collector) -> HeapBuilder {
    Heap::builder()
        .max_bytes(64 << 20)
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

/// Allocates a node where it is called.
#[track_caller]
fn node<'a>(m: &mut Mutator<'a>, value: u64) -> Local<'a, Node> {
    m.alloc(NodeInit { value, next: None }).unwrap()
}

/// Sites as lines with their samples.
fn lines(sites: &[AllocationSite]) -> Vec<(u32, u64)> {
    assert!(sites.iter().all(|it| it.file == file!()));
    sites.iter().map(|it| (it.line, it.samples)).collect()
}

#[test]
fn the_only_site_is_named() {
    for collector in BOTH {
        let heap = builder(collector).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        assert!(heap.allocation_sites_of("Node").is_empty());
        let line = line!() + 3;
        for value in 0..100_000 {
            let mut m = m.scope();
            node(&mut m, value);
        }
        let sites = heap.allocation_sites_of("Node");
        let [site] = &sites[..] else {
            panic!("{sites:?}");
        };
        assert!(site.only && site.first);
        assert_eq!((&*site.file, site.line), (file!(), line));
        // 2.4 MB: a sample for each chunk or block.
        assert!((30..=160).contains(&site.samples), "{}", site.samples);
        assert_eq!(
            site.to_string(),
            format!("{}:{line}:{}", file!(), site.column)
        );
    }
}

#[test]
fn one_object_is_enough_for_the_first_site() {
    for collector in BOTH {
        let heap = builder(collector).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        // What is said of a class before there are objects must not hide the first.
        m.know_class::<Node>();
        #[cfg(feature = "assertions")]
        m.assert_instances::<Node>(10);
        assert!(heap.allocation_sites_of("Node").is_empty());
        node(&mut m, 1);
        let line = line!() - 1;
        let sites = heap.allocation_sites_of("Node");
        assert_eq!((sites.len(), sites[0].line), (1, line));
        let id = heap_class(&mut m, "Node");
        assert_eq!(heap.allocation_sites(id), sites);
        let stopped = m.inspect(|it| it.allocation_sites(id));
        assert_eq!(stopped, sites);
        for unknown in [0, 1_000_000] {
            assert!(
                heap.allocation_sites(heaphound::ClassId(unknown))
                    .is_empty()
            );
        }
    }
}

fn heap_class(m: &mut Mutator<'_>, name: &str) -> heaphound::ClassId {
    use heaphound::view::HeapView;
    let find = |it: &heaphound::StoppedHeap<'_>| {
        let mut classes = it.classes().iter();
        classes.find(|class| class.name == name).map(|it| it.id)
    };
    m.inspect(find).unwrap()
}

#[test]
fn sites_that_take_turns_are_sampled_alike() {
    for collector in BOTH {
        let heap = builder(collector).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let first = line!() + 3;
        for value in 0..400_000 {
            let mut m = m.scope();
            node(&mut m, value);
            node(&mut m, value);
        }
        let mut found = lines(&heap.allocation_sites_of("Node"));
        found.sort_unstable();
        let [(one, ones), (other, others)] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!((one, other), (first, first + 1));
        // 19 MB: some 300 samples or more, and the same seed each time but for the serial
        // numbers of other tests' mutators. Six standard deviations.
        let all = (ones + others) as f64;
        assert!(all > 200.0);
        let deviation = (ones as f64 - all / 2.0).abs();
        assert!(deviation < 6.0 * (all / 4.0).sqrt(), "{ones} and {others}");
    }
}

#[test]
fn the_busiest_of_many_sites_comes_first() {
    for collector in BOTH {
        let heap = builder(collector).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let (start, busy) = (line!(), line!() + 15);
        for value in 0..300_000 {
            let mut m = m.scope();
            match value % 24 {
                0 => node(&mut m, value),
                1 => node(&mut m, value),
                2 => node(&mut m, value),
                3 => node(&mut m, value),
                4 => node(&mut m, value),
                5 => node(&mut m, value),
                6 => node(&mut m, value),
                7 => node(&mut m, value),
                8 => node(&mut m, value),
                9 => node(&mut m, value),
                10.. => node(&mut m, value),
            };
        }
        let found = lines(&heap.allocation_sites_of("Node"));
        assert_eq!(found.len(), 11);
        assert_eq!(found[0].0, busy - 1, "{found:?}");
        assert!(found.iter().all(|it| (start..busy).contains(&it.0)));
        let first = heap.allocation_sites_of("Node");
        let first = first.iter().find(|it| it.first).unwrap();
        assert_eq!(first.line, start + 4);
    }
}

#[test]
fn a_class_that_is_loaded_late_has_sites_too() {
    for collector in BOTH {
        let heap = builder(collector).summaries(1).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        for value in 0..10_000 {
            node(&mut m.scope(), value);
        }
        m.collect();
        let late = heap
            .define_class("Late")
            .slot("a")
            .plain("n", PlainKind::U64);
        let late = late.define().unwrap();
        assert!(heap.allocation_sites_of("Late").is_empty());
        let made = m.alloc_instance(&late).unwrap();
        let line = line!() - 1;
        // It may be a sample, too.
        let found = lines(&heap.allocation_sites_of("Late"));
        assert_eq!((found.len(), found[0].0), (1, line));
        assert!(m[made][0].get().is_none());
        for _ in 0..100_000 {
            m.scope().alloc_instance(&late).unwrap();
        }
        let found = heap.allocation_sites_of("Late");
        assert_eq!(lines(&found)[0].0, line + 7);
        assert!(found[0].samples > 30 && !found[0].only);
        assert_eq!((found[1].line, found[1].first), (line, true));
    }
}

#[test]
#[should_panic(expected = "class `Other` is of another heap")]
fn a_class_of_another_heap_is_still_refused() {
    let (heap, other) = (builder(BOTH[0]).build(), builder(BOTH[0]).build());
    let (heap, other) = (heap.unwrap(), other.unwrap());
    let class = other.define_class("Other").define().unwrap();
    other
        .attach("other")
        .unwrap()
        .alloc_instance(&class)
        .unwrap();
    let _ = heap.attach("main").unwrap().alloc_instance(&class);
}

#[test]
fn a_full_collection_with_a_summary_looks_again() {
    for collector in BOTH {
        let heap = builder(collector).summaries(1).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let first = line!() + 1;
        node(&mut m, 1);
        node(&mut m, 2);
        m.collect();
        node(&mut m, 3);
        // Any of them may be a sample, too, and then so may the second.
        let found = lines(&heap.allocation_sites_of("Node"));
        for line in [first, first + 3] {
            assert!(found.iter().any(|it| it.0 == line), "{found:?}");
        }
    }
}

#[test]
fn every_way_to_allocate_has_its_site() {
    for collector in BOTH {
        let heap = builder(collector).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let first = line!() + 1;
        m.alloc_str("text").unwrap();
        m.alloc_bytes(b"bytes").unwrap();
        m.alloc_plain::<f64>(7, 0.5).unwrap();
        m.alloc_refs::<Object>(7).unwrap();
        m.alloc_refs::<Instance>(100_000).unwrap();
        let map = m.alloc_weak_map::<Node, Node>().unwrap();
        let key = node(&mut m, 1);
        m.weak_map_insert(map, key, key).unwrap();
        let classes = [
            "Str",
            "u8[]",
            "f64[]",
            "Object[]",
            "Instance[]",
            "WeakMap<Node, Node>",
            "Node",
            "WeakMapEntry<Node, Node>",
            "WeakMapEntry<Node, Node>[]",
        ];
        for (place, class) in classes.into_iter().enumerate() {
            let found = heap.allocation_sites_of(class);
            let line = first + place.min(7) as u32;
            assert_eq!(found.len(), 1, "{class}");
            assert_eq!((&*found[0].file, found[0].line), (file!(), line), "{class}");
        }
        let large = heap.allocation_sites_of("Instance[]");
        assert_eq!(large[0].samples, 1, "a large object is a sample");
    }
}

#[test]
fn threads_find_each_other_s_sites() {
    for collector in BOTH {
        let heap = builder(collector).build().unwrap();
        let line = line!();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let mut m = heap.attach("one").unwrap();
                for value in 0..200_000 {
                    node(&mut m.scope(), value);
                }
            });
            threads.spawn(|| {
                let mut m = heap.attach("two").unwrap();
                for value in 0..200_000 {
                    node(&mut m.scope(), value);
                }
            });
        });
        let mut found = lines(&heap.allocation_sites_of("Node"));
        found.sort_unstable();
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].0, found[1].0), (line + 5, line + 11));
        assert!(found.iter().all(|it| it.1 > 40), "{found:?}");
    }
}

#[test]
fn runs_that_are_cut_for_a_sample_lose_nothing() {
    // Collections at any moment find runs that are cut, half used, or whole.
    for collector in BOTH {
        let heap = builder(collector).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let kept = m.alloc_refs::<Node>(5_000).unwrap();
        let mut random = 1u32;
        let mut settled = 0;
        for round in 0..400 {
            for _ in 0..random >> 20 {
                random = random.wrapping_mul(1664525).wrapping_add(1013904223);
                let mut m = m.scope();
                let made = node(&mut m, u64::from(random));
                let place = (random >> 8) as usize % 5_000;
                m[kept][place].set(Some(&m[made]));
                m.alloc_str(&"x".repeat((random >> 10) as usize % 300))
                    .unwrap();
            }
            random = random.wrapping_mul(1664525).wrapping_add(1013904223);
            m.collect();
            if round == 100 {
                settled = heap.heap_bytes();
            }
        }
        let nodes = m[kept].iter().filter(|it| it.get().is_some()).count();
        assert!(nodes > 4_900);
        let now = heap.heap_bytes();
        assert!(now <= settled * 2, "{settled} bytes, then {now}");
    }
}
