//! Values that the heap does not have, and the verdicts that hang on them.
//!
//! A value that is not known is unlike everything ([`datum`](crate::datum)), so that a rule which reads one may hold or fail for that
//! reason alone. A verdict stands all the same if objects whose values are known decide it: one that breaks a `forall`, one
//! that is what an `exists` asks for.

use std::collections::HashMap;
use std::ops::ControlFlow;

use heaphound_heap::class::Elements;
use heaphound_heap::fields::{Fields, Readable};
use heaphound_heap::path::{Reached, Search};
use heaphound_heap::root::RootSet;
use heaphound_heap::trace::{self, Examiner, Starts};
use heaphound_heap::{ClassId, FieldKind};

use crate::datum::Datum;
use crate::interpret::Ground;
use crate::resolved::{
    Compare, CompareBy, FieldPlace, Formula, Operand, Path, Quantifier, QuantifierId, Rule, Select,
    Start, Statement, Step,
};
use crate::syntax::QuantifierKind;
use crate::traverse::Setting;
use crate::verdict;

/// A value that a rule reads and the heap does not have.
pub struct Missing {
    /// The place of the rule in its text.
    pub rule: usize,
    /// Says which value it is, and of which objects.
    pub message: String,
    /// Whether the rule's verdict hangs on it.
    pub decides: bool,
}

/// Finds what the rules of these places read and the heap does not have. Takes a walk over all live objects, unless the heap
/// knows whatever they read.
pub fn missing<V: Readable>(
    setting: &Setting<'_, V>,
    rules: impl Iterator<Item = usize>,
    text: &str,
) -> Vec<Missing> {
    let mut asked = Vec::new();
    for place in rules {
        let rule = &setting.resolved.rules[place];
        let reads = reads_of(setting, rule);
        if reads.iter().any(|it| !it.is_empty()) {
            let quantifiers = rule.program.quantifiers.iter().zip(reads);
            asked.extend(quantifiers.map(|(quantifier, reads)| Asked {
                rule: place,
                quantifier,
                reads,
                is_plain: is_plain(&quantifier.body)
                    && quantifier.range.as_ref().is_none_or(is_plain),
            }));
        }
    }
    if asked.is_empty() {
        return Vec::new();
    }
    let ground = setting.ground();
    let answers = walk(setting, &ground, &asked);
    let mut by_rule: HashMap<usize, Vec<&Answer<V::Object>>> = HashMap::new();
    for (asked, answer) in asked.iter().zip(&answers) {
        by_rule.entry(asked.rule).or_default().push(answer);
    }
    let mut all = Vec::new();
    for (asked, answer) in asked.iter().zip(&answers) {
        for (read, unknown) in asked.reads.iter().zip(&answer.unknown) {
            let Some(first) = first_met(setting.view, unknown) else {
                continue;
            };
            let of = match (read.path.start, unknown.len()) {
                (Start::Variable(_), 1) => format!(" of {}", setting.view.name_of(first)),
                (Start::Variable(_), count) => {
                    let first = setting.view.name_of(first);
                    format!(" of {count} objects, {first} among them")
                }
                _ => String::new(),
            };
            let what = verdict::source(text, read.path.span);
            let rule = &setting.resolved.rules[asked.rule];
            all.push(Missing {
                rule: asked.rule,
                message: format!("the heap does not have `{what}`{of}"),
                decides: match &rule.program.statement {
                    Statement::Assertion(_, formula) => {
                        truth(rule, formula, &by_rule[&asked.rule]).is_none()
                    }
                    _ => true,
                },
            });
        }
    }
    all
}

/// A quantifier of a rule that reads what may not be known.
struct Asked<'r> {
    rule: usize,
    quantifier: &'r Quantifier,
    /// What may not be known.
    reads: Vec<Read<'r>>,
    /// Whether one object says whether it decides.
    is_plain: bool,
}

/// A path that a quantifier reads.
#[derive(Clone, Copy)]
struct Read<'r> {
    path: &'r Path,
    /// Whether the text of an object is wanted.
    is_text: bool,
    /// The comparison that reads it.
    compare: Option<&'r Compare>,
}

/// What was found of a quantifier.
struct Answer<O> {
    /// For each read, the objects of which it is not known.
    unknown: Vec<Vec<O>>,
    /// Whether an object of which all is known decides it.
    is_decided: bool,
    /// Whether that could be found out.
    is_plain: bool,
}

/// What each quantifier of a rule reads that may not be known.
fn reads_of<'r, V: Readable>(setting: &Setting<'_, V>, rule: &'r Rule) -> Vec<Vec<Read<'r>>> {
    let program = &rule.program;
    let read = |path, is_text| Read {
        path,
        is_text,
        compare: None,
    };
    // A string without an array has no text, which is all that there is to know.
    let lacks_values = !setting.view.knows_all_values();
    let numbers = setting.view.fields().nulls_may_be_numbers();
    let of = |quantifier: &'r Quantifier| {
        let mut all = Vec::new();
        read_by(&quantifier.body, &mut all);
        if let Some(range) = &quantifier.range {
            read_by(range, &mut all);
        }
        if let Statement::Query(query) = &program.statement {
            match &query.select {
                Select::Values(operands) => {
                    let paths = operands.iter().filter_map(path_of);
                    all.extend(paths.map(|it| read(it, false)));
                }
                Select::Fold(_, operand) => all.extend(path_of(operand).map(|it| read(it, true))),
                Select::Objects | Select::Count => {}
            }
        }
        let mut some: Vec<Read<'r>> = Vec::new();
        for read in all {
            let is_same = |it: &Read<'r>| {
                (it.path.start, &it.path.steps) == (read.path.start, &read.path.steps)
                    && (!numbers || it.compare == read.compare)
            };
            let may_be_number = numbers && read.compare.is_some();
            if !some.iter().any(is_same)
                && (read.is_text && lacks_values
                    || may_be_number
                    || can_be_unknown(setting, read.path))
            {
                some.push(read);
            }
        }
        some
    };
    program.quantifiers.iter().map(of).collect()
}

/// The paths whose values a formula wants.
fn read_by<'f>(formula: &'f Formula, into: &mut Vec<Read<'f>>) {
    match formula {
        Formula::Flag(path) => into.push(Read {
            path,
            is_text: false,
            compare: None,
        }),
        Formula::Compare(it) => {
            let is_text = matches!(it.by, CompareBy::Text | CompareBy::Found);
            for path in [&it.left, &it.right].into_iter().filter_map(path_of) {
                into.push(Read {
                    path,
                    is_text,
                    compare: Some(it),
                });
            }
        }
        Formula::Not(a) => read_by(a, into),
        Formula::And(a, b) | Formula::Or(a, b) | Formula::Implies(a, b) | Formula::Iff(a, b) => {
            read_by(a, into);
            read_by(b, into);
        }
        _ => {}
    }
}

fn path_of(operand: &Operand) -> Option<&Path> {
    match operand {
        Operand::Path(path) => Some(path),
        _ => None,
    }
}

/// Whether a path can lead to something that is not known: its last step takes plain data.
fn can_be_unknown<V: Readable>(setting: &Setting<'_, V>, path: &Path) -> bool {
    let view = setting.view;
    match path.steps.last() {
        None => false,
        Some(Step::Element(_)) => !view.knows_all_values(),
        Some(Step::Field(field)) => {
            let places = &setting.resolved.fields[field.0 as usize].places;
            let mut places = places.iter().zip(view.classes());
            places.any(|(place, class)| match place {
                Some(FieldPlace::Field(at)) => match class.fields[*at as usize].kind {
                    FieldKind::Plain(_) => !view.knows_all_values(),
                    kind => !kind.is_slot(),
                },
                Some(FieldPlace::Length) => !view.knows_all_values(),
                None => false,
            })
        }
    }
}

/// Whether the object alone says if a formula holds of it.
fn is_plain(formula: &Formula) -> bool {
    match formula {
        Formula::Constant(_)
        | Formula::Flag(_)
        | Formula::Compare(_)
        | Formula::InstanceOf(..)
        | Formula::Label(..) => true,
        Formula::Not(a) => is_plain(a),
        Formula::And(a, b) | Formula::Or(a, b) | Formula::Implies(a, b) | Formula::Iff(a, b) => {
            is_plain(a) && is_plain(b)
        }
        _ => false,
    }
}

/// Looks at all live objects.
fn walk<'r, V: Readable>(
    setting: &Setting<'_, V>,
    ground: &Ground<'_, V::Fields<'_>>,
    asked: &[Asked<'r>],
) -> Vec<Answer<V::Object>> {
    let plan = trace::Plan {
        steps: vec![trace::Step {
            mark: 0,
            exclude: Vec::new(),
            starts: Starts::Roots(RootSet::All),
        }],
    };
    let empty = |it: &Asked<'r>| Answer {
        unknown: vec![Vec::new(); it.reads.len()],
        is_decided: false,
        is_plain: it.is_plain,
    };
    let examiner = |_| Doubts {
        ground,
        asked,
        answers: asked.iter().map(empty).collect(),
    };
    let mut answers: Vec<Answer<V::Object>> = asked.iter().map(empty).collect();
    let visits = &mut setting.view.visits();
    trace::run(
        setting.view,
        visits,
        &plan,
        setting.threads,
        examiner,
        |_, all| {
            for answer in all.into_iter().map(|it| it.answers) {
                for (all, more) in answers.iter_mut().zip(answer) {
                    all.is_decided |= more.is_decided;
                    for (all, more) in all.unknown.iter_mut().zip(more.unknown) {
                        all.extend(more);
                    }
                }
            }
            ControlFlow::Continue(())
        },
    );
    answers
}

/// Finds the objects of which a read value is not known, and those that decide all the same.
struct Doubts<'e, 'r, F: Fields> {
    ground: &'e Ground<'e, F>,
    asked: &'e [Asked<'r>],
    answers: Vec<Answer<F::Object>>,
}

impl<F: Fields> Examiner<F::Object> for Doubts<'_, '_, F> {
    fn wants(&self, class: ClassId) -> bool {
        self.asked
            .iter()
            .any(|it| it.quantifier.classes.contains(class))
    }

    fn examine(&mut self, objects: &[F::Object]) {
        let ground = self.ground;
        for (asked, answer) in self.asked.iter().zip(&mut self.answers) {
            let quantifier = asked.quantifier;
            for &object in objects {
                let class = ground.fields.class_of(object);
                if !quantifier.classes.contains(class) || !ground.is_in_range(quantifier, object) {
                    continue;
                }
                let mut is_known = true;
                for (read, unknown) in asked.reads.iter().zip(&mut answer.unknown) {
                    if is_unknown(ground, read, object) {
                        unknown.push(object);
                        is_known = false;
                    }
                }
                if is_known && asked.is_plain && !answer.is_decided {
                    let holds = |formula: &Formula| ground.holds(formula, object, &[]);
                    let decides = quantifier.kind == QuantifierKind::Exists;
                    answer.is_decided = quantifier.range.as_ref().is_none_or(holds)
                        && holds(&quantifier.body) == decides;
                }
            }
        }
    }
}

/// Whether what is read of an object is not known.
fn is_unknown<F: Fields>(ground: &Ground<'_, F>, read: &Read<'_>, object: F::Object) -> bool {
    match ground.walk(read.path, Some(object)) {
        Datum::Unknown => true,
        Datum::Object(text) if read.is_text => {
            let class = ground.fields.class_of(text).0 as usize - 1;
            ground.classes[class].elements == Some(Elements::Text)
                && ground.fields.text_of(text).is_none()
        }
        Datum::Null => read.compare.is_some_and(|it| {
            let operand = |of: &Operand| ground.operand(of, Some(object));
            ground.may_be_number(it, &operand(&it.left), &operand(&it.right))
        }),
        _ => false,
    }
}

/// Whether an assertion holds whatever the values are that the heap does not have. None if nobody knows.
fn truth<O>(rule: &Rule, formula: &Formula, answers: &[&Answer<O>]) -> Option<bool> {
    let truth = |formula: &Formula| truth(rule, formula, answers);
    match formula {
        Formula::Constant(it) => Some(*it),
        Formula::Not(a) => truth(a).map(|it| !it),
        Formula::And(a, b) => joined(truth(a), truth(b), false),
        Formula::Or(a, b) => joined(truth(a), truth(b), true),
        Formula::Implies(a, b) => joined(truth(a).map(|it| !it), truth(b), true),
        Formula::Iff(a, b) => Some(truth(a)? == truth(b)?),
        Formula::Quantified(QuantifierId(id)) => {
            let answer = answers[*id as usize];
            let kind = rule.program.quantifiers[*id as usize].kind;
            let (decided, else_) = match kind {
                QuantifierKind::Exists => (true, false),
                QuantifierKind::Forall => (false, true),
                _ => return None,
            };
            let is_known = answer.is_plain && answer.unknown.iter().all(Vec::is_empty);
            match answer.is_decided {
                true => Some(decided),
                false => is_known.then_some(else_),
            }
        }
        _ => None,
    }
}

/// What two make if one that is `decides` is enough.
fn joined(a: Option<bool>, b: Option<bool>, decides: bool) -> Option<bool> {
    match (a, b) {
        (Some(it), _) | (_, Some(it)) if it == decides => Some(it),
        (Some(_), Some(_)) => Some(!decides),
        _ => None,
    }
}

/// Which of some objects a breadth-first search from the roots meets first.
fn first_met<V: Readable>(view: &V, objects: &[V::Object]) -> Option<V::Object> {
    if objects.is_empty() {
        return None;
    }
    let reached = Reached::new(view, &mut view.visits(), &Search::everywhere(), objects);
    let order = |it: &&V::Object| reached.order(**it).unwrap_or(u32::MAX);
    objects.iter().min_by_key(order).copied()
}
