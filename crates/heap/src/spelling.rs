//! How names are spelt, so that what reports print can be read again.
//!
//! The name of a class, a root or a field stands as it is where it is made of words, and in quotes
//! ([`crate::quotes`]) where it is not. One rule for reports, DeAL and the command line: they print what
//! they read.

use std::borrow::Cow;

use crate::class::{ClassId, ClassInfo, short_name};
use crate::quotes::quoted;

/// Returns the name of an object: `Node#17`, `Map<K, V>#3`, `Node[]#2`, `"a b"#1`.
pub fn object_name(class: &str, number: u64) -> String {
    match object_class(class) {
        Some((bytes, written)) if bytes == class.len() && written == class => {
            format!("{class}#{number}")
        }
        _ => format!("{}#{number}", quoted(class, '"')),
    }
}

/// Returns the name of a root or of a thread as it stands behind `static:` or `thread:`: `worker-1`,
/// `src/main.rs:3:5`, `"open orders"`.
pub fn root_name(name: &str) -> Cow<'_, str> {
    match !name.is_empty() && root_name_bytes(name) == name.len() {
        true => name.into(),
        false => quoted(name, '"').into(),
    }
}

/// Returns the name of a thread: `thread:main`, `thread:"a b"`.
pub fn thread_name(name: &str) -> String {
    format!("thread:{}", root_name(name))
}

/// Returns the name of a field as it stands behind a dot: `next`, `"a b"`. An element of an inline array
/// needs no quotes: `slots[3]`.
pub fn field_name(name: &str) -> Cow<'_, str> {
    let element = name
        .split_once('[')
        .filter(|(_, index)| index.ends_with(']'));
    match is_word(element.map_or(name, |(array, _)| array)) {
        true => name.into(),
        false => quoted(name, '"').into(),
    }
}

/// Returns whether two names are the same class, whatever blanks stand between type arguments:
/// `Map<K,V>` and `Map<K, V>`.
pub fn is_same_class(a: &str, b: &str) -> bool {
    let written = |name: &str| {
        let (bytes, written) = object_class(name)?;
        (bytes == name.len()).then_some(written)
    };
    a == b
        || a.contains('<') && b.contains('<') && written(a).is_some_and(|it| written(b) == Some(it))
}

/// Returns the classes that a name stands for: all that have it or, if none does, all that have it but for blanks, or but for
/// their packages or some of these. Several of one name are one to whoever names them.
pub fn classes_named(classes: &[ClassInfo], name: &str) -> Vec<ClassId> {
    let find = |fits: &dyn Fn(&str) -> bool| -> Vec<ClassId> {
        let found = classes.iter().filter(|it| fits(&it.name));
        found.map(|it| it.id).collect()
    };
    let is_end = |class: &str| {
        let package = class.strip_suffix(name);
        package.is_some_and(|it| it.ends_with(['.', ':']) && !it.contains('<'))
    };
    let mut found = find(&|it| it == name);
    if found.is_empty() {
        found = find(&|it| is_same_class(it, name));
    }
    if found.is_empty() {
        found = find(&|it| is_end(it) || short_name(it) == name);
    }
    found
}

/// How many bytes of a text are the class of an object that needs no quotes, and how it is written:
/// `java.util.Map`, `Map<K, List<V>>`, `Node[][]`.
pub fn object_class(text: &str) -> Option<(usize, String)> {
    let mut end = Some(dotted_bytes(text)).filter(|&it| it > 0)?;
    let mut written = text[..end].to_string();
    if let Some((bytes, arguments)) = type_arguments(&text[end..]) {
        end += bytes;
        written += &arguments;
    }
    while text[end..].starts_with("[]") {
        end += 2;
        written += "[]";
    }
    Some((end, written))
}

/// Whether a word may begin with that character.
pub fn starts_word(c: char) -> bool {
    c.is_alphabetic() && c != '𝐑' || c == '_' || c == '$'
}

/// Whether a word may go on with that character.
pub fn continues_word(c: char) -> bool {
    c.is_alphanumeric() && c != '𝐑' || c == '_' || c == '$'
}

/// Whether a text is a word: `a`, `a::b`.
pub fn is_word(text: &str) -> bool {
    !text.is_empty() && word_bytes(text) == text.len()
}

/// How many bytes of a text belong to a word: `a`, `a::b`.
pub fn word_bytes(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        if !rest.starts_with(starts_word) {
            return at.saturating_sub(2);
        }
        at += rest.find(|c| !continues_word(c)).unwrap_or(text.len() - at);
        match text[at..].starts_with("::") {
            true => at += 2,
            false => return at,
        }
    }
}

/// How deep type arguments nest.
const DEEPEST: usize = 64;

/// How many bytes of a text are type arguments, and how they are written: `<Str, List<Order>>`.
pub fn type_arguments(text: &str) -> Option<(usize, String)> {
    let mut at = text.strip_prefix('<').map(|_| 1)?;
    let mut written = String::from("<");
    let mut depth = 1;
    let blanks = |at: usize| {
        let rest = &text[at..];
        rest.len() - rest.trim_start_matches([' ', '\t']).len()
    };
    loop {
        at += blanks(at);
        let bytes = argument_bytes(&text[at..]);
        if bytes == 0 {
            return None;
        }
        written.push_str(&text[at..at + bytes]);
        at += bytes;
        // What follows an argument.
        if text[at..].starts_with('<') {
            depth += 1;
            at += 1;
            written.push('<');
            if depth > DEEPEST {
                return None;
            }
            continue;
        }
        loop {
            if text[at..].starts_with("[]") {
                at += 2;
                written.push_str("[]");
                continue;
            }
            at += blanks(at);
            match text.as_bytes().get(at) {
                Some(b'>') => {
                    at += 1;
                    written.push('>');
                    depth -= 1;
                    if depth == 0 {
                        return Some((at, written));
                    }
                }
                Some(b',') => {
                    at += 1;
                    written.push_str(", ");
                    break;
                }
                _ => return None,
            }
        }
    }
}

/// How many bytes of a text belong to a type argument, without its own: `shop::Order`,
/// `java.util.Map`, `8`.
fn argument_bytes(text: &str) -> usize {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    match digits {
        0 => dotted_bytes(text),
        digits => digits,
    }
}

/// How many bytes of a text belong to words with dots between them.
pub fn dotted_bytes(text: &str) -> usize {
    let mut end = word_bytes(text);
    while let Some(more) = text[end..].strip_prefix('.').filter(|_| end > 0) {
        match word_bytes(more) {
            0 => break,
            more => end += 1 + more,
        }
    }
    end
}

/// Whether a name is one of a class that needs no quotes: `java.util.Map`, `Map<K, List<V>>`.
pub fn is_class_name(name: &str) -> bool {
    let bytes = dotted_bytes(name);
    let rest = &name[bytes..];
    bytes > 0
        && (rest.is_empty() || type_arguments(rest).is_some_and(|(_, written)| written == rest))
}

/// How many bytes of a text belong to the name of a root that needs no quotes: `worker-1`, or a place in
/// a program, `src/main.rs:3:5`.
pub fn root_name_bytes(text: &str) -> usize {
    match place_bytes(text) {
        0 => dashed_bytes(text),
        bytes => bytes,
    }
}

/// How many bytes of a text belong to words with dashes between them.
fn dashed_bytes(text: &str) -> usize {
    let mut end = 0;
    for (at, c) in text.char_indices() {
        match c {
            '-' => (),
            c if continues_word(c) => end = at + c.len_utf8(),
            _ => break,
        }
    }
    match text.starts_with('-') {
        true => 0,
        false => end,
    }
}

/// How many bytes of a text belong to a file, a line and a column.
fn place_bytes(text: &str) -> usize {
    let is_of_file = |c: char| continues_word(c) || matches!(c, '.' | '/' | '-');
    let file = text.find(|c| !is_of_file(c)).unwrap_or(text.len());
    // What is divided or commented is no file.
    if file == 0 || text[..file].contains("//") || text.starts_with('-') {
        return 0;
    }
    let mut end = file;
    for _ in ["line", "column"] {
        let Some(rest) = text[end..].strip_prefix(':') else {
            return 0;
        };
        match rest.bytes().take_while(u8::is_ascii_digit).count() {
            0 => return 0,
            digits => end += 1 + digits,
        }
    }
    match text[end..].starts_with(|c| continues_word(c) || c == ':') {
        true => 0,
        false => end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_odd_names_are_quoted() {
        for class in [
            "Node",
            "a.b::C$1",
            "Map<K, List<V[]>>",
            "Node[][]",
            "Vec<u8>[]",
        ] {
            assert_eq!(object_name(class, 7), format!("{class}#7"));
        }
        for (class, name) in [
            ("a b", r##""a b"#7"##),
            ("a<b,c>", r##""a<b,c>"#7"##),
            ("a\tb", r##""a\tb"#7"##),
            ("\u{202e}", r##""\u{202e}"#7"##),
            ("", r##"""#7"##),
            ("Node#1", r##""Node#1"#7"##),
            ("1x", r##""1x"#7"##),
        ] {
            assert_eq!(object_name(class, 7), name);
        }
        for root in ["main", "worker-1", "src/main.rs:3:5", "/a-b/c.rs:10:55"] {
            assert_eq!(root_name(root), root);
        }
        for root in [
            "",
            "a b",
            "a-",
            "-a",
            "a.b",
            "a:3",
            "a//b:1:2",
            "src/main.rs:3:5:7",
            "a:1:2x",
        ] {
            assert_eq!(root_name(root), quoted(root, '"'));
        }
        assert_eq!(field_name("slots[3]"), "slots[3]");
        assert_eq!(field_name("a b"), "\"a b\"");
        assert_eq!(field_name("pos.x"), "\"pos.x\"");
    }

    #[test]
    fn blanks_between_type_arguments_do_not_count() {
        assert!(is_same_class("Map<K,V>", "Map<K, V>"));
        assert!(is_same_class("Map< K,List<V> >[]", "Map<K, List<V>>[]"));
        assert!(is_same_class("a b", "a b"));
        assert!(!is_same_class("a b", "ab"));
        assert!(!is_same_class("Map<K,V>", "Map<K>"));
        assert!(!is_same_class("Map<K, V", "Map<K,V"));
    }
}
