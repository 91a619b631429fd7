//! A report in three phases: rows are read into a list, then indexed in a tree, then added up in a
//! table. What a phase makes grows to a limit, is worked with for a while, and is dropped when
//! the next begins.

use heaphound::{Local, Mutator, Object, Ref, Slot, Str};

use super::*;
use crate::programs::table::HashTable;

class!(Row { number: u64, text: Ref<Str>, next: Slot<Row> });
class!(IndexNode { key: u64, term: Ref<Str>, left: Slot<IndexNode>, right: Slot<IndexNode> });
class!(Total { label: Ref<Str> });

/// Rounds of a phase, those in which it grows, and by how many objects.
const PHASE: usize = 160;
const GROWS: usize = 60;
const MADE: usize = 40;
/// Lines that are written in a round.
const LINES: usize = 150;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(113), Outcome::default());
    let phase = m.static_root::<Object>("phase");
    for round in 0..work.rounds {
        if round % PHASE == 0 {
            phase.clear(&m);
        }
        for _ in 0..MADE * work.scale {
            if round % PHASE >= GROWS {
                break;
            }
            let mut m = m.scope();
            let key = random.below(1 << 40);
            let text = m
                .alloc_str(&format!("the text of number {key}"))
                .expect("room");
            let before = phase.get(&m).map(|it| m.local(it));
            let now = match round / PHASE % 3 {
                0 => read(&mut m, before, key, text),
                1 => index(&mut m, before, key, text),
                _ => add_up(&mut m, before, key, text),
            };
            phase.set(&m, Some(&m[now]));
        }
        write_lines(&mut m, LINES * work.scale, &mut outcome);
        each(&mut m);
    }
    outcome
}

type Before<'a> = Option<Local<'a, Object>>;

/// Returns a list with one row more.
fn read<'a>(
    m: &mut Mutator<'a>,
    before: Before<'_>,
    number: u64,
    text: Local<'_, Str>,
) -> Local<'a, Object> {
    let next = before.map(|it| m.local(m[it].downcast::<Row>().expect("a list")));
    let text = m.local(&m[text]);
    let row = m.alloc(RowInit { number, text, next }).expect("room");
    row.upcast(m)
}

/// Returns a tree with one node more.
fn index<'a>(
    m: &mut Mutator<'a>,
    before: Before<'_>,
    key: u64,
    term: Local<'_, Str>,
) -> Local<'a, Object> {
    let (left, right, term) = (None, None, m.local(&m[term]));
    let init = IndexNodeInit {
        key,
        term,
        left,
        right,
    };
    let node = m.alloc(init).expect("room");
    let Some(root) = before else {
        return node.upcast(m);
    };
    let mut at = m[root].downcast::<IndexNode>().expect("a tree");
    loop {
        let slot = if key < at.key { &at.left } else { &at.right };
        match slot.get() {
            Some(below) => at = below,
            None => {
                slot.set(Some(&m[node]));
                return m.local(&m[root]);
            }
        }
    }
}

/// Returns a table with one total more.
fn add_up<'a>(
    m: &mut Mutator<'a>,
    before: Before<'_>,
    key: u64,
    label: Local<'_, Str>,
) -> Local<'a, Object> {
    let table = match before {
        Some(table) => m.local(m[table].downcast::<HashTable>().expect("a table")),
        None => HashTable::new(m),
    };
    let label = m.local(&m[label]);
    let total = m.alloc(TotalInit { label }).expect("room");
    HashTable::insert(m, table, key, total);
    table.upcast(m)
}
