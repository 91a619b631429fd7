//! Comparisons: which pairs of things compare, and by what.

use heaphound_heap::Value;

use super::kinds::Kinds;
use super::{Checker, Term};
use crate::diagnostic::{Diagnostic, nearest};
use crate::resolved::{Compare, CompareBy, CompareOp, Constant, Formula, Operand, QuantifierId};
use crate::syntax::{BinaryOp, Expr, ExprKind, Span};

impl Checker<'_> {
    pub(super) fn compare(&mut self, op: BinaryOp, left: &Expr, right: &Expr, span: Span) -> Term {
        let op = match op {
            BinaryOp::Eq => CompareOp::Eq,
            BinaryOp::Ne => CompareOp::Ne,
            BinaryOp::Lt => CompareOp::Lt,
            BinaryOp::Le => CompareOp::Le,
            BinaryOp::Gt => CompareOp::Gt,
            _ => CompareOp::Ge,
        };
        // A name that nothing binds can be a variant of the other side's enum.
        let (one, other) = match (self.is_free(left), self.is_free(right)) {
            (true, false) => {
                let other = self.term(right);
                (self.variant(left, &other), other)
            }
            (false, true) => {
                let one = self.term(left);
                let other = self.variant(right, &one);
                (one, other)
            }
            _ => (self.term(left), self.term(right)),
        };
        let is_order = !matches!(op, CompareOp::Eq | CompareOp::Ne);
        match (one, other) {
            (Term::Wrong, _) | (_, Term::Wrong) => Term::Wrong,
            (Term::Value(one, a), Term::Value(other, b)) => {
                match self.compare_by(&a, &b, is_order, span) {
                    Some(by) => Term::Formula(Formula::Compare(Compare {
                        op,
                        by,
                        left: one,
                        right: other,
                        span,
                    })),
                    None => Term::Wrong,
                }
            }
            (Term::Set(one), Term::Set(other)) if !is_order => {
                let same = Formula::SameSet(Box::new(one), Box::new(other));
                Term::Formula(match op {
                    CompareOp::Eq => same,
                    _ => Formula::Not(Box::new(same)),
                })
            }
            (one, other) if !is_order && is_truth(&one) && is_truth(&other) => {
                let sides = (
                    self.as_formula(one, left.span),
                    self.as_formula(other, right.span),
                );
                let (Some(one), Some(other)) = sides else {
                    return Term::Wrong;
                };
                let same = Formula::Iff(Box::new(one), Box::new(other));
                Term::Formula(match op {
                    CompareOp::Eq => same,
                    _ => Formula::Not(Box::new(same)),
                })
            }
            (one, other) => {
                let classes = self.scope.classes;
                let (a, b) = (one.describe(classes), other.describe(classes));
                let unlike = Diagnostic::new(span, format!("{a} does not compare with {b}"));
                let is_set = |it: &Term| matches!(it, Term::Set(_));
                let is_number = |it: &Term| matches!(it, Term::Value(_, kinds) if kinds.number);
                let is_formula = |it: &Term| matches!(it, Term::Formula(_));
                let diagnostic = match (is_set(&one), is_set(&other)) {
                    (true, true) => Diagnostic::new(span, "sets have no order")
                        .hint("compare their sizes, or ask (s - t).size() == 0"),
                    (true, _) if is_number(&other) => unlike.hint("compare its .size()"),
                    (_, true) if is_number(&one) => unlike.hint("compare its .size()"),
                    _ if is_formula(&one) && is_formula(&other) => {
                        Diagnostic::new(span, "true and false have no order")
                    }
                    _ if is_formula(&one) && is_number(&other) => {
                        let what = match left.kind {
                            ExprKind::Not(_) => "! binds more tightly: use parentheses",
                            _ => "a num_of that is compared stands in parentheses",
                        };
                        unlike.hint(what)
                    }
                    _ if matches!(left.kind, ExprKind::Not(_)) => {
                        unlike.hint("! binds more tightly: use parentheses")
                    }
                    _ => unlike,
                };
                self.report(diagnostic);
                Term::Wrong
            }
        }
    }

    /// Whether an expression is a name that nothing binds.
    fn is_free(&self, expr: &Expr) -> bool {
        matches!(&expr.kind, ExprKind::Name(name) if !self.is_bound(name))
    }

    /// A name that nothing binds, compared with something.
    fn variant(&mut self, expr: &Expr, other: &Term) -> Term {
        let ExprKind::Name(name) = &expr.kind else {
            return Term::Wrong;
        };
        // It may be a variant of an enum that only a class has that the heap does not know.
        let is_empty = |it: &(String, QuantifierId)| {
            let classes = &self.quantifiers[it.1.0 as usize].classes;
            classes.is_empty()
        };
        if matches!(other, Term::Wrong) && self.variables.iter().any(is_empty) {
            return Term::Wrong;
        }
        let enums = match other {
            Term::Value(_, kinds) => kinds.enums.as_slice(),
            _ => &[],
        };
        // As Rust writes it: `State::Open`.
        let short = name.rsplit("::").next().unwrap_or(name);
        let fits = |variants: &&&[&'static str]| variants.contains(&short);
        let fitting: Vec<&[&'static str]> = enums.iter().filter(fits).copied().collect();
        let all = || enums.iter().flat_map(|it| it.iter().copied());
        if let Some(variant) = all().find(|it| *it == short) {
            let enums = fitting;
            let none = Kinds::none();
            let constant = Constant::Plain(Value::Variant(variant));
            return Term::Value(Operand::Constant(constant), Kinds { enums, ..none });
        }
        let has_others = matches!(other, Term::Value(_, kinds) if kinds.is_object());
        if enums.is_empty() || has_others {
            // Reports that it is not bound.
            return self.term(expr);
        }
        let message = format!("there is no variant `{name}`");
        let diagnostic = Diagnostic::new(expr.span, message);
        let diagnostic = match nearest(short, all()) {
            Some(near) => diagnostic.hint(format!("did you mean `{near}`?")),
            None => {
                let few: Vec<&str> = all().take(6).collect();
                diagnostic.hint(format!("there are {}", few.join(", ")))
            }
        };
        self.report(diagnostic);
        Term::Wrong
    }

    /// What decides a comparison of two values, if anything can.
    fn compare_by(
        &mut self,
        a: &Kinds,
        b: &Kinds,
        is_order: bool,
        span: Span,
    ) -> Option<CompareBy> {
        let classes = self.scope.classes;
        let ordered = a.number && b.number || a.character && b.character;
        let enums = a.enums.iter().any(|it| b.enums.contains(it));
        let plain = ordered || !is_order && (a.truth && b.truth || enums);
        // References compare by identity, as in the paper, unless text is written down or
        // asked for an order.
        let both_text = a.is_text(classes) && b.is_text(classes);
        let text = both_text && (a.text || b.text || is_order);
        let both = classes
            .iter()
            .any(|it| a.classes.contains(it.id) && b.classes.contains(it.id));
        let both = both || a.classes.is_all() && b.classes.is_all();
        let null = |a: &Kinds, b: &Kinds| a.null && (b.null || b.is_object());
        let constant = |a: &Kinds| a.null && !a.is_object() && !a.is_plain();
        // Two references that can both be null but never the same object: of no use.
        let identity = both || (constant(a) || constant(b)) && (null(a, b) || null(b, a));
        let identity = identity && !is_order;
        match (plain, text, identity) {
            (true, false, false) => return Some(CompareBy::Plain),
            (false, true, false) => return Some(CompareBy::Text),
            (false, false, true) => return Some(CompareBy::Identity),
            (false, false, false) => (),
            _ => return Some(CompareBy::Found),
        }
        let alike = enums || a.truth && b.truth || both || null(a, b) || null(b, a);
        let (one, other) = (a.describe(classes), b.describe(classes));
        let diagnostic = match is_order && alike {
            true if constant(a) || constant(b) => Diagnostic::new(span, "null has no order"),
            true if a.truth && b.truth => Diagnostic::new(span, "true and false have no order"),
            true if enums => Diagnostic::new(span, "variants of an enum have no order"),
            true => Diagnostic::new(span, "objects have no order").hint("compare their fields"),
            false => {
                let message = format!("{one} does not compare with {other}");
                let diagnostic = Diagnostic::new(span, message);
                let text_with = |flag: fn(&Kinds) -> bool| a.text && flag(b) || b.text && flag(a);
                if text_with(|it| it.character) {
                    diagnostic.hint("a character stands in '…'")
                } else if text_with(|it| !it.enums.is_empty()) {
                    diagnostic.hint("a variant stands without quotes")
                } else if a.opaque || b.opaque {
                    diagnostic.hint("derive Plain for the field's type to make it readable")
                } else {
                    diagnostic
                }
            }
        };
        self.report(diagnostic);
        None
    }
}

fn is_truth(term: &Term) -> bool {
    match term {
        Term::Formula(_) => true,
        Term::Value(_, kinds) => kinds.truth,
        _ => false,
    }
}
