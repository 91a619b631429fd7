//! Programs that do not leak.

use heaphound::{Mutator, Ref, RefArray, Slot};

use super::{Each, ROUNDS, Record, Small, publish, record, rounds, write_and_forget};
use crate::programs::Random;
use crate::programs::queue::Queue;
use crate::programs::table::HashTable;

const fn bounded(
    name: &'static str,
    about: &'static str,
    run: fn(&mut Mutator<'_>, Each<'_>),
) -> Small {
    Small {
        name,
        about,
        blamed: &[],
        stops: false,
        run,
    }
}

/// All of them.
pub const BOUNDED: &[Small] = &[
    bounded("churn", "everything is forgotten soon", churn),
    bounded("full cache", "a cache at its capacity", full_cache),
    bounded("start", "what is loaded in the first rounds stays", start),
    bounded("sawtooth", "a cache is emptied every five rounds", sawtooth),
    bounded(
        "spike",
        "in one round, much is loaded at once, and stays",
        spike,
    ),
    bounded(
        "creep and spike",
        "a little more every round, and in one of them much",
        creep,
    ),
    bounded(
        "burst",
        "in one round, much is loaded, and forgotten in the next",
        burst,
    ),
    bounded("phases", "two kinds of work take turns", phases),
    bounded("resize", "a map doubles until it has all keys", resize),
    bounded("buffers", "two buffers are filled in turn", buffers),
    bounded("days", "busy days and quiet nights", days),
    bounded("jitter", "a queue is now longer, now shorter", jitter),
];

class!(Ring { items: Ref<RefArray<Record>> });
class!(Table { map: Ref<HashTable> });
class!(Row { number: u64 });

fn churn(m: &mut Mutator<'_>, each: Each<'_>) {
    rounds(m, each, |m, _| write_and_forget(m, 1_000));
}

/// A ring of `places` places that gets some records each round.
fn ring(m: &mut Mutator<'_>, each: Each<'_>, places: usize, records: impl Fn(u64) -> u64) {
    let mut m = m.scope();
    let items = m.alloc_refs::<Record>(places).expect("room");
    let ring = m.alloc(RingInit { items }).expect("room");
    publish(&m, "ring", ring);
    let mut next = 0;
    rounds(&mut m, each, |m, round| {
        for _ in 0..records(round) {
            let mut m = m.scope();
            let it = record(&mut m, next);
            m[items][next as usize % places].set(Some(&m[it]));
            next += 1;
        }
    });
}

fn full_cache(m: &mut Mutator<'_>, each: Each<'_>) {
    ring(m, each, 300, |_| 200);
}

/// A map that gets some records each round, and is made anew when `empties` says so.
fn map(
    m: &mut Mutator<'_>,
    each: Each<'_>,
    records: impl Fn(u64) -> u64,
    empties: impl Fn(u64) -> bool,
) {
    let mut m = m.scope();
    // No local holds the first map.
    let table = m.scoped(|m| {
        let map = HashTable::new(m);
        m.alloc(TableInit { map })
    });
    let table = table.expect("room");
    publish(&m, "table", table);
    let mut next = 0;
    rounds(&mut m, each, |m, round| {
        if empties(round) {
            let empty = HashTable::new(m);
            m[table].map.set(&m[empty]);
        }
        let map = m.local(m[table].map.get());
        for _ in 0..records(round) {
            let mut m = m.scope();
            let value = record(&mut m, next);
            HashTable::insert(&mut m, map, next, value);
            next += 1;
        }
    });
}

fn start(m: &mut Mutator<'_>, each: Each<'_>) {
    map(m, each, |round| if round < 4 { 200 } else { 0 }, |_| false);
}

fn sawtooth(m: &mut Mutator<'_>, each: Each<'_>) {
    map(m, each, |_| 100, |round| round % 5 == 4);
}

fn spike(m: &mut Mutator<'_>, each: Each<'_>) {
    let records = |round| match round {
        0 => 100,
        15 => 2_000,
        _ => 0,
    };
    map(m, each, records, |_| false);
}

fn creep(m: &mut Mutator<'_>, each: Each<'_>) {
    // Twenty bytes in a thousand, and then as much as all of it.
    let records = |round| match round {
        0 => 1_000,
        20 => 3_000,
        round if round > 20 => 0,
        _ => 1,
    };
    map(m, each, records, |_| false);
}

fn burst(m: &mut Mutator<'_>, each: Each<'_>) {
    let records = |round| match round {
        12 => 3_000,
        _ => 50,
    };
    map(m, each, records, |_| true);
}

fn phases(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let queue = Queue::new(&mut m);
    publish(&m, "queue", queue);
    rounds(&mut m, each, |m, round| {
        let wanted = if round / 4 % 2 == 0 { 400 } else { 100 };
        while m[queue].len() > wanted {
            m[queue].pop::<Record>();
        }
        while m[queue].len() < wanted {
            let mut m = m.scope();
            match round / 4 % 2 {
                0 => {
                    let it = record(&mut m, round);
                    Queue::push(&mut m, queue, it);
                }
                _ => {
                    let it = m.alloc(RowInit { number: round }).expect("room");
                    Queue::push(&mut m, queue, it);
                }
            }
        }
    });
}

fn resize(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let map = HashTable::new(&mut m);
    let table = m.alloc(TableInit { map }).expect("room");
    publish(&m, "table", table);
    let mut random = Random::new(7);
    rounds(&mut m, each, |m, _| {
        for _ in 0..400 {
            let mut m = m.scope();
            let key = random.below(600);
            if m[map].get::<Record>(key).is_none() {
                let value = record(&mut m, key);
                HashTable::insert(&mut m, map, key, value);
            }
        }
    });
}

class!(Screen { front: Slot<RefArray<Record>>, back: Slot<RefArray<Record>> });

fn buffers(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let init = ScreenInit {
        front: None,
        back: None,
    };
    let screen = m.alloc(init).expect("room");
    publish(&m, "screen", screen);
    let mut random = Random::new(11);
    rounds(&mut m, each, |m, round| {
        let count = 200 + random.index(40);
        let buffer = m.alloc_refs::<Record>(count).expect("room");
        for at in 0..count {
            let mut m = m.scope();
            let it = record(&mut m, round);
            m[buffer][at].set(Some(&m[it]));
        }
        match round % 2 {
            0 => m[screen].front.set(Some(&m[buffer])),
            _ => m[screen].back.set(Some(&m[buffer])),
        }
    });
}

/// A queue that has as many records after each round as `wanted` says.
fn line(m: &mut Mutator<'_>, each: Each<'_>, mut wanted: impl FnMut(u64) -> usize) {
    let mut m = m.scope();
    let queue = Queue::new(&mut m);
    publish(&m, "queue", queue);
    rounds(&mut m, each, |m, round| {
        let wanted = wanted(round);
        for _ in 0..wanted {
            let mut m = m.scope();
            let it = record(&mut m, round);
            Queue::push(&mut m, queue, it);
        }
        while m[queue].len() > wanted {
            m[queue].pop::<Record>();
        }
    });
}

fn days(m: &mut Mutator<'_>, each: Each<'_>) {
    let turn = std::f64::consts::TAU / ROUNDS as f64 * 3.0;
    line(m, each, |round| {
        (300.0 - 200.0 * (round as f64 * turn).cos()) as usize
    });
}

fn jitter(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut random = Random::new(13);
    line(m, each, |_| 300 + random.index(60));
}
