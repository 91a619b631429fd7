//! Paths: the way from a root to an object, decided canonically.
//!
//! A search is breadth first, from the roots in the order of kind, name and index,
//! and through slots in their order, on one thread. So a path is the same whatever a parallel trace
//! did before. It is as short as any that starts where it may, with one preference: where a path
//! leads from something other than a stack, none from a stack is told. What a local holds is let
//! go when its scope ends, and it may be one that the program does not use any more; a static or a
//! handle is why the object stays.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::finding::{Hop, LeftOut, Named, Path};
use crate::root::{Root, RootKind, RootSet};
use crate::set::ObjectSet;
use crate::trace::{Traceable, Visits};
use crate::view::{HeapView, Place};

/// A path, by objects of a view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trail<O> {
    /// The root that it starts from, unless it starts from an object.
    pub root: Option<Root>,
    /// The objects on it, ends included.
    pub objects: Vec<O>,
    /// The slot of each object but the last that leads on.
    pub places: Vec<Place>,
}

impl<O: Copy> Trail<O> {
    /// The path in names. The middle of a very long one is left out.
    pub fn describe<V: HeapView<Object = O>>(&self, view: &V) -> Path {
        let left_out = LeftOut::of(self.places.len());
        let told = self.places.iter().enumerate();
        let told = told.filter(|&(number, _)| is_told(left_out, number));
        Path {
            root: self.root.clone(),
            first: named(view, self.objects[0]),
            hops: told
                .map(|(at, &place)| hop(view, self.objects[at], place, self.objects[at + 1]))
                .collect(),
            left_out,
        }
    }
}

/// Whether a hop is listed, by its number from 0.
fn is_told(left_out: Option<LeftOut>, number: usize) -> bool {
    left_out.is_none_or(|it| number < it.after || number >= it.after + it.hops)
}

/// A step through a slot.
fn hop<V: HeapView>(view: &V, from: V::Object, place: Place, to: V::Object) -> Hop {
    let class = view.class(view.class_of(from));
    let (slot, index) = match place {
        Place::Field(i) => (class.fields[i as usize].name.clone(), None),
        Place::Element(i) => (String::new(), Some(i)),
    };
    Hop {
        slot,
        index,
        to: named(view, to),
    }
}

/// An object as reports name it.
pub fn named<V: HeapView>(view: &V, object: V::Object) -> Named {
    Named {
        name: view.name_of(object),
        class: view.class(view.class_of(object)).name.clone(),
        caption: view.caption_of(object),
    }
}

/// Where paths may start and what they must not touch.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a, O> {
    /// Where they start.
    pub from: Origin<'a, O>,
    /// No object on the path is one of these, ends included.
    pub avoid: &'a [O],
}

/// Where paths start.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a, O> {
    /// At some of the roots.
    Roots(RootSet<'a>),
    /// At one of these objects.
    Objects(&'a [O]),
}

impl<O> Search<'_, O> {
    /// From any root, touching what they like.
    pub fn everywhere() -> Self {
        Self {
            from: Origin::Roots(RootSet::All),
            avoid: &[],
        }
    }
}

impl<O: Copy + Eq + Hash> Origin<'_, O> {
    /// The objects to start from, in canonical order.
    fn starts<V: HeapView<Object = O>>(&self, view: &V) -> Vec<O> {
        match self {
            Self::Objects(objects) => objects.to_vec(),
            Self::Roots(roots) => {
                let mut starts = Vec::new();
                view.for_each_root(|root, object| {
                    if roots.includes(root.kind, &root.name) {
                        starts.push(object);
                    }
                });
                starts
            }
        }
    }

    /// The roots to start from and what they refer to, in canonical order but with stacks last; no
    /// root and each object once where paths start at objects.
    fn named_starts<V: HeapView<Object = O>>(&self, view: &V) -> Vec<(Option<Root>, O)> {
        let mut starts = Vec::new();
        match self {
            Self::Objects(objects) => {
                let mut seen = HashSet::new();
                let fresh = objects.iter().filter(|&&object| seen.insert(object));
                starts.extend(fresh.map(|&object| (None, object)));
            }
            Self::Roots(roots) => view.for_each_root(|root, object| {
                if roots.includes(root.kind, &root.name) {
                    starts.push((Some(root.clone()), object));
                }
            }),
        }
        // Stable: among themselves they keep their order.
        starts.sort_by_key(is_on_stack);
        starts
    }
}

/// Whether a path that starts there starts at a local.
fn is_on_stack<O>((root, _): &(Option<Root>, O)) -> bool {
    root.as_ref()
        .is_some_and(|root| root.kind == RootKind::ThreadStack)
}

/// Starts that are not on stacks, and those that are.
fn by_preference<O>(starts: &[(Option<Root>, O)]) -> [&[(Option<Root>, O)]; 2] {
    let (lasting, stacks) = starts.split_at(starts.partition_point(|it| !is_on_stack(it)));
    [lasting, stacks]
}

/// The shortest path to an object; from a stack only if there is no other.
pub fn shortest<T: Traceable>(
    view: &T,
    visits: &mut T::Visits<'_>,
    search: &Search<'_, T::Object>,
    target: T::Object,
) -> Option<Trail<T::Object>> {
    shortest_to_each(view, visits, search, &[target])
        .pop()
        .flatten()
}

/// The shortest path to each of several objects, by one search.
pub fn shortest_to_each<T: Traceable>(
    view: &T,
    visits: &mut T::Visits<'_>,
    search: &Search<'_, T::Object>,
    targets: &[T::Object],
) -> Vec<Option<Trail<T::Object>>> {
    let reached = Reached::new(view, visits, search, targets);
    let trail = |&target: &T::Object| reached.trail(target);
    targets.iter().map(trail).collect()
}

/// What a search has found: the way to each of several objects, told for those that somebody
/// wants to know.
pub struct Reached<'s, T: Traceable> {
    view: &'s T,
    starts: Vec<(Option<Root>, T::Object)>,
    /// An object, and which one before it in this list led to it.
    queue: Vec<(T::Object, u32)>,
    found: HashMap<T::Object, u32>,
    /// The first slot of an array that leads to each other object, for arrays on paths that
    /// were told: many paths may go through one long array.
    places: RefCell<HashMap<T::Object, FirstPlaces<T::Object>>>,
}

/// The first slot that leads to each object.
type FirstPlaces<O> = HashMap<O, Place>;

const START: u32 = u32::MAX;

/// How many objects a search takes from its queue at once.
const AHEAD: usize = 16;

impl<'s, T: Traceable> Reached<'s, T> {
    /// Searches until all targets are found, or all is searched.
    pub fn new(
        view: &'s T,
        visits: &mut T::Visits<'_>,
        search: &Search<'_, T::Object>,
        targets: &[T::Object],
    ) -> Self {
        let wanted: ObjectSet<T::Object> = targets.iter().copied().collect();
        let mut found: HashMap<T::Object, u32> = HashMap::new();
        let mut reached = Self::walk(view, visits, search, wanted.is_empty(), |number, object| {
            if wanted.contains(object) {
                found.insert(object, number);
            }
            found.len() == wanted.len()
        });
        reached.found = found;
        reached
    }

    /// Searches until the nearest `most` of each of several groups are found, or all is searched: what one search for
    /// each of the groups would find. The objects of a group are in order.
    pub fn nearest(
        view: &'s T,
        visits: &mut T::Visits<'_>,
        search: &Search<'_, T::Object>,
        groups: &[&[T::Object]],
        most: usize,
    ) -> Self {
        let mut found: HashMap<T::Object, u32> = HashMap::new();
        // The groups of which there are more to find, and how many.
        let left = groups.iter().map(|it| (*it, it.len().min(most)));
        let mut left: Vec<(&[T::Object], usize)> = left.filter(|it| it.1 > 0).collect();
        let mut reached = Self::walk(view, visits, search, left.is_empty(), |number, object| {
            left.retain_mut(|(group, count)| {
                if group.binary_search(&object).is_ok() {
                    found.insert(object, number);
                    *count -= 1;
                }
                *count > 0
            });
            left.is_empty()
        });
        reached.found = found;
        reached
    }

    /// Searches until `is_last` says so of an object, or all is searched; not at all, if it is
    /// over before it begins. Nothing is found yet.
    fn walk(
        view: &'s T,
        visits: &mut T::Visits<'_>,
        search: &Search<'_, T::Object>,
        mut is_over: bool,
        mut is_last: impl FnMut(u32, T::Object) -> bool,
    ) -> Self {
        visits.reserve(1);
        let mark = visits.fresh();
        for &object in search.avoid {
            visits.set(object, mark);
        }
        let starts = search.from.named_starts(view);
        let mut queue: Vec<(T::Object, u32)> = Vec::new();
        let mut next = 0;
        let mut some = Vec::with_capacity(AHEAD);
        // What no other root leads to is reached from a stack by a path that meets nothing of
        // what they lead to, so that it is a shortest one although all that has been marked.
        for starts in by_preference(&starts) {
            for &(_, object) in starts {
                if visits.set(object, mark) {
                    queue.push((object, START));
                }
            }
            while next < queue.len() && !is_over {
                some.clear();
                for &(object, _) in queue[next..].iter().take(AHEAD) {
                    is_over = is_last((next + some.len()) as u32, object);
                    some.push(object);
                    if is_over {
                        break;
                    }
                }
                view.for_each_target_of(&some, |at, to| {
                    if visits.set(to, mark) {
                        queue.push((to, (next + at) as u32));
                    }
                });
                next += some.len();
            }
        }
        Self {
            view,
            starts,
            queue,
            found: HashMap::new(),
            places: RefCell::default(),
        }
    }

    /// A number that is smaller for what is nearer; none for what was not found.
    pub fn order(&self, target: T::Object) -> Option<u32> {
        self.found.get(&target).copied()
    }

    /// The objects on the path to one of the targets, from its end; none if it was not found.
    pub fn back(&self, target: T::Object) -> impl Iterator<Item = T::Object> {
        let mut at = self.order(target).unwrap_or(START);
        std::iter::from_fn(move || {
            // `START` is beyond every queue.
            let (object, before) = *self.queue.get(at as usize)?;
            at = before;
            Some(object)
        })
    }

    /// What is carried along the ways to the targets: `step` says what an object has, given the one
    /// before it, if there is one, and what that has.
    pub fn carried<C: Copy>(
        &self,
        step: impl Fn(Option<(T::Object, C)>, T::Object) -> C,
    ) -> HashMap<T::Object, C> {
        let mut all: Vec<C> = Vec::with_capacity(self.queue.len());
        for &(object, before) in &self.queue {
            let before = before as usize;
            let before = all.get(before).map(|&has| (self.queue[before].0, has));
            all.push(step(before, object));
        }
        let found = self.found.iter();
        found.map(|(&it, &at)| (it, all[at as usize])).collect()
    }

    /// The path to one of the targets.
    pub fn trail(&self, target: T::Object) -> Option<Trail<T::Object>> {
        self.order(target)?;
        let mut objects: Vec<T::Object> = self.back(target).collect();
        objects.reverse();
        let hops = objects.iter().zip(&objects[1..]);
        Some(Trail {
            root: self.root_of(objects[0]),
            places: hops.map(|(&from, &to)| self.place(from, to)).collect(),
            objects,
        })
    }

    /// The path to one of the targets in names: what its trail describes, in less time and memory
    /// where that is very long.
    pub fn path(&self, target: T::Object) -> Option<Path> {
        let hops = self.back(target).count().checked_sub(1)?;
        let left_out = LeftOut::of(hops);
        // The ends of hops that are listed, from the last.
        let is_end = |at: usize| is_told(left_out, at) || at > 0 && is_told(left_out, at - 1);
        let objects = self.back(target).enumerate();
        let objects = objects.map(|(from_last, object)| (hops - from_last, object));
        let mut objects: Vec<(usize, T::Object)> = objects.filter(|&(at, _)| is_end(at)).collect();
        objects.reverse();
        let pairs = objects.windows(2).filter(|it| it[0].0 + 1 == it[1].0);
        let hop = |it: &[(usize, T::Object)]| {
            let (from, to) = (it[0].1, it[1].1);
            hop(self.view, from, self.place(from, to), to)
        };
        Some(Path {
            root: self.root_of(objects[0].1),
            first: named(self.view, objects[0].1),
            hops: pairs.map(hop).collect(),
            left_out,
        })
    }

    /// The root that a path starts from, given its first object.
    fn root_of(&self, first: T::Object) -> Option<Root> {
        let mut starts = self.starts.iter();
        let start = starts.find(|(_, start)| *start == first);
        start.expect("the search started there").0.clone()
    }

    /// The first slot of an object that refers to another.
    fn place(&self, from: T::Object, to: T::Object) -> Place {
        let class = self.view.class(self.view.class_of(from));
        if class.elements.is_none() {
            let mut first = None;
            self.view.for_each_strong_edge(from, |place, it| {
                if it == to {
                    first.get_or_insert(place);
                }
            });
            return first.expect("the search went there");
        }
        let mut places = self.places.borrow_mut();
        let places = places.entry(from).or_insert_with(|| {
            let mut first = HashMap::new();
            self.view.for_each_strong_edge(from, |place, to| {
                first.entry(to).or_insert(place);
            });
            first
        });
        places[&to]
    }
}

/// The first edges that lead to each of several objects, by one search: nearest first.
pub struct Arrivals<'s, T: Traceable> {
    /// The ways to where the edges start.
    reached: Reached<'s, T>,
    edges: HashMap<T::Object, Vec<(T::Object, Place)>>,
}

impl<'s, T: Traceable> Arrivals<'s, T> {
    /// Searches until `most` edges to each target are found, or all is searched.
    pub fn new(
        view: &'s T,
        visits: &mut T::Visits<'_>,
        search: &Search<'_, T::Object>,
        targets: &[T::Object],
        most: usize,
    ) -> Self {
        Self::of_edges(view, visits, search, targets, most, |_, _| true)
    }

    /// The same, where only some edges count.
    pub fn of_edges(
        view: &'s T,
        visits: &mut T::Visits<'_>,
        search: &Search<'_, T::Object>,
        targets: &[T::Object],
        most: usize,
        counts: impl Fn(T::Object, Place) -> bool,
    ) -> Self {
        let targets = targets.iter().map(|&target| (target, Vec::new()));
        let mut edges: HashMap<T::Object, Vec<(T::Object, Place)>> = targets.collect();
        let mut found: HashMap<T::Object, u32> = HashMap::new();
        let mut left = edges.len() * most;
        let mut reached = Reached::walk(view, visits, search, left == 0, |number, object| {
            let mut leads = false;
            view.for_each_target(object, |to| leads |= edges.contains_key(&to));
            if leads {
                view.for_each_strong_edge(object, |place, to| {
                    if let Some(edges) = edges.get_mut(&to)
                        && edges.len() < most
                        && counts(object, place)
                    {
                        edges.push((object, place));
                        found.insert(object, number);
                        left -= 1;
                    }
                });
            }
            left == 0
        });
        reached.found = found;
        Self { reached, edges }
    }

    /// The edges that lead to one of the targets, each as an object and the slot that refers to it.
    pub fn edges(&self, target: T::Object) -> &[(T::Object, Place)] {
        self.edges.get(&target).map_or(&[], |edges| edges)
    }

    /// A path to one of the targets for each of these edges.
    pub fn paths(&self, target: T::Object) -> impl Iterator<Item = Path> {
        let edges = self.edges(target).iter();
        edges.filter_map(move |&(source, place)| {
            let mut path = self.reached.path(source)?;
            path.hops
                .push(hop(self.reached.view, source, place, target));
            Some(path)
        })
    }
}

/// Several paths to one object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trails<O> {
    /// Those that start at locals last; shortest first; equally long ones by their roots and slots.
    pub trails: Vec<Trail<O>>,
    /// Whether these are all.
    pub complete: bool,
}

/// How many steps [`all`] takes before it gives up looking for more. The number of paths
/// can grow exponentially with the size of a heap.
const MAX_STEPS: usize = 10_000_000;
/// How many objects paths have together when [`all`] looks for no more: many long ones would
/// fill the memory before the steps are used up.
const MAX_OBJECTS: usize = 2_000_000;
/// Looking at this number of edges is a step.
const EDGES_A_STEP: usize = 64;

/// All distinct paths to an object that meet no object twice, up to `limit` of them.
///
/// Lengths are tried in turn; for each, a depth-first search turns back where the
/// distance that remains shows that the target cannot be met in time.
pub fn all<V: HeapView>(
    view: &V,
    search: &Search<'_, V::Object>,
    target: V::Object,
    limit: usize,
) -> Trails<V::Object> {
    // One more than asked for tells whether there are more.
    let mut found = up_to(view, search, target, limit.saturating_add(1));
    if found.trails.len() > limit {
        found.trails.truncate(limit);
        found.complete = false;
    }
    found
}

fn up_to<V: HeapView>(
    view: &V,
    search: &Search<'_, V::Object>,
    target: V::Object,
    limit: usize,
) -> Trails<V::Object> {
    let near = distances(view, search, target);
    let mut starts = search.from.named_starts(view);
    starts.retain(|(_, start)| near.contains_key(start));
    let mut found = Trails {
        trails: Vec::new(),
        complete: false,
    };
    let mut steps = 0;
    let mut objects_found = 0;
    for starts in by_preference(&starts) {
        let Some(mut length) = starts.iter().map(|(_, start)| near[start]).min() else {
            continue;
        };
        loop {
            let mut cut = false;
            for (root, start) in starts {
                let mut walk = Walk {
                    view,
                    near: &near,
                    target,
                    length,
                    path: vec![*start],
                    on_path: HashSet::from([*start]),
                    places: Vec::new(),
                    cut: &mut cut,
                    steps: &mut steps,
                    // A shortest path has no dead ends beside it; it is always found.
                    may_give_up: !found.trails.is_empty(),
                };
                walk.run(|objects, places| {
                    found.trails.push(Trail {
                        root: root.clone(),
                        objects: objects.to_vec(),
                        places: places.to_vec(),
                    });
                    objects_found += objects.len();
                    found.trails.len() < limit && objects_found < MAX_OBJECTS
                });
                let enough = found.trails.len() >= limit || objects_found >= MAX_OBJECTS;
                if steps >= MAX_STEPS && !found.trails.is_empty() || enough {
                    return found;
                }
            }
            if !cut {
                break;
            }
            length += 1;
        }
    }
    found.complete = true;
    found
}

/// How far each object that a search may touch is from the target.
fn distances<V: HeapView>(
    view: &V,
    search: &Search<'_, V::Object>,
    target: V::Object,
) -> HashMap<V::Object, u32> {
    let mut order = Vec::new();
    let mut number: HashMap<V::Object, Option<u32>> = HashMap::new();
    number.extend(search.avoid.iter().map(|&object| (object, None)));
    let mut enter = |order: &mut Vec<V::Object>, object| {
        number.entry(object).or_insert_with(|| {
            order.push(object);
            Some(order.len() as u32 - 1)
        });
    };
    for object in search.from.starts(view) {
        enter(&mut order, object);
    }
    let mut next = 0;
    while next < order.len() {
        view.for_each_strong_edge(order[next], |_, to| enter(&mut order, to));
        next += 1;
    }
    let mut before = vec![Vec::new(); order.len()];
    for (from, &object) in order.iter().enumerate() {
        view.for_each_strong_edge(object, |_, to| {
            if let Some(Some(to)) = number.get(&to) {
                before[*to as usize].push(from as u32);
            }
        });
    }
    let mut near = HashMap::new();
    let Some(&Some(at)) = number.get(&target) else {
        return near;
    };
    near.insert(target, 0);
    let mut queue = vec![at];
    let mut next = 0;
    while next < queue.len() {
        let at = queue[next] as usize;
        let distance = near[&order[at]] + 1;
        for &from in &before[at] {
            near.entry(order[from as usize]).or_insert_with(|| {
                queue.push(from);
                distance
            });
        }
        next += 1;
    }
    near
}

/// A depth-first search for all paths of one length.
struct Walk<'a, V: HeapView> {
    view: &'a V,
    near: &'a HashMap<V::Object, u32>,
    target: V::Object,
    length: u32,
    path: Vec<V::Object>,
    on_path: HashSet<V::Object>,
    places: Vec<Place>,
    /// Whether a longer path may exist.
    cut: &'a mut bool,
    steps: &'a mut usize,
    /// Whether to stop when the steps are used up: not before a path is found.
    may_give_up: bool,
}

impl<V: HeapView> Walk<'_, V> {
    /// Calls `found` with each path until it returns false.
    fn run(&mut self, mut found: impl FnMut(&[V::Object], &[Place]) -> bool) {
        if self.near[&self.path[0]] > self.length {
            *self.cut = true;
            return;
        }
        // The edges of each object on the path that are still to be tried, last first.
        let mut open = vec![self.edges()];
        loop {
            *self.steps += 1;
            if self.may_give_up && *self.steps >= MAX_STEPS {
                return;
            }
            let depth = self.path.len() - 1;
            let arrived = self.path[depth] == self.target && depth as u32 == self.length;
            if arrived {
                self.may_give_up = true;
                if !found(&self.path, &self.places) {
                    return;
                }
            }
            match open[depth].pop() {
                Some((place, to)) => {
                    self.path.push(to);
                    self.on_path.insert(to);
                    self.places.push(place);
                    open.push(self.edges());
                }
                None if depth == 0 => return,
                None => {
                    open.pop();
                    let left = self.path.pop();
                    left.map(|it| self.on_path.remove(&it));
                    self.places.pop();
                }
            }
        }
    }

    /// The edges of the last object that may lead to the target in time.
    fn edges(&mut self) -> Vec<(Place, V::Object)> {
        let Self {
            view,
            near,
            target,
            length,
            path,
            on_path,
            cut,
            steps,
            ..
        } = self;
        let depth = path.len() as u32;
        let mut edges = Vec::new();
        if path[path.len() - 1] == *target {
            return edges; // A path ends where it first meets its target.
        }
        let mut seen = 0;
        view.for_each_strong_edge(path[path.len() - 1], |place, to| {
            seen += 1;
            let Some(&distance) = near.get(&to) else {
                return;
            };
            if on_path.contains(&to) {
                return;
            }
            if depth + distance > *length {
                **cut = true;
                return;
            }
            edges.push((place, to));
        });
        **steps += seen / EDGES_A_STEP;
        edges.reverse();
        edges
    }
}
