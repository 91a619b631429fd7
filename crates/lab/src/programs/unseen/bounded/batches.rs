//! Batches of invoices, the last one kept to compare with. Each is a little larger than the one
//! before, up to a size, and then a little smaller again.

use heaphound::{Mutator, Ref, Slot, Str, Var};

use super::*;

class!(Batch { size: Var<u64>, invoices: Slot<Invoice> });
class!(Invoice { amount: u64, address: Ref<Str>, next: Slot<Invoice> });

/// Rounds that the largest batch takes to read; each is read in one more than the last.
const LARGEST: usize = 16;
/// Invoices that are read in a round, and lines that are written.
const INVOICES: usize = 100;
const LINES: usize = 110;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(114), Outcome::default());
    let current = m.static_root::<Batch>("current");
    let previous = m.static_root::<Batch>("previous");
    let (mut rounds, mut number) = (0, 0);
    while rounds < work.rounds {
        let mut m = m.scope();
        let size = 1 + LARGEST - (number % (2 * LARGEST)).abs_diff(LARGEST);
        number += 1;
        let batch = m
            .alloc(BatchInit {
                size: 0,
                invoices: None,
            })
            .expect("room");
        previous.set(&m, current.get(&m));
        current.set(&m, Some(&m[batch]));
        // What has been read is then looked through, half as long.
        for round in 0..size + size / 2 {
            for _ in 0..INVOICES * work.scale {
                if round >= size {
                    break;
                }
                let mut m = m.scope();
                let amount = random.below(10_000);
                let address = m.alloc_str(&format!("{amount} Long Street, Town"));
                let address = address.expect("room");
                let next = m[batch].invoices.get().map(|it| m.local(it));
                let init = InvoiceInit {
                    amount,
                    address,
                    next,
                };
                let invoice = m.alloc(init).expect("room");
                m[batch].invoices.set(Some(&m[invoice]));
                m[batch].size.set(m[batch].size.get() + 1);
            }
            write_lines(&mut m, LINES * work.scale, &mut outcome);
            rounds += 1;
            each(&mut m);
        }
        let size = m[batch].size.get();
        outcome.note(size ^ previous.get(&m).map_or(0, |it| it.size.get()));
    }
    outcome
}
