//! SwapLeak, from the Sun Developer Network: an inner class refers to the object that it was made in, though
//! nobody wrote so. Objects in an array swap their `Rep`s with those of new objects; by way of its `Rep` each
//! then holds the new object, which holds the old `Rep`, and so on. Kept whole, beside a working set; without the leak
//! `Rep` is static.

use heaphound::{Header, Local, Managed, Mutator, RefArray, Slot};

use super::{Death, Each, Work, WorkingSet};

#[derive(Managed)]
#[repr(C)]
struct SObject {
    header: Header,
    rep: Slot<Rep>,
}

#[derive(Managed)]
#[managed(name = "SObject$Rep")]
#[repr(C)]
struct Rep {
    header: Header,
    number: u64,
    outer: Slot<SObject>,
}

pub(super) fn run(m: &mut Mutator<'_>, work: &Work<'_>, each: Each<'_>) -> Result<(), Death> {
    let used = WorkingSet::new(m, work)?;
    let count = work.part(20, size_of::<SObject>() + size_of::<Rep>());
    let objects: Local<'_, RefArray<SObject>> = m.alloc_refs(count)?;
    for place in 0..count {
        let mut m = m.scope();
        let object = SObject::new(&mut m, work.leak)?;
        m[objects][place].set(Some(&m[object]));
    }
    loop {
        for place in 0..count {
            let mut m = m.scope();
            let new = SObject::new(&mut m, work.leak)?;
            if let Some(kept) = m[objects][place].try_get()? {
                let (mine, other) = (kept.rep.try_get()?, m[new].rep.try_get()?);
                kept.rep.set(other);
                m[new].rep.set(mine);
            }
        }
        m[used].read()?;
        if !each() {
            return Ok(());
        }
    }
}

impl SObject {
    fn new<'a>(m: &mut Mutator<'a>, inner: bool) -> Result<Local<'a, SObject>, Death> {
        m.scoped(|m| {
            let object = m.alloc(SObjectInit { rep: None })?;
            let rep = m.alloc(RepInit {
                number: 0,
                outer: inner.then_some(object),
            })?;
            m[object].rep.set(Some(&m[rep]));
            Ok(object)
        })
    }
}
