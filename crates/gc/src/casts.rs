//! "Is an object of this class a `T`?" in constant time, however high the tree of classes is.
//!
//! A struct without type parameters has a number, the same in all heaps, in a static of its own. Each class of a heap has a row
//! with the numbers of the types that it extends, each at its depth below `Object`: one comparison tells ([`Rows`]).
//!
//! Types with parameters have no static, interfaces no depth, and rows have an end. For these
//! there is a table of answers ([`Casts`]). The first to ask walks the superclasses or interfaces; the answer never changes, and is kept in a table with
//! one place for each pair of class and type. A place is one word, read and written whole, so that threads need
//! no lock: whoever loses a race has overwritten one right answer with another.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use heaphound_heap::ClassId;

use crate::raw::{Descriptor, MAX_CLASSES, zeroed_rows};

/// The number of a type in this process; it gets one when a heap first has a class of it.
#[doc(hidden)]
pub struct TypeNumber(AtomicU32);

impl TypeNumber {
    /// Of a type that no heap has a class of. No row has it.
    const NONE: u32 = u32::MAX;

    /// For a static of the type's own.
    #[allow(clippy::new_without_default)] // There is one for each type.
    pub const fn new() -> Self {
        Self(AtomicU32::new(Self::NONE))
    }

    /// The number, which it gets now if it has none. It is not 0.
    fn give(&self) -> u32 {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let known = self.0.load(Relaxed);
        if known != Self::NONE {
            return known;
        }
        let new = NEXT.fetch_add(1, Relaxed);
        assert!(new < u32::MAX / 2, "there are not so many types");
        match self.0.compare_exchange(Self::NONE, new, Relaxed, Relaxed) {
            Ok(_) => new,
            Err(known) => known,
        }
    }
}

/// How many types a row has room for.
const DEPTHS: usize = 8;

/// The numbers of the types that a class extends, the highest first, itself included; 0 where there is none.
pub(crate) type Row = [AtomicU32; DEPTHS];

/// A row for each class that a heap can have. They take no memory before they are used.
///
/// The row of a class is written before anybody knows the class's id, and never again.
pub(crate) struct Rows(Box<[Row; MAX_CLASSES + 1]>);

impl Rows {
    pub(crate) fn new() -> Self {
        Self(zeroed_rows())
    }

    /// The row of a class.
    #[inline(always)]
    pub(crate) fn of(&self, class: ClassId) -> &Row {
        &self.0[class.0 as usize & MAX_CLASSES]
    }

    /// Writes the row of a new class.
    pub(crate) fn fill(&self, class: ClassId, descriptor: &'static Descriptor) {
        let mut next = Some(descriptor);
        while let Some(it) = next {
            let place = self.of(class).get(depth(it));
            if let (Some(place), Some(number)) = (place, (it.number)()) {
                place.store(number.give(), Relaxed);
            }
            next = it.superclass;
        }
    }
}

/// How many classes a type extends.
pub(crate) const fn depth(mut descriptor: &Descriptor) -> usize {
    let mut depth = 0;
    while let Some(above) = descriptor.superclass {
        descriptor = above;
        depth += 1;
    }
    depth
}

/// Whether the class of a row extends a type of that depth, or is it; none if rows do not tell.
#[inline(always)]
pub(crate) fn extends(row: &Row, depth: usize, descriptor: &'static Descriptor) -> Option<bool> {
    let number = (descriptor.number)()?;
    Some(row.get(depth)?.load(Relaxed) == number.0.load(Relaxed))
}

/// What is known about pairs of a class and the address of a type's descriptor. A descriptor may
/// stand in memory more than once: then each is a type of its own here, with the same answers.
pub(crate) struct Casts([AtomicU64; 1 << PLACE_BITS]);

const PLACE_BITS: u32 = 10;

impl Casts {
    pub(crate) fn new() -> Self {
        Self([const { AtomicU64::new(0) }; 1 << PLACE_BITS])
    }

    /// Returns the answer, from `find` if it is not in the table.
    #[inline]
    pub(crate) fn ask<T>(
        &self,
        class: ClassId,
        descriptor: &'static T,
        find: impl FnOnce() -> bool,
    ) -> bool {
        let (place, question) = question(class, (&raw const *descriptor).addr());
        let place = &self.0[place];
        let known = place.load(Relaxed);
        if known & !1 == question {
            return known & 1 == 1;
        }
        let answer = find();
        place.store(question | answer as u64, Relaxed);
        answer
    }
}

/// The place of a pair in the table, and a word that no other pair has there: the address, and what the address and the place
/// do not tell of the class. Its lowest bit is free for the answer; it is never zero.
#[inline]
fn question(class: ClassId, address: usize) -> (usize, u64) {
    let (class, address) = (class.0 as u64, address as u64 >> 3);
    let place = (class ^ address ^ (address >> PLACE_BITS)) % (1 << PLACE_BITS);
    let rest = class >> PLACE_BITS;
    (place as usize, (address << PLACE_BITS | rest) << 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::MAX_CLASSES;

    #[test]
    fn pairs_that_share_a_place_are_told_apart() {
        // Some numbers of classes that differ in one bit, and some addresses that do.
        let classes =
            (0..MAX_CLASSES.ilog2() + 1).flat_map(|bit| [1u32, 5].map(|it| it | 1 << bit));
        let addresses = (3..48).map(|bit| 0x5500_1000_usize ^ 1 << bit);
        let mut met = std::collections::HashMap::new();
        for class in classes {
            for address in addresses.clone() {
                let (place, word) = question(ClassId(class), address);
                assert_eq!(word & 1, 0);
                assert_ne!(word, 0);
                let first = *met.entry((place, word)).or_insert((class, address));
                assert_eq!(first, (class, address));
            }
        }
    }

    #[test]
    fn answers_are_those_that_were_found() {
        static TYPES: [u64; 64] = [0; 64];
        let casts = Casts::new();
        let truth = |class: u32, nth: usize| (class as usize * 7 + nth * 13) % 5 < 2;
        let mut found = 0;
        for _ in 0..3 {
            for class in 1..400 {
                for (nth, descriptor) in TYPES.iter().enumerate() {
                    let answer = casts.ask(ClassId(class * 37), descriptor, || {
                        found += 1;
                        truth(class, nth)
                    });
                    assert_eq!(answer, truth(class, nth));
                }
            }
        }
        assert!(found >= 399 * 64);
        // What was asked last is known.
        let last = casts.ask(ClassId(399 * 37), &TYPES[63], || unreachable!());
        assert_eq!(last, truth(399, 63));
    }
}
