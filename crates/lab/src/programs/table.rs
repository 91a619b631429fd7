//! A hash table from numbers to objects, with chains of entries in an array that doubles, as
//! Java's is.

use heaphound::{Header, Local, Managed, Mutator, Object, Ref, RefArray, Slot, Var};

/// The table.
#[derive(Managed)]
#[repr(C)]
pub(super) struct HashTable {
    header: Header,
    count: Var<u64>,
    entries: Ref<RefArray<Entry>>,
}

#[derive(Managed)]
#[managed(name = "HashTable$Entry")]
#[repr(C)]
struct Entry {
    header: Header,
    key: u64,
    value: Slot<Object>,
    next: Slot<Entry>,
}

/// Chains to begin with.
const CHAINS: usize = 16;

impl HashTable {
    /// Returns an empty table.
    pub(super) fn new<'a>(m: &mut Mutator<'a>) -> Local<'a, HashTable> {
        m.scoped(|m| {
            let entries = m.alloc_refs::<Entry>(CHAINS)?;
            m.alloc(HashTableInit { count: 0, entries })
        })
        .expect("room")
    }

    /// Returns how many keys there are.
    pub(super) fn len(&self) -> usize {
        self.count.get() as usize
    }

    /// Returns what a key leads to.
    pub(super) fn get<T: Managed>(&self, key: u64) -> Option<&T> {
        let mut entry = self.chain(key).get();
        while let Some(found) = entry {
            if found.key == key {
                return found.value.get()?.downcast();
            }
            entry = found.next.get();
        }
        None
    }

    /// Adds an object under a key that is not there yet.
    pub(super) fn insert<T: Managed + ?Sized>(
        m: &mut Mutator<'_>,
        table: Local<'_, HashTable>,
        key: u64,
        value: Local<'_, T>,
    ) {
        let mut m = m.scope();
        if m[table].len() * 4 >= m[table].entries.get().len() * 3 {
            Self::grow(&mut m, table);
        }
        let value = value.upcast(&m);
        let next = m[table].chain(key).get().map(|entry| m.local(entry));
        let entry = m.alloc(EntryInit {
            key,
            value: Some(value),
            next,
        });
        let entry = entry.expect("room");
        m[table].chain(key).set(Some(&m[entry]));
        m[table].count.set(m[table].count.get() + 1);
    }

    /// Removes a key. Returns whether it was there.
    pub(super) fn remove(&self, key: u64) -> bool {
        let mut slot = self.chain(key);
        while let Some(entry) = slot.get() {
            if entry.key == key {
                slot.set(entry.next.get());
                self.count.set(self.count.get() - 1);
                return true;
            }
            slot = &entry.next;
        }
        false
    }

    fn chain(&self, key: u64) -> &Slot<Entry> {
        let entries = self.entries.get();
        // The golden ratio spreads numbers that are close to one another.
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        &entries[hash as usize % entries.len()]
    }

    fn grow(m: &mut Mutator<'_>, table: Local<'_, HashTable>) {
        let old = m.local(m[table].entries.get());
        let more = m.alloc_refs::<Entry>(m[old].len() * 2).expect("room");
        m[table].entries.set(&m[more]);
        let table = &m[table];
        for chain in m[old].iter() {
            let mut entry = chain.get();
            while let Some(moved) = entry {
                entry = moved.next.get();
                let chain = table.chain(moved.key);
                moved.next.set(chain.get());
                chain.set(Some(moved));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use heaphound::Heap;

    use super::*;
    use crate::programs::Random;

    #[derive(Managed)]
    #[repr(C)]
    struct Item {
        header: Header,
        number: u64,
    }

    #[test]
    fn it_is_a_map() {
        let heap = Heap::builder().build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let table = HashTable::new(&mut m);
        let mut twin = BTreeMap::new();
        let mut random = Random::new(5);
        for step in 0..4_000 {
            let mut m = m.scope();
            let key = random.below(600);
            if twin.remove(&key).is_some() {
                assert!(m[table].remove(key));
            } else {
                assert!(!m[table].remove(key));
                let value = m.alloc(ItemInit { number: step }).unwrap();
                HashTable::insert(&mut m, table, key, value);
                twin.insert(key, step);
            }
            let other = random.below(600);
            let found = m[table].get::<Item>(other).map(|it| it.number);
            assert_eq!(found, twin.get(&other).copied());
            assert_eq!(m[table].len(), twin.len());
        }
    }
}
