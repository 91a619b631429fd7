//! A queue of references with two ends: a ring in an array.

use std::fmt;
use std::ops::Range;

use heaphound_gc::{
    ArrayName, Local, Managed, Mutator, OutOfMemory, RefArray, Reference, Slot, Var,
};

use super::grown;
use crate::managed;

/// A queue of references with two ends.
#[managed]
pub struct GcDeque<T: Managed + ?Sized> {
    /// Where the first element is in the ring.
    first: Var<usize>,
    len: Var<usize>,
    items: Slot<Items<T>>,
}

type Items<T> = RefArray<T, ItemsName>;

/// What reports call the array of a queue's elements.
struct ItemsName;

impl ArrayName for ItemsName {
    fn name(element: &str) -> String {
        format!("GcDeque<{element}>.items")
    }
}

impl<T: Managed + ?Sized> GcDeque<T> {
    /// Allocates an empty queue.
    #[track_caller]
    pub fn new<'a>(m: &mut Mutator<'a>) -> Result<Local<'a, Self>, OutOfMemory> {
        m.alloc(GcDequeInit {
            first: 0,
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

    /// The slot of the element with that index, be it there or not.
    #[inline]
    fn slot(&self, index: usize) -> Option<&Slot<T>> {
        let items = self.items.get().filter(|it| !it.is_empty())?;
        let place = self.first.get() + index;
        items.get(match place < items.len() {
            true => place,
            false => place - items.len(),
        })
    }

    /// The element with that index, counted from the front, if there is one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        match index < self.len() {
            true => self.slot(index)?.get(),
            false => None,
        }
    }

    /// The first element.
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// The last element.
    pub fn back(&self) -> Option<&T> {
        self.get(self.len().wrapping_sub(1))
    }

    /// The elements, from the front to the back.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        let items: &[Slot<T>] = self.items.get().map_or(&[], |it| it);
        let (ahead, behind) = self.parts();
        let slots = items[ahead].iter().chain(&items[behind]);
        slots.filter_map(Slot::get)
    }

    /// Removes the first element and returns it.
    pub fn pop_front(&self) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        let slot = self.slot(0)?;
        let item = slot.get();
        slot.clear();
        let next = self.first.get() + 1;
        self.first.set(match next < self.capacity() {
            true => next,
            false => 0,
        });
        self.len.set(self.len() - 1);
        item
    }

    /// Removes the last element and returns it.
    pub fn pop_back(&self) -> Option<&T> {
        let last = self.len().checked_sub(1)?;
        let slot = self.slot(last)?;
        let item = slot.get();
        slot.clear();
        self.len.set(last);
        item
    }

    /// Removes all elements. The room for them stays.
    pub fn clear(&self) {
        while self.pop_back().is_some() {}
    }

    /// Moves the elements to an array that has room for more, unless it has too little: somebody may have added
    /// elements while it was allocated.
    fn move_to(&self, items: &Items<T>) {
        let (ahead, behind) = self.parts();
        let len = ahead.len() + behind.len();
        if len <= items.len() {
            if let Some(old) = self.items.get() {
                items.copy_from(0, old, ahead.clone());
                items.copy_from(ahead.len(), old, behind);
            }
            self.items.set(items);
            self.first.set(0);
            self.len.set(len);
        }
    }

    /// Where the elements are in the ring: from the first to its end, and from its beginning on.
    fn parts(&self) -> (Range<usize>, Range<usize>) {
        let (capacity, len) = (self.capacity(), self.len());
        let first = self.first.get().min(capacity);
        let ahead = len.min(capacity - first);
        let behind = (len - ahead).min(first);
        (first..first + ahead, 0..behind)
    }
}

impl<T: Managed + ?Sized> fmt::Debug for GcDeque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = self.iter().map(Managed::as_object);
        f.debug_list().entries(objects).finish()
    }
}

/// What a queue needs a mutator for.
pub trait DequeMut<T: Managed + ?Sized>: Copy {
    /// Adds an element in front of the others.
    #[track_caller]
    fn push_front(self, m: &mut Mutator<'_>, item: impl Reference<T>) -> Result<(), OutOfMemory>;

    /// Adds an element behind the others.
    #[track_caller]
    fn push_back(self, m: &mut Mutator<'_>, item: impl Reference<T>) -> Result<(), OutOfMemory>;

    /// Makes room for more elements.
    #[track_caller]
    fn reserve(self, m: &mut Mutator<'_>, additional: usize) -> Result<(), OutOfMemory>;
}

impl<T: Managed + ?Sized> DequeMut<T> for Local<'_, GcDeque<T>> {
    fn push_front(self, m: &mut Mutator<'_>, item: impl Reference<T>) -> Result<(), OutOfMemory> {
        make_room(self, m)?;
        let (queue, item) = (&m[self], item.object(m));
        let before = match queue.first.get() {
            0 => queue.capacity() - 1,
            first => first - 1,
        };
        queue.first.set(before);
        if let Some(slot) = queue.slot(0) {
            slot.set(item);
            queue.len.set(queue.len() + 1);
        }
        Ok(())
    }

    fn push_back(self, m: &mut Mutator<'_>, item: impl Reference<T>) -> Result<(), OutOfMemory> {
        make_room(self, m)?;
        let (queue, item) = (&m[self], item.object(m));
        if let Some(slot) = queue.slot(queue.len()) {
            slot.set(item);
            queue.len.set(queue.len() + 1);
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

/// Makes room for one more element. What allocates may run finalizers, which may fill the room that there is.
fn make_room<T: Managed + ?Sized>(
    queue: Local<'_, GcDeque<T>>,
    m: &mut Mutator<'_>,
) -> Result<(), OutOfMemory> {
    while m[queue].len() >= m[queue].capacity() {
        queue.reserve(m, 1)?;
    }
    Ok(())
}
