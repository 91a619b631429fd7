//! SPECjbb2000: some orders are never removed from the list of orders that is processed. The list is gone through,
//! and with it the lines of all orders, so that much of the growth is live; what the lines say of the items is not read.
//! Kept: the list, orders, lines and their texts.

use heaphound::{Header, Invalidated, Local, Managed, Mutator, Ref, RefArray, Slot};

use super::{Death, Each, Text, Work, WorkingSet};

#[derive(Managed)]
#[repr(C)]
struct Warehouse {
    header: Header,
    orders: Slot<Order>,
}

#[derive(Managed)]
#[repr(C)]
struct Order {
    header: Header,
    lines: Ref<RefArray<Orderline>>,
    next: Slot<Order>,
}

#[derive(Managed)]
#[repr(C)]
struct Orderline {
    header: Header,
    amount: u64,
    quantity: u64,
    item: Ref<Text>,
}

const LINES: usize = 8;
/// Bytes of a text.
const ITEM: usize = 100;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work<'_>, each: Each<'_>) -> Result<(), Death> {
    let used = WorkingSet::new(m, work)?;
    let warehouse = m.alloc(WarehouseInit { orders: None })?;
    loop {
        for _ in 0..work.part(256, LINES * (ITEM + 80)) {
            let mut m = m.scope();
            let order = Order::new(&mut m)?;
            let next = m[warehouse].orders.try_get()?;
            m[order].next.set(next.filter(|_| work.leak));
            m[warehouse].orders.set(Some(&m[order]));
        }
        m[warehouse].process()?;
        m[used].read()?;
        if !each() {
            return Ok(());
        }
    }
}

impl Order {
    fn new<'a>(m: &mut Mutator<'a>) -> Result<Local<'a, Order>, Death> {
        m.scoped(|m| {
            let lines = m.alloc_refs::<Orderline>(LINES)?;
            for place in 0..LINES {
                let mut m = m.scope();
                let item = Text::new(&mut m, ITEM)?;
                let line = m.alloc(OrderlineInit {
                    amount: 0,
                    quantity: 0,
                    item,
                })?;
                m[lines][place].set(Some(&m[line]));
            }
            Ok(m.alloc(OrderInit { lines, next: None })?)
        })
    }
}

impl Warehouse {
    /// Goes through all orders.
    fn process(&self) -> Result<(), Invalidated> {
        let mut order = self.orders.try_get()?;
        while let Some(it) = order {
            for line in it.lines.try_get()?.iter() {
                line.try_get()?;
            }
            order = it.next.try_get()?;
        }
        Ok(())
    }
}
