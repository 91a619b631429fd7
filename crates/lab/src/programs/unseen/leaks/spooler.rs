//! A print spooler. In the middle of the run a printer breaks: from then on some jobs fail, and
//! are put aside to be tried again in the next round.

use heaphound::{Bytes, Local, Mutator, Ref, RefArray, Str};

use super::*;
use crate::programs::queue::Queue;

class!(Spooler { waiting: Ref<Queue>, failed: Ref<Queue> });
class!(PrintJob { number: u64, title: Ref<Str>, pages: Ref<RefArray<Bytes>> });

/// Jobs of a round, and those that may wait.
const JOBS: usize = 30;
const WAITING: usize = 300;
/// The round in which the printer breaks, and of how many jobs one then fails.
const BREAKS: usize = 250;
const FAILS: u64 = 12;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(105), Outcome::default());
    let (waiting, failed) = (Queue::new(&mut m), Queue::new(&mut m));
    let spooler = m.alloc(SpoolerInit { waiting, failed }).expect("room");
    m.static_root::<Spooler>("spooler")
        .set(&m, Some(&m[spooler]));
    for round in 0..work.rounds {
        for _ in 0..JOBS * work.scale {
            submit(&mut m.scope(), waiting, &mut random);
        }
        let left = WAITING / 3 + random.index(WAITING * 2 / 3);
        while m[waiting].len() > left * work.scale {
            let mut m = m.scope();
            let job: &PrintJob = m[waiting].pop().expect("it waits");
            outcome.note(job.number);
            if round >= BREAKS && job.number.is_multiple_of(FAILS) {
                let job = m.local(job);
                Queue::push(&mut m, failed, job);
            }
        }
        while !work.leak && m[failed].len() > 0 {
            // The second time they succeed.
            outcome.note(m[failed].pop::<PrintJob>().expect("counted").number);
        }
        each(&mut m);
    }
    outcome
}

fn submit(m: &mut Mutator<'_>, waiting: Local<'_, Queue>, random: &mut Random) {
    let number = random.below(1 << 30);
    let title = m.alloc_str(&format!("job {number}")).expect("room");
    let count = 1 + random.index(6);
    let pages = m.alloc_refs::<Bytes>(count).expect("room");
    for page in 0..count {
        let mut m = m.scope();
        let ink = m.alloc_bytes(&vec![3; 2 * length(random)]);
        m[pages][page].set(Some(&m[ink.expect("room")]));
    }
    let job = m
        .alloc(PrintJobInit {
            number,
            title,
            pages,
        })
        .expect("room");
    Queue::push(m, waiting, job);
}
