//! The classes of a heap text: as declared, and as they are looked up.

use std::borrow::Cow;
use std::collections::HashMap;

use heaphound_heap::class::{Elements, find_cycles};
use heaphound_heap::nearest::nearest;
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, FieldKind, PlainKind};

use super::cursor::Cursor;
use super::grammar::arrow;
use super::hash::Map;
use super::mistake::{Mistakes, Parse, error_at};
use super::names::Style;
use crate::budget::Budget;
use crate::variants::{MOST_VARIANTS, intern};

/// All classes of a text.
#[derive(Default)]
pub struct Schema<'a> {
    pub classes: Vec<ClassInfo>,
    /// The places of fields, by class and name.
    pub fields: Vec<Map<String, u32>>,
    /// Classes with a mistake. What else they lack is not reported.
    broken: Vec<bool>,
    by_name: Map<Cow<'a, str>, u32>,
    /// Classes that have another name than the text calls them by, as several of one name must.
    called: Vec<(u32, String)>,
}

impl<'a> Schema<'a> {
    /// Returns the place of a class.
    #[inline]
    pub fn find(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Adds a class without fields.
    pub fn add(&mut self, name: Cow<'a, str>) -> u32 {
        let place = self.classes.len() as u32;
        self.classes.push(ClassInfo {
            id: ClassId(place + 1),
            name: name.clone().into_owned(),
            superclass: None,
            interfaces: Vec::new(),
            is_interface: false,
            fields: Vec::new(),
            elements: None,
            caption: None,
        });
        self.fields.push(Map::default());
        self.broken.push(false);
        self.by_name.insert(name, place);
        place
    }

    /// Adds a field.
    pub fn add_field(&mut self, class: u32, name: String, kind: FieldKind) -> u32 {
        let fields = &mut self.classes[class as usize].fields;
        let place = fields.len() as u32;
        let offset = match fields.last() {
            Some(last) => last.offset.saturating_add(bytes(last.kind)),
            None => 8,
        };
        self.fields[class as usize].insert(name.clone(), place);
        fields.push(FieldInfo { name, offset, kind });
        place
    }

    /// Says that a class is not there, once for each name.
    #[cold]
    pub fn unknown_class(
        &mut self,
        name: Cow<'a, str>,
        at: usize,
    ) -> Box<super::mistake::ParseError> {
        let near = nearest(&name, self.classes.iter().map(|it| it.name.as_str()));
        let message = format!("there is no class `{name}`");
        let error = error_at(at, message).meant(near);
        let class = self.add(name);
        self.broken[class as usize] = true;
        error
    }

    /// Says that a class has no such field.
    #[cold]
    pub fn unknown_field(
        &self,
        class: u32,
        name: &str,
        at: usize,
    ) -> Box<super::mistake::ParseError> {
        let info = &self.classes[class as usize];
        let near = nearest(name, info.fields.iter().map(|it| it.name.as_str()));
        let message = format!("`{}` has no field `{name}`", info.name);
        error_at(at, message)
            .meant(near)
            .follows_from_other(self.is_broken(class))
    }

    /// Returns whether the class has a mistake.
    pub fn is_broken(&self, class: u32) -> bool {
        self.broken[class as usize]
    }
}

fn bytes(kind: FieldKind) -> u32 {
    match kind {
        FieldKind::Plain(kind) => kind.bytes() as u32,
        FieldKind::Owned => 0,
        _ => 4,
    }
}

/// A class as its line says it.
struct Declared<'a> {
    /// The superclass and the interfaces, and where each is named.
    above: Vec<(Cow<'a, str>, usize)>,
    fields: Vec<(Cow<'a, str>, FieldKind, usize)>,
    /// The field that is its caption, and where that is said.
    caption: Option<(Cow<'a, str>, usize)>,
    at: usize,
}

/// Returns the classes that a text declares; nothing if it declares none.
pub fn declared<'a>(
    text: &'a str,
    mistakes: &mut Mistakes<'_>,
    budget: &mut Budget,
) -> Option<Schema<'a>> {
    let mut schema = Schema::default();
    let mut lines = Vec::new();
    let mut cursor = Cursor::new(text);
    let mut any = false;
    while !cursor.is_done() && !mistakes.are_too_many() {
        cursor.skip_blanks();
        let is_interface = match cursor.peek() {
            Some(b'c') if cursor.eat_keyword("class") => Some(false),
            Some(b'i') if cursor.eat_keyword("interface") => Some(true),
            _ => None,
        };
        if let Some(is_interface) = is_interface {
            any = true;
            if let Err(error) = class_line(&mut cursor, is_interface, &mut schema, &mut lines) {
                mistakes.add(error);
            }
        }
        cursor.next_line();
    }
    if !any {
        return None;
    }
    extend(&mut schema, lines, mistakes, budget);
    for (class, name) in std::mem::take(&mut schema.called) {
        schema.classes[class as usize].name = name;
    }
    Some(schema)
}

/// `class Node : Base, Closeable by value { next ->, value: u32 }`, `class "Node (2)" as Node {}`, or
/// `interface Closeable`, behind the first word.
fn class_line<'a>(
    cursor: &mut Cursor<'a>,
    is_interface: bool,
    schema: &mut Schema<'a>,
    lines: &mut Vec<Declared<'a>>,
) -> Parse<()> {
    cursor.skip_blanks();
    let at = cursor.at();
    let name = cursor.name(Style::Class, "the name of a class")?;
    if let Some(before) = schema.find(&name) {
        let first = lines[before as usize].at;
        return Err(error_at(at, format!("`{name}` is declared twice")).other(first));
    }
    let class = schema.add(name);
    schema.classes[class as usize].is_interface = is_interface;
    lines.push(Declared {
        above: Vec::new(),
        fields: Vec::new(),
        caption: None,
        at,
    });
    cursor.skip_blanks();
    if cursor.eat_keyword("as") {
        cursor.skip_blanks();
        let name = cursor.name(Style::Class, "the name of a class")?;
        schema.called.push((class, name.into_owned()));
    }
    let line = &mut lines[class as usize];
    let done = class_body(cursor, line, &mut schema.classes[class as usize]);
    schema.broken[class as usize] = done.is_err();
    done
}

fn class_body<'a>(
    cursor: &mut Cursor<'a>,
    line: &mut Declared<'a>,
    class: &mut ClassInfo,
) -> Parse<()> {
    cursor.skip_blanks();
    if cursor.eat(b':') {
        loop {
            cursor.skip_blanks();
            let at = cursor.at();
            let name = cursor.name(Style::Class, "a superclass or an interface")?;
            line.above.push((name, at));
            cursor.skip_blanks();
            if !cursor.eat(b',') {
                break;
            }
        }
    }
    if !cursor.is_at_end() {
        if class.is_interface && cursor.peek() == Some(b'{') {
            let message = format!("`{}` is an interface and has no fields", class.name);
            return Err(error_at(cursor.at(), message));
        }
        if !class.is_interface && cursor.eat_keyword("by") {
            cursor.skip_blanks();
            let at = cursor.at();
            line.caption = Some((cursor.name(Style::Field, "a field")?, at));
            cursor.skip_blanks();
        }
        cursor.expect(b'{')?;
        loop {
            cursor.skip_blanks();
            if cursor.eat(b'}') {
                break;
            }
            member(cursor, line, class)?;
            cursor.skip_blanks();
            if cursor.eat(b',') {
                continue;
            }
            if cursor.eat(b'}') {
                break;
            }
            return Err(cursor.expected("`}` or `,`"));
        }
    }
    match cursor.is_at_end() {
        true => Ok(()),
        false => Err(cursor.expected("the end of the line")),
    }
}

/// Reads a field, or the kind of elements.
fn member<'a>(
    cursor: &mut Cursor<'a>,
    line: &mut Declared<'a>,
    class: &mut ClassInfo,
) -> Parse<()> {
    let at = cursor.at();
    if cursor.eat(b'[') {
        cursor.expect(b']')?;
        let elements = match arrow(cursor) {
            Some(FieldKind::Opt) => Elements::Refs,
            Some(_) => return Err(error_at(at, "elements hold strongly: `[] ->`")),
            None if cursor.eat(b':') => match field_kind(cursor)? {
                FieldKind::Plain(kind) => Elements::Plain(kind),
                _ => return Err(error_at(at, "elements are references or plain data")),
            },
            None => return Err(cursor.expected("`->` or `:`")),
        };
        return set_elements(class, elements, at);
    }
    let is_bare = cursor.peek() != Some(b'"');
    let name = cursor.name(Style::Field, "a field")?;
    let kind = match arrow(cursor) {
        Some(kind) => kind,
        None if cursor.eat(b':') => field_kind(cursor)?,
        None if is_bare && name == "text" => return set_elements(class, Elements::Text, at),
        None => return Err(cursor.expected("`->` or `:`")),
    };
    line.fields.push((name, kind, at));
    Ok(())
}

fn set_elements(class: &mut ClassInfo, elements: Elements, at: usize) -> Parse<()> {
    match class.elements.replace(elements) {
        None => Ok(()),
        Some(_) => Err(error_at(
            at,
            format!("`{}` has elements already", class.name),
        )),
    }
}

const KINDS: [(&str, FieldKind); 13] = [
    ("bool", FieldKind::Plain(PlainKind::Bool)),
    ("char", FieldKind::Plain(PlainKind::Char)),
    ("u8", FieldKind::Plain(PlainKind::U8)),
    ("u16", FieldKind::Plain(PlainKind::U16)),
    ("u32", FieldKind::Plain(PlainKind::U32)),
    ("u64", FieldKind::Plain(PlainKind::U64)),
    ("i8", FieldKind::Plain(PlainKind::I8)),
    ("i16", FieldKind::Plain(PlainKind::I16)),
    ("i32", FieldKind::Plain(PlainKind::I32)),
    ("i64", FieldKind::Plain(PlainKind::I64)),
    ("f32", FieldKind::Plain(PlainKind::F32)),
    ("f64", FieldKind::Plain(PlainKind::F64)),
    ("owned", FieldKind::Owned),
];

/// Returns the word for a kind that is neither a slot nor an enum.
pub fn kind_word(kind: FieldKind) -> &'static str {
    let found = KINDS.iter().find(|it| it.1 == kind);
    found.map_or("owned", |it| it.0)
}

fn field_kind(cursor: &mut Cursor<'_>) -> Parse<FieldKind> {
    cursor.skip_blanks();
    let at = cursor.at();
    let word = cursor.name(Style::Variant, "a kind, as in `u32`")?;
    if let Some(&(_, kind)) = KINDS.iter().find(|it| it.0 == word) {
        return Ok(kind);
    }
    if word != "enum" {
        let all = KINDS.iter().map(|it| it.0).chain(["enum"]);
        return Err(error_at(at, format!("there is no kind `{word}`")).meant(nearest(&word, all)));
    }
    cursor.expect(b'(')?;
    let mut names: Vec<Cow<'_, str>> = Vec::new();
    loop {
        cursor.skip_blanks();
        if cursor.eat(b')') {
            break;
        }
        let at = cursor.at();
        let name = cursor.name(Style::Variant, "a variant")?;
        if names.contains(&name) {
            return Err(error_at(at, format!("the variant `{name}` is there twice")));
        }
        if names.len() == MOST_VARIANTS {
            return Err(error_at(
                at,
                format!("an enum has at most {MOST_VARIANTS} variants"),
            ));
        }
        names.push(name);
        cursor.skip_blanks();
        if !cursor.eat(b',') {
            cursor.expect(b')')?;
            break;
        }
    }
    let names: Vec<&str> = names.iter().map(|it| it.as_ref()).collect();
    match intern(&names) {
        Some(variants) => Ok(FieldKind::Plain(PlainKind::Enum { variants })),
        None => Err(error_at(
            at,
            "too many enums have been read by this process",
        )),
    }
}

/// Gives each class its supertypes, the fields of its superclass, and then its own.
fn extend<'a>(
    schema: &mut Schema<'a>,
    mut lines: Vec<Declared<'a>>,
    mistakes: &mut Mistakes<'_>,
    budget: &mut Budget,
) {
    for (class, line) in lines.iter().enumerate() {
        let mut met = HashMap::new();
        for (name, at) in &line.above {
            let above = match schema.find(name) {
                Some(above) => above,
                None => {
                    let error = schema.unknown_class(name.clone(), *at);
                    mistakes.add(error);
                    schema.broken[class] = true;
                    continue;
                }
            };
            let added = match met.insert(above, *at) {
                Some(first) => Err(error_at(*at, format!("`{name}` is there twice")).other(first)),
                None => add_supertype(schema, class, above, *at),
            };
            if let Err(error) = added {
                mistakes.add(error);
                schema.broken[class] = true;
            }
        }
    }
    lines.resize_with(schema.classes.len(), || Declared {
        above: Vec::new(),
        fields: Vec::new(),
        caption: None,
        at: 0,
    });
    for cycle in find_cycles(&schema.classes) {
        let class = cycle.class.0 as usize - 1;
        let through = &schema.classes[cycle.through.0 as usize - 1].name;
        let mut above = lines[class].above.iter();
        let at = above.find(|(name, _)| name == through);
        let name = &schema.classes[class].name;
        mistakes.add(error_at(
            at.map_or(0, |it| it.1),
            format!("`{name}` extends itself"),
        ));
        let last = &mut schema.classes[cycle.last.0 as usize - 1];
        last.superclass = last.superclass.filter(|&it| it != cycle.class);
        last.interfaces.retain(|&it| it != cycle.class);
    }
    let mut done = vec![false; lines.len()];
    for class in 0..lines.len() {
        let mut chain = Vec::new();
        let mut next = Some(class);
        while let Some(class) = next.filter(|&class| !done[class]) {
            chain.push(class);
            let above = schema.classes[class].superclass;
            next = above.map(|id| id.0 as usize - 1);
        }
        for class in chain.into_iter().rev() {
            done[class] = true;
            if let Err(error) = complete(schema, class, &lines[class], budget) {
                schema.broken[class] = true;
                mistakes.add(error);
            }
        }
    }
}

/// Adds what is named behind the colon: an interface, or the superclass.
fn add_supertype(schema: &mut Schema<'_>, class: usize, above: u32, at: usize) -> Parse<()> {
    let id = ClassId(above + 1);
    let name = &schema.classes[above as usize].name;
    let (is_interface, is_broken) = (
        schema.classes[above as usize].is_interface,
        schema.is_broken(above),
    );
    let info = &schema.classes[class];
    if is_interface {
        schema.classes[class].interfaces.push(id);
        return Ok(());
    }
    if info.is_interface {
        // What is not known was reported.
        let message = match is_broken {
            true => String::new(),
            false => format!("`{}` is an interface, and `{name}` is a class", info.name),
        };
        return Err(error_at(at, message));
    }
    if let Some(first) = info.superclass {
        let first = &schema.classes[first.0 as usize - 1].name;
        let message = format!("`{}` extends `{first}` already", info.name);
        let hint = format!("`{name}` could be an interface: `interface {name}`");
        return Err(error_at(at, message).hint(&hint));
    }
    schema.classes[class].superclass = Some(id);
    Ok(())
}

fn complete(
    schema: &mut Schema<'_>,
    class: usize,
    line: &Declared<'_>,
    budget: &mut Budget,
) -> Parse<()> {
    if let Some(above) = schema.classes[class].superclass {
        let above = above.0 as usize - 1;
        schema.broken[class] |= schema.broken[above];
        let fields = &schema.classes[above].fields;
        let cost = fields.iter().map(|field| 128 + 2 * field.name.len());
        if !budget.spend(cost.sum()) {
            return Err(error_at(
                line.at,
                "the classes inherit too many fields in all",
            ));
        }
        schema.classes[class].fields = fields.clone();
        schema.classes[class].caption = schema.classes[above].caption;
        schema.fields[class] = schema.fields[above].clone();
    }
    for (name, kind, at) in &line.fields {
        if schema.fields[class].contains_key(name.as_ref()) {
            let class = &schema.classes[class].name;
            return Err(error_at(
                *at,
                format!("`{class}` has a field `{name}` already"),
            ));
        }
        schema.add_field(class as u32, name.clone().into_owned(), *kind);
    }
    if let Some((name, at)) = &line.caption {
        match schema.fields[class].get(name.as_ref()) {
            Some(&place) => {
                let info = &mut schema.classes[class];
                if info.fields[place as usize].kind == FieldKind::Owned {
                    let message = format!("`{name}` is memory that nobody looks into");
                    return Err(error_at(*at, message));
                }
                info.caption = Some(place);
            }
            None => return Err(schema.unknown_field(class as u32, name, *at)),
        }
    }
    Ok(())
}
