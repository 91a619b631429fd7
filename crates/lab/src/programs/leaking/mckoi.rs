//! Mckoi, a database: threads that serve connections never end. What their stacks refer to counts as used, and is
//! never pruned; but what hangs on that can be. Kept: one thread an iteration, whose stack holds a
//! connection's buffer and a session, on which a dead cache hangs.

use std::sync::mpsc::{Receiver, Sender, channel};

use heaphound::{Bytes, Header, Heap, Managed, Mutator, Ref, RefArray};

use super::{Death, Each, Work, WorkingSet};

#[derive(Managed)]
#[repr(C)]
struct Session {
    header: Header,
    cache: Ref<RefArray<Bytes>>,
}

/// Bytes of a page of the cache.
const PAGE: usize = 1000;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work<'_>, each: Each<'_>) -> Result<(), Death> {
    let used = WorkingSet::new(m, work)?;
    let Work { heap, leak, .. } = *work;
    // Of what a thread holds, its stack holds five eighths itself.
    let buffer = work.part(96, 8) * 5;
    let pages = (work.part(96, 8) * 3).div_ceil(PAGE);
    std::thread::scope(|scope| {
        // The threads end when this function does, and drops it.
        let mut connections = Vec::new();
        loop {
            let (served, answer) = channel();
            let (close, closed) = channel();
            scope.spawn(move || serve(heap, buffer, pages, served, closed));
            if leak {
                connections.push(close);
            }
            let answer = m.blocked(|| answer.recv());
            answer.unwrap_or(Err(Death::OutOfMemory))?;
            m[used].read()?;
            if !each() {
                return Ok(());
            }
        }
    })
}

/// Serves a connection, and waits until it is closed.
fn serve(
    heap: &Heap,
    buffer: usize,
    pages: usize,
    served: Sender<Result<(), Death>>,
    closed: Receiver<()>,
) {
    let Ok(mut m) = heap.attach("connection") else {
        return;
    };
    let result = fill(&mut m, buffer, pages);
    m.blocked(|| {
        // Nobody hears it when the program is over, nor is anything ever sent but the end.
        let _ = served.send(result);
        let _ = closed.recv();
    });
}

/// Leaves a buffer and a session on the stack.
fn fill(m: &mut Mutator<'_>, buffer: usize, pages: usize) -> Result<(), Death> {
    m.alloc_bytes(&vec![0; buffer])?;
    m.scoped(|m| {
        let cache = m.alloc_refs::<Bytes>(pages)?;
        for place in 0..pages {
            let mut m = m.scope();
            let page = m.alloc_bytes(&[0; PAGE])?;
            m[cache][place].set(Some(&m[page]));
        }
        m.alloc(SessionInit { cache })
    })?;
    Ok(())
}
