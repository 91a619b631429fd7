//! Batch jobs, one after another: each reads records, groups them, and writes a report. Jobs differ
//! in size, so that the teeth of the saw do.

use heaphound::{Header, Local, Managed, Mutator, Ref, Slot, Str, Var};

use super::{Each, Work};
use crate::programs::table::HashTable;
use crate::programs::{Outcome, Random};

#[derive(Managed)]
#[repr(C)]
struct Job {
    header: Header,
    records: Slot<Record>,
    groups: Ref<HashTable>,
}

#[derive(Managed)]
#[repr(C)]
struct Record {
    header: Header,
    key: u64,
    amount: u64,
    text: Ref<Str>,
    next: Slot<Record>,
}

#[derive(Managed)]
#[repr(C)]
struct Group {
    header: Header,
    sum: Var<u64>,
    first: Ref<Record>,
}

#[derive(Managed)]
#[repr(C)]
struct Summary {
    header: Header,
    text: Ref<Str>,
}

/// Rounds that a job takes at least and at most.
const SHORTEST: usize = 6;
const LONGEST: usize = 45;
/// Records that are read in a round.
const RECORDS: usize = 160;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let mut outcome = Outcome::default();
    let mut random = Random::new(61);
    let current = m.static_root::<Job>("job");
    let last = m.static_root::<Summary>("last");
    let mut rounds = 0;
    while rounds < work.rounds {
        let length = SHORTEST + random.index(LONGEST - SHORTEST);
        let mut m = m.scope();
        let groups = HashTable::new(&mut m);
        let job = m.alloc(JobInit {
            records: None,
            groups,
        });
        let job = job.expect("room");
        current.set(&m, Some(&m[job]));
        for _ in 0..length {
            for _ in 0..RECORDS * work.scale {
                read(&mut m.scope(), job, work.scale as u64, &mut random);
            }
            rounds += 1;
            each(&mut m);
        }
        let mut sum = 0;
        let mut record = m[job].records.get();
        while let Some(it) = record {
            sum += it.amount;
            record = it.next.get();
        }
        outcome.note(sum);
        let text = format!("{} groups, {sum}", m[groups].len());
        let text = m.alloc_str(&text).expect("room");
        let summary = m.alloc(SummaryInit { text }).expect("room");
        last.set(&m, Some(&m[summary]));
        current.clear(&m);
    }
    outcome
}

/// Reads a record; half of them are kept, the others only counted.
fn read(m: &mut Mutator<'_>, job: Local<'_, Job>, scale: u64, random: &mut Random) {
    let key = random.below(300 * scale);
    let text = m.alloc_str(&format!("record of {key}")).expect("room");
    let keeps = random.below(2) == 0;
    let next = m[job].records.get().filter(|_| keeps).map(|it| m.local(it));
    let record = m.alloc(RecordInit {
        key,
        amount: random.below(1_000),
        text,
        next,
    });
    let record = record.expect("room");
    if let Some(group) = m[job].groups.get().get::<Group>(key) {
        group.sum.set(group.sum.get() + m[record].amount);
    } else {
        let first = record;
        let sum = m[record].amount;
        let group = m.alloc(GroupInit { sum, first }).expect("room");
        let groups = m.local(m[job].groups.get());
        HashTable::insert(m, groups, key, group);
    }
    if keeps {
        m[job].records.set(Some(&m[record]));
    }
}
