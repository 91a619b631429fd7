//! A pool of buffers that are never given back to the heap. Demand is mostly low; the higher it
//! is, the rarer, so that the pool grows ever more rarely.

use heaphound::{Bytes, Local, Mutator, Ref, Var};

use super::*;
use crate::programs::queue::Queue;

class!(BufferPool { free: Ref<Queue>, busy: Ref<Queue> });
class!(Buffer { uses: Var<u64>, bytes: Ref<Bytes> });

/// The highest demand that there is.
const HIGHEST: u64 = 700;
/// Bytes of a buffer.
const BYTES: usize = 400;
/// Lines that go through buffers in a round.
const LINES: usize = 180;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(119), Outcome::default());
    let (free, busy) = (Queue::new(&mut m), Queue::new(&mut m));
    let pool = m.alloc(BufferPoolInit { free, busy }).expect("room");
    m.static_root::<BufferPool>("pool").set(&m, Some(&m[pool]));
    for _ in 0..work.rounds {
        let demands = std::iter::repeat_with(|| random.below(HIGHEST));
        let demand = demands.take(4).min().expect("four of them");
        for _ in 0..demand as usize * work.scale {
            let mut m = m.scope();
            let buffer = take(&mut m, free);
            m[buffer].uses.set(m[buffer].uses.get() + 1);
            Queue::push(&mut m, busy, buffer);
        }
        write_lines(&mut m, LINES * work.scale, &mut outcome);
        while m[busy].len() > 0 {
            let mut m = m.scope();
            let buffer = m.local(m[busy].pop::<Buffer>().expect("counted"));
            outcome.note(m[buffer].uses.get());
            Queue::push(&mut m, free, buffer);
        }
        each(&mut m);
    }
    outcome
}

/// Returns a buffer that is free, or a new one.
fn take<'a>(m: &mut Mutator<'a>, free: Local<'_, Queue>) -> Local<'a, Buffer> {
    if let Some(buffer) = m[free].pop::<Buffer>() {
        return m.local(buffer);
    }
    m.scoped(|m| {
        let bytes = m.alloc_bytes(&vec![0; BYTES])?;
        m.alloc(BufferInit { uses: 0, bytes })
    })
    .expect("room")
}
