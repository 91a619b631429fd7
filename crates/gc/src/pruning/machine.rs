//! When leak pruning does what: decisions without a heap, so that they can be simulated.

/// What leak pruning does at the full collections that count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum PruningState {
    /// Nothing: memory is not short.
    #[default]
    Inactive,
    /// Watches how stale objects become before they are used.
    Observe,
    /// Also finds out which stale data structures take most memory, and chooses.
    Select,
    /// Cuts the references that were chosen.
    Prune,
}

/// When references are cut that were chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum PruneWhen {
    /// At the collection after the one that chose them, when memory is nearly full.
    #[default]
    NearlyFull,
    /// When an allocation would be refused for the first time; from then on as for
    /// [`NearlyFull`](Self::NearlyFull).
    Exhausted,
}

/// What the next state depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    /// How full the heap was after the last full collection, from 0 to 1.
    pub(crate) fullness: f64,
    pub(crate) observe_above: f64,
    pub(crate) select_above: f64,
    pub(crate) when: PruneWhen,
    /// Whether memory has been exhausted before.
    pub(crate) exhausted: bool,
    /// Whether the last collection has chosen something.
    pub(crate) chosen: bool,
}

impl PruningState {
    /// The state for the next collection.
    pub(crate) fn next(self, now: Situation) -> Self {
        let nearly_full = now.fullness > now.select_above;
        match self {
            Self::Inactive if now.fullness > now.observe_above => Self::Observe,
            Self::Inactive => Self::Inactive,
            Self::Select if now.chosen && (now.exhausted || now.when == PruneWhen::NearlyFull) => {
                Self::Prune
            }
            _ if nearly_full => Self::Select,
            _ => Self::Observe,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PruningState::*;
    use super::*;

    fn at(fullness: f64) -> Situation {
        Situation {
            fullness,
            observe_above: 0.5,
            select_above: 0.9,
            when: PruneWhen::NearlyFull,
            exhausted: false,
            chosen: false,
        }
    }

    #[test]
    fn a_heap_that_is_half_empty_is_not_observed() {
        assert_eq!(Inactive.next(at(0.5)), Inactive);
        assert_eq!(Inactive.next(at(0.51)), Observe);
        // However full it is: nothing is known yet.
        assert_eq!(Inactive.next(at(0.99)), Observe);
    }

    #[test]
    fn once_observed_it_stays_so() {
        assert_eq!(Observe.next(at(0.1)), Observe);
        assert_eq!(Observe.next(at(0.9)), Observe);
        assert_eq!(Observe.next(at(0.91)), Select);
    }

    #[test]
    fn what_was_chosen_is_cut_at_the_next_collection() {
        let chosen = Situation {
            chosen: true,
            ..at(0.95)
        };
        assert_eq!(Select.next(chosen), Prune);
        assert_eq!(Select.next(at(0.95)), Select);
        assert_eq!(Select.next(at(0.5)), Observe);
    }

    #[test]
    fn if_told_so_only_exhaustion_prunes_first() {
        let chosen = Situation {
            chosen: true,
            when: PruneWhen::Exhausted,
            ..at(0.95)
        };
        assert_eq!(Select.next(chosen), Select);
        let exhausted = Situation {
            exhausted: true,
            ..chosen
        };
        assert_eq!(Select.next(exhausted), Prune);
    }

    #[test]
    fn after_pruning_it_depends_on_what_that_has_freed() {
        assert_eq!(Prune.next(at(0.4)), Observe);
        assert_eq!(Prune.next(at(0.95)), Select);
    }
}
