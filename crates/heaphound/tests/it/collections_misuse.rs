//! Attacks on the managed collections from safe code: what runs in the middle of a change, and what is left when it fails.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use heaphound::collections::{
    ByIdentity, DequeMut, GcDeque, GcHashMap, GcVec, InternMut, Interner, MapMut, StringBuilder,
    TextMut, ValueVec, ValuesMut, VecMut,
};
use heaphound::{Collector, Heap, Local, Managed, Mutator, Slot, Str, Value, managed, match_class};

#[managed]
#[derive(Debug)]
struct Item {
    number: u64,
    next: Slot<Item>,
}

fn item<'a>(m: &mut Mutator<'a>, number: u64) -> Local<'a, Item> {
    m.alloc(ItemInit { number, next: None }).expect("room")
}

fn on_both(f: impl Fn(&Heap)) {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let builder = Heap::builder().max_bytes(64 << 20).zeal(1);
        f(&builder.collector(collector).build().unwrap());
    }
}

/// Lets an object die whose finalizer then runs `f`, in the middle of what allocates next.
fn dies(m: &mut Mutator<'_>, f: impl Fn(&mut Mutator<'_>, u64) + Send + Sync + 'static) {
    let mut m = m.scope();
    let dying = item(&mut m, 1);
    m.on_death(&m[dying], move |m, it| f(m, m[it].number));
}

#[test]
fn finalizers_may_fill_a_queue_that_is_growing() {
    on_both(|heap| {
        let mut m = heap.attach("main").unwrap();
        let queue = GcDeque::<Item>::new(&mut m).unwrap();
        let saved = m.static_root::<GcDeque<Item>>("queue");
        saved.set(&m, queue);
        let mut late = 0;
        for number in 0..100 {
            let mut m = m.scope();
            let new = item(&mut m, number);
            let saved = saved.clone();
            // As many as a queue that has grown has room for.
            let room = m[queue].capacity().max(4);
            if m[queue].len() == m[queue].capacity() && late < 200 {
                late += room;
                dies(&mut m, move |m, _| {
                    let queue = m.local(saved.get(m).expect("it is there"));
                    for _ in 0..room {
                        let new = item(m, 1_000);
                        queue.push_back(m, new).expect("room");
                    }
                });
            }
            match number % 2 {
                0 => queue.push_back(&mut m, new).unwrap(),
                _ => queue.push_front(&mut m, new).unwrap(),
            }
        }
        m.collect();
        m.collect();
        let mut own: Vec<u64> = m[queue]
            .iter()
            .map(|it| it.number)
            .filter(|it| *it < 1_000)
            .collect();
        own.sort();
        assert_eq!(own, (0..100).collect::<Vec<_>>());
        assert_eq!(m[queue].iter().count(), m[queue].len());
    });
}

#[test]
fn finalizers_may_change_vectors_texts_and_interners_that_are_growing() {
    on_both(|heap| {
        let mut m = heap.attach("main").unwrap();
        let vec = GcVec::<Item>::new(&mut m).unwrap();
        let text = StringBuilder::new(&mut m).unwrap();
        let names = Interner::new(&mut m).unwrap();
        let (a, b, c) = (
            m.static_root::<GcVec<Item>>("vec"),
            m.static_root::<StringBuilder>("text"),
            m.static_root::<Interner>("names"),
        );
        a.set(&m, vec);
        b.set(&m, text);
        c.set(&m, names);
        let mut kept = Vec::new();
        for number in 0..60 {
            let (a, b, c) = (a.clone(), b.clone(), c.clone());
            dies(&mut m, move |m, _| {
                let mut m = m.scope();
                let vec = m.local(a.get(&m).expect("it is there"));
                let text = m.local(b.get(&m).expect("it is there"));
                let names = m.local(c.get(&m).expect("it is there"));
                match number % 3 {
                    0 => m[vec].truncate(number as usize / 4),
                    _ => {
                        let new = item(&mut m, 1_000);
                        vec.insert(&mut m, 0, new).expect("room");
                    }
                }
                text.push_str(&mut m, "-").expect("room");
                names
                    .intern(&mut m, &format!("name {}", number + 1))
                    .expect("room");
            });
            let new = item(&mut m, number);
            let at = m[vec].len() / 2;
            vec.insert(&mut m, at, new).unwrap();
            text.push_str(&mut m, "word ").unwrap();
            kept.push(names.intern(&mut m, &format!("name {number}")).unwrap());
            assert_eq!(m[vec].iter().count(), m[vec].len());
        }
        let text = m[text].to_text().replace('-', "");
        assert_eq!(text, "word ".repeat(60));
        for (number, kept) in kept.iter().enumerate() {
            let same = names.intern(&mut m, &format!("name {number}")).unwrap();
            assert!(m[same].ptr_eq(&m[*kept]));
        }
    });
}

#[test]
fn closures_may_change_the_vector_that_calls_them() {
    on_both(|heap| {
        let mut m = heap.attach("main").unwrap();
        let vec = GcVec::new(&mut m).unwrap();
        let weak: Vec<_> = (0..10)
            .map(|number| {
                let mut m = m.scope();
                let new = item(&mut m, number);
                vec.push(&mut m, new).unwrap();
                m.weak(new)
            })
            .collect();
        let it = &m[vec];
        let calls = Cell::new(0);
        it.retain(|_| {
            calls.set(calls.get() + 1);
            if calls.get() == 5 {
                it.clear();
            }
            true
        });
        assert_eq!((it.len(), it.iter().count()), (0, 0));
        // Nothing is hidden behind the end.
        m.collect();
        assert!(weak.iter().all(|it| it.get(&m).is_none()));
        for number in 0..10 {
            let mut m = m.scope();
            let new = item(&mut m, number);
            vec.push(&mut m, new).unwrap();
        }
        let it = &m[vec];
        it.sort_by_key(|item| {
            it.pop();
            std::cmp::Reverse(item.number)
        });
        it.sort_by_key(|item| {
            it.swap_remove(0);
            item.number
        });
        assert_eq!(it.iter().count(), it.len());
    });
}

#[test]
fn a_panic_in_a_closure_loses_nothing() {
    on_both(|heap| {
        let mut m = heap.attach("main").unwrap();
        let vec = GcVec::new(&mut m).unwrap();
        for number in 0..10 {
            let mut m = m.scope();
            let new = item(&mut m, number);
            vec.push(&mut m, new).unwrap();
        }
        let it = &m[vec];
        let sorted = catch_unwind(AssertUnwindSafe(|| {
            it.sort_by_key(|item| match item.number {
                4 => panic!("on purpose"),
                number => std::cmp::Reverse(number),
            })
        }));
        assert!(sorted.is_err());
        assert!(it.iter().map(|it| it.number).eq(0..10));
        let kept = catch_unwind(AssertUnwindSafe(|| {
            it.retain(|item| match item.number {
                6 => panic!("on purpose"),
                number => number % 2 == 1,
            })
        }));
        assert!(kept.is_err());
        // The length is as it was, and there is no null.
        assert_eq!((it.len(), it.iter().count()), (10, 10));
    });
}

#[test]
fn locals_of_another_heap_are_refused_and_nothing_changes() {
    let (one, other) = (
        Heap::builder().build().unwrap(),
        Heap::builder().build().unwrap(),
    );
    let (mut m, mut n) = (one.attach("m").unwrap(), other.attach("n").unwrap());
    let foreign = item(&mut n, 1);
    let vec = GcVec::<Item>::new(&mut m).unwrap();
    let queue = GcDeque::<Item>::new(&mut m).unwrap();
    let map = GcHashMap::<Str, Item>::new(&mut m).unwrap();
    let by_identity = GcHashMap::<ByIdentity<Item>, Item>::new(&mut m).unwrap();
    let own = item(&mut m, 2);
    let refused = |f: &mut dyn FnMut(&mut Mutator<'_>), m: &mut Mutator<'_>| {
        assert!(catch_unwind(AssertUnwindSafe(|| f(m))).is_err());
    };
    for _ in 0..20 {
        refused(&mut |m| vec.push(m, foreign).unwrap(), &mut m);
        refused(&mut |m| vec.insert(m, 0, foreign).unwrap(), &mut m);
        refused(&mut |m| queue.push_back(m, foreign).unwrap(), &mut m);
        refused(&mut |m| queue.push_front(m, foreign).unwrap(), &mut m);
        refused(&mut |m| drop(map.insert(m, "key", foreign)), &mut m);
        refused(&mut |m| drop(by_identity.insert(m, own, foreign)), &mut m);
        refused(&mut |m| drop(by_identity.insert(m, foreign, own)), &mut m);
        assert_eq!((m[vec].len(), m[queue].len()), (0, 0));
        assert_eq!((m[map].len(), m[by_identity].len()), (0, 0));
        assert!(m[map].get("key").is_none() && m[map].iter().next().is_none());
        assert!(m[by_identity].get(&n[foreign]).is_none());
    }
    map.insert(&mut m, "key", own).unwrap();
    assert_eq!(m[map].get("key").unwrap().number, 2);
}

/// The keys of a map may be invalidated. What must read one panics; nothing is lost or doubled by that.
#[test]
#[cfg(feature = "barrier")]
fn a_map_outlives_keys_that_were_invalidated() {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        let builder = Heap::builder().collector(collector).invalidation(true);
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let map = GcHashMap::<ByIdentity<Item>, Item>::new(&mut m).unwrap();
        let keys: Vec<_> = (0..11).map(|number| item(&mut m, number)).collect();
        for key in &keys {
            map.insert(&mut m, *key, *key).unwrap();
        }
        m.unique(keys[5]).unwrap();
        let before = m[map].len();
        for (_, key) in keys.iter().enumerate().filter(|it| it.0 != 5) {
            let removed = catch_unwind(AssertUnwindSafe(|| m[map].remove(&m[*key]).is_some()));
            // Either nothing happened or it is gone.
            if let Ok(gone) = removed {
                assert!(gone);
                let again = catch_unwind(AssertUnwindSafe(|| m[map].contains_key(&m[*key])));
                assert!(!matches!(again, Ok(true)));
            }
        }
        assert!(!m[map].is_empty() && m[map].len() <= before);
        m[map].clear();
        assert!(m[map].is_empty());
        for key in &keys {
            map.insert(&mut m, *key, *key).unwrap();
        }
        assert_eq!(m[map].iter().count(), 11);
    }
}

/// The same with vectors: what cannot be read can be removed by position.
#[test]
#[cfg(feature = "barrier")]
fn a_vector_outlives_elements_that_were_invalidated() {
    let heap = Heap::builder().invalidation(true).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let vec = GcVec::new(&mut m).unwrap();
    let items: Vec<_> = (0..6).map(|number| item(&mut m, number)).collect();
    for it in &items {
        vec.push(&mut m, *it).unwrap();
    }
    m.unique(items[2]).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| m[vec].iter().count())).is_err());
    // It grows as it is.
    for number in 6..40 {
        let mut m = m.scope();
        let new = item(&mut m, number);
        vec.push(&mut m, new).unwrap();
    }
    m[vec].set(2, items[3]);
    assert_eq!(m[vec].iter().count(), 40);
    assert!(!format!("{:?}", &m[vec]).is_empty());
}

#[test]
fn what_refers_to_itself_can_be_shown() {
    let heap = Heap::builder().zeal(1).build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let it = item(&mut m, 1);
    m[it].next.set(it);
    let shown = format!("{:?}", &m[it]);
    assert!(shown.ends_with("number: 1, next: Item#1 }"), "{shown}");
    let vec = GcVec::<GcVec<heaphound::Object>>::new(&mut m).unwrap();
    let inner = GcVec::<heaphound::Object>::new(&mut m).unwrap();
    vec.push(&mut m, inner).unwrap();
    let outer = vec.upcast(&m);
    inner.push(&mut m, outer).unwrap();
    let shown = format!("{:?} {:?}", &m[vec], &m[inner]);
    assert_eq!(shown, "[GcVec<Object>#2] [GcVec<GcVec<Object>>#3]");
    let map = GcHashMap::<u64, heaphound::Object>::new(&mut m).unwrap();
    let own = map.upcast(&m);
    map.insert(&mut m, 1, own).unwrap();
    assert_eq!(format!("{:?}", &m[map]), "{1: GcHashMap<u64, Object>#4}");
}

#[managed]
struct Animal {
    legs: u32,
}

#[managed]
struct Dog {
    #[managed(superclass)]
    animal: Animal,
}

#[managed]
struct Puppy {
    #[managed(superclass)]
    dog: Dog,
    age: u32,
}

#[test]
fn the_first_class_that_matches_is_chosen() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let dog = DogInit {
        animal: AnimalInit { legs: 4 },
    };
    let puppy = m.alloc(PuppyInit { dog, age: 1 }).unwrap();
    let narrow = match_class!(&m[puppy].dog.animal, {
        Puppy => |it| it.age,
        Dog => |it| it.animal.legs,
        _ => 0,
    });
    let wide = match_class!(&m[puppy].dog.animal, {
        Animal => |it| it.legs,
        Puppy => |it| it.age,
        _ => 0,
    });
    // Arms may leave the function, and the object is an expression that is evaluated once.
    let times = Cell::new(0);
    let once = (|| {
        let object = || {
            times.set(times.get() + 1);
            &m[puppy]
        };
        let stayed = match_class!(object(), {
            Str => |_| 7,
            Puppy => |it| return it.age + 10,
            _ => 0,
        });
        stayed + 100
    })();
    assert_eq!((narrow, wide, once, times.get()), (1, 4, 11, 1));
}

#[test]
fn threads_that_agree_on_a_lock_lose_nothing() {
    let heap = Heap::builder().max_bytes(64 << 20).build().unwrap();
    let lock = std::sync::Mutex::new(());
    let (map, vec) = {
        let mut m = heap.attach("main").unwrap();
        let map = GcHashMap::<u64, Item>::new(&mut m).unwrap();
        let vec = GcVec::<Item>::new(&mut m).unwrap();
        (m.root(map), m.root(vec))
    };
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let (heap, lock, map, vec) = (&heap, &lock, &map, &vec);
            scope.spawn(move || {
                let mut m = heap.attach(format!("worker {thread}")).unwrap();
                for round in 0..500 {
                    let mut m = m.scope();
                    let (map, vec) = (m.local(map), m.local(vec));
                    let new = item(&mut m, thread * 1_000 + round);
                    let _held = m.blocked(|| lock.lock().unwrap());
                    map.insert(&mut m, thread * 1_000 + round, new).unwrap();
                    vec.push(&mut m, new).unwrap();
                }
            });
        }
    });
    let m = heap.attach("main").unwrap();
    assert_eq!((m[&map].len(), m[&vec].len()), (1_500, 1_500));
    for number in (0..3).flat_map(|it| it * 1_000..it * 1_000 + 500) {
        assert_eq!(m[&map].get(&number).unwrap().number, number);
    }
}

/// More than any heap holds is an error, and leaves a collection as it was.
#[test]
fn room_for_too_much_is_refused() {
    on_both(|heap| {
        let mut m = heap.attach("main").unwrap();
        let vec = GcVec::new(&mut m).unwrap();
        let queue = GcDeque::new(&mut m).unwrap();
        let by_number = GcHashMap::<u64, Item>::new(&mut m).unwrap();
        let by_text = GcHashMap::<Str, Item>::new(&mut m).unwrap();
        let values = ValueVec::new(&mut m).unwrap();
        let it = item(&mut m, 1);
        vec.push(&mut m, it).unwrap();
        queue.push_front(&mut m, it).unwrap();
        by_number.insert(&mut m, 7, it).unwrap();
        by_text.insert(&mut m, "seven", it).unwrap();
        values.push(&mut m, it.into()).unwrap();
        for much in [1 << 28, 1 << 31, 1 << 40, usize::MAX / 2, usize::MAX] {
            assert!(vec.reserve(&mut m, much).is_err());
            assert!(queue.reserve(&mut m, much).is_err());
            assert!(by_number.reserve(&mut m, much).is_err());
            assert!(by_text.reserve(&mut m, much).is_err());
            assert!(values.reserve(&mut m, much).is_err());
        }
        m.collect();
        assert_eq!(m[vec].first().unwrap().number, 1);
        assert_eq!(m[queue].back().unwrap().number, 1);
        assert_eq!(m[by_number].get(&7).unwrap().number, 1);
        assert_eq!(m[by_text].get("seven").unwrap().number, 1);
        assert!(matches!(m[values].last(), Some(Value::Object(_))));
        assert_eq!((m[vec].len(), m[queue].len(), m[values].len()), (1, 1, 1));
        assert_eq!((m[by_number].len(), m[by_text].len()), (1, 1));
    });
}

/// What is removed or replaced under an iterator may be seen or not. What is seen is an element, and what is left is right.
#[test]
fn collections_may_change_under_their_iterators() {
    on_both(|heap| {
        let mut m = heap.attach("main").unwrap();
        let map = GcHashMap::<Str, Item>::new(&mut m).unwrap();
        let vec = GcVec::new(&mut m).unwrap();
        let queue = GcDeque::new(&mut m).unwrap();
        for number in 0..40 {
            let mut m = m.scope();
            let new = item(&mut m, number);
            map.insert(&mut m, &number.to_string(), new).unwrap();
            vec.push(&mut m, new).unwrap();
            queue.push_back(&mut m, new).unwrap();
        }
        let (map, vec, queue) = (&m[map], &m[vec], &m[queue]);
        for (key, it) in map.iter() {
            assert_eq!(**key, it.number.to_string());
            let other = (it.number * 7 + 3) % 40;
            let removed = map.remove(&other.to_string());
            assert!(removed.is_none_or(|it| it.number == other));
        }
        assert_eq!(map.iter().count(), map.len());
        for (key, it) in map.iter() {
            assert!(map.get(key).is_some_and(|same| same.ptr_eq(it)));
        }
        for it in vec.iter() {
            assert!(it.number < 40);
            vec.swap(0, vec.len() - 1);
            vec.truncate(vec.len() - 1);
        }
        assert_eq!(vec.iter().count(), vec.len());
        for it in queue.iter() {
            assert!(it.number < 40);
            queue.pop_front();
            queue.pop_back();
        }
        assert!(queue.is_empty() && queue.front().is_none());
        map.iter().for_each(|_| map.clear());
        assert!(map.is_empty() && map.iter().next().is_none());
    });
}
