//! Compiles a formula about one object into closures that test many.
//!
//! What does not depend on the object is settled here: whether it is in a relation (one phase of
//! a traversal enters only objects that all are, or all are not), what host variables stand
//! for, and then whatever follows from constants. What is left is a tree of closures, each of
//! which looks at a batch of objects of one class and returns a bit for each: a path is read
//! slot by slot, for all objects at a time, and truth is a word, so that `&&` is `&`. To call a closure
//! costs one object little, what is read from memory does not wait for what was read
//! before, and hardly anything branches.
//!
//! A predicate is evaluated first, and the range is looked at only where it would decide
//! something: of an object that is not in the range it may say anything, but where it comes upon
//! a dereference that fails it says so.
//!
//! A name may be a slot in one class and a number in another, and which class a path leads to is known only
//! when it is walked. The closures read what most likely is meant; where a path leads to an object of which
//! the name is something else, that object alone is left to the interpreter.

use std::sync::Arc;

use heaphound_heap::fields::{Batch, Column, Fields, LANES, Numbers, each_lane, lanes};
use heaphound_heap::{ClassId, FieldKind, PlainKind, Value};

use crate::datum::Datum;
use crate::interpret::{Ground, places};
use crate::resolved::{
    ClassSet, Compare, CompareBy, CompareOp, Constant, FieldId, FieldPlace, Formula, Operand, Path,
    Start, Step,
};

/// A compiled formula.
pub enum Predicate<'a, F: Fields> {
    /// It does not depend on the object.
    Constant(bool),
    /// It does.
    Test(Test<'a, F>),
}

/// Tests a batch of objects. The bits of lanes that were not asked for mean nothing.
pub type Test<'a, F> = Box<dyn Fn(&Batch<'_, F>, u64) -> Truths + Send + Sync + 'a>;

/// As a [`Test`] of all lanes, with those of which it says nothing: something of another sort has the name.
type Attempt<'a, F> = Box<dyn Fn(&Batch<'_, F>) -> (Truths, u64) + Send + Sync + 'a>;

/// What a test says, a bit for each object. Where neither is set, the formula does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Truths {
    /// It holds, if the object is in the range.
    pub yes: u64,
    /// A dereference failed: the object is not in the range. Not set where `yes` is.
    pub absent: u64,
}

impl Truths {
    fn new(yes: u64, absent: u64) -> Self {
        Self {
            yes: yes & !absent,
            absent,
        }
    }

    fn no(self) -> u64 {
        !(self.yes | self.absent)
    }

    fn not(self) -> Self {
        Self {
            yes: self.no(),
            absent: self.absent,
        }
    }
}

/// The second side is asked only of objects that the first one leaves open.
fn both<F: Fields>(a: &Test<'_, F>, b: &Test<'_, F>, batch: &Batch<'_, F>, asked: u64) -> Truths {
    let first = a(batch, asked);
    let open = first.yes & asked;
    if open == 0 {
        return first;
    }
    let then = b(batch, open);
    Truths {
        yes: first.yes & then.yes,
        absent: first.absent | first.yes & then.absent,
    }
}

fn either<F: Fields>(
    a: impl FnOnce(&Batch<'_, F>, u64) -> Truths,
    b: &Test<'_, F>,
    batch: &Batch<'_, F>,
    asked: u64,
) -> Truths {
    let first = a(batch, asked);
    let no = first.no();
    if no & asked == 0 {
        return first;
    }
    let then = b(batch, no & asked);
    Truths {
        yes: first.yes | no & then.yes,
        absent: first.absent | no & then.absent,
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

/// Whether a formula tests the class of the object itself.
pub(crate) fn tests_own_class(formula: &Formula) -> bool {
    match formula {
        Formula::InstanceOf(path, _) => path.steps.is_empty() && !path.is_host(),
        Formula::Not(a) => tests_own_class(a),
        Formula::And(a, b) | Formula::Or(a, b) | Formula::Implies(a, b) | Formula::Iff(a, b) => {
            tests_own_class(a) || tests_own_class(b)
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
    pub fn compile_for(&self, formula: &Formula, class: ClassId) -> Predicate<'a, F> {
        let compiler = Compiler {
            ground: self.ground,
            related: self.related.clone(),
            class: Some(class),
        };
        compiler.compile(formula)
    }

    /// Compiles a formula.
    pub fn compile(&self, formula: &Formula) -> Predicate<'a, F> {
        use Predicate::{Constant, Test};
        match formula {
            Formula::Constant(truth) => Constant(*truth),
            Formula::Reach(relation, _) => Constant(self.related[relation.0 as usize]),
            Formula::Not(a) => match self.compile(a) {
                Constant(truth) => Constant(!truth),
                Test(a) => Test(Box::new(move |batch, asked| a(batch, asked).not())),
            },
            Formula::And(a, b) => match (self.compile(a), self.compile(b)) {
                (Constant(false), _) | (_, Constant(false)) => Constant(false),
                (Constant(true), it) | (it, Constant(true)) => it,
                (Test(a), Test(b)) => {
                    Test(Box::new(move |batch, asked| both(&a, &b, batch, asked)))
                }
            },
            Formula::Or(a, b) => match (self.compile(a), self.compile(b)) {
                (Constant(true), _) | (_, Constant(true)) => Constant(true),
                (Constant(false), it) | (it, Constant(false)) => it,
                (Test(a), Test(b)) => {
                    Test(Box::new(move |batch, asked| either(&a, &b, batch, asked)))
                }
            },
            Formula::Implies(a, b) => match (self.compile(a), self.compile(b)) {
                (Constant(false), _) | (_, Constant(true)) => Constant(true),
                (Constant(true), it) => it,
                (Test(a), Constant(false)) => {
                    Test(Box::new(move |batch, asked| a(batch, asked).not()))
                }
                (Test(a), Test(b)) => Test(Box::new(move |batch, asked| {
                    either(|batch, asked| a(batch, asked).not(), &b, batch, asked)
                })),
            },
            Formula::Iff(a, b) => match (self.compile(a), self.compile(b)) {
                (Constant(a), Constant(b)) => Constant(a == b),
                (Constant(true), it) | (it, Constant(true)) => it,
                (Constant(false), Test(it)) | (Test(it), Constant(false)) => {
                    Test(Box::new(move |batch, asked| it(batch, asked).not()))
                }
                (Test(a), Test(b)) => Test(Box::new(move |batch, asked| {
                    let (a, b) = (a(batch, asked), b(batch, asked));
                    Truths::new(!(a.yes ^ b.yes), a.absent | b.absent)
                })),
            },
            Formula::Compare(compare) => Test(self.or_interpreted(
                match compare.by {
                    CompareBy::Identity => self.compare_identity(compare),
                    CompareBy::Plain => self.compare_numbers(compare),
                    _ => None,
                },
                formula,
            )),
            Formula::InstanceOf(path, classes) => match self.class {
                Some(class) if path.steps.is_empty() && !path.is_host() => {
                    Constant(classes.contains(class))
                }
                _ => Test(self.or_interpreted(self.instance_of(path, classes), formula)),
            },
            Formula::Flag(path) => Test(self.or_interpreted(self.flag(path), formula)),
            _ => Test(self.interpreted(formula)),
        }
    }

    /// What was compiled, with the interpreter for objects that it does not know how to read; or the interpreter alone.
    fn or_interpreted(&self, compiled: Option<Attempt<'a, F>>, formula: &Formula) -> Test<'a, F> {
        let interpreted = self.interpreted(formula);
        let Some(attempt) = compiled else {
            return interpreted;
        };
        Box::new(move |batch, asked| {
            let (truths, odd) = attempt(batch);
            let odd = odd & asked;
            if odd == 0 {
                return truths;
            }
            let exact = interpreted(batch, odd);
            Truths {
                yes: truths.yes & !odd | exact.yes & odd,
                absent: truths.absent & !odd | exact.absent & odd,
            }
        })
    }

    /// Leaves a formula to the interpreter, object by object.
    pub fn interpreted(&self, formula: &Formula) -> Test<'a, F> {
        let (ground, formula) = (self.ground.clone(), formula.clone());
        let related = self.related.clone();
        Box::new(move |batch, asked| {
            let mut yes = 0;
            for lane in lanes(asked) {
                let holds = ground.holds(&formula, batch.objects()[lane], &related);
                yes |= (holds as u64) << lane;
            }
            Truths::new(yes, 0)
        })
    }

    fn instance_of(&self, path: &Path, classes: &ClassSet) -> Option<Attempt<'a, F>> {
        let Side::Path(slots) = self.side(path)? else {
            return None;
        };
        let fields = self.ground.fields;
        // A table, for a set of classes is asked for each object.
        let count = self.ground.classes.len() as u32;
        let ids = (0..=count).map(ClassId);
        let table: Vec<bool> = ids.map(|id| id.0 > 0 && classes.contains(id)).collect();
        Some(Box::new(move |batch| {
            let (column, odd) = slots.follow(fields, batch);
            let is_one = each_lane(|lane| {
                let class = fields.class_of(column.objects[lane]).0 as usize;
                table.get(class) == Some(&true)
            });
            (Truths::new(is_one & column.there, column.absent), odd)
        }))
    }

    /// Whether plain data that a path leads to is true.
    fn flag(&self, path: &Path) -> Option<Attempt<'a, F>> {
        let Number::Path(to) = self.number(path)? else {
            return None;
        };
        if to.sort != Sort::Bool {
            return None;
        }
        let fields = self.ground.fields;
        Some(Box::new(move |batch| {
            let (found, odd) = to.read(fields, batch);
            let truth = each_lane(|lane| found.values[lane] != 0);
            (Truths::new(truth & found.known, found.absent), odd)
        }))
    }

    fn compare_identity(&self, compare: &Compare) -> Option<Attempt<'a, F>> {
        let side = |operand: &Operand| match operand {
            Operand::Constant(Constant::Null) => Some(Side::Null),
            Operand::Path(path) => self.side(path),
            _ => None,
        };
        let equal = match compare.op {
            CompareOp::Eq => true,
            CompareOp::Ne => false,
            _ => return None,
        };
        let truths = move |same: u64, absent| match equal {
            true => Truths::new(same, absent),
            false => Truths::new(!same, absent),
        };
        let fields = self.ground.fields;
        let test: Attempt<'a, F> = match (side(&compare.left)?, side(&compare.right)?) {
            (Side::Path(a), Side::Path(b)) => Box::new(move |batch| {
                let ((a, odd), (b, odd_too)) = (a.follow(fields, batch), b.follow(fields, batch));
                let same = each_lane(|lane| a.objects[lane] == b.objects[lane]);
                let same = same & a.there & b.there | !(a.there | b.there);
                (truths(same, a.absent | b.absent), odd | odd_too)
            }),
            (Side::Path(a), Side::Null) | (Side::Null, Side::Path(a)) => Box::new(move |batch| {
                let (a, odd) = a.follow(fields, batch);
                (truths(!a.there, a.absent), odd)
            }),
            (Side::Path(a), Side::Object(b)) | (Side::Object(b), Side::Path(a)) => {
                Box::new(move |batch| {
                    let (a, odd) = a.follow(fields, batch);
                    let same = each_lane(|lane| a.objects[lane] == b) & a.there;
                    (truths(same, a.absent), odd)
                })
            }
            _ => return None,
        };
        Some(test)
    }

    fn compare_numbers(&self, compare: &Compare) -> Option<Attempt<'a, F>> {
        let number = |operand: &Operand| match operand {
            Operand::Constant(Constant::Plain(value)) => Some(Number::Constant(*value)),
            Operand::Path(path) => self.number(path),
            _ => None,
        };
        let (left, right) = (number(&compare.left)?, number(&compare.right)?);
        let sort = match (left.sort(), right.sort()) {
            (Some(a), Some(b)) if a != b => return None,
            // Constants are taken for what the other side is.
            (a, b) => a.or(b)?,
        };
        let op = compare.op;
        match sort {
            Sort::Signed => self.ordered(op, left, right, signed, |value| value),
            Sort::Unsigned => self.ordered(op, left, right, unsigned, |value| value as u64),
            Sort::Double => {
                let read = |value| f64::from_bits(value as u64);
                self.ordered(op, left, right, float, read)
            }
            Sort::Single => {
                let read = |value| f64::from(f32::from_bits(value as u32));
                self.ordered(op, left, right, float, read)
            }
            // Truths have no order.
            Sort::Bool if !matches!(op, CompareOp::Eq | CompareOp::Ne) => None,
            Sort::Bool => {
                let constant = |value| match value {
                    Value::Bool(value) => Some(value),
                    _ => None,
                };
                self.ordered(op, left, right, constant, |value| value != 0)
            }
            Sort::Char => {
                let constant = |value| match value {
                    Value::Char(value) => Some(u32::from(value).into()),
                    _ => None,
                };
                self.ordered(op, left, right, constant, |value| value)
            }
        }
    }

    /// Compares numbers as `T`.
    fn ordered<T: PartialOrd + Copy + Default + Send + Sync + 'a>(
        &self,
        op: CompareOp,
        left: Number<F>,
        right: Number<F>,
        constant: impl Fn(Value) -> Option<T>,
        read: impl Fn(i64) -> T + Copy + Send + Sync + 'a,
    ) -> Option<Attempt<'a, F>> {
        let fields = self.ground.fields;
        let flipped = match op {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::Le => CompareOp::Ge,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::Ge => CompareOp::Le,
            same => same,
        };
        let (left, right, op) = match (left, right) {
            (left @ Number::Constant(_), right) => (right, left, flipped),
            (left, right) => (left, right, op),
        };
        let Number::Path(a) = left else { return None };
        Some(match right {
            Number::Constant(value) => {
                let b = constant(value)?;
                Box::new(move |batch| {
                    let (found, odd) = a.read(fields, batch);
                    let yes = order(op, |lane| read(found.values[lane]), |_| b);
                    (unlike(op, yes, found.known, found.absent), odd)
                })
            }
            Number::Path(b) => Box::new(move |batch| {
                let ((left, odd), (right, odd_too)) =
                    (a.read(fields, batch), b.read(fields, batch));
                let yes = order(
                    op,
                    |lane| read(left.values[lane]),
                    |lane| read(right.values[lane]),
                );
                let known = left.known & right.known;
                let truths = unlike(op, yes, known, left.absent | right.absent);
                (truths, odd | odd_too)
            }),
        })
    }

    /// What a path to an object is.
    fn side(&self, path: &Path) -> Option<Side<F>> {
        if !matches!(path.start, Start::Variable(_)) {
            return match self.ground.walk(path, None) {
                Datum::Object(object) => Some(Side::Object(object)),
                Datum::Null => Some(Side::Null),
                _ => None,
            };
        }
        Some(Side::Path(self.slots(&path.steps)?))
    }

    /// What a path to plain data is.
    fn number(&self, path: &Path) -> Option<Number<F>> {
        if !matches!(path.start, Start::Variable(_)) {
            return match self.ground.walk(path, None) {
                Datum::Plain(value) => Some(Number::Constant(value)),
                _ => None,
            };
        }
        let (Step::Field(last), before) = path.steps.split_last()? else {
            return None;
        };
        let kind = self.kind(*last, before.is_empty())?;
        let (reader, is_odd) = self.reader(*last, |it| it == Some(FieldKind::Plain(kind)));
        Some(Number::Path(PlainPath {
            slots: self.slots(before)?,
            last: reader,
            is_odd,
            kind,
            sort: Sort::of(kind)?,
        }))
    }

    /// Readers of slots, one behind the other.
    fn slots(&self, steps: &[Step]) -> Option<Slots<F>> {
        let is_slot = |kind: Option<FieldKind>| kind.is_some_and(FieldKind::is_slot);
        let mut readers = Vec::new();
        for step in steps {
            let Step::Field(field) = step else {
                return None;
            };
            if !self.kinds(*field).any(|(_, kind)| is_slot(kind)) {
                return None;
            }
            readers.push(self.reader(*field, is_slot));
        }
        Some(Slots { readers })
    }

    /// A reader of a field in the classes in which it is as wanted, and whether it is something else in others.
    fn reader(
        &self,
        field: FieldId,
        is_wanted: impl Fn(Option<FieldKind>) -> bool,
    ) -> (F::Reader, bool) {
        let mut places = places(&self.ground.resolved.fields[field.0 as usize].places);
        let mut is_odd = false;
        for (class, kind) in self.kinds(field) {
            if !is_wanted(kind) {
                places[class] = None;
                is_odd = true;
            }
        }
        (self.ground.fields.reader(&places), is_odd)
    }

    /// The kind that a field most likely is, if it is plain data: as in the class of the objects that are tested, for structures
    /// are recursive, and else as in most classes. Of those objects themselves there is no doubt.
    fn kind(&self, field: FieldId, is_own: bool) -> Option<PlainKind> {
        let plain = |kind: Option<FieldKind>| match kind {
            Some(FieldKind::Plain(kind)) => Some(kind),
            _ => None,
        };
        let own =
            |&(class, _): &(usize, _)| self.class.is_some_and(|it| it.0 as usize == class + 1);
        if let Some((_, kind)) = self.kinds(field).find(own)
            && (is_own || plain(kind).is_some())
        {
            return plain(kind);
        }
        let mut counts: Vec<(PlainKind, usize)> = Vec::new();
        for kind in self.kinds(field).filter_map(|(_, kind)| plain(kind)) {
            match counts.iter_mut().find(|it| it.0 == kind) {
                Some((_, count)) => *count += 1,
                None => counts.push((kind, 1)),
            }
        }
        let most = counts.into_iter().rev().max_by_key(|it| it.1);
        most.map(|(kind, _)| kind)
    }

    /// The classes that have a field, as indices, and what it is there; none where it is a length.
    fn kinds(&self, field: FieldId) -> impl Iterator<Item = (usize, Option<FieldKind>)> {
        let places = &self.ground.resolved.fields[field.0 as usize].places;
        let classes = places.iter().zip(self.ground.classes).enumerate();
        classes.filter_map(|(at, (place, class))| match (*place)? {
            FieldPlace::Field(index) => Some((at, Some(class.fields[index as usize].kind))),
            FieldPlace::Length => Some((at, None)),
        })
    }
}

/// What leads to an object.
enum Side<F: Fields> {
    Null,
    Object(F::Object),
    /// From the object that is tested, slot by slot.
    Path(Slots<F>),
}

/// Slots, one behind the other.
struct Slots<F: Fields> {
    /// With whether the name is something else than a slot in other classes.
    readers: Vec<(F::Reader, bool)>,
}

impl<F: Fields> Slots<F> {
    /// What they lead to, and the lanes on whose way an object was of which the name may be something else.
    fn follow(&self, fields: F, batch: &Batch<'_, F>) -> (Column<F::Object>, u64) {
        let mut odd = 0;
        let Some((first, is_odd)) = self.readers.first() else {
            return (Column::of(batch), odd);
        };
        let mut column = fields.slots(first, batch);
        if *is_odd {
            odd |= column.absent;
        }
        for (reader, is_odd) in &self.readers[1..] {
            let next = fields.slots_behind(reader, &column);
            if *is_odd {
                odd |= column.there & next.absent;
            }
            column = next;
        }
        (column, odd)
    }
}

/// Plain data that can be compared as a number of the machine.
enum Number<F: Fields> {
    Constant(Value),
    Path(PlainPath<F>),
}

impl<F: Fields> Number<F> {
    fn sort(&self) -> Option<Sort> {
        match self {
            Self::Constant(_) => None,
            Self::Path(path) => Some(path.sort),
        }
    }
}

/// Leads from the object that is tested to plain data.
struct PlainPath<F: Fields> {
    slots: Slots<F>,
    last: F::Reader,
    /// Whether the name is something else in other classes.
    is_odd: bool,
    kind: PlainKind,
    sort: Sort,
}

impl<F: Fields> PlainPath<F> {
    /// What it leads to, and the lanes on whose way an object was of which a name may be something else.
    fn read(&self, fields: F, batch: &Batch<'_, F>) -> (Numbers, u64) {
        if self.slots.readers.is_empty() {
            let found = fields.numbers(&self.last, self.kind, batch);
            let odd = if self.is_odd { !found.known } else { 0 };
            return (found, odd);
        }
        let (column, mut odd) = self.slots.follow(fields, batch);
        let found = fields.numbers_behind(&self.last, self.kind, &column);
        if self.is_odd {
            odd |= column.there & !found.known;
        }
        (found, odd)
    }
}

/// As what plain data is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// An integer that 64 bits with a sign can hold.
    Signed,
    /// One that they may not.
    Unsigned,
    Double,
    Single,
    Bool,
    Char,
}

impl Sort {
    fn of(kind: PlainKind) -> Option<Self> {
        Some(match kind {
            PlainKind::U64 => Self::Unsigned,
            PlainKind::F32 => Self::Single,
            PlainKind::F64 => Self::Double,
            PlainKind::Bool => Self::Bool,
            PlainKind::Char => Self::Char,
            PlainKind::U8 | PlainKind::U16 | PlainKind::U32 => Self::Signed,
            PlainKind::I8 | PlainKind::I16 | PlainKind::I32 | PlainKind::I64 => Self::Signed,
            _ => return None,
        })
    }
}

/// A constant as an integer with a sign, if it is one.
fn signed(value: Value) -> Option<i64> {
    match value {
        Value::Unsigned(value) => value.try_into().ok(),
        Value::Signed(value) => Some(value),
        _ => None,
    }
}

fn unsigned(value: Value) -> Option<u64> {
    match value {
        Value::Unsigned(value) => Some(value),
        Value::Signed(value) => value.try_into().ok(),
        _ => None,
    }
}

/// A constant as a floating-point number that is the same number.
fn float(value: Value) -> Option<f64> {
    /// All integers up to there are floating-point numbers.
    const EXACT: u64 = 1 << 53;
    match value {
        Value::Float(value) => Some(value),
        Value::Unsigned(value) if value <= EXACT => Some(value as f64),
        Value::Signed(value) if value.unsigned_abs() <= EXACT => Some(value as f64),
        _ => None,
    }
}

/// Where two numbers are ordered as wanted. A number that is none differs from all others.
#[inline]
fn order<T: PartialOrd>(op: CompareOp, a: impl Fn(usize) -> T, b: impl Fn(usize) -> T) -> u64 {
    match op {
        CompareOp::Eq => each_bit(|lane| a(lane) == b(lane)),
        CompareOp::Ne => each_bit(|lane| a(lane) != b(lane)),
        CompareOp::Lt => each_bit(|lane| a(lane) < b(lane)),
        CompareOp::Le => each_bit(|lane| a(lane) <= b(lane)),
        CompareOp::Gt => each_bit(|lane| a(lane) > b(lane)),
        CompareOp::Ge => each_bit(|lane| a(lane) >= b(lane)),
    }
}

/// As [`each_lane`], for what vectors are slow at: numbers of 64 bits.
#[inline]
fn each_bit(f: impl Fn(usize) -> bool) -> u64 {
    // The first lane ends up in the lowest bit. To double and add is one instruction.
    (0..LANES)
        .rev()
        .fold(0, |bits, lane| bits << 1 | f(lane) as u64)
}

/// What is not known is unlike anything.
fn unlike(op: CompareOp, yes: u64, known: u64, absent: u64) -> Truths {
    match op.of_unlike() {
        true => Truths::new(yes | !known, absent),
        false => Truths::new(yes & known, absent),
    }
}
