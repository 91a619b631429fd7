//! The model: a heap as a plain graph, collected by definition.
//!
//! Nothing here moves and nothing is ever removed; an object is what is reachable
//! or it is not. A full collection is a forecast of what it must do and what it may do.
//!
//! A heap may collect at any allocation. Whether it did is not the model's to know, so
//! what refers weakly to an unreachable object is then in *doubt*: it may have been
//! cleared. The next comparison looks, and settles the doubt.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::New;

/// An object's number in the model.
pub type Id = usize;

/// A weak reference.
#[derive(Clone, Copy, Default, Debug)]
pub struct WeakEdge {
    /// What it refers to, unless it was cleared.
    pub target: Option<Id>,
    /// It may have been cleared.
    pub doubt: bool,
}

impl From<Id> for WeakEdge {
    fn from(id: Id) -> Self {
        let target = Some(id);
        Self {
            target,
            doubt: false,
        }
    }
}

/// An entry of a weak map.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The key.
    pub key: Id,
    /// What it is mapped to.
    pub value: Id,
    /// It may have been removed.
    pub doubt: bool,
}

/// A finalizer that has not been called.
#[derive(Clone, Copy, Debug)]
pub struct Finalizer {
    /// Its number in the log.
    pub number: usize,
    /// The static into which it puts the object.
    pub saves_to: Option<usize>,
}

/// An object as it should be.
#[derive(Clone, Debug)]
pub struct ModelObject {
    /// What it is.
    pub new: New,
    /// Strong slots in field order.
    pub slots: Vec<Option<Id>>,
    /// Its weak slot, if it has one.
    pub weak: WeakEdge,
    /// Its number.
    pub value: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its entries, if it is a map.
    pub entries: Vec<Entry>,
    /// Its identity hash, once asked for.
    pub hash: Option<u32>,
    /// External memory accounted to it.
    pub external: usize,
    /// Finalizers that have not been called.
    pub finalizers: Vec<Finalizer>,
    /// Its owned memory was dropped.
    pub dropped: bool,
}

impl ModelObject {
    /// A new object.
    pub fn new(new: New, slots: Vec<Option<Id>>, bytes: Vec<u8>) -> Self {
        Self {
            new,
            slots,
            weak: WeakEdge::default(),
            value: 0,
            bytes,
            entries: Vec::new(),
            hash: None,
            external: 0,
            finalizers: Vec::new(),
            dropped: false,
        }
    }

    /// The name of its class in reports.
    pub fn class(&self) -> &'static str {
        match self.new {
            New::Leaf => "Leaf",
            New::Pair => "Pair",
            New::Special => "Special",
            New::Wide => "Wide",
            New::Owner => "Owner",
            New::Anchor => "Anchor",
            New::SmallRefs | New::MediumRefs | New::LargeRefs => "Object[]",
            New::SmallBytes | New::MediumBytes | New::LargeBytes => "u8[]",
            New::Text => "Str",
            New::Instance => "Base",
            New::SubInstance => "Sub",
            New::Map => "WeakMap<Object, Object>",
        }
    }

    /// Whether its drop is noted.
    pub fn is_droppable(&self) -> bool {
        matches!(self.new, New::Owner | New::Special)
    }

    /// Whether it is an array of references.
    pub fn is_refs(&self) -> bool {
        self.class() == "Object[]"
    }
}

/// A root, by its place in the model's lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "named like the lists")]
pub enum RootPlace {
    Local(usize),
    Handle(usize),
    Pin(usize),
    Static(usize),
    ThreadObject,
}

/// How a reachable object is reached.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// From a root.
    Root(RootPlace),
    /// Through a slot of another object.
    Slot(Id, usize),
    /// As the value of a key in a map: map, key.
    Entry(Id, Id),
}

/// What is reachable, and how.
#[derive(Clone, Default)]
pub struct Reach {
    /// In the order in which it was found.
    pub order: Vec<Id>,
    steps: BTreeMap<Id, Step>,
}

impl Reach {
    /// Whether the object is reachable.
    pub fn contains(&self, id: Id) -> bool {
        self.steps.contains_key(&id)
    }

    /// How the object is reached.
    pub fn step(&self, id: Id) -> Step {
        self.steps[&id]
    }

    fn add(&mut self, id: Id, step: Step) {
        if self.steps.insert(id, step).is_none() {
            self.order.push(id);
        } else {
            unreachable!("added once");
        }
    }
}

/// What a full collection must and may do.
pub struct Forecast {
    /// Strongly reachable.
    pub live: Reach,
    /// Also what finalizers may still see.
    pub retained: Reach,
    /// Objects whose memory must be dropped.
    pub must_drop: BTreeSet<Id>,
    /// Finalizers that must be called.
    pub must_finalize: BTreeSet<usize>,
}

/// Statics of a program; finalizers use the last ones.
pub const STATICS: usize = 5;
/// Those of them into which finalizers put objects.
pub const SAVED: std::ops::Range<usize> = 3..5;

/// A heap as it should be.
#[derive(Default)]
pub struct Model {
    /// All objects ever made.
    pub objects: Vec<ModelObject>,
    /// Locals of all open scopes, outermost first.
    pub locals: Vec<Id>,
    /// Root handles.
    pub handles: Vec<Id>,
    /// Pins.
    pub pins: Vec<Id>,
    /// Named statics.
    pub statics: [Option<Id>; STATICS],
    /// The thread's object.
    pub thread_object: Option<Id>,
    /// Weak handles.
    pub weak_handles: Vec<WeakEdge>,
    /// Whether weak references to what only finalizers can see are cleared for sure,
    /// and all finalizers of one unreachable structure are called at once. A
    /// generational heap looks at the young ones first, and the rest are then
    /// retained by those until the next time.
    pub exact_finalization: bool,
}

impl Model {
    /// Every root, with its place.
    pub fn roots(&self) -> impl Iterator<Item = (RootPlace, Id)> + '_ {
        let list = |ids: &'_ [Id]| ids.iter().copied().enumerate().collect::<Vec<_>>();
        let statics = self.statics.iter().enumerate();
        let statics = statics.filter_map(|(i, id)| Some((RootPlace::Static(i), (*id)?)));
        let thread_object = self.thread_object.map(|id| (RootPlace::ThreadObject, id));
        let locals = list(&self.locals).into_iter();
        let handles = list(&self.handles).into_iter();
        let pins = list(&self.pins).into_iter();
        statics
            .chain(thread_object)
            .chain(locals.map(|(i, id)| (RootPlace::Local(i), id)))
            .chain(handles.map(|(i, id)| (RootPlace::Handle(i), id)))
            .chain(pins.map(|(i, id)| (RootPlace::Pin(i), id)))
    }

    /// What is strongly reachable.
    pub fn reach(&self) -> Reach {
        let mut reach = Reach::default();
        for (place, id) in self.roots() {
            if !reach.contains(id) {
                reach.add(id, Step::Root(place));
            }
        }
        self.close(&mut reach, |_, _| true);
        reach
    }

    /// Adds what is reachable from what is, through slots and through the map
    /// entries that count.
    fn close(&self, reach: &mut Reach, counts: impl Fn(Id, &Entry) -> bool) {
        let mut next = 0;
        loop {
            while next < reach.order.len() {
                let from = reach.order[next];
                for (i, to) in self.objects[from].slots.iter().enumerate() {
                    if let Some(to) = *to
                        && !reach.contains(to)
                    {
                        reach.add(to, Step::Slot(from, i));
                    }
                }
                next += 1;
            }
            for map in reach.order.clone() {
                for entry in &self.objects[map].entries {
                    if reach.contains(entry.key)
                        && !reach.contains(entry.value)
                        && counts(map, entry)
                    {
                        reach.add(entry.value, Step::Entry(map, entry.key));
                    }
                }
            }
            if next == reach.order.len() {
                return;
            }
        }
    }

    /// What a full collection would do now.
    pub fn forecast(&self) -> Forecast {
        let live = self.reach();
        let finalizable: Vec<Id> = (0..self.objects.len())
            .filter(|&id| !live.contains(id) && !self.objects[id].finalizers.is_empty())
            .collect();
        let retained_by = |starts: &mut dyn Iterator<Item = Id>| {
            let mut retained = live.clone();
            for id in starts {
                if !retained.contains(id) {
                    retained.add(id, Step::Root(RootPlace::ThreadObject));
                }
            }
            // Where it is exact, an entry whose key has died is removed from a
            // live map before finalizers give the key another life.
            self.close(&mut retained, |map, entry| {
                !(self.exact_finalization && live.contains(map) && !live.contains(entry.key))
            });
            retained
        };
        let must_finalize = finalizable
            .iter()
            .filter(|&&id| {
                let others = &mut finalizable.iter().copied().filter(|&other| other != id);
                self.exact_finalization || !retained_by(others).contains(id)
            })
            .flat_map(|&id| &self.objects[id].finalizers)
            .map(|finalizer| finalizer.number)
            .collect();
        let retained = retained_by(&mut finalizable.iter().copied());
        let must_drop = (0..self.objects.len())
            .filter(|&id| {
                let object = &self.objects[id];
                object.is_droppable() && !object.dropped && !retained.contains(id)
            })
            .collect();
        Forecast {
            live,
            retained,
            must_drop,
            must_finalize,
        }
    }

    /// Clears what a full collection clears.
    pub fn settle(&mut self, forecast: &Forecast) {
        let Forecast { live, retained, .. } = forecast;
        let exact = self.exact_finalization;
        // Whether a weak reference is gone, and whether that is in doubt.
        let fate = |holder_lives: bool, target: Id| {
            let between = retained.contains(target) && !live.contains(target);
            let gone = !retained.contains(target) || exact && holder_lives && between;
            (gone, !gone && !exact && between)
        };
        let settle = |holder_lives: bool, edge: &mut WeakEdge| {
            if let Some(target) = edge.target {
                let (gone, doubt) = fate(holder_lives, target);
                if gone {
                    *edge = WeakEdge::default();
                } else {
                    edge.doubt |= doubt;
                }
            }
        };
        for edge in &mut self.weak_handles {
            settle(true, edge);
        }
        for (id, object) in self.objects.iter_mut().enumerate() {
            settle(live.contains(id), &mut object.weak);
            object.entries.retain_mut(|entry| {
                let (gone, doubt) = fate(live.contains(id), entry.key);
                entry.doubt |= doubt;
                !gone
            });
        }
    }

    /// A collection may have happened: what refers weakly to the unreachable may have
    /// been cleared.
    pub fn cast_doubt(&mut self) {
        let live = self.reach();
        let doubt = |edge: &mut WeakEdge| {
            edge.doubt |= edge.target.is_some_and(|target| !live.contains(target));
        };
        self.weak_handles.iter_mut().for_each(doubt);
        for object in &mut self.objects {
            doubt(&mut object.weak);
            for entry in &mut object.entries {
                entry.doubt |= !live.contains(entry.key);
            }
        }
    }

    /// The object whose finalizer that is, and the finalizer, which is called now.
    pub fn take_finalizer(&mut self, number: usize) -> Option<(Id, Finalizer)> {
        for (id, object) in self.objects.iter_mut().enumerate() {
            let place = object.finalizers.iter().position(|it| it.number == number);
            if let Some(place) = place {
                return Some((id, object.finalizers.remove(place)));
            }
        }
        None
    }
}
