//! A cache of a fixed number of values; a hand goes round, spares those that were used since it came by, and
//! drops the others. Values are of very different sizes, and larger in some seasons.

use heaphound::{Bytes, Mutator, Ref, RefArray, Var};

use super::*;
use crate::programs::table::HashTable;

class!(ClockCache { ring: Ref<RefArray<Value>>, table: Ref<HashTable> });
class!(Value { key: u64, used: Var<u64>, bytes: Ref<Bytes> });

const PLACES: usize = 700;
const KEYS: u64 = 4_000;
/// Requests of a round, and rounds of a season.
const REQUESTS: usize = 100;
const SEASON: usize = 45;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(112), Outcome::default());
    let places = PLACES * work.scale;
    let ring = m.alloc_refs::<Value>(places).expect("room");
    let table = HashTable::new(&mut m);
    let cache = m.alloc(ClockCacheInit { ring, table }).expect("room");
    m.static_root::<ClockCache>("cache")
        .set(&m, Some(&m[cache]));
    let (mut hand, mut larger) = (0, 1);
    for round in 0..work.rounds {
        if round % SEASON == 0 {
            larger = 1 + random.index(3);
        }
        for _ in 0..REQUESTS * work.scale {
            let mut m = m.scope();
            let key = random.skewed(KEYS * work.scale as u64);
            if let Some(found) = m[table].get::<Value>(key) {
                found.used.set(1);
                outcome.note(found.bytes.get().len() as u64);
                continue;
            }
            let old = loop {
                hand = (hand + 1) % places;
                match m[ring][hand].get() {
                    Some(old) if old.used.get() == 1 => old.used.set(0),
                    old => break old,
                }
            };
            if let Some(old) = old {
                assert!(m[table].remove(old.key), "it is known");
            }
            // Each size half as often as the next smaller one.
            let size = 24 << random.below(128).trailing_zeros().min(6);
            let bytes = m.alloc_bytes(&vec![5; size * larger]).expect("room");
            let value = m
                .alloc(ValueInit {
                    key,
                    used: 0,
                    bytes,
                })
                .expect("room");
            HashTable::insert(&mut m, table, key, value);
            m[ring][hand].set(Some(&m[value]));
        }
        each(&mut m);
    }
    outcome
}
