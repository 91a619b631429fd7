//! Diagnostics: what is wrong in a text, where, and what may have been meant.

use std::fmt;

pub use heaphound_heap::nearest::nearest;

use crate::syntax::Span;

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Where.
    pub span: Span,
    /// What.
    pub message: String,
    /// What may have been meant, or what to do.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Something wrong at a place.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            hint: None,
        }
    }

    /// With a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With the name that was probably meant, if one comes near.
    #[must_use]
    pub fn meant<'a>(self, name: &str, known: impl Iterator<Item = &'a str>) -> Self {
        match nearest(name, known) {
            Some(near) => self.hint(format!("did you mean `{near}`?")),
            None => self,
        }
    }
}

/// All that is wrong in a text. Shows each thing with its line and a caret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostics {
    /// What the text is called.
    pub name: String,
    /// The text.
    pub text: String,
    /// In the order of the text.
    pub list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Brings diagnostics of a text into its order.
    pub fn new(name: &str, text: &str, mut list: Vec<Diagnostic>) -> Self {
        list.sort_by_key(|it| (it.span.start, it.span.end));
        Self {
            name: name.into(),
            text: text.into(),
            list,
        }
    }
}

/// More are not shown.
const MOST: usize = 100;

/// Columns of a line that are shown before and behind a place.
const SHOWN: usize = 72;

/// Characters of a message that are shown.
const LONGEST: usize = 300;

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, it) in self.list.iter().take(MOST).enumerate() {
            if nth > 0 {
                writeln!(f)?;
            }
            let shown = Shown::of(&self.text, it.span);
            let Shown { line, column, .. } = shown;
            // A name may be as long as the text.
            let message: String = match it.message.char_indices().nth(LONGEST) {
                Some((end, _)) => format!("{}…", &it.message[..end]),
                None => it.message.clone(),
            };
            writeln!(f, "{}:{line}:{column}: {message}", self.name)?;
            writeln!(f, "  {}", shown.source)?;
            write!(f, "  {:1$}", "", shown.before)?;
            f.write_str(&"^".repeat(shown.carets))?;
            if let Some(hint) = &it.hint {
                write!(f, " {hint}")?;
            }
        }
        if self.list.len() > MOST {
            write!(f, "\n… and {} more", self.list.len() - MOST)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// A place in a text, as it is shown.
struct Shown {
    /// Counted from 1.
    line: usize,
    /// In characters, counted from 1.
    column: usize,
    /// The line, or the part of it that matters.
    source: String,
    /// Columns before the carets.
    before: usize,
    carets: usize,
}

impl Shown {
    fn of(text: &str, span: Span) -> Self {
        let at = text.floor_char_boundary(span.start.min(text.len()));
        let line_start = text[..at].rfind('\n').map_or(0, |at| at + 1);
        let before = &text[line_start..at];
        let behind = text[at..].lines().next().unwrap_or("");
        // What spans several lines is underlined in its first.
        let marked = text.floor_char_boundary(span.end.min(text.len()).max(at));
        let marked = &behind[..(marked - at).min(behind.len())];
        let mut source = String::new();
        // Indentation says nothing, and a long line would hide the place.
        let mut head = before.trim_start();
        if width_of(head) > SHOWN {
            let mut room = SHOWN;
            let cut = head.char_indices().rev().take_while(|(_, c)| {
                let fits = width(*c) <= room;
                room = room.saturating_sub(width(*c));
                fits
            });
            head = &head[cut.last().map_or(head.len(), |(at, _)| at)..];
            source.push('…');
        }
        source.extend(head.chars().flat_map(visible));
        let columns = width_of(&source);
        let tail: String = behind.chars().take(SHOWN).collect();
        source.extend(tail.chars().flat_map(visible));
        if tail.len() < behind.len() {
            source.push('…');
        }
        source.truncate(source.trim_end().len());
        let carets = width_of(marked.trim_end()).clamp(1, SHOWN);
        Self {
            line: 1 + text[..at].matches('\n').count(),
            column: 1 + before.chars().count(),
            source,
            before: columns,
            carets,
        }
    }
}

/// What is shown for a character: as many columns as [`width`] says.
fn visible(c: char) -> impl Iterator<Item = char> {
    let (shown, times) = match c {
        '\t' => (' ', width(c)),
        c if c.is_control() => (' ', 1),
        c => (c, 1),
    };
    std::iter::repeat_n(shown, times)
}

fn width_of(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Columns that a character takes on a terminal, near enough for a caret to stand under it.
fn width(c: char) -> usize {
    match c as u32 {
        9 => 4,
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}
