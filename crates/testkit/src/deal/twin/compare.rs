//! What compares with what, and how.
//!
//! Numbers compare by value, exactly: an integer that a float cannot hold is still more or less
//! than that float. Not-a-number differs from all and has no order. Text compares byte by byte,
//! characters by their numbers. Truth values, variants and objects have no order. Things of two
//! kinds differ.

use std::cmp::Ordering;
use std::fmt::Debug;

use heaphound_deal::resolved::{CompareBy, CompareOp};
use heaphound_heap::Value;
use heaphound_heap::view::HeapView;

use super::{Item, Sum, Twin};

/// How two things relate.
#[derive(Clone, Copy, PartialEq)]
enum Relation {
    Same,
    Before,
    Behind,
    /// They differ, and neither comes first.
    Unlike,
}

impl<V: HeapView> Twin<'_, V>
where
    V::Object: Debug,
{
    pub(super) fn compare(
        &self,
        op: CompareOp,
        by: CompareBy,
        left: &Item<V::Object>,
        right: &Item<V::Object>,
    ) -> bool {
        let is_order = !matches!(op, CompareOp::Eq | CompareOp::Ne);
        let has_text = matches!(left, Item::Text(_)) || matches!(right, Item::Text(_));
        // What both sides turn out to be decides, where the text does not.
        let by = match (by, left, right) {
            (CompareBy::Found, Item::Plain(_), Item::Plain(_)) => CompareBy::Plain,
            (CompareBy::Found, ..) if has_text || is_order => CompareBy::Text,
            (CompareBy::Found, ..) => CompareBy::Identity,
            (by, ..) => by,
        };
        let relation = match by {
            CompareBy::Plain => match (left, right) {
                (Item::Plain(left), Item::Plain(right)) => plain(*left, *right),
                _ => Relation::Unlike,
            },
            CompareBy::Text => match (self.text(left), self.text(right)) {
                (Some(left), Some(right)) => ordered(left.as_bytes().cmp(right.as_bytes())),
                _ => Relation::Unlike,
            },
            _ => match (left, right) {
                (Item::Null, Item::Null) => Relation::Same,
                (Item::Object(left), Item::Object(right)) if left == right => Relation::Same,
                _ => Relation::Unlike,
            },
        };
        match op {
            CompareOp::Eq => relation == Relation::Same,
            CompareOp::Ne => relation != Relation::Same,
            CompareOp::Lt => relation == Relation::Before,
            CompareOp::Le => matches!(relation, Relation::Before | Relation::Same),
            CompareOp::Gt => relation == Relation::Behind,
            CompareOp::Ge => matches!(relation, Relation::Behind | Relation::Same),
        }
    }

    /// The text of a constant or of a string.
    fn text(&self, item: &Item<V::Object>) -> Option<String> {
        match item {
            Item::Text(text) => Some(text.clone()),
            Item::Object(object) => self.world.view.text_of(*object),
            _ => None,
        }
    }

    /// The first item that comes before (or behind) all others, among numbers, characters and
    /// strings. Not-a-number does not count; of two kinds the one that comes first does.
    pub(super) fn extreme(
        &self,
        items: &[Item<V::Object>],
        wanted: Ordering,
    ) -> Option<Item<V::Object>> {
        let wanted = ordered(wanted);
        let relation = |a: &Item<V::Object>, b: &Item<V::Object>| match (a, b) {
            (Item::Plain(a), Item::Plain(b)) => plain(*a, *b),
            _ => match (self.text(a), self.text(b)) {
                (Some(a), Some(b)) => ordered(a.as_bytes().cmp(b.as_bytes())),
                _ => Relation::Unlike,
            },
        };
        let counts = |item: &&Item<V::Object>| match item {
            Item::Plain(Value::Bool(_) | Value::Variant(_)) => false,
            Item::Plain(value) => plain(*value, *value) == Relation::Same,
            item => self.text(item).is_some(),
        };
        let mut best: Option<&Item<V::Object>> = None;
        for item in items.iter().filter(counts) {
            if best.is_none_or(|best| relation(item, best) == wanted) {
                best = Some(item);
            }
        }
        best.cloned()
    }
}

/// The sum of all numbers among these.
pub(super) fn sum<O>(items: &[Item<O>]) -> Sum {
    let numbers = items.iter().filter_map(|item| match item {
        Item::Plain(value) => number(*value),
        _ => None,
    });
    let numbers: Vec<Number> = numbers.collect();
    let mut exact = 0;
    let mut float = 0.0;
    let mut is_exact = true;
    for number in numbers {
        match number {
            Number::Integer(it) => {
                exact += it;
                float += it as f64;
            }
            Number::Float(it) => {
                is_exact = false;
                float += it;
            }
        }
    }
    match is_exact {
        true => Sum::Exact(exact),
        false => Sum::Float(float),
    }
}

enum Number {
    Integer(i128),
    Float(f64),
}

fn number(value: Value) -> Option<Number> {
    match value {
        Value::Unsigned(it) => Some(Number::Integer(it.into())),
        Value::Signed(it) => Some(Number::Integer(it.into())),
        Value::Float(it) => Some(Number::Float(it)),
        _ => None,
    }
}

fn plain(left: Value, right: Value) -> Relation {
    let same = |same| match same {
        true => Relation::Same,
        false => Relation::Unlike,
    };
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => same(left == right),
        (Value::Variant(left), Value::Variant(right)) => same(left == right),
        (Value::Char(left), Value::Char(right)) => ordered(left.cmp(&right)),
        _ => match (number(left), number(right)) {
            (Some(left), Some(right)) => numbers(left, right).map_or(Relation::Unlike, ordered),
            _ => Relation::Unlike,
        },
    }
}

fn numbers(left: Number, right: Number) -> Option<Ordering> {
    match (left, right) {
        (Number::Integer(left), Number::Integer(right)) => Some(left.cmp(&right)),
        (Number::Float(left), Number::Float(right)) => left.partial_cmp(&right),
        (Number::Integer(left), Number::Float(right)) => with_float(left, right),
        (Number::Float(left), Number::Integer(right)) => {
            with_float(right, left).map(Ordering::reverse)
        }
    }
}

/// No integer of a heap is as large as 2^100, and below that whole floats are integers.
fn with_float(left: i128, right: f64) -> Option<Ordering> {
    let bound = 2f64.powi(100);
    if right.is_nan() {
        return None;
    }
    if right >= bound {
        return Some(Ordering::Less);
    }
    if right <= -bound {
        return Some(Ordering::Greater);
    }
    let whole = right.floor() as i128;
    // Where the whole parts are equal, a fraction makes the float the greater.
    let fraction = right > right.floor();
    Some(left.cmp(&whole).then(match fraction {
        true => Ordering::Less,
        false => Ordering::Equal,
    }))
}

fn ordered(ordering: Ordering) -> Relation {
    match ordering {
        Ordering::Less => Relation::Before,
        Ordering::Equal => Relation::Same,
        Ordering::Greater => Relation::Behind,
    }
}
