//! Lowers the resolved tree to the one that is evaluated.

use std::collections::HashMap;
use std::rc::Rc;

use heaphound_heap::root::Part;

use super::pattern::{self, Matched};
use super::tree::{
    Above, Asked, Depends, Dom, From, Loop, Member, Number, SetKind, SetNode, ThreadReach, Truth,
    is_within, of_path, reads,
};
use crate::resolved::{
    Formula, Operand, Path, Probe, Program, Quantifier, QuantifierId, Set, Source, Start, Thread,
};
use crate::syntax::Span;

/// Whether expressions that mean what a probe means run as that probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Matching {
    /// They do.
    #[default]
    Probes,
    /// All is evaluated as it is written: a quantifier is a loop over all objects. The slow twin, for
    /// comparison.
    AsWritten,
}

/// Lowers one program, and counts what is kept while it is evaluated.
pub(super) struct Lowering<'p> {
    pub program: &'p Program,
    pub matching: Matching,
    /// Sets by what they mean.
    known: HashMap<String, usize>,
    /// How many quantifiers are around.
    depth: usize,
    /// How many sets are kept.
    pub sets: usize,
    /// How many answers of quantifiers are kept.
    pub answers: usize,
    /// Where the asking thread is mentioned.
    pub asker: Option<Span>,
    /// Where its thread object is.
    pub asker_object: Option<Span>,
    /// The threads that are mentioned by name.
    pub threads: Vec<&'p str>,
    /// Where a quantifier looks for threads: it finds those that have an object.
    pub quantified_threads: Option<Span>,
}

impl<'p> Lowering<'p> {
    pub fn new(program: &'p Program, matching: Matching) -> Self {
        Self {
            program,
            matching,
            known: HashMap::new(),
            depth: 0,
            sets: 0,
            answers: 0,
            asker: None,
            asker_object: None,
            threads: Vec::new(),
            quantified_threads: None,
        }
    }

    pub fn truth(&mut self, formula: &'p Formula) -> Truth<'p> {
        if self.matching == Matching::Probes
            && let Some((matched, holds)) = pattern::truth(self.program, formula)
        {
            let asked = self.asked(formula, matched);
            return match holds {
                true => asked,
                false => Truth::Not(Box::new(asked)),
            };
        }
        self.as_written(formula)
    }

    /// A probe. None of its paths depends on a logic variable.
    fn asked(&mut self, formula: &'p Formula, probe: Matched<'p>) -> Truth<'p> {
        let cut = match &probe {
            Matched::ReachThrough(_, cut, _) => Some(self.set(cut)),
            Matched::ThreadOwned(path, part) => {
                let span = pattern::asker_in(formula).map_or(path.span, |it| it.span);
                self.mention_asker(span, *part == Part::Object);
                None
            }
            _ => None,
        };
        for path in probe.paths() {
            self.path(path);
        }
        let meaning = match &probe {
            // What is disjoint by a quantifier may overlap in garbage.
            Matched::Disjoint(_, _, true) => {
                let mut quantified = formula;
                while let Formula::Not(of) = quantified {
                    quantified = of;
                }
                Some(self.as_written(quantified))
            }
            _ => None,
        };
        let depends = Vec::new();
        self.kept(Truth::Probe(Box::new(Asked {
            probe,
            cut,
            depends,
            meaning,
        })))
    }

    fn as_written(&mut self, formula: &'p Formula) -> Truth<'p> {
        let not = |truth| Truth::Not(Box::new(truth));
        let two = |it: &mut Self, a: &'p Formula, b: &'p Formula| {
            (Box::new(it.truth(a)), Box::new(it.truth(b)))
        };
        match formula {
            Formula::Constant(value) => Truth::Constant(*value),
            Formula::Not(of) => not(self.truth(of)),
            Formula::And(a, b) => {
                let (a, b) = two(self, a, b);
                Truth::And(a, b)
            }
            Formula::Or(a, b) => {
                let (a, b) = two(self, a, b);
                Truth::Or(a, b)
            }
            Formula::Implies(a, b) => {
                let (a, b) = two(self, a, b);
                Truth::Or(Box::new(Truth::Not(a)), b)
            }
            Formula::Iff(a, b) => {
                let (a, b) = two(self, a, b);
                Truth::Iff(a, b)
            }
            Formula::Flag(path) => Truth::Flag(self.path(path)),
            Formula::Compare(it) => match pattern::at_least(it) {
                Some((set, least, holds)) => {
                    let truth = Truth::AtLeast(self.set(set), least);
                    if holds { truth } else { not(truth) }
                }
                None => Truth::Compare(it, self.number(&it.left), self.number(&it.right)),
            },
            Formula::InstanceOf(path, classes) => Truth::InstanceOf(self.path(path), classes),
            Formula::Label(path, label) => Truth::Label(self.path(path), *label),
            Formula::Reach(relation, id) => {
                for part in &self.program.relations[relation.0 as usize].parts {
                    part.source.iter().chain(&part.exclusions).for_each(|it| {
                        self.path(it);
                    });
                }
                let slot = self.slot(format!("relation {}", relation.0));
                Truth::Relation(*relation, *id, slot)
            }
            Formula::Quantified(id) => Truth::Loop(Box::new(self.looped(*id))),
            Formula::In(path, set) => {
                let set = self.set(set);
                self.member(path, set)
            }
            Formula::SameSet(a, b) => Truth::Same(Box::new(self.set(a)), Box::new(self.set(b))),
            Formula::Dom(above, below) => {
                let above = match above {
                    Source::Object(path) => Above::Object(self.path(path)),
                    Source::Set(set) => match &**set {
                        Set::Stack(thread) => self.thread_above(thread, Part::Stack),
                        Set::Roots(thread) => self.thread_above(thread, Part::Both),
                        set => Above::Objects(Box::new(self.set(set))),
                    },
                };
                self.dom(above, below)
            }
            Formula::Probe(probe) => self.defined(probe),
        }
    }

    /// A probe by name, as its definition.
    fn defined(&mut self, probe: &'p Probe) -> Truth<'p> {
        let not = |truth| Truth::Not(Box::new(truth));
        match probe {
            Probe::IsHeap(path) => Truth::AtLeast(self.pred(path), 1),
            Probe::IsShared(path) => Truth::AtLeast(self.pred(path), 2),
            Probe::IsReachable(from, to) => {
                let set = self.reach(from, None);
                self.member(to, set)
            }
            Probe::IsDisjoint(a, b) => {
                let (a, b) = (self.reach(a, None), self.reach(b, None));
                let both = self.joined(SetKind::Intersection, '&', a, b);
                not(Truth::AtLeast(both, 1))
            }
            Probe::IsUnique(path) => {
                let unique = Truth::Unique(self.path(path));
                self.kept(unique)
            }
            Probe::IsUniqueOwner(path) => {
                let depends = of_path(self.path(path));
                self.kept(Truth::Probe(Box::new(Asked {
                    depends,
                    probe: Matched::UniqueOwner(path),
                    cut: None,
                    meaning: None,
                })))
            }
            Probe::ReachThrough(from, cut, to) => {
                let cut = self.set(cut);
                let set = self.reach(from, Some(cut));
                not(self.member(to, set))
            }
            Probe::IsObjectOwned(above, below) => {
                let above = Above::Object(self.path(above));
                self.dom(above, below)
            }
            Probe::IsThreadOwned(path, part) => {
                self.mention_asker(path.span, *part == Part::Object);
                self.dom(Above::Asker(*part), path)
            }
        }
    }

    fn thread_above(&mut self, thread: &'p Thread, part: Part) -> Above<'p> {
        self.thread(thread);
        Above::Thread(thread, part)
    }

    fn dom(&mut self, above: Above<'p>, below: &'p Path) -> Truth<'p> {
        self.path(below);
        let (depends, name) = match &above {
            Above::Object(path) => (of_path(path), name_of(path)),
            Above::Objects(set) => (set.depends.clone(), format!("set {}", set.slot)),
            Above::Thread(thread, part) => (
                of_thread(thread),
                format!("{part:?} {}", thread_name(thread)),
            ),
            Above::Asker(part) => (Vec::new(), format!("{part:?} asker")),
        };
        let once = is_within(&of_path(below), &depends);
        let slots = [
            self.slot(format!("below {name}")),
            self.slot(format!("around {name}")),
        ];
        let dom = Truth::Dom(Dom {
            above,
            below,
            depends,
            once,
            slots,
        });
        if once { self.kept(dom) } else { dom }
    }

    /// Keeps an answer, if a quantifier around would ask for it again.
    fn kept(&mut self, truth: Truth<'p>) -> Truth<'p> {
        let mut depends = Vec::new();
        truth.depends(&mut depends);
        depends.sort();
        depends.dedup();
        if depends.len() >= self.depth {
            return truth;
        }
        self.answers += 1;
        Truth::Kept(Box::new(truth), depends, self.answers - 1)
    }

    fn member(&mut self, path: &'p Path, set: SetNode<'p>) -> Truth<'p> {
        let once = is_within(&of_path(path), &set.depends);
        let is_variable = matches!(path.start, Start::Variable(_)) && path.steps.is_empty();
        if is_variable && set.kind.can_have_threads() {
            self.quantified_threads.get_or_insert(path.span);
        }
        let member = Truth::In(Member {
            object: self.path(path),
            set: Rc::new(set),
        });
        if once { self.kept(member) } else { member }
    }

    pub fn number(&mut self, operand: &'p Operand) -> Number<'p> {
        match operand {
            Operand::Constant(constant) => Number::Constant(constant),
            Operand::Path(path) => Number::Path(self.path(path)),
            Operand::Size(set) => Number::Size(Box::new(self.set(set))),
            Operand::Count(id) => match self.threads_of(*id) {
                Some(set) => Number::Size(Box::new(set)),
                None => Number::Count(Box::new(self.looped(*id))),
            },
            Operand::Fold(id, fold, of) => {
                let mut own = self.looped(*id);
                self.depth += 1;
                let of = self.number(of);
                self.depth -= 1;
                of.depends(&mut own.depends);
                own.depends.retain(|it| it != id);
                own.depends.sort();
                own.depends.dedup();
                Number::Fold(Box::new(own), *fold, Box::new(of))
            }
        }
    }

    pub fn set(&mut self, set: &'p Set) -> SetNode<'p> {
        match set {
            Set::Running => self.node(SetKind::Running, Vec::new(), "running".into()),
            Set::Stack(thread) => self.thread_roots(thread, Part::Stack),
            Set::Roots(thread) => self.thread_roots(thread, Part::Both),
            Set::ReachAll => self.node(SetKind::ReachAll, Vec::new(), "all".into()),
            Set::Reach(Source::Object(path), avoid) => {
                let avoid = avoid.as_deref().map(|it| self.set(it));
                self.reach(path, avoid)
            }
            Set::Reach(Source::Set(from), avoid) => {
                let from = self.set(from);
                let avoid = avoid.as_deref().map(|it| Box::new(self.set(it)));
                let name = format!(
                    "reach set {} avoiding {:?}",
                    from.slot,
                    avoid.as_ref().map(|it| it.slot)
                );
                let depends = joined(&from.depends, avoid.as_ref().map_or(&[], |it| &it.depends));
                self.node(
                    SetKind::Reach(From::Set(Box::new(from)), avoid),
                    depends,
                    name,
                )
            }
            Set::Pred(path) => self.pred(path),
            Set::ThreadReach(path, avoid, part) => {
                self.thread_reach(path, avoid.as_deref(), *part, None)
            }
            Set::Literal(paths) => {
                let paths: Vec<&Path> = paths.iter().map(|it| self.path(it)).collect();
                let depends = paths
                    .iter()
                    .fold(Vec::new(), |all, it| joined(&all, &of_path(it)));
                let names: Vec<String> = paths.iter().map(|it| name_of(it)).collect();
                self.node(SetKind::Literal(paths), depends, format!("{names:?}"))
            }
            Set::Of(id) => self.found(*id),
            Set::Union(a, b) => {
                let (a, b) = (self.set(a), self.set(b));
                self.joined(SetKind::Union, '|', a, b)
            }
            Set::Intersection(a, b) => {
                let (a, b) = (self.set(a), self.set(b));
                self.joined(SetKind::Intersection, '&', a, b)
            }
            Set::Difference(a, b) => {
                let (a, b) = (self.set(a), self.set(b));
                self.joined(SetKind::Difference, '-', a, b)
            }
        }
    }

    /// The set of what a quantifier finds.
    pub fn found(&mut self, id: QuantifierId) -> SetNode<'p> {
        if let Some(set) = self.threads_of(id) {
            return set;
        }
        let own = self.looped(id);
        let depends = own.depends.clone();
        self.node(SetKind::Of(Box::new(own)), depends, format!("of {}", id.0))
    }

    /// The threads that a quantifier finds, if it asks which threads reach an object.
    fn threads_of(&mut self, id: QuantifierId) -> Option<SetNode<'p>> {
        if self.matching == Matching::AsWritten {
            return None;
        }
        let (of, avoid, part) = pattern::thread_reach(self.program, id)?;
        let quantifier = &self.program.quantifiers[id.0 as usize];
        self.quantified_threads.get_or_insert(quantifier.span);
        Some(self.thread_reach(of, avoid, part, Some((id, quantifier))))
    }

    fn thread_reach(
        &mut self,
        of: &'p Path,
        avoid: Option<&'p Set>,
        part: Part,
        quantifier: Option<(QuantifierId, &'p Quantifier)>,
    ) -> SetNode<'p> {
        let avoid = avoid.map(|it| Box::new(self.set(it)));
        let from = avoid.as_ref().map_or(Vec::new(), |it| it.depends.clone());
        let own = of_path(self.path(of));
        let avoided = avoid.as_ref().map(|it| it.slot);
        // What the threads reach is worth keeping if several objects are looked for in it.
        let threads = format!("threads {part:?} avoiding {avoided:?}");
        let reached = (!is_within(&own, &from)).then(|| self.slot(threads.clone()));
        let within = quantifier.map(|(id, _)| id);
        let name = format!("{threads} reach {} {within:?}", name_of(of));
        let kind = SetKind::ThreadReach(ThreadReach {
            of,
            avoid,
            part,
            quantifier: quantifier.map(|(_, it)| it),
            reached,
        });
        self.node(kind, joined(&own, &from), name)
    }

    fn thread_roots(&mut self, thread: &'p Thread, part: Part) -> SetNode<'p> {
        self.thread(thread);
        let name = format!("{part:?} of {}", thread_name(thread));
        self.node(SetKind::ThreadRoots(thread, part), of_thread(thread), name)
    }

    fn pred(&mut self, path: &'p Path) -> SetNode<'p> {
        let depends = of_path(self.path(path));
        self.node(
            SetKind::Pred(path),
            depends,
            format!("pred {}", name_of(path)),
        )
    }

    fn reach(&mut self, path: &'p Path, avoid: Option<SetNode<'p>>) -> SetNode<'p> {
        let own = of_path(self.path(path));
        let avoid = avoid.map(Box::new);
        let depends = joined(&own, avoid.as_ref().map_or(&[], |it| &it.depends));
        let avoided = avoid.as_ref().map(|it| it.slot);
        let name = format!("reach {} avoiding {avoided:?}", name_of(path));
        self.node(SetKind::Reach(From::Object(path), avoid), depends, name)
    }

    fn joined(
        &mut self,
        kind: fn(Box<SetNode<'p>>, Box<SetNode<'p>>) -> SetKind<'p>,
        sign: char,
        a: SetNode<'p>,
        b: SetNode<'p>,
    ) -> SetNode<'p> {
        let depends = joined(&a.depends, &b.depends);
        let name = format!("{} {sign} {}", a.slot, b.slot);
        self.node(kind(Box::new(a), Box::new(b)), depends, name)
    }

    fn node(&mut self, kind: SetKind<'p>, depends: Depends, name: String) -> SetNode<'p> {
        let slot = self.slot(name);
        SetNode {
            kind,
            depends,
            slot,
        }
    }

    /// Where something of that meaning is kept.
    fn slot(&mut self, name: String) -> usize {
        let next = self.sets;
        let slot = *self.known.entry(name).or_insert(next);
        self.sets = self.sets.max(slot + 1);
        slot
    }

    pub fn looped(&mut self, id: QuantifierId) -> Loop<'p> {
        let quantifier = &self.program.quantifiers[id.0 as usize];
        self.depth += 1;
        let range = quantifier.range.as_ref().map(|it| self.truth(it));
        let body = self.truth(&quantifier.body);
        self.depth -= 1;
        let mut depends = Vec::new();
        range
            .iter()
            .chain([&body])
            .for_each(|it| it.depends(&mut depends));
        depends.retain(|it| *it != id);
        depends.sort();
        depends.dedup();
        self.answers += 1;
        let reads = match self.matching {
            Matching::Probes => reads(id, range.as_ref(), &body),
            Matching::AsWritten => None,
        };
        Loop {
            id,
            reads,
            quantifier,
            range,
            body,
            is_bounded: self.matching == Matching::Probes,
            depends,
            slot: self.answers - 1,
        }
    }

    fn path(&mut self, path: &'p Path) -> &'p Path {
        if path.start == Start::Asker {
            self.mention_asker(path.span, true);
        }
        path
    }

    fn thread(&mut self, thread: &'p Thread) {
        match thread {
            Thread::Named(name) => self.threads.push(name),
            // Who asks has a stack, also without a thread object.
            Thread::Object(path) if pattern::is_asker(path) => {
                self.mention_asker(path.span, false);
            }
            Thread::Object(path) => {
                self.path(path);
            }
        }
    }

    fn mention_asker(&mut self, span: Span, as_object: bool) {
        self.asker.get_or_insert(span);
        if as_object {
            self.asker_object.get_or_insert(span);
        }
    }
}

fn of_thread(thread: &Thread) -> Depends {
    match thread {
        Thread::Named(_) => Vec::new(),
        Thread::Object(path) => of_path(path),
    }
}

fn joined(a: &[QuantifierId], b: &[QuantifierId]) -> Depends {
    let mut all = [a, b].concat();
    all.sort();
    all.dedup();
    all
}

fn name_of(path: &Path) -> String {
    format!("{:?}{:?}", path.start, path.steps)
}

fn thread_name(thread: &Thread) -> String {
    match thread {
        Thread::Named(name) => format!("{name:?}"),
        Thread::Object(path) => name_of(path),
    }
}
