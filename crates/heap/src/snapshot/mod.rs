//! A heap in memory, in compact arrays: what a capture of a live heap or a reader of
//! files makes, and what questions are asked of while the program goes on.
//!
//! Objects are numbered from 0. An object takes 16 bytes (class, size, where its edges
//! start), an edge six: its target, and how many places it lies behind the edge before it.
//! A place is an index into the class's fields or, behind those, into the array's
//! elements. Plain data is there only if it was asked for.
//!
//! Elsewhere: how one is put together (`build.rs`), how it is traced (`trace.rs`); files
//! are another crate's business.

mod build;
mod trace;

use std::collections::{HashMap, HashSet};

pub use build::{Columns, Malformed, SnapshotBuilder};
pub use trace::SnapshotVisits;

use crate::class::{ClassId, ClassInfo, Elements, FieldKind};
use crate::root::Root;
use crate::spelling::object_name;
use crate::value::{PlainKind, Value};
use crate::view::{HeapView, Place, Strength};

/// An object of a snapshot, by its place among them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId(pub u32);

/// A heap in memory.
#[derive(Debug)]
pub struct Snapshot {
    classes: Vec<ClassInfo>,
    /// How the edges of a class's instances hold, by class id.
    holds: Vec<Hold>,
    threads: Vec<String>,
    roots: Vec<(Root, ObjectId)>,
    class_of: Vec<u32>,
    bytes_of: Vec<u32>,
    /// Where the edges of each object start, and where the last one's end.
    first_edge: Vec<u64>,
    targets: Vec<u32>,
    /// Places from the edge before, or from 0; [`FAR`] if that does not fit.
    steps: Vec<u16>,
    far: HashMap<u64, u32>,
    /// Sizes that do not fit into four bytes.
    huge: HashMap<u32, u64>,
    /// The lengths of arrays, by object.
    lengths: Vec<(u32, u32)>,
    /// The numbers in objects' names, where they are not simply counted.
    numbers: Vec<u64>,
    values: Values,
    /// Objects whose dependent edges hold nothing, because their key is dead.
    lapsed: HashSet<u32>,
}

/// A step that is found in `far`.
const FAR: u16 = u16::MAX;
/// A size that is found in `huge`.
const HUGE: u32 = u32::MAX;

/// How the edges of a class's instances hold their targets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hold {
    /// All strongly.
    Strong,
    /// Some not; the field's kind tells.
    Mixed,
}

/// Plain data: for each object, which of its fields are known, their bytes, then the
/// bytes of its elements. See [`encode_values`].
#[derive(Debug, Default)]
struct Values {
    /// Where each object's bytes start, and where the last one's end; empty if no
    /// value is known.
    first: Vec<u64>,
    bytes: Vec<u8>,
}

impl Values {
    fn of(&self, object: ObjectId) -> &[u8] {
        let at = object.0 as usize;
        match self.first.get(at..at + 2) {
            Some(&[start, end]) => &self.bytes[start as usize..end as usize],
            _ => &[],
        }
    }
}

/// Writes an object's plain data as a snapshot keeps it: a bit for each plain field that is
/// known and one more for the elements, then all fields, then the elements' bytes.
/// `bits` returns what is known of a field; an object of which nothing is known takes
/// no bytes.
pub fn encode_values(
    class: &ClassInfo,
    mut bits: impl FnMut(usize) -> Option<u64>,
    elements: Option<&[u8]>,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let flags = flag_bytes(class);
    out.resize(start + flags, 0);
    let known = |out: &mut Vec<u8>, nth: usize| out[start + nth / 8] |= 1 << (nth % 8);
    let mut count = 0;
    for (field, kind) in plain_fields(class) {
        let value = bits(field);
        if value.is_some() {
            known(out, count);
        }
        let value = value.unwrap_or(0).to_le_bytes();
        out.extend_from_slice(&value[..kind.bytes()]);
        count += 1;
    }
    if let Some(elements) = elements {
        known(out, count);
        out.extend_from_slice(elements);
    }
    if out[start..start + flags].iter().all(|&flags| flags == 0) {
        out.truncate(start);
    }
}

fn flag_bytes(class: &ClassInfo) -> usize {
    (plain_fields(class).count() + 1).div_ceil(8)
}

fn plain_bytes(class: &ClassInfo) -> usize {
    plain_fields(class).map(|(_, kind)| kind.bytes()).sum()
}

/// The bits of a little-endian value of up to eight bytes.
fn bits_of(bytes: &[u8]) -> u64 {
    let mut bits = [0; 8];
    bits[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(bits)
}

fn plain_fields(class: &ClassInfo) -> impl Iterator<Item = (usize, PlainKind)> {
    let fields = class.fields.iter().enumerate();
    fields.filter_map(|(i, field)| match field.kind {
        FieldKind::Plain(kind) => Some((i, kind)),
        _ => None,
    })
}

impl Snapshot {
    /// How many objects there are, garbage included.
    pub fn len(&self) -> usize {
        self.class_of.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.class_of.is_empty()
    }

    /// How many edges there are.
    pub fn edges(&self) -> usize {
        self.targets.len()
    }

    /// All objects, garbage included.
    pub fn objects(&self) -> impl Iterator<Item = ObjectId> + use<> {
        (0..self.len() as u32).map(ObjectId)
    }

    /// The roots, in order.
    pub fn roots(&self) -> &[(Root, ObjectId)] {
        &self.roots
    }

    /// Whether any plain data is known.
    pub fn has_values(&self) -> bool {
        !self.values.first.is_empty()
    }

    /// Bytes of memory that the snapshot's objects, edges and values take.
    pub fn memory_bytes(&self) -> (usize, usize, usize) {
        let objects = self.class_of.len() * 4
            + self.bytes_of.len() * 4
            + self.first_edge.len() * 8
            + self.numbers.len() * 8
            + self.lengths.len() * 8
            + self.huge.len() * 16;
        let edges = self.targets.len() * 4 + self.steps.len() * 2 + self.far.len() * 16;
        let values = self.values.first.len() * 8 + self.values.bytes.len();
        (objects, edges, values)
    }

    /// The number in an object's name.
    pub fn number_of(&self, object: ObjectId) -> u64 {
        match self.numbers.get(object.0 as usize) {
            Some(&number) => number,
            None => object.0 as u64 + 1,
        }
    }

    /// The object of that class and number.
    pub fn find(&self, class: &str, number: u64) -> Option<ObjectId> {
        let fits = |object: &ObjectId| self.class(self.class_of(*object)).name == class;
        if self.numbers.is_empty() {
            let object = ObjectId(u32::try_from(number.checked_sub(1)?).ok()?);
            return Some(object).filter(|it| (it.0 as usize) < self.len() && fits(it));
        }
        let mut all = self.objects();
        all.find(|object| self.number_of(*object) == number && fits(object))
    }

    /// The bytes of an array's plain elements or of a string, where they are known.
    pub fn element_bytes(&self, object: ObjectId) -> Option<&[u8]> {
        let class = self.class(self.class_of(object));
        let bytes = self.values.of(object);
        let nth = plain_fields(class).count();
        let known = bytes.get(nth / 8)? >> (nth % 8) & 1 == 1;
        known.then(|| &bytes[flag_bytes(class) + plain_bytes(class)..])
    }

    /// The lengths of arrays that were given, by object.
    pub fn lengths(&self) -> &[(u32, u32)] {
        &self.lengths
    }

    /// The numbers in objects' names; none if they are simply counted from 1.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// An object's plain data as [`encode_values`] wrote it; empty if nothing is known.
    pub fn value_bytes(&self, object: ObjectId) -> &[u8] {
        self.values.of(object)
    }

    /// Calls `f` with each plain field of an object whose value is known, in order.
    pub fn for_each_value(&self, object: ObjectId, mut f: impl FnMut(usize, Value)) {
        let bytes = self.values.of(object);
        if bytes.is_empty() {
            return;
        }
        let class = self.class(self.class_of(object));
        let mut at = flag_bytes(class);
        for (nth, (field, kind)) in plain_fields(class).enumerate() {
            let width = kind.bytes();
            if bytes[nth / 8] >> (nth % 8) & 1 == 1 {
                f(field, kind.decode(bits_of(&bytes[at..at + width])));
            }
            at += width;
        }
    }

    /// The bits of the plain field at an index into the class's `fields`, zero-extended, where
    /// they are known.
    pub fn plain_bits(&self, object: ObjectId, field: usize) -> Option<u64> {
        let class = self.class(self.class_of(object));
        let bytes = self.values.of(object);
        let mut at = flag_bytes(class);
        for (nth, (index, kind)) in plain_fields(class).enumerate() {
            if index == field {
                let known = bytes.get(nth / 8)? >> (nth % 8) & 1 == 1;
                let value = bytes.get(at..at + kind.bytes())?;
                return known.then(|| bits_of(value));
            }
            at += kind.bytes();
        }
        None
    }

    #[inline]
    fn edge_range(&self, object: ObjectId) -> std::ops::Range<usize> {
        let at = object.0 as usize;
        self.first_edge[at] as usize..self.first_edge[at + 1] as usize
    }

    /// The target of the edge at a place: an index into the fields and, behind those, into
    /// the elements.
    fn target_at(&self, object: ObjectId, wanted: usize) -> Option<ObjectId> {
        let mut at = 0;
        for edge in self.edge_range(object) {
            at += match self.steps[edge] {
                FAR => self.far[&(edge as u64)] as usize,
                step => step as usize,
            };
            if at >= wanted {
                return (at == wanted).then(|| ObjectId(self.targets[edge]));
            }
        }
        None
    }

    /// Calls `f` with the place and target of each edge of an object.
    #[inline]
    fn for_each_place(&self, object: ObjectId, mut f: impl FnMut(Place, FieldKind, ObjectId)) {
        let class = self.class(self.class_of(object));
        let fields = class.fields.len() as u32;
        let mut at = 0;
        for edge in self.edge_range(object) {
            at += match self.steps[edge] {
                FAR => self.far[&(edge as u64)],
                step => step as u32,
            };
            let (place, kind) = match class.fields.get(at as usize) {
                Some(field) => (Place::Field(at), field.kind),
                None => (Place::Element(at - fields), FieldKind::Opt),
            };
            f(place, kind, ObjectId(self.targets[edge]));
        }
    }
}

impl HeapView for Snapshot {
    type Object = ObjectId;

    fn classes(&self) -> &[ClassInfo] {
        &self.classes
    }

    fn class_of(&self, object: ObjectId) -> ClassId {
        ClassId(self.class_of[object.0 as usize])
    }

    fn bytes_of(&self, object: ObjectId) -> usize {
        match self.bytes_of[object.0 as usize] {
            HUGE => self.huge[&object.0] as usize,
            bytes => bytes as usize,
        }
    }

    fn threads(&self) -> &[String] {
        &self.threads
    }

    fn for_each_root(&self, mut f: impl FnMut(&Root, ObjectId)) {
        for (root, object) in &self.roots {
            f(root, *object);
        }
    }

    fn for_each_edge(&self, object: ObjectId, mut f: impl FnMut(Place, Strength, ObjectId)) {
        self.for_each_place(object, |place, kind, to| f(place, Strength::of(kind), to));
    }

    fn for_each_strong_edge(&self, object: ObjectId, mut f: impl FnMut(Place, ObjectId)) {
        self.for_each_place(object, |place, kind, to| match kind {
            FieldKind::Weak => {}
            FieldKind::Dependent if self.lapsed.contains(&object.0) => {}
            _ => f(place, to),
        });
    }

    #[inline]
    fn for_each_target(&self, object: ObjectId, mut f: impl FnMut(ObjectId)) {
        match self.holds[self.class_of[object.0 as usize] as usize] {
            Hold::Strong => {
                for &target in &self.targets[self.edge_range(object)] {
                    f(ObjectId(target));
                }
            }
            Hold::Mixed => self.for_each_strong_edge(object, |_, to| f(to)),
        }
    }

    fn plain_value(&self, object: ObjectId, field: usize) -> Option<Value> {
        let FieldKind::Plain(kind) = self.class(self.class_of(object)).fields.get(field)?.kind
        else {
            return None;
        };
        Some(kind.decode(self.plain_bits(object, field)?))
    }

    fn slot(&self, object: ObjectId, field: usize) -> Option<ObjectId> {
        let fields = &self.class(self.class_of(object)).fields;
        self.target_at(object, field)
            .filter(|_| field < fields.len())
    }

    fn element(&self, object: ObjectId, index: usize) -> Option<ObjectId> {
        let fields = self.class(self.class_of(object)).fields.len();
        // Where no element is null, edges and elements are numbered alike.
        let edges = self.edge_range(object);
        if fields == 0 && self.length_of(object) == Some(edges.len()) {
            let target = self.targets[edges].get(index);
            return target.map(|&target| ObjectId(target));
        }
        self.target_at(object, fields.checked_add(index)?)
    }

    fn plain_element(&self, object: ObjectId, index: usize) -> Option<Value> {
        let kind = match self.class(self.class_of(object)).elements? {
            Elements::Refs => return None,
            Elements::Plain(kind) => kind,
            Elements::Text => PlainKind::U8,
        };
        let width = kind.bytes();
        let start = index.checked_mul(width)?;
        let bytes = self.element_bytes(object)?.get(start..)?.get(..width)?;
        Some(kind.decode(bits_of(bytes)))
    }

    fn length_of(&self, object: ObjectId) -> Option<usize> {
        let found = self
            .lengths
            .binary_search_by_key(&object.0, |&(object, _)| object);
        if let Ok(at) = found {
            return Some(self.lengths[at].1 as usize);
        }
        // Whoever knows all elements need not count them as well.
        let width = match self.class(self.class_of(object)).elements? {
            Elements::Refs => return None,
            Elements::Plain(kind) => kind.bytes(),
            Elements::Text => 1,
        };
        Some(self.element_bytes(object)?.len() / width)
    }

    fn text_of(&self, object: ObjectId) -> Option<String> {
        let class = self.class(self.class_of(object));
        if class.elements != Some(Elements::Text) {
            return None;
        }
        let text = self.element_bytes(object)?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn name_of(&self, object: ObjectId) -> String {
        let class = &self.class(self.class_of(object)).name;
        object_name(class, self.number_of(object))
    }
}
