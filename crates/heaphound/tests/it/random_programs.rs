//! Random programs do on every kind of heap what the model says.
//!
//! `HEAPHOUND_CASES` multiplies the number of programs; `HEAPHOUND_PROGRAM` names a
//! file to which each program is written before it runs, for failures that abort.

use heaphound::{Collector, Heap, HeapBuilder, Object};
use heaphound_testkit::cases::{cases, config};
use heaphound_testkit::{Program, Setting, programs, run, run_attached};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

fn heap(collector: Collector, threads: usize) -> HeapBuilder {
    Heap::builder()
        .max_bytes(64 << 20)
        .collector(collector)
        .collector_threads(threads)
        .max_locals(4096)
}

/// Runs programs on one kind of heap.
fn check(usual: u32, longest: usize, builder: HeapBuilder, setting: Setting) {
    let result = TestRunner::new(config(usual)).run(&programs(longest), |program| {
        run(builder.clone(), setting.clone(), &program);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

fn check_each(collector: Collector, zeal: u32, usual: u32, longest: usize) {
    for threads in [1, 2] {
        let setting = Setting {
            collects_by_itself: zeal > 0,
            exact_finalization: true,
            shared: None,
        };
        let builder = heap(collector, threads).zeal(zeal);
        check(usual, longest, builder, setting);
    }
}

#[test]
fn mark_sweep_does_what_the_model_says() {
    check_each(Collector::MarkSweep, 0, 400, 150);
}

#[test]
fn generational_does_what_the_model_says() {
    check_each(Collector::Generational, 0, 400, 150);
}

#[test]
fn mark_sweep_that_collects_at_every_allocation_does_what_the_model_says() {
    check_each(Collector::MarkSweep, 1, 200, 100);
}

#[test]
fn generational_that_collects_at_every_allocation_does_what_the_model_says() {
    check_each(Collector::Generational, 1, 200, 100);
}

#[test]
fn mark_sweep_that_collects_at_every_third_allocation_does_what_the_model_says() {
    check_each(Collector::MarkSweep, 3, 200, 100);
}

#[test]
fn generational_that_collects_at_every_third_allocation_does_what_the_model_says() {
    check_each(Collector::Generational, 3, 200, 100);
}

#[test]
fn a_small_nursery_does_what_the_model_says() {
    for threads in [1, 2] {
        let builder = heap(Collector::Generational, threads).nursery_bytes(64 << 10);
        let setting = Setting {
            collects_by_itself: true,
            ..Setting::default()
        };
        check(40, 1000, builder, setting);
    }
}

/// Runs several programs at once in one heap.
fn check_together(builder: HeapBuilder, together: &[Program]) {
    let heap = builder.build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let shared = m.alloc_refs::<Object>(64).unwrap();
    let setting = Setting {
        collects_by_itself: true,
        exact_finalization: false,
        shared: Some(m.root(&m[shared])),
    };
    let rests: Vec<_> = m.blocked(|| {
        std::thread::scope(|scope| {
            let threads: Vec<_> = together
                .iter()
                .enumerate()
                .map(|(i, program)| {
                    let (heap, setting) = (&heap, setting.clone());
                    let run = move || run_attached(heap, &format!("t{i}"), setting, program);
                    scope.spawn(run)
                })
                .collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        })
    });
    m.collect();
    m.collect();
    for rest in rests {
        rest.check();
    }
}

#[test]
fn threads_do_not_disturb_one_another() {
    let mut runner = TestRunner::new(config(1));
    for (collector, zeal) in [
        (Collector::MarkSweep, 0),
        (Collector::Generational, 0),
        (Collector::MarkSweep, 5),
        (Collector::Generational, 5),
    ] {
        for case in 0..cases(16) {
            let mut program = || {
                let tree = programs(150).new_tree(&mut runner);
                tree.expect("nothing is rejected").current()
            };
            let together: Vec<_> = (0..3).map(|_| program()).collect();
            let threads = 1 + case as usize % 2;
            let builder = heap(collector, threads)
                .zeal(zeal)
                .nursery_bytes(64 << 10)
                .initial_bytes(256 << 10);
            check_together(builder, &together);
        }
    }
}
