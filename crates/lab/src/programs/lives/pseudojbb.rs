//! A wholesale company after SPEC JBB2000, with a fixed number of transactions as the thesis runs it.
//!
//! What makes it hard: few sites allocate nearly all that lives long, and they allocate as much that does not. Orders, lines,
//! dates, amounts and texts are each made in one place, by a factory as in the original, whoever needs them: an order that is
//! placed lives until it is delivered, many transactions later, while one that is only quoted, or copied to be
//! shown, dies with its transaction, and so do the texts of a terminal's screen and the amounts that are added up. No
//! site survives often enough to be told from the others.

use heaphound::{Header, Local, Managed, Mutator, OutOfMemory, Ref, RefArray, Slot, Str, Var};

use super::Checksum;
use crate::programs::Random;
use crate::programs::btree::LongBTree;

/// Transactions.
const TRANSACTIONS: usize = 210_000;
const WAREHOUSES: usize = 4;
/// Districts of a warehouse, and customers of a district.
const DISTRICTS: usize = 10;
const CUSTOMERS: usize = 100;
/// Things that can be ordered.
const ITEMS: usize = 4_000;
/// Orders of a district that wait to be delivered when the run begins.
const WAITING: usize = 350;
/// Payments that a district remembers.
const PAYMENTS: usize = 50;
/// Lines of a screen.
const LINES: usize = 12;

#[derive(Managed)]
#[repr(C)]
struct Company {
    header: Header,
    items: Ref<RefArray<Item>>,
    districts: Ref<RefArray<District>>,
}

#[derive(Managed)]
#[repr(C)]
struct Item {
    header: Header,
    stock: Var<u64>,
    price: Ref<Amount>,
    name: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct District {
    header: Header,
    next_order: Var<u64>,
    next_delivery: Var<u64>,
    payments_made: Var<u64>,
    orders: Ref<LongBTree>,
    customers: Ref<RefArray<Customer>>,
    payments: Ref<RefArray<Payment>>,
}

#[derive(Managed)]
#[repr(C)]
struct Customer {
    header: Header,
    number: u64,
    name: Ref<Str>,
    street: Ref<Str>,
    since: Ref<Date>,
    balance: Ref<Amount>,
}

#[derive(Managed)]
#[repr(C)]
struct Order {
    header: Header,
    id: u64,
    customer: Ref<Customer>,
    entered: Ref<Date>,
    lines: Ref<RefArray<OrderLine>>,
    total: Slot<Amount>,
}

#[derive(Managed)]
#[repr(C)]
struct OrderLine {
    header: Header,
    quantity: u64,
    item: Ref<Item>,
    amount: Ref<Amount>,
    info: Ref<Str>,
}

#[derive(Managed)]
#[repr(C)]
struct Payment {
    header: Header,
    customer: Ref<Customer>,
    amount: Ref<Amount>,
    text: Ref<Str>,
}

/// Money, which is never changed: a sum is another one.
#[derive(Managed)]
#[repr(C)]
struct Amount {
    header: Header,
    cents: u64,
}

#[derive(Managed)]
#[repr(C)]
struct Date {
    header: Header,
    second: u64,
    zone: u64,
}

/// What a terminal shows.
#[derive(Managed)]
#[repr(C)]
struct Screen {
    header: Header,
    at: Var<u64>,
    lines: Ref<RefArray<Str>>,
}

type Made<'a, T> = Result<Local<'a, T>, OutOfMemory>;

/// Founds the company and does its business.
pub(super) fn run(m: &mut Mutator<'_>, scale: usize) -> Result<u64, OutOfMemory> {
    let mut m = m.scope();
    let mut random = Random::new(53);
    let company = found(&mut m, scale, &mut random)?;
    m.static_root::<Company>("company")
        .set(&m, Some(&m[company]));
    let mut terminal = Terminal {
        company,
        random,
        checksum: Checksum::default(),
        now: 0,
    };
    for at in 0..m[company].districts.get().len() {
        for _ in 0..WAITING {
            let mut m = m.scope();
            let district = m.local(m[company].districts.get()[at].get().expect("founded"));
            terminal.begin_with_order(&mut m, district)?;
        }
    }
    for _ in 0..(TRANSACTIONS * scale / 100).max(100) {
        terminal.transact(&mut m.scope())?;
    }
    Ok(terminal.checksum.value())
}

// The factory: each class has one place where its objects are made.

fn text<'a>(m: &mut Mutator<'a>, text: &str) -> Made<'a, Str> {
    m.alloc_str(text)
}

fn date<'a>(m: &mut Mutator<'a>, second: u64) -> Made<'a, Date> {
    m.alloc(DateInit { second, zone: 1 })
}

fn amount<'a>(m: &mut Mutator<'a>, cents: u64) -> Made<'a, Amount> {
    m.alloc(AmountInit { cents })
}

fn line<'a>(m: &mut Mutator<'a>, item: Local<'a, Item>, quantity: u64) -> Made<'a, OrderLine> {
    m.scoped(|m| {
        let cents = m[item].price.get().cents * quantity;
        let amount = amount(m, cents)?;
        let info = format!("{quantity} of {}", &**m[item].name.get());
        let info = text(m, &info)?;
        let item = m.local(&m[item]);
        m.alloc(OrderLineInit {
            quantity,
            item,
            amount,
            info,
        })
    })
}

fn order<'a>(
    m: &mut Mutator<'a>,
    id: u64,
    customer: Local<'a, Customer>,
    now: u64,
    count: usize,
) -> Made<'a, Order> {
    let entered = date(m, now)?;
    let lines = m.alloc_refs(count)?;
    m.alloc(OrderInit {
        id,
        customer,
        entered,
        lines,
        total: None,
    })
}

fn found<'a>(m: &mut Mutator<'a>, scale: usize, random: &mut Random) -> Made<'a, Company> {
    m.scoped(|m| {
        let count = (ITEMS * scale / 100).max(20);
        let items = m.alloc_refs::<Item>(count)?;
        for number in 0..count {
            let mut m = m.scope();
            let name = text(&mut m, &format!("item {number}"))?;
            let price = amount(&mut m, 1 + random.below(10_000))?;
            let item = m.alloc(ItemInit {
                stock: 100,
                price,
                name,
            })?;
            m[items][number].set(Some(&m[item]));
        }
        // A smaller company has fewer districts, down to one.
        let count = (WAREHOUSES * DISTRICTS * scale / 100).max(1);
        let districts = m.alloc_refs::<District>(count)?;
        for number in 0..count {
            let mut m = m.scope();
            let customers = m.alloc_refs::<Customer>(CUSTOMERS)?;
            for number in 0..CUSTOMERS {
                let mut m = m.scope();
                let name = text(&mut m, &format!("customer {number}"))?;
                let street = text(&mut m, &format!("street {}", random.below(1_000)))?;
                let since = date(&mut m, 0)?;
                let balance = amount(&mut m, 0)?;
                let customer = m.alloc(CustomerInit {
                    number: number as u64,
                    name,
                    street,
                    since,
                    balance,
                })?;
                m[customers][number].set(Some(&m[customer]));
            }
            let payments = m.alloc_refs(PAYMENTS)?;
            let orders = LongBTree::new(&mut m);
            let district = m.alloc(DistrictInit {
                next_order: 0,
                next_delivery: 0,
                payments_made: 0,
                orders,
                customers,
                payments,
            })?;
            m[districts][number].set(Some(&m[district]));
        }
        m.alloc(CompanyInit { items, districts })
    })
}

/// Where transactions come from.
struct Terminal<'s> {
    company: Local<'s, Company>,
    random: Random,
    checksum: Checksum,
    now: u64,
}

impl Terminal<'_> {
    /// Places an order that is there from the beginning.
    fn begin_with_order(
        &mut self,
        m: &mut Mutator<'_>,
        district: Local<'_, District>,
    ) -> Result<(), OutOfMemory> {
        let customer = self.customer(m, district);
        let lines = m.alloc_refs(LINES)?;
        let screen = m.alloc(ScreenInit { at: 0, lines })?;
        self.order(m, screen, district, customer)
    }

    fn customer<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        district: Local<'_, District>,
    ) -> Local<'a, Customer> {
        let customers = m[district].customers.get();
        let customer = customers[self.random.index(CUSTOMERS)].get();
        m.local(customer.expect("founded"))
    }

    fn transact(&mut self, m: &mut Mutator<'_>) -> Result<(), OutOfMemory> {
        self.now += 1;
        let districts = m[self.company].districts.get();
        let district = m.local(
            districts[self.random.index(districts.len())]
                .get()
                .expect("founded"),
        );
        let customer = self.customer(m, district);
        let lines = m.alloc_refs(LINES)?;
        let screen = m.alloc(ScreenInit { at: 0, lines })?;
        let begun = date(m, self.now)?;
        let title = format!(
            "district {} at {}",
            m[district].next_order.get(),
            m[begun].second
        );
        show(m, screen, &title)?;
        match self.random.below(100) {
            0..43 => self.order(m, screen, district, customer)?,
            43..86 => self.pay(m, screen, district, customer)?,
            86..90 => self.quote(m, screen, customer)?,
            90..94 => self.status(m, screen, district)?,
            94..98 => self.deliver(m, screen, district)?,
            _ => self.stock_level(m, screen)?,
        }
        let shown = m[lines].iter().filter_map(Slot::get);
        let sum: u64 = shown.map(|it| it.bytes().map(u64::from).sum::<u64>()).sum();
        self.checksum.add(sum);
        Ok(())
    }

    fn item<'a>(&mut self, m: &mut Mutator<'a>) -> Local<'a, Item> {
        let items = m[self.company].items.get();
        m.local(
            items[self.random.index(items.len())]
                .get()
                .expect("founded"),
        )
    }

    /// Fills an order with lines. Returns what it costs.
    fn fill(&mut self, m: &mut Mutator<'_>, order: Local<'_, Order>) -> Result<u64, OutOfMemory> {
        let total = amount(m, 0)?;
        for at in 0..m[order].lines.get().len() {
            let mut m = m.scope();
            let item = self.item(&mut m);
            let line = line(&mut m, item, 1 + self.random.below(10))?;
            m[order].lines.get()[at].set(Some(&m[line]));
            let cents = m[total].cents + m[line].amount.get().cents;
            let sum = amount(&mut m, cents)?;
            m.set_local(total, &m[sum]);
        }
        m[order].total.set(Some(&m[total]));
        Ok(m[total].cents)
    }

    /// Places an order. One customer in a hundred changes his mind.
    fn order(
        &mut self,
        m: &mut Mutator<'_>,
        screen: Local<'_, Screen>,
        district: Local<'_, District>,
        customer: Local<'_, Customer>,
    ) -> Result<(), OutOfMemory> {
        let id = m[district].next_order.get();
        let customer = m.local(&m[customer]);
        let count = 5 + self.random.index(11);
        let order = order(m, id, customer, self.now, count)?;
        let cents = self.fill(m, order)?;
        for at in 0..m[order].lines.get().len().min(LINES / 2) {
            let mut m = m.scope();
            let line = m[order].lines.get()[at].get().expect("filled");
            let shown = format!("{:>8} {}", line.amount.get().cents, &**line.info.get());
            show(&mut m, screen, &shown)?;
        }
        show(m, screen, &format!("order {id}: {cents}"))?;
        if self.random.below(100) == 0 {
            return Ok(());
        }
        for line in m[order].lines.get().iter() {
            let line = line.get().expect("filled");
            let stock = &line.item.get().stock;
            let left = stock.get().checked_sub(line.quantity);
            stock.set(left.unwrap_or(100));
        }
        m[district].next_order.set(id + 1);
        let orders = m.local(m[district].orders.get());
        LongBTree::insert(m, orders, id, order);
        Ok(())
    }

    fn pay(
        &mut self,
        m: &mut Mutator<'_>,
        screen: Local<'_, Screen>,
        district: Local<'_, District>,
        customer: Local<'_, Customer>,
    ) -> Result<(), OutOfMemory> {
        let paid = amount(m, self.random.below(100_000))?;
        let cents = m[customer].balance.get().cents + m[paid].cents;
        let balance = amount(m, cents)?;
        m[customer].balance.set(&m[balance]);
        let name = m[customer].name.get();
        let shown = format!(
            "{} of {} has paid {cents}",
            &**name,
            &**m[customer].street.get()
        );
        show(m, screen, &shown)?;
        let since = m[customer].since.get().second;
        show(
            m,
            screen,
            &format!("customer {} since {since}", m[customer].number),
        )?;
        let text = text(m, &format!("paid {} at {}", m[paid].cents, self.now))?;
        let customer = m.local(&m[customer]);
        let payment = m.alloc(PaymentInit {
            customer,
            amount: paid,
            text,
        })?;
        let district = &m[district];
        let made = district.payments_made.get();
        district.payments.get()[made as usize % PAYMENTS].set(Some(&m[payment]));
        district.payments_made.set(made + 1);
        Ok(())
    }

    /// Says what an order would cost.
    fn quote(
        &mut self,
        m: &mut Mutator<'_>,
        screen: Local<'_, Screen>,
        customer: Local<'_, Customer>,
    ) -> Result<(), OutOfMemory> {
        for _ in 0..6 {
            let mut m = m.scope();
            let customer = m.local(&m[customer]);
            let count = 5 + self.random.index(11);
            let order = order(&mut m, 0, customer, self.now, count)?;
            let cents = self.fill(&mut m, order)?;
            show(&mut m, screen, &format!("would be {cents}"))?;
        }
        Ok(())
    }

    /// Shows the latest orders, of which copies are made.
    fn status(
        &mut self,
        m: &mut Mutator<'_>,
        screen: Local<'_, Screen>,
        district: Local<'_, District>,
    ) -> Result<(), OutOfMemory> {
        let next = m[district].next_order.get();
        for id in next.saturating_sub(5)..next {
            let mut m = m.scope();
            let Some(found) = m[district].orders.get().get::<Order>(id) else {
                continue;
            };
            let found = m.local(found);
            let customer = m.local(m[found].customer.get());
            let count = m[found].lines.get().len();
            let entered = m[found].entered.get().second;
            let copy = order(&mut m, id, customer, entered, count)?;
            for at in 0..count {
                let mut m = m.scope();
                let original = m[found].lines.get()[at].get().expect("filled");
                let (item, quantity) = (m.local(original.item.get()), original.quantity);
                let line = line(&mut m, item, quantity)?;
                m[copy].lines.get()[at].set(Some(&m[line]));
            }
            let lines = m[copy].lines.get().iter().filter_map(Slot::get);
            let cents: u64 = lines.map(|it| it.amount.get().cents).sum();
            let shown = format!("order {id} of {}: {cents}", &**m[customer].name.get());
            show(&mut m, screen, &shown)?;
        }
        Ok(())
    }

    /// Delivers the oldest orders of a district.
    fn deliver(
        &mut self,
        m: &mut Mutator<'_>,
        screen: Local<'_, Screen>,
        district: Local<'_, District>,
    ) -> Result<(), OutOfMemory> {
        for _ in 0..10 {
            if m[district].next_delivery.get() == m[district].next_order.get() {
                break;
            }
            let cents = take_out(&m[district]);
            show(&mut m.scope(), screen, &format!("delivered for {cents}"))?;
        }
        Ok(())
    }

    fn stock_level(
        &mut self,
        m: &mut Mutator<'_>,
        screen: Local<'_, Screen>,
    ) -> Result<(), OutOfMemory> {
        let items = m[self.company].items.get().iter().filter_map(Slot::get);
        let low = items.take(200).filter(|it| it.stock.get() < 20).count();
        show(m, screen, &format!("{low} are low"))
    }
}

/// Takes the oldest order out. Returns what it cost.
fn take_out(district: &District) -> u64 {
    let id = district.next_delivery.get();
    district.next_delivery.set(id + 1);
    let order = district.orders.get().get::<Order>(id);
    let total = order.and_then(|it| it.total.get());
    let cents = total.map_or(0, |it| it.cents);
    district.orders.get().remove(id);
    cents
}

/// Writes a line.
fn show(m: &mut Mutator<'_>, screen: Local<'_, Screen>, line: &str) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let line = text(&mut m, line)?;
    let screen = &m[screen];
    let at = screen.at.get();
    screen.lines.get()[at as usize % LINES].set(Some(&m[line]));
    screen.at.set(at + 1);
    Ok(())
}
