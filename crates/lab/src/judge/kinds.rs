//! Kinds of structures, as an ordinary program has them: made by inserting and deleting, and judged by
//! somebody who knows what they are.

#[cfg(test)]
mod fresh;
mod graphs;
mod linked;
mod tables;
mod trees;
mod upward;

use std::collections::BTreeSet;

use super::model::{Class, Model};
use crate::programs::Random;

/// A kind of structure.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) classes: &'static [Class],
    /// How many of the bugs must be found, at least. What is below 90 is not found by counting what each object
    /// refers to: parts of a ring that were swapped, neighbours that are such by their place in an array, children in a
    /// tree where a sentinel stands for nothing, nulls in the first place of a chunk where few chunks were seen.
    pub(super) visible_pct: f64,
    /// Makes one of about that many elements, and returns its holder.
    pub(super) make: fn(&mut Model, usize, &mut Random) -> u32,
    /// Looks at one, given its holder.
    pub(super) judge: fn(&Model, u32, &mut Verdict),
}

/// All kinds.
pub(super) const KINDS: &[&Kind] = &[
    &linked::DOUBLY,
    &linked::CIRCULAR,
    &linked::SKIP,
    &linked::CHUNKS,
    &trees::AVL,
    &trees::TREAP,
    &trees::ROPE,
    &trees::PAIRING,
    &trees::QUAD,
    &trees::TRIE,
    &trees::BTREE,
    &trees::BPLUS,
    &tables::UNION_FIND,
    &tables::HASH_MAP,
    &tables::LRU,
    &tables::ADJACENT,
    &tables::ADJACENCY,
    &tables::EDGES,
    &graphs::MESH,
    &graphs::ENROLMENT,
    &upward::DOCUMENT,
    &upward::SENTINEL,
];

/// Kinds that came later, and that no detector was changed for: how well it does elsewhere.
#[cfg(test)]
pub(super) const FRESH: &[&Kind] = &[
    &fresh::LEFTIST,
    &fresh::BINOMIAL,
    &fresh::INTERVALS,
    &fresh::POOL,
    &fresh::TASKS,
    &fresh::FOLDERS,
    &fresh::MATRIX,
    &fresh::VERSIONS,
];

/// What somebody who knows the structure says of it.
#[derive(Default)]
pub(super) struct Verdict {
    /// Objects that belong to a structure.
    pub(super) seen: BTreeSet<u32>,
    /// Objects whose references are not what they must be.
    pub(super) broken: BTreeSet<u32>,
    /// What a reader of the structure meets, in order. Meaningful only if nothing is broken.
    pub(super) content: Vec<u32>,
}

impl Verdict {
    /// Meets an object of a structure. Returns whether it is the first time; a second time is wrong.
    fn meet(&mut self, object: u32) -> bool {
        let first = self.seen.insert(object);
        if !first {
            self.broken.insert(object);
        }
        first
    }

    /// Says that an object is not as it must be, unless it is.
    fn check(&mut self, object: u32, is_right: bool) {
        if !is_right {
            self.broken.insert(object);
        }
    }
}

/// Judges all structures of a model.
pub(super) fn judge(kind: &Kind, model: &Model) -> Verdict {
    let mut verdict = Verdict::default();
    for &holder in &model.holders {
        verdict.meet(holder);
        (kind.judge)(model, holder, &mut verdict);
    }
    // Nobody who reads the structure meets them, and yet they are held.
    let reachable = model.reachable();
    verdict.broken.extend(reachable.difference(&verdict.seen));
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_right_and_all_of_it_is_seen() {
        for kind in KINDS.iter().chain(FRESH) {
            for seed in 0..60 {
                let random = &mut Random::new(seed);
                let mut model = Model::new(kind.classes);
                let size = [0, 1, 2, 3, 5, 17, 60, 200][seed as usize % 8];
                for _ in 0..1 + seed % 3 {
                    let holder = (kind.make)(&mut model, size, random);
                    model.holders.push(holder);
                }
                let verdict = judge(kind, &model);
                assert!(verdict.broken.is_empty(), "{} of {size}", kind.name);
                assert_eq!(verdict.seen, model.reachable(), "{} of {size}", kind.name);
            }
        }
    }
}
