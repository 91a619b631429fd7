//! What a mark is, and who gets it: the collector's epoch, or the number of a trace that asks a
//! question.

use heaphound_heap::trace::Visit;

use crate::raw::objects::header::{Epoch, Growth, Word};

/// What a mark is and who gets it.
pub(crate) trait Marker: Copy + Sync {
    /// Whether objects that are marked may grow staler, and what roots refer to is fresh.
    const AGES: bool = false;
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
///
/// `TAGS`: references are tagged, so that the first use of each is seen. That can wait after every other collection
/// ([`tags_matter`]).
#[derive(Clone, Copy)]
pub(crate) struct Ageing<const TAGS: bool> {
    epoch: Epoch,
    /// By staleness: how much staler objects grow. A reference, for the loop holds a copy of its marker.
    growth: &'static [Growth; 8],
}

/// By how many kinds of objects grow staler: those whose staleness is less than that.
static GROWTH: [[Growth; 8]; 8] = {
    let mut table = [[Growth::NONE; 8]; 8];
    let mut kinds = 0;
    while kinds < 8 {
        let mut staleness = 0;
        // The stalest never do.
        while staleness < kinds {
            table[kinds][staleness] = Growth::ONE;
            staleness += 1;
        }
        kinds += 1;
    }
    table
};

/// Whether references must be tagged at the n-th collection that counts.
///
/// After an even one they need not be. A reference that has no tag then was read or written since the
/// last odd collection, which tagged all: its target was fresh at that time, and is stale by 1 at most now. The next
/// collection, an odd one, makes 1 of it whether it is used until then (0 grows to 1) or not (1 grows at even collections
/// only); and a use of what is stale by 1 is not remembered. So nobody need see such uses. All other references still have
/// the tag of the last odd collection.
///
/// It takes that what is written has been fresh since the last collection: it was read in a slot, or it is new, or a
/// root held it during that collection, or it was got from a weak handle or by a question. All of these make it fresh.
pub(crate) fn tags_matter(nth: Option<u64>) -> bool {
    nth.is_some_and(|nth| !nth.is_multiple_of(2))
}

impl<const TAGS: bool> Ageing<TAGS> {
    /// Of the n-th collection that counts, or of one that does not. An object that is stale by k grows
    /// staler every 2ᵏ collections.
    pub(crate) fn new(epoch: Epoch, nth: Option<u64>) -> Self {
        let kinds = nth.map_or(0, |nth| nth.trailing_zeros() as usize + 1);
        Self {
            epoch,
            growth: &GROWTH[kinds.min(7)],
        }
    }

    /// The same of another epoch.
    pub(crate) fn at(self, epoch: Epoch) -> Self {
        Self { epoch, ..self }
    }
}

impl<const TAGS: bool> Marker for Ageing<TAGS> {
    const AGES: bool = true;
    const TAGS: bool = TAGS;

    #[inline]
    fn look(self, word: Word) -> Look {
        self.epoch.look(word)
    }

    /// The same of all threads that come at once, as it must be.
    #[inline(always)]
    fn mark(self, word: Word) -> Word {
        let growth = self.growth[word.staleness() as usize];
        word.with_epoch(self.epoch).grown(growth)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_grows_staler_every_2_to_the_k_collections() {
        let epoch = Epoch::FIRST.next();
        for nth in [None].into_iter().chain((1..=1024).map(Some)) {
            let ageing = Ageing::<true>::new(epoch, nth);
            for k in 0..8 {
                let word = Word::object(9, Epoch::FIRST).with_staleness(k);
                let grows = k < 7 && nth.is_some_and(|nth: u64| nth.is_multiple_of(1 << k));
                let expected = word.with_epoch(epoch).with_staleness(k + grows as u8);
                assert_eq!(ageing.mark(word), expected, "{nth:?}, {k}");
            }
        }
    }
}
