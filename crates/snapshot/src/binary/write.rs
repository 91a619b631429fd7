//! Writing the binary form, a section of about a megabyte at a time.

use std::collections::HashMap;
use std::io::{self, Write};

use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassInfo, FieldKind, PlainKind, RootKind};

use super::{Checksum, MAGIC, Section, VERSION, zigzag};
use crate::Progress;

/// Writes a heap in the binary form. `progress` is called with the number of objects that are
/// done.
///
/// # Errors
/// If `out` fails.
pub fn write_binary(heap: &Snapshot, out: impl Write, progress: Progress<'_>) -> io::Result<()> {
    let mut file = Output {
        out,
        checksum: Checksum::new(),
    };
    file.write(&MAGIC)?;
    file.write(&[VERSION])?;
    let mut strings = Strings::default();
    let mut classes = Vec::new();
    put(&mut classes, heap.classes().len() as u64);
    for class in heap.classes() {
        put_class(&mut classes, heap, class, &mut strings);
    }
    let mut threads = Vec::new();
    for thread in heap.threads() {
        put(&mut threads, strings.place(thread));
    }
    let mut roots = Vec::new();
    for (root, object) in heap.roots() {
        roots.push(root_tag(root.kind));
        put(&mut roots, strings.place(&root.name));
        match &root.scope {
            Some(scope) => put(&mut roots, strings.place(scope) + 1),
            None => put(&mut roots, 0),
        }
        put(&mut roots, root.index as u64);
        put(&mut roots, object.0 as u64);
    }
    let mut notes = Vec::new();
    for note in heap.notes() {
        put(&mut notes, strings.place(note));
    }
    let mut lacks = Vec::new();
    for (number, _) in (0..).zip(heap.lacks().all()).filter(|it| it.1) {
        put(&mut lacks, number);
    }
    let mut told = Vec::new();
    let mut last = 0;
    for (object, caption) in heap.captions() {
        put(&mut told, (object.0 - last) as u64);
        put(&mut told, strings.place(caption));
        last = object.0;
    }
    file.section(Section::Strings, &mut strings.bytes)?;
    file.section(Section::Classes, &mut classes)?;
    file.section(Section::Threads, &mut threads)?;
    file.section(Section::Roots, &mut roots)?;
    file.objects(heap, progress)?;
    file.lengths(heap)?;
    file.numbers(heap)?;
    file.values(heap)?;
    file.captions(heap)?;
    file.cut(heap)?;
    file.section(Section::Notes, &mut notes)?;
    file.section(Section::Told, &mut told)?;
    file.section(Section::Lacks, &mut lacks)?;
    file.write(&[Section::End as u8])?;
    let checksum = file.checksum.finish().to_le_bytes();
    file.out.write_all(&checksum)?;
    file.out.flush()
}

/// A section is closed when it is that long.
const FULL: usize = 1 << 20;

struct Output<W> {
    out: W,
    checksum: Checksum,
}

impl<W: Write> Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.add(bytes);
        self.out.write_all(bytes)
    }

    /// Writes a section, and empties its bytes.
    fn section(&mut self, section: Section, bytes: &mut Vec<u8>) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut head = vec![section as u8];
        put(&mut head, bytes.len() as u64);
        self.write(&head)?;
        self.write(bytes)?;
        bytes.clear();
        Ok(())
    }

    fn objects(&mut self, heap: &Snapshot, progress: Progress<'_>) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(FULL + (FULL >> 4));
        for object in heap.objects() {
            put_object(&mut bytes, heap, object);
            if bytes.len() >= FULL {
                self.section(Section::Objects, &mut bytes)?;
                progress(object.0 as u64 + 1, heap.len() as u64);
            }
        }
        progress(heap.len() as u64, heap.len() as u64);
        self.section(Section::Objects, &mut bytes)
    }

    fn lengths(&mut self, heap: &Snapshot) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut next = 0;
        for &(object, length) in heap.lengths() {
            put(&mut bytes, object as u64 - next);
            put(&mut bytes, length as u64);
            next = object as u64;
            if bytes.len() >= FULL {
                self.section(Section::Lengths, &mut bytes)?;
            }
        }
        self.section(Section::Lengths, &mut bytes)
    }

    fn numbers(&mut self, heap: &Snapshot) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut last = 0u64;
        for &number in heap.numbers() {
            put(&mut bytes, zigzag(number.wrapping_sub(last) as i64));
            last = number;
            if bytes.len() >= FULL {
                self.section(Section::Numbers, &mut bytes)?;
            }
        }
        self.section(Section::Numbers, &mut bytes)
    }

    fn values(&mut self, heap: &Snapshot) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut last = 0;
        for object in heap.objects() {
            let values = heap.value_bytes(object);
            if values.is_empty() {
                continue;
            }
            put(&mut bytes, (object.0 - last) as u64);
            put(&mut bytes, values.len() as u64);
            bytes.extend_from_slice(&values);
            last = object.0;
            if bytes.len() >= FULL {
                self.section(Section::Values, &mut bytes)?;
            }
        }
        self.section(Section::Values, &mut bytes)
    }

    fn captions(&mut self, heap: &Snapshot) -> io::Result<()> {
        let mut bytes = Vec::new();
        for class in heap.classes() {
            if let Some(field) = class.caption {
                put(&mut bytes, class.id.0 as u64);
                put(&mut bytes, field as u64);
            }
        }
        self.section(Section::Captions, &mut bytes)
    }

    fn cut(&mut self, heap: &Snapshot) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut last = 0;
        for &(object, place) in heap.cut() {
            put(&mut bytes, (object - last) as u64);
            put(&mut bytes, place as u64);
            last = object;
            if bytes.len() >= FULL {
                self.section(Section::Cut, &mut bytes)?;
            }
        }
        self.section(Section::Cut, &mut bytes)
    }
}

/// Each string once.
#[derive(Default)]
struct Strings<'a> {
    places: HashMap<&'a str, u64>,
    bytes: Vec<u8>,
}

impl<'a> Strings<'a> {
    fn place(&mut self, string: &'a str) -> u64 {
        let next = self.places.len() as u64;
        let bytes = &mut self.bytes;
        *self.places.entry(string).or_insert_with(|| {
            put(bytes, string.len() as u64);
            bytes.extend_from_slice(string.as_bytes());
            next
        })
    }
}

fn put_class<'a>(
    out: &mut Vec<u8>,
    heap: &'a Snapshot,
    class: &'a ClassInfo,
    strings: &mut Strings<'a>,
) {
    put(out, strings.place(&class.name));
    put(out, class.superclass.map_or(0, |id| id.0 as u64));
    put(out, class.interfaces.len() as u64);
    for interface in &class.interfaces {
        put(out, interface.0 as u64);
    }
    // Inherited fields are not repeated, as far as they are the same.
    let above = match class.superclass {
        Some(id) => heap.class(id).fields.as_slice(),
        None => &[],
    };
    let same = class.fields.iter().zip(above).take_while(|(a, b)| a == b);
    let same = same.count();
    put(out, same as u64);
    put(out, (class.fields.len() - same) as u64);
    for field in &class.fields[same..] {
        put(out, strings.place(&field.name));
        put(out, field.offset as u64);
        match field.kind {
            FieldKind::Ref => out.push(0),
            FieldKind::Opt => out.push(1),
            FieldKind::Weak => out.push(2),
            FieldKind::Dependent => out.push(3),
            FieldKind::Owned => out.push(4),
            FieldKind::Plain(kind) => put_kind(out, kind, strings),
        }
    }
    match class.elements {
        None if class.is_interface => out.push(3),
        None => out.push(0),
        Some(Elements::Refs) => out.push(1),
        Some(Elements::Text) => out.push(2),
        Some(Elements::Plain(kind)) => put_kind(out, kind, strings),
    }
}

fn put_kind(out: &mut Vec<u8>, kind: PlainKind, strings: &mut Strings<'_>) {
    let tag = match kind {
        PlainKind::Bool => 16,
        PlainKind::Char => 17,
        PlainKind::U8 => 18,
        PlainKind::U16 => 19,
        PlainKind::U32 => 20,
        PlainKind::U64 => 21,
        PlainKind::I8 => 22,
        PlainKind::I16 => 23,
        PlainKind::I32 => 24,
        PlainKind::I64 => 25,
        PlainKind::F32 => 26,
        PlainKind::F64 => 27,
        PlainKind::Enum { .. } => 28,
    };
    out.push(tag);
    if let PlainKind::Enum { variants } = kind {
        put(out, variants.len() as u64);
        for variant in variants {
            put(out, strings.place(variant));
        }
    }
}

fn root_tag(kind: RootKind) -> u8 {
    match kind {
        RootKind::Static => 0,
        RootKind::ThreadObject => 1,
        RootKind::ThreadStack => 2,
        RootKind::Handle => 3,
        RootKind::Other => 4,
        RootKind::Finalizer => 5,
    }
}

fn put_object(out: &mut Vec<u8>, heap: &Snapshot, object: ObjectId) {
    let class = heap.class_of(object);
    put(out, class.0 as u64);
    put(out, heap.bytes_of(object) as u64);
    let mut count = 0;
    heap.for_each_edge(object, |_, _, _| count += 1);
    put(out, count);
    let fields = heap.class(class).fields.len() as u32;
    let mut last = 0;
    heap.for_each_edge(object, |place, _, to| {
        let at = match place {
            Place::Field(at) => at,
            Place::Element(at) => at + fields,
        };
        put(out, (at - last) as u64);
        put(out, zigzag(to.0 as i64 - object.0 as i64));
        last = at;
    });
}

/// A number, seven bits a byte, the low ones first.
#[inline]
fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
