//! Random programs that tell all that they see.
//!
//! A program is its [`Plan`]: what it does next depends on a die and on what it has seen, so that two heaps that
//! show it the same make it do the same. It walks from its roots, mostly through the same slots again and again,
//! so that the rest grows stale. The first pruned reference that it reads, or the end of memory, ends what it
//! tells; then it goes on in silence, because a heap must stay sound.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Arc, Mutex};

use heaphound::{
    Heap, Invalidated, Local, Managed, Mutator, Object, OutOfMemory, Pinned, Root, Static, Weak,
};
use heaphound_testkit::access::{self, Strong};
use heaphound_testkit::classes::*;
use heaphound_testkit::dice::Dice;

use crate::panic_hook;

/// A program.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// What the die begins with.
    pub seed: u64,
    /// How many things it does.
    pub steps: usize,
    /// One in so many reads leaves the beaten track; 0 stands for none.
    pub curious: usize,
    /// One in so many steps collects the whole heap; 0 stands for none.
    pub collects: usize,
    /// Bytes of what is leaked at a time.
    pub leaks: usize,
    /// Collects before weak references are read, so that what is dead is seen to be.
    pub settles: bool,
    /// Looks whether objects have died: by weak references, weak maps, finalizers and drops.
    pub mourns: bool,
    /// Has finalizers that give objects another life.
    pub revives: bool,
}

/// What a program saw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Saw {
    /// A number: of an object, of a length, of a truth.
    Number(u64),
    /// An object, by its number and its class, or none.
    Object(Option<(u64, String)>),
    /// The same, through a weak reference.
    Weak(Option<(u64, String)>),
    /// How many entries a weak map has.
    Entries(usize),
    /// The entries of a weak map, in order.
    EachEntry(Vec<(u64, u64)>),
    /// What a finalizer has given another life, and one of the objects that it refers to.
    Revived(Option<(u64, Option<u64>)>),
    /// Whether a finalizer has run that gives another life; and the object that it then has met, if that is alive.
    Met(Option<Option<(u64, String)>>),
}

/// What ends a program's account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// There was nothing more to do.
    Done,
    /// It read a pruned reference.
    Pruned,
    /// There was no memory left.
    OutOfMemory,
}

/// A program's account.
pub struct Account {
    /// By the step in which it was seen.
    pub saw: Vec<(usize, Saw)>,
    /// Drops and finalizers, by the step in which they were first known of, until its end.
    pub events: Vec<(usize, Event)>,
    /// Why it ends.
    pub end: End,
    /// In which step.
    pub end_step: usize,
    /// The first step after which something had been pruned.
    pub first_pruned: Option<usize>,
    /// How many references of the heap were cut.
    pub cut: usize,
    /// How many steps there were.
    pub steps: usize,
    /// Objects with memory of their own.
    pub droppable: usize,
    /// Drops and finalizers of the whole program go here.
    pub log: Log,
    /// Those that have been taken out of it.
    pub all_events: Vec<Event>,
}

impl From<Invalidated> for End {
    fn from(error: Invalidated) -> Self {
        assert!(error.pruned().is_some(), "{error}");
        Self::Pruned
    }
}

impl From<OutOfMemory> for End {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

/// What `f` returns, unless it reads a pruned reference and says so by a panic.
pub fn guard<R>(f: impl FnOnce() -> R) -> Result<R, End> {
    panic_hook::install();
    catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let text = payload
            .downcast_ref::<String>()
            .cloned()
            .unwrap_or_default();
        if text.contains("was pruned") {
            return End::Pruned;
        }
        std::panic::resume_unwind(payload)
    })
}

const BEATEN: usize = 3;
const STATICS: usize = 6;
const SAVED: usize = 6;

type Locals<'l, 'a> = &'l mut Vec<Local<'a, Object>>;

struct Run<'h> {
    heap: &'h Heap,
    plan: Plan,
    dice: Dice,
    statics: Vec<Static<Object>>,
    saved: Vec<Static<Object>>,
    next_saved: usize,
    /// What the first slots of those referred to when their finalizers ran.
    met: Vec<Arc<Mutex<Option<Weak<Object>>>>>,
    handles: Vec<Root<Object>>,
    pins: Vec<Pinned<Object>>,
    weaks: Vec<Weak<Object>>,
    shared: Option<Static<Refs>>,
    dynamic: Dynamic,
    serial: u64,
    hashes: HashMap<u64, u32>,
    step: usize,
    telling: bool,
    account: Account,
}

/// Runs a program as a mutator of that name. What it shares with others is in the static `shared`.
pub fn run(heap: &Heap, name: &str, plan: Plan, shares: bool) -> Account {
    let mut m = heap.attach(name).unwrap();
    let named = |kind: &str, n: usize| {
        let one = |i| m.static_root(&format!("{name} {kind} {i}"));
        (0..n).map(one).collect::<Vec<Static<Object>>>()
    };
    let mut run = Run {
        heap,
        plan,
        dice: Dice(plan.seed),
        statics: named("static", STATICS),
        saved: named("saved", SAVED),
        next_saved: 0,
        met: (0..SAVED).map(|_| Arc::default()).collect(),
        handles: vec![],
        pins: vec![],
        weaks: vec![],
        shared: shares.then(|| m.static_root::<Refs>("shared")),
        dynamic: Dynamic::define(heap),
        serial: 0,
        hashes: HashMap::new(),
        step: 0,
        telling: true,
        account: Account {
            saw: vec![],
            events: vec![],
            end: End::Done,
            end_step: usize::MAX,
            first_pruned: None,
            cut: 0,
            steps: 0,
            droppable: 0,
            log: Log::default(),
            all_events: vec![],
        },
    };
    while run.step < plan.steps {
        let mut inner = m.scope();
        let mut locals = vec![];
        for _ in 0..run.dice.below(30) + 1 {
            run.one_step(&mut inner, &mut locals);
        }
    }
    if run.plan.settles {
        // What died in the last steps is seen to be dead, though the program still has its roots.
        for _ in 0..12 {
            m.collect();
            run.note_events();
        }
    }
    run.let_go(&mut m);
    run.account.steps = run.step;
    run.account.cut = heap.pruned().iter().map(|it| it.references()).sum();
    run.account
}

impl Run<'_> {
    fn one_step<'a>(&mut self, m: &mut Mutator<'a>, locals: Locals<'_, 'a>) {
        if let Err(end) = self.act(m, locals) {
            if self.telling {
                self.note_events();
                self.account.end = end;
                self.account.end_step = self.step;
            }
            self.telling = false;
        }
        if self.plan.settles && self.step.is_multiple_of(16) {
            m.collect();
        }
        self.note_events();
        if self.account.first_pruned.is_none() && !self.heap.pruned().is_empty() {
            self.account.first_pruned = Some(self.step);
        }
        self.step += 1;
    }

    fn note_events(&mut self) {
        for event in self.account.log.take() {
            self.account.all_events.push(event);
            if self.telling && self.plan.mourns {
                self.account.events.push((self.step, event));
            }
        }
    }

    fn tell(&mut self, saw: Saw) {
        if self.telling {
            self.account.saw.push((self.step, saw));
        }
    }

    fn tell_number(&mut self, number: usize) {
        self.tell(Saw::Number(number as u64));
    }

    /// One in so many, if that is not 0.
    fn once_in(&mut self, many: usize) -> bool {
        self.dice.below(many.max(1)) == 0 && many > 0
    }

    fn curious(&mut self) -> bool {
        self.once_in(self.plan.curious)
    }

    /// A static to overwrite, seldom one of those that lists hang on.
    fn place_to_write(&mut self) -> usize {
        let places = if self.once_in(30) { STATICS } else { BEATEN };
        self.dice.below(places)
    }

    /// What a root refers to.
    fn root<'m>(
        &mut self,
        m: &'m Mutator<'_>,
        locals: &[Local<'_, Object>],
    ) -> Result<Option<&'m Object>, End> {
        let beaten = if self.curious() { STATICS } else { BEATEN };
        let pick = self.dice.below(1 << 20);
        let place = |len: usize| pick % len.max(1);
        Ok(match self.dice.below(8) {
            0 if !self.handles.is_empty() => {
                let i = place(self.handles.len());
                Some(self.handles[i].try_get(m)?)
            }
            1 if !self.pins.is_empty() => {
                let i = place(self.pins.len());
                let object = self.pins[i].root().try_get(m)?;
                assert_eq!(&raw const *object, self.pins[i].as_ptr());
                Some(object)
            }
            2 | 3 if !locals.is_empty() => Some(m.try_get(locals[place(locals.len())])?),
            _ => self.statics[pick % beaten].try_get(m)?,
        })
    }

    /// An object, found by following slots; all that is met is told.
    fn walk<'m>(
        &mut self,
        m: &'m Mutator<'_>,
        locals: &[Local<'_, Object>],
    ) -> Result<Option<&'m Object>, End> {
        let Some(mut at) = self.root(m, locals)? else {
            self.tell(Saw::Object(None));
            return Ok(None);
        };
        self.tell(Saw::Object(Some(look(at))));
        for _ in 0..self.dice.below(5) {
            let slots = access::strong_slots(at);
            if slots.is_empty() {
                break;
            }
            let place = if self.curious() {
                self.dice.below(slots.len())
            } else {
                0
            };
            let found = read(&slots[place])?;
            self.tell(Saw::Object(found.map(look)));
            let Some(found) = found else { break };
            at = found;
        }
        Ok(Some(at))
    }

    /// A walk to an object that has the property, if it leads to one.
    fn walk_to<'m>(
        &mut self,
        m: &'m Mutator<'_>,
        locals: &[Local<'_, Object>],
        test: impl Fn(&Object) -> bool,
    ) -> Result<Option<&'m Object>, End> {
        for _ in 0..3 {
            if let Some(found) = self.walk(m, locals)?
                && test(found)
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn act<'a>(&mut self, m: &mut Mutator<'a>, locals: Locals<'_, 'a>) -> Result<(), End> {
        if self.once_in(self.plan.collects) {
            match self.dice.below(4) {
                0 => m.collect_nursery(),
                _ => m.collect(),
            }
        }
        if self.dice.below(400) == 0 {
            let mut objects = 0;
            m.inspect(|view| {
                look_around(view, &mut objects);
            });
        }
        match self.dice.below(48) {
            0..10 => self.alloc(m, locals),
            10..15 => self.leak(m),
            15..19 => self.link(m, locals),
            19..24 => self.walk(m, locals).map(|_| ()),
            24..26 => self.compare_and_set(m, locals),
            26 => self.compare(m, locals),
            27 => self.is_null(m, locals),
            28..32 => self.weak(m, locals),
            32..34 => self.copy(m, locals),
            34..39 => self.map(m, locals),
            39..41 => self.watch(m, locals),
            41..43 => self.roots(m, locals),
            43 => self.hash(m, locals),
            44 => {
                let local = self.walk(m, locals)?.map(|it| m.local(it));
                locals.extend(local);
                Ok(())
            }
            45 => self.set_value(m, locals),
            46 => self.look_at_revived(m),
            _ => self.share(m),
        }
    }

    /// Allocates any kind of object, and keeps it somewhere.
    fn alloc<'a>(&mut self, m: &mut Mutator<'a>, locals: Locals<'_, 'a>) -> Result<(), End> {
        let mut inner = m.scope();
        let m = &mut inner;
        let [a, b] = [self.walk(m, locals)?, self.walk(m, locals)?];
        let [a, b] = [a, b].map(|it| it.map(|it| m.local(it)));
        let made = self.make(m, a, b)?;
        match self.dice.below(8) {
            0 => self.handles.push(m.root(&m[made])),
            1..4 => {
                let place = self.place_to_write();
                self.statics[place].set(m, Some(&m[made]));
            }
            _ => {
                if let Some(holder) = self.walk_to(m, locals, has_slots)? {
                    let slots = access::strong_slots(holder);
                    slots[self.dice.below(slots.len())].set(Some(&m[made]));
                }
            }
        }
        Ok(())
    }

    fn make<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        a: Option<Local<'a, Object>>,
        b: Option<Local<'a, Object>>,
    ) -> Result<Local<'a, Object>, End> {
        self.serial += 1;
        let value = self.serial;
        let tally = || Tally {
            object: value as usize,
            log: self.account.log.clone(),
        };
        let pair = PairInit {
            value,
            left: a,
            right: b,
        };
        Ok(match self.dice.below(12) {
            0 => {
                let made = m.alloc(LeafInit { value })?;
                made.upcast(m)
            }
            1 => {
                let (tally, extra) = (tally(), b);
                self.account.droppable += 1;
                let made = m.alloc(SpecialInit { pair, tally, extra })?;
                made.upcast(m)
            }
            2 => {
                let mut slots = [None; Wide::SLOTS];
                (slots[0], slots[Wide::SLOTS - 1]) = (a, b);
                let made = m.alloc(WideInit { value, slots })?;
                made.upcast(m)
            }
            3 => {
                let init = OwnerInit {
                    value,
                    name: format!("owner {value}"),
                    tally: tally(),
                    strong: a,
                    weak: b,
                };
                self.account.droppable += 1;
                let made = m.alloc(init)?;
                made.upcast(m)
            }
            4 if let Some(target) = a => {
                let made = m.alloc(AnchorInit {
                    value,
                    target,
                    other: b,
                })?;
                made.upcast(m)
            }
            5 | 6 => {
                let len = 1 + self.dice.below(40);
                let array = m.alloc_refs::<Object>(len)?;
                m[array][0].set(a.map(|a| &m[a]));
                m[array][len - 1].set(b.map(|b| &m[b]));
                array.upcast(m)
            }
            7 => {
                let made = m.alloc_str(&format!("text № {value}"))?;
                made.upcast(m)
            }
            8 => {
                let sub = self.dice.below(2) == 0;
                let class = if sub {
                    &self.dynamic.sub
                } else {
                    &self.dynamic.base
                };
                let made = m.alloc_instance(class)?;
                m[made][0].set(a.map(|a| &m[a]));
                m[made][1].set(b.map(|b| &m[b]));
                m[made].set_plain::<u64>(0, value);
                made.upcast(m)
            }
            9 => {
                let made = m.alloc_weak_map::<Object, Object>()?;
                made.upcast(m)
            }
            _ => {
                let made = m.alloc(pair)?;
                made.upcast(m)
            }
        })
    }

    /// Puts something in front of a list off the beaten track.
    fn leak(&mut self, m: &mut Mutator<'_>) -> Result<(), End> {
        let mut inner = m.scope();
        let m = &mut inner;
        let place = BEATEN + self.dice.below(STATICS - BEATEN);
        let head = self.statics[place].try_get(m)?.map(|it| m.local(it));
        let load = m.alloc_refs::<Object>(self.plan.leaks / 4)?;
        let load = load.upcast(m);
        self.serial += 1;
        let node = m.alloc(PairInit {
            value: self.serial,
            left: head,
            right: Some(load),
        })?;
        let node = node.upcast(m);
        self.statics[place].set(m, Some(&m[node]));
        Ok(())
    }

    /// Overwrites a slot, which may be a pruned one.
    fn link(&mut self, m: &Mutator<'_>, locals: &[Local<'_, Object>]) -> Result<(), End> {
        let to = self.walk(m, locals)?;
        let to = to.filter(|_| self.dice.below(3) > 0);
        if let Some(from) = self.walk_to(m, locals, has_slots)? {
            let slots = access::strong_slots(from);
            slots[self.dice.below(slots.len())].set(to);
        }
        Ok(())
    }

    fn compare_and_set(
        &mut self,
        m: &Mutator<'_>,
        locals: &[Local<'_, Object>],
    ) -> Result<(), End> {
        let [current, new] = [self.walk(m, locals)?, self.walk(m, locals)?];
        let Some(from) = self.walk_to(m, locals, has_slots)? else {
            return Ok(());
        };
        let slots = access::strong_slots(from);
        let place = if self.curious() {
            self.dice.below(slots.len())
        } else {
            0
        };
        let Strong::Slot(slot) = &slots[place] else {
            return Ok(());
        };
        let current = match self.dice.below(3) {
            0 => read(&slots[place])?,
            1 => None,
            _ => current,
        };
        let done = guard(|| slot.compare_and_set(current, new))?;
        self.tell_number(done as usize);
        let found = read(&slots[place])?;
        self.tell(Saw::Object(found.map(look)));
        if done {
            assert!(same(found, new));
        }
        Ok(())
    }

    fn compare(&mut self, m: &Mutator<'_>, locals: &[Local<'_, Object>]) -> Result<(), End> {
        let [a, b] = [self.walk(m, locals)?, self.walk(m, locals)?];
        self.tell_number(same(a, b) as usize);
        Ok(())
    }

    /// Looks whether slots are null, which may be asked of a pruned one.
    fn is_null(&mut self, m: &Mutator<'_>, locals: &[Local<'_, Object>]) -> Result<(), End> {
        if let Some(from) = self.walk_to(m, locals, has_slots)? {
            for slot in access::strong_slots(from) {
                if let Strong::Slot(slot) = slot {
                    self.tell_number(slot.is_null() as usize);
                }
            }
        }
        Ok(())
    }

    fn settle(&self, m: &mut Mutator<'_>) {
        if self.plan.settles {
            m.collect();
        }
    }

    fn weak<'a>(&mut self, m: &mut Mutator<'a>, locals: Locals<'_, 'a>) -> Result<(), End> {
        let is_owner = |it: &Object| access::weak_slot(it).is_some();
        match self.dice.below(5) {
            0 => {
                let it = self.walk(m, locals)?.map(|it| m.weak(it));
                self.weaks.extend(it);
            }
            1 if self.weaks.len() > 8 => {
                let place = self.dice.below(self.weaks.len());
                self.weaks.swap_remove(place);
            }
            2 if !self.weaks.is_empty() && self.plan.mourns => {
                self.settle(m);
                let place = self.dice.below(self.weaks.len());
                let found = self.weaks[place].try_get(m)?;
                self.tell(Saw::Weak(found.map(look)));
            }
            3 => {
                if let Some(owner) = self.walk_to(m, locals, is_owner)? {
                    let to = self.walk(m, locals)?;
                    access::weak_slot(owner).unwrap().set(to);
                }
            }
            _ if !self.plan.mourns => {}
            _ => {
                self.settle(m);
                if let Some(owner) = self.walk_to(m, locals, is_owner)? {
                    let found = access::weak_slot(owner).unwrap().try_get()?;
                    self.tell(Saw::Weak(found.map(look)));
                }
            }
        }
        Ok(())
    }

    /// Copies from one array to another, pruned references included.
    fn copy(&mut self, m: &Mutator<'_>, locals: &[Local<'_, Object>]) -> Result<(), End> {
        let is_array = |it: &Object| it.downcast::<Refs>().is_some();
        let [from, to] = [
            self.walk_to(m, locals, is_array)?,
            self.walk_to(m, locals, is_array)?,
        ];
        if let (Some(from), Some(to)) = (from, to) {
            let [from, to] = [from, to].map(|it| it.downcast::<Refs>().unwrap());
            let start = self.dice.below(from.len());
            let at = self.dice.below(to.len());
            let len = self.dice.below((from.len() - start).min(to.len() - at) + 1);
            to.copy_from(at, from, start..start + len);
            self.tell_number(from.len());
        }
        Ok(())
    }

    fn map<'a>(&mut self, m: &mut Mutator<'a>, locals: Locals<'_, 'a>) -> Result<(), End> {
        let mut inner = m.scope();
        let m = &mut inner;
        let what = self.dice.below(if self.plan.mourns { 8 } else { 5 });
        if what > 4 {
            self.settle(m);
        }
        let is_map = |it: &Object| access::map(it).is_some();
        let Some(map) = self.walk_to(m, locals, is_map)? else {
            return Ok(());
        };
        let map = m.local(access::map(map).unwrap());
        if what > 4 {
            if what == 5 {
                let len = guard(|| m[map].len())?;
                self.tell(Saw::Entries(len));
            } else {
                let mut entries = vec![];
                guard(|| m[map].for_each(|key, value| entries.push((look(key).0, look(value).0))))?;
                entries.sort_unstable();
                self.tell(Saw::EachEntry(entries));
            }
            return Ok(());
        }
        let Some(key) = self.walk(m, locals)?.map(|it| m.local(it)) else {
            return Ok(());
        };
        match what {
            0 => {
                let done = guard(|| m[map].remove(&m[key]))?;
                self.tell_number(done as usize);
            }
            1 => {
                let found = guard(|| m[map].get(&m[key]).map(look))?;
                self.tell(Saw::Object(found));
            }
            _ => {
                if let Some(value) = self.walk(m, locals)?.map(|it| m.local(it)) {
                    guard(|| m.weak_map_insert(map, key, value))??;
                    let found = guard(|| m[map].get(&m[key]).map(look))?;
                    assert_eq!(found, Some(look(&m[value])));
                }
            }
        }
        Ok(())
    }

    /// Registers finalizers and external memory.
    fn watch(&mut self, m: &Mutator<'_>, locals: &[Local<'_, Object>]) -> Result<(), End> {
        let Some(object) = self.walk(m, locals)? else {
            return Ok(());
        };
        if self.dice.below(3) == 0 {
            m.account_external(object, self.dice.below(500));
            return Ok(());
        }
        self.serial += 1;
        let (number, log) = (self.serial as usize, self.account.log.clone());
        let saved =
            (self.plan.revives && self.next_saved < SAVED && self.dice.below(3) == 0).then(|| {
                self.next_saved += 1;
                let place = self.next_saved - 1;
                (self.saved[place].clone(), self.met[place].clone())
            });
        m.on_death(object, move |m, object| {
            log.note(Event::Finalized(number));
            if let Some((saved, met)) = saved {
                saved.set(m, Some(&m[object]));
                let first = access::strong_slots(&m[object]).first().map(read);
                if let Some(Ok(Some(child))) = first {
                    *met.lock().unwrap() = Some(m.weak(child));
                }
            }
        });
        Ok(())
    }

    fn roots<'a>(&mut self, m: &mut Mutator<'a>, locals: Locals<'_, 'a>) -> Result<(), End> {
        let pick = self.dice.below(1 << 20);
        match self.dice.below(7) {
            0 if !self.handles.is_empty() => {
                self.handles.swap_remove(pick % self.handles.len());
            }
            1 if !self.pins.is_empty() => {
                self.pins.swap_remove(pick % self.pins.len());
            }
            2 => {
                let mut m = m.scope();
                if let Some(it) = self.walk(&m, locals)?.map(|it| m.local(it)) {
                    self.pins.push(m.pin(it));
                }
            }
            3 if !locals.is_empty() => {
                let local = locals[pick % locals.len()];
                if let Some(it) = self.walk(m, locals)? {
                    m.set_local(local, it);
                }
            }
            4 => {
                let place = self.place_to_write();
                self.statics[place].clear(m);
            }
            5 => m.set_thread_object(self.walk(m, locals)?),
            _ => {
                let it = self.walk(m, locals)?;
                let place = self.place_to_write();
                self.statics[place].set(m, it);
            }
        }
        Ok(())
    }

    /// An identity hash stays what it is; what it is, is the heap's own affair.
    fn hash(&mut self, m: &Mutator<'_>, locals: &[Local<'_, Object>]) -> Result<(), End> {
        let numbered = |it: &Object| access::value(it).is_some();
        if let Some(it) = self.walk_to(m, locals, numbered)? {
            let hash = it.identity_hash();
            let known = self.hashes.entry(look(it).0 & 0xffff_ffff).or_insert(hash);
            assert_eq!(*known, hash);
        }
        Ok(())
    }

    /// Changes the upper half of an object's number.
    fn set_value(&mut self, m: &Mutator<'_>, locals: &[Local<'_, Object>]) -> Result<(), End> {
        if let Some(it) = self.walk(m, locals)?
            && let Some(value) = access::value(it)
        {
            let upper = self.dice.below(1 << 30) as u64;
            access::set_value(it, value & 0xffff_ffff | upper << 32);
        }
        Ok(())
    }

    fn look_at_revived(&mut self, m: &Mutator<'_>) -> Result<(), End> {
        if !self.plan.mourns {
            return Ok(());
        }
        let place = self.dice.below(SAVED);
        let found = match self.saved[place].try_get(m)? {
            None => None,
            Some(it) => {
                let slots = access::strong_slots(it);
                let child = match slots.first() {
                    Some(slot) => read(slot)?,
                    None => None,
                };
                Some((look(it).0, child.map(|it| look(it).0)))
            }
        };
        self.tell(Saw::Revived(found));
        let met = self.met[place].lock().unwrap().clone();
        let met = match met {
            Some(met) => Some(met.try_get(m)?.map(look)),
            None => None,
        };
        self.tell(Saw::Met(met));
        Ok(())
    }

    /// Reads and writes what all threads share: pairs whose leaf has the opposite number.
    fn share(&mut self, m: &mut Mutator<'_>) -> Result<(), End> {
        let Some(shared) = self.shared.clone() else {
            return Ok(());
        };
        let mut inner = m.scope();
        let m = &mut inner;
        self.serial += 1;
        let value = self.serial;
        let leaf = m.alloc(LeafInit { value: !value })?;
        let left = Some(leaf.upcast(m));
        let pair = m.alloc(PairInit {
            value,
            left,
            right: None,
        })?;
        let slots = shared.try_get(m)?.expect("it is set before threads start");
        let slot = &slots[self.dice.below(slots.len())];
        let before = slot.try_get()?;
        if let Some(before) = before {
            let pair = before.downcast::<Pair>().expect("only pairs are shared");
            let leaf = pair.left.try_get()?.expect("a shared pair is complete");
            assert_eq!(access::value(leaf), Some(!pair.value.get()));
        }
        let pair = Some(m[pair].as_object());
        match self.dice.below(4) {
            0 => slot.set(pair),
            1 => slot.clear(),
            _ => {
                guard(|| slot.compare_and_set(before, pair))?;
            }
        }
        Ok(())
    }

    /// Lets go of everything and collects until nothing happens any more.
    fn let_go(&mut self, m: &mut Mutator<'_>) {
        self.note_events();
        self.telling = false;
        self.handles.clear();
        self.pins.clear();
        self.weaks.clear();
        m.set_thread_object::<Object>(None);
        for _ in 0..4 {
            for place in self.statics.iter().chain(&self.saved) {
                place.clear(m);
            }
            m.collect();
        }
        self.note_events();
    }
}

fn look_around(view: &heaphound::StoppedHeap<'_>, objects: &mut usize) {
    use heaphound::view::HeapView;
    view.for_each_root(|_, object| {
        view.for_each_edge(object, |_, _, to| {
            *objects += view.class(view.class_of(to)).fields.len();
        });
    });
}

fn read<'m>(slot: &Strong<'m>) -> Result<Option<&'m Object>, Invalidated> {
    match slot {
        Strong::Slot(slot) => slot.try_get(),
        Strong::Ref(slot) => slot.try_get().map(Some),
    }
}

fn same(a: Option<&Object>, b: Option<&Object>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => ptr::eq(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

fn has_slots(object: &Object) -> bool {
    !access::strong_slots(object).is_empty()
}

/// What tells an object from others: its number, or its length, and its class.
fn look(object: &Object) -> (u64, String) {
    let class = object.class().name.to_string();
    // Each thread defines dynamic classes of its own.
    let class = class.split('~').next().unwrap_or_default().to_string();
    if let Some(it) = object.downcast::<Owner>() {
        assert_eq!(it.name, format!("owner {}", it.value.get() & 0xffff_ffff));
    }
    let number = if let Some(value) = access::value(object) {
        value
    } else if let Some(array) = object.downcast::<Refs>() {
        array.len() as u64
    } else {
        let text = String::from_utf8(access::bytes(object)).unwrap();
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    (number, class)
}
