//! The outer records of a dump: names, loaded classes, stack traces, and where its segments are.
//!
//! Each record has its length, so that this takes no more than a look at each: the heap itself is passed over.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::FixedState;

use super::HprofError;
use super::kinds::class_name;
use super::walker::{id, u4};
use super::window::Window;
use crate::ReadError;
use crate::input::Input;

/// How a dump begins, without the last part of its version.
pub const START: &[u8] = b"JAVA PROFILE 1.0";
const VERSIONS: [&[u8]; 4] = [
    b"JAVA PROFILE 1.0",
    b"JAVA PROFILE 1.0.1",
    b"JAVA PROFILE 1.0.2",
    b"JAVA PROFILE 1.0.3",
];

pub type Ids<T> = HashMap<u64, T, FixedState>;

/// What a dump has beside its heap.
#[derive(Debug, Default)]
pub struct Outline {
    pub id_bytes: usize,
    /// Where names are among `letters`.
    names: Ids<(usize, u32)>,
    letters: Vec<u8>,
    /// The name of each class, by the id of its object.
    pub loaded: Ids<u64>,
    /// The same by the number that stack frames have.
    loaded_as: HashMap<u32, u64>,
    frames: Ids<Frame>,
    /// The frames of each stack trace, by its number.
    traces: HashMap<u32, Vec<u64>>,
    /// Where the records of the heap start and end.
    pub segments: Vec<(u64, u64)>,
    pub notes: Vec<String>,
    /// Whether the last segment goes on behind the end of the file.
    pub is_cut: bool,
    /// Whether records are missing at the end, or may be.
    pub is_short: bool,
}

#[derive(Debug)]
struct Frame {
    method: u64,
    file: u64,
    class: u32,
    line: i32,
}

impl Outline {
    pub fn read(input: &Input, file: &str) -> Result<Self, ReadError> {
        let fail = |at, what: &str| Err(HprofError::new(file, at, what).into());
        let io = |error| ReadError::Io(file.into(), error);
        let start = input.start(64).map_err(io)?;
        if !start.starts_with(START) {
            return fail(0, "this is not the dump of a JVM");
        }
        let Some(end) = start.iter().position(|&it| it == 0) else {
            return match start.len() < 64 {
                true => fail(input.len(), "the file ends inside its header"),
                false => fail(0, "the version of the dump is not known"),
            };
        };
        if !VERSIONS.contains(&&start[..end]) {
            let version = String::from_utf8_lossy(&start[..end]);
            let what = format!("the version of the dump is not known: {version}");
            return fail(0, &what);
        }
        let head = end as u64 + 1 + 4 + 8;
        if input.len() < head {
            return fail(input.len(), "the file ends inside its header");
        }
        let id_bytes = u4(&start[end + 1..]) as usize;
        if id_bytes != 4 && id_bytes != 8 {
            let what = format!("ids have {id_bytes} bytes, and can have 4 or 8");
            return fail(end as u64 + 1, &what);
        }
        let mut outline = Self {
            id_bytes,
            ..Self::default()
        };
        let mut window = Window::new(input);
        window.go_to(head, input.len());
        outline.read_records(&mut window, input.len()).map_err(io)?;
        if outline.segments.is_empty() {
            return fail(input.len(), "the file ends before its heap begins");
        }
        Ok(outline)
    }

    fn read_records(&mut self, window: &mut Window<'_>, end: u64) -> std::io::Result<()> {
        let mut unknown: BTreeMap<u8, u64> = BTreeMap::new();
        let (mut is_segmented, mut has_end) = (false, false);
        while window.left() > 0 {
            let at = window.position();
            let Some(head) = window.take(9)? else {
                self.notes.push(cut(at, "the head of a record"));
                self.is_short = true;
                break;
            };
            let (tag, length) = (head[0], u4(&head[5..]) as u64);
            let whole = length <= window.left();
            match tag {
                0x0c | 0x1c => {
                    let start = window.position();
                    self.segments.push((start, (start + length).min(end)));
                    self.is_cut |= !whole;
                    is_segmented |= tag == 0x1c;
                }
                _ if !whole => {
                    self.notes.push(cut(at, word(tag)));
                    self.is_short = true;
                    break;
                }
                0x01 | 0x02 | 0x04 | 0x05 => {
                    let Some(bytes) = window.peek(length as usize)? else {
                        self.notes.push(cut(at, word(tag)));
                        self.is_short = true;
                        break;
                    };
                    if !self.understand(tag, bytes) {
                        let what = word(tag);
                        self.notes
                            .push(format!("at byte {at}: {what} is too short"));
                    }
                }
                0x2c => has_end = true,
                0x03 | 0x06 | 0x07 | 0x0a | 0x0b | 0x0d | 0x0e => {}
                other => *unknown.entry(other).or_default() += 1,
            }
            window.skip(length.min(window.left()));
        }
        // Between records nothing else shows that there were more.
        if is_segmented && !has_end && !self.is_cut && window.left() == 0 {
            self.is_short = true;
            self.notes.push(format!(
                "at byte {end}: the file ends without the record that ends a heap; there may have been more"
            ));
        }
        for (tag, count) in unknown {
            self.notes.push(match count {
                1 => format!("a record of the unknown kind 0x{tag:02x} was skipped"),
                _ => format!("{count} records of the unknown kind 0x{tag:02x} were skipped"),
            });
        }
        Ok(())
    }

    /// Takes a record of names, classes or stacks. Returns false if it is too short.
    fn understand(&mut self, tag: u8, bytes: &[u8]) -> bool {
        let ids = self.id_bytes;
        match tag {
            0x01 if bytes.len() >= ids => {
                let place = (self.letters.len(), (bytes.len() - ids) as u32);
                self.names.insert(id(bytes, ids), place);
                self.letters.extend_from_slice(&bytes[ids..]);
            }
            0x02 if bytes.len() >= 8 + 2 * ids => {
                let (class, name) = (id(&bytes[4..], ids), id(&bytes[8 + ids..], ids));
                self.loaded.insert(class, name);
                self.loaded_as.insert(u4(bytes), name);
            }
            0x04 if bytes.len() >= 4 * ids + 8 => {
                let frame = Frame {
                    method: id(&bytes[ids..], ids),
                    file: id(&bytes[3 * ids..], ids),
                    class: u4(&bytes[4 * ids..]),
                    line: u4(&bytes[4 * ids + 4..]) as i32,
                };
                self.frames.insert(id(bytes, ids), frame);
            }
            0x05 if bytes.len() >= 12 => {
                let frames = bytes[12..].chunks_exact(ids).map(|it| id(it, ids));
                self.traces.insert(u4(bytes), frames.collect());
            }
            _ => return false,
        }
        true
    }

    /// A name, if the dump has it.
    pub fn name(&self, id: u64) -> Option<String> {
        let &(start, length) = self.names.get(&id)?;
        let letters = &self.letters[start..start + length as usize];
        Some(String::from_utf8_lossy(letters).into_owned())
    }

    /// The name of a class, by the id of its object.
    pub fn class_name(&self, class: u64) -> Option<String> {
        let name = self.name(*self.loaded.get(&class)?)?;
        Some(class_name(&name))
    }

    /// A frame of a stack trace as Java shows it: `shop.Till.sell (Till.java:17)`.
    pub fn frame(&self, trace: u32, nth: u32) -> Option<String> {
        let id = self.traces.get(&trace)?.get(nth as usize)?;
        let frame = self.frames.get(id)?;
        let method = self.name(frame.method)?;
        let class = self.loaded_as.get(&frame.class);
        let class = class.and_then(|&name| self.name(name));
        let mut text = match class {
            Some(class) => format!("{}.{method}", class_name(&class)),
            None => method,
        };
        let file = self.name(frame.file).filter(|it| !it.is_empty());
        match (file, frame.line) {
            (_, -3) => text += " (native)",
            (Some(file), line @ 1..) => text += &format!(" ({file}:{line})"),
            (Some(file), _) => text += &format!(" ({file})"),
            (None, _) => {}
        }
        Some(text)
    }
}

fn word(tag: u8) -> &'static str {
    match tag {
        0x01 => "a name",
        0x02 => "a loaded class",
        0x04 => "a stack frame",
        0x05 => "a stack trace",
        _ => "a record",
    }
}

fn cut(at: u64, inside: &str) -> String {
    format!("at byte {at}: the file ends inside {inside}; what came behind it is missing")
}
