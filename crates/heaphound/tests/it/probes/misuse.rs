//! Probes of the live heap by safe code that does everything wrong.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use heaphound::path::Search;
use heaphound::root::RootSet;
use heaphound::trace::{Examiner, Filter, Phase, Traceable, Visit, Visitor, Visits};
use heaphound::view::HeapView;
use heaphound::{
    ClassId, Collector, Header, Heap, HeapBuilder, Local, Managed, Mutator, PlainData, PlainKind,
    Probes, Slot, WeakSlot,
};

#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    value: u64,
    next: Slot<Node>,
    weak: WeakSlot<Node>,
}

fn node<'a>(m: &mut Mutator<'a>, value: u64) -> Local<'a, Node> {
    let (next, weak) = (None, None);
    m.alloc(NodeInit { value, next, weak }).unwrap()
}

fn heaps() -> impl Iterator<Item = HeapBuilder> {
    [Collector::MarkSweep, Collector::Generational]
        .into_iter()
        .flat_map(|collector| {
            [1, 4].map(|threads| {
                Heap::builder()
                    .collector(collector)
                    .collector_threads(threads)
                    .max_bytes(64 << 20)
            })
        })
}

/// a (a root) → b → c, where only a is a root.
fn chain<'a>(m: &mut Mutator<'a>) -> Local<'a, Node> {
    let a = node(m, 1);
    let mut m = m.scope();
    let (b, c) = (node(&mut m, 2), node(&mut m, 3));
    m[a].next.set(Some(&m[b]));
    m[b].next.set(Some(&m[c]));
    a
}

/// Allocates over what has been freed, and reads the chain again.
fn values(m: &mut Mutator<'_>, a: Local<'_, Node>) -> Vec<u64> {
    for i in 0..10_000 {
        node(&mut m.scope(), 1_000_000 + i);
    }
    let mut found = Vec::new();
    let mut next = Some(&m[a]);
    while let Some(node) = next {
        found.push(node.value);
        next = node.next.get();
        if found.len() > 5 {
            break;
        }
    }
    found
}

/// Soundness. A mark that an object carries from an *earlier* view (marks are not cleared
/// between views) is not tainted when a collection's view begins.
#[test]
fn a_mark_of_an_earlier_view_frees_live_objects() {
    for builder in heaps() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let a = chain(&mut m);
        m.collect();
        // b carries a mark that was honestly got.
        let old = m.inspect(|view| {
            let mut visits = view.visits();
            visits.reserve(1);
            let old = visits.fresh();
            let a = view.id(a).unwrap();
            view.for_each_strong_edge(a, |_, b| {
                visits.set(b, old);
            });
            old
        });
        m.inspect_and_collect(|view| {
            let mut visits = view.visits();
            let phase = Phase {
                starts: vec![view.id(a).unwrap()],
                filter: Filter::Follow,
                mark: old,
            };
            view.trace(&mut visits, &phase, vec![()]);
        });
        assert_eq!(values(&mut m, a), [1, 2, 3]);
    }
}

/// Soundness. The same with a mark made by hand: 0 is carried by all new objects.
#[test]
fn the_default_mark_frees_live_objects() {
    for builder in heaps() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let a = chain(&mut m);
        m.collect();
        // To refuse such a mark is fine.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            m.inspect_and_collect(|view| {
                let mut visits = view.visits();
                let a = view.id(a).unwrap();
                visits.reserve(1);
                let other = visits.fresh();
                visits.set(a, other);
                let phase = Phase {
                    starts: vec![a],
                    filter: Filter::Follow,
                    mark: Visit::default(),
                };
                // `set` taints `other`, not the mark that the trace uses.
                view.trace(&mut visits, &phase, vec![()]);
            })
        }));
        assert_eq!(values(&mut m, a), [1, 2, 3]);
    }
}

/// Soundness. `fresh` takes the taint off a number that objects carry: by hand, before it
/// was given out.
#[test]
fn a_mark_set_before_it_was_given_out_frees_live_objects() {
    for builder in heaps() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let a = chain(&mut m);
        m.collect();
        // To refuse such a mark is fine.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            m.inspect_and_collect(|view| {
                let mut visits = view.visits();
                let a = view.id(a).unwrap();
                visits.reserve(100);
                let next = Visit(visits.fresh().0 + 1);
                view.for_each_strong_edge(a, |_, b| {
                    visits.set(b, next);
                });
                let mark = visits.fresh();
                let phase = Phase {
                    starts: vec![a],
                    filter: Filter::Follow,
                    mark,
                };
                view.trace(&mut visits, &phase, vec![()]);
            })
        }));
        assert_eq!(values(&mut m, a), [1, 2, 3]);
    }
}

/// Wrong answer: marks set by hand (or kept from an earlier view) make later questions and
/// captures of other views miss objects without a word.
#[test]
fn a_mark_made_by_hand_hides_objects_from_a_later_capture() {
    for builder in heaps() {
        let heap = builder.build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let a = chain(&mut m);
        // To refuse such a mark is fine.
        let _ = catch_unwind(AssertUnwindSafe(|| {
            m.inspect(|view| {
                let mut visits = view.visits();
                let a = view.id(a).unwrap();
                visits.reserve(100);
                let next = Visit(visits.fresh().0 + 1);
                view.for_each_strong_edge(a, |_, b| {
                    visits.set(b, next);
                });
            })
        }));
        assert_eq!(m.capture(PlainData::Omit).len(), 3);
    }
}

/// Soundness. Between looking at `keep` and stopping the world, another thread may have
/// invalidated it; then the header of no object is written: SIGSEGV.
#[test]
#[cfg_attr(not(feature = "barrier"), ignore = "nothing is invalidated")]
fn two_threads_that_want_the_same_object_for_themselves() {
    for builder in heaps() {
        let heap = builder.invalidation(true).build().unwrap();
        let (send, receive) = channel();
        let (asked, was_asked) = channel();
        thread::scope(|scope| {
            let heap = &heap;
            scope.spawn(move || {
                let mut m = heap.attach("other").unwrap();
                let root = m.blocked(|| receive.recv().unwrap());
                let keep = {
                    let object: &Node = &m[&root];
                    m.local(object)
                };
                drop(root);
                asked.send(()).unwrap();
                // Waits for the first thread, which does not come to a safepoint.
                m.unique(keep).unwrap();
            });
            let mut m = heap.attach("main").unwrap();
            let keep = node(&mut m, 1);
            send.send(m.root(&m[keep])).unwrap();
            // Runs meanwhile, so that the other one waits for this one.
            was_asked.recv().unwrap();
            thread::sleep(Duration::from_millis(50));
            let lost = catch_unwind(AssertUnwindSafe(|| m.unique(keep)));
            assert!(lost.is_err(), "this one was too late: {:?}", lost.ok());
        });
    }
}

struct Bomb;

impl<O> Visitor<O> for Bomb {
    type Tag = ();
    fn object(&mut self, _: O) {
        panic!("on purpose");
    }
}

impl<O> Examiner<O> for Bomb {
    fn wants(&self, _: ClassId) -> bool {
        true
    }
    fn examine(&mut self, _: &[O]) {
        panic!("on purpose");
    }
}

/// Traces all that the roots reach with bombs: visitors or examiners.
fn explode<T: Traceable>(view: &T, threads: usize, examines: bool) {
    let mut starts = Vec::new();
    view.for_each_root_target(RootSet::All, |object| starts.push(object));
    let mut visits = view.visits();
    visits.reserve(1);
    let phase = Phase {
        starts,
        filter: Filter::Follow,
        mark: visits.fresh(),
    };
    let mut bombs: Vec<Bomb> = (0..threads).map(|_| Bomb).collect();
    match examines {
        false => drop(view.trace(&mut visits, &phase, bombs)),
        true => {
            let bombs = bombs.iter_mut().map(|it| it as &mut dyn Examiner<_>);
            view.survey(&mut visits, &phase, bombs.collect());
        }
    }
}

/// Runs `f` on a thread of its own; tells whether it ended within two minutes.
fn ends(f: impl FnOnce() + Send + 'static) -> bool {
    let (send, receive) = channel();
    thread::spawn(move || {
        let _ = catch_unwind(AssertUnwindSafe(f));
        let _ = send.send(());
    });
    receive.recv_timeout(Duration::from_secs(120)).is_ok()
}

#[test]
fn a_visitor_that_panics_on_a_thread_of_four_ends_the_question() {
    for (collects, examines) in [(false, false), (false, true), (true, false), (true, true)] {
        for threads in [1, 4] {
            assert!(
                ends(move || {
                    let heap = Heap::builder().collector_threads(threads).build().unwrap();
                    let mut m = heap.attach("main").unwrap();
                    let a = chain(&mut m);
                    let result = catch_unwind(AssertUnwindSafe(|| match collects {
                        false => m.ask(|heap| explode(heap.view(), threads, examines)),
                        true => m.ask_and_collect(|heap| explode(heap.view(), threads, examines)),
                    }));
                    assert!(result.is_err());
                    m.collect();
                    assert_eq!(values(&mut m, a), [1, 2, 3]);
                }),
                "{threads} threads wait for ever (collecting: {collects})"
            );
        }
    }
}

#[test]
fn a_visitor_that_panics_over_a_snapshot_ends_the_question() {
    for (threads, examines) in [(1, false), (4, false), (1, true), (4, true)] {
        assert!(
            ends(move || {
                let heap = Heap::builder().build().unwrap();
                let mut m = heap.attach("main").unwrap();
                chain(&mut m);
                let snapshot = m.capture(PlainData::Omit);
                explode(&snapshot, threads, examines);
            }),
            "{threads} threads wait for ever"
        );
    }
}

/// Roots are "ordered by kind, name and index"; the text of the scope comes before the
/// index, so that line 100 comes before line 99.
#[test]
fn roots_are_ordered_by_kind_name_and_index() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    let a = node(&mut m, 1);
    fn deep(m: &mut Mutator<'_>, a: Local<'_, Node>) {
        m.local(&m[a]);
        #[rustfmt::skip]
        fn at_another_line(m: &mut Mutator<'_>, a: Local<'_, Node>, f: impl FnOnce(&mut Mutator<'_>)) {
            let mut m = m.scope();
            m.local(&m[a]);
            f(&mut m);
        }
        at_another_line(m, a, |m| {
            let mut indices = Vec::new();
            m.inspect(|view| view.for_each_root(|root, _| indices.push(root.index)));
            let mut sorted = indices.clone();
            sorted.sort();
            assert_eq!(indices, sorted);
        });
    }
    // Three scopes, opened at lines whose texts are not in the order of the stack.
    let mut m = m.scope();
    deep(&mut m, a);
    let path = m.ask(|heap| {
        let a = heap.id(a).unwrap();
        heap.path(&Search::everywhere(), a)
            .unwrap()
            .root
            .unwrap()
            .index
    });
    assert_eq!(path, 0, "the first root that holds it");
}

/// An entry whose key is invalidated while it is being inserted breaks its map for good.
#[test]
#[cfg_attr(not(feature = "barrier"), ignore = "nothing is invalidated")]
fn a_weak_map_survives_a_key_that_is_invalidated_while_it_is_inserted() {
    for builder in heaps() {
        let heap = builder.invalidation(true).zeal(1).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let map = m.alloc_weak_map::<Node, Node>().unwrap();
        let (first, key) = (node(&mut m, 1), node(&mut m, 2));
        m.weak_map_insert(map, first, first).unwrap();
        let root = m.root(&m[key]);
        {
            let mut m = m.scope();
            let dead = node(&mut m, 3);
            m.on_death(&m[dead], move |m, _| {
                let keep = m.local(&m[&root]);
                m.unique(keep).unwrap();
            });
        }
        let inserted = catch_unwind(AssertUnwindSafe(|| {
            m.weak_map_insert(map, key, first).unwrap();
        }));
        println!("inserted: {}", inserted.is_ok());
        let len = catch_unwind(AssertUnwindSafe(|| m[map].len()));
        assert_eq!(len.ok(), Some(1), "the map can still be used");
        for value in 0..20 {
            let key = node(&mut m, value);
            m.weak_map_insert(map, key, first).unwrap();
        }
    }
}

/// A class says what its plain data is; a value that is none of that kind must not bring the
/// capture down, nor make a file that cannot be read.
#[test]
fn a_capture_with_odd_plain_data() {
    let heap = Heap::builder().build().unwrap();
    let class = heap.define_class("Odd");
    let class = class.plain("none", PlainKind::Enum { variants: &[] });
    let class = class.define().unwrap();
    let mut m = heap.attach("main").unwrap();
    m.alloc_instance(&class).unwrap();
    let snapshot = m.capture(PlainData::All);
    assert_eq!(snapshot.len(), 1);
    for name in ["odd.hhs", "odd.heap"] {
        let path =
            std::env::temp_dir().join(format!("heaphound-probed-{}-{name}", std::process::id()));
        m.write_heap(&path, PlainData::All).unwrap();
        let read = heaphound::file::read_file(&path, &mut |_, _| {});
        std::fs::remove_file(&path).unwrap();
        assert!(read.is_ok(), "{name}: {:?}", read.err());
    }
}

/// A handle that is dropped while the heap is asked, and pruned because many others are made,
/// leaves what was traced from it marked: floating garbage, which zeal takes for a mistake
/// of the collector and aborts.
#[test]
fn a_handle_that_goes_while_the_heap_is_asked() {
    for builder in heaps() {
        let heap = builder.zeal(1_000_000).build().unwrap();
        let mut m = heap.attach("main").unwrap();
        let kept = node(&mut m, 1);
        let mut root = {
            let mut m = m.scope();
            let it = node(&mut m, 2);
            Some(m.root(&m[it]))
        };
        m.inspect_and_collect(|view| {
            let id = view.id(root.as_ref()).unwrap();
            let probes = Probes::of(view);
            assert_eq!(probes.reach(id).len(), 1);
            root = None;
            let kept = view.id(kept).unwrap();
            for _ in 0..3000 {
                view.root(kept);
            }
        });
        assert_eq!(m[kept].value, 1);
    }
}

/// A class of one's own that says one thing of its plain data and stores another.
#[derive(Clone, Copy)]
struct Odd(u8);

impl heaphound::Plain for Odd {
    type Cell = std::sync::atomic::AtomicU8;
    const KIND: PlainKind = PlainKind::Bool;
    fn to_bits(self) -> u8 {
        self.0
    }
    fn from_bits(bits: u8) -> Self {
        Self(bits)
    }
}

#[test]
fn a_capture_of_plain_data_that_is_not_what_it_says() {
    let heap = Heap::builder().build().unwrap();
    let mut m = heap.attach("main").unwrap();
    m.alloc_plain(3, Odd(7)).unwrap();
    assert_eq!(m.capture(PlainData::All).len(), 1);
    for name in ["odd2.hhs", "odd2.heap"] {
        let path =
            std::env::temp_dir().join(format!("heaphound-probed-{}-{name}", std::process::id()));
        m.write_heap(&path, PlainData::All).unwrap();
        let read = heaphound::file::read_file(&path, &mut |_, _| {});
        std::fs::remove_file(&path).unwrap();
        assert!(read.is_ok(), "{name}: {:?}", read.err());
    }
}
