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
    /// All threads, as objects that a quantifier finds, or that paths start at, avoid or pass.
    pub quantified_threads: bool,
    /// Sets of threads together with sets of other objects.
    pub mixed_threads: bool,
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

/// Whether an object can be in a set that is there as no thread.
fn can_have_others(set: &Set) -> bool {
    match set {
        Set::Running | Set::ThreadReach(..) => false,
        Set::Literal(paths) => !paths.is_empty(),
        Set::Union(a, b) => can_have_others(a) || can_have_others(b),
        Set::Intersection(a, b) => can_have_others(a) && can_have_others(b),
        Set::Difference(a, _) => can_have_others(a),
        _ => true,
    }
}

/// Whether a thread can be in a set because it is one.
fn can_have_threads(set: &Set) -> bool {
    match set {
        Set::Running | Set::ThreadReach(..) => true,
        Set::Union(a, b) => can_have_threads(a) || can_have_threads(b),
        Set::Intersection(a, b) => can_have_threads(a) && can_have_threads(b),
        Set::Difference(a, _) => can_have_threads(a),
        _ => false,
    }
}

impl Mentions {
    fn gc(&mut self, assertion: &GcAssertion) {
        let mut target = |target: &Target| match target {
            Target::Object(path) => self.path(path),
            Target::Class(_) => {}
        };
        match assertion {
            GcAssertion::Instances(..) | GcAssertion::Volume(..) => {}
            GcAssertion::Unshared(it, _) | GcAssertion::Dead(it) => target(it),
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
                let is_variable = matches!(path.start, Start::Variable(_)) && path.steps.is_empty();
                self.quantified_threads |= is_variable && can_have_threads(set);
                let is_plain = matches!(**set, Set::Running | Set::ThreadReach(..));
                self.mixed_threads |= can_have_threads(set) && !is_plain;
                self.path(path);
                self.set(set);
            }
            Formula::SameSet(a, b) => {
                self.mixed(a, b);
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
            Operand::Fold(_, _, of) => self.operand(of),
        }
    }

    fn source(&mut self, source: &Source) {
        match source {
            Source::Object(path) => self.path(path),
            Source::Set(set) => self.objects(set),
        }
    }

    /// A set that is taken for its objects.
    fn objects(&mut self, set: &Set) {
        self.quantified_threads |= can_have_threads(set);
        self.set(set);
    }

    fn mixed(&mut self, a: &Set, b: &Set) {
        self.mixed_threads |= can_have_threads(a) && can_have_others(b);
        self.mixed_threads |= can_have_threads(b) && can_have_others(a);
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
                avoid.iter().for_each(|set| self.objects(set));
            }
            Set::Pred(path) => self.path(path),
            Set::ThreadReach(path, avoid, _) => {
                self.path(path);
                avoid.iter().for_each(|set| self.objects(set));
            }
            Set::Literal(paths) => paths.iter().for_each(|path| self.path(path)),
            Set::Union(a, b) | Set::Intersection(a, b) | Set::Difference(a, b) => {
                self.mixed(a, b);
                self.set(a);
                self.set(b);
            }
        }
    }

    fn probe(&mut self, probe: &Probe) {
        match probe {
            Probe::IsHeap(path)
            | Probe::IsShared(path)
            | Probe::IsUniqueOwner(path)
            | Probe::IsUnique(path) => {
                self.path(path);
            }
            Probe::IsReachable(a, b) | Probe::IsDisjoint(a, b) | Probe::IsObjectOwned(a, b) => {
                self.path(a);
                self.path(b);
            }
            Probe::ReachThrough(a, cut, b) => {
                self.path(a);
                self.objects(cut);
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
