//! Mistakes in heap text: where, what, and what may have been meant.

use std::fmt;

use heaphound_heap::snapshot::Malformed;
use unicode_width::UnicodeWidthStr;

/// All mistakes that were found in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextErrors {
    /// What the text was called.
    pub name: String,
    /// In the order of the text.
    pub mistakes: Vec<Mistake>,
    /// Whether there are more than these.
    pub more: bool,
}

/// One mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What may have been meant.
    pub hint: Option<String>,
    /// The line, or the part of it that matters.
    pub source: String,
    /// How many characters of `source` come before the place.
    pub caret: usize,
}

impl fmt::Display for TextErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, mistake) in self.mistakes.iter().enumerate() {
            if nth > 0 {
                writeln!(f)?;
            }
            let Mistake { line, column, .. } = mistake;
            writeln!(f, "{}:{line}:{column}: {}", self.name, mistake.message)?;
            writeln!(f, "  {}", mistake.source)?;
            write!(f, "  {:1$}^", "", mistake.caret)?;
            if let Some(hint) = &mistake.hint {
                write!(f, " {hint}")?;
            }
        }
        if self.more {
            write!(f, "\n… and more")?;
        }
        Ok(())
    }
}

impl std::error::Error for TextErrors {}

/// After this many mistakes, reading stops.
const MOST: usize = 100;
/// Characters of a line that are shown before and behind a mistake.
const SHOWN: usize = 60;

/// Characters of a message that are shown.
const LONGEST: usize = 300;

/// A mistake whose place is still a byte of the text.
#[derive(Debug, Default)]
pub struct ParseError {
    pub at: usize,
    pub message: String,
    pub hint: Option<String>,
    /// The place of what it conflicts with.
    pub other: Option<usize>,
    /// Whether it follows from a mistake that was reported before. Then it is not reported.
    pub follows_from_other: bool,
}

/// What the parser's functions return. The error is boxed to keep results small.
pub type Parse<T> = Result<T, Box<ParseError>>;

/// Returns a mistake at a byte of the text.
#[cold]
pub fn error_at(at: usize, message: impl Into<String>) -> Box<ParseError> {
    Box::new(ParseError {
        at,
        message: message.into(),
        ..ParseError::default()
    })
}

impl ParseError {
    /// Adds a name that may have been meant as a hint.
    pub fn meant(mut self: Box<Self>, name: Option<&str>) -> Box<Self> {
        self.hint = name.map(|name| format!("did you mean `{name}`?"));
        self
    }

    /// Adds a hint.
    pub fn hint(mut self: Box<Self>, hint: &str) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the place of what it conflicts with.
    pub fn other(mut self: Box<Self>, at: usize) -> Box<Self> {
        self.other = Some(at);
        self
    }

    /// Marks it as a consequence of a mistake that was reported before.
    pub fn follows_from_other(mut self: Box<Self>, follows: bool) -> Box<Self> {
        self.follows_from_other = follows;
        self
    }
}

/// Gathers mistakes while a text is read.
pub struct Mistakes<'a> {
    text: &'a str,
    name: &'a str,
    found: Vec<ParseError>,
    failed: bool,
    more: bool,
}

impl<'a> Mistakes<'a> {
    pub fn new(text: &'a str, name: &'a str) -> Self {
        Self {
            text,
            name,
            found: Vec::new(),
            failed: false,
            more: false,
        }
    }

    #[allow(clippy::boxed_local)] // It comes boxed from the parser.
    pub fn add(&mut self, error: Box<ParseError>) {
        self.failed = true;
        if error.follows_from_other {
            return;
        }
        match self.found.len() < MOST {
            true => self.found.push(*error),
            false => self.more = true,
        }
    }

    /// Returns whether there are too many to go on reading.
    pub fn are_too_many(&self) -> bool {
        self.more
    }

    /// Returns whether there is any mistake.
    pub fn is_any(&self) -> bool {
        self.failed
    }

    /// Finds the lines of all mistakes, in one walk over the text.
    pub fn finish(mut self) -> Result<(), TextErrors> {
        if !self.failed {
            return Ok(());
        }
        self.found.sort_by_key(|error| error.at);
        let others = self.found.iter().filter_map(|error| error.other);
        let mut places: Vec<usize> = self.found.iter().map(|error| error.at).collect();
        places.extend(others);
        places.sort_unstable();
        let (mut line, mut from) = (1, 0);
        let lines: Vec<(usize, usize)> = places
            .into_iter()
            .map(|at| {
                let between = self.text.as_bytes().get(from..at).unwrap_or_default();
                line += between.iter().filter(|&&c| c == b'\n').count();
                from = from.max(at);
                (at, line)
            })
            .collect();
        let line_of = |at| match lines.binary_search_by_key(&at, |it| it.0) {
            Ok(found) => lines[found].1,
            Err(_) => 1,
        };
        let mistakes = self.found.into_iter().map(|error| {
            let (column, source, caret) = show(self.text, error.at);
            let mut message = error.message;
            // A name may be as long as the text.
            if let Some((end, _)) = message.char_indices().nth(LONGEST) {
                message.truncate(end);
                message.push('…');
            }
            if let Some(other) = error.other {
                message.push_str(&format!(" (first in line {})", line_of(other)));
            }
            Mistake {
                line: line_of(error.at),
                column,
                message,
                hint: error.hint,
                source,
                caret,
            }
        });
        Err(TextErrors {
            name: self.name.into(),
            mistakes: mistakes.collect(),
            more: self.more,
        })
    }
}

/// Returns the column of a place, the part of its line that is shown, and the caret's place
/// there.
fn show(text: &str, at: usize) -> (usize, String, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let before = &before[line..];
    let column = before.chars().count();
    let behind = text.get(at..).unwrap_or("");
    let behind = behind.lines().next().unwrap_or("");
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let mut source = String::new();
    // Indentation says nothing, and a long line would hide the mistake.
    let indented = before.chars().take_while(|c| c.is_whitespace()).count();
    let mut skip = indented.min(column);
    if column - skip > SHOWN {
        skip = column - SHOWN;
        source.push('…');
    }
    source.extend(before.chars().skip(skip).map(visible));
    let caret = source.width();
    source.extend(behind.chars().take(SHOWN).map(visible));
    if behind.chars().nth(SHOWN).is_some() {
        source.push('…');
    }
    source.truncate(source.trim_end().len());
    (column + 1, source, caret)
}

/// Returns an error for each place where bytes are not UTF-8.
pub fn not_utf8(bytes: &[u8], name: &str) -> TextErrors {
    // The wrong bytes are shown as replacement characters, so that columns count right.
    let mut text = String::new();
    let mut places = Vec::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            let shown: Vec<String> = chunk.invalid().iter().map(|c| format!("{c:02x}")).collect();
            places.push((text.len(), shown.join(" ")));
            text.push('\u{fffd}');
        }
        if places.len() > MOST {
            break;
        }
    }
    let mut mistakes = Mistakes::new(&text, name);
    for (at, shown) in places {
        mistakes.add(error_at(at, format!("this is not UTF-8: {shown}")));
    }
    match mistakes.finish() {
        Err(errors) => errors,
        Ok(()) => elsewhere(Malformed("this is not UTF-8".into()), name),
    }
}

/// Returns an error that has no place in the text.
pub fn elsewhere(malformed: Malformed, name: &str) -> TextErrors {
    TextErrors {
        name: name.into(),
        mistakes: vec![Mistake {
            line: 1,
            column: 1,
            message: malformed.0,
            hint: None,
            source: String::new(),
            caret: 0,
        }],
        more: false,
    }
}
