//! Leak pruning: what it keeps alive, what it cuts, and what whoever reads a cut reference is told.

mod alarms;
mod cut;
mod meaning;
mod options;
mod program;
mod revived;
mod seen;

use std::sync::Arc;

use heaphound::{
    Collector, Header, Heap, HeapBuilder, Managed, Mutator, Object, OutOfMemory, Reaction,
    RefArray, Slot,
};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    number: u64,
    next: Slot<Node>,
    load: Slot<RefArray<Object>>,
}

fn for_each_collector(f: impl Fn(HeapBuilder)) {
    for collector in [Collector::MarkSweep, Collector::Generational] {
        for threads in [1, 3] {
            f(Heap::builder()
                .max_bytes(8 << 20)
                .nursery_bytes(256 << 10)
                .initial_bytes(512 << 10)
                .collector_threads(threads)
                .collector(collector));
        }
    }
}

/// Puts another node with some load in front of a list that nobody ever reads.
fn leak(m: &mut Mutator<'_>, number: u64) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let head = m.static_root::<Node>("leak");
    let load = m.alloc_refs::<Object>(100)?;
    let node = m.alloc(NodeInit {
        number,
        next: None,
        load: Some(load),
    })?;
    m[node].next.set(head.get(&m));
    head.set(&m, Some(&m[node]));
    Ok(())
}

#[test]
fn a_list_that_nobody_reads_can_grow_for_ever() {
    for_each_collector(|options| {
        let iterations = |options: HeapBuilder, most: u64| {
            let heap = options.build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let died = (0..most).find(|&number| leak(&mut m, number).is_err());
            drop(m);
            (died.unwrap_or(most), heap)
        };
        let (plain, _) = iterations(options.clone(), u64::MAX);
        assert!(plain < 30_000, "{plain}");
        let most = plain * 50;
        let (pruned, heap) = iterations(options.clone().pruning(true), most);
        assert_eq!(
            pruned,
            most,
            "{:?} {:?}",
            heap.pruned(),
            heap.pruning_state()
        );
        assert!(heap.pruned().iter().any(|it| it.source() == "Node"));
    });
}

/// What a thread that never ends keeps: its stack is no reference that can be cut, what hangs on it is.
#[test]
fn a_stack_that_holds_the_leak_is_told() {
    for_each_collector(|options| {
        let quiet = Reaction::Call(Arc::new(|_| {}));
        let heap = options.pruning(true).pruning_reaction(quiet);
        let heap = heap.build().unwrap();
        let mut m = heap.attach("connection").unwrap();
        let holder = m
            .alloc(NodeInit {
                number: 0,
                next: None,
                load: None,
            })
            .unwrap();
        for number in 1..100_000 {
            let mut m = m.scope();
            let load = m.alloc_refs::<Object>(100).unwrap();
            let node = m.alloc(NodeInit {
                number,
                next: None,
                load: Some(load),
            });
            let node = node.unwrap();
            m[node].next.set(m[holder].next.get());
            m[holder].next.set(Some(&m[node]));
        }
        let findings = heap.findings();
        let findings = findings.iter().map(|it| &it.finding);
        let pruned: Vec<_> = findings.filter(|it| it.kind == "pruned").collect();
        assert!(!pruned.is_empty());
        for finding in pruned {
            let text = finding.to_string();
            assert!(text.contains("thread:connection"), "{text}");
            assert!(text.contains("a thread's stack holds"), "{text}");
        }
        assert_eq!(m[holder].number, 0, "it is all there");
    });
}
