//! The classes of a dump, and where instances have their fields.
//!
//! A dump lists the fields of each class itself; an instance holds its own class's first, then those of the superclass, and
//! so on. A snapshot's classes begin with what they inherit. [`Layout`] leads from one to the other.
//!
//! Sizes are estimated, for a dump does not have them: a header of 12 bytes (16 for an array) on 64-bit machines, 8 (12)
//! on others, the fields or elements, and what is missing to a multiple of 8. A reference takes 4 bytes where the distances
//! between objects show that (`survey.rs`), or else 8.

use std::collections::{HashMap, HashSet};

use heaphound_heap::class::{Elements, FieldInfo, short_name};
use heaphound_heap::snapshot::TextPlace;
use heaphound_heap::{ClassId, ClassInfo, FieldKind, PlainKind};

use super::HprofError;
use super::kinds::{PRIMITIVES, Type};
use super::outline::{Ids, Outline};
use super::walker::ClassRecord;
use crate::budget::Budget;

/// All classes.
#[derive(Debug)]
pub struct Classes {
    pub infos: Vec<ClassInfo>,
    /// How the instances of each are stored, in the order of `infos`.
    pub layouts: Vec<Layout>,
    /// The place among them of each class that the dump has, by the id of its object.
    pub by_id: Ids<u32>,
    /// Those of primitive arrays, by [`Type::primitive`].
    pub arrays: [u32; 8],
    /// The class of classes, whose slots are [`MIRROR_SLOTS`].
    pub mirror: u32,
    pub texts: HashMap<u32, TextPlace>,
    pub sizes: Sizes,
    pub notes: Vec<String>,
}

/// The slots of an object that stands for a class: what a dump tells of it.
pub const MIRROR_SLOTS: [&str; 4] = ["superclass", "classLoader", "signers", "protectionDomain"];

/// How large things are in the memory of the machine that was dumped.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub header: u64,
    pub array_header: u64,
    pub reference: u64,
}

/// Where instances have their fields.
#[derive(Debug, Default)]
pub struct Layout {
    /// The bytes of an instance in the memory of the machine.
    pub bytes: u64,
    /// The bytes of its fields in the file.
    pub data: u32,
    /// Slots: their places in the data and among the fields, by the latter.
    pub slots: Vec<(u32, u32)>,
    /// Plain data: their places in the data, by those among the fields.
    pub plain: Vec<(u32, Type)>,
}

/// Fields that tell instances apart, the best first.
const CAPTIONS: [&str; 4] = ["name", "title", "id", "key"];

impl Classes {
    pub fn new(
        records: &[ClassRecord],
        outline: &Outline,
        sizes: Sizes,
        budget: &mut Budget,
        file: &str,
    ) -> Result<Self, HprofError> {
        let mut classes = Self {
            infos: Vec::with_capacity(records.len() + 10),
            layouts: Vec::with_capacity(records.len() + 10),
            by_id: Ids::default(),
            arrays: [0; 8],
            mirror: 0,
            texts: HashMap::new(),
            sizes,
            notes: Vec::new(),
        };
        for (nth, record) in records.iter().enumerate() {
            classes.by_id.entry(record.id).or_insert(nth as u32);
        }
        if classes.by_id.len() < records.len() {
            let twice = records.len() - classes.by_id.len();
            let what = "that the dump has twice; the first counts";
            classes.notes.push(format!("{twice} classes {what}"));
        }
        let too_much = || HprofError::new(file, 0, "its classes have more fields than fit memory");
        for record in records {
            let name = outline.class_name(record.id);
            let name = name.unwrap_or_else(|| format!("class {:#x}", record.id));
            if !budget.spend(size_of::<ClassInfo>() + name.len()) {
                return Err(too_much());
            }
            classes.add(name);
        }
        let order = classes.above_first(records);
        for nth in order {
            let fields = classes.fields_of(nth, &records[nth as usize], outline);
            let cost = fields.iter().map(|it| it.name.len() + 80);
            if !budget.spend(cost.sum()) {
                return Err(too_much());
            }
            let above = classes.infos[nth as usize].superclass;
            classes.set_fields(nth, fields, &records[nth as usize], above, outline.id_bytes);
        }
        classes.find_arrays();
        classes.find_texts();
        classes.add_mirror(records);
        Ok(classes)
    }

    /// Adds a class of which no more than the name is known.
    pub fn add(&mut self, name: String) -> u32 {
        let nth = self.infos.len() as u32;
        self.infos.push(ClassInfo {
            id: ClassId(nth + 1),
            name,
            superclass: None,
            interfaces: Vec::new(),
            is_interface: false,
            fields: Vec::new(),
            elements: None,
            caption: None,
        });
        self.layouts.push(Layout {
            bytes: self.sizes.header.next_multiple_of(8),
            ..Layout::default()
        });
        nth
    }

    /// Sets all superclasses, and returns the classes in an order in which those come first. A class that
    /// would extend itself loses its superclass.
    fn above_first(&mut self, records: &[ClassRecord]) -> Vec<u32> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut states = vec![State::New; records.len()];
        let mut order = Vec::with_capacity(records.len());
        let mut way = Vec::new();
        for first in 0..records.len() as u32 {
            let mut next = Some(first);
            while let Some(nth) = next.filter(|&it| states[it as usize] == State::New) {
                states[nth as usize] = State::Open;
                way.push(nth);
                let above = self.by_id.get(&records[nth as usize].superclass).copied();
                next = above.filter(|_| records[nth as usize].superclass != 0);
                match next {
                    Some(above) if states[above as usize] == State::Open => {
                        let name = &self.infos[nth as usize].name;
                        self.notes.push(format!("class {name} extends itself"));
                        next = None;
                    }
                    Some(above) => {
                        self.infos[nth as usize].superclass = Some(ClassId(above + 1));
                    }
                    None => {}
                }
            }
            while let Some(nth) = way.pop() {
                states[nth as usize] = State::Done;
                order.push(nth);
            }
        }
        order
    }

    /// The fields of a class, inherited ones first. One that has the name of an inherited one is called after its class, too:
    /// `ConcurrentHashMap.values`.
    fn fields_of(&self, nth: u32, record: &ClassRecord, outline: &Outline) -> Vec<FieldInfo> {
        let info = &self.infos[nth as usize];
        let above = info.superclass.map(|id| &self.infos[id.0 as usize - 1]);
        let mut fields = above.map_or(Vec::new(), |above| above.fields.clone());
        let mut known: HashSet<String> = fields.iter().map(|it| it.name.clone()).collect();
        let is_reference = info.name == "java.lang.ref.Reference";
        for &(name, of) in &record.fields {
            let name = outline.name(name).unwrap_or_else(|| format!("{name:#x}"));
            let kind = match of.field_kind() {
                Some(kind) => FieldKind::Plain(kind),
                None if is_reference && name == "referent" => FieldKind::Weak,
                None => FieldKind::Opt,
            };
            let mut own = name.clone();
            if known.contains(&own) {
                own = format!("{}.{name}", short_name(&info.name));
            }
            if known.contains(&own) {
                own = format!("{}.{name}", info.name);
            }
            let mut more = 2;
            while known.contains(&own) {
                own = format!("{}.{name}.{more}", info.name);
                more += 1;
            }
            known.insert(own.clone());
            fields.push(FieldInfo {
                name: own,
                offset: 0,
                kind,
            });
        }
        fields
    }

    fn set_fields(
        &mut self,
        nth: u32,
        mut fields: Vec<FieldInfo>,
        record: &ClassRecord,
        above: Option<ClassId>,
        id_bytes: usize,
    ) {
        let inherited = above.map(|id| (id.0 as usize - 1, &self.layouts[id.0 as usize - 1]));
        let first = above.map_or(0, |id| self.infos[id.0 as usize - 1].fields.len()) as u32;
        let mut layout = Layout::default();
        let mut memory = self.sizes.header;
        let mut own = 0u32;
        let mut own_slots = Vec::new();
        let mut own_plain = Vec::new();
        for (place, &(_, of)) in (first..).zip(&record.fields) {
            match of {
                Type::Object => own_slots.push((own, place)),
                _ => own_plain.push((own, of)),
            }
            own += of.bytes(id_bytes) as u32;
        }
        // What is inherited lies behind.
        if let Some((_, above)) = inherited {
            let moved = |&(at, it): &(u32, u32)| (at.saturating_add(own), it);
            layout.slots = above.slots.iter().map(moved).collect();
            let moved = |&(at, of): &(u32, Type)| (at.saturating_add(own), of);
            layout.plain = above.plain.iter().map(moved).collect();
            layout.data = above.data;
        }
        layout.data = layout.data.saturating_add(own);
        layout.slots.extend(own_slots);
        layout.plain.extend(own_plain);
        for field in &mut fields {
            field.offset = u32::try_from(memory).unwrap_or(u32::MAX);
            memory += match field.kind {
                FieldKind::Plain(kind) => plain_bytes(kind),
                _ => self.sizes.reference,
            };
        }
        layout.bytes = memory.next_multiple_of(8);
        let info = &mut self.infos[nth as usize];
        info.caption = fields_caption(&fields);
        info.fields = fields;
        self.layouts[nth as usize] = layout;
    }

    /// Finds the classes that are arrays, and adds those that the dump lacks.
    fn find_arrays(&mut self) {
        let mut found = [None; 8];
        for (nth, info) in self.infos.iter_mut().enumerate() {
            if !info.name.ends_with("[]") || !info.fields.is_empty() {
                continue;
            }
            let of = PRIMITIVES
                .iter()
                .position(|it| it.array_name() == info.name);
            match of {
                Some(of) => {
                    info.elements = PRIMITIVES[of].element_kind().map(Elements::Plain);
                    found[of].get_or_insert(nth as u32);
                }
                None => info.elements = Some(Elements::Refs),
            }
        }
        for (of, found) in found.into_iter().enumerate() {
            self.arrays[of] = found.unwrap_or_else(|| {
                let nth = self.add(PRIMITIVES[of].array_name().into());
                let elements = PRIMITIVES[of].element_kind().map(Elements::Plain);
                self.infos[nth as usize].elements = elements;
                nth
            });
        }
    }

    /// Finds the classes of text.
    fn find_texts(&mut self) {
        for info in &mut self.infos {
            if info.name != "java.lang.String" {
                continue;
            }
            let find = |name: &str, fits: fn(FieldKind) -> bool| {
                let mut fields = info.fields.iter();
                let place = fields.position(|it| it.name == name && fits(it.kind));
                place.map(|it| it as u32)
            };
            let number = |kind| matches!(kind, FieldKind::Plain(PlainKind::I32 | PlainKind::I8));
            let Some(array) = find("value", FieldKind::is_slot) else {
                continue;
            };
            let place = TextPlace {
                array,
                coder: find("coder", number),
                range: find("offset", number).zip(find("count", number)),
            };
            info.elements = Some(Elements::Text);
            info.caption = Some(array);
            self.texts.insert(info.id.0, place);
        }
    }

    /// Adds the class of the objects that stand for classes. A dump has none of their fields, but tells other things
    /// of them.
    fn add_mirror(&mut self, records: &[ClassRecord]) {
        let mut bytes = self.sizes.header;
        let mut declared = self.infos[..records.len()].iter();
        let declared = declared.find(|info| info.name == "java.lang.Class");
        let mut above = None;
        let mut place = None;
        if let Some(info) = declared {
            bytes = self.layouts[info.id.0 as usize - 1].bytes;
            let has_none = |id: &ClassId| self.infos[id.0 as usize - 1].fields.is_empty();
            above = info.superclass.filter(has_none);
            // A dump has nothing else of that class, unless somebody made it up.
            let is_extended = self.infos.iter().any(|it| it.superclass == Some(info.id));
            place = (!is_extended).then_some(info.id.0 - 1);
        }
        self.mirror = match place {
            Some(place) => {
                self.layouts[place as usize] = Layout {
                    data: self.layouts[place as usize].data,
                    ..Layout::default()
                };
                self.infos[place as usize].caption = None;
                place
            }
            None => self.add("java.lang.Class".into()),
        };
        let info = &mut self.infos[self.mirror as usize];
        info.superclass = above;
        info.fields = MIRROR_SLOTS
            .map(|name| FieldInfo {
                name: name.into(),
                offset: 0,
                kind: FieldKind::Opt,
            })
            .into();
        self.layouts[self.mirror as usize].bytes = bytes;
    }

    /// The bytes of an array in the memory of the machine.
    #[inline]
    pub fn array_bytes(&self, length: u32, element: u64) -> u64 {
        (self.sizes.array_header + element * length as u64).next_multiple_of(8)
    }
}

/// Bytes that plain data takes in a JVM: its characters have two.
fn plain_bytes(kind: PlainKind) -> u64 {
    match kind {
        PlainKind::Char => 2,
        kind => kind.bytes() as u64,
    }
}

fn fields_caption(fields: &[FieldInfo]) -> Option<u32> {
    let find = |name: &&str| fields.iter().position(|it| it.name == **name);
    CAPTIONS.iter().find_map(find).map(|it| it as u32)
}
