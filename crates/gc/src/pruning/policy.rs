//! What to prune: pure functions from what was counted to a choice, so that they can be simulated.
//!
//! A reference is a *candidate* if its target has not been used for long: longer, by a margin, than
//! references of the same type (class to class) have been seen to wait and be used all the
//! same. Of the types that have candidates, the one is chosen on whose candidates most memory hangs.

use std::collections::HashMap;

use crate::check::Sift;
use crate::raw::{EdgeType, Mesh, NEVER};

/// How leak pruning chooses what to cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum PruningPolicy {
    /// The paper's, as long as it finds anything. Where memory would otherwise be exhausted, uses of
    /// references count for less that have not come back when they should have, for a phase of the program may be over;
    /// and not at all, in the end, for objects that have not been used for long.
    #[default]
    Patient,
    /// The paper's: the data structures, by the type of the references that lead to them, that hold most
    /// memory and are stale by two more than any that was ever used again.
    DataStructures,
    /// As the paper's, but by the memory of the referenced objects alone, not of all that hangs on them.
    IndividualReferences,
    /// All references to the stalest objects, whatever they are: as systems do that move them to a disk, and can
    /// bring them back.
    MostStale,
}

/// How stale objects were when they were used, by edge type.
#[derive(Clone, Default, Debug)]
pub(crate) struct Uses(HashMap<EdgeType, Use, foldhash::fast::FixedState>);

/// The stalest use of an edge type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Use {
    pub(crate) staleness: u8,
    /// The last collection, of those that count, before such a use.
    pub(crate) at: u64,
}

impl Uses {
    /// A reference was used whose target was so stale.
    pub(crate) fn note(&mut self, edge: EdgeType, staleness: u8, now: u64) {
        let new = Use { staleness, at: now };
        let known = self.0.entry(edge).or_insert(new);
        if staleness >= known.staleness {
            *known = new;
        }
    }

    #[cfg(test)]
    pub(crate) fn get(&self, edge: EdgeType) -> Option<Use> {
        self.0.get(&edge).copied()
    }

    #[cfg(test)]
    pub(crate) fn forget_for_test(&mut self, edge: EdgeType) {
        self.0.remove(&edge);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// How much staler than any that was used again: staleness is only about a logarithm.
pub(super) const MARGIN: u8 = 2;

/// What is so stale has not been used for 16 collections at least, however often it was before.
const LONG: u8 = 5;

impl PruningPolicy {
    /// From which staleness on references are candidates. `despair` counts how often nothing was found at
    /// all, while memory was exhausted.
    pub(crate) fn mesh(self, uses: &Uses, now: u64, despair: u8) -> Mesh {
        match self {
            Self::MostStale => Mesh::new([], None),
            _ => {
                let from = |seen: &Use| match (self.worst(*seen, now, despair) + MARGIN).min(NEVER)
                {
                    // The program dies now, or lives if what it has not used for long is not needed.
                    from if despair > 1 && self == Self::Patient => from.min(LONG),
                    from => from,
                };
                let types = uses.0.iter().map(|(&edge, seen)| (edge, from(seen)));
                Mesh::new(types, Some(MARGIN))
            }
        }
    }

    /// How stale references of a type may be and yet be used.
    fn worst(self, seen: Use, now: u64, despair: u8) -> u8 {
        if self != Self::Patient || despair == 0 {
            return seen.staleness;
        }
        // What comes back every 2ᵏ collections should have come back since.
        let missed = now.saturating_sub(seen.at) >> seen.staleness;
        let forgiven = missed.checked_ilog2().map_or(0, |log| log as u8 + 1);
        seen.staleness.saturating_sub(forgiven)
    }

    /// What it must know of the candidates.
    pub(crate) fn sift(self) -> Sift {
        match self {
            Self::Patient | Self::DataStructures => Sift::Weigh,
            Self::IndividualReferences | Self::MostStale => Sift::Measure,
        }
    }

    /// How often it may despair before it gives up.
    pub(crate) fn patience(self) -> u8 {
        match self {
            Self::Patient => 2,
            _ => 0,
        }
    }

    /// What to cut, if anything is worth it.
    pub(crate) fn choose(self, candidates: &Candidates) -> Option<Choice> {
        if self == Self::MostStale {
            let level = candidates.stalest;
            return (level >= MARGIN).then_some(Choice::Level(level));
        }
        let bytes = |it: &Candidate| match self {
            Self::IndividualReferences => it.own_bytes,
            _ => it.bytes,
        };
        // The first of equals, so that the choice is always the same.
        let most = candidates.types.iter().rev().max_by_key(|it| bytes(it))?;
        (bytes(most) > 0).then_some(Choice::Type {
            edge: most.edge,
            from: most.from,
        })
    }
}

/// The stale references of a heap.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Candidates {
    /// In the order of the types.
    pub(crate) types: Vec<Candidate>,
    /// The greatest staleness of any object that a reference leads to.
    pub(crate) stalest: u8,
}

/// The stale references of one type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Candidate {
    pub(crate) edge: EdgeType,
    /// From which staleness on they were looked for.
    pub(crate) from: u8,
    /// Bytes of all that hangs on them alone, or on them and on types that come later.
    pub(crate) bytes: usize,
    /// Bytes of the objects that they lead to.
    pub(crate) own_bytes: usize,
}

/// What is to be cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    /// References of a type to objects that are at least so stale.
    Type { edge: EdgeType, from: u8 },
    /// All references to objects that are at least so stale.
    Level(u8),
}

impl Choice {
    /// The mesh that holds what is to be cut.
    pub(crate) fn mesh(self) -> Mesh {
        match self {
            Self::Type { edge, from } => Mesh::new([(edge, from)], None),
            Self::Level(from) => Mesh::new([], Some(from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [PruningPolicy; 4] = [
        PruningPolicy::Patient,
        PruningPolicy::DataStructures,
        PruningPolicy::IndividualReferences,
        PruningPolicy::MostStale,
    ];

    fn candidate(edge: EdgeType, bytes: usize, own_bytes: usize) -> Candidate {
        Candidate {
            edge,
            from: 2,
            bytes,
            own_bytes,
        }
    }

    #[test]
    fn nothing_stale_nothing_chosen() {
        for policy in ALL {
            assert_eq!(policy.choose(&Candidates::default()), None);
        }
    }

    #[test]
    fn data_structures_count_whole_or_by_their_roots() {
        let candidates = Candidates {
            types: vec![candidate((1, 2), 100, 10), candidate((3, 4), 50, 50)],
            stalest: 5,
        };
        let edge = |policy: PruningPolicy| match policy.choose(&candidates) {
            Some(Choice::Type { edge, .. }) => edge,
            other => panic!("{other:?}"),
        };
        assert_eq!(edge(PruningPolicy::Patient), (1, 2));
        assert_eq!(edge(PruningPolicy::DataStructures), (1, 2));
        assert_eq!(edge(PruningPolicy::IndividualReferences), (3, 4));
        let level = PruningPolicy::MostStale.choose(&candidates);
        assert_eq!(level, Some(Choice::Level(5)));
    }

    #[test]
    fn of_equals_the_first_is_chosen() {
        let candidates = Candidates {
            types: vec![candidate((1, 2), 7, 7), candidate((3, 4), 7, 7)],
            stalest: 2,
        };
        let chosen = PruningPolicy::DataStructures.choose(&candidates);
        let edge = (1, 2);
        assert_eq!(chosen, Some(Choice::Type { edge, from: 2 }));
    }

    #[test]
    fn what_was_used_when_stale_must_be_staler() {
        let mut uses = Uses::default();
        uses.note((1, 2), 3, 10);
        uses.note((1, 2), 2, 20);
        assert_eq!(
            uses.get((1, 2)),
            Some(Use {
                staleness: 3,
                at: 10
            })
        );
        let mesh = PruningPolicy::DataStructures.mesh(&uses, 1000, 5);
        assert_eq!(mesh.types[&(1, 2)], 5);
        assert_eq!(mesh.others, Some(2));
    }

    #[test]
    fn a_use_is_forgotten_only_in_despair_and_never_below_the_margin() {
        let mut uses = Uses::default();
        uses.note((1, 2), 5, 0);
        let from = |now, despair| PruningPolicy::Patient.mesh(&uses, now, despair).types[&(1, 2)];
        assert_eq!(from(10_000, 0), 7);
        // Not one chance missed, one, and many.
        assert_eq!(from(31, 1), 7);
        assert_eq!(from(32, 1), 6);
        assert_eq!(from(256, 1), 3);
        assert_eq!(from(1 << 20, 1), 2);
        // Until nothing is left but what has not been used for long.
        assert_eq!((from(0, 2), from(1 << 20, 2)), (5, 2));
    }

    /// A cache whose entries are looked at every 32 collections, until one day nobody does.
    #[test]
    fn phases_end() {
        let mut uses = Uses::default();
        for now in (0..320).step_by(32) {
            uses.note((1, 2), 5, now);
        }
        let patient = |now| PruningPolicy::Patient.mesh(&uses, now, 1).types[&(1, 2)];
        assert_eq!(patient(300), 7);
        assert!(patient(700) <= 4);
        let papers = PruningPolicy::DataStructures.mesh(&uses, 1 << 40, 9);
        assert_eq!(papers.types[&(1, 2)], 7);
    }

    /// References of one type in a simulated program: how much more hangs on them after each collection, and when they
    /// are read.
    struct Kind {
        edge: EdgeType,
        grows_by: usize,
        is_read: fn(u64) -> bool,
    }

    const LEAK: EdgeType = (1, 2);
    const RARE: EdgeType = (3, 4);
    const PHASE: EdgeType = (5, 6);
    const BUSY: EdgeType = (7, 8);
    const KINDS: [Kind; 4] = [
        // Nobody ever reads it.
        Kind {
            edge: LEAK,
            grows_by: 1,
            is_read: |_| false,
        },
        // Larger, but needed every eighth collection.
        Kind {
            edge: RARE,
            grows_by: 3,
            is_read: |now| now.is_multiple_of(8),
        },
        // Needed every 32nd, until a phase of the program is over.
        Kind {
            edge: PHASE,
            grows_by: 2,
            is_read: |now| now < 200 && now.is_multiple_of(32),
        },
        Kind {
            edge: BUSY,
            grows_by: 9,
            is_read: |_| true,
        },
    ];

    /// Runs the program without a heap. Whenever `limit` is exceeded a policy prunes, as often as it finds something.
    /// Returns what was cut, and how long that had not been read.
    fn simulate(policy: PruningPolicy, collections: u64, limit: usize) -> Vec<(EdgeType, u64)> {
        let mut uses = Uses::default();
        let (mut bytes, mut read_at) = ([0; 4], [0u64; 4]);
        let mut cut = Vec::new();
        // About the logarithm of the collections since it was read.
        let staleness = |now: u64, at: u64| match (now - at).checked_ilog2() {
            Some(log) => (log as u8 + 1).min(7),
            None => 0,
        };
        for now in 1..=collections {
            for (i, kind) in KINDS.iter().enumerate() {
                if (kind.is_read)(now) {
                    uses.note(kind.edge, staleness(now, read_at[i]), now);
                    read_at[i] = now;
                }
                bytes[i] += kind.grows_by;
            }
            // What is read all the time is live, and no leak.
            bytes[3] = bytes[3].min(50);
            let mut despair = 0;
            while bytes.iter().sum::<usize>() > limit && despair <= policy.patience() {
                let mesh = policy.mesh(&uses, now, despair);
                let stale = |i: usize| staleness(now, read_at[i]);
                let types = (0..4).filter_map(|i| {
                    let edge = KINDS[i].edge;
                    let from = mesh.from(edge).filter(|&from| stale(i) >= from)?;
                    Some(Candidate {
                        edge,
                        from,
                        bytes: bytes[i],
                        own_bytes: bytes[i],
                    })
                });
                let types: Vec<_> = types.filter(|it| it.bytes > 0).collect();
                let stalest = (0..4).map(stale).max().unwrap();
                match policy.choose(&Candidates { types, stalest }) {
                    Some(Choice::Type { edge, .. }) => {
                        let i = KINDS.iter().position(|it| it.edge == edge).unwrap();
                        cut.push((edge, now - read_at[i]));
                        bytes[i] = 0;
                    }
                    Some(Choice::Level(_)) => unreachable!("not of these policies"),
                    None => despair += 1,
                }
            }
        }
        cut
    }

    #[test]
    fn what_is_read_again_is_never_cut_and_what_is_not_is() {
        for policy in [
            PruningPolicy::Patient,
            PruningPolicy::DataStructures,
            PruningPolicy::IndividualReferences,
        ] {
            // In the first phase, all but the leak is read again.
            let cut = simulate(policy, 190, 1100);
            assert!(cut.iter().all(|it| it.0 == LEAK), "{policy:?}: {cut:?}");
            assert!(!cut.is_empty(), "{policy:?}");
        }
    }

    #[test]
    fn only_the_patient_policy_finds_out_that_a_phase_is_over() {
        let kinds = |policy| -> Vec<EdgeType> {
            let cut = simulate(policy, 2000, 7000);
            cut.into_iter().map(|it| it.0).collect()
        };
        let papers = kinds(PruningPolicy::DataStructures);
        assert!(papers.iter().all(|&it| it == LEAK), "{papers:?}");
        let ours = kinds(PruningPolicy::Patient);
        assert!(ours.contains(&PHASE) && !ours.contains(&RARE), "{ours:?}");
    }
}
