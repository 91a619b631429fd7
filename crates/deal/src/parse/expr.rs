//! Expressions: operators by how tightly they bind, quantifiers, relations, calls.

use super::{DEEPEST, Parser, Tall};
use crate::diagnostic::Diagnostic;
use crate::lexer::TokenKind;
use crate::syntax::{
    BinaryOp, Constant, Expr, ExprKind, Name, Quantifier, QuantifierKind, Relation, RelationPart,
    Span, Unit,
};

/// What cannot be the name of a variable.
const RESERVED: [&str; 6] = ["null", "true", "false", "forall", "exists", "num_of"];

const UNITS: [(&str, Unit); 8] = [
    ("bytes", Unit::Bytes),
    ("B", Unit::Bytes),
    ("KiB", Unit::KiB),
    ("MiB", Unit::MiB),
    ("GiB", Unit::GiB),
    ("KB", Unit::Kb),
    ("MB", Unit::Mb),
    ("GB", Unit::Gb),
];

/// What stands between two operands.
enum Infix {
    Binary(BinaryOp),
    InstanceOf,
    HasLabel,
}

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expr(&mut self) -> Expr {
        self.tall().expr
    }

    fn tall(&mut self) -> Tall {
        self.binary(0)
    }

    /// Operands and the operators between them that bind as tightly as `least`.
    pub(super) fn binary(&mut self, least: u8) -> Tall {
        self.deeper(|it| it.operators(least))
    }

    /// Goes one level deeper, unless that is too deep.
    fn deeper(&mut self, parse: impl FnOnce(&mut Self) -> Tall) -> Tall {
        let start = self.span();
        if self.depth >= DEEPEST {
            self.report(Diagnostic::new(start, "this nests too deep"));
            // All that is inside: nothing else can be said of it.
            self.skip_to(&[";"]);
            return Tall::leaf(self.since(start), ExprKind::Wrong);
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn operators(&mut self, least: u8) -> Tall {
        let mut left = self.unary();
        while let Some(infix) = self.infix() {
            let binding = match infix {
                Infix::Binary(op) => op.binding(),
                _ => BinaryOp::Eq.binding(),
            };
            if binding < least {
                break;
            }
            let compares = binding == BinaryOp::Eq.binding();
            let was_comparison = matches!(&left.expr.kind,
                ExprKind::Binary(op, ..) if op.compares());
            // Parentheses are gone from the tree but not from the text.
            let chains = compares && was_comparison && left.expr.span.end == self.last_end();
            if chains {
                let diagnostic = Diagnostic::new(self.span(), "comparisons do not chain");
                self.report(diagnostic.hint("join two of them with &&"));
            }
            left = self.infixed(left, infix);
            if chains {
                left = Tall::leaf(left.expr.span, ExprKind::Wrong);
            }
        }
        left
    }

    fn infix(&self) -> Option<Infix> {
        let op = match &self.token().kind {
            TokenKind::Mark(mark) => match *mark {
                "<->" => BinaryOp::Iff,
                "->" => BinaryOp::Implies,
                "||" => BinaryOp::Or,
                "&&" => BinaryOp::And,
                "==" | "=" => BinaryOp::Eq,
                "!=" => BinaryOp::Ne,
                "<" => BinaryOp::Lt,
                "<=" => BinaryOp::Le,
                ">" => BinaryOp::Gt,
                ">=" => BinaryOp::Ge,
                "in" => BinaryOp::In,
                "|" => BinaryOp::Union,
                "&" => BinaryOp::Intersection,
                "-" => BinaryOp::Difference,
                _ => return None,
            },
            TokenKind::Word(word) => match word.as_str() {
                "in" => BinaryOp::In,
                "instanceof" => return Some(Infix::InstanceOf),
                "is" => return Some(Infix::HasLabel),
                _ => return None,
            },
            _ => return None,
        };
        // `x in Node` asks for the class, `x in reach(d)` whether a set has x.
        let names_class = match &self.nth(1).kind {
            TokenKind::Text(_) => true,
            TokenKind::Word(_) | TokenKind::Class(_) => {
                let n = self.behind_class(2);
                !self.is_nth(n, "(") && !self.is_nth(n, "[")
            }
            _ => false,
        };
        match op {
            BinaryOp::In if names_class => Some(Infix::InstanceOf),
            op => Some(Infix::Binary(op)),
        }
    }

    fn infixed(&mut self, left: Tall, infix: Infix) -> Tall {
        let start = left.expr.span;
        self.advance();
        match infix {
            Infix::InstanceOf => {
                let class = self.class();
                let kind = ExprKind::InstanceOf(Box::new(left.expr), class);
                self.grow(self.since(start), kind, left.height)
            }
            Infix::HasLabel => {
                let label = self.name_or_text("a label");
                let kind = ExprKind::HasLabel(Box::new(left.expr), label);
                self.grow(self.since(start), kind, left.height)
            }
            Infix::Binary(op) => {
                // Only `->` groups to the right.
                let least = op.binding() + u8::from(op != BinaryOp::Implies);
                let right = self.binary(least);
                let height = left.height.max(right.height);
                let kind = ExprKind::Binary(op, Box::new(left.expr), Box::new(right.expr));
                self.grow(self.since(start), kind, height)
            }
        }
    }

    fn unary(&mut self) -> Tall {
        let start = self.span();
        let mut nots = Vec::new();
        while self.is("!") {
            nots.push(self.span());
            self.advance();
        }
        let mut inner = match self.quantifier_kind() {
            Some(kind) => self.quantifier(kind),
            None => self.postfix(),
        };
        for not in nots.into_iter().rev() {
            let kind = ExprKind::Not(Box::new(inner.expr));
            inner = self.grow(self.since(not), kind, inner.height);
        }
        if inner.expr.kind == ExprKind::Wrong {
            inner.expr.span = self.since(start);
        }
        inner
    }

    fn quantifier_kind(&self) -> Option<QuantifierKind> {
        let word = match &self.token().kind {
            TokenKind::Mark(mark) => mark,
            TokenKind::Word(word) => word.as_str(),
            _ => return None,
        };
        match word {
            "forall" => Some(QuantifierKind::Forall),
            "exists" => Some(QuantifierKind::Exists),
            "num_of" => Some(QuantifierKind::NumOf),
            _ => None,
        }
    }

    fn quantifier(&mut self, kind: QuantifierKind) -> Tall {
        let start = self.span();
        self.advance();
        let (class, variable) = self.binder();
        let is_jml = self.is(";");
        if !self.eat(":") && !self.eat(";") && !self.eat(".") {
            self.expected("`:` behind the variable");
        }
        let mut body = self.tall();
        let mut range = None;
        let mut height = body.height;
        if is_jml && self.is(";") && self.goes_on_behind_semicolon() {
            self.advance();
            range = Some(body.expr);
            body = self.tall();
            height = height.max(body.height);
        }
        let quantifier = Quantifier {
            span: self.since(start),
            kind,
            class,
            variable,
            range,
            body: body.expr,
        };
        let kind = ExprKind::Quantifier(Box::new(quantifier));
        self.grow(self.since(start), kind, height)
    }

    /// Whether JML's body follows the range, rather than the next rule.
    fn goes_on_behind_semicolon(&self) -> bool {
        let next = self.nth(1);
        let is_item = next.starts_line && matches!(self.word_at(1), Some("rule" | "let"));
        let ends = matches!(
            next.kind,
            TokenKind::End | TokenKind::Mark(";" | ")" | "]" | "}")
        );
        !is_item && !ends
    }

    /// The class and the variable of a quantifier: `Node x`, `x`, `x ∈ Node`.
    pub(super) fn binder(&mut self) -> (Option<Name>, Name) {
        let is_text = matches!(self.token().kind, TokenKind::Text(_) | TokenKind::Class(_));
        let is_in = |it: &Self, n| it.is_nth(n, "in") || it.word_at(n) == Some("in");
        if self.word_at(0).is_some() && is_in(self, 1) && !self.is_nth(2, ":") {
            let variable = self.name("a variable");
            self.advance();
            return (Some(self.class()), variable);
        }
        // `java.util.Node x`, but `x. x instanceof Node` has no class.
        let n = self.behind_class(1);
        let infix = ["instanceof", "is", "in", "select", "limit"];
        let is_class = is_text
            || self.word_at(0).is_some()
                && self.word_at(n).is_some_and(|word| !infix.contains(&word));
        let class = is_class.then(|| self.class());
        let what = match class {
            Some(_) => "a variable",
            None => "a class or a variable",
        };
        let variable = self.name(what);
        if RESERVED.contains(&variable.text.as_str()) {
            let message = format!("`{}` cannot be a variable", variable.text);
            self.diagnostics
                .push(Diagnostic::new(variable.span, message));
        }
        (class, variable)
    }

    fn postfix(&mut self) -> Tall {
        let start = self.span();
        let mut of = self.primary();
        loop {
            if self.is(".") {
                self.advance();
                // Or of a class behind its package.
                let name = self.class_part("the name of a field");
                if self.is("(") {
                    let (arguments, height) = self.arguments("(", ")");
                    let height = height.max(of.height);
                    let kind = method(of.expr, name, arguments);
                    of = self.grow(self.since(start), kind, height);
                } else {
                    let kind = ExprKind::Field(Box::new(of.expr), name);
                    of = self.grow(self.since(start), kind, of.height);
                }
            } else if self.is("[") {
                self.advance();
                let index = match self.token().kind {
                    TokenKind::Integer(index) => u64::try_from(index).ok(),
                    _ => None,
                };
                match index {
                    Some(_) => self.advance(),
                    None => {
                        self.expected("the number of an element");
                        self.skip_to(&["]", ";"]);
                    }
                }
                self.expect("]", " behind the number of the element");
                let kind = match index {
                    Some(index) => ExprKind::Element(Box::new(of.expr), index),
                    None => ExprKind::Wrong,
                };
                of = self.grow(self.since(start), kind, of.height);
            } else {
                return of;
            }
        }
    }

    fn primary(&mut self) -> Tall {
        let span = self.span();
        let leaf = |it: &mut Self, kind| {
            it.advance();
            Tall::leaf(it.since(span), kind)
        };
        match self.token().kind.clone() {
            TokenKind::Word(word) => self.word(word),
            TokenKind::Class(name) => leaf(self, ExprKind::Name(name)),
            TokenKind::Text(text) => leaf(self, ExprKind::Constant(Constant::Text(text))),
            TokenKind::Char(c) => leaf(self, ExprKind::Constant(Constant::Char(c))),
            TokenKind::Integer(value) => self.number(value, span),
            TokenKind::Float(value) => leaf(self, ExprKind::Constant(Constant::Float(value))),
            TokenKind::Host(name) => leaf(self, ExprKind::Host(name)),
            TokenKind::Mark("-") => {
                let negative = match self.nth(1).kind {
                    TokenKind::Integer(value) => Constant::Integer(-value),
                    TokenKind::Float(value) => Constant::Float(-value),
                    _ => return self.wrong_operand("something to compare"),
                };
                self.advance();
                leaf(self, ExprKind::Constant(negative))
            }
            TokenKind::Mark("(") => self.parenthesized(),
            TokenKind::Mark("{") => self.braced(),
            TokenKind::Mark("R") => {
                self.advance();
                self.bare_relation(span, None)
            }
            _ => self.wrong_operand("an expression"),
        }
    }

    fn parenthesized(&mut self) -> Tall {
        self.advance();
        let inner = self.tall();
        self.close(")");
        inner
    }

    /// Takes the bracket that closes, and what should not stand before it.
    pub(super) fn close(&mut self, mark: &str) {
        if !self.is(mark) {
            self.expected(&format!("`{mark}`"));
            self.skip_to(&[mark, ";"]);
            // What stands there instead is no mistake of its own.
            self.wrong_at = Some(self.at);
        }
        self.eat(mark);
    }

    fn number(&mut self, value: i128, span: Span) -> Tall {
        self.advance();
        let word = self.word_at(0).unwrap_or_default();
        let unit = UNITS.iter().find(|(name, _)| *name == word);
        let constant = match (unit, u64::try_from(value)) {
            (Some(&(_, unit)), Ok(value)) if value.checked_mul(unit.bytes()).is_some() => {
                self.advance();
                Constant::Size(value, unit)
            }
            (Some(_), _) => {
                let diagnostic = Diagnostic::new(span, "this size is too large");
                self.report(diagnostic);
                self.advance();
                return Tall::leaf(span, ExprKind::Wrong);
            }
            (None, _) => Constant::Integer(value),
        };
        Tall::leaf(self.since(span), ExprKind::Constant(constant))
    }

    fn word(&mut self, word: String) -> Tall {
        let span = self.span();
        self.advance();
        let constant = match word.as_str() {
            "null" => Some(Constant::Null),
            "true" => Some(Constant::Bool(true)),
            "false" => Some(Constant::Bool(false)),
            _ => None,
        };
        if let Some(constant) = constant {
            return Tall::leaf(span, ExprKind::Constant(constant));
        }
        let is_bare = self.is("(") || self.is("/") && !self.in_relation;
        match word.as_str() {
            "reach" | "R" if self.is("[") => self.relation(span),
            "R" if is_bare || self.word_at(0).is_some() => self.bare_relation(span, None),
            // The paper's bold R is glued to its source once it is plain text; no function
            // begins with a capital letter.
            word if is_bare && word.len() > 1 && word.starts_with('R') => {
                let source = Expr::new(
                    Span::new(span.start + 1, span.end),
                    ExprKind::Name(word[1..].into()),
                );
                self.bare_relation(span, Some(source))
            }
            _ if self.is("(") => {
                let (arguments, height) = self.arguments("(", ")");
                let name = Name { span, text: word };
                let kind = ExprKind::Call(name, arguments);
                self.grow(self.since(span), kind, height)
            }
            _ => Tall::leaf(span, ExprKind::Name(word)),
        }
    }

    /// Expressions between brackets.
    fn arguments(&mut self, open: &str, close: &str) -> (Vec<Expr>, usize) {
        let mut list = Vec::new();
        let mut height = 0;
        self.expect(open, "");
        while !self.is(close) {
            let argument = self.tall();
            height = height.max(argument.height);
            list.push(argument.expr);
            if !self.eat(",") {
                break;
            }
        }
        self.close(close);
        (list, height)
    }

    /// `{a, b}`, `{Node x | …}`
    fn braced(&mut self) -> Tall {
        let start = self.span();
        let behind = |n| self.behind_class(n);
        let is_in = self.is_nth(2, "in") || self.word_at(2) == Some("in");
        let is_name = |n| self.is_class_start(n);
        let is_quantifier = if is_in {
            is_name(3) && self.is_nth(behind(4), "|")
        } else {
            let variable = behind(2);
            let has_class = self.word_at(variable).is_some() && self.is_nth(variable + 1, "|");
            is_name(1) && has_class || self.word_at(1).is_some() && self.is_nth(2, "|")
        };
        if !is_quantifier {
            let (objects, height) = self.arguments("{", "}");
            return self.grow(self.since(start), ExprKind::Set(objects), height);
        }
        self.advance();
        let (class, variable) = self.binder();
        self.expect("|", " behind the variable");
        let body = self.tall();
        self.close("}");
        let quantifier = Quantifier {
            span: self.since(start),
            kind: QuantifierKind::SetOf,
            class,
            variable,
            range: None,
            body: body.expr,
        };
        let kind = ExprKind::Quantifier(Box::new(quantifier));
        self.grow(self.since(start), kind, body.height)
    }

    /// `reach[s/a, b || t](x)`, from the bracket.
    fn relation(&mut self, start: Span) -> Tall {
        self.advance();
        let was_in_relation = std::mem::replace(&mut self.in_relation, true);
        let inside = self.span();
        let mut parts = Vec::new();
        let mut height = 0;
        loop {
            let part = self.span();
            let ends = ["/", "]", "||"].iter().any(|mark| self.is(mark));
            let mut one = |it: &mut Self| {
                let path = it.deeper(Self::postfix);
                height = height.max(path.height);
                path.expr
            };
            let source = (!ends).then(|| one(self));
            let mut exclusions = Vec::new();
            if self.eat("/") {
                exclusions.push(one(self));
                while self.eat(",") {
                    exclusions.push(one(self));
                }
            }
            parts.push(RelationPart {
                span: self.since(part),
                source,
                exclusions,
            });
            if !self.eat("||") {
                break;
            }
        }
        let span = self.since(inside);
        self.in_relation = was_in_relation;
        self.close("]");
        self.related(start, Relation { span, parts }, height)
    }

    /// `R s/a, b ∨ t(x)`, from the source: the paper's way to write it.
    fn bare_relation(&mut self, start: Span, mut first: Option<Expr>) -> Tall {
        let inside = self.span();
        let mut parts = Vec::new();
        let mut height = 0;
        loop {
            let part = self.span();
            let ends = ["/", "(", "||"].iter().any(|mark| self.is(mark));
            let mut one = |it: &mut Self| {
                let path = it.bare_path();
                height = height.max(path.height);
                path.expr
            };
            let source = first.take().or_else(|| (!ends).then(|| one(self)));
            // The paper's name for the roots.
            let source = source.filter(
                |it| !matches!(&it.kind, ExprKind::Name(name) if name == "r0" || name == "r_0"),
            );
            let mut exclusions = Vec::new();
            if self.eat("/") {
                exclusions.push(one(self));
                while self.eat(",") {
                    exclusions.push(one(self));
                }
            }
            parts.push(RelationPart {
                span: self.since(part),
                source,
                exclusions,
            });
            if !self.eat("||") {
                break;
            }
        }
        let span = self.since(inside);
        self.related(start, Relation { span, parts }, height)
    }

    /// `d`, `d.list`: a path before which no bracket ends the relation.
    fn bare_path(&mut self) -> Tall {
        let start = self.span();
        let name = match self.token().kind.clone() {
            TokenKind::Host(host) => {
                self.advance();
                ExprKind::Host(host)
            }
            _ => ExprKind::Name(self.name("a host variable").text),
        };
        let mut path = Tall::leaf(self.since(start), name);
        while self.eat(".") {
            let field = self.name("the name of a field");
            let kind = ExprKind::Field(Box::new(path.expr), field);
            path = self.grow(self.since(start), kind, path.height);
        }
        path
    }

    /// The `(x)` behind a relation.
    fn related(&mut self, start: Span, relation: Relation, height: usize) -> Tall {
        if !self.expect("(", " and the logic variable behind a relation") {
            self.skip_to(&["&&", "||", "->", "<->", ",", ";", ")", "]", "}"]);
            return Tall::leaf(self.since(start), ExprKind::Wrong);
        }
        let of = self.tall();
        self.close(")");
        let height = height.max(of.height);
        let kind = ExprKind::Reach(relation, Box::new(of.expr));
        self.grow(self.since(start), kind, height)
    }
}

/// A method call. Java's ways to say where a function is from are dropped.
fn method(of: Expr, name: Name, arguments: Vec<Expr>) -> ExprKind {
    match &of.kind {
        ExprKind::Name(class) if class == "Phalanx" => ExprKind::Call(name, arguments),
        ExprKind::Name(class) if class == "Thread" && name.text == "currentThread" => {
            ExprKind::Call(name, arguments)
        }
        _ => ExprKind::Method(Box::new(of), name, arguments),
    }
}
