//! The mark stack: LIFO, with room made once per object instead of per push.
//!
//! Functions that are not inlined take the stack by value. Its pointer and
//! length can then stay in registers throughout the mark loop, because no
//! address of theirs escapes.

use crate::region::advise_huge;

pub struct MarkStack<E> {
    entries: Vec<E>,
}

impl<E> Default for MarkStack<E> {
    fn default() -> Self {
        MarkStack {
            entries: Vec::new(),
        }
    }
}

impl<E: Copy> MarkStack<E> {
    /// An empty stack with room for `capacity` entries, whose pages are already
    /// there, as they are when a collector keeps its stack between collections.
    pub fn warm(capacity: usize, filler: E, huge: bool) -> Self {
        let mut entries: Vec<E> = Vec::with_capacity(capacity);
        if huge {
            advise_huge(entries.as_mut_ptr().cast(), capacity * size_of::<E>());
        }
        entries.resize(capacity, filler);
        entries.clear();
        MarkStack { entries }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    #[inline(always)]
    pub fn pop(&mut self) -> Option<E> {
        self.entries.pop()
    }

    pub fn push(&mut self, entry: E) {
        self.entries.push(entry);
    }

    pub fn append(&mut self, chunk: &[E]) {
        self.entries.extend_from_slice(chunk);
    }

    /// Makes room for `more` entries to be pushed with `push_if`.
    #[inline(always)]
    pub fn reserve(&mut self, more: usize) {
        if self.entries.capacity() - self.entries.len() < more {
            *self = std::mem::take(self).grown(more);
        }
    }

    #[cold]
    #[inline(never)]
    fn grown(mut self, more: usize) -> Self {
        self.entries.reserve(more.max(self.entries.len()));
        self
    }

    /// Pushes `entry` if `keep`, without a branch.
    ///
    /// # Safety
    ///
    /// `reserve` made room, and fewer entries than it promised were offered
    /// since, kept or not.
    #[inline(always)]
    pub unsafe fn push_if(&mut self, entry: E, keep: bool) {
        let length = self.entries.len();
        // SAFETY: the caller reserved room for the entry at `length`, which is
        // initialised before the length covers it.
        unsafe {
            self.entries.as_mut_ptr().add(length).write(entry);
            self.entries.set_len(length + usize::from(keep));
        }
    }

    /// Takes the oldest `count` entries, which tend to lead furthest, and moves
    /// the newest into their place.
    pub fn take_oldest(&mut self, count: usize) -> Box<[E]> {
        let oldest: Box<[E]> = self.entries[..count].into();
        let length = self.entries.len();
        let rest = length - count;
        self.entries.copy_within(length - count.min(rest).., 0);
        self.entries.truncate(rest);
        oldest
    }
}
