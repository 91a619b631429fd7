//! PHALANX, figures 9 to 11: `is_shared` on an object that is not, in a heap with numerous
//! threads, arrays and linked objects, so that the whole heap is walked; beside it a plain
//! mark of the same heap, and a capture.

use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Duration;

use heaphound::probe::Probes;
use heaphound::view::HeapView;
use heaphound::{
    Collector, Header, Heap, Local, Managed, Mutator, PlainData, RefArray, Root, Slot,
};

use crate::measure::{interleave, time};
use crate::report::Report;
use crate::{Failed, Options, Progress, callgrind};

/// An element of a list: linked on, with peers somewhere, and data that it shares with
/// some of its neighbours.
#[derive(Managed)]
#[repr(C)]
struct Node {
    header: Header,
    id: u64,
    next: Slot<Node>,
    peers: [Slot<Node>; 2],
    data: Slot<Leaf>,
}

#[derive(Managed)]
#[repr(C)]
struct Leaf {
    header: Header,
    value: u64,
}

/// Stands for a thread, and holds its lists.
#[derive(Managed)]
#[repr(C)]
struct Worker {
    header: Header,
    lists: Slot<RefArray<Node>>,
}

/// Threads of the program that is probed.
const THREADS: usize = 16;
/// Nodes of a list.
const LENGTH: usize = 50;
/// Nodes that share their data.
const SHARING: usize = 4;

/// Runs `f` on a heap with about that many objects, whose threads wait meanwhile; `target`
/// is an object with one predecessor.
fn with_heap<R>(
    objects: usize,
    collector_threads: usize,
    f: impl FnOnce(&Heap, &mut Mutator<'_>, &Root<Leaf>) -> R,
) -> Result<R, Failed> {
    let heap = Heap::builder()
        .collector(Collector::MarkSweep)
        .collector_threads(collector_threads)
        .max_bytes(4 << 30)
        .initial_bytes(2 << 30)
        .build()?;
    let built = Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        let mut done = Vec::new();
        for number in 0..THREADS {
            let (end, ended) = mpsc::channel::<()>();
            done.push(end);
            let (heap, built) = (&heap, &built);
            scope.spawn(move || {
                let mut m = heap
                    .attach(format!("worker-{number}"))
                    .expect("attached once");
                let lists = build(&mut m, objects / THREADS, number as u64);
                let worker = m.alloc(WorkerInit { lists: Some(lists) }).expect("room");
                m.set_thread_object(Some(&m[worker]));
                m.blocked(|| {
                    built.wait();
                    // Until the sender is dropped.
                    let _ = ended.recv();
                });
            });
        }
        built.wait();
        let mut m = heap.attach("main").expect("attached once");
        let target = {
            let leaf = m.alloc(LeafInit { value: 0 }).expect("room");
            let node = m.alloc(NodeInit {
                id: 0,
                next: None,
                peers: [None; 2],
                data: Some(leaf),
            });
            let node = node.expect("room");
            m.static_root::<Node>("holder").set(&m, Some(&m[node]));
            m.root(&m[leaf])
        };
        let result = f(&heap, &mut m, &target);
        drop(m);
        drop(done);
        Ok(result)
    })
}

/// Lists in an array. The nodes of all lists are made in turn, so that a list lies scattered.
fn build<'a>(m: &mut Mutator<'a>, objects: usize, seed: u64) -> Local<'a, RefArray<Node>> {
    let count = (objects * SHARING / (SHARING + 1) / LENGTH).max(1);
    let lists = m.alloc_refs::<Node>(count).expect("room");
    let data = m.alloc_refs::<Leaf>(1).expect("room");
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for id in 0..count * LENGTH {
        let mut m = m.scope();
        if id % SHARING == 0 {
            let leaf = m.alloc(LeafInit { value: id as u64 }).expect("room");
            m[data][0].set(Some(&m[leaf]));
        }
        let list = id % count;
        let next = m[lists][list].get().map(|next| m.local(next));
        let peers = [(); 2].map(|()| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let peer = m[lists][random as usize % count].get();
            peer.map(|peer| m.local(peer))
        });
        let data = m[data][0].get().map(|data| m.local(data));
        let id = id as u64;
        let node = m
            .alloc(NodeInit {
                id,
                next,
                peers,
                data,
            })
            .expect("room");
        m[lists][list].set(Some(&m[node]));
    }
    lists
}

fn mark(heap: &Heap, m: &mut Mutator<'_>) -> Duration {
    m.collect();
    let stats = heap.stats();
    stats.history.back().expect("one just took place").mark_time
}

fn probe(m: &mut Mutator<'_>, target: &Root<Leaf>, threads: usize) -> Duration {
    m.inspect(|view| {
        let target = view.id(target).expect("it lives");
        time(|| {
            let probes = Probes::of(view).threads(threads);
            assert!(!probes.is_shared(target), "the whole heap must be walked");
        })
    })
}

pub(crate) fn run(options: &Options, progress: Progress<'_>) -> Result<Report, Failed> {
    let mut report = Report::new("probes");
    let (sizes, rounds): (&[usize], _) = match options.quick {
        true => (&[1, 4], 7),
        false => (&[1, 4, 8], 15),
    };
    for &millions in sizes {
        progress(&format!(
            "a heap of {millions} M objects, one collector thread"
        ));
        let last = Some(&millions) == sizes.last();
        let size = |id: &str| format!("{id}.{millions}m");
        with_heap(millions * 1_000_000, 1, |heap, m, target| {
            let cell = std::cell::RefCell::new(m);
            let mut snapshot = None;
            let taken = interleave(
                rounds,
                &mut [
                    &mut || mark(heap, &mut cell.borrow_mut()),
                    &mut || probe(&mut cell.borrow_mut(), target, 1),
                    &mut || probe(&mut cell.borrow_mut(), target, 2),
                    &mut || {
                        snapshot = None;
                        time(|| snapshot = Some(cell.borrow_mut().capture(PlainData::Omit)))
                    },
                ],
            );
            let snapshot = snapshot.expect("captured");
            let (objects, edges) = (snapshot.len() as f64, snapshot.edges() as f64);
            let mut ratios = |id: &dyn Fn(&str) -> String| {
                report.lower(&id("probes.vs_mark"), None, taken.ratio(1, 0), "×");
                report.higher(
                    &id("probes.speedup_2_threads"),
                    None,
                    taken.ratio(1, 2),
                    "×",
                );
                report.lower(&id("probes.capture_vs_mark"), None, taken.ratio(3, 0), "×");
            };
            ratios(&size);
            if last {
                ratios(&|id| id.to_string());
                let (object_bytes, edge_bytes, _) = snapshot.memory_bytes();
                report.lower(
                    "probes.capture_bytes_per_object",
                    None,
                    object_bytes as f64 / objects,
                    "bytes",
                );
                report.lower(
                    "probes.capture_bytes_per_edge",
                    None,
                    edge_bytes as f64 / edges,
                    "bytes",
                );
                let million = |count: f64, thing| count / 1e6 / taken.median(thing);
                report.higher(
                    "probes.edges_per_s",
                    None,
                    million(edges, 1),
                    "M edges/s, 1 thread",
                );
                report.higher("probes.vs_jvmti", Some(5.0), million(edges, 1) / 17.5, "×");
                report.lower(
                    "probes.capture_5m_s",
                    None,
                    5e6 / objects * taken.median(3),
                    "s for 5 M objects",
                );
                let (low, high) = taken.spread(1, 0);
                report.note(format!(
                    "{objects} objects with {:.2} edges each, {THREADS} threads, {} classes; {rounds} rounds, interleaved, \
                     medians; half of the ratios probe to mark lie between {low:.2} and {high:.2}",
                    edges / objects,
                    snapshot.classes().len(),
                ));
            }
            report.lower(&size("probes.mark_ms"), None, taken.median(0) * 1e3, "ms");
            report.lower(&size("probes.probe_ms"), None, taken.median(1) * 1e3, "ms");
        })?;
    }
    report.note(
        "probes.vs_mark and the other rows without a size are those of the largest heap. The paper's figure 9 \
         shows a nearly linear speed-up to 8 cores, without numbers",
    );
    report.note(
        "probes.vs_jvmti: the paper's probes are about 5 times as fast on one core as the same over \
         JVMTI. Ours is measured against 17.5 M edges/s, the middle of what a FollowReferences walk \
         of a stock JDK 17 does on a machine of this size (15 to 20); a full tagged capture of 5 M \
         objects takes 4 s there, to set beside probes.capture_5m_s; ours is without plain data",
    );
    progress("instructions, counted by callgrind");
    let (trace, probe) = (
        callgrind::instructions("trace"),
        callgrind::instructions("probe"),
    );
    match (trace, probe) {
        (Some(trace), Some(probe)) => {
            report.lower("probes.vs_trace.instructions", None, probe / trace, "×");
            report.note(format!(
                "instructions, counted by callgrind on 100,000 objects, as a second witness: {trace:.0} for the \
                 same trace without a visitor, {probe:.0} for the probe"
            ));
        }
        _ => report.note("valgrind is not there, so that instructions were not counted"),
    }
    Ok(report)
}

/// Does one of the things whose instructions are counted.
pub(crate) fn count(what: &str, times: usize) -> bool {
    let thing: fn(&mut Mutator<'_>, &Root<Leaf>) = match what {
        // The collector's loop with the mark of a probe and without a visitor.
        "trace" => |m, _| {
            m.inspect(|view| {
                use heaphound::root::RootSet;
                use heaphound::trace::{Filter, Phase, Traceable, Visits};
                let mut visits = view.visits();
                visits.reserve(1);
                let mut starts = Vec::new();
                view.for_each_root_target(RootSet::All, |object| starts.push(object));
                let phase = Phase {
                    starts,
                    filter: Filter::Follow,
                    mark: visits.fresh(),
                };
                view.trace(&mut visits, &phase, vec![()]);
            });
        },
        "probe" => |m, target| {
            probe(m, target, 1);
        },
        _ => return false,
    };
    with_heap(100_000, 1, |_, m, target| {
        for _ in 0..times {
            thing(m, target);
        }
    })
    .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_has_one_predecessor_and_the_heap_is_as_large_as_it_says() {
        with_heap(100_000, 2, |_, m, target| {
            assert_eq!(m.pred_count(target).unwrap(), 1);
            probe(m, target, 2);
            let snapshot = m.capture(PlainData::Omit);
            assert!(
                (95_000..105_000).contains(&snapshot.len()),
                "{}",
                snapshot.len()
            );
            assert_eq!(snapshot.threads().len(), THREADS + 1);
        })
        .unwrap();
    }

    #[test]
    fn what_is_counted_can_be_done() {
        assert!(count("trace", 2) && count("probe", 2));
        assert!(!count("nothing", 1));
    }
}
