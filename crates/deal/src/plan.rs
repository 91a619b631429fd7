//! Planning: which rules of a text one traversal decides, and how.
//!
//! The proof of the paper's theorem 1 is the algorithm. Objects that a relation excludes are
//! marked ignored; what its sources reach is traced, with the relation true for all that is
//! entered; the next relation follows; then nothing is ignored any more, and what the roots reach
//! and nobody has entered is traced with all relations false. Each object is entered
//! once, and whatever its quantifiers ask is asked then.
//!
//! Rules share a traversal if they have the same relations, or none. This is what can be said of a
//! text before there is a heap. On a heap, rules of several texts share traversals, too, and what
//! counts is the objects that their relations lead to ([`crate::traverse`]).

use std::fmt::{self, Write};

use crate::expr::{Expression, Matching};
use crate::resolved::{
    Formula, GcAssertion, Host, HostSource, Path, Program, Quantifier, Relation, RelationPart,
    Resolved, Start, Statement, Step,
};
use crate::syntax::{AssertionKind, HostName, QuantifierKind};

/// Rules that one traversal decides.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Their places in [`Resolved::rules`].
    pub rules: Vec<usize>,
    /// The relations that are traced, in this order.
    pub relations: Vec<Relation>,
    /// For a query with several relations, which may overlap: each is found by a traversal
    /// of its own.
    pub apart: bool,
}

/// How all rules of a text are evaluated.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plans {
    /// Assertions and queries: a traversal each.
    pub traversals: Vec<Plan>,
    /// The places of GC assertions in [`Resolved::rules`].
    pub gc: Vec<usize>,
    /// The places of what is evaluated as an expression.
    pub expressions: Vec<usize>,
}

impl Plans {
    /// Plans all rules of a text.
    pub fn new(resolved: &Resolved) -> Self {
        Self::of(resolved, |_| true)
    }

    /// Plans those rules of a text whose places are wanted.
    pub fn of(resolved: &Resolved, is_wanted: impl Fn(usize) -> bool) -> Self {
        let mut plans = Self::default();
        let rules = resolved.rules.iter().enumerate();
        for (place, rule) in rules.filter(|(place, _)| is_wanted(*place)) {
            match &rule.program.statement {
                Statement::Gc(_) => plans.gc.push(place),
                _ if is_traversal(&rule.program) => plans.add(place, &rule.program),
                _ => plans.expressions.push(place),
            }
        }
        plans
    }

    fn add(&mut self, place: usize, program: &Program) {
        let is_query = matches!(program.statement, Statement::Query(_));
        let apart = is_query && program.relations.len() > 1;
        let fits = |plan: &&mut Plan| {
            let same = program.relations.is_empty()
                || plan.relations.is_empty()
                || plan.relations == program.relations;
            same && !apart && !plan.apart
        };
        match self.traversals.iter_mut().find(fits) {
            Some(plan) => {
                plan.rules.push(place);
                if plan.relations.is_empty() {
                    plan.relations.clone_from(&program.relations);
                }
            }
            None => self.traversals.push(Plan {
                rules: vec![place],
                relations: program.relations.clone(),
                apart,
            }),
        }
    }
}

/// Whether one traversal decides a statement.
pub fn is_traversal(program: &Program) -> bool {
    match &program.statement {
        Statement::Assertion(..) => true,
        Statement::Query(_) => program.quantifiers.iter().all(|it| {
            it.parent.is_none() && is_local(&it.body) && it.range.as_ref().is_none_or(is_local)
        }),
        _ => false,
    }
}

/// Whether a formula needs nothing but the object and what its slots refer to.
fn is_local(formula: &Formula) -> bool {
    use crate::resolved::Operand;
    match formula {
        Formula::Not(a) => is_local(a),
        Formula::And(a, b) | Formula::Or(a, b) | Formula::Implies(a, b) | Formula::Iff(a, b) => {
            is_local(a) && is_local(b)
        }
        Formula::Compare(it) => [&it.left, &it.right]
            .iter()
            .all(|side| !matches!(side, Operand::Count(_) | Operand::Size(_))),
        Formula::Quantified(_)
        | Formula::In(..)
        | Formula::SameSet(..)
        | Formula::Dom(..)
        | Formula::Probe(_) => false,
        _ => true,
    }
}

/// Says how a text is evaluated, for people.
pub struct Explain<'a> {
    /// The text it was made of.
    pub text: &'a str,
    /// What it says.
    pub resolved: &'a Resolved,
    /// How that is evaluated.
    pub plans: &'a Plans,
}

impl fmt::Display for Explain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.plans.traversals.len();
        let rules: usize = self.plans.traversals.iter().map(|it| it.rules.len()).sum();
        match (rules, count) {
            (0, _) => {}
            (1, _) => writeln!(f, "one traversal")?,
            (rules, 1) => writeln!(f, "one traversal for {rules} rules")?,
            (rules, count) => writeln!(
                f,
                "{count} traversals for {rules} rules: only rules with the same relations, or without any, share one"
            )?,
        }
        for (number, plan) in self.plans.traversals.iter().enumerate() {
            if count > 1 {
                writeln!(f, "\ntraversal {}", number + 1)?;
            }
            self.plan(f, plan)?;
        }
        let gc = self.plans.gc.iter().map(|&rule| (rule, self.gc(rule)));
        let expressions = self.plans.expressions.iter();
        let expressions = expressions.map(|&rule| (rule, self.expression(rule)));
        let mut others: Vec<(usize, String)> = gc.chain(expressions).collect();
        others.sort_unstable();
        if count > 0 && !others.is_empty() {
            writeln!(f)?;
        }
        for (rule, how) in others {
            match (&self.resolved.rules[rule].name, self.resolved.rules.len()) {
                (None, 1) => writeln!(f, "{how}")?,
                _ => writeln!(f, "{}: {how}", self.rule_name(rule))?,
            }
        }
        Ok(())
    }
}

impl Explain<'_> {
    fn gc(&self, rule: usize) -> String {
        let Statement::Gc(assertion) = &self.resolved.rules[rule].program.statement else {
            return String::new();
        };
        match assertion {
            GcAssertion::Instances(..) => "1 traversal, which counts instances",
            GcAssertion::Volume(..) => "1 traversal, which adds up the bytes of instances",
            GcAssertion::Unshared(..) => "1 traversal, which counts references",
            GcAssertion::Dead(_) => "1 traversal, which looks for what is reachable",
            GcAssertion::OwnedBy(..) => {
                "3 traversals: live owners, what they reach, what they should reach"
            }
        }
        .into()
    }

    fn expression(&self, rule: usize) -> String {
        let rule = &self.resolved.rules[rule];
        let expression = match &rule.program.statement {
            Statement::Query(it) => Some(Expression::found(
                self.resolved,
                rule,
                it.found,
                Matching::Probes,
            )),
            _ => Expression::of(self.resolved, rule, Matching::Probes),
        };
        expression.map_or(String::new(), |it| it.explain().to_string())
    }

    fn plan(&self, f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
        for &rule in &plan.rules {
            let name = self.rule_name(rule);
            if plan.rules.len() > 1 || self.resolved.rules[rule].name.is_some() {
                writeln!(f, "  answers {name}")?;
            }
        }
        if plan.apart {
            return writeln!(
                f,
                "  {} relations that may overlap: a traversal for each, and one of all that lives",
                plan.relations.len()
            );
        }
        let mut step = 0;
        let mut next = |f: &mut fmt::Formatter<'_>, what: &str| {
            step += 1;
            writeln!(f, "  {step}. {what}")
        };
        let mut ignored = Vec::new();
        let mut excludes = false;
        for (number, relation) in plan.relations.iter().enumerate() {
            let name = relation_name(self.text, self.resolved, relation);
            for part in &relation.parts {
                if !part.exclusions.is_empty() {
                    let some: Vec<String> =
                        part.exclusions.iter().map(|path| self.path(path)).collect();
                    next(f, &format!("mark ignored: {}", some.join(", ")))?;
                    ignored.extend(some);
                }
                let from = match &part.source {
                    Some(path) => self.path(path),
                    None => "the roots".into(),
                };
                next(f, &format!("trace from {from}, with reach[{name}] true"))?;
                self.tests(f, plan, Some(number))?;
                if number > 0 && self.is_disjoint(plan) {
                    writeln!(
                        f,
                        "       an edge to an object of an earlier relation fails assertDisjoint"
                    )?;
                }
            }
            if !ignored.is_empty() {
                excludes = true;
                next(
                    f,
                    &format!("nothing is ignored any more: {}", ignored.join(", ")),
                )?;
                ignored.clear();
            }
        }
        // What was ignored may be known to nobody else that is left.
        let starts = match excludes {
            true => "the roots and what was ignored",
            false => "the roots",
        };
        let what = match plan.relations.len() {
            0 => "",
            1 => ", what was not entered, with the relation false",
            _ => ", what was not entered, with all relations false",
        };
        next(f, &format!("trace from {starts}{what}"))?;
        self.tests(f, plan, None)?;
        self.more(f, plan)
    }

    /// When it takes more than the traversal.
    fn more(&self, f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
        let parts = plan.relations.iter().flat_map(|it| &it.parts);
        let paths = parts.flat_map(|it| it.source.iter().chain(&it.exclusions));
        let mut may_be_dead: Vec<String> = Vec::new();
        for path in paths.filter(|it| !self.is_root(it)) {
            let name = self.path(path);
            if !may_be_dead.contains(&name) {
                may_be_dead.push(name);
            }
        }
        if !may_be_dead.is_empty() {
            let names = may_be_dead.join(" or ");
            writeln!(
                f,
                "  if no root refers to {names}: one traversal more, for whether it lives"
            )?;
        }
        // With a query all that decides is collected at once, and of a `forall` always. Of an `exists` that fails there
        // is nothing to collect.
        let programs = || {
            plan.rules
                .iter()
                .map(|&it| &self.resolved.rules[it].program)
        };
        let says_more = |it: &Program| match &it.statement {
            Statement::Assertion(_, Formula::Quantified(_)) => false,
            _ => {
                let mut quantifiers = it.quantifiers.iter();
                quantifiers.any(|it| it.kind == QuantifierKind::Exists)
            }
        };
        let no_query = programs().all(|it| matches!(it.statement, Statement::Assertion(..)));
        if no_query && programs().any(says_more) {
            writeln!(
                f,
                "  if a rule fails for what exists: all once more, to find all of that"
            )?;
        }
        if plan.relations.len() > 1 && self.is_disjoint(plan) {
            writeln!(
                f,
                "  if an object is in two relations: each relation once more, to find all that are"
            )?;
        }
        Ok(())
    }

    /// Whether a path is what a root refers to, whatever the heap is like.
    fn is_root(&self, path: &Path) -> bool {
        let source = match path.start {
            Start::Host(host) => &self.resolved.hosts[host.0 as usize].source,
            _ => return false,
        };
        let is_root = matches!(source, HostSource::Named(HostName::Root { .. }));
        is_root && path.steps.is_empty()
    }

    fn is_disjoint(&self, plan: &Plan) -> bool {
        plan.rules.iter().any(|&rule| {
            let statement = &self.resolved.rules[rule].program.statement;
            matches!(statement, Statement::Assertion(AssertionKind::Disjoint, _))
        })
    }

    /// What is tested of the objects of a phase.
    fn tests(
        &self,
        f: &mut fmt::Formatter<'_>,
        plan: &Plan,
        relation: Option<usize>,
    ) -> fmt::Result {
        let related: Vec<bool> = (0..plan.relations.len())
            .map(|it| Some(it) == relation)
            .collect();
        let mut any = false;
        for &rule in &plan.rules {
            for quantifier in &self.resolved.rules[rule].program.quantifiers {
                let decides = decides(quantifier);
                if fold(&decides, &related) == Some(false) {
                    continue;
                }
                any = true;
                let end = match quantifier.kind {
                    QuantifierKind::Forall => "an object that breaks it decides",
                    QuantifierKind::Exists => "an object that satisfies it decides",
                    _ => "all objects that satisfy it are collected",
                };
                writeln!(f, "       test `{}`: {end}", self.source(quantifier.span))?;
            }
        }
        if !any {
            writeln!(f, "       nothing is tested")?;
        }
        Ok(())
    }

    fn rule_name(&self, rule: usize) -> String {
        match &self.resolved.rules[rule].name {
            Some(name) => format!("`{name}`"),
            None => format!("`{}`", self.source(self.resolved.rules[rule].span)),
        }
    }

    fn source(&self, span: crate::syntax::Span) -> String {
        crate::verdict::source(self.text, span)
    }

    fn path(&self, path: &Path) -> String {
        path_name(self.resolved, path)
    }
}

/// A relation as the text has it, or in our words where the text has none of its own: the
/// papers write `Rd(x)`.
pub(crate) fn relation_name(text: &str, resolved: &Resolved, relation: &Relation) -> String {
    let written = crate::verdict::source(text, relation.span);
    if !written.is_empty() {
        return written;
    }
    let part = |part: &RelationPart| {
        let source = part.source.iter().map(|it| path_name(resolved, it));
        let mut name: String = source.collect();
        if !part.exclusions.is_empty() {
            let some = part.exclusions.iter().map(|it| path_name(resolved, it));
            let _ = write!(name, "/{}", some.collect::<Vec<_>>().join(", "));
        }
        name
    };
    let parts: Vec<String> = relation.parts.iter().map(part).collect();
    parts.join(" || ")
}

fn path_name(resolved: &Resolved, path: &Path) -> String {
    let mut text = match path.start {
        Start::Host(host) => host_name(&resolved.hosts[host.0 as usize]),
        Start::Asker => "current_thread()".into(),
        Start::Variable(_) => "x".into(),
    };
    for step in &path.steps {
        let _ = match step {
            Step::Field(field) => {
                let name = &resolved.fields[field.0 as usize].name;
                write!(text, ".{}", heaphound_heap::spelling::field_name(name))
            }
            Step::Element(index) => write!(text, "[{index}]"),
        };
    }
    text
}

/// How a host is written.
pub fn host_name(host: &Host) -> String {
    match &host.source {
        HostSource::Variable(name) => name.clone(),
        HostSource::Named(name) => crate::fmt::host_name(name),
    }
}

/// What holds of an object that decides a quantifier, or belongs to what it collects.
pub(crate) fn decides(quantifier: &Quantifier) -> Formula {
    let body = quantifier.body.clone();
    let body = match quantifier.kind {
        QuantifierKind::Forall => Formula::Not(Box::new(body)),
        _ => body,
    };
    match &quantifier.range {
        Some(range) => Formula::And(Box::new(range.clone()), Box::new(body)),
        None => body,
    }
}

/// What a formula comes to if only relations are known, and they decide it.
pub(crate) fn fold(formula: &Formula, related: &[bool]) -> Option<bool> {
    let fold = |formula: &Formula| fold(formula, related);
    match formula {
        Formula::Constant(truth) => Some(*truth),
        Formula::Reach(relation, _) => related.get(relation.0 as usize).copied(),
        Formula::Not(a) => Some(!fold(a)?),
        Formula::And(a, b) => match (fold(a), fold(b)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        },
        Formula::Or(a, b) => match (fold(a), fold(b)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        },
        Formula::Implies(a, b) => match (fold(a), fold(b)) {
            (Some(false), _) | (_, Some(true)) => Some(true),
            (Some(true), Some(false)) => Some(false),
            _ => None,
        },
        Formula::Iff(a, b) => Some(fold(a)? == fold(b)?),
        _ => None,
    }
}
