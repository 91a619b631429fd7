//! What is said of violations: findings with the paths that prove them.
//!
//! An object is proved reachable by the shortest path to it, a shared object by two paths that end
//! in different references, surplus instances by groups of paths that go the same way. An object
//! that was to be owned is reachable and its owner does not reach it, so that any path bypasses
//! the owner.
//!
//! Where much of a region is still reachable, most of it is so because some of it holds the rest.
//! Only those that hold are told; the others count with them.

use std::collections::{HashMap, HashSet};

use super::{AssertionKind, Breach, Excess, Limit, Slots, Violation};
use crate::class::ClassId;
use crate::finding::{Evidence, Finding, Fingerprint, Named, Path, Severity, group};
use crate::path::{Arrivals, Origin, Reached, Search, named, shortest};
use crate::root::{Root, RootKind, RootSet};
use crate::trace::Traceable;
use crate::view::HeapView;

/// Hops of paths that one description tells, more or less.
const MOST_HOPS: usize = 50_000;
/// Objects of which one description finds out whether only what they hold refers to them.
const MOST_SEARCHES: usize = 16;
/// The most paths that the finding about a class shows.
const MOST_SHOWN: usize = 5;
/// The most objects that a finding names of those that another one holds.
const MOST_NAMED: usize = 100;

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
    /// How many others the first of them holds that break the assertion, too.
    held: usize,
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

    /// Says something more.
    pub fn note(&mut self, note: impl Into<String>) {
        self.finding.notes.push(note.into());
    }

    /// What is the matter, in a sentence.
    fn message(&self) -> String {
        let mut what = self.finding.message.clone();
        if self.drag {
            what.push_str(": only a stack slot holds it (drag)");
        }
        match self.held {
            0 => what,
            1 => format!("{what}, and so is 1 more that it holds"),
            held => format!("{what}, and so are {held} more that it holds"),
        }
    }

    /// Adds objects that are held in the same way.
    pub fn join(&mut self, other: &Self) {
        self.drag &= other.drag;
        self.held += other.held;
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
            held: 0,
        }
    }
}

/// What is said of each violation, by one search from the roots. Sorted by kind and
/// assertion; the nearest come first, so that a group is known by them. What was allocated in a
/// region and is held by something else of that region counts with it. Paths are told while
/// there are not too many hops; beyond that an object counts with the nearest of its class and
/// assertion.
pub fn describe<V: Traceable>(
    view: &V,
    violations: Vec<Violation<V::Object>>,
) -> Vec<(Violation<V::Object>, Described)> {
    describe_by(view, violations, &Slots::default())
}

/// The same, where only references of some slots count.
pub fn describe_by<V: Traceable>(
    view: &V,
    mut violations: Vec<Violation<V::Object>>,
    slots: &Slots,
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
    let holders = holders(&reached, &violations);
    let mut hops = 0;
    let mut seen = HashSet::new();
    let mut paths = Vec::new();
    for (violation, holder) in violations.iter().zip(&holders) {
        let told = holder.is_none() && (seen.insert(group_of(view, violation)) || hops < MOST_HOPS);
        let path = match told {
            true => reached.path(violation.object),
            false => None,
        };
        hops += path.as_ref().map_or(0, |path| path.length() + 1);
        paths.push(path);
    }
    // Other references matter where an object is shared, and where it may be that only a stack
    // slot holds it.
    let asked = violations.iter().zip(&paths).filter(|(it, path)| {
        let told = path.as_ref();
        told.is_some_and(|path| it.breach.kind() == AssertionKind::Unshared || is_drag(path))
    });
    let asked: Vec<V::Object> = asked.map(|(it, _)| it.object).collect();
    let counts = |from, place| slots.counts(view, from, place);
    let arrivals = Arrivals::of_edges(view, &mut visits, &everywhere, &asked, 2, counts);
    let statics = match slots.are_all() {
        true => statics_of(view, &asked),
        false => HashMap::new(),
    };
    let mut searches = 0;
    let mut first: HashMap<Group, Fingerprint> = HashMap::new();
    let mut described: Vec<(Violation<V::Object>, Described)> = Vec::new();
    for ((violation, path), holder) in violations.into_iter().zip(paths).zip(holders) {
        let key = group_of(view, &violation);
        let object = violation.object;
        if let Some(holder) = holder {
            let it = hold(&mut described[holder].1, || named(view, object));
            described.push((violation, Described::As(it)));
            continue;
        }
        let Some(path) = path else {
            described.push((violation, Described::As(first[&key])));
            continue;
        };
        let is_shared = violation.breach.kind() == AssertionKind::Unshared;
        let drag = !is_shared
            && is_drag(&path)
            && (arrivals.edges(object).is_empty() || {
                searches += 1;
                searches <= MOST_SEARCHES && is_dominated(view, &mut visits, object)
            });
        let evidence = match is_shared {
            true => both_ways(view, &arrivals, &statics, object),
            false => vec![Evidence::way(path)],
        };
        let it = named(view, object);
        let what = sentence(violation.breach, &it.to_string(), slots);
        let finding = Finding {
            objects: vec![it],
            evidence,
            ..Finding::new(violation.breach.kind().name(), Severity::Error, what)
        };
        let description = Description {
            finding,
            drag,
            held: 0,
        };
        first
            .entry(key)
            .or_insert_with(|| description.fingerprint());
        described.push((violation, Described::In(Box::new(description))));
    }
    described
}

/// Adds to what is said of an object that it holds another. Returns what both are known by.
fn hold(holder: &mut Described, name: impl FnOnce() -> Named) -> Fingerprint {
    match holder {
        Described::As(fingerprint) => *fingerprint,
        Described::In(description) => {
            description.held += 1;
            if description.finding.objects.len() < MOST_NAMED {
                description.finding.objects.push(name());
            }
            description.fingerprint()
        }
    }
}

/// Of objects of a region that the way to another one leads through, the first: by its place
/// among the violations, which are sorted.
fn holders<V: Traceable>(
    reached: &Reached<'_, V>,
    violations: &[Violation<V::Object>],
) -> Vec<Option<usize>> {
    let mut holders: Vec<Option<usize>> = vec![None; violations.len()];
    let places = violations.iter().enumerate();
    let places = places.filter(|(_, it)| it.breach == Breach::Region);
    let places: HashMap<V::Object, usize> = places.map(|(at, it)| (it.object, at)).collect();
    if places.len() < 2 {
        return holders;
    }
    /// The last one on the way to an object, before it and with it.
    #[derive(Clone, Copy)]
    struct Last {
        before: u32,
        with: u32,
    }
    const NONE: u32 = u32::MAX;
    let last = reached.carried(|way: Option<(V::Object, Last)>, object| {
        let before = way.map_or(NONE, |(_, last)| last.with);
        let with = places.get(&object).map_or(before, |&at| at as u32);
        Last { before, with }
    });
    // Those of one region come together, the nearest first: what holds comes before what is held.
    for (at, violation) in violations.iter().enumerate() {
        let Some(Last { mut before, .. }) = last.get(&violation.object).copied() else {
            continue;
        };
        if violation.breach != Breach::Region {
            continue;
        }
        while before != NONE {
            let holder = before as usize;
            if violations[holder].assertion == violation.assertion {
                holders[at] = Some(holders[holder].unwrap_or(holder));
                break;
            }
            before = last[&violations[holder].object].before;
        }
    }
    holders
}

/// Violations of one group count together where there are too many.
type Group = (AssertionKind, u32, ClassId);

fn group_of<V: HeapView>(view: &V, violation: &Violation<V::Object>) -> Group {
    let class = view.class_of(violation.object);
    (violation.breach.kind(), violation.assertion, class)
}

fn sentence(breach: Breach, name: &str, slots: &Slots) -> String {
    match breach {
        Breach::Dead => format!("{name} was asserted dead and is reachable"),
        Breach::Region => {
            format!("{name} was allocated in a region that was asserted dead, and is reachable")
        }
        Breach::Shared { references } => {
            let by = match slots.are_all() {
                true => String::new(),
                false => format!(" by {slots}"),
            };
            format!("{name} was asserted unshared, and {references} references{by} lead to it")
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
        paths.extend(reached.path(object));
    }
    (paths, objects.len())
}

/// Says that ownership could not be checked for a number of objects.
pub fn not_checked(ownees: usize, why: NotChecked) -> Description {
    let why = match why {
        NotChecked::TooMuch => "their owners reach too much. The next collections go on from there",
        NotChecked::Pruned => {
            "references were pruned, perhaps those by which their owners held them"
        }
    };
    Description::from(Finding::new(
        "ownership-not-checked",
        Severity::Warning,
        format!("whether {ownees} objects are owned was not checked: {why}"),
    ))
}

/// Why it is not known whether objects are owned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotChecked {
    /// Owners reach too many objects.
    TooMuch,
    /// Leak pruning has cut references.
    Pruned,
}

/// Says that what was asserted, perhaps several times, has been checked by nobody.
pub fn never_checked(kind: AssertionKind, times: Option<u64>) -> Description {
    let what = match kind {
        AssertionKind::Dead => "an object is dead",
        AssertionKind::Region => "what was allocated in a region is dead",
        AssertionKind::Instances => "a class has few instances",
        AssertionKind::Volume => "the instances of a class take few bytes",
        AssertionKind::Unshared => "an object is not shared",
        AssertionKind::OwnedBy => "an object is owned",
    };
    let times = times.map_or(String::new(), |times| format!(" {times} times"));
    Description::from(Finding::new(
        "assertion-not-checked",
        Severity::Warning,
        format!("it was asserted{times} that {what}, and no full collection has checked it since"),
    ))
}

/// Whether a path is a stack slot and nothing else. Then no other root leads to the object.
fn is_drag(path: &Path) -> bool {
    let on_stack = |root: &Root| root.kind == RootKind::ThreadStack;
    path.hops.is_empty() && path.root.as_ref().is_some_and(on_stack)
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

/// The statics that refer to some objects.
fn statics_of<V: HeapView>(view: &V, objects: &[V::Object]) -> HashMap<V::Object, Vec<Root>> {
    let asked: HashSet<V::Object> = objects.iter().copied().collect();
    let mut statics: HashMap<V::Object, Vec<Root>> = HashMap::new();
    if asked.is_empty() {
        return statics;
    }
    view.for_each_root(|root, object| {
        if root.kind == RootKind::Static && asked.contains(&object) {
            statics.entry(object).or_default().push(root.clone());
        }
    });
    statics
}

/// Up to two paths that end in different references to an object: the shortest, and the
/// shortest that ends otherwise.
fn both_ways<V: Traceable>(
    view: &V,
    arrivals: &Arrivals<'_, V>,
    statics: &HashMap<V::Object, Vec<Root>>,
    object: V::Object,
) -> Vec<Evidence> {
    let statics = statics.get(&object).into_iter().flatten();
    let way = |root: &Root| Path::new(Some(root.clone()), named(view, object), Vec::new());
    let statics = statics.map(way);
    let both = statics.chain(arrivals.paths(object)).take(2);
    both.map(Evidence::way).collect()
}
