//! Which objects of a quantifier's range can matter, so that not all are looked at.
//!
//! `exists Node y: y.next == x` inside a quantifier over `x` would be a loop in a loop. What its body
//! says bounds the objects that can make it true: here those whose `next` is `x`, which an index tells
//! ([`Index`]). A bound may have more objects than matter, for each is still tested, and never
//! fewer. What breaks a `forall` is bounded in the same way as what satisfies an `exists`.

use super::pattern::is_variable;
use super::tree::{Depends, Loop, Number, SetKind, SetNode, Truth};
use crate::datum::{Datum, PlainKey, plain_key};
use crate::resolved::{CompareBy, CompareOp, Constant, Path, QuantifierId, Start};
use crate::syntax::QuantifierKind;

/// Where the objects are that can matter.
pub(super) enum Bound<'t, 'p> {
    /// It is this one: `y == x.next`.
    One(&'t Number<'p>),
    /// What an object points at: `x in pred(y)`.
    Targets(&'p Path),
    /// Those of which a path leads to the same: `y.next == x`.
    Equal(&'p Path, &'t Number<'p>),
    /// Those in a set: `y in reach(x)`.
    Set(&'t SetNode<'p>),
    /// Those within either.
    Either(Box<Bound<'t, 'p>>, Box<Bound<'t, 'p>>),
    /// All, if this has that truth, which does not depend on them; otherwise those within.
    Unless(&'t Truth<'p>, bool, Box<Bound<'t, 'p>>),
}

impl Bound<'_, '_> {
    /// Whether few objects are left, most likely. Of a set, nobody knows.
    pub fn is_by_index(&self) -> bool {
        match self {
            Self::One(_) | Self::Targets(_) | Self::Equal(..) => true,
            // What points at all objects is as much as there are references.
            Self::Set(set) => matches!(
                set.kind,
                SetKind::Pred(_)
                    | SetKind::Literal(_)
                    | SetKind::Running
                    | SetKind::ThreadRoots(..)
                    | SetKind::ThreadReach(_)
            ),
            Self::Either(a, b) => a.is_by_index() && b.is_by_index(),
            Self::Unless(_, _, of) => of.is_by_index(),
        }
    }
}

/// Whether a truth is about one variable alone and quickly found.
fn is_own(truth: &Truth<'_>, id: QuantifierId) -> bool {
    fn is_quick(truth: &Truth<'_>) -> bool {
        let is_path = |it: &Number<'_>| matches!(it, Number::Path(_) | Number::Constant(_));
        match truth {
            Truth::Flag(_) | Truth::InstanceOf(..) | Truth::Label(..) => true,
            Truth::Compare(_, a, b) => is_path(a) && is_path(b),
            Truth::Not(of) | Truth::Kept(of, ..) => is_quick(of),
            Truth::And(a, b) | Truth::Or(a, b) | Truth::Iff(a, b) => is_quick(a) && is_quick(b),
            _ => false,
        }
    }
    let mut depends = Depends::new();
    truth.depends(&mut depends);
    is_quick(truth) && !depends.is_empty() && depends.iter().all(|it| *it == id)
}

impl<'p> Loop<'p> {
    /// What an object must be to matter, as far as this is about the object alone: each is to have
    /// that truth.
    pub fn own_conditions(&self) -> Vec<(&Truth<'p>, bool)> {
        fn add<'t, 'p>(
            truth: &'t Truth<'p>,
            wanted: bool,
            id: QuantifierId,
            all: &mut Vec<(&'t Truth<'p>, bool)>,
        ) {
            match (truth, wanted) {
                _ if is_own(truth, id) => all.push((truth, wanted)),
                (Truth::Not(of), _) => add(of, !wanted, id, all),
                (Truth::Kept(of, ..), _) => add(of, wanted, id, all),
                (Truth::And(a, b), true) | (Truth::Or(a, b), false) => {
                    add(a, wanted, id, all);
                    add(b, wanted, id, all);
                }
                _ => {}
            }
        }
        let mut all = Vec::new();
        let found = self.kind() != QuantifierKind::Forall;
        self.range
            .iter()
            .for_each(|it| add(it, true, self.id, &mut all));
        add(&self.body, found, self.id, &mut all);
        all
    }

    /// Where the objects are that can matter; none if they can be anywhere.
    pub fn bound(&self) -> Option<Bound<'_, 'p>> {
        if !self.is_bounded {
            return None;
        }
        // An index is made once and must be of use more than once.
        let bounds = Bounds {
            id: self.id,
            indexes: !self.depends.is_empty(),
        };
        let found = self.kind() != QuantifierKind::Forall;
        let of_body = bounds.of(&self.body, found);
        let of_range = self.range.as_ref().and_then(|it| bounds.of(it, true));
        better(of_range, of_body)
    }
}

struct Bounds {
    id: QuantifierId,
    indexes: bool,
}

impl Bounds {
    /// Where the objects are of which something is as wanted.
    fn of<'t, 'p>(&self, truth: &'t Truth<'p>, wanted: bool) -> Option<Bound<'t, 'p>> {
        match (truth, wanted) {
            (Truth::Not(of), _) => self.of(of, !wanted),
            (Truth::Kept(of, ..), _) => self.of(of, wanted),
            (Truth::And(a, b), true) | (Truth::Or(a, b), false) => {
                better(self.of(a, wanted), self.of(b, wanted))
            }
            (Truth::Or(a, b), true) | (Truth::And(a, b), false) => {
                let is_free = |it: &Truth<'p>| {
                    let mut depends = Depends::new();
                    it.depends(&mut depends);
                    !depends.contains(&self.id)
                };
                match (self.of(a, wanted), self.of(b, wanted)) {
                    (Some(a), Some(b)) => Some(Bound::Either(Box::new(a), Box::new(b))),
                    (Some(bound), None) if is_free(b) => {
                        Some(Bound::Unless(b, wanted, Box::new(bound)))
                    }
                    (None, Some(bound)) if is_free(a) => {
                        Some(Bound::Unless(a, wanted, Box::new(bound)))
                    }
                    _ => None,
                }
            }
            (Truth::In(member), true) => {
                let is_of = |path: &Path| path.start == Start::Variable(self.id);
                if is_variable(member.object, self.id) && !member.set.depends.contains(&self.id) {
                    return Some(Bound::Set(&member.set));
                }
                match member.set.kind {
                    SetKind::Pred(of) if is_variable(of, self.id) && !is_of(member.object) => {
                        Some(Bound::Targets(member.object))
                    }
                    _ => None,
                }
            }
            (Truth::Compare(it, left, right), _) => {
                let says_equal = match it.op {
                    CompareOp::Eq => wanted,
                    CompareOp::Ne => !wanted,
                    _ => false,
                };
                // Text is compared by what it says, which no index knows.
                if !says_equal || it.by == CompareBy::Text {
                    return None;
                }
                self.equal(left, right).or_else(|| self.equal(right, left))
            }
            _ => None,
        }
    }

    /// Those of which the one side, which is theirs, equals the other, which is not.
    fn equal<'t, 'p>(&self, own: &'t Number<'p>, other: &'t Number<'p>) -> Option<Bound<'t, 'p>> {
        let Number::Path(path) = own else {
            return None;
        };
        let mut depends = Depends::new();
        other.depends(&mut depends);
        let is_text = matches!(other, Number::Constant(Constant::Text(_)));
        if path.start != Start::Variable(self.id) || depends.contains(&self.id) || is_text {
            return None;
        }
        match path.steps.as_slice() {
            [] => Some(Bound::One(other)),
            _ => self.indexes.then_some(Bound::Equal(path, other)),
        }
    }
}

/// The one with which fewer objects are looked at, most likely.
fn better<'t, 'p>(a: Option<Bound<'t, 'p>>, b: Option<Bound<'t, 'p>>) -> Option<Bound<'t, 'p>> {
    fn rank(bound: &Bound<'_, '_>) -> usize {
        match bound {
            Bound::One(_) => 0,
            Bound::Targets(_) | Bound::Equal(..) => 1,
            Bound::Either(a, b) => 1 + rank(a).max(rank(b)),
            Bound::Unless(_, _, of) => 1 + rank(of),
            Bound::Set(_) => 8,
        }
    }
    match (a, b) {
        (Some(a), Some(b)) => Some(if rank(&b) < rank(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Objects by what a path of theirs leads to.
pub(super) struct Index<O> {
    entries: Vec<(Key<O>, O)>,
    /// Those of which it is not known, in order.
    unknown: Vec<O>,
}

/// What things are equal by. Two that compare as equal have the same; two that have the same may
/// still differ, where only objects or only plain data compare.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key<O> {
    Null,
    Object(O),
    Plain(PlainKey),
}

impl<O: Copy> Key<O> {
    /// None if it is equal to nothing.
    pub fn of(datum: &Datum<O>) -> Option<Self> {
        match datum {
            Datum::Absent | Datum::Null => Some(Self::Null),
            Datum::Object(object) => Some(Self::Object(*object)),
            Datum::Plain(value) => plain_key(*value).map(Self::Plain),
            Datum::Whole(value) => Some(Self::Plain(PlainKey::Integer(*value))),
            Datum::Unknown | Datum::Text(_) => None,
        }
    }
}

impl<O: Copy + Ord> Index<O> {
    /// Looks at all objects.
    pub fn new(objects: &[O], of: impl Fn(O) -> Datum<O>) -> Self {
        let mut entries = Vec::new();
        let mut unknown = Vec::new();
        for &object in objects {
            let datum = of(object);
            match Key::of(&datum) {
                Some(key) => entries.push((key, object)),
                None if matches!(datum, Datum::Unknown) => unknown.push(object),
                None => {}
            }
        }
        entries.sort_unstable();
        Self { entries, unknown }
    }

    /// The objects whose path leads to the same, and those of which nobody knows, in order. None if
    /// it could be any: what is looked for is not known.
    pub fn equal(&self, to: &Datum<O>) -> Option<Vec<O>> {
        let equal = self.entries(to)?.iter().map(|(_, object)| *object);
        let mut found = self.unknown.clone();
        found.extend(equal);
        if !self.unknown.is_empty() {
            found.sort_unstable();
        }
        Some(found)
    }

    /// How many these are.
    pub fn count(&self, to: &Datum<O>) -> Option<usize> {
        Some(self.unknown.len() + self.entries(to)?.len())
    }

    /// How many they can be.
    pub fn most(&self) -> usize {
        let equal = self.entries.chunk_by(|(a, _), (b, _)| a == b);
        self.unknown.len() + equal.map(<[_]>::len).max().unwrap_or(0)
    }

    fn entries(&self, to: &Datum<O>) -> Option<&[(Key<O>, O)]> {
        if matches!(to, Datum::Unknown | Datum::Text(_)) {
            return None;
        }
        let Some(key) = Key::of(to) else {
            return Some(&[]);
        };
        let start = self.entries.partition_point(|(it, _)| *it < key);
        let end = self.entries.partition_point(|(it, _)| *it <= key);
        Some(&self.entries[start..end])
    }
}
