//! The tree that is evaluated: what each part depends on, and where its result is kept.
//!
//! It is the resolved tree but for this: probes by name that are asked of a logic variable
//! have become their definitions, what matches a probe has become that probe, and sets that
//! mean the same have the same number.

use std::rc::Rc;

use heaphound_heap::root::Part;

use super::pattern::Matched;
use crate::resolved::{
    ClassSet, Compare, Constant, LabelId, Path, Quantifier, QuantifierId, RelationId, Start, Thread,
};
use crate::syntax::{Fold, QuantifierKind};

/// The logic variables that something depends on, in order.
pub(super) type Depends = Vec<QuantifierId>;

/// Something that is true or false.
pub(super) enum Truth<'p> {
    Constant(bool),
    Not(Box<Truth<'p>>),
    And(Box<Truth<'p>>, Box<Truth<'p>>),
    Or(Box<Truth<'p>>, Box<Truth<'p>>),
    Iff(Box<Truth<'p>>, Box<Truth<'p>>),
    Flag(&'p Path),
    Compare(&'p Compare, Number<'p>, Number<'p>),
    /// Whether a set has at least that many objects.
    AtLeast(SetNode<'p>, usize),
    InstanceOf(&'p Path, &'p ClassSet),
    Label(&'p Path, LabelId),
    /// A relation is the set of that number.
    Relation(RelationId, QuantifierId, usize),
    Loop(Box<Loop<'p>>),
    In(Member<'p>),
    Same(Box<SetNode<'p>>, Box<SetNode<'p>>),
    Dom(Dom<'p>),
    Probe(Box<Asked<'p>>),
    /// Whether one reference at most leads to it.
    Unique(&'p Path),
    /// What would be asked again with the same variables; where its answer is kept.
    Kept(Box<Truth<'p>>, Depends, usize),
}

/// A value.
pub(super) enum Number<'p> {
    Constant(&'p Constant),
    Path(&'p Path),
    Count(Box<Loop<'p>>),
    Size(Box<SetNode<'p>>),
    /// One value made of those of all that are found.
    Fold(Box<Loop<'p>>, Fold, Box<Number<'p>>),
}

/// A set, and where it is kept.
pub(super) struct SetNode<'p> {
    pub kind: SetKind<'p>,
    pub depends: Depends,
    pub slot: usize,
}

pub(super) enum SetKind<'p> {
    Running,
    ThreadRoots(&'p Thread, Part),
    ReachAll,
    Reach(From<'p>, Option<Box<SetNode<'p>>>),
    Pred(&'p Path),
    ThreadReach(ThreadReach<'p>),
    Literal(Vec<&'p Path>),
    Of(Box<Loop<'p>>),
    Union(Box<SetNode<'p>>, Box<SetNode<'p>>),
    Intersection(Box<SetNode<'p>>, Box<SetNode<'p>>),
    Difference(Box<SetNode<'p>>, Box<SetNode<'p>>),
}

impl SetKind<'_> {
    /// Whether threads can be in it, as such: also those that have no thread object.
    pub fn can_have_threads(&self) -> bool {
        match self {
            Self::Running | Self::ThreadReach(_) => true,
            Self::Union(a, b) => a.kind.can_have_threads() || b.kind.can_have_threads(),
            Self::Intersection(a, b) => a.kind.can_have_threads() && b.kind.can_have_threads(),
            Self::Difference(a, _) => a.kind.can_have_threads(),
            _ => false,
        }
    }
}

pub(super) struct ThreadReach<'p> {
    pub of: &'p Path,
    pub avoid: Option<Box<SetNode<'p>>>,
    pub part: Part,
    /// Whose range it is, if it was written as a quantifier.
    pub quantifier: Option<&'p Quantifier>,
    /// Where what each thread reaches is kept, if more than one object is asked about.
    pub reached: Option<usize>,
}

/// Where a reachability question starts.
pub(super) enum From<'p> {
    Object(&'p Path),
    Set(Box<SetNode<'p>>),
}

/// Whether an object is in a set.
pub(super) struct Member<'p> {
    pub object: &'p Path,
    pub set: Rc<SetNode<'p>>,
}

/// What dominates.
pub(super) enum Above<'p> {
    Object(&'p Path),
    Objects(Box<SetNode<'p>>),
    /// A part of a thread, as a node of the graph: paths pass it if they start there.
    Thread(&'p Thread, Part),
    /// The same of the asking thread.
    Asker(Part),
}

pub(super) struct Dom<'p> {
    pub above: Above<'p>,
    pub below: &'p Path,
    pub depends: Depends,
    /// This dominator is needed only once.
    pub once: bool,
    /// Where it is kept what the dominator reaches, and what others reach.
    pub slots: [usize; 2],
}

/// A quantifier.
pub(super) struct Loop<'p> {
    pub id: QuantifierId,
    pub quantifier: &'p Quantifier,
    pub range: Option<Truth<'p>>,
    pub body: Truth<'p>,
    /// Whether what its body says can bound the objects that are looked at.
    pub is_bounded: bool,
    pub depends: Depends,
    /// The paths by which alone it reads the variables that it depends on, where it is so. Its answer
    /// is the same wherever these lead to the same.
    pub reads: Option<Vec<&'p Path>>,
    /// Where the answer is kept.
    pub slot: usize,
}

/// A probe that is asked.
pub(super) struct Asked<'p> {
    pub probe: Matched<'p>,
    /// The set of objects that paths avoid.
    pub cut: Option<SetNode<'p>>,
    pub depends: Depends,
    /// What it means, for when a part of the question is null or garbage.
    pub meaning: Option<Truth<'p>>,
}

impl Truth<'_> {
    /// Adds the logic variables that it depends on, in any order.
    pub fn depends(&self, all: &mut Depends) {
        match self {
            Self::Constant(_) => {}
            Self::Not(of) => of.depends(all),
            Self::And(a, b) | Self::Or(a, b) | Self::Iff(a, b) => {
                a.depends(all);
                b.depends(all);
            }
            Self::Flag(path)
            | Self::InstanceOf(path, _)
            | Self::Label(path, _)
            | Self::Unique(path) => {
                all.extend(of_path(path));
            }
            Self::Compare(_, a, b) => {
                a.depends(all);
                b.depends(all);
            }
            Self::AtLeast(set, _) => all.extend(&set.depends),
            Self::Relation(_, id, _) => all.push(*id),
            Self::Loop(own) => all.extend(&own.depends),
            Self::In(member) => {
                all.extend(of_path(member.object));
                all.extend(&member.set.depends);
            }
            Self::Same(a, b) => {
                all.extend(&a.depends);
                all.extend(&b.depends);
            }
            Self::Dom(dom) => {
                all.extend(of_path(dom.below));
                all.extend(&dom.depends);
            }
            Self::Probe(asked) => all.extend(&asked.depends),
            Self::Kept(_, depends, _) => all.extend(depends),
        }
    }
}

impl Number<'_> {
    pub fn depends(&self, all: &mut Depends) {
        match self {
            Self::Constant(_) => {}
            Self::Path(path) => all.extend(of_path(path)),
            Self::Count(own) | Self::Fold(own, ..) => all.extend(&own.depends),
            Self::Size(set) => all.extend(&set.depends),
        }
    }
}

impl<'p> Truth<'p> {
    /// Adds the paths by which it reads logic variables, each but `own`. Returns whether it reads
    /// them in no other way.
    fn reads(&self, own: &[QuantifierId], all: &mut Vec<&'p Path>) -> bool {
        let is_own = |depends: &Depends| is_within(depends, own);
        match self {
            Self::Constant(_) => true,
            Self::Not(of) | Self::Kept(of, ..) => of.reads(own, all),
            Self::And(a, b) | Self::Or(a, b) | Self::Iff(a, b) => {
                a.reads(own, all) && b.reads(own, all)
            }
            Self::Flag(path)
            | Self::InstanceOf(path, _)
            | Self::Label(path, _)
            | Self::Unique(path) => add_read(path, own, all),
            Self::Compare(_, a, b) => a.reads(own, all) && b.reads(own, all),
            Self::In(member) => is_own(&member.set.depends) && add_read(member.object, own, all),
            Self::Loop(inner) => inner.adds_reads(own, all),
            Self::AtLeast(..)
            | Self::Relation(..)
            | Self::Same(..)
            | Self::Dom(_)
            | Self::Probe(_) => {
                let mut depends = Depends::new();
                self.depends(&mut depends);
                is_own(&depends)
            }
        }
    }
}

impl<'p> Number<'p> {
    fn reads(&self, own: &[QuantifierId], all: &mut Vec<&'p Path>) -> bool {
        match self {
            Self::Constant(_) => true,
            Self::Path(path) => add_read(path, own, all),
            Self::Count(inner) => inner.adds_reads(own, all),
            Self::Size(set) => is_within(&set.depends, own),
            // Values that are equal can be of different types, and sum up to different ones.
            Self::Fold(inner, _, of) => {
                let mut depends = of_number(of);
                depends.retain(|it| *it != inner.id);
                is_within(&depends, own) && inner.adds_reads(own, all)
            }
        }
    }
}

/// The variables that a value depends on.
fn of_number(number: &Number<'_>) -> Depends {
    let mut depends = Depends::new();
    number.depends(&mut depends);
    depends
}

/// Adds a path that starts at a variable, unless that is one of its own.
fn add_read<'p>(path: &'p Path, own: &[QuantifierId], all: &mut Vec<&'p Path>) -> bool {
    if !is_within(&of_path(path), own) && !all.contains(&path) {
        all.push(path);
    }
    true
}

/// The paths by which a quantifier reads the variables around it, if it does so in no other way.
pub(super) fn reads<'p>(
    id: QuantifierId,
    range: Option<&Truth<'p>>,
    body: &Truth<'p>,
) -> Option<Vec<&'p Path>> {
    let mut all = Vec::new();
    let mut parts = range.into_iter().chain([body]);
    parts.all(|it| it.reads(&[id], &mut all)).then_some(all)
}

impl<'p> Loop<'p> {
    /// Adds the paths by which it reads variables, but its own and these. Returns whether it reads
    /// them in no other way.
    fn adds_reads(&self, own: &[QuantifierId], all: &mut Vec<&'p Path>) -> bool {
        let own = [own, &[self.id]].concat();
        let mut parts = self.range.iter().chain([&self.body]);
        parts.all(|it| it.reads(&own, all))
    }

    pub fn kind(&self) -> QuantifierKind {
        self.quantifier.kind
    }
}

/// The variable that a path starts at.
pub(super) fn of_path(path: &Path) -> Depends {
    match path.start {
        Start::Variable(id) => vec![id],
        _ => Vec::new(),
    }
}

/// Whether all of some variables are among others.
pub(super) fn is_within(a: &[QuantifierId], b: &[QuantifierId]) -> bool {
    a.iter().all(|it| b.contains(it))
}
