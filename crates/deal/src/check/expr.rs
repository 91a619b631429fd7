//! Expressions: what they are, and whether they may stand where they stand.

use heaphound_heap::Value;

use super::kinds::Kinds;
use super::{Checker, NamedSet, Term};
use crate::diagnostic::Diagnostic;
use crate::resolved::{
    Constant, Formula, HostSource, LabelId, Operand, Path, Quantifier, QuantifierId, Relation,
    RelationId, RelationPart, Set,
};
use crate::syntax::{
    self, AssertionKind, BinaryOp, Expr, ExprKind, Fold, Name, QuantifierKind, Span,
};
use crate::traverse::MOST_RELATIONS;

impl Checker<'_> {
    /// What an expression is. Each kind has a function of its own, so that a tall tree needs
    /// little stack.
    pub(super) fn term(&mut self, expr: &Expr) -> Term {
        let span = expr.span;
        let term = match &expr.kind {
            ExprKind::Name(name) if self.bound_value(name).is_some() => {
                self.bound_value(name).map(bound)
            }
            ExprKind::Name(name) if self.is_set(name) => self.named_set(name, span),
            ExprKind::Name(_) | ExprKind::Host(_) | ExprKind::Field(..) | ExprKind::Element(..) => {
                self.value(expr)
            }
            ExprKind::Constant(constant) => self.constant(constant, span),
            ExprKind::Not(of) => self.not(of),
            ExprKind::Binary(op, left, right) => match op {
                BinaryOp::Iff | BinaryOp::Implies | BinaryOp::Or | BinaryOp::And => {
                    self.joined(*op, left, right)
                }
                BinaryOp::Union | BinaryOp::Intersection | BinaryOp::Difference => {
                    self.not_in_assertion(span, "a set");
                    self.combined(*op, left, right)
                }
                BinaryOp::In => match self.class_behind_in(right) {
                    Some(class) => self.instance_of(left, &class),
                    None => {
                        self.not_in_assertion(span, "a set");
                        self.member(left, right)
                    }
                },
                op => Some(self.compare(*op, left, right, span)),
            },
            ExprKind::InstanceOf(of, class) => self.instance_of(of, class),
            ExprKind::HasLabel(of, label) => self.has_label(of, label),
            ExprKind::Reach(relation, of) => self.reach(relation, of),
            ExprKind::Quantifier(quantifier) => self.quantified(quantifier),
            ExprKind::Set(objects) => {
                self.not_in_assertion(span, "a set");
                self.literal(objects)
            }
            ExprKind::Call(name, arguments) => {
                self.not_in_assertion(span, &format!("`{}`", name.text));
                self.call(name, arguments)
            }
            ExprKind::Method(of, name, arguments) => {
                self.not_in_assertion(span, &format!("`{}`", name.text));
                self.method(of, name, arguments, span)
            }
            ExprKind::Wrong => None,
        };
        term.unwrap_or(Term::Wrong)
    }

    /// The set that a name stands for.
    fn named_set(&mut self, name: &str, span: Span) -> Option<Term> {
        self.not_in_assertion(span, "a set");
        if let Some(set) = self.sets.get(name) {
            let NamedSet { value, parts } = set.clone()?;
            self.set_parts += parts;
            // It knows neither the variables nor the assertion around its name.
            let variables = std::mem::take(&mut self.variables);
            let assertion = self.assertion.take();
            let set = self.set(&value);
            self.variables = variables;
            self.assertion = assertion;
            return set.map(Term::Set);
        }
        let (_, objects) = self.scope.sets.iter().find(|(it, _)| it == name)?;
        let paths = objects.iter().map(|object| {
            let path = self.host(HostSource::Named(object.clone()), span);
            self.not_null(&path);
            path
        });
        Some(Term::Set(Set::Literal(paths.collect())))
    }

    fn value(&mut self, expr: &Expr) -> Option<Term> {
        let (path, kinds) = self.path(expr)?;
        self.dereferenced(&path);
        Some(Term::Value(Operand::Path(path), kinds))
    }

    fn not(&mut self, of: &Expr) -> Option<Term> {
        let of = self.formula(of)?;
        Some(Term::Formula(Formula::Not(Box::new(of))))
    }

    fn instance_of(&mut self, of: &Expr, class: &Name) -> Option<Term> {
        let path = self.reference(of);
        let classes = self.range(Some(class));
        // A class that is wrong was reported.
        let is_known = class.text == "Object" || !classes.is_all();
        let path = path.filter(|_| is_known)?;
        Some(Term::Formula(Formula::InstanceOf(path, classes)))
    }

    fn has_label(&mut self, of: &Expr, label: &Name) -> Option<Term> {
        let path = self.reference(of)?;
        Some(Term::Formula(Formula::Label(path, self.label(label))))
    }

    fn literal(&mut self, objects: &[Expr]) -> Option<Term> {
        // All of them, so that all mistakes are reported.
        let objects: Vec<Option<Path>> = objects.iter().map(|it| self.object(it)).collect();
        let objects: Option<Vec<Path>> = objects.into_iter().collect();
        Some(Term::Set(Set::Literal(objects?)))
    }

    fn joined(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Term> {
        let left = self.formula(left).map(Box::new);
        let right = self.formula(right).map(Box::new);
        let (left, right) = (left?, right?);
        Some(Term::Formula(match op {
            BinaryOp::Iff => Formula::Iff(left, right),
            BinaryOp::Implies => Formula::Implies(left, right),
            BinaryOp::Or => Formula::Or(left, right),
            _ => Formula::And(left, right),
        }))
    }

    fn combined(&mut self, op: BinaryOp, left: &Expr, right: &Expr) -> Option<Term> {
        let left = self.set(left).map(Box::new);
        let right = self.set(right).map(Box::new);
        let (left, right) = (left?, right?);
        Some(Term::Set(match op {
            BinaryOp::Union => Set::Union(left, right),
            BinaryOp::Intersection => Set::Intersection(left, right),
            _ => Set::Difference(left, right),
        }))
    }

    /// The class that a word behind `in` is, unless it is a set or anything else that is bound.
    fn class_behind_in(&mut self, expr: &Expr) -> Option<Name> {
        let ExprKind::Name(text) = &expr.kind else {
            return None;
        };
        let (span, text) = (expr.span, text.clone());
        let is_class = text == "Object"
            || self.optional.contains(&text)
            || !self.classes_named(&text).is_empty();
        if is_class && self.is_set(&text) {
            let message = format!("`{text}` is a class and a set");
            let hint = format!("the class is `instanceof {text}`; the set needs another name");
            self.report(Diagnostic::new(span, message).hint(hint));
            return Some(Name {
                span,
                text: String::new(),
            });
        }
        (is_class || !self.is_bound(&text)).then_some(Name { span, text })
    }

    fn member(&mut self, object: &Expr, set: &Expr) -> Option<Term> {
        let (object, set) = (self.object(object), self.set(set));
        Some(Term::Formula(Formula::In(object?, Box::new(set?))))
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

    fn constant(&mut self, constant: &syntax::Constant, span: Span) -> Option<Term> {
        let resolved = resolve(constant);
        if resolved.is_none() {
            self.wrong(span, "no field holds a number as large as this");
        }
        resolved.map(bound)
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
        self.labels.push(LabelId(id as u32));
        LabelId(id as u32)
    }

    /// What takes a traversal of its own has no place in an assertion.
    fn not_in_assertion(&mut self, span: Span, what: &str) {
        // Once for all that is in it.
        let inside = span.end <= self.reported_until;
        if self.assertion.is_some() && !inside {
            self.reported_until = span.end;
            let message = format!("an assertion takes one traversal, and {what} takes its own");
            let hint = "as an expression, without `assertion(…)`, it is fine";
            self.report(Diagnostic::new(span, message).hint(hint));
        }
    }

    fn reach(&mut self, relation: &syntax::Relation, of: &Expr) -> Option<Term> {
        let variable = match &of.kind {
            ExprKind::Name(name) => {
                let variable = self.variables.iter().rev().find(|(it, _)| it == name);
                variable.map(|&(_, id)| id)
            }
            ExprKind::Wrong => return None,
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
            return None;
        };
        Some(Term::Formula(Formula::Reach(id?, variable)))
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
        if self.relations.len() == MOST_RELATIONS {
            let message = format!("one statement has at most {MOST_RELATIONS} relations");
            self.wrong(relation.span, message);
            return None;
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
                self.dereferenced(&path);
                self.not_null(&path);
                return Some(path);
            }
            ExprKind::Wrong => return None,
            _ => format!("{what} is a host variable, perhaps with fields behind it"),
        };
        self.wrong(first.span, message);
        None
    }

    fn quantified(&mut self, quantifier: &syntax::Quantifier) -> Option<Term> {
        let syntax::Quantifier { span, kind, .. } = *quantifier;
        if let QuantifierKind::Fold(fold) = kind {
            return self.folded_quantifier(quantifier, fold);
        }
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
        let (class, member) = self.ranged(quantifier.class.as_ref(), &quantifier.variable);
        let id = self.quantify(kind, span, class, &quantifier.variable);
        let range = self.both(member.as_ref(), quantifier.range.as_ref());
        let body = self.formula(&quantifier.body);
        self.variables.pop();
        let own = &mut self.quantifiers[id.0 as usize];
        own.dereferences.sort_by_key(|it| it.path.steps.len());
        match (body, range) {
            // Of no object nothing is asked.
            (None, _) | (_, Some(None)) if own.classes.is_empty() => {}
            (None, _) | (_, Some(None)) => return None,
            (Some(body), range) => {
                own.body = body;
                own.range = range.flatten();
            }
        }
        Some(match kind {
            QuantifierKind::NumOf => Term::Value(Operand::Count(id), Kinds::number()),
            QuantifierKind::SetOf => Term::Set(Set::Of(id)),
            _ => Term::Formula(Formula::Quantified(id)),
        })
    }

    /// `\sum Node x; range; x.val`: the objects of the range, and one value made of theirs.
    fn folded_quantifier(&mut self, quantifier: &syntax::Quantifier, fold: Fold) -> Option<Term> {
        let span = quantifier.span;
        let kind = QuantifierKind::SetOf;
        self.not_in_assertion(span, &format!("`{}`", quantifier.kind.name()));
        let (class, member) = self.ranged(quantifier.class.as_ref(), &quantifier.variable);
        let id = self.quantify(kind, span, class, &quantifier.variable);
        let range = self.both(member.as_ref(), quantifier.range.as_ref());
        let value = self.term(&quantifier.body);
        self.variables.pop();
        let own = &mut self.quantifiers[id.0 as usize];
        own.dereferences.sort_by_key(|it| it.path.steps.len());
        let nothing = own.classes.is_empty();
        match range {
            Some(Some(range)) => own.body = range,
            Some(None) if !nothing => return None,
            _ => {}
        }
        let (operand, kinds) = match value {
            Term::Value(operand, kinds) => (operand, kinds),
            // Of no object nothing is asked.
            Term::Wrong if nothing => (Operand::Constant(Constant::Null), Kinds::number()),
            Term::Wrong => return None,
            other => {
                let what = other.describe(self.scope.classes);
                let message = format!("a value is needed here, and this is {what}");
                self.wrong(quantifier.body.span, message);
                return None;
            }
        };
        self.folds(fold, &kinds, quantifier.body.span)?;
        let kinds = match fold {
            Fold::Sum => Kinds::number(),
            // Of no objects it is null.
            _ => Kinds {
                null: true,
                ..kinds
            },
        };
        let fold = Operand::Fold(id, fold, Box::new(operand));
        Some(Term::Value(fold, kinds))
    }

    /// Reports values that cannot be made one.
    pub(super) fn folds(&mut self, fold: Fold, kinds: &Kinds, span: Span) -> Option<()> {
        let is_text = kinds.is_text(self.scope.classes);
        let fits = kinds.number || fold != Fold::Sum && (kinds.character || is_text);
        if fits {
            return Some(());
        }
        let what = kinds.describe(self.scope.classes);
        let message = match fold {
            Fold::Sum => format!("a sum is of numbers, and this is {what}"),
            _ => format!("this is {what}, which has no order"),
        };
        self.wrong(span, message);
        None
    }

    /// What a quantifier ranges over: a class, or the objects of a set that has a name. These are those
    /// of which the formula holds: `x in s`.
    pub(super) fn ranged<'n>(
        &self,
        class: Option<&'n Name>,
        variable: &Name,
    ) -> (Option<&'n Name>, Option<Expr>) {
        let set =
            class.filter(|it| self.is_set(&it.text) && self.classes_named(&it.text).is_empty());
        let Some(set) = set else {
            return (class, None);
        };
        let name = |name: &Name| {
            Box::new(Expr {
                span: name.span,
                kind: ExprKind::Name(name.text.clone()),
            })
        };
        let member = Expr {
            span: set.span,
            kind: ExprKind::Binary(BinaryOp::In, name(variable), name(set)),
        };
        (None, Some(member))
    }

    /// Two formulas as one, if there are any. None inside if one of them is wrong.
    pub(super) fn both(&mut self, a: Option<&Expr>, b: Option<&Expr>) -> Option<Option<Formula>> {
        let a = a.map(|it| self.formula(it));
        let b = b.map(|it| self.formula(it));
        match (a, b) {
            (Some(a), Some(b)) => {
                Some(a.and_then(|a| Some(Formula::And(Box::new(a), Box::new(b?)))))
            }
            (a, b) => a.or(b),
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

/// What a constant of a text is; none if no field can hold it.
pub(super) fn resolve(constant: &syntax::Constant) -> Option<Constant> {
    Some(match constant {
        syntax::Constant::Null => Constant::Null,
        syntax::Constant::Bool(value) => Constant::Plain(Value::Bool(*value)),
        syntax::Constant::Integer(value) => {
            Constant::Plain(match (u64::try_from(*value), i64::try_from(*value)) {
                (Ok(value), _) => Value::Unsigned(value),
                (_, Ok(value)) => Value::Signed(value),
                _ => return None,
            })
        }
        syntax::Constant::Float(value) => Constant::Plain(Value::Float(*value)),
        syntax::Constant::Size(count, unit) => {
            Constant::Plain(Value::Unsigned(count.saturating_mul(unit.bytes())))
        }
        syntax::Constant::Text(text) => Constant::Text(text.clone()),
        syntax::Constant::Char(c) => Constant::Plain(Value::Char(*c)),
    })
}

/// A constant as a term.
fn bound(constant: Constant) -> Term {
    let none = Kinds::none();
    let kinds = match &constant {
        Constant::Null => Kinds { null: true, ..none },
        Constant::Text(_) => Kinds { text: true, ..none },
        Constant::Plain(Value::Bool(_)) => Kinds {
            truth: true,
            ..none
        },
        Constant::Plain(Value::Char(_)) => Kinds {
            character: true,
            ..none
        },
        Constant::Plain(_) => Kinds::number(),
    };
    Term::Value(Operand::Constant(constant), kinds)
}
