//! A database in memory after SPEC JVM98's `_209_db`: entries in a vector, which are added, found,
//! modified, deleted and sorted.
//!
//! The database owns its entries. Those used lately are in a cache too, which is allowed while
//! they are in the database; with the bug a deleted entry stays there. Entries that are
//! archived leave the database for good: it is no longer said to own them.

use heaphound::{
    Bytes, Header, Local, Managed, Mutator, OutOfMemory, Ref, RefArray, Slot, Str, Var,
};

use super::{Outcome, Random, Size};

/// How large the database is, and what is done with it.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Entries.
    pub entries: usize,
    /// Operations.
    pub operations: usize,
    /// Entries that the cache remembers.
    pub recent: usize,
    /// One of this many operations adds an entry and deletes another.
    pub exchange_every: usize,
    /// Whether it asserts.
    pub assertions: bool,
    /// Whether deleted entries stay in the cache.
    pub bug: bool,
}

impl Options {
    /// With assertions.
    pub fn of(size: Size, bug: bool) -> Self {
        let (entries, recent, operations, exchange_every) = match size {
            Size::Small => (300, 64, 5_000, 50),
            // The paper's run made 15,553 assertions of ownership, of which 15,274 were checked by
            // a collection on average.
            Size::Large => (15_000, 8_192, 1_200_000, 2_170),
        };
        Self {
            entries,
            recent,
            operations,
            exchange_every,
            assertions: true,
            bug,
        }
    }
}

/// Entries that the archive remembers.
const ARCHIVED: usize = 16;
/// One of this many exchanges archives the entry instead of deleting it.
const ARCHIVE_EVERY: u64 = 10;
/// Notes of an entry.
const NOTES: usize = 2;

#[derive(Managed)]
#[repr(C)]
struct Database {
    header: Header,
    name: Ref<Str>,
    entries: Ref<Vector>,
}

#[derive(Managed)]
#[repr(C)]
struct Vector {
    header: Header,
    count: Var<u64>,
    elements: Slot<RefArray<Entry>>,
}

#[derive(Managed)]
#[repr(C)]
struct Entry {
    header: Header,
    key: u64,
    name: Ref<PersonName>,
    address: Ref<Address>,
    phone: Ref<Phone>,
    account: Ref<Account>,
    modified: Ref<Date>,
    notes: Ref<RefArray<Note>>,
}

#[derive(Managed)]
#[repr(C)]
struct PersonName {
    header: Header,
    first: Ref<Str>,
    last: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Address {
    header: Header,
    street: Ref<Str>,
    city: Ref<City>,
}

#[derive(Managed)]
#[repr(C)]
struct City {
    header: Header,
    zip: u64,
    country: Ref<Country>,
}

/// Shared by many.
#[derive(Managed)]
#[repr(C)]
struct Country {
    header: Header,
    name: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Phone {
    header: Header,
    number: Ref<Bytes>,
}

#[derive(Managed)]
#[repr(C)]
struct Account {
    header: Header,
    balance: u64,
}

#[derive(Managed)]
#[repr(C)]
struct Date {
    header: Header,
    day: u64,
}

#[derive(Managed)]
#[repr(C)]
struct Note {
    header: Header,
    text: Ref<Str>,
}

/// A cache: the entries used lately, by key.
#[derive(Managed)]
#[repr(C)]
struct RecentEntries {
    header: Header,
    entries: Ref<RefArray<Entry>>,
}

#[derive(Managed)]
#[repr(C)]
struct Archive {
    header: Header,
    next: Var<u64>,
    entries: Ref<RefArray<ArchivedEntry>>,
}

#[derive(Managed)]
#[repr(C)]
struct ArchivedEntry {
    header: Header,
    entry: Ref<Entry>,
}

#[derive(Managed)]
#[repr(C)]
struct QueryLog {
    header: Header,
    latest: Slot<Query>,
}

#[derive(Managed)]
#[repr(C)]
struct Query {
    header: Header,
    key: u64,
    answer: Slot<Answer>,
}

#[derive(Managed)]
#[repr(C)]
struct Answer {
    header: Header,
    entry: Ref<Entry>,
}

/// Fills the database and works with it.
pub fn run(m: &mut Mutator<'_>, options: &Options) -> Outcome {
    let mut m = m.scope();
    let mut outcome = Outcome::default();
    let mut session = Session::open(&mut m, options).expect("room");
    for number in 0..options.operations {
        let done = session.operate(&mut m, number);
        outcome.note(done.expect("room"));
    }
    outcome
}

/// Fills the database, which stays.
pub(crate) fn settle(m: &mut Mutator<'_>, options: &Options) {
    let mut m = m.scope();
    Session::open(&mut m, options).expect("room");
}

/// Who works with the database.
struct Session<'s> {
    options: &'s Options,
    random: Random,
    database: Local<'s, Database>,
    recent: Local<'s, RefArray<Entry>>,
    archive: Local<'s, Archive>,
    log: Local<'s, QueryLog>,
    countries: Local<'s, RefArray<Country>>,
    next_key: u64,
    day: u64,
    exchanged: u64,
}

impl<'s> Session<'s> {
    fn open(m: &mut Mutator<'s>, options: &'s Options) -> Result<Self, OutOfMemory> {
        let elements = Some(m.alloc_refs(options.entries)?);
        let entries = m.alloc(VectorInit { count: 0, elements })?;
        let name = m.alloc_str("addresses")?;
        let database = m.alloc(DatabaseInit { name, entries })?;
        m.static_root::<Database>("database")
            .set(m, Some(&m[database]));
        let recent = m.alloc_refs(options.recent)?;
        let cache = m.alloc(RecentEntriesInit { entries: recent })?;
        m.static_root::<RecentEntries>("recent")
            .set(m, Some(&m[cache]));
        let entries = m.alloc_refs(ARCHIVED)?;
        let archive = m.alloc(ArchiveInit { next: 0, entries })?;
        m.static_root::<Archive>("archive")
            .set(m, Some(&m[archive]));
        let log = m.alloc(QueryLogInit { latest: None })?;
        m.static_root::<QueryLog>("log").set(m, Some(&m[log]));
        let countries = m.alloc_refs::<Country>(10)?;
        for number in 0..10 {
            let mut m = m.scope();
            let name = m.alloc_str(&format!("country {number}"))?;
            let country = m.alloc(CountryInit { name })?;
            m[countries][number].set(Some(&m[country]));
        }
        let mut session = Self {
            options,
            random: Random::new(4),
            database,
            recent,
            archive,
            log,
            countries,
            next_key: 0,
            day: 0,
            exchanged: 0,
        };
        for _ in 0..options.entries {
            session.add(m)?;
        }
        Ok(session)
    }

    fn operate(&mut self, m: &mut Mutator<'_>, number: usize) -> Result<u64, OutOfMemory> {
        if number % self.options.exchange_every == self.options.exchange_every - 1 {
            let key = self.take_out(m)?;
            self.add(m)?;
            return Ok(key);
        }
        if number == self.options.operations / 2 {
            return Ok(self.sort(m));
        }
        match self.random.below(2) {
            0 => self.find(m),
            _ => self.modify(m),
        }
    }

    fn entries<'m>(&self, m: &'m Mutator<'_>) -> (&'m Vector, &'m RefArray<Entry>) {
        let vector = m[self.database].entries.get();
        (vector, vector.elements.get().expect("always there"))
    }

    fn any(&mut self, m: &Mutator<'_>) -> usize {
        self.random.below(self.entries(m).0.count.get()) as usize
    }

    fn add(&mut self, m: &mut Mutator<'_>) -> Result<(), OutOfMemory> {
        let mut m = m.scope();
        let key = self.next_key;
        self.next_key += 1;
        let entry = self.entry(&mut m, key)?;
        let (vector, elements) = self.entries(&m);
        let count = vector.count.get();
        elements[count as usize].set(Some(&m[entry]));
        vector.count.set(count + 1);
        if self.options.assertions {
            m.assert_owned_by(self.database, entry);
        }
        Ok(())
    }

    fn entry<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        key: u64,
    ) -> Result<Local<'a, Entry>, OutOfMemory> {
        m.scoped(|m| {
            let first = m.alloc_str(&format!("first {key}"))?;
            let last = m.alloc_str(&format!("last {}", self.random.below(10_000)))?;
            let name = m.alloc(PersonNameInit { first, last })?;
            let street = m.alloc_str(&format!("street {}", self.random.below(1_000)))?;
            let country = m[self.countries][self.random.index(10)].get();
            let country = m.local(country.expect("all are there"));
            let zip = self.random.below(100_000);
            let city = m.alloc(CityInit { zip, country })?;
            let address = m.alloc(AddressInit { street, city })?;
            let number = m.alloc_bytes(&self.random.below(1 << 40).to_be_bytes())?;
            let phone = m.alloc(PhoneInit { number })?;
            let account = m.alloc(AccountInit { balance: key })?;
            let modified = m.alloc(DateInit { day: self.day })?;
            let notes = m.alloc_refs::<Note>(NOTES)?;
            for note in 0..NOTES {
                let mut m = m.scope();
                let text = m.alloc_str(&format!("note {note} of {key}"))?;
                let made = m.alloc(NoteInit { text })?;
                m[notes][note].set(Some(&m[made]));
            }
            m.alloc(EntryInit {
                key,
                name,
                address,
                phone,
                account,
                modified,
                notes,
            })
        })
    }

    fn use_entry(&self, m: &Mutator<'_>, entry: &Entry) {
        m[self.recent][entry.key as usize % self.options.recent].set(Some(entry));
    }

    fn find(&mut self, m: &mut Mutator<'_>) -> Result<u64, OutOfMemory> {
        let mut m = m.scope();
        let at = self.any(&m);
        let key = self.entries(&m).1[at].get().expect("below the count").key;
        let query = m.alloc(QueryInit { key, answer: None })?;
        let entry = m.local(self.entries(&m).1[at].get().expect("below the count"));
        let answer = m.alloc(AnswerInit { entry })?;
        m[query].answer.set(Some(&m[answer]));
        m[self.log].latest.set(Some(&m[query]));
        self.use_entry(&m, &m[entry]);
        let zip = m[entry].address.get().city.get().zip;
        Ok(zip + m[entry].account.get().balance)
    }

    fn modify(&mut self, m: &mut Mutator<'_>) -> Result<u64, OutOfMemory> {
        let mut m = m.scope();
        let at = self.any(&m);
        let entry = m.local(self.entries(&m).1[at].get().expect("below the count"));
        self.day += 1;
        let modified = m.alloc(DateInit { day: self.day })?;
        m[entry].modified.set(&m[modified]);
        let balance = m[entry].account.get().balance + self.random.below(100);
        let account = m.alloc(AccountInit { balance })?;
        m[entry].account.set(&m[account]);
        let text = m.alloc_str(&format!("note of day {} on {balance}", self.day))?;
        let note = m.alloc(NoteInit { text })?;
        let place = self.random.index(NOTES);
        m[entry].notes.get()[place].set(Some(&m[note]));
        self.use_entry(&m, &m[entry]);
        Ok(balance)
    }

    /// Looks an entry up and deletes it, or archives it.
    fn take_out(&mut self, m: &mut Mutator<'_>) -> Result<u64, OutOfMemory> {
        let mut m = m.scope();
        let at = self.any(&m);
        self.exchanged += 1;
        let archived = match self.exchanged % ARCHIVE_EVERY {
            0 => {
                let entry = m.local(self.entries(&m).1[at].get().expect("below the count"));
                Some(m.alloc(ArchivedEntryInit { entry })?)
            }
            _ => None,
        };
        let (vector, elements) = self.entries(&m);
        let entry = elements[at].get().expect("below the count");
        let last = vector.count.get() - 1;
        elements[at].set(elements[last as usize].get());
        elements[last as usize].clear();
        vector.count.set(last);
        m[self.log].latest.clear();
        self.use_entry(&m, entry);
        let cached = &m[self.recent][entry.key as usize % self.options.recent];
        if archived.is_some() || !self.options.bug {
            cached.clear();
        }
        if let Some(archived) = archived {
            let archive = &m[self.archive];
            let next = archive.next.get();
            archive.entries.get()[next as usize % ARCHIVED].set(Some(&m[archived]));
            archive.next.set(next + 1);
        }
        if self.options.assertions {
            let entry = m.local(entry);
            match archived {
                Some(_) => m.retract_owned_by(self.database, entry),
                None => m.assert_dead(entry),
            }
        }
        Ok(entry.key)
    }

    /// Sorts by key: Shell's way, as the original does.
    fn sort(&mut self, m: &Mutator<'_>) -> u64 {
        let (vector, elements) = self.entries(m);
        let count = vector.count.get() as usize;
        let key = |at: usize| elements[at].get().map_or(0, |it| it.key);
        let mut gap = count / 2;
        while gap > 0 {
            for end in gap..count {
                let mut at = end;
                while at >= gap && key(at - gap) > key(at) {
                    let above = elements[at].get();
                    elements[at].set(elements[at - gap].get());
                    elements[at - gap].set(above);
                    at -= gap;
                }
            }
            gap /= 2;
        }
        (1..count).filter(|&at| key(at - 1) < key(at)).count() as u64
    }
}
