//! The second pass over a heap: objects and their edges.
//!
//! Several threads read parts, each into columns of its own, which are put together in the order of the parts. What is being
//! read lies in a core's cache, and nothing is kept but the result.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use heaphound_heap::ClassId;
use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{Addresses, Columns};

use super::classes::{Classes, Layout};
use super::kinds::Type;
use super::share::share;
use super::survey::Part;
use super::walker::{Record, Stop, Walker, id_of};
use crate::Progress;
use crate::input::Input;

/// What reading objects needs to know.
pub struct Reading<'a> {
    pub input: &'a Input,
    pub id_bytes: usize,
    pub classes: &'a Classes,
    pub addresses: &'a Addresses,
    pub parts: &'a [Part],
    /// The class of instances whose class the dump does not have, and of such arrays.
    pub unknown: (u32, u32),
    pub values: bool,
    pub threads: usize,
}

/// What does not fit, counted.
#[derive(Clone, Copy, Default, Debug)]
pub struct Odd {
    /// References to objects that the dump does not have.
    pub dangling: u64,
    /// Objects whose class it does not have.
    pub classless: u64,
    /// Instances with fewer bytes than their class has fields.
    pub short: u64,
    /// Objects of which not all plain data is known.
    pub unknown: u64,
}

/// Why objects could not be read.
pub enum Failure {
    Io(io::Error),
    /// The file is not what it was in the first pass, at this byte.
    Changed(u64),
}

/// How much of a long array is looked at at once. A multiple of all sizes of elements.
const BLOCK: usize = 64 << 10;

impl Reading<'_> {
    /// Reads all parts, behind the objects that the columns have.
    pub fn read(
        &self,
        columns: Columns,
        progress: Progress<'_>,
    ) -> Result<(Columns, Odd), Failure> {
        let line = Line {
            state: Mutex::new(Assembly {
                next: 0,
                waiting: BTreeMap::new(),
                columns,
                spare: Vec::new(),
            }),
        };
        let done = AtomicU64::new(0);
        let total = 2 * self.input.len();
        let results = share(
            self.threads,
            self.parts.len(),
            || (Reader::new(self), line.piece()),
            |(reader, piece), nth| {
                let part = self.parts[nth];
                let odd = reader.read(part, piece)?;
                line.put(nth, piece);
                done.fetch_add(part.end - part.start, Relaxed);
                Ok(odd)
            },
            || progress(self.input.len() + done.load(Relaxed), total),
        );
        let mut all = Odd::default();
        for odd in results {
            let odd = odd?;
            all.dangling += odd.dangling;
            all.classless += odd.classless;
            all.short += odd.short;
            all.unknown += odd.unknown;
        }
        let line = line.state.into_inner();
        let mut columns = line.unwrap_or_else(PoisonError::into_inner).columns;
        if self.values {
            columns.first_value.push(columns.values.len() as u64);
        }
        progress(total, total);
        Ok((columns, all))
    }
}

/// Puts the columns of parts together, in their order.
struct Line {
    state: Mutex<Assembly>,
}

struct Assembly {
    next: usize,
    waiting: BTreeMap<usize, Columns>,
    columns: Columns,
    /// Columns that are empty, and have room.
    spare: Vec<Columns>,
}

impl Line {
    fn piece(&self) -> Columns {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.spare.pop().unwrap_or_default()
    }

    /// Takes the columns of a part, and leaves others to be filled.
    fn put(&self, nth: usize, piece: &mut Columns) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        if nth != state.next {
            let spare = state.spare.pop().unwrap_or_default();
            state.waiting.insert(nth, std::mem::replace(piece, spare));
            return;
        }
        state.columns.append(piece);
        state.next += 1;
        while let Some(mut piece) = state.waiting.remove(&state.next) {
            state.columns.append(&mut piece);
            state.spare.push(piece);
            state.next += 1;
        }
    }
}

/// Reads parts, one after the other.
struct Reader<'a> {
    reading: &'a Reading<'a>,
    walker: Walker<'a>,
    /// Classes that were met lately, by their ids.
    met: Box<[(u64, u32); MET]>,
    odd: Odd,
}

const MET: usize = 256;
/// A class that the dump does not have.
const NONE: u32 = u32::MAX;

impl<'a> Reader<'a> {
    fn new(reading: &'a Reading<'a>) -> Self {
        Self {
            reading,
            walker: Walker::new(reading.input, reading.id_bytes),
            met: Box::new([(0, NONE); MET]),
            odd: Odd::default(),
        }
    }

    fn read(&mut self, part: Part, piece: &mut Columns) -> Result<Odd, Failure> {
        self.odd = Odd::default();
        self.walker.go_to(part.start, part.end);
        let classes = self.reading.classes;
        loop {
            let record = match self.walker.next() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(Stop::Io(error)) => return Err(Failure::Io(error)),
                Err(_) => return Err(Failure::Changed(self.walker.record_start())),
            };
            match record {
                Record::Instance { class, bytes, .. } => self.instance(class, bytes, piece)?,
                Record::Objects { class, length, .. } => self.objects(class, length, piece)?,
                Record::Primitives { of, length, .. } => {
                    self.array(of, length, piece);
                    if self.reading.values {
                        self.primitives(of, piece)?;
                    }
                }
                Record::Hollow { of, length, .. } => {
                    self.odd.unknown += 1;
                    self.array(of, length, piece);
                }
                Record::Class(_) | Record::Root(_) | Record::Other => {}
            }
        }
        if piece.class_of.len() != part.objects as usize {
            return Err(Failure::Changed(part.start));
        }
        debug_assert!(classes.layouts.len() == classes.infos.len());
        Ok(self.odd)
    }

    /// The place of a class among all.
    #[inline]
    fn class(&mut self, class: u64) -> u32 {
        let met = &mut self.met[(class >> 3) as usize % MET];
        if met.0 != class || met.1 == NONE {
            let found = self.reading.classes.by_id.get(&class);
            *met = (class, found.copied().unwrap_or(NONE));
        }
        met.1
    }

    #[inline]
    fn instance(&mut self, class: u64, bytes: u32, piece: &mut Columns) -> Result<(), Failure> {
        let reading = self.reading;
        let mut nth = self.class(class);
        if nth == NONE {
            self.odd.classless += 1;
            nth = reading.unknown.0;
        }
        let layout = &reading.classes.layouts[nth as usize];
        piece.push_object(ClassId(nth + 1), layout.bytes as usize);
        let wanted = bytes.min(layout.data) as usize;
        let start = self.walker.record_start();
        let data = self.walker.data(wanted).map_err(Failure::Io)?;
        let data = data.ok_or(Failure::Changed(start))?;
        self.odd.dangling += match reading.id_bytes {
            8 => push_slots::<8>(layout, data, reading.addresses, piece),
            _ => push_slots::<4>(layout, data, reading.addresses, piece),
        };
        if reading.values {
            piece.first_value.push(piece.values.len() as u64);
            self.odd.unknown += !push_plain(layout, data, &mut piece.values) as u64;
        }
        self.odd.short += (bytes < layout.data) as u64;
        Ok(())
    }

    fn objects(&mut self, class: u64, length: u32, piece: &mut Columns) -> Result<(), Failure> {
        let reading = self.reading;
        let mut nth = self.class(class);
        let elements = |nth: u32| reading.classes.infos[nth as usize].elements;
        if nth == NONE || elements(nth) != Some(Elements::Refs) {
            self.odd.classless += 1;
            nth = reading.unknown.1;
        }
        let bytes = reading
            .classes
            .array_bytes(length, reading.classes.sizes.reference);
        let object = piece.push_object(ClassId(nth + 1), bytes as usize);
        piece.lengths.push((object.0, length));
        if reading.values {
            piece.first_value.push(piece.values.len() as u64);
        }
        let start = self.walker.record_start();
        let (mut place, mut last) = (0, 0);
        loop {
            let data = self.walker.data(BLOCK).map_err(Failure::Io)?;
            let data = data.ok_or(Failure::Changed(start))?;
            if data.is_empty() {
                return Ok(());
            }
            let mut push = |target: u64| {
                self.odd.dangling +=
                    push_target(target, place, &mut last, reading.addresses, piece);
                place += 1;
            };
            match reading.id_bytes {
                8 => data
                    .as_chunks::<8>()
                    .0
                    .iter()
                    .for_each(|it| push(id_of::<8>(it))),
                _ => data
                    .as_chunks::<4>()
                    .0
                    .iter()
                    .for_each(|it| push(id_of::<4>(it))),
            }
        }
    }

    /// An array of primitives, without its elements.
    fn array(&mut self, of: Type, length: u32, piece: &mut Columns) {
        let classes = self.reading.classes;
        let nth = classes.arrays[of.primitive()];
        let bytes = classes.array_bytes(length, of.bytes(0) as u64);
        let object = piece.push_object(ClassId(nth + 1), bytes as usize);
        piece.lengths.push((object.0, length));
        if self.reading.values {
            piece.first_value.push(piece.values.len() as u64);
        }
    }

    /// The elements of an array of primitives, the low bytes first.
    fn primitives(&mut self, of: Type, piece: &mut Columns) -> Result<(), Failure> {
        // All elements are known.
        piece.values.push(1);
        let start = self.walker.record_start();
        loop {
            let data = self.walker.data(BLOCK).map_err(Failure::Io)?;
            let data = data.ok_or(Failure::Changed(start))?;
            if data.is_empty() {
                return Ok(());
            }
            let out = &mut piece.values;
            match of {
                Type::Boolean => out.extend(data.iter().map(|&it| (it != 0) as u8)),
                Type::Byte => out.extend_from_slice(data),
                _ => {
                    let width = of.bytes(0);
                    for value in data.chunks_exact(width) {
                        out.extend(value.iter().rev());
                    }
                }
            }
        }
    }
}

/// Adds the edges of an instance. Returns how many references lead nowhere.
#[inline]
fn push_slots<const IDS: usize>(
    layout: &Layout,
    data: &[u8],
    addresses: &Addresses,
    piece: &mut Columns,
) -> u64 {
    let (mut last, mut dangling) = (0, 0);
    for &(at, place) in &layout.slots {
        if let Some(bytes) = data.get(at as usize..).and_then(|it| it.get(..IDS)) {
            dangling += push_target(id_of::<IDS>(bytes), place, &mut last, addresses, piece);
        }
    }
    dangling
}

/// Adds an edge, unless it is null. Returns 1 if it leads nowhere.
#[inline]
fn push_target(
    target: u64,
    place: u32,
    last: &mut u32,
    addresses: &Addresses,
    piece: &mut Columns,
) -> u64 {
    if target == 0 {
        return 0;
    }
    match addresses.find(target) {
        Some(target) => {
            piece.push_edge(place - *last, target);
            *last = place;
            0
        }
        None => {
            piece.push_cut(place);
            1
        }
    }
}

/// Writes the plain data of an instance as `encode_values` does. Returns whether all of it is known.
fn push_plain(layout: &Layout, data: &[u8], out: &mut Vec<u8>) -> bool {
    if layout.plain.is_empty() {
        return true;
    }
    let mut is_all = true;
    let start = out.len();
    let flags = (layout.plain.len() + 1).div_ceil(8);
    out.resize(start + flags, 0);
    for (nth, &(at, of)) in layout.plain.iter().enumerate() {
        let width = of.bytes(0);
        let at = at as usize;
        let value = data.get(at..at + width);
        let mut is_known = value.is_some();
        let value = value.unwrap_or(&[0; 8][..width]);
        match of {
            Type::Boolean => out.push((value[0] != 0) as u8),
            // A half of a pair is no character.
            Type::Char => {
                let unit = u16::from_be_bytes([value[0], value[1]]);
                let char = char::from_u32(unit as u32);
                is_known &= char.is_some();
                out.extend_from_slice(&(char.unwrap_or('\0') as u32).to_le_bytes());
            }
            _ => out.extend(value.iter().rev()),
        }
        if is_known {
            out[start + nth / 8] |= 1 << (nth % 8);
        }
        is_all &= is_known;
    }
    if out[start..start + flags].iter().all(|&it| it == 0) {
        out.truncate(start);
    }
    is_all
}
