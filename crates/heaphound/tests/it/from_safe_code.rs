//! What a program can try without `unsafe`: panics in panics, names that ask, threads that end, and everything at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use heaphound::{Header, Heap, HeapBuilder, Managed, Mutator, Slot};

#[derive(Managed)]
#[repr(C)]
pub struct Node {
    header: Header,
    id: u64,
    next: Slot<Node>,
}

fn small() -> HeapBuilder {
    Heap::builder()
        .max_bytes(64 << 20)
        .initial_bytes(1 << 20)
        .nursery_bytes(256 << 10)
        .collector_threads(1)
}

/// Repeatable picks.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end as u64) as usize
    }
}

/// Runs `f` in a process of its own, which must end well within half a minute.
fn in_child(test: &str, f: impl FnOnce()) {
    if std::env::var("HEAPHOUND_CHILD").as_deref() == Ok(test) {
        f();
        return;
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            &format!("from_safe_code::{test}"),
            "--nocapture",
            "--test-threads=1",
        ])
        .env("HEAPHOUND_CHILD", test)
        .spawn()
        .unwrap();
    let begin = std::time::Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "the child ended with {status}");
            return;
        }
        if begin.elapsed().as_secs() > 30 {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("the child hangs");
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// A mutator in a thread local is dropped while the thread ends.
#[test]
fn a_mutator_is_dropped_by_a_thread_that_ends() {
    use std::cell::RefCell;
    in_child("a_mutator_is_dropped_by_a_thread_that_ends", || {
        thread_local!(static M: RefCell<Option<Mutator<'static>>> = const { RefCell::new(None) });
        let heap: &'static Heap = Box::leak(Box::new(small().build().unwrap()));
        for early in [true, false] {
            let thread = std::thread::spawn(move || {
                if early {
                    M.with(|_| ());
                }
                let mut m = heap.attach("ends").unwrap();
                m.alloc(NodeInit { id: 1, next: None }).unwrap();
                M.with(|it| *it.borrow_mut() = Some(m));
            });
            thread.join().unwrap();
        }
        let mut m = heap.attach("main").unwrap();
        m.collect();
    });
}

struct Bomb;
impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("bomb");
        }
    }
}

/// What a callback panics with may panic when it is dropped: at the heap's end, that leaves owned memory undropped.
#[test]
fn a_callback_at_the_heaps_end_panics_twice() {
    use heaphound::{AssertionKind, Reaction};
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Counts;
    impl Drop for Counts {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Relaxed);
        }
    }
    #[derive(Managed)]
    #[repr(C)]
    struct Owner {
        header: Header,
        #[managed(owned)]
        counts: Counts,
    }
    let heap = small().build().unwrap();
    let call = std::sync::Arc::new(|_: &heaphound::finding::Finding| std::panic::panic_any(Bomb));
    heap.set_reaction(AssertionKind::Dead, Reaction::Call(call));
    {
        let mut m = heap.attach("main").unwrap();
        let owner = m.alloc(OwnerInit { counts: Counts }).unwrap();
        m.assert_dead(owner);
    }
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(heap)));
    assert!(dropped.is_ok(), "dropping a heap panics");
    assert_eq!(DROPPED.load(Relaxed), 1, "owned memory is not dropped");
}

/// A name is made while the table of classes is locked: a `Debug` of the program's that asks for classes hangs.
mod a_name_that_asks {
    use super::*;
    use std::cell::Cell;
    use std::fmt;

    thread_local!(static M: Cell<Option<&'static Mutator<'static>>> = const { Cell::new(None) });

    #[derive(Clone, Copy)]
    pub struct Asks;
    impl fmt::Debug for Asks {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let known = M.get().map_or(0, |m| m.classes().len());
            write!(f, "{known}")
        }
    }
    const ASKS: Asks = Asks;

    #[repr(C)]
    pub struct Named {
        header: Header,
    }

    heaphound::support::managed! {
        docs: "", pub class: Named, init: NamedInit,
        impls: [], types: [],
        bounds: [], above: [Any, Up, <Any, Up>], above_bounds: [],
        init_impls: [], init_types: [],
        name: "Named", arguments: [(constant ASKS)],
        first: header, superclass: [], interfaces: [],
        caption: [],
        fields: []
    }

    #[test]
    fn hangs() {
        in_child("a_name_that_asks::hangs", || {
            let heap: &'static Heap = Box::leak(Box::new(small().build().unwrap()));
            let m: &'static Mutator<'static> = Box::leak(Box::new(heap.attach("main").unwrap()));
            M.set(Some(m));
            m.know_class::<Named>();
        });
    }
}

/// A caption that is no field at all, and an enum whose numbers are lies.
#[allow(unreachable_patterns)]
mod caption_of_nothing {
    use super::*;
    use heaphound::Var;

    #[repr(C)]
    pub struct Empty {
        header: Header,
        none: [Slot<Node>; 0],
    }

    heaphound::support::managed! {
        docs: "", pub class: Empty, init: EmptyInit,
        impls: [], types: [],
        bounds: [], above: [Any, Up, <Any, Up>], above_bounds: [],
        init_impls: [<'managed>], init_types: [<'managed>],
        name: "Empty", arguments: [],
        first: header, superclass: [], interfaces: [],
        caption: [0 u32],
        fields: [{ docs: [], pub name: none, text: "none", stored: itself, type: [Slot<Node>; 0] }]
    }

    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(u8)]
    pub enum Odd {
        A = 200,
        B = 7,
    }
    heaphound::support::plain_enum! { Odd: A, A "A" 255, B "B" 255 }

    #[derive(Managed)]
    #[repr(C)]
    struct HasOdd {
        header: Header,
        #[managed(caption)]
        odd: Odd,
        var: Var<Odd>,
    }

    #[test]
    fn collects_and_reports() {
        in_child("caption_of_nothing::collects_and_reports", || {
            let heap = small().build().unwrap();
            let mut m = heap.attach("main").unwrap();
            let empty = m.alloc(EmptyInit { none: [] }).unwrap();
            let odd = m
                .alloc(HasOddInit {
                    odd: Odd::A,
                    var: Odd::B,
                })
                .unwrap();
            m.assert_dead(empty);
            m.assert_dead(odd);
            m.collect();
            for known in heap.findings() {
                println!("{}", known.finding);
            }
            let dir = std::env::temp_dir().join(format!("attack-{}.heap", std::process::id()));
            m.write_heap(&dir, heaphound::PlainData::All).ok();
            println!("{}", std::fs::read_to_string(&dir).unwrap_or_default());
            std::fs::remove_file(&dir).ok();
            assert_eq!(m[odd].odd, Odd::A);
        });
    }
}

/// "All of it, though a callback panics": the second payload is dropped on the way, and may panic.
#[test]
fn findings_are_lost_when_two_callbacks_panic() {
    use heaphound::Reaction;
    let heap = small().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    let nodes: Vec<_> = (0..4)
        .map(|id| m.alloc(NodeInit { id, next: None }).unwrap())
        .collect();
    for node in nodes {
        let call = std::sync::Arc::new(|_: &heaphound::finding::Finding| {
            TOLD.fetch_add(1, Relaxed);
            std::panic::panic_any(Bomb);
        });
        // A place of its own for each, so that they are four findings.
        m.expect()
            .message(format!("{}", m[node].id))
            .reaction(Reaction::Call(call))
            .dead(node);
    }
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| m.collect())) {
        std::mem::forget(payload);
    }
    assert_eq!(TOLD.load(Relaxed), 4);
}

/// Weak maps, names, captions, moving, captures and findings on two threads with zeal: held if it passes.
#[test]
fn features_together() {
    use heaphound::{Collector, Local, WeakMap};
    let cases = [
        (Collector::MarkSweep, 5),
        (Collector::Generational, 5),
        (Collector::Generational, 97),
    ];
    for (collector, zeal) in cases {
        let heap = small().collector(collector).zeal(zeal).build().unwrap();
        let growth = heaphound::Growth::new().register(&heap, None);
        let shapes = heaphound::Shapes::learning(heaphound::analysis::shape::Profile::default())
            .register(&heap, None);
        std::thread::scope(|s| {
            for thread in 0..2u64 {
                let heap = &heap;
                s.spawn(move || {
                    let mut m = heap.attach(format!("t{thread}")).unwrap();
                    let map: Local<'_, WeakMap<Node, Node>> = m.alloc_weak_map().unwrap();
                    let kept = m
                        .alloc(NodeInit {
                            id: u64::MAX,
                            next: None,
                        })
                        .unwrap();
                    let name = format!("{:?}", m[kept].as_object());
                    for round in 0..150u64 {
                        let mut m = m.scope();
                        let next = m[kept].next.get().map(|it| m.local(it));
                        let key = m.alloc(NodeInit { id: round, next }).unwrap();
                        let value = m
                            .alloc(NodeInit {
                                id: !round,
                                next: Some(key),
                            })
                            .unwrap();
                        m.weak_map_insert(map, key, value).unwrap();
                        let named = format!("{:?}", m[key].as_object());
                        if round % 3 == 0 {
                            m[kept].next.set(Some(&m[key]));
                        }
                        if round % 40 == 7 {
                            m.collect();
                            m.assert_dead(key);
                        }
                        if round % 50 == 3 {
                            m.capture(heaphound::PlainData::All);
                            m.collect_nursery();
                        }
                        assert_eq!(named, format!("{:?}", m[key].as_object()));
                        assert_eq!(m[map].get(&m[key]).unwrap().id, !round);
                        m[map].for_each(|key, value| assert_eq!(key.id, !value.id));
                    }
                    assert_eq!(name, format!("{:?}", m[kept].as_object()));
                });
            }
        });
        drop((growth, shapes));
    }
}

/// Threads over three heaps that inspect, collect, block, attach, finalize and panic: nobody waits for ever.
#[test]
fn heaps_and_threads_at_random() {
    in_child("heaps_and_threads_at_random", || {
        fn act(
            heaps: &[&'static Heap],
            ms: &mut [Option<Mutator<'static>>],
            dice: &mut Dice,
            depth: usize,
        ) {
            let at = dice.below(heaps.len());
            let Some(mut m) = ms[at].take() else {
                if let Ok(m) = heaps[at].attach("again") {
                    ms[at] = Some(m);
                }
                return;
            };
            match dice.below(9) {
                0 => m.collect(),
                1 => m.collect_nursery(),
                2 if depth > 0 => m.inspect(|_| act(heaps, ms, dice, depth - 1)),
                3 if depth > 0 => m.blocked(|| act(heaps, ms, dice, depth - 1)),
                4 if depth > 0 => m.ask(|_| act(heaps, ms, dice, depth - 1)),
                5 if depth > 0 => m.inspect_and_collect(|_| act(heaps, ms, dice, depth - 1)),
                6 => {
                    let mut m = m.scope();
                    let node = m.alloc(NodeInit { id: 1, next: None }).unwrap();
                    let other = heaps[(at + 1) % heaps.len()];
                    m.on_death(&m[node], move |m, _| {
                        if let Ok(mut it) = m.blocked(|| other.attach("finalizer")) {
                            let _ = catch_unwind(AssertUnwindSafe(|| m.blocked(|| it.collect())));
                        }
                    });
                }
                7 if dice.below(20) == 0 => return,
                _ => {
                    for id in 0..200 {
                        m.scope().alloc(NodeInit { id, next: None }).unwrap();
                    }
                }
            }
            if ms[at].is_none() {
                ms[at] = Some(m);
            }
        }
        std::panic::set_hook(Box::new(|_| ()));
        let seeds = std::env::var("HEAPHOUND_SEEDS").map_or(6, |it| it.parse().unwrap());
        for seed in 0..seeds {
            let heaps: Vec<&'static Heap> = (0..3)
                .map(|_| &*Box::leak(Box::new(small().nursery_bytes(256 << 10).build().unwrap())))
                .collect();
            let panics = AtomicUsize::new(0);
            std::thread::scope(|s| {
                for thread in 0..4u64 {
                    let (heaps, panics) = (&heaps, &panics);
                    s.spawn(move || {
                        let mut dice = Dice(seed * 100 + thread + 1);
                        let mut ms = [None, None, None];
                        for _ in 0..400 {
                            let result = catch_unwind(AssertUnwindSafe(|| {
                                act(heaps, &mut ms, &mut dice, 3)
                            }));
                            panics.fetch_add(result.is_err() as usize, Relaxed);
                        }
                    });
                }
            });
            eprintln!("seed {seed}: {} panics", panics.load(Relaxed));
        }
    });
}

/// A wait that closes two circles: in the first, another thread's wait is called off; in the second, its own. Then
/// `begin_wait` returns an error, and with it is lost whom to wake: the other thread sleeps on, though it counts as
/// one that goes on, so that later circles through it are not seen. Two threads wait for ever.
#[test]
fn a_called_off_thread_is_never_woken() {
    in_child("a_called_off_thread_is_never_woken", || {
        let [a, c, d]: [&'static Heap; 3] =
            [(); 3].map(|()| &*Box::leak(Box::new(small().build().unwrap())));
        let step: &'static AtomicUsize = Box::leak(Box::new(AtomicUsize::new(0)));
        let wait_for = move |at| {
            while step.load(Relaxed) < at {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        };
        let nap = || std::thread::sleep(std::time::Duration::from_millis(300));
        let attaches = std::thread::spawn(move || {
            let _in_a = a.attach("attaches").unwrap();
            step.store(1, Relaxed);
            wait_for(3);
            // Either is well: it attaches, or is told that it cannot.
            let _ = d.attach("attaches").is_ok();
        });
        let collects = std::thread::spawn(move || {
            wait_for(1);
            let _in_a = a.attach("collects").unwrap();
            let mut in_c = c.attach("collects").unwrap();
            step.store(2, Relaxed);
            wait_for(4);
            let _ = catch_unwind(AssertUnwindSafe(|| in_c.collect()));
            drop((in_c, _in_a));
            step.store(5, Relaxed);
        });
        wait_for(2);
        let [mut in_a, mut in_c, mut in_d] = [a, c, d].map(|it| it.attach("main").unwrap());
        in_d.inspect(|_| {
            step.store(3, Relaxed);
            nap();
            step.store(4, Relaxed);
            nap();
            let first = catch_unwind(AssertUnwindSafe(|| in_a.collect()));
            assert!(first.is_err());
            while step.load(Relaxed) < 5 {
                in_c.safepoint();
            }
            let _ = catch_unwind(AssertUnwindSafe(|| in_a.collect()));
        });
        drop((in_a, in_c, in_d));
        attaches.join().unwrap();
        collects.join().unwrap();
    });
}
