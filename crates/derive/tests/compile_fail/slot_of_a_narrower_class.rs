//! A place that can be written is of exactly its class: what is put in as a function
//! for static strings must not come out as one for any string.

use heaphound::{Header, Local, Managed, Ref, RefArray, Slot, Static, WeakMap, WeakSlot};

#[derive(Managed)]
#[repr(C)]
struct Holder<F: Send + Sync + 'static> {
    header: Header,
    #[managed(owned)]
    f: F,
}

type Any = Holder<for<'s> fn(&'s str)>;
type Narrow = Holder<fn(&'static str)>;

fn slot(it: &Slot<Any>) -> &Slot<Narrow> {
    it
}

fn reference(it: &Ref<Any>) -> &Ref<Narrow> {
    it
}

fn weak_slot(it: &WeakSlot<Any>) -> &WeakSlot<Narrow> {
    it
}

fn array(it: &RefArray<Any>) -> &RefArray<Narrow> {
    it
}

fn weak_map(it: &WeakMap<Any, Any>) -> &WeakMap<Any, Narrow> {
    it
}

fn static_root(it: &Static<Any>) -> &Static<Narrow> {
    it
}

fn local<'a>(it: Local<'a, Any>) -> Local<'a, Narrow> {
    it
}

fn main() {}
