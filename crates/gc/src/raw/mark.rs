//! Marking, and watching while we mark.
//!
//! An object is white (its header carries an old epoch), gray (marked, slots
//! unread) or black. Until the drain ends, no black object points to a white one.
//!
//! 1. Roots go onto the stacks of the workers.
//! 2. A worker pops a reference, asks the cache for the target's header, and puts
//!    the reference into a short queue; what leaves the queue has had time to arrive.
//!    If its epoch is old it gets the new one and its slots go onto the stack.
//!    (The mark is tested on leaving the queue, not on pushing: at push time the
//!    header would be a cache miss.)
//! 3. A worker that runs dry takes from the pool; see [`heaphound_heap::pool`].
//! 4. Objects with weak slots and ephemerons are set aside as they are met, for
//!    [`super::weak`].
//!
//! The loop is compiled once for each kind of [`Visitor`]; with none, what is left is
//! the plain loop. A visitor sees, it cannot change what is marked.

use std::sync::atomic::Ordering::Relaxed;

use heaphound_heap::pool::Pool;
use heaphound_heap::{ClassId, FieldKind};
use rayon::ThreadPool;

use super::header::{Epoch, Word};
use super::region::{Base, Raw};
use super::trace::{ELEMENTS_OFFSET, Slots, Trace, array_len, slot_at};
use crate::classes::Classes;

/// Watches a trace. Each worker has one of its own; they are merged at the end.
pub(crate) trait Visitor: Send {
    /// What an edge carries from its source to its target.
    type Tag: Copy + Send + Default;
    /// Whether [`Visitor::edge_arrived`] is wanted.
    const ARRIVALS: bool;
    /// Whether [`Visitor::edge_read`] is wanted.
    const READS: bool;

    /// An object is seen for the first time.
    fn object(&mut self, raw: Raw, word: Word, bytes: usize);

    /// A slot was read; the target's header has not been touched.
    fn edge_read(&mut self, from: Raw, word: Word, offset: usize, to: Raw) -> Self::Tag {
        let _ = (from, word, offset, to);
        Self::Tag::default()
    }

    /// The target of an edge has its header in the cache now.
    fn edge_arrived(&mut self, tag: Self::Tag, to: Raw, word: Word) {
        let _ = (tag, to, word);
    }
}

/// No questions asked.
impl Visitor for () {
    type Tag = ();
    const ARRIVALS: bool = false;
    const READS: bool = false;

    #[inline]
    fn object(&mut self, _: Raw, _: Word, _: usize) {}
}

/// What marking needs to know of the heap.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'h> {
    pub(crate) base: Base,
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

/// Marks everything reachable from `starts` and tells what was met on the way.
pub(crate) fn mark<V: Visitor>(
    ground: Ground<'_>,
    starts: &[Raw],
    threads: Option<&ThreadPool>,
    mut visitors: Vec<V>,
) -> (Marked, Vec<V>) {
    let Some(threads) = threads.filter(|pool| pool.current_num_threads() > 1) else {
        let visitor = visitors.pop().expect("one visitor for each worker");
        let pool = Pool::new(1);
        let mut worker = Worker::new(ground, visitor);
        worker.start(starts.iter().copied());
        worker.drain_all::<false>(&pool);
        return (worker.marked, vec![worker.visitor]);
    };
    let count = threads.current_num_threads();
    let pool = Pool::new(count);
    let visitors = std::sync::Mutex::new(visitors);
    let done = threads.broadcast(|context| {
        let visitor = visitors
            .lock()
            .unwrap()
            .pop()
            .expect("one visitor for each worker");
        let mut worker = Worker::new(ground, visitor);
        let mine = starts.iter().skip(context.index()).step_by(count);
        worker.start(mine.copied());
        worker.drain_all::<true>(&pool);
        (worker.marked, worker.visitor)
    });
    let mut total = Marked::default();
    let mut visitors = Vec::new();
    for (marked, visitor) in done {
        total.objects += marked.objects;
        total.bytes += marked.bytes;
        total.weak.extend(marked.weak);
        total.ephemerons.extend(marked.ephemerons);
        total.woken.extend(marked.woken);
        visitors.push(visitor);
    }
    (total, visitors)
}

/// A reference on its way to its target.
#[derive(Clone, Copy)]
struct Entry<T> {
    to: Raw,
    tag: T,
}

/// The slots of a long array from `next` on: read piece by piece, so that neither the
/// stack nor one worker's load grows with the array.
#[derive(Clone, Copy)]
struct Rest {
    array: Raw,
    next: u32,
}

const PIECE: usize = 1024;

/// Work that one worker gives to another.
struct Bundle<T> {
    entries: Vec<Entry<T>>,
    rests: Vec<Rest>,
}

/// References between asking the cache for a header and looking at it. Must be a
/// power of two.
const QUEUE: usize = 32;

/// A worker keeps at least this much to itself.
const SHARE_ABOVE: usize = 128;

struct Worker<'h, V: Visitor> {
    ground: Ground<'h>,
    stack: Vec<Entry<V::Tag>>,
    rests: Vec<Rest>,
    visitor: V,
    marked: Marked,
}

impl<'h, V: Visitor> Worker<'h, V> {
    fn new(ground: Ground<'h>, visitor: V) -> Self {
        Self {
            ground,
            stack: Vec::with_capacity(4096),
            rests: Vec::new(),
            visitor,
            marked: Marked::default(),
        }
    }

    fn start(&mut self, roots: impl Iterator<Item = Raw>) {
        self.stack.extend(roots.map(|to| Entry {
            to,
            tag: V::Tag::default(),
        }));
    }

    fn drain_all<const PARALLEL: bool>(&mut self, pool: &Pool<Bundle<V::Tag>>) {
        loop {
            self.drain::<PARALLEL>(pool);
            let Some(bundle) = pool.take() else { break };
            self.stack.extend(bundle.entries);
            self.rests.extend(bundle.rests);
        }
    }

    /// Works until nothing is left on the stack.
    fn drain<const PARALLEL: bool>(&mut self, pool: &Pool<Bundle<V::Tag>>) {
        let nothing = Entry {
            to: Raw::NULL,
            tag: V::Tag::default(),
        };
        let mut queue = [nothing; QUEUE];
        let (mut place, mut queued) = (0, 0);
        loop {
            let incoming = match self.stack.pop() {
                Some(entry) => {
                    prefetch(self.ground.base.object(entry.to));
                    queued += 1;
                    entry
                }
                None if queued > 0 => nothing,
                None => match self.rests.pop() {
                    Some(rest) => {
                        self.read_array(rest.array, rest.next);
                        continue;
                    }
                    None => return,
                },
            };
            let entry = std::mem::replace(&mut queue[place % QUEUE], incoming);
            place += 1;
            if entry.to.is_null() {
                continue;
            }
            queued -= 1;
            self.visit::<PARALLEL>(entry);
            if PARALLEL && self.stack.len() > SHARE_ABOVE && pool.is_hungry() {
                self.share(pool);
            }
        }
    }

    /// Gives away the older half of the stack: the wider part of what is left.
    #[cold]
    fn share(&mut self, pool: &Pool<Bundle<V::Tag>>) {
        let newer = self.stack.split_off(self.stack.len() / 2);
        let entries = std::mem::replace(&mut self.stack, newer);
        let half = self.rests.len().div_ceil(2);
        let rests = self.rests.drain(..half).collect();
        pool.give(Bundle { entries, rests });
    }

    #[inline(always)]
    fn visit<const PARALLEL: bool>(&mut self, entry: Entry<V::Tag>) {
        let Ground {
            base,
            epoch,
            traces,
            ..
        } = self.ground;
        // SAFETY: slots of live objects and roots refer to live objects (H3).
        let header = unsafe { base.header(entry.to) };
        let word = header.load();
        if V::ARRIVALS {
            self.visitor.edge_arrived(entry.tag, entry.to, word);
        }
        if word.is_marked(epoch) {
            return;
        }
        let marked = word.with_epoch(epoch);
        if PARALLEL {
            // Everyone who comes here writes the same word, so that a swap tells
            // exactly one of them that the object was white.
            if header.swap(marked).is_marked(epoch) {
                return;
            }
        } else {
            header.store(marked);
        }
        let trace = traces[word.class() as usize];
        let object = base.object(entry.to);
        // SAFETY: a live object of that class.
        let bytes = unsafe { trace.bytes(object) };
        self.marked.objects += 1;
        self.marked.bytes += bytes;
        self.visitor.object(entry.to, word, bytes);
        if word.is_awaited_key() {
            self.marked.woken.push(entry.to);
        }
        match trace.slots() {
            Slots::Bitmap(mut bits) => {
                while bits != 0 {
                    let offset = 8 + 4 * bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    self.read_slot(entry.to, word, object, offset);
                }
            }
            Slots::None => {}
            Slots::Array => self.read_array(entry.to, 0),
            Slots::Listed => self.read_listed(entry.to, word),
        }
    }

    #[inline(always)]
    fn read_slot(&mut self, from: Raw, word: Word, object: *mut u8, offset: usize) {
        // SAFETY: the class says that a slot is there, and the world stands still.
        let to = Raw(unsafe { slot_at(object, offset) }.load(Relaxed));
        if to.is_null() {
            return;
        }
        let tag = if V::READS {
            self.visitor.edge_read(from, word, offset, to)
        } else {
            V::Tag::default()
        };
        self.stack.push(Entry { to, tag });
    }

    fn read_array(&mut self, array: Raw, next: u32) {
        let object = self.ground.base.object(array);
        // SAFETY: a live array.
        let (len, word) = unsafe { (array_len(object), self.ground.base.header(array).load()) };
        let end = len.min(next as usize + PIECE);
        for i in next as usize..end {
            self.read_slot(array, word, object, ELEMENTS_OFFSET + 4 * i);
        }
        if end < len {
            self.rests.push(Rest {
                array,
                next: end as u32,
            });
        }
    }

    #[cold]
    fn read_listed(&mut self, from: Raw, word: Word) {
        let object = self.ground.base.object(from);
        let class = self.ground.classes.get(ClassId(word.class()));
        let (mut weak, mut dependent) = (false, false);
        for &(offset, kind) in &class.slots {
            match kind {
                FieldKind::Weak => weak = true,
                FieldKind::Dependent => dependent = true,
                _ => self.read_slot(from, word, object, offset as usize),
            }
        }
        if weak {
            self.marked.weak.push(from);
        }
        if dependent {
            self.marked.ephemerons.push(from);
        }
    }
}

#[inline(always)]
fn prefetch(address: *const u8) {
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

/// Counts objects and bytes of each class.
pub(crate) struct Census {
    pub(crate) objects: Vec<usize>,
    pub(crate) bytes: Vec<usize>,
}

impl Census {
    pub(crate) fn new(classes: usize) -> Self {
        Self {
            objects: vec![0; classes + 1],
            bytes: vec![0; classes + 1],
        }
    }

    /// Adds another worker's counts.
    pub(crate) fn add(&mut self, other: &Self) {
        let classes = self.objects.len().max(other.objects.len());
        self.objects.resize(classes, 0);
        self.bytes.resize(classes, 0);
        for id in 0..other.objects.len() {
            self.objects[id] += other.objects[id];
            self.bytes[id] += other.bytes[id];
        }
    }
}

impl Visitor for Census {
    type Tag = ();
    const ARRIVALS: bool = false;
    const READS: bool = false;

    #[inline]
    fn object(&mut self, _: Raw, word: Word, bytes: usize) {
        self.objects[word.class() as usize] += 1;
        self.bytes[word.class() as usize] += bytes;
    }
}
