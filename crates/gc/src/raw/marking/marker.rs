//! What a mark is, and who gets it: the collector's epoch, or the number of a trace that asks a
//! question.

use heaphound_heap::trace::Visit;

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

/// The mark of a trace that asks a question. `RIDES`: it marks for a collection, too.
#[derive(Clone, Copy)]
pub(crate) struct VisitMark<const RIDES: bool> {
    pub(crate) visit: Visit,
    /// The epoch of the collection that it marks for, if it does.
    pub(crate) collection: Option<Epoch>,
}

impl VisitMark<false> {
    /// Of a trace that marks for no collection.
    pub(crate) fn alone(visit: Visit) -> Self {
        Self {
            visit,
            collection: None,
        }
    }
}

impl<const RIDES: bool> Marker for VisitMark<RIDES> {
    #[inline]
    fn look(self, word: Word) -> Look {
        if word.visit() != self.visit.0 {
            return Look::New;
        }
        match self.collection {
            // Whoever carries the mark without having been marked for the collection (it was
            // set by hand, or left by another trace) is owed to it.
            Some(epoch) if RIDES && !word.is_marked(epoch) => Look::Aside,
            _ => Look::Old,
        }
    }

    #[inline]
    fn mark(self, word: Word) -> Word {
        let word = word.with_visit(self.visit.0);
        match self.collection {
            Some(epoch) if RIDES => word.with_epoch(epoch),
            _ => word,
        }
    }

    #[inline]
    fn counts(self, word: Word) -> bool {
        !RIDES || self.collection.is_none_or(|epoch| !word.is_marked(epoch))
    }

    #[inline]
    fn is_marked(self, word: Word) -> bool {
        word.visit() == self.visit.0
    }
}

/// The mark of one of a series of phases that mark for a collection and between them enter each
/// object once: `Filter::Once`, made quick. Nobody else has marked anything for the collection
/// before, so that an object has been entered if it carries the collector's mark.
#[derive(Clone, Copy)]
pub(crate) struct SeriesMark {
    visit: u8,
    avoid: u8,
    epoch: Epoch,
}

impl SeriesMark {
    pub(crate) fn new(visit: Visit, avoid: Visit, epoch: Epoch) -> Self {
        Self {
            visit: visit.0,
            avoid: avoid.0,
            epoch,
        }
    }
}

impl Marker for SeriesMark {
    #[inline]
    fn look(self, word: Word) -> Look {
        if word.is_marked(self.epoch) {
            return Look::Old;
        }
        match word.visit() == self.avoid {
            true => Look::Aside,
            false => Look::New,
        }
    }

    #[inline]
    fn mark(self, word: Word) -> Word {
        word.with_epoch_and_visit(self.epoch, self.visit)
    }

    #[inline]
    fn counts(self, _: Word) -> bool {
        true
    }

    #[inline]
    fn is_marked(self, word: Word) -> bool {
        word.is_marked(self.epoch)
    }
}
