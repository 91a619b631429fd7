//! Evaluates expressions on the live heap while the world is stopped.
//!
//! `docs/deal.md` describes the language, and [`heaphound_deal::expr`] how an expression is
//! evaluated. The asking thread is the one whose mutator is used.

use std::fmt;

use heaphound_deal::bind::Binder;
use heaphound_deal::check::{Scope, compile};
use heaphound_deal::diagnostic::{Diagnostic, Diagnostics};
use heaphound_deal::expr::{Answer, Evaluated, Expression, Matching};
use heaphound_gc::{Asking, Mutator, ObjectId, Subject};
use heaphound_heap::probe::ProbeError;
use heaphound_heap::view::HeapView;

/// Expressions of a thread about its heap.
pub trait Evaluate {
    /// Stops the world and returns whether an expression is true. `variables` are locals and
    /// handles, each with its name in the text. A variable is null if it holds null, or an object
    /// that a collection has found dead; then it can be compared, and what else is asked of it has no
    /// answer.
    ///
    /// ```
    /// use heaphound::{Evaluate, Header, Heap, Managed, Slot};
    ///
    /// #[derive(Managed)]
    /// #[repr(C)]
    /// struct Node { header: Header, next: Slot<Node> }
    ///
    /// let heap = Heap::builder().build()?;
    /// let mut m = heap.attach("main")?;
    /// let last = m.alloc(NodeInit { next: None })?;
    /// let first = m.alloc(NodeInit { next: Some(last) })?;
    /// assert!(m.holds("reach(a).has(b) && dom(a, b)", &[("a", &first), ("b", &last)])?);
    /// assert!(m.holds("forall Node x: x.next != x", &[])?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the text has mistakes, or its value is not true or false; if a variable belongs to
    /// another heap or mutator; if there is no answer.
    fn holds(
        &mut self,
        text: &str,
        variables: &[(&str, &dyn Subject)],
    ) -> Result<bool, EvaluateError>;
}

impl Evaluate for Mutator<'_> {
    fn holds(
        &mut self,
        text: &str,
        variables: &[(&str, &dyn Subject)],
    ) -> Result<bool, EvaluateError> {
        self.ask(|heap| match evaluate(heap, text, variables)?.answer {
            Answer::Truth(holds) => Ok(holds),
            _ => Err(EvaluateError::NotATruth),
        })
    }
}

/// Evaluates an expression of any kind on a heap that [`Mutator::ask`] has stopped. Variables are
/// as for [`Evaluate::holds`].
///
/// # Errors
/// As [`Evaluate::holds`].
pub fn evaluate<'v>(
    heap: &Asking<'_, 'v>,
    text: &str,
    variables: &[(&str, &dyn Subject)],
) -> Result<Evaluated<ObjectId<'v>>, EvaluateError> {
    const NAME: &str = "expression";
    let wrong = |list: Vec<Diagnostic>| EvaluateError::Text(Diagnostics::new(NAME, text, list));
    let view = heap.view();
    let mut scope = Scope::new(view.classes());
    let mut binder = Binder::of(view).ask_as(heap.asker());
    for (name, subject) in variables {
        let object = match heap.id(*subject) {
            Ok(object) => Some(object),
            Err(ProbeError::Null) => None,
            Err(error) => return Err(EvaluateError::Variable(name.to_string(), error)),
        };
        scope = scope.bind(name, object.map(|it| view.class_of(it)));
        binder = binder.variable(name, object);
    }
    let resolved = compile(NAME, text, &scope).map_err(EvaluateError::Text)?;
    let [rule] = resolved.rules.as_slice() else {
        return Err(EvaluateError::NotAnExpression);
    };
    let expression = Expression::of(&resolved, rule, Matching::Probes);
    let expression = expression.ok_or(EvaluateError::NotAnExpression)?;
    let bindings = binder.bind(&resolved).map_err(wrong)?;
    let labels = resolved.labels.iter();
    let labelled: Vec<_> = labels.map(|it| (it, view.labelled(it))).collect();
    let has_label = |object: ObjectId<'v>, label: &str| {
        let found = labelled.iter().find(|(it, _)| *it == label);
        found.is_some_and(|(_, all)| all.binary_search(&object).is_ok())
    };
    let evaluated = expression.evaluate_with(heap, &bindings, &has_label);
    evaluated.map_err(|diagnostic| wrong(vec![diagnostic]))
}

/// Why an expression was not evaluated.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvaluateError {
    /// The text has mistakes, or there is no answer. Each mistake has its place.
    Text(Diagnostics),
    /// A variable of that name cannot be used.
    Variable(String, ProbeError),
    /// The text is not one expression but something else that can stand in a rule file.
    NotAnExpression,
    /// It is a value or a set, so it is neither true nor false.
    NotATruth,
}

/// As the message: what `main` returns is printed so.
impl fmt::Debug for EvaluateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for EvaluateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(diagnostics) => diagnostics.fmt(f),
            Self::Variable(name, error) => write!(f, "variable `{name}`: {error}"),
            Self::NotAnExpression => f.write_str("the text is not one expression"),
            Self::NotATruth => f.write_str("the expression is not true or false"),
        }
    }
}

impl std::error::Error for EvaluateError {}
