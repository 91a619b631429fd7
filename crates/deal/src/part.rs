//! What a verdict on a part of a heap says of the whole.
//!
//! A file that was cut short has objects, references and roots of the heap, and not all of them. What was read of an object is all
//! there: its plain data, and its references or that they lead somewhere unknown. So what is said of one object stays as it is, what is
//! reached stays reached, and what is found stays found, while nobody knows what else there is.

use crate::resolved::{Formula, GcAssertion, Operand, Program, QuantifierId, Statement};
use crate::syntax::QuantifierKind;

/// Whether a statement that holds on a part of a heap holds on the whole, too. No answer is no.
pub fn holds_for_good(program: &Program) -> bool {
    match &program.statement {
        Statement::Assertion(_, formula) | Statement::Formula(formula) => {
            stays(program, formula, true)
        }
        _ => false,
    }
}

/// Whether a statement that does not hold on a part of a heap does not hold on the whole either. No answer is no.
pub fn fails_for_good(program: &Program) -> bool {
    match &program.statement {
        Statement::Assertion(_, formula) | Statement::Formula(formula) => {
            stays(program, formula, false)
        }
        Statement::Gc(assertion) => match assertion {
            GcAssertion::Instances(..)
            | GcAssertion::Volume(..)
            | GcAssertion::Unshared(..)
            | GcAssertion::Dead(_) => true,
            // What owns it may be missing, or the way from there.
            GcAssertion::OwnedBy(..) => false,
        },
        Statement::Query(_) | Statement::Value(_) | Statement::Set(_) => false,
    }
}

/// Whether a formula that has a value on a part of a heap has it on the whole.
fn stays(program: &Program, formula: &Formula, value: bool) -> bool {
    let stays = |formula, value| stays(program, formula, value);
    match formula {
        Formula::Constant(_) | Formula::Flag(_) | Formula::InstanceOf(..) | Formula::Label(..) => {
            true
        }
        Formula::Compare(it) => {
            let is_read = |it: &Operand| matches!(it, Operand::Constant(_) | Operand::Path(_));
            is_read(&it.left) && is_read(&it.right)
        }
        Formula::Not(of) => stays(of, !value),
        Formula::And(a, b) | Formula::Or(a, b) => stays(a, value) && stays(b, value),
        Formula::Implies(a, b) => stays(a, !value) && stays(b, value),
        Formula::Iff(a, b) => [a, b]
            .into_iter()
            .all(|it| stays(it, true) && stays(it, false)),
        Formula::Reach(..) => value,
        Formula::Quantified(id) => match kind(program, *id) {
            (QuantifierKind::Forall, range, body) => {
                !value && range.is_none_or(|it| stays(it, true)) && stays(body, false)
            }
            (QuantifierKind::Exists, range, body) => {
                value && range.is_none_or(|it| stays(it, true)) && stays(body, true)
            }
            _ => false,
        },
        Formula::In(..) | Formula::SameSet(..) | Formula::Dom(..) | Formula::Probe(_) => false,
    }
}

fn kind(program: &Program, id: QuantifierId) -> (QuantifierKind, Option<&Formula>, &Formula) {
    let quantifier = &program.quantifiers[id.0 as usize];
    (quantifier.kind, quantifier.range.as_ref(), &quantifier.body)
}
