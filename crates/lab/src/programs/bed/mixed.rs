//! Programs made by dice: many containers of the same few classes, each with a habit of its own.
//!
//! A shop has maps, lists and queues of records, and tenants that have some more of each. Some
//! containers stay as they are, in others records are replaced at random, some are filled and emptied. At most two leak.
//! So the volume of each class goes up and down, and only containers tell what grows.

use heaphound::{Local, Managed, Mutator, Object, Ref, RefArray, Str, Var};

use super::{Blamed, Each, Record, longer, publish, record, text, write_and_forget};
use crate::programs::Random;
use crate::programs::queue::Queue;
use crate::programs::table::HashTable;

/// A program made by dice.
pub struct Mixed {
    /// What is to blame.
    pub blamed: Vec<Blamed>,
    seed: u64,
    rounds: u64,
    habits: Vec<Habit>,
}

/// What happens to a container in each round.
#[derive(Clone, Copy, Debug)]
enum Habit {
    /// Nothing: it keeps what it was filled with.
    Stays { records: u64 },
    /// Some of its records are replaced, chosen at random.
    Replaces { records: u64, each: u64 },
    /// As many come as go, about.
    Jitters { records: u64, by: u64 },
    /// It is filled, and emptied after this number of rounds.
    Empties { each: u64, after: u64 },
    /// It is filled in the first rounds, and then full.
    Fills { each: u64, rounds: u64 },
    /// Much comes in one round, and stays.
    Jumps { records: u64, at: u64 },
    /// It grows.
    Leaks { records: u64, each: u64 },
}

class!(Shop {
    catalogue: Ref<HashTable>,
    customers: Ref<HashTable>,
    sessions: Ref<HashTable>,
    log: Ref<List>,
    recent: Ref<List>,
    mail: Ref<Queue>,
    jobs: Ref<Queue>,
    tenants: Ref<List>,
});
class!(Tenant { number: u64, data: Ref<HashTable>, notes: Ref<List>, inbox: Ref<Queue> });
class!(List { count: Var<u64>, items: Ref<RefArray<Object>> });
class!(Product { price: u64, name: Ref<Str>, maker: Ref<Record> });

/// The containers of the shop, then those of each tenant.
const OWN: [(&str, &str); 7] = [
    ("catalogue", "HashTable"),
    ("customers", "HashTable"),
    ("sessions", "HashTable"),
    ("log", "List"),
    ("recent", "List"),
    ("mail", "Queue"),
    ("jobs", "Queue"),
];
const OF_TENANT: [(&str, &str); 3] = [("data", "HashTable"), ("notes", "List"), ("inbox", "Queue")];
const TENANTS: usize = 3;

impl Mixed {
    /// Returns a program that leaks in at most `leaks` containers and runs for `rounds` rounds.
    pub fn new(seed: u64, leaks: usize, rounds: u64) -> Self {
        let mut dice = Random::new(seed + 1);
        for _ in 0..8 {
            dice.below(2);
        }
        let count = OWN.len() + TENANTS * OF_TENANT.len();
        let mut habits: Vec<Habit> = (0..count).map(|_| Habit::harmless(&mut dice)).collect();
        let mut blamed = Vec::new();
        for _ in 0..leaks {
            let at = dice.index(count);
            if !blamed.is_empty() && (at >= OWN.len() || matches!(habits[at], Habit::Leaks { .. }))
            {
                continue;
            }
            let records = [0, 100, 400][dice.index(3)];
            let each = 30 + dice.below(60);
            habits[at] = Habit::Leaks { records, each };
            blamed.push(match at.checked_sub(OWN.len()) {
                None => blame("Shop", OWN[at], None),
                Some(it) => {
                    let tenant = (it / OF_TENANT.len()) as u32;
                    blame("Tenant", OF_TENANT[it % OF_TENANT.len()], Some(tenant))
                }
            });
        }
        Self {
            blamed,
            seed,
            rounds,
            habits,
        }
    }

    /// Runs it.
    pub fn run(&self, m: &mut Mutator<'_>, each: Each<'_>) {
        let mut m = m.scope();
        let shop = m.scoped(|m| {
            let tenants = List::new(m);
            for number in 0..TENANTS {
                let mut m = m.scope();
                let init = TenantInit {
                    number: number as u64,
                    data: HashTable::new(&mut m),
                    notes: List::new(&mut m),
                    inbox: Queue::new(&mut m),
                };
                let tenant = m.alloc(init)?;
                List::push(&mut m, tenants, tenant);
            }
            let init = ShopInit {
                catalogue: HashTable::new(m),
                customers: HashTable::new(m),
                sessions: HashTable::new(m),
                log: List::new(m),
                recent: List::new(m),
                mail: Queue::new(m),
                jobs: Queue::new(m),
                tenants,
            };
            m.alloc(init)
        });
        let shop = shop.expect("room");
        publish(&m, "shop", shop);
        let mut dice = Random::new(self.seed + 77);
        // The keys that are in each map, or how many keys there were.
        let mut keys: Vec<Keys> = self.habits.iter().map(|_| Keys::default()).collect();
        for (at, habit) in self.habits.iter().enumerate() {
            let mut m = m.scope();
            let container = Container::of(&mut m, shop, at);
            for _ in 0..habit.first() {
                container.add(&mut m, &mut keys[at]);
            }
        }
        for round in 0..self.rounds {
            for (at, habit) in self.habits.iter().enumerate() {
                let mut m = m.scope();
                let container = Container::of(&mut m, shop, at);
                habit.work(&mut m, container, &mut keys[at], round, &mut dice);
            }
            write_and_forget(&mut m, 400);
            each(&mut m);
        }
    }
}

fn blame(
    from: &'static str,
    (slot, to): (&'static str, &'static str),
    element: Option<u32>,
) -> Blamed {
    Blamed {
        from,
        slot,
        to,
        element,
    }
}

impl Habit {
    fn harmless(dice: &mut Random) -> Self {
        let records = 50 + dice.below(800);
        match dice.below(10) {
            0 => Self::Stays { records },
            1..=4 => Self::Replaces {
                records,
                each: 10 + dice.below(100),
            },
            5..=6 => Self::Jitters {
                records,
                by: 10 + dice.below(60),
            },
            7 => Self::Empties {
                each: 10 + dice.below(40),
                after: 3 + dice.below(4),
            },
            8 => Self::Fills {
                each: 20 + dice.below(100),
                rounds: 2 + dice.below(3),
            },
            _ => Self::Jumps {
                records,
                at: 6 + dice.below(12),
            },
        }
    }

    /// Returns how many records there are at first.
    fn first(self) -> u64 {
        match self {
            Self::Stays { records }
            | Self::Replaces { records, .. }
            | Self::Jitters { records, .. }
            | Self::Leaks { records, .. } => records,
            Self::Empties { .. } | Self::Fills { .. } | Self::Jumps { .. } => 0,
        }
    }

    fn work(
        self,
        m: &mut Mutator<'_>,
        container: Container<'_>,
        keys: &mut Keys,
        round: u64,
        dice: &mut Random,
    ) {
        let add = |m: &mut Mutator<'_>, keys: &mut Keys, count: u64| {
            for _ in 0..count {
                container.add(m, keys);
            }
        };
        match self {
            Self::Stays { .. } => {}
            Self::Replaces { each, .. } => {
                for _ in 0..each {
                    container.replace(m, keys, dice);
                }
            }
            Self::Jitters { records, by } => {
                let wanted = records + dice.below(by);
                add(m, keys, by);
                while container.len(m) > wanted {
                    container.take(m, keys);
                }
            }
            Self::Empties { each, after } => {
                if round % after == after - 1 {
                    while container.len(m) > 0 {
                        container.take(m, keys);
                    }
                }
                add(m, keys, each);
            }
            Self::Fills { each, rounds } if round < rounds => add(m, keys, each),
            Self::Fills { .. } => {}
            Self::Jumps { records, at } if round == at => add(m, keys, records),
            Self::Jumps { .. } => {}
            Self::Leaks { each, .. } => add(m, keys, each),
        }
    }
}

/// The keys of a map: all from the first to the next.
#[derive(Default)]
struct Keys {
    first: u64,
    next: u64,
}

#[derive(Clone, Copy)]
enum Container<'m> {
    Map(Local<'m, HashTable>),
    List(Local<'m, List>),
    Queue(Local<'m, Queue>),
}

impl<'m> Container<'m> {
    fn of(m: &mut Mutator<'m>, shop: Local<'_, Shop>, at: usize) -> Self {
        match at {
            0 => Self::Map(m.local(m[shop].catalogue.get())),
            1 => Self::Map(m.local(m[shop].customers.get())),
            2 => Self::Map(m.local(m[shop].sessions.get())),
            3 => Self::List(m.local(m[shop].log.get())),
            4 => Self::List(m.local(m[shop].recent.get())),
            5 => Self::Queue(m.local(m[shop].mail.get())),
            6 => Self::Queue(m.local(m[shop].jobs.get())),
            _ => {
                let at = at - OWN.len();
                let tenant = m[shop].tenants.get().items.get()[at / OF_TENANT.len()].get();
                let tenant = tenant.and_then(|it| it.downcast::<Tenant>());
                let tenant = m.local(tenant.expect("it is there"));
                match at % OF_TENANT.len() {
                    0 => Self::Map(m.local(m[tenant].data.get())),
                    1 => Self::List(m.local(m[tenant].notes.get())),
                    _ => Self::Queue(m.local(m[tenant].inbox.get())),
                }
            }
        }
    }

    fn len(self, m: &Mutator<'_>) -> u64 {
        match self {
            Self::Map(map) => m[map].len() as u64,
            Self::List(list) => m[list].count.get(),
            Self::Queue(queue) => m[queue].len() as u64,
        }
    }

    fn add(self, m: &mut Mutator<'_>, keys: &mut Keys) {
        let mut m = m.scope();
        let key = keys.next;
        keys.next += 1;
        let value = product(&mut m, key);
        match self {
            Self::Map(map) => HashTable::insert(&mut m, map, key, value),
            Self::List(list) => List::push(&mut m, list, value),
            Self::Queue(queue) => Queue::push(&mut m, queue, value),
        }
    }

    /// Takes the oldest out, of a list the latest.
    fn take(self, m: &mut Mutator<'_>, keys: &mut Keys) {
        match self {
            Self::Map(map) => {
                m[map].remove(keys.first);
                keys.first += 1;
            }
            Self::List(list) => m[list].pop(),
            Self::Queue(queue) => {
                m[queue].pop::<Product>();
            }
        }
    }

    fn replace(self, m: &mut Mutator<'_>, keys: &mut Keys, dice: &mut Random) {
        let mut m = m.scope();
        match self {
            Self::Map(map) => {
                let key = keys.first + dice.below(keys.next - keys.first);
                m[map].remove(key);
                let value = product(&mut m, key);
                HashTable::insert(&mut m, map, key, value);
            }
            Self::List(list) => {
                let value = product(&mut m, 0);
                let value = value.upcast(&m);
                let at = dice.index(m[list].count.get() as usize);
                m[list].items.get()[at].set(Some(&m[value]));
            }
            Self::Queue(queue) => {
                m[queue].pop::<Product>();
                let value = product(&mut m, 0);
                Queue::push(&mut m, queue, value);
            }
        }
    }
}

fn product<'a>(m: &mut Mutator<'a>, key: u64) -> Local<'a, Product> {
    m.scoped(|m| {
        // Names are of different lengths, so that what is replaced has another volume.
        let name = text(m, 8 + (key.wrapping_mul(0x9e37_79b9) >> 7) as usize % 40);
        let maker = record(m, key);
        m.alloc(ProductInit {
            price: key,
            name,
            maker,
        })
    })
    .expect("room")
}

impl List {
    fn new<'a>(m: &mut Mutator<'a>) -> Local<'a, Self> {
        m.scoped(|m| {
            let items = m.alloc_refs::<Object>(16)?;
            m.alloc(ListInit { count: 0, items })
        })
        .expect("room")
    }

    fn push<T: Managed>(m: &mut Mutator<'_>, list: Local<'_, Self>, value: Local<'_, T>) {
        let mut m = m.scope();
        let value = value.upcast(&m);
        let count = m[list].count.get() as usize;
        let items = m.local(m[list].items.get());
        if count == m[items].len() {
            let more = longer(&mut m, items, 2 * count);
            m[list].items.set(&m[more]);
        }
        m[list].items.get()[count].set(Some(&m[value]));
        m[list].count.set(count as u64 + 1);
    }

    fn pop(&self) {
        let last = self.count.get() - 1;
        self.items.get()[last as usize].clear();
        self.count.set(last);
    }
}
