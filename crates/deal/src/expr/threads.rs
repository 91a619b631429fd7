//! Where a statement takes threads for objects, so that each must have an object of its own.

use crate::resolved::{Formula, Operand, Probe, Program, Select, Set, Source, Start, Statement};

/// What a statement asks of sets of threads, beside their sizes.
#[derive(Default)]
pub(super) struct Uses {
    /// Their objects: to start at, to pass round or to dominate.
    pub as_objects: bool,
    /// What they have in common with sets of other objects. Two threads with one object are two
    /// members of the one and one of the other.
    pub as_either: bool,
}

/// Finds what a statement asks, anywhere.
pub(super) fn uses(program: &Program) -> Uses {
    let mut uses = Uses::default();
    match &program.statement {
        Statement::Assertion(_, formula) | Statement::Formula(formula) => uses.formula(formula),
        Statement::Gc(_) => {}
        Statement::Query(query) => match &query.select {
            Select::Objects | Select::Count => {}
            Select::Values(values) => values.iter().for_each(|it| uses.operand(it)),
            Select::Fold(_, value) => uses.operand(value),
        },
        Statement::Value(operand) => uses.operand(operand),
        Statement::Set(set) => uses.set(set),
    }
    for quantifier in &program.quantifiers {
        quantifier.range.iter().for_each(|it| uses.formula(it));
        uses.formula(&quantifier.body);
    }
    uses
}

/// Whether threads can be in a set as such, and whether other objects can.
#[derive(Clone, Copy)]
struct Holds {
    threads: bool,
    others: bool,
}

impl Uses {
    fn formula(&mut self, formula: &Formula) {
        match formula {
            Formula::Not(of) => self.formula(of),
            Formula::And(a, b)
            | Formula::Or(a, b)
            | Formula::Implies(a, b)
            | Formula::Iff(a, b) => {
                self.formula(a);
                self.formula(b);
            }
            Formula::Compare(it) => {
                self.operand(&it.left);
                self.operand(&it.right);
            }
            Formula::In(path, set) => {
                let is_plain = matches!(**set, Set::Running | Set::ThreadReach(..));
                let is_variable = matches!(path.start, Start::Variable(_)) && path.steps.is_empty();
                if self.holds(set).threads {
                    self.as_objects |= is_variable;
                    self.as_either |= !is_plain;
                }
            }
            Formula::SameSet(a, b) => {
                self.joined(a, b);
            }
            Formula::Dom(above, _) => self.source(above),
            Formula::Probe(probe) => {
                if let Probe::ReachThrough(_, cut, _) = &**probe {
                    self.objects(cut);
                }
            }
            _ => {}
        }
    }

    fn operand(&mut self, operand: &Operand) {
        match operand {
            Operand::Size(set) => self.set(set),
            Operand::Fold(_, _, of) => self.operand(of),
            Operand::Constant(_) | Operand::Count(_) | Operand::Path(_) => {}
        }
    }

    fn source(&mut self, source: &Source) {
        if let Source::Set(set) = source {
            self.objects(set);
        }
    }

    /// A set that is taken for its objects.
    fn objects(&mut self, set: &Set) {
        self.as_objects |= self.holds(set).threads;
    }

    fn set(&mut self, set: &Set) {
        self.holds(set);
    }

    fn holds(&mut self, set: &Set) -> Holds {
        let of_objects = Holds {
            threads: false,
            others: true,
        };
        match set {
            Set::Running => Holds {
                threads: true,
                others: false,
            },
            Set::ThreadReach(_, avoid, _) => {
                avoid.iter().for_each(|it| self.objects(it));
                Holds {
                    threads: true,
                    others: false,
                }
            }
            Set::Reach(from, avoid) => {
                self.source(from);
                avoid.iter().for_each(|it| self.objects(it));
                of_objects
            }
            Set::Literal(paths) => Holds {
                threads: false,
                others: !paths.is_empty(),
            },
            Set::Union(a, b) => {
                let (a, b) = self.joined(a, b);
                Holds {
                    threads: a.threads || b.threads,
                    others: a.others || b.others,
                }
            }
            Set::Intersection(a, b) => {
                let (a, b) = self.joined(a, b);
                Holds {
                    threads: a.threads && b.threads,
                    others: a.others && b.others,
                }
            }
            Set::Difference(a, b) => self.joined(a, b).0,
            Set::Stack(_) | Set::Roots(_) | Set::ReachAll | Set::Pred(_) | Set::Of(_) => of_objects,
        }
    }

    fn joined(&mut self, a: &Set, b: &Set) -> (Holds, Holds) {
        let (a, b) = (self.holds(a), self.holds(b));
        self.as_either |= a.threads && b.others || a.others && b.threads;
        (a, b)
    }
}
