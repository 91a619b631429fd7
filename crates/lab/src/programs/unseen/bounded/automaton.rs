//! A population in two buffers: each step makes the back one of the front one, and swaps them. It
//! starts small and grows until it is crowded; then it goes up and down.

use heaphound::{Local, Mutator, Ref, RefArray};

use super::*;

class!(World { front: Ref<State>, back: Ref<State> });
class!(State { step: u64, beings: Ref<RefArray<Being>> });
class!(Being {
    place: u64,
    age: u64,
    energy: u64
});

/// Beings at the start, and when it is crowded.
const FIRST: usize = 60;
const CROWDED: u64 = 1_500;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(117), Outcome::default());
    let first: Vec<_> = (0..FIRST * work.scale).map(|at| (at as u64, 0)).collect();
    let world = m.scoped(|m| {
        let (front, back) = (state(m, 0, &first), state(m, 0, &[]));
        m.alloc(WorldInit { front, back })
    });
    let world = world.expect("room");
    m.static_root::<World>("world").set(&m, Some(&m[world]));
    for step in 1..=work.rounds {
        let mut m = m.scope();
        let front = m.local(m[world].front.get());
        let beings = m[front].beings.get();
        let crowd = beings.len() as u64;
        let mut next = Vec::new();
        for being in beings.iter().map(|it| it.get().expect("alive")) {
            outcome.note(being.place ^ being.age ^ being.energy);
            // Some die of bad luck, more the more there are.
            let dies = random.below(100 * CROWDED * work.scale as u64) < 9 * crowd;
            if !dies {
                next.push((being.place.wrapping_add(random.below(9)), being.age + 1));
            }
            if random.below(100) < 9 {
                next.push((being.place, 0));
            }
        }
        let back = state(&mut m, step as u64, &next);
        m[world].back.set(&m[front]);
        m[world].front.set(&m[back]);
        each(&mut m);
    }
    outcome
}

fn state<'a>(m: &mut Mutator<'a>, step: u64, beings: &[(u64, u64)]) -> Local<'a, State> {
    m.scoped(|m| {
        let all = m.alloc_refs::<Being>(beings.len())?;
        for (at, &(place, age)) in beings.iter().enumerate() {
            let mut m = m.scope();
            let energy = place % 17;
            let being = m.alloc(BeingInit { place, age, energy })?;
            m[all][at].set(Some(&m[being]));
        }
        m.alloc(StateInit { step, beings: all })
    })
    .expect("room")
}
