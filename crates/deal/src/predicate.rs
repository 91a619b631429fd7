//! Compiles a formula about one object into closures.
//!
//! What does not depend on the object is settled here: whether it is in a relation (one phase of
//! a traversal enters only objects that all are, or all are not), what host variables stand
//! for, and then whatever follows from constants. What is left is a tree of closures
//! whose leaves are made for the shapes that occur: `x`, `x.f`, `x.f.g` or a constant on
//! either side, numbers of one kind compared as numbers of the machine.
//!
//! A predicate is evaluated first, and the range is looked at only where it would decide
//! something: of an object that is not in the range it may say anything, but where it comes upon
//! a dereference that fails it says so.

use std::cmp::Ordering;
use std::sync::Arc;

use heaphound_heap::fields::{Fields, Held};
use heaphound_heap::{ClassId, FieldKind, PlainKind, Value};

use crate::datum::Datum;
use crate::interpret::{Ground, places};
use crate::resolved::{
    ClassSet, Compare, CompareBy, CompareOp, FieldId, FieldPlace, Formula, Operand, Path, Start,
    Step,
};

/// A compiled formula.
pub enum Predicate<'a, O> {
    /// It does not depend on the object.
    Constant(bool),
    /// It does.
    Test(Test<'a, O>),
}

/// What tests an object.
pub type Test<'a, O> = Box<dyn Fn(O) -> Truth + Send + Sync + 'a>;

/// What a test says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    /// It does not hold.
    False,
    /// It holds, if the object is in the range.
    True,
    /// A dereference failed: the object is not in the range.
    Absent,
}

impl From<bool> for Truth {
    #[inline]
    fn from(truth: bool) -> Self {
        match truth {
            true => Self::True,
            false => Self::False,
        }
    }
}

impl Truth {
    #[inline]
    fn not(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::True => Self::False,
            Self::Absent => Self::Absent,
        }
    }

    #[inline]
    fn and(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::True => other(),
            decided => decided,
        }
    }

    #[inline]
    fn or(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::False => other(),
            decided => decided,
        }
    }

    #[inline]
    fn same(self, other: impl FnOnce() -> Self) -> Self {
        match (self, other()) {
            (Self::Absent, _) | (_, Self::Absent) => Self::Absent,
            (a, b) => (a == b).into(),
        }
    }
}

/// Compiles formulas for one phase of a traversal.
pub struct Compiler<'g, 'a, F: Fields> {
    ground: &'g Arc<Ground<'a, F>>,
    /// Whether the objects of the phase are in each relation.
    related: Vec<bool>,
    /// Their class, if they have all the same.
    class: Option<ClassId>,
}

/// Whether a formula asks for the class of the object itself.
pub(crate) fn asks_class(formula: &Formula) -> bool {
    match formula {
        Formula::InstanceOf(path, _) => path.steps.is_empty() && !path.is_host(),
        Formula::Not(a) => asks_class(a),
        Formula::And(a, b) | Formula::Or(a, b) | Formula::Implies(a, b) | Formula::Iff(a, b) => {
            asks_class(a) || asks_class(b)
        }
        _ => false,
    }
}

impl<'g, 'a, F: Fields + 'a> Compiler<'g, 'a, F> {
    /// For objects that are in those relations.
    pub fn new(ground: &'g Arc<Ground<'a, F>>, related: Vec<bool>) -> Self {
        let class = None;
        Self {
            ground,
            related,
            class,
        }
    }

    /// Compiles a formula about objects of one class.
    pub fn compile_for(&self, formula: &Formula, class: ClassId) -> Predicate<'a, F::Object> {
        let compiler = Compiler {
            ground: self.ground,
            related: self.related.clone(),
            class: Some(class),
        };
        compiler.compile(formula)
    }

    /// Compiles a formula.
    pub fn compile(&self, formula: &Formula) -> Predicate<'a, F::Object> {
        use Predicate::{Constant, Test};
        match formula {
            Formula::Constant(truth) => Constant(*truth),
            Formula::Reach(relation, _) => Constant(self.related[relation.0 as usize]),
            Formula::Not(a) => match self.compile(a) {
                Constant(truth) => Constant(!truth),
                Test(a) => Test(Box::new(move |x| a(x).not())),
            },
            Formula::And(a, b) => match (self.compile(a), self.compile(b)) {
                (Constant(false), _) | (_, Constant(false)) => Constant(false),
                (Constant(true), it) | (it, Constant(true)) => it,
                (Test(a), Test(b)) => Test(Box::new(move |x| a(x).and(|| b(x)))),
            },
            Formula::Or(a, b) => or(self.compile(a), self.compile(b)),
            Formula::Implies(a, b) => {
                let not_a = match self.compile(a) {
                    Constant(truth) => Constant(!truth),
                    Test(a) => match self.compile(b) {
                        Constant(false) => return Test(Box::new(move |x| a(x).not())),
                        Constant(true) => return Constant(true),
                        Test(b) => return Test(Box::new(move |x| a(x).not().or(|| b(x)))),
                    },
                };
                or(not_a, self.compile(b))
            }
            Formula::Iff(a, b) => match (self.compile(a), self.compile(b)) {
                (Constant(a), Constant(b)) => Constant(a == b),
                (Constant(true), it) | (it, Constant(true)) => it,
                (Constant(false), Test(it)) | (Test(it), Constant(false)) => {
                    Test(Box::new(move |x| it(x).not()))
                }
                (Test(a), Test(b)) => Test(Box::new(move |x| a(x).same(|| b(x)))),
            },
            Formula::Compare(compare) => self.compare(formula, compare),
            Formula::InstanceOf(path, classes) => self.instance_of(formula, path, classes),
            _ => self.interpreted(formula),
        }
    }

    /// What has no shape of its own is left to the interpreter.
    fn interpreted(&self, formula: &Formula) -> Predicate<'a, F::Object> {
        let (ground, formula) = (self.ground.clone(), formula.clone());
        let related = self.related.clone();
        Predicate::Test(Box::new(move |x| {
            ground.holds(&formula, x, &related).into()
        }))
    }

    fn instance_of(
        &self,
        formula: &Formula,
        path: &Path,
        classes: &ClassSet,
    ) -> Predicate<'a, F::Object> {
        if let (Some(class), [], false) = (self.class, &path.steps[..], path.is_host()) {
            return Predicate::Constant(classes.has(class));
        }
        let fields = self.ground.fields;
        // A table, for a set of classes is asked for each object.
        let count = self.ground.classes.len() as u32;
        let ids = (0..=count).map(ClassId);
        let table: Vec<bool> = ids.map(|id| id.0 > 0 && classes.has(id)).collect();
        let is_one = move |object| {
            let class = fields.class_of(object).0 as usize;
            table.get(class) == Some(&true)
        };
        Predicate::Test(match self.shape(path) {
            Some(Shape::Variable) => Box::new(move |x| is_one(x).into()),
            Some(Shape::Field(a)) => Box::new(move |x| match fields.slot(&a, x) {
                Held::Object(object) => is_one(object).into(),
                Held::Null => Truth::False,
                Held::Absent => Truth::Absent,
            }),
            _ => return self.interpreted(formula),
        })
    }

    fn compare(&self, formula: &Formula, compare: &Compare) -> Predicate<'a, F::Object> {
        let compiled = match compare.by {
            CompareBy::Identity => self.compare_identity(compare),
            CompareBy::Plain => self.compare_numbers(compare),
            _ => None,
        };
        compiled.unwrap_or_else(|| self.interpreted(formula))
    }

    fn compare_identity(&self, compare: &Compare) -> Option<Predicate<'a, F::Object>> {
        let shape = |operand: &Operand| match operand {
            Operand::Constant(crate::resolved::Constant::Null) => Some(Shape::Constant(Held::Null)),
            Operand::Path(path) => self.shape(path),
            _ => None,
        };
        let (left, right) = (shape(&compare.left)?, shape(&compare.right)?);
        let op = compare.op;
        if !matches!(op, CompareOp::Eq | CompareOp::Ne) {
            return None;
        }
        let fields = self.ground.fields;
        let wanted = op == CompareOp::Eq;
        Some(Predicate::Test(match left {
            Shape::Constant(a) => same(fields, wanted, move |_| a, right),
            Shape::Variable => same(fields, wanted, Held::Object, right),
            Shape::Field(a) => same(fields, wanted, move |x| fields.slot(&a, x), right),
            Shape::FieldOfField(a, b) => {
                same(fields, wanted, move |x| then(fields, &a, &b, x), right)
            }
        }))
    }

    fn compare_numbers(&self, compare: &Compare) -> Option<Predicate<'a, F::Object>> {
        let (left, right) = (self.number(&compare.left)?, self.number(&compare.right)?);
        let (fields, op) = (self.ground.fields, compare.op);
        Some(Predicate::Test(match left {
            Number::Constant(a) => ordered(fields, op, move |_| Ok(a), right),
            Number::Field(a, sort) => {
                ordered(fields, op, move |x| number_at(fields, &a, sort, x), right)
            }
            Number::FieldOfField(a, b, sort) => {
                let read = move |x| number_at(fields, &b, sort, behind(fields, &a, x)?);
                ordered(fields, op, read, right)
            }
        }))
    }

    /// The shape of a path that leads to objects.
    fn shape(&self, path: &Path) -> Option<Shape<F>> {
        if !matches!(path.start, Start::Variable(_)) {
            return match self.ground.walk(path, None) {
                Datum::Object(object) => Some(Shape::Constant(Held::Object(object))),
                Datum::Null => Some(Shape::Constant(Held::Null)),
                _ => None,
            };
        }
        Some(match path.steps[..] {
            [] => Shape::Variable,
            [Step::Field(a)] => Shape::Field(self.slot_reader(a)?),
            [Step::Field(a), Step::Field(b)] => {
                Shape::FieldOfField(self.slot_reader(a)?, self.slot_reader(b)?)
            }
            _ => return None,
        })
    }

    /// The shape of an operand that is an integer of one kind, whatever the class.
    fn number(&self, operand: &Operand) -> Option<Number<F>> {
        let path = match operand {
            Operand::Constant(crate::resolved::Constant::Plain(value)) => {
                return Some(Number::Constant(small(*value)?));
            }
            Operand::Path(path) => path,
            _ => return None,
        };
        if !matches!(path.start, Start::Variable(_)) {
            return match self.ground.walk(path, None) {
                Datum::Plain(value) => Some(Number::Constant(small(value)?)),
                _ => None,
            };
        }
        Some(match path.steps[..] {
            [Step::Field(a)] => Number::Field(self.reader(a), self.sort(a)?),
            [Step::Field(a), Step::Field(b)] => {
                Number::FieldOfField(self.slot_reader(a)?, self.reader(b), self.sort(b)?)
            }
            _ => return None,
        })
    }

    fn reader(&self, field: FieldId) -> F::Reader {
        let field = &self.ground.resolved.fields[field.0 as usize];
        self.ground.fields.reader(&places(&field.places))
    }

    /// A reader of a field that is a slot in all classes that have it.
    fn slot_reader(&self, field: FieldId) -> Option<F::Reader> {
        let is_slot = |kind| matches!(kind, Some(FieldKind::Plain(_)) | None);
        let plain = self.kinds(field).any(is_slot);
        (!plain).then(|| self.reader(field))
    }

    /// How to widen a field that is an integer of one kind in all classes that have it.
    fn sort(&self, field: FieldId) -> Option<Sort> {
        let mut kinds = self.kinds(field);
        let first = kinds.next()??;
        let FieldKind::Plain(kind) = first else {
            return None;
        };
        kinds
            .all(|kind| kind == Some(first))
            .then(|| Sort::of(kind))?
    }

    /// What a field is in the classes that have it; none where it is a length.
    fn kinds(&self, field: FieldId) -> impl Iterator<Item = Option<FieldKind>> {
        let places = &self.ground.resolved.fields[field.0 as usize].places;
        let classes = places.iter().zip(self.ground.classes);
        classes.filter_map(|(place, class)| match (*place)? {
            FieldPlace::Field(index) => Some(Some(class.fields[index as usize].kind)),
            FieldPlace::Length => Some(None),
        })
    }
}

fn or<'a, O: Copy + 'a>(a: Predicate<'a, O>, b: Predicate<'a, O>) -> Predicate<'a, O> {
    use Predicate::{Constant, Test};
    match (a, b) {
        (Constant(true), _) | (_, Constant(true)) => Constant(true),
        (Constant(false), it) | (it, Constant(false)) => it,
        (Test(a), Test(b)) => Test(Box::new(move |x| a(x).or(|| b(x)))),
    }
}

/// A path to objects that has a shape.
enum Shape<F: Fields> {
    Constant(Held<F::Object>),
    Variable,
    Field(F::Reader),
    FieldOfField(F::Reader, F::Reader),
}

/// An integer that has a shape.
enum Number<F: Fields> {
    Constant(i64),
    Field(F::Reader, Sort),
    FieldOfField(F::Reader, F::Reader, Sort),
}

/// How the bits of a field become a number: shifted up, and down again with the sign or
/// without.
#[derive(Clone, Copy)]
struct Sort {
    shift: u32,
    signed: bool,
}

impl Sort {
    fn of(kind: PlainKind) -> Option<Self> {
        let shift = 64 - 8 * kind.bytes() as u32;
        let signed = match kind {
            PlainKind::U8 | PlainKind::U16 | PlainKind::U32 => false,
            PlainKind::I8 | PlainKind::I16 | PlainKind::I32 | PlainKind::I64 => true,
            _ => return None,
        };
        Some(Self { shift, signed })
    }

    #[inline]
    fn widen(self, bits: u64) -> i64 {
        match self.signed {
            true => ((bits << self.shift) as i64) >> self.shift,
            false => bits as i64,
        }
    }
}

/// An integer that fits.
fn small(value: Value) -> Option<i64> {
    match value {
        Value::Unsigned(value) => value.try_into().ok(),
        Value::Signed(value) => Some(value),
        _ => None,
    }
}

/// What `x.f.g` holds.
#[inline]
fn then<F: Fields>(fields: F, a: &F::Reader, b: &F::Reader, x: F::Object) -> Held<F::Object> {
    match fields.slot(a, x) {
        Held::Object(y) => fields.slot(b, y),
        _ => Held::Absent,
    }
}

/// Whether two references are the same, or whether they are not.
fn same<'a, F: Fields + 'a>(
    fields: F,
    wanted: bool,
    left: impl Fn(F::Object) -> Held<F::Object> + Send + Sync + 'a,
    right: Shape<F>,
) -> Test<'a, F::Object> {
    match right {
        Shape::Constant(b) => Box::new(move |x| identical(left(x), b, wanted)),
        Shape::Variable => Box::new(move |x| identical(left(x), Held::Object(x), wanted)),
        Shape::Field(b) => Box::new(move |x| identical(left(x), fields.slot(&b, x), wanted)),
        Shape::FieldOfField(b, c) => {
            Box::new(move |x| identical(left(x), then(fields, &b, &c, x), wanted))
        }
    }
}

#[inline]
fn identical<O: Eq>(a: Held<O>, b: Held<O>, wanted: bool) -> Truth {
    match (&a, &b) {
        (Held::Absent, _) | (_, Held::Absent) => Truth::Absent,
        _ => ((a == b) == wanted).into(),
    }
}

/// Why a number is not there.
enum Missing {
    /// A dereference failed.
    Dereference,
    /// Nobody knows it, or it is none.
    Unknown,
}

#[inline]
fn number_at<F: Fields>(
    fields: F,
    reader: &F::Reader,
    sort: Sort,
    x: F::Object,
) -> Result<i64, Missing> {
    match fields.bits(reader, x) {
        Some(bits) => Ok(sort.widen(bits)),
        None => Err(Missing::Unknown),
    }
}

/// What a slot refers to, to be looked into.
#[inline]
fn behind<F: Fields>(fields: F, reader: &F::Reader, x: F::Object) -> Result<F::Object, Missing> {
    match fields.slot(reader, x) {
        Held::Object(y) => Ok(y),
        _ => Err(Missing::Dereference),
    }
}

/// Whether two numbers are ordered as wanted.
fn ordered<'a, F: Fields + 'a>(
    fields: F,
    op: CompareOp,
    left: impl Fn(F::Object) -> Result<i64, Missing> + Send + Sync + 'a,
    right: Number<F>,
) -> Test<'a, F::Object> {
    match right {
        Number::Constant(b) => decided(op, move |x| Ok(left(x)?.cmp(&b))),
        Number::Field(b, sort) => decided(op, move |x| {
            Ok(left(x)?.cmp(&number_at(fields, &b, sort, x)?))
        }),
        Number::FieldOfField(b, c, sort) => decided(op, move |x| {
            let y = behind(fields, &b, x)?;
            Ok(left(x)?.cmp(&number_at(fields, &c, sort, y)?))
        }),
    }
}

fn decided<'a, O: 'a>(
    op: CompareOp,
    order: impl Fn(O) -> Result<Ordering, Missing> + Send + Sync + 'a,
) -> Test<'a, O> {
    Box::new(move |x| match order(x) {
        Ok(order) => op.allows(order).into(),
        Err(Missing::Dereference) => Truth::Absent,
        Err(Missing::Unknown) => op.of_unlike().into(),
    })
}
