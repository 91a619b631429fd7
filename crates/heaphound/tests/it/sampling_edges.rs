//! Object sampling beside everything else that a heap does: what reviews of it asked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use heaphound::{
    AllocationSite, Check, Collector, Header, Heap, HeapBuilder, Local, Managed, MarkedHeap,
    Mutator, PlainData, Pretenuring, Sampling, Slot, check::Counted, check::Found, check::Needs,
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

fn exact(collector: Collector) -> Heap {
    let builder = builder(collector).sampling(Sampling::exact());
    builder.build().unwrap()
}

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
    next: Slot<Node>,
}

/// A cell of 128 bytes.
#[derive(Managed)]
#[repr(C)]
struct Line {
    header: Header,
    slots: [Slot<Node>; 30],
}

#[track_caller]
fn node<'a>(m: &mut Mutator<'a>, value: u64) -> Local<'a, Node> {
    m.alloc(NodeInit { value, next: None }).unwrap()
}

/// The sites of a class, by line.
fn by_line(heap: &Heap, class: &str) -> HashMap<u32, AllocationSite> {
    let sites = heap.allocation_sites_of(class).into_iter();
    sites.map(|it| (it.line, it)).collect()
}

/// Each large object is a sample, whatever the interval is, and so stands for itself.
#[test]
fn a_large_object_stands_for_itself_however_long_the_interval_is() {
    const BYTES: [usize; 3] = [8_200, 12_000, 30_000];
    for collector in BOTH {
        for interval in [256, 4096, 16_384] {
            let sampling = Sampling::every(interval);
            let heap = builder(collector).sampling(sampling).build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let kept = m.alloc_refs::<heaphound::PlainArray<u8>>(300).unwrap();
            for round in 0..300 {
                let mut m = m.scope();
                let made = m.alloc_bytes(&vec![7; BYTES[round % 3]]).unwrap();
                m[kept][round].set(Some(&m[made]));
            }
            m.collect();
            let least = BYTES.iter().sum::<usize>() as u64 * 100;
            let site = &heap.allocation_sites_of("u8[]")[0];
            for bytes in [site.allocated_bytes, site.live_bytes] {
                // A header and a length are beside what was asked for.
                assert!(
                    (least..least + 300 * 32).contains(&bytes),
                    "{bytes}, not {least}, every {interval}, {collector:?}"
                );
            }
        }
    }
}

/// Two sites in turn, whose cells are together as large as the interval: one that is always the same would see one of them only.
#[test]
fn an_interval_does_not_keep_in_step_with_a_program() {
    for collector in BOTH {
        for (interval, turns) in [(256, 1), (512, 2), (4096, 16)] {
            let sampling = Sampling::every(interval);
            let heap = builder(collector).sampling(sampling).build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let (first, second) = (line!() + 5, line!() + 9);
            for _ in 0..60_000 {
                for _ in 0..turns {
                    let mut m = m.scope();
                    let slots = [None; 30];
                    m.alloc(LineInit { slots }).unwrap();
                }
                for _ in 0..turns {
                    let (mut m, slots) = (m.scope(), [None; 30]);
                    m.alloc(LineInit { slots }).unwrap();
                }
            }
            let sites = by_line(&heap, "Line");
            let [first, second] = [first, second].map(|line| sites[&line].samples as f64);
            let share = first / (first + second);
            // Five standard deviations.
            let allowed = 2.5 / (first + second).sqrt();
            assert!((share - 0.5).abs() < allowed, "{first} and {second}");
        }
    }
}

/// What is forced to die after it was counted once is marked again: it has not survived.
#[test]
#[cfg(feature = "assertions")]
fn what_is_forced_to_die_has_not_survived() {
    use heaphound::{AssertionKind, Reaction};
    for collector in BOTH {
        let heap = exact(collector);
        heap.set_reaction(AssertionKind::Dead, Reaction::ForceTrue);
        let mut m = heap.attach("main").unwrap();
        let kept = m.alloc_refs::<Node>(100).unwrap();
        let line = line!() + 3;
        for place in 0..100 {
            let mut m = m.scope();
            let made = node(&mut m, place);
            m[kept][place as usize].set(Some(&m[made]));
            if place % 4 == 0 {
                m.assert_dead(made);
            }
        }
        m.collect();
        assert!(!heap.findings().is_empty());
        let site = &by_line(&heap, "Node")[&line];
        assert_eq!((site.samples, site.settled_bytes), (100, 2400));
        assert_eq!((site.live_samples, site.live_bytes), (75, 75 * 24));
        assert_eq!(site.lifetimes.iter().sum::<u64>(), 25 * 24);
        let transient = site.transient;
        assert_eq!((transient.samples, transient.allocated_bytes), (100, 2400));
        if collector == Collector::MarkSweep {
            assert_eq!(site.survived_bytes, 75 * 24, "{site:?}");
            assert_eq!(site.lifetimes[0], 25 * 24);
            let survived = (transient.survived_samples, transient.survived_bytes);
            assert_eq!(survived, (75, 75 * 24));
        } else {
            // They were copied, before anybody looked.
            assert_eq!((site.survived_bytes, site.lifetimes[1]), (2400, 25 * 24));
        }
    }
}

/// One line of Rust that allocates for many lines of a program: whatever was sampled there last does not count.
#[test]
fn a_typed_allocation_is_counted_where_the_program_is() {
    for collector in BOTH {
        let heap = exact(collector);
        let mut m = heap.attach("main").unwrap();
        let sites = [1, 2, 3].map(|line| heap.define_site("a.scm", line, 1));
        for round in 0..4_000_usize {
            let site = [None, Some(sites[0]), Some(sites[1]), None, Some(sites[2])][round % 5];
            m.set_site(site);
            node(&mut m.scope(), 1);
        }
        m.set_site(None);
        let line = line!() - 3;
        let own = by_line(&heap, "Node");
        let count = |line| own[&line].samples;
        assert_eq!(
            [count(1), count(2), count(3), count(line)],
            [800, 800, 800, 1600]
        );
    }
}

/// The fast path has sampled the class at that line before; in a region all that is allocated must be noted.
#[test]
#[cfg(feature = "assertions")]
fn samples_in_a_region_belong_to_it() {
    for collector in BOTH {
        let heap = exact(collector);
        let mut m = heap.attach("main").unwrap();
        let kept = node(&mut m, 0);
        for round in 0..3 {
            m.in_region(|m| {
                for value in 0..50 {
                    let mut m = m.scope();
                    let made = node(&mut m, value);
                    if value == 33 && round == 2 {
                        m[kept].next.set(Some(&m[made]));
                    }
                }
            });
            m.collect();
            let found = heap.findings().len();
            assert_eq!(
                found,
                usize::from(round == 2),
                "round {round}, {collector:?}"
            );
            (0..50).for_each(|value| _ = node(&mut m.scope(), value));
        }
    }
}

/// Many places with the same class, and many classes at the same place: more than a mutator remembers at once.
#[test]
fn samples_are_not_lost_when_sites_displace_each_other() {
    macro_rules! at_many_columns {
        ($m:expr, $($value:expr)*) => { $( node(&mut $m.scope(), $value); )* };
    }
    for collector in BOTH {
        let heap = exact(collector);
        let mut m = heap.attach("main").unwrap();
        let line = line!() + 2;
        for _ in 0..700 {
            at_many_columns!(m, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24);
        }
        let at_line = |it: &AllocationSite| it.line == line || it.file.ends_with("edges.rs");
        let sites = heap.allocation_sites_of("Node");
        let samples: u64 = sites
            .iter()
            .filter(|it| at_line(it))
            .map(|it| it.samples)
            .sum();
        assert_eq!(samples, 700 * 24);
        m.collect();
        let sites = heap.allocation_sites_of("Node");
        assert_eq!(
            sites.iter().map(|it| it.settled_bytes).sum::<u64>(),
            700 * 24 * 24
        );
    }
}

/// Whoever asks while others allocate gets numbers that only grow, and in the end the right ones.
#[test]
fn sites_can_be_asked_for_while_threads_allocate() {
    for collector in BOTH {
        let heap = exact(collector);
        let done = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let workers = ["one", "two"].map(|name| {
                let heap = &heap;
                threads.spawn(move || {
                    let mut m = heap.attach(name).unwrap();
                    (0..60_000).for_each(|value| _ = node(&mut m.scope(), value));
                })
            });
            let (heap, done) = (&heap, &done);
            threads.spawn(move || {
                while !done.load(Relaxed) {
                    let sites = heap.allocation_sites_of("Node");
                    let samples: u64 = sites.iter().map(|it| it.samples).sum();
                    assert!(samples <= 120_000, "{samples}");
                    let mut profile = Vec::new();
                    heap.write_pprof(&mut profile).unwrap();
                    assert!(!heap.site_report(5).is_empty());
                }
            });
            workers.into_iter().for_each(|it| it.join().unwrap());
            done.store(true, Relaxed);
        });
        let sites = heap.allocation_sites_of("Node");
        assert_eq!(sites.iter().map(|it| it.samples).sum::<u64>(), 120_000);
    }
}

/// At each full collection, compares the samples that live with what lives, class by class.
struct Comparing(Arc<Mutex<Vec<String>>>);

impl Check for Comparing {
    fn needs(&mut self) -> Needs {
        Needs::summary()
    }

    fn conclude(&mut self, heap: &MarkedHeap<'_>, it: &Counted<'_>, _: &mut Found<'_>) {
        for (class, now) in it.summary.unwrap().classes() {
            let sites = heap.allocation_sites(class);
            let samples: u64 = sites.iter().map(|it| it.live_samples).sum();
            if samples != now.objects {
                let what = format!("{class:?}: {samples} samples of {now:?}");
                self.0.lock().unwrap().push(what);
            }
        }
    }
}

/// Samples are young, old from the beginning because their sites were chosen by chance, copied, moved together, weak, waiting for
/// finalizers – and all the time they are all objects.
#[test]
fn every_object_of_random_programs_is_a_sample_wherever_it_is_allocated() {
    for (threads, zeal, usual) in [(1, 0, 80), (3, 0, 30), (2, 4, 40)] {
        let wrong = Arc::new(Mutex::new(Vec::new()));
        let pretenured = Mutex::new(0);
        let result = TestRunner::new(config(usual)).run(&programs(140), |program| {
            let builder = builder(Collector::Generational).max_locals(4096).zeal(zeal);
            let builder = builder
                .sampling(Sampling::exact())
                .collector_threads(threads);
            let heap = builder
                .pretenuring(Pretenuring::LBS80.at_random())
                .build()
                .unwrap();
            let watch = heap.watch(Box::new(Comparing(wrong.clone())), None);
            let setting = Setting {
                collects_by_itself: true,
                exact_finalization: zeal > 0,
                shared: None,
            };
            run_attached(&heap, "main", setting, &program).check();
            drop(watch);
            *pretenured.lock().unwrap() += heap.stats().pretenuring.objects;
            let wrong = std::mem::take(&mut *wrong.lock().unwrap());
            assert!(wrong.is_empty(), "{}", wrong[0]);
            Ok(())
        });
        if let Err(error) = result {
            panic!("{error}");
        }
        assert!(*pretenured.lock().unwrap() > 20, "{pretenured:?}");
    }
}

/// The site is in the header, and a capture shows none of it; nor does capturing change it.
#[test]
fn captures_and_samples_do_not_see_each_other() {
    let write = |sampling: Option<Sampling>| {
        let builder = builder(Collector::Generational);
        let builder = match sampling {
            Some(sampling) => builder.sampling(sampling),
            None => builder,
        };
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let head = node(&mut m, 0);
        for value in 0..500 {
            let mut m = m.scope();
            let made = node(&mut m, value);
            m[made].next.set(m[head].next.get());
            m[head].next.set(Some(&m[made]));
        }
        let before = heap.allocation_sites_of("Node");
        let name = format!(
            "heaphound-sampled-{}-{}",
            std::process::id(),
            sampling.is_some()
        );
        let path = std::env::temp_dir().join(name);
        m.write_heap(&path, PlainData::All).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let after = heap.allocation_sites_of("Node");
        let samples = |sites: &[AllocationSite]| sites.iter().map(|it| it.samples).sum::<u64>();
        assert_eq!(samples(&before), samples(&after));
        m.collect();
        if sampling.is_some() {
            let sites = heap.allocation_sites_of("Node");
            assert_eq!(sites.iter().map(|it| it.live_samples).sum::<u64>(), 501);
        }
        bytes.len()
    };
    assert_eq!(write(None), write(Some(Sampling::exact())));
}
