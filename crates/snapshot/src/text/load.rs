//! Gathering the objects of a text whose classes are known.
//!
//! Edges go into one list in the order of the text, those of a line together. Objects are
//! numbered twice: while reading, as they are first mentioned; in the end, as they first
//! have a line of their own, so that a heap that was written is read in the same
//! order. Nothing is kept for a line but its edges and values, 40 bytes, and its place.

use std::borrow::Cow;

use heaphound_heap::class::Elements;
use heaphound_heap::nearest::nearest;
use heaphound_heap::snapshot::{Columns, Lacks, Malformed, ObjectId, Snapshot, encode_values};
use heaphound_heap::{ClassId, FieldKind, PlainKind, Root, RootKind, Value};

use super::classes::Schema;
use super::cursor::Literal;
use super::grammar::{Edge, RootName, Sink, Target};
use super::hash::Map;
use super::mistake::{Mistakes, Parse, ParseError, error_at};
use super::{default_bytes, fixed_bytes};
use crate::budget::Budget;

/// Builds a snapshot from what a text says.
pub struct Loader<'a> {
    schema: Schema<'a>,
    budget: Budget,
    objects: Objects,
    lines: Vec<Line>,
    edges: Vec<Said<u32>>,
    values: Vec<Said<u64>>,
    /// Sizes that were given, and where; by object.
    bytes: Map<u32, (u64, usize)>,
    arrays: Map<u32, Array>,
    /// Elements that were given one by one: object, index, place in the text.
    single: Vec<(u32, u32, usize)>,
    /// The bytes of text and plain elements.
    elements: Vec<u8>,
    threads: Vec<String>,
    notes: Vec<String>,
    lacks: Lacks,
    thread_lines: Map<String, Option<usize>>,
    roots: Vec<(Root, u32)>,
    root_names: Map<(RootKind, String), Taken>,
    /// The object that the line is about.
    class: u32,
    object: u32,
    line: usize,
    /// The field that comes next if all are written in order.
    expected: usize,
    /// The class that was looked up last: most names repeat.
    last_class: Option<(Cow<'a, str>, u32)>,
}

/// The edges and values of one line.
struct Line {
    object: u32,
    at: usize,
    first_edge: usize,
    first_value: usize,
}

/// What a line says of one place of its object.
#[derive(Clone, Copy)]
struct Said<T> {
    /// A field's place, or [`ELEMENT`] and an index.
    place: u64,
    what: T,
    /// Bytes from the start of the line.
    at: u32,
}

const ELEMENT: u64 = 1 << 32;
/// The target of a slot that is null.
const NULL: u32 = u32::MAX;
/// The target of a slot whose reference was cut.
const CUT: u32 = u32::MAX - 1;

/// The target of a slot, as a number.
fn number_of(target: Target) -> u32 {
    match target {
        Target::Object(object) => object,
        Target::Null => NULL,
        Target::Cut => CUT,
    }
}

/// What is known of an array or a string.
#[derive(Default)]
struct Array {
    length: Option<u32>,
    length_at: Option<usize>,
    /// Where all its elements were given.
    listed_at: Option<usize>,
    /// Its bytes among all elements.
    bytes: Option<(usize, usize)>,
}

/// The roots of one kind and name.
#[derive(Default)]
struct Taken {
    next: u32,
    at: Map<u32, usize>,
}

/// The objects. While reading, one is known by its number in the text if that is small and
/// no other class had it before: then it is found with one look, and a heap that counts
/// its objects through lies in memory in its own order. All others follow, and are
/// looked up in a map.
struct Objects {
    /// The classes of those with small numbers, from 1; 0 where there is no object.
    classes: Vec<u32>,
    /// Their final numbers, from 1; 0 as long as one has no line of its own.
    ids: Vec<u32>,
    others: Vec<Other>,
    places: Map<(u32, u64), u32>,
    /// In the order in which they are first mentioned.
    mentioned: Vec<u32>,
    /// How many have their final number.
    numbered: u32,
}

struct Other {
    class: u32,
    id: u32,
    number: u64,
}

impl Objects {
    fn new(text: usize) -> Self {
        // An object takes some bytes of text; pages that remain untouched cost nothing.
        let small = (text / 8 + 16).min(1 << 31);
        Self {
            classes: vec![0; small],
            ids: vec![0; small],
            others: Vec::new(),
            places: Map::default(),
            mentioned: Vec::new(),
            numbered: 0,
        }
    }

    #[inline]
    fn find_or_add(&mut self, class: u32, number: u64) -> u32 {
        match self.classes.get_mut(number as usize) {
            Some(known) if *known == class + 1 => number as u32,
            Some(free) if *free == 0 => {
                *free = class + 1;
                self.mentioned.push(number as u32);
                number as u32
            }
            _ => self.find_or_add_other(class, number),
        }
    }

    fn find_or_add_other(&mut self, class: u32, number: u64) -> u32 {
        let next = (self.ids.len() + self.others.len()).min(CUT as usize) as u32;
        let place = *self.places.entry((class, number)).or_insert(next);
        if place == next && next != CUT {
            let id = 0;
            self.others.push(Other { class, id, number });
            self.mentioned.push(place);
        }
        place
    }

    fn class(&self, place: u32) -> u32 {
        match self.classes.get(place as usize) {
            Some(class) => class - 1,
            None => self.others[place as usize - self.ids.len()].class,
        }
    }

    fn number(&self, place: u32) -> u64 {
        match (place as usize).checked_sub(self.ids.len()) {
            None => place as u64,
            Some(other) => self.others[other].number,
        }
    }

    /// Returns the final number, once all have one.
    #[inline]
    fn id(&self, place: u32) -> u32 {
        match self.ids.get(place as usize) {
            Some(id) => id - 1,
            None => self.others[place as usize - self.ids.len()].id - 1,
        }
    }

    /// Gives an object the next number, unless it has one.
    #[inline]
    fn count(&mut self, place: u32) {
        let small = self.ids.len();
        let id = match self.ids.get_mut(place as usize) {
            Some(id) => id,
            None => &mut self.others[place as usize - small].id,
        };
        if *id == 0 {
            self.numbered += 1;
            *id = self.numbered;
        }
    }

    /// Numbers those that have no line of their own.
    fn count_rest(&mut self) {
        if self.numbered as usize == self.mentioned.len() {
            return;
        }
        for place in std::mem::take(&mut self.mentioned) {
            self.count(place);
            self.mentioned.push(place);
        }
    }
}

impl<'a> Loader<'a> {
    pub fn new(text: &str, schema: Schema<'a>, budget: Budget) -> Self {
        Self {
            schema,
            budget,
            objects: Objects::new(text.len()),
            lines: Vec::new(),
            edges: Vec::new(),
            values: Vec::new(),
            bytes: Map::default(),
            arrays: Map::default(),
            single: Vec::new(),
            elements: Vec::new(),
            threads: Vec::new(),
            notes: Vec::new(),
            lacks: Lacks::default(),
            thread_lines: Map::default(),
            roots: Vec::new(),
            root_names: Map::default(),
            class: 0,
            object: 0,
            line: 0,
            expected: 0,
            last_class: None,
        }
    }

    /// Returns the place of a field of the line's object.
    #[inline]
    fn field(&mut self, name: &str, at: usize) -> Parse<usize> {
        let class = self.class as usize;
        let guess = self.schema.classes[class].fields.get(self.expected);
        let place = match guess {
            Some(field) if field.name == name => self.expected,
            _ => match self.schema.fields[class].get(name) {
                Some(&place) => place as usize,
                None => return Err(self.schema.unknown_field(self.class, name, at)),
            },
        };
        self.expected = place + 1;
        Ok(place)
    }

    fn in_line(&self, at: usize) -> u32 {
        u32::try_from(at - self.line).unwrap_or(u32::MAX)
    }

    #[cold]
    fn wrong_kind(&self, at: usize, what: &str) -> Box<ParseError> {
        let class = &self.schema.classes[self.class as usize];
        let is_broken = self.schema.is_broken(self.class);
        error_at(at, format!("`{}` {what}", class.name)).follows_from_other(is_broken)
    }

    /// Returns the elements of the line's class.
    fn elements_of(&self) -> Option<Elements> {
        self.schema.classes[self.class as usize].elements
    }

    /// Says that all elements are given here.
    fn list(&mut self, at: usize) -> Parse<&mut Array> {
        let array = self.arrays.entry(self.object).or_default();
        match array.listed_at {
            None => {
                array.listed_at = Some(at);
                Ok(array)
            }
            Some(first) => Err(error_at(at, "the elements are given twice").other(first)),
        }
    }

    fn name_of(&self, object: u32) -> String {
        let class = self.objects.class(object);
        let name = &self.schema.classes[class as usize].name;
        format!("{name}#{}", self.objects.number(object))
    }
}

/// Returns the bits of a value, if a field of that kind can hold it.
fn bits_of(kind: PlainKind, value: &Literal<'_>) -> Option<u64> {
    let word = match value {
        Literal::Value(value) => return kind.encode(*value),
        Literal::Word(word) => word.as_ref(),
    };
    match kind {
        PlainKind::Enum { variants } => {
            let place = variants.iter().position(|&it| it == word);
            place.map(|place| place as u64)
        }
        PlainKind::Bool if word == "true" => Some(1),
        PlainKind::Bool if word == "false" => Some(0),
        PlainKind::F32 | PlainKind::F64 if word == "nan" => kind.encode(Value::Float(f64::NAN)),
        PlainKind::F32 | PlainKind::F64 if word == "inf" => {
            kind.encode(Value::Float(f64::INFINITY))
        }
        _ => None,
    }
}

#[cold]
fn does_not_fit(kind: PlainKind, value: &Literal<'_>, at: usize) -> Box<ParseError> {
    let shown = match value {
        Literal::Value(value) => value.to_string(),
        Literal::Word(word) => word.to_string(),
    };
    let kind = match kind {
        PlainKind::Enum { variants } => {
            let message = format!("`{shown}` is none of the enum's variants");
            let all = variants.iter().copied();
            return error_at(at, message).meant(nearest(&shown, all));
        }
        kind => super::classes::kind_word(FieldKind::Plain(kind)),
    };
    error_at(at, format!("`{shown}` is not a value of `{kind}`"))
}

impl<'a> Sink<'a> for Loader<'a> {
    #[inline]
    fn class(&mut self, name: Cow<'a, str>, at: usize) -> Parse<u32> {
        if let Some((last, class)) = &self.last_class
            && *last == name
        {
            return Ok(*class);
        }
        let Some(class) = self.schema.find(&name) else {
            return Err(self.schema.unknown_class(name, at));
        };
        if self.schema.classes[class as usize].is_interface {
            let message = format!("`{name}` is an interface and has no instances of its own");
            return Err(error_at(at, message));
        }
        self.last_class = Some((name, class));
        Ok(class)
    }

    #[inline]
    fn mention(&mut self, class: u32, number: u64, at: usize) -> Parse<u32> {
        let object = self.objects.find_or_add(class, number);
        match object {
            CUT => Err(error_at(at, "there are too many objects")),
            object => Ok(object),
        }
    }

    #[inline]
    fn subject(&mut self, class: u32, object: u32, at: usize) {
        self.class = class;
        self.object = object;
        self.line = at;
        self.expected = 0;
        self.objects.count(object);
        self.lines.push(Line {
            object,
            at,
            first_edge: self.edges.len(),
            first_value: self.values.len(),
        });
    }

    fn bytes(&mut self, bytes: u64, at: usize) -> Parse<()> {
        match self.bytes.insert(self.object, (bytes, at)) {
            None => Ok(()),
            Some((_, first)) => Err(error_at(at, "the size is given twice").other(first)),
        }
    }

    fn length(&mut self, length: u32, at: usize) -> Parse<()> {
        if self.elements_of().is_none() {
            return Err(self.wrong_kind(at, "has no elements"));
        }
        let refs = self.elements_of() == Some(Elements::Refs);
        let array = self.arrays.entry(self.object).or_default();
        if let Some(first) = array.length_at.replace(at) {
            return Err(error_at(at, "the length is given twice").other(first));
        }
        match array.length.replace(length) {
            Some(listed) => array.count(listed, refs, at),
            None => Ok(()),
        }
    }

    #[inline]
    fn edge(&mut self, edge: Edge<'a>) -> Parse<()> {
        let Edge {
            slot,
            arrow,
            to,
            at,
        } = edge;
        let place = self.field(&slot, at)?;
        let kind = self.schema.classes[self.class as usize].fields[place].kind;
        if !kind.is_slot() {
            return Err(self.wrong_kind(at, &format!("keeps a value in `{slot}`: `{slot} = …`")));
        }
        if arrow != FieldKind::Opt && arrow != kind {
            let what = match kind {
                FieldKind::Weak => "-weak->",
                FieldKind::Dependent => "-dependent->",
                _ => "->",
            };
            return Err(error_at(at, format!("the slot `{slot}` is `{what}`")));
        }
        self.edges.push(Said {
            place: place as u64,
            what: number_of(to),
            at: self.in_line(at),
        });
        Ok(())
    }

    fn value(
        &mut self,
        field: Cow<'a, str>,
        at: usize,
        value: Literal<'a>,
        value_at: usize,
    ) -> Parse<()> {
        let place = self.field(&field, at)?;
        match self.schema.classes[self.class as usize].fields[place].kind {
            FieldKind::Plain(kind) => {
                let what = bits_of(kind, &value);
                let what = what.ok_or_else(|| does_not_fit(kind, &value, value_at))?;
                self.values.push(Said {
                    place: place as u64,
                    what,
                    at: self.in_line(at),
                });
                Ok(())
            }
            FieldKind::Owned => Err(error_at(at, format!("`{field}` is owned, and not seen"))),
            _ => Err(error_at(at, format!("`{field}` is a slot: `{field} -> …`"))),
        }
    }

    fn element_edge(&mut self, index: u32, to: Target, at: usize) -> Parse<()> {
        if self.elements_of() != Some(Elements::Refs) {
            return Err(self.wrong_kind(at, "is not an array of references"));
        }
        self.single.push((self.object, index, at));
        self.edges.push(Said {
            place: ELEMENT | index as u64,
            what: number_of(to),
            at: self.in_line(at),
        });
        Ok(())
    }

    fn open_elements(&mut self, at: usize) -> Parse<()> {
        if self.elements_of().is_none() {
            return Err(self.wrong_kind(at, "has no elements"));
        }
        let start = self.elements.len();
        let array = self.list(at)?;
        array.bytes = Some((start, start));
        // Counted from here on; what was said before is compared in the end.
        self.expected = 0;
        Ok(())
    }

    fn element_refs(&mut self, to: Target, count: u32, at: usize) -> Parse<()> {
        if self.elements_of() != Some(Elements::Refs) {
            return Err(self.wrong_kind(at, "is not an array of references"));
        }
        let fields = self.schema.classes[self.class as usize].fields.len();
        let end = self.expected + count as usize;
        if end + fields > u32::MAX as usize {
            return Err(error_at(at, "an array has fewer than 2³² elements"));
        }
        if to != Target::Null {
            self.edges.push(Said {
                place: ELEMENT | self.expected as u64,
                what: number_of(to),
                at: self.in_line(at),
            });
        }
        self.expected = end;
        Ok(())
    }

    fn element_value(&mut self, value: Literal<'a>, at: usize) -> Parse<()> {
        let Some(Elements::Plain(kind)) = self.elements_of() else {
            return Err(self.wrong_kind(at, "is not an array of plain data"));
        };
        let bits = bits_of(kind, &value).ok_or_else(|| does_not_fit(kind, &value, at))?;
        self.elements
            .extend_from_slice(&bits.to_le_bytes()[..kind.bytes()]);
        self.expected += 1;
        if self.expected > u32::MAX as usize {
            return Err(error_at(at, "an array has fewer than 2³² elements"));
        }
        Ok(())
    }

    fn close_elements(&mut self, at: usize) -> Parse<()> {
        let (count, end) = (self.expected as u32, self.elements.len());
        let refs = self.elements_of() == Some(Elements::Refs);
        if self.elements_of() == Some(Elements::Text) {
            return Err(self.wrong_kind(at, "is a string: its text stands in quotes"));
        }
        let array = self.arrays.entry(self.object).or_default();
        match &mut array.bytes {
            bytes if refs => *bytes = None,
            Some(bytes) => bytes.1 = end,
            None => {}
        }
        array.count(count, refs, at)
    }

    fn text(&mut self, text: &[u8], at: usize) -> Parse<()> {
        if self.elements_of() != Some(Elements::Text) {
            return Err(self.wrong_kind(at, "is not a string"));
        }
        let start = self.elements.len();
        self.elements.extend_from_slice(text);
        let bytes = Some((start, self.elements.len()));
        let array = self.list(at)?;
        array.bytes = bytes;
        let length = u32::try_from(text.len());
        let length = length.map_err(|_| error_at(at, "a string has fewer than 2³² bytes"))?;
        array.count(length, false, at)
    }

    fn thread(&mut self, name: Cow<'a, str>, at: usize) -> Parse<()> {
        match self.thread_lines.insert(name.to_string(), Some(at)) {
            Some(Some(first)) => Err(error_at(at, "this thread is declared twice").other(first)),
            Some(None) => Ok(()),
            None => {
                self.threads.push(name.into_owned());
                Ok(())
            }
        }
    }

    fn note(&mut self, note: Cow<'a, str>) {
        self.notes.push(note.into_owned());
    }

    fn lacks(&mut self, word: &str) -> bool {
        self.lacks.add(word)
    }

    fn root(&mut self, root: &RootName<'a>, to: u32) -> Parse<()> {
        let RootName { kind, at, .. } = *root;
        let scope = root.scope.as_ref();
        let cost = root.name.len() + scope.map_or(0, |scope| scope.len());
        if !self.budget.spend(cost) {
            return Err(error_at(at, "the names of the roots are too long in all"));
        }
        let name = root.name.to_string();
        let of_thread = matches!(kind, RootKind::ThreadStack | RootKind::ThreadObject);
        if of_thread && !self.thread_lines.contains_key(&name) {
            self.thread_lines.insert(name.clone(), None);
            self.threads.push(name.clone());
        }
        let taken = self.root_names.entry((kind, name.clone())).or_default();
        let counted = !matches!(kind, RootKind::Static | RootKind::ThreadObject);
        let index = root.index.unwrap_or(if counted { taken.next } else { 0 });
        taken.next = taken.next.max(index.saturating_add(1));
        let root = Root {
            kind,
            name,
            scope: root.scope.as_ref().map(|scope| scope.to_string()),
            index,
        };
        if let Some(first) = taken.at.insert(index, at) {
            return Err(error_at(at, format!("`{root}` is there twice")).other(first));
        }
        self.roots.push((root, to));
        Ok(())
    }

    fn next_root(&mut self, root: &mut RootName<'a>) {
        root.index = root.index.map(|index| index.saturating_add(1));
    }
}

impl Array {
    /// Says how many elements are listed.
    fn count(&mut self, count: u32, all: bool, at: usize) -> Parse<()> {
        match self.length {
            // Of plain data, the first elements may be all that is known.
            Some(length) if all && count != length || count > length => {
                let message = format!("elements are listed: {count}; the length says {length}");
                Err(error_at(at, message))
            }
            Some(_) => Ok(()),
            None => {
                self.length = Some(count);
                Ok(())
            }
        }
    }
}

impl Loader<'_> {
    /// Makes the snapshot.
    pub fn finish(mut self, mistakes: &mut Mistakes<'_>) -> Result<Snapshot, Malformed> {
        self.check_single_elements(mistakes);
        self.objects.count_rest();
        let mut order: Vec<usize> = (0..self.lines.len()).collect();
        // A text may return to objects that it has left.
        order.sort_by_key(|&line| self.objects.id(self.lines[line].object));
        let ends = self.line_ends();
        self.build(&order, &ends, mistakes)
    }

    /// Returns where the edges and values of each line end.
    fn line_ends(&self) -> Vec<(usize, usize)> {
        let next = self.lines.iter().skip(1);
        let ends = next.map(|line| (line.first_edge, line.first_value));
        let last = (self.edges.len(), self.values.len());
        ends.chain([last]).collect()
    }

    fn check_single_elements(&self, mistakes: &mut Mistakes<'_>) {
        for &(object, index, at) in &self.single {
            let Some(array) = self.arrays.get(&object) else {
                continue;
            };
            if let Some(first) = array.listed_at {
                let message = format!("the elements of {} are listed", self.name_of(object));
                mistakes.add(error_at(at, message).other(first));
            } else if array.length.is_some_and(|length| index >= length) {
                let length = array.length.unwrap_or(0);
                let message = format!("{} has {length} elements", self.name_of(object));
                mistakes.add(error_at(at, message));
            }
        }
    }

    /// Says that a place of an object is given twice, if nothing else has said so.
    fn given_twice(&self, object: u32, place: u64) -> Option<String> {
        let name = self.name_of(object);
        if let Some(index) = place.checked_sub(ELEMENT) {
            let listed = self.arrays.get(&object).and_then(|array| array.listed_at);
            return match listed {
                Some(_) => None,
                None => Some(format!("{name}[{index}] is given twice")),
            };
        }
        let class = self.objects.class(object);
        let field = &self.schema.classes[class as usize].fields[place as usize].name;
        Some(format!("{name}.{field} is given twice"))
    }

    /// Puts the columns together, given the lines in the order of their objects.
    fn build(
        mut self,
        order: &[usize],
        ends: &[(usize, usize)],
        mistakes: &mut Mistakes<'_>,
    ) -> Result<Snapshot, Malformed> {
        let count = self.objects.mentioned.len();
        let mut object_of = vec![0u32; count];
        for &object in &self.objects.mentioned {
            object_of[self.objects.id(object) as usize] = object;
        }
        let mut columns = Columns::default();
        columns.class_of.reserve_exact(count);
        columns.bytes_of.reserve_exact(count);
        columns.first_edge.reserve_exact(count + 1);
        columns.targets.reserve_exact(self.edges.len());
        columns.steps.reserve_exact(self.edges.len());
        let has_values =
            !self.values.is_empty() || self.arrays.values().any(|array| array.bytes.is_some());
        let fixed: Vec<u64> = self.schema.classes.iter().map(fixed_bytes).collect();
        let mut lines = order.iter().copied().peekable();
        let (mut edges, mut values) = (Vec::new(), Vec::new());
        for (id, &object) in object_of.iter().enumerate() {
            edges.clear();
            values.clear();
            while let Some(nth) = lines.next_if(|&nth| self.lines[nth].object == object) {
                let line = &self.lines[nth];
                let (edge_end, value_end) = ends[nth];
                let at = |at: u32| line.at + at as usize;
                let said = &self.edges[line.first_edge..edge_end];
                edges.extend(said.iter().map(|it| (it.place, it.what, at(it.at))));
                let said = &self.values[line.first_value..value_end];
                values.extend(said.iter().map(|it| (it.place, it.what, at(it.at))));
            }
            let mut twice = |place, first, at| {
                if let Some(message) = self.given_twice(object, place) {
                    mistakes.add(error_at(at, message).other(first));
                }
            };
            in_order(&mut edges, &mut twice);
            in_order(&mut values, &mut twice);
            if mistakes.are_too_many() {
                break;
            }
            let class = self.objects.class(object);
            let info = &self.schema.classes[class as usize];
            let array = match info.elements {
                Some(_) => self.arrays.get(&object),
                None => None,
            };
            let length = array.and_then(|array| array.length);
            let last = edges.last().filter(|it| it.0 >= ELEMENT);
            let reached = last.map_or(0, |it| it.0 as u32 as usize + 1);
            let elements = length.map_or(reached, |it| it as usize);
            let default = default_bytes(fixed[class as usize], info, elements);
            let bytes = match self.bytes.is_empty() {
                true => default,
                false => self.bytes.get(&object).map_or(default, |it| it.0),
            };
            columns.push_object(ClassId(class + 1), bytes as usize);
            let mut last = 0;
            for &(place, to, at) in &edges {
                let place = match place {
                    element if element >= ELEMENT => (element - ELEMENT) + info.fields.len() as u64,
                    field => field,
                };
                let Ok(place) = u32::try_from(place) else {
                    mistakes.add(error_at(at, "an array has fewer than 2³² elements"));
                    continue;
                };
                match to {
                    NULL => {}
                    CUT => columns.push_cut(place),
                    to => {
                        columns.push_edge(place - last, self.objects.id(to));
                        last = place;
                    }
                }
            }
            let bytes = array.and_then(|array| array.bytes);
            if let Some(length) = length {
                let known = bytes.map(|(start, end)| end - start);
                let width = match info.elements {
                    Some(Elements::Plain(kind)) => kind.bytes(),
                    _ => 1,
                };
                // All elements are counted already where they are known.
                if known != Some(length as usize * width) {
                    columns.lengths.push((id as u32, length));
                }
            }
            if has_values {
                columns.first_value.push(columns.values.len() as u64);
            }
            if !values.is_empty() || bytes.is_some() {
                // All plain fields are kept, known or not, and found among all fields.
                if !self.budget.spend(info.fields.len() * 9) {
                    let at = values.first().map_or(0, |it: &(u64, u64, usize)| it.2);
                    mistakes.add(error_at(at, "the values take too much memory"));
                    break;
                }
                let mut known = values.iter().peekable();
                let bits = |field: usize| {
                    let found = known.next_if(|it| it.0 == field as u64);
                    found.map(|it| it.1)
                };
                let elements = bytes.and_then(|(start, end)| self.elements.get(start..end));
                encode_values(info, bits, elements, &mut columns.values);
            }
        }
        if mistakes.is_any() {
            return Err(Malformed("the text has mistakes".into()));
        }
        if has_values {
            columns.first_value.push(columns.values.len() as u64);
        }
        let numbers = object_of.iter().map(|&it| self.objects.number(it));
        if !numbers.clone().eq(1..=count as u64) {
            columns.numbers = numbers.collect();
        }
        columns.classes = self.schema.classes;
        columns.threads = self.threads;
        columns.notes = self.notes;
        columns.lacks = self.lacks;
        let roots = self.roots.into_iter();
        columns.roots = roots
            .map(|(root, to)| (root, ObjectId(self.objects.id(to))))
            .collect();
        columns.finish()
    }
}

/// Sorts what was said about an object by place. Each place may come once; `twice` is called for
/// the others, with both places in the text.
#[inline]
fn in_order<T: Copy>(said: &mut [(u64, T, usize)], mut twice: impl FnMut(u64, usize, usize)) {
    if said.is_sorted_by(|a, b| a.0 < b.0) {
        return;
    }
    said.sort_by_key(|it| (it.0, it.2));
    for pair in said.windows(2) {
        if pair[0].0 == pair[1].0 {
            twice(pair[0].0, pair[0].2, pair[1].2);
        }
    }
}
