//! Text that is put together piece by piece.

use std::fmt;

use heaphound_gc::{Bytes, Local, Mutator, OutOfMemory, Slot, Str, Var};

use super::grown;
use crate::managed;

/// Text that is put together piece by piece.
#[managed]
pub struct StringBuilder {
    len: Var<usize>,
    /// What is before `len` is UTF-8.
    bytes: Slot<Bytes>,
}

impl StringBuilder {
    /// Allocates an empty text.
    #[track_caller]
    pub fn new<'a>(m: &mut Mutator<'a>) -> Result<Local<'a, Self>, OutOfMemory> {
        m.alloc(StringBuilderInit {
            len: 0,
            bytes: None,
        })
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.len.get()
    }

    /// Whether there is no text yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all text. The room for it stays.
    pub fn clear(&self) {
        self.len.set(0);
    }

    /// The text so far, copied.
    pub fn to_text(&self) -> String {
        let mut bytes = vec![0; self.len().min(self.capacity())];
        if let Some(it) = self.bytes.get() {
            it.read(0, &mut bytes);
        }
        // Threads that race may have mixed their pieces.
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn capacity(&self) -> usize {
        self.bytes.get().map_or(0, |it| it.len())
    }
}

impl fmt::Debug for StringBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_text(), f)
    }
}

/// What a [`StringBuilder`] needs a mutator for.
pub trait TextMut: Copy {
    /// Adds text at the end.
    #[track_caller]
    fn push_str(self, m: &mut Mutator<'_>, text: &str) -> Result<(), OutOfMemory>;

    /// Allocates the text so far.
    #[track_caller]
    fn finish<'a>(self, m: &mut Mutator<'a>) -> Result<Local<'a, Str>, OutOfMemory>;
}

impl TextMut for Local<'_, StringBuilder> {
    fn push_str(self, m: &mut Mutator<'_>, text: &str) -> Result<(), OutOfMemory> {
        loop {
            let it = &m[self];
            let len = it.len();
            let needed = len.saturating_add(text.len());
            if needed <= it.capacity() {
                if let Some(bytes) = it.bytes.get() {
                    bytes.write(len, text.as_bytes());
                    it.len.set(needed);
                }
                return Ok(());
            }
            let capacity = grown(it.capacity(), needed);
            let mut m = m.scope();
            let bytes = m.alloc_plain(capacity, 0)?;
            let (it, bytes) = (&m[self], &m[bytes]);
            let len = it.len().min(it.capacity());
            if len <= bytes.len() {
                if let Some(old) = it.bytes.get() {
                    bytes.copy_from(0, old, 0..len);
                }
                it.bytes.set(bytes);
            }
        }
    }

    fn finish<'a>(self, m: &mut Mutator<'a>) -> Result<Local<'a, Str>, OutOfMemory> {
        let text = m[self].to_text();
        m.alloc_str(&text)
    }
}
