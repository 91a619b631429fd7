//! A queue of objects: a linked list with both its ends.

use heaphound::{Header, Local, Managed, Mutator, Object, Ref, Slot, Var};

/// The queue.
#[derive(Managed)]
#[repr(C)]
pub(super) struct Queue {
    header: Header,
    count: Var<u64>,
    head: Slot<Link>,
    tail: Slot<Link>,
}

#[derive(Managed)]
#[managed(name = "Queue$Link")]
#[repr(C)]
struct Link {
    header: Header,
    value: Ref<Object>,
    next: Slot<Link>,
}

impl Queue {
    /// Returns an empty queue.
    pub(super) fn new<'a>(m: &mut Mutator<'a>) -> Local<'a, Queue> {
        let init = QueueInit {
            count: 0,
            head: None,
            tail: None,
        };
        m.alloc(init).expect("room")
    }

    /// Returns how many wait.
    pub(super) fn len(&self) -> usize {
        self.count.get() as usize
    }

    /// Adds an object at the end.
    pub(super) fn push<T: Managed>(
        m: &mut Mutator<'_>,
        queue: Local<'_, Queue>,
        value: Local<'_, T>,
    ) {
        let mut m = m.scope();
        let value = value.upcast(&m);
        let link = m.alloc(LinkInit { value, next: None }).expect("room");
        let queue = &m[queue];
        match queue.tail.get() {
            Some(last) => last.next.set(Some(&m[link])),
            None => queue.head.set(Some(&m[link])),
        }
        queue.tail.set(Some(&m[link]));
        queue.count.set(queue.count.get() + 1);
    }

    /// Takes the first one out.
    pub(super) fn pop<T: Managed>(&self) -> Option<&T> {
        let first = self.head.get()?;
        self.head.set(first.next.get());
        if first.next.is_null() {
            self.tail.clear();
        }
        self.count.set(self.count.get() - 1);
        first.value.get().downcast()
    }
}
