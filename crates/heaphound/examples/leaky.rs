//! A program that leaks until its heap is full, and the error that says what fills it.
//!
//! A shop keeps its open orders in a table. Delivered orders are removed from the table, but each
//! customer refers to all its orders. The collector logs one line for each collection. When memory
//! runs out, the error names the classes that fill the heap, and the heap is written to a file.
//! From the file we get the path from a root to the orders.

use heaphound::path::Search;
use heaphound::set::ObjectSet;
use heaphound::view::HeapView;
use heaphound::{
    Collector, Header, Heap, Managed, Mutator, OutOfMemory, Probes, Ref, RefArray, Slot, Str, Var,
    file, snapshot, view::Value,
};

#[derive(Managed)]
#[repr(C)]
struct Customer {
    header: Header,
    name: Slot<Str>,
    orders: Var<u32>,
    history: Slot<Order>,
}

#[derive(Managed)]
#[repr(C)]
struct Order {
    header: Header,
    number: u64,
    customer: Ref<Customer>,
    items: Slot<RefArray<Str>>,
    /// The customer's previous order. No code reads it.
    before: Slot<Order>,
}

const CUSTOMERS: usize = 50;
const OPEN_ORDERS: usize = 1000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file_name = std::env::temp_dir().join("heaphound-leaky.heap");
    let heap = Heap::builder()
        .max_bytes(24 << 20)
        .collector(Collector::Generational)
        .snapshot_on_out_of_memory(&file_name)
        .log(true)
        .build()?;
    let mut m = heap.attach("order desk")?;
    match run(&mut m) {
        Ok(never) => match never {},
        Err(error) => println!("\n{error}"),
    }
    // The file can be read here, or by the `heaphound` command.
    let heap = file::read_file(&file_name, &mut |_, _| {})?;
    let probes = Probes::of(&heap);
    let is_order = |it: &snapshot::ObjectId| heap.class(heap.class_of(*it)).name == "Order";
    let orders: ObjectSet<_> = heap.objects().filter(is_order).collect();
    let table = heap
        .roots()
        .iter()
        .find(|(root, _)| root.name == "open orders");
    let mut open = Vec::new();
    heap.for_each_strong_edge(table.expect("it is a static").1, |_, order| {
        open.push(order)
    });
    let delivered = orders.difference(&open.into_iter().collect());
    // Fields are in the order of the struct: the number is the first.
    let number = |order: &snapshot::ObjectId| match heap.plain_value(*order, 0) {
        Some(Value::Unsigned(number)) => number,
        _ => 0,
    };
    let last = delivered
        .iter()
        .max_by_key(number)
        .expect("some were delivered");
    let path = probes.path(&Search::everywhere(), last).expect("it lives");
    println!("\nHow the heap file leads to an order that was delivered:");
    println!("  {}", path.describe(&heap));
    println!(
        "{} such orders hang on a later one of their customer; {OPEN_ORDERS} are open.",
        delivered.len()
    );
    Ok(())
}

fn run(m: &mut Mutator<'_>) -> Result<std::convert::Infallible, OutOfMemory> {
    let customers = m.alloc_refs::<Customer>(CUSTOMERS)?;
    m.static_root("customers").set(m, Some(&m[customers]));
    let open = m.alloc_refs::<Order>(OPEN_ORDERS)?;
    m.static_root("open orders").set(m, Some(&m[open]));
    for i in 0..CUSTOMERS {
        let mut m = m.scope();
        let name = Some(m.alloc_str(&format!("customer {i}"))?);
        let customer = m.alloc(CustomerInit {
            name,
            orders: 0,
            history: None,
        })?;
        m[customers][i].set(Some(&m[customer]));
    }
    for number in 0.. {
        let mut m = m.scope();
        let customer = m.local(m[customers][number as usize * 7 % CUSTOMERS].get().unwrap());
        let items = m.alloc_refs::<Str>(3)?;
        for i in 0..3 {
            let item = m.alloc_str(&format!("item {i} of {number}"))?;
            m[items][i].set(Some(&m[item]));
        }
        let before = m[customer].history.get().map(|order| m.local(order));
        let order = m.alloc(OrderInit {
            number,
            customer,
            items: Some(items),
            before,
        })?;
        m[customer].orders.update(|orders| orders + 1);
        // The order in this place of the table is delivered and removed from the table…
        m[open][number as usize % OPEN_ORDERS].set(Some(&m[order]));
        // …but not from the customer's history.
        m[customer].history.set(Some(&m[order]));
    }
    unreachable!("orders come in until memory runs out")
}
