//! Tokens.
//!
//! Words are words here: only the parser knows which of them are keywords where. The papers'
//! symbols, and the LaTeX that stands for them, become the same tokens as ASCII.

use heaphound_heap::RootKind;
use heaphound_heap::quotes::{KNOWN_ESCAPES, escape};
use heaphound_heap::spelling::{
    continues_word, object_class, root_name_bytes, starts_word, type_arguments, word_bytes,
};

use crate::diagnostic::Diagnostic;
use crate::syntax::{Comment, HostName, Span};

/// A token, and where it stands.
#[derive(Clone, Debug)]
pub struct Token {
    pub span: Span,
    pub kind: TokenKind,
    /// Whether it is the first of its line.
    pub starts_line: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum TokenKind {
    Word(String),
    /// The name of a class with type arguments: `List<Order>`.
    Class(String),
    Text(String),
    Char(char),
    Integer(i128),
    Float(f64),
    Host(HostName),
    /// Punctuation, by its ASCII form. `R` is the paper's bold R, `in` its ∈.
    Mark(&'static str),
    /// What was reported.
    Wrong,
    End,
}

/// A text as tokens, its comments, and what is wrong with it.
#[derive(Default)]
pub struct Lexed {
    pub tokens: Vec<Token>,
    pub comments: Vec<Comment>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Takes a text apart, from byte `start` to byte `end`.
pub fn lex(text: &str, start: usize, end: usize) -> Lexed {
    let mut lexer = Lexer {
        text: &text[..end],
        at: start,
        lexed: Lexed::default(),
        starts_line: true,
        has_comment: false,
    };
    while lexer.at < end {
        lexer.next();
    }
    lexer.push(end, TokenKind::End);
    lexer.lexed
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    lexed: Lexed,
    starts_line: bool,
    /// Whether a comment stands in this line.
    has_comment: bool,
}

/// Longer marks before their beginnings.
const MARKS: [(&str, &str); 50] = [
    ("<->", "<->"),
    ("<=>", "<->"),
    ("<==>", "<->"),
    ("==>", "->"),
    ("=>", "->"),
    ("->", "->"),
    ("&&", "&&"),
    ("||", "||"),
    ("==", "=="),
    ("!=", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("<", "<"),
    (">", ">"),
    ("=", "="),
    ("!", "!"),
    ("&", "&"),
    ("|", "|"),
    ("-", "-"),
    ("(", "("),
    (")", ")"),
    ("[", "["),
    ("]", "]"),
    ("{", "{"),
    ("}", "}"),
    (",", ","),
    (";", ";"),
    (":", ":"),
    (".", "."),
    ("/", "/"),
    ("∀", "forall"),
    ("∃", "exists"),
    ("∧", "&&"),
    ("∨", "||"),
    ("¬", "!"),
    ("⇒", "->"),
    ("→", "->"),
    ("⇔", "<->"),
    ("↔", "<->"),
    ("∈", "in"),
    ("≠", "!="),
    ("≤", "<="),
    ("⩽", "<="),
    ("≥", ">="),
    ("⩾", ">="),
    ("∪", "|"),
    ("∩", "&"),
    ("∖", "-"),
    ("𝐑", "R"),
    ("#", "#"),
];

/// JML's words, and LaTeX's for the papers' symbols.
const BACKSLASHED: [(&str, &str); 26] = [
    ("forall", "forall"),
    ("exists", "exists"),
    ("num_of", "num_of"),
    ("sum", "\\sum"),
    ("min", "\\min"),
    ("max", "\\max"),
    ("reach", "reach"),
    ("in", "in"),
    ("land", "&&"),
    ("wedge", "&&"),
    ("lor", "||"),
    ("vee", "||"),
    ("neg", "!"),
    ("lnot", "!"),
    ("Rightarrow", "->"),
    ("Leftrightarrow", "<->"),
    ("neq", "!="),
    ("ne", "!="),
    ("leq", "<="),
    ("le", "<="),
    ("geq", ">="),
    ("ge", ">="),
    ("cup", "|"),
    ("cap", "&"),
    ("setminus", "-"),
    ("mid", "|"),
];

/// The kinds of roots, as their names begin.
const KINDS: [(&str, RootKind); 6] = [
    ("static:", RootKind::Static),
    ("thread-object:", RootKind::ThreadObject),
    ("thread:", RootKind::ThreadStack),
    ("handle:", RootKind::Handle),
    ("other:", RootKind::Other),
    ("finalizer:", RootKind::Finalizer),
];

/// How the name of a root of that kind begins.
pub fn kind_prefix(kind: RootKind) -> &'static str {
    let found = KINDS.iter().find(|(_, it)| *it == kind);
    found.map_or("", |(prefix, _)| prefix)
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// A token from `start` to here.
    fn push(&mut self, start: usize, kind: TokenKind) {
        self.lexed.tokens.push(Token {
            span: Span::new(start, self.at),
            kind,
            starts_line: std::mem::take(&mut self.starts_line),
        });
    }

    fn report(&mut self, start: usize, message: &str) {
        let span = Span::new(start, self.at);
        self.lexed.diagnostics.push(Diagnostic::new(span, message));
    }

    fn next(&mut self) {
        let start = self.at;
        let Some(c) = self.rest().chars().next() else {
            return;
        };
        match c {
            '\n' => {
                self.at += 1;
                self.starts_line = true;
                self.has_comment = false;
            }
            c if c.is_whitespace() || c == '\u{feff}' => self.at += c.len_utf8(),
            '/' if self.rest().starts_with("//") => {
                let end = self.rest().find('\n').unwrap_or(self.rest().len());
                self.at += end;
                self.comment(start);
            }
            '/' if self.rest().starts_with("/*") => match self.rest()[2..].find("*/") {
                Some(end) => {
                    self.at += end + 4;
                    self.comment(start);
                }
                None => {
                    self.at += 2;
                    self.report(start, "this comment is not closed");
                    self.at = self.text.len();
                }
            },
            '"' => self.text_or_object(start),
            '\'' => self.character(start),
            '\\' => self.backslashed(start),
            c if c.is_ascii_digit() => self.number(start),
            c if starts_word(c) => self.word(start),
            c => {
                let rest = self.rest();
                let mark = MARKS.iter().filter(|(it, _)| rest.starts_with(it));
                match mark.max_by_key(|(it, _)| it.len()) {
                    Some((written, mark)) => {
                        self.at += written.len();
                        self.push(start, TokenKind::Mark(mark));
                    }
                    None => {
                        self.at += c.len_utf8();
                        let message = format!("{c:?} means nothing here");
                        self.report(start, &message);
                        self.push(start, TokenKind::Wrong);
                    }
                }
            }
        }
    }

    fn comment(&mut self, start: usize) {
        let text = self.text[start..self.at].trim_end().to_string();
        let own_line = self.starts_line && !self.has_comment;
        self.has_comment = true;
        self.lexed.comments.push(Comment {
            span: Span::new(start, start + text.len()),
            text,
            own_line,
        });
    }

    fn word(&mut self, start: usize) {
        for (prefix, kind) in KINDS {
            if let Some(name) = self.rest().strip_prefix(prefix) {
                let quoted = name.starts_with('"');
                let bytes = root_name_bytes(name);
                if quoted || bytes > 0 {
                    self.at += prefix.len();
                    self.root(start, kind, bytes);
                    return;
                }
            }
        }
        // An object's name: `Node#17`, `java.util.Map<K, V>[]#3`. Not in the middle of a path, which
        // can be long.
        if !self.in_path()
            && let Some((bytes, class)) = object_class(self.rest())
        {
            self.at += bytes;
            if self.object(start, class) {
                return;
            }
            self.at = start;
        }
        let bytes = word_bytes(self.rest());
        self.at += bytes;
        let mut word = self.text[start..self.at].to_string();
        match self.type_arguments() {
            Some((bytes, written)) => {
                self.at += bytes;
                word += &written;
                self.push(start, TokenKind::Class(word));
            }
            None => self.push(start, TokenKind::Word(word)),
        }
    }

    /// Whether a dot stands before: what follows is a field.
    fn in_path(&self) -> bool {
        let last = self.lexed.tokens.last().map(|it| &it.kind);
        last == Some(&TokenKind::Mark("."))
    }

    /// The type arguments that stand here, unless what follows them shows that two values are
    /// compared: `a<b>=c`.
    fn type_arguments(&self) -> Option<(usize, String)> {
        let found = type_arguments(self.rest())?;
        let next = self.rest()[found.0..].chars().next();
        let is_value =
            |c: char| continues_word(c) || matches!(c, '=' | '>' | '(' | '"' | '\'' | '[' | '{');
        (!next.is_some_and(is_value)).then_some(found)
    }

    /// The `#17` of an object's name, if it follows.
    fn object(&mut self, start: usize, class: String) -> bool {
        let Some(digits) = self.rest().strip_prefix('#') else {
            return false;
        };
        let bytes = digits.bytes().take_while(u8::is_ascii_digit).count();
        let number = digits[..bytes].parse();
        if bytes == 0 {
            return false;
        }
        self.at += 1 + bytes;
        match number {
            Ok(number) => self.push(start, TokenKind::Host(HostName::Object { class, number })),
            Err(_) => {
                self.report(start, "no object has a number as large as this");
                self.push(start, TokenKind::Wrong);
            }
        }
        true
    }

    /// The name of a root behind its kind, and its index.
    fn root(&mut self, start: usize, kind: RootKind, bytes: usize) {
        let name = match bytes {
            0 => match self.quoted('"') {
                Some(name) => name,
                None => return self.push(start, TokenKind::Wrong),
            },
            bytes => {
                self.at += bytes;
                self.text[self.at - bytes..self.at].to_string()
            }
        };
        // Behind a static stands an element of what it refers to.
        let mut index = None;
        let indexed = !matches!(kind, RootKind::Static | RootKind::ThreadObject);
        if let Some(rest) = self.rest().strip_prefix('[').filter(|_| indexed) {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            if let Ok(number) = rest[..digits].parse()
                && rest[digits..].starts_with(']')
            {
                index = Some(number);
                self.at += digits + 2;
            }
        }
        let name = HostName::Root { kind, name, index };
        self.push(start, TokenKind::Host(name));
    }

    fn text_or_object(&mut self, start: usize) {
        let in_path = self.in_path();
        match self.quoted('"') {
            Some(text) => {
                if in_path || !self.object(start, text.clone()) {
                    self.push(start, TokenKind::Text(text));
                }
            }
            None => self.push(start, TokenKind::Wrong),
        }
    }

    fn character(&mut self, start: usize) {
        let Some(text) = self.quoted('\'') else {
            return self.push(start, TokenKind::Wrong);
        };
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => self.push(start, TokenKind::Char(c)),
            _ => {
                let span = Span::new(start, self.at);
                let message = "a character constant has one character";
                let diagnostic = Diagnostic::new(span, message).hint("text stands in \"…\"");
                self.lexed.diagnostics.push(diagnostic);
                self.push(start, TokenKind::Wrong);
            }
        }
    }

    /// What stands between quotes, with its escapes read.
    fn quoted(&mut self, quote: char) -> Option<String> {
        let start = self.at;
        let mut text = String::new();
        let mut is_right = true;
        self.at += 1;
        loop {
            let at = self.at;
            let c = self.rest().chars().next().filter(|&c| c != '\n');
            let Some(c) = c else {
                self.report(start, "this quote is not closed in its line");
                return None;
            };
            self.at += c.len_utf8();
            match c {
                c if c == quote => return is_right.then_some(text),
                '\\' => match escape(self.rest()) {
                    Ok((c, bytes)) => {
                        self.at += bytes;
                        text.push(c);
                    }
                    Err(bytes) => {
                        is_right = false;
                        self.at += bytes;
                        let span = Span::new(at, self.at);
                        let wrong = Diagnostic::new(span, "this escape is not known");
                        self.lexed.diagnostics.push(wrong.hint(KNOWN_ESCAPES));
                    }
                },
                c => text.push(c),
            }
        }
    }

    fn number(&mut self, start: usize) {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let rest = self.rest();
        let whole = digits(rest);
        let mut end = whole;
        if rest[end..].starts_with('.') && digits(&rest[end + 1..]) > 0 {
            end += 1 + digits(&rest[end + 1..]);
        }
        let exponent = &rest[end..];
        if let Some(power) = exponent.strip_prefix(['e', 'E']) {
            let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
            if digits(unsigned) > 0 {
                end += 1 + (power.len() - unsigned.len()) + digits(unsigned);
            }
        }
        let written = rest[..end].to_string();
        self.at += end;
        let is_integer = end == whole;
        let integer = written.parse().ok().filter(|&it: &i128| it < 1 << 100);
        let float = written.parse().ok().filter(|it: &f64| it.is_finite());
        match (is_integer, integer, float) {
            (true, Some(value), _) => self.push(start, TokenKind::Integer(value)),
            (false, _, Some(value)) => self.push(start, TokenKind::Float(value)),
            _ => {
                self.report(start, "this number is too large");
                self.push(start, TokenKind::Wrong);
            }
        }
    }

    /// JML's words, and the papers' LaTeX.
    fn backslashed(&mut self, start: usize) {
        self.at += 1;
        let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
        let rest = self.rest();
        let letters = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
        let word = rest[..letters].to_string();
        // A line break.
        if word.is_empty() && rest.starts_with('\\') {
            self.at += 1;
            return;
        }
        self.at += letters;
        if let Some((_, mark)) = BACKSLASHED.iter().find(|(it, _)| *it == word) {
            let kind = match *mark {
                "reach" => TokenKind::Word("reach".into()),
                mark => TokenKind::Mark(mark),
            };
            return self.push(start, kind);
        }
        let is_font = ["text", "mathbf", "mathtt", "textbf", "texttt"].contains(&word.as_str());
        let braced = self.rest().strip_prefix('{').filter(|_| is_font);
        if let Some(end) = braced.and_then(|it| it.find(['}', '\\', '\n', '"']))
            && braced.is_some_and(|it| it[end..].starts_with('}'))
        {
            let mut from = self.at + 1;
            let to = from + end;
            if word.ends_with("bf") && self.text[from..].starts_with('R') {
                self.at = from + 1;
                self.push(from, TokenKind::Mark("R"));
                from += 1;
            }
            let mut inner = lex(self.text, from, to);
            inner.tokens.pop();
            if let Some(first) = inner.tokens.first_mut() {
                first.starts_line = std::mem::take(&mut self.starts_line);
            }
            self.lexed.tokens.append(&mut inner.tokens);
            self.lexed.comments.append(&mut inner.comments);
            self.lexed.diagnostics.append(&mut inner.diagnostics);
            self.at = to + 1;
            return;
        }
        let span = Span::new(start, self.at);
        let known = BACKSLASHED.iter().map(|(it, _)| *it);
        let message = format!("`\\{word}` is not known");
        let mut diagnostic = Diagnostic::new(span, message);
        // To look for what was meant takes time, and nobody reads that many.
        if self.lexed.diagnostics.len() < 100 {
            diagnostic = diagnostic.meant(&word, known);
        }
        self.lexed.diagnostics.push(diagnostic);
        self.push(start, TokenKind::Wrong);
    }
}
