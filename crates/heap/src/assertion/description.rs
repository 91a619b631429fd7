//! What is said of violations: findings with the paths that prove them.
//!
//! An object is proved reachable by the shortest path to it, a shared object by two paths that end
//! in different references, surplus instances by groups of paths that go the same way. An object
//! that was to be owned is reachable and its owner does not reach it, so that any path bypasses
//! the owner.

use std::collections::{HashMap, HashSet};

use super::{AssertionKind, Breach, Excess, Limit, Violation};
use crate::class::ClassId;
use crate::finding::{Evidence, Finding, Fingerprint, Path, Severity, group};
use crate::path::{Arrivals, Origin, Reached, Search, Trail, named, shortest};
use crate::root::{Root, RootKind, RootSet};
use crate::trace::Traceable;
use crate::view::HeapView;

/// Hops of paths that one description tells, more or less.
const MOST_HOPS: usize = 50_000;
/// Objects of which one description finds out whether only what they hold refers to them.
const MOST_SEARCHES: usize = 16;
/// The most paths that the finding about a class shows.
const MOST_SHOWN: usize = 5;

/// What is said of one violation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Described {
    /// This.
    In(Box<Description>),
    /// It counts with one that was described, which has this fingerprint.
    As(Fingerprint),
}

/// What is said of violations that are known by one fingerprint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Description {
    /// The finding, without what [`Description::finding`] adds.
    finding: Finding,
    /// Whether only stack slots hold the objects (drag).
    drag: bool,
}

/// Where and how an assertion was stated.
#[derive(Clone, Copy, Default, Debug)]
pub struct Stated<'a> {
    /// The place in the program.
    pub place: Option<&'a str>,
    /// What the finding is to say besides.
    pub message: Option<&'a str>,
    /// The collection that checked it.
    pub collection: Option<u64>,
}

impl Description {
    /// What it is known by from run to run.
    pub fn fingerprint(&self) -> Fingerprint {
        self.finding.fingerprint()
    }

    /// What is the matter, in a sentence.
    fn message(&self) -> String {
        let what = &self.finding.message;
        match self.drag {
            true => format!("{what}: only a stack slot holds it (drag)"),
            false => what.clone(),
        }
    }

    /// Adds objects that are held in the same way.
    pub fn join(&mut self, other: &Self) {
        self.drag &= other.drag;
        let objects = other.finding.objects.iter();
        self.finding.objects.extend(objects.cloned());
    }

    /// The finding.
    pub fn finding(self, stated: &Stated<'_>) -> Finding {
        let what = self.message();
        Finding {
            message: match stated.message {
                Some(message) => format!("{what}: {message}"),
                None => what,
            },
            place: stated.place.map(String::from),
            collection: stated.collection,
            ..self.finding
        }
    }
}

impl From<Finding> for Description {
    fn from(finding: Finding) -> Self {
        Self {
            finding,
            drag: false,
        }
    }
}

/// What is said of each violation, by one search from the roots. Sorted by kind and
/// assertion; the nearest come first, so that a group is known by them. Paths are told while
/// there are not too many hops; beyond that an object counts with the nearest of its class and
/// assertion.
pub fn describe<V: Traceable>(
    view: &V,
    mut violations: Vec<Violation<V::Object>>,
) -> Vec<(Violation<V::Object>, Described)> {
    if violations.is_empty() {
        return Vec::new();
    }
    let objects: Vec<V::Object> = violations.iter().map(|it| it.object).collect();
    let mut visits = view.visits();
    let everywhere = Search::everywhere();
    let reached = Reached::new(view, &mut visits, &everywhere, &objects);
    violations.sort_by_key(|it| {
        let order = reached.order(it.object).unwrap_or(u32::MAX);
        (it.breach.kind(), it.assertion, order, it.object)
    });
    let mut hops = 0;
    let mut seen = HashSet::new();
    let mut trails = Vec::new();
    for violation in &violations {
        let is_first = seen.insert(group_of(view, violation));
        let trail = match is_first || hops < MOST_HOPS {
            true => reached.trail(violation.object),
            false => None,
        };
        hops += trail.as_ref().map_or(0, |trail| trail.objects.len());
        trails.push(trail);
    }
    // Other references matter where an object is shared, and where it may be that only a stack
    // slot holds it.
    let asked = violations.iter().zip(&trails).filter(|(it, trail)| {
        let told = trail.as_ref();
        told.is_some_and(|trail| it.breach.kind() == AssertionKind::Unshared || is_drag(trail))
    });
    let asked: Vec<V::Object> = asked.map(|(it, _)| it.object).collect();
    let arrivals = Arrivals::new(view, &mut visits, &everywhere, &asked, 2);
    let rooted = Rooted::of(view, &asked);
    let mut searches = 0;
    let mut first: HashMap<Group, Fingerprint> = HashMap::new();
    let mut described = Vec::new();
    for (violation, trail) in violations.into_iter().zip(trails) {
        let key = group_of(view, &violation);
        let Some(trail) = trail else {
            described.push((violation, Described::As(first[&key])));
            continue;
        };
        let object = violation.object;
        let is_shared = violation.breach.kind() == AssertionKind::Unshared;
        let evidence = match is_shared {
            true => both_ways(view, &arrivals, &rooted, object),
            false => vec![Evidence::way(trail.describe(view))],
        };
        let drag = !is_shared
            && is_drag(&trail)
            && !rooted.elsewhere.contains(&object)
            && (arrivals.edges(object).is_empty() || {
                searches += 1;
                searches <= MOST_SEARCHES && is_dominated(view, &mut visits, object)
            });
        let it = named(view, object);
        let what = sentence(violation.breach, &it.name);
        let finding = Finding {
            objects: vec![it],
            evidence,
            ..Finding::new(violation.breach.kind().name(), Severity::Error, what)
        };
        let description = Description { finding, drag };
        first
            .entry(key)
            .or_insert_with(|| description.fingerprint());
        described.push((violation, Described::In(Box::new(description))));
    }
    described
}

/// Violations of one group count together where there are too many.
type Group = (AssertionKind, u32, ClassId);

fn group_of<V: HeapView>(view: &V, violation: &Violation<V::Object>) -> Group {
    let class = view.class_of(violation.object);
    (violation.breach.kind(), violation.assertion, class)
}

fn sentence(breach: Breach, name: &str) -> String {
    match breach {
        Breach::Dead => format!("{name} was asserted dead and is reachable"),
        Breach::Region => {
            format!("{name} was allocated in a region that was asserted dead, and is reachable")
        }
        Breach::Shared { references } => {
            format!("{name} was asserted unshared, and {references} references lead to it")
        }
        Breach::NotOwned { owner_lives: true } => {
            format!("{name} is reachable, but not through the object that was asserted to own it")
        }
        Breach::NotOwned { owner_lives: false } => {
            format!("{name} has outlived the object that was asserted to own it")
        }
    }
}

/// What is said of a class: how much of it lives, and how its instances are held.
pub fn describe_class<V: Traceable>(view: &V, excess: &Excess<V::Object>) -> Description {
    let info = view.class(excess.class);
    let class = &info.name;
    let amount = excess.amount;
    // An interface has no instances but those of other classes.
    let counted = match excess.subclasses && !info.is_interface {
        true => format!("{class} and its subclasses"),
        false => class.clone(),
    };
    let what = match excess.limit {
        Limit::Instances(limit) => {
            format!("{amount} instances of {counted} live; the assertion allows {limit}")
        }
        Limit::Volume(limit) => {
            format!("instances of {counted} take {amount} bytes; the assertion allows {limit}")
        }
    };
    // Those that are held in the same way are one group.
    let (paths, told) = paths_to(view, &excess.sample);
    let groups = group(paths);
    let mut notes = Vec::new();
    if groups.len() > MOST_SHOWN {
        let more = groups.len() - MOST_SHOWN;
        notes.push(format!("{more} more ways lead to instances"));
    }
    if told < excess.instances {
        notes.push(format!("paths were looked for to {told} of them"));
    }
    let shown = excess.sample.iter().take(MOST_SHOWN);
    let groups = groups.into_iter().take(MOST_SHOWN);
    Description::from(Finding {
        class: Some(class.clone()),
        objects: shown.map(|&it| named(view, it)).collect(),
        evidence: groups
            .map(|(count, path)| Evidence::group(count, path))
            .collect(),
        notes,
        ..Finding::new(excess.limit.kind().name(), Severity::Error, what)
    })
}

/// The shortest paths to objects, and to how many of these they were looked for: to all, or as
/// many as can be told. In a list each is as long as what comes before.
pub fn paths_to<V: Traceable>(view: &V, objects: &[V::Object]) -> (Vec<Path>, usize) {
    let reached = Reached::new(view, &mut view.visits(), &Search::everywhere(), objects);
    let (mut paths, mut hops) = (Vec::new(), 0);
    for (told, &object) in objects.iter().enumerate() {
        hops += reached.back(object).count();
        if hops > MOST_HOPS && told > 0 {
            return (paths, told);
        }
        paths.extend(reached.trail(object).map(|trail| trail.describe(view)));
    }
    (paths, objects.len())
}

/// Says that ownership could not be checked for a number of objects.
pub fn not_checked(ownees: usize) -> Description {
    Description::from(Finding::new(
        "ownership-not-checked",
        Severity::Warning,
        format!(
            "whether {ownees} objects are owned was not checked: their owners reach too much. \
             The next collections go on from there"
        ),
    ))
}

/// Whether a path is a stack slot and nothing else.
fn is_drag<O>(trail: &Trail<O>) -> bool {
    let on_stack = |root: &Root| root.kind == RootKind::ThreadStack;
    trail.objects.len() == 1 && trail.root.as_ref().is_some_and(on_stack)
}

/// Whether no way leads to an object but from the roots that refer to it.
fn is_dominated<V: Traceable>(view: &V, visits: &mut V::Visits<'_>, object: V::Object) -> bool {
    let mut others = Vec::new();
    view.for_each_root_target(RootSet::All, |it| {
        others.extend((it != object).then_some(it))
    });
    let search = Search {
        from: Origin::Objects(&others),
        avoid: &[],
    };
    shortest(view, visits, &search, object).is_none()
}

/// What roots refer to some objects.
struct Rooted<O> {
    /// Those that other roots than stack slots refer to.
    elsewhere: HashSet<O>,
    /// The statics that do.
    statics: HashMap<O, Vec<Root>>,
}

impl<O: Copy + Eq + std::hash::Hash> Rooted<O> {
    fn of<V: HeapView<Object = O>>(view: &V, objects: &[O]) -> Self {
        let asked: HashSet<O> = objects.iter().copied().collect();
        let mut rooted = Self {
            elsewhere: HashSet::new(),
            statics: HashMap::new(),
        };
        if asked.is_empty() {
            return rooted;
        }
        view.for_each_root(|root, object| {
            // What waits for its finalizer is held by nobody.
            let counts = RootSet::Lasting.includes(root.kind, &root.name);
            if !counts || !asked.contains(&object) {
                return;
            }
            rooted.elsewhere.insert(object);
            if root.kind == RootKind::Static {
                let statics = rooted.statics.entry(object).or_default();
                statics.push(root.clone());
            }
        });
        rooted
    }
}

/// Up to two paths that end in different references to an object: the shortest, and the
/// shortest that ends otherwise.
fn both_ways<V: Traceable>(
    view: &V,
    arrivals: &Arrivals<'_, V>,
    rooted: &Rooted<V::Object>,
    object: V::Object,
) -> Vec<Evidence> {
    let statics = rooted.statics.get(&object).into_iter().flatten();
    let statics = statics.map(|root| Trail {
        root: Some(root.clone()),
        objects: vec![object],
        places: Vec::new(),
    });
    let both = statics.chain(arrivals.trails(object)).take(2);
    both.map(|trail| Evidence::way(trail.describe(view)))
        .collect()
}
