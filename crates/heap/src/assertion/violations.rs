//! What breaks assertions on a view.
//!
//! One trace from the roots decides everything but ownership, for all assertions together:
//!
//! - **dead**: an object that is entered is a violation;
//! - **instances, volume**: counted as instances are entered;
//! - **unshared**: each object is entered once, so that any further arrival is another reference.
//!   What the roots refer to arrives once from there. That one is taken off, and statics are added:
//!   they count, stacks and handles do not. Where only some slots count, the references to what is
//!   shared are counted again, by their slots;
//! - **owned by**: exact by definition, in two more traces. The first starts from the owners that
//!   live and marks what they own. The second starts from the roots and stops at what is owned. The
//!   ownees that it enters are violations.
//!
//! Counts and violations are kept, never a list of all objects. Of very many violations the
//! first are kept, in the order of objects, so that they are the same at any number of threads.

use std::collections::{HashMap, HashSet};

use super::{Breach, Excess, Limit, Slots, Violation};
use crate::class::ClassId;
use crate::fields::{Fields, Readable};
use crate::probe::Probes;
use crate::root::{RootKind, RootSet};
use crate::trace::{Filter, Phase, Traceable, Visit, Visitor, Visits};
use crate::view::HeapView;

/// The most violations of one assertion that are kept.
pub const MOST_KEPT: usize = 1_000;

/// What is asserted about a view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Assertion<O> {
    /// The instances of a class are at most this many, or take at most this many bytes.
    Limited {
        /// How much is allowed.
        limit: Limit,
        /// The class that was named.
        class: ClassId,
        /// The classes whose instances count.
        counted: Vec<ClassId>,
    },
    /// At most one strong slot or static refers to each; if not all slots count, one of those.
    Unshared(Target<O>, Slots),
    /// None is reachable.
    Dead(Target<O>),
    /// Each ownee that is reachable is reachable from an owner that is.
    OwnedBy {
        /// Who may own them. Any of them is enough.
        owners: Target<O>,
        /// Who must be owned.
        ownees: Target<O>,
    },
}

/// What an assertion is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target<O> {
    /// These objects.
    Objects(Vec<O>),
    /// All instances of some classes.
    Instances(Vec<ClassId>),
}

/// What came of an assertion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome<O> {
    /// It holds.
    Holds,
    /// Some objects break it.
    Violated {
        /// How many do.
        count: usize,
        /// The first of them, in order: at most [`MOST_KEPT`]. Each has the number of the
        /// assertion in its list.
        violations: Vec<Violation<O>>,
    },
    /// A class has too many instances, or they take too many bytes.
    Exceeded(Excess<O>),
}

/// Finds what breaks assertions: an outcome for each, in their order.
pub fn violations<V: Readable>(
    view: &V,
    assertions: &[Assertion<V::Object>],
    threads: usize,
) -> Vec<Outcome<V::Object>> {
    let questions = Questions::of(view, assertions);
    if questions.entered.is_empty() && questions.shared.is_empty() {
        return vec![Outcome::Holds; assertions.len()];
    }
    let mut roots = Vec::new();
    view.for_each_root_target(RootSet::All, |object| roots.push(object));
    roots.sort_unstable();
    roots.dedup();
    let mut check = Check {
        view,
        visits: view.visits(),
        threads: threads.max(1),
        roots,
    };
    let mut census = match questions.shared.is_empty() {
        true => check.count_live::<false>(&questions),
        false => check.count_live::<true>(&questions),
    };
    let mut shared = check.shared(&questions.shared, &census.again);
    let all = assertions.iter().enumerate().map(|(number, assertion)| {
        let tally = std::mem::take(&mut census.tallies[number]);
        match assertion {
            Assertion::Limited {
                limit,
                class,
                counted,
            } => exceeded(view, *limit, *class, counted, tally),
            Assertion::Dead(_) => tally.outcome(number, Breach::Dead),
            Assertion::Unshared(_, slots) => {
                let mut all = shared.remove(&number).unwrap_or_default();
                if !slots.are_all() {
                    all = check.shared_by(slots, all);
                }
                let count = all.len();
                all.sort_unstable_by_key(|it| it.object);
                all.truncate(MOST_KEPT);
                violated(count, all)
            }
            Assertion::OwnedBy { ownees, .. } => {
                let candidates = std::mem::take(&mut census.tallies[assertions.len() + number]);
                let breach = Breach::NotOwned {
                    owner_lives: tally.count > 0,
                };
                // Without ownees there is nothing to find; without owners, nothing is owned.
                if candidates.count == 0 || tally.count == 0 {
                    return candidates.outcome(number, breach);
                }
                let mut asked = Questions::none(view);
                asked.entered.add(view, ownees, 0);
                asked.tallies = vec![Tally::of(MOST_KEPT)];
                let mut unowned = check.count_unowned(tally.objects(), &asked);
                std::mem::take(&mut unowned.tallies[0]).outcome(number, breach)
            }
        }
    });
    all.collect()
}

fn exceeded<V: HeapView>(
    view: &V,
    limit: Limit,
    class: ClassId,
    counted: &[ClassId],
    tally: Tally<V::Object>,
) -> Outcome<V::Object> {
    let (amount, most) = match limit {
        Limit::Instances(most) => (tally.count as u64, most),
        Limit::Volume(most) => (tally.bytes, most),
    };
    if amount <= most {
        return Outcome::Holds;
    }
    // Several classes may have the name.
    let name = &view.class(class).name;
    let mut counted = counted.iter();
    Outcome::Exceeded(Excess {
        limit,
        class,
        subclasses: counted.any(|&it| view.class(it).name != *name),
        amount,
        instances: tally.count,
        sample: tally.objects(),
    })
}

fn violated<O>(count: usize, violations: Vec<Violation<O>>) -> Outcome<O> {
    match count {
        0 => Outcome::Holds,
        _ => Outcome::Violated { count, violations },
    }
}

/// Traces a view for assertions.
struct Check<'v, V: Traceable + 'v> {
    view: &'v V,
    visits: V::Visits<'v>,
    threads: usize,
    /// What the roots refer to, each once.
    roots: Vec<V::Object>,
}

impl<'v, V: Readable> Check<'v, V> {
    /// Counts what the roots reach. `SHARES`: also arrivals at what is asked to be unshared.
    fn count_live<const SHARES: bool>(&mut self, questions: &Questions<V::Object>) -> Found<V> {
        self.visits.reserve(1);
        let mark = self.visits.fresh();
        self.count::<SHARES>(questions, Filter::Follow, mark)
    }

    /// Counts what the roots reach and these objects do not.
    fn count_unowned(
        &mut self,
        owners: Vec<V::Object>,
        questions: &Questions<V::Object>,
    ) -> Found<V> {
        self.visits.reserve(2);
        let [owned, mark] = [(); 2].map(|()| self.visits.fresh());
        let phase = Phase {
            starts: owners,
            filter: Filter::Follow,
            mark: owned,
        };
        let nobody = vec![(); self.threads];
        self.view.trace(&mut self.visits, &phase, nobody);
        self.count::<false>(questions, Filter::StopAt(owned), mark)
    }

    fn count<const SHARES: bool>(
        &mut self,
        questions: &Questions<V::Object>,
        filter: Filter,
        mark: Visit,
    ) -> Found<V> {
        let phase = Phase {
            starts: self.roots.clone(),
            filter,
            mark,
        };
        let census = || Census::<_, SHARES> {
            fields: self.view.fields(),
            questions,
            found: Counted {
                tallies: questions.tallies.clone(),
                again: HashMap::new(),
            },
        };
        let all = (0..self.threads).map(|_| census()).collect();
        let (_, all) = self.view.trace(&mut self.visits, &phase, all);
        let all = all.into_iter().map(|it| it.found);
        all.reduce(Counted::plus).expect("somebody counts")
    }

    /// The objects that several references lead to, for each assertion that asks.
    fn shared(
        &self,
        asked: &Asked<V::Object>,
        again: &HashMap<V::Object, usize>,
    ) -> HashMap<usize, Vec<Violation<V::Object>>> {
        let mut found: HashMap<usize, Vec<Violation<V::Object>>> = HashMap::new();
        if asked.is_empty() {
            return found;
        }
        let is_asked = |object| asked.contains(object, self.view.class_of(object));
        let mut statics: HashMap<V::Object, usize> = HashMap::new();
        self.view.for_each_root(|root, object| {
            if root.kind == RootKind::Static && is_asked(object) {
                *statics.entry(object).or_default() += 1;
            }
        });
        let candidates: HashSet<V::Object> = again.keys().chain(statics.keys()).copied().collect();
        for object in candidates {
            let count = |of: &HashMap<V::Object, usize>| of.get(&object).copied().unwrap_or(0);
            let from_root = self.roots.binary_search(&object).is_ok() as usize;
            let references = 1 + count(again) - from_root + count(&statics);
            if references < 2 {
                continue;
            }
            asked.for_each(object, self.view.class_of(object), |number| {
                found.entry(number).or_default().push(Violation {
                    breach: Breach::Shared { references },
                    assertion: number as u32,
                    object,
                });
            });
        }
        found
    }
}

/// Sharing by some slots.
impl<V: Readable> Check<'_, V> {
    /// Of what is shared, what is shared if only the references of some slots count.
    fn shared_by(
        &self,
        slots: &Slots,
        shared: Vec<Violation<V::Object>>,
    ) -> Vec<Violation<V::Object>> {
        if shared.is_empty() {
            return shared;
        }
        let objects = shared.iter().map(|it| (it.object, 0));
        let mut counts: HashMap<V::Object, usize> = objects.collect();
        let live = Probes::of(self.view).threads(self.threads).reach_all();
        for from in live.iter() {
            self.view.for_each_strong_edge(from, |place, to| {
                if let Some(count) = counts.get_mut(&to) {
                    *count += slots.counts(self.view, from, place) as usize;
                }
            });
        }
        let shared = shared.into_iter().filter_map(|it| {
            let references = counts[&it.object];
            let breach = Breach::Shared { references };
            (references > 1).then_some(Violation { breach, ..it })
        });
        shared.collect()
    }
}

type Found<V> = Counted<<V as HeapView>::Object>;

/// What a trace counts.
struct Questions<O> {
    /// Who is told which objects are entered, by the number of its tally.
    entered: Asked<O>,
    /// Who is told which objects are shared.
    shared: Asked<O>,
    /// A tally for each assertion, empty; behind them one for the ownees of each.
    tallies: Vec<Tally<O>>,
}

impl<O: Copy + Ord + std::hash::Hash> Questions<O> {
    fn none<V: HeapView<Object = O>>(view: &V) -> Self {
        Self {
            entered: Asked::none(view),
            shared: Asked::none(view),
            tallies: Vec::new(),
        }
    }

    fn of<V: HeapView<Object = O>>(view: &V, assertions: &[Assertion<O>]) -> Self {
        let mut questions = Self::none(view);
        let behind = assertions.len();
        let mut ownees = Vec::new();
        for (number, assertion) in assertions.iter().enumerate() {
            let mut kept = MOST_KEPT;
            let mut sums = false;
            match assertion {
                Assertion::Limited { limit, counted, .. } => {
                    sums = matches!(limit, Limit::Volume(_));
                    questions.entered.add_instances(counted, number);
                }
                Assertion::Dead(target) => questions.entered.add(view, target, number),
                Assertion::Unshared(target, _) => questions.shared.add(view, target, number),
                Assertion::OwnedBy { owners, ownees } => {
                    // All of them, to start from.
                    kept = usize::MAX;
                    questions.entered.add(view, owners, number);
                    questions.entered.add(view, ownees, behind + number);
                }
            }
            questions.tallies.push(Tally {
                sums,
                ..Tally::of(kept)
            });
            ownees.push(Tally::of(MOST_KEPT));
        }
        questions.tallies.append(&mut ownees);
        questions
    }
}

/// Who asks about which objects.
struct Asked<O> {
    /// Who asks about all instances of a class, by class.
    instances: Vec<Vec<usize>>,
    /// Who asks about an object.
    objects: HashMap<O, Vec<usize>>,
    /// Whether somebody asks about an object of a class, by class.
    some: Vec<bool>,
}

impl<O: Copy + Ord + std::hash::Hash> Asked<O> {
    fn none<V: HeapView<Object = O>>(view: &V) -> Self {
        let classes = view.classes().len();
        Self {
            instances: vec![Vec::new(); classes],
            objects: HashMap::new(),
            some: vec![false; classes],
        }
    }

    fn add<V: HeapView<Object = O>>(&mut self, view: &V, target: &Target<O>, number: usize) {
        match target {
            Target::Objects(objects) => {
                for &object in objects {
                    self.some[at(view.class_of(object))] = true;
                    let numbers = self.objects.entry(object).or_default();
                    if !numbers.contains(&number) {
                        numbers.push(number);
                    }
                }
            }
            Target::Instances(classes) => self.add_instances(classes, number),
        }
    }

    fn add_instances(&mut self, classes: &[ClassId], number: usize) {
        for &class in classes {
            let numbers = &mut self.instances[at(class)];
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.instances.iter().all(Vec::is_empty)
    }

    /// Whether somebody asks about objects of a class.
    fn wants(&self, class: ClassId) -> bool {
        self.some[at(class)] || !self.instances[at(class)].is_empty()
    }

    /// Whether somebody asks about an object.
    fn contains(&self, object: O, class: ClassId) -> bool {
        !self.instances[at(class)].is_empty()
            || self.some[at(class)] && self.objects.contains_key(&object)
    }

    /// Everybody who asks about an object.
    fn for_each(&self, object: O, class: ClassId, mut f: impl FnMut(usize)) {
        self.instances[at(class)].iter().for_each(|&it| f(it));
        if self.some[at(class)] {
            let numbers = self.objects.get(&object).into_iter().flatten();
            numbers.for_each(|&it| f(it));
        }
    }
}

fn at(class: ClassId) -> usize {
    class.0 as usize - 1
}

/// Counts what a trace enters.
struct Census<'c, F: Fields, const SHARES: bool> {
    fields: F,
    questions: &'c Questions<F::Object>,
    found: Counted<F::Object>,
}

/// What one thread of a trace has counted.
struct Counted<O> {
    tallies: Vec<Tally<O>>,
    /// How often objects that are asked to be unshared were met after they had been entered.
    again: HashMap<O, usize>,
}

impl<O: Copy + Ord + std::hash::Hash> Counted<O> {
    fn plus(mut self, other: Self) -> Self {
        for (mine, other) in self.tallies.iter_mut().zip(other.tallies) {
            mine.count += other.count;
            mine.bytes += other.bytes;
            other.kept.into_iter().for_each(|it| mine.keep(it));
        }
        for (object, times) in other.again {
            *self.again.entry(object).or_default() += times;
        }
        self
    }
}

impl<F: Fields, const SHARES: bool> Visitor<F::Object> for Census<'_, F, SHARES> {
    type Tag = ();
    const FEW: bool = true;
    const MEETS: bool = SHARES;

    fn wants(&self, class: ClassId) -> bool {
        self.questions.entered.wants(class)
    }

    fn enter(&mut self, object: F::Object, class: ClassId) {
        let Self { fields, found, .. } = self;
        self.questions.entered.for_each(object, class, |number| {
            let tally = &mut found.tallies[number];
            tally.count += 1;
            if tally.sums {
                tally.bytes += fields.bytes_of(object) as u64;
            }
            tally.keep(object);
        });
    }

    fn met(&mut self, to: F::Object, _: Visit) {
        if self.questions.shared.contains(to, self.fields.class_of(to)) {
            *self.found.again.entry(to).or_default() += 1;
        }
    }
}

/// What is known of the objects that one assertion asks about.
#[derive(Clone)]
struct Tally<O> {
    /// How many were entered.
    count: usize,
    /// Whether their bytes are summed up.
    sums: bool,
    bytes: u64,
    /// How many are kept.
    most: usize,
    /// The first of them, and sometimes as many more.
    kept: Vec<O>,
    /// No object from here on is among the first.
    end: Option<O>,
}

impl<O> Tally<O> {
    fn of(most: usize) -> Self {
        Self {
            count: 0,
            sums: false,
            bytes: 0,
            most,
            kept: Vec::new(),
            end: None,
        }
    }
}

impl<O> Default for Tally<O> {
    fn default() -> Self {
        Self::of(0)
    }
}

impl<O: Copy + Ord> Tally<O> {
    #[inline]
    fn keep(&mut self, object: O) {
        if self.end.is_some_and(|end| object >= end) {
            return;
        }
        self.kept.push(object);
        if self.kept.len() >= self.most.saturating_mul(2) {
            self.settle();
        }
    }

    /// Keeps the first only.
    fn settle(&mut self) {
        if self.kept.len() > self.most {
            let (_, end, _) = self.kept.select_nth_unstable(self.most);
            self.end = Some(*end);
            self.kept.truncate(self.most);
        }
    }

    /// The objects that are kept, in order.
    fn objects(mut self) -> Vec<O> {
        self.settle();
        self.kept.sort_unstable();
        self.kept
    }

    /// They break an assertion.
    fn outcome(self, number: usize, breach: Breach) -> Outcome<O> {
        let count = self.count;
        let violation = |object| Violation {
            breach,
            assertion: number as u32,
            object,
        };
        violated(count, self.objects().into_iter().map(violation).collect())
    }
}
