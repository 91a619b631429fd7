//! Threads: their roots, what they reach, and what dominates what.

use std::rc::Rc;

use heaphound_heap::Root;
use heaphound_heap::fields::Readable;
use heaphound_heap::root::{Part, RootKind};
use heaphound_heap::set::ObjectSet;

use super::super::members::Members;
use super::super::pattern::is_asker;
use super::super::tree::{Above, Dom, ThreadReach};
use super::{ByThread, Run};
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

    pub(super) fn thread_reach(&mut self, question: &ThreadReach<'p>) -> Members<T::Object> {
        let Some(object) = self.object(question.of) else {
            return Members::default();
        };
        let part = question.part;
        let mut dereferences = question.quantifier.iter().flat_map(|it| &it.dereferences);
        if !dereferences.all(|it| self.holds(it)) {
            return Members::default();
        }
        let threads: Vec<usize> = match question.reached {
            None => {
                let avoid = self.avoided(question.avoid.as_deref());
                let names = self.probes.thread_reach(object, avoid.as_slice(), part);
                let all = self.view.threads().iter().enumerate();
                let reaching = all.filter(|(_, name)| names.contains(name));
                reaching.map(|(nth, _)| nth).collect()
            }
            Some(slot) => {
                let reached = self.reached(question, slot);
                let all = reached.iter().enumerate();
                let reaching = all.filter(|(_, set)| set.contains(object));
                reaching.map(|(nth, _)| nth).collect()
            }
        };
        let mut members = self.threads_as_members(&threads);
        // A quantifier is asked only where each thread has an object.
        if let Some(quantifier) = question.quantifier {
            let fits = |it: &T::Object| quantifier.classes.contains(self.view.class_of(*it));
            members.objects = members.iter().filter(fits).collect();
        }
        members
    }

    /// What each thread reaches.
    fn reached(&mut self, question: &ThreadReach<'p>, slot: usize) -> ByThread<T::Object> {
        let depends = question.avoid.as_ref().map_or(&[][..], |it| &it.depends);
        let key = self.key(depends);
        let known = self.threads.get(&slot).and_then(|it| it.get(&key));
        if let Some(reached) = known {
            return Rc::clone(reached);
        }
        let avoid = self.avoided(question.avoid.as_deref());
        let threads = self.view.threads().iter();
        let reached = threads.map(|name| {
            let names = std::slice::from_ref(name);
            let from = self.root_targets(|root| is_of(root, names, question.part));
            self.probes.reach_avoiding(&from, avoid.as_slice())
        });
        let reached = Rc::new(reached.collect());
        let kept = self.threads.entry(slot).or_default();
        // One for each object around which threads reach would be too much.
        kept.clear();
        kept.insert(key, Rc::clone(&reached));
        reached
    }

    /// The thread objects of each thread.
    fn thread_objects(&self) -> Vec<Vec<T::Object>> {
        let names = self.view.threads();
        let mut objects = vec![Vec::new(); names.len()];
        self.view.for_each_root(|root, object| {
            if root.kind == RootKind::ThreadObject {
                let owners = names.iter().zip(&mut objects);
                let owners = owners.filter(|(name, _)| **name == root.name);
                owners.for_each(|(_, own)| own.push(object));
            }
        });
        objects
    }

    /// Whether one of the threads that are in a set by their names has this object.
    pub(super) fn has_by_name(&self, set: &Members<T::Object>, object: T::Object) -> bool {
        if set.threads.is_empty() {
            return false;
        }
        let objects = self.thread_objects();
        set.threads.iter().any(|it| objects[*it].contains(&object))
    }

    /// Threads as a set has them: by their objects, if these are theirs alone.
    pub(super) fn threads_as_members(&self, threads: &[usize]) -> Members<T::Object> {
        let all = self.thread_objects();
        let mut objects = Vec::new();
        let mut without = Vec::new();
        for &thread in threads {
            let own = &all[thread];
            let is_own =
                |it: &T::Object| all.iter().filter(|other| other.contains(it)).count() == 1;
            match !own.is_empty() && own.iter().all(is_own) {
                true => objects.extend(own),
                false => without.push(thread),
            }
        }
        Members {
            objects: objects.into_iter().collect(),
            threads: without,
        }
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
            it.probes.reach_avoiding(&ways.own, &[]).into()
        });
        inside.contains(below) && {
            let around = self.keep(around, &dom.depends, |it| {
                let ways = it.ways(&dom.above);
                let around = it.probes.reach_avoiding(&ways.others, &ways.avoid);
                around.into()
            });
            !around.contains(below)
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
