//! Collects text: styled, and without control characters from names.

use anstyle::Style;

/// Text that is being written.
pub struct Page {
    out: String,
    width: usize,
}

impl Page {
    /// Returns an empty page of that many columns.
    pub fn new(width: usize) -> Self {
        Self {
            out: String::new(),
            width,
        }
    }

    /// Returns how many columns it has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Adds text to the line.
    pub fn put(&mut self, style: Style, text: &str) {
        let is_plain = style == Style::new();
        if !is_plain {
            self.out.push_str(&style.render().to_string());
        }
        for c in text.chars() {
            // A name could move the cursor, or be shown in an order that deceives.
            match c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
                true => self.out.extend(c.escape_unicode()),
                false => self.out.push(c),
            }
        }
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
