//! Text in quotes: one rule for heap text, for DeAL and for the names on a command line.
//!
//! Any text can stand in quotes. Behind a backslash stand `n`, `r`, `t`, `0`, a backslash, a quote of
//! either sort, and `u{…}` with the number of a character. A line break ends the line, and with it
//! the text.

/// The escapes, for those who tell of a wrong one.
pub const KNOWN_ESCAPES: &str = r#"known are \" \' \\ \n \r \t \0 \u{…}"#;

/// Reads what stands behind a backslash. Returns the character and how many bytes it takes; where
/// there is none, only how many bytes are wrong.
pub fn escape(rest: &str) -> Result<(char, usize), usize> {
    let c = rest.chars().next().filter(|&c| c != '\n').ok_or(0usize)?;
    let plain = match c {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '0' => '\0',
        '\\' | '"' | '\'' => c,
        'u' => {
            let braced = rest[1..].strip_prefix('{').ok_or(1usize)?;
            let digits = braced.bytes().take_while(u8::is_ascii_hexdigit).count();
            let c = u32::from_str_radix(&braced[..digits], 16).ok();
            let is_closed = braced[digits..].starts_with('}');
            let bytes = 2 + digits + usize::from(is_closed);
            let c = c.and_then(char::from_u32).filter(|_| is_closed);
            return c.map(|c| (c, bytes)).ok_or(bytes);
        }
        c => return Err(c.len_utf8()),
    };
    Ok((plain, c.len_utf8()))
}

/// Returns a text without its double quotes, and what follows it. None if it does not begin with a
/// quote, if the quote is not closed in its line, or if an escape is not known.
///
/// ```
/// use heaphound_heap::quotes::{quoted, unquote};
/// assert_eq!(unquote(r##""a\tb"#17"##), Some(("a\tb".into(), "#17")));
/// assert_eq!(unquote(r#""a\qb""#), None);
/// assert_eq!(unquote(&quoted("a\0\"", '"')), Some(("a\0\"".into(), "")));
/// ```
pub fn unquote(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('"')?;
    let mut plain = String::new();
    loop {
        let c = rest.chars().next().filter(|&c| c != '\n')?;
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => return Some((plain, rest)),
            '\\' => {
                let (c, bytes) = escape(rest).ok()?;
                plain.push(c);
                rest = &rest[bytes..];
            }
            c => plain.push(c),
        }
    }
}

/// Returns a text in quotes.
pub fn quoted(text: &str, quote: char) -> String {
    let mut quoted = String::from(quote);
    text.chars()
        .for_each(|c| push_escaped(&mut quoted, c, quote));
    quoted.push(quote);
    quoted
}

/// Adds a character as it stands between such quotes.
pub fn push_escaped(out: &mut String, c: char, quote: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0' => out.push_str("\\0"),
        c if c == quote || c == '\\' => out.extend(['\\', c]),
        // A byte-order mark is not seen.
        c if deceives(c) || c == '\u{feff}' => {
            out.push_str(&format!("\\u{{{:x}}}", c as u32));
        }
        c => out.push(c),
    }
}

/// Returns whether a character could move the cursor, or change the order in which others are shown.
pub fn deceives(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_is_read_as_it_was() {
        for text in [
            "",
            "a b",
            "\0\t\r\n",
            "\"\\'",
            "\u{feff}\u{7f}é\u{202e}",
            "\\u{e9}",
        ] {
            let written = quoted(text, '"');
            assert!(!written.contains('\n'));
            assert_eq!(unquote(&written), Some((text.to_string(), "")));
        }
    }

    #[test]
    fn what_is_no_text_in_quotes_is_not_read() {
        for text in [
            "",
            "a",
            "\"",
            "\"a\nb\"",
            r#""\x41""#,
            r#""\u{110000}""#,
            r#""\u{41""#,
        ] {
            assert_eq!(unquote(text), None, "{text:?}");
        }
    }
}
