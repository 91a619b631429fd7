//! The tree of dominators from above: what an object dominates directly.
//!
//! Numbers are listed so that each comes directly before all that it dominates. Since it is known how many those
//! are, that is all one needs to find them.

use std::ops::Range;

use heaphound_heap::snapshot::ObjectId;

use super::{Dominators, ROOT};

/// Dominators, in the order of the tree.
#[derive(Debug)]
pub struct DominatorTree<'d> {
    dominators: &'d Dominators,
    /// The numbers, each before what it dominates. What one dominates directly comes by rising number.
    order: Vec<u32>,
    /// By number, where in that order what it dominates ends.
    end: Vec<u32>,
}

/// A step of a walk through the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// An object is entered, before all that it dominates.
    Enter(ObjectId),
    /// It is left, after all that it dominates.
    Leave(ObjectId),
}

impl<'d> DominatorTree<'d> {
    /// Puts the objects in order.
    pub fn of(dominators: &'d Dominators) -> Self {
        let places = &dominators.places;
        let mut order = vec![ROOT; places.len()];
        // Where the next is put that a number dominates: in the end, behind all of them.
        let mut end = vec![1; places.len()];
        for (number, place) in places.iter().enumerate().skip(1) {
            let next = &mut end[place.above as usize];
            let at = *next;
            *next += place.objects;
            order[at as usize] = number as u32;
            end[number] = at + 1;
        }
        Self {
            dominators,
            order,
            end,
        }
    }

    /// The dominators.
    pub fn dominators(&self) -> &'d Dominators {
        self.dominators
    }

    /// Returns what an object dominates directly; what nothing but the virtual root does, if there
    /// is no object.
    pub fn below(&self, object: Option<ObjectId>) -> impl Iterator<Item = ObjectId> {
        let (mut at, end) = match self.number(object) {
            Some(number) => (self.start(number) + 1, self.end[number as usize]),
            None => (0, 0),
        };
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let number = self.order[at as usize];
            at = self.end[number as usize];
            Some(self.dominators.object(number))
        })
    }

    /// Walks through all that an object dominates, directly or not, and the object itself; through
    /// everything, if there is none.
    pub fn walk(&self, object: Option<ObjectId>, mut f: impl FnMut(Step)) {
        let Some(top) = self.number(object) else {
            return;
        };
        // The virtual root is no object.
        let start = self.start(top) + (top == ROOT) as u32;
        let end = self.end[top as usize];
        // What was entered and not left, and where it ends.
        let mut open: Vec<(u32, ObjectId)> = Vec::new();
        for at in start..end {
            while let Some((_, object)) = open.pop_if(|it| it.0 <= at) {
                f(Step::Leave(object));
            }
            let number = self.order[at as usize];
            let object = self.dominators.object(number);
            f(Step::Enter(object));
            open.push((self.end[number as usize], object));
        }
        for (_, object) in open.into_iter().rev() {
            f(Step::Leave(object));
        }
    }

    /// Calls `f` with each object of a part of the order, with what it retains, and with where what it dominates ends.
    pub(crate) fn for_each_in(
        &self,
        part: Range<usize>,
        mut f: impl FnMut(usize, ObjectId, u64, usize),
    ) {
        for at in part {
            let number = self.order[at];
            let object = self.dominators.object(number);
            let retained = self.dominators.places[number as usize].retained;
            f(at, object, retained, self.end[number as usize] as usize);
        }
    }

    /// The places of all objects in the order. The virtual root is before them.
    pub(crate) fn places(&self) -> Range<usize> {
        1..self.order.len()
    }

    /// What dominates the object at a place, from the top down, each with where what it dominates ends.
    pub(crate) fn above(&self, place: usize) -> Vec<(usize, ObjectId)> {
        let above = |number: u32| self.dominators.places[number as usize].above;
        let first = above(self.order[place]);
        let all = std::iter::successors(Some(first), |it| Some(above(*it)));
        let all = all.take_while(|it| *it != ROOT);
        let end = |it: u32| self.end[it as usize] as usize;
        let mut all: Vec<_> = all
            .map(|it| (end(it), self.dominators.object(it)))
            .collect();
        all.reverse();
        all
    }

    /// The number of an object that is reached; that of the virtual root if there is no object.
    fn number(&self, object: Option<ObjectId>) -> Option<u32> {
        match object {
            None => Some(ROOT),
            Some(object) => self.dominators.number(object),
        }
    }

    /// Where in the order a number is.
    fn start(&self, number: u32) -> u32 {
        self.end[number as usize] - self.dominators.places[number as usize].objects
    }
}
