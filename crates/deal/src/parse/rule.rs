//! Files: bindings, rules, and the statements in them.

use heaphound_heap::spelling::continues_word;

use super::Parser;
use super::expr::can_be_variable;
use crate::diagnostic::{Diagnostic, nearest};
use crate::lexer::TokenKind;
use crate::syntax::{
    Assertion, AssertionKind, BinaryOp, Constant, Expr, ExprKind, Fold, GcAssertion,
    GcAssertionKind, Item, Let, Limit, Name, Optional, Query, Rule, Select, Severity, Statement,
    Target,
};

/// The names of GC assertions.
pub const GC: [&str; 5] = ["instances", "volume", "unshared", "owned_by", "dead"];

impl Parser<'_> {
    /// All that a text consists of.
    pub(super) fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        while self.token().kind != TokenKind::End {
            if self.eat(";") {
                continue;
            }
            let before = self.at;
            items.push(self.item());
            let is_end = self.token().kind == TokenKind::End;
            if !is_end && !self.eat(";") {
                self.expected("`;`");
                self.skip_to(&[";"]);
                // A bracket that nothing opened.
                if self.at == before || matches!(self.token().kind, TokenKind::Mark(_)) {
                    self.advance();
                }
            }
        }
        items
    }

    fn item(&mut self) -> Item {
        let start = self.span();
        if !self.starts_item() {
            return Item::Statement(self.statement());
        }
        if self.eat_word("let") {
            let name = self.name("the name of a host variable");
            self.expect("=", " behind the name");
            let value = self.binary(6).expr;
            let span = self.since(start);
            return Item::Let(Let { span, name, value });
        }
        if self.eat_word("optional") {
            let are_fields = self.is_word("field");
            self.advance();
            let mut names = vec![self.class()];
            while self.eat(",") {
                names.push(self.class());
            }
            let span = self.since(start);
            return Item::Optional(Optional {
                span,
                are_fields,
                names,
            });
        }
        self.advance();
        let name = self.rule_name();
        let severity = match self.word_at(0) {
            Some("error") => Some(Severity::Error),
            Some("warning") => Some(Severity::Warning),
            Some("note") => Some(Severity::Note),
            // Something else stands there, or the colon is missing.
            Some(word) => {
                let known = || ["error", "warning", "note"].into_iter();
                let diagnostic = Diagnostic::new(self.span(), format!("`{word}` is no severity"));
                let diagnostic = match nearest(word, known()) {
                    Some(_) => Some(diagnostic.meant(word, known())),
                    None if self.is_nth(1, ":") => {
                        Some(diagnostic.hint("there are error, warning and note"))
                    }
                    None => None,
                };
                diagnostic.map(|diagnostic| {
                    self.report(diagnostic);
                    Severity::Error
                })
            }
            None => None,
        };
        if severity.is_some() {
            self.advance();
        }
        let message = match self.token().kind {
            TokenKind::Text(_) => Some(self.name_or_text("a message")),
            _ => None,
        };
        self.expect(":", " and then what must hold");
        let statement = self.statement();
        Item::Rule(Rule {
            span: self.since(start),
            name,
            severity,
            message,
            statement,
        })
    }

    /// The name of a rule, which may have hyphens.
    fn rule_name(&mut self) -> Name {
        let span = self.span();
        if !matches!(self.token().kind, TokenKind::Word(_)) {
            return self.name_or_text("the name of a rule");
        }
        let rest = &self.text[span.start..];
        let end = rest.find(|c| !continues_word(c) && c != '-');
        let end = rest[..end.unwrap_or(rest.len())]
            .trim_end_matches('-')
            .len();
        let end = (span.start + end).max(span.end);
        while self.span().start < end {
            self.advance();
        }
        let span = self.since(span);
        let text = self.text[span.start..span.end].to_string();
        Name { span, text }
    }

    fn statement(&mut self) -> Statement {
        let word = self.word_at(0).unwrap_or_default().to_string();
        let is_call = self.is_nth(1, "(");
        let kind = match word.as_str() {
            "assertion" => Some(AssertionKind::Plain),
            "assertDisjoint" => Some(AssertionKind::Disjoint),
            "unsafeAssert" => Some(AssertionKind::Unsafe),
            _ => None,
        };
        let is_name = self.is_class_start(1);
        match kind {
            Some(kind) if is_call => Statement::Assertion(self.assertion(kind)),
            _ if is_call && GC.contains(&word.as_str()) => Statement::Gc(self.gc(&word)),
            _ if word == "query" && is_name => Statement::Query(self.query()),
            _ if word == "query" && is_call => Statement::Query(self.query_in_parentheses()),
            _ => Statement::Expr(self.expr()),
        }
    }

    fn assertion(&mut self, kind: AssertionKind) -> Assertion {
        let start = self.span();
        self.advance();
        self.advance();
        let formula = match self.token().kind.clone() {
            TokenKind::Text(text) if self.is_nth(1, ")") => self.formula_in_quotes(&text),
            _ => self.expr(),
        };
        self.close(")");
        Assertion {
            span: self.since(start),
            kind,
            formula,
        }
    }

    /// The paper passes formulas as strings: `assertion("forall …")`.
    fn formula_in_quotes(&mut self, text: &str) -> Expr {
        let span = self.span();
        self.advance();
        let (start, end) = (span.start + 1, span.end - 1);
        // With escapes, places in the text would not be places in the string.
        if self.text.get(start..end) != Some(text) {
            let message = "a formula in quotes has no escapes";
            self.diagnostics
                .push(Diagnostic::new(span, message).hint("leave the quotes out"));
            return Expr::new(span, ExprKind::Wrong);
        }
        let mut inner = Parser::new(self.text, start, end.max(start));
        let formula = inner.expr();
        if inner.token().kind != TokenKind::End {
            inner.expected("the end of the formula");
        }
        self.diagnostics.append(&mut inner.diagnostics);
        self.comments.append(&mut inner.comments);
        formula
    }

    fn gc(&mut self, word: &str) -> GcAssertion {
        let start = self.span();
        self.advance();
        self.advance();
        let target = self.target();
        let second = match word {
            "owned_by" => {
                self.expect(",", " and then what it owns");
                Some(self.target())
            }
            _ => None,
        };
        let mut slots = Vec::new();
        if word == "unshared" && self.eat_word("by") {
            slots.push(self.name_or_text("the name of a slot"));
            while self.eat(",") {
                slots.push(self.name_or_text("the name of a slot"));
            }
        }
        self.close(")");
        let kind = match (word, second) {
            ("instances", _) => GcAssertionKind::Instances(target, self.limit()),
            ("volume", _) => GcAssertionKind::Volume(target, self.limit()),
            ("unshared", _) => GcAssertionKind::Unshared(target, slots),
            (_, Some(ownee)) => GcAssertionKind::OwnedBy(target, ownee),
            (_, None) => GcAssertionKind::Dead(target),
        };
        let span = self.since(start);
        GcAssertion { span, kind }
    }

    fn target(&mut self) -> Target {
        let start = self.span();
        let has_more = self.is_class_start(1);
        let only = has_more && self.eat_word("only");
        // `char[]` would be an element of something else, and `reach[](x)` is a call.
        let n = self.behind_class(1);
        let is_array = self.is_class_part(0) && self.is_nth(n - 1, "]") && !self.is_nth(n, "(");
        let what = match is_array {
            true => {
                let Name { span, text } = self.class();
                Expr::new(span, ExprKind::Constant(Constant::Text(text)))
            }
            false => self.binary(6).expr,
        };
        let span = self.since(start);
        Target { span, only, what }
    }

    fn limit(&mut self) -> Limit {
        let start = self.span();
        let strict = self.is("<");
        if !self.eat("<") && !self.eat("<=") {
            self.expected("`<=` and a limit");
            // Another comparison: what follows it is still a limit.
            if [">", ">=", "==", "=", "!="]
                .iter()
                .any(|mark| self.is(mark))
            {
                self.advance();
            }
        }
        let value = self.binary(6).expr;
        let span = self.since(start);
        Limit {
            span,
            strict,
            value,
        }
    }

    fn query(&mut self) -> Query {
        let start = self.span();
        self.advance();
        let (class, variable) = self.binder();
        let body = match self.eat(":") {
            true => Some(self.expr()),
            false => None,
        };
        let select = match self.eat_word("select") {
            true => self.select(),
            false => Select::Objects,
        };
        let mut limit = None;
        if self.eat_word("limit") {
            limit = match self.token().kind {
                TokenKind::Integer(value) => u64::try_from(value).ok(),
                _ => None,
            };
            match limit {
                Some(_) => self.advance(),
                None => self.expected("how many at most"),
            }
        }
        Query {
            span: self.since(start),
            class,
            variable,
            body,
            select,
            limit,
        }
    }

    /// The paper's way to write a query: `query(x.val, (x ∈ Node ∧ Rd(x)) ⇒ (x.val > 0))`. What it
    /// selects comes first, and names the variable. Of the objects before the arrow it finds those
    /// of which the rest is true, as the paper says in words.
    fn query_in_parentheses(&mut self) -> Query {
        let start = self.span();
        self.advance();
        self.advance();
        let value = self.expr();
        self.expect(",", " and then what is found");
        let found = self.expr();
        self.close(")");
        let mut first = &value;
        while let ExprKind::Field(of, _) | ExprKind::Element(of, _) = &first.kind {
            first = of;
        }
        let variable = match &first.kind {
            ExprKind::Name(text) if can_be_variable(text) => Name {
                span: first.span,
                text: text.clone(),
            },
            _ => {
                if first.kind != ExprKind::Wrong {
                    let message = "a query selects its variable, or fields of it";
                    self.report(Diagnostic::new(first.span, message));
                }
                Name {
                    span: first.span,
                    text: String::new(),
                }
            }
        };
        let select = match &value.kind {
            ExprKind::Name(_) => Select::Objects,
            _ => Select::Values(vec![value]),
        };
        let mut parts = Vec::new();
        match found.kind {
            ExprKind::Binary(BinaryOp::Implies, range, body) => {
                conjuncts(*range, &mut parts);
                conjuncts(*body, &mut parts);
            }
            _ => conjuncts(found, &mut parts),
        }
        let class_of = |part: &Expr| {
            let (of, class) = part.as_instance_of()?;
            let is_own = matches!(&of.kind, ExprKind::Name(name) if *name == variable.text);
            is_own.then_some(class)
        };
        let at = parts.iter().position(|it| class_of(it).is_some());
        let class = at.and_then(|at| class_of(&parts.remove(at)));
        let body = parts.into_iter().reduce(|left, right| {
            let span = left.span.to(right.span);
            let kind = ExprKind::Binary(BinaryOp::And, Box::new(left), Box::new(right));
            Expr::new(span, kind)
        });
        Query {
            span: self.since(start),
            class,
            variable,
            body,
            select,
            limit: None,
        }
    }

    fn select(&mut self) -> Select {
        let start = self.span();
        let fold = match self.word_at(0).filter(|_| self.is_nth(1, "(")) {
            Some("count") => {
                self.advance();
                self.advance();
                self.close(")");
                return Select::Count(self.since(start));
            }
            Some("sum") => Some(Fold::Sum),
            Some("min") => Some(Fold::Min),
            Some("max") => Some(Fold::Max),
            _ => None,
        };
        if let Some(fold) = fold {
            self.advance();
            self.advance();
            let of = self.expr();
            self.close(")");
            return Select::Fold(self.since(start), fold, of);
        }
        let mut values = vec![self.binary(6).expr];
        while self.eat(",") {
            values.push(self.binary(6).expr);
        }
        Select::Values(values)
    }
}

/// Takes apart what is joined by `&&`.
fn conjuncts(expr: Expr, all: &mut Vec<Expr>) {
    match expr.kind {
        ExprKind::Binary(BinaryOp::And, left, right) => {
            conjuncts(*left, all);
            conjuncts(*right, all);
        }
        _ => all.push(expr),
    }
}
