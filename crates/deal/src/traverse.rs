//! Decides rules by traversals, in which each object is entered once and tested then.
//!
//! The rules may come from several texts about one view. The paths of their relations are
//! walked first; rules whose relations start from the same objects and exclude the same ones
//! share a traversal, and so do rules without a relation. The proof of the paper's theorem 1 is
//! the algorithm ([`crate::plan`]); here it becomes a [`trace::Plan`], and what is tested
//! becomes an [`Examiner`] for each of its steps.
//!
//! A run *collects* all objects that decide a `forall`, which are its counterexamples, and all that a query wants. An
//! `exists` is left alone as soon as one object has decided it. Only if a rule fails for what exists, a second
//! run collects that.
//!
//! Sources are taken to live. A source that may be dead must not make garbage count: then
//! relations are found first, as sets, and only what the roots reach is looked at
//! ([`Setting::sources_live`]).

use std::cell::Cell;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use heaphound_heap::ClassId;
use heaphound_heap::fields::{Batch, Fields, LANES, Readable, lanes};
use heaphound_heap::root::RootSet;
use heaphound_heap::trace::{self, Examiner, MAX_MARKS, Starts, Step};

use crate::datum::Datum;
use crate::interpret::Ground;
use crate::plan::{Plans, decides};
use crate::predicate::{Compiler, Predicate, Test, Truths, tests_own_class};
use crate::resolved::{
    Formula, Path, Program, Quantifier, QuantifierId, Relation, Resolved, Statement,
};
use crate::syntax::{AssertionKind, QuantifierKind};

/// A text on a heap: what its rules are evaluated with.
pub struct Setting<'a, V: Readable> {
    /// The heap.
    pub view: &'a V,
    /// The text.
    pub resolved: &'a Resolved,
    /// What hosts stand for, in the order of [`Resolved::hosts`].
    pub hosts: &'a [Option<V::Object>],
    /// The objects with each label, in order; in the order of [`Resolved::labels`].
    pub labelled: &'a [Vec<V::Object>],
    /// The thread object of whoever asks.
    pub asker: Option<V::Object>,
    /// How many threads trace.
    pub threads: usize,
    /// Whether formulas are interpreted rather than compiled.
    pub interpret: bool,
    /// Whether all sources and exclusions of relations are known to live.
    pub sources_live: bool,
}

impl<'a, V: Readable> Setting<'a, V> {
    /// What formulas are evaluated against.
    pub(crate) fn ground(&self) -> Ground<'a, V::Fields<'a>> {
        Ground::new(
            self.view.fields(),
            self.view.classes(),
            self.resolved,
            self.hosts,
            self.labelled,
            self.asker,
        )
    }
}

/// Texts about one view whose rules share traversals.
pub struct Texts<'s, 'a, V: Readable> {
    settings: &'s [Setting<'a, V>],
    grounds: Vec<Arc<Ground<'a, V::Fields<'a>>>>,
    /// Traversals made so far.
    made: Cell<usize>,
}

/// Rules that one traversal decides.
#[derive(Clone, PartialEq, Debug)]
pub struct Traversal<O> {
    /// Which rules: the place of the text, and the place in [`Resolved::rules`].
    pub rules: Vec<(usize, usize)>,
    /// The relations that are traced, in this order.
    pub(crate) relations: Vec<Sources<O>>,
    way: Way,
}

/// How the relations of a traversal are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// While the heap is traversed.
    Tracing,
    /// First, as sets: a source may be dead.
    First,
    /// First, and each by itself: the relations of a query may overlap.
    Apart,
}

/// A relation, with the objects that its paths lead to.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sources<O> {
    pub parts: Vec<Part<O>>,
}

/// One source of a relation.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Part<O> {
    /// Where paths start; at the roots without. Null reaches nothing.
    pub from: Option<Vec<O>>,
    /// What they avoid, beside what earlier parts avoid; in order, each once.
    pub exclusions: Vec<O>,
}

impl<O: Copy + Ord> Sources<O> {
    fn of<F: Fields<Object = O>>(relation: &Relation, ground: &Ground<'_, F>) -> Self {
        let object = |path: &Path| match ground.walk(path, None) {
            Datum::Object(object) => Some(object),
            _ => None,
        };
        let parts = relation.parts.iter().map(|part| {
            let mut exclusions: Vec<O> = part.exclusions.iter().filter_map(object).collect();
            exclusions.sort_unstable();
            exclusions.dedup();
            let from = part.source.as_ref();
            Part {
                from: from.map(|path| object(path).into_iter().collect()),
                exclusions,
            }
        });
        Self {
            parts: parts.collect(),
        }
    }

    fn steps(&self, mark: usize) -> impl Iterator<Item = Step<'static, O>> {
        self.parts.iter().map(move |part| Step {
            mark,
            exclude: part.exclusions.clone(),
            starts: match &part.from {
                Some(objects) => Starts::Objects(objects.clone()),
                None => Starts::Roots(RootSet::All),
            },
        })
    }
}

/// The most relations of one statement: each takes a label and a mark, beside those of the rest.
pub(crate) const MOST_RELATIONS: usize = MAX_MARKS / 2 - 1;

/// What a run has found out about a rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome<O> {
    /// Whether each quantifier is true; of one that collects, whether it found something.
    pub truths: Vec<bool>,
    /// The objects that decide each quantifier, in order: all of them if they were to be
    /// collected, else none.
    pub found: Vec<Vec<O>>,
    /// Whether an object is in two relations; found out for `assertDisjoint` only.
    pub overlaps: bool,
    /// The objects that are in two relations or more, in order: all of them if the rule fails
    /// for it, else none.
    pub overlap: Vec<O>,
    /// Whether what is dereferenced outside of all quantifiers is there.
    pub is_defined: bool,
}

impl<O> Outcome<O> {
    /// Whether the assertion holds; none if it cannot be checked, or is no assertion.
    pub fn holds(&self, program: &Program) -> Option<bool> {
        let Statement::Assertion(kind, formula) = &program.statement else {
            return None;
        };
        if !self.is_defined {
            return None;
        }
        let disjoint = *kind != AssertionKind::Disjoint || !self.overlaps;
        Some(disjoint && self.truth(formula))
    }

    /// Whether a formula about quantifiers is true.
    pub fn truth(&self, formula: &Formula) -> bool {
        match formula {
            Formula::Constant(truth) => *truth,
            Formula::Not(a) => !self.truth(a),
            Formula::And(a, b) => self.truth(a) && self.truth(b),
            Formula::Or(a, b) => self.truth(a) || self.truth(b),
            Formula::Implies(a, b) => !self.truth(a) || self.truth(b),
            Formula::Iff(a, b) => self.truth(a) == self.truth(b),
            Formula::Quantified(quantifier) => self.truths[quantifier.0 as usize],
            _ => false,
        }
    }

    /// The quantifiers whose truth makes a formula what it is.
    pub fn blame(&self, formula: &Formula, into: &mut Vec<QuantifierId>) {
        match formula {
            Formula::Quantified(quantifier) => into.push(*quantifier),
            Formula::Not(a) => self.blame(a, into),
            Formula::And(a, b) => self.blame_two(a, b, false, into),
            Formula::Or(a, b) => self.blame_two(a, b, true, into),
            Formula::Implies(a, b) => match self.truth(formula) {
                true if !self.truth(a) => self.blame(a, into),
                true => self.blame(b, into),
                false => {
                    self.blame(a, into);
                    self.blame(b, into);
                }
            },
            Formula::Iff(a, b) => {
                self.blame(a, into);
                self.blame(b, into);
            }
            _ => {}
        }
    }

    /// Of two, those that are `decisive` if there are any.
    fn blame_two(&self, a: &Formula, b: &Formula, decisive: bool, into: &mut Vec<QuantifierId>) {
        let any = self.truth(a) == decisive || self.truth(b) == decisive;
        for side in [a, b] {
            if !any || self.truth(side) == decisive {
                self.blame(side, into);
            }
        }
    }
}

impl<'s, 'a, V: Readable> Texts<'s, 'a, V> {
    /// Texts about one view.
    pub fn new(settings: &'s [Setting<'a, V>]) -> Self {
        let grounds = settings.iter().map(|it| Arc::new(it.ground()));
        Self {
            settings,
            grounds: grounds.collect(),
            made: Cell::new(0),
        }
    }

    /// How many traversals have been made.
    pub fn traversals_made(&self) -> usize {
        self.made.get()
    }

    /// Distributes rules over traversals: of each text those that its plans give to traversals.
    pub fn share(&self, plans: &[Plans]) -> Vec<Traversal<V::Object>> {
        let mut traversals: Vec<Traversal<V::Object>> = Vec::new();
        let mut without = Vec::new();
        for (text, plans) in plans.iter().enumerate() {
            for plan in &plans.traversals {
                let way = match self.settings[text].sources_live {
                    _ if plan.apart => Way::Apart,
                    true => Way::Tracing,
                    false => Way::First,
                };
                for &place in &plan.rules {
                    let program = self.program((text, place));
                    if is_idle(program) || program.relations.is_empty() {
                        without.push(((text, place), way));
                        continue;
                    }
                    let relations = program.relations.iter();
                    let relations = relations.map(|it| Sources::of(it, &self.grounds[text]));
                    let relations: Vec<Sources<V::Object>> = relations.collect();
                    let fits = |it: &&mut Traversal<V::Object>| {
                        it.can_take(text, way) && it.relations == relations
                    };
                    match traversals.iter_mut().find(fits) {
                        Some(traversal) => traversal.rules.push((text, place)),
                        None => traversals.push(Traversal {
                            rules: vec![(text, place)],
                            relations,
                            way,
                        }),
                    }
                }
            }
        }
        // What has no relation shares any traversal.
        for (rule, way) in without {
            let fits = |it: &&mut Traversal<V::Object>| it.can_take(rule.0, way);
            match traversals.iter_mut().find(fits) {
                Some(traversal) => traversal.rules.push(rule),
                None => traversals.push(Traversal {
                    rules: vec![rule],
                    relations: Vec::new(),
                    way,
                }),
            }
        }
        traversals
    }

    /// Decides the rules of a traversal, and finds all objects that decide those that fail. Of
    /// the texts that want `witnesses`, also the objects that make rules hold.
    pub fn decide(
        &self,
        traversal: &Traversal<V::Object>,
        witnesses: impl Fn(usize) -> bool,
    ) -> Vec<Outcome<V::Object>> {
        let programs: Vec<&Program> = traversal.rules.iter().map(|&it| self.program(it)).collect();
        let is_query = |it: &&Program| matches!(it.statement, Statement::Query(_));
        let all: Vec<usize> = (0..programs.len()).collect();
        // What a query finds is collected at once, and then all else with it.
        if programs.iter().any(is_query) {
            let mut outcomes = self.run(traversal, &all, true);
            self.add_overlap(traversal, &mut outcomes);
            return outcomes;
        }
        let breaks = |it: &Quantifier| it.kind == QuantifierKind::Forall;
        let mut outcomes = self.run_with(traversal, &all, breaks);
        let is_wanted = |rule: usize| match outcomes[rule].holds(programs[rule]) {
            Some(false) => true,
            Some(true) => witnesses(traversal.rules[rule].0),
            None => false,
        };
        let wanted: Vec<bool> = all.iter().map(|&rule| is_wanted(rule)).collect();
        // Something exists, and nobody has listed what.
        let lacks = |rule: &usize| {
            let mut quantifiers = programs[*rule]
                .quantifiers
                .iter()
                .zip(&outcomes[*rule].truths);
            wanted[*rule] && quantifiers.any(|(it, &truth)| !breaks(it) && truth)
        };
        let again: Vec<usize> = all.into_iter().filter(lacks).collect();
        let collected = self.run(traversal, &again, true);
        for (rule, outcome) in again.into_iter().zip(collected) {
            outcomes[rule] = outcome;
        }
        for (outcome, wanted) in outcomes.iter_mut().zip(wanted) {
            if !wanted {
                outcome.found.iter_mut().for_each(|it| *it = Vec::new());
            }
        }
        self.add_overlap(traversal, &mut outcomes);
        outcomes
    }

    /// Finds the objects that are in two relations, for the rules that fail for them.
    fn add_overlap(&self, traversal: &Traversal<V::Object>, outcomes: &mut [Outcome<V::Object>]) {
        if outcomes.iter().any(|it| it.overlaps) {
            let overlap = self.overlap(traversal);
            for outcome in outcomes.iter_mut().filter(|it| it.overlaps) {
                outcome.overlap.clone_from(&overlap);
            }
        }
    }

    /// Runs a traversal for some of its rules; returns an outcome for each. With `collect`, all
    /// objects that decide are found.
    pub fn run(
        &self,
        traversal: &Traversal<V::Object>,
        rules: &[usize],
        collect: bool,
    ) -> Vec<Outcome<V::Object>> {
        self.run_with(traversal, rules, |_| collect)
    }

    /// The same; all objects are found that decide those quantifiers that collect.
    fn run_with(
        &self,
        traversal: &Traversal<V::Object>,
        rules: &[usize],
        collects: impl Fn(&Quantifier) -> bool,
    ) -> Vec<Outcome<V::Object>> {
        let rules: Vec<_> = rules.iter().map(|&it| traversal.rules[it]).collect();
        let programs = || rules.iter().map(|&rule| self.program(rule));
        let mut run = Run {
            texts: self,
            relations: &traversal.relations,
            asked: Vec::new(),
            watches: programs().any(says_disjoint),
        };
        let mut outcomes = Vec::new();
        for (rule, &(text, place)) in rules.iter().enumerate() {
            let program = self.program((text, place));
            let is_defined = self.grounds[text].why_not(program).is_none();
            let truth = |it: &Quantifier| it.kind == QuantifierKind::Forall;
            outcomes.push(Outcome {
                truths: program.quantifiers.iter().map(truth).collect(),
                found: vec![Vec::new(); program.quantifiers.len()],
                overlaps: false,
                overlap: Vec::new(),
                is_defined,
            });
            for (number, quantifier) in program.quantifiers.iter().enumerate() {
                if is_defined && !quantifier.classes.is_empty() {
                    run.asked.push(Asked {
                        rule,
                        text,
                        number,
                        quantifier,
                        decides: decides(quantifier),
                        collects: collects(quantifier),
                    });
                }
            }
        }
        let decided = match traversal.way {
            Way::Tracing => run.traverse(),
            Way::First | Way::Apart => run.look_up(traversal),
        };
        for (asked, mut found) in run.asked.iter().zip(decided.found) {
            let outcome = &mut outcomes[asked.rule];
            outcome.truths[asked.number] ^= found.decided;
            found.objects.sort_unstable();
            outcome.found[asked.number] = found.objects;
        }
        for (outcome, program) in outcomes.iter_mut().zip(programs()) {
            outcome.overlaps = decided.overlaps && says_disjoint(program);
        }
        outcomes
    }

    /// The live objects that are in two relations or more, in order.
    pub fn overlap(&self, traversal: &Traversal<V::Object>) -> Vec<V::Object> {
        let is_careful = traversal.way != Way::Tracing;
        let live = is_careful.then(|| self.live());
        let mut seen = HashSet::new();
        let mut twice = HashSet::new();
        for relation in &traversal.relations {
            for object in self.entered(std::slice::from_ref(relation)).remove(0) {
                if !seen.insert(object) {
                    twice.insert(object);
                }
            }
        }
        let lives = |object: &V::Object| live.as_ref().is_none_or(|live| live.contains(object));
        let mut twice: Vec<V::Object> = twice.into_iter().filter(lives).collect();
        twice.sort_unstable();
        twice
    }

    pub(crate) fn setting(&self, text: usize) -> &'s Setting<'a, V> {
        &self.settings[text]
    }

    fn program(&self, (text, place): (usize, usize)) -> &'a Program {
        &self.settings[text].resolved.rules[place].program
    }

    fn view(&self) -> &'a V {
        self.settings[0].view
    }

    fn threads(&self) -> usize {
        let threads = self.settings.iter().map(|it| it.threads);
        threads.max().unwrap_or(1).max(1)
    }

    /// All live objects.
    fn live(&self) -> HashSet<V::Object> {
        let everything = Sources {
            parts: vec![Part {
                from: None,
                exclusions: Vec::new(),
            }],
        };
        self.entered(&[everything]).remove(0).into_iter().collect()
    }

    /// What tracing some relations one after the other enters, each object once.
    fn entered(&self, relations: &[Sources<V::Object>]) -> Vec<Vec<V::Object>> {
        let mut all = vec![Vec::new(); relations.len()];
        let steps = relations.iter().enumerate();
        let plan = trace::Plan {
            steps: steps.flat_map(|(mark, it)| it.steps(mark)).collect(),
        };
        let examiner = |_| All(Vec::new());
        self.trace(&plan, 1, examiner, |step, examiners| {
            let entered = examiners.into_iter().flat_map(|it| it.0);
            all[plan.steps[step].mark].extend(entered);
            ControlFlow::Continue(())
        });
        all
    }

    fn trace<E: Examiner<V::Object>>(
        &self,
        plan: &trace::Plan<'_, V::Object>,
        threads: usize,
        examiner: impl FnMut(usize) -> E,
        done: impl FnMut(usize, Vec<E>) -> ControlFlow<()>,
    ) {
        if plan.steps.is_empty() {
            return;
        }
        self.made.set(self.made.get() + 1);
        let view = self.view();
        trace::run(view, &mut view.visits(), plan, threads, examiner, done);
    }
}

impl<O> Traversal<O> {
    /// Whether it can decide a rule of a text, if the relations are the same.
    fn can_take(&self, text: usize, way: Way) -> bool {
        match way {
            Way::Tracing => self.way == way,
            Way::First => self.way == way && self.rules[0].0 == text,
            Way::Apart => false,
        }
    }
}

/// Whether a rule says that no object is in two relations.
fn says_disjoint(program: &Program) -> bool {
    use Statement::Assertion;
    let is_said = matches!(program.statement, Assertion(AssertionKind::Disjoint, _));
    is_said && program.relations.len() > 1
}

/// Whether a rule tests no object.
fn is_idle(program: &Program) -> bool {
    !says_disjoint(program) && program.quantifiers.iter().all(|it| it.classes.is_empty())
}

/// Lists what is entered.
struct All<O>(Vec<O>);

impl<O: Copy + Send> Examiner<O> for All<O> {
    fn wants(&self, _: ClassId) -> bool {
        true
    }

    fn examine(&mut self, objects: &[O]) {
        self.0.extend_from_slice(objects);
    }
}

/// A quantifier of a rule that is to be decided.
struct Asked<'a> {
    /// The rule's place among those that are decided.
    rule: usize,
    /// The rule's text.
    text: usize,
    number: usize,
    quantifier: &'a Quantifier,
    /// What holds of objects that decide it.
    decides: Formula,
    /// Whether all objects that decide it are to be found.
    collects: bool,
}

/// One run of a traversal.
struct Run<'r, 's, 'a, V: Readable> {
    texts: &'r Texts<'s, 'a, V>,
    relations: &'r [Sources<V::Object>],
    asked: Vec<Asked<'a>>,
    /// Whether overlaps of relations are wanted.
    watches: bool,
}

/// What a run has found out.
struct Decided<O> {
    /// For each quantifier that was asked.
    found: Vec<Found<O>>,
    overlaps: bool,
}

/// What decides a quantifier.
#[derive(Clone)]
struct Found<O> {
    decided: bool,
    /// If they are collected.
    objects: Vec<O>,
}

/// What is tested in a step.
struct Tests<'t, F: Fields> {
    /// By class: 0 if nothing is tested, else the place behind it in `lists`.
    by_class: Vec<u32>,
    tests: Vec<Tested<'t, F>>,
    /// The tests of each class that has some.
    lists: Vec<Vec<usize>>,
    /// What of the whole run is decided, if the traversal may end when all is.
    ends: &'t [AtomicBool],
}

struct Tested<'t, F: Fields> {
    /// Which quantifier of the run.
    asked: usize,
    quantifier: &'t Quantifier,
    ground: &'t Ground<'t, F>,
    test: Test<'t, F>,
    decided: &'t AtomicBool,
    collects: bool,
}

impl<'t, F: Fields> Tests<'t, F> {
    /// The tests of a class that has some.
    fn of_class(&self, class: ClassId) -> impl Iterator<Item = &Tested<'t, F>> {
        let place = self.by_class[class.0 as usize] as usize - 1;
        self.lists[place].iter().map(|&number| &self.tests[number])
    }

    fn is_decided(&self) -> bool {
        !self.ends.is_empty() && self.ends.iter().all(|it| it.load(Relaxed))
    }
}

impl<'a, V: Readable> Run<'_, '_, 'a, V> {
    /// The one traversal.
    fn traverse(&self) -> Decided<V::Object> {
        let relations = self.relations.len();
        let decided: Vec<AtomicBool> = self.asked.iter().map(|_| AtomicBool::new(false)).collect();
        let tests = |number| {
            let related = (0..relations).map(|it| it == number).collect();
            self.tests(related, &decided)
        };
        let tests: Vec<_> = (0..=relations).map(tests).collect();
        // Steps behind the last one that tests something, or watches for overlaps, are left out.
        let tested = tests.iter().rposition(|it| !it.tests.is_empty());
        let tested = tested.map_or(0, |last| last + 1);
        let ends = match self.watches {
            true => tested.max(relations),
            false => tested,
        };
        let plan = self.plan(ends);
        // What the relation of each step excludes so far.
        let mut excluded: Vec<Vec<V::Object>> = Vec::new();
        for (number, step) in plan.steps.iter().enumerate() {
            let mut all = step.exclude.clone();
            if number > 0 && plan.steps[number - 1].mark == step.mark {
                all.extend_from_slice(&excluded[number - 1]);
            }
            excluded.push(all);
        }
        let mut found: Vec<Vec<V::Object>> = vec![Vec::new(); self.asked.len()];
        let mut overlaps = false;
        let examiner = |step: usize| {
            let mark = plan.steps[step].mark;
            let tests = &tests[mark];
            Examine {
                tests,
                fields: self.texts.view().fields(),
                watches: self.watches && (1..relations).contains(&mark),
                excluded: &excluded[step],
                overlaps: false,
                found: vec![Vec::new(); found.len()],
                waiting: vec![Vec::new(); tests.lists.len()],
            }
        };
        let mut examined = Vec::new();
        self.texts
            .trace(&plan, self.texts.threads(), examiner, |step, examiners| {
                for mut examiner in examiners {
                    examiner.test_all();
                    overlaps |= examiner.overlaps;
                    examined.push(examiner.found);
                }
                match tests[plan.steps[step].mark].is_decided() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
        for some in examined {
            for (all, some) in found.iter_mut().zip(some) {
                all.extend(some);
            }
        }
        let found = decided.iter().zip(found).map(|(decided, objects)| Found {
            decided: decided.load(Relaxed),
            objects,
        });
        Decided {
            found: found.collect(),
            overlaps,
        }
    }

    /// The steps of the first `marks` marks. There is one for each relation, and one for the rest.
    fn plan(&self, marks: usize) -> trace::Plan<'static, V::Object> {
        let relations = self.relations.iter().enumerate().take(marks);
        let mut steps: Vec<_> = relations.flat_map(|(mark, it)| it.steps(mark)).collect();
        let rest = self.relations.len();
        if marks > rest {
            let parts = self.relations.iter().flat_map(|it| &it.parts);
            let excluded: Vec<_> = parts.flat_map(|it| it.exclusions.clone()).collect();
            let step = |starts| Step {
                mark: rest,
                exclude: Vec::new(),
                starts,
            };
            steps.push(step(Starts::Roots(RootSet::All)));
            // What was excluded may be known to nobody else that is left.
            if !excluded.is_empty() {
                steps.push(step(Starts::Objects(excluded)));
            }
        }
        trace::Plan { steps }
    }

    /// What is to be tested of objects in these relations.
    fn tests<'t>(
        &'t self,
        related: Vec<bool>,
        decided: &'t [AtomicBool],
    ) -> Tests<'t, V::Fields<'a>>
    where
        'a: 't,
    {
        let mut tests: Vec<Tested<'t, V::Fields<'a>>> = Vec::new();
        let classes = self.texts.view().classes();
        let mut of_class: Vec<Vec<usize>> = classes.iter().map(|_| Vec::new()).collect();
        for (number, asked) in self.asked.iter().enumerate() {
            let ground = &self.texts.grounds[asked.text];
            let compiler = Compiler::new(ground, related.clone());
            let tested = |test| Tested {
                asked: number,
                quantifier: asked.quantifier,
                ground,
                test,
                decided: &decided[number],
                collects: asked.collects,
            };
            let mut add = |test: Predicate<'t, V::Fields<'a>>, of: &[usize]| {
                let test: Test<'t, V::Fields<'a>> = match test {
                    Predicate::Constant(false) => return,
                    Predicate::Constant(true) => Box::new(|_, _| Truths { yes: !0, absent: 0 }),
                    Predicate::Test(test) => test,
                };
                of.iter()
                    .for_each(|&class| of_class[class].push(tests.len()));
                tests.push(tested(test));
            };
            let has = |class: &usize| asked.quantifier.classes.contains(classes[*class].id);
            let range: Vec<usize> = (0..classes.len()).filter(has).collect();
            if self.texts.settings[asked.text].interpret {
                add(
                    Predicate::Test(compiler.interpreted(&asked.decides)),
                    &range,
                );
            } else if tests_own_class(&asked.decides) {
                // What an object's class decides is decided for all of them.
                for class in range {
                    let id = classes[class].id;
                    add(compiler.compile_for(&asked.decides, id), &[class]);
                }
            } else {
                add(compiler.compile(&asked.decides), &range);
            }
        }
        let mut by_class = vec![0];
        let mut lists = Vec::new();
        for list in of_class {
            by_class.push(match list.is_empty() {
                true => 0,
                false => {
                    lists.push(list);
                    lists.len() as u32
                }
            });
        }
        Tests {
            by_class,
            tests,
            lists,
            // To find overlaps, all relations are traced to their ends.
            ends: match self.watches || self.asked.iter().any(|it| it.collects) {
                true => &[],
                false => decided,
            },
        }
    }

    /// The slow way, for sources that may be dead: relations as sets, then whatever lives.
    fn look_up(&self, traversal: &Traversal<V::Object>) -> Decided<V::Object> {
        let texts = self.texts;
        let relations = match traversal.way {
            Way::Apart => {
                let each = self.relations.iter();
                let each = each.map(|it| texts.entered(std::slice::from_ref(it)).remove(0));
                each.collect()
            }
            _ => texts.entered(self.relations),
        };
        let relations: Vec<HashSet<V::Object>> = relations
            .into_iter()
            .map(|objects| objects.into_iter().collect())
            .collect();
        let nothing = Found {
            decided: false,
            objects: Vec::new(),
        };
        let mut found = vec![nothing; self.asked.len()];
        if !self.asked.is_empty() {
            for object in texts.live() {
                let related: Vec<bool> = relations.iter().map(|it| it.contains(&object)).collect();
                let class = texts.view().class_of(object);
                for (found, asked) in found.iter_mut().zip(&self.asked) {
                    let ground = &texts.grounds[asked.text];
                    if asked.quantifier.classes.contains(class)
                        && ground.holds(&asked.decides, object, &related)
                        && ground.is_in_range(asked.quantifier, object)
                    {
                        found.decided = true;
                        if asked.collects {
                            found.objects.push(object);
                        }
                    }
                }
            }
        }
        Decided {
            found,
            overlaps: self.watches && !texts.overlap(traversal).is_empty(),
        }
    }
}

/// Tests the objects that a step enters.
struct Examine<'e, F: Fields> {
    tests: &'e Tests<'e, F>,
    fields: F,
    /// Whether overlaps are wanted.
    watches: bool,
    /// What the relation excludes.
    excluded: &'e [F::Object],
    overlaps: bool,
    found: Vec<Vec<F::Object>>,
    /// Objects that are to be tested, by class: in the order of [`Tests::lists`].
    waiting: Vec<Vec<F::Object>>,
}

impl<F: Fields> Examiner<F::Object> for Examine<'_, F> {
    // A class that is newer than the text is not in it.
    fn wants(&self, class: ClassId) -> bool {
        let place = self.tests.by_class.get(class.0 as usize);
        place.is_some_and(|&it| it != 0)
    }

    fn examine(&mut self, objects: &[F::Object]) {
        if !self.test_some(objects, LANES) {
            for &x in objects {
                self.wait(x);
            }
        }
    }

    fn sift(&mut self, objects: &[F::Object]) -> u64 {
        let mut all = [objects[0]; LANES];
        all[..objects.len()].copy_from_slice(objects);
        let Some(batch) = Batch::new(self.fields, &all) else {
            return !0;
        };
        let asked = !0 >> (LANES - objects.len());
        let tested = self.tests.of_class(batch.class());
        let found = tested.fold(0, |found, it| found | (it.test)(&batch, asked & !found).yes);
        found & asked
    }

    fn overlap(&mut self, to: F::Object) {
        self.overlaps |= !self.excluded.contains(&to);
    }

    fn wants_overlaps(&self) -> bool {
        self.watches
    }

    fn is_done(&self) -> bool {
        self.tests.is_decided()
    }
}

impl<F: Fields> Examine<'_, F> {
    /// Tests all objects that still wait for it.
    fn test_all(&mut self) {
        for place in 0..self.waiting.len() {
            let mut waiting = std::mem::take(&mut self.waiting[place]);
            let count = waiting.len();
            if count > 0 {
                waiting.resize(LANES, waiting[0]);
                self.test_some(&waiting, count);
            }
        }
    }

    /// Lets an object wait until there are as many of its class as can be tested at a time.
    fn wait(&mut self, x: F::Object) {
        let class = self.fields.class_of(x);
        let place = self.tests.by_class[class.0 as usize] as usize - 1;
        let waiting = &mut self.waiting[place];
        waiting.push(x);
        if waiting.len() == LANES {
            let waiting = std::mem::take(waiting);
            self.test_some(&waiting, LANES);
            self.waiting[place] = waiting;
            self.waiting[place].clear();
        }
    }

    /// Tests the first `count` of some objects. Returns whether it could: they must fill all lanes
    /// and be of one class.
    fn test_some(&mut self, objects: &[F::Object], count: usize) -> bool {
        let tests = self.tests;
        let Some(objects) = objects.first_chunk() else {
            return false;
        };
        let Some(batch) = Batch::new(self.fields, objects) else {
            return false;
        };
        let asked = !0 >> (LANES - count);
        for tested in tests.of_class(batch.class()) {
            let decided = (tested.test)(&batch, asked).yes & asked;
            for lane in lanes(decided) {
                self.confirm(tested, objects[lane]);
            }
        }
        true
    }

    /// Takes note of an object that decides, if it is in the range.
    #[cold]
    #[inline(never)]
    fn confirm(&mut self, tested: &Tested<'_, F>, x: F::Object) {
        let known = !tested.collects && tested.decided.load(Relaxed);
        if known || !tested.ground.is_in_range(tested.quantifier, x) {
            return;
        }
        tested.decided.store(true, Relaxed);
        if tested.collects {
            self.found[tested.asked].push(x);
        }
    }
}
