//! DeAL and PHALANX by definition: the slow, obvious twin of whatever evaluates them fast.
//!
//! A quantifier is a loop over all live objects, a relation is a set that a search of its own
//! finds, and nothing is skipped because the answer is already known. After Reichenbach,
//! Immerman, Smaragdakis, Aftandilian and Guyer (OOPSLA 2010, section 2) and Vechev, Yahav,
//! Yorsh and Bloom (ISMM 2010, tables 1 and 2; table 1 is right where they differ). The sets
//! of the latter are those of the [graph](crate::twins), the twin of probes.
//!
//! Where the papers are silent:
//!
//! - An object lives if the roots lead to it. What waits for its finalizer is no root.
//! - Relations hold of live objects only. Their paths may lead through garbage, where the
//!   source is garbage.
//! - Null is no object: it is in no set, leads to nothing and nothing leads to it. What is said
//!   of it follows from that: `pred(null)` is empty, `is_disjoint(null, o)` holds.
//! - A value that the heap does not know is unlike everything, itself included.
//! - A slot gives what is in it, however weakly it holds it.
//! - What comes from outside is not null where something is asked of it: otherwise there is no answer.
//! - A thread without a thread object is a member of `running()` and of `thread_reach(o)`, which counts.
//!   No quantifier finds it: so there is no answer where one is to find threads.
//! - `unique(o)` says that there is nothing to invalidate: one reference at most, however weak, leads
//!   to it, those of what waits for its finalizer included, those on the asker's stack left out.
//! - `dom` of a set wants each path to meet one of its objects. Of `stack(t)` and `roots(t)`, as
//!   table 2 has it, it wants each path to begin at the thread's stack, or at the thread.
//! - Who mentions the asker needs one: otherwise there is no answer, whatever else is said.
//!
//! Elsewhere: what compares with what (`compare.rs`), random heaps and texts
//! (`../generate`), examples by hand (`../cases`).

mod compare;
mod mentions;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use heaphound_deal::resolved::{
    ClassTarget, Dereference, FieldPlace, Formula, GcAssertion, HostSource, Operand, Path, Probe,
    Program, Quantifier, QuantifierId, Query, Relation, Resolved, Select, Set, Source, Start,
    Statement, Step, Target, Thread,
};
use heaphound_deal::syntax::{AssertionKind, Fold, HostName, QuantifierKind};
use heaphound_heap::root::{Part, RootKind};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassInfo, FieldKind, Root, Value};

use crate::twins::Graph;

/// A heap, and what a text needs to know beside it.
pub struct World<'a, V: HeapView> {
    /// The heap.
    pub view: &'a V,
    /// The thread that asks, by its name.
    pub asker: Option<&'a str>,
    /// The objects that come from outside; none is null.
    pub host: &'a dyn Fn(&HostSource) -> Option<V::Object>,
    /// Which objects have which labels.
    pub label: &'a dyn Fn(V::Object, &str) -> bool,
}

/// What a statement comes to.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer<O: Ord> {
    /// It holds, or it does not.
    Verdict(Verdict<O>),
    /// What a query tells.
    Told(Told<O>),
    /// A value.
    Value(Item<O>),
    /// A set.
    Set(Members<O>),
    /// There is none.
    Nothing(Reason),
}

/// Whether something holds, and the objects that show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict<O: Ord> {
    /// Whether it does.
    pub holds: bool,
    /// For each quantifier that has no other around it: of a `forall` the objects of its range for
    /// which the body is false; of others those for which it is true. None at all if relations
    /// overlap.
    pub shown: BTreeMap<u32, BTreeSet<O>>,
    /// All that are in two or more relations of an `assertDisjoint`.
    pub overlap: BTreeSet<O>,
    /// What breaks a GC assertion; all instances, if they are too many or too large.
    pub culprits: BTreeSet<O>,
}

/// What a query tells.
#[derive(Clone, PartialEq, Debug)]
pub enum Told<O> {
    /// All that were found, and the first of them, as many as were wanted.
    Objects(u64, Vec<O>),
    /// How many were found, and the values of the first, as many as were wanted.
    Values(u64, Vec<Vec<Item<O>>>),
    /// How many were found.
    Count(u64),
    /// The sum of all numbers, exact if all are integers.
    Sum(Sum),
    /// The least or the greatest, the first of those; none without any.
    Extreme(Option<Item<O>>),
}

/// A sum.
#[derive(Clone, Copy, Debug)]
pub enum Sum {
    /// Of integers.
    Exact(i128),
    /// Of numbers of which some are not, added up in the order of their objects.
    Float(f64),
}

/// What is in a set: objects, and threads without one, by their places in the heap's list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Members<O: Ord> {
    /// The objects.
    pub objects: BTreeSet<O>,
    /// The threads that no object stands for.
    pub threads: BTreeSet<usize>,
}

impl<O: Ord> From<BTreeSet<O>> for Members<O> {
    fn from(objects: BTreeSet<O>) -> Self {
        let threads = BTreeSet::new();
        Self { objects, threads }
    }
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reason {
    /// It is about the asking thread, and nobody asks.
    NobodyAsks,
    /// It is about the thread object of a thread that has none.
    NoThreadObject(String),
    /// No running thread has that name.
    UnknownThread(String),
    /// What comes from outside is null or lacks a field, and something is asked of it.
    Null,
    /// Threads are taken for objects, and one has none that is its own.
    ThreadWithoutObject,
}

/// What a path leads to, or a constant.
#[derive(Clone, Debug)]
pub enum Item<O> {
    /// Null.
    Null,
    /// An object.
    Object(O),
    /// Plain data.
    Plain(Value),
    /// A text constant.
    Text(String),
    /// Something that the heap does not know or does not look into.
    Unknown,
}

/// Values as they are shown, so that not-a-number is itself.
impl<O: PartialEq> PartialEq for Item<O> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) | (Self::Unknown, Self::Unknown) => true,
            (Self::Object(a), Self::Object(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Plain(a), Self::Plain(b)) => format!("{a:?}") == format!("{b:?}"),
            _ => false,
        }
    }
}

impl Sum {
    /// As a value: rounded once, if no integer holds it.
    fn item<O>(self) -> Item<O> {
        Item::Plain(match self {
            Self::Float(value) => Value::Float(value),
            Self::Exact(value) => match (u64::try_from(value), i64::try_from(value)) {
                (Ok(value), _) => Value::Unsigned(value),
                (_, Ok(value)) => Value::Signed(value),
                _ => Value::Float(value as f64),
            },
        })
    }
}

/// As they are shown, so that not-a-number is itself.
impl PartialEq for Sum {
    fn eq(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

/// Evaluates one statement of a text.
pub fn evaluate<V: HeapView>(
    world: &World<'_, V>,
    resolved: &Resolved,
    program: &Program,
) -> Answer<V::Object>
where
    V::Object: Debug,
{
    let hosts = resolved.hosts.iter();
    let hosts: Vec<Option<V::Object>> = hosts.map(|host| (world.host)(&host.source)).collect();
    let mut known: Vec<V::Object> = hosts.iter().flatten().copied().collect();
    // What waits for its finalizer can be read, too.
    world.view.for_each_root(|_, to| known.push(to));
    let graph = Graph::of(world.view, known);
    let threads = world.view.threads();
    let asker = world.asker.map(|name| {
        let found = threads.iter().position(|it| it == name);
        found.expect("the asker is one of the heap's threads")
    });
    let mut twin = Twin {
        world,
        resolved,
        program,
        live: graph.reach_all(),
        graph,
        hosts,
        asker,
        relations: Vec::new(),
    };
    if let Some(reason) = twin.why_not() {
        return Answer::Nothing(reason);
    }
    twin.relations = twin.exact_relations();
    twin.statement()
}

/// The object that a name of a heap stands for: the first root of that kind, name and index,
/// whatever the index if there is none; the object of that class and number, among `objects`.
pub fn named<V: HeapView>(
    view: &V,
    objects: impl IntoIterator<Item = V::Object>,
    name: &HostName,
) -> Option<V::Object> {
    match name {
        HostName::Root { kind, name, index } => {
            let mut found = None;
            view.for_each_root(|root, object| {
                let fits = root.kind == *kind && root.name == *name;
                if fits && index.is_none_or(|index| root.index == index) && found.is_none() {
                    found = Some(object);
                }
            });
            found
        }
        HostName::Object { class, number } => {
            let name = format!("{class}#{number}");
            objects.into_iter().find(|&it| view.name_of(it) == name)
        }
    }
}

struct Twin<'a, V: HeapView> {
    world: &'a World<'a, V>,
    resolved: &'a Resolved,
    program: &'a Program,
    graph: Graph<V::Object>,
    live: BTreeSet<V::Object>,
    hosts: Vec<Option<V::Object>>,
    asker: Option<usize>,
    /// The live objects of each relation, as the kind of statement wants them.
    relations: Vec<BTreeSet<V::Object>>,
}

/// What each quantifier's variable stands for.
type Env<O> = BTreeMap<QuantifierId, O>;

// Statements.
impl<V: HeapView> Twin<'_, V>
where
    V::Object: Debug,
{
    /// Why there is no answer, whatever the rest says.
    fn why_not(&self) -> Option<Reason> {
        let mentioned = mentions::of(self.program);
        let threads = self.world.view.threads();
        let unknown = mentioned.threads.iter().find(|it| !threads.contains(it));
        if let Some(name) = unknown {
            return Some(Reason::UnknownThread(name.clone()));
        }
        if mentioned.asker || mentioned.asker_object {
            let Some(asker) = self.asker else {
                return Some(Reason::NobodyAsks);
            };
            if mentioned.asker_object && self.graph.thread_object(asker).is_none() {
                return Some(Reason::NoThreadObject(threads[asker].clone()));
            }
        }
        let mut all_threads = 0..threads.len();
        let is_alone = |it| self.graph.thread_object(it).map(|it| !self.is_shared(it));
        let some_shared = all_threads.clone().any(|it| is_alone(it) == Some(false));
        if mentioned.quantified_threads && all_threads.any(|it| is_alone(it) != Some(true))
            || mentioned.mixed_threads && some_shared
        {
            return Some(Reason::ThreadWithoutObject);
        }
        let env = Env::new();
        let all = self.can_all(&self.program.dereferences, &env);
        let mut objects = self.program.objects.iter();
        let all = all && objects.all(|it| self.object(it, &env).is_some());
        (!all).then_some(Reason::Null)
    }

    fn statement(mut self) -> Answer<V::Object> {
        match &self.program.statement {
            Statement::Assertion(kind, formula) => {
                let mut overlap = BTreeSet::new();
                match kind {
                    AssertionKind::Plain => {}
                    AssertionKind::Disjoint => overlap = self.overlap(),
                    AssertionKind::Unsafe => self.relations = self.first_come_relations(),
                }
                match overlap.is_empty() {
                    true => self.verdict(formula),
                    false => Answer::Verdict(Verdict {
                        holds: false,
                        shown: BTreeMap::new(),
                        overlap,
                        culprits: BTreeSet::new(),
                    }),
                }
            }
            Statement::Formula(formula) => self.verdict(formula),
            Statement::Gc(assertion) => self.gc(assertion),
            Statement::Query(query) => Answer::Told(self.query(query)),
            Statement::Value(operand) => match self.operand(operand, &Env::new()) {
                Item::Plain(Value::Bool(truth)) => self.verdict(&Formula::Constant(truth)),
                item => Answer::Value(item),
            },
            Statement::Set(set) => Answer::Set(self.set(set, &Env::new())),
        }
    }

    fn verdict(&self, formula: &Formula) -> Answer<V::Object> {
        let env = Env::new();
        let mut shown = BTreeMap::new();
        for (nth, quantifier) in self.program.quantifiers.iter().enumerate() {
            if quantifier.parent.is_none() {
                let id = QuantifierId(nth as u32);
                let wanted = quantifier.kind != QuantifierKind::Forall;
                shown.insert(id.0, self.those(id, &env, wanted));
            }
        }
        Answer::Verdict(Verdict {
            holds: self.holds(formula, &env),
            shown,
            overlap: BTreeSet::new(),
            culprits: BTreeSet::new(),
        })
    }

    fn query(&self, query: &Query) -> Told<V::Object> {
        let found = self.those(query.found, &Env::new(), true);
        let count = found.len() as u64;
        let told = query.limit.map_or(usize::MAX, |limit| limit as usize);
        let value = |of: &Operand, object| self.operand(of, &Env::from([(query.found, object)]));
        match &query.select {
            Select::Objects => Told::Objects(count, found.into_iter().take(told).collect()),
            Select::Values(values) => {
                let row = |object| values.iter().map(|it| value(it, object)).collect();
                Told::Values(count, found.into_iter().take(told).map(row).collect())
            }
            Select::Count => Told::Count(count),
            Select::Fold(fold, of) => {
                let items: Vec<Item<V::Object>> = found.iter().map(|&it| value(of, it)).collect();
                match fold {
                    Fold::Sum => Told::Sum(compare::sum(&items)),
                    Fold::Min => Told::Extreme(self.extreme(&items, std::cmp::Ordering::Less)),
                    Fold::Max => Told::Extreme(self.extreme(&items, std::cmp::Ordering::Greater)),
                }
            }
        }
    }
}

// GC assertions.
impl<V: HeapView> Twin<'_, V>
where
    V::Object: Debug,
{
    fn gc(&self, assertion: &GcAssertion) -> Answer<V::Object> {
        let view = self.world.view;
        let culprits: BTreeSet<V::Object> = match assertion {
            GcAssertion::Instances(class, most) => {
                let all = self.instances(class);
                match all.len() as u64 <= *most {
                    true => BTreeSet::new(),
                    false => all,
                }
            }
            GcAssertion::Volume(class, most) => {
                let all = self.instances(class);
                let bytes: u64 = all.iter().map(|&it| view.bytes_of(it) as u64).sum();
                match bytes <= *most {
                    true => BTreeSet::new(),
                    false => all,
                }
            }
            GcAssertion::Unshared(target, slots) => {
                let mut all = self.targets(target);
                all.retain(|&object| self.references(object, slots) > 1);
                all
            }
            GcAssertion::OwnedBy(owner, ownee) => {
                let owners = self.targets(owner);
                let owned = |object: &V::Object| {
                    let mut owners = owners.iter();
                    owners.any(|&owner| self.graph.is_reachable(owner, *object))
                };
                let mut all = self.targets(ownee);
                all.retain(|object| !owned(object));
                all
            }
            GcAssertion::Dead(target) => self.targets(target),
        };
        Answer::Verdict(Verdict {
            holds: culprits.is_empty(),
            shown: BTreeMap::new(),
            overlap: BTreeSet::new(),
            culprits,
        })
    }

    fn instances(&self, class: &ClassTarget) -> BTreeSet<V::Object> {
        let mut all = self.live.clone();
        all.retain(|&object| class.classes.contains(self.world.view.class_of(object)));
        all
    }

    /// The live objects among those that are meant.
    fn targets(&self, target: &Target) -> BTreeSet<V::Object> {
        match target {
            Target::Class(class) => self.instances(class),
            Target::Object(path) => {
                let object = self.object(path, &Env::new());
                object
                    .into_iter()
                    .filter(|it| self.live.contains(it))
                    .collect()
            }
        }
    }

    /// How many statics, and slots of live objects that retain, refer to an object. Of slots of some
    /// names, if there are any.
    fn references(&self, object: V::Object, names: &[String]) -> usize {
        let mut count = 0;
        self.world.view.for_each_root(|root, to| {
            count += (names.is_empty() && root.kind == RootKind::Static && to == object) as usize;
        });
        for &from in &self.live {
            let class = self.class_of(from);
            let slots = self
                .graph
                .slots(from)
                .iter()
                .filter(|slot| slot.1 == object);
            let named = slots.filter(|slot| match slot.0 {
                _ if names.is_empty() => true,
                Place::Field(index) => {
                    let field = &class.fields[index as usize].name;
                    names.iter().any(|name| {
                        let inline = (0..100).any(|n| *field == format!("{name}[{n}]"));
                        name == field || inline
                    })
                }
                Place::Element(_) => names.iter().any(|it| it == "[]"),
            });
            count += named.count();
        }
        count
    }
}

// Relations.
impl<V: HeapView> Twin<'_, V>
where
    V::Object: Debug,
{
    /// What the parts of a relation reach. `taken` is in the way of all.
    fn relation(&self, relation: &Relation, taken: &BTreeSet<V::Object>) -> BTreeSet<V::Object> {
        let env = Env::new();
        let mut reached = BTreeSet::new();
        let mut avoid: Vec<V::Object> = taken.iter().copied().collect();
        for part in &relation.parts {
            let exclusions = part.exclusions.iter();
            avoid.extend(exclusions.filter_map(|path| self.object(path, &env)));
            let sources = match &part.source {
                Some(source) => self.object(source, &env).into_iter().collect(),
                None => self.root_targets(|_| true),
            };
            reached.extend(self.graph.reach_avoiding(&sources, &avoid));
        }
        reached
    }

    /// Each relation as if there were no other.
    fn exact_relations(&self) -> Vec<BTreeSet<V::Object>> {
        let relations = self.program.relations.iter();
        let sets = relations.map(|it| &self.relation(it, &BTreeSet::new()) & &self.live);
        sets.collect()
    }

    /// One relation after the other. What one has is in the way of those behind it.
    fn first_come_relations(&self) -> Vec<BTreeSet<V::Object>> {
        let mut taken = BTreeSet::new();
        let mut sets = Vec::new();
        for relation in &self.program.relations {
            let set = self.relation(relation, &taken);
            taken.extend(set.iter().copied());
            sets.push(&set & &self.live);
        }
        sets
    }

    /// What is in two relations or more.
    fn overlap(&self) -> BTreeSet<V::Object> {
        let mut all = self.live.clone();
        all.retain(|object| {
            let relations = self.relations.iter();
            relations.filter(|it| it.contains(object)).count() >= 2
        });
        all
    }

    /// What some of the roots refer to, without those that wait for their finalizers.
    fn root_targets(&self, wanted: impl Fn(&Root) -> bool) -> Vec<V::Object> {
        let mut targets = Vec::new();
        self.world.view.for_each_root(|root, object| {
            if root.kind != RootKind::Finalizer && wanted(root) {
                targets.push(object);
            }
        });
        targets
    }
}

// Quantifiers and formulas.
impl<V: HeapView> Twin<'_, V>
where
    V::Object: Debug,
{
    fn quantifier(&self, id: QuantifierId) -> &Quantifier {
        &self.program.quantifiers[id.0 as usize]
    }

    /// The objects of a quantifier's range of which the body is what is wanted.
    fn those(&self, id: QuantifierId, env: &Env<V::Object>, wanted: bool) -> BTreeSet<V::Object> {
        let quantifier = self.quantifier(id);
        let mut those = BTreeSet::new();
        for &object in &self.live {
            let mut env = env.clone();
            env.insert(id, object);
            let in_range = quantifier
                .classes
                .contains(self.world.view.class_of(object))
                && self.can_all(&quantifier.dereferences, &env)
                && quantifier
                    .range
                    .as_ref()
                    .is_none_or(|it| self.holds(it, &env));
            if in_range && self.holds(&quantifier.body, &env) == wanted {
                those.insert(object);
            }
        }
        those
    }

    fn holds(&self, formula: &Formula, env: &Env<V::Object>) -> bool {
        match formula {
            Formula::Constant(value) => *value,
            Formula::Not(of) => !self.holds(of, env),
            Formula::And(a, b) => self.holds(a, env) & self.holds(b, env),
            Formula::Or(a, b) => self.holds(a, env) | self.holds(b, env),
            Formula::Implies(a, b) => !self.holds(a, env) | self.holds(b, env),
            Formula::Iff(a, b) => self.holds(a, env) == self.holds(b, env),
            Formula::Flag(path) => matches!(self.item(path, env), Item::Plain(Value::Bool(true))),
            Formula::Compare(it) => {
                let (left, right) = (self.operand(&it.left, env), self.operand(&it.right, env));
                self.compare(it.op, it.by, &left, &right)
            }
            Formula::InstanceOf(path, classes) => {
                let object = self.object(path, env);
                object.is_some_and(|it| classes.contains(self.world.view.class_of(it)))
            }
            Formula::Label(path, label) => {
                let label = &self.resolved.labels[label.0 as usize];
                let object = self.object(path, env);
                object.is_some_and(|it| (self.world.label)(it, label))
            }
            Formula::Reach(relation, variable) => {
                self.relations[relation.0 as usize].contains(&env[variable])
            }
            Formula::Quantified(id) => match self.quantifier(*id).kind {
                QuantifierKind::Forall => self.those(*id, env, false).is_empty(),
                QuantifierKind::Exists => !self.those(*id, env, true).is_empty(),
                _ => unreachable!("this is neither true nor false"),
            },
            Formula::In(path, set) => {
                let set = self.set(set, env);
                self.object(path, env).is_some_and(|it| {
                    let mut threads = set.threads.iter();
                    set.objects.contains(&it)
                        || threads.any(|&thread| self.graph.thread_object(thread) == Some(it))
                })
            }
            Formula::SameSet(a, b) => self.set(a, env) == self.set(b, env),
            Formula::Dom(above, below) => {
                let below = self.object(below, env);
                below.is_some_and(|below| match above {
                    Source::Set(set) => match &**set {
                        Set::Stack(thread) => self.thread_dom(thread, Part::Stack, below, env),
                        Set::Roots(thread) => self.thread_dom(thread, Part::Both, below, env),
                        set => self.dom(&Vec::from_iter(self.set(set, env).objects), below),
                    },
                    above => self.dom(&self.source(above, env), below),
                })
            }
            Formula::Probe(probe) => self.probe(probe, env),
        }
    }

    fn operand(&self, operand: &Operand, env: &Env<V::Object>) -> Item<V::Object> {
        use heaphound_deal::resolved::Constant;
        let number = |count: usize| Item::Plain(Value::Unsigned(count as u64));
        match operand {
            Operand::Constant(Constant::Null) => Item::Null,
            Operand::Constant(Constant::Plain(value)) => Item::Plain(*value),
            Operand::Constant(Constant::Text(text)) => Item::Text(text.clone()),
            Operand::Path(path) => self.item(path, env),
            Operand::Count(id) => number(self.those(*id, env, true).len()),
            Operand::Size(set) => {
                let set = self.set(set, env);
                number(set.objects.len() + set.threads.len())
            }
            Operand::Fold(id, fold, of) => {
                let found = self.those(*id, env, true);
                let items = found.iter().map(|&it| {
                    let mut env = env.clone();
                    env.insert(*id, it);
                    self.operand(of, &env)
                });
                let items: Vec<Item<V::Object>> = items.collect();
                match fold {
                    Fold::Sum => compare::sum(&items).item(),
                    Fold::Min => self
                        .extreme(&items, std::cmp::Ordering::Less)
                        .unwrap_or(Item::Null),
                    Fold::Max => self
                        .extreme(&items, std::cmp::Ordering::Greater)
                        .unwrap_or(Item::Null),
                }
            }
        }
    }
}

// Paths.
impl<V: HeapView> Twin<'_, V>
where
    V::Object: Debug,
{
    /// What a path leads to; null as soon as a step meets null or an object that cannot take it.
    fn item(&self, path: &Path, env: &Env<V::Object>) -> Item<V::Object> {
        let start = match path.start {
            Start::Variable(id) => Some(env[&id]),
            Start::Host(id) => self.hosts[id.0 as usize],
            Start::Asker => {
                let asker = self.asker.expect("found out before");
                self.graph.thread_object(asker)
            }
        };
        let mut at = start.map_or(Item::Null, Item::Object);
        for &step in &path.steps {
            at = match at {
                Item::Object(object) if self.can(object, step) => self.step(object, step),
                _ => Item::Null,
            };
        }
        at
    }

    fn object(&self, path: &Path, env: &Env<V::Object>) -> Option<V::Object> {
        match self.item(path, env) {
            Item::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Whether all that is dereferenced is an object that has what is asked of it.
    fn can_all(&self, dereferences: &[Dereference], env: &Env<V::Object>) -> bool {
        dereferences.iter().all(|it| {
            let object = self.object(&it.path, env);
            object.is_some_and(|object| self.can(object, it.step))
        })
    }

    fn class_of(&self, object: V::Object) -> &ClassInfo {
        let view = self.world.view;
        view.class(view.class_of(object))
    }

    /// Whether an object has a field, or elements, that can be read.
    fn can(&self, object: V::Object, step: Step) -> bool {
        let class = self.class_of(object);
        let is_whole = |place| !self.world.view.is_cut(object, place);
        match step {
            Step::Element(index) => {
                let index = u32::try_from(index).ok();
                class.elements.is_some() && index.is_none_or(|it| is_whole(Place::Element(it)))
            }
            Step::Field(id) => {
                let places = &self.resolved.fields[id.0 as usize].places;
                match places[class.id.0 as usize - 1] {
                    Some(FieldPlace::Field(index)) => is_whole(Place::Field(index)),
                    Some(FieldPlace::Length) => true,
                    None => false,
                }
            }
        }
    }

    fn step(&self, object: V::Object, step: Step) -> Item<V::Object> {
        use heaphound_heap::class::Elements;
        let view = self.world.view;
        let class = self.class_of(object);
        let known = |value: Option<Value>| value.map_or(Item::Unknown, Item::Plain);
        match step {
            Step::Field(id) => {
                let field = &self.resolved.fields[id.0 as usize];
                match field.places[class.id.0 as usize - 1] {
                    Some(FieldPlace::Field(index)) => match class.fields[index as usize].kind {
                        FieldKind::Plain(_) => known(view.plain_value(object, index as usize)),
                        FieldKind::Owned => Item::Unknown,
                        _ => self.slot(object, Place::Field(index)),
                    },
                    Some(FieldPlace::Length) => {
                        let length = view.length_of(object);
                        known(length.map(|it| Value::Unsigned(it as u64)))
                    }
                    None => unreachable!("it has the field"),
                }
            }
            Step::Element(index) => {
                let length = view.length_of(object);
                if length.is_some_and(|length| index >= length as u64) {
                    return Item::Null;
                }
                match class.elements.expect("it is an array") {
                    Elements::Refs => match u32::try_from(index) {
                        Ok(index) => self.slot(object, Place::Element(index)),
                        Err(_) => Item::Null,
                    },
                    Elements::Plain(_) | Elements::Text => {
                        known(view.plain_element(object, index as usize))
                    }
                }
            }
        }
    }

    /// What a slot holds, however weakly.
    fn slot(&self, object: V::Object, place: Place) -> Item<V::Object> {
        let mut found = Item::Null;
        self.world.view.for_each_edge(object, |at, _, to| {
            if at == place {
                found = Item::Object(to);
            }
        });
        found
    }
}

// PHALANX.
impl<V: HeapView> Twin<'_, V>
where
    V::Object: Debug,
{
    fn set(&self, set: &Set, env: &Env<V::Object>) -> Members<V::Object> {
        match set {
            Set::Running => self.members(0..self.world.view.threads().len()),
            Set::Stack(thread) => self.thread_roots(thread, Part::Stack, env).into(),
            Set::Roots(thread) => self.thread_roots(thread, Part::Both, env).into(),
            Set::ReachAll => self.graph.reach_all().into(),
            Set::Reach(from, avoid) => {
                let from = self.source(from, env);
                let avoid = self.avoid(avoid.as_deref(), env);
                self.graph.reach_avoiding(&from, &avoid).into()
            }
            Set::Pred(path) => match self.object(path, env) {
                Some(object) => self.graph.pred(object).into(),
                None => BTreeSet::new().into(),
            },
            Set::ThreadReach(path, avoid, part) => {
                let avoid = self.avoid(avoid.as_deref(), env);
                let Some(object) = self.object(path, env) else {
                    return BTreeSet::new().into();
                };
                let threads = 0..self.world.view.threads().len();
                self.members(threads.filter(|&thread| {
                    let from = self.graph.thread_roots(thread, *part);
                    let from: Vec<V::Object> = from.into_iter().collect();
                    self.graph.reach_avoiding(&from, &avoid).contains(&object)
                }))
            }
            Set::Literal(paths) => {
                let objects = paths.iter().filter_map(|it| self.object(it, env));
                objects.collect::<BTreeSet<_>>().into()
            }
            Set::Of(id) => self.those(*id, env, true).into(),
            Set::Union(a, b) => {
                let (a, b) = (self.set(a, env), self.set(b, env));
                Members {
                    objects: &a.objects | &b.objects,
                    threads: &a.threads | &b.threads,
                }
            }
            Set::Intersection(a, b) => {
                let (a, b) = (self.set(a, env), self.set(b, env));
                Members {
                    objects: &a.objects & &b.objects,
                    threads: &a.threads & &b.threads,
                }
            }
            Set::Difference(a, b) => {
                let (a, b) = (self.set(a, env), self.set(b, env));
                Members {
                    objects: &a.objects - &b.objects,
                    threads: &a.threads - &b.threads,
                }
            }
        }
    }

    /// Whether several threads have the same object.
    fn is_shared(&self, object: V::Object) -> bool {
        let threads = 0..self.world.view.threads().len();
        let own = threads.filter(|&it| self.graph.thread_object(it) == Some(object));
        own.count() > 1
    }

    /// Threads by their objects, and those that have none of their own.
    fn members(&self, threads: impl Iterator<Item = usize>) -> Members<V::Object> {
        let mut members = Members::from(BTreeSet::new());
        for thread in threads {
            match self.graph.thread_object(thread) {
                Some(object) if !self.is_shared(object) => members.objects.insert(object),
                _ => members.threads.insert(thread),
            };
        }
        members
    }

    fn source(&self, source: &Source, env: &Env<V::Object>) -> Vec<V::Object> {
        match source {
            Source::Object(path) => self.object(path, env).into_iter().collect(),
            Source::Set(set) => self.set(set, env).objects.into_iter().collect(),
        }
    }

    fn avoid(&self, set: Option<&Set>, env: &Env<V::Object>) -> Vec<V::Object> {
        let set = set.map(|set| self.set(set, env).objects);
        set.into_iter().flatten().collect()
    }

    fn thread_roots(
        &self,
        thread: &Thread,
        part: Part,
        env: &Env<V::Object>,
    ) -> BTreeSet<V::Object> {
        let wanted = self.threads(thread, env);
        let mut roots = BTreeSet::new();
        for (nth, name) in self.world.view.threads().iter().enumerate() {
            if wanted.contains(name) {
                roots.extend(self.graph.thread_roots(nth, part));
            }
        }
        roots
    }

    /// The thread of that name, or all that the object stands for.
    fn threads(&self, thread: &Thread, env: &Env<V::Object>) -> Vec<String> {
        let object = match thread {
            Thread::Named(name) => return vec![name.clone()],
            Thread::Object(path) if mentions::is_asker(path) => {
                let asker = self.asker.expect("found out before");
                return vec![self.world.view.threads()[asker].clone()];
            }
            Thread::Object(path) => self.object(path, env),
        };
        let names = self.world.view.threads().iter().enumerate();
        let meant =
            names.filter(|(nth, _)| object.is_some() && self.graph.thread_object(*nth) == object);
        meant.map(|(_, name)| name.clone()).collect()
    }

    /// A path leads from one of these to it, and each path from a root to it meets one of them
    /// or the asker's stack.
    fn dom(&self, above: &[V::Object], below: V::Object) -> bool {
        let starts = self.root_targets(|root| !self.is_askers_stack(root));
        self.graph.reach_avoiding(above, &[]).contains(&below)
            && !self.graph.reach_avoiding(&starts, above).contains(&below)
    }

    /// The same where a thread's stack, or the thread with all its roots, is what is to be met:
    /// nodes of PHALANX's graph that are no objects. An object that a stack refers to is
    /// dominated by it only if nobody else leads to the object.
    fn thread_dom(
        &self,
        thread: &Thread,
        part: Part,
        below: V::Object,
        env: &Env<V::Object>,
    ) -> bool {
        let threads = self.threads(thread, env);
        let is_meant = |root: &Root| {
            let is_part = match root.kind {
                RootKind::ThreadStack => part != Part::Object,
                RootKind::ThreadObject => part != Part::Stack,
                _ => false,
            };
            is_part && threads.contains(&root.name)
        };
        let own = self.root_targets(is_meant);
        let others = self.root_targets(|root| !is_meant(root) && !self.is_askers_stack(root));
        self.graph.reach_avoiding(&own, &[]).contains(&below)
            && !self.graph.reach_avoiding(&others, &[]).contains(&below)
    }

    fn is_askers_stack(&self, root: &Root) -> bool {
        root.kind == RootKind::ThreadStack && Some(root.name.as_str()) == self.world.asker
    }

    /// Table 2: each probe as it is written there.
    fn probe(&self, probe: &Probe, env: &Env<V::Object>) -> bool {
        let object = |path: &Path| self.object(path, env);
        let pred = |path: &Path| object(path).map_or(0, |it| self.graph.pred(it).len());
        let reach = |path: &Path, avoid: &[V::Object]| {
            let from: Vec<V::Object> = object(path).into_iter().collect();
            self.graph.reach_avoiding(&from, avoid)
        };
        let has = |set: BTreeSet<V::Object>, path: &Path| {
            let object = object(path);
            object.is_some_and(|it| set.contains(&it))
        };
        match probe {
            Probe::IsHeap(path) => pred(path) > 0,
            Probe::IsShared(path) => pred(path) > 1,
            Probe::IsReachable(from, to) => has(reach(from, &[]), to),
            Probe::IsDisjoint(a, b) => (&reach(a, &[]) & &reach(b, &[])).is_empty(),
            Probe::IsUniqueOwner(path) => {
                let above: Vec<V::Object> = object(path).into_iter().collect();
                let below = reach(path, &[]);
                !below.into_iter().any(|it| !self.dom(&above, it))
            }
            Probe::ReachThrough(from, cut, to) => {
                let cut: Vec<V::Object> = self.set(cut, env).objects.into_iter().collect();
                !has(reach(from, &cut), to)
            }
            Probe::IsObjectOwned(owner, path) => {
                let above: Vec<V::Object> = object(owner).into_iter().collect();
                object(path).is_some_and(|below| self.dom(&above, below))
            }
            Probe::IsUnique(path) => object(path).is_none_or(|it| {
                let (mut count, mut starts) = (0, Vec::new());
                self.world.view.for_each_root(|root, to| {
                    starts.push(to);
                    count += (to == it && !self.is_askers_stack(root)) as usize;
                });
                for from in self.graph.reach_avoiding(&starts, &[]) {
                    self.world
                        .view
                        .for_each_edge(from, |_, _, to| count += (to == it) as usize);
                }
                count <= 1
            }),
            Probe::IsThreadOwned(path, part) => {
                let asker = self.asker.expect("found out before");
                object(path).is_some_and(|it| {
                    let owned = self.graph.is_thread_owned(asker, it, *part);
                    owned.expect("found out before")
                })
            }
        }
    }
}
