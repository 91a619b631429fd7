//! What is said of violations: findings with the paths that prove them.

use std::collections::{HashMap, HashSet};

use heaphound_heap::finding::{Evidence, Finding, Fingerprint, Path, Severity, group};
use heaphound_heap::path::{Origin, Reached, Search, Trail, named, shortest};
use heaphound_heap::trace::Traceable;
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, Root, RootKind};

use super::{AssertionKind, Assertions, ClassAssertion, Site, Violation};
use crate::raw::marking::check::SiteId;
use crate::raw::{ObjectId, StoppedHeap};

/// Hops of paths that one collection tells, more or less.
const MOST_HOPS: usize = 50_000;
/// Objects of which one collection finds out whether only what they hold refers to them.
const MOST_SEARCHES: usize = 16;
/// The most paths that one finding shows.
const MOST_SHOWN: usize = 5;

impl Assertions {
    /// What is said of each violation, by one search from the roots. The nearest come first, so
    /// that a group is known by them. Paths are told while there are not too many hops;
    /// beyond that an object counts with the nearest of its class and assertion.
    pub(super) fn describe<'v>(
        &self,
        view: &StoppedHeap<'v>,
        collection: u64,
        violations: Vec<Violation>,
    ) -> Vec<(Violation, Described)> {
        if violations.is_empty() {
            return Vec::new();
        }
        let objects: Vec<ObjectId<'v>> = violations.iter().map(|it| view.object(it.raw)).collect();
        let mut visits = view.visits();
        let reached = Reached::new(view, &mut visits, &Search::everywhere(), &objects);
        let mut ordered: Vec<_> = violations.into_iter().zip(objects).collect();
        ordered.sort_by_key(|(violation, object)| {
            let order = reached.order(*object).unwrap_or(u32::MAX);
            (violation.kind, violation.site, order, violation.raw)
        });
        let mut hops = 0;
        let mut seen = HashSet::new();
        let mut trails = Vec::new();
        for (violation, object) in &ordered {
            let key = (violation.kind, violation.site, view.class_of(*object));
            let is_first = seen.insert(key);
            let trail = match is_first || hops < MOST_HOPS {
                true => reached.trail(*object),
                false => None,
            };
            hops += trail.as_ref().map_or(0, |trail| trail.objects.len());
            trails.push(trail);
        }
        let asked = ordered
            .iter()
            .zip(&trails)
            .filter(|((violation, _), trail)| {
                let told = trail.as_ref();
                told.is_some_and(|it| violation.kind == AssertionKind::Unshared || is_drag(it))
            });
        let asked: Vec<ObjectId<'v>> = asked.map(|((_, object), _)| *object).collect();
        let referrers = view.referrers(&asked);
        // One search for the ways to all that refer to something shared.
        let sources = referrers.values().flatten().map(|(source, _)| *source);
        let sources: Vec<ObjectId<'v>> = sources.collect();
        let ways = Reached::new(view, &mut visits, &Search::everywhere(), &sources);
        let rooted = Rooted::of(view, &asked);
        let mut searches = 0;
        let mut first: HashMap<(AssertionKind, SiteId, ClassId), Fingerprint> = HashMap::new();
        let mut described = Vec::new();
        for ((violation, object), trail) in ordered.into_iter().zip(trails) {
            let key = (violation.kind, violation.site, view.class_of(object));
            let Some(trail) = trail else {
                let like = first[&key];
                described.push((violation, Described::As(like)));
                continue;
            };
            let evidence = match violation.kind {
                AssertionKind::Unshared => {
                    both_ways(view, &ways, &rooted, object, &referrers[&object])
                }
                _ => vec![Evidence::way(trail.describe(view))],
            };
            let drag = violation.kind != AssertionKind::Unshared
                && is_drag(&trail)
                && !rooted.elsewhere.contains(&object)
                && (referrers[&object].is_empty() || {
                    searches += 1;
                    searches <= MOST_SEARCHES && is_dominated(view, &mut visits, object)
                });
            let finding = self.finding(view, collection, &violation, object, evidence, drag);
            first.entry(key).or_insert_with(|| finding.fingerprint());
            described.push((violation, Described::In(Box::new(finding))));
        }
        described
    }

    fn finding<'v>(
        &self,
        view: &StoppedHeap<'v>,
        collection: u64,
        violation: &Violation,
        object: ObjectId<'v>,
        evidence: Vec<Evidence>,
        drag: bool,
    ) -> Finding {
        let site = &self.sites[violation.site as usize];
        let it = named(view, object);
        let what = match violation.kind {
            AssertionKind::Dead => format!("{} was asserted dead and is reachable", it.name),
            AssertionKind::Region => format!(
                "{} was allocated in a region that was asserted dead, and is reachable",
                it.name
            ),
            AssertionKind::Unshared => format!(
                "{} was asserted unshared, and {} references lead to it",
                it.name, violation.references
            ),
            AssertionKind::OwnedBy if violation.owner_lives => format!(
                "{} is reachable, but not through the object that was asserted to own it",
                it.name
            ),
            AssertionKind::OwnedBy => {
                format!(
                    "{} has outlived the object that was asserted to own it",
                    it.name
                )
            }
            AssertionKind::Instances | AssertionKind::Volume => unreachable!("about classes"),
        };
        let drag = match drag {
            true => DRAG,
            false => "",
        };
        Finding {
            objects: vec![it],
            evidence,
            place: Some(site.place.to_string()),
            collection: Some(collection),
            ..Finding::new(
                violation.kind.name(),
                Severity::Error,
                with_message(format!("{what}{drag}"), site),
            )
        }
    }

    pub(super) fn describe_class<'v>(
        &self,
        view: &StoppedHeap<'v>,
        collection: u64,
        assertion: &ClassAssertion,
        amount: usize,
        instances: &[ObjectId<'v>],
    ) -> Finding {
        let site = &self.sites[assertion.site as usize];
        let class = &view.class(assertion.class).name;
        let limit = assertion.limit;
        let what = match site.kind {
            AssertionKind::Instances => {
                format!("{amount} instances of {class} live; the assertion allows {limit}")
            }
            _ => format!("instances of {class} take {amount} bytes; the assertion allows {limit}"),
        };
        // Those that are held in the same way are one group.
        let (paths, told) = paths_to(view, instances);
        let groups = group(paths);
        let mut notes = Vec::new();
        if groups.len() > MOST_SHOWN {
            notes.push(format!(
                "{} more ways lead to instances",
                groups.len() - MOST_SHOWN
            ));
        }
        let count = match site.kind {
            AssertionKind::Instances => amount,
            _ => instances.len(),
        };
        if told < count {
            notes.push(format!("paths were looked for to {told} of them"));
        }
        let evidence = groups.into_iter().take(MOST_SHOWN);
        Finding {
            class: Some(class.clone()),
            objects: instances
                .iter()
                .take(MOST_SHOWN)
                .map(|&it| named(view, it))
                .collect(),
            evidence: evidence
                .map(|(count, path)| Evidence::group(count, path))
                .collect(),
            place: Some(site.place.to_string()),
            collection: Some(collection),
            notes,
            ..Finding::new(site.kind.name(), Severity::Error, with_message(what, site))
        }
    }
}

/// The shortest paths to objects, and to how many of these they were looked for: to all, or as
/// many as can be told. In a list each is as long as what comes before.
pub(crate) fn paths_to<'v>(view: &StoppedHeap<'v>, objects: &[ObjectId<'v>]) -> (Vec<Path>, usize) {
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

/// What is said of a violation.
pub(super) enum Described {
    /// A finding.
    In(Box<Finding>),
    /// It counts with one that was made.
    As(Fingerprint),
}

/// Some assertions could not be checked.
pub(super) fn not_checked(collection: u64, ownees: usize) -> Finding {
    Finding {
        collection: Some(collection),
        ..Finding::new(
            "ownership-not-checked",
            Severity::Warning,
            format!(
                "whether {ownees} objects are owned was not checked: their owners reach too much. \
             The next collections go on from there"
            ),
        )
    }
}

fn with_message(what: String, site: &Site) -> String {
    match &site.message {
        Some(message) => format!("{what}: {message}"),
        None => what,
    }
}

/// What is said of an object that only a stack slot holds.
const DRAG: &str = ": only a stack slot holds it (drag)";

/// Adds an object that is held in the same way to a finding.
pub(super) fn join(finding: &mut Finding, other: &Finding) {
    if !other.message.contains(DRAG) {
        finding.message = finding.message.replace(DRAG, "");
    }
    finding.objects.extend(other.objects.iter().cloned());
}

/// Whether a path is a stack slot and nothing else.
fn is_drag<O>(trail: &Trail<O>) -> bool {
    let on_stack = |root: &heaphound_heap::Root| root.kind == RootKind::ThreadStack;
    trail.objects.len() == 1 && trail.root.as_ref().is_some_and(on_stack)
}

/// Whether no way leads to an object but from the roots that refer to it.
fn is_dominated<'v>(
    view: &StoppedHeap<'v>,
    visits: &mut <StoppedHeap<'v> as Traceable>::Visits<'_>,
    object: ObjectId<'v>,
) -> bool {
    let mut others = Vec::new();
    view.for_each_root(|_, it| others.extend((it != object).then_some(it)));
    let search = Search {
        from: Origin::Objects(&others),
        avoid: &[],
    };
    shortest(view, visits, &search, object).is_none()
}

/// What roots refer to some objects.
struct Rooted<'v> {
    /// Those that other roots than stack slots refer to.
    elsewhere: HashSet<ObjectId<'v>>,
    /// The statics that do.
    statics: HashMap<ObjectId<'v>, Vec<Root>>,
}

impl<'v> Rooted<'v> {
    fn of(view: &StoppedHeap<'v>, objects: &[ObjectId<'v>]) -> Self {
        let asked: HashSet<ObjectId<'v>> = objects.iter().copied().collect();
        let mut rooted = Self {
            elsewhere: HashSet::new(),
            statics: HashMap::new(),
        };
        if asked.is_empty() {
            return rooted;
        }
        view.for_each_root(|root, object| {
            if !asked.contains(&object) || root.kind == RootKind::ThreadStack {
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
fn both_ways<'v>(
    view: &StoppedHeap<'v>,
    ways: &Reached<'_, StoppedHeap<'v>>,
    rooted: &Rooted<'v>,
    object: ObjectId<'v>,
    referrers: &[(ObjectId<'v>, Place)],
) -> Vec<Evidence> {
    let statics = rooted.statics.get(&object).into_iter().flatten();
    let statics = statics.map(|root| Trail {
        root: Some(root.clone()),
        objects: vec![object],
        places: Vec::new(),
    });
    let mut nearest: Vec<_> = referrers
        .iter()
        .filter_map(|&(source, place)| Some((ways.order(source)?, source, place)))
        .collect();
    nearest.sort_unstable();
    let slots = nearest.into_iter().filter_map(|(_, source, place)| {
        let mut trail = ways.trail(source)?;
        trail.places.push(place);
        trail.objects.push(object);
        Some(trail)
    });
    let both = statics
        .chain(slots)
        .take(2)
        .map(|trail| Evidence::way(trail.describe(view)));
    both.collect()
}
