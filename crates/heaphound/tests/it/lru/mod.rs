//! A list with two directions and a map beside it, as the guide's reader writes it, and as it is written with `Rc<RefCell>`:
//! both do the same, ours is shorter, and neither leaks.

mod counted;
#[allow(missing_docs)] // An example.
#[path = "../../../examples/lru.rs"]
mod managed;

use heaphound::{Collector, Heap, testing};
use proptest::prelude::*;

proptest! {
    #![proptest_config(heaphound_testkit::cases::config(48))]

    #[test]
    fn both_caches_keep_and_forget_the_same(
        capacity in 1..6usize,
        steps in prop::collection::vec((0..4u8, 0..8u64, any::<u64>()), 0..80),
    ) {
        for collector in [Collector::MarkSweep, Collector::Generational] {
            let heap = Heap::builder().max_bytes(16 << 20).zeal(1).collector(collector);
            let heap = heap.build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let cache = managed::Cache::new(&mut m, capacity).unwrap();
            let mut model = counted::Cache::new(capacity);
            for (step, key, value) in &steps {
                match step {
                    0 | 1 => {
                        managed::put(&mut m, cache, *key, *value).unwrap();
                        model.put(*key, *value);
                    }
                    2 => assert_eq!(m[cache].get(*key), model.get(*key)),
                    _ => assert_eq!(m[cache].remove(*key), model.remove(*key)),
                }
                assert_eq!(m[cache].keys(), model.keys());
            }
        }
    }
}

#[test]
fn what_the_cache_forgets_is_dead() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let cache = managed::Cache::new(&mut m, 10).unwrap();
    testing::assert_no_leaks(&mut m, |m| {
        for key in 0..100 {
            managed::put(m, cache, key, key).unwrap();
        }
        for key in 90..100 {
            assert_eq!(m[cache].remove(key), Some(key));
        }
    });
    // The cache itself goes, full and circular as it is.
    testing::assert_no_leaks(&mut m, |m| {
        let mut m = m.scope();
        let cache = managed::Cache::new(&mut m, 100_000).unwrap();
        for key in 0..100_000 {
            managed::put(&mut m, cache, key, key).unwrap();
        }
    });
}

/// Lines of code: what is formatted, without comments, the tests at its end and empty lines.
fn lines(code: &str) -> usize {
    let code = code
        .split("\n#[allow(dead_code)] // Not in the test.")
        .next();
    let lines = code.into_iter().flat_map(str::lines).map(str::trim);
    lines
        .filter(|it| !it.is_empty() && !it.starts_with("//"))
        .count()
}

#[test]
fn ours_is_shorter() {
    let ours = lines(include_str!("../../../examples/lru.rs"));
    let counted = lines(include_str!("counted.rs"));
    assert!(ours < counted, "{ours} lines of ours, {counted} with Rc");
}
