//! JbbMod: SPECjbb2000 as Tang and others have changed it, so that most of what grows is stale.
//!
//! Orders are kept in an array that grows, and nobody processes them. But in the first phase a report is made
//! now and then, long after most orders were, that reads them, their dates and the arrays of their lines, though
//! not the texts of lines. Then no report is made any more. The paper's policy remembers that references from
//! `Object[]` to `Order` were used when they were very stale, for ever, and does not prune them. Kept: that, and
//! the classes that the paper names.

use heaphound::{Header, Invalidated, Local, Managed, Mutator, Object, Ref, RefArray, Var};

use super::{Death, Each, Text, Work, WorkingSet};

#[derive(Managed)]
#[repr(C)]
struct Warehouse {
    header: Header,
    count: Var<u64>,
    orders: Ref<RefArray<Object>>,
}

#[derive(Managed)]
#[repr(C)]
struct Order {
    header: Header,
    date: Ref<Date>,
    lines: Ref<RefArray<Object>>,
}

#[derive(Managed)]
#[repr(C)]
struct Date {
    header: Header,
    millis: u64,
}

#[derive(Managed)]
#[repr(C)]
struct Orderline {
    header: Header,
    item: Ref<Text>,
}

const LINES: usize = 6;
/// Bytes of a text.
const ITEM: usize = 250;
/// Iterations between two reports.
const REPORT: u64 = 40;
/// Iterations of the first phase.
const PHASE: u64 = 121;

pub(super) fn run(m: &mut Mutator<'_>, work: &Work<'_>, each: Each<'_>) -> Result<(), Death> {
    let used = WorkingSet::new(m, work)?;
    let orders = m.alloc_refs::<Object>(64)?;
    let warehouse = m.alloc(WarehouseInit { count: 0, orders })?;
    for iteration in 1u64.. {
        for _ in 0..work.part(256, LINES * (ITEM + 56)) {
            let mut m = m.scope();
            let order = Order::new(&mut m)?;
            if work.leak {
                add(&mut m, warehouse, order)?;
            }
        }
        if iteration < PHASE {
            // Drafts of the report.
            for _ in 0..16 {
                m.scope().alloc_bytes(&vec![0; work.part(32, 1)])?;
                m[used].read()?;
            }
            if iteration.is_multiple_of(REPORT) {
                m[warehouse].report()?;
            }
        }
        m[used].read()?;
        if !each() {
            break;
        }
    }
    Ok(())
}

impl Order {
    fn new<'a>(m: &mut Mutator<'a>) -> Result<Local<'a, Order>, Death> {
        m.scoped(|m| {
            let lines = m.alloc_refs::<Object>(LINES)?;
            for place in 0..LINES {
                let mut m = m.scope();
                let item = Text::new(&mut m, ITEM)?;
                let line = m.alloc(OrderlineInit { item })?;
                m[lines][place].set(Some(m[line].as_object()));
            }
            let date = m.alloc(DateInit { millis: 0 })?;
            Ok(m.alloc(OrderInit { date, lines })?)
        })
    }
}

/// Adds an order to the array, and makes it larger where it must. Orders are copied, and not read.
fn add(
    m: &mut Mutator<'_>,
    warehouse: Local<'_, Warehouse>,
    order: Local<'_, Order>,
) -> Result<(), Death> {
    let count = m[warehouse].count.get() as usize;
    let old = m.local(m[warehouse].orders.try_get()?);
    if count == m[old].len() {
        let new = m.alloc_refs::<Object>(count * 2)?;
        m[new].copy_from(0, &m[old], 0..count);
        m[warehouse].orders.set(&m[new]);
    }
    let orders = m[warehouse].orders.try_get()?;
    orders[count].set(Some(m[order].as_object()));
    m[warehouse].count.set(count as u64 + 1);
    Ok(())
}

impl Warehouse {
    fn report(&self) -> Result<(), Invalidated> {
        for order in self.orders.try_get()?.iter() {
            let Some(order) = order.try_get()?.and_then(|it| it.downcast::<Order>()) else {
                continue;
            };
            order.date.try_get()?;
            for line in order.lines.try_get()?.iter() {
                line.try_get()?;
            }
        }
        Ok(())
    }
}
