//! Results of a costly function are remembered in a table. When that is full it is cleared.

use heaphound::{Bytes, Local, Mutator, Ref, Slot};

use super::*;
use crate::programs::table::HashTable;

class!(Memo { table: Ref<HashTable> });
class!(Answer {
    key: u64,
    digits: Ref<Bytes>,
    /// What it was computed from.
    from: Slot<Answer>,
});

/// Results until the table is full, and how many different ones may be asked for.
const FULL: usize = 1_800;
const KEYS: u64 = 8_000;
/// Questions of a round, and lines that are written.
const ASKED: usize = 25;
const LINES: usize = 140;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(116), Outcome::default());
    let memo = m.scoped(|m| {
        let table = HashTable::new(m);
        m.alloc(MemoInit { table })
    });
    let memo = memo.expect("room");
    m.static_root::<Memo>("memo").set(&m, Some(&m[memo]));
    for _ in 0..work.rounds {
        for _ in 0..ASKED * work.scale {
            let mut m = m.scope();
            if m[memo].table.get().len() >= FULL * work.scale {
                let table = HashTable::new(&mut m);
                m[memo].table.set(&m[table]);
            }
            let key = random.below(KEYS * work.scale as u64);
            let answer = ask(&mut m, memo, key);
            outcome.note(m[answer].digits.get().len() as u64);
        }
        write_lines(&mut m, LINES * work.scale, &mut outcome);
        each(&mut m);
    }
    outcome
}

/// Returns the answer, from the table or computed from one that is there.
fn ask<'a>(m: &mut Mutator<'a>, memo: Local<'_, Memo>, key: u64) -> Local<'a, Answer> {
    m.scoped(|m| {
        let table = m.local(m[memo].table.get());
        if let Some(known) = m[table].get::<Answer>(key) {
            return Ok(m.local(known));
        }
        // Not what hangs on others, or one would hold the answers of tables long gone.
        let from = m[table].get::<Answer>(key / 2);
        let from = from.filter(|it| it.from.is_null()).map(|it| m.local(it));
        let digits = m.alloc_bytes(&vec![9; [40, 110][key as usize % 2]])?;
        let answer = m.alloc(AnswerInit { key, digits, from })?;
        HashTable::insert(m, table, key, answer);
        Ok::<_, heaphound::OutOfMemory>(answer)
    })
    .expect("room")
}
