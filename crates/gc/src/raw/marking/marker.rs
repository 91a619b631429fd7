//! What a mark is, and who gets it: the collector's epoch, or the number of a trace that asks a
//! question.

use heaphound_heap::trace::{Filter, Visit};

use crate::raw::objects::header::{Epoch, Word};

/// What a mark is and who gets it.
pub(crate) trait Marker: Copy + Sync {
    /// What to do with an object, given its header.
    fn look(self, word: Word) -> Look;

    /// The header of a marked object.
    fn mark(self, word: Word) -> Word;

    /// Whether the object has not been counted before.
    fn counts(self, word: Word) -> bool;

    fn is_marked(self, word: Word) -> bool {
        matches!(self.look(word), Look::Old)
    }
}

/// What a marker sees in a header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// To be marked.
    New,
    /// Marked already, or not to be entered.
    Old,
    /// For a later phase.
    Aside,
    /// To be marked, but not entered: that is for a later phase.
    Last,
}

/// The collector's own mark.
impl Marker for Epoch {
    #[inline]
    fn look(self, word: Word) -> Look {
        match word.is_marked(self) {
            true => Look::Old,
            false => Look::New,
        }
    }

    #[inline]
    fn mark(self, word: Word) -> Word {
        word.with_epoch(self)
    }

    #[inline]
    fn counts(self, _: Word) -> bool {
        true
    }
}

/// The mark of a trace that asks a question. Most have no filter and work for no collection;
/// only `FULL` ones look for either.
#[derive(Clone, Copy)]
pub(crate) struct VisitMark<const FULL: bool> {
    pub(crate) visit: Visit,
    pub(crate) filter: Filter,
    /// The epoch of the collection that this trace works for, if it does: objects get
    /// both marks.
    pub(crate) collection: Option<Epoch>,
}

impl<const FULL: bool> Marker for VisitMark<FULL> {
    #[inline]
    fn look(self, word: Word) -> Look {
        let visit = Visit(word.visit());
        if !FULL {
            return match visit == self.visit {
                true => Look::Old,
                false => Look::New,
            };
        }
        if visit == self.visit {
            // Whoever carries the mark without having been marked for the collection (it was
            // set by hand, or left by another trace) is owed to it.
            return match self.collection {
                Some(epoch) if !word.is_marked(epoch) => Look::Aside,
                _ => Look::Old,
            };
        }
        match self.filter {
            Filter::Once { since, .. } if (since.0..=self.visit.0).contains(&visit.0) => {
                match self.collection {
                    Some(epoch) if !word.is_marked(epoch) => Look::Aside,
                    _ => Look::Old,
                }
            }
            // A collection will have to start from there.
            Filter::StopAt(label) | Filter::Once { avoid: label, .. } if visit == label => {
                match self.collection {
                    Some(_) => Look::Aside,
                    None => Look::Old,
                }
            }
            _ => Look::New,
        }
    }

    #[inline]
    fn mark(self, word: Word) -> Word {
        let word = word.with_visit(self.visit.0);
        match self.collection {
            Some(epoch) if FULL => word.with_epoch(epoch),
            _ => word,
        }
    }

    #[inline]
    fn counts(self, word: Word) -> bool {
        !FULL || self.collection.is_none_or(|epoch| !word.is_marked(epoch))
    }

    #[inline]
    fn is_marked(self, word: Word) -> bool {
        word.visit() == self.visit.0
    }
}

/// The mark of one of a series of phases that work for a collection and between them enter each
/// object once: [`Filter::Once`], made quick. `FIRST`: nobody but this series has marked
/// anything for the collection, so that an object has been entered if it carries the collector's mark.
#[derive(Clone, Copy)]
pub(crate) struct OnceMark<const FIRST: bool> {
    since: u8,
    visit: u8,
    avoid: u8,
    /// The first of the three, and how far the last of them is away.
    least: u8,
    span: u8,
    epoch: Epoch,
}

impl<const FIRST: bool> OnceMark<FIRST> {
    pub(crate) fn new(since: Visit, visit: Visit, avoid: Visit, epoch: Epoch) -> Self {
        // A series that begins behind this phase would never take an object for entered.
        let since = since.0.min(visit.0);
        let least = since.min(avoid.0);
        Self {
            since,
            visit: visit.0,
            avoid: avoid.0,
            least,
            span: visit.0.max(avoid.0) - least,
            epoch,
        }
    }

    /// What to do with an object that carries a mark near to those of the series.
    #[inline]
    fn look_closely(self, word: Word) -> Look {
        let visit = word.visit();
        if (self.since..=self.visit).contains(&visit) {
            // As for others: who was entered without the collection is owed to it.
            return match word.is_marked(self.epoch) {
                true => Look::Old,
                false => Look::Aside,
            };
        }
        match visit == self.avoid {
            true => Look::Aside,
            false => Look::New,
        }
    }
}

impl<const FIRST: bool> Marker for OnceMark<FIRST> {
    #[inline]
    fn look(self, word: Word) -> Look {
        if FIRST && word.is_marked(self.epoch) {
            return Look::Old;
        }
        match word.visit().wrapping_sub(self.least) <= self.span {
            true => self.look_closely(word),
            false => Look::New,
        }
    }

    #[inline]
    fn mark(self, word: Word) -> Word {
        word.with_epoch_and_visit(self.epoch, self.visit)
    }

    #[inline]
    fn counts(self, word: Word) -> bool {
        FIRST || !word.is_marked(self.epoch)
    }

    #[inline]
    fn is_marked(self, word: Word) -> bool {
        word.visit() == self.visit
    }
}
