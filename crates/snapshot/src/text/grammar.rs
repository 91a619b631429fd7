//! The grammar of heap text, line by line. What is found goes to a sink.

use std::borrow::Cow;

use heaphound_heap::nearest::nearest;
use heaphound_heap::snapshot::Lacks;
use heaphound_heap::{FieldKind, RootKind};

use super::cursor::{Cursor, Literal};
use super::mistake::{Mistakes, Parse, error_at};
use super::names::Style;
use crate::Progress;

/// Takes what a text says. Its objects are numbers, of its own choice.
pub trait Sink<'a> {
    /// Receives the name of a class, which need not be known. Returns its place.
    fn class(&mut self, name: Cow<'a, str>, at: usize) -> Parse<u32>;
    /// Receives an object that is mentioned. Returns its place.
    fn mention(&mut self, class: u32, number: u64, at: usize) -> Parse<u32>;
    /// Receives the object that the line is about. What follows belongs to it.
    fn subject(&mut self, class: u32, object: u32, at: usize);
    /// Its size.
    fn bytes(&mut self, bytes: u64, at: usize) -> Parse<()>;
    /// Receives its number of elements.
    fn length(&mut self, length: u32, at: usize) -> Parse<()>;
    /// Receives an edge, or a slot that is null.
    fn edge(&mut self, slot: Edge<'a>) -> Parse<()>;
    /// Receives the value of a field, and the places of both.
    fn value(
        &mut self,
        field: Cow<'a, str>,
        at: usize,
        value: Literal<'a>,
        value_at: usize,
    ) -> Parse<()>;
    /// Receives one element of a reference array.
    fn element_edge(&mut self, index: u32, to: Target, at: usize) -> Parse<()>;
    /// Begins the elements, which come next, in order.
    fn open_elements(&mut self, at: usize) -> Parse<()>;
    /// Receives an element, or some that are null.
    fn element_refs(&mut self, to: Target, count: u32, at: usize) -> Parse<()>;
    /// Receives a plain element.
    fn element_value(&mut self, value: Literal<'a>, at: usize) -> Parse<()>;
    /// Ends the elements.
    fn close_elements(&mut self, at: usize) -> Parse<()>;
    /// Receives the text of a string.
    fn text(&mut self, text: &[u8], at: usize) -> Parse<()>;
    /// Receives a thread.
    fn thread(&mut self, name: Cow<'a, str>, at: usize) -> Parse<()>;
    /// What is said of the heap as a whole.
    fn note(&mut self, note: Cow<'a, str>);

    /// `lacks parts`; false if nothing is called so.
    fn lacks(&mut self, word: &str) -> bool;
    /// Receives a root.
    fn root(&mut self, root: &RootName<'a>, to: u32) -> Parse<()>;
    /// Sets the index of the root's next target.
    fn next_root(&mut self, root: &mut RootName<'a>);
}

/// What is said of one slot.
pub struct Edge<'a> {
    pub slot: Cow<'a, str>,
    /// What the arrow asks of the slot: [`FieldKind::Opt`] for one that fits all.
    pub arrow: FieldKind,
    pub to: Target,
    pub at: usize,
}

/// What a slot refers to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Object(u32),
    Null,
    /// To what nobody knows: the reference was pruned or invalidated.
    Cut,
}

/// The name of a root.
pub struct RootName<'a> {
    pub kind: RootKind,
    pub name: Cow<'a, str>,
    pub index: Option<u32>,
    pub scope: Option<Cow<'a, str>>,
    pub at: usize,
}

/// Bytes between two calls of `progress`.
const TICK: usize = 1 << 20;

/// Reads all lines but those that declare classes.
pub fn read<'a>(
    text: &'a str,
    sink: &mut impl Sink<'a>,
    mistakes: &mut Mistakes<'_>,
    progress: Progress<'_>,
) {
    let mut cursor = Cursor::new(text);
    let mut tick = TICK;
    while !cursor.is_done() && !mistakes.are_too_many() {
        let result = line(&mut cursor, sink);
        for error in cursor.minor.drain(..) {
            mistakes.add(Box::new(error));
        }
        if let Err(error) = result {
            mistakes.add(error);
        }
        cursor.next_line();
        if cursor.at() >= tick {
            progress(cursor.at() as u64, text.len() as u64);
            tick = cursor.at() + TICK;
        }
    }
    progress(text.len() as u64, text.len() as u64);
}

fn line<'a>(cursor: &mut Cursor<'a>, sink: &mut impl Sink<'a>) -> Parse<()> {
    if cursor.is_at_end() {
        return Ok(());
    }
    match cursor.peek() {
        Some(b'c') if cursor.eat_keyword("class") => return Ok(()),
        Some(b'i') if cursor.eat_keyword("interface") => return Ok(()),
        Some(b'r') if cursor.eat_keyword("root") => root(cursor, sink)?,
        Some(b't') if cursor.eat_keyword("thread") => {
            cursor.skip_blanks();
            let at = cursor.at();
            let name = cursor.name(Style::Root, "the name of a thread")?;
            sink.thread(name, at)?;
        }
        Some(b'n') if cursor.eat_keyword("note") => {
            cursor.skip_blanks();
            let note = cursor.name(Style::Root, "a note, in quotes")?;
            sink.note(note);
        }
        Some(b'l') if cursor.eat_keyword("lacks") => {
            cursor.skip_blanks();
            let at = cursor.at();
            let word = cursor.name(Style::Root, "what the heap lacks")?;
            if !sink.lacks(&word) {
                let error = error_at(at, format!("a heap cannot lack `{word}`"));
                return Err(error.meant(nearest(&word, Lacks::WORDS.into_iter())));
            }
        }
        _ => object_line(cursor, sink)?,
    }
    match cursor.is_at_end() {
        true => Ok(()),
        false => Err(cursor.expected("the end of the line")),
    }
}

/// Reads an object's name: its class and number.
#[inline]
fn object<'a>(cursor: &mut Cursor<'a>, sink: &mut impl Sink<'a>) -> Parse<(u32, u32)> {
    let at = cursor.at();
    let name = cursor.name(Style::Class, "an object, as in `Node#1`")?;
    if !cursor.eat(b'#') {
        return Err(no_number(at, &name));
    }
    let number = cursor.number("the object's number")?;
    let class = sink.class(name, at)?;
    let object = sink.mention(class, number, at)?;
    Ok((class, object))
}

#[cold]
fn no_number(at: usize, name: &str) -> Box<super::mistake::ParseError> {
    // Not `note`: too many classes are called Node.
    let known = ["class", "interface", "thread", "root"];
    let error = error_at(at, format!("expected an object, as in `{name}#1`"));
    match nearest(name, known.into_iter()) {
        Some(word) => error.meant(Some(word)),
        None => error,
    }
}

/// Reads what a slot refers to.
#[inline]
fn target<'a>(cursor: &mut Cursor<'a>, sink: &mut impl Sink<'a>) -> Parse<Target> {
    cursor.skip_blanks();
    match no_object(cursor) {
        Some(target) => Ok(target),
        None => object(cursor, sink).map(|(_, object)| Target::Object(object)),
    }
}

/// Reads `null` or `cut`, if one of them is there.
#[inline]
fn no_object(cursor: &mut Cursor<'_>) -> Option<Target> {
    let at = cursor.at();
    let found = match cursor.peek() {
        Some(b'n') if cursor.eat_text(b"null") => Target::Null,
        Some(b'c') if cursor.eat_text(b"cut") => Target::Cut,
        _ => return None,
    };
    match cursor.peek() {
        None | Some(b' ' | b'\t' | b'\r' | b',' | b'}' | b']' | b'*' | b'/') => Some(found),
        _ => {
            cursor.go(at);
            None
        }
    }
}

/// Reads an arrow. Returns the kind of slot that it needs.
#[inline]
pub fn arrow(cursor: &mut Cursor<'_>) -> Option<FieldKind> {
    cursor.skip_blanks();
    if cursor.peek() != Some(b'-') {
        return None;
    }
    if cursor.eat_text(b"->") {
        Some(FieldKind::Opt)
    } else if cursor.eat_text(b"-weak->") {
        Some(FieldKind::Weak)
    } else if cursor.eat_text(b"-dependent->") {
        Some(FieldKind::Dependent)
    } else {
        None
    }
}

/// Reads a line about an object.
fn object_line<'a>(cursor: &mut Cursor<'a>, sink: &mut impl Sink<'a>) -> Parse<()> {
    let at = cursor.at();
    let (class, object) = object(cursor, sink)?;
    sink.subject(class, object, at);
    match cursor.peek() {
        Some(b'.') => {
            cursor.eat(b'.');
            return field(cursor, sink)?;
        }
        Some(b'[') => {
            cursor.eat(b'[');
            cursor.skip_blanks();
            // Without a blank, `Node[]#1[7]` is one element and `Buf#1[ 7, 8 ]` are all.
            if let Some(done) = single_element(cursor, sink, at)? {
                return Ok(done);
            }
            return elements(cursor, sink);
        }
        _ => {}
    }
    cursor.skip_blanks();
    if cursor.eat(b'(') {
        extent(cursor, sink)?;
        cursor.skip_blanks();
    }
    if cursor.eat(b'{') {
        fields(cursor, sink)?;
        cursor.skip_blanks();
    }
    match cursor.peek() {
        Some(b'[') => {
            cursor.eat(b'[');
            elements(cursor, sink)
        }
        Some(b'"') => {
            let at = cursor.at();
            let text = cursor.quoted()?;
            sink.text(&text, at)
        }
        _ => Ok(()),
    }
}

/// `[7] -> Node#1`, behind the bracket; nothing if it turns out to be a list.
fn single_element<'a>(
    cursor: &mut Cursor<'a>,
    sink: &mut impl Sink<'a>,
    at: usize,
) -> Parse<Option<()>> {
    let start = cursor.at();
    if cursor.peek().is_some_and(|c| c.is_ascii_digit())
        && let Ok(index) = cursor.number("an index")
        && cursor.eat(b']')
    {
        cursor.skip_blanks();
        if cursor.eat(b'=') {
            let message = "the elements of a plain array are given together";
            return Err(error_at(at, message).hint("as in `Buf#1 [ 1, 2, 3 ]`"));
        }
        if let Some(kind) = arrow(cursor) {
            if kind != FieldKind::Opt {
                return Err(error_at(start, "elements hold strongly: `->`"));
            }
            let index = u32::try_from(index);
            let index =
                index.map_err(|_| error_at(start, "an array has fewer than 2³² elements"))?;
            let to = target(cursor, sink)?;
            return sink.element_edge(index, to, start).map(Some);
        }
    }
    cursor.go(start);
    Ok(None)
}

/// `(48 bytes, 3 elements)`, behind the bracket.
fn extent<'a>(cursor: &mut Cursor<'a>, sink: &mut impl Sink<'a>) -> Parse<()> {
    loop {
        cursor.skip_blanks();
        let at = cursor.at();
        let number = cursor.number("a size, as in `(48 bytes)`")?;
        cursor.skip_blanks();
        if cursor.eat_text(b"bytes") || cursor.eat_text(b"byte") {
            sink.bytes(number, at)?;
        } else if cursor.eat_text(b"elements") || cursor.eat_text(b"element") {
            let length = u32::try_from(number);
            let length =
                length.map_err(|_| error_at(at, "an array has fewer than 2³² elements"))?;
            sink.length(length, at)?;
        } else {
            return Err(cursor.expected("`bytes` or `elements`"));
        }
        cursor.skip_blanks();
        if cursor.eat(b')') {
            return Ok(());
        }
        if !cursor.eat(b',') {
            return Err(cursor.expected("`)` or `,`"));
        }
    }
}

/// `{ next -> Node#1, value = 5 }`, behind the brace.
#[inline]
fn fields<'a>(cursor: &mut Cursor<'a>, sink: &mut impl Sink<'a>) -> Parse<()> {
    loop {
        cursor.skip_blanks();
        if cursor.eat(b'}') {
            return Ok(());
        }
        if let Some(error) = field(cursor, sink)?.err() {
            cursor.minor.push(*error);
        }
        cursor.skip_blanks();
        if !cursor.eat(b',') {
            return cursor
                .expect(b'}')
                .map_err(|_| cursor.expected("`}` or `,`"));
        }
    }
}

/// `next -> Node#1` or `value = 5`. A mistake in what it means, inside, does not keep the rest
/// of the line from being read.
#[inline]
fn field<'a>(cursor: &mut Cursor<'a>, sink: &mut impl Sink<'a>) -> Parse<Parse<()>> {
    let at = cursor.at();
    let name = cursor.name(Style::Field, "the name of a field")?;
    if let Some(arrow) = arrow(cursor) {
        let to = target(cursor, sink)?;
        let slot = name;
        return Ok(sink.edge(Edge {
            slot,
            arrow,
            to,
            at,
        }));
    }
    if cursor.eat(b'=') {
        cursor.skip_blanks();
        let value_at = cursor.at();
        let value = cursor.literal()?;
        return Ok(sink.value(name, at, value, value_at));
    }
    Err(cursor.expected("`->` or `=`"))
}

/// `[ Node#5, null*3, Node#6 ]` or `[ 1, 2, 3 ]`, behind the bracket.
fn elements<'a>(cursor: &mut Cursor<'a>, sink: &mut impl Sink<'a>) -> Parse<()> {
    sink.open_elements(cursor.at())?;
    loop {
        cursor.skip_blanks();
        if cursor.eat(b']') {
            break;
        }
        element(cursor, sink)?;
        cursor.skip_blanks();
        if cursor.eat(b',') {
            continue;
        }
        if cursor.eat(b']') {
            break;
        }
        return Err(cursor.expected("`]` or `,`"));
    }
    sink.close_elements(cursor.at() - 1)
}

fn element<'a>(cursor: &mut Cursor<'a>, sink: &mut impl Sink<'a>) -> Parse<()> {
    let at = cursor.at();
    if let Some(target) = no_object(cursor) {
        let count = match target == Target::Null && cursor.eat(b'*') {
            true => cursor.small_number("how many", "an array has fewer than 2³² elements")?,
            false => 1,
        };
        return sink.element_refs(target, count, at);
    }
    // A value is no name with a `#` behind it.
    if let Some(name) = cursor.try_name(Style::Class)?
        && cursor.eat(b'#')
    {
        let number = cursor.number("the object's number")?;
        let class = sink.class(name, at)?;
        let object = sink.mention(class, number, at)?;
        return sink.element_refs(Target::Object(object), 1, at);
    }
    cursor.go(at);
    let value = cursor.literal()?;
    sink.element_value(value, at)
}

const KINDS: [(&str, RootKind); 6] = [
    ("static", RootKind::Static),
    ("thread", RootKind::ThreadStack),
    ("thread-object", RootKind::ThreadObject),
    ("handle", RootKind::Handle),
    ("other", RootKind::Other),
    ("finalizer", RootKind::Finalizer),
];

/// Returns the word for a kind of root.
pub fn kind_name(kind: RootKind) -> &'static str {
    let found = KINDS.iter().find(|it| it.1 == kind);
    found.map_or("other", |it| it.0)
}

/// `root static:orders -> List#1`, behind the word.
fn root<'a>(cursor: &mut Cursor<'a>, sink: &mut impl Sink<'a>) -> Parse<()> {
    cursor.skip_blanks();
    let mut root = root_name(cursor)?;
    if cursor.eat(b'[') {
        root.index = Some(cursor.small_number("an index", "the index of a root is below 2³²")?);
        cursor.expect(b']')?;
    }
    cursor.skip_blanks();
    if cursor.eat(b'@') {
        cursor.skip_blanks();
        root.scope = Some(cursor.name(Style::Root, "a scope, as in `@ \"main.rs:3:5\"`")?);
    }
    if arrow(cursor) != Some(FieldKind::Opt) {
        return Err(cursor.expected("`->`"));
    }
    loop {
        cursor.skip_blanks();
        let at = cursor.at();
        let Target::Object(to) = target(cursor, sink)? else {
            return Err(error_at(at, "a root refers to an object, never to null"));
        };
        sink.root(&root, to)?;
        cursor.skip_blanks();
        if !cursor.eat(b',') {
            return Ok(());
        }
        sink.next_root(&mut root);
    }
}

fn root_name<'a>(cursor: &mut Cursor<'a>) -> Parse<RootName<'a>> {
    let at = cursor.at();
    let named = |kind, name| RootName {
        kind,
        name,
        index: None,
        scope: None,
        at,
    };
    let quoted = cursor.peek() == Some(b'"');
    let name = cursor.name(Style::Root, "the name of a root")?;
    let Cow::Borrowed(word) = name else {
        return Ok(named(RootKind::ThreadStack, name));
    };
    let Some((kind, rest)) = word.split_once(':').filter(|_| !quoted) else {
        return Ok(named(RootKind::ThreadStack, name));
    };
    let Some(&(_, known)) = KINDS.iter().find(|it| it.0 == kind) else {
        let near = nearest(kind, KINDS.iter().map(|it| it.0));
        return Err(error_at(at, format!("there are no roots of kind `{kind}`")).meant(near));
    };
    let name = match rest.is_empty() {
        true => cursor.name(Style::Root, "the name of the root")?,
        false => Cow::Borrowed(rest),
    };
    Ok(named(known, name))
}
