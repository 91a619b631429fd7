//! What an expression can be.

use heaphound_heap::class::Elements;
use heaphound_heap::{ClassInfo, FieldKind, PlainKind};

use crate::resolved::ClassSet;

/// All that a value can be.
#[derive(Clone, PartialEq, Debug)]
pub struct Kinds {
    /// An object of one of these classes.
    pub classes: ClassSet,
    pub null: bool,
    pub number: bool,
    pub truth: bool,
    pub character: bool,
    /// A text constant. The text of an object is one of its classes.
    pub text: bool,
    /// A variant of one of these enums.
    pub enums: Vec<&'static [&'static str]>,
    /// Memory that nobody can look into.
    pub opaque: bool,
    /// An object of a class that the heap does not know: its fields can be anything.
    pub unknown: bool,
}

impl Kinds {
    pub fn none() -> Self {
        Self {
            classes: ClassSet::from_iter([]),
            null: false,
            number: false,
            truth: false,
            character: false,
            text: false,
            enums: Vec::new(),
            opaque: false,
            unknown: false,
        }
    }

    /// An object of a class that the heap does not know.
    pub fn unknown() -> Self {
        let unknown = true;
        let objects = Self::objects(ClassSet::all());
        Self { unknown, ..objects }
    }

    /// An object of these classes.
    pub fn objects(classes: ClassSet) -> Self {
        let none = Self::none();
        Self { classes, ..none }
    }

    /// A number.
    pub fn number() -> Self {
        let number = true;
        let none = Self::none();
        Self { number, ..none }
    }

    /// Adds what a field can be.
    pub fn add_field(&mut self, kind: FieldKind) {
        match kind {
            FieldKind::Plain(kind) => self.add_plain(kind),
            FieldKind::Owned => self.opaque = true,
            _ => {
                self.classes = ClassSet::all();
                self.null = true;
            }
        }
    }

    /// Adds what an element of an array can be.
    pub fn add_elements(&mut self, elements: Elements) {
        match elements {
            Elements::Refs => self.add_field(FieldKind::Opt),
            Elements::Plain(kind) => self.add_plain(kind),
            Elements::Text => self.number = true,
        }
    }

    fn add_plain(&mut self, kind: PlainKind) {
        match kind {
            PlainKind::Bool => self.truth = true,
            PlainKind::Char => self.character = true,
            PlainKind::Enum { variants } => {
                if !self.enums.contains(&variants) {
                    self.enums.push(variants);
                }
            }
            _ => self.number = true,
        }
    }

    pub fn is_object(&self) -> bool {
        !self.classes.is_empty()
    }

    /// Whether it is true or false and can be nothing else.
    pub fn is_truth(&self) -> bool {
        let truth = true;
        let none = Self::none();
        *self == Self { truth, ..none }
    }

    pub fn is_plain(&self) -> bool {
        self.number || self.truth || self.character || !self.enums.is_empty()
    }

    /// Whether it can be text: a constant, or an object that is a string.
    pub fn is_text(&self, classes: &[ClassInfo]) -> bool {
        self.text
            || classes
                .iter()
                .any(|it| it.elements == Some(Elements::Text) && self.classes.contains(it.id))
    }

    /// The class of what it can be, if that is one class with what is below it: the one that was
    /// named. Else the first of several.
    pub fn top<'c>(&self, classes: &'c [ClassInfo]) -> Option<&'c ClassInfo> {
        let mut here = classes.iter().filter(|it| self.classes.contains(it.id));
        here.find(|it| !it.supertypes().any(|above| self.classes.contains(above)))
    }

    /// What it can be, in words.
    pub fn describe(&self, classes: &[ClassInfo]) -> String {
        let mut words = Vec::new();
        if self.classes.is_all() {
            words.push("an object".to_string());
        } else if self.is_object() {
            let name = self.top(classes).map_or("?", |it| &it.name);
            words.push(format!("a `{name}`"));
        } else if self.null {
            words.push("null".into());
        }
        if self.number {
            words.push("a number".into());
        }
        if self.truth {
            words.push("true or false".into());
        }
        if self.character {
            words.push("a character".into());
        }
        if self.text {
            words.push("text".into());
        }
        for variants in &self.enums {
            let few: Vec<&str> = variants.iter().copied().take(3).collect();
            let more = if variants.len() > 3 { ", …" } else { "" };
            words.push(format!("one of {}{more}", few.join(", ")));
        }
        if self.opaque {
            words.push("opaque memory".into());
        }
        words.join(" or ")
    }
}
