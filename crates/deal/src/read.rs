//! Reading a heap: where a path leads, and how what is found there compares.

use std::cmp::Ordering;

use heaphound_heap::class::Elements;
use heaphound_heap::view::HeapView;
use heaphound_heap::{FieldKind, Value};

use crate::bind::Bindings;
use crate::resolved::{
    CompareBy, CompareOp, Constant, Dereference, Field, FieldPlace, Path, Start, Step,
};

/// What is found at the end of a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Found<'t, O> {
    /// No object.
    Null,
    /// An object.
    Object(O),
    /// Plain data.
    Plain(Value),
    /// Text that was written down. The text of a string object is read when it is compared.
    Text(&'t str),
    /// Rust memory that nobody can look into.
    Opaque,
    /// Plain data that the heap does not have: a snapshot without values.
    Unknown,
}

impl<O> Found<'_, O> {
    /// The object, if it is one.
    pub fn object(self) -> Option<O> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl Constant {
    /// What the text gives, as if it had been found.
    pub fn found<O>(&self) -> Found<'_, O> {
        match self {
            Self::Null => Found::Null,
            Self::Plain(value) => Found::Plain(*value),
            Self::Text(text) => Found::Text(text),
        }
    }
}

/// Where a path leads. None if a step is taken of null, or of an object that does not have
/// what the step goes to. `variables` are those of quantifiers, by their numbers.
pub fn walk<V: HeapView>(
    view: &V,
    fields: &[Field],
    bindings: &Bindings<V::Object>,
    path: &Path,
    variables: &[Option<V::Object>],
) -> Option<Found<'static, V::Object>> {
    let start = match path.start {
        Start::Variable(id) => variables.get(id.0 as usize).copied().flatten(),
        Start::Host(id) => bindings.get(id),
        Start::Asker => bindings.asker(),
    };
    let mut at = start.map_or(Found::Null, Found::Object);
    for &step in &path.steps {
        at = take(view, fields, at.object()?, step)?;
    }
    Some(at)
}

/// One step from an object. None if it does not have what the step goes to.
pub fn take<V: HeapView>(
    view: &V,
    fields: &[Field],
    object: V::Object,
    step: Step,
) -> Option<Found<'static, V::Object>> {
    let or_null = |object: Option<V::Object>| object.map_or(Found::Null, Found::Object);
    let or_unknown = |value: Option<Value>| value.map_or(Found::Unknown, Found::Plain);
    let length = || view.length_of(object);
    Some(match step {
        Step::Field(id) => match place(view, fields, object, id.0)? {
            FieldPlace::Length => or_unknown(length().map(|it| Value::Unsigned(it as u64))),
            FieldPlace::Field(index) => {
                let index = index as usize;
                match view.class(view.class_of(object)).fields[index].kind {
                    FieldKind::Plain(_) => or_unknown(view.plain_value(object, index)),
                    FieldKind::Owned => Found::Opaque,
                    _ => or_null(view.slot(object, index)),
                }
            }
        },
        Step::Element(index) => {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            match view.class(view.class_of(object)).elements? {
                Elements::Refs => or_null(view.element(object, index)),
                _ => match view.plain_element(object, index) {
                    Some(value) => Found::Plain(value),
                    None if length().is_some_and(|length| index >= length) => Found::Null,
                    None => Found::Unknown,
                },
            }
        }
    })
}

/// Whether a path leads to an object that has what the step behind it goes to.
pub fn holds<V: HeapView>(
    view: &V,
    fields: &[Field],
    bindings: &Bindings<V::Object>,
    dereference: &Dereference,
    variables: &[Option<V::Object>],
) -> bool {
    let found = walk(view, fields, bindings, &dereference.path, variables);
    let Some(object) = found.and_then(Found::object) else {
        return false;
    };
    match dereference.step {
        Step::Field(id) => place(view, fields, object, id.0).is_some(),
        Step::Element(_) => view.class(view.class_of(object)).elements.is_some(),
    }
}

fn place<V: HeapView>(
    view: &V,
    fields: &[Field],
    object: V::Object,
    field: u32,
) -> Option<FieldPlace> {
    let class = view.class_of(object).0 as usize - 1;
    let places = &fields[field as usize].places;
    places.get(class).copied().flatten()
}

/// Whether a comparison holds. Unlike things differ and have no order. None if it depends on
/// something that the heap does not say.
pub fn compare<V: HeapView>(
    view: &V,
    op: CompareOp,
    by: CompareBy,
    left: Found<'_, V::Object>,
    right: Found<'_, V::Object>,
) -> Option<bool> {
    let is_order = !matches!(op, CompareOp::Eq | CompareOp::Ne);
    let same = |same: bool| same.then_some(Ordering::Equal);
    let text = |object| {
        let class = view.class(view.class_of(object));
        match class.elements {
            Some(Elements::Text) => Some(view.whole_text_of(object)),
            _ => None,
        }
    };
    let ordering = match (left, right) {
        (Found::Unknown, _) | (_, Found::Unknown) => return None,
        // Null is a reference, and references have no order.
        (Found::Null, Found::Null) => {
            same(!is_order && matches!(by, CompareBy::Identity | CompareBy::Found))
        }
        (Found::Plain(a), Found::Plain(b)) => order(a, b),
        (Found::Text(a), Found::Text(b)) => Some(a.cmp(b)),
        (Found::Object(a), Found::Text(b)) => match text(a) {
            Some(a) => Some(a?.as_str().cmp(b)),
            None => None,
        },
        (Found::Text(a), Found::Object(b)) => match text(b) {
            Some(b) => Some(a.cmp(b?.as_str())),
            None => None,
        },
        (Found::Object(a), Found::Object(b)) if is_order || by == CompareBy::Text => {
            match (text(a), text(b)) {
                (Some(a), Some(b)) => Some(a?.cmp(&b?)),
                _ => None,
            }
        }
        (Found::Object(a), Found::Object(b)) => same(a == b),
        _ => None,
    };
    Some(match op {
        CompareOp::Eq => ordering == Some(Ordering::Equal),
        CompareOp::Ne => ordering != Some(Ordering::Equal),
        CompareOp::Lt => ordering.is_some_and(Ordering::is_lt),
        CompareOp::Le => ordering.is_some_and(Ordering::is_le),
        CompareOp::Gt => ordering.is_some_and(Ordering::is_gt),
        CompareOp::Ge => ordering.is_some_and(Ordering::is_ge),
    })
}

/// How plain values compare: numbers by value whatever their width. None if they are unlike,
/// or differ and have no order.
pub fn order(a: Value, b: Value) -> Option<Ordering> {
    let integer = |value| match value {
        Value::Unsigned(value) => Some(value as i128),
        Value::Signed(value) => Some(value as i128),
        _ => None,
    };
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => (a == b).then_some(Ordering::Equal),
        (Value::Variant(a), Value::Variant(b)) => (a == b).then_some(Ordering::Equal),
        (Value::Char(a), Value::Char(b)) => Some(a.cmp(&b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(&b),
        (Value::Float(a), b) => order_of_unlike(integer(b)?, a).map(Ordering::reverse),
        (a, Value::Float(b)) => order_of_unlike(integer(a)?, b),
        (a, b) => Some(integer(a)?.cmp(&integer(b)?)),
    }
}

/// Exactly: not all integers are floating-point numbers.
fn order_of_unlike(a: i128, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    // What lies outside saturates, far beyond any integer of 64 bits.
    let whole = b.trunc() as i128;
    let fraction = b - b.trunc();
    Some(a.cmp(&whole).then(match fraction {
        part if part > 0.0 => Ordering::Less,
        part if part < 0.0 => Ordering::Greater,
        _ => Ordering::Equal,
    }))
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
            assert_eq!(order(a, b), expected, "{a} and {b}");
            assert_eq!(order(b, a), expected.map(Ordering::reverse), "{b} and {a}");
        }
    }
}
