//! Paths of a wanted kind, and what compares with them.
//!
//! What a path can be is worked out from the classes, as `check` does it, but apart from it: a
//! slot leads to an object of any class.

use heaphound_heap::class::Elements;
use heaphound_heap::{ClassInfo, FieldKind, PlainKind};

use super::text::{Text, Variable};
use super::{COLORS, DOORS, HOSTS, INTERFACES, TEXTS};

/// What a path is wanted to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    Object,
    Number,
    Truth,
    Char,
    Enum,
}

/// A path, and what it can be as far as that matters.
#[derive(Clone, Debug)]
pub struct Typed {
    pub text: String,
    /// The classes of the object that it leads to, by place.
    pub classes: Vec<usize>,
    /// The enums whose variant it is.
    pub enums: Vec<&'static [&'static str]>,
}

impl Wanted {
    fn is(self, kind: FieldKind) -> bool {
        match (self, kind) {
            (Self::Object, kind) => kind.is_slot(),
            (_, FieldKind::Plain(kind)) => self.is_plain(kind),
            _ => false,
        }
    }

    fn is_plain(self, kind: PlainKind) -> bool {
        match kind {
            PlainKind::Bool => self == Self::Truth,
            PlainKind::Char => self == Self::Char,
            PlainKind::Enum { .. } => self == Self::Enum,
            _ => self == Self::Number,
        }
    }

    fn is_element(self, elements: Elements) -> bool {
        match elements {
            Elements::Refs => self == Self::Object,
            Elements::Plain(kind) => self.is_plain(kind),
            Elements::Text => self == Self::Number,
        }
    }
}

impl Text<'_> {
    /// Where a path can start. `x` is a logic variable in scope; most start there.
    pub fn start(&mut self) -> Typed {
        let count = self.variables.len();
        if count > 0 && !self.choices.is_rare(8) {
            // The innermost most often.
            let nth = if self.choices.is_rare(3) {
                self.choices.below(count)
            } else {
                count - 1
            };
            let Variable { name, classes } = self.variables[nth].clone();
            return typed(name, classes);
        }
        self.host()
    }

    /// A host variable or name.
    pub fn host(&mut self) -> Typed {
        let all = self.all_classes();
        // What is not there has no answer: few of those.
        match self.choices.below(16) {
            0..=11 => {
                let name = HOSTS[self.choices.below(HOSTS.len())];
                let classes = if name == "n" { vec![1, 2] } else { all };
                typed(name.into(), classes)
            }
            12 => typed(format!("static:s{}", self.choices.below(3)), all),
            13 => {
                let index = self.choices.below(2);
                typed(
                    format!("thread:\"t{}\"[{index}]", self.choices.below(2)),
                    all,
                )
            }
            14 => typed(format!("thread-object:t{}", self.choices.below(2)), all),
            _ => {
                let class = match self.choices.below(4) {
                    0 => self.choices.below(self.classes.len() - INTERFACES),
                    1 => 2,
                    _ => 1,
                };
                let name = quoted(&self.classes[class]);
                let number = self.choices.below(8) + 1;
                typed(format!("{name}#{number}"), vec![class])
            }
        }
    }

    /// An object, some steps away from where a path starts.
    pub fn object(&mut self) -> Typed {
        let start = self.start();
        let steps = [0, 0, 0, 1, 1, 2, 3][self.choices.below(7)];
        self.steps(start, steps)
    }

    /// An object outside all logic variables, seldom more than a step away.
    pub fn host_object(&mut self) -> Typed {
        let start = self.host();
        let steps = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2][self.choices.below(12)];
        self.steps(start, steps)
    }

    fn steps(&mut self, mut at: Typed, steps: usize) -> Typed {
        for _ in 0..steps {
            match self.step(&at, Wanted::Object) {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    }

    /// A path to something of that kind.
    pub fn path(&mut self, wanted: Wanted) -> Typed {
        if wanted == Wanted::Object {
            return self.object();
        }
        let start = self.start();
        let steps = [0, 0, 0, 0, 1, 1, 2][self.choices.below(7)];
        let at = self.steps(start, steps);
        if let Some(path) = self.step(&at, wanted) {
            return path;
        }
        // A slot leads anywhere, and somewhere is what is wanted.
        let next = self.step(&at, Wanted::Object);
        let at = next.unwrap_or_else(|| typed("a".into(), self.all_classes()));
        self.step(&at, wanted).expect("some class has it")
    }

    /// A step from an object to something of that kind, if one of its classes has it.
    fn step(&mut self, at: &Typed, wanted: Wanted) -> Option<Typed> {
        let mut names: Vec<String> = Vec::new();
        let mut has_elements = false;
        let mut has_length = false;
        for &class in &at.classes {
            let class = &self.classes[class];
            let fields = class.fields.iter().filter(|it| wanted.is(it.kind));
            names.extend(fields.map(|it| it.name.clone()));
            has_elements |= class.elements.is_some_and(|it| wanted.is_element(it));
            has_length |= class.elements.is_some() && wanted == Wanted::Number;
        }
        // Those that most objects have first.
        let most = ["next", "data", "other", "id", "flag", "tag", "real"];
        let rank = |name: &String| most.iter().position(|it| it == name);
        names.sort_by_key(|name| (rank(name).unwrap_or(most.len()), name.clone()));
        names.dedup();
        let mut ways: Vec<String> = names.iter().map(|name| format!(".{name}")).collect();
        if has_length {
            ways.push(".length".into());
        }
        if has_elements {
            ways.push(format!("[{}]", self.choices.below(4)));
        }
        if ways.is_empty() {
            return None;
        }
        let [one, other] = [(); 2].map(|()| self.choices.below(ways.len()));
        let way = ways.swap_remove(one.min(other));
        let mut enums = Vec::new();
        for &class in &at.classes {
            let field = way
                .strip_prefix('.')
                .and_then(|it| self.classes[class].field(it));
            if let Some(FieldKind::Plain(PlainKind::Enum { variants })) = field.map(|it| it.kind)
                && !enums.contains(&variants)
            {
                enums.push(variants);
            }
        }
        Some(Typed {
            text: format!("{}{way}", at.text),
            classes: self.all_classes(),
            enums,
        })
    }

    fn all_classes(&self) -> Vec<usize> {
        (0..self.classes.len()).collect()
    }

    /// A comparison of two things that compare.
    pub fn comparison(&mut self) -> String {
        match self.choices.below(12) {
            0..=3 => {
                let left = self.path(Wanted::Number).text;
                let right = self.number();
                let op = self.operator(true);
                format!("{left} {op} {right}")
            }
            4..=6 => self.identity(),
            7 => {
                let left = self.path(Wanted::Truth).text;
                let right = match self.choices.below(3) {
                    0 => "true".into(),
                    1 => "false".into(),
                    _ => self.path(Wanted::Truth).text,
                };
                let op = self.operator(false);
                format!("{left} {op} {right}")
            }
            8 => {
                let left = self.path(Wanted::Char).text;
                let right = match self.choices.below(2) {
                    0 => ["'a'", "'b'", "'\\''"][self.choices.below(3)].into(),
                    _ => self.path(Wanted::Char).text,
                };
                let op = self.operator(true);
                format!("{left} {op} {right}")
            }
            9 => self.variants(),
            _ => self.strings(),
        }
    }

    pub fn identity(&mut self) -> String {
        let any = |it: &mut Self| match it.variables.is_empty() {
            true => it.host_object(),
            false => it.object(),
        };
        let (left, right) = (any(self), any(self));
        let meet = left.classes.iter().any(|it| right.classes.contains(it));
        let right = match meet && self.choices.below(3) > 0 {
            true => right.text,
            false => "null".into(),
        };
        let op = self.operator(false);
        format!("{} {op} {right}", left.text)
    }

    fn variants(&mut self) -> String {
        let left = self.path(Wanted::Enum);
        let right = self.path(Wanted::Enum);
        let meet = left.enums.iter().any(|it| right.enums.contains(it));
        let op = self.operator(false);
        if meet && self.choices.is_rare(3) {
            return format!("{} {op} {}", left.text, right.text);
        }
        let variants = left.enums[self.choices.below(left.enums.len())];
        let variant = variants[self.choices.below(variants.len())];
        let variant = match self.choices.below(3) {
            0 if variants == COLORS => format!("Color::{variant}"),
            0 if variants == DOORS => format!("Door::{variant}"),
            _ => variant.into(),
        };
        format!("{} {op} {variant}", left.text)
    }

    /// Strings by their text: with a constant, or which comes first.
    fn strings(&mut self) -> String {
        let left = self.string();
        if self.choices.is_rare(3) {
            let op = self.order();
            return format!("{left} {op} {}", self.string());
        }
        let text = TEXTS[self.choices.below(TEXTS.len())];
        let op = self.operator(true);
        match self.choices.is_rare(4) {
            true => format!("\"{text}\" {op} {left}"),
            false => format!("{left} {op} \"{text}\""),
        }
    }

    /// An object that can be a string.
    pub fn string(&mut self) -> String {
        let object = self.object();
        let string = self.classes.len() - 1 - INTERFACES;
        if object.classes.contains(&string) {
            return object.text;
        }
        match self.step(&object, Wanted::Object) {
            Some(next) => next.text,
            None => "a".into(),
        }
    }

    /// A number to compare with.
    pub fn number(&mut self) -> String {
        match self.choices.below(6) {
            0..=2 => {
                let pool = [
                    "0",
                    "1",
                    "-1",
                    "2",
                    "3",
                    "0.5",
                    "255",
                    "1 KiB",
                    "9007199254740993",
                    "18446744073709551615",
                    "1e30",
                ];
                pool[self.choices.below(pool.len())].into()
            }
            _ => self.path(Wanted::Number).text,
        }
    }

    pub fn operator(&mut self, is_ordered: bool) -> &'static str {
        let all = ["==", "!=", "<", "<=", ">", ">="];
        all[self.choices.below(if is_ordered { 6 } else { 2 })]
    }

    fn order(&mut self) -> &'static str {
        ["<", "<=", ">", ">="][self.choices.below(4)]
    }
}

fn typed(text: String, classes: Vec<usize>) -> Typed {
    let enums = Vec::new();
    Typed {
        text,
        classes,
        enums,
    }
}

/// The name of a class as texts write it.
pub fn quoted(class: &ClassInfo) -> String {
    let is_bare = |c: char| c.is_alphanumeric() || matches!(c, '<' | '>');
    match class.name.chars().all(is_bare) {
        true => class.name.clone(),
        false => format!("\"{}\"", class.name),
    }
}
