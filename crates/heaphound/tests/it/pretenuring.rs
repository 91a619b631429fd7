//! Pretenuring: what lives long is allocated in the mature space, and nothing else changes.

use std::sync::{Arc, Mutex};

use heaphound::{
    AllocationSite, BackSampling, Collector, Header, Heap, HeapBuilder, Instance, Local, Managed,
    Mutator, Pretenuring, Sampling, Slot, stats::Kind, testing,
};
use heaphound_testkit::cases::config;
use heaphound_testkit::{Setting, programs, run_attached};
use proptest::test_runner::TestRunner;

fn builder() -> HeapBuilder {
    Heap::builder()
        .max_bytes(256 << 20)
        .nursery_bytes(256 << 10)
        .collector(Collector::Generational)
        .collector_threads(2)
}

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
    next: Slot<Node>,
    other: Slot<Node>,
}

#[track_caller]
fn node<'a>(m: &mut Mutator<'a>, value: u64) -> Local<'a, Node> {
    let (next, other) = (None, None);
    m.alloc(NodeInit { value, next, other }).unwrap()
}

fn at(heap: &Heap, line: u32) -> AllocationSite {
    let mut sites = heap.sites().into_iter();
    let found = sites.find(|it| it.line == line && it.file == file!());
    found.unwrap_or_else(|| panic!("no site at line {line}"))
}

fn copied_bytes(heap: &Heap) -> usize {
    let stats = heap.stats();
    let nursery = stats.history.iter().filter(|it| it.kind == Kind::Nursery);
    nursery.map(|it| it.marked_bytes).sum()
}

/// Builds a list of nodes that all live, with as many that die at once. Returns the line of those that live; the others are
/// four lines below.
fn grow(m: &mut Mutator<'_>, nodes: u64) -> u32 {
    let head = node(m, 0);
    let line = line!() + 3;
    for value in 0..nodes {
        let mut m = m.scope();
        let made = node(&mut m, value);
        m[made].next.set(m[head].next.get());
        m[head].next.set(Some(&m[made]));
        let mut m = m.scope();
        node(&mut m, value);
    }
    let mut at = m[head].next.get();
    for value in (0..nodes).rev() {
        let node = at.expect("all are there");
        assert_eq!(node.value, value);
        at = node.next.get();
    }
    assert!(at.is_none());
    line
}

#[test]
fn what_lives_is_allocated_where_it_stays_and_is_not_copied() {
    let nodes = 200_000;
    let plain = builder().build().unwrap();
    grow(&mut plain.attach("main").unwrap(), nodes);
    let copied = copied_bytes(&plain);
    for how in [Pretenuring::LBS80, Pretenuring::EBS80, Pretenuring::LBS85] {
        let heap = builder().pretenuring(how.governor(false)).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let line = grow(&mut m, nodes);
        let (lives, dies) = (at(&heap, line), at(&heap, line + 4));
        assert!(lives.pretenured_bytes > nodes * 24 / 10 * 6, "{lives:?}");
        assert_eq!(dies.pretenured_bytes, 0, "{dies:?}");
        let stats = heap.stats().pretenuring;
        assert_eq!(stats.bytes, stats.objects * 24);
        assert!(
            stats.decisions >= 1 && stats.confirmed >= 1 && stats.reversed == 0,
            "{stats:?}"
        );
        assert!(
            copied_bytes(&heap) < copied / 2,
            "{} and {copied}",
            copied_bytes(&heap)
        );
        m.collect();
        assert!(at(&heap, line).live_bytes > nodes * 24 / 10 * 9);
    }
}

#[test]
fn a_threshold_above_one_pretenures_nothing() {
    let heap = builder()
        .pretenuring(Pretenuring::LBS80.threshold(1.01))
        .build()
        .unwrap();
    grow(&mut heap.attach("main").unwrap(), 50_000);
    assert_eq!(heap.stats().pretenuring, Default::default());
}

#[test]
fn a_site_that_changes_goes_back_to_the_nursery() {
    let how = Pretenuring::LBS80.back(BackSampling::Constant, 0, 0);
    let heap = builder()
        .sampling(Sampling::every(1024))
        .pretenuring(how.governor(false))
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let kept = m.alloc_refs::<Node>(100_000).unwrap();
    let mut reversed_after = None;
    for round in 0..400_000 {
        let line = line!() + 2;
        let mut m = m.scope();
        let made = node(&mut m, round);
        // Lives in the first quarter, and then no longer.
        if round < 100_000 {
            m[kept][round as usize].set(Some(&m[made]));
        } else if reversed_after.is_none() {
            let site = at(&heap, line);
            if !site.is_pretenured {
                reversed_after = Some(round);
            }
        }
    }
    let stats = heap.stats().pretenuring;
    assert!(stats.objects > 30_000 && stats.reversed == 1, "{stats:?}");
    // It was to be looked at again after one phase, and then needs another: 8,192 nodes fill the nursery.
    let reversed_after = reversed_after.expect("it goes back");
    assert!(reversed_after < 100_000 + 3 * 8_192, "{reversed_after}");
}

/// It was to be looked at again after a thousand times as much; but a full collection sees that nothing of it lives any more.
#[test]
fn a_full_collection_that_finds_it_dead_has_a_site_looked_at_at_once() {
    let how = Pretenuring::LBS80.back(BackSampling::Constant, 10, 0);
    let heap = builder()
        .sampling(Sampling::every(1024))
        .pretenuring(how.governor(false))
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let kept = m.alloc_refs::<Node>(50_000).unwrap();
    let mut line = 0;
    for round in 0..200_000 {
        if round == 100_000 {
            m.collect();
        }
        let mut m = m.scope();
        line = line!() + 1;
        let made = node(&mut m, round);
        if round < 50_000 {
            m[kept][round as usize].set(Some(&m[made]));
        }
        if round == 99_999 {
            let stats = heap.stats().pretenuring;
            assert!(at(&heap, line).is_pretenured && stats.reversed == 0);
        }
    }
    let stats = heap.stats().pretenuring;
    assert_eq!((stats.decisions, stats.reversed), (1, 1), "{stats:?}");
    // What was left of the nursery, and then another: 8,192 nodes fill it.
    let site = at(&heap, line);
    assert!(
        site.pretenured_bytes < (100_000 + 2 * 8_192) * 24,
        "{site:?}"
    );
}

#[test]
fn the_governor_switches_off_what_does_not_pay() {
    // Nearly all of what the class allocates dies, at another line: its slow path costs more than is saved.
    let run = |governor: bool| {
        let heap = builder()
            .sampling(Sampling::every(32))
            .pretenuring(Pretenuring::LBS80.governor(governor))
            .build()
            .unwrap();
        let mut m = heap.attach("main").unwrap();
        let kept = m.alloc_refs::<Node>(10_000).unwrap();
        for round in 0..1_000_000 {
            let mut m = m.scope();
            if round % 200 == 0 {
                let made = node(&mut m, round);
                m[kept][(round / 200) as usize].set(Some(&m[made]));
            } else {
                node(&mut m, round);
            }
        }
        heap.stats().pretenuring
    };
    let (with, without) = (run(true), run(false));
    assert!(
        without.sites == 1 && without.switched_off == 0 && !without.is_off,
        "{without:?}"
    );
    assert!(
        with.sites == 0 && (with.switched_off > 0 || with.is_off || with.decisions == 0),
        "{with:?}"
    );
    assert!(with.bytes < without.bytes / 2);
}

#[test]
fn pretenured_objects_refer_to_young_ones_and_keep_them() {
    // Each new node refers to one that was just made in the nursery, from the beginning.
    let how = Pretenuring::LBS80.governor(false);
    let heap = builder().pretenuring(how).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let kept = m.alloc_refs::<Node>(100_000).unwrap();
    for round in 0..100_000_u64 {
        let mut m = m.scope();
        let young = node(&mut m, round ^ 1);
        let (next, other) = (Some(young), None);
        let made = m
            .alloc(NodeInit {
                value: round,
                next,
                other,
            })
            .unwrap();
        m[kept][round as usize].set(Some(&m[made]));
    }
    assert!(heap.stats().pretenuring.objects > 50_000);
    m.collect();
    for round in 0..100_000_u64 {
        let node = m[kept][round as usize].get().unwrap();
        assert_eq!(
            (node.value, node.next.get().unwrap().value),
            (round, round ^ 1)
        );
    }
}

#[test]
fn dynamic_instances_and_arrays_are_pretenured_too() {
    let heap = builder()
        .pretenuring(Pretenuring::LBS80.governor(false))
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    let class = heap
        .define_class("Cons")
        .slot("car")
        .slot("cdr")
        .define()
        .unwrap();
    let kept = m.alloc_refs::<Instance>(50_000).unwrap();
    for round in 0..50_000 {
        let mut m = m.scope();
        let made = m.alloc_instance(&class).unwrap();
        let list = m.alloc_refs::<Instance>(round % 300).unwrap();
        m[made][0].set(Some(m[list].as_object()));
        m[kept][round].set(Some(&m[made]));
    }
    for class in ["Cons", "Instance[]"] {
        let sites = heap.allocation_sites_of(class);
        assert!(
            sites.iter().any(|it| it.pretenured_bytes > 0),
            "{class}: {sites:?}"
        );
    }
    m.collect();
    for round in 0..50_000 {
        let made = m[kept][round].get().unwrap();
        let list = made[0].get().unwrap();
        assert_eq!(
            list.downcast::<heaphound::RefArray<Instance>>()
                .unwrap()
                .len(),
            round % 300
        );
    }
}

#[test]
fn random_programs_do_not_notice_decisions_at_random() {
    let pretenured = Arc::new(Mutex::new(0));
    for (threads, zeal, usual) in [(1, 0, 200), (4, 0, 100), (2, 3, 60), (1, 1, 30)] {
        let result = TestRunner::new(config(usual)).run(&programs(160), |program| {
            let builder = builder().nursery_bytes(64 << 10).max_bytes(64 << 20);
            let builder = builder
                .max_locals(4096)
                .zeal(zeal)
                .collector_threads(threads);
            let builder = builder.sampling(Sampling::every(64));
            let heap = builder
                .pretenuring(Pretenuring::LBS80.at_random())
                .build()
                .unwrap();
            let setting = Setting {
                collects_by_itself: true,
                exact_finalization: zeal > 0,
                shared: None,
            };
            run_attached(&heap, "main", setting, &program).check();
            *pretenured.lock().unwrap() += heap.stats().pretenuring.objects;
            Ok(())
        });
        if let Err(error) = result {
            panic!("{error}");
        }
    }
    assert!(*pretenured.lock().unwrap() > 500, "{pretenured:?}");
}

#[test]
fn threads_pretenure_side_by_side() {
    let heap = builder()
        .pretenuring(Pretenuring::LBS80.governor(false))
        .build()
        .unwrap();
    std::thread::scope(|threads| {
        for name in ["one", "two", "three"] {
            let heap = &heap;
            threads.spawn(move || grow(&mut heap.attach(name).unwrap(), 50_000));
        }
    });
    let stats = heap.stats().pretenuring;
    assert!(stats.objects > 50_000, "{stats:?}");
}

#[test]
fn assertions_see_pretenured_objects() {
    let heap = builder()
        .pretenuring(Pretenuring::LBS80.governor(false))
        .build()
        .unwrap();
    let mut m = heap.attach("main").unwrap();
    grow(&mut m, 100_000);
    assert!(heap.stats().pretenuring.sites > 0);
    testing::assert_no_leaks(&mut m, |m| {
        for value in 0..1000 {
            node(&mut m.scope(), value);
        }
    });
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |how: HeapBuilder| how.build().map(drop).unwrap_err().to_string();
    let plain = Heap::builder().collector(Collector::MarkSweep);
    assert!(refused(plain.pretenuring(Pretenuring::default())).contains("generational"));
    for (how, why) in [
        (Pretenuring::LBS80.threshold(0.0), "threshold"),
        (Pretenuring::LBS80.threshold(f64::NAN), "threshold"),
        (Pretenuring::LBS80.min_samples(0), "at least one sample"),
        (
            Pretenuring::LBS80.back(BackSampling::Linear, 17, 0),
            "16 at most",
        ),
    ] {
        assert!(refused(builder().pretenuring(how)).contains(why));
    }
}

#[test]
fn a_heap_that_is_full_of_holes_is_compacted_before_it_is_out_of_memory() {
    // What lives is three quarters of the heap. Each round leaves holes in other blocks: a quarter of them, which is not
    // worth moving anything, until there is no memory left.
    for how in [None, Some(Pretenuring::LBS80.governor(false))] {
        let mut builder = builder().max_bytes(24 << 20).initial_bytes(1 << 20);
        if let Some(how) = how {
            builder = builder.pretenuring(how);
        }
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let count = 500_000;
        let kept = m.alloc_refs::<Node>(count).unwrap();
        let mut random = 1_u32;
        for round in 0..2_000_000_u64 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let place = match round {
                first if first < count as u64 => first as usize,
                _ => (random >> 8) as usize % count,
            };
            let mut m = m.scope();
            let made = node(&mut m, round);
            m[kept][place].set(Some(&m[made]));
        }
        assert!(m[kept].iter().all(|it| it.get().is_some()));
    }
}
