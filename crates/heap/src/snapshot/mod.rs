//! A heap in memory, in compact arrays: what a capture of a live heap or a reader of
//! files makes, and what questions are asked of while the program goes on.
//!
//! Objects are numbered from 0. An object takes 16 bytes (class, size, where its edges
//! start), an edge six: its target, and how many places it lies behind the edge before it.
//! A place is an index into the class's fields or, behind those, into the array's
//! elements. Plain data is there only if it was asked for.
//!
//! A snapshot of a dump also knows what its reader has to say of it ([`Snapshot::notes`]), what the dump does not say
//! (`lacks.rs`), the addresses that objects had (`addresses.rs`), and which objects are text that they hold elsewhere (`texts.rs`).
//!
//! Elsewhere: how one is put together (`build.rs`), how it is traced (`trace.rs`, `survey.rs`), how many objects are read at once (`bulk.rs`), what is dropped from one that
//! others may see (`redact.rs`); files
//! are another crate's business.

mod addresses;
mod build;
mod bulk;
mod lacks;
mod redact;
mod survey;
mod texts;
mod trace;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

pub use addresses::Addresses;
pub use texts::{Encoding, TextPlace, decode as decode_text};

pub use build::{Columns, Malformed, SnapshotBuilder};
pub use bulk::SlotPlace;
pub use lacks::Lacks;
pub use redact::Redacted;
pub use trace::SnapshotVisits;

use crate::class::{ClassId, ClassInfo, Elements, FieldKind};
use crate::root::Root;
use crate::spelling::object_name;
use crate::value::{PlainKind, Value};
use crate::view::{HeapView, Place, Strength, caption_of, text_start};

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
    /// Slots whose references were pruned or invalidated: objects and places, in order.
    cut: Vec<(u32, u32)>,
    /// Whether an instance has such a slot, by class id.
    has_cut: Vec<bool>,
    /// Objects whose dependent edges hold nothing, because their key is dead.
    lapsed: HashSet<u32>,
    /// Classes whose instances have their text elsewhere, by class id.
    texts: HashMap<u32, TextPlace>,
    /// What tells objects apart that no field tells apart.
    captions: HashMap<u32, String>,
    addresses: Addresses,
    notes: Vec<String>,
    lacks: Lacks,
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
    /// Whether nothing is missing.
    are_all: bool,
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

/// Where a plain field is in what is known of an object: its bit, and its bytes.
#[derive(Clone, Copy, Debug)]
pub struct PlainPlace {
    nth: usize,
    at: usize,
    bytes: usize,
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
            + self.cut.len() * 8
            + self.huge.len() * 16;
        let edges = self.targets.len() * 4 + self.steps.len() * 2 + self.far.len() * 16;
        let values = self.values.first.len() * 8 + self.values.bytes.len();
        (objects, edges, values)
    }

    /// What is said of the heap as a whole: that its file was cut short, that parts of it were not understood or
    /// were dropped.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The captions of objects that no field tells, by object.
    pub fn captions(&self) -> impl Iterator<Item = (ObjectId, &str)> {
        let mut all: Vec<_> = self.captions.iter().collect();
        all.sort_unstable();
        let all = all.into_iter();
        all.map(|(object, caption)| (ObjectId(*object), caption.as_str()))
    }

    /// The addresses that objects had, if the heap was dumped with them.
    pub fn addresses(&self) -> &Addresses {
        &self.addresses
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
    pub fn element_bytes(&self, object: ObjectId) -> Option<Cow<'_, [u8]>> {
        if let Some(place) = self.text_place(object) {
            let text = self.text_elsewhere(object, place, usize::MAX)?;
            return Some(text.into_bytes().into());
        }
        self.own_elements(object).map(Cow::Borrowed)
    }

    /// Where an object has its text, if not in itself.
    #[inline]
    fn text_place(&self, object: ObjectId) -> Option<TextPlace> {
        match self.texts.is_empty() {
            true => None,
            false => self.texts.get(&self.class_of[object.0 as usize]).copied(),
        }
    }

    /// The text that an object has in an array, or its first `most` units.
    fn text_elsewhere(&self, object: ObjectId, place: TextPlace, most: usize) -> Option<String> {
        let array = self.slot(object, place.array as usize)?;
        let class = self.class(self.class_of(array));
        let bytes = self.own_elements(array)?;
        let number = |field: u32| {
            let bits = self.plain_bits(object, field as usize)?;
            u32::try_from(bits).ok().map(|it| it as usize)
        };
        let encoding = match (class.elements?, place.coder.map(number)) {
            (Elements::Plain(PlainKind::U16), _) => Encoding::Utf16,
            (Elements::Plain(PlainKind::I8 | PlainKind::U8), None | Some(Some(0))) => {
                Encoding::Latin1
            }
            (Elements::Plain(PlainKind::I8 | PlainKind::U8), Some(Some(_))) => Encoding::Utf16,
            _ => return None,
        };
        let width = match encoding {
            Encoding::Latin1 => 1,
            Encoding::Utf16 => 2,
        };
        let units = bytes.len() / width;
        let (first, count) = match place.range {
            Some((first, count)) => (number(first)?, number(count)?),
            None => (0, units),
        };
        let end = first.checked_add(count.min(most))?;
        let range = first.checked_mul(width)?..end.min(units.max(first)).checked_mul(width)?;
        Some(texts::decode(bytes.get(range)?, encoding))
    }

    /// The bytes of the elements that an object has itself, where they are known.
    fn own_elements(&self, object: ObjectId) -> Option<&[u8]> {
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

    /// The slots whose references were pruned or invalidated, in order: the object, and a place as that of
    /// an edge, an index into the fields and, behind those, into the elements.
    pub fn cut(&self) -> &[(u32, u32)] {
        &self.cut
    }

    /// The slots of an object whose references were pruned or invalidated, in order.
    pub fn cut_of(&self, object: ObjectId) -> impl Iterator<Item = Place> {
        let first = self.cut.partition_point(|it| it.0 < object.0);
        let here = self.cut[first..].iter();
        let fields = self.class(self.class_of(object)).fields.len() as u32;
        let here = here.take_while(move |it| it.0 == object.0);
        here.map(move |&(_, place)| match place < fields {
            true => Place::Field(place),
            false => Place::Element(place - fields),
        })
    }

    /// The numbers in objects' names; none if they are simply counted from 1.
    pub fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// An object's plain data as [`encode_values`] writes it; empty if nothing is known. Text that an object has
    /// elsewhere is its own here.
    pub fn value_bytes(&self, object: ObjectId) -> Cow<'_, [u8]> {
        let own = self.values.of(object);
        if self.text_place(object).is_none() {
            return own.into();
        }
        let Some(text) = self.element_bytes(object) else {
            return own.into();
        };
        let class = self.class(self.class_of(object));
        let mut bytes = Vec::new();
        let bits = |field| self.plain_bits(object, field);
        encode_values(class, bits, Some(&text), &mut bytes);
        bytes.into()
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
        self.bits_at(object, self.plain_place(self.class_of(object), field)?)
    }

    /// Where a plain field is in what is known of an object of a class; none if it is no plain field.
    pub(crate) fn plain_place(&self, class: ClassId, field: usize) -> Option<PlainPlace> {
        let class = self.class(class);
        let mut at = flag_bytes(class);
        for (nth, (index, kind)) in plain_fields(class).enumerate() {
            if index == field {
                return Some(PlainPlace {
                    nth,
                    at,
                    bytes: kind.bytes(),
                });
            }
            at += kind.bytes();
        }
        None
    }

    /// The value of a plain field as bits, where it is known.
    #[inline]
    pub(crate) fn bits_at(&self, object: ObjectId, place: PlainPlace) -> Option<u64> {
        let PlainPlace { nth, at, bytes } = place;
        let known = self.values.of(object);
        let is_known = known.get(nth / 8)? >> (nth % 8) & 1 == 1;
        let value = known.get(at..at + bytes)?;
        is_known.then(|| bits_of(value))
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

    fn is_cut(&self, object: ObjectId, place: Place) -> bool {
        !self.cut.is_empty() && self.cut_of(object).any(|it| it == place)
    }

    fn plain_element(&self, object: ObjectId, index: usize) -> Option<Value> {
        let kind = match self.class(self.class_of(object)).elements? {
            Elements::Refs => return None,
            Elements::Plain(kind) => kind,
            Elements::Text => PlainKind::U8,
        };
        let width = kind.bytes();
        let start = index.checked_mul(width)?;
        let all = self.element_bytes(object)?;
        let bytes = all.get(start..)?.get(..width)?;
        Some(kind.decode(bits_of(bytes)))
    }

    fn knows_all_values(&self) -> bool {
        self.values.are_all
    }

    fn length_of(&self, object: ObjectId) -> Option<usize> {
        if self.values.are_all
            && let Some(Elements::Plain(kind)) = self.class(self.class_of(object)).elements
        {
            return Some(self.own_elements(object)?.len() / kind.bytes());
        }
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
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn whole_text_of(&self, object: ObjectId) -> Option<String> {
        let text = self.text_of(object)?;
        // What is elsewhere is there as a whole.
        let length = match self.text_place(object) {
            Some(_) => None,
            None => self.length_of(object),
        };
        length.is_none_or(|it| text.len() >= it).then_some(text)
    }

    fn text_start(&self, object: ObjectId, most: usize) -> Option<(Vec<u8>, bool)> {
        match self.text_place(object) {
            Some(place) => {
                let text = self.text_elsewhere(object, place, most.saturating_add(1))?;
                let some = text.floor_char_boundary(most);
                Some((text.as_bytes()[..some].to_vec(), some == text.len()))
            }
            None => text_start(self, object, most),
        }
    }

    fn caption_of(&self, object: ObjectId) -> Option<String> {
        if let Some(caption) = self.captions.get(&object.0) {
            return Some(caption.clone());
        }
        caption_of(self, object)
    }

    fn name_of(&self, object: ObjectId) -> String {
        let class = &self.class(self.class_of(object)).name;
        object_name(class, self.number_of(object))
    }
}
