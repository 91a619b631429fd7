//! A wholesale company after SPEC JBB2000: warehouses with districts, whose orders are kept in
//! B-trees, and the transactions of its terminals.
//!
//! The order table of a district owns its orders. Delivering an order removes it from the
//! table and destroys it; a destroyed object is asserted dead. There is one company at a time.

use heaphound::{Header, Local, Managed, Mutator, Object, Ref, RefArray, Slot, Str, Var};

use super::btree::LongBTree;
use super::{Outcome, Random, Size};

/// What is wrong with it (*GC assertions*, 3.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// A customer goes on referring to his last order when it is destroyed.
    LastOrder,
    /// A local goes on referring to the company of the run before.
    OldCompany,
    /// Delivered orders are not removed from the order table.
    OrderTable,
}

/// How large the company is, and what happens in it.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Companies, one after another.
    pub companies: usize,
    /// Warehouses of a company: its scale.
    pub warehouses: usize,
    /// Customers of a district.
    pub customers: usize,
    /// Things that can be ordered.
    pub items: usize,
    /// Transactions for each company.
    pub transactions: usize,
    /// After this many transactions an order table is emptied and destroyed.
    pub clear_every: Option<usize>,
    /// What it asserts.
    pub assertions: Assertions,
    /// What is wrong.
    pub bug: Option<Bug>,
}

/// What a company asserts. If anything, then also that it is the only one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assertions {
    /// What is destroyed is dead.
    pub destroyed: bool,
    /// Order tables own their orders.
    pub owned: bool,
}

impl Assertions {
    /// None.
    pub const NONE: Self = Self {
        destroyed: false,
        owned: false,
    };
    /// Those whose cost the paper gives: one of instances, and one of ownership for each order.
    pub const MEASURED: Self = Self {
        destroyed: false,
        owned: true,
    };
    /// What is destroyed is dead.
    pub const DESTROYED: Self = Self {
        destroyed: true,
        owned: false,
    };
    /// All.
    pub const ALL: Self = Self {
        destroyed: true,
        owned: true,
    };
}

impl Options {
    /// With all assertions.
    pub fn of(size: Size, bug: Option<Bug>) -> Self {
        let small = Self {
            companies: 3,
            warehouses: 2,
            customers: 10,
            items: 50,
            transactions: 3_000,
            clear_every: None,
            assertions: Assertions::ALL,
            bug,
        };
        match size {
            Size::Small => small,
            Size::Large => Self {
                companies: 2,
                warehouses: 5,
                customers: 320,
                items: 3_000,
                transactions: 220_000,
                ..small
            },
        }
    }
}

/// Districts of a warehouse.
const DISTRICTS: usize = 10;
/// Orders of a district that wait to be delivered.
const WAITING: u64 = 20;
/// The status of an order that has left its table.
pub(crate) const REMOVED: u32 = 2;
/// Payments that a district remembers.
const PAYMENTS: usize = 100;

#[derive(Managed)]
#[repr(C)]
struct Company {
    header: Header,
    name: Ref<Str>,
    items: Ref<RefArray<Item>>,
    warehouses: Ref<RefArray<Warehouse>>,
}

#[derive(Managed)]
#[repr(C)]
struct Warehouse {
    header: Header,
    address: Ref<Address>,
    stock: Ref<RefArray<Stock>>,
    districts: Ref<RefArray<District>>,
}

#[derive(Managed)]
#[repr(C)]
struct District {
    header: Header,
    next_order: Var<u64>,
    next_delivery: Var<u64>,
    address: Ref<Address>,
    order_table: Ref<LongBTree>,
    new_order_table: Ref<LongBTree>,
    customers: Ref<RefArray<Customer>>,
    history: Ref<HistoryTable>,
}

#[derive(Managed)]
#[repr(C)]
struct Customer {
    header: Header,
    balance: Var<u64>,
    name: Ref<PersonName>,
    address: Ref<Address>,
    phone: Ref<Phone>,
    credit: Ref<Credit>,
    last_order: Slot<Order>,
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
    zip: u64,
    street: Ref<Str>,
    city: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Phone {
    header: Header,
    number: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Credit {
    header: Header,
    limit: u64,
    discount: u64,
}

#[derive(Managed)]
#[repr(C)]
struct Order {
    header: Header,
    id: u64,
    customer: Ref<Customer>,
    lines: Ref<RefArray<OrderLine>>,
    carrier: Slot<Carrier>,
    status: Var<u32>,
}

#[derive(Managed)]
#[repr(C)]
struct OrderLine {
    header: Header,
    quantity: u64,
    item: Ref<Item>,
}

#[derive(Managed)]
#[repr(C)]
struct Carrier {
    header: Header,
    id: u64,
}

/// An order that is not delivered yet.
#[derive(Managed)]
#[repr(C)]
struct NewOrder {
    header: Header,
    order: Ref<Order>,
}

/// The latest payments, in turn.
#[derive(Managed)]
#[repr(C)]
struct HistoryTable {
    header: Header,
    next: Var<u64>,
    entries: Ref<RefArray<History>>,
}

#[derive(Managed)]
#[repr(C)]
struct History {
    header: Header,
    amount: u64,
    customer: Ref<Customer>,
    text: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Item {
    header: Header,
    price: u64,
    name: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Stock {
    header: Header,
    quantity: Var<u64>,
    item: Ref<Item>,
    info: Ref<Str>,
}

/// Runs a company after another.
pub fn run(m: &mut Mutator<'_>, options: &Options) -> Outcome {
    run_and_tell(m, options, &mut |_| {})
}

/// Runs a company after another, and calls `cleared` whenever an order table was destroyed.
pub(crate) fn run_and_tell(
    m: &mut Mutator<'_>,
    options: &Options,
    cleared: &mut dyn FnMut(&mut Mutator<'_>),
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut random = Random::new(1);
    if options.assertions != Assertions::NONE {
        m.assert_instances::<Company>(1);
    }
    let none = m.alloc_str("no company").expect("room");
    let none = none.upcast(m);
    let old_company = m.local(&m[none]);
    for number in 0..options.companies {
        if options.assertions.destroyed && number > 0 {
            m.assert_dead(old_company);
        }
        if options.bug != Some(Bug::OldCompany) {
            m.set_local(old_company, &m[none]);
        }
        let mut m = m.scope();
        let company = found(&mut m, options, &mut random);
        let mut terminal = Terminal {
            options,
            company,
            random: Random::new(2),
        };
        for number in 1..=options.transactions {
            let done = terminal.transact(&mut m);
            outcome.note(done);
            if options.clear_every.is_some_and(|every| number % every == 0) {
                outcome.note(terminal.clear(&mut m));
                cleared(&mut m);
            }
        }
        m.set_local(old_company, m[company].as_object());
    }
    outcome
}

/// Runs one company, and calls `each` after each `per_round` transactions.
pub(crate) fn run_in_rounds(
    m: &mut Mutator<'_>,
    options: &Options,
    per_round: usize,
    each: &mut dyn FnMut(&mut Mutator<'_>),
) -> Outcome {
    let mut m = m.scope();
    let mut outcome = Outcome::default();
    let company = found(&mut m, options, &mut Random::new(1));
    m.static_root::<Company>("company")
        .set(&m, Some(&m[company]));
    let mut terminal = Terminal {
        options,
        company,
        random: Random::new(2),
    };
    for number in 1..=options.transactions {
        outcome.note(terminal.transact(&mut m));
        if number % per_round == 0 {
            each(&mut m);
        }
    }
    outcome
}

/// Founds a company that stays, in the static `company`, and asserts nothing. Returns a hundred
/// of its customers.
pub(crate) fn settle<'a>(m: &mut Mutator<'a>, options: &Options) -> Vec<Local<'a, Object>> {
    let options = &Options {
        assertions: Assertions::NONE,
        ..*options
    };
    let chosen = m.alloc_refs::<Customer>(100).expect("room");
    {
        let mut m = m.scope();
        let mut random = Random::new(1);
        let company = found(&mut m, options, &mut random);
        m.static_root::<Company>("company")
            .set(&m, Some(&m[company]));
        let mut terminal = Terminal {
            options,
            company,
            random,
        };
        for _ in 0..1000 * options.warehouses {
            terminal.transact(&mut m);
        }
        let warehouses = m[company].warehouses.get();
        for number in 0..100 {
            let (warehouse, rest) = (number % warehouses.len(), number / warehouses.len());
            let warehouse = warehouses[warehouse].get().expect("all are there");
            let district = warehouse.districts.get()[rest % DISTRICTS].get();
            let customers = district.expect("all are there").customers.get();
            m[chosen][number].set(customers[rest / DISTRICTS].get());
        }
    }
    let mut customers = Vec::new();
    for slot in 0..100 {
        let customer = m[chosen][slot].get().expect("just set");
        customers.push(m.local(customer).upcast(m));
    }
    customers
}

fn text<'a>(m: &mut Mutator<'a>, lead: &str, random: &mut Random) -> Local<'a, Str> {
    let number = random.below(100_000);
    m.alloc_str(&format!("{lead} {number}")).expect("room")
}

fn address<'a>(m: &mut Mutator<'a>, random: &mut Random) -> Local<'a, Address> {
    m.scoped(|m| {
        let street = text(m, "street", random);
        let city = text(m, "city", random);
        let zip = random.below(100_000);
        m.alloc(AddressInit { zip, street, city })
    })
    .expect("room")
}

fn found<'a>(m: &mut Mutator<'a>, options: &Options, random: &mut Random) -> Local<'a, Company> {
    m.scoped(|m| {
        let name = text(m, "company", random);
        let items = m.alloc_refs::<Item>(options.items)?;
        for number in 0..options.items {
            let mut m = m.scope();
            let name = text(&mut m, "item", random);
            let price = 1 + random.below(100);
            let item = m.alloc(ItemInit { price, name })?;
            m[items][number].set(Some(&m[item]));
        }
        let warehouses = m.alloc_refs::<Warehouse>(options.warehouses)?;
        for number in 0..options.warehouses {
            let mut m = m.scope();
            let warehouse = warehouse(&mut m, options, items, random);
            m[warehouses][number].set(Some(&m[warehouse]));
        }
        m.alloc(CompanyInit {
            name,
            items,
            warehouses,
        })
    })
    .expect("room")
}

fn warehouse<'a>(
    m: &mut Mutator<'a>,
    options: &Options,
    items: Local<'_, RefArray<Item>>,
    random: &mut Random,
) -> Local<'a, Warehouse> {
    m.scoped(|m| {
        let address = address(m, random);
        let stock = m.alloc_refs::<Stock>(options.items)?;
        for number in 0..options.items {
            let mut m = m.scope();
            let info = text(&mut m, "shelf", random);
            let item = m.local(m[items][number].get().expect("made before"));
            let stocked = m.alloc(StockInit {
                quantity: 100,
                item,
                info,
            })?;
            m[stock][number].set(Some(&m[stocked]));
        }
        let districts = m.alloc_refs::<District>(DISTRICTS)?;
        for number in 0..DISTRICTS {
            let mut m = m.scope();
            let district = district(&mut m, options, random);
            m[districts][number].set(Some(&m[district]));
        }
        m.alloc(WarehouseInit {
            address,
            stock,
            districts,
        })
    })
    .expect("room")
}

fn district<'a>(
    m: &mut Mutator<'a>,
    options: &Options,
    random: &mut Random,
) -> Local<'a, District> {
    m.scoped(|m| {
        let customers = m.alloc_refs::<Customer>(options.customers)?;
        for number in 0..options.customers {
            let mut m = m.scope();
            let customer = customer(&mut m, random);
            m[customers][number].set(Some(&m[customer]));
        }
        let entries = m.alloc_refs::<History>(PAYMENTS)?;
        let history = m.alloc(HistoryTableInit { next: 0, entries })?;
        let init = DistrictInit {
            next_order: 0,
            next_delivery: 0,
            address: address(m, random),
            order_table: LongBTree::new(m),
            new_order_table: LongBTree::new(m),
            customers,
            history,
        };
        m.alloc(init)
    })
    .expect("room")
}

fn customer<'a>(m: &mut Mutator<'a>, random: &mut Random) -> Local<'a, Customer> {
    m.scoped(|m| {
        let first = text(m, "first", random);
        let last = text(m, "last", random);
        let number = text(m, "phone", random);
        let init = CustomerInit {
            balance: 0,
            name: m.alloc(PersonNameInit { first, last })?,
            address: address(m, random),
            phone: m.alloc(PhoneInit { number })?,
            credit: m.alloc(CreditInit {
                limit: 50_000,
                discount: random.below(50),
            })?,
            last_order: None,
        };
        m.alloc(init)
    })
    .expect("room")
}

/// Where transactions are entered.
struct Terminal<'t> {
    options: &'t Options,
    company: Local<'t, Company>,
    random: Random,
}

impl Terminal<'_> {
    fn transact(&mut self, m: &mut Mutator<'_>) -> u64 {
        match self.random.below(23) {
            0..10 => self.new_order(m),
            10..20 => self.payment(m),
            20 => self.order_status(m),
            21 => self.stock_level(m),
            _ => self.deliver(m),
        }
    }

    fn warehouse<'m>(&mut self, m: &'m Mutator<'_>) -> &'m Warehouse {
        let warehouses = m[self.company].warehouses.get();
        let number = self.random.index(warehouses.len());
        warehouses[number].get().expect("all are there")
    }

    fn customer<'m>(&mut self, m: &'m Mutator<'_>) -> (&'m District, &'m Customer) {
        let districts = self.warehouse(m).districts.get();
        let district = districts[self.random.index(DISTRICTS)]
            .get()
            .expect("all are there");
        let customers = district.customers.get();
        let customer = customers[self.random.index(customers.len())].get();
        (district, customer.expect("all are there"))
    }

    fn new_order(&mut self, m: &mut Mutator<'_>) -> u64 {
        let mut m = m.scope();
        let (district, customer) = self.customer(&m);
        let (district, customer) = (m.local(district), m.local(customer));
        let warehouse = m.local(self.warehouse(&m));
        let count = 5 + self.random.index(11);
        let lines = m.alloc_refs::<OrderLine>(count).expect("room");
        let mut sum = 0;
        for line in 0..count {
            let mut m = m.scope();
            let quantity = 1 + self.random.below(10);
            let stock = m[warehouse].stock.get();
            let stock = stock[self.random.index(stock.len())]
                .get()
                .expect("all are there");
            let left = stock.quantity.get();
            stock.quantity.set(if left > quantity {
                left - quantity
            } else {
                100
            });
            let item = m.local(stock.item.get());
            sum += m[item].price * quantity;
            let made = m.alloc(OrderLineInit { quantity, item }).expect("room");
            m[lines][line].set(Some(&m[made]));
        }
        let id = m[district].next_order.get();
        m[district].next_order.set(id + 1);
        let order = m.alloc(OrderInit {
            id,
            customer,
            lines,
            carrier: None,
            status: 0,
        });
        let order = order.expect("room");
        m[customer].last_order.set(Some(&m[order]));
        self.add_order(&mut m, district, order);
        sum
    }

    fn add_order(
        &self,
        m: &mut Mutator<'_>,
        district: Local<'_, District>,
        order: Local<'_, Order>,
    ) {
        let mut m = m.scope();
        let id = m[order].id;
        let table = m.local(m[district].order_table.get());
        LongBTree::insert(&mut m, table, id, order);
        if self.options.assertions.owned {
            m.assert_owned_by(table, order);
        }
        let order = m.local(&m[order]);
        let new_order = m.alloc(NewOrderInit { order }).expect("room");
        let table = m.local(m[district].new_order_table.get());
        LongBTree::insert(&mut m, table, id, new_order);
    }

    fn payment(&mut self, m: &mut Mutator<'_>) -> u64 {
        let mut m = m.scope();
        let (district, customer) = self.customer(&m);
        let (district, customer) = (m.local(district), m.local(customer));
        let amount = 1 + self.random.below(5_000);
        let balance = &m[customer].balance;
        balance.set(balance.get().wrapping_sub(amount));
        let text = text(&mut m, "paid", &mut self.random);
        let made = m.alloc(HistoryInit {
            amount,
            customer,
            text,
        });
        let made = made.expect("room");
        let history = m[district].history.get();
        let next = history.next.get();
        history.entries.get()[next as usize % PAYMENTS].set(Some(&m[made]));
        history.next.set(next + 1);
        amount
    }

    fn order_status(&mut self, m: &mut Mutator<'_>) -> u64 {
        let (_, customer) = self.customer(m);
        let order = customer.last_order.get();
        order.map_or(customer.balance.get(), |order| order.id + order.sum())
    }

    fn stock_level(&mut self, m: &mut Mutator<'_>) -> u64 {
        let (district, _) = self.customer(m);
        let latest = district.next_order.get().saturating_sub(WAITING / 2);
        let orders = latest..district.next_order.get();
        let table = district.order_table.get();
        orders
            .filter_map(|id| table.get::<Order>(id))
            .map(Order::sum)
            .sum()
    }

    /// Delivers what has waited longest, in each district of a warehouse.
    fn deliver(&mut self, m: &mut Mutator<'_>) -> u64 {
        let mut m = m.scope();
        let warehouse = m.local(self.warehouse(&m));
        let mut sum = 0;
        for number in 0..DISTRICTS {
            let district = m[warehouse].districts.get()[number].get();
            let district = m.local(district.expect("all are there"));
            while m[district].next_order.get() - m[district].next_delivery.get() > WAITING {
                sum += self.deliver_next(&mut m.scope(), district);
            }
        }
        sum
    }

    /// Delivers all that waits in a district, and begins a new order table.
    fn clear(&mut self, m: &mut Mutator<'_>) -> u64 {
        let mut m = m.scope();
        let district = m.local(self.customer(&m).0);
        let mut sum = 0;
        while m[district].next_delivery.get() < m[district].next_order.get() {
            sum += self.deliver_next(&mut m.scope(), district);
        }
        let table = LongBTree::new(&mut m);
        m[district].order_table.set(&m[table]);
        sum
    }

    fn deliver_next(&mut self, m: &mut Mutator<'_>, district: Local<'_, District>) -> u64 {
        let id = self.random.below(10);
        let carrier = m.alloc(CarrierInit { id }).expect("room");
        let district = &m[district];
        let id = district.next_delivery.get();
        district.next_delivery.set(id + 1);
        let order = district.order_table.get().get::<Order>(id);
        let order = order.expect("it waits");
        order.carrier.set(Some(&m[carrier]));
        let (sum, customer) = (order.sum(), order.customer.get());
        customer
            .balance
            .set(customer.balance.get().wrapping_add(sum));
        district.new_order_table.get().remove(id);
        if self.options.bug != Some(Bug::OrderTable) {
            district.order_table.get().remove(id);
        }
        self.destroy(m, order);
        sum
    }

    /// What is destroyed must not be referred to by anything.
    fn destroy(&self, m: &Mutator<'_>, order: &Order) {
        order.status.set(REMOVED);
        let last = &order.customer.get().last_order;
        let is_last = last.get().is_some_and(|it| std::ptr::eq(it, order));
        if is_last && self.options.bug != Some(Bug::LastOrder) {
            last.clear();
        }
        if self.options.assertions.destroyed {
            m.assert_dead(m.local(order));
        }
    }
}

impl Order {
    fn sum(&self) -> u64 {
        let lines = self.lines.get().iter().filter_map(|line| line.get());
        lines
            .map(|line| line.quantity * line.item.get().price)
            .sum()
    }
}
