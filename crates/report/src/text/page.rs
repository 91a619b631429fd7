//! Collects text: styled, and without control characters from names.

use std::borrow::Cow;

use anstyle::Style;
use heaphound_heap::quotes::deceives;
use unicode_width::UnicodeWidthStr;

/// Text that is being written.
pub struct Page {
    out: String,
    width: usize,
    has_styles: bool,
}

impl Page {
    /// Returns an empty page of that many columns.
    pub fn new(width: usize) -> Self {
        Self {
            out: String::new(),
            width,
            has_styles: true,
        }
    }

    /// Returns an empty page on which nothing has a style.
    pub fn plain(width: usize) -> Self {
        Self {
            has_styles: false,
            ..Self::new(width)
        }
    }

    /// Returns how many columns it has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Adds text to the line.
    pub fn put(&mut self, style: Style, text: &str) {
        let is_plain = !self.has_styles || style == Style::new();
        if !is_plain {
            self.out.push_str(&style.render().to_string());
        }
        self.out.push_str(&shown(text));
        if !is_plain {
            self.out.push_str(&style.render_reset().to_string());
        }
    }

    /// Ends the line.
    pub fn end(&mut self) {
        self.out.push('\n');
    }

    /// Returns the text.
    pub fn finish(self) -> String {
        self.out
    }
}

/// Returns how many columns a text takes on a page.
pub fn columns(text: &str) -> usize {
    shown(text).width()
}

/// Returns a text as a page shows it: a name could move the cursor, or be shown in an order that deceives.
fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(deceives) {
        return text.into();
    }
    let mut shown = String::new();
    for c in text.chars() {
        match deceives(c) {
            true => shown.extend(c.escape_unicode()),
            false => shown.push(c),
        }
    }
    shown.into()
}
