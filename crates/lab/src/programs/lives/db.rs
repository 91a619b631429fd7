//! A database after SPEC JVM98's `_209_db`: it is read from a file at start, sorted, and then queried.
//!
//! What lives long is allocated in the first part of the run: entries with their fields. The sites that do it fall silent
//! when loading is over, but for the one of fields, which a modification uses now and then. From then on a query
//! makes a cursor, a key, answers and their text, all of which die at once. Sorting is Shell's, as in the
//! original, and takes much of the time.

use heaphound::{Header, Local, Managed, Mutator, OutOfMemory, Ref, RefArray, Slot, Str, Var};

use super::Checksum;
use crate::programs::Random;

/// Entries of the database.
const ENTRIES: usize = 84_000;
/// Operations after it is loaded.
const OPERATIONS: usize = 230_000;
/// Fields of an entry; the first is its key.
const FIELDS: usize = 8;
/// Entries that a query shows.
const SHOWN: u64 = 3;

#[derive(Managed)]
#[repr(C)]
struct Database {
    header: Header,
    count: Var<u64>,
    entries: Ref<RefArray<Entry>>,
}

#[derive(Managed)]
#[repr(C)]
struct Entry {
    header: Header,
    modified: Var<u64>,
    fields: Ref<RefArray<Str>>,
}

/// A line of the file, of which words are taken.
#[derive(Managed)]
#[repr(C)]
struct Tokenizer {
    header: Header,
    at: Var<u64>,
    line: Ref<Str>,
}

/// A place among the entries.
#[derive(Managed)]
#[repr(C)]
struct Cursor {
    header: Header,
    low: Var<u64>,
    high: Var<u64>,
    key: Ref<Str>,
    database: Ref<Database>,
}

/// What a query found, and how it looks.
#[derive(Managed)]
#[repr(C)]
struct Answer {
    header: Header,
    entry: Ref<Entry>,
    text: Ref<Str>,
    next: Slot<Answer>,
}

/// Loads the database, sorts it and works with it.
pub(super) fn run(m: &mut Mutator<'_>, scale: usize) -> Result<u64, OutOfMemory> {
    let mut m = m.scope();
    let count = (ENTRIES * scale / 100).max(50);
    let entries = m.alloc_refs(count)?;
    let database = m.alloc(DatabaseInit { count: 0, entries })?;
    m.static_root::<Database>("database")
        .set(&m, Some(&m[database]));
    let mut session = Session {
        database,
        random: Random::new(29),
        checksum: Checksum::default(),
        line: String::new(),
    };
    for _ in 0..count {
        session.load(&mut m.scope())?;
    }
    session.sort(&m);
    let operations = OPERATIONS * scale / 100;
    for number in 1..=operations {
        let mut m = m.scope();
        match session.random.below(100) {
            0..8 => session.modify(&mut m, number as u64)?,
            _ => session.query(&mut m)?,
        }
        // What was modified may be out of order.
        if number % (operations / 2).max(1) == 0 {
            session.sort(&m);
        }
    }
    Ok(session.checksum.value())
}

struct Session<'s> {
    database: Local<'s, Database>,
    random: Random,
    checksum: Checksum,
    /// The line that is read or written.
    line: String,
}

impl Session<'_> {
    /// Reads the next line of the file, and makes an entry of it.
    fn load(&mut self, m: &mut Mutator<'_>) -> Result<(), OutOfMemory> {
        self.make_up_line();
        let line = m.alloc_str(&self.line)?;
        let tokenizer = m.alloc(TokenizerInit { at: 0, line })?;
        let fields = m.alloc_refs::<Str>(FIELDS)?;
        for field in 0..FIELDS {
            let mut m = m.scope();
            let word = m[tokenizer].next();
            let text = m[tokenizer].line.get()[word].to_string();
            let text = m.alloc_str(&text)?;
            m[fields][field].set(Some(&m[text]));
        }
        let entry = m.alloc(EntryInit {
            modified: 0,
            fields,
        })?;
        let database = &m[self.database];
        let count = database.count.get();
        database.entries.get()[count as usize].set(Some(&m[entry]));
        database.count.set(count + 1);
        Ok(())
    }

    fn make_up_line(&mut self) {
        use std::fmt::Write;
        self.line.clear();
        // Keys are in no order.
        let key = self.random.below(1 << 40);
        write!(self.line, "key{key:013}").expect("text");
        for field in 1..FIELDS {
            let number = self.random.below(1 << 30);
            let what =
                ["first name", "last name", "street", "city", "country"][self.random.index(5)];
            write!(self.line, "|{what} {field} of {number:010}").expect("text");
        }
    }

    /// Finds an entry near a key, and shows it and those behind it.
    fn query(&mut self, m: &mut Mutator<'_>) -> Result<(), OutOfMemory> {
        use std::fmt::Write;
        let key = format!("key{:013}", self.random.below(1 << 40));
        let key = m.alloc_str(&key)?;
        let database = m.local(&m[self.database]);
        let high = m[database].count.get();
        let cursor = m.alloc(CursorInit {
            low: 0,
            high,
            key,
            database,
        })?;
        m[cursor].search();
        let mut answers: Option<Local<'_, Answer>> = None;
        let first = m[cursor].low.get();
        for at in first..(first + SHOWN).min(high) {
            let entry = m[database].entries.get()[at as usize].get().expect("dense");
            self.line.clear();
            write!(self.line, "{at}: ").expect("text");
            for field in entry.fields.get().iter() {
                self.line += field.get().expect("all are there");
                self.line.push(' ');
            }
            let entry = m.local(entry);
            let text = m.alloc_str(&self.line)?;
            answers = Some(m.alloc(AnswerInit {
                entry,
                text,
                next: answers,
            })?);
        }
        let mut answer = answers.map(|it| &m[it]);
        while let Some(one) = answer {
            let text = one.text.get();
            let last = text.as_bytes()[text.len() - 2];
            self.checksum
                .add(text.len() as u64 + last as u64 + one.entry.get().modified.get());
            answer = one.next.get();
        }
        Ok(())
    }

    /// Gives an entry another key or field.
    fn modify(&mut self, m: &mut Mutator<'_>, day: u64) -> Result<(), OutOfMemory> {
        let count = m[self.database].count.get();
        let at = self.random.below(count) as usize;
        let field = self.random.index(FIELDS);
        let text = match field {
            0 => format!("key{:013}", self.random.below(1 << 40)),
            _ => format!("field {field} of day {day}"),
        };
        let text = m.alloc_str(&text)?;
        let entry = m[self.database].entries.get()[at].get().expect("dense");
        entry.fields.get()[field].set(Some(&m[text]));
        entry.modified.set(day);
        Ok(())
    }

    /// Sorts by key.
    fn sort(&mut self, m: &Mutator<'_>) {
        let entries = m[self.database].entries.get();
        let key = |at: usize| entries[at].get().expect("dense").key();
        let mut moved = 0;
        let mut gap = entries.len() / 2;
        while gap > 0 {
            for end in gap..entries.len() {
                let mut at = end;
                while at >= gap && key(at - gap) > key(at) {
                    let above = entries[at].get();
                    entries[at].set(entries[at - gap].get());
                    entries[at - gap].set(above);
                    at -= gap;
                    moved += 1;
                }
            }
            gap /= 2;
        }
        self.checksum.add(moved);
    }
}

impl Entry {
    fn key(&self) -> &str {
        self.fields.get()[0].get().expect("every entry has a key")
    }
}

impl Tokenizer {
    /// Returns where the next word is.
    fn next(&self) -> std::ops::Range<usize> {
        let start = self.at.get() as usize;
        let rest = &self.line.get()[start..];
        let end = start + rest.find('|').unwrap_or(rest.len());
        self.at.set(end as u64 + 1);
        start..end
    }
}

impl Cursor {
    /// Goes to the first entry whose key is not less.
    fn search(&self) {
        let (entries, key) = (self.database.get().entries.get(), &**self.key.get());
        while self.low.get() < self.high.get() {
            let middle = (self.low.get() + self.high.get()) / 2;
            match entries[middle as usize].get().expect("dense").key() < key {
                true => self.low.set(middle + 1),
                false => self.high.set(middle),
            }
        }
    }
}
