//! What a statement mentions without which it has no answer: the asker, threads by name.

use heaphound_deal::resolved::{
    Formula, GcAssertion, Operand, Path, Probe, Program, Select, Set, Source, Start, Statement,
    Target, Thread,
};
use heaphound_heap::root::Part;

/// What is mentioned.
#[derive(Default)]
pub struct Mentions {
    /// The asking thread.
    pub asker: bool,
    /// Its thread object.
    pub asker_object: bool,
    /// Threads by name.
    pub threads: Vec<String>,
}

/// What a statement mentions anywhere.
pub fn of(program: &Program) -> Mentions {
    let mut it = Mentions::default();
    match &program.statement {
        Statement::Assertion(_, formula) | Statement::Formula(formula) => it.formula(formula),
        Statement::Gc(assertion) => it.gc(assertion),
        Statement::Query(query) => match &query.select {
            Select::Objects | Select::Count => {}
            Select::Values(values) => values.iter().for_each(|value| it.operand(value)),
            Select::Fold(_, value) => it.operand(value),
        },
        Statement::Value(operand) => it.operand(operand),
        Statement::Set(set) => it.set(set),
    }
    // All of them are in this list, however deep they stand.
    for quantifier in &program.quantifiers {
        quantifier.range.iter().for_each(|range| it.formula(range));
        it.formula(&quantifier.body);
    }
    it
}

/// Whether a path is `current_thread()`.
pub fn is_asker(path: &Path) -> bool {
    path.start == Start::Asker && path.steps.is_empty()
}

impl Mentions {
    fn gc(&mut self, assertion: &GcAssertion) {
        let mut target = |target: &Target| match target {
            Target::Object(path) => self.path(path),
            Target::Class(_) => {}
        };
        match assertion {
            GcAssertion::Instances(..) | GcAssertion::Volume(..) => {}
            GcAssertion::Unshared(it) | GcAssertion::Dead(it) => target(it),
            GcAssertion::OwnedBy(owner, ownee) => {
                target(owner);
                target(ownee);
            }
        }
    }

    fn path(&mut self, path: &Path) {
        self.asker_object |= path.start == Start::Asker;
    }

    fn formula(&mut self, formula: &Formula) {
        match formula {
            Formula::Constant(_) | Formula::Reach(..) | Formula::Quantified(_) => {}
            Formula::Not(of) => self.formula(of),
            Formula::And(a, b)
            | Formula::Or(a, b)
            | Formula::Implies(a, b)
            | Formula::Iff(a, b) => {
                self.formula(a);
                self.formula(b);
            }
            Formula::Flag(path) | Formula::InstanceOf(path, _) | Formula::Label(path, _) => {
                self.path(path);
            }
            Formula::Compare(it) => {
                self.operand(&it.left);
                self.operand(&it.right);
            }
            Formula::In(path, set) => {
                self.path(path);
                self.set(set);
            }
            Formula::SameSet(a, b) => {
                self.set(a);
                self.set(b);
            }
            Formula::Dom(above, below) => {
                self.source(above);
                self.path(below);
            }
            Formula::Probe(probe) => self.probe(probe),
        }
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Constant(_) | Operand::Count(_) => {}
            Operand::Path(path) => self.path(path),
            Operand::Size(set) => self.set(set),
        }
    }

    fn source(&mut self, source: &Source) {
        match source {
            Source::Object(path) => self.path(path),
            Source::Set(set) => self.set(set),
        }
    }

    fn set(&mut self, set: &Set) {
        match set {
            Set::Running | Set::ReachAll | Set::Of(_) => {}
            Set::Stack(thread) | Set::Roots(thread) => match thread {
                Thread::Named(name) => self.threads.push(name.clone()),
                // A stack is a thread's, and who asks is a thread, with an object or without.
                Thread::Object(path) if is_asker(path) => self.asker = true,
                Thread::Object(path) => self.path(path),
            },
            Set::Reach(from, avoid) => {
                self.source(from);
                avoid.iter().for_each(|set| self.set(set));
            }
            Set::Pred(path) => self.path(path),
            Set::ThreadReach(path, avoid, _) => {
                self.path(path);
                avoid.iter().for_each(|set| self.set(set));
            }
            Set::Literal(paths) => paths.iter().for_each(|path| self.path(path)),
            Set::Union(a, b) | Set::Intersection(a, b) | Set::Difference(a, b) => {
                self.set(a);
                self.set(b);
            }
        }
    }

    fn probe(&mut self, probe: &Probe) {
        match probe {
            Probe::IsHeap(path) | Probe::IsShared(path) | Probe::IsUniqueOwner(path) => {
                self.path(path);
            }
            Probe::IsReachable(a, b) | Probe::IsDisjoint(a, b) | Probe::IsObjectOwned(a, b) => {
                self.path(a);
                self.path(b);
            }
            Probe::ReachThrough(a, cut, b) => {
                self.path(a);
                self.set(cut);
                self.path(b);
            }
            Probe::IsThreadOwned(path, part) => {
                self.path(path);
                match part {
                    Part::Object => self.asker_object = true,
                    Part::Stack | Part::Both => self.asker = true,
                }
            }
        }
    }
}
