//! Evaluates all that a text says on one view: what a rule file is for.
//!
//! Assertions and queries go through the traversals that they share ([`plan`](crate::plan),
//! [`verdict`](crate::verdict)), GC assertions through [`gc`], everything else through
//! [`expr`]; the results are in the order of the text. Several texts about one view share
//! traversals: [`evaluate_all`].
//!
//! A value that the heap does not have is unlike everything, which can make a rule hold that
//! ought not to. [`Evaluation::note_unknown_values`] finds the rules that read such values (`doubt.rs`).

use std::collections::HashSet;

use heaphound_heap::crew::cores;
use heaphound_heap::fields::Readable;
use heaphound_heap::finding::{Evidence, Finding};
use heaphound_heap::path::{Search, named, shortest};
use heaphound_heap::probe::{ProbeError, Probes};
use heaphound_heap::root::{RootKind, RootSet};
use heaphound_heap::view::HeapView;

use crate::bind::Bindings;
use crate::datum::Datum;
use crate::diagnostic::Diagnostic;
use crate::doubt;
use crate::expr::{self, Expression, Matching, Members, Progress};
use crate::gc;
use crate::interpret::Ground;
use crate::plan::{Plans, decides, host_name};
use crate::resolved::{
    Formula, GcAssertion, HostId, Path, Probe, QuantifierId, Resolved, Rule, Source, Start,
    Statement, Target,
};
use crate::syntax::QuantifierKind;
use crate::traverse::{Setting, Texts};
use crate::verdict::{self, Answer, Judge, Unchecked, Verdict, Ways, finding_of};

/// What a text is evaluated on.
pub struct Evaluation<'a, V: Readable> {
    view: &'a V,
    resolved: &'a Resolved,
    text: &'a str,
    hosts: Vec<Option<V::Object>>,
    bindings: &'a Bindings<V::Object>,
    asker: Option<String>,
    /// In the order of the text's labels, and whether somebody gave them.
    labelled: Vec<Vec<V::Object>>,
    is_given: Vec<bool>,
    threads: usize,
    unknown: bool,
    interpret: bool,
    sources_live: Option<bool>,
    witnesses: bool,
    progress: Option<Progress<'a>>,
}

/// How many objects quantifiers look at to show what decides them: about a second's work.
const MOST_LOOKS: u64 = 20_000_000;

/// What came of a rule or a statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged<O> {
    /// What came of it.
    pub verdict: Verdict<O>,
    /// What else one should know.
    pub notes: Vec<String>,
    /// Whether the verdict hangs on a value that the heap does not have, as far as somebody asked
    /// ([`Evaluation::note_unknown_values`]).
    pub is_doubtful: bool,
}

impl<'a, V: Readable> Evaluation<'a, V> {
    /// A text that was resolved, and what its hosts are on a view. Nobody asks, nothing is known
    /// of labels, and as many threads trace as there are cores.
    pub fn new(
        view: &'a V,
        resolved: &'a Resolved,
        text: &'a str,
        bindings: &'a Bindings<V::Object>,
    ) -> Self {
        let hosts = (0..resolved.hosts.len()).map(|it| bindings.get(HostId(it as u32)));
        Self {
            view,
            resolved,
            text,
            hosts: hosts.collect(),
            bindings,
            asker: None,
            labelled: vec![Vec::new(); resolved.labels.len()],
            is_given: vec![false; resolved.labels.len()],
            threads: cores().min(16),
            unknown: false,
            interpret: false,
            sources_live: None,
            witnesses: false,
            progress: None,
        }
    }

    /// Returns how many objects the quantifiers of its expressions look at, at most, on a heap of these
    /// objects ([`Expression::looks`]). They are listed only if there are expressions.
    pub fn looks(&self, objects: impl FnOnce() -> Vec<V::Object>) -> u64 {
        let plans = Plans::new(self.resolved);
        if plans.expressions.is_empty() {
            return 0;
        }
        let objects = objects();
        let rules = plans.expressions.iter().map(|it| &self.resolved.rules[*it]);
        let expressions = rules.filter_map(|rule| self.expression_of(rule));
        let looks = expressions.map(|it| it.looks(self.view, &objects));
        looks.fold(0, u64::saturating_add)
    }

    /// Says how far each expression is.
    #[must_use]
    pub fn watched(mut self, progress: Progress<'a>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// With a thread that asks: the one with which the hosts were bound.
    ///
    /// # Errors
    /// If the heap has no such thread.
    pub fn ask_as(mut self, thread: &str) -> Result<Self, ProbeError> {
        match self.view.threads().iter().any(|it| it == thread) {
            true => self.asker = Some(thread.into()),
            false => return Err(ProbeError::UnknownThread(thread.into())),
        }
        Ok(self)
    }

    /// How many threads trace.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.clamp(1, 256);
        self
    }

    /// With the objects that have a label. A rule about a label that was not given is not checked.
    #[must_use]
    pub fn label(mut self, label: &str, mut objects: Vec<V::Object>) -> Self {
        objects.sort_unstable();
        let labels = self.resolved.labels.iter();
        if let Some(place) = labels.into_iter().position(|it| it == label) {
            self.labelled[place] = objects;
            self.is_given[place] = true;
        }
        self
    }

    /// Says in notes which rules read values that the heap does not have, and of which the verdict hangs on one
    /// ([`Judged::is_doubtful`]). Takes a walk over all live objects more.
    #[must_use]
    pub fn note_unknown_values(mut self) -> Self {
        self.unknown = true;
        self
    }

    /// Says in notes which object makes a rule hold that needs one: the witness of an `exists`.
    /// Takes what rules take that fail.
    #[must_use]
    pub fn show_witnesses(mut self) -> Self {
        self.witnesses = true;
        self
    }

    /// For who knows whether all sources and exclusions of relations live: else the heap is asked.
    #[must_use]
    pub fn sources_live(mut self, live: bool) -> Self {
        self.sources_live = Some(live);
        self
    }

    /// Interprets formulas instead of compiling them: the slow twin, for comparison.
    #[must_use]
    pub fn interpreted(mut self, interpret: bool) -> Self {
        self.interpret = interpret;
        self
    }

    /// Evaluates all rules and statements: what came of each, in the order of the text.
    pub fn run(&self) -> Vec<Judged<V::Object>> {
        evaluate_all(std::slice::from_ref(self)).judged.remove(0)
    }

    /// Evaluates what is not decided by a traversal, and adds what else one should know.
    fn complete(
        &self,
        setting: &Setting<'_, V>,
        plans: &Plans,
        mut all: Vec<Option<Judged<V::Object>>>,
    ) -> Vec<Judged<V::Object>> {
        let rules = &self.resolved.rules;
        let gc_rules: Vec<&Rule> = plans.gc.iter().map(|&place| &rules[place]).collect();
        let verdicts = gc::judge(setting, &gc_rules, self.text);
        for (&place, verdict) in plans.gc.iter().zip(verdicts) {
            let notes = self.gone(&rules[place]).into_iter().collect();
            all[place] = Some(Judged {
                verdict,
                notes,
                is_doubtful: false,
            });
        }
        if !plans.expressions.is_empty() {
            let mut probes = Probes::of(self.view).threads(self.threads);
            if let Some(asker) = &self.asker {
                probes = probes.ask_as(asker).expect("the heap has that thread");
            }
            for &place in &plans.expressions {
                all[place] = Some(self.expression(setting, &probes, &rules[place]));
            }
        }
        let all = all.into_iter();
        let mut all: Vec<Judged<V::Object>> =
            all.map(|it| it.expect("each rule has one plan")).collect();
        if self.unknown {
            let rules = plans.traversals.iter().flat_map(|plan| &plan.rules);
            for missing in doubt::missing(setting, rules.copied(), self.text) {
                let judged = &mut all[missing.rule];
                judged.is_doubtful |=
                    missing.decides && !matches!(judged.verdict, Verdict::Found(_));
                judged.notes.push(missing.message);
            }
        }
        all
    }

    /// Says that the heap has nothing of the name that is asserted dead: it may be misspelt.
    fn gone(&self, rule: &Rule) -> Option<String> {
        let Statement::Gc(GcAssertion::Dead(Target::Object(path))) = &rule.program.statement else {
            return None;
        };
        let Start::Host(id) = path.start else {
            return None;
        };
        let missing = self.bindings.missing(id)?;
        let name = host_name(&self.resolved.hosts[id.0 as usize]);
        let hint = in_brackets(&missing.diagnostic);
        Some(format!("there is no `{name}` in the heap{hint}"))
    }

    /// Why a rule cannot be checked: it speaks of a class, a label or an object that the heap does
    /// not know, or of null. That an object is dead can be said of one that is not there.
    fn why_not(&self, rule: &Rule, ground: &Ground<'_, V::Fields<'_>>) -> Option<String> {
        let program = &rule.program;
        let with_hint = |it: &Diagnostic| format!("{}{}", it.message, in_brackets(it));
        if let Some(first) = program.unknown.first() {
            return Some(with_hint(first));
        }
        let mut labels = program.labels.iter().map(|it| it.0 as usize);
        if let Some(label) = labels.find(|it| !self.is_given[*it]) {
            let label = &self.resolved.labels[label];
            return Some(format!(
                "it asks for the label `{label}`, and heaps in files have no labels"
            ));
        }
        let asserts_death = match &rule.program.statement {
            Statement::Gc(GcAssertion::Dead(Target::Object(path))) => path.steps.is_empty(),
            _ => false,
        };
        let mut missing = program.hosts.iter().filter_map(|host| {
            let missing = self.bindings.missing(*host)?;
            (!asserts_death || !missing.is_gone).then_some(&missing.diagnostic)
        });
        if let Some(missing) = missing.next() {
            return Some(with_hint(missing));
        }
        let (span, why) = ground.why_not(program)?;
        let message = why.message(|object| self.view.name_of(*object));
        Some(self.reason(&Diagnostic::new(span, message)))
    }

    /// What its rules are evaluated with.
    fn setting(&self) -> Setting<'_, V> {
        Setting {
            view: self.view,
            resolved: self.resolved,
            hosts: &self.hosts,
            labelled: &self.labelled,
            asker: self.bindings.asker(),
            threads: self.threads,
            interpret: self.interpret,
            sources_live: self.sources_live.unwrap_or(false),
        }
    }
}

/// What came of several texts.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluated<O> {
    /// What came of the rules of each text.
    pub judged: Vec<Vec<Judged<O>>>,
    /// How many traversals were made for assertions and queries. Expressions, GC assertions and
    /// what reports show make their own.
    pub traversals: usize,
}

/// Evaluates several texts about one view. Assertions and queries share traversals, whichever
/// text they are from, if their relations start from the same objects and exclude the same ones,
/// or if they have none.
///
/// # Panics
/// If the evaluations are not all about the same view.
pub fn evaluate_all<V: Readable>(evaluations: &[Evaluation<'_, V>]) -> Evaluated<V::Object> {
    let is_same = |it: &Evaluation<'_, V>| std::ptr::eq(it.view, evaluations[0].view);
    assert!(
        evaluations.iter().all(is_same),
        "all texts are about one view"
    );
    let mut settings: Vec<Setting<'_, V>> = evaluations.iter().map(Evaluation::setting).collect();
    let traversals = find_live(evaluations, &mut settings);
    let judged = |verdict| Judged {
        verdict,
        notes: Vec::new(),
        is_doubtful: false,
    };
    let mut all: Vec<Vec<Option<Judged<V::Object>>>> = Vec::new();
    let mut plans = Vec::new();
    for it in evaluations {
        let ground = it.setting().ground();
        let why_not = |rule| {
            Some(judged(Verdict::NotChecked(
                it.why_not(rule, &ground)?.into(),
            )))
        };
        let own: Vec<Option<_>> = it.resolved.rules.iter().map(why_not).collect();
        plans.push(Plans::of(it.resolved, |place| own[place].is_none()));
        all.push(own);
    }
    let texts = Texts::new(&settings);
    let sources: Vec<&str> = evaluations.iter().map(|it| it.text).collect();
    let witnesses = |text: usize| evaluations[text].witnesses;
    let decided: Vec<_> = texts
        .share(&plans)
        .into_iter()
        .map(|traversal| {
            let outcomes = texts.decide(&traversal, witnesses);
            (traversal, outcomes)
        })
        .collect();
    let rules = decided.iter().flat_map(|(traversal, outcomes)| {
        let rules = traversal.rules.iter().copied();
        rules.zip(outcomes)
    });
    let ways = Ways::to_shown(&texts, rules, witnesses);
    for (traversal, outcomes) in decided {
        let verdicts = verdict::judge(&texts, &sources, &traversal, &outcomes, ways.as_ref());
        let rules = traversal.rules.iter().zip(outcomes.iter().zip(verdicts));
        for (&(text, place), (outcome, verdict)) in rules {
            let mut judged = judged(verdict);
            if evaluations[text].witnesses {
                let judge = Judge::new(&settings[text], sources[text]).with_ways(ways.as_ref());
                let rule = &evaluations[text].resolved.rules[place];
                judged.notes = judge.witnesses(rule, outcome);
            }
            all[text][place] = Some(judged);
        }
    }
    let texts_done = evaluations.iter().zip(&settings).zip(&plans).zip(all);
    let judged = texts_done.map(|(((it, setting), plans), all)| it.complete(setting, plans, all));
    Evaluated {
        judged: judged.collect(),
        traversals: traversals + texts.traversals_made(),
    }
}

/// Finds out for which texts all sources and exclusions of relations live: traversals enter both.
/// Most are what a root refers to; only if one is not, the heap is asked. Returns how many
/// traversals that took.
fn find_live<V: Readable>(
    evaluations: &[Evaluation<'_, V>],
    settings: &mut [Setting<'_, V>],
) -> usize {
    let mut sources: Vec<(V::Object, usize)> = Vec::new();
    for (text, setting) in settings.iter_mut().enumerate() {
        if evaluations[text].sources_live.is_some() {
            continue;
        }
        setting.sources_live = true;
        let ground = setting.ground();
        let rules = setting.resolved.rules.iter();
        let relations = rules.flat_map(|it| &it.program.relations);
        let parts = relations.flat_map(|it| &it.parts);
        let paths = parts.flat_map(|it| it.source.iter().chain(&it.exclusions));
        sources.extend(paths.filter_map(|path| match ground.walk(path, None) {
            Datum::Object(object) => Some((object, text)),
            _ => None,
        }));
    }
    if sources.is_empty() {
        return 0;
    }
    let view = settings[0].view;
    let mut rooted = HashSet::new();
    let wanted: HashSet<V::Object> = sources.iter().map(|it| it.0).collect();
    view.for_each_root_target(RootSet::All, |object| {
        if wanted.contains(&object) {
            rooted.insert(object);
        }
    });
    sources.retain(|(object, _)| !rooted.contains(object));
    if sources.is_empty() {
        return 0;
    }
    let threads = settings.iter().map(|it| it.threads).max().unwrap_or(1);
    let live = Probes::of(view).threads(threads).reach_all();
    for (object, text) in sources {
        settings[text].sources_live &= live.contains(object);
    }
    1
}

// Expressions.
impl<V: Readable> Evaluation<'_, V> {
    /// A rule or a query as an expression.
    fn expression_of<'r>(&'r self, rule: &'r Rule) -> Option<Expression<'r>> {
        let matching = Matching::Probes;
        match &rule.program.statement {
            Statement::Query(query) => {
                let found = Expression::found(self.resolved, rule, query.found, matching);
                Some(found)
            }
            _ => Expression::of(self.resolved, rule, matching),
        }
    }

    fn expression(
        &self,
        setting: &Setting<'_, V>,
        probes: &Probes<'_, V>,
        rule: &Rule,
    ) -> Judged<V::Object> {
        let expression = self.expression_of(rule);
        let not_checked = |why: Unchecked| Judged {
            verdict: Verdict::NotChecked(why),
            notes: Vec::new(),
            is_doubtful: false,
        };
        let Some(expression) = expression else {
            return not_checked("it is no expression".into());
        };
        let evaluated = match self.evaluate(&expression, probes) {
            Ok(evaluated) => evaluated,
            Err(wrong) => {
                return not_checked(Unchecked {
                    reason: self.reason(&wrong),
                    nobody_asks: expression.needs_asker() && probes.asker().is_none(),
                });
            }
        };
        let judge = Judge::new(setting, self.text);
        let mut notes = Vec::new();
        let verdict = match (evaluated.answer, &rule.program.statement) {
            (expr::Answer::Truth(true), _) => Verdict::Holds,
            (expr::Answer::Truth(false), statement) => {
                let mut finding = finding_of(rule, self.text);
                if let Statement::Formula(formula) = statement {
                    self.show(&judge, probes, rule, formula, &mut finding);
                }
                Verdict::Fails(Box::new(finding))
            }
            (expr::Answer::Set(set), Statement::Query(query)) => {
                Verdict::Found(judge.query(query, set.as_slice()))
            }
            (expr::Answer::Set(set), _) => {
                let objects: Vec<V::Object> = set.iter().collect();
                notes.extend(without_objects(self.view, &set));
                Verdict::Found(Answer::Objects(objects, set.len()))
            }
            (expr::Answer::Value(value), _) => Verdict::Found(Answer::Value(value)),
        };
        let unknown = evaluated.unknown.map(|span| {
            let place = verdict::source(self.text, span);
            format!("the heap does not have all values of `{place}`")
        });
        notes.extend(unknown);
        if let (Statement::Formula(formula), Verdict::Holds, true) =
            (&rule.program.statement, &verdict, self.witnesses)
        {
            self.witness(&judge, probes, rule, formula, &mut notes);
        }
        let is_truth = !matches!(verdict, Verdict::Found(_));
        Judged {
            verdict,
            notes,
            is_doubtful: evaluated.unknown.is_some() && is_truth,
        }
    }

    /// Says which objects make the outermost quantifiers of an expression true that need one.
    fn witness(
        &self,
        judge: &Judge<'_, '_, V>,
        probes: &Probes<'_, V>,
        rule: &Rule,
        formula: &Formula,
        notes: &mut Vec<String>,
    ) {
        match formula {
            Formula::Not(a) => self.witness(judge, probes, rule, a, notes),
            Formula::And(a, b)
            | Formula::Or(a, b)
            | Formula::Implies(a, b)
            | Formula::Iff(a, b) => {
                self.witness(judge, probes, rule, a, notes);
                self.witness(judge, probes, rule, b, notes);
            }
            Formula::Quantified(id) => {
                let quantifier = &rule.program.quantifiers[id.0 as usize];
                if let Some((found, _)) = self.found(probes, rule, *id) {
                    notes.extend(judge.witness(rule, quantifier, &found));
                }
            }
            _ => {}
        }
    }

    fn evaluate(
        &self,
        expression: &Expression<'_>,
        probes: &Probes<'_, V>,
    ) -> Result<expr::Evaluated<V::Object>, Diagnostic> {
        let has_label = |object, label: &str| self.has_label(object, label);
        let nobody: Progress<'_> = &|_, _| {};
        let progress = self.progress.unwrap_or(nobody);
        expression.evaluate_watched(probes, self.bindings, &has_label, progress)
    }

    fn has_label(&self, object: V::Object, label: &str) -> bool {
        let mut labels = self.resolved.labels.iter().zip(&self.labelled);
        let objects = labels.find(|(name, _)| *name == label);
        objects.is_some_and(|(_, objects)| objects.binary_search(&object).is_ok())
    }

    fn reason(&self, wrong: &Diagnostic) -> String {
        let place = verdict::source(self.text, wrong.span);
        let hint = in_brackets(wrong);
        match place.is_empty() {
            true => format!("{}{hint}", wrong.message),
            false => format!("`{place}`: {}{hint}", wrong.message),
        }
    }

    /// Says why an expression is false: which objects its outermost quantifiers found, and
    /// which path it is about.
    fn show(
        &self,
        judge: &Judge<'_, '_, V>,
        probes: &Probes<'_, V>,
        rule: &Rule,
        formula: &Formula,
        finding: &mut Finding,
    ) {
        match formula {
            Formula::Not(a) => self.show(judge, probes, rule, a, finding),
            Formula::And(a, b)
            | Formula::Or(a, b)
            | Formula::Implies(a, b)
            | Formula::Iff(a, b) => {
                self.show(judge, probes, rule, a, finding);
                self.show(judge, probes, rule, b, finding);
            }
            Formula::Quantified(id) => {
                let quantifier = &rule.program.quantifiers[id.0 as usize];
                let text = verdict::source(self.text, quantifier.span);
                match self.found(probes, rule, *id) {
                    Some((found, false)) if found.is_empty() => {
                        finding.notes.push(format!(
                            "which objects decide `{text}` would take too long to find"
                        ));
                    }
                    Some((found, is_all)) => {
                        judge.describe(finding, quantifier, &found, None);
                        if !is_all {
                            let note = "there may be more: to find all would take too long";
                            finding.notes.push(note.into());
                        }
                    }
                    None => {}
                }
            }
            Formula::Dom(Source::Object(above), below) => {
                self.show_bypass(judge, probes, above, below, finding);
            }
            Formula::Probe(probe) => match &**probe {
                Probe::IsObjectOwned(above, below) => {
                    self.show_bypass(judge, probes, above, below, finding);
                }
                Probe::IsThreadOwned(of, _) => self.show_path(judge, of, finding),
                _ => {}
            },
            Formula::Dom(Source::Set(_), of) | Formula::In(of, _) => {
                self.show_path(judge, of, finding);
            }
            _ => {}
        }
    }

    /// Says why an expression is false, which it is: the objects that its outermost quantifiers found,
    /// and ways to them.
    pub fn why_false(&self, probes: &Probes<'_, V>, rule: &Rule) -> Finding {
        let mut finding = finding_of(rule, self.text);
        if let Statement::Formula(formula) = &rule.program.statement {
            let setting = self.setting();
            let judge = Judge::new(&setting, self.text);
            self.show(&judge, probes, rule, formula, &mut finding);
        }
        finding
    }

    /// The objects that decide a quantifier, and whether these are all.
    fn found(
        &self,
        probes: &Probes<'_, V>,
        rule: &Rule,
        id: QuantifierId,
    ) -> Option<(Vec<V::Object>, bool)> {
        let mut rule = rule.clone();
        let quantifier = &mut rule.program.quantifiers[id.0 as usize];
        quantifier.body = decides(quantifier);
        quantifier.range = None;
        quantifier.kind = QuantifierKind::SetOf;
        let expression = Expression::found(self.resolved, &rule, id, Matching::Probes);
        let has_label = |object, label: &str| self.has_label(object, label);
        let found = expression.find_some(probes, self.bindings, &has_label, MOST_LOOKS);
        found.map(|(set, is_all)| (set.iter().collect(), is_all))
    }

    fn show_bypass(
        &self,
        judge: &Judge<'_, '_, V>,
        probes: &Probes<'_, V>,
        above: &Path,
        below: &Path,
        finding: &mut Finding,
    ) {
        let object = |path: &Path| match judge.ground.walk(path, None) {
            Datum::Object(object) if path.is_host() => Some(object),
            _ => None,
        };
        let (Some(above), Some(below)) = (object(above), object(below)) else {
            return;
        };
        for object in [above, below] {
            finding.objects.push(named(self.view, object));
        }
        let [name, owner] = [below, above].map(|object| named(self.view, object));
        match probes.is_reachable(above, below) {
            true => {
                let trail = probes.bypass(above, below);
                finding.evidence.extend(trail.map(|trail| {
                    Evidence::labelled(
                        format!("a path leads to {name} around {owner}"),
                        trail.describe(self.view),
                    )
                }));
            }
            false => {
                let note = format!("no path leads from {owner} to {name}");
                finding.notes.push(note);
            }
        }
    }

    /// The way to an object that an expression is about.
    fn show_path(&self, judge: &Judge<'_, '_, V>, path: &Path, finding: &mut Finding) {
        let Datum::Object(object) = judge.ground.walk(path, None) else {
            return;
        };
        finding.objects.push(named(self.view, object));
        let mut visits = self.view.visits();
        let trail = shortest(self.view, &mut visits, &Search::everywhere(), object);
        finding.evidence.extend(
            trail.map(|trail| Evidence::labelled("how it is held", trail.describe(self.view))),
        );
    }
}

/// Names the threads of a set that have no thread object of their own.
pub fn without_objects<V: HeapView>(view: &V, set: &Members<V::Object>) -> Option<String> {
    let names = set.threads.iter();
    let names: Vec<&str> = names.map(|&it| view.threads()[it].as_str()).collect();
    let mut share = false;
    view.for_each_root(|root, _| {
        share |= root.kind == RootKind::ThreadObject && names.contains(&root.name.as_str());
    });
    if share {
        let names = names.join(", ");
        return Some(format!(
            "threads {names} count, which have no thread objects of their own"
        ));
    }
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("thread `{one}` counts, which has no thread object")),
        several => {
            let names = several.join(", ");
            Some(format!(
                "threads {names} count, which have no thread objects"
            ))
        }
    }
}

/// The hint of a diagnostic as it follows its message.
fn in_brackets(wrong: &Diagnostic) -> String {
    let hint = wrong.hint.as_ref();
    hint.map_or(String::new(), |hint| format!(" ({hint})"))
}
