//! What an evaluation comes to: which probes it runs as, and how many traversals it takes.
//!
//! Elsewhere: how many objects it looks at on a heap (`looks.rs`).

use std::collections::HashSet;
use std::fmt;

use super::tree::{Above, Depends, From, Loop, Number, SetKind, SetNode, Truth, of_path};
use super::{Expression, Root};
use crate::resolved::{Program, QuantifierId};

/// What an evaluation comes to, at most: it ends as soon as the answer is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explanation {
    /// The one probe that the whole expression is.
    pub probe: Option<&'static str>,
    /// The probes that parts of it are, in the order of the text.
    pub probes: Vec<&'static str>,
    /// How many traversals, and how often.
    pub traversals: Vec<(usize, Times)>,
    /// Loops in loops: each object of the last variable is looked at for each combination of the
    /// objects of those before.
    pub loops: Vec<Vec<String>>,
    /// The variables of quantifiers inside others of which an index tells the few objects that
    /// matter.
    pub indexed: Vec<String>,
}

/// How often something is done.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Times {
    /// Once.
    Once,
    /// Once for each running thread.
    EachThread,
    /// Once for each object that these quantifiers find, or each combination of them: `Node x`.
    EachOf(Vec<String>),
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.probe, self.probes.as_slice()) {
            (Some(probe), _) => write!(f, "runs as the probe {probe}: ")?,
            (None, []) => f.write_str("evaluated as it is written: ")?,
            (None, [probe]) => write!(f, "evaluated with the probe {probe}: ")?,
            (None, probes) => write!(f, "evaluated with the probes {}: ", probes.join(", "))?,
        }
        if self.traversals.is_empty() {
            f.write_str("no traversal")?;
        }
        for (nth, (count, times)) in self.traversals.iter().enumerate() {
            if nth > 0 {
                f.write_str(", ")?;
            }
            let s = if *count == 1 { "" } else { "s" };
            match times {
                Times::Once => write!(f, "{count} traversal{s}")?,
                Times::EachThread => write!(f, "{count} for each running thread")?,
                Times::EachOf(of) => write!(f, "{count} for each {}", of.join(" and each "))?,
            }
        }
        for variables in &self.loops {
            let (own, outer) = variables.split_last().expect("a loop has a variable");
            let outer: Vec<String> = outer.iter().map(|it| format!("`{it}`")).collect();
            let outer = outer.join(" and each of ");
            write!(f, "; a look at each object of `{own}` for each of {outer}")?;
        }
        for variable in &self.indexed {
            write!(f, "; an index finds the objects of `{variable}`")?;
        }
        Ok(())
    }
}

impl Expression<'_> {
    /// What an evaluation comes to.
    pub fn explain(&self) -> Explanation {
        let mut counter = Counter::of(self.program);
        counter.root(&self.root);
        let probe = match &self.root {
            Root::Truth(truth) => whole(truth),
            Root::Value(Number::Size(set)) => whole_set(set),
            Root::Set(set) => whole_set(set),
            Root::Value(_) => None,
        };
        let mut traversals: Vec<(usize, Times)> = Vec::new();
        for (count, times) in counter.traversals {
            match traversals.iter_mut().find(|(_, it)| *it == times) {
                Some((sum, _)) => *sum += count,
                None => traversals.push((count, times)),
            }
        }
        traversals.sort_by(|(_, a), (_, b)| a.cmp(b));
        let name = |id: &QuantifierId| {
            let quantifier = &self.program.quantifiers[id.0 as usize];
            quantifier.variable.clone()
        };
        let loops = counter.nested.iter();
        let mut loops: Vec<Vec<String>> = loops.map(|it| it.iter().map(name).collect()).collect();
        let mut seen = HashSet::new();
        loops.retain(|it| seen.insert(it.clone()));
        let mut indexed: Vec<String> = counter.indexed.iter().map(name).collect();
        indexed.dedup();
        Explanation {
            probe,
            probes: counter.probes,
            traversals,
            loops,
            indexed,
        }
    }
}

/// The probe that a formula is, perhaps negated.
fn whole(truth: &Truth<'_>) -> Option<&'static str> {
    match truth {
        Truth::Not(of) => whole(of),
        Truth::Probe(asked) => Some(asked.probe.name().0),
        _ => None,
    }
}

fn whole_set(set: &SetNode<'_>) -> Option<&'static str> {
    match &set.kind {
        SetKind::ThreadReach(question) => Some(match question.part {
            heaphound_heap::root::Part::Both => "thread_reach",
            heaphound_heap::root::Part::Stack => "thread_stack_reach",
            heaphound_heap::root::Part::Object => "thread_object_reach",
        }),
        _ => None,
    }
}

/// Counts what parts of an expression take.
pub(super) struct Counter<'t, 'p> {
    program: &'p Program,
    /// What is done once and kept.
    seen: HashSet<Once>,
    probes: Vec<&'static str>,
    traversals: Vec<(usize, Times)>,
    /// Quantifiers that depend on others, behind those, of which all objects are looked at.
    nested: Vec<Depends>,
    /// Those of which few are.
    indexed: Vec<QuantifierId>,
    /// All quantifiers.
    pub all: Vec<&'t Loop<'p>>,
}

#[derive(PartialEq, Eq, Hash)]
enum Once {
    Live,
    Pointing,
    Referred,
    Slot(usize),
}

impl<'t, 'p> Counter<'t, 'p> {
    pub fn of(program: &'p Program) -> Self {
        Self {
            program,
            seen: HashSet::new(),
            probes: Vec::new(),
            traversals: Vec::new(),
            nested: Vec::new(),
            indexed: Vec::new(),
            all: Vec::new(),
        }
    }

    pub fn root(&mut self, root: &'t Root<'p>) {
        match root {
            Root::Truth(truth) => self.truth(truth),
            Root::Value(number) => self.number(number),
            Root::Set(set) => self.set(set),
        }
    }

    fn truth(&mut self, truth: &'t Truth<'p>) {
        match truth {
            Truth::Constant(_) | Truth::Flag(_) => {}
            Truth::InstanceOf(..) | Truth::Label(..) => {}
            Truth::Not(of) => self.truth(of),
            Truth::And(a, b) | Truth::Or(a, b) | Truth::Iff(a, b) => {
                self.truth(a);
                self.truth(b);
            }
            Truth::Compare(_, a, b) => {
                self.number(a);
                self.number(b);
            }
            Truth::AtLeast(set, _) => self.set(set),
            Truth::Unique(_) => {
                if self.seen.insert(Once::Referred) {
                    self.add(1, &[]);
                }
            }
            Truth::Relation(relation, _, slot) => {
                let parts = self.program.relations[relation.0 as usize].parts.len();
                self.kept(*slot, parts, &[]);
            }
            Truth::Kept(of, ..) => self.truth(of),
            Truth::Loop(own) => self.looped(own),
            Truth::In(member) => self.set(&member.set),
            Truth::Same(a, b) => {
                self.set(a);
                self.set(b);
            }
            Truth::Dom(dom) => {
                if let Above::Objects(set) = &dom.above {
                    self.set(set);
                }
                match dom.once {
                    true => self.add(2, &dom.depends),
                    false => dom
                        .slots
                        .iter()
                        .for_each(|it| self.kept(*it, 1, &dom.depends)),
                }
            }
            Truth::Probe(asked) => {
                let (name, count) = asked.probe.name();
                self.probes.push(name);
                asked.meaning.iter().for_each(|it| self.meant(it));
                asked.cut.iter().for_each(|it| self.set(it));
                self.add(count, &asked.depends);
            }
        }
    }

    fn number(&mut self, number: &'t Number<'p>) {
        match number {
            Number::Constant(_) | Number::Path(_) => {}
            Number::Count(own) => self.looped(own),
            Number::Size(set) => self.set(set),
            Number::Fold(own, _, of) => {
                self.looped(own);
                self.number(of);
            }
        }
    }

    fn set(&mut self, set: &'t SetNode<'p>) {
        match &set.kind {
            SetKind::Running | SetKind::ThreadRoots(..) | SetKind::Literal(_) => {}
            SetKind::ReachAll => self.live(),
            SetKind::Reach(from, avoid) => {
                if let From::Set(from) = from {
                    self.set(from);
                }
                avoid.iter().for_each(|it| self.set(it));
                self.kept(set.slot, 1, &set.depends);
            }
            SetKind::Pred(path) if path.is_host() => self.kept(set.slot, 1, &[]),
            SetKind::Pred(_) => {
                self.live();
                if self.seen.insert(Once::Pointing) {
                    self.add(1, &[]);
                }
            }
            SetKind::ThreadReach(question) => {
                self.probes.extend(whole_set(set));
                question.avoid.iter().for_each(|it| self.set(it));
                let depends = question.avoid.as_ref().map_or(&[][..], |it| &it.depends);
                let slot = question.reached.unwrap_or(set.slot);
                if self.seen.insert(Once::Slot(slot)) {
                    let own: Depends = match question.reached {
                        Some(_) => depends.to_vec(),
                        None => [depends, &of_path(question.of)].concat(),
                    };
                    let times = self.times(&own);
                    self.traversals.push((
                        1,
                        match times {
                            Times::EachOf(mut of) => {
                                of.push("running thread".into());
                                Times::EachOf(of)
                            }
                            _ => Times::EachThread,
                        },
                    ));
                }
            }
            SetKind::Of(own) => self.looped(own),
            SetKind::Union(a, b) | SetKind::Intersection(a, b) | SetKind::Difference(a, b) => {
                self.set(a);
                self.set(b);
            }
        }
    }

    /// What a probe means, if it comes to that: where what it asks about is garbage.
    fn meant(&mut self, meaning: &'t Truth<'p>) {
        if let Truth::Loop(own) = meaning {
            self.all.push(own);
        }
    }

    fn looped(&mut self, own: &'t Loop<'p>) {
        self.all.push(own);
        self.live();
        if !own.depends.is_empty() {
            let mut variables = own.depends.clone();
            let is_by_index = own.bound().is_some_and(|it| it.is_by_index());
            match is_by_index {
                true => self.indexed.push(own.id),
                false => {
                    variables.push(own.id);
                    self.nested.push(variables);
                }
            }
        }
        own.range.iter().for_each(|it| self.truth(it));
        self.truth(&own.body);
    }

    fn live(&mut self) {
        if self.seen.insert(Once::Live) {
            self.add(1, &[]);
        }
    }

    fn kept(&mut self, slot: usize, count: usize, depends: &[QuantifierId]) {
        if self.seen.insert(Once::Slot(slot)) {
            self.add(count, depends);
        }
    }

    fn add(&mut self, count: usize, depends: &[QuantifierId]) {
        let times = self.times(depends);
        self.traversals.push((count, times));
    }

    fn times(&self, depends: &[QuantifierId]) -> Times {
        let names = depends.iter().map(|id| {
            let quantifier = &self.program.quantifiers[id.0 as usize];
            format!("object of `{}`", quantifier.variable)
        });
        let names: Vec<String> = names.collect();
        match names.is_empty() {
            true => Times::Once,
            false => Times::EachOf(names),
        }
    }
}
