//! Taxi rides, more by day than by night and more from week to weekend. A ride takes a dozen
//! rounds, more or less.

use heaphound::{Mutator, Ref, RefArray, Slot, Str};

use super::*;

class!(Ride { passenger: Ref<Str>, stops: Slot<Stop>, next: Slot<Ride> });
class!(Stop { at: u64, street: Ref<Str>, next: Slot<Stop> });

/// Rounds of a day, and of a week.
const DAY: usize = 60;
const WEEK: usize = 420;
/// Rides that begin in a round when there are most.
const RIDES: usize = 120;
/// The longest ride, in rounds.
const LONGEST: usize = 24;
/// Positions that are written in a round.
const LINES: usize = 60;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(115), Outcome::default());
    // By the round in which they end.
    let ending = m.alloc_refs::<Ride>(LONGEST).expect("room");
    m.static_root::<RefArray<Ride>>("ending")
        .set(&m, Some(&m[ending]));
    for round in 0..work.rounds {
        let day = level(round, DAY) * level(round, WEEK);
        let load = 0.15 + 0.85 * day;
        for _ in 0..(RIDES as f64 * load * work.scale as f64) as usize {
            let mut m = m.scope();
            let passenger = format!("passenger {}", random.below(100_000));
            let passenger = m.alloc_str(&passenger).expect("room");
            let mut stops = None;
            for at in 0..1 + random.below(3) {
                let street = format!("street {}", random.below(100));
                let (street, next) = (m.alloc_str(&street).expect("room"), stops);
                stops = Some(m.alloc(StopInit { at, street, next }).expect("room"));
            }
            let end = (round + 1 + random.index(LONGEST - 1)) % LONGEST;
            let next = m[ending][end].get().map(|it| m.local(it));
            let ride = m.alloc(RideInit {
                passenger,
                stops,
                next,
            });
            m[ending][end].set(Some(&m[ride.expect("room")]));
        }
        let mut ended = m[ending][round % LONGEST].get();
        while let Some(ride) = ended {
            outcome.note(ride.stops.get().map_or(0, |it| it.at));
            ended = ride.next.get();
        }
        m[ending][round % LONGEST].clear();
        write_lines(&mut m, LINES * work.scale, &mut outcome);
        each(&mut m);
    }
    outcome
}

/// Up to one in the middle of a period, and down to nothing again.
fn level(round: usize, period: usize) -> f64 {
    let half = period as f64 / 2.0;
    1.0 - ((round % period) as f64 - half).abs() / half
}
