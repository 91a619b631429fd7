//! Walking along the bytes of a text: blanks, words, numbers, quotes.

use std::borrow::Cow;

use heaphound_heap::Value;
use heaphound_heap::quotes::{KNOWN_ESCAPES, escape};

use super::mistake::{Parse, ParseError, error_at};
use super::names::{Style, bare_length};

/// A place in a text. It stays on its line until it is moved to the next.
pub struct Cursor<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Mistakes after which the line could be read on.
    pub minor: Vec<ParseError>,
}

/// A value as it is written. What it means depends on the field.
#[derive(Debug)]
pub enum Literal<'a> {
    Value(Value),
    /// `true`, `nan`, the name of a variant.
    Word(Cow<'a, str>),
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            minor: Vec::new(),
        }
    }

    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Moves to a place where the cursor has been.
    pub fn go(&mut self, at: usize) {
        self.at = at;
    }

    pub fn is_done(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// To the start of the next line.
    #[inline]
    pub fn next_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += match rest.iter().position(|&c| c == b'\n') {
            Some(end) => end + 1,
            None => rest.len(),
        };
    }

    #[inline]
    pub fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Returns the next byte of the line.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied().filter(|&c| c != b'\n')
    }

    /// Returns the byte behind the next one, if it is on the line.
    pub fn peek_second(&self) -> Option<u8> {
        self.peek()?;
        self.bytes.get(self.at + 1).copied().filter(|&c| c != b'\n')
    }

    /// Returns whether nothing but a comment is left of the line. Skips blanks.
    #[inline]
    pub fn is_at_end(&mut self) -> bool {
        self.skip_blanks();
        match self.peek() {
            None => true,
            Some(b'/') => self.peek_second() == Some(b'/'),
            _ => false,
        }
    }

    /// Takes that byte, if it is next.
    #[inline]
    pub fn eat(&mut self, c: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&c);
        self.at += found as usize;
        found
    }

    /// Takes that text, if it is next.
    #[inline]
    pub fn eat_text(&mut self, text: &[u8]) -> bool {
        let found = self.bytes[self.at..].starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// Takes that word, if it is next and a blank or a quote follows.
    pub fn eat_keyword(&mut self, word: &str) -> bool {
        let found = self.bytes[self.at..].starts_with(word.as_bytes());
        let behind = self.bytes.get(self.at + word.len());
        let ends = matches!(behind, None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'"'));
        self.at += if found && ends { word.len() } else { 0 };
        found && ends
    }

    /// Blanks, then that byte.
    #[inline]
    pub fn expect(&mut self, c: u8) -> Parse<()> {
        self.skip_blanks();
        match self.eat(c) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{}`", c as char))),
        }
    }

    /// Says what should be here, and what is.
    #[cold]
    pub fn expected(&self, what: &str) -> Box<ParseError> {
        let found = match self.text.get(self.at..).and_then(|it| it.chars().next()) {
            None | Some('\n' | '\r') => "the line ends here".into(),
            Some(c) => format!("found {c:?}"),
        };
        error_at(self.at, format!("expected {what}, but {found}"))
    }

    #[inline]
    fn slice(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or("")
    }

    /// Reads a name, quoted or not, if there is one.
    #[inline]
    pub fn try_name(&mut self, style: Style) -> Parse<Option<Cow<'a, str>>> {
        if self.peek() == Some(b'"') {
            let at = self.at;
            return match self.quoted()? {
                Cow::Borrowed(bytes) => Ok(std::str::from_utf8(bytes).ok().map(Cow::Borrowed)),
                Cow::Owned(bytes) => match String::from_utf8(bytes) {
                    Ok(name) => Ok(Some(Cow::Owned(name))),
                    Err(_) => Err(error_at(
                        at,
                        "only the text of an object may have `\\x` bytes",
                    )),
                },
            };
        }
        let from = self.at;
        self.at += bare_length(self.text, from, style);
        Ok((self.at > from).then(|| Cow::Borrowed(self.slice(from))))
    }

    /// Reads a name, quoted or not.
    pub fn name(&mut self, style: Style, what: &str) -> Parse<Cow<'a, str>> {
        let name = self.try_name(style)?;
        name.ok_or_else(|| self.expected(what))
    }

    /// Text in quotes, as bytes.
    pub fn quoted(&mut self) -> Parse<Cow<'a, [u8]>> {
        let open = self.at;
        if !self.eat(b'"') {
            return Err(self.expected("text in quotes"));
        }
        let from = self.at;
        loop {
            match self.peek() {
                None => return Err(error_at(open, "this quote is not closed in its line")),
                Some(b'"') => {
                    let text = &self.bytes[from..self.at];
                    self.at += 1;
                    return Ok(Cow::Borrowed(text));
                }
                Some(b'\\') => break,
                Some(_) => self.at += 1,
            }
        }
        let mut text = self.bytes[from..self.at].to_vec();
        loop {
            match self.peek() {
                None => return Err(error_at(open, "this quote is not closed in its line")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') if self.peek_second() == Some(b'x') => {
                    let digits = self.text.get(self.at + 2..self.at + 4);
                    let byte = digits
                        .filter(|it| it.bytes().all(|c| c.is_ascii_hexdigit()))
                        .and_then(|it| u8::from_str_radix(it, 16).ok());
                    let Some(byte) = byte else {
                        return Err(error_at(self.at, "`\\x` wants two hexadecimal digits"));
                    };
                    text.push(byte);
                    self.at += 4;
                }
                Some(b'\\') => {
                    let c = self.escape()?;
                    text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(c) => {
                    text.push(c);
                    self.at += 1;
                }
            }
        }
    }

    /// Reads a character that is written with a backslash.
    fn escape(&mut self) -> Parse<char> {
        let at = self.at;
        let rest = self.text.get(at + 1..).unwrap_or("");
        match escape(rest) {
            Ok((c, bytes)) => {
                self.at += 1 + bytes;
                Ok(c)
            }
            Err(_) if rest.starts_with("u{") => Err(error_at(
                at,
                "this is not a character's number, as in `\\u{e9}`",
            )),
            Err(_) => Err(error_at(at, "this escape is not known").hint(KNOWN_ESCAPES)),
        }
    }

    /// Digits.
    #[inline]
    pub fn number(&mut self, what: &str) -> Parse<u64> {
        let from = self.at;
        let mut number = 0u64;
        while let Some(digit @ b'0'..=b'9') = self.bytes.get(self.at) {
            let more = number.checked_mul(10);
            let Some(more) = more.and_then(|it| it.checked_add((digit - b'0') as u64)) else {
                return Err(error_at(from, "this number is too large"));
            };
            number = more;
            self.at += 1;
        }
        match self.at > from {
            true => Ok(number),
            false => Err(self.expected(what)),
        }
    }

    /// Reads a number of elements or roots. `limit` is the message if it is too large.
    pub fn small_number(&mut self, what: &str, limit: &'static str) -> Parse<u32> {
        let at = self.at;
        let number = self.number(what)?;
        u32::try_from(number).map_err(|_| error_at(at, limit))
    }

    /// Reads a value of any kind.
    pub fn literal(&mut self) -> Parse<Literal<'a>> {
        match self.peek() {
            Some(b'0'..=b'9' | b'-') => self.numeral(),
            Some(b'\'') => {
                let at = self.at;
                self.at += 1;
                let c = match self.peek() {
                    Some(b'\\') => self.escape()?,
                    Some(b'\'') | None => return Err(self.expected("a character")),
                    Some(_) => {
                        let c = self.text.get(self.at..).and_then(|it| it.chars().next());
                        let c = c.unwrap_or(' ');
                        self.at += c.len_utf8();
                        c
                    }
                };
                match self.eat(b'\'') {
                    true => Ok(Literal::Value(Value::Char(c))),
                    false => Err(error_at(at, "a character stands between two `'`")),
                }
            }
            _ => Ok(Literal::Word(self.name(Style::Variant, "a value")?)),
        }
    }

    fn numeral(&mut self) -> Parse<Literal<'a>> {
        let from = self.at;
        let negative = self.eat(b'-');
        if negative && self.eat_text(b"inf") {
            return Ok(Literal::Value(Value::Float(f64::NEG_INFINITY)));
        }
        let digits = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
        if digits == self.at {
            return Err(self.expected("a number"));
        }
        if let Some(b'.' | b'e' | b'E') = self.peek() {
            while let Some(c) = self.peek() {
                let before = self.bytes[self.at - 1];
                let sign = matches!(c, b'-' | b'+') && matches!(before, b'e' | b'E');
                if !sign && !matches!(c, b'0'..=b'9' | b'.' | b'e' | b'E') {
                    break;
                }
                self.at += 1;
            }
            return match self.slice(from).parse() {
                Ok(value) => Ok(Literal::Value(Value::Float(value))),
                Err(_) => Err(error_at(from, "this is not a number")),
            };
        }
        let end = std::mem::replace(&mut self.at, digits);
        let number = self.number("a number")?;
        debug_assert_eq!(self.at, end);
        if !negative {
            return Ok(Literal::Value(Value::Unsigned(number)));
        }
        match 0i64.checked_sub_unsigned(number) {
            Some(number) => Ok(Literal::Value(Value::Signed(number))),
            None => Err(error_at(from, "this number is too small")),
        }
    }
}
