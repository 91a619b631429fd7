//! What is found at the end of a path, and how two such things compare.

use std::cmp::Ordering;

use heaphound_heap::Value;

use crate::resolved::{CompareBy, CompareOp};

/// What a path leads to.
#[derive(Clone, PartialEq, Debug)]
pub enum Datum<O> {
    /// Nothing that could be read: a dereference of null, or a class without the field.
    Absent,
    /// Something that is there, but that the heap does not know: unlike everything.
    Unknown,
    /// A slot that holds nothing.
    Null,
    /// An object.
    Object(O),
    /// Plain data.
    Plain(Value),
    /// A text that the statement gives.
    Text(String),
}

impl CompareOp {
    /// Whether an order of the sides is what it asks for.
    #[inline]
    pub fn allows(self, order: Ordering) -> bool {
        match self {
            Self::Eq => order.is_eq(),
            Self::Ne => order.is_ne(),
            Self::Lt => order.is_lt(),
            Self::Le => order.is_le(),
            Self::Gt => order.is_gt(),
            Self::Ge => order.is_ge(),
        }
    }

    /// The answer for sides that are unlike or have no order: they differ.
    #[inline]
    pub fn of_unlike(self) -> bool {
        self == Self::Ne
    }

    /// The answer, given whether the sides are the same; nothing has an order here.
    #[inline]
    pub fn of_identity(self, same: bool) -> bool {
        match self {
            Self::Eq => same,
            Self::Ne => !same,
            _ => false,
        }
    }
}

/// Compares what two paths lead to. `text` reads string objects.
pub fn compare<O: Copy + Eq>(
    (op, by): (CompareOp, CompareBy),
    left: &Datum<O>,
    right: &Datum<O>,
    text: impl Fn(O) -> Option<String>,
) -> bool {
    let is_text = |datum: &Datum<O>| matches!(datum, Datum::Text(_));
    let by = match by {
        CompareBy::Found => match (left, right) {
            (Datum::Plain(_), _) | (_, Datum::Plain(_)) => CompareBy::Plain,
            _ if is_text(left)
                || is_text(right)
                || !matches!(op, CompareOp::Eq | CompareOp::Ne) =>
            {
                CompareBy::Text
            }
            _ => CompareBy::Identity,
        },
        by => by,
    };
    match by {
        CompareBy::Identity => match (left, right) {
            (Datum::Null, Datum::Null) => op.of_identity(true),
            (Datum::Object(a), Datum::Object(b)) => op.of_identity(a == b),
            _ => op.of_unlike(),
        },
        CompareBy::Text => {
            let text = |datum: &Datum<O>| match datum {
                Datum::Text(text) => Some(text.clone()),
                Datum::Object(object) => text(*object),
                _ => None,
            };
            match (text(left), text(right)) {
                (Some(a), Some(b)) => op.allows(a.as_bytes().cmp(b.as_bytes())),
                _ => op.of_unlike(),
            }
        }
        _ => match (left, right) {
            (Datum::Plain(a), Datum::Plain(b)) => match compare_values(*a, *b) {
                Some(order) => op.allows(order),
                None => op.of_unlike(),
            },
            _ => op.of_unlike(),
        },
    }
}

/// The order of two plain values, numbers by value whatever their width. None if they are
/// unlike, if one is not a number, or if they differ and are truths or variants, which have
/// no order.
pub fn compare_values(a: Value, b: Value) -> Option<Ordering> {
    use Value::*;
    let integer = |value| match value {
        Unsigned(value) => Some(value as i128),
        Signed(value) => Some(value as i128),
        _ => None,
    };
    match (a, b) {
        (Bool(a), Bool(b)) => (a == b).then_some(Ordering::Equal),
        (Char(a), Char(b)) => Some(a.cmp(&b)),
        (Variant(a), Variant(b)) => (a == b).then_some(Ordering::Equal),
        (Float(a), Float(b)) => a.partial_cmp(&b),
        (Float(a), b) => Some(compare_mixed(integer(b)?, a)?.reverse()),
        (a, Float(b)) => compare_mixed(integer(a)?, b),
        (a, b) => Some(integer(a)?.cmp(&integer(b)?)),
    }
}

/// An integer against a float, exactly: neither is rounded to the other's type.
fn compare_mixed(integer: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    // Beyond all integers that a field can hold.
    const BEYOND: f64 = 1e30;
    if float.abs() > BEYOND {
        return Some(if float > 0.0 {
            Ordering::Less
        } else {
            Ordering::Greater
        });
    }
    let whole = float.trunc();
    let order = integer.cmp(&(whole as i128));
    Some(order.then((0.0).partial_cmp(&(float - whole))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_by_value() {
        let order = |a, b| compare_values(a, b).unwrap();
        use Value::*;
        assert!(order(Unsigned(u64::MAX), Signed(-1)).is_gt());
        assert!(order(Signed(3), Float(3.5)).is_lt());
        assert!(order(Float(-3.5), Signed(-3)).is_lt());
        assert!(order(Float(3.0), Unsigned(3)).is_eq());
        // 2^53 + 1 is no f64.
        assert!(order(Unsigned((1 << 53) + 1), Float((1u64 << 53) as f64)).is_gt());
        assert!(order(Signed(i64::MIN), Float(f64::NEG_INFINITY)).is_gt());
        assert_eq!(compare_values(Float(f64::NAN), Signed(0)), None);
        assert_eq!(compare_values(Bool(true), Signed(1)), None);
        assert_eq!(compare_values(Bool(false), Bool(true)), None);
        assert_eq!(compare_values(Variant("open"), Variant("shut")), None);
    }
}
