//! Facts that may be true of each object of a structure and of what it refers to: `.rank` and `.parent.rank`, for example,
//! of which the first is always less.
//!
//! Sums (`sums.rs`) tell whether references match. They cannot tell what depends on plain data, nor what is true
//! because of several slots of one object. So each fact of a short list is looked at where it applies: two
//! numbers there are compared, or two objects, or it is seen which of two slots are null.
//!
//! - **Null**: whether the slot of an owner is null that leads to the array of all it has.
//! - **Nothing**: `.children or .value`: whether either leads to something. A number leads to nothing if it is 0.
//! - **Here**: `number of .keys` and `.count`, of one object.
//! - **Along**: `.rank` and `.parent.rank`; the last key of a page, and the first of the next one.
//! - **Each**: the same of all elements of an array.
//! - **Sorted**: an element of an array, and the next.
//! - **Place**: an element's field, and where it is in the array.
//! - **Sides**: two slots, as the heights of two subtrees.
//! - **Fold**: a field, and the largest, the smallest or the sum of those below.
//! - **Owner**: whose list one is in, and where a path of one or two slots leads.
//! - **Reached**: a field of an owner, and how many objects of a class one reaches from it.
//!
//! The list depends on classes and on where slots lead, and not on what is found there. Its length depends on
//! the number of slots that a class has, so it has a limit: whoever has more is a dictionary.

use std::collections::BTreeSet;

use heaphound_heap::class::Elements;
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, ClassInfo, FieldKind, PlainKind};

use super::{Backbones, Role, backbone, slots};
use crate::slot::SlotIds;
use crate::summary::Summary;

/// So many slots of a class are looked at, and so many numbers.
const MOST_SLOTS: usize = 8;
const MOST_NUMBERS: usize = 6;
/// Numbers of different names are compared if there are few.
const MOST_PAIRS: usize = 9;

/// An index into the fields of a class.
pub(super) type Field = u32;

/// What may be true of each object of a class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fact {
    /// The place of the structure that it is told of, in the list of backbones.
    pub(super) place: usize,
    /// The class.
    pub(super) class: ClassId,
    pub(super) what: What,
}

/// What is compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// Whether the slot of an owner is null that leads to an array.
    Null(Field),
    /// Whether two fields lead to nothing.
    Nothing(Field, Field),
    /// Two numbers of an object.
    Here(Number, Number),
    /// A number of an object, and one of what a slot refers to.
    Along(Field, Number, Number),
    /// A field of an object, and one of each element of the array that a slot refers to.
    Each(Field, Field, Field),
    /// A field of an element of such an array, and that of the next.
    Sorted(Field, Field),
    /// A field of an element, and its index.
    Place(Field, Field),
    /// A field of what two slots refer to. Null counts as 0.
    Sides(Field, Field, Field),
    /// A field, and what follows for it from what slots refer to.
    Fold(Field, Fold),
    /// Objects that one owns: a list that begins at `head` and goes on by `next`. Where `path` leads is compared with
    /// the owner.
    Owner {
        head: Field,
        next: Field,
        path: Vec<Field>,
    },
    /// A field of an owner, and how many objects of a class it reaches.
    Reached(Field, ClassId),
}

/// A number that an object has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Number {
    /// A field.
    Field(Field),
    /// The elements of the array that a slot refers to, but for nulls.
    Elements(Field),
    /// The same. Without an array there are none.
    ElementsOrNone(Field),
    /// A field of the first of them.
    First(Field, Field),
    /// A field of the last of them.
    Last(Field, Field),
}

/// How a number follows from those below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fold {
    pub(super) by: By,
    /// The slots.
    pub(super) below: Vec<Field>,
    /// Another field of the object itself.
    pub(super) own: Option<Field>,
    /// What null counts as. None if it does not count.
    pub(super) null: Option<i64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum By {
    Largest,
    Smallest,
    Sum,
}

/// How the two sides of a fact are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "export",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Comparison {
    /// They are numbers: one may be larger, or they may be the same.
    Order,
    /// They are numbers that are the same, or always differ by 1, or have nothing to do with each other.
    Equality,
    /// They are objects.
    Identity,
    /// Each is 1 if there is nothing.
    Nothing,
    /// The left side is 1 if it is null.
    Null,
}

impl What {
    pub(super) fn comparison(&self) -> Comparison {
        match self {
            Self::Null(_) => Comparison::Null,
            Self::Nothing(..) => Comparison::Nothing,
            Self::Owner { .. } => Comparison::Identity,
            Self::Along(..) | Self::Each(..) | Self::Sorted(..) | Self::Sides(..) => {
                Comparison::Order
            }
            _ => Comparison::Equality,
        }
    }

    /// Returns whether both sides are the same number of objects of the same class.
    pub(super) fn is_alike(&self) -> bool {
        match self {
            Self::Along(_, Number::Field(a), Number::Field(b)) => a == b,
            Self::Sorted(..) => true,
            _ => false,
        }
    }
}

/// Where a slot leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    /// Always to one class.
    Object(ClassId),
    /// Always to arrays of references. All their elements are of that class, if there is one.
    Array(Option<ClassId>),
    /// Anything else.
    Mixed,
}

/// A class that is looked at.
struct Looked<'c> {
    info: &'c ClassInfo,
    /// Slots that are looked at, and where they lead.
    slots: Vec<(Field, Target)>,
    numbers: Vec<Field>,
}

impl Looked<'_> {
    /// Returns the slots that lead to a class alone.
    fn slots_to(&self, class: ClassId) -> impl Iterator<Item = Field> + '_ {
        let slots = self.slots.iter();
        slots
            .filter(move |it| it.1 == Target::Object(class))
            .map(|it| it.0)
    }

    /// Returns the slots that lead to arrays of one class.
    fn arrays(&self) -> impl Iterator<Item = (Field, ClassId)> + '_ {
        self.slots.iter().filter_map(|it| match it.1 {
            Target::Array(Some(class)) => Some((it.0, class)),
            _ => None,
        })
    }
}

/// Finds out which facts there are to look at.
pub(super) struct Finder<'a> {
    summary: &'a Summary,
    classes: &'a [ClassInfo],
    ids: &'a SlotIds,
    backbones: &'a Backbones,
}

impl<'a> Finder<'a> {
    pub(super) fn new(
        summary: &'a Summary,
        classes: &'a [ClassInfo],
        ids: &'a SlotIds,
        backbones: &'a Backbones,
    ) -> Self {
        Self {
            summary,
            classes,
            ids,
            backbones,
        }
    }

    fn info(&self, class: ClassId) -> &'a ClassInfo {
        &self.classes[class.0 as usize - 1]
    }

    /// Returns all facts about classes of structures, and about classes that refer to them.
    pub(super) fn all(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        for (class, _) in self.summary.classes() {
            let own = self.backbones.place(class);
            let role = own.map(|place| self.backbones.list()[place].role);
            let Some(looked) = self.looked(class) else {
                continue;
            };
            let held = self.held_by(class);
            let Some(place) = own.or(held.first().copied()) else {
                continue;
            };
            let mut add = |what| facts.push(Fact { place, class, what });
            self.of_one(&looked, &mut add);
            self.of_two(&looked, class, &mut add);
            self.of_lists(&looked, &mut add);
            if role.is_none() {
                self.of_owner(&looked, &mut add);
            }
            if role != Some(Role::Backbone) {
                self.of_all(&looked, &held, &mut add);
            }
        }
        facts
    }

    /// Returns what is looked at of a class. None if it is an array or a dictionary.
    fn looked(&self, class: ClassId) -> Option<Looked<'a>> {
        let info = self.info(class);
        if info.elements.is_some() || slots::is_dictionary(info) {
            return None;
        }
        let fields = || (0..).zip(&info.fields);
        let slots = fields().filter(|it| matches!(it.1.kind, FieldKind::Ref | FieldKind::Opt));
        let slots = slots.map(|(field, _)| (field, self.target(class, field)));
        let numbers = fields().filter(|it| is_number(it.1.kind));
        Some(Looked {
            info,
            slots: slots.take(MOST_SLOTS).collect(),
            numbers: numbers.map(|it| it.0).take(MOST_NUMBERS).collect(),
        })
    }

    fn target(&self, class: ClassId, field: Field) -> Target {
        let slot = self.ids.at(class, Place::Field(field));
        let [edge] = self.summary.edges_of(slot) else {
            return Target::Mixed;
        };
        let info = self.info(edge.to);
        match info.elements {
            None => Target::Object(edge.to),
            Some(Elements::Refs) => {
                let (_, is_read) = backbone::reads_arrays(self.summary, self.classes, slot);
                let elements = self.ids.at(edge.to, Place::Element(0));
                match self.summary.edges_of(elements) {
                    _ if !is_read => Target::Mixed,
                    [edge] if self.info(edge.to).elements.is_none() => Target::Array(Some(edge.to)),
                    _ => Target::Array(None),
                }
            }
            Some(_) => Target::Mixed,
        }
    }

    /// Returns the places of the structures that a class refers to, directly or through arrays.
    fn held_by(&self, class: ClassId) -> Vec<usize> {
        let targets = |class| {
            let slots = self.ids.of(class);
            let edges = slots.flat_map(|slot| self.summary.edges_of(slot));
            edges.map(|edge| edge.to).collect::<BTreeSet<ClassId>>()
        };
        let mut places = BTreeSet::new();
        for to in targets(class) {
            match self.info(to).elements {
                Some(Elements::Refs) => {
                    places.extend(targets(to).into_iter().filter_map(|it| self.member(it)))
                }
                _ => places.extend(self.member(to)),
            }
        }
        places.into_iter().collect()
    }

    /// Returns the place of a class that is not an array.
    fn member(&self, class: ClassId) -> Option<usize> {
        let place = self.backbones.place(class)?;
        (self.backbones.list()[place].role != Role::Array).then_some(place)
    }

    /// Returns the numbers of a class.
    fn numbers(&self, class: ClassId) -> Vec<Field> {
        self.looked(class).map_or_else(Vec::new, |it| it.numbers)
    }

    fn name(&self, class: ClassId, field: Field) -> &str {
        &self.info(class).fields[field as usize].name
    }

    /// Adds facts about an owner, which is no part of what it owns.
    fn of_owner(&self, looked: &Looked<'_>, add: &mut dyn FnMut(What)) {
        for &(slot, target) in &looked.slots {
            // An empty list has no first node, and an empty table is a table.
            let leads_inside = match target {
                Target::Array(Some(class)) => self.member(class).is_some(),
                _ => false,
            };
            if leads_inside {
                add(What::Null(slot));
            }
        }
    }

    /// Adds facts about what one object has.
    fn of_one(&self, looked: &Looked<'_>, add: &mut dyn FnMut(What)) {
        for (at, &(a, _)) in looked.slots.iter().enumerate() {
            let others = looked.slots[at + 1..].iter().map(|it| it.0);
            for b in others.chain(looked.numbers.iter().copied()) {
                add(What::Nothing(a, b));
            }
        }
        let arrays: Vec<Field> = looked
            .slots
            .iter()
            .filter(|it| matches!(it.1, Target::Array(_)))
            .map(|it| it.0)
            .collect();
        for (at, &a) in arrays.iter().enumerate() {
            for &b in &arrays[at + 1..] {
                add(What::Here(Number::Elements(a), Number::Elements(b)));
            }
            for &number in &looked.numbers {
                add(What::Here(Number::Elements(a), Number::Field(number)));
                add(What::Here(Number::ElementsOrNone(a), Number::Field(number)));
            }
        }
        for (slot, class) in looked.arrays() {
            for number in self.numbers(class) {
                add(What::Sorted(slot, number));
                add(What::Place(slot, number));
            }
        }
    }

    /// Adds facts about an object and those that it refers to.
    fn of_two(&self, looked: &Looked<'_>, class: ClassId, add: &mut dyn FnMut(What)) {
        for &(slot, target) in &looked.slots {
            let (to, is_array) = match target {
                Target::Object(to) => (to, false),
                Target::Array(Some(to)) => (to, true),
                _ => continue,
            };
            let theirs = self.numbers(to);
            let are_few =
                !is_array && to != class && looked.numbers.len() * theirs.len() <= MOST_PAIRS;
            for &a in &looked.numbers {
                for &b in &theirs {
                    if self.name(class, a) == self.name(to, b) || are_few {
                        add(match is_array {
                            true => What::Each(slot, a, b),
                            false => What::Along(slot, Number::Field(a), Number::Field(b)),
                        });
                    }
                }
            }
            if !is_array && to == class {
                for (array, element) in looked.arrays() {
                    for number in self.numbers(element) {
                        let (last, first) =
                            (Number::Last(array, number), Number::First(array, number));
                        add(What::Along(slot, last, first));
                    }
                }
            }
        }
        let below: Vec<Field> = looked.slots_to(class).collect();
        for (at, &a) in below.iter().enumerate() {
            for &b in &below[at + 1..] {
                for &number in &looked.numbers {
                    add(What::Sides(a, b, number));
                }
                self.of_folds(looked, &[a, b], add);
            }
            self.of_folds(looked, &[a], add);
        }
    }

    fn of_folds(&self, looked: &Looked<'_>, below: &[Field], add: &mut dyn FnMut(What)) {
        for &number in &looked.numbers {
            let mut fold = |by, own, null| {
                let below = below.to_vec();
                add(What::Fold(
                    number,
                    Fold {
                        by,
                        below,
                        own,
                        null,
                    },
                ));
            };
            if below.len() == 1 {
                fold(By::Largest, None, Some(0));
                continue;
            }
            fold(By::Largest, None, Some(0));
            fold(By::Largest, None, Some(-1));
            fold(By::Smallest, None, Some(0));
            fold(By::Sum, None, Some(0));
            for &own in looked.numbers.iter().filter(|it| **it != number) {
                fold(By::Largest, Some(own), None);
                fold(By::Smallest, Some(own), None);
            }
        }
    }

    /// Adds facts about whose list an object is in.
    fn of_lists(&self, looked: &Looked<'_>, add: &mut dyn FnMut(What)) {
        let owner = looked.info.id;
        for &(head, target) in &looked.slots {
            let Target::Object(class) = target else {
                continue;
            };
            if class == owner {
                continue;
            }
            let Some(listed) = self.looked(class) else {
                continue;
            };
            for next in listed.slots_to(class) {
                let mut own = |path: &[Field]| {
                    let path = path.to_vec();
                    add(What::Owner { head, next, path });
                };
                for first in listed.slots_to(owner) {
                    own(&[first]);
                    for to in listed.slots_to(class).filter(|it| *it != next) {
                        own(&[to, first]);
                    }
                }
            }
        }
    }

    /// Adds facts about all that one reaches from an owner.
    fn of_all(&self, looked: &Looked<'_>, held: &[usize], add: &mut dyn FnMut(What)) {
        let list = self.backbones.list();
        let families: BTreeSet<ClassId> = held.iter().map(|&it| list[it].family).collect();
        let members = list.iter().filter(|it| families.contains(&it.family));
        let members = members.filter(|it| it.role != Role::Array && it.class != looked.info.id);
        for it in members.take(MOST_NUMBERS) {
            for &number in &looked.numbers {
                add(What::Reached(number, it.class));
            }
        }
    }

    /// Returns what a fact is called, by names that mean the same from run to run.
    pub(super) fn spelled(&self, fact: &Fact) -> Spelled {
        let told_of = self.backbones.list()[fact.place].class;
        let before = match fact.class == told_of {
            true => String::new(),
            false => self.info(fact.class).name.clone(),
        };
        let own = |field| format!("{before}.{}", self.name(fact.class, field));
        let through = |slot: Field, field: Field| {
            let element = match self.target(fact.class, slot) {
                Target::Array(Some(class)) => class,
                _ => fact.class,
            };
            self.name(element, field).to_string()
        };
        let number = |it: Number, path: &dyn Fn(Field) -> String| match it {
            Number::Field(field) => path(field),
            Number::Elements(slot) => format!("number of {}", path(slot)),
            Number::ElementsOrNone(slot) => format!("number of {}, or 0,", path(slot)),
            Number::First(slot, field) => {
                format!("first {}.{}", path(slot), through(slot, field))
            }
            Number::Last(slot, field) => format!("last {}.{}", path(slot), through(slot, field)),
        };
        let (left, right) = match &fact.what {
            &What::Null(slot) => (own(slot), "null".to_string()),
            &What::Nothing(a, b) => (own(a), own(b)),
            &What::Here(a, b) => (number(a, &own), number(b, &own)),
            &What::Along(slot, a, b) => {
                let to = match self.target(fact.class, slot) {
                    Target::Object(class) => class,
                    _ => fact.class,
                };
                let further = |field| format!("{}.{}", own(slot), self.name(to, field));
                (number(a, &own), number(b, &further))
            }
            &What::Each(slot, a, b) => (own(a), format!("{}[*].{}", own(slot), through(slot, b))),
            &What::Sorted(slot, field) => {
                let field = through(slot, field);
                (
                    format!("{}[i].{field}", own(slot)),
                    format!("{}[i+1].{field}", own(slot)),
                )
            }
            &What::Place(slot, field) => (
                format!("{}[i].{}", own(slot), through(slot, field)),
                "i".to_string(),
            ),
            &What::Sides(a, b, field) => {
                let side = |slot| format!("{}.{}", own(slot), self.name(fact.class, field));
                (side(a), side(b))
            }
            What::Fold(field, fold) => {
                let name = self.name(fact.class, *field);
                let parts = fold.below.iter().map(|&it| format!("{}.{name}", own(it)));
                let parts = parts.chain(fold.own.map(own));
                let null = match fold.null {
                    Some(null) if null != 0 => format!(" or {null}"),
                    _ => String::new(),
                };
                let by = match fold.by {
                    By::Largest => "largest",
                    By::Smallest => "smallest",
                    By::Sum => "sum",
                };
                let parts: Vec<String> = parts.collect();
                (own(*field), format!("{by} of {}{null}", parts.join(", ")))
            }
            What::Owner { head, next, path } => {
                let listed = match self.target(fact.class, *head) {
                    Target::Object(class) => class,
                    _ => fact.class,
                };
                let path = path.iter().map(|&it| format!(".{}", self.name(listed, it)));
                let list = &self.info(listed).name;
                (
                    format!(
                        "whose list by {}, .{} it is in",
                        own(*head),
                        self.name(listed, *next)
                    ),
                    format!("{list}{}", path.collect::<String>()),
                )
            }
            &What::Reached(field, class) => {
                (own(field), format!("number of {}", self.info(class).name))
            }
        };
        Spelled {
            left,
            right,
            comparison: fact.what.comparison(),
        }
    }
}

/// What a fact is called.
pub(super) struct Spelled {
    left: String,
    right: String,
    comparison: Comparison,
}

impl std::fmt::Display for Spelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let between = match self.comparison {
            Comparison::Order | Comparison::Equality => "to",
            Comparison::Identity | Comparison::Null => "is",
            Comparison::Nothing => "or",
        };
        write!(f, "{} {between} {}", self.left, self.right)
    }
}

fn is_number(kind: FieldKind) -> bool {
    match kind {
        FieldKind::Plain(kind) => !matches!(
            kind,
            PlainKind::F32 | PlainKind::F64 | PlainKind::Char | PlainKind::Enum { .. }
        ),
        _ => false,
    }
}

/// Returns a plain number of an object.
pub(super) fn number_of<V: HeapView>(view: &V, object: V::Object, field: Field) -> Option<i64> {
    use heaphound_heap::view::Value;
    match view.plain_value(object, field as usize)? {
        Value::Bool(it) => Some(it.into()),
        Value::Unsigned(it) => i64::try_from(it).ok(),
        Value::Signed(it) => Some(it),
        _ => None,
    }
}
