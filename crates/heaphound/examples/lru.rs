//! A cache that forgets what was used longest ago: a list with two directions, and a map beside it.
//!
//! Checks: nothing that was forgotten is still reachable, and a rule says that neighbours know each other.

use heaphound::collections::{GcHashMap, MapMut};
use heaphound::{Heap, Local, Mutator, OutOfMemory, Ref, Rules, Slot, Var, managed, testing};

#[managed]
struct Entry {
    key: u64,
    value: Var<u64>,
    older: Slot<Entry>,
    newer: Slot<Entry>,
}

/// The cache; it is filled by [`put`].
#[managed]
pub struct Cache {
    capacity: usize,
    oldest: Slot<Entry>,
    newest: Slot<Entry>,
    by_key: Ref<GcHashMap<u64, Entry>>,
}

impl Cache {
    /// Allocates an empty cache.
    pub fn new<'a>(m: &mut Mutator<'a>, capacity: usize) -> Result<Local<'a, Self>, OutOfMemory> {
        let by_key = GcHashMap::new(m)?;
        by_key.reserve(m, capacity)?;
        let (oldest, newest) = (None, None);
        m.alloc(CacheInit {
            capacity,
            oldest,
            newest,
            by_key,
        })
    }

    /// Returns the keys, from the one used longest ago.
    pub fn keys(&self) -> Vec<u64> {
        let entries = std::iter::successors(self.oldest.get(), |it| it.newer.get());
        entries.map(|it| it.key).collect()
    }

    /// Returns the value of a key, which is used by that.
    pub fn get(&self, key: u64) -> Option<u64> {
        let entry = self.by_key.get().get(&key)?;
        self.unlink(entry);
        self.link(entry);
        Some(entry.value.get())
    }

    /// Forgets a key. Returns its value.
    pub fn remove(&self, key: u64) -> Option<u64> {
        let entry = self.by_key.get().remove(&key)?;
        self.unlink(entry);
        Some(entry.value.get())
    }

    fn link(&self, entry: &Entry) {
        let newest = self.newest.get();
        entry.older.set(newest);
        newest.map_or(&self.oldest, |it| &it.newer).set(entry);
        self.newest.set(entry);
    }

    fn unlink(&self, entry: &Entry) {
        let (older, newer) = (entry.older.get(), entry.newer.get());
        older.map_or(&self.oldest, |it| &it.newer).set(newer);
        newer.map_or(&self.newest, |it| &it.older).set(older);
        entry.older.clear();
        entry.newer.clear();
    }
}

/// Sets the value of a key. If there are too many, the one that was used longest ago is forgotten.
pub fn put(
    m: &mut Mutator<'_>,
    cache: Local<'_, Cache>,
    key: u64,
    value: u64,
) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    m[cache].remove(key);
    let it = &m[cache];
    if let Some(oldest) = it.oldest.get()
        && it.by_key.get().len() == it.capacity
    {
        it.remove(oldest.key);
    }
    let by_key = m.local(it.by_key.get());
    let entry = m.alloc(EntryInit {
        key,
        value,
        older: None,
        newer: None,
    })?;
    by_key.insert(&mut m, key, entry)?;
    m[cache].link(&m[entry]);
    Ok(())
}

#[allow(dead_code)] // Not in the test.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let heap = Heap::builder().build()?;
    let mut m = heap.attach("main")?;
    let cache = Cache::new(&mut m, 3)?;
    testing::assert_no_leaks(&mut m, |m| {
        for key in 0..100 {
            put(m, cache, key, key * key).expect("room");
            m[cache].get(key / 2);
        }
        for key in 0..100 {
            m[cache].remove(key);
        }
    });
    for key in [1, 2, 3] {
        put(&mut m, cache, key, 10 * key)?;
    }
    assert_eq!(m[cache].get(1), Some(10));
    put(&mut m, cache, 4, 40)?;
    assert_eq!(m[cache].keys(), [3, 1, 4]);
    let neighbours = "
        assertion(forall Entry x: x.newer == null || x.newer.older == x);
        assertion(forall Entry x: x.older == null || x.older.newer == x);
    ";
    let findings = Rules::new(neighbours).check(&mut m)?;
    assert!(findings.is_empty(), "{findings:?}");
    println!(
        "1 was used after 2, which was forgotten: {:?}",
        m[cache].keys()
    );
    Ok(())
}
