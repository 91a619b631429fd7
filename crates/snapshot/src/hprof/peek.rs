//! Reads single objects again, by their ids: the names of threads, whoever needs no other values.

use std::collections::HashMap;

use heaphound_heap::FieldKind;
use heaphound_heap::snapshot::{Addresses, Encoding, decode_text};

use super::classes::Classes;
use super::kinds::Type;
use super::outline::Outline;
use super::survey::Part;
use super::walker::{Record, Walker, id};
use crate::input::Input;

/// Reads single objects.
pub struct Peek<'a> {
    pub input: &'a Input,
    pub outline: &'a Outline,
    pub classes: &'a Classes,
    pub addresses: &'a Addresses,
    pub parts: &'a [Part],
    /// How many objects come before those of the parts.
    pub base: u32,
}

/// An object, with how its data begins.
struct Peeked {
    record: Record,
    data: Vec<u8>,
}

/// More of an object is not read. Names are short.
const MOST: usize = 4096;

impl Peek<'_> {
    /// The names of threads, by the ids of their objects.
    pub fn thread_names(&self, threads: &[u64]) -> HashMap<u64, String> {
        let objects = self.read(threads);
        let field = |object: u64, name: &str| self.slot(objects.get(&object)?, name);
        let names: Vec<(u64, u64)> = threads
            .iter()
            .filter_map(|&thread| Some((thread, field(thread, "name")?)))
            .collect();
        let ids: Vec<u64> = names.iter().map(|it| it.1).collect();
        let texts = self.texts(&ids);
        let name = |(thread, text)| Some((thread, texts.get(&text)?.clone()));
        names.into_iter().filter_map(name).collect()
    }

    /// The texts of strings, or of arrays of characters.
    fn texts(&self, ids: &[u64]) -> HashMap<u64, String> {
        let strings = self.read(ids);
        let array_of = |id: u64| {
            let string = strings.get(&id)?;
            match string.record {
                Record::Primitives { .. } => Some(id),
                _ => self.slot(string, "value"),
            }
        };
        let arrays: Vec<u64> = ids.iter().filter_map(|&id| array_of(id)).collect();
        let arrays = self.read(&arrays);
        let text = |id: u64| {
            let array = arrays.get(&array_of(id)?)?;
            let Record::Primitives { of, .. } = array.record else {
                return None;
            };
            let is_latin = self.byte(&strings[&id], "coder") == Some(0);
            let text = match of {
                Type::Byte if is_latin => decode_text(&array.data, Encoding::Latin1),
                Type::Byte => decode_text(&array.data, Encoding::Utf16),
                Type::Char => {
                    let pairs = array.data.chunks_exact(2);
                    let little: Vec<u8> = pairs.flat_map(|it| [it[1], it[0]]).collect();
                    decode_text(&little, Encoding::Utf16)
                }
                _ => return None,
            };
            Some((id, text))
        };
        ids.iter().filter_map(|&id| text(id)).collect()
    }

    /// Where a field of an object is among its data.
    fn place(&self, object: &Peeked, name: &str) -> Option<(usize, FieldKind)> {
        let Record::Instance { class, .. } = object.record else {
            return None;
        };
        let &nth = self.classes.by_id.get(&class)?;
        let fields = &self.classes.infos[nth as usize].fields;
        let layout = &self.classes.layouts[nth as usize];
        let field = fields.iter().position(|it| it.name == name)?;
        let kind = fields[field].kind;
        let at = match kind {
            FieldKind::Plain(_) => {
                let is_plain =
                    |it: &heaphound_heap::FieldInfo| matches!(it.kind, FieldKind::Plain(_));
                let nth = fields[..field].iter().filter(|it| is_plain(it)).count();
                layout.plain.get(nth)?.0
            }
            _ => layout.slots.iter().find(|it| it.1 as usize == field)?.0,
        };
        Some((at as usize, kind))
    }

    fn slot(&self, object: &Peeked, name: &str) -> Option<u64> {
        let (at, kind) = self.place(object, name)?;
        let ids = self.outline.id_bytes;
        let bytes = object.data.get(at..at + ids)?;
        kind.is_slot().then(|| id(bytes, ids))
    }

    fn byte(&self, object: &Peeked, name: &str) -> Option<u8> {
        let (at, _) = self.place(object, name)?;
        object.data.get(at).copied()
    }

    /// Reads objects. No part is walked over twice.
    fn read(&self, ids: &[u64]) -> HashMap<u64, Peeked> {
        let mut found = HashMap::new();
        let mut wanted: Vec<u32> = ids
            .iter()
            .filter_map(|&id| self.addresses.find(id)?.checked_sub(self.base))
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut wanted = wanted.into_iter().peekable();
        let mut walker = Walker::new(self.input, self.outline.id_bytes);
        let mut first = 0;
        for part in self.parts {
            let end = first + part.objects;
            if wanted.peek().is_some_and(|&it| it < end) {
                walker.go_to(part.start, part.end);
            }
            let mut at = first;
            while let Some(nth) = wanted.next_if(|&it| it < end) {
                // The file was read once; what it does not give now, it does not have any more.
                while let Ok(Some(record)) = walker.next() {
                    let id = match record {
                        Record::Instance { id, .. }
                        | Record::Objects { id, .. }
                        | Record::Primitives { id, .. }
                        | Record::Hollow { id, .. } => id,
                        _ => continue,
                    };
                    at += 1;
                    if at <= nth {
                        continue;
                    }
                    if let Ok(Some(data)) = walker.data(MOST) {
                        let data = data.to_vec();
                        found.insert(id, Peeked { record, data });
                    }
                    break;
                }
            }
            first = end;
        }
        found
    }
}
