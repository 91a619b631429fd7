//! The formatter: a tree as text, in one way.
//!
//! Comments stay between the operands that they stood between; one that stood before an
//! operator comes to stand behind it, for operators have no place in the tree. Text that was
//! formatted is left as it is, and says what it said.

mod layout;

use heaphound_heap::quotes::quoted;
use heaphound_heap::spelling::{
    continues_word, dotted_bytes, is_class_name, is_word, object_name, root_name, starts_word,
};

use crate::diagnostic::Diagnostics;
use crate::functions::is_method;
use crate::lexer::kind_prefix;
use crate::parse::{GC, glued_source, is_compared_count, parse};
use crate::syntax::{
    BinaryOp, Comment, Constant, Expr, ExprKind, File, GcAssertionKind, HostName, Item, Limit,
    Name, Quantifier, QuantifierKind, Query, Relation, Rule, Select, Statement, Target,
};

use layout::{Doc, group, render};

/// Which signs to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// `forall Node x: a -> b`
    #[default]
    Ascii,
    /// `∀x ∈ Node: a ⇒ b`
    Unicode,
}

/// Formats a text, or says all that is wrong with it.
///
/// ```
/// use heaphound_deal::fmt::{Style, format};
/// let text = "rule a:assertion(∀x∈Node:¬R/d(x))";
/// let formatted = format("heap.deal", text, Style::Ascii).unwrap();
/// assert_eq!(formatted, "rule a: assertion(forall Node x: !reach[/d](x));\n");
/// ```
pub fn format(name: &str, text: &str, style: Style) -> Result<String, Diagnostics> {
    let parsed = parse(text);
    match parsed.diagnostics.is_empty() {
        true => Ok(print_from(&parsed.file, text, style)),
        false => Err(Diagnostics::new(name, text, parsed.diagnostics)),
    }
}

/// A tree as text.
pub fn print(file: &File, style: Style) -> String {
    print_from(file, "", style)
}

/// A tree as text that keeps the blank lines of the text that it is from.
fn print_from(file: &File, text: &str, style: Style) -> String {
    let mut printer = Printer {
        text,
        style,
        comments: &file.comments,
        in_class: false,
    };
    let mut docs = Vec::new();
    for item in &file.items {
        let start = match item {
            Item::Let(it) => it.span.start,
            Item::Optional(it) => it.span.start,
            Item::Rule(it) => it.span.start,
            Item::Statement(it) => it.span().start,
        };
        printer.comments_before(start, true, &mut docs);
        if !docs.is_empty() && printer.is_behind_blank(start) {
            docs.push(Doc::Blank);
        }
        docs.push(printer.item(item));
        docs.push(Doc::Hard);
    }
    printer.comments_before(usize::MAX, true, &mut docs);
    render(&docs)
}

struct Printer<'a> {
    text: &'a str,
    style: Style,
    /// Those that were not printed yet.
    comments: &'a [Comment],
    /// Whether what looks like a path is the name of a class.
    in_class: bool,
}

/// How tightly a comparison binds.
const COMPARISON: u8 = 5;
/// What binds more tightly than all operators between two operands.
const UNARY: u8 = 9;
/// What fields can stand behind.
const POSTFIX: u8 = 10;

impl Printer<'_> {
    /// Whether a blank line stands before a place.
    fn is_behind_blank(&self, at: usize) -> bool {
        let before = self.text.get(..at).unwrap_or("");
        let blank = &before[before.trim_end().len()..];
        blank.matches('\n').count() > 1
    }

    /// The comments that stood before a place.
    fn comments_before(&mut self, at: usize, between_items: bool, docs: &mut Vec<Doc>) {
        while let Some((first, rest)) = self.comments.split_first() {
            if first.span.start >= at {
                break;
            }
            self.comments = rest;
            let blank = between_items && first.own_line && self.is_behind_blank(first.span.start);
            if blank && !docs.is_empty() {
                docs.push(Doc::Blank);
            }
            docs.push(Doc::Comment(first.text.clone(), first.own_line));
        }
    }

    /// Text, behind the comments that stood before it.
    fn atom(&mut self, at: usize, text: impl Into<String>) -> Doc {
        let mut docs = Vec::new();
        self.comments_before(at, false, &mut docs);
        docs.push(Doc::Text(text.into()));
        Doc::Concat(docs)
    }

    fn item(&mut self, item: &Item) -> Doc {
        let mut docs = match item {
            Item::Let(it) => {
                let name = self.atom(it.name.span.start, format!("let {} = ", it.name.text));
                vec![name, self.expr(&it.value, 6)]
            }
            Item::Optional(it) => {
                let what = if it.are_fields { "field" } else { "class" };
                let mut docs = vec![self.atom(it.span.start, format!("optional {what} "))];
                for (nth, class) in it.names.iter().enumerate() {
                    let comma = if nth > 0 { ", " } else { "" };
                    let name = format!("{comma}{}", class_name(&class.text));
                    docs.push(self.atom(class.span.start, name));
                }
                docs
            }
            Item::Rule(it) => self.rule(it),
            Item::Statement(it) => vec![self.statement(it)],
        };
        docs.push(text(";"));
        group(docs)
    }

    fn rule(&mut self, rule: &Rule) -> Vec<Doc> {
        let mut head = format!("rule {}", rule_name(&rule.name.text));
        if let Some(severity) = rule.severity {
            head.push(' ');
            head.push_str(severity.name());
        }
        if let Some(message) = &rule.message {
            head.push(' ');
            head.push_str(&quoted(&message.text, '"'));
        }
        head.push(':');
        let head = self.atom(rule.name.span.start, head);
        let statement = self.statement(&rule.statement);
        vec![head, Doc::Nest(vec![Doc::Line, statement])]
    }

    fn statement(&mut self, statement: &Statement) -> Doc {
        match statement {
            Statement::Assertion(it) => {
                let head = self.atom(it.span.start, format!("{}(", it.kind.name()));
                // A formula in quotes is read without them.
                let least = match it.formula.kind {
                    ExprKind::Constant(Constant::Text(_)) => u8::MAX,
                    _ => 0,
                };
                let formula = self.expr(&it.formula, least);
                group(vec![
                    head,
                    Doc::Nest(vec![Doc::Break, formula]),
                    Doc::Break,
                    text(")"),
                ])
            }
            Statement::Gc(it) => Doc::Concat(match &it.kind {
                GcAssertionKind::Instances(target, limit) => {
                    self.limited("instances", target, limit)
                }
                GcAssertionKind::Volume(target, limit) => self.limited("volume", target, limit),
                GcAssertionKind::Unshared(target, slots) => {
                    let mut docs = vec![text("unshared("), self.target(target)];
                    for (nth, slot) in slots.iter().enumerate() {
                        let before = if nth == 0 { " by " } else { ", " };
                        let slot_text = format!("{before}{}", word_or_quoted(&slot.text));
                        docs.push(self.atom(slot.span.start, slot_text));
                    }
                    docs.push(text(")"));
                    docs
                }
                GcAssertionKind::Dead(target) => {
                    vec![text("dead("), self.target(target), text(")")]
                }
                GcAssertionKind::OwnedBy(owner, ownee) => vec![
                    text("owned_by("),
                    self.target(owner),
                    text(", "),
                    self.target(ownee),
                    text(")"),
                ],
            }),
            Statement::Query(it) => self.query(it),
            Statement::Expr(it) => self.expr(it, statement_binding(it)),
        }
    }

    fn limited(&mut self, name: &str, target: &Target, limit: &Limit) -> Vec<Doc> {
        let op = match limit.strict {
            true => BinaryOp::Lt,
            false => BinaryOp::Le,
        };
        vec![
            text(format!("{name}(")),
            self.target(target),
            text(format!(") {} ", self.op(op))),
            self.expr(&limit.value, COMPARISON + 1),
        ]
    }

    fn target(&mut self, target: &Target) -> Doc {
        let only = if target.only { "only " } else { "" };
        let only = self.atom(target.span.start, only);
        self.in_class = target.what.as_class().is_some();
        let what = self.expr(&target.what, COMPARISON + 1);
        self.in_class = false;
        Doc::Concat(vec![only, what])
    }

    fn query(&mut self, query: &Query) -> Doc {
        let colon = if query.body.is_some() { ":" } else { "" };
        let binder = self.binder(query.class.as_ref(), &query.variable);
        let head = self.atom(query.span.start, format!("query {binder}{colon}"));
        let mut nested = Vec::new();
        if let Some(body) = &query.body {
            nested.push(Doc::Line);
            nested.push(self.expr(body, 0));
        }
        match &query.select {
            Select::Objects => (),
            Select::Count(_) => nested.extend([Doc::Line, text("select count()")]),
            Select::Fold(_, fold, of) => {
                nested.extend([Doc::Line, text(format!("select {}(", fold.name()))]);
                nested.push(self.expr(of, 0));
                nested.push(text(")"));
            }
            Select::Values(values) => {
                nested.extend([Doc::Line, text("select ")]);
                for (nth, value) in values.iter().enumerate() {
                    if nth > 0 {
                        nested.push(text(", "));
                    }
                    nested.push(self.expr(value, COMPARISON + 1));
                }
            }
        }
        if let Some(limit) = query.limit {
            nested.extend([Doc::Line, text(format!("limit {limit}"))]);
        }
        group(vec![head, Doc::Nest(nested)])
    }

    fn op(&self, op: BinaryOp) -> &'static str {
        match self.style {
            Style::Ascii => op.ascii(),
            Style::Unicode => op.symbol(),
        }
    }

    fn binder(&self, class: Option<&Name>, variable: &Name) -> String {
        let variable = &variable.text;
        match (class, self.style) {
            (None, _) => variable.clone(),
            (Some(class), Style::Ascii) => format!("{} {variable}", class_name(&class.text)),
            (Some(class), Style::Unicode) => format!("{variable} ∈ {}", class_name(&class.text)),
        }
    }

    /// An expression, in parentheses if it binds less tightly than `least`.
    fn expr(&mut self, expr: &Expr, least: u8) -> Doc {
        if binding(expr) >= least {
            return self.bare(expr);
        }
        let open = self.atom(expr.span.start, "(");
        let inner = self.bare(expr);
        Doc::Concat(vec![open, Doc::Nest(vec![inner]), text(")")])
    }

    fn bare(&mut self, expr: &Expr) -> Doc {
        let at = expr.span.start;
        match &expr.kind {
            ExprKind::Name(name) => self.atom(at, name.clone()),
            ExprKind::Host(name) => self.atom(at, host_name(name)),
            ExprKind::Constant(it) => self.atom(at, constant(it)),
            ExprKind::Field(of, field) => {
                let of = self.expr(of, POSTFIX);
                // The last part of a class: `Map<K, V>`. Words with dots between would be several parts.
                let is_last =
                    |name: &str| is_class_name(name) && is_word(&name[..dotted_bytes(name)]);
                let is_bare = is_word(&field.text) || self.in_class && is_last(&field.text);
                let name = match is_bare {
                    true => field.text.clone(),
                    false => quoted(&field.text, '"'),
                };
                let field = self.atom(field.span.start, format!(".{name}"));
                Doc::Concat(vec![of, field])
            }
            ExprKind::Element(of, index) => {
                // `thread:main[3]` would be the root of that number.
                let least = match of.kind {
                    ExprKind::Host(HostName::Root { .. }) => u8::MAX,
                    _ => POSTFIX,
                };
                let of = self.expr(of, least);
                Doc::Concat(vec![of, text(format!("[{index}]"))])
            }
            ExprKind::Not(of) => {
                let not = match self.style {
                    Style::Ascii => "!",
                    Style::Unicode => "¬",
                };
                let not = self.atom(at, not);
                Doc::Concat(vec![not, self.expr(of, UNARY)])
            }
            ExprKind::Binary(op, ..) => {
                let mut docs = Vec::new();
                self.chain(*op, expr, &mut docs);
                group(docs)
            }
            ExprKind::InstanceOf(of, class) => {
                let of = self.expr(of, COMPARISON + 1);
                // A word behind ∈ can be a set, too.
                let op = match self.style {
                    Style::Unicode if !is_word(&class.text) => "∈",
                    _ => "instanceof",
                };
                let class_text = format!(" {op} {}", class_name(&class.text));
                let class = self.atom(class.span.start, class_text);
                Doc::Concat(vec![of, class])
            }
            ExprKind::HasLabel(of, label) => {
                let of = self.expr(of, COMPARISON + 1);
                let label_text = format!(" is {}", word_or_quoted(&label.text));
                let label = self.atom(label.span.start, label_text);
                Doc::Concat(vec![of, label])
            }
            ExprKind::Reach(relation, of) => {
                let mut docs = vec![self.atom(at, "reach[")];
                self.relation(relation, &mut docs);
                docs.push(text("]("));
                docs.push(self.expr(of, 0));
                docs.push(text(")"));
                Doc::Concat(docs)
            }
            ExprKind::Quantifier(it) => self.quantifier(it),
            ExprKind::Set(objects) => {
                // `{x | y}` would be a set of those x that satisfy y.
                self.list(at, "{", objects, "}", POSTFIX)
            }
            ExprKind::Call(name, arguments) => {
                self.list(at, &format!("{}(", name.text), arguments, ")", 0)
            }
            ExprKind::Method(of, name, arguments) => {
                // `Rd.head(x)` would be a relation.
                let least = match is_glued_path(of) && !is_method(&name.text) {
                    true => u8::MAX,
                    false => POSTFIX,
                };
                let of = self.expr(of, least);
                let name_text = format!(".{}(", name.text);
                let list = self.list(name.span.start, &name_text, arguments, ")", 0);
                Doc::Concat(vec![of, list])
            }
            ExprKind::Wrong => self.atom(at, "?"),
        }
    }

    /// Operands of one operator in one group, so that all of its lines break or none.
    fn chain(&mut self, op: BinaryOp, expr: &Expr, docs: &mut Vec<Doc>) {
        let ExprKind::Binary(own, left, right) = &expr.kind else {
            docs.push(self.expr(expr, op.binding()));
            return;
        };
        if *own != op {
            docs.push(self.expr(expr, op.binding()));
            return;
        }
        let tighter = op.binding() + 1;
        match op {
            _ if op.compares() || op == BinaryOp::Implies => docs.push(self.expr(left, tighter)),
            _ => self.chain(op, left, docs),
        }
        let sign = self.op(op);
        if op == BinaryOp::Implies {
            docs.push(Doc::Nest(vec![Doc::Line, text(format!("{sign} "))]));
            return self.chain(op, right, docs);
        }
        let right = match op {
            BinaryOp::In => self.expr(right, in_binding(right)),
            _ => self.expr(right, tighter),
        };
        docs.push(match op.binding() >= COMPARISON {
            true => Doc::Concat(vec![text(format!(" {sign} ")), right]),
            false => Doc::Nest(vec![Doc::Line, text(format!("{sign} ")), right]),
        });
    }

    fn relation(&mut self, relation: &Relation, docs: &mut Vec<Doc>) {
        for (nth, part) in relation.parts.iter().enumerate() {
            if nth > 0 {
                docs.push(text(format!(" {} ", self.op(BinaryOp::Or))));
            }
            if let Some(source) = &part.source {
                docs.push(self.expr(source, POSTFIX));
            }
            for (nth, exclusion) in part.exclusions.iter().enumerate() {
                docs.push(text(if nth == 0 { "/" } else { ", " }));
                docs.push(self.expr(exclusion, POSTFIX));
            }
        }
    }

    fn quantifier(&mut self, quantifier: &Quantifier) -> Doc {
        let binder = self.binder(quantifier.class.as_ref(), &quantifier.variable);
        let at = quantifier.span.start;
        if quantifier.kind == QuantifierKind::SetOf {
            let head = self.atom(at, format!("{{{binder} |"));
            let body = self.expr(&quantifier.body, 0);
            return group(vec![head, Doc::Nest(vec![Doc::Line, body]), text("}")]);
        }
        let head = match (self.style, quantifier.kind) {
            (Style::Unicode, QuantifierKind::Forall) => format!("∀{binder}"),
            (Style::Unicode, QuantifierKind::Exists) => format!("∃{binder}"),
            (_, kind) => format!("{} {binder}", kind.name()),
        };
        let mut nested = Vec::new();
        let head = match &quantifier.range {
            Some(range) => {
                let head = self.atom(at, format!("{head};"));
                nested.extend([Doc::Line, self.expr(range, 0), text(";")]);
                head
            }
            None => self.atom(at, format!("{head}:")),
        };
        // `num_of x: a.has(x) <= 1` would compare the count, and a rule may follow a range.
        let least = match &quantifier.body.kind {
            ExprKind::Binary(op, left, right)
                if is_compared_count(quantifier.kind, *op, left, right) =>
            {
                u8::MAX
            }
            _ if quantifier.range.is_some() => statement_binding(&quantifier.body),
            _ => 0,
        };
        nested.extend([Doc::Line, self.expr(&quantifier.body, least)]);
        group(vec![head, Doc::Nest(nested)])
    }

    fn list(&mut self, at: usize, open: &str, list: &[Expr], close: &str, least: u8) -> Doc {
        let open = self.atom(at, open);
        let mut nested = Vec::new();
        for (nth, expr) in list.iter().enumerate() {
            match nth {
                0 => nested.push(Doc::Break),
                _ => nested.extend([text(","), Doc::Line]),
            }
            nested.push(self.expr(expr, least));
        }
        match list {
            [] => Doc::Concat(vec![open, text(close)]),
            _ => group(vec![open, Doc::Nest(nested), Doc::Break, text(close)]),
        }
    }
}

fn text(text: impl Into<String>) -> Doc {
    Doc::Text(text.into())
}

/// How tightly an expression holds together.
fn binding(expr: &Expr) -> u8 {
    match &expr.kind {
        ExprKind::Binary(op, ..) => op.binding(),
        ExprKind::InstanceOf(..) | ExprKind::HasLabel(..) => COMPARISON,
        ExprKind::Not(_) => UNARY,
        // Its body reaches as far as it can.
        ExprKind::Quantifier(it) if it.kind != QuantifierKind::SetOf => 0,
        _ => POSTFIX,
    }
}

/// What an expression needs where a statement begins, lest its first word be read as one of those
/// that begin other statements: `(query(x)) == 1`.
fn statement_binding(expr: &Expr) -> u8 {
    const STATEMENTS: [&str; 4] = ["assertion", "assertDisjoint", "unsafeAssert", "query"];
    const ITEMS: [&str; 4] = ["query", "rule", "let", "optional"];
    let mut first = expr;
    let is_kept = loop {
        first = match &first.kind {
            ExprKind::Binary(_, of, _)
            | ExprKind::Field(of, _)
            | ExprKind::Element(of, _)
            | ExprKind::InstanceOf(of, _)
            | ExprKind::HasLabel(of, _)
            | ExprKind::Method(of, ..) => of,
            ExprKind::Call(name, _) => {
                let name = name.text.as_str();
                break STATEMENTS.contains(&name) || GC.contains(&name);
            }
            ExprKind::Name(name) => break ITEMS.contains(&name.as_str()),
            _ => break false,
        };
    };
    if is_kept { u8::MAX } else { 0 }
}

/// Whether a path begins like the paper's relation: `Rd.list`.
fn is_glued_path(path: &Expr) -> bool {
    match &path.kind {
        ExprKind::Name(name) => glued_source(name).is_some(),
        ExprKind::Field(of, field) => is_word(&field.text) && is_glued_path(of),
        _ => false,
    }
}

/// What a set behind `in` needs, lest it be read as the name of a class.
fn in_binding(set: &Expr) -> u8 {
    match &set.kind {
        ExprKind::Name(_) | ExprKind::Call(..) | ExprKind::Set(_) | ExprKind::Quantifier(_) => {
            COMPARISON + 1
        }
        ExprKind::Method(of, ..) => in_binding(of),
        _ => u8::MAX,
    }
}

fn word_or_quoted(name: &str) -> String {
    match is_word(name) {
        true => name.into(),
        false => quoted(name, '"'),
    }
}

/// The name of a class, in quotes if it needs them.
fn class_name(name: &str) -> String {
    match is_class_name(name) {
        true => name.into(),
        false => quoted(name, '"'),
    }
}

fn rule_name(name: &str) -> String {
    let is_plain = name.starts_with(starts_word)
        && !name.ends_with('-')
        && name.chars().all(|c| continues_word(c) || c == '-');
    match is_plain {
        true => name.into(),
        false => quoted(name, '"'),
    }
}

pub(crate) fn host_name(name: &HostName) -> String {
    match name {
        HostName::Object { class, number } => object_name(class, *number),
        HostName::Root { kind, name, index } => {
            let (prefix, name) = (kind_prefix(*kind), root_name(name));
            let index = index.map_or(String::new(), |index| format!("[{index}]"));
            format!("{prefix}{name}{index}")
        }
    }
}

fn constant(constant: &Constant) -> String {
    match constant {
        Constant::Null => "null".into(),
        Constant::Bool(value) => value.to_string(),
        Constant::Integer(value) => value.to_string(),
        Constant::Float(value) => format!("{value:?}"),
        Constant::Size(count, unit) => format!("{count} {}", unit.name()),
        Constant::Text(text) => quoted(text, '"'),
        Constant::Char(c) => quoted(c.encode_utf8(&mut [0; 4]), '\''),
    }
}
