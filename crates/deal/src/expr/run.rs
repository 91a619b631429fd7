//! Evaluating the tree.

mod thread;

use std::rc::Rc;

use foldhash::HashMap;
use heaphound_heap::fields::Readable;
use heaphound_heap::probe::Probes;
use heaphound_heap::set::ObjectSet;
use heaphound_heap::{Root, RootKind, Value};

use super::bound::{Bound, Index, Key};
use super::members::Members;
use super::pattern::Matched;
use super::tree::{
    Asked, Depends, From, Loop, Number, SetKind, SetNode, Truth, is_within, of_path,
};
use super::{Expression, Labels, Progress};
use crate::datum::Datum;
use crate::fold::folded;
use crate::interpret::Ground;
use crate::resolved::{Dereference, Path, QuantifierId, RelationId, Start, Step};
use crate::syntax::{Fold, QuantifierKind, Span};

type Objects<O> = Rc<Members<O>>;

/// The values of a quantifier that were computed, by what they depend on.
type Folded<O> = HashMap<Case<O>, Datum<O>>;

/// One evaluation.
pub(super) struct Run<'e, 'p, 'v, T: Readable> {
    expression: &'e Expression<'p>,
    probes: &'e Probes<'v, T>,
    view: &'v T,
    ground: &'e Ground<'e, T::Fields<'v>>,
    labels: Labels<'e, T::Object>,
    /// What quantifiers' variables stand for at the moment.
    variables: Vec<Option<T::Object>>,
    live: Option<Objects<T::Object>>,
    /// By the quantifier whose objects they come from; without one, from all that live.
    pointing: HashMap<Option<QuantifierId>, Rc<Pointing<T::Object>>>,
    sets: Vec<Kept<T::Object, Objects<T::Object>>>,
    /// What each thread reaches, by the slot of the question.
    threads: HashMap<usize, Kept<T::Object, ByThread<T::Object>>>,
    answers: Vec<HashMap<Case<T::Object>, u64>>,
    /// Values made of many, by the slots of their quantifiers.
    folds: HashMap<usize, Folded<T::Object>>,
    /// Objects in sets that are kept.
    held: usize,
    /// The live objects of the classes of quantifiers that are inside others.
    instances: HashMap<QuantifierId, Rc<[T::Object]>>,
    /// By the path of a quantifier's variable.
    indexes: HashMap<Indexed, Rc<Index<T::Object>>>,
    /// All that references lead to, in order, as often as they do.
    referred: Option<Vec<T::Object>>,
    /// How many quantifiers are around.
    depth: usize,
    progress: Progress<'e>,
    /// How many objects quantifiers may still look at, and whether they had to stop.
    pub looks_left: u64,
    pub is_cut: bool,
    pub unknown: Option<Span>,
}

/// What is kept of something, by the variables that it depends on.
type Kept<O, R> = HashMap<Box<[Option<O>]>, R>;

/// What an answer depends on.
#[derive(PartialEq, Eq, Hash)]
enum Case<O> {
    /// The objects that variables stand for.
    Variables(Box<[Option<O>]>),
    /// What is read of them.
    Values(Box<[Key<O>]>),
}

/// What each thread reaches, in the order of the view's threads.
type Reached<O> = Vec<ObjectSet<O>>;
type ByThread<O> = Rc<Reached<O>>;

/// A path of a quantifier's variable.
type Indexed = (QuantifierId, Vec<Step>);

/// Edges between live objects, by their targets: (to, from).
struct Pointing<O>(Vec<(O, O)>);

impl<O: Copy + Ord> Pointing<O> {
    /// What points at an object, in order.
    fn at(&self, object: O) -> impl Iterator<Item = O> {
        let start = self.0.partition_point(|(to, _)| *to < object);
        let here = self.0[start..].iter().take_while(move |it| it.0 == object);
        here.map(|it| it.1)
    }

    /// Whether an edge leads there.
    fn contains(&self, to: O, from: O) -> bool {
        self.0.binary_search(&(to, from)).is_ok()
    }
}

/// Objects in sets that are kept before old ones are forgotten: 64 MiB of a snapshot's.
const MOST_HELD: usize = 16 << 20;
/// How many truths of a quantifier are kept before old ones are forgotten.
const MOST_ANSWERS: usize = 1 << 20;

impl<'e, 'p, 'v, T: Readable> Run<'e, 'p, 'v, T> {
    pub fn new(
        expression: &'e Expression<'p>,
        probes: &'e Probes<'v, T>,
        ground: &'e Ground<'e, T::Fields<'v>>,
        labels: Labels<'e, T::Object>,
        progress: Progress<'e>,
    ) -> Self {
        Self {
            expression,
            probes,
            view: probes.view(),
            ground,
            labels,
            variables: vec![None; expression.program.quantifiers.len()],
            live: None,
            pointing: HashMap::default(),
            sets: (0..expression.sets).map(|_| HashMap::default()).collect(),
            threads: HashMap::default(),
            answers: (0..expression.answers)
                .map(|_| HashMap::default())
                .collect(),
            folds: HashMap::default(),
            held: 0,
            instances: HashMap::default(),
            indexes: HashMap::default(),
            referred: None,
            depth: 0,
            progress,
            looks_left: u64::MAX,
            is_cut: false,
            unknown: None,
        }
    }

    pub fn truth(&mut self, truth: &Truth<'p>) -> bool {
        match truth {
            Truth::Constant(value) => *value,
            Truth::Not(of) => !self.truth(of),
            Truth::And(a, b) => self.truth(a) && self.truth(b),
            Truth::Or(a, b) => self.truth(a) || self.truth(b),
            Truth::Iff(a, b) => self.truth(a) == self.truth(b),
            Truth::Flag(path) => match self.walk(path) {
                Datum::Plain(Value::Bool(value)) => value,
                Datum::Unknown => self.is_unknown(path.span),
                _ => false,
            },
            Truth::Compare(it, left, right) => {
                let (left, right) = (self.number(left), self.number(right));
                if self.ground.may_be_number(it, &left, &right) {
                    self.is_unknown(it.span);
                }
                match self.ground.compare(it.op, it.by, &left, &right) {
                    Some(holds) => holds,
                    None => self.is_unknown(it.span) || it.op.of_unlike(),
                }
            }
            Truth::AtLeast(set, least) => self.set(set).len() >= *least,
            Truth::InstanceOf(path, classes) => {
                let object = self.object(path);
                object.is_some_and(|it| classes.contains(self.view.class_of(it)))
            }
            Truth::Label(path, label) => {
                let label = &self.expression.resolved.labels[label.0 as usize];
                let object = self.object(path);
                object.is_some_and(|it| (self.labels)(it, label))
            }
            Truth::Relation(relation, id, slot) => {
                let set = self.keep(*slot, &[], |it| it.relation(*relation));
                self.variables[id.0 as usize].is_some_and(|it| set.contains(it))
            }
            Truth::Loop(own) => self.decided(own),
            Truth::In(member) => match self.object(member.object) {
                Some(object) => match (&member.set.kind, bare_variable(member.object)) {
                    // Of those that a variable stands for, an index knows where they point.
                    (SetKind::Pred(path), Some(id)) if !path.is_host() => {
                        let target = self.object(path);
                        target.is_some_and(|it| self.pointing(Some(id)).contains(it, object))
                    }
                    _ => self.contains(&member.set, object, &of_path(member.object)),
                },
                None => false,
            },
            Truth::Same(a, b) => self.set(a) == self.set(b),
            Truth::Dom(dom) => self.dom(dom),
            Truth::Probe(asked) => self.ask(asked),
            Truth::Unique(path) => match self.object(path) {
                Some(object) => self.references(object) <= 1,
                None => true,
            },
            Truth::Kept(truth, depends, slot) => {
                let case = Case::Variables(self.key(depends));
                self.answer(*slot, case, |it| it.truth(truth) as u64) != 0
            }
        }
    }

    pub fn number(&mut self, number: &Number<'p>) -> Datum<T::Object> {
        let count = |count: u64| Datum::Plain(Value::Unsigned(count));
        match number {
            Number::Constant(constant) => constant.datum(),
            Number::Path(path) => self.walk(path),
            Number::Count(own) => count(self.counted(own)),
            Number::Size(set) => count(self.set(set).len() as u64),
            Number::Fold(own, fold, of) => self.folded(own, *fold, of),
        }
    }

    fn folded(&mut self, own: &Loop<'p>, fold: Fold, of: &Number<'p>) -> Datum<T::Object> {
        // What it takes of each object may be read of other variables.
        let mut depends = Depends::new();
        of.depends(&mut depends);
        let key = match is_within(&depends, &[own.id]) {
            true => self.case(own),
            false => Case::Variables(self.key(&own.depends)),
        };
        let kept = self.folds.get(&own.slot);
        if let Some(known) = kept.and_then(|it| it.get(&key)) {
            return known.clone();
        }
        let mut values = Vec::new();
        self.each(own, |it, _| {
            if it.truth(&own.body) {
                let value = it.number(of);
                if value == Datum::Unknown {
                    it.is_unknown(own.quantifier.span);
                }
                values.push(value);
            }
            true
        });
        let value = match folded(self.ground, fold, values.into_iter()) {
            // Of nothing there is no least.
            Datum::Absent => Datum::Null,
            value => value,
        };
        let kept = self.folds.entry(own.slot).or_default();
        if kept.len() >= MOST_ANSWERS {
            kept.clear();
        }
        kept.insert(key, value.clone());
        value
    }

    /// Where a path leads; null where there is nothing to read.
    fn walk(&self, path: &Path) -> Datum<T::Object> {
        match self.ground.walk(path, self.variable(path)) {
            Datum::Absent => Datum::Null,
            datum => datum,
        }
    }

    /// What the logic variable stands for that a path starts at.
    fn variable(&self, path: &Path) -> Option<T::Object> {
        match path.start {
            Start::Variable(id) => self.variables[id.0 as usize],
            _ => None,
        }
    }

    fn object(&self, path: &Path) -> Option<T::Object> {
        match self.walk(path) {
            Datum::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Notes that a value is not known; what is asked of it is not so.
    fn is_unknown(&mut self, span: Span) -> bool {
        self.unknown.get_or_insert(span);
        false
    }

    // Probes.

    fn ask(&mut self, asked: &Asked<'p>) -> bool {
        let paths = asked.probe.paths();
        let objects: Option<Vec<T::Object>> = paths.iter().map(|it| self.object(it)).collect();
        let Some(objects) = objects else {
            // Null is in no set and reaches nothing.
            return matches!(
                asked.probe,
                Matched::Disjoint(..) | Matched::UniqueOwner(_) | Matched::ReachThrough(..)
            );
        };
        let one = objects[0];
        let other = *objects.last().expect("a probe is about something");
        match &asked.probe {
            Matched::Heap(_) => self.probes.is_heap(one),
            Matched::Shared(_) => self.probes.is_shared(one),
            Matched::Reachable(..) => self.probes.is_reachable(one, other),
            Matched::Disjoint(..) => {
                self.probes.is_disjoint(one, other)
                    || match &asked.meaning {
                        // A common object is live if one of these is.
                        Some(meaning) if !self.is_live(one) && !self.is_live(other) => {
                            // An `exists` says that there is one, a `forall` that there is none.
                            let is_exists = matches!(meaning, Truth::Loop(own)
                                if own.kind() == QuantifierKind::Exists);
                            self.truth(meaning) != is_exists
                        }
                        _ => false,
                    }
            }
            Matched::UniqueOwner(_) => self.probes.is_unique_owner(one),
            Matched::ReachThrough(..) => {
                let cut = asked
                    .cut
                    .as_ref()
                    .map(|it| self.set(it))
                    .unwrap_or_default();
                self.probes.reach_through(one, cut.as_slice(), other)
            }
            Matched::ObjectOwned(..) => self.probes.dom(one, other),
            Matched::ThreadOwned(_, part) => {
                // It is known that somebody asks, and has a thread object if need be.
                self.probes.is_thread_owned(one, *part).unwrap_or(false)
            }
        }
    }

    fn is_live(&mut self, object: T::Object) -> bool {
        self.live().contains(object)
    }

    fn live(&mut self) -> Objects<T::Object> {
        let probes = self.probes;
        let live = self
            .live
            .get_or_insert_with(|| Rc::new((*probes.live()).clone().into()));
        Rc::clone(live)
    }

    // Sets.

    pub fn set(&mut self, set: &SetNode<'p>) -> Objects<T::Object> {
        match set.kind {
            SetKind::ReachAll => return self.live(),
            // It is quickly made of the index that it is in.
            SetKind::Pred(path) if !path.is_host() && self.is_asked_once(&set.depends) => {
                return Rc::new(self.made(set));
            }
            _ => {}
        }
        self.keep(set.slot, &set.depends, |it| it.made(set))
    }

    /// What is kept in a slot, or else is made now.
    fn keep(
        &mut self,
        slot: usize,
        depends: &[QuantifierId],
        make: impl FnOnce(&mut Self) -> Members<T::Object>,
    ) -> Objects<T::Object> {
        let key = self.key(depends);
        if let Some(set) = self.sets[slot].get(&key) {
            return Rc::clone(set);
        }
        let set = Rc::new(make(self));
        // An entry takes room of its own, also where its set is empty.
        self.held += set.len() + 16;
        if self.held > MOST_HELD && !depends.is_empty() {
            for (nth, kept) in self.sets.iter_mut().enumerate() {
                // What depends on nothing stays.
                if nth == slot || kept.len() > 1 {
                    kept.clear();
                }
            }
            let left = self.sets.iter().flat_map(HashMap::values);
            self.held = set.len() + left.map(|it| it.len() + 16).sum::<usize>();
        }
        self.sets[slot].insert(key, Rc::clone(&set));
        set
    }

    fn key(&self, depends: &[QuantifierId]) -> Box<[Option<T::Object>]> {
        let values = depends.iter().map(|id| self.variables[id.0 as usize]);
        values.collect()
    }

    fn made(&mut self, set: &SetNode<'p>) -> Members<T::Object> {
        match &set.kind {
            SetKind::Running => {
                let all: Vec<usize> = (0..self.view.threads().len()).collect();
                self.threads_as_members(&all)
            }
            SetKind::ThreadRoots(thread, part) => self.thread_roots(thread, *part).into(),
            SetKind::ReachAll => (*self.live()).clone(),
            SetKind::Reach(from, avoid) => {
                let (from, avoid) = (self.from(from), self.avoided(avoid.as_deref()));
                let probes = self.probes;
                probes
                    .reach_avoiding(from.as_slice(), avoid.as_slice())
                    .into()
            }
            SetKind::Pred(path) => match self.object(path) {
                None => Members::default(),
                Some(object) if path.is_host() => self.probes.pred(object).into(),
                Some(object) => {
                    let pointing = self.pointing(None);
                    ObjectSet::sorted(pointing.at(object).collect()).into()
                }
            },
            SetKind::ThreadReach(question) => self.thread_reach(question),
            SetKind::Literal(paths) => {
                let objects = paths.iter().filter_map(|it| self.object(it));
                objects.collect::<ObjectSet<_>>().into()
            }
            SetKind::Of(own) => {
                let mut found = Vec::new();
                self.each(own, |it, object| {
                    // What was cut short may be wrong.
                    if it.truth(&own.body) && !it.is_cut {
                        found.push(object);
                    }
                    true
                });
                found.into_iter().collect::<ObjectSet<_>>().into()
            }
            SetKind::Union(a, b) => self.set(a).union(&self.set(b)),
            SetKind::Intersection(a, b) => self.set(a).intersection(&self.set(b)),
            SetKind::Difference(a, b) => self.set(a).difference(&self.set(b)),
        }
    }

    fn from(&mut self, from: &From<'p>) -> Objects<T::Object> {
        match from {
            From::Object(path) => {
                let object = self.object(path).into_iter().collect::<ObjectSet<_>>();
                Rc::new(object.into())
            }
            From::Set(set) => self.set(set),
        }
    }

    fn avoided(&mut self, avoid: Option<&SetNode<'p>>) -> Objects<T::Object> {
        avoid.map(|it| self.set(it)).unwrap_or_default()
    }

    /// Whether a set has an object, which depends on these variables. Where nothing asks the
    /// set about another, a search ends as soon as it is found.
    fn contains(&mut self, set: &SetNode<'p>, object: T::Object, of: &[QuantifierId]) -> bool {
        match &set.kind {
            SetKind::Union(a, b) => self.contains(a, object, of) || self.contains(b, object, of),
            SetKind::Intersection(a, b) => {
                self.contains(a, object, of) && self.contains(b, object, of)
            }
            SetKind::Difference(a, b) => {
                self.contains(a, object, of) && !self.contains(b, object, of)
            }
            SetKind::Reach(from, avoid) if is_within(of, &set.depends) => {
                let key = self.key(&set.depends);
                if let Some(known) = self.sets[set.slot].get(&key) {
                    return known.contains(object);
                }
                let (from, avoid) = (self.from(from), self.avoided(avoid.as_deref()));
                self.probes
                    .reaches(from.as_slice(), avoid.as_slice(), object)
            }
            _ => {
                let set = self.set(set);
                set.contains(object) || self.has_by_name(&set, object)
            }
        }
    }

    fn relation(&mut self, relation: RelationId) -> Members<T::Object> {
        let relation = &self.expression.program.relations[relation.0 as usize];
        let mut avoid = Vec::new();
        let mut all = ObjectSet::default();
        for part in &relation.parts {
            avoid.extend(part.exclusions.iter().filter_map(|it| self.object(it)));
            let from = match &part.source {
                Some(path) => self.object(path).into_iter().collect(),
                None => self.root_targets(|_| true),
            };
            all = all.union(&self.probes.reach_avoiding(&from, &avoid));
        }
        all.into()
    }

    /// How many references lead to an object, however weakly they hold: roots, and slots of what lives or waits for its
    /// finalizer, which could read them. Those on the asking thread's stack do not count: to ask takes one.
    fn references(&mut self, object: T::Object) -> usize {
        if self.referred.is_none() {
            let asker = self.probes.asker();
            let is_own = |root: &Root| {
                root.kind == RootKind::ThreadStack && Some(root.name.as_str()) == asker
            };
            let mut referred = Vec::new();
            self.view.for_each_root(|root, to| {
                if !is_own(root) {
                    referred.push(to);
                }
            });
            let mut starts = Vec::new();
            self.view.for_each_root(|_, to| starts.push(to));
            for from in self.probes.reach_avoiding(&starts, &[]).iter() {
                self.view.for_each_edge(from, |_, _, to| referred.push(to));
            }
            referred.sort_unstable();
            self.referred = Some(referred);
        }
        let referred = self.referred.as_ref().expect("it was made");
        let start = referred.partition_point(|it| *it < object);
        let end = referred.partition_point(|it| *it <= object);
        end - start
    }

    /// What points where, where this is needed for many objects: from the objects of a quantifier, or from all that live.
    fn pointing(&mut self, of: Option<QuantifierId>) -> Rc<Pointing<T::Object>> {
        // An index of all serves all.
        let of = of.filter(|it| self.instances(*it).len() < self.live().len());
        if let Some(known) = self.pointing.get(&of) {
            return Rc::clone(known);
        }
        let mut edges = Vec::new();
        let mut add = |view: &T, from| view.for_each_target(from, |to| edges.push((to, from)));
        match of {
            Some(id) => {
                let instances = self.instances(id);
                instances.iter().for_each(|it| add(self.view, *it));
            }
            None => {
                let live = self.live();
                live.iter().for_each(|it| add(self.view, it));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        let pointing = Rc::new(Pointing(edges));
        self.pointing.insert(of, Rc::clone(&pointing));
        pointing
    }

    // Quantifiers.

    fn decided(&mut self, own: &Loop<'p>) -> bool {
        let is_forall = own.kind() == QuantifierKind::Forall;
        let answer = self.answer_of(own, |it| {
            let mut decided = is_forall;
            it.each(own, |it, _| {
                decided = it.truth(&own.body);
                decided == is_forall
            });
            decided as u64
        });
        answer != 0
    }

    fn counted(&mut self, own: &Loop<'p>) -> u64 {
        self.answer_of(own, |it| {
            let mut count = 0;
            it.each(own, |it, _| {
                count += it.truth(&own.body) as u64;
                true
            });
            count
        })
    }

    /// The answer of a quantifier, which is kept if it can be asked for again.
    fn answer_of(&mut self, own: &Loop<'p>, make: impl FnOnce(&mut Self) -> u64) -> u64 {
        if own.reads.is_none() && self.is_asked_once(&own.depends) {
            return make(self);
        }
        let case = self.case(own);
        self.answer(own.slot, case, make)
    }

    /// Whether what depends on these variables is asked for only once as they stand: it depends on all that are
    /// around it.
    fn is_asked_once(&self, depends: &[QuantifierId]) -> bool {
        depends.len() >= self.depth
    }

    /// What the answer of a quantifier depends on at the moment: of many objects that are alike in what is
    /// read of them, one is enough.
    fn case(&self, own: &Loop<'p>) -> Case<T::Object> {
        let keys = own.reads.as_ref().and_then(|paths| {
            let keys = paths.iter().map(|it| Key::of(&self.walk(it)));
            keys.collect()
        });
        match keys {
            Some(keys) => Case::Values(keys),
            None => Case::Variables(self.key(&own.depends)),
        }
    }

    /// The answer that is kept in a slot, or else is found now.
    fn answer(
        &mut self,
        slot: usize,
        case: Case<T::Object>,
        make: impl FnOnce(&mut Self) -> u64,
    ) -> u64 {
        if let Some(&known) = self.answers[slot].get(&case) {
            return known;
        }
        let answer = make(self);
        let kept = &mut self.answers[slot];
        if kept.len() >= MOST_ANSWERS {
            kept.clear();
        }
        kept.insert(case, answer);
        answer
    }

    /// Calls `f` with each object of a quantifier's range, until it says that it is enough.
    fn each(&mut self, own: &Loop<'p>, mut f: impl FnMut(&mut Self, T::Object) -> bool) {
        let bounded = own.bound().and_then(|it| self.within(own, &it));
        // An empty set says it all, and then nobody needs to know what lives.
        if bounded.as_ref().is_some_and(|it| it.as_slice().is_empty()) {
            return;
        }
        let live = self.live();
        let may_be_dead = bounded
            .as_ref()
            .is_some_and(|it| !matches!(it, Few::Live(_)));
        let objects = match bounded {
            Some(objects) => objects,
            None => Few::Shared(self.instances(own.id)),
        };
        let objects = objects.as_slice();
        let at = own.id.0 as usize;
        let outer = self.variables[at];
        self.depth += 1;
        for (done, &object) in objects.iter().enumerate() {
            self.is_cut |= self.looks_left == 0;
            if self.is_cut {
                break;
            }
            self.looks_left -= 1;
            if self.depth == 1 {
                (self.progress)(done as u64, objects.len() as u64);
            }
            let fits = own.quantifier.classes.contains(self.view.class_of(object));
            if !fits || may_be_dead && !live.contains(object) {
                continue;
            }
            self.variables[at] = Some(object);
            let dereferences = &own.quantifier.dereferences;
            let is_in = dereferences.iter().all(|it| self.holds(it));
            let is_in = is_in && own.range.as_ref().is_none_or(|it| self.truth(it));
            if is_in && !f(self, object) {
                break;
            }
        }
        self.depth -= 1;
        self.variables[at] = outer;
    }

    /// The objects that a bound leaves; none if it leaves all.
    fn within(&mut self, own: &Loop<'p>, bound: &Bound<'_, 'p>) -> Option<Few<T::Object>> {
        Some(match bound {
            Bound::Set(set) => match set.kind {
                SetKind::Pred(path) if !path.is_host() => {
                    let object = self.object(path);
                    let pointing = self.pointing(Some(own.id));
                    let here = object.map(|it| pointing.at(it).collect());
                    Few::Live(here.unwrap_or_default())
                }
                _ => Few::Set(self.set(set)),
            },
            Bound::One(number) => match self.number(number) {
                Datum::Object(object) => Few::Own(vec![object]),
                Datum::Unknown => return None,
                _ => Few::Own(Vec::new()),
            },
            Bound::Targets(path) => {
                let mut targets = Vec::new();
                if let Some(object) = self.object(path) {
                    self.view.for_each_target(object, |to| targets.push(to));
                }
                targets.sort_unstable();
                targets.dedup();
                Few::Own(targets)
            }
            Bound::Equal(path, number) => {
                let to = self.number(number);
                Few::Own(self.index(own, path).equal(&to)?)
            }
            Bound::Either(a, b) => {
                let (a, b) = (self.within(own, a)?, self.within(own, b)?);
                let mut both = [a.as_slice(), b.as_slice()].concat();
                both.sort_unstable();
                both.dedup();
                Few::Own(both)
            }
            Bound::Unless(truth, all, bound) => {
                // It is asked again for each object.
                self.depth += 1;
                let is_so = self.truth(truth) == *all;
                self.depth -= 1;
                match is_so {
                    true => return None,
                    false => self.within(own, bound)?,
                }
            }
        })
    }

    /// The live objects of a quantifier's classes.
    fn instances(&mut self, id: QuantifierId) -> Rc<[T::Object]> {
        if let Some(known) = self.instances.get(&id) {
            return Rc::clone(known);
        }
        let (live, view) = (self.live(), self.view);
        let classes = &self.expression.program.quantifiers[id.0 as usize].classes;
        let objects = live
            .iter()
            .filter(|it| classes.contains(view.class_of(*it)));
        let objects: Rc<[T::Object]> = objects.collect();
        self.instances.insert(id, Rc::clone(&objects));
        objects
    }

    /// The objects of a quantifier but those that can never matter, whatever the variables around it
    /// stand for. So these are looked at once, and not as often as an index finds them.
    fn that_can_matter(&mut self, own: &Loop<'p>) -> Vec<T::Object> {
        let conditions = own.own_conditions();
        let at = own.id.0 as usize;
        let (outer, unknown) = (self.variables[at], self.unknown);
        let mut objects = self.instances(own.id).to_vec();
        objects.retain(|object| {
            self.variables[at] = Some(*object);
            conditions.iter().all(|(truth, wanted)| {
                self.unknown = None;
                // What is not known is told where it is asked for.
                self.truth(truth) == *wanted || self.unknown.is_some()
            })
        });
        self.variables[at] = outer;
        self.unknown = unknown;
        objects
    }

    /// The objects of a quantifier by what a path of theirs leads to, but those that cannot matter.
    fn index(&mut self, own: &Loop<'p>, path: &Path) -> Rc<Index<T::Object>> {
        let key = (own.id, path.steps.clone());
        if let Some(known) = self.indexes.get(&key) {
            return Rc::clone(known);
        }
        let objects = self.that_can_matter(own);
        let index = Index::new(&objects, |object| self.ground.walk(path, Some(object)));
        let index = Rc::new(index);
        self.indexes.insert(key, Rc::clone(&index));
        index
    }

    fn holds(&self, dereference: &Dereference) -> bool {
        let variable = self.variable(&dereference.path);
        self.ground.can_take(dereference, variable)
    }
}

/// The variable that a path is, if it takes no step from it.
fn bare_variable(path: &Path) -> Option<QuantifierId> {
    match (path.start, path.steps.as_slice()) {
        (Start::Variable(id), []) => Some(id),
        _ => None,
    }
}

/// Some objects, in order.
enum Few<O> {
    Set(Objects<O>),
    Shared(Rc<[O]>),
    Own(Vec<O>),
    /// All live.
    Live(Vec<O>),
}

impl<O: Copy + Ord> Few<O> {
    fn as_slice(&self) -> &[O] {
        match self {
            Self::Set(set) => set.as_slice(),
            Self::Shared(objects) => objects,
            Self::Own(objects) | Self::Live(objects) => objects,
        }
    }
}
