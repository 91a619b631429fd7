//! GC assertions: what a program expects of its heap, checked by the next full collection.
//!
//! Each assertion remembers its *site*: kind, place in the program, message, reaction. A
//! violation becomes a finding with the path that proves it, once: what stands from
//! collection to collection is counted. What counts as a violation is in `raw/check.rs`;
//! here is who asserted what, what is said about it, and what is done.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use heaphound_heap::finding::{Evidence, Finding, Fingerprint, Severity, group};
use heaphound_heap::path::{Reached, Search, Trail, named, shortest_to_each};
use heaphound_heap::trace::Traceable;
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{ClassId, Root, RootKind};

use crate::raw::check::{Entry, Follows, Pair, SiteId, Table};
use crate::raw::{ObjectId, Raw, StoppedHeap};

/// What is asserted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AssertionKind {
    /// The object is unreachable.
    Dead,
    /// What the thread allocated in a region is unreachable.
    Region,
    /// A class has at most so many instances.
    Instances,
    /// The instances of a class take at most so many bytes.
    Volume,
    /// At most one slot or static refers to the object.
    Unshared,
    /// If the object is reachable, then also through its owner.
    OwnedBy,
}

impl AssertionKind {
    const COUNT: usize = 6;

    /// The kind of the findings that say it failed.
    fn name(self) -> &'static str {
        match self {
            Self::Dead => "asserted-dead",
            Self::Region => "region-not-dead",
            Self::Instances => "too-many-instances",
            Self::Volume => "too-much-volume",
            Self::Unshared => "asserted-unshared",
            Self::OwnedBy => "not-owned",
        }
    }
}

/// What happens when an assertion fails.
#[derive(Clone, Default)]
pub enum Reaction {
    /// A line in the log, a `tracing` event; the program goes on.
    #[default]
    Log,
    /// Logged; and the program ends: at their next safepoints mutators panic or, in a heap
    /// built with [`halt_with_errors`](crate::HeapBuilder::halt_with_errors), get no
    /// memory.
    Halt,
    /// Logged; and, if it is about a lifetime, made true: every reference to the object is
    /// cleared where it is optional and invalidated where it is not, if the heap was built
    /// for that. Other assertions are only logged.
    ForceTrue,
    /// The program is called with the finding, when the world runs again.
    Call(Arc<dyn Fn(&Finding) + Send + Sync>),
}

impl fmt::Debug for Reaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Log => "Log",
            Self::Halt => "Halt",
            Self::ForceTrue => "ForceTrue",
            Self::Call(_) => "Call",
        })
    }
}

/// Where and how an assertion was made.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) kind: AssertionKind,
    pub(crate) place: &'static Location<'static>,
    pub(crate) message: Option<String>,
    pub(crate) reaction: Option<Reaction>,
}

/// An assertion about all instances of a class.
#[derive(Clone, Debug)]
pub(crate) struct ClassAssertion {
    pub(crate) class: ClassId,
    pub(crate) subclasses: bool,
    pub(crate) limit: usize,
    pub(crate) site: SiteId,
}

/// A finding that was made, and how often since.
#[derive(Clone, Debug)]
pub struct Known {
    /// The finding, as it was when it was first made.
    pub finding: Finding,
    /// How many full collections have found it, the first included.
    pub collections: u64,
    /// How many objects the last one found it for.
    pub objects: usize,
    /// Why it is not reported, if it is suppressed.
    pub suppressed: Option<String>,
}

/// A violation that was reported and still stands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Standing {
    pub(crate) kind: AssertionKind,
    pub(crate) raw: Raw,
    pub(crate) fingerprint: Fingerprint,
}

impl Follows for Standing {
    fn is_young(&self) -> bool {
        self.raw.is_young()
    }

    fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) -> bool {
        self.raw.follow(now)
    }
}

/// A heap's assertions.
#[derive(Default)]
pub(crate) struct Assertions {
    pub(crate) sites: Vec<Site>,
    /// The site of the last assertion.
    last_site: SiteId,
    pub(crate) dead: Table<Entry>,
    pub(crate) unshared: Table<Entry>,
    pub(crate) pairs: Table<Pair>,
    pub(crate) classes: Vec<ClassAssertion>,
    pub(crate) standing: Table<Standing>,
    /// Class assertions that were reported, by site and class.
    standing_classes: HashMap<(SiteId, ClassId), Fingerprint>,
    known: BTreeMap<Fingerprint, Known>,
    suppressions: HashMap<Fingerprint, String>,
    reactions: [Reaction; AssertionKind::COUNT],
    /// Nursery collections since something was asserted that no full one has checked.
    waited: u32,
    unchecked: bool,
    counts_many: bool,
    /// Where the owners begin that the last collection had no time for.
    pub(crate) next_owner: Raw,
    /// The sites without reactions of their own, to find them again.
    by_place: HashMap<(AssertionKind, &'static Location<'static>, Option<String>), SiteId>,
}

/// What a full collection has found, to be reported when the world runs again.
#[derive(Default)]
pub(crate) struct Verdict {
    pub(crate) reports: Vec<(Finding, Reaction)>,
    /// Objects that are to die, and where that was asserted.
    pub(crate) forced: Vec<(Raw, &'static Location<'static>)>,
    /// Findings that still stand, and how often they have been found.
    pub(crate) repeats: Vec<(Fingerprint, String, u64)>,
}

impl Verdict {
    /// Adds to what is said about assertions that were to be made true.
    pub(crate) fn note_forced(&mut self, note: &str) {
        for (finding, reaction) in &mut self.reports {
            if matches!(reaction, Reaction::ForceTrue) {
                finding.notes.push(note.into());
            }
        }
    }
}

/// Objects that one assertion site is wrong about.
pub(crate) struct Violation {
    pub(crate) kind: AssertionKind,
    pub(crate) site: SiteId,
    pub(crate) raw: Raw,
    /// How many references there are, for unshared objects.
    pub(crate) references: usize,
    /// Whether an owner of it is still alive.
    pub(crate) owner_lives: bool,
}

/// One in so many objects is many.
const MANY: usize = 8;
/// Hops of paths that one collection tells, more or less.
const MOST_HOPS: usize = 50_000;
/// The most paths that one finding shows.
const MOST_SHOWN: usize = 5;

impl Assertions {
    /// The number of a site; the same one for the same place and words.
    pub(crate) fn site(&mut self, site: Site) -> SiteId {
        self.unchecked = true;
        let number = self.sites.len() as SiteId;
        // Most often the same as the last time, in a loop.
        if let Some(last) = self.sites.get(self.last_site as usize)
            && std::ptr::eq(last.place, site.place)
            && last.kind == site.kind
            && (&last.message, &site.message) == (&None, &None)
            && last.reaction.is_none()
            && site.reaction.is_none()
        {
            return self.last_site;
        }
        self.last_site = number;
        if site.reaction.is_none() {
            let key = (site.kind, site.place, site.message.clone());
            let known = *self.by_place.entry(key).or_insert(number);
            if known != number {
                self.last_site = known;
                return known;
            }
        }
        self.sites.push(site);
        number
    }

    pub(crate) fn is_idle(&self) -> bool {
        let asserted =
            self.dead.len() + self.unshared.len() + self.pairs.len() + self.classes.len();
        // What stood before and was taken back no longer stands.
        asserted + self.standing.len() + self.standing_classes.len() == 0
    }

    /// Whether instances must be counted while marking.
    pub(crate) fn counts(&self) -> bool {
        !self.classes.is_empty()
    }

    /// Whether a large part of the last collection's objects was to be counted.
    pub(crate) fn counts_many(&self) -> bool {
        self.counts_many && self.counts()
    }

    /// Remembers how many of the live objects were to be counted.
    pub(crate) fn note_counted(&mut self, wanted: usize, live: usize) {
        self.counts_many = wanted > live / MANY;
    }

    /// Whether arrivals at objects must be watched while marking.
    pub(crate) fn watches(&self) -> bool {
        self.unshared.len() > 0
    }

    /// Whether a class assertion was reported and has not held since.
    pub(crate) fn is_standing(&self, assertion: &ClassAssertion) -> bool {
        let key = (assertion.site, assertion.class);
        self.standing_classes.contains_key(&key)
    }

    pub(crate) fn set_reaction(&mut self, kind: AssertionKind, reaction: Reaction) {
        self.reactions[kind as usize] = reaction;
    }

    pub(crate) fn suppress(&mut self, fingerprint: Fingerprint, reason: String) {
        if let Some(known) = self.known.get_mut(&fingerprint) {
            known.suppressed = Some(reason.clone());
        }
        self.suppressions.insert(fingerprint, reason);
    }

    pub(crate) fn known(&self) -> Vec<Known> {
        self.known.values().cloned().collect()
    }

    /// A nursery collection has taken place.
    pub(crate) fn settle(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        self.dead.settle(now);
        self.unshared.settle(now);
        self.pairs.settle_pairs(now);
        self.standing.settle(now);
        self.waited += self.unchecked as u32;
    }

    /// Objects have moved.
    pub(crate) fn follow(&mut self, now: &mut impl FnMut(Raw) -> Option<Raw>) {
        self.forget_dead(now, true);
    }

    /// All that are dead are known. Checking pairs has found the dead among them; unless more
    /// have died since, they need not be looked at again.
    pub(crate) fn forget_dead(
        &mut self,
        now: &mut impl FnMut(Raw) -> Option<Raw>,
        also_pairs: bool,
    ) {
        self.dead.follow(now);
        self.unshared.follow(now);
        self.standing.follow(now);
        if also_pairs {
            self.pairs.follow(now);
        }
    }

    /// How many nursery collections an assertion has waited for a full one.
    pub(crate) fn waited(&self) -> u32 {
        self.waited
    }

    /// Everything has been checked.
    pub(crate) fn checked(&mut self) {
        self.waited = 0;
        self.unchecked = false;
    }

    /// Turns violations into findings, new ones with paths; those that stand are counted.
    /// About the ownees that are `unchecked` nothing new is known.
    pub(crate) fn judge<'v>(
        &mut self,
        view: &StoppedHeap<'v>,
        collection: u64,
        mut violations: Vec<Violation>,
        classes: Vec<(ClassAssertion, usize, Vec<ObjectId<'v>>)>,
        unchecked: &HashSet<Raw>,
    ) -> Verdict {
        let before: HashMap<(AssertionKind, Raw), Fingerprint> = std::mem::take(&mut self.standing)
            .old
            .into_iter()
            .map(|it| ((it.kind, it.raw), it.fingerprint))
            .collect();
        let mut counts: BTreeMap<Fingerprint, usize> = BTreeMap::new();
        let mut stand = |table: &mut Table<Standing>, kind, raw, fingerprint| {
            table.push(Standing {
                kind,
                raw,
                fingerprint,
            });
            *counts.entry(fingerprint).or_default() += 1;
        };
        for (&(kind, raw), &fingerprint) in &before {
            if kind == AssertionKind::OwnedBy && unchecked.contains(&raw) {
                stand(&mut self.standing, kind, raw, fingerprint);
            }
        }
        // Two sites may say the same of one object: the first one counts.
        violations.sort_by_key(|it| (it.kind, it.raw, it.site));
        violations.dedup_by_key(|it| (it.kind, it.raw));
        let mut fresh = Vec::new();
        for violation in violations {
            let Violation { kind, raw, .. } = violation;
            match before.get(&(kind, raw)) {
                Some(&known) => stand(&mut self.standing, kind, raw, known),
                None => fresh.push(violation),
            }
        }
        let mut found: BTreeMap<Fingerprint, (Finding, SiteId)> = BTreeMap::new();
        let mut sites: Vec<(Fingerprint, SiteId)> = Vec::new();
        for (violation, described) in self.describe(view, collection, fresh) {
            let fingerprint = match described {
                Described::As(fingerprint) => fingerprint,
                Described::In(finding) => {
                    let fingerprint = finding.fingerprint();
                    found
                        .entry(fingerprint)
                        .and_modify(|(all, _)| join(all, &finding))
                        .or_insert((*finding, violation.site));
                    fingerprint
                }
            };
            sites.push((fingerprint, violation.site));
            stand(
                &mut self.standing,
                violation.kind,
                violation.raw,
                fingerprint,
            );
        }
        let key = |it: &ClassAssertion| (it.site, it.class);
        let failed = |known: &_| classes.iter().any(|(it, ..)| key(it) == *known);
        self.standing_classes.retain(|known, _| failed(known));
        for (assertion, amount, instances) in classes {
            if let Some(&known) = self.standing_classes.get(&key(&assertion)) {
                *counts.entry(known).or_default() += amount;
                continue;
            }
            let finding = self.describe_class(view, collection, &assertion, amount, &instances);
            let fingerprint = finding.fingerprint();
            *counts.entry(fingerprint).or_default() += amount;
            self.standing_classes.insert(key(&assertion), fingerprint);
            sites.push((fingerprint, assertion.site));
            found.insert(fingerprint, (finding, assertion.site));
        }
        let mut verdict = Verdict::default();
        if !unchecked.is_empty() {
            let finding = not_checked(collection, unchecked.len());
            let fingerprint = finding.fingerprint();
            counts.insert(fingerprint, unchecked.len());
            found.insert(fingerprint, (finding, SiteId::MAX));
        }
        let mut told: HashSet<(Fingerprint, SiteId)> = HashSet::new();
        for (&fingerprint, &objects) in &counts {
            let new = found.remove(&fingerprint);
            if let Some(known) = self.known.get_mut(&fingerprint) {
                known.collections += 1;
                known.objects = objects;
                if known.suppressed.is_none() {
                    let message = known.finding.message.clone();
                    verdict
                        .repeats
                        .push((fingerprint, message, known.collections));
                }
                continue;
            }
            let Some((finding, site)) = new else {
                continue;
            };
            let suppressed = self.suppressions.get(&fingerprint).cloned();
            if suppressed.is_none() {
                verdict.reports.push((finding.clone(), self.reaction(site)));
                told.insert((fingerprint, site));
            }
            let known = Known {
                finding,
                collections: 1,
                objects,
                suppressed,
            };
            self.known.insert(fingerprint, known);
        }
        // A reaction that an assertion has of its own is not lost to one that looks alike.
        for (fingerprint, site) in sites {
            let own = self.sites[site as usize].reaction.is_some();
            let known = &self.known[&fingerprint];
            if own && known.suppressed.is_none() && told.insert((fingerprint, site)) {
                let finding = known.finding.clone();
                verdict.reports.push((finding, self.reaction(site)));
            }
        }
        verdict
    }

    /// Whether an assertion is to be made true.
    pub(crate) fn is_forced(&self, violation: &Violation) -> bool {
        let about_lifetime = matches!(violation.kind, AssertionKind::Dead | AssertionKind::Region);
        about_lifetime && matches!(self.reaction(violation.site), Reaction::ForceTrue)
    }

    fn reaction(&self, site: SiteId) -> Reaction {
        let Some(site) = self.sites.get(site as usize) else {
            return Reaction::Log;
        };
        let usual = &self.reactions[site.kind as usize];
        site.reaction.as_ref().unwrap_or(usual).clone()
    }

    /// What is said of each violation, by one search from the roots. The nearest come first, so
    /// that a group is known by them. Paths are told while there are not too many hops;
    /// beyond that an object counts with the nearest of its class and assertion.
    fn describe<'v>(
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
                _ => vec![Evidence {
                    label: String::new(),
                    path: trail.describe(view),
                }],
            };
            let drag = is_drag(&trail)
                && referrers[&object].is_empty()
                && !rooted.elsewhere.contains(&object);
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
            true => ": only a stack slot holds it (drag)",
            false => "",
        };
        Finding {
            kind: violation.kind.name().into(),
            severity: Severity::Error,
            message: with_message(format!("{what}{drag}"), site),
            objects: vec![it],
            evidence,
            place: Some(site.place.to_string()),
            collection: Some(collection),
            notes: Vec::new(),
        }
    }

    fn describe_class<'v>(
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
        let mut visits = view.visits();
        let trails = shortest_to_each(view, &mut visits, &Search::everywhere(), instances);
        // Those that are held in the same way are one group.
        let trails = trails.into_iter().flatten();
        let groups = group(trails.map(|trail| trail.describe(view)).collect());
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
        if instances.len() < count {
            notes.push(format!(
                "paths were looked for to {} of them",
                instances.len()
            ));
        }
        let evidence = groups.into_iter().take(MOST_SHOWN);
        Finding {
            kind: site.kind.name().into(),
            severity: Severity::Error,
            message: with_message(what, site),
            objects: instances
                .iter()
                .take(MOST_SHOWN)
                .map(|&it| named(view, it))
                .collect(),
            evidence: evidence
                .map(|(count, path)| Evidence {
                    label: format!("{count} held like this"),
                    path,
                })
                .collect(),
            place: Some(site.place.to_string()),
            collection: Some(collection),
            notes,
        }
    }
}

/// What is said of a violation.
enum Described {
    /// A finding.
    In(Box<Finding>),
    /// It counts with one that was made.
    As(Fingerprint),
}

/// Some assertions could not be checked.
fn not_checked(collection: u64, ownees: usize) -> Finding {
    Finding {
        kind: "ownership-not-checked".into(),
        severity: Severity::Warning,
        message: format!(
            "whether {ownees} objects are owned was not checked: their owners reach too much. \
             The next collections go on from there"
        ),
        objects: Vec::new(),
        evidence: Vec::new(),
        place: None,
        collection: Some(collection),
        notes: Vec::new(),
    }
}

fn with_message(what: String, site: &Site) -> String {
    match &site.message {
        Some(message) => format!("{what}: {message}"),
        None => what,
    }
}

/// Adds an object that is held in the same way to a finding.
fn join(finding: &mut Finding, other: &Finding) {
    finding.objects.extend(other.objects.iter().cloned());
}

/// Whether a path is a stack slot and nothing else.
fn is_drag<O>(trail: &Trail<O>) -> bool {
    let on_stack = |root: &heaphound_heap::Root| root.kind == RootKind::ThreadStack;
    trail.objects.len() == 1 && trail.root.as_ref().is_some_and(on_stack)
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
    let both = statics.chain(slots).take(2).map(|trail| Evidence {
        label: String::new(),
        path: trail.describe(view),
    });
    both.collect()
}
