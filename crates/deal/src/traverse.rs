//! Runs a plan: one traversal, in which each object is entered once and tested then.
//!
//! While it decides, a quantifier is left alone as soon as one object has decided it. A
//! second run of the same plan *collects* instead: all objects that decide, for
//! counterexamples, or that a query wants.
//!
//! Sources are thought to live. A source that may be dead must not make garbage count: then
//! relations are found first, as sets, and only what the roots reach is looked at
//! ([`Setting::sources_live`]).

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use heaphound_heap::ClassId;
use heaphound_heap::fields::{Batch, Fields, LANES, Readable, lanes};
use heaphound_heap::root::RootSet;
use heaphound_heap::trace::{Filter, MAX_MARKS, Phase, Visit, Visitor, Visits};

use crate::datum::Datum;
use crate::interpret::Ground;
use crate::plan::{Plan, decides};
use crate::predicate::{Compiler, Predicate, Test, Truths, asks_class};
use crate::resolved::{
    Formula, Program, Quantifier, QuantifierId, Relation, RelationPart, Resolved, Statement,
};
use crate::syntax::{AssertionKind, QuantifierKind, Span};

/// What a plan runs on.
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

/// What a run has found out about a rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome<O> {
    /// Whether each quantifier is true; of one that collects, whether it found something.
    pub truths: Vec<bool>,
    /// The objects that decide each quantifier, in order: all of them if they were to be
    /// collected, else none.
    pub found: Vec<Vec<O>>,
    /// Whether an object is in two relations.
    pub overlaps: bool,
    /// Whether what is dereferenced outside of all quantifiers is there.
    pub answers: bool,
}

impl<O> Outcome<O> {
    /// Whether the assertion holds; none if it has no answer, or is none.
    pub fn holds(&self, program: &Program) -> Option<bool> {
        let Statement::Assertion(kind, formula) = &program.statement else {
            return None;
        };
        if !self.answers {
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

impl<'a, V: Readable> Setting<'a, V> {
    /// Runs a plan; answers an outcome for each of its rules. With `collect`, all objects that
    /// decide are found.
    pub fn run(&self, plan: &Plan, collect: bool) -> Vec<Outcome<V::Object>> {
        let ground = Arc::new(self.ground());
        let run = Run {
            setting: self,
            plan,
            ground: &ground,
            collect,
            asked: asked(self.resolved, plan),
        };
        match self.sources_live && !plan.apart {
            true => run.traverse(),
            false => run.look_up(),
        }
    }

    /// The live objects that are in two relations or more, in order.
    pub fn overlap(&self, plan: &Plan) -> Vec<V::Object> {
        let ground = self.ground();
        let live = (!self.sources_live).then(|| self.live(&ground));
        let mut seen = HashSet::new();
        let mut twice = HashSet::new();
        for relation in &plan.relations {
            let relations = std::slice::from_ref(relation);
            for object in self.entered(&ground, relations).remove(0) {
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

    /// All live objects.
    fn live(&self, ground: &Ground<'_, V::Fields<'a>>) -> HashSet<V::Object> {
        let everything = Relation {
            span: Span::default(),
            parts: vec![RelationPart {
                source: None,
                exclusions: Vec::new(),
            }],
        };
        let mut all = self.entered(ground, &[everything]);
        all.remove(0).into_iter().collect()
    }

    /// What tracing some relations one after the other enters, each object once.
    fn entered(
        &self,
        ground: &Ground<'_, V::Fields<'a>>,
        relations: &[Relation],
    ) -> Vec<Vec<V::Object>> {
        let mut series = Series::new(self, relations.len());
        let mut all = Vec::new();
        for (number, relation) in relations.iter().enumerate() {
            let mut entered = Vec::new();
            for part in &relation.parts {
                series.exclude(ground, number, part);
                let phase = series.phase(number, self.starts(ground, part.source.as_ref()));
                let visitors = vec![All(Vec::new())];
                let (_, visitors) = self.view.trace(&mut series.visits, &phase, visitors);
                entered.extend(visitors.into_iter().flat_map(|it| it.0));
            }
            all.push(entered);
        }
        all
    }

    /// What a part of a relation starts from.
    fn starts(
        &self,
        ground: &Ground<'_, V::Fields<'a>>,
        source: Option<&crate::resolved::Path>,
    ) -> Vec<V::Object> {
        let mut starts = Vec::new();
        match source {
            None => self
                .view
                .for_each_root_target(RootSet::All, |object| starts.push(object)),
            Some(path) => {
                if let Datum::Object(object) = ground.walk(path, None) {
                    starts.push(object);
                }
            }
        }
        starts
    }
}

/// The most relations of one statement: each takes a label and a mark, beside those of the rest.
pub(crate) const MOST_RELATIONS: usize = MAX_MARKS / 2 - 1;

/// The marks of a series of phases that enter each object once.
struct Series<'s, V: Readable + 's> {
    visits: V::Visits<'s>,
    /// What each relation avoids; and a label that nobody has.
    labels: Vec<Visit>,
    /// One for each relation, and one for the rest.
    marks: Vec<Visit>,
}

impl<'s, V: Readable> Series<'s, V> {
    fn new(setting: &Setting<'s, V>, relations: usize) -> Self {
        let mut visits = setting.view.visits();
        visits.reserve(2 * relations + 2);
        // Labels first, so that the marks follow one another.
        let labels = (0..=relations).map(|_| visits.fresh()).collect();
        let marks = (0..=relations).map(|_| visits.fresh()).collect();
        Self {
            visits,
            labels,
            marks,
        }
    }

    /// Marks what a part of a relation excludes as to be ignored; answers what that is.
    fn exclude(
        &mut self,
        ground: &Ground<'_, V::Fields<'s>>,
        relation: usize,
        part: &RelationPart,
    ) -> Vec<V::Object> {
        let mut excluded = Vec::new();
        for path in &part.exclusions {
            if let Datum::Object(object) = ground.walk(path, None) {
                excluded.push(object);
                // One that was entered before stays what it is.
                let entered = self.marks[0].0..=self.marks[relation].0;
                if !entered.contains(&self.visits.get(object).0) {
                    self.visits.set(object, self.labels[relation]);
                }
            }
        }
        excluded
    }

    /// A phase of a relation, or of the rest.
    fn phase(&self, relation: usize, starts: Vec<V::Object>) -> Phase<V::Object> {
        Phase {
            starts,
            filter: Filter::Once {
                since: self.marks[0],
                avoid: self.labels[relation],
            },
            mark: self.marks[relation],
        }
    }
}

/// Lists what is entered.
struct All<O>(Vec<O>);

impl<O: Copy + Send> Visitor<O> for All<O> {
    type Tag = ();

    fn object(&mut self, object: O) {
        self.0.push(object);
    }
}

/// A quantifier of a rule of the plan.
struct Asked<'a> {
    /// The rule's place in the plan.
    rule: usize,
    number: usize,
    quantifier: &'a Quantifier,
    /// What holds of objects that decide it.
    decides: Formula,
}

fn asked<'a>(resolved: &'a Resolved, plan: &Plan) -> Vec<Asked<'a>> {
    let mut asked = Vec::new();
    for (rule, &place) in plan.rules.iter().enumerate() {
        let quantifiers = &resolved.rules[place].program.quantifiers;
        for (number, quantifier) in quantifiers.iter().enumerate() {
            asked.push(Asked {
                rule,
                number,
                quantifier,
                decides: decides(quantifier),
            });
        }
    }
    asked
}

/// One run of a plan.
struct Run<'r, 'a, V: Readable> {
    setting: &'r Setting<'a, V>,
    plan: &'r Plan,
    ground: &'r Arc<Ground<'a, V::Fields<'a>>>,
    collect: bool,
    asked: Vec<Asked<'a>>,
}

/// What is tested in a phase.
struct Tests<'t, F: Fields> {
    ground: &'t Ground<'t, F>,
    /// By class: 0 if nothing is tested, else the place behind it in `lists`.
    by_class: Vec<u32>,
    tests: Vec<Tested<'t, F>>,
    /// The tests of each class that has some.
    lists: Vec<Vec<usize>>,
    collect: bool,
    /// What of the whole plan is decided, if the traversal may end when all is.
    ends: &'t [AtomicBool],
}

struct Tested<'t, F: Fields> {
    /// Which quantifier of the plan.
    asked: usize,
    quantifier: &'t Quantifier,
    test: Test<'t, F>,
    decided: &'t AtomicBool,
}

impl<'a, V: Readable> Run<'_, 'a, V> {
    fn outcomes(
        &self,
        found: Vec<Vec<V::Object>>,
        decided: &[AtomicBool],
        overlaps: bool,
    ) -> Vec<Outcome<V::Object>> {
        let mut outcomes: Vec<Outcome<V::Object>> = Vec::new();
        for &place in &self.plan.rules {
            let program = &self.setting.resolved.rules[place].program;
            outcomes.push(Outcome {
                truths: Vec::new(),
                found: Vec::new(),
                // One without relations may share the traversal of those that have some.
                overlaps: overlaps && !program.relations.is_empty(),
                answers: self.ground.can_dereference(&program.dereferences, None),
            });
        }
        for ((asked, mut found), decided) in self.asked.iter().zip(found).zip(decided) {
            let decided = decided.load(Relaxed) || !found.is_empty();
            let outcome = &mut outcomes[asked.rule];
            debug_assert_eq!(outcome.truths.len(), asked.number);
            outcome.truths.push(match asked.quantifier.kind {
                QuantifierKind::Forall => !decided,
                _ => decided,
            });
            found.sort_unstable();
            outcome.found.push(found);
        }
        outcomes
    }

    /// The one traversal.
    fn traverse(&self) -> Vec<Outcome<V::Object>> {
        let Self {
            setting,
            plan,
            ground,
            ..
        } = self;
        let relations = plan.relations.len();
        let mut series = Series::new(setting, relations);
        let decided: Vec<AtomicBool> = self.asked.iter().map(|_| AtomicBool::new(false)).collect();
        let mut found: Vec<Vec<V::Object>> = self.asked.iter().map(|_| Vec::new()).collect();
        let mut overlaps = false;
        let mut ignored = Vec::new();
        let tests = |number| {
            let related = (0..relations).map(|it| it == number).collect();
            self.tests(related, &decided)
        };
        let tests: Vec<_> = (0..=relations).map(tests).collect();
        // Where nothing is tested any more, and no relations are to be told apart, there is nothing
        // to be learned.
        let ends = tests.iter().rposition(|it| !it.tests.is_empty());
        let ends = ends.map_or(0, |last| last + 1);
        let ends = if relations > 1 {
            ends.max(relations)
        } else {
            ends
        };
        for (number, relation) in plan.relations.iter().enumerate().take(ends) {
            let tests = &tests[number];
            let mut excluded = Vec::new();
            for part in &relation.parts {
                excluded.extend(series.exclude(ground, number, part));
                let phase = series.phase(number, setting.starts(ground, part.source.as_ref()));
                let earlier = (series.marks[0], series.marks[number]);
                let visits = &mut series.visits;
                overlaps |= self.phase(visits, &phase, tests, earlier, &excluded, &mut found);
            }
            ignored.append(&mut excluded);
        }
        let tests = &tests[relations];
        let is_decided = !tests.ends.is_empty() && tests.ends.iter().all(|it| it.load(Relaxed));
        if is_decided || ends <= relations {
            return self.outcomes(found, &decided, overlaps);
        }
        // What was ignored may be known to nobody else that is left.
        ignored.extend(setting.starts(ground, None));
        let phase = series.phase(relations, ignored);
        let nothing = (series.marks[0], series.marks[0]);
        self.phase(&mut series.visits, &phase, tests, nothing, &[], &mut found);
        self.outcomes(found, &decided, overlaps)
    }

    /// Runs one phase; answers whether an edge led to an object of an earlier relation.
    fn phase(
        &self,
        visits: &mut V::Visits<'_>,
        phase: &Phase<V::Object>,
        tests: &Tests<'_, V::Fields<'a>>,
        earlier: (Visit, Visit),
        excluded: &[V::Object],
        found: &mut [Vec<V::Object>],
    ) -> bool {
        let view = self.setting.view;
        let threads = self.setting.threads.max(1);
        let watches = earlier.0 != earlier.1;
        match (watches, tests.tests.is_empty()) {
            (false, true) => {
                view.trace(visits, phase, vec![(); threads]);
                false
            }
            (false, false) => self.examine::<false>(visits, phase, tests, earlier, excluded, found),
            (true, _) => self.examine::<true>(visits, phase, tests, earlier, excluded, found),
        }
    }

    fn examine<const OVERLAPS: bool>(
        &self,
        visits: &mut V::Visits<'_>,
        phase: &Phase<V::Object>,
        tests: &Tests<'_, V::Fields<'a>>,
        earlier: (Visit, Visit),
        excluded: &[V::Object],
        found: &mut [Vec<V::Object>],
    ) -> bool {
        let threads = self.setting.threads.max(1);
        let visitors = (0..threads).map(|_| Examine::<OVERLAPS, _> {
            tests,
            fields: tests.ground.fields,
            earlier,
            excluded,
            overlaps: false,
            found: found.iter().map(|_| Vec::new()).collect(),
            entered: Vec::new(),
            count: 0,
            waiting: tests.lists.iter().map(|_| Vec::new()).collect(),
        });
        let (_, visitors) = self.setting.view.trace(visits, phase, visitors.collect());
        let mut overlaps = false;
        for mut visitor in visitors {
            visitor.test_all();
            overlaps |= visitor.overlaps;
            for (all, some) in found.iter_mut().zip(visitor.found) {
                all.extend(some);
            }
        }
        overlaps
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
        let compiler = Compiler::new(self.ground, related);
        let mut tests: Vec<Tested<'t, V::Fields<'a>>> = Vec::new();
        let classes = self.setting.view.classes();
        let mut of_class: Vec<Vec<usize>> = classes.iter().map(|_| Vec::new()).collect();
        for (number, asked) in self.asked.iter().enumerate() {
            let tested = |test| Tested {
                asked: number,
                quantifier: asked.quantifier,
                test,
                decided: &decided[number],
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
            let has = |class: &usize| asked.quantifier.classes.has(classes[*class].id);
            let range: Vec<usize> = (0..classes.len()).filter(has).collect();
            if self.setting.interpret {
                add(
                    Predicate::Test(compiler.interpreted(&asked.decides)),
                    &range,
                );
            } else if asks_class(&asked.decides) {
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
            ground: self.ground,
            by_class,
            tests,
            lists,
            collect: self.collect,
            // Where relations must be told apart, all of them are traced.
            ends: match self.collect || self.plan.relations.len() > 1 {
                true => &[],
                false => decided,
            },
        }
    }

    /// The slow way, for sources that may be dead: relations as sets, then whatever lives.
    fn look_up(&self) -> Vec<Outcome<V::Object>> {
        let Self {
            setting,
            plan,
            ground,
            ..
        } = self;
        let relations = match plan.apart {
            false => setting.entered(ground, &plan.relations),
            true => plan
                .relations
                .iter()
                .map(|relation| {
                    setting
                        .entered(ground, std::slice::from_ref(relation))
                        .remove(0)
                })
                .collect(),
        };
        let relations: Vec<HashSet<V::Object>> = relations
            .into_iter()
            .map(|objects| objects.into_iter().collect())
            .collect();
        let overlaps = relations.len() > 1 && !setting.overlap(plan).is_empty();
        let decided: Vec<AtomicBool> = self.asked.iter().map(|_| AtomicBool::new(false)).collect();
        let mut found: Vec<Vec<V::Object>> = self.asked.iter().map(|_| Vec::new()).collect();
        for object in setting.live(ground) {
            let related: Vec<bool> = relations.iter().map(|it| it.contains(&object)).collect();
            let class = setting.view.class_of(object);
            for (number, asked) in self.asked.iter().enumerate() {
                if asked.quantifier.classes.has(class)
                    && ground.holds(&asked.decides, object, &related)
                    && ground.is_in_range(asked.quantifier, object)
                {
                    decided[number].store(true, Relaxed);
                    if self.collect {
                        found[number].push(object);
                    }
                }
            }
        }
        self.outcomes(found, &decided, overlaps)
    }
}

/// Tests the objects that a phase enters.
struct Examine<'e, const OVERLAPS: bool, F: Fields> {
    tests: &'e Tests<'e, F>,
    fields: F,
    /// The first mark of the series, and that of this phase.
    earlier: (Visit, Visit),
    /// What the relation excludes.
    excluded: &'e [F::Object],
    overlaps: bool,
    found: Vec<Vec<F::Object>>,
    /// Objects that have been entered and not been looked at: the first so many.
    entered: Vec<F::Object>,
    count: usize,
    /// Objects that are to be tested, by class: in the order of [`Tests::lists`].
    waiting: Vec<Vec<F::Object>>,
}

impl<const OVERLAPS: bool, F: Fields> Visitor<F::Object> for Examine<'_, OVERLAPS, F> {
    type Tag = ();
    const MEETS: bool = OVERLAPS;
    const FEW: bool = true;
    const STOPS: bool = true;

    // The loop that marks needs its registers: as little is done here as can be.
    #[inline]
    fn object(&mut self, x: F::Object) {
        match self.entered.get_mut(self.count) {
            Some(place) => {
                *place = x;
                self.count += 1;
            }
            None => self.make_room(x),
        }
    }

    // A class that is newer than the text is not in it.
    fn wants(&self, class: ClassId) -> bool {
        let place = self.tests.by_class.get(class.0 as usize);
        place.is_some_and(|&it| it != 0)
    }

    #[inline]
    fn met(&mut self, to: F::Object, visit: Visit) {
        let (first, own) = self.earlier;
        if (first.0..own.0).contains(&visit.0) && !self.excluded.contains(&to) {
            self.overlaps = true;
        }
    }

    fn is_done(&self) -> bool {
        let ends = self.tests.ends;
        !ends.is_empty() && ends.iter().all(|it| it.load(Relaxed))
    }
}

impl<const OVERLAPS: bool, F: Fields> Examine<'_, OVERLAPS, F> {
    /// Tests all objects that still wait for it.
    fn test_all(&mut self) {
        for place in 0..self.count {
            self.wait(self.entered[place]);
        }
        self.count = 0;
        for place in 0..self.waiting.len() {
            let mut waiting = std::mem::take(&mut self.waiting[place]);
            let asked = waiting.len();
            if asked > 0 {
                waiting.resize(LANES, waiting[0]);
                self.test_some(&waiting, asked);
            }
        }
    }

    /// Tests the objects that have been entered, if there are any, and takes in another.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, x: F::Object) {
        let mut entered = std::mem::take(&mut self.entered);
        if !self.test_some(&entered, LANES) {
            for &x in &entered {
                self.wait(x);
            }
        }
        entered.resize(LANES, x);
        entered[0] = x;
        self.entered = entered;
        self.count = 1;
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

    /// Tests the first so many of objects, if they fill all lanes and are of one class.
    fn test_some(&mut self, objects: &[F::Object], count: usize) -> bool {
        let tests = self.tests;
        let Some(objects) = objects.first_chunk() else {
            return false;
        };
        let Some(batch) = Batch::new(self.fields, objects) else {
            return false;
        };
        let asked = !0 >> (LANES - count);
        let place = tests.by_class[batch.class().0 as usize] as usize - 1;
        for &number in &tests.lists[place] {
            let tested = &tests.tests[number];
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
        let known = !self.tests.collect && tested.decided.load(Relaxed);
        if known || !self.tests.ground.is_in_range(tested.quantifier, x) {
            return;
        }
        tested.decided.store(true, Relaxed);
        if self.tests.collect {
            self.found[tested.asked].push(x);
        }
    }
}
