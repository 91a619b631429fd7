//! Managed collections, held against those of the standard library, on every kind of heap.

use std::collections::{HashMap, VecDeque};

use heaphound::collections::{
    ByIdentity, DequeMut, GcDeque, GcHashMap, GcVec, InternMut, Interner, MapMut, StringBuilder,
    TextMut, VecMut,
};
use heaphound::{Collector, Heap, HeapBuilder, Local, Managed, Mutator, Str, managed};
use proptest::prelude::*;

#[managed]
struct Item {
    number: u64,
}

fn item<'a>(m: &mut Mutator<'a>, number: u64) -> Local<'a, Item> {
    m.alloc(ItemInit { number }).expect("room")
}

/// Heaps of both collectors, collected now and then at an allocation, or always.
fn builders() -> Vec<HeapBuilder> {
    let mut all = Vec::new();
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for zeal in [1, 7] {
            all.push(
                Heap::builder()
                    .max_bytes(64 << 20)
                    .collector(collector)
                    .zeal(zeal),
            );
        }
    }
    all
}

fn on_every_heap(f: impl Fn(&mut Mutator<'_>)) {
    for builder in builders() {
        let heap = builder.build().unwrap();
        f(&mut heap.attach("main").unwrap());
    }
}

fn cases() -> ProptestConfig {
    heaphound_testkit::cases::config(24)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_vector_is_a_vector(steps in prop::collection::vec((0..12u8, any::<prop::sample::Index>(), 0..1000u64), 0..60)) {
        on_every_heap(|m| {
            let vec = GcVec::new(m).unwrap();
            let mut model = Vec::new();
            for (step, index, number) in &steps {
                let mut m = m.scope();
                let at = |len: usize| index.index(len);
                match step {
                    0..=3 => {
                        let new = item(&mut m, *number);
                        vec.push(&mut m, new).unwrap();
                        model.push(*number);
                    }
                    4 => {
                        let new = item(&mut m, *number);
                        let at = at(model.len() + 1);
                        vec.insert(&mut m, at, new).unwrap();
                        model.insert(at, *number);
                    }
                    5 => assert_eq!(m[vec].pop().map(|it| it.number), model.pop()),
                    6 if !model.is_empty() => {
                        let at = at(model.len());
                        assert_eq!(m[vec].remove(at).number, model.remove(at));
                    }
                    7 if !model.is_empty() => {
                        let at = at(model.len());
                        assert_eq!(m[vec].swap_remove(at).number, model.swap_remove(at));
                    }
                    8 if !model.is_empty() => {
                        let new = item(&mut m, *number);
                        let at = at(model.len());
                        m[vec].set(at, new);
                        model[at] = *number;
                    }
                    9 => {
                        m[vec].retain(|it| it.number % 3 != 0);
                        model.retain(|it| it % 3 != 0);
                    }
                    10 => {
                        m[vec].sort_by_key(|it| it.number);
                        model.sort();
                    }
                    _ => {
                        let len = at(model.len() + 1).max(model.len() / 2);
                        m[vec].truncate(len);
                        model.truncate(len);
                    }
                }
                assert_eq!(m[vec].len(), model.len());
                assert!(m[vec].iter().map(|it| it.number).eq(model.iter().copied()));
                assert_eq!(m[vec].last().map(|it| it.number), model.last().copied());
            }
        });
    }

    #[test]
    fn a_queue_is_a_queue(steps in prop::collection::vec((0..6u8, 0..1000u64), 0..80)) {
        on_every_heap(|m| {
            let queue = GcDeque::new(m).unwrap();
            let mut model = VecDeque::new();
            for (step, number) in &steps {
                let mut m = m.scope();
                match step {
                    0 | 1 => {
                        let new = item(&mut m, *number);
                        queue.push_back(&mut m, new).unwrap();
                        model.push_back(*number);
                    }
                    2 | 3 => {
                        let new = item(&mut m, *number);
                        queue.push_front(&mut m, new).unwrap();
                        model.push_front(*number);
                    }
                    4 => assert_eq!(m[queue].pop_front().map(|it| it.number), model.pop_front()),
                    _ => assert_eq!(m[queue].pop_back().map(|it| it.number), model.pop_back()),
                }
                assert_eq!(m[queue].len(), model.len());
                assert!(m[queue].iter().map(|it| it.number).eq(model.iter().copied()));
                let middle = model.len() / 2;
                assert_eq!(m[queue].get(middle).map(|it| it.number), model.get(middle).copied());
            }
        });
    }

    #[test]
    fn a_map_is_a_map(steps in prop::collection::vec((0..8u8, 0..40u64, 0..1000u64), 0..120)) {
        on_every_heap(|m| {
            let by_number = GcHashMap::<u64, Item>::new(m).unwrap();
            let by_text = GcHashMap::<Str, Item>::new(m).unwrap();
            let mut model = HashMap::new();
            for (step, key, number) in &steps {
                let mut m = m.scope();
                let text = format!("key {key}");
                match step {
                    0..=4 => {
                        let new = item(&mut m, *number);
                        let is_new = model.insert(*key, *number).is_none();
                        assert_eq!(by_number.insert(&mut m, *key, new), Ok(is_new));
                        assert_eq!(by_text.insert(&mut m, &text, new), Ok(is_new));
                    }
                    5 | 6 => {
                        let old = model.remove(key);
                        assert_eq!(m[by_number].remove(key).map(|it| it.number), old);
                        assert_eq!(m[by_text].remove(&text).map(|it| it.number), old);
                    }
                    _ if *number < 50 => {
                        m[by_number].clear();
                        m[by_text].clear();
                        model.clear();
                    }
                    _ => {}
                }
                assert_eq!(m[by_number].len(), model.len());
                let mut entries: Vec<_> = m[by_number].iter().map(|(key, it)| (key, it.number)).collect();
                let mut expected: Vec<_> = model.iter().map(|(key, it)| (*key, *it)).collect();
                entries.sort();
                expected.sort();
                assert_eq!(entries, expected);
                for key in 0..40 {
                    let found = model.get(&key).copied();
                    assert_eq!(m[by_number].get(&key).map(|it| it.number), found);
                    assert_eq!(m[by_text].get(&format!("key {key}")).map(|it| it.number), found);
                }
            }
        });
    }
}

#[test]
fn a_map_by_identity_tells_equal_objects_apart() {
    on_every_heap(|m| {
        let map = GcHashMap::<ByIdentity<Item>, Item>::new(m).unwrap();
        let keys: Vec<_> = (0..50).map(|_| item(m, 7)).collect();
        for (number, key) in keys.iter().enumerate() {
            let mut m = m.scope();
            let value = item(&mut m, number as u64);
            assert_eq!(map.insert(&mut m, *key, value), Ok(true));
        }
        for (number, key) in keys.iter().enumerate() {
            assert_eq!(m[map].get(&m[*key]).unwrap().number, number as u64);
        }
        m[map].remove(&m[keys[3]]);
        assert!(!m[map].contains_key(&m[keys[3]]));
        assert!(m[map].contains_key(&m[keys[4]]));
    });
}

#[test]
fn what_was_removed_is_garbage() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let vec = GcVec::new(&mut m).unwrap();
    let queue = GcDeque::new(&mut m).unwrap();
    let map = GcHashMap::<ByIdentity<Item>, Item>::new(&mut m).unwrap();
    let weak: Vec<_> = (0..30)
        .map(|number| {
            let mut m = m.scope();
            let new = item(&mut m, number);
            vec.push(&mut m, new).unwrap();
            queue.push_back(&mut m, new).unwrap();
            map.insert(&mut m, new, new).unwrap();
            m.weak(new)
        })
        .collect();
    for i in 0..15 {
        m[map].remove(m[vec].get(i).unwrap());
        m[queue].pop_front();
    }
    m[vec].retain(|it| it.number >= 15);
    m.collect();
    let lives: Vec<bool> = weak.iter().map(|it| it.get(&m).is_some()).collect();
    assert_eq!(lives, (0..30).map(|it| it >= 15).collect::<Vec<_>>());
}

#[test]
fn interned_texts_are_one_object_while_they_are_used() {
    on_every_heap(|m| {
        let names = Interner::new(m).unwrap();
        let kept = names.intern(m, "kept").unwrap();
        for round in 0..3 {
            for number in 0..40 {
                let mut m = m.scope();
                let text = format!("name {number}");
                let one = names.intern(&mut m, &text).unwrap();
                let other = names.intern(&mut m, &text).unwrap();
                assert!(m[one].ptr_eq(&m[other]), "round {round}");
                assert_eq!(&m[one][..], text);
            }
        }
        let again = names.intern(m, "kept").unwrap();
        assert!(m[kept].ptr_eq(&m[again]));
        m.collect();
        assert_eq!(m[names].len(), 1);
        assert!(m[names].get("name 3").is_none());
    });
}

#[test]
fn text_is_put_together() {
    on_every_heap(|m| {
        let text = StringBuilder::new(m).unwrap();
        let mut model = String::new();
        for piece in [
            "",
            "a",
            "é",
            "日本",
            "a longer piece of text, so that it must grow",
        ] {
            for _ in 0..5 {
                text.push_str(m, piece).unwrap();
                model.push_str(piece);
            }
        }
        let done = text.finish(m).unwrap();
        assert_eq!(&m[done][..], model);
        assert_eq!(m[text].len(), model.len());
    });
}

/// A finalizer that runs while a map grows puts entries into the same map.
#[test]
fn finalizers_may_use_a_collection_that_is_growing() {
    let heap = Heap::builder().zeal(1).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let map = GcHashMap::<u64, Item>::new(&mut m).unwrap();
    let saved = m.static_root::<GcHashMap<u64, Item>>("map");
    saved.set(&m, map);
    for number in 0..200u64 {
        let mut m = m.scope();
        {
            let mut m = m.scope();
            let dying = item(&mut m, number);
            let saved = saved.clone();
            m.on_death(&m[dying], move |m, it| {
                let number = 1_000 + m[it].number;
                let map = m.local(saved.get(m).expect("it is there"));
                map.insert(m, number, it).expect("room");
            });
        }
        let new = item(&mut m, number);
        map.insert(&mut m, number, new).unwrap();
    }
    m.collect();
    m.collect();
    let map = &m[map];
    for number in 0..200 {
        assert_eq!(map.get(&number).map(|it| it.number), Some(number));
    }
    let late = (0..200)
        .filter(|it| map.get(&(1_000 + it)).is_some())
        .count();
    assert!(late >= 190, "{late}");
    assert_eq!(map.len(), 200 + late);
    assert_eq!(map.iter().count(), map.len());
}

#[test]
fn threads_that_race_lose_entries_and_nothing_else() {
    let heap = Heap::builder().max_bytes(64 << 20).build().unwrap();
    let (map, vec, queue) = {
        let mut m = heap.attach("main").unwrap();
        let map = GcHashMap::<u64, Item>::new(&mut m).unwrap();
        let vec = GcVec::<Item>::new(&mut m).unwrap();
        let queue = GcDeque::<Item>::new(&mut m).unwrap();
        (m.root(map), m.root(vec), m.root(queue))
    };
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let (heap, map, vec, queue) = (&heap, &map, &vec, &queue);
            scope.spawn(move || {
                let mut m = heap.attach(format!("worker {thread}")).unwrap();
                for round in 0..4_000 {
                    let mut m = m.scope();
                    let (map, vec, queue) = (m.local(map), m.local(vec), m.local(queue));
                    let new = item(&mut m, round);
                    map.insert(&mut m, round % 500 * 3 + thread, new).unwrap();
                    vec.push(&mut m, new).unwrap();
                    queue.push_back(&mut m, new).unwrap();
                    if round % 3 == 0 {
                        m[map].remove(&(round % 500 * 3));
                        m[vec].pop();
                        m[queue].pop_front();
                    }
                    assert!(m[vec].iter().all(|it| it.number < 4_000));
                    if round % 100 == 0 {
                        m.collect();
                    }
                }
            });
        }
    });
    let m = heap.attach("main").unwrap();
    assert!(m[&map].iter().all(|(_, it)| it.number < 4_000));
    assert!(m[&queue].iter().all(|it| it.number < 4_000));
}
