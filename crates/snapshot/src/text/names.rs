//! Names: which need no quotes, and how the others are quoted.

use heaphound_heap::quotes::push_escaped;

/// Where a name stands decides which characters need no quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// `java.util.HashMap$Node`, `Vec<u8>`, `Node[]`
    Class,
    /// `next`, `pos.x`, and `slots[3]` for an inline array.
    Field,
    /// `worker-1`, `src/main.rs:3:5`
    Root,
    /// `red`
    Variant,
}

impl Style {
    /// Returns whether an unquoted name may have that character.
    #[inline]
    pub fn has(self, c: u8) -> bool {
        TABLE[c as usize] & 1 << self as u8 != 0
    }
}

/// For each ASCII character, a bit for each style.
const TABLE: [u8; 128] = {
    let mut table = [0; 128];
    let mut c = 0u8;
    while c < 128 {
        let word = c.is_ascii_alphanumeric() || c == b'_' || c == b'$';
        let class = word || matches!(c, b'.' | b':' | b'<' | b'>' | b'[' | b']');
        let field = word || c == b'.';
        let root = word || matches!(c, b'.' | b':' | b'/' | b'-');
        table[c as usize] =
            class as u8 | (field as u8) << 1 | (root as u8) << 2 | (word as u8) << 3;
        c += 1;
    }
    table
};

/// Returns the unquoted name that a text begins with, in bytes.
pub fn bare_length(text: &str, from: usize, style: Style) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        match bytes.get(at) {
            // An arrow may follow without a blank.
            Some(b'-') if bytes.get(at + 1) == Some(&b'>') => break,
            Some(&c) if c < 128 && style.has(c) => at += 1,
            Some(b'[') if style == Style::Field && at > from => match index_end(bytes, at) {
                Some(end) => at = end,
                None => break,
            },
            Some(&c) if c >= 128 => match text.get(at..).and_then(|it| it.chars().next()) {
                Some(c) if c.is_alphabetic() => at += c.len_utf8(),
                _ => break,
            },
            _ => break,
        }
    }
    // `class A: B` means what `class A : B` does.
    if style == Style::Class && at > from && bytes[at - 1] == b':' {
        at -= 1;
    }
    at - from
}

/// Returns where `[12]` ends.
fn index_end(bytes: &[u8], open: usize) -> Option<usize> {
    let digits = bytes[open + 1..].iter().take_while(|c| c.is_ascii_digit());
    let close = open + 1 + digits.count();
    (close > open + 1 && bytes.get(close) == Some(&b']')).then_some(close + 1)
}

/// Writes a name, in quotes if it needs them.
pub fn push_name(out: &mut Vec<u8>, name: &str, style: Style) {
    let first = name.bytes().next().unwrap_or(b' ');
    let bare = bare_length(name, 0, style) == name.len()
        && !name.is_empty()
        && !name.contains("//")
        // What begins like a number is read as one, and what ends with an index as one too.
        && (style != Style::Variant || !first.is_ascii_digit())
        && !matches!(name, "null" | "true" | "false" | "nan" | "inf");
    match bare {
        true => out.extend_from_slice(name.as_bytes()),
        false => push_quoted(out, name.as_bytes()),
    }
}

/// Writes text in quotes. Bytes that are not UTF-8 become `\xff`.
pub fn push_quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for chunk in text.utf8_chunks() {
        let mut valid = String::new();
        let chars = chunk.valid().chars();
        chars.for_each(|c| push_escaped(&mut valid, c, '"'));
        out.extend_from_slice(valid.as_bytes());
        for byte in chunk.invalid() {
            out.extend_from_slice(format!("\\x{byte:02x}").as_bytes());
        }
    }
    out.push(b'"');
}
