//! Expressions that mean what a probe means: the right-hand sides of PHALANX's table 2, also
//! commuted, negated, and with `forall` for `exists`.
//!
//! Only where no path starts at a logic variable: what is asked of every object is not asked
//! by a probe for each, but looked up in sets that are kept.

use heaphound_heap::Value;
use heaphound_heap::root::Part;

use crate::resolved::{
    Compare, CompareOp, Constant, Formula, Operand, Path, Probe, Program, QuantifierId, Set,
    Source, Start, Thread,
};
use crate::syntax::QuantifierKind;

/// A probe and what it asks about.
pub(super) enum Matched<'p> {
    Heap(&'p Path),
    Shared(&'p Path),
    Reachable(&'p Path, &'p Path),
    /// The flag: only live objects count, for a quantifier said so.
    Disjoint(&'p Path, &'p Path, bool),
    UniqueOwner(&'p Path),
    ReachThrough(&'p Path, &'p Set, &'p Path),
    ObjectOwned(&'p Path, &'p Path),
    ThreadOwned(&'p Path, Part),
}

impl<'p> Matched<'p> {
    pub fn paths(&self) -> Vec<&'p Path> {
        match self {
            Self::Heap(path) | Self::Shared(path) | Self::UniqueOwner(path) => vec![path],
            Self::ThreadOwned(path, _) => vec![path],
            Self::Reachable(a, b) | Self::Disjoint(a, b, _) | Self::ObjectOwned(a, b) => {
                vec![a, b]
            }
            Self::ReachThrough(a, _, b) => vec![a, b],
        }
    }

    /// Its name, and how many traversals it takes.
    pub fn name(&self) -> (&'static str, usize) {
        match self {
            Self::Heap(_) => ("is_heap", 1),
            Self::Shared(_) => ("is_shared", 1),
            Self::Reachable(..) => ("is_reachable", 1),
            Self::Disjoint(..) => ("is_disjoint", 2),
            Self::UniqueOwner(_) => ("is_unique_owner", 2),
            Self::ReachThrough(..) => ("reach_through", 1),
            Self::ObjectOwned(..) => ("is_object_owned", 2),
            Self::ThreadOwned(_, Part::Both) => ("is_thread_owned", 2),
            Self::ThreadOwned(_, Part::Stack) => ("is_thread_stack_owned", 2),
            Self::ThreadOwned(_, Part::Object) => ("is_thread_object_owned", 2),
        }
    }
}

/// The probe that a formula is, and whether it holds when the probe says yes.
pub(super) fn truth<'p>(program: &'p Program, formula: &'p Formula) -> Option<(Matched<'p>, bool)> {
    let (matched, holds) = any(program, formula)?;
    let is_host = matched.paths().iter().all(|it| it.is_host());
    let is_host = is_host
        && match &matched {
            Matched::ReachThrough(_, cut, _) => !mentions_any(program, cut),
            _ => true,
        };
    is_host.then_some((matched, holds))
}

fn any<'p>(program: &'p Program, formula: &'p Formula) -> Option<(Matched<'p>, bool)> {
    match formula {
        Formula::Not(of) => any(program, of).map(|(matched, holds)| (matched, !holds)),
        Formula::Probe(probe) => Some((
            match &**probe {
                Probe::IsHeap(path) => Matched::Heap(path),
                Probe::IsShared(path) => Matched::Shared(path),
                Probe::IsReachable(a, b) => Matched::Reachable(a, b),
                Probe::IsDisjoint(a, b) => Matched::Disjoint(a, b, false),
                Probe::IsUniqueOwner(path) => Matched::UniqueOwner(path),
                Probe::ReachThrough(a, cut, b) => Matched::ReachThrough(a, cut, b),
                Probe::IsObjectOwned(a, b) => Matched::ObjectOwned(a, b),
                Probe::IsThreadOwned(path, part) => Matched::ThreadOwned(path, *part),
                // No probe of the paper's: it is evaluated as such.
                Probe::IsUnique(_) => return None,
            },
            true,
        )),
        Formula::Compare(compare) => {
            let (set, least, holds) = at_least(compare)?;
            sized(set, least).map(|(matched, own)| (matched, own == holds))
        }
        Formula::SameSet(set, none) | Formula::SameSet(none, set) if matches!(&**none, Set::Literal(paths) if paths.is_empty()) => {
            sized(set, 1).map(|(matched, own)| (matched, !own))
        }
        Formula::In(path, set) => match &**set {
            Set::Reach(Source::Object(from), None) => Some((Matched::Reachable(from, path), true)),
            Set::Reach(Source::Object(from), Some(cut)) => {
                Some((Matched::ReachThrough(from, cut, path), false))
            }
            _ => None,
        },
        Formula::Dom(above, path) => Some((
            match above {
                Source::Object(above) if is_asker(above) => {
                    Matched::ThreadOwned(path, Part::Object)
                }
                Source::Object(above) => Matched::ObjectOwned(above, path),
                Source::Set(set) => match &**set {
                    Set::Stack(Thread::Object(it)) if is_asker(it) => {
                        Matched::ThreadOwned(path, Part::Stack)
                    }
                    Set::Roots(Thread::Object(it)) if is_asker(it) => {
                        Matched::ThreadOwned(path, Part::Both)
                    }
                    _ => return None,
                },
            },
            true,
        )),
        Formula::Quantified(id) => {
            let kind = program.quantifiers[id.0 as usize].kind;
            quantified(program, *id).map(|it| (it, kind == QuantifierKind::Forall))
        }
        _ => None,
    }
}

/// The probe that says whether a set has at least `least` objects; the flag is false if the probe
/// says the opposite.
fn sized(set: &Set, least: usize) -> Option<(Matched<'_>, bool)> {
    match (set, least) {
        (Set::Pred(path), 1) => Some((Matched::Heap(path), true)),
        (Set::Pred(path), 2) => Some((Matched::Shared(path), true)),
        (Set::Intersection(a, b), 1) => match (&**a, &**b) {
            (Set::Reach(Source::Object(a), None), Set::Reach(Source::Object(b), None)) => {
                Some((Matched::Disjoint(a, b, false), false))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A comparison of a set's size with a constant, as: the set has at least that many objects, or
/// (with the flag false) it has not.
pub(super) fn at_least(compare: &Compare) -> Option<(&Set, usize, bool)> {
    let (set, op, constant) = match (&compare.left, &compare.right) {
        (Operand::Size(set), Operand::Constant(constant)) => (set, compare.op, constant),
        (Operand::Constant(constant), Operand::Size(set)) => {
            let op = match compare.op {
                CompareOp::Lt => CompareOp::Gt,
                CompareOp::Le => CompareOp::Ge,
                CompareOp::Gt => CompareOp::Lt,
                CompareOp::Ge => CompareOp::Le,
                op => op,
            };
            (set, op, constant)
        }
        _ => return None,
    };
    let Constant::Plain(Value::Unsigned(count)) = constant else {
        return None;
    };
    let count = usize::try_from(*count).ok()?;
    let (least, holds) = match op {
        CompareOp::Ge => (count, true),
        CompareOp::Gt => (count.checked_add(1)?, true),
        CompareOp::Lt => (count, false),
        CompareOp::Le => (count.checked_add(1)?, false),
        CompareOp::Ne if count == 0 => (1, true),
        CompareOp::Eq if count == 0 => (1, false),
        _ => return None,
    };
    Some((set, least, holds))
}

/// What an `exists` denies or a `forall` says, of all objects.
fn quantified(program: &Program, id: QuantifierId) -> Option<Matched<'_>> {
    let quantifier = &program.quantifiers[id.0 as usize];
    if !quantifier.classes.is_all() {
        return None;
    }
    let (one, other) = match literals(program, id).as_slice() {
        [one, other] => (*one, *other),
        _ => return None,
    };
    both(id, one, other).or_else(|| both(id, other, one))
}

fn both<'p>(
    id: QuantifierId,
    (one, is_true): Literal<'p>,
    (other, too): Literal<'p>,
) -> Option<Matched<'p>> {
    let a = reached(id, one).filter(|_| is_true)?;
    match other {
        Formula::In(..) if too => {
            let b = reached(id, other)?;
            Some(Matched::Disjoint(a, b, true))
        }
        Formula::Dom(Source::Object(above), below) if !too => {
            let owns = is_variable(below, id) && is_same(above, a);
            owns.then_some(Matched::UniqueOwner(a))
        }
        _ => None,
    }
}

/// Of `reach(a).has(v)`, a.
fn reached(id: QuantifierId, formula: &Formula) -> Option<&Path> {
    let Formula::In(path, set) = formula else {
        return None;
    };
    match &**set {
        Set::Reach(Source::Object(from), None) if is_variable(path, id) => Some(from),
        _ => None,
    }
}

/// A part of a formula, and whether it must hold or must not.
type Literal<'p> = (&'p Formula, bool);

/// What an object must satisfy to be found by a quantifier: to be counted, to be an example
/// of an `exists`, to break a `forall`.
fn literals(program: &Program, id: QuantifierId) -> Vec<Literal<'_>> {
    let quantifier = &program.quantifiers[id.0 as usize];
    let mut all = Vec::new();
    if let Some(range) = &quantifier.range {
        split(range, true, &mut all);
    }
    split(
        &quantifier.body,
        quantifier.kind != QuantifierKind::Forall,
        &mut all,
    );
    all
}

fn split<'p>(formula: &'p Formula, wanted: bool, all: &mut Vec<Literal<'p>>) {
    match (formula, wanted) {
        (Formula::Constant(value), _) if *value == wanted => {}
        (Formula::Not(of), _) => split(of, !wanted, all),
        (Formula::And(a, b), true) | (Formula::Or(a, b), false) => {
            split(a, wanted, all);
            split(b, wanted, all);
        }
        (Formula::Implies(a, b), false) => {
            split(a, true, all);
            split(b, false, all);
        }
        _ => all.push((formula, wanted)),
    }
}

/// `{Thread t | running().has(t) && reach(t, avoid).has(o)}` and its likes: of which object,
/// around what, from which part of a thread.
pub(super) fn thread_reach(
    program: &Program,
    id: QuantifierId,
) -> Option<(&Path, Option<&Set>, Part)> {
    let all = literals(program, id);
    let running = |(formula, wanted): &Literal<'_>| {
        *wanted
            && matches!(formula, Formula::In(path, set)
                if is_variable(path, id) && **set == Set::Running)
    };
    let mut rest = all.iter().filter(|it| !running(it));
    let (Some((formula, true)), None) = (rest.next(), rest.next()) else {
        return None;
    };
    if all.len() < 2 {
        return None;
    }
    let (of, avoid, part) = from_thread(id, formula)?;
    let is_free = is_variable_free(of, id) && avoid.is_none_or(|it| !mentions(program, it, id));
    is_free.then_some((of, avoid, part))
}

fn from_thread(id: QuantifierId, formula: &Formula) -> Option<(&Path, Option<&Set>, Part)> {
    match formula {
        Formula::In(of, set) => {
            let Set::Reach(from, avoid) = &**set else {
                return None;
            };
            let is_it =
                |thread: &Thread| matches!(thread, Thread::Object(it) if is_variable(it, id));
            let part = match from {
                Source::Object(path) if is_variable(path, id) => Part::Object,
                Source::Set(set) => match &**set {
                    Set::Stack(thread) if is_it(thread) => Part::Stack,
                    Set::Roots(thread) if is_it(thread) => Part::Both,
                    _ => return None,
                },
                _ => return None,
            };
            Some((of, avoid.as_deref(), part))
        }
        Formula::Or(a, b) => {
            let (of, avoid, one) = from_thread(id, a)?;
            let (same, around, other) = from_thread(id, b)?;
            let part = if one == other { one } else { Part::Both };
            (is_same(of, same) && is_same_set(avoid, around)).then_some((of, avoid, part))
        }
        _ => None,
    }
}

/// The dominator of a formula that is one about the asking thread.
pub(super) fn asker_in(formula: &Formula) -> Option<&Path> {
    match formula {
        Formula::Not(of) => asker_in(of),
        Formula::Dom(Source::Object(path), _) => Some(path),
        Formula::Dom(Source::Set(set), _) => match &**set {
            Set::Stack(Thread::Object(path)) | Set::Roots(Thread::Object(path)) => Some(path),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a path is the thread object of the asking thread.
pub(super) fn is_asker(path: &Path) -> bool {
    path.start == Start::Asker && path.steps.is_empty()
}

pub(super) fn is_variable(path: &Path, id: QuantifierId) -> bool {
    path.start == Start::Variable(id) && path.steps.is_empty()
}

fn is_variable_free(path: &Path, id: QuantifierId) -> bool {
    path.start != Start::Variable(id)
}

/// Whether paths lead to the same, wherever they stand.
fn is_same(a: &Path, b: &Path) -> bool {
    a.start == b.start && a.steps == b.steps
}

/// Whether sets are the same as far as one can see.
fn is_same_set(a: Option<&Set>, b: Option<&Set>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(Set::Literal(a)), Some(Set::Literal(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// Whether a set depends on a variable, or on one whose quantifier is inside it.
fn mentions(program: &Program, set: &Set, id: QuantifierId) -> bool {
    in_set(program, set, &|path| path.start == Start::Variable(id))
}

/// Whether a set depends on logic variables, or has quantifiers.
fn mentions_any(program: &Program, set: &Set) -> bool {
    in_set(program, set, &|path| !path.is_host())
}

type Test<'t> = &'t dyn Fn(&Path) -> bool;

fn in_set(program: &Program, set: &Set, test: Test<'_>) -> bool {
    let source = |from: &Source| match from {
        Source::Object(path) => test(path),
        Source::Set(set) => in_set(program, set, test),
    };
    let avoided =
        |avoid: &Option<Box<Set>>| avoid.as_ref().is_some_and(|it| in_set(program, it, test));
    match set {
        Set::Running | Set::ReachAll => false,
        Set::Stack(thread) | Set::Roots(thread) => match thread {
            Thread::Named(_) => false,
            Thread::Object(path) => test(path),
        },
        Set::Reach(from, avoid) => source(from) || avoided(avoid),
        Set::Pred(path) => test(path),
        Set::ThreadReach(path, avoid, _) => test(path) || avoided(avoid),
        Set::Literal(paths) => paths.iter().any(test),
        Set::Of(id) => {
            let quantifier = &program.quantifiers[id.0 as usize];
            let mut formulas = quantifier.range.iter().chain([&quantifier.body]);
            formulas.any(|it| in_formula(program, it, test))
        }
        Set::Union(a, b) | Set::Intersection(a, b) | Set::Difference(a, b) => {
            in_set(program, a, test) || in_set(program, b, test)
        }
    }
}

fn in_formula(program: &Program, formula: &Formula, test: Test<'_>) -> bool {
    let again = |it: &Formula| in_formula(program, it, test);
    let set = |it: &Set| in_set(program, it, test);
    let quantifier = |id: &QuantifierId| {
        let quantifier = &program.quantifiers[id.0 as usize];
        quantifier.range.iter().chain([&quantifier.body]).any(again)
    };
    let operand = |it: &Operand| match it {
        Operand::Constant(_) => false,
        Operand::Path(path) => test(path),
        Operand::Count(id) => quantifier(id),
        Operand::Size(it) => set(it),
        // What it takes of each object depends on that object's quantifier, which counts.
        Operand::Fold(..) => true,
    };
    match formula {
        Formula::Constant(_) => false,
        Formula::Not(of) => again(of),
        Formula::And(a, b) | Formula::Or(a, b) | Formula::Implies(a, b) | Formula::Iff(a, b) => {
            again(a) || again(b)
        }
        Formula::Flag(path) | Formula::InstanceOf(path, _) | Formula::Label(path, _) => test(path),
        Formula::Compare(it) => operand(&it.left) || operand(&it.right),
        Formula::Reach(_, id) => test(&Path {
            span: crate::syntax::Span::new(0, 0),
            start: Start::Variable(*id),
            steps: Vec::new(),
        }),
        Formula::Quantified(id) => quantifier(id),
        Formula::In(path, it) => test(path) || set(it),
        Formula::SameSet(a, b) => set(a) || set(b),
        Formula::Dom(from, path) => {
            test(path)
                || match from {
                    Source::Object(path) => test(path),
                    Source::Set(it) => set(it),
                }
        }
        Formula::Probe(probe) => match &**probe {
            Probe::IsHeap(path) | Probe::IsShared(path) | Probe::IsUniqueOwner(path) => test(path),
            Probe::IsThreadOwned(path, _) | Probe::IsUnique(path) => test(path),
            Probe::IsReachable(a, b) | Probe::IsDisjoint(a, b) | Probe::IsObjectOwned(a, b) => {
                test(a) || test(b)
            }
            Probe::ReachThrough(a, cut, b) => test(a) || test(b) || set(cut),
        },
    }
}
