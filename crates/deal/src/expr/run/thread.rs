//! Threads: their roots, what they reach, and what dominates what.

use std::rc::Rc;

use heaphound_heap::Root;
use heaphound_heap::fields::Readable;
use heaphound_heap::root::{Part, RootKind};
use heaphound_heap::set::ObjectSet;

use super::super::pattern::is_asker;
use super::super::tree::{Above, Dom, ThreadReach};
use super::{Reached, Run};
use crate::resolved::Thread;

impl<'p, T: Readable> Run<'_, 'p, '_, T> {
    pub(super) fn root_targets(&self, wanted: impl Fn(&Root) -> bool) -> Vec<T::Object> {
        let mut targets = Vec::new();
        self.view.for_each_root(|root, object| {
            if root.kind != RootKind::Finalizer && wanted(root) {
                targets.push(object);
            }
        });
        targets
    }

    /// The names of the threads that are meant.
    fn names(&self, thread: &Thread) -> Vec<String> {
        match thread {
            Thread::Named(name) => vec![name.clone()],
            Thread::Object(path) if is_asker(path) => {
                self.probes.asker().map(Into::into).into_iter().collect()
            }
            Thread::Object(path) => {
                let mut names = Vec::new();
                if let Some(thread) = self.object(path) {
                    self.view.for_each_root(|root, object| {
                        if root.kind == RootKind::ThreadObject && object == thread {
                            names.push(root.name.clone());
                        }
                    });
                }
                names
            }
        }
    }

    pub(super) fn thread_roots(&self, thread: &Thread, part: Part) -> ObjectSet<T::Object> {
        let names = self.names(thread);
        let targets = self.root_targets(|root| is_of(root, &names, part));
        targets.into_iter().collect()
    }

    pub(super) fn thread_reach(&mut self, question: &ThreadReach<'p>) -> ObjectSet<T::Object> {
        let Some(object) = self.object(question.of) else {
            return ObjectSet::default();
        };
        let part = question.part;
        let mut dereferences = question.quantifier.iter().flat_map(|it| &it.dereferences);
        if !dereferences.all(|it| self.holds(it)) {
            return ObjectSet::default();
        }
        let (view, quantifier) = (self.view, question.quantifier);
        let fits =
            |thread: &T::Object| quantifier.is_none_or(|it| it.classes.has(view.class_of(*thread)));
        let Some(slot) = question.reached else {
            let avoid = self.avoided(question.avoid.as_deref());
            let names = self.probes.thread_reach(object, avoid.as_slice(), part);
            let threads = self.root_targets(|root| is_of(root, &names, Part::Object));
            return threads.into_iter().filter(fits).collect();
        };
        let depends = question.avoid.as_ref().map_or(&[][..], |it| &it.depends);
        let key = self.key(depends);
        let known = self.threads.get(&slot).and_then(|it| it.get(&key));
        let reached = match known {
            Some(reached) => Rc::clone(reached),
            None => {
                let avoid = self.avoided(question.avoid.as_deref());
                let reached = Rc::new(self.each_thread(part, avoid.as_slice()));
                let kept = self.threads.entry(slot).or_default();
                // One for each object around which threads reach would be too much.
                kept.clear();
                kept.insert(key, Rc::clone(&reached));
                reached
            }
        };
        let threads = reached.iter().filter(|(_, set)| set.has(object));
        threads.map(|(thread, _)| *thread).filter(fits).collect()
    }

    /// What each thread reaches that has a thread object.
    fn each_thread(&self, part: Part, avoid: &[T::Object]) -> Reached<T::Object> {
        let mut threads = Vec::new();
        self.view.for_each_root(|root, object| {
            if root.kind == RootKind::ThreadObject {
                threads.push((root.name.clone(), object));
            }
        });
        let reached = threads.into_iter().map(|(name, object)| {
            let names = [name];
            let from = self.root_targets(|root| is_of(root, &names, part));
            (object, self.probes.reach_avoiding(&from, avoid))
        });
        reached.collect()
    }

    pub(super) fn dom(&mut self, dom: &Dom<'p>) -> bool {
        let Some(below) = self.object(dom.below) else {
            return false;
        };
        if dom.once {
            let ways = self.ways(&dom.above);
            return self.probes.reaches(&ways.own, &[], below)
                && !self.probes.reaches(&ways.others, &ways.avoid, below);
        }
        let [inside, around] = dom.slots;
        let inside = self.keep(inside, &dom.depends, |it| {
            let ways = it.ways(&dom.above);
            it.probes.reach_avoiding(&ways.own, &[])
        });
        inside.has(below) && {
            let around = self.keep(around, &dom.depends, |it| {
                let ways = it.ways(&dom.above);
                it.probes.reach_avoiding(&ways.others, &ways.avoid)
            });
            !around.has(below)
        }
    }

    fn ways(&mut self, above: &Above<'p>) -> Ways<T::Object> {
        let asker: Vec<String> = self.probes.asker().map(Into::into).into_iter().collect();
        let asks = |root: &Root| is_of(root, &asker, Part::Stack);
        let of_objects = |it: &Self, objects: Vec<T::Object>| Ways {
            own: objects.clone(),
            others: it.root_targets(|root| !asks(root)),
            avoid: objects,
        };
        let of_threads = |it: &Self, names: &[String], part| Ways {
            own: it.root_targets(|root| is_of(root, names, part)),
            others: it.root_targets(|root| !is_of(root, names, part) && !asks(root)),
            avoid: Vec::new(),
        };
        match above {
            Above::Object(path) => of_objects(self, self.object(path).into_iter().collect()),
            Above::Asker(Part::Object) => of_objects(self, self.ground.asker.into_iter().collect()),
            Above::Objects(set) => {
                let objects = self.set(set).as_slice().to_vec();
                of_objects(self, objects)
            }
            Above::Thread(thread, part) => of_threads(self, &self.names(thread), *part),
            Above::Asker(part) => of_threads(self, &asker, *part),
        }
    }
}

/// What decides whether something dominates.
struct Ways<O> {
    /// Where paths from the dominator start.
    own: Vec<O>,
    /// Where those of others do.
    others: Vec<O>,
    /// What those must not pass.
    avoid: Vec<O>,
}

/// Whether a root is of some of these threads, and of that part of them.
fn is_of(root: &Root, names: &[String], part: Part) -> bool {
    let is_part = match root.kind {
        RootKind::ThreadStack => part != Part::Object,
        RootKind::ThreadObject => part != Part::Stack,
        _ => false,
    };
    is_part && names.contains(&root.name)
}
