//! The slow, obvious twins of probes, paths and plans: sets and closures, straight from the
//! definitions.
//!
//! A [`Graph`] is the heap as PHALANX (Vechev, Yahav, Yorsh and Bloom, ISMM 2010, section
//! 3.1) draws it: a root, for each thread a *running* node that points to the thread's
//! stack and to its thread object, one *static* node for all that belongs to no thread,
//! and the objects. A path is a sequence of nodes of which each points to the next;
//! one node alone is a path. Everything below is said in terms of these; dominance is
//! decided by taking nodes away.
//!
//! Works for any view. It wants to be told the objects, since a view does not list
//! garbage: all of a snapshot's, or those of a live heap that somebody asks about.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use heaphound_heap::path::{Origin, Search, Trail};
use heaphound_heap::root::{Part, RootSet};
use heaphound_heap::trace::{Plan, Starts};
use heaphound_heap::view::{HeapView, Place, Strength};
use heaphound_heap::{Root, RootKind};

/// A node of the graph. Threads are their places among the view's threads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Node<O> {
    /// Where all begins.
    Root,
    /// A running thread.
    Running(usize),
    /// Its stack.
    Stack(usize),
    /// Statics, handles and what else belongs to no thread.
    Static,
    /// An object.
    Object(O),
}

/// A heap, drawn out.
pub struct Graph<O> {
    threads: Vec<String>,
    thread_objects: Vec<Option<O>>,
    /// All that count, in the order of the view.
    roots: Vec<(Root, O)>,
    /// Each object's edges that retain, in the order of slots.
    slots: BTreeMap<O, Vec<(Place, O)>>,
    edges: BTreeMap<Node<O>, BTreeSet<Node<O>>>,
}

impl<O: Copy + Ord + Debug> Graph<O> {
    /// The graph of a view, with these objects and all that they and the roots lead to.
    pub fn of<V>(view: &V, objects: impl IntoIterator<Item = O>) -> Self
    where
        V: HeapView<Object = O>,
    {
        let threads = view.threads().to_vec();
        let mut graph = Self {
            thread_objects: vec![None; threads.len()],
            threads,
            roots: Vec::new(),
            slots: BTreeMap::new(),
            edges: BTreeMap::new(),
        };
        // What waits for its finalizer is a root to nobody.
        view.for_each_root(|root, to| {
            if root.kind != RootKind::Finalizer {
                graph.roots.push((root.clone(), to));
            }
        });
        graph.draw_roots();

        let mut slots: BTreeMap<O, Vec<(Place, Strength, O)>> = BTreeMap::new();
        let mut todo: Vec<O> = objects.into_iter().collect();
        todo.extend(graph.roots.iter().map(|(_, to)| *to));
        while let Some(object) = todo.pop() {
            if slots.contains_key(&object) {
                continue;
            }
            let mut all = Vec::new();
            view.for_each_edge(object, |place, strength, to| {
                all.push((place, strength, to));
                todo.push(to);
            });
            slots.insert(object, all);
        }

        // The more lives, the more edges there are, and the other way round: from nothing
        // upwards until nothing changes.
        let mut live = BTreeSet::new();
        loop {
            graph.draw_slots(&slots, &live);
            let now = graph.reach_all();
            if now == live {
                return graph;
            }
            live = now;
        }
    }

    fn draw_roots(&mut self) {
        let mut edges: BTreeSet<(Node<O>, Node<O>)> = BTreeSet::new();
        edges.insert((Node::Root, Node::Static));
        for thread in 0..self.threads.len() {
            edges.insert((Node::Root, Node::Running(thread)));
            edges.insert((Node::Running(thread), Node::Stack(thread)));
        }
        for (root, to) in &self.roots {
            let thread = || {
                let found = self.threads.iter().position(|name| *name == root.name);
                found.expect("a root's thread is one of the view's")
            };
            let from = match root.kind {
                RootKind::Static | RootKind::Handle | RootKind::Other => Node::Static,
                RootKind::ThreadStack => Node::Stack(thread()),
                RootKind::ThreadObject => {
                    let before = self.thread_objects[thread()].replace(*to);
                    assert_eq!(before, None, "a thread has one thread object");
                    Node::Running(thread())
                }
                RootKind::Finalizer => unreachable!("these do not count"),
            };
            edges.insert((from, Node::Object(*to)));
        }
        for (from, to) in edges {
            self.edges.entry(from).or_default().insert(to);
        }
    }

    /// Strong slots are edges; dependent ones are if their object has keys and all of them
    /// live.
    fn draw_slots(&mut self, slots: &BTreeMap<O, Vec<(Place, Strength, O)>>, live: &BTreeSet<O>) {
        for (&object, all) in slots {
            let mut keys = all.iter().filter(|slot| slot.1 == Strength::Weak);
            let has_keys = keys.clone().next().is_some();
            let opens = has_keys && keys.all(|slot| live.contains(&slot.2));
            let retains = |strength| match strength {
                Strength::Strong => true,
                Strength::Weak => false,
                Strength::Dependent => opens,
            };
            let kept = all.iter().filter(|slot| retains(slot.1));
            let kept: Vec<(Place, O)> = kept.map(|slot| (slot.0, slot.2)).collect();
            let targets = kept.iter().map(|slot| Node::Object(slot.1)).collect();
            self.edges.insert(Node::Object(object), targets);
            self.slots.insert(object, kept);
        }
    }

    /// An object's edges that retain, in the order of slots.
    pub fn slots(&self, object: O) -> &[(Place, O)] {
        &self.slots[&object]
    }

    /// Where a path from some of these nodes can lead that meets none of `without`, at its
    /// ends or between.
    fn reached(&self, from: &[Node<O>], without: &BTreeSet<Node<O>>) -> BTreeSet<Node<O>> {
        let mut reached = BTreeSet::new();
        let mut todo = from.to_vec();
        while let Some(node) = todo.pop() {
            if !without.contains(&node) && reached.insert(node) {
                todo.extend(self.edges.get(&node).into_iter().flatten());
            }
        }
        reached
    }
}

/// Table 1: the primitives. `ct` is the thread that asks.
impl<O: Copy + Ord + Debug> Graph<O> {
    /// {r.obj | L(r) = running}
    pub fn running(&self) -> BTreeSet<O> {
        self.thread_objects.iter().flatten().copied().collect()
    }

    /// {v | (r.stack, v) ∈ E}
    pub fn stack(&self, thread: usize) -> BTreeSet<O> {
        let targets = self.edges.get(&Node::Stack(thread));
        only_objects(targets.into_iter().flatten().copied())
    }

    /// stack(t) ∪ {t}
    pub fn roots(&self, thread: usize) -> BTreeSet<O> {
        let mut roots = self.stack(thread);
        roots.extend(self.thread_object(thread));
        roots
    }

    /// r.obj
    pub fn thread_object(&self, thread: usize) -> Option<O> {
        self.thread_objects[thread]
    }

    /// What the roots of a thread, or some of them, refer to.
    pub fn thread_roots(&self, thread: usize, part: Part) -> BTreeSet<O> {
        match part {
            Part::Stack => self.stack(thread),
            Part::Object => self.thread_object(thread).into_iter().collect(),
            Part::Both => self.roots(thread),
        }
    }

    /// {v | L(v) ∈ Classes ∧ Π(root, v) ≠ ∅}
    pub fn reach_all(&self) -> BTreeSet<O> {
        only_objects(self.reached(&[Node::Root], &BTreeSet::new()))
    }

    /// {v | Π(o, v) ≠ ∅}
    pub fn reach(&self, from: O) -> BTreeSet<O> {
        self.reach_avoiding(&[from], &[])
    }

    /// {v | ∃π ∈ Π(o, v). nodes(π) ∩ a = ∅}, for any o in `from`
    pub fn reach_avoiding(&self, from: &[O], avoid: &[O]) -> BTreeSet<O> {
        let avoid = avoid.iter().map(|&object| Node::Object(object)).collect();
        let mut all = BTreeSet::new();
        for &object in from {
            all.extend(only_objects(self.reached(&[Node::Object(object)], &avoid)));
        }
        all
    }

    /// {v | (v, o) ∈ E ∧ L(v) ∈ Classes ∧ Π(root, v) ≠ ∅}
    pub fn pred(&self, object: O) -> BTreeSet<O> {
        let mut all = self.reach_all();
        all.retain(|&from| self.edges[&Node::Object(from)].contains(&Node::Object(object)));
        all
    }

    /// Π(o1, o2) ≠ ∅ ∧ ∀π ∈ Π(root, o2). o1 ∈ nodes(π) ∨ ct.stack ∈ nodes(π)
    pub fn dom(&self, ct: Option<usize>, above: O, below: O) -> bool {
        self.dominates(ct, Node::Object(above), Node::Object(below))
    }

    fn dominates(&self, ct: Option<usize>, above: Node<O>, below: Node<O>) -> bool {
        let mut without: BTreeSet<Node<O>> = BTreeSet::new();
        without.insert(above);
        without.extend(ct.map(Node::Stack));
        self.reached(&[above], &BTreeSet::new()).contains(&below)
            && !self.reached(&[Node::Root], &without).contains(&below)
    }

    /// Whether a path from the root to `below` meets neither `above` nor the asker's stack.
    pub fn has_bypass(&self, ct: Option<usize>, above: O, below: O) -> bool {
        let mut without: BTreeSet<Node<O>> = BTreeSet::new();
        without.insert(Node::Object(above));
        without.extend(ct.map(Node::Stack));
        let reached = self.reached(&[Node::Root], &without);
        reached.contains(&Node::Object(below))
    }
}

/// Table 2: the probes, in terms of the primitives.
impl<O: Copy + Ord + Debug> Graph<O> {
    /// |pred(o)| > 0
    pub fn is_heap(&self, object: O) -> bool {
        !self.pred(object).is_empty()
    }

    /// |pred(o)| > 1
    pub fn is_shared(&self, object: O) -> bool {
        self.pred(object).len() > 1
    }

    /// dst ∈ reach(src)
    pub fn is_reachable(&self, from: O, to: O) -> bool {
        self.reach(from).contains(&to)
    }

    /// ¬∃v ∈ reach(o1). v ∈ reach(o2)
    pub fn is_disjoint(&self, a: O, b: O) -> bool {
        let from_b = self.reach(b);
        !self.reach(a).iter().any(|object| from_b.contains(object))
    }

    /// ¬∃v ∈ reach(o). ¬dom(o, v)
    pub fn is_unique_owner(&self, ct: Option<usize>, object: O) -> bool {
        let reach = self.reach(object);
        !reach.iter().any(|&below| !self.dom(ct, object, below))
    }

    /// {v ∈ reach(o) | ¬dom(o, v)}
    pub fn not_owned(&self, ct: Option<usize>, object: O) -> BTreeSet<O> {
        let mut reach = self.reach(object);
        reach.retain(|&below| !self.dom(ct, object, below));
        reach
    }

    /// o2 ∉ reach(o1, cut)
    pub fn reach_through(&self, from: O, cut: &[O], to: O) -> bool {
        !self.reach_avoiding(&[from], cut).contains(&to)
    }

    /// Whether the asking thread dominates the object: its *running* node, its stack, or
    /// its thread object, which it may not have.
    pub fn is_thread_owned(&self, ct: usize, object: O, part: Part) -> Option<bool> {
        let above = match part {
            Part::Both => Node::Running(ct),
            Part::Stack => Node::Stack(ct),
            Part::Object => Node::Object(self.thread_object(ct)?),
        };
        Some(self.dominates(Some(ct), above, Node::Object(object)))
    }

    /// {t ∈ running() | o ∈ reach(t, avoid) ∪ reach(stack(t), avoid)}, by name
    pub fn thread_reach(&self, object: O, avoid: &[O], part: Part) -> Vec<String> {
        let reaches = |&thread: &usize| {
            let from: Vec<O> = self.thread_roots(thread, part).into_iter().collect();
            self.reach_avoiding(&from, avoid).contains(&object)
        };
        let threads = (0..self.threads.len()).filter(reaches);
        threads.map(|thread| self.threads[thread].clone()).collect()
    }
}

fn starts_on_stack(root: &Option<Root>) -> bool {
    matches!(root, Some(root) if root.kind == RootKind::ThreadStack)
}

/// Paths.
impl<O: Copy + Ord + Debug> Graph<O> {
    /// The objects where paths may start, and by which root.
    fn starts(&self, from: &Origin<'_, O>) -> Vec<(Option<Root>, O)> {
        let of_thread = |root: &Root, thread: &str, part: Part| {
            root.name == thread
                && match root.kind {
                    RootKind::ThreadStack => part != Part::Object,
                    RootKind::ThreadObject => part != Part::Stack,
                    _ => false,
                }
        };
        let wanted = |root: &Root, roots: RootSet<'_>| match roots {
            RootSet::All => true,
            RootSet::Thread(thread, part) => of_thread(root, thread, part),
            RootSet::AllBut(thread, part) => !of_thread(root, thread, part),
            RootSet::Lasting => root.kind != RootKind::ThreadStack,
        };
        match *from {
            Origin::Objects(objects) => objects.iter().map(|&object| (None, object)).collect(),
            Origin::Roots(roots) => {
                let some = self.roots.iter().filter(|(root, _)| wanted(root, roots));
                some.map(|(root, to)| (Some(root.clone()), *to)).collect()
            }
        }
    }

    /// How many edges between objects the shortest path has. A path from a stack counts only if
    /// there is no other.
    pub fn distance(&self, search: &Search<'_, O>, to: O) -> Option<usize> {
        let (stacks, others): (Vec<_>, Vec<_>) = self
            .starts(&search.from)
            .into_iter()
            .partition(|(root, _)| starts_on_stack(root));
        self.distance_from(search, others, to)
            .or_else(|| self.distance_from(search, stacks, to))
    }

    fn distance_from(
        &self,
        search: &Search<'_, O>,
        starts: Vec<(Option<Root>, O)>,
        to: O,
    ) -> Option<usize> {
        let mut ring: BTreeSet<O> = starts.into_iter().map(|start| start.1).collect();
        // A shortest path meets no object twice.
        for distance in 0..=self.slots.len() {
            ring.retain(|object| !search.avoid.contains(object));
            if ring.contains(&to) {
                return Some(distance);
            }
            let edges = ring.iter().flat_map(|object| &self.slots[object]);
            ring = edges.map(|slot| slot.1).collect();
        }
        None
    }

    /// All paths that meet no object twice, each once: those from stacks last, shortest first,
    /// then by where they start (roots in their order, objects as they were given) and by slots.
    /// `None` if there are too many for us.
    pub fn all_paths(&self, search: &Search<'_, O>, to: O) -> Option<Vec<Trail<O>>> {
        let mut all = Vec::new();
        let mut patience = 3_000;
        for (root, object) in self.starts(&search.from) {
            let trail = Trail {
                root,
                objects: vec![object],
                places: Vec::new(),
            };
            let mut from_here = Vec::new();
            self.extend(search.avoid, to, trail, &mut from_here, &mut patience)?;
            from_here.sort_by(|a, b| a.places.cmp(&b.places));
            for trail in from_here {
                if !all.contains(&trail) {
                    all.push(trail);
                }
            }
        }
        // Stable: equally long ones stay in the order of where they start.
        all.sort_by_key(|trail: &Trail<O>| (starts_on_stack(&trail.root), trail.objects.len()));
        Some(all)
    }

    fn extend(
        &self,
        avoid: &[O],
        to: O,
        trail: Trail<O>,
        all: &mut Vec<Trail<O>>,
        patience: &mut usize,
    ) -> Option<()> {
        *patience = patience.checked_sub(1)?;
        let (&last, before) = trail.objects.split_last().expect("a path has a start");
        if avoid.contains(&last) || before.contains(&last) {
            return Some(());
        }
        if last == to {
            all.push(trail);
            return Some(());
        }
        for &(place, next) in &self.slots[&last] {
            let mut longer = trail.clone();
            longer.places.push(place);
            longer.objects.push(next);
            self.extend(avoid, to, longer, all, patience)?;
        }
        Some(())
    }

    /// Whether a path is one: it starts where it may, each step is a slot that retains, and
    /// it avoids what it must.
    pub fn has_path(&self, search: &Search<'_, O>, trail: &Trail<O>, to: O) -> bool {
        let Trail {
            root,
            objects,
            places,
        } = trail;
        let (Some(&first), Some(&last)) = (objects.first(), objects.last()) else {
            return false;
        };
        let starts = self.starts(&search.from);
        let steps = objects.windows(2).zip(places);
        last == to
            && starts.contains(&(root.clone(), first))
            && places.len() + 1 == objects.len()
            && !objects.iter().any(|object| search.avoid.contains(object))
            && steps
                .into_iter()
                .all(|(pair, &place)| self.slots[&pair[0]].contains(&(place, pair[1])))
    }
}

/// What a step of a plan does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stepped<O> {
    /// Where it starts; an object may come more than once.
    pub starts: Vec<O>,
    /// What it enters.
    pub entered: BTreeSet<O>,
    /// What it comes upon that a step with a smaller number has entered.
    pub overlaps: BTreeSet<O>,
}

/// Plans.
impl<O: Copy + Ord + Debug> Graph<O> {
    /// What each step does.
    pub fn run(&self, plan: &Plan<'_, O>) -> Vec<Stepped<O>> {
        // The number of the step that has entered each object.
        let mut entered: BTreeMap<O, usize> = BTreeMap::new();
        let mut done: Vec<Stepped<O>> = Vec::new();
        for (place, step) in plan.steps.iter().enumerate() {
            let same = plan.steps[..=place].iter();
            let same = same.filter(|it| it.mark == step.mark);
            let excluded: BTreeSet<O> = same.flat_map(|it| it.exclude.clone()).collect();
            let starts: Vec<O> = match &step.starts {
                Starts::Roots(roots) => {
                    let starts = self.starts(&Origin::Roots(*roots));
                    starts.into_iter().map(|start| start.1).collect()
                }
                Starts::Objects(objects) => objects.clone(),
            };
            let mut it = Stepped {
                starts: starts.clone(),
                entered: BTreeSet::new(),
                overlaps: BTreeSet::new(),
            };
            let mut todo = starts;
            while let Some(object) = todo.pop() {
                match entered.get(&object) {
                    Some(mark) if *mark < step.mark => {
                        it.overlaps.insert(object);
                    }
                    Some(_) => {}
                    None if excluded.contains(&object) => {}
                    None => {
                        entered.insert(object, step.mark);
                        it.entered.insert(object);
                        todo.extend(self.slots[&object].iter().map(|slot| slot.1));
                    }
                }
            }
            done.push(it);
        }
        done
    }
}

fn only_objects<O: Ord>(nodes: impl IntoIterator<Item = Node<O>>) -> BTreeSet<O> {
    let objects = nodes.into_iter().filter_map(|node| match node {
        Node::Object(object) => Some(object),
        _ => None,
    });
    objects.collect()
}
