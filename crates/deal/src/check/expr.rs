//! Expressions: what they are, and whether they may stand where they stand.

use heaphound_heap::Value;

use super::kinds::Kinds;
use super::{Checker, Term};
use crate::diagnostic::Diagnostic;
use crate::resolved::{
    Constant, Formula, LabelId, Operand, Path, Quantifier, QuantifierId, Relation, RelationId,
    RelationPart, Set,
};
use crate::syntax::{self, AssertionKind, BinaryOp, Expr, ExprKind, Name, QuantifierKind, Span};

impl Checker<'_> {
    /// What an expression is.
    pub(super) fn term(&mut self, expr: &Expr) -> Term {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Name(_) | ExprKind::Host(_) | ExprKind::Field(..) | ExprKind::Element(..) => {
                match self.path(expr) {
                    Some((path, kinds)) => {
                        self.dereferenced(&path);
                        Term::Value(Operand::Path(path), kinds)
                    }
                    None => Term::Wrong,
                }
            }
            ExprKind::Constant(constant) => self.constant(constant, span),
            ExprKind::Not(of) => match self.formula(of) {
                Some(of) => Term::Formula(Formula::Not(Box::new(of))),
                None => Term::Wrong,
            },
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, span),
            ExprKind::InstanceOf(of, class) => {
                let path = self.object(of);
                let is_any = class.text == "Object";
                let classes = self.range(Some(class));
                match path {
                    Some(path) if is_any || !classes.is_all() => {
                        Term::Formula(Formula::InstanceOf(path, classes))
                    }
                    _ => Term::Wrong,
                }
            }
            ExprKind::HasLabel(of, label) => match self.object(of) {
                Some(path) => Term::Formula(Formula::Label(path, self.label(label))),
                None => Term::Wrong,
            },
            ExprKind::Reach(relation, of) => self.reach(relation, of),
            ExprKind::Quantifier(quantifier) => self.quantified(quantifier),
            ExprKind::Set(objects) => {
                self.not_in_assertion(span, "a set");
                let objects: Vec<Option<Path>> = objects.iter().map(|it| self.object(it)).collect();
                match objects.into_iter().collect() {
                    Some(objects) => Term::Set(Set::Literal(objects)),
                    None => Term::Wrong,
                }
            }
            ExprKind::Call(name, arguments) => {
                self.not_in_assertion(span, &format!("`{}`", name.text));
                self.call(name, arguments, span).unwrap_or(Term::Wrong)
            }
            ExprKind::Method(of, name, arguments) => {
                self.not_in_assertion(span, &format!("`{}`", name.text));
                let term = self.method(of, name, arguments, span);
                term.unwrap_or(Term::Wrong)
            }
            ExprKind::Wrong => Term::Wrong,
        }
    }

    /// An expression that must be true or false.
    pub(super) fn formula(&mut self, expr: &Expr) -> Option<Formula> {
        let term = self.term(expr);
        self.as_formula(term, expr.span)
    }

    pub(super) fn as_formula(&mut self, term: Term, span: Span) -> Option<Formula> {
        match term {
            Term::Formula(formula) => Some(formula),
            Term::Value(Operand::Path(path), kinds) if kinds.truth => Some(Formula::Flag(path)),
            Term::Value(Operand::Constant(Constant::Plain(Value::Bool(value))), _) => {
                Some(Formula::Constant(value))
            }
            Term::Wrong => None,
            other => {
                let what = other.describe(self.scope.classes);
                let message = format!("this must be true or false, and is {what}");
                self.wrong(span, message);
                None
            }
        }
    }

    fn constant(&mut self, constant: &syntax::Constant, span: Span) -> Term {
        let none = Kinds::none();
        let plain = |value| Constant::Plain(value);
        let (constant, kinds) = match constant {
            syntax::Constant::Null => (Constant::Null, Kinds { null: true, ..none }),
            syntax::Constant::Bool(value) => (
                plain(Value::Bool(*value)),
                Kinds {
                    truth: true,
                    ..none
                },
            ),
            syntax::Constant::Integer(value) => {
                let value = match (u64::try_from(*value), i64::try_from(*value)) {
                    (Ok(value), _) => Value::Unsigned(value),
                    (_, Ok(value)) => Value::Signed(value),
                    _ => {
                        self.wrong(span, "no field holds a number as large as this");
                        return Term::Wrong;
                    }
                };
                (plain(value), Kinds::number())
            }
            syntax::Constant::Float(value) => (plain(Value::Float(*value)), Kinds::number()),
            syntax::Constant::Size(count, unit) => {
                let bytes = count.saturating_mul(unit.bytes());
                (plain(Value::Unsigned(bytes)), Kinds::number())
            }
            syntax::Constant::Text(text) => {
                (Constant::Text(text.clone()), Kinds { text: true, ..none })
            }
            syntax::Constant::Char(c) => (
                plain(Value::Char(*c)),
                Kinds {
                    character: true,
                    ..none
                },
            ),
        };
        Term::Value(Operand::Constant(constant), kinds)
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr, span: Span) -> Term {
        let join: fn(Box<Formula>, Box<Formula>) -> Formula = match op {
            BinaryOp::Iff => Formula::Iff,
            BinaryOp::Implies => Formula::Implies,
            BinaryOp::Or => Formula::Or,
            BinaryOp::And => Formula::And,
            BinaryOp::Union | BinaryOp::Intersection | BinaryOp::Difference => {
                self.not_in_assertion(span, "a set");
                let sets = (self.set(left), self.set(right));
                let (Some(left), Some(right)) = sets else {
                    return Term::Wrong;
                };
                let (left, right) = (Box::new(left), Box::new(right));
                return Term::Set(match op {
                    BinaryOp::Union => Set::Union(left, right),
                    BinaryOp::Intersection => Set::Intersection(left, right),
                    _ => Set::Difference(left, right),
                });
            }
            BinaryOp::In => {
                self.not_in_assertion(span, "a set");
                let (object, set) = (self.object(left), self.set(right));
                return match (object, set) {
                    (Some(object), Some(set)) => Term::Formula(Formula::In(object, Box::new(set))),
                    _ => Term::Wrong,
                };
            }
            _ => return self.compare(op, left, right, span),
        };
        match (self.formula(left), self.formula(right)) {
            (Some(left), Some(right)) => Term::Formula(join(Box::new(left), Box::new(right))),
            _ => Term::Wrong,
        }
    }

    /// An expression that must be a set.
    pub(super) fn set(&mut self, expr: &Expr) -> Option<Set> {
        match self.term(expr) {
            Term::Set(set) => Some(set),
            Term::Wrong => None,
            other => {
                let what = other.describe(self.scope.classes);
                let message = format!("a set is needed here, and this is {what}");
                let mut diagnostic = Diagnostic::new(expr.span, message);
                if matches!(&other, Term::Value(_, kinds) if kinds.is_object()) {
                    diagnostic = diagnostic.hint("a set of one object stands in { }");
                }
                self.report(diagnostic);
                None
            }
        }
    }

    fn label(&mut self, label: &Name) -> LabelId {
        let labels = &mut self.resolved.labels;
        let known = labels.iter().position(|it| *it == label.text);
        let id = known.unwrap_or(labels.len());
        if known.is_none() {
            labels.push(label.text.clone());
        }
        LabelId(id as u32)
    }

    /// What takes a traversal of its own has no place in an assertion.
    fn not_in_assertion(&mut self, span: Span, what: &str) {
        // Once for all that is in it.
        let inside = span.end <= self.told_until;
        if self.assertion.is_some() && !inside {
            self.told_until = span.end;
            let message = format!("an assertion takes one traversal, and {what} takes its own");
            let hint = "as an expression, without `assertion(…)`, it is fine";
            self.report(Diagnostic::new(span, message).hint(hint));
        }
    }

    fn reach(&mut self, relation: &syntax::Relation, of: &Expr) -> Term {
        let variable = match &of.kind {
            ExprKind::Name(name) => {
                let variable = self.variables.iter().rev().find(|(it, _)| it == name);
                variable.map(|&(_, id)| id)
            }
            ExprKind::Wrong => return Term::Wrong,
            _ => None,
        };
        let id = self.relation(relation);
        let Some(variable) = variable else {
            let message = "reach[…] is asked of a logic variable";
            let diagnostic = Diagnostic::new(of.span, message);
            let diagnostic = match self.variables.last() {
                Some((name, _)) => diagnostic.hint(format!("here of `{name}`")),
                None => diagnostic.hint("of other objects ask reach(source).has(object)"),
            };
            self.report(diagnostic);
            return Term::Wrong;
        };
        match id {
            Some(id) => Term::Formula(Formula::Reach(id, variable)),
            None => Term::Wrong,
        }
    }

    /// The number of a relation. Equal ones have the same.
    fn relation(&mut self, relation: &syntax::Relation) -> Option<RelationId> {
        let mut parts = Vec::new();
        let mut is_right = true;
        for part in &relation.parts {
            let source = part.source.as_ref().map(|it| self.source(it, "a source"));
            is_right &= source != Some(None);
            let exclusions = part.exclusions.iter();
            let exclusions: Option<Vec<Path>> = exclusions
                .map(|it| self.source(it, "an exclusion"))
                .collect::<Vec<_>>()
                .into_iter()
                .collect();
            is_right &= exclusions.is_some();
            parts.push(RelationPart {
                source: source.flatten(),
                exclusions: exclusions.unwrap_or_default(),
            });
        }
        if !is_right {
            return None;
        }
        let span = relation.span;
        let relation = Relation { span, parts };
        if let Some(known) = self.relations.iter().position(|it| *it == relation) {
            return Some(RelationId(known as u32));
        }
        if self.assertion == Some(AssertionKind::Plain) && !self.relations.is_empty() {
            let message = "`assertion` has one relation, and this is another";
            let hint = "use `assertDisjoint` if no object is in both";
            self.report(Diagnostic::new(span, message).hint(hint));
        }
        self.relations.push(relation);
        Some(RelationId(self.relations.len() as u32 - 1))
    }

    /// A path that starts outside all logic variables.
    fn source(&mut self, expr: &Expr, what: &str) -> Option<Path> {
        let mut first = expr;
        while let ExprKind::Field(of, _) | ExprKind::Element(of, _) = &first.kind {
            first = of;
        }
        let message = match &first.kind {
            ExprKind::Name(name) if self.variables.iter().any(|(it, _)| it == name) => {
                format!("{what} cannot depend on the logic variable `{name}`")
            }
            ExprKind::Constant(_) => format!("a constant cannot be {what}"),
            ExprKind::Name(_) | ExprKind::Host(_) => {
                let (path, kinds) = self.path(expr)?;
                if !kinds.is_object() {
                    let kind = kinds.describe(self.scope.classes);
                    self.wrong(
                        expr.span,
                        format!("{what} is an object, and this is {kind}"),
                    );
                    return None;
                }
                return Some(path);
            }
            ExprKind::Wrong => return None,
            _ => format!("{what} is a host variable, perhaps with fields behind it"),
        };
        self.wrong(first.span, message);
        None
    }

    fn quantified(&mut self, quantifier: &syntax::Quantifier) -> Term {
        let syntax::Quantifier { span, kind, .. } = *quantifier;
        let is_formula = matches!(kind, QuantifierKind::Forall | QuantifierKind::Exists);
        let head = Span::new(span.start, quantifier.variable.span.end.max(span.start));
        if self.assertion.is_some() && !is_formula {
            let what = match kind {
                QuantifierKind::NumOf => "num_of",
                _ => "a set",
            };
            self.wrong(
                head,
                format!("an assertion has no {what}, only forall and exists"),
            );
        } else if self.assertion.is_some() && !self.variables.is_empty() {
            let diagnostic = Diagnostic::new(head, "quantifiers of an assertion do not nest");
            let hint = "as an expression, without `assertion(…)`, they may";
            self.report(diagnostic.hint(hint));
        }
        let id = self.quantify(kind, span, quantifier.class.as_ref(), &quantifier.variable);
        let range = quantifier.range.as_ref().map(|it| self.formula(it));
        let body = self.formula(&quantifier.body);
        self.variables.pop();
        let own = &mut self.quantifiers[id.0 as usize];
        own.dereferences.sort_by_key(|it| it.path.steps.len());
        match (body, range) {
            (None, _) | (_, Some(None)) => return Term::Wrong,
            (Some(body), range) => {
                own.body = body;
                own.range = range.flatten();
            }
        }
        match kind {
            QuantifierKind::NumOf => Term::Value(Operand::Count(id), Kinds::number()),
            QuantifierKind::SetOf => Term::Set(Set::Of(id)),
            _ => Term::Formula(Formula::Quantified(id)),
        }
    }

    /// Opens a quantifier: its variable is in scope until it is popped.
    pub(super) fn quantify(
        &mut self,
        kind: QuantifierKind,
        span: Span,
        class: Option<&Name>,
        variable: &Name,
    ) -> QuantifierId {
        if self.is_bound(&variable.text) {
            let is_logic = self.variables.iter().any(|(it, _)| *it == variable.text);
            let what = if is_logic { "logic" } else { "host" };
            let message = format!("`{}` is already a {what} variable", variable.text);
            self.report(Diagnostic::new(variable.span, message).hint("choose another name"));
        }
        let classes = self.range(class);
        let id = QuantifierId(self.quantifiers.len() as u32);
        self.quantifiers.push(Quantifier {
            span,
            kind,
            parent: self.variables.last().map(|(_, id)| *id),
            variable: variable.text.clone(),
            classes,
            range: None,
            body: Formula::Constant(true),
            dereferences: Vec::new(),
        });
        self.variables.push((variable.text.clone(), id));
        id
    }
}
