//! A list of objects in an array that doubles, as Java's `ArrayList`.

use heaphound::{Header, Local, Managed, Mutator, Object, Ref, RefArray, Var};

/// The list.
#[derive(Managed)]
#[repr(C)]
pub(super) struct ArrayList {
    header: Header,
    count: Var<u64>,
    elements: Ref<RefArray<Object>>,
}

impl ArrayList {
    /// Returns an empty list.
    pub(super) fn new<'a>(m: &mut Mutator<'a>) -> Local<'a, ArrayList> {
        m.scoped(|m| {
            let elements = m.alloc_refs::<Object>(10)?;
            m.alloc(ArrayListInit { count: 0, elements })
        })
        .expect("room")
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.count.get() as usize
    }

    /// One of them.
    pub(super) fn get<T: Managed>(&self, at: usize) -> Option<&T> {
        self.elements.get()[at].get()?.downcast()
    }

    /// Puts another in the place of one.
    pub(super) fn set<T: Managed>(&self, at: usize, value: &T) {
        self.elements.get()[at].set(Some(value.as_object()));
    }

    /// Adds one at the end.
    pub(super) fn push<T: Managed>(
        m: &mut Mutator<'_>,
        list: Local<'_, ArrayList>,
        value: Local<'_, T>,
    ) {
        let mut m = m.scope();
        let count = m[list].len();
        if count == m[list].elements.get().len() {
            let more = m.alloc_refs::<Object>(count * 2).expect("room");
            let old = m[list].elements.get();
            m[more].copy_from(0, old, 0..count);
            m[list].elements.set(&m[more]);
        }
        m[list].elements.get()[count].set(Some(m[value].as_object()));
        m[list].count.set(count as u64 + 1);
    }

    /// Takes one out; those behind it move up.
    pub(super) fn remove(&self, at: usize) {
        let elements = self.elements.get();
        let last = self.len() - 1;
        for place in at..last {
            elements[place].set(elements[place + 1].get());
        }
        elements[last].set(None);
        self.count.set(last as u64);
    }
}
