//! Collects HTML. Only literals of this program get in as they are.

use std::borrow::Cow;
use std::fmt::Display;

use heaphound_heap::quotes::deceives;

use super::bounds;

/// HTML that is being written.
#[derive(Default)]
pub struct Html(String);

impl Html {
    /// Adds HTML.
    pub fn raw(&mut self, html: &'static str) -> &mut Self {
        self.0.push_str(html);
        self
    }

    /// Adds HTML that a library made, which has escaped what is in it.
    pub fn drawn(&mut self, svg: &str) -> &mut Self {
        self.0.push_str(svg);
        self
    }

    /// Adds text, escaped, for between tags or within quotes.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.0.push_str(&escaped(&cut(text, bounds::NAME)));
        self
    }

    /// Adds text whose lines are kept.
    pub fn lines(&mut self, text: &str) -> &mut Self {
        for (number, line) in cut(text, bounds::CODE).lines().enumerate() {
            if number > 0 {
                self.0.push('\n');
            }
            self.0.push_str(&escaped(line));
        }
        self
    }

    /// Adds a number.
    pub fn number(&mut self, number: impl Display + Numeric) -> &mut Self {
        self.0.push_str(&number.to_string());
        self
    }

    /// Adds a number with at most two digits behind the point.
    pub fn rounded(&mut self, number: f64) -> &mut Self {
        let text = format!("{number:.2}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        self.0.push_str(if text.is_empty() || text == "-0" {
            "0"
        } else {
            text
        });
        self
    }

    /// Returns the HTML.
    pub fn finish(self) -> String {
        self.0
    }
}

/// What is written with digits alone.
pub trait Numeric {}
impl Numeric for u64 {}
impl Numeric for usize {}

/// Returns the beginning of a text that is too long.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Returns a text as HTML: nothing in it is a tag or ends a quote, and what a browser would not show, or in an order that
/// deceives, is spelt out.
pub fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c if deceives(c) => html.extend(c.escape_unicode()),
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_a_tag() {
        let mut html = Html::default();
        html.text("<script>\"x\"&'\u{202e}\n\0");
        let expected = r"&lt;script&gt;&quot;x&quot;&amp;&#39;\u{202e}\u{a}\u{0}";
        assert_eq!(html.finish(), expected);
    }

    #[test]
    fn long_names_are_cut() {
        let mut html = Html::default();
        html.text(&"ä".repeat(5_000));
        assert_eq!(html.finish().chars().count(), bounds::NAME + 1);
    }

    #[test]
    fn numbers_are_short() {
        let told = |number| {
            let mut html = Html::default();
            html.rounded(number);
            html.finish()
        };
        assert_eq!(
            [0.0, -0.001, 1.5, 33.333333, 100.0].map(told),
            ["0", "0", "1.5", "33.33", "100"]
        );
    }
}
