//! What is said about rules: whether they hold, why not, and what queries find.
//!
//! A traversal says *that* a rule fails and which objects decide it ([`Outcome`]). What is shown
//! of them is put into the order in which a breadth-first search from the roots meets it, so
//! it is the same at any number of threads.

use std::fmt::{self, Write};

use heaphound_heap::Value;
use heaphound_heap::fields::Readable;
use heaphound_heap::finding::{self, Evidence, Finding, Named};
use heaphound_heap::path::{Origin, Reached, Search, named};
use heaphound_heap::root::RootSet;
use heaphound_heap::spelling::field_name;
use heaphound_heap::view::HeapView;

use crate::datum::Datum;
use crate::fold::folded;
use crate::interpret::Ground;
use crate::plan::relation_name;
use crate::resolved::{
    Formula, Operand, Path, Quantifier, Query, Rule, Select, Start, Statement, Step,
};
use crate::syntax::{AssertionKind, QuantifierKind, Severity, Span};
use crate::traverse::{Outcome, Setting, Sources, Texts, Traversal};

/// Objects that are shown of those that break a rule.
pub(crate) const MOST_SHOWN: usize = 5;

/// Why a rule is not checked whose hosts lead to null.
pub(crate) const NULL: &str = "what stands outside of its quantifiers dereferences null";

/// What came of a rule.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict<O> {
    /// It holds.
    Holds,
    /// It does not.
    Fails(Box<Finding>),
    /// It could not be checked, or answered: why.
    NotChecked(Unchecked),
    /// It is a query, and this is what it found.
    Found(Answer<O>),
}

/// Why a rule could not be checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unchecked {
    /// In words.
    pub reason: String,
    /// Whether it is about the asking thread, and nobody asks.
    pub nobody_asks: bool,
}

impl From<String> for Unchecked {
    fn from(reason: String) -> Self {
        Self {
            reason,
            nobody_asks: false,
        }
    }
}

impl From<&str> for Unchecked {
    fn from(reason: &str) -> Self {
        reason.to_string().into()
    }
}

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// What a query found.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer<O> {
    /// Objects, in order: at most as many as the query's limit; and how many there are.
    Objects(Vec<O>, usize),
    /// The same, and some values of each object, as text.
    Rows(Vec<(O, Vec<String>)>, usize),
    /// A number, or the least or the largest of some values, which may be a string object;
    /// [`Datum::Absent`] if there are none.
    Value(Datum<O>),
}

impl<O: Copy> Answer<O> {
    /// The same with names for objects, to be kept when the heap goes on. A value that is a
    /// string object becomes its text.
    pub fn named<V: HeapView<Object = O>>(self, view: &V) -> Answer<Named> {
        match self {
            Self::Objects(objects, count) => {
                let names = objects.into_iter().map(|it| named(view, it));
                Answer::Objects(names.collect(), count)
            }
            Self::Rows(rows, count) => {
                let rows = rows.into_iter();
                let named = rows.map(|(object, values)| (named(view, object), values));
                Answer::Rows(named.collect(), count)
            }
            Self::Value(datum) => Answer::Value(match datum {
                Datum::Absent => Datum::Absent,
                Datum::Unknown => Datum::Unknown,
                Datum::Null => Datum::Null,
                Datum::Plain(value) => Datum::Plain(value),
                Datum::Whole(value) => Datum::Whole(value),
                Datum::Text(text) => Datum::Text(text),
                Datum::Object(object) => match view.whole_text_of(object) {
                    Some(text) => Datum::Text(text),
                    None => Datum::Object(named(view, object)),
                },
            }),
        }
    }
}

/// The ways to what reports show of several rules, by one search: see [`Reached::nearest`].
pub struct Ways<'v, V: Readable>(Reached<'v, V>);

impl<'v, V: Readable> Ways<'v, V> {
    /// Ways to the nearest of each group of objects.
    fn to(view: &'v V, groups: &[&[V::Object]]) -> Self {
        let mut visits = view.visits();
        let everywhere = Search::everywhere();
        Self(Reached::nearest(
            view,
            &mut visits,
            &everywhere,
            groups,
            MOST_SHOWN,
        ))
    }

    /// Ways to what is shown of the rules that some traversals have decided: of those that fail, and with `witnesses`
    /// also of those that hold. None if nothing is shown.
    pub fn to_shown<'o>(
        texts: &Texts<'_, 'v, V>,
        decided: impl Iterator<Item = ((usize, usize), &'o Outcome<V::Object>)>,
        witnesses: impl Fn(usize) -> bool,
    ) -> Option<Self>
    where
        V::Object: 'o,
    {
        let mut groups: Vec<&[V::Object]> = Vec::new();
        for ((text, place), outcome) in decided {
            let program = &texts.setting(text).resolved.rules[place].program;
            let Statement::Assertion(_, formula) = &program.statement else {
                continue;
            };
            let is_shown = match outcome.holds(program) {
                Some(true) => witnesses(text),
                Some(false) => true,
                None => false,
            };
            if is_shown {
                let mut blamed = Vec::new();
                outcome.blame(formula, &mut blamed);
                groups.extend(blamed.iter().map(|id| &outcome.found[id.0 as usize][..]));
            }
        }
        let any = groups.iter().any(|it| !it.is_empty());
        any.then(|| Self::to(texts.setting(0).view, &groups))
    }
}

/// Judges the rules of a traversal by what was found out about them: one verdict for each.
/// `sources` are what the texts were made of.
pub fn judge<'v, V: Readable>(
    texts: &Texts<'_, 'v, V>,
    sources: &[&str],
    traversal: &Traversal<V::Object>,
    outcomes: &[Outcome<V::Object>],
    ways: Option<&Ways<'v, V>>,
) -> Vec<Verdict<V::Object>> {
    let rules = traversal.rules.iter().zip(outcomes);
    let verdicts = rules.map(|(&(text, place), outcome)| {
        let setting = texts.setting(text);
        // There is nothing to say of a rule that holds, as most do.
        if outcome.holds(&setting.resolved.rules[place].program) == Some(true) {
            return Verdict::Holds;
        }
        let judge = Judge::new(setting, sources[text]).with_ways(ways);
        judge.rule(
            &traversal.relations,
            &setting.resolved.rules[place],
            outcome,
        )
    });
    verdicts.collect()
}

/// Says what came of rules.
pub(crate) struct Judge<'j, 'a, V: Readable> {
    pub(crate) setting: &'j Setting<'a, V>,
    text: &'j str,
    pub(crate) ground: Ground<'a, V::Fields<'a>>,
    /// Ways to what it shows, if they were found before.
    ways: Option<&'j Ways<'a, V>>,
}

impl<'j, 'a, V: Readable> Judge<'j, 'a, V> {
    pub(crate) fn new(setting: &'j Setting<'a, V>, text: &'j str) -> Self {
        Self {
            setting,
            text,
            ground: setting.ground(),
            ways: None,
        }
    }

    /// With the ways to what it will show.
    pub(crate) fn with_ways(mut self, ways: Option<&'j Ways<'a, V>>) -> Self {
        self.ways = ways;
        self
    }

    fn rule(
        &self,
        relations: &[Sources<V::Object>],
        rule: &Rule,
        outcome: &Outcome<V::Object>,
    ) -> Verdict<V::Object> {
        if !outcome.is_defined {
            return Verdict::NotChecked(NULL.into());
        }
        match &rule.program.statement {
            Statement::Query(query) => {
                let found = &outcome.found[query.found.0 as usize];
                Verdict::Found(self.query(query, found))
            }
            Statement::Assertion(kind, formula) => match outcome.holds(&rule.program) {
                Some(true) => Verdict::Holds,
                _ => {
                    let finding = self.failure(relations, rule, *kind, formula, outcome);
                    Verdict::Fails(Box::new(finding))
                }
            },
            _ => Verdict::NotChecked("it is not answered by a traversal".into()),
        }
    }

    fn failure(
        &self,
        relations: &[Sources<V::Object>],
        rule: &Rule,
        kind: AssertionKind,
        formula: &Formula,
        outcome: &Outcome<V::Object>,
    ) -> Finding {
        let mut finding = finding_of(rule, self.text);
        if kind == AssertionKind::Disjoint && outcome.overlaps {
            self.describe_overlap(relations, rule, &outcome.overlap, &mut finding);
            return finding;
        }
        let mut blamed = Vec::new();
        outcome.blame(formula, &mut blamed);
        for id in blamed {
            let quantifier = &rule.program.quantifiers[id.0 as usize];
            let found = &outcome.found[id.0 as usize];
            // What is reached around something is shown by paths around it.
            let around = |it: &&Sources<V::Object>| {
                let mut parts = it.parts.iter();
                parts.all(|part| part.from.is_none() && !part.exclusions.is_empty())
            };
            // A traversal may have a relation for other rules' sake.
            let own = rule.program.relations.len();
            let relation = relations
                .first()
                .filter(|_| own == 1 && relations.len() == 1);
            let relation = relation.filter(around);
            self.describe(&mut finding, quantifier, found, relation);
        }
        finding
    }

    /// Says which objects have decided a quantifier, or that there are none.
    pub(crate) fn describe(
        &self,
        finding: &mut Finding,
        quantifier: &Quantifier,
        found: &[V::Object],
        relation: Option<&Sources<V::Object>>,
    ) {
        let text = source(self.text, quantifier.span);
        if found.is_empty() {
            finding.notes.push(match quantifier.kind {
                QuantifierKind::Forall => format!("no object breaks `{text}`"),
                _ => format!("no object satisfies `{text}`"),
            });
            return;
        }
        let what = match (quantifier.kind, found.len()) {
            (QuantifierKind::Forall, 1) => "1 object breaks".to_string(),
            (QuantifierKind::Forall, count) => format!("{count} objects break"),
            (_, 1) => "1 object satisfies".into(),
            (_, count) => format!("{count} objects satisfy"),
        };
        finding.notes.push(format!("{what} `{text}`"));
        let view = self.setting.view;
        let own;
        let Ways(reached) = match self.ways {
            Some(ways) => ways,
            None => {
                own = Ways::to(view, &[found]);
                &own
            }
        };
        let in_relation = |object| Some(self.way(relation?, &[], Some(object))?.0);
        let mut order: Vec<_> = found
            .iter()
            .map(|&object| (reached.order(object).unwrap_or(u32::MAX), object))
            .collect();
        // The nearest of all: those that the search did not come to are farther away.
        let shown = order.len().min(MOST_SHOWN);
        if shown < order.len() {
            order.select_nth_unstable(shown);
        }
        order[..shown].sort_unstable();
        for &(_, object) in &order[..shown] {
            finding.objects.push(named(view, object));
            if let Some(path) = in_relation(object).or_else(|| reached.path(object)) {
                let shown = self.values(quantifier, object);
                finding.evidence.push(Evidence::labelled(shown, path));
            }
        }
        if found.len() > MOST_SHOWN {
            let more = found.len() - MOST_SHOWN;
            finding.notes.push(format!("{more} more are not shown"));
        }
    }

    /// Says which objects make a rule hold, if it needs some.
    pub(crate) fn witnesses(&self, rule: &Rule, outcome: &Outcome<V::Object>) -> Vec<String> {
        let Statement::Assertion(_, formula) = &rule.program.statement else {
            return Vec::new();
        };
        if outcome.holds(&rule.program) != Some(true) {
            return Vec::new();
        }
        let mut blamed = Vec::new();
        outcome.blame(formula, &mut blamed);
        let blamed = blamed.into_iter().filter_map(|id| {
            let quantifier = &rule.program.quantifiers[id.0 as usize];
            self.witness(rule, quantifier, &outcome.found[id.0 as usize])
        });
        blamed.collect()
    }

    /// Says which object is the first of those that have decided a quantifier; nothing if there
    /// are none.
    pub(crate) fn witness(
        &self,
        rule: &Rule,
        quantifier: &Quantifier,
        found: &[V::Object],
    ) -> Option<String> {
        let mut finding = finding_of(rule, self.text);
        self.describe(&mut finding, quantifier, found, None);
        let Evidence { shows, path } = finding.evidence.first()?;
        Some(format!("{}: {shows}: {path}", finding.notes[0]))
    }

    /// What a quantifier's body reads of an object.
    fn values(&self, quantifier: &Quantifier, object: V::Object) -> String {
        let mut paths = Vec::new();
        collect_paths(&quantifier.body, &mut paths);
        let variable = &quantifier.variable;
        let mut text = format!("{variable} = {}", named(self.setting.view, object));
        let mut shown: Vec<String> = Vec::new();
        for path in paths {
            // What lies on the way to it, too.
            for steps in 1..=path.steps.len() {
                let part = Path {
                    steps: path.steps[..steps].to_vec(),
                    ..path.clone()
                };
                let name = self.path_name(&part, variable);
                if !shown.contains(&name) {
                    let value = self.show(&self.ground.walk(&part, Some(object)));
                    let _ = write!(text, ", {name} = {value}");
                    shown.push(name);
                }
            }
        }
        text
    }

    fn path_name(&self, path: &Path, variable: &str) -> String {
        let mut name = variable.to_string();
        for step in &path.steps {
            let _ = match step {
                Step::Field(field) => {
                    let fields = &self.setting.resolved.fields;
                    write!(name, ".{}", field_name(&fields[field.0 as usize].name))
                }
                Step::Element(index) => write!(name, "[{index}]"),
            };
        }
        name
    }

    /// A value as people read it.
    fn show(&self, datum: &Datum<V::Object>) -> String {
        let view = self.setting.view;
        match datum {
            Datum::Absent => "nothing".into(),
            Datum::Unknown => "unknown".into(),
            Datum::Null => "null".into(),
            Datum::Object(object) => match view.text_of(*object) {
                Some(text) => format!("{text:?}"),
                None => named(view, *object).to_string(),
            },
            Datum::Plain(value) => value.to_string(),
            Datum::Whole(value) => value.to_string(),
            Datum::Text(text) => format!("{text:?}"),
        }
    }

    /// Says which objects are in two relations, with a path of each.
    fn describe_overlap(
        &self,
        relations: &[Sources<V::Object>],
        rule: &Rule,
        both: &[V::Object],
        finding: &mut Finding,
    ) {
        finding.notes.push(match both.len() {
            1 => "1 object is in two relations".into(),
            count => format!("{count} objects are in two relations"),
        });
        let Some(&first) = both.first() else {
            return;
        };
        // The one that the first relation meets first.
        let view = self.setting.view;
        let mut object = first;
        let mut shown = 0;
        for (relation, named_as) in relations.iter().zip(&rule.program.relations) {
            let Some((path, met)) = self.way(relation, both, (shown > 0).then_some(object)) else {
                continue;
            };
            if shown == 0 {
                object = met;
                finding.objects.push(named(view, object));
            }
            let name = relation_name(self.text, self.setting.resolved, named_as);
            let what = format!("reach[{name}]");
            finding.evidence.push(Evidence::labelled(what, path));
            shown += 1;
        }
    }

    /// A way of a relation to one of some objects, or to one in particular.
    fn way(
        &self,
        relation: &Sources<V::Object>,
        objects: &[V::Object],
        one: Option<V::Object>,
    ) -> Option<(heaphound_heap::finding::Path, V::Object)> {
        let view = self.setting.view;
        let mut avoid = Vec::new();
        let targets = match one {
            Some(object) => vec![object],
            None => objects.to_vec(),
        };
        for part in &relation.parts {
            avoid.extend_from_slice(&part.exclusions);
            let from = match &part.from {
                Some(starts) => Origin::Objects(starts),
                None => Origin::Roots(RootSet::All),
            };
            let search = Search {
                from,
                avoid: &avoid,
            };
            let mut visits = view.visits();
            let reached = Reached::new(view, &mut visits, &search, &targets);
            let met = targets
                .iter()
                .filter_map(|&object| Some((reached.order(object)?, object)))
                .min();
            if let Some((_, object)) = met {
                return Some((reached.path(object)?, object));
            }
        }
        None
    }

    pub(crate) fn query(&self, query: &Query, found: &[V::Object]) -> Answer<V::Object> {
        let limit = query.limit.map_or(found.len(), |limit| {
            usize::try_from(limit)
                .unwrap_or(usize::MAX)
                .min(found.len())
        });
        let listed = &found[..limit];
        match &query.select {
            Select::Objects => Answer::Objects(listed.to_vec(), found.len()),
            Select::Values(operands) => {
                let row = |&object: &V::Object| {
                    let values = operands
                        .iter()
                        .map(|operand| self.show(&self.ground.operand(operand, Some(object))));
                    (object, values.collect())
                };
                Answer::Rows(listed.iter().map(row).collect(), found.len())
            }
            Select::Count => Answer::Value(Datum::Plain(Value::Unsigned(found.len() as u64))),
            Select::Fold(fold, operand) => {
                let values = found
                    .iter()
                    .map(|&object| self.ground.operand(operand, Some(object)));
                Answer::Value(folded(&self.ground, *fold, values))
            }
        }
    }
}

/// A finding that a rule of a text does not hold, to be completed.
pub fn finding_of(rule: &Rule, text: &str) -> Finding {
    let what = match (&rule.name, &rule.message) {
        (Some(name), Some(message)) => format!("`{name}` does not hold: {message}"),
        (Some(name), None) => format!("`{name}` does not hold"),
        (None, _) => "the assertion does not hold".into(),
    };
    Finding {
        rule: Some(rule_name(rule, text)),
        ..Finding::new(
            rule.name.clone().unwrap_or_else(|| "assertion".into()),
            match rule.severity {
                Severity::Note => finding::Severity::Note,
                Severity::Warning => finding::Severity::Warning,
                Severity::Error => finding::Severity::Error,
            },
            what,
        )
    }
}

/// What a rule is known by: its name, or what it says.
pub fn rule_name(rule: &Rule, text: &str) -> String {
    let name = rule.name.clone();
    name.unwrap_or_else(|| source(text, rule.span))
}

/// A part of a text, in one line.
pub(crate) fn source(text: &str, span: Span) -> String {
    let part = text.get(span.start..span.end).unwrap_or("…");
    part.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The paths behind the logic variable that a formula reads.
fn collect_paths<'f>(formula: &'f Formula, into: &mut Vec<&'f Path>) {
    let mut add = |path: &'f Path| {
        if matches!(path.start, Start::Variable(_)) && !path.steps.is_empty() {
            into.push(path);
        }
    };
    match formula {
        Formula::Flag(path) | Formula::InstanceOf(path, _) | Formula::Label(path, _) => add(path),
        Formula::Compare(it) => {
            for side in [&it.left, &it.right] {
                if let Operand::Path(path) = side {
                    add(path);
                }
            }
        }
        Formula::Not(a) => collect_paths(a, into),
        Formula::And(a, b) | Formula::Or(a, b) | Formula::Implies(a, b) | Formula::Iff(a, b) => {
            collect_paths(a, into);
            collect_paths(b, into);
        }
        _ => {}
    }
}
