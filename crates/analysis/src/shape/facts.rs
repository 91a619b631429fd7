//! Looks at facts (`fact.rs`) in a heap: who they are about, and both sides of each.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use heaphound_heap::ClassId;
use heaphound_heap::class::Elements;
use heaphound_heap::trace::{Traceable, Visits};
use heaphound_heap::view::Place;

use super::fact::{By, Comparison, Fact, Field, Finder, Fold, Number, What, number_of};
use super::sums::number;
use super::tally::{ITSELF, OUTCOMES, Tally, outcome};
use super::{Backbones, Measure};
use crate::slot::SlotIds;
use crate::summary::{Summary, live, on_threads, summarize};

/// The facts of a heap, and the objects that they are about.
pub(super) struct Facts<'v, T: Traceable> {
    view: &'v T,
    backbones: &'v Backbones,
    /// How many objects there are.
    live: usize,
    list: Vec<(Fact, String)>,
    objects: HashMap<ClassId, Vec<T::Object>>,
    /// By owner class: each owner, and how many objects of each place it reaches.
    reached: BTreeMap<ClassId, Vec<Owner<T::Object>>>,
}

/// An owner, and how many objects of each place it reaches.
type Owner<O> = (O, Vec<u64>);

/// A case of a fact: both sides, and the objects that differ if it does not hold.
struct Case<O> {
    left: i64,
    right: i64,
    /// A slot leads to the object itself.
    is_itself: bool,
    about: [Option<O>; 2],
}

impl<O> Case<O> {
    fn new(left: i64, right: i64, about: [Option<O>; 2]) -> Self {
        Self {
            left,
            right,
            is_itself: false,
            about,
        }
    }

    fn outcome(&self, comparison: Comparison) -> usize {
        match self.is_itself {
            true => ITSELF,
            false => outcome(comparison, self.left, self.right),
        }
    }
}

impl<'v, T: Traceable> Facts<'v, T> {
    pub(super) fn new(
        view: &'v T,
        summary: &Summary,
        ids: &SlotIds,
        backbones: &'v Backbones,
        live: &[T::Object],
    ) -> Self {
        let finder = Finder::new(summary, view.classes(), ids, backbones);
        let all = finder.all().into_iter();
        let list: Vec<(Fact, String)> = all
            .map(|it| {
                let name = finder.spelled(&it).to_string();
                (it, name)
            })
            .collect();
        let mut objects: HashMap<ClassId, Vec<T::Object>> =
            list.iter().map(|it| (it.0.class, Vec::new())).collect();
        for &object in live {
            if let Some(own) = objects.get_mut(&view.class_of(object)) {
                own.push(object);
            }
        }
        // Several threads find them in any order.
        objects.values_mut().for_each(|it| it.sort_unstable());
        let mut facts = Self {
            view,
            backbones,
            live: live.len(),
            list,
            objects,
            reached: BTreeMap::new(),
        };
        let is_of_all = |it: &&(Fact, String)| matches!(it.0.what, What::Reached(..));
        let owners = facts.list.iter().filter(is_of_all).map(|it| it.0.class);
        let owners: BTreeSet<ClassId> = owners.collect();
        for class in owners {
            let reached = facts.reach(class);
            facts.reached.insert(class, reached);
        }
        facts
    }

    /// Calls `f` with each case of a fact, until it returns false.
    fn cases(&self, fact: &Fact, f: &mut dyn FnMut(Case<T::Object>) -> bool) {
        let objects = &self.objects[&fact.class];
        match &fact.what {
            What::Owner { head, next, path } => self.owned(objects, *head, *next, path, f),
            &What::Reached(field, class) => {
                let Some(place) = self.backbones.place(class) else {
                    return;
                };
                for (owner, reached) in &self.reached[&fact.class] {
                    let left = number_of(self.view, *owner, field);
                    let right = reached[place] as i64;
                    let about = [Some(*owner), None];
                    if let Some(left) = left
                        && !f(Case::new(left, right, about))
                    {
                        return;
                    }
                }
            }
            what => {
                for &object in objects {
                    if !self.of_object(what, object, f) {
                        return;
                    }
                }
            }
        }
    }

    /// Calls `f` with the cases of an object. Returns whether to go on.
    fn of_object(
        &self,
        what: &What,
        object: T::Object,
        f: &mut dyn FnMut(Case<T::Object>) -> bool,
    ) -> bool {
        let mut case = |left: Option<i64>, right: Option<i64>, also: Option<T::Object>| {
            let about = [Some(object), also];
            match (left, right) {
                (Some(left), Some(right)) => f(Case::new(left, right, about)),
                _ => true,
            }
        };
        let field = |of: T::Object, field: Field| number_of(self.view, of, field);
        let slot = |slot: Field| self.view.slot(object, slot as usize);
        match what {
            &What::Null(field) => case(Some(slot(field).is_none().into()), Some(0), None),
            &What::Nothing(a, b) => {
                let is_nothing = |it| self.leads_to_nothing(object, it).map(i64::from);
                case(is_nothing(a), is_nothing(b), None)
            }
            &What::Here(a, b) => case(self.number(object, a), self.number(object, b), None),
            &What::Along(along, ..) if slot(along) == Some(object) => f(Case {
                is_itself: true,
                ..Case::new(0, 0, [Some(object), None])
            }),
            &What::Along(along, a, b) => match slot(along) {
                Some(to) => {
                    let is_of_arrays = !matches!(b, Number::Field(_));
                    let also = Some(to).filter(|_| is_of_arrays);
                    case(self.number(object, a), self.number(to, b), also)
                }
                None => true,
            },
            &What::Each(along, a, b) => {
                let own = field(object, a);
                let mut goes_on = true;
                self.elements(object, along, |_, to| {
                    goes_on = goes_on && case(own, field(to, b), None);
                });
                goes_on
            }
            &What::Sorted(along, number) => {
                let (mut before, mut goes_on) = (None, true);
                self.elements(object, along, |_, to| {
                    let this = field(to, number);
                    goes_on = goes_on && case(before, this, None);
                    before = this;
                });
                goes_on
            }
            &What::Place(along, number) => {
                let mut goes_on = true;
                self.elements(object, along, |at, to| {
                    goes_on = goes_on && case(field(to, number), Some(at.into()), Some(to));
                });
                goes_on
            }
            &What::Sides(a, b, number) => {
                let side = |it| slot(it).map_or(Some(0), |to| field(to, number));
                case(side(a), side(b), None)
            }
            What::Fold(number, fold) => case(
                field(object, *number),
                self.fold(object, *number, fold),
                None,
            ),
            What::Owner { .. } | What::Reached(..) => true,
        }
    }

    fn leads_to_nothing(&self, object: T::Object, field: Field) -> Option<bool> {
        let info = self.view.class(self.view.class_of(object));
        if !info.fields[field as usize].kind.is_slot() {
            return Some(number_of(self.view, object, field)? == 0);
        }
        let Some(to) = self.view.slot(object, field as usize) else {
            return Some(true);
        };
        let is_array = self.view.class(self.view.class_of(to)).elements == Some(Elements::Refs);
        let mut elements = 0;
        if is_array {
            self.view.for_each_target(to, |_| elements += 1);
        }
        Some(is_array && elements == 0)
    }

    /// Calls `f` with each element of the array that a slot refers to, but for nulls, and where it is.
    fn elements(&self, object: T::Object, slot: Field, mut f: impl FnMut(u32, T::Object)) {
        let Some(array) = self.view.slot(object, slot as usize) else {
            return;
        };
        self.view.for_each_strong_edge(array, |at, to| {
            if let Place::Element(at) = at {
                f(at, to);
            }
        });
    }

    fn number(&self, object: T::Object, number: Number) -> Option<i64> {
        match number {
            Number::Field(field) => number_of(self.view, object, field),
            Number::ElementsOrNone(slot) => {
                let mut count = 0;
                self.elements(object, slot, |_, _| count += 1);
                Some(count)
            }
            Number::Elements(slot) => {
                let mut count = 0;
                self.elements(object, slot, |_, _| count += 1);
                self.view.slot(object, slot as usize).map(|_| count)
            }
            Number::First(slot, field) => {
                let mut first = None;
                self.elements(object, slot, |_, to| first = first.or(Some(to)));
                number_of(self.view, first?, field)
            }
            Number::Last(slot, field) => {
                let mut last = None;
                self.elements(object, slot, |_, to| last = Some(to));
                number_of(self.view, last?, field)
            }
        }
    }

    fn fold(&self, object: T::Object, number: Field, fold: &Fold) -> Option<i64> {
        let mut all = Vec::new();
        for &slot in &fold.below {
            match (self.view.slot(object, slot as usize), fold.null) {
                (Some(to), _) => all.push(number_of(self.view, to, number)?),
                (None, null) => all.extend(null),
            }
        }
        if let Some(own) = fold.own {
            all.push(number_of(self.view, object, own)?);
        }
        let all = all.into_iter();
        match fold.by {
            By::Largest => all.max(),
            By::Smallest => all.min(),
            By::Sum => Some(all.fold(0, i64::saturating_add)),
        }
    }

    /// Follows the list of each owner, and compares the owner with where a path leads. Who is met again is not
    /// looked at again.
    fn owned(
        &self,
        owners: &[T::Object],
        head: Field,
        next: Field,
        path: &[Field],
        f: &mut dyn FnMut(Case<T::Object>) -> bool,
    ) {
        let mut visits = self.view.visits();
        visits.reserve(1);
        let mark = visits.fresh();
        let hash = |it: T::Object| number(it) as i64;
        for &owner in owners {
            let mut listed = self.view.slot(owner, head as usize);
            while let Some(object) = listed.filter(|it| visits.set(*it, mark)) {
                // Whose slot leads there: it is the one that differs.
                let mut last = object;
                let (inner, end) = path.split_at(path.len() - 1);
                for &slot in inner {
                    last = self.view.slot(last, slot as usize).unwrap_or(last);
                }
                let to = self.view.slot(last, end[0] as usize);
                let about = [Some(last), Some(object).filter(|it| *it != last)];
                let (left, right) = (hash(owner), to.map_or(0, hash));
                if to.is_some() && !f(Case::new(left, right, about)) {
                    return;
                }
                listed = self.view.slot(object, next as usize);
            }
        }
    }

    /// Returns how many objects of each structure one reaches from each object of a class, through members of
    /// structures and arrays. Who is reached from two counts once.
    fn reach(&self, class: ClassId) -> Vec<Owner<T::Object>> {
        let mut visits = self.view.visits();
        visits.reserve(1);
        let mark = visits.fresh();
        let places = self.backbones.list().len();
        let mut left = Vec::new();
        let of_owner = |&owner: &T::Object| {
            let mut counts = vec![0; places];
            left.push(owner);
            while let Some(object) = left.pop() {
                self.view.for_each_target(object, |to| {
                    let to_class = self.view.class_of(to);
                    let place = self.backbones.place(to_class);
                    let is_array = self.view.class(to_class).elements == Some(Elements::Refs);
                    let is_entered = to_class != class && (place.is_some() || is_array);
                    if is_entered && visits.set(to, mark) {
                        left.push(to);
                        if let Some(place) = place {
                            counts[place] += 1;
                        }
                    }
                });
            }
            (owner, counts)
        };
        self.objects[&class].iter().map(of_owner).collect()
    }

    fn tally(&self, fact: &Fact) -> Option<Tally> {
        let mut tally = Tally::new(fact.what.comparison(), fact.what.is_alike());
        self.cases(fact, &mut |case| {
            match case.is_itself {
                true => tally.add_itself(),
                false => tally.add(case.left, case.right),
            }
            !tally.is_exhausted()
        });
        tally.finish(self.live)
    }

    /// Adds what was seen of all facts to the measures of their structures.
    pub(super) fn add_to(&self, measures: &mut [Measure]) {
        let tallies = self.list.iter().map(|it| self.tally(&it.0)).collect();
        self.put(tallies, measures);
    }

    fn put(&self, tallies: Vec<Option<Tally>>, measures: &mut [Measure]) {
        for ((fact, name), tally) in self.list.iter().zip(tallies) {
            let known = tally.map(|tally| (name.clone(), tally));
            measures[fact.place].facts.extend(known);
        }
    }

    /// Returns the objects for which a fact of a structure has an outcome that must not be, at most `limit`.
    pub(super) fn breaking(
        &self,
        place: usize,
        name: &str,
        never: &[bool; OUTCOMES],
        limit: usize,
    ) -> Vec<T::Object> {
        let mut found = Vec::new();
        let known = self
            .list
            .iter()
            .find(|it| it.0.place == place && it.1 == name);
        let Some((fact, _)) = known else {
            return found;
        };
        let comparison = fact.what.comparison();
        self.cases(fact, &mut |case| {
            if never[case.outcome(comparison)] {
                found.extend(case.about.into_iter().flatten());
            }
            found.len() < limit
        });
        found.truncate(limit);
        found
    }
}

impl<T: Traceable + Sync> Facts<'_, T> {
    /// The same as [`add_to`](Self::add_to), on several threads.
    pub(super) fn add_to_on(&self, measures: &mut [Measure], threads: usize) {
        let work = |facts: &[(Fact, String)]| -> Vec<Option<Tally>> {
            facts.iter().map(|it| self.tally(&it.0)).collect()
        };
        let tallies = on_threads(&self.list, threads, work);
        self.put(tallies.into_iter().flatten().collect(), measures);
    }
}

/// The facts of a heap, which are looked for when somebody asks for one.
pub(super) struct LaterFacts<'v, T: Traceable> {
    view: &'v T,
    backbones: &'v Backbones,
    facts: OnceCell<Facts<'v, T>>,
}

impl<'v, T: Traceable> LaterFacts<'v, T> {
    pub(super) fn new(view: &'v T, backbones: &'v Backbones) -> Self {
        Self {
            view,
            backbones,
            facts: OnceCell::new(),
        }
    }

    pub(super) fn get(&self) -> &Facts<'v, T> {
        self.facts.get_or_init(|| {
            let ids = SlotIds::new(self.view.classes());
            let summary = summarize(self.view);
            let objects = live(self.view, 1);
            Facts::new(self.view, &summary, &ids, self.backbones, &objects)
        })
    }
}
