//! A hash table from keys to references.
//!
//! Open addressing with linear probing: a place is taken if its value is not null. Removing moves the entries behind the
//! place up, so that there are no tombstones. Keys and values are arrays of their own, in one object, so that
//! a thread that reads while another grows the table sees one table or the other.

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

use heaphound_gc::{
    ArrayName, Local, Managed, Mutator, OutOfMemory, PlainArray, Ref, RefArray, Reference, Slot,
    Str, Var, type_name,
};

use crate::managed;

/// A hash map from keys to objects. Keys are plain data (`GcHashMap<u64, Order>`), texts
/// (`GcHashMap<Str, Order>`), or objects by identity (`GcHashMap<ByIdentity<Customer>, Order>`).
///
/// The order of its entries is the same in every run, for keys that are plain data or texts; whoever chooses
/// the keys can make it slow.
#[managed]
pub struct GcHashMap<K: Key + ?Sized, V: Managed + ?Sized> {
    len: Var<usize>,
    table: Slot<Table<K, V>>,
}

/// The entries; both arrays have the same length, a power of two.
#[managed(name = "GcHashMapTable")]
struct Table<K: Key + ?Sized, V: Managed + ?Sized> {
    keys: Ref<K::Array>,
    values: Ref<RefArray<V, ValuesName<K>>>,
}

/// What reports call the array of a map's values.
struct ValuesName<K: ?Sized>(PhantomData<fn(*const K)>);

impl<K: Key + ?Sized> ArrayName for ValuesName<K> {
    fn name(element: &str) -> String {
        format!("GcHashMap<{}, {element}>.values", type_name::<K>())
    }
}

/// What reports call the array of a map's keys, where they are objects.
#[doc(hidden)]
pub struct KeysName;

impl ArrayName for KeysName {
    fn name(element: &str) -> String {
        format!("GcHashMap<{element}, _>.keys")
    }
}

/// What the keys of a [`GcHashMap`] can be: plain integers, `char`, `bool`, [`Str`], [`ByIdentity`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the key of a `GcHashMap`",
    note = "integers, `bool` and `char` can, texts as `Str`, and objects by identity: `ByIdentity<Order>`"
)]
pub trait Key: Send + Sync + 'static {
    /// How keys are stored.
    #[doc(hidden)]
    type Array: Managed + ?Sized;
    /// What a key is looked up by.
    type Query: ?Sized;
    /// What a key is inserted as.
    type New<'s>: Copy;
    /// What a key is read as.
    type Stored<'m>;
    /// What a new key is while memory is allocated.
    #[doc(hidden)]
    type Held<'s>: Copy;

    #[doc(hidden)]
    fn alloc<'a>(m: &mut Mutator<'a>, len: usize) -> Result<Local<'a, Self::Array>, OutOfMemory>;
    #[doc(hidden)]
    fn hash(query: &Self::Query) -> u64;
    #[doc(hidden)]
    fn hash_at(keys: &Self::Array, place: usize) -> u64;
    #[doc(hidden)]
    fn is_at(keys: &Self::Array, place: usize, query: &Self::Query) -> bool;
    #[doc(hidden)]
    fn at(keys: &Self::Array, place: usize) -> Self::Stored<'_>;
    #[doc(hidden)]
    fn copy(to: &Self::Array, place: usize, from: &Self::Array, old: usize);
    /// Panics if the key cannot be read any more.
    #[doc(hidden)]
    fn touch(keys: &Self::Array, place: usize);
    /// So that a key that was removed is not kept alive.
    #[doc(hidden)]
    fn clear(keys: &Self::Array, place: usize);
    /// Calls `f` with what the new key would be looked up by.
    #[doc(hidden)]
    fn with_query<R>(new: &Self::New<'_>, m: &Mutator<'_>, f: impl FnOnce(&Self::Query) -> R) -> R;
    /// The new key, if it is ready without memory being allocated.
    #[doc(hidden)]
    fn ready(new: Self::New<'_>) -> Option<Self::Held<'_>>;
    #[doc(hidden)]
    fn hold<'a>(new: Self::New<'_>, m: &mut Mutator<'a>) -> Result<Self::Held<'a>, OutOfMemory>;
    #[doc(hidden)]
    fn store(keys: &Self::Array, place: usize, held: Self::Held<'_>, m: &Mutator<'_>);
}

/// The same in every run, so that what a program does can be repeated.
#[inline]
fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    foldhash::fast::FixedState::default().hash_one(value)
}

macro_rules! plain_keys {
    ($($type:ty),*) => {$(
        impl Key for $type {
            type Array = PlainArray<$type>;
            type Query = $type;
            type New<'s> = $type;
            type Stored<'m> = $type;
            type Held<'s> = $type;

            fn alloc<'a>(
                m: &mut Mutator<'a>,
                len: usize,
            ) -> Result<Local<'a, Self::Array>, OutOfMemory> {
                m.alloc_plain(len, Self::default())
            }
            #[inline]
            fn hash(query: &Self) -> u64 {
                hash(query)
            }
            #[inline]
            fn hash_at(keys: &Self::Array, place: usize) -> u64 {
                hash(&keys[place].get())
            }
            #[inline]
            fn is_at(keys: &Self::Array, place: usize, query: &Self) -> bool {
                keys[place].get() == *query
            }
            #[inline]
            fn at(keys: &Self::Array, place: usize) -> Self {
                keys[place].get()
            }
            #[inline]
            fn copy(to: &Self::Array, place: usize, from: &Self::Array, old: usize) {
                to[place].set(from[old].get());
            }
            fn touch(_: &Self::Array, _: usize) {}
            fn clear(_: &Self::Array, _: usize) {}
            #[inline]
            fn with_query<R>(new: &Self, _: &Mutator<'_>, f: impl FnOnce(&Self) -> R) -> R {
                f(new)
            }
            #[inline]
            fn ready(new: Self::New<'_>) -> Option<Self::Held<'_>> {
                Some(new)
            }
            #[inline]
            fn hold<'a>(new: Self, _: &mut Mutator<'a>) -> Result<Self, OutOfMemory> {
                Ok(new)
            }
            #[inline]
            fn store(keys: &Self::Array, place: usize, held: Self, _: &Mutator<'_>) {
                keys[place].set(held);
            }
        }
    )*};
}
plain_keys!(
    u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, bool, char
);

impl Key for Str {
    type Array = RefArray<Str, KeysName>;
    type Query = str;
    type New<'s> = &'s str;
    type Stored<'m> = &'m Str;
    type Held<'s> = Local<'s, Str>;

    fn alloc<'a>(m: &mut Mutator<'a>, len: usize) -> Result<Local<'a, Self::Array>, OutOfMemory> {
        m.alloc_refs_named(len)
    }
    fn hash(query: &str) -> u64 {
        hash(query)
    }
    fn hash_at(keys: &Self::Array, place: usize) -> u64 {
        hash(&**Self::at(keys, place))
    }
    fn is_at(keys: &Self::Array, place: usize, query: &str) -> bool {
        keys[place].get().is_some_and(|it| **it == *query)
    }
    fn at(keys: &Self::Array, place: usize) -> &Str {
        keys[place].get().expect("a value has a key")
    }
    fn copy(to: &Self::Array, place: usize, from: &Self::Array, old: usize) {
        to.copy_from(place, from, old..old + 1);
    }
    fn touch(keys: &Self::Array, place: usize) {
        keys[place].get();
    }
    fn clear(keys: &Self::Array, place: usize) {
        keys[place].clear();
    }
    fn with_query<R>(new: &&str, _: &Mutator<'_>, f: impl FnOnce(&str) -> R) -> R {
        f(new)
    }
    fn ready(_: Self::New<'_>) -> Option<Self::Held<'_>> {
        None
    }
    fn hold<'a>(new: &str, m: &mut Mutator<'a>) -> Result<Local<'a, Str>, OutOfMemory> {
        m.alloc_str(new)
    }
    fn store(keys: &Self::Array, place: usize, held: Local<'_, Str>, m: &Mutator<'_>) {
        keys[place].set(&m[held]);
    }
}

/// The keys of a [`GcHashMap`] are objects, each only equal to itself.
pub struct ByIdentity<T: ?Sized>(PhantomData<fn(*const T)>);

impl<T: Managed + ?Sized> Key for ByIdentity<T> {
    type Array = RefArray<T, KeysName>;
    type Query = T;
    type New<'s> = Local<'s, T>;
    type Stored<'m> = &'m T;
    type Held<'s> = Local<'s, T>;

    fn alloc<'a>(m: &mut Mutator<'a>, len: usize) -> Result<Local<'a, Self::Array>, OutOfMemory> {
        m.alloc_refs_named(len)
    }
    fn hash(query: &T) -> u64 {
        hash(&query.as_object().identity_hash())
    }
    fn hash_at(keys: &Self::Array, place: usize) -> u64 {
        Self::hash(Self::at(keys, place))
    }
    fn is_at(keys: &Self::Array, place: usize, query: &T) -> bool {
        keys[place].get().is_some_and(|it| it.ptr_eq(query))
    }
    fn at(keys: &Self::Array, place: usize) -> &T {
        keys[place].get().expect("a value has a key")
    }
    fn copy(to: &Self::Array, place: usize, from: &Self::Array, old: usize) {
        to.copy_from(place, from, old..old + 1);
    }
    fn touch(keys: &Self::Array, place: usize) {
        keys[place].get();
    }
    fn clear(keys: &Self::Array, place: usize) {
        keys[place].clear();
    }
    fn with_query<R>(new: &Local<'_, T>, m: &Mutator<'_>, f: impl FnOnce(&T) -> R) -> R {
        f(&m[*new])
    }
    fn ready(new: Self::New<'_>) -> Option<Self::Held<'_>> {
        Some(new)
    }
    fn hold<'a>(new: Local<'_, T>, m: &mut Mutator<'a>) -> Result<Local<'a, T>, OutOfMemory> {
        Ok(m.local(new))
    }
    fn store(keys: &Self::Array, place: usize, held: Local<'_, T>, m: &Mutator<'_>) {
        keys[place].set(&m[held]);
    }
}

impl<K: Key + ?Sized, V: Managed + ?Sized> Table<K, V> {
    /// Where a key is, or else the free place where the search for it ends.
    #[inline]
    fn look(&self, key: &K::Query) -> Result<usize, Option<usize>> {
        let (keys, values) = (self.keys.get(), self.values.get());
        let mask = values.len() - 1;
        let first = K::hash(key) as usize;
        // There is always a free place, unless threads have raced.
        for step in 0..values.len() {
            let place = first.wrapping_add(step) & mask;
            if values[place].is_null() {
                return Err(Some(place));
            }
            if K::is_at(keys, place, key) {
                return Ok(place);
            }
        }
        Err(None)
    }

    /// Where a key is.
    #[inline]
    fn find(&self, key: &K::Query) -> Option<usize> {
        self.look(key).ok()
    }

    /// The first free place for a hash.
    #[inline]
    fn free(&self, hash: u64) -> Option<usize> {
        let values = self.values.get();
        let mask = values.len() - 1;
        let places = (0..values.len()).map(|step| (hash as usize).wrapping_add(step) & mask);
        places.into_iter().find(|&place| values[place].is_null())
    }

    /// Moves an entry to a place.
    fn move_to(&self, place: usize, from: &Self, old: usize) {
        K::copy(self.keys.get(), place, from.keys.get(), old);
        let (to, from) = (self.values.get(), from.values.get());
        to.copy_from(place, from, old..old + 1);
    }

    /// Removes the entry in a place and moves those up that would not be found any more.
    fn remove(&self, mut free: usize) {
        let (keys, values) = (self.keys.get(), self.values.get());
        let mask = values.len() - 1;
        // A key that was invalidated panics, and must do so before anything is moved.
        let behind = (1..values.len()).map(|step| (free + step) & mask);
        for place in behind.take_while(|&place| !values[place].is_null()) {
            K::touch(keys, place);
        }
        let mut place = free;
        for _ in 0..values.len() {
            place = (place + 1) & mask;
            if values[place].is_null() {
                break;
            }
            let first = K::hash_at(keys, place) as usize & mask;
            let steps = |from: usize| place.wrapping_sub(from) & mask;
            if steps(first) >= steps(free) {
                self.move_to(free, self, place);
                free = place;
            }
        }
        values[free].clear();
        K::clear(keys, free);
    }

    fn taken(&self) -> impl Iterator<Item = usize> {
        let values = self.values.get();
        (0..values.len()).filter(|&place| !values[place].is_null())
    }
}

impl<K: Key + ?Sized, V: Managed + ?Sized> GcHashMap<K, V> {
    /// Allocates an empty map.
    #[track_caller]
    pub fn new<'a>(m: &mut Mutator<'a>) -> Result<Local<'a, Self>, OutOfMemory> {
        m.alloc(GcHashMapInit {
            len: 0,
            table: None,
        })
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// Whether there are no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &K::Query) -> Option<&V> {
        let table = self.table.get()?;
        table.values.get()[table.find(key)?].get()
    }

    /// Whether there is a value for a key.
    pub fn contains_key(&self, key: &K::Query) -> bool {
        self.table.get().is_some_and(|it| it.find(key).is_some())
    }

    /// Removes a key. Returns its value.
    pub fn remove(&self, key: &K::Query) -> Option<&V> {
        let table = self.table.get()?;
        let place = table.find(key)?;
        let value = table.values.get()[place].get();
        table.remove(place);
        self.len.set(self.len().saturating_sub(1));
        value
    }

    /// Removes all entries. The room for them stays.
    pub fn clear(&self) {
        if let Some(table) = self.table.get() {
            for place in table.taken() {
                table.values.get()[place].clear();
                K::clear(table.keys.get(), place);
            }
        }
        self.len.set(0);
    }

    /// The entries.
    pub fn iter(&self) -> impl Iterator<Item = (K::Stored<'_>, &V)> {
        let tables = self.table.get().into_iter();
        tables.flat_map(|table| {
            let entry = |place| {
                Some((
                    K::at(table.keys.get(), place),
                    table.values.get()[place].get()?,
                ))
            };
            table.taken().filter_map(entry)
        })
    }

    /// The keys.
    pub fn keys(&self) -> impl Iterator<Item = K::Stored<'_>> {
        self.iter().map(|it| it.0)
    }

    /// The values.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|it| it.1)
    }

    /// Puts an entry into a free place.
    #[inline]
    fn put(&self, table: &Table<K, V>, place: usize, key: K::Held<'_>, value: &V, m: &Mutator<'_>) {
        K::store(table.keys.get(), place, key, m);
        table.values.get()[place].set(value);
        self.len.set(self.len() + 1);
    }

    fn capacity(&self) -> usize {
        self.table.get().map_or(0, |it| it.values.get().len())
    }

    /// Whether that many entries fit: at least a quarter of all places is free.
    #[inline]
    fn fits(&self, entries: usize) -> bool {
        entries <= self.capacity() / 4 * 3
    }
}

impl<K: Key + ?Sized, V: Managed + ?Sized> fmt::Debug for GcHashMap<K, V>
where
    for<'m> K::Stored<'m>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.iter().map(|(key, value)| (key, value.as_object()));
        f.debug_map().entries(entries).finish()
    }
}

/// What a map needs a mutator for.
pub trait MapMut<K: Key + ?Sized, V: Managed + ?Sized>: Copy {
    /// Maps a key to a value. Returns whether the key is new; if not, its value was replaced.
    #[track_caller]
    fn insert(
        self,
        m: &mut Mutator<'_>,
        key: K::New<'_>,
        value: impl Reference<V>,
    ) -> Result<bool, OutOfMemory>;

    /// Makes room for more entries.
    #[track_caller]
    fn reserve(self, m: &mut Mutator<'_>, additional: usize) -> Result<(), OutOfMemory>;
}

impl<K: Key + ?Sized, V: Managed + ?Sized> MapMut<K, V> for Local<'_, GcHashMap<K, V>> {
    fn insert(
        self,
        m: &mut Mutator<'_>,
        key: K::New<'_>,
        value: impl Reference<V>,
    ) -> Result<bool, OutOfMemory> {
        // Most often there is room, and nothing to allocate.
        if let Some(table) = m[self].table.get() {
            match K::with_query(&key, m, |query| table.look(query)) {
                Ok(place) => {
                    table.values.get()[place].set(value.object(m));
                    return Ok(false);
                }
                Err(Some(place)) if m[self].fits(m[self].len() + 1) => {
                    if let Some(key) = K::ready(key) {
                        m[self].put(table, place, key, value.object(m), m);
                        return Ok(true);
                    }
                }
                Err(_) => {}
            }
        }
        let mut m = m.scope();
        let mut held = None;
        loop {
            // Whatever allocates may run finalizers, which may use the map: then it is looked at again.
            let map = &m[self];
            let table = map.table.get();
            let look = |query: &K::Query| table.map(|it| it.look(query));
            let place = match K::with_query(&key, &m, look) {
                Some(Ok(place)) => {
                    let table = table.expect("it was looked at");
                    table.values.get()[place].set(value.object(&m));
                    return Ok(false);
                }
                Some(Err(place)) => place,
                None => None,
            };
            if !map.fits(map.len() + 1) {
                self.reserve(&mut m, 1)?;
            } else if let (Some(key), Some(table)) = (held, table) {
                let Some(place) = place else {
                    // Threads have raced: there are more entries than were counted.
                    map.len.set(table.taken().count());
                    continue;
                };
                map.put(table, place, key, value.object(&m), &m);
                return Ok(true);
            } else {
                held = Some(K::hold(key, &mut m)?);
            }
        }
    }

    fn reserve(self, m: &mut Mutator<'_>, additional: usize) -> Result<(), OutOfMemory> {
        loop {
            let needed = m[self].len().saturating_add(additional);
            if m[self].fits(needed) {
                return Ok(());
            }
            let places = (needed.saturating_mul(2)).checked_next_power_of_two();
            let places = places.unwrap_or(usize::MAX).max(8);
            let mut m = m.scope();
            let keys = K::alloc(&mut m, places)?;
            let values = m.alloc_refs_named(places)?;
            let new = m.alloc(TableInit { keys, values })?;
            let (map, new) = (&m[self], &m[new]);
            let Some(old) = map.table.get() else {
                map.table.set(new);
                continue;
            };
            if old.taken().count() > places / 4 * 3 {
                continue;
            }
            let mut len = 0;
            for place in old.taken() {
                let hash = K::hash_at(old.keys.get(), place);
                let free = new.free(hash).expect("it was counted");
                new.move_to(free, old, place);
                len += 1;
            }
            map.table.set(new);
            map.len.set(len);
        }
    }
}
