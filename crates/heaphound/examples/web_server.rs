//! Confinement: figure 3 of the PHALANX paper.
//!
//! A server thread accepts connections and starts a thread for each. It needs no locks as long as
//! two rules hold:
//! - a socket belongs to its request thread alone: `dom(this, socket)`;
//! - the set of clients belongs to the server's stack: `pred(clients).size() == 0`.
//!
//! Each thread asks whether its rule holds at the moment when it depends on it. Three ways to break
//! the rules follow; each is one line.

use std::error::Error;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, Scope};

use heaphound::finding::Finding;
use heaphound::path::{Origin, Search, named};
use heaphound::root::RootSet;
use heaphound::{
    Collector, Header, Heap, Local, Managed, Mutator, OutOfMemory, ProbeError, Ref, RefArray, Root,
    Slot, Str, Var, root::Part,
};

mod report;

#[derive(Managed)]
#[repr(C)]
struct Socket {
    header: Header,
    address: Ref<Str>,
    answered: Var<bool>,
}

/// The object that stands for a request thread.
#[derive(Managed)]
#[repr(C)]
struct RequestThread {
    header: Header,
    socket: Ref<Socket>,
}

#[derive(Managed)]
#[repr(C)]
struct ClientSet {
    header: Header,
    addresses: Ref<RefArray<Str>>,
    len: Var<u32>,
}

/// The clients that come too often.
#[derive(Managed)]
#[repr(C)]
struct Suspicions {
    header: Header,
    evidence: Slot<ClientSet>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    Correct,
    /// The server does not set its local to null before the thread starts.
    ForgetsItsLocal,
    /// The server has a list of open sockets.
    KeepsARegistry,
    /// `suspicious` stores the set, which it should only read.
    StoresTheClients,
}

/// The findings, or another error.
pub(crate) type Findings = Result<Vec<Finding>, Box<dyn Error + Send + Sync>>;

/// The requests, by the address that each comes from.
const REQUESTS: [&str; 4] = ["10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.3"];

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    for (version, title, expected) in [
        (Version::Correct, "The server as it should be:", 0),
        (
            Version::ForgetsItsLocal,
            "One that forgets to let go of the sockets it hands on:",
            3,
        ),
        (
            Version::KeepsARegistry,
            "One that registers open sockets:",
            3,
        ),
        (
            Version::StoresTheClients,
            "One whose `suspicious` keeps what it was shown:",
            1,
        ),
    ] {
        println!("{title}");
        let found = run(Collector::default(), version)?;
        report::print(&found);
        println!();
        if found.len() != expected {
            return Err(format!("{expected} findings were expected").into());
        }
    }
    Ok(())
}

/// Serves all requests. Returns the rules that were broken, in the order of requests.
pub(crate) fn run(collector: Collector, version: Version) -> Findings {
    let heap = Heap::builder()
        .max_bytes(16 << 20)
        .collector(collector)
        .build()?;
    let (network, accept) = mpsc::channel();
    thread::scope(|threads| {
        let heap = &heap;
        let server = threads.spawn(move || serve(heap, threads, &accept, version));
        for request in REQUESTS {
            network.send(request)?;
        }
        drop(network);
        server.join().expect("the server does not panic")
    })
}

/// `SimpleWebServer.run`.
fn serve<'t>(
    heap: &'t Heap,
    threads: &'t Scope<'t, '_>,
    accept: &Receiver<&str>,
    version: Version,
) -> Findings {
    let mut m = heap.attach("server")?;
    let clients = new_client_set(&mut m)?;
    let registry = m.alloc_refs::<Socket>(REQUESTS.len())?;
    m.static_root("open sockets").set(&m, Some(&m[registry]));
    let mut found = Vec::new();
    let mut requests = Vec::new();
    while let Ok(address) = m.blocked(|| accept.recv()) {
        found.extend(check_clients(&mut m, clients)?);
        if contains(&m[clients], address) && is_suspicious(&mut m, clients, version)? {
            continue;
        }
        let number = requests.len();
        let thread = {
            let mut m = m.scope();
            let address = m.alloc_str(address)?;
            let socket = m.alloc(SocketInit {
                address,
                answered: false,
            })?;
            add(&m[clients], &m[address]);
            if version == Version::KeepsARegistry {
                m[registry][number].set(Some(&m[socket]));
            }
            let thread = m.alloc(RequestThreadInit { socket })?;
            m.root(&m[thread])
            // The scope ends here, and with it the server's reference to the socket.
        };
        if version == Version::ForgetsItsLocal {
            m.local(m[&thread].socket.get());
        }
        requests.push(threads.spawn(move || answer(heap, number, thread)));
    }
    // The server's locals do not change meanwhile.
    for request in requests {
        found.extend(m.blocked(|| request.join().expect("no request panics"))?);
    }
    Ok(found)
}

/// `RequestThread.run`.
fn answer(heap: &Heap, number: usize, thread: Root<RequestThread>) -> Findings {
    let mut m = heap.attach(format!("request-{}", number + 1))?;
    m.set_thread_object(Some(&m[&thread]));
    let socket = m.local(m[&thread].socket.get());
    drop(thread);
    // assert dom(this, socket)
    let found = match m.is_thread_object_owned(socket)? {
        true => Vec::new(),
        false => m.ask(|heap| {
            let view = heap.view();
            let asker = heap.asker().ok_or(ProbeError::NobodyAsks)?;
            let (this, socket) = (heap.thread_object(asker)?, heap.id(socket)?);
            let about = named(view, socket);
            let path = heap.bypass(this, socket).map(|path| path.describe(view));
            let label = |path| ("somebody else has it".to_string(), path);
            let message = format!("{} is not `{asker}`'s alone", about.name);
            let paths = path.into_iter().map(label).collect();
            let finding = report::violation("socket-escapes", message, about, paths);
            Ok::<_, ProbeError>(vec![finding])
        })?,
    };
    m[socket].answered.set(true);
    Ok(found)
}

/// assert pred(clients).size() == 0
fn check_clients(m: &mut Mutator<'_>, clients: Local<'_, ClientSet>) -> Findings {
    if m.pred_count(clients)? == 0 {
        return Ok(Vec::new());
    }
    m.ask(|heap| {
        let (view, clients) = (heap.view(), heap.id(clients)?);
        let about = named(view, clients);
        let asker = heap.asker().ok_or(ProbeError::NobodyAsks)?;
        let search = Search {
            from: Origin::Roots(RootSet::AllBut(asker, Part::Stack)),
            avoid: &[],
        };
        let path = heap.path(&search, clients).map(|it| it.describe(view));
        let label = |path| ("an object refers to it".to_string(), path);
        let message = format!("{} has left the server's stack", about.name);
        let paths = path.into_iter().map(label).collect();
        Ok(vec![report::violation(
            "clients-escape",
            message,
            about,
            paths,
        )])
    })
}

/// Returns whether a client that comes again should be refused.
fn is_suspicious(
    m: &mut Mutator<'_>,
    clients: Local<'_, ClientSet>,
    version: Version,
) -> Result<bool, OutOfMemory> {
    if version == Version::StoresTheClients {
        let mut m = m.scope();
        let evidence = Some(clients);
        let suspicions = m.alloc(SuspicionsInit { evidence })?;
        m.static_root("suspicions").set(&m, Some(&m[suspicions]));
    }
    Ok(true)
}

fn new_client_set<'a>(m: &mut Mutator<'a>) -> Result<Local<'a, ClientSet>, OutOfMemory> {
    m.scoped(|m| {
        let addresses = m.alloc_refs::<Str>(REQUESTS.len())?;
        m.alloc(ClientSetInit { addresses, len: 0 })
    })
}

fn contains(clients: &ClientSet, address: &str) -> bool {
    let known = clients.addresses.get();
    let mut known = known.iter().filter_map(|slot| slot.get());
    known.any(|it| &**it == address)
}

fn add(clients: &ClientSet, address: &Str) {
    clients.addresses.get()[clients.len.get() as usize].set(Some(address));
    clients.len.update(|len| len + 1);
}
