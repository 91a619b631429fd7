//! Maps whose keys are weak: an entry lives while its key does, and its value is
//! kept alive by the key alone, even if the value refers back to the key.
//!
//! Each entry is an ephemeron: a weak slot for the key and a slot for the value that
//! depends on it (see [`crate::raw::marking::weak`]). Entries hang in chains by the key's
//! identity hash.

use std::any::TypeId;
use std::mem::offset_of;

use heaphound_heap::FieldKind;

use crate::error::OutOfMemory;
use crate::raw::mutators::mutator::{Local, Mutator};
use crate::raw::objects::array::RefArray;
use crate::raw::objects::header::Header;
use crate::raw::objects::object::{
    Descriptor, Field, FieldDescriptor, Filler, Init, Managed, Shape,
};
use crate::raw::objects::plain::Var;
use crate::raw::objects::reference::extend_object;
use crate::raw::objects::slot::{DependentSlot, Slot, WeakSlot};

/// A map from objects to objects that keeps neither its keys alive nor, once the
/// key has died, the value.
///
/// Threads that change one map at once must agree on a lock; without one, entries
/// may be lost, or appear twice.
#[repr(C)]
pub struct WeakMap<K: Managed + ?Sized, V: Managed + ?Sized> {
    header: Header,
    /// Entries added since the last rehash, dead ones included.
    filled: Var<u32>,
    buckets: Slot<RefArray<Entry<K, V>>>,
}

#[repr(C)]
struct Entry<K: Managed + ?Sized, V: Managed + ?Sized> {
    header: Header,
    hash: Var<u32>,
    key: WeakSlot<K>,
    value: DependentSlot<V>,
    next: Slot<Entry<K, V>>,
}

const fn slot(name: &'static str, offset: usize, kind: FieldKind) -> FieldDescriptor {
    FieldDescriptor {
        name,
        offset,
        kind,
        count: 1,
        parts: None,
        type_name: || "",
    }
}

macro_rules! managed {
    ($type:ident, $name:literal, $fields:expr) => {
        // SAFETY: a `repr(C)` struct that begins with a header and that nobody outside
        // this module can make; its fields are listed as they are; nothing owned.
        unsafe impl<K: Managed + ?Sized, V: Managed + ?Sized> Managed for $type<K, V> {
            const DESCRIPTOR: &'static Descriptor = &Descriptor {
                name: || {
                    let (key, value) = (K::DESCRIPTOR.name, V::DESCRIPTOR.name);
                    format!(concat!($name, "<{}, {}>"), key(), value())
                },
                path: || {
                    let (key, value) = (K::DESCRIPTOR.path, V::DESCRIPTOR.path);
                    format!(concat!("heaphound::", $name, "<{}, {}>"), key(), value())
                },
                type_id: TypeId::of::<Self>,
                shape: Shape::Fixed(size_of::<Self>()),
                superclass: None,
                interfaces: &[],
                fields: $fields,
                caption: None,
                drop: None,
                number: || None,
            };

            #[inline]
            unsafe fn from_object<'m>(object: *const u8) -> &'m Self {
                // SAFETY: the caller's promise.
                unsafe { &*object.cast() }
            }
        }

        extend_object!([K: Managed + ?Sized, V: Managed + ?Sized,] $type<K, V>);
    };
}

managed!(
    WeakMap,
    "WeakMap",
    &[
        slot(
            "filled",
            offset_of!(Self, filled),
            <Var<u32> as Field>::KIND
        ),
        slot("buckets", offset_of!(Self, buckets), FieldKind::Opt),
    ]
);
managed!(
    Entry,
    "WeakMapEntry",
    &[
        slot("hash", offset_of!(Self, hash), <Var<u32> as Field>::KIND),
        slot("key", offset_of!(Self, key), FieldKind::Weak),
        slot("value", offset_of!(Self, value), FieldKind::Dependent),
        slot("next", offset_of!(Self, next), FieldKind::Opt),
    ]
);

struct MapInit<K: ?Sized, V: ?Sized>(std::marker::PhantomData<(Box<K>, Box<V>)>);

// SAFETY: the header comes first, slots come from the filler.
unsafe impl<K: Managed + ?Sized, V: Managed + ?Sized> Init for MapInit<K, V> {
    type Class = WeakMap<K, V>;

    fn build(self, header: Header, filler: &Filler<'_>) -> WeakMap<K, V> {
        WeakMap {
            header,
            filled: Var::fill(0, filler),
            buckets: Slot::fill(None, filler),
        }
    }
}

struct EntryInit<'s, K: ?Sized, V: ?Sized> {
    hash: u32,
    key: Option<Local<'s, K>>,
    value: Option<Local<'s, V>>,
}

// SAFETY: the header comes first, slots come from the filler.
unsafe impl<K: Managed + ?Sized, V: Managed + ?Sized> Init for EntryInit<'_, K, V> {
    type Class = Entry<K, V>;

    fn build(self, header: Header, filler: &Filler<'_>) -> Entry<K, V> {
        Entry {
            header,
            hash: Var::fill(self.hash, filler),
            key: WeakSlot::fill(self.key, filler),
            value: DependentSlot::fill(self.value, filler),
            next: Slot::fill(None, filler),
        }
    }
}

impl<K: Managed + ?Sized, V: Managed + ?Sized> WeakMap<K, V> {
    /// The value of a key.
    ///
    /// # Panics
    /// If the reference to the value was invalidated.
    #[track_caller]
    pub fn get(&self, key: &K) -> Option<&V> {
        self.entry(key)?.value.get()
    }

    /// Forgets a key. Returns whether it was there.
    pub fn remove(&self, key: &K) -> bool {
        match self.entry(key) {
            Some(entry) => {
                entry.value.set(None);
                entry.key.clear();
                true
            }
            None => false,
        }
    }

    /// Calls `f` with every key that lives and its value, in no particular order.
    ///
    /// # Panics
    /// If the reference to a value was invalidated.
    #[track_caller]
    pub fn for_each(&self, mut f: impl FnMut(&K, &V)) {
        for entry in self.entries() {
            if let (Some(key), Some(value)) = (entry.key.get(), entry.value.get()) {
                f(key, value);
            }
        }
    }

    /// How many keys live.
    ///
    /// # Panics
    /// If a key was pruned, in a heap that is [strict](crate::Pruning::strict) about it: nobody can tell whether it would live.
    #[track_caller]
    pub fn len(&self) -> usize {
        let used = self.entries().filter(|entry| entry.is_used());
        used.filter(|entry| entry.key.get().is_some()).count()
    }

    /// Whether no key lives.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All entries, the dead ones included.
    fn entries(&self) -> impl Iterator<Item = &Entry<K, V>> {
        let buckets = self.buckets.get().into_iter().flat_map(|it| it.iter());
        buckets.flat_map(|bucket| {
            std::iter::successors(bucket.get(), |entry: &&Entry<K, V>| entry.next.get())
        })
    }

    fn entry(&self, key: &K) -> Option<&Entry<K, V>> {
        let buckets = self.buckets.get()?;
        let hash = key.as_object().identity_hash();
        let mut next = buckets[hash as usize % buckets.len()].get();
        while let Some(entry) = next {
            if entry.hash.get() == hash && entry.is_of(key) {
                return Some(entry);
            }
            next = entry.next.get();
        }
        None
    }

    /// Whether another entry needs more buckets.
    fn is_full(&self) -> bool {
        let capacity = self.buckets.get().map_or(0, |buckets| buckets.len());
        self.filled.get() as usize >= capacity
    }

    /// Hangs an entry into its chain.
    fn add(&self, entry: &Entry<K, V>) {
        let buckets = self.buckets.get().expect("grown before");
        let bucket = &buckets[entry.hash.get() as usize % buckets.len()];
        entry.next.set(bucket.get());
        bucket.set(Some(entry));
    }
}

impl<K: Managed + ?Sized, V: Managed + ?Sized> Entry<K, V> {
    /// Whether the entry is a key's.
    ///
    /// # Panics
    /// If nobody can tell, because both were pruned, and a finalizer has led to the key.
    #[track_caller]
    fn is_of(&self, key: &K) -> bool {
        match self.key.try_get() {
            Ok(own) => own.is_some_and(|own| std::ptr::addr_eq(own, key)),
            Err(_) if key.as_object().header().flags().is_tainted() => self.key.get().is_some(),
            // A key that was pruned is nobody's any more, and so not this one.
            Err(_) => false,
        }
    }

    /// Whether the key lives, or was pruned. Neither is read: they may be invalid.
    fn is_used(&self) -> bool {
        !self.key.is_null() && !self.value.is_null()
    }
}

impl<'a> Mutator<'a> {
    /// Allocates an empty weak-keyed map.
    #[track_caller]
    pub fn alloc_weak_map<K: Managed + ?Sized, V: Managed + ?Sized>(
        &mut self,
    ) -> Result<Local<'a, WeakMap<K, V>>, OutOfMemory> {
        self.alloc(MapInit(std::marker::PhantomData))
    }

    /// Maps a key to a value, instead of what it was mapped to.
    #[track_caller]
    pub fn weak_map_insert<K: Managed + ?Sized, V: Managed + ?Sized>(
        &mut self,
        map: Local<'_, WeakMap<K, V>>,
        key: Local<'_, K>,
        value: Local<'_, V>,
    ) -> Result<(), OutOfMemory> {
        loop {
            let mut m = self.scope();
            if let Some(entry) = m[map].entry(&m[key]) {
                entry.value.set(Some(&m[value]));
                return Ok(());
            }
            if m[map].is_full() {
                m.rehash(map)?;
                continue;
            }
            let hash = m[key].as_object().identity_hash();
            let entry = m.alloc(EntryInit {
                hash,
                key: Some(key),
                value: Some(value),
            })?;
            // A finalizer or another thread may have invalidated it meanwhile: then nothing is
            // inserted. Or used the map: then it is looked at again.
            let _ = &m[key];
            if !m[map].is_full() && m[map].entry(&m[key]).is_none() {
                m[map].add(&m[entry]);
                m[map].filled.update(|filled| filled + 1);
                return Ok(());
            }
        }
    }

    /// Gives the map room for twice its live entries and leaves the dead ones out. The
    /// entries are made anew: no chain that somebody may be following ever changes
    /// but at its front.
    ///
    /// All memory is allocated first, for finalizers that run then may use the map. If they have put so
    /// much into it that the memory does not do, it stays as it is, and whoever wants room asks
    /// again.
    #[track_caller]
    fn rehash<K: Managed + ?Sized, V: Managed + ?Sized>(
        &mut self,
        map: Local<'_, WeakMap<K, V>>,
    ) -> Result<(), OutOfMemory> {
        let mut m = self.scope();
        let live = m[map].entries().filter(|entry| entry.is_used()).count();
        let capacity = (live * 2).max(8);
        let new = m.alloc_refs::<Entry<K, V>>(capacity)?;
        // Blank entries, hung into the last bucket until they are used.
        for _ in 0..live {
            let mut m = m.scope();
            let blank = m.alloc(EntryInit {
                hash: 0,
                key: None,
                value: None,
            })?;
            m[blank].next.set(m[new][capacity - 1].get());
            m[new][capacity - 1].set(Some(&m[blank]));
        }
        // From here on nothing is allocated.
        let new = &m[new];
        let mut blank = new[capacity - 1].get();
        new[capacity - 1].clear();
        let mut filled = 0;
        for entry in m[map].entries() {
            if !entry.is_used() {
                continue;
            }
            let Some(copy) = blank else {
                return Ok(());
            };
            blank = copy.next.get();
            let hash = entry.hash.get();
            copy.hash.set(hash);
            copy.key.copy(&entry.key);
            copy.value.copy(&entry.value);
            let front = &new[hash as usize % capacity];
            copy.next.set(front.get());
            front.set(Some(copy));
            filled += 1;
        }
        m[map].buckets.set(Some(new));
        m[map].filled.set(filled);
        Ok(())
    }
}
