//! Sessions in a map that is never changed but made anew: every ten rounds a new one is built of
//! the old entries and of the sessions begun since, and what has expired should stay behind.

use heaphound::{Bytes, Local, Mutator, Ref, RefArray, Slot, Str, Var};

use super::*;
use crate::programs::queue::Queue;

class!(SessionRegistry { map: Ref<SessionMap>, begun: Ref<Queue> });
class!(SessionMap { count: Var<u64>, cells: Ref<RefArray<SessionCell>> });
class!(SessionCell { session: Ref<Session>, next: Slot<SessionCell> });
class!(Session { id: u64, used: Var<u64>, user: Ref<Str>, data: Ref<Bytes> });

/// Sessions that begin in a round, and lines written for them.
const NEW: usize = 8;
const LINES: usize = 170;
/// Rounds from map to map, and until a session expires.
const REBUILT: u64 = 10;
const EXPIRES: u64 = 40;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let (mut random, mut outcome) = (Random::new(102), Outcome::default());
    let (map, begun) = (new_map(&mut m, 0), Queue::new(&mut m));
    let registry = m.alloc(SessionRegistryInit { map, begun }).expect("room");
    m.static_root::<SessionRegistry>("registry")
        .set(&m, Some(&m[registry]));
    for now in 0..work.rounds as u64 {
        for at in 0..NEW * work.scale {
            let mut m = m.scope();
            let id = now << 16 | at as u64;
            let user = m.alloc_str(&format!("user {id}")).expect("room");
            let data = vec![1; length(&mut random)];
            let data = m.alloc_bytes(&data).expect("room");
            let session = m.alloc(SessionInit {
                id,
                used: now,
                user,
                data,
            });
            Queue::push(&mut m, begun, session.expect("room"));
        }
        if now % REBUILT == REBUILT - 1 {
            let oldest = now.saturating_sub(if work.leak { now } else { EXPIRES });
            rebuild(&mut m.scope(), registry, oldest);
            outcome.note(m[registry].map.get().count.get());
        }
        write_lines(&mut m, LINES * work.scale, &mut outcome);
        each(&mut m);
    }
    outcome
}

fn new_map<'a>(m: &mut Mutator<'a>, room: usize) -> Local<'a, SessionMap> {
    m.scoped(|m| {
        let cells = m.alloc_refs::<SessionCell>(64 + room)?;
        m.alloc(SessionMapInit { count: 0, cells })
    })
    .expect("room")
}

/// Makes a new map of all sessions that were used since.
fn rebuild(m: &mut Mutator<'_>, registry: Local<'_, SessionRegistry>, oldest: u64) {
    let (old, begun) = (&m[registry].map, &m[registry].begun);
    let (old, begun) = (m.local(old.get()), m.local(begun.get()));
    let new = new_map(m, m[old].count.get() as usize + m[begun].len());
    for place in 0..m[old].cells.get().len() {
        let mut m = m.scope();
        let mut cell = m[old].cells.get()[place].get().map(|it| m.local(it));
        while let Some(it) = cell {
            let session = m.local(m[it].session.get());
            if m[session].used.get() >= oldest {
                put(&mut m, new, session);
            }
            cell = m[it].next.get().map(|it| m.local(it));
        }
    }
    while m[begun].len() > 0 {
        let mut m = m.scope();
        let session = m.local(m[begun].pop::<Session>().expect("counted"));
        put(&mut m, new, session);
    }
    m[registry].map.set(&m[new]);
}

fn put(m: &mut Mutator<'_>, map: Local<'_, SessionMap>, session: Local<'_, Session>) {
    let mut m = m.scope();
    let session = m.local(&m[session]);
    let cells = m.local(m[map].cells.get());
    let place = m[session].id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let place = place as usize % m[cells].len();
    let next = m[cells][place].get().map(|it| m.local(it));
    let cell = m.alloc(SessionCellInit { session, next }).expect("room");
    m[cells][place].set(Some(&m[cell]));
    m[map].count.set(m[map].count.get() + 1);
}
