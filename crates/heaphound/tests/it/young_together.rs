//! Several threads that empty the nursery together, held against a model of what was allocated.

use std::collections::HashMap;

use heaphound::{
    Bytes, Collector, Heap, Managed, Mutator, RefArray, Root, Slot, WeakSlot, managed,
};
use heaphound_testkit::dice::Dice;

#[managed]
struct Thing {
    number: u64,
    left: Slot<Thing>,
    right: Slot<Thing>,
    many: Slot<RefArray<Thing>>,
    text: Slot<Bytes>,
    weak: WeakSlot<Thing>,
}

/// What is known of a thing: the numbers of those that it refers to.
#[derive(Default, Clone)]
struct Known {
    left: Option<usize>,
    right: Option<usize>,
    many: Vec<Option<usize>>,
    /// The thing that has this text of its own first, its length, and its hash.
    text: Option<(usize, usize, u32)>,
    weak: Option<usize>,
    hash: Option<u32>,
}

/// Bytes of a text that becomes a large object when it moves: its hash is put behind it.
const BECOMES_LARGE: usize = 8192 - 16;

/// Returns a heap in which four threads empty the nursery.
fn heap() -> Heap {
    Heap::builder()
        .collector(Collector::Generational)
        .max_bytes(256 << 20)
        .nursery_bytes(4 << 20)
        .collector_threads(4)
        .build()
        .unwrap()
}

/// Makes things that refer to each other at random, all of them young, and in a table that is old.
fn make_things(
    m: &mut Mutator<'_>,
    dice: &mut Dice,
    count: usize,
) -> (Root<RefArray<Thing>>, Vec<Known>) {
    let mut m = m.scope();
    let all = m.alloc_refs::<Thing>(count).unwrap();
    m.collect();
    let mut known: Vec<Known> = Vec::new();
    for number in 0..count {
        let mut m = m.scope();
        let mut it = Known::default();
        let thing = m
            .alloc(ThingInit {
                number: number as u64,
                left: None,
                right: None,
                many: None,
                text: None,
                weak: None,
            })
            .unwrap();
        m[all][number].set(Some(&m[thing]));
        let other = |dice: &mut Dice| match number {
            0 => None,
            // Many refer to the first few.
            _ if dice.below(4) == 0 => Some(dice.below(number.min(8))),
            _ if dice.below(8) == 0 => None,
            _ => Some(dice.below(number)),
        };
        it.left = other(dice);
        it.right = other(dice);
        it.weak = other(dice);
        if dice.below(16) == 0 {
            it.many = (0..dice.below(40)).map(|_| other(dice)).collect();
            let many = m.alloc_refs::<Thing>(it.many.len()).unwrap();
            for (place, to) in it.many.iter().enumerate() {
                m[many][place].set(to.map(|to| m[all][to].get().unwrap()));
            }
            m[thing].many.set(many);
        }
        let shared = known.iter().skip(number.saturating_sub(50));
        let text = shared.into_iter().find_map(|it| it.text);
        match (dice.below(64), text) {
            (0, _) => {
                let length = match dice.below(4) {
                    0 => BECOMES_LARGE,
                    _ => dice.below(200),
                };
                let text = m.alloc_bytes(&vec![number as u8; length]).unwrap();
                let hash = m[text].as_object().identity_hash();
                m[thing].text.set(text);
                it.text = Some((number, length, hash));
            }
            (1..32, Some(text)) => {
                let shared = m[all][text.0].get().unwrap().text.get().unwrap();
                m[thing].text.set(shared);
                it.text = Some(text);
            }
            _ => {}
        }
        for (slot, to) in [(&m[thing].left, it.left), (&m[thing].right, it.right)] {
            if let Some(to) = to {
                slot.set(m[all][to].get().unwrap());
            }
        }
        if let Some(to) = it.weak {
            m[thing].weak.set(m[all][to].get().unwrap());
        }
        if dice.below(8) == 0 {
            it.hash = Some(m[thing].as_object().identity_hash());
        }
        known.push(it);
    }
    // Only some keep the others alive.
    let kept = count - 200 - dice.below(count / 8);
    for number in 0..kept {
        m[all][number].clear();
    }
    (m.root(all), known)
}

/// Returns the numbers of what the things from `first` on keep alive.
fn reached(known: &[Known], first: usize) -> Vec<bool> {
    let mut is_reached = vec![false; known.len()];
    let mut stack: Vec<usize> = (first..known.len()).collect();
    while let Some(number) = stack.pop() {
        if std::mem::replace(&mut is_reached[number], true) {
            continue;
        }
        let it = &known[number];
        stack.extend(it.left);
        stack.extend(it.right);
        stack.extend(it.many.iter().flatten());
    }
    is_reached
}

/// Walks the things in the table, and compares all that they reach with what is known.
fn compare(all: &RefArray<Thing>, known: &[Known]) -> usize {
    let first = (0..known.len())
        .find(|&it| all[it].get().is_some())
        .unwrap();
    let is_reached = reached(known, first);
    let mut stack: Vec<&Thing> = (first..known.len())
        .filter_map(|it| all[it].get())
        .collect();
    let mut seen: HashMap<u64, *const Thing> = HashMap::new();
    let mut texts: HashMap<usize, *const Bytes> = HashMap::new();
    while let Some(thing) = stack.pop() {
        let it = &known[thing.number as usize];
        if let Some(before) = seen.insert(thing.number, thing) {
            assert!(
                std::ptr::eq(before, thing),
                "{} is there twice",
                thing.number
            );
            continue;
        }
        let number = |it: Option<&Thing>| it.map(|it| it.number as usize);
        assert_eq!(number(thing.left.get()), it.left);
        assert_eq!(number(thing.right.get()), it.right);
        let alive = it.weak.filter(|&it| is_reached[it]);
        assert_eq!(number(thing.weak.get()), alive);
        let many: Vec<&Slot<Thing>> = thing
            .many
            .get()
            .into_iter()
            .flat_map(|it| it.iter())
            .collect();
        assert_eq!(
            many.iter().map(|it| number(it.get())).collect::<Vec<_>>(),
            it.many
        );
        stack.extend(many.iter().filter_map(|it| it.get()));
        stack.extend(thing.left.get());
        stack.extend(thing.right.get());
        if let Some(hash) = it.hash {
            assert_eq!(thing.as_object().identity_hash(), hash);
        }
        let text = thing.text.get();
        assert_eq!(text.map(|it| it.len()), it.text.map(|it| it.1));
        if let (Some(text), Some((owner, _, hash))) = (text, it.text) {
            assert!(text.iter().all(|it| it.get() == owner as u8));
            assert_eq!(text.as_object().identity_hash(), hash);
            let same = *texts.entry(owner).or_insert(text);
            assert!(std::ptr::eq(same, text), "text {owner} is there twice");
        }
    }
    assert_eq!(seen.len(), is_reached.iter().filter(|&&it| it).count());
    seen.len()
}

#[test]
fn survivors_are_copied_once_whoever_finds_them() {
    for seed in 0..12 {
        let heap = heap();
        let mut m = heap.attach("main").unwrap();
        let mut dice = Dice(seed);
        let (all, known) = make_things(&mut m, &mut dice, 40_000);
        let before = heap.stats().nursery_collections;
        while heap.stats().nursery_collections == before {
            m.scope().alloc_bytes(&[0; 1000]).unwrap();
        }
        let count = compare(&m[&all], &known);
        assert!(count > 5_000, "{count}");
        m.collect();
        compare(&m[&all], &known);
    }
}

/// A list cannot be shared out, and a table whose objects all survive can at once.
#[test]
fn a_list_and_a_table_survive() {
    let heap = heap();
    let mut m = heap.attach("main").unwrap();
    let table = m.alloc_refs::<Thing>(30_000).unwrap();
    let list = m.alloc_refs::<Thing>(1).unwrap();
    for number in 0..60_000 {
        let mut m = m.scope();
        let before = m[list][0].get().map(|it| m.local(it));
        let place = number as usize / 2;
        let thing = m
            .alloc(ThingInit {
                number,
                left: before,
                right: None,
                many: None,
                text: None,
                weak: before,
            })
            .unwrap();
        match number % 2 {
            0 => m[list][0].set(Some(&m[thing])),
            _ => m[table][place].set(Some(&m[thing])),
        }
    }
    let mut next = m[list][0].get();
    let mut number = 60_000;
    while let Some(thing) = next {
        number -= 2;
        assert_eq!(thing.number, number);
        next = thing.left.get();
        assert_eq!(
            thing.weak.get().map(|it| it.number),
            next.map(|it| it.number)
        );
    }
    assert_eq!(number, 0);
    let numbers = m[table].iter().map(|it| it.get().unwrap().number);
    assert!(numbers.eq((0..60_000).filter(|it| it % 2 == 1)));
}
