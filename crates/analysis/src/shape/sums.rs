//! Sums of hashes: what is true of each object of a structure, and of each pair, without a list of them.
//!
//! Counts cannot detect that a tree has lost one child and has another twice. Sums of hashes
//! can: if the sum of h(target) over all references of `left`, `right` and `Tree.root` is the
//! sum of h(object) over all nodes, each node is referred to exactly once. If the sum of
//! h(source, target) over `left` and `right` is the sum of h(target, source) over `parent`,
//! each is the inverse of the other. Whatever adds up to nothing in such sums does so for each
//! object. Only that matters, and it depends neither on the order in which a collector
//! visits edges nor on addresses.
//!
//! Hashes have 31 bits, so that sums are exact whole numbers: relations between them can be solved
//! (`matching.rs`).
//!
//! Elements of an array count for the object that refers to the array, too: `.children[*]`. The first
//! element alone does as well, because in a skip list it leads to each node: `.next[0]`.
//!
//! What two slots of one object refer to is a pair, too: `.next&from`. If all objects of a chain know whose they
//! are, whoever is next knows the same.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use heaphound_heap::class::Elements;
use heaphound_heap::trace::Traceable;
use heaphound_heap::view::Place;
use heaphound_heap::{ClassInfo, FieldKind};

use super::{Backbone, Backbones, HashSum, Referrer, Role, slots};
use crate::slot::{SlotId, SlotIds, SlotName};
use crate::summary::{live, on_threads};

/// A slot of a class, or the elements of the arrays that it refers to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Link {
    /// The slot.
    Slot(SlotId),
    /// The elements.
    Elements(SlotId),
    /// The first element alone.
    First(SlotId),
    /// What one slot of an object refers to, together with what another slot of it refers to: an edge's next
    /// and where it is from.
    Beside(SlotId, SlotId),
}

/// What is true of an object of a structure, a number of times.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Trait {
    /// It is one.
    Object,
    /// An object of the structure refers to it.
    Raised,
    /// It refers to something.
    Source(Link),
    /// It is referred to, by any class.
    Target(Link),
    /// It refers to itself.
    Itself(Link),
    /// It refers to an array, which is so long.
    Length(SlotId),
    /// The same, if an object of the structure refers to it.
    RaisedLength(SlotId),
    /// Elements of that array have nothing directly before them.
    Gap(SlotId),
}

/// The sums of one worker.
#[derive(Clone, Debug, Default)]
pub struct SumCounters {
    /// By the place of a class in the list of backbones.
    traits: HashMap<(u32, Trait), u64, FixedState>,
    /// By link and the place of the target: over (source, target) and over (target, source).
    pairs: HashMap<(Link, u32), (u64, u64), FixedState>,
}

/// The sums of all workers together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sums {
    traits: BTreeMap<(u32, Trait), u64>,
    pairs: BTreeMap<(Link, u32), (u64, u64)>,
}

impl SumCounters {
    /// Adds a sum over objects of a class: of [`hash`](Self::hash), each as often as it has a
    /// trait.
    pub fn add(&mut self, place: usize, what: Trait, sum: u64) {
        let known = self.traits.entry((place as u32, what)).or_default();
        *known = known.wrapping_add(sum);
    }

    /// Adds sums over references to objects of a class: of [`hash_pair`](Self::hash_pair) of source
    /// and target, and of target and source.
    pub fn add_pairs(&mut self, link: Link, to: usize, forth: u64, back: u64) {
        let known = self.pairs.entry((link, to as u32)).or_default();
        *known = (known.0.wrapping_add(forth), known.1.wrapping_add(back));
    }

    /// Returns the hash of an object.
    #[inline]
    pub fn hash(object: u64) -> u64 {
        Self::hash_of(mix(object))
    }

    /// Returns the hash of two objects, of which the first is mixed already.
    #[inline]
    pub fn hash_mixed(a: u64, b: u64) -> u64 {
        Self::hash_of(mix(a.wrapping_add(b)))
    }

    /// Returns the hash of an object that is mixed already.
    #[inline]
    pub fn hash_of(mixed: u64) -> u64 {
        mixed >> 33
    }

    /// Mixes the number of an object for [`hash_mixed`](Self::hash_mixed).
    #[inline]
    pub fn mix(object: u64) -> u64 {
        mix(object)
    }

    /// Returns the hash of two objects.
    #[inline]
    pub fn hash_pair(a: u64, b: u64) -> u64 {
        Self::hash_mixed(mix(a), b)
    }

    /// Returns the sums of all workers together.
    pub fn merge(workers: impl IntoIterator<Item = Self>) -> Sums {
        let mut all = Sums::default();
        for worker in workers {
            for (key, it) in worker.traits {
                let sum = all.traits.entry(key).or_default();
                *sum = sum.wrapping_add(it);
            }
            for (key, (forth, back)) in worker.pairs {
                let sum = all.pairs.entry(key).or_default();
                *sum = (sum.0.wrapping_add(forth), sum.1.wrapping_add(back));
            }
        }
        all.traits.retain(|_, sum| *sum != 0);
        all.pairs.retain(|_, sums| *sums != (0, 0));
        all
    }
}

/// Returns the sums of a view, added up on this thread.
pub fn sums<T: Traceable>(view: &T, backbones: &Backbones) -> Sums {
    let look = |objects: &[T::Object]| look(view, backbones, objects);
    finish(view, backbones, vec![look(&live(view, 1))])
}

/// Returns the sums of a view that can be shared, added up on several threads.
pub fn sums_on<T: Traceable + Sync>(view: &T, backbones: &Backbones, threads: usize) -> Sums {
    let objects = live(view, threads);
    let look = |objects: &[T::Object]| look(view, backbones, objects);
    finish(view, backbones, on_threads(&objects, threads, look))
}

/// Returns what objects add, and those that objects of their structure refer to.
fn look<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    objects: &[T::Object],
) -> (SumCounters, Vec<T::Object>) {
    let mut counters = SumCounters::default();
    let mut raised = Vec::new();
    let walk = Walk::new(view, backbones);
    for &object in objects {
        walk.object(object, &mut |seen| match seen {
            Seen::Raised(object) => raised.push(object),
            Seen::Trait(place, what, object, times) => {
                let sum = SumCounters::hash(number(object)).wrapping_mul(times);
                counters.add(place, what, sum);
            }
            Seen::Pair {
                link,
                place,
                from,
                to,
                ..
            } => {
                let (from, to) = (number(from), number(to));
                let forth = SumCounters::hash_pair(from, to);
                let back = SumCounters::hash_pair(to, from);
                counters.add_pairs(link, place, forth, back);
            }
        });
    }
    (counters, raised)
}

fn finish<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    workers: Vec<(SumCounters, Vec<T::Object>)>,
) -> Sums {
    let mut raised = Vec::new();
    let mut all = Vec::new();
    for (worker, mut list) in workers {
        all.push(worker);
        raised.append(&mut list);
    }
    raised.sort_unstable();
    raised.dedup();
    let mut counters = SumCounters::default();
    let walk = Walk::new(view, backbones);
    for object in raised {
        let hash = SumCounters::hash(number(object));
        walk.raised(object, &mut |place, what, times| {
            counters.add(place, what, hash.wrapping_mul(times));
        });
    }
    all.push(counters);
    SumCounters::merge(all)
}

/// Returns a number for an object: the same in every process, unlike that of a map.
pub(super) fn number(object: impl Hash) -> u64 {
    FixedState::default().hash_one(object)
}

/// What is seen of structures.
pub(super) enum Seen<O> {
    /// An object of the class at a place has a trait so often.
    Trait(usize, Trait, O, u64),
    /// An object of the structure refers to it.
    Raised(O),
    /// A reference leads from an object to one of the class at a place.
    Pair {
        link: Link,
        place: usize,
        /// Whose slots it is seen in.
        by: O,
        from: O,
        to: O,
    },
}

/// Looks at the objects of a view, one by one: the slow twin of a collector's counting.
pub(super) struct Walk<'a, T> {
    view: &'a T,
    backbones: &'a Backbones,
    ids: SlotIds,
}

impl<'a, T: Traceable> Walk<'a, T> {
    pub(super) fn new(view: &'a T, backbones: &'a Backbones) -> Self {
        Self {
            view,
            backbones,
            ids: SlotIds::new(view.classes()),
        }
    }

    /// Looks at one object.
    pub(super) fn object(&self, object: T::Object, seen: &mut dyn FnMut(Seen<T::Object>)) {
        let view = self.view;
        let class = view.class_of(object);
        let place = self.backbones.place(class);
        let own = place.map(|place| self.backbones.list()[place]);
        if let Some(place) = place {
            seen(Seen::Trait(place, Trait::Object, object, 1));
        }
        view.for_each_strong_edge(object, |at, to| {
            let slot = self.ids.at(class, at);
            let to_class = view.class_of(to);
            if let Some(to_place) = self.backbones.place(to_class) {
                let arrives = Trait::Target(Link::Slot(slot));
                seen(Seen::Trait(to_place, arrives, to, 1));
                if self.backbones.raises(slot, to_class).is_some() {
                    seen(Seen::Raised(to));
                }
            }
            let looked = own.filter(|own| own.role != Role::Array);
            if let (Some(place), Some(own)) = (place, looked) {
                self.link(place, &own, Link::Slot(slot), object, at, to, seen);
                self.elements(place, &own, slot, object, to, seen);
            }
        });
        if let Some(own) = own {
            self.beside(&own, object, seen);
        }
    }

    /// Looks at what two slots of an object refer to.
    fn beside(&self, own: &Backbone, object: T::Object, seen: &mut dyn FnMut(Seen<T::Object>)) {
        let pairs = self.backbones.beside(own.class);
        if pairs.is_empty() {
            return;
        }
        let mut targets = BTreeMap::new();
        self.view.for_each_strong_edge(object, |at, to| {
            let class = self.view.class_of(to);
            if let Some(place) = self.backbones.relative(own.family, class) {
                targets.insert(self.ids.at(own.class, at), (place, to));
            }
        });
        for &(_, a, b) in pairs {
            if let (Some(&(_, from)), Some(&(place, to))) = (targets.get(&a), targets.get(&b)) {
                let (link, by) = (Link::Beside(a, b), object);
                seen(Seen::Pair {
                    link,
                    place,
                    by,
                    from,
                    to,
                });
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "an edge has as many sides")]
    fn link(
        &self,
        place: usize,
        own: &Backbone,
        link: Link,
        from: T::Object,
        at: Place,
        to: T::Object,
        seen: &mut dyn FnMut(Seen<T::Object>),
    ) {
        let to_class = self.view.class_of(to);
        let to_place = self.backbones.relative(own.family, to_class);
        let is_source = match (link, at) {
            // Whether it holds something is not known until its key is.
            (Link::Slot(_), Place::Field(field)) => {
                let kind = self.view.class(own.class).fields[field as usize].kind;
                kind != FieldKind::Dependent
            }
            (Link::Slot(_), Place::Element(_)) => true,
            _ => to_place.is_some(),
        };
        if is_source {
            seen(Seen::Trait(place, Trait::Source(link), from, 1));
        }
        if let Some(to_place) = to_place {
            let (place, by) = (to_place, from);
            seen(Seen::Pair {
                link,
                place,
                by,
                from,
                to,
            });
            if from == to {
                seen(Seen::Trait(place, Trait::Itself(link), from, 1));
            }
            if matches!(link, Link::Elements(_)) {
                seen(Seen::Trait(to_place, Trait::Target(link), to, 1));
            }
        }
    }

    /// Looks at the elements of an array that an object refers to.
    fn elements(
        &self,
        place: usize,
        own: &Backbone,
        slot: SlotId,
        from: T::Object,
        array: T::Object,
        seen: &mut dyn FnMut(Seen<T::Object>),
    ) {
        if let Some(length) = self.length(slot, array) {
            seen(Seen::Trait(place, Trait::Length(slot), from, length));
            let mut next = 0;
            self.view.for_each_strong_edge(array, |at, to| {
                let Place::Element(index) = at else {
                    return;
                };
                self.link(place, own, Link::Elements(slot), from, at, to, seen);
                let to_class = self.view.class_of(to);
                if let Some(to_place) = self.backbones.relative(own.family, to_class) {
                    if index == 0 {
                        let first = Link::First(slot);
                        seen(Seen::Trait(to_place, Trait::Target(first), to, 1));
                        seen(Seen::Trait(place, Trait::Source(first), from, 1));
                    }
                    if index != next {
                        seen(Seen::Trait(place, Trait::Gap(slot), from, 1));
                    }
                    next = index + 1;
                }
            });
        }
    }

    /// Says what follows for an object from the fact that one of its structure refers to it.
    pub(super) fn raised(&self, object: T::Object, seen: &mut dyn FnMut(usize, Trait, u64)) {
        let class = self.view.class_of(object);
        let Some(place) = self.backbones.place(class) else {
            return;
        };
        seen(place, Trait::Raised, 1);
        if !self.backbones.looks_at(class) {
            return;
        }
        self.view.for_each_strong_edge(object, |at, to| {
            let slot = self.ids.at(class, at);
            if let Some(length) = self.length(slot, to) {
                seen(place, Trait::RaisedLength(slot), length);
            }
        });
    }

    /// Returns the length of an array of references that is read for a slot.
    fn length(&self, slot: SlotId, array: T::Object) -> Option<u64> {
        let class = self.view.class(self.view.class_of(array));
        let is_read = class.elements == Some(Elements::Refs) && self.backbones.reads_arrays(slot);
        is_read.then(|| self.view.length_of(array).unwrap_or(0) as u64)
    }
}

impl Sums {
    /// Returns the sums of one class, by name; of its family, if it is the first of that.
    pub(super) fn of_backbone(
        &self,
        place: usize,
        backbones: &Backbones,
        classes: &[ClassInfo],
        ids: &SlotIds,
    ) -> BTreeMap<HashSum, u64> {
        let names = Names { classes, ids };
        let own = &backbones.list()[place];
        let mut sums: BTreeMap<HashSum, u64> = BTreeMap::new();
        // Two classes may have the same name, and so may their slots.
        let mut add = |sum: HashSum, value: u64| {
            let known = sums.entry(sum).or_default();
            *known = known.wrapping_add(value);
        };
        let first = (place as u32, Trait::Object);
        let of_place = self.traits.range(first..);
        for (&(_, what), &sum) in of_place.take_while(|it| it.0.0 == place as u32) {
            for (name, times) in names.of(what, own) {
                add(name, sum.wrapping_mul(times as u64));
            }
        }
        if leads(place, backbones, classes) {
            for (&(link, to), &(forth, back)) in &self.pairs {
                let family = backbones.list().get(to as usize).map(|it| it.family);
                if family == Some(own.family) {
                    let [there, again] = names.pairs(link, own);
                    add(there, forth);
                    add(again, back);
                }
            }
        }
        sums
    }
}

/// Returns what each object of a class adds to a sum of sums, where that is not nothing.
pub(super) fn defects<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    place: usize,
    terms: &BTreeMap<HashSum, i64>,
) -> BTreeMap<T::Object, i64> {
    let ids = SlotIds::new(view.classes());
    let names = Names {
        classes: view.classes(),
        ids: &ids,
    };
    let own = &backbones.list()[place];
    let mut times_of: HashMap<Trait, i64, FixedState> = HashMap::default();
    let mut times_of = |what: Trait| {
        *times_of.entry(what).or_insert_with(|| {
            let parts = names.of(what, own).into_iter();
            let parts = parts.map(|(name, times)| times * terms.get(&name).copied().unwrap_or(0));
            parts.sum()
        })
    };
    let mut defects: BTreeMap<T::Object, i64> = BTreeMap::new();
    let mut raised = Vec::new();
    let walk = Walk::new(view, backbones);
    for object in live(view, 1) {
        walk.object(object, &mut |seen| match seen {
            Seen::Trait(at, what, object, times) if at == place => {
                *defects.entry(object).or_default() += times_of(what) * times as i64;
            }
            Seen::Raised(object) => raised.push(object),
            _ => {}
        });
    }
    raised.sort_unstable();
    raised.dedup();
    for object in raised {
        walk.raised(object, &mut |at, what, times| {
            if at == place {
                *defects.entry(object).or_default() += times_of(what) * times as i64;
            }
        });
    }
    defects.retain(|_, times| *times != 0);
    defects
}

/// Returns the pairs that a sum of sums has too often or too rarely, and for each time that it has one, whose slots it is
/// seen in.
pub(super) fn unmatched<T: Traceable>(
    view: &T,
    backbones: &Backbones,
    place: usize,
    terms: &BTreeMap<HashSum, i64>,
) -> (Vec<Pair<T>>, Vec<T::Object>) {
    let ids = SlotIds::new(view.classes());
    let names = Names {
        classes: view.classes(),
        ids: &ids,
    };
    let own = &backbones.list()[place];
    let mut times_of: HashMap<Link, (i64, i64), FixedState> = HashMap::default();
    let walk = Walk::new(view, backbones);
    let objects = live(view, 1);
    let mut for_each_pair = |f: &mut dyn FnMut(T::Object, Pair<T>, i64)| {
        for &object in &objects {
            walk.object(object, &mut |seen| {
                if let Seen::Pair {
                    link,
                    place,
                    by,
                    from,
                    to,
                } = seen
                    && backbones.list()[place].family == own.family
                {
                    let &mut (forth, back) = times_of.entry(link).or_insert_with(|| {
                        let times = |sum: HashSum| terms.get(&sum).copied().unwrap_or(0);
                        names.pairs(link, own).map(times).into()
                    });
                    f(by, (from, to), forth);
                    f(by, (to, from), back);
                }
            });
        }
    };
    let mut pairs: BTreeMap<Pair<T>, i64> = BTreeMap::new();
    for_each_pair(&mut |_, pair, times| *pairs.entry(pair).or_default() += times);
    pairs.retain(|_, times| *times != 0);
    let mut seen_by = Vec::new();
    for_each_pair(&mut |by, pair, times| {
        if times != 0 && pairs.contains_key(&pair) {
            seen_by.push(by);
        }
    });
    (pairs.into_keys().collect(), seen_by)
}

type Pair<T> = (
    <T as heaphound_heap::view::HeapView>::Object,
    <T as heaphound_heap::view::HeapView>::Object,
);

/// Returns whether a class is the one of its family that has the sums of pairs: the backbone whose name comes
/// first.
fn leads(place: usize, backbones: &Backbones, classes: &[ClassInfo]) -> bool {
    let own = &backbones.list()[place];
    let family = backbones.list().iter().filter(|it| it.family == own.family);
    let first = family.min_by_key(|it| (it.role, &classes[it.class.0 as usize - 1].name, it.class));
    first.is_some_and(|it| it.class == own.class)
}

struct Names<'a> {
    classes: &'a [ClassInfo],
    ids: &'a SlotIds,
}

impl Names<'_> {
    /// Returns the sums that a trait of an object of a class is part of, and how often.
    fn of(&self, what: Trait, own: &Backbone) -> Vec<(HashSum, i64)> {
        let slot = |slot| self.own(Link::Slot(slot));
        match what {
            Trait::Object => vec![(HashSum::Objects, 1), (HashSum::Heads, 1)],
            Trait::Raised => vec![(HashSum::Heads, -1)],
            // That there are no gaps is known, too.
            Trait::Source(link @ Link::Elements(it)) => vec![
                (HashSum::Sources(self.own(link)), 1),
                (HashSum::Gaps(slot(it)), 0),
            ],
            Trait::Source(link) => vec![(HashSum::Sources(self.own(link)), 1)],
            Trait::Gap(it) => vec![(HashSum::Gaps(slot(it)), 1)],
            Trait::Target(link) => vec![(HashSum::Targets(self.referrer(link, own)), 1)],
            Trait::Itself(link) => vec![(HashSum::Itself(self.own(link)), 1)],
            Trait::Length(it) => vec![
                (HashSum::Length(slot(it)), 1),
                (HashSum::HeadLength(slot(it)), 1),
            ],
            Trait::RaisedLength(it) => vec![(HashSum::HeadLength(slot(it)), -1)],
        }
    }

    /// Returns the sums that pairs are part of: as they are, and the other way round.
    fn pairs(&self, link: Link, own: &Backbone) -> [HashSum; 2] {
        let name = self.referrer(link, own);
        match link {
            Link::Beside(..) => [HashSum::Beside(name.clone()), HashSum::BesideBack(name)],
            _ => [HashSum::Forward(name.clone()), HashSum::Backward(name)],
        }
    }

    fn own(&self, link: Link) -> SlotName {
        match link {
            Link::Slot(slot) => slots::own_name(self.ids, self.classes, slot),
            Link::Elements(slot) => slots::own_name(self.ids, self.classes, slot).elements(),
            Link::First(slot) => slots::own_name(self.ids, self.classes, slot).first(),
            Link::Beside(a, b) => {
                let [a, b] = [a, b].map(|slot| slots::own_name(self.ids, self.classes, slot));
                a.beside(&b)
            }
        }
    }

    fn referrer(&self, link: Link, own: &Backbone) -> Referrer {
        let (Link::Slot(slot) | Link::Elements(slot) | Link::First(slot) | Link::Beside(slot, _)) =
            link;
        if self.ids.class_of(slot) == Some(own.class) {
            return Referrer::Own(self.own(link));
        }
        let name = slots::name_with_class(self.ids, self.classes, slot);
        Referrer::Other(match link {
            Link::Slot(_) => name,
            Link::Elements(_) => name.elements(),
            Link::First(_) => name.first(),
            Link::Beside(_, other) => name.beside(&slots::own_name(self.ids, self.classes, other)),
        })
    }
}

/// The last step of splitmix64: every bit of the result depends on every bit given.
#[inline]
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
