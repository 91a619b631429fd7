//! A growing array of values: the stack of a language's machine, or its array type.

use std::fmt;

use heaphound_gc::{
    Local, LocalValue, Mutator, Object, OutOfMemory, PlainArray, RefArray, Slot, Value, Var,
};

use super::grown;
use crate::managed;

/// A growing array of [`Value`]s, eight bytes each: tag words in one array, references in another.
#[managed]
pub struct ValueVec {
    len: Var<usize>,
    items: Slot<RefArray<Object>>,
    words: Slot<PlainArray<u32>>,
}

impl ValueVec {
    /// Allocates an empty array.
    #[track_caller]
    pub fn new<'a>(m: &mut Mutator<'a>) -> Result<Local<'a, Self>, OutOfMemory> {
        m.alloc(ValueVecInit {
            len: 0,
            items: None,
            words: None,
        })
    }

    /// The number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// Whether there are no values.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of values that there is room for.
    pub fn capacity(&self) -> usize {
        let items = self.items.get().map_or(0, |it| it.len());
        items.min(self.words.get().map_or(0, |it| it.len()))
    }

    /// A place, if it is before the end.
    #[inline]
    fn place(&self, index: usize) -> Option<(&Var<u32>, &Slot<Object>)> {
        if index >= self.len() {
            return None;
        }
        Some((self.words.get()?.get(index)?, self.items.get()?.get(index)?))
    }

    /// The value with that index, if there is one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Value<&Object>> {
        let (word, item) = self.place(index)?;
        Some(Value::decode(word.get(), item.get()))
    }

    /// The last value.
    #[inline]
    pub fn last(&self) -> Option<Value<&Object>> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The values in order.
    pub fn iter(&self) -> impl Iterator<Item = Value<&Object>> {
        (0..self.len()).map_while(|index| self.get(index))
    }

    /// Replaces the value with that index.
    ///
    /// # Panics
    /// If there is no such value, or the new one belongs to another mutator.
    #[track_caller]
    pub fn set(&self, m: &Mutator<'_>, index: usize, value: LocalValue<'_>) {
        let len = self.len();
        let Some((word, item)) = self.place(index) else {
            panic!("index {index} is beyond the end of {len} values");
        };
        let (new, object) = value.encode(m);
        item.set(object);
        word.set(new);
    }

    /// Removes the last value and returns it.
    #[inline]
    pub fn pop(&self) -> Option<Value<&Object>> {
        let last = self.len().checked_sub(1)?;
        let (word, item) = self.place(last)?;
        let value = Value::decode(word.get(), item.get());
        // Or it would keep its object alive.
        item.clear();
        self.len.set(last);
        Some(value)
    }

    /// Removes all but the first `len` values.
    pub fn truncate(&self, len: usize) {
        while self.len() > len && self.pop().is_some() {}
    }

    /// Removes all values. The room for them stays.
    pub fn clear(&self) {
        self.truncate(0);
    }
}

impl fmt::Debug for ValueVec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// What a [`ValueVec`] needs a mutator for.
pub trait ValuesMut: Copy {
    /// Adds a value behind the others.
    #[track_caller]
    fn push(self, m: &mut Mutator<'_>, value: LocalValue<'_>) -> Result<(), OutOfMemory>;

    /// Makes room for more values.
    #[track_caller]
    fn reserve(self, m: &mut Mutator<'_>, additional: usize) -> Result<(), OutOfMemory>;

    /// Removes the last value and keeps it alive in this scope.
    #[track_caller]
    fn pop_local<'a>(self, m: &Mutator<'a>) -> Option<LocalValue<'a>>;
}

impl ValuesMut for Local<'_, ValueVec> {
    #[inline]
    fn push(self, m: &mut Mutator<'_>, value: LocalValue<'_>) -> Result<(), OutOfMemory> {
        loop {
            let vec = &m[self];
            let len = vec.len();
            let words = vec.words.get().and_then(|it| it.get(len));
            let items = vec.items.get().and_then(|it| it.get(len));
            if let (Some(word), Some(item)) = (words, items) {
                let (new, object) = value.encode(m);
                item.set(object);
                word.set(new);
                vec.len.set(len + 1);
                return Ok(());
            }
            self.reserve(m, 1)?;
        }
    }

    fn reserve(self, m: &mut Mutator<'_>, additional: usize) -> Result<(), OutOfMemory> {
        let needed = m[self].len().saturating_add(additional);
        while m[self].capacity() < needed {
            let mut m = m.scope();
            let capacity = grown(m[self].capacity(), needed);
            let items = m.alloc_refs(capacity)?;
            let words = m.alloc_plain(capacity, 0)?;
            // Whatever allocates may run finalizers, which may have used the values.
            let (vec, items, words) = (&m[self], &m[items], &m[words]);
            let len = vec.len();
            if len > capacity {
                continue;
            }
            if let (Some(old_items), Some(old_words)) = (vec.items.get(), vec.words.get()) {
                let len = len.min(old_items.len()).min(old_words.len());
                items.copy_from(0, old_items, 0..len);
                words.copy_from(0, old_words, 0..len);
            }
            vec.items.set(items);
            vec.words.set(words);
        }
        Ok(())
    }

    fn pop_local<'a>(self, m: &Mutator<'a>) -> Option<LocalValue<'a>> {
        let vec = &m[self];
        let last = vec.len().checked_sub(1)?;
        let (word, item) = vec.place(last)?;
        let value = m.decode_value(word.get(), item.get());
        item.clear();
        vec.len.set(last);
        Some(value)
    }
}
