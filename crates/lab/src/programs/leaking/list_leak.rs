//! ListLeak, from the Sun Developer Network: nine lines that add to a list for ever, and never read it. Kept
//! whole, beside a working set.

use heaphound::{Header, Managed, Mutator, Slot};

use super::{Death, Each, Work, WorkingSet};

#[derive(Managed)]
#[repr(C)]
struct LinkedList {
    header: Header,
    head: Slot<Entry>,
}

#[derive(Managed)]
#[managed(name = "LinkedList$Entry")]
#[repr(C)]
struct Entry {
    header: Header,
    number: u64,
    next: Slot<Entry>,
}

pub(super) fn run(m: &mut Mutator<'_>, work: &Work<'_>, each: Each<'_>) -> Result<(), Death> {
    let used = WorkingSet::new(m, work)?;
    let list = m.alloc(LinkedListInit { head: None })?;
    loop {
        for _ in 0..work.part(256, size_of::<Entry>()) {
            let mut m = m.scope();
            let head = m[list].head.try_get()?.map(|it| m.local(it));
            let entry = m.alloc(EntryInit {
                number: 0,
                next: head.filter(|_| work.leak),
            })?;
            m[list].head.set(Some(&m[entry]));
        }
        m[used].read()?;
        if !each() {
            return Ok(());
        }
    }
}
