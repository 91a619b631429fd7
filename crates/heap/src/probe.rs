//! Heap probes: questions about a stopped heap, answered by tracing it in parallel.
//!
//! After PHALANX (Vechev, Yahav, Yorsh and Bloom, ISMM 2010). The heap is a graph: objects;
//! for each running thread a node with edges to its stack and to its thread object;
//! one node for statics and whatever else holds objects outside any thread. The
//! primitives mean what the paper's table 1 says, the probes what its table 2 says in
//! terms of those; where the two differ, table 1 is right.
//!
//! Who asks needs a reference to what is asked about. So paths through the asking
//! thread's own stack do not count against `dom` and what is built on it. On a snapshot
//! the asker is chosen, or nobody asks.
//!
//! Every probe stops as soon as its answer is known.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

use crate::crew::cores;
use crate::path::{self, Origin, Search, Trail, Trails};
use crate::root::{Part, RootKind, RootSet};
use crate::set::ObjectSet;
use crate::sync::Mutex;
use crate::trace::{Filter, Phase, Traceable, Visit, Visitor, Visits};

/// A question that cannot be answered.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeError {
    /// No running thread has that name.
    UnknownThread(String),
    /// The question is about the asking thread, and nobody asks.
    NobodyAsks,
    /// The thread has no thread object.
    NoThreadObject(String),
    /// A reference that was asked about is null, or a collection has found its object dead.
    Null,
    /// A reference that was asked about has been invalidated.
    Invalid,
    /// An object of another heap, or a local of another mutator.
    Foreign,
}

/// As the message: what `main` returns is printed so.
impl fmt::Debug for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownThread(name) => write!(f, "no running thread has the name `{name}`"),
            Self::NobodyAsks => f.write_str(
                "the question is about the asking thread, and no thread was named as such",
            ),
            Self::NoThreadObject(name) => write!(f, "thread `{name}` has no thread object"),
            Self::Null => f.write_str("a reference in the question is null"),
            Self::Invalid => f.write_str("a reference in the question has been invalidated"),
            Self::Foreign => {
                f.write_str("an object in the question belongs to another heap or another mutator")
            }
        }
    }
}

impl std::error::Error for ProbeError {}

/// Asks questions of one stopped heap. All of them see the same heap.
///
/// ```
/// # use heaphound_heap::{Root, RootKind};
/// # use heaphound_heap::snapshot::{ObjectId, SnapshotBuilder};
/// # use heaphound_heap::view::Place;
/// use heaphound_heap::probe::Probes;
///
/// # let mut builder = SnapshotBuilder::default();
/// # let class = builder.add_class("List", None, &["head"]);
/// # let [a, b] = [0, 1].map(|_| { let it = builder.add_object(class, 16);
/// #     builder.add_edge(Place::Field(0), ObjectId(2)); it });
/// # let node = builder.add_object(class, 16);
/// # for list in [a, b] { builder.add_root(Root::new(RootKind::Static, "lists"), list); }
/// # let heap = builder.finish().unwrap();
/// let probes = Probes::of(&heap);
/// assert!(probes.is_shared(node));
/// assert_eq!(probes.pred(node).len(), 2);
/// assert!(!probes.dom(a, node));
/// ```
pub struct Probes<'v, T: Traceable> {
    view: &'v T,
    /// Borrowed while a question is answered.
    visits: RefCell<T::Visits<'v>>,
    threads: usize,
    asker: Option<String>,
    live: OnceCell<Rc<ObjectSet<T::Object>>>,
}

impl<'v, T: Traceable> Probes<'v, T> {
    /// Questions to a heap, asked by nobody, answered by as many threads as there are cores.
    pub fn of(view: &'v T) -> Self {
        Self {
            view,
            visits: RefCell::new(view.visits()),
            threads: cores().min(16),
            asker: None,
            live: OnceCell::new(),
        }
    }

    /// How many threads trace.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.clamp(1, 1024);
        self
    }

    /// Which of the heap's threads asks.
    pub fn ask_as(mut self, thread: &str) -> Result<Self, ProbeError> {
        self.check_thread(thread)?;
        self.asker = Some(thread.into());
        Ok(self)
    }

    /// The heap that is asked.
    pub fn view(&self) -> &'v T {
        self.view
    }

    /// The thread that asks.
    pub fn asker(&self) -> Option<&str> {
        self.asker.as_deref()
    }

    // The primitives: table 1.

    /// The objects of the running threads.
    pub fn running(&self) -> ObjectSet<T::Object> {
        let mut found = Vec::new();
        self.view.for_each_root(|root, object| {
            if root.kind == RootKind::ThreadObject {
                found.push(object);
            }
        });
        found.into_iter().collect()
    }

    /// What the stack of a thread refers to.
    pub fn stack(&self, thread: &str) -> Result<ObjectSet<T::Object>, ProbeError> {
        self.thread_roots(thread, Part::Stack)
    }

    /// What the stack of a thread refers to, and its thread object.
    pub fn roots(&self, thread: &str) -> Result<ObjectSet<T::Object>, ProbeError> {
        self.thread_roots(thread, Part::Both)
    }

    /// What some of the roots of a thread refer to.
    pub fn thread_roots(
        &self,
        thread: &str,
        part: Part,
    ) -> Result<ObjectSet<T::Object>, ProbeError> {
        self.check_thread(thread)?;
        Ok(self
            .root_targets(RootSet::Thread(thread, part))
            .into_iter()
            .collect())
    }

    /// All objects that are reachable from the roots.
    pub fn reach_all(&self) -> ObjectSet<T::Object> {
        let starts = self.root_targets(RootSet::All);
        self.closure(starts, &[])
    }

    /// The same, found once and kept for whoever asks again.
    pub fn live(&self) -> Rc<ObjectSet<T::Object>> {
        Rc::clone(self.live.get_or_init(|| Rc::new(self.reach_all())))
    }

    /// All objects that are reachable from this one, itself included.
    pub fn reach(&self, from: T::Object) -> ObjectSet<T::Object> {
        self.closure(vec![from], &[])
    }

    /// All objects that are reachable from any of these by a path on which none of `avoid`
    /// lies, at its ends or between.
    pub fn reach_avoiding(&self, from: &[T::Object], avoid: &[T::Object]) -> ObjectSet<T::Object> {
        self.closure(from.to_vec(), avoid)
    }

    /// Whether an object is reachable from any of these by a path on which none of `avoid`
    /// lies, at its ends or between.
    pub fn reaches(&self, from: &[T::Object], avoid: &[T::Object], to: T::Object) -> bool {
        self.meets(from.to_vec(), avoid, to)
    }

    /// The reachable objects that have an edge to this one.
    pub fn pred(&self, object: T::Object) -> ObjectSet<T::Object> {
        self.predecessors(object, usize::MAX)
    }

    /// Whether a path leads from `above` to `below`, and every path from a root to
    /// `below` passes `above` or the asking thread's stack.
    pub fn dom(&self, above: T::Object, below: T::Object) -> bool {
        self.is_reachable(above, below) && {
            let starts = self.root_targets(self.others());
            !self.meets(starts, &[above], below)
        }
    }

    // The probes: table 2.

    /// Whether some reachable object has an edge to this one.
    pub fn is_heap(&self, object: T::Object) -> bool {
        !self.predecessors(object, 1).is_empty()
    }

    /// Whether two or more reachable objects have edges to this one.
    pub fn is_shared(&self, object: T::Object) -> bool {
        self.predecessors(object, 2).len() >= 2
    }

    /// Whether `to` is reachable from `from`.
    pub fn is_reachable(&self, from: T::Object, to: T::Object) -> bool {
        self.meets(vec![from], &[], to)
    }

    /// Whether no object is reachable from both.
    pub fn is_disjoint(&self, a: T::Object, b: T::Object) -> bool {
        self.common(a, b).is_none()
    }

    /// An object that is reachable from both, if there is one: the first one on a shortest
    /// path from `b` that `a` reaches too.
    pub fn common(&self, a: T::Object, b: T::Object) -> Option<T::Object> {
        let [first, second] = self.fresh();
        self.trace(vec![a], Filter::Follow, first, || ());
        let met = self.arrivals(vec![b], Filter::Follow, second, first);
        // Which of them it is must not depend on who came first.
        met.then(|| {
            let reached = self.closure(vec![a], &[]);
            self.nearest(b, |object| reached.contains(object))
        })
        .flatten()
    }

    /// Whether an object dominates all that it reaches.
    pub fn is_unique_owner(&self, object: T::Object) -> bool {
        let [inside, outside, itself] = self.fresh();
        self.trace(vec![object], Filter::Follow, inside, || ());
        self.visits.borrow_mut().set(object, itself);
        let starts = self.root_targets(self.others());
        !self.arrivals(starts, Filter::StopAt(itself), outside, inside)
    }

    /// What an object reaches but does not dominate.
    pub fn not_owned(&self, object: T::Object) -> ObjectSet<T::Object> {
        let reached = self.reach(object);
        let starts = self.root_targets(self.others());
        let outside = self.closure(starts, &[object]);
        reached.intersection(&outside)
    }

    /// Whether every path from `from` to `to` meets one of `cut`.
    pub fn reach_through(&self, from: T::Object, cut: &[T::Object], to: T::Object) -> bool {
        !self.meets(vec![from], cut, to)
    }

    /// Whether `owner` dominates `object`: [`Probes::dom`] by its name in table 2.
    pub fn is_object_owned(&self, owner: T::Object, object: T::Object) -> bool {
        self.dom(owner, object)
    }

    /// Whether the asking thread reaches an object and nobody else does. With a part of
    /// the thread: whether its stack does and nothing else, or whether its thread
    /// object dominates the object.
    pub fn is_thread_owned(&self, object: T::Object, part: Part) -> Result<bool, ProbeError> {
        let asker = self.asker.clone().ok_or(ProbeError::NobodyAsks)?;
        if part == Part::Object {
            let thread = self.thread_object(&asker)?;
            return Ok(self.dom(thread, object));
        }
        let others = self.root_targets(RootSet::AllBut(&asker, part));
        let own = self.root_targets(RootSet::Thread(&asker, part));
        Ok(!self.meets(others, &[], object) && self.meets(own, &[], object))
    }

    /// The threads that reach an object by a path on which none of `avoid` lies.
    pub fn thread_reach(&self, object: T::Object, avoid: &[T::Object], part: Part) -> Vec<String> {
        let mut targets: HashMap<String, Vec<T::Object>> = HashMap::new();
        self.view.for_each_root(|root, object| {
            if RootSet::Thread(&root.name, part).includes(root.kind, &root.name) {
                match targets.get_mut(&root.name) {
                    Some(own) => own.push(object),
                    None => drop(targets.insert(root.name.clone(), vec![object])),
                }
            }
        });
        let threads = self.view.threads().iter();
        threads
            .filter(|&thread| {
                let own = targets.remove(thread);
                own.is_some_and(|own| self.meets(own, avoid, object))
            })
            .cloned()
            .collect()
    }

    // Paths: why the answer is what it is.

    /// The shortest path to an object.
    pub fn path(&self, search: &Search<'_, T::Object>, to: T::Object) -> Option<Trail<T::Object>> {
        path::shortest(self.view, &mut self.visits.borrow_mut(), search, to)
    }

    /// The shortest path to each of several objects.
    pub fn paths_to_each(
        &self,
        search: &Search<'_, T::Object>,
        to: &[T::Object],
    ) -> Vec<Option<Trail<T::Object>>> {
        path::shortest_to_each(self.view, &mut self.visits.borrow_mut(), search, to)
    }

    /// All distinct paths to an object, up to `limit` of them.
    pub fn all_paths(
        &self,
        search: &Search<'_, T::Object>,
        to: T::Object,
        limit: usize,
    ) -> Trails<T::Object> {
        path::all(self.view, search, to, limit)
    }

    /// A path from a root to `below` that passes neither `above` nor the asking
    /// thread's stack: why `above` does not dominate `below`.
    pub fn bypass(&self, above: T::Object, below: T::Object) -> Option<Trail<T::Object>> {
        let search = Search {
            from: Origin::Roots(self.others()),
            avoid: &[above],
        };
        path::shortest(self.view, &mut self.visits.borrow_mut(), &search, below)
    }

    /// A path from some of a thread's roots to an object, on which none of `avoid` lies.
    pub fn thread_path(
        &self,
        thread: &str,
        part: Part,
        avoid: &[T::Object],
        to: T::Object,
    ) -> Option<Trail<T::Object>> {
        let search = Search {
            from: Origin::Roots(RootSet::Thread(thread, part)),
            avoid,
        };
        path::shortest(self.view, &mut self.visits.borrow_mut(), &search, to)
    }

    /// The object that stands for a thread.
    pub fn thread_object(&self, thread: &str) -> Result<T::Object, ProbeError> {
        self.check_thread(thread)?;
        let object = self.root_targets(RootSet::Thread(thread, Part::Object));
        let none = || ProbeError::NoThreadObject(thread.into());
        object.first().copied().ok_or_else(none)
    }

    /// All roots but the asking thread's stack.
    fn others(&self) -> RootSet<'v>
    where
        T: 'v,
    {
        match &self.asker {
            None => RootSet::All,
            Some(asker) => {
                // The view's own copy of the name, so that the set does not borrow us.
                let mut threads = self.view.threads().iter();
                let thread = threads.find(|thread| *thread == asker);
                RootSet::AllBut(thread.expect("checked when it was set"), Part::Stack)
            }
        }
    }

    fn check_thread(&self, thread: &str) -> Result<(), ProbeError> {
        match self.view.threads().iter().any(|name| name == thread) {
            true => Ok(()),
            false => Err(ProbeError::UnknownThread(thread.into())),
        }
    }

    fn root_targets(&self, roots: RootSet<'_>) -> Vec<T::Object> {
        let mut targets = Vec::new();
        self.view
            .for_each_root_target(roots, |object| targets.push(object));
        targets
    }

    /// Runs a phase with new visitors and returns them.
    fn trace<V: Visitor<T::Object>>(
        &self,
        starts: Vec<T::Object>,
        filter: Filter,
        mark: Visit,
        visitor: impl Fn() -> V,
    ) -> Vec<V> {
        let phase = Phase {
            starts,
            filter,
            mark,
        };
        let visitors: Vec<V> = (0..self.threads).map(|_| visitor()).collect();
        let mut visits = self.visits.borrow_mut();
        self.view.trace(&mut visits, &phase, visitors).1
    }

    /// New marks, all in force at once.
    fn fresh<const N: usize>(&self) -> [Visit; N] {
        let mut visits = self.visits.borrow_mut();
        visits.reserve(N);
        [(); N].map(|()| visits.fresh())
    }

    /// A new mark, and a filter that keeps a trace from entering some objects.
    fn mark_around(&self, avoid: &[T::Object]) -> (Visit, Filter) {
        let [mark, label] = self.fresh();
        for &object in avoid {
            self.visits.borrow_mut().set(object, label);
        }
        match avoid.is_empty() {
            true => (mark, Filter::Follow),
            false => (mark, Filter::StopAt(label)),
        }
    }

    fn closure(&self, starts: Vec<T::Object>, avoid: &[T::Object]) -> ObjectSet<T::Object> {
        let (mark, filter) = self.mark_around(avoid);
        let visitors = self.trace(starts, filter, mark, || Collect(Vec::new()));
        let entered = visitors.into_iter().map(|it| it.0).reduce(|mut all, more| {
            all.extend(more);
            all
        });
        let visits = self.visits.borrow();
        let objects = self
            .view
            .in_order(&visits, mark, entered.unwrap_or_default());
        ObjectSet::sorted(objects)
    }

    /// Whether a trace enters an object.
    fn meets(&self, starts: Vec<T::Object>, avoid: &[T::Object], target: T::Object) -> bool {
        let (mark, filter) = self.mark_around(avoid);
        let visitor = || Meet { target, met: false };
        let visitors = self.trace(starts, filter, mark, visitor);
        visitors.iter().any(|it| it.met)
    }

    /// Whether a trace comes upon an object that carries `sought`.
    fn arrivals(&self, starts: Vec<T::Object>, filter: Filter, mark: Visit, sought: Visit) -> bool {
        let visitor = || Arrive { sought, met: false };
        let visitors = self.trace(starts, filter, mark, visitor);
        visitors.iter().any(|it| it.met)
    }

    /// The reachable objects with an edge to this one, or `enough` of them.
    fn predecessors(&self, target: T::Object, enough: usize) -> ObjectSet<T::Object> {
        let (mark, filter) = self.mark_around(&[]);
        let starts = self.root_targets(RootSet::All);
        let found = Mutex::new(Vec::new());
        let visitor = || Predecessors {
            target,
            last: None,
            done: false,
            enough,
            found: &found,
        };
        self.trace(starts, filter, mark, visitor);
        let found = std::mem::take(&mut *found.lock().unwrap());
        found.into_iter().collect()
    }

    /// The first object, breadth first, that is what we look for.
    fn nearest(&self, from: T::Object, is_it: impl Fn(T::Object) -> bool) -> Option<T::Object> {
        let [mark] = self.fresh();
        let mut visits = self.visits.borrow_mut();
        visits.set(from, mark);
        let mut queue = vec![from];
        let mut next = 0;
        while let Some(&object) = queue.get(next) {
            if is_it(object) {
                return Some(object);
            }
            self.view.for_each_strong_edge(object, |_, to| {
                if visits.set(to, mark) {
                    queue.push(to);
                }
            });
            next += 1;
        }
        None
    }
}

/// Lists the objects entered.
struct Collect<O>(Vec<O>);

impl<O: Send> Visitor<O> for Collect<O> {
    type Tag = ();

    #[inline]
    fn object(&mut self, object: O) {
        self.0.push(object);
    }
}

/// Waits for one object to be entered.
struct Meet<O> {
    target: O,
    met: bool,
}

impl<O: Copy + Eq + Send> Visitor<O> for Meet<O> {
    type Tag = ();
    const STOPS: bool = true;

    #[inline]
    fn object(&mut self, object: O) {
        self.met |= object == self.target;
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.met
    }
}

/// Waits for an edge to an object that carries a mark.
struct Arrive {
    sought: Visit,
    met: bool,
}

impl<O> Visitor<O> for Arrive {
    type Tag = ();
    const ARRIVALS: bool = true;
    const STOPS: bool = true;

    #[inline]
    fn edge_arrived(&mut self, _: (), _: O, visit: Visit) {
        self.met |= visit == self.sought;
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.met
    }
}

/// Lists the sources of the edges to one object, each once, until there are enough.
struct Predecessors<'a, O> {
    target: O,
    last: Option<O>,
    done: bool,
    enough: usize,
    /// Shared: the sources are few, or there are enough of them soon.
    found: &'a Mutex<Vec<O>>,
}

impl<O: Copy + Eq + Send> Visitor<O> for Predecessors<'_, O> {
    type Tag = ();
    const READS: bool = true;
    const STOPS: bool = true;

    #[inline]
    fn edge_read(&mut self, from: O, to: O) {
        if to == self.target && self.last != Some(from) {
            self.note(from);
        }
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.done
    }
}

impl<O: Copy + Eq + Send> Predecessors<'_, O> {
    #[cold]
    fn note(&mut self, from: O) {
        self.last = Some(from);
        let mut found = self.found.lock().unwrap();
        // Two threads may read parts of one array.
        if self.enough == usize::MAX || !found.contains(&from) {
            found.push(from);
        }
        self.done = found.len() >= self.enough;
    }
}
