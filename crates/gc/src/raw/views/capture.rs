//! Capturing the live heap: a snapshot in compact arrays, made while the world stands still
//! and asked while it goes on.
//!
//! 1. Trace from the roots, and set a bit for each object in a map with one bit a
//!    granule.
//! 2. Count the bits before each word of the map. So an object's number is its place in
//!    the order of addresses, found by one addition and one count of bits.
//! 3. Go through the map, in parallel, and write down each object and its edges.
//!
//! The numbers depend on where objects lie and not on who traced them. Twice through the
//! heap, once at random and once in order, costs about twice a mark; and beside the
//! snapshot it takes a bit a granule and four bytes for 64 of them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use heaphound_heap::class::Elements;
use heaphound_heap::crew;
use heaphound_heap::root::RootSet;
use heaphound_heap::snapshot::{Columns, ObjectId as Number, Snapshot, encode_values};
use heaphound_heap::view::HeapView;
use heaphound_heap::{ClassId, FieldKind, PlainKind};

use crate::raw::Pages;
use crate::raw::marking::mark::{Start, Visitor, mark};
use crate::raw::marking::weak;
use crate::raw::memory::address::{GRANULE, MATURE_START, NURSERY_START, Raw};
use crate::raw::mutators::mutator::Mutator;
use crate::raw::objects::header::Word;
use crate::raw::objects::layout::{Slots, Trace, array_len, for_each_slot};
use crate::raw::views::stopped::StoppedHeap;

/// Which plain data a capture takes along.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum PlainData {
    /// None.
    #[default]
    Omit,
    /// All of it.
    All,
    /// That of the instances of these classes.
    Of(Vec<String>),
}

impl Mutator<'_> {
    /// Captures the live heap: the world stands still for about twice as long as a mark
    /// takes, and then the snapshot can be asked while it goes on.
    pub fn capture(&mut self, plain: PlainData) -> Snapshot {
        let threads = self.heap.config.collector_threads;
        self.inspect(|view| view.capture(&plain, threads))
    }
}

/// One bit for each granule where an object may start.
struct Map {
    words: Vec<AtomicU64>,
    /// How many bits are set before each word.
    before: Vec<u32>,
    /// Granules of the nursery, which come first.
    young: u32,
}

const YOUNG: u32 = (NURSERY_START / GRANULE) as u32;
const MATURE: u32 = (MATURE_START / GRANULE) as u32;

impl Map {
    fn new(view: &StoppedHeap<'_>) -> Self {
        let young = view.heap.generations.young_bytes();
        let young = young.div_ceil(GRANULE) as u32;
        let end = Pages::offset(view.heap.space.pages.frontier());
        let granules = young as usize + (end - MATURE_START) / GRANULE;
        // Zeroed by the system, page by page as they are touched.
        let words = vec![0u64; granules.div_ceil(64)];
        Self {
            words: words.into_iter().map(AtomicU64::new).collect(),
            before: Vec::new(),
            young,
        }
    }

    #[inline]
    fn bit(&self, raw: Raw) -> u32 {
        match raw.is_young() {
            true => raw.0 - YOUNG,
            false => raw.0 - MATURE + self.young,
        }
    }

    fn raw(&self, bit: u32) -> Raw {
        match bit < self.young {
            true => Raw(bit + YOUNG),
            false => Raw(bit - self.young + MATURE),
        }
    }

    /// Counts the bits before each word. Returns how many there are.
    fn count(&mut self) -> usize {
        let mut total = 0;
        let words = self.words.iter();
        self.before = words
            .map(|word| {
                let before = total;
                total += word.load(Relaxed).count_ones();
                before
            })
            .collect();
        total as usize
    }

    /// The number of an object, if it is in the map.
    #[inline]
    fn number(&self, raw: Raw) -> Option<u32> {
        let bit = self.bit(raw);
        let word = self.words[bit as usize / 64].load(Relaxed);
        let below = word & ((1 << (bit % 64)) - 1);
        let set = word >> (bit % 64) & 1 == 1;
        set.then(|| self.before[bit as usize / 64] + below.count_ones())
    }
}

/// Sets the bits of the objects entered, and counts edges.
struct Mapper<'m> {
    map: &'m Map,
    /// Whether others set bits at the same time.
    shared: bool,
    edges: usize,
}

impl Visitor for Mapper<'_> {
    type Tag = ();
    type Edge = Start<()>;
    type Source = ();
    const ARRIVALS: bool = false;
    const READS: bool = true;

    #[inline]
    fn object(&mut self, raw: Raw, _: Word, _: Trace, _: usize) {
        let bit = self.map.bit(raw);
        let (word, mask) = (&self.map.words[bit as usize / 64], 1 << (bit % 64));
        if self.shared {
            word.fetch_or(mask, Relaxed);
        } else {
            word.store(word.load(Relaxed) | mask, Relaxed);
        }
    }

    #[inline]
    fn edge_read(&mut self, _: (), _: u32, _: Raw) {
        self.edges += 1;
    }
}

/// What writing down an instance needs to know of its class.
struct ClassSketch {
    /// The places of its slots among its fields, in order; empty for an array.
    places: Vec<u32>,
    is_array: bool,
    has_length: bool,
    with_values: bool,
}

impl<'v> StoppedHeap<'v> {
    pub(crate) fn capture(&self, plain: &PlainData, threads: usize) -> Snapshot {
        let mut map = Map::new(self);
        let edges = self.map_live(&mut map, threads);
        let objects = map.count();
        let sketches: Vec<ClassSketch> = std::iter::once(ClassSketch::nothing())
            .chain(self.classes().iter().map(|class| {
                let mut slots: Vec<_> = class.fields.iter().enumerate().collect();
                slots.retain(|(_, field)| field.kind.is_slot());
                slots.sort_by_key(|(_, field)| field.offset);
                ClassSketch {
                    places: slots.into_iter().map(|(place, _)| place as u32).collect(),
                    is_array: class.elements == Some(Elements::Refs),
                    has_length: class.elements.is_some(),
                    with_values: match plain {
                        PlainData::Omit => false,
                        PlainData::All => true,
                        PlainData::Of(names) => names.contains(&class.name),
                    },
                }
            }))
            .collect();
        // A part of the map for each thread, with about as many objects in each.
        let starts: Vec<usize> = (0..=threads)
            .map(|part| {
                let share = (objects * part / threads) as u32;
                match part == threads {
                    true => map.words.len(),
                    false => map.before.partition_point(|&before| before < share),
                }
            })
            .collect();
        let scribe = Scribe {
            ground: self.ground(),
            map: &map,
            sketches: &sketches,
            edges: edges / threads + edges / 64,
        };
        let keep_values = *plain != PlainData::Omit;
        let work = |part: usize| scribe.write(starts[part]..starts[part + 1], keep_values);
        let mut parts: Vec<Option<Columns>> =
            crew::run_all(threads, work).into_iter().map(Some).collect();
        let mut all = parts[0].take().expect("there is a first part");
        for part in parts.into_iter().flatten() {
            append(&mut all, part);
        }
        if keep_values {
            all.first_value.push(all.values.len() as u64);
        }
        all.classes = self.classes().to_vec();
        all.threads = self.threads().to_vec();
        self.for_each_root(|root, object| {
            if let Some(number) = map.number(object.0) {
                all.roots.push((root.clone(), Number(number)));
            }
        });
        all.numbers = self.numbers(&map, objects);
        all.trusted()
    }

    /// The numbers in the names of objects, that each is called as in findings; none if nobody has
    /// mentioned one.
    fn numbers(&self, map: &Map, objects: usize) -> Vec<u64> {
        let (first, given) = self.heap.names.for_capture(objects);
        let given = given.into_iter();
        let given = given.filter_map(|(raw, number)| Some((map.number(raw)?, number)));
        let given: Vec<(u32, u64)> = given.collect();
        if given.is_empty() && first == 1 {
            return Vec::new();
        }
        let mut numbers: Vec<u64> = (first..first + objects as u64).collect();
        for (object, number) in given {
            numbers[object as usize] = number;
        }
        numbers
    }

    /// Sets the bit of each live object. Returns how many edges they have, more or less.
    fn map_live(&self, map: &mut Map, threads: usize) -> usize {
        self.lapsed();
        self.reserve(1);
        let marker = self.marker(self.fresh());
        let ground = self.ground();
        let mut mappers: Vec<Mapper<'_>> = (0..threads)
            .map(|_| Mapper {
                map,
                shared: threads > 1,
                edges: 0,
            })
            .collect();
        let mut starts: Vec<Start<()>> = Vec::new();
        self.for_each_root_target(RootSet::All, |object| starts.push(object.0.into()));
        // What waits for its finalizer is kept as if it lived, and shown as what it is.
        self.heap.for_each_pending(|_, cell| {
            starts.push(Raw(cell.load(Relaxed)).into());
        });
        while !starts.is_empty() {
            let drained = mark(ground, marker, &starts, mappers);
            mappers = drained.visitors;
            starts.clear();
            for &ephemeron in &drained.marked.ephemerons {
                if self.holds_values(ephemeron) {
                    weak::dependents(ground, ephemeron, &mut mappers[0], &mut starts);
                }
            }
        }
        mappers.iter().map(|mapper| mapper.edges).sum()
    }
}

impl ClassSketch {
    fn nothing() -> Self {
        Self {
            places: Vec::new(),
            is_array: false,
            has_length: false,
            with_values: false,
        }
    }
}

/// Writes down objects in the order of the map.
struct Scribe<'h> {
    ground: crate::raw::marking::mark::Ground<'h>,
    map: &'h Map,
    sketches: &'h [ClassSketch],
    /// How many edges a part probably has.
    edges: usize,
}

impl Scribe<'_> {
    fn write(&self, words: std::ops::Range<usize>, keep_values: bool) -> Columns {
        let mut columns = Columns::default();
        let Some(&first) = self.map.before.get(words.start) else {
            return columns;
        };
        let end = self.map.before.get(words.end);
        let objects = match end {
            Some(&end) => end - first,
            None => self.map.words[words.clone()]
                .iter()
                .map(|word| word.load(Relaxed).count_ones())
                .sum(),
        };
        columns.class_of.reserve_exact(objects as usize);
        columns.bytes_of.reserve_exact(objects as usize);
        columns.first_edge.reserve_exact(objects as usize + 1);
        columns.targets.reserve(self.edges);
        columns.steps.reserve(self.edges);
        for at in words {
            let mut word = self.map.words[at].load(Relaxed);
            while word != 0 {
                let bit = at as u32 * 64 + word.trailing_zeros();
                word &= word - 1;
                self.write_object(self.map.raw(bit), &mut columns, keep_values);
            }
        }
        columns
    }

    #[inline]
    fn write_object(&self, raw: Raw, columns: &mut Columns, keep_values: bool) {
        let base = self.ground.base;
        // SAFETY: an object of the stopped heap.
        let class = unsafe { base.header(raw) }.load().class();
        let trace = self.ground.traces[class as usize];
        let sketch = &self.sketches[class as usize];
        let object = base.object(raw);
        // SAFETY: as above.
        let bytes = unsafe { trace.bytes(object) };
        let number = columns.push_object(ClassId(class), bytes);
        if sketch.has_length {
            // SAFETY: an array has its length.
            let length = unsafe { array_len(object) };
            columns.lengths.push((number.0, length as u32));
        }
        if keep_values {
            columns.first_value.push(columns.values.len() as u64);
            if sketch.with_values {
                self.write_values(raw, class, &mut columns.values);
            }
        }
        if trace.slots() == Slots::None {
            return;
        }
        let (mut nth, mut last) = (0, 0);
        // SAFETY: as above.
        unsafe {
            for_each_slot(self.ground.classes, trace, class, object, |_, _, slot| {
                let place = match sketch.is_array {
                    true => nth,
                    false => sketch.places[nth as usize],
                };
                nth += 1;
                let to = self.ground.reach.read(slot);
                // A weak slot may refer to what is dead.
                if self.ground.refers(to)
                    && let Some(to) = self.map.number(to)
                {
                    columns.push_edge(place - last, to);
                    last = place;
                } else if self.ground.reach.is_cut(to) {
                    columns.push_cut(place);
                }
            });
        }
    }

    #[cold]
    fn write_values(&self, raw: Raw, class: u32, out: &mut Vec<u8>) {
        let info = &self.ground.classes.get(ClassId(class)).info;
        let bits = |field: usize| match info.fields[field].kind {
            FieldKind::Plain(kind) => {
                let offset = info.fields[field].offset as usize;
                // SAFETY: the class says that plain data of that kind is there.
                let bits = unsafe {
                    crate::raw::views::stopped::bits_at(self.ground.base, raw, offset, kind.bytes())
                };
                // Anybody can implement `Plain`, and not all do what they say.
                kind.is_valid(bits).then_some(bits)
            }
            _ => None,
        };
        // SAFETY: an object of that class in the stopped heap.
        let elements =
            unsafe { crate::raw::views::stopped::elements_at(self.ground.base, raw, info) };
        let elements = elements.filter(|bytes| match info.elements {
            Some(Elements::Plain(
                kind @ (PlainKind::Bool | PlainKind::Char | PlainKind::Enum { .. }),
            )) => bytes.chunks_exact(kind.bytes()).all(|it| {
                let mut bits = [0; 8];
                bits[..it.len()].copy_from_slice(it);
                kind.is_valid(u64::from_le_bytes(bits))
            }),
            _ => true,
        });
        encode_values(info, bits, elements.as_deref(), out);
    }
}

/// Puts the objects of one part behind those of another. Targets are numbers in the whole
/// heap already.
fn append(all: &mut Columns, part: Columns) {
    let objects = all.class_of.len() as u32;
    let edges = all.targets.len() as u64;
    let values = all.values.len() as u64;
    all.class_of.extend(part.class_of);
    all.bytes_of.extend(part.bytes_of);
    let behind = |first: u64| first + edges;
    all.first_edge
        .extend(part.first_edge.into_iter().map(behind));
    all.targets.extend(part.targets);
    all.steps.extend(part.steps);
    let far = part.far.into_iter();
    all.far.extend(far.map(|(edge, step)| (edge + edges, step)));
    let huge = part.huge.into_iter();
    all.huge
        .extend(huge.map(|(object, bytes)| (object + objects, bytes)));
    let lengths = part.lengths.into_iter();
    all.lengths
        .extend(lengths.map(|(object, length)| (object + objects, length)));
    let cut = part.cut.into_iter();
    all.cut
        .extend(cut.map(|(object, place)| (object + objects, place)));
    let first_value = part.first_value.into_iter();
    all.first_value
        .extend(first_value.map(|first| first + values));
    all.values.extend(part.values);
}
