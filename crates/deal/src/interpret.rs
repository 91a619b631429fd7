//! Walks paths, and evaluates a formula about one object by walking its tree: the plain way,
//! which compiled predicates are compared with and fall back on. Expressions read the heap
//! through it too.

use heaphound_heap::FieldKind;
use heaphound_heap::class::Elements;
use heaphound_heap::fields::{Fields, Held};
use heaphound_heap::{ClassInfo, Value};

use crate::datum::{Datum, compare};
use crate::resolved::{
    Compare, CompareBy, CompareOp, Dereference, FieldPlace, Formula, Operand, Path, Program,
    Quantifier, Resolved, Start, Step, is_vector,
};
use crate::syntax::Span;

/// What formulas are evaluated against.
pub struct Ground<'a, F: Fields> {
    /// Looks into objects.
    pub fields: F,
    /// The classes of the heap.
    pub classes: &'a [ClassInfo],
    /// The text's tables.
    pub resolved: &'a Resolved,
    /// What host variables and names stand for, in the order of [`Resolved::hosts`].
    pub hosts: &'a [Option<F::Object>],
    /// The objects with each label, in order; in the order of [`Resolved::labels`].
    pub labelled: &'a [Vec<F::Object>],
    /// The thread object of whoever asks.
    pub asker: Option<F::Object>,
    /// Where the classes have each field, in the order of [`Resolved::fields`].
    pub readers: Vec<F::Reader>,
}

impl<'a, F: Fields> Ground<'a, F> {
    /// Prepares to read the fields that a text names.
    pub fn new(
        fields: F,
        classes: &'a [ClassInfo],
        resolved: &'a Resolved,
        hosts: &'a [Option<F::Object>],
        labelled: &'a [Vec<F::Object>],
        asker: Option<F::Object>,
    ) -> Self {
        let readers = resolved
            .fields
            .iter()
            .map(|field| fields.reader(&places(&field.places)));
        Self {
            fields,
            classes,
            resolved,
            hosts,
            labelled,
            asker,
            readers: readers.collect(),
        }
    }

    /// What a path leads to, from a logic variable that is `x`.
    pub fn walk(&self, path: &Path, x: Option<F::Object>) -> Datum<F::Object> {
        let start = match path.start {
            Start::Variable(_) => x,
            Start::Host(host) => self.hosts[host.0 as usize],
            Start::Asker => self.asker,
        };
        let mut at = start.map_or(Datum::Null, Datum::Object);
        for step in &path.steps {
            at = match at {
                Datum::Object(object) => self.step(object, *step),
                _ => return Datum::Absent,
            };
        }
        at
    }

    /// What one step leads to.
    fn step(&self, object: F::Object, step: Step) -> Datum<F::Object> {
        let held = |held| match held {
            // It was not null, and nobody knows more: what reads it cannot be decided.
            Held::Absent | Held::Cut => Datum::Absent,
            Held::Null => Datum::Null,
            Held::Object(object) => Datum::Object(object),
        };
        let class = self.fields.class_of(object).0 as usize - 1;
        if let Some(items) = self.items_of(class, step) {
            return match self.step(object, items) {
                Datum::Object(array) => self.step(array, step),
                // It has no array yet. Beyond the end there is null.
                other => other,
            };
        }
        match step {
            Step::Element(index) => match self.fields.element(object, index as usize) {
                Held::Absent => match self.fields.plain_element(object, index as usize) {
                    Some(value) => Datum::Plain(value),
                    None if self.classes[class].elements.is_none() => Datum::Absent,
                    // Beyond the end of an array there is null, whatever it holds.
                    None => match self.fields.length_of(object) {
                        Some(length) if index as usize >= length => Datum::Null,
                        _ => Datum::Unknown,
                    },
                },
                other => held(other),
            },
            Step::Field(field) => {
                let places = &self.resolved.fields[field.0 as usize].places;
                match places.get(class).copied().flatten() {
                    None => Datum::Absent,
                    Some(FieldPlace::Length) => match self.fields.length_of(object) {
                        Some(length) => Datum::Plain(Value::Unsigned(length as u64)),
                        None => Datum::Unknown,
                    },
                    Some(FieldPlace::Field(index)) => {
                        let reader = &self.readers[field.0 as usize];
                        match self.classes[class].fields[index as usize].kind {
                            FieldKind::Plain(kind) => match self.fields.bits(reader, object) {
                                Some(bits) => Datum::Plain(kind.decode(bits)),
                                None => Datum::Unknown,
                            },
                            // Nobody can look into Rust memory.
                            FieldKind::Owned => Datum::Unknown,
                            _ => held(self.fields.slot(reader, object)),
                        }
                    }
                }
            }
        }
    }

    /// The step from a managed vector to the array of its elements, before a step to one of these.
    fn items_of(&self, class: usize, step: Step) -> Option<Step> {
        let items = self.resolved.items?;
        let is_element = matches!(step, Step::Element(_));
        (is_element && is_vector(&self.classes[class])).then_some(Step::Field(items))
    }

    /// Why a statement cannot be answered: it reads something of null outside all logic variables,
    /// or asks about an object from outside that is null. Says it of a place in the text.
    pub fn why_not(&self, program: &Program) -> Option<(Span, Unreadable<F::Object>)> {
        let mut dereferences = program.dereferences.iter();
        if let Some(wrong) = dereferences.find(|it| !self.can_take(it, None)) {
            let why = match self.walk(&wrong.path, None) {
                Datum::Object(object) if self.is_cut(object, wrong.step) => Unreadable::Cut(object),
                Datum::Object(object) => Unreadable::Lacks(object),
                _ => Unreadable::ReadOfNull,
            };
            return Some((wrong.path.span, why));
        }
        let is_object = |path: &&Path| matches!(self.walk(path, None), Datum::Object(_));
        let null = program.objects.iter().find(|it| !is_object(it))?;
        Some((null.span, Unreadable::IsNull))
    }

    /// Whether a step leads to a slot whose reference was pruned or invalidated.
    fn is_cut(&self, object: F::Object, step: Step) -> bool {
        let class = self.fields.class_of(object).0 as usize - 1;
        if let Some(items) = self.items_of(class, step) {
            return match self.step(object, items) {
                Datum::Object(array) => self.is_cut(array, step),
                _ => self.is_cut(object, items),
            };
        }
        match step {
            Step::Element(index) => self.fields.element(object, index as usize) == Held::Cut,
            Step::Field(field) => {
                self.fields.slot(&self.readers[field.0 as usize], object) == Held::Cut
            }
        }
    }

    /// Whether none of these dereferences fails.
    pub fn can_dereference(&self, dereferences: &[Dereference], x: Option<F::Object>) -> bool {
        dereferences.iter().all(|it| self.can_take(it, x))
    }

    /// Whether a path leads to an object that has what the step behind it goes to.
    pub fn can_take(&self, dereference: &Dereference, x: Option<F::Object>) -> bool {
        match self.walk(&dereference.path, x) {
            Datum::Object(object) => self.step(object, dereference.step) != Datum::Absent,
            _ => false,
        }
    }

    /// Whether an object is in a quantifier's range, as far as dereferences go.
    pub fn is_in_range(&self, quantifier: &Quantifier, x: F::Object) -> bool {
        self.can_dereference(&quantifier.dereferences, Some(x))
    }

    /// What an operand is.
    pub fn operand(&self, operand: &Operand, x: Option<F::Object>) -> Datum<F::Object> {
        match operand {
            Operand::Constant(constant) => constant.datum(),
            Operand::Path(path) => self.walk(path, x),
            // What no assertion has.
            Operand::Count(_) | Operand::Size(_) | Operand::Fold(..) => Datum::Absent,
        }
    }

    /// Compares what two paths lead to. None if it depends on something that the heap does not
    /// know.
    pub fn compare(
        &self,
        op: CompareOp,
        by: CompareBy,
        left: &Datum<F::Object>,
        right: &Datum<F::Object>,
    ) -> Option<bool> {
        compare((op, by), left, right, |object| self.text_of(object))
    }

    /// Whether a comparison reads a slot that seems to be null and may hold a number, and that makes a difference: an object and a text
    /// are unlike both.
    pub fn may_be_number(
        &self,
        compare: &Compare,
        left: &Datum<F::Object>,
        right: &Datum<F::Object>,
    ) -> bool {
        let is_null = |operand: &Operand, datum: &Datum<F::Object>| {
            matches!(operand, Operand::Path(path) if !path.steps.is_empty())
                && *datum == Datum::Null
        };
        let matters = |datum: &Datum<F::Object>| {
            !matches!(datum, Datum::Object(_) | Datum::Text(_) | Datum::Absent)
        };
        self.fields.nulls_may_be_numbers()
            && (is_null(&compare.left, left) && matters(right)
                || is_null(&compare.right, right) && matters(left))
    }

    /// The text of a string object; nothing if it is none.
    fn text_of(&self, object: F::Object) -> Datum<F::Object> {
        let class = self.fields.class_of(object).0 as usize - 1;
        match self.classes[class].elements {
            Some(Elements::Text) => match self.fields.text_of(object) {
                Some(text) => Datum::Text(text),
                None => Datum::Unknown,
            },
            _ => Datum::Absent,
        }
    }

    /// Whether an object has a label.
    pub fn has_label(&self, label: usize, object: F::Object) -> bool {
        self.labelled
            .get(label)
            .is_some_and(|all| all.binary_search(&object).is_ok())
    }

    /// Whether a formula holds of an object that is in the relations for which `related` is
    /// true. Means nothing for an object that is not in the range.
    pub fn holds(&self, formula: &Formula, x: F::Object, related: &[bool]) -> bool {
        let holds = |formula: &Formula| self.holds(formula, x, related);
        match formula {
            Formula::Constant(truth) => *truth,
            Formula::Not(a) => !holds(a),
            Formula::And(a, b) => holds(a) && holds(b),
            Formula::Or(a, b) => holds(a) || holds(b),
            Formula::Implies(a, b) => !holds(a) || holds(b),
            Formula::Iff(a, b) => holds(a) == holds(b),
            Formula::Flag(path) => self.walk(path, Some(x)) == Datum::Plain(Value::Bool(true)),
            Formula::Compare(it) => {
                let left = self.operand(&it.left, Some(x));
                let right = self.operand(&it.right, Some(x));
                // What is not known is unlike everything.
                let compared = self.compare(it.op, it.by, &left, &right);
                compared.unwrap_or(it.op.of_unlike())
            }
            Formula::InstanceOf(path, classes) => match self.walk(path, Some(x)) {
                Datum::Object(object) => classes.contains(self.fields.class_of(object)),
                _ => false,
            },
            Formula::Label(path, label) => match self.walk(path, Some(x)) {
                Datum::Object(object) => self.has_label(label.0 as usize, object),
                _ => false,
            },
            Formula::Reach(relation, _) => related.get(relation.0 as usize) == Some(&true),
            // What no assertion has inside a quantifier.
            Formula::Quantified(_)
            | Formula::In(..)
            | Formula::SameSet(..)
            | Formula::Dom(..)
            | Formula::Probe(_) => false,
        }
    }
}

/// Why something from outside cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable<O> {
    /// It is null.
    IsNull,
    /// It is null, and something is read of it.
    ReadOfNull,
    /// This object does not have what is read of it.
    Lacks(O),
    /// The reference of this object that is read was pruned or invalidated.
    Cut(O),
}

impl<O> Unreadable<O> {
    /// Says it of something that the text has just shown.
    pub fn message(&self, name_of: impl FnOnce(&O) -> String) -> String {
        match self {
            Self::IsNull => "this is null".into(),
            Self::ReadOfNull => "something is read of null here".into(),
            Self::Lacks(object) => format!("{} does not have what is read here", name_of(object)),
            Self::Cut(object) => format!(
                "the reference of {} that is read here was pruned or invalidated",
                name_of(object)
            ),
        }
    }
}

/// The places of a field that are fields, and no lengths.
pub(crate) fn places(places: &[Option<FieldPlace>]) -> Vec<Option<u32>> {
    let index = |place: &Option<FieldPlace>| match place {
        Some(FieldPlace::Field(index)) => Some(*index),
        _ => None,
    };
    places.iter().map(index).collect()
}
