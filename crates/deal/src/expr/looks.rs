//! How many objects an evaluation looks at, told before it starts.
//!
//! A quantifier is evaluated once for each combination of the variables that it depends on, or of what it
//! reads of them. How many objects an index then finds is known once the heap is known: the figure is
//! made from the values and references of its objects, and is never too low.

use std::cell::OnceCell;
use std::collections::HashSet;

use heaphound_heap::ClassId;
use heaphound_heap::fields::Readable;

use super::Expression;
use super::bound::{Bound, Index, Key};
use super::explain::Counter;
use super::tree::{Loop, Number, SetKind, SetNode};
use crate::datum::Datum;
use crate::interpret::Ground;
use crate::resolved::{ClassSet, Path, QuantifierId, Start};

impl Expression<'_> {
    /// Returns how many objects its quantifiers look at, each as often as it is looked at, on a heap of
    /// these objects. It can be fewer: an evaluation ends as soon as the answer is known.
    pub fn looks<V: Readable>(&self, view: &V, objects: &[V::Object]) -> u64 {
        let mut counter = Counter::of(self.program);
        counter.root(&self.root);
        let hosts = vec![None; self.resolved.hosts.len()];
        let (fields, classes) = (view.fields(), view.classes());
        let sizes = Sizes {
            expression: self,
            view,
            objects,
            ground: Ground::new(fields, classes, self.resolved, &hosts, &[], None),
            counts: OnceCell::new(),
            references: OnceCell::new(),
            most_to: OnceCell::new(),
        };
        let looks = counter.all.iter().map(|it| sizes.looks(it));
        looks.fold(0, u64::saturating_add)
    }
}

struct Sizes<'a, 'v, V: Readable> {
    expression: &'a Expression<'a>,
    view: &'v V,
    objects: &'a [V::Object],
    ground: Ground<'a, V::Fields<'v>>,
    /// How many objects of each class there are, in the order of their ids.
    counts: OnceCell<Vec<u64>>,
    references: OnceCell<References>,
    /// How many references lead to one object at most.
    most_to: OnceCell<u64>,
}

/// How many references there are, and how many lead from one object at most.
#[derive(Clone, Copy)]
struct References {
    all: u64,
    most_from: u64,
}

impl<V: Readable> Sizes<'_, '_, V> {
    fn looks(&self, own: &Loop<'_>) -> u64 {
        match own.bound() {
            None => self.all(own),
            Some(bound) => self.within(own, &bound),
        }
    }

    fn within(&self, own: &Loop<'_>, bound: &Bound<'_, '_>) -> u64 {
        match bound {
            Bound::One(number) => self.with_each(own, number, 1, |datum| match datum {
                Datum::Unknown => self.count(&own.quantifier.classes),
                _ => 1,
            }),
            Bound::Targets(path) => {
                let References { all, most_from } = self.references();
                self.along(own, path, all, || most_from)
            }
            Bound::Equal(path, number) => {
                let classes = &own.quantifier.classes;
                let walked = |object| self.ground.walk(path, Some(object));
                let index = Index::new(&self.of(classes), walked);
                let found = |datum: &Datum<V::Object>| match index.count(datum) {
                    Some(found) => found as u64,
                    None => self.count(classes),
                };
                self.with_each(own, number, index.most() as u64, found)
            }
            Bound::Set(set) => match &set.kind {
                SetKind::Pred(path) => {
                    let References { all, .. } = self.references();
                    self.along(own, path, all, || self.most_to())
                }
                _ => self.times(own, None).saturating_mul(self.size(set)),
            },
            Bound::Either(a, b) => self.within(own, a).saturating_add(self.within(own, b)),
            // Nobody knows how often it is all.
            Bound::Unless(_, _, of) => self.all(own).max(self.within(own, of)),
        }
    }

    /// All objects of a quantifier, each time.
    fn all(&self, own: &Loop<'_>) -> u64 {
        let own_count = self.count(&own.quantifier.classes);
        self.times(own, None).saturating_mul(own_count)
    }

    /// How often a quantifier is evaluated, for each object of one of the variables that it depends on.
    fn times(&self, own: &Loop<'_>, of: Option<QuantifierId>) -> u64 {
        let others = own.depends.iter().filter(|it| Some(**it) != of);
        let counts = others.map(|id| self.count(self.classes(*id)));
        counts.fold(1, u64::saturating_mul)
    }

    /// What is found with the value of something, for all that it can be. `most` is found if that is a
    /// number which nobody knows yet.
    fn with_each(
        &self,
        own: &Loop<'_>,
        number: &Number<'_>,
        most: u64,
        found: impl Fn(&Datum<V::Object>) -> u64,
    ) -> u64 {
        let (of, all) = match number {
            Number::Constant(constant) => (None, found(&constant.datum())),
            Number::Path(path) => match path.start {
                Start::Variable(id) => {
                    // An answer is found once for each value, if nothing else is read.
                    let is_all = own.reads.as_deref().is_some_and(|it| it == [*path]);
                    let mut known = HashSet::new();
                    let objects = self.of(self.classes(id)).into_iter();
                    let data = objects.map(|it| self.ground.walk(path, Some(it)));
                    let new = data.filter(|datum| match Key::of(datum) {
                        Some(key) if is_all => known.insert(key),
                        _ => true,
                    });
                    let all = new.map(|it| found(&it)).fold(0, u64::saturating_add);
                    (Some(id), all)
                }
                _ => (None, self.count(&own.quantifier.classes)),
            },
            Number::Count(_) | Number::Size(_) => (None, most),
            Number::Fold(..) => (None, self.count(&own.quantifier.classes)),
        };
        self.times(own, of).saturating_mul(all)
    }

    /// What is found along the references from or to where a path leads.
    fn along(&self, own: &Loop<'_>, path: &Path, all: u64, most: impl Fn() -> u64) -> u64 {
        match (path.start, path.steps.as_slice()) {
            (Start::Variable(id), []) => self.times(own, Some(id)).saturating_mul(all),
            _ => self.times(own, None).saturating_mul(most()),
        }
    }

    /// How many objects a set has, at most.
    fn size(&self, set: &SetNode<'_>) -> u64 {
        let all = self.objects.len() as u64;
        match &set.kind {
            SetKind::Running | SetKind::ThreadReach(_) => self.view.threads().len() as u64,
            SetKind::ThreadRoots(..) => {
                let mut roots = 0;
                self.view.for_each_root(|_, _| roots += 1);
                roots
            }
            SetKind::Literal(paths) => paths.len() as u64,
            SetKind::Of(own) => self.count(&own.quantifier.classes),
            SetKind::Pred(_) => self.most_to(),
            SetKind::ReachAll | SetKind::Reach(..) => all,
            SetKind::Union(a, b) => all.min(self.size(a).saturating_add(self.size(b))),
            SetKind::Intersection(a, b) => self.size(a).min(self.size(b)),
            SetKind::Difference(a, _) => self.size(a),
        }
    }

    fn classes(&self, id: QuantifierId) -> &ClassSet {
        &self.expression.program.quantifiers[id.0 as usize].classes
    }

    fn of(&self, classes: &ClassSet) -> Vec<V::Object> {
        let objects = self.objects.iter().copied();
        objects
            .filter(|it| classes.contains(self.view.class_of(*it)))
            .collect()
    }

    fn count(&self, classes: &ClassSet) -> u64 {
        let counts = self.counts.get_or_init(|| {
            let mut counts = vec![0; self.view.classes().len()];
            for &object in self.objects {
                counts[self.view.class_of(object).0 as usize - 1] += 1;
            }
            counts
        });
        let counts = (1..).map(ClassId).zip(counts);
        counts
            .filter(|(it, _)| classes.contains(*it))
            .map(|it| it.1)
            .sum()
    }

    fn references(&self) -> References {
        *self.references.get_or_init(|| {
            let (mut all, mut most_from) = (0, 0);
            for &object in self.objects {
                let mut count = 0;
                self.view.for_each_target(object, |_| count += 1);
                all += count;
                most_from = most_from.max(count);
            }
            References { all, most_from }
        })
    }

    fn most_to(&self) -> u64 {
        *self.most_to.get_or_init(|| {
            let mut targets = Vec::new();
            for &object in self.objects {
                self.view.for_each_target(object, |to| targets.push(to));
            }
            targets.sort_unstable();
            let most = targets.chunk_by(|a, b| a == b).map(<[_]>::len).max();
            most.unwrap_or(0) as u64
        })
    }
}
