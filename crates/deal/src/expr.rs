//! PHALANX expressions: whatever can be asked of a heap, in as many traversals as it takes.
//!
//! An expression becomes a tree of its own (`tree.rs`, `lower.rs`), in which parts that mean what a probe
//! means have become that probe (`pattern.rs`); everything else is evaluated as it is
//! written (`run.rs`). A set is computed once for each combination of the logic variables that
//! it depends on, as far as there is room to keep it; a quantifier that is bounded by a set or by
//! an equality looks at no other objects (`bound.rs`); what points at each object is found out for
//! all at once.
//! [`Expression::explain`] says what that comes to (`explain.rs`).
//!
//! Null is no object: it is in no set, reaches nothing and nothing reaches it. That is said of what
//! objects hold; what comes from outside must not be null, or there is no answer. A value that
//! the heap does not have is unlike everything; the answer says that there was one.
//!
//! `dom(stack(t), o)` and `dom(roots(t), o)` are about the nodes that the paper draws for a
//! thread, as its example 3.2 has it: paths pass them if they start there, not if they pass an
//! object to which the stack refers as well.

mod bound;
mod explain;
mod looks;
mod lower;
mod members;
mod pattern;
mod run;
mod threads;
mod tree;

use std::collections::{HashMap, HashSet};

use heaphound_heap::fields::Readable;
use heaphound_heap::probe::{ProbeError, Probes};
use heaphound_heap::view::HeapView;
use heaphound_heap::{RootKind, Value};

pub use explain::{Explanation, Times};
pub use lower::Matching;
pub use members::Members;

use crate::bind::Bindings;
use crate::datum::Datum;
use crate::diagnostic::{Diagnostic, nearest};
use crate::interpret::Ground;
use crate::resolved::{HostId, Program, QuantifierId, Resolved, Rule, Statement};
use crate::syntax::Span;

use lower::Lowering;
use tree::{Number, SetNode, Truth};

/// An expression, ready to be evaluated on any heap with the classes that it was resolved
/// against.
pub struct Expression<'p> {
    resolved: &'p Resolved,
    program: &'p Program,
    span: Span,
    root: Root<'p>,
    /// How many sets and how many answers are kept.
    sets: usize,
    answers: usize,
    asker: Option<Span>,
    asker_object: Option<Span>,
    threads: Vec<&'p str>,
    quantified_threads: Option<Span>,
}

enum Root<'p> {
    Truth(Truth<'p>),
    Value(Number<'p>),
    Set(SetNode<'p>),
}

/// What an expression comes to.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluated<O> {
    /// The answer.
    pub answer: Answer<O>,
    /// Where a value was wanted that the heap does not have. It was unlike everything.
    pub unknown: Option<Span>,
    /// How many objects its quantifiers looked at ([`Expression::looks`]).
    pub looks: u64,
}

/// An answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer<O> {
    /// True or false.
    Truth(bool),
    /// A value; never [`Datum::Absent`].
    Value(Datum<O>),
    /// A set.
    Set(Members<O>),
}

/// Which labels objects have.
pub type Labels<'l, O> = &'l dyn Fn(O, &str) -> bool;

/// Is told how many objects of the outermost quantifier are done, and of how many.
pub type Progress<'p> = &'p dyn Fn(u64, u64);

impl<'p> Expression<'p> {
    /// The expression that a statement is; none if it is a DeAL assertion, a GC assertion or a
    /// query.
    pub fn of(resolved: &'p Resolved, rule: &'p Rule, matching: Matching) -> Option<Self> {
        let mut lowering = Lowering::new(&rule.program, matching);
        let root = match &rule.program.statement {
            Statement::Formula(formula) => Root::Truth(lowering.truth(formula)),
            Statement::Value(operand) => Root::Value(lowering.number(operand)),
            Statement::Set(set) => Root::Set(lowering.set(set)),
            Statement::Assertion(..) | Statement::Gc(_) | Statement::Query(_) => return None,
        };
        Some(Self::lowered(resolved, rule, lowering, root))
    }

    /// The set of what a quantifier of a statement finds: how a query is answered that asks
    /// for more than one traversal can tell.
    pub fn found(
        resolved: &'p Resolved,
        rule: &'p Rule,
        quantifier: QuantifierId,
        matching: Matching,
    ) -> Self {
        let mut lowering = Lowering::new(&rule.program, matching);
        let root = Root::Set(lowering.found(quantifier));
        Self::lowered(resolved, rule, lowering, root)
    }

    fn lowered(
        resolved: &'p Resolved,
        rule: &'p Rule,
        lowering: Lowering<'p>,
        root: Root<'p>,
    ) -> Self {
        Self {
            resolved,
            program: &rule.program,
            span: rule.span,
            root,
            sets: lowering.sets,
            answers: lowering.answers,
            asker: lowering.asker,
            asker_object: lowering.asker_object,
            threads: lowering.threads,
            quantified_threads: lowering.quantified_threads,
        }
    }

    /// Whether it is about the asking thread, so that somebody must ask.
    pub fn needs_asker(&self) -> bool {
        self.asker.is_some()
    }

    /// Evaluates it on a heap, asked as `probes` are asked. No object has a label.
    ///
    /// ```
    /// use heaphound_deal::bind::Binder;
    /// use heaphound_deal::check::{Scope, compile};
    /// use heaphound_deal::expr::{Answer, Expression, Matching};
    /// use heaphound_heap::probe::Probes;
    /// # use heaphound_heap::{Root, RootKind};
    /// # use heaphound_heap::snapshot::SnapshotBuilder;
    /// # use heaphound_heap::view::HeapView;
    /// # let mut builder = SnapshotBuilder::default();
    /// # let class = builder.add_class("Node", None, &["next"]);
    /// # let node = builder.add_object(class, 16);
    /// # builder.add_root(Root::new(RootKind::Static, "list"), node);
    /// # let heap = builder.finish().unwrap();
    /// let text = "pred(static:list).size() > 1";
    /// let resolved = compile("expression", text, &Scope::new(heap.classes())).unwrap();
    /// let expression = Expression::of(&resolved, &resolved.rules[0], Matching::Probes).unwrap();
    /// let explained = expression.explain().to_string();
    /// assert_eq!(explained, "runs as the probe is_shared: 1 traversal");
    /// let bindings = Binder::of(&heap).bind(&resolved).unwrap();
    /// let evaluated = expression.evaluate(&Probes::of(&heap), &bindings).unwrap();
    /// assert_eq!(evaluated.answer, Answer::Truth(false));
    /// ```
    ///
    /// # Errors
    /// If nobody asks and it is about the asking thread; if it names a thread that there is
    /// not; if it takes a field of null outside all quantifiers.
    pub fn evaluate<T: Readable>(
        &self,
        probes: &Probes<'_, T>,
        bindings: &Bindings<T::Object>,
    ) -> Result<Evaluated<T::Object>, Diagnostic> {
        self.evaluate_with(probes, bindings, &|_, _| false)
    }

    /// The same, where objects have labels.
    ///
    /// # Errors
    /// As [`Expression::evaluate`].
    pub fn evaluate_with<T: Readable>(
        &self,
        probes: &Probes<'_, T>,
        bindings: &Bindings<T::Object>,
        labels: Labels<'_, T::Object>,
    ) -> Result<Evaluated<T::Object>, Diagnostic> {
        self.evaluate_watched(probes, bindings, labels, &|_, _| {})
    }

    /// Finds as many of a set's objects as it can while its quantifiers look at so many objects; whether
    /// those are all. What it finds belongs to the set.
    pub(crate) fn find_some<T: Readable>(
        &self,
        probes: &Probes<'_, T>,
        bindings: &Bindings<T::Object>,
        labels: Labels<'_, T::Object>,
        looks: u64,
    ) -> Option<(Members<T::Object>, bool)> {
        let nobody: Progress<'_> = &|_, _| {};
        let answer = |run: &mut run::Run<'_, 'p, '_, T>| {
            run.looks_left = looks;
            let set = match &self.root {
                Root::Set(set) => (*run.set(set)).clone(),
                _ => Members::default(),
            };
            (set, !run.is_cut)
        };
        self.run(probes, bindings, labels, nobody, answer).ok()
    }

    /// The same, and tells how far it is.
    ///
    /// # Errors
    /// As [`Expression::evaluate`].
    pub fn evaluate_watched<T: Readable>(
        &self,
        probes: &Probes<'_, T>,
        bindings: &Bindings<T::Object>,
        labels: Labels<'_, T::Object>,
        progress: Progress<'_>,
    ) -> Result<Evaluated<T::Object>, Diagnostic> {
        self.run(probes, bindings, labels, progress, |run| {
            let answer = match &self.root {
                Root::Truth(truth) => Answer::Truth(run.truth(truth)),
                Root::Set(set) => Answer::Set((*run.set(set)).clone()),
                Root::Value(number) => match run.number(number) {
                    // A field may be true or false in one class and something else in another.
                    Datum::Plain(Value::Bool(truth)) => Answer::Truth(truth),
                    value => Answer::Value(value),
                },
            };
            let unknown = run.unknown;
            Evaluated {
                answer,
                unknown,
                looks: u64::MAX - run.looks_left,
            }
        })
    }

    fn run<T: Readable, R>(
        &self,
        probes: &Probes<'_, T>,
        bindings: &Bindings<T::Object>,
        labels: Labels<'_, T::Object>,
        progress: Progress<'_>,
        answer: impl FnOnce(&mut run::Run<'_, 'p, '_, T>) -> R,
    ) -> Result<R, Diagnostic> {
        let hosts = (0..self.resolved.hosts.len() as u32).map(|it| bindings.get(HostId(it)));
        let hosts: Vec<Option<T::Object>> = hosts.collect();
        let view = probes.view();
        let (fields, classes) = (view.fields(), view.classes());
        let asker = bindings.asker();
        let ground = Ground::new(fields, classes, self.resolved, &hosts, &[], asker);
        self.check(probes, &ground)?;
        let mut run = run::Run::new(self, probes, &ground, labels, progress);
        Ok(answer(&mut run))
    }

    /// Whether it can be evaluated at all.
    fn check<T: Readable>(
        &self,
        probes: &Probes<'_, T>,
        ground: &Ground<'_, T::Fields<'_>>,
    ) -> Result<(), Diagnostic> {
        let view = probes.view();
        let threads = || view.threads().iter().map(String::as_str);
        if let Some(name) = self
            .threads
            .iter()
            .find(|it| !threads().any(|name| name == **it))
        {
            let message = ProbeError::UnknownThread(name.to_string()).to_string();
            let diagnostic = Diagnostic::new(self.span, message);
            return Err(match nearest(name, threads()) {
                Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
                None => diagnostic,
            });
        }
        if let (Some(span), None) = (self.asker, probes.asker()) {
            return Err(Diagnostic::new(span, ProbeError::NobodyAsks.to_string()));
        }
        if let (Some(span), Some(asker), None) = (self.asker_object, probes.asker(), ground.asker) {
            let error = ProbeError::NoThreadObject(asker.into());
            return Err(Diagnostic::new(span, error.to_string()));
        }
        let uses = threads::uses(self.program);
        let hint = "thread_reach(…).size() counts such threads, too";
        let without = || without_object(view);
        if let (Some(span), Some(name)) = (self.quantified_threads, without()) {
            let message = format!("thread `{name}` has no thread object: no quantifier finds it");
            return Err(Diagnostic::new(span, message).hint(hint));
        }
        if let (true, Some(name)) = (uses.as_objects, without()) {
            let message = format!("thread `{name}` has no thread object to stand for it here");
            return Err(Diagnostic::new(self.span, message).hint(hint));
        }
        let takes_objects = self.quantified_threads.is_some() || uses.as_objects || uses.as_either;
        if let (true, Some([a, b])) = (takes_objects, sharing(view)) {
            let span = self.quantified_threads.unwrap_or(self.span);
            let message = format!(
                "threads `{a}` and `{b}` have the same thread object: it is not one thread"
            );
            return Err(Diagnostic::new(span, message).hint(hint));
        }
        match ground.why_not(self.program) {
            None => Ok(()),
            Some((span, why)) => {
                let message = why.message(|object| view.name_of(*object));
                Err(Diagnostic::new(span, message))
            }
        }
    }
}

/// The first thread that has no thread object.
fn without_object<V: HeapView>(view: &V) -> Option<&str> {
    let mut with = HashSet::new();
    view.for_each_root(|root, _| {
        if root.kind == RootKind::ThreadObject {
            with.insert(root.name.clone());
        }
    });
    let mut threads = view.threads().iter();
    let found = threads.find(|it| !with.contains(*it));
    found.map(String::as_str)
}

/// The first two threads that have the same thread object.
fn sharing<V: HeapView>(view: &V) -> Option<[String; 2]> {
    let mut owners: HashMap<V::Object, String> = HashMap::new();
    let mut found = None;
    view.for_each_root(|root, object| {
        if root.kind == RootKind::ThreadObject && found.is_none() {
            let owner = owners.entry(object).or_insert_with(|| root.name.clone());
            if *owner != root.name {
                found = Some([owner.clone(), root.name.clone()]);
            }
        }
    });
    found
}
