//! The tree of dominators from above: what an object dominates directly.

use heaphound_heap::snapshot::ObjectId;

use super::{Dominators, ROOT};

/// Dominators, with a list of what each dominates.
#[derive(Debug)]
pub struct DominatorTree<'d> {
    dominators: &'d Dominators,
    /// Where the list of each number starts, and where the last one ends.
    first: Vec<u32>,
    /// The numbers that each dominates directly, list after list, by rising number.
    below: Vec<u32>,
}

/// How many objects each object retains.
#[derive(Debug)]
pub struct RetainedObjects<'d> {
    dominators: &'d Dominators,
    objects: Vec<u32>,
}

impl<'d> RetainedObjects<'d> {
    /// Counts them for all.
    pub fn of(dominators: &'d Dominators) -> Self {
        Self {
            dominators,
            objects: dominators.subtrees(),
        }
    }

    /// Returns how many an object retains, itself included; none if nothing keeps it.
    pub fn by(&self, object: ObjectId) -> u32 {
        let number = self.dominators.number(object);
        number.map_or(0, |number| self.objects[number as usize])
    }
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
    /// Lists what each object dominates.
    pub fn of(dominators: &'d Dominators) -> Self {
        let above = &dominators.above;
        let mut first = vec![0; above.len() + 1];
        for &above in &above[1..] {
            first[above as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut below = vec![0; above.len() - 1];
        for (number, &above) in above.iter().enumerate().skip(1) {
            let place = &mut next[above as usize];
            below[*place as usize] = number as u32;
            *place += 1;
        }
        Self {
            dominators,
            first,
            below,
        }
    }

    /// The dominators.
    pub fn dominators(&self) -> &'d Dominators {
        self.dominators
    }

    /// Returns what an object dominates directly; what nothing but the virtual root does, if there
    /// is no object.
    pub fn below(&self, object: Option<ObjectId>) -> impl ExactSizeIterator<Item = ObjectId> {
        let number = match object {
            None => Some(ROOT),
            Some(object) => self.dominators.number(object),
        };
        let numbers = number.map_or(&[][..], |it| self.numbers_below(it));
        numbers.iter().map(|&number| self.dominators.object(number))
    }

    fn numbers_below(&self, number: u32) -> &[u32] {
        let at = number as usize;
        &self.below[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// Walks through all that an object dominates, directly or not, and the object itself; through
    /// everything, if there is none.
    pub fn walk(&self, object: Option<ObjectId>, mut f: impl FnMut(Step)) {
        let top = match object {
            None => ROOT,
            Some(object) => match self.dominators.number(object) {
                Some(number) => number,
                None => return,
            },
        };
        // A number that is being left has been entered; entered ones are told by the second.
        let mut stack = vec![(top, false)];
        while let Some((number, entered)) = stack.pop() {
            let is_root = number == ROOT;
            if entered {
                f(Step::Leave(self.dominators.object(number)));
                continue;
            }
            if !is_root {
                f(Step::Enter(self.dominators.object(number)));
                stack.push((number, true));
            }
            let below = self.numbers_below(number);
            stack.extend(below.iter().map(|&number| (number, false)));
        }
    }
}
