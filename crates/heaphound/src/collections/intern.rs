//! Interned texts: one object for each text, for as long as somebody uses it.

use std::hash::BuildHasher;

use heaphound_gc::{Local, Mutator, OutOfMemory, RefArray, Slot, Str, Var, WeakSlot};

use crate::managed;

/// A table that has one [`Str`] for each text. It keeps none of them alive: a text that nobody else refers to goes
/// with the next collection, and is another object when it is interned again.
#[managed]
pub struct Interner {
    /// Entries since the table was made, dead ones included.
    filled: Var<usize>,
    buckets: Slot<RefArray<Interned>>,
}

#[managed]
struct Interned {
    hash: u64,
    text: WeakSlot<Str>,
    next: Slot<Interned>,
}

fn hash(text: &str) -> u64 {
    foldhash::fast::FixedState::default().hash_one(text)
}

impl Interner {
    /// Allocates an empty table.
    #[track_caller]
    pub fn new<'a>(m: &mut Mutator<'a>) -> Result<Local<'a, Self>, OutOfMemory> {
        m.alloc(InternerInit {
            filled: 0,
            buckets: None,
        })
    }

    /// The object of a text, if it has been interned and somebody uses it.
    pub fn get(&self, text: &str) -> Option<&Str> {
        let hash = hash(text);
        let same = |it: &&Interned| it.hash == hash;
        let texts = self.chain(hash).filter(same).filter_map(|it| it.text.get());
        texts.into_iter().find(|it| ***it == *text)
    }

    /// The number of texts that live.
    pub fn len(&self) -> usize {
        self.entries().filter(|it| it.text.get().is_some()).count()
    }

    /// Whether no text lives.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries of a bucket.
    fn chain(&self, hash: u64) -> impl Iterator<Item = &Interned> {
        let bucket = self.buckets.get().map(|it| &it[hash as usize % it.len()]);
        std::iter::successors(bucket.and_then(Slot::get), |it| it.next.get())
    }

    /// All entries, dead ones included.
    fn entries(&self) -> impl Iterator<Item = &Interned> {
        let buckets = self.buckets.get().into_iter().flat_map(|it| it.iter());
        buckets.flat_map(|it| std::iter::successors(it.get(), |it: &&Interned| it.next.get()))
    }

    /// Whether another entry needs more buckets.
    fn is_full(&self) -> bool {
        self.filled.get() >= self.buckets.get().map_or(0, |it| it.len())
    }
}

/// What an [`Interner`] needs a mutator for.
pub trait InternMut: Copy {
    /// The one object of a text.
    #[track_caller]
    fn intern<'a>(self, m: &mut Mutator<'a>, text: &str) -> Result<Local<'a, Str>, OutOfMemory>;
}

impl InternMut for Local<'_, Interner> {
    fn intern<'a>(self, m: &mut Mutator<'a>, text: &str) -> Result<Local<'a, Str>, OutOfMemory> {
        m.scoped(|m| {
            let hash = hash(text);
            let mut new = None;
            loop {
                // Whatever allocates may run finalizers, which may use the table: then it is looked at again.
                if let Some(found) = m[self].get(text) {
                    return Ok(m.local(found));
                }
                if m[self].is_full() {
                    rehash(m, self)?;
                } else if let Some((text, entry)) = new {
                    let (table, entry): (&Interner, &Interned) = (&m[self], &m[entry]);
                    let buckets = table.buckets.get().expect("it is not full");
                    let bucket = &buckets[hash as usize % buckets.len()];
                    entry.next.set(bucket.get());
                    bucket.set(entry);
                    table.filled.set(table.filled.get() + 1);
                    return Ok(text);
                } else {
                    let text = m.alloc_str(text)?;
                    let entry = m.alloc(InternedInit {
                        hash,
                        text: Some(text),
                        next: None,
                    })?;
                    new = Some((text, entry));
                }
            }
        })
    }
}

/// Gives the table room for twice the texts that live, and leaves the dead ones out.
fn rehash(m: &mut Mutator<'_>, table: Local<'_, Interner>) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let room = m[table].len() * 2;
    let new = m.alloc_refs::<Interned>(room.max(8))?;
    // From here on nothing is allocated, and so nobody uses the table.
    let (table, new) = (&m[table], &m[new]);
    let mut filled = 0;
    for bucket in table.buckets.get().into_iter().flat_map(|it| it.iter()) {
        let mut chain = bucket.get();
        while let Some(entry) = chain {
            chain = entry.next.get();
            if entry.text.get().is_some() {
                let front = &new[entry.hash as usize % new.len()];
                entry.next.set(front.get());
                front.set(entry);
                filled += 1;
            }
        }
    }
    table.buckets.set(new);
    table.filled.set(filled);
    Ok(())
}
