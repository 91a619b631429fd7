//! The program: a shop that serves orders, and a mistake in it.

use heaphound::{Heap, Local, Mutator, OutOfMemory, Ref, RefArray, Slot, managed};

#[managed]
pub struct Shop {
    customers: Ref<RefArray<Customer>>,
    /// Orders that are not delivered yet. When all places are taken, the oldest is delivered.
    open: Ref<RefArray<Order>>,
}

#[managed]
pub struct Customer {
    last: Slot<Order>,
}

#[managed]
pub struct Order {
    #[managed(caption)]
    number: u64,
    items: [u32; ITEMS],
    /// The customer's order before this one. Nobody ever reads it: this is the mistake.
    before: Slot<Order>,
}

const CUSTOMERS: usize = 20;
const OPEN: usize = 50;
const ITEMS: usize = 20;

/// Opens a shop, which a static keeps.
pub fn open<'a>(m: &mut Mutator<'a>) -> Result<Local<'a, Shop>, OutOfMemory> {
    let customers = m.alloc_refs::<Customer>(CUSTOMERS)?;
    for place in 0..CUSTOMERS {
        let mut m = m.scope();
        let customer = m.alloc(CustomerInit { last: None })?;
        m[customers][place].set(customer);
    }
    let open = m.alloc_refs::<Order>(OPEN)?;
    let shop = m.alloc(ShopInit { customers, open })?;
    m.static_root("shop").set(m, Some(&m[shop]));
    Ok(shop)
}

/// Takes an order and hands the oldest one out, to `delivered`.
pub fn serve(
    m: &mut Mutator<'_>,
    shop: Local<'_, Shop>,
    number: u64,
    delivered: &dyn Fn(&Mutator<'_>, Local<'_, Order>),
) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let customer = m[shop].customers.get()[number as usize % CUSTOMERS].get();
    let customer = m.local(customer.expect("they are never removed"));
    let before = m[customer].last.get().map(|it| m.local(it));
    let order = m.alloc(OrderInit {
        number,
        items: [0; ITEMS],
        before,
    })?;
    m[customer].last.set(order);
    let place = number as usize % OPEN;
    let oldest = m[shop].open.get()[place].get().map(|it| m.local(it));
    m[shop].open.get()[place].set(order);
    if let Some(oldest) = oldest {
        delivered(&m, oldest);
    }
    Ok(())
}

/// Serves orders until memory runs out or there have been enough. Returns how many were served.
pub fn serve_until_full(heap: &Heap, most: u64) -> u64 {
    let mut m = heap.attach("main").expect("nobody else has the name");
    let Ok(shop) = open(&mut m) else {
        return 0;
    };
    let full = (0..most).find(|&number| serve(&mut m, shop, number, &|_, _| {}).is_err());
    full.unwrap_or(most)
}
