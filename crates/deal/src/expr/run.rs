//! Evaluating the tree.

mod thread;

use std::collections::HashMap;
use std::rc::Rc;

use heaphound_heap::Value;
use heaphound_heap::fields::Readable;
use heaphound_heap::probe::Probes;
use heaphound_heap::set::ObjectSet;

use super::pattern::Matched;
use super::tree::{Asked, From, Loop, Number, SetKind, SetNode, Truth, is_within, of_path};
use super::{Expression, Labels};
use crate::datum::Datum;
use crate::interpret::Ground;
use crate::resolved::{Dereference, Path, QuantifierId, RelationId, Start};
use crate::syntax::{QuantifierKind, Span};

type Objects<O> = Rc<ObjectSet<O>>;

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
    pointing: Option<Pointing<T::Object>>,
    sets: Vec<Kept<T::Object, Objects<T::Object>>>,
    /// What each thread reaches, by the slot of the question.
    threads: HashMap<usize, Kept<T::Object, ByThread<T::Object>>>,
    answers: Vec<Kept<T::Object, u64>>,
    /// Objects in sets that are kept.
    held: usize,
    pub unknown: Option<Span>,
}

/// What is kept of something, by the variables that it depends on.
type Kept<O, R> = HashMap<Box<[Option<O>]>, R>;

/// The object of each thread that has one, and what the thread reaches.
type Reached<O> = Vec<(O, ObjectSet<O>)>;
type ByThread<O> = Rc<Reached<O>>;

/// All edges between live objects, by their targets: (to, from).
type Pointing<O> = Vec<(O, O)>;

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
    ) -> Self {
        Self {
            expression,
            probes,
            view: probes.view(),
            ground,
            labels,
            variables: vec![None; expression.program.quantifiers.len()],
            live: None,
            pointing: None,
            sets: (0..expression.sets).map(|_| HashMap::new()).collect(),
            threads: HashMap::new(),
            answers: (0..expression.answers).map(|_| HashMap::new()).collect(),
            held: 0,
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
                match self.ground.compare(it.op, it.by, &left, &right) {
                    Some(holds) => holds,
                    None => self.is_unknown(it.span) || it.op.of_unlike(),
                }
            }
            Truth::AtLeast(set, least) => self.set(set).len() >= *least,
            Truth::InstanceOf(path, classes) => {
                let object = self.object(path);
                object.is_some_and(|it| classes.has(self.view.class_of(it)))
            }
            Truth::Label(path, label) => {
                let label = &self.expression.resolved.labels[label.0 as usize];
                let object = self.object(path);
                object.is_some_and(|it| (self.labels)(it, label))
            }
            Truth::Relation(relation, id, slot) => {
                let set = self.keep(*slot, &[], |it| it.relation(*relation));
                self.variables[id.0 as usize].is_some_and(|it| set.has(it))
            }
            Truth::Loop(own) => self.decided(own),
            Truth::In(member) => match self.object(member.object) {
                Some(object) => self.has(&member.set, object, &of_path(member.object)),
                None => false,
            },
            Truth::Same(a, b) => self.set(a) == self.set(b),
            Truth::Dom(dom) => self.dom(dom),
            Truth::Probe(asked) => self.ask(asked),
            Truth::Kept(truth, depends, slot) => {
                self.answer(*slot, depends, |it| it.truth(truth) as u64) != 0
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
        }
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
        self.live().has(object)
    }

    fn live(&mut self) -> Objects<T::Object> {
        let probes = self.probes;
        let live = self.live.get_or_insert_with(|| Rc::new(probes.reach_all()));
        Rc::clone(live)
    }

    // Sets.

    pub fn set(&mut self, set: &SetNode<'p>) -> Objects<T::Object> {
        if let SetKind::ReachAll = set.kind {
            return self.live();
        }
        self.keep(set.slot, &set.depends, |it| it.made(set))
    }

    /// What is kept in a slot, or else is made now.
    fn keep(
        &mut self,
        slot: usize,
        depends: &[QuantifierId],
        make: impl FnOnce(&mut Self) -> ObjectSet<T::Object>,
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

    fn made(&mut self, set: &SetNode<'p>) -> ObjectSet<T::Object> {
        match &set.kind {
            SetKind::Running => self.probes.running(),
            SetKind::ThreadRoots(thread, part) => self.thread_roots(thread, *part),
            SetKind::ReachAll => (*self.live()).clone(),
            SetKind::Reach(from, avoid) => {
                let (from, avoid) = (self.from(from), self.avoided(avoid.as_deref()));
                self.probes
                    .reach_avoiding(from.as_slice(), avoid.as_slice())
            }
            SetKind::Pred(path) => match self.object(path) {
                None => ObjectSet::default(),
                Some(object) if path.is_host() => self.probes.pred(object),
                Some(object) => self.pointing_at(object),
            },
            SetKind::ThreadReach(question) => self.thread_reach(question),
            SetKind::Literal(paths) => paths.iter().filter_map(|it| self.object(it)).collect(),
            SetKind::Of(own) => {
                let mut found = Vec::new();
                self.each(own, |it, object| {
                    if it.truth(&own.body) {
                        found.push(object);
                    }
                    true
                });
                found.into_iter().collect()
            }
            SetKind::Union(a, b) => self.set(a).union(&self.set(b)),
            SetKind::Intersection(a, b) => self.set(a).intersection(&self.set(b)),
            SetKind::Difference(a, b) => self.set(a).difference(&self.set(b)),
        }
    }

    fn from(&mut self, from: &From<'p>) -> Objects<T::Object> {
        match from {
            From::Object(path) => Rc::new(self.object(path).into_iter().collect()),
            From::Set(set) => self.set(set),
        }
    }

    fn avoided(&mut self, avoid: Option<&SetNode<'p>>) -> Objects<T::Object> {
        avoid.map(|it| self.set(it)).unwrap_or_default()
    }

    /// Whether a set has an object, which depends on these variables. Where nothing asks the
    /// set about another, a search ends as soon as it is found.
    fn has(&mut self, set: &SetNode<'p>, object: T::Object, of: &[QuantifierId]) -> bool {
        match &set.kind {
            SetKind::Union(a, b) => self.has(a, object, of) || self.has(b, object, of),
            SetKind::Intersection(a, b) => self.has(a, object, of) && self.has(b, object, of),
            SetKind::Difference(a, b) => self.has(a, object, of) && !self.has(b, object, of),
            SetKind::Reach(from, avoid) if is_within(of, &set.depends) => {
                let key = self.key(&set.depends);
                if let Some(known) = self.sets[set.slot].get(&key) {
                    return known.has(object);
                }
                let (from, avoid) = (self.from(from), self.avoided(avoid.as_deref()));
                self.probes
                    .reaches(from.as_slice(), avoid.as_slice(), object)
            }
            _ => self.set(set).has(object),
        }
    }

    fn relation(&mut self, relation: RelationId) -> ObjectSet<T::Object> {
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
        all
    }

    /// What points at an object, where this is needed for many objects.
    fn pointing_at(&mut self, object: T::Object) -> ObjectSet<T::Object> {
        if self.pointing.is_none() {
            let live = self.live();
            let mut edges = Vec::new();
            for from in live.iter() {
                self.view.for_each_target(from, |to| edges.push((to, from)));
            }
            edges.sort_unstable();
            edges.dedup();
            self.pointing = Some(edges);
        }
        let edges = self.pointing.as_ref().expect("it was made");
        let start = edges.partition_point(|(to, _)| *to < object);
        let here = edges[start..].iter().take_while(|(to, _)| *to == object);
        here.map(|(_, from)| *from).collect()
    }

    // Quantifiers.

    fn decided(&mut self, own: &Loop<'p>) -> bool {
        let is_forall = own.kind() == QuantifierKind::Forall;
        let answer = self.answer(own.slot, &own.depends, |it| {
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
        self.answer(own.slot, &own.depends, |it| {
            let mut count = 0;
            it.each(own, |it, _| {
                count += it.truth(&own.body) as u64;
                true
            });
            count
        })
    }

    /// The answer that is kept in a slot, or else is found now.
    fn answer(
        &mut self,
        slot: usize,
        depends: &[QuantifierId],
        make: impl FnOnce(&mut Self) -> u64,
    ) -> u64 {
        let key = self.key(depends);
        if let Some(&known) = self.answers[slot].get(&key) {
            return known;
        }
        let answer = make(self);
        let kept = &mut self.answers[slot];
        if kept.len() >= MOST_ANSWERS {
            kept.clear();
        }
        kept.insert(key, answer);
        answer
    }

    /// Calls `f` with each object of a quantifier's range, until it says that it is enough.
    fn each(&mut self, own: &Loop<'p>, mut f: impl FnMut(&mut Self, T::Object) -> bool) {
        if !own.before.iter().all(|it| self.holds(it)) {
            return;
        }
        let within = own.within.as_ref().map(|it| self.set(it));
        // An empty set says it all, and then nobody needs to know what lives.
        if within.as_ref().is_some_and(|it| it.is_empty()) {
            return;
        }
        let live = self.live();
        let objects = within.clone().unwrap_or_else(|| Rc::clone(&live));
        let at = own.id.0 as usize;
        let outer = self.variables[at];
        for object in objects.iter() {
            let fits = own.quantifier.classes.has(self.view.class_of(object));
            if !fits || within.is_some() && !live.has(object) {
                continue;
            }
            self.variables[at] = Some(object);
            let is_in = own.own.iter().all(|it| self.holds(it));
            let is_in = is_in && own.range.as_ref().is_none_or(|it| self.truth(it));
            if is_in && !f(self, object) {
                break;
            }
        }
        self.variables[at] = outer;
    }

    fn holds(&self, dereference: &Dereference) -> bool {
        let variable = self.variable(&dereference.path);
        self.ground.can_take(dereference, variable)
    }
}
