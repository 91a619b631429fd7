//! Reading the binary form.
//!
//! Every count is checked against the bytes that are left before anything is made for it.

use std::collections::HashSet;

use heaphound_heap::class::{Elements, find_cycles};
use heaphound_heap::snapshot::{Columns, Lacks, ObjectId, Snapshot};
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind, Root, RootKind};

use super::{BinaryError, MAGIC, Section, VERSION, WITH_INTERFACES, checksum, unzigzag};
use crate::Progress;
use crate::budget::Budget;
use crate::variants::{MOST_VARIANTS, intern};

/// Reads the binary form. Errors call it `name`; `progress` is called about once a
/// megabyte, with the bytes that are read and the bytes of all.
///
/// # Errors
/// If the bytes are not a heap, with the place of the first mistake.
pub fn read_binary(
    bytes: &[u8],
    name: &str,
    progress: Progress<'_>,
) -> Result<Snapshot, BinaryError> {
    let read = Reader::new(bytes).read(progress);
    read.map_err(|Failure { at, message }| BinaryError {
        name: name.into(),
        at,
        message,
    })
}

struct Failure {
    at: usize,
    message: String,
}

type Read<T> = Result<T, Failure>;

#[cold]
fn failure<T>(at: usize, message: impl Into<String>) -> Read<T> {
    let message = message.into();
    Err(Failure { at, message })
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    version: u8,
    /// Where the section ends.
    end: usize,
    budget: Budget,
    strings: Vec<&'a str>,
    columns: Columns,
    /// Objects that lengths and values have come to.
    last_length: u64,
    last_number: u64,
    last_value: u64,
    last_cut: u64,
    last_told: u64,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            version: VERSION,
            end: bytes.len(),
            budget: Budget::for_input(bytes.len()),
            strings: Vec::new(),
            columns: Columns::default(),
            last_length: 0,
            last_number: 0,
            last_value: 0,
            last_cut: 0,
            last_told: 0,
        }
    }

    fn read(mut self, progress: Progress<'_>) -> Read<Snapshot> {
        if !self.bytes.starts_with(&MAGIC) {
            return failure(0, "this is not a heap in the binary form");
        }
        self.at = MAGIC.len();
        let version = self.byte("the version")?;
        if !(1..=VERSION).contains(&version) {
            let message = format!("version {version} is not known, only 1 to {VERSION}");
            return failure(MAGIC.len(), message);
        }
        self.version = version;
        let mut before = Section::End;
        loop {
            let at = self.at;
            let tag = self.byte("a section")?;
            let Some(&section) = Section::ALL.get(tag as usize) else {
                return failure(at, format!("there are no sections of kind {tag}"));
            };
            if section == Section::End {
                break;
            }
            let again = section == before && section >= Section::Objects;
            if section <= before && !again {
                return failure(at, format!("a section of kind {tag} is out of order"));
            }
            before = section;
            let length = self.number("the length of a section")?;
            let left = self.bytes.len() - self.at;
            // A file that was cut short is read as far as it goes, to say where that is.
            self.end = match usize::try_from(length) {
                Ok(length) if length <= left => self.at + length,
                _ => self.bytes.len(),
            };
            while self.at < self.end {
                self.entry(section)?;
            }
            if length > left as u64 {
                return self.ends_inside("a section");
            }
            self.end = self.bytes.len();
            progress(self.at as u64, self.bytes.len() as u64);
        }
        self.check_sum()?;
        progress(self.bytes.len() as u64, self.bytes.len() as u64);
        self.finish()
    }

    fn check_sum(&mut self) -> Read<()> {
        let at = self.at;
        let Some(&stored) = self.bytes[at..].first_chunk::<8>() else {
            return failure(at, "the file ends inside the checksum");
        };
        if at + 8 != self.bytes.len() {
            return failure(at + 8, "something follows the checksum");
        }
        match checksum(&self.bytes[..at]) == u64::from_le_bytes(stored) {
            true => Ok(()),
            false => failure(at, "the checksum is wrong: some bytes have changed"),
        }
    }

    fn finish(mut self) -> Read<Snapshot> {
        let objects = self.columns.class_of.len();
        if !self.columns.first_value.is_empty() {
            let end = self.columns.values.len() as u64;
            self.columns.first_value.resize(objects + 1, end);
        }
        match self.columns.finish() {
            Ok(heap) => Ok(heap),
            Err(malformed) => failure(self.at, malformed.0),
        }
    }

    /// One thing of a section.
    fn entry(&mut self, section: Section) -> Read<()> {
        match section {
            Section::End => Ok(()),
            Section::Strings => self.string_entry(),
            Section::Classes => self.classes(),
            Section::Threads => {
                let name = self.string("a thread")?;
                self.own(name.len())?;
                self.columns.threads.push(name.into());
                Ok(())
            }
            Section::Roots => self.root(),
            Section::Objects => self.objects(),
            Section::Lengths => self.length(),
            Section::Numbers => {
                let step = unzigzag(self.number("the numbers")?);
                self.last_number = self.last_number.wrapping_add(step as u64);
                self.columns.numbers.push(self.last_number);
                Ok(())
            }
            Section::Values => self.value(),
            Section::Captions => self.caption(),
            Section::Cut => self.cut(),
            Section::Notes => {
                let note = self.string("a note")?;
                self.own(note.len())?;
                self.columns.notes.push(note.into());
                Ok(())
            }
            Section::Told => self.told(),
            Section::Lacks => self.lacks(),
        }
    }

    /// What the heap lacks.
    fn lacks(&mut self) -> Read<()> {
        let at = self.at;
        let number = self.number("what the heap lacks")?;
        let word = usize::try_from(number)
            .ok()
            .and_then(|it| Lacks::WORDS.get(it));
        match word.is_some_and(|word| self.columns.lacks.add(word)) {
            true => Ok(()),
            false => failure(at, format!("what a heap lacks is not known: {number}")),
        }
    }

    /// A slot whose reference was pruned or invalidated.
    fn cut(&mut self) -> Read<()> {
        let (what, at) = ("a slot that was cut", self.at);
        let object = self.last_cut.saturating_add(self.number(what)?);
        let place = self.small(what)?;
        if object >= self.columns.class_of.len() as u64 {
            return failure(at, format!("there is no object {object}"));
        }
        self.last_cut = object;
        self.columns.cut.push((object as u32, place));
        Ok(())
    }

    /// The caption of an object that no field tells.
    fn told(&mut self) -> Read<()> {
        let (what, at) = ("the caption of an object", self.at);
        let object = self.last_told.saturating_add(self.number(what)?);
        let caption = self.string(what)?;
        if object >= self.columns.class_of.len() as u64 {
            return failure(at, format!("there is no object {object}"));
        }
        // A table takes as much again for each.
        self.own(caption.len() + 48)?;
        self.last_told = object;
        self.columns.captions.insert(object as u32, caption.into());
        Ok(())
    }

    /// The field that is the caption of a class.
    fn caption(&mut self) -> Read<()> {
        let (what, at) = ("a caption", self.at);
        let class = self.small(what)?;
        let field = self.small(what)?;
        let place = (class as usize).wrapping_sub(1);
        match self.columns.classes.get_mut(place) {
            Some(info) if (field as usize) < info.fields.len() => info.caption = Some(field),
            Some(_) => return failure(at, format!("class {class} has no field {field}")),
            None => return failure(at, format!("there is no class {class}")),
        }
        Ok(())
    }

    #[cold]
    fn ends_inside<T>(&self, what: &str) -> Read<T> {
        let whole = match self.end == self.bytes.len() {
            true => "file",
            false => "section",
        };
        failure(self.at, format!("the {whole} ends inside {what}"))
    }

    #[inline]
    fn byte(&mut self, what: &str) -> Read<u8> {
        match self.bytes[..self.end].get(self.at) {
            Some(&byte) => {
                self.at += 1;
                Ok(byte)
            }
            None => self.ends_inside(what),
        }
    }

    #[inline]
    fn number(&mut self, what: &str) -> Read<u64> {
        let mut at = self.at;
        match number(&self.bytes[..self.end], &mut at) {
            Some(number) => {
                self.at = at;
                Ok(number)
            }
            None => self.no_number(what),
        }
    }

    #[cold]
    fn no_number<T>(&mut self, what: &str) -> Read<T> {
        let rest = &self.bytes[self.at..self.end];
        if rest.len() >= 10 || rest.iter().any(|it| it & 0x80 == 0) {
            return failure(self.at, format!("a number is too large, inside {what}"));
        }
        self.at = self.end;
        self.ends_inside(what)
    }

    fn small(&mut self, what: &str) -> Read<u32> {
        let at = self.at;
        let number = self.number(what)?;
        match u32::try_from(number) {
            Ok(number) => Ok(number),
            Err(_) => failure(at, format!("a number is too large, inside {what}")),
        }
    }

    fn take(&mut self, length: u64, what: &str) -> Read<&'a [u8]> {
        let rest = &self.bytes[self.at..self.end];
        match usize::try_from(length).ok().and_then(|it| rest.get(..it)) {
            Some(bytes) => {
                self.at += bytes.len();
                Ok(bytes)
            }
            None => {
                self.at = self.end;
                self.ends_inside(what)
            }
        }
    }

    /// Pays for memory that may be used many times.
    fn own(&mut self, bytes: usize) -> Read<()> {
        match self.budget.spend(bytes) {
            true => Ok(()),
            false => failure(self.at, "names and fields take too much memory in all"),
        }
    }

    fn string_entry(&mut self) -> Read<()> {
        let length = self.number("the strings")?;
        let at = self.at;
        let bytes = self.take(length, "a string")?;
        match std::str::from_utf8(bytes) {
            Ok(string) => {
                self.strings.push(string);
                Ok(())
            }
            Err(error) => failure(at + error.valid_up_to(), "a string is not UTF-8"),
        }
    }

    fn string_at(&self, place: u64, at: usize) -> Read<&'a str> {
        let place_there = usize::try_from(place).ok();
        match place_there.and_then(|place| self.strings.get(place)) {
            Some(string) => Ok(string),
            None => failure(at, format!("there is no string {place}")),
        }
    }

    fn string(&mut self, what: &str) -> Read<&'a str> {
        let at = self.at;
        let place = self.number(what)?;
        self.string_at(place, at)
    }

    /// Reads all classes. A superclass may come later, so fields are inherited at the end.
    fn classes(&mut self) -> Read<()> {
        let at = self.at;
        let count = self.number("the classes")?;
        // What a class takes at least.
        let least = match self.version >= WITH_INTERFACES {
            true => 6,
            false => 5,
        };
        if count > (self.end - self.at) as u64 / least {
            return failure(at, format!("{count} classes do not fit into their section"));
        }
        let mut inherited = Vec::new();
        for id in 1..=count as u32 {
            let (class, same, at) = self.class(ClassId(id))?;
            self.columns.classes.push(class);
            inherited.push((same, at));
        }
        if self.at < self.end {
            return failure(self.at, "something follows the last class");
        }
        self.inherit(&inherited)
    }

    /// Reads a class. Returns it with its own fields, how many it inherits, and where the file
    /// says so.
    fn class(&mut self, id: ClassId) -> Read<(ClassInfo, usize, usize)> {
        let what = "a class";
        let name = self.string(what)?;
        self.own(name.len())?;
        let superclass = match self.small(what)? {
            0 => None,
            above => Some(ClassId(above)),
        };
        let interfaces = match self.version >= WITH_INTERFACES {
            true => self.interfaces()?,
            false => Vec::new(),
        };
        let at = self.at;
        let same = self.small(what)? as usize;
        let count = self.small(what)?;
        let mut fields = Vec::new();
        for _ in 0..count {
            let name = self.string(what)?;
            self.own(size_of::<FieldInfo>() + name.len())?;
            let offset = self.small(what)?;
            let at = self.at;
            let kind = match self.byte(what)? {
                0 => FieldKind::Ref,
                1 => FieldKind::Opt,
                2 => FieldKind::Weak,
                3 => FieldKind::Dependent,
                4 => FieldKind::Owned,
                tag => FieldKind::Plain(self.kind(tag, at)?),
            };
            let name = name.into();
            fields.push(FieldInfo { name, offset, kind });
        }
        let tag_at = self.at;
        let tag = self.byte(what)?;
        let is_interface = tag == 3 && self.version >= WITH_INTERFACES;
        let elements = match tag {
            0 => None,
            _ if is_interface => None,
            1 => Some(Elements::Refs),
            2 => Some(Elements::Text),
            tag => Some(Elements::Plain(self.kind(tag, tag_at)?)),
        };
        let class = ClassInfo {
            id,
            name: name.into(),
            superclass,
            interfaces,
            is_interface,
            fields,
            elements,
            caption: None,
        };
        Ok((class, same, at))
    }

    /// The interfaces that a class implements. Whether they are interfaces is found when all
    /// classes are known.
    fn interfaces(&mut self) -> Read<Vec<ClassId>> {
        let what = "a class";
        let count = self.number(what)?;
        let mut interfaces = Vec::new();
        let mut met = HashSet::new();
        for _ in 0..count {
            let at = self.at;
            let id = ClassId(self.small(what)?);
            if !met.insert(id) {
                return failure(at, format!("interface {} is there twice", id.0));
            }
            interfaces.push(id);
        }
        Ok(interfaces)
    }

    fn kind(&mut self, tag: u8, at: usize) -> Read<PlainKind> {
        Ok(match tag {
            16 => PlainKind::Bool,
            17 => PlainKind::Char,
            18 => PlainKind::U8,
            19 => PlainKind::U16,
            20 => PlainKind::U32,
            21 => PlainKind::U64,
            22 => PlainKind::I8,
            23 => PlainKind::I16,
            24 => PlainKind::I32,
            25 => PlainKind::I64,
            26 => PlainKind::F32,
            27 => PlainKind::F64,
            28 => {
                let count = self.number("an enum")?;
                if count > MOST_VARIANTS as u64 {
                    return failure(at, format!("an enum has {count} variants"));
                }
                let mut names = Vec::new();
                for _ in 0..count {
                    names.push(self.string("an enum")?);
                }
                match intern(&names) {
                    Some(variants) => PlainKind::Enum { variants },
                    None => return failure(at, "too many enums have been read by this process"),
                }
            }
            tag => return failure(at, format!("there is no kind of data {tag}")),
        })
    }

    /// Checks supertypes, and puts inherited fields before those of each class, superclasses
    /// first.
    fn inherit(&mut self, inherited: &[(usize, usize)]) -> Read<()> {
        let count = inherited.len();
        let classes = &self.columns.classes;
        for (class, &(_, at)) in classes.iter().zip(inherited) {
            let mut above = class.supertypes().map(|id| id.0 as usize);
            if let Some(id) = above.find(|id| !(1..=count).contains(id)) {
                return failure(at, format!("there is no class {id}"));
            }
            if class
                .superclass
                .is_some_and(|id| classes[id.0 as usize - 1].is_interface)
            {
                return failure(at, "the superclass is an interface");
            }
            let mut interfaces = class.interfaces.iter().map(|id| id.0 as usize);
            if let Some(id) = interfaces.find(|id| !classes[id - 1].is_interface) {
                return failure(at, format!("class {id} is not an interface"));
            }
        }
        if let Some(cycle) = find_cycles(classes).first() {
            let class = cycle.class.0 as usize;
            let message = format!("class {class} extends itself");
            return failure(inherited[class - 1].1, message);
        }
        let mut done = vec![false; count];
        for class in 0..count {
            let mut chain = Vec::new();
            let mut next = Some(class);
            while let Some(class) = next.filter(|&class| !done[class]) {
                chain.push(class);
                let above = self.columns.classes[class].superclass;
                next = above.map(|id| id.0 as usize - 1);
            }
            for class in chain.into_iter().rev() {
                done[class] = true;
                let (same, at) = inherited[class];
                if same == 0 {
                    continue;
                }
                let above = self.columns.classes[class].superclass;
                let above = above.map(|id| &self.columns.classes[id.0 as usize - 1]);
                let Some(fields) = above.and_then(|above| above.fields.get(..same)) else {
                    return failure(
                        at,
                        format!("class {} inherits what is not there", class + 1),
                    );
                };
                let cost = fields
                    .iter()
                    .map(|it| size_of::<FieldInfo>() + it.name.len());
                if !self.budget.spend(cost.sum()) {
                    return failure(at, "names and fields take too much memory in all");
                }
                let mut fields = fields.to_vec();
                fields.append(&mut self.columns.classes[class].fields);
                self.columns.classes[class].fields = fields;
            }
        }
        Ok(())
    }

    fn root(&mut self) -> Read<()> {
        let what = "a root";
        let at = self.at;
        let kind = match self.byte(what)? {
            0 => RootKind::Static,
            1 => RootKind::ThreadObject,
            2 => RootKind::ThreadStack,
            3 => RootKind::Handle,
            4 => RootKind::Other,
            5 => RootKind::Finalizer,
            tag => return failure(at, format!("there are no roots of kind {tag}")),
        };
        let name = self.string(what)?;
        let scope_at = self.at;
        let scope = match self.number(what)? {
            0 => None,
            place => Some(self.string_at(place - 1, scope_at)?),
        };
        self.own(name.len() + scope.map_or(0, str::len))?;
        let root = Root {
            kind,
            name: name.into(),
            scope: scope.map(str::to_string),
            index: self.small(what)?,
        };
        let object = ObjectId(self.small(what)?);
        self.columns.roots.push((root, object));
        Ok(())
    }

    /// Reads the objects of a section.
    fn objects(&mut self) -> Read<()> {
        let bytes = &self.bytes[..self.end];
        // In a variable of its own, the place stays in a register.
        let mut at = self.at;
        while at < bytes.len() {
            let id = self.columns.class_of.len() as u32;
            let start = at;
            let head = (|| {
                let class = number(bytes, &mut at)?;
                let size = number(bytes, &mut at)?;
                Some((class, size, number(bytes, &mut at)?))
            })();
            let Some((class, size, count)) = head else {
                self.at = at;
                return self.no_number(&format!("object {id}"));
            };
            if class == 0 || class > self.columns.classes.len() as u64 {
                return failure(
                    start,
                    format!("object {id} is of class {class}, which is not there"),
                );
            }
            if id == u32::MAX {
                return failure(start, "there are more objects than a snapshot holds");
            }
            self.columns
                .push_object(ClassId(class as u32), size as usize);
            for _ in 0..count {
                let start = at;
                let step = number(bytes, &mut at);
                let to = number(bytes, &mut at);
                let (Some(step), Some(to)) = (step, to) else {
                    self.at = at;
                    return self.no_number(&format!("the edges of object {id}"));
                };
                let to = (id as i64).wrapping_add(unzigzag(to));
                match (u32::try_from(step), u32::try_from(to)) {
                    (Ok(step), Ok(to)) => self.columns.push_edge(step, to),
                    _ => return failure(start, format!("an edge of object {id} leads nowhere")),
                }
            }
        }
        self.at = at;
        Ok(())
    }

    fn length(&mut self) -> Read<()> {
        let at = self.at;
        let object = self.last_length.saturating_add(self.number("the lengths")?);
        let length = self.small("the lengths")?;
        if object >= self.columns.class_of.len() as u64 {
            return failure(at, format!("there is no object {object}"));
        }
        self.last_length = object;
        self.columns.lengths.push((object as u32, length));
        Ok(())
    }

    fn value(&mut self) -> Read<()> {
        let at = self.at;
        let step = self.number("the values")?;
        let object = self.last_value.saturating_add(step);
        let length = self.number("the values")?;
        let objects = self.columns.class_of.len() as u64;
        if object >= objects {
            return failure(at, format!("there is no object {object}"));
        }
        let first = self.columns.first_value.len();
        if step == 0 && first > 0 {
            return failure(at, format!("object {object} has values twice"));
        }
        let bytes = self.take(length, &format!("the values of object {object}"))?;
        let start = self.columns.values.len() as u64;
        self.columns.first_value.resize(object as usize + 1, start);
        self.columns.values.extend_from_slice(bytes);
        self.last_value = object;
        Ok(())
    }
}

/// Reads a number of seven bits a byte, the low ones first, if it has at most 64 bits.
#[inline]
fn number(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    if first < 0x80 {
        *at += 1;
        return Some(first as u64);
    }
    let mut number = (first & 0x7f) as u64;
    for nth in 1..10 {
        let byte = *bytes.get(*at + nth)?;
        number |= ((byte & 0x7f) as u64) << (7 * nth);
        if byte < 0x80 {
            // The tenth byte has room for one bit.
            if nth == 9 && byte > 1 {
                return None;
            }
            *at += nth + 1;
            return Some(number);
        }
    }
    None
}
