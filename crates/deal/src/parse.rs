//! From text to tree.
//!
//! A mistake does not end the parse: it is reported, an [`ExprKind::Wrong`] takes the place
//! of what could not be read, and reading goes on behind the next operator, bracket or
//! semicolon. So one parse tells all mistakes of a text.
//!
//! No text makes this overflow the stack: how deep brackets nest and how tall a tree
//! grows is limited, and going beyond is a mistake like any other.

mod expr;
mod rule;

pub(crate) use expr::{glued_source, is_compared_count};
pub(crate) use rule::GC;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lexer::{Token, TokenKind, lex};
use crate::syntax::{Expr, ExprKind, File, Item, Name, Span, Statement};

/// A tree, and what is wrong with the text.
#[derive(Clone, PartialEq, Debug)]
pub struct Parsed {
    /// All that could be read.
    pub file: File,
    /// Empty if all could be.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a rule file, or a text of one or more statements.
///
/// ```
/// let parsed = heaphound_deal::parse::parse("assertion(forall Node x: x.next != null);");
/// assert!(parsed.diagnostics.is_empty());
/// assert_eq!(parsed.file.items.len(), 1);
/// ```
pub fn parse(text: &str) -> Parsed {
    let mut parser = Parser::new(text, 0, text.len());
    let items = parser.items();
    let mut diagnostics = parser.diagnostics;
    diagnostics.sort_by_key(|it| it.span.start);
    let comments = parser.comments;
    Parsed {
        file: File { items, comments },
        diagnostics,
    }
}

/// Reads one statement, or says all that is wrong with it.
pub fn parse_statement(name: &str, text: &str) -> Result<Statement, Diagnostics> {
    let Parsed {
        file,
        mut diagnostics,
    } = parse(text);
    let mut items = file.items.into_iter();
    let first = items.next();
    let is_one = items.next().is_none();
    match first {
        Some(Item::Statement(statement)) if is_one && diagnostics.is_empty() => {
            return Ok(statement);
        }
        _ if !diagnostics.is_empty() => (),
        None => {
            let end = Span::new(text.len(), text.len());
            diagnostics.push(Diagnostic::new(end, "this says nothing"));
        }
        Some(_) => {
            let all = Span::new(0, text.len());
            let message = "this should be one statement, without rules";
            diagnostics.push(Diagnostic::new(all, message));
        }
    }
    Err(Diagnostics::new(name, text, diagnostics))
}

/// How deep brackets nest.
const DEEPEST: usize = 64;
/// How tall a tree grows: as many operators as one text may chain.
const TALLEST: usize = 256;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    comments: Vec<crate::syntax::Comment>,
    diagnostics: Vec<Diagnostic>,
    /// The token at which the last mistake was reported: it is not reported twice.
    wrong_at: Option<usize>,
    depth: usize,
    /// Whether a `/` belongs to the relation in brackets around here.
    in_relation: bool,
}

/// An expression, and how tall it is.
struct Tall {
    expr: Expr,
    height: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, start: usize, end: usize) -> Self {
        let lexed = lex(text, start, end);
        Self {
            text,
            tokens: lexed.tokens,
            at: 0,
            comments: lexed.comments,
            diagnostics: lexed.diagnostics,
            wrong_at: None,
            depth: 0,
            in_relation: false,
        }
    }

    // Looking.

    fn token(&self) -> &Token {
        self.nth(0)
    }

    fn nth(&self, n: usize) -> &Token {
        // The last is always the end.
        &self.tokens[(self.at + n).min(self.tokens.len() - 1)]
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// Where the last token that was taken ends.
    fn last_end(&self) -> usize {
        match self.at {
            0 => self.span().start,
            at => self.tokens[at - 1].span.end,
        }
    }

    /// From a place to the last token that was taken.
    fn since(&self, start: Span) -> Span {
        Span::new(start.start, self.last_end().max(start.start))
    }

    fn is_nth(&self, n: usize, mark: &str) -> bool {
        matches!(&self.nth(n).kind, TokenKind::Mark(it) if *it == mark)
    }

    fn is(&self, mark: &str) -> bool {
        self.is_nth(0, mark)
    }

    fn word_at(&self, n: usize) -> Option<&str> {
        match &self.nth(n).kind {
            TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    fn is_word(&self, word: &str) -> bool {
        self.word_at(0) == Some(word)
    }

    /// Whether a binding or a rule starts here.
    fn starts_item(&self) -> bool {
        let named = match self.nth(1).kind {
            TokenKind::Word(_) => true,
            TokenKind::Text(_) => self.is_word("rule"),
            _ => false,
        };
        match self.word_at(0) {
            Some("let") => named && self.is_nth(2, "="),
            Some("rule") => named,
            Some("optional") => {
                matches!(self.word_at(1), Some("class" | "field")) && self.is_class_start(2)
            }
            _ => false,
        }
    }

    // Taking.

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn eat(&mut self, mark: &str) -> bool {
        let is = self.is(mark);
        if is {
            self.advance();
        }
        is
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        if is {
            self.advance();
        }
        is
    }

    /// Takes a mark that must be here.
    fn expect(&mut self, mark: &str, why: &str) -> bool {
        let eaten = self.eat(mark);
        if !eaten {
            self.expected(&format!("`{mark}`{why}"));
        }
        eaten
    }

    /// Whether the token can be part of a class's name.
    fn is_class_part(&self, n: usize) -> bool {
        matches!(self.nth(n).kind, TokenKind::Word(_) | TokenKind::Class(_))
    }

    /// Whether a class can be named here.
    fn is_class_start(&self, n: usize) -> bool {
        self.is_class_part(n) || matches!(self.nth(n).kind, TokenKind::Text(_))
    }

    /// What comes behind a class's name, of which the first part comes before `n`.
    fn behind_class(&self, mut n: usize) -> usize {
        while self.is_nth(n, ".") && self.is_class_part(n + 1) {
            n += 2;
        }
        while self.is_nth(n, "[") && self.is_nth(n + 1, "]") {
            n += 2;
        }
        n
    }

    /// Takes a word that must be here.
    fn name(&mut self, what: &str) -> Name {
        let span = self.span();
        match self.word_at(0).map(String::from) {
            Some(text) => {
                self.advance();
                Name { span, text }
            }
            None => {
                self.expected(what);
                let span = Span::new(span.start, span.start);
                let text = String::new();
                Name { span, text }
            }
        }
    }

    /// A word, or text in quotes that stands for one.
    fn name_or_text(&mut self, what: &str) -> Name {
        let span = self.span();
        match self.token().kind.clone() {
            TokenKind::Text(text) => {
                self.advance();
                Name { span, text }
            }
            _ => self.name(what),
        }
    }

    /// The name of a class: `Node`, `java.util.Map`, `Map<K, V>`, `char[]`, `"a b"`.
    fn class(&mut self) -> Name {
        let start = self.span();
        let is_word = self.is_class_part(0);
        let mut name = match is_word {
            true => self.class_part("the name of a class"),
            false => self.name_or_text("the name of a class"),
        };
        while is_word && self.is(".") && self.is_class_part(1) {
            self.advance();
            let part = self.class_part("a name");
            name.text.push('.');
            name.text.push_str(&part.text);
        }
        while is_word && self.is("[") && self.is_nth(1, "]") {
            self.advance();
            self.advance();
            name.text.push_str("[]");
        }
        name.span = self.since(start);
        name
    }

    /// A word, or one with type arguments.
    fn class_part(&mut self, what: &str) -> Name {
        let span = self.span();
        match self.token().kind.clone() {
            TokenKind::Class(text) => {
                self.advance();
                Name { span, text }
            }
            _ => self.name(what),
        }
    }

    // Mistakes.

    fn report(&mut self, diagnostic: Diagnostic) {
        // What follows from a mistake is not reported again.
        let before = self.at.saturating_sub(1);
        let near = &self.tokens[before..=self.at];
        let wrong = near.iter().any(|it| it.kind == TokenKind::Wrong);
        if self.wrong_at != Some(self.at) && !wrong {
            self.diagnostics.push(diagnostic);
        }
        self.wrong_at = Some(self.at);
    }

    fn expected(&mut self, what: &str) {
        let mut span = self.span();
        let found = match &self.token().kind {
            TokenKind::End => {
                // Behind what was written last: blank lines show nothing.
                span = Span::new(self.last_end(), self.last_end());
                "the end".into()
            }
            _ => {
                let shown: String = self.text[span.start..span.end].chars().take(40).collect();
                format!("`{shown}`")
            }
        };
        let message = format!("expected {what}, found {found}");
        self.report(Diagnostic::new(span, message));
    }

    /// Goes on to the next of some marks, over brackets in pairs. Never beyond the item.
    fn skip_to(&mut self, marks: &[&str]) {
        let mut open = 0;
        loop {
            let token = self.token();
            let is_item = token.starts_line && self.starts_item();
            match &token.kind {
                TokenKind::End => return,
                _ if is_item => return,
                TokenKind::Mark(mark) if open == 0 && marks.contains(mark) => return,
                // A bracket is never left open across statements.
                TokenKind::Mark(";") if marks.contains(&";") => return,
                TokenKind::Mark("(" | "[" | "{") => open += 1,
                TokenKind::Mark(")" | "]" | "}") if open == 0 => return,
                TokenKind::Mark(")" | "]" | "}") => open -= 1,
                _ => (),
            }
            self.advance();
        }
    }

    /// What takes the place of an operand that is missing or cannot be read.
    fn wrong_operand(&mut self, what: &str) -> Tall {
        let start = self.span();
        self.expected(what);
        self.skip_to(&["&&", "||", "->", "<->", ",", ";", ")", "]", "}"]);
        Tall::leaf(self.since(start), ExprKind::Wrong)
    }

    // Growing.

    /// A node over children that are at most so tall.
    fn grow(&mut self, span: Span, kind: ExprKind, height: usize) -> Tall {
        if height < TALLEST {
            let expr = Expr::new(span, kind);
            let height = height + 1;
            return Tall { expr, height };
        }
        self.report(
            Diagnostic::new(span, "this is too long or nests too deep")
                .hint("split it into several rules"),
        );
        Tall::leaf(span, ExprKind::Wrong)
    }
}

impl Tall {
    fn leaf(span: Span, kind: ExprKind) -> Self {
        Self {
            expr: Expr::new(span, kind),
            height: 1,
        }
    }
}
