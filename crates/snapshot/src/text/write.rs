//! Writing heap text: in the order of ids, a line an object.
//!
//! What is written and read back is the same heap, but for what text does not have: the
//! offsets of fields, and whether a slot may be null. Classes of one name are called by
//! distinct ones, beside which they have their own (`class "Node (2)" as Node`); fields of one class and roots
//! of one kind and name get distinct ones.

use std::collections::HashSet;
use std::io::{self, Write};

use heaphound_heap::class::Elements;
use heaphound_heap::snapshot::{ObjectId, Snapshot};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassInfo, FieldKind, PlainKind, Root, RootKind, Value};

use super::classes::kind_word;
use super::grammar::kind_name;
use super::hash::Map;
use super::names::{Style, push_name, push_quoted};
use super::{default_bytes, fixed_bytes};
use crate::Progress;

/// Writes a heap as text. `progress` is called with the number of objects that are written,
/// and of all.
///
/// # Errors
/// If `out` fails, or two objects have the same class and number.
pub fn write_text(heap: &Snapshot, out: impl Write, progress: Progress<'_>) -> io::Result<()> {
    let mut writer = Writer {
        heap,
        out,
        line: Vec::with_capacity(2 * FLUSH),
        classes: names_of_classes(heap.classes()),
    };
    check_numbers(heap)?;
    writer.write_notes();
    writer.write_classes();
    writer.write_threads();
    writer.write_roots();
    let total = heap.len() as u64;
    for object in heap.objects() {
        writer.write_object(object);
        if writer.line.len() >= FLUSH {
            writer.flush()?;
            progress(object.0 as u64 + 1, total);
        }
    }
    writer.flush()?;
    writer.out.flush()?;
    progress(total, total);
    Ok(())
}

/// Bytes that are gathered before they are written.
const FLUSH: usize = 1 << 18;
/// As many nulls in a row are counted.
const RUN: u32 = 4;

struct Writer<'a, W> {
    heap: &'a Snapshot,
    out: W,
    line: Vec<u8>,
    classes: Vec<Names>,
}

/// The names of a class, as they are written.
struct Names {
    name: Vec<u8>,
    /// What it is called elsewhere, if that is another name.
    own: Option<Vec<u8>>,
    /// `next -> `, `value = `
    fields: Vec<Vec<u8>>,
    /// The same without what follows the names.
    captions: Vec<Vec<u8>>,
    /// What an instance takes, without elements.
    bytes: u64,
}

fn names_of_classes(classes: &[ClassInfo]) -> Vec<Names> {
    let mut taken = HashSet::new();
    let names = classes.iter().map(|class| {
        let mut name = Vec::new();
        let spelt = distinct(&class.name, &mut taken);
        push_name(&mut name, &spelt, Style::Class);
        let own = (spelt != class.name).then(|| {
            let mut own = Vec::new();
            push_name(&mut own, &class.name, Style::Class);
            own
        });
        let mut taken = HashSet::new();
        let captions = class.fields.iter().map(|field| {
            let mut name = Vec::new();
            push_name(&mut name, &distinct(&field.name, &mut taken), Style::Field);
            name
        });
        let captions: Vec<Vec<u8>> = captions.collect();
        let fields = captions.iter().zip(&class.fields);
        let fields = fields.map(|(name, field)| [name, arrow(field.kind).as_bytes()].concat());
        Names {
            name,
            own,
            fields: fields.collect(),
            captions,
            bytes: fixed_bytes(class),
        }
    });
    names.collect()
}

/// Returns a name that is not taken, which is the name itself if it can be.
fn distinct(name: &str, taken: &mut HashSet<String>) -> String {
    let mut free = name.to_string();
    let mut nth = 2;
    while !taken.insert(free.clone()) {
        free = format!("{name} ({nth})");
        nth += 1;
    }
    free
}

fn arrow(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Ref | FieldKind::Opt => " ->",
        FieldKind::Weak => " -weak->",
        FieldKind::Dependent => " -dependent->",
        FieldKind::Plain(_) | FieldKind::Owned => "",
    }
}

/// No two objects have the same name.
fn check_numbers(heap: &Snapshot) -> io::Result<()> {
    if heap.numbers().is_empty() {
        return Ok(());
    }
    let mut last = vec![None; heap.classes().len() + 1];
    let ascends = heap.objects().all(|object| {
        let number = Some(heap.number_of(object));
        let last = &mut last[heap.class_of(object).0 as usize];
        std::mem::replace(last, number) < number
    });
    if ascends {
        return Ok(());
    }
    let name = |object: ObjectId| (heap.class_of(object), heap.number_of(object));
    let mut all: Vec<ObjectId> = heap.objects().collect();
    all.sort_unstable_by_key(|&object| name(object));
    match all.windows(2).find(|pair| name(pair[0]) == name(pair[1])) {
        None => Ok(()),
        Some(pair) => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("two objects have the name {}", heap.name_of(pair[0])),
        )),
    }
}

impl<W: Write> Writer<'_, W> {
    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }

    fn push(&mut self, text: &str) {
        self.line.extend_from_slice(text.as_bytes());
    }

    fn write_notes(&mut self) {
        for note in self.heap.notes() {
            self.push("note ");
            push_quoted(&mut self.line, note.as_bytes());
            self.push("\n");
        }
        for word in self.heap.lacks().words() {
            self.push(&format!("lacks {word}\n"));
        }
    }

    fn write_classes(&mut self) {
        for (class, names) in self.heap.classes().iter().zip(&self.classes) {
            let line = &mut self.line;
            line.extend_from_slice(match class.is_interface {
                true => b"interface ".as_slice(),
                false => b"class ".as_slice(),
            });
            line.extend_from_slice(&names.name);
            if let Some(own) = &names.own {
                line.extend_from_slice(b" as ");
                line.extend_from_slice(own);
            }
            let mut separator = " : ";
            for above in class.supertypes() {
                line.extend_from_slice(separator.as_bytes());
                line.extend_from_slice(&self.classes[above.0 as usize - 1].name);
                separator = ", ";
            }
            if class.is_interface {
                line.push(b'\n');
                continue;
            }
            let above = class.superclass.map(|above| self.heap.class(above));
            if class.caption != above.and_then(|it| it.caption)
                && let Some(field) = class.caption
                && let Some(name) = names.captions.get(field as usize)
            {
                line.extend_from_slice(b" by ");
                line.extend_from_slice(name);
            }
            let inherited = above.map_or(0, |above| above.fields.len());
            let mut open = " { ";
            for (field, name) in class.fields.iter().zip(&names.fields).skip(inherited) {
                line.extend_from_slice(open.as_bytes());
                line.extend_from_slice(name);
                match field.kind {
                    FieldKind::Plain(kind) => push_kind(line, kind),
                    FieldKind::Owned => line.extend_from_slice(b": owned"),
                    _ => {}
                }
                open = ", ";
            }
            if let Some(elements) = class.elements {
                line.extend_from_slice(open.as_bytes());
                match elements {
                    Elements::Refs => line.extend_from_slice(b"[] ->"),
                    Elements::Text => line.extend_from_slice(b"text"),
                    Elements::Plain(kind) => {
                        line.extend_from_slice(b"[]");
                        push_kind(line, kind);
                    }
                }
                open = ", ";
            }
            line.extend_from_slice(if open == ", " { b" }\n" } else { b" {}\n" });
        }
    }

    /// Threads are known by their roots. All are written where that would lose one, or
    /// their order.
    fn write_threads(&mut self) {
        let of_thread = |kind| matches!(kind, RootKind::ThreadStack | RootKind::ThreadObject);
        let roots = self.heap.roots().iter().map(|(root, _)| root);
        let mut rooted: Vec<&String> = Vec::new();
        let mut seen = HashSet::new();
        for root in roots.filter(|root| of_thread(root.kind)) {
            if seen.insert(&root.name) {
                rooted.push(&root.name);
            }
        }
        let threads = self.heap.threads();
        let rootless = threads.iter().filter(|name| !seen.contains(name));
        let implied: Vec<&String> = rootless.chain(rooted).collect();
        let is_enough = implied.iter().copied().eq(threads);
        for name in threads {
            if !is_enough || !seen.contains(name) {
                self.push("thread ");
                push_name(&mut self.line, name, Style::Root);
                self.push("\n");
            }
        }
    }

    fn write_roots(&mut self) {
        let heap = self.heap;
        // The indices of each kind and name, and the first that is free behind all.
        let mut taken: Map<(RootKind, &str), (HashSet<u32>, u32)> = Map::default();
        for (
            Root {
                kind, name, index, ..
            },
            _,
        ) in heap.roots()
        {
            let (_, free) = taken.entry((*kind, name)).or_default();
            *free = (*free).max(index.saturating_add(1));
        }
        for (root, object) in heap.roots() {
            let (used, free) = taken.entry((root.kind, &root.name)).or_default();
            let mut index = root.index;
            if !used.insert(index) {
                index = *free;
                *free = free.saturating_add(1);
            }
            self.push("root ");
            self.push(kind_name(root.kind));
            self.push(":");
            push_name(&mut self.line, &root.name, Style::Root);
            let counted = !matches!(root.kind, RootKind::Static | RootKind::ThreadObject);
            if counted || index != 0 {
                self.push(&format!("[{index}]"));
            }
            if let Some(scope) = &root.scope {
                self.push(" @ ");
                push_quoted(&mut self.line, scope.as_bytes());
            }
            self.push(" -> ");
            self.push_object(*object);
            self.push("\n");
        }
    }

    #[inline]
    fn push_object(&mut self, object: ObjectId) {
        let class = self.heap.class_of(object).0 as usize - 1;
        self.line.extend_from_slice(&self.classes[class].name);
        self.line.push(b'#');
        push_number(&mut self.line, self.heap.number_of(object));
    }

    fn write_object(&mut self, object: ObjectId) {
        let heap = self.heap;
        let place = heap.class_of(object).0 as usize - 1;
        let class = &heap.classes()[place];
        self.push_object(object);
        let (mut reached, mut listed) = (0, false);
        let mut length = None;
        let fixed = self.classes[place].bytes;
        if class.elements.is_some() {
            heap.for_each_edge(object, |place, _, _| {
                if let Place::Element(index) = place {
                    reached = index as usize + 1;
                }
            });
            for place in heap.cut_of(object) {
                if let Place::Element(index) = place {
                    reached = reached.max(index as usize + 1);
                }
            }
            length = heap.length_of(object).map(|length| length.max(reached));
            listed = class.elements == Some(Elements::Refs) && length.is_some();
        }
        let default = default_bytes(fixed, class, length.unwrap_or(reached));
        let known = heap.element_bytes(object);
        let width = match class.elements {
            Some(Elements::Plain(kind)) => kind.bytes(),
            _ => 1,
        };
        let counted = match &known {
            Some(known) => Some(known.len() / width),
            None => length.filter(|_| listed),
        };
        let bytes = heap.bytes_of(object) as u64;
        let told = length.filter(|_| length != counted);
        match ((bytes != default).then_some(bytes), told) {
            (None, None) => {}
            (Some(bytes), None) => self.push(&format!(" ({bytes} bytes)")),
            (None, Some(length)) => self.push(&format!(" ({length} elements)")),
            (Some(bytes), Some(length)) => {
                self.push(&format!(" ({bytes} bytes, {length} elements)"));
            }
        }
        self.write_fields(object, place);
        match (class.elements, &known) {
            (Some(Elements::Refs), _) if listed => {
                self.write_elements(object, length.unwrap_or(0) as u32);
            }
            (Some(Elements::Refs), _) if reached > 0 => return self.write_single(object),
            (Some(Elements::Text), Some(text)) => {
                self.line.push(b' ');
                push_quoted(&mut self.line, text);
            }
            (Some(Elements::Plain(kind)), Some(values)) => {
                self.push(" [");
                for (nth, bytes) in values.chunks_exact(width).enumerate() {
                    let mut bits = [0; 8];
                    bits[..width].copy_from_slice(bytes);
                    self.push(if nth == 0 { " " } else { ", " });
                    push_value(&mut self.line, kind.decode(u64::from_le_bytes(bits)));
                }
                self.push(" ]");
            }
            _ => {}
        }
        self.line.push(b'\n');
    }

    /// `{ next -> Node#1, value = 5 }`, if there is anything in it.
    fn write_fields(&mut self, object: ObjectId, class: usize) {
        let heap = self.heap;
        let mut open: &[u8] = b" { ";
        self.for_each_said(object, |it, place, to| {
            let Place::Field(field) = place else {
                return;
            };
            it.line.extend_from_slice(open);
            it.line
                .extend_from_slice(&it.classes[class].fields[field as usize]);
            it.line.push(b' ');
            it.push_target(to);
            open = b", ";
        });
        heap.for_each_value(object, |field, value| {
            self.line.extend_from_slice(open);
            self.line
                .extend_from_slice(&self.classes[class].fields[field]);
            self.line.extend_from_slice(b" = ");
            push_value(&mut self.line, value);
            open = b", ";
        });
        if open == b", " {
            self.line.extend_from_slice(b" }");
        }
    }

    /// Calls `f` with the slots of an object that have an edge or were cut, in order.
    fn for_each_said(
        &mut self,
        object: ObjectId,
        mut f: impl FnMut(&mut Self, Place, Option<ObjectId>),
    ) {
        let heap = self.heap;
        let mut cut = heap.cut_of(object).peekable();
        heap.for_each_edge(object, |place, _, to| {
            while let Some(cut) = cut.next_if(|it| *it < place) {
                f(self, cut, None);
            }
            f(self, place, Some(to));
        });
        cut.for_each(|place| f(self, place, None));
    }

    fn push_target(&mut self, target: Option<ObjectId>) {
        match target {
            Some(object) => self.push_object(object),
            None => self.push("cut"),
        }
    }

    /// `[ Node#1, null*3 ]`
    fn write_elements(&mut self, object: ObjectId, length: u32) {
        self.push(" [");
        let mut next = 0;
        self.for_each_said(object, |it, place, to| {
            let Place::Element(index) = place else {
                return;
            };
            it.push_nulls(next, index);
            it.push(if index == 0 { " " } else { ", " });
            it.push_target(to);
            next = index + 1;
        });
        self.push_nulls(next, length);
        self.push(" ]");
    }

    fn push_nulls(&mut self, from: u32, to: u32) {
        let separator = |index| if index == 0 { " " } else { ", " };
        if to - from >= RUN {
            self.push(separator(from));
            self.push(&format!("null*{}", to - from));
            return;
        }
        for index in from..to {
            self.push(separator(index));
            self.push("null");
        }
    }

    /// The elements of an array whose length is not known, a line each.
    fn write_single(&mut self, object: ObjectId) {
        self.line.push(b'\n');
        self.for_each_said(object, |it, place, to| {
            if let Place::Element(index) = place {
                it.push_object(object);
                it.push(&format!("[{index}] -> "));
                it.push_target(to);
                it.line.push(b'\n');
            }
        });
    }
}

fn push_kind(line: &mut Vec<u8>, kind: PlainKind) {
    line.extend_from_slice(b": ");
    let PlainKind::Enum { variants } = kind else {
        line.extend_from_slice(kind_word(FieldKind::Plain(kind)).as_bytes());
        return;
    };
    line.extend_from_slice(b"enum(");
    for (nth, variant) in variants.iter().enumerate() {
        if nth > 0 {
            line.extend_from_slice(b", ");
        }
        push_name(line, variant, Style::Variant);
    }
    line.push(b')');
}

fn push_value(line: &mut Vec<u8>, value: Value) {
    match value {
        Value::Unsigned(value) => push_number(line, value),
        Value::Float(value) if value.is_nan() => line.extend_from_slice(b"nan"),
        Value::Variant(name) => push_name(line, name, Style::Variant),
        value => line.extend_from_slice(value.to_string().as_bytes()),
    }
}

fn push_number(line: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    line.extend_from_slice(&digits[at..]);
}
