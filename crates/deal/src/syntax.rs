//! The tree of a text, as it was written.
//!
//! One tree for both languages: DeAL is what [`Assertion`]s hold, and PHALANX's expressions
//! are the same [`Expr`]s with fewer restrictions. The parser lets either write
//! what the other may; what an assertion must not say is `check`'s to tell.
//!
//! Names stay names here: whether `d` is a logic variable, a host variable, a class or a
//! variant of an enum is not known before the text meets a heap (`resolved`).

use std::fmt;

use heaphound_heap::RootKind;

/// A part of a text, in bytes.
///
/// Spans are all equal, so that two trees are equal when they say the same, wherever it
/// stands.
#[derive(Clone, Copy, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
}

impl Span {
    /// From a byte up to another.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// From the start of this one to the end of the other.
    pub fn to(self, other: Self) -> Self {
        Self::new(self.start, other.end.max(self.end))
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Span {}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

/// A text that was parsed: a rule file, or one statement.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct File {
    /// Bindings and rules, in the order of the text.
    pub items: Vec<Item>,
    /// All comments, in the order of the text.
    pub comments: Vec<Comment>,
}

/// A comment, for the formatter to keep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Comment {
    /// Where it stands, with its `//` or `/* */`.
    pub span: Span,
    /// All of it, with its `//` or `/* */`.
    pub text: String,
    /// Whether nothing but blanks stands before it in its line.
    pub own_line: bool,
}

/// What a file consists of.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// `let d = static:list;`
    Let(Let),
    /// `optional class Order, Customer;` or `optional field total;`
    Optional(Optional),
    /// `rule links-agree error "…": …;`
    Rule(Rule),
    /// A statement on its own: what `heaphound eval` and the API take.
    Statement(Statement),
}

/// Binds a host variable for all that follows.
#[derive(Clone, PartialEq, Debug)]
pub struct Let {
    /// All of it.
    pub span: Span,
    /// The host variable.
    pub name: Name,
    /// What it stands for: a host name or variable, perhaps with fields behind it.
    pub value: Expr,
}

/// Names classes that a heap may not know: they then count as empty, in the whole text. Or fields: then no object has them.
#[derive(Clone, PartialEq, Debug)]
pub struct Optional {
    /// All of it.
    pub span: Span,
    /// Whether these are fields.
    pub are_fields: bool,
    /// The classes or fields; one at least.
    pub names: Vec<Name>,
}

/// A statement with a name, which must hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// All of it.
    pub span: Span,
    /// Unique in its file; may have hyphens.
    pub name: Name,
    /// [`Severity::Error`] if none was written.
    pub severity: Option<Severity>,
    /// What to say when it does not hold.
    pub message: Option<Name>,
    /// What must hold.
    pub statement: Statement,
}

/// How bad it is when a rule does not hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Worth looking at.
    Warning,
    /// Wrong.
    #[default]
    Error,
}

/// What a rule says, or a text without rules.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// DeAL: `assertion(…)` and its two sisters.
    Assertion(Assertion),
    /// A GC assertion: `instances(Node) <= 1`.
    Gc(GcAssertion),
    /// `query Node x: …`
    Query(Query),
    /// A PHALANX expression: mostly one that is true or false.
    Expr(Expr),
}

impl Statement {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Assertion(it) => it.span,
            Self::Gc(it) => it.span,
            Self::Query(it) => it.span,
            Self::Expr(it) => it.span,
        }
    }
}

/// A DeAL assertion.
#[derive(Clone, PartialEq, Debug)]
pub struct Assertion {
    /// All of it.
    pub span: Span,
    /// Which of the three primitives.
    pub kind: AssertionKind,
    /// What is asserted.
    pub formula: Expr,
}

/// DeAL's three primitives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AssertionKind {
    /// `assertion`: one relation at most.
    Plain,
    /// `assertDisjoint`: several, and no object in two of them.
    Disjoint,
    /// `unsafeAssert`: several; each object counts for the first that reaches it.
    Unsafe,
}

/// A GC assertion, by its name.
#[derive(Clone, PartialEq, Debug)]
pub struct GcAssertion {
    /// All of it.
    pub span: Span,
    /// What it says.
    pub kind: GcAssertionKind,
}

/// What a GC assertion says.
#[derive(Clone, PartialEq, Debug)]
pub enum GcAssertionKind {
    /// `instances(Node) <= 1`
    Instances(Target, Limit),
    /// `volume(Entry) <= 10 MiB`
    Volume(Target, Limit),
    /// `unshared(static:session)`, `unshared(Tree by left, right)`: with the names of the slots that
    /// count, if not all do.
    Unshared(Target, Vec<Name>),
    /// `owned_by(static:db, Entry)`: the owner, then what it owns.
    OwnedBy(Target, Target),
    /// `dead(static:oldCompany)`
    Dead(Target),
}

/// What a GC assertion is about: an object, or all objects of a class.
#[derive(Clone, PartialEq, Debug)]
pub struct Target {
    /// All of it.
    pub span: Span,
    /// `only Entry`: without subclasses.
    pub only: bool,
    /// A host name or variable perhaps with fields behind it, or the name of a class, which
    /// looks like one ([`Expr::as_class`]) or stands in quotes.
    pub what: Expr,
}

/// An upper limit.
#[derive(Clone, PartialEq, Debug)]
pub struct Limit {
    /// All of it.
    pub span: Span,
    /// `< 2` rather than `<= 2`.
    pub strict: bool,
    /// A number or a size.
    pub value: Expr,
}

/// Collects the objects that satisfy a body.
#[derive(Clone, PartialEq, Debug)]
pub struct Query {
    /// All of it.
    pub span: Span,
    /// The class of the objects; all objects without.
    pub class: Option<Name>,
    /// The logic variable.
    pub variable: Name,
    /// What they satisfy; all of them without.
    pub body: Option<Expr>,
    /// What to tell of them.
    pub select: Select,
    /// How many to tell at most.
    pub limit: Option<u64>,
}

/// What a query tells of the objects that it found.
#[derive(Clone, PartialEq, Debug)]
pub enum Select {
    /// The objects themselves: nothing was written.
    Objects,
    /// `select x.val, x.next`: for each object, these.
    Values(Vec<Expr>),
    /// `select count()`
    Count(Span),
    /// `select sum(x.val)`
    Fold(Span, Fold, Expr),
}

/// How one value is made of many.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fold {
    /// `sum(…)`
    Sum,
    /// `min(…)`
    Min,
    /// `max(…)`
    Max,
}

/// A name, or a text in quotes that stands for one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    /// Where it stands, quotes included.
    pub span: Span,
    /// Without quotes.
    pub text: String,
}

/// Something that has a value: a truth value, an object, plain data, a set.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// All of it, parentheses around it left out.
    pub span: Span,
    /// What it is.
    pub kind: ExprKind,
}

/// What an expression is.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// A logic variable, a host variable or a variant of an enum.
    Name(String),
    /// A root or an object by its name in reports: `static:list`, `Node#17`.
    Host(HostName),
    /// `null`, `true`, `3`, `"text"`, `'c'`, `10 MiB`
    Constant(Constant),
    /// `x.next`
    Field(Box<Expr>, Name),
    /// `x.items[3]`
    Element(Box<Expr>, u64),
    /// `!a`
    Not(Box<Expr>),
    /// `a && b`, `a == b`, `a | b`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `x instanceof T`, `x ∈ shop.T`. What a single word behind `in` is, a class or a set, is
    /// found out when names are resolved: it is a [`BinaryOp::In`].
    InstanceOf(Box<Expr>, Name),
    /// `x is processed`
    HasLabel(Box<Expr>, Name),
    /// `reach[s/a, b || t](x)`: DeAL's one relation.
    Reach(Relation, Box<Expr>),
    /// `forall Node x: …`, `\num_of Node x; …; …`, `{Node x | …}`
    Quantifier(Box<Quantifier>),
    /// `{a, b}`
    Set(Vec<Expr>),
    /// `reach(o, {a, b})`, `is_shared(o)`
    Call(Name, Vec<Expr>),
    /// `s.has(o)`, `s.size()`
    Method(Box<Expr>, Name, Vec<Expr>),
    /// What could not be parsed and was reported. No tree without diagnostics has one.
    Wrong,
}

/// The name of an object that a heap gives and a program need not bind.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HostName {
    /// What a root refers to: `static:list`, `thread:main[2]`, `static:"open orders"`.
    Root {
        /// What holds it. `thread:` is a stack, `thread-object:` a thread object.
        kind: RootKind,
        /// Its name, without quotes.
        name: String,
        /// Which of several.
        index: Option<u32>,
    },
    /// An object as reports name it: `Node#17`, `"Map<K, V>"#3`.
    Object {
        /// The name of its class, without quotes.
        class: String,
        /// Its number.
        number: u64,
    },
}

/// A value that the text itself gives.
#[derive(Clone, PartialEq, Debug)]
pub enum Constant {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// `17`, `-1`
    Integer(i128),
    /// `3.141`
    Float(f64),
    /// `10 MiB`
    Size(u64, Unit),
    /// `"text"`
    Text(String),
    /// `'c'`
    Char(char),
}

/// A unit of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// `bytes`, or `B`
    Bytes,
    /// `KiB`
    KiB,
    /// `MiB`
    MiB,
    /// `GiB`
    GiB,
    /// `KB`: 1000 bytes
    Kb,
    /// `MB`
    Mb,
    /// `GB`
    Gb,
}

/// An operator between two expressions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// `<->`
    Iff,
    /// `->`
    Implies,
    /// `||`
    Or,
    /// `&&`
    And,
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
    /// `x in s`: whether a set has an object, or an object is of a class.
    In,
    /// `s | t`
    Union,
    /// `s & t`
    Intersection,
    /// `s - t`
    Difference,
}

/// `s1/o1, … || s2/o2, …`: what DeAL's `reach` asks.
#[derive(Clone, PartialEq, Debug)]
pub struct Relation {
    /// What stands in the brackets.
    pub span: Span,
    /// One at least. Exclusions accumulate: those of an earlier part hold in a later.
    pub parts: Vec<RelationPart>,
}

/// One source of a relation, with what its paths exclude.
#[derive(Clone, PartialEq, Debug)]
pub struct RelationPart {
    /// All of it.
    pub span: Span,
    /// Where paths start; at the roots without.
    pub source: Option<Expr>,
    /// What they avoid, beside what earlier parts avoid.
    pub exclusions: Vec<Expr>,
}

/// Says something of all objects of a class, or some, or counts or collects them.
#[derive(Clone, PartialEq, Debug)]
pub struct Quantifier {
    /// All of it.
    pub span: Span,
    /// What it says of them.
    pub kind: QuantifierKind,
    /// Their class, subclasses included; all objects without.
    pub class: Option<Name>,
    /// The logic variable.
    pub variable: Name,
    /// JML's range, as in `\forall T x; range; body`.
    pub range: Option<Expr>,
    /// What is said of each; of a [`QuantifierKind::Fold`], its value.
    pub body: Expr,
}

/// What a quantifier says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum QuantifierKind {
    /// The body holds for all.
    Forall,
    /// It holds for one at least.
    Exists,
    /// For how many it holds.
    NumOf,
    /// The set of those for which it holds.
    SetOf,
    /// One value made of the values of all in the range: `\sum Node x; x.next != null; x.val`.
    Fold(Fold),
}

impl Expr {
    /// An expression at a place.
    pub fn new(span: Span, kind: ExprKind) -> Self {
        Self { span, kind }
    }

    /// The name of a class that this can be read as: `Node`, `java.util.Map`, or text in
    /// quotes.
    pub fn as_class(&self) -> Option<String> {
        match &self.kind {
            ExprKind::Name(name) => Some(name.clone()),
            ExprKind::Constant(Constant::Text(text)) => Some(text.clone()),
            ExprKind::Field(of, field) => {
                let package = match &of.kind {
                    ExprKind::Constant(_) => return None,
                    _ => of.as_class()?,
                };
                Some(format!("{package}.{}", field.text))
            }
            _ => None,
        }
    }

    /// What is asked whether it is of a class, and the class, if this can be read so: `x in Node`.
    pub(crate) fn as_instance_of(&self) -> Option<(&Expr, Name)> {
        match &self.kind {
            ExprKind::InstanceOf(of, class) => Some((of, class.clone())),
            ExprKind::Binary(BinaryOp::In, of, class) => match &class.kind {
                ExprKind::Name(text) => {
                    let (span, text) = (class.span, text.clone());
                    Some((of, Name { span, text }))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

impl Unit {
    /// Bytes that one takes.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bytes => 1,
            Self::KiB => 1 << 10,
            Self::MiB => 1 << 20,
            Self::GiB => 1 << 30,
            Self::Kb => 1_000,
            Self::Mb => 1_000_000,
            Self::Gb => 1_000_000_000,
        }
    }

    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::KiB => "KiB",
            Self::MiB => "MiB",
            Self::GiB => "GiB",
            Self::Kb => "KB",
            Self::Mb => "MB",
            Self::Gb => "GB",
        }
    }
}

impl Severity {
    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl AssertionKind {
    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "assertion",
            Self::Disjoint => "assertDisjoint",
            Self::Unsafe => "unsafeAssert",
        }
    }
}

impl Fold {
    /// How it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

impl QuantifierKind {
    /// How it is written; a set has braces instead.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forall => "forall",
            Self::Exists => "exists",
            Self::NumOf => "num_of",
            Self::SetOf => "{",
            Self::Fold(Fold::Sum) => "\\sum",
            Self::Fold(Fold::Min) => "\\min",
            Self::Fold(Fold::Max) => "\\max",
        }
    }
}

impl BinaryOp {
    /// How tightly it binds: more is tighter.
    pub fn binding(self) -> u8 {
        match self {
            Self::Iff => 1,
            Self::Implies => 2,
            Self::Or => 3,
            Self::And => 4,
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge | Self::In => 5,
            Self::Union => 6,
            Self::Intersection => 7,
            Self::Difference => 8,
        }
    }

    /// How it is written in ASCII.
    pub fn ascii(self) -> &'static str {
        match self {
            Self::Iff => "<->",
            Self::Implies => "->",
            Self::Or => "||",
            Self::And => "&&",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::In => "in",
            Self::Union => "|",
            Self::Intersection => "&",
            Self::Difference => "-",
        }
    }

    /// How it is written with the papers' symbols.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Iff => "⇔",
            Self::Implies => "⇒",
            Self::Or => "∨",
            Self::And => "∧",
            Self::Ne => "≠",
            Self::Le => "≤",
            Self::Ge => "≥",
            Self::In => "∈",
            Self::Union => "∪",
            Self::Intersection => "∩",
            Self::Difference => "∖",
            _ => self.ascii(),
        }
    }

    /// Whether it compares: such operators do not chain.
    pub fn compares(self) -> bool {
        self.binding() == Self::Eq.binding()
    }
}
