//! Dumps of Java virtual machines: HPROF 1.0, 1.0.1, 1.0.2 and 1.0.3 (Android's).
//!
//! A dump is a list of records with lengths (`outline.rs`): names, loaded classes, stack traces, and the heap in one or many
//! segments. What is inside a segment has no lengths (`walker.rs`). Reading goes
//!
//! 1. over the outer records, which finds the segments;
//! 2. over the segments, on several threads (`survey.rs`): the ids of objects, all classes, all roots;
//! 3. over the ids: each gets the number of its object (`heap::snapshot::Addresses`). Objects that stand for
//!    classes come first, then all others in the order of the file;
//! 4. over the classes (`classes.rs`): names as in Java, inherited fields, where instances have what;
//! 5. over the segments once more, on several threads (`objects.rs`): classes, sizes, edges and, if they were asked for, values;
//! 6. over the roots (`roots.rs`). For the names of threads, single objects are read once more (`peek.rs`).
//!
//! Invariant: whatever the bytes are, the columns fit together, for every edge goes through the table of ids. What does not
//! fit is counted and noted: a reference to an object that is not there becomes a slot that was *cut*, as a pruned one is.
//! A dump that was cut short is read up to its last whole record.
//!
//! Strings keep their arrays, and are decoded when somebody asks (`heap::snapshot::texts`). `Reference.referent` is a weak slot.
//! An object does not refer to its class here, and a class not to its static fields: those are roots.

mod classes;
mod kinds;
mod objects;
mod outline;
mod peek;
mod roots;
mod share;
mod survey;
mod walker;
mod window;

use std::fmt;

use heaphound_heap::ClassId;
use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{Addresses, Columns, Lacks, Snapshot};

use crate::budget::Budget;
use crate::file::{ReadError, ReadOptions};
use crate::input::Input;
use crate::{Progress, memory};
use classes::{Classes, MIRROR_SLOTS, Sizes};
use objects::{Failure, Odd, Reading};
use outline::Outline;
use peek::Peek;
use roots::Roots;
use survey::{Spacing, Survey};
use walker::{ClassRecord, Inside, Stop};

/// A place in a dump at which it is not understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HprofError {
    /// What the dump was called.
    pub name: String,
    /// The byte, counted from 0.
    pub at: u64,
    /// What is wrong.
    pub message: String,
}

impl HprofError {
    fn new(name: &str, at: u64, message: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            at,
            message: message.into(),
        }
    }
}

impl fmt::Display for HprofError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: at byte {}: {}", self.name, self.at, self.message)
    }
}

impl std::error::Error for HprofError {}

/// Whether bytes are the first ones of a dump.
pub fn is_hprof(bytes: &[u8]) -> bool {
    bytes.starts_with(outline::START)
}

/// Returns about how many bytes of memory a dump of that size takes to read, and to find dominators in.
pub fn memory_for(bytes: u64, values: bool) -> u64 {
    // Measured with objects of 45 bytes in the file: 0.8 times the file to read it without values, 1.15 times with them;
    // dominators take half as much as the file again.
    let heap = bytes / 8 * 12;
    let values = if values { bytes / 8 * 2 } else { 0 };
    heap + values + (16 << 20)
}

/// Reads the dump of a JVM. Errors call it `name`; `progress` is called with the bytes that are read, of twice
/// as many as there are.
///
/// # Errors
/// If it is not a dump, if it ends before its heap begins, or if it needs more memory than there is.
pub fn read_hprof(
    input: &Input,
    name: &str,
    options: &ReadOptions,
    progress: Progress<'_>,
) -> Result<Snapshot, ReadError> {
    memory::check(name, memory_for(input.len(), options.values), options)?;
    let fail = |at, what: &str| ReadError::Hprof(HprofError::new(name, at, what));
    let outline = Outline::read(input, name)?;
    let ids = outline.id_bytes;
    let mut survey = Survey::take(input, ids, &outline.segments, options.threads, progress);
    let mut budget = Budget::for_input(input.len() as usize);
    let count = survey.ids.iter().map(Vec::len).sum::<usize>() + survey.classes.len();
    if u32::try_from(count).is_err() {
        return Err(fail(
            0,
            &format!("{count} objects are more than can be numbered"),
        ));
    }
    let base = survey.classes.len() as u32;
    let mut addresses = Addresses::new(base, &std::mem::take(&mut survey.ids));
    for (class, number) in survey.classes.iter().zip(0..) {
        addresses.push(class.id, number);
    }
    addresses.finish();
    let sizes = sizes_of(ids, survey.spacing);
    let mut classes = Classes::new(&survey.classes, &outline, sizes, &mut budget, name)?;
    let unknown = (
        classes.add("unknown".into()),
        classes.add("unknown[]".into()),
    );
    classes.infos[unknown.1 as usize].elements = Some(Elements::Refs);
    let columns = mirrors(&survey.classes, &classes, &addresses, options.values);
    let reading = Reading {
        input,
        id_bytes: ids,
        classes: &classes,
        addresses: &addresses,
        parts: &survey.parts,
        unknown,
        values: options.values,
        threads: options.threads,
    };
    let (mut columns, odd) = match reading.read(columns, progress) {
        Ok(done) => done,
        Err(Failure::Io(error)) => return Err(ReadError::Io(name.into(), error)),
        Err(Failure::Changed(at)) => return Err(fail(at, "the file changed while it was read")),
    };
    let peek = Peek {
        input,
        outline: &outline,
        classes: &classes,
        addresses: &addresses,
        parts: &survey.parts,
        base,
    };
    let records = (survey.classes.as_slice(), &classes);
    let roots = Roots::new(
        &survey.roots,
        records,
        &outline,
        &addresses,
        &peek,
        &mut budget,
    );
    let roots = roots.map_err(|_| fail(0, "its roots need more memory than its size allows"))?;
    columns.notes.extend(outline.notes.iter().cloned());
    if outline.is_cut
        && !survey
            .stops
            .iter()
            .any(|it| matches!(it, Stop::Ends { .. }))
    {
        let end = input.len();
        let note =
            "the file ends inside its heap, between two objects; what came behind is missing";
        columns.notes.push(format!("at byte {end}: {note}"));
    }
    let is_read = !outline.is_cut && !outline.is_short && survey.stops.is_empty();
    for stop in survey.stops {
        let note = match stop {
            Stop::Io(error) => return Err(ReadError::Io(name.into(), error)),
            stop => note_of(&stop, &outline, input.len()),
        };
        columns.notes.push(note);
    }
    columns.notes.append(&mut classes.notes);
    if odd.classless == 0 {
        // Nothing is of them, and they are the last.
        classes.infos.truncate(unknown.0 as usize);
    }
    // HotSpot writes one array with some hundreds of references to classes of its archive that nobody has loaded, and some
    // others here and there: not worth a word.
    let few = columns.targets.len() / 100;
    let holders = columns.cut.chunk_by(|a, b| a.0 == b.0).count();
    let told = Odd {
        dangling: if is_read && holders <= few {
            0
        } else {
            odd.dangling
        },
        ..odd
    };
    columns.notes.extend(notes_of(told, roots.dangling));
    // Of an object without a class nobody knows what rules are about it.
    columns.lacks = Lacks {
        parts: !is_read || told.dangling > 0 || odd.classless > 0,
        interfaces: true,
        ..Lacks::default()
    };
    columns.knows_all = options.values && odd.unknown == 0 && told.dangling == 0;
    columns.roots = roots.roots;
    columns.threads = roots.threads;
    columns.texts = classes.texts;
    columns.classes = classes.infos;
    columns.addresses = addresses;
    Ok(columns.trusted())
}

/// How large things were on the machine.
fn sizes_of(id_bytes: usize, spacing: Spacing) -> Sizes {
    match id_bytes {
        4 => Sizes {
            header: 8,
            array_header: 12,
            reference: 4,
        },
        _ => Sizes {
            header: 12,
            array_header: 16,
            reference: if spacing.wide > spacing.narrow { 8 } else { 4 },
        },
    }
}

/// The objects that stand for classes.
fn mirrors(
    records: &[ClassRecord],
    classes: &Classes,
    addresses: &Addresses,
    values: bool,
) -> Columns {
    let mut columns = Columns::default();
    let mirror = ClassId(classes.mirror + 1);
    for (record, info) in records.iter().zip(&classes.infos) {
        let statics = record
            .statics
            .iter()
            .map(|it| it.1.bytes(classes.sizes.reference as usize));
        let bytes = classes.layouts[classes.mirror as usize].bytes + statics.sum::<usize>() as u64;
        let object = columns.push_object(mirror, bytes.next_multiple_of(8) as usize);
        columns
            .captions
            .insert(object.0, format!("name={:?}", info.name));
        if values {
            columns.first_value.push(0);
        }
        let slots = [
            record.superclass,
            record.loader,
            record.signers,
            record.domain,
        ];
        let mut last = 0;
        for (&target, place) in slots.iter().zip(0..MIRROR_SLOTS.len() as u32) {
            match addresses.find(target) {
                _ if target == 0 => {}
                Some(target) => {
                    columns.push_edge(place - last, target);
                    last = place;
                }
                None => columns.push_cut(place),
            }
        }
    }
    columns
}

/// What is said of a segment that was not read to its end.
fn note_of(stop: &Stop, outline: &Outline, end: u64) -> String {
    let class = |id: u64| {
        let name = outline.class_name(id);
        name.unwrap_or_else(|| format!("class {id:#x}"))
    };
    match *stop {
        Stop::Ends { at, inside } => {
            let what = match inside {
                Inside::Root => "a root".into(),
                Inside::Class => "a class".into(),
                Inside::Instance(id) => format!("an instance of {}", class(id)),
                Inside::Objects(id) => format!("an array, {}", class(id)),
                Inside::Primitives(of) => format!("an array, {}", of.array_name()),
                Inside::Record => "an object".into(),
            };
            let segment = outline.segments.iter().find(|it| it.0 <= at && at <= it.1);
            match outline.is_cut && segment.is_some_and(|it| it.1 == end) {
                true => {
                    format!(
                        "at byte {at}: the file ends inside {what}; what came behind it is missing"
                    )
                }
                false => format!(
                    "at byte {at}: a segment of the heap ends inside {what}, which is not read"
                ),
            }
        }
        Stop::Unknown { at, tag } => format!(
            "at byte {at}: the kind 0x{tag:02x} is unknown; the rest of this segment of the heap is not read"
        ),
        Stop::Io(_) => String::new(),
    }
}

/// What is said of things that do not fit.
fn notes_of(odd: Odd, roots: u64) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |count: u64, one: &str, many: &str| match count {
        0 => {}
        1 => notes.push(format!("1 {one}")),
        count => notes.push(format!("{count} {many}")),
    };
    note(
        odd.dangling,
        "reference leads to an object that the dump does not have",
        "references lead to objects that the dump does not have",
    );
    note(
        roots,
        "root is an object that the dump does not have",
        "roots are objects that the dump does not have",
    );
    note(
        odd.classless,
        "object is of a class that the dump does not have",
        "objects are of classes that the dump does not have",
    );
    note(
        odd.short,
        "instance has fewer bytes than its class has fields",
        "instances have fewer bytes than their classes have fields",
    );
    notes
}
