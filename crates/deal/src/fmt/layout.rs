//! Where lines break: a group stays on one line if it fits, and else breaks at each of its
//! own places.

/// Text and the places where it may break.
pub enum Doc {
    Text(String),
    /// A blank, or a new line.
    Line,
    /// Nothing, or a new line.
    Break,
    /// A new line.
    Hard,
    /// An empty line.
    Blank,
    /// A comment, and whether it has a line of its own.
    Comment(String, bool),
    Concat(Vec<Doc>),
    Nest(Vec<Doc>),
    Group(Vec<Doc>),
}

/// A group. Comments before it stay before it, or they would break it.
pub fn group(mut docs: Vec<Doc>) -> Doc {
    let mut all = Vec::new();
    if let Some(first) = docs.first_mut() {
        hoist(first, &mut all);
    }
    all.push(Doc::Group(docs));
    Doc::Concat(all)
}

/// Takes the comments that something begins with.
fn hoist(doc: &mut Doc, comments: &mut Vec<Doc>) {
    if let Doc::Concat(docs) = doc {
        let is_comment = |it: &Doc| matches!(it, Doc::Comment(..));
        let count = docs.iter().take_while(|it| is_comment(it)).count();
        comments.extend(docs.drain(..count));
        if let (0, Some(first)) = (count, docs.first_mut()) {
            hoist(first, comments);
        }
    }
}

/// Columns that a line should have at most.
const WIDTH: usize = 90;
const INDENT: usize = 4;

/// Lays text out.
pub fn render(docs: &[Doc]) -> String {
    let mut page = Page {
        out: String::new(),
        pending: None,
        column: 0,
        is_closed: false,
    };
    for doc in docs {
        page.put(doc, 0, false);
    }
    let mut out = page.out;
    out.truncate(out.trim_end().len());
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

struct Page {
    out: String,
    /// A new line that was begun, with its indentation: nothing stands in it yet.
    pending: Option<usize>,
    column: usize,
    /// Whether the last line ends in a comment that nothing can follow.
    is_closed: bool,
}

impl Page {
    fn put(&mut self, doc: &Doc, indent: usize, flat: bool) {
        match doc {
            Doc::Text(text) => self.text(text),
            Doc::Line if flat => self.text(" "),
            Doc::Break if flat => (),
            Doc::Line | Doc::Break | Doc::Hard => self.line(indent),
            Doc::Blank => {
                self.out.truncate(self.out.trim_end().len());
                self.out.push('\n');
                self.line(indent);
            }
            Doc::Comment(text, own_line) => {
                // One that ended a line still ends it, whatever began since.
                if *own_line || self.is_closed {
                    if self.pending.is_none() && !self.out.is_empty() {
                        self.line(indent);
                    }
                } else if !self.out.is_empty() {
                    self.out.truncate(self.out.trim_end_matches(' ').len());
                    self.pending = None;
                    self.text(" ");
                }
                self.text(text);
                self.is_closed = text.starts_with("//");
                self.line(indent);
            }
            Doc::Concat(docs) => docs.iter().for_each(|doc| self.put(doc, indent, flat)),
            Doc::Nest(docs) => {
                let indent = indent + INDENT;
                docs.iter().for_each(|doc| self.put(doc, indent, flat));
            }
            Doc::Group(docs) => {
                let column = self.pending.unwrap_or(self.column);
                let fits = width_of(docs).is_some_and(|width| column + width <= WIDTH);
                let flat = flat || fits;
                docs.iter().for_each(|doc| self.put(doc, indent, flat));
            }
        }
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut text = text;
        if let Some(indent) = self.pending.take() {
            if !self.out.is_empty() {
                self.out.push('\n');
            }
            text = text.trim_start_matches(' ');
            self.out.push_str(&" ".repeat(indent));
            self.column = indent;
        }
        self.out.push_str(text);
        self.is_closed = false;
        self.column += text.chars().count();
    }

    fn line(&mut self, indent: usize) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.pending = Some(indent);
    }
}

/// Columns that docs take on one line; none if they cannot be on one.
fn width_of(docs: &[Doc]) -> Option<usize> {
    docs.iter().try_fold(0, |width, doc| {
        Some(
            width
                + match doc {
                    Doc::Text(text) => text.chars().count(),
                    Doc::Line => 1,
                    Doc::Break => 0,
                    Doc::Hard | Doc::Blank | Doc::Comment(..) => return None,
                    Doc::Concat(docs) | Doc::Nest(docs) | Doc::Group(docs) => width_of(docs)?,
                },
        )
    })
}
