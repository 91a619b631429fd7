//! DualLeak, from IBM developerWorks: two collections grow, and the program goes through both. All that is leaked
//! is in use, and nothing can be done. Kept: the two collections, and that they are read.

use heaphound::{Bytes, Header, Invalidated, Managed, Mutator, Ref, Slot};

use super::{Death, Each, Work, WorkingSet};

#[derive(Managed)]
#[repr(C)]
struct Collections {
    header: Header,
    vector: Slot<Element>,
    names: Slot<Name>,
}

#[derive(Managed)]
#[repr(C)]
struct Element {
    header: Header,
    data: Ref<Bytes>,
    next: Slot<Element>,
}

#[derive(Managed)]
#[repr(C)]
struct Name {
    header: Header,
    data: Ref<Bytes>,
    next: Slot<Name>,
}

/// Bytes that each element and each name has.
const DATA: usize = 200;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work<'_>, each: Each<'_>) -> Result<(), Death> {
    let used = WorkingSet::new(m, work)?;
    let both = m.alloc(CollectionsInit {
        vector: None,
        names: None,
    })?;
    loop {
        for _ in 0..work.part(512, DATA + size_of::<Element>()) {
            let mut m = m.scope();
            let next = m[both].vector.try_get()?.map(|it| m.local(it));
            let data = m.alloc_bytes(&[0; DATA])?;
            let element = m.alloc(ElementInit {
                data,
                next: next.filter(|_| work.leak),
            })?;
            m[both].vector.set(Some(&m[element]));
            let next = m[both].names.try_get()?.map(|it| m.local(it));
            let data = m.alloc_bytes(&[0; DATA])?;
            let name = m.alloc(NameInit {
                data,
                next: next.filter(|_| work.leak),
            })?;
            m[both].names.set(Some(&m[name]));
        }
        m[both].read()?;
        m[used].read()?;
        if !each() {
            return Ok(());
        }
    }
}

impl Collections {
    fn read(&self) -> Result<(), Invalidated> {
        let mut element = self.vector.try_get()?;
        while let Some(it) = element {
            it.data.try_get()?;
            element = it.next.try_get()?;
        }
        let mut name = self.names.try_get()?;
        while let Some(it) = name {
            it.data.try_get()?;
            name = it.next.try_get()?;
        }
        Ok(())
    }
}
