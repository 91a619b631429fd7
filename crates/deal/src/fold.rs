//! One value made of many: sums, the least, the largest.

use heaphound_heap::Value;
use heaphound_heap::fields::Fields;

use crate::datum::Datum;
use crate::interpret::Ground;
use crate::resolved::{CompareBy, CompareOp};
use crate::syntax::Fold;

/// Makes one value of many. The sum of none is 0; of none there is no least and no largest.
pub(crate) fn folded<F: Fields>(
    ground: &Ground<'_, F>,
    fold: Fold,
    values: impl Iterator<Item = Datum<F::Object>>,
) -> Datum<F::Object> {
    match fold {
        Fold::Sum => sum(values),
        Fold::Min => extreme(ground, values, CompareOp::Lt),
        Fold::Max => extreme(ground, values, CompareOp::Gt),
    }
}

/// The least or the largest of what has an order; the first one of equals, which also
/// says what sort of value it is.
fn extreme<F: Fields>(
    ground: &Ground<'_, F>,
    values: impl Iterator<Item = Datum<F::Object>>,
    op: CompareOp,
) -> Datum<F::Object> {
    let is_it = |op, left: &Datum<F::Object>, right: &Datum<F::Object>| {
        ground.compare(op, CompareBy::Found, left, right) == Some(true)
    };
    let is_ordered = |datum: &Datum<F::Object>| {
        !matches!(datum, Datum::Plain(Value::Bool(_) | Value::Variant(_)))
            && is_it(CompareOp::Le, datum, datum)
    };
    values
        .filter(is_ordered)
        .reduce(|best, next| match is_it(op, &next, &best) {
            true => next,
            false => best,
        })
        .unwrap_or(Datum::Absent)
}

/// The sum of numbers: exact while all are whole, else a float. 0 of none.
fn sum<O>(values: impl Iterator<Item = Datum<O>>) -> Datum<O> {
    let (mut whole, mut float, mut is_whole) = (0i128, 0f64, true);
    for value in values {
        let value = match value {
            Datum::Plain(Value::Unsigned(value)) => value as i128,
            Datum::Plain(Value::Signed(value)) => value as i128,
            Datum::Whole(value) => value,
            Datum::Plain(Value::Float(value)) => {
                float += value;
                is_whole = false;
                continue;
            }
            _ => continue,
        };
        // A heap has fewer than 2^32 objects: even sums of sums of sums stay below.
        whole = whole.saturating_add(value);
        float += value as f64;
    }
    match is_whole {
        false => Datum::Plain(Value::Float(float)),
        true => match (u64::try_from(whole), i64::try_from(whole)) {
            (Ok(value), _) => Datum::Plain(Value::Unsigned(value)),
            (_, Ok(value)) => Datum::Plain(Value::Signed(value)),
            _ => Datum::Whole(whole),
        },
    }
}
