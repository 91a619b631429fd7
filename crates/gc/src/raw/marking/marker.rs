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
            Filter::SetAside(label) if visit == label => Look::Aside,
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

/// The mark of one of a series of phases that mark for a collection and between them enter each
/// object once: [`Filter::Once`], made quick. Nobody else has marked anything for the collection
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
