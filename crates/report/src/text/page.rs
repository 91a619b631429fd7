//! Where text is put: styled, and without a control character that we did not write.

use anstyle::Style;

/// Text in the making.
pub struct Page {
    out: String,
    width: usize,
}

impl Page {
    /// An empty page of that many columns.
    pub fn new(width: usize) -> Self {
        Self {
            out: String::new(),
            width,
        }
    }

    /// How many columns it has.
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

    /// All of it.
    pub fn finish(self) -> String {
        self.out
    }
}
