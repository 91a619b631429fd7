//! A race found without looking for races: figures 1 and 2 of the PHALANX paper.
//!
//! JdbF keeps database connections in a map of sources. `getConnection` tests whether a source is
//! in use and then marks it as used. Two threads that test at the same time both get its
//! connection. The rule that they break is about the heap: *from outside the map, a connection is
//! reachable from at most one thread*. One of the threads asks whether the rule holds. The answer
//! says who else has its connection, and where.

use std::error::Error;
use std::sync::{Barrier, Mutex};

use heaphound::finding::{Finding, Path};
use heaphound::path::named;
use heaphound::view::HeapView;
use heaphound::{
    Asking, Collector, Header, Heap, Local, Managed, Mutator, OutOfMemory, Ref, RefArray, Str, Var,
    root::Part,
};

mod report;

/// The object that stands for a client thread.
#[derive(Managed)]
#[repr(C)]
struct Client {
    header: Header,
    database: Ref<Database>,
}

#[derive(Managed)]
#[repr(C)]
struct Database {
    header: Header,
    manager: Ref<ConnectionManager>,
}

#[derive(Managed)]
#[repr(C)]
struct ConnectionManager {
    header: Header,
    /// The map: each source knows its key.
    sources: Ref<RefArray<ConnectionSource>>,
}

#[derive(Managed)]
#[repr(C)]
struct ConnectionSource {
    header: Header,
    name: Ref<Str>,
    used: Var<bool>,
    connection: Ref<Connection>,
}

#[derive(Managed)]
#[repr(C)]
struct Connection {
    header: Header,
    rows: Var<u32>,
}

/// The threads, and the source that each of them asks for.
const CLIENTS: [(&str, &str); 3] = [
    ("checkout", "orders"),
    ("billing", "orders"),
    ("search", "catalogue"),
];

/// How `get_connection` keeps threads apart.
pub(crate) enum Version {
    /// Not at all. The barrier makes sure that the two threads that want the same connection have
    /// both tested before either continues. Without the barrier, that happens by chance.
    Buggy(Barrier),
    /// `synchronized`.
    Corrected(Mutex<()>),
}

impl Version {
    pub(crate) fn buggy() -> Self {
        Self::Buggy(Barrier::new(2))
    }

    pub(crate) fn corrected() -> Self {
        Self::Corrected(Mutex::new(()))
    }
}

/// The findings, or another error.
pub(crate) type Findings = Result<Vec<Finding>, Box<dyn Error + Send + Sync>>;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    println!("JdbF as it was: getConnection is not synchronized");
    let found = run(Collector::default(), Version::buggy())?;
    report::print(&found);
    if found.len() != 1 {
        return Err("one connection should have been found to be shared".into());
    }
    println!("\nJdbF as it should be:");
    let found = run(Collector::default(), Version::corrected())?;
    report::print(&found);
    if !found.is_empty() {
        return Err("no connection should be shared".into());
    }
    Ok(())
}

/// Lets all clients insert at once. Returns what broke the rule meanwhile.
pub(crate) fn run(collector: Collector, version: Version) -> Findings {
    let heap = Heap::builder()
        .max_bytes(16 << 20)
        .collector(collector)
        .build()?;
    open_database(&mut heap.attach("main")?)?;
    // Each client has a connection or was refused, and the rule was checked.
    let (all_have, checked) = (Barrier::new(CLIENTS.len()), Barrier::new(CLIENTS.len()));
    let client = |name: &str, source: &str| -> Findings {
        let mut m = heap.attach(name)?;
        become_client(&mut m)?;
        let connection = get_connection(&mut m, source, &version);
        m.blocked(|| all_have.wait());
        let found = match name == CLIENTS[0].0 {
            true => m.ask(check_invariant),
            false => Vec::new(),
        };
        m.blocked(|| checked.wait());
        if let Some(connection) = connection {
            m[connection].rows.update(|rows| rows + 1); // The insert.
        }
        Ok(found)
    };
    std::thread::scope(|threads| {
        let spawned = CLIENTS.map(|(name, source)| threads.spawn(move || client(name, source)));
        let mut found = Vec::new();
        for thread in spawned {
            found.extend(thread.join().expect("no client panics")?);
        }
        Ok(found)
    })
}

/// The rule: for every connection, at most one thread reaches it without passing the map.
fn check_invariant(heap: &Asking<'_, '_>) -> Vec<Finding> {
    let view = heap.view();
    let live = heap.reach_all();
    let instances = |class: &str| {
        let is_one = |&object: &_| view.class(view.class_of(object)).name == class;
        live.iter().filter(is_one).collect::<Vec<_>>()
    };
    let sources = instances("ConnectionSource");
    let mut found = Vec::new();
    for connection in instances("Connection") {
        let mut threads = heap.thread_reach(connection, &sources, Part::Both);
        threads.sort();
        if threads.len() <= 1 {
            continue;
        }
        let paths = threads.iter().filter_map(|thread| {
            let path = heap.thread_path(thread, Part::Both, &sources, connection)?;
            let path = path.describe(view);
            let label = format!("`{thread}`, in the scope of {}", scope_of(&path));
            Some((label, path))
        });
        let about = named(view, connection);
        let message = format!(
            "{} is in use by {} threads at once: {}",
            about.name,
            threads.len(),
            threads.join(", ")
        );
        let paths = paths.collect();
        found.push(report::violation(
            "connection-shared",
            message,
            about,
            paths,
        ));
    }
    found
}

/// Returns the scope of the local where a path starts, as file, line and column.
fn scope_of(path: &Path) -> String {
    let root = path.root.as_ref();
    let scope = root.and_then(|root| root.scope.as_deref()).unwrap_or("?");
    scope.rsplit('/').next().unwrap_or_default().into()
}

/// The first step of `Database.insert`. Returns `None` if the connection is in use.
fn get_connection<'a>(
    m: &mut Mutator<'a>,
    name: &str,
    version: &Version,
) -> Option<Local<'a, Connection>> {
    let database = m.static_root::<Database>("database");
    let sources = database.get(m)?.manager.get().sources.get();
    let mut all = sources.iter().filter_map(|slot| slot.get());
    let source = all.find(|source| &**source.name.get() == name)?;
    let source = m.local(source);
    // Figure 1, lines 28 to 31.
    match version {
        Version::Buggy(unlucky) => {
            if m[source].used.get() {
                return None;
            }
            if name == "orders" {
                m.blocked(|| unlucky.wait());
            }
            m[source].used.set(true);
        }
        Version::Corrected(lock) => {
            let _held = m.blocked(|| lock.lock().unwrap());
            if m[source].used.get() {
                return None;
            }
            m[source].used.set(true);
        }
    }
    Some(m.local(m[source].connection.get()))
}

/// Gives a thread its thread object, with the database in it.
fn become_client(m: &mut Mutator<'_>) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let database = m.static_root::<Database>("database");
    let database = m.local(database.get(&m).expect("it is open"));
    let client = m.alloc(ClientInit { database })?;
    m.set_thread_object(Some(&m[client]));
    Ok(())
}

fn open_database(m: &mut Mutator<'_>) -> Result<(), OutOfMemory> {
    let names = ["orders", "catalogue", "customers"];
    let sources = m.alloc_refs::<ConnectionSource>(names.len())?;
    for (i, name) in names.iter().enumerate() {
        let mut m = m.scope();
        let name = m.alloc_str(name)?;
        let connection = m.alloc(ConnectionInit { rows: 0 })?;
        let source = m.alloc(ConnectionSourceInit {
            name,
            used: false,
            connection,
        })?;
        m[sources][i].set(Some(&m[source]));
    }
    let manager = m.alloc(ConnectionManagerInit { sources })?;
    let database = m.alloc(DatabaseInit { manager })?;
    m.static_root("database").set(m, Some(&m[database]));
    Ok(())
}
