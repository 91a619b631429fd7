//! Carrying a program out, on a heap and on the model.

use std::slice::Iter;

use heaphound::{
    Heap, HeapBuilder, Local, Managed, Mutator, Object, OutOfMemory, Pinned, Root, Static, Weak,
};

use crate::access;
use crate::check::{Names, check_objects, check_view};
use crate::classes::*;
use crate::model::{
    Entry, Finalizer, Forecast, Id, Model, ModelObject, Reach, RootPlace, SAVED, STATICS, Step,
    WeakEdge,
};
use crate::program::{Keep, New, Op, Pick, Program};

/// What may be expected of a heap.
#[derive(Clone, Default)]
pub struct Setting {
    /// It may collect at any allocation.
    pub collects_by_itself: bool,
    /// See [`Model::exact_finalization`].
    pub exact_finalization: bool,
    /// Where other threads use the heap too: an array that all of them write.
    pub shared: Option<Root<Refs>>,
}

/// Runs a program on a heap of its own, until everything is dropped and finalized.
///
/// # Panics
/// If the heap does something that the model does not.
pub fn run(builder: HeapBuilder, setting: Setting, program: &Program) {
    if let Ok(path) = std::env::var("HEAPHOUND_PROGRAM") {
        // A failure inside a collection aborts: this tells what it was at.
        std::fs::write(path, format!("{program:#?}")).expect("the program can be written");
    }
    let heap = builder.build().expect("the options are fine");
    let afterlife = run_attached(&heap, "main", setting, program);
    afterlife.check();
}

/// What is still to be dropped and finalized when a program has ended.
pub struct Afterlife {
    model: Model,
    log: Log,
}

impl Afterlife {
    /// To be called when nothing of the program is left.
    ///
    /// # Panics
    /// If something was not dropped or finalized, or was twice.
    pub fn check(mut self) {
        for event in self.log.take() {
            absorb(&mut self.model, event, &Reach::default());
        }
        for (id, object) in self.model.objects.iter().enumerate() {
            let left = &object.finalizers;
            assert!(left.is_empty(), "finalizers of object {id} were not called");
            let dropped = object.dropped || !object.is_droppable();
            assert!(dropped, "the memory of object {id} was not dropped");
        }
    }
}

/// Runs a program as a mutator of that name.
///
/// # Panics
/// If the heap does something that the model does not.
pub fn run_attached(heap: &Heap, name: &str, setting: Setting, program: &Program) -> Afterlife {
    let mut m = heap.attach(name).expect("this thread is not attached");
    let static_names: Vec<_> = (0..STATICS).map(|i| format!("{name}-{i}")).collect();
    let statics = static_names.iter().map(|name| m.static_root(name));
    let mut run = Run {
        heap,
        name: name.into(),
        hands: Hands {
            handles: Vec::new(),
            pins: Vec::new(),
            weaks: Vec::new(),
            statics: statics.collect(),
            thread_object: None,
        },
        static_names,
        model: Model {
            exact_finalization: setting.exact_finalization,
            ..Model::default()
        },
        setting,
        dynamic: Dynamic::define(heap),
        log: Log::default(),
        finalizers: 0,
        shared_writes: 0,
        surprised: false,
    };
    run.scope(&mut m.scope(), Vec::new(), &mut program.iter(), 0);
    run.collect_last(&mut m);
    Afterlife {
        model: run.model,
        log: run.log,
    }
}

/// The program's hold on the heap, beside its locals.
struct Hands {
    handles: Vec<Root<Object>>,
    pins: Vec<Pinned<Object>>,
    weaks: Vec<Weak<Object>>,
    statics: Vec<Static<Object>>,
    /// The thread's object can only be set, so that a weak handle must help to read it.
    thread_object: Option<Weak<Object>>,
}

type Locals<'l, 's> = &'l [Local<'s, Object>];

impl Hands {
    fn root<'m>(&self, m: &'m Mutator<'_>, locals: Locals<'_, '_>, place: RootPlace) -> &'m Object {
        match place {
            RootPlace::Local(i) => &m[locals[i]],
            RootPlace::Handle(i) => &m[&self.handles[i]],
            RootPlace::Pin(i) => &m[self.pins[i].root()],
            RootPlace::Static(i) => self.statics[i].get(m).expect("the static is set"),
            RootPlace::ThreadObject => {
                let weak = self.thread_object.as_ref().expect("there is one");
                weak.get(m).expect("the thread's object lives")
            }
        }
    }

    /// A reachable object, found as the model says it can be.
    fn find<'m>(
        &self,
        m: &'m Mutator<'_>,
        locals: Locals<'_, '_>,
        reach: &Reach,
        id: Id,
    ) -> &'m Object {
        match reach.step(id) {
            Step::Root(place) => self.root(m, locals, place),
            Step::Slot(from, slot) => {
                let from = self.find(m, locals, reach, from);
                let slots = access::strong_slots(from);
                slots[slot].get().expect("the slot is not null")
            }
            Step::Entry(map, key) => {
                let map = access::map(self.find(m, locals, reach, map)).expect("a map");
                let key = self.find(m, locals, reach, key);
                map.get(key).expect("the key is mapped")
            }
        }
    }
}

struct Run<'h> {
    heap: &'h Heap,
    name: String,
    static_names: Vec<String>,
    hands: Hands,
    model: Model,
    setting: Setting,
    dynamic: Dynamic,
    log: Log,
    finalizers: usize,
    shared_writes: u64,
    /// Drops or finalizers happened that the program did not ask for.
    surprised: bool,
}

/// One of those that there are.
fn choose<T: Copy>(all: &[T], pick: Pick) -> Option<T> {
    (!all.is_empty()).then(|| all[pick as usize % all.len()])
}

impl Run<'_> {
    /// Runs operations until the scope is closed or none are left.
    fn scope<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        mut locals: Vec<Local<'a, Object>>,
        ops: &mut Iter<'_, Op>,
        depth: usize,
    ) {
        while let Some(op) = ops.next() {
            match op {
                Op::OpenScope => {
                    let mut inner = m.scope();
                    self.scope(&mut inner, locals.clone(), ops, depth + 1);
                    self.model.locals.truncate(locals.len());
                }
                Op::CloseScope if depth == 0 => {}
                Op::CloseScope => return,
                op => self.step(m, &mut locals, op),
            }
        }
    }

    fn step<'a>(&mut self, m: &mut Mutator<'a>, locals: &mut Vec<Local<'a, Object>>, op: &Op) {
        let reach = self.model.reach();
        let any = |pick| choose(&reach.order, pick);
        let only = |model: &Model, pick, test: &dyn Fn(&ModelObject) -> bool| {
            let all = reach.order.iter().copied();
            choose(
                &all.filter(|&id| test(&model.objects[id]))
                    .collect::<Vec<_>>(),
                pick,
            )
        };
        match *op {
            Op::Alloc(new, a, b, keep) => {
                let (a, b) = (a.and_then(any), b.and_then(any));
                self.may_collect(|run| run.alloc(m, locals, &reach, (new, a, b), keep));
                self.may_collect(|run| run.write_shared(m));
                self.absorb(&reach);
                self.resolve(m, locals);
            }
            Op::Litter => self.litter(m, locals),
            Op::Root(object, keep) => {
                if let Some(id) = any(object) {
                    let object = self.hands.find(m, locals, &reach, id);
                    if keep == Keep::Local {
                        locals.push(m.local(object));
                        self.model.locals.push(id);
                    } else {
                        self.keep(m, locals, &reach, id, object, keep);
                    }
                }
            }
            Op::Link(from, slot, to) => {
                if let Some(from) = only(&self.model, from, &|it| !it.slots.is_empty()) {
                    self.link(m, locals, &reach, from, slot, to.and_then(any));
                }
            }
            Op::SetWeak(from, to) => {
                if let Some(from) = only(&self.model, from, &|it| it.new == New::Owner) {
                    let to = to.and_then(any);
                    let find = |id| self.hands.find(m, locals, &reach, id);
                    let slot = access::weak_slot(find(from)).expect("an owner has one");
                    slot.set(to.map(find));
                    self.model.objects[from].weak = to.map_or(WeakEdge::default(), WeakEdge::from);
                }
            }
            Op::SetValue(object, value) => {
                if let Some(id) = any(object) {
                    access::set_value(self.hands.find(m, locals, &reach, id), value);
                    self.model.objects[id].value = value;
                }
            }
            Op::WriteBytes(object, at, ref bytes) => {
                let is_bytes = |it: &ModelObject| it.class() == "u8[]";
                if let Some(id) = only(&self.model, object, &is_bytes) {
                    let expected = &mut self.model.objects[id].bytes;
                    let at = at as usize % expected.len();
                    let bytes = &bytes[..bytes.len().min(expected.len() - at)];
                    expected[at..at + bytes.len()].copy_from_slice(bytes);
                    let array = self.hands.find(m, locals, &reach, id);
                    let array = array.downcast::<heaphound::Bytes>().expect("bytes");
                    array.write(at, bytes);
                }
            }
            Op::Copy(to, at, from, start, len) => {
                let to = only(&self.model, to, &ModelObject::is_refs);
                let from = only(&self.model, from, &ModelObject::is_refs);
                if let (Some(to), Some(from)) = (to, from) {
                    self.copy(m, locals, &reach, (to, at), (from, start, len));
                }
            }
            Op::Assign(local, to) => {
                let places: Vec<_> = (0..locals.len()).collect();
                if let (Some(place), Some(to)) = (choose(&places, local), any(to)) {
                    m.set_local(locals[place], self.hands.find(m, locals, &reach, to));
                    self.model.locals[place] = to;
                }
            }
            Op::DropHandle(pick) => {
                if !self.model.handles.is_empty() {
                    let place = pick as usize % self.model.handles.len();
                    self.model.handles.remove(place);
                    self.hands.handles.remove(place);
                }
            }
            Op::ClearStatic(pick) => {
                let place = pick as usize % STATICS;
                self.model.statics[place] = None;
                self.hands.statics[place].clear(m);
            }
            Op::ClearThreadObject => {
                m.set_thread_object::<Object>(None);
                self.model.thread_object = None;
                self.hands.thread_object = None;
            }
            Op::OpenScope | Op::CloseScope => unreachable!("not a step"),
            Op::Hash(object) => {
                if let Some(id) = any(object) {
                    let hash = self.hands.find(m, locals, &reach, id).identity_hash();
                    let expected = self.model.objects[id].hash.get_or_insert(hash);
                    assert_eq!(hash, *expected, "identity hash of {id}");
                }
            }
            Op::Pin(object) => {
                if let Some(id) = any(object) {
                    self.model.cast_doubt();
                    let mut scope = m.scope();
                    let local = scope.local(self.hands.find(&scope, locals, &reach, id));
                    self.hands.pins.push(scope.pin(local));
                    drop(scope);
                    self.model.pins.push(id);
                    self.absorb(&reach);
                    self.resolve(m, locals);
                }
            }
            Op::Unpin(pick) => {
                if !self.model.pins.is_empty() {
                    let place = pick as usize % self.model.pins.len();
                    self.model.pins.remove(place);
                    self.hands.pins.remove(place);
                }
            }
            Op::OnDeath(object, saves_to) => {
                if let Some(id) = any(object) {
                    self.on_death(m, self.hands.find(m, locals, &reach, id), id, saves_to);
                }
            }
            Op::WeakHandle(object) => {
                if let Some(id) = any(object) {
                    let object = self.hands.find(m, locals, &reach, id);
                    self.hands.weaks.push(m.weak(object));
                    self.model.weak_handles.push(id.into());
                }
            }
            Op::DropWeak(pick) => {
                if !self.model.weak_handles.is_empty() {
                    let place = pick as usize % self.model.weak_handles.len();
                    self.model.weak_handles.remove(place);
                    self.hands.weaks.remove(place);
                }
            }
            Op::Upgrade(pick) => {
                let places: Vec<_> = (0..self.model.weak_handles.len()).collect();
                if let Some(place) = choose(&places, pick) {
                    self.upgrade(m, locals, place);
                }
            }
            Op::MapInsert(map, key, value) => {
                let map = only(&self.model, map, &|it| it.new == New::Map);
                if let (Some(map), Some(key), Some(value)) = (map, any(key), any(value)) {
                    self.may_collect(|run| run.map_insert(m, locals, &reach, map, key, value));
                    self.absorb(&reach);
                    self.resolve(m, locals);
                }
            }
            Op::MapRemove(map, entry) => {
                if let Some(map) = only(&self.model, map, &|it| !it.entries.is_empty()) {
                    let entries = self.model.objects[map].entries.iter().map(|it| it.key);
                    let keys: Vec<_> = entries.filter(|&key| reach.contains(key)).collect();
                    if let Some(key) = choose(&keys, entry) {
                        let find = |id| self.hands.find(m, locals, &reach, id);
                        let real = access::map(find(map)).expect("a map");
                        assert!(real.remove(find(key)), "the key was there");
                        let entries = &mut self.model.objects[map].entries;
                        entries.retain(|it| it.key != key);
                    }
                }
            }
            Op::External(object, bytes) => {
                if let Some(id) = any(object) {
                    let object = self.hands.find(m, locals, &reach, id);
                    m.account_external(object, bytes.into());
                    self.model.objects[id].external = bytes.into();
                }
            }
            Op::Safepoint => {
                self.may_collect(|_| m.safepoint());
                self.absorb(&reach);
                self.resolve(m, locals);
            }
            Op::Collect => self.collect(m, locals),
            Op::CollectNursery => {
                self.model.cast_doubt();
                m.collect_nursery();
                self.absorb(&reach);
                self.resolve(m, locals);
                self.check(m, locals);
            }
            Op::Inspect => self.check(m, locals),
        }
    }

    fn litter(&mut self, m: &mut Mutator<'_>, locals: Locals<'_, '_>) {
        let mut scope = m.scope();
        let mut inner = locals.to_vec();
        for i in 0..40 {
            let op = Op::Alloc(New::MediumBytes, None, None, Keep::Local);
            self.step(&mut scope, &mut inner, &op);
            let (id, local) = (self.model.objects.len() - 1, inner[inner.len() - 1]);
            match i % 20 {
                3 => self.keep_handle(&scope, id, &scope[local]),
                8 => {
                    self.keep_handle(&scope, id, &scope[local]);
                    let hash = scope[local].identity_hash();
                    self.model.objects[id].hash = Some(hash);
                }
                13 => {
                    let reach = self.model.reach();
                    self.model.cast_doubt();
                    self.hands.pins.push(scope.pin(local));
                    self.model.pins.push(id);
                    self.absorb(&reach);
                    self.resolve(&scope, &inner);
                }
                _ => {}
            }
        }
        drop(scope);
        self.model.locals.truncate(locals.len());
    }

    fn keep_handle(&mut self, m: &Mutator<'_>, id: Id, object: &Object) {
        self.hands.handles.push(m.root(object));
        self.model.handles.push(id);
    }

    /// Does what may cause a collection.
    fn may_collect(&mut self, f: impl FnOnce(&mut Self)) {
        if self.setting.collects_by_itself {
            self.model.cast_doubt();
        }
        f(self);
    }

    /// Applies what drops and finalizers did during this operation.
    fn absorb(&mut self, before: &Reach) {
        for event in self.log.take() {
            absorb(&mut self.model, event, before);
            self.surprised = true;
        }
    }

    /// If drops or finalizers have changed anything, looks at what is left.
    fn resolve(&mut self, m: &Mutator<'_>, locals: Locals<'_, '_>) {
        if std::mem::take(&mut self.surprised) {
            self.model.cast_doubt();
            self.check_through_api(m, locals);
        }
    }

    fn alloc<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        locals: &mut Vec<Local<'a, Object>>,
        reach: &Reach,
        (new, a, b): (New, Option<Id>, Option<Id>),
        keep: Keep,
    ) {
        let (object, id) = (self.blank(new, a, b), self.model.objects.len());
        let (model, links) = (&object, (a, b));
        if keep == Keep::Local {
            let made = m.scoped(|m| self.make(m, locals, reach, links, id, model));
            locals.push(made.expect("the heap is large enough"));
            self.absorb(reach);
            self.model.objects.push(object);
            self.model.locals.push(id);
        } else {
            let mut m = m.scope();
            let made = self.make(&mut m, locals, reach, links, id, model);
            let made = made.expect("the heap is large enough");
            self.absorb(reach);
            self.model.objects.push(object);
            self.keep(&m, locals, reach, id, &m[made], keep);
        }
    }

    /// The model of a new object.
    fn blank(&self, new: New, a: Option<Id>, b: Option<Id>) -> ModelObject {
        let id = self.model.objects.len();
        let (slots, bytes) = match new {
            New::Leaf | New::Map => (vec![], vec![]),
            New::Pair | New::Instance => (vec![a, b], vec![]),
            New::Special | New::SubInstance => (vec![a, b, None], vec![]),
            // Something must be there to refer to.
            New::Anchor if a.is_none() => return self.blank(New::Pair, a, b),
            New::Anchor => (vec![a, b], vec![]),
            New::Owner => (vec![a], format!("owner {id}").into_bytes()),
            New::Wide | New::SmallRefs | New::MediumRefs | New::LargeRefs => {
                let len = match new {
                    New::Wide => Wide::SLOTS,
                    New::SmallRefs => 5,
                    New::MediumRefs => 900,
                    _ => 3000,
                };
                let mut slots = vec![None; len];
                (slots[0], slots[len - 1]) = (a, b);
                (slots, vec![])
            }
            New::SmallBytes => (vec![], vec![id as u8; 7]),
            New::MediumBytes => (vec![], vec![id as u8; 3900]),
            New::LargeBytes => (vec![], (0..10_000).map(|i| (i + id) as u8).collect()),
            New::Text => (vec![], format!("text № {id}").into_bytes()),
        };
        let mut object = ModelObject::new(new, slots, bytes);
        if new == New::Owner {
            object.weak = b.map_or(WeakEdge::default(), WeakEdge::from);
        }
        object
    }

    /// Makes a real object as the model says.
    fn make<'b>(
        &self,
        m: &mut Mutator<'b>,
        locals: Locals<'_, '_>,
        reach: &Reach,
        (a, b): (Option<Id>, Option<Id>),
        id: Id,
        object: &ModelObject,
    ) -> Result<Local<'b, Object>, OutOfMemory> {
        let local = |m: &Mutator<'b>, id: Id| m.local(self.hands.find(m, locals, reach, id));
        let (a, b) = (a.map(|id| local(m, id)), b.map(|id| local(m, id)));
        let tally = || Tally {
            object: id,
            log: self.log.clone(),
        };
        let value = object.value;
        let text = || String::from_utf8(object.bytes.clone()).expect("made of text");
        let pair = || PairInit {
            value,
            left: a,
            right: b,
        };
        let made = match object.new {
            New::Leaf => {
                let made = m.alloc(LeafInit { value })?;
                made.upcast(m)
            }
            New::Pair => {
                let made = m.alloc(pair())?;
                made.upcast(m)
            }
            New::Special => {
                let (pair, tally, extra) = (pair(), tally(), None);
                {
                    let made = m.alloc(SpecialInit { pair, tally, extra })?;
                    made.upcast(m)
                }
            }
            New::Wide => {
                let mut slots = [None; Wide::SLOTS];
                (slots[0], slots[Wide::SLOTS - 1]) = (a, b);
                {
                    let made = m.alloc(WideInit { value, slots })?;
                    made.upcast(m)
                }
            }
            New::Owner => {
                let init = OwnerInit {
                    value,
                    name: text(),
                    tally: tally(),
                    strong: a,
                    weak: b,
                };
                {
                    let made = m.alloc(init)?;
                    made.upcast(m)
                }
            }
            New::Anchor => {
                let target = a.expect("`blank` saw to it");
                let init = AnchorInit {
                    value,
                    target,
                    other: b,
                };
                {
                    let made = m.alloc(init)?;
                    made.upcast(m)
                }
            }
            New::SmallRefs | New::MediumRefs | New::LargeRefs => {
                let array = m.alloc_refs::<Object>(object.slots.len())?;
                m[array][0].set(a.map(|a| &m[a]));
                m[array][object.slots.len() - 1].set(b.map(|b| &m[b]));
                array.upcast(m)
            }
            New::SmallBytes | New::MediumBytes | New::LargeBytes => {
                let made = m.alloc_bytes(&object.bytes)?;
                made.upcast(m)
            }
            New::Text => {
                let made = m.alloc_str(&text())?;
                made.upcast(m)
            }
            New::Instance | New::SubInstance => {
                let sub = object.new == New::SubInstance;
                let Dynamic {
                    base,
                    sub: extended,
                } = &self.dynamic;
                let instance = m.alloc_instance(if sub { extended } else { base })?;
                m[instance][0].set(a.map(|a| &m[a]));
                m[instance][1].set(b.map(|b| &m[b]));
                if sub {
                    m[instance].set_plain::<i32>(1, -3);
                }
                instance.upcast(m)
            }
            New::Map => {
                let made = m.alloc_weak_map::<Object, Object>()?;
                made.upcast(m)
            }
        };
        Ok(made)
    }

    /// Keeps an object anywhere but in a local.
    fn keep(
        &mut self,
        m: &Mutator<'_>,
        locals: Locals<'_, '_>,
        reach: &Reach,
        id: Id,
        object: &Object,
        keep: Keep,
    ) {
        match keep {
            Keep::Nowhere | Keep::Local => {}
            Keep::Handle => self.keep_handle(m, id, object),
            Keep::Static(pick) => {
                let place = pick as usize % STATICS;
                self.hands.statics[place].set(m, Some(object));
                self.model.statics[place] = Some(id);
            }
            Keep::ThreadObject => {
                m.set_thread_object(Some(object));
                self.hands.thread_object = Some(m.weak(object));
                self.model.thread_object = Some(id);
            }
            Keep::Slot(from, slot) => {
                let holders = reach.order.iter().copied();
                let holders = holders.filter(|&id| !self.model.objects[id].slots.is_empty());
                if let Some(from) = choose(&holders.collect::<Vec<_>>(), from) {
                    // What is allocated meanwhile may have changed what is reachable,
                    // by a finalizer, so the holder is asked for anew.
                    if self.model.reach().contains(from) {
                        let reach = self.model.reach();
                        let place = slot as usize % self.model.objects[from].slots.len();
                        let holder = self.hands.find(m, locals, &reach, from);
                        access::strong_slots(holder)[place].set(Some(object));
                        self.model.objects[from].slots[place] = Some(id);
                    }
                }
            }
        }
    }

    fn link(
        &mut self,
        m: &Mutator<'_>,
        locals: Locals<'_, '_>,
        reach: &Reach,
        from: Id,
        slot: Pick,
        to: Option<Id>,
    ) {
        let slots = &mut self.model.objects[from].slots;
        let place = slot as usize % slots.len();
        let find = |id| self.hands.find(m, locals, reach, id);
        let holder = access::strong_slots(find(from));
        holder[place].set(to.map(find));
        let never_null = matches!(holder[place], access::Strong::Ref(_));
        if to.is_some() || !never_null {
            slots[place] = to;
        }
    }

    fn copy(
        &mut self,
        m: &Mutator<'_>,
        locals: Locals<'_, '_>,
        reach: &Reach,
        (to, at): (Id, Pick),
        (from, start, len): (Id, Pick, Pick),
    ) {
        let source = self.model.objects[from].slots.clone();
        let target = &mut self.model.objects[to].slots;
        let (at, start) = (at as usize % target.len(), start as usize % source.len());
        let most = (target.len() - at).min(source.len() - start);
        let len = (len as usize).min(most);
        target[at..at + len].copy_from_slice(&source[start..start + len]);
        let find = |id| self.hands.find(m, locals, reach, id);
        let array = |id| find(id).downcast::<Refs>().expect("an array");
        array(to).copy_from(at, array(from), start..start + len);
    }

    fn on_death(&mut self, m: &Mutator<'_>, object: &Object, id: Id, saves_to: Option<Pick>) {
        let (number, log) = (self.finalizers, self.log.clone());
        self.finalizers += 1;
        // Among threads, a finalizer runs when and where it likes.
        let saves_to = saves_to.filter(|_| self.setting.shared.is_none());
        let saves_to = saves_to.map(|pick| SAVED.start + pick as usize % SAVED.len());
        let saved = saves_to.map(|place| self.hands.statics[place].clone());
        m.on_death(object, move |m, object| {
            log.note(Event::Finalized(number));
            if let Some(saved) = saved {
                saved.set(m, Some(&m[object]));
            }
        });
        let finalizers = &mut self.model.objects[id].finalizers;
        finalizers.push(Finalizer { number, saves_to });
    }

    fn upgrade<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        locals: &mut Vec<Local<'a, Object>>,
        place: usize,
    ) {
        let edge = &mut self.model.weak_handles[place];
        match (self.hands.weaks[place].get(m), edge.target) {
            (Some(object), Some(target)) => {
                edge.doubt = false;
                locals.push(m.local(object));
                self.model.locals.push(target);
                self.check_through_api(m, locals);
            }
            (None, Some(target)) => {
                assert!(edge.doubt, "a weak handle has lost object {target}");
                *edge = WeakEdge::default();
            }
            (None, None) => {}
            (Some(object), None) => panic!("a weak handle has {object:?}, which is dead"),
        }
    }

    fn map_insert(
        &mut self,
        m: &mut Mutator<'_>,
        locals: Locals<'_, '_>,
        reach: &Reach,
        map: Id,
        key: Id,
        value: Id,
    ) {
        let mut m = m.scope();
        let find = |id| self.hands.find(&m, locals, reach, id);
        let real = m.local(access::map(find(map)).expect("a map"));
        let (real_key, real_value) = (m.local(find(key)), m.local(find(value)));
        m.weak_map_insert(real, real_key, real_value)
            .expect("the heap is large enough");
        let entries = &mut self.model.objects[map].entries;
        entries.retain(|it| it.key != key);
        entries.push(Entry {
            key,
            value,
            doubt: false,
        });
    }

    /// Collects everything, exactly as forecast.
    fn collect(&mut self, m: &mut Mutator<'_>, locals: Locals<'_, '_>) {
        let reach = self.model.reach();
        self.absorb(&reach);
        self.resolve(m, locals);
        let forecast = self.model.forecast();
        m.collect();
        self.model.settle(&forecast);
        let events = self.log.take();
        for &event in &events {
            absorb(&mut self.model, event, &forecast.live);
        }
        if self.setting.shared.is_none() {
            self.check_events(&events, &forecast);
            self.check_external(&forecast);
        }
        self.check(m, locals);
    }

    fn check_events(&self, events: &[Event], forecast: &Forecast) {
        for id in &forecast.must_drop {
            let dropped = events.contains(&Event::Dropped(*id));
            assert!(dropped, "object {id} was not dropped");
        }
        for number in &forecast.must_finalize {
            let called = events.contains(&Event::Finalized(*number));
            assert!(called, "finalizer {number} was not called");
        }
        if self.model.exact_finalization {
            let expected = forecast.must_drop.len() + forecast.must_finalize.len();
            assert_eq!(events.len(), expected, "{events:?}");
        }
    }

    fn check_external(&self, forecast: &Forecast) {
        let stats = self.heap.stats();
        let found = stats.history.back().expect("just collected").external_bytes;
        let sum = |reach: &Reach| -> usize {
            let all = reach.order.iter();
            all.map(|&id| self.model.objects[id].external).sum()
        };
        let (least, most) = (sum(&forecast.live), sum(&forecast.retained));
        assert!(
            (least..=most).contains(&found),
            "{found} external bytes, not {least} to {most}"
        );
    }

    /// Compares the whole heap with the model.
    fn check(&mut self, m: &mut Mutator<'_>, locals: Locals<'_, '_>) {
        self.check_through_api(m, locals);
        let names = Names {
            thread: &self.name,
            statics: &self.static_names,
            alone: self.setting.shared.is_none(),
        };
        // To look at the heap is to stop, and somebody else may collect first.
        if self.setting.shared.is_some() {
            self.model.cast_doubt();
        }
        m.inspect(|view| check_view(&self.model, view, &names));
    }

    fn check_through_api(&mut self, m: &Mutator<'_>, locals: Locals<'_, '_>) {
        let hands = &self.hands;
        check_objects(
            &mut self.model,
            |place| hands.root(m, locals, place),
            |i| hands.weaks[i].get(m),
        );
        for pin in &hands.pins {
            let object = &raw const m[pin.root()];
            assert_eq!(object, pin.as_ptr(), "a pinned object has moved");
        }
    }

    /// Writes the array that all threads share, and looks at what others wrote.
    fn write_shared(&mut self, m: &mut Mutator<'_>) {
        let Some(shared) = &self.setting.shared else {
            return;
        };
        let mut m = m.scope();
        self.shared_writes += 1;
        let value = self.shared_writes;
        let leaf = m.alloc(LeafInit { value: !value }).expect("room");
        let leaf = leaf.upcast(&m);
        let pair = m.alloc(PairInit {
            value,
            left: Some(leaf),
            right: None,
        });
        let pair = m[pair.expect("room")].as_object();
        let slots = &m[shared];
        let slot = &slots[value as usize * 7 % slots.len()];
        let before = slot.get();
        if let Some(before) = before {
            let before = before.downcast::<Pair>().expect("only pairs are shared");
            let leaf = before.left.get().expect("a shared pair is complete");
            assert_eq!(access::value(leaf), Some(!before.value.get()));
        }
        match value % 3 {
            0 => slot.set(Some(pair)),
            1 => {
                if slot.compare_and_set(before, Some(pair)) {
                    assert!(slot.get().is_some());
                }
            }
            _ => slot.clear(),
        }
    }

    /// Lets go of everything and collects until nothing happens any more.
    fn collect_last(&mut self, m: &mut Mutator<'_>) {
        self.hands.handles.clear();
        self.hands.pins.clear();
        self.hands.weaks.clear();
        self.hands.thread_object = None;
        m.set_thread_object::<Object>(None);
        self.model.locals.clear();
        self.model.handles.clear();
        self.model.pins.clear();
        self.model.weak_handles.clear();
        self.model.thread_object = None;
        // One more each time a finalizer saves what another one then finds dead.
        for _ in 0..self.finalizers + 3 {
            self.model.statics = [None; STATICS];
            for place in &self.hands.statics {
                place.clear(m);
            }
            m.collect();
            for event in self.log.take() {
                absorb(&mut self.model, event, &Reach::default());
            }
        }
    }
}

/// Applies an event. What it is about was unreachable before the operation or has
/// become so during it.
fn absorb(model: &mut Model, event: Event, before: &Reach) {
    let check = |model: &Model, id: Id| {
        let unreachable = !before.contains(id) || !model.reach().contains(id);
        assert!(unreachable, "{event:?}, but object {id} is reachable");
    };
    match event {
        Event::Dropped(id) => {
            check(model, id);
            let dropped = &mut model.objects[id].dropped;
            assert!(!*dropped, "object {id} was dropped twice");
            *dropped = true;
        }
        Event::Finalized(number) => {
            let found = model.take_finalizer(number);
            let (id, finalizer) = found.expect("a finalizer is called once");
            check(model, id);
            if let Some(place) = finalizer.saves_to {
                model.statics[place] = Some(id);
            }
        }
    }
}
