//! "Is an object of this class a `T`?" in constant time, however high the tree of classes is.
//!
//! The first to ask walks the superclasses or interfaces; the answer never changes, and is kept in a table with
//! one place for each pair of class and type. A place is one word, read and written whole, so that threads need
//! no lock: whoever loses a race has overwritten one right answer with another.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use heaphound_heap::ClassId;

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
