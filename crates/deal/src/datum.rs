//! What is found at the end of a path, and how two such things compare.

use std::cmp::Ordering;

use heaphound_heap::Value;

use crate::resolved::{CompareBy, CompareOp, Constant};

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
    /// A whole number that no field can hold: a sum.
    Whole(i128),
    /// A text that the statement gives.
    Text(String),
}

impl CompareOp {
    /// Whether it is true of sides in that order.
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

    /// The result for sides that are unlike or have no order: they differ.
    #[inline]
    pub fn of_unlike(self) -> bool {
        self == Self::Ne
    }

    /// The result, given whether the sides are the same; nothing has an order here.
    #[inline]
    pub fn of_identity(self, same: bool) -> bool {
        match self {
            Self::Eq => same,
            Self::Ne => !same,
            _ => false,
        }
    }
}

impl Constant {
    /// What the text gives, as if a path had led to it.
    pub fn datum<O>(&self) -> Datum<O> {
        match self {
            Self::Null => Datum::Null,
            Self::Plain(value) => Datum::Plain(*value),
            Self::Text(text) => Datum::Text(text.clone()),
        }
    }
}

/// Compares what two paths lead to. Unlike things differ and have no order. None if it depends on
/// something that the heap does not know. `text` reads an object: [`Datum::Text`] if it is a
/// string, [`Datum::Unknown`] if its text is not known.
pub fn compare<O: Copy + Eq>(
    (op, by): (CompareOp, CompareBy),
    left: &Datum<O>,
    right: &Datum<O>,
    text: impl Fn(O) -> Datum<O>,
) -> Option<bool> {
    use Datum::{Absent, Null, Object, Plain, Text, Unknown, Whole};
    if matches!((left, right), (Unknown, _) | (_, Unknown)) {
        return None;
    }
    let is_text = |datum: &Datum<O>| matches!(datum, Text(_));
    let is_order = !matches!(op, CompareOp::Eq | CompareOp::Ne);
    let by = match by {
        CompareBy::Found => match (left, right) {
            (Plain(_) | Whole(_), _) | (_, Plain(_) | Whole(_)) => CompareBy::Plain,
            _ if is_text(left) || is_text(right) || is_order => CompareBy::Text,
            _ => CompareBy::Identity,
        },
        by => by,
    };
    let unlike = op.of_unlike();
    Some(match by {
        CompareBy::Identity => match (left, right) {
            (Null, Null) => op.of_identity(true),
            (Object(a), Object(b)) => op.of_identity(a == b),
            _ => unlike,
        },
        CompareBy::Text => {
            let text = |datum: &Datum<O>| match datum {
                Object(object) => text(*object),
                Text(text) => Text(text.clone()),
                _ => Absent,
            };
            match (text(left), text(right)) {
                (Text(a), Text(b)) => op.allows(a.cmp(&b)),
                (Text(_) | Unknown, Text(_) | Unknown) => return None,
                _ => unlike,
            }
        }
        CompareBy::Plain | CompareBy::Found => match (left, right) {
            (Plain(a), Plain(b)) => match compare_values(*a, *b) {
                Some(order) => op.allows(order),
                None => unlike,
            },
            (Whole(a), Whole(b)) => op.allows(a.cmp(b)),
            (Whole(a), Plain(b)) => match compare_whole(*a, *b) {
                Some(order) => op.allows(order),
                None => unlike,
            },
            (Plain(a), Whole(b)) => match compare_whole(*b, *a) {
                Some(order) => op.allows(order.reverse()),
                None => unlike,
            },
            _ => unlike,
        },
    })
}

/// The order of a whole number and a plain value. None if that is not a number.
fn compare_whole(a: i128, b: Value) -> Option<Ordering> {
    match b {
        Value::Unsigned(b) => Some(a.cmp(&(b as i128))),
        Value::Signed(b) => Some(a.cmp(&(b as i128))),
        Value::Float(b) => compare_mixed(a, b),
        Value::Bool(_) | Value::Char(_) | Value::Variant(_) => None,
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

/// What plain values are equal by: two have the same if and only if they compare as equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PlainKey {
    /// A whole number, whatever its type.
    Integer(i128),
    /// The bits of any other.
    Float(u64),
    /// True or false.
    Bool(bool),
    /// A character.
    Char(char),
    /// A variant of an enum.
    Variant(&'static str),
}

/// What a plain value is equal by; none if it is equal to nothing, not to itself either.
pub fn plain_key(value: Value) -> Option<PlainKey> {
    Some(match value {
        Value::Unsigned(value) => PlainKey::Integer(value as i128),
        Value::Signed(value) => PlainKey::Integer(value as i128),
        Value::Float(value) if value.is_nan() => return None,
        Value::Float(value) if value.abs() <= BEYOND && value.trunc() == value => {
            PlainKey::Integer(value as i128)
        }
        Value::Float(value) => PlainKey::Float(value.to_bits()),
        Value::Bool(value) => PlainKey::Bool(value),
        Value::Char(value) => PlainKey::Char(value),
        Value::Variant(value) => PlainKey::Variant(value),
    })
}

/// Beyond all integers that a field can hold.
const BEYOND: f64 = 1e30;

/// An integer against a float, exactly: neither is rounded to the other's type.
fn compare_mixed(integer: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
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
    fn numbers_compare_by_value_whatever_their_width() {
        use Ordering::{Equal, Greater, Less};
        let cases = [
            (Value::Unsigned(3), Value::Signed(3), Some(Equal)),
            (Value::Signed(-1), Value::Unsigned(u64::MAX), Some(Less)),
            (Value::Unsigned(3), Value::Float(3.0), Some(Equal)),
            (Value::Unsigned(3), Value::Float(3.5), Some(Less)),
            (Value::Signed(-3), Value::Float(-3.5), Some(Greater)),
            (
                Value::Unsigned(u64::MAX),
                Value::Float(2f64.powi(64)),
                Some(Less),
            ),
            (
                Value::Unsigned((1 << 53) + 1),
                Value::Float(2f64.powi(53)),
                Some(Greater),
            ),
            (Value::Signed(0), Value::Float(f64::INFINITY), Some(Less)),
            (Value::Signed(0), Value::Float(f64::NAN), None),
            (Value::Float(0.0), Value::Float(-0.0), Some(Equal)),
            (Value::Bool(true), Value::Bool(false), None),
            (Value::Bool(true), Value::Unsigned(1), None),
            (Value::Char('a'), Value::Char('b'), Some(Less)),
        ];
        for (a, b, expected) in cases {
            assert_eq!(compare_values(a, b), expected, "{a} and {b}");
            let reversed = expected.map(Ordering::reverse);
            assert_eq!(compare_values(b, a), reversed, "{b} and {a}");
        }
    }

    #[test]
    fn what_is_not_known_compares_with_nothing() {
        let text = |object| match object {
            1 => Datum::Text("one".into()),
            2 => Datum::Unknown,
            _ => Datum::Absent,
        };
        let equal = |by, a: Datum<u32>, b: Datum<u32>| compare((CompareOp::Eq, by), &a, &b, text);
        let one = || Datum::Text("one".into());
        use Datum::{Null, Object, Unknown};
        assert_eq!(equal(CompareBy::Text, Object(1), one()), Some(true));
        assert_eq!(equal(CompareBy::Text, Object(2), one()), None);
        assert_eq!(equal(CompareBy::Text, Object(3), one()), Some(false));
        assert_eq!(equal(CompareBy::Text, Object(3), Object(2)), Some(false));
        assert_eq!(equal(CompareBy::Found, Unknown, Null), None);
        assert_eq!(equal(CompareBy::Identity, Object(2), Object(2)), Some(true));
        assert_eq!(equal(CompareBy::Found, Null, Null), Some(true));
        assert_eq!(equal(CompareBy::Text, Null, Null), Some(false));
    }

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
