//! A cache of map tiles in a ring: it fills evenly, one place after another, and then the oldest
//! tile is replaced.

use heaphound::{Bytes, Mutator, Ref, RefArray};

use super::*;

class!(Tile { number: u64, pixels: Ref<Bytes> });

/// Tiles of the ring, and those that are new in a round: it takes 150 rounds to fill it.
const TILES: usize = 1_500;
const NEW: usize = 10;
/// Lines that are drawn in a round.
const LINES: usize = 160;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(111), Outcome::default());
    let ring = m.alloc_refs::<Tile>(TILES * work.scale).expect("room");
    m.static_root::<RefArray<Tile>>("ring")
        .set(&m, Some(&m[ring]));
    let mut number = 0;
    for _ in 0..work.rounds {
        for _ in 0..NEW * work.scale {
            let mut m = m.scope();
            let pixels = vec![number as u8; 80 + length(&mut random)];
            let pixels = m.alloc_bytes(&pixels).expect("room");
            let tile = m.alloc(TileInit { number, pixels }).expect("room");
            let place = &m[ring][number as usize % (TILES * work.scale)];
            outcome.note(place.get().map_or(0, |old| old.number));
            place.set(Some(&m[tile]));
            number += 1;
        }
        write_lines(&mut m, LINES * work.scale, &mut outcome);
        each(&mut m);
    }
    outcome
}
