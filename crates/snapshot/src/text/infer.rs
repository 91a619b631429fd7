//! The classes of a sketch: a text that declares none, and means those that it uses.
//!
//! The first use of a name decides what it is; only integers give way to fractions.
//! Nothing is a mistake here. The second walk, which knows the classes, finds what does
//! not fit.

use std::borrow::Cow;

use heaphound_heap::class::Elements;
use heaphound_heap::{FieldKind, PlainKind, Value};

use super::classes::Schema;
use super::cursor::Literal;
use super::grammar::{self, Edge, RootName, Sink, Target};
use super::mistake::{Mistakes, Parse};

/// Returns the classes that a text implies.
pub fn classes_of(text: &str) -> Schema<'_> {
    let mut sketch = Sketch::default();
    // The second walk reports mistakes of syntax. Here such a mistake only ends the line.
    let mut silent = Mistakes::new(text, "");
    grammar::read(text, &mut sketch, &mut silent, &mut |_, _| {});
    let Sketch {
        mut schema, seen, ..
    } = sketch;
    for (class, seen) in schema.classes.iter_mut().zip(seen) {
        class.elements = match seen {
            Seen::No => None,
            Seen::Empty => Some(Elements::Refs),
            Seen::Elements(elements) => Some(elements),
        };
    }
    schema
}

#[derive(Default)]
struct Sketch<'a> {
    schema: Schema<'a>,
    /// What is known of the elements, by class.
    seen: Vec<Seen>,
    class: u32,
}

#[derive(Clone, Copy, Default)]
enum Seen {
    #[default]
    No,
    /// There are some, of any kind.
    Empty,
    Elements(Elements),
}

impl Sketch<'_> {
    fn see(&mut self, now: Seen) -> Parse<()> {
        let seen = &mut self.seen[self.class as usize];
        let integers = Elements::Plain(PlainKind::I64);
        match (&*seen, now) {
            (Seen::No, _) | (Seen::Empty, Seen::Elements(_)) => *seen = now,
            (Seen::Elements(it), Seen::Elements(now @ Elements::Plain(PlainKind::F64)))
                if *it == integers =>
            {
                *seen = Seen::Elements(now);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Returns the kind of field that a value makes. Any will do for a word that means nothing.
fn kind_of(value: &Literal<'_>) -> PlainKind {
    match value {
        Literal::Value(Value::Unsigned(_) | Value::Signed(_)) => PlainKind::I64,
        Literal::Value(Value::Float(_)) => PlainKind::F64,
        Literal::Value(Value::Char(_)) => PlainKind::Char,
        Literal::Word(word) if word == "true" || word == "false" => PlainKind::Bool,
        Literal::Word(word) if word == "nan" || word == "inf" => PlainKind::F64,
        _ => PlainKind::I64,
    }
}

impl<'a> Sink<'a> for Sketch<'a> {
    fn class(&mut self, name: Cow<'a, str>, _: usize) -> Parse<u32> {
        if let Some(class) = self.schema.find(&name) {
            return Ok(class);
        }
        self.seen.push(Seen::No);
        Ok(self.schema.add(name))
    }

    fn mention(&mut self, _: u32, _: u64, _: usize) -> Parse<u32> {
        Ok(0)
    }

    fn subject(&mut self, class: u32, _: u32, _: usize) {
        self.class = class;
    }

    fn bytes(&mut self, _: u64, _: usize) -> Parse<()> {
        Ok(())
    }

    fn length(&mut self, _: u32, _: usize) -> Parse<()> {
        self.see(Seen::Empty)
    }

    fn edge(&mut self, edge: Edge<'a>) -> Parse<()> {
        let fields = &self.schema.fields[self.class as usize];
        if !fields.contains_key(edge.slot.as_ref()) {
            let name = edge.slot.into_owned();
            self.schema.add_field(self.class, name, edge.arrow);
        }
        Ok(())
    }

    fn value(&mut self, field: Cow<'a, str>, _: usize, value: Literal<'a>, _: usize) -> Parse<()> {
        let kind = kind_of(&value);
        match self.schema.fields[self.class as usize].get(field.as_ref()) {
            None => {
                let name = field.into_owned();
                let kind = FieldKind::Plain(kind);
                self.schema.add_field(self.class, name, kind);
            }
            Some(&place) => {
                let class = &mut self.schema.classes[self.class as usize];
                let known = &mut class.fields[place as usize].kind;
                if *known == FieldKind::Plain(PlainKind::I64) && kind == PlainKind::F64 {
                    *known = FieldKind::Plain(kind);
                }
            }
        }
        Ok(())
    }

    fn element_edge(&mut self, _: u32, _: Target, _: usize) -> Parse<()> {
        self.see(Seen::Elements(Elements::Refs))
    }

    fn open_elements(&mut self, _: usize) -> Parse<()> {
        self.see(Seen::Empty)
    }

    fn element_refs(&mut self, _: Target, _: u32, _: usize) -> Parse<()> {
        self.see(Seen::Elements(Elements::Refs))
    }

    fn element_value(&mut self, value: Literal<'a>, _: usize) -> Parse<()> {
        self.see(Seen::Elements(Elements::Plain(kind_of(&value))))
    }

    fn close_elements(&mut self, _: usize) -> Parse<()> {
        Ok(())
    }

    fn text(&mut self, _: &[u8], _: usize) -> Parse<()> {
        self.see(Seen::Elements(Elements::Text))
    }

    fn thread(&mut self, _: Cow<'a, str>, _: usize) -> Parse<()> {
        Ok(())
    }

    fn note(&mut self, _: Cow<'a, str>) {}

    fn lacks(&mut self, _: &str) -> bool {
        true
    }

    fn root(&mut self, _: &RootName<'a>, _: u32) -> Parse<()> {
        Ok(())
    }

    fn next_root(&mut self, _: &mut RootName<'a>) {}
}
