//! Allocation sites as a profile for pprof: live bytes and allocated bytes by site.
//!
//! A profile is a message of protocol buffers (`profile.proto` of pprof). Five kinds of messages with numbers and strings
//! in them are all that is needed, so that they are written by hand.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::heap::Heap;

impl Heap {
    /// Writes what is known of [sites](Heap::sites) as a profile that `pprof` and speedscope open: bytes that live
    /// (`inuse_space`), bytes that were allocated (`alloc_space`), and bytes that survived their first collection
    /// (`survived_space`), by site and, if sites are told apart by it, by who called.
    pub fn write_pprof(&self, out: &mut impl Write) -> io::Result<()> {
        let mut profile = Profile::default();
        profile.strings.of("");
        for kind in ["alloc_space", "survived_space", "inuse_space"] {
            let kind = profile.value_type(kind);
            profile.all.message(1, &kind);
        }
        for site in self.sites() {
            let file = profile.strings.of(&site.file);
            let mut stack = vec![profile.location(&site.class, file, site.line)];
            for caller in &site.context {
                stack.push(profile.location(caller, 0, 0));
            }
            let mut sample = Message::default();
            sample.packed(1, &stack);
            let values = [site.allocated_bytes, site.survived_bytes, site.live_bytes];
            sample.packed(2, &values);
            profile.all.message(2, &sample);
        }
        let period = profile.value_type("space");
        profile.all.message(11, &period);
        let interval = self.inner().config.interval().bytes();
        profile.all.number(12, interval.into());
        let default = profile.strings.of("inuse_space");
        profile.all.number(14, default);
        for text in &profile.strings.all {
            profile.all.bytes(6, text.as_bytes());
        }
        out.write_all(&profile.all.0)
    }
}

#[derive(Default)]
struct Profile {
    all: Message,
    strings: Strings,
    /// By function and line.
    locations: HashMap<(u64, u64, u32), u64>,
}

impl Profile {
    /// A kind of values, in bytes.
    fn value_type(&mut self, kind: &str) -> Message {
        let mut message = Message::default();
        message.number(1, self.strings.of(kind));
        message.number(2, self.strings.of("bytes"));
        message
    }

    /// Returns the number of a place in a function of that name.
    fn location(&mut self, name: &str, file: u64, line: u32) -> u64 {
        let name = self.strings.of(name);
        let next = self.locations.len() as u64 + 1;
        let id = *self.locations.entry((name, file, line)).or_insert(next);
        if id == next {
            let mut function = Message::default();
            function.number(1, id);
            function.number(2, name);
            function.number(3, name);
            function.number(4, file);
            self.all.message(5, &function);
            let mut at = Message::default();
            at.number(1, id);
            at.number(2, line.into());
            let mut location = Message::default();
            location.number(1, id);
            location.message(4, &at);
            self.all.message(4, &location);
        }
        id
    }
}

/// Texts by number, each once.
#[derive(Default)]
struct Strings {
    all: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Strings {
    fn of(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.all.len() as u64;
        self.all.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }
}

/// A message as protocol buffers write it.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(&mut self, field: u64, number: u64) {
        self.varint(field << 3);
        self.varint(number);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u64, message: &Self) {
        self.bytes(field, &message.0);
    }

    fn packed(&mut self, field: u64, numbers: &[u64]) {
        let mut packed = Self::default();
        numbers.iter().for_each(|&number| packed.varint(number));
        self.message(field, &packed);
    }
}
