//! A cache with bounds: a hash table and a list in the order of use. Keys are asked for by their
//! popularity, which drifts; values differ in size, and the bound is in bytes.

use heaphound::{Bytes, Header, Local, Managed, Mutator, Ref, Slot, Var};

use super::{Each, Work};
use crate::programs::table::HashTable;
use crate::programs::{Outcome, Random};

#[derive(Managed)]
#[repr(C)]
struct Cache {
    header: Header,
    bytes: Var<u64>,
    table: Ref<HashTable>,
    newest: Slot<Cached>,
    oldest: Slot<Cached>,
}

#[derive(Managed)]
#[repr(C)]
struct Cached {
    header: Header,
    key: u64,
    value: Ref<Bytes>,
    newer: Slot<Cached>,
    older: Slot<Cached>,
}

/// The bound.
const BYTES: u64 = 120_000;
/// Keys that there are.
const KEYS: u64 = 4_000;
/// Requests of a round.
const REQUESTS: usize = 120;
/// The largest value.
const LARGEST: u64 = 600;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let mut outcome = Outcome::default();
    let mut random = Random::new(31);
    let table = HashTable::new(&mut m);
    let cache = m.alloc(CacheInit {
        bytes: 0,
        table,
        newest: None,
        oldest: None,
    });
    let cache = cache.expect("room");
    m.static_root::<Cache>("cache").set(&m, Some(&m[cache]));
    let (keys, limit) = (KEYS * work.scale as u64, BYTES * work.scale as u64);
    for round in 0..work.rounds as u64 {
        for _ in 0..REQUESTS * work.scale {
            let popular = random.skewed(keys).min(random.skewed(keys));
            let key = (popular + round * work.scale as u64) % keys;
            outcome.note(ask(&mut m.scope(), cache, key, limit));
        }
        each(&mut m);
    }
    outcome
}

/// Finds a value, or makes it.
fn ask(m: &mut Mutator<'_>, cache: Local<'_, Cache>, key: u64, limit: u64) -> u64 {
    if let Some(found) = m[cache].table.get().get::<Cached>(key) {
        m[cache].unlink(found);
        m[cache].link(found);
        return found.value.get().len() as u64;
    }
    let size = 16 + key.wrapping_mul(0x9e37_79b9) % LARGEST;
    let value = m.alloc_bytes(&vec![7; size as usize]).expect("room");
    let made = m.alloc(CachedInit {
        key,
        value,
        newer: None,
        older: None,
    });
    let made = made.expect("room");
    let table = m.local(m[cache].table.get());
    HashTable::insert(m, table, key, made);
    let cache = &m[cache];
    cache.link(&m[made]);
    cache.bytes.set(cache.bytes.get() + size);
    while cache.bytes.get() > limit {
        let oldest = cache.oldest.get().expect("bytes are of something");
        cache.unlink(oldest);
        table_remove(cache, oldest.key);
        cache
            .bytes
            .set(cache.bytes.get() - oldest.value.get().len() as u64);
    }
    size
}

fn table_remove(cache: &Cache, key: u64) {
    assert!(cache.table.get().remove(key), "what is listed is there");
}

impl Cache {
    fn link(&self, cached: &Cached) {
        let before = self.newest.get();
        cached.older.set(before);
        match before {
            Some(before) => before.newer.set(Some(cached)),
            None => self.oldest.set(Some(cached)),
        }
        self.newest.set(Some(cached));
    }

    fn unlink(&self, cached: &Cached) {
        let (newer, older) = (cached.newer.get(), cached.older.get());
        match newer {
            Some(newer) => newer.older.set(older),
            None => self.newest.set(older),
        }
        match older {
            Some(older) => older.newer.set(newer),
            None => self.oldest.set(newer),
        }
        cached.newer.clear();
        cached.older.clear();
    }
}
