//! What a mark is, and who gets it: the collector's epoch, or the number of a trace that asks a
//! question.

use heaphound_heap::trace::Visit;

use crate::raw::objects::header::{Epoch, Mark, Word};

/// What a mark is and who gets it.
pub(crate) trait Marker: Copy + Sync {
    /// Whether the references that are read are tagged as untouched; see
    /// [`barrier`](crate::raw::objects::barrier).
    const TAGS: bool = false;

    /// What to do with an object, given its header.
    fn look(self, word: Word) -> Look;

    /// The header of a marked object.
    fn mark(self, word: Word) -> Word;

    /// Whether the object has not been counted before.
    fn counts(self, word: Word) -> bool;

    fn is_marked(self, word: Word) -> bool {
        matches!(self.look(word), Look::Old)
    }

    /// How stale an object will be at the end of the trace, given its header in the middle of it.
    fn staleness(self, word: Word) -> u8 {
        match self.is_marked(word) {
            true => word.staleness(),
            false => self.mark(word).staleness(),
        }
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

/// The collector's mark, at a collection that counts for staleness: the objects that it marks have not been
/// used for one collection more, until somebody touches them. Both are written at once, and cost one addition.
#[derive(Clone, Copy)]
pub(crate) struct Ageing {
    epoch: Epoch,
    /// Bit k: whether objects whose staleness is k grow staler. Never those that are stalest.
    grows: u8,
    /// By staleness: the epoch, and one more of staleness if it grows.
    added: [Mark; 8],
}

impl Ageing {
    /// Of the n-th collection that counts, or of one that does not. An object that is stale by k grows
    /// staler every 2ᵏ collections.
    pub(crate) fn new(epoch: Epoch, nth: Option<u64>) -> Self {
        let grows = |&k: &u32| nth.is_some_and(|nth| nth.is_multiple_of(1 << k));
        let grows = (0..7).filter(grows);
        let grows = grows.fold(0, |bits, k| bits | 1 << k);
        Self::with(epoch, grows)
    }

    fn with(epoch: Epoch, grows: u8) -> Self {
        Self {
            epoch,
            grows,
            added: std::array::from_fn(|k| Mark::new(epoch, grows >> k & 1)),
        }
    }

    /// The same of another epoch.
    pub(crate) fn at(self, epoch: Epoch) -> Self {
        Self::with(epoch, self.grows)
    }
}

impl Marker for Ageing {
    const TAGS: bool = true;

    #[inline]
    fn look(self, word: Word) -> Look {
        self.epoch.look(word)
    }

    /// The same of all threads that come at once, as it must be.
    #[inline(always)]
    fn mark(self, word: Word) -> Word {
        word.with_mark(self.added[word.staleness() as usize])
    }

    #[inline]
    fn counts(self, _: Word) -> bool {
        true
    }
}

/// The mark of what dies because references were pruned: it was not marked by the collection, and would have
/// been.
#[derive(Clone, Copy)]
pub(crate) struct Doom(pub(crate) Epoch);

impl Marker for Doom {
    #[inline]
    fn look(self, word: Word) -> Look {
        match word.is_marked(self.0) || word.is_doomed() {
            true => Look::Old,
            false => Look::New,
        }
    }

    #[inline]
    fn mark(self, word: Word) -> Word {
        word.doomed()
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
