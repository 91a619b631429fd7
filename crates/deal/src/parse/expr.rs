//! Expressions: operators by how tightly they bind, quantifiers, relations, calls.

use heaphound_heap::spelling::{is_word, word_bytes};

use super::{DEEPEST, Parser, Tall};
use crate::diagnostic::Diagnostic;
use crate::functions::{is_method, is_predicate};
use crate::lexer::TokenKind;
use crate::syntax::{
    BinaryOp, Constant, Expr, ExprKind, Fold, Name, Quantifier, QuantifierKind, Relation,
    RelationPart, Span, Unit,
};

/// What cannot be the name of a variable.
const RESERVED: [&str; 6] = ["null", "true", "false", "forall", "exists", "num_of"];

/// What follows a variable that has no class.
const FOLLOWS: [&str; 5] = ["instanceof", "is", "in", "select", "limit"];

/// Whether a name can be that of a variable, with a class before it or without.
pub(super) fn can_be_variable(name: &str) -> bool {
    word_bytes(name) == name.len() && !RESERVED.contains(&name) && !FOLLOWS.contains(&name)
}

/// What is said of `a < b < c`.
const CHAIN: &str = "comparisons do not chain";

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
                let diagnostic = Diagnostic::new(self.span(), CHAIN);
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
        // `x in shop.Node` asks for the class, `x in reach(d)` and `x in s | t` whether a set has x. A
        // single word can be either, and the parser does not know which.
        let names_class = match &self.nth(1).kind {
            TokenKind::Text(_) | TokenKind::Class(_) => true,
            TokenKind::Word(_) => {
                let n = self.behind_class(2);
                n > 2
                    && !["(", "[", "|", "&", "-"]
                        .iter()
                        .any(|it| self.is_nth(n, it))
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
            "\\sum" => Some(QuantifierKind::Fold(Fold::Sum)),
            "\\min" => Some(QuantifierKind::Fold(Fold::Min)),
            "\\max" => Some(QuantifierKind::Fold(Fold::Max)),
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
        let before = self.diagnostics.len();
        let mut body = self.tall();
        let mut range = None;
        let mut height = body.height;
        if is_jml && self.is(";") && self.goes_on_behind_semicolon() {
            self.advance();
            range = Some(body.expr);
            body = self.tall();
            height = height.max(body.height);
        }
        if kind == QuantifierKind::NumOf {
            // What is compared twice is most likely the count.
            let chains = self.diagnostics[before..].iter_mut();
            for chain in chains.filter(|it| it.message == CHAIN) {
                chain.hint = Some("put the count in parentheses, or join two with &&".into());
            }
        }
        // Behind a parenthesis that closes, the text goes on and the tree does not.
        let is_bare = body.expr.span.end == self.last_end();
        let quantifier = |span, body| {
            ExprKind::Quantifier(Box::new(Quantifier {
                span,
                kind,
                class,
                variable,
                range,
                body,
            }))
        };
        match body.expr.kind {
            // JML counts first: `\num_of Thread t; t.isAlive(); \reach(t).has(c) <= 1`.
            ExprKind::Binary(op, left, right)
                if is_bare && is_compared_count(kind, op, &left, &right) =>
            {
                let span = Span::new(start.start, left.span.end);
                let counted = self.grow(span, quantifier(span, *left), height);
                let kind = ExprKind::Binary(op, Box::new(counted.expr), right);
                self.grow(self.since(start), kind, counted.height)
            }
            _ => {
                let span = self.since(start);
                self.grow(span, quantifier(span, body.expr), height)
            }
        }
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
        let is_class = is_text
            || self.word_at(0).is_some()
                && self.word_at(n).is_some_and(|word| !FOLLOWS.contains(&word));
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
                if let TokenKind::Text(text) = self.token().kind.clone() {
                    let span = self.span();
                    self.advance();
                    let kind = ExprKind::Field(Box::new(of.expr), Name { span, text });
                    of = self.grow(self.since(start), kind, of.height);
                    continue;
                }
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
        let is_glued = is_bare || self.is_path_of_relation();
        match word.as_str() {
            // Java's way to make an array: `new Object[] {a, b}`.
            "new"
                if self.word_at(0) == Some("Object")
                    && self.is_nth(1, "[")
                    && self.is_nth(2, "]")
                    && self.is_nth(3, "{") =>
            {
                (0..3).for_each(|_| self.advance());
                let (objects, height) = self.arguments("{", "}");
                self.grow(self.since(span), ExprKind::Set(objects), height)
            }
            "reach" | "R" if self.is("[") => self.relation(span),
            // What a variable that is called R is in, or is, is no source.
            "R" if is_bare
                || self
                    .word_at(0)
                    .is_some_and(|it| !["in", "is", "instanceof"].contains(&it)) =>
            {
                self.bare_relation(span, None)
            }
            // The paper's bold R is glued to its source once it is plain text; no function
            // begins with a capital letter.
            word if is_glued && glued_source(word).is_some() => {
                let name = ExprKind::Name(word[1..].into());
                let source = Tall::leaf(Span::new(span.start + 1, span.end), name);
                let source = self.bare_fields(source);
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

    /// Whether fields follow, and then what a bare relation is asked of: `Rd.head(x)`. What looks
    /// so may be a method of a variable that begins with R.
    fn is_path_of_relation(&self) -> bool {
        let mut n = 0;
        while self.is_nth(n, ".") && self.word_at(n + 1).is_some() {
            n += 2;
        }
        let is_asked = self.is_nth(n, "(") || self.is_nth(n, "/") && !self.in_relation;
        let last = n.checked_sub(1).and_then(|last| self.word_at(last));
        is_asked && last.is_some_and(|last| !is_method(last))
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
    fn bare_relation(&mut self, start: Span, first: Option<Tall>) -> Tall {
        let inside = self.span();
        let mut parts = Vec::new();
        let mut height = first.as_ref().map_or(0, |it| it.height);
        let mut first = first.map(|it| it.expr);
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
        let path = Tall::leaf(self.since(start), name);
        self.bare_fields(path)
    }

    /// The fields behind the start of such a path.
    fn bare_fields(&mut self, mut path: Tall) -> Tall {
        let start = path.expr.span;
        while self.eat(".") {
            let field = self.name_or_text("the name of a field");
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

/// The source that is glued to the paper's R once it is plain text: `d` of `Rd`.
pub fn glued_source(word: &str) -> Option<&str> {
    let source = word.strip_prefix('R')?;
    is_word(source).then_some(source)
}

/// Whether a comparison is of a count rather than a part of what is counted: something true or
/// false has no order, and is no number.
pub fn is_compared_count(kind: QuantifierKind, op: BinaryOp, left: &Expr, right: &Expr) -> bool {
    let is_number = matches!(
        right.kind,
        ExprKind::Constant(Constant::Integer(_)) | ExprKind::Name(_)
    );
    let is_order = matches!(
        op,
        BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
    );
    let is_integer = matches!(right.kind, ExprKind::Constant(Constant::Integer(_)));
    let compares = is_order && is_number || op.compares() && op != BinaryOp::In && is_integer;
    kind == QuantifierKind::NumOf && compares && is_truth(left)
}

/// Whether an expression is true or false, as far as its form shows.
fn is_truth(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Not(_)
        | ExprKind::InstanceOf(..)
        | ExprKind::HasLabel(..)
        | ExprKind::Reach(..)
        | ExprKind::Constant(Constant::Bool(_)) => true,
        ExprKind::Binary(op, ..) => op.binding() <= BinaryOp::Eq.binding(),
        ExprKind::Quantifier(it) => {
            matches!(it.kind, QuantifierKind::Forall | QuantifierKind::Exists)
        }
        ExprKind::Call(name, _) => is_predicate(&name.text),
        ExprKind::Method(_, name, _) => is_predicate(&name.text),
        _ => false,
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
