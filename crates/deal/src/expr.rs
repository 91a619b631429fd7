//! PHALANX expressions: whatever can be asked of a heap, in as many traversals as it takes.
//!
//! An expression becomes a tree of its own (`tree.rs`, `lower.rs`), in which parts that mean what a probe
//! means have become that probe (`pattern.rs`); everything else is evaluated as it is
//! written (`run.rs`). A set is computed once for each combination of the logic variables that
//! it depends on, as far as there is room to keep it; a quantifier that is bounded by a set
//! looks at that set alone; what points at each object is found out for all at once.
//! [`Expression::explain`] says what that comes to (`explain.rs`).
//!
//! Null is no object: it is in no set, reaches nothing and nothing reaches it. A value that
//! the heap does not have is unlike everything; the answer says that there was one.
//!
//! `dom(stack(t), o)` and `dom(roots(t), o)` are about the nodes that the paper draws for a
//! thread, as its example 3.2 has it: paths pass them if they start there, not if they pass an
//! object to which the stack refers as well.

mod explain;
mod lower;
mod pattern;
mod run;
mod tree;

use heaphound_heap::fields::Readable;
use heaphound_heap::probe::{ProbeError, Probes};
use heaphound_heap::set::ObjectSet;

pub use explain::{Explanation, Times};
pub use lower::Matching;

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
}

/// An answer.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer<O> {
    /// True or false.
    Truth(bool),
    /// A value; never [`Datum::Absent`].
    Value(Datum<O>),
    /// A set.
    Set(ObjectSet<O>),
}

/// Which labels objects have.
pub type Labels<'l, O> = &'l dyn Fn(O, &str) -> bool;

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
        let hosts = (0..self.resolved.hosts.len() as u32).map(|it| bindings.get(HostId(it)));
        let hosts: Vec<Option<T::Object>> = hosts.collect();
        let view = probes.view();
        let (fields, classes) = (view.fields(), view.classes());
        let asker = bindings.asker();
        let ground = Ground::new(fields, classes, self.resolved, &hosts, &[], asker);
        self.check(probes, &ground)?;
        let mut run = run::Run::new(self, probes, &ground, labels);
        let answer = match &self.root {
            Root::Truth(truth) => Answer::Truth(run.truth(truth)),
            Root::Set(set) => Answer::Set((*run.set(set)).clone()),
            Root::Value(number) => Answer::Value(run.number(number)),
        };
        let unknown = run.unknown;
        Ok(Evaluated { answer, unknown })
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
        let mut dereferences = self.program.dereferences.iter();
        let wrong = dereferences.find(|it| !ground.can_take(it, None));
        match wrong {
            None => Ok(()),
            Some(it) => {
                let message = match ground.walk(&it.path, None) {
                    Datum::Object(object) => {
                        format!("{} does not have what is read here", view.name_of(object))
                    }
                    _ => "something is read of null here".into(),
                };
                Err(Diagnostic::new(it.path.span, message))
            }
        }
    }
}
