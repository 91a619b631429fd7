//! The tree of a text whose names are resolved against the classes of a heap.
//!
//! What is left to an evaluator is to look: classes are sets of ids, a field is a table
//! from class to place, logic variables are the numbers of their quantifiers, and equal
//! relations have one number. Tables that rules can share (hosts, fields, labels) belong to
//! the whole text, so that relations of two rules are equal when they ask the same.
//!
//! Null, as in the paper: a [`Quantifier`] lists the paths that its body dereferences. An
//! object for which one of them is null, or leads to an object without the field, is left
//! out of the range, whether or not that part of the body would be looked at.
//!
//! A heap that gets new classes makes a resolved tree stale: resolve again.

use heaphound_heap::root::Part;
use heaphound_heap::{ClassId, ClassInfo, FieldInfo, Value};

use crate::diagnostic::Diagnostic;
use crate::syntax::{AssertionKind, Fold, HostName, QuantifierKind, Severity, Span};

/// All that a text says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Resolved {
    /// The host variables and names that occur, each once.
    pub hosts: Vec<Host>,
    /// The fields that occur, each once.
    pub fields: Vec<Field>,
    /// The labels that occur, each once.
    pub labels: Vec<String>,
    /// Rules and statements, in the order of the text.
    pub rules: Vec<Rule>,
    /// The classes that the text names and the heap does not know, and that are not optional.
    pub unknown: Vec<Diagnostic>,
    /// The array of a managed vector's elements, if the text has an element and the heap has vectors.
    pub items: Option<FieldId>,
}

/// The field of a managed vector that has its elements.
pub(crate) const ITEMS: &str = "items";

/// Whether a class is a managed vector, so that `v[0]` means an element of the array that it has.
pub(crate) fn is_vector(class: &ClassInfo) -> bool {
    let is_items = |it: &FieldInfo| it.kind.is_slot();
    class.name.starts_with("GcVec<") && class.field(ITEMS).is_some_and(is_items)
}

/// A place in [`Resolved::hosts`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostId(pub u32);

/// A place in [`Resolved::fields`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FieldId(pub u32);

/// A place in [`Resolved::labels`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LabelId(pub u32);

/// A place in [`Program::relations`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RelationId(pub u32);

/// A place in [`Program::quantifiers`], and the logic variable of that quantifier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QuantifierId(pub u32);

/// An object that comes from outside.
#[derive(Clone, PartialEq, Debug)]
pub struct Host {
    /// Where it occurs first.
    pub span: Span,
    /// What gives it.
    pub source: HostSource,
    /// Whether all that is asked is whether it is dead: then a name that fits nothing is null.
    pub may_be_gone: bool,
}

/// What gives an object from outside.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum HostSource {
    /// Whoever evaluates binds this variable.
    Variable(String),
    /// The heap has it by this name.
    Named(HostName),
}

/// A field by its name, for all classes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// As the text spells it.
    pub name: String,
    /// How to read it of an object of each class: `places[class.0 - 1]`.
    pub places: Vec<Option<FieldPlace>>,
}

/// How a class has a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldPlace {
    /// At an index into the class's `fields`.
    Field(u32),
    /// As the length of the array.
    Length,
}

/// A rule, or a statement on its own.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// Where it stands.
    pub span: Span,
    /// None for a statement on its own.
    pub name: Option<String>,
    /// How bad it is when it does not hold.
    pub severity: Severity,
    /// What to say then.
    pub message: Option<String>,
    /// What must hold.
    pub program: Program,
}

/// One statement with all that is numbered in it.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// What it says.
    pub statement: Statement,
    /// The relations that occur in it, each once, in the order of the text.
    pub relations: Vec<Relation>,
    /// Its quantifiers, in the order of the text: an outer one before those inside.
    pub quantifiers: Vec<Quantifier>,
    /// The dereferences outside all logic variables, in quantifiers or not: where one cannot be
    /// done, the statement cannot be checked.
    pub dereferences: Vec<Dereference>,
    /// The paths outside all logic variables that must not be null: what is asked of null is not
    /// answered. Where one is, the statement cannot be checked.
    pub objects: Vec<Path>,
    /// The hosts that occur in it, each once.
    pub hosts: Vec<HostId>,
    /// The labels that occur in it, each once.
    pub labels: Vec<LabelId>,
    /// The classes that it names and the heap does not know, and that are not optional: why it
    /// cannot be checked. It is resolved as if they were empty.
    pub unknown: Vec<Diagnostic>,
}

/// What a statement says.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// DeAL: no quantifier of it has a parent, and only quantifiers have formulas with
    /// relations.
    Assertion(AssertionKind, Formula),
    /// A GC assertion.
    Gc(GcAssertion),
    /// A query.
    Query(Query),
    /// A PHALANX expression that is true or false.
    Formula(Formula),
    /// One that is a value.
    Value(Operand),
    /// One that is a set.
    Set(Set),
}

/// A GC assertion.
#[derive(Clone, PartialEq, Debug)]
pub enum GcAssertion {
    /// At most that many live instances.
    Instances(ClassTarget, u64),
    /// At most that many bytes in live instances.
    Volume(ClassTarget, u64),
    /// One incoming reference at most; of slots of these names, if there are some.
    Unshared(Target, Vec<String>),
    /// What the first owns does not outlive or leave it.
    OwnedBy(Target, Target),
    /// Not reachable.
    Dead(Target),
}

/// What a GC assertion is about.
#[derive(Clone, PartialEq, Debug)]
pub enum Target {
    /// One object.
    Object(Path),
    /// All objects of a class.
    Class(ClassTarget),
}

/// All objects of a class.
#[derive(Clone, PartialEq, Debug)]
pub struct ClassTarget {
    /// The class that was named; the first, if several have the name.
    pub class: ClassId,
    /// With subclasses, unless it said `only`.
    pub classes: ClassSet,
    /// Whether subclasses count.
    pub subclasses: bool,
}

/// A query.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// The quantifier that finds the objects: of kind [`QuantifierKind::SetOf`].
    pub found: QuantifierId,
    /// What to tell of them.
    pub select: Select,
    /// How many to tell at most.
    pub limit: Option<u64>,
}

/// What a query tells of what it found.
#[derive(Clone, PartialEq, Debug)]
pub enum Select {
    /// The objects themselves.
    Objects,
    /// For each object, these.
    Values(Vec<Operand>),
    /// How many.
    Count,
    /// One value made of all.
    Fold(Fold, Operand),
}

/// Something that is true or false.
#[derive(Clone, PartialEq, Debug)]
pub enum Formula {
    /// `true`, `false`
    Constant(bool),
    /// `!a`
    Not(Box<Formula>),
    /// `a && b`
    And(Box<Formula>, Box<Formula>),
    /// `a || b`
    Or(Box<Formula>, Box<Formula>),
    /// `a -> b`
    Implies(Box<Formula>, Box<Formula>),
    /// `a <-> b`
    Iff(Box<Formula>, Box<Formula>),
    /// A plain `bool`.
    Flag(Path),
    /// `a < b`
    Compare(Compare),
    /// `x.next instanceof T`; false for null.
    InstanceOf(Path, ClassSet),
    /// `x is processed`; false for null.
    Label(Path, LabelId),
    /// `reach[t](x)`, of the variable of that quantifier.
    Reach(RelationId, QuantifierId),
    /// A `forall` or an `exists`.
    Quantified(QuantifierId),
    /// `s.has(o)`, `o in s`; false for null.
    In(Path, Box<Set>),
    /// `s == t` of sets.
    SameSet(Box<Set>, Box<Set>),
    /// `dom(a, b)`
    Dom(Source, Path),
    /// A probe by its name.
    Probe(Box<Probe>),
}

/// A comparison.
#[derive(Clone, PartialEq, Debug)]
pub struct Compare {
    /// Which.
    pub op: CompareOp,
    /// By what.
    pub by: CompareBy,
    /// What stands left.
    pub left: Operand,
    /// What stands right.
    pub right: Operand,
    /// Where it stands.
    pub span: Span,
}

/// Which comparison.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CompareOp {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// What decides a comparison. The sides can still turn out to be unlike, where a field is
/// one thing in one class and another in another: then they differ and have no order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CompareBy {
    /// Which object it is, or null. Never an ordering.
    Identity,
    /// The text of string objects, byte by byte. One side can be a constant.
    Text,
    /// The value of plain data: numbers by value whatever their width.
    Plain,
    /// Whichever of these fits what is found: the fields are not alike in all classes.
    Found,
}

/// Something that is compared or selected.
#[derive(Clone, PartialEq, Debug)]
pub enum Operand {
    /// Given by the text.
    Constant(Constant),
    /// Read from the heap.
    Path(Path),
    /// `\num_of …`
    Count(QuantifierId),
    /// `s.size()`
    Size(Box<Set>),
    /// `\sum …`: one value made of the operand of all that the quantifier finds. It is of kind
    /// [`QuantifierKind::SetOf`].
    Fold(QuantifierId, Fold, Box<Operand>),
}

/// A value that the text gives.
#[derive(Clone, PartialEq, Debug)]
pub enum Constant {
    /// `null`
    Null,
    /// Plain data. A variant is one of an enum of the heap.
    Plain(Value),
    /// Compared with the text of a string object.
    Text(String),
}

/// `x.next.items[3]`
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// Where it stands.
    pub span: Span,
    /// Where it starts.
    pub start: Start,
    /// What follows.
    pub steps: Vec<Step>,
}

/// Where a path starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Start {
    /// At the logic variable of a quantifier.
    Variable(QuantifierId),
    /// At an object from outside.
    Host(HostId),
    /// At the thread object of the asking thread.
    Asker,
}

/// One step of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// To a field.
    Field(FieldId),
    /// To an element of an array. Beyond its end it is null.
    Element(u64),
}

/// A reachability relation.
#[derive(Clone, PartialEq, Debug)]
pub struct Relation {
    /// Where it occurs first.
    pub span: Span,
    /// One at least. Exclusions are as written: those of an earlier part hold in a later.
    pub parts: Vec<RelationPart>,
}

/// One source of a relation.
#[derive(Clone, PartialEq, Debug)]
pub struct RelationPart {
    /// Where paths start; at the roots without.
    pub source: Option<Path>,
    /// What they avoid, beside what earlier parts avoid.
    pub exclusions: Vec<Path>,
}

/// A quantifier.
#[derive(Clone, PartialEq, Debug)]
pub struct Quantifier {
    /// Where it stands.
    pub span: Span,
    /// What it says.
    pub kind: QuantifierKind,
    /// The quantifier around it.
    pub parent: Option<QuantifierId>,
    /// The name of its variable.
    pub variable: String,
    /// The classes of the objects that it ranges over.
    pub classes: ClassSet,
    /// What else they satisfy.
    pub range: Option<Formula>,
    /// What is said of each.
    pub body: Formula,
    /// The paths that must lead to an object, shorter ones first: of `x.next.data`,
    /// `x.next`. All start at this variable.
    pub dereferences: Vec<Dereference>,
}

/// A path that must lead to an object.
#[derive(Clone, PartialEq, Debug)]
pub struct Dereference {
    /// The path up to the object.
    pub path: Path,
    /// The step that is then taken of it.
    pub step: Step,
}

/// A set of objects.
#[derive(Clone, PartialEq, Debug)]
pub enum Set {
    /// `running()`
    Running,
    /// `stack(t)`
    Stack(Thread),
    /// `roots(t)`
    Roots(Thread),
    /// `reach()`
    ReachAll,
    /// `reach(o)`, `reach(o, avoid)`
    Reach(Source, Option<Box<Set>>),
    /// `pred(o)`
    Pred(Path),
    /// `thread_reach(o, avoid)`, as thread objects.
    ThreadReach(Path, Option<Box<Set>>, Part),
    /// `{a, b}`; nulls are left out.
    Literal(Vec<Path>),
    /// `{Node x | …}`
    Of(QuantifierId),
    /// `s | t`
    Union(Box<Set>, Box<Set>),
    /// `s & t`
    Intersection(Box<Set>, Box<Set>),
    /// `s - t`
    Difference(Box<Set>, Box<Set>),
}

/// Where a reachability question starts: an object or the objects of a set.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// An object.
    Object(Path),
    /// The objects of a set.
    Set(Box<Set>),
}

/// A thread that is asked about.
#[derive(Clone, PartialEq, Debug)]
pub enum Thread {
    /// The one of that name: `stack(thread:main)`.
    Named(String),
    /// The one with that thread object.
    Object(Path),
}

/// A probe, by the name that PHALANX's table 2 gives it.
#[derive(Clone, PartialEq, Debug)]
pub enum Probe {
    /// `is_heap(o)`
    IsHeap(Path),
    /// `is_shared(o)`
    IsShared(Path),
    /// `is_reachable(a, b)`
    IsReachable(Path, Path),
    /// `is_disjoint(a, b)`
    IsDisjoint(Path, Path),
    /// `is_unique_owner(o)`
    IsUniqueOwner(Path),
    /// `reach_through(a, cut, b)`
    ReachThrough(Path, Set, Path),
    /// `is_object_owned(a, b)`
    IsObjectOwned(Path, Path),
    /// `unique(o)`
    IsUnique(Path),
    /// `is_thread_owned(o)`, `is_thread_stack_owned(o)`, `is_thread_object_owned(o)`
    IsThreadOwned(Path, Part),
}

/// A set of classes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassSet {
    /// All classes, also those that the heap did not have yet.
    all: bool,
    /// A bit for each class of the heap: `class.0 - 1`.
    bits: Vec<u64>,
}

impl ClassSet {
    /// All classes.
    pub fn all() -> Self {
        Self {
            all: true,
            bits: Vec::new(),
        }
    }

    /// Whether a class is in it.
    pub fn contains(&self, class: ClassId) -> bool {
        let at = (class.0 as usize).wrapping_sub(1);
        self.all
            || self
                .bits
                .get(at / 64)
                .is_some_and(|bits| bits >> (at % 64) & 1 != 0)
    }

    /// Whether all classes are in it, whatever classes there are.
    pub fn is_all(&self) -> bool {
        self.all
    }

    /// Whether no class is in it.
    pub fn is_empty(&self) -> bool {
        !self.all && self.bits.iter().all(|&bits| bits == 0)
    }
}

impl FromIterator<ClassId> for ClassSet {
    fn from_iter<I: IntoIterator<Item = ClassId>>(classes: I) -> Self {
        let mut bits: Vec<u64> = Vec::new();
        for class in classes {
            let at = (class.0 as usize).saturating_sub(1);
            if at / 64 >= bits.len() {
                bits.resize(at / 64 + 1, 0);
            }
            bits[at / 64] |= 1 << (at % 64);
        }
        Self { all: false, bits }
    }
}

impl Path {
    /// Whether it starts outside all logic variables.
    pub fn is_host(&self) -> bool {
        !matches!(self.start, Start::Variable(_))
    }
}
