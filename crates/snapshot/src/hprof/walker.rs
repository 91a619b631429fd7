//! Walks over the records inside a heap dump: roots, classes, instances, arrays.
//!
//! Such a record has no length of its own, so that nothing behind one that is not understood can be read, up to
//! the next segment.

use std::io;

use super::kinds::Type;
use super::window::Window;
use crate::input::Input;

/// Walks over records.
pub struct Walker<'i> {
    window: Window<'i>,
    id_bytes: usize,
    /// Where the record begins.
    at: u64,
    /// How much of it is still to be passed.
    rest: u64,
}

/// A record. What an instance or an array holds comes behind it ([`Walker::data`]).
#[derive(Debug)]
pub enum Record {
    Root(RootRecord),
    Class(Box<ClassRecord>),
    Instance {
        id: u64,
        class: u64,
        bytes: u32,
    },
    Objects {
        id: u64,
        class: u64,
        length: u32,
    },
    Primitives {
        id: u64,
        of: Type,
        length: u32,
    },
    /// An array whose elements the dump does not have.
    Hollow {
        id: u64,
        of: Type,
        length: u32,
    },
    /// Nothing that matters.
    Other,
}

/// What a root is to the virtual machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    Unknown,
    JniGlobal,
    JniLocal,
    JavaFrame,
    NativeStack,
    StickyClass,
    ThreadBlock,
    Monitor,
    Thread,
    InternedString,
    Finalizing,
    Debugger,
    ReferenceCleanup,
    VmInternal,
    JniMonitor,
}

/// A root.
#[derive(Clone, Copy, Debug)]
pub struct RootRecord {
    pub hold: Hold,
    pub id: u64,
    /// The number of its thread, or 0.
    pub thread: u32,
    /// Of a local: its frame, counted from the top of the stack. Of a thread: the number of its stack trace.
    pub frame: u32,
}

/// A class.
#[derive(Debug)]
pub struct ClassRecord {
    pub id: u64,
    pub superclass: u64,
    pub loader: u64,
    pub signers: u64,
    pub domain: u64,
    /// Names, types and, of references, what they refer to.
    pub statics: Vec<(u64, Type, u64)>,
    /// Names and types.
    pub fields: Vec<(u64, Type)>,
}

/// Why a walk ends before its range does.
#[derive(Debug)]
pub enum Stop {
    /// The input cannot be read.
    Io(io::Error),
    /// The range ends inside a record.
    Ends { at: u64, inside: Inside },
    /// A record that is not known.
    Unknown { at: u64, tag: u8 },
}

/// What a range ends in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inside {
    Root,
    Class,
    Instance(u64),
    Objects(u64),
    Primitives(Type),
    Record,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<'i> Walker<'i> {
    pub fn new(input: &'i Input, id_bytes: usize) -> Self {
        Self {
            window: Window::new(input),
            id_bytes,
            at: 0,
            rest: 0,
        }
    }

    /// Goes to a range of the input.
    pub fn go_to(&mut self, start: u64, end: u64) {
        self.window.go_to(start, end);
        self.rest = 0;
    }

    /// Where the next record begins.
    pub fn position(&self) -> u64 {
        self.window.position() + self.rest
    }

    /// Where the record began that was returned last.
    pub fn record_start(&self) -> u64 {
        self.at
    }

    /// The next record, or none at the end of the range.
    #[inline]
    pub fn next(&mut self) -> Result<Option<Record>, Stop> {
        self.window.skip(self.rest);
        self.rest = 0;
        self.at = self.window.position();
        let quick = match self.id_bytes {
            8 => self.quick::<8>(),
            _ => self.quick::<4>(),
        };
        match quick {
            Some(record) => Ok(Some(record)),
            None => self.slow(),
        }
    }

    /// An instance or an array whose head is in the buffer, and all of which is in the range: almost every record. As
    /// [`Walker::slow`] reads it.
    #[inline]
    fn quick<const IDS: usize>(&mut self) -> Option<Record> {
        let head = self.window.head()?;
        let id = id_of::<IDS>(&head[1..]);
        let (record, head, data) = match head[0] {
            0x21 => {
                let class = id_of::<IDS>(&head[5 + IDS..]);
                let bytes = u4(&head[5 + 2 * IDS..]);
                let record = Record::Instance { id, class, bytes };
                (record, 9 + 2 * IDS, bytes as u64)
            }
            0x22 => {
                let class = id_of::<IDS>(&head[9 + IDS..]);
                let length = u4(&head[5 + IDS..]);
                let record = Record::Objects { id, class, length };
                (record, 9 + 2 * IDS, length as u64 * IDS as u64)
            }
            0x23 => {
                let length = u4(&head[5 + IDS..]);
                let of = Type::from_tag(head[9 + IDS]).filter(|&it| it != Type::Object)?;
                let record = Record::Primitives { id, of, length };
                (record, 10 + IDS, length as u64 * of.bytes(IDS) as u64)
            }
            _ => return None,
        };
        if head as u64 + data > self.window.left() {
            return None;
        }
        self.window.skip(head as u64);
        self.rest = data;
        Some(record)
    }

    /// Any record.
    #[inline(never)]
    fn slow(&mut self) -> Result<Option<Record>, Stop> {
        let Some(&[tag]) = self.window.peek(1)? else {
            return Ok(None);
        };
        let ids = self.id_bytes;
        let record = match tag {
            0x21 => {
                let head = self.head(1 + 2 * ids + 8, Inside::Record)?;
                let (id, class) = (id(&head[1..], ids), id(&head[5 + ids..], ids));
                let bytes = u4(&head[5 + 2 * ids..]);
                self.pass(bytes as u64, Inside::Instance(class))?;
                Record::Instance { id, class, bytes }
            }
            0x22 => {
                let head = self.head(1 + 2 * ids + 8, Inside::Record)?;
                let (id, class) = (id(&head[1..], ids), id(&head[9 + ids..], ids));
                let length = u4(&head[5 + ids..]);
                self.pass(length as u64 * ids as u64, Inside::Objects(class))?;
                Record::Objects { id, class, length }
            }
            0x23 | 0xc3 => {
                let head = self.head(1 + ids + 9, Inside::Record)?;
                let (id, length) = (id(&head[1..], ids), u4(&head[5 + ids..]));
                let of = head[9 + ids];
                let of = Type::from_tag(of).filter(|&it| it != Type::Object);
                let Some(of) = of else {
                    return Err(Stop::Unknown { at: self.at, tag });
                };
                if tag == 0xc3 {
                    return Ok(Some(Record::Hollow { id, of, length }));
                }
                self.pass(length as u64 * of.bytes(ids) as u64, Inside::Primitives(of))?;
                Record::Primitives { id, of, length }
            }
            0x20 => Record::Class(Box::new(self.class()?)),
            _ => self.root(tag)?,
        };
        Ok(Some(record))
    }

    /// The bytes of the record's data, or some of them: as many as are given, or left.
    pub fn data(&mut self, most: usize) -> io::Result<Option<&[u8]>> {
        let some = (most as u64).min(self.rest);
        self.rest -= some;
        self.window.take(some as usize)
    }

    /// The head of a record.
    #[inline]
    fn head(&mut self, bytes: usize, inside: Inside) -> Result<&[u8], Stop> {
        let at = self.at;
        match self.window.take(bytes)? {
            Some(head) => Ok(head),
            None => Err(Stop::Ends { at, inside }),
        }
    }

    /// Notes how many bytes of data follow.
    #[inline]
    fn pass(&mut self, bytes: u64, inside: Inside) -> Result<(), Stop> {
        if bytes > self.window.left() {
            let at = self.at;
            return Err(Stop::Ends { at, inside });
        }
        self.rest = bytes;
        Ok(())
    }

    fn root(&mut self, tag: u8) -> Result<Record, Stop> {
        let ids = self.id_bytes;
        // What follows the id: how many numbers of four bytes, or another id.
        let (hold, numbers, more) = match tag {
            0xff => (Hold::Unknown, 0, 0),
            0x01 => (Hold::JniGlobal, 0, ids),
            0x02 => (Hold::JniLocal, 2, 0),
            0x03 => (Hold::JavaFrame, 2, 0),
            0x04 => (Hold::NativeStack, 1, 0),
            0x05 => (Hold::StickyClass, 0, 0),
            0x06 => (Hold::ThreadBlock, 1, 0),
            0x07 => (Hold::Monitor, 0, 0),
            0x08 => (Hold::Thread, 2, 0),
            0x89 => (Hold::InternedString, 0, 0),
            0x8a => (Hold::Finalizing, 0, 0),
            0x8b => (Hold::Debugger, 0, 0),
            0x8c => (Hold::ReferenceCleanup, 0, 0),
            0x8d => (Hold::VmInternal, 0, 0),
            0x8e => (Hold::JniMonitor, 2, 0),
            // What Android knows to be unreachable, and which of its heaps objects are in.
            0x90 => {
                self.head(1 + ids, Inside::Root)?;
                return Ok(Record::Other);
            }
            0xfe => {
                self.head(1 + 4 + ids, Inside::Record)?;
                return Ok(Record::Other);
            }
            tag => return Err(Stop::Unknown { at: self.at, tag }),
        };
        let head = self.head(1 + ids + 4 * numbers + more, Inside::Root)?;
        let number = |nth: usize| match nth < numbers {
            true => u4(&head[1 + ids + 4 * nth..]),
            false => 0,
        };
        Ok(Record::Root(RootRecord {
            hold,
            id: id(&head[1..], ids),
            thread: number(0),
            frame: if numbers < 2 { u32::MAX } else { number(1) },
        }))
    }

    fn class(&mut self) -> Result<ClassRecord, Stop> {
        let ids = self.id_bytes;
        let inside = Inside::Class;
        let head = self.head(1 + ids + 4 + 6 * ids + 4, inside)?;
        let mut class = ClassRecord {
            id: id(&head[1..], ids),
            superclass: id(&head[5 + ids..], ids),
            loader: id(&head[5 + 2 * ids..], ids),
            signers: id(&head[5 + 3 * ids..], ids),
            domain: id(&head[5 + 4 * ids..], ids),
            statics: Vec::new(),
            fields: Vec::new(),
        };
        for _ in 0..self.count()? {
            self.head(2, inside)?;
            self.value()?;
        }
        for _ in 0..self.count()? {
            let name = id(self.head(ids, inside)?, ids);
            let (of, value) = self.value()?;
            class.statics.push((name, of, value));
        }
        for _ in 0..self.count()? {
            let head = self.head(ids + 1, inside)?;
            let (name, tag) = (id(head, ids), head[ids]);
            let of = Type::from_tag(tag).ok_or(Stop::Unknown { at: self.at, tag })?;
            class.fields.push((name, of));
        }
        Ok(class)
    }

    fn count(&mut self) -> Result<u16, Stop> {
        let head = self.head(2, Inside::Class)?;
        Ok(u16::from_be_bytes([head[0], head[1]]))
    }

    /// A type and a value of it; 0 if it is not a reference.
    fn value(&mut self) -> Result<(Type, u64), Stop> {
        let tag = self.head(1, Inside::Class)?[0];
        let of = Type::from_tag(tag).ok_or(Stop::Unknown { at: self.at, tag })?;
        let bytes = of.bytes(self.id_bytes);
        let value = self.head(bytes, Inside::Class)?;
        Ok(match of {
            Type::Object => (of, id(value, bytes)),
            _ => (of, 0),
        })
    }
}

/// A number of four bytes.
#[inline]
pub fn u4(bytes: &[u8]) -> u32 {
    match bytes.first_chunk() {
        Some(bytes) => u32::from_be_bytes(*bytes),
        None => 0,
    }
}

/// An id of as many bytes as are given, four or eight.
#[inline]
pub fn id_of<const IDS: usize>(bytes: &[u8]) -> u64 {
    match IDS {
        8 => bytes.first_chunk().map_or(0, |it| u64::from_be_bytes(*it)),
        _ => u4(bytes) as u64,
    }
}

/// An id of four or eight bytes.
#[inline]
pub fn id(bytes: &[u8], id_bytes: usize) -> u64 {
    match (id_bytes, bytes.first_chunk()) {
        (8, Some(bytes)) => u64::from_be_bytes(*bytes),
        _ => u4(bytes) as u64,
    }
}
