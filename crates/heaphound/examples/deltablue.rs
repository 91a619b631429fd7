//! DeltaBlue: a solver of one-way constraints that keeps a plan while constraints come and go.
//!
//! After the algorithm of Freeman-Benson and Maloney. Constraints are subclasses two levels deep, variables and constraints
//! refer to each other, and the solver works on borrowed references: only variables and constraints are allocated.
//!
//! Checks: the values that the constraints ask for, and a rule that a variable is determined by a constraint that it
//! knows.

use heaphound::collections::{GcVec, VecMut};
use heaphound::{
    Heap, Local, Managed, Mutator, OutOfMemory, Ref, Rules, Slot, Var, managed, match_class,
};

/// The smaller, the stronger.
type Strength = u8;
const REQUIRED: Strength = 0;
const PREFERRED: Strength = 2;
const STRONG_DEFAULT: Strength = 3;
const NORMAL: Strength = 4;
const WEAKEST: Strength = 6;

const NONE: u8 = 0;
const FORWARD: u8 = 1;
const BACKWARD: u8 = 2;

#[managed]
struct Variable {
    value: Var<i64>,
    constraints: Ref<GcVec<Constraint>>,
    determined_by: Slot<Constraint>,
    mark: Var<u32>,
    walk_strength: Var<Strength>,
    stay: Var<bool>,
}

#[managed]
struct Constraint {
    strength: Strength,
}

#[managed]
struct Unary {
    #[managed(superclass)]
    constraint: Constraint,
    output: Ref<Variable>,
    satisfied: Var<bool>,
}

/// The variable stays as it is.
#[managed]
struct Stay {
    #[managed(superclass)]
    unary: Unary,
}

/// The variable is set from outside.
#[managed]
struct Edit {
    #[managed(superclass)]
    unary: Unary,
}

#[managed]
struct Binary {
    #[managed(superclass)]
    constraint: Constraint,
    v1: Ref<Variable>,
    v2: Ref<Variable>,
    direction: Var<u8>,
}

#[managed]
struct Equal {
    #[managed(superclass)]
    binary: Binary,
}

/// `v2 = v1 * scale + offset`
#[managed]
struct Scale {
    #[managed(superclass)]
    binary: Binary,
    scale: Ref<Variable>,
    offset: Ref<Variable>,
}

impl Binary {
    fn input(&self) -> &Variable {
        match self.direction.get() {
            FORWARD => self.v1.get(),
            _ => self.v2.get(),
        }
    }

    fn output(&self) -> &Variable {
        match self.direction.get() {
            FORWARD => self.v2.get(),
            _ => self.v1.get(),
        }
    }

    fn choose(&self, mark: u32) {
        let strength = self.constraint.strength;
        let (v1, v2) = (self.v1.get(), self.v2.get());
        let may = |to: &Variable| to.mark.get() != mark && strength < to.walk_strength.get();
        let is_first_weaker = v1.walk_strength.get() > v2.walk_strength.get();
        let direction = if v1.mark.get() == mark {
            if may(v2) { FORWARD } else { NONE }
        } else if v2.mark.get() == mark || is_first_weaker {
            if may(v1) { BACKWARD } else { NONE }
        } else if may(v2) {
            FORWARD
        } else {
            NONE
        };
        self.direction.set(direction);
    }
}

/// A constraint is unary or binary.
enum Sort<'m> {
    Unary(&'m Unary),
    Binary(&'m Binary),
}

impl Constraint {
    fn sort(&self) -> Sort<'_> {
        match_class!(self, {
            Unary => |it| Sort::Unary(it),
            Binary => |it| Sort::Binary(it),
            _ => unreachable!("there are no others"),
        })
    }

    fn scale(&self) -> Option<&Scale> {
        self.as_object().downcast()
    }

    fn is_input(&self) -> bool {
        self.as_object().downcast::<Edit>().is_some()
    }

    fn is_satisfied(&self) -> bool {
        match self.sort() {
            Sort::Unary(it) => it.satisfied.get(),
            Sort::Binary(it) => it.direction.get() != NONE,
        }
    }

    fn set_unsatisfied(&self) {
        match self.sort() {
            Sort::Unary(it) => it.satisfied.set(false),
            Sort::Binary(it) => it.direction.set(NONE),
        }
    }

    fn output(&self) -> &Variable {
        match self.sort() {
            Sort::Unary(it) => it.output.get(),
            Sort::Binary(it) => it.output(),
        }
    }

    fn variables(&self) -> Vec<&Variable> {
        match self.sort() {
            Sort::Unary(it) => vec![it.output.get()],
            Sort::Binary(it) => {
                let mut all = vec![it.v1.get(), it.v2.get()];
                all.extend(
                    self.scale()
                        .iter()
                        .flat_map(|it| [it.scale.get(), it.offset.get()]),
                );
                all
            }
        }
    }

    fn choose(&self, mark: u32) {
        match self.sort() {
            Sort::Unary(it) => {
                let output = it.output.get();
                let wins = output.mark.get() != mark && self.strength < output.walk_strength.get();
                it.satisfied.set(wins);
            }
            Sort::Binary(it) => it.choose(mark),
        }
    }

    fn mark_inputs(&self, mark: u32) {
        if let Sort::Binary(it) = self.sort() {
            it.input().mark.set(mark);
            if let Some(it) = self.scale() {
                it.scale.get().mark.set(mark);
                it.offset.get().mark.set(mark);
            }
        }
    }

    fn inputs_are_known(&self, mark: u32) -> bool {
        match self.sort() {
            Sort::Unary(_) => true,
            Sort::Binary(it) => {
                let input = it.input();
                input.mark.get() == mark || input.stay.get() || input.determined_by.is_null()
            }
        }
    }

    /// Computes what is known of the output, and its value if that will not change.
    fn recalculate(&self) {
        let output = self.output();
        match self.sort() {
            Sort::Unary(_) => {
                output.walk_strength.set(self.strength);
                output.stay.set(!self.is_input());
            }
            Sort::Binary(it) => {
                let input = it.input();
                output
                    .walk_strength
                    .set(self.strength.max(input.walk_strength.get()));
                let stays = |it: &Scale| it.scale.get().stay.get() && it.offset.get().stay.get();
                output
                    .stay
                    .set(input.stay.get() && self.scale().is_none_or(stays));
            }
        }
        if output.stay.get() {
            self.execute();
        }
    }

    fn execute(&self) {
        let Sort::Binary(it) = self.sort() else {
            return;
        };
        let value = it.input().value.get();
        it.output().value.set(match self.scale() {
            None => value,
            Some(by) => {
                let (scale, offset) = (by.scale.get().value.get(), by.offset.get().value.get());
                match it.direction.get() {
                    FORWARD => value * scale + offset,
                    _ => (value - offset) / scale,
                }
            }
        });
    }
}

/// The constraints of a variable that depend on it.
fn consumers(variable: &Variable) -> impl Iterator<Item = &Constraint> {
    let determining = variable.determined_by.get();
    let others = variable.constraints.get().iter();
    others.filter(move |it| {
        it.is_satisfied() && determining.is_none_or(|determining| !it.ptr_eq(determining))
    })
}

/// Plans, and the marks that tell one walk from the next.
#[derive(Default)]
pub struct Planner {
    mark: u32,
}

impl Planner {
    fn new_mark(&mut self) -> u32 {
        self.mark += 1;
        self.mark
    }

    fn add(&mut self, constraint: &Constraint) {
        let mark = self.new_mark();
        let mut next = self.satisfy(constraint, mark);
        while let Some(overridden) = next {
            next = self.satisfy(overridden, mark);
        }
    }

    /// Tries to satisfy a constraint. Returns the one that had to give way.
    fn satisfy<'m>(&mut self, constraint: &'m Constraint, mark: u32) -> Option<&'m Constraint> {
        constraint.choose(mark);
        if !constraint.is_satisfied() {
            assert!(
                constraint.strength != REQUIRED,
                "a required constraint cannot be satisfied"
            );
            return None;
        }
        constraint.mark_inputs(mark);
        let output = constraint.output();
        let overridden = output.determined_by.get();
        if let Some(it) = overridden {
            it.set_unsatisfied();
        }
        output.determined_by.set(constraint);
        let mut todo = vec![constraint];
        while let Some(it) = todo.pop() {
            let output = it.output();
            assert!(output.mark.get() != mark, "the constraints form a ring");
            it.recalculate();
            todo.extend(consumers(output));
        }
        output.mark.set(mark);
        overridden
    }

    fn remove(&mut self, constraint: &Constraint) {
        let output = constraint.is_satisfied().then(|| constraint.output());
        constraint.set_unsatisfied();
        for variable in constraint.variables() {
            variable
                .constraints
                .get()
                .retain(|it| !it.ptr_eq(constraint));
        }
        let Some(output) = output else {
            return;
        };
        output.determined_by.clear();
        output.walk_strength.set(WEAKEST);
        output.stay.set(true);
        let (mut unsatisfied, mut todo) = (Vec::new(), vec![output]);
        while let Some(variable) = todo.pop() {
            let all = variable.constraints.get().iter();
            unsatisfied.extend(all.filter(|it| !it.is_satisfied()));
            for it in consumers(variable) {
                it.recalculate();
                todo.push(it.output());
            }
        }
        unsatisfied.sort_by_key(|it: &&Constraint| it.strength);
        unsatisfied.into_iter().for_each(|it| self.add(it));
    }

    /// The constraints to execute, in order, when the source changes.
    fn plan<'m>(&mut self, source: &'m Constraint) -> Vec<&'m Constraint> {
        let mark = self.new_mark();
        let mut todo = vec![source];
        todo.retain(|it| it.is_input() && it.is_satisfied());
        let mut plan = Vec::new();
        while let Some(it) = todo.pop() {
            let output = it.output();
            if output.mark.get() != mark && it.inputs_are_known(mark) {
                plan.push(it);
                output.mark.set(mark);
                todo.extend(consumers(output));
            }
        }
        plan
    }
}

type Made<'a, T> = Result<Local<'a, T>, OutOfMemory>;

fn variable<'a>(m: &mut Mutator<'a>, value: i64) -> Made<'a, Variable> {
    m.scoped(|m| {
        let constraints = GcVec::new(m)?;
        m.alloc(VariableInit {
            value,
            constraints,
            determined_by: None,
            mark: 0,
            walk_strength: WEAKEST,
            stay: true,
        })
    })
}

/// Makes the constraint known to its variables and satisfies it.
fn entered<'a>(
    m: &mut Mutator<'a>,
    planner: &mut Planner,
    constraint: Local<'a, Constraint>,
) -> Made<'a, Constraint> {
    {
        let mut m = m.scope();
        let lists: Vec<_> = {
            let variables = m[constraint].variables().into_iter();
            variables.map(|it| m.local(it.constraints.get())).collect()
        };
        for list in lists {
            list.push(&mut m, constraint)?;
        }
    }
    planner.add(&m[constraint]);
    Ok(constraint)
}

fn unary<'s>(strength: Strength, output: Local<'s, Variable>) -> UnaryInit<'s> {
    UnaryInit {
        constraint: ConstraintInit { strength },
        output,
        satisfied: false,
    }
}

fn binary<'s>(v1: Local<'s, Variable>, v2: Local<'s, Variable>) -> BinaryInit<'s> {
    BinaryInit {
        constraint: ConstraintInit { strength: REQUIRED },
        v1,
        v2,
        direction: NONE,
    }
}

fn stay(
    m: &mut Mutator<'_>,
    planner: &mut Planner,
    strength: Strength,
    output: Local<'_, Variable>,
) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let output = m.local(output);
    let new = m.alloc(StayInit {
        unary: unary(strength, output),
    })?;
    let new = m.local(&m[new].unary.constraint);
    entered(&mut m, planner, new)?;
    Ok(())
}

fn edit<'a>(
    m: &mut Mutator<'a>,
    planner: &mut Planner,
    output: Local<'_, Variable>,
) -> Made<'a, Constraint> {
    let output = m.local(output);
    let new = m.alloc(EditInit {
        unary: unary(PREFERRED, output),
    })?;
    let new = m.local(&m[new].unary.constraint);
    entered(m, planner, new)
}

/// A chain of equal variables: what is written to the first is read from the last.
fn chain(m: &mut Mutator<'_>, planner: &mut Planner, length: usize) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let first = variable(&mut m, 0)?;
    let last = m.local(first);
    for _ in 0..length {
        let mut m = m.scope();
        let (v1, v2) = (m.local(last), variable(&mut m, 0)?);
        let new = m.alloc(EqualInit {
            binary: binary(v1, v2),
        })?;
        let new = m.local(&m[new].binary.constraint);
        entered(&mut m, planner, new)?;
        m.set_local(last, v2);
    }
    stay(&mut m, planner, STRONG_DEFAULT, last)?;
    let edit = edit(&mut m, planner, first)?;
    let plan = planner.plan(&m[edit]);
    for value in 0..100 {
        m[first].value.set(value);
        plan.iter().for_each(|it| it.execute());
        assert_eq!(m[last].value.get(), value);
    }
    planner.remove(&m[edit]);
    Ok(())
}

fn change(
    m: &mut Mutator<'_>,
    planner: &mut Planner,
    variable: Local<'_, Variable>,
    value: i64,
) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let edit = edit(&mut m, planner, variable)?;
    let plan = planner.plan(&m[edit]);
    for _ in 0..10 {
        m[variable].value.set(value);
        plan.iter().for_each(|it| it.execute());
    }
    planner.remove(&m[edit]);
    Ok(())
}

/// Many variables that are others, scaled and moved.
fn projection(m: &mut Mutator<'_>, planner: &mut Planner, count: usize) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let (scale, offset) = (variable(&mut m, 10)?, variable(&mut m, 1000)?);
    let all = GcVec::new(&mut m)?;
    let (source, result) = (m.local(scale), m.local(scale));
    for number in 0..count as i64 {
        let mut m = m.scope();
        let (v1, v2) = (variable(&mut m, number)?, variable(&mut m, number)?);
        all.push(&mut m, v2)?;
        stay(&mut m, planner, NORMAL, v1)?;
        let (by, from) = (m.local(scale), m.local(offset));
        let new = m.alloc(ScaleInit {
            binary: binary(v1, v2),
            scale: by,
            offset: from,
        })?;
        let new = m.local(&m[new].binary.constraint);
        entered(&mut m, planner, new)?;
        m.set_local(source, v1);
        m.set_local(result, v2);
    }
    change(&mut m, planner, source, 17)?;
    assert_eq!(m[result].value.get(), 1170);
    change(&mut m, planner, result, 1050)?;
    assert_eq!(m[source].value.get(), 5);
    for (variable, value, scale, offset) in [(scale, 5, 5, 1000), (offset, 2000, 5, 2000)] {
        change(&mut m, planner, variable, value)?;
        for (number, it) in m[all].iter().take(count - 1).enumerate() {
            assert_eq!(it.value.get(), number as i64 * scale + offset);
        }
    }
    Ok(())
}

/// Runs both tests of the benchmark.
pub fn run(m: &mut Mutator<'_>, size: usize) -> Result<(), OutOfMemory> {
    let mut planner = Planner::default();
    chain(m, &mut planner, size)?;
    projection(m, &mut planner, size)
}

#[allow(dead_code)] // Not in the benchmark.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let heap = Heap::builder().build()?;
    let mut m = heap.attach("main")?;
    run(&mut m, 100)?;
    let mut planner = Planner::default();
    let (a, b) = (variable(&mut m, 1)?, variable(&mut m, 2)?);
    let new = m.alloc(EqualInit {
        binary: binary(a, b),
    })?;
    let new = m.local(&m[new].binary.constraint);
    entered(&mut m, &mut planner, new)?;
    assert_eq!(m[a].value.get(), m[b].value.get());
    let rule = "assertion(forall Variable x: x.determined_by != null -> x.determined_by instanceof Constraint);";
    assert!(Rules::new(rule).check(&mut m)?.is_empty());
    println!("all constraints hold");
    Ok(())
}
