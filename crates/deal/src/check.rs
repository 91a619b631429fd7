//! Names and types: what a text says, checked against the classes of a heap.
//!
//! A slot does not declare the class of its target, so the type of an expression is the set
//! of what it can be. `x` of `forall Node x` is a `Node` or one of a subclass, or of a class that
//! implements it; `x.next` is
//! an object of any class; `x.next.data` is whatever `data` is in the classes that have
//! it, and a mistake only where none has. A comparison is a mistake where no pair of what
//! the sides can be compares.
//!
//! What was already reported stays silent: a wrong part of a tree fits everywhere.

mod call;
mod compare;
mod expr;
mod kinds;
mod path;
mod rule;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use heaphound_heap::class::with_subclasses;
use heaphound_heap::spelling::classes_named;
use heaphound_heap::{ClassId, ClassInfo};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::parse::parse;
use crate::resolved::{
    ClassSet, Constant, Dereference, Formula, HostId, LabelId, Operand, Path, Quantifier,
    QuantifierId, Relation, Resolved, Set,
};
use crate::syntax::{AssertionKind, Expr, ExprKind, File, HostName, Item, Name, Span, Statement};

use kinds::Kinds;

/// What a text can refer to.
#[derive(Clone, Debug)]
pub struct Scope<'a> {
    classes: &'a [ClassInfo],
    hosts: Vec<(String, Option<ClassId>)>,
    values: Vec<(String, Constant)>,
    sets: Vec<(String, Vec<HostName>)>,
    /// The names of all static roots, if they are known.
    statics: Option<HashSet<&'a str>>,
    may_be_interfaces: HashSet<ClassId>,
    lacks_superclasses: bool,
}

impl<'a> Scope<'a> {
    /// The classes of a heap, in the order of their ids, and no host variables.
    pub fn new(classes: &'a [ClassInfo]) -> Self {
        Self {
            classes,
            hosts: Vec::new(),
            values: Vec::new(),
            sets: Vec::new(),
            statics: None,
            may_be_interfaces: HashSet::new(),
            lacks_superclasses: false,
        }
    }

    /// With all static roots. One whose name has dots needs no quotes then: `static:shop.Till.open.size` is the field `size` of
    /// `static:"shop.Till.open"`, if there is such a root, or a class `shop.Till`, whose static field is null then.
    #[must_use]
    pub fn statics(mut self, names: impl Iterator<Item = &'a str>) -> Self {
        self.statics = Some(names.collect());
        self
    }

    /// With classes that may be interfaces, of a heap that does not say which are. What is said of one is not checked, as if
    /// the heap did not know it: it has no objects, and whoever implements it may have some.
    #[must_use]
    pub fn may_be_interfaces(mut self, classes: impl IntoIterator<Item = ClassId>) -> Self {
        self.may_be_interfaces.extend(classes);
        self
    }

    /// Of a heap that does not say which class extends which, if that is so. What is said of a class with all that extend it is not
    /// checked.
    #[must_use]
    pub fn lacks_superclasses(mut self, lacks: bool) -> Self {
        self.lacks_superclasses = lacks;
        self
    }

    /// With a host variable, and its class where it is known.
    #[must_use]
    pub fn bind(mut self, name: &str, class: Option<ClassId>) -> Self {
        self.hosts.push((name.into(), class));
        self
    }

    /// With a host variable that stands for a value rather than an object: wherever it
    /// stands, the value might stand.
    ///
    /// ```
    /// use heaphound_deal::check::{Scope, compile, constant};
    /// # use heaphound_heap::snapshot::SnapshotBuilder;
    /// # use heaphound_heap::view::HeapView;
    /// # let mut builder = SnapshotBuilder::default();
    /// # builder.add_class("Node", None, &["next"]);
    /// # let heap = builder.finish().unwrap();
    /// let threshold = constant("17").unwrap();
    /// let scope = Scope::new(heap.classes()).bind_value("threshold", threshold);
    /// let text = "pred(Node#1).size() > threshold";
    /// assert!(compile("it", text, &scope).is_ok());
    /// ```
    #[must_use]
    pub fn bind_value(mut self, name: &str, value: Constant) -> Self {
        self.values.push((name.into(), value));
        self
    }

    /// With a host variable that stands for a set of objects, each of which has a name.
    #[must_use]
    pub fn bind_set(mut self, name: &str, objects: Vec<HostName>) -> Self {
        self.sets.push((name.into(), objects));
        self
    }

    /// The value that a host variable stands for, if it is one.
    fn value(&self, name: &str) -> Option<&Constant> {
        let found = self.values.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value)
    }
}

/// The value that a text gives: `17`, `"text"`, `'c'`, `true`, `10 MiB`; none if it is anything
/// else.
pub fn constant(text: &str) -> Option<Constant> {
    let parsed = parse(text);
    match parsed.file.items.as_slice() {
        [Item::Statement(Statement::Expr(expr))] if parsed.diagnostics.is_empty() => {
            match &expr.kind {
                ExprKind::Constant(constant) => expr::resolve(constant),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Parses and checks a text, or says all that is wrong with it. A class that the heap does not
/// know is wrong, unless the text says that it is optional.
///
/// ```
/// use heaphound_deal::check::{Scope, compile};
/// # use heaphound_heap::snapshot::SnapshotBuilder;
/// # use heaphound_heap::view::HeapView;
/// # let mut builder = SnapshotBuilder::default();
/// # builder.add_class("Node", None, &["next", "prev"]);
/// # let heap = builder.finish().unwrap();
/// let scope = Scope::new(heap.classes()).bind("d", None);
/// let text = "assertion(forall Node x: reach[d](x) -> x.nxt.prev == x)";
/// let wrong = compile("heap.deal", text, &scope).unwrap_err();
/// let expected = "\
/// heap.deal:1:43: `Node` has no field `nxt`
///   assertion(forall Node x: reach[d](x) -> x.nxt.prev == x)
///                                             ^^^ did you mean `next`?";
/// assert_eq!(wrong.to_string(), expected);
/// ```
pub fn compile(name: &str, text: &str, scope: &Scope<'_>) -> Result<Resolved, Diagnostics> {
    compile_with(name, text, scope, true)
}

/// The same, but a class that the heap does not know spoils only the rules that speak of it:
/// these are not checked ([`Program::unknown`](crate::resolved::Program::unknown)).
///
/// # Errors
/// All else that is wrong with the text.
pub fn compile_rules(name: &str, text: &str, scope: &Scope<'_>) -> Result<Resolved, Diagnostics> {
    compile_with(name, text, scope, false)
}

fn compile_with(
    name: &str,
    text: &str,
    scope: &Scope<'_>,
    knows_all: bool,
) -> Result<Resolved, Diagnostics> {
    let parsed = parse(text);
    let (resolved, wrong) = check(&parsed.file, scope);
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(wrong);
    if knows_all || !diagnostics.is_empty() {
        diagnostics.extend(resolved.unknown.iter().cloned());
    }
    match diagnostics.is_empty() {
        true => Ok(resolved),
        false => Err(Diagnostics::new(name, text, diagnostics)),
    }
}

/// Resolves the names of a tree. The result means something only if nothing is wrong.
pub fn check(file: &File, scope: &Scope<'_>) -> (Resolved, Vec<Diagnostic>) {
    let mut checker = Checker {
        scope,
        resolved: Resolved::default(),
        diagnostics: Vec::new(),
        lets: HashMap::new(),
        sets: HashMap::new(),
        optional: HashSet::new(),
        optional_fields: HashSet::new(),
        rule_names: HashMap::new(),
        assertion: None,
        quantifiers: Vec::new(),
        relations: Vec::new(),
        dereferences: Vec::new(),
        objects: Vec::new(),
        hosts: Vec::new(),
        labels: Vec::new(),
        unknown: Vec::new(),
        asserts_death: false,
        reported_until: 0,
        variables: Vec::new(),
        last_kinds: Kinds::none(),
        set_parts: 0,
    };
    checker.file(file);
    (checker.resolved, checker.diagnostics)
}

struct Checker<'a> {
    scope: &'a Scope<'a>,
    resolved: Resolved,
    diagnostics: Vec<Diagnostic>,
    /// What the file itself binds.
    lets: HashMap<String, Option<Bound>>,
    /// The sets that the file gives names to: none is wrong, and was reported.
    sets: HashMap<String, Option<NamedSet>>,
    /// The classes that may be unknown.
    optional: HashSet<String>,
    /// Fields that no class may have.
    optional_fields: HashSet<String>,
    rule_names: HashMap<String, Span>,
    // Of the statement at hand:
    /// Which assertion it is, if it is one.
    assertion: Option<AssertionKind>,
    quantifiers: Vec<Quantifier>,
    relations: Vec<Relation>,
    dereferences: Vec<Dereference>,
    objects: Vec<Path>,
    /// The hosts that occur in it.
    hosts: Vec<HostId>,
    /// The labels that occur in it.
    labels: Vec<LabelId>,
    /// The classes that it names and the heap does not know.
    unknown: Vec<Diagnostic>,
    /// Whether it asserts that an object is dead, which it names.
    asserts_death: bool,
    /// Up to where it was reported that an assertion takes one traversal.
    reported_until: usize,
    /// The logic variables in scope, the innermost last.
    variables: Vec<(String, QuantifierId)>,
    /// What the value that is the statement can be.
    last_kinds: Kinds,
    /// How many sets were resolved by their names.
    set_parts: usize,
}

/// What the file binds a name to.
#[derive(Clone)]
struct Bound {
    path: Path,
    kinds: Kinds,
    /// The classes that it names and the heap does not know.
    unknown: Vec<Diagnostic>,
}

/// A set that the file gives a name to. It is resolved where the name stands, as if it stood there.
#[derive(Clone)]
struct NamedSet {
    value: Rc<Expr>,
    /// How many resolved parts it has, which names in it stand for.
    parts: usize,
}

/// What the name of a class stands for.
enum Class {
    Known(ClassId, ClassSet),
    /// The heap does not know it.
    Unknown,
    /// Reported already.
    Wrong,
}

/// What an expression turned out to be.
enum Term {
    Formula(Formula),
    Value(Operand, Kinds),
    Set(Set),
    /// Reported already: fits everywhere.
    Wrong,
}

impl Term {
    /// What it is, in words.
    fn describe(&self, classes: &[ClassInfo]) -> String {
        match self {
            Self::Formula(_) => "true or false".into(),
            Self::Value(_, kinds) => kinds.describe(classes),
            Self::Set(_) => "a set".into(),
            Self::Wrong => "wrong".into(),
        }
    }
}

impl Checker<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    fn wrong(&mut self, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::new(span, message));
    }

    /// The classes of that name: exactly, or without their packages or some of these.
    fn classes_named(&self, name: &str) -> Vec<ClassId> {
        classes_named(self.scope.classes, name)
    }

    /// A class by its name, with its subclasses unless it is `only` that one.
    fn class(&mut self, name: &Name, only: bool) -> Class {
        let found = self.classes_named(&name.text);
        let mut names = found.iter().map(|&id| &self.class_info(id).name);
        let first = names.next();
        let several = names.any(|name| Some(name) != first);
        if several {
            let names = found.iter().map(|&id| self.class_info(id).name.as_str());
            let names: Vec<&str> = names.take(3).collect();
            let hint = names.join(" or ");
            let message = format!("`{}` can be several classes", name.text);
            self.report(Diagnostic::new(name.span, message).hint(hint));
            return Class::Wrong;
        }
        match found.first() {
            Some(&first) if only && self.class_info(first).is_interface => {
                let name_of = &self.class_info(first).name;
                let message =
                    format!("`{name_of}` is an interface and has no instances of its own");
                self.wrong(name.span, message);
                Class::Wrong
            }
            Some(&first)
                if found
                    .iter()
                    .all(|it| self.scope.may_be_interfaces.contains(it)) =>
            {
                let name_of = &self.class_info(first).name;
                let message = format!(
                    "`{name_of}` may be an interface, and the heap does not say what implements it"
                );
                let hint = "name the classes that implement it";
                // That it is optional makes no difference: it is there, and nobody knows its objects.
                self.is_doubtful(Diagnostic::new(name.span, message).hint(hint));
                Class::Unknown
            }
            Some(&first) if self.scope.lacks_superclasses && !only => {
                let name_of = &self.class_info(first).name;
                let message = format!("the heap does not say which classes extend `{name_of}`");
                let hint =
                    "snapshots of V8 cannot have it: convert the dump to `.hhs`, which keeps it";
                self.is_doubtful(Diagnostic::new(name.span, message).hint(hint));
                Class::Unknown
            }
            Some(&first) => Class::Known(first, self.with_subclasses(&found, only)),
            None if name.text.is_empty() => Class::Wrong,
            None => {
                let message = format!("there is no class `{}`", name.text);
                let known = self.scope.classes.iter().map(|it| it.name.as_str());
                let diagnostic = Diagnostic::new(name.span, message);
                let diagnostic = match self.is_set(&name.text) {
                    true => diagnostic.hint(format!(
                        "`{0}` is a set: ask whether the variable is in it (`x in {0}`)",
                        name.text
                    )),
                    false => diagnostic.meant(&name.text, known),
                };
                self.is_unknown(&name.text, diagnostic);
                Class::Unknown
            }
        }
    }

    /// Notes that the heap does not know a class, unless it is optional.
    fn is_unknown(&mut self, class: &str, diagnostic: Diagnostic) {
        if !self.optional.contains(class) {
            self.is_doubtful(diagnostic);
        }
    }

    /// Notes why a rule cannot be checked.
    fn is_doubtful(&mut self, diagnostic: Diagnostic) {
        // A set with a name is resolved wherever that stands.
        let mut known = self.resolved.unknown.iter();
        if !known.any(|it| it.span.start == diagnostic.span.start && *it == diagnostic) {
            self.resolved.unknown.push(diagnostic.clone());
        }
        self.unknown.push(diagnostic);
    }

    /// What a quantifier ranges over. `Object` is any object, as in Java. A class that the heap does
    /// not know is an empty set.
    fn range(&mut self, class: Option<&Name>) -> ClassSet {
        match class {
            None => ClassSet::all(),
            Some(name) if name.text == "Object" && self.classes_named("Object").is_empty() => {
                ClassSet::all()
            }
            Some(name) => match self.class(name, false) {
                Class::Known(_, classes) => classes,
                Class::Unknown => ClassSet::from_iter([]),
                Class::Wrong => ClassSet::all(),
            },
        }
    }

    fn class_info(&self, id: ClassId) -> &ClassInfo {
        &self.scope.classes[id.0 as usize - 1]
    }

    fn with_subclasses(&self, roots: &[ClassId], only: bool) -> ClassSet {
        match only {
            true => roots.iter().copied().collect(),
            false => with_subclasses(self.scope.classes, roots)
                .into_iter()
                .collect(),
        }
    }
}
