//! Marking, and watching while we mark.
//!
//! An object is white (its header carries an old epoch), gray (marked, slots
//! unread) or black. Until the drain ends, no black object points to a white one.
//!
//! 1. Roots go onto the stacks of the workers.
//! 2. A worker pops a reference, asks the cache for the target's header, and puts
//!    the reference into a short queue; what leaves the queue, when it is full or
//!    nothing else is left, has had time to arrive. If its epoch is old it gets the
//!    new one and its slots go onto the stack. (The mark is tested on leaving the
//!    queue, not on pushing: at push time the header would be a cache miss.)
//! 3. A worker that runs dry takes from the pool; see [`heaphound_heap::pool`].
//! 4. Objects with weak slots and ephemerons are listed as they are met, for
//!    [`crate::raw::marking::weak`].
//!
//! The loop is compiled once for each kind of [`Visitor`]; with none, what is left is
//! the plain loop. A visitor sees, it cannot change what is marked. A [`Marker`] says what a
//! mark is (`marker.rs`).

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use heaphound_heap::crew;
use heaphound_heap::pool::Pool;
use heaphound_heap::sync::Mutex;
use heaphound_heap::{ClassId, FieldKind};

use crate::classes::Classes;
use crate::raw::marking::marker::{Look, Marker};
use crate::raw::memory::address::{Base, Raw, Reach};
use crate::raw::objects::header::{Epoch, Header, Word};
use crate::raw::objects::layout::{ELEMENTS_OFFSET, Slots, Trace, array_len, slot_at};

/// Watches a trace. Each worker has one of its own; they are merged at the end.
pub(crate) trait Visitor: Send {
    /// What an edge carries from its source to its target.
    type Tag: Copy + Send + Default;
    /// How the two are kept until it arrives.
    type Edge: Edge<Self::Tag>;
    /// What reading the slots of an object needs to know of it.
    type Source: Copy + Default;
    /// Whether [`Visitor::edge_arrived`] is wanted.
    const ARRIVALS: bool;
    /// Whether [`Visitor::edge_read`] is wanted.
    const READS: bool;
    /// Whether [`Visitor::edge_read`] may be called for slots that refer to nothing, too: then
    /// nobody need find out first.
    const READS_ALL: bool = false;
    /// Whether [`Visitor::watched`] is wanted.
    const WATCHES: bool = false;
    /// Whether [`Visitor::met`] is wanted.
    const MEETS: bool = false;
    /// Whether [`Visitor::object`] is wanted at all.
    const OBJECTS: bool = true;
    /// Whether [`Visitor::object`] is wanted only of classes whose trace word says so.
    const FEW: bool = false;
    /// Whether the visitor counts arrivals in the header. They are then told when their target
    /// is marked, and its count starts at 0.
    const DEGREES: bool = false;
    /// Whether the trace may end early; see [`Visitor::is_done`].
    const STOPS: bool = false;
    /// Whether the visitor counts all objects and bytes, so that the loop need not; see
    /// [`Visitor::counted`].
    const COUNTS: bool = false;
    /// Whether [`Visitor::decide`] is wanted.
    const DECIDES: bool = false;
    /// Whether [`Visitor::enters`] is wanted.
    const SIFTS: bool = false;
    /// Whether the visitor will soon look into what objects refer to.
    const FOLLOWS: bool = false;

    /// What a start carries that is neither a root nor an edge, or an edge that was counted before.
    /// Roots carry the default.
    #[inline(always)]
    fn no_edge() -> Self::Tag {
        Self::Tag::default()
    }

    /// An object is seen for the first time.
    fn object(&mut self, raw: Raw, word: Word, trace: Trace, bytes: usize);

    /// The slots of an object are about to be read.
    #[inline(always)]
    fn source(&self, from: Raw, word: Word) -> Self::Source {
        let _ = (from, word);
        Self::Source::default()
    }

    /// A slot was read, `word` four-byte words behind the header; the target's header has
    /// not been touched.
    fn edge_read(&mut self, from: Self::Source, word: u32, to: Raw) -> Self::Tag {
        let _ = (from, word, to);
        Self::Tag::default()
    }

    /// The same, of a slot that may be an element of an array.
    #[inline(always)]
    fn element_read(&mut self, from: Self::Source, word: u32, to: Raw) -> Self::Tag {
        self.edge_read(from, word, to)
    }

    /// The target of an edge, whose header this is, is in the cache now.
    fn edge_arrived(&mut self, edge: Self::Edge, object: *const u8, word: Word) {
        let _ = (edge, object, word);
    }

    /// An object of a class whose trace word says that it is watched is seen for the first time.
    #[inline]
    fn watched(&mut self, raw: Raw, class: ClassId, bytes: usize) {
        let _ = (raw, class, bytes);
    }

    /// An edge leads to an object that is marked already.
    #[inline]
    fn met(&mut self, to: Raw, word: Word) {
        let _ = (to, word);
    }

    /// An edge was set aside, because the marker leaves its target to a later phase. If
    /// [`Visitor::MEETS`].
    #[inline]
    fn set_aside(&mut self, to: Raw, word: Word) {
        let _ = (to, word);
    }

    /// Whether an edge is followed, given the header of its target. Asked once for each edge.
    #[inline]
    fn decide(&mut self, edge: Self::Edge, word: Word) -> Decision {
        let _ = (edge, word);
        Decision::Follow
    }

    /// Whether an edge enters its target, which is not marked yet, given the header that it would have then. If not, it is
    /// left out; the visitor may have kept it. Cheaper than [`Visitor::decide`]: most edges lead to
    /// objects that are marked already, or to others that are marked now.
    #[inline(always)]
    fn enters(&mut self, edge: Self::Edge, marked: Word) -> bool {
        let _ = (edge, marked);
        true
    }

    /// Objects and bytes that it has counted since it was made.
    fn counted(&self) -> (usize, usize) {
        (0, 0)
    }

    /// Whether the answer is known, so that the trace may end here. What is marked is then
    /// only part of what can be reached.
    #[inline]
    fn is_done(&self) -> bool {
        false
    }
}

/// What becomes of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decision {
    /// Its target is marked, if it is not.
    Follow,
    /// It is left out, as if the slot held null.
    Stop,
    /// It is kept for a later phase: see [`Drained::aside`].
    SetAside,
}

/// No questions asked.
impl Visitor for () {
    type Tag = ();
    type Edge = Start<()>;
    type Source = ();
    const ARRIVALS: bool = false;
    const READS: bool = false;
    const OBJECTS: bool = false;

    #[inline]
    fn object(&mut self, _: Raw, _: Word, _: Trace, _: usize) {}
}

/// A reference to start from, and what it brings along.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Start<T> {
    pub(crate) to: Raw,
    pub(crate) tag: T,
}

impl<T: Default> From<Raw> for Start<T> {
    fn from(to: Raw) -> Self {
        Self {
            to,
            tag: T::default(),
        }
    }
}

/// A reference on its way to its target, and what it brings along.
pub(crate) trait Edge<T>: Copy + Send {
    fn new(to: Raw, tag: T) -> Self;
    fn to(self) -> Raw;
    fn tag(self) -> T;

    /// Where the target is.
    #[inline(always)]
    fn object(self, base: Base) -> *mut u8 {
        base.object(self.to())
    }
}

impl<T: Copy + Send> Edge<T> for Start<T> {
    #[inline(always)]
    fn new(to: Raw, tag: T) -> Self {
        Self { to, tag }
    }

    #[inline(always)]
    fn to(self) -> Raw {
        self.to
    }

    #[inline(always)]
    fn tag(self) -> T {
        self.tag
    }
}

/// An edge that brings a number along, in one word: what was just stored in halves cannot
/// be loaded whole without waiting for the cache. The number is in the upper half: it is moved there once for each object, and the reference need not be
/// moved.
#[derive(Clone, Copy)]
pub(crate) struct Numbered(u64);

impl Edge<u32> for Numbered {
    #[inline(always)]
    fn new(to: Raw, tag: u32) -> Self {
        Self((tag as u64) << 32 | to.0 as u64)
    }

    #[inline(always)]
    fn to(self) -> Raw {
        Raw(self.0 as u32)
    }

    #[inline(always)]
    fn tag(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// What marking needs to know of the heap.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'h> {
    pub(crate) base: Base,
    pub(crate) reach: Reach,
    pub(crate) epoch: Epoch,
    pub(crate) traces: &'h [Trace],
    pub(crate) classes: &'h Classes,
}

/// What the workers bring home.
#[derive(Default)]
pub(crate) struct Marked {
    pub(crate) objects: usize,
    pub(crate) bytes: usize,
    /// Objects with weak slots.
    pub(crate) weak: Vec<Raw>,
    /// Those of them with dependent slots.
    pub(crate) ephemerons: Vec<Raw>,
    /// Marked objects that an ephemeron had been waiting for.
    pub(crate) woken: Vec<Raw>,
}

/// What draining from a start set gives.
pub(crate) struct Drained<V: Visitor> {
    pub(crate) marked: Marked,
    /// Edges that were set aside, in any order: [`Look::Aside`], [`Decision::SetAside`].
    pub(crate) aside: Vec<Start<V::Tag>>,
    pub(crate) visitors: Vec<V>,
}

impl Marked {
    pub(crate) fn plus(mut self, other: Self) -> Self {
        self.objects += other.objects;
        self.bytes += other.bytes;
        self.weak.extend(other.weak);
        self.ephemerons.extend(other.ephemerons);
        self.woken.extend(other.woken);
        self
    }
}

/// Marks everything reachable from `starts`. There are as many workers as visitors, which are
/// given back.
pub(crate) fn mark<M: Marker, V: Visitor>(
    ground: Ground<'_>,
    marker: M,
    starts: &[Start<V::Tag>],
    visitors: Vec<V>,
) -> Drained<V> {
    if starts.is_empty() {
        return Drained {
            marked: Marked::default(),
            aside: Vec::new(),
            visitors,
        };
    }
    match ground.reach.tags() {
        true => mark_tagged::<M, V, true>(ground, marker, starts, visitors),
        false => mark_tagged::<M, V, false>(ground, marker, starts, visitors),
    }
}

/// In a heap that does not tag references, the loop does not look for tags.
fn mark_tagged<M: Marker, V: Visitor, const TAGS: bool>(
    ground: Ground<'_>,
    marker: M,
    starts: &[Start<V::Tag>],
    mut visitors: Vec<V>,
) -> Drained<V> {
    let count = visitors.len();
    let stop = AtomicBool::new(false);
    if count == 1
        && let Some(visitor) = visitors.pop()
    {
        let mut worker = Worker::<M, V, TAGS>::new(ground, marker, visitor, &stop, true);
        let edge = |it: &Start<V::Tag>| V::Edge::new(it.to, it.tag);
        worker.stack.extend(starts.iter().map(edge));
        worker.drain_all::<false>(&Pool::new(1));
        return worker.finish();
    }
    let pool = Pool::new(count);
    // Dealt out here, so that what a missing thread would have started from is
    // found in the pool.
    for index in 0..count {
        let entries = starts.iter().skip(index).step_by(count);
        pool.give(Bundle {
            entries: entries.map(|it| V::Edge::new(it.to, it.tag)).collect(),
            rests: Vec::new(),
        });
    }
    let visitors: Vec<_> = visitors
        .into_iter()
        .map(|it| Mutex::new(Some(it)))
        .collect();
    let work = |index: usize| {
        // Visitors are the user's, and may panic.
        let _guard = pool.guard();
        let visitor = visitors[index].lock().unwrap().take();
        let visitor = visitor.expect("each is taken once");
        let mut worker = Worker::<M, V, TAGS>::new(ground, marker, visitor, &stop, false);
        worker.drain_all::<true>(&pool);
        let mut drained = worker.finish();
        *visitors[index].lock().unwrap() = drained.visitors.pop();
        (drained.marked, drained.aside)
    };
    let done = crew::run(count, work, || pool.do_without_one());
    let (mut marked, mut aside) = (Marked::default(), Vec::new());
    for (some, set_aside) in done {
        marked = marked.plus(some);
        aside.extend(set_aside);
    }
    let back = |it: Mutex<Option<V>>| it.into_inner().unwrap().expect("it was put back");
    Drained {
        marked,
        aside,
        visitors: visitors.into_iter().map(back).collect(),
    }
}

/// Where a stack is and how much is on it, as numbers that stay in registers while the loop runs.
/// The stack itself learns of it when somebody else works on it: [`Worker::step_aside`]. Until
/// then nobody touches it. All entries below the top have been written.
struct Top<E> {
    start: *mut E,
    len: usize,
    room: usize,
}

impl<E: Copy> Top<E> {
    fn of(stack: &mut Vec<E>) -> Self {
        Self {
            start: stack.as_mut_ptr(),
            len: stack.len(),
            room: stack.capacity(),
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<E> {
        self.len = self.len.checked_sub(1)?;
        // SAFETY: the entries below the top have been written.
        Some(unsafe { self.start.add(self.len).read() })
    }

    /// Writes an entry, and keeps it or not: whether a slot is null (or invalid) cannot be
    /// predicted, and so is no reason to branch.
    ///
    /// # Safety
    /// There is room for another entry.
    #[inline(always)]
    unsafe fn push_if(&mut self, keep: bool, entry: E) {
        debug_assert!(self.len < self.room);
        // SAFETY: the caller's promise.
        unsafe { self.start.add(self.len).write(entry) };
        self.len += keep as usize;
    }

    /// Lets the stack know how much is on it.
    #[inline(always)]
    fn settle(self, stack: &mut Vec<E>) {
        debug_assert!(std::ptr::eq(self.start, stack.as_ptr()) && self.len <= stack.capacity());
        // SAFETY: the entries below the top have been written.
        unsafe { stack.set_len(self.len) };
    }
}

/// The slots of a long array from `next` on: read piece by piece, so that neither the
/// stack nor one worker's load grows with the array.
#[derive(Clone, Copy)]
struct Rest {
    array: Raw,
    next: u32,
}

const PIECE: usize = 1024;

/// The most slots that a bitmap can show.
const BITMAP_SLOTS: usize = 48;

/// Work that one worker gives to another.
struct Bundle<E> {
    entries: Vec<E>,
    rests: Vec<Rest>,
}

/// References between asking the cache for a header and looking at it. Must be a
/// power of two.
const QUEUE: usize = 32;

/// A worker keeps at least this much to itself.
const SHARE_ABOVE: usize = 128;

struct Worker<'h, 'v, M, V: Visitor, const TAGS: bool> {
    ground: Ground<'h>,
    marker: M,
    /// Whether there is no other worker.
    is_alone: bool,
    stack: Vec<V::Edge>,
    rests: Vec<Rest>,
    visitor: V,
    /// What it had counted before.
    before: (usize, usize),
    /// Some worker's visitor knows the answer.
    stop: &'v AtomicBool,
    marked: Marked,
    aside: Vec<Start<V::Tag>>,
}

impl<'h, 'v, M: Marker, V: Visitor, const TAGS: bool> Worker<'h, 'v, M, V, TAGS> {
    fn new(
        ground: Ground<'h>,
        marker: M,
        visitor: V,
        stop: &'v AtomicBool,
        is_alone: bool,
    ) -> Self {
        Self {
            ground,
            marker,
            is_alone,
            stack: Vec::with_capacity(4096),
            rests: Vec::new(),
            before: visitor.counted(),
            visitor,
            stop,
            marked: Marked::default(),
            aside: Vec::new(),
        }
    }

    fn finish(mut self) -> Drained<V> {
        let (before, after) = (self.before, self.visitor.counted());
        self.marked.objects += after.0 - before.0;
        self.marked.bytes += after.1 - before.1;
        Drained {
            marked: self.marked,
            aside: self.aside,
            visitors: vec![self.visitor],
        }
    }

    fn drain_all<const PARALLEL: bool>(&mut self, pool: &Pool<Bundle<V::Edge>>) {
        loop {
            self.drain::<PARALLEL>(pool);
            let Some(bundle) = pool.take() else { break };
            self.stack.extend(bundle.entries);
            self.rests.extend(bundle.rests);
        }
    }

    /// Lets somebody else work on the stack.
    #[inline(always)]
    fn step_aside(&mut self, top: Top<V::Edge>, work: impl FnOnce(&mut Self)) -> Top<V::Edge> {
        top.settle(&mut self.stack);
        work(self);
        Top::of(&mut self.stack)
    }

    /// Works until nothing is left on the stack. Not part of its caller, so that each form of the loop has the registers to itself.
    #[inline(never)]
    fn drain<const PARALLEL: bool>(&mut self, pool: &Pool<Bundle<V::Edge>>) {
        let mut top = Top::of(&mut self.stack);
        let nothing = V::Edge::new(Raw::NULL, V::Tag::default());
        let mut queue = [nothing; QUEUE];
        // The oldest entry is at `first`, and `queued` are in the queue.
        let (mut first, mut queued) = (0, 0);
        // Copies, which no call can change, and which so may stay in registers.
        let (base, marker) = (self.ground.base, self.marker);
        let traces = self.ground.traces;
        loop {
            let entry = if queued == QUEUE
                && let Some(incoming) = top.pop()
            {
                // The usual case.
                prefetch(incoming.object(base));
                std::mem::replace(&mut queue[first % QUEUE], incoming)
            } else {
                while queued < QUEUE
                    && let Some(incoming) = top.pop()
                {
                    prefetch(incoming.object(base));
                    queue[(first + queued) % QUEUE] = incoming;
                    queued += 1;
                }
                if queued == QUEUE && top.len > 0 {
                    continue;
                }
                if queued == 0 {
                    let Some(rest) = self.rests.pop() else {
                        return top.settle(&mut self.stack);
                    };
                    top = self.step_aside(top, |it| it.read_array(rest.array, rest.next));
                    continue;
                }
                queued -= 1;
                queue[first % QUEUE]
            };
            first += 1;
            if let Some(word) = self.claim::<PARALLEL>(base, marker, entry) {
                top = self.scan(traces, marker, top, entry.to(), entry.object(base), word);
            }
            // Now and then: a few objects more or less do not matter.
            if V::STOPS && first % QUEUE == 0 && self.is_over() {
                self.rests.clear();
                self.stack.clear();
                return;
            }
            if PARALLEL && top.len > SHARE_ABOVE && pool.is_hungry() {
                top = self.step_aside(top, |it| it.share(pool));
            }
        }
    }

    /// Whether some visitor knows the answer.
    #[inline(never)]
    fn is_over(&self) -> bool {
        if self.visitor.is_done() {
            self.stop.store(true, Relaxed);
        }
        self.stop.load(Relaxed)
    }

    /// Gives away the older half of the stack: the wider part of what is left.
    #[cold]
    #[inline(never)]
    fn share(&mut self, pool: &Pool<Bundle<V::Edge>>) {
        let newer = self.stack.split_off(self.stack.len() / 2);
        let half = self.rests.len().div_ceil(2);
        let rests = self.rests.drain(..half).collect();
        pool.give(Bundle {
            entries: std::mem::replace(&mut self.stack, newer),
            rests,
        });
    }

    /// Marks an object. Returns its header if it was white.
    #[inline(always)]
    fn claim<const PARALLEL: bool>(
        &mut self,
        base: Base,
        marker: M,
        edge: V::Edge,
    ) -> Option<Word> {
        let (to, object) = (edge.to(), edge.object(base));
        // SAFETY: slots of live objects and roots refer to live objects (H3).
        let header = unsafe { Header::at(object) };
        let word = header.load();
        if V::DECIDES {
            match self.visitor.decide(edge, word) {
                Decision::Follow => {}
                Decision::Stop => return None,
                Decision::SetAside => {
                    self.set_aside(to, edge.tag());
                    return None;
                }
            }
        }
        if V::ARRIVALS && !V::DEGREES {
            self.visitor.edge_arrived(edge, object, word);
        }
        match marker.look(word) {
            Look::New => {}
            Look::Old => {
                if V::DEGREES {
                    self.visitor.edge_arrived(edge, object, word);
                }
                if V::MEETS {
                    self.visitor.met(to, word);
                }
                return None;
            }
            Look::Aside => {
                if V::MEETS {
                    self.visitor.set_aside(to, word);
                }
                // An arrival that was counted is not counted again.
                let tag = match V::ARRIVALS && !V::DEGREES {
                    true => V::no_edge(),
                    false => edge.tag(),
                };
                self.set_aside(to, tag);
                return None;
            }
        }
        const { assert!(!(V::SIFTS && V::DEGREES)) };
        if V::DEGREES {
            let fresh = |word: Word| marker.mark(word).with_degree(0);
            let before = match PARALLEL {
                // Others count in the same word.
                true => header.update(|word| match marker.is_marked(word) {
                    true => word,
                    false => fresh(word),
                }),
                false => {
                    header.store(fresh(word));
                    word
                }
            };
            self.visitor.edge_arrived(edge, object, word);
            if PARALLEL && marker.is_marked(before) {
                if V::MEETS {
                    self.visitor.met(to, before);
                }
                return None;
            }
            return Some(word);
        }
        let marked = marker.mark(word);
        if V::SIFTS && !self.visitor.enters(edge, marked) {
            return None;
        }
        if PARALLEL {
            // Everyone who comes here writes the same word, so that a swap tells
            // exactly one of them that the object was white.
            let before = header.swap(marked);
            if marker.is_marked(before) {
                if V::MEETS {
                    self.visitor.met(to, before);
                }
                return None;
            }
        } else {
            header.store(marked);
        }
        Some(word)
    }

    #[inline(never)]
    fn set_aside(&mut self, to: Raw, tag: V::Tag) {
        self.aside.push(Start { to, tag });
    }

    /// Shows an object of a watched class, and reads its slots.
    #[inline(never)]
    fn read_watched(&mut self, raw: Raw, word: Word, seen: Trace) {
        let object = self.ground.base.object(raw);
        let class = ClassId(word.class());
        let trace = self.ground.classes.get(class).trace;
        // SAFETY: a live object of that class.
        let (bytes, counted) = unsafe { (trace.bytes(object), seen.bytes(object)) };
        self.marked.bytes += bytes - counted;
        self.visitor.watched(raw, class, bytes);
        match trace.slots() {
            Slots::Bitmap(bits) => {
                self.stack.reserve(BITMAP_SLOTS);
                let mut top = Top::of(&mut self.stack);
                // SAFETY: room was made for all slots of a bitmap.
                unsafe { self.read_bitmap(&mut top, raw, word, object, bits) };
                top.settle(&mut self.stack);
            }
            Slots::None => {}
            Slots::Array => self.read_array(raw, 0),
            Slots::Listed => self.read_listed(raw, word),
        }
    }

    /// Puts what an object refers to onto the stack.
    #[inline(always)]
    fn scan(
        &mut self,
        traces: &[Trace],
        marker: M,
        mut top: Top<V::Edge>,
        raw: Raw,
        object: *mut u8,
        word: Word,
    ) -> Top<V::Edge> {
        let trace = traces[word.class() as usize];
        // SAFETY: a live object of that class.
        let bytes = unsafe { trace.bytes(object) };
        if !V::COUNTS && marker.counts(word) {
            self.marked.objects += 1;
            self.marked.bytes += bytes;
        }
        if V::OBJECTS && (!V::FEW || trace.is_watched()) {
            self.visitor.object(raw, word, trace, bytes);
        }
        if word.is_awaited_key() {
            self.marked.woken.push(raw);
        }
        match trace.slots() {
            Slots::Bitmap(bits) => {
                if top.room - top.len < BITMAP_SLOTS {
                    top = self.step_aside(top, Self::grow);
                }
                // SAFETY: room was made for all slots of a bitmap.
                unsafe { self.read_bitmap(&mut top, raw, word, object, bits) };
                top
            }
            Slots::None => top,
            Slots::Array => self.step_aside(top, |it| it.read_array(raw, 0)),
            Slots::Listed if V::WATCHES && trace.is_watched() => {
                self.step_aside(top, |it| it.read_watched(raw, word, trace))
            }
            Slots::Listed => self.step_aside(top, |it| it.read_listed(raw, word)),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.stack.reserve(BITMAP_SLOTS);
    }

    /// Reads the slots that a bitmap shows.
    ///
    /// # Safety
    /// The object has them, and there is room for as many entries.
    #[inline(always)]
    unsafe fn read_bitmap(
        &mut self,
        top: &mut Top<V::Edge>,
        from: Raw,
        word: Word,
        object: *mut u8,
        mut bits: u64,
    ) {
        let source = self.visitor.source(from, word);
        // What the only slot refers to comes next in any case.
        let asks = V::FOLLOWS && bits & bits.wrapping_sub(1) != 0;
        while bits != 0 {
            let word = bits.trailing_zeros();
            bits &= bits - 1;
            // SAFETY: the caller's promise.
            let to = unsafe { self.read_slot::<false>(top, source, object, word) };
            if asks {
                prefetch_line(self.ground.base.object(to));
            }
        }
    }

    /// Reads a slot and puts what it refers to onto the stack. Returns what it holds, clean of tags.
    ///
    /// # Safety
    /// The object has a slot `word` words behind the header, and there is room for another entry.
    #[inline(always)]
    unsafe fn read_slot<const ELEMENT: bool>(
        &mut self,
        top: &mut Top<V::Edge>,
        source: V::Source,
        object: *mut u8,
        word: u32,
    ) -> Raw {
        // SAFETY: the caller's promise, and the world stands still.
        let slot = unsafe { slot_at(object, 8 + 4 * word as usize) };
        let mut tag = V::Tag::default();
        let (to, refers) = match TAGS {
            true => {
                let found = Raw(slot.load(Relaxed));
                let refers = found.refers_tagged();
                // Elements have been tagged. An object has just been marked, so that its line is written back in any case:
                // then to write is cheaper than to ask.
                if M::TAGS && !ELEMENT {
                    slot.store(found.untouched_if(refers).0, Relaxed);
                }
                // Not the heap's own reach, which is the same, but no constant.
                let to = Reach::TAGGED.clean(found);
                (to, refers)
            }
            false => {
                let to = Raw(slot.load(Relaxed));
                (to, !to.is_null())
            }
        };
        if V::READS && (V::READS_ALL || refers) {
            tag = match ELEMENT {
                true => self.visitor.element_read(source, word, to),
                false => self.visitor.edge_read(source, word, to),
            };
        }
        // SAFETY: the caller made room for one more.
        unsafe { top.push_if(refers, V::Edge::new(to, tag)) };
        to
    }

    #[inline(never)]
    fn read_array(&mut self, array: Raw, next: u32) {
        let object = self.ground.base.object(array);
        // SAFETY: a live array.
        let (len, word) = unsafe { (array_len(object), self.ground.base.header(array).load()) };
        let end = len.min(next as usize + PIECE);
        self.stack.reserve(PIECE);
        let mut top = Top::of(&mut self.stack);
        let source = self.visitor.source(array, word);
        if TAGS && M::TAGS {
            // SAFETY: the elements from `next` to `end`, which nobody else reads meanwhile if this worker is alone.
            unsafe {
                let first = object.add(ELEMENTS_OFFSET).cast::<u32>();
                tag_elements(first.add(next as usize), end - next as usize, self.is_alone);
            }
        }
        for i in next as usize..end {
            // SAFETY: an element, and room was made for a piece of them.
            unsafe {
                let word = word_behind(ELEMENTS_OFFSET) + i as u32;
                self.read_slot::<true>(&mut top, source, object, word);
            }
        }
        top.settle(&mut self.stack);
        if end < len {
            self.rests.push(Rest {
                array,
                next: end as u32,
            });
        }
    }

    #[cold]
    #[inline(never)]
    fn read_listed(&mut self, from: Raw, word: Word) {
        let object = self.ground.base.object(from);
        let class = self.ground.classes.get(ClassId(word.class()));
        let (mut weak, mut dependent) = (false, false);
        self.stack.reserve(class.slots.len());
        let mut top = Top::of(&mut self.stack);
        let source = self.visitor.source(from, word);
        for &(offset, kind) in &class.slots {
            match kind {
                FieldKind::Weak | FieldKind::Dependent => {
                    weak |= kind == FieldKind::Weak;
                    dependent |= kind == FieldKind::Dependent;
                    // SAFETY: the class says that a slot is there.
                    let slot = unsafe { slot_at(object, offset as usize) };
                    if M::TAGS {
                        let found = Raw(slot.load(Relaxed));
                        let refers = self.ground.refers(self.ground.reach.clean(found));
                        slot.store(found.untouched_if(refers).0, Relaxed);
                    }
                }
                // SAFETY: the class says that a slot is there; room was made.
                _ => unsafe {
                    let word = word_behind(offset as usize);
                    self.read_slot::<false>(&mut top, source, object, word);
                },
            }
        }
        top.settle(&mut self.stack);
        if weak {
            self.marked.weak.push(from);
        }
        if dependent {
            self.marked.ephemerons.push(from);
        }
    }
}

/// Tags references in a row as untouched. They are written only where something changes: the lines of an array
/// may be clean, and stay so.
///
/// # Safety
/// So many slots are there, in a heap that tags references. If `is_alone`, no other thread reads or writes them meanwhile.
unsafe fn tag_elements(first: *mut u32, count: usize, is_alone: bool) {
    /// So many at once, if the processor can.
    const BATCH: usize = 8;
    let tagged = |found: u32| {
        let found = Raw(found);
        found.untouched_if(found.refers_tagged()).0
    };
    let mut at = 0;
    while is_alone && at + BATCH <= count {
        // SAFETY: the caller's promise.
        let batch = unsafe { &mut *first.add(at).cast::<[u32; BATCH]>() };
        let after = batch.map(tagged);
        let changes = (0..BATCH).fold(0, |changes, i| changes | (batch[i] ^ after[i]));
        if changes != 0 {
            *batch = after;
        }
        at += BATCH;
    }
    for at in at..count {
        // SAFETY: as above.
        let slot = unsafe { AtomicU32::from_ptr(first.add(at)) };
        let found = slot.load(Relaxed);
        if tagged(found) != found {
            slot.store(tagged(found), Relaxed);
        }
    }
}

/// How many four-byte words behind the header something is.
pub(crate) const fn word_behind(offset: usize) -> u32 {
    (offset - 8) as u32 / 4
}

/// Asks the cache for an object's header, and for the line that most objects end on:
/// to find out whether an object crosses a line costs more than asking.
#[inline(always)]
pub(crate) fn prefetch(object: *const u8) {
    prefetch_line(object);
    prefetch_line(object.wrapping_add(32));
}

#[inline(always)]
pub(crate) fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint and faults on no address.
    unsafe {
        std::arch::x86_64::_mm_prefetch(address.cast(), std::arch::x86_64::_MM_HINT_T0);
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use heaphound_heap::root::RootSet;
    use heaphound_heap::view::{HeapView, Place};

    use super::*;
    use crate::raw::StoppedHeap;
    use crate::raw::marking::marker::VisitMark;
    use crate::{Heap, Instance, Local, Managed, Mutator};

    #[test]
    fn elements_are_tagged_as_untouched_if_they_refer_to_objects() {
        // Null, invalid, untouched, and not.
        let kinds = [0, 1 << 31 | 7, 1 << 30 | 5, 9, (1 << 30) - 1];
        for count in 0..40 {
            for first in 0..kinds.len() {
                let mut slots: Vec<u32> = (0..count).map(|i| kinds[(first + i * i) % 5]).collect();
                let expected = slots.iter().map(|&found| match found {
                    0 => 0,
                    found if found >= 1 << 31 => found,
                    found => found | 1 << 30,
                });
                let expected: Vec<u32> = expected.collect();
                let mut others = slots.clone();
                // SAFETY: so many words are there, and they are ours.
                unsafe {
                    tag_elements(slots.as_mut_ptr(), count, true);
                    tag_elements(others.as_mut_ptr(), count, false);
                }
                assert_eq!((&slots, &others), (&expected, &expected));
            }
        }
    }

    /// Decides by the class and the slot that an edge comes from, and the class that it leads to.
    #[derive(Clone)]
    struct Choosing {
        stop: HashSet<(u32, u32, u32)>,
        aside: HashSet<(u32, u32, u32)>,
        entered: Vec<Raw>,
    }

    impl Choosing {
        fn choose(&self, key: (u32, u32, u32)) -> Decision {
            match (self.stop.contains(&key), self.aside.contains(&key)) {
                (true, _) => Decision::Stop,
                (_, true) => Decision::SetAside,
                _ => Decision::Follow,
            }
        }
    }

    impl Visitor for Choosing {
        type Tag = (u32, u32);
        type Edge = Start<(u32, u32)>;
        type Source = u32;
        const ARRIVALS: bool = false;
        const READS: bool = true;
        const DECIDES: bool = true;

        fn object(&mut self, raw: Raw, _: Word, _: Trace, _: usize) {
            self.entered.push(raw);
        }

        fn source(&self, _: Raw, word: Word) -> u32 {
            word.class()
        }

        fn edge_read(&mut self, from: u32, word: u32, _: Raw) -> (u32, u32) {
            (from, word)
        }

        fn decide(&mut self, edge: Start<(u32, u32)>, word: Word) -> Decision {
            self.choose((edge.tag.0, edge.tag.1, word.class()))
        }
    }

    /// What following the edges that are to be followed enters, and what they set aside.
    fn by_definition(
        view: &StoppedHeap<'_>,
        chooser: &Choosing,
        starts: &[Raw],
    ) -> (BTreeSet<Raw>, BTreeSet<Raw>) {
        let (mut entered, mut aside) = (BTreeSet::new(), BTreeSet::new());
        let mut left = starts.to_vec();
        while let Some(raw) = left.pop() {
            if !entered.insert(raw) {
                continue;
            }
            let from = view.object(raw);
            let class = view.class_of(from);
            view.for_each_strong_edge(from, |place, to| {
                let Place::Field(field) = place else {
                    panic!("no arrays here");
                };
                let offset = view.class(class).fields[field as usize].offset;
                let key = (class.0, word_behind(offset as usize), view.class_of(to).0);
                match chooser.choose(key) {
                    Decision::Follow => left.push(to.raw()),
                    Decision::Stop => {}
                    Decision::SetAside => drop(aside.insert(to.raw())),
                }
            });
        }
        (entered, aside)
    }

    /// Objects of three classes with two slots each, which refer to one another at random.
    fn build<'m>(heap: &Heap, m: &mut Mutator<'m>, random: &mut impl FnMut(usize) -> usize) {
        let classes = ["A", "B", "C"].map(|name| {
            let class = heap.define_class(name).slot("left").slot("right");
            class.define().unwrap()
        });
        let objects: Vec<Local<'m, Instance>> = (0..40)
            .map(|_| m.alloc_instance(&classes[random(3)]).unwrap())
            .collect();
        for &from in &objects {
            for slot in 0..2 {
                let to = objects[random(objects.len())];
                m[from][slot].set(Some(m[to].as_object()));
            }
        }
    }

    #[test]
    fn edges_are_decided_by_their_source_slot_and_target() {
        let mut state = 1u64;
        let mut random = |below: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for round in 0..60 {
            let heap = Heap::builder().build().unwrap();
            let mut m = heap.attach("main").unwrap();
            build(&heap, &mut m, &mut random);
            m.inspect(|view| {
                let mut keys = HashSet::new();
                for _ in 0..round % 5 {
                    let class = |random: &mut dyn FnMut(usize) -> usize| {
                        view.classes()[random(view.classes().len())].id.0
                    };
                    let from = class(&mut random);
                    keys.insert((from, random(2) as u32, class(&mut random)));
                }
                let (stop, aside) = keys.into_iter().partition(|it| it.1 == 0);
                let chooser = Choosing {
                    stop,
                    aside,
                    entered: Vec::new(),
                };
                let mut starts = Vec::new();
                view.for_each_root_target(RootSet::All, |object| starts.push(object.raw()));
                let (entered, set_aside) = by_definition(view, &chooser, &starts);
                for threads in [1, 3] {
                    view.reserve(1);
                    let marker = VisitMark::alone(view.fresh());
                    let starts: Vec<_> = starts.iter().map(|&it| Start::from(it)).collect();
                    let visitors = vec![chooser.clone(); threads];
                    let drained = mark(view.ground(), marker, &starts, visitors);
                    let found = drained.visitors.into_iter().flat_map(|it| it.entered);
                    let found: Vec<Raw> = found.collect();
                    assert_eq!(found.len(), entered.len());
                    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), entered);
                    let aside = drained.aside.iter().map(|it| it.to);
                    assert_eq!(aside.collect::<BTreeSet<_>>(), set_aside);
                }
            });
        }
    }
}
