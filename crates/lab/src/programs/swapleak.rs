//! SwapLeak, from the Sun Developer Network: an inner class refers to the object that it was
//! made in, though nobody wrote so.
//!
//! Objects in an array swap their `Rep`s with new ones, which should then be garbage. With the
//! bug a `Rep` has its hidden reference; repaired, the inner class is static.

use heaphound::{Header, Local, Managed, Mutator, Ref, RefArray, Slot};

use super::{Outcome, Size};

/// How many objects, and how often they swap.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Objects in the array.
    pub objects: usize,
    /// How often each swaps with a new one.
    pub swaps: usize,
    /// Whether it asserts.
    pub assertions: bool,
    /// Whether `Rep` is an inner class that is not static.
    pub bug: bool,
}

impl Options {
    /// With assertions.
    pub fn of(size: Size, bug: bool) -> Self {
        let (objects, swaps) = match size {
            Size::Small => (200, 3),
            // One pass, as in the original, for what is swapped away stays; else enough of them
            // for a dozen collections.
            Size::Large => (100_000, if bug { 1 } else { 30 }),
        };
        Self {
            objects,
            swaps,
            assertions: true,
            bug,
        }
    }
}

#[derive(Managed)]
#[repr(C)]
struct SArray {
    header: Header,
    objects: Ref<RefArray<SObject>>,
}

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

/// Fills the array and swaps.
pub fn run(m: &mut Mutator<'_>, options: &Options) -> Outcome {
    let mut m = m.scope();
    let mut outcome = Outcome::default();
    let objects = m.alloc_refs::<SObject>(options.objects).expect("room");
    let array = m.alloc(SArrayInit { objects }).expect("room");
    m.static_root::<SArray>("array").set(&m, Some(&m[array]));
    for number in 0..options.objects {
        let mut m = m.scope();
        let object = SObject::new(&mut m, number, options.bug);
        m[objects][number].set(Some(&m[object]));
    }
    for swap in 0..options.swaps {
        for number in 0..options.objects {
            let mut m = m.scope();
            let object = SObject::new(&mut m, swap + number, options.bug);
            let kept = m[objects][number].get().expect("all are there");
            kept.swap(&m[object]);
            outcome.note(m[object].rep.get().map_or(0, |rep| rep.number));
            if options.assertions {
                m.assert_dead(object);
            }
        }
    }
    outcome
}

impl SObject {
    fn new<'a>(m: &mut Mutator<'a>, number: usize, inner: bool) -> Local<'a, SObject> {
        m.scoped(|m| {
            let object = m.alloc(SObjectInit { rep: None })?;
            let rep = m.alloc(RepInit {
                number: number as u64,
                outer: inner.then_some(object),
            })?;
            m[object].rep.set(Some(&m[rep]));
            Ok::<_, heaphound::OutOfMemory>(object)
        })
        .expect("room")
    }

    fn swap(&self, other: &SObject) {
        let mine = self.rep.get();
        self.rep.set(other.rep.get());
        other.rep.set(mine);
    }
}
