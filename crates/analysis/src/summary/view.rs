//! Summaries of a view: a snapshot, or a stopped heap outside of a collection.

use heaphound_heap::root::RootSet;
use heaphound_heap::trace::{Filter, Phase, Traceable, Visitor, Visits};

use super::{Counters, Summary};
use crate::slot::{SlotId, SlotIds};

/// Returns the summary of what lives in a view, counted on this thread.
pub fn summarize<T: Traceable>(view: &T) -> Summary {
    let ids = SlotIds::new(view.classes());
    let mut counters = Counters::new(&ids);
    for object in live(view, 1) {
        count(view, &ids, object, &mut counters);
    }
    count_roots(view, &mut counters);
    Counters::merge([counters])
}

/// Returns the summary of what lives in a view that can be shared, counted on several threads.
pub fn summarize_on<T: Traceable + Sync>(view: &T, threads: usize) -> Summary {
    let ids = SlotIds::new(view.classes());
    let objects = live(view, threads);
    let mut workers = on_threads(&objects, threads, |objects| {
        let mut counters = Counters::new(&ids);
        for &object in objects {
            count(view, &ids, object, &mut counters);
        }
        counters
    });
    count_roots(view, &mut workers[0]);
    Counters::merge(workers)
}

fn count<T: Traceable>(view: &T, ids: &SlotIds, object: T::Object, counters: &mut Counters) {
    let class = view.class_of(object);
    counters.object(class, view.bytes_of(object));
    view.for_each_strong_edge(object, |place, to| {
        let slot = ids.at(class, place);
        counters.edge(slot, view.class_of(to), view.bytes_of(to));
    });
}

fn count_roots<T: Traceable>(view: &T, counters: &mut Counters) {
    view.for_each_root_target(RootSet::All, |to| {
        counters.edge(SlotId::ROOT, view.class_of(to), view.bytes_of(to));
    });
}

/// Returns every live object once, in any order.
pub(crate) fn live<T: Traceable>(view: &T, threads: usize) -> Vec<T::Object> {
    let mut starts = Vec::new();
    view.for_each_root_target(RootSet::All, |object| starts.push(object));
    let mut visits = view.visits();
    visits.reserve(1);
    let phase = Phase {
        starts,
        filter: Filter::Follow,
        mark: visits.fresh(),
    };
    let visitors = (0..threads.max(1)).map(|_| Live(Vec::new())).collect();
    let (_, visitors) = view.trace(&mut visits, &phase, visitors);
    let mut lists = visitors.into_iter().map(|Live(objects)| objects);
    let mut all = lists.next().unwrap_or_default();
    lists.for_each(|mut more| all.append(&mut more));
    all
}

/// Lists the objects that a trace enters.
struct Live<O>(Vec<O>);

impl<O: Copy + Send> Visitor<O> for Live<O> {
    type Tag = ();

    fn object(&mut self, object: O) {
        self.0.push(object);
    }
}

/// Divides items among threads. Returns the result of each, at least one.
pub(crate) fn on_threads<I: Sync, R: Send>(
    items: &[I],
    threads: usize,
    work: impl Fn(&[I]) -> R + Sync,
) -> Vec<R> {
    let share = items.len().div_ceil(threads.max(1)).max(1);
    let (first, rest) = items.split_at(share.min(items.len()));
    std::thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = rest
            .chunks(share)
            .map(|items| scope.spawn(move || work(items)))
            .collect();
        let mut done = vec![work(first)];
        for other in others {
            match other.join() {
                Ok(result) => done.push(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    })
}
