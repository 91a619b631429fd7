//! A web server by day and by night: its load goes up and down, and with it the sessions, which
//! expire when they have not been used for a while.

use heaphound::{Header, Local, Managed, Mutator, Ref, Slot, Str, Var};

use super::{Each, Work};
use crate::programs::queue::Queue;
use crate::programs::table::HashTable;
use crate::programs::{Outcome, Random};

#[derive(Managed)]
#[repr(C)]
struct Server {
    header: Header,
    sessions: Ref<HashTable>,
    /// In the order in which they began.
    order: Ref<Queue>,
}

#[derive(Managed)]
#[repr(C)]
struct Session {
    header: Header,
    id: u64,
    used: Var<u64>,
    user: Ref<Str>,
    basket: Slot<Item>,
}

#[derive(Managed)]
#[repr(C)]
struct Item {
    header: Header,
    price: u64,
    name: Ref<Str>,
    next: Slot<Item>,
}

/// Rounds of a day.
const DAY: f64 = 100.0;
/// Rounds after which a session that is not used expires.
const EXPIRES: u64 = 8;
/// New sessions of a round, on average.
const ARRIVE: f64 = 25.0;
/// Requests for each of them.
const REQUESTS: usize = 6;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let sessions = HashTable::new(&mut m);
    let order = Queue::new(&mut m);
    let server = m.alloc(ServerInit { sessions, order }).expect("room");
    m.static_root::<Server>("server").set(&m, Some(&m[server]));
    let mut site = Site {
        server,
        random: Random::new(81),
        now: 0,
        next: 0,
        outcome: Outcome::default(),
    };
    for _ in 0..work.rounds {
        site.round(&mut m, work.scale as f64);
        each(&mut m);
    }
    site.outcome
}

struct Site<'a> {
    server: Local<'a, Server>,
    random: Random,
    now: u64,
    next: u64,
    outcome: Outcome,
}

impl Site<'_> {
    fn round(&mut self, m: &mut Mutator<'_>, scale: f64) {
        self.now += 1;
        let day = self.now as f64 / DAY * std::f64::consts::TAU;
        let load = ARRIVE * scale * (1.0 - 0.8 * day.cos());
        for _ in 0..load as u64 {
            self.begin(&mut m.scope());
        }
        let count = m[self.server].sessions.get().len();
        for _ in 0..(load as usize * REQUESTS).min(count * 2) {
            self.request(&mut m.scope());
        }
        self.expire(m);
    }

    fn begin(&mut self, m: &mut Mutator<'_>) {
        let user = format!("user {}", self.random.below(100_000));
        let user = m.alloc_str(&user).expect("room");
        let session = m.alloc(SessionInit {
            id: self.next,
            used: self.now,
            user,
            basket: None,
        });
        let session = session.expect("room");
        self.next += 1;
        let sessions = m.local(m[self.server].sessions.get());
        HashTable::insert(m, sessions, m[session].id, session);
        let order = m.local(m[self.server].order.get());
        Queue::push(m, order, session);
    }

    fn request(&mut self, m: &mut Mutator<'_>) {
        let back = self.random.skewed(self.next.max(1));
        let id = self.next.saturating_sub(1 + back);
        let page = m.alloc_str(&format!("<p>page {id}</p>").repeat(4));
        let length = m[page.expect("room")].len() as u64;
        self.outcome.note(length);
        let Some(session) = m[self.server].sessions.get().get::<Session>(id) else {
            return;
        };
        let session = m.local(session);
        m[session].used.set(self.now);
        if self.random.below(3) == 0 {
            let price = self.random.below(500);
            let name = m.alloc_str(&format!("thing {price}")).expect("room");
            let next = m[session].basket.get().map(|it| m.local(it));
            let item = m.alloc(ItemInit { price, name, next }).expect("room");
            m[session].basket.set(Some(&m[item]));
        }
    }

    /// Looks at each session once, those that are still used last.
    fn expire(&mut self, m: &mut Mutator<'_>) {
        for _ in 0..m[self.server].order.get().len() {
            let mut m = m.scope();
            let server = &m[self.server];
            let session: &Session = server.order.get().pop().expect("counted");
            if session.used.get() + EXPIRES < self.now {
                assert!(server.sessions.get().remove(session.id), "it is known");
                continue;
            }
            let session = m.local(session);
            let order = m.local(m[self.server].order.get());
            Queue::push(&mut m, order, session);
        }
    }
}
