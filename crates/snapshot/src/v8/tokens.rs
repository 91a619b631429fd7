//! The tokens of a JSON text that is larger than memory: numbers, strings, what is between them.
//!
//! A window of the text is in memory at a time. Nearly all of a snapshot are whole numbers in two long
//! arrays, so that those have a path of their own; everything else is read plainly.
//!
//! Elsewhere: which values stand where (`read.rs`).

use std::io::{ErrorKind, Read};

use crate::Progress;

/// How much of the text is in memory.
const WINDOW: usize = 1 << 18;
/// No number is longer, with what may stand before it on an ordinary line.
const NEAR: usize = 64;

/// Why a text could not be read, and where.
#[derive(Debug)]
pub struct Failure {
    pub at: u64,
    pub message: String,
}

pub type Parsed<T> = Result<T, Failure>;

#[cold]
pub fn failure<T>(at: u64, message: impl Into<String>) -> Parsed<T> {
    let message = message.into();
    Err(Failure { at, message })
}

/// Reads a text from the front to the end.
pub struct Tokens<'p, R> {
    from: R,
    window: Box<[u8]>,
    /// The next byte in the window, and where its bytes end.
    at: usize,
    end: usize,
    /// Bytes of the text before the window.
    before: u64,
    is_over: bool,
    /// Bytes of the whole text, as far as they are known.
    bytes: u64,
    progress: Progress<'p>,
}

impl<'p, R: Read> Tokens<'p, R> {
    /// Reads from there; `bytes` tells `progress` how many there are.
    pub fn new(from: R, bytes: u64, progress: Progress<'p>) -> Self {
        Self {
            from,
            window: vec![0; WINDOW].into(),
            at: 0,
            end: 0,
            before: 0,
            is_over: false,
            bytes,
            progress,
        }
    }

    /// Where the next byte is in the text.
    pub fn place(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Reads on until the window has `wanted` bytes or the text ends.
    fn fill(&mut self, wanted: usize) -> Parsed<()> {
        self.window.copy_within(self.at..self.end, 0);
        self.before += self.at as u64;
        self.end -= self.at;
        self.at = 0;
        while self.end < wanted && !self.is_over {
            match self.from.read(&mut self.window[self.end..]) {
                Ok(0) => self.is_over = true,
                Ok(bytes) => self.end += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let at = self.before + self.end as u64;
                    return failure(at, format!("it cannot be read on: {error}"));
                }
            }
        }
        (self.progress)(self.before, self.bytes.max(self.before));
        Ok(())
    }

    /// Returns the next byte without passing it; none at the end of the text.
    fn peek(&mut self) -> Parsed<Option<u8>> {
        if self.at == self.end {
            self.fill(1)?;
        }
        Ok(self.window[..self.end].get(self.at).copied())
    }

    /// Passes blanks. Returns the byte behind them without passing it.
    pub fn next(&mut self) -> Parsed<Option<u8>> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return Ok(other),
            }
        }
    }

    /// Passes a byte that must come next, behind blanks.
    pub fn expect(&mut self, wanted: u8, inside: &str) -> Parsed<()> {
        match self.next()? {
            Some(byte) if byte == wanted => {
                self.at += 1;
                Ok(())
            }
            other => self.unexpected(other, &format!("`{}`", wanted as char), inside),
        }
    }

    /// Passes a comma, or the end of a list. Returns whether something follows.
    pub fn goes_on(&mut self, close: u8, inside: &str) -> Parsed<bool> {
        match self.next()? {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            other => self.unexpected(other, &format!("`,` or `{}`", close as char), inside),
        }
    }

    /// Passes the start of a list. Returns whether something is in it.
    pub fn opens(&mut self, open: u8, close: u8, inside: &str) -> Parsed<bool> {
        self.expect(open, inside)?;
        let is_empty = self.next()? == Some(close);
        if is_empty {
            self.at += 1;
        }
        Ok(!is_empty)
    }

    #[cold]
    pub fn unexpected<T>(&self, found: Option<u8>, wanted: &str, inside: &str) -> Parsed<T> {
        let Some(found) = found else {
            return failure(self.place(), format!("the file ends inside {inside}"));
        };
        let found = match found.is_ascii_graphic() {
            true => format!("`{}`", found as char),
            false => format!("byte {found}"),
        };
        let message = format!("{wanted} is expected here, not {found}, inside {inside}");
        failure(self.place(), message)
    }

    /// Reads rows of as many whole numbers as `row` has, up to the end of their array.
    pub fn for_each_row(
        &mut self,
        row: &mut [u64],
        inside: &str,
        mut f: impl FnMut(&[u64], u64) -> Parsed<()>,
    ) -> Parsed<()> {
        if !self.opens(b'[', b']', inside)? {
            return Ok(());
        }
        let mut start = self.place();
        let mut column = 0;
        loop {
            row[column] = self.number(inside)?;
            column += 1;
            if column == row.len() {
                f(row, start)?;
                column = 0;
            }
            // Numbers are nearly always a comma apart.
            match self.window[..self.end].get(self.at).copied() {
                Some(b',') => self.at += 1,
                _ if self.goes_on(b']', inside)? => {}
                _ => break,
            }
            if column == 0 {
                start = self.place();
            }
        }
        match column {
            0 => Ok(()),
            _ => failure(start, format!("the last row is not whole, inside {inside}")),
        }
    }

    /// Reads a whole number that is not negative.
    #[inline]
    pub fn number(&mut self, inside: &str) -> Parsed<u64> {
        if self.end - self.at < NEAR && !self.is_over {
            self.fill(NEAR)?;
        }
        // Digits that are all in the window, and end there.
        let window = &self.window[..self.end];
        let mut at = self.at;
        let mut number = 0u64;
        while let Some(digit) = window.get(at).map(|byte| byte.wrapping_sub(b'0'))
            && digit <= 9
        {
            number = number.wrapping_mul(10).wrapping_add(digit as u64);
            at += 1;
        }
        let ends = matches!(window.get(at), Some(b',' | b'\n' | b']'));
        if ends && (1..=18).contains(&(at - self.at)) {
            self.at = at;
            return Ok(number);
        }
        self.plain_number(inside)
    }

    /// The same, whatever stands around it.
    #[cold]
    fn plain_number(&mut self, inside: &str) -> Parsed<u64> {
        let wanted = "a whole number";
        let first = self.next()?;
        if !first.is_some_and(|it| it.is_ascii_digit()) {
            return self.unexpected(first, wanted, inside);
        }
        let start = self.place();
        let mut number = 0u64;
        loop {
            let byte = match self.peek()? {
                Some(byte @ b'0'..=b'9') => byte,
                odd @ Some(b'.' | b'e' | b'E') => return self.unexpected(odd, wanted, inside),
                _ => return Ok(number),
            };
            let more = number.checked_mul(10);
            let Some(more) = more.and_then(|it| it.checked_add((byte - b'0') as u64)) else {
                return failure(start, format!("a number is too large, inside {inside}"));
            };
            number = more;
            self.at += 1;
        }
    }

    /// Reads a string, and appends it to `text` in UTF-8. What is no character becomes U+FFFD.
    pub fn string(&mut self, text: &mut Vec<u8>, inside: &str) -> Parsed<()> {
        self.expect(b'"', inside)?;
        let start = text.len();
        let mut is_ascii = true;
        loop {
            let window = &self.window[self.at..self.end];
            let plain = window.iter().position(|&byte| {
                is_ascii &= byte < 0x80;
                byte == b'"' || byte == b'\\'
            });
            let bytes = plain.unwrap_or(window.len());
            text.extend_from_slice(&window[..bytes]);
            self.at += bytes;
            match plain.map(|_| self.window[self.at]) {
                Some(b'"') => {
                    self.at += 1;
                    break;
                }
                Some(_) => self.escape(text, inside)?,
                None => {
                    self.fill(1)?;
                    if self.end == 0 {
                        return self.unexpected(None, "", inside);
                    }
                }
            }
        }
        if !is_ascii && std::str::from_utf8(&text[start..]).is_err() {
            let whole = String::from_utf8_lossy(&text[start..]).into_owned();
            text.truncate(start);
            text.extend_from_slice(whole.as_bytes());
        }
        Ok(())
    }

    /// Reads what stands behind a backslash.
    fn escape(&mut self, text: &mut Vec<u8>, inside: &str) -> Parsed<()> {
        if self.end - self.at < 16 {
            self.fill(16)?;
        }
        let Some(&byte) = self.window[..self.end].get(self.at + 1) else {
            self.at = self.end;
            return self.unexpected(None, "", inside);
        };
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let c = self.unicode(inside)?;
                text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return failure(self.place(), format!("a wrong escape, inside {inside}")),
        };
        self.at += 2;
        text.push(plain);
        Ok(())
    }

    /// Reads `\u1234`, or two of them that are one character.
    fn unicode(&mut self, inside: &str) -> Parsed<char> {
        let Some(high) = self.hex(0) else {
            return match self.end - self.at < 6 {
                true => {
                    self.at = self.end;
                    self.unexpected(None, "", inside)
                }
                false => failure(self.place(), format!("a wrong escape, inside {inside}")),
            };
        };
        self.at += 6;
        if let 0xd800..0xdc00 = high
            && let Some(low @ 0xdc00..0xe000) = self.hex(0)
        {
            self.at += 6;
            let code = 0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00));
            return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&self, behind: usize) -> Option<u32> {
        let at = self.at + behind;
        let digits = self.window[..self.end].get(at..at + 6)?;
        let digits = digits.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0, |number, &digit| {
            Some(number << 4 | (digit as char).to_digit(16)?)
        })
    }

    /// Passes a value of any kind, and appends its text to `kept` if there is one; not more than `most`
    /// bytes of it.
    pub fn value(
        &mut self,
        mut kept: Option<&mut Vec<u8>>,
        most: usize,
        inside: &str,
    ) -> Parsed<()> {
        let start = self.place();
        let (mut depth, mut in_string, mut escaped) = (0u64, false, false);
        if !matches!(
            self.next()?,
            Some(b'[' | b'{' | b'"' | b'0'..=b'9' | b'a'..=b'z' | b'-')
        ) {
            let found = self.peek()?;
            return self.unexpected(found, "a value", inside);
        }
        loop {
            let Some(byte) = self.peek()? else {
                // A bare word or number may end with the text.
                return self.unexpected(None, "", inside);
            };
            // A bare word or number ends before what follows it.
            if depth == 0 && !in_string && matches!(byte, b',' | b'}' | b']') {
                return Ok(());
            }
            self.at += 1;
            if let Some(kept) = &mut kept {
                if kept.len() == most {
                    return failure(start, format!("{inside} has more than {most} bytes"));
                }
                kept.push(byte);
            }
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => in_string = false,
                    _ => {}
                }
            } else {
                match byte {
                    b'"' => in_string = true,
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => depth -= 1,
                    _ => {}
                }
            }
            if depth == 0 && !in_string && matches!(byte, b'"' | b']' | b'}') {
                return Ok(());
            }
        }
    }
}
