//! A growing array of references.

use std::fmt;

use heaphound_gc::{
    ArrayName, Local, Managed, Mutator, OutOfMemory, RefArray, Reference, Slot, Var,
};

use super::grown;
use crate::managed;

/// A growing array of references, none of them null.
#[managed]
pub struct GcVec<T: Managed + ?Sized> {
    len: Var<usize>,
    items: Slot<Items<T>>,
}

type Items<T> = RefArray<T, ItemsName>;

/// What reports call the array of a vector's elements.
struct ItemsName;

impl ArrayName for ItemsName {
    fn name(element: &str) -> String {
        format!("GcVec<{element}>.items")
    }
}

impl<T: Managed + ?Sized> GcVec<T> {
    /// Allocates an empty vector.
    #[track_caller]
    pub fn new<'a>(m: &mut Mutator<'a>) -> Result<Local<'a, Self>, OutOfMemory> {
        m.alloc(GcVecInit {
            len: 0,
            items: None,
        })
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of elements that there is room for.
    pub fn capacity(&self) -> usize {
        self.items.get().map_or(0, |it| it.len())
    }

    /// The elements as slots. There may be fewer than `len` while another thread is growing the vector.
    #[inline]
    fn slots(&self) -> &[Slot<T>] {
        let items: &[Slot<T>] = self.items.get().map_or(&[], |it| it);
        &items[..self.len().min(items.len())]
    }

    /// The element with that index, if there is one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        self.slots().get(index)?.get()
    }

    /// The first element.
    pub fn first(&self) -> Option<&T> {
        self.get(0)
    }

    /// The last element.
    pub fn last(&self) -> Option<&T> {
        self.slots().last()?.get()
    }

    /// The elements in order.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.slots().iter().filter_map(Slot::get)
    }

    /// Replaces the element with that index.
    ///
    /// # Panics
    /// If there is no such element.
    #[track_caller]
    pub fn set<Up>(&self, index: usize, item: impl Reference<T, Up>) {
        self.slots()[index].set(Some(item));
    }

    /// Removes the last element and returns it.
    pub fn pop(&self) -> Option<&T> {
        let last = self.slots().last()?;
        let item = last.get();
        last.clear();
        self.len.set(self.len() - 1);
        item
    }

    /// Removes an element and returns it. Those behind it move up.
    ///
    /// # Panics
    /// If there is no such element.
    #[track_caller]
    pub fn remove(&self, index: usize) -> &T {
        let slots = self.slots();
        let item = slots[index].get();
        let items = self.items.get().expect("it has elements");
        items.copy_from(index, items, index + 1..slots.len());
        self.pop();
        item.expect("elements are not null")
    }

    /// Removes an element and returns it. The last one takes its place.
    ///
    /// # Panics
    /// If there is no such element.
    #[track_caller]
    pub fn swap_remove(&self, index: usize) -> &T {
        let slots = self.slots();
        let item = slots[index].get();
        slots[index].set(slots[slots.len() - 1].get());
        self.pop();
        item.expect("elements are not null")
    }

    /// Swaps two elements.
    ///
    /// # Panics
    /// If one of them is not there.
    #[track_caller]
    pub fn swap(&self, a: usize, b: usize) {
        let slots = self.slots();
        let (one, other) = (slots[a].get(), slots[b].get());
        slots[a].set(other);
        slots[b].set(one);
    }

    /// Keeps the elements for which `keep` returns true.
    pub fn retain(&self, mut keep: impl FnMut(&T) -> bool) {
        let slots = self.slots();
        let mut kept = 0;
        for slot in slots {
            if let Some(item) = slot.get()
                && keep(item)
            {
                slots[kept].set(item);
                kept += 1;
            }
        }
        // The closure may have removed elements itself.
        let kept = kept.min(self.len());
        slots[kept..].iter().for_each(Slot::clear);
        self.len.set(kept);
    }

    /// Removes all but the first `len` elements.
    pub fn truncate(&self, len: usize) {
        let slots = self.slots();
        if len < slots.len() {
            slots[len..].iter().for_each(Slot::clear);
            self.len.set(len);
        }
    }

    /// Removes all elements. The room for them stays.
    pub fn clear(&self) {
        self.truncate(0);
    }

    /// Sorts the elements; equal ones stay in their order.
    pub fn sort_by_key<K: Ord>(&self, mut key: impl FnMut(&T) -> K) {
        let mut sorted: Vec<&T> = self.iter().collect();
        sorted.sort_by_key(|it| key(it));
        let slots = self.slots();
        for (slot, item) in slots.iter().zip(sorted) {
            slot.set(item);
        }
    }

    /// Adds an element if there is room for it.
    #[inline]
    fn push_within(&self, item: &T) -> bool {
        let len = self.len();
        let slot = self.items.get().and_then(|it| it.get(len));
        if let Some(slot) = slot {
            slot.set(item);
            self.len.set(len + 1);
        }
        slot.is_some()
    }

    /// Moves the elements to an array that has room for more, unless it has too little: somebody may have added
    /// elements while it was allocated.
    fn move_to(&self, items: &Items<T>) {
        let len = self.slots().len();
        if len <= items.len() {
            if let Some(old) = self.items.get() {
                items.copy_from(0, old, 0..len);
            }
            self.items.set(items);
        }
    }
}

impl<T: Managed + ?Sized + fmt::Debug> fmt::Debug for GcVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.slots()).finish()
    }
}

/// What a vector needs a mutator for.
pub trait VecMut<T: Managed + ?Sized>: Copy {
    /// Adds an element behind the others.
    #[track_caller]
    fn push(self, m: &mut Mutator<'_>, item: impl Reference<T>) -> Result<(), OutOfMemory>;

    /// Inserts an element. Those from that index on move down.
    ///
    /// # Panics
    /// If the index is larger than the length.
    #[track_caller]
    fn insert(
        self,
        m: &mut Mutator<'_>,
        index: usize,
        item: impl Reference<T>,
    ) -> Result<(), OutOfMemory>;

    /// Makes room for more elements.
    #[track_caller]
    fn reserve(self, m: &mut Mutator<'_>, additional: usize) -> Result<(), OutOfMemory>;
}

impl<T: Managed + ?Sized> VecMut<T> for Local<'_, GcVec<T>> {
    #[inline]
    fn push(self, m: &mut Mutator<'_>, item: impl Reference<T>) -> Result<(), OutOfMemory> {
        while !m[self].push_within(item.object(m)) {
            self.reserve(m, 1)?;
        }
        Ok(())
    }

    fn insert(
        self,
        m: &mut Mutator<'_>,
        index: usize,
        item: impl Reference<T>,
    ) -> Result<(), OutOfMemory> {
        let len = m[self].len();
        assert!(
            index <= len,
            "index {index} is beyond the end of a vector of {len} elements"
        );
        self.push(m, item)?;
        let (vec, len) = (&m[self], m[self].slots().len());
        if let Some(items) = vec.items.get()
            && index < len
        {
            items.copy_from(index + 1, items, index..len - 1);
            items[index].set(item.object(m));
        }
        Ok(())
    }

    fn reserve(self, m: &mut Mutator<'_>, additional: usize) -> Result<(), OutOfMemory> {
        let needed = m[self].len().saturating_add(additional);
        while m[self].capacity() < needed {
            let mut m = m.scope();
            let items = m.alloc_refs_named(grown(m[self].capacity(), needed))?;
            m[self].move_to(&m[items]);
        }
        Ok(())
    }
}
