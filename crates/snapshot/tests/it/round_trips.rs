//! Written and read back is the original, in both forms; and whatever a file has become,
//! reading it ends with a heap or an error.

use std::collections::HashSet;

use heaphound_heap::RootKind;
use heaphound_heap::snapshot::ObjectId;
use heaphound_heap::view::{HeapView, live_objects};
use heaphound_snapshot::{
    Format, Snapshot, read, read_binary, read_file, read_text, write_binary, write_file, write_text,
};
use heaphound_testkit::heaps::any::{heaps, told};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn text_of(heap: &Snapshot) -> Vec<u8> {
    let mut out = Vec::new();
    write_text(heap, &mut out, &mut |_, _| {}).unwrap();
    out
}

fn binary_of(heap: &Snapshot) -> Vec<u8> {
    let mut out = Vec::new();
    write_binary(heap, &mut out, &mut |_, _| {}).unwrap();
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_is_read_back(heap in heaps()) {
        let text = text_of(&heap);
        let again = match read_text(&text, "heap", &mut |_, _| {}) {
            Ok(again) => again,
            Err(errors) => panic!("{errors}\n{}", String::from_utf8_lossy(&text)),
        };
        prop_assert_eq!(told(&heap, false), told(&again, false), "{}", String::from_utf8_lossy(&text));
        prop_assert_eq!(text, text_of(&again));
    }

    #[test]
    fn binary_is_read_back(heap in heaps()) {
        let bytes = binary_of(&heap);
        let again = read_binary(&bytes, "heap", &mut |_, _| {}).unwrap();
        prop_assert_eq!(told(&heap, true), told(&again, true));
        prop_assert_eq!(bytes, binary_of(&again));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// What a snapshot says it retains is what the slow twin finds.
    #[test]
    fn a_snapshot_retains_what_lives(heap in heaps()) {
        let live: HashSet<ObjectId> = live_objects(&heap).into_iter().collect();
        let mut seen = HashSet::new();
        let mut stack = Vec::new();
        heap.for_each_root(|_, object| stack.push(object));
        let finalizers = heap.roots().iter().any(|it| it.0.kind == RootKind::Finalizer);
        while let Some(object) = stack.pop() {
            if seen.insert(object) {
                heap.for_each_strong_edge(object, |_, to| stack.push(to));
            }
        }
        // The twin takes what waits for its finalizer as a root, and its keys with it.
        if !finalizers {
            prop_assert_eq!(live, seen);
        }
    }
}

/// A file with some bytes changed, inserted, deleted, or repeated.
fn mutate(bytes: &mut Vec<u8>, random: &mut impl FnMut(usize) -> usize) {
    for _ in 0..1 + random(4) {
        let at = random(bytes.len() + 1);
        let end = (at + random(12)).min(bytes.len());
        match random(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.insert(at, random(256) as u8),
            3 => {
                let part = bytes[at..end].to_vec();
                let to = random(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            4 => {
                let odd = b"\"#[]{}(),->=.*:\\\n'/0919n@";
                let c = odd[random(odd.len())];
                bytes.insert(at, c);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random(8);
                }
            }
        }
    }
}

fn fuzz(cases: usize, write: fn(&Snapshot) -> Vec<u8>, read: impl Fn(Vec<u8>)) {
    let mut runner = TestRunner::deterministic();
    let mut seed = 88172645463325252u64;
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below.max(1) as u64) as usize
    };
    for _ in 0..cases / 40 {
        let heap = heaps().new_tree(&mut runner).unwrap().current();
        let bytes = write(&heap);
        for _ in 0..40 {
            let mut bytes = bytes.clone();
            mutate(&mut bytes, &mut random);
            read(bytes);
        }
    }
}

#[test]
fn broken_text_gives_a_heap_or_mistakes() {
    fuzz(8000, text_of, |bytes| {
        match read(&bytes, "heap", &mut |_, _| {}) {
            // What is read is a heap that can be written and read.
            Ok(heap) => {
                let again = read(&text_of(&heap), "heap", &mut |_, _| {}).unwrap();
                assert_eq!(told(&heap, false), told(&again, false));
            }
            Err(errors) => assert!(errors.to_string().starts_with("heap:")),
        }
    });
}

/// The checksum would catch nearly all; so it is put right.
fn mend(bytes: &mut Vec<u8>) {
    if let Err(error) = read_binary(bytes, "", &mut |_, _| {})
        && error.message.contains("checksum is wrong")
    {
        bytes.truncate(error.at);
        let sum = heaphound_snapshot::checksum(bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
    }
}

#[test]
fn broken_bytes_give_a_heap_or_an_error_with_a_place() {
    fuzz(8000, binary_of, |mut bytes| {
        mend(&mut bytes);
        match read_binary(&bytes, "heap", &mut |_, _| {}) {
            Ok(heap) => {
                let again = read_binary(&binary_of(&heap), "heap", &mut |_, _| {}).unwrap();
                assert_eq!(told(&heap, true), told(&again, true));
                // It can be asked anything.
                drop(text_of_any(&heap));
            }
            Err(error) => assert!(error.at <= bytes.len(), "{error}"),
        }
    });
}

/// Text cannot have two objects of one name, but writing it must end.
fn text_of_any(heap: &Snapshot) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    write_text(heap, &mut out, &mut |_, _| {}).ok()?;
    Some(out)
}

#[test]
fn files_are_written_whole_or_not_at_all() {
    let folder = std::env::temp_dir().join(format!("heaphound-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let heap = read(b"root main -> A#1\nA#1.x -> A#2", "", &mut |_, _| {}).unwrap();
    for name in ["a.heap", "a.txt", "a.hhs"] {
        let path = folder.join(name);
        let format = Format::from_path(&path).unwrap();
        assert_eq!(format == Format::Binary, name == "a.hhs");
        for _ in 0..2 {
            write_file(&path, &heap, format, &mut |_, _| {}).unwrap();
            let again = read_file(&path, &mut |_, _| {}).unwrap();
            assert_eq!(told(&heap, false), told(&again, false));
        }
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
    // Two objects of one name: text cannot say that, and leaves the file as it was.
    let twins = {
        use heaphound_heap::snapshot::SnapshotBuilder;
        let mut builder = SnapshotBuilder::default();
        let class = builder.add_class("A", None, &[]);
        for _ in 0..2 {
            builder.add_object(class, 8);
            builder.set_number(7);
        }
        builder.finish().unwrap()
    };
    let path = folder.join("a.heap");
    let error = write_file(&path, &twins, Format::Text, &mut |_, _| {}).unwrap_err();
    assert_eq!(error.to_string(), "two objects have the name A#7");
    assert_eq!(read_file(&path, &mut |_, _| {}).unwrap().len(), 2);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
    let missing = read_file(folder.join("none"), &mut |_, _| {}).unwrap_err();
    assert!(missing.to_string().contains("none: "), "{missing}");
    std::fs::remove_dir_all(&folder).unwrap();
}
