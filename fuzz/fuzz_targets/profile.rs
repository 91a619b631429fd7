//! Any text is a profile of shapes or a mistake; a profile that was read is written and read again as
//! the same, tested against a heap, and taught by it.
#![no_main]

use std::sync::LazyLock;

use heaphound_analysis::shape::{Measure, Profile, findings, measure_view_on};
use heaphound_snapshot::read_text;
use libfuzzer_sys::fuzz_target;

const HEAP: &str = "
    class Node { next ->, prev -> }
    class Tree { left ->, right ->, items -> }
    class Tree[] { [] -> }
    root static:list -> Node#1
    root static:tree -> Tree#1
    Node#1.next -> Node#2
    Node#2 { next -> Node#3, prev -> Node#1 }
    Node#3.prev -> Node#2
    Tree#1 { left -> Tree#2, right -> Tree#3, items -> Tree[]#1 }
    Tree[]#1 [ Tree#4, Tree#5 ]
";

static MEASURES: LazyLock<Vec<Measure>> = LazyLock::new(|| {
    let heap = read_text(HEAP.as_bytes(), "fuzz", &mut |_, _| {}).expect("it is right");
    measure_view_on(&heap, 1)
});

fuzz_target!(|text: &str| {
    let Ok(mut profile) = Profile::from_json(text) else {
        return;
    };
    let written = profile.to_json();
    let again = Profile::from_json(&written).expect("it was written so");
    assert_eq!(again, profile);
    drop(findings(&profile.test(&MEASURES), None));
    profile.learn(&MEASURES);
    let written = profile.to_json();
    assert_eq!(Profile::from_json(&written), Ok(profile));
});
