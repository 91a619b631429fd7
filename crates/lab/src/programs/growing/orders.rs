//! The order processing system of figure 5.2.
//!
//! A new order is put into `allOrders` and into the queue of new ones. Orders of companies are
//! billed, and leave the table when the bill is paid; those of people are paid at once and should
//! leave it then. Slots have the names of the figure.
#![allow(non_snake_case)]

use heaphound::{Header, Local, Managed, Mutator, Object, Ref, Str, Var};

use super::{Each, Work};
use crate::programs::queue::Queue;
use crate::programs::table::HashTable;
use crate::programs::{Outcome, Random};

#[derive(Managed)]
#[repr(C)]
struct OrderSystem {
    header: Header,
    allOrders: Ref<HashTable>,
    newOrders: Ref<Queue>,
    billing: Ref<Queue>,
}

#[derive(Managed)]
#[repr(C)]
struct Order {
    header: Header,
    id: u64,
    filled: Var<u64>,
    customer: Ref<Object>,
    goods: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Company {
    header: Header,
    tax_number: u64,
    name: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Person {
    header: Header,
    card: u64,
    name: Ref<Str>,
}

/// Orders of a round.
const ARRIVE: usize = 150;
/// One of this many orders is of a person.
const PEOPLE: u64 = 4;
/// Bills that are open, more or less.
const OPEN: usize = 300;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work, each: Each<'_>) -> Outcome {
    let mut m = m.scope();
    let mut office = Office {
        system: open(&mut m),
        work: *work,
        random: Random::new(11),
        next: 0,
        outcome: Outcome::default(),
    };
    for _ in 0..work.rounds {
        office.round(&mut m);
        each(&mut m);
    }
    office.outcome
}

fn open<'a>(m: &mut Mutator<'a>) -> Local<'a, OrderSystem> {
    let init = OrderSystemInit {
        allOrders: HashTable::new(m),
        newOrders: Queue::new(m),
        billing: Queue::new(m),
    };
    let system = m.alloc(init).expect("room");
    m.static_root::<OrderSystem>("system")
        .set(m, Some(&m[system]));
    system
}

struct Office<'a> {
    system: Local<'a, OrderSystem>,
    work: Work,
    random: Random,
    next: u64,
    outcome: Outcome,
}

impl Office<'_> {
    fn round(&mut self, m: &mut Mutator<'_>) {
        for _ in 0..ARRIVE * self.work.scale {
            self.new_order(&mut m.scope());
        }
        // Now and then some are left for the next round.
        let left = self.random.index(ARRIVE * self.work.scale / 2);
        while m[self.system].newOrders.get().len() > left {
            self.process_order(&mut m.scope());
        }
        let open = OPEN * self.work.scale / 2 + self.random.index(OPEN * self.work.scale);
        while m[self.system].billing.get().len() > open {
            self.process_bill(m);
        }
    }

    fn new_order(&mut self, m: &mut Mutator<'_>) {
        let number = self.random.below(100_000);
        let name = m.alloc_str(&format!("customer {number}")).expect("room");
        let customer = match self.random.below(PEOPLE) {
            0 => {
                let person = m.alloc(PersonInit { card: number, name });
                person.expect("room").upcast(m)
            }
            _ => {
                let tax_number = number;
                let company = m.alloc(CompanyInit { tax_number, name });
                company.expect("room").upcast(m)
            }
        };
        let goods = format!("{} of {}", 1 + number % 9, number % 1_000);
        let goods = m.alloc_str(&goods).expect("room");
        let order = m.alloc(OrderInit {
            id: self.next,
            filled: 0,
            customer,
            goods,
        });
        let order = order.expect("room");
        self.next += 1;
        let table = m.local(m[self.system].allOrders.get());
        HashTable::insert(m, table, m[order].id, order);
        let queue = m.local(m[self.system].newOrders.get());
        Queue::push(m, queue, order);
    }

    fn process_order(&mut self, m: &mut Mutator<'_>) {
        let order: &Order = m[self.system].newOrders.get().pop().expect("it waits");
        order.filled.set(1 + self.random.below(9));
        self.outcome.note(order.id);
        if order.customer.get().downcast::<Company>().is_some() {
            let order = m.local(order);
            let billing = m.local(m[self.system].billing.get());
            Queue::push(m, billing, order);
        } else if !self.work.leak {
            m[self.system].allOrders.get().remove(order.id);
        }
    }

    fn process_bill(&mut self, m: &Mutator<'_>) {
        let system = &m[self.system];
        let order: &Order = system.billing.get().pop().expect("it is open");
        assert!(system.allOrders.get().remove(order.id), "it is known");
        self.outcome.note(order.id ^ order.filled.get());
    }
}
