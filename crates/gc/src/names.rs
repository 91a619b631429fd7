//! Names of objects: one for each object, from when it is first mentioned until it dies.
//!
//! A name is the class and a number, `Window#2`, as in heap files. A finding, a log and a file of one
//! run call an object by the same name: numbers are given once, in the order in which objects are
//! mentioned, and follow objects when they move. An object that nobody speaks of has none, and pays
//! nothing. Captures name all objects: those that have no number here get numbers that nothing else
//! had before, nor gets later.

use std::collections::HashMap;

use heaphound_heap::sync::Mutex;

use crate::raw::Raw;

/// The names that a heap has given.
#[derive(Default)]
pub(crate) struct Names(Mutex<Numbers>);

#[derive(Default)]
struct Numbers {
    /// Apart, so that a nursery collection need not look at all.
    young: HashMap<Raw, u64>,
    old: HashMap<Raw, u64>,
    /// The highest number that was given to an object, here or in a capture.
    last: u64,
    /// Whether one was given here.
    any: bool,
}

impl Numbers {
    fn part(&mut self, raw: Raw) -> &mut HashMap<Raw, u64> {
        match raw.is_young() {
            true => &mut self.young,
            false => &mut self.old,
        }
    }
}

impl Names {
    /// The number of an object, which it keeps.
    pub(crate) fn number(&self, raw: Raw) -> u64 {
        let numbers = &mut *self.0.lock().unwrap();
        let next = numbers.last + 1;
        let number = *numbers.part(raw).entry(raw).or_insert(next);
        if number == next {
            numbers.last = next;
            numbers.any = true;
        }
        number
    }

    /// The numbers that a capture of that many objects gives: the first of those that it counts
    /// on, and the numbers of objects that have one. As long as nobody has mentioned an object, all
    /// captures count from 1.
    pub(crate) fn for_capture(&self, objects: usize) -> (u64, Vec<(Raw, u64)>) {
        let numbers = &mut *self.0.lock().unwrap();
        let first = match numbers.any {
            true => numbers.last + 1,
            false => 1,
        };
        numbers.last = numbers.last.max(first + objects as u64 - 1);
        let given = numbers.young.iter().chain(&numbers.old);
        (first, given.map(|(&raw, &number)| (raw, number)).collect())
    }

    /// A nursery collection has taken place.
    pub(crate) fn settle(&self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        let numbers = &mut *self.0.lock().unwrap();
        let young = numbers.young.drain();
        let survivors = young.filter_map(|(raw, number)| Some((now(raw)?, number)));
        numbers.old.extend(survivors);
    }

    /// Objects have moved, or all that are dead are known.
    pub(crate) fn follow(&self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        let numbers = &mut *self.0.lock().unwrap();
        if numbers.old.is_empty() {
            return;
        }
        let old = std::mem::take(&mut numbers.old).into_iter();
        numbers.old = old
            .filter_map(|(raw, number)| Some((now(raw)?, number)))
            .collect();
    }
}
