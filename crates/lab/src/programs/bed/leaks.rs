//! Programs that leak.

use heaphound::{Local, Mutator, PlainArray, Ref, RefArray, Slot, Str, Var};

use super::{Blamed, Each, Record, Small, longer, publish, record, rounds, text, write_and_forget};
use crate::programs::queue::Queue;
use crate::programs::table::HashTable;

const fn blamed(from: &'static str, slot: &'static str, to: &'static str) -> Blamed {
    Blamed {
        from,
        slot,
        to,
        element: None,
    }
}

const fn leak(
    name: &'static str,
    about: &'static str,
    blamed: &'static [Blamed],
    run: fn(&mut Mutator<'_>, Each<'_>),
) -> Small {
    Small {
        name,
        about,
        blamed,
        stops: false,
        run,
    }
}

/// All of them.
pub const LEAKS: &[Small] = &[
    leak(
        "two maps",
        "of two maps of one class the smaller grows",
        &[blamed("Office", "open", "HashTable")],
        two_maps,
    ),
    leak(
        "map in map",
        "of six maps in a map one grows, and not the largest",
        &[Blamed {
            element: Some(3),
            ..blamed("Shelf", "maps", "HashTable[]")
        }],
        map_in_map,
    ),
    leak(
        "listeners",
        "listeners are never taken out of their list",
        &[blamed("Button", "listeners", "ArrayOfListeners")],
        listeners,
    ),
    leak(
        "cache",
        "a cache forgets nothing",
        &[blamed("PageCache", "pages", "HashTable")],
        cache,
    ),
    leak(
        "array",
        "an array of numbers becomes longer and longer",
        &[blamed("Recorder", "samples", "u64[]")],
        array,
    ),
    leak(
        "thread",
        "the object of a thread keeps a log",
        &[blamed("Context", "last", "LogLine")],
        thread,
    ),
    leak(
        "set of strings",
        "names are put into a set and stay",
        &[blamed("Names", "seen", "HashTable")],
        set,
    ),
    leak(
        "queue",
        "a queue is filled and never drained",
        &[blamed("Mailer", "outgoing", "Queue")],
        queue,
    ),
    leak(
        "two leaks",
        "sessions stay in a map, and audit lines in a list",
        &[
            blamed("Server", "sessions", "HashTable"),
            blamed("Server", "audit", "AuditLine"),
        ],
        two_leaks,
    ),
    leak(
        "interner",
        "symbols are interned for ever",
        &[blamed("Interner", "buckets", "Symbol[]")],
        interner,
    ),
    leak(
        "undo",
        "an editor can undo everything, since its start",
        &[blamed("Document", "undo", "Edit")],
        undo,
    ),
    leak(
        "late",
        "a leak begins when a third of the time is over",
        &[blamed("LateCache", "entries", "HashTable")],
        late,
    ),
    Small {
        stops: true,
        ..leak(
            "stops",
            "a leak ends before the program does",
            &[blamed("Importer", "rows", "HashTable")],
            stops,
        )
    },
    leak(
        "keys",
        "a cache is emptied every five rounds, but for its keys",
        &[blamed("Sawtooth", "keys", "HashTable")],
        keys,
    ),
    leak(
        "slow",
        "a few objects stay beside a hundred times as many that come and go",
        &[blamed("Clock", "late", "Alarm")],
        slow,
    ),
    leak(
        "shards",
        "sixteen maps in an array grow alike",
        &[blamed("Store", "shards", "HashTable[]")],
        shards,
    ),
    leak(
        "shortcut",
        "a list is long; a ring of a few places refers to its middle",
        &[blamed("History", "editors", "EditorInfo")],
        shortcut,
    ),
    leak(
        "keys and values",
        "a map with an array of keys and one of values is never cleared",
        &[blamed("FlatHolder", "map", "FlatMap")],
        flat,
    ),
    leak(
        "copied",
        "a table is copied whenever something is added",
        &[blamed("Copied", "items", "Record[]")],
        copied,
    ),
];

class!(Office { closed: Ref<HashTable>, open: Ref<HashTable> });

fn fill(m: &mut Mutator<'_>, table: Local<'_, HashTable>, keys: std::ops::Range<u64>) {
    for key in keys {
        let mut m = m.scope();
        let value = record(&mut m, key);
        HashTable::insert(&mut m, table, key, value);
    }
}

fn two_maps(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let (closed, open) = (HashTable::new(&mut m), HashTable::new(&mut m));
    let office = m.alloc(OfficeInit { closed, open }).expect("room");
    publish(&m, "office", office);
    fill(&mut m, closed, 0..2_000);
    rounds(&mut m, each, |m, round| {
        fill(m, open, 40 * round..40 * (round + 1));
    });
}

class!(Shelf { maps: Ref<RefArray<HashTable>> });

fn map_in_map(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let maps = m.alloc_refs::<HashTable>(6).expect("room");
    let shelf = m.alloc(ShelfInit { maps }).expect("room");
    publish(&m, "shelf", shelf);
    for at in 0..6 {
        let map = HashTable::new(&mut m);
        m[maps][at].set(Some(&m[map]));
        fill(&mut m, map, 0..300 * (6 - at as u64));
    }
    rounds(&mut m, each, |m, round| {
        let map = m.local(m[maps][3].get().expect("it is there"));
        fill(m, map, 10_000 + 60 * round..10_000 + 60 * (round + 1));
        // Others lose some and get as many.
        for at in [1, 4] {
            let map = m.local(m[maps][at].get().expect("it is there"));
            let first = if round == 0 {
                0
            } else {
                20_000 + 50 * (round - 1)
            };
            (first..first + 50).for_each(|key| {
                m[map].remove(key);
            });
            fill(m, map, 20_000 + 50 * round..20_000 + 50 * (round + 1));
        }
    });
}

class!(Button { listeners: Ref<ArrayOfListeners> });
class!(ArrayOfListeners { count: Var<u64>, items: Ref<RefArray<Listener>> });
class!(Listener { target: Slot<Record> });

fn listeners(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let items = m.alloc_refs::<Listener>(16).expect("room");
    let listeners = m
        .alloc(ArrayOfListenersInit { count: 0, items })
        .expect("room");
    let button = m.alloc(ButtonInit { listeners }).expect("room");
    publish(&m, "button", button);
    rounds(&mut m, each, |m, round| {
        for number in 0..30 {
            let mut m = m.scope();
            let target = record(&mut m, round * 100 + number);
            let listener = m
                .alloc(ListenerInit {
                    target: Some(target),
                })
                .expect("room");
            let count = m[listeners].count.get() as usize;
            let items = m.local(m[listeners].items.get());
            if count == m[items].len() {
                let more = longer(&mut m, items, 2 * count);
                m[listeners].items.set(&m[more]);
            }
            m[listeners].items.get()[count].set(Some(&m[listener]));
            m[listeners].count.set(count as u64 + 1);
        }
    });
}

class!(PageCache { pages: Ref<HashTable> });
class!(Page { address: u64, body: Ref<Str> });

fn cache(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let pages = HashTable::new(&mut m);
    let cache = m.alloc(PageCacheInit { pages }).expect("room");
    publish(&m, "cache", cache);
    rounds(&mut m, each, |m, round| {
        for number in 0..20 {
            let mut m = m.scope();
            let address = round * 100 + number;
            let body = text(&mut m, 200);
            let page = m.alloc(PageInit { address, body }).expect("room");
            HashTable::insert(&mut m, pages, address, page);
        }
    });
}

class!(Recorder { samples: Ref<PlainArray<u64>> });

fn array(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let samples = m.alloc_plain(100, 0u64).expect("room");
    let recorder = m.alloc(RecorderInit { samples }).expect("room");
    publish(&m, "recorder", recorder);
    rounds(&mut m, each, |m, round| {
        let more = m
            .alloc_plain(100 + 200 * round as usize, round)
            .expect("room");
        m[recorder].samples.set(&m[more]);
    });
}

class!(Context { last: Slot<LogLine> });
class!(LogLine { text: Ref<Str>, before: Slot<LogLine> });

fn thread(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let context = m.alloc(ContextInit { last: None }).expect("room");
    m.set_thread_object(Some(&m[context]));
    rounds(&mut m, each, |m, _| {
        for _ in 0..25 {
            let mut m = m.scope();
            let before = m[context].last.get().map(|it| m.local(it));
            let text = text(&mut m, 40);
            let line = m.alloc(LogLineInit { text, before }).expect("room");
            m[context].last.set(Some(&m[line]));
        }
    });
    m.set_thread_object::<Context>(None);
}

class!(Names { seen: Ref<HashTable> });

fn set(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let seen = HashTable::new(&mut m);
    let names = m.alloc(NamesInit { seen }).expect("room");
    publish(&m, "names", names);
    rounds(&mut m, each, |m, round| {
        for number in 0..50 {
            let mut m = m.scope();
            let name = text(&mut m, 32);
            HashTable::insert(&mut m, seen, round * 100 + number, name);
        }
    });
}

class!(Mailer { outgoing: Ref<Queue>, incoming: Ref<Queue> });

fn queue(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let (outgoing, incoming) = (Queue::new(&mut m), Queue::new(&mut m));
    let mailer = m.alloc(MailerInit { outgoing, incoming }).expect("room");
    publish(&m, "mailer", mailer);
    rounds(&mut m, each, |m, round| {
        for number in 0..300 {
            let mut m = m.scope();
            let mail = record(&mut m, round * 1_000 + number);
            match number % 10 {
                0 => Queue::push(&mut m, outgoing, mail),
                _ => Queue::push(&mut m, incoming, mail),
            }
        }
        // What came in is read, but for some.
        while m[incoming].len() as u64 > 100 + 30 * (round % 3) {
            m[incoming].pop::<Record>();
        }
    });
}

class!(Server { sessions: Ref<HashTable>, audit: Slot<AuditLine> });
class!(Session { user: Ref<Str> });
class!(AuditLine { number: u64, before: Slot<AuditLine> });

fn two_leaks(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let sessions = HashTable::new(&mut m);
    let server = m
        .alloc(ServerInit {
            sessions,
            audit: None,
        })
        .expect("room");
    publish(&m, "server", server);
    rounds(&mut m, each, |m, round| {
        for number in 0..20 {
            let mut m = m.scope();
            let user = text(&mut m, 30);
            let session = m.alloc(SessionInit { user }).expect("room");
            HashTable::insert(&mut m, sessions, round * 100 + number, session);
            let before = m[server].audit.get().map(|it| m.local(it));
            let line = m.alloc(AuditLineInit { number, before }).expect("room");
            m[server].audit.set(Some(&m[line]));
        }
    });
}

class!(Interner { buckets: Ref<RefArray<Symbol>> });
class!(Symbol { text: Ref<Str>, next: Slot<Symbol> });

fn interner(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let buckets = m.alloc_refs::<Symbol>(64).expect("room");
    let interner = m.alloc(InternerInit { buckets }).expect("room");
    publish(&m, "interner", interner);
    rounds(&mut m, each, |m, round| {
        for number in 0..40 {
            let mut m = m.scope();
            let place = (round * 37 + number * 11) as usize % 64;
            let next = m[buckets][place].get().map(|it| m.local(it));
            let text = text(&mut m, 16);
            let symbol = m.alloc(SymbolInit { text, next }).expect("room");
            m[buckets][place].set(Some(&m[symbol]));
        }
    });
}

class!(Document { lines: Ref<RefArray<Str>>, undo: Slot<Edit> });
class!(Edit { line: u64, old: Ref<Str>, before: Slot<Edit> });

fn undo(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let lines = m.alloc_refs::<Str>(200).expect("room");
    let document = m.alloc(DocumentInit { lines, undo: None }).expect("room");
    publish(&m, "document", document);
    for at in 0..200 {
        let mut m = m.scope();
        let line = text(&mut m, 60);
        m[lines][at].set(Some(&m[line]));
    }
    rounds(&mut m, each, |m, round| {
        for number in 0..15 {
            let mut m = m.scope();
            let at = (round * 31 + number * 7) as usize % 200;
            let old = m.local(m[lines][at].get().expect("all are there"));
            let before = m[document].undo.get().map(|it| m.local(it));
            let edit = EditInit {
                line: at as u64,
                old,
                before,
            };
            let edit = m.alloc(edit).expect("room");
            m[document].undo.set(Some(&m[edit]));
            let new = text(&mut m, 60);
            m[lines][at].set(Some(&m[new]));
        }
    });
}

class!(LateCache { entries: Ref<HashTable> });

fn late(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let entries = HashTable::new(&mut m);
    let cache = m.alloc(LateCacheInit { entries }).expect("room");
    publish(&m, "cache", cache);
    fill(&mut m, entries, 0..200);
    rounds(&mut m, each, |m, round| {
        if round >= 8 {
            fill(m, entries, 1_000 + 50 * round..1_000 + 50 * (round + 1));
        }
    });
}

class!(Importer { rows: Ref<HashTable> });

fn stops(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let rows = HashTable::new(&mut m);
    let importer = m.alloc(ImporterInit { rows }).expect("room");
    publish(&m, "importer", importer);
    rounds(&mut m, each, |m, round| {
        if round < 12 {
            fill(m, rows, 50 * round..50 * (round + 1));
        }
    });
}

class!(Sawtooth { keys: Ref<HashTable>, pages: Ref<HashTable> });
class!(Key { number: u64 });

fn keys(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let keys = HashTable::new(&mut m);
    // No local holds the first pages.
    let cache = m.scoped(|m| {
        let pages = HashTable::new(m);
        m.alloc(SawtoothInit { keys, pages })
    });
    let cache = cache.expect("room");
    publish(&m, "cache", cache);
    rounds(&mut m, each, |m, round| {
        if round % 5 == 4 {
            let empty = HashTable::new(m);
            m[cache].pages.set(&m[empty]);
        }
        for number in 0..40 {
            let mut m = m.scope();
            let number = round * 100 + number;
            let key = m.alloc(KeyInit { number }).expect("room");
            HashTable::insert(&mut m, keys, number, key);
            let (page, pages) = (record(&mut m, number), m.local(m[cache].pages.get()));
            HashTable::insert(&mut m, pages, number, page);
        }
    });
}

class!(Clock { late: Slot<Alarm>, ring: Ref<RefArray<Record>> });
class!(Alarm { at: u64, next: Slot<Alarm> });

fn slow(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let ring = m.alloc_refs::<Record>(500).expect("room");
    let clock = m.alloc(ClockInit { late: None, ring }).expect("room");
    publish(&m, "clock", clock);
    rounds(&mut m, each, |m, round| {
        for number in 0..400 {
            let mut m = m.scope();
            let it = record(&mut m, number);
            m[ring][(round * 400 + number) as usize % 500].set(Some(&m[it]));
        }
        for _ in 0..4 {
            let mut m = m.scope();
            let next = m[clock].late.get().map(|it| m.local(it));
            let alarm = m.alloc(AlarmInit { at: round, next }).expect("room");
            m[clock].late.set(Some(&m[alarm]));
        }
        write_and_forget(m, 1_000);
    });
}

class!(Store { shards: Ref<RefArray<HashTable>>, recent: Ref<RefArray<Record>> });

fn shards(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let shards = m.alloc_refs::<HashTable>(16).expect("room");
    let recent = m.alloc_refs::<Record>(16).expect("room");
    let store = m.alloc(StoreInit { shards, recent }).expect("room");
    publish(&m, "store", store);
    for at in 0..16 {
        let map = HashTable::new(&mut m);
        m[shards][at].set(Some(&m[map]));
    }
    rounds(&mut m, each, |m, round| {
        for number in 0..64 {
            let mut m = m.scope();
            let key = round * 100 + number;
            let value = record(&mut m, key);
            let shard = m.local(m[shards][number as usize % 16].get().expect("it is there"));
            HashTable::insert(&mut m, shard, key, value);
            // The last ones are nearer to the root.
            m[recent][number as usize % 16].set(Some(&m[value]));
        }
    });
}

class!(History { entries: Ref<RefArray<Visit>>, editors: Slot<EditorInfo> });
class!(Visit { line: u64, info: Ref<EditorInfo> });
class!(EditorInfo { input: Ref<Record>, next: Slot<EditorInfo> });

fn shortcut(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let entries = m.alloc_refs::<Visit>(10).expect("room");
    let init = HistoryInit {
        entries,
        editors: None,
    };
    let history = m.alloc(init).expect("room");
    publish(&m, "history", history);
    rounds(&mut m, each, |m, round| {
        for number in 0..30 {
            let mut m = m.scope();
            let input = record(&mut m, number);
            let next = m[history].editors.get().map(|it| m.local(it));
            let info = m.alloc(EditorInfoInit { input, next }).expect("room");
            m[history].editors.set(Some(&m[info]));
            let visit = m.alloc(VisitInit { line: number, info }).expect("room");
            m[entries][(round * 30 + number) as usize % 10].set(Some(&m[visit]));
        }
    });
}

class!(FlatHolder { map: Ref<FlatMap> });
class!(FlatMap { count: Var<u64>, keys: Ref<RefArray<Str>>, values: Ref<RefArray<Record>> });

fn flat(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let keys = m.alloc_refs::<Str>(16).expect("room");
    let values = m.alloc_refs::<Record>(16).expect("room");
    let init = FlatMapInit {
        count: 0,
        keys,
        values,
    };
    let map = m.alloc(init).expect("room");
    let holder = m.alloc(FlatHolderInit { map }).expect("room");
    publish(&m, "holder", holder);
    rounds(&mut m, each, |m, round| {
        for number in 0..30 {
            let mut m = m.scope();
            let (key, value) = (text(&mut m, 20), record(&mut m, round));
            let count = m[map].count.get() as usize;
            let (keys, values) = (m.local(m[map].keys.get()), m.local(m[map].values.get()));
            if count == m[keys].len() {
                let keys = longer(&mut m, keys, 2 * count);
                m[map].keys.set(&m[keys]);
                let values = longer(&mut m, values, 2 * count);
                m[map].values.set(&m[values]);
            }
            m[map].keys.get()[count].set(Some(&m[key]));
            m[map].values.get()[count].set(Some(&m[value]));
            m[map].count.set(count as u64 + 1);
            let _ = number;
        }
    });
}

class!(Copied { items: Ref<RefArray<Record>> });

fn copied(m: &mut Mutator<'_>, each: Each<'_>) {
    let mut m = m.scope();
    let items = m.alloc_refs::<Record>(0).expect("room");
    let copied = m.alloc(CopiedInit { items }).expect("room");
    publish(&m, "copied", copied);
    rounds(&mut m, each, |m, round| {
        for number in 0..30 {
            let mut m = m.scope();
            let value = record(&mut m, round * 100 + number);
            let items = m.local(m[copied].items.get());
            let count = m[items].len();
            let more = longer(&mut m, items, count + 1);
            m[more][count].set(Some(&m[value]));
            m[copied].items.set(&m[more]);
        }
    });
}
